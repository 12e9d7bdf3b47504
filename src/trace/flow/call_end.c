/*
 * call_end.c -- what becomes of a call when all callables are recorded
 *
 *     callables that nobody calls are dropped,
 *     outputs that are the same literal or outside variable everywhere leave the call,
 *     callables that differ in values only become one (call_merge.h),
 *     a single callable becomes a conditional (with JitFlagOptimizeCalls), any others a
 *     region of kind CALL.
 *
 * Arrays with an entry for each id give the number of the callable + 1 and, if need be,
 * the place of the instance's values in the table of those. They are not needed where
 * the ids are 1, 2, ... and all instances have one callable: there, id k has the values
 * number k - 1.
 */
#include <string.h>

#include "base/error.h"
#include "trace/array/array.h"
#include "trace/array/memory.h"
#include "freeze/freezing.h"
#include "trace/flow/call_merge.h"
#include "trace/flow/region_expand.h"
#include "trace/graph/access.h"
#include "trace/graph/arith.h"
#include "trace/graph/local.h"
#include "trace/graph/mask.h"
#include "trace/graph/region.h"

static const char function[] = "jit_var_call()";

/* What becomes of a call. */
typedef struct Ending {
    ThreadState *ts;
    Call *call;
    const CallTargets *targets;
    uint32_t size;     /* lanes */
    uint32_t ids;      /* 1 + the largest of an instance */
    uint32_t count;    /* results; entries of local arrays count */
    VarId *results;    /* owned, 0: not made yet */
    VarId number;      /* of the callable + 1, 0 = none; owned */
    VarId offset;      /* of an instance's values, 0 if there are none; owned */
    VarId valid;       /* lanes that call anything; owned, 0: not made yet */
} Ending;

static VarId zero(const Ending *e, VarId like, uint32_t size)
{
    VarId id = node_literal(e->ts, e->call->body.device,
                            (VarType) var_get(like)->type, 0, size);
    return freezing_give(e->ts, id, FREEZING_LANES);
}

/* ------------------------------------------------------------------ instances */

static uint32_t id_of(const CallTargets *t, uint32_t i)
{
    return t->ids ? t->ids[i] : i + 1;
}

static uint32_t callable_of(const CallTargets *t, uint32_t i)
{
    return t->callable_of ? t->callable_of[i] : i;
}

static bool check_self(const Ending *e)
{
    VarId self = e->targets->self;
    TRY(node_usable(e->ts, self, function, "the instance id"), false);
    if (var_get(self)->type != VarTypeUInt32)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: call '%s': the instance id is %s, expected uint32",
                         function, e->call->body.name,
                         type_info[var_get(self)->type].name);
    return true;
}

/* Which callables are used, and which ids there are. */
static bool take_targets(Ending *e)
{
    const Call *call = e->call;
    for (uint32_t i = 0; i < e->targets->count; ++i) {
        uint32_t callable = callable_of(e->targets, i), id = id_of(e->targets, i);
        if (callable >= call->count)
            return error_set(JIT_ERROR_ARGUMENT,
                             "%s: call '%s': instance %u has callable %u of %u",
                             function, call->body.name, i, callable, call->count);
        if (id == 0)
            return error_set(JIT_ERROR_ARGUMENT,
                             "%s: call '%s': instance %u has the id 0, which stands "
                             "for none", function, call->body.name, i);
        if (id == UINT32_MAX)
            return error_set(JIT_ERROR_ARGUMENT,
                             "%s: call '%s': an instance has the id %u, the largest "
                             "there can be is %u", function, call->body.name, id,
                             id - 1);
        Callable *c = &call->callables[callable];
        c->used = call->kinds[c->kind].used = true;
        e->ids = id >= e->ids ? id + 1 : e->ids;
    }
    return true;
}

/* The mask of the lanes that call, the stack's included. */
static bool complete_mask(const Ending *e)
{
    Call *call = e->call;
    VarId wide = mask_wide(&e->targets->self, 1, call->mask);
    wide = mask_wide(call->inputs.ids, call->inputs.count, wide);
    VarId mask = mask_apply(e->ts, call->body.device, call->mask, wide, function);
    TRY(mask, false);
    var_drop(call->mask);
    call->mask = mask;
    return true;
}

