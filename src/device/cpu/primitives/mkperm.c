/*
 * mkperm.c -- stable counting sort of keys within blocks
 *
 * Two ways, chosen by the number of blocks; the result does not depend on the choice.
 *
 * Few long blocks, one after the other: threads count the keys of pieces of the block,
 * each piece into a table of its own; a pass over the tables turns counts into
 * positions (bucket by bucket, within a bucket piece by piece, which keeps equal keys
 * in order); then threads distribute the pieces. These are two phases for each block.
 *
 * Many blocks: each thread sorts whole blocks with a table of its own. The number of
 * records of each unit of blocks is noted, and if records are wanted, a second phase,
 * which counts again, writes them to their places.
 *
 * The number of workers is decided once: it sizes the tables and bounds who enters.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/cpu_job.h"
#include "device/cpu/pool.h"

enum {
    PIECE = 32768, /* least number of keys worth a thread */
    RECORD = 4     /* numbers in a record: bucket, start, size, 0 */
};

typedef struct Sort {
    const uint32_t *values;
    uint32_t *perm, *offsets; /* the latter may be NULL */
    uint32_t *unique;         /* number of records */
    uint32_t size, block_size, bucket_count;
    uint32_t count;           /* records so far */
    uint32_t first, end;      /* few blocks: the current one */
    uint32_t piece;           /* few blocks: keys of a piece */
    uint32_t blocks_per_unit; /* many blocks */
    uint32_t *tables;         /* bucket_count counters for each piece or worker */
    uint32_t *records; /* many blocks: of each unit, then where its records begin */
    _Atomic uint64_t
        bad; /* position of the first key that is too large, or UINT64_MAX */
} Sort;

static uint32_t smaller(uint64_t a, uint32_t b)
{
    return a < b ? (uint32_t) a : b;
}

