/*
 * ad_local.h -- local arrays, tracked: gradients of local arrays are local arrays
 *
 * A version of a local array has a node like any variable. What is written to an entry
 * in place of another value ends the latter's influence: reverse, the adjoint of the
 * entry goes to what was written, and is zero before.
 *
 * Functions give new references, 0: error recorded. Without lock.
 */
#ifndef AD_ARRAY_AD_LOCAL_H
#define AD_ARRAY_AD_LOCAL_H

#include "ad/graph/ad_graph.h"

/** Is this a local array? */
bool ad_local_is(uint64_t leaf);
/** One of zeros, like another one. */
uint64_t ad_local_zeros(uint32_t like);
/** One with entries of the type of a variable, none of which is read before it is
 *  written. */
uint32_t ad_local_unset(uint32_t like, size_t length, size_t size);
/** The sum of two, entry by entry; references are those of the caller. */
uint64_t ad_local_add(uint64_t a, uint64_t b);

#endif
