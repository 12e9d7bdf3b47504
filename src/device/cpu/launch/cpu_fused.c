/*
 * cpu_fused.c -- see cpu_fused.h
 *
 * A value that is only reduced is never written to memory: lanes are computed a tile
 * at a time, by ordinary code that stores its results in the tile, which stays in the
 * cache and is reduced before the next one is computed. Tiles of a quarter of the lanes
 * fit the first-level cache and were slower: memory is idle between two of them.
 *
 *     unit: tile, tile, ...      lanes, in one thread
 *             │     │ reduction
 *             ▼     ▼
 *     totals of a chunk, then its partial result; results when all units are
 *
 * The order of summation is that of reduce.c, so that the bits are those of a reduction
 * of the value in memory: units begin where blocks or chunks do, and what is left of a
 * tile behind the last whole block, or the last whole part of a chunk, waits in front
 * of the next tile.
 *
 * Code that adds (CpuCode.adds) writes no tile for sums of long blocks. A tile is a run
 * of reduce.c then, and where it is a whole one, code is given its partial results.
 * They are reduced as if they were the values: each meets a neutral element, and so
 * stays what it is, and is added to the totals.
 *
 * Masks are compressed and prefix reductions performed in the same way, but for these a
 * unit is one tile. Where they carry something from unit to unit, threads draw units in
 * that order; from the last lane on, if it is a prefix reduction from the end.
 *
 * A unit has as many lanes as a chunk. Where that would leave threads without work, the
 * values are *spread*: written to arrays by the blocks that the launch would have
 * without reductions, and reduced in a second phase. These arrays are small, as there
 * are few units. So are values that have to be in one tile which would be too large, or
 * would begin at a lane where code cannot begin; and those of reductions that shared a
 * unit in a launch of few lanes, which a frozen function repeats with many.
 */
#include "device/cpu/launch/cpu_fused.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/launch/cpu_fused_columns.h"
#include "device/cpu/launch/cpu_launch.h"
#include "device/cpu/loops/reduce_lanes.h"
#include "device/cpu/primitives/reduce.h"
#include "device/cpu/primitives/scan.h"
#include "ir/reduce_rule.h"

enum {
    TILE = 4 * LANES_PART, /* lanes, if values are reduced; in the second-level cache */
    LEAD = LANES_PART, /* entries before a tile, for those that wait */
    MOST_TILE = 4 * LANES_CHUNK, /* lanes of a unit that is one tile, at most */
    PAD = 64,          /* bytes behind a tile */
    LEAST = LANES_PART, /* lanes of a unit, if there are that many */
    SPREAD = 4,        /* fewer units than this for each worker are spread, */
    SPREAD_LOOPS = 16  /* or this, where some lanes may take much longer than others */
};

/* One reduction. */
typedef struct FusedState {
    bool adds;               /* its value may be partial results */
    const LaneKernel *kernel;
    const LaneDot *dot;   /* NULL if there is one operand */
    Scan *scan;           /* NULL if it is not a prefix reduction */
    const char *array[2]; /* operands in memory; NULL: a value */
    uint32_t value[2];    /* the number of that */
    size_t block, chunks; /* entries of a block, chunks of each */
    char *out;
    char *partials;       /* accumulators of all chunks; NULL where they are results */
} FusedState;

/* A value that is reduced, in a tile, or in an output of the launch. */
typedef struct Value {
    uint32_t word, entry; /* of the arguments; bytes */
    bool stored;          /* an output */
    const LaneKernel *sum; /* the code can add it up, to such accumulators; or NULL */
    size_t offset;        /* of the tile in a worker's memory, or of the array in all
                             memory */
    size_t partials;      /* of its partial results */
} Value;

typedef struct FusedJob {
    CpuLaunch launch;
    FusedState *fused;
    Value *values;
    uint32_t count, value_count, tile_count;
    uint32_t unit;     /* lanes */
    bool whole;        /* a unit is one tile */
    uint32_t run;      /* lanes of a tile that code adds up; 0: of none */
    bool ordered;      /* units are drawn in order, */
    bool reverse;      /* from the last lane on */
    _Atomic uint64_t ticket;
    bool spread;       /* the first phase writes arrays */
    bool differ;       /* their blocks, or their directions: only a unit that is all
                          lanes suits all reductions */
    Buffer *memory;    /* of each worker: arguments, tiles; or the arrays */
    size_t stride;     /* bytes of a worker */
    char *partials;    /* all of them */
    uint32_t tile;     /* lanes computed at a time */
    ScanCompression compression; /* 'out' is NULL if there is none */
    const uint8_t *mask;         /* NULL: in tiles */
} FusedJob;

