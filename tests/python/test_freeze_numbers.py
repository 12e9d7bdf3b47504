"""What ``dr.width()`` and the like give while a function is recorded does what an int
does, and has no trace in what the function leaves behind.

The reference is the function itself, called with the same inputs, where these are ints
of Python. Each function is called for several sizes: a result that is repeated for a
size that it does not belong to is wrong.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import datetime
import decimal
import fractions
import io
import json
import math
import numbers
import operator
import pickle
import statistics
import struct
import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import drjit as dr
import pytest
from drjit.llvm import Bool, Float, Float16, Float64, Int, Int64, TensorXf, UInt, UInt64

np = pytest.importorskip("numpy")

WIDTHS = (6, 7, 6, 20, 5)


def flat(size: int) -> Float:
    x = dr.arange(Float, size) + 1
    dr.make_opaque(x)
    return x


def described(value: Any) -> Any:
    """Something to compare: types and values, exactly."""
    if isinstance(value, dr.ArrayBase):
        shape = tuple(map(int, value.shape)) if dr.is_tensor_v(value) else ()
        entries = value.array if dr.is_tensor_v(value) else value
        flat = dr.depth_v(entries) <= 1
        parts = [repr(x) if flat else described(x) for x in entries]
        return type(value), shape, parts
    if isinstance(value, np.ndarray):
        return np.ndarray, value.dtype, value.shape, repr(value.tolist())
    if isinstance(value, (list, tuple)):
        return type(value), [described(entry) for entry in value]
    if isinstance(value, dict):
        return dict, [(described(k), described(v)) for k, v in value.items()]
    if isinstance(value, (set, frozenset)):
        return type(value), sorted(map(repr, map(described, value)))
    return type(value), repr(value)


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """What a call gives, of an error its class and text."""
    try:
        return described(function(*args))
    except Exception as error:
        return type(error), str(error)


def check(function: Callable[[Any, Any], Any], form: Callable[[Any], Any]) -> None:
    """``function`` of what is made of a size, and that, frozen, for all widths."""

    def of_array(x: Any) -> Any:
        return function(form(dr.width(x)), dr.width(x))

    frozen = dr.freeze(of_array, warn_after=1000)
    for width in WIDTHS:
        x = flat(width)
        assert outcome(frozen, x) == outcome(of_array, x), width


# ---------------------------------------------------------------- operators

# Sizes: as it is, derived, negative, of 0 and 1, beyond 32 bits, almost too large.
FORMS: dict[str, Callable[[Any], Any]] = {
    "size": lambda n: n,
    "derived": lambda n: n * 3 + 1,
    "negative": lambda n: n - 20,
    "small": lambda n: n // 6,
    "large": lambda n: n * 1_000_000_007,
    "huge": lambda n: n * (1 << 58),
}

OTHERS: dict[str, Callable[[Any], Any]] = {
    "one": lambda n: 1,
    "int": lambda n: 7,
    "minus": lambda n: -3,
    "zero": lambda n: 0,
    "wide": lambda n: 1 << 40,
    "huge": lambda n: 1 << 70,
    "bool": lambda n: True,
    "float": lambda n: 2.5,
    "complex": lambda n: 1 + 2j,
    "fraction": lambda n: fractions.Fraction(1, 3),
    "decimal": lambda n: decimal.Decimal("1.5"),
    "int64": lambda n: np.int64(3),
    "uint8": lambda n: np.uint8(3),
    "float32": lambda n: np.float32(1.5),
    "float64": lambda n: np.float64(1.5),
    "array": lambda n: np.ones(2, np.float32),
    "size": lambda n: n,
    "other size": lambda n: n + 2,
    "text": lambda n: "ab",
    "list": lambda n: [1],
    "none": lambda n: None,
}


def power(a: Any, b: Any) -> Any:
    """Not of what makes numbers of a million digits."""
    small = not isinstance(b, int) or abs(b) < 100
    return a**b if small and not isinstance(b, (str, list)) else None


def in_place(name: str) -> Callable[[Any, Any], Any]:
    function: Callable[[Any, Any], Any] = getattr(operator, name)
    return function


def shifted(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def shift(a: Any, b: Any) -> Any:
        return function(a, b) if not isinstance(b, int) or b < 100 else None

    return shift


def repeated(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Not of sequences, unless they stay short."""

    def multiply(a: Any, b: Any) -> Any:
        short = all(not isinstance(x, int) or x < 100 for x in (a, b))
        sequence = isinstance(a, (str, list)) or isinstance(b, (str, list))
        return function(a, b) if short or not sequence else None

    return multiply


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": repeated(operator.mul),
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "divmod": divmod,
    "pow": power,
    "lshift": shifted(operator.lshift),
    "rshift": shifted(operator.rshift),
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "matmul": operator.matmul,
    "iadd": in_place("iadd"),
    "isub": in_place("isub"),
    "imul": repeated(in_place("imul")),
    "ifloordiv": in_place("ifloordiv"),
    "imod": in_place("imod"),
    "iand": in_place("iand"),
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "max": max,
    "min": min,
}


