/*
 * flag_scope.h -- the class behind scoped_set_flag
 */
#ifndef PYTHON_FLAG_SCOPE_H
#define PYTHON_FLAG_SCOPE_H

#include "drjit-core/jit.h"
#include "python/base/compat.h"

/** Put the class '_FlagScope' into the module. False: exception. */
bool flag_scope_bind(PyObject *module);

/** Combinations of flags are below this. */
static const long FLAG_LIMIT = 2L * JitFlagDeterministic;

#endif
