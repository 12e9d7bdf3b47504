/*
 * test_call_merge.c -- calls become small: callables merged, outputs left out
 *
 * Counts what is left in the Program, and compares the values with those of plain C.
 */
#include "call_util.h"
#include "trace/graph/var.h"

/* ---------------------------------------------------------------------- merging */

/* Callables that differ in values only become one. */
static void test_merge_literals(void **unused)
{
    (void) unused;
    enum { COUNT = 40 };
    for (int merge = 1; merge >= 0; --merge) {
        jit_set_flag(JitFlagMergeFunctions, merge);
        uint32_t ids[N], expected[N], result;
        double doubles[N];
        uint32_t self = cyclic_ids(COUNT + 1, ids), x = jit_var_counter(CPU, N);
        uint32_t results[2], call = jit_var_call_start(CPU, "merge", ALWAYS);
        uint32_t a = jit_var_call_input(call, x);
        for (uint32_t c = 0; c < COUNT; ++c) {
            /* Literals that differ, and one that does not. */
            uint32_t b = with_number(jit_var_add, a, 100 * c + 1);
            uint32_t out[2] = { with_number(jit_var_mul, b, 7), 0 };
            uint32_t real = jit_var_cast(a, VarTypeFloat64, 0);
            uint32_t factor = jit_var_f64(CPU, 0.13 * (c + 2));
            uint32_t scaled = jit_var_mul(real, factor);
            uint8_t byte = (uint8_t) (200 + c);
            uint32_t small = jit_var_literal(CPU, VarTypeUInt8, &byte, 1, 0);
            uint32_t narrow = jit_var_cast(a, VarTypeUInt8, 0);
            uint32_t both = jit_var_xor(narrow, small);
            uint32_t wide = jit_var_cast(both, VarTypeFloat64, 0);
            out[1] = jit_var_add(scaled, wide);
            OK(jit_var_call_append(call, 2, out));
            DROP(b, out[0], out[1], real, factor, scaled, small, narrow, both, wide);
        }
        OK(jit_var_call(call, self, COUNT, NULL, NULL, results));
        result = results[0];
        uint32_t real = jit_var_cast(result, VarTypeFloat64, 0);
        uint32_t sum = jit_var_add(real, results[1]);
        assert_int_equal(CALLABLES(sum), merge ? 1 : COUNT);
        OK(jit_var_schedule(results[0]) && jit_var_schedule(results[1]));
        OK(jit_eval());
        for (uint32_t i = 0; i < N; ++i) {
            uint32_t c = ids[i] - 1;
            volatile double scaled = (double) i * (0.13 * (c + 2));
            expected[i] = ids[i] ? (i + 100 * c + 1) * 7 : 0;
            doubles[i] = ids[i] ? scaled + ((uint8_t) i ^ (uint8_t) (200 + c)) : 0;
        }
        CHECK_BYTES(results[0], expected, N);
        CHECK_BYTES(results[1], doubles, N);
        DROP(self, x, a, results[0], results[1], real, sum);
    }
}

/* The same for values in memory, which no literal shows. */
static void test_merge_arrays(void **unused)
{
    (void) unused;
    enum { COUNT = 6 };
    uint32_t ids[N], expected[N], results[2];
    uint32_t self = cyclic_ids(COUNT + 1, ids), x = jit_var_counter(CPU, N);
    uint32_t shared = u32_array(1, (uint32_t[]){ 5 });
    uint32_t call = jit_var_call_start(CPU, "opaque", ALWAYS);
    uint32_t a = jit_var_call_input(call, x);
    for (uint32_t c = 0; c < COUNT; ++c) {
        /* 64 bits; some instances have a literal where others have an array. */
        uint64_t value = (UINT64_C(0x100000000) << c) + c;
        uint32_t own = c % 3 ? array_of(VarTypeUInt64, &value, 1)
                             : jit_var_u64(CPU, value);
        uint32_t wide = jit_var_cast(a, VarTypeUInt64, 0), sum = jit_var_add(wide, own);
        uint32_t scaled = jit_var_mul(a, shared);
        OK(jit_var_call_append(call, 2, (uint32_t[]){ sum, scaled }));
        DROP(own, wide, sum, scaled);
    }
    OK(jit_var_call(call, self, COUNT, NULL, NULL, results));
    uint32_t wide = jit_var_cast(results[1], VarTypeUInt64, 0);
    uint32_t both = jit_var_add(results[0], wide);
    assert_int_equal(CALLABLES(both), 1);
    uint64_t sums[N];
    for (uint32_t i = 0; i < N; ++i) {
        uint32_t c = ids[i] - 1;
        sums[i] = ids[i] ? i + (UINT64_C(0x100000000) << c) + c : 0;
        expected[i] = ids[i] ? i * 5 : 0;
    }
    OK(jit_var_schedule(results[0]) && jit_var_schedule(results[1]));
    OK(jit_eval());
    CHECK_BYTES(results[0], sums, N);
    CHECK_BYTES(results[1], expected, N);
    DROP(self, x, shared, a, results[0], results[1], wide, both);
}

