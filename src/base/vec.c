/*
 * vec.c -- growth of arrays
 *
 * The caller's pointer has some type T *, so it is read and written through memcpy: an
 * access as void * would break the aliasing rules.
 */
#include "base/vec.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { SMALLEST = 8, SMALLEST_BYTES = 64 };

size_t vec_size(uint32_t *capacity, uint32_t count, size_t element_size)
{
    uint64_t wanted = (uint64_t) *capacity + *capacity / 2;
    if (wanted < count)
        wanted = count;
    if (wanted < SMALLEST)
        wanted = SMALLEST;
    if (wanted < SMALLEST_BYTES / element_size)
        wanted = SMALLEST_BYTES / element_size;
    if (wanted > UINT32_MAX)
        wanted = UINT32_MAX;

    size_t bytes;
    if (__builtin_mul_overflow((size_t) wanted, element_size, &bytes))
        return error_set(JIT_ERROR_MEMORY, "out of memory: an array of %u elements of "
                         "%zu bytes is too large", count, element_size);
    *capacity = (uint32_t) wanted;
    return bytes;
}

bool vec_grow(void *data, uint32_t *capacity, uint32_t count, size_t element_size)
{
    uint32_t larger = *capacity;
    size_t bytes = vec_size(&larger, count, element_size);
    TRY(bytes, false);
    void *old, *grown;
    memcpy(&old, data, sizeof old);
    grown = alloc_resize(old, bytes);
    TRY(grown, false);
    memcpy(data, &grown, sizeof grown);
    *capacity = larger;
    return true;
}
