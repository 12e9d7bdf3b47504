"""Textures at several resolutions: against a pyramid made by a matrix in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import FilterMode, WrapMode, llvm, scalar
from drjit.llvm import ad
from engine_util import printed
from test_texture import MODES, SHAPES, at, content, looked_up, places, texture

# ---------------------------------------------------------------- the pyramid in NumPy


def overlaps(n: int) -> Any:
    """The shares of n texels in max(n // 2, 1) that cover the same line."""
    m = max(n // 2, 1)
    ends, coarse = np.arange(n + 1) / n, np.arange(m + 1) / m
    low = np.maximum(coarse[:-1, None], ends[None, :-1])
    high = np.minimum(coarse[1:, None], ends[None, 1:])
    return np.maximum(high - low, 0) * m


def pyramid(data: Any) -> list[Any]:
    found = [data]
    while max(found[-1].shape[:-1]) > 1:
        level = found[-1]
        for axis in range(level.ndim - 1):
            level = np.moveaxis(level, axis, -1) @ overlaps(level.shape[axis]).T
            level = np.moveaxis(level, -1, axis)
        found.append(level)
    return found


def at_lod(
    levels: list[Any],
    position: Any,
    lod: float,
    mode: Any = WrapMode.Clamp,
    kind: str = "linear",
    mip: Any = FilterMode.Linear,
) -> Any:
    lod = min(max(lod, 0), len(levels) - 1)
    if mip == FilterMode.Nearest:
        return looked_up(levels[int(np.floor(lod + 0.5))], position, mode, kind)
    i = int(lod)
    fine = looked_up(levels[i], position, mode, kind)
    coarse = looked_up(levels[min(i + 1, len(levels) - 1)], position, mode, kind)
    return fine + (lod - i) * (coarse - fine)


def in_footprint(levels: list[Any], p: Any, x: Any, y: Any, mode: Any) -> Any:
    extents = np.array(levels[0].shape[-2::-1])
    sides = sorted(
        ((np.linalg.norm(d * extents), d) for d in (x, y)), key=lambda s: s[0]
    )
    (shorter, _), (longer, line) = sides
    if len(extents) == 1:
        return at_lod(levels, p, np.log2(max(longer, 1)), mode)
    width = max(shorter, longer / 16, 1)
    count = max(int(np.ceil(longer / width - 1e-9)), 1)
    return np.mean(
        [
            at_lod(levels, p + line * ((k + 0.5) / count - 0.5), np.log2(width), mode)
            for k in range(count)
        ],
        axis=0,
    )


def mipped(data: Any, suffix: str = "f64", module: Any = ad, **kwargs: Any) -> Any:
    return texture(data, suffix, module, **{"mip_filter": FilterMode.Linear, **kwargs})


LODS = np.array([0, 1, 2, 0.25, 0.5, 1.75, 2.5, -3, 8, 0.49999, 1.5])

# ---------------------------------------------------------------- lookups


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [*SHAPES, (8, 16), (7, 13), (4, 4, 4), (33,)])
def test_levels(shape: tuple[int, ...], mode: Any) -> None:
    for channels in (1, 3, 4, 6):
        data = content(shape, channels)
        levels, positions = pyramid(data), places(len(shape), 44)
        lods = np.tile(LODS, 4)
        for kind, mip in (
            ("linear", FilterMode.Linear),
            ("nearest", FilterMode.Linear),
            ("linear", FilterMode.Nearest),
            ("nearest", FilterMode.Nearest),
        ):
            filtering = FilterMode.Nearest if kind == "nearest" else FilterMode.Linear
            t = mipped(data, wrap_mode=mode, filter_mode=filtering, mip_filter=mip)
            assert t.n_levels() == len(levels) and t.mip_filter() == mip
            found = t.eval_lod(at(positions), ad.Float64(lods))
            right = [
                at_lod(levels, p, lod, mode, kind, mip)
                for p, lod in zip(positions.T, lods, strict=True)
            ]
            assert np.allclose(found.numpy(), np.array(right).T, atol=1e-13)
            # The content is level 0, and other lookups see only that.
            assert np.array_equal(
                t.eval_lod(at(positions), 0).numpy(), t.eval(at(positions)).numpy()
            )
            if channels == 3:
                plain = texture(data, wrap_mode=mode, filter_mode=filtering)
                for name in ("eval", "eval_cubic"):
                    assert np.array_equal(
                        getattr(t, name)(at(positions)).numpy(),
                        getattr(plain, name)(at(positions)).numpy(),
                    )


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 12, 31, 100, 1023])
def test_means_stay(n: int) -> None:
    data = np.random.default_rng(n).random((n, 1))
    t = mipped(data, filter_mode=FilterMode.Nearest)
    for level in range(t.n_levels()):
        m = max(n >> level, 1)
        centers = (np.arange(m) + 0.5) / m
        found = t.eval_lod(ad.Float64(centers), level)[0].numpy()
        assert abs(found.mean() - data.mean()) < 1e-14
    assert m == 1 and t.n_levels() == n.bit_length()


