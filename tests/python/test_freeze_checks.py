"""Recordings of what is not certain are checked: now and then the function runs, and
what it does is compared with what was recorded."""

from __future__ import annotations

import random
import sys
import types
from collections.abc import Callable
from typing import Any

import drjit as dr
import numpy as np
import pytest
from drjit.llvm import Array3f, Float, TensorXf, UInt

MODES = dr.KernelRecordingMode
CHECK_ALL, CHECK_NONE = dr.JitFlag.FreezingCheckAll, dr.JitFlag.FreezingCheckNone


def ramp(n: int) -> Float:
    made = dr.arange(Float, n)
    dr.eval(made)
    return made


def test_what_is_not_certain() -> None:
    """It is listed, and the function is called again at some repetitions."""

    class Settings:
        pass

    settings = Settings()
    vars(settings)["factor"] = 2.0
    name = "fac" + "tor"

    @dr.freeze
    def f(x: Float) -> Float:
        return x * getattr(settings, name)

    assert dr.all(f(ramp(4)) == ramp(4) * 2)
    assert "not certain: it calls builtins.getattr()" in f.explain()
    settings.factor = 3.0  # type: ignore[attr-defined]
    found = [bool(dr.all(f(ramp(4)) == ramp(4) * 3)[0]) for _ in range(5)]
    assert found[2:] == [True] * 3 and f.n_recordings == 1


def test_first_imports_are_certain() -> None:
    """As those of functions of this package that are written in Python."""

    @dr.freeze
    def f(x: Float) -> Float:
        import colorsys

        return x * colorsys.rgb_to_hsv(1, 0, 0)[2]

    sys.modules.pop("colorsys", None)
    assert dr.all(f(ramp(4)) == ramp(4))
    assert "colorsys" in sys.modules and "not certain" not in f.explain()


NAME = "ask" + "ed"  # who looks for names in code does not find it


def asking(act: Callable[..., Any], **options: Any) -> tuple[Any, Any]:
    """A frozen function that does what an attribute says, and says that it does."""
    world = types.SimpleNamespace()
    setattr(world, NAME, act)

    @dr.freeze(**options)
    def f(x: Any) -> Any:
        print("called")
        return getattr(world, NAME)(x)

    return f, world


def was_called(capsys: pytest.CaptureFixture[str]) -> bool:
    return "called" in capsys.readouterr().out


def test_when_it_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    f, _ = asking(lambda x: x * 2 + 1)
    calls = []
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
        for k in range(1, 80):
            x = ramp(4 + k % 3)
            dr.kernel_history_clear()
            assert dr.all(f(x) == x * 2 + 1)
            modes = {entry["recording_mode"] for entry in dr.kernel_history()}
            expected = MODES.Recorded if k == 1 else MODES.Replayed
            assert expected in modes and len(modes - {MODES.Inactive}) == 1
            if was_called(capsys):
                calls.append(k)
    assert calls == [1, 4, 11, 68]
    assert f.n_recordings == f.n_cached_recordings == 1


