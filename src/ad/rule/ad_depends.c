/*
 * ad_depends.c -- see ad_depends.h
 */
#include "ad/rule/ad_depends.h"

#include <string.h>

#include "ad/rule/ad_operation.h"
#include "base/alloc.h"
#include "base/vec.h"

static size_t words_of(size_t bits)
{
    return (bits + 63) / 64;
}

AdDepends *ad_depends_new(size_t n_in, size_t n_out)
{
    const size_t words = words_of(n_in), rows = n_out * words;
    const size_t met = words > words_of(n_out) ? words : words_of(n_out);
    AdDepends *d = alloc_zero(1, sizeof(AdDepends) + (rows + met) * sizeof(uint64_t));
    if (d) {
        d->words = (uint32_t) words;
        d->met = d->rows + rows;
    }
    return d;
}

static bool take(AdDepends *d, uint32_t port)
{
    const uint64_t bit = UINT64_C(1) << (port & 63);
    const bool fresh = !(d->met[port / 64] & bit);
    d->met[port / 64] |= bit;
    return fresh;
}

/* Has the walk come by all inputs of this output before? */
static bool is_exhausted(AdDepends *d, uint32_t output)
{
    const uint64_t *row = ad_depends_row(d, output);
    for (uint32_t i = 0; i < d->words; i++)
        if (row[i] & ~d->met[i])
            return false;
    return true;
}

static void begin(AdDepends *d, const AdOperation *op, uint64_t turn)
{
    if (d->turn == turn)
        return;
    const size_t most = op->n_in > op->n_out ? op->n_in : op->n_out;
    memset(d->met, 0, words_of(most) * sizeof(uint64_t));
    d->turn = turn;
}

bool ad_depends_follow(const AdEdge *by, bool forward, uint64_t turn, AdEdges *list,
                       bool *known)
{
    const AdOperation *op = ad_operation_of(by->held);
    AdDepends *d = op->depends;
    *known = d != NULL;
    if (!d)
        return true;
    begin(d, op, 2 * turn + forward);
    if (!forward && is_exhausted(d, by->port))
        return true;
    EdgeId e = forward ? ad_graph_node(by->target)->out : ad_graph_node(by->source)->in;
    while (e) {
        const AdEdge *edge = ad_graph_edge(e);
        const bool reached = forward ? ad_depends(d, edge->port, by->port)
                                     : ad_depends(d, by->port, edge->port);
        if (reached && take(d, edge->port))
            TRY(vec_push(&list->edges, &list->count, &list->capacity, e), false);
        e = forward ? edge->next_out : edge->next_in;
    }
    return true;
}
