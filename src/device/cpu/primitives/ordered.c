/*
 * ordered.c -- values are added to the entries of an array in an order that depends on
 * sizes alone (JitFlagDeterministic)
 *
 * Lanes are cut into blocks of consecutive lanes, whose length follows from the number
 * of lanes and that of entries. A block has a copy of the target: the first one of its
 * contents, the others of neutral elements. Lanes of a block that have the same entry
 * are added to it in ascending order, and then the copies are combined, in ascending
 * order, too:
 *
 *     lanes   │ block 0 │ block 1 │ ... │          at most 64
 *     copies  │ target  │ neutral │ ... │          ──► target
 *
 * How this is done is nobody's concern but the clock's, as long as each entry sees its
 * lanes in this order. Where many lanes in a row have one entry, a thread takes several
 * blocks side by side, a few lanes of each at a time: additions to one entry wait for
 * one another, those to copies do not. Where there are more threads than blocks,
 * several of them go over all lanes of a block, each for a range of its entries. A
 * single block is done in place.
 */
#include <string.h>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/cpu_job.h"
#include "device/cpu/loops/ordered_lanes.h"
#include "device/cpu/pool.h"
#include "device/cpu/primitives/combine.h"
#include "device/cpu/primitives/transfer.h"
#include "ir/reduce_rule.h"
#include "ir/type.h"

enum {
    LEAST = 1024,   /* lanes of a block, */
    FEW_LANES = 2,  /* the same for each entry, where there are two blocks, */
    MANY_LANES = 8, /* or more, */
    BLOCKS = 64,    /* and number of blocks: all parts of the documented order */
    CHUNK = ORDERED_CHUNK,
    STRETCH = 64,   /* lanes of one block, before it is the next one's turn */
    WAITING = 256,  /* of those that a chunk does not have all of */
    SIDE = 8,       /* blocks that one thread takes side by side, at most */
    SMALL = 1 << 15,    /* lanes that are not worth sharing */
    GRAIN = 256 << 10,  /* bytes of copies that are combined at a time */
    LINE = 64
};

typedef struct Ordered {
    const OrderedLoops *loops;
    const CombineOp *combine;
    const uint32_t *index;
    const unsigned char *values;
    const uint8_t *mask;         /* NULL: all lanes are active */
    bool one_index, one_value, one_mask; /* the same in all lanes */
    unsigned char *target;
    uint32_t entries, size;      /* of the target; bytes of one */
    uint64_t lanes, block;       /* lanes of a block */
    uint32_t side, ranges;       /* blocks of a task; tasks of a block */
    size_t stride;               /* bytes between copies */
    uint64_t neutral;
    Buffer *memory;              /* copies; NULL: there is one block, done in place */
    uint32_t same_index[CHUNK];  /* where 'one_index' */
    uint64_t same_value[CHUNK];
    uint8_t same_mask[CHUNK];
} Ordered;

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* ---------------------------------------------------------------------- lanes */

static bool has_all(const uint8_t *mask)
{
    uint64_t halves[2];
    _Static_assert(sizeof halves == CHUNK, "a byte for each lane");
    memcpy(halves, mask, sizeof halves);
    return (halves[0] & halves[1]) == UINT64_C(0x0101010101010101);
}

/* How many lanes of a whole chunk have an entry that is wanted? */
static uint32_t count_wanted(const OrderedChunk *c)
{
    uint32_t wanted = 0;
    for (uint32_t j = 0; j < CHUNK; ++j)
        wanted += c->index[j] - c->first < c->entries;
    return wanted;
}

/* Lanes that were selected for a copy and are to be added. */
typedef struct Waiting {
    uint32_t index[WAITING];
    uint64_t values[WAITING];
    uint32_t count;
} Waiting;

static void add_waiting(const Ordered *o, Waiting *w, unsigned char *copy)
{
    if (w->count)
        o->loops->add(copy, w->index, w->values, w->count);
    w->count = 0;
}

static void wait(const Ordered *o, const OrderedChunk *c, Waiting *w,
                 unsigned char *copy)
{
    if (w->count > WAITING - CHUNK)
        add_waiting(o, w, copy);
    w->count += o->loops->select(c, w->index + w->count,
                                 (unsigned char *) w->values + w->count * o->size);
}

/* Add lanes from 'at' on, a chunk at most, to a range of entries of a copy. */
static inline void add_chunk(const Ordered *o, uint64_t at, uint64_t end,
                             unsigned char *copy, uint32_t first, uint32_t entries,
                             Waiting *w)
{
    const bool whole = entries == o->entries;
    const OrderedChunk c = { o->one_index ? o->same_index : o->index + at,
                      o->one_value ? (const void *) o->same_value
                                   : o->values + at * o->size,
                      !o->mask ? NULL : o->one_mask ? o->same_mask : o->mask + at,
                      (uint32_t) least(end - at, CHUNK), first, entries };
    if (c.count < CHUNK) {
        wait(o, &c, w, copy);
        return;
    }
    const uint32_t wanted = whole ? CHUNK : count_wanted(&c);
    if (wanted == CHUNK && (!c.mask || has_all(c.mask))) {
        add_waiting(o, w, copy); /* which come before */
        o->loops->add(copy, c.index, c.values, CHUNK);
    } else if (wanted) {
        wait(o, &c, w, copy);
    }
}

