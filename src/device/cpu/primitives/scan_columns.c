/*
 * scan_columns.c -- prefix reductions of blocks that are the columns of matrices
 *
 * The association is that of scan.c. What it says of a number is done with a row of
 * them: a unit is a panel, columns that are next to each other, which it goes down a
 * group of rows at a time.
 *
 *     group of rows    each row takes the last one of the half before it, and so on;
 *                      then what stands before the group, then before the chunk
 *
 * A few columns make rows too short for that. They are taken apart, some rows at a
 * time, and each is scanned by itself.
 */
#include "device/cpu/primitives/scan_columns.h"

#include <string.h>

#include "device/command.h"
#include "device/cpu/cpu_hints.h"
#include "device/cpu/loops/reduce_lanes.h"
#include "device/cpu/pool.h"
#include "device/cpu/primitives/scan.h"
#include "ir/reduce_rule.h"

enum {
    PANEL = 512,    /* columns at most, */
    NARROW = 16,    /* and at least, if they are taken together */
    LEAST = 64,     /* bytes of a row of a panel, likewise: a cache line */
    SHARES = 2,     /* units for each thread, which are worth narrower panels: each row
                       of a panel is in another page */
    STAGE = 64,     /* columns of rows that are converted */
    STRIPE = 256,   /* entries of a column that is taken apart, at a time */
    MAX_SIZE = 8    /* bytes of entries, and of accumulators */
};

typedef struct Columns {
    const Lanes *lanes;
    const LaneKernel *kernel;
    const char *in;
    char *out;
    size_t extent, stride; /* rows; columns, of a matrix */
    size_t panels, width;  /* of each matrix; columns of all but the last one */
    bool exclusive, reverse;
    bool streams;          /* write past the cache */
    uint64_t identity;     /* as an entry */
} Columns;

/* Columns that are next to each other, of a matrix. */
typedef struct Panel {
    const Columns *all;
    size_t first, width; /* its first entry; columns */
    _Alignas(64) char before[PANEL * MAX_SIZE], carry[PANEL * MAX_SIZE],
        front[PANEL * MAX_SIZE]; /* rows of accumulators, see LaneRows */
} Panel;

/* Where a row begins, by its number in the order of scanning: bytes. */
static size_t row_place(const Panel *p, size_t row)
{
    const Columns *c = p->all;
    const size_t place = c->reverse ? c->extent - 1 - row : row;
    return (p->first + place * c->stride) * c->kernel->entry_size;
}

static void fill(char *out, uint64_t bits, size_t size, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        memcpy(out + i * size, &bits, size);
}

/* Accumulators to a row of entries. */
static void write_row(const Columns *c, const char *accs, size_t width, char *out)
{
    const LaneKernel *k = c->kernel;
    if (!c->streams) {
        k->store(accs, width, width, 1, false, out);
        return;
    }
    _Alignas(64) char entries[STAGE * MAX_SIZE];
    if (!k->direct) {
        k->store(accs, width, width, 1, false, entries);
        accs = entries;
    }
    c->lanes->stream(out, accs, width * k->entry_size);
}

/* Fewer rows than a group, or such as have to be converted. */
static void scan_staged(const Columns *c, const LaneRows *all, size_t count)
{
    const LaneKernel *k = c->kernel;
    _Alignas(64) char tile[LANES_GROUP * STAGE * MAX_SIZE];
    LaneRows r = *all;
    r.in = r.out = tile;
    r.flags &= ~(unsigned) LANES_STREAM;
    for (size_t j = 0; j < all->width; j += STAGE) {
        const size_t left = all->width - j, width = left < STAGE ? left : STAGE;
        const size_t size = width * k->acc_size, from = j * k->entry_size;
        for (size_t i = 0; i < count; ++i)
            k->load(k, all->in + (ptrdiff_t) i * all->in_stride + from, width, width, 1,
                    false, tile + i * size);
        fill(tile + count * size, k->neutral, k->acc_size,
             (LANES_GROUP - count) * width);
        r.width = width;
        r.in_stride = r.out_stride = (ptrdiff_t) size;
        r.before = (const char *) all->before + j * k->acc_size;
        r.carry = (char *) all->carry + j * k->acc_size;
        r.front = (char *) all->front + j * k->acc_size;
        k->core->scan_rows(&r);
        for (size_t i = 0; i < count; ++i)
            write_row(c, tile + i * size, width,
                      all->out + (ptrdiff_t) i * all->out_stride + from);
    }
}

