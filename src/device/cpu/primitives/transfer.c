/*
 * transfer.c -- copies, fills and aggregation on the CPU
 *
 * Work is cut into grains of GRAIN bytes: large enough to drown the cost of taking a
 * block, small enough that threads finish together. Up to SMALL bytes, sharing costs
 * more than it brings.
 */
#include "device/cpu/primitives/transfer.h"

#include <string.h>

#include "device/cpu/cpu_job.h"

enum { GRAIN = 256 << 10, SMALL = 64 << 10 };

typedef struct Transfer {
    unsigned char *dst;
    const unsigned char *src;
    size_t size;   /* bytes */
    size_t grain;  /* of one block */
    uint64_t bits; /* fill: the item, repeated to 8 bytes */
} Transfer;

/* Offsets of the part that is block's. */
static size_t part(const Transfer *t, uint32_t block, size_t *begin)
{
    *begin = block * t->grain;
    size_t rest = t->size - *begin;
    return rest < t->grain ? rest : t->grain;
}

/* Cut 'size' bytes into grains, such that blocks can be counted in 32 bits. */
static Transfer *plan(CpuJob *job, size_t size,
                      void (*run)(CpuJob *job, uint32_t block, uint32_t worker))
{
    Transfer *t = cpu_job_state(job, sizeof *t);
    t->size = size;
    t->grain = GRAIN;
    while (size / t->grain >= UINT32_MAX)
        t->grain *= 2;
    job->run = run;
    job->blocks = (uint32_t) ((size + t->grain - 1) / t->grain);
    job->small = size <= SMALL;
    return t;
}

static void run_copy(CpuJob *job, uint32_t block, uint32_t worker)
{
    const Transfer *t = job->state;
    size_t begin, size = part(t, block, &begin);
    (void) worker;
    memmove(t->dst + begin, t->src + begin, size);
}

bool transfer_prepare_copy(CpuJob *job)
{
    const Command *c = job->command;
    Transfer *t = plan(job, c->size, run_copy);
    t->src = command_address(c, 0);
    t->dst = command_address(c, 1);
    /* Overlapping regions must be moved by one thread in one go. */
    uintptr_t d = (uintptr_t) t->dst, s = (uintptr_t) t->src;
    if (d < s + t->size && s < d + t->size) {
        t->grain = t->size;
        job->blocks = 1;
    }
    return true;
}

/* The item, repeated to 8 bytes. */
static uint64_t repeat(uint64_t bits, uint32_t item_size)
{
    static const uint64_t ones[] = { [1] = 0x0101010101010101u,
                                     [2] = 0x0001000100010001u,
                                     [4] = 0x0000000100000001u, [8] = 1 };
    return (bits & UINT64_MAX >> (64 - 8 * item_size)) * ones[item_size];
}

static void fill(unsigned char *dst, size_t size, uint64_t bits)
{
    if (bits == (bits & 0xff) * 0x0101010101010101u) {
        memset(dst, (int) (bits & 0xff), size);
        return;
    }
    size_t whole = size / 8 * 8;
    for (size_t i = 0; i < whole; i += 8)
        memcpy(dst + i, &bits, 8);
    memcpy(dst + whole, &bits, size - whole);
}

void transfer_fill(void *dst, size_t size, uint64_t bits, uint32_t item_size)
{
    fill(dst, size, repeat(bits, item_size));
}

/* Grains are multiples of 8, so the pattern starts anew with each block. */
static void run_fill(CpuJob *job, uint32_t block, uint32_t worker)
{
    const Transfer *t = job->state;
    size_t begin, size = part(t, block, &begin);
    (void) worker;
    fill(t->dst + begin, size, t->bits);
}

bool transfer_prepare_fill(CpuJob *job)
{
    const Command *c = job->command;
    Transfer *t = plan(job, c->slots[0].bytes, run_fill);
    t->dst = command_address(c, 0);
    t->bits = repeat(c->fill.bits, c->fill.item_size);
    return true;
}

/* Addresses among the entries stand in slots. */
static void run_aggregate(CpuJob *job, uint32_t block, uint32_t worker)
{
    const Command *c = job->command;
    const AggregationEntry *entries = c->data;
    unsigned char *dst = command_address(c, 0);
    (void) block;
    (void) worker;
    for (uint32_t i = 0; i < c->size; i++) {
        const AggregationEntry *e = &entries[i];
        if (e->size >= 0)
            memcpy(dst + e->offset, &e->src, (size_t) e->size);
    }
    for (uint32_t i = 1; i < c->slot_count; i++)
        memcpy(dst + entries[c->slots[i].word].offset, command_address(c, i),
               c->slots[i].bytes);
}

bool transfer_prepare_aggregate(CpuJob *job)
{
    job->run = run_aggregate;
    job->blocks = 1;
    job->small = job->command->size * sizeof(AggregationEntry) <= SMALL;
    return true;
}
