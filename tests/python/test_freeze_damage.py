"""Files of ``FrozenFunction.save`` in which one bit is another one, with the right
hashes again, as somebody could make them on purpose.

What reads such a file says what is wrong with it, or has a function that can be called.
``tests/fuzz`` does the same to the part that is the core's, under sanitizers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Float, TensorXf

HEADER, SIGNATURE = 48, 32  # docs/dev/freezing.md


def signed(block: bytes) -> bytes:
    """A file with this block."""
    return block + hashlib.blake2b(block, digest_size=SIGNATURE).digest()


def changes(block: bytes, first: int, end: int, step: int = 1) -> Iterator[bytes]:
    for bit in range(8 * first, 8 * end, step):
        changed = bytearray(block)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


def use(path: Path, block: bytes, inputs: tuple[Any, ...]) -> bool:
    """Could it be called? What is wrong with it is said in this package's words."""
    with open(path, "r+b", buffering=0) as file:  # in place, which is a lot faster
        file.write(block)
    try:
        loaded = dr.load_frozen(path)
    except (RuntimeError, ValueError) as error:
        assert str(error).startswith("drjit.load_frozen(): "), repr(error)
        return False
    try:
        dr.eval(loaded(*inputs))
    except (RuntimeError, ValueError, TypeError) as error:
        assert str(error).startswith("drjit."), repr(error)
        return False
    return True


def scaled(x: Float, n: int) -> Float:
    return x * n + dr.sum(x)


def shaped(t: TensorXf) -> dict[str, Any]:
    return {"t": t * 2, "n": t.shape[0]}


# A function, its inputs, and which of its bits are changed: under a sanitizer fewer.
FEW = 11 if os.environ.get("DRJIT_TEST_FEW") else 1
CASES = {
    "scaled": (scaled, lambda: (dr.arange(Float, 9), 3), FEW),
    "shaped": (shaped, lambda: (TensorXf(dr.arange(Float, 6), (2, 3)),), 7 * FEW),
}


@pytest.mark.parametrize("name", CASES)
def test_notes(tmp_path: Path, name: str) -> None:
    """Bits of what is Python's, and of the header."""
    function, make, step = CASES[name]
    frozen = dr.freeze(function)
    frozen(*make())
    path, inputs = tmp_path / "f", make()
    frozen.save(path)
    file = path.read_bytes()
    block = file[:-SIGNATURE]
    assert signed(block) == file
    assert use(path, file, inputs)
    for changed in changes(block, 0, HEADER):
        assert not use(path, signed(changed), inputs)
    recordings = frozen._kept.all()
    _, note = dr._core._freeze_inspect(block)
    assert dr._core._freeze_save(recordings, note) == block
    called = [
        use(path, signed(dr._core._freeze_save(recordings, changed)), inputs)
        for changed in changes(note, 0, len(note), step)
    ]
    assert 0 < sum(called) < len(called) / 2  # of what is no more than a name
