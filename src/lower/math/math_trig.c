/*
 * math_trig.c -- sin, cos, tan
 *
 * Multiples k of a quarter turn are subtracted from the argument, with pi/2 in three
 * parts (W. J. Cody, W. Waite, "Software Manual for the Elementary Functions", 1980).
 * Larger arguments go other ways, in conditionals. The first is the same with a k of
 * more digits, for which products with the second part are pairs. Still larger
 * arguments are integers times a power of two, which is multiplied with just those bits
 * of 2/pi that matter modulo 4 (M. Payne, R. Hanek, "Radian reduction for trigonometric
 * functions", 1983), so the reduction is exact for all.
 *
 * The reduced argument is a difference of two numbers within an eighth of a turn; all
 * functions of one argument share it. What follows is arranged such that few of the
 * rounding errors count, which add up to less than 1 ulp. All is done in the type of
 * the argument: kernels with doubles have half as many lanes in a packet.
 */
#include <math.h>

#include "lower/math/math.h"
#include "lower/math/math_build.h"
#include "lower/math/math_trig_tables.h"

/* Beyond these, multiples of pi/2 have more bits than the second part leaves free. */
#define SINGLE_NEAR 0x1.8p9
#define DOUBLE_NEAR 0x1p20
/* Up to these, reduce_middle() is exact enough. */
#define SINGLE_MIDDLE 0x1.4p23
#define DOUBLE_MIDDLE 0x1p44

enum {
    WINDOW = 3, /* words of 2/pi that count for one argument */
    /* exponent of the last bit of arguments for which the table begins; that of single
     * precision begins at the second word */
    LEAST_SINGLE = -14,
    LEAST_DOUBLE = -46,
    MOST_WORDS = M_COUNT(turn_words)
};

static V is_odd(const M *m, V pattern)
{
    return m_neq(m, m_and(m, pattern, m_pattern(m, 1)), m_pattern(m, 0));
}

/* ------------------------------------------------------------ large arguments */

/* Words j ... j + WINDOW of the table, with j < 2^levels. */
static void find_words(const M *m, V j, int levels, V *word)
{
    int count = m->single ? 1 : 2; /* entries of the table for a word */
    const double *table = turn_words + m->single;
    int words = MOST_WORDS / count - m->single, wanted = WINDOW + 1;
    if (words > wanted + (1 << levels) - 1)
        words = wanted + (1 << levels) - 1;
    V all[MOST_WORDS];
    for (int i = 0; i < words; ++i) {
        uint64_t bits = 0;
        for (int k = 0; k < count; ++k)
            bits = bits << 32 | (uint64_t) table[i * count + k];
        all[i] = m_pattern(m, bits);
    }
    for (int step = 1 << (levels - 1); step; step /= 2) {
        V far = m_neq(m, m_and(m, j, m_pattern(m, (uint64_t) step)), m_pattern(m, 0));
        for (int i = 0; i < wanted + step - 1 && i + step < words; ++i)
            all[i] = m_select(m, far, all[i + step], all[i]);
    }
    for (int i = 0; i < wanted; ++i)
        word[i] = all[i];
}

typedef struct Turns {
    V quarters;  /* as pattern; modulo 4 */
    V high, low; /* the rest in two words: 2^(width - 2) of 'high' are a quarter */
} Turns;

