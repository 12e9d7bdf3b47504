/*
 * freeze_util.h -- functions that are recorded and repeated, for the tests of both
 */
#ifndef TESTS_FREEZE_UTIL_H
#define TESTS_FREEZE_UTIL_H

#include "test_util.h"

#include "eval_util.h"

enum { INPUTS = 3, MOST = 4 };

/* Outputs from inputs x (f32), y (f32) and i (a permutation), all of one
 * size: their number. */
typedef size_t (*Function)(const uint32_t *in, uint32_t *out);

static uint32_t f32(float value) { return jit_var_f32(CPU, value); }

/* op(a, b), with both given away. */
static uint32_t take(uint32_t (*op)(uint32_t, uint32_t), uint32_t a, uint32_t b)
{
    OK(a);
    OK(b);
    uint32_t result = op(a, b);
    OK(result);
    DROP(a, b);
    return result;
}

static uint32_t same(uint32_t id) { return jit_var_inc_ref(id); }

static size_t arithmetic(const uint32_t *in, uint32_t *out)
{
    out[0] = take(jit_var_add, take(jit_var_mul, same(in[0]), f32(2)), same(in[1]));
    out[1] = take(jit_var_sub, same(out[0]), f32(1));
    return 2;
}

static size_t two_kernels(const uint32_t *in, uint32_t *out)
{
    uint32_t y = take(jit_var_add, same(in[0]), f32(1));
    OK(jit_var_eval(y));
    out[0] = take(jit_var_mul, y, f32(3));
    return 1;
}

static size_t gathers(const uint32_t *in, uint32_t *out)
{
    uint32_t shifted = take(jit_var_add, same(in[0]), f32(1));
    out[0] = jit_var_gather(shifted, in[2], ALWAYS);
    jit_var_dec_ref(shifted);
    return 1;
}

static size_t scatters(const uint32_t *in, uint32_t *out)
{
    out[0] = jit_var_scatter(in[1], in[0], in[2], ALWAYS, ReduceOpIdentity,
                             ReduceModeAuto);
    return 1;
}

static size_t adds(const uint32_t *in, uint32_t *out)
{
    uint32_t one = jit_var_u32(CPU, 1);
    out[0] = jit_var_scatter(in[2], one, in[2], ALWAYS, ReduceOpAdd, ReduceModeAuto);
    jit_var_dec_ref(one);
    return 1;
}

static size_t sums(const uint32_t *in, uint32_t *out)
{
    uint32_t product = take(jit_var_mul, same(in[0]), same(in[1]));
    out[0] = jit_var_reduce(product, ReduceOpAdd);
    out[1] = jit_var_reduce(in[0], ReduceOpMax);
    out[2] = take(jit_var_div, product, same(out[0]));
    out[3] = jit_var_reduce_dot(in[0], in[1]);
    return 4;
}

static size_t blocks(const uint32_t *in, uint32_t *out)
{
    uint32_t product = take(jit_var_mul, same(in[0]), same(in[1]));
    out[0] = jit_var_block_reduce(ReduceOpAdd, product, 8);
    out[1] = take(jit_var_add, same(out[0]), f32(1));
    out[2] = jit_var_block_prefix_reduce(ReduceOpAdd, product, 4, 1, 0);
    jit_var_dec_ref(product);
    return 3;
}

/* Of few lanes, all of these share a launch. */
static size_t prefixes(const uint32_t *in, uint32_t *out)
{
    uint32_t product = take(jit_var_mul, same(in[0]), same(in[1]));
    out[0] = jit_var_block_prefix_reduce(ReduceOpAdd, product, 0, 0, 0);
    out[1] = jit_var_block_prefix_reduce(ReduceOpMax, product, 0, 1, 1);
    out[2] = jit_var_reduce(product, ReduceOpAdd);
    out[3] = jit_var_block_reduce(ReduceOpAdd, product, 8);
    jit_var_dec_ref(product);
    return 4;
}

