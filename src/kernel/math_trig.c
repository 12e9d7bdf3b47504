/*
 * math_trig.c -- sin, cos, tan
 *
 * Multiples k of a half or quarter turn are subtracted from the argument, with pi in
 * two or three parts (W. J. Cody, W. Waite, "Software Manual for the Elementary
 * Functions", 1980). Larger arguments go another way, in a conditional: they are
 * integers times a power of two, which is multiplied with just those bits of 2/pi that
 * matter modulo 4 (M. Payne, R. Hanek, "Radian reduction for trigonometric functions",
 * 1983), so the reduction is exact for all.
 *
 * Single precision is computed in double, which needs neither corrections nor (in sin
 * and cos) a choice between polynomials: that of sin reaches over half a turn, and
 *
 *     cos(x) = sin(x - (n + 1/2) pi) (-1)^(n + 1).
 *
 * So little is left that sharing it would not pay. In double precision the reduced
 * argument is a Pair within an eighth of a turn, from which sine and cosine come as
 * Pairs, too; all functions of one argument share it.
 */
#include <math.h>

#include "kernel/math.h"
#include "kernel/math_build.h"
#include "kernel/math_trig_tables.h"



enum {
    WINDOW = 3,  /* words of 2/pi that count for one argument */
    LEAST = -12, /* exponent of the last bit of arguments for which the table begins */
    MOST_WORDS = M_COUNT(turn_words)
};

/* Is it beyond where the parts of pi lead, and a multiple of 2^LEAST? */
static V is_far(const M *m, V x)
{
    return m_gt(m, m_abs(m, x), m_number(m, m->single ? 0x1p17 : 0x1p40));
}

/* Adding this to a float rounds it to an integer, which the last bits are. */
static double round_bias(const M *m)
{
    return m->single ? 0x1.8p23 : 0x1.8p52;
}

static V is_odd(const M *m, V pattern)
{
    return m_neq(m, m_and(m, pattern, m_pattern(m, 1)), m_pattern(m, 0));
}

static V flip(const M *m, V a, V sign)
{
    return m_as_float(m, m_xor(m, m_as_pattern(m, a), sign));
}

/* ------------------------------------------------------------ large arguments */