static bool find_size(Ending *e)
{
    const Call *call = e->call;
    RecordSize s = { "jit_var_call(): call", call->body.name, call->body.device, 1,
                     { 0 } };
    TRY(record_join_sizes(&s, (VarId[]){ call->mask, e->targets->self }, 2) &&
        record_join_sizes(&s, call->inputs.ids, call->inputs.count), false);
    for (uint32_t i = 0; i < call->kind_count; ++i)
        TRY(record_join_body(&s, &call->kinds[i].body), false);
    e->size = s.size;
    return true;
}

/* An array with an entry for each id, gathered from by the ids. */
static VarId look_up(const Ending *e, const uint32_t *entries, VarId mask)
{
    VarId table = array_mem_copy(e->ts, e->call->body.device, VarTypeUInt32, entries,
                                 e->ids);
    TRY(table, 0);
    VarId pointer = memory_pointer(e->ts, table, false), result = 0;
    if (pointer)
        result = memory_read(e->ts, pointer, VarTypeUInt32, e->targets->self, mask);
    var_drop(pointer);
    var_dec(table);
    return result;
}

/* Lanes with an id that exists, where 'number' is below 'count': the mask, with a
 * report of others in debug mode. */
static VarId check_bound(const Ending *e, VarId number, uint32_t count)
{
    ThreadState *ts = e->ts;
    VarId self = e->targets->self, result = 0;
    Access a = { .ts = ts, .function = function, .kind = CHECK_CALL,
                 .device = e->call->body.device, .array = self };
    /* In memory, so that kernels do not depend on it. */
    VarId bound = array_mem_copy(ts, a.device, VarTypeUInt32, &count, 1);
    if (bound && access_prepare(&a, self, e->call->mask, NULL, 0, e->ids)) {
        VarId inside = arith_binary(ts, OP_LT, number, bound);
        if (inside)
            result = arith_binary(ts, OP_AND, a.mask, inside);
        var_drop(inside);
    }
    access_finish(&a);
    var_drop(bound);
    return result;
}

/* The only kind of callable if the ids are those of the callables, in their order. */
static const CallKind *find_only_kind(const Ending *e)
{
    const CallKind *only = NULL;
    if (e->targets->ids || e->targets->callable_of)
        return NULL;
    for (uint32_t i = 0; i < e->call->kind_count; ++i) {
        const CallKind *kind = &e->call->kinds[i];
        if (kind->used && only)
            return NULL;
        only = kind->used ? kind : only;
    }
    return only;
}

/* What is known about instances whose values follow each other in the table. */
static bool count_instances(Ending *e, const CallKind *kind)
{
    ThreadState *ts = e->ts;
    VarId before = arith_number(ts, OP_SUB, e->targets->self, 1, false);
    TRY(before, false);
    e->valid = check_bound(e, before, e->ids - 1);
    if (e->valid)
        e->number = arith_cast(ts, e->valid, VarTypeUInt32, false);
    if (e->number && e->call->table) {
        VarId first = arith_number(ts, OP_MUL, before, kind->size, false);
        VarId none = zero(e, before, 1);
        if (first && none)
            e->offset = arith_ternary(ts, OP_SELECT, e->valid, first, none);
        var_drop(first);
        var_drop(none);
    }
    var_dec(before);
    return e->number && (e->offset || !e->call->table);
}

/* What is known about the instances that lanes call. */
static bool look_up_instances(Ending *e)
{
    const CallKind *only = find_only_kind(e);
    if (only)
        return count_instances(e, only);
    Arena *arena = &e->call->arena;
    uint32_t *numbers = arena_zero(arena, e->ids, sizeof(uint32_t));
    uint32_t *offsets = arena_zero(arena, e->ids, sizeof(uint32_t));
    VarId mask = numbers && offsets ? check_bound(e, e->targets->self, e->ids) : 0;
    for (uint32_t i = 0; mask && i < e->targets->count; ++i) {
        uint32_t id = id_of(e->targets, i);
        const Callable *callable = &e->call->callables[callable_of(e->targets, i)];
        numbers[id] = e->call->kinds[callable->kind].number + 1;
        offsets[id] = callable->offset;
    }
    if (mask)
        e->number = look_up(e, numbers, mask);
    if (e->number && e->call->table)
        e->offset = look_up(e, offsets, mask);
    var_drop(mask);
    return e->number && (e->offset || !e->call->table);
}

/* The lanes that call anything; seldom needed where numbers are looked up. */
static bool make_valid(Ending *e)
{
    if (e->valid)
        return true;
    VarId some = arith_number(e->ts, OP_NEQ, e->number, 0, false);
    if (some)
        e->valid = arith_binary(e->ts, OP_AND, e->call->mask, some);
    var_drop(some);
    return e->valid != 0;
}

