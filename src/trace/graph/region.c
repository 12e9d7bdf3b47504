/*
 * region.c -- see region.h
 */
#include "trace/graph/region.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "trace/graph/call_info.h"
#include "trace/graph/local.h"
#include "trace/graph/node.h"

uint32_t region_live;

/* The order of the lists, by kind, with marks of structure between. */
enum { MARK = PART_COUNT, STOP };
static const uint8_t orders[][PART_COUNT + REGION_MARKS + 1] = {
    [REGION_LOOP] = { PART_MASK, PART_INPUTS, PART_READS, MARK, PART_CONDITION, MARK,
                      PART_EFFECTS, PART_OUTPUTS, MARK, PART_STATES, PART_ACTIVE,
                      STOP },
    [REGION_IF] = { PART_MASK, PART_CONDITION, PART_INPUTS, PART_READS, MARK,
                    PART_EFFECTS, PART_OUTPUTS, MARK, PART_ELSE_EFFECTS,
                    PART_ELSE_OUTPUTS, MARK, PART_STATES, PART_ACTIVE, STOP },
    [REGION_CALL] = { PART_MASK, PART_CONDITION, PART_INPUTS, PART_READS, MARK, MARK,
                      MARK, PART_EFFECTS, PART_OUTPUTS, PART_STATES, PART_ACTIVE,
                      STOP }
};

/* ---------------------------------------------------------- implicit reads */

typedef struct Ids {
    VarId *ids;
    uint32_t count, capacity;
} Ids;

static bool add(Ids *list, VarId id)
{
    TRY(vec_reserve(&list->ids, &list->capacity, list->count + 1, sizeof(VarId)),
        false);
    list->ids[list->count++] = id;
    return true;
}

typedef struct Search {
    const RegionSpec *spec;
    uint32_t stamp;
    Ids *reads;
    Ids stack;
} Search;

static bool is_outside(const Var *v, uint32_t scope)
{
    return v->op == OP_LITERAL || v->op == OP_EVALUATED || v->op == OP_POINTER ||
           v->op == OP_COUNTER || v->op == OP_WORKER || v->scope < scope;
}

/* Put operands on the stack, the first one on top. */
static bool push_all(Search *s, const VarId *ids, uint32_t count)
{
    while (count-- > 0)
        if (ids[count] && var_get(ids[count])->stamp != s->stamp)
            TRY(add(&s->stack, ids[count]), false);
    return true;
}

/* An inner region needs what its lists of values from outside name. */
static bool push_region(Search *s, const Var *v)
{
    static const uint8_t outer[] = { PART_READS, PART_INPUTS, PART_MASK };
    for (uint32_t i = 0; i < sizeof(outer); ++i) {
        uint32_t count;
        const VarId *ids = region_part(v, (RegionPart) outer[i], &count);
        TRY(push_all(s, ids, count), false);
    }
    if (v->region->kind == REGION_LOOP)
        return true;
    uint32_t count;
    const VarId *condition = region_part(v, PART_CONDITION, &count);
    return push_all(s, condition, count);
}

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

/* Find all that 'root' needs from outside. */
static bool search(Search *s, VarId root)
{
    s->stack.count = 0;
    TRY(push_all(s, &root, 1), false);
    while (s->stack.count) {
        VarId id = s->stack.ids[--s->stack.count];
        Var *v = var_get(id);
        if (v->stamp == s->stamp)
            continue;
        v->stamp = s->stamp;
        if (is_outside(v, s->spec->scope)) {
            TRY(add(s->reads, id), false);
        } else if (v->op == OP_REGION) {
            TRY(push_region(s, v), false);
        } else if (v->op == OP_STATE) {
            TRY(check_state(s, id), false);
        } else {
            uint32_t count;
            const VarId *ids = var_operands(v, &count);
            TRY(push_all(s, ids, count), false);
        }
    }
    return true;
}

