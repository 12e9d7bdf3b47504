/*
 * special_functions.h -- exp, sin and their kin of complex numbers and quaternions
 */
#ifndef PYTHON_SPECIAL_FUNCTIONS_H
#define PYTHON_SPECIAL_FUNCTIONS_H

#include "python/ops/apply.h"
#include "python/ops/calc.h"

/** Is 'which' such a function? */
bool special_functions_has(Apply which);
/** Its value for a complex number (n = 2) or a quaternion (n = 4, real part last). */
void special_functions_step(Calc *c, int n, Apply which, const Value *a, Value *out);

#endif
