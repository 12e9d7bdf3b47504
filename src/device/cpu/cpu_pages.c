/*
 * cpu_pages.c -- see cpu_pages.h
 *
 *     slab │ unit 0 │ unit 1 │ ... │ unit 31 │ 64 bytes, Slab │
 *          └────────── one huge page ────────┘
 *
 * An array takes consecutive units of a slab. Slabs with a free unit are in a list,
 * from whose first ones requests are served; one that is empty goes back to the system.
 * The buffer cache stands above, so this is asked rarely.
 *
 * Touching a huge page takes 100 to 400 microseconds, for which a program's first
 * kernels would wait. So once a slab is in use, an idle worker makes one in reserve. It
 * goes back to the system together with any other slab: the program needs less.
 *
 * Memory is mapped: the C library might keep what is released as a hole.
 */
#include "device/cpu/cpu_pages.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"
#include "os/pages.h"

enum {
    PADDING = 64,
    UNIT = 1 << 16,
    UNITS = 32,        /* of a slab */
    MOST_LOOKED_AT = 64 /* slabs, for one request */
};
static const size_t huge_page = (size_t) UNIT * UNITS;

/* Behind the huge page that it is about. */
typedef struct Slab {
    uint32_t used; /* a bit for each unit; guarded by 'lock' as what follows */
    struct Slab *next, *previous; /* while a unit is free */
} Slab;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Slab *with_room;
static Slab *reserve;       /* touched and empty; guarded by 'lock' */
static uint32_t slabs;      /* in use; guarded by 'lock' */
static _Atomic bool wanted; /* a reserve: a slab has come into use */

static char *map(size_t bytes)
{
    char *pages = pages_get(bytes, huge_page);
    if (pages)
        pages_prefer_large(pages, bytes - bytes % huge_page);
    return pages;
}

/* -------------------------------------------------------------------- slabs */

static size_t slab_bytes(void)
{
    return huge_page + PADDING + sizeof(Slab);
}

static char *units_of(Slab *slab)
{
    return (char *) slab - PADDING - huge_page;
}

static Slab *slab_at(char *units)
{
    return (Slab *) (void *) (units + huge_page + PADDING);
}

static void link_in(Slab *slab)
{
    slab->previous = NULL;
    slab->next = with_room;
    if (with_room)
        with_room->previous = slab;
    with_room = slab;
}

static void take_out(Slab *slab)
{
    if (slab->previous)
        slab->previous->next = slab->next;
    else
        with_room = slab->next;
    if (slab->next)
        slab->next->previous = slab->previous;
}

static uint32_t count_units(size_t bytes)
{
    return (uint32_t) ((bytes + UNIT - 1) / UNIT);
}

static uint32_t mask_of(uint32_t first, uint32_t count)
{
    return (uint32_t) (((uint64_t) 1 << count) - 1) << first;
}

/* The first of 'count' free units in a row; UNITS if there are none. */
static uint32_t find_units(uint32_t used, uint32_t count)
{
    uint32_t begins = ~used;
    for (uint32_t k = 1; k < count; ++k)
        begins &= ~used >> k;
    return begins ? (uint32_t) __builtin_ctz(begins) : UNITS;
}

/* From a slab that is there; NULL if none has room. With the lock held. */
static char *take_units(uint32_t count)
{
    Slab *slab = with_room;
    for (uint32_t i = 0; slab && i < MOST_LOOKED_AT; ++i, slab = slab->next) {
        uint32_t first = find_units(slab->used, count);
        if (first == UNITS)
            continue;
        slab->used |= mask_of(first, count);
        if (slab->used == UINT32_MAX)
            take_out(slab);
        return units_of(slab) + (size_t) first * UNIT;
    }
    return NULL;
}

static Slab *make_slab(void)
{
    char *units = map(slab_bytes());
    TRY(units, NULL);
    return slab_at(units);
}

static void free_slab(Slab *slab)
{
    if (slab)
        pages_release(units_of(slab), slab_bytes());
}

/* The first units of a slab that is not in use yet. With the lock held. */
static char *take_first(Slab *slab, uint32_t count)
{
    slab->used = mask_of(0, count);
    link_in(slab);
    slabs++;
    atomic_store_explicit(&wanted, true, memory_order_relaxed);
    return units_of(slab);
}

static char *take_reserve(uint32_t count)
{
    Slab *slab = reserve;
    reserve = NULL;
    return slab ? take_first(slab, count) : NULL;
}

static char *take_new(uint32_t count)
{
    Slab *slab = make_slab();
    TRY(slab, NULL);
    pthread_mutex_lock(&lock);
    char *address = take_first(slab, count);
    pthread_mutex_unlock(&lock);
    return address;
}

static void give_units(char *address, uint32_t count)
{
    char *units = address - ((uintptr_t) address & (huge_page - 1));
    Slab *slab = slab_at(units);
    uint32_t first = (uint32_t) ((size_t) (address - units) / UNIT);
    pthread_mutex_lock(&lock);
    if (slab->used == UINT32_MAX)
        link_in(slab);
    slab->used &= ~mask_of(first, count);
    Slab *empty = slab->used ? NULL : slab, *spare = NULL;
    if (empty) {
        take_out(empty);
        slabs--;
        spare = reserve;
        reserve = NULL;
        atomic_store_explicit(&wanted, false, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
    free_slab(empty);
    free_slab(spare);
}

/* ------------------------------------------------------------------- arrays */

void *cpu_pages_get(size_t bytes)
{
    if (bytes >= huge_page)
        return map(bytes + PADDING);
    uint32_t count = count_units(bytes);
    pthread_mutex_lock(&lock);
    char *address = take_units(count);
    if (!address)
        address = take_reserve(count);
    pthread_mutex_unlock(&lock);
    return address ? address : take_new(count);
}

void cpu_pages_release(void *address, size_t bytes)
{
    if (bytes >= huge_page)
        pages_release(address, bytes + PADDING);
    else
        give_units(address, count_units(bytes));
}

void cpu_pages_prepare(void)
{
    if (!atomic_load_explicit(&wanted, memory_order_relaxed) ||
        !atomic_exchange_explicit(&wanted, false, memory_order_relaxed))
        return;
    Slab *slab = make_slab();
    if (!slab) {
        error_clear(); /* nobody has asked for it */
        return;
    }
    pages_touch(units_of(slab), huge_page);
    slab->used = 0;
    pthread_mutex_lock(&lock);
    if (slabs && !reserve) {
        reserve = slab;
        slab = NULL;
        atomic_store_explicit(&wanted, false, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
    free_slab(slab);
}

void cpu_pages_fork_lock(void) { pthread_mutex_lock(&lock); }
void cpu_pages_fork_unlock(void) { pthread_mutex_unlock(&lock); }
