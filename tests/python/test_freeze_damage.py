"""Files of ``FrozenFunction.save`` in which one bit is another one, sealed again.

Nobody but the user can make such a file, whose key is needed. What reads it says what
is wrong with it, or has a function that can be called. ``tests/fuzz`` does the same to
the part that is the core's, under sanitizers.
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

HEADER, CODE, END = 40, 72, 80  # docs/dev/freezing.md


def key() -> bytes:
    folder = os.environ.get("DRJIT_CACHE_DIR", "")
    if not folder or not Path(folder, "key").exists():
        pytest.skip("needs the folder of the disk cache")
    return Path(folder, "key").read_bytes()


def sealed(block: bytes, secret: bytes) -> bytes:
    """The same with the authentication code that it should have."""
    digest = hashlib.blake2b(key=secret, digest_size=CODE - HEADER)
    digest.update(block[:HEADER] + block[CODE:])
    return block[:HEADER] + digest.digest() + block[CODE:]


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


def saved(path: Path, name: str) -> bytes:
    function, make, _ = CASES[name]
    frozen = dr.freeze(function)
    frozen(*make())
    frozen.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("name", CASES)
def test_notes(tmp_path: Path, name: str) -> None:
    """Bits of what is Python's, and of the header."""
    block = saved(tmp_path / "f", name)
    secret, inputs = key(), CASES[name][1]()
    assert sealed(block, secret) == block
    assert use(tmp_path / "f", block, inputs)
    end = END + int.from_bytes(block[CODE:END], "little")
    for changed in changes(block, 0, HEADER):
        assert not use(tmp_path / "f", sealed(changed, secret), inputs)
    called = [
        use(tmp_path / "f", sealed(changed, secret), inputs)
        for changed in changes(block, CODE, end, CASES[name][2])
    ]
    assert 0 < sum(called) < len(called) / 2  # of what is no more than a name
