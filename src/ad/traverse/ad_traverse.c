/*
 * ad_traverse.c -- see ad_traverse.h; gradients are propagated
 *
 * ad_traverse() sorts the edges that ad_enqueue() has listed by the serial numbers of
 * their nodes and passes them in that order: by the time an edge's turn comes, all that
 * flows into its giver has. Most edges have the rule of an operation, and variables are
 * all that is made: many of them are passed under one lock (ad_quick.h). Else the lock
 * is held for looking at the graph only, not for computing.
 *
 * What a walk or a traversal takes is proportional to the edges that it meets, not to
 * the graph (ad_set.h).
 *
 * In bodies that are being recorded a variable with one entry is one in each lane, and
 * nothing is summed up.
 */
#include "ad/traverse/ad_traverse.h"

#include "ad/array/ad_moves.h"
#include "ad/array/ad_near.h"
#include "ad/debug/ad_finite.h"
#include "ad/graph/ad_scope.h"
#include "ad/rule/ad_apply.h"
#include "ad/rule/ad_operation.h"
#include "ad/traverse/ad_gradient.h"
#include "ad/traverse/ad_quick.h"
#include "ad/traverse/ad_spots.h"
#include "ad/traverse/ad_tangent.h"
#include "ad/traverse/ad_wait.h"
#include "base/error.h"
#include "base/vec.h"

/* ---------------------------------------------------------------- going along edges */

/* What is needed of an edge while the lock is not held; references are held. */
typedef struct Passage {
    AdEdge edge;
    VarType type; /* of the receiver */
    AdSize from;  /* of giver and receiver */
    size_t to;
    NodeId giver, receiver;
    bool ends;  /* at the receiver */
    bool waits; /* what comes to the receiver, until a construct is complete */
    AdArrival arrival;
} Passage;

static bool same_edge(const AdVisit *v)
{
    if (!ad_graph_has_edge(v->edge))
        return false;
    const AdEdge *e = ad_graph_edge(v->edge);
    return ad_graph_node(e->source)->serial == v->source &&
           ad_graph_node(e->target)->serial == v->target;
}

static NodeId giver_of(const Traversal *t, const AdEdge *e)
{
    return t->mode == ADModeForward ? e->source : e->target;
}

static NodeId receiver_of(const Traversal *t, const AdEdge *e)
{
    if (t->mode == ADModeForward)
        return e->target;
    return t->border.serial ? ad_border_receiver(e->source) : e->source;
}

/* False: the edge is gone. */
static bool passage_open(const Traversal *t, const AdVisit *v, Passage *p)
{
    if (!same_edge(v))
        return false;
    p->edge = *ad_graph_edge(v->edge);
    p->giver = giver_of(t, &p->edge);
    p->receiver = receiver_of(t, &p->edge);
    p->ends = !(t->spots[v->receiver].flags & SPOT_GIVER);
    p->waits = ad_border_waits(&t->border, p->receiver);
    p->arrival = p->waits ? ad_wait_arrival(&p->edge) : ARRIVES_VALUE;
    p->from = ad_size_of_node(p->giver);
    p->to = ad_graph_node(p->receiver)->size;
    p->type = (VarType) ad_graph_node(p->receiver)->type;
    ad_graph_ref(p->giver);
    ad_graph_ref(p->receiver);
    if (ad_graph_holds_several(p->edge.rule))
        ((AdHeld *) (uintptr_t) p->edge.held)->refs++;
    else
        ad_graph_retain(p->edge.held);
    return true;
}

static void passage_close(Passage *p)
{
    if (ad_graph_holds_several(p->edge.rule))
        ad_graph_drop_held((AdHeld *) (uintptr_t) p->edge.held);
    else
        ad_graph_release(p->edge.held);
    ad_graph_unref(p->giver);
    ad_graph_unref(p->receiver);
}

/* A gradient has come; the reference moves, 0 is a failure. */
static bool deliver(const Traversal *t, const Passage *p, uint64_t g)
{
    return p->waits ? ad_wait_add(&t->border, p->receiver, g)
                    : ad_gradient_accumulate(p->receiver, g);
}

