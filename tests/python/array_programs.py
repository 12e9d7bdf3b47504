"""Random programs on whole arrays, and what they are in NumPy; test_array_programs.py
runs them.

A program is a function of two arrays of type UInt and one of type Float, a tensor, a
permutation, and an object with plain fields. It uses two names for one array, columns,
rows and single entries, operands of NumPy on either side, fields of text, numbers,
enumerators, functions and None, and reads and writes one array in a statement, a loop
or a conditional. Arrays may have no entries.

The same text runs on arrays, and on those of NumPy, where ``dr`` is `Reference`.
Numbers of type Float are integers in [-99, 99], so results have the same bits.
"""

from __future__ import annotations

import enum
import random
import re
from collections.abc import Callable
from textwrap import indent
from typing import Any, NamedTuple

import drjit as dr
import numpy as np
from drjit.llvm import Float, TensorXu, UInt

# {u}, {f}, {b}: an expression of a type, of one entry or n; {U}, {F}: one of n entries;
# {t}: a tensor; {r}, {c}, {s}: one of a row, a column, a single entry; {k}: a number.
EXPRESSIONS = {
    "u": [
        "{u} + {u}",
        "{u} - {u}",
        "{u} * {k}",
        "{u} ^ {u}",
        "({u} & {u}) | {k}",
        "{u} // ({u} % 7 + 1)",
        "{u} >> {k}",
        "dr.minimum({u}, {u})",
        "dr.select({b}, {u}, {u})",
        "dr.gather(UInt, {U}, {i})",
        "dr.gather(UInt, {U}, {i}, {b})",
        "dr.gather(UInt, {v}, {i}, {b})",
        "dr.gather(UInt, one, {U} * 0)",
        "dr.sum({U})",
        "dr.sum(dr.gather(UInt, {U}, dr.compress({b} & (p >= 0))))",
        "dr.cumsum({U})",
        "dr.reverse({U})",
        "dr.sum({v})",
        "dr.cumsum({v})",
        "UInt(dr.abs({f}))",
        "UInt({u})",
        # NumPy's operands.
        "nu + {u}",
        "{u} - nu",
        "nu ^ {U}",
        "np.uint32({k}) - {u}",
        "{u} * np.uint32({k})",
        "np.array({k}, np.uint32) + {u}",
        "dr.maximum(nu, {u})",
        "dr.select(nu > {u}, {u}, nu)",
        # Plain fields.
        "{u} * o.k",
        "o.fn({u})",
        "({u} if o.on else {u} + 1)",
        "({u} + len(o.name) if o.nothing is None else {u})",
        "(o.u if o.color is Color.RED else {u})",
        "d['u'] + d['k']",
    ],
    "f": [
        "dr.clip({f} + {f}, -99, 99)",
        "dr.clip({f} * {f}, -99, 99)",
        "dr.floor({f} * 0.25)",
        "-{f}",
        "dr.maximum({f}, {f})",
        "dr.select({b}, {f}, {f})",
        "dr.gather(Float, {F}, {i}, {b})",
        "dr.gather(Float, {w}, {i})",
        "Float({u} & 63)",
        "dr.clip(nf - {f}, -99, 99)",
        "dr.clip({f} + nf, -99, 99)",
        "dr.floor(np.float32(0.5) * {f})",
        "dr.clip({f} * d['f'], -99, 99)",
        "o.f",
    ],
    "b": [
        "({u} & 1) == 0",
        "{u} < {u}",
        "{f} >= {f}",
        "nu > {u}",
        "{u} != nu",
        "{b} & {b}",
        "{b} | (nu > {k})",
        "(nf < {k}) ^ {b}",
    ],
    "t": [
        "{t} + {t}",
        "{t} - {t}",
        "{t} ^ {r}",
        "{c} * {r}",
        "{t} + {s}",
        "{r} - {t}",
        "nt - {t}",
        "{t} * ntr",
        "ntc + {t}",
        "ntr ^ {r}",
        "np.uint32({k}) * {t}",
        "dr.select({t} < {t}, {t}, {r})",
        "dr.minimum({c}, {t})",
        "{t} + dr.sum({t}, axis=0)",
        "{t} ^ dr.sum({t}, axis=1)[:, None]",
        "dr.cumsum({t}, axis=1)",
    ],
}
STATEMENTS = [
    "{v} = {U}",
    "{w} = {F}",
    "{x} = {t} + nt * 0",
    # Two names of one array, one of which is changed in place.
    "{v} = {v}",
    "{w} = {w}",
    "{x} = {x}",
    "{v} = o.u",
    "o.u = {U}",
    "o.f = {F}",
    "d['u'] = {v}",
    "{v} = d['u']",
    "q = o",
    "q = dr.copy(o)",
    "o, q = q, o",
    "{v} += {u}",
    "{v} ^= nu",
    "o.u += {u}",
    "{w} -= {w}",
    "{x} += {r}",
    "{x} *= {k}",
    "{x}[1:] = {r}",
    "{x}[:, ::2] = {c}",
    "{x}[:1] += {s}",
    "{x}[{x} > {r}] = {k}",
    "{v}[{b} & (p >= 0)] = {k}",
    # One array is read and written.
    "dr.scatter({v}, {U}, {p})",
    "dr.scatter({v}, {U}, {p}, {b})",
    "dr.scatter({v}, dr.gather(UInt, {v}, {i}) + {k}, {p})",
    "dr.scatter_add({v}, {U}, {i})",
    "dr.scatter_add({v}, dr.gather(UInt, {v}, {p}), {i}, {b})",
    "dr.scatter_reduce(dr.ReduceOp.Max, {v}, {U}, {i})",
    # Structures.
    "o = dr.gather(Record, o, {p})",
    "q = dr.gather(Record, o, {i}, {b})",
    "o = dr.select({b} & (p >= 0), o, q)",
    "dr.scatter(o, q, {p}, {b})",
    "dr.eval({v}, o)",
    "dr.schedule({w}, {x})",
]
# Loops have an iteration: without one, what a body assigns anew stays what it was.
REGIONS = [
    """\
def body{n}(k, z):
    dr.scatter({v}, dr.gather(UInt, {v}, p) + k, p)
    return k + 1, z ^ dr.gather(UInt, {v}, p)
_, {v2} = either(lambda mode: dr.while_loop(
    ({U} * 0, {U}), lambda k, z: k < p % 3 + 1, body{n}, mode=mode))""",
    """\
def body{n}(k, z, r):
    dr.scatter_add({v}, k + r.k, {i})
    r.u = r.u + k
    return k + 1, z + r.fn(k), r
_, {v2}, o = either(lambda mode: dr.while_loop(
    ({U} * 0, {U}, o), lambda k, z, r: k < {U} % 4 + 1, body{n}, mode=mode))""",
    """\
def side{n}(z):
    dr.scatter({v}, z + dr.gather(UInt, {v2}, p), p)
    return dr.gather(UInt, {v}, p) + o.k
{v2} = either(lambda mode: dr.if_stmt(
    ({U},), {b} & (p >= 0), side{n}, lambda z: z + 1, mode=mode))""",
    """\
def body{n}(k, z, c):
    z += 3
    return k + 1, z, c
_, {v}, {v2} = either(lambda mode: dr.while_loop(
    ({U} * 0, {v}, {v2}), lambda k, z, c: k < 2, body{n}, mode=mode))""",
    """\
def side{n}(z, e):
    return z + e['k'], {{**e, 'u': e['u'] * 2}}
{v}, d = either(lambda mode: dr.if_stmt(
    ({U}, d), {b} & (p >= 0), side{n}, lambda z, e: (z ^ e['u'], e), mode=mode))""",
]
# Why a loop or conditional may be refused: if it is recorded, and in any mode.
RECORDED = (
    "in the same recorded loop",
    "that is being traced writes to it",
    "it is symbolic",
)
REFUSED = (
    "was changed by another name",
    "are one array",
    "so it cannot be replaced by another variable",  # a state with equal contents
)


