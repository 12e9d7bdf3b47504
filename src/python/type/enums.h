/*
 * enums.h -- the enumerations of drjit (python/drjit/_enums.py) as C numbers, and back
 */
#ifndef PYTHON_ENUMS_H
#define PYTHON_ENUMS_H

#include "python/type/state.h"

/** For the state's garbage collection. */
int enum_traverse(State *state, visitproc visit, void *arg);
void enum_clear(State *state);

/** The member of an enumeration ("VarType", "ReduceOp", ...) with this value. */
PyObject *enum_make(State *state, const char *name, long value);

/** Members of JitBackend have values below this one. */
enum { BACKEND_LIMIT = 4 };

/** The value of a member, or of a plain int, in [0, limit). False with a TypeError or
 *  ValueError that names the enumeration. */
bool enum_read(State *state, const char *operation, const char *name, PyObject *member,
               long limit, long *value);

/** Is the object a member of the enumeration? -1: exception. */
int enum_has(State *state, const char *name, PyObject *object);

#endif