static bool may_wait(const Passage *p)
{
    return !p->waits || p->arrival != ARRIVES_NEVER ||
           ad_border_refuse(p->receiver,
                            "it is that of an array which the body writes to");
}

/* The gradient of an array that goes on to what a write makes of it. In a body it has
 * to be the same array all the way, since there is no memory for copies. */
static bool pass_array(const Passage *p, uint64_t g)
{
    const AdMoves *m = (const AdMoves *) (uintptr_t) p->edge.held;
    state_lock();
    ad_gradient_clear(p->giver);
    state_unlock();
    uint64_t next = m->forward(m, 0, 0, g);
    return next && ad_gradient_put(p->receiver, next);
}

/* An operation that moves entries. */
static bool pass_moves(const Traversal *t, const Passage *p, uint64_t g)
{
    const AdMoves *m = (const AdMoves *) (uintptr_t) p->edge.held;
    uint64_t (*move)(const AdMoves *, uint32_t, uint64_t, uint64_t) =
        t->mode == ADModeForward ? m->forward : m->backward;
    bool forward = t->mode == ADModeForward;
    bool array = m->kind == MOVES_LOCAL
                     ? (forward ? m->local[1] : m->local[0] && p->edge.port == 0)
                     : m->kind == MOVES_WRITE && (forward || p->edge.port == 0);
    if (p->to == 1 &&
        !array) /* sizes may differ: ad_gradient_accumulate() sees to it */
        return deliver(t, p, move(m, p->edge.port, g, 0));
    if (p->waits && p->arrival == ARRIVES_VALUE)
        return deliver(t, p, move(m, p->edge.port, g, 0));
    if (p->waits) {
        uint64_t into = ad_wait_take(&t->border, p->receiver);
        uint64_t added = into ? move(m, p->edge.port, g, into) : 0;
        return ad_wait_put(&t->border, p->receiver, added);
    }
    uint64_t sum = move(m, p->edge.port, g, ad_gradient_take(p->receiver));
    return sum && ad_gradient_put(p->receiver, sum);
}

/* A gradient arrives at the node of a custom operation. */
static void pass_operation(const Passage *p, uint64_t g, bool input)
{
    state_lock();
    ad_operation_give(ad_operation_of(p->edge.held), input, p->edge.port, p->giver, g);
    state_unlock();
}

/* A gradient leaves it. */
static bool leave_operation(const Traversal *t, const Passage *p, bool input)
{
    AdOperation *op = ad_operation_of(p->edge.held);
    uint64_t *place = input ? &op->in[p->edge.port] : &op->out[p->edge.port];
    state_lock();
    uint64_t g = *place;
    *place = 0;
    state_unlock();
    if (!g)
        return true;
    size_t size = jit_var_peek_size(ad_var_index(g));
    if (size != p->to && size != 1 && p->to != 1) {
        ad_var_dec_ref(g);
        return error_set(
            JIT_ERROR_ARGUMENT,
            "ad_traverse(): operation '%s' gave a gradient with %zu entries "
            "for %s %u, expected %zu",
            op->custom.name, size, input ? "input" : "output", p->edge.port, p->to);
    }
    return may_wait(p) ? deliver(t, p, g) : (ad_var_dec_ref(g), false);
}

typedef enum Outcome {
    PASSED,
    FAILED,
    GONE, /* there is no such edge any more */
    SLOW  /* nothing was done: it takes more than this */
} Outcome;

