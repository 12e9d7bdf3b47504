/*
 * ad_near.h -- gathers whose index is the number of the lane and another number
 *
 * Each entry of the source has one lane at most, which its own number tells. So what
 * comes back to it is read, not added by index: no lane waits for another one, and
 * there is one order of summation. It has to be in memory for that. Where it is a
 * product, a factor is: the weights of a filter would else be as many arrays.
 */
#ifndef AD_ARRAY_AD_NEAR_H
#define AD_ARRAY_AD_NEAR_H

#include "ad/array/ad_moves.h"

/** Is lane i of an access to this many entries one to entry i + *number, and is reading
 *  all entries less than writing those of the lanes? */
bool ad_near_find(uint32_t index, size_t entries, uint32_t *number);
enum { AD_FACTORS = 4 };
/** A gradient as what is made of another one, lane by lane: negated, or a product with
 *  what is in memory or has one entry. */
typedef struct AdFactors {
    VarId core; /* the other one, which has to be in memory; a reference */
    uint32_t count;
    struct {
        VarId by;    /* a reference; 0: it is negated */
        bool guards; /* the product is 0 where the other factor is */
    } list[AD_FACTORS]; /* the last one is the innermost */
} AdFactors;
AdFactors ad_near_factors(uint64_t g);
void ad_near_drop(AdFactors *f);
/** What comes back to the entries (sizes of 'm' are those of source and lanes) for
 *  lanes where 'mask' is set, 0: all. */
uint64_t ad_near_reverse(const AdMoves *m, uint32_t number, uint32_t mask, uint64_t g);

#endif