static void note_bad(Sort *s, uint64_t position)
{
    uint64_t bad = atomic_load_explicit(&s->bad, memory_order_relaxed);
    while (position < bad &&
           !atomic_compare_exchange_weak_explicit(
               &s->bad, &bad, position, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* Count keys; false if one is too large. */
static bool count_keys(Sort *s, uint32_t begin, uint32_t end, uint32_t *table)
{
    memset(table, 0, s->bucket_count * sizeof(uint32_t));
    for (uint32_t i = begin; i < end; ++i) {
        uint32_t key = s->values[i];
        if (key >= s->bucket_count) {
            note_bad(s, i);
            return false;
        }
        ++table[key];
    }
    return true;
}

/* Write the positions of keys to the places in 'table', which move on. */
static void place_keys(const Sort *s, uint32_t begin, uint32_t end, uint32_t *table)
{
    for (uint32_t i = begin; i < end; ++i)
        s->perm[table[s->values[i]]++] = i;
}

static uint32_t *write_record(uint32_t *record, uint32_t bucket, uint32_t start,
                              uint32_t count)
{
    record[0] = bucket;
    record[1] = start;
    record[2] = count;
    record[3] = 0;
    return record + RECORD;
}

/* Has a key been found that is too large? Then the job has failed. */
static bool check_keys(CpuJob *job)
{
    const Sort *s = job->state;
    uint64_t bad = atomic_load_explicit(&s->bad, memory_order_relaxed);
    if (bad == UINT64_MAX)
        return true;
    error_set(JIT_ERROR_ARGUMENT,
              "jit_block_mkperm(): key %u at position %llu is not below the bucket "
              "count %u",
              s->values[bad], (unsigned long long) bad, s->bucket_count);
    cpu_job_fail(job);
    return false;
}

/* -------------------------------------------------------- few, long blocks */

static void run_count(CpuJob *job, uint32_t piece, uint32_t worker)
{
    (void) worker;
    Sort *s = job->state;
    uint32_t begin = s->first + piece * s->piece;
    count_keys(s, begin, smaller((uint64_t) begin + s->piece, s->end),
               s->tables + (size_t) piece * s->bucket_count);
}

static void run_place(CpuJob *job, uint32_t piece, uint32_t worker)
{
    (void) worker;
    const Sort *s = job->state;
    uint32_t begin = s->first + piece * s->piece;
    place_keys(s, begin, smaller((uint64_t) begin + s->piece, s->end),
               s->tables + (size_t) piece * s->bucket_count);
}

/* Turn the counts of all pieces into positions and append records; their number. */
static uint32_t assign_places(const Sort *s, uint32_t pieces, uint32_t *record)
{
    uint32_t next = s->first, records = 0;
    for (uint32_t bucket = 0; bucket < s->bucket_count; ++bucket) {
        uint32_t start = next;
        for (uint32_t piece = 0; piece < pieces; ++piece) {
            uint32_t *entry = s->tables + (size_t) piece * s->bucket_count + bucket;
            uint32_t count = *entry;
            *entry = next;
            next += count;
        }
        if (next == start)
            continue;
        ++records;
        if (record)
            record = write_record(record, bucket, start, next - start);
    }
    return records;
}

static bool finish_count(CpuJob *job);

/* Begin with the block at 'first'. */
static void begin_block(CpuJob *job, uint32_t first)
{
    Sort *s = job->state;
    s->first = first;
    s->end = smaller((uint64_t) first + s->block_size, s->size);
    job->run = run_count;
    job->finish = finish_count;
    job->blocks = (s->end - s->first - 1) / s->piece + 1;
}

static bool finish_place(CpuJob *job)
{
    Sort *s = job->state;
    *s->unique = s->count;
    if (s->end == s->size)
        return true;
    begin_block(job, s->end);
    return false;
}

static bool finish_count(CpuJob *job)
{
    Sort *s = job->state;
    TRY(check_keys(job), true);
    s->count += assign_places(
        s, job->blocks, s->offsets ? s->offsets + (size_t) s->count * RECORD : NULL);
    job->run = run_place;
    job->finish = finish_place;
    return false;
}

static bool plan_long(CpuJob *job, Sort *s)
{
    /* Tables should not be larger than the keys, or clearing and adding them up costs
     * more than the threads gain. */
    uint32_t block = smaller(s->block_size, s->size), pieces = block / PIECE + 1;
    if (pieces > job->workers)
        pieces = job->workers;
    while (pieces > 1 && (uint64_t) pieces * s->bucket_count > block)
        --pieces;
    s->piece = (block - 1) / pieces + 1;
    s->tables = alloc_get((size_t) pieces * s->bucket_count * sizeof(uint32_t));
    TRY(s->tables, false);
    begin_block(job, 0);
    job->small = pieces == 1 && s->size <= 2 * PIECE;
    return true;
}

/* ------------------------------------------------------------- many blocks */

/* Limits of block number 'block'; false behind the last one. */
static bool find_block(const Sort *s, uint64_t block, uint32_t *begin, uint32_t *end)
{
    uint64_t first = block * s->block_size;
    if (first >= s->size)
        return false;
    *begin = (uint32_t) first;
    *end = smaller(first + s->block_size, s->size);
    return true;
}

static void run_sort(CpuJob *job, uint32_t unit, uint32_t worker)
{
    Sort *s = job->state;
    uint32_t *table = s->tables + (size_t) worker * s->bucket_count;
    uint64_t block = (uint64_t) unit * s->blocks_per_unit;
    uint32_t begin, end, records = 0;
    for (uint32_t i = 0; i < s->blocks_per_unit; ++i, ++block) {
        if (!find_block(s, block, &begin, &end) || !count_keys(s, begin, end, table))
            break;
        uint32_t next = begin;
        for (uint32_t bucket = 0; bucket < s->bucket_count; ++bucket) {
            uint32_t count = table[bucket];
            table[bucket] = next;
            next += count;
            records += count > 0;
        }
        place_keys(s, begin, end, table);
    }
    s->records[unit] = records;
}

static void run_records(CpuJob *job, uint32_t unit, uint32_t worker)
{
    Sort *s = job->state;
    uint32_t *table = s->tables + (size_t) worker * s->bucket_count;
    uint32_t *record = s->offsets + (size_t) s->records[unit] * RECORD;
    uint64_t block = (uint64_t) unit * s->blocks_per_unit;
    uint32_t begin, end;
    for (uint32_t i = 0; i < s->blocks_per_unit; ++i, ++block) {
        if (!find_block(s, block, &begin, &end))
            break;
        count_keys(s, begin, end, table);
        for (uint32_t bucket = 0; bucket < s->bucket_count; ++bucket)
            if (table[bucket] > 0) {
                record = write_record(record, bucket, begin, table[bucket]);
                begin += table[bucket];
            }
    }
}

static bool finish_sort(CpuJob *job)
{
    Sort *s = job->state;
    TRY(check_keys(job), true);
    for (uint32_t unit = 0; unit < job->blocks; ++unit) {
        uint32_t count = s->records[unit];
        s->records[unit] = s->count;
        s->count += count;
    }
    *s->unique = s->count;
    job->run = run_records;
    job->finish = NULL;
    return s->offsets == NULL;
}

static bool plan_many(CpuJob *job, Sort *s)
{
    uint32_t blocks = (s->size - 1) / s->block_size + 1;
    s->blocks_per_unit = PIECE / s->block_size + 1;
    job->blocks = (blocks - 1) / s->blocks_per_unit + 1;
    s->tables = alloc_get((size_t) job->workers * s->bucket_count * sizeof(uint32_t));
    TRY(s->tables, false);
    s->records = alloc_get(job->blocks * sizeof(uint32_t));
    TRY(s->records, false);
    job->run = run_sort;
    job->finish = finish_sort;
    job->small = job->blocks == 1 && s->size <= 2 * PIECE;
    return true;
}

/* ------------------------------------------------------------------ command */

static void release(CpuJob *job)
{
    Sort *s = job->state;
    alloc_free(s->tables);
    alloc_free(s->records);
}

bool mkperm_prepare(CpuJob *job)
{
    const Command *c = job->command;
    Sort *s = cpu_job_state(job, sizeof *s);
    TRY(s, false);
    job->release = release;
    s->values = command_address(c, 0);
    s->perm = command_address(c, 1);
    s->unique = command_address(c, 2);
    s->offsets = c->slot_count > 3 ? command_address(c, 3) : NULL;
    s->size = (uint32_t) c->size;
    s->block_size = c->permutation.block;
    s->bucket_count = c->permutation.buckets;
    atomic_init(&s->bad, UINT64_MAX);
    job->workers = pool_worker_bound();
    uint32_t blocks = (s->size - 1) / s->block_size + 1;
    bool is_long =
        blocks == 1 || (s->block_size > PIECE && blocks < 2 * job->workers);
    return is_long ? plan_long(job, s) : plan_many(job, s);
}
