/*
 * alias.h -- names of one array, of which a body sees several
 *
 * A body works on an array of its own in each place of a state (of a conditional: for
 * each array). What it changes in place,
 *
 *     x += 1
 *
 * would in Python also change for all other names of that array: in other places, in
 * objects beside the tree, in variables that the body takes from around. Where these
 * would see something else, there is an error that names both.
 */
#ifndef PYTHON_FLOW_ALIAS_H
#define PYTHON_FLOW_ALIAS_H

#include "python/array/reads.h"
#include "python/flow/watch.h"

/** Which places' variables a body has used. Starts as { 0 }. */
typedef struct Aliases {
    uint32_t *references; /* to each variable before the body; NULL: no place is the
                             same array as another, or they are one for the body, too */
} Aliases;

/** Before a body that gets what 'given' gives. False: exception. */
bool alias_begin(Aliases *aliases, const Tracker *given);
/** After it: it has returned 'returned', whose origins are known, and read 'reads',
 *  and 'functions' have been called. 'caller' has the caller's arrays; the origins
 *  of 'given' (of a loop) say which of these stand in its places. False: a
 *  RuntimeError. */
bool alias_check(const Aliases *aliases, const Tracker *given, const Tracker *caller,
                 const Tracker *returned, const Watch *watch, const Reads *reads,
                 PyObject *const *functions, size_t count);
/** Have the caller's arrays in the places of 'returned' still the variables 'before'
 *  (in the order of the tracker's)? A body that has written to one by another name
 *  has not changed what stands for it. False: a RuntimeError. */
bool alias_check_caller(const Tracker *caller, const VarIndex *before,
                        const Tracker *returned);
void alias_end(Aliases *aliases);

#endif