/* |x| * 2/pi modulo 4, for |x| = significand * 2^exponent beyond the limit */
static Turns multiply_turns(const M *m, V x)
{
    const int width = m->single ? 32 : 64, fraction = m->digits - 1;
    V pattern = m_as_pattern(m, m_abs(m, x));
    uint64_t one = UINT64_C(1) << fraction;
    V number = m_and(m, pattern, m_pattern(m, one - 1));
    number = m_or(m, number, m_pattern(m, one));
    int least = m->single ? LEAST_SINGLE : LEAST_DOUBLE;
    V at = m_sub(m, m_right(m, pattern, fraction),
                 m_pattern(m, (uint64_t) (m->bias + fraction + least)));
    V word[WINDOW + 1];
    find_words(m, m_right(m, at, m->single ? 5 : 6), m->single ? 2 : 4, word);
    V left = m_and(m, at, m_pattern(m, (uint64_t) width - 1));
    V right = m_sub(m, m_pattern(m, (uint64_t) width), left);
    for (int i = 0; i < WINDOW; ++i)
        word[i] = m_or(m, build_2(m->build, OP_SHL, word[i], left),
                       build_2(m->build, OP_SHR, word[i + 1], right));

    V middle = m_mul(m, word[1], number);
    V low = m_add(m, middle, build_2(m->build, OP_MUL_HI, word[2], number));
    V carry = m_select(m, m_lt(m, low, middle), m_pattern(m, 1), m_pattern(m, 0));
    V high = m_add(m, m_mul(m, word[0], number),
                   build_2(m->build, OP_MUL_HI, word[1], number));
    high = m_add(m, high, carry);
    V half = m_pattern(m, UINT64_C(1) << (width - 3));
    V quarters = m_right(m, m_add(m, high, half), width - 2);
    return (Turns){ quarters, m_sub(m, high, m_left(m, quarters, width - 2)), low };
}

/* ------------------------------------------------------------------- reduction */

/* x = quarters * pi/2 + hi - lo, with quarters as a pattern, modulo 4. */
typedef struct Reduced {
    V quarters, hi, lo;
} Reduced;

/* Infinities give NaN. */
static Reduced reduce_far(const M *m, V x)
{
    const int cut = m->single ? 8 : 20, half = m->single ? 16 : 32;
    const int quarter = 2 * half - 2;
    Turns turns = multiply_turns(m, x);
    /* The fraction in three parts that floats hold exactly; the first has the sign. */
    V middle = m_and(m, turns.high, m_pattern(m, (UINT64_C(1) << cut) - 1));
    V part[3] = {
        m_right(m, build_bitcast(m->build, m->whole, turns.high), cut),
        m_or(m, m_left(m, middle, half), m_right(m, turns.low, half)),
        m_and(m, turns.low, m_pattern(m, (UINT64_C(1) << half) - 1)),
    };
    const int weight[3] = { cut - quarter, -quarter - half, -quarter - 2 * half };
    for (int i = 0; i < 3; ++i) {
        part[i] = m_to_float(m, build_bitcast(m->build, m->whole, part[i]));
        part[i] = m_mul(m, part[i], m_number(m, ldexp(1, weight[i])));
    }
    Pair turn = m_fast_two_sum(m, part[0], part[1]);
    turn = m_fast_two_sum(m, turn.hi, m_add(m, turn.lo, part[2]));
    const double *pi = m->single ? pi_single : pi_double;
    Pair rest = m_pair_mul_pair(m, turn, m_pair(m, pi[0] / 2, pi[1] / 2));
    V sign = m_copysign(m, m_number(m, 1), x), nan = m_sub(m, x, x);
    V negative = m_lt(m, x, m_number(m, 0));
    V quarters = m_select(m, negative, m_sub(m, m_pattern(m, 0), turns.quarters),
                          turns.quarters);
    return (Reduced){ quarters, m_fma(m, rest.hi, sign, nan),
                      m_mul(m, m_neg(m, rest.lo), sign) };
}

/* 2/pi x is rounded by adding a number so large that its last bit is worth 1. 'first'
 * is exact, as x and k pi/2 are multiples of the last bit of pi/2 (or k = 0) and the
 * difference is below 1. What the rounding of 'hi' leaves is exact, too, because
 * products with the second part of pi/2 are. 'lo' has the other sign, so that hi - lo
 * is -0 for x = -0. */
