"""Bodies of evaluated loops, conditionals and calls that copy what they write to:
values are those of NumPy, which writes in place, and gradients those of differences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Bool, Float64, UInt

LANES = 4
HERE, THERE = np.arange(LANES), np.arange(LANES)[::-1]


class Numpy:
    """Accesses in lanes that are active."""

    def __init__(self, active: Any) -> None:
        self.active = active

    def copy(self, a: Any) -> Any:
        return a.copy()

    def gather(self, a: Any, at: Any) -> Any:
        return a[at]

    def scatter(self, a: Any, value: Any, at: Any) -> None:
        a[at[self.active]] = value[self.active]

    def add(self, a: Any, value: Any, at: Any) -> None:
        np.add.at(a, at[self.active], value[self.active])


class Arrays:
    """The same, where a body runs: it knows which lanes these are."""

    def __init__(self, copy: Callable[[Any], Any]) -> None:
        self.copy = copy

    def gather(self, a: Any, at: Any) -> Any:
        return dr.gather(Float64, a, UInt(at))

    def scatter(self, a: Any, value: Any, at: Any) -> None:
        dr.scatter(a, value, UInt(at))

    def add(self, a: Any, value: Any, at: Any) -> None:
        dr.scatter_add(a, value, UInt(at))


def write_first(o: Any, a: Any) -> Any:
    b = o.copy(a)
    o.scatter(a, o.gather(b, THERE) + 1, HERE)
    return a


def write_both(o: Any, a: Any) -> Any:
    b = o.copy(a)
    o.scatter(a, o.gather(b, THERE) * 0.5 + 1, HERE)
    o.add(b, o.gather(a, HERE) * 0.3, HERE)
    return a


def return_the_copy(o: Any, a: Any) -> Any:
    b = o.copy(a)
    o.scatter(a, o.gather(b, THERE) + 1, HERE)
    o.add(b, o.gather(a, HERE) * 0.5, HERE)
    return b


def copy_again(o: Any, a: Any) -> Any:
    b = o.copy(a)
    o.scatter(b, o.gather(a, THERE) + 1, HERE)
    o.add(a, o.gather(b, HERE) * 0.5, HERE)
    c = o.copy(a)
    o.scatter(a, o.gather(c, HERE) * 0.7, THERE)
    o.scatter(c, o.gather(a, HERE) + 7, HERE)
    return a


def copy_of_a_copy(o: Any, a: Any) -> Any:
    b = o.copy(a)
    o.scatter(b, o.gather(a, THERE) + 1, HERE)
    c = o.copy(b)
    o.add(b, o.gather(c, HERE) * 0.2, THERE)
    o.scatter(c, o.gather(b, HERE) * o.gather(a, THERE), HERE)
    return c


def all_of_three(o: Any, a: Any) -> Any:
    b = o.copy(a)
    c = o.copy(b)
    o.scatter(c, o.gather(a, THERE) * 0.5, HERE)
    o.scatter(b, o.gather(c, THERE) - 1, HERE)
    o.scatter(a, o.gather(b, THERE) * o.gather(c, HERE), HERE)
    return a


BODIES = [
    write_first, write_both, return_the_copy, copy_again, copy_of_a_copy, all_of_three,
]  # fmt: skip
COPIES: dict[str, Callable[[Any], Any]] = {
    "constructor": Float64,
    "dr.copy": dr.copy,
    "sum": lambda a: a + 0,
}
STARTS = {
    "array": Float64,
    "computed": lambda x: x * 2,
    "longer": lambda x: dr.concat((x, x * 3)),
}
TIMES = {"all lanes": [3, 3, 3, 3], "some": [1, 3, 0, 2]}


def start_of(name: str, x: Any) -> Any:
    return {"array": x, "computed": x * 2}.get(name, np.concatenate((x, x * 3))).copy()


def expected(body: Any, start: str, times: Any, x: Any) -> Any:
    a, times = start_of(start, x), np.array(times)
    for i in range(times.max()):
        a = body(Numpy(i < times), a)
    return a


def check(
    run: Callable[[Any], Any], reference: Callable[[Any], Any], start: str
) -> None:
    point, step = np.array([0.3, -0.7, 1.1, 0.9]), 1e-6
    x = Float64(point)
    dr.enable_grad(x)
    before = STARTS[start](x)
    kept = Float64(before)
    result = run(before)
    assert np.allclose(result, reference(point), rtol=1e-14)
    assert np.allclose(kept, start_of(start, point), rtol=1e-14)
    weights = 1 + 0.37 * np.arange(dr.width(result))
    dr.backward(dr.sum(result * result * Float64(weights)))
    quotients = []
    for k in range(LANES):
        ends = [reference(point + sign * step * (HERE == k)) for sign in (-1, 1)]
        low, high = ((end * end * weights).sum() for end in ends)
        quotients.append((high - low) / (2 * step))
    assert np.allclose(x.grad, quotients, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("body", BODIES)
def test_loops(body: Any, copy: str, start: str, times: str) -> None:
    o, end = Arrays(COPIES[copy]), TIMES[times]

    def run(a: Any) -> Any:
        state = UInt(0, 0, 0, 0), a
        return dr.while_loop(
            state,
            lambda i, a: i < UInt(end),
            lambda i, a: (i + 1, body(o, a)),
            mode="evaluated",
        )[1]

    check(run, lambda x: expected(body, start, end, x), start)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("body", [write_first, write_both, copy_again, all_of_three])
def test_conditionals_and_calls(body: Any, copy: str, start: str) -> None:
    o, taken = Arrays(COPIES[copy]), [True, False, True, True]

    def conditional(a: Any) -> Any:
        def side(k: Any) -> Any:
            body(o, a)
            return k

        dr.if_stmt((UInt(HERE),), Bool(taken), side, lambda k: k, mode="evaluated")
        return a

    def call(a: Any) -> Any:
        def function(k: Any) -> Any:
            body(o, a)
            return k

        # An evaluated call has the lanes that its arguments have.
        functions = [lambda k: k, function]
        dr.switch(UInt(1, 1, 1, 1), functions, UInt(HERE), mode="evaluated")
        return a

    check(conditional, lambda x: expected(body, start, np.array(taken, int), x), start)
    check(call, lambda x: expected(body, start, [1] * LANES, x), start)
