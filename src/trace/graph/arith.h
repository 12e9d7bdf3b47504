/*
 * arith.h -- arithmetic operations: checks, folding, simplification
 *
 * Requires the graph lock; results are owned by the caller.
 */
#ifndef TRACE_GRAPH_ARITH_H
#define TRACE_GRAPH_ARITH_H

#include "trace/graph/node.h"

/** Apply a row of ops.def between NEG and SELECT. */
VarId arith_op(ThreadState *ts, Op op, const VarId *args);
/** The same, faster. */
VarId arith_unary(ThreadState *ts, Op op, VarId a);
VarId arith_binary(ThreadState *ts, Op op, VarId a, VarId b);
VarId arith_ternary(ThreadState *ts, Op op, VarId a, VarId b, VarId c);
/** op(a, number), or op(number, a) if 'first', with a number of a's type. */
VarId arith_number(ThreadState *ts, Op op, VarId a, uint64_t bits, bool first);
/** Conversion, reinterpreting if asked. */
VarId arith_cast(ThreadState *ts, VarId id, VarType type, bool reinterpret);

/** Is this conversion defined? Records an error if not; needs no lock. */
bool arith_check_cast(VarType source, VarType type, bool reinterpret,
                      const char *function);

/** Arithmetic on operands known to fit, for use inside of the tracer. */
VarId arith_make(ThreadState *ts, Op op, VarType type, uint32_t size,
                 const VarId *args);

#endif
