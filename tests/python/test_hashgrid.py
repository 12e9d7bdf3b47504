"""drjit.hashgrid against sums over vertices in NumPy, and as part of programs."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import drjit as dr
import numpy as np
import pytest
from ad_util import check_second_derivatives
from drjit import hashgrid, llvm, nn, opt
from drjit.hashgrid import HashGridEncoding, PermutoEncoding
from drjit.llvm.ad import (
    Array2f,
    Array2f16,
    Array2f64,
    Array3f,
    ArrayXf16,
    Bool,
    Float,
    Float16,
    Float64,
    TensorXf,
    TensorXf16,
    UInt,
)
from engine_util import printed
from hypothesis import example, given, settings
from hypothesis import strategies as st

CLASSES = [HashGridEncoding, PermutoEncoding]
SMALL: dict[str, Any] = {
    "n_levels": 4,
    "base_resolution": 5,
    "hashmap_size": 600,
    "per_level_scale": 1.6,
}
VARIANTS: list[dict[str, Any]] = [
    {},
    {"align_corners": True},
    {"align_corners": True, "torchngp_compat": True},
    {"n_features_per_level": 1},
    {"n_features_per_level": 3},
    {"n_features_per_level": 4, "hashmap_size": 64},
    {"n_features_per_level": 10, "hashmap_size": 50},
]
PRIMES = [1, 2654435761, 805459861, 3674653429, 2097192037]


def rng(seed: int = 1) -> Any:
    return np.random.default_rng(seed)


# ---------------------------------------------------------------- a model in NumPy


def levels(e: Any) -> list[tuple[float, int, int, int]]:
    """Scale, resolution, first entry, number of entries."""
    found, offset = [], 0
    for i in range(e.n_levels):
        scale = e.base_resolution * e.per_level_scale**i - 1
        n = int(np.ceil(scale - 1e-9)) + 1
        f = e.n_features_per_level
        size = min(-(-(n**e.dimension) // f) * f, e.hashmap_size)
        found.append((scale, n, offset, size))
        offset += size
    return found


def entry(e: Any, level: tuple[float, int, int, int], key: list[int]) -> int:
    _, n, offset, size = level
    index = 0
    if n**e.dimension <= e.hashmap_size:
        index = sum(k * n**axis for axis, k in enumerate(key))
    elif isinstance(e, HashGridEncoding):
        for k, prime in zip(key, PRIMES, strict=False):
            index ^= k * prime % 2**32
    else:
        for k in key:
            index = (index + k) * 2531011
    return offset + index % 2**32 % size


def vertices(e: Any, at: Any) -> Any:
    """The vertices around a position in cells, with their weights."""
    cell = np.floor(at).astype(np.int64)
    f = at - cell
    if isinstance(e, HashGridEncoding):
        for corner in product((0, 1), repeat=e.dimension):
            weight = np.prod(np.where(corner, f, 1 - f))
            yield [int(k) for k in cell + corner], weight
        return
    order = np.argsort(-f, kind="stable")
    path = [1.0, *f[order], 0.0]
    key = cell.copy()
    for i in range(e.dimension + 1):
        yield [int(k) for k in key], path[i] - path[i + 1]
        if i < e.dimension:
            key[order[i]] += 1


def looked_up(e: Any, params: Any, x: Any) -> Any:
    count, found = e.n_features_per_level, []
    compat = isinstance(e, HashGridEncoding) and e.torchngp_compat
    shift = 0 if e.align_corners and not compat else 0.5
    for level in levels(e):
        total = np.zeros(count)
        for key, weight in vertices(e, np.asarray(x) * level[0] + shift):
            first = entry(e, level, key) * count
            total += weight * params[first : first + count]
        found.extend(total)
    return np.array(found)


def values(found: Any) -> Any:
    return np.array([feature.numpy() for feature in found], dtype=np.float64)


def filled(e: Any, seed: int = 3) -> Any:
    params = rng(seed).uniform(-1, 1, e.n_params)
    e.set_params(type(e.params)(params))
    return e.params.numpy().astype(np.float64)


@pytest.mark.parametrize("kwargs", VARIANTS, ids=str)
@pytest.mark.parametrize("dim", [1, 2, 3, 5])
@pytest.mark.parametrize("cls", CLASSES)
def test_values(cls: Any, dim: int, kwargs: dict[str, Any]) -> None:
    for leaf, tolerance in ((Float64, 1e-12), (Float, 1e-4), (Float16, 2e-3)):
        e = cls(leaf, dim, **{**SMALL, **kwargs})
        params = filled(e)
        assert e.n_params == len(params)
        assert [e.level_offset(i) for i in range(4)] == [v[2] for v in levels(e)]
        x = rng(dim).uniform(-0.3, 1.6, (dim, 20))
        x[:, 0], x[:, 1], x[:, 2] = 0, 1, 0.5
        x = x.astype(np.float64 if leaf is Float64 else np.float32)
        position = [(Float64 if leaf is Float64 else Float)(v) for v in x]
        found = e(position)
        assert type(found[0]) is leaf and len(found) == e.n_output_features
        right = np.array([looked_up(e, params, p.astype(np.float64)) for p in x.T]).T
        at_vertices = slice(3, None)  # there rounding may choose another cell
        assert np.allclose(
            values(found)[:, at_vertices], right[:, at_vertices], atol=tolerance
        )
        if leaf is Float64:
            assert np.allclose(values(found), right, atol=tolerance)


PUBLISHED = """
HashGridEncoding 2 2 0 964 -0.133452 -0.046727 0.398381 0.434747 0.227758 0.247925
HashGridEncoding 3 4 1 4960 -0.178219 -0.228516 -0.276532 -0.321784 0.334271 0.325049 \
0.312573 0.296978 0.275201 0.36758 0.456282 0.540408
PermutoEncoding 2 2 0 964 -0.133452 -0.046727 0.335796 0.371826 0.234717 0.263854
PermutoEncoding 3 4 1 4960 -0.001473 -0.056366 -0.110699 -0.163925 -0.018614 0.047899 \
0.113953 0.178866 -0.882388 -0.84938 -0.807884 -0.758316
"""


def test_published_values() -> None:
    """What the published package has printed for the same parameters."""
    for row in PUBLISHED.strip().splitlines():
        name, dim, features, aligned, count, *numbers = row.split()
        e = getattr(hashgrid, name)(
            Float,
            int(dim),
            n_levels=3,
            hashmap_size=512,
            base_resolution=6,
            per_level_scale=1.7,
            n_features_per_level=int(features),
            align_corners=bool(int(aligned)),
        )
        assert e.n_params == int(count)
        e.params = dr.sin(Float(dr.arange(UInt, e.n_params)) * Float(0.1))
        found = e([Float(x) for x in (0.3, 0.85, 0.61)[: int(dim)]])
        assert np.allclose(values(found)[:, 0], [float(x) for x in numbers], atol=1e-5)


def test_initial_parameters() -> None:
    """Those that the published package has printed."""
    e = HashGridEncoding(Float, 2, n_levels=1, base_resolution=4)
    right = [-3.793017822317779e-05, 1.5105149941518903e-05, 5.62917921342887e-05]
    assert e.params.numpy()[:3].tolist() == right
    e = HashGridEncoding(
        Float16, 2, n_levels=1, base_resolution=4, init_scale=0.5, rng=dr.rng(7)
    )
    right = [-0.4033203125, -0.10595703125, 0.05810546875, 0.46533203125]
    assert e.params.numpy()[:4].tolist() == right
    e = HashGridEncoding(Float, 3, init_scale=2)
    assert e.n_params == 7114752 * 2
    numbers = e.params.numpy()
    assert -2 <= numbers.min() < -1.999 and 1.999 < numbers.max() < 2


def test_hash() -> None:
    grid = HashGridEncoding(Float, 3, **SMALL)
    assert grid.hash([UInt(1), UInt(2), UInt(3)])[0] == 2892625372
    assert PermutoEncoding(Float, 3, **SMALL).hash((1, 2, 3))[0] == 3091413942
    high = HashGridEncoding(Float, 10, n_levels=1, hashmap_size=64)
    assert high.hash([0] * 9 + [1])[0] % 2 == 1
    for cls in CLASSES:
        e = cls(Float, 3, **SMALL)
        for i, level in enumerate(levels(e)):
            keys = rng(i).integers(0, 30, (3, 20))
            found = e.indexing_function([UInt(k) for k in keys], i)
            right = [entry(e, level, [int(k) for k in key]) for key in keys.T]
            assert found.numpy().tolist() == right


# ---------------------------------------------------------------- arguments


def test_positions() -> None:
    e = HashGridEncoding(Float16, 2, **SMALL)
    params = filled(e)
    right = looked_up(e, params, np.float32([0.3, 0.4]).astype(np.float64))
    for p in (
        Array2f(0.3, 0.4),
        Array2f64(np.float32(0.3), np.float32(0.4)),
        [Float(0.3), Float(0.4)],
        (Float(0.3), 0.4),
        (0.3, 0.4),
        TensorXf([[0.3], [0.4]]),
        TensorXf([0.3, 0.4]),
        nn.CoopVec(Float(0.3), 0.4),
        llvm.Array2f(0.3, 0.4),
        {"x": 0.3, "y": Float(0.4)},
    ):
        found = e(p)
        assert type(found) is ArrayXf16
        assert np.allclose(values(found)[:, 0], right, atol=1e-3)
    assert len(e(Array2f16(0.3, 0.4))) == 8
    plain = HashGridEncoding(llvm.Float, 2, **SMALL)
    assert type(plain(llvm.Array2f(0.1))) is llvm.ArrayXf
    assert type(plain(Array2f(0.1))[0]) is Float


@pytest.mark.parametrize("cls", CLASSES)
def test_masks(cls: Any) -> None:
    e = cls(Float, 2, **SMALL)
    filled(e)
    x = Array2f([0.1, dr.nan, 0.6, dr.inf], [0.7, 0.7, 0.2, 0.1])
    active = Bool(True, False, True, False)
    dr.enable_grad(x, e.params)
    found = e(x, active)
    assert np.array_equal(values(found)[:, 1::2], np.zeros((8, 2)))
    assert np.array_equal(values(found)[:, 0], values(e(Array2f(0.1, 0.7)))[:, 0])
    dr.backward(dr.sum(found, axis=None))
    assert np.isfinite(dr.grad(x).numpy()).all()
    assert np.array_equal(dr.grad(x).numpy()[:, 1::2], np.zeros((2, 2)))
    assert np.isfinite(dr.grad(e.params).numpy()).all()
    assert not values(e(x, False)).any()
    assert np.array_equal(values(e(Array2f(0.2), True)), values(e(Array2f(0.2))))


@pytest.mark.parametrize("kwargs", VARIANTS, ids=str)
@pytest.mark.parametrize("cls", CLASSES)
def test_nothing_else_is_read(cls: Any, kwargs: dict[str, Any]) -> None:
    """Positions far away, infinite, NaN: entries of the level, by the debug checks."""
    e = cls(Float, 2, **{**SMALL, **kwargs})
    filled(e)
    far = [-1e30, -1e10, -5e9, -3e9, -1000, -1, -0.01, 1.01, 2, 99, 3e9, 5e9, 1e30]
    x = Float([*far, dr.inf, -dr.inf, dr.nan])
    with dr.scoped_set_flag(dr.JitFlag.Debug):
        found = values(e([x, Float(0.3)]))
    assert np.isfinite(found[:, : len(far)]).all()
    assert np.isnan(found[:, len(far) :]).all()
    assert np.abs(found[:, : len(far)]).max() <= 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: grid(int), "'dtype' is int, expected a type of arrays of floats"),
        (lambda: grid(UInt), "'dtype' is UInt"),
        (lambda: grid(3), "'dtype' is 3"),
        (lambda: grid(dr.scalar.Array2f), "'dtype' is Array2f"),
        (lambda: grid(Float, 0), "'dimension' is 0, expected a number of at least 1"),
        (lambda: grid(Float, 2.0), "'dimension' is of type float, expected an int"),
        (lambda: grid(n_levels=0), "'n_levels' is 0"),
        (lambda: grid(n_levels=True), "'n_levels' is of type bool"),
        (lambda: grid(n_features_per_level=0), "'n_features_per_level' is 0"),
        (lambda: grid(n_features_per_level=3, hashmap_size=64), "a multiple of"),
        (lambda: grid(hashmap_size=0), "'hashmap_size' is 0"),
        (lambda: grid(base_resolution=0), "'base_resolution' is 0"),
        (lambda: grid(per_level_scale=0.5), "'per_level_scale' is 0.5"),
        (lambda: grid(per_level_scale=dr.nan), "'per_level_scale' is nan"),
        (lambda: grid(per_level_scale="x"), "is of type str, expected a number"),
        (lambda: grid(smooth_weight_lambda=-1), "'smooth_weight_lambda' is -1"),
        (lambda: grid(init_scale=dr.inf), "'init_scale' is inf, expected a number of"),
        (lambda: grid(rng=3), "'rng' is of type int"),
        (lambda: grid(n_levels=29), r"resolution 2\^32.0, expected at most 2\^31"),
        (lambda: grid(n_levels=9**9), "'n_levels' 387420489"),
        (lambda: grid(per_level_scale=1e300), r"expected at most 2\^31"),
        (lambda: grid(per_level_scale=10**5000), "'per_level_scale' is more than"),
        (lambda: grid(base_resolution=10**400), "'base_resolution' is more than"),
        (lambda: grid(base_resolution=2**40), r"'base_resolution' is 2\^40.0"),
        (lambda: grid(init_scale=2e38), "'init_scale' is 2e.38, expected at most half"),
        (lambda: grid(Float16, init_scale=40000), "the largest Float16"),
        (lambda: grid(bogus=3), "bogus"),
        (
            lambda: grid(Float, 3, n_levels=16, hashmap_size=2**30),
            r"expected less than 2\^32",
        ),
        (lambda: grid().set_params(3), "the parameters are of type int"),
        (lambda: grid().set_params(Float16(1)), "of type Float16, expected Float"),
        (lambda: grid().set_params(Array2f(1)), "of type Array2f, expected Float"),
        (lambda: grid().set_params(Float(1, 2)), "there are 2 parameters, expected"),
        (lambda: grid()(Array3f(1)), "the position has 3 components, expected 2"),
        (lambda: grid()(Float(1)), "the position has 1 components, expected 2"),
        (lambda: grid()("x"), r"__call__\(\): found a component of type str"),
        (lambda: grid()([UInt(1), UInt(2)]), "components of type UInt, expected fl"),
        (lambda: grid()([Float(1), Float16(1)]), "of the types Float and Float16"),
        (lambda: grid()(Array2f(1), 3), "'active' is of type int, expected a mask"),
        (lambda: grid().hash([1]), "the key has 1 components, expected 2"),
        (lambda: hashgrid.HashEncoding(Float, 2, n_levels=1)((1, 1)), "has no hash"),
        (lambda: nn.HashEncodingLayer(3), "the encoding is of type int"),
    ],
)
def test_bad_input(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError, NotImplementedError), match=message):
        make()


def grid(dtype: Any = Float, dimension: Any = 2, **kwargs: Any) -> Any:
    return HashGridEncoding(
        dtype, dimension, **{"n_levels": 8, "hashmap_size": 1 << 10, **kwargs}
    )


@pytest.mark.parametrize("cls", [HashGridEncoding, PermutoEncoding])
def test_limits_are_within_range(cls: Any) -> None:
    """The largest settings, on both sides of which the constructor draws the line."""
    finest = cls(Float, 2, n_levels=28, hashmap_size=64, init_scale=1e38)
    assert np.isfinite(finest(Array2f(0.1, 0.2))).all()
    assert abs(finest.params.numpy()).max() <= 1e38
    assert (finest.n_params, cls(Float, 2, n_levels=1).n_params) == (2 * 64 * 28, 512)


def test_settings() -> None:
    e = PermutoEncoding(TensorXf16, 3, n_levels=2, base_resolution=4, hashmap_size=32)
    assert e.dtype is Float16 and e.params.state == dr.VarState.Evaluated
    assert (e.dimension, e.n_levels, e.hashmap_size) == (3, 2, 32)
    assert (e.n_features_per_level, e.n_output_features) == (2, 4)
    assert (e.base_resolution, e.per_level_scale) == (4, 2)
    assert not (e.align_corners or e.torchngp_compat or e.smooth_weight_gradients)
    assert (e.smooth_weight_lambda, e.init_scale, e.n_params) == (1, 1e-4, 128)
    assert repr(e).startswith(
        "PermutoEncoding(\n    dtype=<class 'drjit.llvm.ad.Float16"
    )
    assert "torchngp_compat" not in repr(e) and "torchngp_compat" in repr(grid())
    assert hashgrid.next_multiple(7, 4) == 8 and hashgrid.div_round_up(7, 4) == 2
    assert np.allclose(hashgrid.cosine_ramp(Float(0, 0.25, 1)), [0, 0.1464466, 1])
    assert nn.HashGridEncoding is HashGridEncoding
    assert nn.PermutoEncoding is PermutoEncoding


# ---------------------------------------------------------------- derivatives


@pytest.mark.parametrize("kwargs", VARIANTS, ids=str)
@pytest.mark.parametrize("cls", CLASSES)
def test_derivatives(cls: Any, kwargs: dict[str, Any]) -> None:
    for dim in (1, 2, 3):
        e = cls(Float64, dim, **{**SMALL, **kwargs, "n_levels": 2})
        filled(e)
        # Of positions away from where cells meet, of parameters everywhere
        x = [Float64(v) for v in rng(dim).uniform(0.02, 0.98, (dim, 3))]
        dr.check_grad(lambda x, e=e: e(x), x)

    e = cls(Float64, 2, **{**SMALL, **kwargs, "n_levels": 2, "base_resolution": 2})

    def of_params(params: Any) -> Any:
        e.set_params(params)
        return e(x[:2])

    params = Float64(filled(e))
    if len(params) < 200:
        dr.check_grad(of_params, params)


@pytest.mark.parametrize("cls", CLASSES)
def test_gradient_of_parameters(cls: Any) -> None:
    """The sum of the weights with which a parameter is read."""
    e = cls(Float, 3, **SMALL)
    filled(e)
    dr.enable_grad(e.params)
    x = rng(5).random((3, 500)).astype(np.float32)
    dr.backward(dr.sum(e(TensorXf(x)), axis=None))
    right = np.zeros((e.n_params // 2, 2))
    for p in x.T.astype(np.float64):
        for level in levels(e):
            for key, weight in vertices(e, p * level[0] + 0.5):
                right[entry(e, level, key)] += weight
    assert np.allclose(dr.grad(e.params).numpy(), right.ravel(), atol=1e-3)
    assert abs(right.sum() - 500 * 8) < 1e-6  # weights of a position sum to 1


@pytest.mark.parametrize("cls", CLASSES)
def test_derivatives_of_half_precision(cls: Any) -> None:
    """Sums that half precision could not count up to."""
    e = cls(Float16, 2, n_levels=1, base_resolution=3, align_corners=True)
    dr.enable_grad(e.params)
    dr.backward(dr.sum(Float(e(Array2f(dr.zeros(Float, 30000), 0))[0])))
    found = dr.grad(e.params).numpy()
    assert found[0] == 30000 and not found[1:].any()
    dr.set_grad(e.params, Float16(np.arange(e.n_params)))
    y = e(Array2f(0.25, 0.5))  # scaled by 2: half way from vertex 3 to 4
    dr.forward_to(y)
    assert dr.grad(y)[0][0] == 7 and dr.grad(y)[1][0] == 8
    assert np.array_equal(values(y), values(e(Array2f(0.25, 0.5))))


def test_smooth_gradients() -> None:
    """That of w + λ (1 - cos(π w)) / 2 for the weight of a vertex."""
    for factor in (0.0, 0.3, 1.0):
        e = HashGridEncoding(
            Float64,
            1,
            n_levels=1,
            base_resolution=5,
            align_corners=True,
            smooth_weight_gradients=True,
            smooth_weight_lambda=factor,
        )
        params = np.zeros(e.n_params)
        params[2] = 1  # the first feature of the second vertex
        e.set_params(Float64(params))
        f = np.linspace(0.01, 0.99, 9)
        x = Float64(f / 4)
        dr.enable_grad(x)
        found = e([x])[0]
        assert np.allclose(found.numpy(), f)
        dr.backward(found)
        right = 1 + factor * np.pi / 2 * np.sin(np.pi * f)
        assert np.allclose(dr.grad(x).numpy() / 4, right)


@pytest.mark.parametrize("cls", CLASSES)
def test_second_derivatives(cls: Any) -> None:
    e = cls(Float64, 2, n_levels=1, base_resolution=3, hashmap_size=16)
    numbers = filled(e)

    def loss(params: Any, x: Any, y: Any) -> Any:
        e.set_params(params)
        found = e([x, y])
        return dr.sum(found[0] * found[1])

    args = Float64(numbers), Float64(0.31, 0.62), Float64(0.77, 0.22)
    check_second_derivatives(loss, args)


@given(
    st.sampled_from(CLASSES),
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(1, 12),
    st.integers(1, 40),
    st.floats(1, 3),
    st.booleans(),
    st.integers(0, 99),
)
@example(HashGridEncoding, 2, 2, 2, 8, math.sqrt(2), False, 0)  # 4 or 5 vertices
@settings(max_examples=30, deadline=None)
def test_any_encoding(
    cls: Any,
    dim: int,
    features: int,
    resolution: int,
    entries: int,
    growth: float,
    aligned: bool,
    seed: int,
) -> None:
    e = cls(
        Float64,
        dim,
        n_levels=3,
        n_features_per_level=features,
        hashmap_size=entries * features,
        base_resolution=resolution,
        per_level_scale=growth,
        align_corners=aligned,
    )
    if levels(e) != levels_of(e):  # ceil() of an integer, up to rounding
        return
    params = filled(e, seed)
    x = rng(seed).random((dim, 4))
    right = np.array([looked_up(e, params, p) for p in x.T]).T
    assert np.allclose(values(e([Float64(v) for v in x])), right, atol=1e-11)


def levels_of(e: Any) -> list[tuple[float, int, int, int]]:
    found = []
    for (scale, _, _, _), i in zip(levels(e), range(e.n_levels), strict=True):
        offset, n = e.level_offset(i), e._resolution(i)
        found.append((scale, n, offset, e.level_offset(i + 1) - offset))
    return found


# ---------------------------------------------------------------- programs


@pytest.mark.parametrize("cls", CLASSES)
def test_control_flow(cls: Any, mode: str) -> None:
    e = cls(Float, 2, **SMALL)
    params = filled(e)

    def body(i: Any, x: Any, total: Any) -> Any:
        return i + 1, x * 0.5, total + e([x, 0.25])[3]

    state = UInt(0), Float(0.9, 0.4), Float(0)
    _, _, found = dr.while_loop(state, lambda i, x, t: i < 3, body)
    for start, total in zip((0.9, 0.4), found.numpy(), strict=True):
        right = sum(looked_up(e, params, (start / 2**i, 0.25))[3] for i in range(3))
        assert abs(total - right) < 1e-4
    other = cls(Float, 2, **SMALL)
    other.set_params(-e.params)
    found = dr.switch(
        UInt(0, 1), [lambda x: e([x, x])[0], lambda x: other([x, x])[0]], Float(0.3)
    )
    assert found[0] == -found[1] != 0


@pytest.mark.parametrize("cls", CLASSES)
def test_frozen_functions(cls: Any) -> None:
    @dr.freeze
    def look(e: Any, p: Any) -> Any:
        return e(p)

    for seed in range(4):
        e = cls(Float, 2, **SMALL)
        params = filled(e, seed)
        x = rng(seed).random((2, 5 + seed)).astype(np.float32)
        right = np.array([looked_up(e, params, p.astype(np.float64)) for p in x.T]).T
        assert np.allclose(values(look(e, Array2f(*map(Float, x)))), right, atol=1e-4)
    assert look.n_recordings == 1
    e = cls(Float, 2, **{**SMALL, "align_corners": True})
    look(e, Array2f(*map(Float, x)))
    assert look.n_recordings == 2  # another program


def test_copies() -> None:
    e = HashGridEncoding(Float, 2, **SMALL, align_corners=True)
    filled(e)
    again = dr.copy(e)
    assert repr(again) == repr(e) and again.init_scale == e.init_scale
    assert np.array_equal(values(again(Array2f(0.4))), values(e(Array2f(0.4))))


def picture(x: Any, y: Any) -> Any:
    return dr.sin(20 * x * y) * 0.5 + dr.select(x > y, 0.5, 0)


@pytest.mark.parametrize("cls", CLASSES)
def test_training(cls: Any) -> None:
    """A picture, by an encoding and a small network, with one optimiser."""
    e = cls(Float16, 2, n_levels=6, hashmap_size=1 << 12, base_resolution=8)
    net = nn.Sequential(
        nn.HashEncodingLayer(e), nn.Linear(-1, 16), nn.ReLU(), nn.Linear(-1, 1)
    ).alloc(TensorXf16, 2)
    assert list(net) == [f"layers.{i}.{n}" for i in (1, 3) for n in ("weights", "bias")]
    net = nn.pack(net, layout="training")
    assert net.layers[0].encoding is e and net.layers[0].data is e.params
    adam = opt.Adam(lr=1e-2, params={"hash": e.params, **net})
    scaler = opt.GradScaler()

    @dr.freeze
    def turn(net: Any, adam: Any, scaler: Any, x: Any, y: Any) -> Any:
        net.update(adam)
        net.layers[0].encoding.set_params(adam["hash"])
        (found,) = net(nn.CoopVec(x, y))
        loss = dr.mean(dr.square(Float(found) - picture(x, y)))
        dr.backward(scaler.scale(loss))
        scaler.step(adam)
        return loss

    random, losses = dr.rng(1), []
    for _ in range(150):
        x, y = (random.random(Float, 2048) for _ in "xy")
        losses.append(turn(net, adam, scaler, x, y))
    found = [loss[0] for loss in losses]
    assert found[0] > 0.1 and np.mean(found[-20:]) < 2e-3
    assert turn.n_recordings <= 3


PROGRAM = """
import numpy as np, drjit as dr
from drjit.hashgrid import *
from drjit.llvm.ad import *
rng = np.random.default_rng(1)
for cls in (HashGridEncoding, PermutoEncoding):
    for leaf, features in ((Float16, 2), (Float, 3), (Float64, 4)):
        for dim in (1, 2, 3):
            e = cls(leaf, dim, n_levels=3, n_features_per_level=features,
                hashmap_size=600, base_resolution=5, smooth_weight_gradients=True)
            e.set_params(leaf(rng.normal(size=e.n_params)))
            x = [Float(rng.uniform(-1, 2, 99)) for _ in range(dim)]
            x[0][0], x[0][1], x[0][2] = dr.nan, dr.inf, -1e30
            dr.enable_grad(x, e.params)
            y = e(x)
            for i in range(len(y)):
                dr.backward(y[i] * (i + 1), dr.ADFlag.Default)
            for value in (*y, *dr.grad(x)):
                a = value.numpy()
                a[np.isnan(a)] = 0
                print(a.tobytes().hex())
"""


def test_engines_agree() -> None:
    texts = printed(PROGRAM)
    assert len(texts[0]) > 10_000 and all(text == texts[0] for text in texts)
