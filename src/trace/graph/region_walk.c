/*
 * region_walk.c -- see region_walk.h
 */
#include "trace/graph/region_walk.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "trace/graph/region.h"

bool region_walk_begin(RegionWalk *w)
{
    *w = (RegionWalk){ .marks = marks_take() };
    return w->marks != NULL;
}

void region_walk_end(RegionWalk *w)
{
    marks_return(w->marks);
    alloc_free(w->ranges);
    *w = (RegionWalk){ 0 };
}

bool region_walk_into(RegionWalk *w, VarId id, uint32_t first, uint32_t end)
{
    TRY(vec_reserve(&w->ranges, &w->capacity, w->depth + 1, sizeof(WalkRange)), false);
    w->ranges[w->depth++] = (WalkRange){ id, first, end };
    return true;
}

bool region_walk_operands(RegionWalk *w, VarId id)
{
    const Var *v = var_get(id);
    uint32_t count;
    var_operands(v, &count);
    if (v->op == OP_REGION)
        count = v->region->outside;
    else if (v->op == OP_POINTER)
        count = 0;
    return region_walk_into(w, id, 0, count);
}

/* The next variable that has not been met; 0 if a range has been left, or all. */
static VarId find_next(RegionWalk *w)
{
    VarId id = w->root;
    w->root = 0;
    if (id && !marks_has(w->marks, id))
        return id;
    if (!w->depth)
        return 0;
    WalkRange *range = &w->ranges[w->depth - 1];
    uint32_t count;
    const VarId *ids = var_operands(var_get(range->id), &count);
    while (range->next < range->end) {
        id = ids[range->next++];
        if (id && !marks_has(w->marks, id))
            return id;
    }
    return 0;
}

WalkEvent region_walk(RegionWalk *w, VarId *id)
{
    *id = find_next(w);
    if (*id)
        return marks_set(w->marks, *id, 0) ? WALK_MET : WALK_FAILED;
    if (!w->depth)
        return WALK_DONE;
    const WalkRange *left = &w->ranges[--w->depth];
    *id = left->id;
    w->end = left->end;
    return WALK_LEFT;
}
