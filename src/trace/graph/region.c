/*
 * region.c -- see region.h
 */
#include "trace/graph/region.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "trace/graph/local.h"
#include "trace/graph/node.h"
#include "trace/graph/region_walk.h"

uint32_t region_live;

/* ------------------------------------------------------------------- lists */

enum { OUTSIDE_LISTS = 4 };

/* List number i in the order of the operands, NULL after the last. */
static RegionList *list_at(TraceRegion *region, uint32_t i)
{
    static const uint8_t loop[] = { PART_MASK, PART_INPUTS, PART_READS,
                                    PART_CONDITION };
    static const uint8_t other[] = { PART_MASK, PART_CONDITION, PART_INPUTS,
                                     PART_READS };
    if (i < OUTSIDE_LISTS)
        return &region->parts[(region->kind == REGION_LOOP ? loop : other)[i]];
    i -= OUTSIDE_LISTS;
    if (i < 2 * region->body_count) {
        RegionBody *body = &region->bodies[i / 2];
        return i % 2 ? &body->outputs : &body->effects;
    }
    static const uint8_t last[] = { PART_STATES, PART_ACTIVE };
    i -= 2 * region->body_count;
    return i < sizeof(last) ? &region->parts[last[i]] : NULL;
}

/* All but what is outside; the first of these lists begins here. */
static uint32_t count_outside(const TraceRegion *region)
{
    if (region->kind == REGION_LOOP)
        return region->parts[PART_CONDITION].first;
    return region->bodies[0].effects.first;
}

RegionList region_body(const Var *v, uint32_t body)
{
    const TraceRegion *region = v->region;
    const RegionBody *b = &region->bodies[body];
    uint32_t first = region->kind == REGION_LOOP ? region->outside : b->effects.first;
    return (RegionList){ first, b->outputs.first + b->outputs.count - first };
}

/* ---------------------------------------------------------- implicit reads */

typedef struct Search {
    const RegionSpec *spec;
    RegionWalk walk;
    VarIds *reads;
    bool effects; /* the bodies have some */
    bool draws; /* see TraceRegion */
} Search;

/* A STATE in the body has to be one of the region: those that the tracer took away,
 * because the state is an array that the body writes to, have no value. */
static bool check_state(const Search *s, VarId id)
{
    const Var *v = var_get(id);
    if (v->aux < s->spec->parts[PART_STATES].count &&
        s->spec->parts[PART_STATES].ids[v->aux] == id)
        return true;
    return error_set(JIT_ERROR_STATE,
                     "jit_var_loop_end(): loop '%s': the body uses values of a state "
                     "(r%u) that it also scatters to as an array; their order is not "
                     "defined", s->spec->name, id);
}

bool region_is_atomic(const Var *v)
{
    return op_info[v->op].memory == MEMORY_UPDATES &&
           op_info[v->op].result != RESULT_VOID;
}

/* An inner region: the condition of a conditional decides what else is needed, so it
 * comes first. */
static bool enter_region(Search *s, VarId id)
{
    static const uint8_t parts[] = { PART_READS, PART_INPUTS, PART_MASK,
                                     PART_CONDITION };
    const TraceRegion *region = var_get(id)->region;
    uint32_t count = region->kind == REGION_LOOP ? 3 : 4;
    for (uint32_t i = 0; i < count; ++i) {
        RegionList list = region->parts[parts[i]];
        TRY(region_walk_into(&s->walk, id, list.first, list.first + list.count), false);
    }
    return true;
}

/* A variable of the body: its operands come next. Where a body has no effects, atomic
 * operations are outside: search() sees those. */
static inline bool enter(Search *s, VarId id, const Var *v)
{
    uint32_t count;
    const VarId *ids = var_operands(v, &count);
    if (v->op == OP_STATE)
        return check_state(s, id);
    if (v->op == OP_REGION)
        count = v->region->outside;
    for (uint32_t i = 0; s->effects && i < count; ++i)
        s->draws |= ids[i] && region_is_atomic(var_get(ids[i]));
    return v->op == OP_REGION ? enter_region(s, id)
                              : region_walk_push(&s->walk, id, ids, 0, count);
}

/* Find all that these need from outside. */
static bool search(Search *s, const VarIds *roots)
{
    VarId id;
    for (uint32_t i = 0; i < roots->count; ++i) {
        region_walk_from(&s->walk, roots->ids[i]);
        while ((id = region_walk_next(&s->walk)) != 0) {
            const Var *v = var_get(id);
            if (!region_is_outside(v, s->spec->scope)) {
                TRY(enter(s, id, v), false);
                continue;
            }
            s->draws |= region_is_atomic(v);
            TRY(var_ids_add(s->reads, id), false);
        }
    }
    return true;
}

