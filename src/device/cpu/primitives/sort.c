/*
 * sort.c -- sorting entries, or their indices, within blocks
 *
 * Radix sort, lowest digit first: each pass counts a digit, turns counts into positions
 * and copies entries there; it keeps the order of equal digits, and so does the whole.
 * Digits that are equal in all keys need no pass. Sorted indices travel with their
 * keys as pairs; the first pass makes them and the last one drops the keys.
 *
 *     sort:       in ─► tmp ─► out ─► ... ─► out      (the last pass ends in 'out')
 *     indices:    in ─► pairs a ─► pairs b ─► ... ─► out
 *
 * Few long blocks: a chain of jobs in the stream, in which threads work on pieces of
 * blocks. Each piece has tables of its own, and position in the output goes bucket by
 * bucket, within a bucket piece by piece.
 *
 *     count all digits │ place │ count │ place │ ...     count: finish() adds up
 *
 * Many blocks: one job, in which threads sort whole blocks, those of up to SHORT
 * entries by merging. All ways give the same result, which stability determines.
 */
#include <string.h>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/cpu_job.h"
#include "device/cpu/loops/sort_loops.h"
#include "device/cpu/pool.h"

enum {
    SHORT = 256,   /* longest block that is merged */
    UNIT = 16384,  /* entries in short blocks that a thread takes at a time */
    PIECE = 32768, /* least entries of a piece */
    PIECES_PER_THREAD = 2
};

typedef struct Sort {
    const SortLoops *loops;
    const char *in;
    char *out, *tmp[2]; /* tmp[1] is used for pairs only */
    uint64_t flip;
    size_t size, block;
    bool indices;
    size_t blocks_per_unit; /* many blocks */
    /* few long blocks */
    size_t pieces, piece;  /* pieces of a block, and entries in each but the last one */
    uint32_t pass, passes; /* the current one; those that are needed */
    uint8_t digit[SORT_DIGITS]; /* of each pass */
    Buffer *memory[2];     /* behind tmp[], NULL if not needed */
    uint32_t tables[]; /* for each piece of each block, for each digit */
} Sort;

/* ------------------------------------------------------------------ passes */

/* What a pass reads and writes, as arrays of the whole size. */
typedef struct Route {
    const SortLoops *from; /* loops over what is read */
    const char *in;
    char *out;
    bool first, last;
} Route;

static Route find_route(const Sort *s, uint32_t pass, uint32_t passes)
{
    Route r = { .first = pass == 0, .last = pass + 1 == passes };
    uint32_t left = passes - 1 - pass;
    if (s->indices) {
        r.from = r.first ? s->loops : s->loops->pairs;
        r.in = r.first ? s->in : s->tmp[~pass & 1];
        r.out = r.last ? s->out : s->tmp[pass & 1];
    } else {
        r.from = s->loops;
        r.in = r.first ? s->in : left % 2 ? s->out : s->tmp[0];
        r.out = left % 2 ? s->tmp[0] : s->out;
    }
    return r;
}

/* Count one digit of 'count' records from number 'first' on. */
static void count_digit(const Sort *s, const Route *r, size_t first, size_t count,
                        unsigned digit, uint32_t *table)
{
    memset(table, 0, SORT_BUCKETS * sizeof(uint32_t));
    r->from->count(r->in + first * r->from->size, count, s->flip, digit * SORT_BITS,
                   table);
}

/* Copy them to the positions in 'table'. */
static void place_records(const Sort *s, const Route *r, size_t first, size_t count,
                          unsigned digit, uint32_t *table)
{
    const void *in = r->in + first * r->from->size;
    unsigned shift = digit * SORT_BITS;
    if (!s->indices)
        r->from->move(in, count, s->flip, shift, table, r->out);
    else if (r->last)
        r->from->index(in, (uint32_t) first, count, s->flip, shift, table, r->out);
    else if (r->first)
        r->from->pair(in, (uint32_t) first, count, s->flip, shift, table, r->out);
    else
        r->from->move(in, count, s->flip, shift, table, r->out);
}

/* Is one of the counters equal to 'count', the sum of all? */
static bool is_single(const uint32_t *table, size_t count)
{
    uint32_t bucket = 0;
    while (bucket < SORT_BUCKETS && table[bucket] == 0)
        ++bucket;
    return bucket < SORT_BUCKETS && table[bucket] == count;
}

