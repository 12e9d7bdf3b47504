"""dispatch, instance arrays of Python classes and of an extension module, dr.func."""

from __future__ import annotations

import copy
import gc
import importlib
import pickle
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import Array3f, Bool, Float, Int, UInt
from region_util import Boom, check_that_all_is_well


class Shape(dr.Instance):
    sides = 0

    def __init__(self, size: float) -> None:
        self.size = size
        self.count = int(size)
        self.closed = size > 2
        self.centre = Array3f(size, 0, 1)
        self.name = "shape"

    def area(self, scale: Any, active: Any = True) -> Any:
        return scale * self.size**2

    @property
    def twice(self) -> Any:
        return Float(2 * self.size)

    @staticmethod
    def negative(x: Any) -> Any:
        return -x

    @classmethod
    def sides_times(cls, x: Any) -> Any:
        return x * cls.sides

    def mode(self, x: Any, mode: Any = None, label: Any = None) -> Any:
        return x if mode is None else x * mode + label


class Square(Shape):
    sides = 4

    def area(self, scale: Any, active: Any = True) -> Any:
        return scale * (4 * self.size**2)


ShapePtr: Any = dr.array_t(Shape)


@pytest.fixture
def shapes() -> Iterator[tuple[Any, ...]]:
    made = (Shape(2), Square(3), Shape(5))
    yield made
    dr.detail.clear_registry()


def values(array: Any) -> Any:
    return array.numpy().tolist()


# ------------------------------------------------------------------- the arrays


def test_the_type() -> None:
    assert dr.array_t(Square) is ShapePtr and dr.array_t(Shape(1)) is ShapePtr
    assert ShapePtr.__name__ == "ShapePtr" and ShapePtr.__module__ == __name__
    assert issubclass(ShapePtr, dr.ArrayBase) and dr.is_array_v(ShapePtr)
    with pytest.raises(TypeError, match="expected a class derived from it"):
        dr.array_t(dr.Instance)

    class Other(dr.Instance):
        pass

    assert dr.array_t(Other) is not ShapePtr
    with pytest.raises(TypeError, match="of type Other, expected Shape or None"):
        ShapePtr(Other())


def test_making(shapes: tuple[Any, ...]) -> None:
    a, b, c = shapes
    array = ShapePtr(a, b, None, c, a)
    assert list(array) == [a, b, None, c, a] and len(array) == 5
    assert array[1] is b and array[-1] is a and array[2] is None
    assert list(ShapePtr([a, None])) == [a, None] and list(ShapePtr(None)) == [None]
    assert len(ShapePtr()) == 0 and list(ShapePtr(array)) == list(array)
    assert isinstance(array[1:3], ShapePtr) and list(array[1:3]) == [b, None]
    array[2] = c
    array[0] = None
    assert list(array) == [None, b, c, c, a]
    assert repr(ShapePtr(a, None)) == f"[{a!r}, None]"
    for wrong in (3, "x", UInt(1), object()):
        with pytest.raises(TypeError, match="expected Shape or None"):
            ShapePtr(wrong)
        with pytest.raises(TypeError, match="expected Shape or None"):
            array[0] = wrong
    with pytest.raises(IndexError):
        array[5]
    with pytest.raises(AttributeError):
        array.anything = 3
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(array)
    assert list(copy.copy(array)) == list(array)


def test_comparisons(shapes: tuple[Any, ...]) -> None:
    a, b, c = shapes
    array = ShapePtr(a, b, None, a)
    assert values(array == a) == [True, False, False, True]
    assert values(array != a) == [False, True, True, False]
    assert values(array == None) == [False, False, True, False]  # noqa: E711
    assert values(array == ShapePtr(a, a, None, c)) == [True, False, True, False]
    with pytest.raises(TypeError, match="expected Shape or None"):
        _ = array == 3
    stranger = Shape(1)  # comparing it does not keep it alive
    watch = weakref.ref(stranger)
    assert not any(values(array == stranger)) and all(values(array != stranger))
    del stranger
    gc.collect()
    assert watch() is None


