"""Sizes of arrays while a function is being recorded.

They are numbers that know where they come from. Sums, differences, products, quotients
and remainders of them are sizes again, as far as 64 bits have room, and
comparisons become conditions of the recording. Whatever else needs the number (a hash,
a float, ...) binds the recording to it: ``index(size)``.

The class does not derive from int, since C code reads these without a call. Its objects
say that they are of class int, and do what an int does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from operator import index
from typing import Any

from .. import _core
from .._core import ArrayBase

_core_any: Any = _core
_Handle: Any = _core_any._Size
_combine = _core_any._size_combine
_relate = _core_any._size_relate

# JitSizeOp and JitSizeRelation of drjit-core/freeze.h.
_ADD, _SUB, _MUL, _DIV, _MOD = range(5)
_EQUAL, _NOT_EQUAL, _LESS, _NOT_LESS = range(4)

_OF_INT = frozenset(dir(int))


def _number(value: Any) -> Any:
    return index(value) if isinstance(value, _Handle) else value


def _numbers(value: Any) -> Any:
    """A value with numbers in the place of sizes, also in lists, tuples and dicts."""
    cls = type(value)
    if cls is list or cls is tuple:
        return cls(map(_numbers, value))
    if cls is dict:
        return {key: _numbers(entry) for key, entry in value.items()}
    return _number(value)


def _small(value: Any, most: int) -> bool:
    """Is it a small exponent, or number of bits or digits?"""
    return type(value) is int and 0 <= value <= most


def _pair(op: int | None, function: Callable[..., Any]) -> tuple[Any, Any]:
    """An operator, and the reflected one. Arrays have operators of their own."""

    def operate(self: Any, other: Any) -> Any:
        if isinstance(other, ArrayBase):
            return NotImplemented
        made = None if op is None else _combine(op, self, other)
        return function(index(self), _number(other)) if made is None else made

    def reflected(self: Any, other: Any) -> Any:
        if isinstance(other, ArrayBase):
            return NotImplemented
        made = None if op is None else _combine(op, other, self)
        return function(_number(other), index(self)) if made is None else made

    return operate, reflected


def _of_both(plain: Callable[..., Any], turned: bool) -> Callable[..., Any]:
    """divmod(): both, or neither, are sizes."""

    def operate(self: Any, other: Any) -> Any:
        pair = (other, self) if turned else (self, other)
        quotient, rest = _combine(_DIV, *pair), _combine(_MOD, *pair)
        return (
            plain(self, other) if quotient is None or rest is None else (quotient, rest)
        )

    return operate


def _shift(op: int, function: Callable[..., Any]) -> tuple[Any, Any]:
    """By a power of two."""
    plain, reflected = _pair(None, function)

    def operate(self: Any, other: Any) -> Any:
        made = _combine(op, self, 1 << other) if _small(other, 62) else None
        return plain(self, other) if made is None else made

    return operate, reflected


def _comparison(
    relation: int, turned: bool, function: Callable[..., Any]
) -> Callable[..., Any]:
    def compare(self: Any, other: Any) -> Any:
        if isinstance(other, ArrayBase):
            return NotImplemented
        pair = (other, self) if turned else (self, other)
        found = _relate(relation, *pair)
        return function(index(self), _number(other)) if found is None else found

    return compare


def _itself(self: Any, *_: Any) -> Any:
    return self


# The operators that functions of NumPy stand for: a scalar of NumPy beside an int does
# not call them, and may round otherwise.
_UFUNCS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "true_divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
}


class Size(_Handle):  # type: ignore[misc]
    __slots__ = ()

    __class__ = property(lambda self: int)

    __add__, __radd__ = _pair(_ADD, operator.add)
    __sub__, __rsub__ = _pair(_SUB, operator.sub)
    __mul__, __rmul__ = _pair(_MUL, operator.mul)
    __floordiv__, __rfloordiv__ = _pair(_DIV, operator.floordiv)
    __mod__, __rmod__ = _pair(_MOD, operator.mod)
    __truediv__, __rtruediv__ = _pair(None, operator.truediv)
    __and__, __rand__ = _pair(None, operator.and_)
    __or__, __ror__ = _pair(None, operator.or_)
    __xor__, __rxor__ = _pair(None, operator.xor)
    __lshift__, __rlshift__ = _shift(_MUL, operator.lshift)
    __rshift__, __rrshift__ = _shift(_DIV, operator.rshift)

    __divmod__, __rdivmod__ = map(_of_both, _pair(None, divmod), (False, True))

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if isinstance(other, ArrayBase):
            return NotImplemented
        result: Any = self
        if modulus is None and _small(other, 8) and other:
            for _ in range(other - 1):
                result = result * self
            return result
        return pow(index(self), _number(other), _number(modulus))

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        if isinstance(other, ArrayBase):
            return NotImplemented
        return pow(_number(other), index(self), _number(modulus))

    __lt__ = _comparison(_LESS, False, operator.lt)
    __le__ = _comparison(_NOT_LESS, True, operator.le)
    __eq__ = _comparison(_EQUAL, False, operator.eq)
    __ne__ = _comparison(_NOT_EQUAL, False, operator.ne)
    __gt__ = _comparison(_LESS, True, operator.gt)
    __ge__ = _comparison(_NOT_LESS, False, operator.ge)

    def __neg__(self) -> Any:
        return 0 - self

    def __invert__(self) -> Any:
        return -1 - self

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __float__(self) -> float:
        return float(index(self))

    def __hash__(self) -> int:
        return hash(index(self))

    def __repr__(self) -> str:
        return repr(index(self))

    def __format__(self, text: str) -> str:
        return format(index(self), text)

    __pos__ = __trunc__ = __floor__ = __ceil__ = conjugate = _itself
    __copy__ = __deepcopy__ = _itself

    def __round__(self, digits: Any = None) -> Any:
        # A whole number: only digits in front of the point can be rounded.
        whole = digits is None or _small(digits, 1000)
        return self if whole else round(index(self), digits)

    def __reduce__(self) -> Any:
        return int, (index(self),)

    real = numerator = property(_itself)
    imag, denominator = 0, 1

    def __getattr__(self, name: str) -> Any:
        # What else an int has. Asking for others depends on nothing.
        return getattr(index(self) if name in _OF_INT else 0, name)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy

        return numpy.array(index(self), dtype)

    def __array_ufunc__(
        self, ufunc: Any, method: str, *args: Any, **kwargs: Any
    ) -> Any:
        first = type(args[0]) if len(args) == 2 else None
        if method == "__call__" and not kwargs and first is not None:
            if first.__module__ == "numpy" and first.__name__ != "ndarray":
                found = _UFUNCS.get(ufunc.__name__)
                if found is not None:
                    return found(_number(args[0]), _number(args[1]))
        return getattr(ufunc, method)(*_numbers(args), **_numbers(kwargs))

    def __array_function__(
        self, function: Any, types: Any, args: Any, kwargs: Any
    ) -> Any:
        return function(*_numbers(args), **_numbers(kwargs))
