/*
 * ad_untracked.h -- arrays that are not tracked before a loop whose body writes to them
 *
 * Iterations follow each other, so what a body writes to is what iterations before have
 * written, also where the array is not tracked before the loop: a node stands for that,
 * and its edge is marked (AdEdge.before). That goes for values that are not
 * tracked, too, since they may overwrite what is. Where nothing tracked is written to
 * the array in the end, it turns out not to depend on any (ad_active.h).
 *
 * A reduction without derivative, or a write where nothing is tracked, is not part of
 * the graph: it is noted, and the array is marked (AdArray.hidden) if it is tracked
 * when the loop is complete. Then its derivative is an error.
 */
#ifndef AD_ARRAY_AD_UNTRACKED_H
#define AD_ARRAY_AD_UNTRACKED_H

#include "ad/graph/ad_open.h"

/** Does a write to 'target' of which nothing is tracked matter, and is it possible that
 *  it is part of the graph? Without lock. */
bool ad_untracked_matters(VarId result, uint64_t target, bool *possible);
/** A body writes to '*target', a plain leaf (borrowed), which is 'result' now. In a
 *  loop the leaf gets a node for what iterations before have written, '*before' (a new
 *  reference). False: out of memory. */
bool ad_untracked_begin(VarId result, uint64_t *target, NodeId *before);
/** The edge that leads from it is marked; the reference goes. 0: nothing is done. */
void ad_untracked_mark(NodeId before);

#endif
