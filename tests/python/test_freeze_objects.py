"""What stands in objects: among the inputs of frozen functions, in results, and where
functions leave it."""

from __future__ import annotations

import collections
import contextlib
import enum
import functools
import gc
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Float, UInt
from state_worlds import WAYS, compare


def ramp(n: int) -> Float:
    made = dr.arange(Float, n)
    dr.eval(made)
    return made


class Holder:
    """No PyTree."""

    def __init__(self) -> None:
        self.u = ramp(4)
        self.parts: list[Any] = [ramp(4)]
        self.generator = dr.rng(1)


def double_in_place(h: Holder) -> Any:
    h.u *= 2
    return h.u + 1


def double(h: Holder) -> Any:
    h.u = h.u * 2
    return h.u + 1


def double_part(h: Holder) -> Any:
    h.parts[0] = h.parts[0] * 2
    return h.parts[0] + 1


def add_attribute(h: Holder) -> Any:
    h.late = h.u + 1  # type: ignore[attr-defined]
    return h.u + 1


@pytest.mark.parametrize(
    "function", [double_in_place, double, double_part, add_attribute]
)
def test_objects_that_are_no_trees(function: Callable[[Holder], Any]) -> None:
    """What the function puts into one of them is put there by repetitions, too."""
    frozen = dr.freeze(function, state_fn=lambda h: (h.u, h.parts[0]))
    a, b = Holder(), Holder()
    for _ in range(4):
        assert dr.all(frozen(a) == function(b))
        assert dr.all(a.u == b.u) and dr.all(a.parts[0] == b.parts[0])
        assert vars(a).keys() == vars(b).keys()
    assert frozen.n_recordings == 1


class Deep:
    """No PyTree, with arrays in many places."""

    def __init__(self) -> None:
        self.space = types.SimpleNamespace(x=ramp(4))
        self.list: list[Any] = [1, ramp(4)]
        self.dict: dict[Any, Any] = {"a": ramp(4), 2: (ramp(4), 5)}
        self.ordered = collections.OrderedDict(a=ramp(4))
        self.one = self.other = ramp(4)
        self.many = [ramp(4) for _ in range(100)]
        self.itself = self


def set_in(place: Callable[[Deep], Any], key: Any) -> Callable[[Deep, Float], Float]:
    def function(d: Deep, x: Float) -> Float:
        place(d)[key] = x + 1
        return x * 2

    return function


def append_array(d: Deep, x: Float) -> Float:
    d.list.append(x + 1)
    return x * 2


def remove_array(d: Deep, x: Float) -> Float:
    d.dict.pop("a", None)
    d.dict["a"] = 7
    return x * 2


def replace_dictionary(d: Deep, x: Float) -> Float:
    d.__dict__ = {**d.__dict__, "one": x + 1}
    return x * 2


def change_numbers(d: Deep, x: Float) -> Float:
    d.list[0] += 1
    d.number = d.list[0]  # type: ignore[attr-defined]
    return x * 2