/* One literal of one callable is two of another: they must not be taken for each
 * other. */
static void test_merge_carefully(void **unused)
{
    (void) unused;
    uint32_t ids[N], expected[N], result;
    static const uint32_t first[] = { 3, 3, 4 }, second[] = { 3, 5, 4 };
    uint32_t self = cyclic_ids(4, ids), x = jit_var_counter(CPU, N);
    uint32_t call = jit_var_call_start(CPU, "careful", ALWAYS);
    uint32_t a = jit_var_call_input(call, x);
    for (int c = 0; c < 3; ++c) {
        uint32_t b = with_number(jit_var_add, a, first[c]);
        uint32_t d = with_number(jit_var_mul, b, second[c]);
        OK(jit_var_call_append(call, 1, &d));
        DROP(b, d);
    }
    OK(jit_var_call(call, self, 3, NULL, NULL, &result));
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = ids[i] ? (i + first[ids[i] - 1]) * second[ids[i] - 1] : 0;
    CHECK_BYTES(result, expected, N);
    DROP(self, x, a, result);
}

/* Ten thousand instances of five classes: five bodies, and time to spare. */
static void test_many_instances(void **unused)
{
    (void) unused;
    enum { INSTANCES = 10000, CLASSES = 5, LANES = 50000 };
    uint32_t *ids = malloc(INSTANCES * sizeof(uint32_t));
    uint32_t *callable_of = malloc(INSTANCES * sizeof(uint32_t));
    uint32_t *radius = malloc((INSTANCES + 1) * sizeof(uint32_t));
    uint32_t *expected = malloc(LANES * sizeof(uint32_t));
    uint32_t *who = random_indices(LANES, INSTANCES + 1);
    radius[0] = 0;
    for (uint32_t i = 0; i < INSTANCES; ++i) {
        ids[i] = i + 1;
        callable_of[i] = (uint32_t) (random_bits() % CLASSES);
        radius[i + 1] = (uint32_t) random_bits() % 1000;
    }
    uint32_t self = u32_array(LANES, who), x = jit_var_counter(CPU, LANES);
    uint32_t radii = u32_array(INSTANCES + 1, radius), result;
    uint32_t call = jit_var_call_start(CPU, "shapes", ALWAYS);
    uint32_t a = jit_var_call_input(call, x), id = jit_var_call_input(call, self);
    for (uint32_t c = 0; c < CLASSES; ++c) {
        uint32_t own = jit_var_gather(radii, id, ALWAYS), sum = jit_var_add(a, own);
        for (uint32_t k = 0; k < c; ++k)
            advance(&sum, jit_var_mul(sum, own));
        OK(jit_var_call_append(call, 1, &sum));
        DROP(own, sum);
    }
    OK(jit_var_call(call, self, INSTANCES, ids, callable_of, &result));
    assert_int_equal(CALLABLES(result), CLASSES);
    for (uint32_t i = 0; i < LANES; ++i) {
        expected[i] = who[i] ? i + radius[who[i]] : 0;
        for (uint32_t k = 0; who[i] && k < callable_of[who[i] - 1]; ++k)
            expected[i] *= radius[who[i]];
    }
    CHECK_BYTES(result, expected, LANES);
    DROP(self, x, radii, a, id, result);
    free(ids);
    free(callable_of);
    free(radius);
    free(expected);
    free(who);
}

