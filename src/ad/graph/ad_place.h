/*
 * ad_place.h -- where nodes were made, in debug mode
 *
 * For messages only: when out of memory, nothing is noted.
 *
 * Requires the graph lock.
 */
#ifndef AD_GRAPH_AD_PLACE_H
#define AD_GRAPH_AD_PLACE_H

#include "ad/graph/ad_graph.h"

/** A node was made by the line that runs. */
void ad_place_note(NodeId id);
/** ... which is this one. NULL: not known. */
const char *ad_place_of(NodeId id, uint32_t *line);
/** There are no nodes. */
void ad_place_forget(void);

#endif
