"""A parameter sweep: how the gaps of a lens decide about its spots.

    python examples/dist/sweep.py [PICTURE.png]

A triplet from the literature, as in `examples/python/lens.py`, gets other gaps before
and behind its middle lens, 1,600 times. Each of these lenses is an item: it is focussed
anew, and the result is the radius of its spots. The function is recorded once, here;
what goes to workers are the twelve numbers of a lens.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import drjit as dr
from drjit import dist
from drjit.llvm.ad import Array2f64, Float64
from executors import processes as executor  # or: dask, ray, mpi
from lens import EACH, Rays, all_rays, trace
from picture import clock, draw

RADII = (22.01359, -435.76044, -22.21328, 20.29192, 79.68360, -18.39533)
DISTANCES = (3.258956, 6.007551, 0.9999746, 4.750409, 2.952076, 42.20778)
STEPS, RANGE = 40, 0.5  # of each gap, in mm to either side

Lens = dict[str, Float64]


def gap(step: int) -> float:
    """By how much a gap is changed."""
    return RANGE * (2 * step / (STEPS - 1) - 1)


def lenses() -> Iterator[Lens]:
    """All lenses, the gap behind the middle one fastest."""
    for before in range(STEPS):
        for behind in range(STEPS):
            distances = list(DISTANCES)
            distances[1] += gap(before)
            distances[3] += gap(behind)
            curvature = Float64([1 / radius for radius in RADII])
            yield {"curvature": curvature, "distance": Float64(distances)}


def from_middle(v: Array2f64) -> Array2f64:
    """Vectors relative to their mean in each direction of light."""
    return v - dr.repeat(dr.block_reduce(dr.ReduceOp.Add, v, EACH) / EACH, EACH)


def radius(lens: Lens, rays: Any) -> Float64:
    """That of the spots (root mean square) where the sensor is best, in mm.

    It is a function of Python, but only here: workers have the recording. So the rays
    come as a dict, not as a class that workers would have to import.
    """
    hit, d = trace(lens, Rays(**rays))
    at, slope = from_middle(hit), from_middle(Array2f64(d.x, d.y) / d.z)
    move = -dr.sum(dr.dot(at, slope)) / dr.sum(dr.squared_norm(slope))
    return dr.sqrt(dr.mean(dr.squared_norm(at + move * slope)))


def sweep(workers: Any) -> list[float]:
    """The radius of each lens."""
    rays = vars(all_rays())
    return [each[0] for each in dist.map(workers, radius, lenses(), args=(rays,))]


def plot(figure: Any, found: list[float]) -> None:
    """The radius as a map."""
    rows = [found[k : k + STEPS] for k in range(0, len(found), STEPS)]
    axes, gaps = figure.subplots(), [gap(k) for k in range(STEPS)]
    lines = axes.contourf(gaps, gaps, [[1e3 * r for r in row] for row in rows], 30)
    figure.colorbar(lines, label="radius of the spots in µm")
    axes.plot(0, 0, "w+")
    axes.set(xlabel="gap behind the middle lens, change in mm", ylabel="gap before it")


def main() -> int:
    path = sys.argv[1] if len(sys.argv) > 1 else "sweep.png"
    with executor() as workers:
        found, took = clock(lambda: sweep(workers))
    best = min(range(len(found)), key=found.__getitem__)
    before, behind = (gap(k) for k in divmod(best, STEPS))
    print(f"{len(found):,} lenses in {took / 1e3:.1f} s")
    print(
        f"spots of {1e3 * found[best]:.1f} µm with gaps of "
        f"{DISTANCES[1] + before:.2f} and {DISTANCES[3] + behind:.2f} mm"
    )
    draw(path, lambda figure: plot(figure, found), 6, 5)
    return 0


if __name__ == "__main__":
    sys.exit(main())
