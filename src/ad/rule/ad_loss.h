/*
 * ad_loss.h -- where values lost their derivatives, in debug mode
 *
 * A list of each variable (trace/graph/extra.h), for messages only: if out of memory,
 * nothing is noted. Functions are called in debug mode only.
 *
 * Requires the graph lock.
 */
#ifndef AD_RULE_AD_LOSS_H
#define AD_RULE_AD_LOSS_H

#include "ad/graph/ad_graph.h"

/** An operation has made 'result' of these operands: note what of their derivatives
 *  it does not have. */
void ad_loss_note_result(Op op, uint32_t n, const uint64_t *operands, uint64_t result);
/** The same for results of operations that move entries: only scopes keep their
 *  derivatives off. */
void ad_loss_note_moved(uint32_t n, const uint64_t *operands, uint64_t result);
/** A value goes on without its node, or (node 0) cannot get one. */
void ad_loss_note(uint64_t leaf, const char *what, const char *reason);

#endif
