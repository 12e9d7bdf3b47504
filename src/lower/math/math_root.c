/*
 * math_root.c -- hypot, cbrt, rsqrt
 */
#include <math.h>

#include "lower/math/math.h"
#include "lower/math/math_build.h"
#include "lower/math/math_root_tables.h"

/* With squares as pairs, the sum is known to about 2 digits^2, and one step of Newton's
 * method on its rounded root leaves an error of little more than half an ulp. If the
 * larger square or its rounding error leaves the range of the type, which is rare, both
 * operands are scaled by a power of two; infinities and NaN become such a power. */
uint32_t math_hypot(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    V a = m_abs(m, inst->args[0]), b = m_abs(m, inst->args[1]);
    /* Of patterns, that of NaN is the largest. */
    V x = m_as_integer(m, a), y = m_as_integer(m, b);
    V larger = m_as_float(m, m_max(m, x, y)), smaller = m_as_float(m, m_min(m, x, y));
    double limit = m->single ? 0x1p60 : 0x1p500;
    double factor = m->single ? 0x1p-80 : 0x1p-600;

    V one = m_number(m, 1);
    uint32_t region = build_if(build, m_outside(m, larger, 1 / limit, limit));
    V infinity = m_number(m, INFINITY);
    V big = m_gt(m, larger, one);
    V down = m_select(m, big, m_number(m, factor), m_number(m, 1 / factor));
    V up = m_select(m, big, m_number(m, 1 / factor), m_number(m, factor));
    V infinite = m_or(m, m_eq(m, a, infinity), m_eq(m, b, infinity));
    V finite = m_lt(m, larger, infinity);
    V endless = m_select(m, infinite, infinity, m_number(m, NAN));
    V scaled[] = { m_select(m, finite, m_mul(m, larger, down), one),
                   m_select(m, finite, m_mul(m, smaller, down), one),
                   m_select(m, finite, up, endless) };
    build_else(m->build, region, 3, scaled);
    V plain[] = { larger, smaller, one };
    build_end(m->build, region, 3, plain);

    Pair first = m_two_product(m, plain[0], plain[0]);
    Pair second = m_two_product(m, plain[1], plain[1]);
    Pair sum = m_fast_two_sum(m, first.hi, second.hi);
    V root = m_sqrt(m, sum.hi);
    V rest = m_fma(m, m_neg(m, root), root, sum.hi);
    rest = m_add(m, rest, m_add(m, sum.lo, m_add(m, first.lo, second.lo)));
    root = m_fma(m, rest, m_rough_root(m, sum.hi), root);
    return m_mul(m, root, plain[2]);
}

/* An estimate t of 1 / cbrt(x) for positive x, with |1 - x t^3| < 0.11. The bits of a
 * float are roughly its logarithm, so it is a constant less a third of them. That is
 * computed with their upper part as the fraction of a float. */
static V estimate_inverse(const M *m, V x)
{
    int drop = m->single ? 8 : 12;
    const double *third = m->single ? cbrt_third_single : cbrt_third_double;
    const double *constant = m->single ? cbrt_estimate_single : cbrt_estimate_double;
    V base = m_as_pattern(m, m_number(m, m->single ? 0x1p23 : 0x1p52));
    V upper = m_or(m, m_right(m, m_as_pattern(m, x), drop), base);
    V bits = m_fma(m, m_as_float(m, upper), m_number(m, third[0]),
                   m_number(m, constant[0]));
    return m_as_float(m, m_left(m, m_as_pattern(m, bits), drop));
}

/* Steps of high order towards 1 / cbrt(x), which need no divisions, and one of Newton's
 * for the root itself with a residual of twice the precision. Arguments the residual of
 * which could be subnormal, and those that are not finite, are rare. */
