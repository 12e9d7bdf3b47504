/*
 * test_shortage.c -- when out of memory, nothing is lost without a word
 *
 * The allocator of the process is ours: in a window, requests from the n-th on fail,
 * one or several in a row, for each n until the window needs fewer. A value that can be
 * read afterwards has to be the right one. Nothing but the public interface is used, so
 * the tests can be run with other builds of the library, too.
 */
#include "test_util.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

/* ---------------------------------------------------------------- allocator */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *ptr, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_long requests, first_failing, failing_end;
static _Thread_local bool inside; /* of the window: this thread's requests may fail */

static bool fails(void)
{
    if (!inside || !atomic_load(&first_failing))
        return false;
    long n = atomic_fetch_add(&requests, 1) + 1;
    bool failing = n >= atomic_load(&first_failing) && n < atomic_load(&failing_end);
    if (failing)
        errno = ENOMEM;
    return failing;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *ptr, size_t size)
{
    return fails() ? NULL : __libc_realloc(ptr, size);
}

int posix_memalign(void **ptr, size_t alignment, size_t size)
{
    *ptr = fails() ? NULL : __libc_memalign(alignment, size);
    return *ptr ? 0 : ENOMEM;
}

/* From the n-th request of this thread on, 'count' requests fail. */
static void begin_window(long n, long count)
{
    atomic_store(&requests, 0);
    atomic_store(&failing_end, n + count);
    atomic_store(&first_failing, n);
    inside = true;
}

/* The requests that there were; the window ends for all threads. */
static long end_window(void)
{
    inside = false;
    atomic_store(&first_failing, 0);
    return atomic_load(&requests);
}

enum { MOST_REQUESTS = 2000, ALL = 1000000 };
static const long in_a_row[] = { 1, 2, 5, ALL };

/* ---------------------------------------------------------------------- sums */

enum { ENTRIES = 64, LANES = 100000, ENTRY = 3, BEFORE = 5, WRITTEN = 42 };

/* table[i % ENTRIES] += 1: the sums, or what was said about them. True if the window
 * took all the requests. */
static bool check_sums(ReduceMode mode, long n, long count)
{
    const uint32_t expected = BEFORE + LANES / ENTRIES + (ENTRY < LANES % ENTRIES);
    uint32_t before = BEFORE, table = jit_var_literal(CPU, VarTypeUInt32, &before,
                                                      ENTRIES, 1);
    uint32_t lanes = jit_var_counter(CPU, LANES), last = jit_var_u32(CPU, ENTRIES - 1);
    uint32_t index = jit_var_and(lanes, last), one = jit_var_u32(CPU, 1), found = 0;
    OK(index && one && table);
    begin_window(n, count);
    uint32_t sums = jit_var_scatter(table, one, index, ALWAYS, ReduceOpAdd, mode);
    bool evaluated = sums && jit_var_eval(sums);
    bool all = end_window() >= n;
    if (!evaluated)
        assert_int_equal(jit_error(), JIT_ERROR_MEMORY);
    jit_error_clear();
    if (!sums) {
        OK(jit_var_read(table, ENTRY, &found));
        assert_int_equal(found, BEFORE);
    } else if (jit_var_read(sums, ENTRY, &found) && found != expected) {
        fail_msg("mode %d, %ld requests from %ld on: %u is read, expected %u", mode,
                 count, n, found, expected);
    }
    DROP(table, lanes, last, index, one);
    if (sums)
        jit_var_dec_ref(sums);
    jit_error_clear();
    OK(jit_sync_thread());
    return all;
}

static void test_sums(void **unused)
{
    (void) unused;
    static const ReduceMode modes[] = { ReduceModeAuto, ReduceModeDirect,
                                        ReduceModeLocal, ReduceModeExpand };
    OK(jit_llvm_set_thread_count(2));
    for (size_t m = 0; m < COUNT_OF(modes); ++m)
        for (size_t k = 0; k < COUNT_OF(in_a_row); ++k) {
            long n = 1;
            while (n < MOST_REQUESTS && check_sums(modes[m], n, in_a_row[k]))
                ++n;
            assert_true(n > 1 && n < MOST_REQUESTS);
        }
}

/* -------------------------------------------------------------------- writes */

/* table[ENTRY] = WRITTEN, queued; tables of different sizes are different kernels. */
static uint32_t queue_write(uint32_t size)
{
    uint32_t before = BEFORE, table = jit_var_literal(CPU, VarTypeUInt32, &before, size,
                                                      1);
    uint32_t index = jit_var_u32(CPU, ENTRY), value = jit_var_u32(CPU, WRITTEN);
    uint32_t out = jit_var_scatter(table, value, index, ALWAYS, ReduceOpIdentity, 0);
    DROP(table, index, value);
    return out;
}

