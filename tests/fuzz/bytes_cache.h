/*
 * bytes_cache.h -- the entry that bytes_cache.c looks for
 */
#ifndef FUZZ_BYTES_CACHE_H
#define FUZZ_BYTES_CACHE_H

#include <stdio.h>

#include "base/hash.h"

static const Hash128 bytes_cache_key = { 0x1122334455667788, 0x99aabbccddeeff00 };
static const char bytes_cache_engine[] = "llvm";
static const char bytes_cache_identity[] = "a Program";

/** Where it is in a folder. */
static inline void bytes_cache_path(char *out, size_t size, const char *folder)
{
    snprintf(out, size, "%s/%016llx%016llx.%s.bin", folder,
             (unsigned long long) bytes_cache_key.high,
             (unsigned long long) bytes_cache_key.low, bytes_cache_engine);
}

#endif
