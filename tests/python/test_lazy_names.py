"""Names that are found when first asked for: all of them, and where a module fails."""

from __future__ import annotations

import subprocess
import sys

import pytest

MODULES = (
    "drjit drjit.ad drjit.auto drjit.auto.ad drjit.config drjit.dda drjit.detail "
    "drjit.hashgrid drjit.interop drjit.llvm drjit.llvm.ad drjit.nn drjit.opt "
    "drjit.random drjit.scalar"
).split()

# Makes one module fail whenever it is imported, until `broken` is empty.
BREAK = """
import sys
class Finder:
    broken, count = {module!r}, 0
    def find_spec(self, name, path=None, target=None):
        if name != self.broken:
            return None
        self.count += 1
        raise {error}
finder = Finder()
sys.meta_path.insert(0, finder)
import drjit as dr
"""


def run_fresh(code: str) -> list[str]:
    """The lines that a new interpreter prints."""
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_every_public_name_can_be_looked_at() -> None:
    """In an interpreter that has not used any: each name that dir() shows."""
    code = f"""
import importlib
for module in {MODULES}:
    module = importlib.import_module(module)
    names = [name for name in dir(module) if name[0] != "_"]
    for name in names:
        getattr(module, name)
    print(module.__name__, len(names) > 0)
"""
    assert run_fresh(code) == [f"{name} True" for name in MODULES]


def test_what_dir_shows_of_the_package_is_there() -> None:
    code = """
import drjit as dr
print([name for name in dir(dr) if not hasattr(dr, name)])
"""
    assert run_fresh(code) == ["[]"]


@pytest.mark.parametrize(
    "module, others",
    [
        ("_math.color", []),
        ("_freeze.function", ["_freeze.load"]),  # imports it
        ("ast", []),
        ("random", []),
        ("interop", []),
    ],
)
def test_a_module_that_fails_takes_no_others_along(
    module: str, others: list[str]
) -> None:
    """The names of the others are bound; its own raise its error, each time."""
    code = BREAK.format(module=f"drjit.{module}", error="OSError('broken')") + (
        """
dr.clip
missing = {*dr._HOME, *dr._MODULES} - set(vars(dr))
print(sorted(missing))
errors = []
for name in [*sorted(missing)] * 3:
    before = finder.count
    try:
        getattr(dr, name)
    except OSError as error:
        errors.append((str(error), finder.count - before))
print(len(errors) == 3 * len(missing), set(errors), "__getattr__" in vars(dr))
print(dr.clip(2, 0, 1), dr.sqr(3))
"""
    )
    tables = "import drjit as dr; print(dr._PYTHON)"
    (table,) = run_fresh(tables)
    names = eval(table)
    wanted = [] if module == "interop" else names[module].split()
    wanted += [name for other in others for name in names[other].split()]
    wanted += [module] if module in ("interop", "random") else []
    assert run_fresh(code) == [
        str(sorted(wanted)), "True {('broken', 1)} True", "1 9",
    ]  # fmt: skip


def test_a_failing_module_is_the_first_to_be_used() -> None:
    """Its error is raised as it is; what comes next is found."""
    code = BREAK.format(module="drjit.random", error="SyntaxError('broken')") + (
        """
for _ in range(2):
    try:
        dr.rng
    except SyntaxError as error:
        print(type(error).__name__, error, error.__context__)
print("clip" in vars(dr), dr.clip(2, 0, 1), "sqr" in vars(dr))
"""
    )
    assert run_fresh(code) == ["SyntaxError broken None"] * 2 + ["False 1 True"]


def test_a_module_that_works_later_is_found_then() -> None:
    """As soon as all names are bound, nothing slows the others down."""
    code = BREAK.format(module="drjit._math.color", error="ImportError('broken')") + (
        """
dr.clip
print("__getattr__" in vars(dr))
finder.broken = None
print(callable(dr.srgb_to_linear), "__getattr__" in vars(dr))
print(set(dr._HOME) <= set(vars(dr)), hasattr(dr, "nothing"))
"""
    )
    assert run_fresh(code) == ["True", "True False", "True False"]


def test_an_interrupt_is_none_of_these_errors() -> None:
    """It reaches the program, and the next use finds everything."""
    code = BREAK.format(module="drjit.random", error="KeyboardInterrupt") + (
        """
try:
    dr.clip
except KeyboardInterrupt:
    print("interrupted")
finder.broken = None
print(dr.rng.__name__, "__getattr__" in vars(dr))
"""
    )
    assert run_fresh(code) == ["interrupted", "rng False"]


def test_star_import_names_the_error() -> None:
    """It asks for all names."""
    code = BREAK.format(module="drjit._math.color", error="OSError('broken')") + (
        """
try:
    exec("from drjit import *")
except OSError as error:
    print(error)
"""
    )
    assert run_fresh(code) == ["broken"]
