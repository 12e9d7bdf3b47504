"""What lens.py and lens_design.py share: rays through spheres, and pictures of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import drjit as dr
from drjit.llvm.ad import Array3f64, Float64

COLORS = ("blue", "green", "red")


@dataclass
class Rays:
    """A lane for each ray; 'index' has the refractive index behind each surface."""

    o: Array3f64
    d: Array3f64
    index: list[Float64]


def rings(radius: float, count: int, spokes: int) -> list[tuple[float, float]]:
    """Places in a pupil, each of which stands for the same area."""
    return [
        (r * float(c), r * float(s))
        for k in range(count)
        for r in [radius * sqrt((k + 0.5) / count)]
        for n in range(spokes)
        for s, c in [dr.sincos(2 * dr.pi * (n + k % 2 / 2) / spokes)]
    ]


def refract(
    curvatures: Sequence[Float64],
    distances: Sequence[Float64],
    rays: Rays,
    path: list[Array3f64] | None = None,
) -> tuple[Array3f64, Array3f64]:
    """Follow rays through surfaces: where they hit the sensor, and their direction.

    Each surface has a distance from the next one, the last from the sensor. Plain
    Python over the surfaces, so the whole trace is one straight-line kernel.
    """
    o, d, before = rays.o, rays.d, Float64(1)
    for c, distance, after in zip(curvatures, distances, rays.index, strict=True):
        # The origin is the vertex of the surface: the sphere c (p.p) = 2 p.z, which is
        # a plane for c = 0.
        a = d.z - c * dr.dot(o, d)
        b = c * dr.squared_norm(o) - 2 * o.z
        p = o + d * (b / (a + dr.sqrt(a * a - c * b)))
        normal = Array3f64(0, 0, 1) - c * p
        # Snell's law as vectors.
        ratio, cosine = before / after, dr.dot(d, normal)
        out = dr.sqrt(1 - ratio * ratio * (1 - cosine * cosine))
        d = ratio * d + (out - ratio * cosine) * normal
        o, before = p - Array3f64(0, 0, distance), after
        if path is not None:
            path.append(p)
    hit = o - d * (o.z / d.z)
    if path is not None:
        path.append(hit)
    return hit, d


def sag(c: Float64, height: float) -> Float64:
    """How far a surface is behind its vertex, at a height above the axis."""
    return c * height**2 / (1 + dr.sqrt(1 - dr.square(c * height)))


def section(
    axes: Any,
    title: str,
    lens: tuple[Sequence[Float64], Sequence[Float64]],
    rims: Sequence[float],
    bundles: Sequence[Rays],
) -> None:
    """A section through a lens, with bundles of rays, each of a color of its own."""
    vertices = [0.0]
    for distance in lens[1]:
        vertices.append(vertices[-1] + Float64(distance)[0])
    for n, rays in enumerate(bundles):
        path = [rays.o - rays.d * (8 / rays.d.z)]
        refract(*lens, rays, path)
        z = [p.z.numpy() + v for p, v in zip(path, [0.0, *vertices], strict=True)]
        axes.plot(z, [p.y.numpy() for p in path], f"C{n}", linewidth=0.7)
    profiles = []
    for c, rim, z in zip(lens[0], rims, vertices, strict=False):
        heights = [rim * (k / 12 - 1) for k in range(25)]
        profiles.append([(z + sag(Float64(c), y)[0], y) for y in heights])
        axes.plot(*zip(*profiles[-1], strict=True), "k")
    for front, back, index in zip(profiles, profiles[1:], rays.index, strict=False):
        for end in (0, -1) if index[0] > 1 else ():
            axes.plot(*zip(front[end], back[end], strict=True), "k")
    axes.axvline(vertices[-1], color="k")
    axes.set(title=title, xlabel="mm")


def spot(axes: Any, angle: float, x: Any, y: Any) -> None:
    """Where the rays of each color hit the sensor, in micrometers."""
    for n, color in enumerate(COLORS):
        axes.scatter(x[n], y[n], s=2, color=color)
    axes.set(title=f"spot at {angle:g}°", xlabel="µm", aspect="equal")
