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
 * Work is cut into units: a chunk of a long block, or so many short blocks as make up
 * about a chunk. Accumulators of chunks go to a list, and finish() does step 5. Blocks
 * of up to 64 entries are reduced side by side, all by the same halving steps.
 */
#include "device/cpu/reduce.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/reduce_lanes.h"
#include "device/job_time.h"

enum {
    SHORT = 64,  /* longest block that is reduced side by side with others */
    TILE = 1024, /* accumulators staged at a time */
    AHEAD = 2,   /* tiles between prefetch and use */
    MAX_ACC_SIZE = 8,
    INLINE_UNITS = 1 /* jobs of so many units are not worth sharing */
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
    JobTime time;
    uint64_t partials[];    /* size / block * chunks accumulators, if chunks > 1 */
} Reduction;

bool reduce_supported(ReduceOp op, VarType type)
{
    if ((unsigned) op >= ReduceOpCount || (unsigned) type >= VarTypeCount)
        return false;
    return reduce_lanes_get()->kernel[op][type] != NULL;
}

/* Bits of 'width' ones. */
static uint64_t ones(unsigned width)
{
    return UINT64_MAX >> (64 - width);
}

/* Neutral elements of integers and Bool. */
static uint64_t integer_identity(ReduceOp op, VarType type, unsigned width)
{
    bool is_signed = type == VarTypeInt8 || type == VarTypeInt16 ||
                     type == VarTypeInt32 || type == VarTypeInt64;
    switch (op) {
    case ReduceOpMul:
        return 1;
    case ReduceOpMin:
        return ones(is_signed ? width - 1 : width);
    case ReduceOpMax:
        return is_signed ? UINT64_C(1) << (width - 1) : 0;
    case ReduceOpAnd:
        return type == VarTypeBool ? 1 : ones(width);
    default:
        return 0;
    }
}

bool reduce_identity(ReduceOp op, VarType type, uint64_t *bits)
{
    /* Columns: Add (and Identity), Mul, Min, Max. */
    static const uint64_t half[] = { 0, 0x3c00, 0x7c00, 0xfc00 };
    static const uint64_t single[] = { 0, 0x3f800000, 0x7f800000, 0xff800000 };
    static const uint64_t full[] = { 0, UINT64_C(0x3ff0000000000000),
                                     UINT64_C(0x7ff0000000000000),
                                     UINT64_C(0xfff0000000000000) };
    *bits = 0;
    if (op == ReduceOpIdentity)
        return (unsigned) type < VarTypeCount;
    if (!reduce_supported(op, type))
        return false;
    if (type == VarTypeFloat16)
        *bits = half[op - ReduceOpAdd];
    else if (type == VarTypeFloat32)
        *bits = single[op - ReduceOpAdd];
    else if (type == VarTypeFloat64)
        *bits = full[op - ReduceOpAdd];
    else
        *bits = integer_identity(
            op, type, 8u * reduce_lanes_get()->kernel[op][type]->entry_size);
    return true;
}

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
            k->load(in, block, width, rows, false, tile);
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

/* Blocks of up to LANES_CHUNK entries. */
static void reduce_blocks(const LaneKernel *k, const char *in, size_t block,
                          size_t count, char *out)
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

static void run_reduction(void *payload, uint32_t unit, uint32_t worker)
{
    (void) worker;
    Reduction *r = payload;
    const LaneKernel *k = r->kernel;
    job_time_begin(&r->time);
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
    char *partial = (char *) r->partials + (size_t) unit * k->acc_size;
    if (r->dot)
        r->dot(r->in_scalar ? r->in : r->in + offset, r->in_scalar,
               r->second_scalar ? r->second : r->second + offset, r->second_scalar,
               count, partial);
    else
        k->chunk(r->in + offset, count, partial);
}

/* Step 5 of the rule, in place; the result is partials[0]. */
static void fold_partials(const LaneKernel *k, char *partials, size_t count)
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

static void finish_reduction(void *payload)
{
    Reduction *r = payload;
    const LaneKernel *k = r->kernel;
    if (r->chunks > 1 || r->dot)
        for (size_t i = 0; i < r->size / r->block; ++i) {
            char *partials = (char *) r->partials + i * r->chunks * k->acc_size;
            fold_partials(k, partials, r->chunks);
            k->store(partials, 1, 1, 1, false, r->out + i * k->entry_size);
        }
    job_time_end(&r->time);
    alloc_free(r);
}

