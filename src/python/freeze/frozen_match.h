/*
 * frozen_match.h -- do inputs fit a recording? Then it is repeated for them
 *
 * They are compared with the recording's input spec as they are, without being taken
 * apart: nothing is made but a list of variables. Sizes, literals and what is in memory
 * are compared by the core.
 */
#ifndef PYTHON_FROZEN_MATCH_H
#define PYTHON_FROZEN_MATCH_H

#include "python/freeze/frozen.h"

/** Find the places of changes in the spec, which the recording has already. False:
 *  exception. */
bool frozen_match_keep(Frozen *f);

/** Repeat it for arguments, keyword arguments and the state, and what it reads besides
 *  (Frozen.reads): the function's result. NotImplemented: it does not fit, or only
 *  frozen_match_inputs() can say so. NULL: exception. */
PyObject *frozen_match_parts(const Frozen *f, PyObject *const *parts);
/** The same for all inputs, as a tuple. */
PyObject *frozen_match_inputs(const Frozen *f, PyObject *inputs);

#endif
