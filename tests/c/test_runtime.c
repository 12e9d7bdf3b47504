/*
 * test_runtime.c -- buffers, streams, pool and events
 *
 * Order and dependencies are checked through what jobs leave in plain memory, so a
 * missing dependency shows up as a wrong value, and as a data race under TSan.
 * Reductions of the expanded copies are compared with loops over double or 64-bit
 * integers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "runtime/buffer.h"
#include "runtime/event.h"
#include "runtime/pool.h"
#include "runtime/stream.h"
#include "runtime/transfer.h"

/* TSan cannot follow a fork of several threads. */
#if defined(__SANITIZE_THREAD__)
enum { CAN_FORK = 0 };
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
enum { CAN_FORK = 0 };
#else
enum { CAN_FORK = 1 };
#endif
#else
enum { CAN_FORK = 1 };
#endif

static void sleep_us(uint32_t us)
{
    nanosleep(&(struct timespec) {.tv_nsec = us * 1000L}, NULL);
}

/* Every test starts with four threads and ends with nothing left over. */
static int set_up(void **state)
{
    (void) state;
    pool_set_size(4);
    buffer_trim();
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    stream_shutdown();
    buffer_trim();
    const BufferStats stats = buffer_stats();
    return stats.live == 0 && stats.used == 0 && stats.cached == 0 && stats.mapped == 0
        ? 0 : -1;
}

/* ------------------------------------------------------------------ buffers */

static void buffer_alignment_and_padding(void **state)
{
    (void) state;
    for (size_t size = 1; size < ((size_t) 9 << 20); size += 1 + size / 3) {
        Buffer *b = buffer_get(size);
        assert_non_null(b);
        assert_int_equal((uintptr_t) b->data % 64, 0);
        assert_int_equal(b->size, size);
        /* AddressSanitizer and valgrind watch over the end. */
        memset(b->data, 0x5a, size + 64);
        buffer_release(b);
    }
}

static void buffer_reuse_by_class(void **state)
{
    (void) state;
    /* Sizes of one class on either side of its bounds: 81 ... 96 and 97 ... 112. */
    Buffer *b = buffer_get(81);
    void *data = b->data;
    buffer_release(b);
    assert_int_equal(buffer_stats().cached, 96);
    b = buffer_get(97);
    assert_ptr_not_equal(b->data, data);
    Buffer *c = buffer_get(96);
    assert_ptr_equal(c->data, data);
    assert_int_equal(buffer_stats().cached, 0);
    buffer_release(b);
    buffer_release(c);
    assert_int_equal(buffer_stats().cached, 96 + 112);
    assert_int_equal(buffer_trim(), 96 + 112);
    assert_int_equal(buffer_stats().cached, 0);
    /* No class wastes more than a quarter. */
    for (size_t size = 64; size < 100000; size += 7) {
        buffer_release(buffer_get(size));
        size_t cached = buffer_trim();
        assert_true(cached >= size && cached * 4 <= size * 5 + 4);
    }
}

static void buffer_statistics(void **state)
{
    (void) state;
    buffer_clear_stats();
    Buffer *a = buffer_get(1000), *b = buffer_get(3000);
    char foreign[10];
    Buffer *m = buffer_map(foreign, sizeof foreign, NULL, NULL);
    BufferStats stats = buffer_stats();
    assert_int_equal(stats.used, 4000);
    assert_int_equal(stats.watermark, 4000);
    assert_int_equal(stats.live, 3);
    assert_int_equal(stats.mapped, 10);
    buffer_retain(a);
    buffer_release(a);
    buffer_release(a);
    assert_int_equal(buffer_stats().used, 3000);
    assert_int_equal(buffer_stats().watermark, 4000);
    buffer_clear_stats();
    assert_int_equal(buffer_stats().watermark, 3000);
    buffer_release(b);
    buffer_release(m);
    buffer_release(NULL);
    assert_int_equal(buffer_stats().live, 0);
}

