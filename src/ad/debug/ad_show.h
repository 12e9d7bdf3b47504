/*
 * ad_show.h -- how texts name edges and nodes
 *
 * Requires the graph lock.
 */
#ifndef AD_DEBUG_AD_SHOW_H
#define AD_DEBUG_AD_SHOW_H

#include "ad/graph/ad_graph.h"
#include "base/text.h"

/** Append the operation that an edge belongs to: "mul", "Loop: name", ... */
void ad_show_put_edge(Text *out, const AdEdge *e);
/** Append the operation that a node is the result of, "input" if it is of none. */
void ad_show_put_node(Text *out, NodeId id);
/** Append "file:line" and label, as far as they are known, each after a separator.
 *  Was there anything? */
bool ad_show_put_where(Text *out, NodeId id, const char *separator);

#endif
