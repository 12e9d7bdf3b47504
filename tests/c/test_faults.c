/*
 * test_faults.c -- what threads, streams and evaluation once got wrong
 *
 * Nothing but the public interface is used, so the tests can be run with other builds
 * of the library, too. Each of them is a program that hung or crashed.
 */
#include "test_util.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}

static atomic_bool stop;
static _Atomic uint32_t stage, shared;

/* ------------------------------------------------------------- worker numbers */

static void *resize_pool(void *unused)
{
    for (uint32_t i = 0; !atomic_load(&stop); ++i) {
        jit_llvm_set_thread_count(i % 2 ? 8 : 1);
        sleep_ms(1);
    }
    return unused;
}

/* Tables of a sort are sized by the number of workers, which another thread changes. */
static void test_permutation_beside_resize(void **unused)
{
    (void) unused;
    enum { SIZE = 1 << 18, BLOCK = 256, KEYS = 4096 };
    const uint32_t threads = jit_llvm_thread_count();
    uint32_t *keys = malloc(SIZE * 4), *order = malloc(SIZE * 4);
    uint32_t *records = malloc((size_t) SIZE * 16);
    assert_true(keys && order && records);
    for (uint32_t i = 0; i < SIZE; ++i)
        keys[i] = i * 2654435761u % KEYS;
    atomic_store(&stop, false);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, resize_pool, NULL), 0);
    for (double end = now() + 1; now() < end;) {
        bool ok = false;
        jit_block_mkperm(CPU, keys, SIZE, BLOCK, KEYS, order, records, &ok);
        OK(ok);
        for (uint32_t i = 1; i < SIZE; ++i)
            if (i % BLOCK)
                assert_true(order[i] < SIZE && keys[order[i - 1]] <= keys[order[i]]);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    OK(jit_llvm_set_thread_count(threads));
    free(keys);
    free(order);
    free(records);
}

/* ------------------------------------------------------------------- shutdown */

static void *trace_on(void *unused)
{
    while (!atomic_load(&stop)) {
        uint32_t a = jit_var_u32(CPU, 7), b = jit_var_add(a, a);
        jit_var_dec_ref(a);
        jit_var_dec_ref(b);
    }
    return unused;
}

/* Leaks are those of threads in the midst of what they do. */
static void test_shutdown_while_tracing(void **unused)
{
    (void) unused;
    pthread_t threads[3];
    atomic_store(&stop, false);
    jit_set_log_level_stderr(LogLevelDisable);
    for (int i = 0; i < 3; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, trace_on, NULL), 0);
    for (double end = now() + 1; now() < end;) {
        jit_shutdown(0);
        OK(jit_init(CPU));
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 3; ++i)
        pthread_join(threads[i], NULL);
    jit_set_log_level_stderr(LogLevelWarn);
    jit_error_clear();
}

/* ----------------------------------------------------------------- graph lock */

static void *measure_stall(void *pointer)
{
    double last = now(), *worst = pointer;
    atomic_store(&stage, 1);
    while (!atomic_load(&stop)) {
        uint32_t a = jit_var_u32(CPU, 7), b = jit_var_add(a, a);
        jit_var_dec_ref(a);
        jit_var_dec_ref(b);
        double time = now();
        if (time - last > *worst)
            *worst = time - last;
        last = time;
    }
    return NULL;
}

/* A loop of many iterations: i = 0; while (i < count) ++i. */
static uint32_t long_loop(uint32_t count)
{
    uint32_t zero = 0, start = jit_var_literal(CPU, VarTypeUInt32, &zero, 1, 1);
    uint32_t state[1] = { start }, one = jit_var_u32(CPU, 1);
    uint32_t limit = jit_var_literal(CPU, VarTypeUInt32, &count, 1, 1);
    uint32_t loop = jit_var_loop_start(CPU, "count", 1, state);
    OK(loop);
    int again;
    do {
        uint32_t below = jit_var_lt(state[0], limit);
        again = jit_var_loop_cond(loop, below);
        jit_var_dec_ref(below);
        if (again > 0) {
            uint32_t next = jit_var_add(state[0], one);
            jit_var_dec_ref(state[0]);
            state[0] = next;
        }
    } while (again >= 0 && (again = jit_var_loop_end(loop, state)) == 0);
    jit_var_dec_ref(one);
    jit_var_dec_ref(limit);
    return state[0];
}

/* For how long could another thread not trace while a loop ran? */
static double stall_beside_loop(uint32_t count)
{
    double worst = 0;
    atomic_store(&stop, false);
    atomic_store(&stage, 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, measure_stall, &worst), 0);
    while (!atomic_load(&stage))
        sleep_ms(1);
    uint32_t x = long_loop(count), found = 0;
    OK(jit_var_eval(x) && jit_sync_thread());
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    OK(jit_var_read(x, 0, &found));
    assert_int_equal(found, count);
    jit_var_dec_ref(x);
    return worst;
}

/* Others trace while a loop of one lane runs for long. On a busy machine, a thread may
 * get no CPU for as long, but not each time. */