uint32_t math_cbrt(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    const double *third = m->single ? cbrt_third_single : cbrt_third_double;
    V size = m_abs(m, inst->args[0]), infinity = m_number(m, INFINITY);

    V rare = m_outside(m, size, m->single ? 0x1p-60 : 0x1p-800, INFINITY);
    uint32_t region = build_if(build, rare);
    V up = m_number(m, m->single ? 0x1p90 : 0x1p300), zero = m_number(m, 0);
    V small = m_and(m, m_gt(m, size, zero), m_lt(m, size, infinity));
    V down = m_number(m, m->single ? 0x1p-30 : 0x1p-100);
    V other[] = { m_select(m, small, m_mul(m, size, up), m_number(m, 1)),
                  m_select(m, small, down, size) };
    build_else(build, region, 2, other);
    V x[] = { size, m_number(m, 1) };
    build_end(build, region, 2, x);

    V t = estimate_inverse(m, x[0]), one = m_number(m, 1);
    V minus = m_neg(m, x[0]);
    V e = m_fma(m, m_mul(m, minus, t), m_mul(m, t, t), one);
    V p = m_horner(m, e, m->single ? cbrt_correction_single : cbrt_correction_double,
                   M_COUNT(cbrt_correction_single));
    t = m_fma(m, m_mul(m, t, e), p, t);
    if (!m->single) {
        e = m_fma(m, m_mul(m, minus, t), m_mul(m, t, t), one);
        t = m_fma(m, m_mul(m, t, e), m_number(m, third[1]), t);
    }

    V inverse_square = m_mul(m, t, t);
    V root = m_mul(m, x[0], inverse_square);
    Pair square = m_two_product(m, root, root);
    V rest = m_fma(m, m_neg(m, square.hi), root, x[0]);
    rest = m_fma(m, m_neg(m, square.lo), root, rest);
    V slope = m_mul(m, inverse_square, m_number(m, third[1]));
    root = m_mul(m, m_fma(m, rest, slope, root), x[1]);
    return m_copysign(m, root, inst->args[0]);
}

/* Two steps towards 1 / sqrt(x), which are faster than the root and the division of the
 * processor. What the second one starts from is known with twice the precision, so the
 * error is little more than half an ulp. Roots of normal numbers are normal; other
 * arguments are rare: the special ones become a factor. */
uint32_t math_rsqrt(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    V a = inst->args[0], one = m_number(m, 1);
    double least = m->single ? 0x1p-126 : 0x1p-1022;

    uint32_t region = build_if(build, m_outside(m, a, least, INFINITY));
    V subnormal = m_and(m, m_gt(m, a, m_number(m, 0)), m_lt(m, a, m_number(m, least)));
    V up = m_number(m, m->single ? 0x1p48 : 0x1p108);
    V root = m_number(m, m->single ? 0x1p24 : 0x1p54);
    V other[] = { m_select(m, subnormal, m_mul(m, a, up), one),
                  m_select(m, subnormal, root, m_div(m, one, m_sqrt(m, a))) };
    build_else(build, region, 2, other);
    V x[] = { a, one };
    build_end(build, region, 2, x);

    V guess = m_pattern(m, (uint64_t) (m->single ? rsqrt_estimate_single
                                                 : rsqrt_estimate_double)[0]);
    V t = m_as_float(m, m_sub(m, guess, m_right(m, m_as_pattern(m, x[0]), 1)));
    V e = m_fma(m, m_mul(m, m_neg(m, x[0]), t), t, one);
    V p = m_horner(m, e, m->single ? rsqrt_correction_single : rsqrt_correction_double,
                   M_COUNT(rsqrt_correction_single));
    t = m_fma(m, m_mul(m, t, e), p, t);

    Pair product = m_two_product(m, x[0], t);
    e = m_fma(m, m_neg(m, product.hi), t, one);
    e = m_fma(m, m_neg(m, product.lo), t, e);
    p = m_horner(m, e, m->single ? rsqrt_last_single : rsqrt_last_double,
                 m->single ? M_COUNT(rsqrt_last_single) : M_COUNT(rsqrt_last_double));
    return m_mul(m, m_fma(m, m_mul(m, t, e), p, t), x[1]);
}
