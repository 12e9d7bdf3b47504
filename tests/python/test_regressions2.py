"""Faults that a review found: code that runs in the middle of an operation, partial
writes, lying producers of memory, sizes that change. Expected values are by hand or by
NumPy."""

from __future__ import annotations

import copy
import ctypes
import gc
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import drjit as dr
import drjit.llvm as llvm
import drjit.scalar as scalar
import numpy as np
import pytest


def numbers(vector: Any) -> list[float]:
    """The first entry of each component."""
    return [c if isinstance(c, (int, float)) else c[0] for c in vector]


class Changing:
    """A number that runs code of the test when it is read."""

    def __init__(self, change: Callable[[], Any], value: int = 0) -> None:
        self.change = change
        self.value = value

    def __index__(self) -> int:
        self.change()
        return self.value

    def __float__(self) -> float:
        self.change()
        return float(self.value)


# ------------------------------------------------------------- assignments, all or none


def test_components_are_assigned_together(m: ModuleType) -> None:
    v = m.Array3f(1, 2, 3)
    with pytest.raises(TypeError, match=r"^drjit\."):
        v.xy = [9, "a"]
    assert numbers(v) == [1, 2, 3]
    with pytest.raises(TypeError):
        v[0:2] = [9, None]
    assert numbers(v) == [1, 2, 3]


def test_slice_of_scalar_array_is_assigned_together() -> None:
    a = scalar.ArrayXf(1, 2, 3)
    with pytest.raises(TypeError):
        a[::2] = [9, "a"]
    assert list(a) == [1, 2, 3]


def test_overlapping_assignments(m: ModuleType) -> None:
    v = m.Array3f(1, 2, 3)
    v.xy = v.yx
    assert numbers(v) == [2, 1, 3]
    v[::-1] = v
    assert numbers(v) == [3, 1, 2]
    q = m.Quaternion4f(1, 2, 3, 4)
    q.xyz = q.zyx
    assert numbers(q) == [3, 2, 1, 4]
    n = np.arange(12, dtype=np.float32).reshape(3, 4)
    t, expected = m.TensorXf(n), n.copy()
    t[1:] = t[:-1]
    expected[1:] = n[:-1]
    assert np.array_equal(t.numpy(), expected)
    t[:, ::2] = t[:, ::-2]
    expected[:, ::2] = expected[:, ::-2].copy()
    assert np.array_equal(t.numpy(), expected)
    t.array[:] = t.array[::-1]
    assert np.array_equal(t.numpy().ravel(), expected.ravel()[::-1])


@pytest.mark.parametrize(
    ("key", "expected"),
    [((slice(0, 2), 0), [5, 5, 3, 4]), ((slice(None), 0), [5, 5, 5, 5])],
)
def test_assignment_is_not_to_a_copy(key: Any, expected: list[int]) -> None:
    a = llvm.Array4f(1, 2, 3, 4)
    a[key] = 5
    assert numbers(a) == expected


def test_scatter_to_several_targets_is_all_or_nothing() -> None:
    a, b = llvm.Float([0, 0, 0]), llvm.Float([0, 0, 0])
    with pytest.raises(RuntimeError, match="sizes 2 and 3"):
        dr.scatter([a, b], [llvm.Float(1), llvm.Float([1, 2, 3])], llvm.UInt([0, 1]))
    assert list(a) == [0, 0, 0]
    i = llvm.Int([0, 0, 0])
    with pytest.raises(RuntimeError, match="not defined"):
        one = [llvm.Int(1), llvm.Float(1)]
        dr.scatter_reduce(dr.ReduceOp.Or, [i, b], one, llvm.UInt([0, 1]))
    assert list(i) == [0, 0, 0]
    v = llvm.Array2f(llvm.Float([0, 0]), llvm.Float())
    with pytest.raises(RuntimeError, match="empty"):
        dr.scatter(v, llvm.Array2f(1, 2), llvm.UInt([0, 1]))
    assert list(v.x) == [0, 0]
    long, short = scalar.ArrayXf(0, 0, 0), scalar.ArrayXf(0)
    values = [scalar.ArrayXf(1, 2), scalar.ArrayXf(1, 2)]
    with pytest.raises(IndexError):
        dr.scatter([long, short], values, scalar.ArrayXu(0, 2))
    assert list(long) == [0, 0, 0]


