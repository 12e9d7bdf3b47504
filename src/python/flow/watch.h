/*
 * watch.h -- arrays that objects hold beside a PyTree, the state of a body
 *
 * Attributes of objects that are no PyTrees, and those that a DRJIT_STRUCT or data
 * class does not name, are not part of a state: what a body does to them happens while
 * it is traced, once, in all lanes. A change of such an array would be wrong without a
 * word, so it is an error. Scatters are none: these are side effects of the body.
 *
 * At most a few dozen objects are looked at, nearest first.
 */
#ifndef PYTHON_WATCH_H
#define PYTHON_WATCH_H

#include "python/flow/tracker.h"

typedef struct Watched Watched;

/** Starts as { 0 }. */
typedef struct Watch {
    State *state;
    Watched *items;
    size_t count, capacity;
    bool inside;    /* of a body that is being traced */
} Watch;

/** Note what the objects in an open tracker hold. False: exception. */
bool watch_begin(Watch *watch, const Tracker *t);
/** Has a body changed any of it? False: a RuntimeError that names the first. */
bool watch_check(const Watch *watch, const Tracker *t);
/** Where an array is that is watched, "'self.x'", if that is in an attribute of one of
 *  these names (a tuple). NULL without an exception: nowhere. */
PyObject *watch_find(const Watch *watch, const Tracker *t, PyObject *array,
                     PyObject *names);
void watch_end(Watch *watch);

#endif
