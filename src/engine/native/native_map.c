/*
 * native_map.c -- see native_map.h
 *
 * The chunk that is being filled is 'current'. After a fork the child does not fill it
 * any further, as its parent may: both would write to the same memory.
 */
#include "engine/native/native_map.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

enum {
    CHUNK = 1 << 18,     /* bytes of a chunk that kernels share */
    LARGE = CHUNK / 8,   /* kernels from here on have a mapping of their own */
    ALIGNMENT = 64
};

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u
#endif

struct NativeChunk {
    uint8_t *writable;   /* NULL: only one kernel, nothing more to come */
    uint8_t *executable;
    size_t size, used;
    uint32_t kernels;
};

static struct {
    pthread_mutex_t lock;
    NativeChunk *current;
    bool no_sharing; /* the system has no files in memory that can be executed */
} map = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the system */

static bool refused(const char *what)
{
    if (errno == ENOMEM)
        return error_set(JIT_ERROR_MEMORY, "native: out of memory for machine code");
    return error_set(JIT_ERROR_SYSTEM,
                     "native: the system refuses executable memory (%s: %s)", what,
                     strerror(errno));
}

static void *map_pages(size_t size, int protection, int flags, int file)
{
    if (alloc_fault()) {
        errno = ENOMEM;
        return NULL;
    }
    void *pages = mmap(NULL, size, protection, flags, file, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* A file without a name that exists as long as it is mapped; -1 if there are none. */
static int open_memory(size_t size)
{
    int file = memfd_create("drjit-kernels", MFD_CLOEXEC | MFD_EXEC);
    if (file < 0 && errno == EINVAL) /* systems that do not know MFD_EXEC allow it */
        file = memfd_create("drjit-kernels", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, (off_t) size) != 0) {
        close(file);
        return -1;
    }
    return file;
}

static void close_chunk(NativeChunk *chunk)
{
    if (chunk->writable)
        munmap(chunk->writable, chunk->size);
    if (chunk->executable)
        munmap(chunk->executable, chunk->size);
    alloc_free(chunk);
}

/* Memory that is mapped twice; NULL without an error recorded if that cannot be had. */
static NativeChunk *open_shared(void)
{
    NativeChunk *chunk = alloc_zero(1, sizeof(NativeChunk));
    int file = chunk ? open_memory(CHUNK) : -1;
    if (file >= 0) {
        chunk->size = CHUNK;
        chunk->writable = map_pages(CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, file);
        chunk->executable = map_pages(CHUNK, PROT_READ | PROT_EXEC, MAP_SHARED, file);
        close(file);
    }
    if (chunk && chunk->writable && chunk->executable)
        return chunk;
    if (chunk)
        close_chunk(chunk);
    return NULL;
}

/* A mapping for this kernel alone. */
static NativeChunk *open_single(const void *bytes, size_t size)
{
    NativeChunk *chunk = alloc_zero(1, sizeof(NativeChunk));
    TRY(chunk, NULL);
    chunk->size = (size + 4095) & ~(size_t) 4095;
    chunk->executable =
        map_pages(chunk->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    bool ok = chunk->executable != NULL;
    if (!ok)
        refused("mmap");
    if (ok) {
        memcpy(chunk->executable, bytes, size);
        ok = mprotect(chunk->executable, chunk->size, PROT_READ | PROT_EXEC) == 0 ||
             refused("mprotect");
    }
    if (ok)
        return chunk;
    close_chunk(chunk);
    return NULL;
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
    NativeChunk *chunk = map.current;
    map.current = NULL;
    if (chunk) {
        munmap(chunk->writable, chunk->size);
        chunk->writable = NULL;
        if (!chunk->kernels)
            close_chunk(chunk);
    }
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

/* Nothing more will be written to the current chunk. */
static void retire_current(void)
{
    NativeChunk *chunk = map.current;
    map.current = NULL;
    munmap(chunk->writable, chunk->size);
    chunk->writable = NULL;
    if (!chunk->kernels)
        close_chunk(chunk);
}

/* The chunk for a small kernel, NULL if kernels cannot share memory here. */
static NativeChunk *choose_chunk(size_t size)
{
    if (map.current && map.current->size - map.current->used < size)
        retire_current();
    if (!map.current && !map.no_sharing) {
        map.current = open_shared();
        map.no_sharing = !map.current;
    }
    return map.current;
}

bool native_map_add(NativeMapping *mapping, const void *bytes, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
    size_t rounded = (size + ALIGNMENT - 1) & ~(size_t) (ALIGNMENT - 1);
    pthread_mutex_lock(&map.lock);
    NativeChunk *chunk = rounded < LARGE ? choose_chunk(rounded) : NULL;
    if (chunk) {
        memcpy(chunk->writable + chunk->used, bytes, size);
        *mapping =
            (NativeMapping){ chunk->executable + chunk->used, size, chunk };
        chunk->used += rounded;
        chunk->kernels++;
    }
    pthread_mutex_unlock(&map.lock);
    if (!chunk) {
        chunk = open_single(bytes, size);
        TRY(chunk, false);
        *mapping = (NativeMapping){ chunk->executable, size, chunk };
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
        close_chunk(chunk);
}
