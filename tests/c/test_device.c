/*
 * test_device.c -- two devices in one process: migration, order, and errors
 *
 * 'Near' is the CPU, 'far' the device of far_device.h.
 */
#define TEST_FAR_DEVICE 0
#include "test_util.h"

#include "trace/graph/var.h"

#define FIRST (&far_states[0])
#define SECOND (&far_states[1])
#define NEAR JitBackendLLVM
#define FAR JitBackendCUDA

enum { N = 5000 };

static int begin(void **state)
{
    far_fail(FIRST, -1, 0);
    far_hold(FIRST, false);
    return test_begin(state) || !jit_init(NEAR) ? -1 : 0;
}
#define TEST_BOTH(name) cmocka_unit_test_setup_teardown(name, begin, test_end)

/* A kernel on the backend of 'x': 3 x + 7. */
static uint32_t compute(uint32_t x, JitBackend backend)
{
    const uint32_t v[] = { 3, 7 };
    uint32_t three = jit_var_literal(backend, VarTypeUInt32, &v[0], 1, 0);
    uint32_t seven = jit_var_literal(backend, VarTypeUInt32, &v[1], 1, 0);
    uint32_t y = jit_var_fma(x, three, seven);
    OK(three && seven && y);
    DROP(three, seven);
    return y;
}

static uint32_t entry(uint32_t id, uint32_t i)
{
    uint32_t value = 0;
    OK(jit_var_read(id, i, &value));
    return value;
}

/* ---------------------------------------------------------------- migration */

/* The kernel of the operating system refuses to read it for us, too. */
static bool is_accessible(const void *address)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    bool ok = write(ends[1], address, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return ok;
}

static void test_separate_memory(void **unused)
{
    (void) unused;
    void *near = jit_malloc(NEAR, 100), *far = jit_malloc(FAR, 100);
    OK(near && far);
    assert_true(is_accessible(near));
    assert_false(is_accessible(far));
    assert_false(is_accessible((char *) far + FAR_PAGE));
    OK(jit_free(near) && jit_free(far));
}

