/*
 * reduce_columns.c -- see reduce_columns.h
 */
#include "device/cpu/primitives/reduce_columns.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/primitives/reduce.h"

enum {
    BAND = 1 << 14, /* bytes of accumulators that take rows at a time: they stay in the
                       first-level cache */
    MEMORY = COLUMNS_PANEL * LANES_TOTALS /* bytes of partial results */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ------------------------------------------------------------------- planning */

static size_t count_panels(const Columns *c, size_t width)
{
    return (c->stride + width - 1) / width;
}

/* As few columns as leave all threads work, since each row of a panel is in another
 * page. */
static size_t choose_width(const Columns *c, size_t units, size_t most, size_t narrow)
{
    const size_t others = c->size / c->block / c->stride * c->chunks;
    size_t width = least(c->stride, most);
    while (width > narrow && others * count_panels(c, width) < units)
        width = (width / 2 + narrow - 1) / narrow * narrow;
    return width;
}

bool columns_plan(Columns *c, size_t units, size_t most, size_t narrow)
{
    c->chunks = (c->block + LANES_CHUNK - 1) / LANES_CHUNK;
    c->width = choose_width(c, units, most, narrow);
    c->panels = count_panels(c, c->width);
    if (c->chunks > 1)
        c->partials = alloc_get(c->size / c->block * c->chunks * c->kernel->acc_size);
    return c->chunks == 1 || c->partials;
}

size_t columns_units(const Columns *c)
{
    return c->size / c->block / c->stride * c->panels * c->chunks;
}

ColumnsUnit columns_unit(const Columns *c, size_t unit)
{
    const size_t chunk = unit % c->chunks, panel = unit / c->chunks % c->panels;
    const size_t matrix = unit / c->chunks / c->panels;
    const size_t column = panel * c->width, first = chunk * LANES_CHUNK;
    return (ColumnsUnit) {
        .start = (matrix * c->block + first) * c->stride + column,
        .width = least(c->stride - column, c->width),
        .rows = least(c->block - first, LANES_CHUNK),
        .result = matrix * c->stride + column,
        .chunk = chunk,
    };
}

/* -------------------------------------------------------------------- running */

static void fill_neutral(const LaneKernel *k, char *out, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        memcpy(out + i * k->acc_size, &k->neutral, k->acc_size);
}

/* Row by row: into[i] = row 'first' + i, or op(into[i], row). */
static void take_rows(const ColumnsTake *t, size_t width, size_t first, size_t count,
                      bool merge, char *into)
{
    const LaneKernel *k = t->kernel;
    const char *in = t->in + (t->fed ? 0 : first) * t->pitch * k->entry_size;
    const bool dense = t->pitch == width;
    const size_t entries = dense ? width * count : width, rows = dense ? 1 : count;
    if (merge) {
        k->merge(into, in, t->pitch, entries, rows);
        return;
    }
    for (size_t i = 0; i < rows; ++i, in += t->pitch * k->entry_size)
        k->load(k, in, entries, entries, 1, false, into + i * entries * k->acc_size);
}

size_t columns_band(const LaneKernel *kernel, size_t width)
{
    return BAND / (width * kernel->acc_size);
}

/* The first power of two that is not below 'count'. */
static size_t round_up(size_t count)
{
    size_t power = 1;
    while (power < count)
        power *= 2;
    return power;
}

/* Rows of a run that have the same partial results, and so are taken together. */
static void take_band(const ColumnsTake *takes, uint32_t count, const ColumnsUnit *unit,
                      ColumnsFeed *feed, size_t run, size_t lane, size_t first,
                      size_t rows)
{
    if (feed)
        feed->rows(feed, unit, run + first, rows);
    for (uint32_t i = 0; i < count; ++i) {
        const ColumnsTake *t = &takes[i];
        char *parts = run ? t->later : t->totals;
        take_rows(t, unit->width, run + first, rows, first != lane,
                  parts + lane * unit->width * t->kernel->acc_size);
    }
}

void columns_run(const ColumnsTake *takes, uint32_t count, const ColumnsUnit *unit,
                 ColumnsFeed *feed)
{
    const size_t width = unit->width, row = width * takes->kernel->acc_size;
    const size_t band = columns_band(takes->kernel, width);
    size_t lanes = LANES_TOTALS / takes->kernel->acc_size;
    const size_t run = LANES_RUN * lanes;
    if (unit->rows < lanes) /* a partial result for each */
        lanes = round_up(unit->rows);
    for (size_t i = 0; i < unit->rows; i += run) {
        const size_t rows = least(unit->rows - i, run);
        for (uint32_t k = 0; k < count && rows < lanes; ++k)
            fill_neutral(takes[k].kernel,
                         (i ? takes[k].later : takes[k].totals) + rows * row,
                         (lanes - rows) * width);
        for (size_t lane = 0; lane < lanes && lane < rows; lane += band)
            for (size_t j = lane; j < rows; j += lanes)
                take_band(takes, count, unit, feed, i, lane, j,
                          least(band, least(lanes - lane, rows - j)));
        for (uint32_t k = 0; k < count && i; ++k)
            takes[k].kernel->core->merge(takes[k].totals, takes[k].later, 0,
                                         lanes * width, 1);
    }
    for (size_t h = lanes / 2; h > 0; h /= 2)
        for (uint32_t k = 0; k < count; ++k)
            takes[k].kernel->core->merge(takes[k].totals, takes[k].totals + h * row, 0,
                                         h * width, 1);
}

void columns_store(const Columns *c, const ColumnsUnit *unit, const char *accs)
{
    const LaneKernel *k = c->kernel;
    if (c->chunks == 1) {
        k->store(accs, unit->width, unit->width, 1, false,
                 c->out + unit->result * k->entry_size);
        return;
    }
    for (size_t i = 0; i < unit->width; ++i)
        memcpy(c->partials +
                   ((unit->result + i) * c->chunks + unit->chunk) * k->acc_size,
               accs + i * k->acc_size, k->acc_size);
}

void columns_run_stored(const Columns *c, size_t unit)
{
    _Alignas(64) char totals[MEMORY], later[MEMORY];
    const ColumnsUnit u = columns_unit(c, unit);
    const ColumnsTake take = {
        .kernel = c->kernel,
        .in = c->in + u.start * c->kernel->entry_size,
        .pitch = c->stride,
        .totals = totals,
        .later = later,
    };
    columns_run(&take, 1, &u, NULL);
    columns_store(c, &u, totals);
}

void columns_finish(const Columns *c)
{
    if (c->chunks > 1)
        reduce_finish(c->kernel, c->partials, c->chunks, c->size / c->block, c->out);
}

void columns_release(const Columns *c)
{
    alloc_free(c->partials);
}
