/*
 * fold.h -- reductions that have not been performed
 *
 * A reduction (OP_REDUCE, OP_DOT; OP_COMPRESS, whose result nobody sees as a variable)
 * is a variable like any other until it is evaluated: by the kernel that computes its
 * operands, which are then written nowhere (schedule.h). These have as many entries as
 * that kernel has lanes; how many make up one result follows from the sizes.
 *
 * Until then it keeps its operands alive, and all that they are computed from. So it
 * waits until its thread evaluates something, whatever that is, but not longer. Who
 * would change an array in place that it reads has it performed first.
 *
 * Requires the graph lock.
 */
#ifndef TRACE_GRAPH_FOLD_H
#define TRACE_GRAPH_FOLD_H

#include "ir/reduce_rule.h"
#include "trace/graph/var.h"

static inline bool fold_is(const Var *v)
{
    return v->op == OP_REDUCE || v->op == OP_DOT || v->op == OP_COMPRESS;
}
/** Lanes of the kernel that performs it. */
static inline uint32_t fold_lanes(const Var *v) { return var_get(v->dep[0])->size; }
/** Of these, how many make up one result. */
static inline uint32_t fold_block(const Var *v)
{
    return v->op == OP_COMPRESS ? fold_lanes(v) : fold_lanes(v) / v->size;
}
/** As Fold.op. */
static inline uint32_t fold_rule(const Var *v)
{
    return v->op == OP_REDUCE ? v->aux
                              : (uint32_t) (v->op == OP_DOT ? FOLD_DOT : FOLD_COMPRESS);
}

typedef struct WaitingFold {
    VarId id;       /* no reference: it may be none any more */
    uint64_t owner; /* ThreadState.serial */
} WaitingFold;

/** All of them that exist. */
typedef struct FoldTable {
    WaitingFold *list;
    uint32_t count, capacity;
    uint32_t live;
    uint64_t bytes; /* of their operands, whether these are in memory or not */
} FoldTable;
extern FoldTable fold_table;

/** A thread has made a new one. False: memory is out. */
bool fold_note(VarId id, uint64_t owner);
/** The next one of a thread, from place '*at' in the list on; 0: there are no more. */
VarId fold_next(uint64_t owner, uint32_t *at);
/** This one is evaluated or freed; it still has its operands. */
void fold_forget(const Var *v);
/** Append those that read an array, with a reference each. False: memory is out. */
bool fold_readers(VarId array, VarIds *out);
void fold_free(void);

#endif
