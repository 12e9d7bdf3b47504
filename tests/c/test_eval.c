/*
 * test_eval.c -- scheduling, kernels and their cache, the stream, threads
 *
 * The disk cache is a fresh folder; this program runs itself once more to see a second
 * process find there what the first one compiled.
 */
#include "eval_util.h"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "device/cpu/launch/cpu_launch.h"

static const char *program_name;

/* -------------------------------------------------------------- scheduling */

static void test_schedule(void **unused)
{
    (void) unused;
    uint32_t a = sample(10, 3), l = jit_var_u32(CPU, 5),
             m = u32_array(2, (uint32_t[]){ 1, 2 });
    Stats before = stats_now();
    assert_false(jit_var_schedule(l));
    assert_false(jit_var_schedule(m));
    assert_int_equal(jit_error(), JIT_OK);
    assert_true(jit_var_schedule(a));
    assert_true(jit_var_schedule(a)); /* twice is as good as once */
    assert_int_equal(jit_var_state(a), VarStateUnevaluated);
    OK(jit_eval());
    assert_int_equal(jit_var_state(a), VarStateEvaluated);
    assert_false(jit_var_schedule(a));
    CHECK_STATS(before, 1, 0, 1);
    CHECK_U32(a, 1, 4, 7, 10, 13, 16, 19, 22, 25, 28);
    OK(jit_eval()); /* nothing to do */
    CHECK_STATS(before, 1, 0, 1);

    /* Scheduled, then freed: nobody wants it. */
    uint32_t b = sample(10, 7);
    assert_true(jit_var_schedule(b));
    jit_var_dec_ref(b);
    OK(jit_eval());
    CHECK_STATS(before, 1, 0, 1);

    uint32_t c = sample(12, 9);
    assert_true(jit_var_eval(c));
    assert_false(jit_var_eval(c));
    assert_int_equal(jit_error(), JIT_OK);
    assert_false(jit_var_eval(l));
    assert_int_equal(jit_error(), JIT_OK);
    DROP(a, l, m, c);
}

static void test_schedule_force(void **unused)
{
    (void) unused;
    int rv = -1;
    uint32_t l = literal_of(VarTypeUInt32, 77, 4), shared = jit_var_inc_ref(l);
    uint32_t a = jit_var_schedule_force(l, &rv);
    OK(a);
    assert_int_equal(rv, 1);
    assert_int_not_equal(a, l);
    OK(jit_eval());
    assert_int_equal(jit_var_state(a), VarStateEvaluated);
    assert_int_equal(jit_var_state(l), VarStateLiteral);
    CHECK_U32(a, 77, 77, 77, 77);
    jit_var_dec_ref(shared);
    uint32_t b = jit_var_schedule_force(l, &rv);
    assert_int_equal(rv, 1);
    OK(jit_eval());
    CHECK_U32(b, 77, 77, 77, 77);
    uint32_t x = sample(3, 2), c = jit_var_schedule_force(x, &rv);
    assert_int_equal(c, x);
    assert_int_equal(rv, 1);
    OK(jit_eval());
    uint32_t d = jit_var_schedule_force(x, &rv);
    assert_int_equal(d, x);
    assert_int_equal(rv, 0);
    uint32_t e = jit_var_schedule_force(x, NULL);
    DROP(l, a, b, x, c, d, e);
}

static void test_groups(void **unused)
{
    (void) unused;
    Stats before = stats_now();
    uint32_t a = sample(10, 3), b = sample(20, 3), c = sample(10, 4),
             d = sample(1000, 5);
    uint32_t e = jit_var_add(a, c), s = sample(1, 9); /* size 1 folds to a literal */
    uint32_t ids[] = { a, b, c, d, e, s };
    for (size_t i = 0; i < COUNT_OF(ids); ++i)
        assert_int_equal(jit_var_schedule(ids[i]), ids[i] != s);
    OK(jit_eval());
    Stats after = stats_now();
    assert_int_equal(after.launches - before.launches, 3); /* one for each size */
    CHECK_U32(e, 2, 9, 16, 23, 30, 37, 44, 51, 58, 65);
    uint32_t value;
    OK(jit_var_read(d, 999, &value));
    assert_int_equal(value, 999 * 5 + 1);
    OK(jit_var_read(b, 19, &value));
    assert_int_equal(value, 58);
    drop_all(ids, COUNT_OF(ids));
}

