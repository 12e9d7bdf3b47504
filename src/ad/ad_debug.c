/*
 * ad_debug.c -- see ad_debug.h
 */
#include "ad/ad_debug.h"

#include <math.h>

#include "ad/ad_rule.h"
#include "ad/ad_scope.h"
#include "ad/ad_show.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

/* ---------------------------------------------------------------- places of nodes */

/* By number of the node; that of another node, which had the number before, has another
 * serial number. */
typedef struct Place {
    uint64_t serial;
    const char *file; /* interned */
    uint32_t line;
} Place;

static struct {
    Place *list;
    uint32_t count, capacity;
} places;

void ad_debug_note_place(NodeId id)
{
    const ThreadState *ts = thread_self.state;
    if (!ts || !ts->file)
        return;
    if (!vec_reserve(&places.list, &places.capacity, id + 1, sizeof(Place))) {
        error_clear();
        return;
    }
    while (places.count <= id)
        places.list[places.count++] = (Place){ 0 };
    places.list[id] = (Place){ ad_graph_node(id)->serial, ts->file, ts->line };
}

const char *ad_debug_place(NodeId id, uint32_t *line)
{
    if (id >= places.count || places.list[id].serial != ad_graph_node(id)->serial)
        return NULL;
    *line = places.list[id].line;
    return places.list[id].file;
}

void ad_debug_forget_places(void)
{
    alloc_free(places.list);
    places.list = NULL;
    places.count = places.capacity = 0;
}

/* ---------------------------------------------------------------- losses */

static void note(VarId result, NodeId source, const char *what, const char *reason,
                 const AdScopeState *scope)
{
    const ThreadState *ts = thread_self.state;
    Loss loss = { .source = source ? ad_graph_node(source)->serial : 0,
                  .node = source,
                  .what = what,
                  .reason = reason,
                  .file = ts->file,
                  .line = ts->line };
    if (scope) {
        loss.scope_file = scope->file;
        loss.scope_line = scope->line;
    }
    extra_add_loss(var_get(result), &loss);
}

static void note_suspended(uint64_t operand, VarId result)
{
    note(result, ad_var_node(operand), "suspended", NULL, ad_scope_current());
}

void ad_debug_note_moved(uint32_t n, const uint64_t *operands, uint64_t result)
{
    for (uint32_t i = 0; i < n; i++)
        if (ad_var_node(operands[i]) && !ad_scope_tracks(operands[i]))
            note_suspended(operands[i], ad_var_index(result));
}

void ad_debug_note_result(Op op, uint32_t n, const uint64_t *operands, uint64_t result)
{
    ad_debug_note_moved(n, operands, result);
    VarId id = ad_var_index(result);
    const char *reason = ad_rule_reason(op);
    if (!reason && var_get(id)->type < VarTypeFloat16)
        reason = "the result is no float";
    for (uint32_t i = 0; reason && i < n; i++)
        if (ad_scope_tracks(operands[i]))
            note(id, ad_var_node(operands[i]), op_info[op].name, reason, NULL);
}

void ad_debug_note_loss(uint64_t leaf, const char *what, const char *reason)
{
    note(ad_var_index(leaf), ad_var_node(leaf), what, reason,
         ad_var_node(leaf) ? NULL : ad_scope_current());
}

/* ---------------------------------------------------------------- finite gradients */

bool ad_debug_watches(void)
{
    const ThreadState *ts = thread_self.state;
    return ad_debug_is_on() && !ts->body &&
           !state_flag(ts, JitFlagForbidSynchronization);
}

typedef struct Count {
    uint32_t bad, first;
    size_t size;
} Count;

/* An integer with one entry, whose reference is taken over. */
static bool read_u32(uint32_t id, uint32_t *value)
{
    bool ok = id && jit_var_read(id, 0, value);
    jit_var_dec_ref(id);
    return ok;
}

static uint32_t infinity(JitBackend backend, VarType type)
{
    switch (type) {
    case VarTypeFloat16:
        return jit_var_f16(backend, INFINITY);
    case VarTypeFloat32:
        return jit_var_f32(backend, INFINITY);
    default:
        return jit_var_f64(backend, INFINITY);
    }
}

