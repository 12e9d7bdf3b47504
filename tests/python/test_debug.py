"""Flags for a scope, profiled ranges and labels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import drjit as dr
import pytest

DEBUG, BLOCKING = dr.JitFlag.Debug, dr.JitFlag.LaunchBlocking


def test_flag_for_a_scope() -> None:
    assert not dr.flag(DEBUG)
    with dr.scoped_set_flag(DEBUG) as value:
        assert value is None and dr.flag(DEBUG)
        with dr.scoped_set_flag(DEBUG, False):
            assert not dr.flag(DEBUG)
        assert dr.flag(DEBUG)
        with dr.scoped_set_flag(flag=DEBUG, value=True):
            assert dr.flag(DEBUG)
        assert dr.flag(DEBUG)
    assert not dr.flag(DEBUG)


def test_flag_after_an_exception() -> None:
    with pytest.raises(KeyError), dr.scoped_set_flag(DEBUG, True):
        raise KeyError
    assert not dr.flag(DEBUG)


def test_flag_scope_that_cannot_be_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise KeyError("gettrace")

    scope = dr.scoped_set_flag(DEBUG, True)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "gettrace", fail)
        with pytest.raises(KeyError, match="gettrace"), scope:
            raise AssertionError
    assert not dr.flag(DEBUG)
    with pytest.raises(RuntimeError, match="without having been entered"):
        scope.__exit__(None, None, None)
    with scope:
        assert dr.flag(DEBUG)
    assert not dr.flag(DEBUG)


def test_flag_scope_is_reusable() -> None:
    scope = dr.scoped_set_flag(DEBUG, True)
    with scope:
        with scope:
            assert dr.flag(DEBUG)
        assert dr.flag(DEBUG)
    assert not dr.flag(DEBUG)


def test_gather_from_one_entry(capfd: pytest.CaptureFixture[str]) -> None:
    one, two = dr.llvm.UInt(7), dr.llvm.UInt(7, 8)
    dr.make_opaque(one)
    index = dr.llvm.UInt(0, 1, 5)
    with dr.scoped_set_flag(DEBUG):
        assert dr.gather(dr.llvm.UInt, one, index).numpy().tolist() == [7, 7, 7]
        assert "out-of-bounds" not in capfd.readouterr().err
        assert dr.gather(dr.llvm.UInt, two, index).numpy().tolist() == [7, 8, 0]
        assert "out-of-bounds" in capfd.readouterr().err


def test_flag_for_a_function() -> None:
    @dr.scoped_set_flag(DEBUG, True)
    def function(depth: int) -> bool:
        return dr.flag(DEBUG) and (depth == 0 or function(depth - 1))

    assert function(2)
    assert not dr.flag(DEBUG)


def test_several_flags() -> None:
    with dr.scoped_set_flag(BLOCKING, True):
        with dr.scoped_set_flag(DEBUG | BLOCKING, True):
            assert dr.flag(DEBUG) and dr.flag(BLOCKING)
        assert not dr.flag(DEBUG) and dr.flag(BLOCKING)
    assert not dr.flag(BLOCKING)


def test_flag_refuses() -> None:
    for args in (("a", True), (DEBUG, 1), (DEBUG, None), (), (None, True)):
        with pytest.raises(TypeError):
            dr.scoped_set_flag(*args)
    with pytest.raises(ValueError):
        dr.scoped_set_flag(1 << 60, True)


def test_profile_ranges() -> None:
    with dr.profile_range("outer") as value:
        assert value is None
        with dr.profile_range("inner"), dr.profile_enable():
            pass
    with pytest.raises(KeyError), dr.profile_range("failing"):
        raise KeyError
    with dr.profile_enable(False):
        pass
    for bad in (1, None):
        with pytest.raises(TypeError):
            dr.profile_range(bad)
        with pytest.raises(TypeError):
            dr.profile_enable(bad)


def test_profile_file(tmp_path: Path) -> None:
    """Ranges reach the file in the order and nesting of the program."""
    program = (
        "import drjit as dr\n"
        "with dr.profile_range('outer'):\n"
        "    with dr.profile_range('inner'):\n"
        "        dr.profile_mark('point')\n"
        "    with dr.profile_enable(), dr.profile_enable(False):\n"
        "        pass\n"
    )
    path = tmp_path / "profile.json"
    subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "DRJIT_PROFILE": str(path)},
        check=True,
        timeout=60,
    )
    # The closing bracket is optional in this format.
    events = json.loads(path.read_text().rstrip().rstrip("]") + "]")
    found = [(event["ph"], event["name"]) for event in events if event["ph"] in "BiE"]
    expected = [("B", "outer"), ("B", "inner"), ("i", "point"), ("E", "")]
    expected += [("B", "profile_enable"), ("E", ""), ("E", "")]
    assert found == expected
    times = [event["ts"] for event in events if event["ph"] in "BiE"]
    assert times == sorted(times)


class Pair:
    DRJIT_STRUCT = {"a": int, "b": int}

    def __init__(self, a: Any = 0, b: Any = 0) -> None:
        self.a = a
        self.b = b


def test_labels() -> None:
    m = dr.llvm
    x, y, v = m.Float(1, 2), m.Int(3, 4), m.Array2f([1, 2], [3, 4])
    dr.set_label(x, "first")
    assert x.label == "first"
    dr.set_label(x=x, y=y)
    assert x.label == "x" and y.label == "y"
    dr.set_label(v, "v")
    assert v.x.label == "v_0" and v.y.label == "v_1"
    tensor = m.TensorXf([1, 2])
    dr.set_label(tensor, "t")
    assert tensor.array.label == "t"
    dr.set_label({"k": [x, (y,)]}, "tree")
    assert x.label == "tree_k_0" and y.label == "tree_k_1_0"
    pair = Pair(m.Float(7, 8), 5)
    dr.set_label(pair, "pair")
    assert pair.a.label == "pair_a"
    # Labels do not change values.
    assert list(v.x) == [1, 2] and list(x) == [1, 2]


def test_labels_pass_over_others(m: ModuleType) -> None:
    values: list[Any] = [5, "text", dr.scalar.Array3f(1), [], m.Array3f]
    for value in values:
        dr.set_label(value, "name")
    dr.set_label()
    dr.set_label(a=5)


def test_labels_refuse() -> None:
    x = dr.llvm.Float(1, 2)
    for args, kwargs in (((x,), {}), ((x, 5), {}), ((x, "a", "b"), {})):
        with pytest.raises(TypeError):
            dr.set_label(*args, **kwargs)
    with pytest.raises((TypeError, RuntimeError)):
        dr.set_label(arg0=x, arg1="name")
