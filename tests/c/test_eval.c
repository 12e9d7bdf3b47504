/*
 * test_eval.c -- scheduling, kernels and their cache, history, log, events, life
 *
 * Also what the README promises of the log: its lines are looked for in their order.
 * The disk cache is a fresh folder; this program runs itself once more to see a second
 * process find there what the first one compiled.
 */
#include "test_util.h"

#include <math.h>
#include <pthread.h>
#include <time.h>

static const char *program_name;

typedef struct Stats {
    size_t launches, hits, soft, hard;
} Stats;

static Stats stats_now(void)
{
    Stats s;
    jit_launch_stats(&s.launches, &s.hits, &s.soft, &s.hard);
    return s;
}

/* Launches, hits and kernels loaded or compiled since 'before'. */
static void check_stats(const Stats *before, size_t launches, size_t hits,
                        size_t misses, int line)
{
    Stats s = stats_now();
    size_t found[] = { s.launches - before->launches, s.hits - before->hits,
                       s.soft + s.hard - before->soft - before->hard };
    if (found[0] != launches || found[1] != hits || found[2] != misses)
        fail_msg("line %d: %zu launches, %zu hits, %zu misses, expected %zu, %zu, %zu",
                 line, found[0], found[1], found[2], launches, hits, misses);
}
#define CHECK_STATS(before, launches, hits, misses) \
    check_stats(&before, launches, hits, misses, __LINE__)

/* counter(size) * factor + 1 */
static uint32_t sample(uint32_t size, uint32_t factor)
{
    uint32_t c = jit_var_counter(CPU, size), f = jit_var_u32(CPU, factor);
    uint32_t one = jit_var_u32(CPU, 1), p = jit_var_mul(c, f), r = jit_var_add(p, one);
    OK(r);
    DROP(c, f, one, p);
    return r;
}

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

/* Values of four widths, the last packets incomplete; were they written past the
 * caches? */
static bool check_bypass(size_t size)
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
        OK(held[k] = jit_var_data(ids[k], &data[k]));
    const double *wides = data[0];
    const uint8_t *bytes = data[1], *masks = data[3];
    const uint32_t *products = data[2];
    for (size_t k = 0; k < size; ++k)
        if (wides[k] != (double) k || bytes[k] != (k & 255) || products[k] != 5 * k ||
            masks[k] != (k > 5))
            fail_msg("entry %zu of %zu is wrong", k, size);
    DROP(i, wide, byte, five, product, mask, held[0], held[1], held[2], held[3]);
    KernelHistoryEntry *e = NULL;
    assert_int_equal(jit_kernel_history(&e), 1);
    bool bypass = strstr(e->ir, "store.bypass @");
    jit_kernel_history_release(e, 1);
    return bypass;
}

/* Code that is had at once depends on how much is written. */
static void test_large_results(void **unused)
{
    (void) unused;
    enum { LARGE = 3000013 }; /* 42 MB */
    uint32_t threads = jit_llvm_thread_count();
    OK(jit_llvm_set_thread_count(2));
    jit_set_flag(JitFlagKernelHistory, 1);
    bool native = strcmp(getenv("DRJIT_CPU_ENGINE"), "native") == 0;
    assert_false(check_bypass(1013));
    assert_int_equal(check_bypass(LARGE), native);
    assert_false(check_bypass(1013));
    jit_set_flag(JitFlagKernelHistory, 0);
    OK(jit_llvm_set_thread_count(threads));
}

/* ----------------------------------------------------------------- history */

static void ignore_payload(void *payload)
{
    (void) payload;
}

