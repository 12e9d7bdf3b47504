/*
 * ad_block.h -- one iteration of a recorded loop, as an operation on its states
 *
 * The derivative of a loop is made of loops that have the body of the first one in
 * theirs, or that and its derivative: a *block*. Its variables are those of the
 * template. Where it is recorded, a replay puts the values of the new loop in their
 * place. If that is to be differentiated as well, the part of the graph that belongs to
 * the template must not be copied, nor be used in two places: so it becomes the
 * template of an operation between the values that take the place of the states and
 * what the replay has made. This template is like that of a call with one callable
 * (ad_region.h), but its derivative is recorded where it stands.
 *
 *     ad_block_open()          what is traced from here on belongs to the block
 *     ad_block_placeholder()   a placeholder in it that is not the template's
 *     ad_block_end()           ... as far as here
 *     ad_block_input()         what takes the place of a placeholder
 *     ad_block_close()         what the outputs have become
 *
 * Requires the graph lock.
 */
#ifndef AD_LOOP_AD_BLOCK_H
#define AD_LOOP_AD_BLOCK_H

#include "ad/region/ad_template.h"

typedef struct AdBlock {
    AdOpen open; /* while it is put aside */
    bool is_open, aside;
    uint32_t handle;
} AdBlock;

/** Begin one for the body of a loop. False: error recorded, nothing is open. */
bool ad_block_open(AdBlock *b, const AdTemplate *t);
/** The tracked placeholder for something like this variable; its reference moves.
 *  0: out of memory. */
uint64_t ad_block_placeholder(AdBlock *b, VarId like, VarId placeholder);
/** All is traced that belongs to it. False: scopes are used up. */
bool ad_block_end(AdBlock *b);
/** A value takes the place of a placeholder. 'entry': 1 + the number of its entry, 0:
 *  it has none. */
bool ad_block_input(AdBlock *b, VarId placeholder, uint64_t value, uint32_t entry);
/** The block is recorded: 'outputs' in it have become 'results', plain variables that
 *  become tracked. 'active' is its mask. False: error recorded; it is closed. */
bool ad_block_close(AdBlock *b, VarId active, uint32_t n, const uint64_t *outputs,
                    const ReplayGap *gaps, uint32_t gap_count, uint64_t *results);
/** Give it up if it is there. */
void ad_block_drop(AdBlock *b);

#endif
