"""Elementwise functions.

Most are functions of ours with the standard's promotion of types; the rest is here:
quotients that are rounded down, NaN that is passed on, functions near 0.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import drjit as dr

from . import _types as t

LN2 = 0.6931471805599453
INV_LN10 = 0.4342944819032518


def _named(f: Any, name: str, text: str) -> Any:
    f.__name__ = f.__qualname__ = name
    f.__doc__ = text
    return f


def _unary(name: str, f: Callable[[Any], Any], kind: str, text: str) -> Any:
    def function(x: Any, /) -> Any:
        return f(t.check_kind(name, x, kind))

    return _named(function, name, text)


def _binary(name: str, f: Callable[[Any, Any], Any], kind: str, text: str) -> Any:
    def function(x1: Any, x2: Any, /) -> Any:
        a, b = t.together(name, x1, x2)
        if kind != "any":
            t.check_kind(name, a, kind)
        return f(a, b)

    return _named(function, name, text)


def _float(name: str, f: Any = None, text: str | None = None) -> Any:
    f = getattr(dr, name) if f is None else f
    text = text or f"``{name}`` of each entry, of arrays of floats."
    return _unary(name, f, "real floating", text)


acos, acosh = _float("acos"), _float("acosh")
asin, asinh = _float("asin"), _float("asinh")
atan, atanh = _float("atan"), _float("atanh")
cos, cosh = _float("cos"), _float("cosh")
sin, sinh = _float("sin"), _float("sinh")
tan, tanh = _float("tan"), _float("tanh")
exp, log, log2, sqrt = _float("exp"), _float("log"), _float("log2"), _float("sqrt")


def _log10(x: Any) -> Any:
    return dr.log(x) * INV_LN10


def _log1p(x: Any) -> Any:
    """Kahan's: what rounding took from 1 + x is put back by the factor x / (u - 1)."""
    u = 1 + x
    rest = dr.select(dr.isinf(x) | (u == 1), 1, u - 1)
    value = dr.select(u == 1, x, dr.log(u) * dr.select(dr.isinf(x), 1, x / rest))
    return dr.replace_grad(value, dr.log(u)) if dr.grad_enabled(x) else value


def _expm1(x: Any) -> Any:
    """Kahan's: (u - 1) x / log(u) with u = exp(x); close to 0 it is x itself."""
    u = dr.exp(x)
    near = (u == 1) | (x == 0)
    far = dr.isinf(u) | (u - 1 == -1)
    ratio = x / dr.select(near | far, 1, dr.log(dr.select(near | far, 2, u)))
    value = dr.select(near, x, (u - 1) * dr.select(far, 1, ratio))
    return dr.replace_grad(value, u) if dr.grad_enabled(x) else value


log10 = _float("log10", _log10, "Decimal logarithm, within 2 ulp.")
log1p = _float("log1p", _log1p, "log(1 + x), accurate near 0, too.")
expm1 = _float("expm1", _expm1, "exp(x) - 1, accurate near 0, too.")


def _rounding(name: str) -> Any:
    def f(x: Any) -> Any:
        return getattr(dr, name)(x) if x.dtype in t.FLOATS else x

    return _unary(name, f, "numeric", f"``{name}`` of floats; integers stay.")


ceil, floor = _rounding("ceil"), _rounding("floor")
round, trunc = _rounding("round"), _rounding("trunc")


def _sign(x: Any) -> Any:
    if x.dtype not in t.FLOATS:
        return dr.select(x == 0, 0, dr.sign(x)) if x.dtype in t.SIGNED else _positive(x)
    return dr.select(dr.isnan(x), x, dr.select(x == 0, 0, dr.sign(x)))


def _positive(x: Any) -> Any:
    return dr.select(x == 0, type(x)(0), type(x)(1))


def _signbit(x: Any) -> Any:
    bits = {16: dr.VarType.Int16, 32: t.int32, 64: t.int64}[t.BITS[x.dtype]]
    if bits == dr.VarType.Int16:  # there are no tensors with such entries
        return _signbit(t.cast(x, t.float32))
    return dr.reinterpret_array(t.tensor_type(bits, x), x) < 0


