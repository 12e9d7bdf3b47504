/*
 * recording.h -- the loops, conditionals and calls that are being recorded
 *
 * While there is one, nothing that is deferred runs (deferred.h), and errors about
 * symbolic values say where it is. A list of the process, in the stack frames of those
 * that record; the GIL guards it.
 */
#ifndef PYTHON_RECORDING_H
#define PYTHON_RECORDING_H

#include "python/base/compat.h"

typedef struct Recording {
    const char *operation;    /* "while_loop" */
    PyFrameObject *frame;     /* of Python, that called it; borrowed */
    unsigned long thread;
    struct Recording *outer;
} Recording;

/** Between the two, a body is recorded. They nest; threads may interleave. */
void recording_begin(Recording *recording, const char *operation);
void recording_end(Recording *recording);

/** "drjit.while_loop() at file.py:3, drjit.if_stmt() at file.py:5": those of this
 *  thread, innermost first; "" if there are none. NULL: exception. */
PyObject *recording_places(void);

#endif
