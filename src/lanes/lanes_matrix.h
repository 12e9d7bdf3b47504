/*
 * lanes_matrix.h -- lane loops of MATVEC and OUTER
 *
 * Part of lanes.c. A matrix that all lanes share is multiplied with a vector in each
 * lane: an entry of it is splat, and multiplied with a vector register of lanes. A tile
 * has up to MATRIX_ROWS sums in registers, so that each load of a vector serves them
 * all. Each sum begins with what is added to the product, goes through the columns in
 * ascending order with fused operations, in f32 if entries are f16, and is rounded to
 * the type of the entries once: the same bits whatever the vectors.
 *
 * Sums of outer products over lanes are the same tiles, with lanes in the place of
 * columns: to an entry of the matrix, each active lane adds its product, in ascending
 * order.
 *
 * LaneFrame.values has the rows, one for each entry of the vectors:
 *
 *     MATVEC    inputs | what is added, if anything | results
 *     OUTER     mask | left vector, one entry for each row | right vector
 */
#ifndef LANES_LANES_MATRIX_H
#define LANES_LANES_MATRIX_H

#include <stddef.h>
#include <string.h>

#include "lanes/lanes.h"
#include "lanes/lanes_half.h"
#include "lanes/lanes_memory.h"
#include "lanes/lanes_vector.h"

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)

/* X(r) for each row of a tile. */
#define ROWS_1(X) X(0)
#define ROWS_2(X) ROWS_1(X) X(1)
#define ROWS_4(X) ROWS_2(X) X(2) X(3)
#define ROWS_8(X) ROWS_4(X) X(4) X(5) X(6) X(7)
#define ROWS_12(X) ROWS_8(X) X(8) X(9) X(10) X(11)

/* What fits the registers. */
#if defined(__AVX2__)
#define MATRIX_ROWS 12
#else
#define MATRIX_ROWS 4
#endif

/* Columns of f16 that are widened at a time. */
enum { MATRIX_CHUNK = 256 };

#if defined(__AVX512F__)
#define LOW_F32(a, b)                                                              \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, \
                            7, 23)
#define HIGH_F32(a, b)                                                               \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, \
                            30, 15, 31)
#define LOW_F64(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_F64(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#elif defined(__AVX2__)
#define LOW_F32(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_F32(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_F64(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_F64(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#else
#define LOW_F32(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_F32(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LOW_F64(a, b) __builtin_shufflevector(a, b, 0, 2)
#define HIGH_F64(a, b) __builtin_shufflevector(a, b, 1, 3)
#endif

#define ACC f32
#define NAME f32
#define VECTOR VecF32
#define FMA FMA_F32
#define SPLAT SPLAT_F32
#define LOW LOW_F32
#define HIGH HIGH_F32
#include "lanes/lanes_matrix_tile.inc"

#define ACC f64
#define NAME f64
#define VECTOR VecF64
#define FMA FMA_F64
#define SPLAT SPLAT_F64
#define LOW LOW_F64
#define HIGH HIGH_F64
#include "lanes/lanes_matrix_tile.inc"

/* ---- entries of f16, and of the other types, as vectors of the type of sums */

#if defined(__AVX512F__)
static inline VecF32 matrix_load_f16(const f16 *p)
{
    const void *from = p;
    return (VecF32) _mm512_cvtph_ps(_mm256_loadu_si256(from));
}
#elif defined(__AVX2__)
static inline VecF32 matrix_load_f16(const f16 *p)
{
    const void *from = p;
    return (VecF32) _mm256_cvtph_ps(_mm_loadu_si128(from));
}
#else
static inline VecF32 matrix_load_f16(const f16 *p)
{
    return (VecF32){ half_load(p[0]), half_load(p[1]), half_load(p[2]),
                     half_load(p[3]) };
}
#endif

