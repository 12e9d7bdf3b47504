/*
 * table.c -- open addressing with linear probing
 *
 * An entry lives at the first free slot at or after its hash's home slot. Deletion
 * moves later entries of the same run back, so there are no tombstones and an empty
 * slot always ends a search. At most three quarters of the slots are in use.
 */
#include "base/table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"

enum { TABLE_SMALLEST = 16 };

/* The slot that holds the key, or the free slot that ends its search. The table is not
 * empty-handed (capacity > 0). */
static TableEntry *find(const Table *table, const void *key, size_t key_size,
                        uint64_t hash)
{
    uint32_t mask = table->capacity - 1;
    for (uint32_t i = (uint32_t) hash & mask;; i = (i + 1) & mask) {
        TableEntry *entry = &table->entries[i];
        if (!entry->key)
            return entry;
        if (entry->hash == hash && entry->key_size == key_size &&
            memcmp(entry->key, key, key_size) == 0)
            return entry;
    }
}

static bool grow(Table *table)
{
    if (table->capacity > UINT32_MAX / 2)
        return error_set(JIT_ERROR_MEMORY,
                         "out of memory: a table of %u entries is full", table->count);
    Table larger = { .capacity = table->capacity ? table->capacity * 2 : TABLE_SMALLEST,
                     .count = table->count };
    larger.entries = alloc_zero(larger.capacity, sizeof *larger.entries);
    if (!larger.entries)
        return false;

    uint32_t mask = larger.capacity - 1;
    for (uint32_t i = 0; i < table->capacity; ++i) {
        const TableEntry *entry = &table->entries[i];
        if (!entry->key)
            continue;
        uint32_t slot = (uint32_t) entry->hash & mask;
        while (larger.entries[slot].key)
            slot = (slot + 1) & mask;
        larger.entries[slot] = *entry;
    }
    alloc_free(table->entries);
    *table = larger;
    return true;
}

void *table_get(const Table *table, const void *key, size_t key_size)
{
    if (!table->count)
        return NULL;
    return find(table, key, key_size, hash_64(key, key_size, 0))->value;
}

/* The entry of a key, which gets one with this value if it has none. NULL: memory is
 * out. */
static TableEntry *enter(Table *table, const void *key, size_t key_size, void *value)
{
    uint64_t hash = hash_64(key, key_size, 0);
    TableEntry *entry =
        table->capacity ? find(table, key, key_size, hash) : NULL;
    if (entry && entry->key)
        return entry;
    if (table->count >= table->capacity / 4 * 3) {
        TRY(grow(table), NULL);
        entry = find(table, key, key_size, hash);
    }
    void *copy = alloc_get(key_size);
    TRY(copy, NULL);
    if (key_size)
        memcpy(copy, key, key_size);
    *entry = (TableEntry) { copy, key_size, hash, value };
    ++table->count;
    return entry;
}

bool table_put(Table *table, const void *key, size_t key_size, void *value)
{
    TableEntry *entry = enter(table, key, key_size, value);
    TRY(entry, false);
    entry->value = value;
    return true;
}

uint32_t table_number(Table *table, const void *key, size_t key_size, uint32_t fresh)
{
    /* The value is the number + 1. */
    const TableEntry *entry =
        enter(table, key, key_size, (void *) ((uintptr_t) fresh + 1));
    return entry ? (uint32_t) ((uintptr_t) entry->value - 1) : UINT32_MAX;
}

void *table_remove(Table *table, const void *key, size_t key_size)
{
    if (!table->count)
        return NULL;
    TableEntry *entry = find(table, key, key_size, hash_64(key, key_size, 0));
    if (!entry->key)
        return NULL;
    void *value = entry->value;
    alloc_free(entry->key);
    --table->count;

    /* Close the gap: an entry of the run may move back into it unless its home slot
     * lies between the gap and itself (cyclically), where a search would no longer find
     * it. */
    uint32_t mask = table->capacity - 1;
    uint32_t gap = (uint32_t) (entry - table->entries);
    for (uint32_t i = (gap + 1) & mask; table->entries[i].key; i = (i + 1) & mask) {
        uint32_t home = (uint32_t) table->entries[i].hash & mask;
        if (((i - home) & mask) >= ((i - gap) & mask)) {
            table->entries[gap] = table->entries[i];
            gap = i;
        }
    }
    table->entries[gap] = (TableEntry) { 0 };
    return value;
}

void table_free(Table *table)
{
    for (uint32_t i = 0; i < table->capacity; ++i)
        if (table->entries[i].key)
            alloc_free(table->entries[i].key);
    alloc_free(table->entries);
    *table = (Table) { 0 };
}
