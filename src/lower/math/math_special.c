/*
 * math_special.c -- erf, erfinv
 *
 * Each has a few intervals with a polynomial (and perhaps a logarithm or exponential)
 * for each. Short ones are selected from, of others those are computed that a packet
 * needs. erf of single precision is computed in double.
 */
#include <math.h>

#include "lower/math/math.h"
#include "lower/math/math_build.h"
#include "lower/math/math_exp.h"
#include "lower/math/math_log.h"
#include "lower/math/math_special_tables.h"

/* ------------------------------------------------------------------------- erf */

/* From here on, 1 - erfc(x), which rounds to 1 at the other limits. */
#define ERF_LIMIT_SINGLE 1
#define ERF_LIMIT_DOUBLE 1.125
#define ERF_ONE_SINGLE 3.95
#define ERF_ONE_DOUBLE 5.95

/* In double precision, for a single result. */
static V erf_single(const M *m, V x)
{
    V z = m_mul(m, x, x), a = m_abs(m, x);
    V near = m_mul(m, x, m_poly(m, z, erf_near_single, M_COUNT(erf_near_single)));
    V u = m_sub(m, m_min(m, a, m_number(m, ERF_ONE_SINGLE)), m_number(m, 2.5));
    V far = m_sub(m, m_number(m, 1), m_poly(m, u, erfc_single, M_COUNT(erfc_single)));
    V is_far = m_ge(m, a, m_number(m, ERF_LIMIT_SINGLE));
    return m_select(m, is_far, m_copysign(m, far, x), near);
}

/* x P(x^2) */
static V erf_near(const M *m, V x)
{
    Pair p = m_poly_pair(m, m_two_product(m, x, x), M_ARRAY(erf_near_double),
                         M_ARRAY(erf_near_double_low));
    return m_fma(m, x, p.hi, m_mul(m, x, p.lo));
}

/* 1 - exp(-x^2) P(1 / (|x| + 3)), after W. J. Cody, "Rational Chebyshev approximations
 * for the error function", 1969, who has rational functions of 1 / x. P is steep, so
 * what the quotient lacks counts. */
static V erf_far(const M *m, V x)
{
    V a = m_min(m, m_abs(m, x), m_number(m, ERF_ONE_DOUBLE)), one = m_number(m, 1);
    Pair exponent = m_two_product(m, a, m_neg(m, a));
    V power = math_exp_of_normal(m, math_exp_parts(m, exponent));
    Pair below = m_fast_two_sum(m, m_number(m, 3), a);
    V inverse = m_div(m, one, below.hi), minus = m_neg(m, inverse);
    V lost = m_fma(m, minus, below.lo, m_fma(m, minus, below.hi, one));
    V u = m_sub(m, inverse, m_number(m, 0.1875)); /* exact */
    V slope = m_poly(m, u, erfc_double + 1, M_COUNT(erfc_double) - 1);
    V first = m_fma(m, m_mul(m, lost, inverse), slope, m_number(m, erfc_double[0]));
    V factor = m_fma(m, u, slope, first);
    return m_copysign(m, m_fma(m, m_neg(m, power), factor, one), x);
}

uint32_t math_erf(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    V x = inst->args[0];
    if (m->single) {
        const M d = math_in_double(m);
        return m_to_float(m, erf_single(&d, m_to_float(&d, x)));
    }
    /* NaN is neither. */
    V a = m_abs(m, x), limit = m_number(m, ERF_LIMIT_DOUBLE), result = x;
    uint32_t region = build_if(build, m_lt(m, a, limit));
    V near = m_copysign(m, erf_near(m, x), x);
    build_else(build, region, 1, &near);
    build_end(build, region, 1, &result);
    region = build_if(build, m_ge(m, a, limit));
    V far = erf_far(m, x);
    build_else(build, region, 1, &far);
    build_end(build, region, 1, &result);
    return result;
}

/* ---------------------------------------------------------------------- erfinv */

/* For |x| below a limit, a polynomial in what w lacks of a number in the middle; beyond
 * it, one in the distance of sqrt(w) from a center. */
typedef struct ErfInv {
    double limit, center;
    const double *middle, *near, *far, *far_low, *slope;
    int near_count, far_count;
} ErfInv;

