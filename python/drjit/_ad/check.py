"""Derivatives compared with difference quotients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import drjit
from drjit import _core

dr: Any = drjit


def _double(leaf: Any) -> Any:
    if dr.is_array_v(leaf) and dr.is_float_v(leaf) and dr.is_diff_v(leaf):
        return dr.float64_array_t(type(leaf))(leaf)
    return leaf


def _leaves(tree: Any) -> list[Any]:
    """The leaves of the float arrays of a tree, as arrays."""
    found: list[Any] = []

    def note(leaf: Any) -> Any:
        if dr.is_array_v(leaf) and dr.is_float_v(leaf) and dr.is_diff_v(leaf):
            found.extend(_core._leaves(leaf))
        return leaf

    _core._tree_map("check_grad", note, tree)
    return found


def _rebuild(tree: Any, leaves: list[Any]) -> Any:
    rest = list(leaves)

    def take(leaf: Any) -> Any:
        if dr.is_array_v(leaf) and dr.is_float_v(leaf) and dr.is_diff_v(leaf):
            own = [rest.pop(0) for _ in _core._leaves(leaf)]
            return _core._from_leaves(leaf, own)
        return leaf

    return _core._tree_map("check_grad", take, tree)


def _value(result: Any) -> float:
    """A fixed combination of all entries of a result."""
    total = 0.0
    leaves = _leaves(result)
    if not leaves:
        raise TypeError("drjit.check_grad(): the function returned no float array")
    for number, leaf in enumerate(leaves):
        entries = leaf.numpy()
        for k, entry in enumerate(entries):
            total += (1 + 0.37 * ((k + number) % 5)) * float(entry)
    return total


def _seed(result: Any) -> None:
    seeds = []
    for number, leaf in enumerate(_leaves(result)):
        lane = dr.arange(dr.uint32_array_t(type(leaf)), dr.width(leaf))
        seeds.append(1 + 0.37 * type(leaf)((lane + number) % 5))
    dr.set_grad(result, _rebuild(dr.detach(result), seeds))


def check_grad(
    fn: Callable[..., Any],
    *args: Any,
    mode: Any = None,
    eps: float = 1e-5,
    tol: float = 1e-5,
) -> None:
    """Compare the derivatives of a function with difference quotients.

    Args:
        fn: a function of the arguments that returns a PyTree. It is called once with
            tracked arguments, and twice for each entry of each array.
        *args: PyTrees; float arrays with derivatives are converted to double precision.
        mode: ``ADMode.Backward``, ``ADMode.Forward``, or None for both.
        eps: half the distance of the points, relative to entries beyond 1.
        tol: by how much derivatives may differ, relative to those beyond 1.

    Raises TypeError if no float array is returned, and AssertionError that names the
    array (counted in the order of the PyTree) and the entry of the worst difference,
    if one is beyond ``tol``.
    """
    args = _core._tree_map("check_grad", _double, args)
    base = _leaves(args)
    quotients = []
    with dr.suspend_grad():
        for number, leaf in enumerate(base):
            row = []
            for k in range(dr.width(leaf)):
                entry = float(leaf.numpy()[k])
                step = eps * max(1.0, abs(entry))
                values = []
                for moved in (entry + step, entry - step):
                    own = type(leaf)(leaf.numpy())
                    own[k] = moved
                    leaves = [*base[:number], own, *base[number + 1 :]]
                    values.append(_value(fn(*_rebuild(args, leaves))))
                row.append((values[0] - values[1]) / (2 * step))
            quotients.append(row)
    modes = [dr.ADMode.Backward, dr.ADMode.Forward] if mode is None else [mode]
    for one in modes:
        backward = one is dr.ADMode.Backward
        found = _reverse(fn, args) if backward else _forward(fn, args)
        worst = max(
            (
                (abs(a - b) / max(1.0, abs(b)), number, k, a, b)
                for number, (row, expected) in enumerate(
                    zip(found, quotients, strict=True)
                )
                for k, (a, b) in enumerate(zip(row, expected, strict=True))
            ),
            default=(0.0, 0, 0, 0.0, 0.0),
        )
        if not worst[0] <= tol:
            raise AssertionError(
                f"drjit.check_grad(): {one.name.lower()} derivative by entry "
                f"{worst[2]} of leaf {worst[1]} is {worst[3]:.10g}, the difference "
                f"quotient {worst[4]:.10g}"
            )


def _tracked(args: Any) -> Any:
    copy = dr.detach(args)
    dr.enable_grad(copy)
    return copy


def _reverse(fn: Callable[..., Any], args: Any) -> list[list[float]]:
    inputs = _tracked(args)
    result = fn(*inputs)
    _seed(result)
    dr.enqueue(dr.ADMode.Backward, result)
    dr.traverse(dr.ADMode.Backward)
    return [[float(x) for x in leaf.numpy()] for leaf in _leaves(dr.grad(inputs))]


def _forward(fn: Callable[..., Any], args: Any) -> list[list[float]]:
    rows = []
    for number, leaf in enumerate(_leaves(args)):
        row = []
        for k in range(dr.width(leaf)):
            inputs = _tracked(args)
            result = fn(*inputs)
            tangents = [dr.zeros(type(x), dr.width(x)) for x in _leaves(args)]
            tangents[number][k] = 1
            dr.set_grad(inputs, _rebuild(dr.detach(inputs), tangents))
            dr.enqueue(dr.ADMode.Backward, result)
            dr.traverse(dr.ADMode.Forward)
            row.append(_value(dr.grad(result)))
        rows.append(row)
    return rows
