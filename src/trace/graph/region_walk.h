/*
 * region_walk.h -- depth-first walks over variables, regions and their bodies
 *
 *     region_walk_from(&w, root);
 *     while ((event = region_walk(&w, &id)) >= WALK_MET)
 *         WALK_MET    'id' is met for the first time: the caller says with
 *                     region_walk_into() which operands come next, or none
 *         WALK_LEFT   these have been walked
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

typedef enum WalkEvent {
    WALK_DONE,
    WALK_FAILED, /* memory is out */
    WALK_MET,
    WALK_LEFT
} WalkEvent;

/** Operands of a variable that are yet to be walked. */
typedef struct WalkRange {
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

/** False: memory is out, nothing has to be released. */
bool region_walk_begin(RegionWalk *w);
void region_walk_end(RegionWalk *w);
/** Go on with this root; nothing happens if it has been met. */
static inline void region_walk_from(RegionWalk *w, VarId root) { w->root = root; }
/** Walk operands 'first' to 'end' of a variable next, before those that are waiting.
 *  False: memory is out. */
bool region_walk_into(RegionWalk *w, VarId id, uint32_t first, uint32_t end);
/** The same for all that a variable takes from outside; the array behind a pointer is
 *  in memory and not walked. */
bool region_walk_operands(RegionWalk *w, VarId id);
/** The next event. */
WalkEvent region_walk(RegionWalk *w, VarId *id);

#endif