/* Where one reduction is, within a unit. */
typedef struct Progress {
    size_t from; /* the first lane that has not been reduced */
    _Alignas(64) char totals[LANES_TOTALS];
} Progress;

size_t cpu_fused_state_size(const Command *c)
{
    if (cpu_fused_columns_suit(c))
        return cpu_fused_columns_state_size(c);
    return sizeof(FusedJob) +
           c->launch.fused * (sizeof(FusedState) + 2 * sizeof(Value));
}

static size_t round_up(size_t bytes)
{
    return (bytes + CPU_GRANULE - 1) / CPU_GRANULE * CPU_GRANULE;
}

/* ------------------------------------------------------------------ reducing */

static void clear_totals(const LaneKernel *k, char *totals)
{
    for (size_t at = 0; at < LANES_TOTALS; at += k->acc_size)
        memcpy(totals + at, &k->neutral, k->acc_size);
}

/* The address of lane 'lane' of an operand. 'values' are those of lane 0 in the memory
 * at hand: tiles move along with the lanes. */
static const char *operand_at(const FusedState *f, uint32_t which,
                              const uintptr_t *values, size_t lane)
{
    uint32_t entry = f->kernel->entry_size;
    if (f->array[which])
        return f->array[which] + lane * entry;
    return (const char *) (values[f->value[which]] + lane * entry);
}

/* The partial results of a run, if code has added its values up. */
static const char *find_partials(const FusedState *f, const uintptr_t *values)
{
    uintptr_t value = f->adds ? values[f->value[0]] : 0;
    return value & CPU_PARTIALS ? (const char *) (value - CPU_PARTIALS) : NULL;
}

static void reduce_part(const FusedState *f, Progress *p, const uintptr_t *values,
                        size_t count)
{
    const char *a = operand_at(f, 0, values, p->from);
    const char *partials = find_partials(f, values);
    if (partials)
        f->kernel->part(partials, LANES_TOTALS / f->kernel->acc_size, p->totals);
    else if (f->dot)
        f->dot->part(a, false, operand_at(f, 1, values, p->from), false, count,
                     p->totals);
    else
        f->kernel->part(a, count, p->totals);
    p->from += count;
}

/* A chunk is complete, which ends at p->from. */
static void end_chunk(const FusedState *f, Progress *p)
{
    const LaneKernel *k = f->kernel;
    size_t row = LANES_TOTALS / k->acc_size, last = p->from - 1;
    size_t block = last / f->block;
    uint64_t acc;
    k->core->fold(p->totals, row, &acc);
    clear_totals(k, p->totals);
    if (f->partials) {
        size_t chunk = block * f->chunks + last % f->block / LANES_CHUNK;
        memcpy(f->partials + chunk * k->acc_size, &acc, k->acc_size);
    } else {
        k->store(&acc, 1, 1, 1, false, f->out + block * k->entry_size);
    }
}

/* Reduce what there is up to lane 'end'. */
static void reduce_up_to(const FusedState *f, Progress *p, const uintptr_t *values,
                         size_t end)
{
    if (f->scan) {
        scan_part(f->scan, p->from, end, operand_at(f, 0, values, 0));
        p->from = end;
        return;
    }
    if (f->block <= LANES_PART && !f->dot) {
        size_t blocks = (end - p->from) / f->block, first = p->from / f->block;
        const char *from = operand_at(f, 0, values, p->from);
        if (blocks)
            reduce_blocks(f->kernel, from, f->block, blocks,
                          f->out + first * f->kernel->entry_size);
        p->from += blocks * f->block;
        return;
    }
    while (p->from < end) {
        size_t in_block = p->from % f->block, in_chunk = in_block % LANES_CHUNK;
        size_t left = LANES_CHUNK - in_chunk; /* of the chunk */
        if (left > f->block - in_block)
            left = f->block - in_block;
        size_t ready = end - p->from;
        if (ready < left) {
            if (!find_partials(f, values))
                ready = ready / LANES_PART * LANES_PART;
            reduce_part(f, p, values, ready);
            return;
        }
        reduce_part(f, p, values, left);
        end_chunk(f, p);
    }
}

/* ---------------------------------------------------------------------- units */

