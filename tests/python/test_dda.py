"""drjit.dda against brute force in NumPy: crossings with all planes, sorted."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import drjit as dr
import numpy as np
import pytest
from ad_util import check_second_order
from drjit import scalar
from drjit.dda import dda, integrate, integrate_ref
from drjit.llvm.ad import (
    Array2f,
    Array2f64,
    Array3f,
    Array3f64,
    Array3u,
    Array4f,
    Bool,
    Complex2f,
    Float,
    Float64,
    TensorXf,
    TensorXf64,
    TensorXi,
    UInt,
)

INF, NAN = float("inf"), float("nan")
Cells = list[tuple[tuple[int, ...], Any, Any, float, float]]
MODES = ["symbolic", "evaluated"]

# ---------------------------------------------------------------- brute force


def cells_of(o: Any, d: Any, ray_max: float, res: Any, low: Any, high: Any) -> Cells:
    """Cells (x, y, z), where they are entered and left, and the values of t.

    Each part between neighbouring crossings with planes lies in the cell of its middle.
    """
    o, d, low, high = (np.asarray(v, np.float64) for v in (o, d, low, high))
    res = np.asarray(res)
    size = (high - low) / res
    ts = [0.0, ray_max] if d.any() else []
    for axis in range(len(o)):
        if d[axis] != 0:
            planes = low[axis] + size[axis] * np.arange(res[axis] + 1)
            ts += list((planes - o[axis]) / d[axis])
    ts = sorted(t for t in ts if 0 <= t <= min(ray_max, 1e6))
    found: Cells = []
    for a, b in zip(ts, ts[1:], strict=False):
        cell = np.floor((o + d * (a + b) / 2 - low) / size).astype(int)
        if b - a > 1e-9 and (cell >= 0).all() and (cell < res).all():
            p, q = ((o + d * t - low) / size - cell for t in (a, b))
            found.append((tuple(map(int, cell)), p, q, a, b))
    return found


def interpolated(vol: Any, p: Any) -> float:
    """The volume (z, y, x) at a position in cells (x, y, z), by weights of corners."""
    p = p[::-1]
    cell = np.clip(np.floor(p).astype(int), 0, np.array(vol.shape) - 2)
    total = 0.0
    for corner in np.ndindex(*[2] * vol.ndim):
        weight = np.prod(np.where(corner, p - cell, 1 - (p - cell)))
        total += weight * float(vol[tuple(cell + corner)])
    return total


def integral_of(o: Any, d: Any, ray_max: float, low: Any, high: Any, vol: Any) -> float:
    """Eight points of Gauss and Legendre in each cell."""
    res = np.array(vol.shape[::-1]) - 1
    nodes, weights = np.polynomial.legendre.leggauss(8)
    total = 0.0
    for cell, p, q, a, b in cells_of(o, d, ray_max, res, low, high):
        values = [interpolated(vol, cell + (p + q + (q - p) * x) / 2) for x in nodes]
        total += float(weights @ values) * (b - a) / 2
    return total * float(np.linalg.norm(d))


class Rays:
    """Random rays and a grid, for NumPy; some start inside, some end there, some run
    along an axis, some miss."""

    def __init__(self, n: int, dim: int, seed: int) -> None:
        rng = np.random.default_rng(100 * dim + seed)
        self.res = rng.integers(1, 7, dim)
        self.low = rng.uniform(-2, 0, dim)
        self.high = self.low + rng.uniform(0.5, 3, dim)
        middle, extent = (self.low + self.high) / 2, self.high - self.low
        self.o = middle + extent * rng.uniform(-1.2, 1.2, (n, dim))
        self.d = middle + extent * rng.uniform(-0.6, 0.6, (n, dim)) - self.o
        self.d *= rng.random((n, dim)) < 0.85
        self.ray_max = np.where(rng.random(n) < 0.4, rng.uniform(0, 3, n), INF)
        self.vol = rng.normal(size=self.res[::-1] + 1)

    def arguments(self, m: ModuleType, suffix: str = "f64") -> dict[str, Any]:
        dim = len(self.res)
        vector = getattr(m, f"Array{dim}{suffix}")
        return {
            "ray_o": vector(self.o.T),
            "ray_d": vector(self.d.T),
            "ray_max": dr.value_t(vector)(self.ray_max),
            "grid_min": vector(*self.low),
            "grid_max": vector(*self.high),
        }

    def one(self, lane: int) -> tuple[Any, ...]:
        return self.o[lane], self.d[lane], float(self.ray_max[lane])

    def cells(self, lane: int) -> Cells:
        return cells_of(*self.one(lane), self.res, self.low, self.high)

    def integral(self, lane: int) -> float:
        return integral_of(*self.one(lane), self.low, self.high, self.vol)


ROOM = 40  # cells of a ray that are noted


def visited(
    m: Any, dim: int, lanes: int, res: Any, mode: str | None, **arguments: Any
) -> list[list[tuple[Any, Any, Any]]]:
    """What traced rays come through."""
    where = dr.zeros(m.UInt, lanes * ROOM * dim)
    points = dr.zeros(m.Float64, 2 * lanes * ROOM * dim)
    lane = dr.arange(m.UInt, lanes)

    def note(n: Any, index: Any, p: Any, q: Any, active: Any) -> tuple[Any, Any]:
        for axis in range(dim):
            slot = (lane * ROOM + n) * dim + axis
            dr.scatter(where, index[axis], slot, active)
            dr.scatter(points, m.Float64(p[axis]), 2 * slot, active)
            dr.scatter(points, m.Float64(q[axis]), 2 * slot + 1, active)
        return n + 1, m.Bool(True)

    active = dr.full(m.Bool, True, lanes)
    start = dr.zeros(m.UInt, lanes)
    counts = dda(
        **arguments, grid_res=res, func=note, state=start, active=active, mode=mode
    ).numpy()
    numbers = where.numpy().reshape(lanes, ROOM, dim)
    pairs = points.numpy().reshape(lanes, ROOM, dim, 2)
    assert counts.max() <= ROOM
    return [
        [(numbers[k, j], pairs[k, j, :, 0], pairs[k, j, :, 1]) for j in range(count)]
        for k, count in enumerate(counts)
    ]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dim", [1, 2, 3, 4])
@pytest.mark.parametrize("m", [dr.llvm, dr.llvm.ad], ids=["llvm", "llvm.ad"])
def test_random_rays(m: ModuleType, dim: int, mode: str) -> None:
    hits = 0
    for seed in range(4):
        rays = Rays(60, dim, seed)
        ints = getattr(m, f"Array{dim}u")
        res = ints(*map(int, rays.res[::-1]))
        found = visited(m, dim, 60, res, mode, **rays.arguments(m))
        for lane in range(60):
            expected = rays.cells(lane)
            steps = [
                step for step in found[lane] if abs(step[1] - step[2]).max() > 1e-9
            ]
            assert len(steps) == len(expected)
            hits += len(steps) > 0
            for (index, p, q), (cell, a, b, *_) in zip(steps, expected, strict=True):
                assert tuple(index[::-1]) == cell
                assert np.allclose(p, a, atol=1e-9) and np.allclose(q, b, atol=1e-9)
                assert min(p.min(), q.min()) >= 0 and max(p.max(), q.max()) <= 1
    assert 40 < hits < 230


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_random_rays_at_once(dim: int) -> None:
    """Numbers of Python, with a list as the state."""
    rays = Rays(30, dim, 7)
    vector = getattr(scalar, f"Array{dim}f64")
    for lane in range(30):
        o, d, ray_max = rays.one(lane)
        found = scalar_cells(o, d, ray_max, rays.res, rays.low, rays.high, vector)
        expected = [step[:3] for step in rays.cells(lane)]
        found = [step for step in found if abs(step[1] - step[2]).max() > 1e-9]
        assert [step[0] for step in found] == [step[0] for step in expected]
        for step, (_, p, q) in zip(found, expected, strict=True):
            assert np.allclose(step[1], p, atol=1e-9)
            assert np.allclose(step[2], q, atol=1e-9)


def scalar_cells(
    o: Any,
    d: Any,
    ray_max: float = INF,
    res: Any = (4, 3, 2),
    low: Any = (0, 0, 0),
    high: Any = (1, 1, 1),
    vector: Any = scalar.Array3f64,
    active: bool = True,
) -> list[tuple[tuple[int, ...], Any, Any]]:
    """What a ray comes through, in the order x, y, z."""

    def note(state: Any, index: Any, p: Any, q: Any, active: Any) -> tuple[Any, Any]:
        assert active is True
        cell = tuple(int(i) for i in index)[::-1]
        state.append((cell, np.array(list(p)), np.array(list(q))))
        return state, True

    return dda(
        vector(*map(float, o)),
        vector(*map(float, d)),
        ray_max,
        dr.uint32_array_t(vector)(*[int(r) for r in res][::-1]),
        vector(*map(float, low)),
        vector(*map(float, high)),
        note,
        [],
        active,
    )


def test_the_example_of_the_reference() -> None:
    found: list[Any] = []

    def note(state: Any, index: Any, p: Any, q: Any, active: Any) -> tuple[Any, Any]:
        assert type(index) is scalar.Array3u and type(p) is scalar.Array3f
        found.append(list(index))
        return state, scalar.Bool(True)

    result = dda(
        ray_o=scalar.Array3f(-0.1),
        ray_d=scalar.Array3f(0.1, 0.2, 0.3),
        ray_max=scalar.Float(INF),
        grid_res=scalar.Array3u(10),
        grid_min=scalar.Array3f(0),
        grid_max=scalar.Array3f(1),
        func=note,
        state=scalar.Float(3),
        active=scalar.Bool(True),
    )
    assert result == 3
    assert found[:3] == [[2, 1, 0], [3, 1, 0], [3, 2, 0]]
    assert found[-1] == [9, 6, 2]


# Origin, direction, cells (x, y, z): the grid has 4 x 3 x 2 cells in the unit cube.
ROW = [(k, 1, 1) for k in range(4)]
SPECIAL: dict[str, tuple[Any, Any, list[Any]]] = {
    "along x": ((-1, 0.5, 0.7), (1, 0, 0), ROW),
    "and back": ((2, 0.5, 0.7), (-1, 0, 0), ROW[::-1]),
    "from inside": ((0.3, 0.5, 0.7), (1, 0, 0), ROW[1:]),
    "in the upper face": ((-1, 1, 1), (1, 0, 0), [(k, 2, 1) for k in range(4)]),
    "in the lower face": ((-1, 0, 0), (1, 0, 0), [(k, 0, 0) for k in range(4)]),
    "between two cells": ((-1, 0.5, 0.5), (1, 0, 0), ROW),
    "from a plane, up": ((0.5, 0.5, 0.7), (1, 0, 0), ROW[2:]),
    "from a plane, down": ((0.5, 0.5, 0.7), (-1, 0, 0), ROW[1::-1]),
    "from the lower face": ((0, 0.5, 0.7), (1, 0, 0), ROW),
    "from the upper face": ((1, 0.5, 0.7), (-1, 0, 0), ROW[::-1]),
    "out of the upper face": ((1, 0.5, 0.7), (1, 0, 0), []),
    "out of the lower face": ((0, 0.5, 0.7), (-1, 0, 0), []),
    "away": ((2, 0.5, 0.7), (1, 0, 0), []),
    "beside": ((-1, 1.5, 0.7), (1, 0, 0), []),
    "past a corner": ((-1, 1, 0.7), (1, 1e-3, 0), []),
    "through a corner": ((-0.5, 0.5, 0.7), (1, 1, 0), []),
    "without direction": ((0.5, 0.5, 0.7), (0, 0, 0), []),
    "an almost zero direction": ((0.5, 0.5, 0.7), (1e-30, 0, 0), ROW[2:]),
    "NaN in the origin": ((NAN, 0.5, 0.7), (1, 0, 0), []),
    "NaN in the direction": ((0.5, 0.5, 0.7), (NAN, 0, 0), []),
    "from infinity": ((-INF, 0.5, 0.7), (1, 0, 0), []),
    "infinitely fast": ((-1, 0.5, 0.7), (INF, 0, 0), []),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_rays(name: str) -> None:
    o, d, expected = SPECIAL[name]
    assert [cell for cell, _, _ in scalar_cells(o, d)] == expected
    vectors = dr.llvm.ad.Array3f(*o), dr.llvm.ad.Array3f(*d)
    for mode in MODES:
        found = visited(
            dr.llvm.ad,
            3,
            1,
            Array3u(2, 3, 4),
            mode,
            ray_o=vectors[0],
            ray_d=vectors[1],
            ray_max=INF,
            grid_min=0,
            grid_max=1,
        )
        assert [tuple(index[::-1]) for index, _, _ in found[0]] == expected


def test_corners_are_one_step() -> None:
    """With an edge or corner between, several axes go on at once."""
    cube = {"res": (2, 2, 2)}
    assert [c for c, _, _ in scalar_cells((-1, -1, -1), (1, 1, 1), **cube)] == [
        (0, 0, 0),
        (1, 1, 1),
    ]
    found = scalar_cells((2, -1, 0.75), (-1, 1, 0), **cube)
    assert [c for c, _, _ in found] == [(1, 0, 1), (0, 1, 1)]


@pytest.mark.parametrize(
    "ray_max,count", [(0, 0), (-1, 0), (NAN, 0), (1, 0), (1.25, 1), (1.5, 2), (9, 4)]
)
def test_ends(ray_max: float, count: int) -> None:
    """A ray that ends in a plane does not touch what is behind."""
    assert len(scalar_cells((-1, 0.5, 0.7), (1, 0, 0), ray_max)) == count
    # Twice the direction, half as far.
    assert len(scalar_cells((-1, 0.5, 0.7), (2, 0, 0), ray_max / 2)) == count


def test_bounds() -> None:
    ray = (-1, 0.5, 0.7), (1, 0, 0)
    forward = [cell for cell, _, _ in scalar_cells(*ray)]
    turned = scalar_cells(*ray, low=(1, 0, 0), high=(0, 1, 1))
    assert [cell for cell, _, _ in turned] == forward[::-1]
    assert (turned[0][1][0], turned[0][2][0]) == (1, 0)
    for low, high in (
        ((0, 0, 0), (0, 1, 1)),
        ((0, 0, 0), (1, 0, 1)),
        ((NAN, 0, 0), (1, 1, 1)),
        ((0, 0, 0), (1, INF, 1)),
    ):
        assert scalar_cells(*ray, low=low, high=high) == []
    for res in ((0, 3, 2), (4, 0, 2), (4, 3, 0)):
        assert scalar_cells(*ray, res=res) == []
    assert scalar_cells(*ray, active=False) == []


def test_far_away() -> None:
    """Rays from afar go through as many cells, and leave no gap."""
    for distance in (1e3, 1e6, 1e9):
        found = scalar_cells(
            (-distance, 0.5, 0.7), (1, 0, 0), res=(100, 3, 2), vector=scalar.Array3f
        )
        assert [cell for cell, _, _ in found] == [(k, 1, 1) for k in range(100)]
        assert all(p[0] < 1e-4 and q[0] > 1 - 1e-4 for _, p, q in found)


def test_lanes_have_grids_of_their_own() -> None:
    def count(n: Any, *_: Any) -> Any:
        return n + 1, True

    found = dda(
        Array2f(-1, 0.5),
        Array2f(1, 0),
        Float(INF, INF, 1.5, INF),
        dr.llvm.ad.Array2u([3, 3, 3, 0], [4, 7, 4, 4]),
        Array2f(0),
        Array2f([1, 1, 1, 1], [1, 1, 1, 0.4]),
        count,
        UInt(0),
        Bool(True, True, True, True),
    )
    assert list(found) == [4, 7, 2, 0]


@pytest.mark.parametrize("mode", MODES)
def test_rays_end_when_the_function_says_so(mode: str) -> None:
    def until(state: Any, index: Any, p: Any, q: Any, active: Any) -> Any:
        n, way = state
        return (n + 1, way + (q.x - p.x)), n < limit

    limit = UInt(0, 2, 9, 9)
    n, way = dda(
        Array2f(-1, 0.5),
        Array2f(1, 0),
        INF,
        [3, 5],
        0,
        1,
        until,
        (UInt(0), Float(0)),
        Bool(True, True, True, False),
        mode=mode,
    )
    assert list(n) == [1, 3, 5, 0]
    assert np.allclose(way.numpy(), [1, 3, 5, 0])


# ---------------------------------------------------------------- integrals


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_integrals(dim: int, mode: str) -> None:
    for seed in range(3):
        rays = Rays(40, dim, seed)
        expected = [rays.integral(lane) for lane in range(40)]
        arguments = rays.arguments(dr.llvm.ad)
        vol = TensorXf64(rays.vol)
        found = integrate(**arguments, vol=vol, mode=mode)
        assert np.allclose(found.numpy(), expected, rtol=1e-11, atol=1e-11)
        plain = integrate(
            **rays.arguments(dr.llvm), vol=dr.llvm.TensorXf64(vol), mode=mode
        )
        assert type(plain) is dr.llvm.Float64
        assert (plain.numpy() == found.numpy()).all()
        single = integrate(
            **rays.arguments(dr.llvm, "f"), vol=dr.llvm.TensorXf(vol), mode=mode
        )
        assert np.allclose(single.numpy(), expected, rtol=1e-4, atol=1e-4)


def test_integrals_at_once() -> None:
    for dim in (1, 2, 3):
        rays = Rays(10, dim, 3)
        vector = getattr(scalar, f"Array{dim}f64")
        for lane in range(10):
            o, d, ray_max = rays.one(lane)
            bounds = vector(*rays.low), vector(*rays.high)
            vol = scalar.TensorXf64(rays.vol)
            found = integrate(vector(*o), vector(*d), ray_max, *bounds, vol)
            assert type(found) is float
            assert found == pytest.approx(rays.integral(lane), rel=1e-10, abs=1e-10)


def test_half_precision() -> None:
    m = dr.llvm.ad
    v = np.arange(24).reshape(2, 3, 4)
    args = m.Array3f16(-0.1, -0.2, 0.3), m.Array3f16(1, 1.5, 0.3), INF
    found = integrate(*args, m.Array3f16(0), m.Array3f16(1), m.TensorXf16(v))
    assert type(found) is m.Float16
    expected = integral_of((-0.1, -0.2, 0.3), (1, 1.5, 0.3), INF, [0] * 3, [1] * 3, v)
    assert found[0] == pytest.approx(expected, rel=3e-3)


def test_published_values() -> None:
    """Of version 1.5.0 of the published package."""
    o, d = (-0.1, -0.2, 0.3), (1, 1.5, 0.3)
    v = np.arange(24).reshape(2, 3, 4)
    found = integrate(Array3f(*o), Array3f(*d), INF, 0, 1, TensorXf(v**2))
    assert found[0] == pytest.approx(192.982, rel=1e-5)
    v = v.ravel()[:6].reshape(2, 3)
    for o2, d2, high, value in (
        ((-1, 0.5), (2, 0), 1, 2.5),
        ((4, 0.5), (-2, 0), 1, 2.5),
        ((-1, 0.5), (1, 0), 2, 3.5),
        ((-1, -1), (1, 1), 1, 3.53553),
        ((-0.1, -0.2), (1, 1.5), 1, 2.68413),
        ((-1, 1), (1, 0), 1, 4),
    ):
        found = integrate(Array2f(*o2), Array2f(*d2), INF, 0, high, TensorXf(v))
        assert found[0] == pytest.approx(value, rel=1e-5)


def test_the_reference_converges() -> None:
    rays = Rays(50, 3, 5)
    arguments, vol = rays.arguments(dr.llvm), dr.llvm.TensorXf64(rays.vol)
    exact = integrate(**arguments, vol=vol).numpy()
    assert (exact != 0).sum() > 20
    errors = [
        abs(integrate_ref(**arguments, vol=vol, n_samples=n).numpy() - exact).max()
        for n in (100, 1000)
    ]
    assert errors[1] < errors[0] / 30 and errors[1] < 1e-4
    # Trapezoids by hand.
    v = np.arange(6.0).reshape(2, 3) ** 2
    for n, value in ((2, 9.5), (3, 9), (4, 9.05556)):
        args = Array2f(0, 0.5), Array2f(1, 0), 1, 0, 1, TensorXf(v)
        assert integrate_ref(*args, n)[0] == pytest.approx(value, rel=1e-5)
    assert list(integrate_ref(Array2f(2, 0.5), *args[1:], 3)) == [0]


def test_zero_where_nothing_is_visited() -> None:
    vol = TensorXf64(np.ones((2, 3, 4)))
    for name, (o, d, cells) in SPECIAL.items():
        found = integrate(Array3f64(*o), Array3f64(*d), INF, 0, 1, vol)
        assert (found[0] != 0) == (len(cells) > 0), name
    ray = Array3f64(-1, 0.5, 0.5), Array3f64(1, 0, 0)
    for active in (False, Bool(False), dr.llvm.Bool(False)):
        assert list(integrate(*ray, INF, 0, 1, vol, active)) == [0]
    some = integrate(*ray, INF, 0, 1, vol, active=Bool(True, False, True))
    assert np.allclose(some.numpy(), [1, 0, 1])
    assert list(integrate(*ray, INF, 0, Array3f64(1, 0, 1), vol)) == [0]


# ---------------------------------------------------------------- derivatives


def inputs(dim: int) -> tuple[Any, ...]:
    """A few rays in general position: inside, through, and ending within."""
    rng = np.random.default_rng(dim)
    vector = getattr(dr.llvm.ad, f"Array{dim}f64")
    o = vector(rng.uniform(-0.3, 0.1, (dim, 3)))
    d = vector(rng.uniform(0.4, 1.2, (dim, 3)))
    low, high = (vector(*rng.uniform(a, a + 0.1, dim)) for a in (0, 1))
    vol = TensorXf64(rng.normal(size=(3, 4, 5)[:dim]))
    return o, d, Float64(5, 0.6, 0.8), low, high, vol


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_gradients(dim: int, mode: str) -> None:
    dr.check_grad(lambda *args: integrate(*args, mode=mode), *inputs(dim))


def test_gradients_of_the_reference() -> None:
    dr.check_grad(lambda *args: integrate_ref(*args, n_samples=50), *inputs(3))


def test_gradients_along_axes() -> None:
    """Components of the direction that are zero."""
    vol = TensorXf64(np.random.default_rng(1).normal(size=(3, 4, 5)))
    o = Array3f64([-1, 0.3, 0.1], [0.2, -1, 0.6], [0.7, 0.4, 2])
    d = Array3f64([1, 0, 0], [0, 2, 0], [0, 0, -1])

    def fn(o: Any, dx: Any, dy: Any, dz: Any, vol: Any) -> Any:
        return integrate(o, Array3f64(dx, dy, dz), INF, 0, 1, vol)

    dr.check_grad(fn, o, *d, vol)


def test_second_derivatives() -> None:
    vol = TensorXf64(np.random.default_rng(2).normal(size=(4, 3)))

    def program(x: Any, p: Any) -> Any:
        o, d = Array2f64(-0.2, x), Array2f64(1, 0.3 + p * x)
        return integrate(o, d, 0.9 + p, Array2f64(0), Array2f64(1, 1 + p), vol)

    check_second_order(program, Float64(0.1, 0.25, 0.4, 0.33), Float64(0.07))


def test_products_have_derivatives() -> None:
    """Of a state that is not a sum, with and without a bound."""
    sigma = np.random.default_rng(4).uniform(0.5, 2, (3, 4))

    def light(o: Any, d: Any, low: Any, sigma: Any, **hints: Any) -> Any:
        def attenuate(t: Any, index: Any, p: Any, q: Any, active: Any) -> Any:
            density = dr.gather(Float64, sigma, index.x * 4 + index.y, active)
            return t * dr.exp(-density * dr.norm(q - p)), t > 1e-6

        args = o, d, INF, dr.llvm.ad.Array2u(3, 4), low, Array2f64(1)
        return dda(*args, attenuate, Float64(1, 1, 1), True, **hints)

    o, d, _, low, _, _ = inputs(2)
    args = o, d, low, Float64(sigma.ravel())
    for mode, bound in (("symbolic", 7), ("symbolic", None), ("evaluated", None)):

        def hinted(*args: Any, hints: Any = (mode, bound)) -> Any:
            return light(*args, mode=hints[0], max_iterations=hints[1])

        dr.check_grad(hinted, *args)
    dr.enable_grad(args[3])
    lost = light(*args, max_iterations=2)
    with pytest.raises(RuntimeError, match="'max_iterations' is 2"):
        dr.backward(lost)


def test_gradients_are_finite_where_rays_miss() -> None:
    """One entry of the bounds for all lanes: a NaN of one would be one of all."""
    o = Array3f([-1, -1, NAN, 0.5, -1, 0.5], *[[0.5] * 6] * 2)
    d = Array3f([1, -1, 1, 0, INF, NAN], *[[0.0] * 6] * 2)
    low, high, vol = Array3f(0), Array3f(1), TensorXf(np.arange(24.0).reshape(2, 3, 4))
    ray_max = dr.full(Float, INF, 6)
    tracked = o, d, ray_max, low, high, vol
    dr.enable_grad(tracked)
    found = integrate(*tracked)
    assert found[0] == pytest.approx(11.5) and list(found)[1:] == [0] * 5
    dr.backward(found)
    for x in tracked:
        assert np.isfinite(dr.grad(x).numpy()).all()
    assert (dr.grad(o).numpy()[:, 1:] == 0).all()
    assert dr.grad(vol).numpy().sum() == pytest.approx(1)
    dr.disable_grad(tracked)
    flat = Array3f(1, 0, 1)
    dr.enable_grad(low, flat)
    dr.backward(integrate(o, d, ray_max, low, flat, vol))
    assert (dr.grad(flat).numpy() == 0).all() and (dr.grad(low).numpy() == 0).all()


# ---------------------------------------------------------------- in programs


def compiled(history: list[dict[str, Any]]) -> int:
    return sum(kernel["type"] == dr.KernelType.JIT for kernel in history)


def test_kernels() -> None:
    """A kernel each way: no tape."""
    o, d = Array3f(-1, dr.linspace(Float, 0, 1, 50), 0.5), Array3f(1, 0.1, 0.2)
    vol = TensorXf(np.ones((5, 6, 7)))
    dr.make_opaque(o, d, vol)
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.kernel_history_clear()
        dr.eval(integrate(o, d, INF, 0, 1, vol))
        assert compiled(dr.kernel_history()) == 1
        dr.enable_grad(o, d, vol)
        dr.backward(integrate(o, d, INF, 0, 1, vol))
        dr.eval(dr.grad((o, d, vol)))
        assert compiled(dr.kernel_history()) <= 2


@pytest.mark.parametrize("dim", [2, 3])
def test_no_read_is_out_of_range(dim: int) -> None:
    m = dr.llvm.ad
    specials = np.array([0, 1, -1, 0.5, 0.25, 1 / 3, 1e-30, 1e30, -1e30, INF, NAN])
    rng = np.random.default_rng(dim)
    o, d = (np.float32(rng.choice(specials, (dim, 4000))) for _ in range(2))
    o[:, 2000:] = rng.uniform(-1, 2, (dim, 2000))
    vector = getattr(m, f"Array{dim}f")
    vol = TensorXf(np.ones((2, 3, 4)[:dim]))
    with dr.scoped_set_flag(dr.JitFlag.Debug):
        for ray_max in (INF, 1.5):
            found = integrate(vector(o), vector(d), ray_max, 0, 1, vol).numpy()
            assert np.isfinite(found).all()
            assert (found >= 0).all() and (found <= np.sqrt(dim) * (1 + 1e-5)).all()


def test_frozen() -> None:
    @dr.freeze
    def total(o: Any, d: Any, ray_max: Any, vol: Any) -> Any:
        dr.enable_grad(vol, o)
        found = integrate(o, d, ray_max, Array3f(0), Array3f(1), vol)
        dr.backward(dr.sum(found))
        return found, dr.grad(vol), dr.grad(o)

    rng = np.random.default_rng(5)
    for n in (7, 12, 30):
        vol = TensorXf(rng.normal(size=(2, 3, 4)))
        o = Array3f(-1, Float(rng.random(n)), Float(rng.random(n)))
        d, ray_max = Array3f(1, 0.2, -0.1), Float(rng.uniform(1, 3, n))
        dr.make_opaque(vol, o, d, ray_max)
        args = o, d, ray_max, vol
        found = total(*args)
        args = dr.detach(args)
        plain = integrate(*args[:3], 0, 1, args[3]).numpy()
        assert (found[0].numpy() == plain).all()
        dr.enable_grad(args[3])
        dr.backward(dr.sum(integrate(*args[:3], 0, 1, args[3])))
        assert np.allclose(found[1].numpy(), args[3].grad.numpy(), rtol=1e-5, atol=1e-5)
    assert total.n_recordings <= 2


def test_in_loops_and_calls() -> None:
    """Recorded bodies, forward and reverse."""
    vol = TensorXf64(np.random.default_rng(6).normal(size=(3, 4)))

    def once(y: Any, vol: Any, scale: Any) -> Any:
        return integrate(Array2f64(-1, y), Array2f64(1, 0.3), INF, 0, 1, vol) * scale

    def loop(y: Any, vol: Any) -> Any:
        return dr.while_loop(
            (UInt(0), Float64(0), y, vol),
            lambda k, total, y, vol: k < 3,
            lambda k, t, y, vol: (
                k + 1,
                t + once(y + 0.1 * Float64(k), vol, 2),
                y,
                vol,
            ),
            max_iterations=3,
        )[1]

    def call(y: Any, vol: Any) -> Any:
        functions: list[Callable[..., Any]] = [
            lambda y: once(y, vol, 1),
            lambda y: once(y + 0.2, vol, 3),
        ]
        return dr.switch(UInt(0, 1, 0, 1), functions, y)

    y = Float64(0.11, 0.27, 0.43, 0.56)
    parts = [once(y + 0.1 * k, vol, 2).numpy() for k in range(3)]
    assert np.allclose(loop(y, vol).numpy(), sum(parts))
    both = once(y, vol, 1).numpy(), once(y + 0.2, vol, 3).numpy()
    assert np.allclose(call(y, vol).numpy(), np.where([1, 0, 1, 0], *both))
    dr.check_grad(loop, y, vol)
    dr.check_grad(call, y, vol)


PROGRAM = """
import drjit as dr, numpy as np, sys
sys.path.insert(0, sys.argv[1])
import test_dda as t
for dim in (1, 2, 3):
    for suffix in ("f", "f64"):
        rays = t.Rays(37, dim, 1)
        args = rays.arguments(dr.llvm.ad, suffix)
        vol = getattr(dr.llvm.ad, "TensorX" + suffix)(rays.vol)
        for mode in t.MODES:
            tracked = dr.copy((args, vol))
            dr.enable_grad(tracked)
            found = t.integrate(**tracked[0], vol=tracked[1], mode=mode)
            dr.backward(found)
            print(found.numpy().tobytes().hex())
            for name, x in {**tracked[0], "vol": tracked[1]}.items():
                print(dim, suffix, mode, name, x.grad.numpy().tobytes().hex())
