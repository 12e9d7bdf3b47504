/*
 * ad_wait.c -- see ad_wait.h
 */
#include "ad/traverse/ad_wait.h"

#include "ad/array/ad_local.h"
#include "ad/array/ad_moves.h"
#include "ad/graph/ad_thread.h"
#include "ad/rule/ad_operation.h"
#include "ad/traverse/ad_gradient.h"
#include "ad/traverse/ad_traverse.h"
#include "base/alloc.h"
#include "base/error.h"
#include "trace/graph/mask.h"

/* ---------------------------------------------------------------- recorded */

AdArrival ad_wait_arrival(const AdEdge *e)
{
    if (e->rule == RULE_INTO) {
        const AdOperation *op = ad_operation_of(e->held);
        return op->arrival ? op->arrival(op->payload, e->port) : ARRIVES_VALUE;
    }
    if (e->rule != RULE_MOVES)
        return ARRIVES_VALUE;
    const AdMoves *m = (const AdMoves *) (uintptr_t) e->held;
    bool one = ad_graph_node(e->source)->size == 1;
    switch (m->kind) {
    case MOVES_WHOLE:
        return ARRIVES_NEVER;
    case MOVES_READ:
        return one ? ARRIVES_VALUE : ARRIVES_ARRAY;
    case MOVES_WRITE:
        return e->port == 0 ? ARRIVES_NEVER : ARRIVES_VALUE;
    case MOVES_LOCAL:
        return m->local[0] && e->port == 0 ? ARRIVES_NEVER : ARRIVES_VALUE;
    default:
        return ARRIVES_VALUE;
    }
}

VarId ad_wait_take(const AdBorder *b, NodeId id)
{
    state_lock();
    AdNode like = *ad_graph_node(id);
    AdSize size = ad_size_of_node(id);
    AdWaiting *w = ad_border_place(b, id);
    VarId array = w ? w->array : 0;
    bool refused = w && w->looked_at;
    if (w && !refused)
        w->array = 0;
    state_unlock();
    if (!w || refused)
        return w ? ad_border_refuse(id,
                                    "the body asks for it as well, sets or clears it")
                 : 0;
    if (array)
        return array;
    static const uint64_t zero;
    ad_size_next(size);
    return jit_var_literal((JitBackend) like.backend, (VarType) like.type, &zero,
                           like.size, 0);
}

bool ad_wait_put(const AdBorder *b, NodeId id, uint64_t array)
{
    TRY(array, false);
    if (ad_var_node(array)) {
        ad_var_dec_ref(array);
        return ad_border_refuse(id, "it has a derivative of its own "
                                    "(ADFlagCreateGraph)");
    }
    state_lock();
    AdWaiting *w = ad_border_place(b, id);
    if (w)
        w->array = ad_var_index(array);
    else
        var_drop(ad_var_index(array));
    state_unlock();
    return w != NULL;
}

/* array[lane] += value, or array[0] += value, in lanes that are active. */
static uint32_t add_lanes(uint32_t array, uint32_t value)
{
    VarInfo info;
    TRY(jit_var_peek_info(array, &info), 0);
    bool one = info.size == 1;
    ad_size_next(ad_size_of(array));
    uint32_t index =
        one ? jit_var_u32(info.backend, 0) : jit_var_counter(info.backend, info.size);
    uint32_t sum = index ? jit_var_scatter(array, value, index, 0, ReduceOpAdd,
                                           one ? ReduceModeAuto : ReduceModeNoConflicts)
                         : 0;
    jit_var_dec_ref(index);
    return sum;
}

bool ad_wait_add(const AdBorder *b, NodeId id, uint64_t value)
{
    TRY(value, false);
    bool ok = false;
    VarId array = 0, sum = 0;
    if (ad_local_is(value))
        ad_border_refuse(id, "it is a local array");
    else if (ad_var_node(value))
        ad_border_refuse(id, "it has a derivative of its own (ADFlagCreateGraph)");
    else if ((array = ad_wait_take(b, id)) && (sum = add_lanes(array, (VarId) value)))
        ok = ad_wait_put(b, id, sum);
    jit_var_dec_ref(array);
    ad_var_dec_ref(value);
    return ok;
}

/* While an operation runs that adds to gradients, have the arrays that wait in their
 * place. Not 'ok': of the first ones only, whose nodes are listed. */
static bool lend_arrays(const AdBorder *b, NodeId node, const AdOperation *op,
                        NodeId *nodes, uint64_t *before)
{
    state_lock();
    for (EdgeId e = ad_graph_node(node)->in; e; e = ad_graph_edge(e)->next_in) {
        const AdEdge *edge = ad_graph_edge(e);
        if (op->arrival(op->payload, edge->port) == ARRIVES_ARRAY &&
            ad_border_waits(b, ad_border_receiver(edge->source)))
            ad_graph_ref(nodes[edge->port] = edge->source);
    }
    state_unlock();
    bool ok = true;
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (!nodes[i])
            continue;
        VarId array = ok ? ad_wait_take(b, ad_border_receiver(nodes[i])) : 0;
        ok = array != 0;
        if (ok)
            before[i] = ad_gradient_take(nodes[i]);
        state_lock();
        if (ok) {
            ad_graph_node(nodes[i])->grad = array;
        } else {
            ad_graph_unref(nodes[i]);
            nodes[i] = 0;
        }
        state_unlock();
    }
    return ok;
}