/* NaN as engines have it, see half_store(). */
static inline void matrix_store_each_f16(f16 *p, VecF32 v)
{
    f32 values[VECTOR_BYTES / sizeof(f32)];
    memcpy(values, &v, sizeof values);
    for (size_t i = 0; i < VECTOR_BYTES / sizeof(f32); ++i)
        p[i] = half_store(values[i]);
}

#if defined(__AVX512F__)
static inline void matrix_store_f16(f16 *p, VecF32 v)
{
    if (_mm512_cmp_ps_mask((__m512) v, (__m512) v, _CMP_UNORD_Q))
        matrix_store_each_f16(p, v);
    else
        _mm256_storeu_si256((__m256i *) (void *) p,
                            _mm512_cvtps_ph((__m512) v, _MM_FROUND_TO_NEAREST_INT));
}
#elif defined(__AVX2__)
static inline void matrix_store_f16(f16 *p, VecF32 v)
{
    const __m256 unordered = _mm256_cmp_ps((__m256) v, (__m256) v, _CMP_UNORD_Q);
    if (_mm256_movemask_ps(unordered))
        matrix_store_each_f16(p, v);
    else
        _mm_storeu_si128((__m128i *) (void *) p,
                         _mm256_cvtps_ph((__m256) v, _MM_FROUND_TO_NEAREST_INT));
}
#else
#define matrix_store_f16 matrix_store_each_f16
#endif

static inline VecF32 matrix_load_f32(const f32 *p)
{
    return (VecF32) * (const VecF32Unaligned *) p;
}

static inline void matrix_store_f32(f32 *p, VecF32 v)
{
    *(VecF32Unaligned *) p = (VecF32Unaligned) v;
}

static inline VecF64 matrix_load_f64(const f64 *p)
{
    return (VecF64) * (const VecF64Unaligned *) p;
}

static inline void matrix_store_f64(f64 *p, VecF64 v)
{
    *(VecF64Unaligned *) p = (VecF64Unaligned) v;
}

/* ---- MATVEC */

static inline u32 matrix_rows(size_t left)
{
    const u32 most = MATRIX_ROWS;
    return left >= most ? most : left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/* A matrix with entry (i, k) at w[i * row + k * column], and the vectors. */
#define MATRIX_PRODUCT(F)                                                             \
    typedef struct Product_##F {                                                      \
        const F *w;                                                                   \
        size_t row, column;                                                           \
        u32 rows, columns;                                                            \
        const F *const *x, *const *add; /* add: NULL if there is nothing */           \
        F *const *y;                                                                  \
    } Product_##F;
MATRIX_PRODUCT(f16)
MATRIX_PRODUCT(f32)
MATRIX_PRODUCT(f64)

/* All sums of one vector of lanes. */
#define DEFINE_APPLY(F, VECTOR)                                                     \
    static void matrix_apply_##F(const Product_##F *p, size_t at)                   \
    {                                                                               \
        VECTOR sums[MATRIX_ROWS];                                                   \
        for (u32 i = 0, rows; i < p->rows; i += rows) {                             \
            rows = matrix_rows(p->rows - i);                                        \
            for (u32 r = 0; r < rows; ++r)                                          \
                sums[r] = p->add ? matrix_load_##F(p->add[i + r] + at)              \
                                 : (VECTOR){ 0 };                                   \
            matrix_tile_##F(rows, p->w + i * p->row, p->row, p->column, p->columns, \
                            p->x, at, sums);                                        \
            for (u32 r = 0; r < rows; ++r)                                          \
                matrix_store_##F(p->y[i + r] + at, sums[r]);                        \
        }                                                                           \
    }
DEFINE_APPLY(f32, VecF32)
DEFINE_APPLY(f64, VecF64)

