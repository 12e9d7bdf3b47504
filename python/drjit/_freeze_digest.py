"""A text that says what code is, in other processes, too."""

from __future__ import annotations

import functools
import types
from typing import Any


@functools.lru_cache(maxsize=1024)
def digest(code: types.CodeType) -> str:
    """A text that is the same for the same code."""
    import hashlib  # takes longer than most functions

    parts = (
        code.co_name,
        code.co_code,
        code.co_names,
        code.co_freevars,
        [_constant(x) for x in code.co_consts],
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _constant(value: Any) -> str:
    return digest(value) if isinstance(value, types.CodeType) else repr(value)
