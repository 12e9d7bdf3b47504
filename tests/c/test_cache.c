/*
 * test_cache.c -- keys, the kernel cache and generalised literals
 *
 * Runs on fake engines; what kernels compute is compared with plain C expressions.
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
#include <unistd.h>

#include "fake_engine.h"
#include "kernel/literals.h"

/* --------------------------------------------------------------------- keys */

static bool equal(Hash128 a, Hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

static void expect_key(const Program *p, ProgramHash before, bool skeleton, bool full)
{
    ProgramHash key = program_hash(p, 1);
    assert_int_equal(equal(key.skeleton, before.skeleton), skeleton);
    assert_int_equal(equal(key.full, before.full), full);
}

static void test_key(void **state)
{
    (void) state;
    Program *p = affine(3, 5), *q = affine(3, 5);
    ProgramHash key = program_hash(p, 1);
    expect_key(q, key, true, true);
    assert_true(program_equal(p, q));
    assert_false(equal(program_hash(p, 2).full, key.full));
    assert_false(equal(program_hash(p, 2).skeleton, key.skeleton));

    q->literals[1] ^= 1;
    expect_key(q, key, true, false);
    assert_true(program_equal_skeleton(p, q));
    assert_false(program_equal(p, q));
    q->literals[1] ^= 1;

    /* Every byte of instructions and parameters counts. */
    for (size_t i = 0; i < q->inst_count * sizeof(Inst); ++i) {
        ((uint8_t *) q->insts)[i] ^= 4;
        expect_key(q, key, false, false);
        assert_false(program_equal_skeleton(p, q));
        ((uint8_t *) q->insts)[i] ^= 4;
    }
    for (size_t i = 0; i < q->param_count * sizeof(Param); ++i) {
        ((uint8_t *) q->params)[i] ^= 4;
        expect_key(q, key, false, false);
        assert_false(program_equal_skeleton(p, q));
        ((uint8_t *) q->params)[i] ^= 4;
    }
    q->check_count++;
    expect_key(q, key, false, false);
    assert_false(program_equal(p, q));
    q->check_count--;
    expect_key(q, key, true, true);
    program_free(p);
    program_free(q);

    p = statement("one");
    q = statement("two");
    expect_key(q, program_hash(p, 1), false, false);
    assert_false(program_equal_skeleton(p, q));
    program_free(p);
    program_free(q);
}

/* A Program with this many callables, the last of which contains the literal. */
static Program *with_callables(uint32_t literal, uint32_t count)
{
    Program *p = affine(1, 2);
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t b = i + 1 < count ? i : literal;
        assert_int_equal(program_add_callable(p, affine(1, b)), i);
    }
    return p;
}

static void test_key_callables(void **state)
{
    (void) state;
    Program *p = with_callables(7, 20), *q = with_callables(7, 20),
            *r = with_callables(8, 20), *s = with_callables(7, 21);
    ProgramHash key = program_hash(p, 1);
    expect_key(q, key, true, true);
    expect_key(r, key, false, false);
    expect_key(s, key, false, false);
    assert_true(program_equal(p, q));
    assert_false(program_equal(p, r));
    /* its literals are part of the skeleton */
    assert_false(program_equal_skeleton(p, r));
    assert_false(program_equal(p, s));
    size_t size_p, size_r, size_s;
    void *bytes_p = program_serialise(p, 0, &size_p),
         *bytes_r = program_serialise(r, 0, &size_r),
         *bytes_s = program_serialise(s, 0, &size_s);
    assert_int_equal(size_p, size_r);
    assert_true(size_s > size_p);
    assert_int_not_equal(memcmp(bytes_p, bytes_r, size_p), 0);
    alloc_free(bytes_p);
    alloc_free(bytes_r);
    alloc_free(bytes_s);

    /* The same callables in another order are another Program. */
    Program *first = q->callables[0];
    q->callables[0] = q->callables[1];
    q->callables[1] = first;
    expect_key(q, key, false, false);
    assert_false(program_equal(p, q));
    q->callables[1] = q->callables[0];
    q->callables[0] = first;
    assert_true(program_equal(p, q));
    /* What a callable contains counts as what the root does. */
    first->insts[0].aux ^= 1;
    expect_key(q, key, false, false);
    assert_false(program_equal(p, q));
    program_free(p);
    program_free(q);
    program_free(r);
    program_free(s);
}

