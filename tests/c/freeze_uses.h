/*
 * freeze_uses.h -- all ways to use a variable, for test_freeze_foreign.c
 */
#ifndef TESTS_FREEZE_USES_H
#define TESTS_FREEZE_USES_H

#include "freeze_util.h"

#include "drjit-core/ad.h"

enum { SIZE = 64 };

/* A use of 'g', with inputs of SIZE entries: x (f32) and i (u32, a permutation). What
 * it gives, or 0: nothing but what the host has read. */
typedef uint32_t (*Use)(uint32_t g, uint32_t x, uint32_t i);

static uint32_t add(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    return jit_var_add(x, g);
}
/* As a literal, 'g' is 1. */
static uint32_t multiply(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    return jit_var_mul(x, g);
}
static uint32_t divide(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    return jit_var_div(x, g);
}
static uint32_t subtract_itself(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    return take(jit_var_add, jit_var_sub(g, g), same(x));
}
static uint32_t fold(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    uint32_t three = take(jit_var_add, same(g), f32(2));
    return take(jit_var_mul, three, same(x));
}
static uint32_t negate(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x, (void) i;
    return jit_var_neg(g);
}
static uint32_t multiply_add(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    return jit_var_fma(x, x, g);
}
static uint32_t add_number(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x, (void) i;
    return jit_var_op_number(JitOpAdd, g, 0, 0);
}
static uint32_t cast(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x, (void) i;
    return jit_var_cast(g, VarTypeFloat32, 0); /* which it is */
}
static uint32_t choose(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    uint32_t zero = f32(0), result = jit_var_select(g, x, zero);
    jit_var_dec_ref(zero);
    return result;
}
static uint32_t choose_same(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    return jit_var_select(g, x, x);
}
static uint32_t mask_bits(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    return jit_var_and(x, g);
}
static uint32_t round_integer(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x, (void) i;
    return jit_var_floor(g);
}
static uint32_t gather_from(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x;
    return jit_var_gather(g, i, ALWAYS);
}
static uint32_t gather_at(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    return jit_var_gather(x, g, ALWAYS);
}
static uint32_t gather_masked(uint32_t g, uint32_t x, uint32_t i)
{
    return jit_var_gather(x, i, g);
}
static uint32_t gather_packet(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x;
    uint32_t out[2], one = jit_var_u32(CPU, 1), first = jit_var_shr(i, one);
    OK(jit_var_gather_packet(2, g, first, ALWAYS, out));
    DROP(one, first);
    return take(jit_var_add, out[0], out[1]);
}
static uint32_t scatter_to(uint32_t g, uint32_t x, uint32_t i)
{
    return jit_var_scatter(g, x, i, ALWAYS, ReduceOpIdentity, ReduceModeAuto);
}
static uint32_t scatter_value(uint32_t g, uint32_t x, uint32_t i)
{
    return jit_var_scatter(x, g, i, ALWAYS, ReduceOpIdentity, ReduceModeAuto);
}
static uint32_t scatter_at(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    uint32_t five = f32(5);
    uint32_t out =
        jit_var_scatter(x, five, g, ALWAYS, ReduceOpIdentity, ReduceModeAuto);
    jit_var_dec_ref(five);
    return out;
}
static uint32_t count_up(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x;
    uint32_t target = same(g), zero = jit_var_u32(CPU, 0);
    uint32_t slot = jit_var_scatter_inc(&target, zero, ALWAYS);
    OK(slot);
    (void) i;
    DROP(zero, slot);
    return target;
}
static uint32_t reduce(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x, (void) i;
    return jit_var_reduce(g, ReduceOpMax);
}
static uint32_t dot(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    return jit_var_reduce_dot(g, x);
}
static uint32_t sum_blocks(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x, (void) i;
    return jit_var_block_reduce(ReduceOpAdd, g, 1);
}
static uint32_t scan(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x, (void) i;
    return jit_var_block_prefix_reduce(ReduceOpAdd, g, 0, 0, 0);
}
static uint32_t sort(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x, (void) i;
    return jit_var_sort(g, 0, 0);
}
static uint32_t compress(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x, (void) i;
    return jit_var_compress(g);
}
static uint32_t all(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    uint32_t any = jit_var_reduce(g, ReduceOpOr), zero = f32(0);
    uint32_t result = jit_var_select(any, x, zero);
    DROP(any, zero);
    return result;
}
static uint32_t copy(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x, (void) i;
    return jit_var_copy(g);
}
static uint32_t resize(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x, (void) i;
    return jit_var_resize(g, jit_var_peek_size(g));
}
static uint32_t tile(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x, (void) i;
    return jit_var_tile(g, 2);
}
static uint32_t reverse(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x, (void) i;
    return jit_var_reverse(g);
}
static uint32_t width(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x, (void) i;
    return jit_var_opaque_width(g);
}
static uint32_t multiply_matrix(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    JitGemm shape = { .m = 1, .n = 1, .k = jit_var_peek_size(g) };
    return jit_var_batched_gemm(g, x, &shape);
}
static uint32_t local_array(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x;
    uint32_t array = jit_array_create(CPU, VarTypeFloat32, 2, 1);
    uint32_t filled = jit_array_init(array, g), zero = jit_var_u32(CPU, 0);
    OK(filled);
    uint32_t result = jit_array_read(filled, zero, ALWAYS);
    DROP(array, filled, zero);
    (void) i;
    return result;
}
static uint32_t push_mask(uint32_t g, uint32_t x, uint32_t i)
{
    OK(jit_var_mask_push(CPU, g));
    uint32_t result = jit_var_gather(x, i, ALWAYS);
    OK(jit_var_mask_pop(CPU));
    return result;
}

