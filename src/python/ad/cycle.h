/*
 * cycle.h -- custom operations that only what depends on them keeps alive
 */
#ifndef PYTHON_CYCLE_H
#define PYTHON_CYCLE_H

#include "python/ad/custom.h"

/** Would the graph let go of an operation if what only the operation refers to were
 *  gone? For the garbage collector: makes no objects, runs no code of others. False
 *  if it cannot be said, because the operation refers to more objects than are looked
 *  at, or out of memory. */
bool cycle_is_closed(const Operation *operation);

#endif
