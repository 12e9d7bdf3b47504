/*
 * ad_debug.h -- what debug mode (JitFlagDebug) notes and checks
 *
 * Where nodes were made, where values lost their derivatives (a list of variables,
 * trace/graph/extra.h), and whether gradients are finite. Nothing of this is done, or
 * costs anything, outside of debug mode. What is noted is for messages only: where
 * memory is out, nothing is noted.
 *
 * Requires the graph lock, unless a function says otherwise.
 */
#ifndef AD_AD_DEBUG_H
#define AD_AD_DEBUG_H

#include "ad/ad_thread.h"

/** Is the calling thread in debug mode? */
static inline bool ad_debug_is_on(void)
{
    const ThreadState *ts = thread_self.state;
    return ts && state_flag(ts, JitFlagDebug);
}

/** A node was made by the line that runs. */
void ad_debug_note_place(NodeId id);
/** ... which is this one. NULL: not known. */
const char *ad_debug_place(NodeId id, uint32_t *line);
/** There are no nodes. */
void ad_debug_forget_places(void);

/** An operation has made 'result' of these operands: note what of their derivatives
 *  it does not have. */
void ad_debug_note_result(Op op, uint32_t n, const uint64_t *operands, uint64_t result);
/** The same for results of operations that move entries: only scopes keep their
 *  derivatives off. */
void ad_debug_note_moved(uint32_t n, const uint64_t *operands, uint64_t result);
/** A value goes on without its node, or (node 0) cannot get one. */
void ad_debug_note_loss(uint64_t leaf, const char *what, const char *reason);

/** Are the gradients of a traversal to be checked? They are not while a body is being
 *  recorded, and where waiting for them is forbidden. Without lock. */
bool ad_debug_watches(void);
/** A gradient has gone along an edge: warn, and '*watch' no more, if what it gave is
 *  the first that is not finite; or if 'first' and what set out was not. False: error
 *  recorded. Without lock; the edge and its nodes must be held meanwhile. */
bool ad_debug_check(const AdEdge *edge, ADMode mode, bool first, bool *watch);

#endif