/* Uniform work feeds wide work of the same evaluation. */
static void test_mixed_uniform(void **unused)
{
    (void) unused;
    uint32_t k = u32_array(1, (uint32_t[]){ 6 }), two = jit_var_u32(CPU, 2);
    uint32_t u = jit_var_mul(k, two), c = jit_var_counter(CPU, 5),
             w = jit_var_add(c, u);
    jit_var_schedule(w);
    jit_var_schedule(u);
    OK(jit_eval());
    CHECK_U32(u, 12);
    CHECK_U32(w, 12, 13, 14, 15, 16);
    DROP(k, two, u, c, w);
}

static int callback_calls[2];
static void count_calls(uint32_t index, int freed, void *payload)
{
    (void) payload;
    callback_calls[freed != 0]++;
    if (!freed) /* no lock is held: the library may be called */
        assert_int_equal(jit_var_state(index), VarStateEvaluated);
}

static void test_callback(void **unused)
{
    (void) unused;
    uint32_t a = sample(10, 3);
    callback_calls[0] = callback_calls[1] = 0;
    OK(jit_var_set_callback(a, count_calls, NULL));
    OK(jit_var_eval(a));
    assert_int_equal(callback_calls[0], 1);
    jit_var_dec_ref(a);
    assert_int_equal(callback_calls[0], 1);
    assert_int_equal(callback_calls[1], 1);
    uint32_t b = sample(10, 4);
    OK(jit_var_set_callback(b, count_calls, NULL));
    OK(jit_var_set_callback(b, NULL, NULL));
    jit_var_dec_ref(b);
    assert_int_equal(callback_calls[1], 1);
}

static uint32_t overwritten;

/* Entry 0 becomes 2; did the evaluation work? */
static bool overwrite(void)
{
    uint32_t zero = jit_var_u32(CPU, 0), two = jit_var_u32(CPU, 2);
    advance(&overwritten, jit_var_scatter(overwritten, two, zero, ALWAYS,
                                          ReduceOpIdentity, ReduceModeAuto));
    DROP(zero, two);
    return jit_eval();
}

static void overwrite_when_evaluated(uint32_t index, int freed, void *payload)
{
    if (freed)
        return;
    assert_int_equal(jit_var_state(index), VarStateEvaluated);
    *(bool *) payload = overwrite();
}

static JitError overwrite_status;

static void overwrite_when_launched(LogLevel level, const char *message)
{
    (void) level;
    if (strstr(message, "n=1000,"))
        overwrite_status = overwrite() ? JIT_OK : (JitError) jit_error();
}

/* The array after 1000 writes and those of a callback. */
static void check_overwritten(void)
{
    uint32_t expected[1000];
    for (uint32_t i = 0; i < 1000; ++i)
        expected[i] = i ? 1 : 2;
    CHECK_BYTES(overwritten, expected, 1000);
    jit_var_dec_ref(overwritten);
}

/* What a callback writes comes after what its evaluation writes: 'a' is in the first of
 * two groups, between which the lock is released. */
