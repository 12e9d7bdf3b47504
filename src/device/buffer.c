/*
 * buffer.c -- size-class cache of array memory
 *
 * A cached Buffer and its contents are one allocation that stays together for life:
 *
 *     │ Buffer (128 bytes) │ contents, rounded up to the class │ 64 bytes of padding │
 *
 * From 2 MiB on, contents start at a multiple of 2 MiB and the system is asked for huge
 * pages: the first touch of a big array costs 4 to 5 times less then. The unused bytes
 * before the contents are never touched, so they cost address space only.
 *
 * One spin lock guards the free lists and the statistics together. It is held for a few
 * nanoseconds at a time, so one atomic exchange is all that a request from the cache
 * pays; a lock and a set of counters for each class would pay three.
 */
#include "device/buffer.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/pool.h"

enum {
    MIN_SHIFT = 6,           /* the smallest class has 64 bytes */
    MAX_SHIFT = 46,          /* larger requests fail at once */
    CLASS_COUNT = (MAX_SHIFT - MIN_SHIFT) * 4 + 1,
    CLASS_MAPPED = 255,
    HEADER = 128,
    PADDING = 64,
    SPINS = 64               /* before the lock's holder is given the processor */
};
static const size_t huge_page = (size_t) 2 << 20;

_Static_assert(sizeof(Buffer) <= HEADER, "the header must hold a Buffer");
_Static_assert(CLASS_COUNT < CLASS_MAPPED, "class numbers must fit");

/* Cleared with release order, taken with acquire order: the pair publishes all
 * below. */
static atomic_flag lock = ATOMIC_FLAG_INIT;
static Buffer *free_lists[CLASS_COUNT]; /* guarded by 'lock' */
static BufferStats stats;               /* guarded by 'lock' */

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

static Buffer *create(uint32_t size_class)
{
    size_t capacity = class_size(size_class);
    bool huge = capacity >= huge_page;
    size_t before = huge ? HEADER + huge_page : HEADER;
    unsigned char *memory = alloc_aligned(before + capacity + PADDING);
    if (!memory)
        return NULL;

    Buffer *buffer = (Buffer *) (void *) memory;
    *buffer = (Buffer) {.size_class = (uint8_t) size_class, .data = memory + HEADER};
    if (huge) {
        uintptr_t data = (uintptr_t) memory + HEADER + huge_page - 1;
        data -= data % huge_page;
        buffer->data = (void *) data;
        /* Advice only: where it is refused, small pages serve. */
        (void) madvise(buffer->data, capacity - capacity % huge_page, MADV_HUGEPAGE);
    }
    return buffer;
}

/* The system's answer, after a second try without our own hoard. */
static Buffer *create_or_trim(uint32_t size_class)
{
    ErrorRecord before;
    error_save(&before);
    Buffer *buffer = create(size_class);
    if (!buffer) {
        buffer_trim();
        buffer = create(size_class);
        if (buffer)
            error_restore(&before);
    }
    return buffer;
}

static void count_new(size_t size)
{
    stats.used += size;
    stats.live++;
    if (stats.used > stats.watermark)
        stats.watermark = stats.used;
}

Buffer *buffer_get(size_t size)
{
    if (size > (size_t) 1 << MAX_SHIFT) {
        error_set(JIT_ERROR_MEMORY, "out of memory: an array of %zu bytes is too large",
                  size);
        return NULL;
    }
    uint32_t size_class = class_of(size);

    take_lock();
    Buffer *buffer = free_lists[size_class];
    if (buffer) {
        free_lists[size_class] = buffer->next;
        stats.cached -= class_size(size_class);
        count_new(size);
        drop_lock();
    } else {
        drop_lock();
        TRY(buffer = create_or_trim(size_class), NULL);
        take_lock();
        count_new(size);
        drop_lock();
    }
    buffer->size = size;
    atomic_store_explicit(&buffer->refs, 1, memory_order_relaxed);
    return buffer;
}