/* The mask is a temporary, which is in no array. */
static size_t selects_briefly(const uint32_t *in, uint32_t *out)
{
    uint32_t mask = take(jit_var_lt, same(in[0]), same(in[1]));
    out[0] = jit_var_compress_temporary(mask, 1);
    jit_var_dec_ref(mask);
    return 1;
}

static size_t scans(const uint32_t *in, uint32_t *out)
{
    out[0] = jit_var_sort(in[0], 0, 0);
    out[1] = jit_var_argsort(in[1], 0, 1);
    return 2;
}

static size_t selects(const uint32_t *in, uint32_t *out)
{
    uint32_t mask = take(jit_var_lt, same(in[0]), same(in[1]));
    out[0] = jit_var_compress(mask);
    OK(out[0]);
    jit_var_dec_ref(mask);
    if (jit_var_peek_size(out[0]) == 0)
        return 1;
    out[1] = jit_var_gather(in[0], out[0], ALWAYS);
    out[2] = jit_var_reduce(out[1], ReduceOpAdd);
    return 3;
}

static size_t literals(const uint32_t *in, uint32_t *out)
{
    out[0] = f32(7);
    out[1] = same(in[1]);
    uint32_t table[] = { 5, 6, 7, 8 }, three = jit_var_u32(CPU, 3);
    uint32_t stored = u32_array(4, table);
    out[2] = jit_var_gather(stored, three, ALWAYS);
    out[3] = stored;
    jit_var_dec_ref(three);
    (void) in;
    return 4;
}

static size_t pinned(const uint32_t *in, uint32_t *out)
{
    out[0] = take(jit_var_mul, same(in[0]), f32((float) jit_var_size(in[0])));
    return 1;
}

static size_t reverses(const uint32_t *in, uint32_t *out)
{
    out[0] = jit_var_reverse(in[0]);
    out[1] = jit_var_tile(in[1], 2);
    return 2;
}

/* x * 0 is a literal of x's size. */
static size_t vanishes(const uint32_t *in, uint32_t *out)
{
    out[0] = take(jit_var_mul, same(in[2]), jit_var_u32(CPU, 0));
    return 1;
}

/* An undefined array of twice the size, written in two halves. */
static size_t starts_undefined(const uint32_t *in, uint32_t *out)
{
    JitSize one = jit_freeze_size(in[0]);
    JitSize twice = one ? jit_freeze_size_op(JitSizeAdd, one, one) : 0;
    jit_error_clear();
    if (twice)
        OK(jit_freeze_size_next(twice));
    uint32_t target = jit_var_undefined(CPU, VarTypeFloat32,
                                        2 * jit_var_peek_size(in[0]));
    uint32_t two = jit_var_u32(CPU, 2), half = jit_var_u32(CPU, 1);
    uint32_t even = take(jit_var_mul, same(in[2]), two);
    uint32_t odd = take(jit_var_add, same(even), half);
    advance(&target, jit_var_scatter(target, in[0], even, ALWAYS, ReduceOpIdentity,
                                     ReduceModePermute));
    advance(&target, jit_var_scatter(target, in[1], odd, ALWAYS, ReduceOpIdentity,
                                     ReduceModePermute));
    DROP(even, odd);
    out[0] = target;
    return 1;
}

/* 0, 1, ... as long as x, without asking what that is. */
static size_t counts_along(const uint32_t *in, uint32_t *out)
{
    OK(jit_freeze_size_like(in[0]));
    out[0] = jit_var_counter(CPU, jit_var_peek_size(in[0]));
    return 1;
}

/* x[0 ... size / 2 - 1] */
static size_t computes_sizes(const uint32_t *in, uint32_t *out)
{
    JitSize half = jit_freeze_size_op(JitSizeDiv, jit_freeze_size(in[0]),
                                       jit_freeze_size_constant(2));
    size_t size = half ? (size_t) jit_freeze_size_value(half)
                       : jit_var_peek_size(in[0]) / 2;
    jit_error_clear();
    if (half)
        OK(jit_freeze_size_next(half));
    uint32_t index = jit_var_counter(CPU, size);
    OK(index);
    out[0] = jit_var_gather(in[0], index, ALWAYS);
    jit_var_dec_ref(index);
    return 1;
}

