"""Wrong arguments of every kind: exceptions that say so, never a crash.

The larger part is random: fuzz/calls.py, of which a few seeds run here. What it found
once has a test of its own.
"""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import drjit as dr
import numpy as np
import pytest

FUZZ = Path(__file__).parent / "fuzz"


def run_fuzzer(script, *arguments):
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1"}
    return subprocess.run(
        [sys.executable, FUZZ / script, *map(str, arguments)], capture_output=True,
        text=True, timeout=200, env=environment,
    )  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2])
def test_random_calls(seed, tmp_path):
    sanitized = "libasan" in os.environ.get("LD_PRELOAD", "")
    log = tmp_path / "call"
    result = run_fuzzer(
        "calls.py", "--seed", seed, "--calls", 1500, "--log", log,
        *(["--leave-out", "detail.llvm_version"] if sanitized else []),
    )  # fmt: skip
    under_way = log.read_text().strip()
    assert result.returncode == 0, under_way + result.stdout + result.stderr[-4000:]


# ------------------------------------------------------------------ found by it


class Boom(Exception):
    pass


class Stubborn:
    """Nothing can be said about it."""

    def __repr__(self):
        raise Boom


def test_repr_of_a_wrong_argument_raises(m):
    flat = m.Float if m is not dr.scalar else m.ArrayXf
    with pytest.raises(Boom):
        dr.ravel(m.Array3f(1), order=Stubborn())
    with pytest.raises(Boom):
        dr.unravel(m.Array3f, flat(1, 2, 3), Stubborn())


def test_new_without_init(m):
    for cls in (m.TensorXf, m.TensorXf16, m.TensorXb):
        for tensor in (
            cls.__new__(cls),
            type("Lazy", (cls,), {"__init__": lambda s: None})(),
        ):
            assert tensor.shape == (0,) and len(tensor) == 0
            assert repr(tensor) == "[]" and repr(tensor == tensor) == "[]"
            assert tensor.array.numpy().tolist() == []
    for name in ("Array3f", "ArrayXf", "Matrix2f", "Quaternion4f"):
        cls = getattr(m, name)
        value = cls.__new__(cls)
        assert repr(value) and len(value) == len(cls())


def test_dynamic_array_from_tensor_of_one_entry(m):
    for source in (dr.scalar.TensorXf16, dr.scalar.TensorXf, dr.llvm.TensorXu):
        flat = dr.scalar.ArrayXu(source([3]))
        assert len(flat) == 1 and flat[0] == 3
        assert len(dr.scalar.ArrayXf(source([]))) == 0
        assert list(dr.scalar.ArrayXf(source([1, 2]))) == [1, 2]


def test_arrays_of_ctypes(m):
    data = (ctypes.c_int * 3)(1, 2, 3)
    assert m.TensorXi(data).numpy().tolist() == [1, 2, 3]
    grid = ((ctypes.c_float * 2) * 2)((1, 2), (3, 4))
    assert m.TensorXf(grid).numpy().tolist() == [[1, 2], [3, 4]]


def test_arrays_are_not_digits(m):
    """An array offers its memory, which int() and float() would take for text."""
    digits = m.ArrayXu8([49, 50])
    for function in (int, float, complex):
        with pytest.raises(TypeError, match="drjit"):
            function(digits)


def test_labels_are_text():
    a = dr.llvm.Float(1, 2)
    for bad in (3, b"x", ["x"], a):
        with pytest.raises(TypeError, match="drjit.set_label.*expected a str or None"):
            a.label = bad
    with pytest.raises(UnicodeEncodeError):
        a.label = "\udc80"
    a.label = "name"
    assert a.label == "name"
    a.label = None
    assert a.label is None


def test_deleting(m):
    a = m.Array3f(1, 2, 3)
    with pytest.raises(AttributeError, match="drjit.*cannot be deleted"):
        del a.x
    with pytest.raises(TypeError):
        del a[0]
    assert list(a.numpy().ravel()) == [1, 2, 3]


# ------------------------------------------------------------------ hooks


