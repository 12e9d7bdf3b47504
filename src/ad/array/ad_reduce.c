/*
 * ad_reduce.c -- reductions, prefix sums, sorting, matrix products
 */
#include <string.h>

#include "ad/array/ad_moves.h"
#include "ad/rule/ad_apply.h"
#include "base/error.h"

/* Block reductions; a reduction of everything is one of a single block. */
typedef struct Reduce {
    AdMoves m;
    ReduceOp op;
    AdSize block; /* 0: all entries are one */
    bool exclusive, reverse; /* prefix sums */
} Reduce;

static uint64_t release_and_return(uint64_t temporary, uint64_t result)
{
    ad_var_dec_ref(temporary);
    return result;
}

static uint64_t reduce_of(const Reduce *r, ReduceOp op, uint64_t x)
{
    if (!r->block.count)
        return ad_var_reduce(x, op);
    ad_size_next(r->block);
    return ad_var_block_reduce(op, x, r->block.count);
}

/* Each entry that often, of which there are as many as a size says. */
static uint64_t repeat(uint64_t x, AdSize size, AdSize count)
{
    uint64_t whole = ad_moves_resize(x, size);
    TRY(whole, 0);
    ad_size_next(count);
    return release_and_return(whole, ad_var_repeat(whole, count.count));
}

/* An entry for each block as an entry for each element. */
static uint64_t spread(const Reduce *r, uint64_t x)
{
    return r->block.count ? repeat(x, ad_size_over(r->m.size[0], r->block), r->block)
                          : ad_var_inc_ref(x);
}

/* What an element's change does to the result of its block. leaves: elements, result */
static uint64_t weighted(const Reduce *r, uint64_t g)
{
    if (r->op == ReduceOpAdd)
        return ad_var_inc_ref(g);
    uint64_t x = ad_moves_leaf(&r->m, 0);
    uint64_t y = ad_traverse_is_tracked() ? reduce_of(r, r->op, x)
                                          : ad_var_inc_ref(r->m.held.leaves[1]);
    uint64_t all = y ? release_and_return(y, spread(r, y)) : 0;
    uint64_t zero = ad_moves_number(g, 0), result = 0;
    if (all && zero && r->op == ReduceOpMul) {
        uint64_t quotient = ad_var_div(all, x);
        uint64_t none = quotient ? ad_apply(OP_EQ, 2, (uint64_t[]){ x, zero }) : 0;
        uint64_t weight = none ? ad_var_select(none, zero, quotient) : 0;
        result = weight ? ad_rule_times(g, weight) : 0;
        ad_var_dec_ref(quotient);
        ad_var_dec_ref(none);
        ad_var_dec_ref(weight);
    } else if (all && zero) {
        uint64_t same = ad_apply(OP_EQ, 2, (uint64_t[]){ x, all });
        result = same ? ad_var_select(same, g, zero) : 0;
        ad_var_dec_ref(same);
    }
    ad_var_dec_ref(all);
    ad_var_dec_ref(zero);
    return result;
}

static uint64_t reduce_forward(const AdMoves *m, uint32_t operand, uint64_t g,
                               uint64_t into)
{
    (void) operand;
    const Reduce *r = (const Reduce *) m;
    uint64_t whole = ad_moves_resize(g, m->size[0]);
    uint64_t change = whole ? weighted(r, whole) : 0;
    uint64_t full = change ? ad_moves_resize(change, m->size[0]) : 0;
    uint64_t result = full ? reduce_of(r, ReduceOpAdd, full) : 0;
    ad_var_dec_ref(whole);
    ad_var_dec_ref(change);
    ad_var_dec_ref(full);
    return ad_moves_add(into, result);
}

static uint64_t reduce_backward(const AdMoves *m, uint32_t operand, uint64_t g,
                                uint64_t into)
{
    (void) operand;
    const Reduce *r = (const Reduce *) m;
    uint64_t all = spread(r, g);
    uint64_t change = all ? release_and_return(all, weighted(r, all)) : 0;
    return ad_moves_add(into, change);
}

