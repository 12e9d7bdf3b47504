/*
 * watch.h -- arrays that objects hold beside a PyTree: a state, or inputs
 *
 * Attributes of objects that are no PyTrees, and those that a DRJIT_STRUCT or data
 * class does not name, are not part of a state: what a body does to them happens while
 * it is traced, once, in all lanes. A change of such an array would be wrong without a
 * word, so it is an error. Scatters are none: these are side effects of the body.
 *
 * A frozen function that puts other arrays into such objects cannot be repeated, so it
 * is called each time.
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
    size_t limited; /* of these, those that count for the limit */
    bool inside;    /* of a body that is being traced */
    bool recorded;  /* of a frozen function: variables of all arrays are kept */
} Watch;

/** Note what the objects in an open tracker hold. False: exception. */
bool watch_begin(Watch *watch, const Tracker *t);
/** Has a body changed any of it? False: a RuntimeError that names the first. */
bool watch_check(const Watch *watch, const Tracker *t);
/** The same of objects in the inputs of a frozen function that is to be recorded. */
bool watch_begin_recorded(Watch *watch, State *state, const Tree *tree);
/** What the function has changed that is no input: "'x' of an object of type T, which
 *  is no input", NULL: nothing, or an exception. */
PyObject *watch_find(const Watch *watch, const Tree *inputs);
/** For tp_traverse. */
int watch_references(const Watch *watch, visitproc visit, void *arg);
void watch_end(Watch *watch);

#endif