static void test_callback_writes(void **unused)
{
    (void) unused;
    bool ok = false;
    uint32_t all = jit_var_counter(CPU, 1000), one = jit_var_u32(CPU, 1);
    uint32_t ten = jit_var_counter(CPU, 10), other = fill_u32(10, 0);
    uint32_t a = sample(10, 3);
    jit_set_flag(JitFlagLaunchBlocking, 1);
    advance(&other, jit_var_scatter(other, ten, ten, ALWAYS, ReduceOpIdentity,
                                    ReduceModeAuto));
    overwritten = fill_u32(1000, 0);
    advance(&overwritten, jit_var_scatter(overwritten, one, all, ALWAYS,
                                          ReduceOpIdentity, ReduceModeAuto));
    OK(jit_var_set_callback(a, overwrite_when_evaluated, &ok));
    OK(jit_var_eval(a));
    assert_true(ok);
    check_overwritten();
    DROP(a, ten, other);

    /* A log callback is called at once, and cannot have its writes wait. */
    jit_set_log_level_callback(LogLevelInfo, overwrite_when_launched);
    overwritten = fill_u32(1000, 0);
    advance(&overwritten, jit_var_scatter(overwritten, one, all, ALWAYS,
                                          ReduceOpIdentity, ReduceModeAuto));
    overwrite_status = JIT_OK;
    OK(jit_eval());
    assert_int_equal(overwrite_status, JIT_ERROR_STATE);
    check_overwritten();
    DROP(all, one);
}

/* ------------------------------------------------------------ kernel cache */

static void test_cache(void **unused)
{
    (void) unused;
    Stats before = stats_now();
    uint32_t a = sample(10, 31), b = sample(500, 31);
    OK(jit_var_eval(a));
    CHECK_STATS(before, 1, 0, 1);
    OK(jit_var_eval(b)); /* the size is not part of a kernel */
    CHECK_STATS(before, 2, 1, 1);
    uint32_t c = sample(10, 31), d = jit_var_neg(c);
    assert_int_not_equal(c, a);
    OK(jit_var_eval(d)); /* another program */
    CHECK_STATS(before, 3, 1, 2);
    jit_flush_kernel_cache();
    uint32_t e = sample(11, 31);
    OK(jit_var_eval(e));
    CHECK_STATS(before, 4, 1, 3);
    CHECK_U32(e, 1, 32, 63, 94, 125, 156, 187, 218, 249, 280, 311);
    DROP(a, b, c, d, e);
}

/* Only a literal differs: it becomes a parameter, once and for all. */
static void test_near_miss(void **unused)
{
    (void) unused;
    jit_flush_kernel_cache();
    jit_set_log_level_callback(LogLevelInfo, log_keep);
    Stats before = stats_now();
    jit_set_source_location("loop.c", 17);
    for (uint32_t k = 0; k < 10; ++k) {
        uint32_t a = sample(5, 1000 + k), f = 1000 + k;
        OK(jit_var_eval(a));
        CHECK_U32(a, 1, f + 1, 2 * f + 1, 3 * f + 1, 4 * f + 1);
        jit_var_dec_ref(a);
    }
    jit_set_source_location(NULL, 0);
    CHECK_STATS(before, 10, 8, 2);
    assert_int_equal(log_count("turned into a parameter"), 1);
    assert_non_null(strstr(log_text_seen, "literal 1001"));
    assert_non_null(strstr(log_text_seen, "loop.c:17"));
    assert_non_null(strstr(log_text_seen, "differs from 1000"));

    /* A float and an int8 among the literals. */
    before = stats_now();
    for (int k = 0; k < 4; ++k) {
        uint32_t c = jit_var_counter(CPU, 3), f = jit_var_cast(c, VarTypeFloat32, 0);
        uint32_t l = jit_var_f32(CPU, 0.25f + (float) k), p = jit_var_mul(f, l);
        uint32_t i = jit_var_cast(c, VarTypeInt8, 0),
                 n = jit_var_i8(CPU, (int8_t) (-7 - k));
        uint32_t q = jit_var_sub(i, n);
        jit_var_schedule(p);
        jit_var_schedule(q);
        OK(jit_eval());
        float expected[] = { 0, 0.25f + (float) k, 2 * (0.25f + (float) k) };
        int8_t small[] = { (int8_t) (7 + k), (int8_t) (8 + k), (int8_t) (9 + k) };
        CHECK_BYTES(p, expected, 3);
        CHECK_BYTES(q, small, 3);
        DROP(c, f, l, p, i, n, q);
    }
    CHECK_STATS(before, 4, 2, 2);
}

