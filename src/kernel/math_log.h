/*
 * math_log.h -- logarithms as pairs, for other functions
 */
#ifndef KERNEL_MATH_LOG_H
#define KERNEL_MATH_LOG_H

#include "kernel/math_build.h"

/** x = 2^k (1 + f), with 1 + f between sqrt(1/2) and sqrt(2) (Float32: 11/16 and 11/8),
 *  for positive finite x; both are floats. For other x they are numbers without
 *  meaning. */
typedef struct LogParts {
    V k, f;
} LogParts;

LogParts math_log_parts(const M *m, V x);
/** The same for x that are not subnormal. */
LogParts math_log_parts_of_normal(const M *m, V x);

/** log of 2^k (1 + f) with a relative error of about 2^-(digits + 5). Costs a
 *  division. */
Pair math_log_pair_of_parts(const M *m, LogParts parts);
/** log(x.hi + x.lo) with an error of about 2^-(digits + 12), for what is multiplied by
 *  large numbers: of normalised pairs that are positive, finite and not subnormal.
 *  Others give rubbish, without harm. Nothing is spent on x.lo if it is a literal. */
Pair math_log_exact(const M *m, Pair x);
/** The same of 2^k (1 + f), with |lo| a little more than ulp(hi). */
Pair math_log_exact_of_parts(const M *m, LogParts parts);

#endif
