/*
 * test_loop_compress.c -- loops that are run at once and take out lanes that are done
 *
 * Results are computed lane by lane in C. That lanes are taken out shows in the sizes
 * of the states that the body sees.
 */
#include "region_util.h"

static size_t sizes[16]; /* of state 0, in each iteration */

static void note_size(const uint32_t *state)
{
    if (tracings <= COUNT_OF(sizes))
        sizes[tracings - 1] = jit_var_size(state[0]);
}

static uint32_t above_zero(const uint32_t *state)
{
    return with(jit_var_gt, state[0], u32(0));
}

static void set_modes(void)
{
    jit_set_flag(JitFlagSymbolicLoops, 0);
    jit_set_flag(JitFlagCompressLoops, 1);
}

/* ------------------------------------------------------------------ sizes, results */

/* state: what is left, sum, a factor that is the same in all lanes, the lane */
static void sum_step(uint32_t *state)
{
    note_size(state);
    uint32_t product = jit_var_mul(state[0], state[2]);
    set(&state[1], with(jit_var_add, state[1], product));
    set(&state[1], jit_var_add(state[1], state[3]));
    add_u32(&state[0], (uint32_t) -1);
}

static void test_sizes(void **unused)
{
    (void) unused;
    set_modes();
    uint32_t state[] = { counter(6), u32(0), u32(10), counter(6) };
    run_loop("sizes", 4, state, above_zero, sum_step);
    /* All lanes in the first iteration, at least two in the others. */
    const size_t expected[] = { 6, 4, 3, 2, 2 };
    assert_int_equal(tracings, COUNT_OF(expected));
    for (size_t i = 0; i < COUNT_OF(expected); ++i)
        assert_int_equal(sizes[i], expected[i]);
    CHECK_U32(state[0], 0, 0, 0, 0, 0, 0);
    CHECK_U32(state[1], 0, 11, 34, 69, 116, 175);
    CHECK_U32(state[2], 10);
    CHECK_U32(state[3], 0, 1, 2, 3, 4, 5);
    drop_all(state, 4);
}

/* Nothing changes without the flag, or if the caller never offers to. */
static void test_without(void **unused)
{
    (void) unused;
    set_modes();
    jit_set_flag(JitFlagCompressLoops, 0);
    uint32_t state[] = { counter(4), u32(0), u32(10), counter(4) };
    run_loop("without", 4, state, above_zero, sum_step);
    assert_int_equal(sizes[2], 4);
    CHECK_U32(state[1], 0, 11, 34, 69);
    drop_all(state, 4);

    jit_set_flag(JitFlagCompressLoops, 1);
    uint32_t other[] = { counter(4) };
    uint32_t loop = jit_var_loop_start(CPU, "not offered", 1, other);
    int again = 1;
    while (again > 0) {
        uint32_t mask = above_zero(other);
        again = jit_var_loop_cond(loop, mask);
        jit_var_dec_ref(mask);
        assert_int_equal(jit_var_size(other[0]), 4);
        if (again > 0)
            add_u32(&other[0], (uint32_t) -1);
        assert_int_equal(jit_var_loop_end(loop, other), again <= 0);
    }
    CHECK_U32(other[0], 0, 0, 0, 0);
    jit_var_dec_ref(other[0]);
}

/* A state that is the same in all lanes begins to change when some of them are gone;
 * another one changes in all lanes that are left alike. */
static void late_step(uint32_t *state)
{
    note_size(state);
    uint32_t small = with(jit_var_lt, state[0], u32(3));
    uint32_t more = with(jit_var_add, state[1], u32(1));
    set(&state[1], jit_var_select(small, state[1], more));
    DROP(small, more);
    add_u32(&state[2], 1);
    add_u32(&state[0], (uint32_t) -1);
}

static void test_late_change(void **unused)
{
    (void) unused;
    enum { LANES = 40 };
    uint32_t expected[LANES], counts[LANES];
    for (uint32_t i = 0; i < LANES; ++i) {
        expected[i] = 7 + (i < 3 ? 0 : i - 2);
        counts[i] = i;
    }
    set_modes();
    uint32_t state[] = { counter(LANES), u32(7), u32(0) };
    run_loop("late", 3, state, above_zero, late_step);
    assert_int_equal(sizes[9], LANES - 10);
    CHECK_BYTES(state[1], expected, LANES);
    CHECK_BYTES(state[2], counts, LANES);
    drop_all(state, 3);
}

/* Masks and 64-bit entries; lanes end in an order of their own. */
static void wide_step(uint32_t *state)
{
    note_size(state);
    uint32_t wide = jit_var_cast(state[0], VarTypeUInt64, 0);
    set(&state[1], with(jit_var_add, state[1], wide));
    set(&state[2], jit_var_not(state[2]));
    add_u32(&state[0], (uint32_t) -1);
}

