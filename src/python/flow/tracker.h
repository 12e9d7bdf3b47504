/*
 * tracker.h -- the PyTrees that loops and conditionals work on
 *
 * A tracker is a snapshot of a PyTree: its leaves, its containers with their contents,
 * the variables of its arrays. The user's function works on the user's own containers,
 * in which each array is replaced by a fresh object with the variables that the core
 * has given:
 *
 *     state = (i, ray)            tracker_open()     the caller's objects
 *     body(i', ray with o')       tracker_give()     fresh arrays, same containers
 *     returns (i'', ray)          tracker_open()     another tracker
 *                                 tracker_follows()  do types, sizes, ... agree?
 *     the result                  tracker_commit()   final variables; an array that was
 *                                                    only changed in place is the
 *                                                    caller's object again
 *
 * The caller's arrays change in tracker_commit() only, and tracker_restore() puts the
 * containers back: after an exception everything is as it was.
 */
#ifndef PYTHON_TRACKER_H
#define PYTHON_TRACKER_H

#include "python/tree/tree.h"

/** Variables, with the nodes of their derivatives; one reference each. Starts as { 0
 *  }. */
typedef struct Variables {
    VarIndex *ids;
    size_t count, capacity;
} Variables;

/** Append a variable, to which a reference is taken. False: exception. */
bool variables_append(Variables *variables, VarIndex id);
void variables_drop(Variables *variables);

enum { NO_ORIGIN = -1 };

typedef struct TrackedLeaf {
    size_t place;      /* its node in the tree */
    size_t first;      /* of its variables */
    size_t count;      /* 0: an object that has none */
    const TypeInfo *info; /* of an array, or of the entries of a local one */
    bool local;        /* a local array */
    bool unbound;      /* a variable that is not assigned (drjit._flow.unbound) */
    size_t first_use;  /* the first leaf that is the same object */
    PyObject *fresh;   /* stands for it in the function; a reference, or NULL */
    Py_ssize_t origin; /* the leaf whose fresh object this is, of the tracker that the
                           function's arguments came from */
    bool left_alone;   /* the function has returned it as it was given */
} TrackedLeaf;

typedef struct Tracker {
    State *state;
    const char *operation; /* "while_loop" */
    const char *what;      /* "state": what paths begin with */
    PyObject *labels;      /* a tuple of str that names the entries of a tuple; NULL */
    bool apart;            /* an array in several places is several fresh ones */
    bool empties;          /* no lane is there: arrays without entries are objects */
    bool failed_empty;     /* it could not be opened, as an array has no entries */
    bool copied;           /* the function gets containers of its own, and tensors as
                              arrays of their lanes */
    Tree tree;
    TrackedLeaf *leaves;
    Variables variables; /* of all leaves, one reference each: at first those that
                              the arrays have */
} Tracker;

/** Take a snapshot of a tree. The first six fields are set before; close it in any
 *  case. False: exception; an array without a variable is a RuntimeError. */
bool tracker_open(Tracker *t, PyObject *tree);
void tracker_close(Tracker *t);

/** The tree with fresh arrays that have the tracker's variables, which the core may
 *  have replaced meanwhile. NULL: exception. */
PyObject *tracker_give(Tracker *t);

/** The leaves of that tree alone, new references, for who takes no notice of what
 *  becomes of them. False: exception. */
bool tracker_give_leaves(const Tracker *t, PyObject **leaves);

/** Leaves that are one object, and are given as one, get the variables of the first. */
void tracker_unite_names(Tracker *t);
/** Let the fresh arrays have the tracker's variables. */
void tracker_set(const Tracker *t);

/** Has an array, or a local one, these variables? */
bool tracker_has(const Tracker *t, PyObject *object, const VarIndex *ids, size_t count);

/** Does the object stand for a variable that is not assigned? */
bool tracker_unbound(PyObject *object);
/** What a function has returned, so that it can follow a tree: both may be tuples of
 *  variables. One that is not assigned in 'before' is not any more, whatever it is; and
 *  where one is not assigned, there is the structure that 'before' has. A new
 *  reference; NULL: exception. */
PyObject *tracker_fit(const Tracker *before, PyObject *returned);
/** A result (whose reference is stolen) in which variables that are not assigned in
 *  'returned' are not, without the structure. NULL: exception. */
PyObject *tracker_unfit(PyObject *result, PyObject *returned);

/** Set the 'origin' of each leaf of what a function has returned that was called with
 *  what 'given' gave. */
bool tracker_trace(Tracker *returned, const Tracker *given);

/** Have the lists and dictionaries that the function was given still the same number of
 *  entries? False: a RuntimeError. */
bool tracker_check_containers(const Tracker *t);

/** Put the containers back as they were. Keeps a set exception. False: exception. */
bool tracker_restore(const Tracker *t);

/** Have both the same structure and types, arrays compatible sizes, and other leaves
 *  (if 'strict') equal values? False: a RuntimeError that names the place. A variable
 *  that is not assigned fits everything. */
bool tracker_follows(const Tracker *before, const Tracker *after, bool strict);

/** The fast path for what calls return: has a leaf, or a tuple of leaves, the same
 *  structure and types as the tree of a tracker whose containers are copies? Its
 *  variables (borrowed) are as many as the tracker's. False (no exception): it has not,
 *  or takes a closer look. */
bool tracker_match(const Tracker *before, PyObject *object, VarIndex *ids);

/** Let 'after' have as many variables as 'before', which it follows: a leaf that is not
 *  assigned in one of them is not assigned from now on, and has zeros in the place of
 *  variables. False: exception. */
bool tracker_align(const Tracker *before, Tracker *after);

/** Are all of the backend of this type? False: a TypeError that names one that is
 *  not. */
bool tracker_check_backend(const Tracker *t, const TypeInfo *like);

/** Raise an error: what stands at this place of the tree had 'from' entries and now has
 *  'to'. Returns false. */
bool tracker_fail_resized(const Tracker *t, size_t place, PyObject *object, size_t from,
                          size_t to);
/** Raise an error that names the first variable which fits neither 'size' nor 1.
 *  Returns false. */
bool tracker_fail_size(const Tracker *t, size_t size);
/** Raise the core's error; if it refuses an argument and there is such a variable, that
 *  one. Returns false. */
bool tracker_fail(const Tracker *t, size_t size);

/** The tree of 'after' with its variables, in its containers (where 'other' has the
 *  same; NULL: in all). An array whose origin is a leaf of 'initial' is that array of
 *  the caller's, which gets the variables. NULL: exception, nothing has changed then
 *  but containers. */
PyObject *tracker_commit(const Tracker *initial, const Tracker *after,
                         const Tracker *other);

/** Variables of the tracker's leaves in which local arrays are their entries, which can
 *  be gathered and chosen from as others. False: exception. */
bool tracker_spread(const Tracker *t, Variables *spread);
/** The contrary: the tracker gets variables that are like those it has. Local arrays
 *  have that many lanes. False: exception. */
bool tracker_unite(Tracker *t, const Variables *spread, size_t lanes);

/** "'state[1].x'", or with labels "'ray.x'": where a node is. NULL: exception. */
PyObject *tracker_name(const Tracker *t, size_t place);

#endif