/* Number of units, and the other derived fields. */
static size_t plan(Reduction *r)
{
    size_t blocks = r->size / r->block;
    if (r->chunks > 1 || r->dot)
        return blocks * r->chunks;
    r->blocks_per_unit = LANES_CHUNK / r->block;
    return (blocks + r->blocks_per_unit - 1) / r->blocks_per_unit;
}

/* A Reduction with room for the accumulators of its chunks. */
static Reduction *create(const LaneKernel *kernel, size_t size, size_t block,
                         bool is_dot)
{
    size_t chunks = (block + LANES_CHUNK - 1) / LANES_CHUNK, count = 0;
    if (chunks > 1 || is_dot)
        count = size / block * chunks;
    Reduction *r = alloc_get(sizeof(Reduction) + count * sizeof(uint64_t));
    if (!r)
        return NULL;
    memset(r, 0, sizeof *r);
    r->kernel = kernel;
    r->size = size;
    r->block = block;
    r->chunks = chunks;
    return r;
}

static void submit(Stream *stream, Reduction *r, Buffer *const *reads,
                   uint32_t read_count, Buffer *out)
{
    size_t units = plan(r);
    stream_submit(stream, &(JobSpec){ .run = run_reduction,
                                      .finish = finish_reduction,
                                      .payload = r,
                                      .blocks = (uint32_t) units,
                                      .small = units <= INLINE_UNITS,
                                      .reads = reads,
                                      .read_count = read_count,
                                      .writes = &out,
                                      .write_count = 1 });
}

bool reduce_submit(Stream *stream, ReduceOp op, VarType type, Buffer *in, size_t size,
                   size_t block, Buffer *out,
                   void (*history)(void *payload, uint64_t ns), void *payload)
{
    if (!reduce_supported(op, type) || block == 0 || size == 0 || size % block != 0)
        return error_set(
            JIT_ERROR_ARGUMENT,
            "reduction %d of type %d in blocks of %zu of %zu entries is not "
            "defined",
            (int) op, (int) type, block, size);
    Reduction *r = create(reduce_lanes_get()->kernel[op][type], size, block, false);
    TRY(r, false);
    r->in = in->data;
    r->out = out->data;
    r->time = (JobTime){ .report = history, .payload = payload };
    submit(stream, r, &in, 1, out);
    return true;
}

bool reduce_now(ReduceOp op, VarType type, const void *in, size_t size, void *out)
{
    const LaneKernel *k = reduce_lanes_get()->kernel[op][type];
    if (size == 1) {
        memcpy(out, in, k->entry_size);
    } else if (size <= LANES_CHUNK) {
        reduce_blocks(k, in, size, 1, out);
    } else {
        Reduction *r = create(k, size, size, false);
        TRY(r, false);
        r->in = in;
        r->out = out;
        size_t units = plan(r);
        for (size_t i = 0; i < units; ++i)
            run_reduction(r, (uint32_t) i, 0);
        finish_reduction(r);
    }
    return true;
}

bool reduce_dot_submit(Stream *stream, VarType type, Buffer *a, bool a_scalar,
                       Buffer *b, bool b_scalar, size_t size, Buffer *out,
                       void (*history)(void *payload, uint64_t ns), void *payload)
{
    const LaneDot *dot =
        (unsigned) type < VarTypeCount ? &reduce_lanes_get()->dot[type] : NULL;
    if (!dot || !dot->chunk || size == 0)
        return error_set(JIT_ERROR_ARGUMENT,
                         "a dot product of %zu entries of type %d is not defined", size,
                         (int) type);
    Reduction *r = create(dot->sum, size, size, true);
    TRY(r, false);
    r->dot = dot->chunk;
    r->in = a->data;
    r->in_scalar = a_scalar;
    r->second = b->data;
    r->second_scalar = b_scalar;
    r->out = out->data;
    r->time = (JobTime){ .report = history, .payload = payload };
    Buffer *reads[] = { a, b };
    submit(stream, r, reads, 2, out);
    return true;
}
