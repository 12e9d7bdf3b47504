/*
 * scan.c -- prefix reductions and mask compression
 *
 * Association. A scan is made of nested levels, each of which combines what stands
 * before with a local scan; "before" is the last result of the preceding item on that
 * level.
 *
 *     block of n entries = chunks of 4096   result = before chunk + result in chunk
 *     chunk              = groups of 16     result = before group + result in group
 *     group, half group, ... = two halves   upper half = last of lower half + result
 *
 * Reverse scans do the same with the entries of each block in opposite order. The
 * nesting depends on n only, so all threads and instruction sets give the same bits.
 * Inclusive result i is never less than result i - 1 if no entry is negative, because
 * rounding is monotonic and each result adds to the one "before". Exclusive result i is
 * inclusive result i - 1; the first one is the neutral element. Min and Max treat NaN
 * and zeros as in reduce.c: results are NaN as long as only NaNs went in. f16 entries
 * are accumulated in f32; each result is rounded once.
 *
 * Long blocks are read from memory once and written once. Threads draw stretches of
 * some chunks in ascending order by ticket. If the last result of the stretch before is
 * known, results are written as they come. If not, the thread first computes the total
 * of each chunk, which leaves the entries in the cache; then it waits for that result,
 * publishes its own, and only then scans. Both ways do the same arithmetic. A thread
 * only waits for stretches that others drew before it and therefore already work on, so
 * there is always one that does not wait.
 * Compression works the same way: what is carried from chunk to chunk is the number of
 * indices so far.
 *
 * Large results are written past the cache: otherwise each line would be read from
 * memory before it is overwritten, a third of all traffic.
 */
#include "device/cpu/primitives/scan.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/cpu_hints.h"
#include "device/cpu/cpu_job.h"
#include "device/cpu/loops/reduce_lanes.h"
#include "device/cpu/pool.h"
#include "device/cpu/primitives/scan_columns.h"
#include "ir/reduce_rule.h"
#include "ir/type.h"
#include "os/threads.h"

enum {
    STRETCH = 1 << 18,  /* bytes of a stretch at most: it stays in the cache */
    MOST_CHUNKS = 16,   /* the same in chunks */
    SHARES = 4,         /* stretches for each thread, so that all end together */
    TILE = 1024,        /* accumulators staged at a time */
    MAX_ACC_SIZE = 8,
    MAX_ENTRY_SIZE = 8,
    SPINS = 1000        /* polls before the CPU is offered to others */
};

/* ---------------------------------------------------- values between stretches */

/* What stands before the next stretch or chunk, once it is known. */
typedef struct ScanLink {
    uint64_t value;
    _Atomic bool known; /* stored with release order, read with acquire order */
} Link;

static bool is_known(const Link *link)
{
    return atomic_load_explicit(&link->known, memory_order_acquire);
}

/* Wait for a link's value. */
static uint64_t await(const Link *link)
{
    for (unsigned spins = 0; !is_known(link);)
        if (++spins > SPINS)
            threads_yield();
    return link->value;
}

static void publish(Link *link, uint64_t value)
{
    link->value = value;
    atomic_store_explicit(&link->known, true, memory_order_release);
}

/* -------------------------------------------------------------------- scans */

struct Scan {
    const Lanes *lanes;
    const LaneKernel *kernel;
    const char *in;
    char *out;
    size_t size, block;
    size_t stretch;    /* its entries: whole chunks, or a block */
    size_t stretches;  /* of each block; 0: blocks of up to a chunk */
    bool exclusive, reverse;
    bool streams;      /* write past the cache */
    uint64_t identity; /* as an entry */
    Link *links;       /* one for each stretch; NULL where these are blocks */
};

static size_t round_up(size_t count)
{
    return (count + LANES_GROUP - 1) / LANES_GROUP * LANES_GROUP;
}

/* Exclusive scans: put the neutral element at the start of each block. */
static void set_first(const Scan *s, size_t blocks, char *out)
{
    size_t entry = s->kernel->entry_size;
    if (s->reverse)
        out += (s->block - 1) * entry;
    for (; blocks > 0; --blocks, out += s->block * entry)
        switch (entry) {
        case 1:
            memcpy(out, &s->identity, 1);
            break;
        case 2:
            memcpy(out, &s->identity, 2);
            break;
        case 4:
            memcpy(out, &s->identity, 4);
            break;
        default:
            memcpy(out, &s->identity, 8);
            break;
        }
}

