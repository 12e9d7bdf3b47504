"""Signatures of functions, whatever their annotations refer to.

From Python 3.14 on annotations are evaluated when they are asked for, which
``inspect.signature`` does: it would raise what that raises. They are not needed here.
"""

from __future__ import annotations

import inspect
import sys

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

if sys.version_info >= (3, 14):
    from annotationlib import Format

    def signature(function: Any) -> inspect.Signature:
        """What the parameters of a function are called, and which it needs."""
        return inspect.signature(function, annotation_format=Format.FORWARDREF)
else:

    def signature(function: Any) -> inspect.Signature:
        """What the parameters of a function are called, and which it needs."""
        return inspect.signature(function)
