/*
 * ad_operation.c -- see ad_operation.h
 */
#include "ad/rule/ad_operation.h"

#include "ad/graph/ad_scope.h"
#include "ad/graph/ad_size.h"
#include "ad/rule/ad_depends.h"
#include "ad/rule/ad_rule.h"
#include "base/alloc.h"
#include "base/error.h"

static void clear(uint64_t *gradients, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (gradients[i]) {
            ad_graph_release(gradients[i]);
            gradients[i] = 0;
        }
}

static void clear_givers(NodeId *givers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (givers[i]) {
            ad_graph_unref(givers[i]);
            givers[i] = 0;
        }
}

void ad_operation_clear(AdOperation *op)
{
    clear(op->in, op->n_in);
    clear(op->out, op->n_out);
    clear_givers(op->givers, op->n_in + op->n_out);
}

void ad_operation_give(AdOperation *op, bool input, size_t port, NodeId giver,
                       uint64_t gradient)
{
    uint64_t *place = input ? &op->in[port] : &op->out[port];
    NodeId *from = &op->givers[input ? port : op->n_in + port];
    ad_graph_retain(gradient);
    ad_graph_ref(giver);
    clear(place, 1);
    clear_givers(from, 1);
    *place = gradient;
    *from = giver;
}

static void call_release(uint32_t index, int freed, void *payload)
{
    (void) index, (void) freed;
    AdOperation *op = payload;
    if (op->custom.release && op->payload)
        op->custom.release(op->payload);
    alloc_free((char *) op->custom.name);
    ad_scope_free_copy(op->scope);
    alloc_free(op->depends);
    alloc_free(op);
}

/* The memory is freed after the callback, which takes no lock. */
static void operation_release(AdHeld *held)
{
    AdOperation *op = (AdOperation *) held;
    ad_operation_clear(op);
    state_defer(&op->last, call_release, 0, 0, op);
}

/* Does any output with a gradient depend on the input? */
static bool is_reached(const AdOperation *op, const uint64_t *given, uint32_t input)
{
    for (uint32_t k = 0; k < op->n_out; k++)
        if (given[k] && ad_depends(op->depends, k, input))
            return true;
    return false;
}

/* Gradients of inputs that the operation adds to; which inputs gradients reach. */
static void take_sums(const AdOperation *op, NodeId node, const uint64_t *given,
                      uint64_t *made, bool *inputs)
{
    for (uint32_t i = 0; i < op->n_in; i++)
        inputs[i] = is_reached(op, given, i);
    for (EdgeId e = ad_graph_node(node)->in; e; e = ad_graph_edge(e)->next_in) {
        const AdEdge *edge = ad_graph_edge(e);
        AdNode *source = ad_graph_node(edge->source);
        if (!made[edge->port] && inputs[edge->port] &&
            op->arrival(op->payload, edge->port) == ARRIVES_ARRAY) {
            made[edge->port] = source->grad;
            source->grad = 0;
        }
    }
}

/* Regions make arrays of zeros for inputs that no gradient reaches. They would have to
 * be added to the arrays that are there, which in a body cannot be read. */
static void drop_unreached(const AdOperation *op, const bool *reached, uint64_t *made)
{
    for (uint32_t i = 0; i < op->n_in; i++)
        if (!reached[i])
            clear(&made[i], 1);
}

/* Gradients that leave by an edge move to 'to'. */
static void keep_wanted(NodeId node, bool forward, uint64_t *to, uint64_t *made)
{
    EdgeId e = forward ? ad_graph_node(node)->out : ad_graph_node(node)->in;
    while (e) {
        const AdEdge *edge = ad_graph_edge(e);
        if (made[edge->port]) {
            to[edge->port] = made[edge->port];
            made[edge->port] = 0;
        }
        e = forward ? edge->next_out : edge->next_in;
    }
}

/* Give gradients back to givers that have none any more. What is left in 'givers' are
 * those that got one. */
static void lend(NodeId *givers, const uint64_t *gradients, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        AdNode *giver = givers[i] ? ad_graph_node(givers[i]) : NULL;
        if (giver && gradients[i] && !giver->grad) {
            giver->grad = gradients[i];
            ad_graph_retain(gradients[i]);
        } else {
            clear_givers(&givers[i], 1);
        }
    }
}

/* Other threads, or what the operation has called, may have been there meanwhile. */
static void take_back(NodeId *givers, const uint64_t *gradients, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (givers[i] && ad_graph_node(givers[i])->grad == gradients[i])
            clear(&ad_graph_node(givers[i])->grad, 1);
    clear_givers(givers, count);
}

