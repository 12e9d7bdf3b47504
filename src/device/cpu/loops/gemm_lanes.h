/*
 * gemm_lanes.h -- inner loops of the matrix product, one table per instruction set
 *
 * gemm_lanes.c is compiled once for each instruction set (-DGEMM_ISA=baseline, avx2,
 * avx512); the table in use belongs to the one of reduce_lanes.h. All tables give the
 * same bits. gemm.c cuts the product into tiles of the result and knows nothing of
 * vectors.
 *
 *               b: k x (lanes or 2 * lanes)
 *               ┌─────────────────┐
 *               │ p ───────────►  │   a step loads one row of b, and adds its product
 *               └─────────────────┘   with each entry of a column of a to the tile,
 *     a: rows x k                     which stays in registers
 *     ┌───┐     ┌─────────────────┐
 *     │ p │     │ tile            │
 *     └───┘     └─────────────────┘
 *
 * As in reduce_lanes.h, arrays hold entries and tiles are computed with accumulators:
 * f16 has f32, 8-bit integers have 16 bits, all others have themselves.
 */
#ifndef DEVICE_CPU_LOOPS_GEMM_LANES_H
#define DEVICE_CPU_LOOPS_GEMM_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drjit-core/jit.h"

enum {
    GEMM_MAX_ROWS = 14,        /* of a tile */
    GEMM_MAX_TILE_WIDTH = 128, /* bytes of a row of a tile */
    GEMM_ROW_BYTES = 16384     /* most that GemmKernel.row() computes */
};

/** Operands of a tile, all of accumulator type. Strides count accumulators; entry (r,
 *  p) of a is a[r * a_row + p * a_stride], and b's rows are contiguous. */
typedef struct GemmTile {
    const void *a, *b;
    void *c;
    size_t a_row, a_stride, b_stride, c_row;
    size_t k;
    bool add; /* to what c holds */
} GemmTile;

typedef struct GemmKernel {
    /** Copy 'count' x 'k' entries in[i * minor + p * stride] to accumulators
     *  out[p * width + i], with zeros from 'count' to 'width'. */
    void (*pack)(const void *in, size_t minor, size_t stride, size_t count,
                 size_t width, size_t k, void *out);
    /** Compute 'rows' rows of 'vectors' (1 or 2) times 'lanes' entries. Each is a chain
     *  of fused multiply-adds that starts at +0 and goes through p in order. Moves a
     *  and c on to the next rows. */
    void (*tile)(GemmTile *t, size_t rows, size_t vectors);
    /** One row of up to GEMM_ROW_BYTES / acc_size columns, which need not be a whole
     *  number of vectors. */
    void (*row)(const GemmTile *t, size_t columns);
    /** A whole product of small matrices in terms of entries; columns of b lie b_column
     *  apart. k is at most 256. */
    void (*small)(const GemmTile *t, size_t b_column, size_t m, size_t n);
    /** Accumulators to entries; NULL if they are the same. */
    void (*narrow)(const void *in, size_t count, void *out);
    uint8_t entry_size, acc_size; /* bytes */
    uint8_t rows;                 /* of a tile that uses the registers best */
    uint8_t lanes;                /* accumulators of a vector */
    /** Rows of the best tile if GemmTile.a_row is not 1; 0 if it has to be. */
    uint8_t direct_rows;
} GemmKernel;

/** Kernels by entry type. */
typedef struct GemmLanes {
    const GemmKernel *kernel[VarTypeCount];
} GemmLanes;

/** The table in use. */
const GemmLanes *gemm_lanes_get(void);

#endif
