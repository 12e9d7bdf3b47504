/*
 * call_end.c -- see call_end.h
 *
 *     callables that nobody calls are dropped,
 *     those that differ in values only become one (call_merge.h),
 *     outputs that are the same literal or outside variable everywhere leave the call,
 *     a single callable becomes a conditional, any others a region of kind CALL.
 *
 * Arrays with an entry for each id give the number of the callable + 1 and, if need be,
 * the place of the instance's values in the table of those.
 */
#include "trace/flow/call_end.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "trace/array/array.h"
#include "trace/array/memory.h"
#include "trace/eval/call_merge.h"
#include "trace/eval/work.h"
#include "trace/graph/access.h"
#include "trace/graph/arith.h"
#include "trace/graph/region.h"

static void drop(VarId id)
{
    if (id)
        var_dec(id);
}

/* What becomes of a call. */
typedef struct Ending {
    ThreadState *ts;
    Call *call;
    const CallTargets *targets;
    CallGroups groups;
    uint32_t size;     /* lanes */
    VarId number;      /* of the group + 1, 0 = none; owned */
    VarId offset;      /* of an instance's values, 0 if there are none; owned */
    VarId data;        /* pointer to the table of values; owned */
    VarId valid;       /* lanes that call anything, made when needed; owned */
    VarId *results;
    uint32_t kept;     /* results that need a region */
} Ending;

static bool check_targets(const Call *call, const CallTargets *targets)
{
    static const char *const function = "jit_var_call()";
    for (uint32_t i = 0; i < targets->count; ++i) {
        uint32_t callable = targets->callable_of ? targets->callable_of[i] : i;
        if (callable >= call->count)
            return error_set(JIT_ERROR_ARGUMENT,
                             "%s: call '%s': instance %u has callable %u of %u",
                             function, call->name, i, callable, call->count);
        if (targets->ids && targets->ids[i] == 0)
            return error_set(JIT_ERROR_ARGUMENT,
                             "%s: call '%s': instance %u has the id 0, which stands "
                             "for none", function, call->name, i);
    }
    return true;
}

static bool check_self(const Ending *e)
{
    static const char *const function = "jit_var_call()";
    VarId self = e->targets->self;
    TRY(node_usable(e->ts, self, function, "the instance id"), false);
    if (var_get(self)->type != VarTypeUInt32)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: call '%s': the instance id is %s, expected uint32",
                         function, e->call->name,
                         type_info[var_get(self)->type].name);
    return true;
}

static bool join_size(Ending *e, VarId id)
{
    uint32_t n = var_get(id)->size;
    if (n == 1 || n == e->size)
        return true;
    if (e->size != 1)
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_var_call(): call '%s': r%u has %u entries, others have "
                         "%u, expected equal sizes or 1", e->call->name, id, n,
                         e->size);
    e->size = n;
    return true;
}

static bool join_sizes(Ending *e, const VarId *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        TRY(join_size(e, ids[i]), false);
    return true;
}

static bool find_size(Ending *e)
{
    const Call *call = e->call;
    e->size = 1;
    TRY(join_size(e, call->mask) && join_size(e, e->targets->self), false);
    TRY(join_sizes(e, call->inputs.ids, call->inputs.count), false);
    for (uint32_t c = 0; c < call->count; ++c) {
        const RecordedBody *body = &call->callables[c];
        TRY(join_sizes(e, body->outputs, body->output_count) &&
            join_sizes(e, body->effects, body->effect_count), false);
    }
    return true;
}

/* Local arrays stay where they were made. */
static bool check_reads(const Call *call, VarId region)
{
    uint32_t count;
    const VarId *reads = region_part(var_get(region), PART_READS, &count);
    for (uint32_t i = 0; i < count; ++i)
        if (var_get(reads[i])->flags & VAR_LOCAL)
            return error_set(JIT_ERROR_UNSUPPORTED,
                             "jit_var_call(): a callable of '%s' uses the local array "
                             "r%u, which is from outside", call->name, reads[i]);
    return true;
}

/* ------------------------------------------------------------------- merging */

