/*
 * progress.h -- a line on the terminal about work that takes long
 *
 *     drjit: compiling kernel a1b2c3 (12,480 operations, llvm) ... 3.2 s
 *
 * It appears a second after the work has begun, and is erased when that ends. Nothing
 * is ever written unless stderr is a terminal that can erase a line, and the process in
 * its foreground; nor when the log is off, or progress_allow() or DRJIT_PROGRESS say
 * so.
 */
#ifndef WATCH_PROGRESS_H
#define WATCH_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "drjit-core/jit.h"

/** Work under way; lives on the stack of the thread that does it. */
typedef struct Progress {
    bool watched; /* there is a thread; else nothing below has a meaning */
    bool ended;   /* guarded by 'lock', as by no other thread's */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    uint64_t begin;
    char text[112];
} Progress;

/** Are there lines at all now? A system call at most. */
bool progress_wanted(void);
/** Work begins, 'format' says which. Starts a thread if lines are wanted, some 30
 *  microseconds: not for work that takes less than milliseconds. Cannot fail: without
 *  a thread there is no line. */
void progress_begin(Progress *progress, const char *format, ...) JIT_PRINTF(2, 3);
/** It has ended: the line is gone when this returns. */
void progress_end(Progress *progress);

/** Lines are allowed from the start. */
void progress_allow(bool allowed);
#endif
