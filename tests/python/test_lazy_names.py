"""Names that are found when first asked for: all of them, and where a module fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MODULES = (
    "drjit drjit.ad drjit.array_api drjit.auto drjit.auto.ad drjit.config drjit.dda "
    "drjit.detail drjit.hashgrid drjit.interop drjit.llvm drjit.llvm.ad drjit.nn "
    "drjit.opt drjit.random drjit.scalar"
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


def test_a_function_takes_no_others_along() -> None:
    """Nor large ones of the standard library, which take longer than all of ours."""
    code = """
import sys
before = {*sys.modules}
import drjit as dr
from drjit.llvm import Float
dr.linspace, dr.while_loop
dr.meshgrid(Float(1, 2), Float(1, 2))
new = {*sys.modules} - before
ours = {n: type(sys.modules[n]).__name__ for n in new if n[:5] == "drjit"}
print(sorted(n for n, kind in ours.items() if kind != "_LazyModule"))
print(sorted(new & {"ast", "typing", "re", "threading", "inspect", "enum", "numpy"}))
"""
    executed = (
        "drjit drjit._core drjit._errors drjit._family drjit._lazy drjit._shape "
        "drjit._shape.axes drjit._shape.grids drjit.llvm"
    ).split()
    assert run_fresh(code) == [str(executed), "[]"]


def test_a_module_of_functions_that_fails_takes_no_others_along() -> None:
    """Its functions raise its error at each use, in whatever way they are used."""
    code = BREAK.format(module="drjit._math.color", error="OSError('broken')") + (
        """
name = "srgb_to_linear"
function = getattr(dr, name)
uses = [lambda: function(1.0), lambda: function.__doc__, lambda: repr(function),
        lambda: hash(function), lambda: function == dr.clip,
        lambda: setattr(function, "x", 1), lambda: type("C", (), {"f": function})().f]
errors = []
for use in uses * 2:
    before = finder.count
    try:
        use()
    except OSError as error:
        errors.append((str(error), finder.count - before))
print(len(errors) == 2 * len(uses), set(errors))
print(dr.clip(2, 0, 1), dr.sqr(3), dr.pi > 3, "__getattr__" in vars(dr))
finder.broken = None
print(function(1.0), getattr(dr, name) is not function, function == getattr(dr, name))
"""
    )
    assert run_fresh(code) == [
        "True {('broken', 1)}", "1 9 True False", "1.0 True True",
    ]  # fmt: skip


@pytest.mark.parametrize("module", ["_enums", "_ad.custom", "_ad.scopes"])
def test_a_module_of_values_that_fails_takes_no_others_along(module: str) -> None:
    """Its own raise its error, each time; the others are bound."""
    code = BREAK.format(module=f"drjit.{module}", error="OSError('broken')") + (
        """
dr.pi
missing = [name for name in dr._HOME if name not in vars(dr)]
errors = []
for name in missing * 3:
    before = finder.count
    try:
        getattr(dr, name)
    except OSError as error:
        errors.append((str(error), finder.count - before))
print(len(errors) == 3 * len(missing), set(errors), "__getattr__" in vars(dr))
print(*missing)
finder.broken = None
print(all(getattr(dr, name) for name in missing), "__getattr__" in vars(dr))
"""
    )
    (table,) = run_fresh("import drjit as dr; print(dr._VALUES)")
    assert run_fresh(code) == [
        "True {('broken', 1)} True", eval(table)[module], "True False",
    ]  # fmt: skip


def test_a_failing_module_is_the_first_to_be_used() -> None:
    """Its error is raised as it is; what comes next is found."""
    code = BREAK.format(module="drjit._enums", error="SyntaxError('broken')") + (
        """
for _ in range(2):
    try:
        dr.JitFlag
    except SyntaxError as error:
        print(type(error).__name__, error, error.__context__)
print("pi" in vars(dr), dr.pi > 3, "e" in vars(dr))
"""
    )
    assert run_fresh(code) == ["SyntaxError broken None"] * 2 + ["False True True"]


def test_a_module_that_fails_is_found_by_its_attributes() -> None:
    """Public modules are there from the start; the error comes when one is used."""
    code = BREAK.format(module="drjit.interop", error="OSError('broken')") + (
        """
for _ in range(2):
    try:
        import drjit.interop  # from Python 3.12 on, this looks for the file
        drjit.interop.wrap
    except OSError as error:
        print(error)
"""
    )
    assert run_fresh(code) == ["broken"] * 2


def test_an_interrupt_is_none_of_these_errors() -> None:
    """It reaches the program, and the next use finds everything."""
    code = BREAK.format(module="drjit._ad.scopes", error="KeyboardInterrupt") + (
        """
try:
    dr.pi
except KeyboardInterrupt:
    print("interrupted")
