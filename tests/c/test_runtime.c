/*
 * test_runtime.c -- buffers, pool and events; every step fails once
 */
#include "emulated.h"
#include "runtime_util.h"

#include <signal.h>

/* ------------------------------------------------------------------ buffers */

static void buffer_alignment_and_padding(void **state)
{
    (void) state;
    for (size_t size = 1; size < ((size_t) 9 << 20); size += 1 + size / 3) {
        Buffer *b = get_buffer(size);
        assert_int_equal((uintptr_t) b->address % 64, 0);
        assert_int_equal(b->size, size);
        /* AddressSanitizer and valgrind watch over the end. */
        memset(b->address, 0x5a, size + 64);
        buffer_release(b);
    }
}

static void buffer_reuse_by_class(void **state)
{
    (void) state;
    /* Sizes of one class on either side of its bounds: 81 ... 96 and 97 ... 112. */
    Buffer *b = get_buffer(81);
    void *data = b->address;
    buffer_release(b);
    assert_int_equal(buffer_stats(cpu_device()).cached, 96);
    b = get_buffer(97);
    assert_ptr_not_equal(b->address, data);
    Buffer *c = get_buffer(96);
    assert_ptr_equal(c->address, data);
    assert_int_equal(buffer_stats(cpu_device()).cached, 0);
    buffer_release(b);
    buffer_release(c);
    assert_int_equal(buffer_stats(cpu_device()).cached, 96 + 112);
    assert_int_equal(buffer_trim(), 96 + 112);
    assert_int_equal(buffer_stats(cpu_device()).cached, 0);
    /* No class wastes more than a quarter. */
    for (size_t size = 64; size < 100000; size += 7) {
        buffer_release(get_buffer(size));
        size_t cached = buffer_trim();
        assert_true(cached >= size && cached * 4 <= size * 5 + 4);
    }
}

static void buffer_statistics(void **state)
{
    (void) state;
    buffer_clear_stats();
    Buffer *a = get_buffer(1000), *b = get_buffer(3000);
    char foreign[10];
    Buffer *m = buffer_map(cpu_device(), foreign, sizeof foreign, NULL, NULL);
    BufferStats stats = buffer_stats(cpu_device());
    assert_int_equal(stats.used, 4000);
    assert_int_equal(stats.watermark, 4000);
    assert_int_equal(stats.live, 3);
    assert_int_equal(stats.mapped, 10);
    buffer_retain(a);
    buffer_release(a);
    buffer_release(a);
    assert_int_equal(buffer_stats(cpu_device()).used, 3000);
    assert_int_equal(buffer_stats(cpu_device()).watermark, 4000);
    buffer_clear_stats();
    assert_int_equal(buffer_stats(cpu_device()).watermark, 3000);
    buffer_release(b);
    buffer_release(m);
    buffer_release(NULL);
    assert_int_equal(buffer_stats(cpu_device()).live, 0);
}

static void buffer_too_large(void **state)
{
    (void) state;
    error_clear();
    assert_null(buffer_get(cpu_device(), SIZE_MAX));
    assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    error_clear();
    assert_null(buffer_get(cpu_device(), (size_t) 1 << 47));
    assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    assert_int_equal(buffer_stats(cpu_device()).live, 0);
    error_clear();
}