static bool find_reads(const RegionSpec *spec, VarIds *reads, bool *draws)
{
    Search s = { .spec = spec, .reads = reads };
    TRY(region_walk_begin(&s.walk), false);
    bool ok = true, loop = spec->kind == REGION_LOOP;
    for (uint32_t i = 0; i < spec->body_count; ++i)
        s.effects |= spec->bodies[i].effects.count != 0;
    for (uint32_t k = 0; k < spec->parts[PART_STATES].count; ++k)
        var_get(spec->parts[PART_STATES].ids[k])->aux = k;
    if (loop)
        ok = search(&s, &(VarIds){ (VarId *) spec->parts[PART_CONDITION].ids, 1, 0 });
    /* What effects of callables need comes before what outputs need. */
    bool call = spec->kind == REGION_CALL;
    for (uint32_t i = 0; ok && call && i < spec->body_count; ++i)
        ok = search(&s, &spec->bodies[i].effects);
    for (uint32_t i = 0; ok && i < spec->body_count; ++i) {
        const RecordedBody *body = &spec->bodies[i];
        ok = (call || search(&s, &body->effects)) && search(&s, &body->outputs);
        for (uint32_t k = 0; k < body->outputs.count; ++k)
            s.draws |= region_is_atomic(var_get(body->outputs.ids[k]));
    }
    *draws = s.draws;
    region_walk_end(&s.walk);
    return ok;
}

/* ------------------------------------------------------------------ making */

/* What list number i of the region contains. */
static VarIds list_content(TraceRegion *region, const RegionSpec *spec,
                           const VarIds *reads, uint32_t i)
{
    uint32_t body = (i - OUTSIDE_LISTS) / 2;
    if (i >= OUTSIDE_LISTS && body < spec->body_count) {
        const RecordedBody *b = &spec->bodies[body];
        return i % 2 ? b->outputs : b->effects;
    }
    ptrdiff_t part = list_at(region, i) - region->parts;
    if (part == PART_READS)
        return *reads;
    return (VarIds){ (VarId *) spec->parts[part].ids, spec->parts[part].count, 0 };
}

/* Number of operands. */
static uint32_t count_all(const RegionSpec *spec, const VarIds *reads)
{
    uint32_t count = reads->count;
    for (uint32_t part = 0; part < PART_COUNT; ++part)
        count += spec->parts[part].count;
    for (uint32_t i = 0; i < spec->body_count; ++i)
        count += spec->bodies[i].effects.count + spec->bodies[i].outputs.count;
    return count;
}

/* Line up all lists as the operands of the region's variable. NULL: out of memory. */
static VarList *line_up(TraceRegion *region, const RegionSpec *spec,
                        const VarIds *reads)
{
    RegionList *list;
    VarList *all =
        alloc_get(sizeof(VarList) + count_all(spec, reads) * sizeof(VarId));
    TRY(all, NULL);
    all->count = 0;
    for (uint32_t i = 0; (list = list_at(region, i)) != NULL; ++i) {
        VarIds content = list_content(region, spec, reads, i);
        *list = (RegionList){ all->count, content.count };
        for (uint32_t k = 0; k < content.count; ++k)
            all->ids[all->count++] = content.ids[k];
    }
    region->outside = count_outside(region);
    return all;
}

/* What effects there are, and the arrays that they write to. */
static bool find_targets(TraceRegion *region, const RegionSpec *spec)
{
    VarIds targets = { 0 };
    bool ok = true;
    for (uint32_t i = 0; i < spec->body_count; ++i)
        for (uint32_t k = 0; k < spec->bodies[i].effects.count; ++k) {
            VarId effect = spec->bodies[i].effects.ids[k];
            const Var *v = var_get(effect);
            uint32_t count;
            const VarId *ids = region_targets(effect, &count);
            region->effects++;
            region->essential |= !count || region_is_essential(v);
            region->draws |= v->op == OP_REGION && v->region->draws;
            for (uint32_t t = 0; ok && t < count; ++t)
                ok = var_ids_add(&targets, ids[t]);
        }
    region->targets = targets.ids; /* freed with the region */
    region->target_count = targets.count;
    return ok;
}

