"""``drjit.freeze``: whatever is repeated has to give what the function itself gives.

Each test calls the frozen function and the plain one with the same inputs, so the
reference is the function. ``n_recordings`` tells which calls were repeated.
"""

from __future__ import annotations

import enum
import gc
import random
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import Mock

import drjit as dr
import drjit.llvm as llvm
import pytest
from drjit.llvm import Array3f, Array4f, ArrayXf, Bool, Float, Matrix3f, TensorXf, UInt

SIZES = (64, 96, 8, 5, 1, 64, 1000, 40000)
EXPAND = dr.ReduceMode.Expand


def ramp(size: int) -> Float:
    x = dr.arange(Float, size) * 0.5 + 1
    dr.eval(x)
    return x


def order(size: int) -> UInt:
    """A permutation of the lanes."""
    i = UInt(random.Random(size).sample(range(size), size))
    dr.eval(i)
    return i


def _listed(value: Any) -> Any:
    """Entries as lists, containers as tuples of them."""
    if isinstance(value, dr.ArrayBase):
        if dr.is_tensor_v(value):
            return (value.shape, _listed(value.array))
        if dr.depth_v(value) > 1:
            return [_listed(entry) for entry in value]
        return list(value)
    if isinstance(value, dict):
        return {key: _listed(entry) for key, entry in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_listed(entry) for entry in value)
    if hasattr(value, "__dataclass_fields__"):
        return {name: _listed(v) for name, v in vars(value).items()}
    return value


def scatter(x: Float, i: UInt) -> Float:
    dr.scatter(x, x * 2, i)
    return x


def histogram(x: Float, i: UInt) -> Float:
    bins = dr.zeros(Float, 16)
    dr.scatter_reduce(dr.ReduceOp.Add, bins, dr.round(x / 64), i % 16)  # exact sums
    return bins


@dr.syntax
def count_down(x: Float) -> Float:
    i = UInt(0)
    while (i < 10) & (x > 1):
        x = x * 0.75
        i += 1
    return x + i


@dr.syntax
def choose(x: Float) -> Float:
    if x > 3:
        x = x * 2
    else:
        x = x + 1
    return x


def softmax(x: Float) -> Float:
    e = dr.exp(x - dr.max(x))
    return e / dr.sum(e)