/* Rows of 'stride' accumulators to blocks of 'block' entries, at most a tile. */
static void write_rows(const Scan *s, const char *in, size_t block, size_t stride,
                       size_t rows, char *out)
{
    const LaneKernel *k = s->kernel;
    if (!s->streams) {
        k->store(in, block, stride, rows, s->reverse, out);
        return;
    }
    if (k->direct && !s->reverse && block == stride) {
        s->lanes->stream(out, in, block * rows * k->entry_size);
        return;
    }
    _Alignas(64) char entries[TILE * MAX_ENTRY_SIZE];
    k->store(in, block, stride, rows, s->reverse, entries);
    s->lanes->stream(out, entries, block * rows * k->entry_size);
}

/* Blocks of up to one group, padded to a power of two, side by side. The tile has one
 * accumulator in front, which exclusive scans shift in and set_first() replaces. */
static void scan_short(const Scan *s, const char *in, size_t count, char *out)
{
    const LaneKernel *k = s->kernel;
    _Alignas(64) char memory[(TILE + LANES_GROUP) * MAX_ACC_SIZE];
    char *tile = memory + LANES_GROUP * k->acc_size;
    memset(memory, 0, sizeof memory);
    size_t width = 1;
    while (width < s->block)
        width *= 2;
    while (count > 0) {
        size_t rows = TILE / width < count ? TILE / width : count;
        k->load(k, in, s->block, width, rows, s->reverse, tile);
        k->core->scan_short(tile, round_up(rows * width), width);
        write_rows(s, s->exclusive ? tile - k->acc_size : tile, s->block, width, rows,
                   out);
        if (s->exclusive)
            set_first(s, rows, out);
        in += rows * s->block * k->entry_size;
        out += rows * s->block * k->entry_size;
        count -= rows;
    }
}

/* Where entries first ... first + count - 1, in the order of scanning, of the block at
 * 'base' begin in memory. */
static size_t place(const Scan *s, size_t base, size_t first, size_t count)
{
    size_t start = s->reverse ? s->block - first - count : first;
    return (base + start) * s->kernel->entry_size;
}

/* Load up to a tile of entries and scan it. */
static void scan_tile(const Scan *s, const char *in, size_t count, uint64_t *carry,
                      char *tile)
{
    const LaneKernel *k = s->kernel;
    if (k->direct && !s->reverse && count % LANES_GROUP == 0) {
        k->core->scan(in, count, carry, tile);
        return;
    }
    k->load(k, in, count, round_up(count), 1, s->reverse, tile);
    k->core->scan(tile, round_up(count), carry, tile);
}

/* One block of up to a chunk, at entry 'base'. */
static void scan_block(const Scan *s, size_t base)
{
    const LaneKernel *k = s->kernel;
    _Alignas(64) char memory[(TILE + LANES_GROUP) * MAX_ACC_SIZE];
    char *tile = memory + LANES_GROUP * k->acc_size, *front = tile - k->acc_size;
    uint64_t carry = k->neutral;
    for (size_t first = 0; first < s->block; first += TILE) {
        size_t count = s->block - first < TILE ? s->block - first : TILE;
        size_t offset = place(s, base, first, count);
        memcpy(front, &carry, k->acc_size);
        scan_tile(s, s->in + offset, count, &carry, tile);
        write_rows(s, s->exclusive ? front : tile, count, count, 1, s->out + offset);
    }
    if (s->exclusive)
        set_first(s, 1, s->out + base * k->entry_size);
}

/* Some of them. */
static void scan_blocks(const Scan *s, size_t first, size_t count)
{
    if (s->block <= LANES_GROUP) {
        size_t offset = first * s->block * s->kernel->entry_size;
        scan_short(s, s->in + offset, count, s->out + offset);
    } else {
        for (size_t i = 0; i < count; ++i)
            scan_block(s, (first + i) * s->block);
    }
    if (s->streams)
        s->lanes->stream_end();
}

/* A tile, tile[-1] included, combined with what stands before the chunk, to entries
 * first ... first + count - 1. */
