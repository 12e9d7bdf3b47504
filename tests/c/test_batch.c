/*
 * test_batch.c -- launches of one kernel on different arrays, as one job (cpu_batch.c)
 *
 * That this happens is seen by commands that have joined another one; what is computed
 * is compared with loops in C, in which each operation is rounded by itself.
 */
#include "test_util.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "device/cpu/launch/cpu_launch.h"
#include "eval_util.h"
#include "watch_joined.h"

enum { ARRAYS = 12 };

/* ------------------------------------------------------------------ programs */

static uint32_t size_of(uint32_t k) { return 5000 + k * 7919; }
static float entry(uint32_t k, uint32_t i)
{
    return (float) (i % 1000) * .25f + (float) k;
}

static uint32_t new_array(uint32_t k, uint32_t size)
{
    float *data = malloc(size * sizeof *data);
    for (uint32_t i = 0; i < size; ++i)
        data[i] = entry(k, i);
    uint32_t x = array_of(VarTypeFloat32, data, size);
    free(data);
    return x;
}

/* x * x + by, where 'by' has one entry. */
static uint32_t shifted(uint32_t x, uint32_t by)
{
    uint32_t square = jit_var_mul(x, x), y = jit_var_add(square, by);
    OK(y);
    DROP(square);
    return y;
}

static void check_shifted(uint32_t y, uint32_t k, uint32_t size, float by)
{
    void *data;
    uint32_t held = jit_var_data(y, &data);
    OK(held && jit_sync_thread());
    assert_int_equal(jit_var_size(y), size);
    for (uint32_t i = 0; i < size; ++i) {
        float square = entry(k, i) * entry(k, i);
        float expected = square + by;
        assert_true(((const float *) data)[i] == expected);
    }
    DROP(held);
}

static uint32_t opaque(float value)
{
    return array_of(VarTypeFloat32, &value, 1);
}

static void evaluate_each(const uint32_t *y, uint32_t count)
{
    jit_launch_hold(true);
    for (uint32_t k = 0; k < count; ++k)
        OK(jit_var_eval(y[k]));
    jit_launch_hold(false);
}

/* ---------------------------------------------------------------------- tests */

/* Of any sizes; twice, as a first run may have to wait for its kernel. */
static void test_sizes(void **unused)
{
    (void) unused;
    OK(jit_llvm_set_thread_count(2));
    uint32_t x[ARRAYS], y[ARRAYS], by = opaque(.5f);
    for (uint32_t k = 0; k < ARRAYS; ++k)
        x[k] = new_array(k, size_of(k));
    for (uint32_t again = 0; again < 3; ++again) {
        cpu_launch_set_cache(again == 2 ? 1 << 14 : 0); /* past the caches, too */
        for (uint32_t k = 0; k < ARRAYS; ++k)
            y[k] = shifted(x[k], by);
        begin_watching();
        evaluate_each(y, ARRAYS);
        uint32_t found = end_watching();
        assert_true(!again || found == ARRAYS - 1);
        for (uint32_t k = 0; k < ARRAYS; ++k) {
            check_shifted(y[k], k, size_of(k), .5f);
            DROP(y[k]);
        }
    }
    cpu_launch_set_cache(0);
    for (uint32_t k = 0; k < ARRAYS; ++k)
        DROP(x[k]);
    DROP(by);
}