static Reduced reduce_near(const M *m, V x)
{
    const double *quarter = m->single ? quarter_single : quarter_double;
    V bias = m_number(m, m->single ? 0x1.8p23 : 0x1.8p52);
    V n = m_fma(m, x, m_number(m, M_2_PI), bias), k = m_sub(m, n, bias);
    V first = m_fma(m, k, m_number(m, -quarter[0]), x);
    V hi = m_fma(m, k, m_number(m, -quarter[1]), first);
    V lo = m_fma(m, k, m_number(m, quarter[1]), m_sub(m, hi, first));
    lo = m_fma(m, k, m_number(m, quarter[2]), lo);
    return (Reduced){ m_as_pattern(m, n), hi, lo };
}

/* k is 4 j and what the rest after j whole turns has of quarters: 2/pi x has a rounding
 * error that counts for so large a k, the rest has not. 'first' is exact, being a
 * multiple of the last bit of pi/2 and below 2. The product with the second part is
 * below 1/2, so this bit is also a multiple of all of the product's but those in 'lo',
 * and the sum of both can be had exactly though either may be the larger one. */
static Reduced reduce_middle(const M *m, V x)
{
    const double *pi = m->single ? pi_single : pi_double;
    V bias = m_number(m, m->single ? 0x1.8p23 : 0x1.8p52);
    V turns = m_sub(m, m_fma(m, x, m_number(m, M_2_PI / 4), bias), bias);
    V rest = m_fma(m, turns, m_number(m, -2 * pi[0]), x);
    rest = m_fma(m, turns, m_number(m, -2 * pi[1]), rest);
    V n = m_fma(m, rest, m_number(m, M_2_PI), bias);
    V k = m_fma(m, turns, m_number(m, 4), m_sub(m, n, bias));

    V first = m_fma(m, k, m_number(m, -pi[0] / 2), x);
    Pair second = m_two_product(m, k, m_number(m, pi[1] / 2));
    V hi = m_sub(m, first, second.hi);
    V lo = m_add(m, m_sub(m, hi, first), second.hi);
    lo = m_add(m, lo, m_fma(m, k, m_number(m, pi[2] / 2), second.lo));
    return (Reduced){ m_as_pattern(m, n), hi, lo };
}

/* Arguments beyond the limit of reduce_near(), inside of a conditional. */
static Reduced reduce_large(const M *m, V x)
{
    Reduced middle = reduce_middle(m, x);
    V limit = m_number(m, m->single ? SINGLE_MIDDLE : DOUBLE_MIDDLE);
    uint32_t region = build_if(m->build, m_gt(m, m_abs(m, x), limit));
    Reduced far = reduce_far(m, x);
    V parts[] = { far.quarters, far.hi, far.lo };
    build_else(m->build, region, M_COUNT(parts), parts);
    V r[] = { middle.quarters, middle.hi, middle.lo };
    build_end(m->build, region, M_COUNT(r), r);
    return (Reduced){ r[0], r[1], r[2] };
}

static Reduced reduce(const M *m, V x)
{
    static const char maker;
    BuildShared *shared = build_shared(m->build, &maker, x);
    if (!shared->maker) {
        Reduced near = reduce_near(m, x);
        V limit = m_number(m, m->single ? SINGLE_NEAR : DOUBLE_NEAR);
        uint32_t region = build_if(m->build, m_gt(m, m_abs(m, x), limit));
        Reduced large = reduce_large(m, x);
        V parts[] = { large.quarters, large.hi, large.lo };
        build_else(m->build, region, M_COUNT(parts), parts);
        V r[] = { near.quarters, near.hi, near.lo };
        build_end(m->build, region, M_COUNT(r), r);
        *shared = (BuildShared){ &maker, x, { r[0], r[1], r[2] } };
    }
    return (Reduced){ shared->part[0], shared->part[1], shared->part[2] };
}

/* -------------------------------------------------------------------- functions */

typedef struct Series {
    const double *c;
    int count;
} Series;

static const Series sine_series[] = {
    { sine_double, M_COUNT(sine_double) },
    { sine_single, M_COUNT(sine_single) },
};
static const Series cosine_series[] = {
    { cosine_double, M_COUNT(cosine_double) },
    { cosine_single, M_COUNT(cosine_single) },
};

