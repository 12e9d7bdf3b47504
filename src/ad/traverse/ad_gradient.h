/*
 * ad_gradient.h -- gradients of nodes
 *
 * A node with one entry may have a gradient with many, the parts of a sum that is put
 * off until somebody asks for it (ad_traverse.c). In bodies that are being recorded a
 * variable with one entry is one in each lane, and nothing is summed up.
 *
 * Without lock, unless a function says otherwise.
 */
#ifndef AD_TRAVERSE_AD_GRADIENT_H
#define AD_TRAVERSE_AD_GRADIENT_H

#include "ad/graph/ad_graph.h"

/** Add to the gradient of a node: the reference moves, 0 is a failure. */
bool ad_gradient_accumulate(NodeId id, uint64_t value);
/** Put a gradient, whose reference moves, into a node that has none. False: error
 *  recorded. */
bool ad_gradient_put(NodeId id, uint64_t grad);
/** Take a gradient (0: none) out of a node. */
uint64_t ad_gradient_take(NodeId id);
/** The gradient of a node (a new reference, 0 if there is none), summed up if it has
 *  more entries than the node. Not '*ok': error recorded. */
uint64_t ad_gradient_settled(NodeId id, bool *ok);
/** Forget the gradient of a node. With the lock. */
void ad_gradient_clear(NodeId id);
/** Is the node from outside of what is recorded? Its gradient can wait only. With the
 *  lock. */
bool ad_gradient_belongs_outside(NodeId id);

#endif
