/*
 * node.c -- see node.h
 */
#include "trace/graph/node.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "trace/graph/extra.h"
#include "trace/graph/hooks.h"
#include "trace/graph/lvn.h"
#include "trace/graph/record.h"

/* "jit_var_new(float32 r4[10] <- r1, r3): add" */
static void log_node(VarId id)
{
    const Var *v = var_get(id);
    Text text = { 0 };
    text_putf(&text, "jit_var_new(%s r%u", type_info[v->type].name, id);
    if (var_lanes(v) != 1)
        text_putf(&text, "[%u]", var_lanes(v));
    uint32_t count;
    const VarId *ids = var_operands(v, &count);
    const char *separator = " <- ";
    for (uint32_t i = 0; i < count; ++i) {
        if (!ids[i])
            continue;
        text_putf(&text, "%sr%u", separator, ids[i]);
        separator = ", ";
    }
    text_putf(&text, "): %s", v->op == OP_STMT ? v->value.text : op_info[v->op].name);
    if (v->op == OP_LITERAL)
        text_putf(&text, " 0x%llx", (unsigned long long) v->value.literal);
    const char *line = text_get(&text);
    if (line)
        log_text(LogLevelDebug, line);
    text_free(&text);
}

/* A new variable exists and somebody wants to know: source location, log. */
static void announce(ThreadState *ts, VarId id)
{
    if (ts->file) {
        Extra *extra = extra_make(var_get(id));
        if (extra) {
            extra->file = ts->file;
            extra->line = ts->line;
        }
    }
    if (state_flag(ts, JitFlagDebug))
        extra_inherit_losses(var_get(id));
    if (log_enabled(LogLevelDebug))
        log_node(id);
}

static inline bool announced(const ThreadState *ts)
{
    return ts->file || log_enabled(LogLevelDebug);
}

static VarId create(ThreadState *ts, const Var *proto)
{
    VarId id = var_create(proto, state_flag(ts, JitFlagReuseIndices));
    if (id && announced(ts))
        announce(ts, id);
    return id;
}

/* What is known about the operands of a new node, all at once. */
typedef struct Inherited {
    uint32_t scope; /* for it, if it is pure */
    uint8_t flags;
} Inherited;

static inline void inherit_from(Inherited *in, VarId id)
{
    if (!id)
        return;
    const Var *v = var_get(id);
    in->flags |= v->flags;
    if (record_scope(v) > in->scope)
        in->scope = record_scope(v);
}

static inline Inherited inherit_all(uint64_t pair, uint64_t more)
{
    Inherited in = { 0, 0 };
    inherit_from(&in, (VarId) pair);
    inherit_from(&in, (VarId) (pair >> 32));
    inherit_from(&in, (VarId) more);
    inherit_from(&in, (VarId) (more >> 32));
    in.flags &= VAR_SYMBOLIC;
    return in;
}

static inline Inherited inherit(const ThreadState *ts, uint64_t pair, uint64_t more)
{
    if (!state.scopes) /* nothing has ever been recorded: tracing costs nothing more */
        return (Inherited){ 0, 0 };
    Inherited in = inherit_all(pair, more);
    in.scope = ts->body ? record_place(ts, in.scope) : ts->scope;
    return in;
}

/* While a function is recorded, literals and counters of one size may have it from
 * different places (freezing.h). */
static inline bool is_sized(const ThreadState *ts, Op op, uint32_t size)
{
    return ts->freezing && size > 1 && op_info[op].arity == 0;
}

static inline bool is_numbered(const ThreadState *ts, Op op)
{
    return state_flag(ts, JitFlagValueNumbering) && op_info[op].flags & F_SHARES;
}

/* This is what a traced operation costs. The key is made from the arguments instead of
 * the record, and the record written in whole words once it is known to be needed. It
 * is pure (F_SHARES, F_MOVES): a literal, or an operation ('literal' is NULL). Literals
 * have the function that is recorded in the place of a third operand ('c'): it shares
 * none with anybody, since what it uses of others is looked at. */
