/*
 * in_order.c -- see in_order.h
 */
#include "trace/array/in_order.h"

#include "base/error.h"
#include "freeze/freezing.h"
#include "trace/array/memory.h"
#include "trace/eval/evaluate.h"
#include "trace/eval/work.h"
#include "trace/graph/record.h"

bool in_order_applies(const ThreadState *ts, VarType type, ReduceOp op, ReduceMode mode)
{
    return state_flag(ts, JitFlagDeterministic) && type_info[type].is_float &&
           (op == ReduceOpAdd || op == ReduceOpMul) && mode != ReduceModeNoConflicts &&
           mode != ReduceModePermute;
}

bool in_order_check(const ThreadState *ts, const char *function)
{
    return !record_is_symbolic(ts) ||
           error_set(JIT_ERROR_UNSUPPORTED,
                     "%s: within a recorded loop, conditional or call sums and "
                     "products of floats by index have no fixed order, as "
                     "JitFlag.Deterministic asks for. Evaluate the loop, conditional "
                     "or call, or give ReduceMode.NoConflicts if no two lanes meet",
                     function);
}

/* The only entry of a literal, in memory of its own; the literal stays one. */
static VarId single_entry(ThreadState *ts, VarId id)
{
    const Var *v = var_get(id);
    VarId one = node_literal(ts, v->device, (VarType) v->type, v->value.literal, 1);
    TRY(one, 0);
    VarId entry = memory_duplicate(ts, one);
    var_dec(one);
    return entry;
}

static VarId in_memory(ThreadState *ts, VarId id)
{
    if (var_get(id)->op == OP_LITERAL)
        return single_entry(ts, id);
    TRY(evaluate_var(ts, id), 0);
    var_inc(id);
    return id;
}

bool in_order_begin(InOrder *o, const Access *a, VarId value)
{
    *o = (InOrder) { 0 };
    const VarId ids[] = { a->index, value, a->mask };
    const Var *mask = var_get(a->mask);
    const bool all = mask->op == OP_LITERAL && mask->value.literal;
    o->none = mask->op == OP_LITERAL && !mask->value.literal;
    for (uint32_t i = 0; i < 3; ++i) /* one kernel if possible */
        TRY(evaluate_schedule(a->ts, ids[i], NULL), false);
    for (uint32_t i = 0; i < 3; ++i)
        if (var_lanes_of(ids[i]) == a->size && !o->whole)
            var_inc(o->whole = ids[i]);
    o->index = in_memory(a->ts, a->index);
    o->value = o->index ? in_memory(a->ts, value) : 0;
    o->mask = o->value && !all ? in_memory(a->ts, a->mask) : 0;
    return o->value && (all || o->mask);
}

static void set_slot(Command *c, uint32_t slot, VarId id, SlotAccess access)
{
    Buffer *buffer = var_get(id)->value.buffer;
    command_set_slot(c, slot, buffer, 0, var_bytes(var_get(id)), access);
}

bool in_order_add(const InOrder *o, const Access *a, VarId target, ReduceOp op)
{
    if (o->none || !a->size)
        return true;
    const Var *v = var_get(target);
    Command *c = command_create(var_device(v), COMMAND_ORDERED, a->size,
                                o->mask ? 4 : 3, 0);
    TRY(c, false);
    set_slot(c, 0, o->index, SLOT_READ);
    set_slot(c, 1, o->value, SLOT_READ);
    set_slot(c, 2, target, SLOT_READ_WRITE);
    if (o->mask)
        set_slot(c, 3, o->mask, SLOT_READ);
    c->ordered.op = op;
    c->ordered.type = (VarType) v->type;
    freezing_size_of(a->ts, o->whole);
    return work_perform(a->ts, c);
}

void in_order_finish(InOrder *o)
{
    const VarId ids[] = { o->index, o->value, o->mask, o->whole };
    for (uint32_t i = 0; i < 4; ++i)
        if (ids[i])
            var_dec(ids[i]);
}
