/*
 * native_map.c -- see native_map.h
 *
 * The chunk that is being filled is 'current'. After a fork the child does not fill it
 * any further, as its parent may: both would write to the same memory.
 */
#include "engine/native/run/native_map.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "os/code_pages.h"

enum {
    CHUNK = 1 << 18,     /* bytes of a chunk that kernels share */
    LARGE = CHUNK / 8,   /* kernels from here on have a mapping of their own */
    ALIGNMENT = 64
};

struct NativeChunk {
    CodeWindow window; /* open while the chunk is the current one; never that of a
                          large kernel */
    size_t used;
    uint32_t kernels;
};

static struct {
    pthread_mutex_t lock;
    NativeChunk *current;
    bool no_sharing; /* the system has no windows, or they are not wanted */
} map = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- chunks */

static void free_chunk(NativeChunk *chunk)
{
    code_pages_release(chunk->window.code, chunk->window.size);
    alloc_free(chunk);
}

/* A chunk for many kernels; NULL if that cannot be had. */
static NativeChunk *open_shared(void)
{
    NativeChunk *chunk = alloc_zero(1, sizeof(NativeChunk));
    if (chunk && code_pages_open(&chunk->window, CHUNK))
        return chunk;
    alloc_free(chunk);
    return NULL;
}

/* Pages for this kernel alone. */
static NativeChunk *open_single(const void *bytes, size_t size)
{
    NativeChunk *chunk = alloc_zero(1, sizeof(NativeChunk));
    void *pages = chunk ? code_pages_get(size) : NULL;
    if (!pages) {
        alloc_free(chunk);
        return NULL;
    }
    chunk->window = (CodeWindow){ .code = pages, .size = size };
    memcpy(pages, bytes, size);
    if (code_pages_seal(pages, size))
        return chunk;
    free_chunk(chunk);
    return NULL;
}

/* Nothing more will be written to the current chunk. */
static void retire_current(void)
{
    NativeChunk *chunk = map.current;
    map.current = NULL;
    code_pages_close(&chunk->window);
    if (!chunk->kernels)
        free_chunk(chunk);
}

/* ---- fork */

static void fork_lock(void)
{
    pthread_mutex_lock(&map.lock);
}

static void fork_unlock(void)
{
    pthread_mutex_unlock(&map.lock);
}

/* The parent goes on filling the chunk; it is ours only for reading. */
static void fork_child(void)
{
    if (map.current)
        retire_current();
    pthread_mutex_unlock(&map.lock);
}

/* At load time, before anybody else: handlers before a fork run in reverse order, and
 * those of the runtime wait for compiles, which need our lock. */
__attribute__((constructor)) static void watch_forks(void)
{
    (void) pthread_atfork(fork_lock, fork_unlock, fork_child);
}

/* perf takes no names for code in files; each kernel has memory of its own then. */
static void begin(void)
{
    const char *perf = getenv("DRJIT_PERF");
    map.no_sharing = perf && strcmp(perf, "map") == 0;
}

/* ---- interface */

/* The chunk for a small kernel, NULL if kernels cannot share memory here. */
static NativeChunk *choose_chunk(size_t size)
{
    NativeChunk *chunk = map.current;
    if (chunk && (chunk->window.size - chunk->used < size ||
                  !code_pages_is_open(&chunk->window)))
        retire_current();
    if (!map.current && !map.no_sharing) {
        map.current = open_shared();
        map.no_sharing = !map.current;
    }
    return map.current;
}

/* Put a small kernel into a chunk, with the lock held. */
static bool add_shared(NativeMapping *mapping, const void *bytes, size_t size)
{
    size_t rounded = (size + ALIGNMENT - 1) & ~(size_t) (ALIGNMENT - 1);
    NativeChunk *chunk = rounded < LARGE ? choose_chunk(rounded) : NULL;
    TRY(chunk && code_pages_write(&chunk->window, chunk->used, bytes, size), false);
    *mapping = (NativeMapping){ chunk->window.code + chunk->used, size, chunk };
    chunk->used += rounded;
    chunk->kernels++;
    return true;
}

bool native_map_add(NativeMapping *mapping, const void *bytes, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
    pthread_mutex_lock(&map.lock);
    bool shared = add_shared(mapping, bytes, size);
    pthread_mutex_unlock(&map.lock);
    if (!shared) {
        NativeChunk *chunk = open_single(bytes, size);
        TRY(chunk, false);
        *mapping = (NativeMapping){ chunk->window.code, size, chunk };
        chunk->kernels = 1;
    }
    __builtin___clear_cache((char *) (uintptr_t) mapping->code,
                            (char *) (uintptr_t) mapping->code + size);
    return true;
}

void native_map_remove(const NativeMapping *mapping)
{
    NativeChunk *chunk = mapping->chunk;
    pthread_mutex_lock(&map.lock);
    bool last = --chunk->kernels == 0 && chunk != map.current;
    pthread_mutex_unlock(&map.lock);
    if (last)
        free_chunk(chunk);
}
