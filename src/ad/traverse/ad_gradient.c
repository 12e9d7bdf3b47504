/*
 * ad_gradient.c -- see ad_gradient.h; gradients are read and set by users
 */
#include "ad/traverse/ad_gradient.h"

#include "ad/array/ad_local.h"
#include "ad/array/ad_moves.h"
#include "ad/graph/ad_scope.h"
#include "ad/traverse/ad_wait.h"
#include "base/error.h"

/* Can it be left out of a sum? If it is tracked, its derivatives cannot. */
static bool is_zero(uint64_t leaf)
{
    VarInfo info;
    return !ad_var_node(leaf) && jit_var_peek_info(ad_var_index(leaf), &info) &&
           info.state == VarStateLiteral && info.literal == 0;
}

/* ---------------------------------------------------------------- of nodes */

uint64_t ad_gradient_take(NodeId id)
{
    state_lock();
    uint64_t grad = ad_graph_node(id)->grad;
    ad_graph_node(id)->grad = 0;
    state_unlock();
    return grad;
}

/* Add up the parts of a gradient with one entry; the reference moves. */
static uint64_t sum_up(uint64_t parts)
{
    if (jit_var_peek_size(ad_var_index(parts)) == 1)
        return parts;
    uint64_t sum = ad_var_reduce(parts, ReduceOpAdd);
    ad_var_dec_ref(parts);
    return sum;
}

/* Both stand for the gradient of a node with 'size' entries; references move. */
static uint64_t add(uint64_t a, uint64_t b, size_t size)
{
    size_t n = jit_var_peek_size(ad_var_index(a));
    size_t m = jit_var_peek_size(ad_var_index(b));
    if (ad_local_is(a)) {
        uint64_t sum = ad_local_add(a, b);
        ad_var_dec_ref(a);
        ad_var_dec_ref(b);
        return sum;
    }
    if (size == 1 && n != m && !ad_thread_in_body()) {
        a = sum_up(a);
        b = sum_up(b);
    }
    uint64_t result = a && b ? ad_var_add(a, b) : 0;
    ad_var_dec_ref(a);
    ad_var_dec_ref(b);
    return result;
}

/* Forward, and where users set it. */
static bool refuse(NodeId id, uint64_t grad)
{
    ad_var_dec_ref(grad);
    return ad_border_refuse(id, "it would be one of some lanes and iterations only");
}

bool ad_gradient_belongs_outside(NodeId id)
{
    const AdThread *t = thread_self.ad;
    if (!t || !(t->open_count || t->derived_serial) ||
        ad_graph_node(id)->flags & NODE_ENTRY)
        return false;
    AdBorder b = ad_border();
    return ad_border_waits(&b, id) && !ad_border_is_lent(id);
}

/* Another thread may have been there meanwhile. */
bool ad_gradient_put(NodeId id, uint64_t grad)
{
    for (;;) {
        state_lock();
        AdNode *node = ad_graph_node(id);
        uint64_t other = node->grad;
        size_t size = node->size;
        bool refused = ad_gradient_belongs_outside(id);
        if (!refused)
            node->grad = other ? 0 : grad;
        state_unlock();
        if (refused)
            return refuse(id, grad);
        if (!other)
            return true;
        grad = add(other, grad, size);
        TRY(grad, false);
    }
}

bool ad_gradient_accumulate(NodeId id, uint64_t value)
{
    TRY(value, false);
    state_lock();
    AdNode *node = ad_graph_node(id);
    uint64_t grad = node->grad;
    size_t size = node->size;
    node->grad = 0;
    state_unlock();
    if (!grad)
        return ad_gradient_put(id, value);
    if (is_zero(value)) {
        ad_var_dec_ref(value);
        return ad_gradient_put(id, grad);
    }
    value = is_zero(grad) && size == jit_var_peek_size(ad_var_index(value))
                ? (ad_var_dec_ref(grad), value)
                : add(grad, value, size);
    return value && ad_gradient_put(id, value);
}

uint64_t ad_gradient_settled(NodeId id, bool *ok)
{
    *ok = true;
    state_lock();
    AdNode *node = ad_graph_node(id);
    uint64_t grad = node->grad;
    size_t size = node->size;
    ad_graph_retain(grad);
    state_unlock();
    if (!grad || jit_var_peek_size(ad_var_index(grad)) <= size || ad_thread_in_body() ||
        ad_local_is(grad))
        return grad;
    uint64_t sum = ad_var_reduce(grad, ReduceOpAdd);
    *ok = sum != 0;
    state_lock();
    node = ad_graph_node(id);
    if (sum && node->grad == grad) {
        ad_graph_release(grad);
        ad_graph_retain(node->grad = sum);
    }
    ad_graph_release(grad);
    state_unlock();
    return sum;
}

void ad_gradient_clear(NodeId id)
{
    uint64_t grad = ad_graph_node(id)->grad;
    ad_graph_node(id)->grad = 0;
    ad_graph_release(grad);
}

/* ---------------------------------------------------------------- of variables */

/* Is what comes to the gradient of a variable to wait? '*node' gets it. */
static bool waits(const AdBorder *b, uint64_t index, NodeId *node)
{
    if (!b->serial || !ad_var_node(index))
        return false;
    state_lock();
    *node = ad_border_receiver(ad_var_node(index));
    bool found = ad_border_waits(b, *node);
    state_unlock();
    return found;
}

