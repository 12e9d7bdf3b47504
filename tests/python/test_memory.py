"""Gathers, scatters, atomics and slices, compared with NumPy's indexing."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import llvm, scalar

ENTRIES = ["i8", "u8", "i", "u", "i64", "u64", "f16", "f", "f64"]
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
}


def flat(m: ModuleType, entry: str) -> Any:
    """The dynamic one-dimensional type with these entries."""
    return getattr(m, "ArrayX" + entry if m is scalar else LEAVES.get(entry, "Bool"))


def rows(a: Any) -> list[Any]:
    """The leaves of a nested array, each as a list of its entries."""
    return [list(a[i]) for i in range(len(a))]


@dataclass
class Ray:
    origin: llvm.Array3f = field(default_factory=llvm.Array3f)
    time: llvm.Float = field(default_factory=llvm.Float)


@dataclass(frozen=True)
class Hit:
    """A data class that needs arguments."""

    t: llvm.Float
    uv: llvm.Array2f


class Record:
    DRJIT_STRUCT = {"a": llvm.Float, "b": llvm.Int}

    def __init__(self) -> None:
        self.a = llvm.Float()
        self.b = llvm.Int()


def record(a: Any, b: Any) -> Record:
    r = Record()
    r.a, r.b = llvm.Float(a), llvm.Int(b)
    return r


# ------------------------------------------------------------------ gather


@pytest.mark.parametrize("entry", ENTRIES)
def test_gather_is_indexing(m: ModuleType, entry: str) -> None:
    rng = np.random.default_rng(1)
    data = rng.integers(0, 100, 50).astype(DTYPES[entry])
    index = rng.integers(0, 50, 200)
    active = rng.integers(0, 2, 200).astype(bool)
    cls = flat(m, entry)
    source, positions = cls(data.tolist()), flat(m, "u")(index.tolist())
    assert list(dr.gather(cls, source, positions)) == data[index].tolist()
    masked = dr.gather(cls, source, positions, flat(m, "b")(active.tolist()))
    assert list(masked) == np.where(active, data[index], 0).tolist()
    assert type(masked) is cls


def test_gather_mask_entries(m: ModuleType) -> None:
    cls = flat(m, "b")
    source = cls([True, False, True])
    assert list(dr.gather(cls, source, [2, 1, 0])) == [True, False, True]


def test_gather_converts_positions_and_mask(m: ModuleType) -> None:
    cls = flat(m, "f")
    source = cls([1, 2, 3])
    assert list(dr.gather(cls, source, 1)) == [2]
    assert list(dr.gather(cls, source, [0, 2])) == [1, 3]
    assert list(dr.gather(cls, source, flat(m, "i")([2, 0]))) == [3, 1]
    assert list(dr.gather(cls, source, flat(m, "u64")([2, 0]))) == [3, 1]
    assert list(dr.gather(cls, source, [0, 1], [True, False])) == [1, 0]
    assert list(dr.gather(cls, source, [0, 1], False)) == [0, 0]
    assert list(dr.gather(cls, source, [0, 1], active=True)) == [1, 2]


def test_gather_positions_of_another_family() -> None:
    source = llvm.Float(1, 2, 3)
    assert list(dr.gather(llvm.Float, source, scalar.ArrayXu(0, 2))) == [1, 3]


@pytest.mark.parametrize(
    "name, shape",
    [("Array2f", (2,)), ("Array3f", (3,)), ("Array4f", (4,)), ("Matrix2f", (2, 2))]
    + [("Array33f", (3, 3)), ("Complex2f", (2,)), ("Quaternion4f", (4,))]
    + [("Array334f", (3, 3, 4)), ("Matrix4f", (4, 4))],
)
@pytest.mark.parametrize("extra", [0, 1])
def test_gather_components(name: str, shape: tuple[int, ...], extra: int) -> None:
    """A lane's components follow each other, in C order; any source size will do."""
    n = int(np.prod(shape))
    data = np.arange(5 * n + extra, dtype=np.float32)
    index = np.array([3, 0, 4, 4])
    active = np.array([True, True, False, True])
    cls = getattr(llvm, name)
    source = llvm.Float(data.tolist())
    expected = data[: 5 * n].reshape(5, *shape)[index] * active.reshape(
        4, *[1] * len(shape)
    )
    value = dr.gather(
        cls, source, llvm.UInt(index.tolist()), llvm.Bool(active.tolist())
    )
    assert type(value) is cls
    flat_value = dr.ravel(value, order="C")
    found = np.array(list(flat_value)).reshape(*shape, 4)
    np.testing.assert_array_equal(np.moveaxis(found, -1, 0), expected)


