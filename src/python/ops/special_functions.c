/*
 * special_functions.c -- see special_functions.h
 *
 * Inverse functions follow W. Kahan, "Branch Cuts for Complex Elementary Functions",
 * 1987: real and imaginary part each by a real function of square roots of 1 + z and 1
 * - z, so nothing cancels and the branch cuts are continuous from the side that signs
 * of zero tell.
 *
 * A quaternion (v, w) behaves like the complex number z = w + i |v|: of f(z) = p + i q
 * the function's value is (q v / |v|, p).
 */
#include "python/ops/special_functions.h"

#include <math.h>

typedef struct Complex {
    Value re, im;
} Complex;

/* ---------------------------------------------------------------- parts */

static Value is_zero(Calc *c, Value a)
{
    return calc_2(c, JitOpEq, a, calc_number(c, 0));
}

static Value half_of(Calc *c, Value a)
{
    return calc_mul(c, a, calc_number(c, 0.5));
}

static Value twice(Calc *c, Value a)
{
    return calc_add(c, a, a);
}

static Complex times_i(Calc *c, Complex z)
{
    return (Complex){ calc_neg(c, z.im), z.re };
}

static Complex over_i(Calc *c, Complex z)
{
    return (Complex){ z.im, calc_neg(c, z.re) };
}

static Complex scale(Calc *c, Complex z, double factor)
{
    Value f = calc_number(c, factor);
    return (Complex){ calc_mul(c, z.re, f), calc_mul(c, z.im, f) };
}

/* Im(conj(a) * b) */
static Value cross(Calc *c, Complex a, Complex b)
{
    return calc_difference(c, a.re, b.im, a.im, b.re);
}

/* Numbers near the ends of the range are multiplied by a square before what would
 * overflow, or has few bits, is computed of them. */
typedef struct Scaled {
    Complex z;
    Value factor, root; /* z = argument * factor, and 1 / sqrt(factor) */
} Scaled;

static Scaled scaled(Calc *c, Complex z)
{
    static const struct {
        int digits, least, most; /* exponents of what is neither small nor large */
    } formats[VarTypeCount] = {
        [VarTypeFloat16] = { 11, -12, 14 },
        [VarTypeFloat32] = { 24, -124, 126 },
        [VarTypeFloat64] = { 53, -1020, 1022 },
    };
    const int digits = formats[c->info->entry].digits;
    Value least = calc_number(c, ldexp(1, formats[c->info->entry].least));
    Value most = calc_number(c, ldexp(1, formats[c->info->entry].most));
    Value size =
        calc_2(c, JitOpMax, calc_1(c, JitOpAbs, z.re), calc_1(c, JitOpAbs, z.im));
    Value small = calc_2(c, JitOpLt, size, least), one = calc_number(c, 1);
    Value large = calc_2(c, JitOpGe, size, most);
    Value factor = calc_select(c, large, calc_number(c, 0.25), one);
    factor = calc_select(c, small, calc_number(c, ldexp(1, 2 * digits)), factor);
    Value root = calc_select(c, large, calc_number(c, 2), one);
    root = calc_select(c, small, calc_number(c, ldexp(1, -digits)), root);
    z = (Complex){ calc_mul(c, z.re, factor), calc_mul(c, z.im, factor) };
    return (Scaled){ z, factor, root };
}

/* The principal root: half the angle. */
static Complex root(Calc *c, Complex argument)
{
    const Scaled s = scaled(c, argument);
    const Complex z = s.z;
    Value size = calc_2(c, JitOpHypot, z.re, z.im);
    Value larger = calc_1(c, JitOpSqrt,
                          half_of(c, calc_add(c, size, calc_1(c, JitOpAbs, z.re))));
    Value none = is_zero(c, larger);
    Value other = calc_div(c, half_of(c, z.im), larger);
    Value infinite =
        calc_2(c, JitOpEq, calc_1(c, JitOpAbs, z.im), calc_number(c, INFINITY));
    other = calc_select(c, none, z.im, calc_select(c, infinite, z.im, other));
    Value left = calc_2(c, JitOpLt, z.re, calc_number(c, 0));
    Value turned = calc_2(c, JitOpCopysign, larger, z.im);
    Value re = calc_select(c, left, calc_1(c, JitOpAbs, other), larger);
    Value im = calc_select(c, left, turned, other);
    return (Complex){ calc_mul(c, re, s.root), calc_mul(c, im, s.root) };
}