/* Add to the gradient of a node; the reference moves unless it is SLOW. */
static Outcome accumulate_quickly(const Traversal *t, ThreadState *ts, AdNode *receiver,
                                  VarId value, bool made)
{
    uint64_t grad = receiver->grad;
    if (!grad) {
        receiver->grad = value;
        return PASSED;
    }
    if (ad_var_node(grad))
        return SLOW;
    const Var *before = var_get(ad_var_index(grad)), *v = var_get(value);
    if (ad_quick_is_zero(value)) {
        var_dec(value);
        return PASSED;
    }
    if (ad_quick_is_zero(ad_var_index(grad)) && receiver->size == var_lanes(v)) {
        receiver->grad = value;
        var_dec(ad_var_index(grad));
        return PASSED;
    }
    if ((receiver->size == 1 && var_lanes(before) != var_lanes(v) && !t->inside) ||
        var_pending(before) || var_pending(v))
        return SLOW;
    receiver->grad = ad_quick_add(ts, ad_var_index(grad), value, made);
    var_dec(ad_var_index(grad));
    var_dec(value);
    return receiver->grad ? PASSED : FAILED;
}

/* What a rule has made arrives at its receiver; the reference moves. 'made': see
 * ad_quick_add(). */
static bool give(const Traversal *t, const Passage *p, uint64_t value, bool made)
{
    if (!p->waits && !t->tracked && !ad_var_node(value)) {
        state_lock();
        AdNode *receiver = ad_graph_node(p->receiver);
        Outcome outcome = t->inside && ad_gradient_belongs_outside(p->receiver)
                              ? SLOW
                              : accumulate_quickly(t, state_thread(), receiver,
                                                   ad_var_index(value), made);
        state_unlock();
        if (outcome != SLOW)
            return outcome == PASSED;
    }
    return deliver(t, p, value);
}

/* One entry that stands for many, each of which counts; the reference moves. A literal
 * that is counted is one, and so is added as it is, also where the number of entries is
 * read from memory: '*made'. */
static uint64_t count_all(uint64_t c, AdSize size, bool *made)
{
    VarInfo info;
    bool ok = jit_var_peek_info(ad_var_index(c), &info);
    if (ok && info.state == VarStateLiteral) {
        *made = false;
        if (!ad_rule_bits_are(info.type, info.literal, false))
            return c;
    }
    uint32_t number = ok ? ad_size_number(size, info.backend) : 0;
    uint64_t count = number ? jit_var_cast(number, info.type, 0) : 0;
    uint64_t all = count ? ad_var_mul(c, count) : 0;
    jit_var_dec_ref(number);
    ad_var_dec_ref(count);
    ad_var_dec_ref(c);
    return all;
}

/* Let the giver's gradient 'g' (0: none) pass along an edge. */
static bool pass(const Traversal *t, const Passage *p, uint64_t g)
{
    bool forward = t->mode == ADModeForward;
    uint8_t rule = p->edge.rule;
    if (rule == (forward ? RULE_OUT_OF : RULE_INTO))
        return leave_operation(t, p, !forward);
    if (!g)
        return true;
    TRY(may_wait(p), false);
    if (rule == RULE_INTO || rule == RULE_OUT_OF) {
        if (p->ends) /* at an operation, since nothing that is tracked is after it */
            return true;
        /* Within a body it is a value of each lane, whatever its size. */
        uint64_t whole =
            ad_thread_in_body() ? ad_var_inc_ref(g) : ad_moves_resize(g, p->from);
        TRY(whole, false);
        pass_operation(p, whole, forward);
        ad_var_dec_ref(whole);
        return true;
    }
    if (rule == RULE_MOVES)
        return pass_moves(t, p, g);
    uint64_t c = ad_rule_contribution(rule, p->edge.held, p->edge.target, g, p->type,
                                      t->tracked);
    TRY(c, false);
    bool made = rule != RULE_IDENTITY;
    if (!forward && p->to == 1 && p->from.count > 1 &&
        jit_var_peek_size(ad_var_index(c)) == 1 && !ad_thread_in_body())
        TRY(c = count_all(c, p->from, &made), false);
    return give(t, p, c, made);
}

/* ---------------------------------------------------------------- edge by edge */

/* The gradient of the giver of an edge: plain, unless it is tracked. 0: there is
 * none, or (not 'ok') an error. */
static uint64_t given(Traversal *t, NodeId giver, bool *ok)
{
    if (ad_spots_due(giver) && !jit_flag(JitFlagFuseReductions))
        ad_spots_schedule(t, &t->sums, SPOT_SUM);
    uint64_t g = ad_gradient_settled(giver, ok);
    if (t->tracked || !ad_var_node(g))
        return g;
    uint64_t plain = ad_var_inc_ref(ad_var_index(g));
    ad_var_dec_ref(g);
    return plain;
}

