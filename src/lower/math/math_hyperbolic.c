/*
 * math_hyperbolic.c -- sinh, cosh, tanh, asinh, acosh, atanh
 *
 * sinh and cosh of |x| = k log 2 + r are made of both functions of r, two short
 * polynomials, and need neither an exponential nor a division:
 *
 *     cosh x = (2^k + 2^-k) / 2 cosh r + (2^k - 2^-k) / 2 sinh r
 *     sinh x = (2^k - 2^-k) / 2 cosh r + (2^k + 2^-k) / 2 sinh r
 *
 * For k = 0, the difference of the powers is 0, so nothing is lost where sinh is small.
 * tanh x is 1 - 2 / (e^2x + 1), or a polynomial where x is small.
 *
 * The inverse functions are logarithms of 1 + w with w as a Pair, where
 *
 *     asinh   w = x + (sqrt(x^2 + 1) - 1)       atanh   2x / (1 - x), and half of the
 *     acosh   w = (x - 1) + sqrt(x^2 - 1)               logarithm
 *
 * so that they are exact near w = 0 as well.
 */
#include <math.h>

#include "lower/math/math.h"
#include "lower/math/math_build.h"
#include "lower/math/math_hyperbolic_tables.h"
#include "lower/math/math_log.h"

/* A polynomial without constant term, in double and single precision. */
typedef struct Series {
    const double *c;
    int count;
} Series;

static const Series rest_cosh[] = {
    { rest_cosh_double, M_COUNT(rest_cosh_double) },
    { rest_cosh_single, M_COUNT(rest_cosh_single) },
};
static const Series rest_sinh[] = {
    { rest_sinh_double, M_COUNT(rest_sinh_double) },
    { rest_sinh_single, M_COUNT(rest_sinh_single) },
};
static const Series small_tanh[] = {
    { tanh_double, M_COUNT(tanh_double) },
    { tanh_single, M_COUNT(tanh_single) },
};
static const Series twice_exp[] = {
    { twice_exp_double, M_COUNT(twice_exp_double) },
    { twice_exp_single, M_COUNT(twice_exp_single) },
};

/* c[0] z + c[1] z^2 + ... */
static V evaluate(const M *m, const Series *series, V z)
{
    const Series *s = &series[m->single];
    return m_mul(m, z, m_poly(m, z, s->c, s->count));
}

static const double *ln2_parts(const M *m)
{
    return m->single ? ln2_single : ln2_double;
}

/* The integer whose sum with the bits of a float adds k to its exponent. */
static V exponent(const M *m, int64_t k)
{
    return m_integer(m, k * (INT64_C(1) << (m->digits - 1)));
}

/* ---- exponentials */

/* x = k log 2 + r with |r| <= log 2 / 2. */
typedef struct Reduced {
    V power;      /* 2^k, times 2^offset */
    V k, high, r; /* r is high less k times the rest of log 2 */
} Reduced;

/* The high part of log 2 is so short that its product with k is exact, and so is the
 * first difference (Cody and Waite, "Software Manual for the Elementary Functions",
 * 1980). For multiples of log 2 / 2, 'parts' is 2. The low bits of the sum become the
 * exponent of the power. */
static Reduced reduce(const M *m, V x, int parts, int offset)
{
    V magic = m_number(m, (m->single ? 0x1.8p23 : 0x1.8p52) + m->bias + offset);
    V sum = m_fma(m, x, m_number(m, parts * 0x1.71547652b82fep0), magic);
    V k = m_sub(m, sum, magic);
    V high = m_fma(m, k, m_number(m, -ln2_parts(m)[0] / parts), x);
    V r = m_fma(m, k, m_number(m, -ln2_parts(m)[1] / parts), high);
    V power = m_as_float(m, m_left(m, m_as_integer(m, sum), m->digits - 1));
    return (Reduced){ power, k, high, r };
}

/* The smaller of x and a number; x if it is NaN. */
static V at_most(const M *m, V x, double limit)
{
    V most = m_number(m, limit);
    return m_select(m, m_gt(m, x, most), most, x);
}

/* The same where x is positive and no NaN: integers are quicker. */
static V smaller(const M *m, V x, double limit)
{
    V most = m_as_integer(m, m_number(m, limit));
    return m_as_float(m, m_min(m, m_as_integer(m, x), most));
}

/* Of a = k log 2 + r: 2^(k-1), r rounded, cosh r - 1, and sinh r less the rounded r. */
typedef struct Parts {
    V power, r, even, odd;
} Parts;

