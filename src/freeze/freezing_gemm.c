/*
 * freezing_gemm.c -- sizes of matrix products; see freezing.h
 */
#include <drjit-core/jit.h>

#include "base/alloc.h"
#include "base/error.h"
#include "freeze/freezing_inside.h"

/* As in JitGemm.sizes, and recording_extent(). */
enum { SIZE_M, SIZE_N, SIZE_K, SIZE_LDA, SIZE_LDB, SIZE_BATCH, AXIS_SIZES = 3 };

typedef struct Product {
    ThreadState *ts;
    Widths *w;
    const JitGemm *given; /* by the caller */
    Width *sizes;
} Product;

/* From the first entry to the last of 'count' parts, each of which reaches as far as
 * 'part'. 0: out of memory. */
static Width reach_of(Widths *w, Width part, Width count, Width stride)
{
    Width one = width_constant(w, 1), zero = width_constant(w, 0);
    TRY(one && zero, 0);
    if (count == one || stride == zero)
        return part;
    if (stride == part)
        return width_make(w, WIDTH_MUL, part, count);
    Width steps = width_make(w, WIDTH_SUB, count, one);
    Width way = steps ? width_make(w, WIDTH_MUL, steps, stride) : 0;
    return way ? width_make(w, WIDTH_ADD, way, part) : 0;
}

/* Strides that were left out follow from the rest, and the operand has entries enough.
 * False: error recorded. */
static bool lay_out(const Product *p, VarId operand, bool first)
{
    const JitGemm *s = p->given;
    const bool transpose = first ? s->transpose_a : s->transpose_b;
    const uint32_t before = first ? SIZE_M : SIZE_K, behind = first ? SIZE_K : SIZE_N;
    const Width rows = p->sizes[transpose ? behind : before];
    const Width columns = p->sizes[transpose ? before : behind];
    Width *row = &p->sizes[first ? SIZE_LDA : SIZE_LDB];
    if (!(first ? s->lda : s->ldb))
        *row = columns;
    Width reach = reach_of(p->w, columns, rows, *row);
    Width matrix = width_make(p->w, WIDTH_MUL, rows, *row);
    for (uint32_t i = s->batch_ndim; reach && matrix && i-- > 0;) {
        Width *axis = &p->sizes[SIZE_BATCH + AXIS_SIZES * i];
        if (!(first ? s->batch_stride_a : s->batch_stride_b)) {
            axis[first ? 1 : 2] = matrix;
            matrix = width_make(p->w, WIDTH_MUL, matrix, axis[0]);
        }
        reach = reach_of(p->w, reach, axis[0], axis[first ? 1 : 2]);
    }
    Width size = reach && matrix ? freezing_width(p->ts, operand) : 0;
    return size && width_assume(p->w, WIDTH_NOT_LESS, size, reach) &&
           width_assume(p->w, WIDTH_NOT_LESS, *row, columns);
}

/* Entries of the result. 0: error recorded. */
static Width result_of(const Product *p)
{
    Width size = width_make(p->w, WIDTH_MUL, p->sizes[SIZE_M], p->sizes[SIZE_N]);
    for (uint32_t i = 0; size && i < p->given->batch_ndim; ++i)
        size = width_make(p->w, WIDTH_MUL, size,
                          p->sizes[SIZE_BATCH + AXIS_SIZES * i]);
    return size;
}

bool freezing_gemm(ThreadState *ts, Command *c, const JitGemm *given, VarId a, VarId b)
{
    TRY(watch_records(ts), true);
    const uint32_t count = recording_extents(c);
    Product p = { ts, freezing_terms(ts), given,
                  alloc_zero(count, sizeof(Width)) };
    bool ok = p.sizes != NULL;
    for (uint32_t i = 0; ok && i < count; ++i)
        ok = (p.sizes[i] = freezing_given(ts, *recording_extent(c, i),
                                          given->sizes ? given->sizes[i] : 0)) != 0;
    ok = ok && lay_out(&p, a, true) && lay_out(&p, b, false);
    Width size = ok ? result_of(&p) : 0;
    ts->freezing->recorder.size = size;
    for (uint32_t i = 0; size && i < count; ++i)
        freezing_extent(ts, i, p.sizes[i]);
    alloc_free(p.sizes);
    return size != 0;
}
