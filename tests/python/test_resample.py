"""resample() and convolve() against Pillow, and sums over padded arrays in NumPy."""

from __future__ import annotations

import functools
import itertools
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import drjit as dr
import numpy as np
import pytest

BOUNDARIES = ("zero", "nearest", "wrap", "reflect", "mirror")
PADDING = {"nearest": "edge", "wrap": "wrap", "reflect": "symmetric"}
PADDING |= {"mirror": "reflect"}
Shape = tuple[int, ...]


def hamming(x: Any) -> Any:
    return np.sinc(x) * (0.54 + 0.46 * np.cos(np.pi * x)) * (abs(x) < 1)


def cubic(x: Any) -> Any:
    near = 1.5 * abs(x) ** 3 - 2.5 * x**2 + 1
    far = -0.5 * abs(x) ** 3 + 2.5 * x**2 - 4 * abs(x) + 2
    return np.select([abs(x) < 1, abs(x) < 2], [near, far])


FILTERS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "box": (lambda x: 1.0 * ((x > -0.5) & (x <= 0.5)), 0.5),
    "linear": (lambda x: np.maximum(1 - abs(x), 0), 1),
    "hamming": (hamming, 1),
    "cubic": (cubic, 2),
    "lanczos": (lambda x: np.sinc(x) * np.sinc(x / 3) * (abs(x) < 3), 3),
    "gaussian": (lambda x: np.maximum(np.exp(-2 * x * x) - np.exp(-8), 0), 2),
}


def array_type(m: Any, kind: str = "f64") -> Any:
    name = {"f64": "Float64", "f": "Float", "f16": "Float16"}[kind]
    return getattr(m, "ArrayX" + kind if m is dr.scalar else name)


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


# ------------------------------------------------------------------------ references


def padded_sum(x: Any, weights: Any, boundary: str, normalize: bool) -> Any:
    """Rows of weights for the positions -pad ... len(x) + pad - 1, times x."""
    pad = (weights.shape[1] - len(x)) // 2
    if boundary == "zero":
        inside = np.zeros(weights.shape[1])
        inside[pad : pad + len(x)] = 1
        weights = weights * inside
        x = np.pad(x, pad)
    else:
        mode: Any = PADDING[boundary]
        x = np.pad(x, pad, mode=mode)
    if normalize:
        weights = weights / weights.sum(axis=1)[:, None]
    return weights @ x


def resampled_line(
    x: Any, size: int, name: Any, radius: float | None = None, boundary: str = "zero"
) -> Any:
    fn, own = FILTERS[name] if isinstance(name, str) else (np.vectorize(name), radius)
    assert own is not None
    ratio = max(len(x) / size, 1)
    pad = int(own * ratio) + 3
    center = (np.arange(size)[:, None] + 0.5) * len(x) / size
    offset = np.arange(-pad, len(x) + pad)[None] + 0.5 - center
    near = (offset > -own * ratio + 1e-9) & (offset <= own * ratio + 1e-9)
    weights = fn(offset / ratio) * near
    return padded_sum(x, weights, boundary, True)


def convolved_line(
    x: Any, kernel: dict[int, float], boundary: str, normalize: bool
) -> Any:
    """``kernel`` has the weights of x[i - k] in result i."""
    pad = max(map(abs, kernel)) + 1
    weights = np.zeros((len(x), len(x) + 2 * pad))
    for i, (k, weight) in itertools.product(range(len(x)), kernel.items()):
        weights[i, i - k + pad] += weight
    return padded_sum(x, weights, boundary, normalize)


def named_kernel(name: str, scale: float) -> dict[int, float]:
    fn, radius = FILTERS[name]
    reach = int(radius * scale) + 1
    values = {-k: float(fn(np.float64(k / scale))) for k in range(-reach, reach + 1)}
    return {k: weight for k, weight in values.items() if weight} or {0: 0.0}


def along(fn: Callable[[Any], Any], x: Any, *axes: int) -> Any:
    for axis in axes:
        x = np.apply_along_axis(fn, axis, x)
    return x


# ------------------------------------------------------------------------- resample

LINE = [1, -2, 3, 0.5, 4, -1, 2]