# Functions of x, and perhaps a permutation; True: one recording serves all sizes of
# more than one entry.
FUNCTIONS: dict[str, tuple[Callable[..., Any], bool]] = {
    "add": (lambda x: x + x * 2, True),
    "sin": (lambda x: dr.sin(x) + dr.exp(-x), True),
    "sum": (lambda x: dr.sum(x * x), True),
    "mean": (lambda x: dr.mean(x), True),
    "dot": (lambda x: dr.dot(x, x + 1), True),
    "minimum": (lambda x: (dr.min(x), dr.max(x * 2)), True),
    "all": (lambda x: (dr.all(x > 3), dr.any(x > 3)), True),
    "prefix": (lambda x: (dr.prefix_sum(x), dr.cumsum(x)), True),
    "softmax": (softmax, True),
    "gather": (lambda x, i: dr.gather(Float, x + 1, i), True),
    "scatter": (scatter, True),
    "histogram": (histogram, True),
    "select": (lambda x: dr.select(x > 4, x, -x), True),
    "compress": (lambda x: dr.gather(Float, x, dr.compress(x > 2)), False),
    "half": (lambda x: dr.gather(Float, x, dr.arange(UInt, dr.width(x) // 2)), False),
    "zeros": (lambda x: dr.zeros(Float, dr.width(x)) + x, True),
    "width": (lambda x: x * dr.width(x), False),
    "len": (lambda x: x * len(x), False),
    "shape": (lambda x: x * x.shape[0], False),
    "compare": (lambda x: x + 1 if dr.width(x) > 4 else x, False),
    "opaque": (lambda x: x / Float(dr.opaque_width(x)), True),
    "nested": (lambda x: Array3f(x, x + 1, 2), True),
    "matrix": (lambda x: Matrix3f(x) @ Matrix3f(x + 1), False),
    "dynamic": (lambda x: ArrayXf(x, x + 1, 2), True),
    "tensor": (lambda x: TensorXf(x) + 1, False),
    "loop": (count_down, True),
    "conditional": (choose, True),
    "switch": (
        lambda x, i: dr.switch(i % 2, [lambda v: v + 1, lambda v: v * 2], x),
        True,
    ),
    "repeat": (lambda x: (dr.repeat(x, 2), dr.tile(x, 3)), False),
    "blocks": (lambda x: dr.block_sum(x, 8), False),
    "sort": (lambda x: dr.sort(-x), False),
    "linspace": (lambda x: x * dr.linspace(Float, 0, 1, dr.width(x)), False),
    "argmax": (lambda x: dr.argmax(dr.sin(x)), False),
    "constant": (lambda x: (Float([1, 2, 3]), x), True),
    "literal": (lambda x: (Float(1), x, None, "text", 3.5), True),
    "random": (lambda x: dr.rng(seed=1).random(Float, dr.width(x)) + x, True),
    "evaluated": (lambda x: (lambda y: (dr.eval(y), y * 2)[1])(x + 1), True),
    "nothing": (lambda x: None, True),
    "itself": (lambda x: (x, [x]), True),
}


def inputs(function: Callable[..., Any], size: int) -> tuple[Any, ...]:
    code = getattr(function, "__wrapped__", function).__code__
    return (ramp(size), order(size))[: code.co_argcount]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_sizes(name: str) -> None:
    function, general = FUNCTIONS[name]
    frozen = dr.freeze(function, warn_after=1000)
    for size in SIZES:
        if name == "blocks" and size % 8:
            continue
        assert _listed(frozen(*inputs(function, size))) == _listed(
            function(*inputs(function, size))
        ), (name, size, frozen.explain())
    many = [size for size in SIZES if size > 1]
    if general:  # one entry is another kind of size
        assert frozen.n_recordings == 2, frozen.explain()
    else:
        assert frozen.n_recordings <= len(set(SIZES))
    # Whatever it was recorded for is repeated from now on.
    before = frozen.n_recordings
    frozen(*inputs(function, many[-1]))
    assert frozen.n_recordings == before


# Private copies of a target in regions are as far apart as its size says.


def add_in_loop(x: Float, i: UInt, table: Float) -> Float:
    bins = table * 2

    def body(k: UInt, v: Float) -> tuple[UInt, Float]:
        dr.scatter_reduce(dr.ReduceOp.Add, bins, v, i, mode=EXPAND)
        return k + 1, v + 1

    dr.while_loop((UInt(0), x), lambda k, v: k < 2, body)
    return bins


def add_on_one_side(x: Float, i: UInt, table: Float) -> list[Float]:
    bins = table * 2

    def add(v: Float) -> Float:
        dr.scatter_reduce(dr.ReduceOp.Max, bins, v, i, mode=EXPAND)
        return v + 1

    return [dr.if_stmt((x,), x > 3, add, lambda v: v), bins]


def add_within(x: Float, i: UInt, table: Float) -> list[Float]:
    """Two targets, in a conditional in a loop."""
    bins, other = table * 2, dr.zeros(Float, dr.width(table) * 3)

    def add(v: Float) -> Float:
        dr.scatter_reduce(dr.ReduceOp.Add, bins, v, i, mode=EXPAND)
        dr.scatter_reduce(dr.ReduceOp.Max, other, v, i * 3, mode=EXPAND)
        return v + 1

    def body(k: UInt, v: Float) -> tuple[UInt, Float]:
        return k + 1, dr.if_stmt((v,), v > 3, add, lambda v: v)

    dr.while_loop((UInt(0), x), lambda k, v: k < 3, body)
    return [bins, other]


def add_packets(x: Float, i: UInt, table: Float) -> Float:
    bins = dr.zeros(Float, dr.width(table) * 4)

    def body(k: UInt, v: Float) -> tuple[UInt, Float]:
        value = Array4f(v, v + 1, 2, 3)
        dr.scatter_reduce(dr.ReduceOp.Add, bins, value, i, mode=EXPAND)
        return k + 1, v + 1

    dr.while_loop((UInt(0), x), lambda k, v: k < 2, body)
    return bins


def add_threes(x: Float, i: UInt, table: Float) -> Float:
    bins = dr.zeros(Float, dr.width(table) * 3)

    def body(k: UInt, v: Float) -> tuple[UInt, Float]:
        value = Array3f(v, v + 1, 2)
        dr.scatter_reduce(dr.ReduceOp.Add, bins, value, i, mode=EXPAND)
        return k + 1, v + 1

    dr.while_loop((UInt(0), x), lambda k, v: k < 2, body)
    return bins


def add_in_call(x: Float, i: UInt, table: Float) -> list[Float]:
    bins = table * 2

    def add(v: Float, i: UInt) -> Float:
        dr.scatter_reduce(dr.ReduceOp.Add, bins, v, i, mode=EXPAND)
        return v + 1

    return [dr.switch(i & 1, [add, lambda v, i: v], x, i), bins]


@pytest.mark.parametrize(
    "function",
    [add_in_loop, add_on_one_side, add_within, add_packets, add_threes, add_in_call],
)
def test_private_copies_in_regions(function: Callable[..., Any]) -> None:
    frozen = dr.freeze(function)
    for entries in (4, 100, 1000, 64, 65, 2, 5000):
        for size in (500, 70):
            i = order(size) % entries
            dr.eval(i)
            arguments = dr.round(ramp(size)), i, ramp(entries)
            assert _listed(frozen(*arguments)) == _listed(function(*arguments))
    assert frozen.n_recordings == 2, frozen.explain()
    assert " combine " in frozen.explain()


# ------------------------------------------------------------------- containers


@dataclass
class Ray:
    o: Array3f
    t: Float


class Struct:
    DRJIT_STRUCT = {"a": Float, "b": Float}

    def __init__(self) -> None:
        self.a = Float(0)
        self.b = Float(0)


class Needy:
    """Cannot be made without an argument."""

    DRJIT_STRUCT = {"x": Float}

    def __init__(self, x: Float) -> None:
        self.x = x


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def test_trees() -> None:
    @dr.freeze
    def f(ray: Ray, more: dict[str, Any], *, scale: Float) -> dict[str, Any]:
        return {
            "ray": Ray(ray.o * scale, ray.t + more["x"][0]),
            "rest": (more["x"], None, "text"),
        }

    for size in (16, 40):
        ray = Ray(Array3f(ramp(size), 1, 2), ramp(size) + 2)
        out = f(ray, {"x": [ramp(size)], "n": 3}, scale=Float(2, *([1] * (size - 1))))
        assert isinstance(out["ray"], Ray)
        assert out["rest"][1:] == (None, "text")
        assert dr.all(out["ray"].t == 2 * ramp(size) + 2)
        assert out["ray"].o.x[0] == 2 * ramp(size)[0]
    assert f.n_recordings == 1
    f(ray, {"x": [ramp(40)], "n": 4}, scale=ramp(40))
    assert f.n_recordings == 2
    f(ray, {"x": [ramp(40)], "m": 4}, scale=ramp(40))
    assert f.n_recordings == 3
    f(ray, {"x": [ramp(40), 1], "n": 4}, scale=ramp(40))
    assert f.n_recordings == 4


def test_results_of_classes() -> None:
    @dr.freeze
    def f(x: Float) -> tuple[Struct, Needy]:
        s = Struct()
        s.a = x + 1
        s.b = x * 2
        return s, Needy(x + 3)

    for _ in range(2):
        s, needy = f(ramp(4))
        assert type(s) is Struct and type(needy) is Needy
        assert dr.all(s.a == ramp(4) + 1) and dr.all(s.b == ramp(4) * 2)
        assert dr.all(needy.x == ramp(4) + 3)
    assert f.n_recordings == 1


def test_values_are_part_of_the_key() -> None:
    calls = Mock()  # of the standard library: what it notes does not count

    @dr.freeze
    def f(x: Float, value: Any) -> Float:
        calls()
        return x + 1

    def seen(value: Any) -> int:
        before = f.n_recordings
        f(ramp(4), value)
        return f.n_recordings - before

    assert seen(1) == 1
    assert seen(1) == 0
    assert seen(1.0) == 1
    assert seen(True) == 1
    assert seen("a") == 1
    assert seen("a") == 0
    assert seen(None) == 1
    assert seen(Color.RED) == 1
    assert seen(Color.BLUE) == 1
    assert seen(Color.RED) == 0
    one, other = object(), object()
    assert seen(one) == 1
    assert seen(other) == 1
    assert seen(one) == 0
    assert seen({1, 2}) == 1
    assert seen(dr.scalar.Array3f(1, 2, 3)) == 1
    assert seen(dr.scalar.Array3f(1, 2, 3)) == 0
    assert seen(dr.scalar.Array3f(1, 2, 4)) == 1
    assert calls.call_count == f.n_recordings


def test_keys_keep_no_objects_alive() -> None:
    class Thing:
        pass

    @dr.freeze
    def f(x: Float, thing: Thing) -> Float:
        return x + 1

    thing = Thing()
    f(ramp(4), thing)
    watch = weakref.ref(thing)
    del thing
    gc.collect()
    assert watch() is None
    f(ramp(4), Thing())
    assert f.n_recordings == 2


def test_aliases() -> None:
    @dr.freeze
    def f(x: Float, y: Float) -> Float:
        dr.scatter(x, Float(100), UInt(0))
        return x + y

    for _ in range(2):
        a, b = ramp(8), ramp(8)
        out = f(a, b)
        assert a[0] == 100 and b[0] == 1 and out[0] == 101
    assert f.n_recordings == 1
    for _ in range(2):
        x = ramp(8)
        out = f(x, x)
        assert out[0] == 200 and x[0] == 100
    assert f.n_recordings == 2


# ------------------------------------------------------------------ what changes


def test_inputs_change() -> None:
    @dr.freeze
    def f(s: Struct, out: list[Any], table: dict[str, Float]) -> Float:
        s.a += 1
        s.b = s.a * 2
        out[0] = s.b + 1
        dr.scatter(table["t"], Float(7), UInt(2))
        return s.a

    def plain(s: Struct, out: list[Any], table: dict[str, Float]) -> Float:
        return f._function(s, out, table)

    results = []
    for call in (f, plain):
        s, out, table = Struct(), [None], {"t": ramp(8)}
        s.a, s.b = ramp(8), ramp(8)
        alias = s.a
        for _ in range(4):
            result = call(s, out, table)
        results.append(_listed([s.a, s.b, out, table, result, alias]))
    assert results[0] == results[1]
    assert f.n_recordings <= 2  # out[0] is None the first time


def test_structure_changes() -> None:
    @dr.freeze
    def f(x: Float, out: list[Any]) -> None:
        out.append(x + 1)

    for _ in range(3):
        out: list[Any] = []
        f(ramp(4), out)
        assert dr.all(out[0] == ramp(4) + 1)
    assert f.n_recordings == 0
    assert "structure" in f.explain()


def test_methods_and_closures() -> None:
    class Model:
        DRJIT_STRUCT = {"w": Float}
        scale = 2

        def __init__(self, w: Float) -> None:
            self.w = w

        @dr.freeze
        def apply(self, x: Float) -> Float:
            return self.w * x

        @staticmethod
        @dr.freeze
        def double(x: Float) -> Float:
            return x * 2

        @classmethod
        @dr.freeze
        def scaled(cls, x: Float) -> Float:
            return x * cls.scale

    a, b = Model(ramp(4)), Model(ramp(4) + 1)
    for model in (a, b, a):
        assert dr.all(model.apply(ramp(4)) == model.w * ramp(4))
    assert Model.apply.n_recordings == 1
    assert dr.all(Model.double(ramp(4)) == ramp(4) * 2)
    assert dr.all(Model.scaled(ramp(4)) == ramp(4) * 2)

    table, factor = ramp(4), 2

    @dr.freeze
    def f(x: Float) -> Float:
        return x * table + factor

    assert dr.all(f(ramp(4)) == ramp(4) * ramp(4) + 2)
    table = ramp(4) + 1
    assert dr.all(f(ramp(4)) == ramp(4) * table + 2)
    assert f.n_recordings == 1
    factor = 3
    assert dr.all(f(ramp(4)) == ramp(4) * table + 3)
    assert f.n_recordings == 2


def test_implicit_inputs() -> None:
    class Opaque:
        def __init__(self) -> None:
            self.x = ramp(4)

    @dr.freeze
    def plain(o: Opaque) -> Float:
        return o.x + 1

    opaque = Opaque()
    for k in range(3):
        opaque.x = ramp(4 + k)
        assert dr.all(plain(opaque) == ramp(4 + k) + 1)
    assert plain.n_recordings == 1

    @dr.freeze(state_fn=lambda o, **_: o.x)
    def right(o: Opaque) -> Float:
        return o.x + 1

    o = Opaque()
    for k in range(3):
        o.x = ramp(4) + k
        assert dr.all(right(o) == ramp(4) + k + 1)
    assert right.n_recordings == 1


# ----------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x[1],
        lambda x: bool(dr.any(x > 1)),
        lambda x: str(x),
        lambda x: x.numpy(),
        lambda x: list(x),
        lambda x: dr.format("{}", x),
    ],
    ids=["entry", "bool", "str", "numpy", "list", "format"],
)
def test_reads_are_errors(read: Callable[[Float], Any]) -> None:
    if read.__code__.co_names == ("numpy",):
        pytest.importorskip("numpy")

    @dr.freeze
    def f(x: Float) -> Float:
        y = x * 2
        read(y)
        return y

    for _ in range(2):
        with pytest.raises(RuntimeError, match="while a frozen function is being"):
            f(ramp(4))
    assert f.n_recordings == 0
    assert not dr.flag(dr.JitFlag.FreezingScope)
    assert ramp(4)[1] == 1.5


def test_exceptions_leave_nothing() -> None:
    fail = True

    @dr.freeze(state_fn=lambda x: fail)
    def f(x: Float) -> Float:
        y = x + 1
        if fail:
            raise ValueError("mine")
        return y

    with pytest.raises(ValueError, match="mine"):
        f(ramp(4))
    assert f.n_recordings == 0 and not dr.flag(dr.JitFlag.FreezingScope)
    fail = False
    for _ in range(2):
        assert dr.all(f(ramp(4)) == ramp(4) + 1)
    assert f.n_recordings == 1


def test_bad_arguments() -> None:
    with pytest.raises(TypeError, match="expected a function"):
        dr.freeze(3)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        dr.freeze(lambda x: x, bogus=1)  # type: ignore[call-overload]


# --------------------------------------------------------------------- parameters


def test_flags() -> None:
    calls = Mock()

    @dr.freeze
    def f(x: Float) -> Float:
        calls()
        return x + 1

    with dr.scoped_set_flag(dr.JitFlag.KernelFreezing, False):
        f(ramp(4))
        f(ramp(4))
    assert calls.call_count == 2 and f.n_recordings == 0
    f(ramp(4))
    f(ramp(4))
    assert calls.call_count == 3 and f.n_recordings == 1
    with dr.scoped_set_flag(dr.JitFlag.KernelFreezing, False):
        f(ramp(4))
    f(ramp(4))
    assert calls.call_count == 4 and f.n_recordings == 1
    off = dr.freeze(enabled=False)(f._function)
    off(ramp(4))
    assert off.n_recordings == 0


def test_limit_and_clear() -> None:
    @dr.freeze(limit=2)
    def f(x: Float, n: int) -> Float:
        return x + n

    for n in (1, 2, 3, 1):
        f(ramp(4), n)
    assert f.n_recordings == 4 and f.n_cached_recordings == 2
    f(ramp(4), 3)
    assert f.n_recordings == 4
    f.clear()
    assert f.n_recordings == 0 and f.n_cached_recordings == 0
    f(ramp(4), 3)
    assert f.n_recordings == 1


def test_literals() -> None:
    @dr.freeze
    def f(x: Float, seed: UInt, scale: Float) -> Float:
        return x * scale + Float(seed)

    for seed in range(5):
        out = f(ramp(4), UInt(seed), Float(3))
        assert dr.all(out == ramp(4) * 3 + seed)
    assert f.n_recordings == 2  # the second time, 'seed' becomes opaque

    @dr.freeze(auto_opaque=False)
    def g(x: Float, seed: UInt) -> Float:
        return x + Float(seed)

    for seed in range(5):
        assert dr.all(g(ramp(4), UInt(seed)) == ramp(4) + seed)
    assert g.n_recordings == 1


def test_many_inputs_with_literals() -> None:
    """Of the latest ones it is known which literals change, and of no more."""
    from drjit._freeze.function import _FORMS

    @dr.freeze(limit=4, warn_after=100000)
    def f(x: Float, y: Float, k: int) -> Float:
        return x * y + k

    x = dr.arange(Float, 3)
    dr.eval(x)
    f(x, Float(1), -1)
    f(x, Float(2), -1)  # an array from now on
    for k in range(2 * _FORMS):
        f(x, Float(1), k)
        if k % 3 == 0:
            assert dr.all(f(x, Float(k + 3), -1) == x * (k + 3) - 1)
    assert len(f._forms) == _FORMS
    count = f.n_recordings
    for k in range(8):
        assert dr.all(f(x, Float(k + 0.5), -1) == x * (k + 0.5) - 1)
    assert f.n_recordings <= count + 1


def test_no_inputs() -> None:
    @dr.freeze(backend=dr.JitBackend.LLVM)
    def f() -> Float:
        return dr.arange(Float, 4) + 1

    for _ in range(3):
        assert _listed(f()) == [1, 2, 3, 4]
    assert f.n_recordings == 1


def test_nested_functions() -> None:
    @dr.freeze
    def inner(x: Float) -> Float:
        return x * 2

    @dr.freeze
    def outer(x: Float) -> Float:
        return inner(x) + 1

    for _ in range(2):
        assert dr.all(outer(ramp(4)) == ramp(4) * 2 + 1)
    assert outer.n_recordings == 1 and inner.n_recordings == 0
    inner(ramp(4))
    assert inner.n_recordings == 1


def test_inside_of_loops() -> None:
    @dr.freeze
    def f(x: Float) -> Float:
        return x * 0.5

    def body(x: Float) -> Float:
        return f(x)

    (out,) = dr.while_loop((ramp(4),), lambda x: x > 1, lambda x: (body(x),))
    assert dr.all(out <= 1)
    assert f.n_recordings == 0


def test_threads() -> None:
    @dr.freeze
    def f(x: Float, k: Float) -> Float:
        return dr.sum(x * k)

    wrong = []

    def work(k: int) -> None:
        for size in (10, 1000, 10):
            x, factor = ramp(size), Float([k] * size)
            expected = sum(k * (0.5 * i + 1) for i in range(size))
            if abs(f(x, factor)[0] - expected) > 1e-3 * expected:
                wrong.append((k, size))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert f.n_recordings >= 1


def test_memory_stays_flat() -> None:
    @dr.freeze
    def f(x: Float) -> Float:
        y = dr.sin(x)
        dr.eval(y)
        return dr.cos(y)

    x = ramp(1000)
    f(x)
    dr.sync_thread()
    before = dr.whos(as_string=True).count("\n")
    for _ in range(2000):
        f(x)
    dr.sync_thread()
    assert dr.whos(as_string=True).count("\n") <= before + 1


# ------------------------------------------------------------------ random programs


def random_program(seed: int) -> Callable[..., Any]:
    """A function of two arrays and a permutation, in which sizes matter."""
    steps = [random.Random(seed).random() for _ in range(12)]

    def program(x: Float, y: Float, i: UInt) -> list[Any]:
        values: list[Float] = [x, y, x + y]
        draw = random.Random(seed)
        for choice in steps:
            a, b = draw.choice(values), draw.choice(values)
            if choice < 0.3:
                value = a * b + 1
            elif choice < 0.4:
                value = dr.gather(Float, a, i)
            elif choice < 0.5:
                value = a + dr.sum(b) / dr.opaque_width(b)
            elif choice < 0.6:
                value = dr.prefix_sum(dr.select(a > b, a, 0.25))
            elif choice < 0.7:
                value = dr.zeros(Float, dr.width(a)) + b
                dr.scatter(value, a, i)
            elif choice < 0.8:
                dr.eval(a)
                value = a - b
            elif choice < 0.85 and dr.width(a) > 20:
                value = a * 2
            elif choice < 0.9:
                value = dr.arange(Float, dr.width(a)) * 0.5 + b
            else:
                value = count_down(dr.minimum(abs(a), 100))
            values.append(dr.clip(value, -1000, 1000))
        kept = dr.compress(values[-1] > values[0])
        return [values[-1], values[-3], dr.sum(values[-2]), dr.width(kept) > 0]

    return program


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    program = random_program(seed)

    def outputs(x: Float, y: Float, i: UInt) -> list[Any]:
        return program(x, y, i)[:3]

    frozen = dr.freeze(outputs, warn_after=1000)
    draw = random.Random(seed)
    for _ in range(6):
        size = draw.choice((1, 2, 16, 21, 64, 300, 16))
        args = (ramp(size), ramp(size) - 3, order(size))
        assert _listed(frozen(*args)) == _listed(outputs(*args)), frozen.explain()


def test_bool_arrays() -> None:
    @dr.freeze
    def f(x: Float, m: Bool) -> tuple[Bool, Float]:
        return m & (x > 2), dr.select(m, x, 0)

    for size in (10, 30):
        mask = dr.arange(UInt, size) % 2 == 0
        a, b = f(ramp(size), mask), f._function(ramp(size), mask)
        assert _listed(a) == _listed(b)
    assert f.n_recordings == 1
    assert llvm.Float is Float


def test_instances_that_come_and_go() -> None:
    class Shape(dr.Instance):
        def __init__(self, size: int) -> None:
            self.size = size

        def area(self, scale: Any) -> Any:
            return scale * self.size**2

    array_t = dr.array_t(Shape)
    frozen = dr.freeze(lambda shapes, x: shapes.area(x))
    x, two, three = Float(1, 10, 100), Shape(2), Shape(3)
    first = array_t(two, three, None)
    dr.eval(first)
    for _ in range(2):
        assert _listed(frozen(first, x)) == [4, 90, 0]
    assert frozen.n_recordings == 1
    second = array_t(Shape(5), three, None)
    dr.eval(second)
    for _ in range(2):
        assert _listed(frozen(second, x)) == [25, 90, 0]
        assert _listed(frozen(first, x)) == [4, 90, 0]
    assert frozen.n_recordings == 2
    dr.detail.remove_instance(three)
    assert _listed(frozen(first, x)) == [4, 0, 0]
    assert frozen.n_recordings == 3
