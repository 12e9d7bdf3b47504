"""A lens that is designed by derivatives in forward mode.

    python examples/python/lens_design.py [PICTURE.png]

Two pieces of glass, cemented together, are to focus light of three colors, from two
directions, at 100 mm: an achromat. Four numbers are free, the curvatures of the three
surfaces and the distance of the sensor. What is to be small is how far rays hit the
sensor from where they should.

Few parameters and many results: that is where forward mode shines. One pass for each
parameter gives the derivatives of *all* rays by it, a column of the Jacobian J. With it
we need not creep downhill. Near the best lens the misses depend on the parameters
almost linearly, so each step solves that linear problem: (J' J + d I) s = -J' r, the
method of Levenberg and Marquardt, which lens designers call damped least squares.

In the end second derivatives say how precisely each parameter has to be made.
"""

from __future__ import annotations

import sys
from math import sqrt, tan
from typing import Any

import drjit as dr
import numpy as np
import optics
from drjit.llvm.ad import Array2f64, Array3f64, Float64
from picture import clock, draw, verdict

FOCUS, APERTURE = 100.0, 10.0  # focal length, radius of the pupil; all in mm
THICKNESS = (6.0, 3.0)
# Indices of refraction for the Fraunhofer lines F (blue), d (green), C (red).
CROWN, FLINT = (1.52238, 1.51680, 1.51432), (1.66123, 1.64769, 1.64210)  # N-BK7, SF2
ABBE = tuple((n[1] - 1) / (n[0] - n[2]) for n in (CROWN, FLINT))
ANGLES = (0.0, 0.7)  # of the light, in degrees
RINGS, SPOKES = 6, 12  # rays in the pupil

Parameters = list[Float64]  # curvatures of the surfaces in 1/mm, distance of the sensor
START = (1 / 80, -1 / 80, 0.0, 95.0)


class Rays(optics.Rays):
    """A ray of each color, direction and place in the pupil: one lane each."""

    def __init__(self, pupil: list[tuple[float, float]], axial: bool = False) -> None:
        colors, angles = (range(1), (0.0,)) if axial else (range(3), ANGLES)
        lanes = [(*xy, a, c) for c in colors for a in angles for xy in pupil]
        x, y, angle, color = zip(*lanes, strict=True)
        slope = Float64([tan(a * dr.pi / 180) for a in angle])
        glasses = [Float64([n[c] for c in color]) for n in (CROWN, FLINT, (1, 1, 1))]
        super().__init__(
            Array3f64(x, y, 0), dr.normalize(Array3f64(0, slope, 1)), glasses
        )
        self.count = len(lanes)
        self.goal = FOCUS * slope  # an image without distortion


def rings() -> list[tuple[float, float]]:
    """Places in the pupil."""
    return optics.rings(APERTURE, RINGS, SPOKES)


def shape(parameters: Parameters) -> tuple[list[Float64], list[Float64]]:
    """The curvatures, and the distance of each surface from the next one."""
    *curvatures, sensor = parameters
    return curvatures, [*map(Float64, THICKNESS), sensor]


def trace(parameters: Parameters, rays: Rays) -> Array2f64:
    """Follow rays: where they hit the sensor, relative to their goal."""
    hit, _ = optics.refract(*shape(parameters), rays)
    return Array2f64(hit.x, hit.y - rays.goal)


def merit(parameters: Parameters, rays: Rays) -> Float64:
    """The mean square of the misses."""
    return dr.mean(dr.squared_norm(trace(parameters, rays)))


def jacobian(parameters: Parameters, rays: Rays) -> tuple[Array2f64, list[Array2f64]]:
    """The misses and their derivatives by each parameter."""
    columns = []
    for k in range(len(parameters)):
        # The direction in which this parameter changes, and no other.
        tangent = [Float64(k == n) for n in range(len(parameters))]
        misses, column = dr.ad.jvp(
            lambda *p: trace(list(p), rays), tuple(parameters), tuple(tangent)
        )
        columns.append(column)
    dr.eval(misses, columns)  # one kernel for all of it
    return misses, columns


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """The solution of linear equations."""
    return [float(x) for x in np.linalg.solve(matrix, right)]


