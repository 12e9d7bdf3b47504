/*
 * schedule.c -- see schedule.h
 *
 * Effects are placed first, in order of creation. Lanes of a kernel run in no
 * particular order, so two writes into one array share a kernel only if that cannot
 * matter: they are reductions by the same operation, or they touch different entries
 * (as their indices, or their caller says: ReduceModeParts), or each entry is touched
 * by one lane only, and by the same one in both. Otherwise the second goes to a later
 * group. The result of an atomic operation exists in its kernel
 * only, so whatever needs it, value or effect, joins the group of the atomic; there,
 * writes that get in each other's way are the caller's responsibility.
 *
 * A region with side effects is an effect that may write several arrays. It shares none
 * of them with other writes in its group. Its results are stored when it runs, so what
 * needs them joins its group or a later one.
 */
#include "trace/eval/schedule.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "device/device.h"
#include "trace/graph/access.h"
#include "trace/graph/pending.h"
#include "trace/graph/region.h"
#include "trace/graph/region_walk.h"
#include "trace/graph/watch.h"

static Group *add_group(Schedule *s, uint32_t size, uint8_t device)
{
    TRY(vec_reserve(&s->groups, &s->group_capacity, s->group_count + 1, sizeof(Group)),
        NULL);
    Group *group = &s->groups[s->group_count++];
    memset(group, 0, sizeof(*group));
    group->size = size;
    group->device = device;
    return group;
}

/* Is something computed by this group's kind of kernel? */
static bool suits(const Group *group, const Var *v)
{
    return group->size == var_lanes(v) && group->device == v->device;
}

/* The last group that suits, at or after 'from'. */
static Group *find_group(Schedule *s, const Var *v, uint32_t from)
{
    for (uint32_t i = s->group_count; i > from; --i)
        if (suits(&s->groups[i - 1], v))
            return &s->groups[i - 1];
    return add_group(s, var_lanes(v), v->device);
}

/* May a reduction join those that are there? */
static bool takes_reduction(const Group *group, const FusedReduction *reduction)
{
    Device *device = device_at(group->device);
    return !group->fused_count || (group->fused_count < LAUNCH_FUSED &&
                                   device->fuses(device, group->size, reduction,
                                                 &group->first, group->fused_count));
}

/* The first group for a reduction, at or after 'from'. */
static Group *find_fused_group(Schedule *s, const Var *v,
                               const FusedReduction *reduction, uint32_t from)
{
    uint32_t lanes = pending_lanes(v);
    for (uint32_t i = from; i < s->group_count; ++i) {
        Group *group = &s->groups[i];
        if (group->size == lanes && group->device == v->device &&
            takes_reduction(group, reduction))
            return group;
    }
    return add_group(s, lanes, v->device);
}

static bool add_root(Group *group, VarId id)
{
    TRY(group, false);
    TRY(vec_reserve(&group->roots, &group->root_capacity, group->root_count + 1,
                    sizeof(VarId)), false);
    group->roots[group->root_count++] = id;
    return true;
}

/* -------------------------------------------------- may writes share a kernel? */

static uint32_t operand_count(const Var *effect)
{
    uint32_t count;
    var_operands(effect, &count);
    return count;
}

static VarId index_of(const Var *effect)
{
    uint32_t count;
    const VarId *ids = var_operands(effect, &count);
    uint32_t index = op_find_role((Op) effect->op, ROLE_INDEX);
    return ids[index < count ? index : 0]; /* of a region, its mask */
}

/* May lanes meet in one entry, in any order? */
static bool is_reduction(const Var *v)
{
    return op_reduces((Op) v->op) && (v->aux & 255) != ReduceOpIdentity &&
           (v->aux >> 8 & 255) != ReduceModeNoConflicts;
}

static bool is_literal(VarId id, uint64_t *value)
{
    const Var *v = var_get(id);
    if (v->op == OP_LITERAL)
        *value = v->value.literal;
    return v->op == OP_LITERAL;
}

/* Operand of op(x, literal) or op(literal, x), which may have more operands; 0 if v is
 * something else. */
static VarId with_literal(const Var *v, Op op, uint64_t *value)
{
    TRY(v->op == op, 0);
    return is_literal(v->dep[1], value)                   ? v->dep[0]
           : op != OP_SHL && is_literal(v->dep[0], value) ? v->dep[1]
                                                          : 0;
}

/* An index base * stride + shift, of 32 bits. */
typedef struct Affine {
    VarId base;
    uint64_t stride, shift;
} Affine;

