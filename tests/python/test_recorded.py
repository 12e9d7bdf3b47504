"""dr.print and assertions in loops, conditionals and calls that are being recorded."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import drjit as dr
import pytest
from drjit.llvm import Array3f, ArrayXf, Bool, Complex2f, Float, Int, Matrix2f, UInt
from region_util import check_that_all_is_well, finish


@dataclass
class Ray:
    o: Array3f
    t: Float


def printed(work: Callable[[Any], Any]) -> str:
    """What the prints of this program write: it gets their 'file'."""
    file = io.StringIO()
    result = work(file)
    dr.eval(result)
    finish()
    return file.getvalue()


def in_branch(*args: Any, cond: Any = None, **kwargs: Any) -> str:
    """What dr.print(*args) prints for the lanes 1 and 2 of a conditional."""
    x = Float(1, 2, 3)

    def work(file: Any) -> Any:
        def side(x: Any) -> Any:
            given = [a(x) if callable(a) else a for a in args]
            named = {k: a(x) if callable(a) else a for k, a in kwargs.items()}
            dr.print(*given, file=file, **named)
            return x

        return dr.if_stmt((x,), x > 1, side, lambda x: x)

    return printed(work)


def test_the_examples_of_the_reference() -> None:
    def call(file: Any) -> Any:
        def function(name: str) -> Any:
            return lambda x: dr.print("in " + name + ": {x=}", x=x, file=file)

        functions = [function("f1"), function("f2")]
        dr.switch(UInt(0, 0, 0, 1, 1, 1), functions, x=Float(1, 2, 3, 4, 5, 6))

    assert printed(call) == "in f1: x=[1, 2, 3]\nin f2: x=[4, 5, 6]\n"

    def loop(file: Any) -> Any:
        def body(i: Any, j: Any) -> Any:
            dr.print("{thread_id=} {i=}", i=i, file=file)
            return i + 1, j

        return dr.while_loop((Int(0), Int(2, 3)), lambda i, j: i < j, body)

    assert printed(loop) == "thread_id=[0, 0, 1, 1, 1] i=[0, 1, 0, 1, 2]\n"


def test_values_of_all_kinds() -> None:
    def tree(x: Any) -> Any:
        return {"ray": Ray(Array3f(x, 0, 1), x), "n": 5, "none": None}

    assert in_branch(lambda x: x) == "[2, 3]\n"
    both = in_branch("{} {}", lambda x: x > 2, lambda x: UInt(x))
    assert both == "[False, True] [2, 3]\n"
    assert in_branch(lambda x: Array3f(x, 0, 1)) == "[[2, 0, 1],\n [3, 0, 1]]\n"
    assert in_branch(lambda x: Complex2f(x, 1)) == "[2+1j,\n 3+1j]\n"
    assert in_branch(lambda x: ArrayXf(x, x + 1)) == "[[2, 3],\n [3, 4]]\n"
    assert in_branch(lambda x: Matrix2f(x)).count("[[2, 0],") == 1
    text = in_branch(tree)
    assert "o=[[2, 0, 1]," in text and "t=[2, 3]" in text and "'n': 5" in text
    assert in_branch("{} {x} {{}}", "text", x=lambda x: x, end="!") == "text [2, 3] {}!"


def test_active_and_limit() -> None:
    assert in_branch(lambda x: x, active=lambda x: x > 2) == "[3]\n"
    assert in_branch(lambda x: x, active=lambda x: x > 3) == ""
    assert in_branch(lambda x: x, active=False) == ""
    assert in_branch("{thread_id}", active=lambda x: x > 2) == "[2]\n"
    with pytest.warns(RuntimeWarning, match="only captured 1 of 2 available outputs"):
        assert in_branch(lambda x: x, limit=1) == "[2]\n"
    assert in_branch(lambda x: x, limit=-1) == "[2, 3]\n"


def test_faults_are_found_at_once() -> None:
    for fmt in ("{", "{1}", "{name}"):
        with pytest.raises(RuntimeError, match="position"):
            in_branch(fmt, lambda x: x)

    def body(i: Any) -> Any:
        dr.print(i, mode="evaluated")
        return (i + 1,)

    with pytest.raises(RuntimeError, match="symbolic"):
        dr.while_loop((UInt(0),), lambda i: i < 2, body)
    check_that_all_is_well()


def test_lanes_that_do_not_get_there() -> None:
    def work(file: Any) -> Any:
        def body(i: Any) -> Any:
            def odd(i: Any) -> Any:
                dr.print("{i} of {thread_id}", i=i, file=file)
                return i + 2

            return (dr.if_stmt((i,), (i & 1) == 1, odd, lambda i: i + 1),)

        return dr.while_loop((UInt(0, 3, 4, 9),), lambda i: i < 6, body)

    assert printed(work) == "[1, 3, 5, 3, 5, 5] of [0, 0, 0, 1, 1, 2]\n"


def test_assertions(capfd: pytest.CaptureFixture[str]) -> None:
    def loop() -> None:
        def body(i: Any) -> Any:
            dr.assert_true(i < 2, "found {}", i, tb_depth=1)
            dr.assert_false(i == 1)
            dr.assert_equal(i, UInt(0, 1, 2), "differs: {}", i, tb_skip=100)
            return (i + 1,)

        dr.eval(dr.while_loop((UInt(0, 1, 2),), lambda i: i < 3, body))
        finish()

    loop()
    assert capfd.readouterr().err == ""
    with dr.scoped_set_flag(dr.JitFlag.Debug, True):
        loop()
    text = capfd.readouterr().err
    assert "Assertion failure: found [2, 2, 2]\n" in text
    assert 'dr.assert_true(i < 2, "found {}", i, tb_depth=1)' in text
    assert "Assertion failure!\n" in text and "dr.assert_false(i == 1)" in text
    assert "Assertion failure: differs: [1, 2, 2]\n" in text
    assert "dr.assert_equal" not in text and "asserts.py" not in text
    check_that_all_is_well()


def test_an_assertion_that_holds_says_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with dr.scoped_set_flag(dr.JitFlag.Debug, True):
        x = Float(1, 2)
        dr.if_stmt((x,), x > 1, lambda x: dr.assert_true(x == 2), lambda x: None)
        first = Bool(True, False)
        dr.if_stmt((x,), first, lambda x: dr.assert_true(x == 1), lambda x: None)
        dr.eval()
        finish()
    assert capfd.readouterr().err == ""
