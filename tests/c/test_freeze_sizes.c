/*
 * test_freeze_sizes.c -- sizes that decide something: what is recorded with one size
 * has to be refused for others, or to give what the function gives for these
 *
 * A function that fails has decided something, too, since its caller goes on without.
 */
#include "freeze_util.h"

/* A value from x and y, f32, whose sizes may differ; 0: the function has failed. */
typedef uint32_t (*Sized)(const uint32_t *in);

static uint32_t resized(const uint32_t *in) { return jit_var_resize(in[0], 8); }

static uint32_t masked(const uint32_t *in)
{
    uint32_t mask = jit_var_gt(in[0], in[0]);
    uint32_t result = jit_var_mask_apply(mask, 8);
    jit_var_dec_ref(mask);
    return result;
}

static uint32_t shrunk(const uint32_t *in) { return jit_var_shrink(in[0], 8); }

static uint32_t written(const uint32_t *in)
{
    const float value = 5;
    return jit_var_write(in[0], 7, &value);
}

static uint32_t in_blocks(const uint32_t *in)
{
    return jit_var_block_reduce(ReduceOpAdd, in[0], 4);
}

static uint32_t prefixed(const uint32_t *in)
{
    return jit_var_block_prefix_reduce(ReduceOpAdd, in[0], 4, 0, 0);
}

static uint32_t sorted(const uint32_t *in) { return jit_var_sort(in[0], 4, 0); }

static uint32_t packet(const uint32_t *in)
{
    uint32_t index = jit_var_u32(CPU, 0), out[4] = { 0 };
    if (jit_var_gather_packet(4, in[0], index, ALWAYS, out))
        drop_all(out + 1, 3);
    jit_var_dec_ref(index);
    return out[0];
}

static uint32_t scattered(const uint32_t *in)
{
    uint32_t index = jit_var_u32(CPU, 0);
    const uint32_t values[4] = { index, index, index, index };
    uint32_t target = jit_var_cast(in[0], VarTypeUInt32, 0);
    uint32_t result = jit_var_scatter_packet(4, target, values, index, ALWAYS,
                                             ReduceOpIdentity, ReduceModeAuto);
    DROP(index, target);
    return result;
}

static uint32_t added(const uint32_t *in) { return jit_var_add(in[0], in[1]); }

static uint32_t dotted(const uint32_t *in)
{
    return jit_var_reduce_dot(in[0], in[1]);
}

/* Both sums, one after the other. */
static uint32_t compensated(const uint32_t *in)
{
    uint32_t sums = jit_var_inc_ref(in[0]), errors = jit_var_inc_ref(in[1]);
    uint32_t index = jit_var_u32(CPU, 0), value = f32(3), result = 0;
    if (jit_var_scatter_add_kahan(&sums, &errors, value, index, ALWAYS))
        result = jit_var_gather(sums, index, ALWAYS);
    DROP(index, value);
    DROP(sums, errors);
    return result;
}

static uint32_t multiplied(const uint32_t *in)
{
    const JitGemm shape = { .m = 2, .n = 1, .k = 4 };
    return jit_var_batched_gemm(in[0], in[1], &shape);
}

static uint32_t selected(const uint32_t *in)
{
    uint32_t mask = jit_var_gt(in[0], in[0]);
    uint32_t result = jit_var_select(mask, in[0], in[1]);
    jit_var_dec_ref(mask);
    return result;
}

/* What simplification leaves out has been compared. */
static uint32_t cancelled(const uint32_t *in)
{
    uint32_t zero = f32(0), zeros = jit_var_mul(in[1], zero);
    uint32_t result = jit_var_add(in[0], zeros);
    DROP(zero, zeros);
    return result;
}

static const struct {
    const char *name;
    Sized call;
} sized[] = {
    { "resize", resized }, { "mask_apply", masked }, { "shrink", shrunk },
    { "write", written }, { "block_reduce", in_blocks },
    { "block_prefix_reduce", prefixed }, { "sort", sorted },
    { "gather_packet", packet }, { "scatter_packet", scattered }, { "add", added },
    { "dot", dotted }, { "scatter_add_kahan", compensated },
    { "batched_gemm", multiplied }, { "select", selected }, { "mul, add", cancelled }
};

static const uint32_t pairs[][2] = { { 8, 8 }, { 8, 12 }, { 12, 8 }, { 12, 12 },
                                     { 6, 6 }, { 6, 8 }, { 16, 16 }, { 4, 4 },
                                     { 1, 8 }, { 8, 1 } };

static void make(const uint32_t sizes[2], uint32_t in[2])
{
    float data[16];
    for (uint32_t k = 0; k < 2; ++k) {
        for (uint32_t i = 0; i < sizes[k]; ++i)
            data[i] = (float) ((i * 7 + k) % 16);
        OK(in[k] = jit_var_mem_copy(CPU, VarTypeFloat32, data, sizes[k]));
    }
}

/* What the caller makes of it: where the function fails, x plus one. */
static uint32_t call(Sized function, const uint32_t *in)
{
    uint32_t result = function(in);
    return result ? result : take(jit_var_add, same(in[0]), f32(1));
}

static void check_pair(size_t f, size_t p, JitRecording *recording)
{
    uint32_t in[2], again, expected;
    make(pairs[p], in);
    int done = jit_freeze_replay(recording, 2, in, &again);
    assert_true(done >= 0);
    if (done) {
        OK(expected = call(sized[f].call, in));
        if (jit_var_size(again) != jit_var_size(expected))
            fail_msg("%s, sizes %u and %u: %zu entries, expected %zu", sized[f].name,
                     pairs[p][0], pairs[p][1], jit_var_size(again),
                     jit_var_size(expected));
        compare(again, expected, sized[f].name, 0, pairs[p][0]);
        DROP(again, expected);
    }
    drop_all(in, 2);
}

static void test_pairs(void **unused)
{
    (void) unused;
    for (size_t f = 0; f < COUNT_OF(sized); ++f) {
        for (size_t p = 0; p < COUNT_OF(pairs); ++p) {
            uint32_t in[2], out;
            make(pairs[p], in);
            OK(jit_freeze_start(CPU, 2, in));
            OK(out = call(sized[f].call, in));
            JitRecording *recording = jit_freeze_stop(1, &out);
            OK(recording);
            jit_var_dec_ref(out);
            drop_all(in, 2);
            for (size_t q = 0; q < COUNT_OF(pairs); ++q)
                check_pair(f, q, recording);
            jit_freeze_destroy(recording);
        }
    }
}

static void test_unfused(void **unused)
{
    jit_set_flag(JitFlagFuseReductions, 0);
    test_pairs(unused);
    jit_set_flag(JitFlagFuseReductions, 1);
}

static int tests(void)
{
    const struct CMUnitTest list[] = { TEST(test_pairs), TEST(test_unfused) };
    return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void) { return run_engines(tests); }
