"""NumPy's arrays and numbers beside ours, on either side of an operator: the result is
ours, with NumPy's values, or an exception. It is never computed by NumPy, which would
lose what was traced and is tracked.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import llvm

OPERATORS: list[Callable[[Any, Any], Any]] = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.lshift,
    operator.rshift,
    operator.and_,
    operator.or_,
    operator.xor,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
    divmod,
]
WITHOUT_INTEGERS = [operator.truediv, operator.pow]
GRID = np.arange(1, 7).reshape(2, 3)
THEIRS: dict[str, Any] = {
    "floats": np.array([1, 2, 3], np.float32),
    "doubles": np.array([1, 2, 3], np.float64),
    "integers": np.array([1, 2, 3]),
    "masks": np.array([True, False, True]),
    "grid": GRID.astype(np.float32),
    "grid of integers": GRID,
    "grid of masks": GRID > 2,
    "transposed": np.asfortranarray(GRID.astype(np.float32)),
    "column": GRID[:, :1].astype(np.float32),
    "deep": np.ones((2, 2, 2, 2, 2), np.float32),
    "empty": np.zeros(0, np.float32),
    "float": np.float32(2),
    "integer": np.int64(2),
    "truth": np.bool_(True),
    "no axes": np.array(2.0),
    "complex": np.complex64(1j),
    "objects": np.array([1, 2, 3], object),
}


def ours(m: ModuleType) -> dict[str, Any]:
    x = m.Float(1, 2, 3) if dr.is_jit_v(m.TensorXf) else m.ArrayXf(1, 2, 3)
    return {
        "Float": x,
        "Int": m.Int(1, 2, 3) if dr.is_jit_v(m.TensorXf) else m.ArrayXi(1, 2, 3),
        "Bool": x > 1,
        "Array3f": m.Array3f(1, 2, 3),
        "Complex2f": m.Complex2f(1, 2),
        "Quaternion4f": m.Quaternion4f(1, 2, 3, 4),
        "Matrix3f": m.Matrix3f(2),
        "TensorXf": m.TensorXf(GRID.astype(np.float32)),
        "TensorXi": m.TensorXi(GRID),
        "TensorXb": m.TensorXf(GRID.astype(np.float32)) > 2,
    }


@pytest.mark.parametrize("function", OPERATORS, ids=lambda function: function.__name__)
def test_results_are_ours(m: ModuleType, function: Callable[[Any, Any], Any]) -> None:
    for name, own in ours(m).items():
        for kind, their in THEIRS.items():
            for a, b in ((own, their), (their, own)):
                try:
                    results = function(a, b)
                except (TypeError, RuntimeError) as error:
                    assert "ufunc" not in str(error), (name, kind)
                    continue
                for result in results if isinstance(results, tuple) else (results,):
                    assert dr.is_array_v(result), (name, kind, type(result))


@pytest.mark.parametrize("function", OPERATORS, ids=lambda function: function.__name__)
def test_tensors_have_the_values_of_numpy(function: Callable[[Any, Any], Any]) -> None:
    """Of positive numbers: divisions of integers round towards zero here."""
    for kind in ("floats", "grid", "transposed", "column", "grid of integers"):
        their = THEIRS[kind]
        own = GRID.astype(their.dtype)
        tensor = (llvm.TensorXf if own.dtype == np.float32 else llvm.TensorXi64)(own)
        for theirs, mine in (
            ((own, their), (tensor, their)),
            ((their, own), (their, tensor)),
        ):
            try:
                results = function(*mine)
            except (TypeError, RuntimeError):
                assert own.dtype == np.float32 or function in WITHOUT_INTEGERS
                continue
            expected = function(*theirs)
            pairs = [(results, expected)]
            if isinstance(results, tuple):
                pairs = list(zip(results, expected, strict=True))
            for result, values in pairs:
                assert result.shape == values.shape
                assert np.allclose(result.numpy(), values, rtol=1e-6)


def test_selections() -> None:
    grid = GRID.astype(np.float32)
    tensor = llvm.TensorXf(grid)
    expected = np.where(grid > 2, grid, 0)
    assert (dr.select(grid > 2, tensor, 0).numpy() == expected).all()
    assert (dr.select(tensor > 2, grid, 0).numpy() == expected).all()
    assert (
        dr.select(tensor > 2, grid, 2 * grid).numpy()
        == np.where(grid > 2, grid, 2 * grid)
    ).all()
    assert ((tensor & (grid > 2)).numpy() == expected).all()
    column = np.array([[True], [False]])
    assert (dr.select(column, tensor, 0).numpy() == np.where(column, grid, 0)).all()
    with pytest.raises(
        RuntimeError, match=r"incompatible shapes: \(4, 1\) and \(2, 3\)"
    ):
        dr.select(np.ones((4, 1), bool), tensor, 0)


@pytest.mark.parametrize("kind", ["floats", "grid", "column"])
def test_derivatives_are_kept(kind: str) -> None:
    their = THEIRS[kind].astype(np.float32)
    x = llvm.ad.TensorXf(GRID.astype(np.float32))
    for function, slope in (
        (lambda: their * x, their),
        (lambda: x * their, their),
        (lambda: their - x, -1),
        (lambda: x**their, their * GRID ** (their - 1)),
    ):
        dr.enable_grad(x)
        dr.backward(dr.sum(function(), axis=None))
        assert np.allclose(x.grad.numpy(), np.broadcast_to(slope, x.shape), rtol=1e-5)
        dr.set_grad(x, 0)
        dr.disable_grad(x)


def test_divmod() -> None:
    a = llvm.Int(7, 8, 9)
    assert [list(part) for part in divmod(a, 4)] == [[1, 2, 2], [3, 0, 1]]
    assert [list(part) for part in divmod(a, a)] == [[1, 1, 1], [0, 0, 0]]
    assert [list(part) for part in divmod(30, a)] == [[4, 3, 3], [2, 6, 3]]
    with pytest.raises(TypeError, match="unsupported operand"):
        divmod(llvm.Float(1), 2)