def test_constants_and_ramps() -> None:
    """Closed forms: a constant is itself, and so is a ramp far from the borders."""
    lods = np.linspace(-1, 9, 60)
    for suffix, tolerance in (("f16", 1e-3), ("f", 1e-6), ("f64", 1e-14)):
        t = mipped(np.full((9, 14, 3), 0.7), suffix)
        positions = at(places(2, 60), "f64")
        found = t.eval_lod(positions, ad.Float64(lods)).numpy()
        assert np.allclose(found, 0.7, atol=tolerance)
        found = t.eval_grad(positions, [0.4, 0.1], [0.02, 0.3]).numpy()
        assert np.allclose(found, 0.7, atol=tolerance)
    y, x = (np.arange(64) + 0.5) / 64, (np.arange(128) + 0.5) / 128
    ramp = (2 * x[None, :] - 3 * y[:, None])[..., None]
    t = mipped(ramp)
    inside = np.random.default_rng(1).uniform(0.4, 0.6, (2, 50))
    for lod in (0, 0.3, 1, 2.6, 3):
        found = t.eval_lod(at(inside), lod)[0].numpy()
        assert np.allclose(found, 2 * inside[0] - 3 * inside[1], atol=1e-13)
    found = t.eval_grad(at(inside), [0.06, 0.01], [-0.01, 0.02])[0].numpy()
    assert np.allclose(found, 2 * inside[0] - 3 * inside[1], atol=1e-13)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(9,), (8, 11), (4, 5, 6)])
def test_footprints(shape: tuple[int, ...], mode: Any) -> None:
    dim, rng = len(shape), np.random.default_rng(4)
    data, positions = content(shape, 3), places(dim, 40)
    levels = pyramid(data)
    x = rng.normal(size=(dim, 40)) * 10.0 ** rng.uniform(-3, 0.5, 40)
    y = rng.normal(size=(dim, 40)) * 10.0 ** rng.uniform(-3, 0.5, 40)
    found = mipped(data, wrap_mode=mode).eval_grad(at(positions), at(x), at(y))
    right = [
        in_footprint(levels, *sides, mode)
        for sides in zip(positions.T, x.T, y.T, strict=True)
    ]
    assert np.allclose(found.numpy(), np.array(right).T, atol=1e-12)


def test_long_footprints_are_averaged() -> None:
    """The mean along a line, which a lookup of one level would blur across it."""
    data = np.random.default_rng(2).random((64, 64, 1))
    t = mipped(data, wrap_mode=WrapMode.Repeat)
    found = t.eval_grad(ad.Array2f64(0.5, 0.5 / 64), [16 / 64, 0], [0, 1 / 64])[0]
    assert np.allclose(found.numpy(), data[0, 24:40].mean(), atol=1e-13)


