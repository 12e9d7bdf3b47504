/*
 * reduce.c -- block reductions and dot products
 *
 * Order of summation. A block of n entries is reduced as follows; nothing but n and the
 * type has an influence, and all engines and instruction sets give the same bits.
 *
 *   1. The block is cut into chunks of 65536 entries, the last one may be shorter.
 *      Steps 2-4 reduce each chunk.
 *   2. A chunk is cut into runs of 64 * W entries, W = 64 (f64: 32); the last run is
 *      shorter, possibly empty. In each run, W partial results start at the neutral
 *      element (sum: -0, which changes nothing, product: 1); entry i of the run goes to
 *      partial result i % W, in ascending order.
 *   3. W totals start at the neutral element; the partial results of each run are added
 *      to them, run after run.
 *   4. The totals are combined by halving: t[j] = t[j] + t[j + h] for all j < h, with
 *      h = W/2, W/4, ... 1. The result is t[0].
 *   5. If there was more than one chunk, their results are an array that is reduced by
 *      the same rule, starting at 1, and so on until one result is left.
 *
 * So a result has gone through at most 64 + 16 (f64: 32) + 6 roundings per level of
 * 65536 entries. A block of up to W entries is a balanced tree. f16 entries are
 * converted to f32 first, and the result to f16 last. In dot products a partial result
 * p becomes fma(a[i], b[i], p). Integers wrap, and their result does not depend on the
 * order at all.
 *
 * Min and Max ignore NaN, and -0 is smaller than +0; the result is NaN if all entries
 * are. Comparisons are made on integer keys (reduce_lanes.c), so the order has no
 * influence.
 *
 * Work is cut into units: a chunk of a long block, or as many short blocks as make up
 * about a chunk. Accumulators of chunks go to a list, and finish() does step 5. Blocks
 * of up to 64 entries are reduced side by side, all by the same halving steps.
 *
 * Blocks with a stride, the columns of matrices, are those of reduce_columns.c.
 */
#include "device/cpu/primitives/reduce.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/cpu_job.h"
#include "device/cpu/loops/reduce_lanes.h"
#include "device/cpu/pool.h"
#include "device/cpu/primitives/reduce_columns.h"

enum {
    SHORT = 64,  /* longest block that is reduced side by side with others */
    TILE = 1024, /* accumulators staged at a time */
    AHEAD = 2,   /* tiles between prefetch and use */
    MAX_ACC_SIZE = 8,
    INLINE_UNITS = 1 /* jobs of this many units are not worth sharing */
};

typedef struct Reduction {
    const LaneKernel *kernel;
    void (*dot)(const void *, bool, const void *, bool, size_t, void *); /* or NULL */
    const char *in, *second; /* 'second': the other operand of a dot product */
    bool in_scalar, second_scalar;
    char *out;
    size_t size, block;
    size_t chunks;          /* of each block */
    size_t blocks_per_unit; /* if chunks == 1 */
    char *partials;         /* size / block * chunks accumulators, if chunks > 1 */
} Reduction;

/* Work on a tile takes so long that the processor does not meet the loads of the next
 * one, and memory would be idle meanwhile. */
static void prefetch(const char *from, size_t size)
{
    enum { LINE = 64 };
    for (size_t i = 0; i < size; i += LINE)
        __builtin_prefetch(from + i);
}

/* Blocks of up to SHORT entries, padded with neutral elements to a power of two: rows
 * of a tile, whose halves are combined until one accumulator a row is left. */
static void reduce_short(const LaneKernel *k, const char *in, size_t block,
                         size_t count, char *out)
{
    _Alignas(64) char tile[TILE * MAX_ACC_SIZE], half[TILE / 2 * MAX_ACC_SIZE],
        quarter[TILE / 4 * MAX_ACC_SIZE];
    size_t width = 1;
    while (width < block)
        width *= 2;
    size_t most = TILE / width, size = most * block * k->entry_size;
    while (count > 0) {
        size_t rows = most < count ? most : count;
        const char *from = in;
        if (count > AHEAD * most)
            prefetch(in + AHEAD * size, size);
        if (!k->direct || width != block) {
            k->load(k, in, block, width, rows, false, tile);
            from = tile;
        }
        char *to = half;
        size_t left = width;
        if (width > LANES_GROUP) {
            k->core->stack(from, width / LANES_GROUP, rows, to);
            from = to;
            to = quarter;
            left = LANES_GROUP;
        }
        for (size_t h = left / 2; h > 0; h /= 2) {
            k->core->halve(from, h, rows, to);
            from = to;
            to = to == half ? quarter : half;
        }
        k->store(from, rows, rows, 1, false, out);
        in += rows * block * k->entry_size;
        out += rows * k->entry_size;
        count -= rows;
    }
}