/* while (s < 100) s += step; */
static uint32_t loop(uint32_t begin, uint32_t step, uint32_t other)
{
    uint32_t state[] = { same(begin), same(other) }, limit = f32(100);
    uint32_t handle = jit_var_loop_start(CPU, "grow", 2, state);
    int again;
    OK(handle);
    do {
        uint32_t condition = jit_var_lt(state[0], limit);
        again = jit_var_loop_cond(handle, condition);
        jit_var_dec_ref(condition);
        if (again > 0)
            advance(&state[0], jit_var_add(state[0], step));
    } while (again >= 0 && (again = jit_var_loop_end(handle, state)) == 0);
    DROP(limit, state[1]);
    return state[0];
}
static uint32_t loop_state(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    uint32_t step = f32(3), result = loop(g, step, x);
    jit_var_dec_ref(step);
    return result;
}
static uint32_t loop_reads(uint32_t g, uint32_t x, uint32_t i)
{
    uint32_t one = f32(1), step = take(jit_var_add, jit_var_abs(g), one);
    uint32_t result = loop(x, step, i);
    jit_var_dec_ref(step);
    return result;
}
static uint32_t loop_idle_state(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    uint32_t step = f32(3), result = loop(x, step, g);
    jit_var_dec_ref(step);
    return result;
}
static uint32_t loop_at_once(uint32_t g, uint32_t x, uint32_t i)
{
    jit_set_flag(JitFlagSymbolicLoops, 0);
    const int before = jit_freeze_allow_reads(1);
    uint32_t result = loop_state(g, x, i);
    jit_freeze_allow_reads(before);
    jit_set_flag(JitFlagSymbolicLoops, 1);
    return result;
}
static uint32_t side(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    uint32_t zero = f32(0), condition = jit_var_gt(x, zero), result;
    uint32_t cond = jit_var_cond_start("side", condition);
    OK(cond);
    OK(jit_var_cond_append(cond, 1, &g));
    OK(jit_var_cond_append(cond, 1, &x));
    OK(jit_var_cond_end(cond, &result));
    DROP(zero, condition);
    return result;
}
static uint32_t condition(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    uint32_t zero = f32(0), result, cond = jit_var_cond_start("which", g);
    OK(cond);
    OK(jit_var_cond_append(cond, 1, &x));
    OK(jit_var_cond_append(cond, 1, &zero));
    OK(jit_var_cond_end(cond, &result));
    jit_var_dec_ref(zero);
    return result;
}
/* One of two instances multiplies by 'inside', the other adds 'given'. */
static uint32_t call(uint32_t given, uint32_t inside, uint32_t i)
{
    uint32_t one = jit_var_u32(CPU, 1), two = jit_var_u32(CPU, 2), result, out;
    uint32_t self = take(jit_var_add, jit_var_and(i, one), same(one));
    uint32_t handle = jit_var_call_start(CPU, "call", ALWAYS);
    OK(handle);
    uint32_t x = jit_var_call_input(handle, given);
    OK(x);
    out = jit_var_mul(x, inside);
    OK(jit_var_call_append(handle, 1, &out));
    jit_var_dec_ref(out);
    out = jit_var_neg(x);
    OK(jit_var_call_append(handle, 1, &out));
    OK(jit_var_call(handle, self, 2, NULL, NULL, &result));
    DROP(out, x, one, two, self);
    return result;
}
static uint32_t call_input(uint32_t g, uint32_t x, uint32_t i)
{
    return call(g, x, i);
}
static uint32_t call_reads(uint32_t g, uint32_t x, uint32_t i)
{
    return call(x, g, i);
}
static uint32_t call_self(uint32_t g, uint32_t x, uint32_t i)
{
    uint32_t one = f32(1), result = call(x, one, g);
    (void) i;
    jit_var_dec_ref(one);
    return result;
}
static void print_nothing(const JitPrintRecords *records, void *payload)
{
    (void) records, (void) payload;
}
static uint32_t print(uint32_t g, uint32_t x, uint32_t i)
{
    OK(jit_var_print(ALWAYS, 1, &g, 1, print_nothing, NULL));
    return add(x, x, i);
}
static uint32_t print_masked(uint32_t g, uint32_t x, uint32_t i)
{
    OK(jit_var_print(g, 1, &x, 1, print_nothing, NULL));
    return add(x, x, i);
}
static uint32_t evaluate(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x, (void) i;
    jit_var_eval(g);
    jit_error_clear();
    return same(g);
}
static uint32_t result(uint32_t g, uint32_t x, uint32_t i)
{
    (void) x, (void) i;
    return same(g);
}
static uint32_t size(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    return take(jit_var_mul, same(x), f32((float) jit_var_size(g)));
}
static uint32_t size_term(uint32_t g, uint32_t x, uint32_t i)
{
    (void) jit_freeze_size(g);
    jit_error_clear(); /* outside */
    return add(x, x, i);
}
static uint32_t size_like(uint32_t g, uint32_t x, uint32_t i)
{
    OK(jit_freeze_size_like(g));
    return add(x, x, i);
}
static uint32_t state(uint32_t g, uint32_t x, uint32_t i)
{
    (void) jit_var_state(g);
    return add(x, x, i);
}
static uint32_t dirty(uint32_t g, uint32_t x, uint32_t i)
{
    (void) jit_var_is_dirty(g);
    return add(x, x, i);
}
static uint32_t info(uint32_t g, uint32_t x, uint32_t i)
{
    VarInfo found;
    OK(jit_var_info(g, &found));
    return add(x, x, i);
}
static uint32_t peek_info(uint32_t g, uint32_t x, uint32_t i)
{
    VarInfo found;
    OK(jit_var_peek_info(g, &found));
    return add(x, x, i);
}
static uint32_t read_entry(uint32_t g, uint32_t x, uint32_t i)
{
    float value;
    (void) i;
    const int before = jit_freeze_allow_reads(1);
    OK(jit_var_read(g, 0, &value));
    jit_freeze_allow_reads(before);
    return take(jit_var_mul, same(x), f32(value));
}
static uint32_t text(uint32_t g, uint32_t x, uint32_t i)
{
    const int before = jit_freeze_allow_reads(1);
    OK(jit_var_str(g));
    jit_freeze_allow_reads(before);
    return add(x, x, i);
}
static uint32_t data(uint32_t g, uint32_t x, uint32_t i)
{
    void *found;
    const int before = jit_freeze_allow_reads(1);
    uint32_t stored = jit_var_data(g, &found);
    OK(stored);
    jit_freeze_allow_reads(before);
    jit_var_dec_ref(stored);
    return add(x, x, i);
}
static uint32_t noted(uint32_t g, uint32_t x, uint32_t i)
{
    OK(jit_freeze_note(2, (uint32_t[]){ 0, g }));
    return add(x, x, i);
}
static uint32_t is_tracked(uint32_t g, uint32_t x, uint32_t i)
{
    assert_false(ad_grad_enabled(g));
    return add(x, x, i);
}
static uint32_t gradient(uint32_t g, uint32_t x, uint32_t i)
{
    (void) i;
    uint64_t grad = ad_grad(g);
    OK(grad);
    return take(jit_var_add, ad_var_index(grad), same(x));
}
static uint32_t tracks(uint32_t g, uint32_t x, uint32_t i)
{
    ad_var_dec_ref(ad_var_track(g));
    return add(x, x, i);
}

