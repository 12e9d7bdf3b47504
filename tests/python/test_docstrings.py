"""Docstrings: each public name has one in the form that docs/dev/docstrings.md states.

The examples are run, and the pages of the reference (docs/python) have every name and
are those of the docstrings.
"""

from __future__ import annotations

import doctest
import enum
import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
if sys.version_info < (3, 11):
    pytest.skip("the table of pages is read with tomllib", allow_module_level=True)

sys.path.insert(0, str(ROOT / "tools"))
import make_reference  # noqa: E402

PAGES = make_reference.read_pages()
NAMES = [(page, name) for page in PAGES for name in page.names]
ORDER = list(make_reference.SECTIONS)

# Pages whose functions compute with floats: they say what their derivatives are.
DIFFERENTIATED = {"math", "linalg", "reductions"}

# Modules with public names: what is not on a page of one of them is on no page.
MODULES = ["drjit", *sorted({page.module for page in PAGES} - {"drjit"})]


def is_documented(value: Any) -> bool:
    """Is it a function or class? Others are constants and variables of types."""
    return callable(value) and type(value).__module__ not in ("typing", "types")


# Functions and classes of the pages, as parameters of a test.
CALLABLES = [
    pytest.param(page, page.value(name), id=f"{page.module}.{name}")
    for page, name in NAMES
    if is_documented(page.value(name))
]


def public(module: Any) -> set[str]:
    """The names that a module offers."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = [
            name
            for name, value in vars(module).items()
            if getattr(value, "__module__", "drjit").startswith("drjit")
        ]
    return {name for name in names if name[0] != "_" and name != "TYPE_CHECKING"}


@pytest.mark.parametrize("name", MODULES)
def test_each_public_name_is_on_a_page(name: str) -> None:
    """The other way round, too: what is on a page exists."""
    module = importlib.import_module(name)
    listed = {entry for page, entry in NAMES if page.module == name}
    found = {
        entry
        for entry in public(module)
        if not inspect.ismodule(getattr(module, entry))
    }
    missing = found - listed - {"c_api", "rng"}
    assert not missing
    for page, entry in NAMES:
        if page.module == name:
            assert page.value(entry) is not dr


def test_the_pages_are_up_to_date() -> None:
    """``make docs`` writes them."""
    for file, text in make_reference.written().items():
        path = ROOT / "docs/python" / file
        assert path.read_text(encoding="utf-8") == text, f"{file}: run 'make docs'"


@pytest.mark.parametrize(("page", "value"), CALLABLES)
def test_form(page: make_reference.Page, value: Any) -> None:
    """Sections, their order, and the names of the parameters."""
    doc = inspect.getdoc(value)
    assert doc
    parts = make_reference.sections(doc)
    first = "\n".join(parts[0][1]).split("\n\n")[0]
    assert first.endswith((".", "?", ":")), "the first paragraph is a sentence"
    assert len(first) <= 180
    names = [name for name, _ in parts[1:]]
    assert names == sorted(set(names), key=ORDER.index)
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return
    assert "Example" in names
    if page.file in DIFFERENTIATED:
        assert "Derivative" in names
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    wanted = [stars.get(p.kind, "") + p.name for p in parameters]
    lines = dict(parts).get("Args", [])
    described = [
        entry
        for group, _ in make_reference.items(lines)
        for entry in re.split(", ", group)
    ]
    assert described == wanted


@pytest.mark.parametrize(("page", "value"), CALLABLES)
def test_references(page: make_reference.Page, value: Any) -> None:
    """What a docstring refers to exists."""
    for name in make_reference.ROLE.findall(inspect.getdoc(value) or ""):
        place: Any = dr
        for part in name.removeprefix("drjit.").split("."):
            if inspect.ismodule(place) and not hasattr(place, part):
                place = importlib.import_module(f"{place.__name__}.{part}")
            else:
                place = getattr(place, part)


@pytest.mark.parametrize(("page", "value"), CALLABLES)
def test_members(page: make_reference.Page, value: Any) -> None:
    """Public methods and properties of classes say what they do."""
    if isinstance(value, type):
        for name, member in make_reference.own_members(value).items():
            assert inspect.getdoc(member), name


@pytest.mark.parametrize(("page", "value"), CALLABLES)
def test_example(page: make_reference.Page, value: Any) -> None:
    """The examples print what they show."""
    names = {"dr": dr, "np": np, **vars(importlib.import_module("drjit.llvm.ad"))}
    names = {name: entry for name, entry in names.items() if name[:2] != "__"}
    doc = inspect.getdoc(value) or ""
    parser = doctest.DocTestParser()
    test = parser.get_doctest(doc, names, page.file, None, 0)
    if not test.examples:  # 'test_form' says who needs one
        return
    output: list[str] = []
    runner = doctest.DocTestRunner(
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    runner.run(test, out=output.append)
    assert runner.failures == 0, "".join(output)
