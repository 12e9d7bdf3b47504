/*
 * math_build.h -- the vocabulary in which functions are written
 *
 * build.h with short names, for one precision at a time: a fragment of math_<subject>.c
 * reads like the formula it stands for. A V is a position of the Program, as in
 * build.h: a failure gives PROGRAM_NONE, which every word passes on, so fragments check
 * nothing.
 *
 *     V k = m_round(m, m_mul(m, x, m_number(m, 1 / LN2)));
 *     V r = m_fma(m, k, m_number(m, -LN2), x);
 *
 * Nothing here rounds more often than it says; fused operations are fused only where
 * m_fma() is written. Literals are folded by nobody, so a fragment does not compute
 * with two of them.
 *
 * A Pair is an unevaluated sum of two values, |lo| <= ulp(hi) / 2, with about twice the
 * precision. Source of its algorithms: Dekker 1971; Knuth, TAOCP 2, 4.2.2; Joldes,
 * Muller, Popescu, "Tight and rigorous error bounds for basic building blocks of
 * double-word arithmetic", 2017.
 */
#ifndef LOWER_MATH_MATH_BUILD_H
#define LOWER_MATH_MATH_BUILD_H

#include "lower/build.h"

typedef uint32_t V;

typedef struct Pair {
    V hi, lo;
} Pair;

/** The precision that a fragment writes for. */
typedef struct M {
    Build *build;
    VarType type;  /* Float32 or Float64 */
    VarType bits;  /* UInt32 or UInt64 */
    VarType whole; /* Int32 or Int64 */
    bool single;   /* Float32? */
    int digits;    /* of the significand: 24 or 53 */
    int bias;      /* of the exponent: 127 or 1023 */
} M;

M math_begin(Build *build, const BuildInst *inst);
/** The same for Float64, in which some functions compute single results. */
M math_in_double(const M *m);

/* ---- literals */

/** A number, rounded to the type. */
V m_number(const M *m, double value);
/** An Int32 or Int64. */
V m_integer(const M *m, int64_t value);
/** A UInt32 or UInt64. */
V m_pattern(const M *m, uint64_t bits);

/* ---- arithmetic: floats, integers, patterns and (and, or, xor, not) masks */

static inline V m_neg(const M *m, V a) { return build_1(m->build, OP_NEG, a); }
static inline V m_abs(const M *m, V a) { return build_1(m->build, OP_ABS, a); }
static inline V m_sqrt(const M *m, V a) { return build_1(m->build, OP_SQRT, a); }
static inline V m_round(const M *m, V a) { return build_1(m->build, OP_ROUND, a); }
static inline V m_trunc(const M *m, V a) { return build_1(m->build, OP_TRUNC, a); }
static inline V m_not(const M *m, V a) { return build_1(m->build, OP_NOT, a); }
static inline V m_add(const M *m, V a, V b) { return build_2(m->build, OP_ADD, a, b); }
static inline V m_sub(const M *m, V a, V b) { return build_2(m->build, OP_SUB, a, b); }
static inline V m_mul(const M *m, V a, V b) { return build_2(m->build, OP_MUL, a, b); }
static inline V m_div(const M *m, V a, V b) { return build_2(m->build, OP_DIV, a, b); }
static inline V m_min(const M *m, V a, V b) { return build_2(m->build, OP_MIN, a, b); }
static inline V m_max(const M *m, V a, V b) { return build_2(m->build, OP_MAX, a, b); }
static inline V m_and(const M *m, V a, V b) { return build_2(m->build, OP_AND, a, b); }
static inline V m_or(const M *m, V a, V b) { return build_2(m->build, OP_OR, a, b); }
static inline V m_xor(const M *m, V a, V b) { return build_2(m->build, OP_XOR, a, b); }
static inline V m_eq(const M *m, V a, V b) { return build_2(m->build, OP_EQ, a, b); }
static inline V m_neq(const M *m, V a, V b) { return build_2(m->build, OP_NEQ, a, b); }
static inline V m_lt(const M *m, V a, V b) { return build_2(m->build, OP_LT, a, b); }
static inline V m_le(const M *m, V a, V b) { return build_2(m->build, OP_LE, a, b); }
static inline V m_gt(const M *m, V a, V b) { return build_2(m->build, OP_GT, a, b); }
static inline V m_ge(const M *m, V a, V b) { return build_2(m->build, OP_GE, a, b); }
/** |a| with the sign of b. */
static inline V m_copysign(const M *m, V a, V b)
{
    return build_2(m->build, OP_COPYSIGN, a, b);
}
/** a * b + c, rounded once. */
V m_fma(const M *m, V a, V b, V c);
static inline V m_select(const M *m, V mask, V a, V b)
{
    return build_select(m->build, mask, a, b);
}
/** Shifts of integers and patterns by a fixed count; 'right' fills integers with their
 *  sign. */