def test_gather_components_without_packets() -> None:
    index = llvm.UInt(1, 0)
    source = llvm.Float(range(8))
    before = dr.flag(dr.JitFlag.PacketOps)
    try:
        dr.set_flag(dr.JitFlag.PacketOps, False)
        value = dr.gather(llvm.Array4f, source, index)
        assert rows(value) == [[4, 0], [5, 1], [6, 2], [7, 3]]
    finally:
        dr.set_flag(dr.JitFlag.PacketOps, before)


def test_gather_components_of_numbers() -> None:
    source = scalar.ArrayXf(range(6))
    assert list(dr.gather(scalar.Array3f, source, 1)) == [3, 4, 5]
    assert dr.gather(float, source, 2) == 2.0
    assert dr.gather(int, scalar.ArrayXi(5, 6), 1) == 6
    with pytest.raises(RuntimeError, match="2 indices"):
        dr.gather(scalar.Array3f, source, [0, 1])


def test_gather_dynamic_components() -> None:
    source = llvm.Float(range(6))
    index = llvm.UInt(0, 1)
    for shape in [(3, 2), (3, -1), [3, 2]]:
        value = dr.gather(llvm.ArrayXf, source, index, shape=shape)
        assert rows(value) == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises(RuntimeError, match="'shape'"):
        dr.gather(llvm.ArrayXf, source, index)
    with pytest.raises(RuntimeError, match="1 extents, expected 2"):
        dr.gather(llvm.ArrayXf, source, index, shape=(3,))
    with pytest.raises(RuntimeError, match="extent 2 on axis 0"):
        dr.gather(llvm.Array3f, source, index, shape=(2, 2))


def test_gather_same_type_goes_through_leaves() -> None:
    source = llvm.Array3f([1, 2], [3, 4], 5)
    value = dr.gather(llvm.Array3f, source, llvm.UInt(1, 1, 0))
    assert rows(value) == [[2, 2, 1], [4, 4, 3], [5, 5, 5]]
    nested = dr.gather(llvm.ArrayXf, llvm.ArrayXf([1, 2], [3, 4]), [1])
    assert rows(nested) == [[2], [4]]


def test_gather_pytrees() -> None:
    tree = {"x": llvm.Float(1, 2, 3), "y": (llvm.Int(4, 5, 6), [llvm.Bool(True)])}
    value = dr.gather(dict, tree, llvm.UInt(2, 0))
    assert list(value["x"]) == [3, 1]
    assert list(value["y"][0]) == [6, 4]
    assert list(value["y"][1][0]) == [True, True]
    picked = dr.gather(Record, record([1, 2], [3, 4]), 1)
    assert (list(picked.a), list(picked.b)) == ([2], [4])
    ray = Ray(llvm.Array3f([1, 2], [3, 4], [5, 6]), llvm.Float(7, 8))
    ray = dr.gather(Ray, ray, llvm.UInt(1, 0, 1))
    assert rows(ray.origin) == [[2, 1, 2], [4, 3, 4], [6, 5, 6]]
    assert list(ray.time) == [8, 7, 8]


def test_data_classes_without_defaults() -> None:
    hit = Hit(llvm.Float(1, 2), llvm.Array2f([3, 4], [5, 6]))
    picked = dr.gather(Hit, hit, llvm.UInt(1))
    assert type(picked) is Hit
    assert (list(picked.t), rows(picked.uv)) == ([2], [[4], [6]])
    dr.scatter(hit, Hit(llvm.Float(0), llvm.Array2f(7, 8)), 0)
    assert (list(hit.t), rows(hit.uv)) == ([0, 2], [[7, 4], [8, 6]])
    entry = dr.slice(hit, 1)
    assert (entry.t, list(entry.uv)) == (2.0, [4, 6])


