/*
 * math_build.c -- see math_build.h
 */
#include "lower/math/math_build.h"

#include <math.h>
#include <string.h>

M math_begin(Build *build, const BuildInst *inst)
{
    bool single = inst->operand == VarTypeFloat32;
    return (M){ .build = build,
                .type = inst->operand,
                .bits = single ? VarTypeUInt32 : VarTypeUInt64,
                .whole = single ? VarTypeInt32 : VarTypeInt64,
                .single = single,
                .digits = single ? 24 : 53,
                .bias = single ? 127 : 1023 };
}

M math_in_double(const M *m)
{
    return math_begin(m->build, &(BuildInst){ .operand = VarTypeFloat64 });
}

/* ---- literals */

V m_number(const M *m, double value)
{
    return build_number(m->build, m->type, value);
}

V m_integer(const M *m, int64_t value)
{
    return build_bits(m->build, m->whole, (uint64_t) value);
}

V m_pattern(const M *m, uint64_t bits)
{
    return build_bits(m->build, m->bits, bits);
}

/* ---- arithmetic */

V m_fma(const M *m, V a, V b, V c)
{
    VarType type = build_type(m->build, a);
    return build_emit(m->build, &(BuildInst){ .op = OP_FMA,
                                              .type = type,
                                              .operand = type,
                                              .count = 3,
                                              .args = (uint32_t[]){ a, b, c } });
}

static V shift(const M *m, Op op, V a, int count)
{
    if (a == PROGRAM_NONE)
        return PROGRAM_NONE;
    return build_2(m->build, op, a,
                   build_bits(m->build, build_type(m->build, a), (uint64_t) count));
}

V m_left(const M *m, V a, int count) { return shift(m, OP_SHL, a, count); }
V m_right(const M *m, V a, int count) { return shift(m, OP_SHR, a, count); }

/* The bits of a type that a float with this value has. */
static uint64_t bits_of(const M *m, double value)
{
    uint64_t bits = 0;
    if (m->single)
        memcpy(&bits, &(float){ (float) value }, sizeof(float));
    else
        memcpy(&bits, &value, sizeof value);
    return bits;
}

/* Floats count up like their bits; all others wrap around and are above. */
V m_outside(const M *m, V x, double least, double end)
{
    uint64_t first = bits_of(m, least);
    V above = m_sub(m, m_as_pattern(m, x), m_pattern(m, first));
    return m_ge(m, above, m_pattern(m, bits_of(m, end) - first));
}

/* ---- parts that many functions share */

V m_horner(const M *m, V x, const double *c, int n)
{
    V sum = m_number(m, c[n - 1]);
    for (int i = n - 2; i >= 0; --i)
        sum = m_fma(m, sum, x, m_number(m, c[i]));
    return sum;
}

static V four_sums(const M *m, V x, const double *c, int n)
{
    enum { SUMS = 4 };
    V square = m_mul(m, x, x), fourth = m_mul(m, square, square), part[SUMS];
    for (int k = 0; k < SUMS; ++k) {
        int last = (n - 1 - k) / SUMS * SUMS + k;
        part[k] = m_number(m, c[last]);
        for (int i = last - SUMS; i >= 0; i -= SUMS)
            part[k] = m_fma(m, part[k], fourth, m_number(m, c[i]));
    }
    V low = m_fma(m, part[1], x, part[0]), high = m_fma(m, part[3], x, part[2]);
    return m_fma(m, high, square, low);
}

V m_poly(const M *m, V x, const double *c, int n)
{
    enum { PAYS = 6, LONG = 18 };
    if (n < PAYS)
        return m_horner(m, x, c, n);
    if (n >= LONG)
        return four_sums(m, x, c, n);
    V square = m_mul(m, x, x);
    V part[2];
    for (int odd = 0; odd < 2; ++odd) {
        int last = (n - 1 - odd) / 2 * 2 + odd;
        part[odd] = m_number(m, c[last]);
        for (int i = last - 2; i >= 0; i -= 2)
            part[odd] = m_fma(m, part[odd], square, m_number(m, c[i]));
    }
    return m_fma(m, part[1], x, part[0]);
}

/* 2^k as a float, for -bias < k <= bias. */
static V power_of_two(const M *m, V k)
{
    V exponent = m_add(m, k, m_integer(m, m->bias));
    return m_as_float(m, m_left(m, exponent, m->digits - 1));
}

