/*
 * test_regressions.c -- faults that were found by reading, each kept out by a test
 *
 * Most of them need something to happen at the one moment when an evaluation has
 * released the graph lock (to compile). Callbacks of variables are delivered exactly
 * then, so one thread can play both parts and the tests are deterministic.
 */
#include "test_util.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SIZE = 3000 };

static uint32_t with(uint32_t (*op)(uint32_t, uint32_t), uint32_t a, uint32_t value)
{
    uint32_t literal = jit_var_u32(CPU, value), result = op(a, literal);
    jit_var_dec_ref(literal);
    return result;
}

/* A number that makes a kernel new to all caches of this run. */
static uint32_t unique(void)
{
    static uint32_t last;
    return ++last * 2654435761u | 1;
}

static uint32_t entry(uint32_t id, size_t offset)
{
    uint32_t value = 0xdeadbeef;
    OK(jit_var_read(id, offset, &value));
    return value;
}

/* target[i] = value, for all i; the reference to the target moves along. */
static void write_all(uint32_t *target, uint32_t size, uint32_t value, ReduceOp op)
{
    uint32_t index = jit_var_counter(CPU, size), v = jit_var_u32(CPU, value);
    uint32_t written =
        jit_var_scatter(*target, v, index, 0, op, ReduceModeNoConflicts);
    assert_int_not_equal(written, 0);
    DROP(*target, index, v);
    *target = written;
}

/* Queue a write to an array that is gone. The next evaluation drops it first of all,
 * with the written value, whose callback is called when that evaluation has assembled
 * its first kernel and releases the lock to compile it. */
static void queue_unseen_write(void (*callback)(uint32_t, int, void *))
{
    uint32_t counter = jit_var_counter(CPU, 16), target = fill_u32(16, 0);
    uint32_t value = with(jit_var_add, counter, unique());
    OK(jit_var_set_callback(value, callback, NULL));
    advance(&target, jit_var_scatter(target, value, counter, 0, ReduceOpIdentity,
                                     ReduceModeDirect));
    DROP(counter, value, target);
}

/* ------------------------------------------------- evaluated behind one's back */

static uint32_t watched, reused;

static void evaluate_watched(uint32_t index, int freed, void *payload)
{
    (void) index;
    (void) payload;
    if (!freed)
        return;
    OK(jit_var_eval(watched));
    OK(jit_sync_thread());
    reused = fill_u32(SIZE, 99); /* takes the memory of what was freed */
}

/* While the kernel of a write is compiled, the written value is evaluated by somebody
 * else, and the arrays it was computed from are freed. */
static void test_inputs_stay_alive(void **unused)
{
    (void) unused;
    uint32_t x = fill_u32(SIZE, 5), target = fill_u32(SIZE, 0), number = unique();
    watched = with(jit_var_add, x, number);
    queue_unseen_write(evaluate_watched);
    uint32_t index = jit_var_counter(CPU, SIZE);
    uint32_t last = with(jit_var_mul, watched, 3);
    advance(&target, jit_var_scatter(target, last, index, 0, ReduceOpIdentity,
                                     ReduceModeNoConflicts));
    DROP(x, last, index);
    OK(jit_eval());
    assert_int_equal(entry(watched, SIZE - 1), 5 + number);
    assert_int_equal(entry(target, SIZE - 1), (5 + number) * 3);
    DROP(watched, reused, target);
}

/* ------------------------------------------------------------ order of effects */

/* A kernel that also stores the result of an atomic runs the write queued before it
 * first. */
static void test_write_before_atomic(void **unused)
{
    (void) unused;
    uint32_t x = fill_u32(16, 0);
    write_all(&x, 16, 5, ReduceOpIdentity);
    uint32_t index = jit_var_counter(CPU, 16);
    uint32_t old = jit_var_scatter_inc(&x, index, 0);
    OK(jit_var_eval(old));
    assert_int_equal(entry(old, 3), 5);
    assert_int_equal(entry(x, 3), 6);
    DROP(x, index, old);
}

/* A write is needed although its array is gone, when an atomic tells what was there. */
static void test_write_seen_by_atomic(void **unused)
{
    (void) unused;
    uint32_t x = fill_u32(16, 0);
    write_all(&x, 16, 5, ReduceOpIdentity);
    uint32_t index = jit_var_counter(CPU, 16);
    uint32_t old = jit_var_scatter_inc(&x, index, 0);
    jit_var_dec_ref(x);
    OK(jit_var_eval(old));
    assert_int_equal(entry(old, 15), 5);
    DROP(index, old);
}

