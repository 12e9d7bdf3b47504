/*
 * reduce_columns.h -- reductions whose blocks are the columns of matrices
 *
 * The order of summation is that of reduce.c: what it says of a number is done with a
 * row of them. A unit is a chunk of a panel, which is some columns that are next to
 * each other, so that memory is read row by row.
 *
 *     entries of a matrix:   row 0:  panel 0 | panel 1 | ...
 *                            row 1:  panel 0 | panel 1 | ...
 *
 * The rows may be in memory, or be computed as they are needed (cpu_fused_columns.c).
 */
#ifndef DEVICE_CPU_PRIMITIVES_REDUCE_COLUMNS_H
#define DEVICE_CPU_PRIMITIVES_REDUCE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/cpu/loops/reduce_lanes.h"

enum {
    COLUMNS_PANEL = 512, /* columns at most, */
    COLUMNS_NARROW = 16, /* and at least, if a matrix has that many */
    COLUMNS_SHARES = 2   /* units for each thread */
};

/** A reduction. */
typedef struct Columns {
    const LaneKernel *kernel;
    const char *in; /* the matrices, one behind the other; NULL: they are computed */
    char *out;
    size_t size, block, stride;   /* entries of all; rows and columns of each */

    size_t chunks, panels, width; /* of a panel; of a matrix; columns of all panels but
                                     the last one */
    char *partials; /* accumulators of all chunks; NULL where these are results */
} Columns;

/** Fill in the second half. Panels have 'most' columns at most, and fewer, a multiple
 *  of 'narrow', where it takes that to get 'units' units. False: out of memory. */
bool columns_plan(Columns *c, size_t units, size_t most, size_t narrow);
size_t columns_units(const Columns *c);
/** The results are those of the units, once all have run. */
void columns_finish(const Columns *c);
void columns_release(const Columns *c);

/** What a unit reduces. */
typedef struct ColumnsUnit {
    size_t start, width, rows; /* its first entry; columns; rows */
    size_t result, chunk;      /* of its first column */
} ColumnsUnit;
ColumnsUnit columns_unit(const Columns *c, size_t unit);

/** One of the reductions of a unit. */
typedef struct ColumnsTake {
    const LaneKernel *kernel;
    const char *in; /* the unit's rows; if 'fed', those that the feed was called for */
    size_t pitch;   /* entries from one to the next */
    bool fed;
    char *totals, *later; /* of accumulators: LANES_TOTALS bytes for each column each;
                             64-byte aligned; the first 'width' are the results */
} ColumnsTake;
/** Called before rows first ... first+count-1 of a unit are taken: at most
 *  columns_band() of them. */
typedef struct ColumnsFeed ColumnsFeed;
struct ColumnsFeed {
    void (*rows)(ColumnsFeed *feed, const ColumnsUnit *unit, size_t first,
                 size_t count);
};
size_t columns_band(const LaneKernel *kernel, size_t width);
/** Run a unit of reductions of one shape with accumulators of one size. 'feed' is NULL
 *  if all rows are in memory. */
void columns_run(const ColumnsTake *takes, uint32_t count, const ColumnsUnit *unit,
                 ColumnsFeed *feed);
/** Put the results of a unit where they belong. */
void columns_store(const Columns *c, const ColumnsUnit *unit, const char *accs);
/** All of a unit whose rows are in memory. */
void columns_run_stored(const Columns *c, size_t unit);

#endif