def test_masked_assignment_to_integer_tensor_refuses_fractions(m: ModuleType) -> None:
    t = m.TensorXi([1, 2, 3])
    with pytest.raises(TypeError):
        t[m.TensorXb([True, False, True])] = 1.5
    assert t.numpy().tolist() == [1, 2, 3]


def test_message_gives_the_position_as_written() -> None:
    with pytest.raises(IndexError, match="index -10 is out of bounds"):
        llvm.Float([1, 2, 3])[llvm.Int(-10)]


# --------------------------------------------------- sizes that change on the way


def test_storage_of_a_tensor_keeps_its_size() -> None:
    t = llvm.TensorXf(np.arange(1000, dtype=np.float32))
    with pytest.raises(RuntimeError, match="storage of 1000 entries"):
        t.array.__init__([1.0, 2.0])  # type: ignore[misc]
    one = llvm.TensorXf([1.0], (1,))
    with pytest.raises(RuntimeError, match="storage of 1 entries"):
        one.array[llvm.Bool([True, False, True])] = 5
    assert t[999].numpy() == 999
    assert one.numpy().tolist() == [1]


def test_tensor_made_by_new_is_empty(m: ModuleType) -> None:
    t = m.TensorXf.__new__(m.TensorXf)
    assert (t.shape, repr(t), t.numpy().size) == ((0,), "[]", 0)


@pytest.mark.parametrize("size", [1, 100_000])
def test_full_like_whose_value_changes_the_model(size: int) -> None:
    t = llvm.TensorXf([1, 2, 3])
    result = dr.full_like(t, Changing(lambda: t.__init__([0.0] * size), 7))
    assert result.shape == (size,)
    assert result.numpy().tolist() == [7] * size


def test_leaf_that_changes_during_an_assignment() -> None:
    for key in (2, slice(0, 3), slice(1, 3)):
        a = llvm.Float([1, 2, 3])
        with pytest.raises(RuntimeError, match="changed its size"):
            a[key] = Changing(a.__init__)
        assert len(a) == 0


def test_atomics_on_a_target_that_becomes_empty() -> None:
    u = llvm.UInt([1, 2])
    with pytest.raises(RuntimeError):
        dr.scatter_inc(u, Changing(u.__init__))


def test_shape_argument_that_shrinks_while_it_is_read() -> None:
    shape: list[Any] = []
    shape[:] = [Changing(shape.clear, 2), 2]
    source, index = llvm.Float([1, 2, 3, 4]), llvm.UInt([0, 1])
    result = dr.gather(llvm.ArrayXf, source, index, shape=shape)
    assert result.numpy().tolist() == [[1, 3], [2, 4]]


def test_axis_argument_that_changes_the_tensor() -> None:
    t = llvm.TensorXf(np.zeros((1,) * 20 + (3,), np.float32))
    axis = Changing(lambda: t.__init__([0.0, 1.0]), 19)
    with pytest.raises(RuntimeError, match="changed its shape"):
        dr.prefix_reduce(dr.ReduceOp.Add, t, axis=axis)