static Parts exponential_parts(const M *m, V a, int offset)
{
    Reduced e = reduce(m, a, 1, offset);
    V z = m_mul(m, e.r, e.r), even = evaluate(m, rest_cosh, z);
    const Series *s = &rest_sinh[m->single];
    V low = m_mul(m, e.k, m_number(m, -ln2_parts(m)[1]));
    V odd = m_fma(m, m_mul(m, e.r, z), m_poly(m, z, s->c, s->count), low);
    return (Parts){ e.power, e.high, even, odd };
}

static Parts shared_parts(const M *m, V a)
{
    static const char maker;
    BuildShared *shared = build_shared(m->build, &maker, a);
    if (!shared->maker) {
        Parts e = exponential_parts(m, a, -1);
        *shared = (BuildShared){ &maker, a, { e.power, e.r, e.even, e.odd } };
    }
    const uint32_t *part = shared->part;
    return (Parts){ part[0], part[1], part[2], part[3] };
}

/* 2^(-k-1) */
static V inverse_power(const M *m, V power)
{
    return m_as_float(m, m_sub(m, exponent(m, 2 * m->bias - 2),
                               m_as_integer(m, power)));
}

/* even cosh r + odd sinh r; the product of r is added exactly. */
static V combine(const M *m, Parts e, Pair even, V odd)
{
    V high = m_fma(m, odd, e.r, even.hi);
    V low = m_fma(m, odd, e.r, m_sub(m, even.hi, high));
    low = m_fma(m, even.hi, e.even, m_fma(m, odd, e.odd, low));
    return m_add(m, high, m_add(m, low, even.lo));
}

/* Where the powers of two come near the ends of the range, which is rare, the result is
 * e^a / 2. It is made of 2^(k-2), as that may be out of range itself. */
static V with_large(const M *m, V a, V result)
{
    V limit = m_as_pattern(m, m_number(m, m->single ? 85 : 705));
    uint32_t region = build_if(m->build, m_gt(m, m_as_pattern(m, a), limit));
    /* Beyond the limit the result is infinite. */
    Parts e = exponential_parts(m, at_most(m, a, m->single ? 89.6 : 710.6), -2);
    Pair sum = m_fast_two_sum(m, m_number(m, 1), e.r);
    V rest = m_add(m, sum.lo, m_add(m, e.even, e.odd));
    V half = m_mul(m, e.power, m_add(m, sum.hi, rest)), large = m_add(m, half, half);
    build_else(m->build, region, 1, &large);
    build_end(m->build, region, 1, &result);
    return result;
}

uint32_t math_sinh(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    V x = inst->args[0], a = m_abs(m, x);
    Parts e = shared_parts(m, a);
    V inverse = inverse_power(m, e.power), odd = m_add(m, e.power, inverse);
    Pair even = m_fast_two_sum(m, e.power, m_neg(m, inverse));
    return m_copysign(m, with_large(m, a, combine(m, e, even, odd)), x);
}

uint32_t math_cosh(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    V a = m_abs(m, inst->args[0]);
    Parts e = shared_parts(m, a);
    V inverse = inverse_power(m, e.power), odd = m_sub(m, e.power, inverse);
    Pair even = m_fast_two_sum(m, e.power, inverse);
    return with_large(m, a, combine(m, e, even, odd));
}

/* For a = k log 2 / 2 + r and d = (e^2a + 1) / 2 = (2^k + 1) / 2 + 2^k (r + r^2 P(r)),
 * tanh a is 1 - 1 / d. The quotient is corrected by what it lacks; its last rounding
 * error is half that of the result, as it is below 1/2. */
uint32_t math_tanh(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    V x = inst->args[0], a = m_abs(m, x), z = m_mul(m, a, a);
    V one = m_number(m, 1), half = m_number(m, 0.5);
    const Series *s = &small_tanh[m->single];
    V near = m_fma(m, m_mul(m, a, z), m_poly(m, z, s->c, s->count), a);
    V large = m_gt(m, a, m_number(m, 0.55)); /* not NaN */

    /* Beyond the limit it is 1. */
    Reduced e = reduce(m, smaller(m, a, 20), 2, 0);
    V p = e.power;
    s = &twice_exp[m->single];
    V u = m_fma(m, m_mul(m, e.r, e.r), m_poly(m, e.r, s->c, s->count), e.r);
    V start = m_fma(m, p, half, half), d = m_fma(m, p, u, start);
    V rest = m_fma(m, p, u, m_sub(m, start, d));
    V q = m_div(m, one, d), minus_q = m_neg(m, q);
    V lack = m_fma(m, minus_q, rest, m_fma(m, minus_q, d, one));
    V far = m_sub(m, one, m_fma(m, lack, q, q));
    return m_copysign(m, m_select(m, large, far, near), x);
}

