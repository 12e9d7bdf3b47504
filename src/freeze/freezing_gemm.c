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
    SymSizes *w;
    const JitGemm *given; /* by the caller */
    SymSize *sizes;
} Product;

/* From the first entry to the last of 'count' parts, each of which reaches as far as
 * 'part'. 0: out of memory. */
static SymSize reach_of(SymSizes *w, SymSize part, SymSize count, SymSize stride)
{
    SymSize one = symsize_constant(w, 1), zero = symsize_constant(w, 0);
    TRY(one && zero, 0);
    if (count == one || stride == zero)
        return part;
    if (stride == part)
        return symsize_make(w, SYMSIZE_MUL, part, count);
    SymSize steps = symsize_make(w, SYMSIZE_SUB, count, one);
    SymSize way = steps ? symsize_make(w, SYMSIZE_MUL, steps, stride) : 0;
    return way ? symsize_make(w, SYMSIZE_ADD, way, part) : 0;
}

/* Strides that were left out follow from the rest, and the operand has entries enough.
 * False: error recorded. */
static bool lay_out(const Product *p, VarId operand, bool first)
{
    const JitGemm *s = p->given;
    const bool transpose = first ? s->transpose_a : s->transpose_b;
    const uint32_t before = first ? SIZE_M : SIZE_K, behind = first ? SIZE_K : SIZE_N;
    const SymSize rows = p->sizes[transpose ? behind : before];
    const SymSize columns = p->sizes[transpose ? before : behind];
    SymSize *row = &p->sizes[first ? SIZE_LDA : SIZE_LDB];
    if (!(first ? s->lda : s->ldb))
        *row = columns;
    SymSize reach = reach_of(p->w, columns, rows, *row);
    SymSize matrix = symsize_make(p->w, SYMSIZE_MUL, rows, *row);
    for (uint32_t i = s->batch_ndim; reach && matrix && i-- > 0;) {
        SymSize *axis = &p->sizes[SIZE_BATCH + AXIS_SIZES * i];
        if (!(first ? s->batch_stride_a : s->batch_stride_b)) {
            axis[first ? 1 : 2] = matrix;
            matrix = symsize_make(p->w, SYMSIZE_MUL, matrix, axis[0]);
        }
        reach = reach_of(p->w, reach, axis[0], axis[first ? 1 : 2]);
    }
    SymSize size = reach && matrix ? freezing_symsize(p->ts, operand) : 0;
    return size && symsize_assume(p->w, SYMSIZE_NOT_LESS, size, reach) &&
           symsize_assume(p->w, SYMSIZE_NOT_LESS, *row, columns);
}

/* Entries of the result. 0: error recorded. */
static SymSize result_of(const Product *p)
{
    SymSize size = symsize_make(p->w, SYMSIZE_MUL, p->sizes[SIZE_M], p->sizes[SIZE_N]);
    for (uint32_t i = 0; size && i < p->given->batch_ndim; ++i)
        size = symsize_make(p->w, SYMSIZE_MUL, size,
                            p->sizes[SIZE_BATCH + AXIS_SIZES * i]);
    return size;
}

bool freezing_gemm(ThreadState *ts, Command *c, const JitGemm *given, VarId a, VarId b)
{
    TRY(watch_records(ts), true);
    const uint32_t count = recording_extents(c);
    Product p = { ts, freezing_terms(ts), given,
                  alloc_zero(count, sizeof(SymSize)) };
    bool ok = p.sizes != NULL;
    for (uint32_t i = 0; ok && i < count; ++i)
        ok = (p.sizes[i] = freezing_given(ts, *recording_extent(c, i),
                                          given->sizes ? given->sizes[i] : 0)) != 0;
    ok = ok && lay_out(&p, a, true) && lay_out(&p, b, false);
    SymSize size = ok ? result_of(&p) : 0;
    ts->freezing->recorder.size = size;
    for (uint32_t i = 0; size && i < count; ++i)
        freezing_extent(ts, i, p.sizes[i]);
    alloc_free(p.sizes);
    return size != 0;
}
