/*
 * wait.h -- calls of the core that may take long: without the GIL, and interruptible
 *
 *     WAIT_BEGIN
 *     ok = jit_eval();
 *     WAIT_END
 *
 * In between, Ctrl-C stops what the core computes (jit_interrupt()): the call fails,
 * and error_from_core() raises the KeyboardInterrupt. For that the handler of SIGINT is
 * wrapped; the one that Python or the program has installed is called all the same.
 */
#ifndef PYTHON_WAIT_H
#define PYTHON_WAIT_H

#include "python/object/compat.h"

void wait_enter(void);
void wait_leave(void);

#define WAIT_BEGIN \
    Py_BEGIN_ALLOW_THREADS \
    wait_enter();
#define WAIT_END \
    wait_leave(); \
    Py_END_ALLOW_THREADS

#endif
