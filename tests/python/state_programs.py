"""Random stateful programs: scripts for state_worlds.py, from the tables of
state_places.py and state_specials.py.

A program is made of pieces: what its function reads and changes, what happens between
its calls. `shrink()` drops those that a failure does not need. What programs use has
names, their features; STATE_FEATURES lists some: where a choice is among these, it is
one of them. STATE_WITHOUT lists those that no program has.
"""

from __future__ import annotations

import functools
import os
import random
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hypothesis import strategies as st
from state_places import (
    ARRAY_ACTIONS,
    ARRAY_OUTSIDE,
    ARRAYS,
    CLASSES,
    FLOAT_ACTIONS,
    GRAD_ACTIONS,
    GRAD_OUTSIDE,
    NONE_ACTIONS,
    NUMBER_ACTIONS,
    NUMBERS,
    PLACES,
    PROLOGUE,
    Place,
)
from state_specials import SPECIALS

FORMS = {
    "plain": (
        "function",
        "lambda",
        "nested",
        "recursive",
        "generator_form",
        "decorated",
        "partial_form",
        "static",
        "by_static",
        "by_property",
        "by_argument",
        "by_module",
    ),
    "self": ("method", "call_object", "by_method", "super_form", "by_operator"),
    "cls": ("classmethod", "by_classmethod"),
}
OWNERS = ("plain_owner", "slots_owner", "dataclass_owner", "struct_owner")
BASES = ("llvm", "ad", "grad")
OPTIONS = {
    "no_options": "",
    "opaque": "auto_opaque=False",
    "limit_none": "limit=0",
    "limit_one": "limit=1",
    "limit_two": "limit=2",
}
RETURNS = {
    "return_tuple": "(y, *notes)",
    "return_dict": "{'y': y, 'notes': notes}",
    "return_list": "[y, notes]",
    "return_twice": "(y, y, notes)",
    "return_with_input": "(y, x, notes)",
}
CALLS = {
    "call": "call(lambda: {f})",
    "call_in_thread": "call(lambda: in_thread(lambda: {f}))",
    "call_suspended": "call(lambda: suspended(lambda: {f}))",
}
HELPERS = {
    "in_thread": """\
def in_thread(function):
    found = []
    def run():
        try:
            with dr.scoped_set_flag(dr.JitFlag.FastMath, False):
                found.append(function())
        except Exception as error:
            found.append(error)
    dr.eval()  # writes that wait are those of this thread
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]
""",
    "suspended": """\
def suspended(function):
    with dr.suspend_grad():
        return function()
""",
    "backward": """\
def backward(result):
    if isinstance(result, dict):
        result = result['y']
    dr.backward(dr.sum(result[0] if isinstance(result, (tuple, list)) else result))
""",
    "forward": """\
def forward(result):
    # What is on the way to another result is a result, too, if it is frozen: its
    # gradient is not cleared. Nor has an input then had edges that were.
    dr.forward(X, dr.ADFlag.ClearEdges)
    first = result['y'] if isinstance(result, dict) else result
    found = dr.grad(first[0] if isinstance(first, (tuple, list)) else first)
    found = dr.select(found == 0, 0, found)
    dr.clear_grad([result, X])
    return found
""",
}

_ONLY = set(filter(None, os.environ.get("STATE_FEATURES", "").split(",")))
_WITHOUT = set(filter(None, os.environ.get("STATE_WITHOUT", "").split(",")))


def allowed(names: Iterable[str]) -> list[str]:
    """Those of some features that are switched on."""
    known = [name for name in names if name not in _WITHOUT]
    return [name for name in known if name in _ONLY] or known


# Actions that numbers do not have.
ARRAY_ONLY = {*ARRAY_ACTIONS, *FLOAT_ACTIONS, *NONE_ACTIONS, *GRAD_ACTIONS}
ARRAY_ONLY -= {*NUMBER_ACTIONS}