def test_there_is_no_arithmetic(shapes: tuple[Any, ...]) -> None:
    array = ShapePtr(*shapes)
    for function in (
        lambda: array + 1,
        lambda: 1 + array,
        lambda: UInt(1) * array,
        lambda: array & array,
        lambda: -array,
        lambda: ~array,
        lambda: array < array,
        lambda: array**2,
        lambda: divmod(array, 2),
    ):
        with pytest.raises(TypeError, match=r"ShapePtr.__\w+__\(\): instance arrays"):
            function()


def test_operations_on_arrays_in_general(shapes: tuple[Any, ...]) -> None:
    a, b, c = shapes
    array = ShapePtr(a, b, None, c)
    assert list(dr.gather(ShapePtr, array, UInt(3, 0))) == [c, a]
    chosen = dr.select(array == b, ShapePtr(c), array)
    assert isinstance(chosen, ShapePtr) and list(chosen) == [a, c, None, c]
    assert list(dr.zeros(ShapePtr, 2)) == [None, None]
    assert list(dr.copy(array)) == list(array)
    target = dr.zeros(ShapePtr, 4)
    dr.scatter(target, array, UInt(3, 2, 1, 0))
    assert list(target) == [c, None, b, a]
    assert dr.width(array) == 4 and values(dr.reinterpret_array(UInt, array))[2] == 0


# ----------------------------------------------------------------------- calls


def test_methods(mode: str, shapes: tuple[Any, ...]) -> None:
    a, b, c = shapes
    array, x = ShapePtr(a, b, None, c, a), Float(1, 2, 3, 4, 5)
    expected = [4, 72, 0, 100, 20]
    assert values(array.area(x)) == expected
    assert values(array.area(scale=x)) == expected
    mask = Bool([True, False, True, True, False])
    for found in (array.area(x, mask), array.area(x, active=mask)):
        assert values(found) == [4, 0, 0, 100, 0]
    assert values(array.area(x, False)) in ([0] * 5, [0])
    assert values(array.negative(x)) == [-1, -2, 0, -4, -5]
    assert values(array.sides_times(x)) == [0, 8, 0, 0, 0]
    assert values(array.mode(x, mode=Float(10), label=1)) == [11, 21, 0, 41, 51]
    assert values(ShapePtr(b).area(x)) == [36, 72, 108, 144, 180]
    assert values(ShapePtr(None, None).area(Float(1, 2))) == [0, 0]


def test_attributes(mode: str, shapes: tuple[Any, ...]) -> None:
    a, b, c = shapes
    array = ShapePtr(a, b, None, c)
    for name, kind, expected in (
        ("size", Int, [2, 3, 0, 5]),
        ("closed", Bool, [False, True, False, True]),
        ("twice", Float, [4, 6, 0, 10]),
        ("sides", Int, [0, 4, 0, 0]),
    ):
        found = getattr(array, name)
        assert isinstance(found, kind) and values(found) == expected
    b.size = 0.5
    assert isinstance(array.size, Float) and values(array.size) == [2, 0.5, 0, 5]
    assert values(array.centre) == [[2, 3, 0, 5], [0, 0, 0, 0], [1, 1, 0, 1]]
    assert array.name == "shape"
    with pytest.raises(AttributeError, match="nor have objects of type 'Shape'"):
        _ = array.missing
    assert not hasattr(array, "missing") and not hasattr(array, "__wrapped__")
    b.size = "large"
    with pytest.raises(RuntimeError, match="changed from"):
        _ = array.size


def test_dispatch(mode: str, shapes: tuple[Any, ...]) -> None:
    a, b, c = shapes
    array, x = ShapePtr(a, b, None, c, a), Float(1, 2, 3, 4, 5)
    called = []

    def target(shape: Any, x: Any, more: Any = 0) -> Any:
        called.append(shape)
        return {"sum": x + shape.size + more, "sides": UInt(shape.sides)}

    found = dr.dispatch(array, target, x, more=Float(10))
    assert values(found["sum"]) == [13, 15, 0, 19, 17]
    assert values(found["sides"]) == [0, 4, 0, 0, 0]
    assert called == [a, b, c]  # once each
    assert dr.dispatch(a, lambda shape, x: (shape, x), 3) == (a, 3)


