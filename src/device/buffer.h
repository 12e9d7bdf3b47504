/*
 * buffer.h -- reference-counted memory with a size-class cache
 *
 * A Buffer is memory plus the positions in streams at which it was last used. Variables
 * and queued jobs hold references; when the last one goes, cached memory returns to its
 * size class and mapped memory to its owner. Sizes are rounded up to classes of 1,
 * 1.25, 1.5, 1.75 times powers of two; contents are 64-byte aligned and followed by at
 * least 64 readable bytes, so that kernels may load whole vectors at the end of an
 * array.
 *
 * Threads: everything here may be called from any thread; the caches have their own
 * lock (the innermost one).
 */
#ifndef DEVICE_BUFFER_H
#define DEVICE_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct Stream;

/* What follows 'use of stream.c' belongs to that file and is explained at its head. */
typedef struct Buffer {
    void *data;
    size_t size;               /* bytes asked for */
    _Atomic uint32_t refs;
    uint8_t size_class;        /* of the cache; 255 = mapped */
    /* use of stream.c */
    bool readers_many;         /* shared: several streams read since the last write */
    _Atomic(struct Stream *) owner; /* the only user; NULL = none; or "shared" */
    _Atomic uint64_t own_write, own_read; /* owned: the owner's last such job, or 0 */
    struct Stream *writer;     /* shared: stream of the last write, NULL = none */
    uint64_t writer_seq;       /* its job number there */
    struct Stream *reader;     /* shared: stream of the last read since then */
    uint64_t reader_seq;
    /* use of buffer.c */
    void (*release)(void *data, void *payload); /* mapped memory only, or NULL */
    void *payload;
    struct Buffer *next;       /* in the cache */
} Buffer;

/** Memory of at least 'size' bytes (size > 0), one reference. When the system has none
 *  left, caches are trimmed and the request repeated before it fails. */
Buffer *buffer_get(size_t size);
/** A Buffer on foreign memory. 'release' (may be NULL) is called once at the end,
 *  without locks, in whatever thread drops the last reference. */
Buffer *buffer_map(void *data, size_t size, void (*release)(void *data, void *payload),
                   void *payload);
/** Are results of so many bytes better written past the caches? Then they would not be
 *  found there by who reads them next, and a line that is written as a whole need not
 *  be read from memory before. */
bool buffer_bypasses(uint64_t bytes);
/** Is memory of so many bytes mostly not found in a cache, when read here and there? */
bool buffer_is_far(uint64_t bytes);
/** May kernels load whole vectors at the end of this buffer? Always for memory of
 *  buffer_get(); for foreign memory, if 64 bytes more lie in the last entry's page. */
bool buffer_is_padded(const Buffer *buffer);
void buffer_retain(Buffer *buffer);
/** Drop a reference; NULL is fine. */
void buffer_release(Buffer *buffer);
/** Return cached memory to the system; the number of bytes. */
size_t buffer_trim(void);

typedef struct BufferStats {
    size_t used;      /* bytes asked for in live buffers, mapped ones excluded */
    size_t cached;    /* bytes in the caches */
    size_t watermark; /* most bytes ever used since buffer_clear_stats() */
    size_t mapped;    /* bytes in mapped buffers */
    uint32_t live;    /* number of live buffers, mapped ones included */
} BufferStats;
BufferStats buffer_stats(void);
/** Let the watermark start again from what is in use. */
void buffer_clear_stats(void);

/** Take and give back the cache's lock around fork(), called by stream.c only. */
void buffer_fork_lock(void);
void buffer_fork_unlock(void);

#endif