def test_gather_subclass() -> None:
    Position: Any = type("Position", (llvm.Array3f,), {})
    value = dr.gather(Position, Position([1, 2], [3, 4], [5, 6]), 1)
    assert type(value) is Position
    assert rows(value) == [[2], [4], [6]]
    assert type(dr.gather(Position, llvm.Float(1, 2, 3), 0)) is Position


def test_gather_empty(m: ModuleType) -> None:
    cls = flat(m, "f")
    assert len(dr.gather(cls, cls(1, 2), flat(m, "u")())) == 0
    assert len(dr.gather(cls, cls(), flat(m, "u")())) == 0
    with pytest.raises((RuntimeError, IndexError)):
        dr.gather(cls, cls(), 0)
    with pytest.raises(RuntimeError, match="incompatible sizes"):
        dr.gather(cls, cls(1, 2), flat(m, "u")(0, 1), flat(m, "b")())


@pytest.mark.parametrize("module", [llvm, llvm.ad])
@pytest.mark.parametrize("opaque", [False, True])
def test_gather_from_nothing_with_no_active_lane(
    module: ModuleType, opaque: bool
) -> None:
    off = module.Bool(False, False, False)
    if opaque:
        off = dr.opaque(module.Bool, False, 3)
    index = module.UInt(0, 7, 1)
    values = dr.gather(module.Float, module.Float(), index, off)
    assert type(values) is module.Float and np.array_equal(values.numpy(), np.zeros(3))
    vectors = dr.gather(module.Array3f, module.Float(), index, off)
    assert np.array_equal(vectors.numpy(), np.zeros((3, 3)))
    nested = dr.gather(module.Array2f, module.Array2f([], []), index, off)
    assert np.array_equal(nested.numpy(), np.zeros((2, 3)))
    assert np.array_equal(
        dr.gather(module.Bool, module.Bool(), index, off).numpy(), [0] * 3
    )
    with pytest.raises(RuntimeError, match="'source' is empty"):
        dr.gather(module.Float, module.Float(), index, module.Bool(False, True, False))


def test_gather_from_nothing_is_tracked() -> None:
    source = llvm.ad.Float()
    dr.enable_grad(source)
    values = dr.gather(
        llvm.ad.Float, source, llvm.ad.UInt(0, 1), llvm.ad.Bool(False, False)
    )
    dr.backward(values)
    assert dr.grad_enabled(values) and len(source.grad) == 0


def test_scatter_into_nothing_with_no_active_lane() -> None:
    off, index = llvm.Bool(False, False), llvm.UInt(0, 1)
    target = llvm.Float()
    dr.scatter(target, llvm.Float(1, 2), index, off)
    dr.scatter_add(target, llvm.Float(1, 2), index, off)
    dr.scatter_reduce(dr.ReduceOp.Max, target, 3, index, False)
    dr.scatter(target, llvm.Array2f(1, 2), index, off)
    nested = llvm.Array2f([], [])
    dr.scatter(nested, llvm.Array2f(1, 2), index, off)
    assert len(target) == 0 and dr.width(nested) == 0
    with pytest.raises(RuntimeError, match="'target' is empty"):
        dr.scatter(target, llvm.Float(1, 2), index, llvm.Bool(True, False))
    with pytest.raises(RuntimeError, match="'target' is empty"):
        dr.scatter(target, llvm.Float(1, 2), index)


def test_gather_scalar_checks_positions() -> None:
    with pytest.raises(IndexError, match="position 3 is out of bounds"):
        dr.gather(scalar.ArrayXf, scalar.ArrayXf(1, 2, 3), 3)
    assert list(dr.gather(scalar.ArrayXf, scalar.ArrayXf(1, 2), 9, False)) == [0]