static Affine find_affine(VarId index)
{
    Affine out = { index, 1, 0 };
    VarId inner;
    const Var *v = var_get(index);
    if ((inner = with_literal(v, OP_FMA, &out.stride)) &&
        is_literal(v->dep[2], &out.shift)) {
        out.base = inner;
        return out;
    }
    out.stride = 1;
    if ((inner = with_literal(v, OP_ADD, &out.shift)))
        v = var_get(out.base = inner);
    if ((inner = with_literal(v, OP_MUL, &out.stride))) {
        out.base = inner;
    } else if ((inner = with_literal(v, OP_SHL, &out.stride)) && out.stride < 32) {
        out.base = inner;
        out.stride = (uint64_t) 1 << out.stride;
    } else {
        out.stride = 1;
    }
    return out;
}

/* Consecutive entries from two places on, as many as there are lanes? Of a function
 * that is being recorded, there will be another number. */
static bool ranges_disjoint(const ThreadState *ts, const Affine *x, const Affine *y)
{
    TRY(x->stride == 1 && !watch_records(ts), false);
    const Var *counter = var_get(x->base);
    const uint32_t ahead = (uint32_t) (x->shift - y->shift);
    return counter->op == OP_COUNTER && ahead >= var_lanes(counter) &&
           -ahead >= var_lanes(counter);
}

/* counter * stride + shift, within 32 bits? */
static bool is_scaled_counter(VarId index)
{
    const Affine a = find_affine(index);
    const Var *base = var_get(a.base);
    return base->op == OP_COUNTER && a.stride &&
           var_lanes(base) <= ((uint64_t) 1 << 32) / a.stride;
}

/* Has each entry one lane, by nature of the index or by promise of the caller? */
static bool indices_distinct(const Var *v)
{
    uint32_t mode = v->aux >> 8 & 255;
    bool promised = (v->op == OP_SCATTER || v->op == OP_SCATTER_PACKET) &&
                    (mode == ReduceModeNoConflicts || mode == ReduceModePermute);
    return promised || is_scaled_counter(index_of(v));
}

static bool commute(const Var *a, const Var *b)
{
    if (a->op == b->op && (a->op == OP_SCATTER_INC || a->op == OP_SCATTER_ADD))
        return true;
    return is_reduction(a) && is_reduction(b) && (a->aux & 255) == (b->aux & 255);
}

/* Do they write an entry for each lane, and the same one in both? */
static bool same_entries(const Var *a, const Var *b)
{
    /* Atomics run where their results are needed first, before earlier writes. */
    return a->op == b->op && a->type == VarTypeVoid && index_of(a) == index_of(b) &&
           (indices_distinct(a) || indices_distinct(b));
}

/* Reasons for which lanes of two writes to one array may run in any order. If each of
 * a number of writes shares its kernel with the next one for one of these reasons, all
 * of them do, for the same one. */
enum {
    REASON_COMMUTE = 1,
    REASON_ENTRIES = 2,   /* of each lane, by nature or promise of both */
    REASON_PARTS = 4,     /* by promise of both */
    REASON_ASCENDING = 8, /* components of a vector, base * n + 0, base * n + 1, ..., */
    REASON_DESCENDING = 16, /* ... or from the last one on */
    REASON_OTHER = 32     /* that is not so */
};

/* Do the indices differ, as those of components of one vector, or of ranges? */
static uint32_t reasons_by_index(const ThreadState *ts, const Var *a, const Var *b)
{
    TRY(a->op == OP_SCATTER || a->op == OP_SCATTER_PACKET, 0);
    TRY(a->op == b->op && operand_count(a) == operand_count(b), 0);
    const Affine x = find_affine(index_of(a)), y = find_affine(index_of(b));
    TRY(x.base == y.base && x.stride == y.stride && x.shift != y.shift, 0);
    if (x.shift < x.stride && y.shift < y.stride)
        return x.shift < y.shift ? REASON_ASCENDING : REASON_DESCENDING;
    return ranges_disjoint(ts, &x, &y) ? REASON_OTHER : 0;
}

/* 0: they may not share a kernel. */
static uint32_t reasons_to_share(const ThreadState *ts, const Var *a, const Var *b)
{
    if (commute(a, b))
        return REASON_COMMUTE;
    if (a->op == OP_REGION)
        return 0;
    if (access_is_part(a) && access_is_part(b))
        return REASON_PARTS;
    if (same_entries(a, b))
        return indices_distinct(a) && indices_distinct(b) ? REASON_ENTRIES
                                                          : REASON_OTHER;
    return reasons_by_index(ts, a, b);
}

/* --------------------------------------------------------------------- placing */

typedef struct Placed {
    uint32_t group;
    uint32_t previous; /* effect on the same array, UINT32_MAX if none or a region */
    uint32_t alike;    /* a bit for each reason for which it and all before it on that
                          array share this group */
} Placed;