static uint64_t make_reduce(uint32_t result, uint64_t x, ReduceOp op, AdSize block)
{
    TRY(result, 0);
    if (!ad_apply_tracks(1, &x))
        return result;
    if (op != ReduceOpAdd && op != ReduceOpMul && op != ReduceOpMin &&
        op != ReduceOpMax) {
        jit_var_dec_ref(result);
        return (uint64_t) error_set(JIT_ERROR_UNSUPPORTED,
                                    "ad_var_reduce(): this reduction (ReduceOp %d) has "
                                    "no derivative",
                                    (int) op);
    }
    Reduce r = {
        .m = { .held = { .count = op == ReduceOpAdd ? 0 : 2, .leaves = { x, result } },
               .name = "reduce",
               .forward = reduce_forward,
               .backward = reduce_backward,
               .size = { ad_size_of(ad_var_index(x)) } },
        .op = op,
        .block = block,
    };
    return ad_apply_moves(result, 1, &x, &r.m, sizeof(r));
}

uint64_t ad_var_reduce(uint64_t index, ReduceOp op)
{
    uint32_t result = jit_var_reduce(ad_var_index(index), op);
    if (!ad_var_node(index) || !result)
        return result;
    return make_reduce(result, index, op, (AdSize) { 0 });
}

uint64_t ad_var_block_reduce(ReduceOp op, uint64_t index, size_t block_size)
{
    if (!ad_var_node(index))
        return jit_var_block_reduce(op, ad_var_index(index), block_size);
    const AdSize block = ad_size_take(block_size);
    ad_size_next(block);
    uint32_t result = jit_var_block_reduce(op, ad_var_index(index), block_size);
    const bool all = block_size == jit_var_peek_size(ad_var_index(index));
    return make_reduce(result, index, op, all ? (AdSize) { 0 } : block);
}

/* ---------------------------------------------------------------- repetition */

static uint64_t repeat_forward(const AdMoves *m, uint32_t operand, uint64_t g,
                               uint64_t into)
{
    (void) operand;
    return ad_moves_add(into, repeat(g, m->size[0], ((const Reduce *) m)->block));
}

static uint64_t repeat_backward(const AdMoves *m, uint32_t operand, uint64_t g,
                                uint64_t into)
{
    (void) operand;
    const Reduce *r = (const Reduce *) m;
    uint64_t whole = ad_moves_resize(g, ad_size_times(m->size[0], r->block));
    uint64_t sums = whole ? reduce_of(r, ReduceOpAdd, whole) : 0;
    ad_var_dec_ref(whole);
    return ad_moves_add(into, sums);
}

uint64_t ad_var_repeat(uint64_t index, size_t count)
{
    if (!ad_var_node(index))
        return jit_var_repeat(ad_var_index(index), count);
    const AdSize each = ad_size_take(count);
    ad_size_next(each);
    uint32_t result = jit_var_repeat(ad_var_index(index), count);
    TRY(result, 0);
    Reduce r = {
        .m = { .name = "repeat",
               .forward = repeat_forward,
               .backward = repeat_backward,
               .size = { ad_size_of(ad_var_index(index)) } },
        .block = each,
    };
    return ad_apply_moves(result, 1, &index, &r.m, sizeof(r));
}

static uint64_t resize_forward(const AdMoves *m, uint32_t operand, uint64_t g,
                               uint64_t into)
{
    (void) operand;
    return ad_moves_add(into, ad_moves_resize(g, m->size[1]));
}

/* The node of the operand sums up. */
static uint64_t resize_backward(const AdMoves *m, uint32_t operand, uint64_t g,
                                uint64_t into)
{
    (void) operand;
    uint64_t whole = ad_moves_resize(g, m->size[1]);
    return ad_moves_add(into, whole);
}

uint64_t ad_var_resize(uint64_t index, size_t size)
{
    uint32_t result = jit_var_resize(ad_var_index(index), size);
    if (!ad_var_node(index) || !result)
        return result;
    if (result == ad_var_index(index)) {
        uint64_t same = ad_grad_enabled(index) ? index : result;
        if (ad_var_node(same)) {
            state_lock();
            ad_graph_ref(ad_var_node(same));
            state_unlock();
        }
        return same;
    }
    AdMoves m = { .name = "resize",
                  .kind = MOVES_LANES,
                  .forward = resize_forward,
                  .backward = resize_backward,
                  .size = { { .count = 1 }, ad_size_of(result) } };
    return ad_apply_moves(result, 1, &index, &m, sizeof(m));
}

