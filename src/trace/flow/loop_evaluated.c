/*
 * loop_evaluated.c -- loops without JitFlagSymbolicLoops: one evaluation an iteration
 *
 *     active = mask
 *     repeat
 *         active = active & condition;  evaluate active and the states
 *         no lane active?  leave
 *         body, with 'active' on the mask stack
 *         state = active ? next state : state
 *
 * The caller's code is the same as for a loop that is recorded. Its states are real
 * values here, so arrays that it reads and writes by index need no special care, except
 * that they must not be blended: what was written to is passed on as it is. Local
 * arrays go from one iteration to the next as their entries, in memory.
 * loop_compress.c takes lanes out that are done.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "trace/array/array.h"
#include "trace/array/reduction.h"
#include "trace/eval/evaluate.h"
#include "freeze/freezing.h"
#include "trace/eval/work.h"
#include "trace/flow/loop.h"
#include "trace/graph/arith.h"
#include "trace/graph/local.h"

bool loop_evaluated_begin(ThreadState *ts, Loop *loop)
{
    /* Writes that are kept until later are of no use to loop_compress.c, and local
     * arrays cannot be gathered from. */
    loop->compress = state_flag(ts, JitFlagCompressLoops) && !record_keeps(ts);
    loop->compress &= !watch_records(ts); /* iterations would differ */
    for (uint32_t i = 0; i < loop->count; ++i)
        loop->compress &= !loop->states[i].local;
    TRY(freezing_loop_begin(ts, loop), false);
    TRY(record_open(ts, &loop->body, BODY_EVALUATED, loop->body.device, 0), false);
    loop->active[0] = loop->mask;
    var_inc(loop->mask);
    return true;
}

/* Compute all states (literals stay literals) and the mask. */
static bool evaluate_states(ThreadState *ts, const Loop *loop)
{
    for (uint32_t i = 0; i < loop->count; ++i) {
        VarId id = loop->states[i].initial;
        if (id && !loop->states[i].local && var_get(id)->op != OP_UNDEFINED)
            TRY(evaluate_schedule(ts, id, NULL), false);
    }
    TRY(evaluate_schedule(ts, loop->active[0], NULL), false);
    TRY(!loop->lanes || evaluate_schedule(ts, loop->lanes, NULL), false);
    return evaluate_all(ts);
}

/* A frozen function reads it again each time, and goes on accordingly. */
static bool read_recorded(ThreadState *ts, VarId id, uint8_t *value)
{
    if (var_get(id)->op == OP_LITERAL) {
        *value = (uint8_t) var_get(id)->value.literal;
        return true;
    }
    TRY(evaluate_var(ts, id), false);
    Buffer *buffer = var_get(id)->value.buffer;
    TRY(work_wait(ts, buffer, "jit_var_loop_cond()"), false);
    return buffer_read(buffer, 0, value, sizeof(*value));
}

static bool is_any_active(ThreadState *ts, const Loop *loop, VarId active, bool *any)
{
    VarId reduced = reduction_any(ts, active);
    TRY(reduced, false);
    uint8_t value = 0;
    bool ok = watch_records(ts) ? read_recorded(ts, reduced, &value)
                                   : array_read(ts, reduced, 0, &value);
    *any = value != 0;
    if (ok)
        freezing_loop_test(ts, loop, reduced, *any);
    var_dec(reduced);
    return ok;
}

bool loop_evaluated_condition(ThreadState *ts, Loop *loop)
{
    VarId active =
        arith_op(ts, OP_AND, (VarId[]){ loop->active[0], loop->condition });
    TRY(active, false);
    var_dec(loop->active[0]);
    loop->active[0] = active;
    bool any;
    TRY(evaluate_states(ts, loop), false);
    TRY(loop->compress ? loop_compress_find(ts, loop, active, &any)
                       : is_any_active(ts, loop, active, &any), false);
    loop->never = !any;
    return loop->never ||
           record_set_active(ts, &loop->body, active, "jit_var_loop_cond()");
}

/* The state after an iteration; a new reference. Of a local array that has changed,
 * the entries, which are to be computed. */
static VarId blend(ThreadState *ts, const Loop *loop, const LoopState *s, VarId next,
                   VarIds *entries)
{
    if ((s->whole && next == s->array) || next == s->initial) {
        var_inc(next);
        return next;
    }
    if (!s->local)
        return arith_op(ts, OP_SELECT, (VarId[]){ loop->active[0], next, s->initial });
    TRY(local_select(ts, loop->active[0], next, s->initial, entries), 0);
    for (uint32_t k = 0; k < entries->count; ++k)
        TRY(evaluate_schedule(ts, entries->ids[k], NULL), 0);
    var_inc(next);
    return next;
}

/* Local arrays cannot be computed: from one iteration to the next their entries are
 * arrays in memory, and there is a new one with these. */
static bool renew_locals(ThreadState *ts, const Loop *loop, VarIds *entries,
                         VarId *next)
{
    bool any = false;
    for (uint32_t i = 0; i < loop->count; ++i)
        any |= entries[i].count != 0;
    TRY(!any || evaluate_all(ts), false);
    for (uint32_t i = 0; any && i < loop->count; ++i) {
        if (!entries[i].count)
            continue;
        VarId made = local_join_all(ts, &entries[i]);
        TRY(made, false);
        var_dec(next[i]);
        next[i] = made;
    }
    return true;
}

static void drop_ids(VarId *ids, uint32_t count)
{
    while (count-- > 0)
        var_dec(ids[count]);
    alloc_free(ids);
}

/* All states after an iteration, one reference each; NULL: error recorded. */
static VarId *blend_all(ThreadState *ts, const Loop *loop, const VarId *values)
{
    VarId *next = alloc_get((loop->count + 1) * sizeof(VarId));
    VarIds *entries = alloc_zero(loop->count + 1, sizeof(VarIds));
    uint32_t made = 0;
    while (next && entries && made < loop->count &&
           (next[made] = blend(ts, loop, &loop->states[made], values[made],
                               &entries[made])) != 0)
        made++;
    bool ok = next && entries && made == loop->count &&
              renew_locals(ts, loop, entries, next);
    for (uint32_t i = 0; entries && i < loop->count; ++i)
        var_ids_drop(&entries[i]);
    alloc_free(entries);
    if (ok)
        return next;
    drop_ids(next, next ? made : 0);
    return NULL;
}

bool loop_evaluated_end(ThreadState *ts, Loop *loop, VarId *values)
{
    /* Lanes that have been taken out need no mask. */
    VarId outside = 0;
    if (loop->lanes) {
        outside = node_literal(ts, loop->body.device, VarTypeBool, 1, 1);
        TRY(outside, false);
    }
    bool ok = record_set_active(ts, &loop->body, outside, "jit_var_loop_end()");
    var_drop(outside);
    ok = ok && (!loop->compress || loop_compress_note(ts, loop, values));
    VarId *next = ok ? blend_all(ts, loop, values) : NULL;
    TRY(next, false);
    for (uint32_t i = 0; i < loop->count; ++i) {
        LoopState *s = &loop->states[i];
        var_drop(s->initial);
        var_dec(values[i]);
        values[i] = s->initial = s->array = next[i];
        var_inc(next[i]);
        s->whole = false;
        var_ids_drop(&s->written);
        var_clear(&s->given);
        s->size = var_lanes_of(next[i]);
    }
    alloc_free(next);
    var_dec(loop->condition);
    loop->condition = 0;
    return true;
}
