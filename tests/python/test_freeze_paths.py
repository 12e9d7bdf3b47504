"""What frozen functions read by name."""

from __future__ import annotations

import collections
import functools
import math
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import Mock, call

import drjit as dr
import pytest
from drjit.llvm import Float, UInt

scale: Any = 2.0
first: Any = None
second: Any = None
operation: Any = None


def ramp(n: int) -> Float:
    made = dr.arange(Float, n)
    dr.eval(made)
    return made


@pytest.fixture(autouse=True)
def restore() -> Any:
    names = ("scale", "first", "second", "operation", "scaled")
    before = {name: globals()[name] for name in names}
    yield
    globals().update(before)


def set_global(**values: Any) -> None:
    globals().update(values)


def scaled(x: Any) -> Any:
    return x * scale


def in_comprehension(x: Float) -> list[Float]:
    return [y * scale for y in (x, x + 1)]


def in_lambda(x: Float) -> Any:
    return [(lambda: x * scale)(), (lambda: (x + 1) * scale)()]


def in_function(x: Float) -> Any:
    def outer(y: Float) -> Float:
        def inner() -> Float:
            return y * scale

        return inner()

    return [outer(x), outer(x + 1)]


def in_called(x: Float) -> Any:
    return [scaled(x), scaled(x + 1)]


def in_class(x: Float) -> Any:
    class Local:
        factor = scale

    return [x * Local.factor, (x + 1) * Local.factor]


@dr.freeze
def frozen_scaled(x: Float) -> Float:
    return x * scale


def in_frozen(x: Float) -> Any:
    return [frozen_scaled(x), frozen_scaled(x + 1)]


@pytest.mark.parametrize(
    "function",
    [in_comprehension, in_lambda, in_function, in_called, in_class, in_frozen],
)
@pytest.mark.parametrize("array", [False, True])
def test_where_a_global_is_read(function: Callable[..., Any], array: bool) -> None:
    frozen = dr.freeze(function)
    for value in (2.0, 3.0, 2.0, 5.0):
        set_global(scale=dr.opaque(Float, value) if array else value)
        a, b = frozen(ramp(4))
        assert dr.all(a == ramp(4) * value)
        assert dr.all(b == (ramp(4) + 1) * value)
    assert frozen.n_recordings == (1 if array else 3)


def test_names_keep_their_places() -> None:
    @dr.freeze
    def f(x: Float) -> Float:
        return x + first if first is not None else x - second

    array = ramp(4)
    set_global(first=array, second=None)
    assert dr.all(f(ramp(4)) == ramp(4) + array)
    set_global(first=None, second=array)
    assert dr.all(f(ramp(4)) == ramp(4) - array)


def test_functions_that_are_replaced() -> None:
    @dr.freeze
    def f(x: Float) -> Float:
        return scaled(x)

    assert dr.all(f(ramp(4)) == ramp(4) * 2)
    set_global(scaled=lambda x: x * scale + 1)
    assert dr.all(f(ramp(4)) == ramp(4) * 2 + 1)
    set_global(scale=3.0)
    assert dr.all(f(ramp(4)) == ramp(4) * 3 + 1)
    set_global(scaled=lambda x, y=4: x * y)
    assert dr.all(f(ramp(4)) == ramp(4) * 4)
    count = f.n_recordings
    for _ in range(3):  # the same code is the same function
        set_global(scaled=make_adder(1))
        assert dr.all(f(ramp(4)) == ramp(4) + 1)
    assert f.n_recordings == count + 1
    set_global(scaled=make_adder(2))
    assert dr.all(f(ramp(4)) == ramp(4) + 2)


def make_adder(amount: int) -> Callable[[Any], Any]:
    return lambda x: x + amount


@pytest.mark.parametrize(
    "values", [(dr.sum, dr.prod), (dr.llvm, dr.scalar), (Float, dr.llvm.UInt)]
)
def test_other_objects(values: tuple[Any, Any]) -> None:
    @dr.freeze
    def f(x: Float) -> tuple[Float, bool]:
        return x + 1, operation is values[0]

    for value in (*values, *values):
        set_global(operation=value)
        assert f(ramp(4))[1] == (value is values[0])
    assert f.n_recordings == 2


