/*
 * ad_depends.h -- which inputs of an operation its outputs depend on
 *
 * An operation with several outputs may not have each depend on each input. Walks that
 * come to it by an output go on from the inputs of that one, so that a gradient which
 * waits at another input is none of theirs.
 */
#ifndef AD_RULE_AD_DEPENDS_H
#define AD_RULE_AD_DEPENDS_H

#include "ad/graph/ad_graph.h"

typedef struct AdDepends {
    uint32_t words;  /* of a row, which has a bit for each input */
    uint64_t *met;   /* bits for inputs, or outputs, that a walk has listed, */
    uint64_t turn;   /* ... this one */
    uint64_t rows[]; /* by output, then 'met' */
} AdDepends;

/** One without any bits, to be freed by alloc_free(). NULL: out of memory. */
AdDepends *ad_depends_new(size_t n_in, size_t n_out);

static inline uint64_t *ad_depends_row(AdDepends *d, size_t output)
{
    return d->rows + output * d->words;
}

/** NULL: each depends on each. */
static inline bool ad_depends(const AdDepends *d, size_t output, size_t input)
{
    return !d || d->rows[output * d->words + input / 64] >> (input & 63) & 1;
}

static inline void ad_depends_set(uint64_t *row, size_t number)
{
    row[number / 64] |= UINT64_C(1) << (number & 63);
}

/** Append the edges by which a walk that has come to an operation by edge 'by' goes on,
 *  as far as it has not listed them ('turn' is a number of its own). '*known' is false
 *  if these are all, and nothing was appended. With the lock. False: out of memory. */
bool ad_depends_follow(const AdEdge *by, bool forward, uint64_t turn, AdEdges *list,
                       bool *known);

#endif
