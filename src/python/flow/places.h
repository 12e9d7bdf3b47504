/*
 * places.h -- which leaf of a tree is which object
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

typedef struct Places {
    Place few[PLACES_FEW + 1]; /* the last of them is free; those behind it are unset */
    Place *slots; /* NULL: 'few' has all; else a table that is at most half full */
    size_t mask;  /* number of slots - 1 */
} Places;

/** Room for 'count' objects, of which there are none yet. False: exception. */
bool places_make(Places *places, size_t count);
void places_free(Places *places);
/** Where an object is, or would be. */
Place *places_find(Places *places, const PyObject *object);
/** The first leaf that has this object: one that was added before, or this one. */
size_t places_add(Places *places, const PyObject *object, size_t leaf);

#endif