class Settings:
    offset = 1.0

    def __init__(self) -> None:
        self.factor = 2.0

    def apply(self, x: Any) -> Any:
        return x * scale


@dataclass
class Plain:
    factor: float = 2.0


@pytest.mark.parametrize("array", [False, True])
@pytest.mark.parametrize("make", [Settings, Plain, lambda: types.ModuleType("other")])
def test_attributes(make: Callable[[], Any], array: bool) -> None:
    @dr.freeze
    def f(x: Float) -> Float:
        return x * settings.factor

    settings = make()
    for factor in (2.0, 3.0, 2.0):
        settings.factor = dr.opaque(Float, factor) if array else factor
        assert dr.all(f(ramp(4)) == ramp(4) * factor)
    assert f.n_recordings == (1 if array else 2)


def test_attributes_of_classes_and_methods() -> None:
    settings = Settings()

    @dr.freeze
    def f(x: Float) -> Float:
        return settings.apply(x) + settings.offset + Settings.offset

    assert dr.all(f(ramp(4)) == ramp(4) * 2 + 2)
    assert dr.all(f(ramp(4)) == ramp(4) * 2 + 2)
    assert f.n_recordings == 1
    settings.offset = 2.0
    assert dr.all(f(ramp(4)) == ramp(4) * 2 + 3)
    set_global(scale=3.0)
    assert dr.all(f(ramp(4)) == ramp(4) * 3 + 3)
    settings = Settings()
    assert dr.all(f(ramp(4)) == ramp(4) * 3 + 2)
    try:
        Settings.offset = 4.0
        assert dr.all(f(ramp(4)) == ramp(4) * 3 + 8)
    finally:
        Settings.offset = 1.0


def test_functions_in_modules() -> None:
    module = types.ModuleType(__name__ + ".part")
    module.__dict__["double"] = lambda x: x * scale

    @dr.freeze
    def f(x: Float) -> Float:
        return module.double(x)

    for value in (2.0, 3.0):
        set_global(scale=value)
        assert dr.all(f(ramp(4)) == ramp(4) * value)
    module.__dict__["double"] = lambda x: x - 1
    assert dr.all(f(ramp(4)) == ramp(4) - 1)


def test_defaults() -> None:
    table = ramp(4)

    @dr.freeze
    def f(x: Float, w: Float = table, *, v: Float = table + 1) -> Float:
        return x * w + v

    for _ in range(2):
        assert dr.all(f(ramp(4)) == ramp(4) * table + table + 1)
        assert dr.all(f(ramp(4), v=table) == ramp(4) * table + table)
    assert f.n_recordings == 2


def test_tuples_of_values() -> None:
    @dr.freeze
    def f(x: Float) -> Float:
        return x * scale[0] + scale[1]

    for value in ((2, 3), (4, 5), (2, 3)):
        set_global(scale=value)
        assert dr.all(f(ramp(4)) == ramp(4) * value[0] + value[1])
    assert f.n_recordings == 2


def test_containers_that_get_arrays() -> None:
    things: list[Any] = []

    @dr.freeze
    def f(x: Float) -> Float:
        return x + (things[0] if things else 0)

    assert dr.all(f(ramp(4)) == ramp(4))
    things.append(ramp(4))
    assert dr.all(f(ramp(4)) == ramp(4) * 2)
    things[0] = ramp(4) + 1
    assert dr.all(f(ramp(4)) == ramp(4) * 2 + 1)


def append_to_list(world: Any, x: Float) -> Float:
    world.log.append(len(world.log))
    return x + len(world.log)


def count_in_dictionary(world: Any, x: Float) -> Float:
    world.table["n"] = world.table.get("n", 0) + 1
    return x + world.table["n"]


def count_in_attribute(world: Any, x: Float) -> Float:
    world.step += 1
    return x + world.step


def add_to_set(world: Any, x: Float) -> Float:
    world.words.add(len(world.words))
    return x + len(world.words)


def push_to_deque(world: Any, x: Float) -> Float:
    world.queue.append(len(world.queue))
    return x + world.queue[-1]


