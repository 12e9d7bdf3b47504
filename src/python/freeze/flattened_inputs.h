/*
 * flattened_inputs.h -- the variables of a PyTree, each once
 *
 *     [x, Array3f(y, z, x), 3]
 *
 *         tree      LIST 3 | FLAT | FLAT | FLAT
 *         places    Float: 1    Array3f: 2 3 1    -            numbers of variables
 *         ids       x y z                                      from 1 on; 0 is empty
 */
#ifndef PYTHON_FLATTENED_INPUTS_H
#define PYTHON_FLATTENED_INPUTS_H

#include "python/tree/tree.h"

/** A leaf of the tree. */
typedef struct FlattenedLeaf {
    const TypeInfo *info; /* of a traced array; NULL: another object */
    size_t first, count;  /* of its variables, in 'numbers' */
} FlattenedLeaf;

/** Zeroed: empty. It owns all references. */
typedef struct FlattenedInputs {
    State *state;
    Tree tree;
    FlattenedLeaf *places; /* one for each leaf of the tree */
    uint32_t *numbers;
    size_t number_count, number_capacity;
    uint32_t *ids;
    size_t id_count, id_capacity;
    uint64_t *repeated;    /* which nodes are one object, see flattened_repeated();
                              NULL: not known */
    size_t repeated_count;
    bool tracked;          /* a leaf has a derivative */
} FlattenedInputs;

/** Take a PyTree apart. Free it with flattened_free(), after failure too. False:
 *  exception. */
bool flattened_take(FlattenedInputs *c, State *state, const char *operation,
                    PyObject *object);
void flattened_free(FlattenedInputs *c);

/** Do variables not tell which nodes are the same object? Some occur several times, or
 *  there are several objects with nothing but literals and values. */
bool flattened_tells_objects(const FlattenedInputs *c, const JitFreezeInput *described);
/** Find 'repeated'. False: exception. */
bool flattened_find_repeated(FlattenedInputs *c);
/** Can the parts of a node be changed in place, so that it matters which object it
 *  is? 'array': it is a leaf, and an array of the core. */
bool flattened_is_mutable(const TreeNode *node, bool array);
/** Which of the objects of 'count' nodes (NULL: none) occur several times: for each
 *  such node its number << 32 | that of the first. Parts of an array (v.x) are that,
 *  and have their offsets, too. Memory of PyMem; NULL: exception. */
uint64_t *flattened_repeated(const State *state, PyObject *const *objects, size_t count,
                             size_t *pair_count);

/** The backend of its arrays, JitBackendNone: there are none. */
JitBackend flattened_backend(const FlattenedInputs *c);

/** Add a variable once more: its new number. False: exception. */
bool flattened_add(FlattenedInputs *c, uint32_t id, uint32_t *number);

/** Where each variable is, as a list: the path of its first leaf, and which component
 *  of that it is if there are several. NULL: exception. */
PyObject *flattened_paths(const FlattenedInputs *c);
/** The first leaf that has this variable (its number), as which of its components;
 *  SIZE_MAX: there is none. */
size_t flattened_find(const FlattenedInputs *c, uint32_t number, size_t *component);

#endif