/* A region of kind CALL with these bodies. */
static VarId make_region(Ending *e, const VarId *condition, uint32_t condition_count,
                         const RecordedBody *bodies, uint32_t count, CallInfo *info)
{
    const Call *call = e->call;
    RegionSpec spec = {
        .kind = REGION_CALL, .backend = call->body.backend, .name = call->name,
        .size = e->size, .scope = call->scope, .bodies = bodies, .body_count = count,
        .call = info,
        .parts = { [PART_MASK] = { &call->mask, 1 },
                   [PART_CONDITION] = { condition, condition_count },
                   [PART_INPUTS] = { call->inputs.ids, call->inputs.count },
                   [PART_STATES] = { call->states.ids, call->states.count },
                   [PART_ACTIVE] = { &call->active, 1 } }
    };
    return region_make(e->ts, &spec);
}

static void free_preview(struct CallPreview *preview, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        if (preview->programs)
            program_free(preview->programs[i]);
        if (preview->slots)
            alloc_free(preview->slots[i]);
    }
    alloc_free(preview->programs);
    alloc_free(preview->slots);
}

/* Build all callables, as if this were the call, and compare them. */
static bool preview_region(Ending *e, VarId region)
{
    uint32_t count = e->call->count;
    TRY(check_reads(e->call, region), false);
    struct CallPreview preview = {
        .region = region, .scope = e->call->scope,
        .programs = alloc_zero(count, sizeof(Program *)),
        .slots = alloc_zero(count, sizeof(VarId *))
    };
    Assembly *assembly = alloc_zero(1, sizeof(Assembly));
    Program *scratch = alloc_zero(1, sizeof(Program));
    bool ok = preview.programs && preview.slots && assembly && scratch &&
              assemble_call_preview(assembly, scratch, &preview) &&
              call_merge_groups(&preview, &e->groups);
    if (assembly)
        assemble_free(assembly);
    alloc_free(assembly);
    program_free(scratch);
    free_preview(&preview, count);
    return ok;
}

static bool find_groups(Ending *e)
{
    const Call *call = e->call;
    if (call->count == 1 || !state_flag(e->ts, JitFlagMergeFunctions))
        return call_merge_none(call->count, &e->groups);
    CallInfo *info = alloc_zero(1, sizeof(CallInfo));
    TRY(info, false);
    /* Any UInt32 does for the number. */
    VarId region = make_region(e, &e->targets->self, 1, call->callables, call->count,
                               info);
    if (!region)
        call_info_free(info);
    TRY(region, false);
    bool ok = preview_region(e, region);
    var_dec(region); /* it names the placeholders, so it has to go before the next */
    return ok;
}

/* Callables that no instance has are as if they had never been. */
static bool drop_unused(Call *call, const CallTargets *targets, uint32_t **numbers)
{
    *numbers = alloc_zero((size_t) call->count + 1, sizeof(uint32_t));
    TRY(*numbers, false);
    for (uint32_t i = 0; i < targets->count; ++i)
        (*numbers)[targets->callable_of ? targets->callable_of[i] : i] = 1;
    uint32_t kept = 0;
    for (uint32_t c = 0; c < call->count; ++c) {
        if (!(*numbers)[c]) {
            record_release(&call->callables[c]);
            continue;
        }
        call->callables[kept] = call->callables[c];
        (*numbers)[c] = kept++;
    }
    call->count = kept;
    return true;
}

/* -------------------------------------------------------------------- tables */

static bool copy_arrays(Ending *e, VarId table)
{
    const CallGroups *g = &e->groups;
    for (uint32_t i = 0; i < g->copy_count; ++i) {
        const Var *from = var_get(g->copies[i].var);
        TRY(work_copy(e->ts, from->value.buffer, 0, var_get(table)->value.buffer,
                      (size_t) g->copies[i].word * sizeof(uint32_t),
                      type_info[from->type].size),
            false);
    }
    return true;
}

/* Pointer to the values of all instances. */
static bool make_data(Ending *e)
{
    const CallGroups *g = &e->groups;
    if (!g->words)
        return true;
    VarId table = array_mem_copy(e->ts, e->call->body.backend, VarTypeUInt32, g->table,
                                 g->words);
    TRY(table, false);
    if (copy_arrays(e, table))
        e->data = memory_pointer(e->ts, table, false);
    var_dec(table);
    return e->data != 0;
}

