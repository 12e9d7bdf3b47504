"""A volume learnt from pictures of it: a small neural radiance field.

    python examples/python/field.py [PICTURE.png]

Thirty-six photographs show a scene from all sides. What we look for is a function of
space, density and color, that gives these pictures if one follows light through it: a
ray's color is a sum over its samples, each as bright as what is dense there, and seen
through what is in front. The function is a hash grid and a small network; they learn
from rays that are drawn from the photographs. Then we look from places in between,
which none of the photographs shows.

B. Mildenhall et al., "NeRF: Representing Scenes as Neural Radiance Fields for View
Synthesis", 2020. T. Müller et al., "Instant Neural Graphics Primitives with a
Multiresolution Hash Encoding", 2022.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import drjit as dr
from drjit import nn
from drjit.hashgrid import HashGridEncoding
from drjit.llvm.ad import Array3f, Float, TensorXf, UInt
from drjit.opt import Adam
from picture import clock, draw, pixels, show, verdict

SIZE = 40  # pixels of a side of a picture
VIEWS = 36
SAMPLES = 24  # of a ray, when learning
FINE = 96  # and when taking photographs
RAYS = 768  # in a turn
TURNS = 400
PSNR = 28.0  # decibels that pictures from new places reach at least

Field = Callable[[Array3f], tuple[Float, Array3f]]


def scene(p: Array3f) -> tuple[Float, Array3f]:
    """Density and color of the scene: a striped ball, a ring around it, a post."""
    q = p - 0.5
    ball = dr.norm(q) - 0.2
    ring = dr.hypot(dr.hypot(q.x, q.y) - 0.36, q.z) - 0.06
    post = dr.maximum(dr.hypot(q.x - 0.25, q.y - 0.2) - 0.05, dr.abs(q.z) - 0.35)
    nearest = dr.minimum(ball, dr.minimum(ring, post))
    stripes = dr.sin(30 * q.z) * 0.5 + 0.5
    color = dr.select(
        ball <= nearest,
        dr.lerp(Array3f(0.9, 0.2, 0.1), Array3f(0.95, 0.9, 0.7), stripes),
        dr.select(ring <= nearest, Array3f(0.15, 0.4, 0.9), Array3f(0.2, 0.7, 0.3)),
    )
    return 60 / (1 + dr.exp(nearest * 120)), color


def camera(angle: float, height: float) -> tuple[Array3f, Array3f]:
    """The rays of a picture: one for each pixel, from a place around the scene."""
    origin = Array3f(math.cos(angle) * 1.2, math.sin(angle) * 1.2, height)
    forward = dr.normalize(-origin)
    right = dr.normalize(dr.cross(forward, Array3f(0, 0, 1)))
    axis = ((dr.arange(Float, SIZE) + 0.5) / SIZE - 0.5) * 0.9
    x, y = dr.meshgrid(axis, axis)
    d = dr.normalize(forward + right * x - dr.cross(right, forward) * y)
    return origin + 0.5 + dr.zeros(Array3f, SIZE * SIZE), d


def look(field: Field, o: Array3f, d: Array3f, shift: Float, count: int) -> Array3f:
    """The colors that rays see: a sum over samples, from front to back.

    The samples of a ray are lanes, one after the other; ``shift`` says where between
    the ends of its part of the ray each of them is.
    """
    near, far = 0.6, 1.9
    o, d = dr.repeat(o, count), dr.repeat(d, count)
    k = dr.arange(UInt, dr.width(o)) % count
    step = (far - near) / count
    density, color = field(o + d * (near + step * (Float(k) + shift)))
    thickness = density * step
    before = dr.block_prefix_sum(thickness, count, exclusive=True)
    weight = dr.exp(-before) * (1 - dr.exp(-thickness))
    return Array3f(*[dr.block_sum(channel * weight, count) for channel in color])


def photograph(field: Field, view: tuple[float, float], count: int) -> Array3f:
    """A whole picture."""
    picture = look(field, *camera(*view), Float(0.5), count)
    dr.eval(picture)
    return dr.detach(picture)


def learnt(grid: HashGridEncoding, net: nn.Module) -> Field:
    """The function that a grid and a network stand for."""

    def field(p: Array3f) -> tuple[Float, Array3f]:
        inside = dr.all((p > 0) & (p < 1))
        density, *color = net(nn.CoopVec(grid(p, inside)))
        rgb = [0.5 + 0.5 * dr.tanh(channel) for channel in color]
        return dr.select(inside, dr.exp(density + 1), 0), Array3f(*rgb)

    return field


@dr.freeze
def turn(
    grid: HashGridEncoding,
    net: nn.Module,
    opt: Adam,
    rays: tuple[Array3f, Array3f, Array3f],
    which: UInt,
    shift: Float,
) -> Float:
    """Compare some rays of the photographs with those of the field, and learn."""
    net.update({key: opt[key] for key in net})
    grid.set_params(opt["grid"])
    o, d, seen = dr.gather(tuple, rays, which)
    found = look(learnt(grid, net), o, d, shift, SAMPLES)
    loss = dr.mean(dr.mean(dr.square(found - seen)))
    dr.backward(loss)
    opt.step()
    return loss


def learn(
    views: list[tuple[float, float]], pictures: list[Array3f]
) -> tuple[Field, list[float]]:
    """The field that explains the photographs, and the loss in each turn."""
    grid = HashGridEncoding(
        Float, 3, n_levels=6, hashmap_size=2**14, base_resolution=6, per_level_scale=1.6
    )
    layers = (
        nn.Linear(-1, 16),
        nn.ReLU(),
        nn.Linear(-1, 16),
        nn.ReLU(),
        nn.Linear(-1, 4),
    )
    net = nn.pack(nn.Sequential(*layers).alloc(TensorXf, 12), layout="training")
    opt = Adam(lr=2e-2, params={"grid": grid.params, **net})
    parts = [(*camera(*view), seen) for view, seen in zip(views, pictures, strict=True)]
    rays = tuple(
        Array3f(*[dr.concat([array[k] for array in part]) for k in range(3)])
        for part in zip(*parts, strict=True)
    )
    dr.eval(rays)
    random = dr.rng(seed=1)
    losses = []
    for k in range(TURNS):
        opt.set_learning_rate(3e-2 * 0.2 ** (k / TURNS))
        which = UInt(random.random(Float, RAYS) * dr.width(rays))
        shift = random.random(Float, RAYS * SAMPLES)
        losses.append(turn(grid, net, opt, rays, which, shift))
    net.update({key: opt[key] for key in net})
    grid.set_params(opt["grid"])
    return learnt(grid, net), [loss[0] for loss in losses]


def psnr(found: Array3f, truth: Array3f) -> float:
    """Peak signal-to-noise ratio in decibels: 10 times the logarithm of 1 / error^2."""
    error = dr.mean(dr.mean(dr.square(found - truth)))
    return float((-10 / dr.log(10.0) * dr.log(error))[0])


def plot(figure: Any, images: list[Array3f], losses: list[float]) -> None:
    """What was learnt above the truth, and how the misfit went down."""
    axes = figure.subplot_mosaic("abcl;defl")
    for k, image in enumerate(images):
        show(axes["abcdef"[k]], ("learnt", "scene")[k // 3], pixels(image, SIZE))
    axes["l"].semilogy(losses)
    axes["l"].set(title="misfit", xlabel="turn")


def main() -> int:
    """Photograph, learn, look from elsewhere."""
    path = sys.argv[1] if len(sys.argv) > 1 else "field.png"
    golden = math.pi * (3 - math.sqrt(5))
    views = [(k * golden, 0.8 * math.sin(2.4 * k)) for k in range(VIEWS)]
    pictures = [photograph(scene, view, FINE) for view in views]
    (field, losses), took = clock(lambda: learn(views, pictures))
    print(f"{TURNS} turns of {RAYS * SAMPLES} samples, {took / TURNS:.1f} ms each")
    print(f"misfit {losses[0]:.1e} -> {losses[-1]:.1e}")
    others = [(0.4, 0.2), (2.6, -0.4), (4.5, 0.55)]
    truths = [photograph(scene, view, FINE) for view in others]
    found = [photograph(field, view, FINE) for view in others]
    ratios = [psnr(*pair) for pair in zip(found, truths, strict=True)]
    print("from new places, dB:", *(f"{r:.1f}" for r in ratios))
    status = verdict(min(ratios) > PSNR, f"signal to noise above {PSNR:g} dB")
    draw(path, lambda figure: plot(figure, found + truths, losses), 10, 5)
    return status


if __name__ == "__main__":
    sys.exit(main())
