"""Docstrings of functions written in C: math."""

def abs(arg, /):
    """Absolute value, or magnitude of a complex number or quaternion.

    Args:
        arg (array | int | float): numbers of any type. The absolute value of the
            smallest signed integer does not fit its type, and is that integer itself.

    Returns:
        array | int | float: the type of ``arg``, or its entry type where ``arg`` is a
        complex number or quaternion. Magnitudes do not overflow unless the result does.

    Derivative:
        The sign of ``arg``, and 0 at zero. That of a magnitude is ``arg / abs(arg)``,
        and 0 at zero, too.

    Example:
        >>> dr.abs(Float(-2, 3))
        [2, 3]
        >>> dr.abs(Complex2f(3, 4))
        [5]

    See also:
        :func:`drjit.sign`, :func:`drjit.norm`, :func:`drjit.copysign`
    """

def minimum(a, b, /):
    """Smaller of two values, entry by entry.

    A NaN counts as missing: the result is the other operand, and NaN only where both
    are. Complex numbers are compared component by component.

    Args:
        a, b (array | int | float): operands, which are broadcast and promoted. A list
            or NumPy array may stand beside an array of Dr.Jit.

    Returns:
        array | int | float: the common type of the operands.

    Raises:
        RuntimeError: the sizes differ, and neither is 1; or the operands are masks.

    Derivative:
        Goes to the operand that was chosen: to ``a`` where both are equal.

    Example:
        >>> dr.minimum(Float(1, 2, dr.nan), 1.5)
        [1, 1.5, 1.5]

    See also:
        :func:`drjit.min` (of all entries), :func:`drjit.maximum`, :func:`drjit.clip`
    """

def maximum(a, b, /):
    """Larger of two values, entry by entry.

    A NaN counts as missing: the result is the other operand, and NaN only where both
    are. Complex numbers are compared component by component.

    Args:
        a, b (array | int | float): operands, which are broadcast and promoted. A list
            or NumPy array may stand beside an array of Dr.Jit.

    Returns:
        array | int | float: the common type of the operands.

    Raises:
        RuntimeError: the sizes differ, and neither is 1; or the operands are masks.

    Derivative:
        Goes to the operand that was chosen: to ``b`` where both are equal. So
        ``dr.maximum(x, 0)`` has the derivative 0 at zero, and ``dr.maximum(0, x)`` 1.

    Example:
        >>> dr.maximum(Float(1, 2, dr.nan), 1.5)
        [1.5, 2, 1.5]

    See also:
        :func:`drjit.max` (of all entries), :func:`drjit.minimum`, :func:`drjit.clip`
    """

def fma(a, b, c, /):
    """Fused multiply-add: ``a * b + c``, rounded once.

    Args:
        a, b, c (array | int | float): operands, which are broadcast and promoted.
            Integers wrap around; complex numbers, quaternions and matrices multiply by
            their own rules.

    Returns:
        array | int | float: the common type of the operands.

    Derivative:
        ``b`` with respect to ``a``, ``a`` with respect to ``b``, and 1 with respect to
        ``c``.

    Example:
        >>> dr.fma(Float(2, 3), 10, 1)
        [21, 31]
        >>> dr.fma(0.1, 10, -1)  # the rounding error of 0.1 * 10
        5.551115123125783e-17

    See also:
        :func:`drjit.lerp`, :func:`drjit.dot`
    """

def select(mask, a, b, /):
    """Choose between two values: ``a`` where the mask is set, else ``b``.

    Both values are computed in all lanes. :func:`drjit.if_stmt` executes a branch only
    where it is needed.

    Args:
        mask (mask | bool): the condition. A Python ``bool`` returns one of the operands
            as it is, of whatever type. Numbers in an array count as set unless zero.
        a, b (array | PyTree | number): what to choose from. They are broadcast and
            promoted; PyTrees have to have the same structure, whose leaves are chosen
            one by one.

    Returns:
        array | PyTree: the common type of ``a`` and ``b``, in the shape of all three.

    Raises:
        TypeError: an operand is not an array, and cannot become one.
        RuntimeError: the sizes differ, and none is 1.
        ValueError: the PyTrees differ in structure.

    Derivative:
        Goes to the operand that was chosen. The other one gets exactly 0, even where it
        is infinite or NaN, or where its own derivative would be.

    Example:
        >>> x = Float(-1, 0, 4)
        >>> dr.select(x > 0, dr.sqrt(x), 0)
        [0, 0, 2]

    See also:
        :func:`drjit.if_stmt`, :func:`drjit.switch`, :func:`drjit.step`
    """

