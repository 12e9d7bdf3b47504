/*
 * special.h -- the arithmetic of complex numbers, quaternions and matrices
 */
#ifndef PYTHON_SPECIAL_H
#define PYTHON_SPECIAL_H

#include "python/ops/apply.h"

/** Does 'which' mean something else than "each component" for this kind? */
bool special_has(Kind kind, Apply which);

/** Is it a function of real numbers only? Then it is an error for this kind. */
bool special_refuses(Kind kind, Apply which);

/** Compute it. The operands are arrays of type 'info' (special_has() is true for it),
 *  as many as the operation takes. NULL: exception. */
PyObject *special_apply(const TypeInfo *info, Apply which, Array *const *args,
                        const char *operation);

#endif
