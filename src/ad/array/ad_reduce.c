/*
 * ad_reduce.c -- reductions, prefix sums, sorting
 */
#include <string.h>

#include "ad/array/ad_moves.h"
#include "ad/rule/ad_apply.h"
#include "base/error.h"

/* Block reductions; a reduction of everything is one of a single block. leaves: if the
 * entries of a block are not next to each other, where each entry goes in the result;
 * and then, where the operation needs them, elements and result */
typedef struct Reduce {
    AdMoves m;
    ReduceOp op;
    AdSize block;  /* 0: all entries are one */
    AdSize stride; /* from one entry of a block to the next, 0: they are neighbours */
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
    if (r->stride.count) {
        const uint64_t sizes[] = { ad_size_origin(r->block),
                                   ad_size_origin(r->stride) };
        const JitAxis axis = { r->block.count, r->stride.count, sizes };
        return ad_var_axis_reduce(op, x, &axis, ad_var_index(r->m.held.leaves[0]));
    }
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
    if (!r->block.count)
        return ad_var_inc_ref(x);
    const AdSize blocks = ad_size_over(r->m.size[0], r->block);
    if (!r->stride.count)
        return repeat(x, blocks, r->block);
    uint64_t whole = ad_moves_resize(x, blocks);
    TRY(whole, 0);
    ad_size_next(r->stride);
    return release_and_return(
        whole, ad_var_broadcast(whole, ad_var_index(r->m.held.leaves[0]),
                                r->stride.count));
}

/* What an element's change does to the result of its block. */
static uint64_t weighted(const Reduce *r, uint64_t g)
{
    if (r->op == ReduceOpAdd)
        return ad_var_inc_ref(g);
    const uint32_t first = r->stride.count != 0;
    uint64_t x = ad_moves_leaf(&r->m, first);
    uint64_t y = ad_traverse_is_tracked() ? reduce_of(r, r->op, x)
                                          : ad_var_inc_ref(r->m.held.leaves[first + 1]);
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

/* 'position' is 0 without a stride. */
static uint64_t make_reduce(uint32_t result, uint64_t x, ReduceOp op, AdSize block,
                            AdSize stride, uint32_t position)
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
        .m = { .name = "reduce",
               .forward = reduce_forward,
               .backward = reduce_backward,
               .size = { ad_size_of(ad_var_index(x)) } },
        .op = op,
        .block = block,
        .stride = stride,
    };
    AdHeld *held = &r.m.held;
    if (stride.count)
        held->leaves[held->count++] = position;
    if (op != ReduceOpAdd) {
        held->leaves[held->count++] = x;
        held->leaves[held->count++] = result;
    }
    return ad_apply_moves(result, 1, &x, &r.m, sizeof(r));
}

uint64_t ad_var_reduce(uint64_t index, ReduceOp op)
{
    uint32_t result = jit_var_reduce(ad_var_index(index), op);
    if (!ad_var_node(index) || !result)
        return result;
    const AdSize none = { .count = 0 };
    return make_reduce(result, index, op, none, none, 0);
}

uint64_t ad_var_block_reduce(ReduceOp op, uint64_t index, size_t block_size)
{
    if (!ad_var_node(index))
        return jit_var_block_reduce(op, ad_var_index(index), block_size);
    AdSize block = ad_size_take(block_size);
    ad_size_next(block);
    uint32_t result = jit_var_block_reduce(op, ad_var_index(index), block_size);
    if (block_size == jit_var_peek_size(ad_var_index(index)))
        block.count = 0;
    return make_reduce(result, index, op, block, (AdSize) { .count = 0 }, 0);
}

uint64_t ad_var_axis_reduce(ReduceOp op, uint64_t index, const JitAxis *axis,
                            uint32_t position)
{
    uint32_t result = jit_var_axis_reduce(op, ad_var_index(index), axis);
    if (!ad_var_node(index) || !result)
        return result;
    if (!position && ad_apply_tracks(1, &index)) {
        jit_var_dec_ref(result);
        return (uint64_t) error_set(JIT_ERROR_ARGUMENT,
                                    "ad_var_axis_reduce(): the operand is tracked, "
                                    "expected the indices of its entries");
    }
    const uint64_t *sizes = axis->sizes;
    return make_reduce(result, index, op,
                       ad_size_from(axis->extent, sizes ? sizes[0] : 0),
                       ad_size_from(axis->stride, sizes ? sizes[1] : 0), position);
}

/* ---------------------------------------------------------------- one entry as many */

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
    if (r->stride.count) {
        const uint64_t sizes[] = { ad_size_origin(r->block),
                                   ad_size_origin(r->stride) };
        const JitAxis axis = { r->block.count, r->stride.count, sizes };
        return release_and_return(
            whole, ad_var_axis_prefix_reduce(ReduceOpAdd, whole, &axis, r->exclusive,
                                             reverse));
    }
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

/* 'result' is that of the variables. */
static uint64_t make_prefix(uint32_t result, uint64_t index, AdSize block,
                            AdSize stride, bool exclusive, bool reverse)
{
    if (!ad_var_node(index) || !result)
        return result;
    Reduce r = {
        .m = { .name = "prefix_sum",
               .forward = prefix_forward,
               .backward = prefix_backward,
               .size = { ad_size_of(ad_var_index(index)) } },
        .op = ReduceOpAdd,
        .block = block,
        .stride = stride,
        .exclusive = exclusive,
        .reverse = reverse,
    };
    return ad_apply_moves(result, 1, &index, &r.m, sizeof(r));
}

static bool check_prefix(ReduceOp op, uint64_t index, const char *function)
{
    return op == ReduceOpAdd || !ad_apply_tracks(1, &index) ||
           error_set(JIT_ERROR_UNSUPPORTED,
                     "%s: prefix reductions other than sums have no derivative "
                     "(ReduceOp %d)",
                     function, (int) op);
}

uint64_t ad_var_block_prefix_reduce(ReduceOp op, uint64_t index, size_t block_size,
                                    int exclusive, int reverse)
{
    const AdSize block = ad_size_take(block_size);
    TRY(check_prefix(op, index, "ad_var_block_prefix_reduce()"), 0);
    ad_size_next(block);
    uint32_t result = jit_var_block_prefix_reduce(op, ad_var_index(index), block_size,
                                                  exclusive, reverse);
    return make_prefix(result, index, block, (AdSize) { .count = 0 }, exclusive != 0,
                       reverse != 0);
}

uint64_t ad_var_axis_prefix_reduce(ReduceOp op, uint64_t index, const JitAxis *axis,
                                   int exclusive, int reverse)
{
    TRY(check_prefix(op, index, "ad_var_axis_prefix_reduce()"), 0);
    uint32_t result = jit_var_axis_prefix_reduce(op, ad_var_index(index), axis,
                                                 exclusive, reverse);
    if (!ad_var_node(index) || !result)
        return result;
    const uint64_t *sizes = axis->sizes;
    return make_prefix(result, index, ad_size_from(axis->extent, sizes ? sizes[0] : 0),
                       ad_size_from(axis->stride, sizes ? sizes[1] : 0), exclusive != 0,
                       reverse != 0);
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
