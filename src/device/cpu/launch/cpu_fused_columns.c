/*
 * cpu_fused_columns.c -- see cpu_fused_columns.h
 *
 * A unit is a chunk of a panel (reduce_columns.h). Before some rows of it are taken,
 * their lanes are computed, row by row, to a tile that stays in the cache:
 *
 *     lanes of the launch        row 0:   .....[panel].....      tile:  [panel]
 *                                row 1:   .....[panel].....             [panel]
 *
 * All lanes are computed once, whatever else they write. That takes rows, and so
 * panels, that begin where code can begin (CPU_GRANULE), as many units as there are
 * threads, and reductions of one shape. Otherwise the values are *spread*, as in
 * cpu_fused.c: written to arrays first, and reduced in a second phase.
 */
#include "device/cpu/launch/cpu_fused_columns.h"

#include <string.h>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/launch/cpu_fused.h"
#include "device/cpu/launch/cpu_launch.h"
#include "device/cpu/primitives/reduce_columns.h"

enum {
    PAD = 64,   /* bytes behind a tile or an array */
    INPUTS = 4, /* that are fetched ahead */
    LINE = 64   /* bytes of a cache line */
};

/* An array of which each lane reads its entry. */
typedef struct Input {
    const char *entries;
    size_t entry; /* bytes */
} Input;

/* One reduction, and the value that it reduces. */
typedef struct FusedState {
    Columns columns; /* 'in' is NULL if the value is in tiles */
    bool reduced;    /* it is written nowhere but for that, */
    uint32_t word;   /* and this argument is its address */
    size_t tile, totals; /* in a worker's memory; or of the array in all memory */
} FusedState;

typedef struct ColumnsJob {
    CpuLaunch launch;
    Input inputs[INPUTS];
    uint32_t input_count;
    size_t ahead; /* lanes between those that are computed and those that are fetched */
    uint32_t count;
    Buffer *memory; /* of each worker: arguments, tiles, accumulators; or the arrays */
    size_t stride;  /* bytes of a worker */
    FusedState fused[];
} ColumnsJob;

bool cpu_fused_columns_suit(const Command *c)
{
    const FusedReduction *fused = command_fused(c);
    for (uint32_t i = 0; i < c->launch.fused; ++i)
        if (fused[i].stride > 1)
            return true;
    return false;
}

size_t cpu_fused_columns_state_size(const Command *c)
{
    return sizeof(ColumnsJob) + c->launch.fused * sizeof(FusedState);
}

static size_t round_up(size_t bytes)
{
    return (bytes + CPU_GRANULE - 1) / CPU_GRANULE * CPU_GRANULE;
}

/* ---------------------------------------------------------------------- tiles */

/* What computes the rows of a unit. */
typedef struct Feed {
    ColumnsFeed feed;
    CpuJob *job;
    uint32_t worker;
    uint64_t *args;
    char *memory; /* of the worker */
} Feed;

/* Each row is in another page, where the processor does not look ahead by itself. */
static void fetch_ahead(const ColumnsJob *j, size_t lane, size_t width)
{
    const size_t first = lane + j->ahead;
    if (first + width > j->launch.size)
        return;
    for (uint32_t i = 0; i < j->input_count; ++i) {
        const Input *input = &j->inputs[i];
        const char *from = input->entries + first * input->entry;
        for (size_t at = 0; at < width * input->entry; at += LINE)
            __builtin_prefetch(from + at, 0, 2);
    }
}

/* Compute lanes, to entries from 'at' on of the tiles. */
static void compute_lanes(const Feed *f, size_t lane, size_t count, size_t at)
{
    const ColumnsJob *j = f->job->state;
    for (uint32_t i = 0; i < j->count; ++i) {
        const FusedState *g = &j->fused[i];
        const size_t entry = g->columns.kernel->entry_size;
        if (g->reduced)
            f->args[g->word] = (uintptr_t) (f->memory + g->tile + at * entry) -
                               lane * entry;
    }
    fetch_ahead(j, lane, count);
    cpu_launch_lanes(f->job, &j->launch, f->args, (uint32_t) lane,
                     (uint32_t) (lane + count), f->worker);
}