/* An array with an entry for each id, gathered from by the ids. */
static VarId look_up(Ending *e, const uint32_t *entries, uint32_t count, VarId mask)
{
    VarId table = array_mem_copy(e->ts, e->call->body.backend, VarTypeUInt32, entries,
                                 count);
    TRY(table, 0);
    VarId result = memory_gather(e->ts, table, e->targets->self, mask);
    var_dec(table);
    return result;
}

/* Lanes with an id that exists: the mask, with a report of others in debug mode. */
static VarId check_bound(Ending *e, uint32_t count)
{
    ThreadState *ts = e->ts;
    VarId self = e->targets->self, result = 0;
    Access a = { .ts = ts, .function = "jit_var_call()", .kind = CHECK_CALL,
                 .backend = e->call->body.backend, .array = self };
    /* In memory, so that kernels do not depend on it. */
    VarId bound = array_mem_copy(ts, a.backend, VarTypeUInt32, &count, 1);
    if (bound && access_prepare(&a, self, e->call->mask, NULL, 0, count)) {
        VarId inside = arith_binary(ts, OP_LT, self, bound);
        if (inside)
            result = arith_binary(ts, OP_AND, a.mask, inside);
        drop(inside);
    }
    access_finish(&a);
    drop(bound);
    return result;
}

static bool make_numbers(Ending *e, const uint32_t *numbers)
{
    const CallTargets *t = e->targets;
    uint32_t most = 0;
    for (uint32_t i = 0; i < t->count; ++i) {
        uint32_t id = t->ids ? t->ids[i] : i + 1;
        most = id > most ? id : most;
    }
    if (most == UINT32_MAX)
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_var_call(): call '%s': an instance has the id %u, the "
                         "largest there can be is %u", e->call->name, most, most - 1);
    uint32_t count = most + 1;
    uint32_t *groups = alloc_zero(count, sizeof(uint32_t));
    uint32_t *offsets = alloc_zero(count, sizeof(uint32_t));
    VarId mask = groups && offsets ? check_bound(e, count) : 0;
    for (uint32_t i = 0; mask && i < t->count; ++i) {
        uint32_t id = t->ids ? t->ids[i] : i + 1;
        uint32_t callable = numbers[t->callable_of ? t->callable_of[i] : i];
        groups[id] = e->groups.group_of[callable] + 1;
        offsets[id] = e->groups.offset[callable];
    }
    if (mask)
        e->number = look_up(e, groups, count, mask);
    if (e->number && e->groups.words)
        e->offset = look_up(e, offsets, count, mask);
    drop(mask);
    alloc_free(groups);
    alloc_free(offsets);
    return e->number && (e->offset || !e->groups.words) && make_data(e);
}

/* ------------------------------------------------------------------- results */

/* What all callables have as output k without being called, 0 if there is no such
 * thing. */
static VarId common_output(const Ending *e, uint32_t k)
{
    const Call *call = e->call;
    VarId first = call->callables[0].outputs[k];
    const Var *v = var_get(first);
    bool literal = v->op == OP_LITERAL;
    if (!state_flag(e->ts, JitFlagOptimizeCalls) ||
        (!literal && v->op != OP_EVALUATED && v->scope >= call->scope))
        return 0;
    for (uint32_t c = 1; c < call->count; ++c) {
        VarId id = call->callables[c].outputs[k];
        const Var *w = var_get(id);
        bool same = literal ? w->op == OP_LITERAL &&
                                  w->value.literal == v->value.literal
                            : id == first;
        if (!same)
            return 0;
    }
    return first;
}

static bool make_valid(Ending *e)
{
    if (e->valid)
        return true;
    ThreadState *ts = e->ts;
    VarId zero = node_literal(ts, e->call->body.backend, VarTypeUInt32, 0, 1);
    VarId some = zero ? arith_binary(ts, OP_NEQ, e->number, zero) : 0;
    if (some)
        e->valid = arith_binary(ts, OP_AND, e->call->mask, some);
    drop(zero);
    drop(some);
    return e->valid != 0;
}

/* A result that leaves the call. */
static VarId select_result(Ending *e, VarId value)
{
    VarType type = (VarType) var_get(value)->type;
    JitBackend backend = e->call->body.backend;
    VarId zero = node_literal(e->ts, backend, type, 0, e->size), result = 0;
    if (zero && make_valid(e))
        result = arith_ternary(e->ts, OP_SELECT, e->valid, value, zero);
    drop(zero);
    return result;
}