/* It is there, or reading fails. */
static void check_write(uint32_t table, const char *what, long n)
{
    uint32_t found = 0;
    if (jit_var_read(table, ENTRY, &found) && found != WRITTEN)
        fail_msg("%s, from request %ld on: %u is read, expected %d", what, n, found,
                 WRITTEN);
    jit_error_clear();
    jit_var_dec_ref(table);
}

enum { WRITES = 40 };
static uint32_t queued[WRITES];

static void *queue_and_end(void *n)
{
    for (uint32_t i = 0; i < WRITES; ++i)
        queued[i] = queue_write(ENTRIES + i);
    begin_window(*(long *) n, ALL); /* while the thread ends */
    return NULL;
}

/* A thread ends that has queued writes. */
static void test_thread_ends(void **unused)
{
    (void) unused;
    for (long n = 1; n < 20; ++n) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, queue_and_end, &n), 0);
        pthread_join(thread, NULL);
        end_window();
        for (uint32_t i = 0; i < WRITES; ++i)
            check_write(queued[i], "a write of a thread that has ended", n);
    }
}

static long window_begin, window_count; /* 0: the callback does nothing */

/* In the midst of an evaluation: queues writes, out of memory from then on. */
static void queue_in_callback(LogLevel level, const char *message)
{
    (void) level;
    if (!window_begin || !strstr(message, "launching"))
        return;
    for (uint32_t i = 0; i < WRITES; ++i)
        queued[i] = queue_write(ENTRIES + i);
    begin_window(window_begin, window_count);
    window_begin = 0;
}

static bool check_callback(long n, long count)
{
    uint32_t lanes = jit_var_counter(CPU, (size_t) (5000 + n));
    uint32_t own = queue_write((uint32_t) (1000 + n));
    uint32_t square = jit_var_mul(lanes, lanes);
    OK(own && square);
    jit_flush_kernel_cache();
    jit_var_schedule(square);
    window_count = count;
    window_begin = n;
    (void) jit_eval();
    bool all = end_window() >= n;
    assert_int_equal(window_begin, 0);
    jit_error_clear();
    for (uint32_t i = 0; i < WRITES; ++i)
        check_write(queued[i], "a write queued by a callback", n);
    check_write(own, "a write before it", n);
    DROP(square, lanes);
    return all;
}

static void test_log_callback(void **unused)
{
    (void) unused;
    jit_set_log_level_stderr(LogLevelDisable);
    jit_set_log_level_callback(LogLevelInfo, queue_in_callback);
    for (size_t k = 0; k < COUNT_OF(in_a_row); ++k) {
        long n = 1;
        while (n < MOST_REQUESTS && check_callback(n, in_a_row[k]))
            n += n > 100 && engine_is("llvm") ? 7 : 1; /* a compile takes many */
        assert_true(n > 1 && n < MOST_REQUESTS);
    }
    jit_set_log_level_callback(LogLevelDisable, NULL);
    jit_set_log_level_stderr(LogLevelWarn);
}

/* ----------------------------------------------------------------- callbacks */

static uint32_t delivered, lost, farewells, evaluated, freed;

/* As long as it traces, the graph lock must not be held: that would never end. */
static void trace_something(void)
{
    bool before = inside;
    inside = false;
    jit_var_dec_ref(jit_var_u32(CPU, 7));
    inside = before;
}

static void on_print(const JitPrintRecords *records, void *unused)
{
    (void) unused;
    delivered += records != NULL;
    farewells += records == NULL;
    trace_something();
}

static void *trace_in_thread(void *unused)
{
    trace_something();
    return unused;
}

static void count_losses(LogLevel level, const char *message)
{
    (void) level;
    lost += strstr(message, "lost") != NULL;
}

/* Values are delivered, or the log says that they are lost; the farewell comes once. */
static bool check_print(long n, long count)
{
    uint32_t value = 5, x = jit_var_literal(CPU, VarTypeUInt32, &value, 4, 1);
    delivered = lost = farewells = 0;
    OK(jit_var_print(0, 1, &x, 10, on_print, NULL));
    begin_window(n, count);
    (void) jit_eval();
    bool all = end_window() >= n;
    jit_error_clear();
    OK(jit_eval() && jit_sync_thread()); /* there is memory again */
    assert_true(delivered == 1 || (!delivered && lost));
    assert_int_equal(farewells, 1);
    jit_var_dec_ref(x);
    return all;
}

