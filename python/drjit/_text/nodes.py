"""The nodes of a PyTree in order, for what prints and labels them."""

from __future__ import annotations

from operator import length_hint
from typing import NamedTuple

from drjit import _core

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal


class Event(NamedTuple):
    """A leaf, or one end of a container."""

    kind: Literal["leaf", "open", "close"]
    item: Any
    container: Any  # that the item is an entry of, None: none
    key: Any  # under which


def events(operation: str, tree: Any) -> Iterator[Event]:
    """Leaves in order, between the beginnings and ends of the containers around them.

    Raises ``RecursionError`` on behalf of ``operation`` for trees that contain
    themselves.
    """
    outer: list[tuple[Event, Iterator[Any]]] = []
    for item, keys in _core._tree_nodes(operation, tree):
        # A node is the next entry of the innermost container that has one.
        container = outer[-1][0].item if outer else None
        key = next(outer[-1][1]) if outer else None
        event = Event("leaf" if keys is None else "open", item, container, key)
        yield event
        if keys is not None:
            outer.append((event, iter(keys)))
        while outer and length_hint(outer[-1][1]) == 0:
            yield outer.pop()[0]._replace(kind="close")


def paths(operation: str, tree: Any) -> Iterator[tuple[str, Event]]:
    """Leaves and beginnings of containers, with their paths: ``[0]['a'].x``."""
    outer = [""]
    for event in events(operation, tree):
        if event.kind == "close":
            outer.pop()
            continue
        path = outer[-1]
        if event.container is not None:
            plain = isinstance(event.container, (list, tuple, dict))
            path += f"[{event.key!r}]" if plain else f".{event.key}"
        if event.kind == "open":
            outer.append(path)
        yield path, event
