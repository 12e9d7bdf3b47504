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
#include "trace/eval/work.h"
#include "trace/flow/call_merge.h"
#include "trace/flow/region_expand.h"
#include "trace/flow/region_replay.h"
#include "trace/graph/access.h"
#include "trace/graph/arith.h"

/* What becomes of a call. */
typedef struct Ending {
    ThreadState *ts;
    Call *call;
    const CallTargets *targets;
    CallGroups groups;
    uint32_t size;     /* lanes */
    VarId number;      /* of the group + 1, 0 = none; owned */
    VarId offset;      /* of an instance's values, 0 if there are none; owned */
    VarId table, data; /* table of values, pointer to it; owned */
    VarId given_offset; /* what stands for the offset in callables */
    VarId valid;       /* lanes that call anything, made when needed; owned */
    VarId *results;
    uint32_t kept;     /* results that need a region */
} Ending;

static VarId literal(const Ending *e, VarType type, uint64_t bits)
{
    return node_literal(e->ts, e->call->body.backend, type, bits, 1);
}

/* Operations that take their operands; 0 if one of them is. */
static VarId binary(const Ending *e, Op op, VarId a, VarId b)
{
    VarId result = a && b ? arith_binary(e->ts, op, a, b) : 0;
    var_drop(a);
    var_drop(b);
    return result;
}

static VarId cast(const Ending *e, VarId a, VarType type, bool bits)
{
    VarId result = a ? arith_cast(e->ts, a, type, bits) : 0;
    var_drop(a);
    return result;
}

static bool check_targets(const Call *call, const CallTargets *targets)
{
    static const char *const function = "jit_var_call()";
    for (uint32_t i = 0; i < targets->count; ++i) {
        uint32_t callable = targets->callable_of ? targets->callable_of[i] : i;
        if (callable >= call->count)
            return error_set(JIT_ERROR_ARGUMENT,
                             "%s: call '%s': instance %u has callable %u of %u",
                             function, call->body.name, i, callable, call->count);
        if (targets->ids && targets->ids[i] == 0)
            return error_set(JIT_ERROR_ARGUMENT,
                             "%s: call '%s': instance %u has the id 0, which stands "
                             "for none", function, call->body.name, i);
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
                         function, e->call->body.name,
                         type_info[var_get(self)->type].name);
    return true;
}

static bool find_size(Ending *e)
{
    const Call *call = e->call;
    RecordSize s = { "jit_var_call(): call", call->body.name, 1, 0 };
    TRY(record_join_sizes(&s, (VarId[]){ call->mask, e->targets->self }, 2) &&
        record_join_sizes(&s, call->inputs.ids, call->inputs.count), false);
    for (uint32_t c = 0; c < call->count; ++c)
        TRY(record_join_body(&s, &call->callables[c]), false);
    e->size = s.size;
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
                             "r%u, which is from outside", call->body.name, reads[i]);
    return true;
}

/* ------------------------------------------------------------------ instances */

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

bool call_fill_table(ThreadState *ts, VarId table, ExtraSource *sources, uint32_t count)
{
    Extra *extra = count ? extra_make(var_get(table)) : NULL;
    if (!extra) {
        alloc_free(sources);
        return !count;
    }
    extra->sources = sources;
    extra->source_count = count;
    for (uint32_t i = 0; i < count; ++i)
        var_inc(sources[i].array);
    for (uint32_t i = 0; i < count; ++i) {
        const Var *from = var_get(sources[i].array);
        TRY(work_copy(ts, from->value.buffer, 0, var_get(table)->value.buffer,
                      sources[i].word * sizeof(uint32_t), type_info[from->type].size),
            false);
    }
    return true;
}

