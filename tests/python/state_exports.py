"""Recordings of stateful programs as C libraries: what a frozen function has computed
when it was recorded, its library computes from the same inputs.

What goes in and comes out are all inputs and outputs of the recording: arguments, what
the function reads by name, defaults, gradients; results, what it has changed, and
gradients that it leaves. Recordings that cannot be exported are counted by reason.
"""

from __future__ import annotations

import collections
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import drjit as dr
import numpy as np
from drjit import _core
from drjit._freeze.export import export, latest
from test_export import Builds, bits

NAME = "stateful"
# Why there may be no library, see docs/freezing.md.
REFUSED = (
    "it prints evaluated arrays",
    "it depends on the instances of a class",
    "a kernel of it prints",
    "it depends on objects that are registered",
)
# "    const float *x; /* x: w2, lane by lane */", "    /* y: empty */"
FIELD = re.compile(
    r"^    (?:const )?\w+ (\*?)(\w+);(?: /\* (.*?)(?:: [^:\n]*)? \*/)?$"
    r"|^    /\* (.*): (the same as \w+|part of the function, as a value .*|empty) \*/$",
    re.MULTILINE,
)


def flat(array: Any) -> Iterator[Any]:
    """The arrays of numbers that one consists of, in the order of its components."""
    if dr.is_tensor_v(array):
        yield array.array
    elif dr.depth_v(array) > 1:
        for component in array:
            yield from flat(component)
    else:
        yield array


def values(array: Any) -> Any:
    """The entries, read such that a literal stays one."""
    array = dr.detach(array)
    if array.state == dr.VarState.Literal:
        found = np.array(type(array)(array[0]).numpy())
        return np.full(len(array), found[0], found.dtype)
    return np.array(array.numpy(), copy=True)


def at_paths(tree: Any) -> dict[str, Any]:
    """What the recording calls inputs and outputs: entries of arrays of numbers, and
    sizes, by path."""
    found: dict[str, Any] = {}
    for path, leaf in _core._tree_paths("freeze", tree):
        if not (isinstance(leaf, dr.ArrayBase) and dr.is_jit_v(leaf)):
            found[path] = leaf
            continue
        parts = list(flat(leaf))
        for k, part in enumerate(parts):
            found[path if len(parts) == 1 else f"{path}[{k}]"] = values(part)
        if dr.is_tensor_v(leaf):
            for axis, extent in enumerate(leaf.shape):
                found[f"{path}.shape[{axis}]"] = extent
    return found


def same(found: Any, wanted: Any) -> bool:
    """Bits, but for those of NaN."""
    wanted = np.asarray(wanted)
    if wanted.dtype == np.float16:
        found = found.view(np.float16) if found.size else found
    if found.size != wanted.size:
        return False
    if wanted.size and wanted.dtype.kind == "f":
        nan = np.isnan(wanted)
        if not np.array_equal(nan, np.isnan(found)):
            return False
        found, wanted = found[~nan], wanted[~nan]
    return wanted.size == 0 or bits(found) == bits(wanted)


class Exports:
    """Exports each of the first recordings of frozen functions, and compares."""

    def __init__(self, folder: Path, most: int) -> None:
        """``most``: libraries that are built for a program."""
        self.builds = Builds(folder)
        self.most = most
        self.counts: collections.Counter[str] = collections.Counter()
        self.failures: list[str] = []
        self._left = most

    def begin(self) -> None:
        """Another program."""
        self.failures = []
        self._left = self.most

    def watch(self, frozen: Any) -> Any:
        """Have a frozen function be looked at whenever it is recorded."""
        record = frozen._record

        def watched(call: Any) -> None:
            if self._left == 0:
                return record(call)
            before = self._tried(lambda: at_paths(call.inputs))
            last = frozen._last
            record(call)
            if frozen._last is not last:
                self._left -= 1
                self._tried(lambda: self._check(frozen, before, call))
            return None

        frozen._record = watched
        return frozen

    def _tried(self, function: Callable[[], Any]) -> Any:
        """Its result. What it raises is a failure, which no program can catch."""
        try:
            return function()
        except Exception as error:
            self.failures.append(f"{type(error).__name__}: {error}")
            return None

    def _check(self, frozen: Any, before: dict[str, Any], call: Any) -> None:
        functions = latest(frozen, NAME)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            try:
                export(folder, functions, None)
            except RuntimeError as error:
                reason = next((r for r in REFUSED if str(error).endswith(r)), None)
                if reason is None:
                    raise
                self.counts[f"refused: {reason}"] += 1
                return
            self._compare(folder, functions[0], before, call)
        self.counts["exported"] += 1

    def _compare(self, folder: Path, function: Any, before: Any, call: Any) -> None:
        recorded, _, names = function
        inputs, extents, outputs, sizes, changed = recorded.recording.paths()
        isa = re.findall(r"EXPORTED_ISA=(\w+)", (folder / "Makefile").read_text())[0]
        library = self.builds.build(folder, NAME, isa)
        header = (folder / f"{NAME}.h").read_text("utf-8")
        rows = [(names.input(path), before[path]) for path in inputs + extents]
        given = fields_of(header, rows)
        own = dict(_core._tree_paths("freeze", call.inputs))
        after = at_paths((call.result, [own[path] for path in changed]))
        for threads in (1, 2):
            library.threads(threads)
            found = library.call(given, {})
            wanted = [(path, after[path]) for path in outputs + sizes]
            for field, (path, value) in zip(found, wanted, strict=True):
                if not same(found[field], value):
                    raise AssertionError(
                        f"{names.output(path, changed)} is {found[field]}, expected "
                        f"{value}; in: {given}"
                    )
        library.shutdown()


def fields_of(header: str, rows: list[tuple[str, Any]]) -> dict[str, Any]:
    """The inputs by field: arrays, and numbers of entries. ``rows``: what they are
    called, in the order of the header, and what they are."""
    body = re.search(rf"struct {NAME}_inputs {{\n(.*?)\n}};", header, re.DOTALL)
    assert body
    fields: list[tuple[str, str, str]] = []
    fixed = {}
    for star, field, path, without, why in FIELD.findall(body[1]):
        if field:
            fields.append((star, field, path))
        else:
            fixed[without] = why
    fields = [field for field in fields if field[1] != "none"]
    given: dict[str, Any] = {}
    for path, value in rows:
        why = fixed.get(path)
        if isinstance(value, int):
            _, field, own = fields.pop(0)
            assert own == path, (own, path)
            given[field] = value
        elif why is None:
            star, field, own = fields.pop(0)
            assert star and own == path, (own, path)
            given[field] = value
            if fields and fields[0][1] == f"{field}_size":
                fields.pop(0)
        elif why.startswith("part of the function") and len(value) > 1:
            _, field, _ = fields.pop(0)
            given[field] = len(value)
    assert not fields, fields
    return given
