/*
 * ad_plain.h -- variables without the nodes of their derivatives: a list for the core
 *
 * Most lists are short, and every loop and conditional needs a few of them.
 */
#ifndef AD_GRAPH_AD_PLAIN_H
#define AD_GRAPH_AD_PLAIN_H

#include <drjit-core/ad.h>

#include "base/alloc.h"

enum { AD_PLAIN_FEW = 16 };

typedef struct AdPlain {
    uint32_t *ids; /* NULL: out of memory */
    uint32_t few[AD_PLAIN_FEW]; /* 'ids', unless there are more */
} AdPlain;

/** A list of n zeros. Freed in any case; it must not be moved. False: out of memory. */
static inline bool ad_plain_make(AdPlain *plain, size_t n)
{
    plain->ids = n <= AD_PLAIN_FEW ? plain->few : alloc_get(n * sizeof(uint32_t));
    for (size_t i = 0; plain->ids && i < n; i++)
        plain->ids[i] = 0;
    return plain->ids;
}

/** A list of these variables. */
static inline bool ad_plain_of(AdPlain *plain, size_t n, const uint64_t *indices)
{
    const bool ok = ad_plain_make(plain, n);
    for (size_t i = 0; ok && i < n; i++)
        plain->ids[i] = ad_var_index(indices[i]);
    return ok;
}

static inline void ad_plain_free(AdPlain *plain)
{
    if (plain->ids != plain->few)
        alloc_free(plain->ids);
}

#endif
