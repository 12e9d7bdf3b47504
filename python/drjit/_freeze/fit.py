"""Why no recording fits the inputs of a call: ``explain``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drjit._freeze.notes import named
from drjit._freeze.rows import Rows, paths, read_by_name


def _build(rows: Iterator[tuple[Any, ...]]) -> Any:
    """The next tree of rows; ``LookupError``: it has arrays, or an object is gone."""
    row = next(rows)
    kind = row[0]
    if kind == "value":
        return row[1]
    if kind == "object" and (thing := row[1]()) is not None:
        return thing
    if kind == "content" and row[1] is set:
        return set(row[2])
    if kind == "tuple":
        return tuple([_build(rows) for _ in range(row[1])])
    if kind == "list":
        return [_build(rows) for _ in range(row[1])]
    if kind == "dict":
        return {key: _build(rows) for key in row[3]}
    raise LookupError


def closure_of(rows: Rows) -> Any:
    """What was read from closures and globals. Raises ``LookupError`` if there are
    arrays, or objects that have some."""
    return _build(rows[k] for k in read_by_name(rows))


def _words(row: tuple[Any, ...]) -> str:
    kind = row[0]
    if kind == "array":
        shape = f" of shape {row[3]}" if row[3] is not None else ""
        count = f" of {len(row[1])} variables" if len(row[1]) > 1 else ""
        return f"a {row[2].__module__}.{row[2].__name__}{shape}{count}"
    if kind == "entries":
        text = row[2].hex()
        return f"a {row[1].__module__}.{row[1].__name__} of bytes {text[:40]}"
    if kind == "content":
        text = f": {set(row[2])!r}" if row[1] is set else ""
        return f"a {row[1].__name__} with other content{text}"
    if kind == "value":
        return repr(row[1])
    if kind == "object":
        return f"{row[1]()!r}, which is compared by identity"
    if kind == "cycle":
        return f"the container {row[1]} levels above"
    if kind == "dict":
        return f"a dict with the keys {row[3]!r}"
    if kind == "fields":
        return f"a {row[2].__name__}"
    return f"a {kind} of {row[1]} entries"


def _sizes(row: tuple[Any, ...], variables: list[Any]) -> list[int]:
    """Entries of an array's variables, and extents of a tensor."""
    return [variables[k - 1][0] for k in row[1] if k] + list(row[3] or ())


def _literal(x: Any, y: Any) -> str | None:
    """How a variable differs from that of a recording."""
    if x[2] != y[2]:
        kinds = ("is in memory", "is a literal")
        return f"{kinds[x[2]]}, and {kinds[y[2]]} in the recording"
    if x[2] and x[4] != y[4]:
        return "is another literal than the one that was recorded"
    return None


def _variables(
    now: tuple[Rows, list[Any]], then: tuple[Rows, list[Any]]
) -> tuple[int, str]:
    """The first array whose variables are of another kind."""
    sizes: list[tuple[int, int]] = []
    for number, (row, old) in enumerate(zip(now[0], then[0], strict=True)):
        if row[0] != "array":
            continue
        if row[1] != old[1]:
            return number, "shares its variables with others than when recorded"
        for k in row[1]:
            different = _literal(now[1][k - 1], then[1][k - 1]) if k else None
            if different:
                return number, different
        pairs = zip(_sizes(row, now[1]), _sizes(old, then[1]), strict=True)
        for x, y in pairs:
            if min(x, 2) != min(y, 2):
                return number, f"has {x} entries, and {y} in the recording"
            if any((x == i) != (y == j) for i, j in sizes):
                return number, "is not as large as the same arrays as when recorded"
            sizes.append((x, y))
    return len(now[0]), "has other memory than when it was recorded"


def _object(row: tuple[Any, ...]) -> Any:
    return row[1]() if row[0] == "object" else row[1]


def _alike(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Are two rows the same, but for variables and sizes?"""
    kinds = {a[0], b[0]}
    if "object" in kinds and kinds <= {"object", "value"}:  # what is found by its name
        return _object(a) is _object(b)
    if len(kinds) > 1:
        return False
    if a[0] == "array":
        lengths = [(len(row[1]), row[3] and len(row[3])) for row in (a, b)]
        return a[2] is b[2] and lengths[0] == lengths[1]
    if a[0] == "value":
        return type(a[1]) is type(b[1]) and bool(a[1] == b[1])
    return a[:4] == b[:4]


def _difference(
    now: tuple[Rows, list[Any]], then: tuple[Rows, list[Any]]
) -> tuple[int, str]:
    """The row where inputs differ from those of a recording, and how."""
    for number, (a, b) in enumerate(zip(now[0], then[0], strict=False)):
        if not _alike(a, b):
            return number, f"is {_words(a)}, and {_words(b)} in the recording"
    return _variables(now, then)


def explain(snapshot: Any, recordings: list[Any]) -> str:
    """Why no recording fits these inputs, by the one that comes nearest."""
    now = snapshot.rows
    number, text = max(
        (_difference(now, recording.rows) for recording in recordings),
        key=lambda pair: pair[0],
    )
    if number >= len(now[0]):
        return f"an input {text}"
    return f"'{named(paths(now[0])[number])}' {text}"