/* What waits for more goes in front of the tile that is computed next. */
static void move_rest(const FusedJob *j, char *memory, const Progress *progress,
                      size_t begin, size_t end)
{
    size_t lowest = end;
    for (uint32_t i = 0; i < j->count; ++i)
        lowest = progress[i].from < lowest ? progress[i].from : lowest;
    for (uint32_t i = 0; lowest < end && i < j->value_count; ++i) {
        const Value *v = &j->values[i];
        if (v->stored)
            continue;
        char *tile = memory + v->offset;
        size_t bytes = (end - lowest) * v->entry;
        /* Entries of lanes before 'begin' lie before the tile. */
        memmove(tile - bytes, tile + (end - begin) * v->entry - bytes, bytes);
    }
}

static uint32_t run_lanes(const LaneKernel *sum)
{
    return LANES_RUN * LANES_TOTALS / sum->acc_size;
}

/* How many lanes are computed next. Where code adds, tiles begin where runs do. */
static size_t tile_lanes(const FusedJob *j, size_t begin, size_t end)
{
    size_t count = end - begin;
    if (j->run) {
        size_t block = j->fused[0].block, in_block = begin % block;
        size_t chunk = LANES_CHUNK - in_block % LANES_CHUNK;
        count = count < chunk ? count : chunk;
        count = count < block - in_block ? count : block - in_block;
    }
    return count < j->tile ? count : j->tile;
}

/* Where a value of lanes from 'begin' on goes: an argument. */
static uint64_t place_value(const FusedJob *j, const Value *v, char *memory,
                            size_t begin, size_t count)
{
    char *partials = memory + v->partials;
    if (!v->sum || run_lanes(v->sum) != j->run || count < j->run)
        return (uintptr_t) (memory + v->offset) - begin * v->entry;
    clear_totals(v->sum, partials);
    return (uintptr_t) partials + CPU_PARTIALS;
}

/* Lanes begin ... end-1, a tile at a time. */
static void run_tiles(CpuJob *job, const uint64_t *given, size_t begin, size_t end,
                      uint32_t worker, Progress *progress)
{
    const FusedJob *j = job->state;
    char *memory = (char *) j->memory->address + worker * j->stride;
    uint64_t *args = (uint64_t *) (void *) memory;
    uintptr_t values[2 * LAUNCH_FUSED];
    uint32_t words = job->command->launch.words;
    memcpy(args, given, words * sizeof(uint64_t));
    while (begin < end) {
        size_t count = tile_lanes(j, begin, end), next = begin + count;
        for (uint32_t i = 0; i < j->value_count; ++i) {
            const Value *v = &j->values[i];
            if (!v->stored)
                args[v->word] = place_value(j, v, memory, begin, count);
            values[i] = (uintptr_t) args[v->word];
        }
        cpu_launch_lanes(job, &j->launch, args, (uint32_t) begin, (uint32_t) next,
                         worker);
        if (j->compression.out) /* this is all of a chunk */
            scan_compress_chunk(&j->compression, begin / SCAN_MASK_CHUNK,
                                j->mask ? j->mask + begin
                                        : (uint8_t *) memory + j->values[0].offset);
        for (uint32_t i = 0; i < j->count; ++i)
            reduce_up_to(&j->fused[i], &progress[i], values, next);
        if (next < end)
            move_rest(j, memory, progress, begin, next);
        begin = next;
    }
}

/* The same where values are in arrays by now. */
static void run_arrays(const FusedJob *j, size_t begin, size_t end, Progress *progress)
{
    uintptr_t values[2 * LAUNCH_FUSED];
    if (j->compression.out)
        scan_compress_chunk(&j->compression, begin / SCAN_MASK_CHUNK,
                            j->mask ? j->mask + begin
                                    : (uint8_t *) j->memory->address + begin);
    for (uint32_t i = 0; i < j->value_count; ++i)
        values[i] = (uintptr_t) j->launch.args[j->values[i].word];
    for (uint32_t i = 0; i < j->count; ++i)
        reduce_up_to(&j->fused[i], &progress[i], values, end);
}

static void begin_unit(const FusedJob *j, size_t begin, Progress *progress)
{
    for (uint32_t i = 0; i < j->count; ++i) {
        progress[i].from = begin;
        clear_totals(j->fused[i].kernel, progress[i].totals);
    }
}

/* Whole blocks. */
static void run_range(CpuJob *job, const uint64_t *args, uint32_t begin, uint32_t end,
                      uint32_t worker)
{
    Progress progress[LAUNCH_FUSED];
    begin_unit(job->state, begin, progress);
    run_tiles(job, args, begin, end, worker, progress);
}