def sqrt(arg, /):
    """Square root.

    Args:
        arg (float array | float): numbers from 0 on. Complex numbers and quaternions
            have their principal root, whose real part is not negative. Matrices are
            taken entry by entry.

    Returns:
        array | float: NaN where ``arg`` is negative.

    Derivative:
        ``0.5 / sqrt(arg)``: infinite at zero, NaN for negative numbers.

    Example:
        >>> dr.sqrt(Float(4, 2))
        [2, 1.41421]
        >>> dr.sqrt(Complex2f(-4, 0))
        [2j]

    See also:
        :func:`drjit.safe_sqrt`, :func:`drjit.rsqrt`, :func:`drjit.cbrt`
    """

def rcp(arg, /):
    """Reciprocal, or multiplicative inverse.

    Args:
        arg (float array | float): numbers, complex numbers, quaternions, or square
            matrices of 2 to 4 rows.

    Returns:
        array | float: ``1 / arg``, correctly rounded for real numbers, and infinite
        with the sign of ``arg`` where that is zero. For a matrix it is the inverse,
        with infinite or NaN entries where the matrix is singular.

    Derivative:
        ``-1 / arg**2``; of a matrix ``-inv(arg) @ d @ inv(arg)`` for a change ``d``.

    Example:
        >>> dr.rcp(Float(4, 0))
        [0.25, inf]
        >>> dr.rcp(Matrix2f(1, 2, 3, 4))
        [[[-2, 1],
          [1.5, -0.5]]]

    See also:
        :func:`drjit.rsqrt`, :func:`drjit.det`
    """

def rsqrt(arg, /):
    """Reciprocal square root: ``1 / sqrt(arg)``, without the error of two roundings.

    Args:
        arg (float array | float): positive numbers. Complex numbers and quaternions
            have their principal root; matrices are taken entry by entry.

    Returns:
        array | float: infinite at zero (of its sign), NaN where ``arg`` is negative.

    Derivative:
        ``-0.5 * rsqrt(arg)**3``: infinite at zero.

    Example:
        >>> dr.rsqrt(Float(4, 100))
        [0.5, 0.1]

    See also:
        :func:`drjit.sqrt`, :func:`drjit.rcp`, :func:`drjit.normalize`
    """

def cbrt(arg, /):
    """Cube root, which negative numbers have, too.

    Args:
        arg (float array | float): real numbers.

    Returns:
        array | float: the root, of the sign of ``arg``.

    Derivative:
        ``1 / (3 * cbrt(arg)**2)``: infinite at zero.

    Example:
        >>> dr.cbrt(Float(-8, 27))
        [-2, 3]

    See also:
        :func:`drjit.sqrt`, :func:`drjit.power` (NaN for a root of a negative number)
    """

def ceil(arg, /):
    """Round up: the smallest integer that is not below the argument.

    Args:
        arg (float array | float): numbers. Complex numbers, quaternions and matrices
            are rounded entry by entry.

    Returns:
        array | float: floats; convert them to integers by ``Int(...)``.

    Derivative:
        Zero: the result is detached. Where another derivative is wanted,
        :func:`drjit.replace_grad` gives it.

    Example:
        >>> dr.ceil(Float(1.5, -1.5, 2))
        [2, -1, 2]

    See also:
        :func:`drjit.floor`, :func:`drjit.round`, :func:`drjit.trunc`
    """

def floor(arg, /):
    """Round down: the largest integer that is not above the argument.

    Args:
        arg (float array | float): numbers. Complex numbers, quaternions and matrices
            are rounded entry by entry.

    Returns:
        array | float: floats; convert them to integers by ``Int(...)``.

    Derivative:
        Zero: the result is detached. Where another derivative is wanted,
        :func:`drjit.replace_grad` gives it.

    Example:
        >>> dr.floor(Float(1.5, -1.5, 2))
        [1, -2, 2]

    See also:
        :func:`drjit.ceil`, :func:`drjit.round`, :func:`drjit.trunc`
    """

