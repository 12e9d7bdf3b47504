"""Sums in the order of a binary tree over block numbers, whenever the blocks arrive."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from drjit import _core

# Where a node is: (level, index). It is the sum of the blocks from index * 2**level on,
# as many as 2**level, or as there are.
Place = tuple[int, int]


def add(a: Any, b: Any) -> Any:
    """The sum of two PyTrees of the same structure, leaf by leaf."""
    total = _core._tree_map("dist", operator.add, a, b)
    _core.eval(total)
    return total


class TreeSum:
    """Adds two neighbours as soon as both are there, so the result does not depend on
    the order of arrival, and about log2(blocks) sums are kept beside those that wait
    for a neighbour."""

    def __init__(self, nodes: dict[Place, Any]) -> None:
        self.nodes = nodes

    def put(self, number: int, value: Any) -> None:
        """Add the contribution of a block."""
        level, index = 0, number
        while (level, index ^ 1) in self.nodes:
            other = self.nodes.pop((level, index ^ 1))
            value = add(value, other) if index % 2 == 0 else add(other, value)
            level, index = level + 1, index // 2
        self.nodes[level, index] = value

    def total(self) -> Any:
        """The sum, when all blocks are there. Nodes without a neighbour are those at
        the end of the tree, each larger than what follows it."""
        places = sorted(self.nodes, reverse=True, key=lambda at: at[1] << at[0])
        total = self.nodes[places[0]]
        for place in places[1:]:
            total = add(self.nodes[place], total)
        return total

    def blocks(self) -> Iterator[int]:
        """The numbers of the blocks that are there."""
        for level, index in self.nodes:
            yield from range(index << level, (index + 1) << level)
