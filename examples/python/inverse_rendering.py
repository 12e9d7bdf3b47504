"""From photographs back to the thing: a renderer, differentiated.

    python examples/python/inverse_rendering.py [PICTURE.png]

A sculpture of three balls that melt into each other is photographed from four sides.
From the photographs alone we want to know where the balls are, how large, how the
surface is painted, and where the light comes from.

We begin with a wrong scene and go downhill: the gradient of the difference between our
pictures and the photographs says how to change each of the 1,551 numbers that describe
the scene. It is computed in reverse, in a few times the time of rendering.

Three things are worth a look. The renderer is a recorded loop, as is its derivative.
Pixels have to change *smoothly* with the scene, also at the outline, for a gradient to
mean something. And one derivative is left out (dr.detach), since it leads astray.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import drjit as dr
from drjit.llvm.ad import Array3f, Float, UInt
from picture import clock, draw, pixels, show, verdict

SIZE, VIEWS, TURNS = 96, 4, 150  # pixels of a side, photographs, steps
TOLERANCE = {"center": 0.02, "radius": 0.02, "paint": 0.04, "sun": 2.0}  # of the result
BALLS, BLEND = 3, 0.12  # how far the balls melt into each other
ACROSS, DOWN = 32, 16  # texels of the paint
STEPS, NEAR, FAR = 40, 1e-3, 5.8  # of a ray
EDGE, BACKGROUND = 0.03, (0.1, 0.12, 0.15)  # how far an outline is smeared; color


@dataclass
class Scene:
    """What is looked for."""

    center: Array3f  # an entry for each ball, as of the radius
    radius: Float
    paint: Array3f  # a color for each direction from the origin
    sun: Array3f  # the direction of the light as the photographer sees it


Balls = list[tuple[Array3f, Float]]  # values that are the same in all lanes


def distance(balls: Balls, p: Array3f) -> Float:
    """How far a point is from the surface, or a little less: a smooth minimum."""
    return -BLEND * dr.log(
        sum(dr.exp((radius - dr.norm(p - center)) / BLEND) for center, radius in balls)
    )


def normal(balls: Balls, p: Array3f) -> Array3f:
    """The direction in which the distance grows."""
    total = Array3f(0)
    for center, radius in balls:
        length = dr.norm(p - center)
        total += (p - center) * (dr.exp((radius - length) / BLEND) / length)
    return dr.normalize(total)


@dr.syntax
def march(balls: Balls, o: Array3f, d: Array3f) -> tuple[Float, Float]:
    """Follow rays: the least distance from the surface, and where that was.

    Nothing can be nearer than the distance, so a ray may go as far in one step. The
    bound lets the reverse derivative allocate room for all iterations at once.
    """
    t, k, nearest, place = Float(2.2), UInt(0), Float(dr.inf), Float(0)
    while dr.hint((k < STEPS) & (nearest > NEAR) & (t < FAR), max_iterations=STEPS):
        h = distance(balls, o + d * t)
        if h < nearest:
            nearest, place = Float(h), Float(t)
        t += h
        k += 1
    return nearest, place


def paint_at(scene: Scene, direction: Array3f) -> Array3f:
    """Four texels, by their distance; in reverse, each pixel adds to those it saw."""
    u = dr.atan2(direction.x, direction.z) * (ACROSS / (2 * dr.pi)) + (ACROSS - 0.5)
    v = dr.acos(dr.clip(direction.y, -0.999, 0.999)) * (DOWN / dr.pi) - 0.5
    v = dr.clip(v, 0, DOWN - 1.001)
    i, j = UInt(u), UInt(v)
    right, below = u - dr.floor(u), v - dr.floor(v)

    def texel(i: UInt, j: UInt) -> Array3f:
        return dr.gather(Array3f, scene.paint, j * ACROSS + i % ACROSS)

    above = dr.lerp(texel(i, j), texel(i + 1, j), right)
    return dr.lerp(above, dr.lerp(texel(i, j + 1), texel(i + 1, j + 1), right), below)


def render(scene: Scene) -> Array3f:
    """The photographs, one after the other."""
    pixel = dr.arange(UInt, SIZE * SIZE * VIEWS)
    x = (Float(pixel % SIZE) + 0.5) / SIZE * 2 - 1
    y = 1 - (Float(pixel // SIZE % SIZE) + 0.5) / SIZE * 2
    sine, cosine = dr.sincos(Float(pixel // (SIZE * SIZE)) * (2 * dr.pi / VIEWS))

    def turn(v: Array3f) -> Array3f:
        """From the photographer's view to the sculpture's."""
        return Array3f(cosine * v.x + sine * v.z, v.y, cosine * v.z - sine * v.x)

    o, d = turn(Array3f(0, 0, 4)), turn(dr.normalize(Array3f(x * 0.33, y * 0.33, -1)))
    # In front of the loop: within it, the reverse of a gather would add to memory.
    parts = scene.center, scene.radius
    balls = [dr.gather(tuple, parts, UInt(k)) for k in range(BALLS)]
    nearest, place = march(balls, o, d)
    dr.eval(nearest, place)  # so that the derivative need not compute them again
    p = o + d * place
    lit = dr.maximum(dr.dot(normal(balls, p), turn(dr.normalize(scene.sun))), 0)
    # Outlines and shading are to tell the shape, not the paint, whose stripes would
    # pull the surface to where they happen to fit: its direction counts as constant.
    color = paint_at(scene, dr.detach(dr.normalize(p))) * (0.25 + 0.9 * lit)
    # A pixel beside the outline has a little of what it has nearly met: no derivative
    # sees the jump of a pixel that an outline moves across.
    cover = dr.exp(-dr.square(dr.maximum(nearest - NEAR, 0) / EDGE))
    return dr.lerp(Array3f(BACKGROUND), color, cover)


def hidden_scene() -> Scene:
    """What has been photographed."""
    u, v = dr.meshgrid(dr.arange(Float, ACROSS) + 0.5, dr.arange(Float, DOWN) + 0.5)
    stripes = 0.5 + 0.5 * dr.sin(u * (6 * dr.pi / ACROSS) + v * (4 * dr.pi / DOWN))
    return Scene(
        center=Array3f([0.4, -0.4, 0.05], [-0.25, -0.2, 0.4], [0.2, 0.05, -0.15]),
        radius=Float(0.5, 0.42, 0.48),
        paint=dr.lerp(Array3f(0.85, 0.35, 0.15), Array3f(0.15, 0.45, 0.75), stripes),
        sun=Array3f(0.6, 0.5, 0.6),
    )


def first_guess() -> Scene:
    """Three gray balls near the middle, with the light behind the photographer."""
    return Scene(
        center=Array3f([0.2, -0.2, 0], [-0.1, -0.1, 0.2], [0, 0, 0]),
        radius=Float(0.4, 0.4, 0.4),
        paint=dr.full(Array3f, 0.5, ACROSS * DOWN),
        sun=Array3f(0, 0.5, 1),
    )


def reconstruct(photographs: Array3f, turns: int) -> tuple[Scene, list[float]]:
    """Go downhill from the first guess: the scene, and the loss of each turn."""
    rates = {"center": 0.02, "radius": 0.02, "paint": 0.02, "sun": 0.03}
    opt, losses = dr.opt.Adam(0.02, vars(first_guess()), beta_2=0.99), []
    for turn in range(turns):
        loss = dr.mean(dr.squared_norm(render(Scene(**opt)) - photographs))
        dr.backward(loss)
        speed = min(1, 2 * (1 - turn / turns))
        opt.set_learning_rate({name: speed * rate for name, rate in rates.items()})
        opt.step()
        opt["paint"] = dr.clip(opt["paint"], 0.02, 1)  # black would hide bad shapes
        losses.append(loss[0])
    return Scene(**dr.detach(dict(opt))), losses


def plot(figure: Any, scenes: dict[str, Scene], losses: list[float]) -> None:
    """Photographs and paint of each scene, and how the loss went down."""
    axes = figure.subplots(len(scenes), 2, width_ratios=(4, 1.6))
    for (left, right), (title, scene) in zip(axes, scenes.items(), strict=True):
        views = pixels(render(scene), SIZE).reshape(VIEWS, SIZE, SIZE, 3)
        show(left, title, views.swapaxes(0, 1).reshape(SIZE, VIEWS * SIZE, 3))
        if title != "first guess":
            show(right, "paint", pixels(scene.paint, ACROSS))
    axes[0, 1].semilogy(losses)
    axes[0, 1].set(title="loss", xlabel="turn")


def main() -> int:
    """Photograph, reconstruct, compare."""
    path = sys.argv[1] if len(sys.argv) > 1 else "inverse_rendering.png"
    truth = hidden_scene()
    photographs = render(truth)
    dr.eval(photographs)
    (found, losses), took = clock(lambda: reconstruct(photographs, TURNS))
    print(f"{took / TURNS:.0f} ms a turn, loss {losses[0]:.1e} -> {losses[-1]:.1e}")
    # How far off each kind of parameter is: the worst, but the mean of the paint.
    cosine = dr.dot(dr.normalize(found.sun), dr.normalize(truth.sun))
    off = {
        "center": dr.max(dr.norm(found.center - truth.center))[0],
        "radius": dr.max(dr.abs(found.radius - truth.radius))[0],
        "paint": dr.mean(dr.abs(found.paint - truth.paint), axis=None)[0],
        "sun": dr.rad2deg(dr.safe_acos(cosine))[0],
    }
    print("off by", *(f"{name} {error:.4f}" for name, error in off.items()))
    scenes = {"first guess": first_guess(), "found": found, "photographs": truth}
    ok = all(error < TOLERANCE[name] for name, error in off.items())
    status = verdict(ok, f"errors below {TOLERANCE}")
    draw(path, lambda figure: plot(figure, scenes, losses), 10, 6)
    return status


if __name__ == "__main__":
    sys.exit(main())
