"""``drjit.freeze``: calls that the recording of the last one serves at once.

Their inputs are compared with those that were recorded, without being taken apart
(src/python/freeze/frozen_match.c). The reference is the plain function. ``Known`` tells
which calls took the slow path: those for which the function is looked at.
"""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple
from unittest.mock import Mock

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import Array3f, Float, TensorXf, UInt
from drjit.llvm.ad import Float as Tracked


class Known:
    """A frozen function that counts the calls which are not known at once."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.function = function
        self.frozen = dr.freeze(function, **options)
        self.long = 0
        call = self.frozen._call
        self.frozen._call = lambda *inputs: self._count(call, inputs)

    def _count(self, call: Callable[..., Any], inputs: Any) -> Any:
        self.long += 1
        return call(*inputs)

    def check(self, *args: Any, long: bool = False, **kwargs: Any) -> None:
        """The result is that of the function; was it the slow path?"""
        before = self.long
        found = self.frozen(*args, **kwargs)
        assert (self.long > before) == long, self.frozen.explain()
        assert_same(found, self.function(*args, **kwargs))

    def check_made(self, make: Callable[[], tuple[Any, ...]], long: bool) -> None:
        """The same for a function that changes its arguments, which `make` gives."""
        before, inputs, others = self.long, make(), make()
        found = self.frozen(*inputs)
        assert (self.long > before) == long, self.frozen.explain()
        assert_same(found, self.function(*others))
        assert_same(inputs, others)


def assert_same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, (list, tuple)):
        for a, b in zip(found, expected, strict=True):
            assert_same(a, b)
    elif isinstance(expected, dict):
        assert_same(list(found.items()), list(expected.items()))
    elif dr.is_array_v(expected):
        assert found.shape == expected.shape and dr.all(found == expected, axis=None)
    else:
        assert found == expected


def ramp(size: int, start: float = 1.0) -> Float:
    x = dr.arange(Float, size) * 0.5 + start if size else Float([])
    dr.eval(x)
    return x


def known(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Known:
    """One that was recorded for these inputs, and repeated once."""
    made = Known(function)
    made.check(*args, long=True, **kwargs)
    made.check(*args, **kwargs)
    return made


def test_arrays_of_any_size() -> None:
    f = known(lambda x, y: x * 2 + dr.sum(y), ramp(5), ramp(7))
    for sizes in ((5, 7), (7, 5), (9, 9), (100, 2), (5, 7)):
        f.check(*map(ramp, sizes))
    assert f.frozen.n_recordings == 1


def test_sizes_0_and_1_are_others() -> None:
    f = known(lambda x, y: x + y, ramp(5), ramp(5))
    for sizes in ((1, 1), (0, 0), (1, 5), (5, 1)):
        x, y = map(ramp, sizes)
        f.check(x, y, long=True)
        f.check(ramp(5), ramp(5))  # the latest four are tried
    f.check(ramp(6), ramp(6))


def test_equal_sizes_stay_equal() -> None:
    f = known(lambda x, y: (x + 1, y * 2), ramp(5), ramp(5))
    f.check(ramp(4), ramp(4))
    f.check(ramp(4), ramp(3), long=True)


def test_other_types_and_backends() -> None:
    f = known(lambda x: x + x, ramp(5))
    f.check(dr.arange(UInt, 5), long=True)
    f.check(Tracked(1, 2, 3), long=True)
    f.check(dr.scalar.Float(2), long=True)
    f.check(3, long=True)


def test_the_same_array_twice() -> None:
    def add(x: Float, y: Float) -> Float:
        x += 1
        return x * y

    f = Known(add)
    x, y = ramp(5), ramp(5, 3)
    for _ in range(3):
        assert dr.all(f.frozen(x, y) == x * y)
    twice = ramp(5)
    assert dr.all(f.frozen(twice, twice) == twice * twice)  # and twice is one more
    assert twice[0] == 2

    g = known(lambda a, b: a - b, ramp(5), ramp(5, 3))
    g.check(x, x, long=True)
    g.check(x, Float(x), long=True)  # another object, the same variable
    g.check(x, ramp(5))


def test_arrays_that_occur_twice_are_known() -> None:
    def scatter(x: Float, y: Float, v: Array3f) -> Float:
        dr.scatter_add(x, Float(2), UInt(0))
        v.y *= 2
        return y + v.x * v.y

    def vector() -> Array3f:
        return Array3f(ramp(5), ramp(5, 2), ramp(5, 3))

    def one() -> tuple[Any, ...]:
        x = ramp(5)
        return x, x, vector()

    def parts() -> tuple[Any, ...]:
        v = vector()
        return v.x, v.y, v

    def others() -> tuple[Any, ...]:
        v = vector()
        return v.y, v.x, v

    def copies() -> tuple[Any, ...]:
        v = vector()
        return Float(v.x), v.y, v

    f = Known(scatter)
    for long in (True, False, False):
        for make in (one, parts, others, copies):
            f.check_made(make, long)
    assert f.frozen.n_recordings == 4


def test_containers_that_are_the_same() -> None:
    def fill(a: list[Any], b: list[Any], x: Float) -> Any:
        a[0] = x + 1
        b[0] = b[0] * 2
        return a[0] + b[0]

    def one() -> tuple[Any, ...]:
        a = [Float(3)]
        return a, a, ramp(5)

    def two() -> tuple[Any, ...]:
        return [Float(3)], [Float(3)], ramp(5)

    f = Known(fill)
    for long in (True, False, False):
        f.check_made(one, long)
        f.check_made(two, long)
    assert f.frozen.n_recordings == 2

    def put(a: list[Any], b: list[Any], x: Float) -> None:
        a[0] = x + 1

    def numbers(same: bool) -> tuple[Any, ...]:
        a = [0]
        return a, a if same else [0], ramp(5)

    g = Known(put)
    for long in (True, False, False):
        g.check_made(lambda: numbers(True), long)
        g.check_made(lambda: numbers(False), long)


def test_many_recordings() -> None:
    f = Known(lambda x, k, more: x * k + more["a"][0], warn_after=100)
    for again in range(3):
        for k in range(12):
            f.check(ramp(5 + again), k, {"a": (k / 2, "b")}, long=again == 0)
    assert f.frozen.n_recordings == 12
    f.check(ramp(5), 3, {"a": (2.0, "b")}, long=True)
    f.check(ramp(5), 3, {"b": (1.5, "b"), "a": (1.5, "b")}, long=True)
    f.check(ramp(5), 3, {"a": (1.5, "b")})


def test_the_latest_recordings_stay() -> None:
    f = Known(lambda x, k: x * k, limit=6, warn_after=100)
    for k in range(6):
        f.check(ramp(5), k, long=True)
    f.check(ramp(5), 0)  # the oldest one is the latest by now
    for k in (2, 3, 4, 5):
        f.check(ramp(5), k)
    f.check(ramp(5), 7, long=True)
    f.check(ramp(5), 0)
    f.check(ramp(5), 1, long=True)  # it was dropped


def test_sets_and_buffers_are_known() -> None:
    f = known(lambda x, s: x + s[0], ramp(5), np.array([1.0, 2.0]))
    f.check(ramp(6), np.array([1.0, 2.0]))
    f.check(ramp(6), np.array([1.0, 3.0]), long=True)
    f.check(ramp(6), np.array([1.0, 2.0], np.float32), long=True)
    f.check(ramp(6), np.array([1.0, 2.0]))
    large = np.zeros(1 << 18)  # more than is kept
    f.check(ramp(5), large, long=True)
    f.check(ramp(5), large.copy())
    large[-1] = 1
    f.check(ramp(5), large, long=True)
    g = known(lambda x, s: [x + k for k in s], ramp(5), {8, 16})
    g.check(ramp(5), {8, 16})
    g.check(ramp(5), {16, 8}, long=True)  # in another order


def test_inputs_that_contain_themselves_are_known() -> None:
    def cycle(x: Float, deep: bool) -> list[Any]:
        made: list[Any] = [x, [x]]
        (made if deep else made[1]).append(made)
        return made

    f = Known(lambda c, y: c[0] + c[1][0] * y)
    for size in (5, 6, 7):
        f.check(cycle(ramp(size), True), ramp(size), long=size == 5)
        f.check(cycle(ramp(size), False), ramp(size), long=size == 5)


def test_arrays_that_are_empty() -> None:
    f = known(lambda x, v: x + v.x, ramp(5), Array3f(ramp(5), ramp(5, 2), ramp(5, 3)))
    g = known(lambda x, y: x * 2, ramp(5), Float())
    g.check(ramp(6), Float())
    g.check(ramp(6), ramp(5), long=True)
    f.check(ramp(6), Array3f(ramp(6), ramp(6, 2), ramp(6, 3)))


def test_many_arrays_each_once() -> None:
    f = known(lambda xs: [x + 1 for x in xs], [ramp(3, i) for i in range(40)])
    xs = [ramp(3, i) for i in range(40)]
    for _ in range(3):
        f.check(xs)
    xs[39] = xs[0]
    f.check(xs, long=True)
    xs[39] = ramp(3)
    f.check(xs)
    f.check(xs[:39], long=True)
    f.check([*xs, ramp(3)], long=True)


def test_equal_literals_are_several() -> None:
    f = known(lambda x, a, b: x * a + b, ramp(5), Float(2), Float(3))
    f.check(ramp(5), Float(2), Float(3))
    f.check(ramp(5), Float(3), Float(3), long=True)
    g = known(lambda a, b, x, y: x * a + y * b, Float(3), Float(3), ramp(5), ramp(5, 2))
    g.check(Float(3), Float(3), ramp(6), ramp(6, 3))
    g.check(Float(3), Float(4), ramp(5), ramp(5, 2), long=True)


def test_unevaluated_arrays() -> None:
    f = known(lambda x: x * 2, ramp(5))
    f.check(dr.arange(Float, 5) + 0.25, long=True)
    f.check(ramp(5))


def test_tensors() -> None:
    def scale(t: TensorXf, x: Float) -> tuple[TensorXf, Float]:
        return t * 2 + t[0:1], x + 1

    def tensor(rows: int, columns: int) -> TensorXf:
        return TensorXf(ramp(rows * columns), (rows, columns))

    f = known(scale, tensor(4, 5), ramp(3))
    for rows, columns, size in ((4, 5, 3), (6, 5, 2), (6, 7, 9), (5, 5, 3), (3, 5, 3)):
        f.frozen(tensor(rows, columns), ramp(size))  # the third one is recorded
        f.check(tensor(rows, columns), ramp(size))
    f.check(tensor(1, 5), ramp(3), long=True)
    f.check(TensorXf(ramp(20), (20,)), ramp(3), long=True)
    f.check(TensorXf(ramp(20), (2, 2, 5)), ramp(3), long=True)


def test_tensors_of_other_sizes_are_known() -> None:
    f = known(lambda t: t * 2, TensorXf(ramp(20), (4, 5)))
    for shape in ((5, 4), (6, 7), (3, 3), (4, 5)):
        f.check(TensorXf(ramp(shape[0] * shape[1]), shape))
    assert f.frozen.n_recordings == 1


def test_an_extent_that_is_the_size_of_an_array() -> None:
    def rows(t: TensorXf, x: Float) -> Float:
        return dr.sum(t, axis=1).array * x

    f = known(rows, TensorXf(ramp(20), (4, 5)), ramp(4))
    f.check(TensorXf(ramp(18), (6, 3)), ramp(6))
    wrong = TensorXf(ramp(18), (3, 6)), ramp(6)
    with pytest.raises(RuntimeError, match="size"):
        f.frozen(*wrong)


@dataclass
class Ray:
    o: Array3f
    t: Any


class Pair(NamedTuple):
    first: Any
    second: Any


class Struct:
    DRJIT_STRUCT = {"x": Float}

    def __init__(self, x: Any = None) -> None:
        self.x = x


def test_containers() -> None:
    def use(rays: list[Ray], *, pair: Pair, parts: dict[str, Any]) -> Any:
        return {
            "o": [r.o + r.t for r in rays],
            "pair": pair.first * pair.second,
            "parts": parts["s"].x + parts["k"],
        }

    def inputs(size: int, k: Any = 3) -> tuple[Any, dict[str, Any]]:
        vector = Array3f(ramp(size), ramp(size, 2), ramp(size, 3))
        dr.eval(vector)
        rays = [Ray(vector, ramp(size, 4)), Ray(Array3f(vector) + 1, ramp(size, 5))]
        dr.eval(rays)
        return rays, {
            "pair": Pair(ramp(size), ramp(size, 9)),
            "parts": {"s": Struct(ramp(size)), "k": k},
        }

    rays, named = inputs(5)
    f = known(use, rays, **named)
    for size in (5, 8, 3):
        rays, named = inputs(size)
        f.check(rays, **named)
    rays, named = inputs(5, 4)
    f.check(rays, long=True, **named)
    rays, named = inputs(5)
    f.frozen(rays, **named)
    named["parts"] = dict(reversed(named["parts"].items()))
    f.check(rays, long=True, **named)
    rays, named = inputs(5)
    f.frozen(rays, **named)
    f.check(tuple(rays), long=True, **named)
    del rays[0].t
    with pytest.raises(AttributeError, match="'t'"):
        f.frozen(rays, **named)


def test_a_class_whose_fields_change() -> None:
    class Changing:
        DRJIT_STRUCT = {"x": Float}

        def __init__(self) -> None:
            self.x, self.y = ramp(5), ramp(5, 2)

    f = known(lambda s: s.x * 2, Changing())
    Changing.DRJIT_STRUCT = {"x": Float, "y": Float}
    f.check(Changing(), long=True)


def test_values() -> None:
    half = 2.5
    f = known(lambda x, k, name: (x * k, name), ramp(5), half, "a")
    f.check(ramp(6), half, "a")
    f.check(ramp(6), float("2.5"), "a")  # equal, and another object
    f.check(ramp(6), half, "".join(["a"]))
    f.check(ramp(6), half, "b", long=True)
    g = known(lambda x, k: x * k, ramp(5), 0.0)
    g.check(ramp(5), -0.0, long=True)
    h = known(lambda x, s: x + len(s), ramp(5), {1, 2})  # its content counts
    h.check(ramp(5), {2, 1})
    h.check(ramp(5), {1, True + 1, 3}, long=True)
    assert h.frozen.n_recordings == 2


def test_objects_that_go() -> None:
    class Thing:
        pass

    thing = Thing()
    f = Known(lambda x, o: x + 1)
    for _ in range(3):
        f.frozen(ramp(5), thing)
    assert f.long == 1
    reference = weakref.ref(thing)
    del thing
    gc.collect()
    assert reference() is None  # the recording does not keep it
    f.check(ramp(5), Thing(), long=True)


def test_a_reference_is_not_what_it_refers_to() -> None:
    class Thing:
        pass

    thing = Thing()
    f = Known(lambda x, o: x + isinstance(o, Thing))
    f.check(ramp(5), weakref.ref(thing), long=True)
    f.check(ramp(5), thing, long=True)
    f.check(ramp(5), thing)


def test_what_is_read_by_name() -> None:
    scale = ramp(5)

    def times(x: Float) -> Float:
        return x * scale

    f = known(times, ramp(5))
    f.check(ramp(5, 4))
    scale = ramp(5, 7)
    f.check(ramp(5, 4))
    scale = 3.0
    f.check(ramp(5, 4), long=True)


def test_state() -> None:
    class Model:
        def __init__(self) -> None:
            self.weight = ramp(5)

    model, calls = Model(), Mock()
    hidden = Mock()  # nobody looks into what belongs to the standard library
    hidden.weight.side_effect = lambda: model.weight

    def state(x: Float) -> Any:
        calls(x)
        return model.weight

    f = Known(lambda x: x * hidden.weight(), state_fn=state)
    f.check(ramp(5), long=True)
    f.frozen(ramp(5))
    f.check(ramp(5))
    model.weight = ramp(5, 9)
    assert dr.all(f.frozen(ramp(5)) == ramp(5) * ramp(5, 9))
    assert calls.call_count == 4  # once for each call


def replaces(s: Any) -> Any:
    s["dict"]["x"] = s["dict"]["x"] + 1
    s["list"][1] = s["list"][1] * 2
    s["ray"].t = s["ray"].t - 1
    s["struct"].x = s["struct"].x * 0.5
    return s["list"][0] + 1


def changes_in_place(s: Any) -> Any:
    s["dict"]["x"] += 1
    s["list"][0] *= 2
    s["ray"].o.x += s["ray"].t
    dr.scatter_add(s["struct"].x, 1, UInt(0))
    return s["list"][1]


def does_both(s: Any) -> Any:
    s["ray"].t = s["list"][0] + 0.5
    s["list"][1] += 3
    s["tensor"] = s["tensor"] * 2


def all_inputs() -> dict[str, Any]:
    return {
        "dict": {"x": ramp(5), "k": 3},
        "list": [ramp(5, 2), ramp(5, 3)],
        "ray": Ray(Array3f(ramp(5, 4), ramp(5, 5), ramp(5, 6)), ramp(5, 7)),
        "struct": Struct(ramp(5, 8)),
        "tensor": TensorXf(ramp(6), (2, 3)),
    }


def values_of(s: dict[str, Any]) -> list[Any]:
    return [
        s["dict"],
        s["list"],
        s["ray"].o,
        s["ray"].t,
        s["struct"].x,
        s["tensor"],
    ]


@pytest.mark.parametrize("function", [replaces, changes_in_place, does_both])
def test_functions_that_change_their_inputs(function: Callable[..., Any]) -> None:
    f = Known(function)
    frozen, plain = all_inputs(), all_inputs()
    parts = [frozen["dict"], frozen["list"], frozen["ray"], frozen["struct"]]
    for call in range(6):
        others = [frozen["list"][0], frozen["ray"].o, frozen["dict"]["x"]]
        found, expected = f.frozen(frozen), function(plain)
        assert_same(found, expected)
        assert_same(values_of(frozen), values_of(plain))
        now = [frozen["list"][0], frozen["ray"].o, frozen["dict"]["x"]]
        same = [True, True, function is not replaces]
        assert [x is y for x, y in zip(others, now, strict=True)] == same
        assert f.long == 1, call
    assert parts == [frozen["dict"], frozen["list"], frozen["ray"], frozen["struct"]]


def test_what_is_in_a_tuple_is_replaced() -> None:
    """The tuple is another one afterwards, which is known of snapshots only."""

    def step(s: dict[str, Any]) -> None:
        x, y = s["pair"]
        s["pair"] = (x + 1, y)

    f = Known(step)
    s = {"pair": (ramp(5), ramp(5, 2))}
    for call in range(4):
        f.frozen(s)
        assert s["pair"][0][0] == 2 + call and f.long == call + 1


def test_recordings_that_were_dropped() -> None:
    f = Known(lambda x, k: x * k, limit=1)
    for k, long in ((1, True), (1, False), (2, True), (2, False), (1, True)):
        f.check(ramp(5), k, long=long)
    assert f.frozen.n_recordings == 3 and f.frozen.n_cached_recordings == 1
    f.frozen(ramp(5), 1)
    f.check(ramp(5), 1)
    f.frozen.clear()
    f.check(ramp(5), 1, long=True)
    assert f.frozen.n_recordings == 1


def test_switched_off() -> None:
    f = known(lambda x: x + 1, ramp(5))
    f.frozen.enabled = False
    f.check(ramp(5))  # it is the function
    f.frozen.enabled = True
    with dr.scoped_set_flag(dr.JitFlag.KernelFreezing, False):
        f.check(ramp(5))
    f.check(ramp(5))
    with dr.suspend_grad():
        f.check(ramp(5), long=True)  # a recording belongs to its scope
    assert f.frozen.n_recordings == 2


def test_flags_that_matter() -> None:
    f = known(lambda x: dr.sin(x), ramp(5))
    with dr.scoped_set_flag(dr.JitFlag.Debug):
        f.check(ramp(5), long=True)


def test_arrays_that_a_property_makes() -> None:
    """They live no longer than they are looked at."""

    class Made:
        DRJIT_STRUCT = {"x": Float}

        @property
        def x(self) -> Float:
            return ramp(5)

        @x.setter
        def x(self, value: Float) -> None:
            pass

    f = Known(lambda s: s.x * 2)
    for _ in range(5):
        assert dr.all(f.frozen(Made()) == ramp(5) * 2)


def test_a_list_that_is_emptied_meanwhile() -> None:
    items: list[Any] = []

    class Thief:
        DRJIT_STRUCT = {"x": Float}
        armed = False

        @property
        def x(self) -> Float:
            if Thief.armed:
                items.clear()
                gc.collect()
            return ramp(5)

        @x.setter
        def x(self, value: Float) -> None:
            pass

    def total(items: list[Any]) -> Any:
        return sum((i if dr.is_array_v(i) else i.x) for i in items)

    f = Known(total)
    for _ in range(3):
        items[:] = [ramp(5, 2), Thief(), ramp(5, 3)]
        assert dr.all(f.frozen(items) == total(items))
    Thief.armed = True
    f.frozen(items)
    items[:] = [ramp(5, 2), Thief(), ramp(5, 3)]
    f.frozen(items)  # what it gives does not matter: nobody can tell what it was given


def test_errors_of_attributes() -> None:
    class Failing:
        DRJIT_STRUCT = {"x": Float}
        fails = False

        @property
        def x(self) -> Float:
            if Failing.fails:
                raise KeyboardInterrupt
            return ramp(5)

        @x.setter
        def x(self, value: Float) -> None:
            pass

    f = Known(lambda s: s.x * 2)
    for _ in range(3):
        f.frozen(Failing())
    Failing.fails = True
    with pytest.raises(KeyboardInterrupt):
        f.frozen(Failing())


def test_references_are_given_back() -> None:
    f = known(lambda xs, t: [x + 1 for x in xs], [ramp(4)], TensorXf(ramp(6), (2, 3)))
    xs, tensor = [ramp(4)], TensorXf(ramp(6), (2, 3))
    other = TensorXf(ramp(6), (6,))

    def variables() -> int:
        gc.collect()
        return dr.whos(as_string=True).count("\n")

    before = variables()
    for _ in range(5):
        f.check(xs, tensor)
    assert variables() == before
    for _ in range(5):  # the shape does not fit, when a variable was looked at
        with pytest.raises(TypeError):
            f.frozen(xs, other, 3)
    assert variables() == before


def test_memory_stays_flat_over_100000_calls() -> None:
    @dr.freeze
    def f(s: dict[str, Any], x: Float, *, t: TensorXf) -> list[Any]:
        s["a"] = s["a"] * 0.5 + x
        s["r"].t = s["r"].t + 1
        s["r"].o.x *= 0.5
        return [t * 2, s["a"] + 1, x]

    s = {"a": ramp(5), "r": Ray(Array3f(ramp(5), ramp(5, 2), ramp(5, 3)), ramp(5, 4))}
    x, t = ramp(5, 9), TensorXf(ramp(6), (2, 3))

    def used(calls: int) -> tuple[int, int, int]:
        for _ in range(calls):
            f(s, x, t=t)
        gc.collect()
        variables = dr.whos(as_string=True).count("\n")
        return variables, len(gc.get_objects()), sys.getallocatedblocks()

    variables, objects, blocks = used(1000)
    after = used(99000)
    assert f.n_recordings == 1
    assert after[0] == variables and after[1] <= objects + 20
    assert after[2] <= blocks + 200  # others of this process make some, too


def test_threads() -> None:
    f = known(lambda xs: [x * 2 for x in xs], [ramp(9, i) for i in range(20)])
    failures: list[Any] = []

    def work(start: int) -> None:
        xs = [ramp(9, start + i) for i in range(20)]
        expected = [x * 2 for x in xs]
        dr.eval(expected)
        for _ in range(200):
            found = f.frozen(xs)
            if not all(dr.all(a == b) for a, b in zip(found, expected, strict=True)):
                failures.append(start)

    threads = [threading.Thread(target=work, args=(10 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and f.frozen.n_recordings == 1


def test_parts_of_arrays() -> None:
    """A component of an array is not a copy of it, nor another component."""

    def add(x: Any, v: Any) -> Any:
        x += 1
        return v.x + v.y * 2

    frozen = dr.freeze(add)
    for make in (
        lambda v: v.x,
        lambda v: Float(v.x),
        lambda v: v.y,
        lambda v: Float(v.y),
    ) * 2:
        found, expected = [], []
        for function, results in ((frozen, found), (add, expected)):
            a = ramp(4)
            v = Array3f(a, a, ramp(4))
            results.append(list(function(make(v), v)))
            results.append([list(part) for part in v])
        assert found == expected
    assert frozen.n_recordings == 3
