/*
 * test_stream.c -- streams: order, dependencies, worker numbers, threads that end
 *
 * Order and dependencies are checked through what jobs leave in plain memory, so a
 * missing dependency shows up as a wrong value, and as a data race under TSan.
 */
#include "runtime_util.h"

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
    Stream *stream = own_stream();
    for (uint32_t i = 0; i < JOBS; i++) {
        Sequence *s = alloc_get(sizeof *s);
        *s = (Sequence) {log, &count, i};
        random = random * 1664525u + 1013904223u;
        Job job = {.run = random >> 28 ? busy : NULL, .finish = append, .payload = s,
                   .blocks = (random >> 16) % 5, .small = (random >> 24) % 2};
        if (random >> 10 & 1)
            submit_job(&job);
        else
            assert_true(submit_command(host_command(append, s)));
        if (random >> 12 & 1) /* else it is kept for a while */
            stream_run();
        if (random >> 20 == 7)
            stream_sync(stream);
    }
    stream_sync(stream);
    assert_int_equal(count, JOBS);
    for (uint32_t i = 0; i < JOBS; i++)
        assert_int_equal(log[i], i);
    assert_true(stream_passed(stream, stream_position(stream)));
}

static void small_job_waits_for_the_queue(void **state)
{
    (void) state;
    static uint32_t log[2];
    static uint32_t values[4];
    uint32_t count = 0;
    memset(values, 0, sizeof values);
    submit_job(&(Job) {.run = set_slowly, .payload = values, .blocks = 4});
    uint64_t position = stream_position(own_stream());
    Sequence *s = alloc_get(sizeof *s);
    *s = (Sequence) {log, &count, 7};
    submit_job(&(Job) {.finish = append, .payload = s});
    stream_wait(own_stream(), position);
    for (int i = 0; i < 4; i++)
        assert_int_equal(values[i], 42);
    stream_sync(own_stream());
    assert_int_equal(count, 1);
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
    assert_true(stream_sync_buffer(relay.last));
    const uint32_t *values = entries(relay.last);
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

/* A link of another thread's stream after one of a stream that is held. */
typedef struct Follower {
    Buffer *from, *to;
    Stream *stream;
    uint64_t position;
} Follower;

static void *follow(void *pointer)
{
    Follower *f = pointer;
    submit_link(f->from, f->to, false, false);
    stream_run();
    f->stream = own_stream();
    f->position = stream_position(f->stream);
    return NULL;
}

/* Who holds a stream and waits for what waits for it lets it go. */
static void waiting_lets_go(void **state)
{
    (void) state;
    Buffer *first = get_buffer(CHAIN * sizeof(uint32_t));
    Follower f = {get_buffer(CHAIN * sizeof(uint32_t)),
                  get_buffer(CHAIN * sizeof(uint32_t)), NULL, 0};
    submit_link(NULL, first, false, false);
    stream_defer(own_stream(), false, 0);
    submit_link(first, f.from, false, false);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, follow, &f), 0);
    pthread_join(thread, NULL);
    stream_wait(f.stream, f.position);
    const uint32_t *values = entries(f.to);
    for (uint32_t i = 0; i < CHAIN; i++)
        assert_int_equal(values[i], 3);
    stream_let_go(own_stream());
    buffer_release(first);
    buffer_release(f.from);
    buffer_release(f.to);
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
    Buffer *copy = get_buffer(CHAIN * sizeof(uint32_t));
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
        stream_run();
        if (i % 3 == 1) {
            assert_true(stream_sync_buffer(copy));
            const uint32_t *values = entries(copy);
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
                      .target = get_buffer(CHAIN * sizeof(uint32_t))};
    memset(entries(shared.target), 0, CHAIN * sizeof(uint32_t));
    pthread_t threads[6];
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_in_place, &shared), 0);
    for (uint32_t i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    assert_true(stream_sync_buffer(shared.target));
    const uint32_t *values = entries(shared.target);
    for (uint32_t i = 0; i < CHAIN; i++)
        assert_int_equal(values[i], shared.written);
    /* It waits for those that may still be reading. */
    assert_true(submit_command(fill_command(shared.target, 0, 4, CHAIN)));
    assert_true(stream_sync_buffer(shared.target));
    for (uint32_t i = 0; i < CHAIN; i++)
        assert_int_equal(values[i], 0);
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
        stream_sync(own_stream()); /* 'bound' is read by the previous job */
        n.bound = pool_worker_bound();
        Job job = {.run = use_number, .finish = finish_numbers, .payload = &n,
                   .blocks = i % 40, .workers = n.bound, .small = i % 5 == 0};
        for (uint32_t k = 0; k < 3; k++)
            submit_job(&job);
        blocks += 3 * job.blocks;
        jobs += 3;
        if (i % 16 == 0)
            stream_sync_all();
    }
    stream_sync(own_stream());
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
    submit_job(&(Job) {.run = set_slowly, .payload = values, .blocks = 3});
    pthread_mutex_unlock(&needed->lock);
    stream_sync(own_stream());
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
        submit_job(&(Job) {.run = need_lock, .blocks = 2, .payload = &needed});
        while (!atomic_load(&needed.running))
            sleep_us(100);
        atomic_store(&needed.resizing, true);
        assert_true(pool_set_size(sizes[i]));
        assert_int_equal(pool_size(), sizes[i]);
        void *fault;
        pthread_join(thread, &fault);
        assert_null(fault);
        stream_sync(own_stream());
    }
}