# Pillow 13.0: Image.fromarray(array).resize((size, 1), filter) of floats.
PILLOW = {
    ("box", 4): "-0.5 1.75 4 0.5",
    ("box", 11): "1 1 -2 3 3 0.5 4 4 -1 2 2",
    ("linear", 4): "-0.19048 1.3 2.02 0.80952",
    ("linear", 11): (
        "1 -0.36364 -1.54545 1.63636 2.09091 0.5 2.72727 2.63636 -0.54545 0.63636 2"
    ),
    ("hamming", 4): "-0.23264 1.90316 2.67022 0.76736",
    ("hamming", 11): (
        "1 -0.18526 -1.95025 2.51902 2.46431 0.5 3.25003 3.51902 -0.95025 0.81474 2"
    ),
    ("cubic", 4): "-0.30269 1.33072 2.09507 0.7356",
    ("cubic", 11): (
        "1.21094 -0.5095 -1.81781 1.96093 2.39068 0.5 3.10068 3.03306 -0.81405 0.4905 "
        "2.21094"
    ),
    ("lanczos", 4): "-0.29264 1.28781 2.08499 0.75579",
    ("lanczos", 11): (
        "1.4508 -0.71479 -1.81901 2.01439 2.45559 0.5 3.20718 3.09176 -0.79924 0.26603 "
        "2.4508"
    ),
}


@pytest.mark.parametrize(("name", "size"), PILLOW)
def test_pillow_gives_the_same(m: Any, name: Any, size: int) -> None:
    for kind, tolerance in (("f64", 6e-6), ("f", 6e-6), ("f16", 4e-3)):
        found = dr.resample(array_type(m, kind)(LINE), (size,), name)
        assert type(found) is array_type(m, kind)
        expected = [float(word) for word in PILLOW[name, size].split()]
        np.testing.assert_allclose(list(found), expected, atol=tolerance)


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_resample_of_all_sizes(name: Any, boundary: Any) -> None:
    for before, after in itertools.product((1, 2, 3, 7, 16, 30), (1, 2, 5, 16, 45, 64)):
        x = numbers(before)
        found = dr.resample(dr.llvm.Float64(x), (after,), name, boundary=boundary)
        expected = x
        if before != after:
            expected = resampled_line(x, after, name, boundary=boundary)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_resample_of_long_arrays(boundary: Any) -> None:
    """Tables of these are made from shorter ones."""
    for before, after in ((900, 600), (600, 900), (1000, 250), (997, 331), (512, 2048)):
        x = numbers(before)
        found = dr.resample(dr.llvm.Float64(x), (after,), boundary=boundary)
        expected = resampled_line(x, after, "cubic", boundary=boundary)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_resample_with_functions(m: Any) -> None:
    def skew(x: float) -> float:
        return 3 + x - 0.1 * x * x

    for before, after, radius in ((9, 4, 1.3), (9, 13, 2), (5, 3, 2.0), (4, 4, 1)):
        x = numbers(before)
        found = dr.resample(array_type(m)(x.tolist()), (after,), skew, radius)
        expected = x if before == after else resampled_line(x, after, skew, radius)
        np.testing.assert_allclose(list(found), expected, rtol=1e-12)


def test_a_function_may_change() -> None:
    """What it has returned before is not remembered."""
    width = 1.0
    x = dr.llvm.Float64(numbers(8))

    def tent(t: float) -> float:
        return max(width - abs(t), 0.0)

    narrow = dr.resample(x, (16,), tent, 2).numpy()
    width = 2.0
    wide = dr.resample(x, (16,), tent, 2).numpy()
    assert abs(narrow - wide).max() > 0.1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((5, 7), (9, 3)),
        ((5, 7), (5, 21)),
        ((6, 4, 3), (3, 8, 3)),
        ((2, 3, 4, 5), (4, 3, 2, 7)),
        ((1, 6), (3, 6)),
        ((40, 33, 2), (20, 50, 3)),
        ((), ()),
    ],
)
def test_resample_of_tensors(m: Any, before: Shape, after: Shape) -> None:
    x = numbers(*before)
    source = m.TensorXf64(x)
    found = dr.resample(source, after, "lanczos")
    assert type(found) is m.TensorXf64 and tuple(found.shape) == after
    expected = x
    for axis in range(len(before)):
        if before[axis] != after[axis]:
            line = functools.partial(resampled_line, size=after[axis], name="lanczos")
            expected = along(line, expected, axis)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-11, atol=1e-12)
    dr.assert_equal(dr.resample(source, list(after), "lanczos"), found)


def test_empty_arrays(m: Any) -> None:
    a = array_type(m)
    assert len(dr.resample(a(), (0,))) == 0
    assert len(dr.convolve(a(), "gaussian", 2)) == 0
    for before, after in (((0, 5), (0, 3)), ((4, 0, 2), (2, 0, 7))):
        empty = dr.zeros(m.TensorXf64, before)
        assert tuple(dr.resample(empty, after).shape) == after
        assert tuple(dr.convolve(empty, [1, 2]).shape) == before