/* ----------------------------------------------------------- large results */

/* The one launch that is in the history. */
static uint64_t launched(void)
{
    KernelHistoryEntry *e = NULL;
    assert_int_equal(jit_kernel_history(&e), 1);
    uint64_t hash = e->hash[0];
    jit_kernel_history_release(e, 1);
    return hash;
}

/* Values of four widths, the last packets incomplete; the kernel's name. */
static uint64_t check_widths(size_t size)
{
    uint32_t i = jit_var_counter(CPU, size);
    uint32_t wide = jit_var_cast(i, VarTypeFloat64, 0),
             byte = jit_var_cast(i, VarTypeUInt8, 0), five = jit_var_u32(CPU, 5),
             product = jit_var_mul(i, five), mask = jit_var_gt(i, five);
    uint32_t ids[] = { wide, byte, product, mask };
    jit_kernel_history_clear();
    for (size_t k = 0; k < COUNT_OF(ids); ++k)
        assert_true(jit_var_schedule(ids[k]));
    OK(jit_eval() && jit_sync_thread());
    void *data[COUNT_OF(ids)];
    uint32_t held[COUNT_OF(ids)];
    for (size_t k = 0; k < COUNT_OF(ids); ++k)
        OK(held[k] = data_of(ids[k], &data[k]));
    const double *wides = data[0];
    const uint8_t *bytes = data[1], *masks = data[3];
    const uint32_t *products = data[2];
    for (size_t k = 0; k < size; ++k)
        if (wides[k] != (double) k || bytes[k] != (k & 255) || products[k] != 5 * k ||
            masks[k] != (k > 5))
            fail_msg("entry %zu of %zu is wrong", k, size);
    DROP(i, wide, byte, five, product, mask, held[0], held[1], held[2], held[3]);
    return launched();
}

/* A long chain, for which code for many lanes is another one; the kernel's name. */
static uint64_t check_chain(size_t size)
{
    enum { LINKS = 93 };
    uint32_t x = jit_var_counter(CPU, size), first = x, three = jit_var_u32(CPU, 3);
    jit_var_inc_ref(first);
    for (uint32_t k = 0; k < LINKS; ++k)
        advance(&x, k % 2 ? jit_var_add(x, first) : jit_var_mul(x, three));
    jit_kernel_history_clear();
    void *data;
    uint32_t held;
    OK(jit_var_eval(x) && (held = data_of(x, &data)));
    const uint32_t *found = data;
    for (size_t i = 0; i < size; ++i) {
        uint32_t expected = (uint32_t) i;
        for (uint32_t k = 0; k < LINKS; ++k)
            expected = k % 2 ? expected + (uint32_t) i : expected * 3;
        if (found[i] != expected)
            fail_msg("entry %zu of %zu is wrong", i, size);
    }
    DROP(x, first, three, held);
    return launched();
}

/* Entries of an array of which few pages are there; the kernel's name. */
static uint64_t check_gather(size_t entries, const uint32_t *index, size_t size)
{
    enum { USED = 64 };
    size_t step = entries / USED, bytes = entries * sizeof(uint32_t);
    uint32_t *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(data != MAP_FAILED);
    for (uint32_t k = 0; k < USED; ++k)
        data[k * step] = 7 * k + 1;
    uint32_t from = jit_var_mem_map(CPU, VarTypeUInt32, data, entries, 0), held,
             number = jit_var_mem_copy(CPU, VarTypeUInt32, index, size),
             stride = jit_var_u32(CPU, (uint32_t) step),
             product = jit_var_mul(number, stride);
    OK(from && jit_var_eval(product));
    jit_kernel_history_clear();
    uint32_t result = jit_var_gather(from, product, 0);
    void *memory;
    OK(jit_var_eval(result) && (held = data_of(result, &memory)));
    const uint32_t *found = memory;
    for (size_t i = 0; i < size; ++i)
        if (found[i] != 7 * index[i] + 1)
            fail_msg("entry %zu of %zu is wrong", i, size);
    DROP(from, number, stride, product, result, held);
    munmap(data, bytes);
    return launched();
}