/* Words j ... j + WINDOW of the table, with j < 2^levels. */
static void find_words(const M *m, V j, int levels, V *word)
{
    int count = m->single ? 1 : 2; /* entries of the table for a word */
    int words = MOST_WORDS / count, wanted = WINDOW + 1;
    if (words > wanted + (1 << levels) - 1)
        words = wanted + (1 << levels) - 1;
    V all[MOST_WORDS];
    for (int i = 0; i < words; ++i) {
        uint64_t bits = 0;
        for (int k = 0; k < count; ++k)
            bits = bits << 32 | (uint64_t) turn_words[i * count + k];
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

/* |x| * 2/pi modulo 4, for |x| = significand * 2^exponent that is_far() */
static Turns multiply_turns(const M *m, V x)
{
    const int width = m->single ? 32 : 64, fraction = m->digits - 1;
    V pattern = m_as_pattern(m, m_abs(m, x));
    uint64_t one = UINT64_C(1) << fraction;
    V number = m_and(m, pattern, m_pattern(m, one - 1));
    number = m_or(m, number, m_pattern(m, one));
    V at = m_sub(m, m_right(m, pattern, fraction),
                 m_pattern(m, (uint64_t) (m->bias + fraction + LEAST)));
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

/* quarters of the sign of x. */
static V signed_quarters(const M *m, V quarters, V x)
{
    V negative = m_lt(m, x, m_number(m, 0));
    return m_select(m, negative, m_sub(m, m_pattern(m, 0), quarters), quarters);
}

/* ----------------------------------------------------------- single precision */

/* Quarters as a pattern, and the rest in double precision; NaN for infinite x. */
static V reduce_far_single(const M *m, V x, V *quarters)
{
    const M d_ = math_in_double(m), *d = &d_;
    Turns turns = multiply_turns(m, x);
    *quarters = signed_quarters(m, turns.quarters, x);
    V high = m_left(d, build_cast(m->build, d->bits, turns.high), 32);
    V whole = m_or(d, high, build_cast(m->build, d->bits, turns.low));
    V wide = m_to_float(d, x);
    V unit = m_copysign(d, m_number(d, pi_double[0] * 0x1p-63), wide);
    V rest = m_mul(d, m_to_float(d, build_bitcast(m->build, d->whole, whole)), unit);
    return m_add(d, rest, m_sub(d, wide, wide));
}

/* x - k * period, whose digits are those of pi. */
static V subtract_periods(const M *d, V x, V k, double period)
{
    V rest = m_fma(d, k, m_number(d, -pi_double[0] * period), x);
    return m_fma(d, k, m_number(d, -pi_double[1] * period), rest);
}

/* sin(x), or cos(x) if 'cosine', which is made even, as rounding to n + 1/2 is not
 * symmetric. */
static V circle_single(const M *m, V x, bool cosine)
{
    if (cosine)
        x = m_abs(m, x);
    const M d_ = math_in_double(m), *d = &d_;
    V bias = m_number(m, round_bias(m) + cosine), inverse = m_number(m, M_1_PI);
    V n = cosine ? m_add(m, m_fma(m, x, inverse, m_number(m, -0.5)), bias)
                 : m_fma(m, x, inverse, bias);
    V k = m_sub(m, n, bias);
    if (cosine)
        k = m_add(m, k, m_number(m, 0.5));
    V near = subtract_periods(d, m_to_float(d, x), m_to_float(d, k), 1);

    uint32_t region = build_if(m->build, is_far(m, x));
    V quarters;
    V rest = reduce_far_single(m, x, &quarters);
    if (cosine)
        quarters = m_add(m, quarters, m_pattern(m, 1));
    /* The nearest half turn is an odd quarter further away from 0. */
    V quarter = m_select(m, is_odd(m, quarters), m_number(d, M_PI_2), m_number(d, 0));
    V up = m_select(m, m_gt(d, rest, m_number(d, 0)), m_pattern(m, 1), m_pattern(m, 0));
    rest = m_sub(d, rest, m_copysign(d, quarter, rest));
    /* Half turns change the sign. So will n, which is no number of turns here. */
    V halves = m_right(m, m_add(m, quarters, up), 1);
    halves = build_cast(m->build, d->bits, m_xor(m, halves, m_as_pattern(m, n)));
    V far[] = { flip(d, rest, m_left(d, halves, 63)) };
    build_else(m->build, region, 1, far);
    V r[] = { near };
    build_end(m->build, region, 1, r);

    V z = m_mul(d, r[0], r[0]);
    V sine = m_mul(d, r[0], m_horner(d, z, sine_half_turn, M_COUNT(sine_half_turn)));
    return flip(m, m_to_float(m, sine), m_left(m, m_as_pattern(m, n), 31));
}

static V tangent_single(const M *m, V x)
{
    const M d_ = math_in_double(m), *d = &d_;
    V bias = m_number(m, round_bias(m));
    V n = m_fma(m, x, m_number(m, M_2_PI), bias);
    V k = m_sub(m, n, bias);
    V near = subtract_periods(d, m_to_float(d, x), m_to_float(d, k), 0.5);

    uint32_t region = build_if(m->build, is_far(m, x));
    V far[2];
    far[1] = reduce_far_single(m, x, &far[0]);
    build_else(m->build, region, 2, far);
    V r[] = { m_as_pattern(m, n), near };
    build_end(m->build, region, 2, r);

    V z = m_mul(d, r[1], r[1]);
    V above = m_horner(d, z, tangent_above, M_COUNT(tangent_above));
    V below = m_horner(d, z, tangent_below, M_COUNT(tangent_below));
    above = m_mul(d, r[1], above);
    below = m_fma(d, z, below, m_number(d, 1));
    V odd = is_odd(m, r[0]);
    V quotient[] = { m_select(m, odd, below, above), m_select(m, odd, above, below) };
    V tangent = m_div(d, quotient[0], quotient[1]);
    return flip(m, m_to_float(m, tangent), m_left(m, r[0], 31));
}

/* ----------------------------------------------------------- double precision */

/* x = quarters * pi/2 + rest, with quarters as a pattern, modulo 4. */
typedef struct Reduced {
    V quarters;
    Pair rest;
} Reduced;

/* The sign is that of x; infinities give NaN. */
static Reduced reduce_far(const M *m, V x)
{
    enum { CUT = 20, HALF = 32, QUARTER = 62 };
    Turns turns = multiply_turns(m, x);
    /* The fraction in three parts that floats hold exactly; the first has the sign. */
    V cut = m_and(m, turns.high, m_pattern(m, (1u << CUT) - 1));
    V part[3] = {
        m_right(m, build_bitcast(m->build, m->whole, turns.high), CUT),
        m_or(m, m_left(m, cut, HALF), m_right(m, turns.low, HALF)),
        m_and(m, turns.low, m_pattern(m, UINT32_MAX)),
    };
    static const int weight[3] = { CUT - QUARTER, -QUARTER - HALF,
                                   -QUARTER - 2 * HALF };
    for (int i = 0; i < 3; ++i) {
        part[i] = m_to_float(m, build_bitcast(m->build, m->whole, part[i]));
        part[i] = m_mul(m, part[i], m_number(m, ldexp(1, weight[i])));
    }
    Pair turn = m_fast_two_sum(m, part[0], part[1]);
    turn = m_fast_two_sum(m, turn.hi, m_add(m, turn.lo, part[2]));
    Pair quarter = m_pair(m, pi_double[0] / 2, pi_double[1] / 2);
    Pair rest = m_pair_mul_pair(m, turn, quarter);
    V sign = m_copysign(m, m_number(m, 1), x), nan = m_sub(m, x, x);
    return (Reduced){ signed_quarters(m, turns.quarters, x),
                      { m_fma(m, rest.hi, sign, nan), m_mul(m, rest.lo, sign) } };
}

/* 2/pi x is rounded by adding a number so large that its last bit is worth 1. The first
 * fused operation is exact, as x and k pi/2 are multiples of the last bit of pi/2 (or
 * k = 0) and the difference is below 1. So is the sum of 'first' and 'second', though
 * it may be 'first' that is smaller: it is a multiple of the other's last bit. */
static Reduced reduce_near(const M *m, V x)
{
    V bias = m_number(m, round_bias(m));
    V n = m_fma(m, x, m_number(m, M_2_PI), bias);
    V k = m_sub(m, n, bias);
    V first = m_fma(m, k, m_number(m, -pi_double[0] / 2), x);
    V second = m_mul(m, k, m_number(m, -pi_double[1] / 2));
    V lost = m_fma(m, k, m_number(m, pi_double[1] / 2), second);
    Pair rest = m_fast_two_sum(m, first, second);
    rest.lo = m_sub(m, rest.lo, lost);
    rest.lo = m_fma(m, k, m_number(m, -pi_double[2] / 2), rest.lo);
    return (Reduced){ m_as_pattern(m, n), rest };
}

static Reduced reduce(const M *m, V x)
{
    static const char maker;
    BuildShared *shared = build_shared(m->build, &maker, x);
    if (!shared->maker) {
        Reduced near = reduce_near(m, x);
        uint32_t region = build_if(m->build, is_far(m, x));
        Reduced far = reduce_far(m, x);
        V parts[] = { far.quarters, far.rest.hi, far.rest.lo };
        build_else(m->build, region, M_COUNT(parts), parts);
        V r[] = { near.quarters, near.rest.hi, near.rest.lo };
        build_end(m->build, region, M_COUNT(r), r);
        shared->maker = &maker;
        for (int i = 0; i < M_COUNT(r); ++i)
            shared->part[i] = r[i];
    }
    return (Reduced){ shared->part[0], { shared->part[1], shared->part[2] } };
}

typedef struct Circle {
    Pair sine, cosine; /* not normalised: |lo| < 0.11 |hi| */
} Circle;

/* sin(hi + lo) = hi + hi z S(z) + lo (1 - z / 2), cos(hi + lo) = 1 - z / 2 + z^2 C(z)
 * - hi lo, for z = hi^2. */
static Circle make_circle(const M *m, Pair r)
{
    V one = m_number(m, 1), z = m_mul(m, r.hi, r.hi), minus = m_neg(m, r.hi);
    V half = m_mul(m, minus, m_number(m, 0.5));
    V base = m_fma(m, r.hi, half, one);
    V lost = m_fma(m, r.hi, half, m_sub(m, one, base));
    V s = m_poly(m, z, sine_rest, M_COUNT(sine_rest));
    V c = m_poly(m, z, cosine_rest, M_COUNT(cosine_rest));
    V sine = m_fma(m, r.hi, m_mul(m, z, s), m_mul(m, r.lo, base));
    V cosine = m_fma(m, m_mul(m, z, z), c, m_fma(m, minus, r.lo, lost));
    return (Circle){ { r.hi, sine }, { base, cosine } };
}

/* sin(x), or cos(x) = sin(x + a quarter turn) if 'cosine'. */
static V circle_double(const M *m, V x, bool cosine)
{
    Reduced r = reduce(m, x);
    Circle both = make_circle(m, r.rest);
    V quarters = r.quarters;
    if (cosine)
        quarters = m_add(m, quarters, m_pattern(m, 1));
    V odd = is_odd(m, quarters);
    V sign = m_and(m, m_left(m, quarters, 62),
                 m_pattern(m, UINT64_C(1) << 63));
    Pair one = m_pair_select(m, odd, both.cosine, both.sine);
    V result = flip(m, m_pair_sum(m, one), sign);
    return cosine ? result : m_select(m, m_eq(m, x, m_number(m, 0)), x, result);
}

/* The quotient is corrected by what it lacks. */
static V tangent_double(const M *m, V x)
{
    Reduced r = reduce(m, x);
    Circle both = make_circle(m, r.rest);
    Pair sine = m_fast_two_sum(m, both.sine.hi, both.sine.lo);
    Pair cosine = m_fast_two_sum(m, both.cosine.hi, both.cosine.lo);
    V odd = is_odd(m, r.quarters);
    V sign = m_left(m, r.quarters, 63);
    Pair above = m_pair_select(m, odd, cosine, sine);
    Pair below = m_pair_select(m, odd, sine, cosine);

    V inverse = m_div(m, m_number(m, 1), below.hi);
    V quotient = m_mul(m, above.hi, inverse), minus = m_neg(m, quotient);
    V rest = m_fma(m, minus, below.hi, above.hi);
    rest = m_fma(m, minus, below.lo, m_add(m, rest, above.lo));
    V tangent = flip(m, m_fma(m, rest, inverse, quotient), sign);
    return m_select(m, m_eq(m, x, m_number(m, 0)), x, tangent);
}

/* ------------------------------------------------------------------- functions */

uint32_t math_sin(Build *build, const Step *step)
{
    const M m_ = math_begin(build, step), *m = &m_;
    V x = step->args[0];
    return m->single ? circle_single(m, x, false) : circle_double(m, x, false);
}

uint32_t math_cos(Build *build, const Step *step)
{
    const M m_ = math_begin(build, step), *m = &m_;
    V x = step->args[0];
    return m->single ? circle_single(m, x, true) : circle_double(m, x, true);
}

uint32_t math_tan(Build *build, const Step *step)
{
    const M m_ = math_begin(build, step), *m = &m_;
    V x = step->args[0];
    return m->single ? tangent_single(m, x) : tangent_double(m, x);
}
