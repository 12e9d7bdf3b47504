/*
 * freezing_loop.c -- loops that are run at once, in a recording; see freezing.h
 *
 * What an iteration does has to be the same each time, as far as it can be: so states
 * are arrays in memory of their own from the start, and none is literal, which would be
 * part of the kernels. What is done with them is noted by recording/recorder_loop.c.
 *
 * What an iteration traces and leaves unevaluated in an object that is not a state is
 * part of a kernel after the loop, as often as the loop went round this time. Scopes
 * tell: the recording is refused then. (Literals have none.)
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "trace/eval/evaluate.h"
#include "freeze/freezing_inside.h"
#include "trace/graph/node.h"

/* A literal state, in memory before the first iteration. It is computed, so that it is
 * not a literal. */
static VarId compute(ThreadState *ts, VarId id)
{
    const Var *v = var_get(id);
    uint32_t size = var_lanes(v);
    uint8_t type = v->type, device = v->device;
    freezing_hint(ts, freezing_symsize(ts, id), size);
    VarId mask = freezing_sized(ts, node_literal(ts, device, VarTypeBool, 1, size));
    TRY(mask, 0);
    Var same = { .op = OP_SELECT, .type = type, .device = device, .own_lanes = size,
                 .dep = { mask, id, id } };
    VarId result = node_new(ts, &same);
    var_dec(mask);
    if (result && !evaluate_schedule(ts, result, NULL))
        var_clear(&result);
    return result;
}

bool freezing_loop_begin(ThreadState *ts, Loop *loop)
{
    TRY(watch_records(ts), true);
    Recorder *r = &ts->freezing->recorder;
    recorder_loop_begin(r, loop, loop->count + 1);
    for (uint32_t i = 0; i < loop->count && !r->refused; ++i) {
        LoopState *s = &loop->states[i];
        if (s->local)
            recorder_refuse(r, "an evaluated loop has a local array");
        else if (var_get(s->initial)->op == OP_LITERAL) {
            VarId id = compute(ts, s->initial);
            TRY(id, false);
            s->given = s->initial; /* the reference moves */
            s->initial = s->array = id;
        }
    }
    return true;
}

/* Loops in this one are part of it. */
static bool note_scopes(ThreadState *ts, const Loop *loop)
{
    Freezing *f = ts->freezing;
    LoopScopes own = { loop->body.scope, state.scopes };
    while (f->over_count && f->over[f->over_count - 1].first > own.first)
        f->over_count--;
    TRY(vec_reserve(&f->over, &f->over_capacity, f->over_count + 1, sizeof(own)),
        false);
    f->over[f->over_count++] = own;
    return true;
}

bool freezing_loop_is_over(const ThreadState *ts, uint32_t scope)
{
    const Freezing *f = ts->freezing;
    uint32_t low = 0, high = f->over_count; /* the last one that begins before it */
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (f->over[middle].first <= scope)
            low = middle + 1;
        else
            high = middle;
    }
    return low && scope <= f->over[low - 1].last;
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
    if (!watch_records(ts))
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
    recorder_loop_test(r, loop, values, loop->count + 1,
                       v && v->op == OP_EVALUATED ? v->value.buffer : NULL, again);
    alloc_free(values);
    r->failed |= !again && !note_scopes(ts, loop);
}
