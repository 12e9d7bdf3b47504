/*
 * array.h -- whole arrays: creation from memory, copies, reads and writes,
 * rearrangement
 *
 * Requires the graph lock; results are owned by the caller. Meaning as in jit.h.
 */
#ifndef TRACE_ARRAY_ARRAY_H
#define TRACE_ARRAY_ARRAY_H

#include "recording/symsize.h"
#include "trace/graph/node.h"

VarId array_literal(ThreadState *ts, uint8_t device, VarType type,
                    const void *value, size_t size, bool eval);
VarId array_undefined(ThreadState *ts, uint8_t device, VarType type, size_t size);
VarId array_counter(ThreadState *ts, uint8_t device, size_t size);
/** What is known of an index in memory (distance.h) need not be read: put what computes
 *  it in its place. False: error recorded. */
bool array_use_distance(ThreadState *ts, VarId *index);
VarId array_map(ThreadState *ts, uint8_t device, VarType type, void *ptr,
                size_t size, void (*release)(void *ptr, void *payload), void *payload);
VarId array_share(ThreadState *ts, uint8_t device, VarType type, void *ptr, size_t size,
                  void (*release)(void *ptr, void *payload), void *payload);
VarId array_mem_copy(ThreadState *ts, uint8_t device, VarType type, const void *ptr,
                     size_t size);
VarId array_copy(ThreadState *ts, VarId id);
VarId array_migrate(ThreadState *ts, VarId id, uint8_t device);
VarId array_resize(ThreadState *ts, VarId id, size_t size);
VarId array_shrink(ThreadState *ts, VarId id, size_t size);
VarId array_reverse(ThreadState *ts, VarId id);
VarId array_tile(ThreadState *ts, VarId id, size_t count);
VarId array_repeat(ThreadState *ts, VarId id, size_t count);
VarId array_opaque_width(ThreadState *ts, VarId id);
/** A size of what the thread records as an Int64 in memory. */
VarId array_of_symsize(ThreadState *ts, uint8_t device, SymSize symsize);
/** A number for kernels to compute with, which is a size while a function is recorded:
 *  in memory where the recording is to serve others. */
VarId array_number(ThreadState *ts, uint8_t device, uint32_t value, SymSize symsize);
/** The variable in memory, its own entry if it was a shared literal (new reference). */
VarId array_force(ThreadState *ts, VarId id, const char *function);
/** The variable in memory with all work on it finished; '*data' its entries. */
VarId array_data(ThreadState *ts, VarId id, void **data);
/** The same for memory that others write to until array_take_back(): a copy if more
 *  than 'own' references, and those lent before, are held. */
VarId array_lend(ThreadState *ts, VarId id, uint32_t own, void **data);
void array_take_back(VarId id);
bool array_read(ThreadState *ts, VarId id, size_t offset, void *dst);
VarId array_write(ThreadState *ts, VarId id, size_t offset, const void *src);
/** Wait (with the lock released) for the writer of a variable in memory, of which the
 *  caller has a reference, unless synchronising is forbidden. */
bool array_sync(ThreadState *ts, VarId id, const char *function);

#endif
