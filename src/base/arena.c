/*
 * arena.c -- see arena.h
 *
 * Each chunk is twice as large as the one before. The first one of an arena that has
 * been released is kept for the next, so that most need nothing of the C library. The
 * address sanitizer sees each block: there, all have chunks of their own.
 */
#include "base/arena.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

enum { FIRST = 8192 - 64 }; /* bytes of blocks; with the C library's own: two pages */

struct ArenaChunk {
    _Alignas(ARENA_ALIGNMENT) ArenaChunk *before;
    size_t size; /* of the blocks after it */
};

/* One of FIRST bytes. Exchanged in acquire and release order: who takes it finds what
 * the last one has written. */
static ArenaChunk *_Atomic spare;

static ArenaChunk *exchange(ArenaChunk *chunk)
{
    return atomic_exchange_explicit(&spare, chunk, memory_order_acq_rel);
}

static ArenaChunk *make_chunk(size_t size)
{
    ArenaChunk *chunk = size == FIRST && !ALLOC_WATCHED ? exchange(NULL) : NULL;
    if (chunk)
        return chunk;
    if (size > SIZE_MAX / 4) { /* twice as much must be a number, too */
        error_set(JIT_ERROR_MEMORY, "out of memory: a request for %zu bytes failed",
                  size);
        return NULL;
    }
    chunk = alloc_get(sizeof(ArenaChunk) + size);
    TRY(chunk, NULL);
    chunk->size = size;
    return chunk;
}

void *arena_extend(Arena *arena, size_t size)
{
    size_t wanted = arena->last ? 2 * arena->last->size : FIRST;
    if (ALLOC_WATCHED)
        wanted = size;
    else if (wanted <= size)
        wanted = size + ARENA_ALIGNMENT - size % ARENA_ALIGNMENT;
    ArenaChunk *chunk = make_chunk(wanted > size ? wanted : size);
    TRY(chunk, NULL);
    chunk->before = arena->last;
    *arena = (Arena){ chunk, (char *) (chunk + 1), ALLOC_WATCHED ? 0 : wanted };
    return ALLOC_WATCHED ? chunk + 1 : arena_get(arena, size);
}

void *arena_zero(Arena *arena, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        total = SIZE_MAX;
    void *block = arena_get(arena, total);
    return block ? memset(block, 0, total) : NULL;
}

char *arena_string(Arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = arena_get(arena, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

bool arena_grow(Arena *arena, void *data, uint32_t *capacity, uint32_t count,
                size_t element_size)
{
    uint32_t larger = *capacity;
    size_t bytes = vec_size(&larger, count, element_size);
    void *grown = bytes ? arena_get(arena, bytes) : NULL, *old;
    TRY(grown, false);
    memcpy(&old, data, sizeof old);
    if (*capacity)
        memcpy(grown, old, *capacity * element_size);
    memcpy(data, &grown, sizeof grown);
    *capacity = larger;
    return true;
}

void arena_free(Arena *arena)
{
    ArenaChunk *chunk = arena->last;
    while (chunk) {
        ArenaChunk *before = chunk->before;
        alloc_free(chunk->size == FIRST && !ALLOC_WATCHED ? exchange(chunk) : chunk);
        chunk = before;
    }
}

void arena_trim(void)
{
    alloc_free(exchange(NULL));
}
