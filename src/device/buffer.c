/*
 * buffer.c -- buffers, and a size-class cache for each device
 *
 * A cached Buffer and its memory stay together for life. It stands in the list of its
 * class, from which requests are served, last in, first out. Large ones stand also in a
 * list in the order in which they came: from its end those leave that were not used for
 * KEEP_SECONDS, and as many as the bound demands. Small ones, whose cost is that of a
 * few instructions, all leave when they are more than a share of the bound, and every
 * KEEP_SECONDS; those in use come back soon. The clock is looked at when memory comes
 * back or new memory is needed, so nothing happens while nobody calls the library.
 *
 * One spin lock guards the caches and the statistics together. It is held for a few
 * nanoseconds at a time, so one atomic exchange is all that a request from the cache
 * pays, or BUFFER_BATCH of them; a lock and a set of counters for each class would pay
 * three.
 */
#include "device/buffer.h"


#include "base/alloc.h"
#include "base/error.h"
#include "device/device.h"
#include "device/redo.h"
#include "os/clock.h"
#include "os/threads.h"

enum {
    MIN_SHIFT = 6,           /* the smallest class has 64 bytes */
    MAX_SHIFT = 46,          /* larger requests fail at once */
    CLASS_COUNT = (MAX_SHIFT - MIN_SHIFT) * 4 + 1,
    FIRST_LARGE = (16 - MIN_SHIFT) * 4 + 1, /* classes above 64 KiB are large */
    KEEP_SECONDS = 10,
    ASK_EVERY = 1024,        /* releases: how often the clock is looked at */
    LIMIT_SHARE = 4,         /* of the device's memory */
    SMALL_SHARE = 8,         /* of the limit */
    SPINS = 64               /* before the lock's holder is given the processor */
};

_Static_assert(CLASS_COUNT < (int) BUFFER_MAPPED, "class numbers must fit");

typedef struct Cache {
    Buffer *classes[CLASS_COUNT];
    Buffer *newest, *oldest; /* large ones */
    size_t small;            /* bytes of small ones */
    uint32_t small_left;     /* second at which they were last told to leave */
    uint32_t looked;         /* second at which ages were last looked at */
    uint32_t releases;       /* in all */
    _Atomic size_t limit;    /* 0: not decided yet */
    BufferStats stats;
} Cache;

/* Cleared with release order, taken with acquire order: the pair publishes all
 * below. */
static atomic_flag lock = ATOMIC_FLAG_INIT;
static Cache caches[DEVICE_MOST]; /* guarded by 'lock' */
static uint32_t now;              /* seconds; guarded by 'lock' */
static uint32_t ahead;            /* of the clock, in seconds; likewise */

_Atomic bool buffer_kept_ever;

static __attribute__((noinline)) void wait_lock(void)
{
    for (uint32_t spins = 1;
         atomic_flag_test_and_set_explicit(&lock, memory_order_acquire); spins++) {
        if (spins >= SPINS) {
            threads_yield();
            spins = 0;
        }
    }
}

