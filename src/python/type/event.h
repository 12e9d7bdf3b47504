/*
 * event.h -- the Event class of each just-in-time backend
 */
#ifndef PYTHON_EVENT_H
#define PYTHON_EVENT_H

#include "python/type/state.h"

/** Make the class drjit.<backend>.Event (new reference); NULL: exception. 'name' has
 *  static storage. */
PyObject *event_make_class(State *state, const char *name, JitBackend backend);

#endif
