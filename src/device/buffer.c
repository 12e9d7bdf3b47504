/*
 * buffer.c -- buffers, and a size-class cache for each device
 *
 * A cached Buffer and its memory stay together for life. It stands in two lists: that
 * of its class, from which requests are served, last in, first out, and that of all
 * cached buffers in the order in which they came. From the end of the latter buffers
 * leave that were not used for KEEP_SECONDS, and as many as the bound demands.
 *
 * One spin lock guards the caches and the statistics together. It is held for a few
 * nanoseconds at a time, so one atomic exchange is all that a request from the cache
 * pays; a lock and a set of counters for each class would pay three. For the same
 * reason time is looked at only when a large buffer comes in: those are what matters.
 */
#include "device/buffer.h"

#include <sched.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/device.h"

enum {
    MIN_SHIFT = 6,           /* the smallest class has 64 bytes */
    MAX_SHIFT = 46,          /* larger requests fail at once */
    CLASS_COUNT = (MAX_SHIFT - MIN_SHIFT) * 4 + 1,
    CLASS_MAPPED = 255,
    LARGE = 1 << 20,         /* bytes */
    KEEP_SECONDS = 10,
    LIMIT_SHARE = 4,         /* of the device's memory */
    SPINS = 64               /* before the lock's holder is given the processor */
};

_Static_assert(CLASS_COUNT < CLASS_MAPPED, "class numbers must fit");

typedef struct Cache {
    Buffer *classes[CLASS_COUNT];
    Buffer *newest, *oldest;
    size_t limit;      /* 0: not decided yet */
    BufferStats stats;
} Cache;

/* Cleared with release order, taken with acquire order: the pair publishes all
 * below. */
static atomic_flag lock = ATOMIC_FLAG_INIT;
static Cache caches[DEVICE_MOST]; /* guarded by 'lock' */
static uint32_t now;              /* seconds; guarded by 'lock' */

static void take_lock(void)
{
    for (uint32_t spins = 0;
         atomic_flag_test_and_set_explicit(&lock, memory_order_acquire); spins++) {
        if (spins >= SPINS) {
            sched_yield();
            spins = 0;
        }
    }
}

