/*
 * math_arc.c -- asin, acos, atan, atan2
 *
 * asin and atan are odd, x + x P(x^2) for small x. Elsewhere identities lead there:
 *
 *     asin(x) = pi/2 - 2 asin(s),   acos(x) = 2 asin(s),   s = sqrt((1 - x) / 2)
 *     atan(x) = pi/2 - atan(1 / x) = pi/4 + atan((x - 1) / (x + 1))
 *
 * The rounding errors of the root, of the quotient and of the sum with a multiple of
 * pi/4 would add up to more than an ulp. So the remainder of a root, or of a quotient
 * where that is a large part of the result, is added, which fma gives exactly, times a
 * derivative of which a few bits will do; and the sum is formed with its rounding error
 * where the angle is not small beside it.
 */
#include <math.h>

#include "kernel/math.h"
#include "kernel/math_arc_tables.h"
#include "kernel/math_build.h"

/* pi in two parts, the low one as a fraction of the high one also for pi / 2. */
static const double pi_single[] = { 0x1.921fb6p1, -0x1.777a5cp-24 };
static const double pi_double[] = { 0x1.921fb54442d18p1, 0x1.1a62633145c07p-53 };

static const double *pi_parts(const M *m)
{
    return m->single ? pi_single : pi_double;
}

/* The numbers by a mask. */
static V choose(const M *m, V mask, double yes, double no)
{
    return m_select(m, mask, m_number(m, yes), m_number(m, no));
}

static V is_negative(const M *m, V x)
{
    return m_lt(m, m_as_integer(m, x), m_integer(m, 0));
}

/* ---- asin, acos */

/* What both begin with: where |x| > 1/2 ('far'), b = 2 s and b^2 + lack = (2 s)^2
 * exactly; asin(s) / s - 1 = factor, else that of |x|. */
typedef struct Sine {
    V far, square, b, minus_b, lack, factor;
} Sine;

static Sine arc_sine(const M *m, V a)
{
    V far = m_gt(m, a, m_number(m, 0.5));
    V half = m_fma(m, a, m_number(m, -0.5), m_number(m, 0.5));
    V z = m_select(m, far, half, m_mul(m, a, a));
    V square = m_fma(m, a, m_number(m, -2), m_number(m, 2));
    V b = m_sqrt(m, square), minus_b = m_neg(m, b);
    const double *c = m->single ? asin_single : asin_double;
    int count = m->single ? M_COUNT(asin_single) : M_COUNT(asin_double);
    V factor = m_mul(m, z, m_poly(m, z, c, count));
    return (Sine){ far, square, b, minus_b, m_fma(m, minus_b, b, square), factor };
}

uint32_t math_asin(Build *build, const Step *step)
{
    const M m_ = math_begin(build, step), *m = &m_;
    V x = step->args[0], a = m_abs(m, x), zero = m_number(m, 0);
    const double *pi = pi_parts(m);
    Sine sine = arc_sine(m, a);
    /* The root lacks lack / (2 b); where that is a good part of an ulp of the result,
     * 1 / (2 b) is about 1.457 - b. */
    V rest = m_fma(m, sine.lack, m_sub(m, sine.b, m_number(m, 1.457)),
                   m_number(m, pi[1] / 2));
    rest = m_select(m, sine.far, rest, zero);
    V b = m_select(m, sine.far, sine.minus_b, a);
    Pair sum = m_fast_two_sum(m, choose(m, sine.far, pi[0] / 2, 0), b);
    rest = m_add(m, sum.lo, m_fma(m, b, sine.factor, rest));
    return m_copysign(m, m_add(m, sum.hi, rest), x);
}

/* Where there is a start, it is three times the angle, so that the rounding error of
 * the angle is little beside that of the result. */
uint32_t math_acos(Build *build, const Step *step)
{
    const M m_ = math_begin(build, step), *m = &m_;
    V x = step->args[0];
    const double *pi = pi_parts(m);
    Sine sine = arc_sine(m, m_abs(m, x));
    V slope = m_copysign(m, m_rough_root(m, sine.square), x);
    V rest = m_select(m, sine.far, m_mul(m, sine.lack, slope), m_number(m, 0));
    V b = m_select(m, sine.far, m_copysign(m, sine.b, x), m_neg(m, x));
    V start = choose(m, is_negative(m, x), pi[0], 0);
    start = m_select(m, sine.far, start, m_number(m, pi[0] / 2));
    rest = m_fma(m, start, m_number(m, pi[1] / pi[0]),
                 m_fma(m, b, sine.factor, rest));
    return m_add(m, start, m_add(m, b, rest));
}

/* ---- atan, atan2 */

/* Tangents between these have angles around pi / 4. The lower one is tan(1/2) and a
 * bit: results are so large then that the error of a + 1 does not count. */
#define LEAST_DIAGONAL 0.546875
#define MOST_DIAGONAL 1.875

/* pi in two parts, the high one with bits that are 0, so that odd multiples of pi / 4
 * are numbers, too. */
static const double turns_single[] = { 0x1.921fb8p1, -0x1.5dde98p-22 };
static const double turns_double[] = { 0x1.921fb54442d18p1, 0x1.1a62633145c07p-53 };

static const double *turn_parts(const M *m)
{
    return m->single ? turns_single : turns_double;
}