typedef struct Placing {
    const ThreadState *ts;
    Schedule *schedule;
    const VarId *effects;
    Placed *placed;
    Marks *written;    /* array -> the last effect that writes to it */
    VarIds early;      /* values that others read by index: roots with references, */
    Marks *is_early;   /* ... which these are */
    Marks *root_of;    /* value -> the last group that it is a root of */
    RegionWalk walk;   /* variable -> the group that it depends on, as a Need */
    bool walks;        /* somebody holds results of atomic operations or regions, or
                          there are reductions */
} Placing;

/* The latest group that has an atomic operation or a region whose result is needed:
 * 2 * (1 + group), and 1 more if it is an atomic, 0 if there is none. Of a reduction,
 * it is the group after it, whether there is one yet or not. */
typedef uint32_t Need;

static Need need_of(const Var *effect, uint32_t group)
{
    return 2 * (group + 1) + (effect->op != OP_REGION);
}
static Need need_behind(uint32_t group) { return 2 * (group + 2); }
static bool must_join(Need need) { return need & 1; }
static uint32_t group_of(Need need) { return need / 2 - 1; }

/* The latest group that one of the first operands of a variable depends on. */
static Need latest_need(const Placing *p, VarId id, uint32_t end)
{
    uint32_t count;
    const VarId *ids = var_operands(var_get(id), &count);
    Need latest = 0;
    for (uint32_t i = 0; i < end; ++i) {
        Need need = ids[i] ? marks_get(p->walk.marks, ids[i]) : 0;
        latest = need > latest ? need : latest;
    }
    return latest;
}

/* A reduction that needs 'need' gets a group, and what needs it comes after that. */
static bool place_fused(const Placing *p, VarId id, Need *need)
{
    Schedule *s = p->schedule;
    const Var *v = var_get(id);
    const FusedReduction reduction = pending_work(v);
    Group *group = find_fused_group(s, v, &reduction, *need ? group_of(*need) : 0);
    TRY(add_root(group, id), false);
    var_inc(id);
    if (!group->fused_count++)
        group->first = reduction;
    *need = need_behind((uint32_t) (group - s->groups));
    return true;
}

/* The group for something that needs 'need', at or after 'from'. */
static Group *choose_group(Placing *p, const Var *v, Need need, uint32_t from)
{
    Schedule *s = p->schedule;
    if (need && must_join(need) && suits(&s->groups[group_of(need)], v))
        return &s->groups[group_of(need)];
    if (need && group_of(need) > from)
        from = group_of(need);
    return find_group(s, v, from);
}

/* A value is a root of a group. */
static bool add_value(const Placing *p, Group *group, VarId id)
{
    TRY(add_root(group, id), false);
    return !p->walks || marks_set(p->root_of, id,
                                  (uint32_t) (group - p->schedule->groups));
}

static bool is_early(const Placing *p, VarId id)
{
    return p->early.count && marks_has(p->is_early, id);
}

/* An array that is read by index, and yet to be computed, gets a group; whatever needs
 * it comes after that. */
static bool place_array(Placing *p, VarId id, Need *need)
{
    if (is_early(p, id))
        return true;
    Group *group = choose_group(p, var_get(id), *need, 0);
    TRY(group, false);
    uint32_t number = (uint32_t) (group - p->schedule->groups);
    if (marks_get(p->root_of, id) != number) {
        var_inc(id);
        TRY(var_ids_take(&p->early, id) && marks_set(p->is_early, id, 0) &&
                add_value(p, group, id),
            false);
    }
    *need = need_behind(number);
    marks_set(p->walk.marks, id, *need);
    return true;
}

/* The group whose atomic operations, regions or reductions this needs. */
static bool find_needed(Placing *p, VarId id, Need *needed)
{
    *needed = 0;
    if (!p->walks)
        return true;
    WalkEvent event;
    VarId found;
    region_walk_from(&p->walk, id);
    while ((event = region_walk(&p->walk, &found)) >= WALK_MET)
        if (event == WALK_MET) {
            TRY(region_walk_operands(&p->walk, found), false);
        } else {
            const Var *v = var_get(found);
            Need need = latest_need(p, found, p->walk.end);
            if (pending_is(v))
                TRY(place_fused(p, found, &need), false);
            else if (v->op == OP_POINTER && region_walk_waits(v) &&
                     !pending_is(var_get(v->dep[0])))
                TRY(place_array(p, v->dep[0], &need), false);
            marks_set(p->walk.marks, found, need);
        }
    *needed = marks_get(p->walk.marks, id);
    return event == WALK_DONE;
}

/* First group that this effect may join without disturbing earlier ones that write to
 * 'target'. */