static size_t loops(const uint32_t *in, uint32_t *out)
{
    uint32_t state[2] = { same(in[0]), jit_var_u32(CPU, 0) };
    uint32_t one = f32(1), step = jit_var_u32(CPU, 1), half = f32(.5f);
    uint32_t loop = jit_var_loop_start(CPU, "halve", 2, state);
    int again;
    OK(loop);
    do {
        uint32_t condition = jit_var_gt(state[0], one);
        again = jit_var_loop_cond(loop, condition);
        jit_var_dec_ref(condition);
        if (again > 0) {
            advance(&state[0], jit_var_mul(state[0], half));
            advance(&state[1], jit_var_add(state[1], step));
        }
    } while (again >= 0 && (again = jit_var_loop_end(loop, state)) == 0);
    DROP(one, step, half);
    out[0] = state[0];
    out[1] = state[1];
    return 2;
}

/* The same, run by the host. */
static size_t loops_at_once(const uint32_t *in, uint32_t *out)
{
    jit_set_flag(JitFlagSymbolicLoops, 0);
    size_t count = loops(in, out);
    jit_set_flag(JitFlagSymbolicLoops, 1);
    return count;
}

/* Eight times, run by the host: halve, as often as needed, and grow again. */
static size_t loops_within(const uint32_t *in, uint32_t *out)
{
    uint32_t state[2] = { same(in[0]), jit_var_u32(CPU, 0) };
    uint32_t eight = jit_var_u32(CPU, 8), step = jit_var_u32(CPU, 1);
    jit_set_flag(JitFlagSymbolicLoops, 0);
    uint32_t loop = jit_var_loop_start(CPU, "grow", 2, state);
    int again;
    OK(loop);
    do {
        uint32_t condition = jit_var_lt(state[1], eight);
        again = jit_var_loop_cond(loop, condition);
        jit_var_dec_ref(condition);
        if (again > 0) {
            uint32_t halved[2];
            loops(state, halved);
            uint32_t grown = take(jit_var_mul, halved[0], f32(3));
            advance(&state[0], take(jit_var_add, grown, same(in[1])));
            advance(&state[1], jit_var_add(state[1], step));
            jit_var_dec_ref(halved[1]);
        }
    } while (again >= 0 && (again = jit_var_loop_end(loop, state)) == 0);
    jit_set_flag(JitFlagSymbolicLoops, 1);
    DROP(eight, step);
    out[0] = state[0];
    out[1] = state[1];
    return 2;
}

/* What it reads is the same for all inputs. */
static size_t reads(const uint32_t *in, uint32_t *out)
{
    float zero;
    uint32_t none = take(jit_var_sub, same(in[0]), same(in[0]));
    int before = jit_freeze_allow_reads(1);
    OK(jit_var_read(none, 0, &zero));
    jit_freeze_allow_reads(before);
    out[0] = take(jit_var_add, none, f32(zero + 1));
    return 1;
}

/* Positions are checked, and are right. */
static size_t checks(const uint32_t *in, uint32_t *out)
{
    jit_set_flag(JitFlagDebug, 1);
    out[0] = jit_var_gather(in[0], in[2], ALWAYS);
    out[1] = jit_var_scatter(in[1], in[0], in[2], ALWAYS, ReduceOpIdentity,
                             ReduceModeAuto);
    jit_set_flag(JitFlagDebug, 0);
    return 2;
}

static size_t pokes(const uint32_t *in, uint32_t *out)
{
    const float value = 7;
    uint32_t sum = take(jit_var_add, same(in[0]), same(in[1]));
    OK(jit_var_eval(sum));
    out[0] = jit_var_write(sum, 0, &value);
    jit_var_dec_ref(sum);
    return 1;
}

