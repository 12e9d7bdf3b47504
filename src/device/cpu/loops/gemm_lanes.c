/*
 * gemm_lanes.c -- see gemm_lanes.h
 *
 * Compiled once for each instruction set with -DGEMM_ISA=<name>; gives one table,
 * gemm_lanes_<name>. The accumulators of a tile are named variables, one or two vectors
 * for each row, so that every compiler keeps them in registers: gemm_lanes_tile.inc
 * writes a function for each number of rows. The numbers fit the registers: 32 with
 * AVX-512, 16 before. A tile of any other height is made of several.
 */
#include "device/cpu/loops/gemm_lanes.h"

#include <math.h>
#include <string.h>

#include "device/cpu/loops/reduce_lanes.h"
#include "lanes/lanes_half.h"
#include "lanes/lanes_vector.h"

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)

#if defined(__AVX512F__)
#define MOST_ROWS 14
#define DIRECT_ROWS 8
#else
#define MOST_ROWS 6
#define DIRECT_ROWS 4
#endif

VECTOR_TYPES(uint16_t, VecU16)
VECTOR_TYPES(uint32_t, VecU32)
VECTOR_TYPES(uint64_t, VecU64)

/* X(r) for each row of a tile. */
#define ROWS_1(X) X(0)
#define ROWS_2(X) ROWS_1(X) X(1)
#define ROWS_4(X) ROWS_2(X) X(2) X(3)
#define ROWS_6(X) ROWS_4(X) X(4) X(5)
#define ROWS_8(X) ROWS_6(X) X(6) X(7)
#define ROWS_12(X) ROWS_8(X) X(8) X(9) X(10) X(11)
#define ROWS_14(X) ROWS_12(X) X(12) X(13)

/* -------------------------------------------------------- multiply and add, splat */

#if defined(__FMA__) || !defined(__x86_64__)
#define FMA_ONE_F32 __builtin_fmaf
#define FMA_ONE_F64 __builtin_fma
#else
#define FMA_ONE_F32 fmaf
#define FMA_ONE_F64 fma
#endif

#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
/* Unsigned, so that promoted 16-bit entries cannot overflow an int. */
#define MULTIPLY_ADD_ONE(a, b, c) ((a) * UINT64_C(1) * (b) + (c))
#define SPLAT_U16(x) ((VecU16){ 0 } + (x))
#define SPLAT_U32(x) ((VecU32){ 0 } + (x))
#define SPLAT_U64(x) ((VecU64){ 0 } + (x))

/* -------------------------------------------------------------------- tiles */

#define ACC float
#define NAME f32
#define VECTOR VecF32
#define FMA FMA_F32
#define FMA_ONE FMA_ONE_F32
#define SPLAT SPLAT_F32
#define IS_FLOAT 1
#include "device/cpu/loops/gemm_lanes_tile.inc"

#define ACC double
#define NAME f64
#define VECTOR VecF64
#define FMA FMA_F64
#define FMA_ONE FMA_ONE_F64
#define SPLAT SPLAT_F64
#define IS_FLOAT 1
#include "device/cpu/loops/gemm_lanes_tile.inc"

#define ACC uint16_t
#define NAME u16
#define VECTOR VecU16
#define FMA MULTIPLY_ADD
#define FMA_ONE MULTIPLY_ADD_ONE
#define SPLAT SPLAT_U16
#define IS_FLOAT 0
#include "device/cpu/loops/gemm_lanes_tile.inc"

#define ACC uint32_t
#define NAME u32
#define VECTOR VecU32
#define FMA MULTIPLY_ADD
#define FMA_ONE MULTIPLY_ADD_ONE
#define SPLAT SPLAT_U32
#define IS_FLOAT 0
#include "device/cpu/loops/gemm_lanes_tile.inc"

#define ACC uint64_t
#define NAME u64
#define VECTOR VecU64
#define FMA MULTIPLY_ADD
#define FMA_ONE MULTIPLY_ADD_ONE
#define SPLAT SPLAT_U64
#define IS_FLOAT 0
#include "device/cpu/loops/gemm_lanes_tile.inc"

/* -------------------------------------------------------------- conversions */

#define NARROW(name, entry, acc, convert)                               \
    static void narrow_##name(const void *in, size_t count, void *out)  \
    {                                                                   \
        const acc *restrict from = in;                                  \
        entry *restrict to = out;                                       \
        for (size_t i = 0; i < count; ++i)                              \
            to[i] = convert(from[i]);                                   \
    }
