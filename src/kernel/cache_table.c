/*
 * cache_table.c -- the tables behind the kernel cache
 *
 *     slots[]      key.full ---------> Kernel     (kernels with equal keys may coexist)
 *     skeletons[]  traced_skeleton --> most recent special and generalised Kernel
 *     newest ... oldest                doubly linked list in the order of use
 *
 * Keys are hashes already, so their low words are the positions. Linear probing,
 * deletion by shifting back, at most 3/4 full. Whatever is found is compared with the
 * Program in full.
 */
#include "kernel/cache_table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/literals.h"

enum { FIRST_CAPACITY = 64 };

static bool is_full(uint32_t count, uint32_t capacity)
{
    return count + 1 > capacity - capacity / 4;
}

/* ---------------------------------------------------------------------- find */

Kernel *cache_table_find(const CacheTable *table, const Program *program, Hash128 full)
{
    if (!table->count)
        return NULL;
    uint32_t mask = table->capacity - 1;
    Kernel *kernel;
    for (uint32_t i = (uint32_t) full.low & mask; (kernel = table->slots[i]);
         i = (i + 1) & mask)
        if (hash_equal(kernel->key.full, full) &&
            program_equal(kernel->program, program))
            return kernel;
    return NULL;
}

/* Position of a skeleton, or of the free slot where it would go. */
static uint32_t skeleton_slot(const CacheTable *table, Hash128 hash)
{
    uint32_t mask = table->skeleton_capacity - 1, i = (uint32_t) hash.low & mask;
    while ((table->skeletons[i].special || table->skeletons[i].general) &&
           !hash_equal(table->skeletons[i].hash, hash))
        i = (i + 1) & mask;
    return i;
}

Kernel *cache_table_find_general(const CacheTable *table, const Program *program,
                                 Hash128 skeleton)
{
    if (!table->skeleton_count)
        return NULL;
    Kernel *kernel = table->skeletons[skeleton_slot(table, skeleton)].general;
    if (kernel && program_equal_skeleton(kernel->traced, program) &&
        literals_agree(kernel->traced, program, kernel->value_literals,
                       kernel->value_count))
        return kernel;
    return NULL;
}

Kernel *cache_table_find_sibling(const CacheTable *table, const Program *program,
                                 Hash128 skeleton)
{
    if (!table->skeleton_count)
        return NULL;
    const CacheSkeleton *entry = &table->skeletons[skeleton_slot(table, skeleton)];
    if (entry->general && program_equal_skeleton(entry->general->traced, program))
        return entry->general;
    if (entry->special && program_equal_skeleton(entry->special->program, program))
        return entry->special;
    return NULL;
}

/* -------------------------------------------------------------------- change */

static void place(Kernel **slots, uint32_t capacity, Kernel *kernel)
{
    uint32_t mask = capacity - 1, i = (uint32_t) kernel->key.full.low & mask;
    while (slots[i])
        i = (i + 1) & mask;
    slots[i] = kernel;
}

static bool grow_slots(CacheTable *table)
{
    uint32_t capacity = table->capacity ? table->capacity * 2 : FIRST_CAPACITY;
    Kernel **slots = alloc_zero(capacity, sizeof(Kernel *));
    TRY(slots, false);
    for (uint32_t i = 0; i < table->capacity; ++i)
        if (table->slots[i])
            place(slots, capacity, table->slots[i]);
    alloc_free(table->slots);
    table->slots = slots;
    table->capacity = capacity;
    return true;
}

static bool grow_skeletons(CacheTable *table)
{
    CacheTable larger = { 0 };
    larger.skeleton_capacity =
        table->skeleton_capacity ? table->skeleton_capacity * 2 : FIRST_CAPACITY;
    larger.skeletons = alloc_zero(larger.skeleton_capacity, sizeof(CacheSkeleton));
    TRY(larger.skeletons, false);
    for (uint32_t i = 0; i < table->skeleton_capacity; ++i) {
        const CacheSkeleton *entry = &table->skeletons[i];
        if (entry->special || entry->general)
            larger.skeletons[skeleton_slot(&larger, entry->hash)] = *entry;
    }
    alloc_free(table->skeletons);
    table->skeletons = larger.skeletons;
    table->skeleton_capacity = larger.skeleton_capacity;
    return true;
}