static bool make_common_results(Ending *e)
{
    for (uint32_t k = 0; k < e->call->output_count; ++k) {
        VarId common = common_output(e, k);
        if (common)
            e->results[k] = select_result(e, common);
        TRY(!common || e->results[k], false);
        e->kept += !common;
    }
    return true;
}

/* Nothing is ever called. */
static bool make_zero_results(Ending *e)
{
    for (uint32_t k = 0; k < e->call->output_count; ++k) {
        VarType type = (VarType) var_get(e->call->callables[0].outputs[k])->type;
        e->results[k] = node_literal(e->ts, e->call->body.backend, type, 0, e->size);
        TRY(e->results[k], false);
    }
    return true;
}

/* -------------------------------------------------------------------- regions */

/* One callable of each group, without the outputs that leave the call. The references
 * are those of the call. */
static RecordedBody *list_groups(const Ending *e)
{
    const Call *call = e->call;
    RecordedBody *bodies = alloc_zero(e->groups.count, sizeof(RecordedBody));
    TRY(bodies, NULL);
    for (uint32_t g = 0; g < e->groups.count; ++g) {
        RecordedBody *body = &bodies[g];
        *body = call->callables[e->groups.leader[g]];
        body->output_count = 0;
        body->outputs = alloc_get((e->kept + 1) * sizeof(VarId));
        for (uint32_t k = 0; body->outputs && k < call->output_count; ++k)
            if (!e->results[k])
                body->outputs[body->output_count++] =
                    call->callables[e->groups.leader[g]].outputs[k];
    }
    return bodies;
}

static void free_groups(const Ending *e, RecordedBody *bodies)
{
    for (uint32_t g = 0; bodies && g < e->groups.count; ++g)
        alloc_free(bodies[g].outputs);
    alloc_free(bodies);
}

static bool groups_complete(const Ending *e, const RecordedBody *bodies)
{
    for (uint32_t g = 0; bodies && g < e->groups.count; ++g)
        TRY(bodies[g].outputs, false);
    return bodies != NULL;
}

/* The values of instances, as what the region has of them. */
static bool add_values(Ending *e, CallInfo *info)
{
    Call *call = e->call;
    if (!e->groups.slot_count)
        return true;
    info->offset_state = call->states.count;
    VarId placeholder = call_placeholder(e->ts, call, OP_STATE, info->offset_state,
                                   VarTypeUInt32, 1);
    TRY(placeholder, false);
    if (!call_append_id(&call->states, placeholder, false)) {
        var_dec(placeholder);
        return false;
    }
    TRY(call_append_id(&call->inputs, e->offset, true), false);
    info->slots = e->groups.slots;
    info->slot_count = e->groups.slot_count;
    e->groups.slots = NULL;
    return true;
}

static VarId make_call(Ending *e, const RecordedBody *bodies)
{
    VarId condition[] = { e->number, e->data };
    CallInfo *info = alloc_zero(1, sizeof(CallInfo));
    VarId region = 0;
    if (info && add_values(e, info))
        region = make_region(e, condition, e->data ? 2 : 1, bodies, e->groups.count,
                             info);
    if (!region)
        call_info_free(info);
    return region;
}

/* One callable, no values: a conditional. */
static VarId make_direct(Ending *e, const RecordedBody *callable)
{
    Call *call = e->call;
    CallList zeros = { 0 };
    bool ok = make_valid(e);
    for (uint32_t k = 0; ok && k < callable->output_count; ++k) {
        VarId zero = node_literal(e->ts, call->body.backend,
                                  (VarType) var_get(callable->outputs[k])->type, 0, 1);
        ok = zero && call_append_id(&zeros, zero, false);
    }
    RecordedBody bodies[] = { *callable,
                              { .outputs = zeros.ids, .output_count = zeros.count } };
    VarId active[] = { call->active, call->active }, region = 0;
    RegionSpec spec = {
        .kind = REGION_IF, .backend = call->body.backend, .name = call->name,
        .size = e->size, .scope = call->scope, .bodies = bodies, .body_count = 2,
        .parts = { [PART_MASK] = { &call->mask, 1 },
                   [PART_CONDITION] = { &e->valid, 1 },
                   [PART_INPUTS] = { call->inputs.ids, call->inputs.count },
                   [PART_STATES] = { call->states.ids, call->states.count },
                   [PART_ACTIVE] = { active, 2 } }
    };
    if (ok)
        region = region_make(e->ts, &spec);
    call_drop_list(&zeros);
    return region;
}

