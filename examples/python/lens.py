"""A photographic lens, designed by gradient descent.

    python examples/python/lens.py [PICTURE.png]

The Cooke triplet (H. D. Taylor, 1893) has a negative lens of flint glass between two
positive ones of crown. Fewer lenses cannot correct all aberrations of third order and
the color; three can, if six curvatures, thicknesses and gaps are right. They and the
distance of the sensor are looked for here, for 50 mm, f/5, and a field of 40 degrees.

Each of three directions makes a spot on the sensor, and the loss is the mean square of
the distances of its hits from their centroid. Penalties keep the focal length and let
no glass or air become too thin. Adam takes the spots of a coarse guess from 0.8 mm to
below 0.013 mm. A turn is a frozen function: recorded once, then repeated with other
numbers. `lens_design.py` has a simpler lens, and derivatives in forward mode.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from math import sqrt, tan
from typing import Any

import drjit as dr
from drjit.llvm.ad import Array2f64, Array3f64, Float64, UInt
from drjit.opt import Adam
from optics import Rays, refract, rings, sag, section, spot
from picture import clock, draw, verdict

FOCUS, RADIUS, PUPIL = 50.0, 5.0, 10.0  # of the pupil: radius, place; all in mm
ANGLES = (0.0, 14.0, 20.0)  # of the light, in degrees
RINGS, SPOKES = 6, 12  # rays of each direction and color
EACH = 3 * RINGS * SPOKES  # rays of each direction
RIMS = (9.0, 9.0, 5.5, 5.5, 8.0, 8.0)  # of the surfaces, from the axis, in mm
GLASS, AIR = 0.8, 0.3  # least thicknesses in mm
TURNS, RATES = 3000, {"curvature": 4e-4, "distance": 5e-2}
GOAL = 0.013  # radius of the spots that is reached, in mm

# The Fraunhofer lines F, d and C, in micrometers, and Sellmeier's coefficients of
# glasses by Schott, B and C: n^2 = 1 + sum of B w^2 / (w^2 - C) for the wavelength w.
D_LINE = 0.5875618
COLORS = (0.4861327, D_LINE, 0.6562725)
CROWN = ((1.34317774, 0.241144399, 0.994317969), (0.00704687339, 0.0229005, 92.7508526))
FLINT = (
    (1.34533359, 0.209073176, 0.937357162),
    (0.00997743871, 0.0470450767, 111.886764),
)

# Curvatures of the six surfaces in 1/mm, and the distance of each from the next one,
# the last from the sensor, in mm.
Lens = Mapping[str, Float64]
START = {
    "curvature": [1 / 22, 0, -1 / 26, 1 / 26, 0, -1 / 22],
    "distance": [3, 6, 1, 6, 3, 42],
}


def index(glass: tuple[tuple[float, ...], tuple[float, ...]], wave: float) -> float:
    """The refractive index of a glass by Sellmeier's formula."""
    parts = zip(*glass, strict=True)
    return sqrt(1 + sum(b * wave**2 / (wave**2 - c) for b, c in parts))


def make_rays(lanes: list[tuple[float, float, float, float]]) -> Rays:
    """Rays of places (x, y) in the entrance pupil, angles and wavelengths."""
    x, y, angle, wave = zip(*lanes, strict=True)
    slope = Float64([tan(a * dr.pi / 180) for a in angle])
    crown = Float64([index(CROWN, w) for w in wave])
    flint = Float64([index(FLINT, w) for w in wave])
    air = Float64(1)
    o = Array3f64(x, Float64(y) - PUPIL * slope, 0)
    d = dr.normalize(Array3f64(0, slope, 1))
    return Rays(o, d, [crown, air, flint, air, crown, air])


def all_rays() -> Rays:
    """Direction by direction, color by color."""
    pupil = rings(RADIUS, RINGS, SPOKES)
    return make_rays([(x, y, a, w) for a in ANGLES for w in COLORS for x, y in pupil])


def numbers(values: Float64) -> list[Float64]:
    """The entries of an array, each as a value that is the same in all lanes."""
    return [dr.gather(Float64, values, UInt(k)) for k in range(len(values))]


def trace(
    lens: Lens, rays: Rays, path: list[Array3f64] | None = None
) -> tuple[Array2f64, Array3f64]:
    """Follow rays through the lens: where they hit the sensor, and their direction."""
    curvatures, distances = (numbers(lens[k]) for k in ("curvature", "distance"))
    hit, d = refract(curvatures, distances, rays, path)
    return Array2f64(hit.x, hit.y), d


def focal_length(lens: Lens) -> Float64:
    """That of green light: a ray near the axis at height h leaves with slope -h / f."""
    height = 1e-3
    _, d = trace(lens, make_rays([(0, height, 0, D_LINE)]))
    return -height * d.z / d.y


