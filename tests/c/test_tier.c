/*
 * test_tier.c -- launches, the choice of engines, upgrades, kernels on disk, threads,
 * fork, exit
 *
 * Runs on fake engines, a last test on the library's own; what kernels compute is
 * compared with plain C expressions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_engine.h"

/* ------------------------------------------------------------------ launches */

typedef struct Outcome {
    uint32_t calls, count;
    CheckReport report;
    uint64_t ns;
} Outcome;

static void record(void *payload, uint64_t ns, const CheckReport *reports,
                   uint32_t count, const PrintRecords *prints)
{
    Outcome *outcome = payload;
    assert_null(prints);
    outcome->calls++;
    outcome->ns = ns;
    outcome->count = count;
    if (count)
        outcome->report = reports[0];
}

static void test_done(void **state)
{
    (void) state;
    for (uint32_t size = 0; size <= 300000; size = size * 7 + 50) {
        Program *p = checked();
        Kernel *kernel = get(p);
        Buffer *out = buffer_get((size_t) size * 4 + 4);
        uint64_t args[1] = { (uint64_t) (uintptr_t) out->data }, bound = 60;
        Outcome outcome = { 0 };
        LaunchSpec spec = { .kernel = kernel,
                            .program = p,
                            .size = size,
                            .args = args,
                            .writes = &out,
                            .write_count = 1,
                            .check_bounds = &bound,
                            .done = record,
                            .payload = &outcome };
        assert_true(launch_submit(stream_self(), &spec));
        stream_sync(stream_self());
        assert_int_equal(outcome.calls, 1);
        assert_int_equal(outcome.count, 1);
        assert_int_equal(outcome.report.count, size > 60 ? size - 60 : 0);
        assert_int_equal(outcome.report.bound, 60);
        if (size > 60)
            assert_true(outcome.report.index >= 60 && outcome.report.index < size);
        cache_release(kernel);
        buffer_release(out);
        program_free(p);
    }
}

/* 'depth' loops within each other, with 'length' additions in the innermost one. */
static Program *deep(uint32_t depth, uint32_t length)
{
    Program *p = alloc_zero(1, sizeof(Program));
    uint32_t pair[2] = { program_add(p, OP_COUNTER, VarTypeUInt32, 0, 0, NULL) };
    pair[1] = pair[0];
    uint32_t yes = program_add_literal(p, VarTypeBool, 1);
    for (uint32_t i = 0; i < depth; ++i) {
        uint32_t region = program_add_region(p, REGION_LOOP, 1, &yes, 0, NULL);
        program_add(p, OP_TEST, VarTypeVoid, region, 1, &yes);
    }
    for (uint32_t i = 0; i < length; ++i)
        program_add(p, OP_ADD, VarTypeUInt32, 0, 2, pair);
    for (uint32_t i = depth; i-- > 0;)
        program_add(p, OP_END, VarTypeVoid, i, 0, NULL);
    assert_true(program_verify(p));
    return p;
}

/* A Program that calls 'callable' so often. */
static Program *calling(Program *callable, uint32_t times)
{
    Program *p = alloc_zero(1, sizeof(Program));
    uint32_t args[2] = { program_add_literal(p, VarTypeBool, 1),
                         program_add_literal(p, VarTypeUInt32, 1) };
    uint32_t target = program_add_callable(p, callable);
    for (uint32_t i = 0; i < times; ++i)
        program_add_region(p, REGION_CALL, 2, args, 1, &target);
    return p;
}

/* What a Program costs beyond another of the same form. Frees both. */
static KernelCosts difference(Program *p, Program *q)
{
    KernelCosts a, b;
    assert_true(launch_costs(p, &a));
    assert_true(launch_costs(q, &b));
    assert_true(a.base > b.base && a.better > b.better && a.step > b.step);
    assert_int_equal(a.loops, b.loops);
    program_free(p);
    program_free(q);
    return (KernelCosts){ a.base - b.base, a.better - b.better, a.step - b.step,
                          a.loops };
}

