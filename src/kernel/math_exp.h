/*
 * math_exp.h -- exponentials of pairs, for other functions
 */
#ifndef KERNEL_MATH_EXP_H
#define KERNEL_MATH_EXP_H

#include "kernel/math_build.h"

/** e^x = result * 2^k for |x.hi| < 1400 (Float64) or 180 (Float32): gives the result,
 *  in 0.7 ... 1.42 with an error of 0.6 ulp, and an integer that the functions below
 *  take for k: its low bits. NaN gives NaN, others give rubbish, without harm. */
V math_exp_rounded(const M *m, Pair x, V *k);
/** e^x of this fraction and k, if it is a normal number. */
V math_exp_scale_normal(const M *m, V fraction, V k);
/** The same for any x: normal numbers, subnormal ones (which are rounded twice), 0,
 *  infinity, NaN. */
V math_exp_scale(const M *m, V x, V fraction, V k);

#endif
