/*
 * math_exp.h -- exponentials of pairs, for other functions
 */
#ifndef LOWER_MATH_MATH_EXP_H
#define LOWER_MATH_MATH_EXP_H

#include "lower/math/math_build.h"

/** 2^(k + i / n) (1 + rest): see math_exp.c. */
typedef struct ExpParts {
    V exponent; /* n k + i, with k at the place of an exponent */
    V root;     /* 2^(i / n), in bits that the exponent is added to */
    V rest;
} ExpParts;

/** e^x, for |x.hi| < 1400 (Float64) or 180 (Float32) and |x.lo| < 0.01. NaN gives NaN,
 *  others give rubbish, without harm. */
ExpParts math_exp_parts(const M *m, Pair x);
/** Its value with an error of 0.6 ulp, if it is a normal number. */
V math_exp_of_normal(const M *m, ExpParts parts);
/** The same for any x: normal numbers, subnormal ones (which are rounded twice), 0,
 *  infinity, NaN. */
V math_exp_of(const M *m, V x, ExpParts parts);

#endif
