"""Derivatives compared with difference quotients."""

from __future__ import annotations

import math

import drjit
from drjit import _core

from .paths import leaves

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

dr: Any = drjit


def _is_input(leaf: Any) -> bool:
    return bool(dr.is_float_v(leaf) and dr.is_diff_v(leaf))


def _double(leaf: Any) -> Any:
    if dr.is_array_v(leaf) and _is_input(leaf):
        return dr.float64_array_t(type(leaf))(leaf)
    return leaf


def _leaves(tree: Any) -> list[Any]:
    """The flat arrays of the float arrays of a tree."""
    return [leaf for _, leaf in leaves("check_grad", tree, _is_input)]


def _rebuild(tree: Any, parts: list[Any]) -> Any:
    rest = list(parts)

    def take(leaf: Any) -> Any:
        if dr.is_array_v(leaf) and _is_input(leaf):
            own = [rest.pop(0) for _ in _core._leaves(leaf)]
            return _core._from_leaves(leaf, own)
        return leaf

    return _core._tree_map("check_grad", take, tree)


def _value(result: Any) -> float:
    """A fixed combination of all entries of a result."""
    total = 0.0
    found = _leaves(result)
    if not found:
        raise TypeError(
            "drjit.check_grad(): the function returned "
            f"{type(result).__name__} without a float array that can have derivatives"
        )
    for number, leaf in enumerate(found):
        entries = leaf.numpy()
        for k, entry in enumerate(entries):
            total += (1 + 0.37 * ((k + number) % 5)) * float(entry)
    return total


def _seed(result: Any) -> None:
    seeds = []
    for number, leaf in enumerate(_leaves(result)):
        lane = dr.arange(dr.uint32_array_t(type(leaf)), dr.width(leaf))
        seeds.append(1 + 0.37 * type(leaf)((lane + number) % 5))
    if dr.grad_enabled(result):  # else the derivative is zero
        dr.set_grad(result, _rebuild(dr.detach(result), seeds))


def _check_parameters(fn: Any, mode: Any, eps: Any, tol: Any) -> None:
    if not callable(fn):
        raise TypeError(
            f"drjit.check_grad(): 'fn' is of type {type(fn).__name__}, expected a "
            "function"
        )
    if mode is not None and mode not in (dr.ADMode.Forward, dr.ADMode.Backward):
        raise TypeError(
            f"drjit.check_grad(): 'mode' is {mode!r}, expected ADMode.Forward, "
            "ADMode.Backward or None"
        )
    for name, value in (("eps", eps), ("tol", tol)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(
                f"drjit.check_grad(): '{name}' is of type {type(value).__name__}, "
                "expected a float"
            )
        if not 0 < value < math.inf:
            raise ValueError(
                f"drjit.check_grad(): '{name}' is {value}, expected a positive number"
            )


def _quotients(
    fn: Callable[..., Any], args: Any, base: list[Any], eps: float
) -> list[list[float]]:
    """Difference quotients by each entry of each flat array."""
    rows = []
    for number, leaf in enumerate(base):
        row = []
        for k in range(dr.width(leaf)):
            entry = float(leaf.numpy()[k])
            step = eps * max(1.0, abs(entry))
            values = []
            for moved in (entry + step, entry - step):
                own = type(leaf)(leaf.numpy())
                own[k] = moved
                parts = [*base[:number], own, *base[number + 1 :]]
                values.append(_value(fn(*dr.copy(_rebuild(args, parts)))))
            row.append((values[0] - values[1]) / (2 * step))
        rows.append(row)
    return rows


def _distance(derivative: float, quotient: float) -> float:
    """Relative beyond 1; infinite where one is NaN or infinite and the other not."""
    if derivative == quotient:
        return 0.0
    distance = abs(derivative - quotient) / max(1.0, abs(quotient))
    return distance if math.isfinite(distance) else math.inf


def check_grad(
    fn: Callable[..., Any],
    *args: Any,
    mode: Any = None,
    eps: float = 1e-5,
    tol: float = 1e-5,
) -> None:
    """Compare the derivatives of a function with difference quotients.

    A sum of all entries of the result, with different weights, is differentiated with
    respect to each entry of each argument. Silent if everything agrees; otherwise the
    error names the worst entry. Arguments are converted to double precision first, so
    give the function small arrays and let it work with any type. It is called twice for
    each entry, and again for each mode; it gets copies, which it may change in place.

    Args:
        fn (callable): a function of the arguments that returns a PyTree.
        *args: PyTrees. Integers and other objects are passed as they are.
        mode (ADMode | None): the mode to check, both by default.
        eps (float): half the distance of the two points of a quotient, relative to
            entries larger than 1.
        tol (float): the error to accept, relative to derivatives larger than 1.

    Raises:
        AssertionError: a derivative differs from its quotient by more than ``tol``. The
            message has the mode, the path of the array (``args[0].o[2]``), and the
            entry.
        TypeError: no argument, or no result, has a float array with derivatives, or a
            parameter is of another type.
        ValueError: ``eps`` or ``tol`` is not a positive number.

    Evaluation:
        Evaluates the result of each call.

    Example:
        >>> dr.check_grad(lambda x: dr.exp(-x * x) / (1 + x), Float(0.3, 1, 2))

    See also:
        :func:`drjit.explain_grad`
    """
    _check_parameters(fn, mode, eps, tol)
    args = _core._tree_map("check_grad", _double, args)
    found = leaves("check_grad", args, _is_input)
    if not found:
        raise TypeError(
            "drjit.check_grad(): no argument has a float array with derivatives, "
            "expected one, of drjit.llvm.ad for example"
        )
    paths, base = ["args" + path for path, _ in found], [leaf for _, leaf in found]
    # Not within suspend_grad(): the function may be a derivative itself.
    base = [dr.detach(leaf) for leaf in base]
    quotients = _quotients(fn, dr.detach(args), base, eps)
    for one in [dr.ADMode.Backward, dr.ADMode.Forward] if mode is None else [mode]:
        backward = one is dr.ADMode.Backward
        rows = _reverse(fn, args) if backward else _forward(fn, args)
        differences = [
            (_distance(a, b), number, k)
            for number, (row, expected) in enumerate(zip(rows, quotients, strict=True))
            for k, (a, b) in enumerate(zip(row, expected, strict=True))
        ]
        wrong = [d for d in differences if not d[0] <= tol]
        if not wrong:
            continue
        _, number, k = max(wrong, key=lambda d: d[0])
        raise AssertionError(
            f"drjit.check_grad(): the {one.name.lower()} derivative by entry {k} of "
            f"{paths[number]} is {rows[number][k]:.10g}, the difference quotient "
            f"{quotients[number][k]:.10g}; {len(wrong)} of {len(differences)} entries "
            "differ"
        )


def _tracked(args: Any) -> Any:
    copy = dr.detach(args)
    dr.enable_grad(copy)
    return copy


def _reverse(fn: Callable[..., Any], args: Any) -> list[list[float]]:
    inputs = _tracked(args)
    result = fn(*dr.copy(inputs))
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
            result = fn(*dr.copy(inputs))
            tangents = [dr.zeros(type(x), dr.width(x)) for x in _leaves(args)]
            tangents[number][k] = 1
            dr.set_grad(inputs, _rebuild(dr.detach(inputs), tangents))
            dr.enqueue(dr.ADMode.Backward, result)
            dr.traverse(dr.ADMode.Forward)
            row.append(_value(dr.grad(result)))
        rows.append(row)
    return rows