static void compute_rows(ColumnsFeed *feed, const ColumnsUnit *unit, size_t first,
                         size_t count)
{
    const Feed *f = (const Feed *) (const void *) feed;
    const ColumnsJob *j = f->job->state;
    const size_t stride = j->fused[0].columns.stride;
    const size_t lane = unit->start + first * stride;
    if (unit->width == stride) {
        compute_lanes(f, lane, count * stride, 0);
        return;
    }
    for (size_t row = 0; row < count; ++row)
        compute_lanes(f, lane + row * stride, unit->width, row * unit->width);
}

static ColumnsTake find_take(const FusedState *f, const ColumnsUnit *unit, char *memory)
{
    const LaneKernel *k = f->columns.kernel;
    const bool fed = f->reduced;
    char *totals = memory + f->totals;
    return (ColumnsTake) {
        .kernel = k,
        .in = fed ? memory + f->tile : f->columns.in + unit->start * k->entry_size,
        .pitch = fed ? unit->width : f->columns.stride,
        .fed = fed,
        .totals = totals,
        .later = totals + f->columns.width * LANES_TOTALS,
    };
}

static void run_unit(CpuJob *job, uint32_t number, uint32_t worker)
{
    const ColumnsJob *j = job->state;
    const ColumnsUnit unit = columns_unit(&j->fused[0].columns, number);
    char *memory = (char *) j->memory->address + worker * j->stride;
    ColumnsTake takes[LAUNCH_FUSED];
    for (uint32_t i = 0; i < j->count; ++i)
        takes[i] = find_take(&j->fused[i], &unit, memory);
    Feed feed = { { compute_rows }, job, worker, (uint64_t *) (void *) memory, memory };
    memcpy(feed.args, j->launch.args, job->command->launch.words * sizeof(uint64_t));
    columns_run(takes, j->count, &unit, &feed.feed);
    for (uint32_t i = 0; i < j->count; ++i)
        columns_store(&j->fused[i].columns, &unit, takes[i].totals);
}

static bool finish(CpuJob *job)
{
    const ColumnsJob *j = job->state;
    for (uint32_t i = 0; i < j->count; ++i)
        columns_finish(&j->fused[i].columns);
    return true;
}

/* Put the value of a reduction, 'entries' of it, behind 'bytes' that are taken; once
 * if several reduce it. */
static size_t place_value(ColumnsJob *j, uint32_t number, size_t entries, size_t bytes)
{
    FusedState *f = &j->fused[number];
    for (uint32_t i = 0; i < number; ++i)
        if (j->fused[i].reduced && j->fused[i].word == f->word) {
            f->tile = j->fused[i].tile;
            return bytes;
        }
    f->tile = bytes;
    return round_up(bytes + entries * f->columns.kernel->entry_size + PAD);
}

static void find_inputs(ColumnsJob *j, const Command *c)
{
    const CpuSpans *spans = &j->launch.code->spans;
    for (uint32_t i = 0; i < c->slot_count; ++i)
        for (uint32_t k = 0; k < spans->count && j->input_count < INPUTS; ++k)
            if (spans->list[k].word == c->slots[i].word && spans->list[k].lanes == 1 &&
                c->slots[i].access == SLOT_READ)
                j->inputs[j->input_count++] =
                    (Input) { command_address(c, i), c->slots[i].bytes / c->size };
}

static bool plan_tiles(CpuJob *job, ColumnsJob *j)
{
    const Columns *first = &j->fused[0].columns;
    find_inputs(j, job->command);
    j->ahead = LANES_TOTALS / first->kernel->acc_size * first->stride;
    size_t bytes = round_up(job->command->launch.words * sizeof(uint64_t));
    for (uint32_t i = 0; i < j->count; ++i) {
        FusedState *f = &j->fused[i];
        const size_t width = f->columns.width;
        if (f->reduced) /* the last panel may be narrower, and have more rows */
            bytes = place_value(j, i, columns_band(f->columns.kernel, 1), bytes);
        f->totals = bytes;
        bytes += 2 * width * LANES_TOTALS;
    }
    job->blocks = (uint32_t) columns_units(first);
    if (job->workers > job->blocks)
        job->workers = job->blocks;
    j->stride = bytes;
    j->memory = buffer_get(cpu_device(), bytes * job->workers);
    job->run = run_unit;
    job->finish = finish;
    return j->memory != NULL;
}

