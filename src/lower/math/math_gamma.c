/*
 * math_gamma.c -- lgamma, digamma, trigamma
 *
 * Positive arguments have two intervals: around the zeros, which are factors, and
 * beyond, where Stirling's formula begins. Negative ones are reflected. All functions
 * of single precision are computed in double.
 */
#include <math.h>

#include "lower/math/math.h"
#include "lower/math/math_build.h"
#include "lower/math/math_gamma_tables.h"
#include "lower/math/math_log.h"

/* ---------------------------------------------------------------------- lgamma */

#define STIRLING_LIMIT 2.5
#define LGAMMA_OVERFLOW 0x1.754d9278b51a7p1014

/* log(gamma(y)) for 1 <= y < STIRLING_LIMIT and log(gamma(y + 1)) for y < 1. */
static Pair lgamma_low(const M *m, V y, V below)
{
    V one = m_number(m, 1), two = m_number(m, 2);
    V u = m_sub(m, y, m_select(m, below, m_number(m, 0.75), m_number(m, 1.75)));
    V other = m_select(m, below, y, m_sub(m, y, two));
    Pair zeros = m_two_product(m, m_sub(m, y, one), other);
    Pair factor = m_poly_pair(m, (Pair){ u, m_number(m, 0) }, M_ARRAY(gamma_factor),
                              M_ARRAY(gamma_factor_low));
    return m_pair_mul_pair(m, zeros, factor);
}

/* (y - 1/2) (log(y) - 1) + (log(2 pi) - 1) / 2 + R(1 / y^2) / y, all as pairs */
static Pair lgamma_high_exact(const M *m, V y, Pair log_y)
{
    Pair shifted = m_fast_two_sum(m, y, m_number(m, -0.5));
    Pair factor = m_pair_add(m, m_pair(m, -1, 0), log_y);
    V one = m_number(m, 1), inverse = m_div(m, one, y);
    V lost = m_mul(m, m_fma(m, m_neg(m, inverse), y, one), inverse);
    Pair square = { m_mul(m, inverse, inverse), m_number(m, 0) };
    Pair rest = m_poly_pair(m, square, M_ARRAY(stirling_rest),
                            M_ARRAY(stirling_rest_low));
    rest = m_pair_mul_pair(m, rest, (Pair){ inverse, lost });
    rest = m_pair_add(m, m_pair(m, stirling_constant[0], stirling_constant[1]), rest);
    return m_pair_add(m, m_pair_mul_pair(m, shifted, factor), rest);
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
    Pair sine = m_poly_pair(m, z, M_ARRAY(sine_factor), M_ARRAY(sine_factor_low));
    sine = m_pair_add(m, m_pair(m, 1, 0), m_pair_mul_pair(m, z, sine));
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
    Pair factor = m_poly_pair(m, u, M_ARRAY(gamma_between), M_ARRAY(gamma_between_low));
    return m_pair_sum(m, m_pair_mul_pair(m, m_pair_mul_pair(m, a, b), factor));
}

/* d (c[0] + c[1] + c[2] d + c[3] d^2 + ...), where c[1] is what c[0] lacks. */
static V series_at_zero(const M *m, Pair d, const V *c, int n)
{
    V rest = c[n - 1];
    for (int i = n - 2; i > 1; --i)
        rest = m_fma(m, rest, d.hi, c[i]);
    Pair slope = m_fast_two_sum(m, c[0], m_mul(m, rest, d.hi));
    slope.lo = m_add(m, slope.lo, c[1]);
    V low = m_fma(m, d.lo, slope.hi, m_mul(m, d.hi, slope.lo));
    return m_fma(m, d.hi, slope.hi, low);
}

/* lgamma(x) by a series around the nearest of its zeros below -3. Beyond the last of
 * them, numbers are too far apart to come near one. */
static V lgamma_at_zero(const M *m, V x)
{
    enum { BOUND, ZERO, ZERO_LOW, FIRST, ROW = FIRST + 11 };
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
    return series_at_zero(m, d, row + FIRST, ROW - FIRST);
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
    V sum = m_pair_sum(m, m_pair_add(m, log_reflection(m, y, below), plain));
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
    V tail = m_poly(m, parts.r, M_ARRAY(log_short));
    return m_fma(m, parts.r, tail, parts.start.hi);
}

/* lgamma(y) near its minimum, where neighbours differ by less than the error of a pair
 * and would not be in order; else 'other'. */