/* f16 as f32, from one end to the other. */
static inline void matrix_widen(const f16 *from, f32 *to, u32 count)
{
    enum { LANES = VECTOR_BYTES / sizeof(f32) };
    u32 k = 0;
    for (; k + LANES <= count; k += LANES)
        matrix_store_f32(to + k, matrix_load_f16(from + k));
#if defined(__AVX2__)
    for (; k + 4 <= count; k += 4) {
        const void *few = from + k;
        _mm_storeu_ps(to + k, _mm_cvtph_ps(_mm_loadl_epi64(few)));
    }
#endif
    for (; k < count; ++k)
        to[k] = half_load(from[k]);
}

/* A chunk of the columns as f32: of the matrix and of the vectors. */
typedef struct Widened {
    _Alignas(VECTOR_BYTES) f32 w[16 * MATRIX_CHUNK];
    f32 x[MATRIX_CHUNK][VECTOR_BYTES / sizeof(f32)];
    const f32 *rows[MATRIX_CHUNK];
    u32 first; /* of what is in x */
} Widened;

static void matrix_widen_inputs(Widened *wide, const Product_f16 *p, u32 first,
                                u32 count, size_t at)
{
    if (wide->first == first)
        return;
    wide->first = first;
    for (u32 k = 0; k < count; ++k) {
        matrix_store_f32(wide->x[k], matrix_load_f16(p->x[first + k] + at));
        wide->rows[k] = wide->x[k];
    }
}

/* Entries that are neighbours stay neighbours. */
static void matrix_add_chunk(Widened *wide, const Product_f16 *p, u32 i, u32 rows,
                             u32 first, u32 count, VecF32 *sums)
{
    const f16 *w = p->w + i * p->row + first * p->column;
    const bool by_row = p->column == 1;
    for (u32 r = 0; by_row && r < rows; ++r)
        matrix_widen(w + r * p->row, wide->w + r * MATRIX_CHUNK, count);
    for (u32 k = 0; !by_row && k < count; ++k)
        matrix_widen(w + k * p->column, wide->w + k * 16, rows);
    matrix_tile_f32(rows, wide->w, by_row ? MATRIX_CHUNK : 1, by_row ? 1 : 16, count,
                    wide->rows, 0, sums);
}

static void matrix_apply_f16(const Product_f16 *p, size_t at)
{
    Widened wide;
    wide.first = UINT32_MAX;
    for (u32 i = 0, rows; i < p->rows; i += rows) {
        VecF32 sums[MATRIX_ROWS];
        rows = matrix_rows(p->rows - i);
        for (u32 r = 0; r < rows; ++r)
            sums[r] = p->add ? matrix_load_f16(p->add[i + r] + at) : (VecF32){ 0 };
        for (u32 k = 0; k < p->columns; k += MATRIX_CHUNK) {
            const u32 left = p->columns - k;
            const u32 count = left < MATRIX_CHUNK ? left : MATRIX_CHUNK;
            matrix_widen_inputs(&wide, p, k, count, at);
            matrix_add_chunk(&wide, p, i, rows, k, count, sums);
        }
        for (u32 r = 0; r < rows; ++r)
            matrix_store_f16(p->y[i + r] + at, sums[r]);
    }
}

/* out: aux of the instruction; pointer, index, number of inputs */
#define DEFINE_MATVEC(F, SUM)                                                       \
    static const LaneStep *matvec_##F(const LaneStep *s, const LaneFrame *f)        \
    {                                                                               \
        const u32 m = s->out & MATVEC_RESULTS, n = s->arg[2];                       \
        const bool turned = s->out & MATVEC_TRANSPOSED, adds = s->out & MATVEC_ADDS; \
        const u32 index = *(const u32 *) f->regs[s->arg[1]];                        \
        const F *const *values = (const F *const *) f->values;                      \
        const Product_##F p = {                                                     \
            .w = *(const F *const *) f->regs[s->arg[0]] + index,                    \
            .row = turned ? 1 : n,                                                  \
            .column = turned ? m : 1,                                               \
            .rows = m,                                                              \
            .columns = n,                                                           \
            .x = values,                                                            \
            .add = adds ? values + n : NULL,                                        \
            .y = (F *const *) (f->values + n + (adds ? m : 0)),                     \
        };                                                                          \
        for (size_t at = 0; at < f->count; at += VECTOR_BYTES / sizeof(SUM))        \
            matrix_apply_##F(&p, at);                                               \
        NEXT(s, f);                                                                 \
    }
