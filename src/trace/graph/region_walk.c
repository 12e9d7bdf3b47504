/*
 * region_walk.c -- see region_walk.h
 */
#include "trace/graph/region_walk.h"

#include "base/error.h"
#include "base/vec.h"

bool region_walk_begin(RegionWalk *w)
{
    *w = (RegionWalk){ .marks = marks_take() };
    TRY(w->marks, false);
    w->ranges = w->marks->stack;
    w->capacity = w->marks->stack_capacity;
    w->marks->stack = NULL;
    w->marks->stack_capacity = 0;
    return true;
}

Marks *region_walk_take(RegionWalk *w)
{
    Marks *marks = w->marks;
    if (marks) {
        marks->stack = w->ranges;
        marks->stack_capacity = w->capacity;
    }
    *w = (RegionWalk){ 0 };
    return marks;
}

void region_walk_end(RegionWalk *w) { marks_return(region_walk_take(w)); }

bool region_walk_grow(RegionWalk *w)
{
    return vec_reserve(&w->ranges, &w->capacity, w->depth + 1, sizeof(WalkRange));
}