/* Is the gradient of a node gone when its last edge has been passed? */
static bool is_cleared(const Traversal *t, const Spot *giver)
{
    if (!(giver->flags & SPOT_BROUGHT) && ad_tangent_is_before(t, giver->id))
        return false;
    uint32_t flag =
        giver->flags & SPOT_REACHED ? ADFlagClearInterior : ADFlagClearInput;
    return (t->flags & flag) && !(giver->flags & SPOT_WANTED);
}

/* Is it that of an array that is written to, and goes nowhere else? */
static bool hands_on(const Traversal *t, const Spot *giver, const Passage *p)
{
    const AdMoves *m = (const AdMoves *) (uintptr_t) p->edge.held;
    return t->mode == ADModeForward && p->edge.rule == RULE_MOVES &&
           p->edge.port == 0 && m->kind == MOVES_WRITE && giver->left == 1 &&
           is_cleared(t, giver) && !(t->watch && !t->inside) &&
           !ad_graph_node(p->receiver)->grad;
}

/* All edges that leave the giver have been passed: with it, its gradient is done. What
 * an operation has made for edges that are not gone along, or was given and has not
 * used, would be taken for gradients of the next traversal. */
static void finish_giver(Traversal *t, uint32_t place)
{
    const Spot *giver = &t->spots[place];
    const AdNode *node = ad_graph_node(giver->id);
    if (node->flags & NODE_OPERATION)
        ad_operation_clear(
            ad_operation_of(ad_graph_edge(node->in ? node->in : node->out)->held));
    if (is_cleared(t, giver))
        ad_tangent_clear(t, place);
}

/* Is it the last edge of its target? */
static bool ends_group(const Traversal *t, const AdVisit *v)
{
    return v + 1 == t->visits.list + t->visits.count || v[1].target != v->target;
}

static Spot *target_spot(const Traversal *t, const AdVisit *v)
{
    return &t->spots[t->mode == ADModeForward ? v->receiver : v->giver];
}

/* Is it an operation in reverse mode, of which another output was not come from? Its
 * edges are those of that one, too. */
static bool has_other_outputs(const Traversal *t, const Spot *target)
{
    const AdNode *node = ad_graph_node(target->id);
    return t->mode != ADModeForward && node->flags & NODE_OPERATION && node->out;
}

static void keep_passed(NodeId target)
{
    for (EdgeId i = ad_graph_node(target)->in; i; i = ad_graph_edge(i)->next_in)
        ad_graph_edge(i)->passed = false;
}

/* All edges of the target were passed, or no more of them will be. */
static void release_target(const Traversal *t, const AdVisit *v)
{
    Spot *target = target_spot(t, v);
    if (!(target->flags & SPOT_HELD))
        return;
    target->flags &= (uint16_t) ~SPOT_HELD;
    if (t->flags & ADFlagClearEdges && has_other_outputs(t, target))
        keep_passed(target->id);
    else if (t->flags & ADFlagClearEdges)
        ad_graph_drop_passed(target->id);
    ad_graph_unref(target->id);
}

/* An edge was passed, and is 'there' yet. */
static bool leave_edge(Traversal *t, const AdVisit *v, bool there)
{
    Spot *giver = &t->spots[v->giver];
    t->spots[v->receiver].flags |= SPOT_REACHED;
    TRY(ad_spots_note(t, v->receiver), false);
    if (--giver->left == 0)
        finish_giver(t, v->giver);
    /* Other bodies may come by what belongs to one around them. */
    if (t->flags & ADFlagClearEdges && there &&
        !ad_tangent_is_before(t, ad_graph_edge(v->edge)->target) &&
        !(t->border.inner &&
          ad_border_is_between(&t->border, ad_graph_edge(v->edge)->target)))
        ad_graph_edge(v->edge)->passed = true;
    return true;
}

