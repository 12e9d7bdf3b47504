/*
 * fold.h -- reductions that have not been performed
 *
 * A reduction (OP_REDUCE, OP_DOT; OP_COMPRESS, whose result nobody sees as a variable)
 * is a variable like any other until it is evaluated: by
 * the kernel that computes its operands, which are then written nowhere
 * (schedule.h). Its operands have as many entries as that kernel has lanes; how many
 * make up one result follows from the sizes.
 *
 * Until then it keeps its operands alive, which may be large arrays. Who would change
 * such an array in place has the reduction performed first.
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

/** All of them that exist. */
typedef struct FoldTable {
    VarIds list;    /* those, and some that are none any more; no references */
    uint32_t live;
    uint64_t bytes; /* of their operands, whether these are in memory or not */
} FoldTable;
extern FoldTable fold_table;

/** A new one. False: memory is out. */
bool fold_note(VarId id);
/** This one is evaluated or freed; it still has its operands. */
void fold_forget(const Var *v);
/** Append those that read an array, with a reference each. False: memory is out. */
bool fold_readers(VarId array, VarIds *out);
void fold_free(void);

#endif