# ------------------------------------------------------------------------- convolve


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_convolve_with_names(name: Any, boundary: Any) -> None:
    for size, scale, normalize in itertools.product(
        (1, 2, 5, 23, 300), (0.4, 1, 1.5, 2, 6.3), (True, False)
    ):
        x = numbers(size)
        found = dr.convolve(
            dr.llvm.Float64(x), name, scale, boundary=boundary, normalize=normalize
        )
        kernel = named_kernel(name, scale)
        expected = convolved_line(x, kernel, boundary, normalize)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_convolve_with_numbers(m: Any, boundary: Any) -> None:
    for size, taps in itertools.product((1, 2, 3, 9, 40), (1, 2, 3, 4, 9)):
        x, k = numbers(size), numbers(taps, seed=1) + 3
        center = (taps - 1) // 2
        kernel = {j - center: float(k[j]) for j in range(taps)}
        source = array_type(m)(x.tolist())
        for normalize in (False, True):
            found = dr.convolve(source, k, boundary=boundary, normalize=normalize)
            expected = convolved_line(x, kernel, boundary, normalize)
            np.testing.assert_allclose(list(found), expected, rtol=1e-11, atol=1e-11)
        same = dr.convolve(source, k.tolist(), boundary=boundary)
        dr.assert_equal(same, dr.convolve(source, tuple(k), boundary=boundary))
        if boundary == "zero" and taps <= size:
            np.testing.assert_allclose(list(same), np.convolve(x, k, mode="same"))


def test_convolve_with_arrays_of_numbers() -> None:
    x = dr.llvm.Float(1, 2, 3)
    for kernel in (dr.llvm.Float(1, 2, 3), dr.llvm.UInt(1, 2, 3), np.arange(1, 4)):
        assert list(dr.convolve(x, kernel)) == [4, 10, 12]


def test_convolve_with_functions(m: Any) -> None:
    """A function is asked for whole distances, and normalized unless asked not to."""
    asked: list[float] = []

    def skew(x: float) -> float:
        asked.append(x)
        return 5 + x

    x = numbers(9)
    source = array_type(m)(x.tolist())
    for radius, taps in ((2, 2), (2.9, 2), (0.3, 0)):
        kernel = {k: 5.0 + k for k in range(-taps, taps + 1)}
        asked.clear()
        found = dr.convolve(source, skew, radius, normalize=False)
        assert sorted(asked) == sorted(kernel)
        expected = convolved_line(x, kernel, "zero", False)
        np.testing.assert_allclose(list(found), expected, rtol=1e-12)
        expected = convolved_line(x, kernel, "zero", True)
        found = dr.convolve(source, skew, radius)
        np.testing.assert_allclose(list(found), expected, rtol=1e-12)


def test_constants_stay_constant(m: Any) -> None:
    """The default renormalizes near the ends; numbers are taken as they are."""
    ones = dr.ones(m.TensorXf64, (6, 7))
    for found in (
        dr.convolve(ones, "gaussian", 3),
        dr.convolve(ones, "lanczos"),
        dr.convolve(ones, lambda x: 1 + x * x, 4),
        dr.convolve(ones, [1, 2, 3], normalize=True),
        dr.resample(ones, (13, 2)),
    ):
        np.testing.assert_allclose(found.numpy(), 1, rtol=1e-14)
    assert dr.convolve(ones, [1, 2, 1]).numpy()[0, 0] == 9


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, -3, (0, 2), (1, -1), ()])
def test_axes(m: Any, axis: Any) -> None:
    x = numbers(4, 5, 6)
    found = dr.convolve(m.TensorXf64(x), "gaussian", 2, axis, "mirror")
    assert tuple(found.shape) == x.shape
    axes = (axis,) if isinstance(axis, int) else axis
    line = functools.partial(
        convolved_line,
        kernel=named_kernel("gaussian", 2),
        boundary="mirror",
        normalize=True,
    )
    expected = along(line, x, *((0, 1, 2) if axis is None else axes))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-13)


