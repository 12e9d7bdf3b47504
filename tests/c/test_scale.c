/*
 * test_scale.c -- a million variables, a million operations in a kernel
 *
 * Graphs are walked without recursion: everything here happens in a thread with a stack
 * of 256 KiB. Memory is measured as the growth of the process's largest resident size,
 * in a child process for each measurement.
 */
#include "test_util.h"

#include <pthread.h>
#include <sys/resource.h>

enum { MILLION = 1000000, STACK = 256 << 10 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEASURES 0 /* the sanitizer's own memory would be measured */
#else
#define MEASURES 1
#endif

static size_t peak_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (size_t) usage.ru_maxrss * 1024;
}

/* A dependent chain of 'length' operations that cannot be folded; its end. Literals are
 * made once: as in a loop over a table, most nodes are arithmetic. */
static uint32_t make_chain(uint32_t start, uint32_t length)
{
    uint32_t three = jit_var_u32(CPU, 3), x = jit_var_inc_ref(start);
    for (uint32_t i = 0; i < length && x; ++i) {
        uint32_t next = i & 1 ? jit_var_add(x, start) : jit_var_mul(x, three);
        jit_var_dec_ref(x);
        x = next;
    }
    jit_var_dec_ref(three);
    return x;
}

static uint32_t chain_value(uint32_t start, uint32_t length)
{
    uint32_t x = start;
    for (uint32_t i = 0; i < length; ++i)
        x = i & 1 ? x + start : x * 3;
    return x;
}

static uint32_t opaque_start(void)
{
    static const uint32_t data[4] = { 1, 2, 3, 1000 };
    return jit_var_mem_copy(CPU, VarTypeUInt32, data, 4);
}

/* ------------------------------------------------------------------ small stack */

typedef struct Chain {
    uint32_t length, found;
    bool evaluate;
} Chain;

static void *work_on_chain(void *payload)
{
    Chain *chain = payload;
    uint32_t start = opaque_start(), end = make_chain(start, chain->length);
    chain->found = 0;
    if (end && chain->evaluate && !jit_var_read(end, 3, &chain->found))
        fprintf(stderr, "%s\n", jit_error_message());
    jit_var_dec_ref(end);
    jit_var_dec_ref(start);
    return NULL;
}

static void run_small_stack(void *(*work)(void *), void *payload)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, work, payload), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

static void test_chain_dropped(void **unused)
{
    (void) unused;
    Chain chain = { .length = MILLION };
    run_small_stack(work_on_chain, &chain);
}

/* Compiling that much with LLVM takes a while. */
static void test_chain_evaluated(void **unused)
{
    (void) unused;
    Chain chain = { .length = engine_is("llvm") ? 20000 : MILLION, .evaluate = true };
    run_small_stack(work_on_chain, &chain);
    assert_int_equal(chain.found, chain_value(1000, chain.length));
    chain.length /= 10;
    run_small_stack(work_on_chain, &chain);
    assert_int_equal(chain.found, chain_value(1000, chain.length));
}

/* Two large kernels of one evaluation: the first one keeps the Program that was
 * assembled for it; then both are known. */
static void test_large_kernels(void **unused)
{
    (void) unused;
    uint32_t length = engine_is("llvm") ? 2000 : 70000, found[2] = { 0 };
    for (int round = 0; round < 2; ++round) {
        uint32_t start[] = { opaque_start(), jit_var_mem_copy(CPU, VarTypeUInt32,
                                                              &length, 1) };
        uint32_t end[] = { make_chain(start[0], length),
                           make_chain(start[1], length + 1) };
        for (int i = 0; i < 2; ++i)
            assert_true(jit_var_schedule(end[i]));
        assert_true(jit_eval());
        assert_true(jit_var_read(end[0], 3, &found[0]));
        assert_true(jit_var_read(end[1], 0, &found[1]));
        assert_int_equal(found[0], chain_value(1000, length));
        assert_int_equal(found[1], chain_value(length, length + 1));
        for (int i = 0; i < 2; ++i) {
            jit_var_dec_ref(end[i]);
            jit_var_dec_ref(start[i]);
        }
    }
}

static void *look_at_chain(void *payload)
{
    Chain *chain = payload;
    uint32_t start = opaque_start(), end = make_chain(start, chain->length);
    const char *program = jit_program_str(end);
    chain->found = program && strlen(program) > chain->length * 10u;
    jit_var_dec_ref(end);
    jit_var_dec_ref(start);
    return NULL;
}

static void test_chain_shown(void **unused)
{
    (void) unused;
    Chain chain = { .length = MILLION / 10 };
    run_small_stack(look_at_chain, &chain);
    assert_true(chain.found);
}

/* A balanced tree whose values are used twice: depth 20, but 2^20 paths. */
static void test_shared_subtrees(void **unused)
{
    (void) unused;
    uint32_t x = opaque_start(), value = 1000, found = 0;
    for (int i = 0; i < 1000; ++i) {
        uint32_t next = jit_var_add(x, x);
        jit_var_dec_ref(x);
        x = next;
        value += value;
    }
    OK(jit_var_read(x, 3, &found));
    assert_int_equal(found, value);
    jit_var_dec_ref(x);
}

