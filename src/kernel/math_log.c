/*
 * math_log.c -- log, log2
 *
 * x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2) or (in single precision,
 * where f^2 then counts less) 11/16 and 11/8, so that nothing cancels in
 * log x = k ln 2 + log(1 + f). In single precision, a polynomial in f follows. In
 * double precision and where a pair is wanted, it is the odd series of
 *
 *     log(1 + f) = 2 atanh(s),   s = f / (2 + f),   |s| < 0.186
 *
 * which needs half as many terms for a division (Muller, "Elementary Functions", 2016,
 * 5.2). Where a pair is wanted, s is one.
 */
#include "kernel/math_log.h"

#include <math.h>

#include "kernel/math.h"
#include "kernel/math_log_tables.h"

/* The bits of x less those of the least 1 + f have k above and the distance of 1 + f
 * from the least below. 'small' arguments (if it is not PROGRAM_NONE) have been
 * multiplied by 2^digits. */
static LogParts take_apart(const M *m, V x, V small, V *k)
{
    double root = m->single ? 0x1.6p-1 : 0x1.6a09e667f3bcdp-1;
    double scale = m->single ? 0x1p24 : 0x1p53;
    int fraction = m->digits - 1;
    V least = m_as_integer(m, m_number(m, root)), from = least;
    if (small != PROGRAM_NONE)
        from = m_select(m, small, m_as_integer(m, m_number(m, root * scale)), least);
    V above = m_sub(m, m_as_integer(m, x), from);
    V rest = m_and(m, above, m_integer(m, ((int64_t) 1 << fraction) - 1));
    V reduced = m_as_float(m, m_add(m, rest, least));
    *k = m_right(m, above, fraction);
    return (LogParts){ .k = m_to_float(m, *k),
                       .f = m_sub(m, reduced, m_number(m, 1)) };
}

LogParts math_log_parts(const M *m, V x)
{
    V small = m_lt(m, x, m_number(m, m->single ? 0x1p-126 : 0x1p-1022)), k;
    V larger = m_mul(m, x, m_number(m, m->single ? 0x1p24 : 0x1p53));
    return take_apart(m, m_select(m, small, larger, x), small, &k);
}

LogParts math_log_parts_of_normal(const M *m, V x)
{
    V k;
    return take_apart(m, x, PROGRAM_NONE, &k);
}

/* ------------------------------------------------------------- the series, as pairs */

/* f / (2 + f) for f = first + second, which may be PROGRAM_NONE. */
static Pair make_quotient(const M *m, V first, V second)
{
    Pair d = m_fast_two_sum(m, m_number(m, 2), first);
    V quotient = m_div(m, first, d.hi), minus = m_neg(m, quotient);
    /* 1 / (2 + f) = (1 - s) / 2 */
    V half = m_number(m, 0.5), inverse = m_fma(m, minus, half, half);
    V rest = m_fma(m, minus, d.lo, m_fma(m, minus, d.hi, first));
    if (second != PROGRAM_NONE)
        rest = m_add(m, rest, m_fma(m, minus, second, second));
    return (Pair){ quotient, m_mul(m, rest, inverse) };
}

/* log(1 + f), not normalised: the second part may reach 1 / 100 of the first one. The
 * derivative 2 / (1 - s^2) is nearly 2 + 2 s^2. */
static Pair sum_series(const M *m, Pair s)
{
    V square = m_mul(m, s.hi, s.hi), twice = m_add(m, s.hi, s.hi);
    V tail = m->single
                 ? m_poly(m, square, log_tail_single, M_COUNT(log_tail_single))
                 : m_poly(m, square, log_tail_double, M_COUNT(log_tail_double));
    V twice_low = m_add(m, s.lo, s.lo);
    V low = m_fma(m, twice_low, square, twice_low);
    return (Pair){ twice, m_fma(m, m_mul(m, s.hi, square), tail, low) };
}

/* k ln 2 + log, not normalised. */
static Pair add_octaves(const M *m, V k, Pair log)
{
    const double *ln2 = m->single ? log_ln2_single : log_ln2_double;
    Pair sum = m_fast_two_sum(m, m_mul(m, k, m_number(m, ln2[0])), log.hi);
    V low = m_fma(m, k, m_number(m, ln2[1]), log.lo);
    return (Pair){ sum.hi, m_add(m, sum.lo, low) };
}

/* k ln 2 + 2 s + 2 s^3 (1 / 3 + s^2 tail) for s.hi, with exact products and sums of
 * pairs up to the tail, which needs no second part. The derivative,
 * 2 / (1 - s^2) or nearly 2 + 2 (s^2 + s^4), times s.lo is added. */
static Pair sum_exactly(const M *m, V k, Pair s)
{
    const double *third = m->single ? log_third_single : log_third_double;
    Pair square = m_two_product(m, s.hi, s.hi);
    V tail = m->single
                 ? m_poly(m, square.hi, log_exact_single, M_COUNT(log_exact_single))
                 : m_poly(m, square.hi, log_exact_double, M_COUNT(log_exact_double));
    Pair rest = m_fast_two_sum(m, m_number(m, third[0]), m_mul(m, tail, square.hi));
    rest.lo = m_add(m, rest.lo, m_number(m, third[1]));

    V twice = m_add(m, s.hi, s.hi), twice_low = m_add(m, s.lo, s.lo);
    Pair cube = m_two_product(m, square.hi, twice);
    cube.lo = m_fma(m, square.lo, twice, cube.lo);
    Pair last = m_two_product(m, cube.hi, rest.hi);
    last.lo = m_fma(m, cube.lo, rest.hi, m_fma(m, cube.hi, rest.lo, last.lo));

    V slope = m_fma(m, square.hi, square.hi, square.hi);
    V low = m_fma(m, twice_low, slope, twice_low);
    Pair head = add_octaves(m, k, (Pair){ twice, low });
    Pair sum = m_fast_two_sum(m, head.hi, last.hi);
    return (Pair){ sum.hi, m_add(m, sum.lo, m_add(m, head.lo, last.lo)) };
}

