/*
 * leaf_map.h -- which leaf of a tree is which object
 *
 * Most trees have few leaves, among which an object is found by looking at each; where
 * there are more, in a hash table. Objects are compared by address and not held.
 */
#ifndef PYTHON_FLOW_LEAF_MAP_H
#define PYTHON_FLOW_LEAF_MAP_H

#include "python/base/compat.h"

enum { LEAF_MAP_FEW = 8 };

/** An object, and the first leaf that has it. */
typedef struct LeafMapEntry {
    const PyObject *object; /* NULL: a free slot */
    size_t leaf;
} LeafMapEntry;

typedef struct LeafMap {
    LeafMapEntry few[LEAF_MAP_FEW + 1]; /* the one after the last is free */
    LeafMapEntry *slots; /* NULL: 'few' has all; else a table at most half full */
    size_t mask;         /* number of slots - 1 */
} LeafMap;

/** Room for 'count' objects, of which there are none yet. False: exception. */
bool leaf_map_make(LeafMap *map, size_t count);
void leaf_map_free(LeafMap *map);
/** Where an object is, or would be. */
LeafMapEntry *leaf_map_find(LeafMap *map, const PyObject *object);
/** The first leaf that has this object: one that was added before, or this one. */
size_t leaf_map_add(LeafMap *map, const PyObject *object, size_t leaf);

#endif
