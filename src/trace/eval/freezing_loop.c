/*
 * freezing_loop.c -- loops that are run at once, in a recording; see freezing.h
 *
 * What an iteration does has to be the same each time, as far as it can be: so states
 * are arrays in memory of their own from the start, and none is literal (which would be
 * part of the kernels) or has one entry for all lanes (which the first iteration would
 * change). What is done with them is noted by freeze/recorder_loop.c.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "trace/eval/evaluate.h"
#include "trace/eval/freezing_inside.h"
#include "trace/graph/node.h"

/* The value of a variable, of one entry or a literal, in as many as another one has. It
 * is computed, so that it is no literal. */
static VarId widen(ThreadState *ts, VarId id, VarId like)
{
    const Var *v = var_get(id);
    uint32_t size = var_get(like)->size;
    uint8_t type = v->type, device = v->device;
    freezing_hint(ts, freezing_width(ts, like), size);
    VarId mask = freezing_sized(ts, node_literal(ts, device, VarTypeBool, 1, size));
    TRY(mask, 0);
    Var wide = { .op = OP_SELECT, .type = type, .device = device, .size = size,
                 .dep = { mask, id, id } };
    VarId result = node_new(ts, &wide);
    var_dec(mask);
    if (result && !evaluate_schedule(ts, result, NULL))
        var_clear(&result);
    return result;
}

/* A state before the first iteration; a new reference. */
static VarId prepare(ThreadState *ts, VarId id, VarId widest)
{
    const Var *v = var_get(id);
    if (v->op != OP_UNDEFINED && v->size == 1 && var_get(widest)->size != 1)
        return widen(ts, id, widest);
    if (v->op == OP_LITERAL)
        return widen(ts, id, id);
    var_inc(id);
    return id;
}

bool freezing_loop_begin(ThreadState *ts, Loop *loop)
{
    TRY(freezing_records(ts), true);
    Recorder *r = &ts->freezing->recorder;
    VarId widest = loop->mask;
    recorder_loop_begin(r, loop->count + 1);
    for (uint32_t i = 0; i < loop->count; ++i) {
        VarId id = loop->states[i].initial;
        if (loop->states[i].local)
            recorder_refuse(r, "an evaluated loop has a local array");
        else if (var_get(id)->size > var_get(widest)->size)
            widest = id;
    }
    var_inc(widest);
    bool ok = true;
    for (uint32_t i = 0; ok && i < loop->count && !r->refused; ++i) {
        LoopState *s = &loop->states[i];
        VarId id = prepare(ts, s->initial, widest);
        ok = id != 0;
        if (!ok)
            break;
        if (id != s->initial)
            s->given = s->initial; /* the reference moves */
        else
            var_dec(id);
        s->initial = s->array = id;
        s->size = var_get(id)->size;
    }
    var_dec(widest);
    return ok;
}

static LoopValue value_of(VarId id)
{
    const Var *v = var_get(id);
    return v->op == OP_EVALUATED ? (LoopValue) { v->value.buffer, 0 }
           : v->op == OP_LITERAL ? (LoopValue) { NULL, v->value.literal }
                                 : (LoopValue) { 0 };
}

void freezing_loop_test(ThreadState *ts, const Loop *loop, VarId reduced, bool again)
{
    if (!freezing_records(ts))
        return;
    Recorder *r = &ts->freezing->recorder;
    LoopValue *values = alloc_zero(loop->count + 1, sizeof(LoopValue));
    if (!values) {
        r->failed = true;
        return;
    }
    for (uint32_t i = 0; i < loop->count; ++i)
        if (loop->states[i].initial && !loop->states[i].local)
            values[i] = value_of(loop->states[i].initial);
    values[loop->count] = value_of(loop->active[0]);
    const Var *v = reduced ? var_get(reduced) : NULL;
    freezing_note_decision(ts);
    recorder_loop_test(r, values, loop->count + 1,
                       v && v->op == OP_EVALUATED ? v->value.buffer : NULL, again);
    alloc_free(values);
}