/* A kernel's name says what is computed, not for how many lanes, nor from how large an
 * array. */
static void test_sizes(void **unused)
{
    (void) unused;
    enum { LARGE = 3000013 /* 42 MB */, MANY = 20011, SMALL = 1013 };
    enum { NEAR = 6400, FAR = 1 << 29, INDICES = 6000013 };
    uint32_t threads = jit_llvm_thread_count();
    uint32_t *index = malloc(INDICES * sizeof(uint32_t));
    assert_non_null(index);
    for (uint32_t i = 0; i < INDICES; ++i)
        index[i] = i * 2654435761u >> 26;
    OK(jit_llvm_set_thread_count(2));
    jit_set_flag(JitFlagKernelHistory, 1);
    uint64_t widths = check_widths(SMALL), chain = check_chain(SMALL);
    assert_int_equal(check_widths(LARGE), widths);
    assert_int_equal(check_widths(SMALL), widths);
    assert_int_equal(check_chain(MANY), chain);
    assert_int_equal(check_chain(SMALL), chain);
    jit_flush_kernel_cache();
    assert_int_equal(check_chain(MANY), chain);
    assert_int_equal(check_chain(17), chain);
    if (!IS_FAR) { /* a device cannot map memory of the host */
        uint64_t gather = check_gather(NEAR, index, SMALL);
        assert_int_equal(check_gather(FAR, index, SMALL), gather);
        assert_int_equal(check_gather(FAR, index, INDICES), gather);
        assert_int_equal(check_gather(NEAR, index, INDICES), gather);
    }
    jit_set_flag(JitFlagKernelHistory, 0);
    OK(jit_llvm_set_thread_count(threads));
    free(index);
}

/* ------------------------------------------------------------ the stream */

static void append(void *payload)
{
    static uint32_t next;
    uint32_t *slot = payload;
    if (!slot)
        next = 0;
    else
        *slot = ++next;
}

static void nap(void *payload)
{
    (void) payload;
    nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

static void test_host_functions(void **unused)
{
    (void) unused;
    enum { N = 300 };
    uint32_t order[N] = { 0 };
    OK(jit_enqueue_host_func(CPU, append, NULL));
    for (uint32_t i = 0; i < N; ++i) {
        if (i % 50 == 0) { /* kernels among them */
            uint32_t a = sample(100000, i + 3);
            OK(jit_var_eval(a));
            jit_var_dec_ref(a);
        }
        OK(jit_enqueue_host_func(CPU, append, &order[i]));
    }
    OK(jit_sync_thread());
    for (uint32_t i = 0; i < N; ++i)
        assert_int_equal(order[i], i + 1);
}

static void test_events(void **unused)
{
    (void) unused;
    JitEvent *a = jit_event_create(CPU, 1), *b = jit_event_create(CPU, 1);
    OK(a && b);
    assert_true(jit_event_query(a)); /* never recorded */
    OK(jit_event_wait(a));
    OK(jit_event_record(a));
    OK(jit_enqueue_host_func(CPU, nap, NULL));
    OK(jit_event_record(b));
    OK(jit_event_wait(b));
    assert_true(jit_event_query(a) && jit_event_query(b));
    double ms = jit_event_elapsed_time(a, b);
    assert_true(ms >= 4.9 && ms < 5000);
    assert_true(jit_event_elapsed_time(b, a) < 0);
    OK(jit_event_record(a)); /* again */
    OK(jit_sync_thread());
    assert_true(jit_event_elapsed_time(b, a) >= 0);
    jit_event_destroy(a);
    jit_event_destroy(b);
}

static void test_launch_blocking(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagLaunchBlocking, 1);
    enum { N = 500000 };
    uint32_t a = sample(N, 17);
    OK(jit_var_eval(a));
    VarInfo info;
    OK(jit_var_info(a, &info));
    /* Complete without any further waiting. */
    const uint32_t *data = fetch(info.data, N * sizeof(uint32_t));
    for (uint32_t i = 0; i < N; ++i)
        assert_int_equal(data[i], i * 17 + 1);
    jit_var_dec_ref(a);
}

