/*
 * gather.h -- gathers and scatters, for the other operations that are made of them
 */
#ifndef PYTHON_GATHER_H
#define PYTHON_GATHER_H

#include "python/base/arguments.h"
#include "python/memory/access.h"

/** out[k] = source[index * n + k], k < n, where mask is set (0: everywhere), in
 *  packets as far as possible. 'mode': see var_gather(). Releases the GIL if the
 *  source has to be computed first. False: the core's error is set, 'out' holds
 *  nothing. */
bool gather_variables(VarIndex source, VarIndex index, VarIndex mask, size_t n,
                      ReduceMode mode, VarIndex *out);
/** The same for a whole array, from indices that are valid. */
bool gather_whole(VarIndex source, VarIndex index, size_t n, ReduceMode mode,
                  VarIndex *out);

/** The members of the function table that scatter.c, atomic.c and slice.c implement. */
KeywordFunction scatter_plain, scatter_part, scatter_reduce, scatter_add;
KeywordFunction atomic_add_kahan, atomic_inc, atomic_exch, atomic_cas, slice_value;

/** Of packets for n components of an array: the largest one that divides both. */
size_t gather_packet_size(size_t n, size_t size);
/** The same for the size of an array; a recording depends on it being divisible so. */
size_t gather_packet_of(size_t n, VarIndex array);

/** Have a target of writes in memory (or a literal): compute it, without the GIL, if
 * that is still to be done. False: exception. */
bool gather_prepare_target(const char *operation, VarIndex index);

/** index * scale + shift, a new reference. 0: the core's error is set. */
VarIndex gather_scaled_index(VarIndex index, size_t scale, size_t shift);

/** A gather from 'source', whose type is flat or nested, into its own type. */
PyObject *gather_same(Access *access, PyTypeObject *cls, Array *source);

#endif
