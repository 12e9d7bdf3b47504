/*
 * test_print.c -- values that kernels report
 */
#include "test_util.h"

#include <pthread.h>

/* What a callback has seen. */
typedef struct Seen {
    size_t count, lost, calls, goodbyes;
    uint32_t value_count;
    VarType types[8];
    uint32_t lanes[2000];
    uint64_t values[2000][4];
} Seen;

static void keep(const JitPrintRecords *records, void *payload)
{
    Seen *seen = payload;
    if (!records) {
        seen->goodbyes++;
        return;
    }
    seen->calls++;
    seen->lost += records->lost;
    seen->value_count = records->value_count;
    for (uint32_t k = 0; k < records->value_count; ++k)
        seen->types[k] = records->types[k];
    for (size_t i = 0; i < records->count; ++i) {
        seen->lanes[seen->count] = records->lanes[i];
        for (uint32_t k = 0; k < records->value_count; ++k)
            seen->values[seen->count][k] =
                records->values[i * records->value_count + k];
        seen->count++;
    }
}

static Seen *new_seen(void) { return calloc(1, sizeof(Seen)); }

static void test_values(void **unused)
{
    (void) unused;
    enum { N = 1000 };
    Seen *seen = new_seen();
    uint32_t lane = jit_var_counter(CPU, N), half = jit_var_f64(CPU, 0.5);
    uint32_t real = jit_var_cast(lane, VarTypeFloat64, 0);
    uint32_t scaled = jit_var_mul(real, half), three = jit_var_u32(CPU, 3);
    uint32_t rest = jit_var_mod(lane, three), zero = jit_var_u32(CPU, 0);
    uint32_t mask = jit_var_eq(rest, zero), byte = jit_var_cast(lane, VarTypeInt8, 0);
    uint32_t values[] = { lane, scaled, byte, mask };
    OK(jit_var_print(mask, 4, values, SIZE_MAX, keep, seen));
    drop_all(values, 4);
    DROP(half, real, three, rest, zero);
    assert_int_equal(seen->calls, 0);
    OK(jit_eval());
    OK(jit_sync_thread());
    assert_int_equal(seen->calls, 1);
    assert_int_equal(seen->goodbyes, 1);
    assert_int_equal(seen->lost, 0);
    assert_int_equal(seen->count, 334);
    assert_int_equal(seen->value_count, 4);
    assert_int_equal(seen->types[0], VarTypeUInt32);
    assert_int_equal(seen->types[1], VarTypeFloat64);
    assert_int_equal(seen->types[2], VarTypeInt8);
    assert_int_equal(seen->types[3], VarTypeBool);
    for (uint32_t i = 0; i < 334; ++i) {
        double expected = 1.5 * i;
        assert_int_equal(seen->lanes[i], 3 * i);
        assert_int_equal(seen->values[i][0], 3 * i);
        assert_memory_equal(&seen->values[i][1], &expected, 8);
        assert_int_equal(seen->values[i][2], (uint8_t) (3 * i));
        assert_int_equal(seen->values[i][3], 1);
    }
    OK(jit_eval()); /* once only */
    assert_int_equal(seen->calls, 1);
    free(seen);
}

/* The mask stack holds, nothing is reported where no lane prints, and a limit is one.
 */
static void test_masks_and_limits(void **unused)
{
    (void) unused;
    Seen *few = new_seen(), *none = new_seen(), *bare = new_seen();
    uint8_t some[] = { 0, 1, 1, 0, 1 };
    uint32_t mask = array_of(VarTypeBool, some, 5), lane = jit_var_counter(CPU, 5);
    uint32_t no = jit_var_bool(CPU, false);
    OK(jit_var_mask_push(CPU, mask));
    OK(jit_var_print(ALWAYS, 1, &lane, 2, keep, few));
    OK(jit_var_print(no, 1, &lane, SIZE_MAX, keep, none));
    OK(jit_var_print(ALWAYS, 0, NULL, SIZE_MAX, keep, bare));
    OK(jit_var_mask_pop(CPU));
    OK(jit_eval());
    OK(jit_sync_thread());
    assert_int_equal(few->count, 2);
    assert_int_equal(few->lost, 1);
    assert_int_equal(few->lanes[0], 1);
    assert_int_equal(few->values[1][0], 2);
    assert_int_equal(none->calls, 0);
    assert_int_equal(none->goodbyes, 1);
    assert_int_equal(bare->count, 3);
    assert_int_equal(bare->value_count, 0);
    assert_int_equal(bare->lanes[2], 4);
    DROP(mask, lane, no);
    free(few);
    free(none);
    free(bare);
}

