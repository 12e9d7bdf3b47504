/*
 * native_map.c -- see native_map.h
 *
 * The chunk that is being filled is 'current'. After a fork the child does not fill it
 * any further, as its parent may: both would write to the same memory.
 *
 * Kernels are written to the file of the chunk: a page that a mapping touches for the
 * first time takes 2 us, one that is written as a file a third of that. Programs that
 * close files which are not theirs exist, so before each write the file is looked at.
 */
#include "engine/native/run/native_map.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
    uint8_t *executable;
    size_t size, used;
    uint32_t kernels;
    int file;       /* while the chunk is the current one */
    dev_t device;   /* what it is known by */
    ino_t number;
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
    if (chunk->executable)
        munmap(chunk->executable, chunk->size);
    alloc_free(chunk);
}

/* Is the chunk's file still what it was? */
static bool has_file(const NativeChunk *chunk)
{
    struct stat status;
    return fstat(chunk->file, &status) == 0 && status.st_dev == chunk->device &&
           status.st_ino == chunk->number;
}

/* Memory that is a file, too; NULL without an error recorded if that cannot be had. */
static NativeChunk *open_shared(void)
{
    NativeChunk *chunk = alloc_zero(1, sizeof(NativeChunk));
    struct stat status;
    TRY(chunk, NULL);
    chunk->file = open_memory(CHUNK);
    if (chunk->file >= 0 && fstat(chunk->file, &status) == 0) {
        chunk->size = CHUNK;
        chunk->device = status.st_dev;
        chunk->number = status.st_ino;
        chunk->executable =
            map_pages(CHUNK, PROT_READ | PROT_EXEC, MAP_SHARED, chunk->file);
    }
    if (chunk->executable)
        return chunk;
    if (chunk->file >= 0)
        close(chunk->file);
    close_chunk(chunk);
    return NULL;
}

static bool write_all(const NativeChunk *chunk, const void *bytes, size_t size)
{
    const char *from = bytes;
    size_t done = 0;
    while (done < size) {
        ssize_t more = pwrite(chunk->file, from + done, size - done,
                              (off_t) (chunk->used + done));
        if (more < 0 && errno == EINTR)
            continue;
        TRY(more > 0, false);
        done += (size_t) more;
    }
    return true;
}

/* A mapping for this kernel alone. */
static NativeChunk *open_single(const void *bytes, size_t size)
{
    NativeChunk *chunk = alloc_zero(1, sizeof(NativeChunk));
    TRY(chunk, NULL);
    chunk->size = (size + 4095) & ~(size_t) 4095;
    chunk->executable = map_pages(chunk->size, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1);
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

/* Nothing more will be written to the current chunk. */
static void retire_current(void)
{
    NativeChunk *chunk = map.current;
    map.current = NULL;
    if (has_file(chunk))
        close(chunk->file);
    if (!chunk->kernels)
        close_chunk(chunk);
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
    if (chunk && (chunk->size - chunk->used < size || !has_file(chunk)))
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
    TRY(chunk && write_all(chunk, bytes, size), false);
    *mapping = (NativeMapping){ chunk->executable + chunk->used, size, chunk };
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
