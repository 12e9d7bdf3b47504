/*
 * math_special.c -- erf, erfinv, lgamma
 *
 * Each has a few intervals with a polynomial (and perhaps a logarithm or exponential)
 * for each. Short ones are selected from, of others those are computed that a packet
 * needs. Where the last bits of a polynomial count, the sum of its first two terms is a
 * Pair. erf and lgamma of single precision are computed in double.
 */
#include <math.h>

#include "lower/math/math.h"
#include "lower/math/math_build.h"
#include "lower/math/math_exp.h"
#include "lower/math/math_log.h"
#include "lower/math/math_special_tables.h"

/* c[0] + x (c[1] + x rest), the sums as pairs: 'low' is what the coefficients lack. The
 * first of two terms is the larger one. */
static Pair last_terms(const M *m, Pair x, V rest, const V *c, const V *low)
{
    Pair inner = m_fast_two_sum(m, c[1], m_mul(m, x.hi, rest));
    inner.lo = m_add(m, inner.lo, low[1]);
    Pair product = m_two_product(m, x.hi, inner.hi);
    product.lo = m_fma(m, x.hi, inner.lo, product.lo);
    product.lo = m_fma(m, x.lo, inner.hi, product.lo);
    Pair sum = m_fast_two_sum(m, c[0], product.hi);
    sum.lo = m_add(m, sum.lo, m_add(m, product.lo, low[0]));
    return sum;
}

/* In four sums if that pays. */
static V poly(const M *m, V x, const double *c, int n)
{
    enum { LONG = 18 };
    return n < LONG ? m_poly(m, x, c, n) : m_long_poly(m, x, c, n);
}

/* A polynomial with such last terms. */
static Pair poly_pair(const M *m, Pair x, const double *c, int count, const double *low)
{
    V first[] = { m_number(m, c[0]), m_number(m, c[1]) };
    V lack[] = { m_number(m, low[0]), m_number(m, low[1]) };
    return last_terms(m, x, poly(m, x.hi, c + 2, count - 2), first, lack);
}

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
    Pair p = poly_pair(m, m_two_product(m, x, x), erf_near_double,
                       M_COUNT(erf_near_double), erf_near_double_low);
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

