/*
 * test_tier.c -- launches, their costs, the choice of engines, upgrades, kernels on
 * disk, threads, fork
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

#include "device/cpu/launch/cpu_describe.h"
#include "device/cpu/launch/cpu_launch.h"
#include "fake_engine.h"

/* ------------------------------------------------------------------ launches */

typedef struct Outcome {
    uint32_t calls, count;
    CheckReport report;
    uint64_t ns;
} Outcome;

static void record(void *payload, const LaunchResult *result)
{
    Outcome *outcome = payload;
    assert_null(result->error);
    assert_null(result->prints);
    outcome->calls++;
    outcome->ns = result->ns;
    outcome->count = result->report_count;
    if (outcome->count)
        outcome->report = result->reports[0];
}

static void test_done(void **state)
{
    (void) state;
    for (uint32_t size = 0; size <= 300000; size = size * 7 + 50) {
        Program *p = checked();
        Kernel *kernel = get(p);
        Buffer *out = buffer_get(cpu_device(), (size_t) size * 4 + 4);
        uint64_t args[1] = { 0 }, bound = 60;
        const LaunchArray array = { out, 0, SLOT_WRITE };
        Outcome outcome = { 0 };
        submit(launch_create(&(LaunchSpec){ .device = cpu_device(),
                                            .kernel = kernel,
                                            .program = p,
                                            .size = size,
                                            .args = args,
                                            .arrays = &array,
                                            .array_count = 1,
                                            .check_bounds = &bound,
                                            .done = record,
                                            .payload = &outcome }));
        stream_sync(stream_self(cpu_device()));
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

static const CpuCode priced = { .lane_ps = 7, .block_ps = 1100 };

static CpuCost cost_of(const Program *p, CpuCode code)
{
    cpu_describe(cpu_device(), p, &code.code);
    return code.cost;
}

/* What a Program costs beyond another of the same form. Frees both. */
static CpuCost difference(Program *p, Program *q)
{
    CpuCost a = cost_of(p, priced), b = cost_of(q, priced);
    assert_true(a.lane > b.lane && a.block > b.block);
    assert_int_equal(a.loops, b.loops);
    program_free(p);
    program_free(q);
    return (CpuCost){ a.lane - b.lane, a.block - b.block, a.loops };
}

/* Bodies count once: how often a loop runs is not known, nor which callable is
 * called. */
static void test_costs(void **state)
{
    (void) state;
    CpuCost one = difference(deep(0, 11), deep(0, 1));
    assert_false(one.loops);
    assert_int_equal(one.lane, 10 * priced.lane_ps);
    assert_int_equal(one.block, 10 * priced.block_ps);
    for (uint32_t depth = 1; depth < 10; depth = depth * 2 + 1) {
        CpuCost more = difference(deep(depth, 11), deep(depth, 1));
        assert_true(more.loops);
        assert_true(more.lane == one.lane && more.block == one.block);
    }
    for (uint32_t times = 1; times < 4; ++times) {
        CpuCost more =
            difference(calling(deep(1, 11), times), calling(deep(1, 1), times));
        assert_true(more.loops);
        assert_true(more.lane == one.lane && more.block == one.block);
    }
    /* No product of costs and lanes overflows. */
    const CpuCode dear = { .lane_ps = UINT16_MAX, .block_ps = UINT16_MAX };
    Program *p = deep(5, 1000000);
    CpuCost most = cost_of(p, dear);
    assert_true(most.lane <= UINT64_MAX / UINT32_MAX / 2);
    assert_true(most.block <= UINT64_MAX / UINT32_MAX / 2);
    program_free(p);
}

static uint32_t descriptions;

static void note_description(Device *device, const Program *program, Code *code)
{
    (void) device;
    ((CpuCode *) (void *) code)->cost.lane = program->inst_count;
    descriptions++;
}

static uint64_t foretell(Device *device, const Code *code, uint32_t lanes)
{
    assert_int_equal(device->index, 5);
    return lanes * ((const CpuCode *) (const void *) code)->cost.lane;
}

/* A device is told of each code for it, and says what that costs; or it does not. */
static void test_descriptions(void **state)
{
    (void) state;
    Device other = *cpu_device();
    other.index = 5;
    other.describe = note_description;
    other.predict = foretell;
    descriptions = 0;
    choose(NULL);
    Program *p = affine(3, 5);
    ProgramKey key = cache_key(p, &other, NULL);
    Kernel *kernel = cache_get(p, &key, 1, NULL, NULL);
    assert_int_equal(descriptions, 1);
    assert_true(p->inst_count > 1);
    assert_int_equal(launch_predict(kernel, 10), 10 * p->inst_count);
    cache_upgrade(kernel);
    assert_int_equal(descriptions, 2);
    other.predict = NULL;
    assert_int_equal(launch_predict(kernel, 10), 0);
    other.describe = NULL;
    cache_flush();
    Kernel *again = cache_get(p, &key, 1, NULL, NULL);
    assert_int_equal(descriptions, 2);
    cache_release(again);
    cache_release(kernel);
    cache_flush();
    program_free(p);
}

static void test_sizes(void **state)
{
    (void) state;
    static const uint32_t sizes[] = { 1, 16, 63, 64, 65, 16384, 16385, 1000003 };
    uint32_t before = cpu_launch_block_size();
    assert_int_equal(before, 16384);
    for (uint32_t threads = 0; threads < 4; ++threads) {
        pool_set_size(threads);
        for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
            slow_state.scratch = i * 100;
            cache_flush();
            run_affine(3, 5, sizes[i]);
        }
    }
    cpu_launch_set_block_size(100);
    assert_int_equal(cpu_launch_block_size(), 128);
    run_affine(3, 5, 100000);
    cpu_launch_set_block_size(0);
    assert_int_equal(cpu_launch_block_size(), 64);
    cpu_launch_set_block_size(before);
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
    stream_sync(stream_self(cpu_device()));
    assert_int_equal(slow_state.live, 0);
    buffer_release(out);
    program_free(p);
    pool_set_size(2);
}

/* --------------------------------------------------------------------- tiers */

/* As an evaluation does it: what is due is compiled before the launch. */
static Buffer *launch_due(Kernel *kernel, const Program *p, uint32_t size)
{
    if (tier_is_due(kernel, size, launch_predict(kernel, size)))
        cache_upgrade(kernel);
    return launch(kernel, p, size);
}

static void launch_affine(Kernel *kernel, const Program *p, uint32_t size)
{
    Buffer *out = launch_due(kernel, p, size);
    check_affine(out, size, 3, 5);
    buffer_release(out);
}

static void test_upgrade(void **state)
{
    (void) state;
    choose(NULL);
    fast_state.estimate = 50000;
    Program *p = affine(3, 5);
    Kernel *kernel = get(p);
    assert_ptr_equal(kernel->base.engine, &slow);
    assert_int_equal(kernel->estimate_ns, 50001);
    /* Tiny launches add up. */
    uint64_t expected = launch_predict(kernel, 64);
    for (uint32_t i = 0; i < 20000 && !atomic_load(&kernel->upgraded); ++i) {
        bool due = kernel->base_ns + expected >= kernel->estimate_ns;
        launch_affine(kernel, p, 64);
        assert_true(i > 0 || !fast_state.compiles);
        assert_int_equal(fast_state.compiles, due);
        assert_int_equal(slow_state.launches, i + !due);
    }
    assert_true(atomic_load(&kernel->upgraded));
    assert_ptr_equal(tier_code(kernel)->engine, &fast);
    assert_int_equal(kernel->tier, TIER_DONE);
    uint32_t launches = slow_state.launches;
    uint64_t before = kernel->base_ns;
    launch_affine(kernel, p, 100000);
    assert_int_equal(slow_state.launches, launches);
    assert_int_equal(fast_state.compiles, 1);
    assert_true(kernel->base_ns == before); /* nobody wants to know any more */
    cache_release(kernel);
    program_free(p);
}

/* A launch that will take as long as compiling is worth it at once. */
static void test_upgrade_at_once(void **state)
{
    (void) state;
    enum { SIZE = 200000 };
    choose(NULL);
    Program *p = affine(3, 5);
    Kernel *kernel = get(p);
    fast_state.estimate = launch_predict(kernel, SIZE);
    assert_true(fast_state.estimate > 10000);
    cache_release(kernel);
    cache_flush();
    kernel = get(p);
    launch_affine(kernel, p, SIZE / 2);
    assert_int_equal(fast_state.compiles, 0);
    cache_release(kernel);
    cache_flush();
    slow_state.launches = 0;
    kernel = get(p);
    launch_affine(kernel, p, SIZE + 1000);
    assert_int_equal(fast_state.compiles, 1);
    assert_int_equal(slow_state.launches, 0);
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
        fast_state.compiles = 0;
        fast_state.estimate = UINT64_C(400000000);
        Kernel *kernel = get(p);
        assert_true(((CpuCode *) (void *) kernel->base.code)->cost.loops);
        if (slow_enough)
            kernel->estimate_ns = launch_predict(kernel, SIZE) + 1;
        for (uint32_t i = 0; i < 2; ++i) {
            if (tier_is_due(kernel, SIZE, launch_predict(kernel, SIZE)))
                cache_upgrade(kernel);
            submit(launch_create(&(LaunchSpec){ .device = cpu_device(),
                                                .kernel = kernel,
                                                .program = p,
                                                .size = SIZE }));
            stream_sync(stream_self(cpu_device()));
            assert_true(kernel->base_ns > 0);
            assert_int_equal(fast_state.compiles, i && slow_enough);
        }
        assert_int_equal(atomic_load(&kernel->upgraded), slow_enough);
        /* Small launches are timed, too. */
        uint64_t before = kernel->base_ns;
        submit(launch_create(&(LaunchSpec){ .device = cpu_device(),
                                            .kernel = kernel,
                                            .program = p,
                                            .size = 1 }));
        stream_sync(stream_self(cpu_device()));
        if (slow_enough)
            assert_true(kernel->base_ns == before);
        else
            assert_in_range(kernel->base_ns - before, 1, 100000000);
        cache_release(kernel);
    }
    program_free(p);
}

