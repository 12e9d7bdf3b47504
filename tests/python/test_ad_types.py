"""The families of types that have derivatives: what they are, and beside the others."""

from __future__ import annotations

import copy
import itertools
import pickle
import re
import subprocess
import sys
from types import ModuleType
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import llvm, scalar
from drjit.llvm import ad

FAMILIES = [scalar, llvm, ad]


def run(program: str) -> str:
    """What a program prints in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout


def classes(module: ModuleType) -> list[Any]:
    """The array types of a module, each once."""
    found = {v for v in vars(module).values() if isinstance(v, type)}
    return sorted((c for c in found if issubclass(c, dr.ArrayBase)), key=str)


# ------------------------------------------------------------------------ modules


def test_modules() -> None:
    import drjit.auto.ad
    import drjit.llvm.ad
    from drjit.llvm.ad import Array3f

    assert drjit.llvm.ad is dr.llvm.ad is ad and drjit.auto.ad is dr.auto.ad
    assert (ad.__name__, dr.auto.ad.__name__) == ("drjit.llvm.ad", "drjit.auto.ad")
    assert (ad.Float.__module__, ad.Float.__name__) == ("drjit.llvm.ad", "Float")
    assert str(Array3f) == "<class 'drjit.llvm.ad.Array3f'>"
    assert Array3f is not llvm.Array3f and Array3f is ad.Array3f
    assert ad.Float32 is ad.Float and ad.Int32 is ad.Int and ad.UInt32 is ad.UInt
    assert {c.__name__ for c in classes(ad)} == {c.__name__ for c in classes(llvm)}
    assert set(dir(llvm)) - set(dir(ad)) == {"ad", "__path__"}
    assert not hasattr(scalar, "ad") and not hasattr(ad, "NoSuchType")


@pytest.mark.parametrize(
    "statement",
    [
        "import drjit.llvm.ad as ad",
        "import drjit as dr; ad = dr.llvm.ad",
        "from drjit.llvm import ad",
        "import drjit; ad = vars(drjit)['llvm'].ad",
        "import drjit, sys; ad = sys.modules['drjit.llvm.ad']",
    ],
)
def test_each_module_is_executed_when_it_is_touched(statement: str) -> None:
    program = f"""{statement}
from types import ModuleType
import sys
names = ("drjit.llvm", "drjit.llvm.ad", "drjit.auto", "drjit.auto.ad", "drjit.scalar")
executed = lambda: [n for n in names if type(sys.modules[n]) is ModuleType]
print("drjit.llvm.ad" in executed(), "drjit.auto.ad" in executed())
ad.Float(1)
print("drjit.llvm.ad" in executed(), "drjit.scalar" in executed())
"""
    assert run(program) == "False False\nTrue False\n"


def test_types_of_a_family_that_nobody_has_touched() -> None:
    """They are made where one is asked for, or an array of it appears."""
    program = """import drjit as dr, sys
from drjit.llvm.ad import Array3f, UInt
plain = dr.detached_t(Array3f)
a = plain(Array3f(1, 2, 3))
print(plain, a, a.x, sys.modules["drjit.llvm"].Array3f is plain)
print(type(dr.slice(Array3f(1, 2, 3))) is dr.scalar.Array3f)
print(dr.ArrayBase in dr.llvm.Float.__mro__, dr.diff_array_t(dr.llvm.UInt) is UInt)
"""
    assert run(program) == (
        "<class 'drjit.llvm.Array3f'> [[1, 2, 3]] [1] True\nTrue\nTrue True\n"
    )


def test_auto() -> None:
    program = """import drjit as dr
import drjit.auto.ad as ad
print(ad.Float is dr.llvm.ad.Float, "Array3f" in dir(ad), hasattr(ad, "NoSuchType"))
from drjit.auto.ad import TensorXf
print(TensorXf)
dr.set_backend("scalar")
try:
    ad.Float
except AttributeError as error:
    print(error)
