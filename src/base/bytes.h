/*
 * bytes.h -- numbers and blocks in files: written to a Text, read with every length
 * checked
 *
 * Numbers are little-endian. Reading beyond the end gives 0 and NULL, and lets the
 * reader say that it has failed: it is asked once at the end, or where a number decides
 * how much memory is taken.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/** A number of 'size' bytes (up to 8) in memory. */
static inline void bytes_set(void *out, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; ++i)
        ((uint8_t *) out)[i] = (uint8_t) (value >> 8 * i);
}

static inline uint64_t bytes_get(const void *in, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i)
        value |= (uint64_t) ((const uint8_t *) in)[i] << 8 * i;
    return value;
}

/** Append a number; a block with its length (8 bytes) in front. */
void bytes_put(Text *out, uint64_t value, size_t size);
void bytes_put_block(Text *out, const void *data, size_t size);

typedef struct ByteReader {
    const uint8_t *data;
    size_t size, at;
    bool failed;
} ByteReader;

/** The next bytes, in place, not aligned. NULL: there are not as many. */
const void *bytes_skip(ByteReader *in, size_t size);
uint64_t bytes_take(ByteReader *in, size_t size);
/** What bytes_put_block() has written. */
const void *bytes_take_block(ByteReader *in, size_t *size);
/** A number of things, each of which takes at least 'each' bytes of what is left. */
uint32_t bytes_take_count(ByteReader *in, size_t each);
/** Has all of it been read, and nothing been missing? */
bool bytes_complete(const ByteReader *in);

#endif