void reduce_blocks(const LaneKernel *k, const char *in, size_t block, size_t count,
                   char *out)
{
    if (block <= SHORT) {
        reduce_short(k, in, block, count, out);
        return;
    }
    for (; count > 0; --count) {
        uint64_t acc;
        k->chunk(in, block, &acc);
        k->store(&acc, 1, 1, 1, false, out);
        in += block * k->entry_size;
        out += k->entry_size;
    }
}

/* ----------------------------------------------------------------- units */

static void reduce_unit(const Reduction *r, size_t unit)
{
    const LaneKernel *k = r->kernel;
    if (r->chunks == 1 && !r->dot) {
        size_t first = unit * r->blocks_per_unit, count = r->size / r->block - first;
        if (count > r->blocks_per_unit)
            count = r->blocks_per_unit;
        reduce_blocks(k, r->in + first * r->block * k->entry_size, r->block, count,
                      r->out + first * k->entry_size);
        return;
    }
    size_t first = unit % r->chunks * LANES_CHUNK, count = r->block - first;
    if (count > LANES_CHUNK)
        count = LANES_CHUNK;
    size_t offset = (unit / r->chunks * r->block + first) * k->entry_size;
    char *partial = r->partials + unit * k->acc_size;
    if (r->dot)
        r->dot(r->in_scalar ? r->in : r->in + offset, r->in_scalar,
               r->second_scalar ? r->second : r->second + offset, r->second_scalar,
               count, partial);
    else
        k->chunk(r->in + offset, count, partial);
}

/* Step 5 of the rule, in place; the result is partials[0]. */
static void fused_partials(const LaneKernel *k, char *partials, size_t count)
{
    while (count > 1) {
        size_t chunks = (count + LANES_CHUNK - 1) / LANES_CHUNK;
        for (size_t i = 0; i < chunks; ++i) {
            size_t first = i * LANES_CHUNK, length = count - first;
            uint64_t acc;
            k->core->fold(partials + first * k->acc_size,
                          length < LANES_CHUNK ? length : LANES_CHUNK, &acc);
            memcpy(partials + i * k->acc_size, &acc, k->acc_size);
        }
        count = chunks;
    }
}

void reduce_finish(const LaneKernel *k, char *partials, size_t chunks, size_t count,
                   char *out)
{
    for (; count > 0; --count) {
        fused_partials(k, partials, chunks);
        k->store(partials, 1, 1, 1, false, out);
        partials += chunks * k->acc_size;
        out += k->entry_size;
    }
}

static void finish_reduction(const Reduction *r)
{
    if (r->chunks > 1 || r->dot)
        reduce_finish(r->kernel, r->partials, r->chunks, r->size / r->block, r->out);
}

/* Fill in the derived fields, with memory for accumulators of chunks; the number of
 * units, 0 if out of memory. */
static size_t plan(Reduction *r)
{
    size_t blocks = r->size / r->block;
    r->chunks = (r->block + LANES_CHUNK - 1) / LANES_CHUNK;
    if (r->chunks > 1 || r->dot) {
        r->partials = alloc_get(blocks * r->chunks * r->kernel->acc_size);
        TRY(r->partials, 0);
    }
    if (r->partials)
        return blocks * r->chunks;
    r->blocks_per_unit = LANES_CHUNK / r->block;
    return (blocks + r->blocks_per_unit - 1) / r->blocks_per_unit;
}

_Static_assert((int) DEVICE_AT_ONCE <= (int) LANES_CHUNK, "a chunk, as said above");

void reduce_small(ReduceOp op, VarType type, const void *in, size_t block, size_t count,
                  void *out)
{
    reduce_blocks(reduce_lanes_get()->kernel[op][type], in, block, count, out);
}

void reduce_small_dot(VarType type, const void *a, bool a_scalar, const void *b,
                      bool b_scalar, size_t size, void *out)
{
    const LaneDot *dot = &reduce_lanes_get()->dot[type];
    uint64_t acc;
    dot->chunk(a, a_scalar, b, b_scalar, size, &acc);
    dot->sum->store(&acc, 1, 1, 1, false, out);
}

