/*
 * transfer.c -- copies, fills and aggregation as stream work
 *
 * Every job has a payload of its own (a Transfer), allocated here and released by
 * finish(). Work is cut into grains of GRAIN bytes: large enough to drown the cost of
 * taking a block, small enough that threads finish together. Up to SMALL bytes, sharing
 * costs more than it brings, and the job may run in the calling thread.
 */
#include "device/cpu/transfer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/combine.h"

enum { GRAIN = 256 << 10, SMALL = 64 << 10 };

typedef struct Transfer {
    unsigned char *dst;
    const unsigned char *src;
    size_t size;         /* bytes; combining: entries */
    size_t grain;        /* the same unit, of one block */
    uint64_t bits;       /* fill: the item, repeated to 8 bytes */
    size_t stride;       /* combine: entries between images */
    uint32_t copies;
    const CombineOp *combine;
    JobTime time;
    uint32_t count;      /* aggregation */
    AggregationEntry entries[];
} Transfer;

/* Offsets of the part that is block's. */
static size_t part(const Transfer *t, uint32_t block, size_t *begin)
{
    *begin = block * t->grain;
    size_t rest = t->size - *begin;
    return rest < t->grain ? rest : t->grain;
}

static void finish(void *payload)
{
    Transfer *t = payload;
    job_time_end(&t->time);
    alloc_free(t);
}

/* Memory for a job; a missing one is reported. */
static Transfer *create(size_t size, JobReport report)
{
    Transfer *t = alloc_get(size);
    if (!t)
        job_time_none(report);
    return t;
}

static JobTime time_for(JobReport report)
{
    return (JobTime) { .report = report.call, .payload = report.payload };
}

static void submit(Stream *stream, Transfer *t, size_t bytes,
                   void (*run)(void *payload, uint32_t block, uint32_t worker),
                   Buffer *const *read, Buffer *const *write)
{
    JobSpec spec = {.run = run, .finish = finish, .payload = t,
                    .blocks = (uint32_t) ((t->size + t->grain - 1) / t->grain),
                    .small = bytes <= SMALL, .reads = read, .read_count = read ? 1 : 0,
                    .writes = write, .write_count = write ? 1 : 0};
    stream_submit(stream, &spec);
}

/* A grain for 'size' bytes, such that blocks can be counted in 32 bits. */
static size_t grain_for(size_t size)
{
    size_t grain = GRAIN;
    while (size / grain >= UINT32_MAX)
        grain *= 2;
    return grain;
}

/* --------------------------------------------------------------------- copy */

static void run_copy(void *payload, uint32_t block, uint32_t worker)
{
    Transfer *t = payload;
    size_t begin, size = part(t, block, &begin);
    (void) worker;
    job_time_begin(&t->time);
    memmove(t->dst + begin, t->src + begin, size);
}

static bool copy(Stream *stream, unsigned char *dst, const unsigned char *src,
                 size_t size, Buffer *const *read, Buffer *const *write,
                 JobReport report)
{
    if (size == 0) {
        job_time_none(report);
        return true;
    }
    Transfer *t = create(sizeof *t, report);
    TRY(t, false);
    /* Overlapping regions must be moved by one thread in one go. */
    uintptr_t d = (uintptr_t) dst, s = (uintptr_t) src;
    bool overlap = d < s + size && s < d + size;
    *t = (Transfer) {.dst = dst, .src = src, .size = size,
                     .grain = overlap ? size : grain_for(size),
                     .time = time_for(report)};
    submit(stream, t, size, run_copy, read, write);
    return true;
}

bool transfer_copy(Stream *stream, void *dst, const void *src, size_t size,
                   JobReport report)
{
    return copy(stream, dst, src, size, NULL, NULL, report);
}

bool transfer_copy_buffer(Stream *stream, Buffer *dst, size_t dst_offset, Buffer *src,
                          size_t src_offset, size_t size, JobReport report)
{
    return copy(stream, (unsigned char *) dst->data + dst_offset,
                (const unsigned char *) src->data + src_offset, size, &src, &dst,
                report);
}

/* --------------------------------------------------------------------- fill */

static void run_fill(void *payload, uint32_t block, uint32_t worker)
{
    Transfer *t = payload;
    size_t begin, size = part(t, block, &begin);
    unsigned char *dst = t->dst + begin;
    uint64_t bits = t->bits;
    (void) worker;
    job_time_begin(&t->time);
    if (bits == (bits & 0xff) * 0x0101010101010101u) {
        memset(dst, (int) (bits & 0xff), size);
        return;
    }
    /* Grains are multiples of 8, so the pattern starts anew with each block. */
    size_t whole = size / 8 * 8;
    for (size_t i = 0; i < whole; i += 8)
        memcpy(dst + i, &bits, 8);
    memcpy(dst + whole, &bits, size - whole);
}