static void test_history(void **unused)
{
    (void) unused;
    jit_flush_kernel_cache();
    jit_kernel_history_clear();
    jit_set_flag(JitFlagKernelHistory, 1);
    uint32_t x = u32_array(100, (uint32_t[100]){ 0 });
    for (int k = 0; k < 2; ++k) {
        uint32_t c = jit_var_counter(CPU, 100), a = jit_var_add(c, x),
                 b = jit_var_xor(c, x);
        jit_var_schedule(a);
        jit_var_schedule(b);
        OK(jit_eval());
        DROP(c, a, b);
    }
    KernelHistoryEntry *e = NULL;
    size_t count = jit_kernel_history(&e);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(e[i].backend, CPU);
        assert_int_equal(e[i].type, KernelTypeJIT);
        assert_int_equal(e[i].size, 100);
        assert_int_equal(e[i].input_count, 1);
        assert_int_equal(e[i].output_count, 2);
        assert_true(e[i].operation_count >= 4);
        assert_int_equal(e[i].cache_hit, i == 1);
        assert_true(!e[i].cache_hit || !e[i].cache_disk);
        assert_non_null(e[i].ir);
        assert_non_null(strstr(e[i].ir, "xor"));
        assert_string_equal(e[i].engine, getenv("DRJIT_CPU_ENGINE"));
        assert_true(e[i].codegen_time >= 0 && e[i].execution_time >= 0);
        assert_true(e[i].cache_hit ? e[i].backend_time == 0 : e[i].backend_time > 0);
        assert_int_equal(e[i].hash[0], e[0].hash[0]);
        assert_int_equal(e[i].hash[1], e[0].hash[1]);
    }
    assert_true(e[0].hash[0] != 0 || e[0].hash[1] != 0);
    jit_kernel_history_release(e, count);
    assert_int_equal(jit_kernel_history(&e), 0);
    jit_kernel_history_release(e, 0);

    /* Work that is not a kernel. */
    float data[64] = { 1, 2, 3 };
    uint32_t f = array_of(VarTypeFloat32, data, 64);
    uint8_t flags[64] = { 0, 1, 1 };
    uint32_t m = array_of(VarTypeBool, flags, 64);
    uint32_t keys[64] = { 0 }, perm[64];
    bool ok;
    uint32_t r[] = { jit_var_reduce(f, ReduceOpAdd),
                     jit_var_block_prefix_reduce(ReduceOpAdd, f, 64, 0, 0),
                     jit_var_reduce_dot(f, f), jit_var_compress(m) };
    OK(r[0] && r[1] && r[2] && r[3]);
    jit_block_mkperm(CPU, keys, 64, 64, 1, perm, NULL, &ok);
    OK(ok && jit_enqueue_host_func(CPU, ignore_payload, NULL));
    const KernelType types[] = { KernelTypeBlockReduce, KernelTypeBlockPrefixReduce,
                                 KernelTypeDot,         KernelTypeCompress,
                                 KernelTypeMkPerm,      KernelTypeHostFunc };
    count = jit_kernel_history(&e);
    assert_int_equal(count, COUNT_OF(types));
    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(e[i].type, types[i]);
        assert_int_equal(e[i].backend, CPU);
        assert_null(e[i].ir);
        assert_null(e[i].engine);
        if (types[i] != KernelTypeHostFunc)
            assert_int_equal(e[i].size, 64);
        assert_true(e[i].execution_time >= 0);
    }
    jit_kernel_history_release(e, count);
    uint32_t a = sample(3, 3);
    OK(jit_var_eval(a));
    jit_kernel_history_clear();
    assert_int_equal(jit_kernel_history(&e), 0);
    jit_kernel_history_release(e, 0);
    jit_set_flag(JitFlagKernelHistory, 0);
    uint32_t b = sample(4, 5);
    OK(jit_var_eval(b));
    assert_int_equal(jit_kernel_history(&e), 0);
    jit_kernel_history_release(e, 0);
    drop_all(r, COUNT_OF(r));
    DROP(x, f, m, a, b);
}