/* The mask is in memory. */
static size_t compresses(const uint32_t *in, uint32_t *out)
{
    uint32_t mask = take(jit_var_lt, same(in[0]), same(in[1]));
    OK(jit_var_eval(mask));
    out[0] = jit_var_compress(mask);
    jit_var_dec_ref(mask);
    return 1;
}

static size_t adds_in_order(const uint32_t *in, uint32_t *out)
{
    jit_set_flag(JitFlagDeterministic, 1);
    out[0] = jit_var_scatter(in[1], in[0], in[2], ALWAYS, ReduceOpAdd, ReduceModeAuto);
    jit_set_flag(JitFlagDeterministic, 0);
    return 1;
}

/* By private copies of the target. */
static size_t expands(const uint32_t *in, uint32_t *out)
{
    out[0] = jit_var_scatter(in[1], in[0], in[2], ALWAYS, ReduceOpAdd,
                             ReduceModeExpand);
    return 1;
}

/* An eighth of the size, and which size that is; 0: nothing is recorded. */
static size_t eighth(const uint32_t *in, JitSize *which)
{
    *which = jit_freeze_size_op(JitSizeDiv, jit_freeze_size(in[0]),
                                jit_freeze_size_constant(8));
    jit_error_clear();
    return jit_var_peek_size(in[0]) / 8;
}

/* The next number is this size. */
static size_t announced(size_t number, JitSize which)
{
    if (which)
        OK(jit_freeze_size_next(which));
    return number;
}

/* Eight blocks, whatever the size. */
static size_t eight_blocks(const uint32_t *in, uint32_t *out)
{
    JitSize which;
    const size_t n = eighth(in, &which);
    if (!n)
        return pinned(in, out);
    uint32_t square = jit_var_mul(in[0], in[0]);
    out[0] = jit_var_block_reduce(ReduceOpAdd, square, announced(n, which));
    out[1] = jit_var_block_reduce(ReduceOpMax, in[0], announced(n, which));
    out[2] =
        jit_var_block_prefix_reduce(ReduceOpAdd, square, announced(n, which), 1, 0);
    out[3] = jit_var_sort(in[0], announced(n, which), 1);
    jit_var_dec_ref(square);
    return 4;
}

static size_t repeats(const uint32_t *in, uint32_t *out)
{
    JitSize which;
    const size_t n = eighth(in, &which);
    if (!n || n > 1000)
        return pinned(in, out);
    out[0] = jit_var_repeat(in[0], announced(n, which));
    out[1] = jit_var_tile(in[0], announced(n, which));
    return 2;
}

/* Matrices of eight rows or columns, and a batch of as many of them. */
static size_t multiplies_all(const uint32_t *in, uint32_t *out)
{
    JitSize sizes[8] = { 0 };
    size_t n = eighth(in, &sizes[2]);
    if (!n)
        return pinned(in, out);
    JitGemm shape = { .m = 8, .n = 8, .k = n, .transpose_b = true, .sizes = sizes };
    out[0] = jit_var_batched_gemm(in[0], in[1], &shape);
    const size_t extent = n;
    sizes[5] = sizes[2];
    sizes[2] = 0;
    shape = (JitGemm) { .m = 2, .n = 2, .k = 4, .batch_ndim = 1,
                        .batch_shape = &extent, .sizes = sizes };
    out[1] = jit_var_batched_gemm(in[0], in[1], &shape);
    return 2;
}

static size_t multiplies(const uint32_t *in, uint32_t *out)
{
    JitGemm shape = { .m = 1, .n = 1, .k = jit_var_size(in[0]) };
    out[0] = jit_var_batched_gemm(in[0], in[1], &shape);
    return 1;
}