def spots(lens: Lens, rays: Rays) -> Float64:
    """The mean square radius of the spot of each direction, in mm^2."""
    hit, _ = trace(lens, rays)
    middle = dr.repeat(dr.block_reduce(dr.ReduceOp.Add, hit, EACH) / EACH, EACH)
    away = dr.squared_norm(hit - middle)
    result: Float64 = dr.block_reduce(dr.ReduceOp.Add, away, EACH) / EACH
    return result


def too_thin(lens: Lens) -> Float64:
    """By how much glass and air are too thin, on the axis or at the rim, squared."""
    c, result = numbers(lens["curvature"]), Float64(0)
    for k, distance in enumerate(numbers(lens["distance"])[:5]):
        rim = min(RIMS[k], RIMS[k + 1])
        least = dr.minimum(distance, distance + sag(c[k + 1], rim) - sag(c[k], rim))
        result += dr.square(dr.maximum((AIR if k % 2 else GLASS) - least, 0))
    return result


def loss(lens: Lens, rays: Rays) -> Float64:
    """What is to become small, in mm^2."""
    # A large weight would make a narrow valley, where Adam would creep.
    off = dr.square(focal_length(lens) - FOCUS)
    return dr.mean(spots(lens, rays)) + 1e-3 * off + too_thin(lens)


def design(turns: int) -> tuple[dict[str, Float64], list[float]]:
    """Go downhill from the start: the lens, and the loss of each turn."""
    rays = all_rays()
    dr.eval(rays)
    opt = Adam(1, {name: Float64(v) for name, v in START.items()}, beta_2=0.99)

    @dr.freeze
    def turn(opt: Adam, rays: Rays) -> Float64:
        value = loss(opt, rays)
        dr.backward(value)
        opt.step()
        return dr.detach(value)

    losses = []
    for k in range(turns):
        speed = 1 - k / turns
        opt.set_learning_rate({name: speed * rate for name, rate in RATES.items()})
        losses.append(turn(opt, rays))
    return dr.detach(dict(opt)), [value[0] for value in losses]


def plot(figure: Any, lenses: dict[str, Lens], losses: list[float]) -> None:
    """The lens before and after, its spots in three directions, and the loss."""
    axes = figure.subplots(3, 4, width_ratios=(3, 1, 1, 1))
    heights = [RADIUS * (k / 3 - 1) for k in range(7)]
    bundles = [make_rays([(0, h, angle, D_LINE) for h in heights]) for angle in ANGLES]
    for (left, *others), (title, lens) in zip(axes, lenses.items(), strict=False):
        shape = numbers(lens["curvature"]), numbers(lens["distance"])
        section(left, title, shape, RIMS, bundles)
        left.set(aspect="equal")
        hit = trace(lens, all_rays())[0].numpy() * 1e3
        x, y = hit.reshape(2, len(ANGLES), len(COLORS), -1)
        for k, ax in enumerate(others):
            spot(ax, ANGLES[k], x[k], y[k] - y[k].mean())
    axes[2, 0].semilogy(losses)
    axes[2, 0].set(title="loss in square mm", xlabel="turn")
    for ax in axes[2, 1:]:
        ax.axis("off")


def report(title: str, lens: Lens) -> float:
    """Print what a lens does; the radius of its spots (root mean square) in mm."""
    each = [sqrt(v) for v in spots(lens, all_rays())]
    radius = sqrt(sum(v * v for v in each) / len(each))
    print(f"{title:6} focal length {focal_length(lens)[0]:.2f} mm, ", end="")
    print(f"radius of the spots {radius:.4f} mm:", *(f"{v:.4f}" for v in each))
    return radius


def main() -> int:
    """Design the lens, and say what it does."""
    path = sys.argv[1] if len(sys.argv) > 1 else "lens.png"
    start = {name: Float64(values) for name, values in START.items()}
    report("before", start)
    (found, losses), took = clock(lambda: design(TURNS))
    radius = report("after", found)
    print(f"{TURNS} turns of {len(ANGLES) * EACH} rays, {took / TURNS:.1f} ms each")
    print("radii of the surfaces", *(f"{1 / c:8.2f}" for c in found["curvature"]), "mm")
    print("distances behind them", *(f"{d:8.2f}" for d in found["distance"]), "mm")
    ok = radius < GOAL and abs(focal_length(found)[0] - FOCUS) < 0.05
    lenses = {"before": start, "after": found}
    status = verdict(ok, f"spots below {GOAL} mm, a focal length of {FOCUS:g} mm")
    draw(path, lambda figure: plot(figure, lenses, losses), 11, 8)
    return status


if __name__ == "__main__":
    sys.exit(main())