/* A loop that prints: where it begins and ends, and how much is printed, matters. */
static Program *printing_loop(void)
{
    Program *p = alloc_zero(1, sizeof(Program));
    program_add_param(p, PARAM_PRINT, VarTypeVoid);
    p->print_count = 1;
    uint32_t lane = program_add(p, OP_COUNTER, VarTypeUInt32, 0, 0, NULL);
    uint32_t yes = program_add_literal(p, VarTypeBool, 1);
    uint32_t no = program_add_literal(p, VarTypeBool, 0);
    uint32_t region = program_add_region(p, REGION_LOOP, 1, &yes, 0, NULL);
    program_add(p, OP_TEST, VarTypeVoid, region, 1, &no);
    program_add(p, OP_PRINT, VarTypeVoid, 0, 2, (uint32_t[]){ yes, lane });
    program_add(p, OP_END, VarTypeVoid, region, 0, NULL);
    assert_true(program_verify(p));
    return p;
}

static void test_key_regions(void **state)
{
    (void) state;
    Program *p = printing_loop(), *q = printing_loop();
    ProgramHash key = program_hash(p, 1);
    expect_key(q, key, true, true);
    assert_true(program_equal(p, q));
    uint32_t *const fields[] = { &q->regions[0].kind, &q->regions[0].begin,
                                 &q->regions[0].middle, &q->regions[0].end,
                                 &q->regions[0].target_count, &q->print_count };
    for (uint32_t i = 0; i < sizeof(fields) / sizeof(fields[0]); ++i) {
        *fields[i] ^= 4;
        expect_key(q, key, false, false);
        assert_false(program_equal_skeleton(p, q));
        size_t size_p, size_q;
        void *bytes_p = program_serialise(p, 3, &size_p),
             *bytes_q = program_serialise(q, 3, &size_q);
        assert_int_equal(size_p, size_q);
        assert_int_not_equal(memcmp(bytes_p, bytes_q, size_p), 0);
        alloc_free(bytes_p);
        alloc_free(bytes_q);
        *fields[i] ^= 4;
    }
    program_free(p);
    program_free(q);
}

/* A kernel that prints, checks and calls keeps its slots when literals become slots. */
static void test_generalise_slots(void **state)
{
    (void) state;
    Program *p = printing_loop();
    program_add_callable(p, affine(3, 5));
    program_add_param(p, PARAM_REPORT, VarTypeVoid);
    p->check_count = 1;
    uint32_t first, position = 1; /* the second literal is the loop's condition */
    Program *general = literals_generalise(p, &position, 1, &first);
    assert_non_null(general);
    assert_int_equal(first, 1);
    assert_int_equal(general->param_count, 3);
    assert_int_equal(program_find_param(general, PARAM_PRINT), 0);
    assert_int_equal(program_find_param(general, PARAM_VALUE), first);
    assert_int_equal(program_find_param(general, PARAM_REPORT), 2);
    const Inst *inst = &general->insts[2];
    assert_true(inst->op == OP_PARAM && inst->aux == first &&
                inst->type == VarTypeBool);
    assert_int_equal(general->insts[1].op, OP_LITERAL);
    assert_int_equal(general->print_count, 1);
    assert_true(program_equal(general->callables[0], p->callables[0]));
    program_free(p);
    program_free(general);
}

/* ----------------------------------------------------------------- the cache */

static void test_hit(void **state)
{
    (void) state;
    Program *p = affine(3, 5), *q = chain(4);
    ProgramKey key = cache_key(p, cpu_device(), NULL);
    assert_null(cache_find(p, &key));
    Kernel *a = cache_get(p, &key, 1, NULL, NULL);
    assert_non_null(a);
    assert_string_equal(a->base.engine->name, "slow");
    assert_ptr_not_equal(a->program, p);
    Kernel *b = cache_find(p, &key);
    Kernel *c = cache_get(p, &key, 1, NULL, NULL), *d = get(q);
    assert_ptr_equal(a, b);
    assert_ptr_equal(a, c);
    assert_ptr_not_equal(a, d);
    assert_int_equal(cache_size(), 2);
    assert_int_equal(slow_state.compiles, 2);
    CacheStats stats = cache_stats();
    assert_int_equal(stats.hits, 2);
    assert_int_equal(stats.hard_misses, 2);
    assert_int_equal(stats.soft_misses, 0);
    assert_int_equal(cache_flush(), 2);
    assert_int_equal(cache_size(), 0);
    assert_int_equal(slow_state.live, 2); /* still held here */
    cache_release(a);
    cache_release(b);
    cache_release(c);
    cache_release(d);
    assert_int_equal(slow_state.live, 0);
    program_free(p);
    program_free(q);
}