/* Many at once, from the cache and new ones: all of them, or none. */
static void buffers_at_once(void **state)
{
    (void) state;
    enum { COUNT = BUFFER_BATCH, SMALL = 100 };
    size_t sizes[COUNT];
    Buffer *buffers[COUNT], *before = get_buffer(SMALL), *again = get_buffer(SMALL);
    for (uint32_t i = 0; i < COUNT; i++)
        sizes[i] = i < COUNT / 2 ? SMALL : 100000 * i;
    buffer_release(before);
    buffer_release(again);
    assert_true(buffer_get_all(cpu_device(), COUNT, sizes, buffers));
    assert_ptr_equal(buffers[0], again);
    assert_ptr_equal(buffers[1], before);
    size_t sum = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        sum += sizes[i];
        assert_int_equal(buffers[i]->size, sizes[i]);
        assert_int_equal(atomic_load(&buffers[i]->refs), 1);
        memset(buffers[i]->address, (int) i, sizes[i]);
    }
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(*(unsigned char *) buffers[i]->address, i);
    assert_int_equal(buffer_stats(cpu_device()).used, sum);
    assert_int_equal(buffer_stats(cpu_device()).live, COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        buffer_release(buffers[i]);

    for (uint32_t i = COUNT / 2; i < COUNT; i++) /* no address space has so much */
        sizes[i] = i == COUNT - 1 ? SMALL : (size_t) 1 << 46;
    error_clear();
    assert_false(buffer_get_all(cpu_device(), COUNT, sizes, buffers));
    assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    assert_int_equal(buffer_stats(cpu_device()).live, 0);
    assert_int_equal(buffer_stats(cpu_device()).used, 0);
    sizes[COUNT - 1] = SIZE_MAX;
    error_clear();
    assert_false(buffer_get_all(cpu_device(), COUNT, sizes, buffers));
    assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    assert_int_equal(buffer_stats(cpu_device()).live, 0);
    error_clear();
    assert_true(buffer_get_all(cpu_device(), COUNT / 2, sizes, buffers));
    for (uint32_t i = 0; i < COUNT / 2; i++)
        buffer_release(buffers[i]);
    assert_int_equal(buffer_stats(cpu_device()).live, 0);
}

static size_t cached(void)
{
    return buffer_stats(cpu_device()).cached;
}

/* The cache keeps its bound; what was used least recently leaves first. */
static void buffer_cache_is_bounded(void **state)
{
    (void) state;
    enum { LARGE = 1 << 20, COUNT = 8, FIT = 3, SMALL = 5000 };
    const size_t before = buffer_cache_limit(cpu_device());
    assert_true(before > 0);
    Buffer *buffers[COUNT], *small[SMALL];
    buffer_set_cache_limit(cpu_device(), FIT * LARGE);
    for (uint32_t i = 0; i < COUNT; i++)
        buffers[i] = get_buffer(LARGE);
    void *last = buffers[COUNT - 1]->address;
    for (uint32_t i = 0; i < COUNT; i++) {
        buffer_release(buffers[i]);
        assert_int_equal(cached(), (i < FIT ? i + 1 : FIT) * LARGE);
    }
    buffers[0] = get_buffer(LARGE);
    assert_ptr_equal(buffers[0]->address, last);
    buffer_release(buffers[0]);
    for (uint32_t i = 0; i < SMALL; i++)
        small[i] = get_buffer(100 + i % 7 * 300);
    for (uint32_t i = 0; i < SMALL; i++) {
        buffer_release(small[i]);
        assert_true(cached() <= FIT * LARGE);
    }
    buffer_set_cache_limit(cpu_device(), 0);
    assert_int_equal(cached(), 0);
    buffer_set_cache_limit(cpu_device(), before);
}

/* Ten minutes of programs with ever-changing sizes: what is kept is what was used in
 * the last seconds. */
static void buffer_cache_expires(void **state)
{
    (void) state;
    enum { SECONDS = 600, EACH = 20, RECENT = 13, SMALL = 2000 };
    size_t recent[RECENT] = {0}, most = 0;
    uint32_t random = 1;
    for (uint32_t second = 0; second < SECONDS; second++) {
        Buffer *buffers[EACH];
        size_t sum = 0, bound = 0;
        for (uint32_t i = 0; i < EACH; i++) {
            random = random * 1664525u + 1013904223u;
            size_t size = ((size_t) 64 << random % 18) + random / 18 % 65536;
            buffers[i] = get_buffer(size);
            sum += size + size / 4 + 64;
        }
        for (uint32_t i = 0; i < EACH; i++)
            buffer_release(buffers[i]);
        recent[second % RECENT] = sum;
        for (uint32_t i = 0; i < RECENT; i++)
            bound += recent[i];
        assert_true(cached() <= bound);
        most = cached() > most ? cached() : most;
        buffer_pass_time(1);
    }
    assert_true(most > 0);
    /* A short burst of small ones is not kept for good. */
    static Buffer *small[SMALL];
    for (uint32_t i = 0; i < SMALL; i++)
        small[i] = get_buffer(1000);
    for (uint32_t i = 0; i < SMALL; i++)
        buffer_release(small[i]);
    assert_true(cached() >= SMALL / 2 * 1000);
    for (uint32_t second = 0; second < 30; second++) {
        buffer_pass_time(1);
        for (uint32_t i = 0; i < SMALL; i++)
            buffer_release(get_buffer(100));
    }
    assert_true(cached() <= 10000);
    /* Requests for new memory are enough, too. */
    Buffer *kept = get_buffer(1 << 20);
    buffer_release(kept);
    assert_true(cached() >= 1 << 20);
    buffer_pass_time(30);
    kept = get_buffer(3 << 20);
    assert_int_equal(cached(), 0);
    buffer_release(kept);
}