def test_wild_numbers() -> None:
    """Of levels and footprints: clamped, without a report of debug mode."""
    data = content((5, 6), 3)
    mean = pyramid(data)[-1][0, 0, 0]
    wild = [dr.nan, dr.inf, 1e30, 3e38, 2.0**32]
    with dr.scoped_set_flag(dr.JitFlag.Debug, True):
        for suffix, mode in (("f", WrapMode.Clamp), ("f16", WrapMode.Mirror)):
            t = mipped(data, suffix, wrap_mode=mode)
            p, numbers = ad.Array2f(0.3, 0.6), ad.Float(wild)
            right = t.eval(p).numpy()[0]
            for found in (
                t.eval_lod(p, numbers),
                t.eval_grad(p, numbers, numbers),
                t.eval_grad(p, -numbers, ad.Array2f(0, 0) + numbers),
            ):
                assert np.allclose(found[0].numpy(), mean, atol=1e-3)
            small = ad.Float(0, -0.0, 1e-40, 1e-30, -1e-20)
            for found in (
                t.eval_lod(p, -ad.Float(dr.inf, 1e30, 1, 0)),
                t.eval_grad(p, small, small),
                t.eval_grad(p, small, 0),
            ):
                assert np.allclose(found[0].numpy(), right, atol=1e-3)
            # Long ones in one direction: at most 16 lookups, on the last level.
            found = t.eval_grad(p, ad.Array2f(numbers, 0), 0)[0].numpy()
            assert np.allclose(found, mean, atol=1e-3)
            places = ad.Array2f(numbers, -numbers)
            dr.eval(t.eval_lod(places, numbers), t.eval_grad(places, numbers, 1))
            dr.eval(t.eval_grad(places, 0.1, numbers))


def test_masks() -> None:
    t = mipped(content((3, 4), 3) + 1)
    p, active = at(places(2, 3)), ad.Bool(True, False, True)
    for found in (
        t.eval_lod(p, 0.4, active),
        t.eval_grad(p, [0.3, 0], [0, 0.1], active),
    ):
        assert not found.numpy()[:, 1].any() and (found.numpy()[:, [0, 2]] != 0).all()
    assert not t.eval_lod(p, 1, False).numpy().any()
    assert not t.eval_grad(p, 1, 1, active=False).numpy().any()


@pytest.mark.parametrize("query", ["f16", "f", "f64"])
def test_precision_is_that_of_positions(query: str) -> None:
    data = np.round(content((3, 5), 6) * 64) / 64
    positions = np.round(places(2, 10) * 64) / 64
    t, levels = mipped(data, "f"), pyramid(data)
    tolerance = {"f16": 8e-3, "f": 1e-6, "f64": 1e-6}[query]
    for lod in (1.25, ad.Float64(1.25), ad.Float16(1.25)):
        found = t.eval_lod(at(positions, query), lod)
        assert type(found).__name__ == f"ArrayX{query}"
        right = [at_lod(levels, p, 1.25) for p in positions.T]
        assert np.allclose(found.numpy(), np.array(right).T, atol=tolerance)
    x, y = [0.5, 0.25], [0.125, 0.0625]
    found = t.eval_grad(at(positions, query), x, y)
    assert type(found).__name__ == f"ArrayX{query}"
    right = [
        in_footprint(levels, p, np.array(x), np.array(y), WrapMode.Clamp)
        for p in positions.T
    ]
    assert np.allclose(found.numpy(), np.array(right).T, atol=4 * tolerance)


def texels(t: Any, level: int) -> Any:
    """What a 2-D texture has stored: a lookup in the middle of each texel."""
    h, w = (max(n >> level, 1) for n in t.shape[:2])
    y, x = np.indices((h, w)).reshape(2, -1) + 0.5
    p = ad.Array2f64(ad.Float64(x / w), ad.Float64(y / h))
    return t.eval_lod(p, level).numpy().T.reshape(h, w, -1)