static inline __attribute__((always_inline)) VarId
make_pure(ThreadState *ts, Op op, uint64_t head, uint32_t size, uint64_t pair, VarId c,
          const uint64_t *literal)
{
    bool numbered = is_numbered(ts, op) && !(literal && is_sized(ts, op, size));
    Inherited in = { 0, 0 }; /* literals belong to no body: all scopes share them */
    if (!literal)
        in = inherit(ts, pair, c);
    LvnKey key = lvn_key(op, head, pair, c, literal ? *literal : 0, size, in.scope);
    VarId id = numbered ? lvn_lookup(&key) : 0;
    if (id) {
        var_inc(id);
        return id;
    }
    Var *v = var_reserve(state_flag(ts, JitFlagReuseIndices), &id);
    TRY(v, 0);
    var_take(id, v);
    v->own_lanes = size;
    v->head = head | (uint64_t) in.flags << 24;
    v->dep_pair[0] = pair;
    v->dep_pair[1] = c;
    v->scope = in.scope;
    if (literal)
        v->value.literal = *literal;
    else
        var_inc((VarId) pair);
    if (pair >> 32)
        var_inc((VarId) (pair >> 32));
    if (c && !literal)
        var_inc(c);
    if (numbered)
        lvn_insert(id, v, key.hash);
    if (announced(ts))
        announce(ts, id);
    return id;
}

VarId node_operation(ThreadState *ts, uint64_t head, uint32_t size, uint64_t pair,
                     VarId c)
{
    return make_pure(ts, (Op) (head & 0xff), head, size, pair, c, NULL);
}

VarId node_literal(ThreadState *ts, uint8_t device, VarType type, uint64_t bits,
                   uint32_t size)
{
    return make_pure(ts, OP_LITERAL, var_head(OP_LITERAL, type, device, 0), size, 0,
                     ts->recording, &bits);
}

VarId node_new(ThreadState *ts, const Var *proto)
{
    Op op = (Op) proto->op;
    bool numbered = is_numbered(ts, op) && !is_sized(ts, op, var_lanes(proto));
    Inherited in = inherit(ts, proto->dep_pair[0], proto->dep_pair[1]);
    if (!(op_info[op].flags & F_MOVES))
        in.scope = ts->scope;
    LvnKey key = lvn_key(op, proto->head, proto->dep_pair[0], proto->dep_pair[1],
                         proto->value.literal, var_lanes(proto), in.scope);
    VarId id = numbered ? lvn_lookup(&key) : 0;
    if (id) {
        var_inc(id);
        return id;
    }
    Var *v = var_reserve(state_flag(ts, JitFlagReuseIndices), &id);
    TRY(v, 0);
    *v = *proto;
    v->scope = in.scope;
    v->flags |= in.flags;
    var_commit(id);
    if (numbered)
        lvn_insert(id, v, key.hash);
    if (announced(ts))
        announce(ts, id);
    return id;
}

/* A node that is never shared, yet to be taken. NULL: out of memory. */
static inline Var *reserve_raw(const ThreadState *ts, uint64_t head, uint32_t size,
                               VarId *id)
{
    Var *v = var_reserve(state_flag(ts, JitFlagReuseIndices), id);
    TRY(v, NULL);
    v->head = head;
    v->own_lanes = size;
    v->scope = ts->scope;
    return v;
}

VarId node_raw(ThreadState *ts, Op op, uint8_t device, VarType type, uint32_t size,
               uint32_t aux, const VarId deps[4])
{
    VarId id;
    Var *v = reserve_raw(ts, var_head(op, type, device, aux), size, &id);
    TRY(v, 0);
    if (deps[0]) {
        memcpy(v->dep, deps, sizeof(v->dep));
        v->flags = inherit_all(v->dep_pair[0], v->dep_pair[1]).flags;
        var_commit(id);
    } else { /* no operands: a placeholder */
        var_take(id, v);
    }
    if (announced(ts))
        announce(ts, id);
    return id;
}

VarId node_wide(ThreadState *ts, Op op, uint8_t device, VarType type, uint32_t size,
                uint32_t aux, uint32_t count, const VarId *ids)
{
    VarList *list = alloc_get(sizeof(VarList) + count * sizeof(VarId));
    TRY(list, 0);
    list->count = count;
    memcpy(list->ids, ids, count * sizeof(VarId));
    return node_of_list(ts, op, device, type, size, aux, list);
}

VarId node_of_list(ThreadState *ts, Op op, uint8_t device, VarType type, uint32_t size,
                   uint32_t aux, VarList *list)
{
    Var v = { .op = (uint8_t) op, .type = (uint8_t) type, .device = device,
              .flags = VAR_WIDE, .own_lanes = size, .aux = aux, .scope = ts->scope,
              .value.list = list };
    for (uint32_t i = 0; i < list->count; ++i)
        v.flags |= list->ids[i] ? var_get(list->ids[i])->flags & VAR_SYMBOLIC : 0;
    VarId id = create(ts, &v);
    if (!id)
        alloc_free(list);
    return id;
}