/* 'ok': what the operation has made of them waits. */
static bool return_arrays(const AdBorder *b, AdOperation *op, const NodeId *nodes,
                          const uint64_t *before, bool ok)
{
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (!nodes[i])
            continue;
        state_lock();
        uint64_t array = op->in[i];
        op->in[i] = 0;
        ad_gradient_clear(nodes[i]);
        ad_graph_node(nodes[i])->grad = before[i];
        NodeId receiver = ad_border_receiver(nodes[i]);
        state_unlock();
        if (ok && array)
            ok = ad_wait_put(b, receiver, array);
        else
            ad_var_dec_ref(array);
    }
    state_lock();
    for (uint32_t i = 0; i < op->n_in; i++)
        if (nodes[i])
            ad_graph_unref(nodes[i]);
    state_unlock();
    return ok;
}

bool ad_wait_run(const AdBorder *b, AdOperation *op, NodeId node, bool tracked)
{
    NodeId *nodes = alloc_zero(op->n_in + 1, sizeof(NodeId));
    uint64_t *before = alloc_zero(op->n_in + 1, sizeof(uint64_t));
    bool ok = nodes && before;
    if (ok) {
        ok = lend_arrays(b, node, op, nodes, before) &&
             ad_operation_run(op, node, ADModeBackward, tracked, NULL);
        ok = return_arrays(b, op, nodes, before, ok);
    }
    alloc_free(nodes);
    alloc_free(before);
    return ok;
}

/* ---------------------------------------------------------------- evaluated */

/* Which lanes count of a gradient in a body that runs at once; of one that is not one
 * of lanes, whether any does. A new reference; 0: all, unless '*ok' is false. */
static uint32_t active_lanes(uint64_t grad, bool *ok)
{
    VarInfo info;
    *ok = jit_var_peek_info(ad_var_index(grad), &info);
    uint32_t mask = *ok && !ad_local_is(grad) ? jit_var_mask_peek(info.backend) : 0;
    size_t size = mask ? jit_var_peek_size(mask) : 1;
    if (size == 1 || size == info.size)
        return mask;
    if (info.size > 1) { /* they are to stay different */
        jit_var_size(mask);
        jit_var_size(ad_var_index(grad));
    }
    uint32_t any = jit_var_reduce(mask, ReduceOpOr);
    jit_var_dec_ref(mask);
    *ok = any != 0;
    return any;
}

uint64_t ad_wait_mask(uint64_t grad)
{
    bool ok;
    uint32_t mask = active_lanes(grad, &ok);
    if (ok && !mask)
        return grad;
    uint64_t zero = ok ? ad_moves_number(grad, 0) : 0;
    uint64_t masked = zero ? ad_var_select(mask, grad, zero) : 0;
    ad_var_dec_ref(zero);
    ad_var_dec_ref(grad);
    jit_var_dec_ref(mask);
    return masked;
}

bool ad_wait_lift_mask(bool *lifted)
{
    static const uint64_t yes = 1;
    ThreadState *ts = state_thread();
    state_lock();
    const VarId top = mask_top(ts);
    *lifted = ts->body && top && !(var_get(top)->flags & VAR_SYMBOLIC);
    const JitBackend backend =
        *lifted ? var_device(var_get(top))->backend : JitBackendNone;
    state_unlock();
    if (!*lifted)
        return true;
    const uint32_t all = jit_var_literal(backend, VarTypeBool, &yes, 1, 0);
    state_lock();
    *lifted = all && mask_push(ts, all);
    var_drop(all);
    state_unlock();
    return *lifted;
}

bool ad_wait_drop_mask(void)
{
    state_lock();
    bool ok = mask_pop(state_thread());
    state_unlock();
    return ok;
}

/* ---------------------------------------------------------------- the end */

bool ad_wait_go_on(void)
{
    AdThread *t = thread_self.ad;
    if (!t || !t->due_count)
        return true;
    AdWaiting *list = t->due; /* callbacks may complete constructs of their own */
    uint32_t count = t->due_count, n = 0;
    t->due = NULL;
    t->due_count = t->due_capacity = 0;
    NodeId *nodes = alloc_get(count * sizeof(NodeId));
    bool ok = nodes != NULL;
    for (uint32_t i = 0; i < count && ok; i++) {
        VarId array = list[i].array;
        list[i].array = 0;
        ok = !array || ad_gradient_accumulate(list[i].node, array);
        if (list[i].goes_on && ok)
            nodes[n++] = list[i].node;
    }
    ok = ok && (!n || ad_traverse_from(nodes, n));
    alloc_free(nodes);
    state_lock();
    ad_border_drop(list, count);
    state_unlock();
    return ok;
}
