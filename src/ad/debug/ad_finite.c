/*
 * ad_finite.c -- see ad_finite.h
 */
#include "ad/debug/ad_finite.h"

#include <math.h>

#include "ad/debug/ad_show.h"
#include "ad/graph/ad_place.h"
#include "ad/graph/ad_thread.h"
#include "ad/rule/ad_rule.h"
#include "base/error.h"
#include "freeze/freezing.h"

bool ad_finite_watches(void)
{
    const ThreadState *ts = thread_self.state;
    return ad_thread_is_debugging() && !ts->body &&
           !state_flag(ts, JitFlagForbidSynchronization);
}

typedef struct Count {
    uint32_t bad, first;
    size_t size;
} Count;

/* An integer with one entry, whose reference is taken over. In a function that is being
 * recorded, it becomes a condition. */
static bool read_u32(uint32_t id, uint32_t *value)
{
    int reads = jit_freeze_allow_reads(1);
    bool ok = id && jit_var_read(id, 0, value);
    jit_freeze_allow_reads(reads);
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
    ThreadState *ts = thread_self.state;
    ts->unwatched++; /* one warning will do */
    bool ok = !grad || symbolic || count_bad(grad, count);
    ts->unwatched--;
    jit_var_dec_ref(grad);
    return ok;
}

static void put_giver(Text *out, const AdEdge *edge, ADMode mode)
{
    bool forward = mode == ADModeForward;
    text_put(out, "ad_traverse(): the first gradient that is not finite is that of ");
    if (edge->rule == RULE_INTO || edge->rule == RULE_OUT_OF)
        text_putf(out, "%s %u of '", forward ? "output" : "input", edge->port + 1u);
    else if (forward)
        text_put(out, "the result of '");
    else
        text_putf(out, "operand %u of '", edge->port + 1u);
    ad_show_put_edge(out, edge);
    text_put_char(out, '\'');
    uint32_t line;
    const char *file = ad_place_of(edge->target, &line);
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
    if (thread_self.state)
        freezing_refuse(thread_self.state, "a gradient is infinite or NaN");
    state_unlock();
    const char *line = text_get(&text);
    if (line)
        log_text(LogLevelWarn, line);
    text_free(&text);
}

bool ad_finite_check(const AdEdge *edge, ADMode mode, bool first, bool *watch)
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