finder.broken = None
print(dr.suspend_grad.__name__, "__getattr__" in vars(dr))
"""
    )
    assert run_fresh(code) == ["interrupted", "suspend_grad False"]


def test_star_import_names_the_error() -> None:
    """It asks for all classes and constants."""
    code = BREAK.format(module="drjit._enums", error="OSError('broken')") + (
        """
try:
    exec("from drjit import *")
except OSError as error:
    print(error)
"""
    )
    assert run_fresh(code) == ["broken"]


def test_each_lazy_function_is_a_function() -> None:
    """Its class is known without an import, and is the one that it has afterwards."""
    code = """
import types
import drjit as dr
kind = dr._core._LazyFunction
lazy = {n: f for n, f in vars(dr).items() if type(f) is kind}
wanted = {n for names in dr._FUNCTIONS.values() for n in names.split()}
print(lazy.keys() == wanted, {f.__class__ for f in lazy.values()})
print(all(type(vars(dr)[n]) is kind for n in lazy))
print({type(f.__doc__) for f in lazy.values()})
print({type(vars(dr)[n]) for n in lazy} == {types.FunctionType})
print(all(vars(dr)[n] == f and f == vars(dr)[n] for n, f in lazy.items()))
print(all(hash(vars(dr)[n]) == hash(f) for n, f in lazy.items()))
"""
    assert run_fresh(code) == [
        "True {<class 'function'>}", "True", "{<class 'str'>}", "True", "True", "True",
    ]  # fmt: skip


def test_what_was_imported_before_its_first_use_stays_usable() -> None:
    code = """
import copy, inspect, pickle, functools
import drjit as dr
from drjit import clip, lerp, sort, sqr, square, sign, normalize, concat
from drjit.llvm import Float
print(inspect.isfunction(clip), callable(clip), isinstance(clip, type(lambda: 0)))
print(inspect.signature(clip) == inspect.signature(dr.clip),
      clip.__doc__ == dr.clip.__doc__)
print(clip(2, 0, max=1), clip != dr.clip, clip == lerp, {clip: 1}[dr.clip])
print(pickle.loads(pickle.dumps(lerp)) is dr.lerp, copy.copy(sort) is dr.sort,
      copy.deepcopy([sqr])[0] is dr.sqr)
class C:
    f = sign
    def __neg__(self): return -3
    def __lt__(self, other): return True
c = C()
print(c.f.__self__ is c, C.f is dr.sign, functools.partial(lerp, 0, 2)(0.5))
concat.extra = 5
print(dr.concat.extra)
dr.normalize = 7
print(normalize(dr.scalar.Array2f(3, 4))[0] == 0.6000000238418579, dr.normalize)
try:
    square()
except TypeError as error:
    print("square" in str(error) or "sqr" in str(error))
@dr.freeze
def g(x): return dr.sum(square(x) + lerp(x, 1, 0.5))
print([g(Float(1, 2, i))[0] for i in range(3)], g.n_recordings)
"""
    assert run_fresh(code) == [
        "True True True", "True True", "1 False False 1", "True True True",
        "True True 1.0", "5", "True 7", "True", "[8.0, 9.5, 13.0] 1",
    ]  # fmt: skip


def test_hints_are_known_before_they_are_called(tmp_path: Path) -> None:
    """They are in texts only: by the module's name, and by their own."""
    file = tmp_path / "hints.py"
    file.write_text(
        """
import drjit as dr
from drjit import hint
from drjit.llvm import Float, UInt
@dr.syntax
def one(x):
    while dr.hint(dr.sum(x)[0] < 9, mode="scalar"):
        x = x + 1
    return x
@dr.syntax
def other(x):
    while hint(dr.sum(x)[0] < 9, mode="scalar"):
        x = x + 1
    return x
print(one(Float(1, 2)), other(Float(1, 2)))
"""
    )
    command = f"import runpy; runpy.run_path({str(file)!r})"
    assert run_fresh(command) == ["[4, 5] [4, 5]"]


def test_frozen_functions_have_them_as_arguments_and_by_name() -> None:
    """They are repeated, saved and loaded as with the functions themselves."""
    code = """
import tempfile
import drjit as dr
from drjit import clip, lerp
from drjit.llvm import Float
def f(g, x): return g(x, 0, 2) + lerp(x, 1, 0.5)
frozen = dr.freeze(f)
print([frozen(clip, Float(1, 2, i))[2] for i in range(4)], frozen.n_recordings)
with tempfile.TemporaryDirectory() as folder:
    frozen.save(folder + "/kept")
    loaded = dr.load_frozen(folder + "/kept", f)
    print(loaded(dr.clip, Float(1, 2, 5))[2], loaded.n_recordings)
    print(loaded(clip, Float(1, 2, 5))[2])  # not equal by type: recorded
"""
    assert run_fresh(code) == ["[0.5, 2.0, 3.5, 4.0] 1", "5.0 0", "5.0"]
