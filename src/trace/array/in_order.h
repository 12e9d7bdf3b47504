/*
 * in_order.h -- scatter-reductions with JitFlagDeterministic
 *
 * Several lanes that add to one entry of an array of floats do so in an order that
 * depends on sizes alone. A kernel has no such order, so index, value and mask come
 * into memory, and a command adds them (device/cpu/primitives/ordered.c):
 *
 *     in_order_begin()    operands in memory
 *     in_order_add()      the command; the target is in memory, nothing queued for it
 *     in_order_finish()   in any case
 *
 * Bodies that are recorded have no values yet: there it is an error. Requires the graph
 * lock, which may be released.
 */
#ifndef TRACE_ARRAY_IN_ORDER_H
#define TRACE_ARRAY_IN_ORDER_H

#include "trace/graph/access.h"

typedef struct InOrder {
    VarId index, value, mask; /* in memory; one reference each. 'mask' 0: all lanes */
    VarId whole;              /* has as many lanes as the access */
    bool none;                /* no lane is active */
} InOrder;

/** Is the flag set, and does the order of such a reduction make a difference? */
bool in_order_applies(const ThreadState *ts, VarType type, ReduceOp op,
                      ReduceMode mode);
/** Is this possible where the thread is? False: error recorded. */
bool in_order_check(const ThreadState *ts, const char *function);
/** Take the operands of an access that is prepared. False: error recorded. */
bool in_order_begin(InOrder *o, const Access *a, VarId value);
/** target[index] op= value. False: error recorded, and nothing has happened. */
bool in_order_add(const InOrder *o, const Access *a, VarId target, ReduceOp op);
void in_order_finish(InOrder *o);

#endif
