/*
 * local.h -- local arrays: a few entries that each lane has for itself
 */
#ifndef PYTHON_LOCAL_H
#define PYTHON_LOCAL_H

#include "python/array/array.h"

/** One array of the core for each leaf of the entries' type. */
typedef struct Local {
    PyObject_HEAD const TypeInfo *info; /* of an entry */
    size_t count;                       /* leaves of an entry */
    VarIndex *ids;                          /* current versions, one reference each */
} Local;

/** Make their class and put it into the module. */
bool local_bind(State *state);
bool local_check(const State *state, PyObject *object);
/** A local array with entries of this type and 'count' versions, to which references
 *  are taken. NULL: exception. */
PyObject *local_new(State *state, const TypeInfo *info, size_t count,
                    const VarIndex *ids);

#endif