def test_only_entries_within_the_filter_matter() -> None:
    """Infinities and NaN reach as far as the filter, and no further."""
    x = np.ones(40, dtype=np.float32)
    x[3], x[37] = np.inf, np.nan
    for boundary in BOUNDARIES:
        b: Any = boundary
        found = dr.convolve(dr.llvm.Float(x), "linear", 3, boundary=b).numpy()
        reached = np.zeros(40, dtype=bool)
        reached[1:6] = reached[35:40] = True
        assert np.array_equal(~np.isfinite(found), reached)
        up = dr.resample(dr.llvm.Float(x), (80,), "linear", boundary=b).numpy()
        assert np.isfinite(up[10:72]).all() and np.isfinite(up[:4]).all()


def test_half_precision_is_rounded_once() -> None:
    x = numbers(30, 20).astype(np.float16)
    found = dr.resample(dr.llvm.TensorXf16(x), (7, 33)).numpy()
    wide = dr.resample(dr.llvm.TensorXf(x.astype(np.float32)), (7, 33)).numpy()
    assert found.dtype == np.float16
    assert np.array_equal(found, wide.astype(np.float16))


# ---------------------------------------------------------------- modes and recording


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_modes_give_the_same_bits(boundary: Any) -> None:
    source = dr.llvm.TensorXf(numbers(30, 23).astype(np.float32))
    for fn in (
        lambda mode: dr.resample(source, (11, 40), boundary=boundary, mode=mode),
        lambda mode: dr.convolve(source, "gaussian", 3, boundary=boundary, mode=mode),
    ):
        plain = fn(None).numpy()
        assert np.array_equal(fn("symbolic").numpy(), plain)
        evaluated = fn("evaluated")
        assert evaluated.array.state == dr.VarState.Evaluated
        assert np.array_equal(evaluated.numpy(), plain)


def test_many_taps() -> None:
    x = numbers(3000)
    source = dr.llvm.Float64(x)
    found = dr.resample(source, (7,)).numpy()
    np.testing.assert_allclose(found, resampled_line(x, 7, "cubic"), rtol=1e-9)
    found = dr.convolve(source, "gaussian", 100).numpy()
    expected = convolved_line(x, named_kernel("gaussian", 100), "zero", True)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_frozen() -> None:
    TensorXf = dr.llvm.TensorXf

    def fn(t: Any) -> Any:
        return dr.resample(dr.convolve(t, "gaussian", 2, boundary="wrap"), (3, 14)) * 2

    frozen = dr.freeze(fn)
    for count, shape in ((1, (6, 7)), (2, (9, 7)), (2, (6, 7)), (3, (6, 8))):
        for seed in (1, 2):
            t = TensorXf(numbers(*shape, seed=seed).astype(np.float32))
            assert np.array_equal(frozen(t).numpy(), fn(t).numpy())
        assert frozen.n_recordings == count


def test_frozen_gradients() -> None:
    TensorXf = dr.llvm.ad.TensorXf

    def fn(t: Any) -> Any:
        dr.enable_grad(t)
        dr.backward(dr.sum(dr.resample(t, (3, 14)) ** 2))
        return dr.grad(t)

    frozen = dr.freeze(fn)
    for seed in range(4):
        x = numbers(6, 7, seed=seed).astype(np.float32)
        assert np.array_equal(frozen(TensorXf(x)).numpy(), fn(TensorXf(x)).numpy())
    assert frozen.n_recordings == 1


