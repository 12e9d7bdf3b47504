/*
 * buffer.h -- reference-counted memory of a device, with a size-class cache
 *
 * A Buffer is memory plus the positions in streams at which it was last used. Variables
 * and commands hold references; when the last one goes, memory returns to the cache of
 * its device, and foreign memory to its owner. Sizes are rounded up to classes of 1,
 * 1.25, 1.5, 1.75 times powers of two; contents are 64-byte aligned and followed by at
 * least 64 readable bytes, so that kernels may load whole vectors at the end of an
 * array.
 *
 * A cache has a bound: beyond it, and when they were not used for some ten seconds, the
 * buffers that were used least recently go back to the device.
 *
 * What a failed command was to write is marked as failed: a thread that waits for it,
 * and each command that reads it, gets the error.
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

#include "base/error.h"

struct Device;
struct Stream;

enum {
    BUFFER_MAPPED = 255, /* Buffer.size_class of foreign memory */
    BUFFER_BATCH = 64    /* as many can be had at once */
};

/* Two cache lines, if it has memory of its own; all that the life of a small one takes
 * stands in the first. What a buffer in use has, and what one in the cache has, share
 * their places. What follows 'use of uses.c' belongs to that file and is explained at
 * its head. */
typedef struct Buffer {
    void *address;             /* for the device; see buffer_host() */
    size_t size;               /* bytes asked for */
    _Atomic(ErrorRecord *) failure; /* owned; NULL = the contents are what they
                                       should be */
    _Atomic(struct Stream *) owner; /* use of uses.c: the only user; NULL = none; or
                                       "shared" */
    union {
        _Atomic uint64_t own_write; /* use of uses.c: owned: the owner's last command
                                       that writes, */
        struct Buffer *next;        /* cached: of the same class */
    };
    _Atomic uint64_t own_read; /* ... or reads */
    _Atomic uint32_t refs;
    _Atomic uint32_t writes;   /* commands so far that write it; those performed again
                                  count once */
    uint8_t size_class;        /* of the cache, or BUFFER_MAPPED */
    uint8_t index;             /* of the device */
    bool readers_many;         /* use of uses.c: shared: several streams read since the
                                  last write */
    bool guest;                /* foreign memory that is not written to */

    struct Device *device;
    _Atomic(struct Command *) redo; /* would compute its contents; see redo.h */
    union {
        struct { /* use of uses.c: shared */
            struct Stream *writer; /* of the last write, NULL = none */
            uint64_t writer_seq;   /* its number there */
            struct Stream *reader; /* of the last read since then */
            uint64_t reader_seq;
        };
        struct { /* cached, and large */
            struct Buffer *previous;       /* of the same class */
            struct Buffer *newer, *older;  /* of any class */
            uint32_t released; /* second at which it came into the cache, about */
        };
    };
    void (*release)(void *address, void *payload); /* foreign memory only, or NULL */
    void *payload;
} Buffer;

_Static_assert(sizeof(Buffer) == 128 && offsetof(Buffer, device) == 64,
               "a buffer is two cache lines");

/** Memory of a device of at least 'size' bytes (size > 0), one reference. When there is
 *  none left, the cache is trimmed and the request repeated before it fails. */
Buffer *buffer_get(struct Device *device, size_t size);
/** The same for up to BUFFER_BATCH sizes at once, all or none. */
bool buffer_get_all(struct Device *device, uint32_t count, const size_t *sizes,
                    Buffer **buffers);
/** A Buffer on foreign memory that the device can use. 'release' (may be NULL) is
 *  called once at the end, without locks, in whatever thread drops the last
 *  reference. */
Buffer *buffer_map(struct Device *device, void *address, size_t size,
                   void (*release)(void *address, void *payload), void *payload);
/** Nobody writes to this foreign memory, but its owner. */
void buffer_set_guest(Buffer *buffer);
/** How many of these there are. */
uint32_t buffer_guests(void);
/** Its bytes if the host may touch them, NULL otherwise. */
void *buffer_host(const Buffer *buffer);
/** Copy to and from the host, at once: nothing that was submitted uses these bytes, see
 *  stream_sync_buffer(). False: the device could not; error recorded. */