/* ----------------------------------------------------------------- threads */

static void *work(void *payload)
{
    uint32_t number = (uint32_t) (uintptr_t) payload;
    for (uint32_t k = 0; k < 20; ++k) {
        uint32_t n = 1000 + number, f = 3 + k % 4, a = sample(n, f), value = 0;
        if (!a || !jit_var_eval(a) || !jit_var_read(a, n - 1, &value) ||
            value != (n - 1) * f + 1)
            return "wrong";
        jit_var_dec_ref(a);
    }
    return NULL;
}

static void test_threads(void **unused)
{
    (void) unused;
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    jit_flush_kernel_cache();
    Stats before = stats_now();
    for (uintptr_t i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *) i), 0);
    for (int i = 0; i < THREADS; ++i) {
        void *fault;
        assert_int_equal(pthread_join(threads[i], &fault), 0);
        assert_null(fault);
    }
    /* 3x, 4x as a shift, and one generalised kernel at most: nothing is compiled twice.
     */
    Stats after = stats_now();
    assert_int_equal(after.launches - before.launches, THREADS * 20);
    assert_true(after.soft + after.hard - before.soft - before.hard <= 5);
}

static void *chain(void *payload)
{
    uint32_t count = *(uint32_t *) payload, value = 0;
    uint32_t a = jit_var_counter(CPU, 4), one = u32_array(1, (uint32_t[]){ 1 });
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t next = jit_var_add(a, one);
        jit_var_dec_ref(a);
        a = next;
    }
    uint32_t unused = jit_var_neg(a); /* freed without having been evaluated */
    bool ok =
        unused && jit_var_eval(a) && jit_var_read(a, 3, &value) && value == count + 3;
    DROP(a, one, unused);
    uint32_t b = jit_var_counter(CPU, 4);
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t next = jit_var_not(b), twice = jit_var_xor(next, b);
        DROP(b, next);
        b = twice;
    }
    jit_var_dec_ref(b);
    return ok ? NULL : "wrong";
}

/* Large outputs are written past the caches, which makes no difference: of any type,
 * with ends anywhere, read by the next kernel, and reduced by it. */
static uint32_t make_streamed(VarType type, uint32_t size, uint32_t *results)
{
    uint32_t lanes = sample(size, 3), x = jit_var_cast(lanes, type, 0), count = 0;
    results[count++] = jit_var_add(x, x);
    results[count++] = jit_var_mul(lanes, lanes);
    for (uint32_t i = 0; i < count; ++i)
        OK(jit_var_schedule(results[i]));
    OK(jit_eval());
    results[count++] = jit_var_mul(results[0], x);
    results[count++] = jit_var_reduce(results[1], ReduceOpAdd);
    DROP(lanes, x);
    return count;
}

