/*
 * arena.c -- chunks of doubling size, filled from front to back
 *
 *     Arena.chunk -> [ header | used ... free ] -> [ older chunk ] -> ...
 *
 * Only the newest chunk is filled; what an older one had left is given up. Chunks
 * double up to CHUNK_LARGEST, so the number of malloc calls stays small without holding
 * much unused memory; a larger request gets a chunk of its own size.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

enum { ALIGNMENT = 16, CHUNK_SMALLEST = 4096, CHUNK_LARGEST = 1 << 20 };

struct ArenaChunk {
    ArenaChunk *older;
    size_t size; /* of 'bytes' */
    alignas(ALIGNMENT) unsigned char bytes[];
};

/* Start a new current chunk with room for 'size' bytes. */
static bool grow(Arena *arena, size_t size)
{
    size_t wanted = arena->size * 2;
    if (wanted < CHUNK_SMALLEST)
        wanted = CHUNK_SMALLEST;
    if (wanted > CHUNK_LARGEST)
        wanted = CHUNK_LARGEST;
    if (wanted < size)
        wanted = size;

    ArenaChunk *chunk = alloc_get(sizeof *chunk + wanted);
    if (!chunk)
        return false;
    chunk->older = arena->chunk;
    chunk->size = wanted;
    arena->chunk = chunk;
    arena->size = wanted;
    arena->used = 0;
    return true;
}

void *arena_get(Arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) {
        error_set(JIT_ERROR_MEMORY, "out of memory: a request for %zu bytes failed",
                  size);
        return NULL;
    }
    size = (size + ALIGNMENT - 1) & ~(size_t) (ALIGNMENT - 1);
    if ((!arena->chunk || size > arena->size - arena->used) && !grow(arena, size))
        return NULL;
    void *result = arena->chunk->bytes + arena->used;
    arena->used += size;
    return result;
}

void arena_reset(Arena *arena)
{
    ArenaChunk *largest = NULL;
    for (ArenaChunk *chunk = arena->chunk; chunk; chunk = chunk->older)
        if (!largest || chunk->size > largest->size)
            largest = chunk;

    for (ArenaChunk *chunk = arena->chunk, *older; chunk; chunk = older) {
        older = chunk->older;
        if (chunk != largest)
            alloc_free(chunk);
    }
    arena->chunk = largest;
    arena->size = largest ? largest->size : 0;
    arena->used = 0;
    if (largest)
        largest->older = NULL;
}

void arena_free(Arena *arena)
{
    for (ArenaChunk *chunk = arena->chunk, *older; chunk; chunk = older) {
        older = chunk->older;
        alloc_free(chunk);
    }
    *arena = (Arena) { 0 };
}