/* Pass an edge under the lock, if everything about it is usual. */
static Outcome pass_quickly(Traversal *t, ThreadState *ts, const AdVisit *v)
{
    if (!same_edge(v))
        return GONE;
    const AdEdge *e = ad_graph_edge(v->edge);
    bool forward = t->mode == ADModeForward;
    const AdNode *giver = ad_graph_node(giver_of(t, e));
    NodeId to = receiver_of(t, e);
    AdNode *receiver = ad_graph_node(to);
    if (t->tracked || t->watch || e->rule == RULE_INTO || e->rule == RULE_OUT_OF)
        return SLOW;
    TRY(ad_tangent_stand(t, v->giver), FAILED);
    if (!giver->grad)
        return PASSED;
    TRY(ad_tangent_bring(t, v->receiver), FAILED);
    VarId g = ad_var_index(giver->grad);
    if ((var_lanes_of(g) > giver->size && !t->inside) ||
        !ad_quick_applies(e->rule, e->held, g))
        return SLOW;
    VarId c = ad_quick_contribution(ts, e->rule, e->held, g, (VarType) receiver->type,
                                    &t->zero);
    if (!c)
        return FAILED;
    bool many = !forward && receiver->size == 1 && giver->size > 1 &&
                var_lanes_of(c) == 1 && !t->inside;
    bool waits = t->inside &&
                 (ad_border_waits(&t->border, to) || ad_gradient_belongs_outside(to));
    bool made = e->rule != RULE_IDENTITY;
    Outcome outcome =
        many || waits ? SLOW : accumulate_quickly(t, ts, receiver, c, made);
    if (outcome == SLOW)
        var_dec(c);
    return outcome;
}

/* Pass edges from number '*i' on, as long as nothing else has to be done. */
static Outcome pass_many(Traversal *t, ThreadState *ts, uint32_t *i)
{
    enum { MOST = 64 }; /* others want the lock, too */
    uint32_t end = t->visits.count - *i > MOST ? *i + MOST : t->visits.count;
    Outcome outcome = PASSED;
    state_lock();
    while (*i < end) {
        const AdVisit *v = &t->visits.list[*i];
        outcome = pass_quickly(t, ts, v);
        if (outcome == SLOW || outcome == FAILED)
            break;
        if (outcome == PASSED && !leave_edge(t, v, true)) {
            outcome = FAILED;
            break;
        }
        if (ends_group(t, v))
            release_target(t, v);
        ++*i;
        /* These are done when the lock is released. */
        if (thread_self.kept | thread_self.deferred)
            break;
    }
    state_unlock();
    return outcome;
}

/* A custom operation is run when the first edge is met by which gradients leave it. */
static bool run_operation(Traversal *t, const AdVisit *v, const Passage *p)
{
    bool leaves = p->edge.rule == (t->mode == ADModeForward ? RULE_OUT_OF : RULE_INTO);
    Spot *giver = &t->spots[v->giver];
    if (!leaves || giver->flags & SPOT_RUN)
        return true;
    giver->flags |= SPOT_RUN;
    if (!(giver->flags & SPOT_REACHED))
        return true;
    AdOperation *op = ad_operation_of(p->edge.held);
    bool adds = t->border.recorded && op->arrival;
    TRY(adds ? ad_wait_run(&t->border, op, p->giver, t->tracked)
             : ad_operation_run(op, p->giver, t->mode, t->tracked, &t->nodes),
        false);
    if (t->mode == ADModeBackward && !t->inside)
        ad_spots_schedule_made(p->giver, op);
    return true;
}

/* Does what comes along an edge have to be in memory? */
static bool reads(const Traversal *t, const AdEdge *e)
{
    return e->rule == RULE_MOVES && t->mode == ADModeBackward && !t->inside &&
           ((const AdMoves *) (uintptr_t) e->held)->near;
}

static bool schedule_read(Traversal *t, const Passage *p, uint64_t g)
{
    AdFactors factors = ad_near_factors(g);
    const bool ok = ad_spots_schedule_read(t, p->giver, factors.core);
    ad_near_drop(&factors);
    return ok;
}