static void test_wide_types(void **unused)
{
    (void) unused;
    enum { LANES = 33 };
    uint64_t sums[LANES];
    uint8_t flags[LANES];
    uint32_t limits[LANES];
    for (uint32_t i = 0; i < LANES; ++i) {
        limits[i] = i * 7 % 11;
        sums[i] = ((uint64_t) 1 << 40) + (uint64_t) limits[i] * (limits[i] + 1) / 2;
        flags[i] = limits[i] % 2 == 0;
    }
    set_modes();
    uint32_t state[] = { u32_array(LANES, limits),
                         literal_of(VarTypeUInt64, (uint64_t) 1 << 40, LANES),
                         literal_of(VarTypeBool, 1, 1) };
    run_loop("types", 3, state, above_zero, wide_step);
    assert_in_range(sizes[2], 2, LANES - 1);
    CHECK_BYTES(state[1], sums, LANES);
    CHECK_BYTES(state[2], flags, LANES);
    drop_all(state, 3);
}

/* No lane, one lane, and lanes that all go on as long. */
static void test_few_lanes(void **unused)
{
    (void) unused;
    set_modes();
    for (uint32_t start = 0; start < 4; start += 3)
        for (size_t n = 1; n < 4; ++n) {
            uint32_t state[] = { literal_of(VarTypeUInt32, start, n), u32(0), u32(2),
                                 u32(0) };
            run_loop("few", 4, state, above_zero, sum_step);
            assert_int_equal(tracings, start);
            uint32_t left[] = { 0, 0, 0 }, sum[] = { 12, 12, 12 };
            CHECK_BYTES(state[0], left, jit_var_size(state[0]));
            if (start)
                CHECK_BYTES(state[1], sum, jit_var_size(state[1]));
            drop_all(state, 4);
        }
}

/* ----------------------------------------------------------------- arrays, effects */

static uint32_t counts; /* adds up what each lane does */

static void count_step(uint32_t *state)
{
    note_size(state);
    uint32_t one = u32(1);
    uint32_t next =
        jit_var_scatter(counts, one, state[1], ALWAYS, ReduceOpAdd, ReduceModeAuto);
    OK(next);
    jit_var_dec_ref(counts);
    counts = next;
    jit_var_dec_ref(one);
    add_u32(&state[0], (uint32_t) -1);
}

/* Effects are those of the lanes that are left, under their old numbers. */
static void test_effects(void **unused)
{
    (void) unused;
    set_modes();
    counts = literal_of(VarTypeUInt32, 0, 6);
    uint32_t state[] = { counter(6), counter(6) };
    run_loop("effects", 2, state, above_zero, count_step);
    assert_int_equal(sizes[3], 2);
    CHECK_U32(counts, 0, 1, 2, 3, 4, 5);
    DROP(state[0], state[1], counts);
}

/* state: what is left, lane, array */
static void scatter_state_step(uint32_t *state)
{
    note_size(state);
    uint32_t one = u32(1), length = u32((uint32_t) jit_var_size(state[2]));
    uint32_t place = with(jit_var_mod, state[1], length);
    set(&state[2], jit_var_scatter(state[2], one, place, ALWAYS, ReduceOpAdd,
                                   ReduceModeAuto));
    DROP(one, place);
    add_u32(&state[0], (uint32_t) -1);
}

/* An array among the states stays whole. If it might have an entry for each lane, no
 * lane is taken out. */
static void test_array_states(void **unused)
{
    (void) unused;
    set_modes();
    uint32_t state[] = { counter(6), counter(6), literal_of(VarTypeUInt32, 0, 3) };
    run_loop("array", 3, state, above_zero, scatter_state_step);
    assert_int_equal(sizes[2], 3);
    CHECK_U32(state[2], 3, 5, 7);
    drop_all(state, 3);
    uint32_t same[] = { counter(6), counter(6), literal_of(VarTypeUInt32, 0, 6) };
    run_loop("array", 3, same, above_zero, scatter_state_step);
    assert_int_equal(sizes[2], 6);
    CHECK_U32(same[2], 0, 1, 2, 3, 4, 5);
    drop_all(same, 3);
}

/* state: what is left, lane, table, sum */
static void gather_state_step(uint32_t *state)
{
    note_size(state);
    uint32_t five = u32(5), turned = jit_var_sub(five, state[1]);
    uint32_t entry = jit_var_gather(state[2], turned, ALWAYS);
    set(&state[3], with(jit_var_add, state[3], entry));
    DROP(five, turned);
    add_u32(&state[0], (uint32_t) -1);
}

