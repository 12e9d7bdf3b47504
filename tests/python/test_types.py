"""The type stubs accept correct programs, reject wrong ones, and fit the package.

Programs in typing_good/ have to pass mypy --strict; they are executed, too, and each
annotated variable must have the type that the stubs promise. In typing_bad/, exactly
the lines marked ``# error`` have to be rejected.
"""

from __future__ import annotations

import inspect
import re
import runpy
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import drjit
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGE = Path(drjit.__file__).parent
GOOD = sorted((HERE / "typing_good").glob("*.py"))
BAD = sorted((HERE / "typing_bad").glob("*.py"))

mypy = pytest.importorskip("mypy", reason="the type checker is not installed")


def error_lines(output: str) -> dict[tuple[str, int], str]:
    """What a type checker said, by file name and line."""
    found = {}
    for line in output.splitlines():
        match = re.match(r"\s*(.+?\.py):(\d+)(?::\d+)?(?: -|:) error: (.*)", line)
        if match:
            found[Path(match[1]).name, int(match[2])] = match[3]
    return found


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what mypy keeps from one run to the next."""
    return tmp_path_factory.mktemp("mypy")


def run_mypy(files: list[Path], cache: Path) -> dict[tuple[str, int], str]:
    """Check files against the stubs of the package under test."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", ""]
    result = subprocess.run(
        [*command, "--cache-dir", str(cache), *map(str, files)],
        capture_output=True,
        text=True,
        cwd=cache,
        env={"MYPYPATH": str(PACKAGE.parent), "PATH": ""},
        check=False,
    )
    assert result.returncode in (0, 1), result.stdout + result.stderr
    errors = error_lines(result.stdout)
    assert bool(errors) == (result.returncode == 1), result.stdout
    return errors


def marked_lines(files: list[Path]) -> Iterator[tuple[str, int]]:
    """The lines of files that are marked as wrong."""
    for path in files:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.endswith("# error"):
                yield path.name, number


def test_correct_programs_are_accepted(cache: Path) -> None:
    """No complaint about any program of typing_good/."""
    assert len(GOOD) >= 3
    assert run_mypy(GOOD, cache) == {}


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_wrong_lines_are_rejected(path: Path, cache: Path) -> None:
    """The marked lines of a program of typing_bad/ are rejected, and no others."""
    marked = list(marked_lines([path]))
    assert len(marked) > 5
    assert sorted(run_mypy([path], cache)) == marked


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_values_have_the_declared_types(path: Path) -> None:
    """A correct program runs, and its variables are of the annotated classes."""
    variables = runpy.run_path(str(path))
    checked = 0
    evaluate = variables.get("__annotate__")  # from Python 3.14 on
    annotations = evaluate(1) if evaluate else variables["__annotations__"]
    for name, annotation in annotations.items():
        # Python 3.10 takes tuple[int, ...] for a class.
        plain = not isinstance(annotation, types.GenericAlias)
        if plain and isinstance(annotation, type):
            checked += 1
            value = variables[name]
            assert type(value) is annotation or annotation is tuple, name
    assert checked > 0


def test_basedpyright_agrees() -> None:
    """A second type checker accepts the correct programs and the stubs.

    All but one: it does not solve type variables with constraints (generic.py) against
    the parameters of a generic class, which mypy does for each constraint in turn.
    """
    programs = [str(path) for path in GOOD if path.name != "generic.py"]
    result = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--level", "error", *programs],
        capture_output=True,
        text=True,
        cwd=PACKAGE.parent,
        check=False,
    )
    assert error_lines(result.stdout) == {}, result.stdout + result.stderr
    assert "0 errors" in result.stdout, result.stdout + result.stderr


