"""``drjit.freeze``: what it says of recordings, how many it keeps, and ``strict``.

Warnings are lines of the log: which inputs differ is known from the calls of the test.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import Mock, call

import drjit as dr
import pytest
from drjit.llvm import Float, UInt
from drjit.llvm.ad import Float as Tracked


def ramp(size: int) -> Float:
    x = dr.arange(Float, size) * 0.5 + 1
    dr.eval(x)
    return x


def order(size: int) -> UInt:
    i = UInt(size - 1) - dr.arange(UInt, size)
    dr.eval(i)
    return i


@contextmanager
def log_level(level: dr.LogLevel) -> Iterator[None]:
    before = dr.log_level()
    dr.set_log_level(level)
    try:
        yield
    finally:
        dr.set_log_level(before)


def test_warning(capsys: pytest.CaptureFixture[str]) -> None:
    @dr.freeze(warn_after=1)
    def f(x: Any) -> Any:
        return x

    with log_level(dr.LogLevel.Warn):
        f(ramp(4))
        f(ramp(5))  # a repetition
        assert capsys.readouterr() == ("", "")
        f(order(4))
        assert capsys.readouterr() == (
            "",
            "drjit.freeze(): 'f' has been recorded 2 times; what differed the last "
            "time: args[0]: Float of 4 entries before, UInt of 4 entries now\n",
        )


@pytest.mark.parametrize("after", [0, 1, 3, 10])
def test_when_warnings_come(after: int, capsys: pytest.CaptureFixture[str]) -> None:
    """At each recording from that many on, and never at a repetition."""

    @dr.freeze(warn_after=after)
    def step(x: Float, k: Any, **rest: Any) -> Float:
        return x + k

    with log_level(dr.LogLevel.Warn):
        for k in range(14):
            for _ in range(2):
                step(ramp(4), k, deep={"a": [k, "same"]})
            err = capsys.readouterr().err
            lines = err.splitlines()
            assert len(lines) == (k >= after), err
            if lines and k:
                changes = (
                    f"args[1]: {k - 1} before, {k} now; "
                    f"kwargs['deep']['a'][0]: {k - 1} before, {k} now"
                )
                assert lines == [
                    f"drjit.freeze(): 'step' has been recorded {k + 1} times; what "
                    f"differed the last time: {changes}"
                ]
    with log_level(dr.LogLevel.Error):
        step(ramp(4), 99)
    assert capsys.readouterr() == ("", "")


def test_what_warnings_name(capsys: pytest.CaptureFixture[str]) -> None:
    class Failing:
        def __repr__(self) -> str:
            raise ValueError("no text")

    @dr.freeze(warn_after=1)
    def f(x: Any, other: Any, *rest: Any) -> Any:
        return x + 1

    def changes(*args: Any) -> str:
        capsys.readouterr()
        f(*args)
        return capsys.readouterr().err.partition("what differed the last time: ")[2]

    x = ramp(4)
    with log_level(dr.LogLevel.Warn):
        f(x, 1)
        assert changes(ramp(5), True) == "args[1]: 1 before, True now\n"
        assert changes(ramp(5), 1.0) == "args[1]: True before, 1.0 now\n"
        assert changes(dr.opaque(Float, 1), 1.0) == (
            "args[0]: Float of 5 entries before, Float of 1 entry now\n"
        )
        assert "args[1]: 1.0 before, not there now" not in changes(x, None)
        text = changes(x, "t" * 10**7)
        assert "args[1]: None before, 'ttt" in text and len(text) < 100
        assert len(changes(x, b"b" * 10**7)) < 200
        assert "int of 16610 bits now" in changes(x, 10**5000)
        assert f.n_recordings == 8
        assert "args[1]: set of 1000 entries before" in (
            changes(x, set(range(1000))) + changes(x, 0)
        )
        failing = changes(x, Failing())
        assert f"{Failing.__name__} at 0x" in failing
        assert "args[1]: Failing at 0x" in changes(x, object())
        assert "args[1]: object at" in changes(x, 0, *range(5000))
        many = changes(x, 0, *range(7000, 0, -1))
        assert many.startswith("args[2]: 0 before, 7000 now; args[3]: 1 before, 6999")
        assert many.count(";") == 3 and many.endswith("; and 993 more\n")
        long = changes(x, {"k" * 10**6: 1})
        assert len(long) < 500
    # Entries of the same kind, of other sizes: the recording does not serve these.
    with log_level(dr.LogLevel.Warn):
        g = dr.freeze(lambda x: float(dr.width(x)) + x, warn_after=1)
        g(ramp(4))
        capsys.readouterr()
        g(ramp(5))
        assert "args[0]: Float of 4 entries before, Float of 5 entries now\n" in (
            capsys.readouterr().err
        )


def test_nothing_is_described_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What warnings need is the recording before, and no other."""
    from drjit._freeze import notes

    seen: list[Any] = []
    describe = notes.describe

    def counted(inputs: Any) -> Any:
        seen.append(inputs[0][1])
        return describe(inputs)

    monkeypatch.setattr(notes, "describe", counted)
    f = dr.freeze(lambda x, k: x + k, warn_after=5)
    with log_level(dr.LogLevel.Warn):
        for k in range(7):
            f(ramp(4), k)
            f(ramp(4), k)
    assert seen == [4, 5, 6]
    with log_level(dr.LogLevel.Error):
        f(ramp(4), 7)
    assert seen == [4, 5, 6]


