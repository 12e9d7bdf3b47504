/*
 * table.c -- a few entries one after the other; more by open addressing, with linear
 * probing
 *
 * While there are no more than FEW, a search looks at all of them. Then an entry lives
 * at the first free slot at or after its hash's home slot. Deletion moves later entries
 * of the same run back, so there are no tombstones and an empty slot always ends a
 * search. At most three quarters of the slots are in use.
 */
#include "base/table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"

enum { FEW = 8, FIRST_SLOTS = 32 };

static bool is_few(const Table *table) { return table->capacity <= FEW; }

/* Keys of up to eight bytes are kept as such a word. */
static bool is_short(size_t key_size) { return key_size <= sizeof(uint64_t); }

static uint64_t word_of(const void *key, size_t key_size)
{
    uint64_t word = 0;
    if (key_size == sizeof(uint64_t))
        memcpy(&word, key, sizeof(uint64_t));
    else if (key_size == sizeof(uint32_t))
        memcpy(&word, key, sizeof(uint32_t));
    else if (key_size)
        memcpy(&word, key, key_size);
    return word;
}

/* A key that is looked for. */
typedef struct Wanted {
    const void *key;
    size_t size;
    uint64_t word; /* if it is short */
    uint64_t hash; /* once it is needed */
} Wanted;

static Wanted wanted(const Table *table, const void *key, size_t key_size)
{
    return (Wanted) { key, key_size, is_short(key_size) ? word_of(key, key_size) : 0,
                      is_few(table) ? 0 : hash_64(key, key_size, 0) };
}

static bool has_key(const TableEntry *entry, const Wanted *w)
{
    return entry->size == w->size + 1 &&
           (is_short(w->size) ? entry->key.word == w->word
                              : memcmp(entry->key.copy, w->key, w->size) == 0);
}

/* The slot that holds the key, or the free slot that ends its search. */
static TableEntry *find_slot(const Table *table, const Wanted *w)
{
    uint32_t mask = table->capacity - 1;
    for (uint32_t i = (uint32_t) w->hash & mask;; i = (i + 1) & mask) {
        TableEntry *entry = &table->entries[i];
        if (!entry->size || (entry->hash == w->hash && has_key(entry, w)))
            return entry;
    }
}

/* The entry of a key, NULL if there is none. */
static TableEntry *find(const Table *table, const Wanted *w)
{
    if (!is_few(table)) {
        TableEntry *entry = find_slot(table, w);
        return entry->size ? entry : NULL;
    }
    for (uint32_t i = 0; i < table->count; ++i)
        if (has_key(&table->entries[i], w))
            return &table->entries[i];
    return NULL;
}

static uint64_t hash_of(const Table *table, const TableEntry *entry)
{
    if (!is_few(table))
        return entry->hash;
    const size_t size = entry->size - 1;
    return hash_64(is_short(size) ? (const void *) &entry->key.word : entry->key.copy,
                   size, 0);
}

static bool grow(Table *table)
{
    if (table->capacity > UINT32_MAX / 2)
        return error_set(JIT_ERROR_MEMORY,
                         "out of memory: a table of %u entries is full", table->count);
    Table larger = { .capacity = !table->capacity ? FEW
                                 : is_few(table)  ? FIRST_SLOTS
                                                  : table->capacity * 2,
                     .count = table->count };
    larger.entries = alloc_zero(larger.capacity, sizeof *larger.entries);
    if (!larger.entries)
        return false;

    uint32_t mask = larger.capacity - 1;
    for (uint32_t i = 0; i < table->capacity; ++i) {
        const TableEntry *entry = &table->entries[i];
        if (!entry->size)
            continue;
        uint64_t hash = hash_of(table, entry);
        uint32_t slot = (uint32_t) hash & mask;
        while (larger.entries[slot].size)
            slot = (slot + 1) & mask;
        larger.entries[slot] = *entry;
        larger.entries[slot].hash = hash;
    }
    alloc_free(table->entries);
    *table = larger;
    return true;
}

static bool is_full(const Table *table)
{
    return is_few(table) ? table->count == table->capacity
                         : table->count >= table->capacity / 4 * 3;
}

void *table_get(const Table *table, const void *key, size_t key_size)
{
    if (!table->count)
        return NULL;
    const Wanted w = wanted(table, key, key_size);
    const TableEntry *entry = find(table, &w);
    return entry ? entry->value : NULL;
}

/* The entry of a key, which gets one with this value if it has none. NULL: out of
 * memory. */
static TableEntry *enter(Table *table, const void *key, size_t key_size, void *value)
{
    Wanted w = wanted(table, key, key_size);
    TableEntry *entry = find(table, &w);
    if (entry)
        return entry;
    if (is_full(table)) {
        TRY(grow(table), NULL);
        w = wanted(table, key, key_size);
    }
    entry = is_few(table) ? &table->entries[table->count] : find_slot(table, &w);
    TableEntry added = { { .word = w.word }, key_size + 1, w.hash, value };
    if (!is_short(key_size)) {
        TRY(added.key.copy = alloc_get(key_size), NULL);
        memcpy(added.key.copy, key, key_size);
    }
    *entry = added;
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

/* Close a gap: an entry of the run may move back into it unless its home slot lies
 * between the gap and itself (cyclically), where a search would no longer find it. */
static void close_gap(Table *table, uint32_t gap)
{
    uint32_t mask = table->capacity - 1;
    for (uint32_t i = (gap + 1) & mask; table->entries[i].size; i = (i + 1) & mask) {
        uint32_t home = (uint32_t) table->entries[i].hash & mask;
        if (((i - home) & mask) >= ((i - gap) & mask)) {
            table->entries[gap] = table->entries[i];
            gap = i;
        }
    }
    table->entries[gap] = (TableEntry) { 0 };
}

static void free_key(const TableEntry *entry)
{
    if (entry->size && !is_short(entry->size - 1))
        alloc_free(entry->key.copy);
}

void *table_remove(Table *table, const void *key, size_t key_size)
{
    if (!table->count)
        return NULL;
    const Wanted w = wanted(table, key, key_size);
    TableEntry *entry = find(table, &w);
    if (!entry)
        return NULL;
    void *value = entry->value;
    free_key(entry);
    --table->count;
    if (is_few(table)) {
        *entry = table->entries[table->count];
        table->entries[table->count] = (TableEntry) { 0 };
    } else {
        close_gap(table, (uint32_t) (entry - table->entries));
    }
    return value;
}

void table_free(Table *table)
{
    for (uint32_t i = 0; i < (is_few(table) ? table->count : table->capacity); ++i)
        free_key(&table->entries[i]);
    alloc_free(table->entries);
    *table = (Table) { 0 };
}