static const struct {
    const char *name;
    Function call;
    bool general; /* one recording serves all sizes that are a multiple of 8 */
} functions[] = {
    { "arithmetic", arithmetic, true },
    { "two_kernels", two_kernels, true },
    { "gathers", gathers, true },
    { "scatters", scatters, true },
    { "adds", adds, true },
    { "sums", sums, true },
    { "blocks", blocks, true },
    { "prefixes", prefixes, true },
    { "selects_briefly", selects_briefly, true },
    { "scans", scans, true },
    { "selects", selects, true },
    { "literals", literals, true },
    { "pinned", pinned, false },
    { "reverses", reverses, true },
    { "vanishes", vanishes, true },
    { "starts_undefined", starts_undefined, true },
    { "counts_along", counts_along, true },
    { "computes_sizes", computes_sizes, true },
    { "loops", loops, true },
    { "loops_at_once", loops_at_once, true },
    { "loops_within", loops_within, true },
    { "reads", reads, true },
    { "checks", checks, true },
    { "expands", expands, true },
    { "pokes", pokes, false },
    { "compresses", compresses, true },
    { "adds_in_order", adds_in_order, true },
    { "multiplies", multiplies, false },
    { "multiplies_all", multiplies_all, true },
    { "eight_blocks", eight_blocks, true },
    { "repeats", repeats, false },
};

static void make_inputs(uint32_t size, uint32_t *in)
{
    float *data = malloc(2 * size * sizeof(float));
    for (uint32_t i = 0; i < 2 * size; ++i)
        data[i] = (float) ((double) (random_bits() >> 40) * 0x1p-21);
    uint32_t *index = permutation(size); /* no lanes write one entry */
    in[0] = array_of(VarTypeFloat32, data, size);
    in[1] = array_of(VarTypeFloat32, data + size, size);
    in[2] = u32_array(size, index);
    free(data);
    free(index);
}

/* Do both have the same size and entries? */
static void compare(uint32_t found, uint32_t expected, const char *name, size_t number,
                    uint32_t size)
{
    size_t entries = jit_var_peek_size(expected);
    if (jit_var_peek_size(found) != entries)
        fail_msg("%s, output %zu, size %u: %zu entries, expected %zu", name, number,
                 size, jit_var_peek_size(found), entries);
    if (!entries)
        return;
    void *data = NULL;
    uint32_t stored = data_of(expected, &data);
    OK(stored);
    check_bytes(found, data, entries, (int) (1000 * number + size));
    jit_var_dec_ref(stored);
}

static UNUSED JitRecording *record(Function call, const uint32_t *in, uint32_t *out,
                                   size_t *count)
{
    OK(jit_freeze_start(CPU, INPUTS, in));
    OK(jit_freeze_set_general(true));
    assert_true(jit_freeze_is_general());
    *count = call(in, out);
    for (size_t i = 0; i < *count; ++i)
        OK(out[i]);
    JitRecording *recording = jit_freeze_stop(*count, out);
    OK(recording);
    return recording;
}

static UNUSED void check_replay(size_t f, JitRecording *recording, size_t outputs,
                                uint32_t size, bool recorded)
{
    uint32_t in[INPUTS], out[MOST] = { 0 }, expected[MOST];
    make_inputs(size, in);
    int dry = jit_freeze_dry_run(recording, INPUTS, in);
    int done = jit_freeze_replay(recording, INPUTS, in, out);
    if (done < 0)
        fail_msg("%s: %s", functions[f].name, jit_error_message());
    assert_true(dry >= done);
    bool general = functions[f].general && size > 8 && size % 8 == 0;
    if (!done && (general || recorded))
        fail_msg("%s: size %u was refused:\n%s", functions[f].name, size,
                 jit_freeze_str(recording));
    if (done) {
        size_t count = functions[f].call(in, expected);
        assert_int_equal(count, outputs);
        for (size_t i = 0; i < count; ++i)
            compare(out[i], expected[i], functions[f].name, i, size);
        drop_all(out, count);
        drop_all(expected, count);
    }
    drop_all(in, INPUTS);
}

#endif
