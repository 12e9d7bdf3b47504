"""resume_grad() in bodies, of what is suspended by name around the construct.

Recorded constructs have the gradients of evaluated ones, whose bodies are plain
operations, or raise an error.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm.ad import Float64, UInt

FLAGS = dr.ADFlag.Default | dr.ADFlag.AllowNoGrad


@pytest.fixture(autouse=True)
def no_nodes_are_left() -> Iterator[None]:
    yield
    gc.collect()
    assert dr._core._ad_node_count() == 0  # type: ignore[attr-defined]


class Square(dr.CustomOp):
    def eval(self, a: Float64) -> Float64:
        self.a = a
        return a * a

    def backward(self) -> None:
        self.set_grad_in("a", 2 * self.a * self.grad_out())


def value(a: Float64, b: Float64) -> Float64:
    return dr.sin(a) * b


def loop(body: Callable[..., Any], a: Any, b: Any, mode: str, count: int = 3) -> Any:
    return dr.while_loop(
        (a, b, Float64(0, 0), UInt(0, 0)),
        lambda a, b, y, i: i < count,
        lambda a, b, y, i: (*body(a, b, y), i + 1),
        mode=mode,
        labels=("a", "b", "y", "i"),
    )[:3]


class Program:
    """Constructs whose body uses states a and b in a scope."""

    def __init__(self, mode: str, resume: str):
        self.mode = mode
        self.resume = resume

    def scope(self, a: Any) -> Any:
        if self.resume == "nothing":
            return nullcontext()
        return dr.resume_grad(*([] if self.resume == "all" else [a]))

    def used(self, a: Any, b: Any, f: Callable[..., Any] = value) -> Any:
        with self.scope(a):
            return f(a, b)

    def switch(self, a: Any, b: Any) -> Any:
        return dr.switch(
            UInt(0, 1), [self.used, lambda a, b: 2 * a * b], a, b, mode=self.mode
        )

    def passed(self, a: Any, b: Any) -> Any:
        first, second = dr.switch(
            UInt(0, 1), 2 * [lambda a, b: (self.used(a, b), a)], a, b, mode=self.mode
        )
        return first + second

    def cond(self, a: Any, b: Any) -> Any:
        return dr.if_stmt(
            (a, b), a > 1.7, self.used, lambda a, b: 2 * a * b, mode=self.mode
        )

    def alone(self, a: Any, b: Any) -> Any:
        return loop(lambda a, b, y: (a, b, y + self.used(a, b)), a, b, self.mode)[2]

    def mixed(self, a: Any, b: Any) -> Any:
        def body(a: Any, b: Any, y: Any) -> Any:
            return a, b, y + self.used(a, b) + a * b

        return loop(body, a, b, self.mode)[2]

    def changed(self, a: Any, b: Any) -> Any:
        return loop(lambda a, b, y: (self.used(a, b), b, y), a, b, self.mode)[0]

    def changed_elsewhere(self, a: Any, b: Any) -> Any:
        def body(a: Any, b: Any, y: Any) -> Any:
            return a * b, b, y + self.used(b, y)

        return loop(body, a, b, self.mode)[2]

    def gathered(self, a: Any, b: Any) -> Any:
        def f(a: Any, b: Any) -> Any:
            return dr.gather(Float64, a, UInt(1, 0)) * b

        return loop(lambda a, b, y: (a, b, y + self.used(a, b, f)), a, b, self.mode)[2]

    def custom(self, a: Any, b: Any) -> Any:
        def f(a: Any, b: Any) -> Any:
            return dr.custom(Square, a) * b

        return loop(lambda a, b, y: (a, b, y + self.used(a, b, f)), a, b, self.mode)[2]

    def within(self, f: Callable[..., Any], a: Any, b: Any) -> Any:
        return loop(lambda a, b, y: (a, b, y + f(a, b)), a, b, self.mode, 2)[2]

    def loop_in_loop(self, a: Any, b: Any) -> Any:
        return self.within(self.alone, a, b)

    def changed_in_loop(self, a: Any, b: Any) -> Any:
        return self.within(self.changed, a, b)

    def cond_in_loop(self, a: Any, b: Any) -> Any:
        def f(a: Any, b: Any) -> Any:
            return dr.if_stmt(
                (a, b), a > 1.7, self.used, lambda a, b: Float64(1), mode=self.mode
            )

        return self.within(f, a, b)

    def call_in_loop(self, a: Any, b: Any) -> Any:
        def f(a: Any, b: Any) -> Any:
            return dr.switch(UInt(0, 1), [self.used] * 2, a, b, mode=self.mode)

        return self.within(f, a, b)

    def mixed_in_loop(self, a: Any, b: Any) -> Any:
        return self.within(self.switch, a, b)

    def backward(self, a: Any, b: Any) -> Any:
        def f(a: Any, b: Any) -> Any:
            dr.backward(value(a, b), flags=FLAGS)
            return dr.detach(b)

        return loop(lambda a, b, y: (a, b, y + self.used(a, b, f)), a, b, self.mode)[2]

    def backward_in_call(self, a: Any, b: Any) -> Any:
        def f(a: Any, b: Any) -> Any:
            dr.backward(value(a, b), flags=FLAGS)
            return dr.detach(b)

        def g(a: Any, b: Any) -> Any:
            return self.used(a, b, f)

        return dr.switch(UInt(0, 1), [g, g], a, b, mode=self.mode)

    def forward(self, a: Any, b: Any) -> Any:
        def f(a: Any, b: Any) -> Any:
            return dr.forward_to(value(a, b), flags=FLAGS)

        return loop(lambda a, b, y: (a, b, y + self.used(a, b, f)), a, b, self.mode)[2]


# Whether these raise an error where they are recorded, and what is suspended resumed.
PROGRAMS = {
    "switch": False,
    "passed": False,
    "cond": False,
    "alone": False,
    "mixed": False,
    "changed": True,
    "changed_elsewhere": False,
    "gathered": False,
    "custom": False,
    "loop_in_loop": False,
    "changed_in_loop": True,
    "cond_in_loop": False,
    "call_in_loop": False,
    "mixed_in_loop": True,
    "backward": True,
    "backward_in_call": False,
    "forward": True,
}


def run(name: str, mode: str, suspend: str, resume: str) -> list[Any]:
    x, z = Float64(1.5, 2), Float64(0.5, 0.7)
    dr.enable_grad(x, z)
    if name == "forward":
        dr.set_grad(x, Float64(1, 2))
        dr.set_grad(z, Float64(3, 4))
    names = {"x": [x], "both": [x, z], "all": []}[suspend]
    with dr.suspend_grad(*names):
        y = getattr(Program(mode, resume), name)(x, z)
    if name != "forward":
        dr.backward(y, flags=FLAGS)
    return [np.array(dr.detach(v)) for v in (y, x.grad, z.grad)]


@pytest.mark.parametrize("resume", ["nothing", "all", "name"])
@pytest.mark.parametrize("suspend", ["x", "both", "all"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_recorded_as_evaluated(name: str, suspend: str, resume: str) -> None:
    expected = run(name, "evaluated", suspend, resume)
    if PROGRAMS[name] and suspend != "all" and resume != "nothing":
        with pytest.raises(RuntimeError, match="suspended by name around the loop"):
            run(name, "symbolic", suspend, resume)
        return
    found = run(name, "symbolic", suspend, resume)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-14)


def test_by_formula() -> None:
    _, x, z = run("alone", "symbolic", "both", "name")
    np.testing.assert_allclose(x, 3 * np.cos([1.5, 2]) * [0.5, 0.7], rtol=1e-14)
    np.testing.assert_array_equal(z, [0, 0])
