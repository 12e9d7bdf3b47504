"""How notebooks show arrays: as a table of what they are, and pictures as pictures."""

from __future__ import annotations

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

PICTURE = 8  # pixels that a picture has at least on each side
LARGEST = 4096  # ... and at most


def table(rows: Iterable[Iterable[str]]) -> str:
    """A table of HTML; the first row is the head."""
    import html

    out: list[str] = []
    for row in rows:
        tag = "td" if out else "th"
        cells = [f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row]
        out.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(out)}</table>"


_COLUMNS = (
    "type", "source", "size", "ms", "compile ms", "read", "written", "operations",
    "engine",
)  # fmt: skip


def _row(entry: dict[str, Any]) -> Iterable[str]:
    """An entry of the kernel history, a text for each column."""
    yield entry["type"].name
    yield entry["source"] or ""
    yield str(entry["size"])
    yield f"{entry['execution_time']:.3f}"
    compiling = entry.get("codegen_time", 0) + entry.get("backend_time", 0)
    yield f"{compiling:.3f}" if "hash" in entry else ""
    yield _bytes(entry["bytes_read"])
    yield _bytes(entry["bytes_written"])
    yield str(entry.get("operation_count", ""))
    yield entry.get("engine", "")


class History(list[dict[str, "Any"]]):
    """What :func:`drjit.kernel_history` returns: a list, which notebooks show as a
    table."""

    def _repr_html_(self) -> str:
        return table([_COLUMNS, *(list(_row(entry)) for entry in self)])


def _leaves(value: Any) -> list[Any]:
    """The one-dimensional arrays that an array consists of."""
    if dr.is_tensor_v(value):
        return [value.array]
    if dr.depth_v(value) <= 1:
        return [value]
    return [leaf for part in value for leaf in _leaves(part)]


def _memory(value: Any) -> str:
    size = dr.itemsize_v(value)
    leaves = _leaves(value)
    if not dr.is_jit_v(value):
        return _bytes(sum(len(leaf) for leaf in leaves) * size)
    kept = [
        len(leaf)
        for leaf in leaves
        if leaf.state in (dr.VarState.Evaluated, dr.VarState.Dirty)
    ]
    return _bytes(sum(kept) * size) if kept else "none yet"


def _bytes(n: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if n < 1024:
            return f"{n:.4g} {unit}"
        n /= 1024  # type: ignore[assignment]
    return f"{n:.4g} GiB"


def _gradient(value: Any) -> str:
    if not dr.is_diff_v(value):
        return "not tracked by this type"
    return "tracked" if dr.grad_enabled(value) else "not tracked"


def _shape(value: Any) -> str:
    try:
        return str(dr.shape(value))
    except RuntimeError:
        return "ragged"


def as_html(value: Any) -> str:
    """What ``_repr_html_`` of an array returns: what it is, and its first entries."""
    import html

    cls = type(value)
    state = value.state.name if dr.is_jit_v(value) else "in memory"
    facts = [
        ("type", f"{cls.__module__}.{cls.__name__}"),
        ("shape", _shape(value)),
        ("state", state.lower()),
        ("memory", _memory(value)),
        ("gradient", _gradient(value)),
    ]
    out = [table(zip(*facts, strict=True))]
    symbolic = state == "Symbolic"
    picture = None if symbolic else as_png(value)
    if picture:
        import base64

        data = base64.b64encode(picture).decode("ascii")
        out.append(f'<img alt="{facts[1][1]}" src="data:image/png;base64,{data}"/>')
    elif symbolic:
        out.append("<p>It has no value: it is part of what is recorded.</p>")
    else:
        out.append(f"<pre>{html.escape(repr(value))}</pre>")
    return "".join(out)


def _is_picture(value: Any) -> bool:
    if not dr.is_tensor_v(value) or value.ndim not in (2, 3):
        return False
    sides, channels = value.shape[:2], value.shape[2:]
    entries = dr.is_float_v(value) or dr.is_mask_v(value)
    entries = entries or dr.type_v(value) == dr.VarType.UInt8
    return (
        entries
        and all(PICTURE <= side <= LARGEST for side in sides)
        and channels in ((), (1,), (3,), (4,))
    )


def as_png(value: Any) -> bytes | None:
    """What ``_repr_png_`` of an array returns: None if it is not a picture.

    NaN is black.
    """
    if not _is_picture(value):
        return None
    height, width = value.shape[:2]
    channels = value.shape[2] if value.ndim == 3 else 1
    array = dr.detach(value.array)
    if dr.is_float_v(array):
        array = dr.select(array > 0, dr.minimum(array, 1) * 255 + 0.5, 0)
    elif dr.is_mask_v(array):
        array = dr.select(array, 255, 0)
    bytes_of = dr.uint8_array_t(type(array))(array)
    rows = bytes(memoryview(bytes_of))
    return png(width, height, channels, rows)


def png(width: int, height: int, channels: int, pixels: bytes) -> bytes:
    """A PNG file of 8-bit pixels, rows from top to bottom (W3C, PNG, third edition)."""
    import struct
    import zlib

    line = width * channels
    lines = (b"\0" + pixels[i : i + line] for i in range(0, line * height, line))
    kind = {1: 0, 3: 2, 4: 6}[channels]
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"".join(lines))),
        (b"IEND", b""),
    ]
    out = b"\x89PNG\r\n\x1a\n"
    for name, data in parts:
        out += struct.pack(">I", len(data)) + name + data
        out += struct.pack(">I", zlib.crc32(name + data))
    return out