static void note_release(void *data, void *payload)
{
    assert_string_equal(data, "foreign");
    ++*(uint32_t *) payload;
}

static void buffer_mapped_is_released_once(void **state)
{
    (void) state;
    static char data[] = "foreign";
    uint32_t released = 0;
    Buffer *b = buffer_map(cpu_device(), data, sizeof data, note_release, &released);
    submit_job(&(Job) {.run = run_slowly, .blocks = 3, .from = b});
    buffer_release(b); /* the job still holds it */
    stream_sync(own_stream());
    assert_int_equal(released, 1);
}

/* --------------------------------------------------------------------- pool */

static void see_signals(void *payload)
{
    sigset_t set;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    *(bool *) payload = sigismember(&set, SIGINT) && sigismember(&set, SIGTERM);
}

static void workers_block_signals(void **state)
{
    (void) state;
    bool blocked = false;
    pool_set_size(2);
    assert_true(submit_command(host_command(see_signals, &blocked)));
    /* Not helping, so that the one worker must do it. */
    for (int i = 0; i < 2000 && !stream_passed(own_stream(),
                                               stream_position(own_stream())); i++)
        sleep_us(1000);
    stream_sync(own_stream());
    assert_true(blocked);
}

static uint32_t warnings;

static void count_warning(LogLevel level, const char *message)
{
    warnings += level == LogLevelWarn && strstr(message, "threads") != NULL;
}

/* The hostile build refuses the second of three threads: two remain, and a warning. */
static void pool_without_threads(void **state)
{
    (void) state;
    alloc_fail_at(0);
    alloc_free(alloc_get(1));
    if (alloc_steps() == 0)
        skip(); /* only the hostile build can let thread creation fail */
    log_set_stderr_level(LogLevelError);
    log_set_callback(LogLevelWarn, count_warning);
    warnings = 0;
    pool_set_size(1);
    alloc_fail_at(3); /* the first step is the list of threads */
    assert_true(pool_set_size(4));
    assert_int_equal(pool_size(), 2);
    assert_int_equal(warnings, 1);
    uint32_t values[3] = {0};
    submit_job(&(Job) {.run = set_slowly, .payload = values, .blocks = 3});
    stream_sync(own_stream());
    assert_int_equal(values[0] + values[1] + values[2], 126);
    alloc_fail_at(1);
    assert_true(pool_set_size(3));
    assert_int_equal(pool_size(), 2); /* who is there stays */
    assert_int_equal(warnings, 2);
    alloc_fail_at(0);
    log_set_callback(LogLevelNone, NULL);
    log_set_stderr_level(LogLevelWarn);
}

static void set_size_inside(void *payload, uint32_t block, uint32_t worker)
{
    (void) block;
    (void) worker;
    *(bool *) payload = pool_set_size(3);
    error_clear();
}

/* Threads that meet in a job. */
typedef struct Meeting {
    _Atomic uint32_t inside[4]; /* by worker */
    _Atomic uint32_t most;
} Meeting;

static uint32_t count_inside(Meeting *m)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < 4; w++) {
        uint32_t inside = atomic_load(&m->inside[w]);
        assert_true(inside <= 1); /* numbers are unique */
        count += inside;
    }
    return count;
}

/* The first block lasts until the job is worth sharing, the others until all threads
 * have been seen, or for very long. */
static void meet(void *payload, uint32_t block, uint32_t worker)
{
    Meeting *m = payload;
    uint64_t since = clock_ns(), patience = block ? 1000000000 : 1000000;
    atomic_fetch_add(&m->inside[worker], 1);
    do {
        uint32_t count = count_inside(m), most = atomic_load(&m->most);
        while (count > most && !atomic_compare_exchange_weak(&m->most, &most, count))
            continue;
        sleep_us(50);
    } while (clock_ns() - since < patience && (!block || atomic_load(&m->most) < 3));
    atomic_fetch_sub(&m->inside[worker], 1);
}