def test_stubs_fit_the_package() -> None:
    """What the stubs declare exists, and the array types are all declared."""
    result = subprocess.run(
        [sys.executable, str(ROOT / "tools/make_stubs.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_module_contents() -> None:
    from drjit import config, llvm, scalar

    for module, names in ((llvm, ["PCG32", "Philox4x32", "Event"]),
                          (scalar, ["PCG32", "Philox4x32"])):  # fmt: skip
        for name in names:
            assert name in dir(module)
            assert getattr(module, name).__module__ == module.__name__
            assert name in vars(module)  # it may have been made just now
            assert name in module.__all__
    assert {"PCG32", "Philox4x32"} <= set(dir(drjit.auto))
    assert re.fullmatch(r"(GNU|Clang) \d+\.\d+.*", config.CXX_COMPILER)
    assert re.fullmatch(r"3\.\d+\.\d+.*", config.PYTHON_VERSION)
    assert "config" in dir(drjit)


# --------------------------------------------------------------- modules, loaded late

LATE = ("auto", "detail", "llvm", "scalar")


def run_fresh(code: str) -> str:
    """What a new interpreter prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_modules_are_there_from_the_start_and_loaded_when_looked_into():
    code = """
import sys
import drjit as dr
from types import ModuleType
for name in ("auto", "detail", "llvm", "opt", "random", "scalar"):
    module = vars(dr)[name]
    assert isinstance(module, ModuleType) and module is sys.modules["drjit." + name]
    assert module.__name__ == "drjit." + name and module.__file__
    assert type(module) is not ModuleType, "executed already"
    assert "drjit.llvm.Float" not in repr(module)
    assert "__builtins__" in vars(module)
    assert type(module) is ModuleType
print(type(sys.modules["drjit.nn"]) is ModuleType)
"""
    assert run_fresh(code).strip() == "False"


@pytest.mark.parametrize(
    "use",
    [
        "from drjit.llvm import Float",
        "import drjit.llvm as x; Float = x.Float",
        "from drjit import llvm; Float = llvm.Float",
        "import drjit as dr; Float = dr.llvm.Float",
        "import drjit as dr; Float = vars(dr)['llvm'].Float",
        "import drjit; held = drjit.llvm; import drjit.llvm; Float = held.Float",
        "import importlib; Float = importlib.import_module('drjit.llvm').Float",
        "import pickle; Float = pickle.loads(b'cdrjit.llvm\\nFloat\\n.')",
        "from drjit import *; import drjit; Float = drjit.llvm.Float",
        "import drjit as dr, importlib; importlib.reload(dr); Float = dr.llvm.Float",
    ],
)
def test_every_way_to_a_module(use):
    code = f"""
{use}
import sys, types, pickle
module = sys.modules["drjit.llvm"]
assert type(module) is types.ModuleType and module is sys.modules["drjit"].llvm
assert Float is module.Float and pickle.loads(pickle.dumps(Float)) is Float
sys.stdout.write(str(Float([1, 2]) + 1))
"""
    assert run_fresh(code) == "[2, 3]"


def test_modules_are_looked_into_by_many_threads():
    code = """
import threading
import drjit as dr
barrier, found = threading.Barrier(8), []
def work(i):
    barrier.wait()
    name = ("llvm", "scalar", "auto")[i % 3]
    found.append(type(getattr(dr, name).Array3f(1)).__name__)
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(set(found))
"""
    assert run_fresh(code).strip() == "{'Array3f'}"


def test_a_module_that_cannot_be_loaded_is_tried_again():
    code = """
import sys
import drjit as dr
publish = sys.modules["drjit._core"]._publish
del sys.modules["drjit._core"]._publish
for _ in range(2):
    try:
        dr.scalar.Float
    except ImportError as error:
        print("_publish" in str(error))
dr.scalar.__name__, dr.scalar.__file__
sys.modules["drjit._core"]._publish = publish
print(dr.scalar.Float(1) + 1)
"""
    assert run_fresh(code).split() == ["True", "True", "2.0"]


def test_members_of_the_package():
    members = dict(inspect.getmembers(drjit))
    for name in LATE:
        assert members[name] is getattr(drjit, name)
    assert set(LATE) <= set(dir(drjit)) and "_lazy" not in drjit.__all__


def test_all_values_are_bound_when_one_written_in_python_is_used():
    code = """
import drjit as dr, threading
print(hasattr(dr, "nothing"), "drjit._math" in __import__("sys").modules)
found = []
def use():
    found.append((dr.JitFlag, dr.clip(2, 0, 1) and dr.clip))
threads = [threading.Thread(target=use) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(len(found), set(found) == {(dr.JitFlag, dr.clip)}, "__getattr__" in vars(dr))
print(set(dr._HOME) <= set(vars(dr)), type(dr.clip) is type(use))
try:
    dr.nothing
except AttributeError as error:
    print(error)
"""
    assert run_fresh(code).splitlines() == [
        "False False", "8 True False", "True True",
        "module 'drjit' has no attribute 'nothing'",
    ]  # fmt: skip


# ------------------------------------------------------------------------ inspection


def is_public_callable(name: str, value: object) -> bool:
    """Functions, classes and methods of the package; no aliases, no exceptions."""
    owner = getattr(value, "__objclass__", value)
    module = getattr(owner, "__module__", None) or ""
    return (
        name[0] != "_"
        and callable(value)
        and not isinstance(value, types.GenericAlias)
        and module.startswith("drjit")
        and not (isinstance(value, type) and issubclass(value, Exception))
    )


def public_callables() -> Iterator[tuple[str, object]]:
    parts = ("auto", "config", "detail", "llvm", "random", "scalar")
    for module in (drjit, *(getattr(drjit, part) for part in parts)):
        for name, value in inspect.getmembers(module):
            if not is_public_callable(name, value):
                continue
            yield f"{module.__name__}.{name}", value
            for member, function in inspect.getmembers(value):
                if isinstance(value, type) and is_public_callable(member, function):
                    yield f"{module.__name__}.{name}.{member}", function


def test_every_callable_has_a_signature() -> None:
    count, wrong = 0, []
    for name, value in public_callables():
        count += 1
        try:
            inspect.signature(value)  # type: ignore[arg-type]
        except ValueError as error:
            wrong.append(f"{name}: {error}")
    assert not wrong
    assert count > 1000


def test_signatures_name_the_arguments() -> None:
    expected = {
        "scatter": "(target, value, index, active=True, mode=ReduceMode.Auto)",
        "sum": "(value, axis=Ellipsis, mode=None, keepdims=False)",
        "fma": "(a, b, c, /)",
        "scoped_set_flag": "(flag, value=True)",
    }
    for name, text in expected.items():
        assert str(inspect.signature(getattr(drjit, name))) == text
        assert "--" not in getattr(drjit, name).__doc__


SOME = "Bool Int Float Array3f Matrix3f Complex2f Quaternion4f ArrayXf TensorXf PCG32"


@pytest.mark.parametrize("module", ["llvm", "scalar"])
@pytest.mark.parametrize("name", SOME.split())
def test_objects_can_be_looked_into(module: str, name: str) -> None:
    cls = getattr(getattr(drjit, module), name)
    value = (
        cls([1, 2, 3]) if name.endswith("Xf") else cls() if name == "PCG32" else cls(1)
    )
    members = dict(inspect.getmembers(value))
    assert {m for m in dir(value) if hasattr(value, m)} == set(members)
    for attribute in ("x", "xy", "imag", "w", "T", "no_such_thing"):
        try:
            found = getattr(value, attribute)
        except AttributeError:
            assert not hasattr(value, attribute) and attribute not in members
        else:
            assert hasattr(value, attribute) and type(found) is type(
                getattr(value, attribute)
            )


def test_an_attribute_that_does_not_apply_is_of_both_classes() -> None:
    for attribute in ("x", "w"):
        for error in (AttributeError, RuntimeError):
            with pytest.raises(error, match="Float"):
                getattr(drjit.llvm.Float(1), attribute)


def test_docstrings_of_classes():
    """Every array class says what it is; so do the functions and all members."""
    for module in (drjit.scalar, drjit.llvm):
        for name, cls in vars(module).items():
            if isinstance(cls, type) and issubclass(cls, drjit.ArrayBase):
                assert len(cls.__doc__.split()) > 12, name
                assert str(inspect.signature(cls)) == "(*args, **kwargs)", name
    assert "(3, *)" in drjit.llvm.Array3f.__doc__
    assert "(2, 2)" in drjit.scalar.Matrix2f64.__doc__
    assert "float16" in drjit.llvm.Array3f16.__doc__
    assert "of any shape." in drjit.llvm.TensorXi.__doc__
    assert "of any length." in drjit.llvm.UInt64.__doc__
    for name in dir(drjit.ArrayBase):
        member = inspect.getattr_static(drjit.ArrayBase, name)
        assert name[:2] == "__" or member.__doc__, name