static void run_unit(CpuJob *job, uint32_t unit, uint32_t worker)
{
    FusedJob *j = job->state;
    if (j->ordered) /* each waits for those before it */
        unit = (uint32_t) atomic_fetch_add_explicit(&j->ticket, 1,
                                                    memory_order_relaxed);
    size_t size = j->launch.size, begin = (size_t) unit * j->unit;
    size_t end = size - begin < j->unit ? size : begin + j->unit;
    if (j->reverse) {
        size_t first = size - end;
        end = size - begin;
        begin = first;
    }
    Progress progress[LAUNCH_FUSED];
    begin_unit(j, begin, progress);
    if (j->spread)
        run_arrays(j, begin, end, progress);
    else
        run_tiles(job, j->launch.args, begin, end, worker, progress);
}

static bool finish(CpuJob *job)
{
    const FusedJob *j = job->state;
    if (j->compression.out)
        j->compression.out[j->launch.size] = scan_compress_count(&j->compression);
    for (uint32_t i = 0; i < j->count; ++i) {
        const FusedState *f = &j->fused[i];
        if (f->partials)
            reduce_finish(f->kernel, f->partials, f->chunks, j->launch.size / f->block,
                          f->out);
    }
    return true;
}

/* ------------------------------------------------------------------- spread */

static uint32_t count_units(const FusedJob *j)
{
    return (j->launch.size - 1) / j->unit + 1;
}

static bool finish_blocks(CpuJob *job)
{
    job->run = run_unit;
    job->finish = finish;
    job->blocks = count_units(job->state);
    return false;
}

/* ----------------------------------------------------------------- planning */

static void release(CpuJob *job)
{
    FusedJob *j = job->state;
    buffer_release(j->launch.scratch);
    buffer_release(j->memory);
    alloc_free(j->partials);
    scan_compress_end(&j->compression);
    for (uint32_t i = 0; i < j->count; ++i)
        scan_end(j->fused[i].scan);
}

static uint32_t find_value(FusedJob *j, uint32_t word, uint32_t entry, bool stored)
{
    uint32_t i = 0;
    while (i < j->value_count && j->values[i].word != word)
        ++i;
    if (i == j->value_count) {
        j->values[j->value_count++] = (Value) { .word = word, .entry = entry,
                                                .stored = stored };
        j->tile_count += !stored;
    }
    return i;
}

static void note_operand(FusedJob *j, const Command *c, FusedState *f, uint32_t which,
                         uint32_t source)
{
    uint32_t entry = f->kernel->entry_size;
    if (source & FUSED_TILE) {
        f->value[which] = find_value(j, source & ~FUSED_TILE, entry, false);
        j->values[f->value[which]].sum = f->adds ? f->kernel : NULL;
    } else if (c->slots[source].word != SLOT_NO_WORD)
        f->value[which] = find_value(j, c->slots[source].word, entry, true);
    else
        f->array[which] = command_address(c, source);
}

static void note_fused(FusedJob *j, const Command *c, const FusedReduction *reduction)
{
    const Lanes *lanes = reduce_lanes_get();
    bool prefix = reduction->op == REDUCE_PREFIX;
    FusedState *f = &j->fused[j->count++];
    f->dot = reduction->op == REDUCE_DOT ? &lanes->dot[reduction->type] : NULL;
    f->kernel =
        f->dot
            ? f->dot->sum
            : lanes->kernel[prefix ? reduction->rule : reduction->op][reduction->type];
    f->block = (size_t) reduction->block;
    f->chunks = prefix ? 1 : (f->block + LANES_CHUNK - 1) / LANES_CHUNK;
    f->out = command_address(c, reduction->target);
    f->adds = j->launch.code->adds && reduction->source[0] & FUSED_TILE &&
              reduce_rule_adds(fused_param(reduction), (VarType) reduction->type);
    note_operand(j, c, f, 0, reduction->source[0]);
    if (f->dot)
        note_operand(j, c, f, 1, reduction->source[1]);
}

/* It has the launch for itself. */
static bool begin_compression(FusedJob *j, const Command *c,
                              const FusedReduction *reduction)
{
    if (reduction->source[0] & FUSED_TILE)
        (void) find_value(j, reduction->source[0] & ~FUSED_TILE, 1, false);
    else
        j->mask = command_address(c, reduction->source[0]);
    j->whole = j->ordered = true;
    j->unit = c->size < SCAN_MASK_CHUNK ? (uint32_t) c->size : SCAN_MASK_CHUNK;
    return scan_compress_begin(&j->compression, c->size,
                               command_address(c, reduction->target));
}

