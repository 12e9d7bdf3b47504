/*
 * call.c -- see call.h
 *
 * Each callable is recorded in a body of its own, with the same placeholders for inputs
 * and mask, whose scope is below those of all bodies.
 */
#include "trace/flow/call.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "trace/graph/access.h"
#include "trace/graph/local.h"
#include "trace/graph/mask.h"
#include "trace/graph/region.h"

enum { MOST_DEPTH = 64 };

bool call_append_id(CallList *list, VarId id, bool new_reference)
{
    TRY(vec_reserve(&list->ids, &list->capacity, list->count + 1, sizeof(VarId)),
        false);
    list->ids[list->count++] = id;
    if (new_reference)
        var_inc(id);
    return true;
}

void call_drop_list(CallList *list)
{
    for (uint32_t i = 0; i < list->count; ++i)
        var_drop(list->ids[i]);
    alloc_free(list->ids);
    *list = (CallList){ 0 };
}

void call_free(Call *call)
{
    record_drop_effects(&call->body, 0);
    for (uint32_t i = 0; i < call->count; ++i)
        record_release(&call->callables[i]);
    alloc_free(call->callables);
    call_drop_list(&call->inputs);
    call_drop_list(&call->states);
    var_drop(call->mask);
    var_drop(call->active);
    alloc_free(call->results);
    alloc_free(call->body.name);
    alloc_free(call);
}

static void abandon_call(ThreadState *ts, Body *body)
{
    (void) ts;
    call_free((Call *) body);
}

/* ---------------------------------------------------------------- recording */

VarId call_placeholder(ThreadState *ts, const Call *call, Op op, uint32_t which,
                              VarType type, uint32_t size)
{
    uint32_t before = ts->scope;
    ts->scope = call->scope;
    VarId id = region_placeholder(ts, op, which, call->body.backend, type, size, 0);
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

uint32_t call_start(ThreadState *ts, JitBackend backend, const char *name, VarId mask)
{
    static const char *const function = "jit_var_call_start()";
    const Access a = { .ts = ts, .function = function };
    TRY(node_backend_valid(backend, function), 0);
    TRY(access_check_mask(&a, mask), 0);
    TRY(check_depth(ts, name ? name : "unnamed"), 0);
    Call *call = alloc_zero(1, sizeof(Call));
    TRY(call, 0);
    call->body.abandon = abandon_call;
    call->body.backend = backend;
    call->body.name = alloc_string(name ? name : "unnamed");
    call->mask = mask_apply(ts, backend, mask, function);
    call->scope = record_new_scope();
    if (call->body.name && call->mask && call->scope)
        call->active = call_placeholder(ts, call, OP_ACTIVE, 0, VarTypeBool, 1);
    if (call->active &&
        record_open(ts, &call->body, BODY_CALLABLE, backend, call->active))
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
    VarId placeholder = call_placeholder(ts, call, OP_STATE, call->states.count,
                                         (VarType) v->type, v->size);
    TRY(placeholder, 0);
    if (!call_append_id(&call->states, placeholder, false)) {
        var_dec(placeholder);
        return 0;
    }
    if (!call_append_id(&call->inputs, value, true)) {
        call->states.count--;
        var_dec(placeholder);
        return 0;
    }
    return placeholder;
}

VarId call_input(ThreadState *ts, uint32_t handle, VarId value)
{
    static const char *const function = "jit_var_call_input()";
    Call *call = call_find(ts, handle, function);
    TRY(call, 0);
    if (var_exists(value) && local_is_array(var_get(value)))
        return call_local_input(ts, call, value);
    TRY(node_usable(ts, value, function, "the value"), 0);
    const Var *v = var_get(value);
    if (v->scope >= call->scope && v->op != OP_LITERAL && v->op != OP_EVALUATED)
        return (VarId) error_set(JIT_ERROR_ARGUMENT,
                                 "%s: r%u was traced in a callable of '%s', expected a "
                                 "variable from outside", function, value,
                                 call->body.name);
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

static bool is_local(VarId id)
{
    return var_exists(id) && local_is_array(var_get(id));
}

/* Output 'which' of a callable, as the caller counts them: is it like that of those
 * before? */
static bool check_output(ThreadState *ts, Call *call, uint32_t which, VarId id)
{
    static const char *const function = "jit_var_call_append()";
    CallOutput *first = &call->results[which];
    TRY(is_local(id) || node_usable(ts, id, function, "an output"), false);
    CallOutput found = { (VarType) var_get(id)->type, 0 };
    if (is_local(id))
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
    return true;
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
        call->results = alloc_zero(n + 1, sizeof(CallOutput));
        TRY(call->results, false);
        call->result_count = (uint32_t) n;
    }
    for (size_t i = 0; i < n; ++i)
        TRY(check_output(ts, call, (uint32_t) i, outputs[i]), false);
    return true;
}

/* The callable that is complete, but for its effects. */
static bool keep_callable(ThreadState *ts, Call *call, size_t n, const VarId *outputs)
{
    TRY(vec_reserve(&call->callables, &call->capacity, call->count + 1,
                    sizeof(RecordedBody)), false);
    CallList list = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < n; ++i)
        ok = is_local(outputs[i]) ? call_local_split(ts, call, outputs[i], &list)
                                  : call_append_id(&list, outputs[i], true);
    if (!ok) {
        call_drop_list(&list);
        return false;
    }
    call->output_count = list.count;
    call->callables[call->count++] =
        (RecordedBody){ .outputs = list.ids, .output_count = list.count };
    return true;
}

bool call_append(ThreadState *ts, uint32_t handle, size_t n, const VarId *outputs)
{
    static const char *const function = "jit_var_call_append()";
    Call *call = call_find(ts, handle, function);
    TRY(call, false);
    bool ok = check_outputs(ts, call, n, outputs) &&
              keep_callable(ts, call, n, outputs);
    if (!ok) {
        record_abandon(ts, &call->body);
        return false;
    }
    /* On to the next callable, of which there may be none. */
    ok = record_close_into(ts, &call->body, &call->callables[call->count - 1],
                           function);
    if (ok && record_open(ts, &call->body, BODY_CALLABLE, call->body.backend,
                          call->active))
        return true;
    call_free(call);
    return false;
}