/* A launch that is made again, of 'size' lanes. */
static void launch_like(const Command *pattern, Kernel *kernel, uint32_t size)
{
    Buffer *out = buffer_get(cpu_device(), (size_t) size * 4);
    Command *c = launch_again(pattern, size, &(LaunchSpec){ .kernel = kernel });
    assert_non_null(c);
    command_set_slot(c, 0, out, 0, out->size, SLOT_WRITE);
    c->slots[0].word = 0;
    submit(c);
    stream_sync(stream_self(cpu_device()));
    check_affine(out, size, 3, 5);
    buffer_release(out);
}

/* One that is made again runs the best code that there is by then, and counts. */
static void test_again(void **state)
{
    (void) state;
    enum { SIZE = 100000 };
    choose(NULL);
    fast_state.estimate = UINT64_C(400000000);
    Program *p = affine(3, 5);
    Kernel *kernel = get(p);
    Buffer *out = buffer_get(cpu_device(), 64 * 4);
    uint64_t args[1] = { 0 };
    const LaunchArray array = { out, 0, SLOT_WRITE };
    Command *first = launch_create(&(LaunchSpec){ .device = cpu_device(),
                                                  .kernel = kernel,
                                                  .program = p,
                                                  .size = 64,
                                                  .args = args,
                                                  .arrays = &array,
                                                  .array_count = 1 });
    assert_non_null(first);
    Command *pattern = command_like(first, 64);
    assert_non_null(pattern);
    command_free(first);
    buffer_release(out);
    launch_like(pattern, kernel, SIZE);
    assert_true(kernel->base_ns > 0);
    uint32_t slow_launches = slow_state.launches;
    assert_true(slow_launches > 0);
    cache_upgrade(kernel);
    uint64_t before = kernel->base_ns;
    launch_like(pattern, kernel, SIZE);
    assert_int_equal(slow_state.launches, slow_launches);
    assert_true(fast_state.launches > 0);
    assert_true(kernel->base_ns == before);
    command_free(pattern);
    cache_release(kernel);
    program_free(p);
}

