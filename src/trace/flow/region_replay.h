/*
 * region_replay.h -- recording a body again with other inputs
 *
 * What a loop, conditional or callable computes is recorded once more, where the
 * calling thread is recording now, from variables that stand for what the body was made
 * from. Regions in it, calls, effects, prints and local arrays are made anew;
 * operations are folded and simplified as if they were traced for the first time.
 *
 *     region_replay_begin(&r, ts, scope);
 *     region_replay_set(&r, old, substitute);        placeholders, values from outside
 *     region_replay(&r, root);                       or region_replay_body(), _region()
 *     region_replay_find(&r, old)                    where a variable went
 *     region_replay_end(&r);
 *
 * A region keeps its list of states, inputs and outputs, so that number k of the new
 * one is what number k of the old one was, also where a state turns out to be constant.
 * Effects are recorded in their old order, and so are accesses of local arrays, as far
 * as one call of these functions records them.
 *
 * Requires the graph lock.
 */
#ifndef TRACE_FLOW_REGION_REPLAY_H
#define TRACE_FLOW_REGION_REPLAY_H

#include "trace/graph/region.h"
#include "trace/graph/region_walk.h"

/** Where a variable went. */
typedef struct ReplayCopy {
    VarId id;         /* owned; 0: a region that is not there any more, ... */
    uint32_t instead; /* ... but its body number 'instead' - 1, or its inputs (0) */
} ReplayCopy;

/** Writes to an array that go to another one. */
typedef struct ReplayTarget {
    VarId from, to; /* borrowed */
    VarId distance; /* 'to' is private copies, which are this many entries apart: a
                       UInt32; a reference, 0: it is not */
} ReplayTarget;

/** Accesses and regions, by when they were recorded. */
typedef struct ReplaySerial {
    uint64_t before;
    VarId id;
} ReplaySerial;

/** Scopes that bodies had, also of regions that are gone, and what they are
 *  now. */
typedef struct ReplayScope {
    uint32_t before, now;
    bool nowhere; /* holds for variables that belong to no body */
} ReplayScope;

/** Scopes of variables that were traced while no part of what is replayed was: they are
 *  outside of it. */
typedef struct ReplayGap {
    uint32_t from, to; /* the first one, one past the last */
} ReplayGap;

typedef struct ReplayFrame ReplayFrame;

typedef struct RegionReplay {
    ThreadState *ts;
    uint32_t scope;        /* variables of a lower one stay what they are */
    const ReplayGap *gaps; /* so do those of these; the caller's */
    uint32_t gap_count;
    bool in_place;         /* so do those of the body whose operands do */
    bool unqueued;         /* the outermost regions are not recorded as effects */
    uint32_t effect_scope; /* effects of bodies with a lower one are left out */
    RegionWalk walk;       /* values of marks: in copies[] */
    ReplayCopy *copies;
    ReplayTarget *targets;
    ReplaySerial *serials;
    ReplayScope *scopes;
    VarId *operands;       /* of the variable that is being made */
    ReplayFrame *open;     /* regions that are being recorded, innermost first */
    uint32_t copy_count, copy_capacity, target_count, target_capacity;
    uint32_t serial_count, serial_capacity, scope_count, scope_capacity;
    uint32_t operand_capacity;
} RegionReplay;

/** Begin to record again what belongs to this scope or to one further in; what is
 *  outside stays as it is. False: out of memory; nothing has to be released. */
bool region_replay_begin(RegionReplay *r, ThreadState *ts, uint32_t scope);
/** Let go of the variables that the replay holds. */
void region_replay_end(RegionReplay *r);

/** 'now' (borrowed until the end) takes the place of a variable, which no root has
 *  needed yet. An array that is accessed by index can be replaced by one in memory with
 *  as many entries. False: error recorded. */
bool region_replay_set(RegionReplay *r, VarId old, VarId now);
/** Writes to this array go to another one with as many entries. */
bool region_replay_redirect(RegionReplay *r, VarId from, VarId to);
/** Scatter-reductions to this array, which all of its writes have to be, go to its
 *  private copies (expand.h), 'distance' entries apart (a UInt32, consumed). */
bool region_replay_expand(RegionReplay *r, VarId from, VarId copies, VarId distance);

/** Record what this variable or effect needs, and itself. Effects that are met go to
 *  the body that is open. False: error recorded; recordings that are open stay so. */
bool region_replay(RegionReplay *r, VarId root);
/** An effect of the open body, in place: it is recorded there, or what has taken
 *  its place is. */
bool region_replay_effect(RegionReplay *r, VarId effect);
/** The effects and outputs of one body of a region, whose placeholders have
 *  substitutes. */
bool region_replay_body(RegionReplay *r, VarId region, uint32_t body);
/** The same for a body that is not a region's. 'out' receives the outputs. */
bool region_replay_recorded(RegionReplay *r, const RecordedBody *body,
                            RecordedBody *out);
/** A whole region, in a replay that was begun with its scope. */
bool region_replay_region(RegionReplay *r, VarId region);

/** The array that writes to this one go to (borrowed). */
VarId region_replay_target(const RegionReplay *r, VarId array);
/** Input number k of a region, as it is now (borrowed). */
VarId region_replay_input(const RegionReplay *r, const Var *region, uint32_t k);
/** What a variable has become (borrowed): 0 if nothing that was recorded needed it. */
VarId region_replay_find(const RegionReplay *r, VarId old);
/** Result number k of a region that was recorded again, or the value that it turned out
 *  to be: a new reference. 0: error recorded. */
VarId region_replay_result(RegionReplay *r, VarId region, uint32_t k);

#endif