/* Copies, fills and single writes, asked for or made by the library. */
static void test_transfer_history(void **unused)
{
    (void) unused;
    uint32_t x = u32_array(100, (uint32_t[100]){ 0 }), held = jit_var_inc_ref(x);
    uint32_t value = 7, place[10], other[10];
    const AggregationEntry parts[] = { { 4, 0, NULL }, { -4, 4, &value } };
    jit_kernel_history_clear();
    jit_set_flag(JitFlagKernelHistory, 1);
    uint32_t filled = jit_var_literal(CPU, VarTypeUInt32, &value, 50, 1);
    uint32_t written = jit_var_write(x, 3, &value); /* a copy, as it is shared */
    OK(filled && written);
    uint32_t part = jit_var_shrink(written, 10);
    OK(part && jit_memset_async(CPU, place, 10, 4, &value));
    OK(jit_memcpy_async(CPU, other, place, sizeof(place)));
    OK(jit_memcpy(CPU, other, place, 0));
    OK(jit_aggregate(CPU, place, parts, COUNT_OF(parts)));
    static const struct {
        KernelType type;
        size_t size;
    } expected[] = { { KernelTypeMemset, 50 }, { KernelTypeMemcpy, 400 },
                     { KernelTypePoke, 4 },    { KernelTypeMemcpy, 40 },
                     { KernelTypeMemset, 10 }, { KernelTypeMemcpy, 40 },
                     { KernelTypeMemcpy, 0 },  { KernelTypeAggregate, 2 } };
    KernelHistoryEntry *e;
    size_t count = jit_kernel_history(&e);
    assert_int_equal(count, COUNT_OF(expected));
    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(e[i].type, expected[i].type);
        assert_int_equal(e[i].size, expected[i].size);
        assert_int_equal(e[i].output_count, 1);
        assert_true(e[i].execution_time >= 0);
    }
    jit_kernel_history_release(e, count);
    jit_set_flag(JitFlagKernelHistory, 0);
    DROP(x, held, filled, written, part);
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
    const uint32_t *data = info.data; /* complete without any further waiting */
    for (uint32_t i = 0; i < N; ++i)
        assert_int_equal(data[i], i * 17 + 1);
    jit_var_dec_ref(a);
}

/* --------------------------------------------------------------------- log */

static LogLevel last_level;
static void keep_level(LogLevel level, const char *message)
{
    last_level = level;
    log_keep(level, message);
}

static void test_log_levels(void **unused)
{
    (void) unused;
    LogLevel usual = jit_log_level_stderr();
    jit_set_log_level_stderr(LogLevelError);
    assert_int_equal(jit_log_level_stderr(), LogLevelError);
    for (int level = LogLevelError; level <= LogLevelTrace; ++level) {
        jit_set_log_level_callback((LogLevel) level, keep_level);
        assert_int_equal(jit_log_level_callback(), level);
        log_clear();
        for (int l = LogLevelWarn; l <= LogLevelTrace; ++l) {
            jit_log((LogLevel) l, "message %d of %s", l, "mine");
            assert_true(l > level || last_level == (LogLevel) l);
        }
        assert_int_equal(log_count("message"), level - 1);
        assert_int_equal(log_count("message 2 of mine\n"), level >= LogLevelWarn);
    }
    jit_set_log_level_callback(LogLevelTrace, NULL);
    log_clear();
    jit_log(LogLevelWarn, "nobody listens");
    assert_int_equal(log_length, 0);
    jit_set_log_level_stderr(usual);
}

/* The callback may use the library. */
static void trace_something(LogLevel level, const char *message)
{
    if (level == LogLevelInfo && strstr(message, "jit_eval(): done")) {
        jit_set_log_level_callback(LogLevelNone, NULL);
        uint32_t a = sample(4, 6);
        CHECK_U32(a, 1, 7, 13, 19);
        jit_var_dec_ref(a);
        log_keep(level, "called back");
    }
}

static void test_log_reentrant(void **unused)
{
    (void) unused;
    jit_set_log_level_callback(LogLevelInfo, trace_something);
    uint32_t a = sample(4, 5);
    OK(jit_var_eval(a));
    assert_int_equal(log_count("called back"), 1);
    jit_var_dec_ref(a);
}

static const char *find_after(const char *text, const char *part)
{
    const char *found = text ? strstr(text, part) : NULL;
    if (!found)
        fail_msg("the log lacks \"%s\" at its place:\n%s", part, log_text_seen);
    return found + strlen(part);
}

static uint32_t readme_program(void)
{
    uint32_t v0 = jit_var_f32(CPU, 0.5f), v1 = jit_var_new_counter(CPU, 10);
    uint32_t v2 = jit_var_new_cast(v1, VarTypeFloat32, 0);
    uint32_t v3 = jit_var_new_op_2(JitOpAdd, v0, v2);
    DROP(v0, v1, v2);
    CHECK_STR(v3, "[0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]");
    jit_var_dec_ref_ext(v3);
    return v3;
}

