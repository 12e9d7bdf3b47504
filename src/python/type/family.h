/*
 * family.h -- families: the array types of a backend, with or without derivatives
 *
 * Their numbers say both. drjit.scalar is 0; then each row of backends.def has two: the
 * types without derivatives, and after them those with.
 */
#ifndef PYTHON_FAMILY_H
#define PYTHON_FAMILY_H

#include <stdbool.h>

typedef enum Family {
    FAMILY_NONE = -1, /* what fits any: Python numbers, memory of others */
    FAMILY_SCALAR,
#define BACKEND(id, name, place) FAMILY_##id, FAMILY_##id##_AD,
#include "python/type/backends.def"
#undef BACKEND
    FAMILY_COUNT,
    FAMILY_MIXED = 127 /* no family: types of several backends */
} Family;

enum { TRACED_COUNT = FAMILY_COUNT / 2 }; /* backends */

/** Which row of backends.def, counted from 1; 0: none, nothing is traced. */
static inline int family_row(int family)
{
    return (family + 1) / 2;
}

static inline bool family_is_diff(int family)
{
    return family > FAMILY_SCALAR && family % 2 == 0;
}

/** The same backend with derivatives, or without. */
static inline Family family_with(int family, bool diff)
{
    return (Family) (family_row(family) ? 2 * family_row(family) - !diff : family);
}

/** The family of an operation on both: the backend that is traced for, and derivatives
 *  if one has them. FAMILY_MIXED, as with it: there are two backends. */
static inline Family family_merge(int a, int b)
{
    const bool fit =
        !family_row(a) || !family_row(b) || family_row(a) == family_row(b);
    return (Family) (!fit ? FAMILY_MIXED : a > b ? a : b);
}

#endif
