/*
 * call.c -- see call.h
 *
 * Each callable is recorded in a body of its own, with the same placeholders for inputs
 * and mask, whose scope is below those of all bodies.
 *
 * A callable has no access to local arrays of its caller: a Program's callables know no
 * arrays but their own. So such an array is taken apart where it crosses, into one
 * input or output for each entry, and put together again on the other side.
 */
#include "trace/flow/call.h"

#include "base/error.h"
#include "trace/flow/call_merge.h"
#include "trace/graph/access.h"
#include "trace/graph/local.h"
#include "trace/graph/mask.h"
#include "trace/graph/region.h"

enum { MOST_DEPTH = 64, MOST_ENTRIES = 1024 };

void call_free(Call *call)
{
    var_ids_drop(&call->body.effects);
    for (uint32_t i = 0; i < call->kind_count; ++i) {
        CallKind *kind = &call->kinds[i];
        record_release(&kind->body);
        for (uint32_t k = 0; k < kind->value_count; ++k)
            var_dec(kind->values[k]);
    }
    call_merge_free(call);
    var_ids_drop(&call->outputs);
    var_ids_drop(&call->inputs);
    var_ids_drop(&call->states);
    var_drop(call->table);
    var_drop(call->data);
    var_drop(call->mask);
    var_drop(call->active);
    arena_free(&call->arena);
}

static void abandon_call(ThreadState *ts, Body *body)
{
    (void) ts;
    call_free((Call *) body);
}

/* ---------------------------------------------------------------- recording */

/* A placeholder that belongs to all callables. */
static VarId make_placeholder(ThreadState *ts, const Call *call, Op op, uint32_t which,
                              VarType type, uint32_t size)
{
    uint32_t before = ts->scope;
    ts->scope = call->scope;
    VarId id = region_placeholder(ts, op, which, call->body.device, type, size, 0);
    ts->scope = before;
    return id;
}

static bool check_depth(const ThreadState *ts, const char *name)
{
    uint32_t depth = 0;
    for (const Body *body = ts->body; body; body = body->outer)
        depth += body->kind == BODY_CALLABLE;
    if (depth >= MOST_DEPTH)
        return error_set(JIT_ERROR_STATE,
                         "jit_var_call_start(): call '%s' is nested in %u others, the "
                         "most there can be; does a callable call itself?", name,
                         depth);
    return true;
}

uint32_t call_start(ThreadState *ts, uint8_t device, const char *name, VarId mask)
{
    static const char *const function = "jit_var_call_start()";
    const Access a = { .ts = ts, .function = function };
    TRY(access_check_mask(&a, mask), 0);
    const VarId around[] = { mask, mask_top(ts) };
    for (int i = 0; i < 2; ++i)
        TRY(!around[i] || node_same_device(device, var_get(around[i])->device,
                                           "%s: operands", function), 0);
    TRY(check_depth(ts, name ? name : "unnamed"), 0);
    Arena arena = { 0 };
    Call *call = arena_zero(&arena, 1, sizeof(Call));
    TRY(call, 0);
    call->arena = arena;
    call->body.abandon = abandon_call;
    call->merges = state_flag(ts, JitFlagMergeFunctions);
    call->body.device = device;
    call->body.name = arena_string(&call->arena, name ? name : "unnamed");
    if (mask)
        var_inc(call->mask = mask);
    call->scope = record_new_scope();
    if (call->body.name && call->scope)
        call->active = make_placeholder(ts, call, OP_ACTIVE, 0, VarTypeBool, 1);
    if (call->active &&
        record_open(ts, &call->body, BODY_CALLABLE, device, call->active))
        return call->body.handle;
    call_free(call);
    return 0;
}

Call *call_find(ThreadState *ts, uint32_t handle, const char *function)
{
    return (Call *) record_find(ts, handle, BODY_CALLABLE, function);
}

VarId call_add_input(ThreadState *ts, Call *call, VarId value)
{
    const Var *v = var_get(value);
    var_inc(value);
    TRY(var_ids_take(&call->inputs, value), 0);
    VarId placeholder = make_placeholder(ts, call, OP_STATE, call->states.count,
                                         (VarType) v->type, var_lanes(v));
    if (var_ids_take(&call->states, placeholder))
        return placeholder;
    var_dec(call->inputs.ids[--call->inputs.count]);
    return 0;
}

static bool is_local(VarId id)
{
    return var_exists(id) && local_is_array(var_get(id));
}

static bool check_length(const Call *call, VarId array, const char *function)
{
    uint32_t length = (uint32_t) local_length(array, function);
    if (length > MOST_ENTRIES)
        return error_set(JIT_ERROR_UNSUPPORTED,
                         "%s: call '%s': the local array r%u has %u entries; those "
                         "that go into calls or come out of them can have %d",
                         function, call->body.name, array, length, MOST_ENTRIES);
    return true;
}