/* Loops count 16 times a level up to a bound, callables once for each call. */
static void test_costs(void **state)
{
    (void) state;
    KernelCosts one = difference(deep(0, 11), deep(0, 1));
    assert_false(one.loops);
    for (uint32_t depth = 1; depth < 10; depth = depth * 2 + 1) {
        uint64_t times = depth < 3 ? 1u << 4 * depth : 4096;
        KernelCosts more = difference(deep(depth, 11), deep(depth, 1));
        assert_true(more.loops);
        assert_true(more.base == one.base * times);
        assert_true(more.better == one.better * times);
        assert_true(more.step == one.step * times);
    }
    for (uint32_t times = 1; times < 4; ++times) {
        KernelCosts more =
            difference(calling(deep(1, 11), times), calling(deep(1, 1), times));
        assert_true(more.loops);
        assert_true(more.base == 16 * times * one.base);
        assert_true(more.step == 16 * times * one.step);
    }
    /* No product of costs and lanes overflows. */
    Program *p = deep(5, 1000000);
    KernelCosts most;
    assert_true(launch_costs(p, &most));
    assert_true(most.base <= UINT64_MAX / UINT32_MAX / 2);
    assert_true(most.better <= UINT64_MAX / UINT32_MAX / 2);
    assert_true(most.step <= UINT64_MAX / UINT32_MAX / 2);
    program_free(p);
}

static void test_sizes(void **state)
{
    (void) state;
    static const uint32_t sizes[] = { 1, 16, 63, 64, 65, 16384, 16385, 1000003 };
    uint32_t before = launch_block_size();
    assert_int_equal(before, 16384);
    for (uint32_t threads = 0; threads < 4; ++threads) {
        pool_set_size(threads);
        for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
            slow_state.scratch = i * 100;
            cache_flush();
            run_affine(3, 5, sizes[i]);
        }
    }
    launch_set_block_size(100);
    assert_int_equal(launch_block_size(), 128);
    run_affine(3, 5, 100000);
    launch_set_block_size(0);
    assert_int_equal(launch_block_size(), 64);
    launch_set_block_size(before);
    pool_set_size(2);
}

static void test_flush_while_running(void **state)
{
    (void) state;
    enum { SIZE = 1000000 };
    pool_set_size(3);
    gate_set(&slow_state.launch_gate, true);
    Program *p = affine(3, 5);
    Kernel *kernel = get(p);
    Buffer *out = launch(kernel, p, SIZE);
    cache_release(kernel);
    gate_await(&slow_state.launch_gate);
    assert_int_equal(cache_flush(), 1);
    assert_int_equal(slow_state.live, 1);
    gate_set(&slow_state.launch_gate, false);
    check_affine(out, SIZE, 3, 5);
    stream_sync(stream_self());
    assert_int_equal(slow_state.live, 0);
    buffer_release(out);
    program_free(p);
    pool_set_size(2);
}

/* --------------------------------------------------------------------- tiers */

static void test_upgrade(void **state)
{
    (void) state;
    choose(NULL);
    fast_state.estimate = 50000;
    Program *p = affine(3, 5);
    Kernel *kernel = get(p);
    assert_ptr_equal(kernel->base.engine, &slow);
    assert_int_equal(kernel->estimate_ns, 50000);
    /* Tiny launches add up. */
    for (uint32_t i = 0; i < 20000 && !atomic_load(&kernel->upgraded); ++i) {
        Buffer *out = launch(kernel, p, 64);
        check_affine(out, 64, 3, 5);
        buffer_release(out);
        assert_true(i > 0 || !fast_state.compiles);
    }
    tier_wait();
    assert_true(atomic_load(&kernel->upgraded));
    assert_ptr_equal(tier_code(kernel)->engine, &fast);
    assert_int_equal(kernel->upgrade_state, TIER_DONE);
    assert_int_equal(fast_state.compiles, 1);
    uint32_t launches = slow_state.launches;
    Buffer *out = launch(kernel, p, 100000);
    check_affine(out, 100000, 3, 5);
    buffer_release(out);
    assert_int_equal(slow_state.launches, launches);
    cache_release(kernel);
    program_free(p);
}

