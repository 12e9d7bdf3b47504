"""Docstrings of functions written in C: math."""

def abs(arg, /):
    """Absolute value."""

def minimum(a, b, /):
    """Smaller operand."""

def maximum(a, b, /):
    """Larger operand."""

def fma(a, b, c, /):
    """a * b + c, rounded once."""

def select(mask, a, b, /):
    """a where the mask is set, else b."""

def sqrt(arg, /):
    """Square root."""

def rcp(arg, /):
    """Reciprocal."""

def rsqrt(arg, /):
    """Reciprocal square root."""

def cbrt(arg, /):
    """Cube root."""

def ceil(arg, /):
    """Smallest integer not below the argument."""

def floor(arg, /):
    """Largest integer not above the argument."""

def round(arg, /):
    """Nearest integer, ties to even."""

def trunc(arg, /):
    """Integer part."""

def sin(arg, /):
    """Sine of an angle in radians.

    The error is below 1 ulp in all types, for arguments of any size.

    Args:
        arg (float array | float): angles in radians. Complex numbers have a complex
            sine.

    Returns:
        array | float: values from -1 to 1; NaN where ``arg`` is infinite or NaN.

    Derivative:
        ``cos(arg)``.

    Example:
        >>> dr.sin(Float(0, dr.pi / 2))
        [0, 1]

    See also:
        :func:`drjit.cos`, :func:`drjit.sincos`, :func:`drjit.asin`
    """

def cos(arg, /):
    """Cosine."""

def tan(arg, /):
    """Tangent."""

def asin(arg, /):
    """Arc sine."""

def acos(arg, /):
    """Arc cosine."""

def atan(arg, /):
    """Arc tangent."""

def sinh(arg, /):
    """Hyperbolic sine."""

def cosh(arg, /):
    """Hyperbolic cosine."""

def tanh(arg, /):
    """Hyperbolic tangent."""

def asinh(arg, /):
    """Inverse hyperbolic sine."""

def acosh(arg, /):
    """Inverse hyperbolic cosine."""

def atanh(arg, /):
    """Inverse hyperbolic tangent."""

def exp(arg, /):
    """Exponential function."""

def exp2(arg, /):
    """2 to the power of the argument."""

def log(arg, /):
    """Natural logarithm."""

def log2(arg, /):
    """Logarithm to the base 2."""

def erf(arg, /):
    """Error function."""

def erfinv(arg, /):
    """Inverse of the error function."""

def lgamma(arg, /):
    """Logarithm of the absolute value of the gamma function."""

def digamma(arg, /):
    """Derivative of the logarithm of the gamma function."""

def atan2(y, x, /):
    """Angle of the point (x, y) with the x axis, -pi to pi."""

def copysign(a, b, /):
    """Magnitude of a, sign of b."""

def power(a, b, /):
    """a to the power of b."""

def popcnt(arg, /):
    """Number of one bits."""

def lzcnt(arg, /):
    """Number of leading zero bits."""

def tzcnt(arg, /):
    """Number of trailing zero bits."""

def brev(arg, /):
    """Bits in opposite order."""

def mul_hi(a, b, /):
    """Upper half of the product of two integers."""

def mul_wide(a, b, /):
    """All bits of the product of two integers."""

def log2i(arg, /):
    """Floor of the base-2 logarithm."""

def step(a, b, /):
    """0 where a < b, else 1."""

def sincos(arg, /):
    """Sine and cosine."""

def sincosh(arg, /):
    """Hyperbolic sine and cosine."""

def isnan(arg, /):
    """Which entries of an array (number, sequence) are NaN? Returns a mask."""

def isinf(arg, /):
    """Which entries of an array (number, sequence) are infinite? Returns a mask."""

def isfinite(arg, /):
    """Which entries of an array (number, sequence) are neither infinite nor NaN?"""

def reinterpret_array(dtype, value, /):
    """The same bits with another entry type."""