def test_bytes() -> None:
    """Levels are rounded to bytes once; of colors, they are means of light."""
    data = np.random.default_rng(3).integers(0, 256, (8, 6, 6), dtype=np.uint8)
    positions = places(2, 30)
    linear = data / 255
    t = ad.Texture2f8u(ad.TensorXu8(data), mip_filter=FilterMode.Linear)
    for level, exact in enumerate(pyramid(linear)):
        stored = texels(t, level)
        assert np.abs(stored - np.round(stored * 255) / 255).max() < 1e-15
        assert np.abs(stored - exact).max() < 0.5001 / 255
        found = t.eval_lod(at(positions), level + 1e-9).numpy()
        right = [looked_up(stored, p, WrapMode.Clamp, "linear") for p in positions.T]
        assert np.abs(found - np.array(right).T).max() < 1e-8
    color = np.arange(6) % 4 != 3

    def decoded(x: Any) -> Any:
        bright = np.where(x < 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
        return np.where(color, bright, x)

    def encoded(x: Any) -> Any:
        dark = np.where(x < 0.0031308, x * 12.92, 1.055 * x ** (1 / 2.4) - 0.055)
        return np.where(color, dark, x)

    s = ad.Texture2f8u(ad.TensorXu8(data), srgb=True, mip_filter=FilterMode.Nearest)
    for level, exact in enumerate(pyramid(decoded(linear))):
        assert np.abs(encoded(texels(s, level)) - encoded(exact)).max() < 0.501 / 255


# ---------------------------------------------------------------- derivatives


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(5,), (4, 7), (3, 4, 2)])
def test_derivatives(shape: tuple[int, ...], mode: Any) -> None:
    """By content, positions, levels, and the sides of footprints."""
    dim, channels = len(shape), 3
    rng = np.random.default_rng(5)
    positions = rng.uniform(-1.3, 2.3, (dim, 6))
    values = ad.Float64(content(shape, channels).ravel())

    def made(values: Any) -> Any:
        cls = getattr(ad, f"Texture{dim}f64")
        t = cls([*shape], channels, wrap_mode=mode, mip_filter=FilterMode.Linear)
        t.set_value(values)
        return t

    def level(values: Any, p: Any, lod: Any) -> Any:
        found = made(values).eval_lod(p, lod)
        return found[0] * found[1] + dr.square(found[2])

    def foot(values: Any, p: Any, x: Any, y: Any) -> Any:
        found = made(values).eval_grad(p, x, y)
        return found[0] * found[1] + dr.square(found[2])

    dr.check_grad(level, values, at(positions), ad.Float64(0.3, 1.2, 1.7, -2, 9, 0.6))
    x, y = rng.normal(size=(2, dim, 6)) * np.array([0.9, 0.1]).reshape(2, 1, 1)
    dr.check_grad(foot, values, at(positions), at(x), at(y))


def test_second_derivatives() -> None:
    """By finite differences of first ones; mixed ones of content and level."""
    data = content((6, 5), 2)
    p = ad.Array2f64(0.31, 0.47)

    def made(values: Any) -> Any:
        return ad.Texture2f64(
            ad.TensorXf64(values, (6, 5, 2)), mip_filter=FilterMode.Linear
        )

    def loss(values: Any, lod: Any, x: Any) -> Any:
        t = made(values)
        a = t.eval_lod(p + ad.Array2f64(x, 0), lod)
        b = t.eval_grad(p, ad.Array2f64(0.5 + x, 0.2), ad.Array2f64(0.1, lod * 0.2))
        return dr.sum(dr.square(a[0] * a[1]) + b[0] * b[1])

    values, lod, x = ad.Float64(data.ravel()), ad.Float64(0.6), ad.Float64(0.02)
    rng = np.random.default_rng(1)
    directions = (ad.Float64(rng.normal(size=60)), ad.Float64(0.3), ad.Float64(-0.2))
    _, found = dr.ad.hvp(loss, (values, lod, x), directions)
    h, firsts = 1e-6, []
    for sign in (1, -1):
        moved = [
            ad.Float64(a + sign * h * d)
            for a, d in zip((values, lod, x), directions, strict=True)
        ]
        dr.enable_grad(moved)
        dr.backward(loss(*moved))
        firsts.append([dr.grad(part).numpy() for part in moved])
    for got, high, low in zip(found, *firsts, strict=True):
        assert np.allclose(got.numpy(), (high - low) / (2 * h), rtol=1e-5, atol=1e-6)