/* The record, its arrays included. */
static bool fill(TraceRegion *region, const RegionSpec *spec)
{
    region->kind = spec->kind;
    region->scope = spec->scope;
    region->serial = local_next_serial();
    region->body_count = spec->body_count;
    region->count = spec->bodies[0].outputs.count;
    size_t count = region->count;
    if (spec->parts[PART_STATES].count > count)
        count = spec->parts[PART_STATES].count;
    size_t bodies = spec->body_count * sizeof(RegionBody);
    size_t name = spec->name ? strlen(spec->name) + 1 : 0;
    region->bodies =
        alloc_zero(bodies + count * (sizeof(VarId) + sizeof(bool)) + name, 1);
    TRY(region->bodies, false);
    region->results = (VarId *) (region->bodies + spec->body_count);
    region->fixed = (bool *) (region->results + count);
    for (uint32_t i = 0; i < spec->body_count; ++i)
        region->bodies[i].scope = spec->bodies[i].scope;
    if (spec->fixed)
        memcpy(region->fixed, spec->fixed, region->count * sizeof(bool));
    if (spec->name)
        region->name = memcpy(region->fixed + count, spec->name, name);
    return find_targets(region, spec);
}

static void free_record(TraceRegion *region)
{
    region_live--;
    alloc_free(region->bodies);
    alloc_free(region->targets);
    alloc_free(region);
}

/* The region exists in a body if it takes anything symbolic from there. */
static uint8_t inherited_flags(const Var *v)
{
    uint32_t count;
    const VarId *ids = var_operands(v, &count);
    uint8_t flags = 0;
    for (uint32_t i = 0; i < v->region->outside; ++i)
        flags |= var_get(ids[i])->flags;
    return flags & VAR_SYMBOLIC;
}

/* STATEs and ACTIVEs learn where they belong ('region' 0: nowhere any more). */
static void name_placeholders(const Var *v, VarId region)
{
    static const uint8_t parts[] = { PART_STATES, PART_ACTIVE };
    for (uint32_t i = 0; i < sizeof(parts); ++i) {
        uint32_t count;
        const VarId *ids = region_part(v, (RegionPart) parts[i], &count);
        for (uint32_t k = 0; k < count; ++k) {
            Var *placeholder = var_get(ids[k]);
            placeholder->value.literal = placeholder->value.literal >> 32 << 32 |
                                         region;
        }
    }
}

VarId region_make(ThreadState *ts, const RegionSpec *spec)
{
    TraceRegion *region = alloc_zero(1, sizeof(TraceRegion));
    TRY(region, 0);
    VarIds reads = { 0 };
    VarList *all = NULL;
    VarId id = 0;
    bool draws = false;
    if (fill(region, spec) && find_reads(spec, &reads, &draws) &&
        (all = line_up(region, spec, &reads)) != NULL)
        id = node_of_list(ts, OP_REGION, spec->device, VarTypeVoid, spec->size, 0, all);
    region_live++;
    if (id) {
        Var *v = var_get(id);
        v->region = region;
        region->draws |= draws;
        v->flags = (uint8_t) ((v->flags & ~VAR_SYMBOLIC) | inherited_flags(v));
        name_placeholders(v, id);
    } else {
        free_record(region);
    }
    alloc_free(reads.ids);
    return id;
}

/* Entries of a version of a local array, above the number of the region. */
static uint64_t local_entries(const Var *v)
{
    if (!(v->flags & VAR_LOCAL))
        return 0;
    if (v->op == OP_STATE || v->op == OP_RESULT)
        return v->value.literal >> 32 << 32;
    return (uint64_t) v->aux << 32;
}

VarId region_result(ThreadState *ts, VarId region, uint32_t which)
{
    const Var *r = var_get(region);
    VarId output = region_output(r, 0, which);
    VarType type = (VarType) var_get(output)->type;
    VarId id = node_raw(ts, OP_RESULT, r->device, type, var_lanes(r), which,
                        (VarId[4]){ region });
    TRY(id, 0);
    Var *v = var_get(id);
    v->value.literal = local_entries(var_get(output));
    v->flags |= var_get(output)->flags & VAR_LOCAL;
    r->region->results[which] = id;
    return id;
}

bool region_add(ThreadState *ts, VarId region, uint32_t count, VarId *results)
{
    TRY(region, false);
    bool ok = true, effect = region_is_effect(var_get(region));
    uint32_t number = 0;
    for (uint32_t k = 0; ok && k < count; ++k)
        if (!results[k])
            ok = (results[k] = region_result(ts, region, number++)) != 0;
    if (ok && effect && record_effect(ts, region))
        return true;
    var_dec(region);
    return ok && !effect;
}

VarId region_placeholder(ThreadState *ts, Op op, uint32_t which, uint8_t device,
                         VarType type, uint32_t size, VarId like)
{
    VarId id = node_raw(ts, op, device, type, size, which, (VarId[4]){ 0 });
    TRY(id, 0);
    Var *v = var_get(id);
    v->flags |= VAR_SYMBOLIC;
    if (like) {
        v->value.literal = local_entries(var_get(like));
        v->flags |= var_get(like)->flags & VAR_LOCAL;
    }
    return id;
}

/* ------------------------------------------------------------------ asking */