def described(thing: Any, known: set[int]) -> Any:
    """All arrays and values that an object leads to."""
    if isinstance(thing, dr.ArrayBase):
        return list(thing)
    if id(thing) in known:
        return "again"
    known.add(id(thing))
    if isinstance(thing, dict):
        return {key: described(entry, known) for key, entry in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [described(entry, known) for entry in thing]
    return described(vars(thing), known) if hasattr(thing, "__dict__") else thing


@pytest.mark.parametrize(
    "function",
    [
        set_in(lambda d: vars(d.space), "x"),
        set_in(lambda d: vars(d.space), "y"),
        set_in(lambda d: d.list, 1),
        set_in(lambda d: d.list, 0),
        append_array,
        set_in(lambda d: d.dict, "a"),
        set_in(lambda d: d.dict, 3),
        remove_array,
        set_in(lambda d: d.ordered, "a"),
        set_in(vars, "other"),
        replace_dictionary,
        set_in(lambda d: d.many, 99),
        change_numbers,
    ],
)
def test_what_objects_hold(function: Any) -> None:
    """It is as the function leaves it, after calls that are repeated, too."""
    frozen = dr.freeze(function)
    a, b = Deep(), Deep()
    for k in range(5):
        assert dr.all(frozen(a, ramp(4) + k) == (ramp(4) + k) * 2)
        function(b, ramp(4) + k)
        assert described(a, set()) == described(b, set())


def test_what_objects_hold_is_released() -> None:
    """Recording keeps nothing alive, whether it ends or not."""

    class Failure(Exception):
        pass

    def f(d: Deep, x: Float, fail: bool) -> Float:
        if fail:
            raise Failure
        return x * 2

    frozen = dr.freeze(f)
    for fail in (False, True):
        d = Deep()
        d.itself = None  # type: ignore[assignment]
        there = weakref.ref(d)
        with contextlib.suppress(Failure):
            frozen(d, ramp(4), fail)
        del d
        gc.collect()
        assert there() is None


def test_generators_in_objects() -> None:
    @dr.freeze
    def f(h: Holder) -> Float:
        return h.generator.random(Float, 4)

    h, generator = Holder(), dr.rng(1)
    for _ in range(4):
        assert dr.all(f(h) == generator.random(Float, 4))


def test_attributes_beside_the_fields() -> None:
    class Model:
        DRJIT_STRUCT = {"w": Float}

        def __init__(self) -> None:
            self.w = ramp(4)

    @dr.freeze
    def f(m: Model) -> Float:
        m.w = m.w + 1
        m.last = m.w * 2  # type: ignore[attr-defined]
        return m.w

    model = Model()
    for k in range(3):
        assert dr.all(f(model) == ramp(4) + k + 1)
        assert dr.all(model.last == 2 * (ramp(4) + k + 1))  # type: ignore[attr-defined]
    assert f.n_recordings <= 1


class Opaque:
    """No PyTree."""

    def __init__(self, x: Any) -> None:
        self.x = x


def lazy(x: Float) -> Any:
    yield x * 2


@pytest.mark.parametrize(
    ("function", "look"),
    [
        (lambda x: Opaque(x * 2), lambda r: r.x),
        (lambda x: [1, Opaque(x * 2)], lambda r: r[1].x),
        (lazy, lambda r: next(iter(r))),
        (lambda x: iter([x * 2]), next),
        (lambda x: {Opaque(x * 2)}, lambda r: r.pop().x),
        (lambda x: {"a": x * 2}.items(), lambda r: dict(r)["a"]),
        (lambda x: lambda: x * 2, lambda r: r()),
        (lambda x: Opaque(x * 2).__init__, lambda r: r.__self__.x),
        (lambda x: functools.partial(max, x * 2), lambda r: r.args[0]),
    ],
)
def test_objects_in_results(function: Callable[..., Any], look: Any) -> None:
    """Repeating would give the first one again."""
    frozen = dr.freeze(function)
    for k in range(3):
        assert dr.all(look(frozen(ramp(4) + k)) == (ramp(4) + k) * 2)
    assert frozen.n_recordings == 0
    assert "a result is an object of type" in frozen.explain()


def test_objects_put_into_inputs() -> None:
    @dataclass
    class State:
        last: Any

    @dr.freeze
    def f(state: State, x: Float) -> Float:
        state.last = Opaque(x * 2)
        return x + 1

    state = State(None)
    for k in range(3):
        f(state, ramp(4) + k)
        assert dr.all(state.last.x == (ramp(4) + k) * 2)


def test_values_in_results() -> None:
    class Color(enum.Enum):
        RED = 1

    given = Opaque(1)
    values = (1, "a", 2.5, None, b"x", Color.RED, Fraction(1, 2), Float, dr, len, ...)

    @dr.freeze
    def f(x: Float, given: Opaque) -> Any:
        made = dr.scalar.Array3f(1, 2, 3)
        return x + 1, values, given, test_values_in_results, made, {1, "a"}

    for _ in range(3):
        _, found, same, function, made, words = f(ramp(4), given)
        assert found == values
        assert same is given and function is test_values_in_results
        assert list(made) == [1, 2, 3]
        assert words == {1, "a"}
        made.x = 7  # is the caller's
        words.add("b")
    assert f.n_recordings == 1


def write_first(a: Float, b: Float) -> Float:
    dr.scatter(a, Float(9), UInt(0))
    return a + b


def replace_first(a: list[Float], b: list[Float]) -> Float:
    a[0] = a[0] + 10
    return a[0] + b[0]


@pytest.mark.parametrize("function", [write_first, replace_first])
@pytest.mark.parametrize("first", [0, 1, 2])
def test_one_object_or_two(function: Callable[..., Any], first: int) -> None:
    """Two objects of one variable are not one object: changes are of one of them."""

    def arrays(kind: int) -> list[Any]:
        x = ramp(4)
        pair = [x, x if kind == 0 else Float(x) if kind == 1 else ramp(4)]
        if function is write_first:
            return pair
        a = [pair[0]]
        return [a, a if kind == 0 else [pair[1]]]

    frozen = dr.freeze(function)
    for kind in (first, 0, 1, 2, 0, 1, 2):
        given, expected = arrays(kind), arrays(kind)
        assert dr.all(frozen(*given) == function(*expected))
        for a, b in zip(given, expected, strict=True):
            x, y = (a, b) if function is write_first else (a[0], b[0])
            assert dr.all(x == y)
    assert frozen.n_recordings == 3


def twice(x: Float, inputs: Any) -> Any:
    y = x + 1
    return y, [y, y], inputs["a"], inputs, {"again": inputs["list"]}


def test_the_same_object_in_results() -> None:
    """What is one object in the result of the function is one in repetitions."""
    frozen = dr.freeze(twice)
    for n in (4, 4, 7):
        given = {"a": ramp(n), "list": [ramp(n + 1)]}
        first, (second, third), array, container, more = frozen(ramp(n), given)
        assert first is second is third
        assert array is given["a"] and container is given
        assert more["again"] is given["list"]
        first += 1
        assert dr.all(second == ramp(n) + 2)
    assert frozen.n_recordings == 1


def test_objects_of_inputs_that_change_places() -> None:
    @dr.freeze
    def swap(pair: list[Any]) -> Any:
        pair[0], pair[1] = pair[1], pair[0]
        return pair[0]

    a, b = ramp(4), ramp(4) + 1
    dr.eval(b)
    pair = [a, b]
    for k in range(4):
        first = swap(pair)
        assert pair[0] is first is (a if k % 2 else b)
        assert pair[1] is (b if k % 2 else a)
    assert swap.n_recordings == 1


@pytest.mark.parametrize("keep", [1, 3])
def test_what_functions_leave_behind(keep: int) -> None:
    """Each call leaves something else."""
    entries: list[Any] = []

    @dr.freeze
    def f(x: Float) -> Float:
        y = x + 1
        entries.extend([y] * keep)
        return y * 2

    for k in range(5):
        assert dr.all(f(ramp(4) + k) == (ramp(4) + k + 1) * 2)
        assert len(entries) == keep * (k + 1)
        assert dr.all(entries[-1] == ramp(4) + k + 1)
    assert f.n_recordings == 0


def test_a_table_that_is_filled_on_first_use() -> None:
    table: dict[str, Any] = {}

    @dr.freeze
    def f(x: Float) -> Float:
        if "w" not in table:
            table["w"] = dr.arange(Float, 4) * 2
        return x + table["w"]

    for k in range(4):
        assert dr.all(f(ramp(4) + k) == ramp(4) + k + dr.arange(Float, 4) * 2)
    assert f.n_recordings == 1
    table["w"] = ramp(4)
    assert dr.all(f(ramp(4)) == ramp(4) * 2)


@pytest.mark.parametrize("make", [Float, lambda v: dr.opaque(Float, v)])
def test_arrays_that_no_path_leads_to(make: Callable[[float], Any]) -> None:
    """Literals, too, of which an operation leaves nothing."""
    hidden = [make(1.0)]
    find = hidden.__getitem__

    @dr.freeze
    def f(x: Float) -> Float:
        return x * next(iter(map(find, (0,))))

    for value in (1.0, 2.0, 3.0):
        hidden[0] = make(value)
        assert dr.all(f(ramp(4)) == ramp(4) * value)


# ---------------------------------------------------------------- moved and changed


def flat(result: Any) -> list[Any]:
    return [] if result is None else result if isinstance(result, list) else [result]


class Place:
    DRJIT_STRUCT = {"u": UInt}  # noqa: RUF012

    def __init__(self, u: Any = None) -> None:
        self.u = u


def returned(q: Any, other: Any) -> Any:
    u, q.u = q.u, q.u + 10
    u += 1
    return u


def scattered(q: Any, other: Any) -> Any:
    u, q.u = q.u, q.u + 10
    dr.scatter(u, UInt(7), UInt(0))
    return [u]


def exchanged(q: Any, other: Any) -> None:
    q.u, other.u = other.u, q.u
    q.u += 1


def handed_on(q: Any, other: Any) -> Any:
    q.u *= 3
    other.u, q.u = q.u, q.u + 1


@pytest.mark.parametrize("function", [returned, scattered, exchanged, handed_on])
def test_what_is_changed_and_then_moved(function: Any) -> None:
    """A repetition changes inputs in their places: such calls are not repeated."""
    frozen = dr.freeze(function)
    for k in range(3):
        outcomes = []
        for called in (function, frozen):
            arrays = UInt(1, 2, 3) + k, UInt(4, 5, 6)
            dr.eval(arrays)
            q, other = map(Place, arrays)
            result = called(q, other)
            seen = [*arrays, q.u, other.u, *flat(result)]
            outcomes.append([(list(a), [a is array for array in arrays]) for a in seen])
        assert outcomes[0] == outcomes[1]
    assert frozen.n_recordings == 0


# ---------------------------------------------------------------- code of classes

HEAD = """\
import collections, dataclasses
import drjit as dr
from drjit.llvm.ad import Float

def one(k=1):
    return dr.opaque(Float, k, 3)

"""
CALLS = "for k in (1, 1, 2, 3): call(lambda: f(one(k), k))\n"

# What classes do where a function puts something, or makes an object.
CLASSES = {
    "metaclass": "class M(type):\n    def __setattr__(cls, name, value):\n"
    "        type.__setattr__(cls, name, value * 2)\n"
    "class A(metaclass=M):\n    v = one()\n"
    "@freeze\ndef f(x, k):\n    A.v = A.v + x\n",
    "list": "class L(list):\n    def __setitem__(self, key, value):\n"
    "        list.__setitem__(self, key, value * 2)\n"
    "    def __len__(self):\n        return 7\n    def __iter__(self):\n"
    "        return iter(())\nG = L([one(), 2.0])\n"
    "@freeze\ndef f(x, k):\n    G[0] = G[0] + x\n    return G[1] * x\n",
    "deque": "class D(collections.deque):\n    def __setitem__(self, key, value):\n"
    "        super().__setitem__(key, value * 2)\nG = D([one(), 2.0])\n"
    "@freeze\ndef f(x, k):\n    G[0] = G[0] + x\n",
    "fields": "class A:\n    DRJIT_STRUCT = {'v': Float}\n"
    "    def __setattr__(self, name, value):\n"
    "        object.__setattr__(self, name, value * 2)\n"
    "G = A()\nG.v = one()\n@freeze\ndef f(x, k):\n    G.v = G.v + x\n",
    "property": "class A:\n    DRJIT_STRUCT = {'v': Float}\n    @property\n"
    "    def v(self):\n        return self.w\n    @v.setter\n"
    "    def v(self, value):\n        self.w = value * 2\n"
    "G = A()\nG.v = one()\n@freeze\ndef f(x, k):\n    G.v = G.v + x\n",
    "attribute of a result": "class A:\n    DRJIT_STRUCT = {'v': Float}\n"
    "    def __init__(self, v=None):\n        self.v, self.w = v, None\n"
    "@freeze\ndef f(x, k):\n    a = A(x + 1)\n    a.w = k\n    return a\n",
    "slot of a result": "class A:\n    DRJIT_STRUCT = {'v': Float}\n"
    "    __slots__ = ('v', 'w')\n@freeze\ndef f(x, k):\n    a = A()\n"
    "    a.v = x + 1\n    a.w = k\n    return a\n",
    "list of a result": "class A:\n    DRJIT_STRUCT = {'v': Float}\n"
    "@freeze\ndef f(x, k):\n    a = A()\n    a.v = x + 1\n    a.w = [k]\n"
    "    return a\n",
    "__post_init__": "@dataclasses.dataclass\nclass A:\n    v: object\n"
    "    def __post_init__(self):\n        self.v = self.v * 2\n"
    "@freeze\ndef f(x, k):\n    return A(x + 1)\n",
    "InitVar": "@dataclasses.dataclass\nclass A:\n    v: object\n"
    "    w: dataclasses.InitVar[float] = 1.0\n"
    "    def __post_init__(self, w):\n        self.v = self.v * w\n"
    "@freeze\ndef f(x, k):\n    return A(x + 1, k)\n",
    "dictionary with fields": "class A(dict):\n    DRJIT_STRUCT = {'v': Float}\n"
    "@freeze\ndef f(x, k):\n    a = A(k=k)\n    a.v = x + 1\n    return a\n",
    "exception with fields": "class A(Exception):\n    DRJIT_STRUCT = {'v': Float}\n"
    "@freeze\ndef f(x, k):\n    a = A(k)\n    a.v = x + 1\n    return a\n",
    "derivative": "class A:\n    DRJIT_STRUCT = {'v': Float}\n"
    "    def __init__(self, v):\n        self.v = v * 2\nG = A(one())\n"
    "@freeze\ndef h(x):\n    return x * G.v\ndef f(x, k):\n    dr.enable_grad(x)\n"
    "    dr.backward(h(x))\n    return dr.grad(x)\n",
}


@pytest.mark.parametrize("where", CLASSES)
def test_code_of_classes_runs_in_no_repetition(where: str) -> None:
    ways = ("frozen",) if where in ("metaclass", "list", "deque") else WAYS
    compare(HEAD + CLASSES[where] + CALLS, ways)


def test_objects_that_are_made_without_a_call() -> None:
    counts = compare(HEAD + CLASSES["attribute of a result"] + CALLS)
    assert counts["repeated"] == 1
    counts = compare(HEAD + CLASSES["__post_init__"] + CALLS.replace(", k)", ", 0)"))
    assert counts["repeated"] >= 2


# ---------------------------------------------------------------- parts of arrays

PARTS_HEAD = """\
import types
import drjit as dr
from drjit.llvm.ad import Array3f, Float, Matrix2f, TensorXf

def one(k=1):
    return dr.opaque(Float, k, 3)

class Struct:
    DRJIT_STRUCT = {'v': Array3f, 'x': Float}

v = Array3f(one(), one(2), one(3))
t = TensorXf(dr.opaque(Float, 1, 4), (2, 2))
g = types.SimpleNamespace(t=t, a=t.array)
"""

# What a function does with parts, whether it is repeated, and files are.
PARTS = {
    "of a result": ("w = v + x\n    return w, w.x, [w.y]", True),
    "before the array": ("w = v + x\n    return w.x, w, v.z", True),
    "of an input": ("return v.x, v.y + x", True),
    "of what is changed": ("v.x += x\n    return v.x", True),
    "of a tensor": ("u = t + x[0:1]\n    return u, u.array", True),
    "in names": ("g.t = g.t + 1\n    g.a = g.t.array\n    return [g.a]", True),
    "in a structure": (
        "s = Struct()\n    s.v = v + x\n    s.x = s.v.y\n    return s, s.x",
        True,
    ),
    "of a matrix": ("m = Matrix2f(x, 1, 2, x)\n    return m, m[0], m[1, 1]", True),
    "of a part": ("m = Matrix2f(x, 1, 2, x)\n    return m[0].x, m[0]", False),
    "of nothing": ("w = v + x\n    return [w.x, w.y]", True),
}


@pytest.mark.parametrize("where", PARTS)
def test_parts_of_arrays_in_results(where: str) -> None:
    """A change of one is seen in the other, in repetitions as well."""
    body, repeated = PARTS[where]
    body = body.replace("x[0:1]", "1")
    text = f"@freeze\ndef f(v, t, x):\n    {body}\nfor k in (1, 2, 3):\n"
    text += "    r = call(lambda: f(v, t, one(k)))\n    for part in r:\n"
    text += "        if isinstance(part, Float):\n            part += 5\n"
    text += "            call(lambda: (r, v, t))\n"
    counts = compare(PARTS_HEAD + text, WAYS)
    assert (counts["repeated"] > 0) == repeated


# ---------------------------------------------------------------- equal objects

EQUAL_HEAD = """\
import drjit as dr
from drjit.llvm.ad import Float

class Key:
    def __init__(self, name, k):
        self.name, self.k = name, k
    def __eq__(self, other):
        return self.name == other.name
    def __hash__(self):
        return hash(self.name)

@freeze
def f(x, a):
    BODY

for k in (2.0, 2.0, 3.0, 3.0, 2.0):
    key = Key('a', k)
    call(lambda: f(dr.opaque(Float, 1, 3), ARGUMENT))
    key.k = 5.0
    call(lambda: f(dr.opaque(Float, 1, 3), ARGUMENT))
"""
# Where objects are that are equal, but have other attributes.
EQUAL = {
    "argument": ("return x * a.k", "key"),
    "entry": ("return x * a[0].k", "[key, 1.0]"),
    "key": ("return x * sum(k.k for k in a)", "{key: 1.0}"),
    "element": ("return x * sum(k.k for k in a)", "{key}"),
    "global": ("return x * key.k", "None"),
    "tuple": ("return x * others[0].k", "globals().update(others=(key,))"),
    "dictionary": ("return x * [*others][0].k", "globals().update(others={key: f})"),
    "returned": ("return x * 2, a", "key"),
    "made": ("return x * 2, Key('b', a)", "k"),
}


@pytest.mark.parametrize("where", EQUAL)
def test_equal_objects_with_other_attributes(where: str) -> None:
    body, argument = EQUAL[where]
    text = EQUAL_HEAD.replace("BODY", body).replace("ARGUMENT", argument)
    compare(text + "    call(lambda: key)\n")
