"""The folder in which pip builds, with a meson-python that only looks at it.

tests/python/test_wheel.py builds with the real one.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SOURCE = Path(__file__).resolve().parent.parent.parent / "packaging/build_backend.py"
STAND_IN = """
def build_editable(*arguments): raise NotImplementedError
get_requires_for_build_editable = get_requires_for_build_sdist = build_editable
get_requires_for_build_wheel = build_sdist = build_wheel = build_editable
"""


class Tree:
    """A source tree with the backend, whose build a test can choose."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = root / "packaging/build_backend.py"
        self.file.parent.mkdir()
        shutil.copy(SOURCE, self.file)
        self.mesonpy: Any = ModuleType("mesonpy")
        exec(STAND_IN, vars(self.mesonpy))

    def load(self) -> Any:
        spec = importlib.util.spec_from_file_location("build_backend", self.file)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def left(self) -> list[Path]:
        """The files that there are, beside the backend."""
        files = (path for path in self.root.rglob("*") if path.is_file())
        return [path for path in files if path.parent.name != "packaging"]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tree]:
    made = Tree(tmp_path)
    monkeypatch.setitem(sys.modules, "mesonpy", made.mesonpy)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield made


def build_in(found: list[Path]) -> Callable[[str, dict[str, str]], str]:
    """A build that leaves a file in an empty folder."""

    def build(directory: str, settings: dict[str, str]) -> str:
        folder = Path(settings["build-dir"])
        folder.mkdir(parents=True)  # so it is not there
        (folder / "object").touch()
        found.append(folder)
        return f"{directory}/name"

    return build


@pytest.mark.parametrize("hook", ["build_wheel", "build_sdist"])
def test_nothing_is_left(tree: Tree, hook: str) -> None:
    """The folder is in the tree, is removed afterwards, and other settings arrive."""
    found: list[Path] = []
    seen: list[dict[str, str]] = []

    def build(directory: str, settings: dict[str, str]) -> str:
        seen.append(settings)
        return build_in(found)(directory, settings)

    setattr(tree.mesonpy, hook, build)
    function = getattr(tree.load(), hook)
    assert function("out", {"setup-args": "-Dx=1"}) == "out/name"
    assert function("out") == "out/name"
    assert tree.left() == []
    assert found[0] == found[1] and found[0].is_relative_to(tree.root / "build-pip")
    assert seen[0]["setup-args"] == "-Dx=1"


def test_a_build_that_fails(tree: Tree) -> None:
    """It leaves nothing, and its error arrives."""

    def build(directory: str, settings: dict[str, str]) -> str:
        build_in([])(directory, settings)
        raise RuntimeError("no compiler")

    tree.mesonpy.build_wheel = build
    with pytest.raises(RuntimeError, match="no compiler"):
        tree.load().build_wheel("out")
    assert tree.left() == []


def test_a_build_that_is_killed(tree: Tree) -> None:
    """What it leaves is in the one folder, and the next build removes it."""
    (tree.root / "mesonpy.py").write_text(
        STAND_IN
        + "import os, pathlib\n"
        + "def build_wheel(directory, settings):\n"
        + "    pathlib.Path(settings['build-dir']).mkdir()\n"
        + "    (pathlib.Path(settings['build-dir']) / 'object').touch()\n"
        + "    os.kill(os.getpid(), 9)\n"
    )
    folders = os.pathsep.join([str(tree.root), str(tree.file.parent)])
    killed = subprocess.run(
        [sys.executable, "-B", "-c", "import build_backend as b; b.build_wheel('out')"],
        env={**os.environ, "PYTHONPATH": folders},
        check=False,
    )
    assert killed.returncode == -9
    (tree.root / "mesonpy.py").unlink()
    (left,) = tree.left()
    assert left.is_relative_to(tree.root / "build-pip")
    found: list[Path] = []
    tree.mesonpy.build_wheel = build_in(found)
    tree.load().build_wheel("out")
    assert found == [left.parent] and tree.left() == []


@pytest.mark.parametrize("name", ["build-dir", "builddir"])
def test_a_folder_with_a_name(tree: Tree, name: str) -> None:
    """Who names one keeps it."""
    seen: list[dict[str, str]] = []

    def build(directory: str, settings: dict[str, str]) -> str:
        seen.append(settings)
        return directory

    tree.mesonpy.build_wheel = build
    tree.load().build_wheel("out", {name: "mine"})
    assert seen == [{name: "mine"}]
    assert not (tree.root / "build-pip").exists()


def test_two_builds(tree: Tree) -> None:
    """The second one waits until the first one is done."""
    begun, go_on = threading.Event(), threading.Event()
    order: list[str] = []

    def build(directory: str, settings: dict[str, str]) -> str:
        order.append(f"{directory} begins")
        if directory == "first":
            begun.set()
            assert go_on.wait(60)
        build_in([])(directory, settings)
        order.append(f"{directory} ends")
        return directory

    tree.mesonpy.build_wheel = build
    backend = tree.load()
    first = threading.Thread(target=backend.build_wheel, args=("first",))
    second = threading.Thread(target=backend.build_wheel, args=("second",))
    first.start()
    assert begun.wait(60)
    second.start()
    second.join(0.3)  # without the lock it would be done
    go_on.set()
    first.join(60)
    second.join(60)
    assert order == ["first begins", "first ends", "second begins", "second ends"]
