/*
 * test_threads.c -- many threads trace and evaluate at once
 *
 * Shared variables are read, written and reduced by all of them; each thread's own
 * results are compared with what plain C computes. Runs under the thread sanitizer,
 * too.
 */
#include "emulated.h"
#include "thread_util.h"

#include <pthread.h>

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif
#if !defined(THREAD_SANITIZER)
#define THREAD_SANITIZER 0
#endif

enum { THREADS = 8, ROUNDS = 20, SIZE = 5000 };

typedef struct Task {
    uint32_t number;
    uint32_t shared; /* borrowed: a variable that all threads use */
    uint32_t result;
} Task;

/* Start THREADS threads with a task each, wait for them. */
static void run_tasks(void *(*work)(void *), Task *tasks)
{
    pthread_t ids[THREADS];
    atomic_store(&faults, 0);
    for (uint32_t i = 0; i < THREADS; ++i) {
        tasks[i].number = i;
        assert_int_equal(pthread_create(&ids[i], NULL, work, &tasks[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; ++i)
        pthread_join(ids[i], NULL);
    assert_int_equal(atomic_load(&faults), 0);
}

static bool entry_is(uint32_t id, size_t offset, uint32_t expected)
{
    uint32_t found = ~expected;
    return jit_var_read(id, offset, &found) && found == expected;
}

/* op(a, literal) */
static uint32_t with(uint32_t (*op)(uint32_t, uint32_t), uint32_t a, uint32_t value)
{
    uint32_t literal = jit_var_u32(CPU, value), result = op(a, literal);
    jit_var_dec_ref(literal);
    return result;
}

static uint32_t evaluated_counter(void)
{
    uint32_t counter = jit_var_counter(CPU, SIZE), x = with(jit_var_add, counter, 1);
    OK(jit_var_eval(x));
    jit_var_dec_ref(counter);
    return x;
}

/* ------------------------------------------------------------------ independent */

static void *compute(void *payload)
{
    Task *task = payload;
    for (uint32_t i = 0; i < ROUNDS; ++i) {
        uint32_t factor = task->number * ROUNDS + i;
        uint32_t x = with(jit_var_mul, task->shared, factor);
        uint32_t y = jit_var_add(x, task->shared), sum = jit_var_reduce(y, ReduceOpAdd);
        EXPECT(entry_is(y, 100, 101 * (factor + 1)));
        EXPECT(entry_is(sum, 0, (factor + 1) * (SIZE * (SIZE + 1) / 2)));
        DROP(x, y, sum);
    }
    return NULL;
}

static void test_compute(void **unused)
{
    (void) unused;
    Task tasks[THREADS] = { { 0 } };
    uint32_t x = evaluated_counter();
    for (uint32_t i = 0; i < THREADS; ++i)
        tasks[i].shared = x;
    run_tasks(compute, tasks);
    jit_var_dec_ref(x);
}

/* All evaluate one variable that nobody has evaluated yet. */
static void *evaluate_shared(void *payload)
{
    Task *task = payload;
    EXPECT(entry_is(task->shared, 10, 100));
    EXPECT(entry_is(task->shared, SIZE - 1, (SIZE - 1) * (SIZE - 1)));
    return NULL;
}

static void test_shared_evaluation(void **unused)
{
    (void) unused;
    for (int round = 0; round < ROUNDS; ++round) {
        Task tasks[THREADS] = { { 0 } };
        uint32_t x = jit_var_counter(CPU, SIZE), y = jit_var_mul(x, x);
        for (uint32_t i = 0; i < THREADS; ++i)
            tasks[i].shared = y;
        run_tasks(evaluate_shared, tasks);
        DROP(x, y);
    }
}

/* ----------------------------------------------------------------------- writes */

/* Everybody writes to what is one array at first: copy on write keeps them apart, and
 * gathers see what their own thread wrote before. */
static void *write_own_copy(void *payload)
{
    Task *task = payload;
    uint32_t target = task->shared;
    jit_var_inc_ref(target);
    for (uint32_t i = 0; i < ROUNDS; ++i) {
        uint32_t index = with(jit_var_mod, task->shared, 50);
        uint32_t value = jit_var_u32(CPU, task->number + 1);
        uint32_t next =
            jit_var_scatter(target, value, index, 0, ReduceOpAdd, (ReduceMode) (i % 3));
        uint32_t back = jit_var_gather(next, index, 0);
        uint32_t expected = 8 + (i + 1) * (SIZE / 50) * (task->number + 1);
        EXPECT(entry_is(next, 7, expected));
        EXPECT(entry_is(back, 6, expected)); /* entry 6 of the counter from 1 is 7 */
        DROP(target, index, value, back);
        target = next;
    }
    jit_var_dec_ref(target);
    return NULL;
}

static void test_copy_on_write(void **unused)
{
    (void) unused;
    Task tasks[THREADS] = { { 0 } };
    uint32_t x = evaluated_counter();
    for (uint32_t i = 0; i < THREADS; ++i)
        tasks[i].shared = x;
    run_tasks(write_own_copy, tasks);
    for (size_t i = 0; i < SIZE; i += 77)
        assert_true(entry_is(x, i, (uint32_t) i + 1));
    jit_var_dec_ref(x);
}

/* An array wanders from thread to thread; each adds to it without waiting for its work,
 * so only the order of streams keeps the sums right. */
static pthread_mutex_t baton_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t baton;

static void *add_to_baton(void *payload)
{
    (void) payload;
    for (uint32_t i = 0; i < ROUNDS; ++i) {
        uint32_t x = jit_var_counter(CPU, SIZE), index = with(jit_var_mod, x, 10);
        uint32_t one = jit_var_u32(CPU, 1);
        pthread_mutex_lock(&baton_lock);
        uint32_t next =
            jit_var_scatter(baton, one, index, 0, ReduceOpAdd, ReduceModeAuto);
        EXPECT(next && jit_eval());
        jit_var_dec_ref(baton);
        baton = next;
        pthread_mutex_unlock(&baton_lock);
        DROP(x, index, one);
    }
    return NULL;
}

static void test_baton(void **unused)
{
    (void) unused;
    Task tasks[THREADS] = { { 0 } };
    uint32_t zero = 0;
    OK(baton = jit_var_literal(CPU, VarTypeUInt32, &zero, 10, 1));
    run_tasks(add_to_baton, tasks);
    for (size_t i = 0; i < 10; ++i)
        assert_true(entry_is(baton, i, THREADS * ROUNDS * SIZE / 10));
    jit_var_dec_ref(baton);
}

/* Small arrays are reduced, compressed and written at once, without a command, where
 * nothing else uses them: here, kernels of all threads do, and do not. What is read
 * belongs to the moment at which the thread had its turn. */
enum { SMALL = 64, PRIME = 13, TURNS = 60, MANY = 100000 };
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static uint32_t numbers, numbers_expected[SMALL]; /* guarded by 'turn' */
static uint32_t small_floats, small_mask;         /* never written */

static uint32_t small_copy(VarType type, const void *entries)
{
    return jit_var_mem_copy(CPU, type, entries, SMALL);
}

static uint32_t total_of(const uint32_t *entries)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < SMALL; ++i)
        total += entries[i];
    return total;
}

/* Does a reduction of the array, which may be in use, give this? */
static bool sum_is(uint32_t id, uint32_t expected)
{
    uint32_t sum = jit_var_reduce(id, ReduceOpAdd);
    bool is = sum && entry_is(sum, 0, expected);
    jit_var_dec_ref(sum);
    return is;
}

/* One more than each, by a kernel that may not have ended on return. */
static uint32_t begin_kernel(uint32_t id)
{
    uint32_t more = with(jit_var_add, id, 1);
    jit_var_schedule(more);
    EXPECT(jit_eval());
    return more;
}

static void use_what_is_shared(void)
{
    uint32_t dot = jit_var_reduce_dot(small_floats, small_floats);
    uint32_t most = jit_var_reduce(small_floats, ReduceOpMax);
    uint32_t chosen = jit_var_compress(small_mask);
    float found = 0;
    EXPECT(jit_var_read(dot, 0, &found) && found == SMALL);
    EXPECT(jit_var_read(most, 0, &found) && found == 1);
    EXPECT(jit_var_size(chosen) == SMALL / 2);
    EXPECT(entry_is(chosen, 3, 7));
    DROP(dot, most, chosen);
}

/* Many lanes add 1 to an entry, which goes on when the next thread has its turn. */
static uint32_t count_many(uint32_t id, uint32_t at)
{
    uint32_t lanes = jit_var_counter(CPU, MANY), zero = with(jit_var_div, lanes, MANY);
    uint32_t index = with(jit_var_add, zero, at), one = jit_var_u32(CPU, 1);
    uint32_t next = jit_var_scatter(id, one, index, 0, ReduceOpAdd, ReduceModeAuto);
    EXPECT(next && jit_eval());
    DROP(lanes, zero, index, one);
    return next;
}

static void *take_turns(void *payload)
{
    const Task *task = payload;
    for (uint32_t i = 0; i < TURNS; ++i) {
        uint32_t before[SMALL], more = 0, held = 0;
        pthread_mutex_lock(&turn);
        memcpy(before, numbers_expected, sizeof before);
        if (i % 3 == 1) /* reads what is written below */
            more = begin_kernel(numbers);
        if (i % 5 == 2) /* what is written below is a copy */
            jit_var_inc_ref(held = numbers);
        bool many = i % 16 == 4;
        uint32_t at = (task->number * PRIME + i) % SMALL;
        uint32_t value = many ? before[at] + MANY : i * THREADS + at;
        uint32_t next =
            many ? count_many(numbers, at) : jit_var_write(numbers, at, &value);
        EXPECT(next);
        jit_var_dec_ref(numbers);
        numbers = next;
        numbers_expected[at] = value;
        if (i % 2)
            EXPECT(sum_is(numbers, total_of(numbers_expected)));
        pthread_mutex_unlock(&turn);
        if (more)
            EXPECT(sum_is(more, total_of(before) + SMALL));
        if (held)
            EXPECT(sum_is(held, total_of(before)));
        use_what_is_shared();
        jit_var_dec_ref(more);
        jit_var_dec_ref(held);
    }
    return NULL;
}

static void test_small_arrays(void **unused)
{
    (void) unused;
    Task tasks[THREADS] = { { 0 } };
    float ones[SMALL];
    uint8_t odd[SMALL];
    for (uint32_t i = 0; i < SMALL; ++i) {
        numbers_expected[i] = i;
        ones[i] = 1;
        odd[i] = i % 2;
    }
    OK(numbers = small_copy(VarTypeUInt32, numbers_expected));
    OK(small_floats = small_copy(VarTypeFloat32, ones));
    OK(small_mask = small_copy(VarTypeBool, odd));
    run_tasks(take_turns, tasks);
    for (size_t i = 0; i < SMALL; ++i)
        assert_true(entry_is(numbers, i, numbers_expected[i]));
    DROP(numbers, small_floats, small_mask);
}

/* ------------------------------------------------------------ life of threads */

/* Ends with a scheduled variable, a pending write and running work. */
static void *leave_work_behind(void *payload)
{
    Task *task = payload;
    uint32_t x = with(jit_var_mul, task->shared, 3), y = with(jit_var_add, x, 1);
    jit_var_schedule(y);
    EXPECT(jit_eval());
    uint32_t z = with(jit_var_add, y, task->number);
    jit_var_schedule(z);
    task->result = z;
    DROP(x, y);
    return NULL;
}

static void test_thread_exit(void **unused)
{
    (void) unused;
    for (int round = 0; round < ROUNDS; ++round) {
        Task tasks[THREADS] = { { 0 } };
        uint32_t x = evaluated_counter();
        for (uint32_t i = 0; i < THREADS; ++i)
            tasks[i].shared = x;
        run_tasks(leave_work_behind, tasks);
        for (uint32_t i = 0; i < THREADS; ++i) {
            assert_true(entry_is(tasks[i].result, 20, 21 * 3 + 1 + i));
            jit_var_dec_ref(tasks[i].result);
        }
        jit_var_dec_ref(x);
    }
}

/* The write that a thread queued and did not evaluate is not lost with it. */
static void *leave_write_behind(void *payload)
{
    Task *task = payload;
    uint32_t one = jit_var_u32(CPU, 1), seven = jit_var_u32(CPU, 7);
    uint32_t target = jit_var_copy(task->shared);
    task->result =
        jit_var_scatter(target, seven, one, 0, ReduceOpIdentity, ReduceModeAuto);
    EXPECT(task->result);
    DROP(one, seven, target);
    return NULL;
}

static void test_thread_exit_with_write(void **unused)
{
    (void) unused;
    Task tasks[THREADS] = { { 0 } };
    uint32_t x = evaluated_counter();
    for (uint32_t i = 0; i < THREADS; ++i)
        tasks[i].shared = x;
    run_tasks(leave_write_behind, tasks);
    for (uint32_t i = 0; i < THREADS; ++i) {
        assert_true(entry_is(tasks[i].result, 1, 7));
        assert_true(entry_is(tasks[i].result, 2, 3));
        jit_var_dec_ref(tasks[i].result);
    }
    jit_var_dec_ref(x);
}

static _Atomic bool stop;

static void *change_thread_count(void *unused)
{
    (void) unused;
    for (uint32_t i = 0; !atomic_load(&stop); ++i)
        EXPECT(jit_llvm_set_thread_count(i % 5));
    return NULL;
}

static void *compute_large(void *payload)
{
    Task *task = payload;
    for (uint32_t i = 0; i < 5; ++i) {
        uint32_t x = jit_var_counter(CPU, 1 << 17), y = with(jit_var_add, x, i);
        uint32_t z = jit_var_mul(y, y), most = jit_var_reduce(y, ReduceOpMax);
        EXPECT(entry_is(z, 60000, (60000 + i) * (60000 + i)));
        EXPECT(entry_is(most, 0, (1 << 17) - 1 + i));
        DROP(x, y, z, most);
    }
    task->result = 0;
    return NULL;
}

static void test_thread_count(void **unused)
{
    (void) unused;
    uint32_t before = jit_llvm_thread_count();
    Task tasks[THREADS] = { { 0 } };
    pthread_t changer;
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&changer, NULL, change_thread_count, NULL), 0);
    run_tasks(compute_large, tasks);
    atomic_store(&stop, true);
    pthread_join(changer, NULL);
    OK(jit_llvm_set_thread_count(before));
}