#define TO_U8(x) ((uint8_t) (x))
NARROW(f16, uint16_t, float, half_store)
NARROW(u8, uint8_t, uint16_t, TO_U8)

/* ------------------------------------------------------------------ packing */

/* Transpose a square of 16 bytes a side. */
static inline void turn_u32(const uint32_t *in, size_t in_row, uint32_t *out,
                            size_t out_row)
{
    typedef uint32_t Row __attribute__((vector_size(16), aligned(4), may_alias));
    Row a = *(const Row *) in, b = *(const Row *) (in + in_row);
    Row c = *(const Row *) (in + 2 * in_row), d = *(const Row *) (in + 3 * in_row);
    Row e = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    Row f = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    Row g = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    Row h = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(Row *) out = __builtin_shufflevector(e, f, 0, 1, 4, 5);
    *(Row *) (out + out_row) = __builtin_shufflevector(e, f, 2, 3, 6, 7);
    *(Row *) (out + 2 * out_row) = __builtin_shufflevector(g, h, 0, 1, 4, 5);
    *(Row *) (out + 3 * out_row) = __builtin_shufflevector(g, h, 2, 3, 6, 7);
}

static inline void turn_u64(const uint64_t *in, size_t in_row, uint64_t *out,
                            size_t out_row)
{
    typedef uint64_t Row __attribute__((vector_size(16), aligned(8), may_alias));
    Row a = *(const Row *) in, b = *(const Row *) (in + in_row);
    *(Row *) out = __builtin_shufflevector(a, b, 0, 2);
    *(Row *) (out + out_row) = __builtin_shufflevector(a, b, 1, 3);
}

/* Columns that lie apart are turned around in pieces of DEPTH entries, so that both
 * sides are used a cache line at a time: 'side' columns at once by TURN() if entries
 * along k are neighbours. A prefetch may go beyond the end, where it does nothing. */
#define PACK(name, entry, acc, convert, side, TURN)                                   \
    static void pack_##name(const void *restrict in, size_t minor, size_t stride,     \
                            size_t count, size_t width, size_t k, void *restrict out) \
    {                                                                                 \
        enum { DEPTH = 16, AHEAD = 64, WHOLE = 2 * VECTOR_BYTES / sizeof(acc) };      \
        const entry *restrict from = in;                                              \
        acc *restrict to = out;                                                       \
        if (minor == 1 && count == WHOLE && width == WHOLE) {                         \
            for (size_t p = 0; p < k; ++p, from += stride, to += WHOLE)               \
                for (size_t i = 0; i < WHOLE; ++i)                                    \
                    to[i] = convert(from[i]);                                         \
            return;                                                                   \
        }                                                                             \
        if (minor == 1) {                                                             \
            for (size_t p = 0; p < k; ++p, from += stride, to += width) {             \
                for (size_t i = 0; i < count; ++i)                                    \
                    to[i] = convert(from[i]);                                         \
                for (size_t i = count; i < width; ++i)                                \
                    to[i] = 0;                                                        \
            }                                                                         \
            return;                                                                   \
        }                                                                             \
        for (; k > 0; from += DEPTH * stride, to += DEPTH * width) {                  \
            size_t depth = k < DEPTH ? k : DEPTH, i = 0;                              \
            if (stride == 1 && depth == DEPTH)                                        \
                for (; i + (side) <= count; i += (side)) {                            \
                    for (size_t p = 0; p < (side); ++p)                               \
                        __builtin_prefetch(from + (i + p) * minor + AHEAD);           \
                    for (size_t p = 0; p < DEPTH; p += (side))                        \
                        TURN(from + i * minor + p, minor, to + p * width + i, width); \
                }                                                                     \
            for (; i < count; ++i)                                                    \
                for (size_t p = 0; p < depth; ++p)                                    \
                    to[p * width + i] = convert(from[i * minor + p * stride]);        \
            for (; i < width; ++i)                                                    \
                for (size_t p = 0; p < depth; ++p)                                    \
                    to[p * width + i] = 0;                                            \
            k -= depth;                                                               \
        }                                                                             \
    }
