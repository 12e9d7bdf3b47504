"""From photographs back to the thing: a renderer, differentiated.

    python examples/python/inverse_rendering.py [PICTURE.png]

A sculpture of three balls that melt into each other stands on a turntable, and is
photographed from four sides. From the photographs alone we want to know where the balls
are, how large, how the surface is painted, and where the light comes from.

We write a renderer that makes photographs of such a scene, begin with a wrong scene,
and go downhill: the gradient of the difference between our pictures and the photographs
says how to change each of the 1,551 numbers that describe the scene. It is computed in
reverse, through all of the renderer, in a few times the time of rendering.

Three things are worth a look. The renderer is a loop in which each ray takes as many
steps as it needs; it is recorded into a kernel, and so is its derivative. Pixels have
to change *smoothly* with the scene for a gradient to mean something, also at the
outline. And one derivative is left out on purpose (dr.detach), since it leads astray.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import drjit as dr
from drjit.llvm.ad import Array3f, Float, UInt
from picture import clock, draw, pixels, show

SIZE, VIEWS = 96, 4  # pixels of a side, photographs
TURNS = 150
BALLS, BLEND = 3, 0.12  # how far the balls melt into each other
ACROSS, DOWN = 32, 16  # texels of the paint
STEPS, NEAR, FAR = 40, 1e-3, 5.8  # of a ray
EDGE = 0.03  # how far an outline is smeared
BACKGROUND = (0.1, 0.12, 0.15)


@dataclass
class Scene:
    """What is looked for: an entry of 'center' and 'radius' for each ball.

    Each component of 'center' has to have an entry for each ball: one entry that stands
    for all balls would be one number, whose gradient is the sum. 'paint' has a color
    for each direction from the origin, 'sun' is the direction of the light as the
    photographer sees it.
    """

    center: Array3f
    radius: Float
    paint: Array3f
    sun: Array3f


Balls = list[tuple[Array3f, Float]]


def balls_of(scene: Scene) -> Balls:
    """The balls one by one, as values that are the same in all lanes.

    They are gathered here, in front of the loop, and not where they are used. The
    reverse of a gather is an addition to memory; the gradient of a value from outside
    of a loop is a sum that stays in a register until the loop is done.
    """
    return [
        (
            dr.gather(Array3f, scene.center, UInt(k)),
            dr.gather(Float, scene.radius, UInt(k)),
        )
        for k in range(BALLS)
    ]


def distance(balls: Balls, p: Array3f) -> Float:
    """How far a point is from the surface, or a little less: a smooth minimum."""
    return -BLEND * dr.log(
        sum(dr.exp((radius - dr.norm(p - center)) / BLEND) for center, radius in balls)
    )


def normal(balls: Balls, p: Array3f) -> Array3f:
    """The direction in which the distance grows."""
    total = Array3f(0)
    for center, radius in balls:
        away = p - center
        length = dr.norm(away)
        total += away * (dr.exp((radius - length) / BLEND) / length)
    return dr.normalize(total)


@dr.syntax
def march(balls: Balls, o: Array3f, d: Array3f) -> tuple[Float, Float]:
    """Follow rays: the least distance from the surface, and where that was.

    Nothing can be nearer than the distance, so a ray may go as far in one step. The
    derivative of what it arrives at comes out of the loop by itself: each step corrects
    the error of the one before, and its derivative with it. The bound lets the reverse
    derivative allocate room for the states of all iterations at once.
    """
    t, k = Float(2.2), UInt(0)
    nearest, place = Float(dr.inf), Float(0)
    active = (k < STEPS) & (nearest > NEAR) & (t < FAR)
    while dr.hint(active, max_iterations=STEPS):
        h = distance(balls, o + d * t)
        if h < nearest:
            nearest, place = Float(h), Float(t)
        t += h
        k += 1
        active = (k < STEPS) & (nearest > NEAR) & (t < FAR)
    return nearest, place


def paint_at(scene: Scene, direction: Array3f) -> Array3f:
    """The paint in a direction: four texels, by their distance.

    The reverse of these gathers is a scatter-addition: each pixel adds what it has to
    say to the texels that it has seen.
    """
    u = dr.atan2(direction.x, direction.z) * (ACROSS / (2 * dr.pi)) + (ACROSS - 0.5)
    v = dr.acos(dr.clip(direction.y, -0.999, 0.999)) * (DOWN / dr.pi) - 0.5
    v = dr.clip(v, 0, DOWN - 1.001)
    i, j = UInt(u), UInt(v)
    right, below = u - dr.floor(u), v - dr.floor(v)

    def texel(i: UInt, j: UInt) -> Array3f:
        return dr.gather(Array3f, scene.paint, j * ACROSS + i % ACROSS)

    return dr.lerp(
        dr.lerp(texel(i, j), texel(i + 1, j), right),
        dr.lerp(texel(i, j + 1), texel(i + 1, j + 1), right),
        below,
    )


def render(scene: Scene) -> Array3f:
    """The photographs, one after the other."""
    pixel = dr.arange(UInt, SIZE * SIZE * VIEWS)
    x = (Float(pixel % SIZE) + 0.5) / SIZE * 2 - 1
    y = 1 - (Float(pixel // SIZE % SIZE) + 0.5) / SIZE * 2
    sine, cosine = dr.sincos(Float(pixel // (SIZE * SIZE)) * (2 * dr.pi / VIEWS))

    def turn(v: Array3f) -> Array3f:
        """From the photographer's view to the sculpture's, which the table turns."""
        return Array3f(cosine * v.x + sine * v.z, v.y, cosine * v.z - sine * v.x)

    o, d = turn(Array3f(0, 0, 4)), turn(dr.normalize(Array3f(x * 0.33, y * 0.33, -1)))
    balls = balls_of(scene)
    nearest, place = march(balls, o, d)
    # What is in memory is not computed again when the derivative needs it.
    dr.eval(nearest, place)
    p = o + d * place
    lit = dr.maximum(dr.dot(normal(balls, p), turn(dr.normalize(scene.sun))), 0)
    # Outlines and shading are to tell the shape, not the paint: stripes that are still
    # at a wrong place would pull the surface to the next one where they happen to fit.
    # So the paint is looked up in a direction that counts as constant.
    color = paint_at(scene, dr.detach(dr.normalize(p))) * (0.25 + 0.9 * lit)
    # A pixel beside the outline has a little of what it has nearly met. Without that
    # the picture would jump where an outline moves, and no derivative sees a jump.
    cover = dr.exp(-dr.square(dr.maximum(nearest - NEAR, 0) / EDGE))
    return dr.lerp(Array3f(BACKGROUND), color, cover)


def hidden_scene() -> Scene:
    """What has been photographed."""
    u = (dr.arange(Float, ACROSS) + 0.5) * (2 * dr.pi / ACROSS)
    v = (dr.arange(Float, DOWN) + 0.5) * (dr.pi / DOWN)
    u, v = dr.meshgrid(u, v)
    stripes = 0.5 + 0.5 * dr.sin(3 * u + 4 * v)
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
    opt = dr.opt.Adam(0.02, vars(first_guess()), beta_2=0.99)
    losses = []
    for turn in range(turns):
        difference = render(Scene(**opt)) - photographs
        loss = dr.mean(dr.squared_norm(difference))
        dr.backward(loss)
        speed = min(1, 2 * (1 - turn / turns))
        opt.set_learning_rate({name: speed * rate for name, rate in rates.items()})
        opt.step()
        # Paint reflects something, and not more than all. Else black paint would be a
        # way to hide what is too large.
        opt["paint"] = dr.clip(opt["paint"], 0.02, 1)
        losses.append(loss[0])
    return Scene(**dr.detach(dict(opt))), losses


def errors(found: Scene, truth: Scene) -> dict[str, float]:
    """How far off each kind of parameter is: the worst, but the mean of the paint."""
    away = dr.max(dr.norm(found.center - truth.center))[0]
    radius = dr.max(dr.abs(found.radius - truth.radius))[0]
    paint = dr.mean(dr.abs(found.paint - truth.paint), axis=None)[0]
    cosine = dr.dot(dr.normalize(found.sun), dr.normalize(truth.sun))
    angle = dr.rad2deg(dr.safe_acos(cosine))[0]
    return {"center": away, "radius": radius, "paint": paint, "sun": angle}


TOLERANCE = {"center": 0.02, "radius": 0.02, "paint": 0.04, "sun": 2.0}


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
    print(f"{TURNS} turns, {took / TURNS:.0f} ms each")
    print(f"loss {losses[0]:.1e} -> {losses[-1]:.1e}")
    bad = 0
    for name, error in errors(found, truth).items():
        ok = error < TOLERANCE[name]
        bad += not ok
        print(
            f"error of {name:6}  {error:.4f}, {'below' if ok else 'NOT below'} "
            f"{TOLERANCE[name]}"
        )
    scenes = {"first guess": first_guess(), "found": found, "photographs": truth}
    draw(path, lambda figure: plot(figure, scenes, losses), 10, 6)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
