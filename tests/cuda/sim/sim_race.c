/*
 * sim_race.c -- accesses to shared memory that nothing orders
 *
 * A granule remembers the last store and the last loads, each with the numbers of
 * barriers (epochs) of the block and of the warp at that time. An access by another
 * warp is ordered if the block has had a barrier since, one by another thread of the
 * same warp if the warp has. Loads by several threads or warps are remembered as such.
 *
 * Barriers that only a part of the block takes part in count as ones of all: a race
 * that they hide is not found. Atomic and strong accesses do not race with each other.
 */
#include "sim_space.h"

#include <stdio.h>

enum { MANY = 0xffff };

typedef struct Access {
    uint32_t epoch, warp_epoch; /* epoch 0: none */
    uint16_t warp, thread;      /* of the block; of the warp; MANY */
    bool atomic;
} Access;

struct Race {
    Access store, load;
};

Race *race_new(size_t granules)
{
    return sim_alloc(granules * sizeof(Race));
}

/* Is the earlier access another thread's, with no barrier since? */
static bool unordered(const Access *earlier, const Access *now)
{
    if (earlier->epoch != now->epoch)
        return false;
    if (earlier->warp != now->warp)
        return true;
    return earlier->warp_epoch == now->warp_epoch && earlier->thread != now->thread;
}

static void remember(Access *a, const Access *now)
{
    if (a->epoch != now->epoch) {
        *a = *now;
        return;
    }
    if (a->warp != now->warp) {
        a->warp = MANY;
    } else if (a->warp_epoch != now->warp_epoch) {
        a->warp_epoch = now->warp_epoch;
        a->thread = now->thread;
    } else if (a->thread != now->thread) {
        a->thread = MANY;
    }
    a->atomic &= now->atomic;
}

static const char *verb(const Access *a, bool store)
{
    return a->atomic ? "an atomic access" : store ? "a store" : "a load";
}

static bool report(Warp *w, uint32_t lane, uint64_t offset, const Access *earlier,
                   bool store)
{
    char who[64];
    if (earlier->warp == MANY || earlier->thread == MANY)
        snprintf(who, sizeof(who), "several threads");
    else
        snprintf(who, sizeof(who), "thread %u of warp %u", earlier->thread,
                 earlier->warp);
    sim_fault(w, lane,
              "shared memory at %llu: no barrier between %s by %s and this "
              "access",
              (unsigned long long) offset, verb(earlier, store), who);
    return false;
}

bool race_check(Warp *w, uint32_t lane, uint64_t offset, uint32_t bytes, RaceKind kind)
{
    const bool reads = kind == RACE_READ || kind == RACE_STRONG_READ;
    const uint32_t shift = w->run->granule_shift;
    const Access now = { .epoch = w->block->epoch,
                         .warp_epoch = w->epoch,
                         .warp = (uint16_t) w->index,
                         .thread = (uint16_t) lane,
                         .atomic = kind == RACE_ATOMIC || kind == RACE_STRONG_READ };
    for (uint64_t g = offset >> shift; g <= (offset + bytes - 1) >> shift; g++) {
        Race *r = &w->block->races[g];
        if (unordered(&r->store, &now) && !(r->store.atomic && now.atomic))
            return report(w, lane, offset, &r->store, true);
        if (!reads && unordered(&r->load, &now) && !(r->load.atomic && now.atomic))
            return report(w, lane, offset, &r->load, false);
        remember(reads ? &r->load : &r->store, &now);
    }
    return true;
}
