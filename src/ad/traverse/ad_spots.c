/*
 * ad_spots.c -- see ad_spots.h
 *
 * Gradients that have much in common are to be computed once.
 *
 * Sums that are due where an operand had one entry and the result many are put off: the
 * gradient of a node with one entry may have many, and is summed up once, when its turn
 * comes or somebody asks for it. Where the traversal ends, gradients are scheduled,
 * summed up if need be. If sums are performed at once (JitFlagFuseReductions is off),
 * which evaluates what is summed up, this comes before the first one, and includes all
 * that wait for their sums and what one operation has made.
 *
 * What is read by index has to be in memory (array/ad_near.h). Whatever else the
 * traversal has come to by then is evaluated with it, in the kernel that has its
 * operands: else the gradient of a parameter that each of many steps adds to would end
 * as a kernel that computes all steps once more. What a few operations make of arrays
 * in memory is not worth memory of its own.
 */
#include "ad/traverse/ad_spots.h"

#include "ad/graph/ad_thread.h"
#include "ad/traverse/ad_gradient.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

/* Is the gradient of a node to be summed up? With the lock. */
static bool is_sum(NodeId id)
{
    const AdNode *node = ad_graph_node(id);
    return node->size == 1 && node->grad && var_lanes_of(ad_var_index(node->grad)) > 1;
}

bool ad_spots_due(NodeId id)
{
    state_lock();
    bool due = is_sum(id);
    state_unlock();
    return due && !ad_thread_in_body();
}

static bool note_spot(Traversal *t, SpotList *list, uint32_t place, uint16_t flag)
{
    Spot *spot = &t->spots[place];
    if (spot->flags & flag)
        return true;
    TRY(vec_reserve(&list->spots, &list->capacity, list->count + 1, sizeof(uint32_t)),
        false);
    spot->flags |= flag;
    ad_graph_ref(spot->id);
    list->spots[list->count++] = place;
    return true;
}

bool ad_spots_note(Traversal *t, uint32_t place)
{
    const AdNode *node = ad_graph_node(t->spots[place].id);
    if (is_sum(t->spots[place].id))
        TRY(note_spot(t, &t->sums, place, SPOT_SUM), false);
    if (t->reads)
        TRY(note_spot(t, &t->others, place, SPOT_OTHER), false);
    bool ends = !(t->mode == ADModeForward ? node->out : node->in);
    return !ends || note_spot(t, &t->ends, place, SPOT_END);
}

void ad_spots_schedule(Traversal *t, SpotList *list, uint16_t flag)
{
    while (list->count) {
        state_lock();
        Spot *spot = &t->spots[list->spots[--list->count]];
        NodeId id = spot->id;
        spot->flags &= (uint16_t) ~flag;
        uint64_t grad = ad_graph_node(id)->grad;
        ad_graph_retain(grad);
        state_unlock();
        if (grad && jit_flag(JitFlagFuseReductions)) {
            bool ok;
            ad_var_dec_ref(grad);
            grad = ad_gradient_settled(id, &ok);
        }
        if (grad)
            jit_var_schedule(ad_var_index(grad));
        ad_var_dec_ref(grad);
        state_lock();
        ad_graph_unref(id);
        state_unlock();
    }
}

void ad_spots_schedule_made(NodeId node, const AdOperation *op)
{
    bool any = false;
    state_lock();
    for (EdgeId e = ad_graph_node(node)->in; e; e = ad_graph_edge(e)->next_in) {
        VarId grad = ad_var_index(op->in[ad_graph_edge(e)->port]);
        any |= grad && var_lanes_of(grad) > 1 &&
               ad_graph_node(ad_graph_edge(e)->source)->size == 1;
    }
    state_unlock();
    any &= !jit_flag(JitFlagFuseReductions);
    for (uint32_t i = 0; any && i < op->n_in; i++)
        if (op->in[i])
            jit_var_schedule(ad_var_index(op->in[i]));
}

void ad_spots_schedule_ends(Traversal *t)
{
    bool any = false;
    state_lock();
    for (uint32_t i = 0; i < t->sums.count; i++)
        any |= is_sum(t->spots[t->sums.spots[i]].id);
    state_unlock();
    if (any && !t->inside)
        ad_spots_schedule(t, &t->ends, SPOT_END);
}

/* ---------------------------------------------------------------- reads */

/* What has come so far, before it was noted. */
static bool note_all(Traversal *t)
{
    bool ok = true;
    for (uint32_t i = 0; i < t->nodes.count && ok; i++)
        if (ad_graph_has_node(t->spots[i].id) && ad_graph_node(t->spots[i].id)->grad)
            ok = note_spot(t, &t->others, i, SPOT_OTHER);
    t->reads = ok;
    return ok;
}

static bool is_waiting(VarId id)
{
    const Op op = (Op) var_get(id)->op;
    return op != OP_EVALUATED && op != OP_LITERAL && op != OP_UNDEFINED;
}

/* Is it computed from what is in memory, by few operations, none of which reads by
 * index? */
static bool is_cheap(VarId grad)
{
    enum { MOST = 16 };
    VarId list[MOST] = { grad };
    for (uint32_t i = 0, n = 1; i < n; ++i) {
        const Var *v = var_get(list[i]);
        if (op_info[v->op].memory || op_info[v->op].aux > AUX_LITERAL ||
            v->flags & VAR_WIDE)
            return false;
        uint32_t count;
        const VarId *operands = var_operands(v, &count);
        for (uint32_t k = 0; k < count; ++k) {
            if (!operands[k] || !is_waiting(operands[k]))
                continue;
            if (n == MOST)
                return false;
            list[n++] = operands[k];
        }
    }
    return true;
}

/* The gradient of a node, if it is to be evaluated beside one with this many lanes; a
 * reference, or 0. */
static VarId take_other(NodeId id, uint32_t lanes)
{
    const AdNode *node = ad_graph_node(id);
    const VarId grad = ad_var_index(node->grad);
    if (!grad || node->size != lanes || var_lanes_of(grad) != lanes ||
        !is_waiting(grad) || is_cheap(grad))
        return 0;
    var_inc(grad);
    return grad;
}

bool ad_spots_schedule_read(Traversal *t, NodeId giver, uint32_t g)
{
    state_lock();
    const uint32_t lanes = var_lanes_of(g);
    const bool waiting = is_waiting(g);
    bool ok = !waiting || t->reads || note_all(t);
    while (ok && waiting && t->others.count) {
        Spot *spot = &t->spots[t->others.spots[--t->others.count]];
        const NodeId id = spot->id;
        spot->flags &= (uint16_t) ~SPOT_OTHER;
        const VarId grad = id == giver ? 0 : take_other(id, lanes);
        ad_graph_unref(id);
        state_unlock();
        if (grad)
            jit_var_schedule(grad);
        jit_var_dec_ref(grad);
        state_lock();
    }
    state_unlock();
    return ok;
}

/* ---------------------------------------------------------------- the end */

static void drop(const Traversal *t, SpotList *list)
{
    state_lock();
    while (list->count)
        ad_graph_unref(t->spots[list->spots[--list->count]].id);
    state_unlock();
    alloc_free(list->spots);
}

void ad_spots_drop(Traversal *t)
{
    drop(t, &t->sums);
    drop(t, &t->ends);
    drop(t, &t->others);
}
