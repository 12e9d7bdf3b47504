/*
 * test_order.c -- a device that keeps the order of commands itself
 *
 * On the first device of far_device.h, FAR_DEPTH commands of a stream ahead.
 */
#define TEST_FAR_DEVICE 0
#include "test_util.h"

#include <pthread.h>
#include <unistd.h>

#define FIRST (&far_states[0])
#define FAR JitBackendCUDA

enum { N = 5000, MANY = 12 };

static int begin(void **state)
{
    far_fail(FIRST, -1, 0);
    far_fail_copy(FIRST, 0);
    far_hold(FIRST, false);
    return test_begin(state) || !jit_init(JitBackendLLVM) ? -1 : 0;
}
#define TEST_ORDER(name) cmocka_unit_test_setup_teardown(name, begin, test_end)

/* A kernel: 3 x + 7. */
static uint32_t compute(uint32_t x)
{
    uint32_t three = jit_var_u32(FAR, 3), seven = jit_var_u32(FAR, 7);
    uint32_t y = jit_var_fma(x, three, seven);
    OK(three && seven && y);
    DROP(three, seven);
    return y;
}

/* Launches that need each other: out[k] = 3 out[k - 1] + 7. */
static void chain(uint32_t x, uint32_t *out, uint32_t count)
{
    for (uint32_t k = 0; k < count; ++k) {
        out[k] = compute(k ? out[k - 1] : x);
        OK(jit_var_eval(out[k]));
    }
}

static uint32_t expected(uint32_t entry, uint32_t launches)
{
    while (launches-- > 0)
        entry = entry * 3 + 7;
    return entry;
}

static uint32_t entry(uint32_t id, uint32_t i)
{
    uint32_t value = 0;
    OK(jit_var_read(id, i, &value));
    return value;
}

static uint32_t evaluated_counter(void)
{
    uint32_t x = jit_var_counter(FAR, N);
    OK(x && jit_var_eval(x) && jit_sync_thread());
    return x;
}

static uint32_t depth(void)
{
    return device_find(FAR, 0)->depth;
}

/* -------------------------------------------------------------------- ahead */

static void test_started_ahead(void **unused)
{
    (void) unused;
    uint32_t x = evaluated_counter(), out[MANY];
    uint32_t most = depth() ? depth() : 1;
    far_hold(FIRST, true);
    chain(x, out, MANY);
    assert_int_equal(far_queued(FIRST), most < MANY ? most : MANY);
    far_hold(FIRST, false);
    for (uint32_t k = 0; k < MANY; ++k) {
        assert_int_equal(entry(out[k], 5), expected(5, k + 1));
        DROP(out[k]);
    }
    DROP(x);
}

typedef struct Turn {
    uint32_t in, out;
} Turn;

static void *take_turn(void *turn)
{
    Turn *t = turn;
    t->out = compute(t->in);
    OK(jit_var_eval(t->out));
    return NULL;
}

/* What one thread has submitted waits on the device for what another one has. */
static void test_between_streams(void **unused)
{
    (void) unused;
    uint32_t x = evaluated_counter(), first;
    Turn turns[MANY];
    far_hold(FIRST, true);
    chain(x, &first, 1);
    for (uint32_t k = 0; k < MANY; ++k) {
        pthread_t thread;
        turns[k].in = k ? turns[k - 1].out : first;
        assert_int_equal(pthread_create(&thread, NULL, take_turn, &turns[k]), 0);
        pthread_join(thread, NULL);
    }
    /* One in each stream: all are there if the device keeps the order. */
    assert_int_equal(far_queued(FIRST), depth() ? MANY + 1 : 1);
    far_hold(FIRST, false);
    for (uint32_t k = 0; k < MANY; ++k) {
        assert_int_equal(entry(turns[k].out, 7), expected(7, k + 2));
        DROP(turns[k].out);
    }
    DROP(x, first);
}

/* A thread waits before more is on its way than the device bears. */
static void test_limit(void **unused)
{
    (void) unused;
    Device *device = device_find(FAR, 0);
    uint64_t before = device->most_bytes;
    device->most_bytes = 3 * N * sizeof(uint32_t);
    uint32_t x = evaluated_counter(), out[MANY];
    (void) far_most_queued(FIRST);
    chain(x, out, MANY);
    assert_int_equal(entry(out[MANY - 1], 5), expected(5, MANY));
    assert_true(far_most_queued(FIRST) <= 4);
    device->most_bytes = before;
    for (uint32_t k = 0; k < MANY; ++k)
        DROP(out[k]);
    DROP(x);
}

/* Nor do arrays that the program has dropped take more, at any depth. */
static void test_peak(void **unused)
{
    (void) unused;
    enum { ARRAY = N * sizeof(uint32_t), ON_THEIR_WAY = 8 };
    Device *device = device_find(FAR, 0);
    uint64_t before = device->most_bytes;
    device->most_bytes = ON_THEIR_WAY * ARRAY;
    uint32_t x = evaluated_counter(), y = jit_var_inc_ref(x);
    buffer_clear_stats();
    for (uint32_t k = 0; k < 8 * MANY; ++k) {
        advance(&y, compute(y));
        OK(jit_var_eval(y));
    }
    assert_int_equal(entry(y, 5), expected(5, 8 * MANY));
    /* Beside what they write: x, and what the first of them reads. */
    assert_true(buffer_stats(device).watermark <= (ON_THEIR_WAY + 2) * ARRAY);
    device->most_bytes = before;
    DROP(x, y);
}