/* sqrt(1 + z) and sqrt(1 - z) */
static Complex root_above(Calc *c, Complex z)
{
    return root(c, (Complex){ calc_add(c, calc_number(c, 1), z.re), z.im });
}

static Complex root_below(Calc *c, Complex z)
{
    return root(c,
                (Complex){ calc_sub(c, calc_number(c, 1), z.re), calc_neg(c, z.im) });
}

/* ---------------------------------------------------------------- functions */

/* A real argument keeps the imaginary part's zero, also if e^x is infinite. */
static Complex exponential(Calc *c, Complex z)
{
    Value size = calc_1(c, JitOpExp, z.re);
    Value im = calc_mul(c, size, calc_1(c, JitOpSin, z.im));
    return (Complex){ calc_mul(c, size, calc_1(c, JitOpCos, z.im)),
                      calc_select(c, is_zero(c, z.im), z.im, im) };
}

/* The size is 2^x, without the rounding of x log 2. */
static Complex exponential2(Calc *c, Complex z)
{
    Value size = calc_1(c, JitOpExp2, z.re);
    Value angle = calc_mul(c, z.im, calc_number(c, 0.69314718055994530942));
    Value im = calc_mul(c, size, calc_1(c, JitOpSin, angle));
    return (Complex){ calc_mul(c, size, calc_1(c, JitOpCos, angle)),
                      calc_select(c, is_zero(c, z.im), z.im, im) };
}

/* log |z| by a logarithm */
static Value logarithm_of_size(Calc *c, JitOp log, Complex z)
{
    const Scaled s = scaled(c, z);
    Value size = calc_1(c, log, calc_2(c, JitOpHypot, s.z.re, s.z.im));
    return calc_sub(c, size, calc_1(c, log, s.factor));
}

static Complex logarithm(Calc *c, Complex z)
{
    return (Complex){ logarithm_of_size(c, JitOpLog, z),
                      calc_2(c, JitOpAtan2, z.im, z.re) };
}

static Complex logarithm2(Calc *c, Complex z)
{
    Value angle = calc_2(c, JitOpAtan2, z.im, z.re);
    return (Complex){ logarithm_of_size(c, JitOpLog2, z),
                      calc_mul(c, angle, calc_number(c, 1.44269504088896340736)) };
}

static Complex hyperbolic_sine(Calc *c, Complex z)
{
    Value sine = calc_1(c, JitOpSin, z.im), cosine = calc_1(c, JitOpCos, z.im);
    return (Complex){ calc_mul(c, calc_1(c, JitOpSinh, z.re), cosine),
                      calc_mul(c, calc_1(c, JitOpCosh, z.re), sine) };
}

static Complex hyperbolic_cosine(Calc *c, Complex z)
{
    Value sine = calc_1(c, JitOpSin, z.im), cosine = calc_1(c, JitOpCos, z.im);
    return (Complex){ calc_mul(c, calc_1(c, JitOpCosh, z.re), cosine),
                      calc_mul(c, calc_1(c, JitOpSinh, z.re), sine) };
}

/* (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y), in which nothing cancels; it
 * is +-1 far from the axis, where its parts overflow. */
static Complex hyperbolic_tangent(Calc *c, Complex z)
{
    Value sh = calc_1(c, JitOpSinh, z.re), ch = calc_1(c, JitOpCosh, z.re);
    Value sine = calc_1(c, JitOpSin, z.im), cosine = calc_1(c, JitOpCos, z.im);
    Value below = calc_sum(c, sh, sh, cosine, cosine);
    Value far = calc_2(c, JitOpGt, calc_1(c, JitOpAbs, z.re), calc_number(c, 30));
    Value one = calc_2(c, JitOpCopysign, calc_number(c, 1), z.re);
    Value re = calc_div(c, calc_mul(c, sh, ch), below);
    Value flat = calc_mul(c, sine, cosine);
    Value im = calc_div(c, flat, below);
    Value zero = calc_2(c, JitOpCopysign, calc_number(c, 0), flat);
    return (Complex){ calc_select(c, far, one, re), calc_select(c, far, zero, im) };
}

static Complex sine(Calc *c, Complex z)
{
    return over_i(c, hyperbolic_sine(c, times_i(c, z)));
}