static void buffer_too_large(void **state)
{
    (void) state;
    error_clear();
    assert_null(buffer_get(SIZE_MAX));
    assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    error_clear();
    assert_null(buffer_get((size_t) 1 << 47));
    assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    assert_int_equal(buffer_stats().live, 0);
    error_clear();
}

static void note_release(void *data, void *payload)
{
    assert_string_equal(data, "foreign");
    ++*(uint32_t *) payload;
}

static void run_slowly(void *payload, uint32_t block, uint32_t worker)
{
    (void) payload;
    (void) block;
    (void) worker;
    sleep_us(2000);
}

static void buffer_mapped_is_released_once(void **state)
{
    (void) state;
    static char data[] = "foreign";
    uint32_t released = 0;
    Buffer *b = buffer_map(data, sizeof data, note_release, &released);
    stream_submit(stream_self(), &(JobSpec) {.run = run_slowly, .blocks = 3,
                                             .reads = &b, .read_count = 1});
    buffer_release(b); /* the job still holds it */
    stream_sync(stream_self());
    assert_int_equal(released, 1);
}

/* ------------------------------------------------------------------ streams */

typedef struct Sequence {
    uint32_t *log;  /* one entry for each finished job */
    uint32_t *count;
    uint32_t number;
} Sequence;

static void append(void *payload)
{
    Sequence *s = payload;
    s->log[(*s->count)++] = s->number;
    alloc_free(s);
}

static void busy(void *payload, uint32_t block, uint32_t worker)
{
    (void) payload;
    (void) worker;
    for (volatile uint32_t i = 0; i < (block % 3) * 100; i++)
        ;
}

/* Jobs of all kinds, in random alternation, finish in order. */
static void stream_keeps_order(void **state)
{
    (void) state;
    enum { JOBS = 3000 };
    static uint32_t log[JOBS];
    uint32_t count = 0, random = 1;
    Stream *stream = stream_self();
    for (uint32_t i = 0; i < JOBS; i++) {
        Sequence *s = alloc_get(sizeof *s);
        *s = (Sequence) {log, &count, i};
        random = random * 1664525u + 1013904223u;
        stream_submit(stream, &(JobSpec) {.run = random >> 28 ? busy : NULL,
                                          .finish = append, .payload = s,
                                          .blocks = (random >> 16) % 5,
                                          .small = (random >> 24) % 2});
        if (random >> 20 == 7)
            stream_sync(stream);
    }
    stream_sync(stream);
    assert_int_equal(count, JOBS);
    for (uint32_t i = 0; i < JOBS; i++)
        assert_int_equal(log[i], i);
    assert_true(stream_passed(stream, stream_position(stream)));
}

static void set_slowly(void *payload, uint32_t block, uint32_t worker)
{
    (void) worker;
    if (block == 0)
        sleep_us(20000);
    ((uint32_t *) payload)[block] = 42;
}

static void small_job_waits_for_the_queue(void **state)
{
    (void) state;
    static uint32_t log[2];
    static uint32_t values[4];
    uint32_t count = 0;
    memset(values, 0, sizeof values);
    stream_submit(stream_self(), &(JobSpec) {.run = set_slowly, .payload = values,
                                             .blocks = 4});
    uint64_t position = stream_position(stream_self());
    Sequence *s = alloc_get(sizeof *s);
    *s = (Sequence) {log, &count, 7};
    stream_submit(stream_self(), &(JobSpec) {.finish = append, .payload = s,
                                             .small = true});
    stream_wait(stream_self(), position);
    for (int i = 0; i < 4; i++)
        assert_int_equal(values[i], 42);
    stream_sync(stream_self());
    assert_int_equal(count, 1);
}

/* One step of a chain across threads: to[i] = from[i] + 1 for a block of entries. */
enum { CHAIN = 64 };
typedef struct Link {
    const uint32_t *from;
    uint32_t *to;
    bool slow;
} Link;