/* More than a launch keeps. */
static void count_records(const JitPrintRecords *records, void *payload)
{
    size_t *counts = payload; /* kept, lost, falling lanes */
    if (!records)
        return;
    counts[0] += records->count;
    counts[1] += records->lost;
    for (size_t i = 1; i < records->count; ++i)
        counts[2] += records->lanes[i] <= records->lanes[i - 1];
}

static void test_too_many(void **unused)
{
    (void) unused;
    enum { N = 1 << 20 };
    size_t counts[3] = { 0 };
    uint32_t lane = jit_var_counter(CPU, N);
    OK(jit_var_print(ALWAYS, 1, &lane, SIZE_MAX, count_records, counts));
    OK(jit_eval());
    OK(jit_sync_thread());
    assert_int_equal(counts[0] + counts[1], N);
    assert_true(counts[0] > 10000);
    assert_true(counts[1] > 0);
    assert_int_equal(counts[2], 0);
    jit_var_dec_ref(lane);
}

/* What is printed in a loop: by lane, and in order within one. */
static void test_loop(void **unused)
{
    (void) unused;
    Seen *seen = new_seen();
    uint32_t limits[] = { 2, 0, 3, 1 };
    uint32_t bound = u32_array(4, limits), one = jit_var_u32(CPU, 1);
    uint32_t state[] = { jit_var_u32(CPU, 0), bound };
    uint32_t loop = jit_var_loop_start(CPU, "loop", 2, state);
    OK(loop);
    int again;
    do {
        uint32_t condition = jit_var_lt(state[0], state[1]);
        again = jit_var_loop_cond(loop, condition);
        jit_var_dec_ref(condition);
        if (again > 0) {
            OK(jit_var_print(ALWAYS, 2, (uint32_t[]){ state[0], state[1] }, SIZE_MAX,
                             keep, seen));
            advance(&state[0], jit_var_add(state[0], one));
        }
    } while (again >= 0 && (again = jit_var_loop_end(loop, state)) == 0);
    OK(again > 0);
    OK(jit_eval());
    OK(jit_sync_thread());
    static const uint32_t lanes[] = { 0, 0, 2, 2, 2, 3 };
    static const uint32_t turns[] = { 0, 1, 0, 1, 2, 0 };
    assert_int_equal(seen->count, 6);
    for (int i = 0; i < 6; ++i) {
        assert_int_equal(seen->lanes[i], lanes[i]);
        assert_int_equal(seen->values[i][0], turns[i]);
        assert_int_equal(seen->values[i][1], limits[lanes[i]]);
    }
    CHECK_U32(state[0], 2, 0, 3, 1);
    assert_int_equal(seen->calls, 1);
    assert_int_equal(seen->goodbyes >= 1, 1);
    DROP(state[0], state[1], one);
    free(seen);
}

static void test_sides(void **unused)
{
    (void) unused;
    Seen *yes = new_seen(), *no = new_seen();
    uint8_t some[] = { 0, 1, 1, 0, 1 };
    uint32_t mask = array_of(VarTypeBool, some, 5), lane = jit_var_counter(CPU, 5);
    uint32_t cond = jit_var_cond_start("cond", mask);
    OK(cond);
    OK(jit_var_print(ALWAYS, 1, &lane, SIZE_MAX, keep, yes));
    OK(jit_var_cond_append(cond, 0, NULL));
    OK(jit_var_print(ALWAYS, 1, &lane, SIZE_MAX, keep, no));
    OK(jit_var_cond_append(cond, 0, NULL));
    OK(jit_var_cond_end(cond, NULL));
    OK(jit_eval());
    OK(jit_sync_thread());
    assert_int_equal(yes->count, 3);
    assert_int_equal(yes->lanes[2], 4);
    assert_int_equal(no->count, 2);
    assert_int_equal(no->lanes[1], 3);
    assert_int_equal(yes->goodbyes, 1);
    DROP(mask, lane);
    free(yes);
    free(no);
}

