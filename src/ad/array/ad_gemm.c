/*
 * ad_gemm.c -- matrix products
 *
 * The gradient of A is G B^T, that of B A^T G, each transposed if the matrix is. All
 * sizes are AdSizes, since a function that is recorded multiplies matrices of other
 * sizes, too.
 */
#include <string.h>

#include "ad/array/ad_moves.h"
#include "ad/rule/ad_apply.h"
#include "base/error.h"

enum { BATCH_LIMIT = 32 };

/* A matrix as it is stored, one for each index of the batch. */
typedef struct Matrix {
    AdSize rows, columns, row; /* row: from row to row */
    AdSize stride[BATCH_LIMIT];
} Matrix;

/* leaves: a, b, and for each the indices of its matrices' entries, where they are not
 * one after the other (0: they are) */
typedef struct Gemm {
    AdMoves m;
    bool transpose[2];
    uint32_t axes;
    AdSize extent[BATCH_LIMIT];
    Matrix operand[2], result;
} Gemm;

/* Strides of matrices that are one after the other. */
static void lay_out(Matrix *a, const AdSize *extent, uint32_t axes)
{
    AdSize stride = ad_size_times(a->rows, a->row);
    for (uint32_t i = axes; i-- > 0;) {
        a->stride[i] = stride;
        stride = ad_size_times(stride, extent[i]);
    }
}

/* ---------------------------------------------------------------- products */

/* What JitGemm points to. */
typedef struct Lists {
    size_t extent[BATCH_LIMIT], stride[2][BATCH_LIMIT];
    uint64_t sizes[5 + 3 * BATCH_LIMIT];
} Lists;

static size_t put(uint64_t *origin, AdSize size)
{
    *origin = ad_size_origin(size);
    return size.count;
}

/* op(A) op(B) for all of the batch. */
static uint64_t multiply(const Gemm *p, uint64_t a, const Matrix *x, bool transpose_a,
                         uint64_t b, const Matrix *y, bool transpose_b)
{
    Lists l;
    JitGemm shape = {
        .m = put(&l.sizes[0], transpose_a ? x->columns : x->rows),
        .n = put(&l.sizes[1], transpose_b ? y->rows : y->columns),
        .k = put(&l.sizes[2], transpose_a ? x->rows : x->columns),
        .transpose_a = transpose_a,
        .transpose_b = transpose_b,
        .lda = put(&l.sizes[3], x->row),
        .ldb = put(&l.sizes[4], y->row),
        .batch_ndim = p->axes,
        .batch_shape = l.extent,
        .batch_stride_a = l.stride[0],
        .batch_stride_b = l.stride[1],
        .sizes = l.sizes,
    };
    for (uint32_t i = 0; i < p->axes; i++) {
        uint64_t *sizes = &l.sizes[5 + 3 * i];
        l.extent[i] = put(&sizes[0], p->extent[i]);
        l.stride[0][i] = put(&sizes[1], x->stride[i]);
        l.stride[1][i] = put(&sizes[2], y->stride[i]);
    }
    return ad_var_batched_gemm(a, b, &shape);
}

static uint64_t gemm_forward(const AdMoves *m, uint32_t operand, uint64_t g,
                             uint64_t into)
{
    const Gemm *p = (const Gemm *) m;
    uint64_t leaves[] = { ad_moves_leaf(m, 0), ad_moves_leaf(m, 1) };
    uint64_t whole = ad_moves_resize(g, m->size[operand]);
    TRY(whole, 0);
    leaves[operand] = whole;
    uint64_t change = multiply(p, leaves[0], &p->operand[0], p->transpose[0],
                               leaves[1], &p->operand[1], p->transpose[1]);
    ad_var_dec_ref(whole);
    return ad_moves_add(into, change);
}

/* ------------------------------------------------------------------ indices */

/* result + (lane / inner mod extent) * stride; 'result' moves. */
static uint32_t add_axis(JitBackend backend, uint32_t result, AdSize total,
                         AdSize inner, AdSize extent, AdSize stride)
{
    ad_size_next(total);
    uint32_t lanes = jit_var_counter(backend, total.count);
    uint32_t further = ad_size_number(inner, backend);
    uint32_t bound = ad_size_number(extent, backend);
    uint32_t factor = ad_size_number(stride, backend);
    uint32_t outer = lanes && further ? jit_var_div(lanes, further) : 0;
    uint32_t at = outer && bound ? jit_var_mod(outer, bound) : 0;
    uint32_t sum = at && factor && result ? jit_var_fma(at, factor, result) : 0;
    uint32_t done[] = { lanes, further, bound, factor, outer, at, result };
    for (size_t d = 0; d < sizeof(done) / sizeof(*done); d++)
        jit_var_dec_ref(done[d]);
    return sum;
}

/* Entries of the matrices of an operand, in the order in which gradients come. 0: as
 * they are, or (error recorded) out of memory. */
static uint32_t gemm_positions(const Gemm *p, uint32_t operand, JitBackend backend)
{
    const Matrix *a = &p->operand[operand];
    AdSize total = ad_size_times(a->rows, a->columns);
    bool contiguous = ad_size_equal(a->row, a->columns);
    for (uint32_t i = p->axes; i-- > 0;) {
        if (p->extent[i].count > 1 && !ad_size_equal(a->stride[i], total))
            contiguous = false;
        total = ad_size_times(total, p->extent[i]);
    }
    if (contiguous && ad_size_equal(p->m.size[operand], total))
        return 0;
    const AdSize one = { .count = 1 };
    uint32_t result = add_axis(backend, jit_var_u32(backend, 0), total, one,
                               a->columns, one);
    AdSize inner = a->columns;
    result = add_axis(backend, result, total, inner, a->rows, a->row);
    inner = ad_size_times(inner, a->rows);
    for (uint32_t i = p->axes; i-- > 0;) {
        result = add_axis(backend, result, total, inner, p->extent[i], a->stride[i]);
        inner = ad_size_times(inner, p->extent[i]);
    }
    return result;
}