/* ------------------------------------------------------------- common outputs */

/* What all callables that are used have as output k without being called, a new
 * reference; 0 if there is no such thing. False: out of memory. */
static bool common_output(const Ending *e, uint32_t k, VarId *common)
{
    const Call *call = e->call;
    CallValue value = { 0 };
    VarId like = 0;
    for (uint32_t c = 0; c < call->count; ++c) {
        const Callable *callable = &call->callables[c];
        VarId id = call->kinds[callable->kind].body.outputs.ids[k];
        const Var *v = var_get(id);
        if (!callable->used)
            continue;
        if (v->op != OP_LITERAL && v->op != OP_EVALUATED && v->scope >= call->scope)
            return true;
        CallValue own = call_merge_value(call, callable, id);
        if (like && !call_merge_same(&own, &value))
            return true;
        like = id;
        value = own;
    }
    SymSize symsize;
    TRY(freezing_like(e->ts, like, &symsize), false);
    if (value.array)
        var_inc(*common = value.array);
    else
        *common = freezing_give(e->ts,
                                node_literal(e->ts, call->body.device,
                                             (VarType) var_get(like)->type, value.bits,
                                             var_lanes_of(like)),
                                symsize);
    return *common != 0;
}

/* These outputs leave the callables and become results. */
static bool take_common_outputs(Ending *e)
{
    if (!state_flag(e->ts, JitFlagOptimizeCalls))
        return true;
    for (uint32_t k = 0; k < e->count; ++k)
        TRY(common_output(e, k, &e->results[k]), false);
    for (uint32_t i = 0; i < e->call->kind_count; ++i) {
        VarIds *outputs = &e->call->kinds[i].body.outputs;
        outputs->count = 0;
        for (uint32_t k = 0; k < e->count; ++k)
            if (e->results[k])
                var_dec(outputs->ids[k]);
            else
                outputs->ids[outputs->count++] = outputs->ids[k];
    }
    return true;
}

/* They are results of the lanes that call anything. */
static bool select_common_outputs(Ending *e)
{
    for (uint32_t k = 0; k < e->count; ++k) {
        VarId value = e->results[k];
        if (!value)
            continue;
        TRY(make_valid(e), false);
        VarId none = zero(e, value, e->size);
        e->results[k] =
            none ? arith_ternary(e->ts, OP_SELECT, e->valid, value, none) : 0;
        var_drop(none);
        var_dec(value);
        TRY(e->results[k], false);
    }
    return true;
}

/* -------------------------------------------------------------------- regions */

/* Local arrays stay where they were made. */
static bool check_reads(const Call *call, VarId region)
{
    uint32_t count;
    const VarId *reads = region_part(var_get(region), PART_READS, &count);
    for (uint32_t i = 0; i < count; ++i)
        if (local_is_array(var_get(reads[i])))
            return error_set(JIT_ERROR_UNSUPPORTED,
                             "jit_var_call(): a callable of '%s' uses the local array "
                             "r%u, which is from outside", call->body.name, reads[i]);
    return true;
}

/* The callables that are left, of which there is one at least. */
static uint32_t list_bodies(const Call *call, RecordedBody *bodies)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < call->kind_count; ++i)
        if (call->kinds[i].used)
            bodies[count++] = call->kinds[i].body;
    return count;
}

/* What the lanes have that call nothing. */
static bool make_zeros(const Ending *e, const VarIds *outputs, VarIds *zeros)
{
    for (uint32_t k = 0; k < outputs->count; ++k)
        TRY(var_ids_take(zeros, zero(e, outputs->ids[k], 1)), false);
    return true;
}