@pytest.mark.parametrize(
    "dtype, source, index",
    [
        (llvm.Int, llvm.Float(1), 0),
        (llvm.Array3i, llvm.Float(1, 2, 3), 0),
        (float, llvm.Float(1), 0),
        (llvm.Float, [1, 2], 0),
        (llvm.Float, "abc", 0),
        (tuple, [llvm.Float(1)], 0),
        (list, [1, 2], 0),
        (llvm.Array3f, llvm.Array2f(1, 2), 0),
        (scalar.ArrayXf, llvm.Float(1), 0),
        (scalar.Array3f, scalar.Array3f(1, 2, 3), 0),
        (5, llvm.Float(1), 0),
        (llvm.Float, llvm.Float(1), "a"),
        (llvm.Float, llvm.Float(1), None),
        (llvm.Float, llvm.Float(1), llvm.Array2u(0, 1)),
        (llvm.Float, llvm.Float(1), -1),
    ],
)
def test_gather_wrong_types(dtype: Any, source: Any, index: Any) -> None:
    with pytest.raises(TypeError, match=r"drjit\.gather\("):
        dr.gather(dtype, source, index)


def test_gather_tensors_are_refused() -> None:
    tensor = llvm.TensorXf([1, 2], (2,))
    for dtype, source in [(llvm.TensorXf, tensor), (llvm.Float, tensor)]:
        with pytest.raises(RuntimeError, match="slice expressions"):
            dr.gather(dtype, source, 0)


def test_gather_arguments() -> None:
    x = llvm.Float(1, 2)
    with pytest.raises(TypeError, match="'index' is missing"):
        dr.gather(llvm.Float, x)
    with pytest.raises(TypeError, match="no argument named 'mask'"):
        dr.gather(llvm.Float, x, 0, mask=True)
    with pytest.raises(TypeError, match="several values"):
        dr.gather(llvm.Float, x, 0, index=1)
    for mode in dr.ReduceMode:
        assert list(dr.gather(llvm.Float, x, 1, mode=mode)) == [2]


# ------------------------------------------------------------------ scatter


@pytest.mark.parametrize("entry", ENTRIES)
def test_scatter_is_assignment(m: ModuleType, entry: str) -> None:
    rng = np.random.default_rng(2)
    target = rng.integers(0, 100, 64).astype(DTYPES[entry])
    index = rng.permutation(64)[:40]
    value = rng.integers(0, 100, 40).astype(DTYPES[entry])
    active = rng.integers(0, 2, 40).astype(bool)
    cls = flat(m, entry)
    array = cls(target.tolist())
    dr.scatter(
        array,
        cls(value.tolist()),
        flat(m, "u")(index.tolist()),
        flat(m, "b")(active.tolist()),
    )
    target[index[active]] = value[active]
    assert list(array) == target.tolist()


def test_scatter_broadcasts(m: ModuleType) -> None:
    array = flat(m, "f")([1, 2, 3, 4])
    dr.scatter(array, 9, [0, 2])
    assert list(array) == [9, 2, 9, 4]
    dr.scatter(array, [7, 8], [0, 1], [False, True])
    assert list(array) == [9, 8, 9, 4]
    dr.scatter(array, 0, flat(m, "u")())
    assert list(array) == [9, 8, 9, 4]


def test_scatter_keeps_copies(m: ModuleType) -> None:
    cls = flat(m, "f")
    a = cls([1, 2, 3])
    b = cls(a)
    dr.scatter(a, 9, 1)
    assert list(a) == [1, 9, 3]
    assert list(b) == [1, 2, 3]


def test_scatter_of_itself(m: ModuleType) -> None:
    a = flat(m, "f")([1, 2, 3])
    dr.scatter(a, a, [2, 1, 0])
    assert list(a) == [3, 2, 1]


def test_scatter_components() -> None:
    array = dr.zeros(llvm.Float, 7)
    dr.scatter(array, llvm.Array3f([1, 2], [3, 4], 5), llvm.UInt(1, 0))
    assert list(array) == [2, 4, 5, 1, 3, 5, 0]
    array = dr.zeros(llvm.Float, 8)
    dr.scatter(array, llvm.Matrix2f([[1, 2], [3, 4]]), 1)
    assert list(array) == [0, 0, 0, 0, 1, 2, 3, 4]
    array = dr.zeros(llvm.Float, 12)
    dr.scatter(array, llvm.ArrayXf(*range(6)), [1], active=[True])
    assert list(array) == [0] * 6 + [0, 1, 2, 3, 4, 5]
    numbers = scalar.ArrayXf([0] * 6)
    dr.scatter(numbers, scalar.Array3f(1, 2, 3), 1)
    assert list(numbers) == [0, 0, 0, 1, 2, 3]