def test_hooks_that_change_the_array(m):
    """Whatever a hook does, the array stays one with valid entries."""
    a = m.ArrayXf([1, 2, 3])

    class Grow:
        def __index__(self):
            a.__init__(*range(50))
            return 1

        def __float__(self):
            a.__init__(*range(60))
            return 1.0

    a[Grow()] = 5
    assert len(a) == 50
    a[2] = Grow()
    assert len(a) == 60
    with pytest.raises(RuntimeError, match="cannot shrink"):
        a[Grow()] = 1
    repr(a), dr.sum(a), dr.eval(a)
    t = m.TensorXf(range(12))

    class Shrink:
        def __index__(self):
            t.__init__(m.TensorXf([1]))
            return 11

    for use in (lambda: t[Shrink()], lambda: t.__setitem__(Shrink(), 1)):
        t.__init__(m.TensorXf(range(12)))
        try:
            use()
        except (IndexError, RuntimeError) as error:
            assert "drjit" in str(error)
        repr(t)
        assert t.shape == (1,)


def test_causes_are_chained(m):
    class Bad:
        def __len__(self):
            raise Boom("len")

        def __getitem__(self, i):
            raise Boom("getitem")

    class Middle:
        def __len__(self):
            return 3

        def __getitem__(self, i):
            if i == 1:
                raise Boom("entry")
            return 1

    for bad in (Bad(), Middle()):
        for call in (
            lambda b: m.Array3f(b),
            lambda b: m.ArrayXf(b),
            lambda b: m.TensorXf(b),
        ):
            with pytest.raises(Exception) as info:
                call(bad)
            error = info.value
            while not isinstance(error, Boom):
                error = error.__cause__
                assert error is not None


def test_recursive_trees(m):
    loop = [m.Array3f(1)]
    loop.append(loop)
    for function in (
        dr.eval,
        dr.schedule,
        dr.copy,
        dr.width,
        dr.make_opaque,
        dr.zeros_like,
    ):
        with pytest.raises(RecursionError):
            function(loop)
    deep = [m.Array3f(1)]
    for _ in range(2000):
        deep = [deep]
    with pytest.raises(RecursionError):
        dr.copy(deep)


def test_list_that_shrinks_while_it_is_read(m):
    values = [1, 2, 3]

    class Clear:
        def __float__(self):
            values.clear()
            return 1.0

    values[0] = Clear()
    for cls in (m.Array3f, m.ArrayXf, m.TensorXf):
        values[:] = [Clear(), 2.5, 3.5]
        try:
            cls(values)
        except (TypeError, IndexError, ValueError, RuntimeError) as error:
            assert "drjit" in str(error)


def test_memory_outlives_the_array(m):
    flat = m.Float([1, 2, 3]) if m is not dr.scalar else m.ArrayXf([1, 2, 3])
    view, exported = memoryview(flat), flat.numpy()
    third = np.from_dlpack(flat)
    del flat
    for _ in range(10):
        dr.arange(dr.llvm.Float, 3) + 1
    assert view.tolist() == exported.tolist() == third.tolist() == [1, 2, 3]


def test_sizes_beyond_memory(m):
    flat = m.Float if m is not dr.scalar else m.ArrayXf
    for shape in (2**40, 2**62, 2**63 - 1, 2**64, 2**70):
        with pytest.raises((MemoryError, RuntimeError, OverflowError, ValueError)):
            dr.eval(dr.empty(flat, shape))
            dr.sum(dr.arange(flat, shape))
    for shape in ((2**32, 2**32), (2**63, 2), (-1, 3), (1,) * 33, (2**20, 2**20)):
        with pytest.raises(
            (MemoryError, RuntimeError, OverflowError, ValueError, TypeError)
        ):
            dr.eval(dr.opaque(m.TensorXf, 0, shape))


def test_class_assignment_keeps_the_layout(m):
    a = m.Array3f(1, 2, 3)
    for cls in (m.Array4f, m.Array3i, m.TensorXf, m.Matrix4f, int, object):
        try:
            a.__class__ = cls
        except TypeError:
            continue
        pytest.fail(f"became a {cls}")
    with pytest.raises(TypeError):
        type("Two", (m.Array3f, m.Array4f), {})(1)
