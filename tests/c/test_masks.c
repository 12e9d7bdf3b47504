/*
 * test_masks.c -- the mask stack: what it restricts, sizes, misuse, threads
 */
#include "test_util.h"

#include <pthread.h>

enum { N = 1000 };

static uint8_t first_mask[N], second_mask[N];

static void make_masks(void)
{
    for (int i = 0; i < N; ++i) {
        first_mask[i] = i % 3 == 0;
        second_mask[i] = i % 5 < 2;
    }
}

static uint32_t mask_of(const uint8_t *data) { return array_of(VarTypeBool, data, N); }

static void test_push_pop(void **unused)
{
    (void) unused;
    make_masks();
    assert_int_equal(jit_var_mask_peek(CPU), 0);
    assert_int_equal(jit_error(), JIT_OK);
    uint32_t a = mask_of(first_mask), b = mask_of(second_mask);
    OK(jit_var_mask_push(CPU, a));
    OK(jit_var_mask_push(CPU, b));
    uint32_t top = jit_var_mask_peek(CPU);
    assert_int_equal(top, b);
    DROP(top, a, b); /* the stack holds them */
    assert_int_equal(jit_var_ref(b), 1);
    OK(jit_var_mask_pop(CPU));
    top = jit_var_mask_peek(CPU);
    assert_int_equal(top, a);
    jit_var_dec_ref(top);
    OK(jit_var_mask_pop(CPU));
    assert_int_equal(jit_var_ref(a), 0);
    assert_false(jit_var_mask_pop(CPU));
    CHECK_ERROR(JIT_ERROR_STATE, "jit_var_mask_pop()", "no mask");
}

