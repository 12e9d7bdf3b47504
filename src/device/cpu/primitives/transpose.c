/*
 * transpose.c -- two neighbouring axes of an array change places
 *
 *     (matrices, rows, columns, items) ──► (matrices, columns, rows, items)
 *
 * A unit is a panel of columns, and a stripe of rows, which it goes down a tile at a
 * time. A tile is as many rows as a cache line has entries, so that whole lines are
 * read and written; the entries change places in a buffer, whose lines do not displace
 * each other as those of a matrix with a power of two as its width do. Several tiles
 * lie side by side: each row is elsewhere in memory, where the first access is slow.
 *
 * Longer items are copied one by one.
 */
#include <string.h>

#include "device/command.h"
#include "device/cpu/cpu_hints.h"
#include "device/cpu/cpu_job.h"
#include "device/cpu/loops/reduce_lanes.h"
#include "ir/type.h"

enum {
    LINE = 64,      /* bytes: the sides of a tile */
    SIDE = 4,       /* tiles side by side */
    STRIPE = 1024,  /* rows of a unit, */
    UNIT = 1 << 18  /* or bytes, of long items */
};

typedef struct Transpose {
    const Lanes *lanes;
    const char *in;
    char *out;
    size_t rows, columns, item;    /* of a matrix; bytes */
    size_t panels, width;          /* of a matrix; its columns */
    size_t stripes, height;        /* of a matrix; its rows */
    bool streams;                  /* write past the cache */
} Transpose;

/* Rows and columns of a matrix. */
typedef struct Part {
    const char *in; /* the matrices */
    char *out;
    size_t row, column, rows, columns;
} Part;

static const char *source(const Transpose *t, const Part *p)
{
    return p->in + (p->row * t->columns + p->column) * t->item;
}

static char *target(const Transpose *t, const Part *p)
{
    return p->out + (p->column * t->rows + p->row) * t->item;
}

/* Any part, an item at a time. */
#define MOVE(name, bytes)                                                              \
    static void move_##name(const Transpose *t, const Part *p)                         \
    {                                                                                  \
        const size_t in_stride = t->columns * (bytes), out_stride = t->rows * (bytes); \
        const char *in = source(t, p);                                                 \
        char *out = target(t, p);                                                      \
        for (size_t j = 0; j < p->columns; ++j)                                        \
            for (size_t i = 0; i < p->rows; ++i)                                       \
                memcpy(out + j * out_stride + i * (bytes), in + i * in_stride +        \
                       j * (bytes), bytes);                                            \
    }
static void write_lines(const Transpose *t, const Part *p, const char *lines)
{
    const size_t stride = t->rows * t->item;
    char *out = target(t, p);
    for (size_t i = 0; i < p->columns; ++i, out += stride, lines += LINE)
        if (t->streams)
            t->lanes->stream(out, lines, LINE);
        else
            memcpy(out, lines, LINE);
}

/* A whole tile. */
#define TURN(bytes)                                                                    \
    static void turn_##bytes(const Transpose *t, const Part *p)                        \
    {                                                                                  \
        enum { side = LINE / (bytes) };                                                \
        _Alignas(LINE) char lines[side * LINE], turned[side * LINE];                   \
        const size_t stride = t->columns * (bytes);                                    \
        const char *in = source(t, p);                                                 \
        for (size_t i = 0; i < side; ++i)                                              \
            memcpy(lines + i * LINE, in + i * stride, LINE);                           \
        for (size_t j = 0; j < side; ++j)                                              \
            for (size_t i = 0; i < side; ++i)                                          \
                memcpy(turned + j * LINE + i * (bytes), lines + i * LINE +             \
                       j * (bytes), bytes);                                            \
        write_lines(t, p, turned);                                                     \
    }

MOVE(any, t->item)
MOVE(1, 1)
MOVE(2, 2)
MOVE(4, 4)
MOVE(8, 8)
TURN(1)
TURN(2)
TURN(4)
TURN(8)

/* By the size of entries. */
static const struct {
    void (*move)(const Transpose *t, const Part *p);
    void (*turn)(const Transpose *t, const Part *p); /* NULL: there are no tiles */
} loops[] = { { move_1, turn_1 }, { move_2, turn_2 }, { move_4, turn_4 },
              { move_8, turn_8 }, { move_any, NULL } };

static uint32_t loops_of(size_t item)
{
    switch (item) {
        case 1: return 0;
        case 2: return 1;
        case 4: return 2;
        case 8: return 3;
        default: return 4;
    }
}

static void turn_part(const Transpose *t, const Part *all)
{
    const uint32_t which = loops_of(t->item);
    if (!loops[which].turn) {
        loops[which].move(t, all);
        return;
    }
    const size_t side = LINE / t->item;
    Part p = *all;
    for (size_t i = 0; i < all->rows; i += side)
        for (size_t j = 0; j < all->columns; j += side) {
            p.row = all->row + i;
            p.column = all->column + j;
            p.rows = all->rows - i < side ? all->rows - i : side;
            p.columns = all->columns - j < side ? all->columns - j : side;
            if (p.rows == side && p.columns == side)
                loops[which].turn(t, &p);
            else
                loops[which].move(t, &p);
        }
}

static void run(CpuJob *job, uint32_t unit, uint32_t worker)
{
    (void) worker;
    const Transpose *t = job->state;
    const size_t stripe = unit % t->stripes, panel = unit / t->stripes % t->panels;
    const size_t matrix = unit / t->stripes / t->panels;
    const size_t offset = matrix * t->rows * t->columns * t->item;
    const size_t row = stripe * t->height, column = panel * t->width;
    const size_t rows = t->rows - row, columns = t->columns - column;
    turn_part(t, &(Part){ t->in + offset, t->out + offset, row, column,
                          rows < t->height ? rows : t->height,
                          columns < t->width ? columns : t->width });
    if (t->streams)
        t->lanes->stream_end();
}

bool transpose_prepare(CpuJob *job)
{
    const Command *c = job->command;
    Transpose *t = cpu_job_state(job, sizeof *t);
    TRY(t, false);
    const size_t entry = type_info[c->transpose.type].size;
    t->lanes = reduce_lanes_get();
    t->in = command_address(c, 0);
    t->out = command_address(c, 1);
    t->rows = c->transpose.rows;
    t->columns = c->transpose.columns;
    t->item = c->transpose.items * entry;
    t->streams = cpu_hints_bypass(c->size * entry);
    t->width = t->item < LINE ? SIDE * (LINE / t->item) : SIDE;
    t->height = STRIPE;
    if (t->height * t->width * t->item > UNIT)
        t->height = UNIT / (t->width * t->item) + 1;
    t->panels = (t->columns + t->width - 1) / t->width;
    t->stripes = (t->rows + t->height - 1) / t->height;
    job->run = run;
    job->blocks = (uint32_t) (c->size / c->transpose.items / t->rows / t->columns *
                              t->panels * t->stripes);
    job->small = job->blocks == 1;
    return true;
}
