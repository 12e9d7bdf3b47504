/*
 * ad_moves.h -- what the files with operations that move entries share
 *
 * Functions give new references, 0: error recorded. Without lock.
 */
#ifndef AD_ARRAY_AD_MOVES_H
#define AD_ARRAY_AD_MOVES_H

#include "ad/rule/ad_rule.h"
#include "base/alloc.h"

/* The largest packet of the core. */
enum { PACKET_LIMIT = 64 };

/** A value that the operation holds (borrowed): tracked if the traversal wants that. */
uint64_t ad_moves_leaf(const AdMoves *m, int i);
/** The sum; both references move. Of nothing and a value it is the value. */
uint64_t ad_moves_add(uint64_t into, uint64_t value);
/** The mask with which lanes access memory now at 'index', with n values, that of the
 *  mask stack included: later it will be another one. A new reference; 0: all lanes,
 *  unless '*ok' is false. */
uint32_t ad_moves_mask(uint32_t index, uint32_t mask, size_t n, const uint64_t *values,
                       bool *ok);
/** A number of the type of another variable; like a local array, one of zeros. */
uint64_t ad_moves_number(uint64_t like, double value);
/** The same with many entries. */
uint64_t ad_moves_fill(uint64_t like, double value, AdSize size);
/** Is it a scatter whose derivatives do not need what was in the array: with Identity
 *  or Add? With the lock. */
bool ad_moves_is_plain_scatter(const AdMoves *m);
/** Of such a scatter: does it overwrite? The number of values that each lane writes,
 *  and the indices of number k (a new reference). */
bool ad_moves_overwrites(const AdMoves *m);
uint32_t ad_moves_packet(const AdMoves *m);
uint32_t ad_moves_position(const AdMoves *m, uint32_t k);
/** The number, for the backend of another variable. */
uint32_t ad_moves_u32(uint32_t like, uint32_t number);
/** a op b. References of operands move; 0: an error was recorded. */
uint32_t ad_moves_op(JitOp op, uint32_t a, uint32_t b);
/** With that many entries. */
uint64_t ad_moves_resize(uint64_t g, AdSize size);

#endif