GIVEN = [f"given {name}" for name in ("u", "y", "f", "t", "o", "q", "nu", "nf", "nt")]
# Expressions that put together what lanes have computed.
ACROSS = re.compile(r"(sum|reverse|compress)\(.*[UtF]}|gather\(\w+, {[UF]}")
NAMES = "u, y, a, b, f, g, t, s, o, q, d"


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def twice(x: Any) -> Any:
    return x + x


class Record:
    """Arrays, and fields that are not arrays."""

    DRJIT_STRUCT = {  # noqa: RUF012
        **{"u": UInt, "name": str, "k": int, "on": bool, "f": Float},
        **{"nothing": object, "color": Color, "fn": object},
    }

    first: Any = None  # of a copy: the arrays that it was made with

    def __init__(self, u: Any = None, f: Any = None) -> None:
        self.u, self.f = u, f
        self.name, self.k, self.on, self.nothing = "record", 3, True, None
        self.color, self.fn = Color.RED, twice


class Inputs(NamedTuple):
    """Arrays of NumPy; of n and m entries, and h rows and w columns."""

    u: Any
    y: Any
    f: Any
    t: Any
    p: Any  # a permutation
    alias: bool  # the second one is the first one

    @staticmethod
    def random(draw: random.Random) -> Inputs:
        n = draw.choice((0, 1, 2, 3, 7, 20))
        h, w = draw.choice(((0, 3), (2, 0), (1, 1), (1, 4), (3, 1), (3, 4)))
        numbers = np.random.default_rng(draw.randrange(1 << 30))

        def some(*shape: int) -> Any:
            return numbers.integers(0, 1 << 32, shape, np.uint32)

        f = numbers.integers(-99, 100, n).astype(np.float32)
        p = numbers.permutation(n).astype(np.uint32)
        return Inputs(some(n), some(n), f, some(h, w), p, draw.random() < 0.3)

    def twice(self, draw: random.Random) -> tuple[Inputs, Inputs]:
        """These, and others of the same sizes. What is an array of NumPy is the same:
        it is part of a recording."""
        numbers = np.random.default_rng(draw.randrange(1 << 30))
        u = numbers.integers(0, 1 << 32, self.u.shape, np.uint32)
        p = numbers.permutation(len(self.p)).astype(np.uint32)
        return self, self._replace(u=u, p=p)