static VarId make_region(Ending *e, const RecordedBody *bodies, uint32_t count)
{
    const Call *call = e->call;
    VarId active[] = { call->active, call->active };
    RegionSpec spec = {
        .kind = REGION_CALL, .device = call->body.device, .name = call->body.name,
        .size = e->size, .scope = call->scope, .bodies = bodies, .body_count = count,
        .parts = { [PART_MASK] = { &call->mask, 1 },
                   [PART_CONDITION] = { &e->number, 1 },
                   [PART_INPUTS] = { call->inputs.ids, call->inputs.count },
                   [PART_STATES] = { call->states.ids, call->states.count },
                   [PART_ACTIVE] = { active, 1 } }
    };
    if (count > 1 || e->offset || !state_flag(e->ts, JitFlagOptimizeCalls))
        return region_make(e->ts, &spec);
    /* One callable without values is a conditional. */
    TRY(make_valid(e), 0);
    RecordedBody sides[] = { bodies[0], { .scope = 0 } };
    spec.kind = REGION_IF;
    spec.bodies = sides;
    spec.body_count = 2;
    spec.parts[PART_CONDITION].ids = &e->valid;
    spec.parts[PART_ACTIVE].count = 2;
    VarId region = 0;
    if (make_zeros(e, &bodies[0].outputs, &sides[1].outputs))
        region = region_make(e->ts, &spec);
    var_ids_drop(&sides[1].outputs);
    return region;
}

static bool add_region(Ending *e)
{
    RecordedBody *bodies =
        arena_get(&e->call->arena, e->call->kind_count * sizeof(RecordedBody));
    TRY(bodies, false);
    uint32_t count = list_bodies(e->call, bodies), needed = bodies[0].outputs.count;
    for (uint32_t c = 0; c < count; ++c)
        needed += bodies[c].effects.count;
    VarId region = needed ? make_region(e, bodies, count) : 0;
    if (region && !check_reads(e->call, region))
        var_clear(&region);
    return !needed ||
           region_add(e->ts, region_expand(e->ts, region), e->count, e->results);
}

/* --------------------------------------------------------------------- results */

/* Nothing is ever called. */
static bool make_zero_results(Ending *e)
{
    for (uint32_t k = 0; k < e->count; ++k) {
        VarId output = e->call->kinds[0].body.outputs.ids[k];
        e->results[k] = zero(e, output, e->size);
        TRY(e->results[k], false);
    }
    return true;
}

static bool make_results(Ending *e)
{
    Call *call = e->call;
    TRY(check_self(e) && take_targets(e) && complete_mask(e) && find_size(e), false);
    if (!e->targets->count)
        return make_zero_results(e);
    TRY(call_merge_settle(call) && take_common_outputs(e) && call_merge(e->ts, call) &&
        look_up_instances(e) && select_common_outputs(e), false);
    /* Literals are not inputs, as in call_input(). */
    VarId offset = e->offset;
    if (offset && !(var_get(offset)->op == OP_LITERAL &&
                    state_flag(e->ts, JitFlagOptimizeCalls)))
        offset = call_add_input(e->ts, call, offset);
    return (offset || !e->offset) && call_merge_apply(e->ts, call, offset) &&
           add_region(e);
}

/* What the caller has as results: entries of local arrays become arrays again. */
static bool join_results(const Ending *e, VarId *results)
{
    const VarId *next = e->results;
    for (uint32_t i = 0; i < e->call->result_count; ++i) {
        uint32_t length = e->call->results[i].length;
        if (length)
            TRY((results[i] = local_join(e->ts, next, length, e->size)) != 0, false);
        else
            var_inc(results[i] = next[0]);
        next += length ? length : 1;
    }
    return true;
}

bool call_end(ThreadState *ts, uint32_t handle, const CallTargets *targets,
              VarId *results)
{
    Call *call = call_find(ts, handle, function);
    TRY(call, false);
    Ending e = { .ts = ts, .call = call, .targets = targets, .ids = 1 };
    e.count = call->count ? call->kinds[0].body.outputs.count : 0;
    e.results = arena_zero(&call->arena, (size_t) e.count + 1, sizeof(VarId));
    for (uint32_t k = 0; results && k < call->result_count; ++k)
        results[k] = 0;
    bool ok = e.results != NULL;
    if (call->result_count && !results)
        ok = error_set(JIT_ERROR_ARGUMENT, "%s: results is NULL", function);
    else if (call->body.effects.count)
        ok = error_set(JIT_ERROR_STATE,
                       "%s: call '%s': a callable was not completed with "
                       "jit_var_call_append()", function, call->body.name);
    ok = record_close(ts, &call->body, function) && ok && make_results(&e) &&
         join_results(&e, results);
    for (uint32_t k = 0; !ok && results && k < call->result_count; ++k)
        var_clear(&results[k]);
    for (uint32_t k = 0; e.results && k < e.count; ++k)
        var_drop(e.results[k]);
    var_drop(e.number);
    var_drop(e.offset);
    var_drop(e.valid);
    call_free(call);
    return ok;
}