/* Bytes of the partial results of a reduction; those of the next one are aligned. */
static size_t partial_bytes(const FusedState *f, uint64_t lanes)
{
    size_t bytes = lanes / f->block * f->chunks * f->kernel->acc_size;
    return f->chunks > 1 ? round_up(bytes) : 0;
}

/* Memory for partial results. */
static bool get_partials(FusedJob *j, const Command *c)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < j->count; ++i)
        bytes += partial_bytes(&j->fused[i], c->size);
    if (!bytes)
        return true;
    j->partials = alloc_get(bytes);
    TRY(j->partials, false);
    char *at = j->partials;
    for (uint32_t i = 0; i < j->count; ++i) {
        FusedState *f = &j->fused[i];
        f->partials = f->chunks > 1 ? at : NULL;
        at += partial_bytes(f, c->size);
    }
    return true;
}

/* Lanes of whole blocks, after which code can begin. */
static size_t find_granule(size_t block)
{
    while (block % CPU_GRANULE)
        block *= 2;
    return block;
}

/* Lanes of a unit: a chunk, or whole blocks, about as many, or fewer if that gives all
 * workers work. Units begin at multiples of CPU_GRANULE, as code wants it. */
static uint32_t choose_unit(const FusedJob *j, uint32_t workers)
{
    size_t size = j->launch.size, block = j->fused[0].block;
    if (size <= LANES_CHUNK && (workers <= 1 || block > LEAST || block == size))
        return (uint32_t) size;
    if (block == size || (block > LANES_CHUNK && block % LANES_CHUNK == 0))
        return LANES_CHUNK;
    size_t granule = find_granule(block), unit = size / (workers * (size_t) SPREAD);
    unit = unit < LANES_CHUNK ? unit : LANES_CHUNK;
    unit = unit > LEAST ? unit : LEAST;
    unit = unit > granule ? unit / granule * granule : granule;
    return (uint32_t) (unit < size ? unit : size);
}

static bool is_reverse(const FusedReduction *reduction)
{
    return reduction->op == REDUCE_PREFIX && reduction->flags & PREFIX_REVERSE;
}

/* Would units of one reduction not be those of the other, or in another order? */
static bool differ(const FusedReduction *a, const FusedReduction *b)
{
    return a->block != b->block || is_reverse(a) != is_reverse(b);
}

/* If there is just one unit, it suits all. */
bool cpu_fused_takes(Device *device, uint64_t lanes, const FusedReduction *reduction,
                     const FusedReduction *first, uint32_t count)
{
    (void) device;
    if (!count)
        return true;
    bool one = lanes <= LANES_CHUNK && reduction->stride == 1;
    return reduction->op != REDUCE_COMPRESS && first->op != REDUCE_COMPRESS &&
           reduction->stride == first->stride && (one || !differ(reduction, first));
}

static_assert((int) SCAN_PART == LANES_CHUNK, "parts of long blocks are units");
static_assert((int) CPU_PARTIAL_BYTES == LANES_TOTALS, "a row of accumulators");

static bool begin_scans(FusedJob *j, const Command *c)
{
    const FusedReduction *fused = command_fused(c);
    for (uint32_t i = 0; i < j->count; ++i) {
        if (fused[i].op != REDUCE_PREFIX)
            continue;
        FusedState *f = &j->fused[i];
        bool chained = f->block > j->unit;
        const ScanSpec spec = {
            (ReduceOp) fused[i].rule, (VarType) fused[i].type, c->size, f->block,
            fused[i].flags & PREFIX_EXCLUSIVE, fused[i].flags & PREFIX_REVERSE
        };
        f->scan = scan_begin(&spec, chained, f->out);
        TRY(f->scan, false);
        j->whole = true;
        j->ordered |= chained;
        j->reverse |= chained && spec.reverse;
    }
    return true;
}

static bool note_all_fused(FusedJob *j, const Command *c, uint32_t workers)
{
    const FusedReduction *fused = command_fused(c);
    if (fused[0].op == REDUCE_COMPRESS)
        return begin_compression(j, c, &fused[0]);
    for (uint32_t i = 0; i < c->launch.fused; ++i) {
        note_fused(j, c, &fused[i]);
        j->differ |= differ(&fused[i], &fused[0]);
    }
    j->unit = j->differ ? (uint32_t) c->size : choose_unit(j, workers);
    return get_partials(j, c) && begin_scans(j, c);
}

