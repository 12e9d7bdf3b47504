"""PyTrees: which containers are walked, and what happens to those that cannot be."""

import gc
import subprocess
import sys
import textwrap
import threading
import weakref
from collections import OrderedDict, namedtuple
from dataclasses import InitVar, dataclass, field, make_dataclass
from typing import ClassVar, ForwardRef, NamedTuple

import drjit as dr
import drjit.llvm as llvm
import drjit.scalar as scalar
import pytest


class Point:
    DRJIT_STRUCT = {"x": llvm.Float, "y": llvm.Float}

    def __init__(self, x=None, y=None):
        self.x = llvm.Float() if x is None else x
        self.y = llvm.Float() if y is None else y


@dataclass
class Ray:
    o: llvm.Array3f = field(default_factory=llvm.Array3f)
    time: "llvm.Float" = field(default_factory=llvm.Float)
    name: str = "ray"


def unevaluated():
    a = llvm.Float([1, 2, 3])
    return a + a * a


def states(*arrays):
    return [a.state.name for a in arrays]


def test_schedule_and_eval():
    a, b, c, d = (unevaluated() + i for i in range(4))
    assert states(a, b) == ["Unevaluated"] * 2
    assert dr.schedule(a, [b, {"c": c}])
    assert not dr.schedule(llvm.Float([1, 2]), 3, "text", llvm.Float(2))
    assert states(a, b, c) == ["Unevaluated"] * 3
    assert dr.eval(Point(d, 1))
    assert states(a, b, c, d) == ["Evaluated"] * 4
    assert not dr.eval(a, b) and not dr.eval()
    assert list(c) == [4, 8, 14]


def test_every_container_is_walked():
    trees = [
        lambda a: (a,), lambda a: [a], lambda a: {"a": a}, lambda a: Point(a, a),
        lambda a: Ray(llvm.Array3f(a, 0, 0)), lambda a: [[{"x": (a, None)}]],
    ]  # fmt: skip
    for tree in trees:
        a = unevaluated()
        assert dr.eval(tree(a))
        assert a.state == dr.VarState.Evaluated

    class OwnList(list):
        pass

    a = unevaluated()
    assert not dr.eval(OwnList([a])) and a.state == dr.VarState.Unevaluated


def test_literals():
    a = llvm.Float(3)
    assert not dr.eval(a) and a.state == dr.VarState.Literal
    p = Point(a, llvm.Array2f(1, unevaluated()))
    dr.make_opaque(p)
    assert p.x.state == p.y.state == dr.VarState.Evaluated
    assert p.x[0] == 3 and list(p.y.y) == [2, 6, 12]
    assert dr.opaque_width(llvm.Float([1, 2]))[0] == 2


def test_copy():
    a, s = llvm.Float([1, 2]), scalar.Array3f(1, 2, 3)
    tree = [a, {"s": s}, Point(a, a), Ray(name="other"), 5, "text", None]
    copy = dr.copy(tree)
    assert copy[0] is not a and copy[0].index == a.index
    assert type(copy[2]) is Point and type(copy[3]) is Ray and copy[3].name == "other"
    assert copy[4:] == [5, "text", None]
    copy[0][0] = 9
    copy[1]["s"].x = 9
    assert list(a) == [1, 2] and list(s) == [1, 2, 3]

    class Own(llvm.Array3f):
        pass

    assert type(dr.copy(Own(1))) is Own


def test_width():
    a = llvm.Float([1, 2])
    assert (
        dr.width(a) == dr.width(a, llvm.Float(1)) == dr.width([llvm.Float(1), a]) == 2
    )
    assert dr.width(1) == 1 and dr.width() == 0 and dr.width("x") == 1
    assert dr.width(llvm.Array3f(1, a, 2)) == 2 and dr.width(Point(a, 1)) == 2
    assert dr.width(llvm.TensorXf([[1, 2, 3]])) == 3
    assert dr.width(scalar.ArrayXf(1, 2)) == 2
    with pytest.raises(RuntimeError, match="drjit.width"):
        dr.width(a, llvm.Float([1, 2, 3]))