/* How many entries are infinite or NaN, and the first. It stays evaluated, so that the
 * next gradient begins with it. */
static bool count_bad(uint32_t grad, Count *count)
{
    VarInfo info;
    TRY(jit_var_info(grad, &info), false);
    count->size = info.size;
    if (!jit_var_eval(grad) && jit_error() != JIT_OK)
        return false;
    uint32_t size = jit_var_abs(grad), limit = infinity(info.backend, info.type),
             good = jit_var_lt(size, limit), one = jit_var_u32(info.backend, 1),
             zero = jit_var_u32(info.backend, 0), bad = jit_var_select(good, zero, one),
             lane = jit_var_counter(info.backend, info.size),
             last = jit_var_u32(info.backend, (uint32_t) info.size),
             which = jit_var_select(good, last, lane);
    bool ok =
        read_u32(jit_var_reduce(bad, ReduceOpAdd), &count->bad) &&
        (!count->bad || read_u32(jit_var_reduce(which, ReduceOpMin), &count->first));
    uint32_t all[] = { size, limit, good, one, zero, bad, lane, last, which };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        jit_var_dec_ref(all[i]);
    if (info.size > 1 && ok && count->bad && jit_var_size(bad) == 1)
        count->bad = (uint32_t) info.size; /* a literal: all entries are the same */
    return ok;
}

static void put_count(Text *out, const Count *count)
{
    text_putf(out, "infinite or NaN in %u of %zu %s", count->bad, count->size,
              count->size == 1 ? "entry" : "entries");
    if (count->size > 1)
        text_putf(out, ", first in entry %u", count->first);
}

/* The gradient of a node, 0 if there is none or it is all right; a reference. */
static bool look_at(NodeId id, Count *count)
{
    *count = (Count){ 0 };
    state_lock();
    VarId grad = ad_var_index(ad_graph_node(id)->grad);
    bool symbolic = grad && var_get(grad)->flags & VAR_SYMBOLIC;
    if (grad)
        var_inc(grad);
    state_unlock();
    bool ok = !grad || symbolic || count_bad(grad, count);
    jit_var_dec_ref(grad);
    return ok;
}

static void put_giver(Text *out, const AdEdge *edge, ADMode mode)
{
    bool forward = mode == ADModeForward;
    text_put(out, "ad_traverse(): the first gradient that is not finite is that of ");
    if (edge->rule == RULE_INTO || edge->rule == RULE_OUT_OF)
        text_putf(out, "%s %u of '", forward ? "output" : "input", edge->slot + 1u);
    else if (forward)
        text_put(out, "the result of '");
    else
        text_putf(out, "operand %u of '", edge->operand + 1u);
    ad_show_put_edge(out, edge);
    text_put_char(out, '\'');
    uint32_t line;
    const char *file = ad_debug_place(edge->target, &line);
    if (file)
        text_putf(out, " at %s:%u", file, line);
}

static void put_receiver(Text *out, NodeId id)
{
    text_putf(out, " (a%u", id);
    const char *label = ad_graph_label(id);
    if (label)
        text_putf(out, ", \"%s\"", label);
    text_put(out, "): ");
}

static void warn(const AdEdge *edge, ADMode mode, NodeId id, bool set,
                 const Count *count)
{
    Text text = { 0 };
    state_lock();
    if (set)
        text_put(&text, "ad_traverse(): a gradient that was set is not finite");
    else
        put_giver(&text, edge, mode);
    put_receiver(&text, id);
    put_count(&text, count);
    state_unlock();
    const char *line = text_get(&text);
    if (line)
        log_text(LogLevelWarn, line);
    text_free(&text);
}

bool ad_debug_check(const AdEdge *edge, ADMode mode, bool first, bool *watch)
{
    bool forward = mode == ADModeForward;
    NodeId giver = forward ? edge->source : edge->target,
           receiver = forward ? edge->target : edge->source;
    Count count;
    if (first) {
        TRY(look_at(giver, &count), false);
        if (count.bad) {
            warn(edge, mode, giver, true, &count);
            *watch = false;
            return true;
        }
    }
    TRY(look_at(receiver, &count), false);
    if (count.bad) {
        warn(edge, mode, receiver, false, &count);
        *watch = false;
    }
    return true;
}
