"""``drjit.load_frozen`` with a function that was edited since it was saved.

A package is written, and imported again after each edit, or in another process. The
reference is the plain function as it is then.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import drjit as dr
import pytest
from drjit._freeze.digest import code_digest, constant, digest
from drjit.llvm import Float

MAIN = '''
import functools

import frozen_tools
from drjit.llvm import Float
from frozen_helpers import Kind, Model, combined, scaled, table


def made(factor):
    offsets = [1.5, 2.5]

    def within(x):
        return x * factor + offsets[0]

    return within


within = made(2)
parts = {"bound": functools.partial(scaled, factor=3)}


def described(x, kind):
    """What it does."""
    names = {"a", "b", "c", "d"}
    if kind.name.lower() in names:
        return x * 0.5
    return x + 8.0


def step(model, x, kind, k=2.0, more=(1, 2), *, last=0.25):
    y = [value + last for value in (x * k, x + more[1])]
    z = model.forward(y[0]) + scaled(y[1]) - within(x) + parts["bound"](x)
    z = z + (lambda value: value * 4)(x) + table["first"](x) + combined(x)
    return z + frozen_tools.shifted(x) + described(x, kind) + kind.value * last


def state(model, x, kind, **rest):
    return model.hidden
'''

HELPERS = """
import enum

from drjit.llvm import Float


class Kind(enum.Enum):
    A = 1
    B = 2


class Base:
    RATE = 0.5

    def activated(self, x):
        return x * self.RATE

    @property
    def rate(self):
        return self.RATE * 3

    @staticmethod
    def raised(x):
        return x + 6


class Model(Base):
    DRJIT_STRUCT = {"weights": Float}

    def __init__(self):
        self.weights = Float(1, 2, 3)
        self.hidden = None

    def forward(self, x):
        return self.activated(x) * self.weights + self.rate + self.raised(x)


SCALE = (1, 3)


def scaled(x, factor=2):
    return shared(x) * factor + SCALE[1]


def shared(x):
    return x - 1


def unused(x):
    return x - 2


def combined(x):
    return x if shared is None else combined_twice(x)


def combined_twice(x):
    return x + 0.5 if unused is None else x + 0.25


def named(x):
    return x + 7


table = {"first": named}
"""

TOOLS = """
def shifted(x):
    return x + 11


def other(x):
    return x
