"""PyTrees: which containers are walked, and what happens to those that cannot be."""

from dataclasses import dataclass, field

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
    with pytest.raises(KeyError):
        dr.eval(table)


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
