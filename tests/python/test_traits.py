"""Type traits and mappings between types."""

import re
from dataclasses import dataclass, field

import drjit as dr
import drjit.llvm as llvm
import drjit.scalar as scalar
import pytest


def classes(module):
    return {
        name: cls
        for name, cls in vars(module).items()
        if isinstance(cls, type) and issubclass(cls, dr.ArrayBase)
    }


@pytest.mark.parametrize("module, count", [(scalar, 136), (llvm, 146), (llvm.ad, 146)])
def test_all_classes_are_there(module, count):
    distinct = set(classes(module).values())
    assert len(distinct) == count
    for cls in distinct:
        assert cls.__module__ == module.__name__
        assert getattr(module, cls.__name__) is cls


def test_aliases():
    assert llvm.Float32 is llvm.Float and llvm.Int32 is llvm.Int
    assert llvm.UInt32 is llvm.UInt
    assert scalar.Float is float and scalar.Int is int and scalar.Bool is bool


def parse(meta):
    assert meta.startswith("ArrayMeta[\n  ") and meta.endswith("\n]")
    return dict(line.strip(" ,").split("=", 1) for line in meta.split("\n")[1:-1])


@pytest.mark.parametrize("module", [scalar, llvm, llvm.ad])
def test_meta_agrees_with_the_traits(module):
    for name, cls in classes(module).items():
        meta = parse(cls.__meta__)
        jit = module is not scalar
        assert dr.type_v(cls).name.lower() == meta["type"]
        assert ("is_jit" in meta) == jit == dr.is_jit_v(cls)
        assert dr.backend_v(cls) == (
            dr.JitBackend.LLVM if jit else dr.JitBackend.Invalid
        )
        for trait in ("vector", "complex", "matrix", "quaternion", "tensor"):
            has = getattr(dr, f"is_{trait}_v")(cls)
            assert has == (f"is_{trait}" in meta), (name, trait)
        extents = re.findall(r"\d+|\*", meta["shape"])
        if "0" not in name:
            assert dr.depth_v(cls) == len(extents)
        assert dr.is_array_v(cls)
        assert dr.is_diff_v(cls) == (module is llvm.ad) == ("is_diff" in meta)
        assert dr.is_special_v(cls) == any(
            f"is_{t}" in meta for t in ("complex", "matrix", "quaternion")
        )


def test_numeric_traits():
    kinds = {
        llvm.Bool: (1, 0, 0, 0, 0, 1), llvm.Int8: (0, 0, 1, 1, 1, 0),
        llvm.UInt64: (0, 0, 1, 1, 0, 1), llvm.Float16: (0, 1, 0, 1, 1, 0),
        scalar.Array3f: (0, 1, 0, 1, 1, 0), scalar.TensorXb: (1, 0, 0, 0, 0, 1),
        int: (0, 0, 1, 1, 1, 0), float: (0, 1, 0, 1, 1, 0), bool: (1, 0, 0, 0, 0, 1),
        str: (0, 0, 0, 0, 0, 0),
    }  # fmt: skip
    names = ("mask", "float", "integral", "arithmetic", "signed", "unsigned")
    for cls, expected in kinds.items():
        found = tuple(int(getattr(dr, f"is_{n}_v")(cls)) for n in names)
        assert found == expected, cls
    assert dr.is_half_v(llvm.Array3f16) and not dr.is_half_v(llvm.Float)
    assert dr.is_float_v(llvm.Float(1)) and dr.is_float_v(1.0)
    assert [
        dr.itemsize_v(getattr(llvm, n))
        for n in ("Bool", "Int8", "Float16", "Int", "Float64")
    ] == [1, 1, 2, 4, 8]
    with pytest.raises(TypeError):
        dr.itemsize_v(int)


def test_sizes_and_depths():
    sizes = {
        llvm.Float: -1, llvm.Array3f: 3, llvm.ArrayXf: -1, llvm.Matrix4f: 4,
        llvm.TensorXf: 0, scalar.Array0f: 0, int: 1,
    }  # fmt: skip
    assert {t: dr.size_v(t) for t in sizes} == sizes
    depths = {
        llvm.Float: 1, llvm.Array3f: 2, llvm.Matrix44f: 4, scalar.Array3f: 1,
        scalar.Matrix2f: 2, llvm.TensorXf: 0, str: 0,
    }  # fmt: skip
    assert {t: dr.depth_v(t) for t in depths} == depths
    assert dr.is_dynamic_v(llvm.Array3f) and dr.is_dynamic_v(scalar.ArrayXf)
    assert not dr.is_dynamic_v(scalar.Array3f)
    assert dr.Dynamic == -1 and dr.newaxis is None


