/*
 * log.h -- log messages for a Python function
 */
#ifndef PYTHON_LOG_H
#define PYTHON_LOG_H

#include "python/state.h"

/** Pass messages up to 'level' to 'callback', or (NULL) to nobody. Those before are for
 *  the function before. False: exception. */
bool log_set_callback(State *state, PyObject *callback, LogLevel level);

#endif