/* How long a loop runs is not known beforehand: what counts is the time it takes. */
static void test_upgrade_loop(void **state)
{
    (void) state;
    enum { SIZE = 100000 };
    choose(NULL);
    Program *p = deep(3, 40);
    for (uint32_t slow_enough = 0; slow_enough < 2; ++slow_enough) {
        cache_flush();
        /* Predicted are 800 ms, while the fake engine takes some milliseconds. */
        fast_state.estimate = slow_enough ? 1000 : 400000000;
        Kernel *kernel = get(p);
        assert_true(kernel->costs.loops);
        assert_true(kernel->costs.base * SIZE / 1000 > 700000000);
        LaunchSpec spec = { .kernel = kernel, .program = p, .size = SIZE };
        assert_true(launch_submit(stream_self(), &spec));
        stream_sync(stream_self());
        tier_wait();
        assert_true(kernel->interp_ns > 0);
        assert_int_equal(atomic_load(&kernel->upgraded), slow_enough);
        /* Small launches are timed, too. */
        uint64_t before = kernel->interp_ns;
        spec.size = 1;
        assert_true(launch_submit(stream_self(), &spec));
        stream_sync(stream_self());
        if (slow_enough)
            assert_true(kernel->interp_ns == before);
        else
            assert_in_range(kernel->interp_ns - before, 1, 100000000);
        cache_release(kernel);
    }
    program_free(p);
}

static void upgrade_within(size_t fast_scratch)
{
    enum { SIZE = 2000000 };
    choose(NULL);
    pool_set_size(2);
    fast_state.estimate = 1;
    fast_state.scratch = fast_scratch;
    fast_state.launches = 0;
    slow_state.scratch = 64;
    gate_set(&slow_state.launch_gate, true);
    Program *p = affine(3, 5);
    Kernel *kernel = get(p);
    Buffer *out = launch(kernel, p, SIZE);
    tier_wait();
    assert_true(atomic_load(&kernel->upgraded));
    gate_set(&slow_state.launch_gate, false);
    check_affine(out, SIZE, 3, 5);
    stream_sync(stream_self());
    buffer_release(out);
    cache_release(kernel);
    program_free(p);
}

static void test_upgrade_within_launch(void **state)
{
    (void) state;
    upgrade_within(64);
    assert_true(fast_state.launches > 0);
    upgrade_within(65); /* needs more scratch memory than there is */
    assert_int_equal(fast_state.launches, 0);
}

static void test_upgrade_fails(void **state)
{
    (void) state;
    static const struct {
        int fails;
        bool missing;
        uint32_t compiles; /* for two kernels */
    } cases[] = { { JIT_ERROR_UNSUPPORTED, false, 2 },
                  { JIT_ERROR_SYSTEM, false, 1 },
                  { 0, true, 0 } };
    for (uint32_t i = 0; i < 3; ++i) {
        choose(NULL);
        logged[0] = 0;
        fast_state.compiles = 0;
        fast_state.fails = cases[i].fails;
        fast_state.missing = cases[i].missing;
        fast_state.estimate = 1;
        for (uint32_t k = 0; k < 2; ++k) {
            Program *p = chain(k + 1);
            Kernel *kernel = get(p);
            for (uint32_t repeat = 0; repeat < 3; ++repeat) {
                Buffer *out = launch(kernel, p, 1000);
                stream_sync_buffer(out);
                assert_int_equal(((uint32_t *) out->data)[999], 999 + k + 1);
                buffer_release(out);
                tier_wait();
            }
            assert_false(atomic_load(&kernel->upgraded));
            cache_release(kernel);
            program_free(p);
        }
        assert_int_equal(fast_state.compiles, cases[i].compiles);
        tier_stop(); /* the thread has written its log lines */
        assert_int_equal(occurrences("interpreted"), 1);
    }
}

