/*
 * access.h -- what all accesses by index have in common: operand checks, the mask
 * stack, bounds checks
 *
 * Gathers, scatters and atomics (memory.c) and accesses of local memory (local.c) check
 * their operands one by one and then prepare the access, which combines the mask with
 * the mask stack and, in debug mode, adds a bounds check to it.
 *
 * Requires the graph lock.
 */
#ifndef TRACE_GRAPH_ACCESS_H
#define TRACE_GRAPH_ACCESS_H

#include "trace/graph/node.h"

/** Which function a bounds check belongs to. */
enum {
    CHECK_GATHER, CHECK_SCATTER, CHECK_INC, CHECK_EXCH, CHECK_CAS, CHECK_KAHAN,
    CHECK_LOCAL_READ, CHECK_LOCAL_WRITE, CHECK_CALL, CHECK_LOOP, CHECK_COUNT
};
/** Its name, for messages. */
extern const char *const access_functions[CHECK_COUNT];

typedef struct Access {
    ThreadState *ts;
    const char *function;
    uint32_t kind;       /* CHECK_... */
    uint8_t device;
    VarId array;         /* source or target, as the caller named it */
    VarId index, mask;   /* owned by the access once prepared */
    uint32_t size;       /* lanes */
    VarId wide;          /* borrowed: an operand of that size, if any has it */
} Access;

/** In Var.aux of a SCATTER or SCATTER_PACKET, beside operation and mode:
 *  ReduceModeParts. */
enum { ACCESS_PART = 1 << 18 };

static inline bool access_is_part(const Var *v)
{
    return (v->op == OP_SCATTER || v->op == OP_SCATTER_PACKET) && v->aux & ACCESS_PART;
}

/** All indices are valid. */
#define ACCESS_UNBOUNDED UINT64_MAX

/** Is this an array? It becomes that of the access, and its device, too. 'what' is for
 *  the message. */
bool access_check_array(Access *a, VarId array, const char *what);
bool access_check_index(const Access *a, VarId index);
/** Is this a mask, or 0? */
bool access_check_mask(const Access *a, VarId mask);
/** Is this a value of the target's type? */
bool access_check_value(const Access *a, VarId value, VarId target, const char *what);
/** Are index, mask, mask stack and values on the access's device, and have a common
 *  size? It becomes that of the access. */
bool access_check_sizes(Access *a, VarId index, VarId mask, const VarId *values,
                        uint32_t value_count);
/** Index and mask are fine: fill in size, the mask with what the mask stack adds, and,
 *  in debug mode, a check of 'index' against 'bound', if there is one. */
bool access_prepare(Access *a, VarId index, VarId mask, const VarId *values,
                    uint32_t value_count, uint64_t bound);
/** Let go of index and mask, if the access has them. */
void access_finish(const Access *a);
/** The active lanes in which a loop has made at most 'most' iterations (UInt32). If
 *  there are others when that is computed, the launch fails, in any mode: what it
 *  writes is marked so, with an error that has the name of the loop. A new reference,
 *  0: error recorded. */
VarId access_check_loop(ThreadState *ts, VarId number, uint32_t most, const char *name);

#endif