/* --------------------------------------------------------------- products of arrays */

/* leaves: a, b */
static uint64_t dot_forward(const AdMoves *m, uint32_t operand, uint64_t g,
                            uint64_t into)
{
    uint64_t whole = ad_moves_resize(g, m->size[operand]);
    uint64_t change = 0;
    if (whole)
        change = ad_var_reduce_dot(whole, ad_moves_leaf(m, !operand));
    ad_var_dec_ref(whole);
    return ad_moves_add(into, change);
}

static uint64_t dot_backward(const AdMoves *m, uint32_t operand, uint64_t g,
                             uint64_t into)
{
    uint64_t change = ad_rule_times(g, ad_moves_leaf(m, !operand));
    return ad_moves_add(into, change);
}

uint64_t ad_var_reduce_dot(uint64_t a, uint64_t b)
{
    uint32_t result = jit_var_reduce_dot(ad_var_index(a), ad_var_index(b));
    if (!(ad_var_node(a) | ad_var_node(b)))
        return result;
    AdMoves m = {
        .held = { .count = 2, .leaves = { a, b } },
        .name = "dot",
        .forward = dot_forward,
        .backward = dot_backward,
        .size = { ad_size_of(ad_var_index(a)), ad_size_of(ad_var_index(b)) },
    };
    return ad_apply_moves(result, 2, (uint64_t[]){ a, b }, &m, sizeof(m));
}

/* ---------------------------------------------------------------- prefix sums */

static uint64_t prefix_along(const Reduce *r, uint64_t g, bool reverse)
{
    uint64_t whole = ad_moves_resize(g, r->m.size[0]);
    TRY(whole, 0);
    ad_size_next(r->block);
    return release_and_return(
        whole, ad_var_block_prefix_reduce(ReduceOpAdd, whole, r->block.count,
                                          r->exclusive, reverse));
}

static uint64_t prefix_forward(const AdMoves *m, uint32_t operand, uint64_t g,
                               uint64_t into)
{
    (void) operand;
    const Reduce *r = (const Reduce *) m;
    return ad_moves_add(into, prefix_along(r, g, r->reverse));
}

static uint64_t prefix_backward(const AdMoves *m, uint32_t operand, uint64_t g,
                                uint64_t into)
{
    (void) operand;
    uint64_t change =
        prefix_along((const Reduce *) m, g, !((const Reduce *) m)->reverse);
    return ad_moves_add(into, change);
}

uint64_t ad_var_block_prefix_reduce(ReduceOp op, uint64_t index, size_t block_size,
                                    int exclusive, int reverse)
{
    const AdSize block = ad_size_take(block_size);
    if (op != ReduceOpAdd && ad_apply_tracks(1, &index))
        return (uint64_t) error_set(JIT_ERROR_UNSUPPORTED,
                                    "ad_var_block_prefix_reduce(): prefix reductions "
                                    "other than sums have no derivative (ReduceOp %d)",
                                    (int) op);
    ad_size_next(block);
    uint32_t result = jit_var_block_prefix_reduce(op, ad_var_index(index), block_size,
                                                  exclusive, reverse);
    if (!ad_var_node(index) || !result)
        return result;
    Reduce r = {
        .m = { .name = "prefix_sum",
               .forward = prefix_forward,
               .backward = prefix_backward,
               .size = { ad_size_of(ad_var_index(index)) } },
        .op = op,
        .block = block,
        .exclusive = exclusive != 0,
        .reverse = reverse != 0,
    };
    return ad_apply_moves(result, 1, &index, &r.m, sizeof(r));
}

/* ---------------------------------------------------------------- sorting */

uint64_t ad_var_sort(uint64_t index, size_t block_size, int descending)
{
    if (!ad_apply_tracks(1, &index))
        return jit_var_sort(ad_var_index(index), block_size, descending);
    uint32_t order = jit_var_argsort(ad_var_index(index), block_size, descending);
    TRY(order, 0);
    uint64_t result = ad_var_gather(index, order, 0, ReduceModePermute);
    jit_var_dec_ref(order);
    return result;
}

