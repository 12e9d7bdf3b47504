/*
 * hash.c -- XXH3 from libxxhash, inlined here and nowhere else
 */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_64(const void *data, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, size, seed);
}

Hash128 hash_128(const void *data, size_t size, uint64_t seed)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(data, size, seed);
    return (Hash128) { hash.low64, hash.high64 };
}