static bool find_reads(const RegionSpec *spec, Ids *reads)
{
    static const uint8_t inside[] = { PART_CONDITION, PART_EFFECTS, PART_OUTPUTS,
                                      PART_ELSE_EFFECTS, PART_ELSE_OUTPUTS };
    Search s = { .spec = spec, .stamp = var_new_stamp(), .reads = reads };
    bool ok = true;
    for (uint32_t k = 0; k < spec->parts[PART_STATES].count; ++k)
        var_get(spec->parts[PART_STATES].ids[k])->aux = k;
    for (uint32_t i = spec->kind == REGION_LOOP ? 0 : 1; i < sizeof(inside); ++i)
        for (uint32_t k = 0; ok && k < spec->parts[inside[i]].count; ++k)
            ok = search(&s, spec->parts[inside[i]].ids[k]);
    alloc_free(s.stack.ids);
    return ok;
}

/* ------------------------------------------------------------------ making */

/* Line up all lists as the operands of the region's variable. */
static bool line_up(TraceRegion *region, const RegionSpec *spec, const Ids *reads,
                    Ids *all)
{
    uint32_t mark = 0;
    for (const uint8_t *part = orders[spec->kind]; *part != STOP; ++part) {
        if (*part == MARK) {
            region->marks[mark++] = all->count;
            continue;
        }
        const VarId *ids = *part == PART_READS ? reads->ids : spec->parts[*part].ids;
        uint32_t count =
            *part == PART_READS ? reads->count : spec->parts[*part].count;
        region->parts[*part] = (RegionList){ all->count, count };
        TRY(vec_reserve(&all->ids, &all->capacity, all->count + count, sizeof(VarId)),
            false);
        if (count)
            memcpy(all->ids + all->count, ids, count * sizeof(VarId));
        all->count += count;
    }
    return true;
}