static void test_readme_log(void **unused)
{
    (void) unused;
    jit_shutdown(0);
    jit_set_log_level_callback(LogLevelInfo, log_keep);
    OK(jit_init(CPU));
    readme_program();
    assert_int_equal(jit_shutdown(0), 0);
    const char *p = find_after(log_text_seen, "jit_init(): detecting devices ..\n");
    p = find_after(p, "jit_eval(): launching 1 kernel.\n  -> launching ");
    assert_int_equal(strspn(p, "0123456789abcdef"), 16);
    p = find_after(p, " (n=10, in=0, out=1, ops=");
    p = find_after(p, ", jit=");
    p = find_after(p, " us):\n     cache ");
    p = find_after(p, "B (");
    p = find_after(p, "jit_eval(): done.\n");
    p = find_after(p, "jit_shutdown(): releasing 1 kernel ..\n"
                      "jit_shutdown(): releasing 1 thread state ..\n");
    find_after(p, "jit_shutdown(): done\n");
    assert_int_equal(log_count("jit_var_new("), 0);

    /* With LogLevelDebug each variable, with PrintIR the program. */
    log_clear();
    jit_set_log_level_callback(LogLevelDebug, log_keep);
    OK(jit_init(CPU));
    jit_set_flag(JitFlagPrintIR, 1);
    readme_program();
    assert_int_equal(jit_shutdown(0), 0);
    p = find_after(log_text_seen, "jit_var_new(float32 r1)");
    p = find_after(p, "jit_var_new(uint32 r2[10])");
    p = find_after(p, "jit_var_new(float32 r3[10] <- r2)");
    p = find_after(p, "jit_var_new(float32 r4[10] <- r");
    p = find_after(p, "jit_eval(): launching 1 kernel.\n");
    p = find_after(p, "counter");
    p = find_after(p, "jit_eval(): cleaning up..\njit_eval(): done.\n");
    OK(jit_init(CPU));
}

static void test_print_ir(void **unused)
{
    (void) unused;
    uint32_t a = sample(10, 1234567);
    char *text = strdup(jit_program_str(a));
    assert_non_null(strstr(text, "1234567"));
    jit_set_log_level_callback(LogLevelInfo, log_keep);
    OK(jit_var_eval(a));
    assert_null(strstr(log_text_seen, text));
    jit_set_flag(JitFlagPrintIR, 1);
    uint32_t b = sample(11, 1234567); /* known kernels are printed, too */
    OK(jit_var_eval(b));
    assert_non_null(strstr(log_text_seen, text));
    if (engine_is("llvm"))
        assert_non_null(strstr(log_text_seen, "define "));
    free(text);
    DROP(a, b);
}

/* -------------------------------------------------------------------- life */

/* Lines of the traced program stand beside instructions, also beside those that a
 * better suited expansion made, and the engine's own form beside the Program. */
static void test_source_lines(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagDebug, 1);
    jit_set_flag(JitFlagKernelHistory, 1);
    jit_set_log_level_stderr(LogLevelDisable);
    jit_set_source_location("march.py", 41);
    uint32_t a = jit_var_counter(CPU, 100), x = jit_var_cast(a, VarTypeFloat16, 0);
    jit_set_source_location("march.py", 42);
    uint32_t y = jit_var_mul(x, x);
    jit_set_source_location(NULL, 0);
    uint32_t z = jit_var_add(y, x);
    for (int with_ir = 0; with_ir < 2; ++with_ir) {
        uint32_t copy = jit_var_copy(z);
        jit_set_flag(JitFlagPrintIR, with_ir);
        jit_kernel_history_clear();
        OK(jit_var_eval(copy));
        KernelHistoryEntry *e;
        size_t count = jit_kernel_history(&e);
        assert_int_equal(count, 1);
        assert_non_null(strstr(e->ir, "counter    # march.py:41\n"));
        const char *mul = strstr(e->ir, "mul ");
        assert_non_null(mul);
        assert_non_null(strstr(mul, "# march.py:42\n"));
        const char *add = strstr(mul, "add ");
        assert_non_null(add);
        assert_int_not_equal(add[strcspn(add, "#\n")], '#');
        /* The engine's form follows, where it has one of its own. */
        bool own_form = !engine_is("interp");
        const char *more = strstr(add, "\n\n");
        assert_true((more != NULL) == (with_ir && own_form));
        if (more && engine_is("native"))
            assert_non_null(strstr(more, "# march.py:42\n"));
        jit_kernel_history_release(e, count);
        DROP(copy);
    }
    DROP(a, x, y, z);
}

