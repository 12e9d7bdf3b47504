/*
 * pytree.h -- the one engine that walks PyTrees
 *
 * Containers: exact tuple, list and dict, data classes, classes with DRJIT_STRUCT.
 * Everything else is a leaf: arrays, and objects that operations pass over. Trees that
 * contain themselves, or are nested more than a thousand levels deep, are a
 * RecursionError. Structures are rebuilt through their constructors where these take
 * the fields (data classes) or nothing (DRJIT_STRUCT), otherwise without.
 */
#ifndef PYTHON_PYTREE_H
#define PYTHON_PYTREE_H

#include "python/array.h"

/** Called for each position of n trees with the same structure: 'leaves' holds the
 *  object of each tree there. Returns what stands in the result (new reference); NULL:
 *  exception. */
typedef PyObject *(*PyTreeMap)(void *context, PyObject *const *leaves);

/** A new tree of the structure of trees[0]. Trees of different structure are a
 *  ValueError naming the place. */
PyObject *pytree_map(State *state, const char *operation, PyObject *const *trees,
                     int n, PyTreeMap map, void *context);

/** Called for each leaf of one tree, in order. False: exception. */
typedef bool (*PyTreeVisit)(void *context, PyObject *leaf);
bool pytree_visit(State *state, const char *operation, PyObject *tree,
                  PyTreeVisit visit, void *context);

/** Build an instance of 'cls': for an array class (or bool, int, float) whatever 'make'
 *  returns for it, for a data class or DRJIT_STRUCT class an instance whose fields are
 *  made from their types. Other classes: TypeError. */
typedef PyObject *(*PyTreeMake)(void *context, PyObject *cls);
PyObject *pytree_build(State *state, const char *operation, PyObject *cls,
                       PyTreeMake make, void *context);

/** Is it a container as listed above? (Not an array.) */
bool pytree_is_container(State *state, PyObject *object);

/** Is it a data class or DRJIT_STRUCT class, given the class? */
bool pytree_is_struct(State *state, PyObject *cls);

#endif