static void test_streamed(void **unused)
{
    (void) unused;
    enum { MOST = 8 };
    static const VarType types[] = { VarTypeFloat32, VarTypeFloat64, VarTypeUInt32,
                                     VarTypeInt64, VarTypeUInt8, VarTypeFloat16 };
    static const uint32_t sizes[] = { 16384, 16385, 100003, 1000001 };
    for (size_t k = 0; k < COUNT_OF(types) * COUNT_OF(sizes); ++k) {
        VarType type = types[k % COUNT_OF(types)];
        uint32_t size = sizes[k / COUNT_OF(types)], results[2][MOST], count = 0;
        for (int streamed = 0; streamed < 2; ++streamed) {
            cpu_launch_set_cache(streamed ? 1024 : SIZE_MAX / 16);
            count = make_streamed(type, size, results[streamed]);
            for (uint32_t i = 0; i < count; ++i)
                OK(jit_var_eval(results[streamed][i]) || jit_error() == JIT_OK);
        }
        for (uint32_t i = 0; i < count; ++i) {
            void *expected;
            uint32_t held = data_of(results[0][i], &expected);
            CHECK_BYTES(results[1][i], expected, jit_var_size(results[1][i]));
            DROP(held);
        }
        drop_all(results[0], count);
        drop_all(results[1], count);
    }
    cpu_launch_set_cache(0);
}

static void test_long_chain(void **unused)
{
    (void) unused;
    uint32_t count = engine_is("llvm") ? 5000 : 1000000;
    pthread_attr_t small;
    pthread_t thread;
    void *fault;
    assert_int_equal(pthread_attr_init(&small), 0);
    assert_int_equal(pthread_attr_setstacksize(&small, 256 << 10), 0);
    assert_int_equal(pthread_create(&thread, &small, chain, &count), 0);
    assert_int_equal(pthread_join(thread, &fault), 0);
    assert_null(fault);
    pthread_attr_destroy(&small);
}

/* -------------------------------------------------------------- disk cache */

/* What the second process does: its kernel comes from disk. */
static int run_again(void)
{
    if (!start_library())
        return 10;
    Stats before = stats_now();
    jit_set_flag(JitFlagKernelHistory, 1);
    uint32_t a = sample(100, 987654), value = 0;
    if (!jit_var_eval(a) || !jit_var_read(a, 99, &value) || value != 99u * 987654 + 1)
        return 11;
    jit_var_dec_ref(a);
    KernelHistoryEntry *e;
    size_t count = jit_kernel_history(&e);
    bool from_disk = count == 1 && e[0].cache_disk && !e[0].cache_hit;
    jit_kernel_history_release(e, count);
    Stats s = stats_now();
    if (s.soft - before.soft != 1 || s.hard != before.hard || !from_disk)
        return 12;
    return jit_shutdown(0) ? 13 : 0;
}

