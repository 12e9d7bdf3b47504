/*
 * gemm.c -- batched matrix products
 *
 * Order of summation. The products of one entry of the result are taken in blocks of
 * GEMM_DEPTH = 256 along k, the last one may be shorter. Each block is a chain of fused
 * multiply-adds that starts at +0 and goes upwards; the results of the blocks are added
 * in order. Nothing but k has an influence, so all engines, instruction sets and
 * numbers of threads give the same bits. f16 is computed in f32 and rounded once at the
 * end; integers wrap.
 *
 * The result is cut into blocks, which are the units of work:
 *
 *      block_n                    for each block of depth:
 *     ┌────┬────┬─┐                   pack the rows of a: strips of kernel->rows rows,
 *     │unit│    │ │ block_m               columns of a strip side by side; stays in L2
 *     ├────┼────┼─┤                   for each panel of 2 * lanes columns of b:
 *     │    │    │ │                       pack the panel
 *     └────┴────┴─┘                       for each strip: compute a tile
 *
 * Operands that are few enough to stay in the cache as they are, and whose entries
 * already lie as a tile wants them, are not packed. If several blocks lie below each
 * other, a first phase packs b for all of them. Panels at the right edge are filled up
 * with zeros, or with whatever follows in memory, and their tiles go through a small
 * buffer. Results of types with other accumulators are collected for a whole block in
 * scratch memory. A product with a single row or column reads its matrix row by row;
 * matrices of a few entries have no tiles at all, and share a unit with others.
 */
#include <string.h>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/cpu_job.h"
#include "device/cpu/loops/gemm_lanes.h"
#include "device/cpu/pool.h"

enum {
    GEMM_DEPTH = 256,
    BLOCK_ROWS = 504,        /* most rows of a block, about */
    BLOCK_COLUMNS = 1024,    /* most columns, about */
    FEW_ROWS = 56,           /* too few for b to be packed for them alone */
    DIRECT_SIZE = 512 << 10, /* most bytes of a matrix b that is used as it is */
    SHARED_SIZE = 64 << 20,  /* most bytes of packed matrices b */
    SMALL_WORK = 100,        /* multiply-adds that are faster without tiles */
    UNIT_WORK = 1 << 18,     /* multiply-adds that are worth a unit */
    UNITS_PER_WORKER = 4,    /* so that late threads do not delay the end much */
    ALIGNMENT = 64
};

/* How a panel of b comes into the form that tiles want. */
typedef enum Packing {
    PACK_NEVER, /* but see 'pack_edge' */
    PACK_LOCAL, /* by each unit */
    PACK_SHARED /* by a phase that precedes the product */
} Packing;

typedef struct Gemm {
    const GemmKernel *kernel;
    const char *a, *b;
    char *out;
    size_t m, n, k;
    size_t a_row, a_stride;    /* of op(a): from row to row, and along k */
    size_t b_stride, b_column; /* of op(b): along k, and from column to column */
    size_t block_m, block_n, blocks_m, blocks_n;
    size_t batch, batch_per_unit; /* the latter is 1 if there are several blocks */
    bool is_small, is_row; /* for GemmKernel.small() and row(): nothing is packed */
    bool pack_a;
    Packing pack_b;
    bool pack_edge;        /* PACK_NEVER: the panel at the right edge is packed */
    bool one_b;            /* all products have the same matrix b */
    char *panels;          /* PACK_SHARED: packed matrices, panel after panel */
    size_t panels_count;   /* of a matrix */
    Buffer *scratch;       /* or NULL; first that of each worker, then the panels */
    size_t scratch_size;   /* of each worker: packed a, panel of b, results */
    size_t panel_offset, stage_offset;
    uint32_t axes;
    GemmAxis axis[];
} Gemm;