static void run_link(void *payload, uint32_t block, uint32_t worker)
{
    const Link *link = payload;
    (void) worker;
    if (link->slow)
        sleep_us(500);
    for (uint32_t i = block * (CHAIN / 4); i < (block + 1) * (CHAIN / 4); i++)
        link->to[i] = (link->from ? link->from[i] : 0) + 1;
}

static void submit_link(Buffer *from, Buffer *to, bool slow, bool small)
{
    Link *link = alloc_get(sizeof *link);
    assert_non_null(link);
    *link = (Link) {from ? from->data : NULL, to->data, slow};
    stream_submit(stream_self(), &(JobSpec) {.run = run_link, .finish = alloc_free,
                                             .payload = link, .blocks = 4,
                                             .small = small, .reads = &from,
                                             .read_count = from ? 1 : 0,
                                             .writes = &to, .write_count = 1});
}

/* Threads that take turns: each appends a link to one chain, without waiting for
 * results. */
typedef struct Relay {
    pthread_mutex_t lock;
    Buffer *last;
    uint32_t links;
    bool small;
} Relay;

static void *run_relay(void *pointer)
{
    Relay *relay = pointer;
    for (uint32_t i = 0; i < 200; i++) {
        Buffer *to = buffer_get(CHAIN * sizeof(uint32_t));
        assert_non_null(to);
        pthread_mutex_lock(&relay->lock);
        Buffer *from = relay->last;
        submit_link(from, to, i % 50 == 0, relay->small && i % 4);
        relay->last = to;
        relay->links++;
        pthread_mutex_unlock(&relay->lock);
        buffer_release(from);
    }
    return NULL;
}

static void relay_of(uint32_t count, bool small)
{
    Relay relay = {.lock = PTHREAD_MUTEX_INITIALIZER, .small = small};
    pthread_t threads[8];
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_relay, &relay), 0);
    for (uint32_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    /* The threads are gone, their streams may still have work. */
    stream_sync_buffer(relay.last);
    const uint32_t *values = relay.last->data;
    for (uint32_t i = 0; i < CHAIN; i++)
        assert_int_equal(values[i], relay.links);
    buffer_release(relay.last);
    stream_sync_all();
    assert_int_equal(relay.links, count * 200);
}

static void dependencies_between_streams(void **state)
{
    (void) state;
    relay_of(2, false);
    relay_of(2, true);
    relay_of(8, false);
    relay_of(8, true);
}

/* The same with one buffer that everybody reads and writes in place, and readers aside.
 */
typedef struct InPlace {
    pthread_mutex_t lock;
    Buffer *target;
    _Atomic uint32_t written;
} InPlace;

static void *run_in_place(void *pointer)
{
    InPlace *shared = pointer;
    Buffer *copy = buffer_get(CHAIN * sizeof(uint32_t));
    for (uint32_t i = 0; i < 150; i++) {
        pthread_mutex_lock(&shared->lock);
        if (i % 3 == 0) {
            submit_link(shared->target, shared->target, i % 30 == 0, i % 2);
            shared->written++;
        } else {
            submit_link(shared->target, copy, i % 31 == 0, i % 2);
        }
        const uint32_t expected = shared->written;
        pthread_mutex_unlock(&shared->lock);
        if (i % 3 == 1) {
            stream_sync_buffer(copy);
            const uint32_t *values = copy->data;
            assert_true(values[0] >= 1 && values[0] <= expected + 1);
            for (uint32_t k = 1; k < CHAIN; k++)
                assert_int_equal(values[k], values[0]);
        }
    }
    buffer_release(copy);
    return NULL;
}