def test_scatter_leaves_and_trees() -> None:
    points = llvm.Array3f([1, 2], [3, 4], [5, 6])
    dr.scatter(points, llvm.Array3f(7, 8, 9), 1)
    assert rows(points) == [[1, 7], [3, 8], [5, 9]]
    tree = {"a": llvm.Float(1, 2), "b": [llvm.Int(3, 4)]}
    dr.scatter(tree, {"a": 9, "b": [llvm.Int(8)]}, 0)
    assert (list(tree["a"]), list(tree["b"][0])) == ([9, 2], [8, 4])
    target = record([1, 2], [3, 4])
    dr.scatter(target, record([9], [8]), 1)
    assert (list(target.a), list(target.b)) == ([1, 9], [3, 8])


def test_scatter_through_views() -> None:
    points = llvm.Array3f([1, 2], [3, 4], [5, 6])
    dr.scatter(points.y, 0, 1)
    assert rows(points) == [[1, 2], [3, 0], [5, 6]]
    matrix = llvm.Matrix2f(1)
    dr.scatter(matrix[1], llvm.Array2f(5, 6), 0)
    assert [rows(matrix[i]) for i in range(2)] == [[[1], [0]], [[5], [6]]]
    for m in (llvm, scalar):
        tensor = m.TensorXf([1, 2, 3, 4], (2, 2))
        dr.scatter(tensor.array, 9, 3)
        assert list(tensor.array) == [1, 2, 3, 9]
        assert tensor.shape == (2, 2)


def test_scatter_is_seen_by_later_gathers() -> None:
    a = dr.zeros(llvm.UInt, 4)
    index = dr.arange(llvm.UInt, 4)
    dr.scatter(a, index * 10, index)
    b = dr.gather(llvm.UInt, a, 3 - index)
    dr.scatter(a, 7, index)
    assert list(b) == [30, 20, 10, 0]
    assert list(a) == [7] * 4


def test_scatter_failure_changes_nothing() -> None:
    a, b = llvm.Float(1, 2), llvm.Int(3, 4)
    with pytest.raises(TypeError):
        dr.scatter([a, b], [llvm.Float(9), llvm.Float(9)], 0)
    with pytest.raises(ValueError):
        dr.scatter([a, b], [llvm.Float(9)], 0)
    assert (list(a), list(b)) == ([1, 2], [3, 4])
    numbers = scalar.ArrayXf(1, 2)
    with pytest.raises(IndexError, match="out of bounds"):
        dr.scatter(numbers, 9, [0, 5])
    assert list(numbers) == [1, 2]


@pytest.mark.parametrize(
    "target, value",
    [
        (llvm.Float(1, 2), llvm.Int(1)),
        (llvm.Float(1, 2), llvm.Array2i(1, 2)),
        (llvm.Float(1, 2), "a"),
        (llvm.Float(1, 2), None),
        (llvm.Array2f(1, 2), 5),
        (llvm.Array2f(1, 2), llvm.Float(1)),
        (llvm.Array2f(1, 2), llvm.Array3f(1)),
        ([1, 2], [1, 2]),
        ([llvm.Float(1)], (llvm.Float(1),)),
        (scalar.Array3f(1, 2, 3), 5),
        (scalar.Array3f(1, 2, 3), scalar.Array3f(1, 2, 3)),
    ],
)
def test_scatter_wrong_types(target: Any, value: Any) -> None:
    with pytest.raises(TypeError, match=r"drjit\.scatter\("):
        dr.scatter(target, value, 0)


def test_scatter_wrong_sizes(m: ModuleType) -> None:
    cls = flat(m, "f")
    with pytest.raises(RuntimeError, match="incompatible sizes"):
        dr.scatter(cls(1, 2, 3), cls(1, 2), [0, 1, 2])
    with pytest.raises((RuntimeError, IndexError)):
        dr.scatter(cls(), cls(1), 0)
    with pytest.raises(RuntimeError, match="slice assignments"):
        dr.scatter(m.TensorXf([1], (1,)), 1, 0)