print(hasattr(dr.auto, "Array3f"), dir(ad))
dr.set_backend("llvm")
print(ad.Int is dr.llvm.ad.Int, dr.auto.Int is dr.llvm.Int)
"""
    assert run(program).splitlines() == [
        "True True False",
        "<class 'drjit.llvm.ad.TensorXf'>",
        "module 'drjit.auto.ad' has no attribute 'Float': drjit.scalar has no types "
        "with derivatives",
        "True []",
        "True True",
    ]


def test_what_is_no_array() -> None:
    assert ad.Event is llvm.Event and llvm.Event.__module__ == "drjit.llvm"
    program = "from drjit.llvm import ad; e = ad.Event(); e.record(); e.wait()"
    assert run(program + "; import drjit; print(drjit.llvm.Event is ad.Event)") == (
        "True\n"
    )
    for name in ("PCG32", "Philox4x32"):
        cls = getattr(ad, name)
        assert cls is not getattr(llvm, name) and cls.__module__ == "drjit.llvm.ad"
        assert dr.is_struct_v(cls) and not dr.is_diff_v(cls)
    assert type(ad.PCG32().state) is ad.UInt64
    for draw in ("next_uint32", "next_float32", "next_float64_normal"):
        ours, theirs = (getattr(m.PCG32(size=5), draw)() for m in (ad, llvm))
        assert type(ours) is getattr(ad, type(theirs).__name__)
        assert list(ours) == list(theirs)
    numbers = ad.Philox4x32(1, dr.arange(llvm.UInt, 3)).next_float32x4()
    assert type(numbers) is ad.Array4f
    assert list(numbers.x) == list(
        llvm.Philox4x32(1, dr.arange(llvm.UInt, 3)).next_float32x4().x
    )


def test_meta() -> None:
    start = "ArrayMeta[\n  type=float32,\n  backend=llvm,\n  is_jit=1,\n"
    assert ad.Float.__meta__ == start + "  is_diff=1,\n  shape=(*)\n]"
    assert ad.Array3f.__meta__ == (
        start + "  is_vector=1,\n  is_diff=1,\n  shape=(3, *)\n]"
    )
    assert ad.TensorXf.__meta__ == (
        start + "  is_tensor=1,\n  is_diff=1,\n  shape=()\n]"
    )
    for cls in classes(ad):
        plain = getattr(llvm, cls.__name__).__meta__
        assert cls.__meta__.replace("  is_diff=1,\n", "") == plain != cls.__meta__
        assert dr.is_diff_v(cls)  # integers and masks included


# ------------------------------------------------------------------------ traits

MAPPINGS = """value_t mask_t scalar_t array_t leaf_t tensor_t matrix_t int_array_t
    uint_array_t float_array_t int8_array_t uint8_array_t int32_array_t uint32_array_t
    int64_array_t uint64_array_t float16_array_t float32_array_t
    float64_array_t""".split()


def counterpart(t: Any) -> Any:
    """The type with derivatives."""
    return getattr(ad, t.__name__) if t and issubclass(t, dr.ArrayBase) else t


@pytest.mark.parametrize("name", MAPPINGS)
def test_mappings_stay_in_the_family(name: str) -> None:
    mapping = getattr(dr, name)
    for cls in classes(llvm):
        try:
            expected = counterpart(mapping(cls))
        except TypeError as error:
            text = re.escape(str(error)).replace(r"drjit\.llvm", r"drjit\.llvm\.ad")
            with pytest.raises(TypeError, match=text):
                mapping(counterpart(cls))
        else:
            assert mapping(counterpart(cls)) is expected


def test_types_with_entries_of_another_type() -> None:
    assert dr.replace_type_t(ad.Array3f, dr.VarType.UInt32) is ad.Array3u
    assert dr.reinterpret_array_t(ad.Float, dr.VarType.UInt32) is ad.UInt
    assert dr.replace_shape_t(ad.Array3f, (4, 4, -1), "matrix") is ad.Matrix4f
    assert dr.uint32_array_t(ad.Array3f(1, 2, 3)) is ad.Array3u
    assert dr.backend_v(ad.Float) == dr.JitBackend.LLVM
    assert dr.type_v(ad.Int8) == dr.VarType.Int8


def test_types_with_and_without_derivatives() -> None:
    for plain in classes(llvm):
        diff = getattr(ad, plain.__name__)
        assert dr.detached_t(diff) is dr.detached_t(plain) is plain
        assert dr.diff_array_t(diff) is dr.diff_array_t(plain) is diff
    for cls in classes(scalar):
        assert dr.detached_t(cls) is dr.diff_array_t(cls) is cls
    assert dr.detached_t(ad.Float(1)) is llvm.Float
    assert dr.diff_array_t(llvm.Array3u(1)) is ad.Array3u
    for mapping in (dr.detached_t, dr.diff_array_t):  # not an array: its type
        assert mapping(float) is mapping(1.5) is float
        assert mapping([ad.Float(1), llvm.Float(1)]) is list
        assert mapping(ad.PCG32) is ad.PCG32 and mapping(str) is str
        with pytest.raises(TypeError):
            mapping()
    assert not dr.is_diff_v([ad.Float(1)]) and not dr.is_diff_v(1.5)
    assert dr.is_diff_v(ad.Bool(True)) and not dr.is_diff_v(llvm.Float(1))


def test_subclasses() -> None:
    class Mine(ad.Float):
        pass

    class Plain(llvm.Float):
        pass

    assert dr.is_diff_v(Mine) and dr.diff_array_t(Mine) is Mine
    assert dr.detached_t(Mine) is llvm.Float and dr.detached_t(Plain) is Plain
    assert dr.diff_array_t(Plain) is ad.Float and dr.mask_t(Mine) is ad.Bool
    assert type(Mine(1, 2) + 1) is Mine and type(Mine(1) + llvm.Float(1)) is Mine
    assert type(Plain(1) + ad.Float(1)) is ad.Float


# ------------------------------------------------------------------------ promotion

ORDER = ["bool", "int8", "uint8", "int32", "uint32", "int64", "uint64", "float16",
         "float32", "float64"]  # fmt: skip
KINDS = ("tensor", "matrix", "complex", "quaternion")


def describe(cls: Any) -> tuple[int, str, str, tuple[int, ...]]:
    """Family, entries, kind and extents over leaves (-1: dynamic) of a type."""
    meta = cls.__meta__
    found = re.search(r"shape=\((.*)\)", meta)
    assert found
    extents = [-1 if e == "*" else int(e) for e in found[1].split(", ") if e]
    family = ("is_jit" in meta) + ("is_diff" in meta)
    if family and extents:
        extents.pop()  # the lanes
    if "Array0" in cls.__name__:
        extents = [0]
    kind = next((k for k in KINDS if f"is_{k}=1" in meta), "array" if extents else "")
    entry = re.search(r"type=(\w+)", meta)
    assert entry
    return family, entry[1], kind, tuple(extents)


def merge_extents(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """Aligned at the front: 1 is repeated, dynamic wins, others agree."""
    merged = []
    for x, y in itertools.zip_longest(a, b):
        if x is None or y is None or x == y:
            merged.append(y if x is None else x)
        elif 1 in (x, y):
            merged.append(y if x == 1 else x)
        elif -1 in (x, y):
            merged.append(-1)
        else:
            return None
    return tuple(merged)


def merge_kinds(a: Any, b: Any, extents: tuple[int, ...]) -> str | None:
    kinds = {a[2], b[2]} - {""}
    if len(kinds) < 2:
        return max(kinds, default="")
    special, other = (a, b) if a[2] in KINDS else (b, a)
    # A complex number or quaternion stays one beside a vector of its size.
    fits = other[2] == "array" and special[2] in ("complex", "quaternion")
    return special[2] if fits and special[3] == extents else None


Description = tuple[int, str, str, tuple[int, ...]]


def promote(a: Description, b: Description) -> Description | None:
    """The rules of the documentation; None: they do not combine."""
    family = max(a[0], b[0])
    entry = max(a[1], b[1], key=ORDER.index)
    if "tensor" in (a[2], b[2]):
        other = b if a[2] == "tensor" else a
        return (family, entry, "tensor", ()) if other[2] in ("tensor", "") else None
    extents = merge_extents(a[3], b[3])
    kind = None if extents is None else merge_kinds(a, b, extents)
    return None if kind is None or extents is None else (family, entry, kind, extents)


def test_all_pairs_follow_the_rules() -> None:
    """Each pair of types of all families."""
    known = {describe(cls): cls for module in FAMILIES for cls in classes(module)}
    types = list(known.items())
    assert len(types) == 136 + 146 + 146
    combined = 0
    for (a, x), (b, y) in itertools.combinations_with_replacement(types, 2):
        wanted = promote(a, b)
        expected = known.get(wanted) if wanted else None
        for pair in ((x, y), (y, x)):
            try:
                found = dr.expr_t(*pair)
            except (TypeError, RuntimeError):
                found = None
            assert found is expected, pair
        combined += expected is not None
    assert combined > 20000


@pytest.mark.parametrize(
    ("name", "other", "result"),
    [("Array3f", "Float", "Array3f"), ("Matrix3f", "Int", "Matrix3f"),
     ("Complex2f", "Array2f", "Complex2f"), ("ArrayXf", "Array3f", "ArrayXf"),
     ("Quaternion4f", "Quaternion4f64", "Quaternion4f64"),
     ("Array3b", "Array3u", "Array3u"), ("Array3u8", "Array33f16", "Array33f16")],
)  # fmt: skip
def test_operations_compute_in_the_promoted_type(
    name: str, other: str, result: str
) -> None:
    for m, k in itertools.permutations(FAMILIES, 2):
        a = getattr(m, name)(True if name == "Array3b" else 3)
        b = getattr(k, other)(2)
        expected = getattr(ad if ad in (m, k) else llvm, result)
        for found in (a * b, b * a, dr.select(True, a, b) + 0 * b):
            assert type(found) is expected
        plain = getattr(llvm, name)(a) * getattr(llvm, other)(b)
        assert repr(a * b) == repr(plain)


def test_numbers_and_sequences_beside_them() -> None:
    assert type(ad.Float(1) + 1) is type(1.5 * ad.Int(1)) is ad.Float
    assert type(ad.Array3f(1) + [1, 2, 3]) is ad.Array3f
    assert type(llvm.Float(1) + [ad.Float(1), 2]) is ad.Array2f
    assert type(ad.Float(1, 2) + np.array([1, 2], np.float32)) is ad.Float
    assert type(ad.Float(1) < llvm.Float(2)) is ad.Bool
    assert type(llvm.Array3f(1) == ad.Float(2)) is ad.Array3b
    assert type(llvm.Bool(True) & ad.Bool(False)) is ad.Bool
    assert type(llvm.Float(1) & ad.Bool(True)) is ad.Float
    assert type(dr.fma(llvm.Float(1), 2, ad.Float64(3))) is ad.Float64
    assert type(dr.minimum(llvm.TensorXf([1, 2]), ad.Float(1))) is ad.TensorXf
    assert type(llvm.Matrix2f(1) @ ad.Array2f(1, 2)) is ad.Array2f
    assert type(dr.dot(llvm.Array3f(1), ad.Array3f(2))) is ad.Float
    for mask, a, b in itertools.product((llvm, ad), repeat=3):
        result = dr.select(mask.Bool(True, False), a.Float(1), b.Array2f(2, 3))
        expected = ad if ad in (mask, a, b) else llvm
        assert type(result) is expected.Array2f
        assert list(result.x) == [1, 2] and list(result.y) == [1, 3]


def test_in_place() -> None:
    x = llvm.Float(1, 2)
    before = x
    x += ad.Float(1)
    assert type(x) is ad.Float and list(before) == [1, 2]
    y = ad.Float(1, 2)
    before = y
    y += llvm.Float(1)
    assert y is before and list(y) == [2, 3]


# ------------------------------------------------------------------------ conversions

VALUES: dict[str, Any] = {
    "Float": [1, 2, 3],
    "Float16": [0.5, 1],
    "Int8": [1, -2],
    "Bool": [True, False],
    "Array3f": [[1, 2], [3, 4], [5, 6]],
    "Array0f": [],
    "ArrayXu": [[1, 2], [3, 4]],
    "Array22f": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
    "Matrix2f64": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
    "Complex2f": [[1, 2], [3, 4]],
    "Quaternion4f": [[1, 2], [3, 4], [5, 6], [7, 8]],
    "TensorXf": [[1, 2, 3], [4, 5, 6]],
    "TensorXb": [[True], [False]],
}


@pytest.mark.parametrize("name", list(VALUES))
def test_conversions_share_the_variables(name: str) -> None:
    for m, k in ((llvm, ad), (ad, llvm)):
        source = getattr(m, name)(VALUES[name])
        target = getattr(k, name)(source)
        assert type(target) is getattr(k, name) and repr(target) == repr(source)
        assert dr.shape(target) == dr.shape(source)
        assert dr.detail.collect_indices(target) == dr.detail.collect_indices(source)


def test_conversions_between_shapes_and_entries() -> None:
    for m, k in ((llvm, ad), (ad, llvm)):
        assert list(m.UInt(k.Float(1.5, 2))) == [1, 2]
        assert [list(c) for c in m.Array2f(k.Int(1, 2))] == [[1, 2], [1, 2]]
        assert m.Matrix3f(k.Matrix2f(2))[2, 2][0] == 1
        assert m.Quaternion4f(k.Float(2)).w[0] == 2
        mixed = m.Array3f(k.Float(1), m.Float(2), 3)
        assert type(mixed) is m.Array3f and [c[0] for c in mixed] == [1, 2, 3]
        tensor = m.TensorXf([k.Float(1, 2), m.Float(3, 4)])
        assert type(tensor) is m.TensorXf and repr(tensor) == "[[1, 2],\n [3, 4]]"
        assert m.TensorXf(k.Float(1, 2, 3, 4), (2, 2)).shape == (2, 2)
        assert repr(m.TensorXu(k.Array2f([1, 2], [3, 4]))) == "[[1, 2],\n [3, 4]]"
        assert repr(m.Array2f(k.TensorXf([[1, 2], [3, 4]]))) == "[[1, 3],\n [2, 4]]"
        assert list(m.Float(k.TensorXi([1, 2]))) == [1, 2]
        flipped = m.TensorXf(k.Array2f([1, 2], [3, 4]), flip_axes=True)
        assert repr(flipped) == "[[1, 3],\n [2, 4]]"
    assert list(scalar.Array3f(ad.Array3f(1, 2, 3))) == [1, 2, 3]
    assert list(ad.Float(scalar.ArrayXf(1, 2))) == [1, 2]


def test_entries_and_components_are_converted() -> None:
    for m, k in ((llvm, ad), (ad, llvm)):
        v = m.Array3f([1, 1], 2, 3)
        v.x = k.Float(4)
        v[1] = k.Int(5, 6)
        v[m.Bool(True, False)] = m.Array3f(9)
        assert repr(v) == "[[9, 9, 9],\n [4, 6, 3]]" and type(v.x) is m.Float
        x = m.Float(1, 2, 3)
        x[0] = k.Float(7)
        x[k.Bool(False, True, False)] = k.Float(8)
        assert type(x) is m.Float and list(x) == [7, 8, 3]
        t = m.TensorXf([1, 2, 3])
        t[k.UInt(0, 2)] = k.Float(5, 6)
        assert type(t) is m.TensorXf and list(t.array) == [5, 2, 6]
        assert type(t[k.UInt(0, 1)]) is m.TensorXf


def test_copies_and_pickles() -> None:
    for name, value in VALUES.items():
        x = getattr(ad, name)(value)
        pickled = pickle.loads(pickle.dumps(x))
        for other in (copy.copy(x), copy.deepcopy(x), pickled, dr.copy(x)):
            assert type(other) is type(x) and repr(other) == repr(x)
            assert other is not x
    assert pickle.loads(pickle.dumps(ad.Array3f)) is ad.Array3f


def test_exchange() -> None:
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = ad.TensorXf(data)
    assert np.array_equal(tensor.numpy(), data)
    assert np.array_equal(np.from_dlpack(tensor), data)
    assert np.array_equal(ad.Array2f(data).numpy(), data)
    assert np.array_equal(np.array(ad.Float(1, 2)), [1, 2])
    assert list(ad.Float(np.array([1.5, 2]))) == [1.5, 2]
    assert ad.Float(1, 2).__dlpack_device__() == llvm.Float(1, 2).__dlpack_device__()


# ------------------------------------------------------------------------ memory


def test_gathers() -> None:
    source = ad.Float(1, 2, 3, 4)
    for k in (llvm, ad, scalar):
        index = k.ArrayXu(2, 0) if k is scalar else k.UInt(2, 0)
        mask = True if k is scalar else k.Bool(True, False)
        assert type(dr.gather(ad.Float, source, index)) is ad.Float
        assert list(dr.gather(ad.Float, source, index)) == [3, 1]
        assert type(dr.gather(llvm.Float, llvm.Float(source), index)) is llvm.Float
        pairs = dr.gather(ad.Array2f, source, k.UInt(1) if k is not scalar else 1, mask)
        assert type(pairs) is ad.Array2f and pairs.x[0] == 3 and pairs.y[0] == 4
    for dtype, wrong in ((llvm.Float, source), (ad.Float, llvm.Float(1, 2))):
        with pytest.raises(TypeError, match="cannot be read from a source of type"):
            dr.gather(dtype, wrong, 0)
    assert type(dr.take(llvm.TensorXf([1, 2]), ad.UInt(1))) is llvm.TensorXf


@pytest.mark.parametrize("target", [llvm, ad])
@pytest.mark.parametrize("value", [llvm, ad])
def test_scatters(target: ModuleType, value: ModuleType) -> None:
    """The value is converted to the family of the target; other entries are refused."""
    for k in (llvm, ad):
        x = target.Float(1, 2, 3, 4)
        dr.scatter(x, value.Float(7), k.UInt(1), k.Bool(True))
        dr.scatter_add(x, value.Float(1, 1), k.UInt(0, 1))
        assert type(x) is target.Float and list(x) == [2, 8, 3, 4]
        dr.scatter(x, value.Array2f(5, 6), k.UInt(1))
        assert list(x) == [2, 8, 5, 6]
    v = target.Array2f([1, 2], [3, 4])
    dr.scatter(v, value.Array2f(7, 8), 1)
    assert repr(v) == "[[1, 3],\n [7, 8]]"
    with pytest.raises(TypeError, match=f"{value.__name__}.Int cannot be written"):
        dr.scatter(x, value.Int(1), 0)
    with pytest.raises(TypeError, match=r"Array3f cannot be written"):
        dr.scatter(v, value.Array3f(1), 0)
    with pytest.raises(RuntimeError, match="the value has 1 components, expected 2"):
        dr.scatter(target.ArrayXf([1], [2]), value.ArrayXf([[1]]), 0)
    count = target.UInt(0, 0)
    assert type(dr.scatter_inc(count, value.UInt(1))) is target.UInt
    assert type(dr.scatter_exch(count, value.UInt(5), value.UInt(0))) is target.UInt
    assert list(count) == [5, 1]
    numbers = value.UInt(5), value.UInt(6), value.UInt(0)
    before, replaced = dr.scatter_cas(count, *numbers)
    assert (type(before), type(replaced)) == (target.UInt, target.Bool)
    assert list(count) == [6, 1]


def test_unravel() -> None:
    for m, k in itertools.product((llvm, ad), repeat=2):
        found = dr.unravel(m.Array3f, k.Float(1, 2, 3))
        assert type(found) is m.Array3f and repr(found) == "[[1, 2, 3]]"
        assert type(dr.unravel(m.Float, k.Float(1, 2))) is m.Float
    assert type(dr.ravel(ad.Array3f(1, 2, 3))) is ad.Float
    found = dr.unravel(ad.Array3f, llvm.Int(1, 2, 3))  # entries are converted
    assert type(found) is ad.Array3f and repr(found) == "[[1, 2, 3]]"


# ------------------------------------------------------------------------ functions


def test_functions_give_types_of_the_family() -> None:
    f, v, t = ad.Float(4, 9), ad.Array3f(1, 2, 3), ad.TensorXf([[1, 2], [3, 4]])
    results: list[tuple[Any, Any, list[float]]] = [
        (dr.zeros(ad.Float, 2), ad.Float, [0, 0]),
        (dr.full(ad.Int, 3, 2), ad.Int, [3, 3]),
        (dr.arange(ad.Float, 3), ad.Float, [0, 1, 2]),
        (dr.arange(ad.UInt, 2), ad.UInt, [0, 1]),
        (dr.linspace(ad.Float, 0, 1, 3), ad.Float, [0, 0.5, 1]),
        (dr.opaque(ad.Float, 3, 2), ad.Float, [3, 3]),
        (dr.full(ad.Float, llvm.Float(1), 2), ad.Float, [1, 1]),
        (dr.sqrt(f), ad.Float, [2, 3]),
        (dr.sincos(ad.Float(0))[1], ad.Float, [1]),
        (dr.sum(f), ad.Float, [13]),
        (dr.cumsum(f), ad.Float, [4, 13]),
        (dr.block_sum(f, 2), ad.Float, [13]),
        (dr.sum(v), ad.Float, [6]),
        (dr.dot(f, llvm.Float(1, 1)), ad.Float, [13]),
        (dr.sum(t, axis=0).array, ad.Float, [4, 6]),
        (dr.argmax(f), ad.UInt, [1]),
        (dr.sort(ad.Float(2, 1)), ad.Float, [1, 2]),
        (dr.argsort(ad.Float(2, 1)), ad.UInt, [1, 0]),
        (dr.any(ad.Bool(True, False)), ad.Bool, [True]),
        (dr.count(ad.Bool(True, False)), ad.UInt, [1]),
        (dr.compress(ad.Bool(True, False, True)), ad.UInt, [0, 2]),
        (dr.isnan(f), ad.Bool, [False, False]),
        (dr.reinterpret_array(ad.UInt, ad.Float(1)), ad.UInt, [0x3F800000]),
        (dr.popcnt(ad.UInt(7)), ad.UInt, [3]),
        (dr.imag(ad.Complex2f(1, 2)), ad.Float, [2]),
        (dr.cross(v, llvm.Array3f(0, 1, 0)).z, ad.Float, [1]),
        (dr.quat_to_matrix(ad.Matrix3f, ad.Quaternion4f(1))[0, 0], ad.Float, [1]),
        (dr.norm(ad.Array2f(3, 4)), ad.Float, [5]),
        (dr.opaque_width(f), ad.UInt, [2]),
        (t[1].array, ad.Float, [3, 4]),
        (v.zyx.x, ad.Float, [3]),
        (dr.concat((f, f)), ad.Float, [4, 9, 4, 9]),
        (dr.meshgrid(f, f)[1], ad.Float, [4, 4, 9, 9]),
        (dr.gather(ad.Float, f, ad.UInt(1)), ad.Float, [9]),
        (dr.transpose(t).array, ad.Float, [1, 3, 2, 4]),
    ]
    for result, expected, values in results:
        assert type(result) is expected and list(result) == values
    assert type(dr.imag(ad.Quaternion4f(1))) is ad.Array3f
    assert type(dr.sh_eval(v, 1)[0]) is ad.Float
    assert type(dr.slice(ad.Array2f([1, 2], [3, 4]), 1)) is scalar.Array2f
    assert dr.allclose(f, llvm.Float(4, 9)) and repr(v) == "[[1, 2, 3]]"
    assert dr.format("{}", f) == "[4, 9]"


def test_random_numbers() -> None:
    for name, shape in (("Float", 5), ("Array2f64", (2, 3)), ("TensorXf", (2, 3))):
        ours, theirs = (getattr(m, name) for m in (ad, llvm))
        for seed in (1, llvm.UInt(1), ad.UInt(1)):
            found = dr.rng(seed).random(ours, shape)
            assert type(found) is ours
            assert repr(found) == repr(dr.rng(1).random(theirs, shape))
            assert type(dr.rng(seed).normal(theirs, shape)) is theirs
    assert type(dr.rng().integers(ad.UInt, 4, low=10)) is ad.UInt
    assert type(dr.rng().permutation(ad.Float, 4)) is ad.UInt
    assert sorted(dr.rng().permutation(ad.Float(1, 2, 3))) == [1, 2, 3]


def test_control_flow() -> None:
    for m, k in itertools.product((llvm, ad), repeat=2):
        state = (m.Int(0, 1), m.Float(1))
        i, x = dr.while_loop(
            state,
            lambda i, x, k=k: k.Bool(i < 3),  # type: ignore[misc]
            lambda i, x: (i + 1, x + x),
        )
        assert (type(i), type(x)) == (m.Int, m.Float) and list(x) == [8, 4]
        y = dr.if_stmt((m.Int(1),), k.Bool(True, False), lambda i: i + 1, lambda i: i)
        assert type(y) is m.Int and list(y) == [2, 1]
        z = dr.switch(k.UInt(0, 1), [lambda a: a, lambda a: a * 2], m.Float(3))
        assert type(z) is m.Float and list(z) == [3, 6]
    message = "from 'drjit.llvm.ad.Float' to 'drjit.llvm.Float'"
    for functions in ((ad.Float, llvm.Float), (lambda x: x + ad.Float(1), lambda x: x)):
        with pytest.raises(RuntimeError, match=message):
            dr.if_stmt((llvm.Float(1),), llvm.Bool(True, False), *functions)


def test_errors_name_the_family() -> None:
    with pytest.raises(RuntimeError, match=r"drjit.add\(<drjit.llvm.ad.Float>, <drjit"):
        ad.Float(1, 2) + llvm.Float(1, 2, 3)
    with pytest.raises(TypeError, match=r"drjit.llvm.ad.Float.__init__\(\)"):
        ad.Float("text")
    with pytest.raises(IndexError, match=r"drjit.llvm.ad.Float.__getitem__\(\)"):
        ad.Float(1, 2)[5]
    with pytest.raises(RuntimeError, match="incompatible"):
        dr.reinterpret_array(llvm.UInt, ad.Float(1))
