/*
 * replay_region.c -- see replay_region.h
 */
#include "trace/flow/replay_region.h"

#include "base/alloc.h"
#include "base/error.h"

/* Which states never change: these have the input as their output. */
static void find_fixed(const RegionReplay *r, const ReplayFrame *f, const VarId *inputs,
                       bool *fixed)
{
    bool optimise = state_flag(r->ts, JitFlagOptimizeLoops);
    const TraceRegion *region = var_get(f->region)->region;
    VarId *outputs = f->bodies[0].outputs.ids;
    for (uint32_t k = 0; k < region->count; ++k) {
        bool same = outputs[k] == f->states[k] ||
                    var_same_literal(outputs[k], inputs[k]);
        fixed[k] = region->fixed[k] || (same && optimise);
        if (!fixed[k] || outputs[k] == inputs[k])
            continue;
        var_inc(inputs[k]);
        var_dec(outputs[k]);
        outputs[k] = inputs[k];
    }
}

/* What the new region takes from outside, as far as it is given. */
typedef struct Given {
    VarId mask, condition;
    VarId *inputs;
    bool *fixed; /* LOOP: one for each state; else NULL */
    uint32_t count;
} Given;

static bool is_fixed(const Given *given, uint32_t k)
{
    return given->fixed && given->fixed[k];
}

static bool find_given(const RegionReplay *r, const ReplayFrame *f, Given *given)
{
    const Var *v = var_get(f->region);
    uint32_t unused;
    region_part(v, PART_INPUTS, &given->count);
    given->mask = region_replay_find(r, region_part(v, PART_MASK, &unused)[0]);
    given->condition =
        region_replay_find(r, region_part(v, PART_CONDITION, &unused)[0]);
    given->inputs = alloc_get((given->count + 1) * sizeof(VarId));
    TRY(given->inputs, false);
    for (uint32_t k = 0; k < given->count; ++k)
        given->inputs[k] = region_replay_input(r, v, k);
    if (v->region->kind != REGION_LOOP)
        return true;
    given->fixed = alloc_get(given->count + 1);
    TRY(given->fixed, false);
    find_fixed(r, f, given->inputs, given->fixed);
    return true;
}

static bool find_region_size(const ReplayFrame *f, const Given *given, uint32_t *size)
{
    const Var *v = var_get(f->region);
    const char *name = v->region->name;
    RecordSize s = { "region_replay(): region", name ? name : "unnamed", v->device, 1,
                     { 0 } };
    TRY(record_join_sizes(&s, (VarId[]){ given->mask, given->condition }, 2), false);
    for (uint32_t k = 0; k < given->count; ++k)
        TRY(is_fixed(given, k) || record_join_sizes(&s, &given->inputs[k], 1), false);
    for (uint32_t i = 0; i < v->region->body_count; ++i) {
        const RecordedBody *body = &f->bodies[i];
        for (uint32_t k = 0; k < body->outputs.count; ++k)
            TRY(is_fixed(given, k) || record_join_sizes(&s, &body->outputs.ids[k], 1),
                false);
        TRY(record_join_sizes(&s, body->effects.ids, body->effects.count), false);
    }
    *size = s.size == 1 ? var_lanes(v) : s.size; /* outputs may have left the old one */
    return true;
}

static VarId make_region(RegionReplay *r, const ReplayFrame *f, const Given *given)
{
    const Var *v = var_get(f->region);
    const TraceRegion *region = v->region;
    RegionSpec spec = {
        .kind = region->kind, .device = v->device, .name = region->name,
        .scope = f->scope, .bodies = f->bodies, .body_count = region->body_count,
        .fixed = given->fixed,
        .parts = { [PART_MASK] = { &given->mask, 1 },
                   [PART_INPUTS] = { given->inputs, given->count },
                   [PART_CONDITION] = { &given->condition, 1 },
                   [PART_STATES] = { f->states, f->state_count },
                   [PART_ACTIVE] = { f->active, region->parts[PART_ACTIVE].count } }
    };
    TRY(find_region_size(f, given, &spec.size), 0);
    return region_make(r->ts, &spec);
}

VarId replay_region_make(RegionReplay *r, const ReplayFrame *f, bool *never)
{
    const TraceRegion *region = var_get(f->region)->region;
    Given given = { 0 };
    VarId id = 0;
    *never = false;
    bool ok = find_given(r, f, &given);
    const Var *condition = ok ? var_get(given.condition) : NULL;
    if (ok && region->kind == REGION_LOOP && condition->op == OP_LITERAL)
        *never = !condition->value.literal ||
                 error_set(JIT_ERROR_ARGUMENT, "region_replay(): the condition of loop "
                           "'%s' is always true: it would never end", region->name);
    else if (ok)
        id = make_region(r, f, &given);
    alloc_free(given.inputs);
    alloc_free(given.fixed);
    return id;
}