static void on_variable(uint32_t index, int is_freed, void *unused)
{
    (void) index;
    (void) unused;
    evaluated += !is_freed;
    freed += is_freed;
    trace_something();
}

/* Who waits for a variable's end is told of it, whatever fails. */
static bool check_variable(long n, long count)
{
    uint32_t lanes = jit_var_counter(CPU, 100), square = jit_var_mul(lanes, lanes);
    evaluated = freed = 0;
    OK(jit_var_set_callback(square, on_variable, NULL));
    begin_window(n, count);
    bool ok = jit_var_eval(square);
    jit_var_dec_ref(square);
    bool all = end_window() >= n;
    jit_error_clear();
    assert_int_equal(evaluated, ok);
    jit_var_dec_ref(lanes);
    OK(jit_eval()); /* what was scheduled is let go */
    assert_int_equal(freed, 1);
    return all;
}

static void check_windows(bool (*check)(long n, long count))
{
    for (size_t k = 0; k < COUNT_OF(in_a_row); ++k) {
        long n = 1;
        while (n < MOST_REQUESTS && check(n, in_a_row[k]))
            ++n;
        assert_true(n > 1 && n < MOST_REQUESTS);
    }
}

static void test_callbacks(void **unused)
{
    (void) unused;
    pthread_t thread; /* the lock is no longer one thread's own */
    assert_int_equal(pthread_create(&thread, NULL, trace_in_thread, NULL), 0);
    pthread_join(thread, NULL);
    jit_set_log_level_callback(LogLevelWarn, count_losses);
    alarm(60); /* a failure of this test is that it never ends */
    check_windows(check_print);
    check_windows(check_variable);
    alarm(0);
    jit_set_log_level_callback(LogLevelDisable, NULL);
}

/* --------------------------------------------------------------- a limit */

/* Bytes of address space of this process. */
static size_t address_space(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%zu", &pages), 1);
    fclose(file);
    return pages * (size_t) sysconf(_SC_PAGESIZE);
}

enum { LARGE = 4 << 20, EVALUATIONS = 60, SPARE = 150 }; /* 16 MiB, not 960, but 150 */

static void delay(void *unused)
{
    (void) unused;
    nanosleep(&(struct timespec){ .tv_nsec = 100000000L }, NULL);
}

/* Evaluate and drop: a kernel, a filled array, a sort, which needs as much again. */
static bool evaluate_large(uint32_t kind, uint32_t number)
{
    uint32_t lanes = jit_var_counter(CPU, LARGE), factor = jit_var_u32(CPU, number + 3);
    uint32_t out = kind == 0 ? jit_var_mul(lanes, factor)
                 : kind == 1 ? jit_var_literal(CPU, VarTypeUInt32, &number, LARGE, 1)
                             : jit_var_sort(lanes, LARGE, 0);
    bool ok = out != 0;
    if (ok && kind == 0)
        ok = jit_var_eval(out);
    DROP(lanes, factor);
    if (out)
        jit_var_dec_ref(out);
    return ok;
}

/* With little address space, what waiting can avoid is not an error. */
static void evaluate_with_limit(void)
{
    for (uint32_t kind = 0; kind < 3; ++kind) /* threads, kernels and their memory */
        OK(evaluate_large(kind, 1000 + kind));
    OK(jit_sync_thread());
    jit_flush_malloc_cache();
    size_t limit = address_space() + ((size_t) SPARE << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &(struct rlimit){ limit, limit }), 0);
    for (uint32_t kind = 0; kind < 3; ++kind) {
        OK(jit_enqueue_host_func(CPU, delay, NULL));
        for (uint32_t i = 0; i < (kind == 2 ? 5 : EVALUATIONS); ++i)
            if (!evaluate_large(kind, i))
                fail_msg("kind %u, %u: %zu MiB of address space, %zu at first: %s",
                         kind, i, address_space() >> 20, (limit >> 20) - SPARE,
                         jit_error_message());
    }
    OK(jit_sync_thread());
}

static void test_address_space(void **unused)
{
    (void) unused;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        evaluate_with_limit();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int tests(void)
{
    const struct CMUnitTest list[] = { TEST(test_sums), TEST(test_thread_ends),
                                       TEST(test_log_callback), TEST(test_callbacks),
                                       TEST(test_address_space) };
    return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void)
{
    return run_engines(tests) ? 1 : 0;
}
