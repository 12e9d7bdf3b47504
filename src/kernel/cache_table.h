/*
 * cache_table.h -- the tables behind the kernel cache; no locks, no engines
 */
#ifndef KERNEL_CACHE_TABLE_H
#define KERNEL_CACHE_TABLE_H

#include "kernel/cache.h"

/** The kernels that serve traced Programs of one skeleton, the most recent one of each
 *  kind. */
typedef struct CacheSkeleton {
    Hash128 hash;
    Kernel *special, *general; /* NULL if there is none; both NULL: free slot */
} CacheSkeleton;

/** A zeroed CacheTable is a valid empty one. */
typedef struct CacheTable {
    Kernel **slots; /* by key.full, open addressing; capacity is a power of two or 0 */
    CacheSkeleton *skeletons; /* by traced_skeleton, likewise */
    uint32_t capacity, count;
    uint32_t skeleton_capacity, skeleton_count;
    Kernel *newest, *oldest;
} CacheTable;

/** The kernel made for exactly this Program, NULL if there is none. */
Kernel *cache_table_find(const CacheTable *table, const Program *program, Hash128 full);
/** The generalised kernel that can run a traced Program, NULL if there is none. */
Kernel *cache_table_find_general(const CacheTable *table, const Program *program,
                                 Hash128 skeleton);
/** A kernel that differs from a traced Program by literals only, preferably a
 *  generalised one; NULL if there is none. */
Kernel *cache_table_find_sibling(const CacheTable *table, const Program *program,
                                 Hash128 skeleton);
/** Enter a kernel as the most recently used one. False (nothing changed) when out of
 *  memory. */
bool cache_table_insert(CacheTable *table, Kernel *kernel);
/** Take a kernel out. */
void cache_table_remove(CacheTable *table, Kernel *kernel);
/** Make a kernel the most recently used one. */
void cache_table_touch(CacheTable *table, Kernel *kernel);
/** Release the tables, not the kernels. */
void cache_table_free(CacheTable *table);

#endif
