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

    Each line has the number of a node, its type, size, references, the operation that
    it is the result of, and its label or, in debug mode, the source line. The list has
    the nodes of all threads.

    Args:
        as_string (bool): return the text instead of printing it.

    Returns:
        str | None: the text if ``as_string`` is set.

    Example:
        >>> x = Float(1, 2)
        >>> dr.enable_grad(x)
        >>> dr.set_label(x, "my angle")
        >>> "my angle" in dr.whos_ad(as_string=True)
        True

    See also:
        :func:`drjit.graphviz_ad`, :func:`drjit.whos`, :func:`drjit.set_label`
    """
    text: str = _core._whos_ad()
    if as_string:
        return text
    print(text)
    return None


def graphviz_ad(as_string: bool = False) -> Any:
    """Draw the graph of derivatives: nodes with operation, type, size and label.

    Inputs, results, nodes with labels and those with a gradient have colours, which a
    legend explains. A dashed box is around what was made in a block of
    :class:`drjit.isolate_grad` that is still open.

    Args:
        as_string (bool): return the text in the language of Graphviz.

    Returns:
        graphviz.Source | str: what notebooks display, or the text.

    Raises:
        ImportError: ``as_string`` is not set, and the Python package ``graphviz`` is
            not installed.

    Example:
        >>> x = Float(1, 2)
        >>> dr.enable_grad(x)
        >>> dr.graphviz_ad(as_string=True).split()[0]
        'digraph'

    See also:
        :func:`drjit.whos_ad`, :func:`drjit.graphviz`
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
    """Explain how gradients get from a result to an input, or why they do not.

    Where there are ways, they are listed as operations from the result to the input.
    Where there is none, the text says what is in the way: an operation that has no
    derivative, edges that an earlier traversal has cleared, an input that is not
    tracked, or evaluated values whose history is not recorded. With ``JitFlag.Debug``
    set from the beginning, there are source lines, too, and the places where values
    were detached or gradients suspended.

    Args:
        y (array | PyTree): the result. Each array in it is looked at with each in
            ``x``, 16 pairs at most.
        x (array | PyTree): the input, for which :func:`drjit.enable_grad` was called.
        as_string (bool): return the text instead of printing it.

    Returns:
        str | None: the text if ``as_string`` is set.

    Raises:
        TypeError: ``y`` or ``x`` has no traced array.

    Example:
        >>> x = Float(1, 2, 3)
        >>> dr.enable_grad(x)
        >>> dr.explain_grad(dr.floor(2 * x) + 1, x)
        No gradient goes from the result (...) to the input (...):
          - floor (...) has no derivative: it is piecewise constant
          ...

    See also:
        :func:`drjit.check_grad`, :func:`drjit.whos_ad`
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