const VarId *region_part(const Var *v, RegionPart part, uint32_t *count)
{
    RegionList list = v->region->parts[part];
    *count = list.count;
    return v->value.list->ids + list.first;
}

VarId region_of(VarId id)
{
    const Var *v = var_get(id);
    return v->op == OP_RESULT ? v->dep[0] : (VarId) v->value.literal;
}

const VarId *region_targets(VarId effect, uint32_t *count)
{
    const Var *v = var_get(effect);
    if (v->op == OP_REGION) {
        *count = v->region->target_count;
        return v->region->targets;
    }
    const Var *pointer = var_get(var_operands(v, count)[0]);
    *count = pointer->op == OP_POINTER && pointer->aux == 1;
    return pointer->dep;
}

/* ------------------------------------------------------- effects that have run */

/* Operands that are 0 go, and those after them move up. */
static void close_gaps(Var *v)
{
    TraceRegion *region = v->region;
    VarList *all = v->value.list;
    uint32_t kept = 0;
    RegionList *list;
    for (uint32_t i = 0; (list = list_at(region, i)) != NULL; ++i) {
        RegionList old = *list;
        list->first = kept;
        for (uint32_t k = 0; k < old.count; ++k)
            if (all->ids[old.first + k])
                all->ids[kept++] = all->ids[old.first + k];
        list->count = kept - list->first;
    }
    region->outside = count_outside(region);
    all->count = kept;
}

static bool is_target(const Var *v) { return v->op == OP_POINTER && v->aux == 1; }

/* Drop the operands of a list, or pointers to arrays that are written only. */
static void drop_list(Var *v, RegionList list, bool targets_only)
{
    for (uint32_t i = list.first; i < list.first + list.count; ++i) {
        VarId id = v->value.list->ids[i];
        if (targets_only && !is_target(var_get(id)))
            continue;
        v->value.list->ids[i] = 0;
        var_dec(id);
    }
}

static void drop_effects(Var *v)
{
    TraceRegion *region = v->region;
    for (uint32_t i = 0; i < region->body_count; ++i)
        drop_list(v, region->bodies[i].effects, false);
    drop_list(v, region->parts[PART_READS], true);
    close_gaps(v);
    region->effects = region->target_count = 0;
    region->essential = false;
}

/* Hold a region and those with effects inside of it, and chain them by 'link'. */
static void hold_inner(VarId id)
{
    VarId last = id;
    var_inc(id);
    var_get(id)->link = 0;
    for (; id; id = var_get(id)->link) {
        const Var *v = var_get(id);
        for (uint32_t i = 0; i < v->region->body_count; ++i) {
            RegionList list = v->region->bodies[i].effects;
            const VarId *effects = region_list(v, list);
            for (uint32_t k = 0; k < list.count; ++k) {
                if (!region_is_effect(var_get(effects[k])))
                    continue;
                var_inc(effects[k]);
                var_get(effects[k])->link = 0;
                var_get(last)->link = effects[k];
                last = effects[k];
            }
        }
    }
}

/* Somebody may hold an atomic operation, which is a value, too. It is over, and is not
 * to look like a write that is still to come. */
static void consume_atomics(const Var *v)
{
    for (uint32_t i = 0; i < v->region->body_count; ++i) {
        RegionList list = v->region->bodies[i].effects;
        const VarId *effects = region_list(v, list);
        for (uint32_t k = 0; k < list.count; ++k)
            if (region_is_atomic(var_get(effects[k])))
                var_consume(effects[k]);
    }
}

void region_has_run(VarId id)
{
    const TraceRegion *region = var_get(id)->region;
    bool draws = region->draws;
    for (uint32_t k = 0; draws && k < region->count; ++k)
        if (region->results[k])
            var_consume(region->results[k]);
    hold_inner(id);
    while (id) {
        VarId next = var_get(id)->link;
        consume_atomics(var_get(id));
        if (!draws)
            drop_effects(var_get(id));
        var_dec(id);
        id = next;
    }
}

void region_replaced(VarId id)
{
    hold_inner(id);
    while (id) {
        VarId next = var_get(id)->link;
        drop_effects(var_get(id));
        var_dec(id);
        id = next;
    }
}

void region_replaced_all(const VarIds *effects)
{
    for (uint32_t i = 0; i < effects->count; ++i)
        if (region_is_effect(var_get(effects->ids[i])))
            region_replaced(effects->ids[i]);
}

/* ----------------------------------------------------------------- release */

void region_forget_result(VarId id, const Var *v)
{
    VarId *result = &var_get(v->dep[0])->region->results[v->aux];
    if (*result == id)
        *result = 0;
}

void region_release(const Var *v)
{
    name_placeholders(v, 0);
    free_record(v->region);
}