static void *reader_thread(void *pointer)
{
    Buffer *b = pointer;
    Buffer *copy = get_buffer(CHAIN * sizeof(uint32_t));
    submit_link(b, copy, false, true);
    stream_sync(own_stream());
    const uint32_t *values = entries(copy);
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
        Buffer *b = get_buffer(CHAIN * sizeof(uint32_t));
        submit_link(NULL, b, true, false);
        stream_run(); /* without workers, others would wait for it */
        pthread_t threads[3];
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, reader_thread, b), 0);
        for (uint32_t i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
        submit_link(b, b, false, true);
        stream_sync(own_stream());
        assert_int_equal(entries(b)[CHAIN - 1], 2);
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
    submit_job(&(Job) {.finish = count_nested});
    stream_sync(own_stream());
}

static void jobs_submit_jobs(void **state)
{
    (void) state;
    for (uint32_t size = 1; size <= 3; size++) {
        pool_set_size(size);
        atomic_store(&nested_runs, 0);
        for (uint32_t i = 0; i < 20; i++)
            run_job(&(Job) {.run = submit_nested, .blocks = 3, .small = i % 2});
        stream_sync_all(); /* what the jobs submit comes after this one's positions */
        stream_sync_all();
        assert_int_equal(nested_runs, 60);
    }
}

/* The first error of a stream is told once; what the command was to write has it. */
static void errors_reach_the_owner(void **state)
{
    (void) state;
    const ErrorRecord record = {.code = JIT_ERROR_COMPILE, .message = "from inside"};
    Stream *stream = own_stream();
    assert_true(stream_check(stream));
    for (int small = 0; small < 2; small++) {
        uint32_t values[5] = {0};
        Buffer *from = get_buffer(100), *to = get_buffer(100), *last = get_buffer(100);
        Buffer *other = get_buffer(CHAIN * sizeof(uint32_t));
        buffer_fail(from, &record);
        buffer_fail(from, &(ErrorRecord) {.code = JIT_ERROR_STATE}); /* too late */
        submit_job(&(Job) {.run = set_slowly, .payload = values, .blocks = 5,
                           .small = small, .from = from, .to = to});
        submit_job(&(Job) {.run = set_slowly, .payload = values, .blocks = 5,
                           .small = small, .from = to, .to = last});
        submit_link(NULL, other, false, small);
        stream_sync(stream);
        error_clear();
        assert_false(stream_check(stream));
        assert_int_equal(error_code(), JIT_ERROR_COMPILE);
        assert_string_equal(error_message(), "from inside");
        assert_true(stream_check(stream));
        for (int i = 0; i < 3; i++) {
            error_clear();
            assert_false(stream_sync_buffer(i == 0 ? from : i == 1 ? to : last));
            assert_string_equal(error_message(), "from inside");
        }
        for (int i = 0; i < 5; i++)
            assert_int_equal(values[i], 0); /* nothing was run */
        assert_true(stream_sync_buffer(other));
        assert_int_equal(entries(other)[CHAIN - 1], 1);
        buffer_release(from);
        buffer_release(to);
        buffer_release(last);
        buffer_release(other);
    }
    error_clear();
}

static void *recycle_thread(void *pointer)
{
    Stream **out = pointer;
    *out = own_stream();
    run_job(&(Job) {.run = run_slowly, .blocks = 2});
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
    Buffer *survivor = get_buffer(CHAIN * sizeof(uint32_t));
    for (uint32_t i = 0; i < 3; i++) {
        submit_link(i ? survivor : NULL, survivor, false, i % 2);
        stream_shutdown();
        assert_int_equal(entries(survivor)[5], i + 1);
    }
    assert_true(stream_sync_buffer(survivor));
    buffer_release(survivor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(stream_keeps_order), TEST(small_job_waits_for_the_queue),
        TEST(waiting_lets_go),
        TEST(dependencies_between_streams), TEST(writes_wait_for_readers),
        TEST(worker_numbers_are_unique), TEST(resize_while_running),
        TEST(resize_keeps_nobody_waiting), TEST(slow_producer), TEST(jobs_submit_jobs),
        TEST(errors_reach_the_owner), TEST(streams_outlive_threads),
        TEST(restart_after_shutdown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