static void writes_wait_for_readers(void **state)
{
    (void) state;
    InPlace shared = {.lock = PTHREAD_MUTEX_INITIALIZER,
                      .target = buffer_get(CHAIN * sizeof(uint32_t))};
    memset(shared.target->data, 0, CHAIN * sizeof(uint32_t));
    pthread_t threads[6];
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_in_place, &shared), 0);
    for (uint32_t i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    stream_sync_buffer_write(shared.target);
    uint32_t *values = shared.target->data;
    for (uint32_t i = 0; i < CHAIN; i++) {
        assert_int_equal(values[i], shared.written);
        values[i] = 0; /* nobody may be reading it */
    }
    buffer_release(shared.target);
    stream_sync_all();
}

typedef struct Numbers {
    _Atomic uint8_t *taken; /* for each worker number: somebody is executing under it */
    uint32_t bound;
    _Atomic uint32_t clashes, blocks, finished;
} Numbers;

static void use_number(void *payload, uint32_t block, uint32_t worker)
{
    Numbers *n = payload;
    if (worker >= n->bound || atomic_exchange(&n->taken[worker], 1))
        atomic_fetch_add(&n->clashes, 1);
    if (block % 7 == 0)
        sleep_us(20);
    atomic_fetch_add(&n->blocks, 1);
    if (worker < n->bound)
        atomic_store(&n->taken[worker], 0);
}

static void finish_numbers(void *payload)
{
    atomic_fetch_add(&((Numbers *) payload)->finished, 1);
}

static _Atomic bool hammering;

static void *hammer(void *unused)
{
    (void) unused;
    static _Atomic uint8_t taken[8][64];
    static _Atomic uint32_t next;
    const uint32_t self = atomic_fetch_add(&next, 1) % 8;
    uint32_t blocks = 0, jobs = 0;
    Numbers n = {.taken = taken[self]};
    for (uint32_t i = 0; i < 150; i++) {
        stream_sync(stream_self()); /* 'bound' is read by the previous job */
        n.bound = pool_worker_bound();
        JobSpec spec = {.run = use_number, .finish = finish_numbers, .payload = &n,
                        .blocks = i % 40, .workers = n.bound, .small = i % 5 == 0};
        for (uint32_t k = 0; k < 3; k++)
            stream_submit(stream_self(), &spec);
        blocks += 3 * spec.blocks;
        jobs += 3;
        if (i % 16 == 0)
            stream_sync_all();
    }
    stream_sync(stream_self());
    assert_int_equal(n.clashes, 0);
    assert_int_equal(n.blocks, blocks);
    assert_int_equal(n.finished, jobs);
    return NULL;
}

static void *resize(void *unused)
{
    (void) unused;
    for (uint32_t i = 0; atomic_load(&hammering); i++) {
        assert_true(pool_set_size(i % 7));
        sleep_us(300);
    }
    return NULL;
}

static void hammer_with(bool resizing)
{
    pthread_t threads[8], resizer;
    atomic_store(&hammering, true);
    if (resizing)
        assert_int_equal(pthread_create(&resizer, NULL, resize, NULL), 0);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, NULL), 0);
    for (uint32_t i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&hammering, false);
    if (resizing)
        pthread_join(resizer, NULL);
}

static void worker_numbers_are_unique(void **state)
{
    (void) state;
    hammer_with(false);
}

static void resize_while_running(void **state)
{
    (void) state;
    hammer_with(true);
}

typedef struct Needed {
    pthread_mutex_t lock;
    _Atomic bool held, running, resizing;
} Needed;

static void need_lock(void *payload, uint32_t block, uint32_t worker)
{
    (void) block;
    (void) worker;
    Needed *needed = payload;
    atomic_store(&needed->running, true);
    pthread_mutex_lock(&needed->lock);
    pthread_mutex_unlock(&needed->lock);
}

