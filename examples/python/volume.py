"""What is inside? Computed tomography: a volume from its shadows.

    python examples/python/volume.py [PICTURE.png]

X-rays go through a thing from many sides, and a detector measures how much of each ray
was absorbed: the integral of the density along it. We want the density everywhere.

drjit.dda.integrate() computes the integrals of a volume that we guess, cell by cell and
exactly, and its reverse derivative says how to change each of the samples so that the
shadows become more alike. That is all that there is to the reconstruction. The density
is not negative, which takes care of what the shadows leave open.
"""

from __future__ import annotations

import sys
from typing import Any

import drjit as dr
import drjit.opt
from drjit.dda import integrate
from drjit.llvm.ad import Array3f, Float, TensorXf, UInt
from picture import clock, draw, pixels, show

SHAPE = (20, 24, 28)  # samples along z, y, x, a distance of 1 apart
VIEWS, PIXELS = 18, 32  # photographs, and pixels of a side
DISTANCE, WIDTH = 40.0, 36.0  # of the detector
TURNS, RATE = 80, 0.1
TOLERANCE = 0.02  # mean error of the densities, which go up to 1


def hidden_volume() -> TensorXf:
    """A dense shell with two balls in it, one light and one heavy."""
    cell = dr.arange(UInt, SHAPE[0] * SHAPE[1] * SHAPE[2])
    x = Float(cell % SHAPE[2]) / (SHAPE[2] - 1) * 2 - 1
    y = Float(cell // SHAPE[2] % SHAPE[1]) / (SHAPE[1] - 1) * 2 - 1
    z = Float(cell // (SHAPE[2] * SHAPE[1])) / (SHAPE[0] - 1) * 2 - 1

    def ball(cx: float, cy: float, cz: float, radius: float) -> Float:
        """1 inside, 0 outside, smooth between."""
        way = dr.sqrt(dr.square(x - cx) + dr.square(y - cy) + dr.square(z - cz))
        return dr.clip((radius - way) * 6 + 0.5, 0, 1)

    density = 0.6 * ball(0, 0, 0, 0.85) - 0.4 * ball(0, 0, 0, 0.65)
    density += 0.8 * ball(-0.2, 0.15, 0.1, 0.3) - 0.2 * ball(0.35, -0.2, -0.1, 0.2)
    return TensorXf(density, SHAPE)


def rays() -> tuple[Array3f, Array3f]:
    """Origin and direction of all rays: parallel in each view, which go around."""
    lane = dr.arange(UInt, VIEWS * PIXELS * PIXELS)
    u = ((Float(lane % PIXELS) + 0.5) / PIXELS - 0.5) * WIDTH
    v = ((Float(lane // PIXELS % PIXELS) + 0.5) / PIXELS - 0.5) * WIDTH
    view = Float(lane // (PIXELS * PIXELS))
    # Half a turn around the z axis, at several heights.
    sa, ca = dr.sincos(view * (dr.pi / VIEWS))
    se, ce = dr.sincos(0.9 * dr.sin(view * 2.4))
    d = Array3f(ca * ce, sa * ce, se)
    right, up = Array3f(-sa, ca, 0), Array3f(-ca * se, -sa * se, ce)
    middle = Array3f(*[(extent - 1) / 2 for extent in SHAPE[::-1]])
    return middle + right * u + up * v - d * DISTANCE, d


def shadows(volume: TensorXf, o: Array3f, d: Array3f) -> Float:
    """What the detector sees: a line integral for each ray."""
    upper = Array3f(*[extent - 1 for extent in SHAPE[::-1]])
    result: Float = integrate(o, d, Float(2 * DISTANCE), Array3f(0), upper, volume)
    return result


def reconstruct(seen: Float, turns: int) -> tuple[TensorXf, list[float]]:
    """From nothing to the volume, and the loss of each turn."""
    o, d = rays()
    dr.eval(o, d)
    opt = drjit.opt.Adam(lr=RATE, params={"volume": dr.zeros(TensorXf, SHAPE)})
    losses = []
    for turn in range(turns):
        loss = dr.mean(dr.square(shadows(opt["volume"], o, d) - seen))
        dr.backward(loss)
        opt.set_learning_rate(RATE * min(1, 2 * (1 - turn / turns)))
        opt.step()
        opt["volume"] = dr.maximum(opt["volume"], 0)
        losses.append(loss[0])
    return dr.detach(opt["volume"]), losses


def plot(
    figure: Any, seen: Float, volumes: dict[str, TensorXf], losses: list[float]
) -> None:
    """Above some of the shadows, below slices of both volumes."""
    axes = figure.subplots(3, 4)
    shadows = pixels(seen, PIXELS).reshape(VIEWS, PIXELS, PIXELS)
    for n, ax in enumerate(axes[0]):
        view = n * VIEWS // 4
        show(ax, f"shadow {view + 1}", shadows[view], cmap="gray", vmax=shadows.max())
    for row, (title, volume) in zip(axes[1:], volumes.items(), strict=True):
        for n, ax in enumerate(row[:3]):
            z = SHAPE[0] * (2 + n) // 6
            show(ax, f"{title} {z}", volume.numpy()[z], cmap="gray", vmin=0, vmax=1)
    axes[1, 3].semilogy(losses)
    axes[1, 3].set(title="loss", xlabel="turn")
    axes[2, 3].axis("off")


def main() -> int:
    """Photograph, reconstruct, compare."""
    path = sys.argv[1] if len(sys.argv) > 1 else "volume.png"
    truth = hidden_volume()
    seen = shadows(truth, *rays())
    dr.eval(truth, seen)
    result: Any = clock(lambda: reconstruct(seen, TURNS))
    (found, losses), took = result
    count = VIEWS * PIXELS * PIXELS
    print(f"{TURNS} turns of {count:,} rays and back, {took / TURNS:.1f} ms each")
    print(f"loss {losses[0]:.1e} -> {losses[-1]:.1e}")
    error = dr.mean(dr.abs((found - truth).array))[0]
    ok = error < TOLERANCE
    print(
        f"the density is off by {error:.4f} on average, "
        f"{'below' if ok else 'NOT below'} {TOLERANCE}"
    )
    volumes = {"slice": truth, "found": found}
    draw(path, lambda figure: plot(figure, seen, volumes, losses), 9, 7)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
