/*
 * arena.h -- memory that is released all at once
 *
 * A compile or a pass allocates from an arena and drops the whole of it at the end.
 * Addresses stay valid until arena_reset() or arena_free().
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

typedef struct ArenaChunk ArenaChunk;
typedef struct Arena {
    ArenaChunk *chunk;  /* current chunk, linked to the older ones */
    size_t used, size;  /* within the current chunk */
} Arena;

/** 'size' bytes aligned to 16, uninitialised; NULL (error recorded) on failure. A
 *  zeroed Arena is a valid empty one. */
void *arena_get(Arena *arena, size_t size);
/** Forget all allocations but keep the largest chunk. */
void arena_reset(Arena *arena);
/** Release everything. */
void arena_free(Arena *arena);

#endif