static V lgamma_least(const M *m, V y, V other)
{
    const double *least = gamma_minimum;
    Pair t = distance(m, y, m_number(m, least[0]), m_number(m, least[1]));
    V series = m_poly(m, t.hi, M_ARRAY(gamma_minimum_series));
    V above = m_fma(m, m_mul(m, t.hi, t.hi), series, m_number(m, least[3]));
    V near = m_lt(m, m_abs(m, t.hi), m_number(m, 0x1p-7));
    return m_select(m, near, m_add(m, m_number(m, least[2]), above), other);
}

/* log(gamma(y)) for y < STIRLING_LIMIT. */
static V lgamma_small(const M *m, V y, Pair log_y)
{
    V below = m_lt(m, y, m_number(m, 1));
    Pair less = m_pair_select(m, below, m_pair_neg(m, log_y), m_pair(m, 0, 0));
    V sum = m_pair_sum(m, m_pair_add(m, lgamma_low(m, y, below), less));
    return lgamma_least(m, y, sum);
}

/* log(gamma(y)) for the others: y (log(y) - 1) and a constant are added exactly, what
 * is left is small beside them. */
static V lgamma_large(const M *m, V y, Pair log_y)
{
    const double *constant = stirling_constant;
    V inverse = m_div(m, m_number(m, 1), y);
    V rest = m_poly(m, m_mul(m, inverse, inverse), M_ARRAY(stirling_rest_double));
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
    V low = m_poly(m, u, M_ARRAY(gamma_factor_single));
    V zeros = m_select(m, below, x, m_sub(m, x, m_number(m, 2)));
    zeros = m_mul(m, zeros, m_sub(m, x, one));
    low = m_fma(m, low, zeros, m_select(m, below, m_neg(m, log_x), zero));
    V inverse = m_div(m, one, x);
    V rest = m_poly(m, m_mul(m, inverse, inverse), M_ARRAY(stirling_rest_single));
    rest = m_fma(m, rest, inverse, m_number(m, stirling_constant[0]));
    V high = m_fma(m, m_sub(m, x, m_number(m, 0.5)), m_sub(m, log_x, one), rest);
    V is_low = m_lt(m, x, m_number(m, STIRLING_LIMIT));
    V result = lgamma_if_negative(m, x, m_select(m, is_low, low, high), false);
    return m_select(m, m_eq(m, x, zero), m_number(m, INFINITY), result);
}

uint32_t math_lgamma(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    const M d_ = math_in_double(m), *d = &d_;
    V x = inst->args[0];
    return m->single ? m_to_float(m, lgamma_single(d, m_to_float(d, x)))
                     : lgamma_double(m, x);
}

/* --------------------------------------------------------------------- digamma */

#define DIGAMMA_LIMIT 2.5

/* The sum of digamma(w + 1/2) - log(w), for w >= DIGAMMA_LIMIT - 1/2. */
static V digamma_rest(const M *m, V w, const double *c, int n)
{
    V inverse = m_div(m, m_number(m, 1), w), square = m_mul(m, inverse, inverse);
    return m_mul(m, square, m_poly(m, square, c, n));
}

/* digamma(x) for x >= DIGAMMA_LIMIT. */
static V digamma_large(const M *m, V x)
{
    V w = m_sub(m, x, m_number(m, 0.5));
    V rest = digamma_rest(m, w, M_ARRAY(digamma_rest_double));
    LogParts parts = math_log_parts_of_normal(m, w);
    Pair sum = m_fast_two_sum(m, parts.start.hi, parts.r);
    V low = m_add(m, m_add(m, sum.lo, parts.start.lo), rest);
    return m_add(m, sum.hi, math_log_tail(m, parts, low));
}

/* digamma(y + shift) for sums from 1 to DIGAMMA_LIMIT; 'shift' is 0 or 1. */
static Pair digamma_low(const M *m, V y, V shift)
{
    V u = m_sub(m, y, m_sub(m, m_number(m, 1.75), shift));
    Pair d = m_two_sum(m, y, m_sub(m, shift, m_number(m, gamma_minimum[0])));
    d.lo = m_sub(m, d.lo, m_number(m, gamma_minimum[1]));
    Pair factor = m_poly_pair(m, (Pair){ u, m_number(m, 0) }, M_ARRAY(digamma_factor),
                              M_ARRAY(digamma_factor_low));
    return m_pair_mul_pair(m, d, factor);
}

/* 1 / x with an error of about 2^-106 of it, for x that are not tiny. */
static Pair inverse_pair(const M *m, V x)
{
    V one = m_number(m, 1), inverse = m_div(m, one, x);
    V rest = m_fma(m, m_neg(m, inverse), x, one);
    return (Pair){ inverse, m_div(m, rest, x) };
}

