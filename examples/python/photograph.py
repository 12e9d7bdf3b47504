"""A sharp picture from four small, blurred ones.

    python examples/python/photograph.py [PICTURE.png]

A hand-held camera takes the same picture four times, each time a pixel further. Its
lens blurs, and its sensor has half of the pixels in each direction. No photograph has
what we want, but together they have as many numbers as the picture has pixels.

The camera is three calls: a convolution with numbers that moves the picture, one with a
Gaussian, a resampling. We look for the picture that these turn into the photographs, by
gradient descent from the mean of the photographs, enlarged. The derivatives of the
camera are those of its parts.
"""

from __future__ import annotations

import sys
from typing import Any

import drjit as dr
from drjit.llvm.ad import Float, TensorXf
from drjit.opt import Adam
from picture import clock, draw, show

SIZE = 96  # pixels of a side of the picture; a photograph has half as many
BLUR = 1.6  # twice the standard deviation of the lens, in pixels
SHIFTS = ((0, 0), (0, 1), (1, 0), (1, 1))
TURNS = 300
PSNR = 34.0  # decibels that the found picture reaches at least


def paint() -> TensorXf:
    """Rings that become finer, a disc in front of them, and a checkerboard."""
    axis = (dr.arange(Float, SIZE) + 0.5) / SIZE
    x, y = dr.meshgrid(axis, axis)
    r = dr.hypot(x - 0.1, y - 0.1)
    value = 0.5 + 0.35 * dr.sin(40 * r * (1 + 0.5 * r))
    disc = dr.hypot(x - 0.65, y - 0.35)
    value = dr.lerp(value, 0.9 - x * 0.4, dr.clip((0.18 - disc) * SIZE, 0, 1))
    checks = dr.select(dr.sin(x * 70) * dr.sin(y * 70) > 0, 0.85, 0.15)
    value = dr.select(
        (dr.abs(x - 0.3) < 0.18) & (dr.abs(y - 0.72) < 0.18), checks, value
    )
    return TensorXf(dr.detach(value), (SIZE, SIZE))


def camera(picture: TensorXf, shift: tuple[int, int]) -> TensorXf:
    """The photograph of a picture that has moved by some pixels."""
    for axis, pixels in enumerate(shift):
        if pixels:
            move = [1] + [0] * (2 * pixels)
            picture = dr.convolve(picture, move, axis=axis, boundary="nearest")
    picture = dr.convolve(
        picture, "gaussian", BLUR, boundary="nearest", normalize=True
    )
    return dr.resample(picture, (SIZE // 2, SIZE // 2), "box")


def enlarge(photographs: list[TensorXf]) -> TensorXf:
    """The mean of the photographs, each moved back."""
    total: Any = 0
    for photograph, (down, right) in zip(photographs, SHIFTS, strict=True):
        large = dr.resample(photograph, (SIZE, SIZE), "cubic")
        for axis, pixels in enumerate((down, right)):
            if pixels:
                move = [0] * (2 * pixels) + [1]
                large = dr.convolve(large, move, axis=axis, boundary="nearest")
        total = total + large / len(SHIFTS)
    return TensorXf(total)


def loss(picture: TensorXf, photographs: list[TensorXf]) -> Float:
    """The mean square of the differences, of all photographs."""
    total = Float(0)
    for photograph, shift in zip(photographs, SHIFTS, strict=True):
        total += dr.mean(dr.square((camera(picture, shift) - photograph).array))
    return total


def recover(photographs: list[TensorXf], turns: int) -> tuple[TensorXf, list[float]]:
    """The picture that explains the photographs, and the loss in each turn."""
    opt = Adam(lr=0.03, params={"picture": enlarge(photographs)})
    losses = []
    for turn in range(turns):
        opt.lr = 0.03 * (1 - turn / turns) + 1e-3
        value = loss(opt["picture"], photographs)
        dr.backward(value)
        opt.step()
        losses.append(value[0])
    return dr.detach(opt["picture"]), losses


def psnr(picture: TensorXf, truth: TensorXf) -> float:
    """Peak signal-to-noise ratio in decibels: 10 times the logarithm of 1 / error^2."""
    error = dr.mean(dr.square((dr.detach(picture) - truth).array))
    return float((-10 / dr.log(10.0) * dr.log(error))[0])


def plot(figure: Any, pictures: dict[str, TensorXf], losses: list[float]) -> None:
    """The pictures, and how the misfit went down."""
    *axes, last = figure.subplots(1, len(pictures) + 1)
    for ax, (name, picture) in zip(axes, pictures.items(), strict=True):
        show(ax, name, picture.numpy(), cmap="gray", vmin=0, vmax=1)
    last.semilogy(losses)
    last.set(title="misfit", xlabel="turn")


def main() -> int:
    """Photograph, recover, compare."""
    path = sys.argv[1] if len(sys.argv) > 1 else "photograph.png"
    truth = paint()
    photographs = [dr.detach(camera(truth, shift)) for shift in SHIFTS]
    dr.eval(photographs)
    guess = enlarge(photographs)
    (found, losses), took = clock(lambda: recover(photographs, TURNS))
    print(f"{TURNS} turns, {took / TURNS:.1f} ms each")
    print(f"misfit {losses[0]:.1e} -> {losses[-1]:.1e}")
    before, after = psnr(guess, truth), psnr(found, truth)
    ok = after > PSNR
    print(
        f"signal to noise: {before:.1f} dB enlarged, {after:.1f} dB recovered, "
        f"{'above' if ok else 'NOT above'} {PSNR:g} dB"
    )
    pictures = {"photographs": guess, "recovered": found, "original": truth}
    draw(path, lambda figure: plot(figure, pictures, losses), 10, 2.8)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