/* --------------------------------------------------------------------- blocks */

/* The only block has none: it is done in place. */
static unsigned char *copy_of(const Ordered *o, uint32_t block)
{
    return o->memory ? (unsigned char *) o->memory->address + block * o->stride
                     : o->target;
}

static uint32_t block_count(const Ordered *o)
{
    return (uint32_t) ((o->lanes + o->block - 1) / o->block);
}

/* Do the first lanes of a block share few entries? */
static bool has_runs(const Ordered *o, uint64_t at)
{
    enum { LOOK = 64, FEW = LOOK / 4 };
    if (o->one_index)
        return true;
    uint32_t low = UINT32_MAX, high = 0;
    const uint64_t end = least(at + LOOK, o->lanes);
    for (uint64_t i = at; i < end; ++i) {
        low = o->index[i] < low ? o->index[i] : low;
        high = o->index[i] > high ? o->index[i] : high;
    }
    return high - low < FEW;
}

/* Blocks from 'first' on, side by side, where no lane has to be looked at. */
static void add_plain(const Ordered *o, uint32_t first, uint32_t count)
{
    const uint64_t stretch = count > 1 ? STRETCH : o->block;
    for (uint64_t i = 0; i < o->block; i += stretch)
        for (uint32_t k = first; k < first + count; ++k) {
            const uint64_t at = k * o->block + i;
            const uint64_t end = least(at + stretch, least((k + 1) * o->block,
                                                           o->lanes));
            if (at < end)
                o->loops->add(copy_of(o, k), o->index + at, o->values + at * o->size,
                              (size_t) (end - at));
        }
}

/* The same for any lanes. */
static void add_blocks(const Ordered *o, uint32_t first, uint32_t count)
{
    Waiting waiting[SIDE];
    for (uint32_t k = 0; k < count; ++k)
        waiting[k].count = 0;
    for (uint64_t i = 0; i < o->block; i += CHUNK)
        for (uint32_t k = 0; k < count; ++k) {
            const uint64_t at = (first + k) * o->block + i;
            const uint64_t end = least((first + k + 1) * o->block, o->lanes);
            if (at < end)
                add_chunk(o, at, end, copy_of(o, first + k), 0, o->entries,
                          &waiting[k]);
        }
    for (uint32_t k = 0; k < count; ++k)
        add_waiting(o, &waiting[k], copy_of(o, first + k));
}

/* What a range of entries of a copy starts with. */
static void start_copy(const Ordered *o, uint32_t block, uint32_t first,
                       uint32_t entries)
{
    unsigned char *to = copy_of(o, block) + (size_t) first * o->size;
    const size_t bytes = (size_t) entries * o->size;
    if (block)
        transfer_fill(to, bytes, o->neutral, o->size);
    else if (o->memory)
        memcpy(to, o->target + (size_t) first * o->size, bytes);
}

/* Some blocks, each as a whole. */
static void run_blocks(CpuJob *job, uint32_t task, uint32_t worker)
{
    const Ordered *o = job->state;
    (void) worker;
    const uint32_t first = task * o->side;
    const uint32_t end = (uint32_t) least(first + o->side, block_count(o));
    const uint32_t step = has_runs(o, first * o->block) ? end - first : 1;
    const bool plain = !o->mask && !o->one_index && !o->one_value;
    for (uint32_t k = first; k < end; ++k)
        start_copy(o, k, 0, o->entries);
    for (uint32_t k = first; k < end; k += step)
        if (plain)
            add_plain(o, k, (uint32_t) least(step, end - k));
        else
            add_blocks(o, k, (uint32_t) least(step, end - k));
}

/* A range of the entries of one block. */
static void run_range(CpuJob *job, uint32_t task, uint32_t worker)
{
    const Ordered *o = job->state;
    (void) worker;
    const uint32_t block = task / o->ranges, range = task % o->ranges;
    const uint32_t first = (uint32_t) ((uint64_t) o->entries * range / o->ranges);
    const uint32_t end = (uint32_t) ((uint64_t) o->entries * (range + 1) / o->ranges);
    const uint64_t last = least((block + 1) * o->block, o->lanes);
    Waiting waiting;
    waiting.count = 0;
    start_copy(o, block, first, end - first);
    for (uint64_t at = block * o->block; at < last; at += CHUNK)
        add_chunk(o, at, last, copy_of(o, block), first, end - first, &waiting);
    add_waiting(o, &waiting, copy_of(o, block));
}