V m_left(const M *m, V a, int count);
V m_right(const M *m, V a, int count);

/** Is x not among the numbers from 'least' (positive) to below 'end', which may be
 *  infinite? True for NaN; one comparison. */
V m_outside(const M *m, V x, double least, double end);

/* ---- conversions */

/** The bits of a float as a pattern or an integer, and back. */
static inline V m_as_pattern(const M *m, V a)
{
    return build_bitcast(m->build, m->bits, a);
}
static inline V m_as_integer(const M *m, V a)
{
    return build_bitcast(m->build, m->whole, a);
}
static inline V m_as_float(const M *m, V a)
{
    return build_bitcast(m->build, m->type, a);
}
/** An integer to a float (rounds). */
static inline V m_to_float(const M *m, V a)
{
    return build_cast(m->build, m->type, a);
}

/* ---- parts that many functions share */

/** The number of entries of an array, as the polynomials want it. */
#define M_COUNT(array) ((int) (sizeof(array) / sizeof *(array)))
/** An array and that number, as two arguments. */
#define M_ARRAY(array) (array), M_COUNT(array)

/** c[0] + c[1] x + ... + c[n - 1] x^(n - 1) with n >= 1. Even and odd terms are summed
 *  apart (Estrin) from 'n' = 6 on: more operations can be under way at once for one
 *  more multiplication; from 18 on there are four sums. Coefficients are exact in the
 *  type. */
V m_poly(const M *m, V x, const double *c, int n);
/** The same with the fewest operations one after the other (Estrin): neighbours are
 *  joined, then pairs, and so on; n <= 8. */
V m_estrin(const M *m, V x, const double *c, int n);
/** The same from the highest coefficient down (Horner): its last steps lose nothing if
 *  |x| is small. */
V m_horner(const M *m, V x, const double *c, int n);
/** values[index mod n], rounded to the type; 'index' is a pattern, n a power of two
 *  from 2 to 32. */
V m_lookup(const M *m, V index, const double *values, int n);
/** a * 2^k with one rounding, for 1/4 <= |a| <= 4 and an integer |k| <= 2 * bias; also
 *  for a = 0, infinity, NaN. */
V m_scale(const M *m, V a, V k);
/** 1 / (2 sqrt(x)) within 4 percent for positive, finite, normal x, as factor of what a
 *  rounded root lacks; some number for other x. */
V m_rough_root(const M *m, V x);

/* ---- pairs */

/** a + b exactly. */
Pair m_two_sum(const M *m, V a, V b);
/** The same where |a| >= |b| or a = 0. */
Pair m_fast_two_sum(const M *m, V a, V b);
/** a * b exactly (if nothing underflows). */
Pair m_two_product(const M *m, V a, V b);
/** A number with twice the precision: hi + lo. */
Pair m_pair(const M *m, double hi, double lo);
Pair m_pair_neg(const M *m, Pair a);
Pair m_pair_select(const M *m, V mask, Pair a, Pair b);
/** The product, with a relative error of 5u^2, u = 2^-digits. */
Pair m_pair_mul_pair(const M *m, Pair a, Pair b);
/** The sum, with an error of 2u^2 times the larger one. */
Pair m_pair_add(const M *m, Pair a, Pair b);
/** A polynomial whose first coefficients, 'pairs' of them, are pairs with the second
 *  parts in low[]; the sums that these make are pairs, too. Each is larger than what is
 *  added to it. */
Pair m_poly_pair(const M *m, Pair x, const double *c, int n, const double *low,
                 int pairs);
/** hi + lo */
static inline V m_pair_sum(const M *m, Pair a) { return m_add(m, a.hi, a.lo); }

#endif
