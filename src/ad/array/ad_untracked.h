/*
 * ad_untracked.h -- what was in an array that a body writes tracked values to
 *
 * Iterations of a loop follow each other, so what a body writes to is what iterations
 * before have written, also where the array is not tracked before the loop: a node
 * stands for that, and its edge is marked (MOVES_BEFORE, ad_cut.h). Between it and the
 * first write of tracked values there may be others, whose values are not tracked. They
 * overwrite what is, in the next iteration. So they are noted (AdUntracked), and become
 * part of the graph when there is something tracked behind them.
 *
 * A write in the body of a region that is complete by then, in another side or
 * callable, or by an operation without derivative, cannot. Then the array is marked
 * (AdArray.hidden) if it turns out to be tracked when the loop is complete, and its
 * derivative is an error.
 */
#ifndef AD_ARRAY_AD_UNTRACKED_H
#define AD_ARRAY_AD_UNTRACKED_H

#include "ad/graph/ad_open.h"

/** Is a write of values that are not tracked to be noted? Without lock. */
bool ad_untracked_matters(VarId result);

/** Tracked values were written to '*target', a plain leaf (borrowed), which is 'result'
 *  now. The leaf gets the node of the last write that was noted. If there is none, it
 *  gets '*before', a node for what iterations before have written (a new reference).
 *  Outside of loops it stays as it is. False: memory is out. */
bool ad_untracked_find(VarId result, uint64_t *target, NodeId *before);
/** The edge that leads from it is marked; the reference goes. 0: nothing is done. */
void ad_untracked_mark(NodeId before);

#endif
