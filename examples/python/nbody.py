"""Stars that attract each other: a loop over all of them, in each lane.

    python examples/python/nbody.py [PICTURE.png]

Two clusters fall through each other. Prints the time of a step, and by how much the
energy has changed in the end.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import drjit as dr
from drjit.llvm import Array3f, Float, UInt
from picture import clock, save

STARS, STEPS, DT = 2048, 60, 0.01
SOFTENING = 0.05
SIZE = 512


@dataclass
class Stars:
    """Positions and velocities; all masses are 1 / STARS."""

    x: Array3f
    v: Array3f


@dr.syntax
def acceleration(all_x: Array3f, x: Array3f) -> Array3f:
    """What all stars do to each."""
    a, k = Array3f(0), UInt(0)
    while k < STARS:
        d = dr.gather(Array3f, all_x, k) - x
        inverse = dr.rsqrt(dr.squared_norm(d) + SOFTENING**2)
        a += d * (inverse * inverse * inverse)
        k += 1
    return a / STARS


@dr.syntax
def energy(stars: Stars) -> Float:
    """Kinetic plus potential energy of each star."""
    potential, k = Float(0), UInt(0)
    own = dr.arange(UInt, STARS)
    while k < STARS:
        if k != own:
            d = dr.gather(Array3f, stars.x, k) - stars.x
            potential -= dr.rsqrt(dr.squared_norm(d) + SOFTENING**2)
        k += 1
    return (dr.squared_norm(stars.v) + potential / STARS) * 0.5 / STARS


def start() -> Stars:
    """Two balls that move towards each other."""
    rng = dr.rng(seed=3)
    direction = dr.normalize(rng.normal(Array3f, (3, STARS)))
    x = direction * dr.cbrt(rng.random(Float, STARS)) * 0.4
    side = dr.select(dr.arange(UInt, STARS) % 2 == 0, Float(-1), Float(1))
    return Stars(x + Array3f(side * 0.8, side * 0.15, 0), Array3f(-side * 0.3, 0, 0))


def step(stars: Stars) -> None:
    """Half a step of the velocity, one of the position, half a step of the velocity."""
    stars.v += acceleration(stars.x, stars.x) * (DT / 2)
    stars.x += stars.v * DT
    dr.eval(stars)
    stars.v += acceleration(stars.x, stars.x) * (DT / 2)
    dr.eval(stars)


def main() -> int:
    """Run the simulation and draw where the stars were."""
    path = sys.argv[1] if len(sys.argv) > 1 else "nbody.png"
    stars = start()
    before = dr.sum(energy(stars))[0]
    picture = dr.zeros(Float, SIZE * SIZE)

    def run() -> None:
        for _ in range(STEPS):
            step(stars)
            x, y = ((c * 0.35 + 0.5) * SIZE for c in (stars.x.x, stars.x.y))
            inside = (x >= 0) & (x < SIZE) & (y >= 0) & (y < SIZE)
            dr.scatter_add(picture, 1, UInt(y) * SIZE + UInt(x), inside)
        dr.eval(picture)
        dr.sync_thread()

    _, took = clock(run)
    after = dr.sum(energy(stars))[0]
    change = abs(after - before) / abs(before)
    print(
        f"{STARS} stars, {took / STEPS:.1f} ms a step, energy changed by {change:.1e}"
    )
    save(path, 1 - dr.exp(picture * -0.35), SIZE, cmap="magma")
    return 0 if change < 1e-2 else 1


if __name__ == "__main__":
    sys.exit(main())
