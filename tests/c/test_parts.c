/*
 * test_parts.c -- writes to different entries of one array, which one kernel does
 *
 * Components of a vector, ranges, and what the caller says so of: ReduceModeParts.
 */
#include "test_util.h"

enum { LANES = 100 };

static uint32_t number(uint32_t value) { return jit_var_u32(CPU, value); }

/* base * stride + shift, as one operation or as two. */
static uint32_t scaled(uint32_t base, uint32_t stride, uint32_t shift, bool fused)
{
    uint32_t a = number(stride), b = number(shift), result;
    if (fused) {
        result = jit_var_fma(base, a, b);
    } else {
        uint32_t product = jit_var_mul(base, a);
        result = jit_var_add(product, b);
        DROP(product);
    }
    DROP(a, b);
    return result;
}

/* target[index] = value in all lanes; the reference to the index moves. */
static void put(uint32_t *target, uint32_t value, uint32_t index, ReduceMode mode)
{
    advance(target,
            jit_var_scatter(*target, value, index, 0, ReduceOpIdentity, mode));
    DROP(index);
}

static size_t launches(void)
{
    KernelHistoryEntry *e = NULL;
    jit_set_flag(JitFlagKernelHistory, 1);
    jit_kernel_history_clear();
    OK(jit_eval() && jit_sync_thread());
    size_t count = jit_kernel_history(&e), kernels = 0;
    for (size_t k = 0; k < count; ++k)
        kernels += e[k].type == KernelTypeJIT;
    jit_kernel_history_release(e, count);
    return kernels;
}

static void check_entry(uint32_t id, size_t k, uint32_t expected)
{
    uint32_t found;
    OK(jit_var_read(id, k, &found));
    assert_int_equal(found, expected);
}

/* Vectors of three components, all of which need the same value. */
static void test_components(void **unused)
{
    (void) unused;
    for (int fused = 0; fused < 2; ++fused) {
        uint32_t i = jit_var_counter(CPU, LANES), target = fill_u32(3 * LANES, 0);
        uint32_t square = jit_var_mul(i, i);
        for (uint32_t k = 0; k < 3; ++k) {
            uint32_t value = scaled(square, 1, k, false);
            put(&target, value, scaled(i, 3, k, fused), ReduceModeAuto);
            DROP(value);
        }
        assert_int_equal(launches(), 1);
        for (uint32_t k = 0; k < 3 * LANES; ++k)
            check_entry(target, k, k / 3 * (k / 3) + k % 3);
        DROP(i, square, target);
    }
}

/* Packets of two entries: number i * 3 + k of them. */
static void test_packets(void **unused)
{
    (void) unused;
    uint32_t i = jit_var_counter(CPU, LANES), target = fill_u32(6 * LANES, 0);
    for (uint32_t k = 0; k < 3; ++k) {
        uint32_t values[] = { scaled(i, 10, 2 * k, true),
                              scaled(i, 10, 2 * k + 1, true) };
        uint32_t index = scaled(i, 3, k, true);
        advance(&target, jit_var_scatter_packet(2, target, values, index, 0,
                                                ReduceOpIdentity, ReduceModeAuto));
        DROP(index, values[0], values[1]);
    }
    assert_int_equal(launches(), 1);
    for (uint32_t k = 0; k < 6 * LANES; ++k)
        check_entry(target, k, k / 6 * 10 + k % 6);
    DROP(i, target);
}

/* Ranges that touch each other, and such that overlap: there, the order counts. */
static void test_ranges(void **unused)
{
    (void) unused;
    for (uint32_t apart = LANES - 1; apart <= LANES; ++apart) {
        uint32_t i = jit_var_counter(CPU, LANES), target = fill_u32(3 * LANES, 7);
        for (uint32_t k = 0; k < 3; ++k) {
            uint32_t value = number(10 + k);
            put(&target, value, scaled(i, 1, k * apart, false), ReduceModeAuto);
            DROP(value);
        }
        assert_int_equal(launches(), apart == LANES ? 1 : 3);
        for (uint32_t k = 0; k < 3 * LANES; ++k)
            check_entry(target, k, k >= 2 * apart + LANES ? 7
                                   : k / apart < 2        ? 10 + k / apart
                                                          : 12);
        DROP(i, target);
    }
}

/* Strides that differ, and a shift as large as the stride, may meet. */
static void test_others(void **unused)
{
    (void) unused;
    static const uint32_t cases[][4] = {
        { 3, 0, 2, 1 }, { 3, 0, 3, 3 }, { 2, 1, 1, 0 }
    };
    for (size_t c = 0; c < COUNT_OF(cases); ++c) {
        const uint32_t *k = cases[c];
        uint32_t i = jit_var_counter(CPU, LANES), target = fill_u32(4 * LANES, 0);
        uint32_t values[] = { number(1), number(2) };
        put(&target, values[0], scaled(i, k[0], k[1], true), ReduceModeAuto);
        put(&target, values[1], scaled(i, k[2], k[3], true), ReduceModeAuto);
        assert_int_equal(launches(), 2);
        for (uint32_t lane = 0; lane < LANES; ++lane)
            check_entry(target, lane * k[2] + k[3], 2);
        DROP(i, target, values[0], values[1]);
    }
}

/* Where each entry goes is in memory: nobody but the caller can know. */
static void test_promise(void **unused)
{
    (void) unused;
    for (int parts = 0; parts < 2; ++parts) {
        uint32_t i = jit_var_counter(CPU, LANES);
        uint32_t target = jit_var_undefined(CPU, VarTypeUInt32, 2 * LANES);
        uint32_t places[] = { scaled(i, 2, 0, true), scaled(i, 2, 1, true) };
        OK(jit_var_eval(places[0]) && jit_var_eval(places[1]));
        for (uint32_t k = 0; k < 2; ++k) {
            uint32_t value = number(k + 5);
            put(&target, value, places[k],
                parts ? ReduceModeParts : ReduceModePermute);
            DROP(value);
        }
        assert_int_equal(launches(), parts ? 1 : 2);
        for (uint32_t k = 0; k < 2 * LANES; ++k)
            check_entry(target, k, k % 2 + 5);
        DROP(i, target);
    }
}

/* What comes when the array is complete is not one of them: it has to come later. */
static void test_written_later(void **unused)
{
    (void) unused;
    uint32_t i = jit_var_counter(CPU, LANES), one = number(1), two = number(2);
    uint32_t target = jit_var_undefined(CPU, VarTypeUInt32, LANES);
    uint32_t last = number(LANES - 1), index = jit_var_sub(last, i);
    OK(jit_var_eval(index));
    put(&target, one, jit_var_inc_ref(index), ReduceModeParts);
    uint32_t first = number(0);
    put(&target, two, first, ReduceModeAuto);
    assert_int_equal(launches(), 2);
    check_entry(target, 0, 2);
    check_entry(target, 1, 1);
    DROP(i, one, two, target, last, index);
}

static void test_errors(void **unused)
{
    (void) unused;
    uint32_t i = jit_var_counter(CPU, LANES), target = fill_u32(LANES, 0);
    assert_int_equal(
        jit_var_scatter(target, i, i, 0, ReduceOpAdd, ReduceModeParts), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_scatter()", "ReduceModeParts");
    assert_int_equal(
        jit_var_scatter(target, i, i, 0, ReduceOpIdentity, (ReduceMode) 6), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_scatter()", "ReduceMode");
    DROP(i, target);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_components), TEST(test_packets), TEST(test_ranges),
        TEST(test_others), TEST(test_promise), TEST(test_written_later),
        TEST(test_errors),
    };
    return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