static uint32_t earliest(const Placing *p, const Var *effect, VarId target,
                         Placed *placed)
{
    uint32_t previous = marks_get(p->written, target);
    if (effect->op == OP_REGION)
        return previous == UINT32_MAX ? 0 : p->placed[previous].group + 1;
    placed->previous = previous;
    placed->alike = UINT32_MAX;
    if (previous == UINT32_MAX)
        return 0;
    const Placed *last = &p->placed[previous];
    uint32_t group = last->group;
    for (uint32_t i = previous; i != UINT32_MAX; i = p->placed[i].previous) {
        if (p->placed[i].group != group)
            break;
        uint32_t reasons = reasons_to_share(p->ts, var_get(p->effects[i]), effect);
        if (!reasons) {
            placed->alike = UINT32_MAX;
            return group + 1;
        }
        if (i == previous)
            placed->alike = last->alike & reasons & ~(uint32_t) REASON_OTHER;
        if (p->placed[i].alike & reasons & ~(uint32_t) REASON_OTHER)
            break; /* so it does with those before */
    }
    return group;
}

static bool place_effect(Placing *p, uint32_t number)
{
    VarId id = p->effects[number];
    Placed *placed = &p->placed[number];
    *placed = (Placed){ .previous = UINT32_MAX };
    Need need;
    TRY(find_needed(p, id, &need), false);
    const Var *effect = var_get(id);
    uint32_t targets, from = 0;
    const VarId *target = region_targets(id, &targets);
    for (uint32_t i = 0; i < targets; ++i) {
        uint32_t first = earliest(p, effect, target[i], placed);
        from = first > from ? first : from;
    }
    const Group *group = choose_group(p, effect, need, from);
    TRY(group, false);
    placed->group = (uint32_t) (group - p->schedule->groups);
    for (uint32_t i = 0; i < targets; ++i)
        marks_set(p->written, target[i], number);
    marks_set(p->walk.marks, id, need_of(effect, placed->group));
    return true;
}

static bool place_value(Placing *p, VarId id)
{
    Need need;
    TRY(find_needed(p, id, &need), false);
    return pending_is(var_get(id)) || is_early(p, id) || /* it has its group */
           add_value(p, choose_group(p, var_get(id), need, 0), id);
}

/* Drop the references of roots, or just those of reductions, which are not the
 * caller's, and all memory. */
static void free_groups(Schedule *schedule, bool all)
{
    for (uint32_t i = 0; i < schedule->group_count; ++i) {
        Group *group = &schedule->groups[i];
        for (uint32_t k = 0; k < group->root_count; ++k)
            if (all || pending_is(var_get(group->roots[k])))
                var_dec(group->roots[k]);
        alloc_free(group->roots);
    }
    alloc_free(schedule->groups);
    memset(schedule, 0, sizeof(*schedule));
}

/* What placing needs beside the schedule. */
static bool begin(Placing *p, uint32_t effect_count)
{
    p->walks = pending_table.live != 0 || pending_arrays_wait();
    for (uint32_t i = 0; i < effect_count; ++i) {
        const Var *v = var_get(p->effects[i]);
        p->walks |= (v->type != VarTypeVoid || v->op == OP_REGION) && v->refs > 1;
    }
    if (effect_count || p->walks)
        TRY(region_walk_begin(&p->walk), false);
    if (p->walks) {
        p->is_early = marks_take();
        p->root_of = marks_take();
        TRY(p->is_early && p->root_of, false);
    }
    if (effect_count) {
        p->placed = alloc_get(effect_count * sizeof(Placed));
        p->written = marks_take();
        TRY(p->placed && p->written, false);
    }
    return true;
}

static void end(Placing *p)
{
    alloc_free(p->placed);
    marks_return(p->written);
    marks_return(p->root_of);
    marks_return(p->is_early);
    region_walk_end(&p->walk);
}

bool schedule_make(const ThreadState *ts, Schedule *schedule, const VarId *vars,
                   uint32_t var_count, const VarId *effects, uint32_t effect_count)
{
    memset(schedule, 0, sizeof(*schedule));
    Placing p = { .ts = ts, .schedule = schedule, .effects = effects };
    bool ok = begin(&p, effect_count);
    for (uint32_t i = 0; ok && i < effect_count; ++i)
        ok = place_effect(&p, i);
    for (uint32_t i = 0; ok && i < var_count; ++i)
        ok = place_value(&p, vars[i]);
    for (uint32_t i = 0; ok && i < effect_count; ++i) {
        Group *group = &schedule->groups[p.placed[i].group];
        ok = add_root(group, effects[i]);
        group->effect_count += ok;
    }
    for (uint32_t i = 0; ok && i < var_count; ++i)
        if (pending_is(var_get(vars[i])) || is_early(&p, vars[i]))
            var_dec(vars[i]); /* its group has another reference */
    if (ok) {
        alloc_free(p.early.ids); /* groups have the references */
    } else {
        free_groups(schedule, false);
        var_ids_drop(&p.early);
    }
    end(&p);
    return ok;
}

void schedule_free(Schedule *schedule)
{
    free_groups(schedule, true);
}