static void test_long_loop_beside_tracing(void **unused)
{
    (void) unused;
    uint32_t count = 1000;
    double took = 0;
    while (took < 0.4 && count < 2000000000u) { /* as long on any machine and engine */
        count *= 2;
        uint32_t x = long_loop(count);
        double since = now();
        OK(jit_var_eval(x) && jit_sync_thread());
        took = now() - since;
        jit_var_dec_ref(x);
    }
    double worst = took;
    for (int attempt = 0; attempt < 4 && worst > took / 2; ++attempt)
        worst = stall_beside_loop(count);
    if (worst > took / 2)
        fail_msg("another thread could not trace for %.3f s of %.3f s", worst, took);
}

static void trace_late(void *unused)
{
    (void) unused;
    sleep_ms(200);
    jit_var_dec_ref(jit_var_u32(CPU, 3));
}

static void *produce(void *unused)
{
    uint32_t x = jit_var_counter(CPU, 100);
    (void) jit_var_eval(x);
    atomic_store(&shared, x);
    (void) jit_enqueue_host_func(CPU, trace_late, NULL);
    return unused;
}

/* A host function in another stream traces while this thread needs what precedes it. */
static void test_host_function_beside_eval(void **unused)
{
    (void) unused;
    const uint32_t threads = jit_llvm_thread_count();
    alarm(10); /* a failure of this test is that it never ends */
    for (uint32_t count = 0; count < 3; ++count) {
        uint32_t found = 0, x = 0;
        OK(jit_llvm_set_thread_count(count));
        atomic_store(&shared, 0);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, produce, NULL), 0);
        while (!(x = atomic_load(&shared)))
            sleep_ms(1);
        sleep_ms(50); /* the function is running by now */
        uint32_t y = jit_var_add(x, x);
        OK(jit_var_eval(y) && jit_sync_thread());
        OK(jit_var_read(y, 7, &found));
        assert_int_equal(found, 14);
        pthread_join(thread, NULL);
        OK(jit_sync_all_devices());
        jit_var_dec_ref(x);
        jit_var_dec_ref(y);
    }
    alarm(0);
    OK(jit_llvm_set_thread_count(threads));
}

/* ----------------------------------------------------------- bytes in flight */

enum { ENTRIES = 4 << 20, ARRAYS = 40 }; /* 16 MiB each */

static void delay(void *unused)
{
    (void) unused;
    sleep_ms(100);
}

static void evaluate_kernel(uint32_t number)
{
    uint32_t lanes = jit_var_counter(CPU, ENTRIES), product;
    uint32_t factor = jit_var_u32(CPU, number + 3);
    product = jit_var_mul(lanes, factor);
    OK(jit_var_eval(product));
    DROP(lanes, factor, product);
}

static void evaluate_literal(uint32_t number)
{
    uint32_t array = jit_var_literal(CPU, VarTypeUInt32, &number, ENTRIES, 1);
    OK(array);
    jit_var_dec_ref(array);
}

static void evaluate_reduction(uint32_t array)
{
    uint32_t sums = jit_var_block_reduce(ReduceOpAdd, array, 2);
    OK(sums);
    jit_var_dec_ref(sums);
}

/* Variables of its own: equal ones would be shared. */
static void *evaluate_kernels(void *first)
{
    OK(jit_enqueue_host_func(CPU, delay, NULL));
    for (uint32_t i = 0; i < ARRAYS; ++i)
        evaluate_kernel(*(uint32_t *) first + i);
    OK(jit_sync_thread());
    return NULL;
}

/* However much is evaluated after something that takes long, and dropped: what is in
 * use at the same time is bounded. */
static void test_bytes_in_flight(void **unused)
{
    (void) unused;
    enum { THREADS = 4 };
    const size_t bound = ((size_t) 256 << 20) + 4 * 4 * (size_t) ENTRIES;
    uint32_t one = 1, source;
    source = jit_var_literal(CPU, VarTypeUInt32, &one, (size_t) 2 * ENTRIES, 1);
    void (*const kinds[])(uint32_t) = { evaluate_kernel, evaluate_literal,
                                        evaluate_reduction };
    for (size_t k = 0; k < COUNT_OF(kinds); ++k) {
        OK(jit_sync_thread());
        jit_malloc_clear_statistics();
        OK(jit_enqueue_host_func(CPU, delay, NULL));
        for (uint32_t i = 0; i < ARRAYS; ++i)
            kinds[k](k == 2 ? source : i + 1);
        OK(jit_sync_thread());
        if (jit_malloc_watermark(CPU) > bound)
            fail_msg("kind %zu: %zu MiB were in use", k,
                     jit_malloc_watermark(CPU) >> 20);
    }
    jit_var_dec_ref(source);
    pthread_t threads[THREADS];
    jit_malloc_clear_statistics();
    uint32_t first[THREADS] = { 1000, 2000, 3000, 4000 };
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, evaluate_kernels, &first[i]),
                         0);
    for (int i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
    if (jit_malloc_watermark(CPU) > bound + THREADS * 4 * (size_t) ENTRIES)
        fail_msg("%d threads: %zu MiB were in use", THREADS,
                 jit_malloc_watermark(CPU) >> 20);
}

/* An argument selects tests by name, with '*' and '?'. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { TEST(test_permutation_beside_resize),
                                        TEST(test_shutdown_while_tracing),
                                        TEST(test_long_loop_beside_tracing),
                                        TEST(test_host_function_beside_eval),
                                        TEST(test_bytes_in_flight) };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
