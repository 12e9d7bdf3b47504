/*
 * math_exp.c -- exp, exp2
 *
 * e^x = 2^k e^r with k = round(x / ln 2) and |r| <= ln 2 / 2, a polynomial in r. The
 * product k ln 2 is taken off in two parts, the first of which leaves an exact
 * difference (Cody and Waite, "Software Manual for the Elementary Functions", 1980).
 * For 2^x, r = x - k is exact as it is.
 *
 * The power of a pair, for other functions, has n = 16 (in single precision, 8) roots
 * of two in a table as well,
 *
 *     e^x = 2^k 2^(i / n) e^r    n k + i = round(n x / ln 2), |r| <= ln 2 / 2n
 *
 * and a shorter polynomial (P. T. P. Tang, "Table-driven implementation of the
 * exponential function in IEEE floating-point arithmetic", 1989).
 *
 * k is rounded by the addition of a number so large that the sum is an integer. The
 * low bits of the sum are k then, and a shift takes them to the place of the exponent.
 * So neither a rounding nor a conversion is needed.
 */
#include "lower/math/math_exp.h"

#include <math.h>

#include "lower/math/math.h"
#include "lower/math/math_exp_tables.h"

/* Number whose sums with small numbers are integers. */
static double rounder(const M *m)
{
    return m->single ? 0x1.8p23 : 0x1.8p52;
}

/* What exp and exp2 differ in. */
typedef struct Base {
    bool natural;    /* the base is e, else 2 */
    const double *c; /* base^r = c[0] + c[1] r + ... */
    int count;
    double usual;     /* up to there, results are normal numbers */
    double high, low; /* beyond, results are surely infinite and 0 */
} Base;

/* What is left of an argument: base^r = (1 + the linear term of r) + r^2 P(r), where
 * the rounded sum has the rounding error 'low'. Only so is the result a rising
 * function. */
typedef struct Rest {
    V r, sum, low;
} Rest;

static V sum_powers(const M *m, const Base *base, Rest rest)
{
    V tail = m_poly(m, rest.r, base->c + 2, base->count - 2);
    V low = m_fma(m, m_mul(m, rest.r, rest.r), tail, rest.low);
    return m_add(m, rest.sum, low);
}

/* r = x - k ln 2 */
static Rest take_off(const M *m, V x, V k)
{
    const double *ln2 = m->single ? exp_ln2_single : exp_ln2_double;
    V minus_low = m_number(m, -ln2[1]);
    V first = m_fma(m, k, m_number(m, -ln2[0]), x);
    Pair sum = m_fast_two_sum(m, m_number(m, 1), first);
    return (Rest){ m_fma(m, k, minus_low, first), sum.hi,
                   m_fma(m, k, minus_low, sum.lo) };
}

/* r = x - k is exact. */
static Rest take_off_binary(const M *m, V x, V k, V ln2)
{
    V r = m_sub(m, x, k), one = m_number(m, 1), sum = m_fma(m, r, ln2, one);
    return (Rest){ r, sum, m_fma(m, r, ln2, m_sub(m, one, sum)) };
}

/* fraction * 2^k, where the fraction may be rubbish beyond the limits of x. */
static V scale(const M *m, const Base *base, V x, V fraction, V k)
{
    V above = m_gt(m, x, m_number(m, base->high));
    V below = m_lt(m, x, m_number(m, base->low));
    V result = m_scale(m, fraction, k);
    result = m_select(m, above, m_number(m, INFINITY), result);
    return m_select(m, below, m_number(m, 0), result);
}

/* Add k to the exponent of a number, with what stands below it in 'exponent'. */
static V add_exponent(const M *m, V number, V exponent)
{
    return m_as_float(m, m_add(m, m_as_integer(m, number), exponent));
}

/* Large arguments, with results that are not normal numbers or nearly so, are rare. For
 * the others, k is added to the exponent of the fraction. */