/* ------------------------------------------------------------- many blocks */

static void sort_short(const Sort *s, size_t first)
{
    SortPairWide pairs[SHORT], other[SHORT];
    size_t size = s->loops->size;
    s->loops->load(s->in + first * size, (uint32_t) first, s->block, s->flip, pairs);
    const SortPairWide *sorted = sort_loops_merge(pairs, other, s->block);
    if (s->indices) {
        uint32_t *out = (uint32_t *) s->out + first;
        for (size_t i = 0; i < s->block; ++i)
            out[i] = sorted[i].index;
        return;
    }
    char *out = s->out + first * size;
    for (size_t i = 0; i < s->block; ++i, out += size)
        memcpy(out, s->in + sorted[i].index * size, size);
}

static void sort_block(const Sort *s, size_t first)
{
    uint32_t tables[SORT_DIGITS * SORT_BUCKETS];
    uint8_t digits[SORT_DIGITS];
    uint32_t passes = 0, count = s->loops->digits;
    memset(tables, 0, count * SORT_BUCKETS * sizeof(uint32_t));
    s->loops->count_all(s->in + first * s->loops->size, s->block, s->flip, tables);
    for (uint32_t i = 0; i < count; ++i)
        if (!is_single(tables + i * SORT_BUCKETS, s->block) ||
            (passes == 0 && i + 1 == count))
            digits[passes++] = (uint8_t) i;
    for (uint32_t pass = 0; pass < passes; ++pass) {
        uint32_t *table = tables + digits[pass] * SORT_BUCKETS;
        uint32_t next = (uint32_t) first;
        for (uint32_t bucket = 0; bucket < SORT_BUCKETS; ++bucket) {
            uint32_t length = table[bucket];
            table[bucket] = next;
            next += length;
        }
        Route r = find_route(s, pass, passes);
        place_records(s, &r, first, s->block, digits[pass], table);
    }
}

static void run_blocks(CpuJob *job, uint32_t unit, uint32_t worker)
{
    (void) worker;
    Sort *s = job->state;
    size_t begin = unit * s->blocks_per_unit * s->block;
    size_t end = begin + s->blocks_per_unit * s->block;
    if (end > s->size)
        end = s->size;
    for (size_t first = begin; first < end; first += s->block)
        if (s->block <= SHORT)
            sort_short(s, first);
        else
            sort_block(s, first);
}

/* --------------------------------------------------------- few long blocks */

static uint32_t *find_table(Sort *s, size_t piece, unsigned digit)
{
    return s->tables + (piece * s->loops->digits + digit) * SORT_BUCKETS;
}

/* Number of the first entry of a piece, and how many it has. */
static size_t find_piece(const Sort *s, size_t piece, size_t *count)
{
    size_t within = piece % s->pieces * s->piece, left = s->block - within;
    *count = left < s->piece ? left : s->piece;
    return piece / s->pieces * s->block + within;
}

static void run_count_all(CpuJob *job, uint32_t piece, uint32_t worker)
{
    (void) worker;
    Sort *s = job->state;
    size_t count, first = find_piece(s, piece, &count);
    uint32_t *tables = find_table(s, piece, 0);
    memset(tables, 0, s->loops->digits * SORT_BUCKETS * sizeof(uint32_t));
    s->loops->count_all(s->in + first * s->loops->size, count, s->flip, tables);
}

/* Is this digit the same in all entries of each block? */
static bool is_constant(Sort *s, unsigned digit)
{
    size_t total = s->size / s->block * s->pieces, count;
    const uint32_t *lead = NULL;
    uint32_t bucket = 0;
    for (size_t piece = 0; piece < total; ++piece) {
        const uint32_t *table = find_table(s, piece, digit);
        find_piece(s, piece, &count);
        if (piece % s->pieces == 0) {
            lead = table;
            for (bucket = 0; lead[bucket] == 0;)
                ++bucket;
        }
        if (table[bucket] != count)
            return false;
    }
    return true;
}

/* Turn the counts of the pass's digit into positions. */
static void assign_positions(Sort *s)
{
    unsigned digit = s->digit[s->pass];
    size_t blocks = s->size / s->block;
    for (size_t block = 0; block < blocks; ++block) {
        uint32_t next = (uint32_t) (block * s->block);
        for (uint32_t bucket = 0; bucket < SORT_BUCKETS; ++bucket)
            for (size_t piece = 0; piece < s->pieces; ++piece) {
                uint32_t *entry =
                    find_table(s, block * s->pieces + piece, digit) + bucket;
                uint32_t count = *entry;
                *entry = next;
                next += count;
            }
    }
}