/* Who has begun a patient job takes part in the rest as everybody else. */
static void patient_job_has_all_threads(void **state)
{
    (void) state;
    assert_true(pool_set_size(3));
    Meeting m = {.most = 0};
    run_job(&(Job) {.run = meet, .payload = &m, .blocks = 24, .patient = true});
    stream_sync(own_stream());
    assert_int_equal(atomic_load(&m.most), 3);
}

static void pool_sizes(void **state)
{
    (void) state;
    assert_true(pool_set_size(0));
    assert_int_equal(pool_size(), 1);
    assert_int_equal(pool_worker_bound(), 1);
    /* Without workers it is the thread's own work. */
    uint32_t values[3] = {0};
    submit_job(&(Job) {.run = set_slowly, .payload = values, .blocks = 3});
    assert_int_equal(values[0] + values[1] + values[2], 0);
    stream_run();
    assert_int_equal(values[0] + values[1] + values[2], 126);
    assert_true(pool_set_size(5));
    assert_int_equal(pool_size(), 5);
    pool_stop();
    assert_int_equal(pool_size(), 5);
    bool changed = true;
    submit_job(&(Job) {.run = set_size_inside, .payload = &changed, .blocks = 1});
    stream_sync(own_stream());
    assert_false(changed);
    assert_int_equal(pool_size(), 5);
}