static V exponential(const M *m, V x, const Base *base)
{
    V magic = m_number(m, rounder(m));
    V sum = base->natural ? m_fma(m, x, m_number(m, M_LOG2E), magic)
                          : m_add(m, x, magic);
    V k = m_sub(m, sum, magic), integer = m_as_integer(m, sum);
    Rest rest = base->natural ? take_off(m, x, k)
                              : take_off_binary(m, x, k, m_number(m, base->c[1]));
    V fraction = sum_powers(m, base, rest);
    V result = add_exponent(m, fraction, m_left(m, integer, m->digits - 1));

    V limit = m_as_pattern(m, m_number(m, base->usual));
    V rare = m_gt(m, m_as_pattern(m, m_abs(m, x)), limit); /* or NaN */
    uint32_t region = build_if(m->build, rare);
    V other = scale(m, base, x, fraction,
                    m_sub(m, integer, m_as_integer(m, magic)));
    build_else(m->build, region, 1, &other);
    build_end(m->build, region, 1, &result);
    return result;
}

static const Base exp_base[2] = {
    { true, exp_single, M_COUNT(exp_single), 87, 89, -104 },
    { true, exp_double, M_COUNT(exp_double), 708, 710, -746 },
};
static const Base exp2_base[2] = {
    { false, exp2_single, M_COUNT(exp2_single), 126, 129, -151 },
    { false, exp2_double, M_COUNT(exp2_double), 1022, 1025, -1076 },
};

uint32_t math_exp(Build *build, const BuildInst *inst)
{
    const M m = math_begin(build, inst);
    return exponential(&m, inst->args[0], &exp_base[!m.single]);
}

uint32_t math_exp2(Build *build, const BuildInst *inst)
{
    const M m = math_begin(build, inst);
    return exponential(&m, inst->args[0], &exp2_base[!m.single]);
}

/* ------------------------------------------------------------ for other functions */

typedef struct Roots {
    const double *root, *root_low; /* 2^(i / n): see src/lower/math/tables_exp.py */
    const double *step;            /* ln 2 / n, two parts */
    const double *c;               /* e^r = 1 + r + c[0] r^2 + ... */
    int count, log_n;
} Roots;

static const Roots roots[2] = {
    { exp_root_single, exp_root_single_low, exp_step_single, exp_short_single,
      M_COUNT(exp_short_single), 3 },
    { exp_root_double, exp_root_double_low, exp_step_double, exp_short_double,
      M_COUNT(exp_short_double), 4 },
};

ExpParts math_exp_parts(const M *m, Pair x)
{
    const Roots *t = &roots[!m->single];
    int n = 1 << t->log_n;
    V magic = m_number(m, rounder(m));
    V sum = m_fma(m, x.hi, m_number(m, M_LOG2E * n), magic);
    V count = m_sub(m, sum, magic);
    V r = m_fma(m, count, m_number(m, -t->step[0]), x.hi);
    r = m_add(m, r, m_fma(m, count, m_number(m, -t->step[1]), x.lo));

    V index = m_as_pattern(m, sum), steps = m_as_integer(m, sum);
    V linear = m_add(m, r, m_lookup(m, index, t->root_low, n));
    V tail = m_poly(m, r, t->c, t->count);
    return (ExpParts){
        .exponent = m_left(m, steps, m->digits - 1 - t->log_n),
        .root = m_lookup(m, index, t->root, n),
        .rest = m_fma(m, m_mul(m, r, r), tail, linear),
    };
}

/* 2^(i / n) (1 + rest), with what 'exponent' has above i. */
static V assemble(const M *m, V exponent, ExpParts parts)
{
    V power = add_exponent(m, parts.root, exponent);
    return m_fma(m, power, parts.rest, power);
}

V math_exp_of_normal(const M *m, ExpParts parts)
{
    return assemble(m, parts.exponent, parts);
}

V math_exp_of(const M *m, V x, ExpParts parts)
{
    int fraction = m->digits - 1;
    V i = m_and(m, parts.exponent, m_integer(m, ((int64_t) 1 << fraction) - 1));
    V k = m_right(m, parts.exponent, fraction);
    return scale(m, &exp_base[!m->single], x, assemble(m, i, parts), k);
}