/* digamma(x) for 0 < x < DIGAMMA_LIMIT */
static V digamma_small(const M *m, V x)
{
    V zero = m_number(m, 0), one = m_number(m, 1), below = m_lt(m, x, one);
    Pair less = m_pair_neg(m, inverse_pair(m, x));
    less = m_pair_select(m, below, less, (Pair){ zero, zero });
    Pair low = digamma_low(m, x, m_select(m, below, one, zero));
    return m_pair_sum(m, m_pair_add(m, less, low));
}

/* A sum of many numbers that may cancel, as though computed with thrice the digits. */
static V sum_exactly(const M *m, const V *terms, int count)
{
    V zero = m_number(m, 0), low = zero;
    Pair sum = { zero, zero };
    for (int i = 0; i < count; ++i) {
        Pair first = m_two_sum(m, sum.hi, terms[i]);
        Pair second = m_two_sum(m, sum.lo, first.lo);
        sum = (Pair){ first.hi, second.hi };
        low = m_add(m, low, second.lo);
    }
    sum = m_two_sum(m, sum.hi, sum.lo);
    return m_add(m, sum.hi, m_add(m, sum.lo, low));
}

/* digamma(-y) near a zero with y > 8. Zeros lie between any two integers, so a few of
 * the numbers below 2^52 are nearer to one than 2^-53: digamma(y) + 1/y + pi cot(pi f)
 * is summed with an error of 2^-105 and less. */
static V digamma_fine(const M *m, V y, V f)
{
    V w = m_sub(m, y, m_number(m, 0.5)); /* exact */
    Pair v = inverse_pair(m, w);
    v = m_pair_mul_pair(m, v, v);
    Pair rest = m_poly_pair(m, v, M_ARRAY(digamma_rest_exact),
                            M_ARRAY(digamma_rest_exact_low));
    rest = m_pair_mul_pair(m, v, rest);
    Pair first = inverse_pair(m, y), pole = inverse_pair(m, f);
    Pair z = m_two_product(m, f, f);
    Pair cot = m_poly_pair(m, z, M_ARRAY(cotangent_exact),
                           M_ARRAY(cotangent_exact_low));
    cot = m_pair_mul_pair(m, m_pair_mul_pair(m, z, cot),
                          (Pair){ m_neg(m, f), m_number(m, 0) });
    V slope[M_COUNT(cotangent_first)];
    for (int i = 0; i < M_COUNT(slope); ++i)
        slope[i] = m_number(m, -cotangent_first[i]);
    Pair linear = m_two_product(m, slope[0], f);
    V terms[] = { pole.hi, linear.hi, [MATH_LOG_FINE + 2] = pole.lo, linear.lo,
                  m_mul(m, slope[1], f), cot.hi, cot.lo, first.hi, first.lo,
                  rest.hi, rest.lo };
    math_log_fine(m, w, terms + 2);
    return sum_exactly(m, terms, M_COUNT(terms));
}

/* digamma(-y) near one of its first zeros: the power series around it. */
static V digamma_at_zero(const M *m, V y)
{
    enum { ZERO, ZERO_LOW, FIRST, N = 8 };
    enum { COUNT = M_COUNT(digamma_zeros) / N };
    V number = m_as_pattern(m, m_add(m, m_trunc(m, y), m_number(m, 0x1p52)));
    V row[COUNT];
    for (int i = 0; i < COUNT; ++i)
        row[i] = m_lookup(m, number, digamma_zeros + i * N, N);
    Pair d = distance(m, m_neg(m, y), row[ZERO], row[ZERO_LOW]);
    return series_at_zero(m, d, row + FIRST, COUNT - FIRST);
}

/* pi cot(pi f) */
static Pair cotangent_pair(const M *m, V f)
{
    Pair factor = m_poly_pair(m, m_two_product(m, f, f), M_ARRAY(cotangent),
                              M_ARRAY(cotangent_low));
    Pair less = m_pair_mul_pair(m, (Pair){ m_neg(m, f), m_number(m, 0) }, factor);
    return m_pair_add(m, inverse_pair(m, f), less);
}