def test_other_threads_replace_arrays_that_are_read() -> None:
    """Errors are fine; this must not crash, nor give results with mixed sizes."""
    t = llvm.TensorXf([1.0, 2.0, 3.0, 4.0])
    s = scalar.TensorXf([0.0] * 4)
    v = llvm.ArrayXf([llvm.Float([1, 2])] * 2)
    index = llvm.UInt([0])
    stop = time.monotonic() + 1.5

    def write() -> None:
        for k in range(10**9):
            n = (4, 50_000, 0, 1000, 1)[k % 5]
            entries = np.arange(n, dtype=np.float32)
            t.__init__(llvm.TensorXf(entries) + 1)  # type: ignore[misc]
            s.__init__(entries)  # type: ignore[misc]
            index.__init__(llvm.UInt([0] * max(n, 1)))  # type: ignore[misc]
            v[0] = llvm.Float(np.ones(max(n, 1), np.float32)) + 1
            if time.monotonic() > stop:
                return

    def check_numpy() -> None:
        n = t.numpy()
        assert n.size == 0 or n[-1] == n.size

    reads: list[Callable[[], Any]] = [
        check_numpy,
        lambda: repr(t),
        lambda: repr(v),
        lambda: v.numpy(),
        lambda: t[index],
        lambda: s[index],
        lambda: dr.sum(t, axis=0),
        lambda: dr.reshape(v, 1, shrink=True),
        lambda: t.__setitem__(slice(None), t),
        lambda: s.__setitem__(slice(None), t),
    ]
    faults: list[BaseException] = []

    def read() -> None:
        while time.monotonic() < stop:
            for operation in reads:
                try:
                    operation()
                except (RuntimeError, IndexError, ValueError):
                    pass
                except BaseException as error:
                    faults.append(error)
                    return

    threads = [threading.Thread(target=f) for f in (write, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


# ------------------------------------------------------------------ errors of the user


class Interrupting:
    def __add__(self, other: Any) -> Any:
        raise KeyboardInterrupt

    __radd__ = __add__

    def __index__(self) -> int:
        raise KeyboardInterrupt

    __float__: Any = __index__


@pytest.mark.parametrize(
    "call",
    [
        lambda k: dr.sum([k, k]),
        lambda k: dr.prefix_reduce(dr.ReduceOp.Add, [k, k]),
        lambda k: dr.zeros(llvm.Float, k),
        lambda k: dr.full(llvm.Float, k),
        lambda k: dr.arange(llvm.Float, k),
        lambda k: dr.gather(llvm.Float, llvm.Float([1, 2]), k),
        lambda k: dr.scatter(llvm.Float([1, 2]), 1, k),
        lambda k: dr.scatter_exch(llvm.UInt(1), k, 0),
        lambda k: llvm.Float([1, 2]).__setitem__(0, k),
        lambda k: llvm.Array3f(1).__setitem__(slice(0, 2), k),
        lambda k: llvm.TensorXf([1, 2]).__setitem__(0, k),
    ],
)
def test_interrupts_are_not_replaced(call: Callable[[Any], Any]) -> None:
    with pytest.raises(KeyboardInterrupt):
        call(Interrupting())


def test_extent_that_is_too_large() -> None:
    with pytest.raises(OverflowError, match=r"^drjit\.zeros"):
        dr.zeros(llvm.Float, 10**30)


def test_positions_on_an_axis_without_entries(m: ModuleType) -> None:
    t = m.TensorXf(np.zeros((0, 3), np.float32))
    index = m.UInt if m is not scalar else scalar.ArrayXu
    with pytest.raises(IndexError):
        t[index([0, 1])]
    assert t[index()].shape == (0, 3)
    assert t[:, index([2, 1])].shape == (0, 2)


def test_deep_copy_of_an_array_that_refers_to_itself() -> None:
    class Node(llvm.Float):
        pass

    node: Any = Node([1, 2])
    node.me = node
    duplicate = copy.deepcopy(node)
    assert duplicate.me is duplicate
    assert duplicate is not node


# --------------------------------------------------------------------- foreign memory


def test_ctypes_arrays_have_no_strides() -> None:
    assert list(llvm.Float((ctypes.c_float * 3)(1, 2, 3))) == [1, 2, 3]
    nested = ((ctypes.c_float * 3) * 2)((1, 2, 3), (4, 5, 6))
    assert llvm.TensorXf(nested).numpy().tolist() == [[1, 2, 3], [4, 5, 6]]


def test_unaligned_memory() -> None:
    a = np.zeros(4001, np.uint8)[1:].view(np.float32)
    a[:] = np.arange(1000)
    for dtype in (llvm.Float, llvm.Float64, scalar.ArrayXf, scalar.ArrayXf64):
        assert list(dtype(a)) == list(range(1000))
    zero_axes = a[7:8].reshape(())
    assert llvm.Float(zero_axes)[0] == llvm.Float64(zero_axes)[0] == 7


def test_dlpack_copy_of_memory_that_is_ours() -> None:
    a = scalar.ArrayXf(1, 2, 3)

    class Producer:
        def __dlpack__(self, **_: Any) -> Any:
            return a.__dlpack__(copy=True, max_version=(1, 0))

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    n = np.from_dlpack(Producer())
    a[0] = 5
    assert n.tolist() == [1, 2, 3]


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


def capsule(shape: tuple[int, ...], strides: Any, has_data: bool = True) -> Any:
    """A DLPack capsule of 16 floats that claims a shape; and what keeps it alive."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    data = (ctypes.c_float * 16)(*range(16))
    extents = (ctypes.c_int64 * len(shape))(*shape)
    steps = (ctypes.c_int64 * len(strides))(*strides) if strides else None
    tensor = _DLTensor(
        data=ctypes.addressof(data) if has_data else None,
        device=(1, 0),
        ndim=len(shape),
        code=2,
        bits=32,
        lanes=1,
        shape=ctypes.addressof(extents),
        strides=ctypes.addressof(steps) if steps else None,
    )
    made = new(ctypes.addressof(tensor), b"dltensor", None)
    return made, (data, extents, steps, tensor)


@pytest.mark.parametrize(
    ("shape", "strides", "has_data"),
    [
        ((-1,), None, True),
        ((-1, -1), None, True),
        ((2**32, 2**32), None, True),
        ((2**61,), None, True),
        ((2**62,), (0,), True),
        ((2,), (2**62,), True),
        ((3,), None, False),
    ],
)
@pytest.mark.parametrize(
    "dtype", [llvm.Float, llvm.TensorXf64, llvm.ArrayXf, scalar.TensorXf]
)
def test_dlpack_producer_that_lies(
    dtype: Any, shape: tuple[int, ...], strides: Any, has_data: bool
) -> None:
    lie, keeper = capsule(shape, strides, has_data)
    with pytest.raises(ValueError, match="not those of an array in memory"):
        dtype(lie)
    del keeper


def test_dlpack_producer_that_tells_the_truth() -> None:
    made, keeper = capsule((2, 3), (1, 2))
    t = llvm.TensorXf(made)
    assert t.numpy().tolist() == [[0, 2, 4], [1, 3, 5]]
    with pytest.raises(TypeError, match="unused DLPack capsule"):
        llvm.TensorXf(made)
    empty, other_keeper = capsule((0,), None, has_data=False)
    assert llvm.TensorXf(empty).shape == (0,)
    del t, made, empty
    gc.collect()
    del keeper, other_keeper


def test_dlpack_consumer_that_deletes_in_another_thread() -> None:
    consumed = [np.from_dlpack(llvm.Float([1, 2, 3]))]
    thread = threading.Thread(target=consumed.clear)
    thread.start()
    thread.join()
    assert consumed == []


def test_buffers_in_column_order_are_refused() -> None:
    get = ctypes.pythonapi.PyObject_GetBuffer
    get.restype = ctypes.c_int
    get.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
    view = (ctypes.c_char * 256)()  # larger than a Py_buffer
    column_order_with_format = 0x0040 | 0x0018 | 0x0004
    with pytest.raises(BufferError):
        get(llvm.TensorXf([[1, 2], [3, 4]]), ctypes.addressof(view),
            column_order_with_format)  # fmt: skip


# ---------------------------------------------------------- arguments of another kind


def test_slice_of_one_lane_checks_the_index() -> None:
    """One lane stands for all others of the structure, but not for those beyond."""
    for value in (llvm.Float(1), llvm.Array3f(1, 2, 3), {"a": llvm.Float(1)}):
        with pytest.raises(IndexError, match="index 4 is out of bounds.* size 1"):
            dr.slice(value, 4)
        with pytest.raises(IndexError, match="index -2 is out of bounds"):
            dr.slice(value, -2)
    assert dr.slice(llvm.Float(7), 0) == dr.slice(llvm.Float(7), -1) == 7
    both = {"a": llvm.Float(1), "b": llvm.Float(1, 2, 3)}
    assert dr.slice(both, 2) == {"a": 1, "b": 3}


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like", "full_like"])
def test_arrays_of_others_are_not_imitated(name: str) -> None:
    """They were handed on with their own entries."""
    value = () if name != "full_like" else (5,)
    for arg in (np.ones(3), [1, np.ones(2)]):
        with pytest.raises(TypeError, match=f"drjit.{name}.*numpy.*expected an array"):
            getattr(dr, name)(arg, *value)
    assert dr.zeros_like([1.5, "name"]) == [0, "name"]
    number = getattr(dr, name)(np.float64(1), *value)  # as published
    assert type(number) is np.float64
    assert number == {"ones_like": 1, "full_like": 5}.get(name, 0)


@pytest.mark.parametrize("dtype", [list, tuple, dict, str, bytes])
def test_containers_and_texts_become_empty_ones(dtype: type) -> None:
    """A str was "0", a list an error of another function; fields of structures, too."""

    class Named:
        DRJIT_STRUCT = {"x": llvm.Float, "name": dtype}

        def __init__(self) -> None:
            self.x, self.name = llvm.Float(), dtype()

    for make in (dr.zeros, dr.ones, dr.empty):
        assert make(dtype) == dtype()
        assert make(Named, 2).name == dtype() and len(make(Named, 2).x) == 2


def test_scatter_does_not_drop_a_derivative() -> None:
    """A target without derivatives refuses values with some, and stays as it is."""
    x = llvm.ad.Float(1, 2)
    dr.enable_grad(x)
    target, index = llvm.Float(3, 4), llvm.UInt(0, 1)
    with pytest.raises(TypeError, match=r"scatter\(\): the value has a derivative"):
        dr.scatter(target, x * 2, index)
    with pytest.raises(TypeError, match=r"scatter_add\(\): the value has a derivative"):
        dr.scatter_add(target, x * 2, index)
    assert list(target) == [3, 4]
    dr.scatter(target, dr.detach(x * 2), index)
    assert list(target) == [2, 4]
    with dr.suspend_grad():
        dr.scatter(target, x * 3, index)
    assert list(target) == [3, 6]


def test_generators_refuse_floats(m: ModuleType) -> None:
    for arguments in ((2, 1.5), (1, 0, 2.5)):
        with pytest.raises(TypeError, match="PCG32.*is of type float, expected an int"):
            m.PCG32(*arguments)
    with pytest.raises(TypeError, match="PCG32.seed.*'initseq' is of type float"):
        m.PCG32().seed(1, 0.5)
    for values, name in (((1.5,), "seed"), ((1, 0.5), "counter_0")):
        with pytest.raises(TypeError, match=f"Philox4x32.*'{name}' is of type float"):
            m.Philox4x32(*values)


@pytest.mark.parametrize("interval", [0.5, 1.5, float("inf")])
def test_grad_scaler_counts_whole_steps(interval: float) -> None:
    with pytest.raises(ValueError, match="'growth_interval' is .* an integer"):
        dr.opt.GradScaler(growth_interval=interval)  # type: ignore[arg-type]
    assert dr.opt.GradScaler(growth_interval=3).growth_interval == 3


@pytest.mark.parametrize("name", ["all", "any", "none"])
def test_numbers_are_not_truth_values(name: str) -> None:
    """1 & 2 is 0, which is not what all([1, 2]) should be."""
    for value in ([1, 2], [True, 0], [1.5], (llvm.Bool(True), 1)):
        with pytest.raises(RuntimeError) as error:
            getattr(dr, name)(value)
        assert "expected a mask" in str(error.value.__cause__)
    assert dr.all([True, True]) and not dr.any([False, False])