static Complex cosine(Calc *c, Complex z)
{
    return hyperbolic_cosine(c, times_i(c, z));
}

static Complex tangent(Calc *c, Complex z)
{
    return over_i(c, hyperbolic_tangent(c, times_i(c, z)));
}

static Complex arc_sine(Calc *c, Complex z)
{
    Complex above = root_above(c, z), below = root_below(c, z);
    Value product = calc_difference(c, above.re, below.re, above.im, below.im);
    return (Complex){ calc_2(c, JitOpAtan2, z.re, product),
                      calc_1(c, JitOpAsinh, cross(c, below, above)) };
}

static Complex arc_cosine(Calc *c, Complex z)
{
    Complex above = root_above(c, z), below = root_below(c, z);
    return (Complex){ twice(c, calc_2(c, JitOpAtan2, below.re, above.re)),
                      calc_1(c, JitOpAsinh, cross(c, above, below)) };
}

static Complex area_sine(Calc *c, Complex z)
{
    return over_i(c, arc_sine(c, times_i(c, z)));
}

static Complex area_cosine(Calc *c, Complex z)
{
    Complex above = root_above(c, z);
    Complex below = root(c, (Complex){ calc_sub(c, z.re, calc_number(c, 1)), z.im });
    Value product = calc_sum(c, below.re, above.re, below.im, above.im);
    return (Complex){ calc_1(c, JitOpAsinh, product),
                      twice(c, calc_2(c, JitOpAtan2, below.im, above.re)) };
}

/* Re = log(|1 + z| / |1 - z|) / 2 = asinh(2x / (|1 + z| |1 - z|)) / 2 */
static Complex area_tangent(Calc *c, Complex z)
{
    Value one = calc_number(c, 1);
    Value above = calc_add(c, one, z.re), below = calc_sub(c, one, z.re);
    Value ratio = calc_div(c, z.re, calc_2(c, JitOpHypot, above, z.im));
    ratio = calc_div(c, twice(c, ratio), calc_2(c, JitOpHypot, below, z.im));
    Value real = calc_difference(c, above, below, z.im, z.im);
    Value angle = calc_2(c, JitOpAtan2, z.im, half_of(c, real));
    return scale(c, (Complex){ calc_1(c, JitOpAsinh, ratio), angle }, 0.5);
}

static Complex arc_tangent(Calc *c, Complex z)
{
    return over_i(c, area_tangent(c, times_i(c, z)));
}

/* ---------------------------------------------------------------- entry */

typedef Complex (*Function)(Calc *c, Complex z);

static const Function functions[APPLY_COUNT] = {
    [APPLY_SQRT] = root,
    [APPLY_EXP] = exponential,
    [APPLY_EXP2] = exponential2,
    [APPLY_LOG] = logarithm,
    [APPLY_LOG2] = logarithm2,
    [APPLY_SIN] = sine,
    [APPLY_COS] = cosine,
    [APPLY_TAN] = tangent,
    [APPLY_ASIN] = arc_sine,
    [APPLY_ACOS] = arc_cosine,
    [APPLY_ATAN] = arc_tangent,
    [APPLY_SINH] = hyperbolic_sine,
    [APPLY_COSH] = hyperbolic_cosine,
    [APPLY_TANH] = hyperbolic_tangent,
    [APPLY_ASINH] = area_sine,
    [APPLY_ACOSH] = area_cosine,
    [APPLY_ATANH] = area_tangent,
};

bool special_functions_has(Apply which)
{
    return functions[which];
}

void special_functions_step(Calc *c, int n, Apply which, const Value *a, Value *out)
{
    if (n == 2) {
        Complex result = functions[which](c, (Complex){ a[0], a[1] });
        out[0] = result.re;
        out[1] = result.im;
        return;
    }
    Value size = calc_2(c, JitOpHypot, calc_2(c, JitOpHypot, a[0], a[1]), a[2]);
    Complex result = functions[which](c, (Complex){ a[3], size });
    /* Without a direction, any: a real argument has a real result, or the x axis. */
    Value none = is_zero(c, size);
    Value factor = calc_div(c, result.im, size);
    for (int i = 0; i < 3; i++) {
        Value along = i == 0 ? result.im : calc_number(c, 0);
        out[i] = calc_select(c, none, along, calc_mul(c, a[i], factor));
    }
    out[3] = result.re;
}