/* digamma(-y) = digamma(1 + y) + pi cot(pi y) for y > 0, also 'near' zeros. */
static V digamma_negative(const M *m, V y, bool near)
{
    Pair w = m_two_sum(m, y, m_number(m, 0.5)), log = math_log_exact(m, w);
    V rest = digamma_rest(m, w.hi, M_ARRAY(digamma_rest_double));
    Pair high = m_pair_add(m, log, (Pair){ rest, m_number(m, 0) });
    V is_low = m_lt(m, y, m_number(m, DIGAMMA_LIMIT - 1));
    Pair other = m_pair_select(m, is_low, digamma_low(m, y, m_number(m, 1)), high);
    V f = m_sub(m, y, m_round(m, y));
    V result = m_pair_sum(m, m_pair_add(m, other, cotangent_pair(m, f)));
    if (near) {
        V size = m_max(m, other.hi, m_number(m, 1));
        V cancels = m_lt(m, m_abs(m, result), m_mul(m, size, m_number(m, 0x1p-4)));
        uint32_t region = build_if(m->build, cancels);
        V first = m_lt(m, y, m_number(m, 8));
        V exact = m_select(m, first, digamma_at_zero(m, y), digamma_fine(m, y, f));
        build_else(m->build, region, 1, &exact);
        build_end(m->build, region, 1, &result);
    }
    V between = m_gt(m, m_abs(m, f), m_number(m, 0)); /* poles */
    return m_select(m, between, result, m_number(m, NAN));
}

/* Where x < 0, digamma(x) instead of 'other'. */
static V digamma_if_negative(const M *m, V x, V other, bool near)
{
    uint32_t region = build_if(m->build, m_lt(m, x, m_number(m, 0)));
    V result = digamma_negative(m, m_neg(m, x), near);
    build_else(m->build, region, 1, &result);
    build_end(m->build, region, 1, &other);
    return other;
}

static V digamma_double(const M *m, V x)
{
    V result = digamma_large(m, x), limit = m_number(m, DIGAMMA_LIMIT);
    uint32_t region = build_if(m->build, m_outside(m, x, DIGAMMA_LIMIT, INFINITY));
    V small = m_select(m, m_lt(m, x, limit), digamma_small(m, x), x);
    small = digamma_if_negative(m, x, small, true);
    V tiny = m_lt(m, m_abs(m, x), m_number(m, 0x1p-60));
    small = m_select(m, tiny, m_div(m, m_number(m, -1), x), small);
    build_else(m->build, region, 1, &small);
    build_end(m->build, region, 1, &result);
    return result;
}

/* In double precision, for a single result. */
static V digamma_single(const M *m, V x)
{
    V zero = m_number(m, 0), one = m_number(m, 1), below = m_lt(m, x, one);
    V shift = m_select(m, below, one, zero);
    V d = m_add(m, x, m_sub(m, shift, m_number(m, gamma_minimum[0])));
    d = m_sub(m, d, m_number(m, gamma_minimum[1]));
    V u = m_sub(m, x, m_sub(m, m_number(m, 1.75), shift));
    V low = m_mul(m, d, m_poly(m, u, M_ARRAY(digamma_factor_single)));
    low = m_sub(m, low, m_select(m, below, m_div(m, one, x), zero));
    V w = m_sub(m, x, m_number(m, 0.5));
    V rest = digamma_rest(m, w, M_ARRAY(digamma_rest_single));
    V high = m_add(m, short_log(m, w), rest);
    V is_low = m_lt(m, x, m_number(m, DIGAMMA_LIMIT));
    V result = digamma_if_negative(m, x, m_select(m, is_low, low, high), false);
    return m_select(m, m_lt(m, x, m_number(m, INFINITY)), result, x);
}

uint32_t math_digamma(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    const M d_ = math_in_double(m), *d = &d_;
    V x = inst->args[0];
    return m->single ? m_to_float(m, digamma_single(d, m_to_float(d, x)))
                     : digamma_double(m, x);
}

/* -------------------------------------------------------------------- trigamma */

/* It has no zeros: nothing cancels by more than a fifth. */

/* trigamma(x) for x >= DIGAMMA_LIMIT: 1 / w + R(1 / w^2) / w^3 with w = x - 1/2. */
static Pair trigamma_large(const M *m, V x)
{
    Pair w = m_two_sum(m, x, m_number(m, -0.5));
    V one = m_number(m, 1), inverse = m_div(m, one, w.hi);
    V square = m_mul(m, inverse, inverse);
    V rest = m_mul(m, square, m_poly(m, square, M_ARRAY(trigamma_rest_double)));
    V lost = m_fma(m, m_neg(m, inverse), w.hi, one);
    lost = m_sub(m, lost, m_mul(m, inverse, w.lo));
    return m_fast_two_sum(m, inverse, m_mul(m, inverse, m_add(m, lost, rest)));
}

