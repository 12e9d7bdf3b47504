"""Ctrl-C stops what is being computed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

import drjit as dr
import pytest
from drjit.llvm import Float

SECONDS = 20  # a wait that is not interrupted takes longer, on any machine


@pytest.fixture
def handlers() -> Iterator[None]:
    """The handler of SIGINT is what it was before, after the test."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def long_computation() -> Float:
    """Takes minutes: thousands of operations on many lanes."""
    x = dr.arange(Float, 20_000_000)
    for _ in range(20_000):
        x = dr.fma(x, 0.999, 1e-3)
    return x


def interrupted(wait: Callable[[], object]) -> BaseException:
    """What a wait raises when SIGINT comes in its midst."""
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    with pytest.raises((KeyboardInterrupt, RuntimeError)) as caught:
        wait()
    timer.join()
    assert time.monotonic() - begin < SECONDS
    return caught.value


def test_keyboard_interrupt(handlers: None) -> None:
    x = long_computation()
    assert isinstance(interrupted(lambda: x[3]), KeyboardInterrupt)
    with pytest.raises(RuntimeError, match="interrupted"):  # it has no value
        x[3]
    y = x + 1  # nor has what depends on it
    with pytest.raises(RuntimeError, match="interrupted"):
        y[3]
    assert dr.all(dr.arange(Float, 10) + 1 == Float(range(1, 11)))


def test_sync_thread(handlers: None) -> None:
    x = long_computation()
    dr.eval(x)
    assert isinstance(interrupted(dr.sync_thread), KeyboardInterrupt)
    dr.sync_thread()  # reported once


def test_own_handler(handlers: None) -> None:
    """A handler of the program is called, and what it decides counts."""
    calls: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        calls.append(number)

    assert dr.arange(Float, 3)[2] == 2  # a wait just before
    signal.signal(signal.SIGINT, handler)
    x = long_computation()
    assert isinstance(interrupted(lambda: x[3]), RuntimeError)
    assert calls == [signal.SIGINT]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forked_process(handlers: None) -> None:
    """Ctrl-C ends what a child of the process computes."""
    x = dr.arange(Float, 10)
    assert x[3] == 3
    child = os.fork()
    if child == 0:
        code = 1
        try:
            long_computation()[3]
        except KeyboardInterrupt:
            code = 7
        finally:
            os._exit(code)
    time.sleep(0.5)
    begin = time.monotonic()
    os.kill(child, signal.SIGINT)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert time.monotonic() - begin < SECONDS


def test_nothing_runs(handlers: None) -> None:
    """Outside of waits Ctrl-C is Python's alone; later work is not affected."""
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    assert (Float(1, 2) + 1)[1] == 3


def test_frozen_loop(handlers: None) -> None:
    """One that the host runs, of commands that are over before anybody can ask."""

    @dr.freeze
    def count(x: Float, step: Float) -> Float:
        return dr.while_loop(
            (x, step),
            lambda x, step: x < 10,
            lambda x, step: (x + step, step),
            mode="evaluated",
        )[0]

    for x, step in ((0, 3), (1, 3), (1, 2)):
        assert dr.all(count(Float(x, x + 2), Float(step)) >= 10)
    recorded = count.n_recordings
    assert isinstance(
        interrupted(lambda: count(Float(1, 2), Float(0))), KeyboardInterrupt
    )
    dr.sync_thread()  # reported once
    assert dr.all(count(Float(1, 3), Float(2)) == Float(11, 11))
    assert count.n_recordings == recorded
