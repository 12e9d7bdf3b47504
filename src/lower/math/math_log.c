/*
 * math_log.c -- log, log2
 *
 * An octave is cut into n = 16 (in single precision, 8) intervals. For x = 2^k z with
 * z in one of them, and a short number that is near the inverse of those in it,
 *
 *     log x = k ln 2 - log(inverse) + log(1 + r),    r = inverse z - 1
 *
 * where r is small and exact, the sum of the first two terms is nearly so (the tables
 * have two parts, the first of which leave bits free), and a short polynomial in r is
 * enough (P. T. P. Tang, "Table-driven implementation of the logarithm function in IEEE
 * floating-point arithmetic", 1990). Around 1 the inverse is 1: nothing cancels there.
 */
#include "lower/math/math_log.h"

#include <math.h>
#include <string.h>

#include "lower/math/math.h"
#include "lower/math/math_log_tables.h"

/* What the precisions and the bases differ in: see src/lower/math/tables_log.py. */
typedef struct Base {
    const double *least, *inverse;     /* where the intervals begin; inverses */
    const double *center, *center_low; /* -log(inverse), two parts */
    const double *octave; /* of 2^(2^(1 - digits)), two parts; NULL: exact */
    const double *tail;   /* of log(1 + r), from the quadratic term on */
    int count, log_n;
} Base;

static const Base natural_base[] = {
    { log_least_double, log_inverse_double, log_center_double, log_center_double_low,
      log_octave_double, log_tail_double, M_COUNT(log_tail_double), 4 },
    { log_least_single, log_inverse_single, log_center_single, log_center_single_low,
      log_octave_single, log_tail_single, M_COUNT(log_tail_single), 3 },
};
static const Base binary_base[] = {
    { log_least_double, log_inverse_double, log2_center_double, log2_center_double_low,
      NULL, log2_tail_double, M_COUNT(log2_tail_double), 4 },
    { log_least_single, log_inverse_single, log2_center_single, log2_center_single_low,
      NULL, log2_tail_single, M_COUNT(log2_tail_single), 3 },
};

/* 2^more x, where 'more' stands in the place of the exponent; PROGRAM_NONE: x. */
typedef struct Argument {
    V x, more;
} Argument;

static Argument normal(V x) { return (Argument){ x, PROGRAM_NONE }; }

static Argument make_normal(const M *m, V x)
{
    V small = m_lt(m, x, m_number(m, m->single ? 0x1p-126 : 0x1p-1022));
    V larger = m_mul(m, x, m_number(m, m->single ? 0x1p24 : 0x1p53));
    V fewer = m_integer(m, -((int64_t) m->digits << (m->digits - 1)));
    return (Argument){ m_select(m, small, larger, x),
                       m_select(m, small, fewer, m_integer(m, 0)) };
}

/* Where x lies: 2^k z, with the fraction's length added to k, and the interval of z. */
typedef struct Place {
    V octaves; /* 2^k as bits */
    V z, k, interval;
} Place;

/* The bits of x less those of the least z have k at the place of the exponent and the
 * interval below. */
static Place find_place(const M *m, const Base *base, Argument a)
{
    int fraction = m->digits - 1;
    V bits = m_as_integer(m, a.x);
    V above = m_sub(m, bits, m_as_integer(m, m_number(m, *base->least)));
    V octaves = m_and(m, above, m_integer(m, -((int64_t) 1 << fraction)));
    V z = m_as_float(m, m_sub(m, bits, octaves));
    V all = a.more == PROGRAM_NONE ? octaves : m_add(m, octaves, a.more);
    V k = m_to_float(m, all); /* times 2^fraction */
    V index = m_right(m, m_as_pattern(m, above), fraction - base->log_n);
    return (Place){ octaves, z, k, index };
}