/* Callables that are traced for each instance: one is left. */
static void test_many_callables(void **unused)
{
    (void) unused;
    enum { COUNT = 1000 };
    uint32_t ids[N], expected[N], result;
    for (uint32_t i = 0; i < N; ++i)
        ids[i] = (uint32_t) (random_bits() % (COUNT + 1));
    uint32_t self = u32_array(N, ids), x = jit_var_counter(CPU, N);
    uint32_t call = jit_var_call_start(CPU, "thousand", ALWAYS);
    uint32_t a = jit_var_call_input(call, x);
    for (uint32_t c = 0; c < COUNT; ++c) {
        uint32_t b = with_number(jit_var_add, a, 17 * c + 2);
        uint32_t d = with_number(jit_var_mul, b, c % 2 ? 3 : 5);
        OK(jit_var_call_append(call, 1, &d));
        DROP(b, d);
    }
    OK(jit_var_call(call, self, COUNT, NULL, NULL, &result));
    assert_int_equal(CALLABLES(result), 1);
    for (uint32_t i = 0; i < N; ++i) {
        uint32_t c = ids[i] - 1;
        expected[i] = ids[i] ? (i + 17 * c + 2) * (c % 2 ? 3 : 5) : 0;
    }
    CHECK_BYTES(result, expected, N);
    DROP(self, x, a, result);
}

/* What does not depend on inputs can be evaluated when its callable is complete: then
 * nothing shows by which value it was made. */
static void test_merge_evaluated(void **unused)
{
    (void) unused;
    enum { COUNT = 5 };
    uint32_t ids[N], expected[N], shared[N], own[COUNT], result;
    for (uint32_t i = 0; i < N; ++i)
        shared[i] = 3 * i;
    uint32_t self = cyclic_ids(COUNT + 1, ids), x = jit_var_counter(CPU, N);
    uint32_t array = u32_array(N, shared);
    uint32_t call = jit_var_call_start(CPU, "evaluated", ALWAYS);
    uint32_t a = jit_var_call_input(call, x);
    for (uint32_t c = 0; c < COUNT; ++c) {
        own[c] = with_number(jit_var_mul, array, c + 2);
        uint32_t sum = jit_var_add(a, own[c]);
        OK(jit_var_call_append(call, 1, &sum));
        if (c % 2)
            OK(jit_var_eval(own[c - 1]));
        DROP(sum);
    }
    OK(jit_var_call(call, self, COUNT, NULL, NULL, &result));
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = ids[i] ? i + 3 * i * (ids[i] + 1) : 0;
    CHECK_BYTES(result, expected, N);
    drop_all(own, COUNT);
    DROP(self, x, array, a, result);
}

/* The first callable of a kind stands for the others, also where no instance has it. */
static void test_merge_unused(void **unused)
{
    (void) unused;
    static const uint32_t callable_of[] = { 2, 3, 2 };
    uint32_t ids[N], expected[N], results[2];
    uint32_t self = cyclic_ids(4, ids), x = jit_var_counter(CPU, N);
    uint32_t call = jit_var_call_start(CPU, "unused", ALWAYS);
    uint32_t a = jit_var_call_input(call, x);
    for (uint32_t c = 0; c < 4; ++c) {
        /* The second output is the same in those that are used. */
        uint32_t out[] = { with_number(jit_var_mul, a, c + 9),
                           jit_var_u32(CPU, c < 2 ? c : 7) };
        OK(jit_var_call_append(call, 2, out));
        drop_all(out, 2);
    }
    OK(jit_var_call(call, self, 3, NULL, callable_of, results));
    assert_int_equal(program_count(results[1], "region"), 0);
    assert_int_equal(CALLABLES(results[0]), 1);
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = ids[i] ? i * (ids[i] == 2 ? 12 : 11) : 0;
    CHECK_BYTES(results[0], expected, N);
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = ids[i] ? 7 : 0;
    CHECK_BYTES(results[1], expected, N);
    DROP(self, x, a, results[0], results[1]);
}