@pytest.mark.parametrize("boundary", ["zero", "wrap"])
def test_within_recorded_code(boundary: Any) -> None:
    """Loops, conditionals and calls give the same bits as each thing on its own."""
    m = dr.llvm
    source = m.TensorXf(numbers(6, 5).astype(np.float32))
    small = dr.resample(source, (4, 3), boundary=boundary).array
    blur = dr.convolve(source, "linear", 2, boundary=boundary).array[:12]
    dr.eval(small, blur)

    def shrink() -> Any:
        return dr.resample(source, (4, 3), boundary=boundary).array

    expected = dr.fma(small, 3, small * 2)

    def body(i: Any, total: Any) -> Any:
        return i + 1, dr.fma(shrink(), m.Float(i + 2), total)

    start = (m.UInt(0), dr.zeros(m.Float, 12))
    found = dr.while_loop(start, lambda i, total: i < 2, body, mode="symbolic")[1]
    assert np.array_equal(found.numpy(), expected.numpy())
    lanes = dr.arange(m.UInt, 12)
    found = dr.if_stmt((), lanes % 3 < 1, shrink, lambda: small * 2, mode="symbolic")
    picked = np.where(np.arange(12) % 3 < 1, small.numpy(), 2 * small.numpy())
    assert np.array_equal(found.numpy(), picked)
    calls = [
        lambda x: shrink() * x,
        lambda x: dr.resample(source, (2, 6), boundary=boundary).array * x,
    ]
    found = dr.switch(lanes % 2, calls, m.Float(lanes))
    other = dr.resample(source, (2, 6), boundary=boundary).array.numpy()
    picked = np.where(np.arange(12) % 2 == 0, small.numpy(), other) * np.arange(12)
    assert np.array_equal(found.numpy(), picked.astype(np.float32))


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_random_shapes_within_recorded_code(
    boundary: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """The same bits as outside, and nothing is read from beyond an array."""
    rng = np.random.default_rng(5)
    m = dr.llvm
    for name in FILTERS:
        f: Any = name
        before, after = rng.integers(1, 9, 3), rng.integers(1, 9, 3).tolist()
        source = m.TensorXf(rng.standard_normal(before).astype(np.float32))
        dr.eval(source)
        for fn in (
            functools.partial(dr.resample, source, after, filter=f, boundary=boundary),
            functools.partial(dr.convolve, source, "linear", 2.5, boundary=boundary),
            functools.partial(dr.convolve, source, [1, 2, 3], boundary=boundary),
        ):
            expected = fn().numpy().ravel()
            lanes = dr.arange(m.UInt, expected.size)
            with dr.scoped_set_flag(dr.JitFlag.Debug):
                found = dr.if_stmt(
                    (),
                    lanes % 3 < 2,
                    lambda fn=fn: fn().array,
                    lambda: m.Float(0),
                    mode="symbolic",
                )
                taken = np.arange(expected.size) % 3 < 2
                assert np.array_equal(found.numpy(), np.where(taken, expected, 0))
    assert "out-of-bounds" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("mode", [None, "symbolic"])
def test_whole_arrays_in_bodies_that_run_at_once(mode: Any) -> None:
    """Their mask is about lanes, of which there may be as many as entries."""
    m = dr.llvm
    source = m.TensorXf(numbers(30, 25).astype(np.float32))
    blur = dr.convolve(source, "gaussian", 2).numpy()
    small = dr.resample(source, (25, 30)).numpy()
    found = []

    def body(x: Any) -> Any:
        found.append(dr.convolve(source, "gaussian", 2, mode=mode))
        found.append(dr.resample(source, (25, 30), mode=mode))
        return x + found[0].array

    lanes = dr.arange(m.UInt, 750)
    result = dr.if_stmt(
        (m.Float(lanes),), lanes % 2 == 0, body, lambda x: x, mode="evaluated"
    )
    assert np.array_equal(found[0].numpy(), blur)
    assert np.array_equal(found[1].numpy(), small)
    expected = np.arange(750, dtype=np.float32)
    expected[::2] += blur.ravel()[::2]
    assert np.array_equal(result.numpy(), expected)


def test_what_cannot_be_recorded() -> None:
    m = dr.llvm
    source = dr.zeros(m.TensorXf, (50, 50))

    def once(fn: Callable[[Any], Any]) -> None:
        dr.while_loop(
            (m.UInt(0), dr.zeros(m.Float, 2500)),
            lambda i, x: i < 2,
            lambda i, x: (i + 1, fn(x)),
            mode="symbolic",
        )

    with pytest.raises(RuntimeError, match=r"convolve\(\): the input is a variable of"):
        once(lambda x: dr.convolve(x, [1, 2]))
    with pytest.raises(RuntimeError, match=r"convolve\(\): a result has 1369 taps"):
        once(lambda x: x + dr.convolve(source, "gaussian", 9.3).array)


# ---------------------------------------------------------------------- derivatives


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_derivatives(boundary: Any) -> None:
    m = dr.llvm.ad
    line = m.Float64(numbers(9))
    for size, name in itertools.product((1, 4, 9, 22), FILTERS):
        options: dict[str, Any] = {"filter": name, "boundary": boundary}
        dr.check_grad(functools.partial(dr.resample, shape=(size,), **options), line)
    for x in (line, m.TensorXf64(numbers(4, 6, 2))):
        dr.check_grad(lambda x: dr.convolve(x, "lanczos", 1.3, None, boundary), x)
        dr.check_grad(lambda x: dr.convolve(x, [1, 2, -4, 3], None, -1, boundary), x)
        dr.check_grad(lambda x: dr.convolve(x * x, lambda t: 4 + t, 2, 0) ** 2, x)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_reverse_is_the_transpose(boundary: Any) -> None:
    """<A x, y> = <x, A^T y>, for long axes as well."""
    m = dr.llvm.ad
    fn: Callable[[Any], Any]
    for before, after in ((900, 600), (600, 900), (400, 400), (128, 512), (7, 2000)):
        fn = functools.partial(dr.resample, shape=(after,), boundary=boundary)
        if before == after:
            fn = functools.partial(
                dr.convolve, filter="gaussian", filter_radius=3, boundary=boundary
            )
        x, y = m.Float64(numbers(before)), m.Float64(numbers(after, seed=1))
        product = dr.dot(fn(x), y)
        dr.enable_grad(x)
        result = fn(x)
        dr.set_grad(result, y)
        dr.enqueue(dr.ADMode.Backward, result)
        dr.traverse(dr.ADMode.Backward)
        assert dr.dot(dr.detach(x), dr.grad(x))[0] == pytest.approx(product[0], 1e-12)
        # The columns of the matrix, one by one.
        basis = dr.zeros(m.Float64, before)
        basis[before // 2] = 1
        column = dr.dot(fn(basis), y)[0]
        assert dr.grad(x)[before // 2] == pytest.approx(column, 1e-11, 1e-12)


def test_second_derivatives() -> None:
    m = dr.llvm.ad
    x = m.Float64(numbers(7))
    dr.enable_grad(x)
    y = dr.sum(dr.convolve(x, [1.0, 2, 3]) ** 3)
    dr.enqueue(dr.ADMode.Backward, y)
    dr.set_grad(y, 1)
    dr.traverse(dr.ADMode.Backward, dr.ADFlag.CreateGraph | dr.ADFlag.ClearVertices)
    first = dr.grad(x)
    dr.clear_grad(x)
    dr.backward(dr.sum(first))
    matrix = np.array([np.convolve(row, [1, 2, 3], "same") for row in np.eye(7)]).T
    hessian = 6 * matrix.T @ np.diag(matrix @ dr.detach(x).numpy()) @ matrix
    np.testing.assert_allclose(dr.grad(x).numpy(), hessian.sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("boundary", ["zero", "wrap", "mirror"])
def test_derivatives_within_recorded_code(boundary: Any) -> None:
    m = dr.llvm.ad
    line, picture = m.Float64(numbers(9)), m.TensorXf64(numbers(5, 6))
    long = m.Float64(numbers(300))
    lanes = dr.arange(m.UInt, 12)

    def wide(x: Any) -> Any:
        """More taps than are written out."""
        return dr.resample(x, (12,), "gaussian", boundary=boundary)

    for x, fn in (
        (line, lambda x: dr.resample(x, (12,), "lanczos", boundary=boundary)),
        (picture, lambda x: dr.resample(x, (3, 4), boundary=boundary).array),
        (long, wide),
    ):

        def inside(x: Any, fn: Any = fn) -> Any:
            kept = lanes % 3 < 2
            taken = dr.if_stmt(
                (), kept, lambda: fn(x) ** 2, lambda: m.Float64(0), mode="symbolic"
            )
            called = dr.switch(lanes % 2, [lambda v: fn(x) * v, lambda v: v], taken)
            return dr.sum(called * taken)

        def outside(x: Any, fn: Any = fn) -> Any:
            taken = dr.select(lanes % 3 < 2, fn(x) ** 2, 0)
            return dr.sum(dr.select(lanes % 2 == 0, fn(x) * taken, taken) * taken)

        gradients = []
        for loss in (inside, outside):
            own = type(x)(dr.detach(x))
            dr.enable_grad(own)
            dr.backward(loss(own))
            gradients.append(dr.grad(own).numpy())
        assert abs(gradients[1]).max() > 0
        np.testing.assert_allclose(*gradients, rtol=1e-11, atol=1e-12)


ENGINES = """
import sys
import drjit as dr, numpy as np
from drjit.llvm.ad import TensorXf, TensorXf16, TensorXf64
if sys.argv[1:]:
    dr.set_thread_count(int(sys.argv[1]))
x = np.random.default_rng(3).standard_normal((37, 50, 3))
for T in (TensorXf, TensorXf16, TensorXf64):
    for boundary in ("zero", "wrap", "mirror"):
        for fn in (lambda t: dr.resample(t, (20, 75, 3), boundary=boundary),
                   lambda t: dr.resample(t, (5, 9, 4), "lanczos", boundary=boundary),
                   lambda t: dr.convolve(t, "gaussian", 2, (0, 1), boundary)):
            t = T(x)
            dr.enable_grad(t)
            y = fn(t)
            dr.backward(dr.sum(y * y))
            print(y.numpy().tobytes().hex(), dr.grad(t).numpy().tobytes().hex())
"""


def run_with(*arguments: str, **variables: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", ENGINES, *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    ).stdout


@functools.cache
def reference_bits() -> str:
    return run_with(DRJIT_CPU_ENGINE="interp")


@pytest.mark.parametrize("engine", ["native", "llvm", "avx2"])
def test_engines_agree(engine: str) -> None:
    if engine != "llvm" and platform.machine() != "x86_64":
        pytest.skip("there is no machine code of our own")
    variables = {"DRJIT_CPU_ENGINE": engine}
    if engine == "avx2":
        variables = {"DRJIT_CPU_ENGINE": "native", "DRJIT_NATIVE_ISA": "avx2"}
    assert run_with(**variables) == reference_bits()


@pytest.mark.parametrize("threads", [1, 5])
def test_any_number_of_threads_gives_the_same_bits(threads: int) -> None:
    assert run_with(str(threads)) == reference_bits()


# ------------------------------------------------------------ interpolation, repetition


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_take_interp_is_linear_interpolation(m: Any, axis: int) -> None:
    """numpy.interp() within an axis, and SciPy's map_coordinates() of order 1."""
    x = numbers(5, 6, 7)
    size = x.shape[axis]
    places = np.random.default_rng(1).uniform(0, size - 1, 30)
    places[:3] = 0, size - 1, 2
    found = dr.take_interp(m.TensorXf64(x), array_type(m)(places.tolist()), axis)
    expected = along(lambda line: np.interp(places, np.arange(size), line), x, axis)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-13)
    for place in places[:5].tolist():
        found = dr.take_interp(m.TensorXf64(x), place, axis)
        expected = along(lambda line, p=place: np.interp(p, range(size), line), x, axis)
        assert tuple(found.shape) == expected.shape
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-13)


def test_take_interp_derivatives_and_recordings() -> None:
    m = dr.llvm.ad
    x, places = m.TensorXf64(numbers(4, 5)), m.Float64(0.3, 2.7, -0.4, 1.5, 3.6)
    for axis in (0, 1):
        dr.check_grad(functools.partial(dr.take_interp, axis=axis), x, places)
    frozen = dr.freeze(dr.take_interp)
    for seed in range(3):
        x = m.TensorXf64(numbers(4, 5, seed=seed))
        own = places + seed * 0.1
        dr.assert_equal(frozen(x, own), dr.take_interp(x, own))
    assert frozen.n_recordings == 1
    table = m.TensorXf64(numbers(9))

    def body(i: Any, total: Any) -> Any:
        return i + 1, total + dr.take_interp(table, total).array * 0.5

    start = (m.UInt(0), places)
    for mode in ("symbolic", "evaluated"):
        found = dr.while_loop(start, lambda i, t: i < 3, body, mode=mode)[1]
        expected = places
        for _ in range(3):
            expected = expected + dr.take_interp(table, expected).array * 0.5
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-14)


@pytest.mark.filterwarnings("ignore:drjit.*deprecated:DeprecationWarning")
@pytest.mark.parametrize("factors", [(2, 1, 3), (1, 4, 1), (5, 2, 2)])
def test_upsample_is_a_box(m: Any, factors: Shape) -> None:
    x = numbers(3, 4, 2)
    for axis, factor in enumerate(factors):
        x = np.repeat(x, factor, axis)
    source = m.TensorXf64(numbers(3, 4, 2))
    for found in (
        dr.upsample(source, scale_factor=list(factors)),
        dr.upsample(source, shape=list(x.shape)),
        dr.resample(source, x.shape, "box"),
    ):
        assert np.array_equal(found.numpy(), x)


# --------------------------------------------------------------------------- errors

F, T = dr.llvm.Float, dr.llvm.TensorXf
SOURCE = F(1, 2, 3)
BAD: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    (TypeError, r"resample\(\): the input is of type float", lambda: resample(1.0)),
    (TypeError, "llvm.UInt, expected a tensor", lambda: resample(dr.llvm.UInt(1, 2))),
    (TypeError, "Array3f, expected", lambda: resample(dr.llvm.Array3f(1))),
    (TypeError, "scalar.Array3f, expected", lambda: resample(dr.scalar.Array3f(1))),
    (TypeError, "TensorXi, expected", lambda: resample(dr.llvm.TensorXi([1, 2]))),
    (ValueError, "has 2 elements, expected 1", lambda: resample(F(1, 2), (2, 2))),
    (ValueError, "size 0 on axis 0", lambda: resample(F(1, 2), (0,))),
    (ValueError, "size -3 on axis 1", lambda: resample(T([[1]]), (1, -3))),
    (ValueError, "0 entries, expected 0", lambda: resample(F(), (3,))),
    (TypeError, "'shape' is of type int", lambda: resample(F(1, 2), 3)),
    (TypeError, "'shape' is of type float", lambda: resample(F(1, 2), (1.5,))),
    (
        ValueError,
        "'filter' is 'x', expected one of",
        lambda: resample(F(1), f="x"),
    ),
    (TypeError, "'filter' is of type int", lambda: resample(F(1, 2), f=3)),
    (TypeError, "'filter' is of type list", lambda: resample(F(1, 2), f=[1, 2])),
    (ValueError, "'filter_radius' is 2, expected None", lambda: resample(F(1, 2), r=2)),
    (TypeError, "'filter_radius' is of type None", lambda: resample(F(1, 2), f=abs)),
    (ValueError, "'filter_radius' is 0", lambda: resample(F(1, 2), f=abs, r=0)),
    (ValueError, "'filter_radius' is -1", lambda: resample(F(1, 2), f=abs, r=-1)),
    (ValueError, "'filter_radius' is nan", lambda: resample(F(1), f=abs, r=np.nan)),
    (ValueError, "'filter_radius' is inf", lambda: resample(F(1), f=abs, r=np.inf)),
    (ValueError, r"value at .* is nan", lambda: resample(F(1, 2), f=nan, r=1)),
    (TypeError, r"value at .* is of type str", lambda: resample(F(1), f=str, r=1)),
    (ValueError, "add up to 0", lambda: resample(F(1, 2), f=lambda x: 0.0, r=1)),
    (ValueError, "add up to 0", lambda: resample(F(1, 2), (9,), lambda x: 1.0, 0.1)),
    (ValueError, "'boundary' is 'edge'", lambda: resample(F(1), boundary="edge")),
    (ValueError, "'mode' is 'fast'", lambda: resample(F(1), mode="fast")),
    (TypeError, r"convolve\(\): the input is of type str", lambda: convolve("abc")),
    (TypeError, r"convolve\(\): 'filter' is of type None", lambda: convolve(f=None)),
    (ValueError, "'filter' is an empty", lambda: convolve(f=[])),
    (ValueError, "entry 1 of 'filter' is nan", lambda: convolve(f=[1, np.nan])),
    (TypeError, "entry 0 of 'filter' is of type str", lambda: convolve(f=["a"])),
    (ValueError, "'filter_radius' is 2, expected None", lambda: convolve(f=[1], r=2)),
    (TypeError, "'filter_radius' is of type None", lambda: convolve(f=abs)),
    (ValueError, "'filter_radius' is 0", lambda: convolve(r=0)),
    (ValueError, "'filter_radius' is -2", lambda: convolve(r=-2)),
    (TypeError, "'filter_radius' is of type str", lambda: convolve(r="2")),
    (ValueError, "add up to 0", lambda: convolve(f=[1, 0, -1], normalize=True)),
    (ValueError, "'axis' is 1, which is out of bounds", lambda: convolve(axis=1)),
    (ValueError, "'axis' is -2, which is out of", lambda: convolve(axis=-2)),
    (ValueError, r"'axis' is \(0, 0\), expected axes", lambda: convolve(axis=(0, 0))),
    (TypeError, "'axis' is of type float", lambda: convolve(axis=0.5)),
    (ValueError, "'boundary' is None", lambda: convolve(boundary=None)),
    (ValueError, "'mode' is 1", lambda: convolve(mode=1)),
]


def nan(x: float) -> float:
    return float("nan")


def resample(
    source: Any, shape: Any = (7,), f: Any = "cubic", r: Any = None, **options: Any
) -> Any:
    return dr.resample(source, shape, f, r, **options)


def convolve(
    source: Any = SOURCE, f: Any = "box", r: Any = None, **options: Any
) -> Any:
    return dr.convolve(source, f, r, **options)


@pytest.mark.parametrize("row", range(len(BAD)))
def test_errors(row: int) -> None:
    error, message, call = BAD[row]
    with pytest.raises(error, match=message) as seen:
        call()
    assert str(seen.value).startswith(("drjit.resample(): ", "drjit.convolve(): "))
