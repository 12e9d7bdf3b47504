"""Frozen functions beside threads that read and write what they use: nobody sees values
that no program has written, during recordings either."""

from __future__ import annotations

import os
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Float, UInt
from drjit.llvm.ad import Float64

SECONDS = float(os.environ.get("STATE_SECONDS", "0.4"))  # of each test
SIZE = 64

scale: Any = 2.0
pair: Any = None
held: Any = None


@pytest.fixture(autouse=True)
def switch_often() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)
    globals().update(scale=2.0, pair=None, held=None)


def run(*loops: Callable[[int], None]) -> list[int]:
    """Call functions with 0, 1, 2, ..., each in a thread of its own, for a while and
    until each has had a turn, and return how often they were called. The first
    exception is passed on."""
    errors: list[BaseException] = []
    counts = [0] * len(loops)
    end = time.monotonic() + SECONDS

    def goes_on() -> bool:
        late = time.monotonic() - end
        return not errors and (late < 0 or (0 in counts and late < 30))

    def work(number: int) -> None:
        try:
            while goes_on():
                loops[number](counts[number])
                counts[number] += 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(loops))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    if errors:
        raise errors[0]
    assert min(counts) > 0
    return counts


def entries(array: Any) -> list[float]:
    return type(array)(array).numpy().tolist()  # type: ignore[no-any-return]


def again(frozen: Any, step: int) -> None:
    """Have it recorded every few calls."""
    if step % 3 == 0:
        frozen.clear()


@pytest.mark.parametrize("tracked", [False, True])
def test_readers_of_inputs(tracked: bool) -> None:
    """Arguments, globals and attributes that the function only reads."""
    x, weights, box = (dr.arange(Float64, SIZE) + k for k in (1, 2, 3))
    dr.eval(x, weights, box)
    if tracked:
        dr.enable_grad(x, weights)
    globals().update(held=weights, pair=types.SimpleNamespace(k=box))

    @dr.freeze
    def f(x: Any) -> Any:
        return x * held + pair.k

    def call(step: int) -> None:
        again(f, step)
        found = f(x)
        assert dr.grad_enabled(found) == tracked
        assert entries(found)[:2] == [1 * 2 + 3, 2 * 3 + 4]

    def read(step: int) -> None:
        for first, array in ((1, x), (2, held), (3, pair.k)):
            assert dr.grad_enabled(array) == (tracked and first < 3)
            assert len(array) == SIZE
            assert entries(array) == [first + k for k in range(SIZE)]

    def compute(step: int) -> None:
        assert entries(x * 2 + held)[:3] == [4, 7, 10]

    run(call, read, compute)


def test_readers_of_what_is_changed() -> None:
    """All entries of the state are equal, and they never go back."""
    globals().update(held={"k": dr.zeros(Float, SIZE)})
    seen = [0.0, 0.0]

    @dr.freeze
    def f(state: Any, x: Any) -> Any:
        state["k"] = state["k"] + x
        return state["k"] * 2

    def call(step: int) -> None:
        again(f, step)
        found = entries(f(held, dr.opaque(Float, 1, SIZE)))
        assert found == [2.0 * (step + 1)] * SIZE

    def reader(number: int) -> Callable[[int], None]:
        def read(step: int) -> None:
            found = entries(held["k"])
            assert len({*found}) == 1 and len(found) == SIZE
            assert found[0] >= seen[number]
            seen[number] = found[0]

        return read

    run(call, reader(0), reader(1))


def test_readers_of_what_is_changed_in_place() -> None:
    array = dr.opaque(Float, 0, SIZE)

    @dr.freeze
    def f(x: Any) -> None:
        x += 1

    def call(step: int) -> None:
        again(f, step)
        f(array)
        assert entries(array) == [step + 1.0] * SIZE

    def read(step: int) -> None:
        found = entries(array)
        assert len({*found}) == 1 and len(found) == SIZE

    run(call, read, read)


@pytest.mark.parametrize("array", [False, True])
def test_writers_of_globals(array: bool) -> None:
    """What a call gives belongs to one state of the globals."""

    def value(step: int) -> Any:
        number = float(step % 4 + 1)
        return dr.opaque(Float, number, 1) if array else number

    globals().update(scale=value(0), pair=(value(0), value(0)))

    @dr.freeze(limit=6, warn_after=1 << 30)
    def f(x: Any) -> Any:
        a, b = pair
        return x * scale, x * a - x * b

    def call(step: int) -> None:
        scaled, none = f(dr.opaque(Float, 1, SIZE))
        assert entries(scaled) in [[k] * SIZE for k in (1, 2, 3, 4)]
        assert entries(none) == [0] * SIZE

    def write(step: int) -> None:
        same = value(step)
        globals().update(scale=value(step), pair=(same, same))

    def read(step: int) -> None:
        a, b = pair
        found = entries(dr.opaque(Float, 1, 2) * a - b)
        assert found == [0, 0]

    run(call, call, write, read)


def test_threads_of_one_function() -> None:
    """Each with inputs of its own, of other sizes and types, and with a shared one."""
    shared = dr.arange(Float, 5)
    dr.eval(shared)

    @dr.freeze(warn_after=1 << 30)
    def f(x: Any, number: int, other: Any) -> Any:
        return x * number + dr.sum(other), other

    def caller(number: int) -> Callable[[int], None]:
        def call(step: int) -> None:
            size = 2 + (step + number) % 5
            kind = (Float, UInt)[step % 2]
            x = dr.arange(kind, size)
            dr.eval(x)
            found, other = f(x, number, shared)
            assert entries(found) == [k * number + 10 for k in range(size)]
            assert other is shared
            if step % 16 == number:
                f.clear()

        return call

    run(*map(caller, range(4)))


def test_derivatives_beside_writers() -> None:
    """The derivative of a call is that of what it has read, or an error: it may have to
    be recorded when that is something else already."""
    right = []
    globals().update(scale=2.0)

    @dr.freeze(warn_after=1 << 30)
    def f(x: Any) -> Any:
        return x * scale * x

    def call(step: int) -> None:
        x = Float64([1, 2, 3])
        dr.enable_grad(x)
        y = f(x)
        factor = entries(dr.detach(y))[0]
        assert factor >= 2
        try:
            dr.backward(dr.sum(y))
        except RuntimeError as error:
            assert "has changed since the call" in str(error)
            return
        right.append(factor)
        assert entries(x.grad) == [2 * factor * k for k in (1, 2, 3)]

    def write(step: int) -> None:
        globals().update(scale=2.0 + step)  # never what it was before
        time.sleep(1e-4)

    run(call, call, write)
    assert right


def test_gradients_that_others_read() -> None:
    """A call that propagates to an input, whose values and tracking others read."""
    x = Float64([1, 2, 3])
    dr.enable_grad(x)

    @dr.freeze
    def f(x: Any) -> Any:
        loss = dr.sum(x * x)
        dr.backward(loss)
        return loss

    def call(step: int) -> None:
        again(f, step)
        before = entries(x.grad)
        assert entries(f(x)) == [14]
        assert [b - a for a, b in zip(before, entries(x.grad), strict=True)] == [
            2,
            4,
            6,
        ]

    def read(step: int) -> None:
        assert dr.grad_enabled(x)
        assert entries(x) == [1, 2, 3]
        grad = entries(x.grad)
        assert len(grad) == 3 or grad == [0]

    run(call, read, read)