static void test_gathered_state(void **unused)
{
    (void) unused;
    set_modes();
    uint32_t table[] = { 0, 7, 14, 21, 28, 35 };
    uint32_t state[] = { counter(6), counter(6), u32_array(6, table), u32(0) };
    run_loop("gathered", 4, state, above_zero, gather_state_step);
    assert_int_equal(sizes[3], 6);
    CHECK_U32(state[3], 0, 28, 42, 42, 28, 0);
    drop_all(state, 4);
}

/* Each loop takes out its own lanes. */
static void inner_step(uint32_t *state)
{
    set(&state[1], jit_var_add(state[1], state[2]));
    add_u32(&state[0], (uint32_t) -1);
}

static void outer_step(uint32_t *state)
{
    unsigned tracing = tracings;
    note_size(state);
    uint32_t inner[] = { jit_var_inc_ref(state[0]), jit_var_inc_ref(state[1]),
                         jit_var_inc_ref(state[2]) };
    run_loop("inner", 3, inner, above_zero, inner_step);
    tracings = tracing;
    set(&state[1], inner[1]);
    DROP(inner[0], inner[2]);
    add_u32(&state[0], (uint32_t) -1);
}

static void test_nested(void **unused)
{
    (void) unused;
    set_modes();
    uint32_t expected[7];
    for (uint32_t i = 0; i < 7; ++i) {
        expected[i] = 0;
        for (uint32_t k = i; k > 0; --k)
            expected[i] += k * i;
    }
    uint32_t lane = counter(7), state[] = { jit_var_inc_ref(lane), u32(0), lane };
    run_loop("outer", 3, state, above_zero, outer_step);
    assert_int_equal(sizes[2], 4);
    CHECK_BYTES(state[1], expected, 7);
    drop_all(state, 3);
}

/* Lanes that a mask outside of the loop excludes are taken out, too. */
static void test_outer_mask(void **unused)
{
    (void) unused;
    set_modes();
    uint32_t lane = counter(6), odd = with(jit_var_and, lane, u32(1));
    uint32_t mask = with(jit_var_eq, odd, u32(1));
    OK(jit_var_mask_push(CPU, mask));
    counts = literal_of(VarTypeUInt32, 0, 6);
    uint32_t state[] = { jit_var_inc_ref(lane), jit_var_inc_ref(lane) };
    run_loop("masked", 2, state, above_zero, count_step);
    OK(jit_var_mask_pop(CPU));
    assert_int_equal(sizes[1], 2); /* lanes 3 and 5 */
    CHECK_U32(counts, 0, 1, 0, 3, 0, 5);
    CHECK_U32(state[0], 0, 0, 2, 0, 4, 0);
    DROP(lane, odd, mask, state[0], state[1], counts);
}

/* ----------------------------------------------------------------------- errors */

static uint32_t outside;

static void outside_step(uint32_t *state)
{
    add_u32(&state[0], (uint32_t) -1);
    set(&state[1], jit_var_inc_ref(outside));
}

/* What has an entry for each lane has to be a state. */
static void test_outside(void **unused)
{
    (void) unused;
    set_modes();
    outside = counter(5);
    uint32_t state[] = { counter(5), u32(0) };
    assert_int_equal(run_loop_status("outside", 2, state, above_zero, outside_step),
                     -1);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "loop 'outside': state 1 has 5 entries",
                "lanes are left", "have to be states");
    DROP(state[0], state[1], outside);
}

static unsigned late_gathers;

static void late_gather_step(uint32_t *state)
{
    if (late_gathers++ > 1)
        jit_var_dec_ref(jit_var_gather(state[1], state[1], ALWAYS));
    add_u32(&state[0], (uint32_t) -1);
}

static void test_late_array(void **unused)
{
    (void) unused;
    set_modes();
    late_gathers = 0;
    uint32_t lanes[] = { 0, 1, 2, 3, 4 };
    uint32_t state[] = { counter(5), u32_array(5, lanes) };
    assert_int_equal(run_loop_status("late", 2, state, above_zero, late_gather_step),
                     -1);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "loop 'late': state 1", "not in the first",
                "JitFlagCompressLoops");
    drop_all(state, 2);
}

static void test_bad_arguments(void **unused)
{
    (void) unused;
    set_modes();
    assert_false(jit_var_loop_compress(1, NULL));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_loop_compress()", "NULL");
    uint32_t state = counter(3), before = state;
    assert_false(jit_var_loop_compress(77, &state));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_loop_compress()", "77");
    assert_int_equal(state, before);
    jit_var_dec_ref(state);
}

static int all(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sizes), TEST(test_without), TEST(test_late_change),
        TEST(test_wide_types), TEST(test_few_lanes), TEST(test_effects),
        TEST(test_array_states), TEST(test_gathered_state), TEST(test_nested),
        TEST(test_outer_mask), TEST(test_outside), TEST(test_late_array),
        TEST(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_engines(all); }