def test_content_that_is_tracked_late() -> None:
    for channels in (2, 3):
        t = mipped(np.ones((4, channels)), "f")
        dr.enable_grad(t.tensor())
        dr.backward(dr.sum(t.eval_lod(ad.Float(0.5), 2)))
        gradient = dr.grad(t.tensor()).numpy()
        assert np.array_equal(gradient, np.full((4, channels), 0.25))


def test_gradients_are_those_of_all_levels() -> None:
    """Of the last level: the same for each texel, whatever the size."""
    for shape in ((7, 9, 3), (5, 1, 1)):
        x = ad.TensorXf64(np.zeros(shape))
        dr.enable_grad(x)
        t = ad.Texture2f64(x, mip_filter=FilterMode.Nearest)
        dr.backward(t.eval_lod(ad.Array2f64(0.2, 0.9), 99)[0])
        gradient = dr.grad(x).numpy()
        assert np.allclose(gradient[..., 0], 1 / (shape[0] * shape[1]), rtol=1e-13)
        assert not gradient[..., 1:].any()


# ---------------------------------------------------------------- content


def test_content_is_changed() -> None:
    t = ad.Texture2f([4, 4], 3, mip_filter=FilterMode.Linear, writable=True)
    p = ad.Array2f(0.5, 0.5)

    def mean() -> Any:
        return t.eval_lod(p, 9).numpy().ravel()

    t.set_value(dr.full(ad.Float, 2, 48))
    assert np.allclose(mean(), 2)
    t.set_tensor(ad.TensorXf(np.full((5, 7, 1), 3.0)))
    assert np.allclose(mean(), 3) and t.n_levels() == 3
    t.set_tensor(ad.TensorXf(np.full((4, 4, 3), 3.0)))
    t.tensor()[0, :, :] = 7
    t.update_inplace()
    assert np.allclose(mean(), 4)
    t.write(ad.Array2u(1, 2), [19, 3, 3])
    assert np.allclose(mean(), (5, 4, 4))
    assert "mip_filter = Linear" in repr(t)
    one = ad.Texture1f(ad.TensorXf([[5.0]]), mip_filter=FilterMode.Linear)
    assert one.n_levels() == 1 and one.eval_lod(0.3, 2)[0][0] == 5
    plain = ad.Texture2f([4, 4], 3)
    assert plain.mip_filter() is None and plain.n_levels() == 1
    assert "mip" not in repr(plain)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_scalar(dim: int) -> None:
    data, positions = content((3, 6, 5)[-dim:], 3), places(dim, 8)
    levels = pyramid(data)
    for mode in MODES:
        cls = getattr(scalar, f"Texture{dim}f64")
        t = cls(scalar.TensorXf64(data), wrap_mode=mode, mip_filter=FilterMode.Linear)
        for p, lod in zip(positions.T, LODS, strict=False):
            array = getattr(scalar, f"Array{dim}f64")(*p)
            right = at_lod(levels, p, lod, mode)
            assert np.allclose(np.array(t.eval_lod(array, lod)), right, atol=1e-6)
            side = np.linspace(0.3, 0.1, dim)
            right = in_footprint(levels, p, side, side / 5, mode)
            found = t.eval_grad(array, list(side), list(side / 5))
            assert np.allclose(np.array(found), right, atol=1e-6)
        assert not any(t.eval_lod(array, 1, False))


# ---------------------------------------------------------------- programs


