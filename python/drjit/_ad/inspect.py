"""The graph of derivatives as text."""

from __future__ import annotations

from typing import Any

from drjit import _core


def whos_ad(as_string: bool = False) -> str | None:
    """List the nodes of the graph of derivatives: type, size, references, label.

    Prints the list, or returns it with ``as_string=True``. It is that of all threads.
    """
    text: str = _core._whos_ad()
    if as_string:
        return text
    print(text)
    return None


def graphviz_ad(as_string: bool = False) -> Any:
    """The graph of derivatives as a diagram: nodes with type, size and label.

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