def test_shape():
    assert dr.shape(llvm.Array3f(1, 2, 3)) == (3, 1)
    assert dr.shape([[1, 2], [3, 4], [5, 6]]) == (3, 2)
    assert (
        dr.shape([[1, 2], [3]]) == (2, 2) and dr.shape(1) == () and dr.shape([]) == (0,)
    )
    assert dr.shape([llvm.Float([1, 2]), llvm.Float(1)]) == (2, 2)
    for bad in (llvm.Array2f([1, 2], [1, 2, 3]), [[1, 2], [1, 2, 3]], [1, [2]]):
        with pytest.raises(RuntimeError, match="ragged"):
            dr.shape(bad)
    for bad in ("text", None, object()):
        with pytest.raises(TypeError, match="drjit.shape"):
            dr.shape(bad)
    endless = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        dr.shape(endless)


def endless_list():
    x = []
    x.append(x)
    return x


def endless_struct():
    p = Point()
    p.x = p
    return p


@pytest.mark.parametrize("function", [dr.eval, dr.schedule, dr.copy, dr.make_opaque,
                                      dr.width])  # fmt: skip
def test_endless_trees(function):
    for tree in (endless_list(), {"a": endless_list()}, endless_struct()):
        with pytest.raises(RecursionError, match=f"drjit.{function.__name__}"):
            function(tree)


class Stubborn:
    DRJIT_STRUCT = {"x": llvm.Float}

    @property
    def x(self):
        raise ZeroDivisionError("no x")


class NeedsArguments:
    DRJIT_STRUCT = {"x": llvm.Float}

    def __init__(self, x):
        self.x = x


class NotADictionary:
    DRJIT_STRUCT = ["x"]


def test_hooks_that_fail():
    with pytest.raises(ZeroDivisionError):
        dr.eval(Stubborn())
    assert dr.copy(NeedsArguments(1)).x == 1
    with pytest.raises(TypeError, match="DRJIT_STRUCT"):
        dr.eval(NotADictionary())
    with pytest.raises(AttributeError):
        dr.eval(type("Missing", (), {"DRJIT_STRUCT": {"x": llvm.Float}})())


def test_containers_that_change_while_they_are_walked():
    class Shrinks:
        DRJIT_STRUCT = {"x": llvm.Float}

        def __init__(self, victim):
            self.victim = victim

        @property
        def x(self):
            self.victim.clear()
            return llvm.Float(1)

    tree = []
    tree += [Shrinks(tree), llvm.Float(1), llvm.Float(2)]
    dr.eval(tree)
    assert tree == []
    table = {}
    table.update(a=Shrinks(table), b=llvm.Float(1))
    with pytest.raises(RuntimeError, match="changed its size while it was read"):
        dr.eval(table)
    table.update(a=Shrinks(table), b=llvm.Float(1))
    with pytest.raises(KeyError):
        dr.copy(table)


def test_trees_of_different_structure():
    a, f = llvm.Float([1, 2]), llvm.Float
    for x, y in (
        ({"a": a}, {"b": a}),
        ([a], (a,)),
        ([a, a], [a]),
        (Point(a, a), Ray()),
    ):
        with pytest.raises(ValueError, match="drjit.select"):
            dr.select(f(1) > 0, x, y)


class Shape:
    DRJIT_STRUCT = {"center": llvm.Array2f, "radius": llvm.Float}

    def __init__(self, center, radius):
        self.center, self.radius, self.name = center, radius, "sphere"


class Made(Shape):
    def __new__(cls, center, radius):
        return super().__new__(cls)


@dataclass
class Own:
    x: llvm.Float

    def __init__(self, a, b):
        self.x, self.a = a + b, a


@dataclass(frozen=True)
class Late:
    x: llvm.Float
    y: llvm.Float = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "y", self.x + 1)


