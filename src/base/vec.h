/*
 * vec.h -- growable arrays
 *
 * A growable array is three fields of its owner: pointer, count, capacity.
 * vec_reserve() makes room; the owner then writes the elements itself.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The bytes of an array that grows, by at least half, to this many elements, and its
 *  new capacity. 0: too many (error recorded, nothing changed). */
size_t vec_size(uint32_t *capacity, uint32_t count, size_t element_size);
/** Grow an array that is too small; see below. */
bool vec_grow(void *data, uint32_t *capacity, uint32_t count, size_t element_size);

/** Make room for 'count' elements of 'element_size' bytes in the array '*(void **)
 *  data', growing '*capacity' by at least half. False (error recorded, nothing changed)
 *  when out of memory. 'data' is the address of the typed pointer. */
static inline bool vec_reserve(void *data, uint32_t *capacity, uint32_t count,
                               size_t element_size)
{
    return count <= *capacity || vec_grow(data, capacity, count, element_size);
}

/** Append an id to a list of them. False: out of memory (error recorded). */
static inline bool vec_push(uint32_t **list, uint32_t *count, uint32_t *capacity,
                            uint32_t id)
{
    if (!vec_reserve(list, capacity, *count + 1, sizeof(uint32_t)))
        return false;
    (*list)[(*count)++] = id;
    return true;
}

#endif