static void link_newest(CacheTable *table, Kernel *kernel)
{
    kernel->newer = NULL;
    kernel->older = table->newest;
    if (table->newest)
        table->newest->newer = kernel;
    else
        table->oldest = kernel;
    table->newest = kernel;
}

static void detach(CacheTable *table, Kernel *kernel)
{
    if (kernel->newer)
        kernel->newer->older = kernel->older;
    else
        table->newest = kernel->older;
    if (kernel->older)
        kernel->older->newer = kernel->newer;
    else
        table->oldest = kernel->newer;
    kernel->newer = kernel->older = NULL;
}

bool cache_table_insert(CacheTable *table, Kernel *kernel)
{
    if (is_full(table->count, table->capacity))
        TRY(grow_slots(table), false);
    if (is_full(table->skeleton_count, table->skeleton_capacity))
        TRY(grow_skeletons(table), false);
    place(table->slots, table->capacity, kernel);
    table->count++;
    CacheSkeleton *entry =
        &table->skeletons[skeleton_slot(table, kernel->traced_skeleton)];
    if (!entry->special && !entry->general) {
        entry->hash = kernel->traced_skeleton;
        table->skeleton_count++;
    }
    if (kernel->traced)
        entry->general = kernel;
    else
        entry->special = kernel;
    link_newest(table, kernel);
    return true;
}

/* May the entry at 'from', whose place would be 'home', move to the gap at 'gap'? */
static bool may_move(uint32_t home, uint32_t gap, uint32_t from, uint32_t mask)
{
    return ((from - home) & mask) >= ((from - gap) & mask);
}

static void remove_slot(CacheTable *table, const Kernel *kernel)
{
    uint32_t mask = table->capacity - 1, i = (uint32_t) kernel->key.full.low & mask;
    while (table->slots[i] != kernel)
        i = (i + 1) & mask;
    for (uint32_t j = (i + 1) & mask; table->slots[j]; j = (j + 1) & mask) {
        uint32_t home = (uint32_t) table->slots[j]->key.full.low & mask;
        if (may_move(home, i, j, mask)) {
            table->slots[i] = table->slots[j];
            i = j;
        }
    }
    table->slots[i] = NULL;
    table->count--;
}

static void remove_from_skeleton(CacheTable *table, const Kernel *kernel)
{
    uint32_t mask = table->skeleton_capacity - 1;
    uint32_t i = skeleton_slot(table, kernel->traced_skeleton);
    CacheSkeleton *all = table->skeletons;
    if (all[i].special == kernel)
        all[i].special = NULL;
    else if (all[i].general == kernel)
        all[i].general = NULL;
    else
        return; /* a later kernel took its place */
    if (all[i].special || all[i].general)
        return;
    for (uint32_t j = (i + 1) & mask; all[j].special || all[j].general;
         j = (j + 1) & mask) {
        if (may_move((uint32_t) all[j].hash.low & mask, i, j, mask)) {
            all[i] = all[j];
            i = j;
        }
    }
    memset(&all[i], 0, sizeof(all[i]));
    table->skeleton_count--;
}

void cache_table_remove(CacheTable *table, Kernel *kernel)
{
    remove_slot(table, kernel);
    remove_from_skeleton(table, kernel);
    detach(table, kernel);
}

void cache_table_touch(CacheTable *table, Kernel *kernel)
{
    if (table->newest == kernel)
        return;
    detach(table, kernel);
    link_newest(table, kernel);
}

void cache_table_free(CacheTable *table)
{
    alloc_free(table->slots);
    alloc_free(table->skeletons);
    memset(table, 0, sizeof(*table));
}