class Program:
    """The text of a function."""

    def __init__(self, number: int) -> None:
        self.random = random.Random(number)
        self.number = 0
        self.inside = False  # of a loop or conditional?
        self.body = [self.statement() for _ in range(self.random.randint(4, 9))]

    def text(self, eager: bool = False) -> str:
        """``eager``: everything is evaluated after each statement."""
        evaluate = f"\ndr.eval({NAMES})" * eager
        body = "\n".join(f"{statement}{evaluate}" for statement in self.body)
        return "\n".join(
            [
                "def f(u, y, f, t, p, o, q, nu, nf, nt):",
                "    one, d = UInt(5), {'u': u, 'k': 2, 'tag': 'a', 'f': 2.0}",
                "    a, b, g, s = y, u + 1, Float(p & 63), t + 1",
                "    ntr, ntc = nt[:1], nt[:, :1]",
                indent(body, "    "),
                f"    return {NAMES}",
                "",
            ]
        )

    def pick(self, options: Any) -> str:
        return str(self.random.choice(options))

    def statement(self) -> str:
        if self.random.random() < 0.15:
            self.number += 1
            text = self.pick(REGIONS).replace("{n}", str(self.number))
            for name in ("{v2}", "{v}"):
                text = text.replace(name, self.pick("uyab"))
            self.inside = True
        else:
            text = self.pick(STATEMENTS)
        text, self.inside = self.fill(text, 2), False
        return text

    def fill(self, text: str, depth: int) -> str:
        holes: dict[str, Callable[[], str]] = {
            "{v}": lambda: self.pick("uyab"),
            "{w}": lambda: self.pick("fg"),
            "{x}": lambda: self.pick("ts"),
            "{k}": lambda: self.pick((0, 1, 2, 3, 5)),
            "{p}": lambda: self.pick(("p", "dr.reverse(p)")),
            "{i}": lambda: f"({self.whole('uyab', 'u', depth)}) % dr.width(p)",
            "{U}": lambda: self.whole("uyab", "u", depth),
            "{F}": lambda: self.whole("fg", "f", depth),
            "{u}": lambda: self.value("u", "uyab", depth),
            "{f}": lambda: self.value("f", "fg", depth),
            "{b}": lambda: self.value("b", ("(u > a)", "(g < f)"), depth),
            "{t}": lambda: self.value("t", "ts", depth),
            "{r}": lambda: f"{self.pick('ts')}[:1]",
            "{c}": lambda: f"{self.pick('ts')}[:, :1]",
            "{s}": lambda: f"{self.pick('ts')}[:1, :1]",
        }
        while True:
            places = [(text.find(hole), hole) for hole in holes if hole in text]
            if not places:
                return text.replace("{{", "{").replace("}}", "}")
            place, hole = min(places)
            text = text[:place] + holes[hole]() + text[place + len(hole) :]

    def value(self, kind: str, names: Any, depth: int) -> str:
        if not depth or self.random.random() < 0.4:
            if kind == "u" and self.random.random() < 0.2:
                return "one"
            return self.pick(names)
        options = EXPRESSIONS[kind]
        if self.inside:  # gathers are masked, so what is put together has to be there
            options = [text for text in options if not ACROSS.search(text)]
        return f"({self.fill(self.pick(options), depth - 1)})"

    def whole(self, names: str, kind: str, depth: int) -> str:
        """An array of n entries: a name, or something with all lanes in it."""
        if not depth or self.random.random() < 0.5:
            return self.pick(names)
        lanes = "p * 0" if kind == "u" else "Float(p) * 0"
        return f"({self.value(kind, names, depth)} + {lanes})"


