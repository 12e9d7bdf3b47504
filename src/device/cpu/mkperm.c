/*
 * mkperm.c -- stable counting sort of keys within blocks
 *
 * Two ways, chosen by the number of blocks; the result does not depend on the choice.
 *
 * Few long blocks, one after the other: threads count the keys of pieces of the block,
 * each piece into a table of its own; a pass over the tables turns counts into
 * positions (bucket by bucket, within a bucket piece by piece, which keeps equal keys
 * in order); then threads distribute the pieces.
 *
 * Many blocks: each thread sorts whole blocks with a table of its own. The number of
 * records of each unit of blocks is noted, and if records are wanted, a second job,
 * which counts again, writes them to their places.
 */
#include "device/cpu/mkperm.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/pool.h"
#include "device/job_time.h"

enum {
    PIECE = 32768, /* least number of keys worth a thread */
    RECORD = 4     /* numbers in a record: bucket, start, size, 0 */
};

typedef struct Sort {
    const uint32_t *values;
    uint32_t *perm, *offsets;
    uint32_t size, block_size, bucket_count;
    uint32_t first, end;      /* few blocks: the current one */
    uint32_t piece;           /* few blocks: keys of a piece */
    uint32_t blocks_per_unit; /* many blocks */
    uint32_t *tables;         /* bucket_count counters for each piece or worker */
    uint32_t *records; /* many blocks: of each unit, then where its records begin */
    _Atomic uint64_t
        bad; /* position of the first key that is too large, or UINT64_MAX */
    JobTime time;
    uint64_t elapsed;
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

static void finish_time(void *payload)
{
    Sort *s = payload;
    job_time_end(&s->time);
}

/* Run a job and wait; false if a key is too large. */
static bool run_job(Stream *stream, Sort *s, void (*run)(void *, uint32_t, uint32_t),
                    uint32_t units)
{
    atomic_store_explicit(&s->time.begin, 0, memory_order_relaxed);
    stream_submit(stream, &(JobSpec){ .run = run,
                                      .finish = finish_time,
                                      .payload = s,
                                      .blocks = units,
                                      .small = units == 1 && s->size <= 2 * PIECE });
    stream_sync(stream);
    return atomic_load_explicit(&s->bad, memory_order_relaxed) == UINT64_MAX;
}

/* -------------------------------------------------------- few, long blocks */

static void run_count(void *payload, uint32_t piece, uint32_t worker)
{
    (void) worker;
    Sort *s = payload;
    job_time_begin(&s->time);
    uint32_t begin = s->first + piece * s->piece;
    count_keys(s, begin, smaller((uint64_t) begin + s->piece, s->end),
               s->tables + (size_t) piece * s->bucket_count);
}

static void run_place(void *payload, uint32_t piece, uint32_t worker)
{
    (void) worker;
    Sort *s = payload;
    job_time_begin(&s->time);
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

static bool sort_long(Stream *stream, Sort *s, uint32_t *unique)
{
    /* Tables should not be larger than the keys, or clearing and adding them up costs
     * more than the threads gain. */
    uint32_t block = smaller(s->block_size, s->size), threads = pool_size();
    uint32_t pieces = block / PIECE + 1;
    if (pieces > (threads ? threads : 1))
        pieces = threads ? threads : 1;
    while (pieces > 1 && (uint64_t) pieces * s->bucket_count > block)
        --pieces;
    s->piece = (block - 1) / pieces + 1;
    s->tables = alloc_get((size_t) pieces * s->bucket_count * sizeof(uint32_t));
    TRY(s->tables, false);
    for (uint64_t first = 0; first < s->size; first += s->block_size) {
        s->first = (uint32_t) first;
        s->end = smaller(first + s->block_size, s->size);
        uint32_t used = (s->end - s->first - 1) / s->piece + 1;
        TRY(run_job(stream, s, run_count, used), false);
        *unique += assign_places(
            s, used, s->offsets ? s->offsets + (size_t) *unique * RECORD : NULL);
        run_job(stream, s, run_place, used);
    }
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

static void run_sort(void *payload, uint32_t unit, uint32_t worker)
{
    Sort *s = payload;
    job_time_begin(&s->time);
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

static void run_records(void *payload, uint32_t unit, uint32_t worker)
{
    Sort *s = payload;
    job_time_begin(&s->time);
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

static bool sort_many(Stream *stream, Sort *s, uint32_t *unique)
{
    uint32_t blocks = (s->size - 1) / s->block_size + 1;
    s->blocks_per_unit = PIECE / s->block_size + 1;
    uint32_t units = (blocks - 1) / s->blocks_per_unit + 1;
    s->tables =
        alloc_get((size_t) pool_worker_bound() * s->bucket_count * sizeof(uint32_t));
    TRY(s->tables, false);
    s->records = alloc_get(units * sizeof(uint32_t));
    TRY(s->records, false);
    TRY(run_job(stream, s, run_sort, units), false);
    for (uint32_t unit = 0; unit < units; ++unit) {
        uint32_t count = s->records[unit];
        s->records[unit] = *unique;
        *unique += count;
    }
    if (s->offsets)
        run_job(stream, s, run_records, units);
    return true;
}

static void add_time(void *payload, uint64_t ns)
{
    ((Sort *) payload)->elapsed += ns;
}

bool mkperm_run(Stream *stream, const uint32_t *values, uint32_t size,
                uint32_t block_size, uint32_t bucket_count, uint32_t *perm,
                uint32_t *offsets, uint32_t *unique, uint64_t *ns)
{
    *unique = 0;
    if (ns)
        *ns = 0;
    if (size == 0)
        return true;
    if (block_size == 0 || bucket_count == 0)
        return error_set(
            JIT_ERROR_ARGUMENT,
            "jit_block_mkperm(): block size is %u and bucket count %u, both must "
            "be positive",
            block_size, bucket_count);
    Sort s = { .values = values,
               .perm = perm,
               .offsets = offsets,
               .size = size,
               .block_size = block_size,
               .bucket_count = bucket_count };
    s.time = (JobTime){ .report = add_time, .payload = &s };
    atomic_init(&s.bad, UINT64_MAX);
    uint32_t count = 0, blocks = (size - 1) / block_size + 1;
    bool is_long = blocks == 1 || (block_size > PIECE && blocks < 2 * pool_size());
    bool ok = is_long ? sort_long(stream, &s, &count) : sort_many(stream, &s, &count);
    alloc_free(s.tables);
    alloc_free(s.records);
    uint64_t bad = atomic_load_explicit(&s.bad, memory_order_relaxed);
    if (bad != UINT64_MAX)
        return error_set(
            JIT_ERROR_ARGUMENT,
            "jit_block_mkperm(): key %u at position %llu is not below the bucket "
            "count %u",
            values[bad], (unsigned long long) bad, bucket_count);
    if (ok)
        *unique = count;
    if (ns)
        *ns = s.elapsed;
    return ok;
}
