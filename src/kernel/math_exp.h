/*
 * math_exp.h -- exponentials of pairs, for other functions
 */
#ifndef KERNEL_MATH_EXP_H
#define KERNEL_MATH_EXP_H

#include "kernel/math_build.h"

/** e^x = result * 2^k for |x.hi| < 1400 (Float64) or 180 (Float32): gives the result,
 *  in 0.7 ... 1.42 with an error of 0.6 ulp, and the integer k. The caller scales, with
 *  math_exp_scale(), m_scale() or m_power_of_two(). NaN gives NaN, others give rubbish,
 *  without harm. */
V math_exp_rounded(const M *m, Pair x, V *k);
/** e^x for any x, of this fraction and k: normal numbers, subnormal ones (which are
 *  rounded twice), 0, infinity, NaN. */
V math_exp_scale(const M *m, V x, V fraction, V k);

#endif