/* Up to a group of rows, from number 'first' on. */
static void scan_group(Panel *p, size_t first, size_t count)
{
    enum { LINE = 64 };
    const Columns *c = p->all;
    const size_t entry = c->kernel->entry_size, stride = c->stride * entry;
    const size_t place = row_place(p, first);
    LaneRows r = {
        .in = c->in + place,
        .out = c->out + place,
        .in_stride = c->reverse ? -(ptrdiff_t) stride : (ptrdiff_t) stride,
        .width = p->width,
        .before = p->before,
        .carry = p->carry,
        .front = p->front,
        .flags = (c->exclusive ? LANES_EXCLUSIVE : 0u) |
                 (c->streams ? LANES_STREAM : 0u),
    };
    r.out_stride = r.in_stride;
    const bool lines = ((uintptr_t) r.out | stride | p->width * entry) % LINE == 0;
    if (c->kernel->direct && count == LANES_GROUP && (lines || !c->streams))
        c->kernel->core->scan_rows(&r);
    else
        scan_staged(c, &r, count);
}

static void scan_panel(const Columns *c, size_t first, size_t width)
{
    const LaneKernel *k = c->kernel;
    Panel p;
    p.all = c;
    p.first = first;
    p.width = width;
    fill(p.before, k->neutral, k->acc_size, width);
    fill(p.carry, k->neutral, k->acc_size, width);
    fill(p.front, k->neutral, k->acc_size, width);
    for (size_t i = 0; i < c->extent; i += LANES_GROUP) {
        const size_t left = c->extent - i;
        if (i && i % SCAN_CHUNK == 0) {
            k->core->merge(p.before, p.carry, 0, width, 1);
            fill(p.carry, k->neutral, k->acc_size, width);
        }
        scan_group(&p, i, left < LANES_GROUP ? left : LANES_GROUP);
    }
    if (c->exclusive) { /* 'front' was none; 'in' and 'out' may be the same */
        const size_t row = row_place(&p, 0);
        fill(c->out + row, c->identity, k->entry_size, width);
    }
}

/* ------------------------------------------------------------- a few columns */

/* 'count' entries that are 'in_stride' bytes apart, to others. */
static void move_entries(char *out, size_t out_stride, const char *in, size_t in_stride,
                         size_t size, size_t count)
{
#define MOVE(bytes)                                                             \
    case bytes:                                                                 \
        for (size_t i = 0; i < count; ++i, out += out_stride, in += in_stride)  \
            memcpy(out, in, bytes);                                             \
        break
    switch (size) {
        MOVE(1);
        MOVE(2);
        MOVE(4);
        MOVE(8);
    }
#undef MOVE
}

/* A stripe of one column; both values are of that column. */
static void scan_stripe(const Columns *c, size_t offset, size_t count, uint64_t before,
                        uint64_t *carry)
{
    const LaneKernel *k = c->kernel;
    const size_t stride = c->stride * k->entry_size;
    const size_t whole = (count + LANES_GROUP - 1) / LANES_GROUP * LANES_GROUP;
    _Alignas(64) char entries[STRIPE * MAX_SIZE], results[STRIPE * MAX_SIZE];
    _Alignas(64) char memory[(STRIPE + LANES_GROUP) * MAX_SIZE];
    char *tile = memory + LANES_GROUP * k->acc_size, *front = tile - k->acc_size;
    move_entries(entries, k->entry_size, c->in + offset, stride, k->entry_size, count);
    k->load(k, entries, count, whole, 1, c->reverse, tile);
    memcpy(front, carry, k->acc_size);
    k->core->scan(tile, whole, carry, tile);
    k->core->offset(c->exclusive ? front : tile, count, &before, results);
    k->store(results, count, count, 1, c->reverse, entries);
    move_entries(c->out + offset, stride, entries, k->entry_size, k->entry_size, count);
}

