/*
 * snapshot.h -- the inputs of one call of a frozen function, taken apart: variables
 * that are in memory or literals, and a key that says which recording fits
 */
#ifndef PYTHON_SNAPSHOT_H
#define PYTHON_SNAPSHOT_H

#include "python/freeze/collection.h"

typedef struct Snapshot {
    PyObject_HEAD
    State *state;
    Collection inputs;
    JitFreezeInput *described; /* the variables */
    PyObject *key;
} Snapshot;

/** Make the class and put it into the module. */
bool snapshot_bind(State *state);
/** Take a PyTree apart, and evaluate what is not in memory. NULL: exception. */
Snapshot *snapshot_take(State *state, PyObject *inputs);

#endif