/* ---- logarithms */

/* Where 'mask', the logarithm of twice this number is wanted. */
typedef struct Huge {
    V mask, number;
} Huge;

/* log(1 + w) for w >= 0; other numbers only if 'huge' is not NULL. */
static V logarithm(const M *m, Pair w, const Huge *huge)
{
    enum { SHIFT = 64 }; /* 2^-k is out of range for the largest numbers */
    V one = m_number(m, 1), more = PROGRAM_NONE;
    Pair y = m_fast_two_sum(m, one, w.hi); /* exact also for w > 1 while that matters */
    y.lo = m_add(m, y.lo, w.lo);
    if (huge) {
        more = m_select(m, huge->mask, exponent(m, SHIFT + 1), exponent(m, 0));
        V scaled = m_mul(m, huge->number, m_number(m, ldexp(1, -SHIFT)));
        y = m_pair_select(m, huge->mask, (Pair){ scaled, m_number(m, 0) }, y);
    }

    return math_log_of_sum(m, y, w, more);
}

/* The root of 1 + square for asinh and of square - 1 for acosh as a Pair; 0 for 0. What
 * the rounded root s lacks counts more the smaller asinh is: s is nearly 1 then, and
 * 1 / (2 s) is 1 - s / 2. */
static Pair root(const M *m, Pair square, bool is_near_one)
{
    V s = m_sqrt(m, square.hi), slope = m_rough_root(m, square.hi);
    if (is_near_one) {
        V line = m_fma(m, s, m_number(m, -0.5), m_number(m, 1));
        slope = m_select(m, m_lt(m, s, m_number(m, 1.125)), line, slope);
    }
    V rest = m_add(m, m_fma(m, m_neg(m, s), s, square.hi), square.lo);
    return (Pair){ s, m_mul(m, rest, slope) };
}

/* Where squares get out of range, the 1 in the root has long ceased to matter. */
static Huge find_huge(const M *m, V a)
{
    return (Huge){ m_gt(m, a, m_number(m, 0x1p30)), a };
}

/* What functions of infinity and NaN are. */
static V keep_endless(const M *m, V a, V result)
{
    return m_select(m, m_lt(m, a, m_number(m, INFINITY)), result, a);
}

uint32_t math_asinh(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    V x = inst->args[0], a = m_abs(m, x), one = m_number(m, 1);
    Huge huge = find_huge(m, a);
    Pair square = m_two_product(m, a, a);
    Pair sum = m_fast_two_sum(m, one, square.hi); /* exact while that matters */
    sum.lo = m_add(m, sum.lo, square.lo);
    Pair s = root(m, sum, true);
    Pair w = m_fast_two_sum(m, a, m_sub(m, s.hi, one));
    w.lo = m_add(m, w.lo, s.lo);
    return m_copysign(m, keep_endless(m, a, logarithm(m, w, &huge)), x);
}

uint32_t math_acosh(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    V x = inst->args[0], one = m_number(m, 1);
    Huge huge = find_huge(m, x);
    Pair square = m_two_product(m, x, x);
    Pair s = root(m, m_fast_two_sum(m, m_sub(m, square.hi, one), square.lo),
                  false);
    Pair w = m_fast_two_sum(m, s.hi, m_sub(m, x, one));
    w.lo = m_add(m, w.lo, s.lo);
    V result = logarithm(m, w, &huge);
    result = m_select(m, m_lt(m, x, one), m_number(m, NAN), result);
    return keep_endless(m, x, result);
}

uint32_t math_atanh(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    V x = inst->args[0], a = m_abs(m, x), one = m_number(m, 1), twice = m_add(m, a, a);
    Pair d = m_fast_two_sum(m, one, m_neg(m, a));
    V inverse = m_div(m, one, d.hi);
    V q = m_mul(m, twice, inverse), minus_q = m_neg(m, q);
    V rest = m_fma(m, minus_q, d.lo, m_fma(m, minus_q, d.hi, twice));
    Pair w = { q, m_mul(m, rest, inverse) };
    V result = m_mul(m, logarithm(m, w, NULL), m_number(m, 0.5));
    V edge = m_select(m, m_eq(m, a, one), m_number(m, INFINITY), m_number(m, NAN));
    return m_copysign(m, m_select(m, m_lt(m, a, one), result, edge), x);
}
