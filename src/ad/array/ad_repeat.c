/*
 * ad_repeat.c -- arrays that are repeated: entry by entry, as a whole, in blocks
 *
 * Each result is a gather whose indices are known beforehand. So what an entry gets
 * in reverse are the entries of one row or column of the gradient, and these are not
 * added up as they come, but as those of a block (rows) or of a matrix product
 * (columns): the same bits whatever the threads do.
 *
 *     (P, 1, K) -> (P, R, K)     K is 1: each entry R times; P is 1: all of it
 */
#include "ad/array/ad_repeat.h"

#include "ad/graph/ad_thread.h"
#include "ad/rule/ad_apply.h"

/* leaves: indices, 0: the array is repeated as jit_var_repeat() does, K is 1 */
typedef struct Repeat {
    AdMoves m;
    AdSize inner; /* K */
} Repeat;

static uint64_t release_and_return(uint64_t temporary, uint64_t result)
{
    ad_var_dec_ref(temporary);
    return result;
}

/* How often each entry is there. */
static AdSize times_of(const Repeat *r)
{
    return ad_size_over(r->m.size[1], r->m.size[0]);
}

static uint64_t repeat_forward(const AdMoves *m, uint32_t operand, uint64_t g,
                               uint64_t into)
{
    (void) operand;
    const uint32_t index = ad_var_index(m->held.leaves[0]);
    uint64_t whole = ad_moves_resize(g, m->size[0]), result = 0;
    if (whole && index) {
        result = ad_var_gather(whole, index, 0, ReduceModeAuto);
    } else if (whole) {
        const AdSize times = times_of((const Repeat *) m);
        ad_size_next(times);
        result = ad_var_repeat(whole, times.count);
    }
    ad_var_dec_ref(whole);
    return ad_moves_add(into, result);
}

/* Sums of the columns of matrices: a row of ones times each. */
static uint64_t sum_columns(uint64_t g, AdSize matrices, AdSize rows, AdSize columns)
{
    const AdSize one = { .count = 1 }, none = { 0 };
    const AdSize stride = ad_size_times(rows, columns);
    const AdSize all[] = { one, columns, rows, none, none, matrices, none, stride };
    uint64_t sizes[sizeof(all) / sizeof(*all)];
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        sizes[i] = ad_size_origin(all[i]);
    const JitGemm shape = { .m = 1,
                            .n = columns.count,
                            .k = rows.count,
                            .batch_ndim = 1,
                            .batch_shape = &matrices.count,
                            .batch_stride_a = &none.count,
                            .batch_stride_b = &stride.count,
                            .sizes = sizes };
    const uint64_t ones = ad_moves_fill(g, 1, rows);
    return ones ? release_and_return(ones, ad_var_batched_gemm(ones, g, &shape)) : 0;
}

static uint64_t repeat_backward(const AdMoves *m, uint32_t operand, uint64_t g,
                                uint64_t into)
{
    (void) operand;
    const Repeat *r = (const Repeat *) m;
    const AdSize times = times_of(r);
    uint64_t whole = ad_moves_resize(g, m->size[1]), sums = 0;
    if (whole && r->inner.count == 1) {
        ad_size_next(times);
        sums = ad_var_block_reduce(ReduceOpAdd, whole, times.count);
    } else if (whole) {
        sums = sum_columns(whole, ad_size_over(m->size[0], r->inner), times, r->inner);
    }
    ad_var_dec_ref(whole);
    return ad_moves_add(into, sums);
}

uint64_t ad_repeat_sums(uint64_t g, const AdPattern *p)
{
    const AdSize one = { .count = 1 }, rows = { .count = p->rows },
                 columns = { .count = p->period };
    uint64_t sums = p->each > 1 ? ad_var_block_reduce(ReduceOpAdd, g, p->each)
                                : ad_var_inc_ref(g);
    if (!sums || p->rows == 1)
        return sums;
    return release_and_return(sums, sum_columns(sums, one, rows, columns));
}

uint64_t ad_repeat_track(uint32_t result, uint64_t source, uint32_t index, AdSize inner)
{
    const Repeat r = {
        .m = { .held = { .count = 1, .leaves = { index } },
               .name = "repeat",
               .forward = repeat_forward,
               .backward = repeat_backward,
               .size = { ad_size_of(ad_var_index(source)), ad_size_of(result) } },
        .inner = inner,
    };
    return ad_apply_moves(result, 1, &source, &r.m, sizeof(r));
}

uint64_t ad_var_repeat(uint64_t index, size_t count)
{
    if (!ad_var_node(index))
        return jit_var_repeat(ad_var_index(index), count);
    const AdSize each = ad_size_take(count);
    ad_size_next(each);
    uint32_t result = jit_var_repeat(ad_var_index(index), count);
    return result ? ad_repeat_track(result, index, 0, (AdSize){ .count = 1 }) : 0;
}

uint64_t ad_var_broadcast(uint64_t source, uint32_t index, size_t inner)
{
    if (!ad_apply_tracks(1, &source))
        return jit_var_gather(ad_var_index(source), index, 0);
    const AdSize block = inner ? ad_size_take(inner) : ad_size_of(ad_var_index(source));
    bool ok;
    const uint32_t mask = ad_moves_mask(index, 0, 0, NULL, &ok);
    jit_var_dec_ref(mask);
    /* In a body entries are not rows; and the node of one entry sums up by itself. */
    if (mask || ad_thread_in_body() || jit_var_peek_size(ad_var_index(source)) == 1)
        return ad_var_gather(source, index, 0, ReduceModeAuto);
    const uint32_t result = jit_var_gather(ad_var_index(source), index, 0);
    return result ? ad_repeat_track(result, source, index, block) : 0;
}