VarId node_buffer(ThreadState *ts, uint8_t device, VarType type, uint32_t size,
                  Buffer *buffer)
{
    VarId id;
    Var *v = reserve_raw(ts, var_head(OP_EVALUATED, type, device, 0), size, &id);
    TRY(v, 0);
    v->value.buffer = buffer;
    var_take(id, v);
    if (announced(ts))
        announce(ts, id);
    return id;
}

/* ------------------------------------------------------------------ checks */

void node_note_read(ThreadState *ts, VarId id) { watcher.note_read(ts, id); }

bool node_usable(ThreadState *ts, VarId id, const char *function, const char *what)
{
    if (!var_exists(id))
        return error_set(JIT_ERROR_ARGUMENT, "%s: %s is r%u, which is not a variable",
                         function, what, id);
    if (ts)
        node_read(ts, id);
    if (var_get(id)->flags & VAR_LOCAL)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: %s (r%u) is a local array, which only exists in kernels",
                         function, what, id);
    if (var_get(id)->flags & VAR_POISONED)
        return error_set(JIT_ERROR_STATE,
                         "%s: %s (r%u) is incomplete: a write to it could not be "
                         "performed, as was reported then",
                         function, what, id);
    if (var_get(id)->flags & VAR_CONSUMED)
        return error_set(
            JIT_ERROR_STATE,
            "%s: %s (r%u) is the result of an atomic operation that ran in an "
            "earlier kernel without being evaluated along with it; evaluate it "
            "(drjit.eval()) before or together with what uses the target",
            function, what, id);
    if (var_lanes_of(id) == 0)
        return error_set(JIT_ERROR_ARGUMENT, "%s: %s (r%u) is an empty array", function,
                         what, id);
    if (var_pending(var_get(id)))
        return hooks.run_pending(ts, id);
    return true;
}

bool node_size_valid(size_t size, const char *function)
{
    if (size == 0 || size > UINT32_MAX)
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: size is %zu, expected 1 to 4294967295 entries", function,
                         size);
    return true;
}

bool node_same_device(uint8_t a, uint8_t b, const char *format, ...)
{
    if (a == b)
        return true;
    const Device *first = device_at(a), *second = device_at(b);
    char subject[160];
    va_list args;
    va_start(args, format);
    vsnprintf(subject, sizeof(subject), format, args);
    va_end(args);
    if (first->backend != second->backend)
        return error_set(JIT_ERROR_ARGUMENT, "%s belong to different backends",
                         subject);
    return error_set(JIT_ERROR_ARGUMENT, "%s belong to different devices, %u and %u",
                     subject, first->number, second->number);
}

void node_places(char text[NODE_PLACES], VarId first, VarId second)
{
    const size_t size = NODE_PLACES;
    const Extra *a = first ? extra_find(var_get(first)) : NULL,
                *b = second ? extra_find(var_get(second)) : NULL;
    const bool known_a = a && a->file, known_b = b && b->file;
    if (known_a && known_b)
        snprintf(text, size, "; the first was made at %.60s:%u, the second at %.60s:%u",
                 a->file, a->line, b->file, b->line);
    else if (known_a || known_b)
        snprintf(text, size, "; the %s was made at %.60s:%u",
                 known_a ? "first" : "second", (known_a ? a : b)->file,
                 (known_a ? a : b)->line);
    else
        *text = 0;
}

bool node_common_size(const VarId *ids, uint32_t count, const char *function,
                      uint32_t *size)
{
    const Var *first = NULL;
    uint32_t common = 1;
    VarId wide = 0;
    for (uint32_t i = 0; i < count; ++i) {
        if (!ids[i])
            continue;
        const Var *v = var_get(ids[i]);
        first = first ? first : v;
        TRY(first->device == v->device ||
            node_same_device(first->device, v->device, "%s: operands", function),
            false);
        if (var_lanes(v) == common || var_lanes(v) == 1)
            continue;
        if (common != 1) {
            char places[NODE_PLACES];
            node_places(places, wide, ids[i]);
            return error_set(
                JIT_ERROR_ARGUMENT,
                "%s: operands have incompatible sizes %u and %u, expected equal sizes "
                "or 1%s",
                function, node_number(thread_self.state, wide),
                node_number(thread_self.state, ids[i]), places);
        }
        common = var_lanes(v);
        wide = ids[i];
    }
    *size = common;
    return true;
}

bool node_type_valid(VarType type, const char *function)
{
    if (!type_valid(type))
        return error_set(JIT_ERROR_ARGUMENT,
                         "%s: type is %d, expected VarTypeBool to VarTypeFloat64",
                         function, (int) type);
    return true;
}