static void test_leaks(void **unused)
{
    (void) unused;
    uint32_t a = sample(10, 3), l = jit_var_set_label(a, "forgotten");
    jit_var_dec_ref(a);
    OK(jit_prefix_push(CPU, "scene"));
    uint32_t c = jit_var_counter(CPU, 3), m = jit_var_set_label(c, "rays");
    OK(jit_prefix_pop(CPU));
    jit_var_dec_ref(c);
    jit_set_log_level_callback(LogLevelWarn, log_keep);
    assert_true(jit_shutdown(0) >= 2);
    assert_int_equal(log_count("leak"), 1);
    assert_non_null(strstr(log_text_seen, "label: forgotten"));
    assert_non_null(strstr(log_text_seen, "label: scene/rays"));
    OK(jit_init(CPU)); /* they are still there */
    CHECK_U32(l, 1, 4, 7, 10, 13, 16, 19, 22, 25, 28);
    DROP(l, m);
    log_clear();
    assert_int_equal(jit_shutdown(0), 0);
    assert_int_equal(log_length, 0);
    OK(jit_init(CPU));
}

static void test_light_shutdown(void **unused)
{
    (void) unused;
    uint32_t a = sample(10, 55);
    OK(jit_var_eval(a));
    jit_var_dec_ref(a);
    assert_int_equal(jit_shutdown(1), 0);
    assert_false(jit_has_backend(CPU));
    assert_int_equal(jit_var_counter(CPU, 3), 0);
    CHECK_ERROR(JIT_ERROR_STATE, "jit_init");
    OK(jit_init(CPU));
    Stats before = stats_now();
    uint32_t b = sample(10, 55);
    OK(jit_var_eval(b));
    CHECK_STATS(before, 1, 1, 0); /* kernels stayed */
    jit_var_dec_ref(b);
    OK(jit_init_async(CPU));
    OK(jit_init(CPU));
}

/* Writes and scheduled variables are dropped by a shutdown, not leaked. */
static void test_shutdown_with_work(void **unused)
{
    (void) unused;
    uint32_t x = u32_array(3, (uint32_t[]){ 1, 2, 3 }), i = jit_var_u32(CPU, 0);
    uint32_t y = jit_var_scatter(x, i, i, 0, ReduceOpAdd, ReduceModeAuto);
    OK(y);
    uint32_t a = sample(10, 3);
    jit_var_schedule(a);
    DROP(x, i, y, a);
    assert_int_equal(jit_shutdown(0), 0);
    OK(jit_init(CPU));
}

static void test_fork(void **unused)
{
    (void) unused;
#if defined(__SANITIZE_THREAD__)
    skip(); /* it lets no child of a process with threads start threads */
#endif
    uint32_t a = sample(1000, 3);
    OK(jit_var_eval(a));
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        uint32_t b = jit_var_add(a, a), value = 0;
        bool ok = b && jit_var_read(b, 999, &value) && value == 2 * (999 * 3 + 1);
        uint32_t c = sample(100000, 77);
        ok = ok && jit_var_read(c, 99999, &value) && value == 99999u * 77 + 1;
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
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
    if (!jit_init(CPU))
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

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_schedule),
        TEST(test_schedule_force),
        TEST(test_groups),
        TEST(test_mixed_uniform),
        TEST(test_callback),
        TEST(test_cache),
        TEST(test_near_miss),
        TEST(test_large_results),
        TEST(test_history),
        TEST(test_transfer_history),
        TEST(test_host_functions),
        TEST(test_events),
        TEST(test_launch_blocking),
        TEST(test_log_levels),
        TEST(test_log_reentrant),
        TEST(test_readme_log),
        TEST(test_print_ir),
        TEST(test_source_lines),
        TEST(test_leaks),
        TEST(test_light_shutdown),
        TEST(test_shutdown_with_work),
        TEST(test_fork),
        TEST(test_threads),
        TEST(test_long_chain),
        TEST(test_disk_cache),
    };
    return cmocka_run_group_tests_name("eval", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "again") == 0)
        return run_again();
    char folder[] = "/tmp/drjit-test-eval-XXXXXX", command[100];
    program_name = argv[0];
    if (!mkdtemp(folder))
        return 1;
    setenv("DRJIT_CACHE_DIR", folder, 1);
    int failures = run_engines(run);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) != 0 || failures;
}