/* Two literals may be one: then they have the same value twice. */
static void test_merge_equal_values(void **unused)
{
    (void) unused;
    static const uint32_t first[] = { 3, 5, 9 }, second[] = { 7, 5, 9 };
    uint32_t ids[N], expected[N], result;
    uint32_t self = cyclic_ids(4, ids), x = jit_var_counter(CPU, N);
    uint32_t call = jit_var_call_start(CPU, "equal", ALWAYS);
    uint32_t a = jit_var_call_input(call, x);
    for (int c = 0; c < 3; ++c) {
        uint32_t b = with_number(jit_var_add, a, first[c]);
        uint32_t d = with_number(jit_var_div, b, second[c]);
        OK(jit_var_call_append(call, 1, &d));
        DROP(b, d);
    }
    OK(jit_var_call(call, self, 3, NULL, NULL, &result));
    assert_int_equal(CALLABLES(result), 1);
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = ids[i] ? (i + first[ids[i] - 1]) / second[ids[i] - 1] : 0;
    CHECK_BYTES(result, expected, N);
    DROP(self, x, a, result);
}

/* Callables that are alike are let go of as they come: no more variables than one has,
 * and one value each. */
static void test_merge_at_once(void **unused)
{
    (void) unused;
    enum { COUNT = 200 };
    uint32_t ids[N], expected[N], result, live = 0;
    uint32_t self = cyclic_ids(COUNT + 1, ids), x = jit_var_counter(CPU, N);
    uint32_t call = jit_var_call_start(CPU, "at once", ALWAYS);
    uint32_t a = jit_var_call_input(call, x);
    for (uint32_t c = 0; c < COUNT; ++c) {
        uint32_t b = with_number(jit_var_mul, a, 2 * c + 3);
        if (c == 1) /* that of two kinds */
            advance(&b, jit_var_add(b, a));
        OK(jit_var_call_append(call, 1, &b));
        DROP(b);
        if (c == 1)
            live = var_table.live;
    }
    assert_int_equal(var_table.live, live);
    OK(jit_var_call(call, self, COUNT, NULL, NULL, &result));
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = ids[i] ? i * (2 * ids[i] + 1) + (ids[i] == 2 ? i : 0) : 0;
    CHECK_BYTES(result, expected, N);
    DROP(self, x, a, result);
}

/* Effects that were taken back leave an empty list behind, which somebody has to free:
 * for the sanitizers to see. */
static void test_merge_rolled_back(void **unused)
{
    (void) unused;
    uint32_t ids[N], expected[N], zeros[4] = { 0 }, result;
    uint32_t self = cyclic_ids(3, ids), x = jit_var_counter(CPU, N);
    uint32_t target = fill_u32(4, 0), call = jit_var_call_start(CPU, "back", ALWAYS);
    uint32_t a = jit_var_call_input(call, x);
    for (uint32_t c = 0; c < 2; ++c) {
        uint32_t begin = jit_record_checkpoint(CPU);
        uint32_t written = jit_var_scatter(target, a, a, ALWAYS, ReduceOpAdd,
                                           ReduceModeAuto);
        OK(written && jit_record_rollback(CPU, begin));
        uint32_t b = with_number(jit_var_mul, a, 2 * c + 3);
        OK(jit_var_call_append(call, 1, &b));
        DROP(written, b);
    }
    OK(jit_var_call(call, self, 2, NULL, NULL, &result));
    assert_int_equal(CALLABLES(result), 1);
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = ids[i] ? i * (2 * ids[i] + 1) : 0;
    CHECK_BYTES(result, expected, N);
    CHECK_BYTES(target, zeros, 4);
    DROP(self, x, target, a, result);
}

/* --------------------------------------------------------------- simplification */