static void scan_narrow(const Columns *c, size_t first)
{
    const LaneKernel *k = c->kernel;
    uint64_t before[NARROW], carry[NARROW];
    for (size_t j = 0; j < c->stride; ++j)
        before[j] = carry[j] = k->neutral;
    for (size_t i = 0; i < c->extent; i += STRIPE) {
        const size_t left = c->extent - i, count = left < STRIPE ? left : STRIPE;
        const size_t row = c->reverse ? left - count : i;
        for (size_t j = 0; j < c->stride; ++j) {
            if (i && i % SCAN_CHUNK == 0) {
                uint64_t after = before[j];
                k->core->offset(&carry[j], 1, &before[j], &after);
                before[j] = after;
                carry[j] = k->neutral;
            }
            scan_stripe(c, (first + row * c->stride + j) * k->entry_size, count,
                        before[j], &carry[j]);
        }
    }
    if (c->exclusive)
        fill(c->out + (first + (c->reverse ? c->extent - 1 : 0) * c->stride) *
                          k->entry_size,
             c->identity, k->entry_size, c->stride);
}

/* --------------------------------------------------------------------- jobs */

typedef struct ColumnsJob {
    Columns columns;
    size_t matrices, together; /* all; of a unit, if they are small */
} ColumnsJob;

static void run(CpuJob *job, uint32_t unit, uint32_t worker)
{
    (void) worker;
    const ColumnsJob *j = job->state;
    const Columns *c = &j->columns;
    const size_t first = unit / c->panels * j->together;
    const size_t column = unit % c->panels * c->width, left = c->stride - column;
    for (size_t i = first; i < first + j->together && i < j->matrices; ++i) {
        const size_t matrix = i * c->extent * c->stride;
        if (c->stride < NARROW)
            scan_narrow(c, matrix);
        else
            scan_panel(c, matrix + column, left < c->width ? left : c->width);
    }
    if (c->streams)
        c->lanes->stream_end();
}

/* As few columns as it takes for several threads to have work. */
static size_t panel_width(const Columns *c, size_t matrices)
{
    const size_t least = LEAST / c->kernel->entry_size;
    const size_t narrow = least > NARROW ? least : NARROW;
    const size_t units = (size_t) pool_size() * SHARES;
    size_t width = c->stride < PANEL ? c->stride : PANEL;
    while (width > narrow && matrices * ((c->stride + width - 1) / width) < units)
        width = (width / 2 + narrow - 1) / narrow * narrow;
    return width;
}

bool scan_columns_prepare(CpuJob *job)
{
    enum { UNIT = 65536 }; /* entries at least, if there are that many */
    const Command *command = job->command;
    ColumnsJob *j = cpu_job_state(job, sizeof *j);
    TRY(j, false);
    Columns *c = &j->columns;
    c->lanes = reduce_lanes_get();
    c->kernel = c->lanes->kernel[command->reduce.op][command->reduce.type];
    c->in = command_address(command, 0);
    c->out = command_address(command, 1);
    c->extent = command->reduce.block;
    c->stride = command->reduce.stride;
    c->exclusive = command->reduce.exclusive;
    c->reverse = command->reduce.reverse;
    c->streams = c->stride >= NARROW &&
                 cpu_hints_bypass(command->size * c->kernel->entry_size);
    reduce_rule_identity(command->reduce.op, command->reduce.type, &c->identity);
    j->matrices = command->size / c->extent / c->stride;
    c->width = panel_width(c, j->matrices);
    c->panels = (c->stride + c->width - 1) / c->width;
    j->together = UNIT / (c->extent * c->width) + 1;
    job->run = run;
    job->blocks =
        (uint32_t) ((j->matrices + j->together - 1) / j->together * c->panels);
    job->small = job->blocks == 1;
    return true;
}
