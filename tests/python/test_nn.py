"""drjit.nn against NumPy, and networks as parts of programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import drjit as dr
import numpy as np
import pytest
from ad_util import check_second_derivatives
from drjit import llvm, nn
from drjit.llvm.ad import (
    Array2f,
    Array3f,
    Bool,
    Float,
    Float16,
    Float64,
    Int,
    Matrix2f,
    TensorXf,
    TensorXf16,
    TensorXf64,
    TensorXu,
    UInt,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from nn_util import KINDS, rng, values

# ---------------------------------------------------------------- vectors


def test_components() -> None:
    v = nn.CoopVec(Float(1, 2), [Float(3, 4), {"a": 5}], Array2f(6, [7, 8]), 9.5)
    assert len(v) == 6 and v.type is Float
    assert values(v).tolist() == [[1, 2], [3, 4], [5, 5], [6, 6], [7, 8], [9.5, 9.5]]
    assert repr(v) == "drjit.nn.CoopVec[drjit.llvm.ad.Float, shape=(6, 2)]"
    assert v.index == next(iter(v)).index
    x, *rest = v
    assert len(rest) == 5 and type(x) is Float
    assert Array3f(*list(v)[:3]).numpy().tolist() == [[1, 2], [3, 4], [5, 5]]
    assert values(nn.CoopVec(v, v)).shape == (12, 2)
    assert values(nn.CoopVec(v)).tolist() == values(v).tolist()
    tensor = TensorXf([[1, 2, 3], [4, 5, 6]])
    assert values(nn.CoopVec(tensor)).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert values(nn.CoopVec(TensorXf([1, 2]))).tolist() == [[1], [2]]
    assert values(nn.CoopVec(Matrix2f(1, 2, 3, 4)))[:, 0].tolist() == [1, 2, 3, 4]
    assert nn.CoopVec(Int(1), 2).type is Int
    assert nn.CoopVec[Float].__origin__ is nn.CoopVec


def test_families() -> None:
    v = nn.CoopVec(llvm.Float(1), Float(2))
    assert v.type is Float
    v = nn.CoopVec(llvm.Float(1), 2)
    assert v.type is llvm.Float
    assert (v * Float(2)).type is Float and (v + 1).type is llvm.Float
    assert (v + nn.CoopVec(Float(1), 2)).type is Float


def test_operators() -> None:
    a, b = rng().normal(size=(2, 3, 4)).astype(np.float32)
    v, w = nn.CoopVec(TensorXf(a)), nn.CoopVec(TensorXf(b))
    s, t = Float(b[0]), b[0]
    for found, right in (
        (v + w, a + b),
        (v - w, a - b),
        (v * w, a * b),
        (v + 2, a + 2),
        (2 - v, 2 - a),
        (0.5 * v, a / 2),
        (v * s, a * t),
        (s - v, t - a),
        (s + v, t + a),
        (s * v, t * a),
        (-v, -a),
        (abs(v), abs(a)),
        (v * np.float32(3), a * np.float32(3)),
        (np.float32(3) * v, a * np.float32(3)),
        (v * Float64(2), a * 2),
        (v * UInt(2), a * 2),
        (dr.square(v), a * a),
        (dr.maximum(v, 0), np.maximum(a, 0)),
        (dr.minimum(s, v), np.minimum(t, a)),
        (dr.clip(v, -1, s), np.clip(a, -1, t)),
        (dr.abs(v), abs(a)),
    ):
        assert type(found) is nn.CoopVec and found.type is Float
        assert np.array_equal(values(found), right.astype(np.float64))
    for name in ("tanh", "exp", "exp2", "sin", "cbrt"):
        found = getattr(dr, name)(v)
        right = getattr(np, name)(a.astype(np.float64))
        assert np.allclose(values(found), right, rtol=1e-6)
    assert np.allclose(values(dr.log2(abs(v))), np.log2(abs(a)), rtol=1e-5)
    assert np.allclose(values(dr.fma(v, w, s)), a * b + t, rtol=1e-6, atol=1e-7)
    assert np.allclose(values(dr.fma(2, v, w)), 2 * a + b, rtol=1e-6, atol=1e-7)
    sine, cosine = dr.sincos(v)
    assert np.allclose(values(sine) ** 2 + values(cosine) ** 2, 1, atol=1e-6)
    chosen = dr.select(s > 0, v, w)
    assert np.array_equal(values(chosen), np.where(t > 0, a, b).astype(np.float64))


def test_cast() -> None:
    v = nn.CoopVec(Float(1.0001, 2), 3)
    for target, leaf in (
        (Float16, Float16),
        (llvm.Float16, Float16),
        (TensorXf16, Float16),
        (Array3f, Float),
        (UInt, UInt),
    ):
        assert nn.cast(v, target).type is leaf
    assert values(nn.cast(v, Float16))[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.CoopVec(), "argument"),
        (lambda: nn.CoopVec([]), "found no components"),
        (lambda: nn.CoopVec(1, 2.5), "found numbers only, expected at least one array"),
        (lambda: nn.CoopVec(Float(1), UInt(1)), "of the types Float and UInt"),
        (lambda: nn.CoopVec(Float(1), Bool(True)), "a component of type Bool"),
        (lambda: nn.CoopVec(Float(1), True), "a component of type bool"),
        (lambda: nn.CoopVec(Float(1), "x"), "a component of type str"),
        (lambda: nn.CoopVec(Float(1), None), "a component of type NoneType"),
        (lambda: nn.CoopVec(dr.zeros(TensorXf, (2, 2, 2))), r"of shape \(2, 2, 2\)"),
        (lambda: vec(3) + vec(2), r"__add__\(\): found vectors of 3 and 2 components"),
        (lambda: vec(2) * nn.cast(vec(2), Float16), "the types Float and Float16"),
        (lambda: vec(2) * [1, 2], "can't multiply sequence"),
        (lambda: vec(2) + Array2f(1), "unsupported operand"),
        (lambda: vec(2) + None, "unsupported operand"),
        (lambda: dr.maximum(vec(2), "x"), r"drjit.maximum\(<CoopVec>, <str>\)"),
        (lambda: nn.cast(3, Float), r"nn.cast\(\): the vector is of type int"),
        (lambda: nn.cast(vec(2), int), r"nn.cast\(\): the target type is int"),
        (lambda: nn.cast(vec(2), Bool), r"nn.cast\(\): the target type is Bool"),
        (lambda: nn.cast(vec(2), 3), r"nn.cast\(\): the target type is 3"),
    ],
)
def test_bad_vectors(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def vec(n: int, leaf: Any = Float) -> Any:
    return nn.CoopVec(leaf(1), *range(1, n))


# ---------------------------------------------------------------- views


MATRIX = np.arange(1, 13).reshape(3, 4)
KEYS: list[Any] = [
    1,
    -1,
    slice(1, 3),
    slice(None, None, 2),
    (slice(None), 1),
    (slice(None), slice(1, 3)),
    (slice(1, None), slice(2, None)),
    (2, 3),
    (slice(0, 3, 2), slice(1, 4)),
    (1, slice(None, -1)),
]


def part(array: Any, key: Any) -> Any:
    """Of two axes, whatever the key is."""
    keys = key if isinstance(key, tuple) else (key, slice(None))
    for axis, k in enumerate(keys):
        index = np.arange(array.shape[axis])[k]
        array = np.take(array, np.atleast_1d(index), axis)
    return array


def test_view() -> None:
    A = nn.view(TensorXf16(MATRIX))
    assert (A.shape, A.stride, A.offset, A.size) == ((3, 4), 4, 0, 12)
    assert A.dtype == dr.VarType.Float16 and A.transpose is False
    assert A.layout == "row_major" == nn.MatrixLayout.RowMajor
    assert type(A.buffer) is Float16 and len(A.buffer) == 12
    assert A.T.transpose and A.T.shape == (3, 4) and not A.T.T.transpose
    b = nn.view(Float(1, 2, 3))
    assert b.shape == (3, 1) == nn.view(TensorXf([1, 2, 3])).shape
    assert repr(b) == (
        "drjit.nn.MatrixView[\n    dtype=VarType.Float32,\n"
        '    layout="row_major",\n    shape=(3, 1),\n    stride=1,\n    offset=0,\n'
        "    size=3,\n    transpose=False,\n"
        "    buffer=<drjit.llvm.ad.Float instance>\n]"
    )


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_parts(key: Any) -> None:
    A = nn.view(TensorXf(MATRIX))
    right = part(MATRIX, key)
    found = A[key]
    assert found.shape == right.shape
    assert np.array_equal(TensorXf(found).numpy(), right)
    assert np.array_equal(TensorXf(found.T).numpy(), right.T)
    assert np.array_equal(TensorXf16(nn.unpack(found)).numpy(), right)
    x = rng().integers(-3, 4, right.shape[1])
    product = nn.matvec(found, nn.CoopVec(TensorXf(x)))
    assert np.array_equal(values(product)[:, 0], right @ x)
    x = rng().integers(-3, 4, right.shape[0])
    for product in (
        found.T @ nn.CoopVec(TensorXf(x)),
        nn.matvec(found, nn.CoopVec(TensorXf(x)), transpose=True),
        nn.matvec(found, nn.CoopVec(TensorXf(x)), None, True),
    ):
        assert np.array_equal(values(product)[:, 0], right.T @ x)


def test_parts_of_parts() -> None:
    A = nn.view(TensorXf(np.arange(100).reshape(10, 10)))
    right = np.arange(100).reshape(10, 10)[2:, 3:][::2, 1:5][1:3]
    found = A[2:, 3:][::2, 1:5][1:3]
    assert np.array_equal(TensorXf(found).numpy(), right)
    assert found.size == 20 + 4 and found.stride == 20


def test_gradient_of_a_view() -> None:
    tensor = TensorXf(MATRIX)
    dr.enable_grad(tensor)
    A = nn.view(tensor)
    dr.backward(dr.sum(list(A[1:, 1:] @ nn.CoopVec(Float(1, 10), 2, 3))[1]))
    right = np.zeros((3, 4))
    right[2, 1:] = 11, 4, 6
    assert np.array_equal(dr.grad(tensor).numpy(), right)
    assert np.array_equal(TensorXf(A.grad).numpy(), right)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.view(1), r"nn.view\(\): found an object of type int"),
        (lambda: nn.view(Array2f(1)), "found an object of type Array2f"),
        (lambda: nn.view(Bool(True)), "found an object of type Bool"),
        (lambda: nn.view(dr.scalar.TensorXf([1])), "found an object of type TensorXf"),
        (lambda: nn.view(dr.zeros(TensorXf, (2, 2, 2))), r"of shape \(2, 2, 2\)"),
        (lambda: nn.view(dr.zeros(TensorXf, (0, 2))), r"of shape \(0, 2\), expected"),
        (lambda: nn.view(Float()), r"of shape \(0,\), expected at least one"),
        (lambda: A34()[3], "the row 3 is out of range, expected one of 3"),
        (lambda: A34()[0, -5], "the column -5 is out of range, expected one of 4"),
        (lambda: A34()[2:1], "no row of 3 is in"),
        (lambda: A34()[::-1], "the step of rows is -1"),
        (lambda: A34()[:, ::2], "the step of columns is 2"),
        (lambda: A34()[0, 0, 0], "found 3 keys, expected 1 or 2"),
        (lambda: A34()["x"], "the row is of type str"),
        (lambda: A34()[True], "the row is of type bool"),
        (lambda: nn.pack(A34())[0], "has the layout 'inference', which has no parts"),
        (lambda: TensorXf(nn.pack(A34())), "the layout 'inference', expected 'row_m"),
        (lambda: nn.pack(A34(), layout="x"), "'layout' is 'x', expected one of"),
        (lambda: nn.pack(A34(), layout="row_major"), "'layout' is 'row_major'"),
        (lambda: nn.pack(A34(), layout=1), "'layout' is of type int"),
        (lambda: nn.pack(A34(), Float16(1)), "of the types Float and Float16"),
        (lambda: nn.pack(Array2f(1)), "found an object of type Array2f"),
        (lambda: nn.matvec(TensorXf([[1]]), vec(1)), "'A' is of type TensorXf"),
        (lambda: nn.matvec(A34(), [1]), "'x' is of type list"),
        (lambda: nn.matvec(A34(), vec(4), Float(1)), "'b' is of type Float"),
        (lambda: nn.matvec(A34(), vec(3)), "'x' has 3 components, expected 4"),
        (lambda: nn.matvec(A34().T, vec(4)), "'x' has 4 components, expected 3"),
        (lambda: nn.matvec(A34(), vec(4, Float16)), "A: Float32, x: Float16"),
        (lambda: nn.matvec(A34(), vec(4), nn.view(Float(1, 2))), r"shape \(2, 1\)"),
        (lambda: nn.matvec(A34(), vec(4), A34()[:, 0]), "and the stride 4"),
        (lambda: nn.matvec(A34(), vec(4), nn.view(Float64(1))), "b: Float64"),
        (lambda: nn.matvec(nn.view(TensorXu([[1]])), vec(1, UInt)), "of floats"),
        (lambda: nn.matvec(nn.MatrixView(), vec(1)), "A: Void"),
        (lambda: A34() @ A34(), "unsupported operand"),
    ],
)
def test_bad_matrices(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError, RuntimeError), match=message):
        make()


def A34() -> Any:
    return nn.view(TensorXf(MATRIX))


# ---------------------------------------------------------------- products


def product_in_order(A: Any, x: Any, b: Any) -> Any:
    """In single or double precision, in the documented order, without fma."""
    wide = np.float64 if A.dtype == np.float64 else np.float32
    total = np.zeros((A.shape[0], x.shape[1])) + (0 if b is None else b[:, None])
    for j in range(A.shape[1]):
        # Products and sums of single precision are exact, or rounded once, in double.
        total = (A[:, j : j + 1].astype(np.float64) * x[j] + total).astype(wide)
        total = total.astype(np.float64)
    return total.astype(A.dtype).astype(np.float64)


@pytest.mark.parametrize("layout", [None, "inference", "training"])
@pytest.mark.parametrize("kind", KINDS)
def test_matvec(kind: str, layout: str | None) -> None:
    leaf, tensor, dtype, tolerance = KINDS[kind]
    for rows, columns in ((1, 1), (3, 5), (7, 2), (16, 16)):
        A = rng(rows).normal(size=(rows, columns)).astype(dtype)
        b = rng(2).normal(size=rows).astype(dtype)
        x = rng(3).normal(size=(columns, 9)).astype(dtype)
        views: Any = nn.view(tensor(A)), nn.view(tensor(b))
        if layout:
            views = nn.pack(*views, layout=layout)
            assert views[0].layout == (layout if columns > 1 else "row_major")
            assert views[1].layout == "row_major" and views[1].offset == A.size
        vector = nn.CoopVec(tensor(x))
        for bias in (None, b):
            found = nn.matvec(views[0], vector, None if bias is None else views[1])
            right = product_in_order(A, x, bias)
            assert found.type is leaf
            if kind == "f64":
                assert np.allclose(values(found), right, rtol=tolerance, atol=1e-13)
            else:  # double precision holds products, so that only ties can differ
                assert np.allclose(values(found), right, rtol=tolerance, atol=2e-6)
        back = nn.matvec(views[0], nn.CoopVec(tensor(found_like(A, x))), transpose=True)
        assert len(back) == columns


def found_like(A: Any, x: Any) -> Any:
    return np.ones((A.shape[0], x.shape[1]), A.dtype)


def test_half_precision_is_summed_in_single() -> None:
    A = TensorXf16(np.full((1, 4096), 1))
    vector = nn.CoopVec(TensorXf16(np.full((4096, 1), 0.5)))
    assert values(nn.matvec(nn.pack(A), vector)).tolist() == [[2048]]
    # Half precision would have stopped at 1024, the bias is the start of the sum.
    bias = nn.view(Float16(60000))
    weights = nn.view(TensorXf16([[1.0, 1.0]]))
    total = nn.matvec(weights, nn.CoopVec(Float16(60000), -60000), bias)
    assert values(total).tolist() == [[60000]]


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
    st.randoms(use_true_random=False),
)
@settings(max_examples=40, deadline=None)
def test_any_products(
    rows: int, columns: int, lanes: int, transpose: bool, packed: bool, random: Any
) -> None:
    whole = rng(random.randrange(99)).integers(-9, 9, (rows + 2, columns + 3))
    top, left = random.randrange(3), random.randrange(4)
    A = whole[top : top + rows, left : left + columns]
    view = nn.view(TensorXf64(whole))[top : top + rows, left : left + columns]
    view = nn.pack(view) if packed else view
    across = A.T if transpose else A
    x = rng(random.randrange(99)).integers(-9, 9, (across.shape[1], lanes))
    b = rng(5).integers(-9, 9, across.shape[0])
    found = nn.matvec(
        view, nn.CoopVec(TensorXf64(x)), nn.view(TensorXf64(b)), transpose=transpose
    )
    assert np.array_equal(values(found), across @ x + b[:, None])


def test_derivatives_of_products() -> None:
    A = TensorXf64(rng(1).normal(size=(3, 4)))
    b = TensorXf64(rng(2).normal(size=3))
    x = dr.llvm.ad.ArrayXf64(rng(3).normal(size=(4, 2)))

    def plain(A: Any, b: Any, x: Any) -> Any:
        return list(nn.matvec(nn.view(A), nn.CoopVec(x), nn.view(b)))

    def packed(A: Any, b: Any, x: Any) -> Any:
        A, b = nn.pack(A, b, layout="training")
        return list(nn.matvec(A, nn.CoopVec(x) * 2, b))

    def parts(A: Any, b: Any, x: Any) -> Any:
        A, b = nn.view(A), nn.view(b)
        y = nn.matvec(A[:2, 1:], nn.CoopVec(list(x)[1:]), b[1:])
        return list(nn.matvec(A[::2, :2].T, y))

    for function in (plain, packed, parts):
        dr.check_grad(function, A, b, x)


def test_second_derivatives() -> None:
    def loss(A: Any, x: Any) -> Any:
        (y,) = nn.matvec(nn.view(A), dr.tanh(nn.CoopVec(x, 0.4)))
        return dr.sum(y * y * y)

    check_second_derivatives(loss, (TensorXf64([[0.7, -0.3]]), Float64(0.3, 0.8)))


# ---------------------------------------------------------------- packing


def test_pack() -> None:
    A, b = TensorXf(MATRIX), TensorXf([1, 2, 3])
    tree = nn.pack([A, "x", b], {"c": A, "d": (None, 3)})
    assert isinstance(tree, tuple) and tree[0][1] == "x"
    assert tree[1]["d"] == (None, 3)
    first, second, third = tree[0][0], tree[0][2], tree[1]["c"]
    assert [v.offset for v in (first, second, third)] == [0, 12, 15]
    assert first.buffer is second.buffer is third.buffer
    assert len(first.buffer) == 27
    assert nn.pack() == () and nn.pack(1) == 1 and nn.pack("x", 2) == ("x", 2)
    assert isinstance(nn.pack(A), nn.MatrixView)
    assert isinstance(nn.pack([A]), list)
    again = nn.unpack(*nn.pack(A, b))
    assert np.array_equal(TensorXf(again[0]).numpy(), MATRIX)
    assert TensorXf(again[1]).numpy().tolist() == [[1], [2], [3]]
    assert nn.unpack(A) is A and nn.unpack() == ()
    transposed = nn.pack(nn.view(A).T)
    assert transposed.transpose and transposed.shape == (3, 4)
    parts = nn.pack(nn.view(A)[:2], nn.view(A)[2:, 1:3])
    assert parts[0].buffer.numpy().tolist() == [*range(1, 9), 10, 11]


def test_pack_copies() -> None:
    A = TensorXf(MATRIX)
    packed = nn.pack(A)
    dr.scatter(packed.buffer, Float(99), UInt(0))
    assert A[0, 0].array[0] == 1 and packed.buffer[0] == 99


# ---------------------------------------------------------------- layers


def encoded(x: Any, octaves: int, shift: float, triangle: bool) -> Any:
    rows = []
    for channel in x:
        for i in range(octaves):
            t = 2.0**i * channel + i * shift
            if triangle:
                rows += [1 - 4 * abs(u - np.round(u)) for u in (t - 0.25, t)]
            else:
                rows += [np.sin(2 * np.pi * t), np.cos(2 * np.pi * t)]
    return np.array(rows)


LAYERS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "ReLU": (nn.ReLU(), lambda x: np.maximum(x, 0)),
    "LeakyReLU": (nn.LeakyReLU(), lambda x: np.where(x >= 0, x, 0.01 * x)),
    "LeakyReLU, steep": (nn.LeakyReLU(2), lambda x: np.where(x >= 0, x, 2 * x)),
    "Exp": (nn.Exp(), np.exp),
    "Exp2": (nn.Exp2(), np.exp2),
    "Tanh": (nn.Tanh(), np.tanh),
    "SinEncode": (nn.SinEncode(3), lambda x: encoded(x, 3, 0, False)),
    "SinEncode, shift": (nn.SinEncode(5, 0.3), lambda x: encoded(x, 5, 0.3, False)),
    "TriEncode": (nn.TriEncode(3), lambda x: encoded(x, 3, 0, True)),
    "TriEncode, shift": (nn.TriEncode(2, 0.1), lambda x: encoded(x, 2, 0.1, True)),
    "ScaleAdd": (nn.ScaleAdd(2, -0.5), lambda x: 2 * x - 0.5),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    layer, model = LAYERS[name]
    for kind, (leaf, tensor, dtype, tolerance) in KINDS.items():
        x = rng().uniform(-1.5, 1.5, (3, 20)).astype(dtype)
        right = model(x.astype(np.float64))
        atol = tolerance * (16 if "Encode" in name else 2)
        atol *= 8 if kind == "f16" and "Encode" in name else 1
        made = layer.alloc(tensor, 3)
        for net in (layer, made):
            found = net(nn.CoopVec(tensor(x)))
            assert found.type is leaf and len(found) == len(right)
            assert np.allclose(values(found), right, rtol=tolerance, atol=atol)
            found = net(tensor(x))
            assert type(found) is tensor and found.shape == right.shape
            assert np.allclose(found.numpy(), right, rtol=tolerance, atol=atol)
    x = Float64(rng().uniform(-1, 1, 10))
    dr.check_grad(lambda x: list(layer(nn.CoopVec(x))), x)
    dr.check_grad(lambda x: layer(dr.reshape(TensorXf64(x), (2, 5))), x)


def test_parameters_of_layers() -> None:
    v = nn.CoopVec(Float(-1, 2), Float(3, -4))
    leaky = nn.LeakyReLU(Float(0.1, 0.2))
    assert np.allclose(values(leaky(v)), [[-0.1, 2], [3, -0.8]])
    scale = nn.ScaleAdd(Float(1, 2), Float(5))
    assert np.allclose(values(scale(v)), [[4, 9], [8, -3]])
    assert nn.Cast(Float16)(v).type is Float16
    assert type(nn.Cast(TensorXf16)(TensorXf([1]))) is TensorXf16
    assert type(nn.Cast(Float16)(TensorXf([1]))) is TensorXf16
    assert list(nn.Sequential(leaky, scale)) == ["layers.0.negative_slope"]
    assert nn.pack(nn.Sequential(leaky)).layers[0].negative_slope is not None
    tensor = nn.SinEncode(0)(TensorXf([[1, 2]]))
    assert tensor.shape == (0, 2)


def test_high_octaves_are_precise() -> None:
    x = rng().random(100).astype(np.float32)
    found = nn.SinEncode(12)(nn.CoopVec(Float(x)))
    right = encoded([x.astype(np.float64)], 12, 0, False)
    assert np.abs(values(found) - right).max() < 4e-7


def test_linear_of_tensors() -> None:
    net = nn.Linear(3, 2).alloc(TensorXf)
    net["bias"] = TensorXf([5, 6])
    A, x = net["weights"].numpy(), rng().normal(size=(4, 3, 7)).astype(np.float32)
    for part in (x, x[0], x[0, :, 0]):
        right = A @ part + (net["bias"].numpy()[:, None] if part.ndim > 1 else [5, 6])
        assert np.allclose(net(TensorXf(part)).numpy(), right, atol=1e-6)
    # As for vectors
    packed = nn.pack(net)
    assert np.allclose(
        values(packed(nn.CoopVec(TensorXf(x[0])))), net(TensorXf(x[0])).numpy()
    )