/* Memory for arrays. */
static bool plan_spread(CpuJob *job, FusedJob *j)
{
    job->range = NULL;
    size_t bytes = 0;
    for (uint32_t i = 0; i < j->value_count; ++i) {
        if (j->values[i].stored)
            continue;
        j->values[i].offset = bytes;
        bytes += round_up((size_t) j->launch.size * j->values[i].entry + PAD);
    }
    j->memory = buffer_get(cpu_device(), bytes ? bytes : 1);
    TRY(j->memory, false);
    uint64_t *args = job->command->data;
    for (uint32_t i = 0; i < j->value_count; ++i)
        if (!j->values[i].stored)
            args[j->values[i].word] =
                (uint64_t) (uintptr_t) j->memory->address + j->values[i].offset;
    job->run = cpu_launch_block;
    job->finish = finish_blocks;
    return true;
}

/* Blocks that are short enough can be reduced by the worker that has their lanes,
 * unless what comes before matters, or some are longer than others. */
static void plan_ranges(CpuJob *job, const FusedJob *j, size_t lead)
{
    size_t block = j->ordered || j->differ ? SIZE_MAX : j->fused[0].block;
    job->range = block <= LANES_CHUNK ? run_range : NULL;
    job->granule = block <= LANES_CHUNK ? (uint32_t) find_granule(block) : 0;
    job->most = lead && !j->whole ? UINT32_MAX : j->tile;
}

/* Lanes of the runs that code adds up, if they begin where code can. */
static uint32_t find_run(const FusedJob *j)
{
    size_t block = j->fused[0].block;
    uint32_t run = 0;
    if (j->whole || j->differ || block <= LANES_PART ||
        (block % CPU_GRANULE && block != j->launch.size))
        return 0;
    for (uint32_t i = 0; i < j->value_count; ++i) {
        const LaneKernel *sum = j->values[i].sum;
        if (sum && run_lanes(sum) > run)
            run = run_lanes(sum);
    }
    return run;
}

/* Memory for arguments and tiles of each worker. */
static bool plan_tiles(CpuJob *job, FusedJob *j)
{
    j->run = find_run(j);
    uint32_t most = j->run ? j->run : TILE;
    j->tile = j->unit < most || j->whole ? j->unit : most;
    size_t lead = j->unit > j->tile ? LEAD : 0;
    size_t bytes = round_up(job->command->launch.words * sizeof(uint64_t));
    for (uint32_t i = 0; i < j->value_count; ++i) {
        Value *v = &j->values[i];
        if (v->stored)
            continue;
        v->partials = bytes;
        bytes += CPU_PARTIAL_BYTES;
        v->offset = bytes + lead * v->entry;
        bytes = round_up(v->offset + (size_t) j->tile * v->entry + PAD);
    }
    plan_ranges(job, j, lead);
    job->blocks = count_units(j);
    if (job->workers > job->blocks)
        job->workers = job->blocks;
    j->stride = bytes;
    j->memory = buffer_get(cpu_device(), bytes * job->workers);
    TRY(j->memory, false);
    job->run = run_unit;
    job->finish = finish;
    return true;
}

/* Would a unit need too large a tile, or begin where code cannot? */
static bool cannot_tile(const FusedJob *j)
{
    return (j->differ && j->launch.size > LANES_CHUNK) ||
           (j->whole && j->tile_count && j->unit > MOST_TILE) ||
           (j->reverse && j->launch.size % CPU_GRANULE);
}

bool cpu_fused_plan(CpuJob *job)
{
    const Command *c = job->command;
    if (cpu_fused_columns_suit(c))
        return cpu_fused_columns_plan(job);
    FusedJob *j = job->state;
    job->release = release;
    j->fused = (FusedState *) (j + 1);
    j->values = (Value *) (j->fused + c->launch.fused);
    TRY(note_all_fused(j, c, job->workers), false);
    uint32_t least = job->workers;
    least *= j->launch.code->cost.loops ? SPREAD_LOOPS : SPREAD;
    j->spread = job->workers > 1 && count_units(j) < least && job->blocks > 1;
    j->spread |= cannot_tile(j);
    return j->spread ? plan_spread(job, j) : plan_tiles(job, j);
}