static void *own_flags(void *payload)
{
    Task *task = payload;
    EXPECT(jit_flags() == JitFlagDefault);
    uint32_t flags = task->number << 3;
    for (uint32_t i = 0; i < 1000; ++i) {
        jit_set_flags(flags);
        jit_set_flag(JitFlagReuseIndices, i & 1);
        EXPECT(jit_flags() == (flags | (i & 1 ? JitFlagReuseIndices : 0)));
    }
    return NULL;
}

static void test_flags(void **unused)
{
    (void) unused;
    Task tasks[THREADS] = { { 0 } };
    jit_set_flag(JitFlagDebug, 1);
    run_tasks(own_flags, tasks);
    assert_true(jit_flags() == (JitFlagDefault | JitFlagDebug));
}

/* Everything that walks over all variables, while others come and go. */
static void *look_around(void *payload)
{
    Task *task = payload;
    for (uint32_t i = 0; i < ROUNDS; ++i) {
        /* Not + 0, which is the shared variable: its label would be everybody's. */
        uint32_t x = with(jit_var_add, task->shared, i + 1),
                 y = jit_var_set_label(x, "mine");
        EXPECT(jit_var_whos() && jit_var_graphviz() && jit_program_str(y));
        EXPECT(y && strcmp(jit_var_label(y), "mine") == 0);
        DROP(x, y);
        jit_flush_kernel_cache();
        jit_flush_malloc_cache();
    }
    return NULL;
}