static void write_tile(const Scan *s, const char *tile, size_t base, size_t first,
                       size_t count, uint64_t before)
{
    const LaneKernel *k = s->kernel;
    _Alignas(64) char results[TILE * MAX_ACC_SIZE];
    char *out = s->out + place(s, base, first, count);
    if (s->exclusive)
        tile -= k->acc_size;
    if (k->direct && !s->reverse && !s->streams) {
        k->core->offset(tile, count, &before, out);
    } else {
        k->core->offset(tile, count, &before, results);
        write_rows(s, results, count, count, 1, out);
    }
}

/* Groups of a chunk that need no conversion go from memory to memory; how many entries
 * that were. */
static size_t scan_groups(const Scan *s, size_t base, size_t first, size_t count,
                          uint64_t before, uint64_t *carry)
{
    enum { LINE = 64 };
    const LaneKernel *k = s->kernel;
    size_t offset = (base + first) * k->entry_size;
    char *out = s->out + offset;
    if (!k->direct || s->reverse || (s->streams && (uintptr_t) out % LINE != 0))
        return 0;
    count -= count % LANES_GROUP;
    k->core->scan_after(s->in + offset, count, &before, carry,
                        (s->exclusive ? LANES_EXCLUSIVE : 0u) |
                            (s->streams ? LANES_STREAM : 0u),
                        out);
    return count;
}

/* Scan a chunk; the value before the next one. */
static uint64_t scan_chunk(const Scan *s, size_t base, size_t first, size_t count,
                           uint64_t before)
{
    const LaneKernel *k = s->kernel;
    _Alignas(64) char memory[(TILE + LANES_GROUP) * MAX_ACC_SIZE];
    char *tile = memory + LANES_GROUP * k->acc_size;
    uint64_t carry = k->neutral, after = 0;
    for (size_t i = scan_groups(s, base, first, count, before, &carry); i < count;
         i += TILE) {
        size_t length = count - i < TILE ? count - i : TILE;
        memcpy(tile - k->acc_size, &carry, k->acc_size);
        scan_tile(s, s->in + place(s, base, first + i, length), length, &carry, tile);
        write_tile(s, tile, base, first + i, length, before);
    }
    k->core->offset(&carry, 1, &before, &after);
    return after;
}

/* The last result of a whole chunk by itself. */
static uint64_t find_total(const Scan *s, size_t base, size_t first)
{
    const LaneKernel *k = s->kernel;
    _Alignas(64) char tile[TILE * MAX_ACC_SIZE];
    uint64_t carry = k->neutral;
    if (k->direct && !s->reverse) {
        k->core->total(s->in + place(s, base, first, SCAN_CHUNK), SCAN_CHUNK, &carry);
        return carry;
    }
    for (size_t i = 0; i < SCAN_CHUNK; i += TILE) {
        k->load(k, s->in + place(s, base, first + i, TILE), TILE, TILE, 1, s->reverse,
                tile);
        k->core->total(tile, TILE, &carry);
    }
    return carry;
}

/* What stands before a stretch that is not the first of its block, where the one before
 * is not done. The value before the next stretch is published as soon as can be. */
static uint64_t look_ahead(const Scan *s, size_t base, size_t first, size_t count,
                           Link *link)
{
    const LaneKernel *k = s->kernel;
    uint64_t totals[MOST_CHUNKS], before, after;
    bool last = first + count == s->block; /* nobody waits for it */
    for (size_t i = 0; !last && i < count; i += SCAN_CHUNK)
        totals[i / SCAN_CHUNK] = find_total(s, base, first + i);
    before = after = await(link - 1);
    for (size_t i = 0; !last && i < count; i += SCAN_CHUNK) {
        uint64_t value = after;
        k->core->offset(&totals[i / SCAN_CHUNK], 1, &value, &after);
    }
    if (!last)
        publish(link, after);
    return before;
}

/* A stretch, by its number: those of one block, in the order of scanning, come before
 * those of the next. */