# ------------------------------------------------------------------ reductions

OPS = {
    "Add": np.add,
    "Mul": np.multiply,
    "Min": np.minimum,
    "Max": np.maximum,
    "And": np.bitwise_and,
    "Or": np.bitwise_or,
}


@pytest.mark.parametrize(
    "name, entry",
    [(name, entry) for name in OPS for entry in ("i", "u", "i64", "u64")]
    + [
        (name, entry) for name in ("Add", "Mul", "Min", "Max") for entry in ("f", "f64")
    ],
)
def test_scatter_reduce(m: ModuleType, name: str, entry: str) -> None:
    rng = np.random.default_rng(3)
    # Small powers of two: every order of operations gives the same float.
    value = (2 ** rng.integers(0, 2, 100)).astype(DTYPES[entry])
    index = rng.integers(0, 8, 100)
    active = rng.integers(0, 2, 100).astype(bool)
    target = np.ones(8, dtype=DTYPES[entry])
    cls = flat(m, entry)
    array = cls(target.tolist())
    dr.scatter_reduce(
        getattr(dr.ReduceOp, name),
        array,
        cls(value.tolist()),
        flat(m, "u")(index.tolist()),
        flat(m, "b")(active.tolist()),
    )
    with np.errstate(over="ignore"):
        OPS[name].at(target, index[active], value[active])
    assert list(array) == target.tolist()


@pytest.mark.parametrize("mode", ["Auto", "Direct", "Local", "Expand"])
def test_scatter_add_modes(mode: str) -> None:
    n = 1000
    index = np.arange(n) % 7
    array = dr.zeros(llvm.UInt, 7)
    dr.scatter_add(
        array,
        dr.arange(llvm.UInt, n),
        llvm.UInt(index.tolist()),
        mode=getattr(dr.ReduceMode, mode),
    )
    assert list(array) == np.bincount(index, weights=np.arange(n)).tolist()


@pytest.mark.parametrize("mode", ["Auto", "Direct", "Local", "Expand"])
@pytest.mark.parametrize("count", [2, 3, 6, 12])
def test_scatter_add_packets(mode: str, count: int) -> None:
    """Private copies are a whole number of packets apart, whatever their size."""
    for entries in (1, 7, 43):
        n = 5000
        index = np.arange(n) * 7 % entries
        expected = np.zeros((entries, count))
        parts = [np.arange(n) % 5 + k for k in range(count)]
        for k in range(count):
            np.add.at(expected[:, k], index, parts[k])
        array = dr.zeros(llvm.Float, entries * count)
        value = llvm.ArrayXf([llvm.Float(part.tolist()) for part in parts])
        where = llvm.UInt(index.tolist())
        dr.scatter_add(array, value, where, mode=getattr(dr.ReduceMode, mode))
        assert list(array) == expected.ravel().tolist()
        again = dr.gather(llvm.ArrayXf, array, where, shape=(count, n))
        assert rows(again) == expected[index].T.tolist()


def test_scatter_add_without_conflicts() -> None:
    array = llvm.Float(1, 2, 3)
    mode = dr.ReduceMode.NoConflicts
    dr.scatter_add(array, llvm.Float(10, 20, 30), llvm.UInt(2, 1, 0), mode=mode)
    assert list(array) == [31, 22, 13]
    with pytest.raises(RuntimeError, match="Permute"):
        dr.scatter_add(array, 1, 0, mode=dr.ReduceMode.Permute)
    dr.scatter(array, llvm.Float(1, 2, 3), [2, 1, 0], mode=dr.ReduceMode.Permute)
    assert list(array) == [3, 2, 1]


def test_scatter_add_components_and_trees() -> None:
    array = llvm.Float([1] * 8)
    dr.scatter_add(array, llvm.Array4f(1, 2, 3, 4), llvm.UInt(1, 1))
    assert list(array) == [1, 1, 1, 1, 3, 5, 7, 9]
    tree = [llvm.Float(0, 0), llvm.Array2f([0, 0], [0, 0])]
    dr.scatter_add(tree, [llvm.Float(1), llvm.Array2f(2, 3)], llvm.UInt(1, 1, 0))
    assert list(tree[0]) == [1, 2]
    assert rows(tree[1]) == [[2, 4], [3, 6]]