static void drop_lock(void)
{
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

void buffer_fork_lock(void)
{
    take_lock();
}

void buffer_fork_unlock(void)
{
    drop_lock();
}

static Cache *cache_of(const Device *device)
{
    return &caches[device->index];
}

/* Class 0 has 64 bytes; class 1 + 4k + q has (5 + q) / 4 times 64 << k. */
static uint32_t class_of(size_t size)
{
    if (size <= (size_t) 1 << MIN_SHIFT)
        return 0;
    uint64_t last = size - 1;
    uint32_t shift = 63 - (uint32_t) __builtin_clzll(last);
    return (shift - MIN_SHIFT) * 4 + (uint32_t) ((last >> (shift - 2)) & 3) + 1;
}

static size_t class_size(uint32_t size_class)
{
    if (size_class == 0)
        return (size_t) 1 << MIN_SHIFT;
    uint32_t index = size_class - 1;
    return (size_t) (5 + index % 4) << (MIN_SHIFT + index / 4 - 2);
}

/* -------------------------------------------------------------------- cache */

static void link_in(Cache *cache, Buffer *buffer)
{
    Buffer **first = &cache->classes[buffer->size_class];
    buffer->previous = NULL;
    buffer->next = *first;
    if (*first)
        (*first)->previous = buffer;
    *first = buffer;
    buffer->newer = NULL;
    buffer->older = cache->newest;
    if (cache->newest)
        cache->newest->newer = buffer;
    else
        cache->oldest = buffer;
    cache->newest = buffer;
    cache->stats.cached += class_size(buffer->size_class);
}

static void unlink_from(Cache *cache, Buffer *buffer)
{
    if (buffer->previous)
        buffer->previous->next = buffer->next;
    else
        cache->classes[buffer->size_class] = buffer->next;
    if (buffer->next)
        buffer->next->previous = buffer->previous;
    if (buffer->newer)
        buffer->newer->older = buffer->older;
    else
        cache->newest = buffer->older;
    if (buffer->older)
        buffer->older->newer = buffer->newer;
    else
        cache->oldest = buffer->newer;
    cache->stats.cached -= class_size(buffer->size_class);
}

/* Give a list of buffers, linked by 'next', back to their devices; the number of bytes.
 * Without the lock, as that may take milliseconds. */
static size_t destroy_all(Buffer *list)
{
    size_t bytes = 0;
    while (list) {
        Buffer *next = list->next;
        size_t size = class_size(list->size_class);
        list->device->release(list->device, list->address, size);
        alloc_free(list);
        bytes += size;
        list = next;
    }
    return bytes;
}

static size_t limit_of(Cache *cache, Device *device)
{
    if (!cache->limit)
        cache->limit = device->memory(device) / LIMIT_SHARE;
    return cache->limit;
}

/* What leaves the cache now, as a list; with the lock held. */
static Buffer *take_superfluous(Cache *cache, Device *device)
{
    Buffer *list = NULL;
    size_t limit = limit_of(cache, device);
    while (cache->oldest && (cache->stats.cached > limit ||
                             now - cache->oldest->released > KEEP_SECONDS)) {
        Buffer *buffer = cache->oldest;
        unlink_from(cache, buffer);
        buffer->next = list;
        list = buffer;
    }
    return list;
}

size_t buffer_trim(void)
{
    Buffer *list = NULL;
    take_lock();
    for (uint32_t i = 0; i < DEVICE_MOST; ++i)
        while (caches[i].newest) {
            Buffer *buffer = caches[i].newest;
            unlink_from(&caches[i], buffer);
            buffer->next = list;
            list = buffer;
        }
    drop_lock();
    return destroy_all(list);
}

void buffer_set_cache_limit(Device *device, size_t bytes)
{
    Cache *cache = cache_of(device);
    take_lock();
    cache->limit = bytes ? bytes : 1; /* of which nothing fits */
    Buffer *list = take_superfluous(cache, device);
    drop_lock();
    destroy_all(list);
}

size_t buffer_cache_limit(Device *device)
{
    take_lock();
    size_t limit = limit_of(cache_of(device), device);
    drop_lock();
    return limit;
}

/* ----------------------------------------------------------------- creation */

static Buffer *create(Device *device, uint32_t size_class)
{
    Buffer *buffer = alloc_get(sizeof(Buffer));
    TRY(buffer, NULL);
    *buffer = (Buffer) { .device = device, .size_class = (uint8_t) size_class };
    buffer->address = device->allocate(device, class_size(size_class));
    if (buffer->address)
        return buffer;
    alloc_free(buffer);
    return NULL;
}

/* The device's answer, after a second try without our own hoard. */
static Buffer *create_or_trim(Device *device, uint32_t size_class)
{
    ErrorRecord before;
    error_save(&before);
    Buffer *buffer = create(device, size_class);
    if (!buffer) {
        buffer_trim();
        buffer = create(device, size_class);
        if (buffer)
            error_restore(&before);
    }
    return buffer;
}

static void count_new(Cache *cache, size_t size)
{
    BufferStats *stats = &cache->stats;
    stats->used += size;
    stats->live++;
    if (stats->used > stats->watermark)
        stats->watermark = stats->used;
}

Buffer *buffer_get(Device *device, size_t size)
{
    if (size > (size_t) 1 << MAX_SHIFT) {
        error_set(JIT_ERROR_MEMORY, "out of memory: an array of %zu bytes is too large",
                  size);
        return NULL;
    }
    Cache *cache = cache_of(device);
    uint32_t size_class = class_of(size);

    take_lock();
    Buffer *buffer = cache->classes[size_class];
    if (buffer) {
        unlink_from(cache, buffer);
        count_new(cache, size);
        drop_lock();
    } else {
        drop_lock();
        TRY(buffer = create_or_trim(device, size_class), NULL);
        take_lock();
        count_new(cache, size);
        drop_lock();
    }
    buffer->size = size;
    atomic_store_explicit(&buffer->refs, 1, memory_order_relaxed);
    return buffer;
}

Buffer *buffer_map(Device *device, void *address, size_t size,
                   void (*release)(void *address, void *payload), void *payload)
{
    Buffer *buffer = alloc_get(sizeof(Buffer));
    TRY(buffer, NULL);
    *buffer = (Buffer) { .address = address, .size = size, .device = device, .refs = 1,
                         .size_class = CLASS_MAPPED, .release = release,
                         .payload = payload };
    Cache *cache = cache_of(device);
    take_lock();
    cache->stats.mapped += size;
    cache->stats.live++;
    drop_lock();
    return buffer;
}

/* The address sanitizer knows where foreign memory ends, and objects to reading on even
 * within the page. */
#if defined(__SANITIZE_ADDRESS__)
#  define WATCHED true
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define WATCHED true
#  endif
#endif
#ifndef WATCHED
#  define WATCHED false
#endif

bool buffer_is_padded(const Buffer *buffer)
{
    enum { PAGE = 4096, OVERREAD = 64 };
    if (buffer->size_class != CLASS_MAPPED)
        return true;
    if (WATCHED)
        return false;
    uintptr_t last = (uintptr_t) buffer->address + buffer->size - 1;
    return last / PAGE == (last + OVERREAD) / PAGE;
}

/* ----------------------------------------------------------------- contents */

void *buffer_host(const Buffer *buffer)
{
    return buffer->device->shares_memory ? buffer->address : NULL;
}

void buffer_read(const Buffer *buffer, size_t offset, void *dst, size_t bytes)
{
    buffer->device->read(buffer->device, dst, (const char *) buffer->address + offset,
                         bytes);
}

void buffer_write(Buffer *buffer, size_t offset, const void *src, size_t bytes)
{
    buffer->device->write(buffer->device, (char *) buffer->address + offset, src,
                          bytes);
}

/* Serves where there is no memory for another record. */
static ErrorRecord no_memory = {
    JIT_ERROR_MEMORY, "out of memory: what went wrong could not be noted"
};

void buffer_fail(Buffer *buffer, const ErrorRecord *error)
{
    if (buffer_failure(buffer))
        return;
    ErrorRecord before, *record, *none = NULL;
    error_save(&before);
    record = alloc_get(sizeof *record);
    error_restore(&before);
    if (record)
        *record = *error;
    else
        record = &no_memory;
    /* Release order: the record is complete. */
    if (!atomic_compare_exchange_strong_explicit(&buffer->failure, &none, record,
                                                 memory_order_release,
                                                 memory_order_relaxed) &&
        record != &no_memory)
        alloc_free(record);
}

static void forget_failure(Buffer *buffer)
{
    ErrorRecord *record = atomic_load_explicit(&buffer->failure, memory_order_relaxed);
    if (!record)
        return;
    if (record != &no_memory)
        alloc_free(record);
    atomic_store_explicit(&buffer->failure, NULL, memory_order_relaxed);
}

/* ------------------------------------------------------------------ release */

void buffer_retain(Buffer *buffer)
{
    atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
}

static void unmap(Buffer *buffer)
{
    Cache *cache = cache_of(buffer->device);
    take_lock();
    cache->stats.mapped -= buffer->size;
    cache->stats.live--;
    drop_lock();
    if (buffer->release)
        buffer->release(buffer->address, buffer->payload);
    alloc_free(buffer);
}

/* Seconds, for buffers of this class; 0: not worth asking. */
static uint32_t ask_time(uint32_t size_class)
{
    struct timespec time;
    if (class_size(size_class) < LARGE || clock_gettime(CLOCK_MONOTONIC_COARSE, &time))
        return 0;
    return (uint32_t) time.tv_sec + 1;
}

void buffer_release(Buffer *buffer)
{
    if (!buffer)
        return;
    /* Acquire pairs with the release of other threads' decrements. The holder of the
     * only reference need not decrement: nobody else can be looking. */
    if (atomic_load_explicit(&buffer->refs, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) != 1)
        return;
    forget_failure(buffer);
    if (buffer->size_class == CLASS_MAPPED) {
        unmap(buffer);
        return;
    }

    /* Commands hold references, so none is left that uses it: its past is forgotten. */
    atomic_store_explicit(&buffer->owner, NULL, memory_order_relaxed);
    atomic_store_explicit(&buffer->own_write, 0, memory_order_relaxed);
    atomic_store_explicit(&buffer->own_read, 0, memory_order_relaxed);
    buffer->writer = buffer->reader = NULL;
    buffer->readers_many = false;

    Device *device = buffer->device;
    Cache *cache = cache_of(device);
    uint32_t time = ask_time(buffer->size_class);
    take_lock();
    if (time > now)
        now = time;
    buffer->released = now;
    cache->stats.used -= buffer->size;
    cache->stats.live--;
    link_in(cache, buffer);
    Buffer *list = take_superfluous(cache, device);
    drop_lock();
    destroy_all(list);
}

/* --------------------------------------------------------------- statistics */

BufferStats buffer_stats(const Device *device)
{
    take_lock();
    BufferStats result = cache_of(device)->stats;
    drop_lock();
    return result;
}

void buffer_clear_stats(void)
{
    take_lock();
    for (uint32_t i = 0; i < DEVICE_MOST; ++i)
        caches[i].stats.watermark = caches[i].stats.used;
    drop_lock();
}