def test_arguments_of_all_kinds(mode: str, shapes: tuple[Any, ...]) -> None:
    array, x = ShapePtr(*shapes), Float(1, 2, 3)

    def target(shape: Any, *args: Any, **kwargs: Any) -> Any:
        every = [*args, *kwargs.values()]
        every = [y for item in every for y in (item if type(item) is list else [item])]
        first = every[0]
        first += 1  # its own, also where the same array comes again
        seen = [y for y in every[1:] if y is first]
        return sum(every, Float(0)) * shape.size, list(kwargs), len(seen)

    def total(count: int, own: int) -> list[float]:
        return [((k + 1) * count + own) * s.size for k, s in enumerate(shapes)]

    y = Float(x)
    for args, named in (
        ([x], {}),
        ([x, y], {"c": y, "a": y}),  # few leaves
        ([Float(x) for _ in range(12)], {f"n{k}": Float(x) for k in range(12)}),
        ([[x, Float(x)], y], {"b": [Float(x)]}),  # containers
    ):
        leaves = [*args, *named.values()]
        count = sum(len(leaf) if type(leaf) is list else 1 for leaf in leaves)
        found, names, again = dr.dispatch(array, target, *args, **named)
        assert names == list(named) and again == 0
        assert values(found) == total(count, 1)
    found, _, again = dr.dispatch(array, target, x, Float(x), x, again=x)
    assert again == 2 and values(found) == total(4, 3)
    assert values(x) == [1, 2, 3]


def test_objects_that_are_given_back(mode: str, shapes: tuple[Any, ...]) -> None:
    array, x, thing = ShapePtr(*shapes), Float(1, 2, 3), object()
    for back in (None, thing, "text", (), (thing, None)):
        found = dr.dispatch(array, lambda s, x, back=back: (x * s.size, back), x)
        assert values(found[0]) == [2, 6, 15] and found[1] == back
        assert dr.dispatch(array, lambda s, x, back=back: back, x) == back
    for wrong in (
        lambda s, x: x if s.size == 2 else None,
        lambda s, x: None if s.size == 2 else x,
        lambda s, x: (x, x) if s.size == 2 else (x,),
        lambda s, x: (x, 1) if s.size == 2 else (x, x),
        lambda s, x: x if s.size == 2 else (x,),
        lambda s, x: x if s.size == 2 else Int(x),
        lambda s, x: (x, s.name + str(s.size)),
    ):
        with pytest.raises(RuntimeError, match="'result"):
            dr.dispatch(array, wrong, x)


@pytest.mark.parametrize("chosen", ["symbolic", "evaluated"])
def test_mode_of_dispatch(chosen: str, shapes: tuple[Any, ...]) -> None:
    seen = []

    def target(shape: Any, x: Any) -> Any:
        seen.append(len(x) if chosen == "evaluated" else x.state)
        return x

    array = ShapePtr(shapes[0], shapes[1], shapes[0])
    dr.dispatch(array, target, Float(1, 2, 3), mode=chosen, label="hello")
    if chosen == "evaluated":  # those that are needed
        assert seen == [2, 1]
    else:
        assert seen == [dr.VarState.Symbolic] * 2


def test_effects(mode: str, shapes: tuple[Any, ...]) -> None:
    a, b, c = shapes
    target = dr.zeros(Float, 8)
    array = ShapePtr(a, b, None, c, a)

    def hit(shape: Any, x: Any) -> None:
        dr.scatter_add(target, x * shape.size, shape.count)

    assert dr.dispatch(array, hit, Float(1, 2, 3, 4, 5)) is None
    assert values(target) == [0, 0, 12, 6, 0, 20, 0, 0]


