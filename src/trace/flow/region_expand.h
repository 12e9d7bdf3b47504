/*
 * region_expand.h -- private copies for the scatter-reductions of a region
 *
 * Outside of bodies a scatter-reduction goes to private copies of its target where they
 * pay (expand.h). Within a body that cannot be told before all writes of the region are
 * known: copies are combined between launches, so all that the region writes to the
 * array has to be of one operation. Hence the body is recorded with another mode, and
 * once more, with the copies as targets, when the outermost region is complete.
 *
 * The number of lanes is known then, and that of iterations by guess (region_turns.h).
 * Requires the graph lock.
 */
#ifndef TRACE_FLOW_REGION_EXPAND_H
#define TRACE_FLOW_REGION_EXPAND_H

#include "trace/graph/state.h"

/** What takes the place of a region that is complete and not queued yet, with results
 *  that nobody has so far: the region itself or another one. Takes over the reference
 *  and gives one. 0 (as the argument may be): error recorded. */
VarId region_expand(ThreadState *ts, VarId region);

#endif
