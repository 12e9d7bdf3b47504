"""Small renderers, differentiated as renderers are: their gradients against difference
quotients in double precision.

Path replay: a primal loop computes radiance with nothing tracked; in reverse a second,
recorded loop goes along the same paths and differentiates each bounce by local
quantities, with what is left of the radiance as a state. Random numbers are those of
the primal loop, so that the quotients are of the same function.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import PCG32, Array3f64, Bool, Float64, UInt, UInt64

MODES = ["symbolic", "evaluated"]
LANES = 24


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    yield
    gc.collect()
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


def quotients(f: Callable[..., Any], *args: Any) -> list[Any]:
    """Of a number by each entry of arrays of NumPy, in fourth order."""
    found = []
    for k, arg in enumerate(args):
        own = np.zeros(arg.shape)
        for place in np.ndindex(arg.shape):
            ends = []
            for steps in (1, 2):
                h = 1e-4 * steps
                both = []
                for sign in (1, -1):
                    moved = [a.copy() for a in args]
                    moved[k][place] += sign * h
                    both.append(f(*moved))
                ends.append((both[0] - both[1]) / (2 * h))
            own[place] = (4 * ends[0] - ends[1]) / 3
        found.append(own)
    return found


def value(x: Any) -> float:
    return float(dr.sum(dr.detach(x))[0])


def compare(found: Any, expected: list[Any], rtol: float = 1e-7) -> None:
    for a, b in zip(found, expected, strict=True):
        scale = max(np.abs(b).max(), 1e-3)
        assert np.allclose(dr.grad(a).numpy(), b, rtol=rtol, atol=rtol * scale)


# ---------------------------------------------------------------- emission, absorption


def march(density: Any, colour: Any, mode: str) -> Any:
    """Along rays through a grid of eight cells: radiance after 20 steps."""
    start = dr.arange(Float64, LANES) / LANES

    def body(i: Any, radiance: Any, through: Any) -> Any:
        place = (Float64(i) + start) * (7 / 21)
        cell = UInt(dr.floor(place))
        weight = place - dr.floor(place)

        def at(table: Any) -> Any:
            low, high = (dr.gather(Float64, table, cell + k) for k in (0, 1))
            return dr.lerp(low, high, weight)

        absorbed = 1 - dr.exp(-0.25 * at(density))
        radiance = radiance + through * absorbed * at(colour)
        return i + 1, radiance, through * (1 - absorbed)

    return dr.while_loop(
        (UInt(0), Float64(0), Float64(1)),
        lambda i, radiance, through: (i < 20) & (through > 0.02),
        body,
        mode=mode,
        max_iterations=20,
    )[1]


TABLES = np.linspace(0.3, 1.7, 8) ** 2, 1 + np.sin(np.arange(8.0))


@pytest.mark.parametrize("mode", MODES)
def test_emission_and_absorption(mode: str) -> None:
    weights = Float64(0.5 + np.arange(LANES) / LANES)

    def image(density: Any, colour: Any, mode: str) -> Any:
        return dr.sum(march(density, colour, mode) * weights)

    def number(*tables: Any) -> float:
        return value(image(*(Float64(t) for t in tables), "symbolic"))

    tables = [Float64(t) for t in TABLES]
    dr.enable_grad(tables)
    expected = quotients(number, *TABLES)
    dr.backward(image(*tables, mode))
    compare(tables, expected)

    # Forward: the derivative in a direction is that of all entries together.
    directions = [np.cos(np.arange(8.0)), np.linspace(-1, 1, 8)]
    dr.clear_grad(tables)
    radiance = image(*tables, mode)
    dr.set_grad(tables, [Float64(d) for d in directions])
    found = value(dr.forward_to(radiance))
    along = sum((e * d).sum() for e, d in zip(expected, directions, strict=True))
    assert abs(found - along) < 1e-7 * abs(along)


# ---------------------------------------------------------------- path replay


class Scene:
    """What materials read, by number of a cell."""

    def __init__(self, albedo: Any, emission: Any, gain: Any) -> None:
        self.albedo, self.emission, self.gain = albedo, emission, gain
        self.materials = [Matte(self), Shiny(self)]
        self.total: Any = None

    def close(self) -> None:
        """Instances live until they are removed."""
        for material in self.materials:
            dr.detail.remove_instance(material)
        self.materials.clear()

    def parameters(self) -> list[Any]:
        return [self.albedo, self.emission, self.gain]

    def choose(self, first: Any) -> Any:
        array = dr.array_t(Material)
        number = dr.select(first, UInt(0), UInt(1))
        return dr.gather(array, array(*self.materials), number)


class Material(dr.Instance):  # type: ignore[name-defined, misc]
    def __init__(self, scene: Scene) -> None:
        self.scene = scene


class Matte(Material):
    def eval(self, cell: Any, cosine: Any) -> Any:
        albedo = dr.gather(Float64, self.scene.albedo, cell)
        return albedo * (0.5 + 0.5 * cosine), dr.gather(
            Float64, self.scene.emission, cell
        )


class Shiny(Material):
    def eval(self, cell: Any, cosine: Any) -> Any:
        albedo = dr.gather(Float64, self.scene.albedo, cell)
        weight = albedo * dr.exp(-self.scene.gain * dr.square(1 - cosine))
        return weight, dr.gather(Float64, self.scene.emission, cell) * cosine


DEPTH = 5


def trace(scene: Scene, mode: str, call: str, seeds: Any = None) -> Any:
    """The radiance of all paths. With its gradient, and the radiance in the scene: the
    second pass, which differentiates each bounce."""

    def body(i: Any, rng: Any, through: Any, radiance: Any, active: Any) -> Any:
        cell = dr.minimum(UInt(rng.next_float64() * 4), 3)
        cosine = rng.next_float64()
        which = scene.choose(rng.next_float64() < 0.4)
        with (
            dr.scoped_set_flag(dr.JitFlag.SymbolicCalls, call == "symbolic"),
            dr.resume_grad(when=seeds is not None),
        ):
            weight, emitted = which.eval(cell, cosine)
            if seeds is not None:  # 'radiance' is what is left of it
                rest = radiance - dr.detach(through * emitted)
                local = through * emitted + rest * weight / dr.detach(weight)
                dr.backward_from(dr.select(active, local * seeds, 0))
        plain = seeds is not None
        weight = dr.detach(weight) if plain else weight
        change = dr.select(
            active, through * (dr.detach(emitted) if plain else emitted), 0
        )
        radiance = radiance - change if plain else radiance + change
        survives = rng.next_float64() < 0.8
        through = dr.select(survives & active, through * weight / 0.8, through)
        return i + 1, rng, through, radiance, active & survives

    total = dr.zeros(Float64, LANES) if seeds is None else scene.total
    lanes = dr.ones(Float64, LANES), total, dr.full(Bool, True, LANES)
    return dr.while_loop(
        (UInt(0), PCG32(LANES, UInt64(7)), *lanes),
        lambda i, rng, through, radiance, active: (i < DEPTH) & active,
        body,
        mode=mode,
        max_iterations=DEPTH,
    )[3]


class Replay(dr.CustomOp):  # type: ignore[name-defined, misc]
    """Gradients of the scene are not given back, but added where they belong."""

    def eval(self, scene: Scene, modes: tuple[str, str], *parameters: Any) -> Any:
        self.scene, self.modes = scene, modes
        with dr.suspend_grad():
            scene.total = trace(scene, *modes)
        return scene.total

    def backward(self) -> None:
        with dr.suspend_grad():
            trace(self.scene, *self.modes, self.grad_out())


SCENE = (
    np.array([0.3, 0.6, 0.8, 0.5]),
    np.array([0.2, 1.5, 0.7, 0.4]),
    np.array([1.3]),
)
SEEDS = Float64(0.5 + np.arange(LANES) % 5)


def make_scene(*tables: Any) -> Scene:
    return Scene(*(Float64(t) for t in tables))


def radiance_of(*tables: Any) -> Any:
    scene = make_scene(*tables)
    radiance = trace(scene, "symbolic", "symbolic").numpy()
    scene.close()
    return radiance


def path_number(*tables: Any) -> float:
    return float((radiance_of(*tables) * SEEDS.numpy()).sum())


@pytest.mark.parametrize(
    ("mode", "call"),
    [("symbolic", "symbolic"), ("evaluated", "symbolic"), ("evaluated", "evaluated")],
)
@pytest.mark.parametrize("way", ["replay", "tape"])
def test_paths(way: str, mode: str, call: str) -> None:
    scene = make_scene(*SCENE)
    dr.enable_grad(scene.parameters())
    if way == "replay":
        radiance = dr.custom(Replay, scene, (mode, call), *scene.parameters())
    else:
        radiance = trace(scene, mode, call)
    assert np.allclose(radiance.numpy(), radiance_of(*SCENE))
    dr.set_grad(radiance, SEEDS)
    dr.enqueue(dr.ADMode.Backward, radiance)
    dr.traverse(dr.ADMode.Backward)
    compare(scene.parameters(), quotients(path_number, *SCENE))
    scene.close()


def test_paths_forward() -> None:
    directions = np.cos(np.arange(4)), np.linspace(1, -1, 4), np.array([0.7])
    expected = quotients(path_number, *SCENE)
    along = sum((e * d).sum() for e, d in zip(expected, directions, strict=True))
    for mode in MODES:
        scene = make_scene(*SCENE)
        dr.enable_grad(scene.parameters())
        radiance = trace(scene, mode, mode) * SEEDS
        dr.set_grad(scene.parameters(), [Float64(d) for d in directions])
        found = value(dr.forward_to(radiance))
        assert abs(found - along) < 1e-7 * abs(along)
        scene.close()


# ---------------------------------------------------------------- delta tracking


def woodcock(density: Any, at: Any, mode: str) -> Any:
    """Light that gets through four cells, by collisions with a density of at most 2, of
    which some are real: chosen by the density 'at', and weighed by the other one."""

    def body(i: Any, rng: Any, x: Any, weight: Any, active: Any) -> Any:
        x = x - dr.log(1 - rng.next_float64()) / 2
        inside = x < 4
        cell = UInt(dr.minimum(x, 3.5))
        here = dr.gather(Float64, density, cell, active & inside)
        chosen = dr.gather(Float64, at, cell, active & inside)
        real = rng.next_float64() < chosen / 2
        score = dr.select(real, here / chosen, (2 - here) / (2 - chosen))
        weight = dr.select(active & inside, weight * score, weight)
        weight = dr.select(active & inside & real, weight * 0.6, weight)
        return i + 1, rng, x, weight, active & inside

    lanes = (
        dr.zeros(Float64, LANES),
        dr.ones(Float64, LANES),
        dr.full(Bool, True, LANES),
    )
    return dr.while_loop(
        (UInt(0), PCG32(LANES, UInt64(3)), *lanes),
        lambda i, rng, x, weight, active: active & (i < 64),
        body,
        mode=mode,
        max_iterations=64,
    )[3]


@pytest.mark.parametrize("mode", MODES)
def test_delta_tracking(mode: str) -> None:
    """The score of decisions: a product of ratios, each 1, with the derivative of the
    logarithm of its probability."""
    densities = np.array([0.4, 1.2, 0.7, 1.6])

    def number(density: Any) -> float:
        return value(
            dr.square(woodcock(Float64(density), Float64(densities), "symbolic"))
        )

    density = Float64(densities)
    dr.enable_grad(density)
    dr.backward(dr.square(woodcock(density, dr.detach(density), mode)))
    compare([density], quotients(number, densities))


# ---------------------------------------------------------------- sphere tracing


def distance(x: Any, y: Any, z: Any, shape: Any) -> Any:
    """To two spheres that are blended."""

    def to(k: int) -> Any:
        cx, cy, cz, radius = (
            dr.gather(Float64, shape, UInt(4 * k + j)) for j in range(4)
        )
        return (
            dr.sqrt(dr.square(x - cx) + dr.square(y - cy) + dr.square(z - cz)) - radius
        )

    a, b = to(0), to(1)
    return -dr.log(dr.exp(-8 * a) + dr.exp(-8 * b)) / 8


class Hit(dr.CustomOp):  # type: ignore[name-defined, misc]
    """Where a ray meets the shape, by the implicit function theorem."""

    def eval(self, x: Any, y: Any, shape: Any, mode: str) -> Any:
        self.x, self.y, self.shape = x, y, shape

        def body(i: Any, z: Any) -> Any:
            return i + 1, z + 0.9 * distance(x, y, z, shape)

        _, self.z = dr.while_loop(
            (UInt(0), dr.zeros(Float64, dr.width(x))),
            lambda i, z: (i < 300) & (abs(distance(x, y, z, shape)) > 1e-14),
            body,
            mode=mode,
        )
        return self.z

    def attached(self, propagate: Any) -> Any:
        x, y, z, shape = dr.detach((self.x, self.y, self.z, self.shape))
        dr.enable_grad(x, y, z, shape)
        return propagate(x, y, z, shape, distance(x, y, z, shape))

    def slope(self) -> Any:
        def along(x: Any, y: Any, z: Any, shape: Any, d: Any) -> Any:
            dr.backward(d)
            return dr.detach(z.grad)

        return self.attached(along)

    def backward(self) -> None:
        slope = self.slope()

        def back(x: Any, y: Any, z: Any, shape: Any, d: Any) -> None:
            dr.set_grad(d, -self.grad_out() / slope)
            dr.enqueue(dr.ADMode.Backward, d)
            dr.traverse(dr.ADMode.Backward)
            for name, own in (("x", x), ("y", y), ("shape", shape)):
                self.set_grad_in(name, own.grad)

        self.attached(back)

    def forward(self) -> None:
        slope = self.slope()

        def there(x: Any, y: Any, z: Any, shape: Any, d: Any) -> None:
            for name, own in (("x", x), ("y", y), ("shape", shape)):
                dr.set_grad(own, self.grad_in(name))
            self.set_grad_out(-dr.forward_to(d) / slope)

        self.attached(there)


def shade(shape: Any, light: Any, mode: str) -> Any:
    """Each ray has an offset of its own, which the surface's slope has to do with."""
    x = dr.linspace(Float64, -0.4, 0.4, LANES) + 0 * light
    y = 0.3 * x + 0.05
    z = dr.custom(Hit, x, y, shape, mode)
    height = distance(x, y, z - 0.1, shape)
    return dr.sum(dr.square(z) * light + height * dr.sin(3 * z))


