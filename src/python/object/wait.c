/*
 * wait.c -- see wait.h
 */
#include "python/object/wait.h"

#include "drjit-core/jit.h"
#include "python/object/interrupt.h"

PyThreadState *wait_begin(void)
{
    PyThreadState *thread = PyEval_SaveThread();
    interrupt_begin_wait();
    return thread;
}

void wait_end(PyThreadState *thread)
{
    jit_sync_guests(); /* the program may write to its memory now */
    if (!thread)
        return;
    interrupt_end_wait();
    PyEval_RestoreThread(thread);
}
