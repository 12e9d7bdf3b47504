/*
 * evaluate.h -- calls into the core that may wait: without the GIL
 *
 * Each holds a reference to the variables it uses while other threads may run.
 */
#ifndef PYTHON_EVALUATE_H
#define PYTHON_EVALUATE_H

#include "python/array/array.h"

/** Read one entry of a variable. False: the core's error is set. */
bool evaluate_read(VarIndex index, size_t offset, void *entry);

/** Evaluate a variable of arrays of this type and wait: '*evaluated' (new reference) is
 *  the variable with the data, or a copy of it if the host cannot read these; the
 *  pointer is to its first entry and valid while that reference is held. An empty
 *  variable gives NULL and index 0. False: the core's error is set. */
bool evaluate_data(const TypeInfo *info, VarIndex index, VarIndex *evaluated,
                   void **data);

/** The same for memory that others write to, which those that read the variable do not
 *  see: var_gather_whole_back() drops the reference. If not 'host', it is where the
 *  variable has it. */
bool evaluate_lend(const TypeInfo *info, VarIndex index, bool host, VarIndex *evaluated,
                   void **data);

/** Evaluate all that is scheduled. False: the core's error is set. */
bool evaluate_scheduled(void);

/** Before an operation reads arrays (objects of other kinds, and NULL, do no harm):
 *  have queued writes into them evaluated. The core would do that in the midst of the
 *  operation, with the GIL. Other threads may run, so this comes before anything is
 *  read from the arrays. False: exception, as the operation's. */
bool evaluate_writes_into(const char *operation, PyObject *const *args, Py_ssize_t n);
static inline bool evaluate_writes(const char *operation, PyObject *const *args,
                                   Py_ssize_t n)
{
    return !jit_pending_writes() || evaluate_writes_into(operation, args, n);
}

/** Any core function that takes a variable and may evaluate, for example a reduction:
 *  function(index, argument) without the GIL. */
VarIndex evaluate_call(VarIndex (*function)(VarIndex index, void *argument),
                       VarIndex index, void *argument);

/** The same for a function that does nothing but give the core one command, which reads
 *  the leaf and a second one (or 0): it keeps the GIL where that does not take long. */
VarIndex evaluate_command(VarIndex (*function)(VarIndex index, void *argument),
                          VarIndex index, VarIndex second, void *argument);

#endif
