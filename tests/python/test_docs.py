"""The pages of the documentation: programs run as they say, links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import documents
import pytest

WITH_PROGRAMS = [page for page in documents.PAGES if documents.blocks(page, "python")]
LINKED = [documents.README, *documents.PAGES, *documents.ROOT.glob("docs/dev/*.md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FOLDER = documents.ROOT / "docs" / "pictures"
DRAWINGS = sorted(FOLDER.glob("*.svg"))
EXAMPLES = sorted((documents.ROOT / "examples" / "python").glob("*.py"))
# Without what they share.
EXAMPLES = [path for path in EXAMPLES if path.stem not in ("optics", "picture")]


def name(path: Path) -> str:
    return str(path.relative_to(documents.ROOT))


def anchors(page: Path) -> set[str]:
    """The anchors that code hosts make of the headings of a page."""
    text = documents.FENCED.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading).lower() for heading in headings]
    return {heading.replace(" ", "-") for heading in plain}


def test_there_are_pages() -> None:
    assert len(WITH_PROGRAMS) >= 10


@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=name)
def test_programs_run(page: Path) -> None:
    """The blocks run one after the other in a process that has done nothing else."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", documents.__file__, str(page)],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("page", [documents.README, *documents.PAGES], ids=name)
def test_languages(page: Path) -> None:
    """A block in a language that no test knows would never be run."""
    for block in documents.blocks(page):
        assert block.language in documents.LANGUAGES, block.place


@pytest.mark.parametrize("page", LINKED, ids=name)
def test_links(page: Path) -> None:
    """Links to files and headings of the tree lead somewhere."""
    text = documents.FENCED.sub("", page.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_pages_are_in_the_contents() -> None:
    """Each page can be reached from the first one."""
    contents = (documents.ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    links = {link.partition("#")[0] for link in LINK.findall(contents)}
    assert {page.name for page in documents.PAGES} - {"README.md"} <= links


def test_pictures_are_current() -> None:
    """They are what the tool draws."""
    tool = documents.ROOT / "tools" / "make_pictures.py"
    done = subprocess.run(
        [sys.executable, str(tool), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("picture", DRAWINGS, ids=name)
def test_drawings(picture: Path) -> None:
    """A drawing is small and well-formed, and a page shows it."""
    ET.parse(picture)
    assert picture.stat().st_size < 40_000
    shown = [page.read_text(encoding="utf-8") for page in documents.PAGES]
    assert any(f"(pictures/{picture.name})" in text for text in shown)


@pytest.mark.parametrize("program", EXAMPLES, ids=name)
def test_examples_are_shown(program: Path) -> None:
    """The page of examples has each of them, with its picture, which is small."""
    text = (documents.ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    assert f"`examples/python/{program.name}`" in text
    assert f"(pictures/{program.stem}.png)" in text
    content = (FOLDER / f"{program.stem}.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n" and content[-8:-4] == b"IEND"
    assert len(content) < 60_000


def test_pictures_of_examples() -> None:
    """No picture is left of an example that is gone."""
    names = {program.stem for program in EXAMPLES}
    assert {path.stem for path in FOLDER.glob("*.png")} == names