uint64_t ad_grad(uint64_t index)
{
    static const uint64_t zero;
    VarInfo info;
    ad_thread_read(index);
    TRY(jit_var_peek_info(ad_var_index(index), &info), 0);
    AdBorder border = ad_border();
    NodeId node;
    if (waits(&border, index, &node) && !ad_border_look(node))
        return (uint64_t) error_set(
            JIT_ERROR_STATE,
            "ad_grad(): what the loop, conditional or call being recorded adds to "
            "the gradient of a%u waits until it is complete; expected this call "
            "after it",
            node);
    if (border.recorded && ad_var_node(index)) {
        state_lock();
        ad_border_keep(ad_var_node(index), false);
        state_unlock();
    }
    uint64_t grad = 0;
    bool ok = true;
    const AdScopeState *scope = ad_scope_current();
    if (ad_var_node(index) && !(scope && scope->strict && !ad_grad_enabled(index)))
        grad = ad_gradient_settled(ad_var_node(index), &ok);
    TRY(ok, 0);
    AdSize size = ad_size_of(ad_var_index(index));
    if (!grad) {
        ad_size_next(size);
        return jit_var_literal(info.backend, info.type, &zero, info.size, 0);
    }
    uint64_t whole = jit_var_peek_size(ad_var_index(grad)) > info.size
                         ? ad_var_inc_ref(grad) /* in a body */
                         : ad_moves_resize(grad, size);
    ad_var_dec_ref(grad);
    return whole;
}

bool ad_has_grad(uint64_t index)
{
    ad_thread_read(index);
    if (!ad_var_node(index))
        return false;
    state_lock();
    bool has = ad_graph_node(ad_var_node(index))->grad != 0;
    state_unlock();
    return has;
}

bool ad_accum_grad(uint64_t index, uint64_t value)
{
    if (!ad_var_index(index) || !ad_grad_enabled(index))
        return true;
    AdSize size = ad_size_of(ad_var_index(index));
    VarInfo info;
    TRY(jit_var_peek_info(ad_var_index(value), &info), false);
    if (info.type != jit_var_type(ad_var_index(index)) ||
        (info.size != 1 && size.count != 1 && !ad_size_is(size, ad_var_index(value))))
        return error_set(JIT_ERROR_ARGUMENT,
                         "ad_accum_grad(): the gradient has %zu entries of type %s, "
                         "expected %zu%s of type %s",
                         info.size, type_info[info.type].name, size.count,
                         size.count == 1 ? "" : " or 1",
                         type_info[jit_var_type(ad_var_index(index))].name);
    state_lock();
    bool closed = ad_graph_is_closed(ad_var_node(index));
    state_unlock();
    if (closed)
        return error_set(JIT_ERROR_STATE,
                         "ad_accum_grad(): a%u belongs to the body of a loop, "
                         "conditional or call that is complete, expected a value from "
                         "outside, such as a result of it",
                         ad_var_node(index));
    uint64_t whole =
        info.size == 1 ? ad_moves_resize(value, size) : ad_var_inc_ref(value);
    AdBorder border = ad_border();
    NodeId node;
    if (waits(&border, index, &node)) {
        state_lock();
        bool lent = ad_border_is_lent(node);
        bool ok = !lent || ad_border_lend(node, true);
        if (lent)
            ad_border_keep(node, true);
        state_unlock();
        return !ok    ? (ad_var_dec_ref(whole), false)
               : lent ? ad_gradient_accumulate(node, whole)
                      : ad_wait_add(&border, node, whole);
    }
    state_lock();
    bool masked = ad_border_is_outside(&border, ad_var_node(index));
    state_unlock();
    return ad_gradient_accumulate(ad_var_node(index),
                                  masked ? ad_wait_mask(whole) : whole);
}

/* The gradient is the user's. */
static void forget_brought(NodeId id)
{
    state_lock();
    ad_graph_node(id)->flags &= ~(unsigned) NODE_BROUGHT;
    state_unlock();
}

void ad_clear_grad(uint64_t index)
{
    ad_thread_read(index);
    if (!ad_var_node(index))
        return;
    AdBorder border = ad_border();
    NodeId node;
    const bool recorded = waits(&border, index, &node);
    if (recorded)
        ad_border_look(node); /* an error follows if anything comes to it */
    else
        node = ad_var_node(index);
    state_lock();
    if (!recorded || ad_border_lend(node, false))
        ad_gradient_clear(node);
    state_unlock();
    forget_brought(ad_var_node(index));
}

bool ad_set_grad(uint64_t index, uint64_t value)
{
    if (!ad_var_index(index) || !ad_grad_enabled(index))
        return true;
    AdBorder border = ad_border();
    NodeId node;
    if (waits(&border, index, &node)) {
        ad_clear_grad(index);
        return ad_accum_grad(index, value);
    }
    node = ad_var_node(index);
    uint64_t before = ad_gradient_take(node);
    forget_brought(node);
    bool ok = ad_accum_grad(index, value);
    if (!ok && before)
        ad_gradient_put(node, before);
    else
        ad_var_dec_ref(before);
    return ok;
}