def test_type_mappings():
    f = llvm
    table = [
        (dr.value_t, f.Float, float), (dr.value_t, f.Array3f, f.Float),
        (dr.value_t, f.Matrix3f16, f.Array3f16), (dr.value_t, f.Matrix44f, f.Array44f),
        (dr.value_t, f.TensorXf, float), (dr.value_t, scalar.Matrix2f, scalar.Array2f),
        (dr.value_t, f.Complex2f, f.Float), (dr.value_t, str, str),
        (dr.mask_t, f.Matrix3f, f.Array33b), (dr.mask_t, f.Complex2f, f.Array2b),
        (dr.mask_t, f.TensorXf, f.TensorXb), (dr.mask_t, 1, bool),
        (dr.array_t, f.Matrix3f, f.Array33f), (dr.array_t, f.TensorXf, f.Float),
        (dr.array_t, scalar.TensorXu, scalar.ArrayXu),
        (dr.array_t, f.Quaternion4f, f.Array4f), (dr.array_t, float, float),
        (dr.scalar_t, f.ArrayXi, int), (dr.scalar_t, f.Array44b, bool),
        (dr.leaf_t, f.Matrix4f, f.Float), (dr.leaf_t, scalar.Matrix2f, scalar.Array2f),
        (dr.leaf_t, f.TensorXf, f.Float), (dr.leaf_t, "x", str),
        (dr.matrix_t, f.Array3f, f.Matrix3f), (dr.matrix_t, f.Complex2f, None),
        (dr.matrix_t, f.Float, None), (dr.tensor_t, f.Array3b, f.TensorXb),
        (dr.tensor_t, int, None), (dr.detached_t, f.Array3f, f.Array3f),
        (dr.int_array_t, f.Float, f.Int), (dr.int_array_t, f.Bool, f.Int8),
        (dr.uint_array_t, f.Array3f64, f.Array3u64),
        (dr.float_array_t, f.TensorXi, f.TensorXf),
        (dr.int8_array_t, f.Float, f.Int8), (dr.uint8_array_t, f.Float, f.UInt8),
        (dr.int32_array_t, f.Float64, f.Int), (dr.uint32_array_t, f.Array2f, f.Array2u),
        (dr.int64_array_t, f.Float, f.Int64), (dr.uint64_array_t, f.Float, f.UInt64),
        (dr.float16_array_t, f.Matrix4f, f.Matrix4f16),
        (dr.float32_array_t, int, float),
        (dr.float64_array_t, f.Array44b, f.Array44f64),
    ]  # fmt: skip
    for function, argument, expected in table:
        assert function(argument) is expected, (function, argument)
    assert dr.value_t(llvm.Array3f(1)) is llvm.Float


def test_types_that_do_not_exist():
    for call in (
        lambda: dr.int32_array_t(llvm.Complex2f),
        lambda: dr.float_array_t(llvm.Bool),
        lambda: dr.int_array_t(int),
        lambda: dr.replace_type_t(llvm.Matrix3f, dr.VarType.Bool),
        lambda: dr.replace_shape_t(llvm.Array3f, (7, -1)),
        lambda: dr.replace_type_t(llvm.Float),
        lambda: dr.replace_type_t(llvm.Float, "Float32"),
    ):
        with pytest.raises(TypeError, match="drjit"):
            call()


def test_replacing_parts_of_a_type():
    assert dr.replace_type_t(llvm.Array3f, dr.VarType.Float64) is llvm.Array3f64
    assert dr.replace_type_t("text", dr.VarType.Float64) == "text"
    assert dr.reinterpret_array_t(llvm.Float, dr.VarType.UInt32) is llvm.UInt
    half = dr.reinterpret_array_t(llvm.Array3f, dr.VarType.Float16)
    assert half is llvm.Array3f16  # of types, not of bits
    shape = dr.replace_shape_t
    assert shape(llvm.Array3f, (4, -1)) is llvm.Array4f
    assert shape(llvm.Array3f, (-1,)) is llvm.Float
    assert shape(llvm.Float, (3, -1)) is llvm.Array3f
    assert shape(llvm.Matrix3f, (4, 4, -1)) is llvm.Matrix4f
    assert shape(llvm.Array3f, (2, 2, -1), "matrix") is llvm.Matrix2f
    assert shape(scalar.Array3f, (4,)) is scalar.Array4f
    with pytest.raises(ValueError):
        shape(llvm.Array3f, (2, 2, -1), "cube")
    with pytest.raises(ValueError):
        shape(llvm.Array3f, (1, 2, 3, 4, 5))


def test_expression_types():
    assert dr.expr_t(llvm.Float, llvm.Int, 1.0) is llvm.Float
    assert dr.expr_t(llvm.Array3f, llvm.Float64) is llvm.Array3f64
    assert dr.expr_t(1, 2.0) is float and dr.expr_t(int, bool) is int
    assert dr.expr_t() is None and dr.expr_t(llvm.Array3b) is llvm.Array3b
    assert dr.expr_t(scalar.Array3f, llvm.Float) is llvm.Array3f
    assert dr.expr_t(llvm.Array3f, [1, 2, 3]) is llvm.Array3f
    assert dr.expr_t([1, 2], llvm.Float, (1.5, llvm.Int64(2))) is llvm.Float
    assert dr.expr_t(llvm.Int, [1.5, 2]) is llvm.Float
    assert dr.expr_t(str, str, "a") is str and dr.expr_t([1], [2]) is list
    assert dr.expr_t(llvm.Int64, llvm.Float16) is llvm.Float16
    with pytest.raises(TypeError):
        dr.expr_t(llvm.Array3f, llvm.Array4f)
    with pytest.raises(TypeError):
        dr.expr_t(llvm.Array3f, "text")


def test_structs():
    class Point:
        DRJIT_STRUCT = {"x": llvm.Float}

    @dataclass
    class Data:
        x: llvm.Float = field(default_factory=llvm.Float)

    assert dr.is_struct_v(Point) and dr.is_struct_v(Point())
    assert not dr.is_struct_v(Data)  # that is another kind
    assert not dr.is_struct_v(llvm.Float) and not dr.is_struct_v((1, 2))


def test_user_subclasses_have_the_traits_of_their_base():
    class Spectrum(llvm.Array3f):
        pass

    assert dr.is_array_v(Spectrum) and dr.size_v(Spectrum) == 3
    assert dr.value_t(Spectrum) is llvm.Float
    with pytest.raises(TypeError):
        dr.ArrayBase()