V m_scale(const M *m, V a, V k)
{
    V half = m_right(m, k, 1);
    V once = m_mul(m, a, power_of_two(m, half));
    return m_mul(m, once, power_of_two(m, m_sub(m, k, half)));
}

V m_estrin(const M *m, V x, const double *c, int n)
{
    enum { MOST = 8 };
    V part[MOST];
    for (int i = 0; i < n; ++i)
        part[i] = m_number(m, c[i]);
    for (V power = x; n > 1; n = (n + 1) / 2) {
        for (int i = 0; i + 1 < n; i += 2)
            part[i / 2] = m_fma(m, part[i + 1], power, part[i]);
        if (n % 2)
            part[n / 2] = part[n - 1];
        if (n > 2)
            power = m_mul(m, power, power);
    }
    return part[0];
}

V m_lookup(const M *m, V index, const double *values, int n)
{
    V args[1 + INST_LOOKUP_MOST] = { index };
    for (int i = 0; i < n; ++i)
        args[1 + i] = m_number(m, values[i]);
    return build_emit(m->build, &(BuildInst){ .op = OP_LOOKUP,
                                              .type = m->type,
                                              .operand = m->type,
                                              .count = (uint32_t) n + 1,
                                              .args = args });
}

/* Half the exponent with the opposite sign, the logarithm of the significand taken as a
 * straight line. */
V m_rough_root(const M *m, V x)
{
    V guess = m_pattern(m, m->single ? 0x5eb759df : 0x5fd6eb50c7b537a9);
    return m_as_float(m, m_sub(m, guess, m_right(m, m_as_pattern(m, x), 1)));
}

/* ---- pairs */

Pair m_two_sum(const M *m, V a, V b)
{
    V sum = m_add(m, a, b);
    V b_part = m_sub(m, sum, a);
    V a_part = m_sub(m, sum, b_part);
    return (Pair){ sum, m_add(m, m_sub(m, a, a_part), m_sub(m, b, b_part)) };
}

Pair m_fast_two_sum(const M *m, V a, V b)
{
    V sum = m_add(m, a, b);
    return (Pair){ sum, m_sub(m, b, m_sub(m, sum, a)) };
}

Pair m_two_product(const M *m, V a, V b)
{
    V product = m_mul(m, a, b);
    return (Pair){ product, m_fma(m, a, b, m_neg(m, product)) };
}

Pair m_pair(const M *m, double hi, double lo)
{
    return (Pair){ m_number(m, hi), m_number(m, lo) };
}

Pair m_pair_neg(const M *m, Pair a)
{
    return (Pair){ m_neg(m, a.hi), m_neg(m, a.lo) };
}

Pair m_pair_select(const M *m, V mask, Pair a, Pair b)
{
    return (Pair){ m_select(m, mask, a.hi, b.hi), m_select(m, mask, a.lo, b.lo) };
}

Pair m_pair_mul_pair(const M *m, Pair a, Pair b)
{
    Pair product = m_two_product(m, a.hi, b.hi);
    V cross = m_fma(m, a.lo, b.hi, m_mul(m, a.hi, b.lo));
    return m_fast_two_sum(m, product.hi, m_add(m, product.lo, cross));
}

Pair m_pair_add(const M *m, Pair a, Pair b)
{
    Pair sum = m_two_sum(m, a.hi, b.hi);
    return m_fast_two_sum(m, sum.hi, m_add(m, sum.lo, m_add(m, a.lo, b.lo)));
}

Pair m_poly_pair(const M *m, Pair x, const double *c, int n, const double *low,
                 int pairs)
{
    int k = pairs - 1;
    V rest = m_poly(m, x.hi, c + pairs, n - pairs);
    Pair sum = m_fast_two_sum(m, m_number(m, c[k]), m_mul(m, x.hi, rest));
    sum.lo = m_add(m, sum.lo, m_number(m, low[k]));
    while (--k >= 0) {
        Pair product = m_two_product(m, x.hi, sum.hi);
        product.lo = m_fma(m, x.hi, sum.lo, product.lo);
        product.lo = m_fma(m, x.lo, sum.hi, product.lo);
        sum = m_fast_two_sum(m, m_number(m, c[k]), product.hi);
        sum.lo = m_add(m, sum.lo, m_add(m, product.lo, m_number(m, low[k])));
    }
    return sum;
}
