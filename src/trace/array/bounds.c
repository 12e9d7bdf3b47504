/*
 * bounds.c -- see bounds.h
 */
#include "trace/array/bounds.h"

#include <string.h>

#include "base/error.h"
#include "freeze/freezing.h"
#include "trace/eval/work.h"

static bool is_always_set(VarId mask)
{
    const Var *m = var_get(mask);
    if (m->op == OP_CHECK)
        m = var_get(m->dep[0]);
    return m->op == OP_LITERAL && m->value.literal;
}

/* Is an index known without running a kernel: a literal, one entry in memory, or that,
 * scaled and shifted? */
static bool is_known(const ThreadState *ts, VarId index, uint32_t depth)
{
    const Var *v = var_get(index);
    if (v->op == OP_LITERAL)
        return true;
    if (var_lanes(v) != 1 || watch_records(ts))
        return false;
    if (v->op == OP_EVALUATED)
        return !var_pending(v);
    if (!depth || (v->op != OP_ADD && v->op != OP_MUL && v->op != OP_FMA))
        return false;
    for (uint32_t k = 0; k < op_info[v->op].arity; ++k)
        if (!is_known(ts, v->dep[k], depth - 1))
            return false;
    return true;
}

/* That index modulo 2^32. False: error recorded. */
static bool known_index(const Access *a, VarId index, uint32_t *entry)
{
    const Var *v = var_get(index);
    if (v->op == OP_LITERAL) {
        *entry = (uint32_t) v->value.literal;
        return true;
    }
    if (v->op == OP_EVALUATED) {
        TRY(work_wait(a->ts, v->value.buffer, a->function), false);
        return buffer_read(var_get(index)->value.buffer, 0, entry, sizeof(*entry));
    }
    const Op op = (Op) v->op;
    VarId operands[3];
    uint32_t x[3] = { 0 };
    memcpy(operands, v->dep, sizeof(operands));
    for (uint32_t k = 0; k < op_info[op].arity; ++k)
        TRY(known_index(a, operands[k], &x[k]), false);
    *entry = op == OP_ADD ? x[0] + x[1] : x[0] * x[1] + x[2];
    return true;
}

bool bounds_check(Access *a, VarId array, uint32_t n)
{
    enum { DEPTH = 3 };
    ThreadState *ts = a->ts;
    uint32_t entry = 0;
    if (!is_always_set(a->mask) || !is_known(ts, a->index, DEPTH))
        return true;
    TRY(known_index(a, a->index, &entry), false);
    if (entry < var_entries(var_get(array)) / n)
        return freezing_exceeds(ts, array, ((size_t) entry + 1) * n - 1);
    const bool negative = var_get(a->index)->type == VarTypeInt32 && entry > INT32_MAX;
    return error_set(JIT_ERROR_ARGUMENT, "%s: position %lld is out of bounds for an "
                     "array with %u entries", a->function,
                     negative ? (long long) (int32_t) entry : (long long) entry,
                     node_number(ts, array) / n);
}