def test_differences(capsys: pytest.CaptureFixture[str]) -> None:
    """Each replaces the recording; after three, the function is called each time."""
    f, world = asking(lambda x: x)
    wrong = []
    for k in range(40):
        setattr(world, NAME, lambda x, k=k // 8: x + k)
        if not dr.all(f(ramp(4)) == ramp(4) + k // 8):
            wrong.append(k)
    assert wrong == [8, 9, *range(16, 20), *range(24, 30)]
    text = f.explain()
    assert "checks have found that it does not do the same each time" in text
    assert "called each time" in text and "it calls builtins.getattr()" in text
    assert f.n_cached_recordings == 0 and f.n_recordings == 1
    error = capsys.readouterr().err
    assert error.count("'f' cannot be repeated: checks have found") == 1
    for k in range(3):
        setattr(world, NAME, lambda x, k=k: x - k)
        assert dr.all(f(ramp(4)) == ramp(4) - k) and was_called(capsys)
    f.clear()
    f(ramp(4)), f(ramp(4))
    assert f.n_recordings == f.n_cached_recordings == 1


def test_strict() -> None:
    f, world = asking(lambda x: x, strict=True)
    with dr.scoped_set_flag(CHECK_ALL, True):
        f(ramp(4))
        for k in range(3):
            setattr(world, NAME, lambda x, k=k: x + k + 1)
            if k < 2:
                assert dr.all(f(ramp(4)) == ramp(4) + k + 1)
                continue
            for _ in range(2):
                with pytest.raises(RuntimeError, match="not do the same each time"):
                    f(ramp(4))


def test_flags(capsys: pytest.CaptureFixture[str]) -> None:
    f, world = asking(lambda x: x + 1)
    with dr.scoped_set_flag(CHECK_NONE, True):
        for k in range(20):
            f(ramp(4))
            assert was_called(capsys) == (k == 0)
        with dr.scoped_set_flag(CHECK_ALL, True):
            f(ramp(4))
            assert was_called(capsys)
    with dr.scoped_set_flag(CHECK_ALL, True):
        for _ in range(5):
            f(ramp(4))
            assert was_called(capsys) and f.n_recordings == 1
        setattr(world, NAME, lambda x: x + 2)
        assert dr.all(f(ramp(4)) == ramp(4) + 2)

    @dr.freeze
    def certain(x: Float) -> Float:
        print("called")
        return x * 2

    certain(ramp(4))
    with dr.scoped_set_flag(CHECK_ALL, True):
        certain(ramp(4)), was_called(capsys)
        certain(ramp(5))
        assert was_called(capsys) and certain.n_recordings == 1
    certain(ramp(4))
    assert not was_called(capsys)


DIFFERENT = {
    "literal": (lambda x: x * 2, lambda x: x * 3),
    "result": (lambda x: Float(2), lambda x: Float(3)),
    "operation": (lambda x: x + x, lambda x: x - x),
    "constant": (lambda x: x + Float(1, 2, 3, 4), lambda x: x + Float(1, 2, 3, 5)),
    "type": (lambda x: x, lambda x: dr.reinterpret_array(UInt, x)),
    "input": (lambda x: x, lambda x: x + 0.5 - 0.5),
    "value": (lambda x: (x, 0.0), lambda x: (x, -0.0)),
    "class": (lambda x: (x, 1), lambda x: (x, True)),
    "text": (lambda x: (x, "a"), lambda x: (x, "b")),
    "set": (lambda x: {1, 2}, lambda x: {1, 3}),
    "containers": (lambda x: [x, x], lambda x: (x, x)),
    "keys": (lambda x: {"a": x, "b": 1}, lambda x: {"b": 1, "a": x}),
    "objects": (lambda x: [Float(x)] * 2, lambda x: [Float(x), Float(x)]),
    "components": (lambda x: Array3f(x, 1, 2), lambda x: Array3f(1, x, 2)),
    "shape": (lambda x: TensorXf(x, (2, 2)), lambda x: TensorXf(x, (4, 1))),
    "reduction": (dr.sum, dr.max),
    "block": (lambda x: dr.block_sum(x, 2), lambda x: dr.block_sum(x, 4)),
    "direction": (lambda x: dr.cumsum(x), lambda x: dr.cumsum(x, reverse=True)),
    "sorting": (dr.sort, lambda x: dr.sort(x, descending=True)),
    "number": (lambda x: dr.width(x), lambda x: dr.width(x) + 1),
    "size": (
        lambda x: dr.zeros(Float, dr.width(x)),
        lambda x: dr.zeros(Float, dr.width(x) * 2),
    ),
}


def shown(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 2:
        return "list", value[0] is value[1], str(value)
    return type(value), repr(value)


@pytest.mark.parametrize("kind", DIFFERENT)
def test_what_is_compared(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = DIFFERENT[kind]
    f, world = asking(old)
    f(ramp(4))  # there are names that are seen for the first time
    with dr.scoped_set_flag(CHECK_ALL, True):
        for _ in range(3):
            assert shown(f(ramp(4))) == shown(old(ramp(4)))
    assert f.n_recordings == f.n_cached_recordings == 1
    setattr(world, NAME, new)
    with dr.scoped_set_flag(CHECK_ALL, True):
        for _ in range(2):
            assert shown(f(ramp(4))) == shown(new(ramp(4)))
    was_called(capsys)
    assert shown(f(ramp(4))) == shown(new(ramp(4)))
    assert not was_called(capsys), f.explain()


def test_random_numbers() -> None:
    """Those of Python's, which no recording can give."""

    @dr.freeze
    def f(x: Float) -> Float:
        return x * random.randint(0, 1 << 20)

    with dr.scoped_set_flag(CHECK_ALL, True):
        found = {float(f(Float(1, 1))[0]) for _ in range(10)}
    assert len(found) > 5 and "it calls random.randint()" in f.explain()


def test_changes() -> None:
    """What is checked happens once."""

    @dr.freeze
    def f(counts: UInt, world: Any) -> None:
        dr.scatter_add(counts, UInt(1), UInt(getattr(world, NAME), 2))

    world = types.SimpleNamespace()
    setattr(world, NAME, 0)
    counts = dr.opaque(UInt, 0, 3)
    for k in range(12):
        f(counts, world)
        assert list(counts) == [k + 1, 0, k + 1]
    assert f.n_recordings == 1


def test_derivatives() -> None:
    from drjit.llvm.ad import Float as Tracked

    f, world = asking(lambda x: x * x)
    for _ in range(12):
        x = Tracked(ramp(3))
        dr.enable_grad(x)
        y = f(x)
        dr.backward(y)
        assert dr.all(dr.grad(x) == 2 * ramp(3)) and f.n_recordings == 1
    setattr(world, NAME, lambda x: x * x * x)
    with dr.scoped_set_flag(CHECK_ALL, True):
        x = Tracked(ramp(3))
        dr.enable_grad(x)
        dr.backward(f(x))
    assert dr.all(dr.grad(x) == 3 * ramp(3) * ramp(3))


def test_errors_do_not_end_it(capsys: pytest.CaptureFixture[str]) -> None:
    f, world = asking(lambda x: x + 1)
    for _ in range(3):
        f(ramp(4))

    def fail(x: Float) -> Float:
        raise ValueError("once")

    setattr(world, NAME, fail)
    with pytest.raises(ValueError, match="once"):
        f(ramp(4))
    setattr(world, NAME, lambda x: x + 1)
    was_called(capsys)
    assert dr.all(f(ramp(4)) == ramp(4) + 1) and was_called(capsys)
    assert dr.all(f(ramp(4)) == ramp(4) + 1) and not was_called(capsys)
    assert f.n_recordings == 1


def test_loops_and_reads_are_no_differences() -> None:
    """What depends on contents is another recording, and so may be what depends on
    sizes."""

    def halve(x: Float) -> Any:
        return dr.while_loop(
            (x,), lambda x: dr.all(x > 1), lambda x: (x / 2,), mode="evaluated"
        )

    def read(x: Float) -> Float:
        return x + 1 if x[0] > 1 else x - 1

    for act in (halve, read):
        f, _ = asking(act, allow_reads=True)
        with dr.scoped_set_flag(CHECK_ALL, True):
            for k in range(12):
                x = ramp(4) + (k * 7) % 5
                dr.eval(x)
                assert str(f(x)) == str(act(x))
        assert "called each time" not in f.explain()


# ------------------------------------------------------------------ memory of others


def at_page(size: int, ends: bool) -> Float:
    """An array in memory of NumPy's, which begins a page, or ends one."""
    whole = np.arange(size + 2048, dtype=np.float32)
    start = -whole.ctypes.data % 4096 // 4
    start += -size % 1024 if ends else 0
    return Float(whole[start : start + size])


@pytest.mark.parametrize("flag", [CHECK_NONE, CHECK_ALL])
@pytest.mark.parametrize("ends", [False, True])
def test_ends_of_pages(ends: bool, flag: Any) -> None:
    """Where memory lies makes no difference: what ends a page is copied, since kernels
    read beyond it. Checks do not compare these."""
    f = dr.freeze(lambda x: (x * 2 + 1, x))
    with dr.scoped_set_flag(flag, True):
        for size in (5, 1000, 1023, 3001):
            for x in (at_page(size, ends), at_page(size, not ends), ramp(size)):
                found, same = f(x)
                assert dr.all(found == x * 2 + 1) and same.index == x.index
    assert "called each time" not in f.explain()
    assert flag == CHECK_ALL or f.n_recordings == 1
