/*
 * sim_buffer.c -- stores to global memory that other blocks do not see yet
 *
 * Entries are words of eight bytes with a mask of those that were stored; a hash index
 * finds them. An entry that was written to memory stays, with an empty mask, until all
 * are: then the index is cleared.
 */
#include "sim_space.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 512, SLOTS = 2048 };

typedef struct Entry {
    uint64_t word; /* address / 8 */
    uint64_t data;
    SimAllocation *allocation;
    uint32_t mask;
} Entry;

struct Buffer {
    uint32_t count, full;  /* entries, and those with a mask that is not empty */
    uint16_t index[SLOTS]; /* number of an entry, and one more */
    Entry entries[ENTRIES];
};

Buffer *sim_buffer_new(void)
{
    return sim_alloc(sizeof(Buffer));
}

static uint32_t slot_of(const Buffer *b, uint64_t word)
{
    uint32_t slot = (uint32_t) (word * UINT64_C(0x9e3779b97f4a7c15) >> 53) % SLOTS;
    while (b->index[slot] && b->entries[b->index[slot] - 1].word != word)
        slot = (slot + 1) % SLOTS;
    return slot;
}

static void write_entry(Buffer *b, Entry *e)
{
    uint64_t address = e->word * 8;
    if (!e->mask)
        return;
    if (e->mask == 0xff) {
        space_store_global(address, 8, e->data);
    } else {
        for (uint32_t k = 0; k < 8;) {
            /* The widest aligned part that was stored as a whole. */
            uint32_t bytes = k == 0 || k == 4 ? 4 : k == 2 || k == 6 ? 2 : 1;
            while (bytes > 1 &&
                   (e->mask >> k & ((1u << bytes) - 1)) != (1u << bytes) - 1)
                bytes /= 2;
            if (e->mask >> k & 1)
                space_store_global(address + k, bytes, e->data >> k * 8);
            k += bytes;
        }
    }
    for (uint32_t k = 0; e->allocation && k < 8; k++) {
        if (e->mask >> k & 1)
            memory_set_written(e->allocation, address + k, 1);
    }
    e->mask = 0;
    b->full--;
}

void sim_buffer_flush(Buffer *b)
{
    for (uint32_t k = 0; k < b->count; k++) {
        Entry *e = &b->entries[k];
        write_entry(b, e);
    }
    if (b->count)
        memset(b->index, 0, sizeof(b->index));
    b->count = 0;
}

void sim_buffer_flush_word(Buffer *b, uint64_t address)
{
    uint32_t number = b->count ? b->index[slot_of(b, address / 8)] : 0;
    if (number)
        write_entry(b, &b->entries[number - 1]);
}

void sim_buffer_leak(Buffer *b, Run *run)
{
    uint64_t bits = 0;
    for (uint32_t k = 0; k < b->count; k++) {
        if (k % 64 == 0)
            bits = sim_random(run);
        if (bits >> k % 64 & 1)
            write_entry(b, &b->entries[k]);
    }
    if (b->count && !b->full)
        sim_buffer_flush(b);
}

void sim_buffer_put(Buffer *b, uint64_t address, uint32_t bytes, uint64_t value,
                SimAllocation *allocation)
{
    uint32_t slot = slot_of(b, address / 8);
    if (!b->index[slot]) {
        if (b->count == ENTRIES) {
            sim_buffer_flush(b);
            slot = slot_of(b, address / 8);
        }
        b->entries[b->count] = (Entry){ .word = address / 8, .allocation = allocation };
        b->index[slot] = (uint16_t) ++b->count;
    }
    Entry *e = &b->entries[b->index[slot] - 1];
    uint32_t shift = (uint32_t) (address & 7) * 8;
    uint64_t ones = bytes < 8 ? (UINT64_C(1) << bytes * 8) - 1 : UINT64_MAX;
    b->full += !e->mask;
    e->data = (e->data & ~(ones << shift)) | (value & ones) << shift;
    e->mask |= ((1u << bytes) - 1) << (address & 7);
}

uint32_t sim_buffer_get(const Buffer *b, uint64_t address, uint32_t bytes,
                        uint64_t *value)
{
    uint32_t number = b->full ? b->index[slot_of(b, address / 8)] : 0;
    if (!number)
        return 0;
    const Entry *e = &b->entries[number - 1];
    uint32_t mask = e->mask >> (address & 7) & ((1u << bytes) - 1);
    uint64_t data = e->data >> (address & 7) * 8;
    for (uint32_t k = 0; k < bytes; k++) {
        uint64_t byte = UINT64_C(255) << k * 8;
        if (mask >> k & 1)
            *value = (*value & ~byte) | (data & byte);
    }
    return mask;
}
