/*
 * ad_set.h -- sets of nodes, for walks over the graph
 *
 * A set is a list of nodes. Where a node is in it says a number that belongs to the
 * node, which is believed only if the list agrees: so a set is made, filled and
 * forgotten in time proportional to what is in it, however large the graph.
 *
 * All sets share the one number of a node. So of sets that exist at a time one can be
 * used, the last one that was begun or resumed, and only until the graph lock is
 * released; as a list it lasts.
 *
 * Requires the graph lock.
 */
#ifndef AD_GRAPH_AD_SET_H
#define AD_GRAPH_AD_SET_H

#include "ad/graph/ad_graph.h"

typedef struct AdSet {
    NodeId *nodes; /* owned, by alloc.h */
    uint32_t count, capacity;
    uint64_t turn; /* a number for each time that a set is begun or resumed */
} AdSet;

#define AD_SET_NONE UINT32_MAX

/** Of all nodes: see above. */
extern uint32_t *ad_set_places, ad_set_capacity;
extern uint64_t ad_set_turn; /* of the set that can be used */

/** An empty set, that can be used. */
static inline AdSet ad_set_begin(void)
{
    return (AdSet){ .turn = ++ad_set_turn };
}
/** Have a set be used again. Nodes that are gone stay in it. False: out of memory. */
bool ad_set_resume(AdSet *s);

/** Where a node is in the set, AD_SET_NONE if it is not. */
static inline uint32_t ad_set_find(const AdSet *s, NodeId id)
{
    uint32_t place = id < ad_set_capacity ? ad_set_places[id] : AD_SET_NONE;
    return place < s->count && s->nodes[place] == id ? place : AD_SET_NONE;
}

static inline bool ad_set_has(const AdSet *s, NodeId id)
{
    return ad_set_find(s, id) != AD_SET_NONE;
}

/** Its place; it is appended if it is not in the set. AD_SET_NONE: out of memory. */
uint32_t ad_set_add(AdSet *s, NodeId id);
/** Have it in the set; 0 is not a node. False: out of memory. */
static inline bool ad_set_put(AdSet *s, NodeId id)
{
    return !id || ad_set_add(s, id) != AD_SET_NONE;
}
/** Release what all sets share: there are no nodes. */
void ad_set_forget(void);

#endif
