/*
 * math_power.c -- power
 *
 * a^b = e^(b log |a|), with the sign of a negative a put in afterwards. As b log |a|
 * goes to 745 (89 in single precision) and its error becomes the relative error of the
 * result, the logarithm is a pair that has 12 bits more than the type.
 */
#include <math.h>

#include "lower/math/math.h"
#include "lower/math/math_build.h"
#include "lower/math/math_exp.h"
#include "lower/math/math_log.h"

/* a^b for positive a. */
typedef struct Power {
    V log; /* b log a, to tell large ones and NaN */
    ExpParts parts;
} Power;

static Power raise(const M *m, LogParts parts, V b)
{
    Pair log = math_log_exact_of_parts(m, parts), x = m_two_product(m, log.hi, b);
    x.lo = m_fma(m, log.lo, b, x.lo);
    return (Power){ x.hi, math_exp_parts(m, x) };
}

/* Signs; results of zeros and infinities; and where there is a result though an operand
 * is NaN or b log |a| is. */
static V correct(const M *m, V a, V b, V result)
{
    V one = m_number(m, 1), zero = m_number(m, 0), infinity = m_number(m, INFINITY);
    V size = m_abs(m, a), half = m_mul(m, b, m_number(m, 0.5));
    V integer = m_eq(m, m_trunc(m, b), b);
    V odd = m_and(m, integer, m_neq(m, m_trunc(m, half), half));

    V nought = m_eq(m, size, zero), infinite = m_eq(m, size, infinity);
    V vanishes = m_xor(m, nought, m_lt(m, b, zero));
    V extreme = m_select(m, vanishes, zero, infinity);
    extreme = m_select(m, m_eq(m, b, b), extreme, b);
    result = m_select(m, m_or(m, nought, infinite), extreme, result);
    result = m_select(m, m_eq(m, a, a), result, a);
    V fraction = m_and(m, m_lt(m, a, zero), m_not(m, m_or(m, integer, infinite)));
    result = m_select(m, fraction, m_number(m, NAN), result);
    result = m_select(m, odd, m_copysign(m, result, a), result);

    V minus_one = m_and(m, m_eq(m, a, m_number(m, -1)),
                        m_eq(m, m_abs(m, b), infinity));
    V is_one = m_or(m, m_or(m, m_eq(m, a, one), m_eq(m, b, zero)), minus_one);
    return m_select(m, is_one, one, result);
}

/* Rare are those a that are not positive, finite, normal numbers, and b log |a| that
 * are large or NaN. All is computed again for them. */
uint32_t math_power(Build *build, const BuildInst *inst)
{
    const M m_ = math_begin(build, inst), *m = &m_;
    V a = inst->args[0], b = inst->args[1];
    Power power = raise(m, math_log_parts_of_normal(m, a), b);
    V result = math_exp_of_normal(m, power.parts);

    V size = m_as_pattern(m, m_abs(m, power.log));
    V large = m_gt(m, size, m_as_pattern(m, m_number(m, m->single ? 86 : 708)));
    V unusual = m_outside(m, a, m->single ? 0x1p-126 : 0x1p-1022, INFINITY);
    V rare = m_or(m, unusual, large);
    uint32_t region = build_if(build, rare);
    power = raise(m, math_log_parts(m, m_abs(m, a)), b);
    V other = math_exp_of(m, power.log, power.parts);
    other = correct(m, a, b, other);
    build_else(build, region, 1, &other);
    build_end(build, region, 1, &result);
    return result;
}
