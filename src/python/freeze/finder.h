/*
 * finder.h -- numbers of things: of variables, of objects by their addresses, of sizes
 */
#ifndef PYTHON_FINDER_H
#define PYTHON_FINDER_H

#include "python/base/compat.h"

/** A hash table with open addressing. Zeroed: empty. */
typedef struct Finder {
    uint64_t *keys;
    uint32_t *numbers; /* + 1; 0: the slot is free */
    size_t mask, count;
} Finder;

enum { FINDER_NONE = UINT32_MAX };

/** The number of a key; FINDER_NONE: it has none. */
uint32_t finder_get(const Finder *f, uint64_t key);
/** Give a number to a key, or another one. False: exception. */
bool finder_put(Finder *f, uint64_t key, uint32_t number);
void finder_free(Finder *f);

#endif
