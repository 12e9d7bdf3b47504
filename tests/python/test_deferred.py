"""When callbacks of the core run: in order, one by one, outside of recorded bodies."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import drjit as dr
import drjit.llvm as llvm
import pytest
from drjit._flow import regions
from region_util import finish, if_stmt, while_loop


def note(number: int) -> Any:
    """A report of this number, which arrives with the next evaluation."""
    return llvm.UInt(number)


def report(function: Callable[[int], Any], number: int) -> None:
    def receive(records: list[Any], lost: int) -> None:
        function(records[0][1])

    regions.report(receive, note(number))


def test_callbacks_are_not_reentrant() -> None:
    active, deepest, order = 0, 0, []

    def receive(number: int) -> None:
        nonlocal active, deepest
        active += 1
        deepest = max(deepest, active)
        order.append(number)
        if number < 10:
            report(receive, number + 10)
            dr.eval()
            dr.sync_thread()
            for _ in range(100):
                llvm.Float(1)  # runs what is queued, unless something runs already
        active -= 1

    for number in range(4):
        report(receive, number)
    finish()
    finish()
    assert deepest == 1
    assert sorted(order[:4]) == [0, 1, 2, 3] and sorted(order[4:]) == [10, 11, 12, 13]


def test_callbacks_wait_for_the_end_of_a_recorded_body() -> None:
    inside, seen = False, []

    def receive(number: int) -> None:
        seen.append((number, inside))

    def queue(number: int) -> None:
        report(receive, number)
        dr.eval()
        dr.sync_thread()

    def tempt() -> None:
        for _ in range(1000):
            llvm.Float(1)

    def body(i: Any) -> tuple[Any]:
        nonlocal inside
        inside = True
        tempt()
        if_stmt(i > 1, (i,), lambda i: (tempt(), i)[1], lambda i: i)
        tempt()
        inside = False
        return (i + 1,)

    messages = []

    def log(level: Any, text: str) -> None:
        messages.append(inside)

    dr.set_log_callback(log, dr.LogLevel.Trace)
    try:
        while_loop((llvm.UInt(0, 1),), lambda i: i < 3, body)
        dr.eval(llvm.Float(1, 2) + 1)
        llvm.Float(1)
    finally:
        dr.set_log_callback(None)
    assert messages and not any(messages)
    queue(1)
    llvm.Float(1)
    assert seen == [(1, False)]


def test_callbacks_run_after_a_body_that_raises() -> None:
    messages = []
    dr.set_log_callback(lambda level, text: messages.append(text), dr.LogLevel.Trace)
    try:

        def body(i: Any) -> tuple[Any]:
            messages.clear()
            llvm.Float(1, 2) + 1
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            while_loop((llvm.UInt(0),), lambda i: i < 3, body)
        assert messages
    finally:
        dr.set_log_callback(None)


def test_messages_are_for_the_function_of_their_time() -> None:
    """Also where what is queued has to wait when the function is exchanged."""
    first, second = [], []

    def body(i: Any) -> tuple[Any]:
        dr.set_log_callback(lambda _, text: first.append(text), dr.LogLevel.Debug)
        one = llvm.Float(3.25)  # 0x40500000
        dr.set_log_callback(lambda _, text: second.append(text), dr.LogLevel.Debug)
        two = llvm.Float(3.75)  # 0x40700000
        dr.set_log_callback(None)
        assert not first and not second
        return (i + llvm.UInt(one + two),)

    while_loop((llvm.UInt(0),), lambda i: i < 3, body)
    llvm.Float(1)
    assert any("0x40500000" in text for text in first)
    assert not any("0x40700000" in text for text in first)
    assert any("0x40700000" in text for text in second)
    assert not any("0x40500000" in text for text in second)


def test_callbacks_are_held_while_they_run() -> None:
    class Receiver:
        def __call__(self, level: Any, text: str) -> None:
            dr.set_log_callback(None)
            gc.collect()
            calls.append(alive() is not None)

    calls: list[bool] = []
    receiver = Receiver()
    alive = weakref.ref(receiver)
    dr.set_log_callback(receiver, dr.LogLevel.Trace)
    del receiver
    dr.eval(llvm.Float(1, 2) + 1)
    for _ in range(3):
        llvm.Float(1)
    dr.set_log_callback(None)
    llvm.Float(1)
    assert calls and all(calls)
    gc.collect()
    assert alive() is None
