"""What the programs beside this one share: clocks, and pictures as PNG files."""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Callable
from typing import Any


def clock(function: Callable[[], Any]) -> tuple[Any, float]:
    """What a function returns, and the milliseconds that it took."""
    start = time.perf_counter()
    result = function()
    return result, (time.perf_counter() - start) * 1e3


def encode_png(width: int, height: int, pixels: bytes) -> bytes:
    """A PNG file of pixels that have one byte each, or three."""
    stride = len(pixels) // height

    def chunk(kind: bytes, body: bytes) -> bytes:
        check = zlib.crc32(kind + body)
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", check)

    color = 2 if stride == 3 * width else 0
    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    rows = b"".join(
        b"\0" + pixels[y * stride : (y + 1) * stride] for y in range(height)
    )
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows, 6))
        + chunk(b"IEND", b"")
    )


def write_png(path: str, width: int, channels: list[Any]) -> None:
    """Write numbers in [0, 1], row by row: one array for gray, three for colors."""
    levels = [bytes(int(255 * min(max(v, 0), 1) + 0.5) for v in c) for c in channels]
    pixels = bytes(level for pixel in zip(*levels, strict=True) for level in pixel)
    with open(path, "wb") as f:
        f.write(encode_png(width, len(levels[0]) // width, pixels))
