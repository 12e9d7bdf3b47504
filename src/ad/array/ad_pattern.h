/*
 * ad_pattern.h -- indices that are a row, a column or what lies between
 *
 * Requires the graph lock.
 */
#ifndef AD_ARRAY_AD_PATTERN_H
#define AD_ARRAY_AD_PATTERN_H

#include "trace/graph/state.h"

/** Positions i / each % period, for the number i of the lane. 'each' is 0: others. */
typedef struct AdPattern {
    size_t each;   /* as often in a row */
    size_t period; /* ... as each of this many entries */
    size_t rows;   /* and all of that so often; the last one may end early */
} AdPattern;

/** What indices, as they are computed, say of an array with this many entries: each
 *  is accessed as often. */
AdPattern ad_pattern_of(VarId index, size_t entries);

#endif
