"""Random programs under ``@dr.syntax``: loops, conditionals, jumps, calls, local
arrays, gathers and scatters, nested in each other. Some have an object with fields that
are not arrays, operands of NumPy on either side, two names of one array, or bodies that
read what they write to. Those have to be evaluated; recorded, they may be refused.

Hypothesis writes the text of a function. Undecorated, it is run by plain Python for one
lane after the other, where 'dr' is an object with a few functions on numbers
(``Scalar``). Decorated, it is run on arrays in each mode, and has to give the same.

What is written is made to have one meaning. Numbers stay small enough that those of
Python do not differ from those of 32 bits, and numbers of type Float are integers.
Lanes write to places of their own, or add. Loops end.

FLOW_PROGRAMS is the number of programs, FLOW_SEED chooses them; see 'make fuzz'.
"""

from __future__ import annotations

import contextlib
import enum
import math
import os
import re
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import Bool, Float, Int, UInt
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from region_util import MODES, define

COUNT = int(os.environ.get("FLOW_PROGRAMS", "300"))
SEED = int(os.environ.get("FLOW_SEED", "0"))
PART = 100  # programs of a test

LANES = 19
SLOTS = 4  # places of a lane in 'out'
TOTALS = 5
STARTS = [(7 * lane) % 23 - 8 for lane in range(LANES)]
TABLE = [pow(3, k, 65537) & 0xFFFF for k in range(16)]
SIGNED = [value % 4096 - 2048 for value in TABLE]
WEIGHTS = [float(value % 21 - 10) for value in TABLE]

# ---------------------------------------------------------------- what is written

# {u}, {i}, {f}, {b}: an expression of type UInt, Int, Float or Bool; {k}: a number.
# Values of UInt are in [0, 65535], of Int in [-2048, 2047], of Float in [-99, 99].
EXPRESSIONS = {
    "u": [
        "({u} + {u}) & 0xffff",
        "({u} - {u}) & 0xffff",
        "({u} * {u}) & 0xffff",
        "{u} ^ {u}",
        "{u} | {u}",
        "{u} >> {k}",
        "{u} // ({u} % 7 + 1)",
        "{u} % ({u} % 5 + 1)",
        "dr.minimum({u}, {u})",
        "dr.select({b}, UInt({u}), {u})",
        "dr.gather(UInt, table, {u} & 15)",
        "dr.gather(UInt, table, {u} & 15, {b})",
        "UInt({i} & 0xff)",
    ],
    "i": [
        "(({i} + {i}) & 0xfff) - 0x800",
        "(({i} - {i}) & 0xfff) - 0x800",
        "(({i} * {i}) & 0xfff) - 0x800",
        "{i} ^ {i}",
        "{i} >> {k}",
        "dr.maximum({i}, {i})",
        "dr.select({b}, Int({i}), {i})",
        "dr.gather(Int, signed, {u} & 15)",
        "Int({u} & 0xff)",
        "Int({f})",
    ],
    "f": [
        "dr.clip({f} + {f}, -99, 99)",
        "dr.clip({f} - {f}, -99, 99)",
        "dr.clip({f} * {f}, -99, 99)",
        "dr.floor({f} * 0.25)",
        "dr.minimum({f}, {f})",
        "dr.select({b}, Float({f}), {f})",
        "dr.gather(Float, weights, {u} & 15, {b})",
        "Float({u} & 63)",
        "Float({i} & 63)",
    ],
    "b": [
        "({u} + n) % 3 < 2",
        "(({u} ^ n) & 1) == 0",
        "{i} + m < {k}",
        "{u} < {u}",
        "{i} >= {i}",
        "{f} > {f}",
        "{b} & {b}",
        "{b} | {b}",
        "{b} ^ {b}",
    ],
}
# Of programs with these features.
FEATURES = {
    "object": {
        "u": [
            "({u} * o.k) & 0xffff",
            "o.half({u})",
            "({u} if o.on else {u} + 1)",
            "(o.u if o.color is Color.RED else {u})",
            "(d['u'] if d['nothing'] is None else {u})",
        ],
        "f": ["o.f", "dr.clip(o.f + len(o.name), -99, 99)"],
    },
    "numpy": {
        "u": [
            "(nu + UInt({u})) & 0xffff",
            "(UInt({u}) - nu) & 0xffff",
            "nu ^ UInt({u})",
            "(np.uint32({k}) - UInt({u})) & 0xffff",
            "dr.minimum(UInt({u}), nu)",
            "dr.select({b}, UInt({u}), nu)",
        ],
        "i": [
            "((ni * Int({i})) & 0xfff) - 0x800",
            "np.int32({k}) - (Int({i}) & 63)",
        ],
        "f": [
            "dr.clip(nf + Float({f}), -99, 99)",
            "dr.clip(Float({f}) * np.float32(2), -99, 99)",
        ],
        "b": ["nu > UInt({u})", "Int({i}) != ni", "Float({f}) < nf"],
    },
}
LOCAL_EXPRESSIONS = ["v[{u} & 3]", "v[{u} & 7]", "v.read({u} & 7, {b})"]
LITERALS = {
    "u": ["0", "1", "2", "5", "UInt(3)"],
    "i": ["0", "1", "-1", "7", "Int(-2)"],
    "f": ["0.0", "1.0", "-2.0", "Float(3)"],
    "b": ["({u} + n) % 3 < 2"],
}
TYPES = {"u": "UInt", "i": "Int", "f": "Float", "b": "Bool"}