def test_scatter_reduce_masks() -> None:
    for m in (llvm, scalar):
        cls = flat(m, "b")
        mask = cls([True, False])
        dr.scatter_reduce(dr.ReduceOp.And, mask, False, 0)
        dr.scatter_reduce(dr.ReduceOp.Or, mask, True, 1)
        assert list(mask) == [False, True]
        with pytest.raises(RuntimeError):
            dr.scatter_add(mask, True, 0)


def test_scatter_add_kahan() -> None:
    """2^24 + 1 + 1 + ... loses every addend in single precision."""
    n = 1000
    total, rest = llvm.Float(2.0**24), llvm.Float(0)
    dr.scatter_add_kahan(total, rest, dr.full(llvm.Float, 1, n), dr.zeros(llvm.UInt, n))
    assert llvm.Float64(total)[0] + llvm.Float64(rest)[0] == 2.0**24 + n
    with pytest.raises(ValueError, match="the same array"):
        dr.scatter_add_kahan(total, total, 1, 0)
    with pytest.raises(TypeError, match="same type"):
        dr.scatter_add_kahan(total, llvm.Float64(0), 1, 0)
    with pytest.raises(RuntimeError, match="just-in-time"):
        dr.scatter_add_kahan(scalar.ArrayXf(0), scalar.ArrayXf(0), 1, 0)


# ------------------------------------------------------------------ atomics


def test_scatter_inc() -> None:
    counter = llvm.UInt(5)
    active = llvm.Bool([True, False] * 50)
    slots = dr.scatter_inc(counter, llvm.UInt(0), active)
    dr.eval(counter, slots)
    assert list(counter) == [55]
    assert sorted(s for s, a in zip(slots, active, strict=True) if a) == list(
        range(5, 55)
    )


def test_scatter_inc_compacts_a_stream() -> None:
    n = 100
    data = dr.arange(llvm.UInt, n)
    keep = (data & 3) == 0
    counter, out = llvm.UInt(0), dr.zeros(llvm.UInt, n)
    slot = dr.scatter_inc(counter, llvm.UInt(0), keep)
    dr.scatter(out, data, slot, keep)
    size = counter[0]
    assert size == 25
    out = dr.reshape(out, size, shrink=True)
    assert sorted(out) == list(range(0, n, 4))


def test_scatter_exch() -> None:
    a = llvm.Float(1, 2, 3)
    old = dr.scatter_exch(a, [7, 8], [0, 2], [True, False])
    dr.eval(a, old)
    assert (list(a), list(old)) == ([7, 2, 3], [1, 0])


@pytest.mark.parametrize("entry", ["i", "u", "u64", "f", "f64"])
def test_scatter_cas(entry: str) -> None:
    cls = flat(llvm, entry)
    a = cls([1, 2, 3])
    old, success = dr.scatter_cas(a, 1, 7, [0, 2])
    dr.eval(a, old, success)
    assert list(a) == [7, 2, 3]
    assert (list(old), list(success)) == ([1, 3], [True, False])


def test_scatter_cas_succeeds_once() -> None:
    a = llvm.UInt(0)
    lanes = dr.arange(llvm.UInt, 100)
    _old, success = dr.scatter_cas(a, 0, lanes + 1, dr.zeros(llvm.UInt, 100))
    dr.eval(a, success)
    assert sum(success) == 1
    assert a[0] == list(success).index(True) + 1


@pytest.mark.parametrize("target", [scalar.ArrayXu(0), llvm.Array2u(0), llvm.Int(0)])
def test_scatter_inc_targets(target: Any) -> None:
    with pytest.raises(RuntimeError, match=r"drjit\.scatter_inc\("):
        dr.scatter_inc(target, 0)