/* Kernels whose keys are equal although the Programs are not. */
static void test_collision(void **state)
{
    (void) state;
    ProgramKey forged = { { 1, 2 }, { 3, 4 }, cpu_device(), NULL };
    Program *programs[6];
    Kernel *kernels[6];
    for (uint32_t i = 0; i < 6; ++i) {
        programs[i] = chain(i + 1);
        assert_null(cache_find(programs[i], &forged));
        kernels[i] = cache_get(programs[i], &forged, 1, NULL, NULL);
        assert_non_null(kernels[i]);
    }
    assert_int_equal(cache_size(), 6);
    for (uint32_t i = 0; i < 6; ++i) {
        Kernel *found = cache_find(programs[i], &forged);
        assert_ptr_equal(found, kernels[i]);
        cache_release(found);
        cache_release(kernels[i]);
        program_free(programs[i]);
    }
    assert_int_equal(slow_state.compiles, 6);
}

typedef struct Getter {
    pthread_t thread;
    const Program *program;
    Kernel *kernel;
    JitError error;
    char message[200];
} Getter;

static void *getter(void *payload)
{
    Getter *g = payload;
    g->kernel = get(g->program);
    g->error = error_code();
    snprintf(g->message, sizeof(g->message), "%s", error_message());
    return NULL;
}

static void get_at_once(Getter *getters, uint32_t count, const Program *p)
{
    gate_set(&slow_state.compile_gate, true);
    for (uint32_t i = 0; i < count; ++i) {
        getters[i].program = p;
        assert_int_equal(pthread_create(&getters[i].thread, NULL, getter, &getters[i]),
                         0);
    }
    gate_await(&slow_state.compile_gate);
    usleep(20000); /* time for the others to arrive, and to err */
    gate_set(&slow_state.compile_gate, false);
    for (uint32_t i = 0; i < count; ++i)
        pthread_join(getters[i].thread, NULL);
}

static void test_compile_once(void **state)
{
    (void) state;
    Getter getters[4];
    Program *p = affine(3, 5);
    get_at_once(getters, 4, p);
    assert_int_equal(slow_state.compiles, 1);
    for (uint32_t i = 0; i < 4; ++i) {
        assert_non_null(getters[i].kernel);
        assert_ptr_equal(getters[i].kernel, getters[0].kernel);
    }
    for (uint32_t i = 0; i < 4; ++i)
        cache_release(getters[i].kernel);
    program_free(p);
}

static void test_error_to_waiters(void **state)
{
    (void) state;
    Getter getters[4];
    Program *p = affine(3, 5);
    slow_state.fails = JIT_ERROR_COMPILE;
    get_at_once(getters, 4, p);
    for (uint32_t i = 0; i < 4; ++i) {
        assert_null(getters[i].kernel);
        assert_int_equal(getters[i].error, JIT_ERROR_COMPILE);
        assert_string_equal(getters[i].message, "fake engine: told to fail");
    }
    assert_int_equal(cache_size(), 0);
    slow_state.fails = 0; /* the next call tries again */
    run_affine(3, 5, 100);
    program_free(p);
}