static void scan_stretch(const Scan *s, size_t number)
{
    size_t stretch = number % s->stretches, base = number / s->stretches * s->block;
    size_t first = stretch * s->stretch;
    size_t count = s->block - first < s->stretch ? s->block - first : s->stretch;
    Link *link = s->links ? s->links + number : NULL;
    bool ahead = stretch > 0 && !is_known(link - 1);
    uint64_t before = s->kernel->neutral;
    if (stretch > 0)
        before = ahead ? look_ahead(s, base, first, count, link) : link[-1].value;
    for (size_t i = 0; i < count; i += SCAN_CHUNK) {
        const size_t left = count - i;
        before = scan_chunk(s, base, first + i, left < SCAN_CHUNK ? left : SCAN_CHUNK,
                            before);
    }
    if (link && !ahead)
        publish(link, before);
    if (s->streams)
        s->lanes->stream_end();
    if (stretch == 0 && s->exclusive)
        set_first(s, 1, s->out + base * s->kernel->entry_size);
}

/* Entries of a stretch: the more, the less often threads wait for each other. */
static size_t choose_stretch(const ScanSpec *spec)
{
    size_t chunks = STRETCH / SCAN_CHUNK / type_info[spec->type].size;
    size_t share = spec->size / SCAN_CHUNK / ((size_t) pool_size() * SHARES);
    if (chunks > MOST_CHUNKS)
        chunks = MOST_CHUNKS;
    if (chunks > share)
        chunks = share ? share : 1;
    return chunks * SCAN_CHUNK;
}

/* Fill in a scan in stretches of 'stretch' entries, if blocks are long; 'in' and 'out'
 * are left to the caller. False: out of memory. */
static bool plan_scan(Scan *s, const ScanSpec *spec, size_t stretch)
{
    *s = (Scan) { .lanes = reduce_lanes_get(), .size = spec->size,
                  .block = spec->block, .exclusive = spec->exclusive,
                  .reverse = spec->reverse };
    s->kernel = s->lanes->kernel[spec->op][spec->type];
    s->streams = cpu_hints_bypass(s->size * s->kernel->entry_size);
    reduce_rule_identity(spec->op, spec->type, &s->identity);
    if (s->block <= SCAN_CHUNK)
        return true;
    s->stretch = stretch < s->block ? stretch : s->block;
    s->stretches = (s->block + s->stretch - 1) / s->stretch;
    if (s->stretches > 1)
        s->links = alloc_zero(s->size / s->block * s->stretches, sizeof(Link));
    return s->stretches == 1 || s->links;
}

/* A command takes long blocks by stretches, others by as many as make a chunk. */
typedef struct ScanJob {
    Scan scan;
    size_t units;
    _Atomic uint64_t ticket; /* of stretches */
} ScanJob;

/* False: out of memory. */
static bool plan_job(ScanJob *j, const ScanSpec *spec)
{
    TRY(plan_scan(&j->scan, spec, choose_stretch(spec)), false);
    size_t blocks = spec->size / spec->block, together = SCAN_CHUNK / spec->block;
    j->units = j->scan.stretches ? blocks * j->scan.stretches
                                 : (blocks + together - 1) / together;
    return true;
}

static void run_next(ScanJob *j, size_t unit)
{
    const Scan *s = &j->scan;
    if (s->stretches) {
        scan_stretch(s, atomic_fetch_add_explicit(&j->ticket, 1,
                                                  memory_order_relaxed));
        return;
    }
    size_t together = SCAN_CHUNK / s->block, first = unit * together;
    size_t left = s->size / s->block - first;
    scan_blocks(s, first, left < together ? left : together);
}

bool scan_now(const ScanSpec *spec, const void *in, void *out)
{
    ScanJob j = { 0 };
    TRY(plan_job(&j, spec), false);
    j.scan.in = in;
    j.scan.out = out;
    for (size_t i = 0; i < j.units; ++i)
        run_next(&j, i);
    alloc_free(j.scan.links);
    return true;
}

static void run_scan(CpuJob *job, uint32_t unit, uint32_t worker)
{
    (void) worker;
    run_next(job->state, unit);
}

static void release_scan(CpuJob *job)
{
    alloc_free(((ScanJob *) job->state)->scan.links);
}

bool scan_prepare(CpuJob *job)
{
    const Command *c = job->command;
    if (c->reduce.stride > 1)
        return scan_columns_prepare(job);
    ScanJob *j = cpu_job_state(job, sizeof *j);
    TRY(j, false);
    const ScanSpec spec = { c->reduce.op, c->reduce.type, c->size, c->reduce.block,
                            c->reduce.exclusive, c->reduce.reverse };
    TRY(plan_job(j, &spec), false);
    j->scan.in = command_address(c, 0);
    j->scan.out = command_address(c, 1);
    job->run = run_scan;
    job->release = release_scan;
    job->blocks = (uint32_t) j->units;
    job->small = j->units == 1;
    return true;
}