static bool find_targets(TraceRegion *region, const RegionSpec *spec)
{
    static const uint8_t effects[] = { PART_EFFECTS, PART_ELSE_EFFECTS };
    Ids targets = { 0 };
    bool ok = true;
    for (uint32_t i = 0; i < 2; ++i)
        for (uint32_t k = 0; k < spec->parts[effects[i]].count; ++k) {
            VarId effect = spec->parts[effects[i]].ids[k];
            uint32_t count;
            const VarId *ids = region_targets(effect, &count);
            region->essential |= !count || region_is_essential(var_get(effect));
            for (uint32_t t = 0; ok && t < count; ++t)
                ok = add(&targets, ids[t]);
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
    region->count = spec->parts[PART_OUTPUTS].count;
    region->effects =
        spec->parts[PART_EFFECTS].count + spec->parts[PART_ELSE_EFFECTS].count;
    uint32_t count = region->count + 1; /* no array is empty */
    if (spec->parts[PART_STATES].count >= count)
        count = spec->parts[PART_STATES].count;
    region->results = alloc_zero(count, sizeof(VarId));
    region->fixed = alloc_zero(count, sizeof(bool));
    region->needed = alloc_zero(count, 1);
    region->positions = alloc_zero(count, sizeof(uint32_t));
    TRY(region->results && region->fixed && region->needed && region->positions, false);
    if (spec->fixed)
        memcpy(region->fixed, spec->fixed, region->count * sizeof(bool));
    if (spec->name) {
        region->name = alloc_string(spec->name);
        TRY(region->name, false);
    }
    return find_targets(region, spec);
}

static void free_record(TraceRegion *region)
{
    region_live--;
    alloc_free(region->name);
    alloc_free(region->results);
    alloc_free(region->fixed);
    alloc_free(region->needed);
    alloc_free(region->positions);
    alloc_free(region->targets);
    call_info_free(region->call);
    alloc_free(region);
}

/* The region exists in a body if it takes anything symbolic from there. */
static uint8_t inherited_flags(const Var *v)
{
    uint32_t begin = v->region->marks[0], count;
    const VarId *ids = var_operands(v, &count);
    uint8_t flags = 0;
    for (uint32_t i = 0; i < begin; ++i)
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
    Ids reads = { 0 }, all = { 0 };
    VarId id = 0;
    if (fill(region, spec) && find_reads(spec, &reads) &&
        line_up(region, spec, &reads, &all))
        id = node_wide(ts, OP_REGION, spec->backend, VarTypeVoid, spec->size, 0,
                       all.count, all.ids);
    region_live++;
    if (id) {
        Var *v = var_get(id);
        v->region = region;
        v->flags = (uint8_t) ((v->flags & ~VAR_SYMBOLIC) | inherited_flags(v));
        name_placeholders(v, id);
    } else {
        free_record(region);
    }
    alloc_free(reads.ids);
    alloc_free(all.ids);
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

void region_set_call(VarId region, uint32_t results, struct CallInfo *call)
{
    TraceRegion *r = var_get(region)->region;
    r->count = results;
    r->call = call;
}

VarId region_result(ThreadState *ts, VarId region, uint32_t which, VarType type)
{
    const Var *r = var_get(region);
    uint32_t count;
    VarId output = region_part(r, PART_OUTPUTS, &count)[which];
    VarId id = node_raw(ts, OP_RESULT, (JitBackend) r->backend, type, r->size, which,
                        (VarId[4]){ region });
    TRY(id, 0);
    Var *v = var_get(id);
    v->value.literal = local_entries(var_get(output));
    v->flags |= var_get(output)->flags & VAR_LOCAL;
    r->region->results[which] = id;
    return id;
}

VarId region_placeholder(ThreadState *ts, Op op, uint32_t which, JitBackend backend,
                         VarType type, uint32_t size, VarId like)
{
    VarId id = node_raw(ts, op, backend, type, size, which, (VarId[4]){ 0 });
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

/* Operands that are 0 go, and those behind them move up. */
static void close_gaps(Var *v)
{
    TraceRegion *region = v->region;
    VarList *list = v->value.list;
    uint32_t mark = 0, kept = 0;
    for (const uint8_t *part = orders[region->kind]; *part != STOP; ++part) {
        if (*part == MARK) {
            region->marks[mark++] = kept;
            continue;
        }
        RegionList old = region->parts[*part];
        region->parts[*part].first = kept;
        for (uint32_t k = 0; k < old.count; ++k)
            if (list->ids[old.first + k])
                list->ids[kept++] = list->ids[old.first + k];
        region->parts[*part].count = kept - region->parts[*part].first;
    }
    list->count = kept;
}

static bool is_target(const Var *v) { return v->op == OP_POINTER && v->aux == 1; }

/* Drop the operands of a list, or pointers to arrays that are written only. */
static void drop_list(Var *v, RegionPart part, bool targets_only)
{
    RegionList list = v->region->parts[part];
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
    drop_list(v, PART_EFFECTS, false);
    drop_list(v, PART_ELSE_EFFECTS, false);
    drop_list(v, PART_READS, true);
    close_gaps(v);
    region->effects = region->target_count = 0;
    region->essential = false;
    if (region->call)
        memset(region->call->effect_ends, 0,
               region->call->callable_count * sizeof(uint32_t));
}

/* Effect 'k' of a region, the false side's behind those of the true side. */
static VarId effect_at(const Var *v, uint32_t k)
{
    uint32_t first, second;
    const VarId *ids = region_part(v, PART_EFFECTS, &first);
    const VarId *others = region_part(v, PART_ELSE_EFFECTS, &second);
    return k < first ? ids[k] : others[k - first];
}

/* Hold a region and those with effects inside of it, and chain them by 'position'.
 * False if one has an effect whose result is used in a body: an atomic operation. */
static bool hold_inner(VarId id)
{
    bool pure = true;
    VarId last = id;
    var_inc(id);
    var_get(id)->position = 0;
    for (; id; id = var_get(id)->position) {
        const Var *v = var_get(id);
        for (uint32_t k = 0; k < v->region->effects; ++k) {
            VarId effect = effect_at(v, k);
            if (!region_is_effect(var_get(effect))) {
                pure &= var_get(effect)->refs == 1;
                continue;
            }
            var_inc(effect);
            var_get(effect)->position = 0;
            var_get(last)->position = effect;
            last = effect;
        }
    }
    return pure;
}

void region_has_run(VarId id)
{
    TraceRegion *region = var_get(id)->region;
    bool held = false;
    for (uint32_t k = 0; k < region->count; ++k)
        held |= region->results[k] != 0;
    if (!held)
        return;
    bool pure = hold_inner(id);
    for (uint32_t k = 0; !pure && k < region->count; ++k)
        if (region->results[k])
            var_consume(region->results[k]);
    while (id) {
        VarId next = var_get(id)->position;
        if (pure)
            drop_effects(var_get(id));
        var_dec(id);
        id = next;
    }
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