/* By output: does the traversal go on there? With the lock. */
static bool *find_wanted(const AdOperation *op, NodeId node, const AdSet *reached)
{
    bool *wanted = alloc_zero(op->n_out + 1, sizeof(bool));
    EdgeId e = wanted ? ad_graph_node(node)->out : 0;
    for (; e; e = ad_graph_edge(e)->next_out)
        wanted[ad_graph_edge(e)->port] = ad_set_has(reached, ad_graph_edge(e)->target);
    return wanted;
}

static bool run_forward(const AdOperation *op, NodeId node, uint64_t *in, uint64_t *out,
                        const AdSet *reached)
{
    if (!op->forward)
        return op->custom.forward(op->payload, in, out);
    state_lock();
    bool *wanted = find_wanted(op, node, reached);
    state_unlock();
    bool ok = wanted && op->forward(op->payload, in, out, wanted);
    alloc_free(wanted);
    return ok;
}

/* One of a user runs as it was made: with the same things suspended, whatever is
 * where the traversal begins. */
static bool enter_scope(const AdOperation *op, bool *entered)
{
    const AdScopeState *s = ad_scope_current();
    *entered = op->lends && (op->scope || (s && (s->only || s->count)));
    if (*entered && !ad_scope_enter_copy(op->scope))
        return *entered = false;
    return true;
}

bool ad_operation_run(AdOperation *op, NodeId node, ADMode mode, bool tracked,
                      const AdSet *reached)
{
    bool forward = mode == ADModeForward;
    uint32_t n = forward ? op->n_in : op->n_out, m = forward ? op->n_out : op->n_in;
    uint64_t *from = forward ? op->in : op->out, *to = forward ? op->out : op->in;
    NodeId *givers = forward ? op->givers : op->givers + op->n_in;
    const bool sums = !forward && op->arrival;
    uint64_t *given = alloc_zero(n + m, sizeof(uint64_t));
    bool *inputs = given && sums ? alloc_zero(m + 1, sizeof(bool)) : NULL;
    if (!given || (sums && !inputs)) {
        alloc_free(given);
        return false;
    }
    state_lock();
    clear(to, m);
    for (uint32_t i = 0; i < n; i++) {
        given[i] = tracked ? from[i] : ad_var_index(from[i]);
        ad_graph_retain(given[i]);
    }
    clear(from, n);
    if (op->lends)
        lend(givers, given, n);
    else
        clear_givers(givers, n);
    if (sums)
        take_sums(op, node, given, given + n, inputs);
    state_unlock();
    bool entered = false, ok = enter_scope(op, &entered);
    if (ok)
        ok = forward ? run_forward(op, node, given, given + n, reached)
                     : op->custom.backward(op->payload, given + n, given);
    if (entered && !ad_scope_leave(ok))
        ok = false;
    state_lock();
    take_back(givers, given, n);
    if (ok && sums)
        drop_unreached(op, inputs, given + n);
    if (ok)
        keep_wanted(node, forward, to, given + n);
    clear(given, n + m);
    state_unlock();
    alloc_free(inputs);
    alloc_free(given);
    return ok;
}

/* ---------------------------------------------------------------- making */

/* In one piece with its lists. */
AdOperation *ad_operation_make(const ADCustom *custom, void *payload, size_t n_in,
                               size_t n_out, NodeId *node)
{
    AdOperation *op = (AdOperation *) ad_graph_held(
        sizeof(AdOperation) + (n_in + n_out) * (sizeof(uint64_t) + sizeof(NodeId)));
    TRY(op, NULL);
    op->custom = *custom;
    op->custom.depends = NULL;
    op->custom.name = alloc_string(custom->name ? custom->name : "custom");
    *node = op->custom.name ? ad_graph_new_node(JitBackendNone, VarTypeVoid, 0) : 0;
    if (!*node) {
        alloc_free((char *) op->custom.name);
        alloc_free(op);
        return NULL;
    }
    ad_graph_node(*node)->flags |= NODE_OPERATION;
    op->in = (uint64_t *) (op + 1);
    op->out = op->in + n_in;
    op->givers = (NodeId *) (op->out + n_out);
    op->n_in = (uint32_t) n_in;
    op->n_out = (uint32_t) n_out;
    op->payload = payload;
    op->held.release = operation_release;
    return op;
}

static bool connect(AdOperation *op, NodeId source, NodeId target, uint8_t rule,
                    size_t port)
{
    op->held.refs++;
    return ad_graph_new_edge(source, target, rule, port, (uintptr_t) op);
}

bool ad_operation_add_input(AdOperation *op, NodeId node, NodeId source, size_t port)
{
    return connect(op, source, node, RULE_INTO, port);
}

bool ad_operation_add_output(AdOperation *op, NodeId node, NodeId target, size_t port)
{
    return connect(op, node, target, RULE_OUT_OF, port);
}