/* trigamma(y + shift) for sums from 1 to DIGAMMA_LIMIT; 'shift' is 0 or 1. */
static Pair trigamma_middle(const M *m, V y, V shift)
{
    V u = m_sub(m, y, m_sub(m, m_number(m, 1.75), shift));
    return m_poly_pair(m, (Pair){ u, m_number(m, 0) }, M_ARRAY(trigamma_low),
                       M_ARRAY(trigamma_low_low));
}

/* 'other' + 1 / x^2, which may be infinite. */
static V plus_pole(const M *m, V x, Pair other)
{
    Pair inverse = inverse_pair(m, x);
    V size = m_mul(m, inverse.hi, inverse.hi);
    Pair sum = m_pair_add(m, m_pair_mul_pair(m, inverse, inverse), other);
    return m_select(m, m_lt(m, size, m_number(m, INFINITY)), m_pair_sum(m, sum), size);
}

/* trigamma(-y) = (pi / sin(pi y))^2 - trigamma(1 + y) for y > 0 */
static V trigamma_negative(const M *m, V y)
{
    V is_low = m_lt(m, y, m_number(m, DIGAMMA_LIMIT - 1));
    Pair low = trigamma_middle(m, y, m_number(m, 1));
    Pair high = trigamma_large(m, m_add(m, y, m_number(m, 1)));
    Pair other = m_pair_neg(m, m_pair_select(m, is_low, low, high));
    V f = m_sub(m, y, m_round(m, y));
    Pair wave = m_poly_pair(m, m_two_product(m, f, f), M_ARRAY(cosecant),
                            M_ARRAY(cosecant_low));
    return plus_pole(m, f, m_pair_add(m, wave, other));
}

static V trigamma_double(const M *m, V x)
{
    V zero = m_number(m, 0), one = m_number(m, 1);
    V result = m_pair_sum(m, trigamma_large(m, x));
    uint32_t region = build_if(m->build, m_outside(m, x, DIGAMMA_LIMIT, INFINITY));
    V below = m_lt(m, x, one);
    Pair middle = trigamma_middle(m, x, m_select(m, below, one, zero));
    V small = m_select(m, below, plus_pole(m, x, middle), m_pair_sum(m, middle));
    uint32_t negative = build_if(m->build, m_lt(m, x, zero));
    V other = trigamma_negative(m, m_neg(m, x));
    build_else(m->build, negative, 1, &other);
    build_end(m->build, negative, 1, &small);
    small = m_select(m, m_eq(m, x, m_number(m, INFINITY)), zero, small);
    build_else(m->build, region, 1, &small);
    build_end(m->build, region, 1, &result);
    return result;
}

/* In double precision, for a single result. */
static V trigamma_positive_single(const M *m, V x)
{
    V zero = m_number(m, 0), one = m_number(m, 1), below = m_lt(m, x, one);
    V u = m_sub(m, x, m_select(m, below, m_number(m, 0.75), m_number(m, 1.75)));
    V low = m_poly(m, u, M_ARRAY(trigamma_low_single)), inverse = m_div(m, one, x);
    low = m_add(m, low, m_select(m, below, m_mul(m, inverse, inverse), zero));
    inverse = m_div(m, one, m_sub(m, x, m_number(m, 0.5)));
    V square = m_mul(m, inverse, inverse);
    V rest = m_mul(m, square, m_poly(m, square, M_ARRAY(trigamma_rest_single)));
    V high = m_fma(m, inverse, rest, inverse);
    return m_select(m, m_lt(m, x, m_number(m, DIGAMMA_LIMIT)), low, high);
}

static V trigamma_single(const M *m, V x)
{
    V zero = m_number(m, 0), negative = m_lt(m, x, zero);
    V y = m_select(m, negative, m_sub(m, m_number(m, 1), x), x);
    V result = trigamma_positive_single(m, y);
    uint32_t region = build_if(m->build, negative);
    V f = m_sub(m, x, m_round(m, x)), square = m_mul(m, f, f);
    V wave = m_poly(m, square, M_ARRAY(cosecant_single));
    wave = m_add(m, m_div(m, m_number(m, 1), square), wave);
    V reflected = m_sub(m, wave, result);
    build_else(m->build, region, 1, &reflected);
    build_end(m->build, region, 1, &result);
    return result;
}

uint32_t math_trigamma(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    const M d_ = math_in_double(m), *d = &d_;
    V x = inst->args[0];
    return m->single ? m_to_float(m, trigamma_single(d, m_to_float(d, x)))
                     : trigamma_double(m, x);
}
