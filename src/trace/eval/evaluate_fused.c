/*
 * evaluate_fused.c -- see evaluate_fused.h
 */
#include "trace/eval/evaluate_fused.h"

#include "base/error.h"
#include "trace/eval/evaluate.h"
#include "trace/eval/work.h"
#include "trace/graph/pending.h"
#include "trace/graph/region_walk.h"

bool evaluate_fused_schedule(ThreadState *ts)
{
    uint32_t at = 0;
    VarId id;
    while ((id = pending_next(ts->serial, &at)) != 0)
        TRY(evaluate_schedule(ts, id, NULL), false);
    return true;
}

bool evaluate_fused_waiting(ThreadState *ts)
{
    uint32_t at = 0;
    return ts->evaluating || !pending_next(ts->serial, &at) || evaluate_all(ts);
}

/* Of what a variable is computed from, what has a kernel of its own. */
static bool schedule_below(ThreadState *ts, RegionWalk *w, VarId id)
{
    const Var *v = var_get(id);
    if (pending_is(v))
        return evaluate_schedule(ts, id, NULL);
    if (v->op == OP_POINTER && region_walk_waits(v))
        return evaluate_schedule(ts, v->dep[0], NULL);
    return region_walk_operands(w, id);
}

bool evaluate_fused_below(ThreadState *ts, VarId id)
{
    RegionWalk w;
    TRY(region_walk_begin(&w), false);
    region_walk_from(&w, id);
    WalkEvent event;
    VarId found;
    bool ok = true;
    while (ok && (event = region_walk(&w, &found)) != WALK_DONE)
        if (event == WALK_MET)
            ok = schedule_below(ts, &w, found);
        else
            ok = event != WALK_FAILED;
    region_walk_end(&w);
    return ok && evaluate_all(ts);
}

bool evaluate_fused_of(ThreadState *ts, VarId array)
{
    VarIds readers = { 0 };
    bool ok = pending_readers(array, &readers), any = readers.count != 0;
    for (uint32_t i = 0; ok && i < readers.count; ++i)
        ok = evaluate_schedule(ts, readers.ids[i], NULL);
    var_ids_drop(&readers);
    return ok && (!any || evaluate_all(ts));
}

/* Where an operand of a reduction is, as a slot of the launch. */
static uint32_t fused_slot(const Assembly *b, uint32_t source)
{
    bool output = source != FUSED_NONE && !(source & FUSED_TILE) &&
                  source & ASSEMBLE_OUTPUT;
    return output ? b->operand_count - b->output_count + (source & ~ASSEMBLE_OUTPUT)
                  : source;
}

void evaluate_fused_place(const Assembly *b, FusedReduction *fused)
{
    for (uint32_t i = 0; i < b->fused_count; ++i) {
        fused[i] = b->fused[i];
        fused[i].source[0] = fused_slot(b, fused[i].source[0]);
        fused[i].source[1] = fused_slot(b, fused[i].source[1]);
        fused[i].target = fused_slot(b, ASSEMBLE_OUTPUT | fused[i].target);
    }
}

bool evaluate_fused_submit(ThreadState *ts, const Assembly *b)
{
    const FusedReduction *reduction = &b->fused[0];
    bool dot = reduction->op == REDUCE_DOT, prefix = reduction->op == REDUCE_PREFIX;
    Command *c = command_create(b->device, dot      ? COMMAND_DOT
                                           : prefix ? COMMAND_PREFIX
                                                    : COMMAND_REDUCE,
                                b->size, 2 + dot, 0);
    TRY(c, false);
    for (uint32_t i = 0; i < 2u + dot; ++i) {
        const LaunchArray *a = &b->operands[i];
        command_set_slot(c, i, a->buffer, 0, a->buffer->size, (SlotAccess) a->access);
    }
    if (dot) {
        c->dot.type = (VarType) reduction->type;
    } else {
        c->reduce.op = (ReduceOp) (prefix ? reduction->rule : reduction->op);
        c->reduce.type = (VarType) reduction->type;
        c->reduce.block = (size_t) reduction->block;
        c->reduce.stride = (size_t) reduction->stride;
        c->reduce.exclusive = reduction->flags & PREFIX_EXCLUSIVE;
        c->reduce.reverse = reduction->flags & PREFIX_REVERSE;
    }
    c->interrupts = b->interrupts;
    return work_submit(ts, c);
}

/* Is this a reduction that waits, or computed from some and little else? */
static bool is_foldable(VarId id, uint32_t size, uint32_t *budget)
{
    const Var *v = var_get(id);
    if (pending_is(v))
        return var_lanes(v) == size;
    if (!*budget || !(op_info[v->op].flags & F_FOLDS) || v->flags & VAR_WIDE)
        return false;
    --*budget;
    bool found = false;
    for (uint32_t k = 0; k < 4 && v->dep[k]; ++k) {
        const Var *operand = var_get(v->dep[k]);
        if (operand->op == OP_LITERAL || operand->op == OP_EVALUATED)
            continue;
        if (!is_foldable(v->dep[k], size, budget))
            return false;
        found = true;
    }
    return found;
}

bool evaluate_fused_may_wait(const ThreadState *ts, VarId source)
{
    enum { FEW = 8 };
    uint32_t budget = FEW;
    return pending_table.live && !record_is_symbolic(ts) &&
           is_foldable(source, var_lanes_of(source), &budget);
}