static void test_look_around(void **unused)
{
    (void) unused;
    Task tasks[THREADS] = { { 0 } };
    uint32_t x = evaluated_counter();
    for (uint32_t i = 0; i < THREADS; ++i)
        tasks[i].shared = x;
    run_tasks(look_around, tasks);
    jit_var_dec_ref(x);
}

/* ------------------------------------------------------------------------- fork */

static void *keep_busy(void *payload)
{
    Task *task = payload;
    while (!atomic_load(&stop))
        compute(task);
    return NULL;
}

/* In the child, only the thread that called fork() lives on. */
static int child_works(uint32_t shared)
{
    uint32_t sum = jit_var_reduce(shared, ReduceOpAdd),
             x = jit_var_counter(CPU, 1 << 17);
    uint32_t y = with(jit_var_mul, x, 5), z = jit_var_add(shared, shared);
    bool ok = entry_is(sum, 0, SIZE * (SIZE + 1) / 2) && entry_is(y, 70000, 350000) &&
              entry_is(z, 8, 18);
    DROP(sum, x, y, z);
    return ok ? 0 : 1;
}

static void test_fork(void **unused)
{
    (void) unused;
    if (THREAD_SANITIZER || is_emulated())
        skip(); /* no child of a process with threads can start threads */
    Task tasks[4] = { { 0 } };
    pthread_t ids[4];
    uint32_t x = evaluated_counter();
    atomic_store(&faults, 0);
    atomic_store(&stop, false);
    for (uint32_t i = 0; i < 4; ++i) {
        tasks[i] = (Task){ .number = i, .shared = x };
        assert_int_equal(pthread_create(&ids[i], NULL, keep_busy, &tasks[i]), 0);
    }
    int failed = 0;
    for (int round = 0; round < 10; ++round) {
        pid_t child = fork();
        if (child == 0) {
            alarm(60); /* rather a signal than a child that waits forever */
            _exit(child_works(x));
        }
        int status = 0;
        failed += child < 0 || waitpid(child, &status, 0) != child || status != 0;
    }
    atomic_store(&stop, true);
    for (uint32_t i = 0; i < 4; ++i)
        pthread_join(ids[i], NULL);
    assert_int_equal(failed, 0);
    assert_int_equal(atomic_load(&faults), 0);
    jit_var_dec_ref(x);
}

static int tests(void)
{
    const struct CMUnitTest list[] = {
        TEST(test_compute),       TEST(test_shared_evaluation),
        TEST(test_copy_on_write), TEST(test_baton),
        TEST(test_small_arrays),
        TEST(test_thread_exit),   TEST(test_thread_exit_with_write),
        TEST(test_thread_count),  TEST(test_flags),
        TEST(test_look_around),   TEST(test_fork)
    };
    return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void)
{
    return run_engines(tests) ? 1 : 0;
}
