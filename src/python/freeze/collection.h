/*
 * collection.h -- the variables of a PyTree, each once
 *
 *     [x, Array3f(y, z, x), 3]
 *
 *         tree      LIST 3 | LEAF | LEAF | LEAF
 *         places    Float: 1    Array3f: 2 3 1    -            numbers of variables
 *         ids       x y z                                      from 1 on; 0 is empty
 */
#ifndef PYTHON_COLLECTION_H
#define PYTHON_COLLECTION_H

#include "python/tree/tree.h"

/** A leaf of the tree. */
typedef struct CollectedLeaf {
    const TypeInfo *info; /* of a traced array; NULL: another object */
    size_t first, count;  /* of its variables, in 'numbers' */
} CollectedLeaf;

/** Zeroed: empty. All references are the collection's. */
typedef struct Collection {
    State *state;
    Tree tree;
    CollectedLeaf *places; /* one for each leaf of the tree */
    uint32_t *numbers;
    size_t number_count, number_capacity;
    uint32_t *ids;
    size_t id_count, id_capacity;
    uint64_t *repeated;    /* nodes that are the same object as one before: the number
                              << 32 | that of the one before. Only objects with arrays
                              that can be changed in place. Parts of arrays (v.x) are
                              those, and have their offsets here, too */
    size_t repeated_count, repeated_capacity;
    bool tracked;          /* a leaf has a derivative */
} Collection;

/** Take a PyTree apart. Free it with collection_free(), after failure too. False:
 *  exception. */
bool collection_take(Collection *c, State *state, const char *operation,
                     PyObject *object);
void collection_free(Collection *c);

/** The backend of its arrays, JitBackendNone: there are none. */
JitBackend collection_backend(const Collection *c);

/** Add a variable once more: its new number. False: exception. */
bool collection_add(Collection *c, uint32_t id, uint32_t *number);

/** Where each variable is, as a list: the path of its first leaf, and which component
 *  of that it is if there are several. NULL: exception. */
PyObject *collection_paths(const Collection *c);
/** The path of the first leaf that has this variable (its number). NULL: exception. */
PyObject *collection_path(const Collection *c, uint32_t number);

#endif
