"""A canvas for the pictures of the programs beside this one: images, lines, charts.

It is plain Python, so that the programs need nothing but the package itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor, hypot, log10
from typing import Any

from picture import encode_png

Color = tuple[float, float, float]
Point = tuple[float, float]

WHITE, INK, GRAY = (1.0, 1.0, 1.0), (0.13, 0.15, 0.2), (0.78, 0.8, 0.84)
BLUE, RED, GREEN = (0.12, 0.42, 0.75), (0.82, 0.22, 0.2), (0.15, 0.58, 0.35)

# Letters of five columns, whose bits are eight rows, the lowest bit on top.
LETTERS = {
    letter: tuple(bytes.fromhex(columns))
    for letter, columns in (
        row.split(" ", 1)
        for row in """\
0 3e4141413e|1 00427f4000|2 6251494946|3 2241494936|4 1814127f10|5 2f49494931
6 3e49494932|7 0171090503|8 3649494936|9 264949493e|- 0808080808|. 0060600000
+ 08083e0808|= 1414141414|/ 2010080402|: 0036360000|( 001c224100|) 0041221c00
% 2313086462|, 0050300000|a 2054545478|b 7f44444438|c 3844444428|d 384444447f
e 3854545418|f 087e090102|g 18a4a4a47c|h 7f04040478|i 00447d4000|j 4080847d00
k 7f10284400|l 00417f4000|m 7c04780478|n 7c04040478|o 3844444438|p fc24242418
q 18242424fc|r 7c08040408|s 4854545424|t 043f444020|u 3c4040207c|v 1c2040201c
w 3c4030403c|x 4428102844|y 1ca0a0a07c|z 4464544c44""".replace("\n", "|").split("|")
    )
}


class Canvas:
    """A picture that is drawn on, with the origin in its upper left corner."""

    def __init__(self, width: int, height: int, color: Color = WHITE) -> None:
        self.width, self.height = width, height
        self.pixels = bytearray(bytes(round(255 * c) for c in color) * (width * height))

    def dot(self, x: int, y: int, color: Color, weight: float = 1) -> None:
        """Blend a pixel with a color."""
        if 0 <= x < self.width and 0 <= y < self.height:
            first = 3 * (y * self.width + x)
            for k, c in enumerate(color, first):
                before = self.pixels[k]
                c = min(max(c, 0), 1)
                self.pixels[k] = round(before + weight * (255 * c - before))

    def image(
        self, x: int, y: int, width: int, channels: Sequence[Any], scale: int = 1
    ) -> None:
        """Draw numbers in [0, 1], row by row; a pixel becomes a square."""
        rows = list(zip(*(list(channel) for channel in channels), strict=True))
        for n, value in enumerate(rows):
            color = value if len(value) == 3 else value * 3
            left, top = x + n % width * scale, y + n // width * scale
            for k in range(scale * scale):
                self.dot(left + k % scale, top + k // scale, color)

    def line(self, points: Iterable[Point], color: Color, thickness: float = 1) -> None:
        """Connect points, each with the next one."""
        points = list(points)
        for (x0, y0), (x1, y1) in zip(points, points[1:], strict=False):
            length, reach = hypot(x1 - x0, y1 - y0), thickness / 2 + 1
            for y in range(floor(min(y0, y1) - reach), ceil(max(y0, y1) + reach) + 1):
                # Pixels of the row that can be near: the line between two heights.
                t = [0.0, 1.0]
                if y0 != y1:
                    t = sorted((y + s * reach - y0) / (y1 - y0) for s in (-1, 1))
                    t = [min(max(v, 0), 1) for v in t]
                ends = sorted(x0 + v * (x1 - x0) for v in t)
                for x in range(floor(ends[0] - reach), ceil(ends[1] + reach) + 1):
                    along = (x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)
                    s = min(max(along / length**2, 0), 1) if length else 0
                    away = hypot(x - x0 - s * (x1 - x0), y - y0 - s * (y1 - y0))
                    weight = min(max(thickness / 2 + 0.5 - away, 0), 1)
                    if weight:
                        self.dot(x, y, color, weight)

    def text(self, x: int, y: int, text: str, color: Color = INK) -> None:
        """Write a line whose upper left corner is at (x, y), 16 pixels high."""
        for letter in text.lower():
            for column, bits in enumerate(LETTERS.get(letter, ())):
                for row in range(8):
                    if bits >> row & 1:
                        for k in range(4):
                            left, top = x + 2 * column, y + 2 * row
                            self.dot(left + k % 2, top + k // 2, color)
            x += 12

    def chart(
        self,
        box: tuple[int, int, int, int],
        title: str,
        curves: Sequence[tuple[Color, Sequence[float]]],
    ) -> None:
        """Draw positive values over their number, with powers of ten on the axis."""
        x, y, width, height = box
        values = [log10(v) for _, curve in curves for v in curve]
        low, high = floor(min(values)), max(ceil(max(values)), floor(min(values)) + 1)
        left, top, right, bottom = x + 64, y + 24, x + width, y + height - 24
        self.text(left, y, title)
        count = max(len(curve) for _, curve in curves)

        def place(number: float, value: float) -> Point:
            across = (right - left) * number / max(count - 1, 1)
            return left + across, top + (bottom - top) * (high - value) / (high - low)

        for power in range(low, high + 1):
            row = place(0, power)[1]
            self.line([(left, row), (right, row)], GRAY)
            self.text(x, round(row) - 7, f"1e{power}")
        self.text(left, bottom + 10, "0")
        self.text(right - 12 * len(str(count - 1)), bottom + 10, str(count - 1))
        for color, curve in curves:
            points = (place(n, log10(v)) for n, v in enumerate(curve))
            self.line(points, color, 2)

    def write(self, path: str) -> None:
        """Write the picture as a PNG file."""
        with open(path, "wb") as f:
            f.write(encode_png(self.width, self.height, bytes(self.pixels)))
