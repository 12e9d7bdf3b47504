/*
 * wait.h -- calls of the core that may take long: without the GIL, and interruptible
 *
 *     WAIT_BEGIN
 *     ok = jit_eval();
 *     WAIT_END
 *
 * In between, Ctrl-C stops what the core computes (interrupt.h): the call fails, and
 * error_from_core() raises the KeyboardInterrupt.
 */
#ifndef PYTHON_WAIT_H
#define PYTHON_WAIT_H

#include "python/object/compat.h"

#define WAIT_BEGIN WAIT_BEGIN_IF(true)
#define WAIT_END wait_end(wait_thread); }

/* If the condition is false, the call does not take long: the GIL is kept, since giving
 * it up and taking it back costs as much as tracing several operations. */
#define WAIT_BEGIN_IF(condition) { \
    PyThreadState *wait_thread = (condition) ? wait_begin() : NULL;

PyThreadState *wait_begin(void);
void wait_end(PyThreadState *thread);

#endif
