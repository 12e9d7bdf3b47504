/*
 * ad_derive.h -- a derivative of a region, as another region
 *
 * See ad_region.h for the idea.
 */
#ifndef AD_REGION_AD_DERIVE_H
#define AD_REGION_AD_DERIVE_H

#include "ad/region/ad_region.h"

/** Forward: 'given' are gradients of the entries, 'made' those of results and arrays.
 *  Reverse: the other way round. 0 = none; those that are made are references of the
 *  caller's, and so are the given ones, except for arrays that are written to: these
 *  references move, and 0 takes their place. Reverse, 'made' has at first the gradients
 *  of arrays that are added to. Forward, gradients that are not 'wanted', by number,
 *  may stay 0. False: error recorded. Without lock. */
bool ad_derive(AdTemplate *t, ADMode mode, uint64_t *given, uint64_t *made,
               const bool *wanted);
/** Is the gradient of an array wanted? In reverse all are. */
bool ad_derive_wants_arrays(const AdTemplate *t, const bool *wanted);
/** Reverse, are gradients of some given? */
bool ad_derive_has_arrays(const AdTemplate *t, const uint64_t *given);
/** Let '*given' (0: none) be the gradient of a node; with 'moves' the reference
 *  moves. */
bool ad_derive_give(NodeId node, uint64_t *given, bool moves);

/** A body of the template, as it were open again: what is traced until its end can use
 *  its variables, and becomes a recorded body. Without lock. */
typedef struct AdReopened {
    Body body; /* first: what is given up is told so */
    bool abandoned;
} AdReopened;
bool ad_derive_reopen(AdReopened *reopened, const AdTemplate *t, uint32_t which);
/** Not 'ok': give it up. */
bool ad_derive_close(AdReopened *reopened, bool ok, RecordedBody *out);
/** Let go of such a body, which was recorded where it is wanted: what is in it and
 *  lives on, as part of a template, has no effects. With the lock. */
void ad_derive_release(RecordedBody *body);
/** Have the gradients of arrays that are there by now, in 'made' (whose references
 *  move), in the entries. */
bool ad_derive_begin_arrays(const AdTemplate *t, uint64_t *made);
/** The gaps of the template, and that up to the first reopened body, whose scope is
 *  'scope'; one more than gap_count. NULL: out of memory. */
ReplayGap *ad_derive_gaps(const AdTemplate *t, uint32_t scope);

/** Record the new region from its bodies, whose outputs become 'results' (owned): of a
 *  conditional, of a block, of a call. With the lock. */
bool ad_derive_cond(const AdTemplate *t, RecordedBody *bodies, const ReplayGap *gaps,
                    VarId *results);
bool ad_derive_block(const AdTemplate *t, RecordedBody *bodies, const ReplayGap *gaps,
                     VarId *results);
bool ad_derive_call(const AdTemplate *t, RecordedBody *bodies, const ReplayGap *gaps,
                    VarId *results);

#endif
