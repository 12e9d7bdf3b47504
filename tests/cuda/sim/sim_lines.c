/*
 * sim_lines.c -- ld.global.nc of what the launch writes
 *
 * A table of lines of 64 bytes, with a bit for each byte that was read so, and one for
 * each that was written.
 */
#include "sim_space.h"

#include <stdlib.h>

typedef struct Line {
    uint64_t number; /* address / 64 */
    uint64_t read, written;
} Line;

struct LineTable {
    Line *lines;
    uint32_t capacity, count; /* a power of two */
};

LineTable *lines_new(void)
{
    LineTable *t = sim_alloc(sizeof(*t));
    t->capacity = 256;
    t->lines = sim_alloc(t->capacity * sizeof(Line));
    return t;
}

void lines_delete(LineTable *t)
{
    if (t)
        free(t->lines);
    free(t);
}

/* A line without any bit is a free slot. */
static Line *slot_of(const LineTable *t, uint64_t number)
{
    uint32_t mask = t->capacity - 1;
    uint32_t at = (uint32_t) (number * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
    while ((t->lines[at].read | t->lines[at].written) && t->lines[at].number != number)
        at = (at + 1) & mask;
    return &t->lines[at];
}

static void grow(LineTable *t)
{
    LineTable larger = { .capacity = t->capacity * 4, .count = t->count };
    larger.lines = sim_alloc(larger.capacity * sizeof(Line));
    for (uint32_t i = 0; i < t->capacity; i++) {
        if (t->lines[i].read | t->lines[i].written)
            *slot_of(&larger, t->lines[i].number) = t->lines[i];
    }
    free(t->lines);
    *t = larger;
}

/* An access is aligned and has at most 32 bytes: it lies in one line. */
bool lines_check(Warp *w, uint32_t lane, uint64_t address, uint32_t bytes, bool written)
{
    LineTable *t = w->run->lines;
    uint64_t bits = ((UINT64_C(1) << bytes) - 1) << (address & 63);
    if (t->count * 2 >= t->capacity)
        grow(t);
    Line *line = slot_of(t, address / 64);
    t->count += !(line->read | line->written);
    line->number = address / 64;
    if (bits & (written ? line->read : line->written)) {
        sim_fault(w, lane,
                  written ? "a store to 0x%llx, which ld.global.nc has read"
                          : "ld.global.nc of 0x%llx, which the launch writes",
                  (unsigned long long) address);
        return false;
    }
    *(written ? &line->written : &line->read) |= bits;
    return true;
}
