/*
 * construct.h -- what while_loop and if_stmt share: modes, labels, calls of functions
 *
 * A body is traced by calling a Python function between two calls of the core. When it
 * raises, the recording is given up with everything in it, and the exception goes on. A
 * core function that fails has given it up already.
 */
#ifndef PYTHON_CONSTRUCT_H
#define PYTHON_CONSTRUCT_H

#include "python/flow/watch.h"

typedef enum Mode { MODE_AUTO, MODE_SCALAR, MODE_SYMBOLIC, MODE_EVALUATED } Mode;

/** "scalar", "symbolic", "evaluated", or None (or NULL). False: exception. */
bool construct_mode(const char *operation, PyObject *object, Mode *mode);

/** A tuple of str from a sequence of them (a new reference), NULL if there are none,
 *  or 'count' of them if 'tuple' is one. False: exception. */
bool construct_labels(const char *operation, const char *parameter, PyObject *object,
                      PyObject *labelled, PyObject **labels);

/** What a condition is: a Python bool (or one of NumPy), a traced array of masks, or
 *  something else. */
typedef enum Condition { CONDITION_BOOL, CONDITION_ARRAY, CONDITION_OTHER } Condition;
Condition construct_condition(State *state, PyObject *object);

/** Has a traced condition no lanes? */
bool construct_is_empty(PyObject *condition);
/** Its variable, a new reference; false, if there are no lanes. */
uint32_t construct_mask(PyObject *condition);

/** A tree like this one whose traced arrays have no entries. NULL: exception. */
PyObject *construct_without_entries(State *state, const char *operation,
                                    PyObject *tree);

/** The variable of a mask of lanes, a new reference. 0: TypeError or ValueError. */
uint32_t construct_lanes(State *state, const char *operation, PyObject *mask);

/** A label in UTF-8, NULL for None or an argument that is not there. False:
 *  exception. */
bool construct_label(const char *operation, PyObject *object, const char **label);

/** Set a flag for a call of the core; the result is for construct_reset(). */
bool construct_set(JitFlag flag, bool value);

/** Raise the TypeError about a condition of another type. Returns NULL. */
PyObject *construct_refuse(const char *operation, const char *what, PyObject *found);

/** Is it a callable? If not: TypeError. */
bool construct_callable(const char *operation, const char *parameter, PyObject *object);

#endif
