/*
 * ad_bodies.h -- bodies of a region that is complete, traced in and recorded again
 *
 * What derivatives of loops, conditionals and calls have in common: gradients that are
 * given to a body, tracing with its variables, and another region made of what was
 * traced.
 *
 * Without lock, unless it says so.
 */
#ifndef AD_DERIVE_AD_BODIES_H
#define AD_DERIVE_AD_BODIES_H

#include "ad/region/ad_template.h"

/** Is the gradient of an array wanted? In reverse all are. */
bool ad_bodies_wants_arrays(const AdTemplate *t, const bool *wanted);
/** Reverse, are gradients of some given? */
bool ad_bodies_has_arrays(const AdTemplate *t, const uint64_t *given);
/** Let '*given' (0: none) be the gradient of a node; with 'moves' the reference
 *  moves. */
bool ad_bodies_give(NodeId node, uint64_t *given, bool moves);

/** Room for the nodes that a traversal begins with: arrays, and this many others.
 *  NULL: out of memory. */
NodeId *ad_bodies_ends(const AdTemplate *t, uint32_t count);
/** Go through a body, from these nodes, whose list is freed, and with 'arrays' from
 *  those that it writes to. False: error recorded. */
bool ad_bodies_go_through(const AdTemplate *t, uint32_t body, ADMode mode, NodeId *ends,
                          uint32_t count, bool arrays, bool tracked);
/** Forget what is left of it in outputs and entries, with 'arrays' also in entries that
 *  are arrays; in those that bodies write to. */
void ad_bodies_clear(const AdTemplate *t, uint32_t body, bool arrays);
void ad_bodies_clear_arrays(const AdTemplate *t);

/** A body of the template, as it were open again: what is traced until its end can use
 *  its variables, and becomes a recorded body. Without lock. */
typedef struct AdReopened {
    Body body; /* first: what is given up is told so */
    bool abandoned;
} AdReopened;
bool ad_bodies_reopen(AdReopened *reopened, const AdTemplate *t, uint32_t which);
/** Not 'ok': give it up. */
bool ad_bodies_close(AdReopened *reopened, bool ok, RecordedBody *out);
/** Let go of such a body, which was recorded where it is wanted: what is in it and
 *  lives on, as part of a template, has no effects. With the lock. */
void ad_bodies_release(RecordedBody *body);
/** Have the gradients of arrays that are there by now, in 'made' (whose references
 *  move), in the entries. */
bool ad_bodies_begin_arrays(const AdTemplate *t, uint64_t *made);
/** The gaps of the template, and that up to the first reopened body, whose scope is
 *  'scope'; one more than gap_count. NULL: out of memory. */
ReplayGap *ad_bodies_gaps(const AdTemplate *t, uint32_t scope);

/** Record another region with these bodies, whose outputs become 'results' (owned):
 *  under the mask around, a conditional, a call, or a block where it stands. With the
 *  lock. */
bool ad_bodies_record(const AdTemplate *t, RecordedBody *bodies, const ReplayGap *gaps,
                      VarId *results);
/** The gradient of an entry for an outer variable of one value is a sum over all lanes:
 *  have it in each of them, if it is the same. False: error recorded. */
bool ad_bodies_widen(const AdTemplate *t, uint32_t entry, uint64_t *gradient);

#endif