static bool connect_inputs(AdOperation *op, NodeId node, size_t n,
                           const uint64_t *inputs)
{
    for (size_t i = 0; i < n; i++)
        if (ad_scope_tracks(inputs[i])) {
            ad_size_note_always(ad_var_node(inputs[i]), ad_var_index(inputs[i]));
            TRY(ad_operation_add_input(op, node, ad_var_node(inputs[i]), i), false);
        }
    return true;
}

/* Nodes for the outputs, which are left as they are if out of memory. */
static bool connect_outputs(AdOperation *op, NodeId node, size_t n, uint64_t *outputs)
{
    size_t i = 0;
    for (; i < n; i++) {
        const Var *v = var_get(ad_var_index(outputs[i]));
        if (v->type < VarTypeFloat16)
            continue;
        NodeId out = ad_graph_new_for(ad_var_index(outputs[i]));
        if (!out)
            break;
        ad_size_note_always(out, ad_var_index(outputs[i]));
        outputs[i] |= (uint64_t) out << 32;
        if (!ad_scope_admit(out) || !ad_operation_add_output(op, node, out, i))
            break;
    }
    if (i == n)
        return true;
    for (size_t k = 0; k <= i; k++)
        if (ad_var_node(outputs[k])) {
            ad_graph_unref(ad_var_node(outputs[k]));
            outputs[k] = ad_var_index(outputs[k]);
        }
    return false;
}

static bool copy_depends(AdOperation *op, const bool *depends)
{
    if (!depends)
        return true;
    TRY(op->depends = ad_depends_new(op->n_in, op->n_out), false);
    for (size_t k = 0; k < op->n_out; k++)
        for (size_t i = 0; i < op->n_in; i++)
            if (depends[k * op->n_in + i])
                ad_depends_set(ad_depends_row(op->depends, k), i);
    return true;
}

/* The edges of a new operation, if all is 'ok'. */
static bool connect_all(AdOperation *op, NodeId node, const ADCustom *custom,
                        const uint64_t *inputs, uint64_t *outputs, bool ok)
{
    ok = ok && copy_depends(op, custom->depends) &&
              connect_inputs(op, node, op->n_in, inputs) &&
              connect_outputs(op, node, op->n_out, outputs);
    ad_graph_unref(node);
    ad_graph_drop_held(&op->held);
    return ok;
}

/* The operation if an input is tracked; NULL with 'ok': none is. With the lock. */
static AdOperation *make_if_tracked(const ADCustom *custom, void *payload, size_t n_in,
                                    const uint64_t *inputs, size_t n_out, NodeId *node,
                                    bool *ok)
{
    bool any = false;
    for (size_t i = 0; i < n_in; i++)
        any |= ad_scope_tracks(inputs[i]);
    AdOperation *op =
        any ? ad_operation_make(custom, payload, n_in, n_out, node) : NULL;
    *ok = op || !any;
    return op;
}

bool ad_operation_track(const ADCustom *custom, void *payload,
                        AdArrival (*arrival)(const void *payload, uint32_t input),
                        const uint64_t *leaves, size_t leaf_count, size_t n_in,
                        const uint64_t *inputs, size_t n_out, uint64_t *outputs)
{
    bool ok;
    NodeId node;
    state_lock();
    AdOperation *op =
        make_if_tracked(custom, payload, n_in, inputs, n_out, &node, &ok);
    if (op) {
        op->arrival = arrival;
        op->leaves = leaves;
        op->leaf_count = leaf_count;
        ok = connect_all(op, node, custom, inputs, outputs, true);
    }
    state_unlock();
    if (!op)
        custom->release(payload);
    return ok;
}

bool ad_custom(const ADCustom *custom, void *payload, size_t n_in,
               const uint64_t *inputs, size_t n_out, uint64_t *outputs)
{
    if (!custom || (!inputs && n_in) || (!outputs && n_out) ||
        n_in >= AD_PORTS || n_out >= AD_PORTS || !custom->forward ||
        !custom->backward) {
        if (custom && custom->release)
            custom->release(payload);
        return error_set(JIT_ERROR_ARGUMENT,
                         "ad_custom(): %zu inputs and %zu outputs, expected fewer than "
                         "%d, and no pointer that is NULL",
                         n_in, n_out, AD_PORTS);
    }
    bool ok = state_thread() != NULL;
    NodeId node;
    for (size_t i = 0; i < n_in && ok; i++)
        ad_thread_read(inputs[i]);
    state_lock();
    AdOperation *op =
        ok ? make_if_tracked(custom, payload, n_in, inputs, n_out, &node, &ok) : NULL;
    if (op) {
        op->lends = true;
        op->scope = ad_scope_copy(&ok);
        ok = connect_all(op, node, custom, inputs, outputs, ok);
    }
    state_unlock();
    if (!op && custom->release)
        custom->release(payload);
    return ok;
}