/* A single callable needs no table of callables, whatever the number of instances. */
static void test_direct(void **unused)
{
    (void) unused;
    uint32_t ids[N], expected[N], result;
    static const uint32_t callable_of[] = { 0, 0, 0 };
    uint32_t self = cyclic_ids(5, ids), x = jit_var_counter(CPU, N);
    uint32_t sums = fill_u32(4, 0);
    uint32_t call = jit_var_call_start(CPU, "direct", ALWAYS);
    uint32_t a = jit_var_call_input(call, x), b = with_number(jit_var_add, a, 1);
    uint32_t three = jit_var_u32(CPU, 3), here = jit_var_counter(CPU, N);
    advance(&sums, jit_var_scatter(sums, here, three, ALWAYS, ReduceOpAdd,
                                   ReduceModeAuto));
    OK(jit_var_call_append(call, 1, &b));
    OK(jit_var_call(call, self, 3, NULL, callable_of, &result));
    assert_int_equal(CALLABLES(result), 0);
    assert_int_equal(program_count(result, "region if"), 1);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < N; ++i) {
        bool on = ids[i] >= 1 && ids[i] <= 3;
        expected[i] = on ? i + 1 : 0;
        sum += on ? i : 0;
    }
    CHECK_BYTES(result, expected, N);
    CHECK_U32(sums, 0, 0, 0, sum);
    DROP(self, x, sums, a, b, three, here, result);
}

/* Callables of one kind with ids in their order: where their values are is computed,
 * not looked up, and ids that do not exist call nothing. */
static void test_counted(void **unused)
{
    (void) unused;
    const uint32_t numbers[] = { 0, 1, 3, 4, 1u << 31, (1u << 31) + 1, UINT32_MAX };
    enum { COUNT = 3, LANES = sizeof(numbers) / sizeof(*numbers) };
    uint32_t self = u32_array(LANES, numbers), x = jit_var_counter(CPU, LANES), result;
    double expected[LANES];
    for (int values = 0; values < 2; ++values) {
        uint32_t call = jit_var_call_start(CPU, "counted", ALWAYS);
        uint32_t a = jit_var_call_input(call, x);
        for (uint32_t c = 0; c < COUNT; ++c) {
            uint32_t real = jit_var_cast(a, VarTypeFloat64, 0);
            uint32_t own = jit_var_f64(CPU, values ? 0.3 * (c + 1) : 0.3);
            uint32_t sum = jit_var_add(real, own);
            OK(jit_var_call_append(call, 1, &sum));
            DROP(real, own, sum);
        }
        OK(jit_var_call(call, self, COUNT, NULL, NULL, &result));
        assert_int_equal(CALLABLES(result), values);
        assert_int_equal(program_count(result, "gather"), 2 * values);
        for (uint32_t i = 0; i < LANES; ++i)
            expected[i] = !numbers[i] || numbers[i] > COUNT ? 0
                          : values ? i + 0.3 * numbers[i] : i + 0.3;
        CHECK_BYTES(result, expected, LANES);
        DROP(a, result);
    }
    DROP(self, x);
}

/* The same for an id that is a literal: so may be the place of the values. */
static void test_counted_literal(void **unused)
{
    (void) unused;
    enum { COUNT = 3, LANES = 4 };
    for (uint32_t id = 0; id < COUNT + 2; ++id) {
        uint32_t expected[LANES], self = jit_var_u32(CPU, id), result;
        uint32_t x = jit_var_counter(CPU, LANES);
        uint32_t call = jit_var_call_start(CPU, "literal", ALWAYS);
        uint32_t a = jit_var_call_input(call, x);
        for (uint32_t c = 0; c < COUNT; ++c) {
            uint32_t sum = with_number(jit_var_add, a, 10 * c + 7);
            OK(jit_var_call_append(call, 1, &sum));
            DROP(sum);
        }
        OK(jit_var_call(call, self, COUNT, NULL, NULL, &result));
        for (uint32_t i = 0; i < LANES; ++i)
            expected[i] = id >= 1 && id <= COUNT ? i + 10 * (id - 1) + 7 : 0;
        CHECK_BYTES(result, expected, LANES);
        DROP(self, x, a, result);
    }
}