/* What stands for a version of a local array; a new reference. */
static VarId input_array(ThreadState *ts, Call *call, VarId array)
{
    uint32_t first = call->states.count, scope = ts->scope;
    VarIds entries = { 0 };
    ts->scope = call->body.outer_scope;
    bool ok = local_split(ts, array, &entries);
    for (uint32_t k = 0; ok && k < entries.count; ++k)
        ok = call_add_input(ts, call, entries.ids[k]) != 0;
    /* The array belongs to all callables, as the placeholders do. */
    ts->scope = call->scope;
    VarId result = 0;
    if (ok)
        result = local_join(ts, call->states.ids + first, entries.count,
                            var_lanes_of(array));
    ts->scope = scope;
    var_ids_drop(&entries);
    return result;
}

VarId call_input(ThreadState *ts, uint32_t handle, VarId value)
{
    static const char *const function = "jit_var_call_input()";
    Call *call = call_find(ts, handle, function);
    TRY(call, 0);
    TRY(is_local(value) ? check_length(call, value, function)
                        : node_usable(ts, value, function, "the value"), 0);
    const Var *v = var_get(value);
    if (v->scope >= call->scope && v->op != OP_LITERAL && v->op != OP_EVALUATED)
        return (VarId) error_set(JIT_ERROR_ARGUMENT,
                                 "%s: r%u was traced in a callable of '%s', expected a "
                                 "variable from outside", function, value,
                                 call->body.name);
    if (is_local(value)) {
        node_read(ts, value);
        return input_array(ts, call, value);
    }
    if (v->op == OP_LITERAL && state_flag(ts, JitFlagOptimizeCalls)) {
        var_inc(value);
        return value;
    }
    VarId placeholder = call_add_input(ts, call, value);
    if (placeholder)
        var_inc(placeholder);
    return placeholder;
}

VarId call_mask(ThreadState *ts, uint32_t handle)
{
    Call *call = call_find(ts, handle, "jit_var_call_mask()");
    TRY(call, 0);
    var_inc(call->active);
    return call->active;
}

/* ------------------------------------------------------------------- callables */

/* Output 'which' of a callable, as the caller counts them: is it like that of those
 * before? */
static bool check_output(ThreadState *ts, Call *call, uint32_t which, VarId id)
{
    static const char *const function = "jit_var_call_append()";
    CallOutput *first = &call->results[which];
    bool local = is_local(id);
    if (local)
        node_read(ts, id);
    TRY(local || node_usable(ts, id, function, "an output"), false);
    CallOutput found = { (VarType) var_get(id)->type, 0 };
    if (local)
        found.length = (uint32_t) local_length(id, function);
    if (!call->count)
        *first = found;
    if (found.type != first->type)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: call '%s': output %u of callable %u is %s, expected %s "
                         "as before", function, call->body.name, which, call->count,
                         type_info[found.type].name, type_info[first->type].name);
    if (found.length != first->length)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: call '%s': output %u of callable %u is a local array of "
                         "%u entries (0: none), expected %u as before", function,
                         call->body.name, which, call->count, found.length,
                         first->length);
    return !found.length || check_length(call, id, function);
}

static bool check_outputs(ThreadState *ts, Call *call, size_t n, const VarId *outputs)
{
    if (n > INST_MOST_OPERANDS || (call->count && n != call->result_count))
        return error_set(JIT_ERROR_ARGUMENT,
                         "jit_var_call_append(): call '%s': callable %u has %zu "
                         "outputs, those before have %u, expected equal numbers up to "
                         "%u", call->body.name, call->count, n, call->result_count,
                         INST_MOST_OPERANDS);
    if (!call->count) {
        call->results = arena_zero(&call->arena, n + 1, sizeof(CallOutput));
        TRY(call->results, false);
        call->result_count = call->body.results = (uint32_t) n;
    }
    for (size_t i = 0; i < n; ++i)
        TRY(check_output(ts, call, (uint32_t) i, outputs[i]), false);
    return true;
}

/* The outputs of the callable that is complete, local arrays as their entries. */
static bool take_outputs(ThreadState *ts, Call *call, size_t n, const VarId *outputs)
{
    for (size_t i = 0; i < n; ++i) {
        if (is_local(outputs[i])) {
            TRY(local_split(ts, outputs[i], &call->outputs), false);
            continue;
        }
        TRY(var_ids_add(&call->outputs, outputs[i]), false);
        var_inc(outputs[i]);
    }
    return true;
}

bool call_append(ThreadState *ts, uint32_t handle, size_t n, const VarId *outputs)
{
    static const char *const function = "jit_var_call_append()";
    Call *call = call_find(ts, handle, function);
    TRY(call, false);
    bool ok = check_outputs(ts, call, n, outputs) &&
              take_outputs(ts, call, n, outputs);
    if (!ok) {
        record_abandon(ts, &call->body);
        return false;
    }
    /* On to the next callable, of which there may be none. */
    RecordedBody body = { .scope = 0 };
    ok = record_next(ts, &call->body, &body, function);
    if (call_merge_add(call, &body) && ok)
        return true;
    record_abandon(ts, &call->body);
    return false;
}
