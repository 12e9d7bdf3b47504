"""Elementwise operations that are short expressions over the operators of arrays.

They accept Python numbers and Dr.Jit arrays and tensors of any backend.
"""

from __future__ import annotations

import warnings

import drjit as dr

TYPE_CHECKING = False  # that of typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any


def sign(arg: Any, /) -> Any:
    """Return 1 where ``arg >= 0``, else -1, in the type of ``arg``.

    Both zeros count as positive; a NaN gives -1.
    """
    if not dr.is_array_v(arg):
        return arg.__class__(1 if arg >= 0 else -1)  # sizes have that of int
    one = dr.ones_like(arg)
    if dr.is_unsigned_v(arg):  # masks count as such
        return one
    return dr.select(arg >= 0, one, -one)


def mulsign(arg0: Any, arg1: Any, /) -> Any:
    """Return ``arg0`` times the :py:func:`sign` of ``arg1``, typed as ``arg0``."""
    if not dr.is_array_v(arg1):
        return arg0 if arg1 >= 0 else -arg0
    if dr.is_unsigned_v(arg1):  # masks count as such
        return arg0
    return dr.select(arg1 >= 0, arg0, -arg0)


def square(arg: Any, /) -> Any:
    """Return ``arg * arg``; for a matrix that is its matrix product with itself."""
    return arg * arg


def sqr(arg: Any, /) -> Any:
    """Return ``arg * arg``; deprecated in favour of :py:func:`square`."""
    warnings.warn(
        "drjit.sqr() is deprecated, use drjit.square()",
        DeprecationWarning,
        stacklevel=2,
    )
    return arg * arg