/* ---------------------------------------------------------------- matrix products */

enum { BATCH_LIMIT = 32 };

/* leaves: a, b, and for each the positions of its matrices' entries, where they are not
 * one after the other (0: they are) */
typedef struct Gemm {
    AdMoves m;
    JitGemm shape;
    AdSize result;
    size_t batch[3][BATCH_LIMIT]; /* extents, strides of a, strides of b */
} Gemm;

/* The shape with the pointers that a copy has lost, whose results are contiguous. */
static JitGemm gemm_shape(const Gemm *p)
{
    JitGemm shape = p->shape;
    shape.batch_shape = p->batch[0];
    shape.batch_stride_a = shape.batch_stride_a ? p->batch[1] : NULL;
    shape.batch_stride_b = shape.batch_stride_b ? p->batch[2] : NULL;
    return shape;
}

static uint64_t gemm_forward(const AdMoves *m, uint32_t operand, uint64_t g,
                             uint64_t into)
{
    JitGemm shape = gemm_shape((const Gemm *) m);
    uint64_t other = ad_moves_leaf(m, !operand);
    uint64_t whole = ad_moves_resize(g, m->size[operand]);
    TRY(whole, 0);
    uint64_t change = operand ? ad_var_batched_gemm(other, whole, &shape)
                              : ad_var_batched_gemm(whole, other, &shape);
    ad_var_dec_ref(whole);
    return ad_moves_add(into, change);
}

/* Entries of the matrices of an operand, in the order in which gradients come. */
static uint32_t gemm_positions(const Gemm *p, uint32_t operand, JitBackend backend)
{
    const JitGemm *s = &p->shape;
    size_t rows =
        operand ? (s->transpose_b ? s->n : s->k) : (s->transpose_a ? s->k : s->m);
    size_t columns =
        operand ? (s->transpose_b ? s->k : s->n) : (s->transpose_a ? s->m : s->k);
    size_t row = operand ? s->ldb : s->lda, total = rows * columns;
    const size_t *strides = operand ? s->batch_stride_b : s->batch_stride_a;
    for (uint32_t i = 0; i < s->batch_ndim; i++)
        total *= p->batch[0][i];
    row = row ? row : columns;
    bool contiguous = row == columns;
    size_t expected = rows * columns;
    for (uint32_t i = s->batch_ndim; i-- > 0;) {
        if (strides && p->batch[0][i] > 1 && p->batch[operand + 1][i] != expected)
            contiguous = false;
        expected *= p->batch[0][i];
    }
    if (contiguous && p->m.size[operand].count == total)
        return 0;
    /* position = sum of (lane / what is further in mod extent) * stride */
    uint32_t result = jit_var_u32(backend, 0);
    size_t inner = 1;
    for (uint32_t axis = 0; axis < s->batch_ndim + 2 && result; axis++) {
        uint32_t i = s->batch_ndim + 1 - axis; /* batch axes, rows, columns */
        size_t extent = axis == 0 ? columns : axis == 1 ? rows : p->batch[0][i];
        size_t stride = axis == 0   ? 1
                        : axis == 1 ? row
                        : strides   ? p->batch[operand + 1][i]
                                    : inner;
        uint32_t lanes = jit_var_counter(backend, total);
        uint32_t further = jit_var_u32(backend, (uint32_t) inner);
        uint32_t bound = jit_var_u32(backend, (uint32_t) extent);
        uint32_t step = jit_var_u32(backend, (uint32_t) stride);
        uint32_t outer = lanes && further ? jit_var_div(lanes, further) : 0;
        uint32_t at = outer && bound ? jit_var_mod(outer, bound) : 0;
        uint32_t sum = at && step ? jit_var_fma(at, step, result) : 0;
        uint32_t done[] = { lanes, further, bound, step, outer, at, result };
        for (size_t d = 0; d < sizeof(done) / sizeof(*done); d++)
            jit_var_dec_ref(done[d]);
        result = sum;
        inner *= extent;
    }
    return result;
}