def test_recorded_code() -> None:
    data = content((8, 5), 3)
    t, levels = mipped(data, "f"), pyramid(data)
    lanes = dr.arange(ad.UInt, 5)

    def body(i: Any, total: Any) -> Any:
        p = ad.Array2f(ad.Float(i) * 0.3, ad.Float(lanes) * 0.2)
        total += dr.if_stmt(
            (p,),
            i % 2 == 0,
            lambda p: t.eval_lod(p, ad.Float(lanes) * 0.7),
            lambda p: t.eval_grad(p, [0.9, 0.1], [0, 0.2]),
        )
        return i + 1, total

    right = np.zeros((3, 5))
    for lane in range(5):
        for i in range(lane):
            p = np.array([i * 0.3, lane * 0.2])
            right[:, lane] += (
                at_lod(levels, p, lane * 0.7)
                if i % 2 == 0
                else in_footprint(
                    levels, p, np.array([0.9, 0.1]), np.array([0, 0.2]), WrapMode.Clamp
                )
            )
    for mode in ("symbolic", "evaluated"):
        start = (ad.UInt(0), dr.zeros(ad.Array3f, 5))
        _, total = dr.while_loop(start, lambda i, _: i < lanes, body, mode=mode)
        assert np.allclose(total.numpy(), right, atol=1e-5)
    other = mipped(data * 2, "f")
    found = dr.switch(
        lanes % 2,
        [lambda p, lod: t.eval_lod(p, lod), lambda p, lod: other.eval_lod(p, lod)],
        ad.Array2f(0.3, 0.6),
        ad.Float(1.5),
    )
    one = at_lod(levels, (0.3, 0.6), 1.5)
    right = np.array([one * (1 + k % 2) for k in range(5)]).T
    assert np.allclose(found.numpy(), right, atol=1e-5)


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_textures_in_the_state_of_loops(mode: str) -> None:
    data = content((4, 6), 3)
    t = mipped(data, "f")
    p = ad.Array2f(ad.Float(0.3, 0.4, 0.5), 0.4)
    _, total, _ = dr.while_loop(
        (ad.UInt(0), dr.zeros(ad.Float, 3), t),
        lambda i, total, t: i < 3,
        lambda i, total, t: (i + 1, total + t.eval_lod(p, ad.Float(i))[1], t),
        mode=mode,
    )
    right = [
        sum(at_lod(pyramid(data), (x, 0.4), lod)[1] for lod in range(3))
        for x in (0.3, 0.4, 0.5)
    ]
    assert np.allclose(total.numpy(), right, atol=1e-5)


@pytest.mark.parametrize("channels", [2, 3])
def test_frozen_functions(channels: int) -> None:
    @dr.freeze
    def look(t: Any, p: Any, lod: Any) -> Any:
        return t.eval_lod(p, lod), t.eval_grad(p, [0.7, 0.1], [0.1, 0.2])

    x, y = np.array([0.7, 0.1]), np.array([0.1, 0.2])
    t = mipped(content((4, 6), channels), "f")
    for seed in range(4):
        data = content((4, 6), channels) * (seed + 1)
        levels, positions = pyramid(data), places(2, 5 + seed)
        if seed % 2:
            t.set_tensor(ad.TensorXf(data))  # a change is noticed
        else:
            t = mipped(data, "f")
        lods = np.linspace(0, 3, 5 + seed)
        found, mean = look(t, at(positions, "f"), ad.Float(lods))
        right = [at_lod(levels, *a) for a in zip(positions.T, lods, strict=True)]
        assert np.allclose(found.numpy(), np.array(right).T, atol=1e-5)
        right = [in_footprint(levels, p, x, y, WrapMode.Clamp) for p in positions.T]
        assert np.allclose(mean.numpy(), np.array(right).T, atol=1e-5)
    assert look.n_recordings == 1

    @dr.freeze
    def fit(values: Any, p: Any) -> Any:
        """The pyramid is made within, and its derivative goes through it."""
        dr.enable_grad(values)
        t = ad.Texture2f([4, 6], channels, mip_filter=FilterMode.Linear)
        t.set_value(values)
        dr.backward(dr.sum(t.eval_lod(p, 1.5)[0]))
        return dr.grad(values)

    for seed in range(3):
        p = places(2, 6 + seed)
        found = fit(ad.Float(data.ravel() * seed), at(p, "f"))
        basis = np.eye(data.size).reshape(-1, *data.shape)
        right = [sum(at_lod(pyramid(e), q, 1.5)[0] for q in p.T) for e in basis]
        assert np.allclose(found.numpy(), right, atol=1e-5)
    assert fit.n_recordings == 1


