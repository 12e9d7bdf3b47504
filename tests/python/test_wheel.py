"""A source distribution gives one wheel that stands alone.

It is made from a copy of the source tree. The wheel that is built from it is installed
into a folder, when the sources have been deleted, and used from there by an interpreter
that knows nothing else. No network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
VERSION = re.findall(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text())[0]
LIBRARY = "libdrjit-core.so." + ".".join(VERSION.split(".")[:2])
BUILDER = ROOT / ".venv-wheel/bin/python"
TREE = ["include", "python", "src", "tools", "meson.build", "meson_options.txt"]
TREE += ["packaging/build_backend.py"]
TREE += ["pyproject.toml", "README.md", "LICENSE", "tests/python"]

pytestmark = pytest.mark.skipif(
    not BUILDER.exists() or "LD_PRELOAD" in os.environ,
    reason="no .venv-wheel (tools/bootstrap.sh python makes it), or a sanitizer",
)

PROGRAM = """
import sys
import drjit as dr
from drjit import llvm, scalar
assert "numpy" not in sys.modules
x = llvm.Float([1, 2, 3]) * 2 + 1
assert [*x] == [3, 5, 7], x
assert dr.sum(x)[0] == 15
assert dr.sum(scalar.Array3f(1, 2, 3)) == 6
print(dr.__file__)
"""


def build(*command: str, cwd: Path) -> None:
    """Run a command of the builder's environment."""
    path = os.pathsep.join([str(BUILDER.parent), os.environ["PATH"]])
    result = subprocess.run(
        [str(BUILDER), *command],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PATH": path, "PYTHONPATH": ""},
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution, made from a repository of its own."""
    folder = tmp_path_factory.mktemp("sdist")
    source = folder / "source"
    for name in TREE:
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / name, target)
    person = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*person, "commit", "-qm", "All"]):
        subprocess.run(["git", *command], cwd=source, check=True)
    build("-c", f"import mesonpy; mesonpy.build_sdist({str(folder)!r})", cwd=source)
    (file,) = folder.glob("*.tar.gz")
    return file


class Builds(NamedTuple):
    """What was built from a source distribution that is gone."""

    wheel: Path
    editable: str  # what a program printed that used an editable installation


@pytest.fixture(scope="module")
def builds(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Builds:
    """A wheel, and an editable installation from the same build folder."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder)
    (source,) = folder.iterdir()
    common = ["--no-deps", "--no-index", "--no-build-isolation"]
    common += ["--config-settings", "build-dir=build"]
    common += ["--config-settings", "setup-args=-Doptimization=0"]  # compiles sooner
    place = str(folder / "editable")
    build("-m", "pip", "install", *common, "--target", place, "-e", ".", cwd=source)
    program = f"import site; site.addsitedir({place!r}){PROGRAM}"
    path = os.pathsep.join([str(BUILDER.parent), os.environ["PATH"]])
    editable = run(program, folder, PATH=path, PYTHONPATH="")
    assert editable.returncode == 0, editable.stderr
    edited = source / "python/drjit/_math/angles.py"
    edited.write_text(edited.read_text() + "\nEDITED = True\n")
    program = f"import site; site.addsitedir({place!r}); import drjit._math.angles as a"
    changed = run(program + "; print(a.EDITED)", folder, PATH=path, PYTHONPATH="")
    # Last: it changes where the extension in the build folder looks for the library.
    build("-m", "pip", "wheel", *common, "-w", str(folder / "dist"), ".", cwd=source)
    (file,) = (folder / "dist").iterdir()
    shutil.rmtree(source)
    return Builds(file, editable.stdout + changed.stdout)


@pytest.fixture(scope="module")
def wheel(builds: Builds) -> Path:
    """The file of the wheel."""
    return builds.wheel


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, as pip unpacks it."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(
        [str(BUILDER), "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
        + ["--target", str(folder), str(wheel)],
        check=True,
        env={**os.environ, "PYTHONPATH": ""},
    )
    return folder


def run(program: str, folder: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run a program with the installed package and hardly any environment."""
    environment: Mapping[str, str] = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(folder),
        "DRJIT_LOG_LEVEL": "error",
        "DRJIT_CACHE_DIR": "",
        **extra,
    }
    return subprocess.run(
        [str(BUILDER), "-c", program],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=False,
    )


def test_needs_nothing(installed: Path) -> None:
    """Both libraries of the wheel are linked with each other and the C library only."""
    allowed = {LIBRARY, "libc.so.6", "libm.so.6", "libdl.so.2"}
    allowed |= {"libpthread.so.0", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
    for file in (installed / "drjit").rglob("*.so*"):
        command = ["readelf", "-d", str(file)]
        text = subprocess.run(command, capture_output=True, text=True, check=True)
        lines = [line for line in text.stdout.splitlines() if "(NEEDED)" in line]
        needed = {line.partition("[")[2].rstrip("]") for line in lines}
        assert needed and needed <= allowed, file


def test_editable(builds: Builds) -> None:
    """An editable installation works, and sees what is changed in the sources."""
    path, edited = builds.editable.split()
    assert path.endswith("python/drjit/__init__.py") and edited == "True"


def test_platform(wheel: Path) -> None:
    """The wheel can be named one for manylinux."""
    command = [str(BUILDER), "-m", "auditwheel", "show", str(wheel)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert re.search(r'platform\s+tag:\s+"manylinux_\d+_\d+_x86_64"', text), text


def test_beside_the_published_package(installed: Path, tmp_path: Path) -> None:
    """Both packages in one folder: an error that says which files are whose."""
    shutil.copytree(installed / "drjit", tmp_path / "drjit")
    (tmp_path / "drjit/libdrjit-extra.so").touch()
    result = run("import drjit", tmp_path)
    assert result.returncode != 0
    assert "pip uninstall drjit drjit-c" in result.stderr
    assert "__init__.py one of the latter" in result.stderr


def test_contents(wheel: Path) -> None:
    """The wheel has the package and the library, and no C headers or the like."""
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.name.startswith(f"drjit_c-{VERSION}-cp3")
    tops = {name.split("/")[0] for name in names}
    assert tops == {"drjit", f"drjit_c-{VERSION}.dist-info"}
    inside = {name.removeprefix("drjit/") for name in names if name[:6] == "drjit/"}
    wanted = {"__init__.py", "__init__.pyi", "py.typed", "scalar.pyi", "scalar.py"}
    wanted |= {"llvm/__init__.py", "llvm/__init__.pyi", LIBRARY}
    assert wanted <= inside
    assert not [n for n in names if n.endswith((".h", ".a", ".pc", ".cmake", ".pyc"))]
    sources = {
        str(path.relative_to(ROOT / "python/drjit"))
        for path in (ROOT / "python/drjit").rglob("*.py")
    }
    assert sources <= inside


def test_metadata(wheel: Path) -> None:
    """Name, version and what Python it asks for; nothing is required at run time."""
    archive = zipfile.ZipFile(wheel)
    (name,) = (n for n in archive.namelist() if n.endswith("dist-info/METADATA"))
    lines = archive.read(name).decode().split("\n\n")[0].splitlines()
    assert "Name: drjit-c" in lines
    assert f"Version: {VERSION}" in lines
    assert "Requires-Python: >=3.10" in lines
    assert "License-Expression: BSD-3-Clause" in lines
    required = [line for line in lines if line.startswith("Requires-Dist:")]
    assert all("extra ==" in line for line in required)
    (name,) = (n for n in archive.namelist() if n.endswith("/licenses/LICENSE"))
    assert archive.read(name) == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize(
    "environment",
    [{}, {"DRJIT_LIBLLVM_PATH": "/nonexistent"}, {"DRJIT_CPU_ENGINE": "interp"}],
    ids=["as is", "without LLVM", "interpreter"],
)
def test_it_runs(installed: Path, environment: dict[str, str]) -> None:
    """The package works where the sources are gone, with LLVM and without."""
    result = run(PROGRAM, installed, **environment)
    assert result.returncode == 0, result.stderr
    assert Path(result.stdout.strip()) == installed / "drjit/__init__.py"


def test_the_library_inside_is_used(installed: Path) -> None:
    """The extension takes the library beside it and no other."""
    program = """
import drjit.llvm
lines = open("/proc/self/maps").read().splitlines()
print(*{line.split()[-1] for line in lines if "libdrjit-core" in line})
"""
    result = run(program, installed)
    assert result.stdout.split() == [str(installed / "drjit" / LIBRARY)]


def test_import_is_light(installed: Path) -> None:
    """'import drjit' loads neither NumPy nor LLVM."""
    program = """
import sys
import drjit
assert "numpy" not in sys.modules
assert "LLVM" not in open("/proc/self/maps").read()
"""
    result = run(program, installed)
    assert result.returncode == 0, result.stderr
    assert sys.version_info >= (3, 10)
