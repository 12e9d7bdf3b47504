/*
 * math.h -- the rules of math.def
 *
 * Each gives results within 1 ulp for every argument of Float32 and Float64, with the
 * special values of Annex F of the C standard. docs/accuracy.md has the measured
 * errors, docs/dev/adding-a-function.md says how they are written and tested.
 */
#ifndef LOWER_MATH_MATH_H
#define LOWER_MATH_MATH_H

#include "lower/legalise_rules.h"

#define MATH(name, function, ...) \
    uint32_t function(Build *build, const BuildInst *inst);
#include "lower/math/math.def"
#undef MATH

#endif
