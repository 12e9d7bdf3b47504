"""The package has what the API reference names, and loses nothing that it had.

tools/api_coverage.py prints the same comparison, section by section.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import drjit as dr
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def load_tool(name: str) -> ModuleType:
    """Import a file of tools, which is a program and in no package."""
    path = ROOT / f"tools/{name}.py"
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tool = load_tool("api_coverage")
OPERATIONS = load_tool("make_stubs").read_operations()
DOCSTRINGS = load_tool("make_docstrings").read_docstrings()
ENTRIES = tool.read_entries()
REPORTS = tool.compare(ENTRIES)
PUBLISHED = tool.compare_published()


def test_the_list_is_whole() -> None:
    """Every section has entries, and the numbers are those of the reference."""
    sections = {entry.section for entry in ENTRIES}
    empty = set(tool.SECTIONS) - sections
    # Headings that only group the sections below them.
    assert empty == {"Type traits", "Transcendental functions", "Typing"}
    names = {entry.name for entry in ENTRIES}
    assert len(names) == len({*names}) and len(names) > 400
    reductions = {e.name for e in ENTRIES if e.section == "Reductions"}
    assert {"drjit.sum", "drjit.argsort", "drjit.ReduceOp.Max"} <= reductions


@pytest.mark.parametrize("name", tool.read_baseline())
def test_what_existed_exists(name: str) -> None:
    """A name of the baseline does not disappear."""
    assert tool.exists(name)


@pytest.mark.parametrize("section", [s for s in tool.SECTIONS if tool.SECTIONS[s]])
def test_section_is_complete(section: str) -> None:
    """All entries of a section in scope are there."""
    assert REPORTS[section].missing == []


@pytest.mark.parametrize("section", list(tool.SECTIONS))
def test_parameters_are_those_of_the_reference(section: str) -> None:
    """Names, order and defaults of parameters agree."""
    assert REPORTS[section].different == []


def test_the_baseline_is_up_to_date() -> None:
    """What exists is in the baseline: run tools/api_coverage.py --update."""
    present = {name for report in REPORTS.values() for name in report.present}
    assert present - set(tool.read_baseline()) == set()


@pytest.mark.parametrize("section", list(PUBLISHED))
def test_members_are_those_of_the_published_package(section: str) -> None:
    """All public members, their parameters' names, order and defaults."""
    assert PUBLISHED[section].missing == []
    assert PUBLISHED[section].different == []


def test_the_published_list_is_whole() -> None:
    entries = tool.read_published()
    assert {e.section for e in entries} == {*tool.MODULES, "textures", "objects"}
    names = {e.name for e in entries}
    for family in tool.FAMILIES:
        assert {f"{family}.{texture}" for texture in tool.TEXTURES} <= names
    for name in ("nn.Linear.alloc", "opt.Adam.step", "hashgrid.HashEncoding.params"):
        assert f"drjit.{name}" in names


def test_each_accepted_difference_is_one() -> None:
    """A reason why something differs goes when it no longer does."""
    accepted = [text for report in PUBLISHED.values() for text in report.later]
    for pattern, what in tool.DIFFERENT:
        same = [text.split()[0] for text in accepted if text.endswith(what)]
        assert any(re.fullmatch(pattern, name) for name in same)
    # The parameters that *args and **kwargs stand for are those of the base class.
    base = tool.group(tool.read_published())["drjit.hashgrid.HashEncoding.__init__"]
    for name in ("HashGridEncoding", "PermutoEncoding"):
        made = getattr(dr.hashgrid, name).__init__
        assert list(tool.differences(base, made)) == []


@pytest.mark.parametrize(
    ("signature", "names"),
    [
        ("(a: int = 1, /, b: dict[str, int] = {}) -> int", ["a", "b"]),
        ("(*args, c: tuple[int, ...] | ... = ..., **kwargs)", ["args", "c", "kwargs"]),
        ("(self)", []),
    ],
)
def test_signatures_are_read(signature: str, names: list[str]) -> None:
    """The tool understands the ways in which the reference writes signatures."""
    assert [p.name for p in tool.parse_signature(signature)] == names


def test_differences_are_found() -> None:
    """The tool tells a wrong default, a lacking parameter and a wrong place."""

    def function(b: int, a: int = 2) -> None: ...

    entry = tool.Entry("Reductions", "function", "drjit.f", "(a: int = 1, c: int = 0)")
    found = list(tool.differences([entry], function))
    assert found == ["'a' has not the default 1", "lacks the parameter 'c'"]
    entry = tool.Entry("Reductions", "function", "drjit.f", "(a: int, b: int)")
    assert "takes 'a' at another position" in list(tool.differences([entry], function))


def test_operations_are_functions() -> None:
    """The table of elementwise operations was read, and is not only a part of it."""
    assert {"sin", "popcnt", "fma", "select", "isnan", "sincos"} < set(OPERATIONS)
    assert "add" not in OPERATIONS


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name: str) -> None:
    """A function of the table takes its parameters, and is documented by its text."""
    function = getattr(dr, name)
    row = OPERATIONS[name]
    parameters = inspect.signature(function).parameters
    assert ", ".join(parameters) == row.parameters
    assert {p.kind for p in parameters.values()} == {inspect.Parameter.POSITIONAL_ONLY}
    assert inspect.getdoc(function) == DOCSTRINGS[name]
    stub = ast.parse(OPERATIONS[name].stub()).body
    assert {node.name for node in stub if isinstance(node, ast.FunctionDef)} == {name}