def round(arg, /):
    """Round to the nearest integer, and to the even one of two that are as near.

    Args:
        arg (float array | float): numbers. Complex numbers, quaternions and matrices
            are rounded entry by entry.

    Returns:
        array | float: floats; convert them to integers by ``Int(...)``.

    Derivative:
        Zero: the result is detached. Where another derivative is wanted,
        :func:`drjit.replace_grad` gives it.

    Example:
        >>> dr.round(Float(0.5, 1.5, 2.7, -1.2))
        [0, 2, 3, -1]

    See also:
        :func:`drjit.floor`, :func:`drjit.ceil`, :func:`drjit.trunc`
    """

def trunc(arg, /):
    """Round towards zero: the argument without its fractional part.

    Args:
        arg (float array | float): numbers. Complex numbers, quaternions and matrices
            are rounded entry by entry.

    Returns:
        array | float: floats; convert them to integers by ``Int(...)``.

    Derivative:
        Zero: the result is detached. Where another derivative is wanted,
        :func:`drjit.replace_grad` gives it.

    Example:
        >>> dr.trunc(Float(1.7, -1.7))
        [1, -1]

    See also:
        :func:`drjit.floor`, :func:`drjit.ceil`, :func:`drjit.round`
    """

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
    """Cosine of an angle in radians.

    The error is below 1 ulp in all types, for arguments of any size.

    Args:
        arg (float array | float): angles in radians. Complex numbers have a complex
            cosine.

    Returns:
        array | float: values from -1 to 1; NaN where ``arg`` is infinite or NaN.

    Derivative:
        ``-sin(arg)``.

    Example:
        >>> dr.cos(Float(0, dr.pi))
        [1, -1]

    See also:
        :func:`drjit.sin`, :func:`drjit.sincos`, :func:`drjit.acos`
    """

def tan(arg, /):
    """Tangent of an angle in radians.

    The error is below 1 ulp in all types, for arguments of any size.

    Args:
        arg (float array | float): angles in radians. No float is an odd multiple of
            pi/2, so the result is large near the poles, but finite. Complex numbers
            have a complex tangent.

    Returns:
        array | float: NaN where ``arg`` is infinite or NaN.

    Derivative:
        ``1 + tan(arg)**2``.

    Example:
        >>> dr.tan(Float(0, dr.pi / 4))
        [0, 1]

    See also:
        :func:`drjit.cot`, :func:`drjit.atan`, :func:`drjit.atan2`
    """

def asin(arg, /):
    """Arc sine: the angle with a given sine.

    Args:
        arg (float array | float): values from -1 to 1. Complex numbers have their
            principal value.

    Returns:
        array | float: angles in radians from -pi/2 to pi/2, NaN beyond [-1, 1].

    Derivative:
        ``1 / sqrt(1 - arg**2)``: infinite at -1 and 1, NaN beyond.

    Example:
        >>> dr.asin(Float(0, 0.5, 1))
        [0, 0.523599, 1.5708]

    See also:
        :func:`drjit.safe_asin` (clips its argument), :func:`drjit.acos`
    """

def acos(arg, /):
    """Arc cosine: the angle with a given cosine.

    For the angle between two vectors, :func:`drjit.unit_angle` is more accurate.

    Args:
        arg (float array | float): values from -1 to 1. Complex numbers have their
            principal value.

    Returns:
        array | float: angles in radians from 0 to pi, NaN beyond [-1, 1].

    Derivative:
        ``-1 / sqrt(1 - arg**2)``: infinite at -1 and 1, NaN beyond.

    Example:
        >>> dr.acos(Float(1, 0, -1))
        [0, 1.5708, 3.14159]

    See also:
        :func:`drjit.safe_acos` (clips its argument), :func:`drjit.asin`
    """

def atan(arg, /):
    """Arc tangent: the angle with a given tangent.

    Args:
        arg (float array | float): any number, infinite ones included. Complex numbers
            have their principal value.

    Returns:
        array | float: angles in radians from -pi/2 to pi/2.

    Derivative:
        ``1 / (1 + arg**2)``.

    Example:
        >>> dr.atan(Float(0, 1, dr.inf))
        [0, 0.785398, 1.5708]

    See also:
        :func:`drjit.atan2` (all four quadrants), :func:`drjit.tan`
    """

