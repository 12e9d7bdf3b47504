/*
 * sim_memory.c -- allocations whose bytes are known to be written or not
 *
 * All allocations, sorted by address, are in one array; released ones stay there while
 * a launch runs or until there are too many of them, so that a message can tell that an
 * address was once theirs.
 */
#include "sim_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 256, KEPT_BYTES = 64 << 20, KEPT_COUNT = 256 };

struct SimMemory {
    pthread_rwlock_t lock; /* of all that follows */
    SimAllocation **sorted;
    uint32_t count, capacity;
    uint32_t running;               /* launches */
    SimAllocation *oldest, *newest; /* that were released */
    size_t kept_bytes, kept_count;
};

SimMemory *sim_memory_new(void)
{
    SimMemory *m = calloc(1, sizeof(*m));
    if (!m || pthread_rwlock_init(&m->lock, NULL)) {
        free(m);
        return NULL;
    }
    return m;
}

static void discard(SimAllocation *a)
{
    free(a->block);
    free(a->written);
    free(a);
}

void sim_memory_delete(SimMemory *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->count; i++)
        discard(m->sorted[i]);
    free(m->sorted);
    pthread_rwlock_destroy(&m->lock);
    free(m);
}

/* How many allocations begin at or before an address. */
static uint32_t rank_of(const SimMemory *m, uint64_t address)
{
    uint32_t low = 0, high = m->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((uintptr_t) m->sorted[middle]->begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first byte of an allocation without any is its own too. */
static SimAllocation *lookup(const SimMemory *m, uint64_t address)
{
    uint32_t rank = rank_of(m, address);
    if (!rank)
        return NULL;
    SimAllocation *a = m->sorted[rank - 1];
    return address - (uintptr_t) a->begin < (a->bytes ? a->bytes : 1) ? a : NULL;
}

static SimAllocation *new_allocation(size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    SimAllocation *a = calloc(1, sizeof(*a));
    size_t whole = (bytes + 2 * GUARD + 255) & ~(size_t) 255;
    if (!a)
        return NULL;
    a->block = aligned_alloc(256, whole);
    a->written = calloc(bytes / 8 + 1, 1);
    if (!a->block || !a->written) {
        discard(a);
        return NULL;
    }
    memset(a->block, 0xcb, whole);
    a->begin = (uint8_t *) a->block + GUARD;
    a->bytes = bytes;
    return a;
}

static bool insert(SimMemory *m, SimAllocation *a)
{
    if (m->count == m->capacity) {
        uint32_t capacity = m->capacity ? m->capacity * 2 : 64;
        SimAllocation **sorted = realloc(m->sorted, capacity * sizeof(*sorted));
        if (!sorted)
            return false;
        m->sorted = sorted;
        m->capacity = capacity;
    }
    uint32_t at = rank_of(m, (uintptr_t) a->begin);
    memmove(m->sorted + at + 1, m->sorted + at, (m->count - at) * sizeof(*m->sorted));
    m->sorted[at] = a;
    m->count++;
    return true;
}

void *sim_memory_get(SimMemory *m, size_t bytes)
{
    SimAllocation *a = new_allocation(bytes);
    if (!a)
        return NULL;
    pthread_rwlock_wrlock(&m->lock);
    bool fine = insert(m, a);
    pthread_rwlock_unlock(&m->lock);
    if (!fine) {
        discard(a);
        return NULL;
    }
    return a->begin;
}

/* Forget what was released long ago. */
static void forget(SimMemory *m)
{
    while (m->oldest && !m->running &&
           (m->kept_bytes > KEPT_BYTES || m->kept_count > KEPT_COUNT)) {
        SimAllocation *a = m->oldest;
        uint32_t at = rank_of(m, (uintptr_t) a->begin) - 1;
        memmove(m->sorted + at, m->sorted + at + 1,
                (m->count - at - 1) * sizeof(*m->sorted));
        m->count--;
        m->oldest = a->later;
        if (!m->oldest)
            m->newest = NULL;
        m->kept_bytes -= a->bytes;
        m->kept_count--;
        discard(a);
    }
}

bool sim_memory_put(SimMemory *m, void *address)
{
    pthread_rwlock_wrlock(&m->lock);
    SimAllocation *a = lookup(m, (uintptr_t) address);
    bool fine = a && a->begin == address && !a->released;
    if (fine) {
        __atomic_store_n(&a->released, true, __ATOMIC_RELEASE);
        if (m->newest)
            m->newest->later = a;
        else
            m->oldest = a;
        m->newest = a;
        m->kept_bytes += a->bytes;
        m->kept_count++;
        forget(m);
    }
    pthread_rwlock_unlock(&m->lock);
    return fine;
}

/* ---- written bytes */

bool memory_is_written(const SimAllocation *a, uint64_t address, uint32_t bytes)
{
    size_t at = address - (uintptr_t) a->begin;
    uint32_t want = ((1u << bytes) - 1) << (at & 7);
    uint32_t have = __atomic_load_n(&a->written[at / 8], __ATOMIC_RELAXED);
    return (have & want) == want;
}

void memory_set_written(SimAllocation *a, uint64_t address, uint32_t bytes)
{
    size_t at = address - (uintptr_t) a->begin;
    uint8_t bits = (uint8_t) (((1u << bytes) - 1) << (at & 7));
    if ((__atomic_load_n(&a->written[at / 8], __ATOMIC_RELAXED) & bits) != bits)
        __atomic_fetch_or(&a->written[at / 8], bits, __ATOMIC_RELAXED);
}

void sim_memory_written(SimMemory *m, const void *address, size_t bytes)
{
    pthread_rwlock_rdlock(&m->lock);
    SimAllocation *a = lookup(m, (uintptr_t) address);
    if (a) {
        uint64_t at = (uintptr_t) address, end = (uintptr_t) a->begin + a->bytes;
        end = end - at < bytes ? end : at + bytes;
        while (at < end) {
            uint64_t next = (at | 7) + 1 < end ? (at | 7) + 1 : end;
            memory_set_written(a, at, (uint32_t) (next - at));
            at = next;
        }
    }
    pthread_rwlock_unlock(&m->lock);
}

/* ---- lookups */

SimAllocation *memory_find(SimMemory *m, uint64_t address)
{
    pthread_rwlock_rdlock(&m->lock);
    SimAllocation *a = lookup(m, address);
    pthread_rwlock_unlock(&m->lock);
    return a;
}

bool memory_is_released(const SimAllocation *a)
{
    return __atomic_load_n(&a->released, __ATOMIC_ACQUIRE);
}

void *sim_memory_find(SimMemory *m, const void *address, size_t *bytes)
{
    SimAllocation *a = memory_find(m, (uintptr_t) address);
    if (!a || memory_is_released(a))
        return NULL;
    *bytes = a->bytes;
    return a->begin;
}

void memory_enter(SimMemory *m)
{
    pthread_rwlock_wrlock(&m->lock);
    m->running++;
    pthread_rwlock_unlock(&m->lock);
}

void memory_leave(SimMemory *m)
{
    pthread_rwlock_wrlock(&m->lock);
    m->running--;
    forget(m);
    pthread_rwlock_unlock(&m->lock);
}
