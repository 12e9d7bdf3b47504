"""Memory and numbers of NumPy and others: what is shared, what is ours."""

from __future__ import annotations

import array
import operator
import sys
import time
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import llvm, scalar
from drjit.llvm import ad

FAMILIES = (llvm, ad)
family = pytest.mark.parametrize("m", FAMILIES, ids=("llvm", "ad"))


def address(n: Any) -> int:
    return int(n.__array_interface__["data"][0])


# ------------------------------------------------------------------ operands of NumPy

SCALARS = [
    np.float64(2),
    np.float32(2),
    np.float16(2),
    np.int32(2),
    np.uint8(2),
    np.bool_(True),
    np.array(2.0),
    np.longdouble(2),
]
OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.pow,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
]


@pytest.mark.parametrize("m", (llvm, ad, scalar), ids=("llvm", "ad", "scalar"))
@pytest.mark.parametrize(
    "name",
    "Float Float64 Array3f ArrayXf TensorXf Complex2f Matrix2f Quaternion4f".split(),
)
def test_numpy_scalar_left(m: Any, name: str) -> None:
    if m is scalar and name in ("Float", "Float64"):
        pytest.skip("numbers of Python")
    cls = getattr(m, name)
    x = cls([1, 2]) if name in ("Float", "Float64", "ArrayXf", "TensorXf") else cls(3)
    for s in SCALARS:
        plain = float(s) if isinstance(s, np.longdouble) else s.item()
        for op in OPERATORS:
            try:
                want = op(plain, x)
            except (TypeError, RuntimeError):
                continue
            got = op(s, x)
            assert type(got) is type(want), (s, op)
            assert str(got) == str(want), (s, op)


@family
def test_numpy_array_left(m: Any) -> None:
    n = np.array([1, 2], np.float32)
    for x in (m.Float(3, 4), m.TensorXf([3, 4])):
        for op in OPERATORS:
            got = op(n.copy(), x)
            assert dr.is_array_v(got), op
            np.testing.assert_allclose(got.numpy(), op(n.copy(), x.numpy()))
    matrix = np.array([[1, 2], [3, 4]], np.float32)
    product = matrix @ m.TensorXf([[1, 2], [3, 4]])
    assert type(product) is m.TensorXf
    np.testing.assert_array_equal(product.numpy(), matrix @ matrix)
    assert type(np.array([True, False]) & m.Bool(True)) is m.Bool
    assert type(np.array([6, 7]) >> m.Int(1)) is m.Int64
    assert type(np.complex64(1j) * m.Complex2f(1, 2)) is m.Complex2f
    assert isinstance(np.sin(m.Float(1, 2)), np.ndarray)


def test_numpy_left_is_tracked_and_recorded() -> None:
    x = ad.Float(1, 2)
    dr.enable_grad(x)
    dr.backward(np.sqrt(2.0) * x)
    np.testing.assert_allclose(x.grad.numpy(), [np.sqrt(2)] * 2, rtol=1e-6)
    _, y = dr.while_loop(
        (llvm.UInt(0), llvm.Float(1, 2)),
        lambda i, y: i < 2,
        lambda i, y: (i + 1, np.float64(2) * y),
    )
    assert y.numpy().tolist() == [4, 8]


# ----------------------------------------------------------------------- their memory


@family
def test_memory_is_shared(m: Any) -> None:
    n = np.arange(100, dtype=np.float32)
    x = m.Float(n)
    n[3] = 50
    assert x[3] == 50 and address(x.numpy()) == address(n)
    b = np.arange(12, dtype=np.int32).reshape(3, 4)
    t = m.TensorXi(b)
    b[1, 1] = 70
    assert t.shape == (3, 4) and t[1, 1].array[0] == 70
    a = array.array("d", [1, 2])
    y = m.Float64(a)
    a[0] = 9
    assert y[0] == 9
    z = m.UInt(memoryview(np.arange(3, dtype=np.uint32)))
    assert z.numpy().tolist() == [0, 1, 2]