# Statements without others inside, and how often they are written.
SIMPLE = {
    "{U} = UInt({u})": 4,
    "{I} = Int({i})": 3,
    "{F} = Float({f})": 3,
    "{B} = Bool({b})": 2,
    "{U}, {I} = UInt({u}), Int({i})": 1,
    "{U} ^= {u}": 1,
    "{F} = -{F}": 1,
    "dr.scatter(out, {u}, n * 4 + ({u} & 3))": 1,
    "dr.scatter(out, {u}, n * 4 + {k}, {b})": 1,
    "dr.scatter_add(total, n + {u}, {u} % 5)": 1,
    "dr.scatter_add(total, n + {u}, {u} % 5, {b})": 1,
}
FEATURE_SIMPLE = {
    "object": {
        "o.u = UInt({u})": 2,
        "o.f = Float({f})": 1,
        "o.u ^= {u}": 1,
        "d['u'] = UInt({u})": 2,
        "o.u, d['u'] = d['u'], o.u": 1,
    },
    "alias": {
        "dr.scatter(again, {u}, n * 4 + ({u} & 3))": 3,
        "dr.scatter(again, {u}, n * 4 + {k}, {b})": 2,
    },
}
LOCAL_SIMPLE = {
    "v[{u} & 3] = UInt({u})": 2,
    "v[{u} & 7] = UInt({u})": 1,
    "v.write(UInt({u}), {u} & 7, {b})": 1,
}


@dataclass
class Scope:
    """What statements of a block may use."""

    readable: dict[str, list[str]]
    writable: dict[str, list[str]]
    loop: bool = False
    jumps: bool = True
    depth: int = 0

    def inside(self, **changes: Any) -> Scope:
        changes = {
            "readable": {t: [*names] for t, names in self.readable.items()},
            "writable": {t: [*names] for t, names in self.writable.items()},
            "loop": self.loop,
            "jumps": self.jumps,
            "depth": self.depth + 1,
            **changes,
        }
        return Scope(**changes)

    def add(self, kind: str, name: str) -> None:
        self.readable[kind].append(name)
        self.writable[kind].append(name)