static void fork_child_runs_jobs(void **state)
{
    (void) state;
    if (!CAN_FORK || is_emulated())
        skip(); /* the thread sanitizer allows no threads after a fork */
    Buffer *b = get_buffer(CHAIN * sizeof(uint32_t));
    submit_link(NULL, b, true, false);
    pid_t pid = fork();
    if (pid == 0) {
        /* Work from before the fork is done; new work of both kinds goes through. */
        bool good = stream_passed(own_stream(), stream_position(own_stream())) &&
            entries(b)[CHAIN - 1] == 1;
        for (int i = 0; i < 50; i++)
            submit_link(b, b, false, i % 2);
        pool_set_size(3);
        for (int i = 0; i < 50; i++)
            submit_link(b, b, false, i % 2);
        stream_sync(own_stream());
        good = good && entries(b)[0] == 101;
        buffer_release(b);
        stream_shutdown();
        _exit(good ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    submit_link(b, b, false, false);
    stream_sync_buffer(b);
    assert_int_equal(entries(b)[0], 2);
    buffer_release(b);
}

/* Fork while other threads submit: the child must find everything at rest. */
static void fork_under_load(void **state)
{
    (void) state;
    if (!CAN_FORK || is_emulated())
        skip(); /* the thread sanitizer allows no threads after a fork */
    Relay relay = {.lock = PTHREAD_MUTEX_INITIALIZER, .small = true};
    pthread_t threads[2];
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_relay, &relay), 0);
    for (uint32_t i = 0; i < 5; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            stream_sync_all();
            Buffer *b = get_buffer(CHAIN * sizeof(uint32_t));
            submit_link(NULL, b, false, false);
            stream_sync_buffer(b);
            _exit(entries(b)[3] == 1 ? 0 : 1);
        }
        int status = -1;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    for (uint32_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    buffer_release(relay.last);
    stream_sync_all();
}

/* ------------------------------------------------------------------- events */

static void events(void **state)
{
    (void) state;
    Event *start = event_create(cpu_device(), true);
    Event *end = event_create(cpu_device(), true);
    Event *plain = event_create(cpu_device(), false);
    assert_true(event_query(start));
    event_wait(start);
    assert_true(event_elapsed_ms(start, end, "f") < 0);
    assert_int_equal(error_code(), JIT_ERROR_STATE);
    assert_string_equal(error_message(), "f(): the start event was never recorded");

    assert_true(event_record(start));
    assert_false(event_query(start));
    stream_run();
    assert_true(event_query(start));
    uint32_t values[4] = {0};
    submit_job(&(Job) {.run = set_slowly, .payload = values, .blocks = 4});
    assert_true(event_record(end));
    assert_true(event_record(plain));
    assert_false(event_query(end));
    assert_true(event_elapsed_ms(start, end, "f") < 0);
    assert_string_equal(error_message(), "f(): the end event has not been passed yet");
    event_wait(end);
    assert_int_equal(values[3], 42);
    assert_true(event_query(end));
    double ms = event_elapsed_ms(start, end, "f");
    assert_true(ms >= 20.0 && ms < 5000.0);
    assert_true(event_elapsed_ms(end, start, "f") == -ms);
    event_wait(plain);
    assert_true(event_elapsed_ms(start, plain, "f") < 0);

    /* Destroyed, and recorded anew, before the stream arrives. */
    submit_job(&(Job) {.run = run_slowly, .blocks = 4});
    assert_true(event_record(start));
    assert_true(event_record(start));
    event_destroy(start);
    stream_shutdown();
    assert_true(event_query(end));
    event_destroy(end);
    event_destroy(plain);
    event_destroy(NULL);
    error_clear();
}

/* ------------------------------------------------------------------ hostile */

static void count_call(void *payload)
{
    ++*(uint32_t *) payload;
}

/* All that can run out of memory, once. True if nothing failed. What was submitted is
 * performed, what was not is dropped. */
static bool everything(void)
{
    Buffer *a = buffer_get(cpu_device(), 5000);
    Buffer *b = a ? buffer_get(cpu_device(), 5000) : NULL;
    bool good = a && b && stream_self(cpu_device());
    if (good) {
        memset(a->address, 1, 5000);
        memset(b->address, 2, 5000);
        uint32_t values[4] = {0}, calls = 0;
        bool run = submit_command(job_command(&(Job) {
            .run = set_slowly, .payload = values, .blocks = 4, .from = a, .to = b}));
        bool called = submit_command(host_command(count_call, &calls));
        Event *event = event_create(cpu_device(), true);
        bool copied = submit_command(copy_command(b, 10, a, 20, 100));
        bool filled = submit_command(fill_command(a, 7, 1, 5000));
        good = event && event_record(event) && run && called && copied && filled;
        stream_sync(stream_self(cpu_device()));
        assert_int_equal(values[0] + values[3], run ? 84 : 0);
        assert_int_equal(calls, called);
        const unsigned char *of_a = buffer_host(a), *of_b = buffer_host(b);
        assert_int_equal(of_b[10], copied ? 1 : 2);
        assert_int_equal(of_b[110], 2);
        assert_int_equal(of_a[4999], filled ? 7 : 1);
        event_destroy(event);
    }
    buffer_release(a);
    buffer_release(b);
    stream_shutdown();
    buffer_trim();
    assert_int_equal(buffer_stats(cpu_device()).live, 0);
    return good;
}

static void every_step_fails_once(void **state)
{
    (void) state;
    log_set_stderr_level(LogLevelError);
    stream_shutdown();
    alloc_fail_at(0);
    pool_set_size(3);
    assert_true(everything());
    uint64_t steps = alloc_steps();
    uint32_t failures = 0;
    for (uint64_t n = 1; n <= steps + 2; n++) {
        stream_shutdown();
        alloc_fail_at(0);
        pool_set_size(3);
        pool_stop();
        alloc_fail_at(n);
        error_clear();
        if (!everything()) {
            failures++;
            assert_int_equal(error_code(), JIT_ERROR_MEMORY);
        } else {
            assert_int_equal(error_code(), JIT_OK); /* made good: not an error */
        }
    }
    alloc_fail_at(0);
    assert_true(steps == 0 || failures > 0);
    log_set_stderr_level(LogLevelWarn);
    error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(buffer_alignment_and_padding), TEST(buffer_reuse_by_class),
        TEST(buffer_statistics), TEST(buffer_too_large),
        TEST(buffers_at_once),
        TEST(buffer_cache_is_bounded), TEST(buffer_cache_expires),
        TEST(buffer_mapped_is_released_once), TEST(workers_block_signals),
        TEST(patient_job_has_all_threads),
        TEST(pool_sizes), TEST(pool_without_threads), TEST(fork_child_runs_jobs),
        TEST(fork_under_load), TEST(events), TEST(every_step_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