enum { FLOATS = 1, MASKS = 2, INTEGERS = 4, NO_LITERAL = 8 };

static const struct {
    const char *name;
    Use use;
    int kind; /* of g, and whether a literal will not do */
} uses[] = {
#define USE(name, kind) { #name, name, kind }
    USE(add, FLOATS), USE(multiply, FLOATS), USE(divide, FLOATS),
    USE(subtract_itself, FLOATS), USE(fold, FLOATS), USE(negate, FLOATS),
    USE(multiply_add, FLOATS), USE(add_number, FLOATS), USE(cast, FLOATS),
    USE(choose, MASKS), USE(choose_same, MASKS), USE(mask_bits, MASKS),
    USE(round_integer, INTEGERS), USE(gather_from, FLOATS), USE(gather_at, INTEGERS),
    USE(gather_masked, MASKS), USE(gather_packet, FLOATS | NO_LITERAL),
    USE(scatter_to, FLOATS | NO_LITERAL), USE(scatter_value, FLOATS),
    USE(scatter_at, INTEGERS), USE(count_up, INTEGERS), USE(reduce, FLOATS),
    USE(dot, FLOATS | NO_LITERAL), USE(sum_blocks, FLOATS), USE(scan, FLOATS),
    USE(sort, FLOATS), USE(compress, MASKS), USE(all, MASKS), USE(copy, FLOATS),
    USE(resize, FLOATS), USE(tile, FLOATS), USE(reverse, FLOATS), USE(width, FLOATS),
    USE(multiply_matrix, FLOATS | NO_LITERAL), USE(local_array, FLOATS),
    USE(push_mask, MASKS), USE(loop_state, FLOATS), USE(loop_reads, FLOATS),
    USE(loop_idle_state, FLOATS), USE(loop_at_once, FLOATS), USE(side, FLOATS),
    USE(condition, MASKS), USE(call_input, FLOATS), USE(call_reads, FLOATS),
    USE(call_self, INTEGERS | NO_LITERAL), USE(print, FLOATS),
    USE(print_masked, MASKS), USE(evaluate, FLOATS), USE(result, FLOATS),
    USE(size, FLOATS), USE(size_term, FLOATS), USE(size_like, FLOATS),
    USE(state, FLOATS), USE(dirty, FLOATS), USE(info, FLOATS), USE(peek_info, FLOATS),
    USE(read_entry, FLOATS), USE(text, FLOATS), USE(data, FLOATS), USE(noted, FLOATS),
    USE(is_tracked, FLOATS), USE(gradient, FLOATS), USE(tracks, FLOATS)
};

#endif