/* '*scale', if it is wanted, becomes inverse / 2^k. */
static LogParts take_apart(const M *m, const Base *base, Argument a, V *scale)
{
    Place p = find_place(m, base, a);
    int n = 1 << base->log_n;
    V inverse = m_lookup(m, p.interval, base->inverse, n);
    V center = m_lookup(m, p.interval, base->center, n);
    V low = m_lookup(m, p.interval, base->center_low, n);
    if (scale) {
        V one = m_as_integer(m, m_number(m, 1));
        *scale = m_mul(m, inverse, m_as_float(m, m_sub(m, one, p.octaves)));
    }
    V octave = m_number(m, base->octave ? base->octave[0] : ldexp(1, 1 - m->digits));
    if (base->octave)
        low = m_fma(m, p.k, m_number(m, base->octave[1]), low);
    return (LogParts){ .start = { m_fma(m, p.k, octave, center), low },
                       .r = m_fma(m, p.z, inverse, m_number(m, -1)) };
}

LogParts math_log_parts(const M *m, V x)
{
    return take_apart(m, &natural_base[m->single], make_normal(m, x), NULL);
}

LogParts math_log_parts_of_normal(const M *m, V x)
{
    return take_apart(m, &natural_base[m->single], normal(x), NULL);
}

/* -------------------------------------------------------------------------- pairs */

/* start + r - r^2 / 2 + c r^3 with what the sums lose, and r^4 P(r), which is so small
 * that it loses nothing. */
Pair math_log_exact_of_parts(const M *m, LogParts parts)
{
    const double *c = m->single ? log_exact_single : log_exact_double;
    int count = m->single ? M_COUNT(log_exact_single) : M_COUNT(log_exact_double);
    enum { HALF = 4 };
    V r = parts.r, half = m_mul(m, r, m_number(m, -0.5));
    V first = m_fma(m, half, r, r), lost = m_fma(m, half, r, m_sub(m, r, first));
    Pair sum = m_fast_two_sum(m, parts.start.hi, first);
    V square = m_mul(m, r, r), fourth = m_mul(m, square, square);
    V low = m_add(m, m_add(m, lost, parts.start.lo), sum.lo);
    V near = m_estrin(m, r, c + 1, HALF);
    V rest = m_estrin(m, r, c + 1 + HALF, count - 1 - HALF);
    low = m_fma(m, fourth, near, low);
    low = m_fma(m, m_mul(m, fourth, fourth), rest, low);
    V cube = m_mul(m, square, r), third = m_number(m, *c);
    V log = m_fma(m, cube, third, sum.hi);
    V difference = m_sub(m, sum.hi, log);
    return (Pair){ log, m_add(m, m_fma(m, cube, third, difference), low) };
}

/* The derivative with respect to r, 1 / (1 + r), is nearly 1 - r + r^2. */
Pair math_log_exact(const M *m, Pair x)
{
    V scale;
    LogParts parts = take_apart(m, &natural_base[m->single], normal(x.hi), &scale);
    V low = m_mul(m, x.lo, scale), minus = m_neg(m, parts.r);
    low = m_fma(m, low, m_fma(m, minus, minus, minus), low);
    parts.start.lo = m_add(m, parts.start.lo, low);
    Pair log = math_log_exact_of_parts(m, parts);
    return m_fast_two_sum(m, log.hi, log.lo);
}

/* The second parts of the start, whose sum is exact, and the third ones. */
void math_log_fine(const M *m, V x, V *sum)
{
    const double *octave = log_octave_double;
    LogParts parts = math_log_parts_of_normal(m, x);
    Place p = find_place(m, natural_base, normal(x));
    int n = 1 << natural_base->log_n;
    Pair second = m_two_product(m, p.k, m_number(m, octave[1]));
    V center = m_lookup(m, p.interval, log_center_double_low, n);
    Pair low = m_two_sum(m, second.hi, center);
    V third = m_lookup(m, p.interval, log_center_double_rest, n);
    third = m_fma(m, p.k, m_number(m, octave[2]), third);
    V r = parts.r, zero = m_number(m, 0);
    Pair tail = m_poly_pair(m, (Pair){ r, zero }, M_ARRAY(log_second),
                            M_ARRAY(log_second_low));
    tail = m_pair_mul_pair(m, m_two_product(m, r, r), tail);
    V all[] = { parts.start.hi, r, low.hi, m_add(m, third, m_add(m, second.lo, low.lo)),
                tail.hi, tail.lo };
    memcpy(sum, all, sizeof all);
}

