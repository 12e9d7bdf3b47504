"""A poster from photographs of it: a texture, fitted.

    python examples/python/poster.py [PICTURE.png]

A poster hangs on a wall, and is photographed from twelve places, near and far, from the
left, the right and below. We know where the camera was, and want the poster. No
photograph shows all of it sharply: what is far away in one is near in another.

The poster is a texture. A photograph looks it up, at the place of the wall that each
pixel sees. That is a linear function of the texels, so the way back is its derivative:
each pixel tells the four texels around its place how they should change. We begin with
gray, and let Adam go downhill.
"""

from __future__ import annotations

import sys
from math import log10
from typing import Any

import drjit as dr
from drjit.llvm.ad import Array2f, Array3f, Bool, Float, TensorXf, Texture2f, UInt
from drjit.opt import Adam
from picture import clock, draw, pixels, show

TEXELS = 96  # of a side of the poster
SIZE, VIEWS = 128, 12  # pixels of a side, photographs
TURNS = 120
QUALITY = 35.0  # dB, of the texture that is found


def poster() -> TensorXf:
    """What hangs there: rings, stripes and a sky."""
    i = dr.arange(UInt, TEXELS * TEXELS)
    x = (Float(i % TEXELS) + 0.5) / TEXELS
    y = (Float(i // TEXELS) + 0.5) / TEXELS
    away = dr.hypot(x - 0.62, y - 0.4)
    rings = 0.5 + 0.5 * dr.cos(away * 60) * dr.exp(-away * 3)
    stripes = 0.5 + 0.45 * dr.sin((x + 0.6 * y) * 45)
    color = dr.lerp(Array3f(0.1, 0.25, 0.6), Array3f(0.95, 0.6, 0.25), y)
    color = dr.select(away < 0.3, Array3f(rings, 0.3 * rings + 0.1, 0.2), color)
    color = dr.select((y > 0.72) & (x < 0.7), color * stripes, color)
    return TensorXf(dr.ravel(color), (TEXELS, TEXELS, 3))


def places() -> tuple[Array2f, Bool]:
    """Where on the poster each pixel of each photograph looks, and whether it does."""
    pixel = dr.arange(UInt, SIZE * SIZE * VIEWS)
    u = (Float(pixel % SIZE) + 0.5) / SIZE * 2 - 1
    v = 1 - (Float(pixel // SIZE % SIZE) + 0.5) / SIZE * 2
    view = Float(pixel // (SIZE * SIZE))
    # The camera, in front of the wall z = 0, and what it looks at.
    around = view * (2 * dr.pi / VIEWS)
    eye = Array3f(1.1 * dr.cos(around), 0.9 * dr.sin(around * 2), 1.15)
    target = Array3f(0.3 * dr.sin(around), 0.25 * dr.cos(around * 3), 0)
    ahead = dr.normalize(target - eye)
    right = dr.normalize(dr.cross(ahead, Array3f(0, 1, 0)))
    ray = ahead + 0.5 * (u * right + v * dr.cross(right, ahead))
    at = eye - ray * (eye.z / ray.z)
    place = Array2f(at.x, -at.y) * 0.5 + 0.5
    seen = (ray.z < 0) & dr.all((place > 0) & (place < 1))
    return place, seen


def photograph(texture: Texture2f, place: Array2f, seen: Bool) -> Array3f:
    """The photographs, one after the other. The wall is black."""
    colors: Array3f = texture.eval(place, seen)
    return colors


def fit(photographs: Array3f, turns: int) -> tuple[TensorXf, list[float]]:
    """Go downhill from a gray poster: the texture, and the loss of each turn."""
    place, seen = places()
    dr.eval(place, seen)
    opt = Adam(lr=0.05, params={"poster": dr.full(TensorXf, 0.5, (TEXELS, TEXELS, 3))})
    texture = Texture2f([TEXELS, TEXELS], 3)

    @dr.freeze
    def turn(opt: Adam, texture: Texture2f) -> Float:
        texture.set_tensor(opt["poster"])
        found = photograph(texture, place, seen)
        loss = dr.mean(dr.squared_norm(found - photographs))
        dr.backward(loss)
        opt.step()
        return loss

    losses = []
    for k in range(turns):
        opt.set_learning_rate(0.05 * (1 - 0.95 * k / turns))
        losses.append(turn(opt, texture))
    return dr.detach(opt["poster"]), [loss[0] for loss in losses]


def quality(found: TensorXf, truth: TensorXf) -> float:
    """The signal-to-noise ratio of a texture, in dB."""
    return -10 * log10(dr.mean(dr.square(found - truth), axis=None).array[0])


def plot(
    figure: Any, photographs: Array3f, found: TensorXf, losses: list[float]
) -> None:
    """Three of the photographs, what was found, and how the loss went down."""
    axes = figure.subplots(1, 5)
    views = pixels(photographs, SIZE).reshape(VIEWS, SIZE, SIZE, 3)
    for ax, view in zip(axes, (0, 3, 8), strict=False):
        show(ax, f"photograph {view + 1}", views[view])
    show(axes[3], "found", found.numpy().clip(0, 1))
    axes[4].semilogy(losses)
    axes[4].set(title="loss", xlabel="turn")


def main() -> int:
    """Photograph, fit, compare."""
    path = sys.argv[1] if len(sys.argv) > 1 else "poster.png"
    truth = poster()
    photographs = photograph(Texture2f(truth), *places())
    dr.eval(photographs)
    (found, losses), took = clock(lambda: fit(photographs, TURNS))
    print(f"{TURNS} turns, {took / TURNS:.1f} ms each")
    print(f"loss {losses[0]:.1e} -> {losses[-1]:.1e}")
    reached = quality(found, truth)
    ok = reached > QUALITY
    print(f"quality {reached:.1f} dB, {'above' if ok else 'NOT above'} {QUALITY} dB")
    draw(path, lambda figure: plot(figure, photographs, found, losses), 10, 2.4)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