def test_in_loops_and_conditionals(mode: str, shapes: tuple[Any, ...]) -> None:
    a, b, c = shapes
    array = ShapePtr(a, b, None, c)

    def body(total: Any, array: Any, i: Any) -> Any:
        assert isinstance(array, ShapePtr)
        total += array.area(Float(1))
        return total, dr.select(array == a, ShapePtr(b), array), i + 1

    total, last, _ = dr.while_loop(
        (Float(0), array, UInt(0)), lambda total, array, i: i < 3, body
    )
    assert values(total) == [4 + 36 + 36, 3 * 36, 0, 75]
    assert list(last) == [b, b, None, c]
    chosen = dr.if_stmt(
        (array,), array == b, lambda array: ShapePtr(c), lambda array: array
    )
    assert isinstance(chosen, ShapePtr) and list(chosen) == [a, c, None, c]


def test_calls_within_calls(mode: str, shapes: tuple[Any, ...]) -> None:
    class Sum(dr.Instance):
        def __init__(self, parts: Any) -> None:
            self.parts = parts

        def area(self, x: Any) -> Any:
            return sum((part.area(x) for part in self.parts), Float(0))

    a, b, c = (ShapePtr(shape) for shape in shapes)
    sums = dr.array_t(Sum)(Sum([a, b]), None, Sum([c]), Sum([]))
    assert values(sums.area(Float(1, 1, 2, 1))) == [40, 0, 50, 0]


def test_fields_of_instances_are_inputs(shapes: tuple[Any, ...]) -> None:
    table = dr.arange(Float, 10) * 2

    class Table(dr.Instance):
        def __init__(self, scale: float) -> None:
            self.values = table * scale
            self.scale = Float(scale)

        def look_up(self, i: Any) -> Any:
            return dr.gather(Float, self.values, i) + self.scale

    one, two = Table(1), Table(10)
    dr.make_opaque(one.scale, two.scale, one.values, two.values)
    array = dr.array_t(Table)(one, two, one)
    assert values(array.look_up(UInt(1, 2, 3))) == [3, 50, 7]


def test_thousands_of_instances_are_one_function() -> None:
    class Sphere(dr.Instance):
        def __init__(self, k: int) -> None:
            self.radius = k * 0.5
            self.tone = Float(k)

        def shade(self, x: Any) -> Any:
            return dr.fma(x, self.radius, self.tone)

    count = 3000
    spheres = [Sphere(k) for k in range(count)]
    array = dr.array_t(Sphere)(spheres)
    x = dr.arange(Float, count)
    dr.eval(x, array)
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.kernel_history_clear()
        result = array.shade(x)
        dr.eval(result)
        kernels = [k for k in dr.kernel_history() if k["type"] == dr.KernelType.JIT]
    assert len(kernels) == 1 and kernels[0]["operation_count"] < 60
    k = np.arange(count, dtype=np.float32)
    assert np.array_equal(result.numpy(), k * (k * 0.5) + k)


# ------------------------------------------------------------------- life times


def test_removed_objects_are_nobody(mode: str, shapes: tuple[Any, ...]) -> None:
    a, b, c = shapes
    array, x = ShapePtr(a, b, None, c), Float(1, 1, 1, 1)
    dr.detail.remove_instance(b)
    assert list(array) == [a, None, None, c]
    assert values(array.area(x)) == [4, 0, 0, 25]
    assert values(array.size) == [2, 0, 0, 5]
    assert values(array == None) == [False, True, True, False]  # noqa: E711
    assert values(array == ShapePtr(None)) == [False, True, True, False]
    again = ShapePtr(b)  # gets a number of its own
    assert list(array) == [a, None, None, c] and list(again) == [b]
    with pytest.raises(ValueError, match="has not been put into an array"):
        dr.detail.remove_instance(Shape(1))
    with pytest.raises(TypeError, match="of type int, expected a drjit.Instance"):
        dr.detail.remove_instance(3)
    dr.detail.clear_registry()
    assert list(array) == [None] * 4
    with pytest.raises(RuntimeError, match="there are no instances"):
        array.area(x)