/* One that reads what another one writes is run after it, and so is what follows. */
static void test_fed(void **unused)
{
    (void) unused;
    OK(jit_llvm_set_thread_count(2));
    enum { SIZE = 20000 };
    uint32_t x[4], by = opaque(0);
    for (uint32_t k = 0; k < 4; ++k)
        x[k] = new_array(k, SIZE + k);
    for (uint32_t again = 0; again < 2; ++again) {
        uint32_t y[4] = { shifted(x[0], by), shifted(x[1], by), 0, 0 };
        begin_watching();
        jit_launch_hold(true);
        OK(jit_var_eval(y[0]) && jit_var_eval(y[1]));
        y[2] = shifted(y[0], by); /* the same kernel */
        OK(jit_var_eval(y[2]));
        y[3] = shifted(x[3], by);
        OK(jit_var_eval(y[3]));
        jit_launch_hold(false);
        uint32_t found = end_watching();
        assert_true(!again || found == 2); /* 1 with 0, 3 with 2 */
        check_shifted(y[0], 0, SIZE, 0);
        check_shifted(y[1], 1, SIZE + 1, 0);
        check_shifted(y[3], 3, SIZE + 3, 0);
        void *data;
        uint32_t held = jit_var_data(y[2], &data);
        OK(held && jit_sync_thread());
        for (uint32_t i = 0; i < SIZE; ++i) {
            float square = entry(0, i) * entry(0, i);
            float fourth = square * square;
            assert_true(((const float *) data)[i] == fourth);
        }
        DROP(held, y[0], y[1], y[2], y[3]);
    }
    DROP(x[0], x[1], x[2], x[3], by);
}

/* Other kernels end a batch; a large array that all read is a reason against one. */
static void test_apart(void **unused)
{
    (void) unused;
    OK(jit_llvm_set_thread_count(2));
    enum { SIZE = 20000 };
    uint32_t x[3], by = opaque(2), large = new_array(7, SIZE);
    for (uint32_t k = 0; k < 3; ++k)
        x[k] = new_array(k, SIZE);
    for (uint32_t again = 0; again < 2; ++again) {
        uint32_t y[3] = { shifted(x[0], by), jit_var_sqrt(x[1]), shifted(x[2], by) };
        begin_watching();
        evaluate_each(y, 3);
        assert_int_equal(end_watching(), 0);
        check_shifted(y[0], 0, SIZE, 2);
        check_shifted(y[2], 2, SIZE, 2);
        DROP(y[0], y[1], y[2]);
        for (uint32_t k = 0; k < 3; ++k)
            y[k] = jit_var_add(x[k], large);
        begin_watching();
        evaluate_each(y, 3);
        (void) end_watching(); /* they may be a chain */
        for (uint32_t k = 0; k < 3; ++k) {
            float value;
            OK(jit_var_read(y[k], SIZE - 1, &value));
            assert_true(value == entry(k, SIZE - 1) + entry(7, SIZE - 1));
            DROP(y[k]);
        }
    }
    DROP(x[0], x[1], x[2], by, large);
}

/* Ranges can be nested, and one too many does no harm. Waiting begins what is held. */
static void test_holding(void **unused)
{
    (void) unused;
    OK(jit_llvm_set_thread_count(2));
    uint32_t x = new_array(1, 20000), by = opaque(1);
    jit_launch_hold(false);
    jit_launch_hold(true);
    jit_launch_hold(true);
    jit_launch_hold(false);
    uint32_t y = shifted(x, by);
    OK(jit_var_eval(y));
    check_shifted(y, 1, 20000, 1);
    jit_launch_hold(false);
    DROP(x, y, by);
}

typedef struct Holder {
    pthread_barrier_t met;
    uint32_t x, y, by;
    bool stays;
} Holder;

static void *hold(void *holder)
{
    Holder *h = holder;
    jit_launch_hold(true);
    h->y = shifted(h->x, h->by);
    OK(jit_var_eval(h->y));
    for (uint32_t k = 0; h->stays && k < 2; ++k)
        (void) pthread_barrier_wait(&h->met);
    return NULL; /* without letting go */
}

/* What another thread holds back begins when what depends on it is to run, also if that
 * thread has ended. */