static bool pass_slowly(Traversal *t, const AdVisit *v)
{
    Passage p;
    state_lock();
    bool there = passage_open(t, v, &p), ok = true;
    bool hands = there && hands_on(t, &t->spots[v->giver], &p);
    ok = !there || ad_tangent_stand(t, v->giver);
    state_unlock();
    if (there && ok) {
        ok = run_operation(t, v, &p);
        uint64_t g = ok ? given(t, p.giver, &ok) : 0;
        hands = hands && g;
        state_lock();
        if (ok && (g || p.edge.rule == RULE_OUT_OF))
            ok = ad_tangent_bring(t, v->receiver);
        const bool before = ad_tangent_is_before(t, p.receiver);
        state_unlock();
        ok = ok && (!g || !before || ad_tangent_check(&p.edge, p.receiver));
        ok = ok && (!g || !reads(t, &p.edge) || schedule_read(t, &p, g));
        ok = ok && (hands ? pass_array(&p, g) : pass(t, &p, g));
        bool first = !(t->spots[v->giver].flags & SPOT_REACHED);
        if (t->watch && ok)
            ok = ad_finite_check(&p.edge, t->mode, first, &t->watch);
        if (!hands)
            ad_var_dec_ref(g);
    }
    state_lock();
    if (there && ok)
        ok = leave_edge(t, v, same_edge(v));
    if (there)
        passage_close(&p);
    if (ok && ends_group(t, v))
        release_target(t, v);
    state_unlock();
    return ok;
}

/* Nodes from outside give nothing within a body, and those of bodies around only what
 * has come to them by this traversal: what they have from before is for more lanes. */
static bool check_givers(const Traversal *t)
{
    for (uint32_t i = 0; t->border.recorded && i < t->visits.count; i++) {
        const Spot *giver = &t->spots[t->visits.list[i].giver];
        const AdEdge *e = ad_graph_edge(t->visits.list[i].edge);
        if (e->rule == RULE_MOVES &&
            ((const AdMoves *) (uintptr_t) e->held)->kind == MOVES_WHOLE)
            return ad_border_refuse(giver->id, "it is that of an operation on whole "
                                               "arrays, which is not part of the body");
        if (ad_border_is_outside(&t->border, giver->id))
            return ad_border_refuse(giver->id, "it was enqueued outside");
        if (ad_border_is_between(&t->border, giver->id) &&
            ad_graph_node(giver->id)->grad)
            return ad_border_refuse(giver->id, "one was set in a body around");
    }
    return true;
}

/* List the nodes of the edges that are still there, and hold targets until their turn
 * is over: an edge lives as long as its target, which edges that are passed before may
 * be the last to hold. */
static bool list_spots(Traversal *t)
{
    AdSet *set = &t->nodes;
    AdVisits *v = &t->visits;
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->count; i++) {
        AdVisit visit = v->list[i];
        if (!same_edge(&visit))
            continue;
        const AdEdge *e = ad_graph_edge(visit.edge);
        visit.giver = ad_set_add(set, giver_of(t, e));
        visit.receiver = ad_set_add(set, receiver_of(t, e));
        TRY(visit.giver != AD_SET_NONE && visit.receiver != AD_SET_NONE, false);
        v->list[n++] = visit;
    }
    v->count = n;
    TRY(t->spots = alloc_get((set->count + 1) * sizeof(Spot)), false);
    for (uint32_t i = 0; i < set->count; i++)
        t->spots[i] = (Spot){ set->nodes[i], 0, 0 };
    TRY(check_givers(t), false);
    for (uint32_t i = 0; i < n; i++) {
        t->spots[v->list[i].giver].left++;
        t->spots[v->list[i].giver].flags |= SPOT_GIVER;
        Spot *target = target_spot(t, &v->list[i]);
        if (!(target->flags & SPOT_HELD))
            ad_graph_ref(target->id);
        target->flags |= SPOT_HELD;
    }
    return true;
}