# Of NumPy, which wraps around all the same.
@pytest.mark.filterwarnings("ignore:overflow", "ignore:divide", "ignore:invalid")
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", BINARY)
def test_operators(name: str, other: str) -> None:
    function, second = BINARY[name], OTHERS[other]
    few = other in ("complex", "fraction", "decimal", "text", "list", "none")
    for form in (FORMS[k] for k in (("size", "negative") if few else FORMS)):
        check(lambda a, n: function(a, second(n)), form)
        check(lambda a, n: function(second(n), a), form)


def test_power_with_a_modulus() -> None:
    for form in FORMS.values():
        check(lambda a, n: pow(a, 3, 7), form)
        check(lambda a, n: pow(5, abs(a), 11), form)
        check(lambda a, n: pow(5, 3, a), form)


def roundtrip(n: Any) -> Any:
    return [pickle.loads(pickle.dumps(n, k)) for k in range(6)]


def matched(n: Any) -> Any:
    match n:
        case 6:
            return "six"
        case int(k):
            return k + 1
    return "none"


# What one number is asked for.
UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": abs,
    "invert": operator.invert,
    "bool": bool,
    "not": operator.not_,
    "int": int,
    "float": float,
    "complex": complex,
    "hash": hash,
    "index": operator.index,
    "str": str,
    "repr": repr,
    "ascii": ascii,
    "bin": bin,
    "hex": hex,
    "oct": oct,
    "round": round,
    "round_none": lambda n: round(n, None),
    "round_up": lambda n: round(n, 1),
    "round_down": lambda n: round(n, -1),
    "round_bad": lambda n: round(n, "x"),
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "format": lambda n: f"{n}|{n:6d}|{n:<+9,}|{n:x}|{n:.2f}|{n!r:>8}|{n!s}",
    "format_bad": lambda n: format(n, "q"),
    "percent": lambda n: operator.mod("%d %5.1f %x %s %r", (n, n, abs(n), n, n)),
    "bit_length": lambda n: n.bit_length(),
    "bit_count": lambda n: n.bit_count(),
    "to_bytes": lambda n: n.to_bytes(16, "little", signed=True),
    "from_bytes": lambda n: n.from_bytes(b"ab", "big"),
    "ratio": lambda n: n.as_integer_ratio(),
    "conjugate": lambda n: n.conjugate(),
    "parts": lambda n: (n.real, n.imag, n.numerator, n.denominator),
    "is_integer": lambda n: n.is_integer(),
    "missing": lambda n: n.nothing,
    "has": lambda n: (hasattr(n, "nothing"), hasattr(n, "bit_length")),
    "class": lambda n: n.__class__,
    "isinstance": lambda n: (
        isinstance(n, int),
        isinstance(n, float),
        isinstance(n, numbers.Integral),
        isinstance(n, numbers.Real),
        isinstance(n, collections.abc.Hashable),
        isinstance(n, collections.abc.Sized),
    ),
    "methods": lambda n: (n.__add__(2), n.__rsub__(3), n.__lt__(9), n.__index__()),
    "unbound": lambda n: int.__add__(n, 2),
    "unbound_bits": lambda n: int.bit_length(n),
    "call": lambda n: n(),
    "item": lambda n: n[0],
    "len": len,
    "iterate": list,
    "copy": lambda n: (copy.copy(n), copy.deepcopy(n), copy.deepcopy([n, {"a": n}])),
    "pickle": roundtrip,
    "json": lambda n: json.dumps({"n": n, "m": [n]}),
    "json_keys": lambda n: json.dumps({n: 1}),
    "json_python": lambda n: json.dumps([n, 1], indent=1),
    "range": lambda n: list(range(abs(n) % 9)),
    "range_in": lambda n: (n in range(7), range(30).count(n)),
    "slice": lambda n: [*range(40)][n % 9 : n % 9 + 3],
    "slice_object": lambda n: slice(n, None, 2).indices(9),
    "list_item": lambda n: [*range(40)][n % 30],
    "list_store": lambda n: operator.setitem(rows := [0] * 40, n % 30, n) or rows,
    "tuple_index": lambda n: (1, 6, 19, 20).index(n),
    "in": lambda n: (n in (5, 6), n in {5: 1, 7: 2}, n in {20, 6}, n in [1, 7]),
    "dict": lambda n: ({6: "a", 7: "b"}.get(n), {n: 1}[n], {n: n}),
    "set": lambda n: ({n, 6}, frozenset((n, 1)), {6, 7} - {n}),
    "key": lambda n: {(n, 2): [n], "a": {n: {n}}},
    "sum": lambda n: (sum([n, 1, n]), sum([n, 0.5]), math.prod([n, 2])),
    "sorted": lambda n: (sorted([n, 6, 3]), max(n, 6), min([n, 6.5])),
    "repeat": lambda n: ("ab" * (n % 5), [0] * (n % 5), b"x" * (n % 5)),
    "chr": lambda n: chr(abs(n) % 100),
    "bytes": lambda n: (bytes(n % 5), bytes([n % 200]), bytearray(n % 7)),
    "struct": lambda n: struct.pack("qd", n, n),
    "sqrt": lambda n: (math.sqrt(abs(n)), math.isqrt(abs(n)), math.exp(n % 5)),
    "gcd": lambda n: (math.gcd(n, 4), math.comb(abs(n) % 9, 2), math.log2(abs(n) + 1)),
    "ldexp": lambda n: math.ldexp(1.5, n % 99),
    "isclose": lambda n: math.isclose(n, 6.0),
    "decimal": lambda n: decimal.Decimal(n) / 7,
    "decimal_compare": lambda n: (decimal.Decimal(6) == n, decimal.Decimal(6) < n),
    "fraction": lambda n: (fractions.Fraction(n, 7), fractions.Fraction(n)),
    "fraction_compare": lambda n: (
        fractions.Fraction(6) == n,
        fractions.Fraction(6) < n,
    ),
    "timedelta": lambda n: datetime.timedelta(n % 99, seconds=n % 60),
    "date": lambda n: datetime.date(2000 + n % 20, 1, 1),
    "mean": lambda n: (statistics.mean([n, 3]), statistics.median([n, 3, 9])),
    "text": lambda n: "a" + n,
    "join": lambda n: ", ".join([n]),
    "match": matched,
    "print": lambda n: print(n, end="", file=(out := io.StringIO())) or out.getvalue(),
    "np_array": lambda n: (np.array(n), np.array([n]), np.array([n, 2.5])),
    "np_dtype": lambda n: np.array([[n, 1], [2, 3]], np.float32),
    "np_asarray": lambda n: np.asarray(n, dtype=np.int16),
    "np_weak": lambda n: (np.ones(2) * n, np.ones(2, np.float32) * n, n - np.ones(2)),
    "np_narrow": lambda n: np.ones(2, np.int16) + n % 9,
    "np_compare": lambda n: (np.arange(9) < n, n == np.arange(9), np.int64(6) == n),
    "np_functions": lambda n: (
        np.full(2, n),
        np.full(2, n, np.float32),
        np.maximum(np.ones(2, np.float32), n),
        np.where([True, False], np.float32(1), n),
        np.clip(np.arange(9), 1, abs(n)),
        np.add.reduce([n, 1]),
        np.sum([n, 1]),
        np.sqrt(abs(n)),
        np.multiply(2.0, n),
    ),
    "np_sizes": lambda n: (
        np.zeros(n % 9),
        np.arange(n % 9),
        np.arange(n % 9, n % 9 + 3),
        np.linspace(0, 1, n % 9),
        np.eye(n % 5),
        np.zeros((n % 9, 2)).reshape(-1),
    ),
    "np_scalars": lambda n: (
        np.int32(n % 99),
        np.float32(n),
        np.float64(n),
        np.bool_(n),
    ),
    "np_item": lambda n: (np.arange(40)[n % 30], np.arange(40)[: n % 5]),
    "np_out": lambda n: np.add(n, 1, out=np.zeros(1)),
}
if not hasattr(int, "is_integer"):
    UNARY["is_integer"] = lambda n: hasattr(n, "is_integer")