static void test_migration(void **unused)
{
    (void) unused;
    uint32_t *data = random_array(VarTypeUInt32, N);
    uint32_t there = array_of(VarTypeUInt32, data, N);
    uint32_t y = compute(there, FAR); /* not evaluated yet */
    uint32_t back = jit_var_migrate(y, NEAR);
    OK(back);
    uint32_t z = compute(back, NEAR), again = jit_var_migrate(z, FAR);
    OK(again);
    uint32_t last = compute(again, FAR);
    for (uint32_t i = 0; i < N; i += 499) {
        assert_int_equal(entry(y, i), data[i] * 3 + 7);
        assert_int_equal(entry(z, i), entry(y, i) * 3 + 7);
        assert_int_equal(entry(last, i), entry(z, i) * 3 + 7);
    }
    assert_int_equal(var_device(var_get(back))->backend, NEAR);
    assert_int_equal(var_device(var_get(last))->backend, FAR);
    uint32_t seven = jit_var_u32(FAR, 7), near = jit_var_migrate(seven, NEAR);
    assert_int_equal(jit_var_state(near), VarStateLiteral);
    assert_int_equal(entry(near, 0), 7);
    DROP(seven, near);
    /* What is on different devices does not meet in an operation. */
    assert_int_equal(jit_var_add(back, last), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_add()");
    DROP(there, y, back, z, again, last);
    free(data);
}

/* Copies to and fro, while commands end late. */
static void test_to_and_fro(void **unused)
{
    (void) unused;
    uint32_t x[8], sum = 0;
    for (uint32_t k = 0; k < 8; ++k)
        x[k] = jit_var_counter(k % 2 ? FAR : NEAR, N + k);
    for (uint32_t round = 0; round < 6; ++round)
        for (uint32_t k = 0; k < 8; ++k) {
            JitBackend from = (k + round) % 2 ? FAR : NEAR;
            uint32_t y = compute(x[k], from);
            advance(&x[k], jit_var_migrate(y, from == FAR ? NEAR : FAR));
            DROP(y);
        }
    for (uint32_t round = 0; round < 6; ++round)
        sum = sum * 3 + 7;
    for (uint32_t k = 0; k < 8; ++k) {
        assert_int_equal(entry(x[k], N - 1), (N - 1) * 729 + sum);
        DROP(x[k]);
    }
}

/* -------------------------------------------------------------------- order */

/* Evaluation does not wait for the device, and an event says when it is through. */
static void *migrate(void *id)
{
    uint32_t copy = jit_var_migrate(*(uint32_t *) id, NEAR);
    OK(copy);
    *(uint32_t *) id = copy;
    return NULL;
}

/* While a device takes its time to copy, other threads trace. */
static void test_tracing_beside_migration(void **unused)
{
    (void) unused;
    uint32_t x = jit_var_counter(FAR, N), y = compute(x, FAR), copy = y;
    OK(jit_var_eval(y) && jit_sync_thread());
    pthread_t thread;
    alarm(20); /* a failure of this test is that it never ends */
    atomic_store(&FIRST->copies_wait, true);
    assert_int_equal(pthread_create(&thread, NULL, migrate, &copy), 0);
    nanosleep(&(struct timespec){ .tv_nsec = 100000000L }, NULL);
    jit_var_dec_ref(jit_var_u32(NEAR, 3));
    atomic_store(&FIRST->copies_wait, false);
    pthread_join(thread, NULL);
    alarm(0);
    assert_int_equal(entry(copy, 10), 37);
    DROP(x, y, copy);
}

static void test_delay(void **unused)
{
    (void) unused;
    uint32_t x = jit_var_counter(FAR, N), y = compute(x, FAR), z = compute(y, FAR);
    JitEvent *event = jit_event_create(FAR, 0);
    far_hold(FIRST, true);
    uint32_t before = far_count(FIRST, COMMAND_LAUNCH);
    OK(jit_var_eval(y) && jit_var_eval(z));
    OK(jit_event_record(event));
    assert_int_equal(jit_event_query(event), 0);
    assert_int_equal(far_count(FIRST, COMMAND_LAUNCH), before);
    uint32_t near = jit_var_counter(NEAR, N), w = compute(near, NEAR);
    assert_int_equal(entry(w, 5), 22); /* the other device goes on */
    far_hold(FIRST, false);
    OK(jit_event_wait(event));
    assert_int_equal(jit_event_query(event), 1);
    assert_int_equal(far_count(FIRST, COMMAND_LAUNCH), before + 2);
    assert_int_equal(entry(z, 5), 73);
    jit_event_destroy(event);
    DROP(x, y, z, near, w);
}

/* ------------------------------------------------------------------- errors */

static void assert_fails(uint32_t id)
{
    uint32_t value = 1234;
    jit_error_clear();
    assert_false(jit_var_read(id, 0, &value));
    CHECK_ERROR(JIT_ERROR_SYSTEM, "told to fail");
    assert_int_equal(value, 1234);
}

/* What the command was to write, and what is computed from that, and nothing else. */
static void test_failure(void **unused)
{
    (void) unused;
    uint32_t a = jit_var_counter(FAR, N), b = jit_var_counter(FAR, 2 * N);
    uint32_t first = compute(a, FAR), other = compute(b, FAR);
    far_hold(FIRST, true);
    far_fail(FIRST, COMMAND_LAUNCH, 1);
    OK(jit_var_eval(first));
    OK(jit_var_eval(other));
    uint32_t sum = jit_var_reduce(first, ReduceOpAdd), next = compute(first, FAR);
    uint32_t fine = jit_var_reduce(other, ReduceOpAdd);
    OK(sum && next && fine && jit_var_eval(next));
    far_hold(FIRST, false);
    assert_false(jit_sync_thread());
    CHECK_ERROR(JIT_ERROR_SYSTEM, "told to fail");
    OK(jit_sync_thread()); /* told once */
    assert_fails(first);
    assert_fails(sum);
    assert_fails(next);
    assert_int_equal(entry(other, 2 * N - 1), (2 * N - 1) * 3 + 7);
    assert_int_equal(entry(fine, 0), 3 * (2 * N - 1) * N + 7 * 2 * N);
    assert_int_equal(jit_var_migrate(first, NEAR), 0);
    CHECK_ERROR(JIT_ERROR_SYSTEM, "told to fail");
    uint32_t anew = compute(a, FAR), with_b = compute(other, FAR);
    assert_int_equal(entry(anew, 5), 22);
    assert_int_equal(entry(with_b, 1), 37);
    DROP(a, b, first, other, sum, next, fine, anew, with_b);
}

/* A program of all sorts of commands, of which one after the other fails. */
enum { OUTPUTS = 7 };
static void build(uint32_t *out, const uint32_t *data)
{
    uint32_t x = array_of(VarTypeUInt32, data, N), y = compute(x, FAR);
    uint32_t zero = fill_u32(N, 0), counter = jit_var_counter(FAR, N);
    uint32_t turned = jit_var_reverse(y);
    out[0] = jit_var_scatter(zero, turned, counter, ALWAYS, ReduceOpAdd,
                             ReduceModeAuto);
    out[1] = jit_var_reduce(y, ReduceOpMax);
    out[2] = jit_var_block_prefix_reduce(ReduceOpAdd, y, N, 0, 0);
    out[3] = jit_var_block_reduce(ReduceOpAdd, y, 10);
    out[4] = jit_var_gather(x, counter, ALWAYS);
    out[5] = jit_var_copy(y);
    out[6] = jit_var_add(y, x);
    for (uint32_t k = 0; k < OUTPUTS; ++k)
        if (out[k])
            (void) jit_var_schedule(out[k]);
    (void) jit_eval();
    DROP(x, y, zero, counter, turned);
}

static void test_every_command_fails(void **unused)
{
    (void) unused;
    uint32_t *data = random_array(VarTypeUInt32, N), expected[OUTPUTS], found;
    uint32_t out[OUTPUTS], errors = 0, n = 0;
    build(out, data);
    for (uint32_t k = 0; k < OUTPUTS; ++k)
        expected[k] = entry(out[k], 0);
    drop_all(out, OUTPUTS);
    do {
        far_fail(FIRST, -1, ++n);
        build(out, data);
        (void) jit_sync_thread();
        for (uint32_t k = 0; k < OUTPUTS; ++k) {
            bool ok = out[k] && jit_var_read(out[k], 0, &found);
            errors += !ok;
            if (ok)
                assert_int_equal(found, expected[k]);
            jit_var_dec_ref(out[k]);
        }
        jit_error_clear();
        assert_true(n < 100);
    } while (FIRST->failed);
    assert_true(n >= 6 && errors >= n - 1);
    free(data);
}

/* Memory of the device is limited: errors, no crash, and later it works. */
static void test_memory_is_out(void **unused)
{
    (void) unused;
    OK(jit_sync_thread());
    far_set_limit(FIRST, FIRST->used + (1 << 20));
    uint32_t x = jit_var_counter(FAR, 1 << 20), y = compute(x, FAR);
    assert_false(jit_var_eval(y));
    CHECK_ERROR(JIT_ERROR_MEMORY, "memory");
    far_set_limit(FIRST, 0);
    OK(jit_var_eval(y));
    assert_int_equal(entry(y, 1000), 3007);
    DROP(x, y);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST_BOTH(test_separate_memory), TEST_BOTH(test_migration),
        TEST_BOTH(test_to_and_fro),      TEST_BOTH(test_delay),
        TEST_BOTH(test_tracing_beside_migration),
        TEST_BOTH(test_failure),         TEST_BOTH(test_every_command_fails),
        TEST_BOTH(test_memory_is_out)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