/* Nodes that edges were looked for from in the other direction. */
static void mark_wanted(Traversal *t)
{
    const AdVisits *v = &t->visits;
    for (const AdRoot *r = v->roots; r < v->roots + v->root_count; r++) {
        bool other = r->mode != t->mode;
        uint32_t place = other ? ad_set_find(&t->nodes, r->node) : AD_SET_NONE;
        if (place != AD_SET_NONE && ad_graph_node(r->node)->serial == r->serial)
            t->spots[place].flags |= SPOT_WANTED;
    }
}

bool ad_traverse_is_tracked(void)
{
    return thread_self.ad && ad_thread()->tracked;
}

/* The value of a gradient stays. */
static void detach_gradient(NodeId id)
{
    const uint64_t grad = ad_graph_node(id)->grad;
    if (!ad_var_node(grad))
        return;
    ad_graph_node(id)->grad = ad_var_index(grad);
    ad_graph_unref(ad_var_node(grad));
}

/* After an error: gradients that have not been passed on go, as if they had been. Those
 * that an operation was given hold nodes, which may hold the operation. Tracked ones
 * depend on the nodes that they are in: nobody will ask for their derivatives, so they
 * become plain. */
static void give_up(Traversal *t, uint32_t from)
{
    state_lock();
    for (uint32_t i = 0; i < t->visits.count && t->tracked; i++) {
        const AdVisit *v = &t->visits.list[i];
        if (!same_edge(v))
            continue;
        const NodeId both[2] = { t->spots[v->giver].id, t->spots[v->receiver].id };
        for (int k = 0; k < 2; k++)
            ad_graph_ref(both[k]);
        for (int k = 0; k < 2; k++) {
            detach_gradient(both[k]);
            ad_graph_unref(both[k]);
        }
    }
    for (uint32_t i = from; i < t->visits.count; i++)
        if (same_edge(&t->visits.list[i]))
            finish_giver(t, t->visits.list[i].giver);
    for (uint32_t i = from; i < t->visits.count; i++)
        release_target(t, &t->visits.list[i]);
    state_unlock();
}

/* Gradients of what is between are of this body's lanes and cannot stay. False (error
 * recorded): one was to. */
static bool leave_nothing(const Traversal *t)
{
    bool ok = true;
    for (uint32_t i = 0; i < t->nodes.count && t->border.recorded; i++) {
        NodeId id = t->spots[i].id;
        if (!ad_graph_has_node(id) || !ad_border_is_between(&t->border, id) ||
            !ad_graph_node(id)->grad)
            continue;
        ad_gradient_clear(id);
        ok = ad_border_refuse(id, "a body around has made it, so nothing takes it");
    }
    return ok;
}

static bool mask_gradient(NodeId id)
{
    uint64_t masked = ad_wait_mask(ad_gradient_take(id));
    return masked && ad_gradient_put(id, masked);
}

/* In a body that runs at once, what was set counts in active lanes. */
static bool mask_roots(const Traversal *t)
{
    bool ok = true;
    for (uint32_t i = 0; i < t->visits.count && ok; i++) {
        const AdVisit *v = &t->visits.list[i];
        state_lock();
        NodeId id = t->spots[v->giver].id;
        bool set = (!i || v[-1].giver != v->giver) && ad_graph_node(id)->grad &&
                   !ad_border_is_outside(&t->border, id);
        state_unlock();
        ok = !set || mask_gradient(id);
    }
    return ok;
}

static bool begin(Traversal *t)
{
    TRY(ad_visits_sort(&t->visits, t->mode), false);
    state_lock();
    t->nodes = ad_set_begin();
    bool ok = list_spots(t);
    if (ok)
        mark_wanted(t);
    state_unlock();
    t->inside = ad_thread_in_body();
    return ok;
}