Pair math_log_exact(const M *m, Pair x)
{
    if (x.hi == PROGRAM_NONE || x.lo == PROGRAM_NONE)
        return (Pair){ PROGRAM_NONE, PROGRAM_NONE };
    bool two = m->build->out->insts[x.lo].op != OP_LITERAL;
    V k, second = PROGRAM_NONE;
    LogParts parts = take_apart(m, x.hi, PROGRAM_NONE, &k);
    if (two) {
        /* 2^-k is 0 for the largest numbers, where x.lo does not matter. */
        V exponent = m_sub(m, m_integer(m, m->bias), k);
        V scale = m_as_float(m, m_left(m, exponent, m->digits - 1));
        second = m_mul(m, x.lo, scale);
    }
    Pair log = sum_exactly(m, parts.k, make_quotient(m, parts.f, second));
    return m_fast_two_sum(m, log.hi, log.lo);
}

Pair math_log_pair_of_parts(const M *m, LogParts parts)
{
    Pair series = sum_series(m, make_quotient(m, parts.f, PROGRAM_NONE));
    Pair log = add_octaves(m, parts.k, series);
    return m_fast_two_sum(m, log.hi, log.lo);
}

Pair math_log_exact_of_parts(const M *m, LogParts parts)
{
    return sum_exactly(m, parts.k, make_quotient(m, parts.f, PROGRAM_NONE));
}

/* ------------------------------------------------------------ results of one float */

/* log(1 + f) = f + rest, where the rest is added to 'start'. With the odd series R that
 * begins with s^3, it is -f^2/2 + s (f^2/2 + R(s) / s), where the rounding errors of s
 * do little harm (Tang, "Table-driven implementation of the logarithm function in IEEE
 * floating-point arithmetic", 1990, has such forms). */
static V rest_of_fraction(const M *m, V f, V start)
{
    V half = m_mul(m, f, m_number(m, -0.5)), square = m_mul(m, half, f), a, b;
    if (m->single) {
        a = m_poly(m, f, log_plain, M_COUNT(log_plain));
        b = m_mul(m, square, f);
    } else {
        a = m_div(m, f, m_add(m, f, m_number(m, 2)));
        V z = m_mul(m, a, a);
        V tail = m_poly(m, z, log_tail_double, M_COUNT(log_tail_double));
        b = m_fma(m, z, tail, m_neg(m, square));
    }
    return m_fma(m, half, f, m_fma(m, a, b, start));
}

typedef V Logarithm(const M *m, LogParts parts);

static V natural(const M *m, LogParts parts)
{
    const double *ln2 = m->single ? log_ln2_single : log_ln2_double;
    V low = m_mul(m, parts.k, m_number(m, ln2[1]));
    V rest = rest_of_fraction(m, parts.f, low);
    Pair sum = m_fast_two_sum(m, m_mul(m, parts.k, m_number(m, ln2[0])), parts.f);
    return m_add(m, sum.hi, m_add(m, sum.lo, rest));
}

/* The logarithm of 1 + f is multiplied by 1 / ln 2 as a pair. It is 0 if f is, so
 * powers of two have exact results. */
static V binary(const M *m, LogParts parts)
{
    const double *factor = m->single ? log2_e_single : log2_e_double;
    V high = m_number(m, factor[0]), f = parts.f;
    Pair product = m_two_product(m, f, high);
    V low = m_fma(m, f, m_number(m, factor[1]), product.lo);
    low = m_fma(m, rest_of_fraction(m, f, m_number(m, 0)), high, low);
    Pair sum = m_fast_two_sum(m, parts.k, product.hi);
    return m_add(m, sum.hi, m_add(m, sum.lo, low));
}

/* Arguments that are not positive, finite, normal numbers are rare. */
static V logarithm(const M *m, V x, Logarithm *function)
{
    V result = function(m, math_log_parts_of_normal(m, x));
    V rare = m_outside(m, x, m->single ? 0x1p-126 : 0x1p-1022, INFINITY);
    uint32_t region = build_if(m->build, rare);
    V zero = m_number(m, 0), other = function(m, math_log_parts(m, x));
    other = m_select(m, m_lt(m, x, m_number(m, INFINITY)), other, x);
    other = m_select(m, m_lt(m, x, zero), m_number(m, NAN), other);
    other = m_select(m, m_eq(m, x, zero), m_number(m, -INFINITY), other);
    build_else(m->build, region, 1, &other);
    build_end(m->build, region, 1, &result);
    return result;
}

uint32_t math_log(Build *build, const Step *step)
{
    const M m = math_begin(build, step);
    return logarithm(&m, step->args[0], natural);
}

uint32_t math_log2(Build *build, const Step *step)
{
    const M m = math_begin(build, step);
    return logarithm(&m, step->args[0], binary);
}