@pytest.mark.parametrize("cls", [Shape, Made])
def test_structures_with_arguments(cls):
    a = cls(llvm.Array2f([1, 2], [3, 4]), llvm.Float(5, 6))
    b = cls(llvm.Array2f(0, 0), llvm.Float(0, 0))
    chosen = dr.select(llvm.Bool(True, False), a, b)
    assert type(chosen) is cls and chosen.name == "sphere"
    assert list(chosen.radius) == [5, 0] and list(chosen.center.y) == [3, 0]
    assert list(dr.gather(cls, a, llvm.UInt(1)).center.x) == [2]
    dr.scatter(b, a, llvm.UInt(1, 0))
    assert list(b.radius) == [6, 5]
    copied = dr.copy(a)
    copied.radius += 1
    assert list(a.radius) == [5, 6] and copied.name == "sphere"
    assert list(dr.zeros_like(a).radius) == [0, 0]
    assert list(dr.tile(a, 2).radius) == [5, 6, 5, 6]
    assert list(dr.reshape(a, 1, shrink=True).center.y) == [3]


def test_dataclasses_with_other_constructors():
    own = dr.copy(Own(llvm.Float(1), llvm.Float(2)))
    assert list(own.x) == [3] and list(own.a) == [1]
    late = dr.tile(Late(llvm.Float(1, 2)), 2)
    assert list(late.y) == [2, 3, 2, 3]


def test_fields_of_classes_that_come_later():
    """By name, by what Python 3.14 makes of a name, and there as written."""
    outer = dr.zeros(OfLater, 2)
    assert type(outer.named) is type(outer.referred) is Later
    assert list(outer.named.x) == list(outer.referred.x) == [0, 0]
    if sys.version_info >= (3, 14):
        space = {"__name__": __name__, "dataclass": dataclass, "llvm": llvm}
        program = """
            @dataclass
            class Outer:
                inner: Inner

            @dataclass
            class Inner:
                x: llvm.Float
            """
        exec(textwrap.dedent(program), space)
        assert list(dr.zeros(space["Outer"], 2).inner.x) == [0, 0]


@dataclass
class OfLater:
    named: "Later"
    referred: ForwardRef("Later")


@dataclass
class Later:
    x: llvm.Float


Pair = namedtuple("Pair", "x y")


class Typed(NamedTuple):
    o: llvm.Array2f
    n: int = 7


class Strict(Pair):
    """A named tuple whose constructor is its own, with further attributes."""

    def __new__(cls, both):
        return super().__new__(cls, both, both)


def test_named_tuples_are_containers():
    a, f = llvm.Float([1, 2]), llvm.Float
    pair = Pair(unevaluated(), (unevaluated() + 1, "text"))
    assert dr.width(pair) == 3 and len(dr.detail.collect_indices(pair)) == 2
    assert dr.eval(pair) and states(pair.x, pair.y[0]) == ["Evaluated"] * 2
    copied = dr.copy(pair)
    assert type(copied) is Pair and copied.x is not pair.x and copied.y[1] == "text"
    chosen = dr.select(llvm.Bool(True, False), Pair(a, a), Pair(a + 10, a + 20))
    assert type(chosen) is Pair
    assert list(chosen.x) == [1, 12] and list(chosen.y) == [1, 22]
    assert list(dr.gather(Pair, chosen, llvm.UInt(1)).y) == [22]
    target = Pair(dr.zeros(f, 2), dr.zeros(f, 2))
    dr.scatter(target, Pair(a, a + 1), llvm.UInt(1, 0))
    assert list(target.x) == [2, 1] and list(target.y) == [3, 2]
    strict = Strict(a)
    strict.name = "both"
    tiled = dr.tile(strict, 2)
    assert type(tiled) is Strict and tiled.name == "both"
    assert list(tiled.y) == [1, 2, 1, 2]
    made = dr.zeros(Typed, 3)
    assert type(made) is Typed and dr.shape(made.o) == (2, 3) and made.n == 0
    with pytest.raises(TypeError, match=r"Pair\.x has no type, and no annotation"):
        dr.zeros(Pair)
    with pytest.raises(ValueError, match=r"expected a Pair, found a tuple of 2"):
        dr.select(f(1) > 0, Pair(a, a), (a, a))