/* Pointer to the values of all instances. */
static bool make_data(Ending *e)
{
    CallGroups *g = &e->groups;
    if (!g->words)
        return true;
    e->table = array_mem_copy(e->ts, e->call->body.backend, VarTypeUInt32, g->table,
                              g->words);
    TRY(e->table, false);
    ExtraSource *sources = g->sources;
    g->sources = NULL;
    TRY(call_fill_table(e->ts, e->table, sources, g->source_count), false);
    e->data = memory_pointer(e->ts, e->table, false);
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
        var_drop(inside);
    }
    access_finish(&a);
    var_drop(bound);
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
                         "largest there can be is %u", e->call->body.name, most,
                         most - 1);
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
    var_drop(mask);
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
    if (!state_flag(e->ts, JitFlagOptimizeCalls) ||
        (v->op != OP_LITERAL && v->op != OP_EVALUATED && v->scope >= call->scope))
        return 0;
    for (uint32_t c = 1; c < call->count; ++c) {
        VarId id = call->callables[c].outputs[k];
        if (id != first && !var_same_literal(id, first))
            return 0;
    }
    return first;
}

static bool make_valid(Ending *e)
{
    if (e->valid)
        return true;
    var_inc(e->number);
    var_inc(e->call->mask);
    VarId some = binary(e, OP_NEQ, e->number, literal(e, VarTypeUInt32, 0));
    e->valid = binary(e, OP_AND, e->call->mask, some);
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
    var_drop(zero);
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

/* --------------------------------------------------- values that are looked up */

/* Word number k of the values of an instance. */
static VarId read_word(const Ending *e, uint32_t k)
{
    var_inc(e->given_offset);
    VarId always = literal(e, VarTypeBool, 1), result = 0;
    VarId index = binary(e, OP_ADD, e->given_offset, literal(e, VarTypeUInt32, k));
    if (index && always) {
        Var v = { .op = OP_GATHER, .type = VarTypeUInt32,
                  .backend = (uint8_t) e->call->body.backend,
                  .size = var_get(index)->size, .dep = { e->data, index, always } };
        result = node_new(e->ts, &v);
    }
    var_drop(always);
    var_drop(index);
    return result;
}

/* A value of this type. */
static VarId read_value(const Ending *e, VarType type, uint32_t word)
{
    VarId bits = read_word(e, word);
    if (type_info[type].size == 8) {
        bits = cast(e, bits, VarTypeUInt64, false);
        VarId high = cast(e, read_word(e, word + 1), VarTypeUInt64, false);
        high = binary(e, OP_SHL, high, literal(e, VarTypeUInt64, 32));
        bits = binary(e, OP_OR, high, bits);
    } else if (type_info[type].size < 4) { /* masks have no bits */
        bits = cast(e, bits, type == VarTypeBool ? type : type_bits(type), false);
    }
    return cast(e, bits, type, true);
}

/* Values that differ in the callables of a group are looked up by the first one. */
static bool set_values(Ending *e, const CallGroup *group, RegionReplay *r)
{
    for (uint32_t i = 0; i < group->slot_count; ++i) {
        CallSlot slot = e->groups.slots[group->first_slot + i];
        VarType type = (VarType) var_get(slot.var)->type;
        VarId value = read_value(e, type, slot.word);
        bool ok = value && region_replay_set(r, slot.var, value);
        var_drop(value);
        TRY(ok, false);
    }
    return true;
}

static bool look_up_values(Ending *e, const CallGroup *group)
{
    Call *call = e->call;
    RecordedBody *before = &call->callables[group->leader], now = { 0 };
    RegionReplay r;
    TRY(record_open(e->ts, &call->body, BODY_CALLABLE, call->body.backend, 0), false);
    /* The placeholders stay, those in the callable do not. */
    bool ok = region_replay_begin(&r, e->ts, call->scope + 1);
    if (ok) {
        ok = set_values(e, group, &r) && region_replay_recorded(&r, before, &now);
        region_replay_end(&r);
    }
    ok = record_close_into(e->ts, &call->body, &now, "jit_var_call()") && ok;
    record_release(ok ? before : &now);
    if (ok)
        *before = now;
    return ok;
}

static bool look_up_all(Ending *e)
{
    if (!e->offset)
        return true;
    e->given_offset = call_add_input(e->ts, e->call, e->offset);
    TRY(e->given_offset, false);
    for (uint32_t g = 0; g < e->groups.count; ++g)
        TRY(!e->groups.group[g].slot_count || look_up_values(e, &e->groups.group[g]),
            false);
    return true;
}

/* -------------------------------------------------------------------- regions */

/* One callable of each group, without the outputs that leave the call. */
static bool keep_groups(Ending *e)
{
    Call *call = e->call;
    uint32_t kept = 0;
    bool effects = false;
    for (uint32_t c = 0; c < call->count; ++c) {
        RecordedBody *body = &call->callables[c];
        if (e->groups.group[e->groups.group_of[c]].leader != c) {
            record_release(body);
            continue;
        }
        uint32_t outputs = 0;
        for (uint32_t k = 0; k < body->output_count; ++k)
            if (e->results[k])
                var_dec(body->outputs[k]);
            else
                body->outputs[outputs++] = body->outputs[k];
        body->output_count = outputs;
        effects |= body->effect_count != 0;
        call->callables[kept++] = *body;
    }
    call->count = kept;
    return effects;
}

/* What the lanes have that call nothing. */
static bool make_zeros(const Ending *e, CallList *zeros)
{
    const RecordedBody *callable = &e->call->callables[0];
    for (uint32_t k = 0; k < callable->output_count; ++k) {
        VarId zero = literal(e, (VarType) var_get(callable->outputs[k])->type, 0);
        TRY(zero && call_append_id(zeros, zero, false), false);
    }
    return true;
}

/* One callable without values is a conditional. */
static VarId make_region(Ending *e)
{
    const Call *call = e->call;
    bool direct = call->count == 1 && !e->offset;
    CallList zeros = { 0 };
    VarId active[] = { call->active, call->active }, region = 0;
    if (!direct || (make_valid(e) && make_zeros(e, &zeros))) {
        RecordedBody none = { .outputs = zeros.ids, .output_count = zeros.count };
        RecordedBody sides[] = { call->callables[0], none };
        RegionSpec spec = {
            .kind = direct ? REGION_IF : REGION_CALL, .backend = call->body.backend,
            .name = call->body.name, .size = e->size, .scope = call->scope,
            .bodies = direct ? sides : call->callables,
            .body_count = direct ? 2 : call->count,
            .parts = { [PART_MASK] = { &call->mask, 1 },
                       [PART_CONDITION] = { direct ? &e->valid : &e->number, 1 },
                       [PART_INPUTS] = { call->inputs.ids, call->inputs.count },
                       [PART_STATES] = { call->states.ids, call->states.count },
                       [PART_ACTIVE] = { active, direct ? 2 : 1 } }
        };
        region = region_make(e->ts, &spec);
    }
    call_drop_list(&zeros);
    return region;
}

static bool add_region(Ending *e)
{
    const Call *call = e->call;
    bool effects = keep_groups(e);
    if (!e->kept && !effects)
        return true;
    VarId region = make_region(e);
    bool ok = region && check_reads(call, region);
    region = ok ? region_expand(e->ts, region) : region;
    TRY(region, false);
    uint32_t number = 0;
    for (uint32_t k = 0; ok && k < call->output_count; ++k) {
        if (e->results[k])
            continue;
        VarType type = (VarType) var_get(call->callables[0].outputs[number])->type;
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
    const Call *call = e->call;
    TRY(check_self(e) && check_targets(call, e->targets) && find_size(e), false);
    if (!e->targets->count)
        return call->count ? make_zero_results(e) : true;
    uint32_t *numbers = NULL;
    bool merge = state_flag(e->ts, JitFlagMergeFunctions);
    bool ok = drop_unused(e->call, e->targets, &numbers) &&
              call_merge(call, merge && call->count > 1, &e->groups) &&
              make_numbers(e, numbers) && make_common_results(e) && look_up_all(e) &&
              add_region(e);
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
            var_drop(next[k]);
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
                       "jit_var_call_append()", function, call->body.name);
    ok = record_close(ts, &call->body, function) && ok;
    bool made = ok && make_results(&e);
    for (uint32_t k = 0; e.results && !made && k < call->output_count; ++k)
        var_drop(e.results[k]);
    ok = made && join_results(&e, results);
    for (uint32_t k = 0; !ok && results && k < call->result_count; ++k) {
        var_drop(results[k]);
        results[k] = 0;
    }
    alloc_free(e.results);
    var_drop(e.number);
    var_drop(e.offset);
    var_drop(e.table);
    var_drop(e.data);
    var_drop(e.valid);
    call_merge_free(&e.groups);
    call_free(call);
    return ok;
}
