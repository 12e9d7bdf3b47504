/*
 * math_arc.c -- asin, acos, atan, atan2
 *
 * asin and atan are odd, x + x P(x^2) for small x. Elsewhere identities lead there:
 *
 *     asin(x) = pi/2 - 2 asin(s),   acos(x) = 2 asin(s),   s = sqrt((1 - x) / 2)
 *     atan(x) = pi/2 - atan(1 / x)
 *     atan(a / b) = pi/4 + atan((a - b) / (a + b))
 *
 * The rounding errors of the root, of the quotient and of the sum with a multiple of
 * pi/4 would add up to more than an ulp. So the remainder of a root or a quotient is
 * added, which fma gives exactly, times a derivative of which a few bits will do; and
 * the sum is formed with its rounding error where the angle is not small beside it.
 */
#include <math.h>

#include "kernel/math.h"
#include "kernel/math_arc_tables.h"
#include "kernel/math_build.h"

/* pi in two parts. The low one is a fraction of the high one also for pi / 2 and, in
 * double precision (three bits of the high part are 0), for odd multiples of pi / 4. */
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

/* The smaller of x and a positive number, where x is no NaN: integers are quicker. */
static V smaller(const M *m, V x, double limit)
{
    V most = m_as_integer(m, m_number(m, limit));
    return m_as_float(m, m_min(m, m_as_integer(m, x), most));
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

/* start + atan(q) + rest for -1 <= q <= 1, where start is 0 or more than q. With
 * z = q^2, atan(q) / q is middle - z / 4 and a polynomial, whose rounding errors hardly
 * count as it is small; the product with the middle is added exactly. */
static V turn(const M *m, V start, V q, V rest)
{
    V middle = m_number(m, m->single ? 0.875 : 0.9375);
    V more = m_number(m, m->single ? 0.125 : 0.0625);
    const double *c = m->single ? atan_single : atan_double;
    int count = m->single ? M_COUNT(atan_single) : M_COUNT(atan_double);
    V z = m_mul(m, q, q), linear = m_fma(m, z, m_number(m, -0.25), more);
    V poly = m->single ? m_horner(m, z, c, count) : m_poly(m, z, c, count);
    V factor = m_fma(m, z, poly, linear);
    rest = m_fma(m, q, factor, rest);
    V sum = m_fma(m, q, middle, start);
    V less = m_fma(m, q, middle, m_sub(m, start, sum));
    return m_add(m, sum, m_add(m, less, rest));
}

/* 1 / x within 13 percent: the exponent with the opposite sign. */
static V rough_reciprocal(const M *m, V x)
{
    V guess = m_pattern(m, m->single ? 0x7ef311c3 : 0x7fde6238502484ba);
    return m_as_float(m, m_sub(m, guess, m_as_pattern(m, x)));
}

/* start + the angle of a quotient in -1 ... 1. What it is divided by is a Pair if
 * 'below_low' is not NULL. */
static V turn_quotient(const M *m, V start, V above, V below, const V *below_low)
{
    const double *pi = pi_parts(m);
    V q = m_div(m, above, below), minus_q = m_neg(m, q);
    V rest = m_fma(m, minus_q, below, above);
    if (below_low)
        rest = m_fma(m, minus_q, *below_low, rest);
    /* The quotient lacks rest / below, the angle 1 / (1 + q^2) of that; this matters
     * little for |q| <= 1/2. */
    V slope = rough_reciprocal(m, m->single ? m_fma(m, above, q, below) : below);
    rest = m_fma(m, rest, slope, m_mul(m, start, m_number(m, pi[1] / pi[0])));
    return turn(m, start, q, rest);
}

/* The same from 'start' or, with the angle of (a - b) / (a + b), from 'diagonal', an
 * odd multiple of pi / 4. The difference is exact as neither is twice the other. Single
 * precision gets along without that. */
static V turn_diagonal(const M *m, V start, V diagonal, V above, V below)
{
    if (m->single)
        return turn_quotient(m, start, above, below, NULL);
    V size = m_abs(m, above);
    V near = m_gt(m, m_add(m, size, size), below);
    Pair sum = m_fast_two_sum(m, below, size);
    V difference = m_sub(m, above, m_copysign(m, below, above));
    above = m_select(m, near, difference, above);
    below = m_select(m, near, sum.hi, below);
    V low = m_select(m, near, sum.lo, m_number(m, 0));
    return turn_quotient(m, m_select(m, near, diagonal, start), above, below, &low);
}

/* pi/2 - atan(1 / a) for a > 1. The remainder of -1 / a counts only there; its factor
 * 1 / (a + 1 / a) is about 1 / a, but at most 1/2. */
static V atan_single_of(const M *m, V a, V steep, V start)
{
    const double *pi = pi_parts(m);
    V limited = smaller(m, a, 0x1p100); /* the remainder of an infinity would be NaN */
    V inverse = m_div(m, m_number(m, -1), limited);
    V q = m_select(m, steep, inverse, a);
    V rest = m_fma(m, inverse, limited, m_number(m, 1));
    /* The smaller of two negative floats is the larger integer. */
    V most = m_as_integer(m, m_number(m, -0.5));
    V slope = m_as_float(m, m_min(m, m_as_integer(m, inverse), most));
    rest = m_fma(m, rest, slope, m_number(m, pi[1] / 2));
    return turn(m, start, q, m_select(m, steep, rest, m_number(m, 0)));
}

uint32_t math_atan(Build *build, const Step *step)
{
    const M m_ = math_begin(build, step), *m = &m_;
    V x = step->args[0], a = m_abs(m, x), one = m_number(m, 1);
    const double *pi = pi_parts(m);
    V steep = m_gt(m, a, one), start = choose(m, steep, pi[0] / 2, 0);
    if (m->single)
        return m_copysign(m, atan_single_of(m, a, steep, start), x);
    V above = m_select(m, steep, m_number(m, -1), a);
    /* Beyond this the result does not change, and an infinity would make the remainder
     * NaN. */
    V below = smaller(m, m_select(m, steep, a, one), 0x1p100);
    V angle = turn_diagonal(m, start, m_number(m, pi[0] / 4), above, below);
    return m_copysign(m, angle, x);
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

    double limit = m->single ? 0x1p60 : 0x1p480, pi = pi_parts(m)[0];
    V rare = m_or(m, m_lt(m, above, m_number(m, 1 / limit)),
                  m_gt(m, below, m_number(m, limit)));
    uint32_t region = build_if(build, rare);
    V scaled[] = { above, below };
    scale_quotient(m, scaled);
    build_else(build, region, 2, scaled);
    V part[] = { above, below };
    build_end(build, region, 2, part);

    V start = m_select(m, steep, m_number(m, pi / 2), choose(m, negative, pi, 0));
    V diagonal = choose(m, negative, pi * 0.75, pi / 4);
    V falling = m_xor(m, steep, negative);
    above = m_select(m, falling, m_neg(m, part[0]), part[0]);
    return m_copysign(m, turn_diagonal(m, start, diagonal, above, part[1]), y);
}