/* A block of the result. */
typedef struct Block {
    const char *a, *b;  /* first row of op(a), first column of op(b) */
    const char *panels; /* PACK_SHARED: the first one */
    char *out;
    size_t rows, columns;
    char *scratch;
} Block;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t divide_up(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

static size_t round_up(size_t a, size_t multiple)
{
    return divide_up(a, multiple) * multiple;
}

/* ------------------------------------------------------------------- blocks */

/* Columns of a panel, and where its result goes. */
typedef struct Panel {
    size_t width, vectors; /* width <= vectors * lanes */
    char *out;
    size_t out_row; /* entries */
    bool whole;     /* width == vectors * lanes, or there is room for more */
} Panel;

/* Rows of a tile that has missing columns, through a buffer. */
static void compute_edge(const GemmKernel *k, GemmTile *t, size_t rows,
                         const Panel *panel)
{
    _Alignas(ALIGNMENT) char buffer[GEMM_MAX_ROWS * GEMM_MAX_TILE_WIDTH];
    size_t width = panel->vectors * k->lanes, size = panel->width * k->acc_size;
    size_t row = width * k->acc_size, out_row = panel->out_row * k->acc_size;
    char *out = t->c;
    if (t->add) {
        memset(buffer, 0, sizeof buffer);
        for (size_t r = 0; r < rows; ++r)
            memcpy(buffer + r * row, out + r * out_row, size);
    }
    t->c = buffer;
    t->c_row = width;
    k->tile(t, rows, panel->vectors);
    for (size_t r = 0; r < rows; ++r)
        memcpy(out + r * out_row, buffer + r * row, size);
}

/* All rows of a panel, for one block of depth. */
static void compute_panel(const Gemm *g, const Block *block, const Panel *panel,
                          GemmTile *t, const char *a)
{
    const GemmKernel *k = g->kernel;
    size_t strip = g->pack_a || g->a_row == 1 ? k->rows : k->direct_rows;
    for (size_t r = 0; r < block->rows; r += strip) {
        size_t rows = least(strip, block->rows - r);
        t->c = panel->out + r * panel->out_row * k->acc_size;
        if (g->pack_a) {
            t->a = block->scratch + r * t->k * k->acc_size;
            t->a_stride = rows;
        } else {
            t->a = a + r * g->a_row * k->acc_size;
        }
        if (panel->whole)
            k->tile(t, rows, panel->vectors);
        else
            compute_edge(k, t, rows, panel);
    }
}

static void pack_rows(const Gemm *g, const Block *block, const char *a, size_t depth)
{
    const GemmKernel *k = g->kernel;
    for (size_t r = 0; r < block->rows; r += k->rows) {
        size_t rows = least(k->rows, block->rows - r);
        k->pack(a + r * g->a_row * k->entry_size, g->a_row, g->a_stride, rows, rows,
                depth, block->scratch + r * depth * k->acc_size);
    }
}

/* One block of depth, which starts at 'first'. */
static void compute_depth(const Gemm *g, const Block *block, size_t first, size_t depth)
{
    const GemmKernel *k = g->kernel;
    size_t entry = k->entry_size, stage_row = round_up(g->block_n, 2u * k->lanes);
    const char *a = block->a + first * g->a_stride * entry;
    const char *b = block->b + first * g->b_stride * entry;
    if (g->pack_a)
        pack_rows(g, block, a, depth);
    for (size_t j = 0; j < block->columns; j += 2u * k->lanes) {
        Panel panel = { .width = least(2u * k->lanes, block->columns - j) };
        panel.vectors = panel.width > k->lanes ? 2 : 1;
        size_t full = panel.vectors * k->lanes;
        panel.whole = panel.width == full || k->narrow;
        GemmTile t = { .a_row = g->pack_a ? 1 : g->a_row,
                       .a_stride = g->a_stride,
                       .b = b + j * g->b_column * entry,
                       .b_stride = g->b_stride,
                       .k = depth,
                       .add = first > 0 };
        if (g->pack_b == PACK_SHARED) {
            t.b = block->panels + (j * g->k + first * full) * k->acc_size;
            t.b_stride = full;
        } else if (g->pack_b == PACK_LOCAL || (panel.width != full && g->pack_edge)) {
            char *packed = block->scratch + g->panel_offset;
            k->pack(t.b, g->b_column, g->b_stride, panel.width, full, depth, packed);
            t.b = packed;
            t.b_stride = full;
        }
        panel.out = k->narrow ? block->scratch + g->stage_offset + j * k->acc_size
                              : block->out + j * entry;
        t.c_row = panel.out_row = k->narrow ? stage_row : g->n;
        compute_panel(g, block, &panel, &t, a);
    }
}

/* A single row, with b as it is. */
static void compute_row(const Gemm *g, const Block *block)
{
    const GemmKernel *k = g->kernel;
    size_t most = GEMM_ROW_BYTES / k->acc_size;
    for (size_t j = 0; j < block->columns; j += most)
        for (size_t first = 0; first < g->k; first += GEMM_DEPTH)
            k->row(&(GemmTile){ .a = block->a + first * g->a_stride * k->acc_size,
                                .a_stride = g->a_stride,
                                .b = block->b + (j + first * g->b_stride) * k->acc_size,
                                .b_stride = g->b_stride,
                                .c = block->out + j * k->acc_size,
                                .k = least(GEMM_DEPTH, g->k - first),
                                .add = first > 0 },
                   least(most, block->columns - j));
}

static void compute_block(const Gemm *g, const Block *block)
{
    const GemmKernel *k = g->kernel;
    for (size_t first = 0; first < g->k; first += GEMM_DEPTH)
        compute_depth(g, block, first, least(GEMM_DEPTH, g->k - first));
    if (!k->narrow)
        return;
    size_t stage_row = round_up(g->block_n, 2u * k->lanes) * k->acc_size;
    for (size_t r = 0; r < block->rows; ++r)
        k->narrow(block->scratch + g->stage_offset + r * stage_row, block->columns,
                  block->out + r * g->n * k->entry_size);
}

/* -------------------------------------------------------------------- units */

/* Where the matrices of an item of the batch begin. */
static void locate(const Gemm *g, size_t item, const char **a, const char **b)
{
    size_t in_a = 0, in_b = 0;
    for (uint32_t x = g->axes; x-- > 0; item /= g->axis[x].extent) {
        size_t index = item % g->axis[x].extent;
        in_a += index * g->axis[x].stride_a;
        in_b += index * g->axis[x].stride_b;
    }
    *a = g->a + in_a * g->kernel->entry_size;
    *b = g->b + in_b * g->kernel->entry_size;
}

/* Bytes of a packed matrix b. */
static size_t packed_size(const Gemm *g)
{
    return round_up(g->n, 2u * g->kernel->lanes) * g->k * g->kernel->acc_size;
}

/* PACK_SHARED: a panel of b. */
static void run_packing(CpuJob *job, uint32_t unit, uint32_t worker)
{
    (void) worker;
    const Gemm *g = job->state;
    const GemmKernel *k = g->kernel;
    size_t item = unit / g->panels_count;
    size_t j = unit % g->panels_count * 2 * k->lanes;
    size_t width = least(2u * k->lanes, g->n - j);
    const char *a, *b;
    locate(g, item, &a, &b);
    k->pack(b + j * g->b_column * k->entry_size, g->b_column, g->b_stride, width,
            width > k->lanes ? 2u * k->lanes : k->lanes, g->k,
            g->panels + item * packed_size(g) + j * g->k * k->acc_size);
}

static void run_gemm(CpuJob *job, uint32_t unit, uint32_t worker)
{
    const Gemm *g = job->state;
    const GemmKernel *k = g->kernel;
    size_t entry = k->entry_size, blocks = g->blocks_m * g->blocks_n;
    size_t first = unit / blocks * g->batch_per_unit, at = unit % blocks;
    size_t end = least(first + g->batch_per_unit, g->batch);
    size_t i = at / g->blocks_n * g->block_m, j = at % g->blocks_n * g->block_n;
    for (size_t item = first; item < end; ++item) {
        Block block = { .out = g->out + ((item * g->m + i) * g->n + j) * entry,
                        .rows = least(g->block_m, g->m - i),
                        .columns = least(g->block_n, g->n - j) };
        locate(g, item, &block.a, &block.b);
        block.a += i * g->a_row * entry;
        block.b += j * g->b_column * entry;
        if (g->pack_b == PACK_SHARED)
            block.panels = g->panels + (g->one_b ? 0 : item * packed_size(g)) +
                           j * g->k * k->acc_size;
        if (g->scratch_size)
            block.scratch = (char *) g->scratch->address + worker * g->scratch_size;
        if (g->is_small)
            k->small(&(GemmTile){ .a = block.a, .a_row = g->a_row,
                                  .a_stride = g->a_stride, .b = block.b,
                                  .b_stride = g->b_stride, .c = block.out,
                                  .c_row = g->n, .k = g->k },
                     g->b_column, g->m, g->n);
        else if (g->is_row)
            compute_row(g, &block);
        else
            compute_block(g, &block);
    }
}

/* ----------------------------------------------------------------- planning */

/* Cut 'size' into 'count' equal pieces of whole tiles. */
static size_t piece(size_t size, size_t count, size_t tile)
{
    return round_up(divide_up(size, count), tile);
}

/* Halve the rows or the columns of blocks; false if both are as small as a tile. */
static bool split_blocks(Gemm *g)
{
    size_t rows = g->kernel->rows, columns = 2u * g->kernel->lanes;
    bool split_m = g->block_m > rows, split_n = g->block_n > columns;
    if (split_m && split_n) {
        if (g->pack_b == PACK_LOCAL)
            split_m = false;
        else if (g->pack_b == PACK_SHARED)
            split_m = g->block_m > FEW_ROWS;
        else
            split_m = g->block_m > g->block_n;
    }
    if (split_m)
        g->block_m = piece(g->block_m, 2, rows);
    else if (split_n)
        g->block_n = piece(g->block_n, 2, columns);
    return split_m || split_n;
}

/* Choose the blocks: small enough for the cache, and enough of them for all workers. */
static void plan_blocks(Gemm *g, uint32_t workers)
{
    size_t wanted = (size_t) workers * UNITS_PER_WORKER, work;
    g->block_m = piece(g->m, divide_up(g->m, BLOCK_ROWS), g->kernel->rows);
    size_t most = g->is_row ? GEMM_ROW_BYTES / g->kernel->acc_size : BLOCK_COLUMNS;
    g->block_n = piece(g->n, divide_up(g->n, most), 2u * g->kernel->lanes);
    do {
        g->blocks_m = divide_up(g->m, g->block_m);
        g->blocks_n = divide_up(g->n, g->block_n);
        work = least(g->block_m, g->m) * least(g->block_n, g->n) * g->k;
    } while (g->batch * g->blocks_m * g->blocks_n < wanted && work > UNIT_WORK &&
             split_blocks(g));
    g->batch_per_unit = 1;
    if (g->blocks_m * g->blocks_n == 1 && work < UNIT_WORK)
        g->batch_per_unit = least(UNIT_WORK / work, g->batch);
}

/* A single column is the transpose of a single row. */
static void turn_column(Gemm *g)
{
    if (g->n != 1)
        return;
    const char *a = g->a;
    size_t m = g->m, a_row = g->a_row, a_stride = g->a_stride;
    g->a = g->b;
    g->b = a;
    g->m = g->n;
    g->n = m;
    g->a_row = g->b_column;
    g->a_stride = g->b_stride;
    g->b_column = a_row;
    g->b_stride = a_stride;
    for (uint32_t i = 0; i < g->axes; ++i) {
        size_t stride = g->axis[i].stride_a;
        g->axis[i].stride_a = g->axis[i].stride_b;
        g->axis[i].stride_b = stride;
    }
}

/* Decide whether b is packed, and by whom. 'buffer' is where it lies. */
static void plan_panels(Gemm *g, const Buffer *buffer)
{
    const GemmKernel *k = g->kernel;
    size_t work = g->m * g->n * g->k;
    g->is_small = work <= SMALL_WORK;
    g->is_row = !g->is_small && g->m == 1 && g->b_column == 1 && !k->narrow;
    bool direct = g->b_column == 1 && !k->narrow &&
                  (g->m <= FEW_ROWS ||
                   g->k * g->b_stride * k->entry_size <= DIRECT_SIZE);
    g->pack_edge = g->n % k->lanes && !buffer_is_padded(buffer);
    g->panels_count = divide_up(g->n, 2u * k->lanes);
    g->one_b = true;
    for (uint32_t i = 0; i < g->axes; ++i)
        g->one_b = g->one_b && g->axis[i].stride_b == 0;
    /* A product of the sizes could wrap around. */
    size_t matrices = g->one_b ? 1 : g->batch, limit = SHARED_SIZE / k->acc_size;
    bool fits = g->k < limit && g->n < limit &&
                packed_size(g) <= SHARED_SIZE / matrices;
    g->pack_b = direct ? PACK_NEVER
                : fits && g->m > 4 * FEW_ROWS ? PACK_SHARED
                                              : PACK_LOCAL;
}

/* Decide whether a is packed, and lay out the scratch memory of a worker. */
static void plan_scratch(Gemm *g)
{
    const GemmKernel *k = g->kernel;
    size_t columns = 2u * k->lanes, depth = least(g->k, GEMM_DEPTH), size = 0;
    if (g->is_small || g->is_row)
        return;
    g->pack_a = k->narrow || (g->a_row != 1 && !k->direct_rows) ||
                g->block_n > 4 * columns;
    if (g->pack_a)
        size = round_up(g->block_m * depth * k->acc_size, ALIGNMENT);
    g->panel_offset = size;
    if (g->pack_b == PACK_LOCAL || (g->pack_b == PACK_NEVER && g->pack_edge))
        size += depth * GEMM_MAX_TILE_WIDTH;
    g->stage_offset = size;
    if (k->narrow)
        size += g->block_m * round_up(g->block_n, columns) * k->acc_size;
    g->scratch_size = round_up(size, ALIGNMENT);
}

static void set_shape(Gemm *g, const GemmShape *shape)
{
    g->m = shape->m;
    g->n = shape->n;
    g->k = shape->k;
    g->a_row = shape->transpose_a ? 1 : shape->row_a;
    g->a_stride = shape->transpose_a ? shape->row_a : 1;
    g->b_stride = shape->transpose_b ? 1 : shape->row_b;
    g->b_column = shape->transpose_b ? shape->row_b : 1;
    g->batch = 1;
    g->axes = shape->axes;
    for (uint32_t i = 0; i < g->axes; ++i) {
        g->axis[i] = shape->axis[i];
        g->batch *= shape->axis[i].extent;
    }
}

/* Matrices a[b] that lie below each other, all multiplied by the same matrix, are one
 * long matrix. */
static void merge_batch(Gemm *g)
{
    while (g->axes > 0) {
        const GemmAxis *last = &g->axis[g->axes - 1];
        if (last->extent > 1 &&
            (last->stride_b != 0 || last->stride_a != g->m * g->a_row))
            break;
        g->m *= last->extent;
        g->batch /= last->extent;
        --g->axes;
    }
}

/* ------------------------------------------------------------------ command */

static void release(CpuJob *job)
{
    buffer_release(((Gemm *) job->state)->scratch);
}

static bool begin_product(CpuJob *job)
{
    const Gemm *g = job->state;
    job->run = run_gemm;
    job->finish = NULL;
    job->blocks = (uint32_t) (divide_up(g->batch, g->batch_per_unit) * g->blocks_m *
                              g->blocks_n);
    return false;
}

/* Take memory for the workers and the panels, and plan the phases. */
static bool plan_phases(CpuJob *job, Gemm *g)
{
    begin_product(job);
    if (job->workers > job->blocks)
        job->workers = job->blocks;
    job->small = job->blocks == 1;
    size_t matrices = g->one_b ? 1 : g->batch, own = job->workers * g->scratch_size;
    size_t shared = g->pack_b == PACK_SHARED ? matrices * packed_size(g) : 0;
    if (own + shared)
        TRY(g->scratch = buffer_get(cpu_device(), own + shared), false);
    if (shared) {
        g->panels = (char *) g->scratch->address + own;
        job->run = run_packing;
        job->finish = begin_product;
        job->blocks = (uint32_t) (matrices * g->panels_count);
        job->small = false;
    }
    return true;
}

bool gemm_prepare(CpuJob *job)
{
    const Command *c = job->command;
    const GemmShape *shape = c->data;
    Gemm *g = cpu_job_state(job, sizeof(Gemm) + shape->axes * sizeof(GemmAxis));
    TRY(g, false);
    job->release = release;
    job->workers = pool_worker_bound();
    g->kernel = gemm_lanes_get()->kernel[c->gemm.type];
    g->a = command_address(c, 0);
    g->b = command_address(c, 1);
    g->out = command_address(c, 2);
    const char *b = g->b;
    set_shape(g, shape);
    merge_batch(g);
    turn_column(g);
    plan_panels(g, c->slots[g->b == b ? 1 : 0].buffer);
    plan_blocks(g, job->workers);
    plan_scratch(g);
    return plan_phases(job, g);
}