@pytest.mark.parametrize("name", UNARY)
def test_of_one_number(name: str) -> None:
    for form in FORMS.values():
        check(lambda a, n: UNARY[name](a), form)


# What stays a size: one recording is for all of them (two, where the sign is asked for:
# 'negative' is 0 for one of them).
STAYS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda n: (n + 1, 2 - n, n * 3, n // 2, n % 4, True + n),
    "divmod": lambda n: divmod(n, 4),
    "unary": lambda n: (-n, +n, ~n, abs(n), abs(-n)),
    "shift": lambda n: (n << 3, n >> 1),
    "power": lambda n: (n**2, n**3),
    "round": lambda n: (round(n), round(n, 2), math.floor(n), math.trunc(n)),
    "parts": lambda n: (n.real, n.numerator, n.imag, n.denominator, n.conjugate()),
    "copies": lambda n: (copy.copy(n), copy.deepcopy([n])),
    "compare": lambda n: (n > 3, 4 <= n, n != 3, bool(n), n == 1),
    "ask": lambda n: (isinstance(n, int), hasattr(n, "nothing")),
    "extrema": lambda n: (max(n, 3), min(n, 30)),
    "drjit": lambda n: (dr.sum(n), dr.max(n), dr.ravel(n), dr.is_integral_v(n)),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_stays_a_size(name: str) -> None:
    check(lambda a, n: STAYS[name](a), FORMS["size"])
    frozen = dr.freeze(lambda x: Bool(len(STAYS[name](dr.width(x))) > 0))
    for width in WIDTHS:
        frozen(flat(width))
    assert frozen.n_recordings == 1


# ---------------------------------------------------------------- beside arrays

# With the size as a number in kernels, and as one that these read from memory.
BESIDE: dict[str, tuple[Callable[[Any, Any], Any], type]] = {
    "product": (lambda x, n: x * n, Float),
    "double": (lambda x, n: x * n, Float64),
    "reflected": (lambda x, n: n - x, Float),
    "quotient": (lambda x, n: x / n, Float),
    "reciprocal": (lambda x, n: n / x, Float),
    "int": (lambda x, n: x * n + n, Int),
    "int64": (lambda x, n: x * n - n, Int64),
    "uint64": (lambda x, n: x + n, UInt64),
    "remainder": (lambda x, n: x % n, Int64),
    "compare": (lambda x, n: (x < n, x == n, n >= x), Float),
    "select": (lambda x, n: dr.select(x > 3, x, n), Float),
    "maximum": (lambda x, n: (dr.maximum(x, n), dr.minimum(n, x)), Int),
    "fma": (lambda x, n: dr.fma(x, n, 1), Float64),
    "half": (lambda x, n: Float16(x) * (n % 100), Float),
    "power": (lambda x, n: x ** (n % 4), Float),
    "list": (lambda x, n: x + dr.sum([n, 1]), Float),
}


@pytest.mark.parametrize("general", (False, True))
@pytest.mark.parametrize("name", BESIDE)
def test_beside_arrays(name: str, general: bool) -> None:
    function, dtype = BESIDE[name]
    for form in FORMS.values():

        def both(x: Any, form: Any = form) -> Any:
            return function(dtype(x), form(dr.width(x)))

        frozen = dr.freeze(both, warn_after=1000)
        frozen._general = general
        for width in WIDTHS:
            x = flat(width)
            assert outcome(frozen, x) == outcome(both, x), width


def test_products_beyond_32_bits() -> None:
    """A recording is made with a product that fits, and repeated with one that does
    not."""

    def pairs(x: Any) -> Any:
        n = dr.width(x)
        return dr.sum(x) / (n * n), n * n, x[:1] * (n * n * 1000), Int64(n) * (n**3)

    frozen = dr.freeze(pairs)
    for width in (1000, 2000, 65535, 65536, 70000, 1000, 3000):
        x = dr.opaque(Float64, 1, width)
        assert outcome(frozen, x) == outcome(pairs, x), width
    assert frozen.n_recordings <= 7


def test_numbers_beyond_32_bits_as_results() -> None:
    frozen = dr.freeze(lambda x: (dr.width(x) ** 2, dr.width(x) * 70000))
    for width in (1000, 2000, 65536, 70000, 80000, 1000):
        assert frozen(dr.opaque(Float, 1, width)) == (width**2, width * 70000)


def test_arrays_that_would_be_too_large() -> None:
    frozen = dr.freeze(lambda x: dr.zeros(UInt, dr.width(x) ** 2))
    assert dr.width(frozen(dr.opaque(Float, 1, 10))) == 100
    assert dr.width(frozen(dr.opaque(Float, 1, 20))) == 400
    assert frozen.n_recordings == 1
    with pytest.raises((RuntimeError, ValueError, OverflowError, TypeError)):
        frozen(dr.opaque(Float, 1, 70000))


def test_negative_sizes_are_read_from_memory() -> None:
    frozen = dr.freeze(lambda x: (x * (dr.width(x) - 100), Int(x) + (3 - dr.width(x))))
    for width in WIDTHS:
        x = flat(width)
        a, b = frozen(x)
        assert list(a) == [k * (width - 100) for k in range(1, width + 1)]
        assert list(b) == [k + 3 - width for k in range(1, width + 1)]
    assert frozen.n_recordings == 2


# ---------------------------------------------------------------- drjit.*

# Functions that change what is around them, that give other arrays each time, or that
# need more than values.
NOT_HERE = {
    "alloc_local",
    "collect",
    "empty",
    "empty_like",
    "eval",
    "freeze",
    "graphviz_ad",  # shows the scope of the call
    "load_frozen",
    "make_opaque",
    "print",
    "rng",
    "schedule",
    "scatter_exch",
}
NOT_HERE_PREFIXES = ("flush_", "kernel_history", "profile_", "set_", "sync_", "thread_")
NUMBERS = (
    "n",
    "n, 3",
    "3, n",
    "n, n",
    "n, 2.5",
    "2.5, n",
    "n - 9",
    "n, 3, 4",
    "x, n",
    "n, x",
    "x, n, 3",
    "x, 3, n",
    "m, n, x",
    "m, x, n",
    "m, n, 3",
    "True, n, 3",
    "t, n",
    "n, t",
    "[n, 2]",
    "(n, 2.5)",
    "[x, n]",
    "{'a': n}",
    "Float, n",
    "UInt, n",
    "Float, (n,)",
    "TensorXf, (n, 2)",
    "Float, n, 3",
    "Float, 3, n",
    "Float, 0, 1, n",
    "UInt, u, n < 9",
)


def arrays(width: int) -> tuple[Any, ...]:
    x, u = dr.arange(Float, width) + 1, dr.arange(UInt, width)
    m, t = u < 3, TensorXf(dr.arange(Float, 2 * width), (width, 2))
    dr.make_opaque(x, u, m, t)
    return x, u, m, t


def functions() -> list[str]:
    return [
        name
        for name in sorted(dir(dr))
        if not name.startswith(("_", *NOT_HERE_PREFIXES))
        and name not in NOT_HERE
        and callable(getattr(dr, name))
        and not isinstance(getattr(dr, name), type)
    ]


def compare(function: Callable[..., Any], expected: Any, text: str) -> None:
    for general in (False, True):
        frozen = dr.freeze(lambda x, u, m, t: function(x, u, m, t, dr.width(x)))
        frozen._general = general
        for _ in range(2):
            found = outcome(frozen, *arrays(6))
            if found[0] is RuntimeError and "cannot read the content" in found[1]:
                return
            assert found == expected, text


@pytest.mark.parametrize("name", functions())
def test_functions_of_the_package(name: str) -> None:
    for text in NUMBERS:
        function = eval(f"lambda x, u, m, t, n: dr.{name}({text})")
        expected = outcome(function, *arrays(6), 6)
        if not (isinstance(expected[0], type) and issubclass(expected[0], Exception)):
            compare(function, expected, text)


# ---------------------------------------------------------------- what is left behind


@dataclasses.dataclass
class Pair:
    first: Any
    second: Any


class Plain:
    def __init__(self) -> None:
        self.seen: Any = None
        self.rows: Any = collections.deque()


class Slots:
    __slots__ = ("seen",)


Named = collections.namedtuple("Named", "a b")


def sizes_within(value: Any, depth: int = 0) -> bool:
    """Is there a size somewhere in a value?"""
    if isinstance(value, dr._core._Size):
        return True
    if depth > 6 or isinstance(value, (dr.ArrayBase, str)):
        return False
    parts: list[Any] = []
    if isinstance(value, dict):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
        parts = list(value)
    elif hasattr(value, "__dict__"):
        parts = list(vars(value).values())
    return any(sizes_within(part, depth + 1) for part in parts)


RESULTS: dict[str, Callable[[Any], Any]] = {
    "number": lambda n: n,
    "list": lambda n: [n, [n + 1, (n, 2)]],
    "tuple": lambda n: (n, (n, [n])),
    "same twice": lambda n: (lambda part: [part, part])([n]),
    "dict": lambda n: {"a": n, "b": {"c": n * 2}},
    "keys": lambda n: {n: 1, (n, "b"): {n * 2: n}, "a": n},
    "order": lambda n: {"z": 1, n: 2, "a": 3, n + 1: n},
    "set": lambda n: {n, (n, 1), frozenset((n,))},
    "frozenset": lambda n: frozenset((n, 3)),
    "named": lambda n: Named(n, [n]),
    "default": lambda n: dict(collections.defaultdict(list, {n: [n]})),
    "shape": lambda n: (dr.zeros(TensorXf, (n, 2)).shape, dr.shape(dr.zeros(Float, n))),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_have_numbers(name: str) -> None:
    function = RESULTS[name]

    def of_array(x: Any) -> Any:
        return function(dr.width(x)), x + 1

    frozen = dr.freeze(of_array)
    for width in (*WIDTHS, *WIDTHS):
        result = frozen(flat(width))
        assert not sizes_within(result)
        assert described(result) == described(of_array(flat(width)))


def test_results_with_fields_have_numbers() -> None:
    frozen = dr.freeze(lambda x: Pair(dr.width(x), [Pair(x * 2, dr.width(x) + 1)]))
    for width in WIDTHS:
        result = frozen(flat(width))
        assert (type(result.first), result.first) == (int, width)
        assert (type(result.second[0].second), result.second[0].second) == (
            int,
            width + 1,
        )
    assert frozen.n_recordings == 1


def test_changed_inputs_have_numbers() -> None:
    @dr.freeze
    def note(x: Any, rows: Any, table: Any, pair: Any) -> Any:
        rows[0] = dr.width(x)
        table["n"] = [dr.width(x), x.shape]
        pair.first = dr.width(x) * 2
        return x + 1

    for width in WIDTHS:
        rows, table, pair = [0, 1], {"n": [0, (0,)]}, Pair(0, 0)
        note(flat(width), rows, table, pair)
        assert described([rows, table, pair.first]) == described(
            [[width, 1], {"n": [width, (width,)]}, width * 2]
        )


def test_what_is_no_input_has_numbers() -> None:
    """And the recording is for these numbers: another size is noted again."""
    plain, slots, rows, found = Plain(), Slots(), [], set()

    @dr.freeze
    def note(x: Any) -> Any:
        n = dr.width(x)
        plain.seen = (n, [n, {"n": n}])
        slots.seen = n
        plain.rows.append(n)
        rows.append([n])
        found.add(n)
        return x + 1

    for width in (6, 7, 20):
        note(flat(width))
        assert not sizes_within([vars(plain), slots.seen, rows, found])
        assert described(plain.seen) == described((width, [width, {"n": width}]))
        assert (type(slots.seen), slots.seen) == (int, width)
        assert (list(plain.rows)[-1], rows[-1], width in found) == (
            width,
            [width],
            True,
        )


def test_closures_have_numbers() -> None:
    found = None

    def note(x: Any) -> Any:
        nonlocal found
        found = (dr.width(x), x.shape)
        return x + 1

    frozen = dr.freeze(note)
    for width in (6, 7):
        frozen(flat(width))
        assert described(found) == described((width, (width,)))


def test_cycles_do_not_bind() -> None:
    """What only garbage refers to is nowhere."""

    @dr.freeze
    def walk(x: Any) -> Any:
        def step(n: Any) -> Any:
            return step(n - 20) if n > 20 else n

        try:
            raise ValueError(dr.width(x))
        except ValueError as error:
            kept = error
        del kept
        return x * 2 if step(dr.width(x)) is not None else x

    for width in (6, 7, 5, 20):
        walk(flat(width))
    assert walk.n_recordings == 1


def test_an_error_leaves_numbers() -> None:
    rows: list[Any] = [0]

    @dr.freeze
    def fail(x: Any, rows: Any) -> Any:
        rows[0] = dr.width(x)
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        fail(flat(6), rows)
    assert described(rows) == described([6])


# ---------------------------------------------------------------- what wants an int


def test_what_wants_an_int_gets_one() -> None:
    calls = Mock()

    @dr.freeze
    def dump(x: Any) -> Any:
        calls()
        return x * 2, json.dumps(dr.width(x))

    for width in WIDTHS:
        assert dump(flat(width))[1] == str(width)
    assert dump.n_recordings == 4
    assert calls.call_count == 8  # each time once with sizes, and once with numbers


def test_only_what_is_asked_for_is_bound() -> None:
    @dr.freeze
    def dump(x: Any, y: Any) -> Any:
        return dr.sum(y), json.dumps(dr.width(x))

    for width in (10, 11, 12):
        total, text = dump(flat(6), flat(width))
        assert (total[0], text) == (width * (width + 1) / 2, "6")
    assert dump.n_recordings == 1


def test_what_was_changed_before_is_not_changed_twice() -> None:
    @dr.freeze
    def dump(x: Any, rows: Any) -> Any:
        rows.append(x * 2)
        return json.dumps(dr.width(x))

    rows = [flat(3)]
    with pytest.raises(TypeError, match=r"not JSON serializable .* use int\(n\)"):
        dump(flat(6), rows)
    assert len(rows) == 2


bound: Any = None


def test_names_that_were_bound_before_are_not_bound_twice() -> None:
    @dr.freeze
    def dump(x: Any) -> Any:
        global bound
        bound = bound + 1
        return json.dumps(dr.width(x))

    for value in (Float(2), flat(3)):
        globals()["bound"] = value
        with pytest.raises(TypeError, match=r"not JSON serializable .* use int\(n\)"):
            dump(flat(6))
        assert list(bound) == list(value + 1)


def test_own_errors_pass() -> None:
    class Own(ValueError):
        pass

    def fail(x: Any, kind: Any) -> Any:
        if dr.width(x) == 6:
            raise kind("own")
        return x + 1

    for kind in (TypeError, ValueError, Own, KeyError, ZeroDivisionError, OSError):
        frozen = dr.freeze(lambda x, kind=kind: fail(x, kind))
        with pytest.raises(kind, match="own") as found:
            frozen(flat(6))
        assert "use int" not in str(found.value)
        assert list(frozen(flat(2))) == [2, 3]
        assert not dr.flag(dr.JitFlag.FreezingScope)


def test_with_derivatives() -> None:
    from drjit.llvm.ad import Float as Tracked

    @dr.freeze
    def scaled(x: Any) -> Any:
        dr.backward(dr.sum(x * x) * json.loads(json.dumps(dr.width(x))))
        return x * 2

    for width in WIDTHS:
        x = dr.arange(Tracked, width) + 1
        dr.make_opaque(x)
        dr.enable_grad(x)
        scaled(x)
        assert list(dr.grad(x)) == [2 * width * (k + 1) for k in range(width)]


def test_threads_have_sizes_of_their_own() -> None:
    def work(base: int, errors: list[str]) -> None:
        frozen = dr.freeze(lambda x: (x * dr.width(x), json.dumps(dr.width(x))))
        for k in range(8):
            result, text = frozen(flat(base + k % 3))
            if text != str(base + k % 3) or list(result)[0] != base + k % 3:
                errors.append(f"{base} {k}: {text}")

    errors: list[str] = []
    threads = [threading.Thread(target=work, args=(10 * k, errors)) for k in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_another_thread_asks_for_the_number() -> None:
    def asked(x: Any, ask: Any) -> Any:
        found = []
        thread = threading.Thread(
            target=lambda n: found.append(ask(n)), args=[dr.width(x)]
        )
        thread.start()
        thread.join()
        return found[0], x + 1

    for ask in (int, lambda n: n + 1, lambda n: n > 6, bool, lambda n: f"{n}"):
        frozen = dr.freeze(asked)
        for width in WIDTHS:
            assert frozen(flat(width), ask)[0] == ask(width)


# ---------------------------------------------------------------- means of tensors


@pytest.mark.parametrize(
    "make",
    (
        lambda shape: TensorXf(flat(math.prod(shape)), shape),
        lambda shape: dr.ones(TensorXf, shape),
        lambda shape: TensorXf(dr.arange(Float, math.prod(shape)), shape),
    ),
    ids=("memory", "literal", "unevaluated"),
)
@pytest.mark.parametrize(
    ("axis", "count"), ((..., 1), (None, 1), (0, 2), (1, 1), ((0, 1), 2))
)
def test_means_of_tensors(axis: Any, count: int, make: Any) -> None:
    def mean(t: Any) -> Any:
        return dr.mean(t, axis=axis)

    frozen = dr.freeze(mean)
    for rows in (4, 5, 9, 2, 70, 6, 1000, 4):
        t = make((rows, 3))
        result, expected = frozen(t), mean(t)
        assert tuple(result.shape) == tuple(expected.shape)
        assert np.array_equal(result.numpy(), expected.numpy())
        exact = t.numpy().astype(np.float64).mean(axis=None if axis is ... else axis)
        assert np.allclose(result.numpy(), exact, rtol=1e-6)
    assert frozen.n_recordings <= count


def test_means_in_half_precision() -> None:
    frozen = dr.freeze(lambda x: dr.mean(x))
    for width in (1000, 70000, 100000):
        assert list(frozen(dr.opaque(Float16, 1, width))) == [1]
