/*
 * log.h -- log messages: to sys.stdout, warnings and errors to sys.stderr, and to a
 * function of the user
 */
#ifndef PYTHON_LOG_H
#define PYTHON_LOG_H

#include "python/type/state.h"

/** From now on messages go where Python's streams go. */
void log_begin(void);
/** No more: Python's objects go away. */
void log_end(State *state);
/** Pass messages up to 'level' to 'callback', or (NULL) to nobody. Those before are for
 *  the function before. False: exception. */
bool log_set_callback(State *state, PyObject *callback, LogLevel level);

#endif
