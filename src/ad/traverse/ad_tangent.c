/*
 * ad_tangent.c -- see ad_tangent.h
 *
 * A body begins with the gradients that there are outside. Where it is recorded, nodes
 * from before it are lent others for as long as it is (ad_border.h); where it runs at
 * once, what a traversal brings to one goes when it has gone on, and is replaced by the
 * next one's if it ends there. Placeholders have the tangents of what they stand for
 * while a traversal is under way.
 */
#include "ad/traverse/ad_tangent.h"

#include "ad/array/ad_moves.h"
#include "ad/graph/ad_scope.h"
#include "ad/traverse/ad_gradient.h"
#include "base/error.h"
#include "base/vec.h"

/* Keep the gradient of the node at a place, for ad_tangent_clear(). */
static bool keep(Traversal *t, uint32_t place)
{
    TRY(vec_reserve(&t->kept, &t->kept_capacity, t->kept_count + 1, sizeof(AdKept)),
        false);
    const uint64_t grad = ad_graph_node(t->spots[place].id)->grad;
    ad_graph_retain(grad);
    t->kept[t->kept_count++] = (AdKept){ place, grad };
    t->spots[place].flags |= SPOT_KEPT;
    return true;
}

/* A tangent comes to the receiver of an edge. To one from before, an earlier
 * traversal of the body may have brought another: it begins with what was there
 * outside. Where the body is recorded that comes back in the end. */
bool ad_tangent_bring(Traversal *t, uint32_t place)
{
    Spot *spot = &t->spots[place];
    const NodeId receiver = spot->id;
    if (!ad_tangent_is_before(t, receiver) || spot->flags & SPOT_BROUGHT)
        return true;
    spot->flags |= SPOT_BROUGHT;
    ad_scope_note(receiver, ADCrossingIn);
    bool brought = ad_graph_node(receiver)->flags & NODE_BROUGHT;
    ad_graph_node(receiver)->flags |= NODE_BROUGHT;
    if (ad_border_recorded())
        return ad_border_lend_copy(receiver, brought);
    if (brought)
        ad_gradient_clear(receiver);
    return !ad_graph_node(receiver)->grad || keep(t, place);
}

void ad_tangent_clear(Traversal *t, uint32_t place)
{
    const Spot *spot = &t->spots[place];
    AdNode *node = ad_graph_node(spot->id);
    ad_gradient_clear(spot->id);
    if (!(spot->flags & SPOT_BROUGHT) || ad_border_recorded())
        return;
    node->flags &= ~(unsigned) NODE_BROUGHT;
    for (uint32_t i = 0; spot->flags & SPOT_KEPT && i < t->kept_count; i++)
        if (t->kept[i].place == place) {
            node->grad = t->kept[i].grad;
            t->kept[i].grad = 0;
        }
}

/* An array that a body writes to, or a result of an operation on whole arrays, has its
 * tangent outside only. */
bool ad_tangent_check(const AdEdge *edge, NodeId receiver)
{
    if (edge->rule != RULE_MOVES || !ad_border_recorded())
        return true;
    const AdMovesKind kind = ((const AdMoves *) (uintptr_t) edge->held)->kind;
    return (kind != MOVES_WRITE && kind != MOVES_WHOLE) ||
           ad_border_refuse(receiver, "forward, it is that of an operation on whole "
                                      "arrays, which is not part of the body");
}

/* A placeholder of a body that is being recorded has the tangent of what it stands for.
 * */
bool ad_tangent_stand(const Traversal *t, uint32_t place)
{
    Spot *spot = &t->spots[place];
    AdStandsFor f;
    uint64_t tangent;
    if (!t->before || spot->flags & SPOT_STANDS ||
        !(ad_graph_node(spot->id)->flags & NODE_ENTRY) ||
        !ad_border_stands_for(spot->id, &f) || ad_border_is_lent(spot->id))
        return true;
    spot->flags |= SPOT_STANDS;
    TRY(ad_border_find_tangent(spot->id, &tangent), false);
    if (tangent)
        ad_graph_retain(tangent);
    ad_gradient_clear(spot->id);
    ad_graph_node(spot->id)->grad = tangent;
    return true;
}

/* Forward, the traversal is over: placeholders have no tangents of their own, but those
 * that it was to come to. */
bool ad_tangent_return(const Traversal *t)
{
    bool ok = true;
    for (uint32_t i = 0; i < t->nodes.count && t->before; i++) {
        /* One that the traversal ends with was its purpose. */
        ad_border_keep(t->spots[i].id,
                       (t->spots[i].flags &
                        (SPOT_BROUGHT | SPOT_GIVER | SPOT_WANTED)) == SPOT_BROUGHT);
        if (t->spots[i].flags & SPOT_STANDS && ad_graph_has_node(t->spots[i].id))
            ad_gradient_clear(t->spots[i].id);
    }
    for (uint32_t i = 0; i < t->nodes.count; i++)
        if (t->spots[i].flags & SPOT_STANDS)
            ad_border_ask(t->spots[i].id);
    for (uint32_t i = 0; i < t->visits.root_count && ok && t->before; i++) {
        const AdRoot *root = &t->visits.roots[i];
        AdStandsFor f;
        uint64_t tangent;
        if (root->mode == ADModeForward || !ad_graph_has_node(root->node) ||
            ad_graph_node(root->node)->serial != root->serial ||
            !ad_border_stands_for(root->node, &f))
            continue;
        ad_border_ask(root->node);
        ok = ad_border_find_tangent(root->node, &tangent) &&
             ad_border_lend(root->node, true);
        if (ok && tangent) {
            ad_graph_retain(tangent);
            ad_gradient_clear(root->node);
            ad_graph_node(root->node)->grad = tangent;
        }
    }
    return ok;
}
