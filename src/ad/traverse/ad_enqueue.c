/*
 * ad_enqueue.c -- edges are listed for the next traversal
 *
 * The functions of ad.h of that name. What a walk takes is proportional to the edges
 * that it meets, not to the graph (ad_set.h).
 */
#include "ad/graph/ad_border.h"
#include "ad/graph/ad_scope.h"
#include "ad/graph/ad_thread.h"
#include "ad/graph/ad_visits.h"
#include "base/error.h"
#include "trace/graph/record.h"

static bool enqueue(AdVisits *v, ADMode mode, uint64_t index)
{
    NodeId id = ad_var_node(index);
    if (!id)
        return true;
    if (ad_var_index(index) &&
        var_get(ad_var_index(index))->flags & VAR_SYMBOLIC && !state_thread()->body)
        return error_set(JIT_ERROR_STATE,
                         "ad_enqueue(): r%u is symbolic: it exists within a loop, "
                         "conditional or call only, expected a result of it",
                         ad_var_index(index));
    if (!ad_scope_tracks(index))
        return true;
    AdBorder border = ad_border();
    bool stop = ad_scope_isolates() || border.serial;
    bool ok = ad_visits_again(v, mode, stop) &&
              ad_visits_look(v, mode, &id, 1, &border) &&
              ad_visits_note_roots(v, mode, &id, 1);
    /* The next walk begins anew where it is of another kind. */
    if (mode == ADModeForward || stop)
        v->seen.count = 0;
    return ok;
}

bool ad_enqueue_all(ADMode mode, size_t n, const uint64_t *indices)
{
    if (mode != ADModeForward && mode != ADModeBackward)
        return error_set(JIT_ERROR_ARGUMENT,
                         "ad_enqueue(): mode is %d, expected ADModeForward or "
                         "ADModeBackward",
                         (int) mode);
    AdThread *t = ad_thread();
    TRY(t && state_thread(), false);
    uint32_t edges = t->visits.count, roots = t->visits.root_count;
    uint32_t stops = t->visits.stop_count;
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        ad_thread_read(indices[i]);
    state_lock();
    for (size_t i = 0; i < n && ok; i++)
        ok = enqueue(&t->visits, mode, indices[i]);
    state_unlock();
    if (!ok) { /* nor is anything seen that was not listed */
        t->visits.count = edges;
        t->visits.root_count = roots;
        t->visits.stop_count = stops;
        t->visits.seen.count = 0;
    }
    return ok;
}

bool ad_enqueue(ADMode mode, uint64_t index)
{
    return ad_enqueue_all(mode, 1, &index);
}