@family
def test_writes_do_not_reach_it(m: Any) -> None:
    def each(change: Any) -> None:
        n = np.arange(4, dtype=np.float32)
        x = m.Float(n)
        change(x)
        dr.eval(x)
        assert n.tolist() == [0, 1, 2, 3]
        assert x.numpy().tolist() != [0, 1, 2, 3]

    def set_entry(x: Any) -> None:
        x[1] = 9

    def add(x: Any) -> None:
        x += 1

    each(set_entry)
    each(add)
    each(lambda x: dr.scatter(x, m.Float(9), m.UInt(1)))
    each(lambda x: dr.scatter_add(x, m.Float(9, 9), m.UInt(1, 2)))
    each(lambda x: dr.scatter_reduce(dr.ReduceOp.Max, x, m.Float(9), m.UInt(0)))
    each(lambda x: dr.scatter_exch(x, m.Float(9), m.UInt(0)))
    b = np.zeros((2, 2), np.float32)
    t = m.TensorXf(b)
    t[0, :] = 1
    assert b.tolist() == [[0, 0], [0, 0]] and t[0, 1].array[0] == 1


def test_frozen_functions_do_not_write_to_it() -> None:
    @dr.freeze
    def f(x: Any) -> Any:
        dr.scatter(x, x + 1, dr.arange(llvm.UInt, 4))
        return x

    for k in range(3):
        n = np.full(4, k, np.float32)
        result = f(llvm.Float(n))
        assert result.numpy().tolist() == [k + 1] * 4
        assert n.tolist() == [k] * 4

    @dr.freeze
    def g(x: Any) -> Any:
        return x + llvm.Float(np.full(2, 3, np.float32))

    assert g(llvm.Float(1, 2)).numpy().tolist() == [4, 5]
    assert g(llvm.Float(2, 2)).numpy().tolist() == [5, 5]


def test_what_is_copied() -> None:
    n = np.arange(8, dtype=np.float32)
    assert llvm.Float(n[::2]).numpy().tolist() == [0, 2, 4, 6]
    assert llvm.Float64(n)[1] == 1
    n.setflags(write=False)
    assert address(llvm.Float(n).numpy()) != address(n)
    odd = np.frombuffer(bytearray(17), np.float32, count=4, offset=1)
    assert address(llvm.Float(odd).numpy()) != address(odd)
    rows = np.zeros((2, 3), np.float32)
    v = llvm.Array2f(rows)
    rows[0, 0] = 1
    assert v.x[0] == 0
    # Operands and values that are written: queued work must not see later changes.
    n = np.ones(2, np.float32)
    y = llvm.Float(1, 2) + n
    z = dr.fma(llvm.Float(1, 2), n, n)
    t = dr.zeros(llvm.Float, 2)
    dr.scatter(t, n, llvm.UInt(0, 1))
    n[:] = 100
    assert y.numpy().tolist() == [2, 3]
    assert z.numpy().tolist() == [2, 3]
    assert t.numpy().tolist() == [1, 1]


def settle() -> None:
    for _ in range(3):  # what is given back is closed between two bytecodes
        llvm.Float(1)
        time.sleep(0.002)


def test_lifetimes() -> None:
    n = np.arange(64, dtype=np.float32)
    before = sys.getrefcount(n)
    x = llvm.Float(n)
    y = x + 1
    assert sys.getrefcount(n) > before
    del x
    assert y.numpy()[63] == 64
    settle()
    assert sys.getrefcount(n) == before
    a = array.array("f", [1, 2])
    x = llvm.Float(a)
    with pytest.raises(BufferError):
        a.append(3)
    del x
    settle()
    a.append(3)

    x = llvm.Float(np.arange(1000, dtype=np.float32))  # the only one to hold it
    settle()
    assert dr.sum(x)[0] == 499500
    view = x.numpy()
    del x
    settle()
    assert view[999] == 999


def test_dlpack_is_shared() -> None:
    class Producer:
        def __init__(self, n: Any) -> None:
            self.n = n

        def __dlpack__(self, **options: Any) -> Any:
            return self.n.__dlpack__(**options)

    n = np.arange(5, dtype=np.float32)
    x = llvm.Float(Producer(n))
    y = llvm.Float(n.__dlpack__())
    n[0] = 4
    assert x[0] == 4 and y[0] == 4