def count_in_array(world: Any, x: Float) -> Float:
    world.array[0] += 1
    return x + float(world.array[0])


def count_in_class(world: Any, x: Float) -> Float:
    type(world).made += 1
    return x + type(world).made


@pytest.mark.parametrize(
    "change",
    [
        append_to_list,
        count_in_dictionary,
        count_in_attribute,
        add_to_set,
        push_to_deque,
        count_in_array,
        count_in_class,
    ],
)
def test_what_a_function_changes_each_time(change: Callable[..., Any]) -> None:
    """It is called each time, however far away that is."""
    import numpy as np

    class World:
        made = 0

        def __init__(self) -> None:
            self.log: list[int] = []
            self.table: dict[str, int] = {}
            self.step = 0
            self.words: set[int] = set()
            self.queue: collections.deque[int] = collections.deque()
            self.array = np.zeros(2)

    world = World()

    @dr.freeze
    def of_argument(w: World, x: Float) -> Float:
        return change(w, x)

    @dr.freeze
    def of_closure(x: Float) -> Float:
        return change(world, x)

    first = float(change(world, Float(0))[0])
    for k in range(1, 12):
        found = of_argument(world, ramp(4)) if k % 2 else of_closure(ramp(4))
        assert dr.all(found == ramp(4) + first + k)
    for f in (of_argument, of_closure):
        assert f.n_recordings == 0
        assert "cannot be repeated: the " in f.explain()


def test_a_variable_that_is_bound_anew() -> None:
    count = 0

    @dr.freeze
    def f(x: Float) -> Float:
        def step() -> None:
            nonlocal count
            count += 1

        step()
        return x + 1

    for _ in range(3):
        f(ramp(4))
    assert (count, f.n_recordings) == (3, 0)


def test_a_name_that_takes_the_place_of_another() -> None:
    # There are as many names afterwards, but the one that the function missed is there.
    space: dict[str, Any] = {"other": 1}
    owner: Any = type("Owner", (), {"other": 1})
    thing: Any = types.SimpleNamespace(other=1)
    for held, name in ((None, "late"), (owner, "held.late"), (thing, "held.late")):
        source = f"def function(x):\n    try:\n        return x * {name}\n"
        source += "    except (NameError, AttributeError):\n        return x * 3\n"
        space["held"] = held
        exec(source, space)
        frozen = dr.freeze(space["function"])
        x = ramp(3) + 1
        for _ in range(3):
            assert list(frozen(x)) == [3, 6, 9]
        assert frozen.n_recordings == 1
        if held is None:
            del space["other"]
            space["late"] = 10.0
        else:
            del held.other
            held.late = 10.0
        assert list(frozen(x)) == [10, 20, 30]


def test_arrays_that_names_are_bound_to() -> None:
    """Repeating does that, too."""
    total = ramp(4)
    model = types.SimpleNamespace(state=ramp(4))

    @dr.freeze
    def f(x: Float) -> Float:
        nonlocal total
        total = total + x
        set_global(first=first)
        model.state = model.state * 2
        return total + 1

    expected = ramp(4)
    for k in range(5):
        expected = expected + ramp(4) + k
        assert dr.all(f(dr.opaque(Float, k) + ramp(4)) == expected + 1)
        assert dr.all(total == expected)
        assert dr.all(model.state == ramp(4) * 2 ** (k + 1))
    assert f.n_recordings == 1


def test_names_within_that_hide_others() -> None:
    factor = 2.0

    @dr.freeze
    def f(x: Float) -> Float:
        def other() -> float:
            factor = 0.0

            def step() -> None:
                nonlocal factor
                factor += 1

            step()
            return factor

        return x * factor + other()

    assert dr.all(f(ramp(4)) == ramp(4) * 2 + 1)
    factor = 3.0
    assert dr.all(f(ramp(4)) == ramp(4) * 3 + 1)