def design(start: tuple[float, ...], rays: Rays) -> tuple[list[float], list[float]]:
    """The best lens, and the radius of its spot (root mean square) on the way."""
    values, damping = list(start), 1e-3
    loss = merit([Float64(v) for v in values], rays)[0]
    radii = [sqrt(loss)]
    while len(radii) < 60 and damping < 1e6:
        misses, columns = jacobian([Float64(v) for v in values], rays)

        def product(a: Array2f64, b: Array2f64) -> float:
            total: float = dr.mean(dr.dot(a, b))[0]
            return total

        normal = [[product(a, b) for b in columns] for a in columns]
        downhill = [-product(column, misses) for column in columns]
        for k, row in enumerate(normal):
            row[k] *= 1 + damping
        step = solve(normal, downhill)
        moved = [v + s for v, s in zip(values, step, strict=True)]
        new = merit([Float64(v) for v in moved], rays)[0]
        if new < loss:  # not so if a ray has missed a surface, and is NaN
            done = loss - new < 1e-6 * loss
            values, loss, damping = moved, new, damping / 5
            radii.append(sqrt(loss))
            if done:
                break
        else:
            damping *= 5
    return values, radii


def tolerances(values: list[float], rays: Rays) -> list[float]:
    """By how much each parameter may be off until the mean square miss has doubled.

    At the best lens the first derivative is zero, and the second one counts: hvp()
    gives a row of the Hessian, by reverse over forward mode.
    """
    arguments = tuple(Float64(v) for v in values)
    result = []
    for k in range(len(values)):
        tangent = tuple(Float64(k == n) for n in range(len(values)))
        _, row = dr.ad.hvp(lambda *p: merit(list(p), rays), arguments, tangent)
        result.append(sqrt(2 * merit(list(arguments), rays)[0] / row[k][0]))
    return result


def powers(values: list[float]) -> tuple[float, float]:
    """Powers of the two thin lenses, in units of that of the whole."""
    c1, c2, c3, _ = values
    return (CROWN[1] - 1) * (c1 - c2) * FOCUS, (FLINT[1] - 1) * (c2 - c3) * FOCUS


def plot(figure: Any, lenses: dict[str, list[float]], radii: list[float]) -> None:
    """The lens before and after, its spots in two directions, and the way there."""
    axes = figure.subplots(3, 3, width_ratios=(3, 1, 1))
    heights = [APERTURE * (k / 4 - 1) for k in range(9)]
    bundle = [Rays([(0.0, h) for h in heights], axial=True)]
    for (left, *others), (title, values) in zip(axes, lenses.items(), strict=False):
        parameters = [Float64(v) for v in values]
        optics.section(left, title, shape(parameters), [1.15 * APERTURE] * 3, bundle)
        miss = trace(parameters, Rays(rings())).numpy() * 1e3
        x, y = miss.reshape(2, 3, len(ANGLES), -1)
        for k, ax in enumerate(others):  # lanes: color, direction, place in the pupil
            optics.spot(ax, ANGLES[k], x[:, k], y[:, k])
    axes[2, 0].semilogy(radii)
    axes[2, 0].set(title="radius of the spot in mm", xlabel="step")
    for ax in axes[2, 1:]:
        ax.axis("off")


def main() -> int:
    """Design the lens, and compare with what is known about achromats."""
    path = sys.argv[1] if len(sys.argv) > 1 else "lens_design.png"
    rays = Rays(rings())
    (values, radii), took = clock(lambda: design(START, rays))
    print(f"{len(radii) - 1} steps, {took:.0f} ms, {rays.count} rays")
    print(f"radius of the spot {radii[0]:.3f} mm -> {radii[-1]:.5f} mm")
    names = ("radius 1", "radius 2", "radius 3", "sensor")
    for name, value, spare in zip(names, values, tolerances(values, rays), strict=True):
        if name != "sensor":  # a change of the curvature as one of the radius
            value, spare = 1 / value, spare / value**2
        print(f"{name:8} {value:9.3f} mm, tolerance {spare:.3f} mm")
    # The formula for thin lenses: the colors meet if the powers are as V1 to -V2.
    thin = [v / (ABBE[0] - ABBE[1]) for v in (ABBE[0], -ABBE[1])]
    found = powers(values)
    print(f"powers {found[0]:.3f} and {found[1]:.3f}, ", end="")
    print(f"of thin lenses {thin[0]:.3f} and {thin[1]:.3f}")
    ok = radii[-1] < 0.006 and all(
        abs(a / b - 1) < 0.05 for a, b in zip(found, thin, strict=True)
    )
    goal = "a spot below 0.006 mm, powers within 5 % of those of thin lenses"
    lenses = {"before": list(START), "after": values}
    status = verdict(ok, goal)
    draw(path, lambda figure: plot(figure, lenses, radii), 10, 7)
    return status


if __name__ == "__main__":
    sys.exit(main())