def test_tables_do_not_grow_where_objects_come_and_go() -> None:
    class Thing(dr.Instance):
        def __init__(self, k: int) -> None:
            self.k = k

        def add(self, x: Any) -> Any:
            return x + self.k

    cls, sizes = dr.array_t(Thing), []
    arrays = []
    for k in range(50):
        one, two = Thing(k), Thing(k + 1)
        arrays.append(cls(one, two, None))
        assert values(arrays[-1].add(Int(0, 0, 0))) == [k, k + 1, 0]
        assert values(arrays[-1].k) == [k, k + 1, 0]
        assert values(arrays[-1] == one) == [True, False, False]
        sizes.append(len(arrays[-1]._domain.objects()[1]))
        dr.detail.remove_instance(one)
        assert values(arrays[-1].add(Int(0, 0, 0))) == [0, k + 1, 0]
        if k % 2:
            dr.detail.remove_instance(two)
        else:
            dr.detail.clear_registry()
    assert max(sizes) == 2 and all(list(array) == [None] * 3 for array in arrays)


def test_objects_live_as_long_as_they_are_registered() -> None:
    class Thing(dr.Instance):
        pass

    thing = Thing()
    watch, array = weakref.ref(thing), dr.array_t(Thing)(thing)
    del thing
    gc.collect()
    assert watch() is not None and array[0] is watch()
    dr.detail.remove_instance(watch())
    gc.collect()
    assert watch() is None and array[0] is None
    family = weakref.ref(Thing)
    array = dr.array_t(Thing)(Thing())
    del Thing, array
    gc.collect()
    assert family() is None


def test_threads_put_objects_into_arrays() -> None:
    class Item(dr.Instance):
        pass

    cls = dr.array_t(Item)
    items = [Item() for _ in range(200)]
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(cls(items))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(list(array) == items for array in found) and len(found) == 4


# ------------------------------------------------------------------------ errors


def test_wrong_calls(shapes: tuple[Any, ...]) -> None:
    array = ShapePtr(*shapes)
    for wrong in (Float(1), UInt(1)):
        with pytest.raises(
            RuntimeError, match="'inst' is of type .*, expected an instance"
        ):
            dr.dispatch(wrong, lambda s: s)
    with pytest.raises(TypeError, match="'inst' is of type str"):
        dr.dispatch("x", lambda s: s)
    for target in (3, "area"):
        with pytest.raises(TypeError, match=f"'target' is {target!r}, expected a call"):
            dr.dispatch(array, target)
    for mode in ("scalar", "other", 3):
        with pytest.raises(RuntimeError, match="'mode' is"):
            dr.dispatch(array, lambda s: None, mode=mode)
    with pytest.raises(TypeError, match="label"):
        dr.dispatch(array, lambda s: None, label=3)
    with pytest.raises(RuntimeError, match="'inst' is empty"):
        ShapePtr().area(Float(1))
    with pytest.raises(RuntimeError, match="size"):
        array.area(Float(1, 2))
    with pytest.raises(RuntimeError, match="changed from"):
        dr.dispatch(array, lambda s: UInt(1) if s.sides else Float(1))
    check_that_all_is_well()


def test_exceptions_leave_everything_as_it_was(
    mode: str, shapes: tuple[Any, ...]
) -> None:
    array, x = ShapePtr(*shapes), Float(1, 2, 3)

    def target(shape: Any, x: Any) -> Any:
        x += 1
        if shape.sides:
            raise Boom
        return x

    with pytest.raises(Boom):
        dr.dispatch(array, target, x)
    assert values(x) == [1, 2, 3]
    check_that_all_is_well()


def test_recursion_has_an_end() -> None:
    class Endless(dr.Instance):
        def go(self, other: Any, x: Any) -> Any:
            return other.go(other, x)

    array = dr.array_t(Endless)(Endless(), Endless())
    with pytest.raises(RuntimeError, match="nested"):
        array.go(array, Float(1, 2))
    check_that_all_is_well()


# ----------------------------------------------------------- an extension module


@pytest.fixture
def extension(monkeypatch: pytest.MonkeyPatch) -> Any:
    folder = Path(dr.__file__).parents[2] / "examples"
    if not list(folder.glob("shapes.*.so")):
        pytest.skip("the examples have not been built beside this package")
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module("shapes")
    gc.collect()


