/*
 * evaluate_folds.c -- see evaluate_folds.h
 */
#include "trace/eval/evaluate_folds.h"

#include "trace/eval/evaluate.h"
#include "trace/graph/fold.h"
#include "trace/graph/region_walk.h"

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
            ok = fold_is(var_get(found)) ? evaluate_schedule(ts, found, NULL)
                                         : region_walk_operands(&w, found);
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