static void run_count(CpuJob *job, uint32_t piece, uint32_t worker)
{
    (void) worker;
    Sort *s = job->state;
    size_t count, first = find_piece(s, piece, &count);
    unsigned digit = s->digit[s->pass];
    const Route r = find_route(s, s->pass, s->passes);
    count_digit(s, &r, first, count, digit, find_table(s, piece, digit));
}

static void run_place(CpuJob *job, uint32_t piece, uint32_t worker)
{
    (void) worker;
    Sort *s = job->state;
    size_t count, first = find_piece(s, piece, &count);
    unsigned digit = s->digit[s->pass];
    const Route r = find_route(s, s->pass, s->passes);
    place_records(s, &r, first, count, digit, find_table(s, piece, digit));
}

static bool finish_place(CpuJob *job);

/* The digit of the pass has been counted. */
static bool finish_count(CpuJob *job)
{
    assign_positions(job->state);
    job->run = run_place;
    job->finish = finish_place;
    return false;
}

static bool finish_count_all(CpuJob *job)
{
    Sort *s = job->state;
    for (uint8_t digit = 0; digit < s->loops->digits; ++digit)
        if (!is_constant(s, digit))
            s->digit[s->passes++] = digit;
    if (s->passes == 0) /* sorted already; one pass copies it */
        s->passes = 1;
    return finish_count(job);
}

static bool finish_place(CpuJob *job)
{
    Sort *s = job->state;
    if (++s->pass == s->passes)
        return true;
    job->run = run_count;
    job->finish = finish_count;
    return false;
}

/* ------------------------------------------------------------------ command */

/* Memory between passes. */
static bool get_memory(Sort *s)
{
    if (s->block <= SHORT || s->loops->digits == 1)
        return true;
    uint32_t count = s->indices && s->loops->digits > 2 ? 2 : 1;
    size_t size = s->indices ? s->loops->pair_size : s->loops->size;
    for (uint32_t i = 0; i < count; ++i) {
        s->memory[i] = buffer_get(cpu_device(), s->size * size);
        TRY(s->memory[i], false);
        s->tmp[i] = s->memory[i]->address;
    }
    return true;
}

static void release(CpuJob *job)
{
    const Sort *s = job->state;
    buffer_release(s->memory[0]);
    buffer_release(s->memory[1]);
}

/* Pieces that each block is cut into, 0 if threads take whole blocks. */
static size_t choose_pieces(const CpuJob *job, size_t size, size_t block)
{
    size_t blocks = size / block, pieces;
    if (block < 2 * PIECE || blocks >= 2 * (size_t) job->workers)
        return 0;
    pieces = (PIECES_PER_THREAD * (size_t) job->workers + blocks - 1) / blocks;
    return pieces > block / PIECE ? block / PIECE : pieces;
}

bool sort_prepare(CpuJob *job)
{
    const Command *c = job->command;
    const SortLoops *loops = sort_loops_get(c->sort.type);
    size_t size = c->size, block = c->sort.block;
    job->workers = pool_worker_bound();
    size_t pieces = choose_pieces(job, size, block), units = size / block * pieces;
    Sort *s = cpu_job_state(job, sizeof(Sort) + units * loops->digits * SORT_BUCKETS *
                                                    sizeof(uint32_t));
    TRY(s, false);
    job->release = release;
    s->loops = loops;
    s->size = size;
    s->block = block;
    s->pieces = pieces;
    s->piece = pieces ? (block - 1) / pieces + 1 : 0;
    s->blocks_per_unit = block < UNIT ? UNIT / block : 1;
    s->in = command_address(c, 0);
    s->out = command_address(c, 1);
    s->flip = sort_loops_flip(c->sort.type, c->sort.descending);
    s->indices = c->sort.indices;
    if (pieces) {
        job->run = run_count_all;
        job->finish = finish_count_all;
    } else {
        job->run = run_blocks;
        units = (size / block + s->blocks_per_unit - 1) / s->blocks_per_unit;
    }
    job->blocks = (uint32_t) units;
    job->small = units == 1 && size <= UNIT;
    return get_memory(s);
}
