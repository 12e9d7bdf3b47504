/*
 * simplify.h -- algebraic identities
 *
 * Only identities that keep every bit are applied; with JitFlagFastMath also x + 0 = x
 * and x * 0 = 0 for floats. Requires the graph lock.
 */
#ifndef TRACE_GRAPH_SIMPLIFY_H
#define TRACE_GRAPH_SIMPLIFY_H

#include "trace/graph/node.h"

/** What a literal is. */
enum {
    LITERAL_ZERO = 1,       /* all bits are 0 */
    LITERAL_MINUS_ZERO = 2, /* of floats */
    LITERAL_ONE = 4,        /* the number, or a mask that is true */
    LITERAL_POWER = 8,      /* of two, as an integer */
    LITERAL_ONES = 16,      /* all bits are 1 */
    LITERAL_OTHER = 32      /* whatever it is */
};

typedef struct SimplifyCase SimplifyCase;

/** The identities of one operation. A rule is asked for operands of these kinds, for
 *  equal operands, and for each operation with one operand. */
typedef struct SimplifyRow {
    VarId (*rule)(const SimplifyCase *);
    uint8_t floats, others; /* kinds of literals that it looks for, by their types */
} SimplifyRow;

extern const SimplifyRow simplify_rows[OP_COUNT];

/** What a number is, of the kinds that the identities of an operation look for. */
static inline uint32_t simplify_number_kinds(Op op, VarType type, uint64_t bits)
{
    const TypeInfo *info = &type_info[type];
    const SimplifyRow *row = &simplify_rows[op];
    uint32_t wanted = info->is_float ? row->floats : row->others, kinds = LITERAL_OTHER;
    if (!wanted)
        return 0;
    if (bits == 0)
        return wanted & (LITERAL_ZERO | LITERAL_OTHER);
    if (bits == info->one)
        kinds |= LITERAL_ONE;
    if (!(bits & (bits - 1))) {
        if (!info->is_float)
            kinds |= LITERAL_POWER;
        else if (bits > type_mask(type) >> 1)
            kinds |= LITERAL_MINUS_ZERO;
    }
    if (!(bits & (bits + 1)) && bits == type_mask(type))
        kinds |= LITERAL_ONES;
    return kinds & wanted;
}

/** The same of an operand; 0 if it is not a literal. */
static inline uint32_t simplify_kinds(Op op, const Var *v)
{
    return v->op == OP_LITERAL
               ? simplify_number_kinds(op, (VarType) v->type, v->value.literal)
               : 0;
}

/** simplify_op() for an operation that has a row. */
VarId simplify_by(const SimplifyRow *row, ThreadState *ts, Op op, VarType type,
                  uint32_t size, const VarId *args);

/** A variable of the given size equal to op(args) but cheaper (owned by the caller), 0
 *  if no identity applies (or out of memory: the operation itself will then fail
 *  too). */
static inline VarId simplify_op(ThreadState *ts, Op op, VarType type, uint32_t size,
                                const VarId *args)
{
    const SimplifyRow *row = &simplify_rows[op];
    return row->rule ? simplify_by(row, ts, op, type, size, args) : 0;
}

#endif