static bool fill(Stream *stream, void *dst, uint64_t bits, uint32_t item_size,
                 size_t count, Buffer *const *write, JobReport report)
{
    if (count == 0) {
        job_time_none(report);
        return true;
    }
    switch (item_size) {
    case 1:
        bits = (bits & 0xff) * 0x0101010101010101u;
        break;
    case 2:
        bits = (bits & 0xffff) * 0x0001000100010001u;
        break;
    case 4:
        bits = (bits & 0xffffffff) * 0x0000000100000001u;
        break;
    case 8:
        break;
    default:
        job_time_none(report);
        return error_set(JIT_ERROR_ARGUMENT, "jit_memset_async(): the item has %u bytes"
                         ", expected 1, 2, 4 or 8", item_size);
    }
    Transfer *t = create(sizeof *t, report);
    TRY(t, false);
    size_t size = count * item_size;
    *t = (Transfer) {.dst = dst, .bits = bits, .size = size, .grain = grain_for(size),
                     .time = time_for(report)};
    submit(stream, t, size, run_fill, NULL, write);
    return true;
}

bool transfer_fill(Stream *stream, void *dst, uint64_t bits, uint32_t item_size,
                   size_t count, JobReport report)
{
    return fill(stream, dst, bits, item_size, count, NULL, report);
}

bool transfer_fill_buffer(Stream *stream, Buffer *dst, uint64_t bits,
                          uint32_t item_size, size_t count, JobReport report)
{
    return fill(stream, dst->data, bits, item_size, count, &dst, report);
}

/* ---------------------------------------------------------------- aggregate */

static void run_aggregate(void *payload, uint32_t block, uint32_t worker)
{
    Transfer *t = payload;
    (void) block;
    (void) worker;
    job_time_begin(&t->time);
    for (uint32_t i = 0; i < t->count; i++) {
        const AggregationEntry *e = &t->entries[i];
        if (e->size >= 0)
            memcpy(t->dst + e->offset, &e->src, (size_t) e->size);
        else
            memcpy(t->dst + e->offset, e->src, (size_t) -(int64_t) e->size);
    }
}

bool transfer_aggregate(Stream *stream, void *dst, const AggregationEntry *entries,
                        uint32_t count, JobReport report)
{
    for (uint32_t i = 0; i < count; i++) {
        int32_t size = entries[i].size;
        if (size > 0 && size != 1 && size != 2 && size != 4 && size != 8) {
            job_time_none(report);
            return error_set(JIT_ERROR_ARGUMENT, "jit_aggregate(): entry %u has the "
                             "size %d, expected 1, 2, 4, 8 or a negative number",
                             i, size);
        }
    }
    if (count == 0) {
        job_time_none(report);
        return true;
    }
    Transfer *t = create(sizeof *t + count * sizeof *entries, report);
    TRY(t, false);
    *t = (Transfer) {.dst = dst, .size = 1, .grain = 1, .count = count,
                     .time = time_for(report)};
    memcpy(t->entries, entries, count * sizeof *entries);
    submit(stream, t, count * sizeof *entries, run_aggregate, NULL, NULL);
    return true;
}

/* ------------------------------------------------------------------ combine */

static void run_combine(void *payload, uint32_t block, uint32_t worker)
{
    const Transfer *t = payload;
    size_t begin, count = part(t, block, &begin);
    const size_t entry = t->combine->size;
    (void) worker;
    combine_run(t->combine, t->dst + begin * entry, t->src + begin * entry, count,
                t->stride, t->copies);
}

bool transfer_combine_copies(Stream *stream, ReduceOp op, VarType type,
                             Buffer *expanded, size_t size, size_t stride,
                             uint32_t copies, Buffer *out)
{
    const CombineOp *combine = combine_find(op, type);
    if (!combine)
        return error_set(JIT_ERROR_UNSUPPORTED, "jit_var_scatter(): reduction %d is not"
                         " defined for type %d", (int) op, (int) type);
    if (size == 0 || copies == 0)
        return true;
    Transfer *t = alloc_get(sizeof *t);
    TRY(t, false);
    /* Grains shrink with the number of images, as each entry is more work. */
    size_t bytes = size * combine->size * copies;
    size_t grain = grain_for(bytes) / combine->size / copies;
    *t = (Transfer) {.dst = out->data, .src = expanded->data, .size = size,
                     .grain = grain < 64 ? 64 : grain, .stride = stride,
                     .copies = copies, .combine = combine};
    submit(stream, t, bytes, run_combine, &expanded, &out);
    return true;
}