/* ------------------------------------------------------------ spent atomics */

static void test_spent_atomic(void **unused)
{
    (void) unused;
    uint32_t x = fill_u32(16, 0), index = jit_var_counter(CPU, 16);
    uint32_t old = jit_var_scatter_inc(&x, index, 0);
    OK(jit_eval()); /* nobody asked for the previous values: they are gone */
    uint32_t one = jit_var_u32(CPU, 1);
    jit_error_clear();
    assert_false(jit_var_eval(old));
    assert_int_equal(jit_error(), JIT_ERROR_STATE);
    jit_error_clear();
    assert_false(jit_var_schedule(old));
    assert_int_equal(jit_error(), JIT_ERROR_STATE);
    jit_error_clear();
    assert_int_equal(jit_var_scatter(old, one, index, 0, ReduceOpAdd, ReduceModeAuto),
                     0);
    assert_int_equal(jit_error(), JIT_ERROR_STATE);
    jit_error_clear();
    DROP(x, index, old, one);
}

/* ------------------------------------------------------------------- threads */

static _Atomic int stage;

static void wait_for(int wanted)
{
    while (atomic_load(&stage) < wanted)
        usleep(200);
}

/* Runs in the thread that took over the other's writes, before any of them ran. */
static void let_other_write(uint32_t index, int freed, void *payload)
{
    (void) index;
    (void) payload;
    if (!freed || atomic_load(&stage) != 1)
        return;
    atomic_store(&stage, 2);
    usleep(100000);
}

static void *read_shared(void *payload)
{
    uint32_t *z = payload;
    wait_for(1);
    uint32_t value = 0;
    if (!jit_var_read(*z, 1, &value) || value != 9)
        *z = 0;
    return NULL;
}

/* Thread R reads an array that W has queued writes into, and so runs W's writes. What W
 * writes meanwhile comes after them all the same. */
static void test_order_across_threads(void **unused)
{
    (void) unused;
    atomic_store(&stage, 0);
    uint32_t x = fill_u32(SIZE, 0), z = fill_u32(SIZE, 0);
    queue_unseen_write(let_other_write);
    write_all(&z, SIZE, 9, ReduceOpIdentity);
    write_all(&x, SIZE, unique(), ReduceOpIdentity);
    pthread_t reader;
    uint32_t shared = z;
    assert_int_equal(pthread_create(&reader, NULL, read_shared, &shared), 0);
    atomic_store(&stage, 1);
    wait_for(2);
    write_all(&x, SIZE, 2, ReduceOpIdentity);
    uint32_t found = entry(x, SIZE - 1);
    pthread_join(reader, NULL);
    assert_int_equal(found, 2);
    assert_int_equal(entry(x, 0), 2);
    assert_int_equal(shared, z);
    DROP(x, z);
}

static void *write_and_stay(void *payload)
{
    uint32_t *x = payload;
    write_all(x, 16, 4, ReduceOpIdentity);
    atomic_store(&stage, 1);
    wait_for(2);
    return NULL;
}

/* jit_var_eval() does what is pending, no matter who queued it. */
static void test_eval_of_foreign_write(void **unused)
{
    (void) unused;
    atomic_store(&stage, 0);
    uint32_t x = fill_u32(16, 0);
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, write_and_stay, &x), 0);
    wait_for(1);
    OK(jit_var_is_dirty(x));
    OK(jit_var_eval(x));
    assert_false(jit_var_is_dirty(x));
    atomic_store(&stage, 2);
    pthread_join(writer, NULL);
    assert_int_equal(entry(x, 1), 4);
    jit_var_dec_ref(x);
}

static void *write_and_end(void *payload)
{
    write_all(payload, 16, 4, ReduceOpIdentity);
    return NULL;
}

static void *start_and_end(void *payload)
{
    uint32_t *x = payload;
    if (jit_init(CPU))
        *x = fill_u32(16, 1);
    return write_and_end(payload);
}

/* The same when the thread that queued them was the only one the library knew. */
static void test_last_thread_ends(void **unused)
{
    (void) unused;
    jit_shutdown(0); /* forgets this thread */
    uint32_t x = 0;
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, start_and_end, &x), 0);
    pthread_join(writer, NULL);
    assert_int_equal(entry(x, 1), 4);
    jit_var_dec_ref(x);
}