/* Outputs that are the same everywhere leave the call; those that nobody needs and what
 * only they need are not computed. */
static void test_outputs(void **unused)
{
    (void) unused;
    uint32_t ids[N], expected[N], results[4];
    uint32_t self = cyclic_ids(4, ids), x = jit_var_counter(CPU, N);
    float *reals = random_array(VarTypeFloat32, N);
    uint32_t real = array_of(VarTypeFloat32, reals, N);
    uint32_t y = with_number(jit_var_add, x, 9), nine = jit_var_u32(CPU, 9);
    uint32_t call = jit_var_call_start(CPU, "outputs", ALWAYS);
    uint32_t a = jit_var_call_input(call, x), unneeded = jit_var_call_input(call, real);
    uint32_t literal = jit_var_call_input(call, nine);
    assert_int_equal(jit_var_state(literal), VarStateLiteral);
    for (int c = 0; c < 3; ++c) {
        uint32_t out[] = { jit_var_u32(CPU, 4), jit_var_inc_ref(y),
                           jit_var_sqrt(unneeded),
                           with_number(jit_var_shl, a, (uint32_t) c) };
        if (c == 1)
            advance(&out[3], jit_var_add(out[3], a)); /* of another shape */
        OK(jit_var_call_append(call, 4, out));
        drop_all(out, 4);
    }
    OK(jit_var_call(call, self, 3, NULL, NULL, results));
    assert_int_equal(program_count(results[0], "region"), 0);
    assert_int_equal(program_count(results[1], "region"), 0);
    assert_int_equal(program_count(results[3], "sqrt"), 0);
    assert_int_equal(program_count(results[3], "f32"), 0);
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = ids[i] ? 4 : 0;
    CHECK_BYTES(results[0], expected, N);
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = ids[i] ? i + 9 : 0;
    CHECK_BYTES(results[1], expected, N);
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = ids[i] == 1 ? i : ids[i] == 2 ? 3 * i : ids[i] == 3 ? 4 * i : 0;
    CHECK_BYTES(results[3], expected, N);
    DROP(self, x, real, y, nine, a, unneeded, literal, results[0], results[1],
         results[2], results[3]);
    free(reals);
}

/* No instance at all, or a mask that is false. */
static void test_nothing(void **unused)
{
    (void) unused;
    uint32_t ids[N], result, zeros[N] = { 0 };
    uint32_t self = cyclic_ids(4, ids), x = jit_var_counter(CPU, N);
    uint32_t call = jit_var_call_start(CPU, "nothing", ALWAYS);
    uint32_t a = jit_var_call_input(call, x);
    OK(jit_var_call_append(call, 1, &a));
    OK(jit_var_call(call, self, 0, NULL, NULL, &result));
    CHECK_BYTES(result, zeros, N);
    DROP(a, result);
    call = jit_var_call_start(CPU, "none", ALWAYS);
    OK(jit_var_call(call, self, 0, NULL, NULL, NULL));
    uint32_t no = jit_var_bool(CPU, false);
    call = jit_var_call_start(CPU, "masked", no);
    a = jit_var_call_input(call, x);
    uint32_t b = jit_var_neg(a);
    OK(jit_var_call_append(call, 1, &a));
    OK(jit_var_call_append(call, 1, &b));
    OK(jit_var_call(call, self, 2, NULL, NULL, &result));
    CHECK_BYTES(result, zeros, N);
    DROP(self, x, no, a, b, result);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_merge_literals), TEST(test_merge_arrays), TEST(test_merge_carefully),
        TEST(test_many_instances), TEST(test_many_callables),
        TEST(test_merge_evaluated), TEST(test_merge_unused),
        TEST(test_merge_equal_values), TEST(test_merge_at_once),
        TEST(test_merge_rolled_back), TEST(test_direct), TEST(test_counted),
        TEST(test_counted_literal), TEST(test_outputs), TEST(test_nothing),
    };
    return cmocka_run_group_tests_name("call_merge", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
