/*
 * build.h -- making instances of data classes, DRJIT_STRUCT classes and named tuples
 */
#ifndef PYTHON_TREE_BUILD_H
#define PYTHON_TREE_BUILD_H

#include "python/tree/plan.h"

/** An instance whose fields have these values, in the order of plan->names; NULL: what
 *  the constructor gives. That of a data class is given the values, that of a
 *  DRJIT_STRUCT class nothing. If it wants something else, the instance is made as
 *  pickle makes them, and further attributes are those of 'like' (or NULL). */
PyObject *build_instance(const char *operation, const Plan *plan, PyTypeObject *cls,
                         PyObject *const *values, PyObject *like);

/** An instance that no constructor has seen: its fields have these values, and what
 *  else it has is that of 'like'. NULL: exception. */
PyObject *build_alike(const Plan *plan, PyObject *const *values, PyObject *like);

/** The class of the interpreter's own that a class is derived from. */
PyTypeObject *build_base(PyTypeObject *cls);

/** What an object has in its __dict__ and its slots, a new dictionary. */
PyObject *build_attributes(PyObject *object);

/** Does code of a class set a field, as that of a property? */
bool build_has_code(const Plan *plan, PyTypeObject *cls);

/** Make an instance of 'cls': for an array class (or bool, int, float) whatever 'make'
 *  returns for it, for a class with fields one whose fields are made from their types,
 *  which classes of named tuples have as annotations. Other classes: TypeError. */
typedef PyObject *(*BuildMake)(void *context, PyObject *cls);
PyObject *build_from_class(State *state, const char *operation, PyObject *cls,
                           BuildMake make, void *context);

#endif
