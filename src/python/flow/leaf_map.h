/*
 * leaf_map.h -- which leaf of a tree is which object
 *
 * Most trees have few leaves, among which an object is found by looking at each; where
 * there are more, in a hash table. Objects are compared by address and not held.
 */
#ifndef PYTHON_FLOW_PLACES_H
#define PYTHON_FLOW_PLACES_H

#include "python/object/compat.h"

enum { PLACES_FEW = 8 };

/** An object, and the first leaf that has it. */
typedef struct Place {
    const PyObject *object; /* NULL: a free slot */
    size_t leaf;
} Place;

typedef struct LeafMap {
    Place few[PLACES_FEW + 1]; /* the last of them is free; those after it are unset */
    Place *slots; /* NULL: 'few' has all; else a table that is at most half full */
    size_t mask;  /* number of slots - 1 */
} LeafMap;

/** Room for 'count' objects, of which there are none yet. False: exception. */
bool leaf_map_make(LeafMap *places, size_t count);
void leaf_map_free(LeafMap *places);
/** Where an object is, or would be. */
Place *leaf_map_find(LeafMap *places, const PyObject *object);
/** The first leaf that has this object: one that was added before, or this one. */
size_t leaf_map_add(LeafMap *places, const PyObject *object, size_t leaf);

#endif