def test_bound_methods_and_partial() -> None:
    @dataclass
    class Model:
        weight: Any
        power: int

        def apply(self, x: Float) -> Float:
            return self.weight * x**self.power * scale

    model = Model(ramp(4), 2)
    method = dr.freeze(model.apply)
    part = dr.freeze(functools.partial(Model.apply, model))
    for weight, power, factor in ((1, 2, 2.0), (2, 2, 2.0), (2, 3, 2.0), (2, 3, 4.0)):
        model.weight, model.power = ramp(4) + weight, power
        set_global(scale=factor)
        for f in (method, part):
            expected = (ramp(4) + weight) * ramp(4) ** power * factor
            assert dr.all(f(ramp(4)) == expected)
    assert method.n_recordings == part.n_recordings == 3


def test_functions_of_other_modules() -> None:
    space: dict[str, Any] = {"__name__": "other.part", "factor": 2.0}
    exec("def double(x):\n    return x * factor\n", space)
    double = space["double"]
    assert isinstance(double, types.FunctionType)

    @dr.freeze
    def f(x: Float) -> Float:
        return double(x)

    assert dr.all(f(ramp(4)) == ramp(4) * 2)
    space["factor"] = 3.0
    assert dr.all(f(ramp(4)) == ramp(4) * 3)


def test_functions_that_call_each_other() -> None:
    def even(x: Float, n: int) -> Float:
        return x if n == 0 else odd(x + scale, n - 1)

    def odd(x: Float, n: int) -> Float:
        return x if n == 0 else even(x - 1, n - 1)

    f = dr.freeze(even)
    assert dr.all(f(ramp(4), 4) == ramp(4) + 2)
    set_global(scale=4.0)
    assert dr.all(f(ramp(4), 4) == ramp(4) + 6)


@pytest.mark.parametrize(
    "values",
    [(0.0, -0.0), (1, 1.0), (1, True), (complex(0.0, 1), complex(-0.0, 1))],
    ids=str,
)
def test_equal_values_that_differ(values: tuple[Any, Any]) -> None:
    seen = Mock()

    @dr.freeze
    def f(x: Float, value: Any) -> Float:
        seen(repr(value))
        return x + 1

    for value in (*values, *values):
        f(ramp(4), value)
    assert seen.mock_calls == [call(repr(value)) for value in values]


def test_flags_count() -> None:
    @dr.freeze
    def f(x: Float, index: UInt) -> Float:
        return dr.gather(Float, x * 0, index)

    x = dr.opaque(Float, math.inf, 4)
    for fast in (True, False, True):
        with dr.scoped_set_flag(dr.JitFlag.FastMath, fast):
            assert dr.all(dr.isnan(f(x, UInt(0, 1))) != fast)
    assert f.n_recordings == 2
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        f(x, UInt(0, 1))
    assert f.n_recordings == 2
    dr.kernel_history_clear()


def test_checks_begin_with_debug_mode(capfd: pytest.CaptureFixture[str]) -> None:
    @dr.freeze
    def f(x: Float, index: UInt) -> Float:
        return dr.gather(Float, x, index)

    f(ramp(4), UInt(0, 1))
    with dr.scoped_set_flag(dr.JitFlag.Debug):
        f(ramp(4), UInt(0, 99))
        dr.sync_thread()
    assert f.n_recordings == 2
    assert "out-of-bounds read from position 99" in "".join(capfd.readouterr())


def test_suspended_derivatives_count() -> None:
    from drjit.llvm.ad import Float as Tracked

    @dr.freeze
    def f(x: Tracked) -> Tracked:
        x = Tracked(x)
        dr.enable_grad(x)
        dr.backward(dr.sum(x * x))
        return dr.grad(x)

    x = Tracked(ramp(4))
    for _ in range(2):
        assert dr.all(f(x) == ramp(4) * 2)
        with dr.suspend_grad(), pytest.raises(RuntimeError, match="not tracked"):
            f(x)
    assert f.n_recordings == 1


