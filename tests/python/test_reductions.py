"""Reductions along axes, prefix and block reductions, compress: against NumPy."""

from __future__ import annotations

import itertools
from types import ModuleType
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import llvm, scalar

DTYPES: dict[str, Any] = {
    "i8": np.int8,
    "u8": np.uint8,
    "i": np.int32,
    "u": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
    "f16": np.float16,
    "f": np.float32,
    "f64": np.float64,
    "b": np.bool_,
}
LEAVES = {
    "i8": "Int8",
    "u8": "UInt8",
    "i": "Int",
    "u": "UInt",
    "i64": "Int64",
    "u64": "UInt64",
    "f16": "Float16",
    "f": "Float",
    "f64": "Float64",
    "b": "Bool",
}
ARITHMETIC: dict[str, Any] = {
    "sum": np.sum,
    "prod": np.prod,
    "min": np.min,
    "max": np.max,
}
LOGICAL: dict[str, Any] = {
    "all": np.all,
    "any": np.any,
    "none": lambda a, **k: ~np.any(a, **k),
}
Add = dr.ReduceOp.Add


def flat(m: ModuleType, entry: str) -> Any:
    """The dynamic one-dimensional type with these entries."""
    return getattr(m, "ArrayX" + entry if m is scalar else LEAVES[entry])


def entries(value: Any) -> Any:
    """The entries of a flat array or tensor in NumPy's shape; numbers stay."""
    if isinstance(value, (bool, int, float)):
        return value
    if dr.is_tensor_v(value):
        return np.array(list(value.array)).reshape(value.shape)
    return np.array(list(value))


def rows(a: Any) -> list[Any]:
    return [list(a[i]) for i in range(len(a))]


def tensor(m: ModuleType, entry: str, data: Any) -> Any:
    return getattr(m, "TensorX" + entry)(data.ravel().tolist(), data.shape)