abs = _unary("abs", operator.abs, "numeric", "Absolute value.")
negative = _unary("negative", operator.neg, "numeric", "-x; of unsigned ones modulo.")
positive = _unary("positive", lambda x: x, "numeric", "+x: the array.")
sign = _unary("sign", _sign, "numeric", "-1, 0 or 1 by the sign; of NaN it is NaN.")
signbit = _unary("signbit", _signbit, "real floating", "Is the sign bit set?")
square = _unary("square", lambda x: x * x, "numeric", "x * x.")
isnan = _unary("isnan", dr.isnan, "numeric", "Is it NaN?")
isinf = _unary("isinf", dr.isinf, "numeric", "Is it infinite?")
isfinite = _unary("isfinite", dr.isfinite, "numeric", "Is it neither infinite nor NaN?")
logical_not = _unary("logical_not", operator.invert, "bool", "Not x, of masks.")


def bitwise_invert(x: Any, /) -> Any:
    """The complement of the bits of integers, and of masks."""
    if t.check("bitwise_invert", x).dtype in t.FLOATS:
        t.fail("bitwise_invert", "the entries are floats, expected integers or masks")
    return ~x


def _bits(name: str, f: Any, text: str) -> Any:
    def function(a: Any, b: Any) -> Any:
        if a.dtype in t.FLOATS:
            t.fail(name, "the entries are floats, expected integers or masks")
        return f(a, b)

    return _binary(name, function, "any", text)


bitwise_and = _bits("bitwise_and", operator.and_, "Bits that are set in both.")
bitwise_or = _bits("bitwise_or", operator.or_, "Bits that are set in one of the two.")
bitwise_xor = _bits("bitwise_xor", operator.xor, "Bits that differ.")
bitwise_left_shift = _binary(
    "bitwise_left_shift", operator.lshift, "integral", "x1 * 2**x2, modulo the size."
)
bitwise_right_shift = _binary(
    "bitwise_right_shift", operator.rshift, "integral", "x1 / 2**x2, rounded down."
)

logical_and = _binary("logical_and", operator.and_, "bool", "x1 and x2, of masks.")
logical_or = _binary("logical_or", operator.or_, "bool", "x1 or x2, of masks.")
logical_xor = _binary("logical_xor", operator.xor, "bool", "Is one of two masks set?")

add = _binary("add", operator.add, "numeric", "x1 + x2.")
subtract = _binary("subtract", operator.sub, "numeric", "x1 - x2.")
multiply = _binary("multiply", operator.mul, "numeric", "x1 * x2.")
equal = _binary("equal", operator.eq, "any", "x1 == x2.")
not_equal = _binary("not_equal", operator.ne, "any", "x1 != x2.")
less = _binary("less", operator.lt, "numeric", "x1 < x2.")
less_equal = _binary("less_equal", operator.le, "numeric", "x1 <= x2.")
greater = _binary("greater", operator.gt, "numeric", "x1 > x2.")
greater_equal = _binary("greater_equal", operator.ge, "numeric", "x1 >= x2.")


def _divide(a: Any, b: Any) -> Any:
    if a.dtype in t.FLOATS:
        return a / b
    return t.cast(a, t.float64) / t.cast(b, t.float64)


def _reduce(a: Any, b: Any) -> Any:
    """``a`` minus a multiple of ``b``, so that the quotient has digits after the point.

    From ``limit`` on, quotients are integers. The remainder of a division that rounds
    to the nearest is a float, and fma() gives it exactly: each step takes the leading
    digits of the quotient away. Where the quotient is beyond the largest float, ``b``
    is first multiplied by powers of two.
    """
    digits, largest, _ = t.FORMATS[a.dtype]
    limit, far, rest = 2.0 ** (digits - 1), 2.0 ** (largest - 1), 2.0 ** (digits + 6)

    def more(a: Any, b: Any) -> Any:
        return (dr.abs(a / b) >= limit) & dr.isfinite(a) & dr.isfinite(b) & (b != 0)

    def step(a: Any, b: Any) -> Any:
        c = dr.select(dr.isinf(a / b), b * far, b)
        c = dr.select(dr.isinf(a / c), c * rest, c)
        return dr.fma(-dr.round(a / c), c, a), b

    a, b = dr.detach(a), dr.detach(b)
    state = (dr.select(dr.isnan(b), b, a), dr.select(dr.isnan(a), a, b))  # one shape
    if dr.is_jit_v(a):
        return dr.while_loop(state, more, step, label="remainder")[0]
    a, b = state
    while dr.any(more(a, b)):
        a = dr.select(more(a, b), step(a, b)[0], a)
    return a