static bool traverse(Traversal *t)
{
    AdThread *own = ad_thread();
    ThreadState *ts = state_thread();
    TRY(own && ts, false);
    bool tracked = own->tracked;
    own->tracked = t->tracked;
    t->watch = ad_finite_watches();
    bool begun = begin(t), lifted = false;
    bool ok = begun && (!t->border.serial || t->border.recorded || mask_roots(t)) &&
              ad_wait_lift_mask(&lifted);
    uint32_t i = 0;
    while (ok && i < t->visits.count) {
        Outcome outcome = pass_many(t, ts, &i);
        ok = outcome != FAILED;
        if (outcome == SLOW && (ok = pass_slowly(t, &t->visits.list[i])))
            i++;
    }
    if (lifted && !ad_wait_drop_mask())
        ok = false;
    if (begun && !ok)
        give_up(t, i);
    else if (ok)
        ad_spots_schedule_ends(t);
    state_lock();
    if (begun && !leave_nothing(t))
        ok = false;
    if (begun && !ad_tangent_return(t))
        ok = false;
    for (uint32_t k = 0; k < t->kept_count; k++)
        if (t->kept[k].grad)
            ad_graph_release(t->kept[k].grad);
    state_unlock();
    alloc_free(t->kept);
    ad_spots_drop(t);
    jit_var_dec_ref(t->zero);
    alloc_free(t->spots);
    alloc_free(t->nodes.nodes);
    own->tracked = tracked;
    return ok;
}

bool ad_traverse(ADMode mode, uint32_t flags)
{
    if (mode != ADModeForward && mode != ADModeBackward)
        return error_set(JIT_ERROR_ARGUMENT,
                         "ad_traverse(): mode is %d, expected ADModeForward or "
                         "ADModeBackward",
                         (int) mode);
    AdThread *own = ad_thread();
    TRY(own && state_thread(), false);
    Traversal t = { .mode = mode,
                    .flags = flags,
                    .tracked = (flags & ADFlagCreateGraph) != 0,
                    .visits = own->visits };
    if (t.tracked)
        t.flags &= ~(uint32_t) ADFlagClearEdges;
    AdBorder border = ad_border();
    if (mode == ADModeBackward)
        t.border = border;
    own->visits = (AdVisits){ 0 }; /* callbacks may begin traversals of their own */
    state_lock();
    const AdScopeState *scope = ad_scope_current();
    if (mode == ADModeForward) {
        t.before = border.inner > border.serial ? border.inner : border.serial;
        if (scope && scope->border > t.before)
            t.before = scope->border;
    }
    bool ok = ad_visits_go_on(&t.visits, mode, &border);
    state_unlock();
    ok = ok && traverse(&t);
    if (own->visits.list || own->visits.roots) {
        ad_visits_free(&t.visits);
    } else {
        ad_visits_clear(&t.visits);
        own->visits = t.visits;
    }
    return ok;
}

bool ad_traverse_from(const NodeId *nodes, uint32_t count)
{
    Traversal t = { .mode = ADModeBackward,
                    .flags = ADFlagClearVertices,
                    .border = ad_border() };
    state_lock();
    bool ok = ad_visits_again(&t.visits, ADModeBackward, true) &&
              ad_visits_walk(&t.visits, ADModeBackward, nodes, count, &t.border);
    state_unlock();
    ok = ok && traverse(&t);
    ad_visits_free(&t.visits);
    return ok;
}

bool ad_traverse_within(ADMode mode, const NodeId *nodes, uint32_t count,
                        uint32_t wanted, const NodeId *stops, uint32_t stop_count,
                        bool tracked)
{
    Traversal t = { .mode = mode, .flags = ADFlagClearVertices, .tracked = tracked };
    AdThread *own = ad_thread();
    TRY(own, false);
    uint64_t serial = own->derived_serial;
    uint32_t open = own->derived_open;
    state_lock();
    own->derived_serial = ad_graph_serial();
    own->derived_open = own->open_count;
    bool ok = ad_visits_again(&t.visits, ADModeBackward, true) &&
              ad_visits_note_roots(&t.visits, ADModeBackward, nodes, wanted) &&
              ad_visits_walk_within(&t.visits, nodes, count, stops, stop_count);
    state_unlock();
    ok = ok && traverse(&t);
    own->derived_serial = serial;
    own->derived_open = open;
    ad_visits_free(&t.visits);
    return ok;
}
