/*
 * leaves.h -- the leaves of a PyTree that can be tracked, as a list
 */
#ifndef PYTHON_LEAVES_H
#define PYTHON_LEAVES_H

#include "python/array/array.h"

/* A zeroed one with its state set is empty. */
typedef struct Leaves {
    State *state;
    VarIndex *leaves; /* references */
    size_t count, capacity;
} Leaves;

/** Add a leaf (a new reference to it). False: exception. */
bool leaves_add(Leaves *l, VarIndex leaf);
/** Add those of float arrays with derivatives, in order; an empty one is 0. */
bool leaves_collect(Leaves *l, const char *operation, PyObject *tree);
/** Give up all. */
void leaves_drop(Leaves *l);

#endif
