/*
 * reference.c -- see reference.h
 */
#include "reference.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

enum { PRECISION = 160 }; /* of MPFR, in bits */

/* ------------------------------------------------------------------- formats */

const Format reference_formats[] = {
    { VarTypeFloat16, "f16", 2, 11, -14, 15, 0x1p-26, 0x1p-30 },
    { VarTypeFloat32, "f32", 4, 24, -126, 127, 0x1p-20, 0x1p-24 },
    { VarTypeFloat64, "f64", 8, 53, -1022, 1023, 0x1p-6, -0x1p-6 },
    { 0 },
};

const Format *reference_format(const char *name)
{
    for (const Format *f = reference_formats; f->name; ++f)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

double reference_value(const Format *f, uint64_t bits)
{
    double value;
    if (f->type == VarTypeFloat64) {
        memcpy(&value, &bits, sizeof(value));
        return value;
    }
    if (f->type == VarTypeFloat32) {
        uint32_t low = (uint32_t) bits;
        float single;
        memcpy(&single, &low, sizeof(single));
        return (double) single;
    }
    int exponent = (int) (bits >> 10 & 31);
    double fraction = (double) (bits & 1023);
    if (exponent == 31)
        value = fraction != 0 ? (double) NAN : (double) INFINITY;
    else
        value = exponent ? ldexp(fraction + 1024, exponent - 25) : ldexp(fraction, -24);
    return bits & 0x8000 ? -value : value;
}

/* Rounding to half precision: the quantum of the binade is added and taken away. */
static uint64_t half_bits(double value)
{
    uint64_t sign = signbit(value) ? 0x8000 : 0;
    double a = fabs(value);
    if (isnan(value))
        return 0x7e00;
    if (a >= 65520)
        return sign | 0x7c00;
    int exponent = a < 0x1p-14 ? -14 : ilogb(a);
    uint64_t units = (uint64_t) rint(ldexp(a, 10 - exponent));
    return sign | (units + ((uint64_t) (exponent + 14) << 10));
}

uint64_t reference_bits(const Format *f, double value)
{
    uint64_t bits = 0;
    float single = (float) value;
    if (f->type == VarTypeFloat16)
        return half_bits(value);
    if (f->type == VarTypeFloat32)
        memcpy(&bits, &single, sizeof(single));
    else
        memcpy(&bits, &value, sizeof(value));
    return bits;
}

/* ------------------------------------------- functions that others lack or spell */

static double rcp_near(double x)
{
    return 1 / x;
}

static long double rcp_nearl(long double x)
{
    return 1 / x;
}

static int rcp_exact(mpfr_t out, mpfr_srcptr x, mpfr_rnd_t round)
{
    return mpfr_ui_div(out, 1, x, round);
}

static double rsqrt_near(double x)
{
    return 1 / sqrt(x);
}

static long double rsqrt_nearl(long double x)
{
    return 1 / sqrtl(x);
}

/* IEEE 754 (2019) wants the sign of a zero, which MPFR drops. */
static int rsqrt_exact(mpfr_t out, mpfr_srcptr x, mpfr_rnd_t round)
{
    return mpfr_zero_p(x) ? mpfr_ui_div(out, 1, x, round)
                          : mpfr_rec_sqrt(out, x, round);
}

static double lgamma_near(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

static long double lgamma_nearl(long double x)
{
    int sign;
    return lgammal_r(x, &sign);
}

static int lgamma_exact(mpfr_t out, mpfr_srcptr x, mpfr_rnd_t round)
{
    int sign;
    return mpfr_lgamma(out, &sign, x, round);
}

/* Stirling's series, for arguments that have been raised to at least 20. */
static long double digamma_far(long double x)
{
    const long double c[] = { 1 / 12.L, -1 / 120.L, 1 / 252.L, -1 / 240.L, 1 / 132.L,
                              -691 / 32760.L, 1 / 12.L, -3617 / 8160.L };
    long double square = 1 / (x * x), sum = 0;
    for (int i = (int) (sizeof c / sizeof *c) - 1; i >= 0; --i)
        sum = (sum + c[i]) * square;
    return logl(x) - 1 / (2 * x) - sum;
}

/* By the recurrence; the sum of its terms, which become smaller, is compensated. */
static long double digamma_positive(long double x)
{
    long double less = 0, low = 0;
    for (; x < 20; ++x) {
        long double sum = less + 1 / x;
        low += less - sum + 1 / x;
        less = sum;
    }
    return digamma_far(x) - less - low;
}

static long double digamma_asked(long double x)
{
    mpfr_t value;
    mpfr_init2(value, 96);
    mpfr_set_ld(value, x, MPFR_RNDN);
    mpfr_digamma(value, value, MPFR_RNDN);
    long double result = mpfr_get_ld(value, MPFR_RNDN);
    mpfr_clear(value);
    return result;
}

/* Results below 'least' are what larger terms leave of each other: MPFR is asked. */
static long double digamma(long double x, long double least)
{
    if (isnan(x) || x == (long double) INFINITY)
        return x;
    if (x == 0)
        return -1 / x;
    if (x < 0 && x == rintl(x))
        return NAN;
    long double result, pi = acosl(-1);
    if (x < 0)
        result = digamma_positive(1 - x) + pi / tanl(pi * (-x - rintl(-x)));
    else
        result = digamma_positive(x);
    return fabsl(result) < least ? digamma_asked(x) : result;
}

static long double digamma_nearl(long double x) { return digamma(x, 2); }

static double digamma_near(double x) { return (double) digamma(x, 0x1p-10L); }

/* MPFR has no sign for a result at zero, and the same one at all poles. */
static int digamma_exact(mpfr_t out, mpfr_srcptr x, mpfr_rnd_t round)
{
    if (!mpfr_zero_p(x))
        return mpfr_digamma(out, x, round);
    mpfr_set_inf(out, mpfr_signbit(x) ? 1 : -1);
    return 0;
}

/* A first guess within 1% (S. Winitzki, "A handy approximation for the error function
 * and its inverse", 2008). */
static double erfinv_guess(double x)
{
    const double a = 0.147;
    if (fabs(x) < 0.1)
        return x * (sqrt(PI) / 2);
    double l = log((1 - x) * (1 + x)), t = 2 / (PI * a) + l / 2;
    return copysign(sqrt(sqrt(t * t - l / a) - t), x);
}

/* f(y) / f'(y) for f(y) = erf(y) - x, in one of two forms that do not cancel. */
static double erfinv_near(double x)
{
    if (!(fabs(x) < 1) || x == 0)
        return fabs(x) == 1 ? x * (double) INFINITY : x == 0 ? x : (double) NAN;
    double y = erfinv_guess(x);
    for (int i = 0; i < 3; ++i) {
        double f = fabs(x) < 0.5
                       ? erf(y) - x
                       : copysign(1, x) * ((1 - fabs(x)) - erfc(fabs(y)));
        double u = f * (sqrt(PI) / 2) * exp(y * y);
        y -= u / (1 + y * u);
    }
    return y;
}

static long double erfinv_nearl(long double x)
{
    long double y = (long double) erfinv_near((double) x), s = sqrtl(acosl(-1)) / 2;
    if (!(fabsl(x) < 1) || x == 0)
        return y;
    /* The guess of a subnormal number has lost digits. */
    if (fabsl(x) < 0x1p-500L)
        return x * s;
    long double f = fabsl(x) < 0.5L
                        ? erfl(y) - x
                        : copysignl(1, x) * ((1 - fabsl(x)) - erfcl(fabsl(y)));
    long double u = f * s * expl(y * y);
    return y - u / (1 + y * u);
}

static int erfinv_exact(mpfr_t out, mpfr_srcptr x, mpfr_rnd_t round)
{
    if (mpfr_nan_p(x) || mpfr_cmpabs_ui(x, 1) >= 0 || mpfr_zero_p(x))
        return mpfr_set_d(out, erfinv_near(mpfr_get_d(x, round)), round);
    mpfr_t y, f, u;
    mpfr_inits2(PRECISION + 40, y, f, u, (mpfr_ptr) 0);
    mpfr_set_ld(y, erfinv_nearl(mpfr_get_ld(x, round)), round);
    bool small = mpfr_cmpabs(x, (mpfr_set_d(u, 0.5, round), u)) < 0;
    for (int i = 0; i < 3; ++i) { /* Newton's method */
        if (small) {
            mpfr_erf(f, y, round);
            mpfr_sub(f, f, x, round);
        } else { /* sign * ((1 - |x|) - erfc(|y|)) */
            mpfr_abs(f, y, round);
            mpfr_erfc(f, f, round);
            mpfr_abs(u, x, round);
            mpfr_ui_sub(u, 1, u, round);
            mpfr_sub(f, u, f, round);
            if (mpfr_signbit(x))
                mpfr_neg(f, f, round);
        }
        mpfr_sqr(u, y, round);
        mpfr_exp(u, u, round);
        mpfr_mul(f, f, u, round);
        mpfr_const_pi(u, round);
        mpfr_sqrt(u, u, round);
        mpfr_mul(f, f, u, round);
        mpfr_div_2ui(f, f, 1, round);
        mpfr_sub(y, y, f, round);
    }
    int inexact = mpfr_set(out, y, round);
    mpfr_clears(y, f, u, (mpfr_ptr) 0);
    return inexact;
}

/* -------------------------------------------------------------------- slopes */

static int rises(double a, double b)
{
    (void) a, (void) b;
    return 1;
}

static int falls(double a, double b)
{
    (void) a, (void) b;
    return -1;
}

/* Which half period of a function with turning points or poles at k pi + 'start' has
 * both, well inside; -1: none. */
static int half_period(double a, double b, double start)
{
    const double margin = 1e-8; /* more than rounding errors */
    double k = floor((a - start) / PI - margin), l = floor((b - start) / PI + margin);
    return b - a < 1 && fabs(a) < 0x1p24 && k == l ? (int) fabs(fmod(k, 2)) : -1;
}

static int slope_sin(double a, double b)
{
    int half = half_period(a, b, -PI / 2);
    return half < 0 ? 0 : half ? -1 : 1;
}

static int slope_cos(double a, double b)
{
    int half = half_period(a, b, 0);
    return half < 0 ? 0 : half ? 1 : -1;
}

static int slope_tan(double a, double b)
{
    return half_period(a, b, -PI / 2) >= 0;
}

static int slope_cosh(double a, double b)
{
    return a >= 0 ? 1 : b <= 0 ? -1 : 0;
}

static int slope_rcp(double a, double b)
{
    return -(a > 0 || b < 0);
}

static int slope_rsqrt(double a, double b)
{
    (void) b;
    return -(a > 0);
}

static int slope_lgamma(double a, double b)
{
    const double least = 1.4616321449683623;
    return a > least ? 1 : a >= 0 && b < least ? -1 : 0;
}

/* Between two poles. */
static int slope_digamma(double a, double b)
{
    return a > 0 || (b < 0 && floor(a) == floor(b) && b - a < 1 && a != floor(a));
}

/* ----------------------------------------------------------------- functions */

#define ONE(name, OP, parity, slope)                                              \
    { #name, JitOp##OP, 1, parity, name, name##l, mpfr_##name, slope, NULL, NULL, \
      NULL },
#define TWO(name, OP, c_name)                                          \
    { #name, JitOp##OP, 2, PARITY_NONE, NULL, NULL, NULL, NULL, c_name, \
      c_name##l, mpfr_##c_name },
const Function reference_functions[] = {
    ONE(sin, Sin, PARITY_ODD, slope_sin)
    ONE(cos, Cos, PARITY_EVEN, slope_cos)
    ONE(tan, Tan, PARITY_ODD, slope_tan)
    ONE(asin, Asin, PARITY_ODD, rises)
    ONE(acos, Acos, PARITY_NONE, falls)
    ONE(atan, Atan, PARITY_ODD, rises)
    ONE(sinh, Sinh, PARITY_ODD, rises)
    ONE(cosh, Cosh, PARITY_EVEN, slope_cosh)
    ONE(tanh, Tanh, PARITY_ODD, rises)
    ONE(asinh, Asinh, PARITY_ODD, rises)
    ONE(acosh, Acosh, PARITY_NONE, rises)
    ONE(atanh, Atanh, PARITY_ODD, rises)
    ONE(exp, Exp, PARITY_NONE, rises)
    ONE(exp2, Exp2, PARITY_NONE, rises)
    ONE(log, Log, PARITY_NONE, rises)
    ONE(log2, Log2, PARITY_NONE, rises)
    { "rcp", JitOpRcp, 1, PARITY_ODD, rcp_near, rcp_nearl, rcp_exact, slope_rcp, NULL,
      NULL, NULL },
    { "rsqrt", JitOpRsqrt, 1, PARITY_NONE, rsqrt_near, rsqrt_nearl, rsqrt_exact,
      slope_rsqrt, NULL, NULL, NULL },
    ONE(cbrt, Cbrt, PARITY_ODD, rises)
    ONE(erf, Erf, PARITY_ODD, rises)
    { "erfinv", JitOpErfinv, 1, PARITY_ODD, erfinv_near, erfinv_nearl, erfinv_exact,
      rises, NULL, NULL, NULL },
    { "lgamma", JitOpLgamma, 1, PARITY_NONE, lgamma_near, lgamma_nearl, lgamma_exact,
      slope_lgamma, NULL, NULL, NULL },
    { "digamma", JitOpDigamma, 1, PARITY_NONE, digamma_near, digamma_nearl,
      digamma_exact, slope_digamma, NULL, NULL, NULL },
    TWO(atan2, Atan2, atan2)
    TWO(power, Power, pow)
    TWO(hypot, Hypot, hypot)
    { 0 },
};

const Function *reference_function(const char *name)
{
    for (const Function *f = reference_functions; f->name; ++f)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

/* ---------------------------------------------------------------- comparison */

/* Zero, infinity and NaN must be met exactly; 'v' is the reference. */
static Difference compare_special(long double v, double y)
{
    bool same = isnan(v) ? isnan(y)
                         : (long double) y == v && !signbit(y) == !signbit(v);
    return (Difference){ .special = true, .wrong = !same, .exact = (double) v };
}

static bool is_special(long double v)
{
    return isnan(v) || isinf(v) || v == 0;
}

static int clamp(int exponent, const Format *f)
{
    return exponent < f->least ? f->least : exponent > f->most ? f->most : exponent;
}

/* The result as a number: infinity stands where the next binade would begin. */
static long double place(const Format *f, double y)
{
    return isinf(y) ? copysignl(ldexpl(1, f->most + 1), (long double) y)
                    : (long double) y;
}

/* Is the result of the wrong sign, or none? */
static bool is_astray(double v, double y)
{
    return isnan(y) || (!signbit(y) != !signbit(v));
}

double reference_distance(const Format *f, double v, double y)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    int exponent = clamp((int) (bits >> 52 & 2047) - 1023, f);
    uint64_t scale_bits = (uint64_t) (f->digits - 1 - exponent + 1023) << 52;
    double scale;
    memcpy(&scale, &scale_bits, sizeof(scale));
    return fabs(y - v) * scale;
}

Difference reference_near(const Function *function, const Format *f, const double *x,
                          double y)
{
    if (f->type != VarTypeFloat64) {
        double v = function->arity == 1 ? function->near_1(x[0])
                                        : function->near_2(x[0], x[1]);
        if (isnan(v) || isinf(v) || v == 0)
            return compare_special((long double) v, y);
        if (is_astray(v, y))
            return (Difference){ .special = true, .wrong = true, .exact = v };
        double at = (double) place(f, y);
        if (isinf(y) && fabs(v) >= fabs(at))
            return (Difference){ .exact = v };
        return (Difference){ .ulp = reference_distance(f, v, at), .exact = v };
    }
    long double v =
        function->arity == 1
            ? function->nearl_1((long double) x[0])
            : function->nearl_2((long double) x[0], (long double) x[1]);
    if (is_special(v))
        return compare_special(v, y);
    if (isnan(y) || !signbit(y) != !signbit(v))
        return (Difference){ .special = true, .wrong = true, .exact = (double) v };
    long double at = place(f, y);
    Difference d = { .exact = (double) v };
    if (!isinf(y) || fabsl(v) < fabsl(at)) {
        int exponent = clamp(ilogbl(v), f);
        d.ulp = (double) ldexpl(fabsl(at - v), f->digits - 1 - exponent);
    }
    return d;
}

Difference reference_exact(const Function *function, const Format *f, const double *x,
                           double y)
{
    mpfr_t a, b, v, t;
    mpfr_inits2(PRECISION, a, b, v, t, (mpfr_ptr) 0);
    mpfr_set_d(a, x[0], MPFR_RNDN);
    if (function->arity == 1) {
        function->exact_1(v, a, MPFR_RNDN);
    } else {
        mpfr_set_d(b, x[1], MPFR_RNDN);
        function->exact_2(v, a, b, MPFR_RNDN);
    }
    double rounded = mpfr_get_d(v, MPFR_RNDN);
    Difference d = { .exact = rounded };
    if (!mpfr_regular_p(v)) {
        d = compare_special((long double) rounded, y);
    } else if (is_astray(rounded, y)) {
        d.special = d.wrong = true;
    } else {
        long exponent = (long) mpfr_get_exp(v) - 1;
        if (!isinf(y) || exponent <= f->most) {
            exponent = exponent < f->least ? f->least
                                           : exponent > f->most ? f->most : exponent;
            mpfr_set_ld(t, place(f, y), MPFR_RNDN);
            mpfr_sub(t, t, v, MPFR_RNDN);
            mpfr_mul_2si(t, t, f->digits - 1 - exponent, MPFR_RNDN);
            d.ulp = fabs(mpfr_get_d(t, MPFR_RNDN));
        }
    }
    mpfr_clears(a, b, v, t, (mpfr_ptr) 0);
    return d;
}