def sinh(arg, /):
    """Hyperbolic sine: ``(exp(arg) - exp(-arg)) / 2``, accurate near zero, too.

    Args:
        arg (float array | float): numbers; complex numbers have a complex result.

    Returns:
        array | float: infinite where the result is beyond the range of the type.

    Derivative:
        ``cosh(arg)``.

    Example:
        >>> dr.sinh(Float(0, 1))
        [0, 1.1752]

    See also:
        :func:`drjit.cosh`, :func:`drjit.sincosh`, :func:`drjit.asinh`
    """

def cosh(arg, /):
    """Hyperbolic cosine: ``(exp(arg) + exp(-arg)) / 2``.

    Args:
        arg (float array | float): numbers; complex numbers have a complex result.

    Returns:
        array | float: values from 1 on, infinite where they are beyond the range of the
        type.

    Derivative:
        ``sinh(arg)``.

    Example:
        >>> dr.cosh(Float(0, 1))
        [1, 1.54308]

    See also:
        :func:`drjit.sinh`, :func:`drjit.sincosh`, :func:`drjit.acosh`
    """

def tanh(arg, /):
    """Hyperbolic tangent: ``sinh(arg) / cosh(arg)``.

    Args:
        arg (float array | float): numbers; complex numbers have a complex result.

    Returns:
        array | float: values from -1 to 1.

    Derivative:
        ``1 - tanh(arg)**2``, which is 0 where the result has been rounded to -1 or 1.

    Example:
        >>> dr.tanh(Float(0, 1, dr.inf))
        [0, 0.761594, 1]

    See also:
        :func:`drjit.sinh`, :func:`drjit.cosh`, :func:`drjit.atanh`
    """

def asinh(arg, /):
    """Inverse hyperbolic sine.

    Args:
        arg (float array | float): any number; complex ones have their principal value.

    Returns:
        array | float: the number whose hyperbolic sine is ``arg``.

    Derivative:
        ``1 / sqrt(1 + arg**2)``.

    Example:
        >>> dr.asinh(Float(0, 1))
        [0, 0.881374]

    See also:
        :func:`drjit.sinh`, :func:`drjit.acosh`, :func:`drjit.atanh`
    """

def acosh(arg, /):
    """Inverse hyperbolic cosine.

    Args:
        arg (float array | float): numbers from 1 on; complex ones have their principal
            value.

    Returns:
        array | float: numbers from 0 on; NaN where ``arg`` is below 1.

    Derivative:
        ``1 / sqrt(arg**2 - 1)``: infinite at 1, NaN below.

    Example:
        >>> dr.acosh(Float(1, 2))
        [0, 1.31696]

    See also:
        :func:`drjit.cosh`, :func:`drjit.asinh`, :func:`drjit.atanh`
    """

def atanh(arg, /):
    """Inverse hyperbolic tangent.

    Args:
        arg (float array | float): numbers from -1 to 1; complex ones have their
            principal value.

    Returns:
        array | float: infinite at -1 and 1, NaN beyond.

    Derivative:
        ``1 / (1 - arg**2)``: infinite at -1 and 1. Beyond, where the result is NaN, it
        is what this expression gives.

    Example:
        >>> dr.atanh(Float(0, 0.5, 1))
        [0, 0.549306, inf]

    See also:
        :func:`drjit.tanh`, :func:`drjit.asinh`, :func:`drjit.acosh`
    """

def exp(arg, /):
    """Natural exponential function.

    Args:
        arg (float array | float): exponents. Complex numbers and quaternions have
            results of their type; matrices are taken entry by entry, so this is not the
            matrix exponential.

    Returns:
        array | float: infinite from about 88.73 on in single precision (709.79 in
        double, 11.1 in half precision).

    Derivative:
        ``exp(arg)``.

    Example:
        >>> dr.exp(Float(0, 1, -dr.inf))
        [1, 2.71828, 0]

    See also:
        :func:`drjit.exp2`, :func:`drjit.log`, :func:`drjit.power`
    """