bool buffer_read(const Buffer *buffer, size_t offset, void *dst, size_t bytes)
    __attribute__((warn_unused_result));
bool buffer_write(Buffer *buffer, size_t offset, const void *src, size_t bytes)
    __attribute__((warn_unused_result));
/** Does foreign memory end so early in its page that 64 bytes more can be read? */
bool buffer_ends_early(const Buffer *buffer);
/** May kernels load whole vectors at the end of this buffer? Always for memory of
 *  buffer_get(); for foreign memory, if 64 bytes more lie in the last entry's page. */
static inline bool buffer_is_padded(const Buffer *buffer)
{
    return buffer->size_class != BUFFER_MAPPED || buffer_ends_early(buffer);
}
static inline void buffer_retain(Buffer *buffer)
{
    atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
}
/** Were commands ever kept that would compute a buffer's contents (redo.h)? As long as
 *  not, the only reference to a buffer that a thread sees is the only one. Written by
 *  redo.c. */
extern _Atomic bool buffer_kept_ever;
/** Another reference, for a caller that keeps all others from taking any meanwhile:
 *  nobody else has the buffer, or all who do need the graph lock, which is held. */
static inline void buffer_retain_alone(Buffer *buffer)
{
    if (atomic_load_explicit(&buffer->refs, memory_order_acquire) == 1 &&
        !atomic_load_explicit(&buffer_kept_ever, memory_order_acquire))
        atomic_store_explicit(&buffer->refs, 2, memory_order_relaxed);
    else
        buffer_retain(buffer);
}
/** Its last reference has gone. */
void buffer_end(Buffer *buffer);
/** Drop a reference; NULL is fine. */
static inline void buffer_release(Buffer *buffer)
{
    /* Acquire pairs with the release of other threads' decrements. The holder of the
     * only reference need not decrement: nobody else can be looking, unless commands
     * are kept. */
    if (buffer &&
        ((atomic_load_explicit(&buffer->refs, memory_order_acquire) == 1 &&
          !atomic_load_explicit(&buffer_kept_ever, memory_order_acquire)) ||
         atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) == 1))
        buffer_end(buffer);
}

/** What should be in it could not be computed. The first error counts, but an
 *  interruption gives way to others. */
void buffer_fail(Buffer *buffer, const ErrorRecord *error);
/** Its computation was interrupted: it may be performed later, or not any more. */
extern const ErrorRecord buffer_interrupted, buffer_lost;
/** It will be computed after all: forget that it was interrupted. */
void buffer_forgive(Buffer *buffer);
static inline uint32_t buffer_writes(const Buffer *buffer)
{
    return atomic_load_explicit(&((Buffer *) buffer)->writes, memory_order_relaxed);
}
/** One more, not by a command. As there: who calls holds a lock, or has the buffer. */
static inline void buffer_count_write(Buffer *buffer)
{
    atomic_store_explicit(&buffer->writes, buffer_writes(buffer) + 1,
                          memory_order_relaxed);
}
/** The error, NULL if there was none. Valid as long as the buffer is held. */
static inline const ErrorRecord *buffer_failure(const Buffer *buffer)
{
    return atomic_load_explicit(&((Buffer *) buffer)->failure, memory_order_acquire);
}

/** Give the cached memory of all devices back to them; the number of bytes. */
size_t buffer_trim(void);
/** Most bytes that the cache of a device holds: a quarter of its memory unless set. */
void buffer_set_cache_limit(struct Device *device, size_t bytes);
size_t buffer_cache_limit(struct Device *device);

/** For tests: let this many seconds pass. */
void buffer_pass_time(uint32_t seconds);

typedef struct BufferStats {
    size_t used;      /* bytes asked for in live buffers, foreign ones excluded */
    size_t cached;    /* bytes in the cache */
    size_t watermark; /* most bytes ever used since buffer_clear_stats() */
    size_t mapped;    /* bytes of foreign memory */
    uint32_t live;    /* number of live buffers, foreign ones included */
} BufferStats;
BufferStats buffer_stats(const struct Device *device);
/** Let the watermarks start again from what is in use. */
void buffer_clear_stats(void);

/** Take and give back the lock of the caches around fork(), called by stream.c only. */
void buffer_fork_lock(void);
void buffer_fork_unlock(void);

#endif
