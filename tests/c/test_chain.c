/*
 * test_chain.c -- launches that are run on some rows, one after the other, before they
 * are run on the next (cpu_chain.c)
 *
 * That this happens is seen by commands that have joined another one; the reference is
 * the same with launches that are waited for, one by one.
 */
#include "test_util.h"

#include <pthread.h>
#include <time.h>

#include "device/cpu/cpu_job.h"
#include "eval_util.h"
#include "watch_joined.h"

enum { ROWS = 1100 };

/* ------------------------------------------------------------- what is seen */

/* A first run may have to wait for its kernels. */
static void check_joined(bool first, uint32_t expected)
{
    uint32_t found = end_watching();
    assert_true(first || found == expected);
}

/* ------------------------------------------------------------------ programs */

static uint32_t rows_of(uint32_t size, uint32_t length, uint32_t shift)
{
    uint32_t lane = jit_var_counter(CPU, size), by = jit_var_u32(CPU, length);
    uint32_t row = jit_var_div(lane, by), more = jit_var_u32(CPU, shift);
    advance(&row, jit_var_add(row, more));
    uint32_t last = jit_var_u32(CPU, size / length - 1);
    if (shift)
        advance(&row, jit_var_min(row, last));
    DROP(lane, by, more, last);
    OK(row);
    return row;
}

/* Softmax of rows; or with 'shift' of what nobody needs, since rows take the sum of
 * another one. What it is made of goes to 'parts', if that is not NULL. */
static uint32_t softmax(uint32_t x, uint32_t length, uint32_t shift, uint32_t *parts)
{
    uint32_t row = rows_of(ROWS * length, length, 0);
    uint32_t other = rows_of(ROWS * length, length, shift);
    uint32_t most = jit_var_block_reduce(ReduceOpMax, x, length);
    uint32_t repeated = jit_var_gather(most, row, ALWAYS);
    uint32_t apart = jit_var_sub(x, repeated), e = jit_var_exp(apart);
    uint32_t sum = jit_var_block_reduce(ReduceOpAdd, e, length);
    uint32_t divisor = jit_var_gather(sum, other, ALWAYS);
    uint32_t y = jit_var_div(e, divisor);
    OK(y);
    DROP(row, other, repeated, apart, divisor);
    if (parts) {
        parts[0] = most;
        parts[1] = e;
        parts[2] = sum;
    } else {
        DROP(most, e, sum);
    }
    return y;
}

/* The same divided by the square root of the mean of the squares: that is computed from
 * a sum, for each row. */
static uint32_t normalised(uint32_t x, uint32_t length)
{
    uint32_t row = rows_of(ROWS * length, length, 0);
    uint32_t square = jit_var_mul(x, x);
    uint32_t sum = jit_var_block_reduce(ReduceOpAdd, square, length);
    uint32_t count = jit_var_f32(CPU, (float) length);
    uint32_t mean = jit_var_div(sum, count), root = jit_var_sqrt(mean);
    uint32_t divisor = jit_var_gather(root, row, ALWAYS), y = jit_var_div(x, divisor);
    OK(y);
    DROP(row, square, sum, count, mean, root, divisor);
    return y;
}

static uint32_t new_rows(VarType type, uint32_t length)
{
    double *data = malloc((size_t) ROWS * length * sizeof *data);
    for (uint32_t i = 0; i < ROWS * length; ++i)
        data[i] = (double) (int64_t) random_bits() * 0x1p-61;
    uint32_t wide = array_of(VarTypeFloat64, data, (size_t) ROWS * length);
    uint32_t x = jit_var_cast(wide, type, 0);
    OK(jit_var_eval(x) || jit_error() == JIT_OK);
    DROP(wide);
    free(data);
    return x;
}

static void check_same(uint32_t id, uint32_t other)
{
    size_t bytes = jit_var_size(id) * type_of(jit_var_type(id))->size;
    void *a, *b;
    uint32_t x = jit_var_data(id, &a), y = jit_var_data(other, &b);
    OK(x && y && jit_sync_thread());
    assert_memory_equal(a, b, bytes);
    DROP(x, y);
}

static uint32_t softmax_apart(uint32_t x, uint32_t length, uint32_t shift)
{
    jit_set_flag(JitFlagLaunchBlocking, 1);
    uint32_t y = softmax(x, length, shift, NULL);
    OK(jit_var_eval(y));
    jit_set_flag(JitFlagLaunchBlocking, 0);
    return y;
}

/* ---------------------------------------------------------------------- tests */

static void test_joined(void **unused)
{
    (void) unused;
    static const VarType types[] = { VarTypeFloat32, VarTypeFloat64 };
    static const uint32_t lengths[] = { 1000, 1024, 777 };
    OK(jit_llvm_set_thread_count(2));
    for (uint32_t t = 0; t < COUNT_OF(types); ++t)
        for (uint32_t i = 0; i < COUNT_OF(lengths); ++i) {
            uint32_t x = new_rows(types[t], lengths[i]);
            uint32_t expected = softmax_apart(x, lengths[i], 0);
            for (uint32_t k = 0; k < 2; ++k) { /* then its kernels are at hand */
                begin_watching();
                uint32_t y = softmax(x, lengths[i], 0, NULL);
                OK(jit_var_eval(y));
                check_joined(!k, 2);
                check_same(y, expected);
                DROP(y);
            }
            DROP(x, expected);
        }
}

