"""A Python program of the kind users write, timed beside NumPy.

    python examples/python/points_and_picture.py [PICTURE.png]

Three parts: vector math over four million points with a reduction and a histogram, a
picture of a sphere above a checkerboard, and a tensor that is smoothed and contracted.
Each part prints how long it takes the first time, which includes compiling, and how
long the second time and with NumPy; the results are compared.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import drjit as dr
import numpy as np
from drjit.llvm import Array3f, Float, Int, TensorXf, UInt
from picture import clock, save

POINTS = 1 << 22
SIZE = 1024


def timed(title: str, ours: Callable[[], Any], theirs: Callable[[], Any]) -> Any:
    """Run both versions, print their times, return (our result, NumPy's)."""

    def evaluated() -> Any:
        result = ours()
        dr.eval(result)
        dr.sync_thread()
        return result

    result, first = clock(evaluated)
    _, again = clock(evaluated)
    expected, numpy_time = clock(theirs)
    print(f"{title}: {first:.1f} ms, again {again:.1f} ms, NumPy {numpy_time:.1f} ms")
    return result, expected


# ---------------------------------------------------------------- points


def points() -> tuple[Float, UInt]:
    """Mean distance of the points to a sphere, and a histogram of the distances."""
    i = dr.arange(UInt, POINTS)
    p = Array3f(Float(i & 255), Float((i >> 8) & 255), Float(i >> 16)) * (1 / 128) - 1
    length = dr.norm(p)
    distance = dr.abs(length - 0.75)
    histogram = dr.zeros(UInt, 64)
    dr.scatter_add(histogram, UInt(1), UInt(dr.minimum(length * 32, 63)))
    return dr.mean(distance), histogram


def points_numpy() -> Any:
    i = np.arange(POINTS, dtype=np.uint32)
    p = np.stack([i & 255, (i >> 8) & 255, i >> 16]).astype(np.float32) / 128 - 1
    length = np.sqrt((p * p).sum(axis=0))
    bins = np.minimum(length * 32, 63).astype(np.uint32)
    return np.abs(length - 0.75).mean(), np.bincount(bins, minlength=64)


# ---------------------------------------------------------------- picture


def shade(module: Any, x: Any, y: Any, vec: Any, where: Any, minimum: Any) -> Any:
    """Brightness along the rays through (x, y): one formula for drjit and NumPy."""
    sqrt = module.sqrt
    length = sqrt(x * x + y * y + 1.5 * 1.5)
    dx, dy, dz = x / length, y / length, 1.5 / length
    # A sphere of radius 1 at (0, 0, 4), seen from the origin.
    b = 4 * dz
    inside = b * b - 15
    hit = inside > 0
    t = b - sqrt(where(hit, inside, 0))
    nx, ny, nz = dx * t, dy * t, dz * t - 4
    light = (nx * 0.48 + ny * 0.64 - nz * 0.6) * 0.9
    sphere = minimum(where(light > 0, light, 0) + 0.08, 1)
    # A floor at y = -1 with a checkerboard and the sphere's shadow (light from above).
    below = dy < -0.01
    s = -1 / where(below, dy, -1)
    fx, fz = dx * s, dz * s
    dark = (vec(fx + 1000) + vec(fz + 1000)) % 2 == 0
    shadow = fx * fx + (fz - 4) * (fz - 4) < 1
    floor = where(dark, 0.25, 0.85) * where(shadow, 0.35, 1) / (1 + s * s * 0.002)
    sky = 0.5 + 0.3 * dy
    return where(hit, sphere, where(below, floor, sky))


def picture() -> Float:
    axis = dr.linspace(Float, -1, 1, SIZE)
    x, y = dr.meshgrid(axis, -axis)
    return shade(dr, x, y, Int, dr.select, dr.minimum)


def picture_numpy() -> Any:
    axis = np.linspace(-1, 1, SIZE, dtype=np.float32)
    x, y = (g.ravel() for g in np.meshgrid(axis, -axis))
    return shade(np, x, y, lambda v: v.astype(np.int32), np.where, np.minimum)


# ---------------------------------------------------------------- tensors


def tensors(image: Float) -> TensorXf:
    """Smooth the picture with a 3x3 box, then multiply it with its transpose."""
    t = TensorXf(image, (SIZE, SIZE))
    rows = t[:-2, :] + t[1:-1, :] + t[2:, :]
    smooth = (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) * (1 / 9)
    return dr.mean(smooth @ smooth.T, axis=1)


def tensors_numpy(image: Any) -> Any:
    t = image.reshape(SIZE, SIZE)
    rows = t[:-2] + t[1:-1] + t[2:]
    smooth = (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) * np.float32(1 / 9)
    return (smooth @ smooth.T).mean(axis=1)


def close(ours: Any, theirs: Any, tolerance: float) -> None:
    error = np.abs(np.asarray(ours) - theirs).max()
    if not error <= tolerance:
        raise SystemExit(f"the results differ by {error}")


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else "points_and_picture.png"

    (mean, histogram), expected = timed(f"{POINTS} points", points, points_numpy)
    close(mean, expected[0], 1e-5)
    if abs(np.asarray(histogram).astype(int) - expected[1]).sum() > POINTS // 1000:
        raise SystemExit("the histograms differ")

    image, expected = timed(f"picture of {SIZE} x {SIZE}", picture, picture_numpy)
    wrong = (np.abs(np.asarray(image) - expected) > 1e-2).mean()
    if wrong > 1e-3:
        raise SystemExit(f"{wrong:.2%} of the pixels differ")
    save(path, image, SIZE, cmap="gray", vmin=0, vmax=1)

    dr.eval(image)
    sums, expected = timed(
        "tensors", lambda: tensors(image), lambda: tensors_numpy(np.asarray(image))
    )
    close(sums, expected, 1e-2)


if __name__ == "__main__":
    main()