typedef struct Upgrader {
    Kernel *kernel;
    const Program *program;
} Upgrader;

static void *upgrade_and_launch(void *payload)
{
    Upgrader *u = payload;
    launch_affine(u->kernel, u->program, 1000);
    return NULL;
}

/* One of several threads compiles; the others go on interpreting meanwhile. */
static void test_upgrade_once(void **state)
{
    (void) state;
    enum { THREADS = 4 };
    choose(NULL);
    pthread_t threads[THREADS];
    fast_state.estimate = 1;
    gate_set(&fast_state.compile_gate, true);
    Program *p = affine(3, 5);
    Upgrader u = { .kernel = get(p), .program = p };
    assert_int_equal(pthread_create(&threads[0], NULL, upgrade_and_launch, &u), 0);
    gate_await(&fast_state.compile_gate);
    assert_int_equal(u.kernel->tier, TIER_BUSY);
    assert_false(tier_is_due(u.kernel, 1, UINT64_C(1000000000)));
    for (uint32_t i = 1; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, upgrade_and_launch, &u), 0);
    for (uint32_t i = 1; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
    assert_true(slow_state.launches >= THREADS - 1);
    assert_int_equal(fast_state.launches, 0);
    tier_upgrade(u.kernel); /* nor does who comes too late */
    gate_set(&fast_state.compile_gate, false);
    pthread_join(threads[0], NULL);
    assert_int_equal(fast_state.compiles, 1);
    assert_true(fast_state.launches > 0);
    assert_int_equal(u.kernel->tier, TIER_DONE);
    cache_release(u.kernel);
    program_free(p);
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
                Buffer *out = launch_due(kernel, p, 1000);
                assert_int_equal(error_code(), JIT_OK); /* it works all the same */
                assert_true(stream_sync_buffer(out));
                assert_int_equal(((const uint32_t *) buffer_host(out))[999],
                                 999 + k + 1);
                buffer_release(out);
            }
            assert_false(atomic_load(&kernel->upgraded));
            cache_release(kernel);
            program_free(p);
        }
        assert_int_equal(fast_state.compiles, cases[i].compiles);
        assert_int_equal(occurrences("interpreted"), 1);
    }
}

