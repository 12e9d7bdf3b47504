/*
 * gil.h -- calls of the core that may take long: without the GIL, and interruptible
 *
 *     GIL_RELEASE_BEGIN
 *     ok = jit_eval();
 *     GIL_RELEASE_END
 *
 * In between, Ctrl-C stops what the core computes (interrupt.h): the call fails, and
 * error_from_core() raises the KeyboardInterrupt.
 */
#ifndef PYTHON_GIL_H
#define PYTHON_GIL_H

#include "python/base/compat.h"

#define GIL_RELEASE_BEGIN GIL_RELEASE_BEGIN_IF(true)
#define GIL_RELEASE_END gil_restore(gil_thread); }

/* If the condition is false, the call does not take long: the GIL is kept, since giving
 * it up and taking it back costs as much as tracing several operations. */
#define GIL_RELEASE_BEGIN_IF(condition) { \
    PyThreadState *gil_thread = (condition) ? gil_release() : NULL;

PyThreadState *gil_release(void);
void gil_restore(PyThreadState *thread);

#endif