/* Matrices that are one after the other are added where they belong. */
static uint64_t scatter(const AdMoves *m, uint32_t operand, uint64_t change,
                        uint32_t indices, uint64_t into)
{
    uint64_t base = into ? ad_moves_resize(into, m->size[operand])
                         : ad_moves_fill(change, 0, m->size[operand]);
    ad_var_dec_ref(into);
    uint64_t result =
        base ? ad_var_scatter(base, change, indices, 0, ReduceOpAdd, ReduceModeAuto)
             : 0;
    ad_var_dec_ref(base);
    ad_var_dec_ref(change);
    return result;
}

static uint64_t gemm_backward(const AdMoves *m, uint32_t operand, uint64_t g,
                              uint64_t into)
{
    const Gemm *p = (const Gemm *) m;
    const bool transposed = p->transpose[operand], other = p->transpose[!operand];
    uint64_t leaf = ad_moves_leaf(m, !operand);
    const Matrix *y = &p->operand[!operand];
    AdSize size = ad_size_times(p->result.rows, p->result.columns);
    for (uint32_t i = 0; i < p->axes; i++)
        size = ad_size_times(size, p->extent[i]);
    uint64_t whole = ad_moves_resize(g, size), change;
    TRY(whole, 0);
    /*            not transposed          transposed
     * A   G op(B)^T               op(B) G^T
     * B   op(A)^T G               G^T op(A)        */
    if ((operand == 0) != transposed)
        change = multiply(p, whole, &p->result, transposed, leaf, y,
                          other == transposed);
    else
        change = multiply(p, leaf, y, other == transposed, whole, &p->result,
                          transposed);
    ad_var_dec_ref(whole);
    uint32_t indices = ad_var_index(m->held.leaves[2 + operand]);
    return change && indices ? scatter(m, operand, change, indices, into)
                               : ad_moves_add(into, change);
}

/* ---------------------------------------------------------------- entry */

/* An operand as the caller has described it. */
static void describe(Gemm *p, const JitGemm *s, uint32_t operand)
{
    Matrix *a = &p->operand[operand];
    const uint64_t *sizes = s->sizes;
    const AdSize m = ad_size_from(s->m, sizes ? sizes[0] : 0);
    const AdSize n = ad_size_from(s->n, sizes ? sizes[1] : 0);
    const AdSize k = ad_size_from(s->k, sizes ? sizes[2] : 0);
    const AdSize rows = operand ? k : m, columns = operand ? n : k;
    const size_t row = operand ? s->ldb : s->lda;
    const size_t *strides = operand ? s->batch_stride_b : s->batch_stride_a;
    a->rows = p->transpose[operand] ? columns : rows;
    a->columns = p->transpose[operand] ? rows : columns;
    a->row = row ? ad_size_from(row, sizes ? sizes[3 + operand] : 0) : a->columns;
    lay_out(a, p->extent, p->axes);
    for (uint32_t i = 0; strides && i < p->axes; i++)
        a->stride[i] = ad_size_from(strides[i],
                                    sizes ? sizes[5 + 3 * i + 1 + operand] : 0);
    if (operand == 0)
        p->result = (Matrix) { .rows = m, .columns = n, .row = n };
}

uint64_t ad_var_batched_gemm(uint64_t a, uint64_t b, const JitGemm *shape)
{
    uint32_t result = jit_var_batched_gemm(ad_var_index(a), ad_var_index(b), shape);
    uint64_t operands[] = { a, b };
    if (!result || !ad_apply_tracks(2, operands))
        return result;
    if (shape->batch_ndim > BATCH_LIMIT) {
        jit_var_dec_ref(result);
        return (uint64_t) error_set(JIT_ERROR_UNSUPPORTED,
                                    "ad_var_batched_gemm(): %u batch axes, expected at "
                                    "most %d",
                                    shape->batch_ndim, BATCH_LIMIT);
    }
    Gemm p = {
        .m = { .held = { .count = 4, .leaves = { a, b } },
               .name = "gemm",
               .forward = gemm_forward,
               .backward = gemm_backward,
               .size = { ad_size_of(ad_var_index(a)),
                         ad_size_of(ad_var_index(b)) } },
        .transpose = { shape->transpose_a, shape->transpose_b },
        .axes = shape->batch_ndim,
    };
    for (uint32_t i = 0; i < p.axes; i++)
        p.extent[i] = ad_size_from(shape->batch_shape[i],
                                   shape->sizes ? shape->sizes[5 + 3 * i] : 0);
    describe(&p, shape, 0);
    describe(&p, shape, 1);
    lay_out(&p.result, p.extent, p.axes);
    VarInfo info;
    jit_var_peek_info(result, &info);
    p.m.held.leaves[2] = gemm_positions(&p, 0, info.backend);
    p.m.held.leaves[3] = gemm_positions(&p, 1, info.backend);
    uint64_t leaf = ad_apply_moves(result, 2, operands, &p.m, sizeof(p));
    jit_var_dec_ref(ad_var_index(p.m.held.leaves[2]));
    jit_var_dec_ref(ad_var_index(p.m.held.leaves[3]));
    return leaf;
}
