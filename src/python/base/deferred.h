/*
 * deferred.h -- work that must not run where it arises, because it may run Python code
 *
 * The core calls back in the middle of its operations, from any thread, with or without
 * the GIL: a log message, values that a kernel reports. Whatever Python code does in
 * answer could change the arrays that an operation is working on. So the answer is
 * queued, and given when no operation is under way: between two bytecodes of the main
 * thread (Py_AddPendingCall), or when an array is constructed, whichever is first.
 *
 * Answers are given one after the other, in the order of the queue: what one of them
 * leads to waits until it has returned. None is given while the body of a loop,
 * conditional or call is recorded, to which its operations would be added.
 *
 * The core's callbacks carry no context, so the queue belongs to the process: the only
 * static state of the extension.
 */
#ifndef PYTHON_DEFERRED_H
#define PYTHON_DEFERRED_H

#include "python/base/compat.h"

/** Embed it first in what the function needs; what it calls is held by a reference. */
typedef struct Deferred {
    struct Deferred *next;
    void (*run)(struct Deferred *self); /* with the GIL; owns 'self' */
} Deferred;

/** Queue it. From any thread, with or without the GIL; cannot fail. */
void deferred_add(Deferred *work);

/** Run what is queued, unless that must wait. With the GIL, no operation under way;
 *  keeps a set exception. */
void deferred_run(void);

/** Between the two, which nest, nothing runs: a body is recorded. The last release runs
 *  what is queued. With the GIL. */
void deferred_hold(void);
void deferred_release(void);

#endif
