/*
 * local.h -- local memory: small arrays that each lane has for itself
 *
 * In the trace such arrays are values: a write gives a new version, and old versions
 * stay as they were. A version is a variable with the flag VAR_LOCAL: a LOCAL, a
 * LOCAL_WRITE, or a STATE or RESULT that stands for one. Nothing but the functions here
 * and regions take it as an operand. Its type is that of the entries, its size the
 * number of lanes. Versions are never evaluated: they exist in kernels only.
 *
 * In the Program arrays are storage that is changed in place. local_plan.h says how one
 * becomes the other.
 *
 * Requires the graph lock; results are owned by the caller. Meaning as in region.h.
 */
#ifndef TRACE_GRAPH_LOCAL_H
#define TRACE_GRAPH_LOCAL_H

#include "trace/graph/node.h"

/** A number larger than that of all accesses and regions so far. */
uint64_t local_next_serial(void);
VarId local_create(ThreadState *ts, uint8_t device, VarType type, size_t length,
                   size_t size);
/** The same with entries that are anything, which nobody may read before they are
 *  written. */
VarId local_create_unset(ThreadState *ts, uint8_t device, VarType type, size_t length,
                         size_t size);
VarId local_init(ThreadState *ts, VarId array, VarId value);
VarId local_read(ThreadState *ts, VarId array, VarId index, VarId mask);
VarId local_write(ThreadState *ts, VarId array, VarId index, VarId value, VarId mask);
/** Append the entries of a version, as all lanes have them, to a list that holds
 *  references. */
bool local_split(ThreadState *ts, VarId array, VarIds *entries);
/** An array with these entries. */
VarId local_join(ThreadState *ts, const VarId *entries, uint32_t length, uint32_t size);
/** Append 'mask ? a : b' for the entries of two versions of one length to a list that
 *  holds references. */
bool local_select(ThreadState *ts, VarId mask, VarId a, VarId b, VarIds *entries);
/** local_join() with as many lanes as the entries have in common. */
VarId local_join_all(ThreadState *ts, const VarIds *entries);
/** Entries of a version, 0 (error recorded) if 'array' is none. */
size_t local_length(VarId array, const char *function);

/** Is this a version of a local array? */
static inline bool local_is_array(const Var *v) { return (v->flags & VAR_LOCAL) != 0; }

#endif