def test_instances_of_an_extension(mode: str, extension: Any) -> None:
    circle, box = extension.Circle(0, 0, 1), extension.Box(2, 0, 0.5)
    array = extension.ShapePtr(circle, box, None)
    assert array[0] is circle and array[1] is box and array[2] is None
    x, y = Float(3, 3, 3), Float(4, 4, 4)
    assert values(array.distance(x, y)) == [4, 3.5, 0]
    assert values(array.size) == [1, 0.5, 0]
    assert values(array == box) == [False, True, False]
    assert not any(values(array == extension.Box(2, 0, 0.5)))
    assert values(dr.dispatch(array, lambda s, x: x * s.x, x)) == [0, 6, 0]
    assert dr.dispatch(box, lambda s: s.x) == 2
    with pytest.raises(TypeError, match="that of a one-dimensional traced array"):
        array.distance(3, 4)
    with pytest.raises(TypeError, match="of type int, expected Shape or None"):
        extension.ShapePtr(3)
    del box
    gc.collect()
    assert list(array) == [circle, None, None]
    assert values(array.distance(x, y)) == [4, 0, 0]
    assert values(array.size) == [1, 0, 0]
    check_that_all_is_well()


# ------------------------------------------------------------------------ dr.func


@dataclass
class Ray:
    o: Array3f
    t: Float


def test_functions_of_kernels(mode: str) -> None:
    traced = []

    @dr.func
    def smooth(x: Any, y: Any = 2, *, ray: Any = None) -> Any:
        """Docstring."""
        traced.append(x)
        return {"x": x * x * (3 - y * x), "ray": ray}

    assert smooth.__name__ == "smooth" and smooth.__doc__ == "Docstring."
    ray = Ray(Array3f(1, 2, 3), Float(0, 0.5, 1))
    found = smooth(ray.t, ray=ray)
    assert values(found["x"]) == [0, 0.5, 1] and isinstance(found["ray"], Ray)
    assert values(smooth(found["x"], Float(2))["x"]) == [0, 0.5, 1]
    assert smooth(0.5) == {"x": 0.5, "ray": None} and traced[-1] == 0.5


def test_functions_of_kernels_and_masks(mode: str) -> None:
    @dr.func
    def first(x: Any, active: Any) -> Any:
        return x

    mask = Bool([True, False, True])
    assert values(first(Float(1, 2, 3), mask)) == [1, 0, 3]
    assert values(first(Float(1, 2, 3), active=mask)) == [1, 0, 3]
    assert values(first(Float(1, 2, 3), True)) == [1, 2, 3]


def test_functions_are_in_a_kernel_once() -> None:
    def polynomial(x: Any) -> Any:
        for _ in range(100):
            x = dr.fma(x, x, 0.25) * 0.5
        return x

    shared = dr.func(polynomial)

    def code_of(function: Callable[[Any], Any]) -> tuple[int, Any]:
        x = dr.arange(Float, 8)
        for _ in range(5):
            x = function(x)
        with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
            dr.kernel_history_clear()
            dr.eval(x)
            (kernel,) = [
                k for k in dr.kernel_history() if k["type"] == dr.KernelType.JIT
            ]
        return kernel["operation_count"], values(x)

    count, result = code_of(shared)
    others, expected = code_of(polynomial)
    assert count < 300 and others > 900 and result == expected


def test_calls_in_functions_of_kernels_are_optimised() -> None:
    seen = []

    @dr.func
    def outer(x: Any) -> Any:
        seen.append(dr.flag(dr.JitFlag.OptimizeCalls))
        return x

    assert values(outer(Float(1, 2))) == [1, 2] and seen == [True]
    assert dr.flag(dr.JitFlag.OptimizeCalls)


def test_functions_of_kernels_without_arguments() -> None:
    @dr.func(backend=dr.JitBackend.LLVM)
    def one() -> Any:
        return Float(1)

    assert values(one()) == [1]
    with pytest.raises(TypeError, match="expected a callable"):
        dr.func(3)

    @dr.func
    def fails(x: Any) -> Any:
        raise Boom

    with pytest.raises(Boom):
        fails(Float(1))
    check_that_all_is_well()