#define SAME(x) (x)
#define NO_TURN(in, in_row, out, out_row) ((void) 0)
PACK(u8, uint8_t, uint16_t, SAME, SIZE_MAX / 2, NO_TURN)
PACK(u16, uint16_t, uint16_t, SAME, SIZE_MAX / 2, NO_TURN)
PACK(u32, uint32_t, uint32_t, SAME, 4, turn_u32)
PACK(u64, uint64_t, uint64_t, SAME, 2, turn_u64)
PACK(f16, uint16_t, float, half_load, SIZE_MAX / 2, NO_TURN)

/* ----------------------------------------------------------- small matrices */

/* Entry by entry, from the arrays as they are. */
#define SMALL(name, entry, acc, convert_in, convert_out, fma_one)                     \
    static void small_##name(const GemmTile *t, size_t b_column, size_t m, size_t n)  \
    {                                                                                 \
        const entry *a = t->a, *b = t->b;                                             \
        entry *restrict c = t->c;                                                     \
        for (size_t i = 0; i < m; ++i, a += t->a_row, c += t->c_row)                  \
            for (size_t j = 0; j < n; ++j) {                                          \
                acc sum = 0;                                                          \
                for (size_t p = 0; p < t->k; ++p)                                     \
                    sum = (acc) fma_one(convert_in(a[p * t->a_stride]),               \
                                        convert_in(b[p * t->b_stride + j * b_column]), \
                                        sum);                                         \
                c[j] = convert_out(sum);                                              \
            }                                                                         \
    }
SMALL(u8, uint8_t, uint16_t, SAME, TO_U8, MULTIPLY_ADD_ONE)
SMALL(u16, uint16_t, uint16_t, SAME, SAME, MULTIPLY_ADD_ONE)
SMALL(u32, uint32_t, uint32_t, SAME, SAME, MULTIPLY_ADD_ONE)
SMALL(u64, uint64_t, uint64_t, SAME, SAME, MULTIPLY_ADD_ONE)
SMALL(f16, uint16_t, float, half_load, half_store, FMA_ONE_F32)
SMALL(f32, float, float, SAME, SAME, FMA_ONE_F32)
SMALL(f64, double, double, SAME, SAME, FMA_ONE_F64)

/* ------------------------------------------------------------------- tables */

#define KERNEL(name, entry, acc, tile_name, is_float, pack_name, narrow_function) \
    static const GemmKernel kernel_##name = {                           \
        .pack = pack_##pack_name,                                       \
        .tile = tile_##tile_name,                                       \
        .row = row_##tile_name,                                         \
        .small = small_##name,                                          \
        .narrow = narrow_function,                                      \
        .entry_size = sizeof(entry),                                    \
        .acc_size = sizeof(acc),                                        \
        .rows = MOST_ROWS,                                              \
        .lanes = VECTOR_BYTES / sizeof(acc),                            \
        .direct_rows = is_float ? DIRECT_ROWS : 0,                      \
    };
KERNEL(u8, uint8_t, uint16_t, u16, false, u8, narrow_u8)
KERNEL(u16, uint16_t, uint16_t, u16, false, u16, NULL)
KERNEL(u32, uint32_t, uint32_t, u32, false, u32, NULL)
KERNEL(u64, uint64_t, uint64_t, u64, false, u64, NULL)
KERNEL(f16, uint16_t, float, f32, true, f16, narrow_f16)
KERNEL(f32, float, float, f32, true, u32, NULL)
KERNEL(f64, double, double, f64, true, u64, NULL)

#ifndef GEMM_ISA
#error "GEMM_ISA must be baseline, avx2 or avx512"
#endif

extern const GemmLanes CONCAT(gemm_lanes_, GEMM_ISA);
const GemmLanes CONCAT(gemm_lanes_, GEMM_ISA) = {
    .kernel = { [VarTypeInt8] = &kernel_u8,
                [VarTypeUInt8] = &kernel_u8,
                [VarTypeInt16] = &kernel_u16,
                [VarTypeUInt16] = &kernel_u16,
                [VarTypeInt32] = &kernel_u32,
                [VarTypeUInt32] = &kernel_u32,
                [VarTypeInt64] = &kernel_u64,
                [VarTypeUInt64] = &kernel_u64,
                [VarTypeFloat16] = &kernel_f16,
                [VarTypeFloat32] = &kernel_f32,
                [VarTypeFloat64] = &kernel_f64 },
};