DEFINE_MATVEC(f16, f32)
DEFINE_MATVEC(f32, f32)
DEFINE_MATVEC(f64, f64)

/* ---- OUTER
 *
 * LANE_GROUP lanes at a time, of which those that are active close ranks. */

static inline u32 matrix_active(const u8 *mask, u32 first, u32 count, u32 *lanes)
{
    u32 n = 0;
    for (u32 l = first; l < first + LANE_GROUP && l < count; ++l)
        if (mask[l])
            lanes[n++] = l;
    return n;
}

#define DEFINE_OUTER(F, SUM, VECTOR)                                                  \
    enum { OUTER_LANES_##F = VECTOR_BYTES / sizeof(SUM) };                            \
                                                                                      \
    /* Entries 'first', ... of the right vector, a row for each lane. */              \
    static void outer_right_##F(const F *const *b, u32 first, u32 n, u32 begin,       \
                                SUM right[LANE_GROUP][VECTOR_BYTES / sizeof(SUM)])    \
    {                                                                                 \
        enum { LANES = OUTER_LANES_##F };                                             \
        for (u32 l = 0; l < LANE_GROUP; l += LANES) {                                 \
            VECTOR v[LANES];                                                          \
            for (u32 k = 0; k < LANES; ++k)                                           \
                v[k] = first + k < n ? matrix_load_##F(b[first + k] + begin + l)      \
                                     : (VECTOR){ 0 };                                 \
            matrix_turn_##SUM(v);                                                     \
            for (u32 k = 0; k < LANES; ++k)                                           \
                memcpy(right[l + k], &v[k], sizeof v[k]);                             \
        }                                                                             \
    }                                                                                 \
                                                                                      \
    /* One row of a tile into the matrix. */                                          \
    static void outer_put_##F(F *g, u32 count, VECTOR sum, bool atomic)               \
    {                                                                                 \
        F entries[OUTER_LANES_##F];                                                   \
        if (!atomic && count == OUTER_LANES_##F) {                                    \
            matrix_store_##F(g, sum);                                                 \
            return;                                                                   \
        }                                                                             \
        matrix_store_##F(entries, sum);                                               \
        for (u32 k = 0; k < count; ++k) {                                             \
            if (atomic)                                                               \
                update_add_##F(g + k, entries[k]);                                    \
            else                                                                      \
                g[k] = entries[k];                                                    \
        }                                                                             \
    }                                                                                 \
                                                                                      \
    static VECTOR outer_get_##F(const F *g, u32 count, bool atomic)                   \
    {                                                                                 \
        F entries[OUTER_LANES_##F] = { 0 };                                           \
        if (!atomic && count == OUTER_LANES_##F)                                      \
            return matrix_load_##F(g);                                                \
        if (!atomic)                                                                  \
            memcpy(entries, g, count * sizeof(F));                                    \
        return matrix_load_##F(entries);                                              \
    }                                                                                 \
                                                                                      \
    /* An entry of the left vector in the active lanes. */                            \
    static void outer_left_##F(const F *from, const u32 *lanes, u32 active, SUM *out) \
    {                                                                                 \
        for (u32 k = 0; active < LANE_GROUP && k < active; ++k)                       \
            out[k] = widen_##F(from[lanes[k]]);                                       \
        for (u32 k = 0; active == LANE_GROUP && k < LANE_GROUP; k += OUTER_LANES_##F) \
            matrix_store_##SUM(out + k, matrix_load_##F(from + lanes[0] + k));        \
    }                                                                                 \
                                                                                      \
    /* Columns 'first', ... of the matrix. */                                         \
    static void outer_columns_##F(F *g, const F *const *a, u32 m, u32 n, u32 first,   \
                                  const u32 *lanes, u32 active, const SUM *const *x,  \
                                  bool atomic)                                        \
    {                                                                                 \
        SUM left[MATRIX_ROWS * LANE_GROUP];                                           \
        VECTOR sums[MATRIX_ROWS];                                                     \
        const u32 count = n - first < OUTER_LANES_##F ? n - first : OUTER_LANES_##F;  \
        for (u32 i = 0, rows; i < m; i += rows) {                                     \
            F *to = g + (size_t) i * n + first;                                       \
            rows = matrix_rows(m - i);                                                \
            for (u32 r = 0; r < rows; ++r) {                                          \
                outer_left_##F(a[i + r], lanes, active, left + r * LANE_GROUP);       \
                sums[r] = outer_get_##F(to + (size_t) r * n, count, atomic);          \
            }                                                                         \
            matrix_tile_##SUM(rows, left, LANE_GROUP, 1, active, x, 0, sums);         \
            for (u32 r = 0; r < rows; ++r)                                            \
                outer_put_##F(to + (size_t) r * n, count, sums[r], atomic);           \
        }                                                                             \
    }                                                                                 \
                                                                                      \
    /* out: number of rows; pointer, index, number of columns */                      \
    static inline void outer_##F(const LaneStep *s, const LaneFrame *f, bool atomic)  \
    {                                                                                 \
        const u32 m = s->out, n = s->arg[2];                                          \
        F *g = *(F *const *) f->regs[s->arg[0]] + *(const u32 *) f->regs[s->arg[1]];  \
        const u8 *mask = f->values[0];                                                \
        const F *const *a = (const F *const *) (f->values + 1), *const *b = a + m;    \
        SUM right[LANE_GROUP][VECTOR_BYTES / sizeof(SUM)];                            \
        for (u32 begin = 0; begin < f->count; begin += LANE_GROUP) {                  \
            u32 lanes[LANE_GROUP];                                                    \
            const SUM *x[LANE_GROUP];                                                 \
            const u32 active = matrix_active(mask, begin, f->count, lanes);           \
            for (u32 k = 0; k < active; ++k)                                          \
                x[k] = right[lanes[k] - begin];                                       \
            for (u32 first = 0; active && first < n; first += OUTER_LANES_##F) {      \
                outer_right_##F(b, first, n, begin, right);                           \
                outer_columns_##F(g, a, m, n, first, lanes, active, x, atomic);       \
            }                                                                         \
        }                                                                             \
    }                                                                                 \
    static const LaneStep *outer_plain_##F(const LaneStep *s, const LaneFrame *f)     \
    {                                                                                 \
        outer_##F(s, f, false);                                                       \
        NEXT(s, f);                                                                   \
    }                                                                                 \
    static const LaneStep *outer_atomic_##F(const LaneStep *s, const LaneFrame *f)    \
    {                                                                                 \
        outer_##F(s, f, true);                                                        \
        NEXT(s, f);                                                                   \
    }
DEFINE_OUTER(f16, f32, VecF32)
DEFINE_OUTER(f32, f32, VecF32)
DEFINE_OUTER(f64, f64, VecF64)

/* ---- rows that stand in registers: number of the first in extra[], how many */

static const LaneStep *lanes_rows(const LaneStep *s, const LaneFrame *f)
{
    const u32 *regs = f->extra + s->arg[0];
    for (u32 i = 0; i < s->arg[1]; ++i)
        f->values[i] = f->regs[regs[i]];
    NEXT(s, f);
}

#undef CONCAT_
#undef CONCAT
#undef ROWS_1
#undef ROWS_2
#undef ROWS_4
#undef ROWS_8
#undef ROWS_12

#endif
