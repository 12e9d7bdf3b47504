/*
 * gil.c -- see gil.h
 */
#include "python/base/gil.h"

#include "drjit-core/jit.h"
#include "python/base/interrupt.h"

PyThreadState *gil_release(void)
{
    PyThreadState *thread = PyEval_SaveThread();
    interrupt_begin_wait();
    return thread;
}

void gil_restore(PyThreadState *thread)
{
    jit_sync_guests(); /* the program may write to its memory now */
    if (!thread)
        return;
    interrupt_end_wait();
    PyEval_RestoreThread(thread);
}