@pytest.mark.parametrize("size", (1, 2, 15, 16, 17, 1000, 1023, 1024, 1031))
def test_ends_of_pages(size: int) -> None:
    """Memory of others is not padded."""
    whole = np.arange(2048, dtype=np.float32)
    start = (-address(whole) % 4096) // 4
    n = (
        whole[start + 1024 - size % 1024 : start + 1024]
        if size < 1024
        else whole[:size]
    )
    x = llvm.Float(n)
    np.testing.assert_array_equal((x * 2).numpy(), n * 2)
    assert dr.sum(x)[0] == pytest.approx(float(n.sum()), rel=1e-5)


# ------------------------------------------------------------------------- our memory


@family
def test_queued_readers_keep_the_values(m: Any) -> None:
    x = m.Float(1, 2, 3)
    y = x + 1
    v = x.numpy()
    v[0] = 100
    assert x.numpy().tolist() == [100, 2, 3]
    assert y.numpy().tolist() == [2, 3, 4]
    w = x.numpy()
    assert address(w) == address(v)
    other = m.Float(x)
    view = other.numpy()
    view[1] = -1
    assert x[1] == 2 and other[1] == -1
    x += 1
    dr.eval(x)
    assert v.tolist() == [100, 2, 3]


def test_view_and_scatter() -> None:
    x = llvm.Float(1, 2, 3)
    v = x.numpy()
    dr.scatter(x, llvm.Float(9), llvm.UInt(0))
    assert x[0] == 9 and v[0] == 1


def test_view_of_tracked_array() -> None:
    x = ad.Float(1, 2, 3)
    dr.enable_grad(x)
    y = x * x
    x.numpy()[:] = 10
    dr.backward(y)
    assert x.grad.numpy().tolist() == [2, 4, 6]
    assert dr.grad_enabled(x)


# ----------------------------------------------------------------------------- bounds


@family
@pytest.mark.parametrize("literal", (True, False), ids=("literal", "evaluated"))
def test_known_positions_are_checked(m: Any, literal: bool) -> None:
    far = 1000000000
    i = m.UInt(far) if literal else dr.opaque(m.UInt, far)
    f, u = m.Float(1, 2, 3), m.UInt(1, 2, 3)
    calls = [
        lambda: dr.gather(m.Float, f, i),
        lambda: dr.gather(m.Float, dr.zeros(m.Float, 3), i),
        lambda: dr.gather(m.Array3f, m.Float(1, 2, 3, 4, 5, 6), i),
        lambda: dr.gather(m.Array4f, dr.arange(m.Float, 16), i),
        lambda: dr.gather(m.Array3f, m.Array3f(f, f, f), i),
        lambda: dr.scatter(f, m.Float(1), i),
        lambda: dr.scatter_add(f, m.Float(1), i),
        lambda: dr.scatter_reduce(dr.ReduceOp.Max, f, m.Float(1), i),
        lambda: dr.scatter_inc(u, i),
        lambda: dr.scatter_exch(u, m.UInt(3), i),
        lambda: dr.scatter_cas(u, m.UInt(3), m.UInt(3), i),
        lambda: dr.scatter_add_kahan(f, m.Float(4, 5, 6), m.Float(1), i),
        lambda: dr.take(m.TensorXf([1, 2, 3]), i),
        lambda: dr.slice(f, i),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="out of bounds for an array with"):
            call()
    assert f.numpy().tolist() == [1, 2, 3] and u.numpy().tolist() == [1, 2, 3]
    assert dr.gather(m.Float, f, i, active=False)[0] == 0
    assert dr.gather(m.Float, f, m.UInt(2))[0] == 3


def test_positions_in_frozen_functions() -> None:
    @dr.freeze
    def f(x: Any) -> Any:
        return dr.gather(llvm.Float, x, llvm.UInt(4)) + x

    assert f(dr.arange(llvm.Float, 8))[0] == 4
    assert f(dr.arange(llvm.Float, 6))[0] == 4
    with pytest.raises(RuntimeError, match="position 4 is out of bounds"):
        f(dr.arange(llvm.Float, 3))


@family
def test_mode_in_the_place_of_active(m: Any) -> None:
    t = dr.zeros(m.Float, 3)
    dr.scatter(t, m.Float(5), m.UInt(1), dr.ReduceMode.NoConflicts)
    dr.scatter_add(t, m.Float(5), m.UInt(1), dr.ReduceMode.Local)
    assert t.numpy().tolist() == [0, 10, 0]