static void test_forced(void **state)
{
    (void) state;
    choose("fast");
    assert_ptr_equal(cache_forced_engine(), &fast);
    uint64_t environment = cache_environment();
    run_affine(3, 5, 1000);
    assert_int_equal(fast_state.compiles, 1);
    assert_int_equal(slow_state.compiles, 0);

    choose(NULL);
    assert_null(cache_forced_engine());
    assert_true(cache_environment() != environment);
    environment = cache_environment();
    cache_set_target(77);
    assert_true(cache_environment() != environment);
    cache_set_target(0);
    assert_true(cache_environment() == environment);
    fast_state.estimate = 1u << 30;
    run_affine(3, 5, 1000);
    assert_int_equal(slow_state.compiles, 1);

    Program *p = affine(3, 5);
    choose("fast");
    fast_state.missing = true;
    assert_null(get(p));
    assert_int_equal(error_code(), JIT_ERROR_SYSTEM);
    assert_non_null(strstr(error_message(), "there is no library"));

    choose("fancy");
    assert_null(get(p));
    assert_int_equal(error_code(), JIT_ERROR_ARGUMENT);
    assert_non_null(strstr(error_message(), "\"fancy\""));
    assert_non_null(strstr(error_message(), "fast, llvm, interp, slow"));
    program_free(p);
}

static void test_statements(void **state)
{
    (void) state;
    Program *p = statement("$r0 = add $t0 $r1, $r1");
    choose("slow"); /* has none */
    assert_null(get(p));
    assert_int_equal(error_code(), JIT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error_message(), "need libLLVM"));
    choose(NULL); /* the engine that has them, from the start */
    Kernel *kernel = get(p);
    assert_non_null(kernel);
    assert_ptr_equal(kernel->base.engine, &fast);
    assert_int_equal(kernel->estimate_ns, 0);
    cache_release(kernel);
    cache_flush();
    fast_state.missing = true;
    assert_null(get(p));
    assert_non_null(strstr(error_message(), "need libLLVM"));
    assert_non_null(strstr(error_message(), "there is no library"));
    program_free(p);
}

/* ---------------------------------------------------------------------- disk */

static char disk_folder[64];

static void use_disk(void)
{
    strcpy(disk_folder, "/tmp/test_cache_XXXXXX");
    assert_non_null(mkdtemp(disk_folder));
    setenv("DRJIT_CACHE_DIR", disk_folder, 1);
    disk_shutdown();
    disk_init();
    assert_string_equal(disk_dir(), disk_folder);
}

static void drop_disk(void)
{
    char command[100];
    disk_shutdown();
    snprintf(command, sizeof(command), "rm -r %s", disk_folder);
    assert_int_equal(system(command), 0);
}

static void test_disk(void **state)
{
    (void) state;
    use_disk();
    choose("fast");
    run_affine(3, 5, 100);
    assert_int_equal(fast_state.compiles, 1);
    choose("fast");
    run_affine(3, 5, 100);
    assert_int_equal(fast_state.compiles, 1);
    assert_int_equal(fast_state.loads, 1);
    assert_int_equal(cache_stats().soft_misses, 1);
    assert_int_equal(cache_stats().hard_misses, 0);

    /* Automatic choice: taken from disk by the thread, later on at once. */
    choose(NULL);
    fast_state.estimate = 1;
    Program *p = affine(3, 5);
    for (uint32_t i = 0; i < 2; ++i) {
        Kernel *kernel = get(p);
        Buffer *out = launch(kernel, p, 100);
        check_affine(out, 100, 3, 5);
        buffer_release(out);
        tier_wait();
        assert_true(atomic_load(&kernel->upgraded));
        assert_int_equal(kernel->from_disk, i == 1);
        cache_release(kernel);
        cache_flush();
    }
    assert_int_equal(fast_state.compiles, 1);
    assert_int_equal(fast_state.loads, 3);
    program_free(p);
    drop_disk();
}

/* ------------------------------------------------------------------- threads */

static void *hammer(void *payload)
{
    uint32_t seed = (uint32_t) (uintptr_t) payload * 7919;
    for (uint32_t i = 0; i < 300; ++i) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t a = seed >> 28, b = seed >> 24 & 3;
        run_affine(a, b, seed & 1 ? 20 : 5000);
        if (i % 100 == 99)
            cache_flush();
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void) state;
    choose(NULL);
    pool_set_size(2);
    fast_state.estimate = 20000;
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *) (i + 1)),
                         0);
    for (uint32_t i = 0; i < 4; ++i)
        pthread_join(threads[i], NULL);
}

