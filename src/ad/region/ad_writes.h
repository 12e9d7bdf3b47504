/*
 * ad_writes.h -- which writes the bodies of a region make, those in it included
 *
 * The graph has them as chains: the node of an array behind a write depends on that
 * before it, and after a region with writes on its operation, in whose template the
 * chain goes on.
 *
 * Requires the graph lock.
 */
#ifndef AD_REGION_AD_WRITES_H
#define AD_REGION_AD_WRITES_H

#include "ad/array/ad_last.h"
#include "ad/region/ad_template.h"

/** What has made an array as it is after a write. */
typedef struct AdWrite {
    const AdMoves *m; /* a scatter with Identity or Add, */
    AdTemplate *t;    /* or a region; else both are NULL */
    NodeId operation; /* of the region, */
    uint32_t array;   /* ... in which it is this array, */
    uint32_t entry;   /* ... which it begins with: 1 + its number; 0: with none */
    EdgeId before;    /* from what was written to; 0: that is not tracked */
} AdWrite;

AdWrite ad_writes_behind(NodeId array);
/** Is it a scatter with Identity or Add, or a region in which all writes to the array
 *  are such? */
bool ad_writes_are_plain(const AdWrite *w);

/** An array that is written to. */
typedef struct AdTarget {
    AdSize size;
    uint32_t writes;
    bool overwrites;
    bool in_loop; /* ... by a write in a loop */
    bool unknown; /* others than scatters with Identity or Add write to it */
    bool divided; /* it is several arrays from one of the writes on */
    bool needed;  /* it matters who writes last */
} AdTarget;

/** Sites, regions and arrays of 'last', without places and numbers, and what is to be
 *  known of the arrays (owned by the caller). Only sites with arrays for which it
 *  matters who writes last are there. False: out of memory. */
bool ad_writes_find(AdTemplate *t, AdLast *last, AdTarget **targets);

#endif