/* ------------------------------------------------------------ results of one float */

/* log(1 + r) beyond its linear term, and what comes before. */
static V add_tail(const M *m, const Base *base, V r, V start)
{
    V tail = m_poly(m, r, base->tail, base->count);
    return m_fma(m, m_mul(m, r, r), tail, start);
}

V math_log_tail(const M *m, LogParts parts, V start)
{
    return add_tail(m, &natural_base[m->single], parts.r, start);
}

typedef V Logarithm(const M *m, Argument a);

static V sum_up(const M *m, LogParts parts)
{
    Pair sum = m_fast_two_sum(m, parts.start.hi, parts.r);
    V low = m_add(m, sum.lo, parts.start.lo);
    return m_add(m, sum.hi, math_log_tail(m, parts, low));
}

static V natural(const M *m, Argument a)
{
    return sum_up(m, take_apart(m, &natural_base[m->single], a, NULL));
}

V math_log_of_sum(const M *m, Pair x, Pair w, V more)
{
    V scale;
    Argument a = { x.hi, more };
    LogParts parts = take_apart(m, &natural_base[m->single], a, &scale);
    V near = m_eq(m, parts.start.hi, m_number(m, 0));
    parts.r = m_select(m, near, w.hi, parts.r);
    V low = m_select(m, near, w.lo, m_mul(m, x.lo, scale));
    low = m_fma(m, low, m_neg(m, parts.r), low);
    parts.start.lo = m_add(m, parts.start.lo, low);
    return sum_up(m, parts);
}

/* r is multiplied by 1 / ln 2 as a pair. It is 0 for powers of two, as is the logarithm
 * of 1: their results are exact. */
static V binary(const M *m, Argument a)
{
    const Base *base = &binary_base[m->single];
    const double *factor = m->single ? log2_e_single : log2_e_double;
    LogParts parts = take_apart(m, base, a, NULL);
    Pair product = m_two_product(m, parts.r, m_number(m, factor[0]));
    V low = m_fma(m, parts.r, m_number(m, factor[1]), product.lo);
    Pair sum = m_fast_two_sum(m, parts.start.hi, product.hi);
    low = m_add(m, m_add(m, low, parts.start.lo), sum.lo);
    return m_add(m, sum.hi, add_tail(m, base, parts.r, low));
}

/* Arguments that are not positive, finite, normal numbers are rare. */
static V logarithm(const M *m, V x, Logarithm *function)
{
    V result = function(m, normal(x));
    V rare = m_outside(m, x, m->single ? 0x1p-126 : 0x1p-1022, INFINITY);
    uint32_t region = build_if(m->build, rare);
    V zero = m_number(m, 0), other = function(m, make_normal(m, x));
    other = m_select(m, m_lt(m, x, m_number(m, INFINITY)), other, x);
    other = m_select(m, m_lt(m, x, zero), m_number(m, NAN), other);
    other = m_select(m, m_eq(m, x, zero), m_number(m, -INFINITY), other);
    build_else(m->build, region, 1, &other);
    build_end(m->build, region, 1, &result);
    return result;
}

uint32_t math_log(Build *build, const BuildInst *inst)
{
    const M m = math_begin(build, inst);
    return logarithm(&m, inst->args[0], natural);
}

uint32_t math_log2(Build *build, const BuildInst *inst)
{
    const M m = math_begin(build, inst);
    return logarithm(&m, inst->args[0], binary);
}
