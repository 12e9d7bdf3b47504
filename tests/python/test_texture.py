"""Textures against sums over texels in NumPy, and as part of programs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit import FilterMode, WrapMode, llvm, scalar
from drjit.llvm import ad
from engine_util import printed

MODES = list(WrapMode)
SHAPES = [(5,), (1,), (4, 3), (1, 6), (3, 4, 2), (2, 1, 5)]  # z, y, x

# ---------------------------------------------------------------- lookups in NumPy


def wrapped(i: int, n: int, mode: Any) -> int:
    if mode == WrapMode.Clamp:
        return min(max(i, 0), n - 1)
    if mode == WrapMode.Repeat:
        return i % n
    i %= 2 * n
    return min(i, 2 * n - 1 - i)


def spline(f: float, order: int) -> list[float]:
    """Weights of the texels at -1, 0, 1 and 2, by their distance from the position."""

    def b(x: float) -> float:  # and its derivatives, for x >= 0
        if order == 0:
            return 2 / 3 - x**2 + x**3 / 2 if x < 1 else (2 - x) ** 3 / 6
        if order == 1:
            return -2 * x + 1.5 * x**2 if x < 1 else -((2 - x) ** 2) / 2
        return -2 + 3 * x if x < 1 else 2 - x

    found = []
    for k in (-1, 0, 1, 2):
        x = f - k
        found.append(b(abs(x)) * (np.sign(x) if order == 1 else 1))
    return found


def looked_up(
    tensor: Any, position: Any, mode: Any, kind: str, orders: Any = None
) -> Any:
    """At one position (x, y, z): a sum over texels."""
    extents, axes = tensor.shape[-2::-1], []
    for k, (x, n) in enumerate(zip(position, extents, strict=True)):
        if kind == "nearest":
            axes.append([(int(np.floor(x * n)), 1.0)])
            continue
        at = x * n - 0.5
        i = int(np.floor(at))
        if kind == "linear":
            axes.append([(i, 1 - (at - i)), (i + 1, at - i)])
        else:
            order = orders[k] if orders else 0
            weights = spline(at - i, order)
            axes.append([(i + j - 1, w * n**order) for j, w in enumerate(weights)])
    total = np.zeros(tensor.shape[-1])
    for choice in product(*axes):
        index = [wrapped(i, n, mode) for (i, _), n in zip(choice, extents, strict=True)]
        total += np.prod([w for _, w in choice]) * tensor[tuple(index[::-1])]
    return total


def content(shape: tuple[int, ...], channels: int) -> Any:
    rng = np.random.default_rng(len(shape) * 10 + channels)
    return rng.random((*shape, channels))


def places(dim: int, count: int = 60) -> Any:
    found = np.random.default_rng(dim).uniform(-2.2, 3.1, (dim, count))
    found[:, 0], found[:, 1] = 0, 1  # the ends
    return found


def texture(data: Any, suffix: str = "f64", module: Any = ad, **kwargs: Any) -> Any:
    cls = getattr(module, f"Texture{data.ndim - 1}{suffix}")
    return cls(getattr(module, "TensorX" + suffix)(data), **kwargs)


def at(positions: Any, suffix: str = "f64", module: Any = ad) -> Any:
    return getattr(module, f"Array{len(positions)}{suffix}")(
        *[
            getattr(module, {"f64": "Float64", "f": "Float", "f16": "Float16"}[suffix])(
                p
            )
            for p in positions
        ]
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", SHAPES)
def test_lookups(shape: tuple[int, ...], mode: Any) -> None:
    dim = len(shape)
    for channels in (1, 3, 4, 6):
        data, positions = content(shape, channels), places(dim)
        for kind in ("nearest", "linear", "cubic"):
            filtering = FilterMode.Nearest if kind == "nearest" else FilterMode.Linear
            t = texture(data, filter_mode=filtering, wrap_mode=mode)
            look = t.eval_cubic if kind == "cubic" else t.eval
            found = look(at(positions))
            right = [looked_up(data, p, mode, kind) for p in positions.T]
            assert (
                type(found).__name__ == f"Array{channels if channels < 5 else 'X'}f64"
            )
            assert np.allclose(found.numpy(), np.array(right).T, atol=1e-13)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(5,), (4, 3), (3, 4, 2)])
def test_cubic_derivatives(shape: tuple[int, ...], mode: Any) -> None:
    dim, data = len(shape), content(shape, 2)
    positions = places(dim, 20)
    t = texture(data, wrap_mode=mode)
    value, gradients, hessians = t.eval_cubic_hessian(at(positions))
    again, same = t.eval_cubic_grad(at(positions))
    assert np.allclose(value.numpy(), again.numpy(), rtol=1e-14)
    assert len(gradients) == len(same) == len(hessians) == 2
    for c in range(2):
        assert np.allclose(gradients[c].numpy(), same[c].numpy(), rtol=1e-13)
        for i in range(dim):
            orders = [int(k == i) for k in range(dim)]
            right = [looked_up(data, p, mode, "cubic", orders)[c] for p in positions.T]
            assert np.allclose(gradients[c][i].numpy(), right, atol=1e-11)
            for j in range(dim):
                orders = [int(k == i) + int(k == j) for k in range(dim)]
                right = [
                    looked_up(data, p, mode, "cubic", orders)[c] for p in positions.T
                ]
                entry = hessians[c][0] if dim == 1 else hessians[c][i, j]
                assert np.allclose(entry.numpy(), right, atol=1e-10)


def test_fetch() -> None:
    for shape in ((5,), (4, 3), (3, 4, 2)):
        data, positions = content(shape, 3), places(len(shape), 12)
        t = texture(data, wrap_mode=WrapMode.Mirror)
        texels = t.eval_fetch(at(positions))
        assert len(texels) == 2 ** len(shape)
        for number, texel in enumerate(texels):
            for lane, p in enumerate(positions.T):
                index = [
                    wrapped(
                        int(np.floor(x * n - 0.5)) + (number >> k & 1),
                        n,
                        WrapMode.Mirror,
                    )
                    for k, (x, n) in enumerate(zip(p, shape[::-1], strict=True))
                ]
                assert np.array_equal(texel.numpy()[:, lane], data[tuple(index[::-1])])


def test_the_published_package_agrees() -> None:
    """Results of its version 1.5.0, in single precision."""
    data = np.arange(24.0).reshape(3, 4, 2)
    t = ad.Texture2f(ad.TensorXf(data))
    p = ad.Array2f(0.4, 0.6)
    assert np.allclose(t.eval_cubic(p).numpy().ravel(), [12.564, 13.564], atol=1e-4)
    _, gradients, hessians = t.eval_cubic_hessian(p)
    assert np.allclose(gradients[0].numpy().ravel(), [8, 22.92], atol=1e-4)
    assert np.allclose(
        hessians[1].numpy().reshape(2, 2), [[0, 0], [0, -21.6]], atol=1e-4
    )
    t3 = ad.Texture3f(ad.TensorXf(np.arange(24.0).reshape(2, 3, 4, 1)))
    p = ad.Array3f(0.3, 0.4, 0.6)
    assert np.allclose(t3.eval(p).numpy(), 11.9) and np.allclose(
        t3.eval_cubic(p).numpy(), 11.2905
    )
    line = ad.TensorXf(np.array([[1.0], [2], [4]]))
    x = ad.Float(-2.1, -0.6, -0.1, 0, 0.1, 0.16, 0.5, 0.99, 1, 1.2, 1.7, 2.6, 3.5)
    for mode, right in (
        (
            WrapMode.Repeat,
            [3.4, 1.7, 3.4, 2.5, 1.6, 1.06, 2, 2.59, 2.5, 1.1, 3.2, 2.6, 2],
        ),
        (WrapMode.Mirror, [1, 2.6, 1, 1, 1, 1, 2, 4, 4, 3.8, 1.4, 2.6, 2]),
        (WrapMode.Clamp, [1, 1, 1, 1, 1, 1, 2, 4, 4, 4, 4, 4, 4]),
    ):
        assert np.allclose(
            ad.Texture1f(line, wrap_mode=mode).eval(x)[0].numpy(), right, atol=1e-5
        )
    colors = np.array([[[0, 128, 9, 128]], [[128, 64, 3, 9]]], dtype=np.uint8)
    u = ad.Texture2f8u(ad.TensorXu8(colors), srgb=True)
    found = u.eval(ad.Array2f(0.25, 0.25)).numpy().ravel()
    assert np.allclose(found, [0, 0.21586, 0.00273174, 0.501961], atol=1e-6)


# ---------------------------------------------------------------- types and masks


@pytest.mark.parametrize("suffix", ["f16", "f", "f64"])
@pytest.mark.parametrize("query", ["f16", "f", "f64"])
def test_precision_is_that_of_positions(suffix: str, query: str) -> None:
    data = np.round(content((3, 4), 3) * 64) / 64
    positions = np.round(places(2, 10) * 64) / 64
    found = texture(data, suffix).eval(at(positions, query))
    assert type(found).__name__ == f"Array3{query}"
    right = [looked_up(data, p, WrapMode.Clamp, "linear") for p in positions.T]
    tolerance = {"f16": 5e-3, "f": 1e-6, "f64": 1e-14}[query]
    assert np.allclose(found.numpy(), np.array(right).T, atol=tolerance)


def test_bytes() -> None:
    data = np.random.default_rng(3).integers(0, 256, (4, 5, 6), dtype=np.uint8)
    t = ad.Texture2f8u(ad.TensorXu8(data))
    positions = places(2, 30)
    right = [looked_up(data / 255, p, WrapMode.Clamp, "linear") for p in positions.T]
    assert np.allclose(t.eval(at(positions)).numpy(), np.array(right).T, atol=1e-12)
    assert type(t.tensor()) is ad.TensorXu8 and np.array_equal(t.tensor(), data)
    linear = data / 255
    bright = np.where(
        linear < 0.04045, linear / 12.92, ((linear + 0.055) / 1.055) ** 2.4
    )
    linear = np.where(np.arange(6) % 4 == 3, linear, bright)  # alpha stays
    s = ad.Texture2f8u(ad.TensorXu8(data), srgb=True)
    right = [looked_up(linear, p, WrapMode.Clamp, "linear") for p in positions.T]
    assert s.srgb() and np.allclose(
        s.eval(at(positions)).numpy(), np.array(right).T, atol=1e-6
    )


@pytest.mark.parametrize("module", [llvm, ad])
def test_positions_of_all_kinds(module: Any) -> None:
    data = content((3, 4), 2)
    t = texture(data, "f", module)
    right = looked_up(data, (0.4, 0.6), WrapMode.Clamp, "linear")
    for pos in (
        module.Array2f(0.4, 0.6),
        [0.4, 0.6],
        (module.Float(0.4), 0.6),
        ad.Array2f(0.4, 0.6),
        llvm.Array2f64(0.4, 0.6),
    ):
        found = t.eval(pos)
        assert np.allclose(found.numpy().ravel(), right, atol=1e-6)
        own = module is ad or (dr.is_array_v(pos) and dr.is_diff_v(pos))
        assert dr.is_diff_v(found) == own
    line = texture(content((4,), 1), "f", module)
    assert line.eval(module.Float(0.3, 0.6)).shape == (1, 2)
    assert line.eval(0.3).shape == (1, 1)


def test_masks() -> None:
    t = texture(content((3, 4), 3) + 1)
    p = at(places(2, 3))
    active = ad.Bool(True, False, True)
    for found in (
        t.eval(p, active),
        t.eval_cubic(p, active=active),
        *t.eval_fetch(p, active),
    ):
        assert not found.numpy()[:, 1].any() and (found.numpy()[:, [0, 2]] != 0).all()
    assert not t.eval(p, False).numpy().any()


def test_positions_that_are_none() -> None:
    """Texels of the grid, without a report of debug mode."""
    wild = [dr.nan, dr.inf, -dr.inf, 1e30, -1e30, 3e9, -3e9, 2**31, 1e-40]
    with dr.scoped_set_flag(dr.JitFlag.Debug, True):
        for shape, mode, filtering in product(
            ((3,), (5, 4), (2, 3, 7)), MODES, FilterMode
        ):
            data = np.ones((*shape, 3))
            t = texture(data, "f", filter_mode=filtering, wrap_mode=mode)
            p = at([wild] * len(shape), "f")
            with np.errstate(all="ignore"):
                for found in t.eval_fetch(p):
                    assert (found.numpy() == 1).all()
                if filtering == FilterMode.Nearest:
                    assert (t.eval(p).numpy() == 1).all()
                dr.eval(t.eval(p), t.eval_cubic(p))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [2045, 2047, 4099, 5001, 65519, 70001])
def test_more_texels_than_half_precision_counts(n: int, mode: Any) -> None:
    """Positions of half precision, rounded bounds: texels of the grid all the same."""
    wild = [0, 1, -1, 0.9995, 1.001, -0.0005, 2, -2, 7.3, 6e4, -6e4, dr.inf, dr.nan]
    p = ad.Float16([*wild, *np.linspace(-1.01, 1.01, 60)])
    with dr.scoped_set_flag(dr.JitFlag.Debug, True), np.errstate(all="ignore"):
        t = texture(np.ones((n, 1)), "f", wrap_mode=mode)
        for found in t.eval_fetch(p):
            assert (found.numpy() == 1).all()
        t = texture(
            np.ones((n, 1)), "f", wrap_mode=mode, filter_mode=FilterMode.Nearest
        )
        assert (t.eval(p).numpy() == 1).all()
        dr.eval(t.eval_cubic(p))


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_scalar(dim: int) -> None:
    data, positions = content((3, 4, 2)[-dim:], 3), places(dim, 8)
    for kind in ("f", "f64"):
        cls = getattr(scalar, f"Texture{dim}{kind}")
        t = cls(getattr(scalar, "TensorX" + kind)(data), wrap_mode=WrapMode.Repeat)
        for p in positions.T:
            array = getattr(scalar, f"Array{dim}f64")(*p)
            right = looked_up(data, p, WrapMode.Repeat, "linear")
            assert np.allclose(np.array(t.eval(array)), right, atol=1e-5)
            right = looked_up(data, p, WrapMode.Repeat, "cubic")
            assert np.allclose(np.array(t.eval_cubic(list(p))), right, atol=1e-5)
            assert len(t.eval_fetch(array)) == 2**dim
            assert len(t.eval_cubic_grad(array)[1]) == 3
        assert not any(t.eval(list(positions[:, 0]), False))


# ---------------------------------------------------------------- content


def test_content() -> None:
    t = ad.Texture2f(
        [3, 4], 2, wrap_mode=WrapMode.Mirror, filter_mode=FilterMode.Nearest
    )
    assert t.shape == (3, 4, 2) and t.channel_count() == 2 and t.IsTexture
    assert t.wrap_mode() == WrapMode.Mirror and t.filter_mode() == FilterMode.Nearest
    assert t.use_accel() and not t.migrated() and not t.writable() and not t.srgb()
    assert "shape = (3, 4, 2)" in repr(t) and "Mirror" in repr(t)
    t.set_value(dr.arange(ad.Float, 24))
    assert t.tensor().shape == (3, 4, 2) and list(t.value()) == list(range(24))
    assert t.tensor() is t.tensor()
    x = dr.arange(ad.Float, 24)
    t.set_value(x)
    x += 100  # a copy was taken
    assert t.value()[3] == 3
    t.set_tensor(ad.TensorXf(np.ones((2, 5, 3))))
    assert t.shape == (2, 5, 3) and (t.eval(ad.Array2f(0.2, 0.7)).numpy() == 1).all()
    t.tensor()[0, 0, :] = 7
    t.update_inplace()
    assert (t.eval(ad.Array2f(0, 0)).numpy() == 7).all() and t.value()[0] == 7
    assert ad.Texture1f(tensor=ad.TensorXf([[1.0]])).eval(0.5)[0][0] == 1
    assert ad.Texture1f(np.array([[1.0, 2.0]])).channel_count() == 2
    assert t.native_handle() == 0 and t.map() is None and t.unmap() is None

    class Event:
        recorded = 0

        def record(self) -> None:
            self.recorded += 1

    event = Event()
    t.set_value_with_event(dr.zeros(ad.Float, 30), event)
    assert event.recorded == 1 and not t.value().numpy().any()


def test_wrap() -> None:
    t = texture(content((3, 4), 1), wrap_mode=WrapMode.Repeat)
    assert np.array_equal(t.wrap(ad.Array2i(ad.Int(-1, 9), 5)), [[3, 1], [2, 2]])
    assert type(t.wrap(ad.Array2u(1, 5))) is ad.Array2u
    assert t.wrap([-1, 5]) == [3, 2]
    for n, mode in product((1, 2, 3, 4, 7), MODES):
        line = texture(np.zeros((n, 1)), "f", wrap_mode=mode)
        found = line.wrap(dr.arange(ad.Int, 40) - 20)
        assert list(found) == [wrapped(i, n, mode) for i in range(-20, 20)]


def test_writing() -> None:
    t = ad.Texture2f([2, 3], 3, writable=True)
    t.set_value(dr.zeros(ad.Float, 18))
    t.write(
        ad.Array2u([0, 2], [0, 1]), [ad.Float(1, 2), ad.Float(3, 4), ad.Float(5, 6)]
    )
    t.write(ad.Array2u(1, 1), [7, 8, 9], ad.Bool(False))
    right = np.zeros((2, 3, 3))
    right[0, 0], right[1, 2] = (1, 3, 5), (2, 4, 6)
    assert t.writable() and np.array_equal(t.tensor(), right)
    assert np.array_equal(t.eval(ad.Array2f(0.99, 0.99)).numpy().ravel(), (2, 4, 6))
    with pytest.raises(
        RuntimeError, match="there are 2 values, expected one for each of 3"
    ):
        t.write(ad.Array2u(0), [1, 2])
    with pytest.raises(RuntimeError, match="was made without 'writable'"):
        ad.Texture2f([2, 3], 1).write(ad.Array2u(0), [1])


# ---------------------------------------------------------------- derivatives


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(5,), (4, 3), (3, 2, 2)])
def test_derivatives(shape: tuple[int, ...], mode: Any) -> None:
    """By content and positions, of lookups and of the derivatives of cubic ones."""
    dim, channels = len(shape), 3
    data = content(shape, channels)
    positions = np.random.default_rng(5).uniform(-1.3, 2.3, (dim, 7))

    def lookup(name: str) -> Callable[..., Any]:
        def function(values: Any, p: Any) -> Any:
            cls = getattr(ad, f"Texture{dim}f64")
            t = cls([*shape], channels, wrap_mode=mode)
            t.set_value(values)
            found = getattr(t, name)(p)
            if name == "eval_cubic_grad":
                return dr.sum(found[1][0] * found[1][2], axis=0) + found[0][1]
            return found[0] * found[1] + dr.square(found[2])

        return function

    for name in ("eval", "eval_cubic", "eval_cubic_grad"):
        dr.check_grad(lookup(name), ad.Float64(data.ravel()), at(positions))


@pytest.mark.parametrize("lanes", [3, 40, 5000])
@pytest.mark.parametrize("channels", [1, 3, 4, 6])
def test_gradients_by_content(channels: int, lanes: int) -> None:
    """Few and many lanes, which are added up in different ways."""
    rng = np.random.default_rng(lanes)
    positions, factors = (
        rng.uniform(-0.2, 1.2, (2, lanes)),
        rng.random((channels, lanes)),
    )
    x = ad.TensorXf64(np.zeros((9, 16, channels)))
    dr.enable_grad(x)
    found = ad.Texture2f64(x).eval(at(positions))
    dr.backward(dr.sum(sum(found[k] * ad.Float64(factors[k]) for k in range(channels))))
    right = np.zeros((9, 16, channels))
    first = np.floor(positions * [[16], [9]] - 0.5)
    fraction = positions * [[16], [9]] - 0.5 - first
    for j, i in product((0, 1), (0, 1)):
        column, row = (first + [[i], [j]]).astype(int)
        weight = np.abs(1 - i - fraction[0]) * np.abs(1 - j - fraction[1])
        places = np.clip(row, 0, 8), np.clip(column, 0, 15)
        np.add.at(right, places, (factors * weight).T)
    assert np.allclose(dr.grad(x).numpy(), right, rtol=1e-12, atol=1e-14)


def test_second_derivatives() -> None:
    t = texture(content((4, 5), 1))
    x = ad.Float64(0.3, 0.62)
    value, gradients, hessians = t.eval_cubic_hessian(ad.Array2f64(x, 0.4))
    dr.enable_grad(x)
    with dr.scoped_set_flag(dr.JitFlag.Debug, False):
        y = t.eval_cubic(ad.Array2f64(x, 0.4))[0]
        first = dr.ad.gradient(lambda x: dr.sum(t.eval_cubic(ad.Array2f64(x, 0.4))[0]))(
            x
        )
        dr.backward(dr.sum(t.eval_cubic_grad(ad.Array2f64(x, 0.4))[1][0][0]))
    assert np.allclose(y.numpy(), value[0].numpy())
    assert np.allclose(first.numpy(), gradients[0][0].numpy(), rtol=1e-10)
    assert np.allclose(dr.grad(x).numpy(), hessians[0][0, 0].numpy(), rtol=1e-10)


def test_content_that_is_tracked_late() -> None:
    """Derivatives that are asked for after the texture was made."""
    for channels in (2, 3):
        t = ad.Texture1f(ad.TensorXf(np.ones((4, channels))))
        dr.enable_grad(t.tensor())
        dr.backward(dr.sum(t.eval(ad.Float(0.5))))
        gradient = dr.grad(t.tensor()).numpy()
        assert gradient.sum() == channels and gradient[1, 0] == 0.5


# ---------------------------------------------------------------- programs


def test_recorded_code() -> None:
    data = content((4, 3), 3)
    t = texture(data, "f", wrap_mode=WrapMode.Repeat)
    steps = dr.arange(ad.UInt, 5)

    def body(i: Any, total: Any) -> Any:
        p = ad.Array2f(ad.Float(i) * 0.3, ad.Float(steps) * 0.2)
        total += dr.if_stmt((p,), i % 2 == 0, t.eval, t.eval_cubic)
        return i + 1, total

    for mode in ("symbolic", "evaluated"):
        start = (ad.UInt(0), dr.zeros(ad.Array3f, 5))
        _, total = dr.while_loop(start, lambda i, _: i < steps, body, mode=mode)
        right = np.zeros((3, 5))
        for lane in range(5):
            for i in range(lane):
                kind = "linear" if i % 2 == 0 else "cubic"
                right[:, lane] += looked_up(
                    data, (i * 0.3, lane * 0.2), WrapMode.Repeat, kind
                )
        assert np.allclose(total.numpy(), right, atol=1e-5)
    other = texture(data * 2, "f")
    found = dr.switch(steps % 2, [t.eval, other.eval], ad.Array2f(0.3, 0.6))
    right = [
        looked_up(
            data * (1 + k % 2),
            (0.3, 0.6),
            WrapMode.Repeat if k % 2 == 0 else WrapMode.Clamp,
            "linear",
        )
        for k in range(5)
    ]
    assert np.allclose(found.numpy(), np.array(right).T, atol=1e-5)


@pytest.mark.parametrize("channels", [2, 3])
def test_frozen_functions(channels: int) -> None:
    @dr.freeze
    def look(t: Any, p: Any) -> Any:
        return t.eval(p)

    for seed in range(4):
        data = content((4, 3), channels) * (seed + 1)
        t, positions = texture(data, "f"), places(2, 5 + seed)
        right = [looked_up(data, p, WrapMode.Clamp, "linear") for p in positions.T]
        assert np.allclose(
            look(t, at(positions, "f")).numpy(), np.array(right).T, atol=1e-5
        )
    assert look.n_recordings == 1
    look(texture(data, "f", wrap_mode=WrapMode.Repeat), at(positions, "f"))
    assert look.n_recordings == 2  # another program


def test_a_texture_is_fitted() -> None:
    """Inverse problem: the texture that gives measured values."""

    data, positions = (
        content((5, 5), 3),
        at(np.random.default_rng(1).random((2, 2000)), "f"),
    )
    measured = texture(data, "f").eval(positions)
    opt = dr.opt.Adam(0.05, {"t": ad.TensorXf(np.full((5, 5, 3), 0.5))})
    t = ad.Texture2f([5, 5], 3)
    for _ in range(150):
        t.set_tensor(opt["t"])
        dr.backward(dr.mean(dr.square(t.eval(positions) - measured), axis=None))
        opt.step()
    assert np.abs(opt["t"].numpy() - data).max() < 0.02


PROGRAM = """
import numpy as np, drjit as dr
from drjit._ad.check import _leaves
from drjit.llvm.ad import *
rng = np.random.default_rng(1)
for suffix, dim in (("f", 1), ("f16", 2), ("f64", 3), ("f8u", 2)):
    shape = (5, 4, 3)[:dim] + (3,)
    n = int(np.prod(shape))
    cls = globals()[f"Texture{dim}{suffix}"]
    entries = UInt8(rng.integers(0, 256, n)) if suffix == "f8u" else rng.random(n)
    for mode in dr.WrapMode:
        t = cls(shape[:-1], 3, wrap_mode=mode)
        t.set_value(type(t.value())(entries))
        parts = [Float(rng.uniform(-2, 3, 100)) for _ in range(dim)]
        p = globals()[f"Array{dim}f"](*parts)
        dr.enable_grad(p)
        found = (t.eval(p), t.eval_cubic(p), t.eval_cubic_grad(p)[1], t.eval_fetch(p))
        dr.backward(dr.sum(found[0], axis=None) + dr.sum(found[1], axis=None))
        for leaf in _leaves((found, dr.grad(p))):
            print(leaf.numpy().tobytes().hex())