@dataclass
class Writer:
    """Writes the text of a program."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    local: str  # arrays: 'none', 'own' of a function, 'passed' to calls
    features: tuple[str, ...] = ()
    functions: list[str] = field(default_factory=list)
    more: str = ""  # results of the function beside three numbers
    fuel: int = 0
    count: int = 0  # of names
    returned: bool = False  # some lanes may have left the function
    inside: bool = False  # of the function that is called first

    def choose(self, options: list[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def weighted(self, options: dict[str, int]) -> str:
        return self.choose([name for name, n in options.items() for _ in range(n)])

    def new_name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    # ------------------------------------------------------------ expressions

    def fill(self, template: str, scope: Scope, depth: int) -> str:
        """Replace what stands in braces; the first operand is not a literal."""
        literal = False

        def replace(match: re.Match[str]) -> str:
            kind = match[1]
            if kind == "k":
                return str(self.choose([0, 1, 2, 3]))
            if kind.isupper():
                return str(self.choose(scope.writable[kind.lower()]))
            nonlocal literal
            text = self.expression(kind, scope, depth, literal)
            literal = True
            return text

        return re.sub(r"\{(\w)\}", replace, template)

    def expression(
        self, kind: str, scope: Scope, depth: int = 2, literal: bool = True
    ) -> str:
        options = 2 * scope.readable[kind]
        if literal or not options:
            options = options + LITERALS[kind]
        if depth and self.choose([False, True, True]):
            options = EXPRESSIONS[kind]
            if self.inside:
                for name in self.features:
                    options = options + FEATURES.get(name, {}).get(kind, [])
            if kind == "u" and self.local != "none":
                options = options + LOCAL_EXPRESSIONS
        text = self.choose(options)
        if "{" not in text:
            return str(text)
        text = self.fill(text, scope, depth - 1 if depth else 0)
        return text if re.fullmatch(r"[\w.]+\([^()]*\)", text) else f"({text})"

    def values(self, scope: Scope) -> str:
        """Arguments and results of functions."""
        return self.fill("UInt({u}), Int({i}), Float({f})", scope, 1) + self.more

    # ------------------------------------------------------------- statements

    def block(self, scope: Scope, least: int = 1, most: int = 3) -> list[str]:
        lines: list[str] = []
        for _ in range(self.draw(st.integers(least, most))):
            lines += self.statement(scope)
        if scope.depth and scope.jumps and self.choose([False] * 3 + [True]):
            lines.append(self.jump(scope))
        return ["    " + line for line in lines]

    def jump(self, scope: Scope) -> str:
        kind = self.choose(["return", *["break", "continue"] * (2 * scope.loop)])
        if kind != "return":
            return str(kind)
        self.returned = True
        return f"return {self.values(scope)}"

    def statement(self, scope: Scope) -> list[str]:
        self.fuel -= 1
        kinds = {"simple": 5, "new": 1}
        if scope.depth < 3 and self.fuel > 0:
            kinds |= {"if": 4, "either": 1, "while": 4, "for": 2}
            if self.functions:
                kinds["call"] = 4
            if scope.loop and scope.jumps:
                kinds["leave"] = 5
        if not scope.depth and not self.returned:
            kinds["load"] = 1
        if self.inside and "read" in self.features:
            kinds["load"] = 4
        lines: list[str] = getattr(self, self.weighted(kinds) + "_")(scope)
        return lines

    def simple_(self, scope: Scope) -> list[str]:
        kinds = SIMPLE if self.local == "none" else SIMPLE | LOCAL_SIMPLE
        if self.inside:
            for name in self.features:
                kinds = kinds | FEATURE_SIMPLE.get(name, {})
        kinds = {
            kind: n
            for kind, n in kinds.items()
            if all(scope.writable[t.lower()] for t in re.findall(r"\{([A-Z])\}", kind))
        }
        return [self.fill(self.weighted(kinds), scope, 2)]

    def new_(self, scope: Scope) -> list[str]:
        """A variable that the rest of the block has."""
        kind = self.choose([*TYPES])
        name = self.new_name("t")
        line = f"{name} = {TYPES[kind]}({self.expression(kind, scope)})"
        scope.add(kind, name)
        return [line]

    def load_(self, scope: Scope) -> list[str]:
        """Read what was written before."""
        name = "again" if "alias" in self.features and self.inside else "out"
        name = self.choose(["out", name])
        return [self.fill(f"{{U}} = dr.gather(UInt, {name}, n * 4 + {{k}})", scope, 0)]

    def if_(self, scope: Scope) -> list[str]:
        lines = [f"if {self.expression('b', scope)}:", *self.block(scope.inside())]
        if self.choose([False, False, True]):
            lines.append(f"elif {self.expression('b', scope)}:")
            lines += self.block(scope.inside())
        if self.choose([False, True]):
            lines += ["else:", *self.block(scope.inside())]
        return lines

    def leave_(self, scope: Scope) -> list[str]:
        """A jump in one or two conditionals."""
        lines = [self.jump(scope)]
        if self.choose([False, True]):
            lines = [*self.simple_(scope), *lines]
        for _ in range(self.choose([1, 2])):
            head = f"if {self.expression('b', scope)}:"
            lines = [head, *("    " + line for line in lines)]
        return lines

    def either_(self, scope: Scope) -> list[str]:
        """A variable that both sides give a value."""
        kind = self.choose([*TYPES])
        name = self.new_name("t")
        lines = []
        for head in (f"if {self.expression('b', scope)}:", "else:"):
            inside = scope.inside(jumps=False)
            lines += [head, *self.block(inside, most=2)]
            value = self.expression(kind, inside)
            lines.append(f"    {name} = {TYPES[kind]}({value})")
        scope.add(kind, name)
        return lines

    def while_(self, scope: Scope) -> list[str]:
        name = self.new_name("k")
        kind = self.choose(["u", "i"])
        start, test, step = self.choose(
            [
                (f"{TYPES[kind]}(0)", f"{name} < 3", "+"),
                (f"{TYPES[kind]}(0)", f"({name} < 4) & {{b}}", "+"),
                (f"{TYPES[kind]}(0)", f"{name} < {TYPES[kind]}(({{u}} + n) % 4)", "+"),
                (f"{TYPES[kind]}(n % 3)", f"{name} > 0", "-"),
                (f"{TYPES[kind]}({{u}} & 3)", f"({name} > 0) & {{b}}", "-"),
            ]
        )
        lines = [f"{name} = {self.fill(start, scope, 1)}"]
        scope.readable[kind].append(name)
        test = self.fill(test, scope, 1)
        if not scope.depth and not self.returned and self.local == "none":
            # What is inside can be symbolic in an evaluated loop, not the other way.
            test = self.choose([test, test, f'dr.hint({test}, mode="evaluated")'])
        lines.append(f"while {test}:")
        lines.append(f"    {name} {step}= 1")
        return lines + self.loop_body(scope.inside(loop=True), scope)

    def for_(self, scope: Scope) -> list[str]:
        name = self.new_name("k")
        inside = scope.inside(loop=True)
        inside.readable["u"].append(name)
        head = f"for {name} in range({self.choose([1, 2, 3])}):"
        return [head, *self.loop_body(inside, scope)]

    def loop_body(self, inside: Scope, scope: Scope) -> list[str]:
        inside.jumps = scope.jumps
        lines = self.block(inside, 2, 4)
        if self.choose([False] * 2 + [True]):
            lines += ["else:", *self.block(scope.inside(), most=2)]
        return lines

    def call_(self, scope: Scope) -> list[str]:
        passed = ", v" * (self.local == "passed")
        results = "{U}, {I}, {F}" + passed
        values = self.fill("n, m, UInt({u}), Int({i}), Float({f})", scope, 1) + passed
        if self.choose([False, False, False, True]):
            call = f"{self.choose(self.functions)}({values})"
        else:
            targets = self.draw(
                st.lists(st.sampled_from(self.functions), min_size=1, max_size=3)
            )
            index = f"UInt({self.expression('u', scope)}) % {len(targets) + 1}"
            call = f"{index}, [{', '.join(targets)}], {values}"
            if self.choose([False, False, True]):
                call += f", active={self.expression('b', scope)}"
            call = f"dr.switch({call})"
        return [f"{self.fill(results, scope, 0)} = {call}"]

    # -------------------------------------------------------------- functions

    def allocate(self) -> str:
        value = self.choose(["", ", value=UInt(7)"])
        return f"    v = dr.alloc_local(UInt, 4{value})"

    def function(self) -> list[str]:
        """A function that others call."""
        name = self.new_name("g")
        self.more = ", v" * (self.local == "passed")
        head = f"def {name}(n, m, a, i, x{self.more}, active=True):"
        writable = {"u": ["a"], "i": ["i"], "f": ["x"], "b": []}
        readable = writable | {"u": ["n", "a"], "i": ["m", "i"]}
        scope = Scope(readable, writable).inside(depth=0)
        self.returned = True  # the caller may be inside of anything
        lines = [self.allocate()] if self.local == "own" else []
        lines += self.block(scope)
        lines.append(f"    return {self.values(scope)}")
        self.functions.append(name)
        return [head, *lines]

    def program(self) -> str:
        parameters = "n, m"
        for names in (TABLES, TARGETS):
            if self.choose([False, True]):
                parameters += f", {names}"
        lines = []
        for _ in range(self.choose([0, 1, 2, 3])):
            self.fuel = 4
            lines += ["    " + line for line in self.function()]
        self.fuel = 12
        self.more = ""
        self.returned = False
        self.inside = True
        lines += [
            "    a, b, i, j = n * 3, UInt(5), m, Int(-1)",
            "    x, y, p, q = Float(m), Float(2), m < 0, Bool(True)",
            "    s = [UInt(m & 7), Float(1)]",
        ]
        if self.local != "none":
            lines.append(self.allocate())
        if "object" in self.features:
            lines.append("    o = Box(n + 1, Float(2))")
            lines.append("    d = {'u': UInt(3), 'tag': 'a', 'nothing': None}")
        if "alias" in self.features:
            lines.append("    again = out")
        writable = {
            "u": ["a", "b", "s[0]"],
            "i": ["i", "j"],
            "f": ["x", "y", "s[1]"],
            "b": ["p", "q"],
        }
        readable = {t: [*names] for t, names in writable.items()}
        readable["u"].append("n")
        readable["i"].append("m")
        scope = Scope(readable, writable).inside(depth=0)
        if self.functions:
            lines += ["    " + line for line in self.call_(scope)]
        lines += self.block(scope, 3, 6)
        numbers = ["a", "b * 3", "s[0] * 5", "UInt(p)", "UInt(q) * 2"]
        if self.local != "none":
            numbers += [f"v[{k}] * {k + 7}" for k in range(4)]
        if "object" in self.features:
            numbers += ["o.u * 3", "d['u'] * 5", "UInt(dr.abs(o.f))"]
        result = f"{' + '.join(numbers)}, i + j * 3, x + y * 3 + s[1] * 5"
        lines.append(f"    return {result}")
        return "\n".join([f"def f({parameters}):", *lines, ""])


SETS = [(), ("object",), ("numpy",), ("object", "numpy"), ("alias", "read"), ("read",)]
# Names that are global, or parameters.
TABLES, TARGETS = "table, signed, weights", "out, total"


@st.composite
def programs(draw: Any) -> str:
    local = draw(st.sampled_from(["none", "none", "none", "own", "passed"]))
    features = draw(st.sampled_from([(), *SETS]))
    return Writer(draw, local, features).program()


# -------------------------------------------------------------------- one lane


class Local(list[int]):
    """The local array of one lane."""

    def read(self, index: int, active: bool = True) -> int:
        return list.__getitem__(self, index) if active and index < len(self) else 0

    def write(self, value: int, index: int, active: bool = True) -> None:
        if active and index < len(self):
            list.__setitem__(self, index, value)

    def __getitem__(self, index: Any) -> Any:
        return self.read(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.write(value, index)


def zero(value: Any) -> Any:
    return Local([0] * len(value)) if isinstance(value, Local) else type(value)(0)


class Color(enum.Enum):
    RED = 1


class Box:
    """Arrays, or numbers of a lane, and fields that are neither."""

    DRJIT_STRUCT = {  # noqa: RUF012
        **{"u": UInt, "name": str, "k": int, "on": bool, "f": Float},
        **{"nothing": object, "color": Color, "half": object},
    }

    def __init__(self, u: Any = None, f: Any = None) -> None:
        self.u, self.f = u, f
        self.name, self.k, self.on, self.nothing = "box", 3, True, None
        self.color, self.half = Color.RED, halved


def halved(x: Any) -> Any:
    return x >> 1


# Operands of NumPy, of which a lane has its own entry.
OPERANDS = {
    "nu": np.array([(5 * lane) % 17 for lane in range(LANES)], np.uint32),
    "ni": np.array([(3 * lane) % 11 - 5 for lane in range(LANES)], np.int32),
    "nf": np.array([(7 * lane) % 13 - 6 for lane in range(LANES)], np.float32),
}


class Scalar:
    """What 'dr' is for one lane."""

    minimum, maximum, floor, abs = min, max, math.floor, abs

    @staticmethod
    def clip(value: float, low: float, high: float) -> float:
        return min(max(value, low), high)

    @staticmethod
    def select(condition: bool, a: Any, b: Any) -> Any:
        return a if condition else b

    @staticmethod
    def hint(value: bool, mode: str) -> bool:
        return value

    @staticmethod
    def gather(kind: Any, source: list[Any], index: int, active: bool = True) -> Any:
        return source[index] if active else kind(0)

    @staticmethod
    def scatter(target: list[int], value: int, index: int, active: bool = True) -> None:
        if active:
            target[index] = value

    @staticmethod
    def scatter_add(target: list[int], value: int, index: int, active: Any = 1) -> None:
        if active:
            target[index] += value

    @staticmethod
    def alloc_local(kind: Any, size: int, value: int = 0) -> Local:
        return Local([value] * size)

    @staticmethod
    def switch(index: int, targets: list[Any], *args: Any, active: bool = True) -> Any:
        if not active or index >= len(targets):
            return tuple(zero(value) for value in args[2:])
        copies = [Local(a) if isinstance(a, Local) else a for a in args]
        return targets[index](*copies)


# ------------------------------------------------------------------------- running


def expected(text: str) -> dict[str, list[Any]]:
    out, total = [0] * (LANES * SLOTS), [0] * TOTALS
    numpy = types.SimpleNamespace(uint32=int, int32=int, float32=float)
    function = define(
        text,
        **{"dr": Scalar, "UInt": int, "Int": int, "Float": float, "Bool": bool},
        **{"np": numpy, "Box": Box, "Color": Color},
        **{"table": TABLE, "signed": SIGNED, "weights": WEIGHTS},
        **{"out": out, "total": total},
    )
    head = text.partition("):")[0]
    more = [TABLE, SIGNED, WEIGHTS] if TABLES in head else []
    more += [out, total] if TARGETS in head else []
    lanes = []
    for lane in range(LANES):
        own = {name: array[lane].item() for name, array in OPERANDS.items()}
        function.__globals__.update(own)
        lanes.append(function(lane, STARTS[lane], *more))
    columns = [list(column) for column in zip(*lanes, strict=True)]
    return dict(zip("uif", columns, strict=True)) | {"out": out, "total": total}


def decorate(text: str) -> Callable[[], dict[str, list[Any]]]:
    """A function that runs a text on arrays; it is rewritten once for all modes."""
    tables = [UInt(TABLE), Int(SIGNED), Float(WEIGHTS)]
    function = define(
        text,
        **{"dr": dr, "UInt": UInt, "Int": Int, "Float": Float, "Bool": Bool},
        **{"np": np, "Box": Box, "Color": Color, **OPERANDS},
        **dict(zip(("table", "signed", "weights"), tables, strict=True)),
    )
    decorated = dr.syntax(function, recursive=True)
    head = text.partition("):")[0]
    more = tables if TABLES in head else []

    def found() -> dict[str, list[Any]]:
        out, total = dr.zeros(UInt, LANES * SLOTS), dr.zeros(UInt, TOTALS)
        decorated.__globals__.update(out=out, total=total)
        written = [out, total] if TARGETS in head else []
        result = decorated(dr.arange(UInt, LANES), Int(STARTS), *more, *written)
        values: dict[str, list[Any]] = {"out": out, "total": total}
        for name, kind, array in zip("uif", (UInt, Int, Float), result, strict=True):
            assert type(array) is kind, (name, type(array))
            values[name] = array + dr.zeros(kind, LANES)  # may have one entry
        return {name: array.numpy().tolist() for name, array in values.items()}

    return found


OPTIMISE = dr.JitFlag.OptimizeLoops | dr.JitFlag.OptimizeCalls
OPTIMISE |= dr.JitFlag.MergeFunctions
# Flags that are set and cleared.
SYMBOLIC = {"symbolic": (MODES, 0), "plain": (MODES, OPTIMISE)}
ALL = SYMBOLIC | {
    "evaluated": (0, MODES),
    "compressed": (dr.JitFlag.CompressLoops, MODES),
}


def lane_of(name: str, place: int) -> str:
    """Where a number comes from, for messages; lanes share 'total'."""
    lanes = {"total": "all lanes", "out": f"lane {place // SLOTS}"}
    return lanes.get(name, f"lane {place}")


# Why a recorded loop or conditional may be refused, and why any one.
RECORDED = re.compile("in the same recorded loop|that is being traced writes to it")
REFUSED = re.compile(
    "was changed by another name|are one array|must not read what it writes"
)
WIDE = re.compile(r"\bn[uif]\b")


def modes_of(text: str) -> dict[str, tuple[int, int]]:
    # Local arrays are not in evaluated loops and calls. Arrays of NumPy have all lanes.
    modes = SYMBOLIC if "alloc_local" in text else ALL
    return {
        m: f for m, f in modes.items() if m != "compressed" or not WIDE.search(text)
    }


def check(text: str) -> None:
    modes = modes_of(text)
    numbers = expected(text)
    found = decorate(text)
    for mode, (on, off) in modes.items():
        with contextlib.ExitStack() as stack:
            for flags, value in ((on, True), (off, False)):
                if flags:
                    stack.enter_context(dr.scoped_set_flag(flags, value))
            try:
                arrays = found()
            except Exception as error:
                refused = RECORDED if mode in SYMBOLIC else REFUSED
                if refused.search(str(error)) or REFUSED.search(str(error)):
                    continue
                raise AssertionError(f"{mode}: {error!r}\n{text}") from error
        for name, wanted in numbers.items():
            for k, (a, b) in enumerate(zip(wanted, arrays[name], strict=True)):
                where = f"{mode}, {lane_of(name, k)}: {name}[{k}]"
                assert a == b, f"{where} is {b}, expected {a}\n{text}"


@pytest.mark.parametrize("part", range((COUNT + PART - 1) // PART))
def test_programs(part: int) -> None:
    @seed(SEED * 1000 + part)
    @settings(
        max_examples=min(PART, COUNT - part * PART),
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    @given(programs())
    def run(text: str) -> None:
        check(text)

    run()
    dr.flush_kernel_cache()