/* ----------------------------------------------------------------------- memory */

/* Bytes for each of a million operations: of the trace, and of everything up to the
 * result. In a process of its own, because a peak does not go down. */
static size_t measure(bool evaluate)
{
    int pipes[2];
    size_t bytes = 0;
    assert_int_equal(pipe(pipes), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        jit_init(CPU);
        Chain chain = { .length = 1000, .evaluate = true };
        work_on_chain(&chain);
        size_t before = peak_bytes();
        chain = (Chain){ .length = MILLION, .evaluate = evaluate };
        work_on_chain(&chain);
        bytes = (peak_bytes() - before) / MILLION;
        if (evaluate && chain.found != chain_value(1000, MILLION))
            bytes = SIZE_MAX;
        _exit(write(pipes[1], &bytes, sizeof bytes) != sizeof bytes);
    }
    assert_int_equal(read(pipes[0], &bytes, sizeof bytes), sizeof bytes);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(pipes[0]);
    close(pipes[1]);
    return bytes;
}

static void test_memory(void **unused)
{
    (void) unused;
    if (!MEASURES || engine_is("llvm"))
        skip(); /* sanitizers and libLLVM have memory of their own */
    size_t traced = measure(false), total = measure(true);
    printf("%zu bytes a traced node, %zu bytes an operation in all\n", traced, total);
    assert_in_range(traced, 1, 110);
    assert_in_range(total, 1, 200);
}

/* ---------------------------------------------------------------------- indices */

static void test_lowest_index_first(void **unused)
{
    (void) unused;
    enum { COUNT = 3000 };
    uint32_t ids[COUNT];
    jit_set_flag(JitFlagValueNumbering, 0);
    for (uint32_t i = 0; i < COUNT; ++i)
        OK(ids[i] = jit_var_u32(CPU, i));
    for (uint32_t i = 1; i < COUNT; ++i)
        assert_true(ids[i] > ids[i - 1]);
    /* Freed in any order, they come back in ascending order. */
    const uint32_t freed[] = { 2500, 17, 900, 18, 3, 1777, 64, 63, 2047, 2048 };
    const uint32_t order[] = { 3, 17, 18, 63, 64, 900, 1777, 2047, 2048, 2500 };
    for (size_t i = 0; i < COUNT_OF(freed); ++i)
        jit_var_dec_ref(ids[freed[i]]);
    for (size_t i = 0; i < COUNT_OF(order); ++i)
        assert_int_equal(jit_var_u32(CPU, 9), ids[order[i]]);
    for (uint32_t i = 0; i < COUNT; ++i)
        jit_var_dec_ref(ids[i]);
}

/* ------------------------------------------------------------------------ sizes */

static void test_many_sizes(void **unused)
{
    (void) unused;
    enum { COUNT = 300 };
    uint32_t ids[COUNT];
    for (uint32_t i = 0; i < COUNT; ++i) {
        uint32_t x = jit_var_counter(CPU, 2 + i * i), one = jit_var_u32(CPU, i);
        OK(ids[i] = jit_var_add(x, one));
        jit_var_schedule(ids[i]);
        DROP(x, one);
    }
    OK(jit_eval());
    for (uint32_t i = 0; i < COUNT; ++i) {
        uint32_t found = 0;
        OK(jit_var_read(ids[i], 1 + i * i, &found));
        assert_int_equal(found, 1 + i * i + i);
        jit_var_dec_ref(ids[i]);
    }
}

static void test_sizes_beyond_the_limit(void **unused)
{
    (void) unused;
    const size_t limit = (size_t) 1 << 32;
    uint32_t zero = 0;
    uint32_t largest = jit_var_literal(CPU, VarTypeUInt32, &zero, limit - 1, 0);
    OK(largest);
    assert_true(jit_var_size(largest) == limit - 1);
    jit_var_dec_ref(largest);
    assert_int_equal(jit_var_literal(CPU, VarTypeUInt32, &zero, limit, 0), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_literal", "4294967296");
    assert_int_equal(jit_var_literal(CPU, VarTypeUInt32, &zero, 0, 0), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_literal");
    assert_int_equal(jit_var_counter(CPU, limit), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_counter");
    assert_int_equal(jit_var_counter(CPU, SIZE_MAX), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_counter");
    uint32_t x = opaque_start();
    assert_int_equal(jit_var_tile(x, limit / 4), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_tile");
    assert_int_equal(jit_var_repeat(x, SIZE_MAX / 2), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_repeat");
    assert_int_equal(jit_var_ref(x), 1);
    jit_var_dec_ref(x);
}

static int tests(void)
{
    const struct CMUnitTest list[] = {
        TEST(
            test_memory), /* first: others leave tables behind that are large already */
        TEST(test_chain_dropped),
        TEST(test_chain_evaluated),
        TEST(test_large_kernels),
        TEST(test_chain_shown),
        TEST(test_shared_subtrees),
        TEST(test_lowest_index_first),
        TEST(test_many_sizes),
        TEST(test_sizes_beyond_the_limit)
    };
    return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void)
{
    return run_engines(tests) ? 1 : 0;
}