# ------------------------------------------------------------------ flat arrays


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("entry", [e for e in DTYPES if e != "b"])
@pytest.mark.parametrize("n", [1, 2, 77, 5000])
def test_flat(m: ModuleType, name: str, entry: str, n: int) -> None:
    """Values whose sums and products are exact in every type."""
    rng = np.random.default_rng(n)
    data: Any = rng.integers(0, 3, n).astype(DTYPES[entry])
    if name == "prod":
        data[:] = 1
        data[n // 2] = 3
    if name == "sum" and entry in ("i8", "u8", "f16"):
        data[60:] = 0
    with np.errstate(over="ignore"):
        expected = (
            ARITHMETIC[name](data, dtype=data.dtype)
            if name
            in (
                "sum",
                "prod",
            )
            else ARITHMETIC[name](data)
        )
    result = getattr(dr, name)(flat(m, entry)(data.tolist()))
    if m is not scalar:
        assert type(result) is flat(m, entry)
        assert len(result) == 1
        result = result[0]
    assert result == expected
    assert isinstance(result, float if entry.startswith("f") else int)


@pytest.mark.parametrize("name", LOGICAL)
@pytest.mark.parametrize("bits", [[True], [False], [True] * 40, [True, False] * 20])
def test_flat_masks(m: ModuleType, name: str, bits: list[bool]) -> None:
    result = getattr(dr, name)(flat(m, "b")(bits))
    if m is not scalar:
        assert type(result) is m.Bool
        result = result[0]
    assert result is bool(LOGICAL[name](np.array(bits)))


def test_sum_of_many_is_accurate(m: ModuleType) -> None:
    data = np.random.default_rng(0).random(100000).astype(np.float32)
    result = dr.sum(flat(m, "f")(data.tolist()))
    found = result[0] if m is not scalar else result
    assert found == pytest.approx(float(data.astype(np.float64).sum()), rel=1e-6)


@pytest.mark.parametrize("mode", [None, "evaluated", "symbolic"])
def test_modes(mode: str | None) -> None:
    x = dr.arange(llvm.UInt, 1000)
    assert dr.sum(x, mode=mode)[0] == 499500
    assert dr.max(x + 1, mode=mode)[0] == 1000
    assert rows(dr.sum(llvm.Array2u(x, 2), axis=1, mode=mode)) == [[499500], [2000]]
    assert list(dr.block_reduce(Add, x, 500, mode)) == [124750, 374750]


def test_symbolic_mode_does_not_launch() -> None:
    x = dr.arange(llvm.UInt, 1000) + 1
    dr.eval()
    before = dr.detail.launch_stats()[0]
    total = dr.sum(x, mode="symbolic")
    assert dr.detail.launch_stats()[0] == before
    assert total[0] == 500500
    assert dr.detail.launch_stats()[0] > before


@pytest.mark.parametrize("name", [*ARITHMETIC, "reduce"])
def test_wrong_mode(name: str) -> None:
    args = (Add,) if name == "reduce" else ()
    with pytest.raises(RuntimeError, match="'mode' is 'fast'"):
        getattr(dr, name)(*args, llvm.Float(1), mode="fast")
    with pytest.raises(TypeError, match="'mode' is 5"):
        getattr(dr, name)(*args, llvm.Float(1), mode=5)


def test_nothing_to_reduce() -> None:
    assert dr.sum(llvm.Float())[0] == 0
    assert dr.prod(llvm.Float())[0] == 1
    assert dr.min(llvm.Float())[0] == float("inf")
    assert dr.max(llvm.Int())[0] == -(2**31)
    assert dr.all(llvm.Bool())[0] is True
    assert dr.any(llvm.Bool())[0] is False
    assert dr.none(llvm.Bool())[0] is True
    nothing: list[Any] = [llvm.Array0f(), scalar.ArrayXf(), llvm.ArrayXf(), []]
    for empty in nothing:
        assert dr.sum(empty) == 0
        assert dr.prod(empty) == 1
        assert dr.min(empty) == float("inf")
        assert dr.max(empty) == -float("inf")
    assert dr.all([]) is True
    assert dr.any([]) is False


def test_nan_is_missing_data() -> None:
    nan = float("nan")
    assert dr.max(llvm.Float(1, nan, 2))[0] == 2
    assert dr.min(scalar.ArrayXf(nan, 3, 2)) == 2


# ------------------------------------------------------------------ nested arrays

NESTED = {
    "Array3f": (3,),
    "Array4f": (4,),
    "Matrix2f": (2, 2),
    "Matrix3f": (3, 3),
    "Array22f": (2, 2),
    "Array43f": (4, 3),
    "Array34f": (3, 4),
    "Array443f": (4, 4, 3),
    "Array334f": (3, 3, 4),
    "Matrix43f": (4, 4, 3),
    "Complex2f": (2,),
    "Quaternion4f": (4,),
}


def subsets(n: int) -> list[tuple[int, ...]]:
    return [s for k in range(n + 1) for s in itertools.combinations(range(n), k)]


def nested_entries(value: Any, shape: tuple[int, ...]) -> Any:
    return np.array(list(dr.ravel(value, order="C"))).reshape(shape)


@pytest.mark.parametrize("name", NESTED)
def test_nested_axes(name: str) -> None:
    """Every set of axes of every kind of shape, the trailing axis included."""
    shape = (*NESTED[name], 5)
    data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    value = dr.unravel(getattr(llvm, name), llvm.Float(data.ravel().tolist()), "C")
    for axes in subsets(len(shape)):
        expected = data.sum(axis=axes)
        left = tuple(n for i, n in enumerate(shape[:-1]) if i not in axes)
        result = dr.sum(value, axis=axes)
        last = 1 if len(shape) - 1 in axes else 5
        found = nested_entries(result, (*left, last))
        np.testing.assert_array_equal(found, expected.reshape(*left, last))
        negative = tuple(a - len(shape) for a in axes)
        again = nested_entries(dr.sum(value, axis=negative), (*left, last))
        np.testing.assert_array_equal(again, found)
        if len(axes) == 1:
            assert type(dr.sum(value, axis=axes[0])) is type(result)
    total = dr.sum(value, axis=None)
    assert type(total) is llvm.Float
    assert list(total) == [data.sum()]
    first = nested_entries(dr.sum(value), (*shape[1:-1], 5))
    np.testing.assert_array_equal(first, data.sum(axis=0))


@pytest.mark.parametrize("name", NESTED)
def test_nested_numbers(name: str) -> None:
    shape = NESTED[name]
    data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    value = dr.unravel(
        getattr(scalar, name), scalar.ArrayXf(data.ravel().tolist()), "C"
    )
    for axes in subsets(len(shape)):
        result = dr.sum(value, axis=axes)
        expected = data.sum(axis=axes)
        if len(axes) == len(shape):
            assert result == expected
            assert isinstance(result, float)
        else:
            np.testing.assert_array_equal(
                nested_entries(result, expected.shape), expected
            )


def test_types_of_nested_results() -> None:
    assert type(dr.sum(llvm.Matrix2f(1))) is llvm.Array2f
    assert type(dr.sum(llvm.Matrix2f(1), axis=(0, 1))) is llvm.Float
    assert type(dr.sum(llvm.Array3f(1), axis=1)) is llvm.Array3f
    assert type(dr.all(llvm.Array3b(True))) is llvm.Bool
    assert dr.all(scalar.Array3b(True, True, False)) is False
    assert list(dr.all(scalar.Array22b([[True, True], [False, True]]))) == [False, True]


def test_dynamic_components() -> None:
    value = llvm.ArrayXf([1, 2], [3, 4], [5, 6])
    assert list(dr.sum(value)) == [9, 12]
    assert rows(dr.sum(value, axis=1)) == [[3], [7], [11]]
    assert rows(dr.sum(value, axis=-1, keepdims=True)) == [[3], [7], [11]]
    assert list(dr.prod(value, axis=None)) == [720]


def test_leaves_of_one_entry_count_for_each_lane() -> None:
    value = llvm.Array2f([1, 2], 5)
    assert rows(dr.sum(value, axis=1)) == [[3], [10]]
    assert list(dr.sum(value, axis=None)) == [13]


def test_nested_masks() -> None:
    value = llvm.Array3b([True, False], [True, True], True)
    assert list(dr.all(value)) == [True, False]
    assert list(dr.none(value)) == [False, False]
    assert rows(dr.all(value, axis=1)) == [[False], [True], [True]]
    assert list(dr.all(value, axis=None)) == [False]
    assert bool(dr.any(value, axis=None))


def test_empty_tuple_of_axes_copies() -> None:
    value = llvm.Array2f(1, 2)
    same = dr.sum(value, axis=())
    same += 1
    assert rows(value) == [[1], [2]]
    assert rows(same) == [[2], [3]]


@pytest.mark.parametrize("axis", [2, -3, (0, 5), [0], "x", 1.5])
def test_wrong_axis(axis: Any) -> None:
    with pytest.raises(RuntimeError, match=r"drjit\.sum\(<drjit\S*\.Array3f>\)"):
        dr.sum(llvm.Array3f(1), axis=axis)


def test_keepdims_of_nested_arrays() -> None:
    with pytest.raises(RuntimeError, match="keepdims"):
        dr.sum(llvm.Array3f(1, 2, 3), keepdims=True)
    with pytest.raises(RuntimeError, match="keepdims"):
        dr.sum(llvm.Array3f(1, 2, 3), axis=None, keepdims=True)
    with pytest.raises(RuntimeError, match="keepdims"):
        dr.sum(scalar.Array3f(1, 2, 3), keepdims=True)
    assert list(dr.sum(llvm.Float(1, 2), keepdims=True)) == [3]
    assert list(dr.sum(scalar.ArrayXf(1, 2), keepdims=True)) == [3]


@pytest.mark.parametrize("name", ARITHMETIC)
def test_types_that_do_not_fit(m: ModuleType, name: str) -> None:
    with pytest.raises(RuntimeError, match="cannot be reduced"):
        getattr(dr, name)(flat(m, "b")(True))
    with pytest.raises(RuntimeError, match="cannot be reduced"):
        getattr(dr, name)(m.TensorXb(True))
    for logical in LOGICAL:
        with pytest.raises(RuntimeError, match="cannot be reduced"):
            getattr(dr, logical)(flat(m, "u")(1))


# ------------------------------------------------------------------ tensors

SHAPES = [(), (1,), (6,), (2, 3), (3, 1, 4), (4, 3, 5), (2, 3, 1, 4), (2, 3, 2, 3, 2)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", [None, "evaluated", "symbolic"])
@pytest.mark.parametrize("keepdims", [False, True])
def test_tensor_axes(
    m: ModuleType, shape: tuple[int, ...], mode: str | None, keepdims: bool
) -> None:
    data: Any = np.arange(np.prod(shape), dtype=np.int32).reshape(shape) % 11
    value = tensor(m, "i", data)
    for axes in subsets(len(shape)):
        for name in ("sum", "min", "max"):
            result = getattr(dr, name)(value, axis=axes, mode=mode, keepdims=keepdims)
            expected = ARITHMETIC[name](data, axis=axes, keepdims=keepdims)
            assert result.shape == expected.shape
            np.testing.assert_array_equal(entries(result), expected)
    total = dr.sum(value, mode=mode, keepdims=keepdims)
    assert total.shape == ((1,) * len(shape) if keepdims else ())
    assert list(total.array) == [data.sum()]


@pytest.mark.parametrize("name", LOGICAL)
@pytest.mark.parametrize("shape", [(2, 3), (3, 2, 4), (5,)])
def test_tensor_masks(m: ModuleType, name: str, shape: tuple[int, ...]) -> None:
    data: Any = np.random.default_rng(5).integers(0, 4, shape) > 0
    value = tensor(m, "b", data)
    for axes in subsets(len(shape)):
        result = getattr(dr, name)(value, axis=axes)
        expected = np.asarray(LOGICAL[name](data, axis=axes))
        assert result.shape == expected.shape
        np.testing.assert_array_equal(entries(result), expected)
    assert getattr(dr, name)(value).shape == ()


@pytest.mark.parametrize("entry", ["i8", "u64", "f16", "f", "f64"])
def test_tensor_entries(m: ModuleType, entry: str) -> None:
    data: Any = np.arange(24).reshape(2, 3, 4).astype(DTYPES[entry])
    value = tensor(m, entry, data)
    for axis in (0, 1, 2, (0, 2)):
        result = dr.sum(value, axis=axis)
        assert type(result) is type(value)
        np.testing.assert_array_equal(entries(result), data.sum(axis=axis))


def test_tensors_without_entries(m: ModuleType) -> None:
    value = m.TensorXf([], (2, 0))
    assert list(dr.sum(value, axis=1).array) == [0, 0]
    assert list(dr.min(value, axis=1).array) == [float("inf")] * 2
    assert dr.sum(value, axis=0).shape == (0,)
    assert list(dr.prod(value).array) == [1]
    assert dr.sum(value, axis=1, keepdims=True).shape == (2, 1)


def test_wide_tensor(m: ModuleType) -> None:
    data = np.random.default_rng(7).integers(0, 100, (37, 129))
    value = tensor(m, "i", data)
    np.testing.assert_array_equal(entries(dr.sum(value, axis=0)), data.sum(axis=0))
    np.testing.assert_array_equal(entries(dr.sum(value, axis=1)), data.sum(axis=1))


def test_broadcast_tensor() -> None:
    value = dr.full(llvm.TensorXf, 2, (3, 4))
    assert list(dr.sum(value, axis=0).array) == [6] * 4
    assert list(dr.sum(value, axis=1, mode="symbolic").array) == [8] * 3


# ------------------------------------------------------------------ Python values


def test_numbers() -> None:
    for name in ARITHMETIC:
        assert getattr(dr, name)(5) == 5
        assert isinstance(getattr(dr, name)(5), int)
        assert getattr(dr, name)(2.5) == 2.5
    assert dr.all(True) is True
    assert dr.any(False) is False
    assert dr.none(False) is True
    assert dr.none(True) is False
    for name, value in [("sum", True), ("all", 5), ("any", 0.0), ("none", 1)]:
        with pytest.raises(RuntimeError, match="expected an array"):
            getattr(dr, name)(value)
    with pytest.raises(TypeError):
        dr.sum(None)


def test_sequences() -> None:
    assert dr.sum([1, 2, 3]) == 6
    assert dr.sum((1.5, 2)) == 3.5
    assert dr.prod(range(1, 5)) == 24
    assert dr.sum(x for x in [1, 2]) == 3
    assert dr.sum({1, 2, 3}) == 6
    assert dr.min([3, 1, 2]) == 1
    assert dr.max([3, 1.5]) == 3.0
    assert dr.all([True, False]) is False
    assert dr.none([False, False]) is True
    assert list(dr.sum([llvm.Float(1, 2), llvm.Int(3, 4)])) == [4, 6]
    assert list(dr.min([llvm.Float(1, 5), 3])) == [1, 3]
    assert list(dr.all((llvm.Bool(True, False), True))) == [True, False]
    product = dr.prod([llvm.Complex2f(1, 2), llvm.Complex2f(3, 4)])
    assert rows(product) == [[-5], [10]]


def test_sequences_along_all_axes() -> None:
    assert dr.sum([[1, 2], [3, 4]], axis=None) == 10
    masks = [llvm.Bool(True, False), llvm.Bool(True, True)]
    assert list(dr.all(masks, axis=None)) == [False]
    assert list(dr.any(masks, axis=None)) == [True]


@pytest.mark.parametrize("axis", [1, -1, (0, 1), (0,)])
def test_axes_that_sequences_lack(axis: Any) -> None:
    with pytest.raises(RuntimeError, match="expected 0 or None"):
        dr.sum([[1, 2], [3, 4]], axis=axis)


@pytest.mark.parametrize("value", ["abc", b"abc", {"a": 1}, object()])
def test_values_that_are_no_numbers(value: Any) -> None:
    with pytest.raises(RuntimeError, match=r"drjit\.sum\("):
        dr.sum(value)
    with pytest.raises(RuntimeError):
        dr.sum([1, 2], keepdims=True)
    with pytest.raises(RuntimeError) as info:
        dr.sum([object(), object()])
    assert isinstance(info.value.__cause__, TypeError)


def test_sequence_that_contains_itself() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(RuntimeError):
        dr.sum(loop, axis=None)


# ------------------------------------------------------------------ reduce


@pytest.mark.parametrize(
    "op, data, expected",
    [
        ("Add", [3, 6], 9),
        ("Mul", [3, 6], 18),
        ("Min", [3, 6], 3),
        ("Max", [3, 6], 6),
        ("And", [3, 6], 2),
        ("Or", [3, 6], 7),
    ],
)
def test_reduce(op: str, data: list[int], expected: int) -> None:
    member = getattr(dr.ReduceOp, op)
    assert dr.reduce(member, llvm.UInt(data))[0] == expected
    assert dr.reduce(member, llvm.Array2u(data))[0] == expected
    assert dr.reduce(member, scalar.ArrayXu(data)) == expected
    assert dr.reduce(member, data) == expected
    assert dr.reduce(member, llvm.TensorXu(data, (2,)), keepdims=True).shape == (1,)


def test_reduce_rejects() -> None:
    with pytest.raises(RuntimeError, match="Identity"):
        dr.reduce(dr.ReduceOp.Identity, llvm.Float(1))
    with pytest.raises(RuntimeError, match="cannot be reduced"):
        dr.reduce(dr.ReduceOp.And, llvm.Float(1))
    with pytest.raises(ValueError):
        dr.reduce(99, llvm.Float(1))
    with pytest.raises(TypeError):
        dr.reduce("sum", llvm.Float(1))


# ------------------------------------------------------------------ prefix sums

NUMPY_PREFIX: dict[str, Any] = {
    "Add": (np.add, 0),
    "Mul": (np.multiply, 1),
    "Min": (np.minimum, 2**31 - 1),
    "Max": (np.maximum, -(2**31)),
    "And": (np.bitwise_and, -1),
    "Or": (np.bitwise_or, 0),
}


def prefix(name: str, data: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    """The same with NumPy's accumulate()."""
    function, identity = NUMPY_PREFIX[name]
    lines = np.moveaxis(data, axis, -1)
    lines = lines[..., ::-1] if reverse else lines
    out = function.accumulate(lines, axis=-1)
    if exclusive:
        start = np.full((*out.shape[:-1], 1), identity, out.dtype)
        out = np.concatenate([start, out[..., :-1]], axis=-1)
    return np.moveaxis(out[..., ::-1] if reverse else out, -1, axis)


@pytest.mark.parametrize("name", NUMPY_PREFIX)
@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("reverse", [True, False])
def test_prefix_reduce(
    m: ModuleType, name: str, exclusive: bool, reverse: bool
) -> None:
    op = getattr(dr.ReduceOp, name)
    data = np.random.default_rng(9).integers(1, 9, (3, 4, 5)).astype(np.int32)
    for axis in range(-3, 3):
        result = dr.prefix_reduce(
            op, tensor(m, "i", data), axis, exclusive=exclusive, reverse=reverse
        )
        assert result.shape == data.shape
        np.testing.assert_array_equal(
            entries(result), prefix(name, data, axis, exclusive, reverse)
        )
    line = data.ravel()[:12]
    for cls in (flat(m, "i"), m.Array4i):
        size = 4 if cls is m.Array4i else 12
        values = cls(line[:size].tolist())
        result = dr.prefix_reduce(op, values, 0, exclusive, reverse)
        assert type(result) is cls
        found = np.array(list(dr.ravel(result)))
        expected = prefix(name, line[:size], 0, exclusive, reverse)
        np.testing.assert_array_equal(found, expected)


def test_prefix_reduce_nested() -> None:
    value = llvm.Array3f([1, 2], [3, 4], [5, 6])
    first = nested_entries(dr.prefix_reduce(Add, value), (3, 2))
    assert first.tolist() == [[0, 0], [1, 2], [4, 6]]
    assert rows(dr.prefix_reduce(Add, value, 1)) == [[0, 1], [0, 3], [0, 5]]
    both = dr.prefix_reduce(Add, value, (0, 1), exclusive=False)
    assert rows(both) == [[1, 3], [4, 10], [9, 21]]
    matrix = dr.prefix_reduce(Add, llvm.Matrix2f([[1, 2], [3, 4]]), 1, exclusive=False)
    assert [[matrix[i, k][0] for k in range(2)] for i in range(2)] == [[1, 3], [3, 7]]
    masks = dr.prefix_reduce(dr.ReduceOp.Or, llvm.Bool(False, True, False))
    assert list(masks) == [False, False, True]


def test_prefix_reduce_several_tensor_axes(m: ModuleType) -> None:
    data = np.arange(6, dtype=np.int32).reshape(2, 3)
    result = dr.prefix_reduce(Add, tensor(m, "i", data), (0, 1), exclusive=False)
    np.testing.assert_array_equal(entries(result), data.cumsum(axis=0).cumsum(axis=1))


def test_prefix_reduce_sequences() -> None:
    assert dr.prefix_reduce(Add, [1, 2, 3]) == [0, 1, 3]
    assert dr.prefix_reduce(Add, (1, 2, 3), exclusive=False) == [1, 3, 6]
    assert dr.prefix_reduce(Add, [1, 2, 3], reverse=True) == [5, 3, 0]
    assert dr.prefix_reduce(Add, []) == []
    result = dr.prefix_reduce(Add, [llvm.Float(1, 2), llvm.Float(3, 4)])
    assert result[0] == 0
    assert list(result[1]) == [1, 2]
    with pytest.raises(RuntimeError, match="'axis' is not 0"):
        dr.prefix_reduce(Add, [1, 2], axis=1)


def test_prefix_reduce_rejects() -> None:
    with pytest.raises(TypeError, match="expected an array"):
        dr.prefix_reduce(Add, 5)
    with pytest.raises(TypeError, match="'axis' is None"):
        dr.prefix_reduce(Add, llvm.Float(1), axis=None)
    with pytest.raises(RuntimeError, match="out of bounds"):
        dr.prefix_reduce(Add, llvm.Float(1), axis=1)
    with pytest.raises(RuntimeError, match="cannot be reduced"):
        dr.prefix_reduce(Add, llvm.Bool(True))
    with pytest.raises(RuntimeError, match="Identity"):
        dr.prefix_reduce(dr.ReduceOp.Identity, llvm.Float(1))
    assert len(dr.prefix_reduce(Add, llvm.Float())) == 0


# ------------------------------------------------------------------ blocks


@pytest.mark.parametrize("block", [1, 2, 3, 4, 6, 12])
def test_block_reduce(m: ModuleType, block: int) -> None:
    data = np.random.default_rng(11).integers(0, 9, 12).astype(np.int32)
    for name in ("Add", "Mul", "Min", "Max", "And", "Or"):
        value = flat(m, "i")(data.tolist())
        result = dr.block_reduce(getattr(dr.ReduceOp, name), value, block)
        expected = NUMPY_PREFIX[name][0].reduce(data.reshape(-1, block), axis=1)
        assert list(result) == expected.tolist()


def test_block_reduce_trees() -> None:
    tree = [llvm.Array2f([1, 2, 3, 4], [5, 6, 7, 8]), {"a": llvm.Int(1, 2)}, "b", 7]
    result = dr.block_reduce(Add, tree, 2)
    assert rows(result[0]) == [[3, 7], [11, 15]]
    assert list(result[1]["a"]) == [3]
    assert result[2:] == ["b", 7]
    assert rows(dr.block_reduce(Add, llvm.Array2f([1, 2], 5), 2)) == [[3], [10]]


@pytest.mark.parametrize("mode", (None, "evaluated", "symbolic"))
def test_incomplete_block(m: ModuleType, mode: str | None) -> None:
    for size in (3, 5, 17, 100):
        for block in (2, 3, 7, 16, 1000):
            n = np.arange(1, size + 1, dtype=np.float32)
            parts = [n[k : k + block] for k in range(0, size, block)]
            value = flat(m, "f")(n)
            for op, reference in ((Add, np.sum), (dr.ReduceOp.Max, np.max)):
                got = dr.block_reduce(op, value, block, mode)
                assert got.numpy().tolist() == [reference(part) for part in parts]
    smallest = dr.block_reduce(dr.ReduceOp.Min, flat(m, "i")([3, 4, 5]), 2)
    assert smallest.numpy().tolist() == [3, 5]


def test_incomplete_block_derivatives() -> None:
    x = dr.llvm.ad.Float(1, 2, 3, 4, 5)
    dr.enable_grad(x)
    sums = dr.block_sum(x * x, 2)
    dr.backward(dr.sum(sums * dr.llvm.ad.Float(1, 2, 3)))
    assert x.grad.numpy().tolist() == [2, 4, 12, 16, 30]


def test_block_reduce_rejects(m: ModuleType) -> None:
    value = flat(m, "f")([1, 2, 3])
    with pytest.raises(RuntimeError, match="'block_size' is 0"):
        dr.block_reduce(Add, value, 0)
    with pytest.raises(ValueError, match="'block_size' is -1"):
        dr.block_reduce(Add, value, -1)
    with pytest.raises(TypeError, match="expected an int"):
        dr.block_reduce(Add, value, 1.5)
    with pytest.raises(RuntimeError, match="tensors are not supported"):
        dr.block_reduce(Add, m.TensorXf([1, 2], (2,)), 2)


@pytest.mark.parametrize("block", [1, 3, 5, 12, 40])
@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("reverse", [True, False])
def test_block_prefix_reduce(
    m: ModuleType, block: int, exclusive: bool, reverse: bool
) -> None:
    """The last block may be incomplete."""
    data = np.arange(1, 13, dtype=np.int32)
    value = flat(m, "i")(data.tolist())
    for name in ("Add", "Min"):
        op = getattr(dr.ReduceOp, name)
        result = dr.block_prefix_reduce(op, value, block, exclusive, reverse)
        parts = [data[i : i + block] for i in range(0, 12, block)]
        expected = [prefix(name, part, 0, exclusive, reverse) for part in parts]
        assert list(result) == np.concatenate(expected).tolist()


def test_block_prefix_reduce_trees() -> None:
    tree = [llvm.Array2f([1, 2, 3, 4], 5), "b"]
    result = dr.block_prefix_reduce(Add, tree, 2)
    assert rows(result[0]) == [[0, 1, 0, 3], [0, 5, 0, 5]]
    assert result[1] == "b"
    with pytest.raises(RuntimeError, match="'block_size' is 0"):
        dr.block_prefix_reduce(Add, tree, 0)


# ------------------------------------------------------------------ compress


@pytest.mark.parametrize("n", [1, 7, 1000])
def test_compress(m: ModuleType, n: int) -> None:
    bits = np.random.default_rng(n).integers(0, 2, n).astype(bool)
    result = dr.compress(flat(m, "b")(bits.tolist()))
    assert type(result) is flat(m, "u")
    assert list(result) == np.flatnonzero(bits).tolist()


def test_compress_nothing(m: ModuleType) -> None:
    for bits in ([], [False] * 5):
        found = dr.compress(flat(m, "b")(bits))
        assert list(found) == []
        cls = flat(m, "f")
        assert list(dr.gather(cls, cls([1] * 5), found)) == []


def test_compress_rejects(m: ModuleType) -> None:
    with pytest.raises(TypeError):
        dr.compress(True)
    for value in (m.Array2b(True), flat(m, "u")(1), m.TensorXb([True], (1,))):
        with pytest.raises(RuntimeError, match="expected a flat"):
            dr.compress(value)


@pytest.mark.parametrize("size", [1, 16, 4096, 4097, 5000])
def test_small_arrays_and_larger_ones(size: int) -> None:
    """Small ones are computed at once, unless the history is kept: the same results."""
    numbers = np.random.default_rng(size).integers(0, 100, size)
    x = llvm.UInt64(numbers.tolist())
    mask = x < 50
    dr.eval(x, mask)
    dr.sync_thread()
    for history in (False, True):
        with dr.scoped_set_flag(dr.JitFlag.KernelHistory, history):
            assert dr.sum(x) == int(numbers.sum())
            assert dr.max(x) == int(numbers.max())
            assert dr.count(mask) == int((numbers < 50).sum())
            assert dr.all(mask) == bool((numbers < 50).all())
            assert (
                dr.compress(mask).numpy().tolist()
                == np.flatnonzero(numbers < 50).tolist()
            )
            y = llvm.UInt64(x)
            y[size - 1] = 1000 + history
            assert y[size - 1] == 1000 + history
            assert x.numpy().tolist() == numbers.tolist()
    dr.kernel_history_clear()


def test_widths_of_many_leaves() -> None:
    """Single entries stand for as many as the others have, however many leaves."""
    parts = [llvm.Float([k, 1, 2]) if k % 2 else llvm.Float(k) for k in range(50)]
    found = dr.sum(llvm.ArrayXf(parts), axis=1)
    assert [found[k][0] for k in range(50)] == [
        k + 3 if k % 2 else 3 * k for k in range(50)
    ]


def outputs(work: Any) -> list[int]:
    """How many arrays each kernel writes; nothing else is launched."""
    x = llvm.Float(np.linspace(-1, 1, 1000, dtype=np.float32))
    dr.eval(x)
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.kernel_history_clear()
        dr.eval(work(x))
        history = dr.kernel_history()
    assert all(entry["type"] == dr.KernelType.JIT for entry in history)
    return [int(entry["output_count"]) for entry in history]


@pytest.mark.parametrize(
    "work",
    [
        lambda x: dr.cumsum(x * 2),
        lambda x: dr.prefix_sum(x * 2),
        lambda x: dr.cumsum(x * 2, reverse=True),
        lambda x: dr.block_prefix_sum(x * 2, 10),
        lambda x: dr.count(x > 0),
        lambda x: dr.norm(x - 1),
        lambda x: dr.compress(x > 0),
    ],
)
def test_operands_are_not_written(work: Any) -> None:
    """One kernel computes the operand and writes the result only."""
    assert outputs(work)[0] == 1


def test_operands_that_are_written() -> None:
    """Masks that have a name are, since they may be used again, and what is varied."""

    def named(x: Any) -> Any:
        mask = x > 0
        return dr.compress(mask), mask

    assert outputs(named) == [2]
    assert outputs(lambda x: dr.argmax(dr.abs(x)))[0] == 1
    assert outputs(lambda x: dr.var(x * 2))[0] == 2


# ---------------------------------------------------------------- axes in front

SHAPES = [
    (2, 3), (7, 5), (64, 16), (65, 17), (100, 257), (4097, 3), (66000, 2), (2, 40000),
    (3, 4, 5), (5, 70, 33), (40, 3, 1), (1, 6, 7),
]  # fmt: skip


@pytest.mark.parametrize("entry", ["f16", "f", "f64", "i8", "u64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_an_axis_in_front_has_the_bits_of_the_last(
    shape: tuple[int, ...], entry: str
) -> None:
    """As the same numbers, moved, have along their last axis."""
    tensor = getattr(llvm, "TensorX" + entry)
    numbers = (np.random.default_rng(1).normal(size=shape) * 20).astype(DTYPES[entry])
    for axis in range(len(shape) - 1):
        moved = tensor(np.ascontiguousarray(np.moveaxis(numbers, axis, -1)))
        for op in (dr.sum, dr.prod, dr.min, dr.max, dr.mean):
            if op is dr.mean and entry[0] != "f":
                continue
            found, expected = op(tensor(numbers), axis=axis), op(moved, axis=-1)
            assert found.shape == shape[:axis] + shape[axis + 1 :] == expected.shape
            assert found.numpy().tobytes() == expected.numpy().tobytes(), (op, axis)
            kept = op(tensor(numbers), axis=axis, keepdims=True)
            assert kept.shape == (*shape[:axis], 1, *shape[axis + 1 :])


@pytest.mark.parametrize("op", [dr.sum, dr.mean, dr.prod, dr.max])
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 4), (5, 1, 2)])
def test_derivatives_along_axes_in_front(shape: tuple[int, ...], op: Any) -> None:
    """Of first and second order, forward and backward, against difference quotients."""
    tensor = llvm.ad.TensorXf64
    numbers = np.random.default_rng(2).normal(size=shape) + 2
    weights = tensor(np.random.default_rng(3).normal(size=shape))
    for axis in range(len(shape) - 1):

        def function(x: Any, axis: int = axis) -> Any:
            return dr.sin(op(x * weights, axis=axis))

        dr.check_grad(function, tensor(numbers))
        if op is not dr.max:
            dr.check_grad(
                lambda x, f=function: dr.ad.gradient(lambda y: dr.sum(f(y)))(x),
                tensor(numbers),
            )


def test_a_reduction_of_an_axis_is_one_command() -> None:
    x = llvm.TensorXf(np.ones((300, 200), np.float32))
    dr.eval(x)
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.eval(dr.sum(x, axis=0))
        kinds = [entry["type"] for entry in dr.kernel_history()]
    assert kinds == [dr.KernelType.BlockReduce]