def test_other_subclasses_of_containers_are_leaves():
    class List(list):
        pass

    class Tuple(tuple):
        pass

    a = unevaluated()
    for leaf in (List([a]), Tuple([a]), OrderedDict(a=a), {a.index}, llvm, Point):
        assert dr.detail.collect_indices([leaf]) == []
        assert dr.copy([leaf])[0] is leaf


def test_messages_name_the_place():
    a, m = llvm.Float([1, 2]), llvm.Bool(True, False)
    ray = Ray(llvm.Array3f(1), a)
    for x, y, text in (
        ([a, (a, {"k": [a]})], [a, (a, {"k": [a, a]})],
         r"expected a list of 1 entries at '\[1\]\[1\]\[k\]', found a list of 2"),
        ({"r": [ray]}, {"r": [Point(a, a)]},
         r"expected a Ray at '\[r\]\[0\]', found a Point"),
        (Pair(a, {1: a}), Pair(a, {2: a}),
         r"a dict with the keys \[1\] at '.y', found a dict with the keys \[2\]"),
        (Ray([a], a), Ray(a, a), r"a list of 1 entries at '.o', found a drjit.llvm"),
        ([[], [[]], a, (a,)], [[], [[]], a, [a]], r"at '\[3\]', found a list"),
        ([a], (a,), r"expected a list of 1 entries, found a tuple of 1 entries"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            dr.select(m, x, y)


def test_order_of_keys():
    a = llvm.Float([1, 2])
    mask = llvm.Bool(True, False)
    chosen = dr.select(mask, {"x": a, "y": a + 1}, {"y": -a, "x": a + 9})
    assert list(chosen) == ["x", "y"]
    assert list(chosen["x"]) == [1, 11] and list(chosen["y"]) == [2, -2]


def test_classes_that_change():
    """What is known of a class is found again when its fields are others."""
    a, b = unevaluated(), unevaluated() + 1

    class Changing:
        pass

    value = Changing()
    value.a, value.b = a, b
    collect = dr.detail.collect_indices
    assert collect(value) == []
    Changing.DRJIT_STRUCT = {"a": llvm.Float}
    assert collect(value) == [a.index]
    Changing.DRJIT_STRUCT["b"] = llvm.Float
    assert collect(value) == [a.index, b.index]
    del Changing.DRJIT_STRUCT["a"]
    assert collect(value) == [b.index]
    Changing.DRJIT_STRUCT = {"b": llvm.Float, "a": llvm.Float}
    assert collect(value) == [b.index, a.index]
    del Changing.DRJIT_STRUCT
    assert collect(value) == []


def test_many_classes():
    """More than are remembered, each with other fields, and none is kept alive."""
    value = unevaluated()
    names, references = [], []
    for i in range(800):
        cls = make_dataclass(f"C{i}", [(f"f{i}", llvm.Float), (f"g{i}", int)])
        names.append(cls)
        references.append(weakref.ref(cls))
    for _ in range(2):
        for cls in names:
            assert dr.detail.collect_indices(cls(value, 1)) == [value.index]
            assert type(dr.copy(cls(value, 1))) is cls
    del names, cls
    gc.collect()
    assert not any(reference() for reference in references)


def test_fields_of_data_classes():
    @dataclass(slots=True)
    class All:
        shared: ClassVar[llvm.Float] = llvm.Float(1, 2, 3, 4)
        given: InitVar[int] = 3
        x: llvm.Float = field(default_factory=llvm.Float)
        y: llvm.Float = field(init=False)

        def __post_init__(self, given):
            self.y = self.x + given

    value = All(5, llvm.Float(1, 2))
    assert dr.width(value) == 2
    assert dr.detail.collect_indices(value) == [value.x.index, value.y.index]
    copied = dr.copy(value)
    assert list(copied.x) == [1, 2] and list(copied.y) == [6, 7]


def test_reading_constructs_nothing():
    calls = []

    @dataclass
    class Counted:
        x: llvm.Float

        def __post_init__(self):
            calls.append(1)

    tree = [Counted(unevaluated()) for _ in range(3)]
    calls.clear()
    dr.eval(tree)
    dr.schedule(tree)
    dr.make_opaque(tree)
    dr.width(tree)
    dr.format("{}", tree)
    dr.set_label(tree, "x")
    dr.detail.collect_indices(tree)
    dr.detail.check_compatibility(tree, tree, True, "tree")
    assert calls == [] and tree[1].x.label == "x_1_x"
    dr.copy(tree)
    assert len(calls) == 3


class Tells:
    """As classes of extension modules tell their variables."""

    def __init__(self, *arrays):
        self.arrays = arrays

    def _traverse_1_cb_ro(self, callback):
        for array in self.arrays:
            callback(array.index, "", "")


def test_traversal_methods():
    a, b = unevaluated(), llvm.UInt([1, 2, 3]) + 1
    tree = {"x": Tells(a, b), "y": llvm.Float(1)}
    assert dr.width(tree) == 3
    assert dr.detail.collect_indices(tree)[:2] == [a.index, b.index]
    assert dr.eval(tree) and states(a, b) == ["Evaluated"] * 2
    assert dr.copy(tree)["x"] is tree["x"]

    class Wrong(Tells):
        def _traverse_1_cb_ro(self, callback):
            callback(*self.arrays)

    for arguments, error in (((), TypeError), (("x",), TypeError), ((0,), ValueError),
                             ((2**31,), ValueError)):  # fmt: skip
        with pytest.raises(error):
            dr.eval(Wrong(*arguments))
    with pytest.raises(ZeroDivisionError):
        dr.eval(type("Fails", (), {"_traverse_1_cb_ro": lambda self, cb: 1 / 0})())


def test_deep_trees_on_small_stacks():
    def nest(depth):
        tree = llvm.Float([1, 2])
        for i in range(depth):
            tree = ([tree], (tree,), {"k": tree}, Point(tree, 0))[i % 4]
        return tree

    results = []

    def work():
        deep = nest(1000)
        results.append(dr.width(dr.copy(deep)))
        try:
            dr.eval(nest(1001))
        except RecursionError as error:
            results.append(str(error))

    size = threading.stack_size(128 * 1024)
    thread = threading.Thread(target=work)
    thread.start()
    threading.stack_size(size)
    thread.join()
    assert results[0] == 2 and "nested more than 1000 levels" in results[1]


def test_wide_trees_that_contain_themselves():
    tree = [llvm.Float(1)] * 50
    tree += [tree] * 50
    with pytest.raises(RecursionError):
        dr.width(tree)


def test_order_of_construction():
    made = []

    class Noisy:
        DRJIT_STRUCT = {"x": llvm.Float, "inner": object}

        def __init__(self):
            made.append(self)

    def noisy(x, inner):
        value = Noisy()
        value.x, value.inner = llvm.Float(x), inner
        return value

    tree = [noisy(0, noisy(1, None)), noisy(2, None)]
    made.clear()
    dr.copy(tree)
    assert [value.x[0] for value in made] == [1, 0, 2]


def test_errors_in_the_middle_leave_nothing_behind():
    code = """
import drjit as dr, drjit.llvm as llvm, gc
from dataclasses import dataclass
@dataclass
class Bad:
    x: llvm.Float
    def __post_init__(self):
        if len(self.x) == 3:
            raise ZeroDivisionError
x = [llvm.Float([1, 2]), llvm.Float([1, 2, 3])]
good, bad = Bad(x[0]), Bad.__new__(Bad)
bad.x = x[1]
for tree in ([good, bad], {"a": (good, [bad])}, (bad, good)):
    try:
        dr.copy(tree)
        raise SystemExit("no error")
    except ZeroDivisionError:
        pass
    except TypeError as error:
        assert isinstance(error.__cause__, ZeroDivisionError)
del tree, good, bad, x
gc.collect()
dr.detail.set_leak_warnings(True)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0 and "leak" not in run.stderr.lower(), run.stderr
