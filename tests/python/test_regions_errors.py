"""Errors in and around regions: nothing breaks, nothing is left; engines agree."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
import pytest
import test_regions_calls as calls
from drjit import llvm
from drjit._flow import regions
from drjit.llvm import Array3f, Bool, Float, TensorXf, UInt
from region_util import (
    Boom,
    check_that_all_is_well,
    collatz,
    finish,
    if_stmt,
    mandelbrot,
    raises_at,
    while_loop,
)

sys.path.insert(0, str(Path(__file__).parent / "fuzz"))

import meter  # noqa: E402

# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize("point", range(12))
def test_exceptions_at_every_point(mode: str, point: int) -> None:
    check = raises_at(point)
    target, other = dr.zeros(UInt, 4), dr.zeros(UInt, 4)
    i = dr.arange(UInt, 4)

    def inner_cond(j: Any) -> Any:
        check(0)
        return j < 2

    def inner_body(j: Any) -> tuple[Any]:
        check(1)
        dr.scatter_add(target, UInt(1), i)
        check(2)
        return (j + 1,)

    def true_fn(n: Any) -> Any:
        check(3)

        def inner() -> None:
            dr.scatter(other, UInt(5), i)
            check(4)

        if_stmt(i > 1, (), inner, lambda: None)
        (j,) = while_loop((UInt(0),), inner_cond, inner_body)
        check(5)
        return n + j

    def false_fn(n: Any) -> Any:
        check(6)
        dr.scatter(other, UInt(6), i)
        n = dr.switch(n, [callee, callee], n)
        check(7)
        return n + 1

    def callee(n: Any) -> Any:
        check(8)
        return n

    def cond(n: Any) -> Any:
        check(9)
        return n < 5

    def body(n: Any) -> tuple[Any]:
        check(10)
        n = n + 1 + if_stmt(i < 2, (n,), true_fn, false_fn)
        check(11)
        return (n,)

    with pytest.raises(Boom):
        while_loop((dr.zeros(UInt, 4),), cond, body)
    check_that_all_is_well()
    if mode != "evaluated":  # nothing of it has run
        assert not np.any(target.numpy()) and not np.any(other.numpy())


@pytest.mark.parametrize(
    "kind", [KeyboardInterrupt, SystemExit, MemoryError, StopIteration]
)
def test_any_exception_goes_on(kind: type[BaseException]) -> None:
    def body(n: Any) -> tuple[Any]:
        raise kind

    with pytest.raises(kind):
        while_loop((UInt(0),), lambda n: n < 5, body)
    with pytest.raises(kind):
        if_stmt(dr.arange(UInt, 2) > 0, (UInt(1),), lambda n: None, body)
    with pytest.raises(kind):
        if_stmt(dr.arange(UInt, 2) > 0, (UInt(1),), body, body)
    check_that_all_is_well()


def test_errors_within_a_body_can_be_handled() -> None:
    """What cannot be done is an error, after which recording goes on."""
    attempts = []

    def body(n: Any) -> tuple[Any]:
        for attempt in (
            lambda: dr.eval(n),
            lambda: n.numpy(),
            lambda: bool(n[0] == 1),
            lambda: dr.sum(n),
            lambda: dr.gather(UInt, n * 2, UInt(0)),
            lambda: n + dr.arange(UInt, 7),
        ):
            with pytest.raises((RuntimeError, TypeError)) as error:
                attempt()
            attempts.append(str(error.value))
        return (n + 1,)

    (n,) = while_loop((dr.zeros(UInt, 3),), lambda n: n < 4, body)
    assert n.numpy().tolist() == [4, 4, 4] and len(attempts) in (6, 12)
    check_that_all_is_well()


def test_evaluation_in_a_body_is_an_error() -> None:
    for function in (dr.eval, lambda n: n.numpy(), lambda n: dr.any(n > 1)):

        def body(n: Any, function: Any = function) -> tuple[Any]:
            function(n)
            return (n + 1,)

        with pytest.raises(RuntimeError, match=r"(?i)symbolic|placeholder|record"):
            while_loop((dr.zeros(UInt, 3),), lambda n: n < 4, body)
    check_that_all_is_well()


def test_other_arrays_can_be_evaluated_in_a_body() -> None:
    other = dr.arange(UInt, 5) + 1

    def body(n: Any) -> tuple[Any]:
        assert other.numpy().tolist() == [1, 2, 3, 4, 5]
        return (n + 1,)

    (n,) = while_loop((dr.zeros(UInt, 3),), lambda n: n < 4, body)
    assert n.numpy().tolist() == [4, 4, 4]


def test_placeholders_are_useless_later() -> None:
    kept = []

    def body(n: Any) -> tuple[Any]:
        kept.append(n)
        kept.append(n + 1)
        return (n + 1,)

    (n,) = while_loop((dr.zeros(UInt, 3),), lambda n: n < 4, body)
    for array in kept:
        with pytest.raises(RuntimeError):
            dr.eval(array)
    with pytest.raises(Boom):
        while_loop((dr.zeros(UInt, 3),), lambda n: n < 4, broken(kept))
    for array in kept:
        with pytest.raises(RuntimeError):
            (array + 1).numpy()
    assert n.numpy().tolist() == [4, 4, 4]
    check_that_all_is_well()


def broken(kept: list[Any]) -> Callable[[Any], Any]:
    def body(n: Any) -> Any:
        kept.append(n)
        raise Boom

    return body


def test_wrong_states(mode: str) -> None:
    x = dr.arange(UInt, 4)

    def loop(state: Any, result: Any, cond: Any = None) -> None:
        while_loop(state, cond or (lambda n, *_: n < 3), lambda *state: result(*state))

    def wrong(match: str, state: Any, result: Any) -> None:
        with pytest.raises(RuntimeError, match=match):
            loop(state, result)

    name = r"state variable 'state\[1\]'"
    wrong("'int' changed from '1' to '2'", (x, 1), lambda n, k: (n + 1, k + 1))
    wrong(
        f"non-array {name} of type 'drjit.scalar.Array3f'",
        (x, dr.scalar.Array3f(1)),
        lambda n, k: (n + 1, k + 1),
    )
    wrong(f"{name} of .* is uninit", (x, Float()), lambda n, k: (n + 1, k))
    wrong(f"{name} of .* is uninit", (x, x), lambda n, k: (n + 1, UInt()))
    for state in ([x], x, {"x": x}, None, 3):
        with pytest.raises(TypeError, match="'state' is of type .*, expected a tuple"):
            loop(state, lambda n: (n + 1,))
    wrong(r"value of type drjit.\S+.UInt, expected a tuple", (x,), lambda n: n + 1)
    wrong("value of type NoneType, expected a tuple", (x,), lambda n: None)
    wrong("a tuple of 2 entries, expected 1", (x,), lambda n: (n + 1, n))
    wrong(r"from 'drjit.\S+.UInt' to 'drjit.\S+.Float'", (x,), lambda n: (n + 1.5,))
    wrong(r"from 'drjit.\S+.UInt' to 'int'", (x,), lambda n: (1,))
    wrong(f"{name} .* to 'NoneType'", (x, x), lambda n, k: (n + 1, None))
    wrong(f"{name} .* from 'NoneType'", (x, None), lambda n, k: (n + 1, n))
    wrong(
        rf"size of {name} of type '\S+.ArrayXf' changed from 3 to 2",
        (x, llvm.ArrayXf([1, 2, 3])),
        lambda n, k: (n + 1, llvm.ArrayXf([1, 2])),
    )
    wrong(
        rf"shape of {name} changed from \(2, 2\) to \(4,\)",
        (x, dr.zeros(TensorXf, (2, 2))),
        lambda n, k: (n + 1, dr.zeros(TensorXf, (4,))),
    )
    wrong(
        f"arrays of size 4, while {name} has an incompatible size 7",
        (x, UInt(1)),
        lambda n, k: (n + 1, k + dr.arange(UInt, 7)),
    )
    for condition in (None, UInt(1), [Bool(True)]):
        with pytest.raises(RuntimeError, match="the type of the loop condition"):
            loop((x,), lambda n: (n + 1,), lambda n, c=condition: c)
    check_that_all_is_well()


def test_wrong_arguments() -> None:
    x = dr.arange(UInt, 4)
    with pytest.raises(TypeError):
        while_loop((x,), None, lambda n: (n,))
    with pytest.raises(TypeError):
        while_loop((x,), lambda n: n < 3, None)
    with pytest.raises(TypeError):
        while_loop((x,), lambda n, m: n < 3, lambda n: (n,))
    with pytest.raises(TypeError, match="'label' is of type int, expected a str"):
        while_loop((x,), lambda n: n < 3, lambda n: (n + 1,), 3)
    with pytest.raises(RuntimeError, match="always true"):
        while_loop((x,), lambda n: Bool(True), lambda n: (n + 1,))
    with pytest.raises(TypeError, match="'state' is missing"):
        dr.while_loop()
    with pytest.raises(RuntimeError, match="the type of 'cond' .*'int'"):
        if_stmt(3, (), lambda: None, lambda: None)
    with pytest.raises(TypeError, match="'args' is of type .*, expected a tuple"):
        if_stmt(x > 1, x, lambda x: x, lambda x: x)
    with pytest.raises(RuntimeError, match=r"'rv' changed from '\S+.UInt' to"):
        if_stmt(x > 1, (), lambda: x, lambda: Float(1))
    with pytest.raises(RuntimeError, match="size of state variable 'rv'"):
        if_stmt(x > 1, (), lambda: (x, x), lambda: (x,))
    with pytest.raises(RuntimeError, match="size"):
        if_stmt(x > 1, (), lambda: x, lambda: dr.arange(UInt, 7))
    with pytest.raises(TypeError):
        if_stmt(x > 1, (), None, lambda: x)
    check_that_all_is_well()


def test_threads_record_on_their_own() -> None:
    expected = collatz(dr.arange(UInt, 30) + 1)[1].numpy().tolist()
    results: list[Any] = []

    def work() -> None:
        for _ in range(5):
            results.append(collatz(dr.arange(UInt, 30) + 1)[1].numpy().tolist())
            with pytest.raises(Boom):
                while_loop((UInt(0),), lambda n: n < 4, broken([]))

    def body(n: Any) -> tuple[Any]:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return (n + 1,)

    (n,) = while_loop((dr.arange(UInt, 6),), lambda n: n < 4, body)
    assert n.numpy().tolist() == [4, 4, 4, 4, 4, 5]
    assert len(results) in (15, 30) and all(r == expected for r in results)
    check_that_all_is_well()


def test_a_loop_whose_condition_writes() -> None:
    target = dr.zeros(UInt, 4)

    def cond(n: Any) -> Any:
        dr.scatter(target, n, n)
        return n < 3

    with pytest.raises(RuntimeError, match="side effects"):
        while_loop((dr.arange(UInt, 4),), cond, lambda n: (n + 1,))
    check_that_all_is_well()


def test_trees_that_change_meanwhile() -> None:
    """The user's functions may change any tree they get hold of."""
    inner: list[Any] = [UInt(1), UInt(2)]

    def clear(n: Any, tree: Any) -> tuple[Any, ...]:
        inner.clear()
        return n + 1, tree

    with pytest.raises((ValueError, RuntimeError)):
        while_loop((UInt(0), inner), lambda n, _: n < 3, clear)
    inner[:] = [UInt(1)]

    def grow(n: Any, tree: Any) -> tuple[Any, ...]:
        inner.append(UInt(1))
        tree.append(UInt(1))
        return n + 1, tree

    with pytest.raises((ValueError, RuntimeError)):
        while_loop((UInt(0), inner), lambda n, _: n < 3, grow)
    inner[:] = [UInt(1)]

    def retype(n: Any, tree: Any) -> tuple[Any, ...]:
        inner[0] = Float(1)
        return n + 1, tree

    with pytest.raises((TypeError, RuntimeError)):
        while_loop((UInt(0), inner), lambda n, _: n < 3, retype)
    check_that_all_is_well()


