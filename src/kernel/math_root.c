/*
 * math_root.c -- hypot
 */
#include <math.h>

#include "kernel/math.h"
#include "kernel/math_build.h"

/* With squares as pairs, the sum is known to about 2 digits^2, and one step of Newton's
 * method on its rounded root leaves an error of little more than half an ulp. If the
 * larger square or its rounding error leaves the range of the type, which is rare, both
 * operands are scaled by a power of two. */
uint32_t math_hypot(Build *build, const Step *step)
{
    const M m_ = math_begin(build, step), *m = &m_;
    V a = m_abs(m, step->args[0]), b = m_abs(m, step->args[1]);
    V larger = m_max(m, a, b), smaller = m_min(m, a, b);
    double limit = m->single ? 0x1p60 : 0x1p500, factor = m->single ? 0x1p-80 : 0x1p-600;

    V rare = m_or(m, m_gt(m, larger, m_number(m, limit)),
                  m_lt(m, larger, m_number(m, 1 / limit)));
    uint32_t region = build_if(build, rare);
    V big = m_gt(m, larger, m_number(m, 1));
    V down = m_select(m, big, m_number(m, factor), m_number(m, 1 / factor));
    V up = m_select(m, big, m_number(m, 1 / factor), m_number(m, factor));
    V scaled[] = { m_mul(m, larger, down), m_mul(m, smaller, down), up };
    build_else(build, region, 3, scaled);
    V plain[] = { larger, smaller, m_number(m, 1) };
    build_end(build, region, 3, plain);

    Pair x = m_two_product(m, plain[0], plain[0]);
    Pair y = m_two_product(m, plain[1], plain[1]);
    Pair sum = m_fast_two_sum(m, x.hi, y.hi);
    V root = m_sqrt(m, sum.hi);
    V rest = m_fma(m, m_neg(m, root), root, sum.hi);
    rest = m_add(m, rest, m_add(m, sum.lo, m_add(m, x.lo, y.lo)));
    V step_to = m_div(m, rest, m_add(m, root, root));
    V result = m_mul(m, m_add(m, root, step_to), plain[2]);

    V zero = m_eq(m, larger, m_number(m, 0)), infinity = m_number(m, INFINITY);
    result = m_select(m, zero, larger, result);
    V infinite = m_or(m, m_eq(m, a, infinity), m_eq(m, b, infinity));
    V nan = m_add(m, a, b);
    result = m_select(m, m_neq(m, nan, nan), nan, result);
    return m_select(m, infinite, infinity, result);
}
