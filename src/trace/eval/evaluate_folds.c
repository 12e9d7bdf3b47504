/*
 * evaluate_folds.c -- see evaluate_folds.h
 */
#include "trace/eval/evaluate_folds.h"

#include "base/error.h"
#include "trace/eval/evaluate.h"
#include "trace/eval/work.h"
#include "trace/graph/fold.h"
#include "trace/graph/region_walk.h"

bool evaluate_folds_schedule(ThreadState *ts)
{
    uint32_t at = 0;
    VarId id;
    while ((id = fold_next(ts->serial, &at)) != 0)
        TRY(evaluate_schedule(ts, id, NULL), false);
    return true;
}

bool evaluate_folds_waiting(ThreadState *ts)
{
    uint32_t at = 0;
    return ts->evaluating || !fold_next(ts->serial, &at) || evaluate_all(ts);
}

/* Of what a variable is computed from, what has a kernel of its own. */
static bool schedule_below(ThreadState *ts, RegionWalk *w, VarId id)
{
    const Var *v = var_get(id);
    if (fold_is(v))
        return evaluate_schedule(ts, id, NULL);
    if (v->op == OP_POINTER && region_walk_waits(v))
        return evaluate_schedule(ts, v->dep[0], NULL);
    return region_walk_operands(w, id);
}

bool evaluate_folds_below(ThreadState *ts, VarId id)
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

bool evaluate_folds_of(ThreadState *ts, VarId array)
{
    VarIds readers = { 0 };
    bool ok = fold_readers(array, &readers), any = readers.count != 0;
    for (uint32_t i = 0; ok && i < readers.count; ++i)
        ok = evaluate_schedule(ts, readers.ids[i], NULL);
    var_ids_drop(&readers);
    return ok && (!any || evaluate_all(ts));
}

/* Where an operand of a reduction is, as a slot of the launch. */
static uint32_t fold_slot(const Assembly *b, uint32_t source)
{
    bool output = source != FOLD_NONE && !(source & FOLD_TILE) &&
                  source & ASSEMBLE_OUTPUT;
    return output ? b->operand_count - b->output_count + (source & ~ASSEMBLE_OUTPUT)
                  : source;
}

void evaluate_folds_place(const Assembly *b, Fold *folds)
{
    for (uint32_t i = 0; i < b->fold_count; ++i) {
        folds[i] = b->folds[i];
        folds[i].source[0] = fold_slot(b, folds[i].source[0]);
        folds[i].source[1] = fold_slot(b, folds[i].source[1]);
        folds[i].target = fold_slot(b, ASSEMBLE_OUTPUT | folds[i].target);
    }
}

bool evaluate_folds_submit(ThreadState *ts, const Assembly *b)
{
    const Fold *fold = &b->folds[0];
    bool dot = fold->op == FOLD_DOT, prefix = fold->op == FOLD_PREFIX;
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
        c->dot.type = (VarType) fold->type;
    } else {
        c->reduce.op = (ReduceOp) (prefix ? fold->rule : fold->op);
        c->reduce.type = (VarType) fold->type;
        c->reduce.block = (size_t) fold->block;
        c->reduce.stride = (size_t) fold->stride;
        c->reduce.exclusive = fold->flags & PREFIX_EXCLUSIVE;
        c->reduce.reverse = fold->flags & PREFIX_REVERSE;
    }
    c->interrupts = b->interrupts;
    return work_submit(ts, c);
}

/* Is this a reduction that waits, or computed from some and little else? */
static bool is_of_folds(VarId id, uint32_t size, uint32_t *budget)
{
    const Var *v = var_get(id);
    if (fold_is(v))
        return var_lanes(v) == size;
    if (!*budget || !(op_info[v->op].flags & F_FOLDS) || v->flags & VAR_WIDE)
        return false;
    --*budget;
    bool found = false;
    for (uint32_t k = 0; k < 4 && v->dep[k]; ++k) {
        const Var *operand = var_get(v->dep[k]);
        if (operand->op == OP_LITERAL || operand->op == OP_EVALUATED)
            continue;
        if (!is_of_folds(v->dep[k], size, budget))
            return false;
        found = true;
    }
    return found;
}

bool evaluate_folds_may_wait(const ThreadState *ts, VarId source)
{
    enum { FEW = 8 };
    uint32_t budget = FEW;
    return fold_table.live && !record_is_symbolic(ts) &&
           is_of_folds(source, var_lanes_of(source), &budget);
}