static size_t grain_of(const Ordered *o)
{
    return (size_t) most(GRAIN / o->size / block_count(o), LEAST);
}

static void run_combine(CpuJob *job, uint32_t part, uint32_t worker)
{
    const Ordered *o = job->state;
    (void) worker;
    const size_t grain = grain_of(o), begin = part * grain;
    combine_run(o->combine, o->target + begin * o->size,
                copy_of(o, 0) + begin * o->size,
                (size_t) least(grain, o->entries - begin), o->stride / o->size,
                block_count(o));
}

static bool finish_blocks(CpuJob *job)
{
    const size_t grain = grain_of(job->state);
    job->run = run_combine;
    job->finish = NULL;
    job->blocks = (uint32_t) ((((const Ordered *) job->state)->entries + grain - 1) /
                              grain);
    return false;
}

/* -------------------------------------------------------------------- command */

/* At least so much, as an odd multiple of LINE, so that what is a power of two apart
 * does not compete for the same places in caches. */
static uint64_t odd_lines(uint64_t count)
{
    return ((count + LINE - 1) / LINE | 1) * LINE;
}

/* Part of the documented order. */
static uint64_t block_length(uint64_t lanes, uint64_t entries)
{
    const uint64_t half = most(FEW_LANES * entries, (lanes + 1) / 2);
    const uint64_t length = most(least(MANY_LANES * entries, half),
                                 (lanes + BLOCKS - 1) / BLOCKS);
    return odd_lines(most(LEAST, length));
}

/* Where all lanes have the same operand, chunks of it. */
static void repeat(Ordered *o)
{
    for (uint32_t j = 0; j < CHUNK; ++j) {
        if (o->one_index)
            o->same_index[j] = o->index[0];
        if (o->one_value)
            memcpy((unsigned char *) o->same_value + j * o->size, o->values, o->size);
        if (o->one_mask)
            o->same_mask[j] = o->mask[0];
    }
}

/* The operands have values once the command runs. */
static void run_first(CpuJob *job, uint32_t block, uint32_t worker)
{
    (void) block;
    (void) worker;
    repeat(job->state);
}

static bool finish_first(CpuJob *job)
{
    const Ordered *o = job->state;
    const uint32_t blocks = block_count(o);
    job->run = o->ranges > 1 ? run_range : run_blocks;
    job->finish = o->memory ? finish_blocks : NULL;
    job->blocks = (blocks + o->side - 1) / o->side * o->ranges;
    return false;
}

static void release(CpuJob *job)
{
    buffer_release(((const Ordered *) job->state)->memory);
}

static void take_operands(Ordered *o, const Command *c)
{
    o->lanes = c->size;
    o->size = o->combine->size;
    o->index = command_address(c, 0);
    o->values = command_address(c, 1);
    o->target = command_address(c, 2);
    o->mask = c->slot_count > 3 ? command_address(c, 3) : NULL;
    o->one_index = c->slots[0].bytes == sizeof(uint32_t);
    o->one_value = c->slots[1].bytes == o->size;
    o->one_mask = o->mask && c->slots[3].bytes == 1;
    o->entries = (uint32_t) (c->slots[2].bytes / o->size);
}

/* What leaves all entries as they are: -0 for sums, since +0 would change -0. */
static bool find_neutral(Ordered *o, const Command *c)
{
    TRY(reduce_rule_identity(c->ordered.op, c->ordered.type, &o->neutral), false);
    if (c->ordered.op == ReduceOpAdd)
        o->neutral = UINT64_C(1) << (8 * type_info[c->ordered.type].size - 1);
    return true;
}

bool ordered_prepare(CpuJob *job)
{
    const Command *c = job->command;
    Ordered *o = cpu_job_state(job, sizeof *o);
    TRY(o, false);
    job->release = release;
    o->loops = &ordered_lanes_get()->loops[c->ordered.op][c->ordered.type];
    o->combine = combine_find(c->ordered.op, c->ordered.type);
    if (!o->loops->add || !find_neutral(o, c))
        return error_set(JIT_ERROR_UNSUPPORTED, "jit_var_scatter(): reduction %d has no"
                         " order for type %d", (int) c->ordered.op,
                         (int) c->ordered.type);
    take_operands(o, c);
    o->block = block_length(o->lanes, o->entries);
    job->small = o->lanes <= SMALL;
    job->workers = job->small ? 1 : pool_worker_bound();
    o->side = (uint32_t) least(most(block_count(o) / job->workers, 1), SIDE);
    o->ranges = (uint32_t) least(most(job->workers / block_count(o), 1), BLOCKS);
    o->stride = odd_lines(o->entries) * o->size;
    if (block_count(o) > 1)
        TRY(o->memory = buffer_get(cpu_device(), block_count(o) * o->stride), false);
    job->blocks = 1;
    job->run = run_first;
    job->finish = finish_first;
    if (!o->one_index && !o->one_value && !o->one_mask)
        finish_first(job);
    return true;
}