static void *submit_with_lock(void *pointer)
{
    Needed *needed = pointer;
    uint32_t values[3] = {0};
    pthread_mutex_lock(&needed->lock);
    atomic_store(&needed->held, true);
    while (!atomic_load(&needed->resizing))
        sleep_us(100);
    sleep_us(20000); /* so that the other thread is waiting */
    stream_submit(stream_self(), &(JobSpec) {.run = set_slowly, .payload = values,
                                             .blocks = 3});
    pthread_mutex_unlock(&needed->lock);
    stream_sync(stream_self());
    return values[0] + values[1] + values[2] == 126 ? NULL : "wrong values";
}

/* A job waits for a lock whose holder submits work while the pool changes. */
static void resize_keeps_nobody_waiting(void **state)
{
    (void) state;
    static const uint32_t sizes[] = {2, 7, 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        pool_set_size(4);
        Needed needed = {.lock = PTHREAD_MUTEX_INITIALIZER};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, submit_with_lock, &needed), 0);
        while (!atomic_load(&needed.held))
            sleep_us(100);
        stream_submit(stream_self(), &(JobSpec) {.run = need_lock, .blocks = 1,
                                                 .payload = &needed});
        while (!atomic_load(&needed.running))
            sleep_us(100);
        atomic_store(&needed.resizing, true);
        assert_true(pool_set_size(sizes[i]));
        assert_int_equal(pool_size(), sizes[i]);
        void *fault;
        pthread_join(thread, &fault);
        assert_null(fault);
        stream_sync(stream_self());
    }
}

static void *reader_thread(void *pointer)
{
    Buffer *b = pointer;
    Buffer *copy = buffer_get(CHAIN * sizeof(uint32_t));
    submit_link(b, copy, false, true);
    stream_sync(stream_self());
    const uint32_t *values = copy->data;
    for (uint32_t i = 0; i < CHAIN; i++)
        assert_int_equal(values[i], 2);
    buffer_release(copy);
    return NULL;
}

/* A slow producer here, consumers in threads that sync at once; then an in-place write.
 */
static void slow_producer(void **state)
{
    (void) state;
    for (uint32_t size = 1; size <= 4; size++) {
        pool_set_size(size);
        Buffer *b = buffer_get(CHAIN * sizeof(uint32_t));
        submit_link(NULL, b, true, false);
        pthread_t threads[3];
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, reader_thread, b), 0);
        for (uint32_t i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
        submit_link(b, b, false, true);
        stream_sync(stream_self());
        assert_int_equal(((const uint32_t *) b->data)[CHAIN - 1], 2);
        buffer_release(b);
    }
}

static _Atomic uint32_t nested_runs;

static void count_nested(void *payload)
{
    (void) payload;
    atomic_fetch_add(&nested_runs, 1);
}

/* A job that submits to its thread's stream, and even waits for it. */
static void submit_nested(void *payload, uint32_t block, uint32_t worker)
{
    (void) payload;
    (void) block;
    (void) worker;
    stream_submit(stream_self(), &(JobSpec) {.finish = count_nested, .small = true});
    stream_sync(stream_self());
}

static void jobs_submit_jobs(void **state)
{
    (void) state;
    for (uint32_t size = 1; size <= 3; size++) {
        pool_set_size(size);
        atomic_store(&nested_runs, 0);
        for (uint32_t i = 0; i < 20; i++)
            stream_submit(stream_self(), &(JobSpec) {.run = submit_nested, .blocks = 3,
                                                     .small = i % 2});
        stream_sync_all(); /* what the jobs submit comes after this one's positions */
        stream_sync_all();
        assert_int_equal(nested_runs, 60);
    }
}

static void fail_job(void *payload, uint32_t block, uint32_t worker)
{
    (void) block;
    (void) worker;
    ErrorRecord record = {.code = JIT_ERROR_COMPILE, .message = "from inside"};
    stream_fail(payload, &record);
}

static void errors_reach_the_owner(void **state)
{
    (void) state;
    Stream *stream = stream_self();
    assert_true(stream_check(stream));
    stream_submit(stream, &(JobSpec) {.run = fail_job, .payload = stream, .blocks = 5});
    stream_sync(stream);
    error_clear();
    assert_false(stream_check(stream));
    assert_int_equal(error_code(), JIT_ERROR_COMPILE);
    assert_string_equal(error_message(), "from inside");
    assert_true(stream_check(stream));
    error_clear();
}

