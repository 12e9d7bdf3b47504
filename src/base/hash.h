/*
 * hash.h -- XXH3 (libxxhash, header-only use)
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Hash128 {
    uint64_t low, high;
} Hash128;

uint64_t hash_64(const void *data, size_t size, uint64_t seed);
Hash128 hash_128(const void *data, size_t size, uint64_t seed);

static inline bool hash_equal(Hash128 a, Hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

#endif