class Piece:
    """Lines that a program has, as long as it is not found to do without; or an
    argument, whose text is the parameter."""

    def __init__(
        self, text: str, features: Iterable[str] = (), value: str = ""
    ) -> None:
        self.text = text
        self.features = tuple(features)
        self.value = value
        self.kept = True


class Draws:
    """What a program is chosen by, in the way of random.Random: numbers that
    Hypothesis draws. The smaller these are, the simpler is the program, and the first
    of several things is the simplest one."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self._draw = draw

    def randint(self, least: int, most: int) -> int:
        return int(self._draw(_numbers(least, most)))

    def choice(self, options: Sequence[Any]) -> Any:
        return options[self.randint(0, len(options) - 1)]

    def random(self) -> float:
        """Between 0 and 1, which is the simplest: it is below no probability."""
        return 1 - self.randint(0, 99) / 100

    def shuffle(self, items: list[Any]) -> None:
        for k in range(len(items) - 1):
            other = k + self.randint(0, len(items) - 1 - k)
            items[k], items[other] = items[other], items[k]


@functools.lru_cache(None)
def _numbers(least: int, most: int) -> st.SearchStrategy[int]:
    return st.integers(least, most)


class Program:
    """A program of the main group, or one of those that read unknown values."""

    def __init__(self, draws: Draws | random.Random, unknown: bool = False) -> None:
        self.random = draws
        self.unknown = unknown
        self.features: list[str] = []
        self.latest: tuple[str, ...] = ()  # of the item that is being made
        self.base = self.pick(BASES)
        self.T = "Float64" if self.base == "grad" else "Float"
        self.size = self.random.choice(("1", "3", "4"))
        self.same_size = self.random.random() < 0.5
        self.top: list[Piece] = []
        self.body: list[Piece] = []
        self.cells: list[str] = []
        self.fields: list[str] = []  # of self or cls
        self.declares: list[str] = []
        self.parameters: list[Piece] = []
        self.outside: list[str] = []  # statements that can be between calls
        self.eager = self.random.random() < 0.75
        self.only_arguments = True  # is all that it uses passed to it?
        self.wants_arguments = self.random.random() < 0.2
        if unknown or _ONLY.intersection((*PLACES, *SPECIALS)):
            self.wants_arguments = False
        kinds = [kind for kind in FORMS if allowed(FORMS[kind])]
        self.owned = self.random.choice(
            [kind for kind in kinds if _ONLY.intersection(FORMS[kind])]
            or [*kinds, "plain"]
        )
        self._items()
        if self.owned == "self":
            self.outside.append("OWNER = copy.copy(OWNER)")
        self.form = self.pick(FORMS[self.owned])
        self.owner = self.pick(OWNERS) if self.owned == "self" else "plain_owner"
        self.options = OPTIONS[self.pick([*["no_options"] * 4, *OPTIONS])]
        self.returned = self._return()
        self.method_first = self.random.random() < 0.5
        self.start = self.random.choice(("x * 2", "x + 1", "x", "x - 1"))
        self.steps = [self._step(k) for k in range(self.random.randint(4, 7))]

    # ------------------------------------------------------------- choices

    def pick(self, names: Sequence[str], weight: float = 1.0) -> str:
        name = self.random.choice(allowed(names))
        if name not in self.features:
            self.features.append(name)
        return name

    def _often(self, names: list[str], few: list[str]) -> list[str]:
        """Names, or a few of these that would be drawn too seldom."""
        return few if few and self.random.random() < 0.35 else names

    def fill(self, text: str, **names: Any) -> str:
        double = self.base == "grad"
        return text.format(
            T=self.T,
            V="Array3f64" if double else "Array3f",
            X="TensorXf64" if double else "TensorXf",
            N=self.size,
            **names,
        )

    def _items(self) -> None:
        """Places with what is done there, and specials."""
        places, specials = self._known_places(), self._known_specials()
        some = [name for name in specials if name in _ONLY]
        if _ONLY.intersection(places) or not some:
            specials = some
        elif some and not _ONLY.intersection(places):
            places = []
        if not _ONLY.intersection((*places, *specials)):
            specials = self._known_specials()
        for n in range(self.random.choice((1, 1, 2, 2, 3))):
            if specials and (not places or self.random.random() < 0.4):
                self._special(n, specials)
            else:
                self._place(n, places)

    def _known_places(self) -> list[str]:
        return allowed(
            name
            for name, place in PLACES.items()
            if place.forms in ("any", self.owned)
            and (place.parameter or not self.wants_arguments)
            and (not self.unknown or place.unknown)
            and (self.unknown or not place.unknown)
        )

    def _known_specials(self) -> list[str]:
        return allowed(
            name
            for name, special in SPECIALS.items()
            if special.unknown == self.unknown
            and (special.parameter or not special.top or not self.wants_arguments)
            and (not special.field or self.owned == "self")
            and not (special.hidden and "hidden_array" in _WITHOUT)
            and (self.base == "grad" or not special.grad)
        )

    def _special(self, n: int, names: list[str]) -> None:
        name = self.pick(self._often(names, [n for n in names if SPECIALS[n].grad]))
        self.latest = (name,)
        special = SPECIALS[name]
        self._add_top(self.fill(special.top, n=n))
        self._add_body(self.fill(special.body, n=n))
        if special.field:
            self.fields.append(self.fill(special.field, n=n))
        self.outside += [self.fill(text, n=n) for text in special.outside]
        self._declare(self.fill(special.declare, n=n))
        if special.parameter:
            self._add_parameters(special.parameter, special.argument, n)
        if special.field or (special.top and not special.parameter):
            self.only_arguments = False

    def _add_parameters(self, parameter: str, argument: str, n: int) -> None:
        names = self.fill(parameter, n=n).split(", ")
        values = self.fill(argument, n=n).split(", ")
        for name, value in zip(names, values, strict=True):
            self.parameters.append(Piece(name, self.latest, value))

    def _place(self, n: int, names: list[str]) -> None:
        own = [name for name in names if PLACES[name].forms == self.owned]
        name = self.pick(self._often(names, own))
        self.latest = (name,)
        place = PLACES[name]
        if place.parameter[:1] in ("*", "") or name in ("keyword", "own_default"):
            taken = any(
                own.text[0] == "*" or "=" in own.text for own in self.parameters
            )
            if place.parameter and (taken or "keyword" in self.features[:-1]):
                self.features.remove(name)
                return self._place(n, [*({*names} - {name})] or ["argument"])
        holds = place.holds
        if holds in ("number", "float", "byte"):
            arrays = False
        elif self.unknown:
            arrays = self.random.random() < 0.3
        else:
            arrays = self.random.random() < (0.8 if self.base == "grad" else 0.5)
            if _ONLY.intersection((*NUMBERS, *NUMBER_ACTIONS)):
                arrays = False
            if _ONLY.intersection((*ARRAYS, *ARRAY_ONLY)):
                arrays = True
        if arrays:
            self._array(n, place)
        else:
            self._number(n, place)
        return None

    def _declare(self, text: str) -> None:
        if text and text not in self.declares:
            self.declares.append(text)

    def _add_top(self, text: str) -> None:
        if text:
            self.top.append(Piece(text, self.latest))

    def _add_body(self, text: str, *action: str) -> None:
        self.body.append(Piece(text, (*self.latest, *action)))

    # -------------------------------------------------------------- places

    def _set_up(self, n: int, place: Place, value: str) -> None:
        setup = self.fill(place.setup, n=n, v=value)
        if setup.startswith("cell "):
            self.cells.append(setup[5:])
        elif setup.startswith(("self.", "cls.")):
            self.fields.append(setup.partition(".")[2])
        else:
            self._add_top(setup)
        if place.parameter:
            parameter = self.fill(place.parameter, n=n, v=value)
            argument = self.fill(place.argument, n=n)
            self.parameters.append(Piece(parameter, self.latest, argument))
        else:
            self.only_arguments = False

    def _act(self, n: int, place: Place, actions: dict[str, str], used: str) -> None:
        """Some of the actions that the place admits."""
        read = self.fill(place.read, n=n)
        write = self.fill(place.write, n=n, v="{v}") if place.write else ""
        augments = write.startswith(f"{read} = ")
        possible = [
            name
            for name, text in actions.items()
            if (write or "W(" not in text)
            and (augments or name != "augment")
            # Nothing tells that an input is put somewhere.
            and not (place.unknown and "W(x)" in text)
        ]
        for _ in range(self.random.choice((1, 1, 2))):
            name = self.pick(possible)
            text = self.fill(actions[name], n=n, r=read, u=used.replace("{r}", read))
            if "W(" in text or name == "augment":
                self._declare(self.fill(place.declare, n=n))
                text = _written(text, write)
            self._add_body(text, name)

    def _number(self, n: int, place: Place) -> None:
        if place.holds in NUMBERS:
            values = NUMBERS[place.holds]
        else:
            kind = self.pick(("value", "type", "type", "zero"))
            self.latest = (*self.latest, kind)
            values = NUMBERS[kind]
        chosen = self.random.choice(values)
        self._set_up(n, place, chosen[0])
        actions = dict(NUMBER_ACTIONS)
        if place.holds in ("float", "byte"):
            for name in ("toggle", "count", "count_used"):
                del actions[name]
        self._act(n, place, actions, "{r}")
        for value in chosen * 2:
            text = self.random.choice(place.outside or ("pass",))
            self.outside.append(self.fill(text, n=n, v=value))

    def _array(self, n: int, place: Place) -> None:
        # Whether there is an array would be an unknown value.
        kinds = [kind for kind in ARRAYS if kind != "none" or not place.unknown]
        kind = self.pick(kinds)
        self.latest = (*self.latest, kind)
        makers, used = ARRAYS[kind]
        values = [self.fill(text) for text in makers]
        self.random.shuffle(values)
        if kind == "none":
            actions = NONE_ACTIONS
        else:
            actions = dict(ARRAY_ACTIONS)
            if kind not in ("uint", "vector", "tensor"):
                actions |= FLOAT_ACTIONS
                if not self.same_size:
                    used = "dr.sum({r})"
                if self.base == "grad":
                    actions |= GRAD_ACTIONS
                    if self.random.random() < 0.7:
                        actions = GRAD_ACTIONS
        self._set_up(n, place, values[0])
        self._act(n, place, actions, self.fill(used, r="{r}"))
        for value in values:
            text = self.random.choice(place.outside or ("pass",))
            self.outside.append(self.fill(text, n=n, v=value))
        read = self.fill(place.outside[0] if place.outside else "pass", n=n, v="")
        if kind in ("literal", "memory", "unevaluated", "mixed"):
            name = read.removesuffix(" = ")
            if name != read and "(" not in name and "=" not in name:
                self.outside += [self.fill(t, r=name) for t in ARRAY_OUTSIDE]
                self.outside += [f"{name} = X", f"{name} = {self.T}({name})"]
                if self.base == "grad":
                    self.outside += [text.format(r=name) for text in GRAD_OUTSIDE] * 2

    # --------------------------------------------------------------- steps

    def _return(self) -> str:
        if not any("notes" in piece.text for piece in self.body):
            if self.random.random() < 0.6:
                return "y"
        return RETURNS[self.pick(tuple(RETURNS))]

    def _input(self) -> str:
        n = self.size
        if not self.same_size:
            n = self.random.choice(("1", "2", "4", "5"))
        if self.random.random() < 0.1:
            other = (f"UInt([1, 2, 3, 4][:{n}])", "{V}(1, 2, 3)", "{X}([1, 2], (2, 1))")
            return self.fill(self.random.choice(other))
        return self.random.choice(
            (
                f"{self.T}([1, 2, -3, 4, 2][:{n}])",
                f"dr.opaque({self.T}, 3, {n})",
                f"dr.arange({self.T}, {n}) - 1",
                f"{self.T}([2, -1, 3, 1, 5][:{n}])",
                f"dr.full({self.T}, 2, {n})",
            )
        )

    def _step(self, number: int) -> list[Piece]:
        """The pieces of a step: a call, what comes before, and derivatives."""
        pieces: list[str] = []
        if number == 0 or self.random.random() < 0.7:
            pieces.append(f"X = {self._input()}")
        grad = self.base == "grad"
        if grad and self.random.random() < 0.5:
            pieces.append("dr.enable_grad(X)")
        later: list[str] = []
        if number > 0 and self.outside:
            for _ in range(self.random.choice((0, 1, 1, 1, 2))):
                late = grad and self.random.random() < 0.3
                (later if late else pieces).append(self.random.choice(self.outside))
        kinds = ["call"] * 12 + ["call_in_thread"]
        if grad:
            kinds += ["call_suspended"] * 2
        kind = self.pick(kinds)
        own = self.random.random()  # below 0.5: what has a default is not given
        call = CALLS[kind].format(f=f"@CALL{int(own < 0.5)}")
        made = [Piece(text) for text in pieces]
        if grad and self.random.random() < 0.6:
            made.append(Piece(f"R = {call}", (kind,)))
            made += [Piece(text) for text in later]
            mode = self.pick(("backward", "backward", "backward", "forward"))
            made.append(Piece(f"call(lambda: {mode}(R))", (f"{mode}_through",)))
        else:
            made += [Piece(text) for text in later]
            made.append(Piece(call, (kind,)))
        return made

    def _called(self, text: str, call: str) -> str:
        """The statement of a step with the call in it."""
        kept = [own for own in self.parameters if own.kept]
        given = [own.value for own in sorted(kept, key=lambda own: _rank(own.text))]
        for k, mark in enumerate(("@CALL0", "@CALL1")):
            own = [v.lstrip("?") for v in given if not (k and v.startswith("?"))]
            text = text.replace(mark, f"{call}({', '.join(['X', *_ordered(own)])})")
        return text

    # -------------------------------------------------------------- source

    def text(self) -> str:
        steps = [piece.text for step in self.steps for piece in step if piece.kept]
        top = [piece.text for piece in self.top if piece.kept]
        function, names, call = self._function()
        if self.cells:
            function, extra = self._scope(function, names)
        else:
            extra = []
        lines = [*top, function, *extra, *(self._called(s, call) for s in steps)]
        rest = "\n".join(lines) + "\n"
        for name, helper in reversed(HELPERS.items()):
            if f" {name}(" in rest:
                rest = helper + rest
        words = {*re.findall(r"\w+", rest)}
        for name, text in reversed(CLASSES.items()):
            if name in words:
                rest = f"{text}\n{rest}"
        ad = "" if self.base == "llvm" else ".ad"
        known = ("Array3f", "Array3f64", "Float", "Float64", "TensorXf", "TensorXf64")
        types = [t for t in (*known, "UInt") if t in words]
        head = _used_imports(PROLOGUE.format(ad=ad, types=", ".join(types)), rest)
        title = f"# {', '.join(self.features)}\n"
        return title + head + "\n" + rest

    def _scope(self, function: str, names: list[str]) -> tuple[str, list[str]]:
        """The function within one that has its cells, and functions that set these."""
        cells = [cell.partition(" = ")[0] for cell in self.cells]
        lines = [*self.cells, function]
        for cell in cells:
            lines.append(f"def put_{cell}(v):\n    nonlocal {cell}\n    {cell} = v")
        given = ", ".join([*names, *(f"put_{cell}" for cell in cells)])
        lines.append(f"return {given}")
        text = "def scope():\n" + _indent("\n".join(lines))
        return text, [f"{given} = scope()"]

    def _block(self, head: str) -> str:
        """A function that does what the program is about."""
        lines = [*self.declares, "notes = []", f"y = {self.start}"]
        lines += [piece.text for piece in self.body if piece.kept]
        if "yield" in head:
            head = head.replace("yield ", "")
            lines.append(f"yield {self.returned}")
        else:
            lines.append(f"return {self.returned}")
        return f"{head}\n" + _indent("\n".join(lines))

    def _function(self) -> tuple[str, list[str], str]:
        """The text that defines it, names that this makes, and how it is called."""
        freeze = f"@freeze({self.options})" if self.options else "@freeze"
        named = _ordered([own.text for own in self.parameters if own.kept])
        params = ", ".join(["x", *named])
        passed = ", ".join(["x", *map(_passed_on, named)])
        maker: Callable[..., Any] = getattr(self, f"_form_{self.form}")
        text, names, call = maker(freeze, params, passed)
        return text, names, call

    def _form_function(self, freeze: str, params: str, passed: str) -> Any:
        return self._block(f"{freeze}\ndef f({params}):"), ["f"], "f"

    def _form_lambda(self, freeze: str, params: str, passed: str) -> Any:
        own = f"freeze(lambda {params}: work({passed})"
        options = f", {self.options}" if self.options else ""
        work = self._block(f"def work({params}):")
        return f"{work}\nf = {own}{options})", ["f"], "f"

    def _form_nested(self, freeze: str, params: str, passed: str) -> Any:
        inner = self._block("def inner():")
        names = [name.lstrip("*") for name in passed.split(", ")]
        own = [n for n in names if re.search(rf"^ *{n} [-+*]?= ", inner, re.M)]
        head = ", ".join(f"{name}={name}" for name in own)
        inner = inner.replace("def inner():", f"def inner({head}):")
        text = f"{freeze}\ndef f({params}):\n{_indent(inner)}\n    return inner()"
        return text, ["f"], "f"

    def _form_recursive(self, freeze: str, params: str, passed: str) -> Any:
        own = self._block(f"def go(depth, {params}):")
        inner = f"    if depth:\n        return go(depth - 1, {passed})\n"
        head, _, rest = own.partition("\n")
        declares = "\n".join(self.declares)
        if declares:
            rest = rest.replace(_indent(declares) + "\n", "", 1)
            inner = _indent(declares) + "\n" + inner
        own = f"{head}\n{inner}{rest}"
        text = f"{freeze}\ndef f({params}):\n{_indent(own)}\n    return go(2, {passed})"
        return text, ["f"], "f"

    def _form_generator_form(self, freeze: str, params: str, passed: str) -> Any:
        own = self._block(f"yield def parts({params}):")
        text = f"{own}\n{freeze}\ndef f({params}):\n    return list(parts({passed}))"
        return text, ["f"], "f"

    def _form_decorated(self, freeze: str, params: str, passed: str) -> Any:
        top = (
            "def counted(inner):\n    k = 2.0\n    @functools.wraps(inner)\n"
            "    def outer(*args, **kwargs):\n        with Depth():\n"
            "            return inner(*args, **kwargs), k\n    return outer\n"
            "class Depth:\n    depth = 0\n    def __enter__(self):\n"
            "        Depth.depth += 1\n    def __exit__(self, *unused):\n"
            "        Depth.depth -= 1\n"
        )
        return top + self._block(f"{freeze}\n@counted\ndef f({params}):"), ["f"], "f"

    def _form_partial_form(self, freeze: str, params: str, passed: str) -> Any:
        work = self._block(f"def work(first, {params}):")
        work = work.replace("notes = []", "notes = [first]", 1)
        options = f", {self.options}" if self.options else ""
        own = f"f = freeze(functools.partial(work, 2.0){options})"
        return f"{work}\n{own}", ["f"], "f"

    def _form_static(self, freeze: str, params: str, passed: str) -> Any:
        head = self.random_head("@staticmethod", freeze)
        own = self._block(f"{head}\ndef f({params}):")
        return f"class Owner:\n{_indent(own)}", ["Owner"], "Owner.f"

    def random_head(self, method: str, freeze: str) -> str:
        """A method that is frozen, or what is frozen made a method."""
        return f"{method}\n{freeze}" if self.method_first else f"{freeze}\n{method}"

    def _form_by_static(self, freeze: str, params: str, passed: str) -> Any:
        own = self._block(f"@staticmethod\ndef work({params}):")
        text = f"class Tool:\n{_indent(own)}\n{freeze}\ndef f({params}):\n"
        return f"{text}    return Tool.work({passed})", ["f", "Tool"], "f"

    def _form_by_property(self, freeze: str, params: str, passed: str) -> Any:
        own = self._block(f"def work({params}):")
        text = f"@property\ndef work(self):\n{_indent(own)}\n    return work"
        text = (
            f"class Tool:\n{_indent(text)}\nTOOL = Tool()\n{freeze}\ndef f({params}):\n"
        )
        return f"{text}    return TOOL.work({passed})", ["f", "TOOL"], "f"

    def _form_by_argument(self, freeze: str, params: str, passed: str) -> Any:
        own = self._block(f"def work({params}):")
        text = f"{own}\n{freeze}\ndef own(function, {params}):\n"
        text += f"    return function({passed})\n"
        text += "f = functools.partial(own, work)"
        return text, ["f", "work"], "f"

    def _form_by_module(self, freeze: str, params: str, passed: str) -> Any:
        own = self._block(f"def work({params}):")
        text = f"{own}\nMODULE = types.ModuleType('tools')\nMODULE.work = work\n"
        text += f"{freeze}\ndef f({params}):\n    return MODULE.work({passed})"
        return text, ["f", "MODULE"], "f"

    def _owner(self, methods: str, base: str = "") -> str:
        """A class whose instances have the fields."""
        fields = [field.partition(" = ") for field in self.fields]
        names = [name for name, _, _ in fields]
        head, lines = f"class Owner{base}:", []
        init = [f"self.{name} = {value}" for name, _, value in fields] or ["pass"]
        if self.owner == "slots_owner":
            lines.append(f"__slots__ = {tuple(names)!r}")
        elif self.owner == "struct_owner":
            struct = ", ".join(f"{name!r}: object" for name in names)
            lines.append(f"DRJIT_STRUCT = {{{struct}}}")
        if self.owner == "dataclass_owner":
            head = f"@dataclasses.dataclass\n{head}"
            lines += [
                f"{name}: object = dataclasses.field(default_factory=lambda: {value})"
                for name, _, value in fields
            ]
        else:
            lines.append("def __init__(self):\n" + _indent("\n".join(init)))
        return f"{head}\n" + _indent("\n".join([*lines, methods])) + "\nOWNER = Owner()"

    def _form_method(self, freeze: str, params: str, passed: str) -> Any:
        own = self._block(f"{freeze}\ndef f(self, {params}):")
        return self._owner(own), ["OWNER"], "OWNER.f"

    def _form_call_object(self, freeze: str, params: str, passed: str) -> Any:
        own = self._owner(self._block(f"def __call__(self, {params}):"))
        options = f", {self.options}" if self.options else ""
        return f"{own}\nf = freeze(OWNER{options})", ["OWNER", "f"], "f"

    def _form_by_method(self, freeze: str, params: str, passed: str) -> Any:
        own = self._owner(self._block(f"def work(self, {params}):"))
        text = f"{own}\n{freeze}\ndef f({params}):\n    return OWNER.work({passed})"
        return text, ["f", "OWNER"], "f"

    def _form_super_form(self, freeze: str, params: str, passed: str) -> Any:
        base = self._block(f"def f(self, {params}):")
        own = f"{freeze}\ndef f(self, {params}):\n    return super().f({passed})"
        text = f"class Base:\n    __slots__ = ()\n{_indent(base)}\n"
        return text + self._owner(own, "(Base)"), ["OWNER"], "OWNER.f"

    def _form_by_operator(self, freeze: str, params: str, passed: str) -> Any:
        plain = ", ".join(name.lstrip("*") for name in passed.split(", "))
        own = self._block(f"def __matmul__(self, given):\n    ({plain},) = given")
        text = self._owner(own)
        text += f"\n{freeze}\ndef f({params}):\n    return OWNER @ ({plain},)"
        return text, ["f", "OWNER"], "f"

    def _class(self, methods: str) -> str:
        return "class Owner:\n" + _indent("\n".join([*self.fields, methods]))

    def _form_classmethod(self, freeze: str, params: str, passed: str) -> Any:
        head = self.random_head("@classmethod", freeze)
        own = self._class(self._block(f"{head}\ndef f(cls, {params}):"))
        return f"{own}\nOWNER = Owner", ["OWNER"], "OWNER.f"

    def _form_by_classmethod(self, freeze: str, params: str, passed: str) -> Any:
        own = self._class(self._block(f"@classmethod\ndef work(cls, {params}):"))
        text = f"{own}\nOWNER = Owner\n{freeze}\ndef f({params}):\n"
        return f"{text}    return OWNER.work({passed})", ["f", "OWNER"], "f"

    # -------------------------------------------------------------- shrink

    def pieces(self) -> list[Piece]:
        steps = [piece for step in reversed(self.steps) for piece in step]
        return [*steps, *self.body, *self.top, *self.parameters]

    def needed(self) -> list[str]:
        """The features of what was not dropped."""
        found = [
            name for piece in self.pieces() if piece.kept for name in piece.features
        ]
        found += [name for name, text in RETURNS.items() if text == self.returned]
        if self.options:
            found.append(self.options)
        if self.form not in ("function", "method", "classmethod"):
            found.append(self.form)
        return [name for name in dict.fromkeys(found) if name != "call"]

    def shrink(self, fails: Callable[[str], bool]) -> str:
        """The text of what is left when all is dropped that the failure can spare."""
        simple = {"plain": "function", "self": "method", "cls": "classmethod"}
        form = simple[self.owned]
        self._simplify(fails, form=form, owner="plain_owner", options="")
        again = True
        while again:
            again = False
            for piece in self.pieces():
                if piece.kept:
                    piece.kept = False
                    piece.kept = not fails(self.text())
                    again = again or not piece.kept
        for piece in self.pieces():  # in the same thread, not suspended
            before = piece.text
            piece.text = re.sub(
                r"(in_thread|suspended)\(lambda: (.*?)\)\)", r"\2)", before
            )
            if piece.text != before and not fails(self.text()):
                piece.text = before
        self._simplify(fails, form="function", start="x + 1", returned="y")
        return self.text()

    def _simplify(self, fails: Callable[[str], bool], **changes: str) -> None:
        """Have what a program is like be simpler, where it fails all the same."""
        empty: dict[str, Any] = {"cells": [], "declares": [], "fields": []}
        for name, value in (changes | empty).items():
            before = getattr(self, name)
            vars(self)[name] = value
            if before != value and not fails(self.text()):
                vars(self)[name] = before


@st.composite
def programs(draw: Callable[[Any], Any], unknown: bool = False) -> Program:
    """Programs. ``unknown``: of which something that changes is given by a C callable
    that is not known to be repeatable: a repetition may be wrong, and `explain()` says
    why."""
    return Program(Draws(draw), unknown)


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


def _written(text: str, write: str) -> str:
    """``W(value)`` in a text replaced by what writes the value."""
    lines = []
    for line in text.split("\n"):
        pad = line[: len(line) - len(line.lstrip())]
        if line.lstrip().startswith("W(") and line.endswith(")"):
            line = pad + write.format(v=line.lstrip()[2:-1])
        lines.append(line)
    return "\n".join(lines)


def _rank(text: str) -> int:
    """Where a parameter or argument stands: its kind's place."""
    if text.startswith("**"):
        return 3
    if text.startswith("*"):
        return 2
    return 1 if "=" in text else 0


def _ordered(arguments: list[str]) -> list[str]:
    return sorted(arguments, key=_rank)


def _passed_on(parameter: str) -> str:
    return parameter.partition("=")[0]


def _used_imports(head: str, rest: str) -> str:
    lines = []
    used = {*re.findall(r"(\w+)\.", rest)}
    for line in head.split("\n"):
        name = line.split(" ")[-1] if line.startswith("import ") else ""
        if not name or name == "dr" or name in used:
            lines.append(line)
    return "\n".join(lines)
