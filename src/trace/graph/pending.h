/*
 * pending.h -- reductions that have not been performed
 *
 * A reduction (OP_REDUCE, OP_DOT; OP_PREFIX, a prefix reduction; OP_COMPRESS, whose
 * result nobody sees as a variable) is a variable like any other until it is evaluated:
 * by the kernel that computes its operands, which are then written nowhere
 * (schedule.h). These have as many entries as that kernel has lanes; how many make up
 * one result follows from the sizes, but for those of a prefix reduction.
 *
 * Until then it keeps its operands alive, and all that they are computed from. So it
 * waits until its thread evaluates something, whatever that is, but not longer. Who
 * would change an array in place that it reads has it performed first.
 *
 * Requires the graph lock.
 */
#ifndef TRACE_GRAPH_PENDING_H
#define TRACE_GRAPH_PENDING_H

#include "device/command.h"
#include "trace/graph/var.h"

static inline bool pending_is(const Var *v)
{
    return v->op == OP_REDUCE || v->op == OP_DOT || v->op == OP_COMPRESS ||
           v->op == OP_PREFIX;
}
/** A reduction of one or two variables, or a prefix reduction, within blocks, to be
 *  given to node_new(). 'stride': from an entry of a block to the next one. */
static inline Var pending_reduce(Op op, ReduceOp rule, const VarId *ids, uint32_t count,
                              uint32_t block, uint32_t stride)
{
    const Var *v = var_get(ids[0]);
    Var reduction = { .own_lanes = var_entries(v) / block,
                 .dep = { ids[0], count > 1 ? ids[1] : 0 } };
    reduction.head = var_head(op, (VarType) v->type, v->device, (uint32_t) rule);
    reduction.value.literal = stride == 1 ? 0 : stride;
    return reduction;
}
static inline Var pending_prefix(VarId id, ReduceOp op, uint32_t flags, uint32_t block)
{
    const Var *v = var_get(id);
    Var prefix = { .own_lanes = var_lanes(v), .dep = { id } };
    prefix.head = var_head(OP_PREFIX, (VarType) v->type, v->device,
                           (uint32_t) op | flags << 8);
    prefix.value.literal = block;
    return prefix;
}
/** Of REDUCE and PREFIX, which function was being recorded when it was made (the lower
 *  half of freezing_serial()), which size of it the block is, 0: all lanes; and which
 *  one the stride, 0: it is 1. */
static inline uint32_t pending_serial(const Var *v) { return v->aux >> 16; }
static inline uint32_t pending_block_origin(const Var *v)
{
    return v->value.literal >> 32 & UINT16_MAX;
}
static inline uint32_t pending_stride_origin(const Var *v)
{
    return (uint32_t) (v->value.literal >> 48);
}
static inline void pending_set_origin(Var *v, uint32_t serial, uint16_t block,
                                   uint16_t stride)
{
    v->aux |= serial << 16;
    v->value.literal |= (uint64_t) block << 32 | (uint64_t) stride << 48;
}
/** Lanes of the kernel that performs it. */
static inline uint32_t pending_lanes(const Var *v) { return var_lanes_of(v->dep[0]); }
/** Of these, how many make up one result, or a block. */
static inline uint32_t pending_block(const Var *v)
{
    switch (v->op) {
        case OP_COMPRESS: return pending_lanes(v);
        case OP_PREFIX: return (uint32_t) v->value.literal;
        default: return pending_lanes(v) / var_entries(v);
    }
}
/** How many lanes an entry of a block is from the next one. */
static inline uint32_t pending_stride(const Var *v)
{
    const uint32_t stride = (uint32_t) v->value.literal;
    return v->op == OP_REDUCE && stride ? stride : 1;
}
/** What a launch is to do that performs it; its sources are operands here. */
static inline FusedReduction pending_work(const Var *v)
{
    const bool prefix = v->op == OP_PREFIX;
    const uint32_t rule = v->aux & 255;
    return (FusedReduction) {
        .block = pending_block(v), .stride = pending_stride(v),
        .source = { v->dep[0], v->op == OP_DOT ? v->dep[1] : FUSED_NONE },
        .op = (uint8_t) (prefix                ? (uint32_t) REDUCE_PREFIX
                         : v->op == OP_DOT      ? (uint32_t) REDUCE_DOT
                         : v->op == OP_COMPRESS ? (uint32_t) REDUCE_COMPRESS
                                                : rule),
        .type = var_get(v->dep[0])->type,
        .rule = (uint8_t) (prefix ? rule : 0),
        .flags = (uint8_t) (prefix ? v->aux >> 8 & 255 : 0)
    };
}
/** References to its operand whose owners do not need that once it is performed. */
static inline uint32_t pending_spare(const Var *v)
{
    return v->op == OP_COMPRESS ? v->aux : 0;
}

typedef struct PendingReduction {
    VarId id;       /* no reference: it may be none any more */
    uint64_t owner; /* ThreadState.serial */
    uint32_t next[2]; /* of its operands: as PendingTable.readers */
} PendingReduction;

/** All of them that exist. */
typedef struct PendingTable {
    PendingReduction *list;
    uint32_t count, capacity;
    uint32_t live;
    /** By a few bits of an operand, whose it is: 1 + twice the place of the reduction
     *  in the list, + 1 for its second operand; 0: nobody's. Others are after it. */
    uint32_t *readers;
    uint32_t reader_count; /* of entries, a power of two, or 0 */
    uint64_t bytes; /* of their operands, whether these are in memory or not */
    VarIds arrays;  /* see pending_note_array(); no references */
} PendingTable;
extern PendingTable pending_table;

/** A thread has made a new one. False: out of memory. */
bool pending_note(VarId id, uint64_t owner);
/** The next one of a thread, from place '*at' in the list on; 0: there are no more. */
VarId pending_next(uint64_t owner, uint32_t *at);
/** This one is evaluated or freed; it still has its operands. */
void pending_forget(const Var *v);
/** Append those that read an array, with a reference each. False: out of memory. */
bool pending_readers(VarId array, VarIds *out);
/** Something is read by index that is a reduction, or computed from some, and waits.
 *  False: out of memory. */
bool pending_note_array(VarId id);
/** May there be arrays of that kind which wait? */
bool pending_arrays_wait(void);
void pending_free(void);

#endif