Buffer *buffer_map(void *data, size_t size, void (*release)(void *data, void *payload),
                   void *payload)
{
    Buffer *buffer = alloc_get(sizeof(Buffer));
    TRY(buffer, NULL);
    *buffer = (Buffer) {.data = data, .size = size, .refs = 1,
                        .size_class = CLASS_MAPPED, .release = release,
                        .payload = payload};
    take_lock();
    stats.mapped += size;
    stats.live++;
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

/* Measured on Sapphire Rapids: chains of kernels that read what the one before has
 * written are at a draw where results are twice the second-level cache of each thread,
 * and win a third from four times on. */
bool buffer_bypasses(uint64_t bytes)
{
    enum { USUAL = 1 << 20, TIMES = 3 };
    static _Atomic uint64_t cache;
    uint64_t size = atomic_load_explicit(&cache, memory_order_relaxed);
    if (!size) {
        long found = sysconf(_SC_LEVEL2_CACHE_SIZE);
        size = found > 0 ? (uint64_t) found : USUAL;
        atomic_store_explicit(&cache, size, memory_order_relaxed);
    }
    return bytes > TIMES * size * pool_size();
}

/* What the CPU says of its third-level cache, as far as a core can use it; 0: nothing.
 * (sysconf() gives the sum over all cores of some CPUs.) Leaf 4 is Intel's, the other
 * one AMD's, in the same form. Asking a virtual machine takes microseconds. */
static uint64_t find_third_level(void)
{
#if defined(__x86_64__)
    static const uint32_t leaves[] = { 0x8000001d, 4 };
    enum { MOST_CACHES = 16, TYPE = 31, LEVEL = 7 };
    uint32_t a, b, c, d;
    for (uint32_t leaf = 0; leaf < 2; ++leaf)
        for (uint32_t i = 0; i < MOST_CACHES; ++i) {
            if (!__get_cpuid_count(leaves[leaf], i, &a, &b, &c, &d) || !(a & TYPE))
                break;
            if ((a >> 5 & LEVEL) == 3)
                return ((b >> 22) + UINT64_C(1)) * ((b >> 12 & 1023) + 1) *
                       ((b & 4095) + 1) * (c + UINT64_C(1));
        }
#endif
    return 0;
}

/* Measured on Zen 5 with 32 MiB: gathers that prefetch are at a draw with others where
 * the array takes half of the cache, and need half of their time where it takes three
 * quarters. The rest is for what else passes through it. */
bool buffer_is_far(uint64_t bytes)
{
    enum { LEAST = 1 << 20, USUAL = 32 << 20 };
    static _Atomic uint64_t cache;
    if (bytes < LEAST)
        return false;
    uint64_t size = atomic_load_explicit(&cache, memory_order_relaxed);
    if (!size) {
        uint64_t found = find_third_level();
        size = found ? found : USUAL;
        atomic_store_explicit(&cache, size, memory_order_relaxed);
    }
    return bytes > size / 2;
}

bool buffer_is_padded(const Buffer *buffer)
{
    enum { PAGE = 4096, OVERREAD = 64 };
    if (buffer->size_class != CLASS_MAPPED)
        return true;
    if (WATCHED)
        return false;
    uintptr_t last = (uintptr_t) buffer->data + buffer->size - 1;
    return last / PAGE == (last + OVERREAD) / PAGE;
}

void buffer_retain(Buffer *buffer)
{
    atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
}

static void unmap(Buffer *buffer)
{
    take_lock();
    stats.mapped -= buffer->size;
    stats.live--;
    drop_lock();
    if (buffer->release)
        buffer->release(buffer->data, buffer->payload);
    alloc_free(buffer);
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
    if (buffer->size_class == CLASS_MAPPED) {
        unmap(buffer);
        return;
    }

    /* Jobs hold references, so none is left that uses it: its past is forgotten. */
    atomic_store_explicit(&buffer->owner, NULL, memory_order_relaxed);
    atomic_store_explicit(&buffer->own_write, 0, memory_order_relaxed);
    atomic_store_explicit(&buffer->own_read, 0, memory_order_relaxed);
    buffer->writer = buffer->reader = NULL;
    buffer->readers_many = false;

    take_lock();
    stats.used -= buffer->size;
    stats.live--;
    stats.cached += class_size(buffer->size_class);
    buffer->next = free_lists[buffer->size_class];
    free_lists[buffer->size_class] = buffer;
    drop_lock();
}

size_t buffer_trim(void)
{
    /* The lock is not held while the system works, as that may take milliseconds. */
    Buffer *all = NULL;
    take_lock();
    size_t bytes = stats.cached;
    for (uint32_t i = 0; i < CLASS_COUNT; i++) {
        while (free_lists[i]) {
            Buffer *buffer = free_lists[i];
            free_lists[i] = buffer->next;
            buffer->next = all;
            all = buffer;
        }
    }
    stats.cached = 0;
    drop_lock();

    while (all) {
        Buffer *next = all->next;
        alloc_free(all);
        all = next;
    }
    return bytes;
}

BufferStats buffer_stats(void)
{
    take_lock();
    BufferStats result = stats;
    drop_lock();
    return result;
}

void buffer_clear_stats(void)
{
    take_lock();
    stats.watermark = stats.used;
    drop_lock();
}