def exp2(arg, /):
    """Power of two: ``2**arg``.

    Args:
        arg (float array | float): exponents. Complex numbers and quaternions have
            results of their type; matrices are taken entry by entry.

    Returns:
        array | float: exact where ``arg`` is an integer and the result in range.

    Derivative:
        ``log(2) * exp2(arg)``.

    Example:
        >>> dr.exp2(Float(10, 0.5, -1))
        [1024, 1.41421, 0.5]

    See also:
        :func:`drjit.exp`, :func:`drjit.log2`, :func:`drjit.power`
    """

def log(arg, /):
    """Natural logarithm.

    Args:
        arg (float array | float): positive numbers. Complex numbers have their
            principal value, with an imaginary part from -pi to pi; matrices are taken
            entry by entry.

    Returns:
        array | float: minus infinity at zero, NaN for negative numbers.

    Derivative:
        ``1 / arg``, also where the result is NaN.

    Example:
        >>> dr.log(Float(1, dr.e, 0))
        [0, 1, -inf]

    See also:
        :func:`drjit.log2`, :func:`drjit.exp`
    """

def log2(arg, /):
    """Logarithm to the base 2.

    Args:
        arg (float array | float): positive numbers. Complex numbers have their
            principal value; matrices are taken entry by entry.

    Returns:
        array | float: minus infinity at zero, NaN for negative numbers; exact for
        powers of two.

    Derivative:
        ``1 / (log(2) * arg)``, also where the result is NaN.

    Example:
        >>> dr.log2(Float(8, 0.5, 10))
        [3, -1, 3.32193]

    See also:
        :func:`drjit.log2i` (of integers), :func:`drjit.log`, :func:`drjit.exp2`
    """

def erf(arg, /):
    """Error function: ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0.

    Args:
        arg (float array | float): upper limits of the integral; real numbers.

    Returns:
        array | float: values from -1 to 1.

    Derivative:
        ``2 / sqrt(pi) * exp(-arg**2)``.

    Example:
        >>> dr.erf(Float(0, 1, dr.inf))
        [0, 0.842701, 1]

    See also:
        :func:`drjit.erfc` (one minus it, where that is tiny), :func:`drjit.erfinv`
    """

def erfinv(arg, /):
    """Inverse of the error function.

    ``sqrt(2) * erfinv(2 * u - 1)`` turns uniform into standard normal samples.

    Args:
        arg (float array | float): real numbers from -1 to 1.

    Returns:
        array | float: infinite at -1 and 1, NaN beyond.

    Derivative:
        ``sqrt(pi) / 2 * exp(erfinv(arg)**2)``: infinite at -1 and 1.

    Example:
        >>> dr.erfinv(Float(0, 0.5, 1))
        [0, 0.476936, inf]

    See also:
        :func:`drjit.erf`, :func:`drjit.erfc`
    """

def lgamma(arg, /):
    """Logarithm of the absolute value of the gamma function.

    ``exp(lgamma(n + 1))`` is n factorial.

    Args:
        arg (float array | float): real numbers.

    Returns:
        array | float: infinite at 0, at negative integers and at both infinities.

    Derivative:
        ``digamma(arg)``: infinite at 0, NaN at negative integers.

    Example:
        >>> dr.lgamma(Float(1, 6, 0.5))
        [0, 4.78749, 0.572365]

    See also:
        :func:`drjit.digamma`
    """

def digamma(arg, /):
    """Digamma function: the derivative of the logarithm of the gamma function.

    Args:
        arg (float array | float): real numbers.

    Returns:
        array | float: infinite at 0 (of the opposite sign), NaN at negative integers
        and at minus infinity.

    Derivative:
        The trigamma function: infinite at 0 and at negative integers.

    Example:
        >>> dr.digamma(Float(1, 2))
        [-0.577216, 0.422784]

    See also:
        :func:`drjit.lgamma`
    """