"""

FILES = {"frozen_main": MAIN, "frozen_helpers": HELPERS, "frozen_tools": TOOLS}

# (module, text, what it becomes)
EDITS = [
    ("frozen_main", "k=2.0", "k=5.0"),
    ("frozen_main", "k=2.0", "k=2"),
    ("frozen_main", "more=(1, 2)", "more=(1, 3)"),
    ("frozen_main", "last=0.25", "last=0.5"),
    ("frozen_main", "z = model", "z = -model"),
    ("frozen_main", "x * k, x + more", "x / k, x + more"),
    ("frozen_main", "value * 4", "value * 5"),
    ("frozen_main", "value * 4", "value - 4"),
    ("frozen_main", "value + last", "value - last"),
    ("frozen_main", "made(2)", "made(2.5)"),
    ("frozen_main", "* factor + offsets", "* factor - offsets"),
    ("frozen_main", "factor=3", "factor=4"),
    ("frozen_main", '{"a", "b", "c", "d"}', '{"b", "c", "d", "e"}'),
    ("frozen_main", "x * 0.5", "x * 0.75"),
    ("frozen_main", "return model.hidden", "return model.hidden, 1"),
    ("frozen_helpers", "factor=2", "factor=3"),
    ("frozen_helpers", "return x - 1", "return x - 3"),
    ("frozen_helpers", "return x - 2", "return x - 4"),
    ("frozen_helpers", "x + 0.25", "x + 0.125"),
    ("frozen_helpers", "x + 7", "x - 7"),
    ("frozen_helpers", "* self.weights +", "* self.weights -"),
    ("frozen_helpers", "x * self.RATE", "x / self.RATE"),
    ("frozen_helpers", "RATE = 0.5", "RATE = 0.75"),
    ("frozen_helpers", "RATE * 3", "RATE * 4"),
    ("frozen_helpers", "return x + 6", "return x + 16"),
    ("frozen_helpers", "A = 1", "A = 3"),
    ("frozen_helpers", "(1, 3)", "(1, 4)"),
    ("frozen_tools", "x + 11", "x + 12"),
]

# What makes no difference.
SAME = [
    ("frozen_main", "\ndef step", "\n\n# Moved.\n\n\ndef step"),
    ("frozen_main", "def state", "def later():\n    pass\n\n\ndef state"),
    ("frozen_tools", "return x\n", "return x * 2\n"),
]


def write(folder: Path, module: str = "", old: str = "", new: str = "") -> None:
    for name, text in FILES.items():
        if name == module:
            assert text.count(old) == 1
            text = text.replace(old, new)
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def imported(folder: Path) -> ModuleType:
    for name in FILES:
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("frozen_main")
    finally:
        sys.path.remove(str(folder))
        sys.dont_write_bytecode = before


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    for name in FILES:
        sys.modules.pop(name, None)


def inputs(module: Any) -> tuple[Any, ...]:
    x = Float(0.5, 1, 8)
    dr.make_opaque(x)
    return module.Model(), x, module.Kind.A


def saved(folder: Path) -> Path:
    module = imported(folder)
    frozen = dr.freeze(module.step, state_fn=module.state)
    frozen(*inputs(module))
    frozen(*inputs(module))
    assert frozen.n_recordings == 1
    frozen.save(folder / "step")
    return folder / "step"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    write(folder)
    return saved(folder)


def loaded(folder: Path, file: Path) -> tuple[Any, Any]:
    module = imported(folder)
    return module, dr.load_frozen(file, module.step, state_fn=module.state)


def check(module: Any, frozen: Any) -> None:
    for _ in range(2):
        assert list(frozen(*inputs(module))) == list(module.step(*inputs(module)))


@pytest.mark.parametrize(("module", "old", "new"), EDITS)
def test_edited(
    tmp_path: Path,
    file: Path,
    module: str,
    old: str,
    new: str,
) -> None:
    write(tmp_path, module, old, new)
    edited, frozen = loaded(tmp_path, file)
    if old != "made(2)":  # the value is an input
        assert frozen.n_cached_recordings == 0
        assert "1 of 1 recordings in" in frozen.explain()
    check(edited, frozen)
    assert frozen.n_recordings == 1


@pytest.mark.parametrize(("module", "old", "new"), [("", "", ""), *SAME])
def test_same(tmp_path: Path, file: Path, module: str, old: str, new: str) -> None:
    write(tmp_path, module, old, new)
    same, frozen = loaded(tmp_path, file)
    assert frozen.n_cached_recordings == 1
    check(same, frozen)
    assert frozen.n_recordings == 0


PROGRAM = """
import pathlib, sys, test_freeze_digest as t
sys.path.insert(0, sys.argv[1])
module, frozen = t.loaded(pathlib.Path(sys.argv[1]), sys.argv[2])
t.check(module, frozen)
print(frozen.n_recordings, t.digest(module.step, module.state, module.Model))
"""


def test_other_processes(tmp_path: Path, file: Path) -> None:
    """Whatever the order of sets is, and where modules come from bytecode."""
    write(tmp_path)
    module = imported(tmp_path)
    expected = f"0 {digest(module.step, module.state, module.Model)}\n"
    for seed in ("0", "1", "7"):
        path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path), str(file)],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
        )
        assert done.stdout == expected, done.stderr


def test_the_message(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, *EDITS[0])
    level = dr.log_level()
    dr.set_log_level(dr.LogLevel.Warn)
    try:
        loaded(tmp_path, file)
        assert capsys.readouterr().err == (
            "drjit.load_frozen(): 'step' is recorded anew: 1 of 1 recordings in "
            f"'{file}' are of other code\n"
        )
        write(tmp_path)
        loaded(tmp_path, file)
        assert capsys.readouterr().err == ""
    finally:
        dr.set_log_level(level)


def test_recordings_that_still_fit(tmp_path: Path) -> None:
    """Only those are left out that have something edited among their inputs."""
    write(tmp_path)
    module = imported(tmp_path)
    frozen = dr.freeze(apply)
    frozen(module.described, Float(1, 2))
    frozen(abs, Float(1, 2))
    frozen.save(tmp_path / "apply")
    write(tmp_path, "frozen_main", "x + 8.0", "x + 9.0")
    module = imported(tmp_path)
    given = dr.load_frozen(tmp_path / "apply", apply)
    assert given.n_cached_recordings == 1
    assert list(given(abs, Float(1, 2))) == [1, 2] and given.n_recordings == 0
    assert list(given(module.described, Float(1, 2))) == [10, 11]
    assert given.n_recordings == 1


def apply(function: Callable[..., Any], x: Float) -> Any:
    return abs(x) if function is abs else function(x, dr.JitFlag.Debug)


def test_saved_again(tmp_path: Path, file: Path) -> None:
    """What was loaded without its function is still of the code it was."""
    write(tmp_path)
    module = imported(tmp_path)
    dr.load_frozen(file, state_fn=module.state).save(tmp_path / "again")
    same = dr.load_frozen(tmp_path / "again", module.step, state_fn=module.state)
    assert same.n_cached_recordings == 1
    write(tmp_path, *EDITS[0])
    assert loaded(tmp_path, tmp_path / "again")[1].n_cached_recordings == 0


# -------------------------------------------------------------------------- digests


def variants() -> list[Callable[..., Any]]:
    """Functions of which no two are the same."""
    texts = [
        "def f(x): return x",
        "def f(y): return y",
        "def f(x, /): return x",
        "def f(*, x): return x",
        "def f(x=1): return x",
        "def f(x=True): return x",
        "def f(x=1.0): return x",
        "def f(x='1'): return x",
        "def f(x=0.0): return x",
        "def f(x=-0.0): return x",
        "def f(x=()): return x",
        "def f(x=[]): return x",
        "def f(x={}): return x",
        "def f(x={1}): return x",
        "def f(x={2}): return x",
        "def f(x={1: 2}): return x",
        "def f(x=None): return x",
        "def f(*, x=None): return x",
        "def f(x): yield x",
        "async def f(x): return x",
        "def f(x): return 1",
        "def f(x): return True",
        "def f(x): return 1.0",
        "def f(x): return (1, 2)",
        "def f(x): return (1, 2.0)",
        "def f(x): return x in {'a', 'b'}",
        "def f(x): return x in {'a', 'c'}",
        "def f(x): return x + 1",
        "def f(x): return x - 1",
        "def f(x): return a",
        "def f(x): return b",
        "def f(x): return x.a",
        "def f(x): return lambda: 1",
        "def f(x): return lambda: 2",
        "def f(x): return lambda: x",
        "def f(x):\n try: return x.a\n except ValueError: return 1",
        "def f(x):\n try: return x.a\n except KeyError: return 1",
        f"def f(x): return 0x{'f' * 5000}",
    ]
    found = []
    for text in texts:
        space: dict[str, Any] = {"__name__": "variants"}
        exec(text, space)
        found.append(space["f"])
    return found


def test_digests_differ() -> None:
    found = variants()
    texts = list(map(digest, found))
    assert len(set(texts)) == len(texts)
    assert texts == list(map(digest, variants()))


def test_digests_of_what_runs() -> None:
    """The interpreter rewrites instructions of code that runs often."""

    def f(x: Any) -> Any:
        total = 0
        for k in range(4):
            total += x.real * k + len("abc")
        return total

    before = code_digest(f.__code__)
    for k in range(2000):
        f(k)
    code_digest.cache_clear()
    assert code_digest(f.__code__) == before


def test_digests_of_cycles_and_wrappers() -> None:
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    assert digest(even) != digest(odd)
    assert digest(even) == digest(dr.freeze(even))
    assert (
        digest(even)
        != digest(functools.lru_cache(even))
        != digest(functools.lru_cache(odd))
    )
    assert digest(functools.partial(pow, 2)) != digest(functools.partial(pow, 3))
    cycle: list[Any] = [even]
    cycle.append(cycle)

    def cyclic() -> Any:
        return cycle

    assert digest(cyclic) == digest(cyclic)


def test_digests_of_classes() -> None:
    def make(default: float, method: Callable[..., Any]) -> type:
        @dataclasses.dataclass
        class Point:
            x: float = default
            run = method

            def __call__(self) -> float:
                return self.x

        return Point

    one, other = (lambda self: 1), (lambda self: 2)
    assert digest(make(1, one)) == digest(make(1, one))
    assert digest(make(1, one)) != digest(make(2, one))
    assert digest(make(1, one)) != digest(make(1, other))


def test_constants() -> None:
    values = [0, False, 0.0, -0.0, 0j, "0", b"0", None, ..., (), (0,), frozenset({0})]
    values += [float("nan"), float("inf"), -1, 1e300, 10**400, (0, (0,)), slice(0)]
    texts = [constant(value) for value in values]
    assert len(set(texts)) == len(texts)
    assert constant(frozenset("abc")) == constant(frozenset("cba"))
