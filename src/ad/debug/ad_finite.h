/*
 * ad_finite.h -- whether gradients are finite, in debug mode
 *
 * Without lock.
 */
#ifndef AD_DEBUG_AD_FINITE_H
#define AD_DEBUG_AD_FINITE_H

#include "ad/graph/ad_graph.h"

/** Are the gradients of a traversal to be checked? They are not while a body is being
 *  recorded, and where waiting for them is forbidden. */
bool ad_finite_watches(void);
/** A gradient has gone along an edge: warn, and '*watch' no more, if what it gave is
 *  the first that is not finite; or if 'first' and what set out was not. False: error
 *  recorded. The edge and its nodes must be held meanwhile. */
bool ad_finite_check(const AdEdge *edge, ADMode mode, bool first, bool *watch);

#endif