static void test_fork(void **state)
{
    (void) state;
    choose(NULL);
    fast_state.estimate = 1;
    gate_set(&fast_state.compile_gate, true);
    Program *p = affine(3, 5);
    Kernel *kernel = get(p);
    Buffer *out = launch(kernel, p, 1000);
    gate_await(&fast_state.compile_gate);
    Program *q =
        chain(3); /* waits in the queue while the first one is being compiled */
    Kernel *second = get(q);
    buffer_release(launch(second, q, 1000));
    assert_int_equal(second->upgrade_state, TIER_QUEUED);
    gate_set(&fast_state.compile_gate, false);
    pid_t child = fork();
    if (child == 0) {
        run_affine(3, 5, 1000);
        Buffer *again = launch(second, q, 1000);
        stream_sync_buffer(again);
        tier_wait();
        _exit(atomic_load(&second->upgraded) && atomic_load(&kernel->upgraded) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    buffer_release(out);
    cache_release(kernel);
    cache_release(second);
    program_free(p);
    program_free(q);
}

/* ----------------------------------------------------------------------- exit */

static const char *program_name;
static _Atomic bool loading, loaded, unloaded;

static void unload_library(void)
{
    atomic_store(&unloaded, true);
    if (!atomic_load(&loaded))
        abort();
}

/* What happens to a library whose constructors register its destructors. */
static void load_library(void)
{
    atexit(unload_library);
    atomic_store(&loading, true);
    usleep(50000);
    if (atomic_load(&unloaded))
        abort();
    atomic_store(&loaded, true);
}

/* What a process does that ends while the engine's library is being loaded. */
static int exit_while_loading(void)
{
    setenv("DRJIT_CACHE_DIR", "", 1);
    unsetenv("DRJIT_CPU_ENGINE");
    tier_guard_exit();
    fast_state.estimate = 1;
    fast_state.on_available = load_library;
    Program *p = affine(3, 5);
    Kernel *kernel = get(p);
    Buffer *out = launch(kernel, p, 1000);
    stream_sync_buffer(out);
    while (!atomic_load(&loading))
        usleep(100);
    buffer_release(out);
    cache_release(kernel);
    program_free(p);
    return 0;
}

static void *load_aside(void *unused)
{
    (void) unused;
    load_library();
    tier_loading(false);
    return NULL;
}

/* The same while a thread of its own loads it, as that of jit_init_async() does. */
static int exit_while_another_loads(void)
{
    pthread_t thread;
    tier_guard_exit();
    tier_loading(true);
    if (pthread_create(&thread, NULL, load_aside, NULL))
        return 1;
    while (!atomic_load(&loading))
        usleep(100);
    return 0;
}

static void test_exit(void **state)
{
    (void) state;
    static const char *const who[] = { "exit", "exit-aside" };
    for (int i = 0; i < 2; ++i) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            execl(program_name, program_name, who[i], (char *) NULL);
            _exit(99);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

/* --------------------------------------------------------------- real engines */

static void test_real_engines(void **state)
{
    (void) state;
    use_disk();
    choose("interp");
    run_affine(3, 5, 100000);
    run_affine(4, 5, 100000);
    assert_int_equal(cache_size(), 2);
    if (llvm_engine.available()) {
        for (uint32_t i = 0; i < 2; ++i) {
            choose("llvm");
            run_affine(3, 5, 100000);
            assert_int_equal(cache_stats().soft_misses, i);
            assert_int_equal(cache_stats().hard_misses, 1 - i);
        }
    }
    choose("slow");
    drop_disk();
}

int main(int argc, char **argv)
{
    program_name = argv[0];
    if (argc > 1 && strcmp(argv[1], "exit") == 0)
        return exit_while_loading();
    if (argc > 1 && strcmp(argv[1], "exit-aside") == 0)
        return exit_while_another_loads();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_done, setup, teardown),
        cmocka_unit_test_setup_teardown(test_costs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_flush_while_running, setup, teardown),
        cmocka_unit_test_setup_teardown(test_upgrade, setup, teardown),
        cmocka_unit_test_setup_teardown(test_upgrade_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(test_upgrade_within_launch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_upgrade_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forced, setup, teardown),
        cmocka_unit_test_setup_teardown(test_statements, setup, teardown),
        cmocka_unit_test_setup_teardown(test_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
        cmocka_unit_test_setup_teardown(test_exit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_real_engines, setup, teardown)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