# ------------------------------------------------------------------------- NumPy


def mapped(function: Callable[..., Any], *trees: Any) -> Any:
    """Of records, the arrays; what is not an array is that of the first one."""
    first = trees[0]
    if isinstance(first, Record):
        return Record(
            function(*(tree.u for tree in trees)), function(*(tree.f for tree in trees))
        )
    return function(*trees)


class Reference:
    """What ``dr`` is for arrays of NumPy. In a loop or conditional, ``active`` says
    which lanes are."""

    ReduceOp = dr.ReduceOp
    abs, floor = np.abs, np.floor
    minimum, maximum = np.minimum, np.maximum

    def __init__(self) -> None:
        self.active: Any = True

    @staticmethod
    def clip(x: Any, low: int, high: int) -> Any:
        return np.clip(x, np.float32(low), np.float32(high))

    @staticmethod
    def select(mask: Any, a: Any, b: Any) -> Any:
        return mapped(lambda a, b: np.where(mask, a, b), a, b)

    @staticmethod
    def copy(value: Any) -> Any:
        return mapped(np.copy, value)

    @staticmethod
    def eval(*values: Any) -> None:
        """Everything is evaluated."""

    schedule = eval

    @staticmethod
    def width(array: Any) -> Any:
        return np.uint32(len(array))

    @staticmethod
    def sum(x: Any, axis: int | None = None) -> Any:
        total = np.sum(x, axis=axis, dtype=x.dtype)
        return np.reshape(total, 1) if axis is None else total

    @staticmethod
    def cumsum(x: Any, axis: int = 0) -> Any:
        return np.cumsum(x, axis=axis, dtype=x.dtype)

    @staticmethod
    def reverse(x: Any) -> Any:
        return x[::-1].copy()

    @staticmethod
    def compress(mask: Any) -> Any:
        return np.flatnonzero(mask).astype(np.uint32)

    def gather(self, kind: Any, source: Any, index: Any, active: Any = True) -> Any:
        mask = np.broadcast_to(active, np.shape(index))
        place = np.where(mask, index, 0)
        return mapped(lambda s: np.where(mask, s[place], s.dtype.type(0)), source)

    def _lanes(self, index: Any, active: Any) -> Any:
        return np.broadcast_to(np.logical_and(active, self.active), np.shape(index))

    def _write(
        self, write: Any, target: Any, value: Any, index: Any, active: Any
    ) -> None:
        mask = self._lanes(index, active)

        def one(target: Any, value: Any) -> None:
            values = np.broadcast_to(value, np.shape(index))
            write(target, index[mask], values[mask])

        mapped(one, target, value)

    def scatter(self, target: Any, value: Any, index: Any, active: Any = True) -> None:
        def write(target: Any, index: Any, value: Any) -> None:
            target[index] = value

        self._write(write, target, value, index, active)

    def scatter_add(
        self, target: Any, value: Any, index: Any, active: Any = True
    ) -> None:
        self._write(np.add.at, target, value, index, active)

    def scatter_reduce(self, op: Any, target: Any, value: Any, index: Any) -> None:
        assert op is dr.ReduceOp.Max
        self._write(np.maximum.at, target, value, index, True)

    def _blend(self, active: Any, new: Any, old: Any) -> Any:
        """What lanes get that are active. What others have is not changed in place."""
        if isinstance(new, tuple):
            return tuple(
                self._blend(active, *pair) for pair in zip(new, old, strict=True)
            )
        if isinstance(new, dict):
            return {key: self._blend(active, new[key], old[key]) for key in new}
        if isinstance(new, (np.ndarray, Record)):
            return mapped(lambda a, b: np.where(active, a, b), new, old)
        assert new == old
        return new

    def _advance(self, active: Any, given: Any, new: Any, old: Any) -> Any:
        """The next state. ``given`` is what the body was given, a copy of the old one:
        what is that again was changed in place, if at all, and so is the old one."""
        if isinstance(new, np.ndarray):
            value = np.where(active, new, old)
            if new is not given:
                return value
            np.copyto(old, value)
            return old
        if new is not given:
            return self._blend(active, new, old)
        old.u = self._advance(active, given.first[0], new.u, old.u)
        old.f = self._advance(active, given.first[1], new.f, old.f)
        return old

    def while_loop(self, state: Any, test: Any, body: Any, mode: str) -> Any:
        active = test(*state)
        before = self.active
        while np.any(active):
            given = copied(state)
            self.active = np.logical_and(before, active)
            new = body(*given)
            rows = zip(given, new, state, strict=True)
            state = tuple(self._advance(active, *row) for row in rows)
            active = np.logical_and(active, test(*state))
        self.active = before
        return state

    def if_stmt(self, state: Any, mask: Any, true: Any, false: Any, mode: str) -> Any:
        before, found = self.active, []
        sides = (
            (mask, true, copied(state)),
            (np.logical_not(mask), false, copied(state)),
        )
        for own, side, given in sides:
            self.active = np.logical_and(before, own)
            found.append(side(*given))
        self.active = before
        return self._blend(mask, *found)