static void test_default_and_apply(void **unused)
{
    (void) unused;
    make_masks();
    uint32_t all = jit_var_mask_default(CPU, 4);
    assert_int_equal(jit_var_state(all), VarStateLiteral);
    CHECK_BYTES(all, ((uint8_t[]){ 1, 1, 1, 1 }), 4);
    assert_int_equal(jit_var_mask_default(CPU, 0), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_mask_default()", "size is 0");
    uint32_t none = jit_var_mask_apply(0, N);
    assert_int_equal(jit_var_size(none), N);
    assert_int_equal(jit_var_state(none), VarStateLiteral);

    uint32_t a = mask_of(first_mask), b = mask_of(second_mask);
    uint32_t unchanged = jit_var_mask_apply(b, N);
    assert_int_equal(unchanged, b);
    OK(jit_var_mask_push(CPU, a));
    uint32_t both = jit_var_mask_apply(b, N), top = jit_var_mask_apply(0, N);
    OK(jit_var_mask_pop(CPU));
    uint8_t expected[N];
    for (int i = 0; i < N; ++i)
        expected[i] = first_mask[i] & second_mask[i];
    CHECK_BYTES(both, expected, N);
    CHECK_BYTES(top, first_mask, N);

    assert_int_equal(jit_var_mask_apply(b, 7), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_mask_apply()", "1000", "7");
    uint32_t number = jit_var_u32(CPU, 1);
    assert_int_equal(jit_var_mask_apply(number, 1), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_mask_apply()", "uint32", "bool");
    assert_false(jit_var_mask_push(CPU, number));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_mask_push()", "uint32", "bool");
    assert_false(jit_var_mask_push(CPU, 0));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_mask_push()", "not a variable");
    DROP(all, none, a, b, unchanged, both, top, number);
}

/* A mask of one entry serves all sizes, and gives masks of the size asked for. */
static void test_broadcast(void **unused)
{
    (void) unused;
    uint8_t off = 0;
    uint32_t no = array_of(VarTypeBool, &off, 1);
    uint32_t data = u32_array(3, (uint32_t[]){ 7, 8, 9 });
    uint32_t index = u32_array(3, (uint32_t[]){ 2, 1, 0 });
    OK(jit_var_mask_push(CPU, no));
    uint32_t got = jit_var_gather(data, index, ALWAYS);
    uint32_t wide = jit_var_mask_apply(0, 3);
    OK(jit_var_mask_pop(CPU));
    CHECK_U32(got, 0, 0, 0);
    CHECK_BYTES(wide, ((uint8_t[]){ 0, 0, 0 }), 3);
    /* The stack makes an access as wide as itself. */
    uint8_t some[] = { 1, 0, 1, 1, 0 };
    uint32_t five = array_of(VarTypeBool, some, 5), one = jit_var_u32(CPU, 1);
    OK(jit_var_mask_push(CPU, five));
    uint32_t spread = jit_var_gather(data, one, ALWAYS);
    /* It is not about accesses of other sizes. */
    uint32_t other = jit_var_gather(data, index, ALWAYS);
    uint32_t three = jit_var_mask_apply(0, 3);
    uint32_t whole = jit_var_mask_apply(five, 5);
    OK(jit_var_mask_pop(CPU));
    CHECK_U32(spread, 8, 0, 8, 8, 0);
    CHECK_U32(other, 9, 8, 7);
    CHECK_BYTES(three, ((uint8_t[]){ 1, 1, 1 }), 3);
    CHECK_BYTES(whole, some, 5);
    DROP(no, data, index, got, wide, five, one, spread, other, three, whole);
}

/* Everything that accesses memory, once with both masks given as one and once with one
 * of them on the stack. */
static void test_accesses(void **unused)
{
    (void) unused;
    make_masks();
    uint8_t both[N];
    uint32_t values[4 * N], *places = permutation(N);
    for (int i = 0; i < N; ++i)
        both[i] = first_mask[i] & second_mask[i];
    for (int i = 0; i < 4 * N; ++i)
        values[i] = (uint32_t) random_bits();
    uint32_t a = mask_of(first_mask), b = mask_of(second_mask);
    uint32_t index = u32_array(N, places), value = u32_array(N, values);
    uint32_t data = u32_array(N, values + N), packets = u32_array(4 * N, values);
    uint32_t literal = literal_of(VarTypeUInt32, 5, N);
    uint32_t plain = fill_u32(N, 1), packed = fill_u32(4 * N, 1), sums = fill_u32(N, 1);
    uint32_t counts = fill_u32(N, 1), exchanged = fill_u32(N, 1), cas = fill_u32(N, 1);
    uint32_t four[4], swapped[2], one = jit_var_u32(CPU, 1);

    OK(jit_var_mask_push(CPU, b)); /* below the top: does not matter */
    OK(jit_var_mask_push(CPU, a));
    uint32_t got = jit_var_gather(data, index, b);
    uint32_t same = jit_var_gather(literal, index, b);
    OK(jit_var_gather_packet(4, packets, index, b, four));
    advance(&plain, jit_var_scatter(plain, value, index, b, ReduceOpIdentity,
                                    ReduceModeAuto));
    advance(&sums, jit_var_scatter(sums, value, index, b, ReduceOpAdd,
                                   ReduceModeAuto));
    uint32_t quads[4] = { value, data, value, data };
    advance(&packed, jit_var_scatter_packet(4, packed, quads, index, b,
                                            ReduceOpIdentity, ReduceModeAuto));
    uint32_t before = jit_var_scatter_inc(&counts, index, b);
    uint32_t old = jit_var_scatter_exch(&exchanged, value, index, b);
    OK(before && old);
    OK(jit_var_scatter_cas(&cas, one, value, index, b, swapped));
    OK(jit_var_mask_pop(CPU));
    OK(jit_var_mask_pop(CPU));
    uint32_t roots[] = { got, same, four[0], four[3], old, swapped[1] };
    for (size_t i = 0; i < COUNT_OF(roots); ++i)
        OK(jit_var_schedule(roots[i]));
    OK(jit_eval());

    uint32_t expected[4 * N], sum[N], count[N];
    for (int i = 0; i < N; ++i)
        expected[i] = both[i] ? values[N + places[i]] : 0;
    CHECK_BYTES(got, expected, N);
    for (int i = 0; i < N; ++i)
        expected[i] = both[i] ? 5 : 0;
    CHECK_BYTES(same, expected, N);
    for (int k = 0; k < 4; k += 3) {
        for (int i = 0; i < N; ++i)
            expected[i] = both[i] ? values[4 * places[i] + (uint32_t) k] : 0;
        CHECK_BYTES(four[k], expected, N);
    }
    for (int i = 0; i < N; ++i)
        expected[i] = sum[i] = count[i] = 1;
    for (int i = 0; i < N; ++i)
        if (both[i]) {
            expected[places[i]] = values[i];
            sum[places[i]] += values[i];
            count[places[i]]++;
        }
    CHECK_BYTES(plain, expected, N);
    CHECK_BYTES(exchanged, expected, N);
    CHECK_BYTES(cas, expected, N);
    CHECK_BYTES(sums, sum, N);
    CHECK_BYTES(counts, count, N);
    for (int i = 0; i < N; ++i)
        expected[i] = both[i];
    CHECK_BYTES(old, expected, N);
    CHECK_BYTES(swapped[1], both, N);
    for (int i = 0; i < 4 * N; ++i)
        expected[i] = 1;
    for (int i = 0; i < N; ++i)
        for (int k = 0; both[i] && k < 4; ++k)
            expected[4 * places[i] + (uint32_t) k] = values[k % 2 ? N + i : i];
    CHECK_BYTES(packed, expected, 4 * N);
    DROP(a, b, index, value, data, packets, literal, plain, packed, sums, counts, cas,
         exchanged, four[0], four[1], four[2], four[3], swapped[0], swapped[1], one,
         got, same, before, old);
    free(places);
}

/* Packets that are taken apart, and compensated sums, apply it once, too. */
static void test_singly(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagPacketOps, 0);
    uint8_t some[] = { 1, 0 };
    uint32_t mask = array_of(VarTypeBool, some, 2), pair[2];
    uint32_t data = u32_array(4, (uint32_t[]){ 1, 2, 3, 4 });
    uint32_t index = u32_array(2, (uint32_t[]){ 1, 0 }), target = fill_u32(4, 9);
    float zero = 0, half = 0.5f;
    uint32_t sum = jit_var_literal(CPU, VarTypeFloat32, &zero, 2, 1);
    uint32_t error = jit_var_literal(CPU, VarTypeFloat32, &zero, 2, 1);
    uint32_t value = jit_var_literal(CPU, VarTypeFloat32, &half, 2, 1);
    OK(jit_var_mask_push(CPU, mask));
    OK(jit_var_gather_packet(2, data, index, ALWAYS, pair));
    advance(&target, jit_var_scatter_packet(2, target, (uint32_t[]){ index, index },
                                            index, ALWAYS, ReduceOpIdentity,
                                            ReduceModeAuto));
    OK(jit_var_scatter_add_kahan(&sum, &error, value, index, ALWAYS));
    OK(jit_var_mask_pop(CPU));
    CHECK_U32(pair[0], 3, 0);
    CHECK_U32(pair[1], 4, 0);
    CHECK_U32(target, 9, 9, 1, 1);
    CHECK_BYTES(sum, ((float[]){ 0, 0.5f }), 2);
    CHECK_BYTES(error, ((float[]){ 0, 0 }), 2);
    DROP(mask, data, index, target, sum, error, value, pair[0], pair[1]);
}

/* Bounds checks leave masked lanes alone. */
static void test_checks(void **unused)
{
    (void) unused;
    jit_set_log_level_callback(LogLevelWarn, log_keep);
    jit_set_flag(JitFlagDebug, 1);
    uint8_t some[] = { 1, 0 };
    uint32_t mask = array_of(VarTypeBool, some, 2);
    uint32_t data = u32_array(3, (uint32_t[]){ 7, 8, 9 });
    uint32_t fine = u32_array(2, (uint32_t[]){ 2, 3000 });
    uint32_t wrong = u32_array(2, (uint32_t[]){ 3000, 4000 });
    OK(jit_var_mask_push(CPU, mask));
    uint32_t got = jit_var_gather(data, fine, ALWAYS);
    uint32_t bad = jit_var_gather(data, wrong, ALWAYS);
    OK(jit_var_mask_pop(CPU));
    CHECK_U32(got, 9, 0);
    jit_sync_thread();
    assert_int_equal(log_count("out-of-bounds"), 0);
    CHECK_U32(bad, 0, 0);
    jit_sync_thread();
    assert_int_equal(log_count("position 3000"), 1);
    assert_int_equal(log_count("lanes"), 0); /* one */
    DROP(mask, data, fine, wrong, got, bad);
}

/* What is not folded: masks combine without constant propagation, too. */
static void test_without_folding(void **unused)
{
    (void) unused;
    jit_set_flags(0);
    uint8_t some[] = { 1, 0, 1 };
    uint32_t mask = array_of(VarTypeBool, some, 3), yes = jit_var_bool(CPU, true);
    uint32_t data = u32_array(3, (uint32_t[]){ 7, 8, 9 });
    uint32_t index = u32_array(3, (uint32_t[]){ 0, 1, 2 });
    OK(jit_var_mask_push(CPU, yes));
    uint32_t a = jit_var_gather(data, index, mask);
    OK(jit_var_mask_pop(CPU));
    OK(jit_var_mask_push(CPU, mask));
    uint32_t b = jit_var_gather(data, index, yes);
    uint32_t c = jit_var_gather(data, index, mask);
    OK(jit_var_mask_pop(CPU));
    CHECK_U32(a, 7, 0, 9);
    CHECK_U32(b, 7, 0, 9);
    CHECK_U32(c, 7, 0, 9);
    DROP(mask, yes, data, index, a, b, c);
}

/* A mask that is left on the stack is the library's to release. */
static void test_left_behind(void **unused)
{
    (void) unused;
    uint8_t off = 0;
    uint32_t no = array_of(VarTypeBool, &off, 1);
    OK(jit_var_mask_push(CPU, no));
    jit_var_dec_ref(no);
}

/* Nor may a body leave one, or take one that is not its own. */
static void test_masks_of_bodies(void **unused)
{
    (void) unused;
    make_masks();
    uint32_t mask = mask_of(first_mask), x = jit_var_counter(CPU, N);
    for (int takes = 0; takes < 2; ++takes) {
        uint32_t state = x;
        jit_var_inc_ref(x);
        uint32_t loop = jit_var_loop_start(CPU, "masks", 1, &state);
        OK(loop);
        uint32_t limit = jit_var_u32(CPU, 3), goes_on = jit_var_lt(state, limit);
        assert_int_equal(jit_var_loop_cond(loop, goes_on), 1);
        if (takes) {
            assert_false(jit_var_mask_pop(CPU));
            CHECK_ERROR(JIT_ERROR_STATE, "jit_var_mask_pop()", "there is no mask");
        } else {
            OK(jit_var_mask_push(CPU, mask));
        }
        int status = jit_var_loop_end(loop, &state);
        assert_int_equal(status, takes ? 1 : -1);
        if (!takes)
            CHECK_ERROR(JIT_ERROR_STATE, "jit_var_loop_end()", "left 1 mask");
        assert_int_equal(jit_var_mask_peek(CPU), 0);
        DROP(limit, goes_on, state);
    }
    uint32_t cond = jit_var_cond_start("masks", mask);
    OK(cond);
    OK(jit_var_mask_push(CPU, mask));
    assert_false(jit_var_cond_append(cond, 1, &x));
    CHECK_ERROR(JIT_ERROR_STATE, "jit_var_cond_append()", "left 1 mask");
    assert_int_equal(jit_var_mask_peek(CPU), 0);
    for (int complete = 0; complete < 3; ++complete) {
        uint32_t call = jit_var_call_start(CPU, "masks", mask);
        OK(call);
        for (int k = 0; k < complete; ++k)
            assert_true(jit_var_call_append(call, 1, &x));
        uint32_t active = jit_var_mask_peek(CPU); /* the same in all callables */
        assert_int_equal(active, jit_var_call_mask(call));
        OK(jit_var_mask_push(CPU, mask));
        assert_false(jit_var_call_append(call, 1, &x));
        CHECK_ERROR(JIT_ERROR_STATE, "jit_var_call_append()", "left 1 mask");
        assert_int_equal(jit_var_mask_peek(CPU), 0);
        DROP(active, active);
    }
    DROP(mask, x);
}

static void *other_thread(void *argument)
{
    uint32_t *result = argument;
    if (jit_var_mask_peek(CPU))
        return "the stack of another thread";
    uint32_t data = jit_var_counter(CPU, 4), index = jit_var_counter(CPU, 4);
    uint8_t some[] = { 0, 1, 0, 1 };
    uint32_t mask = jit_var_mem_copy(CPU, VarTypeBool, some, 4);
    if (!jit_var_mask_push(CPU, mask))
        return "push";
    *result = jit_var_gather(data, index, ALWAYS);
    DROP(data, index, mask);
    return NULL; /* with a mask on its stack */
}

static void test_threads(void **unused)
{
    (void) unused;
    uint8_t off = 0;
    uint32_t no = array_of(VarTypeBool, &off, 1);
    OK(jit_var_mask_push(CPU, no));
    pthread_t threads[8];
    uint32_t results[8] = { 0 };
    for (int i = 0; i < 8; ++i)
        assert_int_equal(
            pthread_create(&threads[i], NULL, other_thread, &results[i]), 0);
    for (int i = 0; i < 8; ++i) {
        void *complaint;
        pthread_join(threads[i], &complaint);
        assert_null(complaint);
        CHECK_U32(results[i], 0, 1, 0, 3);
        jit_var_dec_ref(results[i]);
    }
    OK(jit_var_mask_pop(CPU));
    jit_var_dec_ref(no);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_push_pop),  TEST(test_default_and_apply), TEST(test_broadcast),
        TEST(test_accesses),  TEST(test_singly),            TEST(test_checks),
        TEST(test_threads),   TEST(test_without_folding),   TEST(test_left_behind),
        TEST(test_masks_of_bodies),
    };
    return cmocka_run_group_tests_name("masks", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