static void test_disk_cache(void **unused)
{
    (void) unused;
    if (!engine_is("llvm"))
        return; /* interpreted kernels are not worth a file */
    assert_string_not_equal(jit_cache_dir(), "");
    uint32_t a = sample(100, 987654);
    OK(jit_var_eval(a));
    jit_var_dec_ref(a);
    OK(jit_sync_thread());
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        execl(program_name, program_name, "again", (char *) NULL);
        _exit(99);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ------------------------------------------------ writes that share a kernel */

enum { WRITE_LANES = 50, WRITE_PARTS = 3, WRITE_SIZE = WRITE_LANES * WRITE_PARTS };

typedef struct Write {
    uint32_t part; /* its entries are lane * WRITE_PARTS + part; or WRITE_PARTS: lane */
    ReduceOp op;   /* Identity or Add */
    uint32_t value; /* plus lane */
} Write;

static void write_here(uint32_t *expected, const Write *w)
{
    for (uint32_t lane = 0; lane < WRITE_LANES; ++lane) {
        uint32_t entry = w->part == WRITE_PARTS ? lane : lane * WRITE_PARTS + w->part;
        uint32_t *x = &expected[entry];
        *x = (w->op == ReduceOpAdd ? *x : 0) + w->value + lane;
    }
}

static void write_there(uint32_t *target, const Write *w)
{
    uint32_t lane = jit_var_counter(CPU, WRITE_LANES), index = lane;
    jit_var_inc_ref(index);
    if (w->part < WRITE_PARTS) {
        uint32_t parts = jit_var_u32(CPU, WRITE_PARTS);
        uint32_t part = jit_var_u32(CPU, w->part);
        advance(&index, jit_var_mul(index, parts));
        advance(&index, jit_var_add(index, part));
        DROP(parts, part);
    }
    uint32_t base = jit_var_u32(CPU, w->value), value = jit_var_add(base, lane);
    advance(target, jit_var_scatter(*target, value, index, ALWAYS, w->op,
                                    ReduceModeDirect));
    DROP(lane, index, base, value);
}

/* What writes leave is what they would leave one by one. How many launches are made. */
static uint64_t check_writes(const Write *writes, uint32_t count)
{
    uint32_t expected[WRITE_SIZE] = { 0 }, zero = jit_var_u32(CPU, 0);
    uint32_t target = jit_var_resize(zero, WRITE_SIZE);
    Stats before = stats_now();
    for (uint32_t i = 0; i < count; ++i) {
        write_here(expected, &writes[i]);
        write_there(&target, &writes[i]);
    }
    OK(jit_eval());
    Stats after = stats_now();
    for (uint32_t i = 0, found; i < WRITE_SIZE; ++i) {
        OK(jit_var_read(target, i, &found));
        assert_int_equal(found, expected[i]);
    }
    DROP(zero, target);
    return after.launches - before.launches;
}

static void test_writes_share(void **unused)
{
    (void) unused;
    enum { ALL = WRITE_PARTS, MOST = 8 };
    const ReduceOp set = ReduceOpIdentity, add = ReduceOpAdd;
    const Write parts[] = { { 0, set, 1 }, { 1, set, 2 }, { 2, set, 3 } };
    const Write back[] = { { 2, set, 1 }, { 1, set, 2 }, { 0, set, 3 } };
    const Write lanes[] = { { ALL, set, 1 }, { ALL, set, 2 }, { ALL, set, 3 } };
    const Write sums[] = { { ALL, add, 1 }, { 1, add, 2 }, { 2, add, 3 } };
    const Write twice[] = { { 0, set, 1 }, { 2, set, 2 }, { 1, set, 3 },
                            { 2, set, 4 } };
    const Write meets[] = { { ALL, set, 1 }, { 1, set, 2 } };
    const Write mixed[] = { { 0, add, 1 }, { 1, add, 2 }, { 1, set, 3 } };
    assert_int_equal(check_writes(parts, COUNT_OF(parts)), 1);
    assert_int_equal(check_writes(back, COUNT_OF(back)), 1);
    assert_int_equal(check_writes(lanes, COUNT_OF(lanes)), 1);
    assert_int_equal(check_writes(sums, COUNT_OF(sums)), 1);
    assert_int_equal(check_writes(twice, COUNT_OF(twice)), 1);
    assert_int_equal(check_writes(mixed, COUNT_OF(mixed)), 1); /* lane by lane */
    assert_true(check_writes(meets, COUNT_OF(meets)) > 1);
    for (uint32_t i = 0; i < 200; ++i) {
        Write some[MOST];
        uint32_t count = 1 + (uint32_t) (random_bits() % MOST);
        for (uint32_t k = 0; k < count; ++k)
            some[k] = (Write) { (uint32_t) (random_bits() >> 8) % (WRITE_PARTS + 1),
                                random_bits() >> 20 & 3 ? set : add,
                                (uint32_t) (random_bits() >> 8) % 1000 };
        (void) check_writes(some, count);
    }
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_schedule), TEST(test_schedule_force), TEST(test_groups),
        TEST(test_mixed_uniform), TEST(test_callback), TEST(test_callback_writes),
        TEST(test_cache), TEST(test_near_miss), TEST(test_sizes),
        TEST(test_host_functions), TEST(test_events),
        TEST(test_launch_blocking), TEST(test_threads), TEST(test_streamed),
        TEST(test_long_chain), TEST(test_writes_share),
        TEST(test_disk_cache),
    };
    return cmocka_run_group_tests_name("eval", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "again") == 0)
        return run_again();
    program_name = argv[0];
    return run_engines_uncached(run);
}