static void test_bound(void **state)
{
    (void) state;
    setenv("DRJIT_KERNEL_CACHE_SIZE", "4", 1);
    Program *programs[8];
    for (uint32_t i = 0; i < 8; ++i)
        programs[i] = chain(i + 1);
    for (uint32_t i = 0; i < 4; ++i)
        cache_release(get(programs[i]));
    cache_release(get(programs[0])); /* used again: leaves after the others */
    cache_release(get(programs[4]));
    cache_release(get(programs[5]));
    assert_int_equal(cache_size(), 4);
    assert_int_equal(slow_state.live, 4);
    static const bool expected[8] = {
        true, false, false, true, true, true, false, false
    };
    for (uint32_t i = 0; i < 8; ++i) {
        ProgramKey key = cache_key(programs[i], cpu_device(), NULL);
        Kernel *kernel = cache_find(programs[i], &key);
        assert_int_equal(kernel != NULL, expected[i]);
        cache_release(kernel);
        program_free(programs[i]);
    }
}

/* Many kernels with clustered keys come and go, against a plain list of the last
 * ones. */
static void test_table(void **state)
{
    (void) state;
    enum { BOUND = 100, STEPS = 3000 };
    setenv("DRJIT_KERNEL_CACHE_SIZE", "100", 1);
    static uint32_t last[STEPS];
    Program *p = affine(3, 5);
    uint32_t count = 0, seed = 1;
    for (uint32_t step = 0; step < STEPS; ++step) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t number = (seed >> 16) % 170;
        ProgramKey key = { { number / 2 % 61, number }, { number % 37, number },
                           cpu_device(), NULL };
        uint32_t at = 0;
        while (at < count && last[at] != number)
            ++at;
        Kernel *kernel = cache_find(p, &key);
        assert_int_equal(kernel != NULL, at < count);
        if (!kernel)
            kernel = cache_get(p, &key, 1, NULL, NULL);
        assert_int_equal(kernel->key.full.high, number);
        cache_release(kernel);
        if (at == count)
            at = count < BOUND ? count++ : BOUND - 1;
        memmove(last + 1, last, at * sizeof(last[0]));
        last[0] = number;
        assert_int_equal(cache_size(), count);
    }
    program_free(p);
}

/* ------------------------------------------------------------------ literals */

static const char *origin(void *context, uint32_t literal)
{
    assert_string_equal(context, "context");
    return literal == 0 ? "'slope' at file.c:12" : NULL;
}

static void test_generalise(void **state)
{
    (void) state;
    run_affine(3, 5, 1000);
    assert_int_equal(slow_state.compiles, 1);

    /* The slope differs: one parameter, one line. */
    Program *p = affine(4, 5);
    ProgramKey key = cache_key(p, cpu_device(), NULL);
    assert_null(cache_find(p, &key));
    char context[] = "context";
    Kernel *kernel = cache_get(p, &key, 1, origin, context);
    assert_non_null(kernel);
    assert_int_equal(kernel->value_count, 1);
    assert_int_equal(kernel->value_literals[0], 0);
    assert_int_equal(kernel->first_value, 1);
    Kernel *found = cache_find(p, &key);
    assert_ptr_equal(found, kernel);
    cache_release(found);
    Buffer *out = launch(kernel, p, 1000);
    check_affine(out, 1000, 4, 5);
    buffer_release(out);
    cache_release(kernel);
    program_free(p);
    char line[200];
    snprintf(line, sizeof(line),
             "jit_eval(): kernel %016llx: literal 4 ('slope' at "
             "file.c:12) differs from 3: turned into a parameter.",
             (unsigned long long) key.full.high);
    assert_int_equal(occurrences(line), 1);
    assert_int_equal(occurrences("turned into a parameter"), 1);

    for (uint32_t a = 0; a < 20; ++a)
        run_affine(a, 5, 100);
    assert_int_equal(slow_state.compiles, 2);

    /* The offset differs, too: the union. */
    run_affine(7, 6, 100);
    assert_int_equal(slow_state.compiles, 3);
    assert_int_equal(occurrences("literal 6 differs from 5: turned into a parameter"),
                     1);
    assert_int_equal(occurrences("turned into a parameter"), 2);
    for (uint32_t a = 0; a < 20; ++a)
        run_affine(a, a * a + 100, 100);
    assert_int_equal(slow_state.compiles, 3);
    assert_int_equal(cache_size(), 3);
}