def test_atomic_argument_errors() -> None:
    with pytest.raises(TypeError, match=r"drjit\.scatter_inc\("):
        dr.scatter_inc(5, 0)
    with pytest.raises(RuntimeError, match="'target'"):
        dr.scatter_exch(llvm.Array2f(1, 2), 1, 0)
    with pytest.raises(RuntimeError, match="empty"):
        dr.scatter_exch(llvm.Float(), 1, 0)
    with pytest.raises(TypeError, match="'value'"):
        dr.scatter_exch(llvm.Float(1), "a", 0)
    with pytest.raises(TypeError, match="'compare'"):
        dr.scatter_cas(llvm.Float(1), "a", 1, 0)


def test_threads() -> None:
    """Evaluations release the GIL; arrays that threads share stay valid."""
    shared = dr.arange(llvm.UInt, 1000) + 1
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for i in range(20):
                a = dr.zeros(llvm.UInt, 64)
                index = (dr.arange(llvm.UInt, 1000) * seed) & 63
                dr.scatter_add(a, dr.gather(llvm.UInt, shared, index + i), index)
                expected = np.zeros(64, dtype=np.int64)
                lanes = (np.arange(1000) * seed) & 63
                np.add.at(expected, lanes, lanes + i + 1)
                assert dr.sum(a)[0] == expected.sum()
                assert list(a) == expected.tolist()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 3, 5, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# ------------------------------------------------------------------ slice


def test_slice_numbers(m: ModuleType) -> None:
    x = flat(m, "f")([1, 2, 3])
    assert dr.slice(x) == 1.0
    assert dr.slice(x, 1) == 2.0
    assert dr.slice(x, -1) == 3.0
    assert type(dr.slice(x, 1)) is float
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        dr.slice(x, 3)
    with pytest.raises(IndexError):
        dr.slice(x, -4)
    assert list(dr.slice(x, flat(m, "u")(2, 0))) == [3, 1]


def test_slice_nested() -> None:
    x = llvm.Array3f([1, 2], [3, 4], 5)
    value = dr.slice(x, 1)
    assert type(value) is scalar.Array3f
    assert list(value) == [2, 4, 5]
    value = dr.slice(x, llvm.UInt(1, 0, 1))
    assert type(value) is llvm.Array3f
    assert rows(value) == [[2, 1, 2], [4, 3, 4], [5, 5, 5]]
    matrix = dr.slice(llvm.Matrix2f([[1, 2], [3, 4]]), 0)
    assert type(matrix) is scalar.Matrix2f
    assert [list(matrix[0]), list(matrix[1])] == [[1, 2], [3, 4]]
    dynamic = dr.slice(llvm.ArrayXf([1, 2], [3, 4]), 1)
    assert type(dynamic) is scalar.ArrayXf
    assert list(dynamic) == [2, 4]


def test_slice_trees() -> None:
    value = dr.slice([llvm.Float(1, 2), {"b": llvm.Bool(True, False)}, "a", 5, None], 1)
    assert value == [2.0, {"b": False}, "a", 5, None]
    picked = dr.slice(record([1, 2], [3, 4]), 1)
    assert (picked.a, picked.b) == (2.0, 4)
    tensor = llvm.TensorXf([1, 2], (2,))
    assert dr.slice(tensor, 0) is tensor


def test_scatter_add_kahan_equal_targets() -> None:
    # Equal literals are one variable; a copy shares the variable of the original.
    first, second = dr.zeros(llvm.Float, 2), dr.zeros(llvm.Float, 2)
    dr.scatter_add_kahan(first, second, llvm.Float(1e8, 1, 1), llvm.UInt(1, 1, 1))
    assert list(first) == [0, 1e8] and list(second) == [0, 2]
    total = llvm.Float(2**24, 2**24)
    rest = llvm.Float(total)
    assert total.index == rest.index
    dr.scatter_add_kahan(total, rest, 3, llvm.UInt(1))
    assert list(total) == [2**24, 2**24 + 4] and list(rest) == [2**24, 2**24 - 1]
    with pytest.raises(ValueError, match="the same array"):
        dr.scatter_add_kahan(total, total, 1, 0)
    vector = llvm.Array2f(0, 0)
    with pytest.raises(ValueError, match="the same array"):
        dr.scatter_add_kahan(vector.x, vector[0], 1, 0)