/* ----------------------------------------------------------- host functions */

static uint32_t seen[MANY], seen_count;

static void note_launches(void *other)
{
    seen[seen_count++] = far_count(FIRST, COMMAND_LAUNCH);
    if (other) { /* of another stream, which goes on meanwhile */
        uint32_t value = 0;
        OK(jit_var_read(*(uint32_t *) other, 5, &value));
        assert_int_equal(value, 22);
    }
}

/* It is called after all that comes before, and before all that comes after. */
static void test_host_functions(void **unused)
{
    (void) unused;
    uint32_t x = evaluated_counter(), out[MANY];
    uint32_t before = far_count(FIRST, COMMAND_LAUNCH);
    seen_count = 0;
    for (uint32_t k = 0; k < MANY; k += 2) {
        chain(k ? out[k - 1] : x, out + k, 2);
        OK(jit_enqueue_host_func(FAR, note_launches, NULL));
    }
    OK(jit_sync_thread());
    assert_int_equal(seen_count, MANY / 2);
    for (uint32_t k = 0; k < seen_count; ++k)
        assert_int_equal(seen[k], before + 2 * (k + 1));
    for (uint32_t k = 0; k < MANY; ++k) {
        assert_int_equal(entry(out[k], 5), expected(5, k + 1));
        DROP(out[k]);
    }
    DROP(x);
}

/* Where the host keeps the order, the device's only thread calls it, so what it waits
 * for has to be over. */
static void test_waiting_host_function(void **unused)
{
    (void) unused;
    Turn turn = { evaluated_counter(), 0 };
    pthread_t thread;
    far_hold(FIRST, depth() != 0);
    assert_int_equal(pthread_create(&thread, NULL, take_turn, &turn), 0);
    pthread_join(thread, NULL);
    while (!depth() && far_queued(FIRST))
        usleep(100);
    seen_count = 0;
    OK(jit_enqueue_host_func(FAR, note_launches, &turn.out));
    usleep(5000);
    far_hold(FIRST, false);
    alarm(20); /* a failure of this test is that it never ends */
    OK(jit_sync_thread());
    alarm(0);
    assert_int_equal(seen_count, 1);
    DROP(turn.in, turn.out);
}

/* ------------------------------------------------------------------- errors */

/* Each reading of the device's memory, and each writing, fails once. */
static void test_failing_copies(void **unused)
{
    (void) unused;
    uint32_t data[4] = { 1, 2, 3, 4 }, value, size = 0;
    uint32_t x = evaluated_counter(), y = compute(x);
    uint32_t ten = jit_var_u32(FAR, 10), bit = jit_var_lt(x, ten);
    OK(bit && jit_var_eval(y) && jit_var_eval(bit) && jit_sync_thread());
    for (uint32_t k = 0; k < 5; ++k) {
        uint32_t made = 0;
        bool ok = true;
        far_fail_copy(FIRST, 1);
        if (k == 0)
            ok = (made = jit_var_mem_copy(FAR, VarTypeUInt32, data, 4)) != 0;
        else if (k == 1)
            ok = jit_var_read(y, 3, &value);
        else if (k == 2)
            ok = (made = jit_var_migrate(y, JitBackendLLVM)) != 0;
        else if (k == 3)
            ok = jit_var_str(y) != NULL;
        else
            ok = (made = jit_var_compress(bit)) != 0;
        assert_false(ok);
        CHECK_ERROR(JIT_ERROR_SYSTEM, "a copy was told to fail");
        far_fail_copy(FIRST, 0);
        size += made;
    }
    assert_int_equal(size, 0);
    assert_int_equal(entry(y, 3), 16);
    DROP(x, y, ten, bit);
}

/* What is under way is interrupted, and so is what is not yet; all is performed when it
 * is asked for. */
static void test_interrupted(void **unused)
{
    (void) unused;
    uint32_t x = evaluated_counter(), out[MANY];
    far_hold(FIRST, true);
    chain(x, out, MANY);
    jit_interrupt();
    far_hold(FIRST, false);
    assert_false(jit_sync_thread());
    CHECK_ERROR(JIT_ERROR_INTERRUPTED, "interrupted");
    for (uint32_t k = MANY; k-- > 0;) {
        (void) jit_var_schedule(out[k]);
        assert_int_equal(entry(out[k], 5), expected(5, k + 1));
        DROP(out[k]);
    }
    DROP(x);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST_ORDER(test_started_ahead),    TEST_ORDER(test_between_streams),
        TEST_ORDER(test_limit),            TEST_ORDER(test_peak),
        TEST_ORDER(test_host_functions),   TEST_ORDER(test_waiting_host_function),
        TEST_ORDER(test_failing_copies),   TEST_ORDER(test_interrupted)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
