/*
 * math_log.h -- parts of logarithms, for other functions
 */
#ifndef LOWER_MATH_MATH_LOG_H
#define LOWER_MATH_MATH_LOG_H

#include "lower/math/math_build.h"

/** log x = start + log(1 + r) with |r| < 0.034 (Float32: 0.067), for positive finite
 *  x; for other x these are numbers without meaning. r is exact, and the start is 0
 *  where x is near 1. start.hi is a multiple of 2^-43 (Float32: 2^-17), as may be added
 *  to it without an error, and m_fast_two_sum() is right for its sum with r. */
typedef struct LogParts {
    Pair start;
    V r;
} LogParts;

LogParts math_log_parts(const M *m, V x);
/** The same for x that are not subnormal. */
LogParts math_log_parts_of_normal(const M *m, V x);

/** start + log(1 + r) - r, with an error below 2^-digits / 16, relative to log x. */
V math_log_tail(const M *m, LogParts parts, V start);
/** log(2^more x), where 'more' is an integer in the place of an exponent or
 *  PROGRAM_NONE: of pairs as math_log_exact() takes them. Near 1, x = 1 + w may have
 *  lost digits that w has. */
V math_log_of_sum(const M *m, Pair x, Pair w, V more);
/** log x with an error of about 2^-(digits + 12), for what is multiplied by large
 *  numbers. Not normalised: |lo| < 2^-13 |hi|. */
Pair math_log_exact_of_parts(const M *m, LogParts parts);
/** log(x.hi + x.lo), normalised, for normalised pairs that are positive, less than
 *  2^1000 and not subnormal. Others give rubbish, without harm. */
Pair math_log_exact(const M *m, Pair x);
/** log x as the sum of MATH_LOG_FINE numbers, with an error of about 2^-110, for normal
 *  numbers of Float64. */
enum { MATH_LOG_FINE = 6 };
void math_log_fine(const M *m, V x, V *sum);

#endif