static void *recycle_thread(void *pointer)
{
    Stream **out = pointer;
    *out = stream_self();
    stream_submit(*out, &(JobSpec) {.run = run_slowly, .blocks = 2});
    return NULL;
}

static void streams_outlive_threads(void **state)
{
    (void) state;
    Stream *first, *second;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, recycle_thread, &first), 0);
    pthread_join(thread, NULL);
    uint64_t position = stream_position(first);
    stream_sync_all();
    assert_true(stream_passed(first, position));
    assert_int_equal(pthread_create(&thread, NULL, recycle_thread, &second), 0);
    pthread_join(thread, NULL);
    assert_ptr_equal(first, second);
    stream_wait(second, position + 1);
}

static void restart_after_shutdown(void **state)
{
    (void) state;
    Buffer *survivor = buffer_get(CHAIN * sizeof(uint32_t));
    for (uint32_t i = 0; i < 3; i++) {
        submit_link(i ? survivor : NULL, survivor, false, i % 2);
        stream_shutdown();
        assert_int_equal(((const uint32_t *) survivor->data)[5], i + 1);
    }
    stream_sync_buffer_write(survivor);
    buffer_release(survivor);
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
    stream_submit(stream_self(), &(JobSpec) {.finish = see_signals,
                                             .payload = &blocked});
    /* Not helping, so that the one worker must do it. */
    for (int i = 0; i < 2000 && !stream_passed(stream_self(),
                                               stream_position(stream_self())); i++)
        sleep_us(1000);
    stream_sync(stream_self());
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
    stream_submit(stream_self(), &(JobSpec) {.run = set_slowly, .payload = values,
                                             .blocks = 3});
    stream_sync(stream_self());
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

static void pool_sizes(void **state)
{
    (void) state;
    assert_true(pool_set_size(0));
    assert_int_equal(pool_size(), 1);
    assert_int_equal(pool_worker_bound(), 1);
    /* Without workers all is done on return. */
    uint32_t values[3] = {0};
    stream_submit(stream_self(), &(JobSpec) {.run = set_slowly, .payload = values,
                                             .blocks = 3});
    assert_int_equal(values[0] + values[1] + values[2], 126);
    assert_true(pool_set_size(5));
    assert_int_equal(pool_size(), 5);
    pool_stop();
    assert_int_equal(pool_size(), 5);
    bool changed = true;
    stream_submit(stream_self(), &(JobSpec) {.run = set_size_inside,
                                             .payload = &changed,
                                             .blocks = 1});
    stream_sync(stream_self());
    assert_false(changed);
    assert_int_equal(pool_size(), 5);
}

static void fork_child_runs_jobs(void **state)
{
    (void) state;
    if (!CAN_FORK)
        skip(); /* the thread sanitizer allows no threads after a fork */
    Buffer *b = buffer_get(CHAIN * sizeof(uint32_t));
    submit_link(NULL, b, true, false);
    pid_t pid = fork();
    if (pid == 0) {
        /* Work from before the fork is done; new work of both kinds goes through. */
        bool good = stream_passed(stream_self(), stream_position(stream_self())) &&
            ((const uint32_t *) b->data)[CHAIN - 1] == 1;
        for (int i = 0; i < 50; i++)
            submit_link(b, b, false, i % 2);
        pool_set_size(3);
        for (int i = 0; i < 50; i++)
            submit_link(b, b, false, i % 2);
        stream_sync(stream_self());
        good = good && ((const uint32_t *) b->data)[0] == 101;
        buffer_release(b);
        stream_shutdown();
        _exit(good ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    submit_link(b, b, false, false);
    stream_sync_buffer(b);
    assert_int_equal(((const uint32_t *) b->data)[0], 2);
    buffer_release(b);
}

/* Fork while other threads submit: the child must find everything at rest. */
static void fork_under_load(void **state)
{
    (void) state;
    if (!CAN_FORK)
        skip(); /* the thread sanitizer allows no threads after a fork */
    Relay relay = {.lock = PTHREAD_MUTEX_INITIALIZER, .small = true};
    pthread_t threads[2];
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_relay, &relay), 0);
    for (uint32_t i = 0; i < 5; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            stream_sync_all();
            Buffer *b = buffer_get(CHAIN * sizeof(uint32_t));
            submit_link(NULL, b, false, false);
            stream_sync_buffer(b);
            _exit(((const uint32_t *) b->data)[3] == 1 ? 0 : 1);
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
    Stream *stream = stream_self();
    Event *start = event_create(true), *end = event_create(true);
    Event *plain = event_create(false);
    assert_true(event_query(start));
    event_wait(start);
    assert_true(event_elapsed_ms(start, end, "f") < 0);
    assert_int_equal(error_code(), JIT_ERROR_STATE);
    assert_string_equal(error_message(), "f(): the start event was never recorded");

    assert_true(event_record(start, stream));
    uint32_t values[4] = {0};
    stream_submit(stream, &(JobSpec) {.run = set_slowly, .payload = values,
                                      .blocks = 4});
    assert_true(event_record(end, stream));
    assert_true(event_record(plain, stream));
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
    stream_submit(stream, &(JobSpec) {.run = run_slowly, .blocks = 4});
    assert_true(event_record(start, stream));
    assert_true(event_record(start, stream));
    event_destroy(start);
    stream_shutdown();
    assert_true(event_query(end));
    event_destroy(end);
    event_destroy(plain);
    event_destroy(NULL);
    error_clear();
}

/* ------------------------------------------------------------------ hostile */

/* All that can run out of memory, once. True if nothing failed. */
static bool everything(void)
{
    Buffer *a = buffer_get(5000), *b = a ? buffer_get(5000) : NULL;
    bool good = a && b && stream_self();
    if (good) {
        memset(a->data, 1, 5000);
        memset(b->data, 2, 5000);
        uint32_t values[4] = {0};
        JobSpec spec = {.run = set_slowly, .payload = values, .blocks = 4, .reads = &a,
                        .read_count = 1, .writes = &b, .write_count = 1};
        stream_submit(stream_self(), &spec);
        Event *event = event_create(true);
        good = event && event_record(event, stream_self());
        good &= transfer_copy_buffer(stream_self(), b, 10, a, 20, 100,
                                     (JobReport){ 0 });
        good &= transfer_fill_buffer(stream_self(), a, 7, 1, 5000, (JobReport){ 0 });
        stream_sync(stream_self());
        assert_int_equal(values[0] + values[3], 84); /* submitting never fails */
        event_destroy(event);
    }
    buffer_release(a);
    buffer_release(b);
    stream_shutdown();
    buffer_trim();
    assert_int_equal(buffer_stats().live, 0);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(buffer_alignment_and_padding), TEST(buffer_reuse_by_class),
        TEST(buffer_statistics), TEST(buffer_too_large),
        TEST(buffer_mapped_is_released_once), TEST(stream_keeps_order),
        TEST(small_job_waits_for_the_queue), TEST(dependencies_between_streams),
        TEST(writes_wait_for_readers), TEST(worker_numbers_are_unique),
        TEST(resize_while_running), TEST(resize_keeps_nobody_waiting),
        TEST(slow_producer), TEST(jobs_submit_jobs),
        TEST(errors_reach_the_owner), TEST(streams_outlive_threads),
        TEST(restart_after_shutdown), TEST(workers_block_signals), TEST(pool_sizes),
        TEST(pool_without_threads),
        TEST(fork_child_runs_jobs), TEST(fork_under_load), TEST(events),
        TEST(every_step_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
