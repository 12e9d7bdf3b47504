/*
 * table.h -- hash table from byte-string keys to pointers
 *
 * Open addressing with linear probing and backward-shift deletion, once there are more
 * than a few. Keys are copied. Meant for tables that are not on a hot path (registry,
 * names, disk index); value numbering and the kernel cache have tables of their own.
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct TableEntry {
    union {
        void *copy;    /* owned, */
        uint64_t word; /* or the key itself, if it has up to eight bytes */
    } key;
    size_t size;       /* of the key, and one more; 0 = free slot */
    uint64_t hash;     /* once there are many */
    void *value;
} TableEntry;

typedef struct Table {
    TableEntry *entries;
    uint32_t capacity, count; /* capacity is a power of two or 0 */
} Table;

/** Value of a key, NULL if absent. A zeroed Table is a valid empty one. */
void *table_get(const Table *table, const void *key, size_t key_size);
/** Insert or replace. False (nothing changed) when out of memory. */
bool table_put(Table *table, const void *key, size_t key_size, void *value);
/** The number of a key, which is 'fresh' from now on if it had none. UINT32_MAX: out of
 *  memory. All values of such a table are numbers. */
uint32_t table_number(Table *table, const void *key, size_t key_size, uint32_t fresh);
/** Take a key out; returns its value, NULL if it was absent. */
void *table_remove(Table *table, const void *key, size_t key_size);
/** Release the table (not the values). */
void table_free(Table *table);

#endif
