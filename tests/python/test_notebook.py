"""How notebooks show arrays and tables, by formatting functions and in a notebook."""

from __future__ import annotations

import os
import struct
import zlib
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import ad


def decoded(data: bytes) -> np.ndarray[Any, Any]:
    """The pixels of a PNG file without filters, checksums included."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, compressed, size = 8, b"", (0, 0, 0)
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (checksum,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        assert checksum == zlib.crc32(name + body)
        if name == b"IHDR":
            width, height, depth, kind = struct.unpack(">IIBB", body[:10])
            assert depth == 8
            size = (height, width, {0: 1, 2: 3, 6: 4}[kind])
        elif name == b"IDAT":
            compressed += body
        at += 12 + length
    assert name == b"IEND"
    lines = np.frombuffer(zlib.decompress(compressed), np.uint8)
    lines = lines.reshape(size[0], 1 + size[1] * size[2])
    assert np.all(lines[:, 0] == 0)
    return lines[:, 1:].reshape(size)


def test_facts() -> None:
    """Type, shape, state, memory, gradient, and the entries."""
    x = ad.Float(1, 2, 3)
    dr.enable_grad(x)
    text = x._repr_html_()
    for fact in ("drjit.llvm.ad.Float", "(3,)", "evaluated", "12 bytes", "[1, 2, 3]"):
        assert f">{fact}<" in text, fact
    assert "<td>tracked</td>" in text
    lazy = ad.Array3f(1, 2, 3) * dr.arange(ad.Float, 4)
    text = lazy._repr_html_()
    assert "(3, 4)" in text and "none yet" in text and "not tracked" in text
    text = dr.scalar.Array3f(1, 2, 3)._repr_html_()
    assert "in memory" in text and "[1, 2, 3]" in text


def test_text_is_escaped() -> None:
    """Names of subclasses cannot be markup."""
    cls = type("<b>", (ad.Float,), {})
    assert "&lt;b&gt;" in cls(1)._repr_html_()


def test_symbolic_arrays_have_no_entries() -> None:
    """They are described, and nothing is evaluated."""
    shown = []

    def body(i: ad.UInt) -> tuple[ad.UInt]:
        shown.append(i._repr_html_())
        assert i._repr_png_() is None
        return (i + 1,)

    dr.while_loop((ad.UInt(0, 1),), lambda i: i < 3, body, mode="symbolic")
    assert "symbolic" in shown[0] and "what is recorded" in shown[0]


@pytest.mark.parametrize("channels", [None, 1, 3, 4])
def test_pictures_of_floats(channels: int | None) -> None:
    """0 is black, 1 is white, the rest is rounded and clipped; NaN is black."""
    shape = (9, 8) if channels is None else (9, 8, channels)
    values = np.random.default_rng(1).uniform(-0.5, 1.5, shape).astype(np.float32)
    values.flat[3] = np.nan
    tensor = ad.TensorXf(values)
    found = decoded(tensor._repr_png_())
    expected = np.floor(np.clip(np.nan_to_num(values, nan=0), 0, 1) * 255 + 0.5)
    assert np.array_equal(found.reshape(shape), expected.astype(np.uint8))
    assert "data:image/png;base64," in tensor._repr_html_()


def test_pictures_of_masks_and_bytes() -> None:
    """Masks are black and white, bytes are shown as they are."""
    values = np.arange(80, dtype=np.uint8).reshape(8, 10) * 3
    found = decoded(ad.TensorXu8(values)._repr_png_())
    assert np.array_equal(found[:, :, 0], values)
    found = decoded(ad.TensorXb(values > 100)._repr_png_())
    assert np.array_equal(found[:, :, 0], np.where(values > 100, 255, 0))


@pytest.mark.parametrize(
    "value",
    [
        ad.Float(1, 2),
        dr.zeros(ad.TensorXf, (7, 20)),
        dr.zeros(ad.TensorXf, (20, 20, 2)),
        dr.zeros(ad.TensorXu, (20, 20)),
        dr.zeros(ad.TensorXf, (8, 5000)),
        dr.zeros(ad.Matrix4f),
    ],
)
def test_what_is_not_a_picture(value: Any) -> None:
    """Other shapes and types have no PNG file."""
    assert value._repr_png_() is None
    assert "<img" not in value._repr_html_()


def test_kernel_history_is_a_table() -> None:
    """A list as before, with a row for each launch."""
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.kernel_history_clear()
        dr.eval(dr.arange(ad.Float, 77) * 2)
        history = dr.kernel_history()
    assert isinstance(history, list) and len(history) == 1
    text = history._repr_html_()
    assert text.count("<tr>") == 2
    assert "<td>JIT</td>" in text and "<td>77</td>" in text


def test_a_notebook() -> None:
    """A notebook that runs without a browser has arrays and pictures in its output."""
    nbformat = pytest.importorskip("nbformat", reason="Jupyter is not installed")
    nbclient = pytest.importorskip("nbclient", reason="Jupyter is not installed")
    cells = [
        "import drjit as dr\nfrom drjit.llvm import Float, TensorXf",
        "dr.arange(Float, 5)",
        "TensorXf(dr.linspace(Float, 0, 1, 64), (8, 8))",
    ]
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells]
    )
    client = nbclient.NotebookClient(book, timeout=120, kernel_name="python3")
    client.execute(env=dict(os.environ))
    array, picture = (cell.outputs[0].data for cell in book.cells[1:])
    assert array["text/plain"] == "[0, 1, 2, 3, 4]"
    assert "drjit.llvm.Float" in array["text/html"] and "image/png" not in array
    assert "image/png" in picture