"""


def test_engines_agree() -> None:
    texts = printed(PROGRAM)
    assert len(texts[0]) > 10_000 and all(text == texts[0] for text in texts)


# ---------------------------------------------------------------- upsample()

warned = pytest.mark.filterwarnings("ignore:drjit.upsample")


def centers(shape: tuple[int, ...]) -> Any:
    """The middles of texels, x first, in the order of memory."""
    indices = np.indices(shape).reshape(len(shape), -1)[::-1]
    return (indices + 0.5) / np.array(shape[::-1])[:, None]


@warned
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("old", "new"),
    [((5,), (12,)), ((3, 4), (6, 4)), ((2, 3), (5, 7)), ((2, 1, 3), (2, 4, 5))],
)
def test_upsample(old: tuple[int, ...], new: tuple[int, ...], mode: Any) -> None:
    for channels, filtering in product((1, 3, 5), FilterMode):
        data = content(old, channels)
        kind = "nearest" if filtering == FilterMode.Nearest else "linear"
        right = [looked_up(data, p, mode, kind) for p in centers(new).T]
        for suffix, tolerance in (("f16", 1e-3), ("f", 1e-6), ("f64", 1e-14)):
            t = texture(data, suffix, filter_mode=filtering, wrap_mode=mode)
            found = dr.upsample(t, shape=new)
            assert type(found) is type(t) and found.shape == (*new, channels)
            assert found.filter_mode() == filtering and found.wrap_mode() == mode
            assert np.allclose(
                found.tensor().numpy().reshape(-1, channels), right, atol=tolerance
            )


@warned
def test_upsample_by_factors_and_options() -> None:
    """Results of the published package 1.5.0 among them."""
    t = texture(np.arange(6.0).reshape(2, 3, 1), "f")
    first = [0, 0.142857, 0.571429, 1, 1.42857, 1.85714, 2]
    found = dr.upsample(t, [5, 7]).tensor().numpy()[..., 0]
    assert np.allclose(found[0], first, atol=1e-5)
    assert np.allclose(found[:, 0], [0, 0.3, 1.5, 2.7, 3], atol=1e-6)
    same = dr.upsample(t, shape=(4,)).tensor().numpy()
    for given in (
        {"scale_factor": [2]},
        {"scale_factor": (2, 1, 1)},
        {"shape": [4, 3, 1]},
    ):
        assert np.array_equal(dr.upsample(t, **given).tensor().numpy(), same)
    t = ad.Texture2f([2, 2], 1, False, writable=True, mip_filter=FilterMode.Nearest)
    t.set_value(ad.Float(1, 2, 3, 4))
    found = dr.upsample(t, scale_factor=[2, 3])
    assert found.writable() and not found.use_accel()
    assert found.mip_filter() == FilterMode.Nearest and found.n_levels() == 3
    assert np.allclose(found.eval_lod(ad.Array2f(0), 9).numpy(), 2.5)
    colors = np.random.default_rng(1).integers(0, 256, (3, 2, 4), dtype=np.uint8)
    for srgb in (False, True):
        t = ad.Texture2f8u(ad.TensorXu8(colors), srgb=srgb)
        found = dr.upsample(t, scale_factor=[2, 2])
        assert found.srgb() == srgb and type(found) is ad.Texture2f8u
        p = at(centers((6, 4)))
        apart = np.abs(found.eval(p).numpy() - t.eval(p).numpy())
        # Half a byte, where the curve of colors is steepest.
        assert apart.max() < 0.5001 / 255 * (2.3 if srgb else 1)
    s = scalar.Texture2f(scalar.TensorXf(np.arange(6.0).reshape(2, 3, 1)))
    assert np.allclose(np.array(dr.upsample(s, [5, 7]).tensor())[0, :, 0], first)


@warned
def test_upsample_has_derivatives_and_is_recorded() -> None:
    def enlarged(values: Any) -> Any:
        t = ad.Texture2f64([2, 3], 3)
        t.set_value(values)
        return dr.square(dr.upsample(t, shape=[5, 4]).value())

    dr.check_grad(enlarged, ad.Float64(content((2, 3), 3).ravel()))

    @dr.freeze
    def large(t: Any) -> Any:
        return dr.upsample(t, scale_factor=[2, 2])

    for seed in range(3):
        data = content((2, 3), 3) * (1 + seed)
        found = large(texture(data, "f"))
        right = [looked_up(data, p, MODES[1], "linear") for p in centers((4, 6)).T]
        assert np.allclose(found.tensor().numpy().reshape(-1, 3), right, atol=1e-5)
        assert np.array_equal(
            found.eval(ad.Array2f(0)).numpy().ravel(), found.value()[:3]
        )
    assert large.n_recordings == 1


@warned
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "'scale_factor' is of type NoneType, expected a list"),
        ({"shape": 4}, "'shape' is of type int, expected a list"),
        ({"shape": [4, 6], "scale_factor": [2]}, "expected one of the two"),
        ({"shape": [1, 3]}, "the extent 1 on axis 0, expected 2 or more"),
        ({"shape": [4, 6, 2]}, "asks for 2 channels, expected 1"),
        ({"scale_factor": [1, 1, 3]}, "asks for 3 channels, expected 1"),
        ({"shape": [4, 6, 1, 1]}, "has 4 elements, expected at most 3"),
        ({"scale_factor": [0, 2]}, "the element 0, expected 1 or more"),
        ({"scale_factor": [2.0, 2]}, "'scale_factor' is of type float"),
        ({"scale_factor": [70000, 70000]}, "expected at most 4294967295"),
    ],
)
def test_upsample_errors(given: dict[str, Any], message: str) -> None:
    t = texture(np.arange(6.0).reshape(2, 3, 1), "f")
    with pytest.raises(TypeError, match=message):
        dr.upsample(t, **given)
    with pytest.raises(TypeError, match="expected a tensor or a texture"):
        dr.upsample(ad.Texture2f, [4])


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ad.Texture2f([3, 4]), "the arguments do not fit"),
        (lambda: ad.Texture2f([3, 4], 1, bogus=1), "the arguments do not fit"),
        (lambda: ad.Texture2f([3], 2), r"is \(3, 2\), expected \(y, x, channels\)"),
        (lambda: ad.Texture2f([0, 3], 2), r"is \(0, 3, 2\), expected"),
        (lambda: ad.Texture2f([2, 3], 0), r"is \(2, 3, 0\), expected"),
        (lambda: ad.Texture2f([2, 1.5], 1), r"'shape' is \[2, 1.5\]"),
        (lambda: ad.Texture2f(ad.TensorXf([[1.0]])), r"is \(1, 1\), expected \(y, x"),
        (lambda: ad.Texture2f("x"), "the tensor is of type str, expected TensorXf"),
        (lambda: ad.Texture2f([2, 3], 1, srgb=True), "'srgb' is set"),
        (lambda: ad.Texture2f([2, 3], 1, wrap_mode="x"), "'wrap_mode' is of type str"),
        (
            lambda: ad.Texture2f([2, 3], 1, filter_mode=3),
            "'filter_mode' is of type int",
        ),
        (lambda: ad.Texture2f.from_native_handle(1), "needs a backend for GPUs"),
    ],
)
def test_constructors(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, RuntimeError), match=message):
        make()


def test_arguments() -> None:
    t = ad.Texture2f([3, 4], 2)
    t.set_value(dr.arange(ad.Float, 24))
    for wrong in (
        ad.Array3f(1),
        "x",
        None,
        [1, 2, 3],
        ad.TensorXf([1.0, 2.0]),
        ad.Array2f,
    ):
        with pytest.raises(TypeError, match="expected 2 components"):
            t.eval(wrong)
    for size in (1, 23, 25):
        with pytest.raises(RuntimeError, match=f"has {size} entries, expected 24"):
            t.set_value(dr.zeros(ad.Float, size))
    for shape in ((2, 2), (2, 2, 0), (1, 2, 2, 2)):
        with pytest.raises(RuntimeError, match="expected"):
            t.set_tensor(ad.TensorXf(np.zeros(shape)))
    assert t.value()[23] == 23 and t.shape == (3, 4, 2)