/* The callback may use the library. */
static void trace_more(const JitPrintRecords *records, void *payload)
{
    uint32_t *sum = payload;
    if (records)
        *sum = jit_var_u32(CPU, (uint32_t) records->values[0]);
}

static void test_callback_traces(void **unused)
{
    (void) unused;
    uint32_t made = 0, seven = jit_var_u32(CPU, 7);
    OK(jit_var_print(ALWAYS, 1, &seven, 1, trace_more, &made));
    OK(jit_eval());
    OK(jit_sync_thread());
    CHECK_U32(made, 7);
    DROP(made, seven);
}

/* What never runs says good-bye, too. */
static void test_never_run(void **unused)
{
    (void) unused;
    Seen *seen = new_seen();
    uint32_t lane = jit_var_counter(CPU, 5);
    uint32_t record = jit_record_begin(CPU, "abandoned");
    OK(jit_var_print(ALWAYS, 1, &lane, SIZE_MAX, keep, seen));
    assert_int_equal(jit_record_checkpoint(CPU), 1);
    OK(jit_record_end(CPU, record, 1));
    assert_int_equal(seen->goodbyes, 1);
    OK(jit_eval());
    assert_int_equal(seen->calls, 0);
    jit_var_dec_ref(lane);
    free(seen);
}

static void test_misuse(void **unused)
{
    (void) unused;
    Seen *seen = new_seen();
    uint32_t one = jit_var_u32(CPU, 1), a = jit_var_counter(CPU, 3);
    uint32_t b = jit_var_counter(CPU, 4), pair[] = { a, b };
    assert_false(jit_var_print(ALWAYS, 1, &one, 1, NULL, seen));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_print()", "callback");
    assert_false(jit_var_print(ALWAYS, 1, NULL, 1, keep, seen));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_print()", "values");
    assert_false(jit_var_print(one, 1, &one, 1, keep, seen));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_print()", "mask", "uint32");
    assert_false(jit_var_print(ALWAYS, 2, pair, 1, keep, seen));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_print()", "3", "4");
    uint32_t mask = jit_var_mask_default(CPU, 5);
    assert_false(jit_var_print(mask, 1, &a, 1, keep, seen));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_print()", "3", "5");
    uint32_t gone = 77777;
    assert_false(jit_var_print(ALWAYS, 1, &gone, 1, keep, seen));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_print()", "r77777");
    assert_int_equal(seen->goodbyes, 0); /* the payload stayed ours */
    DROP(one, a, b, mask);
    free(seen);
}

static void *print_alone(void *argument)
{
    Seen *seen = argument;
    uint32_t lane = jit_var_counter(CPU, 1500);
    bool ok = jit_var_print(ALWAYS, 1, &lane, SIZE_MAX, keep, seen) && jit_eval() &&
              jit_sync_thread();
    jit_var_dec_ref(lane);
    return ok ? NULL : (void *) jit_error_message();
}

static void test_threads(void **unused)
{
    (void) unused;
    enum { THREADS = 6 };
    pthread_t threads[THREADS];
    Seen *seen[THREADS];
    for (int i = 0; i < THREADS; ++i) {
        seen[i] = new_seen();
        assert_int_equal(pthread_create(&threads[i], NULL, print_alone, seen[i]), 0);
    }
    for (int i = 0; i < THREADS; ++i) {
        void *complaint;
        pthread_join(threads[i], &complaint);
        assert_null(complaint);
        assert_int_equal(seen[i]->count, 1500);
        assert_int_equal(seen[i]->goodbyes, 1);
        for (uint32_t k = 0; k < 1500; ++k)
            assert_int_equal(seen[i]->values[k][0], k);
        free(seen[i]);
    }
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_values),          TEST(test_masks_and_limits),
        TEST(test_too_many),        TEST(test_loop),
        TEST(test_sides),           TEST(test_callback_traces),
        TEST(test_never_run),       TEST(test_misuse),
        TEST(test_threads),
    };
    return cmocka_run_group_tests_name("print", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