def atan2(y, x, /):
    """Angle between the positive x axis and the direction to the point (x, y).

    Zeros have signs, as in C: ``atan2(0.0, -1)`` is pi and ``atan2(-0.0, -1)`` is -pi.

    Args:
        y, x (float array | float): coordinates, which are broadcast and promoted. ``y``
            comes first.

    Returns:
        array | float: angles in radians from -pi to pi.

    Derivative:
        ``x / (x**2 + y**2)`` with respect to ``y``, ``-y / (x**2 + y**2)`` with respect
        to ``x``: NaN at the origin.

    Example:
        >>> dr.atan2(Float(1, 1, -1), Float(1, 0, -1))
        [0.785398, 1.5708, -2.35619]

    See also:
        :func:`drjit.atan`, :func:`drjit.arg`, :func:`drjit.hypot`
    """

def copysign(a, b, /):
    """Magnitude of one number with the sign of another.

    Zeros and NaN have signs here: only the sign bit of ``b`` counts.

    Args:
        a (array | int | float): magnitudes.
        b (array | int | float): numbers of which the sign is taken.

    Returns:
        array | int | float: the common type of both arguments.

    Derivative:
        1 or -1 with respect to ``a``: -1 where the sign has changed, 0 where ``a`` is
        zero. 0 with respect to ``b``.

    Example:
        >>> dr.copysign(Float(1, -2, 3), Float(-1, 1, -0.0))
        [-1, 2, -3]

    See also:
        :func:`drjit.mulsign`, :func:`drjit.sign`, :func:`drjit.abs`
    """

def power(a, b, /):
    """Power: ``a`` to the power of ``b``. The same as ``a ** b`` for arrays.

    Python numbers with an integer value multiply repeatedly. So they suit integers and
    matrices, too, and a negative one inverts.

    Args:
        a (array | int | float): bases.
        b (array | int | float): exponents.

    Returns:
        array | float: the common type; always a float for two Python numbers. NaN for a
        negative base and a fractional exponent; 1 for the exponent 0, whatever the
        base, and for the base 1. Arrays of integers to the power of such give integers,
        modulo the range of their type; negative exponents ``1 / a**-b``, rounded
        towards zero (the published package refuses two arrays of integers).

    Raises:
        RuntimeError: the exponent of an array of integers is negative, or that of a
            matrix is not an integer.

    Derivative:
        ``b * a**(b - 1)`` with respect to ``a``. ``a**b * log(a)`` with respect to
        ``b``, which is 0 at ``a = 0`` if ``b`` is positive, and NaN where ``a`` is
        negative.

    Example:
        >>> dr.power(Float(2, 9), 0.5)
        [1.41421, 3]
        >>> dr.power(Int(3), 4)
        [81]
        >>> Int(2, 3, -1) ** Int(5, 2, -3)
        [32, 9, -1]

    See also:
        :func:`drjit.square`, :func:`drjit.sqrt`, :func:`drjit.exp2`
    """

def step(a, b, /):
    """Step function: 0 where ``a < b``, else 1.

    Args:
        a (array | int | float): arguments of the step.
        b (array | int | float): where it is.

    Returns:
        array | int: integers of 32 bits in the shape of both. A NaN on either side
        gives 1.

    Derivative:
        None: the result consists of integers.

    Example:
        >>> dr.step(Float(0.5, 1, 2), 1)
        [0, 1, 1]

    See also:
        :func:`drjit.select`, :func:`drjit.sign`
    """

def sincos(arg, /):
    """Sine and cosine of an angle in radians, as a pair.

    Args:
        arg (float array | float): angles in radians; complex numbers, too.

    Returns:
        tuple: ``(sin(arg), cos(arg))``.

    Derivative:
        ``cos(arg)`` of the sine, ``-sin(arg)`` of the cosine.

    Example:
        >>> s, c = dr.sincos(Float(0, dr.pi / 2))
        >>> s
        [0, 1]

    See also:
        :func:`drjit.sin`, :func:`drjit.cos`, :func:`drjit.sphdir`
    """

def sincosh(arg, /):
    """Hyperbolic sine and cosine, as a pair.

    Args:
        arg (float array | float): numbers; complex ones, too.

    Returns:
        tuple: ``(sinh(arg), cosh(arg))``.

    Derivative:
        ``cosh(arg)`` of the sine, ``sinh(arg)`` of the cosine.

    Example:
        >>> s, c = dr.sincosh(Float(0, 1))
        >>> c
        [1, 1.54308]

    See also:
        :func:`drjit.sinh`, :func:`drjit.cosh`
    """