def test_mutable_objects_count_by_content() -> None:
    import numpy as np

    @dr.freeze
    def f(x: Float, thing: Any) -> Float:
        return x * Float(list(thing)) if len(thing) == 3 else x

    array = np.array([1, 2, 3], dtype=np.float32)
    others: list[Any] = [bytearray(b"abc"), {4, 5, 6}, array[::-1]]
    for k in range(3):
        array[0] = k
        others[0][0] = k
        others[1].add(k + 4)
        for thing in (array, *others):
            before = f.n_recordings
            expected = dr.opaque(Float, 1, 3) * Float(list(thing)[:3])
            if len(thing) == 3:
                assert dr.all(f(dr.opaque(Float, 1, 3), thing) == expected)
            f(dr.opaque(Float, 1, 3), thing)
            assert f.n_recordings <= before + 1
    count = f.n_recordings
    f(dr.opaque(Float, 1, 3), array.copy())  # the same content
    assert f.n_recordings == count
    f(dr.opaque(Float, 1, 3), array.astype(np.int32))
    f(dr.opaque(Float, 1, 3), array.reshape(3, 1)[:, 0])
    assert f.n_recordings == count + 1


def test_objects_without_a_format() -> None:
    import numpy as np

    @dr.freeze
    def f(x: Float, thing: Any) -> Float:
        return x + len(thing)

    times = np.array(["2026-01-01"], dtype="datetime64[D]")
    for _ in range(2):
        assert dr.all(f(ramp(4), times) == ramp(4) + 1)
    assert f.n_recordings == 1


# ---------------------------------------------------------------- other objects


class Scaled:
    """Its factor is not a field, but is read."""

    DRJIT_STRUCT = {"x": Float}  # noqa: RUF012

    def __init__(self, x: Any = None, factor: Any = 1) -> None:
        self.x, self.factor = x, factor

    def value(self) -> Any:
        return self.x * self.factor


@dataclass
class Marked:
    x: Float

    def value(self) -> Any:
        return self.x * self.factor  # type: ignore[attr-defined]


class Slotted:
    __slots__ = ("factor", "x")
    DRJIT_STRUCT = {"x": Float}  # noqa: RUF012

    def __init__(self, x: Any = None, factor: Any = 1) -> None:
        self.x, self.factor = x, factor

    def value(self) -> Any:
        return self.x * self.factor


def marked(x: Any, factor: Any) -> Any:
    made = Marked(x)
    made.factor = factor  # type: ignore[attr-defined]
    return made


current: Any = None


@pytest.mark.parametrize("make", [Scaled, marked, Slotted])
def test_attributes_of_other_objects(make: Any) -> None:
    """What is read of an object is compared with what another one has in its place."""

    def of_argument(a: Any, b: Any) -> Any:
        return a.value() + 10 * b.factor

    def of_entries(a: Any, b: Any) -> Any:
        found = {"objects": [a, (b,)]}
        return [entries(found), found["objects"][0].value()]

    def entries(tree: Any) -> Any:
        return tree["objects"][1][0].value()

    def of_a_global(a: Any, b: Any) -> Any:
        return current.value() + a.x

    x = Float(1, 2)
    for function in (of_argument, of_entries, of_a_global):
        frozen = dr.freeze(function)
        two, three, again = make(x, 2), make(x, 3), make(x, 2)
        calls = [(two, three), (three, two), (two, two), (again, three), (three, three)]
        for _ in range(2):
            for a, b in calls:
                globals()["current"] = a
                assert str(frozen(a, b)) == str(function(a, b))
        two.factor = 7
        assert str(frozen(two, three)) == str(function(two, three))
        assert str(frozen(make(x, 2), three)) == str(function(make(x, 2), three))


def test_equal_objects_have_one_recording() -> None:
    @dr.freeze
    def function(a: Any) -> Any:
        return a.value()

    for k in range(5):
        assert list(function(Scaled(Float(k, 2), 3))) == [3 * k, 6]
    assert function.n_recordings == 1


def test_how_many_iterations_a_generator_makes() -> None:
    from drjit.llvm import Philox4x32

    @dr.freeze
    def function(generator: Any) -> Any:
        return generator.next_uint32x4()

    for iterations in (10, 4, 10, 7):
        one = Philox4x32(5, iterations=iterations)
        two = Philox4x32(5, iterations=iterations)
        assert str(function(one)) == str(two.next_uint32x4())
    assert function.n_recordings == 3