static void *outlive_shutdown(void *payload)
{
    uint32_t *ok = payload;
    jit_set_source_location("worker.c", 12);
    uint32_t x = fill_u32(SIZE, 3);
    *ok = entry(x, 1) == 3;
    jit_var_dec_ref(x);
    atomic_store(&stage, 1);
    wait_for(2);
    uint32_t y = fill_u32(SIZE, 4), z = with(jit_var_add, y, 1);
    *ok += entry(z, SIZE - 1) == 5;
    DROP(y, z);
    return NULL;
}

/* Threads that live through a shutdown find everything they need afterwards. */
static void test_shutdown_beside_threads(void **unused)
{
    (void) unused;
    atomic_store(&stage, 0);
    uint32_t ok = 0;
    jit_set_source_location("main.c", 7);
    uint32_t leaked = jit_var_counter(CPU, 10);
    pthread_t worker;
    assert_int_equal(pthread_create(&worker, NULL, outlive_shutdown, &ok), 0);
    wait_for(1);
    jit_set_log_level_stderr(LogLevelError); /* a leak is intended */
    assert_int_equal(jit_shutdown(0), leaked_before + 1);
    jit_set_log_level_stderr(LogLevelWarn);
    OK(jit_init(CPU));
    atomic_store(&stage, 2);
    uint32_t x = fill_u32(SIZE, 6), y = with(jit_var_add, x, 1);
    assert_int_equal(entry(y, 2), 7);
    pthread_join(worker, NULL);
    assert_int_equal(ok, 2);
    jit_set_flag(JitFlagDebug, 1);
    uint32_t text = jit_var_gather(x, leaked, 0); /* names the check by its location */
    OK(jit_var_eval(text));
    jit_set_source_location(NULL, 0);
    DROP(x, y, leaked, text);
}

static void grow_pool(uint32_t index, int freed, void *payload)
{
    (void) index;
    (void) freed;
    (void) payload;
    OK(jit_llvm_set_thread_count(16));
}

/* More workers than there are private copies: those to spare do not take part. */
static void test_pool_grows(void **unused)
{
    (void) unused;
    const uint32_t lanes = 1u << 20, threads = jit_llvm_thread_count();
    OK(jit_llvm_set_thread_count(2));
    uint32_t x = fill_u32(64, 1), counter = jit_var_counter(CPU, lanes);
    queue_unseen_write(grow_pool);
    uint32_t index = with(jit_var_mod, counter, 64);
    advance(&x, jit_var_scatter(x, counter, index, 0, ReduceOpAdd, ReduceModeExpand));
    uint32_t expected = 0;
    for (uint32_t i = 0; i < lanes; i += 64)
        expected += i;
    OK(jit_eval());
    assert_int_equal(entry(x, 0), expected + 1);
    DROP(x, counter, index);
    OK(jit_llvm_set_thread_count(threads));
}

static void call_back_in(void *payload)
{
    uint32_t *sum = payload, a = jit_var_u32(CPU, 40);
    *sum = (uint32_t) jit_var_size(a) + 1;
    jit_var_dec_ref(a);
}

/* A host function may use variables while another thread waits for the stream. */
static void test_host_function_traces(void **unused)
{
    (void) unused;
    alarm(60); /* a failure of this test is that it never ends */
    for (uint32_t i = 0; i < 20; ++i) {
        uint32_t sum = 0, counter = jit_var_counter(CPU, 100000);
        uint32_t y = with(jit_var_add, counter, i);
        OK(jit_enqueue_host_func(CPU, call_back_in, &sum));
        OK(jit_var_eval(y));
        assert_int_equal(entry(y, 99999), 99999 + i);
        OK(jit_sync_thread());
        assert_int_equal(sum, 2);
        DROP(counter, y);
    }
    alarm(0);
}

/* An argument selects tests by name, with '*' and '?'. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_inputs_stay_alive), TEST(test_write_before_atomic),
        TEST(test_write_seen_by_atomic), TEST(test_spent_atomic),
        TEST(test_order_across_threads), TEST(test_eval_of_foreign_write),
        TEST(test_last_thread_ends), TEST(test_shutdown_beside_threads),
        TEST(test_pool_grows), TEST(test_host_function_traces)
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