static inline void take_lock(void)
{
    if (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        wait_lock();
}

static inline void drop_lock(void)
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

static bool is_large(const Buffer *buffer)
{
    return buffer->size_class >= FIRST_LARGE;
}

static void link_large(Cache *cache, Buffer *buffer)
{
    buffer->previous = NULL;
    if (buffer->next)
        buffer->next->previous = buffer;
    buffer->newer = NULL;
    buffer->older = cache->newest;
    if (cache->newest)
        cache->newest->newer = buffer;
    else
        cache->oldest = buffer;
    cache->newest = buffer;
    buffer->released = now;
}

static void link_in(Cache *cache, Buffer *buffer)
{
    Buffer **first = &cache->classes[buffer->size_class];
    size_t size = class_size(buffer->size_class);
    buffer->next = *first;
    *first = buffer;
    if (is_large(buffer))
        link_large(cache, buffer);
    else
        cache->small += size;
    cache->stats.cached += size;
}

static void unlink_large(Cache *cache, Buffer *buffer)
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

/* The first one of a class, NULL if there is none. */
static Buffer *take_first(Cache *cache, uint32_t size_class)
{
    Buffer *buffer = cache->classes[size_class];
    if (!buffer)
        return NULL;
    if (is_large(buffer)) {
        unlink_large(cache, buffer);
        return buffer;
    }
    cache->classes[size_class] = buffer->next;
    cache->small -= class_size(size_class);
    cache->stats.cached -= class_size(size_class);
    return buffer;
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

static void put_on(Buffer **list, Buffer *buffer)
{
    buffer->next = *list;
    *list = buffer;
}

/* Take out all of the classes from 'first' to before 'end'. */
static void take_classes(Cache *cache, uint32_t first, uint32_t end, Buffer **list)
{
    for (uint32_t i = first; i < end; ++i)
        for (Buffer *buffer; (buffer = take_first(cache, i));)
            put_on(list, buffer);
}

/* What leaves the cache now, as a list; with the lock held. */
static Buffer *take_superfluous(Cache *cache)
{
    Buffer *list = NULL;
    cache->looked = now;
    size_t limit = atomic_load_explicit(&cache->limit, memory_order_relaxed);
    if (cache->small > limit / SMALL_SHARE || now - cache->small_left > KEEP_SECONDS) {
        take_classes(cache, 0, FIRST_LARGE, &list);
        cache->small_left = now;
    }
    while (cache->oldest && (cache->stats.cached > limit ||
                             now - cache->oldest->released > KEEP_SECONDS)) {
        Buffer *buffer = cache->oldest;
        unlink_large(cache, buffer);
        put_on(&list, buffer);
    }
    return list;
}

/* Can there be anything that leaves? */
static inline bool is_overdue(const Cache *cache)
{
    size_t limit = atomic_load_explicit(&cache->limit, memory_order_relaxed);
    return cache->small > limit / SMALL_SHARE || cache->stats.cached > limit ||
           cache->looked != now;
}

size_t buffer_trim(void)
{
    Buffer *list = NULL;
    take_lock();
    for (uint32_t i = 0; i < DEVICE_MOST; ++i)
        take_classes(&caches[i], 0, CLASS_COUNT, &list);
    drop_lock();
    return destroy_all(list);
}

void buffer_set_cache_limit(Device *device, size_t bytes)
{
    Cache *cache = cache_of(device);
    take_lock();
    cache->limit = bytes ? bytes : 1; /* of which nothing fits */
    Buffer *list = take_superfluous(cache);
    drop_lock();
    destroy_all(list);
}

/* With the lock held. */
static void note_time(uint32_t time)
{
    if (time && time + ahead > now)
        now = time + ahead;
}

void buffer_pass_time(uint32_t seconds)
{
    take_lock();
    ahead += seconds;
    drop_lock();
}

/* Decided when the first buffer is made. */
static void set_limit(Device *device)
{
    size_t limit = device->memory(device) / LIMIT_SHARE;
    take_lock();
    if (!cache_of(device)->limit)
        cache_of(device)->limit = limit;
    drop_lock();
}

size_t buffer_cache_limit(Device *device)
{
    set_limit(device);
    return cache_of(device)->limit;
}

/* ----------------------------------------------------------------- creation */

static Buffer *create(Device *device, uint32_t size_class)
{
    if (!cache_of(device)->limit)
        set_limit(device);
    Buffer *buffer = alloc_aligned(sizeof(Buffer));
    TRY(buffer, NULL);
    *buffer = (Buffer) { .device = device, .index = device->index,
                         .size_class = (uint8_t) size_class };
    buffer->address = device->allocate(device, class_size(size_class));
    if (buffer->address)
        return buffer;
    alloc_free(buffer);
    return NULL;
}

/* What was not used for long goes, and what is too much. */
static __attribute__((noinline)) void expire(Cache *cache)
{
    uint32_t time = clock_seconds();
    take_lock();
    note_time(time);
    Buffer *list = take_superfluous(cache);
    drop_lock();
    destroy_all(list);
}

/* The device's answer, after a second try without our own hoard. */
static Buffer *create_or_trim(Device *device, uint32_t size_class)
{
    ErrorRecord before;
    error_save(&before);
    if (cache_of(device)->limit) /* before more is asked for */
        expire(cache_of(device));
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

/* One reference, and no past. */
static inline void begin(Buffer *buffer, size_t size)
{
    buffer->size = size;
    atomic_store_explicit(&buffer->owner, NULL, memory_order_relaxed);
    atomic_store_explicit(&buffer->own_write, 0, memory_order_relaxed);
    atomic_store_explicit(&buffer->own_read, 0, memory_order_relaxed);
    atomic_store_explicit(&buffer->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&buffer->writes, 0, memory_order_relaxed);
}

/* From the cache, as far as there are any; how many are missing, which are NULL. */
static uint32_t find_all(Cache *cache, uint32_t count, const size_t *sizes,
                         Buffer **buffers)
{
    uint32_t missing = 0;
    take_lock();
    for (uint32_t i = 0; i < count; ++i) {
        Buffer *buffer = buffers[i] = take_first(cache, class_of(sizes[i]));
        if (buffer) {
            count_new(cache, sizes[i]);
            begin(buffer, sizes[i]);
        } else {
            missing++;
        }
    }
    drop_lock();
    return missing;
}

static Buffer *make(Device *device, size_t size)
{
    Buffer *buffer = create_or_trim(device, class_of(size));
    TRY(buffer, NULL);
    begin(buffer, size);
    take_lock();
    count_new(cache_of(device), size);
    drop_lock();
    return buffer;
}

static bool make_missing(Device *device, uint32_t count, const size_t *sizes,
                         Buffer **buffers)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; ++i)
        ok = buffers[i] || (buffers[i] = make(device, sizes[i]));
    for (uint32_t i = 0; !ok && i < count; ++i)
        buffer_release(buffers[i]);
    return ok;
}

bool buffer_get_all(Device *device, uint32_t count, const size_t *sizes,
                    Buffer **buffers)
{
    for (uint32_t i = 0; i < count; ++i)
        if (sizes[i] > (size_t) 1 << MAX_SHIFT)
            return error_set(JIT_ERROR_MEMORY, "out of memory: an array of %zu bytes "
                             "is too large", sizes[i]);
    return !find_all(cache_of(device), count, sizes, buffers) ||
           make_missing(device, count, sizes, buffers);
}

Buffer *buffer_get(Device *device, size_t size)
{
    Buffer *buffer;
    return buffer_get_all(device, 1, &size, &buffer) ? buffer : NULL;
}

Buffer *buffer_map(Device *device, void *address, size_t size,
                   void (*release)(void *address, void *payload), void *payload)
{
    Buffer *buffer = alloc_get(sizeof(Buffer));
    TRY(buffer, NULL);
    *buffer = (Buffer) { .address = address, .size = size, .device = device, .refs = 1,
                         .index = device->index, .size_class = BUFFER_MAPPED,
                         .release = release, .payload = payload };
    Cache *cache = cache_of(device);
    take_lock();
    cache->stats.mapped += size;
    cache->stats.live++;
    drop_lock();
    return buffer;
}

static _Atomic uint32_t guests;

void buffer_set_guest(Buffer *buffer)
{
    buffer->guest = true;
    atomic_fetch_add_explicit(&guests, 1, memory_order_relaxed);
}

uint32_t buffer_guests(void)
{
    return atomic_load_explicit(&guests, memory_order_relaxed);
}

bool buffer_ends_early(const Buffer *buffer)
{
    enum { PAGE = 4096, OVERREAD = 64 };
    if (ALLOC_WATCHED) /* it objects to reading on even within the page */
        return false;
    uintptr_t last = (uintptr_t) buffer->address + buffer->size - 1;
    return last / PAGE == (last + OVERREAD) / PAGE;
}

/* ----------------------------------------------------------------- contents */

void *buffer_host(const Buffer *buffer)
{
    return buffer->device->shares_memory ? buffer->address : NULL;
}

bool buffer_read(const Buffer *buffer, size_t offset, void *dst, size_t bytes)
{
    Device *device = buffer->device;
    return device->read(device, dst, (const char *) buffer->address + offset, bytes);
}

bool buffer_write(Buffer *buffer, size_t offset, const void *src, size_t bytes)
{
    Device *device = buffer->device;
    return device->write(device, (char *) buffer->address + offset, src, bytes);
}

/* Serves where there is no memory for another record. */
static ErrorRecord no_memory = {
    JIT_ERROR_MEMORY, "out of memory: what went wrong could not be noted"
};

const ErrorRecord buffer_interrupted = {
    JIT_ERROR_INTERRUPTED,
    "jit_eval(): the computation was interrupted; evaluate the array again to repeat it"
};
const ErrorRecord buffer_lost = {
    JIT_ERROR_INTERRUPTED,
    "jit_eval(): the computation was interrupted, and cannot be repeated: it writes "
    "into existing arrays, prints or checks bounds, or what it reads was changed since"
};

static bool is_constant(const ErrorRecord *record)
{
    return record == &buffer_interrupted || record == &buffer_lost;
}

static void free_record(ErrorRecord *record)
{
    if (record != &no_memory && !is_constant(record))
        alloc_free(record);
}

static ErrorRecord *copy_record(const ErrorRecord *error)
{
    if (is_constant(error))
        return (ErrorRecord *) error; /* which nobody changes */
    ErrorRecord before, *record;
    error_save(&before);
    record = alloc_get(sizeof *record);
    error_restore(&before);
    if (!record)
        return &no_memory;
    *record = *error;
    return record;
}

void buffer_fail(Buffer *buffer, const ErrorRecord *error)
{
    ErrorRecord *known = atomic_load(&buffer->failure);
    if (known && (known != &buffer_interrupted || error == known))
        return;
    ErrorRecord *record = copy_record(error);
    /* Release order: the record is complete. */
    if (!atomic_compare_exchange_strong_explicit(&buffer->failure, &known, record,
                                                 memory_order_release,
                                                 memory_order_relaxed))
        free_record(record);
}

void buffer_forgive(Buffer *buffer)
{
    ErrorRecord *known = (ErrorRecord *) &buffer_interrupted;
    atomic_compare_exchange_strong(&buffer->failure, &known, NULL);
}

static __attribute__((noinline)) void forget_failure(Buffer *buffer)
{
    free_record(atomic_load_explicit(&buffer->failure, memory_order_relaxed));
    atomic_store_explicit(&buffer->failure, NULL, memory_order_relaxed);
}

/* ------------------------------------------------------------------ release */

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

/* Into the cache. Commands hold references, so none is left that uses it. */
static __attribute__((noinline)) void put_back(Cache *cache, Buffer *buffer)
{
    uint32_t time = is_large(buffer) ? clock_seconds() : 0;
    take_lock();
    note_time(time);
    cache->stats.used -= buffer->size;
    cache->stats.live--;
    link_in(cache, buffer);
    bool ask = ++cache->releases % ASK_EVERY == 0;
    bool overdue = ask || is_overdue(cache);
    drop_lock();
    if (overdue)
        expire(cache);
}

void buffer_end(Buffer *buffer)
{
    if (atomic_load_explicit(&buffer_kept_ever, memory_order_acquire) &&
        atomic_load_explicit(&buffer->redo, memory_order_acquire))
        redo_forget(buffer);
    if (atomic_load_explicit(&buffer->failure, memory_order_relaxed))
        forget_failure(buffer);
    if (buffer->guest)
        atomic_fetch_sub_explicit(&guests, 1, memory_order_relaxed);
    if (buffer->size_class == BUFFER_MAPPED)
        unmap(buffer);
    else
        put_back(&caches[buffer->index], buffer);
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