static void test_forced(void **state)
{
    (void) state;
    choose("fast");
    assert_ptr_equal(cache_forced_engine(), &fast);
    uint64_t environment = cache_environment(cpu_device(), NULL);
    run_affine(3, 5, 1000);
    assert_int_equal(fast_state.compiles, 1);
    assert_int_equal(slow_state.compiles, 0);

    choose(NULL);
    assert_null(cache_forced_engine());
    assert_true(cache_environment(cpu_device(), NULL) != environment);
    environment = cache_environment(cpu_device(), NULL);
    const Device other = { .index = 5 };
    const Device *device = cpu_device();
    assert_true(target_set(device, NULL, NULL, 8));
    assert_true(cache_environment(device, target_get(device)) != environment);
    assert_null(target_get(&other));
    assert_true(target_set(device, NULL, NULL, 0));
    assert_true(cache_environment(device, target_get(device)) == environment);
    assert_true(cache_environment(&other, NULL) != environment);
    fast_state.estimate = 1u << 30;
    run_affine(3, 5, 1000);
    assert_int_equal(slow_state.compiles, 1);

    Program *p = affine(3, 5);
    const Engine *base, *better; /* the choice is for what it makes code for */
    choose("fast");
    assert_true(tier_engines(p, CODE_CPU, &base, &better) && base == &fast);
    for (uint32_t i = 0; i < 2; ++i) {
        assert_false(tier_engines(p, (CodeKind) (OTHER_CODE + 1), &base, &better));
        assert_int_equal(error_code(), JIT_ERROR_UNSUPPORTED);
        choose(i ? "fast" : NULL);
    }
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
    assert_non_null(strstr(error_message(), "which need the engine \"fast\", but "
                                            "DRJIT_CPU_ENGINE is \"slow\""));
    choose(NULL); /* the engine that has them, from the start */
    Kernel *kernel = get(p);
    assert_non_null(kernel);
    assert_ptr_equal(kernel->base.engine, &fast);
    assert_int_equal(kernel->estimate_ns, 0);
    cache_release(kernel);
    cache_flush();
    fast_state.missing = true;
    assert_null(get(p));
    assert_non_null(strstr(error_message(), "which need the engine \"fast\": "));
    assert_non_null(strstr(error_message(), "there is no library"));
    const Engine *base, *better; /* no engine for the other kind of code has them */
    assert_false(tier_engines(p, (CodeKind) OTHER_CODE, &base, &better));
    assert_int_equal(error_code(), JIT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error_message(), "statements, for which this build has no "
                                            "engine that serves the device"));
    program_free(p);
}

