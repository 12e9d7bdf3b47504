/*
 * call_local.c -- local arrays that go into calls and come out of them
 *
 * A callable has no access to storage of its caller: a Program's callables know no
 * arrays but their own. So such an array is taken apart where it crosses, into one
 * input or output for each entry, and put together again on the other side.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "trace/flow/call.h"
#include "trace/graph/local.h"
#include "trace/graph/node.h"

enum { MOST_ENTRIES = 1024 };

static bool check_length(const Call *call, VarId array, const char *function,
                         uint32_t *length)
{
    *length = (uint32_t) local_length(array, function);
    if (*length > MOST_ENTRIES)
        return error_set(JIT_ERROR_UNSUPPORTED,
                         "%s: call '%s': the local array r%u has %u entries; those "
                         "that go into calls or come out of them can have %d",
                         function, call->body.name, array, *length, MOST_ENTRIES);
    return true;
}

static VarId number(ThreadState *ts, const Call *call, VarType type, uint64_t bits)
{
    return node_literal(ts, call->body.backend, type, bits, 1);
}

/* Access to entry k of a version in all lanes: what it contains, or, if there is a
 * 'value', the version behind writing that. */
static VarId access_entry(ThreadState *ts, const Call *call, VarId array, uint32_t k,
                          uint32_t length, VarId value)
{
    VarId index = number(ts, call, VarTypeUInt32, k), result = 0;
    VarId always = number(ts, call, VarTypeBool, 1);
    if (index && always) {
        const Var *a = var_get(array);
        Var v = { .op = OP_LOCAL_READ, .type = a->type, .backend = a->backend,
                  .size = a->size, .dep = { array, index, always },
                  .value.literal = local_next_serial() };
        if (value) {
            v.op = OP_LOCAL_WRITE;
            v.flags = VAR_LOCAL;
            v.aux = length;
            memcpy(v.dep, (VarId[]){ array, value, index, always }, sizeof(v.dep));
        }
        result = node_new(ts, &v);
    }
    var_drop(index);
    var_drop(always);
    return result;
}

VarId call_local_join(ThreadState *ts, const Call *call, const VarId *entries,
                      uint32_t length, uint32_t size)
{
    VarType type = (VarType) var_get(entries[0])->type;
    VarId array = local_create(ts, call->body.backend, type, length, size);
    for (uint32_t k = 0; array && k < length; ++k) {
        VarId next = access_entry(ts, call, array, k, length, entries[k]);
        var_dec(array);
        array = next;
    }
    return array;
}

VarId call_local_input(ThreadState *ts, Call *call, VarId array)
{
    uint32_t length, first = call->states.count, scope = ts->scope;
    TRY(check_length(call, array, "jit_var_call_input()", &length), 0);
    if (var_get(array)->scope >= call->scope)
        return (VarId) error_set(JIT_ERROR_ARGUMENT,
                                 "jit_var_call_input(): r%u was traced in a callable "
                                 "of '%s', expected a variable from outside", array,
                                 call->body.name);
    bool ok = true;
    for (uint32_t k = 0; ok && k < length; ++k) {
        ts->scope = call->body.outer_scope;
        VarId entry = access_entry(ts, call, array, k, length, 0);
        ts->scope = scope;
        VarId placeholder = entry ? call_add_input(ts, call, entry) : 0;
        ok = placeholder != 0;
        var_drop(entry);
    }
    /* What follows belongs to all callables, as the placeholders do. */
    VarId result = 0;
    ts->scope = call->scope;
    if (ok)
        result = call_local_join(ts, call, call->states.ids + first, length,
                                 var_get(array)->size);
    ts->scope = scope;
    return result;
}

bool call_local_split(ThreadState *ts, const Call *call, VarId array, CallList *list)
{
    uint32_t length;
    TRY(check_length(call, array, "jit_var_call_append()", &length), false);
    for (uint32_t k = 0; k < length; ++k) {
        VarId entry = access_entry(ts, call, array, k, length, 0);
        TRY(entry, false);
        if (!call_append_id(list, entry, false)) {
            var_dec(entry);
            return false;
        }
    }
    return true;
}