/* --------------------------------------------------------------------- spread */

/* Units of the first reduction, of the second one, ... */
static void run_arrays(CpuJob *job, uint32_t number, uint32_t worker)
{
    (void) worker;
    const ColumnsJob *j = job->state;
    const FusedState *f = j->fused;
    size_t unit = number;
    for (; unit >= columns_units(&f->columns); ++f)
        unit -= columns_units(&f->columns);
    columns_run_stored(&f->columns, unit);
}

static bool finish_blocks(CpuJob *job)
{
    const ColumnsJob *j = job->state;
    size_t units = 0;
    for (uint32_t i = 0; i < j->count; ++i)
        units += columns_units(&j->fused[i].columns);
    job->run = run_arrays;
    job->finish = finish;
    job->blocks = (uint32_t) units;
    return false;
}

static bool plan_spread(CpuJob *job, ColumnsJob *j)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < j->count; ++i)
        if (j->fused[i].reduced)
            bytes = place_value(j, i, j->launch.size, bytes);
    j->memory = buffer_get(cpu_device(), bytes ? bytes : 1);
    TRY(j->memory, false);
    uint64_t *args = job->command->data;
    for (uint32_t i = 0; i < j->count; ++i) {
        FusedState *f = &j->fused[i];
        if (!f->reduced)
            continue;
        f->columns.in = (char *) j->memory->address + f->tile;
        args[f->word] = (uintptr_t) f->columns.in;
    }
    job->run = cpu_launch_block;
    job->finish = finish_blocks;
    return true;
}

/* ------------------------------------------------------------------- planning */

static void note_fused(ColumnsJob *j, const Command *c, const FusedReduction *reduction)
{
    FusedState *f = &j->fused[j->count++];
    const uint32_t source = reduction->source[0];
    f->columns = (Columns) {
        .kernel = reduce_lanes_get()->kernel[reduction->op][reduction->type],
        .out = command_address(c, reduction->target),
        .size = c->size,
        .block = (size_t) reduction->block,
        .stride = (size_t) reduction->stride,
    };
    f->reduced = source & FUSED_TILE;
    if (f->reduced)
        f->word = source & ~FUSED_TILE;
    else
        f->columns.in = command_address(c, source);
}

/* Do all have the shape of the first one, and could units begin where code can? */
static bool may_tile(const ColumnsJob *j)
{
    const Columns *first = &j->fused[0].columns;
    for (uint32_t i = 1; i < j->count; ++i) {
        const Columns *c = &j->fused[i].columns;
        if (c->block != first->block || c->stride != first->stride ||
            c->kernel->acc_size != first->kernel->acc_size)
            return false;
    }
    return first->stride % CPU_GRANULE == 0;
}

static bool plan_columns(ColumnsJob *j, uint32_t workers, size_t most, size_t narrow)
{
    for (uint32_t i = 0; i < j->count; ++i)
        TRY(columns_plan(&j->fused[i].columns, (size_t) workers * COLUMNS_SHARES,
                         most, narrow), false);
    return true;
}

static void release(CpuJob *job)
{
    const ColumnsJob *j = job->state;
    buffer_release(j->launch.scratch);
    buffer_release(j->memory);
    for (uint32_t i = 0; i < j->count; ++i)
        columns_release(&j->fused[i].columns);
}

bool cpu_fused_columns_plan(CpuJob *job)
{
    const Command *c = job->command;
    ColumnsJob *j = job->state;
    job->range = NULL;
    job->release = release;
    for (uint32_t i = 0; i < c->launch.fused; ++i)
        note_fused(j, c, &command_fused(c)[i]);
    const bool tile = may_tile(j);
    const size_t most = COLUMNS_PANEL / j->count / CPU_GRANULE * CPU_GRANULE;
    TRY(tile ? plan_columns(j, job->workers, most, CPU_GRANULE)
             : plan_columns(j, job->workers, COLUMNS_PANEL, COLUMNS_NARROW), false);
    const bool enough = columns_units(&j->fused[0].columns) >= job->workers;
    return tile && enough ? plan_tiles(job, j) : plan_spread(job, j);
}