static V evaluate(const M *m, const Series *series, V z)
{
    const Series *s = &series[m->single];
    return m_poly(m, z, s->c, s->count);
}

/* sin(hi - lo) = hi + hi z S(z) - lo and cos(hi - lo) = 1 + y (z C(z) - 1/2) with
 * z = hi^2 and y = (hi - lo)^2, which is rounded once. */
static V circle(const M *m, V x, bool cosine)
{
    Reduced r = reduce(m, x);
    V cross = m_mul(m, m_mul(m, r.hi, m_number(m, -2)), r.lo);
    V y = m_fma(m, r.hi, r.hi, cross), z = m_mul(m, r.hi, r.hi);
    V c = m_fma(m, z, evaluate(m, cosine_series, z), m_number(m, -0.5));
    V even = m_fma(m, y, c, m_number(m, 1));
    V s = evaluate(m, sine_series, z);
    V odd = m_sub(m, r.hi, m_fma(m, m_mul(m, z, r.hi), s, r.lo));

    V quarters = r.quarters, is_reverse = is_odd(m, quarters);
    V result = m_select(m, is_reverse, cosine ? odd : even, cosine ? even : odd);
    if (cosine)
        quarters = m_add(m, quarters, m_pattern(m, 1));
    int top = m->single ? 31 : 63;
    V sign = m_and(m, m_left(m, quarters, top - 1), m_pattern(m, UINT64_C(1) << top));
    return m_as_float(m, m_xor(m, m_as_pattern(m, result), sign));
}

uint32_t math_sin(Build *build, const BuildInst *inst)
{
    const M m = math_begin(build, inst);
    return circle(&m, inst->args[0], false);
}

uint32_t math_cos(Build *build, const BuildInst *inst)
{
    const M m = math_begin(build, inst);
    return circle(&m, inst->args[0], true);
}

/* tan(r) is r / d and cot(r) is d / r, for d = 1 - r^2 C(r^2), which has few terms. The
 * quotient is corrected by what it, d and r = hi - lo lack: the derivatives 1 / d and
 * 1 + tan^2 are about the factor and its square, and those of -d / r are these times
 * the quotient and its square. */
uint32_t math_tan(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    Reduced r = reduce(m, inst->args[0]);
    /* Near multiples of pi/2, the second part is large. */
    V hi = m_sub(m, r.hi, r.lo), lo = m_add(m, m_sub(m, hi, r.hi), r.lo);
    V z = m_mul(m, r.hi, r.hi), minus_z = m_neg(m, z), one = m_number(m, 1);
    const double *terms = m->single ? cotangent_single : cotangent_double;
    int count = m->single ? M_COUNT(cotangent_single) : M_COUNT(cotangent_double);
    V rest = m_poly(m, z, terms + 1, count - 1);
    V c = m_fma(m, z, rest, m_number(m, terms[0]));
    V d = m_fma(m, minus_z, c, one);
    V d_low = m_fma(m, minus_z, c, m_sub(m, one, d));
    /* What z lacks counts near an eighth of a turn. */
    V lost = m_fma(m, hi, hi, minus_z);
    d_low = m_fma(m, lost, m_number(m, -0.36), d_low);
    V is_reverse = is_odd(m, r.quarters);
    V above = m_select(m, is_reverse, d, hi);
    V below = m_select(m, is_reverse, m_neg(m, hi), d);
    V q = m_div(m, above, below);
    V factor = m_fma(m, z, m_number(m, 0.55), one);
    factor = m_select(m, is_reverse, m_mul(m, q, factor), factor);
    V excess = m_fma(m, q, below, m_neg(m, above));
    excess = m_fma(m, m_fma(m, hi, d_low, lo), factor, excess);
    return m_fma(m, m_neg(m, factor), excess, q); /* the sign of zero is that of q */
}