static const ErfInv erfinv_parts[] = {
    { 0x1.ff816cp-1, 4.25, erfinv_middle_double, erfinv_near_double, erfinv_far_double,
      erfinv_far_double_low, erfinv_slope_double, M_COUNT(erfinv_near_double),
      M_COUNT(erfinv_far_double) },
    { 0x1.fb4ap-1, 3, erfinv_middle_single, erfinv_near_single, erfinv_far_single,
      erfinv_far_single_low, erfinv_slope_single, M_COUNT(erfinv_near_single),
      M_COUNT(erfinv_far_single) },
};

/* sqrt(w) - center */
static Pair root_distance(const M *m, Pair w, double center)
{
    V root = m_sqrt(m, w.hi);
    V rest = m_add(m, m_fma(m, m_neg(m, root), root, w.hi), w.lo);
    rest = m_mul(m, rest, m_rough_root(m, w.hi));
    return (Pair){ m_sub(m, root, m_number(m, center)), rest };
}

/* middle + log(q), with an absolute error of about 2^-digits, for q > 0 that is not
 * subnormal; others give some number. The sum with the middle, a short number, is
 * exact. Where it is less than 'log', the second part has an error far below that. */
static Pair middle_plus_log(const M *m, const ErfInv *e, V q)
{
    LogParts parts = math_log_parts_of_normal(m, q);
    V start = m_add(m, parts.start.hi, m_number(m, *e->middle));
    V log = m_add(m, parts.r, math_log_tail(m, parts, parts.start.lo));
    return m_fast_two_sum(m, start, log);
}

/* x P(s), where P is nearly a straight line, which is computed exactly. */
static V erfinv_near(const M *m, const ErfInv *e, V x, Pair s)
{
    const double *c = e->near;
    V rest = m_poly(m, s.hi, c + 2, e->near_count - 2);
    V first = m_number(m, c[0]), slope = m_number(m, c[1]);
    V hi = m_fma(m, s.hi, slope, first);
    V lo = m_fma(m, s.hi, slope, m_sub(m, first, hi));
    lo = m_fma(m, s.lo, slope, lo);
    lo = m_fma(m, m_mul(m, s.hi, s.hi), rest, lo);
    return m_fma(m, x, hi, m_mul(m, x, lo));
}

/* The rest of the domain, and what is not in it. */
static V erfinv_rare(const M *m, const ErfInv *e, V x, Pair s)
{
    V a = m_abs(m, x), one = m_number(m, 1);
    Pair w = m_fast_two_sum(m, m_neg(m, s.hi), m_number(m, *e->middle));
    w.lo = m_sub(m, w.lo, s.lo);
    Pair root = root_distance(m, w, e->center);
    Pair far = m_poly_pair(m, root, e->far, e->far_count, e->far_low, 2);
    V result = m_fma(m, x, far.hi, m_mul(m, x, far.lo));
    V beyond = m_select(m, m_eq(m, a, one), m_number(m, INFINITY), m_number(m, NAN));
    result = m_select(m, m_lt(m, a, one), result, beyond);
    /* Products with both parts of P(0) shall not be subnormal. */
    V up = m_mul(m, x, m_number(m, 0x1p64));
    V down = m_mul(m, up, m_number(m, e->slope[1]));
    down = m_fma(m, up, m_number(m, e->slope[0]), down);
    down = m_mul(m, down, m_number(m, 0x1p-64));
    V tiny = m_lt(m, a, m_number(m, m->single ? 0x1p-90 : 0x1p-900));
    return m_copysign(m, m_select(m, tiny, down, result), x);
}

/* erfinv(x) = x P(w) with w = -log(1 - x^2), or of sqrt(w) where that is large:
 * M. Giles, "Approximating the erfinv function", 2012. P has so small a derivative that
 * w may have an absolute error of an ulp of 1. */
uint32_t math_erfinv(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    const ErfInv *e = &erfinv_parts[m->single];
    V x = inst->args[0];
    V q = m_fma(m, m_neg(m, x), x, m_number(m, 1));
    Pair s = middle_plus_log(m, e, q);
    V y = erfinv_near(m, e, x, s);
    double tiny = m->single ? 0x1p-90 : 0x1p-900;
    uint32_t region = build_if(build, m_outside(m, m_abs(m, x), tiny, e->limit));
    V rare = erfinv_rare(m, e, x, s);
    build_else(build, region, 1, &rare);
    build_end(build, region, 1, &y);
    return y;
}
