/*
 * bounds.h -- indices that are known while tracing
 *
 * Others are checked by kernels, in debug mode. Requires the graph lock.
 */
#ifndef TRACE_ARRAY_BOUNDS_H
#define TRACE_ARRAY_BOUNDS_H

#include "trace/graph/access.h"

/** Does an access to packets of n entries of an array, which is prepared, stay within
 *  it, as far as that is known without running a kernel? May wait for the entry that an
 *  index is. False: error recorded. */
bool bounds_check(Access *a, VarId array, uint32_t n);

#endif