/* The gradient of A is G B^T, that of B A^T G, each transposed if the matrix is. */
static uint64_t gemm_backward(const AdMoves *m, uint32_t operand, uint64_t g,
                              uint64_t into)
{
    const Gemm *p = (const Gemm *) m;
    const JitGemm *s = &p->shape;
    uint64_t other = ad_moves_leaf(m, !operand);
    uint64_t whole = ad_moves_resize(g, p->result), change = 0;
    TRY(whole, 0);
    const size_t *strides = operand ? (s->batch_stride_a ? p->batch[1] : NULL)
                                    : (s->batch_stride_b ? p->batch[2] : NULL);
    size_t contiguous[BATCH_LIMIT], own[BATCH_LIMIT];
    size_t inner = s->m * s->n, other_inner = operand ? s->m * s->k : s->k * s->n;
    for (uint32_t i = s->batch_ndim; i-- > 0;) {
        contiguous[i] = inner;
        own[i] = strides ? strides[i] : other_inner;
        inner *= p->batch[0][i];
        other_inner *= p->batch[0][i];
    }
    bool transposed = operand ? s->transpose_b : s->transpose_a;
    bool other_transposed = operand ? s->transpose_a : s->transpose_b;
    size_t other_row = operand ? s->lda : s->ldb;
    JitGemm shape = { .batch_ndim = s->batch_ndim, .batch_shape = p->batch[0] };
    /* In the stored form of the operand: G is first where it gives the rows. */
    bool g_first = (operand == 0) != transposed;
    if (operand == 0)
        shape.m = transposed ? s->k : s->m, shape.n = transposed ? s->m : s->k,
        shape.k = s->n;
    else
        shape.m = transposed ? s->n : s->k, shape.n = transposed ? s->k : s->n,
        shape.k = s->m;
    /*            not transposed          transposed
     * A   G op(B)^T               op(B) G^T
     * B   op(A)^T G               G^T op(A)        */
    bool g_transposed = transposed;
    bool flip_other = (operand == 0) ? !transposed : !transposed;
    bool o_transposed = other_transposed != flip_other;
    if (g_first) {
        shape.transpose_a = g_transposed;
        shape.transpose_b = o_transposed;
        shape.ldb = other_row;
        shape.batch_stride_a = contiguous;
        shape.batch_stride_b = own;
        change = ad_var_batched_gemm(whole, other, &shape);
    } else {
        shape.transpose_a = o_transposed;
        shape.transpose_b = g_transposed;
        shape.lda = other_row;
        shape.batch_stride_a = own;
        shape.batch_stride_b = contiguous;
        change = ad_var_batched_gemm(other, whole, &shape);
    }
    ad_var_dec_ref(whole);
    uint32_t positions = ad_var_index(m->held.leaves[2 + operand]);
    if (!change || !positions)
        return ad_moves_add(into, change);
    uint64_t base = into ? ad_moves_resize(into, m->size[operand])
                         : ad_moves_fill(g, 0, m->size[operand]);
    ad_var_dec_ref(into);
    uint64_t result =
        base ? ad_var_scatter(base, change, positions, 0, ReduceOpAdd, ReduceModeAuto)
             : 0;
    ad_var_dec_ref(base);
    ad_var_dec_ref(change);
    return result;
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
        .shape = *shape,
        .result = ad_size_of(result),
    };
    for (uint32_t i = 0; i < shape->batch_ndim; i++) {
        p.batch[0][i] = shape->batch_shape[i];
        if (shape->batch_stride_a)
            p.batch[1][i] = shape->batch_stride_a[i];
        if (shape->batch_stride_b)
            p.batch[2][i] = shape->batch_stride_b[i];
    }
    VarInfo info;
    jit_var_peek_info(result, &info);
    p.m.held.leaves[2] = gemm_positions(&p, 0, info.backend);
    p.m.held.leaves[3] = gemm_positions(&p, 1, info.backend);
    uint64_t leaf = ad_apply_moves(result, 2, operands, &p.m, sizeof(p));
    jit_var_dec_ref(ad_var_index(p.m.held.leaves[2]));
    jit_var_dec_ref(ad_var_index(p.m.held.leaves[3]));
    return leaf;
}