@pytest.mark.parametrize("mode", MODES)
def test_sphere_tracing(mode: str) -> None:
    shapes = np.array([0.1, 0.2, 2.0, 0.9, -0.3, 0.1, 2.3, 0.8])
    lights = np.array([1.4])

    def number(shape: Any, light: Any) -> float:
        return value(shade(Float64(shape), Float64(light), "symbolic"))

    shape, light = Float64(shapes), Float64(lights)
    dr.enable_grad(shape, light)
    expected = quotients(number, shapes, lights)
    dr.backward(shade(shape, light, mode))
    compare([shape, light], expected)
    dr.clear_grad((shape, light))
    result = shade(shape, light, mode)
    dr.set_grad((shape, light), (Float64(np.cos(np.arange(8))), Float64(0.5)))
    along = (expected[0] * np.cos(np.arange(8))).sum() + 0.5 * expected[1].sum()
    assert abs(value(dr.forward_to(result)) - along) < 1e-7 * abs(along)


# ---------------------------------------------------------------- splats


SIDE = 8


def splat(x: Any, y: Any, width: Any, colour: Any, how: str) -> Any:
    """Blobs, each added to the pixels around its centre."""
    image, total = dr.zeros(Float64, SIDE * SIDE), dr.zeros(Float64, SIDE * SIDE)
    cx, cy = dr.floor(dr.detach(x)), dr.floor(dr.detach(y))

    def add(k: Any) -> None:
        px = cx + Float64(k % 3) - 1
        py = cy + Float64(k // 3) - 1
        inside = (px >= 0) & (px < SIDE) & (py >= 0) & (py < SIDE)
        place = UInt(dr.select(inside, py * SIDE + px, 0))
        offset = dr.square(px + 0.5 - x) + dr.square(py + 0.5 - y)
        weight = dr.exp(-offset / dr.square(width))
        dr.scatter_add(image, weight * colour, place, inside)
        dr.scatter_add(total, weight, place, inside)

    if how == "unrolled":
        for k in range(9):
            add(UInt(k))
    else:

        def body(k: Any) -> Any:
            add(k)
            return (k + 1,)

        dr.while_loop((UInt(0),), lambda k: k < 9, body, mode=how, max_iterations=9)
    return image / (total + 0.1)


@pytest.mark.parametrize("how", ["unrolled", *MODES])
def test_splats(how: str) -> None:
    rng = np.random.default_rng(5)
    blobs = [
        rng.uniform(0.2, SIDE - 0.2, 12) // 1 + rng.uniform(0.1, 0.9, 12),
        rng.uniform(0.2, SIDE - 0.2, 12) // 1 + rng.uniform(0.1, 0.9, 12),
        rng.uniform(0.4, 0.9, 12),
        rng.uniform(0, 1, 12),
    ]
    goal = Float64(rng.random(SIDE * SIDE))

    def loss(how: str, *blobs: Any) -> Any:
        return dr.sum(dr.square(splat(*blobs, how) - goal))

    arrays = [Float64(b) for b in blobs]
    dr.enable_grad(arrays)
    dr.backward(loss(how, *arrays))
    compare(
        arrays, quotients(lambda *b: value(loss("unrolled", *map(Float64, b))), *blobs)
    )


# ---------------------------------------------------------------- samples that move


@pytest.mark.parametrize("mode", MODES)
def test_moving_edges(mode: str) -> None:
    """The light of a strip between two edges: its samples move with them, so that the
    edges have derivatives. The directions are normalised vectors."""

    def image(edges: Any, height: Any, mode: str) -> Any:
        def body(i: Any, rng: Any, light: Any) -> Any:
            low, high = (dr.gather(Float64, edges, UInt(k)) for k in (0, 1))
            x = dr.lerp(low, high, rng.next_float64())
            to = dr.normalize(Array3f64(x, 0.3, height))
            return i + 1, rng, light + (high - low) * to.z / dr.squared_norm(to + x)

        state = UInt(0), PCG32(LANES, UInt64(1)), dr.zeros(Float64, LANES)
        return dr.sum(
            dr.while_loop(
                state, lambda i, rng, light: i < 6, body, mode=mode, max_iterations=6
            )[2]
        )

    places = np.array([-0.3, 0.9]), np.array([1.2])
    arrays = [Float64(p) for p in places]
    dr.enable_grad(arrays)
    dr.backward(image(*arrays, mode))
    compare(
        arrays,
        quotients(lambda *p: value(image(*map(Float64, p), "symbolic")), *places),
    )


# ---------------------------------------------------------------- an optimiser's step


def test_frozen_descent() -> None:
    """The loss falls, and a frozen step is repeated and does what the other does."""
    goal = march(Float64(TABLES[0] + 0.3), Float64(TABLES[1]), "symbolic")
    dr.eval(goal)

    def step(density: Any, colour: Any, goal: Any) -> Any:
        dr.enable_grad(density)
        loss = dr.sum(dr.square(march(density, colour, "symbolic") - goal))
        dr.backward(loss)
        return dr.detach(density) - 0.5 * density.grad, dr.detach(loss)

    seen = []
    frozen = dr.freeze(step)
    for function in (step, frozen):
        density, colour = (Float64(t) for t in TABLES)
        losses = []
        for _ in range(6):
            density, loss = function(density, colour, goal)
            dr.eval(density, loss)
            losses.append(loss[0])
        seen.append((losses, list(density)))
        assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0] / 2
    assert frozen.n_recordings <= 2
    assert np.allclose(seen[0][0], seen[1][0], rtol=1e-12)
    assert np.allclose(seen[0][1], seen[1][1], rtol=1e-12)
