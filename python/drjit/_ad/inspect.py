"""The graph of derivatives as text."""

from __future__ import annotations

import drjit
from drjit import _core

from .paths import leaves

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

dr: Any = drjit

_HINT = "  JitFlag.Debug, "  # begins the last line; it is shown once
_PAIRS = 16  # of a result and an input: as many are explained


def whos_ad(as_string: bool = False) -> str | None:
    """List the nodes of the graph of derivatives.

    With type, size, references, the operation that each is the result of, and label
    (or, in debug mode, the line that made it). Prints the list, or returns it with
    ``as_string=True``. It is that of all threads.
    """
    text: str = _core._whos_ad()
    if as_string:
        return text
    print(text)
    return None


def graphviz_ad(as_string: bool = False) -> Any:
    """The graph of derivatives as a diagram: nodes with type, size and label.

    Inputs, results, nodes with labels and those with a gradient have colours. A dashed
    box is around what was made in a block of :class:`drjit.isolate_grad` that is open.

    Returns a ``graphviz.Source``, for which the Python package ``graphviz`` is needed
    (else ImportError), or its text with ``as_string=True``.
    """
    text: str = _core._graphviz_ad()
    if as_string:
        return text
    try:
        from graphviz import Source  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise ImportError(
            "drjit.graphviz_ad(): the Python package 'graphviz' is not installed; "
            "as_string=True gives the text without it"
        ) from error
    return Source(text)


def _operands(name: str, tree: Any) -> list[tuple[str, Any]]:
    found = leaves("explain_grad", tree, dr.is_jit_v)
    if not found:
        raise TypeError(
            f"drjit.explain_grad(): '{name}' is of type {type(tree).__name__}, "
            "expected a just-in-time compiled array, or a PyTree with such arrays"
        )
    return [(name + path, leaf) for path, leaf in found if dr.width(leaf)]


def explain_grad(y: Any, x: Any, as_string: bool = False) -> str | None:
    """Explain by which way gradients go from a result to an input, or why by none.

    Args:
        y: a result: an array or a PyTree. Each array in it is looked at with each
            in ``x``.
        x: an input, likewise, for which :func:`drjit.enable_grad` was called.
        as_string: return the text. Else it is printed.

    Where there are ways, they are listed as operations from the result to the input.
    Where there is none, the text says what keeps gradients off: an operation that has
    no derivative, edges that an earlier traversal has cleared, an input that is not
    tracked, evaluated values behind which nothing is recorded. With ``JitFlag.Debug``,
    set from the beginning, source lines are part of it, and where values were detached
    or gradients suspended. A loop, conditional, call or custom operation is one
    operation here. TypeError if there is no array.
    """
    results, inputs = _operands("y", y), _operands("x", x)
    pairs = [(a, b) for a in results for b in inputs]
    parts, hint = [], ""
    for (to, result), (by, given) in pairs[:_PAIRS]:
        text = _core._explain(result, given)
        if len(pairs) > 1:
            text, mark, rest = text.partition(_HINT)
            hint = mark + rest
            text = f"{to} by {by}: {text}"
        parts.append(text)
    if len(pairs) > _PAIRS:
        parts.append(f"... {len(pairs) - _PAIRS} more pairs ...\n")
    text = "\n".join(parts) + hint
    if as_string:
        return text
    print(text, end="")
    return None