bool reduce_now(ReduceOp op, VarType type, const void *in, size_t size, void *out)
{
    const LaneKernel *k = reduce_lanes_get()->kernel[op][type];
    if (size == 1) {
        memcpy(out, in, k->entry_size);
    } else if (size <= LANES_CHUNK) {
        reduce_blocks(k, in, size, 1, out);
    } else {
        Reduction r = { .kernel = k, .in = in, .out = out };
        r.size = r.block = size;
        size_t units = plan(&r);
        TRY(units, false);
        for (size_t i = 0; i < units; ++i)
            reduce_unit(&r, i);
        finish_reduction(&r);
        alloc_free(r.partials);
    }
    return true;
}

/* ----------------------------------------------------------------- commands */

static void run(CpuJob *job, uint32_t unit, uint32_t worker)
{
    (void) worker;
    reduce_unit(job->state, unit);
}

static void run_range(CpuJob *job, const uint64_t *args, uint32_t begin, uint32_t end,
                      uint32_t worker)
{
    (void) args;
    (void) worker;
    const Reduction *r = job->state;
    const LaneKernel *k = r->kernel;
    reduce_blocks(k, r->in + (size_t) begin * k->entry_size, r->block,
                  (end - begin) / r->block, r->out + begin / r->block * k->entry_size);
}

static bool finish(CpuJob *job)
{
    finish_reduction(job->state);
    return true;
}

static void release(CpuJob *job)
{
    alloc_free(((Reduction *) job->state)->partials);
}

static bool plan_units(CpuJob *job, Reduction *r)
{
    size_t units = plan(r);
    job->run = run;
    job->finish = finish;
    job->release = release;
    job->blocks = (uint32_t) units;
    job->small = units <= INLINE_UNITS;
    return units != 0;
}

static void run_columns(CpuJob *job, uint32_t unit, uint32_t worker)
{
    (void) worker;
    columns_run_stored(job->state, unit);
}

static bool finish_columns(CpuJob *job)
{
    columns_finish(job->state);
    return true;
}

static void release_columns(CpuJob *job)
{
    columns_release(job->state);
}

static bool prepare_columns(CpuJob *job)
{
    const Command *command = job->command;
    Columns *c = cpu_job_state(job, sizeof *c);
    c->kernel = reduce_lanes_get()->kernel[command->reduce.op][command->reduce.type];
    c->in = command_address(command, 0);
    c->out = command_address(command, 1);
    c->size = command->size;
    c->block = command->reduce.block;
    c->stride = command->reduce.stride;
    job->run = run_columns;
    job->finish = finish_columns;
    job->release = release_columns;
    TRY(columns_plan(c, (size_t) pool_size() * COLUMNS_SHARES, COLUMNS_PANEL,
                     COLUMNS_NARROW), false);
    job->blocks = (uint32_t) columns_units(c);
    job->small = job->blocks <= INLINE_UNITS;
    return true;
}

bool reduce_prepare(CpuJob *job)
{
    const Command *c = job->command;
    if (c->reduce.stride > 1)
        return prepare_columns(job);
    Reduction *r = cpu_job_state(job, sizeof *r);
    r->kernel = reduce_lanes_get()->kernel[c->reduce.op][c->reduce.type];
    r->in = command_address(c, 0);
    r->out = command_address(c, 1);
    r->size = c->size;
    r->block = c->reduce.block;
    if (r->block <= LANES_CHUNK) {
        job->range = run_range;
        job->granule = (uint32_t) r->block;
        job->most = UINT32_MAX;
    }
    return plan_units(job, r);
}

bool reduce_prepare_dot(CpuJob *job)
{
    const Command *c = job->command;
    const LaneDot *dot = &reduce_lanes_get()->dot[c->dot.type];
    size_t entry = dot->sum->entry_size;
    Reduction *r = cpu_job_state(job, sizeof *r);
    r->kernel = dot->sum;
    r->dot = dot->chunk;
    r->in = command_address(c, 0);
    r->in_scalar = c->slots[0].bytes == entry;
    r->second = command_address(c, 1);
    r->second_scalar = c->slots[1].bytes == entry;
    r->out = command_address(c, 2);
    r->size = r->block = c->size;
    return plan_units(job, r);
}