/* Reports stay the last slot after new ones. */
static void test_generalise_report(void **state)
{
    (void) state;
    Program *p = checked();
    uint32_t first, position = 1;
    Program *q = literals_generalise(p, &position, 1, &first);
    assert_true(program_verify(q));
    assert_int_equal(first, 1);
    assert_int_equal(q->param_count, 3);
    assert_int_equal(q->params[1].kind, PARAM_VALUE);
    assert_int_equal(q->params[1].type, VarTypeUInt32);
    assert_int_equal(q->params[2].kind, PARAM_REPORT);
    program_free(p);
    program_free(q);
}

static void expect_text(VarType type, uint64_t bits, const char *expected)
{
    Text text = { 0 };
    literals_write(&text, type, bits);
    assert_string_equal(text_get(&text), expected);
    text_free(&text);
}

static void test_literal_text(void **state)
{
    (void) state;
    expect_text(VarTypeBool, 1, "true");
    expect_text(VarTypeInt8, 0xff, "-1");
    expect_text(VarTypeUInt8, 0xff, "255");
    expect_text(VarTypeInt64, UINT64_MAX, "-1");
    expect_text(VarTypeFloat16, 0x3c01, "1.001");
    expect_text(VarTypeFloat16, 0xfc00, "-inf");
    expect_text(VarTypeFloat16, 0x0001, "5.9605e-08");
    expect_text(VarTypeFloat32, 0x3dcccccd, "0.1");
    expect_text(VarTypeFloat64, 0x3fb999999999999a, "0.1");
    expect_text(VarTypePointer, 0x1234, "0x0000000000001234");
}

/* -------------------------------------------------------- failing allocations */

/* Evaluate with the n-th step failing; 0: none. */
static bool try_affine(uint32_t a, uint32_t b, uint64_t n)
{
    Program *p = affine(a, b);
    Buffer *out = buffer_get(cpu_device(), 4000);
    alloc_fail_at(n);
    Kernel *kernel = get(p);
    bool ok = kernel != NULL;
    if (kernel) {
        uint64_t args[1] = { 0 };
        const LaunchArray array = { out, 0, SLOT_WRITE };
        Command *command = launch_create(&(LaunchSpec){ .device = cpu_device(),
                                                        .kernel = kernel,
                                                        .program = p,
                                                        .size = 1000,
                                                        .args = args,
                                                        .arrays = &array,
                                                        .array_count = 1 });
        ok = command && stream_submit(stream_self(cpu_device()), command);
        stream_run();
        if (ok)
            check_affine(out, 1000, a, b);
        cache_release(kernel);
    }
    alloc_fail_at(0);
    buffer_release(out);
    program_free(p);
    return ok;
}

static void test_hostile(void **state)
{
    (void) state;
    bool ok = false;
    slow_state.scratch = 100;
    run_affine(1, 1, 10); /* what is made once, is there */
    for (uint64_t n = 1; !ok && n < 200; ++n) {
        cache_flush();
        run_affine(1, 1, 10);
        Program *p = affine(2, 1);
        ProgramKey key = cache_key(p, cpu_device(), NULL);
        alloc_fail_at(n);
        Kernel *kernel = cache_get(p, &key, 1, NULL, NULL);
        ok = alloc_steps() < n;
        alloc_fail_at(0);
        if (!kernel)
            assert_int_equal(error_code(), JIT_ERROR_MEMORY);
        error_clear();
        cache_release(kernel);
        program_free(p);
        assert_true(try_affine(2, 1, 0));
        stream_sync_all();
    }
    assert_true(ok);
    ok = false;
    for (uint64_t n = 1; !ok && n < 20; ++n) {
        ok = try_affine(2, 1, n);
        error_clear();
    }
    assert_true(ok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_key, setup, teardown),
        cmocka_unit_test_setup_teardown(test_key_callables, setup, teardown),
        cmocka_unit_test_setup_teardown(test_key_regions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_generalise_slots, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_collision, setup, teardown),
        cmocka_unit_test_setup_teardown(test_compile_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_error_to_waiters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bound, setup, teardown),
        cmocka_unit_test_setup_teardown(test_table, setup, teardown),
        cmocka_unit_test_setup_teardown(test_generalise, setup, teardown),
        cmocka_unit_test_setup_teardown(test_generalise_report, setup, teardown),
        cmocka_unit_test_setup_teardown(test_literal_text, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile, setup, teardown)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
