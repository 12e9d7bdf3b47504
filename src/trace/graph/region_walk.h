/*
 * region_walk.h -- depth-first walks over variables, regions and their bodies
 *
 *     region_walk_from(&w, root);
 *     while ((event = region_walk(&w, &id)) >= WALK_MET)
 *         WALK_MET    'id' is met for the first time: the caller says with
 *                     region_walk_into() which operands come next, or none
 *         WALK_LEFT   these have been walked
 *
 * or, where nobody cares when a variable is left, with region_walk_next().
 *
 * What a region takes from outside are operands like those of any variable
 * (region_walk_operands()); its bodies are further ranges of its operands, which the
 * caller has walked or not: region_body(). Each WALK_LEFT tells by 'end' which range is
 * complete, so that a caller can put what it likes between.
 *
 * The marks are the walk's own, with values for the caller to use; there is no
 * recursion, and variables may be created on the way. Requires the graph lock.
 */
#ifndef TRACE_GRAPH_REGION_WALK_H
#define TRACE_GRAPH_REGION_WALK_H

#include "trace/graph/marks.h"
#include "trace/graph/region.h"

typedef enum WalkEvent {
    WALK_DONE,
    WALK_FAILED, /* out of memory */
    WALK_MET,
    WALK_LEFT
} WalkEvent;

/** Operands of a variable that are yet to be walked. */
typedef struct WalkRange {
    const VarId *ids;
    VarId id;
    uint32_t next, end;
} WalkRange;

typedef struct RegionWalk {
    Marks *marks;      /* of all that was met: 0 if the caller sets nothing else */
    WalkRange *ranges; /* innermost last */
    uint32_t depth, capacity;
    uint32_t end;      /* of the range that was left */
    VarId root;        /* to be met next, 0 = none */
} RegionWalk;

/** False: out of memory, nothing has to be released. */
bool region_walk_begin(RegionWalk *w);
void region_walk_end(RegionWalk *w);
/** End it, but have its marks, which marks_return() takes back. */
Marks *region_walk_take(RegionWalk *w);
bool region_walk_grow(RegionWalk *w);

/** Go on with this root; nothing happens if it has been met. */
static inline void region_walk_from(RegionWalk *w, VarId root) { w->root = root; }

static inline bool region_walk_push(RegionWalk *w, VarId id, const VarId *ids,
                                    uint32_t first, uint32_t end)
{
    if (w->depth == w->capacity && !region_walk_grow(w))
        return false;
    w->ranges[w->depth++] = (WalkRange) { ids, id, first, end };
    return true;
}

/** Walk operands 'first' to 'end' of a variable next, before those that are waiting.
 *  False: out of memory. */
static inline bool region_walk_into(RegionWalk *w, VarId id, uint32_t first,
                                    uint32_t end)
{
    uint32_t count;
    return region_walk_push(w, id, var_operands(var_get(id), &count), first, end);
}

/** Is the array behind a pointer yet to be computed? (See memory_pick().) */
static inline bool region_walk_waits(const Var *pointer)
{
    uint8_t op = pointer->dep[0] ? var_get(pointer->dep[0])->op : OP_EVALUATED;
    return op != OP_EVALUATED && op != OP_LITERAL && op != OP_UNDEFINED;
}

/** The same for all that a variable takes from outside; the array behind a pointer is
 *  in memory and not walked, unless it waits. */
static inline bool region_walk_operands(RegionWalk *w, VarId id)
{
    const Var *v = var_get(id);
    uint32_t count;
    const VarId *ids = var_operands(v, &count);
    if (v->op == OP_REGION)
        count = v->region->outside;
    else if (v->op == OP_POINTER)
        count = region_walk_waits(v);
    return region_walk_push(w, id, ids, 0, count);
}

/** The next variable of the innermost range that has not been met, or the root; 0 if
 *  there is none. It is not marked. */
static inline VarId region_walk_find(RegionWalk *w)
{
    VarId id = w->root;
    if (id) {
        w->root = 0;
        if (!marks_has(w->marks, id))
            return id;
    }
    if (!w->depth)
        return 0;
    WalkRange *range = &w->ranges[w->depth - 1];
    for (uint32_t next = range->next; next < range->end;) {
        id = range->ids[next++];
        if (id && !marks_has(w->marks, id)) {
            range->next = next;
            return id;
        }
    }
    return 0;
}

/** The variable that is left, where there is nothing to find in the innermost range. */
static inline VarId region_walk_pop(RegionWalk *w)
{
    const WalkRange *left = &w->ranges[--w->depth];
    w->end = left->end;
    return left->id;
}

/** The next event. */
static inline WalkEvent region_walk(RegionWalk *w, VarId *id)
{
    *id = region_walk_find(w);
    if (*id)
        return marks_set(w->marks, *id, 0) ? WALK_MET : WALK_FAILED;
    if (!w->depth)
        return WALK_DONE;
    *id = region_walk_pop(w);
    return WALK_LEFT;
}

/** The next variable that is met, 0 at the end. All of them must have existed when the
 *  walk began: there is a mark for each. */
static inline VarId region_walk_next(RegionWalk *w)
{
    Mark *marks = w->marks->of;
    const Mark met = { w->marks->stamp, 0 };
    VarId id = w->root;
    w->root = 0;
    if (id && marks[id].stamp != met.stamp) {
        marks[id] = met;
        return id;
    }
    for (; w->depth; w->depth--) {
        WalkRange *range = &w->ranges[w->depth - 1];
        for (uint32_t next = range->next; next < range->end;) {
            id = range->ids[next++];
            if (id && marks[id].stamp != met.stamp) {
                range->next = next;
                marks[id] = met;
                return id;
            }
        }
    }
    return 0;
}

#endif
