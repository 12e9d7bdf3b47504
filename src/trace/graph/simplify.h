/*
 * simplify.h -- algebraic identities
 *
 * Only identities that keep every bit are applied; with JitFlagFastMath also x + 0 = x
 * and x * 0 = 0 for floats. Requires the graph lock.
 */
#ifndef TRACE_GRAPH_SIMPLIFY_H
#define TRACE_GRAPH_SIMPLIFY_H

#include "trace/graph/node.h"

/** A variable of the given size equal to op(args) but cheaper (owned by the caller), 0
 *  if no identity applies (or out of memory: the operation itself will then fail
 *  too). */
VarId simplify_op(ThreadState *ts, Op op, VarType type, uint32_t size,
                  const VarId *args);

#endif