/* What the program holds is written. */
static void test_kept(void **unused)
{
    (void) unused;
    enum { LENGTH = 1000 };
    OK(jit_llvm_set_thread_count(2));
    uint32_t x = new_rows(VarTypeFloat32, LENGTH), parts[2][3], y[2];
    for (uint32_t k = 0; k < 2; ++k) {
        jit_set_flag(JitFlagLaunchBlocking, (int) k);
        for (uint32_t again = 0; again < 2; ++again) {
            begin_watching();
            y[k] = softmax(x, LENGTH, 0, parts[k]);
            OK(jit_var_eval(y[k]));
            check_joined(!again, k ? 0 : 2);
            if (!again)
                DROP(y[k], parts[k][0], parts[k][1], parts[k][2]);
        }
    }
    check_same(y[0], y[1]);
    for (uint32_t i = 0; i < 3; ++i) {
        check_same(parts[0][i], parts[1][i]);
        DROP(parts[0][i], parts[1][i]);
    }
    DROP(x, y[0], y[1]);
}

/* A launch with a lane for each row is part of it. */
static void test_lane_a_row(void **unused)
{
    (void) unused;
    enum { LENGTH = 1000 };
    OK(jit_llvm_set_thread_count(2));
    uint32_t x = new_rows(VarTypeFloat32, LENGTH), y[3];
    for (uint32_t k = 0; k < 3; ++k) {
        jit_set_flag(JitFlagLaunchBlocking, k == 2);
        begin_watching();
        y[k] = normalised(x, LENGTH);
        OK(jit_var_eval(y[k]));
        check_joined(!k, k == 1 ? 2 : 0);
    }
    check_same(y[0], y[2]);
    check_same(y[1], y[2]);
    DROP(x, y[0], y[1], y[2]);
}

/* Rows that need those of others wait for all of them. */
static void test_apart(void **unused)
{
    (void) unused;
    enum { LENGTH = 1000 };
    OK(jit_llvm_set_thread_count(2));
    uint32_t x = new_rows(VarTypeFloat32, LENGTH);
    uint32_t expected = softmax_apart(x, LENGTH, 1);
    for (uint32_t k = 0; k < 2; ++k) {
        begin_watching();
        uint32_t y = softmax(x, LENGTH, 1, NULL);
        OK(jit_var_eval(y));
        check_joined(!k, 1); /* maximum and sum */
        check_same(y, expected);
        DROP(y);
    }
    DROP(x, expected);
}

/* ------------------------------------------------------------- a small one first */

static uint32_t last_workers; /* of the job of a head that others have joined */

static void note_workers(void *unused, const Command *command,
                         const CommandResult *result)
{
    (void) unused;
    (void) result;
    if (command->joined)
        last_workers = ((const CpuJob *) command->job)->workers;
}

static void watch_workers(void *unused, const Command *command)
{
    (void) unused;
    ((Command *) (uintptr_t) command)->done = note_workers;
}

static uint32_t steps_of(uint32_t x, uint32_t count)
{
    uint32_t scale = jit_var_f32(CPU, 0.999f), shift = jit_var_f32(CPU, 0.001f);
    jit_var_inc_ref(x);
    for (uint32_t i = 0; i < count; ++i)
        advance(&x, jit_var_fma(x, scale, shift));
    DROP(scale, shift);
    return x;
}

/* What the first one alone would not be worth is for all threads if others are. */
static void test_small_first(void **unused)
{
    (void) unused;
    enum { SIZE = 100000, FEW = 1, MANY = 2000 };
    OK(jit_llvm_set_thread_count(2));
    float *data = calloc(SIZE, sizeof *data);
    uint32_t x = array_of(VarTypeFloat32, data, SIZE), y[2], z[2];
    free(data);
    for (uint32_t k = 0; k < 2; ++k) {
        for (uint32_t again = 0; again < 2; ++again) {
            if (again)
                DROP(y[k], z[k]);
            OK(jit_sync_thread());
            Stream *stream = stream_self(device_find(CPU, 0));
            stream_set_tap(stream, watch_workers, NULL);
            last_workers = 0;
            jit_launch_hold(!k);
            y[k] = steps_of(x, FEW);
            OK(jit_var_eval(y[k]));
            z[k] = steps_of(y[k], MANY);
            OK(jit_var_eval(z[k]));
            if (!k)
                jit_launch_hold(false);
            OK(jit_sync_thread());
            stream_set_tap(stream, NULL, NULL);
        }
        assert_true(k || last_workers == 2);
    }
    check_same(y[0], y[1]);
    check_same(z[0], z[1]);
    DROP(x, y[0], y[1], z[0], z[1]);
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
    enum { LENGTH = 1000, TIMES = 40 };
    OK(jit_llvm_set_thread_count(2));
    uint32_t x = new_rows(VarTypeFloat32, LENGTH);
    uint32_t expected = softmax_apart(x, LENGTH, 0), stopped = 0;
    for (uint32_t i = 0; i < TIMES; ++i) {
        pthread_t thread;
        long after = (long) i * 100000;
        uint32_t y = softmax(x, LENGTH, 0, NULL);
        assert_int_equal(pthread_create(&thread, NULL, stop, &after), 0);
        bool ok = jit_var_eval(y) && jit_sync_thread();
        pthread_join(thread, NULL);
        stopped += !ok;
        OK(jit_sync_thread() || jit_error() == JIT_ERROR_INTERRUPTED);
        OK(jit_var_eval(y) || jit_error() == JIT_OK);
        check_same(y, expected);
        DROP(y);
    }
    print_message("%u of %u were interrupted\n", stopped, (uint32_t) TIMES);
    DROP(x, expected);
}

static int tests(void)
{
    const struct CMUnitTest list[] = { TEST(test_joined), TEST(test_kept),
                                       TEST(test_lane_a_row), TEST(test_apart),
                                       TEST(test_small_first),
                                       TEST(test_interrupted) };
    return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void) { return run_engines(tests); }
