/*
 * ad_visits.h -- lists of edges that a traversal is to pass
 *
 * Requires the graph lock, unless a function says otherwise.
 */
#ifndef AD_GRAPH_AD_VISITS_H
#define AD_GRAPH_AD_VISITS_H

#include "ad/graph/ad_border.h"
#include "ad/graph/ad_set.h"

/** An edge in a list, with the serial numbers by which it is sorted. It may be gone by
 *  the time it is looked at. */
typedef struct AdVisit {
    uint64_t source, target; /* serial numbers */
    EdgeId edge;
    uint32_t giver, receiver; /* during the traversal: their places in its list */
    uint16_t port;
} AdVisit;

/** Where the list was made from. */
typedef struct AdRoot {
    uint64_t serial;
    NodeId node; /* may be gone or another one: see 'serial' */
    ADMode mode; /* the direction in which its edges were looked for */
} AdRoot;

typedef struct AdVisits {
    AdVisit *list;
    uint32_t count, capacity;
    AdRoot *roots;
    uint32_t root_count, root_capacity;
    AdSet seen;        /* nodes whose edges to their inputs are in the list */
    uint64_t *serials; /* of these nodes */
    uint32_t serial_capacity;
    AdRoot *stops; /* where walks to inputs have stopped; 'mode' says nothing */
    uint32_t stop_count, stop_capacity;
} AdVisits;

/** Without lock. */
void ad_visits_free(AdVisits *v);
/** Forget what was listed; memory for more than a few thousand edges is given back.
 *  Without lock. */
void ad_visits_clear(AdVisits *v);

/** Have the next walk add to the list. What was seen of the graph of a result is so
 *  still, but not what follows from an input, nor, if walks 'stop', what was postponed.
 *  False: out of memory. */
bool ad_visits_again(AdVisits *v, ADMode mode, bool stop);
/** List all edges that lead from the inputs to these nodes, as far as the border, or,
 *  forward, from the nodes to results. False: error recorded. */
bool ad_visits_walk(AdVisits *v, ADMode mode, const NodeId *roots, uint32_t count,
                    const AdBorder *border);
/** The same for later: where such a walk stops is noted. */
bool ad_visits_look(AdVisits *v, ADMode mode, const NodeId *roots, uint32_t count,
                    const AdBorder *border);
/** The traversal begins. In reverse, others go on from these nodes after the border;
 *  forward, the walk goes on beyond it. False: error recorded. */
bool ad_visits_go_on(AdVisits *v, ADMode mode, const AdBorder *border);
/** The edges that lead to these nodes of bodies that are complete. 'stops' are not
 *  walked beyond. */
bool ad_visits_walk_within(AdVisits *v, const NodeId *roots, uint32_t count,
                           const NodeId *stops, uint32_t stop_count);
bool ad_visits_note_roots(AdVisits *v, ADMode mode, const NodeId *nodes,
                          uint32_t count);
/** In the order in which they are passed, each once. False: out of memory. Without
 *  lock. */
bool ad_visits_sort(AdVisits *v, ADMode mode);

#endif
