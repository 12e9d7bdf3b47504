"""Signatures of functions, whatever their annotations refer to.

From Python 3.14 on annotations are evaluated when they are asked for, which
``inspect.signature`` does: it would raise what that raises. They are not needed here.
"""

from __future__ import annotations

import inspect
import re
import sys

import drjit

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


def shown(function: str) -> str:
    """The end of a message about arguments: the signature as ``help()`` has it.

    ``function`` is its name behind ``drjit.``; '' for one that has none to show.
    """
    found: Any = drjit
    for name in function.split("."):
        found = getattr(found, name, None)
    text = getattr(found, "__text_signature__", None)
    if not text and inspect.isfunction(found):
        known = signature(found)
        plain = [
            parameter.replace(annotation=known.empty)
            for parameter in known.parameters.values()
        ]
        text = str(known.replace(parameters=plain, return_annotation=known.empty))
    if not text:
        return ""
    # That of a module or of an object in front is not given in a call.
    text = re.sub(r"^\(\$\w+(, /)?(, )?", "(", text)
    return f"; the signature is drjit.{function}{text}"