# ------------------------------------------------------------- nothing is left


def scenario_loops() -> None:
    collatz(dr.arange(UInt, 10) + 1)[1].numpy()
    collatz(dr.arange(UInt, 10) + 1)  # never evaluated
    mandelbrot(4, 4, 5)
    if_stmt(dr.arange(UInt, 3) > 1, (UInt(1),), lambda x: x + 1, lambda x: x)
    i = dr.arange(UInt, 4)
    dr.switch(i, [lambda x: x + 1, lambda x: x * 2], i).numpy()


def scenario_exceptions() -> None:
    for point in range(12):
        test_exceptions_at_every_point("symbolic", point)
    test_wrong_arguments()
    test_trees_that_change_meanwhile()


def scenario_local() -> None:
    calls.test_local_entries()
    calls.test_local_structured_entries()
    calls.test_local_arrays_of_conditionals("symbolic")
    calls.test_wrong_local_arrays()


def scenario_reports() -> None:
    regions.report(lambda *_: None, dr.arange(UInt, 4))
    finish()


@pytest.mark.parametrize(
    "scenario", [scenario_loops, scenario_exceptions, scenario_local, scenario_reports]
)
def test_nothing_is_left(scenario: Callable[[], None]) -> None:
    watched = [UInt, Float, Array3f, dr.Local, Boom]
    step = meter.growth(scenario, watched, rounds=8)
    assert not meter.leaks(step), step


# ---------------------------------------------------------------------- engines

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import region_util as t
from drjit._flow import regions
from drjit.llvm import Int, UInt
import drjit as dr
print(t.collatz(dr.arange(UInt, 100) + 1)[1].numpy().tolist())
print(t.mandelbrot(20, 20, 30).numpy().tolist())
i = dr.arange(UInt, 50)
a, b = dr.switch(i % 10, t.eight(), Int(i), Int(3))
print(a.numpy().tolist(), b.numpy().tolist())
"""


def run_with(**variables: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(Path(__file__).parent)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    return result.stdout


def test_engines_agree() -> None:
    """The engine of this run, and the reference."""
    assert run_with() == run_with(DRJIT_CPU_ENGINE="interp")


def test_debug_mode(mode: str) -> None:
    with dr.scoped_set_flag(dr.JitFlag.Debug):
        assert collatz(dr.arange(UInt, 6) + 1)[1].numpy().tolist() == [0, 1, 7, 2, 5, 8]
