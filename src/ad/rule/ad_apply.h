/*
 * ad_apply.h -- operations that are tracked: the variable, and the edges of its node
 */
#ifndef AD_RULE_AD_APPLY_H
#define AD_RULE_AD_APPLY_H

#include "ad/rule/ad_rule.h"

/** An operation of ops.def on up to three operands. A new reference; 0: error recorded.
 *  Without lock. */
uint64_t ad_apply(Op op, uint32_t n, const uint64_t *operands);

/** The variable 'result' (its reference moves; 0 is passed on) as what an operation
 *  has made of 'n' operands by moving entries around. Plain if none of them is
 *  tracked. 'moves' is a template of 'size' bytes, whose leaves gain references.
 *  Without lock. */
uint64_t ad_apply_moves(uint32_t result, uint32_t n, const uint64_t *operands,
                        const AdMoves *moves, size_t size);

/** Is any of them tracked? Without lock. */
bool ad_apply_tracks(uint32_t n, const uint64_t *operands);

#endif