def _quotient(a: Any, b: Any) -> tuple[Any, Any]:
    """Quotient of floats rounded down, and remainder, exact for small quotients."""
    q = dr.floor(a / b)
    r = dr.fma(-q, b, a)
    low = (r != 0) & ((r < 0) != (b < 0))  # a / b was rounded up to an integer
    return dr.select(low, q - 1, q), dr.select(low, r + b, r)


def _floor_divide(a: Any, b: Any, exact: Any) -> tuple[Any, Any]:
    """Quotient rounded down, and remainder with the sign of the divisor.

    Of floats the remainder is right for large quotients, too, if ``exact``.
    """
    if a.dtype == dr.VarType.Float16:
        wide = _floor_divide(t.cast(a, t.float32), t.cast(b, t.float32), exact)
        return t.cast(wide[0], a.dtype), t.cast(wide[1], a.dtype)
    if a.dtype in t.UNSIGNED:
        return a // b, a % b
    if a.dtype in t.SIGNED:
        q, r = a // b, a % b
        low = (r != 0) & ((r < 0) != (b < 0))
        return dr.select(low, q - 1, q), dr.select(low, r + b, r)
    q, r = _quotient(a, b)
    if exact:
        rest = _quotient(_reduce(a, b), dr.detach(b))[1]
        r = dr.replace_grad(rest, r) if dr.grad_enabled(a, b) else rest
    far = dr.isinf(b) & dr.isfinite(a)
    away = (a != 0) & ((a < 0) != (b < 0))
    r = dr.select(far, dr.select(away, b, a), r)
    r = dr.select(r == 0, dr.copysign(type(b)(0), b), r)
    q = dr.select(dr.isinf(a / b), a / b, q)
    return dr.select(far, dr.select(away, -1, a / b), q), r


def _extreme(f: Any) -> Any:
    """maximum() or minimum(): NaN if one of the two is."""

    def function(a: Any, b: Any) -> Any:
        if a.dtype not in t.FLOATS:
            return f(a, b)
        return dr.select(dr.isnan(a), a, dr.select(dr.isnan(b), b, f(a, b)))

    return function


def _logaddexp(a: Any, b: Any) -> Any:
    spread = dr.select(a == b, 0, -dr.abs(a - b))
    return dr.select(a == b, a + LN2, dr.maximum(a, b) + _log1p(dr.exp(spread)))


divide = _binary("divide", _divide, "numeric", "x1 / x2; integers give float64.")
floor_divide = _binary(
    "floor_divide",
    lambda a, b: _floor_divide(a, b, False)[0],
    "numeric",
    "x1 / x2, rounded down.",
)
remainder = _binary(
    "remainder",
    lambda a, b: _floor_divide(a, b, True)[1],
    "numeric",
    "x1 - x2 floor(x1 / x2), with the sign of x2.",
)
pow = _binary(
    "pow", dr.power, "numeric", "x1 ** x2; integers with exponents from 0 on."
)
maximum = _binary("maximum", _extreme(dr.maximum), "numeric", "The larger, or NaN.")
minimum = _binary("minimum", _extreme(dr.minimum), "numeric", "The smaller, or NaN.")
atan2 = _binary("atan2", dr.atan2, "real floating", "Angle of the point (x2, x1).")
copysign = _binary("copysign", dr.copysign, "real floating", "|x1| with x2's sign.")
hypot = _binary(
    "hypot",
    lambda a, b: dr.hypot(a, b),
    "real floating",
    "sqrt(x1**2 + x2**2), also where a square overflows.",
)
logaddexp = _binary("logaddexp", _logaddexp, "real floating", "log(exp(x1) + exp(x2)).")


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """The entries, at least ``min`` and at most ``max``; NaN stays."""
    t.check_kind("clip", x, "numeric")
    dtype = x.dtype
    for bound, f in ((min, dr.maximum), (max, dr.minimum)):
        if bound is not None:
            bound = t.cast(bound, dtype) if t.is_tensor(bound) else bound
            x = _extreme(f)(*t.together("clip", x, bound))
    return t.cast(x, dtype)


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """``x1`` where the condition holds, else ``x2``."""
    t.check_kind("where", condition, "bool")
    a, b = t.together("where", x1, x2)
    return dr.select(condition, a, b)
