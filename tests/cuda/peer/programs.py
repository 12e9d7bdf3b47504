"""Programs for two packages: each is a function of `dr`, a module of array types, and
`ad`, the same types with derivatives, which returns named results. They are in
programs_values.py, programs_memory.py and programs_arrays.py.

`@exact` marks programs whose results have the same bits on both sides; `@near` those in
which the published package uses approximations (cuda.md 2.1: `sin.approx`, `.ftz`, ...)
or sums in another order, with the largest difference of two numbers, relative to the
larger one or to 1. Integers and truth values are compared exactly in all of them.

No program needs more than the package: the peer's environment may lack NumPy.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Results = dict[str, Any]
Function = Callable[[Any, Any, Any], Results]


@dataclass(frozen=True)
class Program:
    """A function, and how far its floats may be apart (0: no bit)."""

    name: str
    function: Function
    tolerance: float


PROGRAMS: dict[str, Program] = {}


def near(tolerance: float) -> Callable[[Function], Function]:
    """Enter a program whose floats may differ."""

    def enter(function: Function) -> Function:
        name = function.__name__
        PROGRAMS[name] = Program(name, function, tolerance)
        return function

    return enter


exact = near(0.0)

INTEGERS = ("Int8", "UInt8", "Int", "UInt", "Int64", "UInt64")
WIDE = ("Int", "UInt", "Int64", "UInt64")
FLOATS = ("Float16", "Float32", "Float64")
N = 300


def bits(dr: Any, m: Any, n: int = N, salt: int = 1) -> Any:
    """Some 32-bit numbers, all of them different."""
    x = dr.arange(m.UInt, n) + (salt * 0x9E3779B1 & 0xFFFFFFFF)
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return x ^ (x >> 16)


def integers(dr: Any, m: Any, name: str, n: int = N, salt: int = 1) -> Any:
    """Numbers of an integer type, in all of its range."""
    t = getattr(m, name)
    if "64" in name:
        high = m.UInt64(bits(dr, m, n, salt)) << 32
        x = t(high | m.UInt64(bits(dr, m, n, salt + 7)))
    else:
        x = t(bits(dr, m, n, salt))
    return made(dr, x)


def made(dr: Any, x: Any) -> Any:
    """The same, in memory."""
    dr.make_opaque(x)
    return x


def floats(dr: Any, m: Any, name: str, n: int = N, salt: int = 1) -> Any:
    """Numbers in (-8, 8) that are multiples of 1/64, of a float type."""
    i = m.Int(bits(dr, m, n, salt) & 1023) - 512
    return made(dr, getattr(m, name)(m.Float32(i) * (1 / 64)))


def positive(dr: Any, m: Any, name: str, n: int = N, salt: int = 1) -> Any:
    """Numbers in (0, 16]."""
    i = m.Int(bits(dr, m, n, salt) & 1023) + 1
    return made(dr, getattr(m, name)(m.Float32(i) * (1 / 64)))


def flat(dr: Any, value: Any) -> Iterator[Any]:
    """The entries of a result, as numbers of Python."""
    if isinstance(value, dr.ArrayBase):
        if dr.is_tensor_v(value):
            value = value.array
        elif dr.depth_v(value) > 1:
            value = dr.ravel(value)
    elif not isinstance(value, list | tuple):
        yield value
        return
    for entry in value:
        yield from flat(dr, entry)


def type_of(dr: Any, value: Any) -> str:
    """How entries of a result are compared."""
    if isinstance(value, dr.ArrayBase):
        return "float" if dr.is_float_v(value) else "exact"
    return "float" if isinstance(value, float) else "exact"


def load() -> dict[str, Program]:
    """All programs by name."""
    for name in ("programs_values", "programs_memory", "programs_arrays"):
        importlib.import_module(name)
    return PROGRAMS