/* start + atan(q) + lack slope, where the start is more than |q|, or 0. It is the high
 * part of a multiple of pi / 4. Nothing is spent on a 'lack' of PROGRAM_NONE. */
static V turn(const M *m, V start, V q, V lack, V slope)
{
    const double *pi = turn_parts(m), *c = m->single ? atan_single : atan_double;
    int count = m->single ? M_COUNT(atan_single) : M_COUNT(atan_double);
    V z = m_mul(m, q, q), factor = m_mul(m, z, m_poly(m, z, c, count));
    Pair sum = m_fast_two_sum(m, start, q);
    V low = m_fma(m, start, m_number(m, pi[1] / pi[0]), sum.lo);
    if (lack != PROGRAM_NONE)
        low = m_fma(m, lack, slope, low);
    return m_add(m, sum.hi, m_fma(m, q, factor, low));
}

/* a, -1 / a, or (a - 1) / (a + 1), where the difference is exact. */
uint32_t math_atan(Build *build, const Step *step)
{
    const M m_ = math_begin(build, step), *m = &m_;
    V x = step->args[0], a = m_abs(m, x), one = m_number(m, 1);
    const double pi = turn_parts(m)[0];
    V steep = m_gt(m, a, one), start = choose(m, steep, pi / 2, 0);
    V above = m_select(m, steep, m_number(m, -1), a);
    V below = m_select(m, steep, a, one);
    V usual = m_outside(m, a, LEAST_DIAGONAL, MOST_DIAGONAL);
    above = m_select(m, usual, above, m_sub(m, a, one));
    below = m_select(m, usual, below, m_add(m, a, one));
    start = m_select(m, usual, start, m_number(m, pi / 4));
    V q = m_div(m, above, below);
    return m_copysign(m, turn(m, start, q, PROGRAM_NONE, PROGRAM_NONE), x);
}

/* 0.84 / x within 3 percent: the exponent with the opposite sign. */
static V shy_reciprocal(const M *m, V x)
{
    V guess = m_pattern(m, m->single ? 0x7ed05000 : 0x7fda0a0000000000);
    return m_as_float(m, m_sub(m, guess, m_as_pattern(m, x)));
}

/* Where remainders of above / below leave the range of the type: both scaled alike; if
 * the quotient is so small that the angle is the quotient, that over 1, which leaves no
 * remainder. Of 0 / 0, 1 / inf and inf / inf become 0 / 1 and 1 / 1. */
static void scale_quotient(const M *m, V part[2])
{
    V one = m_number(m, 1), zero = m_number(m, 0), infinity = m_number(m, INFINITY);
    V above = part[0], below = part[1];
    V endless = m_eq(m, below, infinity), both = m_eq(m, above, infinity);
    above = m_select(m, endless, m_select(m, both, one, m_mul(m, above, zero)), above);
    below = m_select(m, m_or(m, endless, m_eq(m, below, zero)), one, below);
    V factor = m_number(m, m->single ? 0x1p60 : 0x1p500);
    V inverse = m_number(m, m->single ? 0x1p-60 : 0x1p-500);
    V scale = m_select(m, m_gt(m, below, one), inverse, factor);
    V tiny = m_number(m, m->single ? 0x1p-30 : 0x1p-60);
    V small = m_lt(m, above, m_mul(m, below, tiny));
    part[0] = m_select(m, small, m_div(m, above, below), m_mul(m, above, scale));
    part[1] = m_select(m, small, one, m_mul(m, below, scale));
}

uint32_t math_atan2(Build *build, const Step *step)
{
    const M m_ = math_begin(build, step), *m = &m_;
    V y = step->args[0], x = step->args[1], ay = m_abs(m, y), ax = m_abs(m, x);
    V steep = m_gt(m, ay, ax), negative = is_negative(m, x);
    V above = m_select(m, steep, ax, ay), below = m_select(m, steep, ay, ax);

    const double limit = m->single ? 0x1p60 : 0x1p480, pi = turn_parts(m)[0];
    V usual = m_and(m, m_ge(m, above, m_number(m, 1 / limit)),
                    m_le(m, below, m_number(m, limit)));
    uint32_t region = build_if(build, m_not(m, usual));
    V scaled[] = { above, below };
    scale_quotient(m, scaled);
    build_else(build, region, 2, scaled);
    V part[] = { above, below };
    build_end(build, region, 2, part);

    above = part[0], below = part[1];
    V start = m_select(m, steep, m_number(m, pi / 2), choose(m, negative, pi, 0));
    V near = m_gt(m, above, m_mul(m, below, m_number(m, LEAST_DIAGONAL)));
    V difference = m_sub(m, above, below), sum = m_add(m, above, below);
    start = m_select(m, near, choose(m, negative, pi * 0.75, pi / 4), start);
    above = m_select(m, near, difference, above);
    below = m_select(m, near, sum, below);
    above = m_select(m, m_xor(m, steep, negative), m_neg(m, above), above);
    V q = m_div(m, above, below), lack = m_fma(m, m_neg(m, q), below, above);
    /* The angle lacks lack / below / (1 + q^2), which is mostly between 1 and 0.77. */
    V angle = turn(m, start, q, lack, shy_reciprocal(m, below));
    return m_copysign(m, angle, y);
}