def copied(tree: Any) -> Any:
    """Of what is one array, one copy."""
    known: dict[int, Any] = {}

    def copy(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(copy, value))
        if isinstance(value, dict):
            return {key: copy(entry) for key, entry in value.items()}
        if isinstance(value, Record) and id(value) not in known:
            own = known[id(value)] = Record(copy(value.u), copy(value.f))
            own.first = own.u, own.f
        if isinstance(value, np.ndarray) and id(value) not in known:
            known[id(value)] = value.copy()
        return known.get(id(value), value)

    return copy(tree)


class Refused(Exception):
    """Two names of one array stand where there may be one only."""


def either(function: Callable[[str], Any]) -> Any:
    """A recorded loop or conditional, or an evaluated one if that is refused."""
    for mode, allowed in (("symbolic", RECORDED), ("evaluated", ())):
        try:
            return function(mode)
        except RuntimeError as error:
            if any(text in str(error) for text in REFUSED):
                raise Refused(str(error)) from error
            if not any(text in str(error) for text in allowed):
                raise
    raise AssertionError


def numbers(kind: type) -> Callable[[Any], Any]:
    """A type of NumPy, as that of arrays: a copy, of one entry at least."""
    return lambda value: np.array(value, kind, ndmin=1)


def defined(text: str, reference: bool) -> Callable[..., Any]:
    names: dict[str, Any] = {"np": np, "Color": Color, "Record": Record}
    if reference:
        names |= {"dr": Reference(), "UInt": numbers(np.uint32)}
        names |= {"Float": numbers(np.float32), "either": lambda f: f("evaluated")}
    else:
        names |= {"dr": dr, "UInt": UInt, "Float": Float, "either": either}
    exec(text, names)
    function: Callable[..., Any] = names["f"]
    return function


def plain(value: Any) -> Any:
    """Arrays as shapes and bytes."""
    if isinstance(value, Record):
        return {name: plain(getattr(value, name)) for name in Record.DRJIT_STRUCT}
    if isinstance(value, dict):
        return {name: plain(entry) for name, entry in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(entry) for entry in value]
    if isinstance(value, dr.ArrayBase):
        value = value.numpy()
    if isinstance(value, np.ndarray):
        assert value.dtype in (np.uint32, np.float32), value.dtype
        return value.shape, (value + 0).tobytes()  # zeros have no sign
    return value


def run(function: Callable[..., Any], given: Inputs, reference: bool) -> Any:
    """What a function returns, and has made of what it was given."""
    kinds = (np.copy,) * 5 if reference else (UInt, UInt, Float, TensorXu, UInt)
    u, y, f, t, p = (kind(array) for kind, array in zip(kinds, given[:5], strict=True))
    y = u if given.alias else y
    o, q = Record(u, f), Record(kinds[0](given.y), kinds[2](given.f))
    nu, nf, nt = given.y.copy(), given.f.copy(), given.t.copy()
    with np.errstate(all="ignore"):
        result = function(u, y, f, t, p, o, q, nu, nf, nt)
    found = (*result, u, y, f, t, o, q, nu, nf, nt)
    names = [*NAMES.split(", "), *GIVEN]
    return {name: plain(value) for name, value in zip(names, found, strict=True)}