def test_changes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    @dataclass
    class Holder:
        z: Any

    @dr.freeze(warn_after=1)
    def f(x: Any, n: int, items: list[Any], h: Any) -> Any:
        return x

    with log_level(dr.LogLevel.Debug):
        f(ramp(4), 1, [Float(1), "a"], h=Holder(ramp(2)))
        assert "again" not in capsys.readouterr().out
        f(order(4), 2, [Float(1), "a"], h=Holder(Float(3)))
        out = capsys.readouterr().out
        f(order(4), 2, [Float(1)], h=Holder(None))
        later = capsys.readouterr().out
    assert "f is recorded again:" in out
    assert "args[0]: Float of 4 entries before, UInt of 4 entries now" in out
    assert "args[1]: 1 before, 2 now" in out
    assert "kwargs['h'].z: Float of 2 entries before, Float, literal [3] now" in out
    assert "items" not in out and "args[2]" not in out
    assert "args[2][1]: 'a' before, not there now" in later
    assert "kwargs['h'].z: Float, literal [3] before, None now" in later


@pytest.mark.parametrize("options", [{}, {"auto_opaque": False}, {"strict": True}])
def test_limit_of_none(options: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is kept, the function is called each time, and nobody is warned."""
    calls = Mock()

    @dr.freeze(limit=0, warn_after=2, **options)
    def f(x: Tracked, y: list[Tracked], k: int) -> Tracked:
        calls(k)
        y[0] = y[0] + 1
        return x * y[0] + k

    with log_level(dr.LogLevel.Warn):
        for k in range(20):
            x, y = Tracked(1, 2, 3), [Tracked(k)]
            dr.enable_grad(x)
            result = f(x, y, k % 2)
            dr.backward(result)
            assert list(y[0]) == [k + 1] and list(x.grad) == [k + 1] * 3
            assert list(result) == [i * (k + 1) + k % 2 for i in (1, 2, 3)]
            assert f.n_cached_recordings == 0
    assert capsys.readouterr().err == "" and "launch" in f.explain()
    numbers = [made.args[0] for made in calls.mock_calls]
    assert numbers.count(0) >= 10 and numbers.count(1) >= 10
    with pytest.raises(RuntimeError, match="there is no recording"):
        f.save("never")


def test_recordings_that_are_used_stay() -> None:
    """Those go that were not used for the longest time."""
    f = dr.freeze(lambda x, k: x + k, limit=2)
    for k, count in ((1, 1), (2, 2), (1, 2), (3, 3), (1, 3), (3, 3), (2, 4), (1, 5)):
        assert list(f(Float(1, 2), k)) == [1 + k, 2 + k]
        assert f.n_recordings == count and f.n_cached_recordings == min(count, 2)


def test_parameters_that_are_wrong() -> None:
    for name, value, error, text in (
        ("limit", -1, ValueError, "'limit' is -1, expected at least 0"),
        ("limit", 1.5, TypeError, "'limit' is of type float, expected an int"),
        ("limit", True, TypeError, "'limit' is of type bool, expected an int"),
        ("warn_after", None, TypeError, "'warn_after' is of type NoneType, expected"),
        ("warn_after", -2, ValueError, "'warn_after' is -2, expected at least 0"),
    ):
        with pytest.raises(error, match=rf"^drjit.freeze\(\): {text}"):
            dr.freeze(lambda x: x, **{name: value})


def made(x: Float) -> Any:
    return (y for y in (x, x + 1))


def test_what_is_called_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    """A line of the log says so once, whatever is done with warnings of Python."""
    f = dr.freeze(made)
    with log_level(dr.LogLevel.Warn), warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            assert [list(y) for y in f(ramp(2))] == [[1, 1.5], [2, 2.5]]
    out, err = capsys.readouterr()
    (line,) = err.splitlines()
    assert out == "" and line.startswith("drjit.freeze(): 'made' cannot be repeated: ")
    assert "a result is an object of type generator" in line
    reason = line.partition("repeated: ")[2]
    assert f.explain() == (
        f"no recording\ncalled each time because it cannot be repeated: {reason}\n"
    )
    assert f.n_recordings == f.n_cached_recordings == 0
    with log_level(dr.LogLevel.Error):
        dr.freeze(made)(ramp(2))
    assert capsys.readouterr() == ("", "")

    @dr.freeze
    def sometimes(x: Float, k: int) -> Any:
        return made(x) if k else x + 1

    sometimes(ramp(2), 1)
    assert "called each time because" in sometimes.explain()
    sometimes(ramp(2), 0)
    assert "recorded because there was none" in sometimes.explain()


def test_strict() -> None:
    calls = Mock()

    @dr.freeze(strict=True)
    def f(x: Float, k: int) -> Any:
        calls(k)
        return made(x) if k else x + 1

    for _ in range(2):
        assert list(f(ramp(2), 0)) == [2, 2.5]
        with pytest.raises(
            RuntimeError,
            match=r"^drjit.freeze\(\): 'f' cannot be repeated: a result is an object",
        ):
            f(ramp(2), 1)
    assert calls.mock_calls == [call(0), call(1), call(1)] and f.n_recordings == 1
    assert not dr.flag(dr.JitFlag.FreezingScope)

    @dr.freeze(strict=True)
    def tracked(x: Tracked) -> Any:
        return (y for y in (x,))

    x = Tracked(1, 2)
    dr.enable_grad(x)
    with pytest.raises(RuntimeError, match="'tracked' cannot be repeated"):
        tracked(x)
    assert dr.grad_enabled(x)
    dr.backward(x * 3)
    assert list(x.grad) == [3, 3]


def test_literal_paths(capsys: pytest.CaptureFixture[str]) -> None:
    @dataclass
    class Holder:
        z: Float

    @dr.freeze
    def f(x: Float, y: Float, items: list[Float], c: Holder) -> Float:
        return x + 1

    with log_level(dr.LogLevel.Info):
        for i in range(2):
            assert "drjit.freeze" not in capsys.readouterr().out
            f(ramp(i + 2), Float(i), [Float(1), Float(i)], c=Holder(Float(i)))
        out = capsys.readouterr().out
    first, *rows = out[out.index("drjit.freeze()") :].splitlines()[:4]
    assert first.startswith("drjit.freeze(): 'f' is called with literals that are not")
    assert rows == [
        "    args[1]: 0x0 before, 0x3f800000 now",
        "    args[2][1]: 0x0 before, 0x3f800000 now",
        "    kwargs[c].z: 0x0 before, 0x3f800000 now",
    ]
