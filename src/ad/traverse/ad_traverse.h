/*
 * ad_traverse.h -- traversals that begin elsewhere than in ad_traverse()
 */
#ifndef AD_TRAVERSE_AD_TRAVERSE_H
#define AD_TRAVERSE_AD_TRAVERSE_H

#include "ad/graph/ad_graph.h"

/** Propagate gradients from these nodes to all that they depend on. Those on the way
 *  are cleared; edges stay, since other traversals may come by. Without lock. */
bool ad_traverse_from(const NodeId *nodes, uint32_t count);

/** The same in one direction, along the edges that lead to these nodes, as far as
 *  the nodes in 'stops': 'mode' is that of the traversal. Edges stay, gradients on
 *  the way are cleared, but, forward, not those of the first 'wanted' nodes. */
bool ad_traverse_within(ADMode mode, const NodeId *nodes, uint32_t count,
                        uint32_t wanted, const NodeId *stops, uint32_t stop_count,
                        bool tracked);

#endif