for dim in (1, 2, 3, 4):
    rays = t.Rays(37, dim, 2)
    res = getattr(dr.llvm, f"Array{dim}u")(*map(int, rays.res[::-1]))
    found = t.visited(dr.llvm, dim, 37, res, None, **rays.arguments(dr.llvm, "f"))
    print([[x.tobytes().hex() for x in step] for ray in found for step in ray])
"""


def bits(**environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, os.path.dirname(__file__)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def expected_bits() -> list[str]:
    return bits(DRJIT_CPU_ENGINE="interp")


@pytest.mark.parametrize("engine", ["native", "avx2", "llvm"])
def test_engines_agree(engine: str, expected_bits: list[str]) -> None:
    if engine != "llvm" and platform.machine() != "x86_64":
        pytest.skip("there is no machine code of our own")
    environment = {"DRJIT_CPU_ENGINE": "native", "DRJIT_NATIVE_ISA": engine}
    if engine != "avx2":
        environment = {"DRJIT_CPU_ENGINE": engine}
    found = bits(**environment)
    assert len(found) == 6 * 7 * 2 + 4
    for a, b in zip(found, expected_bits, strict=True):
        if " vol " in a:  # rays add to the same entries, in an order that is left open
            kind = np.float32 if " f " in a else np.float64
            x, y = (np.frombuffer(bytes.fromhex(v.split()[-1]), kind) for v in (a, b))
            assert np.allclose(x, y, rtol=0, atol=8 * np.finfo(kind).eps * abs(y).max())
        else:
            assert a == b


# ---------------------------------------------------------------- bad input


def good() -> dict[str, Any]:
    return {
        "ray_o": Array3f(0),
        "ray_d": Array3f(1),
        "ray_max": INF,
        "grid_min": 0,
        "grid_max": 1,
        "vol": TensorXf(np.ones((2, 3, 4))),
    }


@pytest.mark.parametrize(
    "change,error,text",
    [
        (
            {"ray_o": 3},
            TypeError,
            "'ray_o' is of type int, expected an array of floats",
        ),
        ({"ray_o": Array3u(1)}, TypeError, "'ray_o' is of type"),
        ({"ray_o": Complex2f(1)}, TypeError, "'ray_o' is of type"),
        ({"ray_o": dr.llvm.ad.ArrayXf(1, 2)}, TypeError, "'ray_o' is of type ArrayXf"),
        ({"ray_o": TensorXf([1, 2, 3])}, TypeError, "'ray_o' is of type TensorXf"),
        ({"ray_d": Float(1)}, TypeError, "'ray_d' is of type Float"),
        ({"ray_d": Array2f(1)}, ValueError, "'ray_d' has 2 components, expected 3"),
        ({"ray_d": Array3f64(1)}, TypeError, "'ray_d' has entries of type Float64"),
        ({"ray_max": Float64(1)}, TypeError, "'ray_max' has entries of type Float64"),
        ({"ray_max": UInt(1)}, TypeError, "'ray_max' has entries of type UInt32"),
        ({"grid_min": Array2f(0)}, ValueError, "'grid_min' has 2 components"),
        ({"grid_max": [1, 2]}, ValueError, "'grid_max' has 2 components, expected 3"),
        ({"grid_max": Array3f64(1)}, TypeError, "'grid_max' has entries of type"),
        ({"vol": TensorXi(np.ones((2, 3, 4)))}, TypeError, "entries of type Int32"),
        ({"vol": TensorXf64(np.ones((2, 3, 4)))}, TypeError, "entries of type Float64"),
        ({"vol": Float(1, 2)}, TypeError, "'vol' is of type Float, expected a tensor"),
        ({"vol": np.ones((2, 3, 4))}, TypeError, "'vol' is of type ndarray"),
        ({"vol": TensorXf(np.ones((2, 3)))}, ValueError, r"shape \(2, 3\), expected 3"),
        ({"vol": TensorXf(np.ones((2, 1, 4)))}, ValueError, "of at least 2"),
        ({"vol": TensorXf(np.ones((2, 0, 4)))}, ValueError, "of at least 2"),
        ({"ray_o": Array4f(0), "ray_d": Array4f(1)}, ValueError, "expected up to 3"),
        ({"active": 1}, TypeError, "'active' is of type int, expected a mask"),
        ({"active": UInt(1)}, TypeError, "'active' is of type UInt"),
        ({"mode": "fast"}, RuntimeError, "'mode' is 'fast'"),
    ],
)
def test_errors(change: dict[str, Any], error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        integrate(**{**good(), **change})


def test_errors_of_the_reference() -> None:
    for n in (1, 0, -3, 2.5, True, None):
        with pytest.raises(ValueError, match=r"integrate_ref\(\): 'n_samples' is"):
            integrate_ref(**good(), n_samples=n)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "res,error,text",
    [
        (Array3f(2), TypeError, "'grid_res' is of type Array3f, expected an array of"),
        (2.5, TypeError, "'grid_res' is of type float"),
        (None, TypeError, "'grid_res' is of type NoneType"),
        ([2, 3], ValueError, "'grid_res' has 2 components, expected 3"),
        (dr.llvm.ad.Array2u(3), ValueError, "'grid_res' has 2 components"),
    ],
)
def test_errors_of_dda(res: Any, error: type, text: str) -> None:
    arguments = {**good(), "grid_res": res, "func": print, "state": 0, "active": True}
    del arguments["vol"]
    with pytest.raises(error, match=rf"drjit.dda.dda\(\): {text}"):
        dda(**arguments)


def test_an_exception_of_the_function() -> None:
    def fails(*_: Any) -> Any:
        raise KeyError("mine")

    arguments = {**good(), "grid_res": 2, "func": fails, "state": UInt(0)}
    del arguments["vol"]
    for mode in (None, "evaluated", "scalar"):
        with pytest.raises(KeyError, match="mine"):
            dda(**arguments, active=True, mode=mode)