uint32_t math_erf(Build *build, const Step *step)
{
    const M m_ = math_begin(build, step), *m = &m_;
    V x = step->args[0];
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
    V rest = poly(m, s.hi, c + 2, e->near_count - 2);
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
    Pair far = poly_pair(m, root, e->far, e->far_count, e->far_low);
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
uint32_t math_erfinv(Build *build, const Step *step)
{
    const M m_ = math_begin(build, step), *m = &m_;
    const ErfInv *e = &erfinv_parts[m->single];
    V x = step->args[0];
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

/* ---------------------------------------------------------------------- lgamma */

#define STIRLING_LIMIT 2.5
#define LGAMMA_OVERFLOW 0x1.754d9278b51a7p1014

/* The sum with an error of 2u^2 times the larger one. */
static Pair add_pairs(const M *m, Pair a, Pair b)
{
    Pair sum = m_two_sum(m, a.hi, b.hi);
    return m_fast_two_sum(m, sum.hi, m_add(m, sum.lo, m_add(m, a.lo, b.lo)));
}

/* log(gamma(y)) for 1 <= y < STIRLING_LIMIT and log(gamma(y + 1)) for y < 1. */
static Pair lgamma_low(const M *m, V y, V below)
{
    V one = m_number(m, 1), two = m_number(m, 2);
    V u = m_sub(m, y, m_select(m, below, m_number(m, 0.75), m_number(m, 1.75)));
    V other = m_select(m, below, y, m_sub(m, y, two));
    Pair zeros = m_two_product(m, m_sub(m, y, one), other);
    Pair factor = poly_pair(m, (Pair){ u, m_number(m, 0) }, gamma_factor,
                            M_COUNT(gamma_factor), gamma_factor_low);
    return m_pair_mul_pair(m, zeros, factor);
}

/* (y - 1/2) (log(y) - 1) + (log(2 pi) - 1) / 2 + R(1 / y^2) / y, all as pairs */
static Pair lgamma_high_exact(const M *m, V y, Pair log_y)
{
    Pair shifted = m_fast_two_sum(m, y, m_number(m, -0.5));
    Pair factor = add_pairs(m, m_pair(m, -1, 0), log_y);
    V one = m_number(m, 1), inverse = m_div(m, one, y);
    V lost = m_mul(m, m_fma(m, m_neg(m, inverse), y, one), inverse);
    Pair square = { m_mul(m, inverse, inverse), m_number(m, 0) };
    Pair rest = poly_pair(m, square, stirling_rest, M_COUNT(stirling_rest),
                          stirling_rest_low);
    rest = m_pair_mul_pair(m, rest, (Pair){ inverse, lost });
    rest = add_pairs(m, m_pair(m, stirling_constant[0], stirling_constant[1]), rest);
    return add_pairs(m, m_pair_mul_pair(m, shifted, factor), rest);
}

static Pair log_pair(const M *m, V y)
{
    Pair log = math_log_exact_of_parts(m, math_log_parts(m, y));
    return m_fast_two_sum(m, log.hi, log.lo);
}

/* log |y sin(pi y) / pi|, or log |sin(pi y) / pi| where y is 'below' 1. */
static Pair log_reflection(const M *m, V y, V below)
{
    V f = m_abs(m, m_sub(m, y, m_round(m, y)));
    Pair z = m_two_product(m, f, f);
    Pair sine = poly_pair(m, z, sine_factor, M_COUNT(sine_factor), sine_factor_low);
    sine = add_pairs(m, m_pair(m, 1, 0), m_pair_mul_pair(m, z, sine));
    Pair product = m_two_product(m, y, f);
    product = m_pair_select(m, below, (Pair){ f, m_number(m, 0) }, product);
    return math_log_exact(m, m_pair_mul_pair(m, product, sine));
}

/* x - zero, for a nearby zero in two parts. */
static Pair distance(const M *m, V x, V zero, V zero_low)
{
    return m_two_sum(m, m_sub(m, x, zero), m_neg(m, zero_low));
}

/* lgamma(x) between its zeros near -2.5 and -2.7, and around both. */
static V lgamma_first_zeros(const M *m, V x)
{
    const double *zero = gamma_first_zeros;
    Pair a = distance(m, x, m_number(m, zero[0]), m_number(m, zero[1]));
    Pair b = distance(m, x, m_number(m, zero[2]), m_number(m, zero[3]));
    Pair u = { m_add(m, x, m_number(m, 2.625)), m_number(m, 0) };
    Pair factor = poly_pair(m, u, gamma_between, M_COUNT(gamma_between),
                            gamma_between_low);
    return m_pair_sum(m, m_pair_mul_pair(m, m_pair_mul_pair(m, a, b), factor));
}

/* lgamma(x) by a series around the nearest of its zeros below -3. Beyond the last of
 * them, numbers are too far apart to come near one. */
static V lgamma_at_zero(const M *m, V x)
{
    enum { BOUND, ZERO, ZERO_LOW, FIRST, FIRST_LOW, OTHERS, ROW = OTHERS + 9 };
    V row[ROW];
    for (int i = 0; i < ROW; ++i)
        row[i] = m_number(m, gamma_zeros[i]);
    const double *end = gamma_zeros + M_COUNT(gamma_zeros);
    for (const double *next = gamma_zeros + ROW; next < end; next += ROW) {
        V beyond = m_lt(m, x, m_number(m, next[BOUND]));
        for (int i = ZERO; i < ROW; ++i)
            row[i] = m_select(m, beyond, m_number(m, next[i]), row[i]);
    }
    Pair d = distance(m, x, row[ZERO], row[ZERO_LOW]);
    V rest = row[ROW - 1];
    for (int i = ROW - 2; i >= OTHERS; --i)
        rest = m_fma(m, rest, d.hi, row[i]);
    Pair slope = m_fast_two_sum(m, row[FIRST], m_mul(m, rest, d.hi));
    slope.lo = m_add(m, slope.lo, row[FIRST_LOW]);
    V low = m_fma(m, d.lo, slope.hi, m_mul(m, d.hi, slope.lo));
    return m_fma(m, d.hi, slope.hi, low);
}

/* log(gamma(y)), or of y + 1 where y is 'below' 1, for what cancels. */
static Pair lgamma_exact(const M *m, V y, V below, Pair log_y)
{
    V low = m_lt(m, y, m_number(m, STIRLING_LIMIT));
    return m_pair_select(m, low, lgamma_low(m, y, below),
                         lgamma_high_exact(m, y, log_y));
}

/* lgamma(x) for x < 0, but not at poles. */
static V lgamma_negative(const M *m, V x)
{
    V y = m_abs(m, x), below = m_lt(m, y, m_number(m, 1));
    Pair log_y = log_pair(m, y);
    Pair plain = lgamma_exact(m, y, below, log_y);
    V sum = m_pair_sum(m, add_pairs(m, log_reflection(m, y, below), plain));
    V tiny = m_lt(m, y, m_number(m, 0x1p-200));
    return m_neg(m, m_select(m, tiny, m_pair_sum(m, log_y), sum));
}

/* Where x < 0, lgamma(x) instead of 'other'. Near zeros the difference of two
 * logarithms cancels, which matters for a result in double precision only: 'exact'. */
static V lgamma_if_negative(const M *m, V x, V other, bool exact)
{
    V zero = m_number(m, 0), infinity = m_number(m, INFINITY);
    uint32_t region = build_if(m->build, m_lt(m, x, zero));
    V result = lgamma_negative(m, x);
    V pole = m_eq(m, x, m_round(m, x));
    V outputs[] = { m_select(m, pole, infinity, result), zero };
    if (exact) {
        V first = m_and(m, m_lt(m, x, m_number(m, -2.42)),
                        m_gt(m, x, m_number(m, -2.79)));
        V next = m_and(m, m_lt(m, x, m_number(m, -3)),
                       m_lt(m, m_abs(m, result), m_number(m, 0x1p-7)));
        outputs[1] = m_select(m, m_or(m, first, next), m_number(m, 1), zero);
    }
    uint32_t count = exact ? 2 : 1;
    build_else(m->build, region, count, outputs);
    V results[] = { other, zero };
    build_end(m->build, region, count, results);
    if (!exact)
        return results[0];

    region = build_if(m->build, m_gt(m, results[1], zero));
    V first = m_gt(m, x, m_number(m, -2.9));
    V at_zero = m_select(m, first, lgamma_first_zeros(m, x), lgamma_at_zero(m, x));
    build_else(m->build, region, 1, &at_zero);
    build_end(m->build, region, 1, results);
    return results[0];
}

/* log(x) with a relative error of about 2^-34, in double precision. */
static V short_log(const M *m, V x)
{
    LogParts parts = math_log_parts(m, x);
    V tail = m_poly(m, parts.r, log_short, M_COUNT(log_short));
    return m_fma(m, parts.r, tail, parts.start.hi);
}

/* lgamma(y) near its minimum, where neighbours differ by less than the error of a pair
 * and would not be in order; else 'other'. */
static V lgamma_least(const M *m, V y, V other)
{
    const double *least = gamma_minimum;
    Pair t = distance(m, y, m_number(m, least[0]), m_number(m, least[1]));
    V series = m_poly(m, t.hi, gamma_minimum_series, M_COUNT(gamma_minimum_series));
    V above = m_fma(m, m_mul(m, t.hi, t.hi), series, m_number(m, least[3]));
    V near = m_lt(m, m_abs(m, t.hi), m_number(m, 0x1p-7));
    return m_select(m, near, m_add(m, m_number(m, least[2]), above), other);
}

/* log(gamma(y)) for y < STIRLING_LIMIT. */
static V lgamma_small(const M *m, V y, Pair log_y)
{
    V below = m_lt(m, y, m_number(m, 1));
    Pair less = m_pair_select(m, below, m_pair_neg(m, log_y), m_pair(m, 0, 0));
    V sum = m_pair_sum(m, add_pairs(m, lgamma_low(m, y, below), less));
    return lgamma_least(m, y, sum);
}

/* log(gamma(y)) for the others: y (log(y) - 1) and a constant are added exactly, what
 * is left is small beside them. */
static V lgamma_large(const M *m, V y, Pair log_y)
{
    const double *constant = stirling_constant;
    V inverse = m_div(m, m_number(m, 1), y);
    V rest = m_poly(m, m_mul(m, inverse, inverse), stirling_rest_double,
                    M_COUNT(stirling_rest_double));
    rest = m_fma(m, rest, inverse, m_number(m, constant[1]));
    Pair w = m_fast_two_sum(m, log_y.hi, m_number(m, -1));
    w.lo = m_add(m, w.lo, log_y.lo);
    Pair product = m_two_product(m, y, w.hi);
    product.lo = m_fma(m, m_sub(m, y, m_number(m, 0.5)), w.lo, product.lo);
    Pair sum = m_two_sum(m, product.hi, m_number(m, constant[0]));
    rest = m_add(m, rest, m_add(m, sum.lo, product.lo));
    return m_add(m, sum.hi, m_fma(m, w.hi, m_number(m, -0.5), rest));
}

static V lgamma_double(const M *m, V x)
{
    V y = m_abs(m, x), infinity = m_number(m, INFINITY);
    Pair log_y = log_pair(m, y);
    V result = lgamma_large(m, y, log_y);
    V is_small = m_lt(m, y, m_number(m, STIRLING_LIMIT));
    uint32_t region = build_if(m->build, is_small);
    V small = lgamma_small(m, y, log_y);
    build_else(m->build, region, 1, &small);
    build_end(m->build, region, 1, &result);

    result = lgamma_if_negative(m, x, result, true);
    V infinite = m_gt(m, y, m_number(m, LGAMMA_OVERFLOW));
    infinite = m_or(m, infinite, m_eq(m, x, m_number(m, 0)));
    return m_select(m, infinite, infinity, result);
}

/* In double precision, for a single result. Negative arguments take the exact way, for
 * their zeros. */
static V lgamma_single(const M *m, V x)
{
    V zero = m_number(m, 0), one = m_number(m, 1);
    V below = m_lt(m, x, one), log_x = short_log(m, x);
    V u = m_sub(m, x, m_select(m, below, m_number(m, 0.75), m_number(m, 1.75)));
    V low = m_poly(m, u, gamma_factor_single, M_COUNT(gamma_factor_single));
    V zeros = m_select(m, below, x, m_sub(m, x, m_number(m, 2)));
    zeros = m_mul(m, zeros, m_sub(m, x, one));
    low = m_fma(m, low, zeros, m_select(m, below, m_neg(m, log_x), zero));
    V inverse = m_div(m, one, x);
    V rest = m_poly(m, m_mul(m, inverse, inverse), stirling_rest_single,
                    M_COUNT(stirling_rest_single));
    rest = m_fma(m, rest, inverse, m_number(m, stirling_constant[0]));
    V high = m_fma(m, m_sub(m, x, m_number(m, 0.5)), m_sub(m, log_x, one), rest);
    V is_low = m_lt(m, x, m_number(m, STIRLING_LIMIT));
    V result = lgamma_if_negative(m, x, m_select(m, is_low, low, high), false);
    return m_select(m, m_eq(m, x, zero), m_number(m, INFINITY), result);
}

uint32_t math_lgamma(Build *build, const Step *step)
{
    const M m_ = math_begin(build, step), *m = &m_;
    const M d_ = math_in_double(m), *d = &d_;
    V x = step->args[0];
    return m->single ? m_to_float(m, lgamma_single(d, m_to_float(d, x)))
                     : lgamma_double(m, x);
}
