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

#include "lower/math/math.h"
#include "lower/math/math_arc_tables.h"
#include "lower/math/math_build.h"

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

/* ---- asin, acos */

/* What both begin with: where |x| > 1/2 ('far'), s^2 + lack = (1 - |x|) / 2 exactly;
 * asin(s) / s - 1 = factor, else that of |x|. */
typedef struct Sine {
    V far, s, lack, factor;
} Sine;

static Sine arc_sine(const M *m, V a)
{
    V bound = m_number(m, 0.5), near = m_le(m, a, bound);
    V half = m_fma(m, a, m_number(m, -0.5), bound);
    V z = m_select(m, near, m_mul(m, a, a), half);
    V s = m_sqrt(m, z);
    const double *c = m->single ? asin_single : asin_double;
    int count = m->single ? M_COUNT(asin_single) : M_COUNT(asin_double);
    V factor = m_mul(m, z, m_poly(m, z, c, count));
    return (Sine){ m_gt(m, a, bound), s, m_fma(m, m_neg(m, s), s, z), factor };
}

uint32_t math_asin(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    V x = inst->args[0], a = m_abs(m, x), zero = m_number(m, 0);
    const double *pi = pi_parts(m);
    V start = m_number(m, pi[0] / 2);
    Sine sine = arc_sine(m, a);
    V b = m_select(m, sine.far, m_mul(m, sine.s, m_number(m, -2)), a);
    V hi = m_select(m, sine.far, m_add(m, start, b), a);
    /* The root lacks lack / (2 s). That is a good part of an ulp of the result where s
     * is near 1/2, where twice the derivative of asin times 1 / (2 s) is about 2.8. */
    V rest = m_fma(m, sine.lack, m_number(m, -2.8), m_number(m, pi[1] / 2));
    rest = m_add(m, m_sub(m, b, m_sub(m, hi, start)), rest);
    rest = m_fma(m, b, sine.factor, m_select(m, sine.far, rest, zero));
    return m_copysign(m, m_add(m, hi, rest), x);
}

/* Where there is a start, it is three times the angle, so that the rounding error of
 * the angle is little beside that of the result. */
uint32_t math_acos(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    V x = inst->args[0], zero = m_number(m, 0);
    const double *pi = pi_parts(m);
    V quarter = m_number(m, pi[0] / 2);
    Sine sine = arc_sine(m, m_abs(m, x));
    V two = m_copysign(m, m_number(m, 2), x);
    V b = m_select(m, sine.far, m_mul(m, sine.s, two), m_neg(m, x));
    V start = m_select(m, sine.far, m_sub(m, quarter, m_copysign(m, quarter, x)),
                       quarter);
    /* What 2 s lacks is lack / s, with the sign of x; 1 / s within 5 percent is the
     * exponent with the opposite sign. */
    V guess = m_pattern(m, m->single ? 0x7f7311c3 : 0x7fee6238502484ba);
    V inverse = m_as_float(m, m_sub(m, guess, m_as_pattern(m, b)));
    V rest = m_mul(m, sine.lack, inverse);
    rest = m_fma(m, b, sine.factor, m_select(m, sine.far, rest, zero));
    rest = m_fma(m, start, m_number(m, pi[1] / pi[0]), rest);
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

/* atan(q) / q - 1 */
static V tangent_factor(const M *m, V q)
{
    const double *c = m->single ? atan_single : atan_double;
    int count = m->single ? M_COUNT(atan_single) : M_COUNT(atan_double);
    V z = m_mul(m, q, q);
    return m_mul(m, z, m_poly(m, z, c, count));
}

/* The angle is start + atan(q), where q is a, -1 / a, or (a - 1) / (a + 1), whose
 * difference is exact; the start is the high part of a multiple of pi / 4. */
uint32_t math_atan(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    V x = inst->args[0], a = m_abs(m, x), one = m_number(m, 1), zero = m_number(m, 0);
    const double *pi = turn_parts(m);
    V far = m_gt(m, a, m_number(m, LEAST_DIAGONAL));
    V diagonal = m_lt(m, a, m_number(m, MOST_DIAGONAL));
    V above = m_select(m, diagonal, m_sub(m, a, one), m_number(m, -1));
    V below = m_select(m, diagonal, m_add(m, a, one), a);
    V start = choose(m, diagonal, pi[0] / 4, pi[0] / 2);
    V q = m_select(m, far, m_div(m, above, below), a);
    V hi = m_select(m, far, m_add(m, start, q), a);
    V low = m_sub(m, q, m_sub(m, hi, start));
    low = m_fma(m, start, m_number(m, pi[1] / pi[0]), low);
    low = m_fma(m, q, tangent_factor(m, q), m_select(m, far, low, zero));
    return m_copysign(m, m_add(m, hi, low), x);
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

uint32_t math_atan2(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    V y = inst->args[0], x = inst->args[1], ay = m_abs(m, y), ax = m_abs(m, x);
    V steep = m_gt(m, ay, ax), zero = m_number(m, 0);
    V above = m_select(m, steep, ax, ay), below = m_select(m, steep, ay, ax);

    const double limit = m->single ? 0x1p60 : 0x1p480, *pi = turn_parts(m);
    V usual = m_and(m, m_ge(m, above, m_number(m, 1 / limit)),
                    m_le(m, below, m_number(m, limit)));
    uint32_t region = build_if(build, m_not(m, usual));
    V scaled[] = { above, below };
    scale_quotient(m, scaled);
    build_else(build, region, 2, scaled);
    V part[] = { above, below };
    build_end(build, region, 2, part);

    above = part[0], below = part[1];
    V start = m_select(m, steep, zero, m_number(m, pi[0] / 2));
    V near = m_gt(m, above, m_mul(m, below, m_number(m, LEAST_DIAGONAL)));
    V difference = m_sub(m, above, below), sum = m_add(m, above, below);
    start = m_select(m, near, m_number(m, pi[0] / 4), start);
    start = m_sub(m, m_number(m, pi[0] / 2), m_copysign(m, start, x));
    above = m_select(m, near, difference, above);
    below = m_copysign(m, m_select(m, near, sum, below), x);
    above = m_select(m, steep, m_neg(m, above), above);
    V q = m_div(m, above, below), factor = tangent_factor(m, q);
    /* With q rounded to the last bit of the sum, this is exact. */
    V hi = m_add(m, start, q);
    q = m_sub(m, hi, start);
    V lack = m_fma(m, m_neg(m, q), below, above);
    /* The angle lacks lack / below / (1 + q^2), which is mostly between 1 and 0.77. */
    V low = m_mul(m, start, m_number(m, pi[1] / pi[0]));
    low = m_fma(m, lack, shy_reciprocal(m, below), low);
    low = m_fma(m, q, factor, low);
    return m_copysign(m, m_add(m, hi, low), y);
}
