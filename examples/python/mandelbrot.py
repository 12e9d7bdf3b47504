"""The Mandelbrot set: a loop that each pixel leaves when it wants to.

    python examples/python/mandelbrot.py [PICTURE.png]

Prints how long the first picture takes, which is compiled, and the next ones, which
zoom in with the same kernel.
"""

from __future__ import annotations

import sys
from typing import Any

import drjit as dr
from drjit.llvm import Float, Float64
from picture import clock, save

WIDTH, HEIGHT, TURNS = 768, 512, 400


@dr.syntax
def escape(cx: Float64, cy: Float64) -> Float:
    """A smooth number of turns until z = z * z + c is far away; 0: it stays."""
    x, y = Float64(0), Float64(0)
    turn = Float(0)
    while turn < TURNS:
        x, y = x * x - y * y + cx, 2 * x * y + cy
        turn += 1
        if x * x + y * y > 100:
            break
    else:
        turn = Float(0)
    if turn > 0:
        turn += 1 - dr.log2(dr.log2(Float(x * x + y * y)) / 2)
    return turn


def view(width: Any) -> Float:
    """The turns of all pixels of a picture of this width."""
    x = dr.linspace(Float64, -1, 1, WIDTH) * width
    y = dr.linspace(Float64, -1, 1, HEIGHT) * width * (HEIGHT / WIDTH)
    cx, cy = dr.meshgrid(x - 0.743643887037151, y + 0.131825904205330)
    turns = escape(cx, cy)
    dr.eval(turns)
    dr.sync_thread()
    return turns


def main() -> int:
    """Draw the picture."""
    path = sys.argv[1] if len(sys.argv) > 1 else "mandelbrot.png"
    _, first = clock(lambda: view(dr.opaque(Float64, 1.5)))
    widths = [1.5 * 0.7**k for k in range(20)]
    frames, rest = clock(lambda: [view(dr.opaque(Float64, w)) for w in widths])
    print(
        f"first picture {first:.1f} ms, the next ones {rest / len(widths):.1f} ms each"
    )
    turns = frames[14]
    inside = turns == 0
    found = dr.count(inside)[0] / len(turns)
    print(f"{100 * found:.1f} % of the pixels stay")
    level = dr.select(inside, 0, 0.5 + 0.5 * dr.sin(dr.log2(turns + 1) * 1.5))
    save(path, level, WIDTH, cmap="inferno")
    return 0


if __name__ == "__main__":
    sys.exit(main())