/* -------------------------------------------- scans of what comes in parts */

static_assert(SCAN_PART <= MOST_CHUNKS * SCAN_CHUNK && SCAN_PART % SCAN_CHUNK == 0,
              "a part is a stretch");

Scan *scan_begin(const ScanSpec *spec, bool chained, void *out)
{
    Scan *s = alloc_get(sizeof *s);
    TRY(s, NULL);
    if (!plan_scan(s, spec, chained ? SCAN_PART : spec->block)) {
        alloc_free(s);
        return NULL;
    }
    s->out = out;
    return s;
}

void scan_part(const Scan *shared, size_t begin, size_t end, const char *in)
{
    Scan s = *shared; /* parts are elsewhere each */
    s.in = in;
    size_t block = begin / s.block, base = block * s.block;
    size_t blocks = (end - begin) / s.block; /* whole ones */
    if (!s.stretches) {
        scan_blocks(&s, block, blocks);
    } else if (s.links) {
        size_t first = s.reverse ? base + s.block - end : begin - base;
        scan_stretch(&s, block * s.stretches + first / s.stretch);
    } else {
        for (size_t i = 0; i < blocks; ++i)
            scan_stretch(&s, block + i);
    }
}

void scan_end(Scan *s)
{
    if (s)
        alloc_free(s->links);
    alloc_free(s);
}

/* -------------------------------------------------------------- compression */

bool scan_compress_begin(ScanCompression *c, size_t size, uint32_t *out)
{
    *c = (ScanCompression){ .out = out, .size = size };
    c->links = alloc_zero((size + SCAN_MASK_CHUNK - 1) / SCAN_MASK_CHUNK, sizeof(Link));
    return c->links != NULL;
}

void scan_compress_chunk(const ScanCompression *c, size_t chunk, const uint8_t *mask)
{
    const Lanes *lanes = reduce_lanes_get();
    size_t first = chunk * SCAN_MASK_CHUNK, count = c->size - first;
    if (count > SCAN_MASK_CHUNK)
        count = SCAN_MASK_CHUNK;
    size_t found = lanes->mask_count(mask, count);
    uint64_t before = chunk > 0 ? await(&c->links[chunk - 1]) : 0;
    publish(&c->links[chunk], before + found);
    lanes->mask_write(mask, count, (uint32_t) first, found, c->out + before);
}

uint32_t scan_compress_count(const ScanCompression *c)
{
    return (uint32_t) c->links[(c->size - 1) / SCAN_MASK_CHUNK].value;
}

void scan_compress_end(ScanCompression *c)
{
    alloc_free(c->links);
}

typedef struct Compression {
    ScanCompression all;
    _Atomic uint64_t ticket; /* of chunks */
    const uint8_t *mask;
    uint32_t *count;
} Compression;

static void run_compression(CpuJob *job, uint32_t unit, uint32_t worker)
{
    (void) unit;
    (void) worker;
    Compression *c = job->state;
    size_t chunk = atomic_fetch_add_explicit(&c->ticket, 1, memory_order_relaxed);
    scan_compress_chunk(&c->all, chunk, c->mask + chunk * SCAN_MASK_CHUNK);
}

static bool finish_compression(CpuJob *job)
{
    const Compression *c = job->state;
    *c->count = scan_compress_count(&c->all);
    return true;
}

static void release_compression(CpuJob *job)
{
    scan_compress_end(&((Compression *) job->state)->all);
}

bool scan_prepare_compress(CpuJob *job)
{
    const Command *command = job->command;
    Compression *c = cpu_job_state(job, sizeof *c);
    TRY(c && scan_compress_begin(&c->all, command->size, command_address(command, 1)),
        false);
    c->mask = command_address(command, 0);
    c->count = command_address(command, 2);
    job->run = run_compression;
    job->finish = finish_compression;
    job->release = release_compression;
    job->blocks = (uint32_t) ((command->size - 1) / SCAN_MASK_CHUNK + 1);
    job->small = job->blocks == 1;
    return true;
}