static bool add_region(Ending *e)
{
    const Call *call = e->call;
    bool direct = e->groups.count == 1 && !e->groups.slot_count, effects = false;
    for (uint32_t g = 0; g < e->groups.count; ++g)
        effects |= call->callables[e->groups.leader[g]].effect_count != 0;
    if (!e->kept && !effects)
        return true;
    RecordedBody *bodies = list_groups(e);
    VarId region = 0;
    if (groups_complete(e, bodies))
        region = direct ? make_direct(e, bodies) : make_call(e, bodies);
    free_groups(e, bodies);
    TRY(region, false);
    bool ok = check_reads(call, region);
    uint32_t number = 0;
    for (uint32_t k = 0; ok && k < call->output_count; ++k) {
        if (e->results[k])
            continue;
        VarType type = (VarType) var_get(call->callables[0].outputs[k])->type;
        e->results[k] = region_result(e->ts, region, number++, type);
        ok = e->results[k] != 0;
    }
    bool queued = ok && region_is_effect(var_get(region)) &&
                  record_effect(e->ts, region);
    ok = ok && (queued || !region_is_effect(var_get(region)));
    if (!queued)
        var_dec(region);
    return ok;
}

static bool make_results(Ending *e)
{
    TRY(check_self(e) && check_targets(e->call, e->targets) && find_size(e), false);
    uint32_t *numbers = NULL;
    bool ok = true;
    if (!e->targets->count)
        return e->call->count ? make_zero_results(e) : true;
    ok = drop_unused(e->call, e->targets, &numbers) && find_groups(e) &&
         make_numbers(e, numbers) && make_common_results(e) && add_region(e);
    alloc_free(numbers);
    return ok;
}

/* What the caller has as results: entries of local arrays become arrays again. Takes
 * the references to the entries. */
static bool join_results(const Ending *e, VarId *results)
{
    const Call *call = e->call;
    const VarId *next = e->results;
    bool ok = true;
    for (uint32_t i = 0; i < call->result_count; ++i) {
        uint32_t length = call->results[i].length;
        if (!length)
            results[i] = next[0];
        else if (ok)
            results[i] = call_local_join(e->ts, call, next, length, e->size);
        ok = ok && results[i];
        for (uint32_t k = 0; k < length; ++k)
            drop(next[k]);
        next += length ? length : 1;
    }
    return ok;
}

bool call_end(ThreadState *ts, uint32_t handle, const CallTargets *targets,
              VarId *results)
{
    static const char *const function = "jit_var_call()";
    Call *call = call_find(ts, handle, function);
    TRY(call, false);
    Ending e = { .ts = ts, .call = call, .targets = targets };
    e.results = alloc_zero((size_t) call->output_count + 1, sizeof(VarId));
    for (uint32_t k = 0; results && k < call->result_count; ++k)
        results[k] = 0;
    bool ok = e.results != NULL;
    if (call->result_count && !results)
        ok = error_set(JIT_ERROR_ARGUMENT, "%s: results is NULL", function);
    else if (call->body.effect_count)
        ok = error_set(JIT_ERROR_STATE,
                       "%s: call '%s': a callable was not completed with "
                       "jit_var_call_append()", function, call->name);
    ok = record_close(ts, &call->body, function) && ok;
    bool made = ok && make_results(&e);
    for (uint32_t k = 0; e.results && !made && k < call->output_count; ++k)
        drop(e.results[k]);
    ok = made && join_results(&e, results);
    for (uint32_t k = 0; !ok && results && k < call->result_count; ++k) {
        drop(results[k]);
        results[k] = 0;
    }
    alloc_free(e.results);
    drop(e.number);
    drop(e.offset);
    drop(e.data);
    drop(e.valid);
    call_merge_free(&e.groups);
    call_free(call);
    return ok;
}