static void test_held_elsewhere(void **unused)
{
    (void) unused;
    OK(jit_llvm_set_thread_count(2));
    Holder h = { .by = opaque(0) };
    assert_int_equal(pthread_barrier_init(&h.met, NULL, 2), 0);
    alarm(60); /* a failure of this test is that it never ends */
    for (uint32_t k = 0; k < 4; ++k) {
        pthread_t thread;
        h.x = new_array(k, 20000);
        h.stays = k % 2;
        assert_int_equal(pthread_create(&thread, NULL, hold, &h), 0);
        if (h.stays)
            (void) pthread_barrier_wait(&h.met);
        else
            pthread_join(thread, NULL);
        uint32_t z = shifted(h.y, h.by);
        float value, square = entry(k, 19999) * entry(k, 19999);
        OK(jit_var_eval(z) && jit_var_read(z, 19999, &value));
        assert_true(value == square * square);
        if (h.stays) {
            (void) pthread_barrier_wait(&h.met);
            pthread_join(thread, NULL);
        }
        DROP(h.x, h.y, z);
    }
    alarm(0);
    pthread_barrier_destroy(&h.met);
    DROP(h.by);
}

/* Wherever memory runs out, the launches are performed, in a batch or one by one, or
 * evaluating says so and can be done again. */
static void test_memory(void **unused)
{
    (void) unused;
    OK(jit_llvm_set_thread_count(2));
    uint32_t x[ARRAYS], y[ARRAYS], by = opaque(.25f);
    for (uint32_t k = 0; k < ARRAYS; ++k)
        x[k] = new_array(k, size_of(k));
    cpu_launch_set_cache(1 << 14);
    for (uint32_t n = 1; n < 400; n += n < 60 ? 1 : 17) {
        for (uint32_t k = 0; k < ARRAYS; ++k)
            y[k] = shifted(x[k], by);
        OK(jit_sync_thread());
        alloc_fail_at(n);
        jit_launch_hold(true);
        for (uint32_t k = 0; k < ARRAYS; ++k)
            (void) jit_var_eval(y[k]);
        jit_launch_hold(false);
        alloc_fail_at(0);
        (void) jit_sync_thread();
        for (uint32_t k = 0; k < ARRAYS; ++k) {
            jit_error_clear();
            OK(jit_var_eval(y[k]) || jit_error() == JIT_OK);
            check_shifted(y[k], k, size_of(k), .25f);
            DROP(y[k]);
        }
    }
    cpu_launch_set_cache(0);
    for (uint32_t k = 0; k < ARRAYS; ++k)
        DROP(x[k]);
    DROP(by);
}

static void *stop(void *after)
{
    nanosleep(&(struct timespec){ 0, *(long *) after }, NULL);
    jit_interrupt();
    return NULL;
}

/* Wherever it is interrupted, evaluating it again gives what it would have given. */
static void test_interrupted(void **unused)
{
    (void) unused;
    enum { TIMES = 30 };
    OK(jit_llvm_set_thread_count(2));
    uint32_t x[ARRAYS], y[ARRAYS], by = opaque(3);
    for (uint32_t k = 0; k < ARRAYS; ++k)
        x[k] = new_array(k, size_of(k));
    for (uint32_t i = 0; i < TIMES; ++i) {
        pthread_t thread;
        long after = (long) i * 20000;
        for (uint32_t k = 0; k < ARRAYS; ++k)
            y[k] = shifted(x[k], by);
        assert_int_equal(pthread_create(&thread, NULL, stop, &after), 0);
        jit_launch_hold(true);
        for (uint32_t k = 0; k < ARRAYS; ++k)
            (void) jit_var_eval(y[k]);
        jit_launch_hold(false);
        (void) jit_sync_thread();
        pthread_join(thread, NULL);
        jit_error_clear();
        OK(jit_sync_thread() || jit_error() == JIT_ERROR_INTERRUPTED);
        for (uint32_t k = 0; k < ARRAYS; ++k) {
            OK(jit_var_eval(y[k]) || jit_error() == JIT_OK);
            check_shifted(y[k], k, size_of(k), 3);
            DROP(y[k]);
        }
    }
    for (uint32_t k = 0; k < ARRAYS; ++k)
        DROP(x[k]);
    DROP(by);
}

static int tests(void)
{
    const struct CMUnitTest list[] = { TEST(test_sizes),   TEST(test_fed),
                                       TEST(test_apart),   TEST(test_holding),
                                       TEST(test_held_elsewhere),
                                       TEST(test_memory),  TEST(test_interrupted) };
    return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void) { return run_engines(tests); }
