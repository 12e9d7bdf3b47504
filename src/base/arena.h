/*
 * arena.h -- memory that is released all at once
 *
 * For what is made of many small blocks, and goes as a whole: a block costs a few
 * instructions, and none is released by itself. A zeroed Arena is an empty one.
 *
 * Threads: an arena belongs to one at a time.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
    ArenaChunk *last; /* of which blocks are taken */
    char *next;       /* what is left of it ... */
    size_t left;      /* ... a multiple of the alignment */
} Arena;

enum { ARENA_ALIGNMENT = 16 };

/** A block from a new chunk; see below. */
void *arena_extend(Arena *arena, size_t size);

/** 'size' bytes, aligned to 16, uninitialised; size 0 gives a pointer. NULL: error
 *  recorded. */
static inline void *arena_get(Arena *arena, size_t size)
{
    if (size >= arena->left)
        return arena_extend(arena, size);
    size_t taken = (size + ARENA_ALIGNMENT - 1) & ~(size_t) (ARENA_ALIGNMENT - 1);
    char *block = arena->next;
    arena->next += taken;
    arena->left -= taken;
    return block;
}

/** 'count' * 'size' bytes set to zero; the product is checked. */
void *arena_zero(Arena *arena, size_t count, size_t size);
/** A copy of a string. */
char *arena_string(Arena *arena, const char *text);

/** A larger array; see below. */
bool arena_grow(Arena *arena, void *data, uint32_t *capacity, uint32_t count,
                size_t element_size);

/** As vec_reserve(), for an array in the arena. What it had before stays taken. */
static inline bool arena_reserve(Arena *arena, void *data, uint32_t *capacity,
                                 uint32_t count, size_t element_size)
{
    return count <= *capacity ||
           arena_grow(arena, data, capacity, count, element_size);
}

/** Release all blocks. The arena itself may be in one of them. */
void arena_free(Arena *arena);
/** Release what is kept for the next arena. */
void arena_trim(void);

#endif
