/*
 * region_expand.c -- see region_expand.h
 */
#include "trace/flow/region_expand.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "trace/eval/evaluate.h"
#include "trace/array/memory.h"
#include "trace/eval/effects.h"
#include "trace/eval/expand.h"
#include "trace/flow/region_replay.h"
#include "trace/flow/region_turns.h"

/* An array that the region writes to. */
typedef struct ScatterTarget {
    VarId array;
    ReduceOp op;
    uint32_t writes;
    uint64_t values; /* that a lane writes, of the write that has most */
    bool always;     /* copies are asked for */
    bool possible;   /* all writes are reductions of this kind, which may use copies */
} ScatterTarget;

typedef struct Search {
    Marks *marks; /* of arrays: which target; of regions: how often they run */
    ScatterTarget *targets;
    uint32_t count, capacity;
    VarIds regions; /* that are still to be looked into */
} Search;

static ScatterTarget *find_target(Search *s, VarId array, ReduceOp op)
{
    if (marks_has(s->marks, array))
        return &s->targets[marks_get(s->marks, array)];
    TRY(vec_reserve(&s->targets, &s->capacity, s->count + 1, sizeof(ScatterTarget)),
        NULL);
    TRY(marks_set(s->marks, array, s->count), NULL);
    s->targets[s->count] =
        (ScatterTarget){ .array = array, .op = op, .possible = true };
    return &s->targets[s->count++];
}

/* A write of one kind or another, that is made so often. */
static bool note_write(Search *s, VarId effect, uint32_t times)
{
    const Var *v = var_get(effect);
    uint32_t count, operands;
    const VarId *arrays = region_targets(effect, &count);
    if (!count) /* a print */
        return true;
    ReduceOp op = (ReduceOp) (v->aux & 0xff);
    ScatterTarget *target = find_target(s, arrays[0], op);
    TRY(target, false);
    var_operands(v, &operands);
    uint64_t values = v->op == OP_SCATTER_PACKET ? operands - 3 : 1;
    values *= times;
    bool asked = op_reduces((Op) v->op) && v->aux & EXPAND_FLAGS;
    target->writes++;
    target->possible &= asked && op == target->op;
    target->always |= asked && v->aux & EXPAND_ALWAYS;
    if (target->values < values)
        target->values = values;
    return true;
}

/* A region that begins so often. */
static bool note_region(Search *s, VarId region, uint32_t times)
{
    uint64_t all = (uint64_t) times * region_turns(region);
    all = all < REGION_MOST_TURNS ? all : REGION_MOST_TURNS;
    return marks_set(s->marks, region, (uint32_t) all) &&
           var_ids_add(&s->regions, region);
}

/* All writes of the region, and of those in it. */
static bool find_writes(Search *s, VarId region)
{
    bool ok = note_region(s, region, 1);
    while (ok && s->regions.count) {
        VarId inner = s->regions.ids[--s->regions.count];
        uint32_t times = marks_get(s->marks, inner);
        const Var *v = var_get(inner);
        for (uint32_t i = 0; i < v->region->body_count; ++i) {
            RegionList list = v->region->bodies[i].effects;
            const VarId *effects = region_list(v, list);
            for (uint32_t k = 0; ok && k < list.count; ++k)
                ok = var_get(effects[k])->op == OP_REGION
                         ? note_region(s, effects[k], times)
                         : note_write(s, effects[k], times);
        }
    }
    return ok;
}

static bool pays(const ScatterTarget *target, uint32_t lanes)
{
    const Var *array = var_get(target->array);
    return target->possible && array->op == OP_EVALUATED &&
           !expand_copies_of(target->array) &&
           (target->always || expand_pays(array, lanes * target->values));
}

/* Are the region's own writes to a target the only ones that are to come? Others are
 * queued, or in a body that another thread records. What else is pending are effects of
 * templates, as derivatives of loops have them, which are never queued. */
static bool alone(const ThreadState *ts, const ScatterTarget *target)
{
    if (var_pending(var_get(target->array)) == target->writes)
        return true;
    for (const ThreadState *t = state.threads; t; t = t->next)
        if (t != ts && record_keeps(t))
            return false;
    return !effects_writer(target->array);
}

/* The copies of a target, 0: there are none if all is 'ok'. Writes to it that are
 * queued already come first. */
static VarId make_copies(ThreadState *ts, const ScatterTarget *target, bool *ok)
{
    Buffer *memory = expand_memory(ts, target->array);
    *ok = memory && (alone(ts, target) || evaluate_all(ts));
    if (*ok && alone(ts, target)) {
        VarId copies = expand_make(ts, target->array, target->op, memory);
        *ok = copies != 0;
        return copies;
    }
    if (memory)
        buffer_release(memory);
    return 0;
}

/* Have the writes to one target go to its copies. Their distance is there first: once
 * nothing is queued for the copies, they are gone as soon as the lock is released. */
static bool redirect(ThreadState *ts, RegionReplay *r, const ScatterTarget *target)
{
    if (!expand_fits(var_get(target->array)))
        return true;
    VarId distance = memory_copies_distance(ts, target->array);
    TRY(distance, false);
    bool ok;
    VarId copies = make_copies(ts, target, &ok);
    if (copies)
        return region_replay_expand(r, target->array, copies, distance);
    var_dec(distance);
    return ok;
}

/* Copies that nobody writes to after all go away before the targets are written. */
static bool drop_copies(ThreadState *ts, const Search *s)
{
    for (uint32_t i = 0; i < s->count; ++i) {
        VarId copies = expand_copies_of(s->targets[i].array);
        if (copies && !var_get(copies)->pending)
            TRY(expand_collapse(ts, s->targets[i].array), false);
    }
    return true;
}

/* The region with copies as targets; a new reference. Some callables with local arrays
 * cannot be recorded again: what they are then would depend on values of their own
 * bodies. These keep their targets. */
static VarId record_again(ThreadState *ts, const Search *s, VarId region)
{
    RegionReplay r;
    const Var *v = var_get(region);
    TRY(region_replay_begin(&r, ts, v->region->scope), 0);
    r.unqueued = true;
    bool ok = true, fits = true;
    for (uint32_t i = 0; ok && i < s->count; ++i)
        if (pays(&s->targets[i], var_lanes(v)))
            ok = redirect(ts, &r, &s->targets[i]);
    VarId now = region;
    if (ok && r.target_count) {
        ok = region_replay_region(&r, region);
        now = ok ? region_replay_find(&r, region) : 0;
        fits = !now || !(var_get(now)->flags & ~var_get(region)->flags & VAR_SYMBOLIC);
    }
    now = !ok ? 0 : fits ? now : region;
    if (now)
        var_inc(now);
    region_replay_end(&r);
    if (fits || drop_copies(ts, s))
        return now;
    var_dec(now);
    return 0;
}

static VarId expand(ThreadState *ts, Search *s, VarId region)
{
    s->marks = marks_take();
    TRY(s->marks && find_writes(s, region), 0);
    bool any = false;
    for (uint32_t i = 0; i < s->count; ++i)
        any |= pays(&s->targets[i], var_lanes_of(region));
    if (any)
        return record_again(ts, s, region);
    var_inc(region);
    return region;
}

VarId region_expand(ThreadState *ts, VarId region)
{
    TRY(region, 0);
    if (record_keeps(ts) || !var_get(region)->region->target_count)
        return region;
    Search s = { 0 };
    VarId now = expand(ts, &s, region);
    marks_return(s.marks);
    alloc_free(s.targets);
    alloc_free(s.regions.ids);
    if (now && now != region)
        region_replaced(region);
    var_dec(region);
    return now;
}
