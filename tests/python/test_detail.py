"""drjit.detail: the helpers that libraries and test suites call."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import llvm, scalar
from drjit.llvm import ad


@dataclass
class Item:
    a: Any = field(default_factory=llvm.Float)


# ------------------------------------------------------------------ sorting


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("block", [0, 1, 4, 60])
def test_sort(descending: bool, block: int) -> None:
    data = np.random.default_rng(1).integers(-9, 9, 60).astype(np.int32)
    lines = data.reshape(-1, block or 60)
    order = np.argsort(-lines if descending else lines, axis=1, kind="stable")
    value = llvm.Int(data.tolist())
    expected = np.take_along_axis(lines, order, 1).ravel()
    assert list(dr.detail._sort(value, block, descending)) == expected.tolist()
    positions = dr.detail._argsort(value, block, descending)
    assert type(positions) is llvm.UInt
    assert list(dr.gather(llvm.Int, value, positions)) == expected.tolist()
    starts = np.arange(len(lines))[:, None] * lines.shape[1]
    assert list(positions) == (order + starts).ravel().tolist()


def test_sort_rejects() -> None:
    for value in (scalar.ArrayXf(1), llvm.Array2f(1, 2), [1, 2]):
        with pytest.raises(TypeError, match="flat just-in-time"):
            dr.detail._sort(value, 0, False)
    with pytest.raises(RuntimeError):
        dr.detail._sort(llvm.Float(1, 2, 3), 2, False)
    assert len(dr.detail._sort(llvm.Float(), 0, False)) == 0


@pytest.mark.parametrize("block", [4, 12])
def test_block_mkperm(block: int) -> None:
    keys = np.random.default_rng(2).integers(0, 5, 12)
    lines = keys.reshape(-1, block)
    order = np.argsort(lines, axis=1, kind="stable")
    expected = order + np.arange(len(lines))[:, None] * block
    result = dr.detail.block_mkperm(llvm.UInt(keys.tolist()), block, 5)
    assert type(result) is llvm.UInt
    assert list(result) == expected.ravel().tolist()


def test_block_mkperm_rejects() -> None:
    keys = llvm.UInt(0, 3)
    with pytest.raises(ValueError, match="expected keys below 'bucket_count'"):
        dr.detail.block_mkperm(keys, 2, 3)
    with pytest.raises(ValueError, match="expected 1 to"):
        dr.detail.block_mkperm(keys, 0, 4)
    with pytest.raises(TypeError, match="UInt32"):
        dr.detail.block_mkperm(llvm.Int(0), 1, 1)
    with pytest.raises(TypeError):
        dr.detail.block_mkperm([0, 1], 1, 1)


# ------------------------------------------------------------------ reductions


def test_can_scatter_reduce() -> None:
    can = dr.detail.can_scatter_reduce
    for cls in (llvm.Float, llvm.Array3f, llvm.TensorXf, llvm.UInt, scalar.ArrayXf):
        assert can(cls, dr.ReduceOp.Add) is True
        assert can(cls, dr.ReduceOp.Identity) is True
    assert can(llvm.UInt, dr.ReduceOp.And) is True
    assert can(llvm.Float, dr.ReduceOp.And) is False
    with pytest.raises(TypeError):
        can(float, dr.ReduceOp.Add)
    with pytest.raises(TypeError):
        can(llvm.Float, "Add")


@pytest.mark.parametrize(
    "name, op, expected",
    [
        ("Float", "Add", 0),
        ("Float", "Mul", 1),
        ("Float", "Min", float("inf")),
        ("Float", "Max", -float("inf")),
        ("Int", "Min", 2**31 - 1),
        ("UInt64", "Max", 0),
        ("UInt", "And", 2**32 - 1),
        ("Bool", "And", True),
        ("Bool", "Or", False),
    ],
)
def test_reduce_identity(name: str, op: str, expected: Any) -> None:
    member = getattr(dr.ReduceOp, op)
    cls = getattr(llvm, name)
    assert list(dr.detail.reduce_identity(cls, member)) == [expected]
    assert list(dr.detail.reduce_identity(cls, member, 3)) == [expected] * 3
    assert len(dr.detail.reduce_identity(cls, member, 0)) == 0


def test_reduce_identity_of_other_types() -> None:
    identity = dr.detail.reduce_identity
    assert list(identity(scalar.ArrayXf, dr.ReduceOp.Mul, 2)) == [1, 1]
    for cls in (llvm.Array3f, llvm.TensorXf, float):
        with pytest.raises(TypeError):
            identity(cls, dr.ReduceOp.Add)
    with pytest.raises(RuntimeError):
        identity(llvm.Float, dr.ReduceOp.And)
    with pytest.raises(ValueError):
        identity(llvm.Float, dr.ReduceOp.Add, -1)


# ------------------------------------------------------------------ PyTrees


def test_collect_indices() -> None:
    x, y = llvm.Float(1, 2), llvm.Array2f([1, 2], [3, 4])
    tree = [x, 5, {"y": y}, Item(llvm.TensorXf([1], (1,))), scalar.ArrayXf(1)]
    indices = dr.detail.collect_indices(tree)
    assert indices[:3] == [x.index, y.x.index, y.y.index]
    assert indices[3] == tree[3].a.array.index
    assert len(indices) == 4
    assert dr.detail.collect_indices(llvm.Float()) == [0]


def test_reset() -> None:
    tree = [llvm.Float(1), 5, llvm.Array2f(1, 2), scalar.Array2f(1, 2)]
    result = dr.detail.reset([*tree, llvm.TensorXf([1], (1,))])
    assert len(result[0]) == 0
    assert result[1] == 5
    assert result[2].shape == (2, 0)
    assert list(result[3]) == [0, 0]
    assert result[4].shape == (0,)
    assert list(tree[0]) == [1]


def test_copy_and_symbolic() -> None:
    x = llvm.Float(1, 2)
    y = dr.detail.copy([x, "a"])
    dr.scatter(y[0], 9, 0)
    assert (list(x), list(y[0]), y[1]) == ([1, 2], [9, 2], "a")
    assert dr.detail.any_symbolic([x, 5]) is False


@pytest.mark.parametrize(
    "a, b, what, label",
    [
        (llvm.Float(1), llvm.Int(1), "types", "x"),
        ([llvm.Float(1)], [5], "types", "x[0]"),
        ((1,), [1], "types", "x"),
        ([1], [1, 2], "sizes", "x"),
        ({"a": 1}, {"b": 1}, "dictionary keys", "x"),
        ({"a": [llvm.Float(1)]}, {"a": [llvm.Int(1)]}, "types", "x[a][0]"),
        (Item(llvm.Float(1)), Item(llvm.Int(1)), "types", "x.a"),
        (llvm.ArrayXf(1, 2), llvm.ArrayXf(1, 2, 3), "sizes", "x"),
        (llvm.Float(1, 2), llvm.Float(1, 2, 3), "sizes", "x"),
        ([5], [6], "scalar Python object", "x[0]"),
    ],
)
def test_check_compatibility(a: Any, b: Any, what: str, label: str) -> None:
    with pytest.raises(RuntimeError) as info:
        dr.detail.check_compatibility(a, b, True, "x")
    assert f"inconsistent {what}" in str(info.value)
    assert f"'{label}'" in str(info.value)
    dr.detail.check_compatibility(a, a, True, "x")


def test_check_compatibility_of_widths() -> None:
    check = dr.detail.check_compatibility
    check(llvm.Float(1, 2), llvm.Float(1, 2, 3), False, "x")
    check([llvm.Float(1)], [llvm.Float(1, 2, 3)], True, "x")


# ------------------------------------------------------------------ statistics


def test_memory_statistics() -> None:
    dr.detail.malloc_clear_statistics()
    before = dr.detail.malloc_watermark(dr.JitBackend.LLVM)
    x = dr.full(llvm.Float, 1, 1 << 20) + dr.arange(llvm.Float, 1 << 20)
    dr.eval(x)
    assert dr.detail.malloc_watermark(dr.JitBackend.LLVM) >= before + (4 << 20)


def test_launch_statistics() -> None:
    x = dr.arange(llvm.Float, 7) + 3
    before = dr.detail.launch_stats()
    dr.eval(x)
    after = dr.detail.launch_stats()
    assert len(after) == 3
    assert after[0] == before[0] + 1


def test_versions() -> None:
    assert dr.detail.cuda_version() == (0, 0)
    with pytest.raises(RuntimeError, match="CUDA"):
        dr.detail.cuda_compute_capability()
    try:
        version = dr.detail.llvm_version()
    except RuntimeError as error:
        assert "LLVM" in str(error)
    else:
        assert len(version) == 3
        assert version[0] >= 8


def run(lines: str) -> str:
    """What a process of its own writes to its standard error."""
    environment = {**os.environ, "DRJIT_LOG_LEVEL": "warn"}
    process = subprocess.run(
        [sys.executable, "-c", lines],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return process.stderr


LEAK = """
import ctypes
import drjit as dr
from drjit.llvm import Float
dr.detail.set_leak_warnings(True)
x = dr.arange(Float, 10) + 1
dr.eval(x)
"""


def test_leak_warnings() -> None:
    assert dr.detail.leak_warnings() is False
    dr.detail.set_leak_warnings(True)
    assert dr.detail.leak_warnings() is True
    dr.detail.set_leak_warnings(False)
    assert dr.detail.leak_warnings() is False
    with pytest.raises(TypeError, match="expected a bool"):
        dr.detail.set_leak_warnings(1)


def test_leaks_are_reported() -> None:
    leak = "ctypes.pythonapi.Py_IncRef(ctypes.py_object(x))\n"
    off = "dr.detail.set_leak_warnings(False)\n"
    assert "leak" in run(LEAK + leak)
    assert "leak" not in run(LEAK)
    assert "leak" not in run(LEAK + leak + off)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="drjit.detail"):
        _ = dr.detail.no_such_name


def test_scoped_rtld_deepbind() -> None:
    if not hasattr(sys, "getdlopenflags"):
        return
    before = sys.getdlopenflags()
    with dr.detail.scoped_rtld_deepbind():
        if sys.platform == "linux":
            assert sys.getdlopenflags() != before
    assert sys.getdlopenflags() == before


def test_scopes() -> None:
    backend = dr.JitBackend.LLVM
    value = dr.opaque(llvm.Float, 1, 3)
    first = dr.detail.scope(backend)
    a, b = value + 1, value + 1
    assert a.index == b.index
    second = dr.detail.new_scope(backend)
    assert second > first and dr.detail.scope(backend) == second
    c = value + 1
    assert c.index != a.index
    dr.detail.set_scope(backend, first)
    assert dr.detail.scope(backend) == first
    assert (value + 1).index == a.index
    for number in (2**31, 2**40):
        with pytest.raises(RuntimeError):
            dr.detail.set_scope(backend, number)
    with pytest.raises(TypeError):
        dr.detail.scope(3.5)
    with pytest.raises(RuntimeError):
        dr.detail.new_scope(dr.JitBackend.CUDA)


class Holder:
    def __init__(self) -> None:
        self.x, self.many = ad.Float(1, 2), [ad.Float(3), {"k": ad.Float(4)}]
        self.number, self.pair = 5, (ad.Array2f(6, 7), "text")


def test_callbacks_for_the_variables_of_an_object() -> None:
    holder = Holder()
    dr.enable_grad(holder.x)
    given: list[Any] = []
    dr.detail.traverse_py_cb_ro(holder, lambda *args: given.append(args))
    tree = [holder.x, holder.many, holder.pair]
    wanted = dr.detail.collect_indices(tree)
    assert given == [(index, "", "") for index in wanted]
    assert wanted[0] >> 32 == holder.x.index_ad and len(wanted) == 5
    dr.detail.traverse_py_cb_ro(5, given.append)  # has no attributes


def test_callbacks_that_replace_variables() -> None:
    holder, new = Holder(), ad.Float(8, 9)
    array = holder.many[1]["k"]
    index = new.index
    dr.detail.traverse_py_cb_rw(holder, lambda *_: index)
    del new  # the arrays have references
    assert list(holder.x) == list(array) == list(holder.many[0]) == [8, 9]
    assert list(holder.pair[0].y) == [8, 9]


def test_callbacks_that_return_something_else() -> None:
    holder, other = Holder(), ad.UInt(1)
    dr.enable_grad(holder.x)
    with pytest.raises(TypeError, match="of type NoneType, expected the index"):
        dr.detail.traverse_py_cb_rw(holder, lambda *_: None)
    for index in (0, other.index, 2**31, 7 << 32 | holder.x.index, -1, 1 << 70):
        with pytest.raises(ValueError, match="expected the index of a variable"):
            dr.detail.traverse_py_cb_rw(holder, lambda *_, index=index: index)
    with pytest.raises(ZeroDivisionError):
        dr.detail.traverse_py_cb_ro(holder, lambda *_: 1 // 0)
    with pytest.raises(TypeError, match="expected a callable"):
        dr.detail.traverse_py_cb_ro(holder, 5)
    assert list(holder.x) == [1, 2] and dr.grad_enabled(holder.x)