/* Code of a kind that has one engine, which compiles in no time. */
static void test_only_engine(void **state)
{
    (void) state;
    Program *p = affine(3, 5);
    const Engine *base, *better;
    choose(NULL);
    assert_true(tier_engines(p, (CodeKind) OTHER_CODE, &base, &better));
    assert_ptr_equal(base, &alone);
    assert_null(better);

    /* It goes on being asked, as nothing else can serve. */
    Device device = { .index = 5, .code = (CodeKind) OTHER_CODE };
    ProgramKey key = cache_key(p, &device, NULL);
    fast_state.fails = JIT_ERROR_SYSTEM;
    for (uint32_t i = 1; i < 3; ++i) {
        assert_null(cache_get(p, &key, 1, NULL, NULL));
        assert_int_equal(error_code(), JIT_ERROR_SYSTEM);
        assert_non_null(strstr(error_message(), "told to fail"));
        assert_int_equal(fast_state.compiles, i);
    }
    fast_state.fails = 0;
    Kernel *kernel = cache_get(p, &key, 1, NULL, NULL);
    assert_non_null(kernel);
    assert_ptr_equal(kernel->base.engine, &alone);
    assert_int_equal(occurrences("another engine"), 0);
    cache_release(kernel);
    cache_flush();

    fast_state.missing = true;
    assert_false(tier_engines(p, (CodeKind) OTHER_CODE, &base, &better));
    assert_int_equal(error_code(), JIT_ERROR_SYSTEM);
    assert_non_null(strstr(error_message(), "no engine can be used"));
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

    /* Automatic choice: taken from disk when it is due. */
    choose(NULL);
    fast_state.estimate = 1;
    Program *p = affine(3, 5);
    for (uint32_t i = 0; i < 2; ++i) {
        Kernel *kernel = get(p);
        launch_affine(kernel, p, 100);
        assert_true(atomic_load(&kernel->upgraded));
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

static void *open_gate(void *unused)
{
    usleep(30000);
    gate_set(&fast_state.compile_gate, false);
    return unused;
}

/* A fork waits for what other threads compile, so nothing is half done in the child. */
static void test_fork(void **state)
{
    (void) state;
    choose(NULL);
    fast_state.estimate = 1;
    gate_set(&fast_state.compile_gate, true);
    Program *p = affine(3, 5), *q = affine(4, 6);
    Upgrader u = { .kernel = get(p), .program = p };
    Kernel *second = get(q);
    pthread_t thread, opener;
    assert_int_equal(pthread_create(&thread, NULL, upgrade_and_launch, &u), 0);
    gate_await(&fast_state.compile_gate);
    assert_int_equal(u.kernel->tier, TIER_BUSY);
    assert_int_equal(pthread_create(&opener, NULL, open_gate, NULL), 0);
    pid_t child = fork();
    if (child == 0) {
        bool done = u.kernel->tier == TIER_DONE;
        launch_affine(u.kernel, p, 1000);
        Buffer *again = launch_due(second, q, 1000);
        check_affine(again, 1000, 4, 6);
        _exit(done && second->tier == TIER_DONE && fast_state.compiles == 2 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pthread_join(thread, NULL);
    pthread_join(opener, NULL);
    cache_release(u.kernel);
    cache_release(second);
    program_free(p);
    program_free(q);
}

/* --------------------------------------------------------------- initialisation */

static const char *program_name;

/* Is a library whose name has this part in the process? */
static bool has_library(const char *part)
{
    char line[500];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        found |= strstr(line, part) != NULL;
    if (maps)
        fclose(maps);
    return found;
}

/* A process that ends at once: nothing is being loaded, in whatever thread. */
static int initialise_only(void)
{
    if (!jit_init_async(JitBackendLLVM))
        return 1;
    usleep(20000);
    return has_library("libLLVM") ? 2 : 0;
}

static void test_initialisation(void **state)
{
    (void) state;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        execl(program_name, program_name, "initialise", (char *) NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
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
    if (argc > 1 && strcmp(argv[1], "initialise") == 0)
        return initialise_only();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_done, setup, teardown),
        cmocka_unit_test_setup_teardown(test_costs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_descriptions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_flush_while_running, setup, teardown),
        cmocka_unit_test_setup_teardown(test_upgrade, setup, teardown),
        cmocka_unit_test_setup_teardown(test_upgrade_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_upgrade_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(test_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_upgrade_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_upgrade_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forced, setup, teardown),
        cmocka_unit_test_setup_teardown(test_statements, setup, teardown),
        cmocka_unit_test_setup_teardown(test_only_engine, setup, teardown),
        cmocka_unit_test_setup_teardown(test_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
        cmocka_unit_test_setup_teardown(test_initialisation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_real_engines, setup, teardown)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