def test_a_texture_is_fitted_at_low_resolution() -> None:
    """Measured blurred, it is found up to what blurring keeps."""
    data = content((8, 8), 3)
    p = at(np.random.default_rng(1).random((2, 3000)), "f")
    lods = ad.Float(np.random.default_rng(2).uniform(0, 2, 3000))
    measured = mipped(data, "f").eval_lod(p, lods)
    opt = dr.opt.Adam(0.05, {"t": ad.TensorXf(np.full((8, 8, 3), 0.5))})
    t = ad.Texture2f([8, 8], 3, mip_filter=FilterMode.Linear)
    for _ in range(200):
        t.set_tensor(opt["t"])
        dr.backward(dr.mean(dr.square(t.eval_lod(p, lods) - measured), axis=None))
        opt.step()
    assert np.abs(opt["t"].numpy() - data).max() < 0.05


PROGRAM = """
import numpy as np, drjit as dr
from drjit._ad.check import _leaves
from drjit.llvm.ad import *
rng = np.random.default_rng(1)
for suffix, dim in (("f", 1), ("f16", 2), ("f64", 3), ("f8u", 2), ("f", 2)):
    shape = (5, 9, 4)[:dim] + (3,)
    n = int(np.prod(shape))
    cls = globals()[f"Texture{dim}{suffix}"]
    entries = UInt8(rng.integers(0, 256, n)) if suffix == "f8u" else rng.random(n)
    for mode in dr.WrapMode:
        t = cls(shape[:-1], 3, wrap_mode=mode, mip_filter=dr.FilterMode.Linear)
        t.set_value(type(t.value())(entries))
        array = globals()[f"Array{dim}f"]
        p, x, y = (
            array(*[Float(rng.uniform(low, high, 100)) for _ in range(dim)])
            for low, high in ((-2, 3), (-0.5, 0.5), (-0.1, 0.1))
        )
        lod = Float(rng.uniform(-1, 5, 100))
        dr.enable_grad(p, lod, x, y)
        found = t.eval_lod(p, lod), t.eval_grad(p, x, y)
        dr.backward(dr.sum(found[0], axis=None) + dr.sum(found[1], axis=None))
        found += (dr.grad((p, lod, x, y)),)
        if suffix != "f8u":  # by the content, in an order that is fixed
            dr.enable_grad(t.tensor())
            with dr.scoped_set_flag(dr.JitFlag.Deterministic, True):
                dr.backward(dr.sum(t.eval_lod(p, lod), axis=None))
            found += (dr.grad(t.tensor()),)
        for leaf in _leaves(found):
            print(leaf.numpy().tobytes().hex())
"""


def test_engines_agree() -> None:
    texts = printed(PROGRAM)
    assert len(texts[0]) > 10_000 and all(text == texts[0] for text in texts)


# ---------------------------------------------------------------- bad input


def test_errors() -> None:
    plain, t = texture(content((3, 4), 2), "f"), mipped(content((3, 4), 2), "f")
    p = ad.Array2f(0.5)
    calls: tuple[Callable[[], Any], ...] = (
        lambda: plain.eval_lod(p, 1),
        lambda: plain.eval_grad(p, 0, 0),
    )
    for call in calls:
        with pytest.raises(
            RuntimeError, match="was made without 'mip_filter', expected"
        ):
            call()
    for lod in ("x", None, ad.Array2f(1), [1], ad.TensorXf([1.0]), ad.Float, True):
        with pytest.raises(
            TypeError, match=r"eval_lod\(\): 'lod' is of type .* expected"
        ):
            t.eval_lod(p, lod)
    with pytest.raises(TypeError, match="'pos' is of type Array3f and length 3, expec"):
        t.eval_lod(ad.Array3f(1), 1)
    with pytest.raises(
        TypeError, match="'dpdx' is of type str .* expected 2 components"
    ):
        t.eval_grad(p, "x", 1)
    with pytest.raises(
        TypeError, match="'dpdy' is of type list and length 3, expected"
    ):
        t.eval_grad(p, 1, [1, 2, 3])
    with pytest.raises(
        TypeError, match="'mip_filter' is of type str, expected FilterMode or"
    ):
        ad.Texture2f([2, 3], 1, mip_filter="x")
    with pytest.raises(TypeError, match="arguments do not fit"):
        llvm.Texture2f([2, 3], 1, mips=1)
