/*
 * tally.h -- what is found out about a function
 */
#ifndef ACCURACY_TALLY_H
#define ACCURACY_TALLY_H

#include "arguments.h"

/** An argument with the result it has and the one it should have (as bits). */
typedef struct Witness {
    uint64_t x[2], found, expected;
} Witness;

typedef struct Tally {
    uint64_t count;    /* arguments */
    uint64_t measured; /* those with an error in ulp: neither 0, infinity nor NaN */
    double sum, most;  /* of these errors */
    uint64_t above;    /* how many are larger than 1 ulp */
    uint64_t wrong;     /* special values, or signs */
    uint64_t unordered; /* neighbours in the wrong order */
    uint64_t lopsided;  /* f(-x) is not -f(x) or f(x) as it should be */
    Witness worst, first_wrong, first_unordered, first_lopsided;
} Tally;

/** One slice of results. 'mirrored' are those of the arguments with the other sign,
 *  NULL if the function has no symmetry. */
typedef struct Results {
    const Arguments *arguments;
    const void *x[2], *y, *mirrored;
} Results;

/** Look at results first ... end - 1 of a block that has 'count'. */
void tally_add(Tally *tally, const Results *results, uint64_t first, uint64_t end,
               uint64_t count);
/** A tally for a slice, which need not look closely at what is smaller than the largest
 *  error so far. */
Tally tally_slice(const Tally *tally);
/** Add what a slice has found. */
void tally_merge(Tally *tally, const Tally *other);
/** No violation of the contract (at most 1 ulp)? */
bool tally_passes(const Tally *tally);

#endif
