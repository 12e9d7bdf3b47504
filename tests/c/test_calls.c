/*
 * test_calls.c -- calls of instances: values, effects, prints, registry, misuse
 */
#include "call_util.h"

#include <pthread.h>

/* ------------------------------------------------------------------- values */

static void test_two(void **unused)
{
    (void) unused;
    uint32_t ids[N], expected[N];
    uint32_t self = cyclic_ids(4, ids), x = jit_var_counter(CPU, N), result;
    uint32_t call = jit_var_call_start(CPU, "two", ALWAYS);
    OK(call);
    uint32_t a = jit_var_call_input(call, x);
    OK(a);
    assert_int_equal(jit_var_state(a), VarStateSymbolic);
    OK(jit_var_call_append(call, 1, &a));
    uint32_t ten = with_number(jit_var_mul, a, 10);
    uint32_t b = with_number(jit_var_add, ten, 3);
    OK(jit_var_call_append(call, 1, &b));
    OK(jit_var_call(call, self, 2, NULL, NULL, &result));
    DROP(a, ten, b);
    assert_int_equal(jit_var_size(result), N);
    assert_int_equal(CALLABLES(result), 2);
    for (uint32_t i = 0; i < N; ++i) /* 0 is none, 3 does not exist */
        expected[i] = ids[i] == 1 ? i : ids[i] == 2 ? 10 * i + 3 : 0;
    CHECK_BYTES(result, expected, N);
    DROP(self, x, result);
}

/* Everything a callable can take from outside: inputs, variables that were not declared
 * as inputs, arrays in memory, counters, gathers; outputs of several types; a mask. */
static void test_outside(void **unused)
{
    (void) unused;
    uint32_t ids[N], stored[N], table[7];
    float reals[N];
    uint8_t on[N], signs[N];
    for (uint32_t i = 0; i < N; ++i) {
        stored[i] = (uint32_t) random_bits();
        reals[i] = (float) (i * 0.25);
        on[i] = i % 7 != 3;
        signs[i] = random_bits() & 1;
    }
    for (uint32_t i = 0; i < 7; ++i)
        table[i] = 1000 + i;
    uint32_t self = cyclic_ids(4, ids), lane = jit_var_counter(CPU, N);
    uint32_t array = u32_array(N, stored), real = array_of(VarTypeFloat32, reals, N);
    uint32_t mask = array_of(VarTypeBool, on, N);
    uint32_t sign = array_of(VarTypeBool, signs, N);
    uint32_t entries = u32_array(7, table), scalar = u32_array(1, (uint32_t[]){ 77 });
    uint32_t computed = with_number(jit_var_add, lane, 5), results[3];
    uint32_t call = jit_var_call_start(CPU, "outside", mask);
    OK(call);
    uint32_t in = jit_var_call_input(call, computed);
    uint32_t in_real = jit_var_call_input(call, real);
    uint32_t in_sign = jit_var_call_input(call, sign);

    uint32_t a0 = jit_var_add(in, array), a1 = jit_var_neg(in_real);
    uint32_t a2 = jit_var_not(in_sign), out[] = { a0, a1, a2 };
    OK(jit_var_call_append(call, 3, out));

    uint32_t where = with_number(jit_var_mod, in, 7);
    uint32_t got = jit_var_gather(entries, where, ALWAYS);
    uint32_t here = jit_var_counter(CPU, N), b0 = jit_var_add(got, here);
    uint32_t b1 = jit_var_add(in_real, real), b2 = jit_var_and(sign, in_sign);
    uint32_t more[] = { b0, b1, b2 };
    OK(jit_var_call_append(call, 3, more));

    uint32_t c0 = jit_var_add(scalar, computed), c1 = jit_var_f32(CPU, 2.5f);
    uint32_t last[] = { c0, c1, sign };
    OK(jit_var_call_append(call, 3, last));
    OK(jit_var_call(call, self, 3, NULL, NULL, results));
    DROP(in, in_real, in_sign, a0, a1, a2, where, got, here, b0, b1, b2, c0, c1);

    for (int k = 0; k < 3; ++k)
        OK(jit_var_schedule(results[k]));
    OK(jit_eval());
    uint32_t numbers[N];
    float floats[N];
    uint8_t masks[N];
    for (uint32_t i = 0; i < N; ++i) {
        uint32_t id = on[i] ? ids[i] : 0;
        numbers[i] = id == 1   ? i + 5 + stored[i]
                     : id == 2 ? table[(i + 5) % 7] + i
                     : id == 3 ? 77 + i + 5
                               : 0;
        floats[i] = id == 1 ? -reals[i] : id == 2 ? 2 * reals[i] : id == 3 ? 2.5f : 0;
        masks[i] = id == 1 ? !signs[i] : id >= 2 ? signs[i] : 0;
    }
    CHECK_BYTES(results[0], numbers, N);
    CHECK_BYTES(results[1], floats, N);
    CHECK_BYTES(results[2], masks, N);
    DROP(self, lane, array, real, mask, sign, entries, scalar, computed, results[0],
         results[1], results[2]);
}

/* All types as inputs and outputs. */
static void test_types_through_calls(void **unused)
{
    (void) unused;
    static const VarType types[] = {
        VarTypeBool, VarTypeInt8, VarTypeUInt8, VarTypeInt16, VarTypeUInt16,
        VarTypeInt32, VarTypeUInt32, VarTypeInt64, VarTypeUInt64, VarTypeFloat16,
        VarTypeFloat32, VarTypeFloat64
    };
    enum { COUNT = COUNT_OF(types) };
    uint32_t ids[N], inputs[COUNT], inside[COUNT], other[COUNT], results[COUNT];
    void *data[COUNT];
    uint32_t self = cyclic_ids(3, ids);
    for (int t = 0; t < COUNT; ++t) {
        data[t] = random_array(types[t], N);
        inputs[t] = array_of(types[t], data[t], N);
    }
    uint32_t call = jit_var_call_start(CPU, "types", ALWAYS);
    for (int t = 0; t < COUNT; ++t) {
        inside[t] = jit_var_call_input(call, inputs[t]);
        OK(inside[t]);
    }
    OK(jit_var_call_append(call, COUNT, inside));
    for (int t = 0; t < COUNT; ++t) { /* the literal 1 of each type */
        uint64_t one = 1;
        other[t] = literal_of(types[t], one, 1);
    }
    OK(jit_var_call_append(call, COUNT, other));
    OK(jit_var_call(call, self, 2, NULL, NULL, results));
    drop_all(inside, COUNT);
    drop_all(other, COUNT);
    for (int t = 0; t < COUNT; ++t)
        OK(jit_var_schedule(results[t]));
    OK(jit_eval());
    for (int t = 0; t < COUNT; ++t) {
        uint32_t size = type_of(types[t])->size;
        for (uint32_t i = 0; i < N; ++i)
            if (ids[i] != 1)
                put_bits(data[t], size, i, ids[i] == 2);
        CHECK_BYTES(results[t], data[t], N);
        free(data[t]);
    }
    jit_var_dec_ref(self);
    drop_all(inputs, COUNT);
    drop_all(results, COUNT);
}

/* ------------------------------------------------------------------ instances */

/* Ids with gaps, several for one callable; ids beyond the largest call nothing. */
static void test_sparse_ids(void **unused)
{
    (void) unused;
    uint32_t ids[N], expected[N], result;
    static const uint32_t known[] = { 9, 2, 5, 7 }, callable_of[] = { 1, 0, 1, 1 };
    uint32_t self = cyclic_ids(13, ids), x = jit_var_counter(CPU, N);
    uint32_t call = jit_var_call_start(CPU, "sparse", ALWAYS);
    uint32_t a = jit_var_call_input(call, x), id = jit_var_call_input(call, self);
    uint32_t sum = jit_var_add(a, id), product = jit_var_mul(a, id);
    OK(jit_var_call_append(call, 1, &sum));
    OK(jit_var_call_append(call, 1, &product));
    OK(jit_var_call(call, self, 4, known, callable_of, &result));
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = ids[i] == 2                                    ? i + 2
                      : ids[i] == 9 || ids[i] == 5 || ids[i] == 7 ? i * ids[i]
                                                                     : 0;
    CHECK_BYTES(result, expected, N);
    DROP(self, x, a, id, sum, product, result);
}

/* --------------------------------------------------------------------- effects */

static void test_effects(void **unused)
{
    (void) unused;
    uint32_t ids[N], sums[4] = { 0 }, kept[N], result;
    uint32_t self = cyclic_ids(5, ids), x = jit_var_counter(CPU, N);
    uint32_t bins = fill_u32(4, 0), slots = fill_u32(N, 7), counts = fill_u32(1, 0);
    uint8_t on[N];
    for (uint32_t i = 0; i < N; ++i)
        on[i] = i % 3 != 0;
    uint32_t mask = array_of(VarTypeBool, on, N), zero = jit_var_u32(CPU, 0);
    OK(jit_var_mask_push(CPU, mask)); /* the mask stack restricts calls */
    uint32_t call = jit_var_call_start(CPU, "effects", ALWAYS);
    uint32_t a = jit_var_call_input(call, x), id = jit_var_call_input(call, self);
    uint32_t out = with_number(jit_var_add, a, 1);
    advance(&bins, jit_var_scatter(bins, a, id, ALWAYS, ReduceOpAdd, ReduceModeAuto));
    OK(jit_var_call_append(call, 1, &out));
    advance(&slots, jit_var_scatter(slots, id, a, ALWAYS, ReduceOpIdentity,
                                    ReduceModeAuto));
    uint32_t old = jit_var_scatter_inc(&counts, zero, ALWAYS);
    OK(old);
    OK(jit_var_call_append(call, 1, &a));
    advance(&bins, jit_var_scatter(bins, id, id, ALWAYS, ReduceOpAdd, ReduceModeAuto));
    OK(jit_var_call_append(call, 1, &id));
    OK(jit_var_call(call, self, 3, NULL, NULL, &result));
    OK(jit_var_mask_pop(CPU));
    DROP(a, id, out, old);
    uint32_t expected[N], called = 0;
    for (uint32_t i = 0; i < N; ++i) {
        uint32_t which = on[i] ? ids[i] : 0;
        expected[i] = which == 1 ? i + 1 : which == 2 ? i : which == 3 ? 3 : 0;
        kept[i] = which == 2 ? 2 : 7;
        called += which == 2;
        if (which == 1)
            sums[1] += i;
        if (which == 3)
            sums[3] += 3;
    }
    CHECK_BYTES(bins, sums, 4);
    CHECK_BYTES(slots, kept, N);
    CHECK_U32(counts, called);
    CHECK_BYTES(result, expected, N);
    DROP(self, x, bins, slots, counts, mask, zero, result);
}

/* --------------------------------------------------------------------- prints */

static void sum_up(const JitPrintRecords *records, void *payload)
{
    uint64_t *seen = payload; /* records, sum, good-byes */
    seen[2] += !records;
    for (size_t i = 0; records && i < records->count; ++i) {
        seen[0]++;
        seen[1] += records->values[i];
    }
}

static void test_print(void **unused)
{
    (void) unused;
    uint32_t ids[N];
    uint64_t seen[2][3] = { { 0 } }, expected[2][2] = { { 0 } };
    uint32_t self = cyclic_ids(3, ids), x = jit_var_counter(CPU, N);
    uint32_t call = jit_var_call_start(CPU, "print", ALWAYS);
    uint32_t a = jit_var_call_input(call, x);
    for (int c = 0; c < 2; ++c) {
        OK(jit_var_print(ALWAYS, 1, &a, SIZE_MAX, sum_up, seen[c]));
        OK(jit_var_call_append(call, 0, NULL));
    }
    OK(jit_var_call(call, self, 2, NULL, NULL, NULL));
    DROP(a);
    OK(jit_eval());
    OK(jit_sync_thread());
    for (uint32_t i = 0; i < N; ++i)
        if (ids[i]) {
            expected[ids[i] - 1][0]++;
            expected[ids[i] - 1][1] += i;
        }
    for (int c = 0; c < 2; ++c) {
        assert_int_equal(seen[c][0], expected[c][0]);
        assert_int_equal(seen[c][1], expected[c][1]);
        assert_int_equal(seen[c][2], 1);
    }
    DROP(self, x);
}

/* -------------------------------------------------------------------- registry */

static void test_reduce(void **unused)
{
    (void) unused;
    int objects[5];
    for (uint32_t i = 0; i < 5; ++i)
        assert_int_equal(jit_registry_put("llvm", "Shape", &objects[i]), i + 1);
    uint32_t ids[] = { 3, 0, 1, 3, 5, 1, 3, 2 };
    uint8_t on[] = { 1, 1, 1, 1, 1, 1, 1, 0 };
    uint32_t self = u32_array(8, ids), mask = array_of(VarTypeBool, on, 8), count;
    JitCallBucket *buckets;
    OK(jit_var_call_reduce("llvm", "Shape", 0, self, mask, &buckets, &count));
    assert_int_equal(count, 3);
    static const uint32_t found[] = { 1, 3, 5 };
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(buckets[i].id, found[i]);
        assert_ptr_equal(buckets[i].ptr, &objects[found[i] - 1]);
    }
    CHECK_U32(buckets[0].index, 2, 5);
    CHECK_U32(buckets[1].index, 0, 3, 6);
    CHECK_U32(buckets[2].index, 4);
    jit_var_call_release(buckets, count);
    OK(jit_var_call_reduce(NULL, NULL, 5, self, ALWAYS, &buckets, &count));
    assert_int_equal(count, 4);
    assert_null(buckets[0].ptr);
    jit_var_call_release(buckets, count);
    assert_false(jit_var_call_reduce(NULL, NULL, 4, self, ALWAYS, &buckets, &count));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_call_reduce()", "lane 4", "id 5", "4");
    DROP(self, mask);
}

/* ---------------------------------------------------------------------- misuse */

static void test_misuse(void **unused)
{
    (void) unused;
    uint32_t self = jit_var_counter(CPU, 4), real = jit_var_f32(CPU, 1), result = 0;
    uint32_t outside = jit_var_counter(CPU, 5), one = jit_var_u32(CPU, 1);
    assert_int_equal(jit_var_call_start(CPU, "x", one), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_call_start()", "mask is uint32");
    assert_int_equal(jit_var_call_input(12345, one), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_call_input()", "12345");

    /* Numbers and types of outputs. */
    uint32_t call = jit_var_call_start(CPU, "mismatch", ALWAYS);
    OK(jit_var_call_append(call, 1, &one));
    assert_false(jit_var_call_append(call, 2, (uint32_t[]){ one, one }));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_call_append()", "mismatch", "2 outputs");
    assert_false(jit_var_call_append(call, 1, &one)); /* the recording has ended */
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_call_append()");
    call = jit_var_call_start(CPU, "mismatch", ALWAYS);
    OK(jit_var_call_append(call, 1, &one));
    assert_false(jit_var_call_append(call, 1, &real));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_call_append()", "float32", "uint32");

    /* The id, and what there is of instances. */
    call = jit_var_call_start(CPU, "id", ALWAYS);
    OK(jit_var_call_append(call, 1, &one));
    assert_false(jit_var_call(call, real, 1, NULL, NULL, &result));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_call()", "float32", "uint32");
    assert_int_equal(result, 0);
    call = jit_var_call_start(CPU, "id", ALWAYS);
    OK(jit_var_call_append(call, 1, &one));
    assert_false(jit_var_call(call, self, 2, NULL, NULL, &result));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_call()", "callable 1 of 1");
    call = jit_var_call_start(CPU, "id", ALWAYS);
    OK(jit_var_call_append(call, 1, &one));
    assert_false(jit_var_call(call, self, 1, (uint32_t[]){ 0 }, NULL, &result));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_call()", "id 0");
    call = jit_var_call_start(CPU, "id", ALWAYS);
    OK(jit_var_call_append(call, 1, &one));
    assert_false(jit_var_call(call, self, 1, NULL, NULL, NULL));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_call()", "NULL");

    /* Sizes. */
    call = jit_var_call_start(CPU, "size", ALWAYS);
    OK(jit_var_call_append(call, 1, &outside));
    assert_false(jit_var_call(call, self, 1, NULL, NULL, &result));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_call()", "size", "4", "5");

    /* Placeholders have no value; a local array that is not an input stays outside. */
    call = jit_var_call_start(CPU, "symbolic", ALWAYS);
    uint32_t a = jit_var_call_input(call, self), b = jit_var_neg(a);
    assert_false(jit_var_eval(b));
    CHECK_ERROR(JIT_ERROR_SYMBOLIC, "symbolic");
    assert_int_equal(jit_var_call_input(call, b), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_call_input()", "from outside");
    OK(jit_var_call_append(call, 1, &b));
    OK(jit_var_call(call, self, 1, NULL, NULL, &result));
    assert_false(jit_var_eval(b)); /* and never will have */
    CHECK_ERROR(JIT_ERROR_SYMBOLIC, "symbolic");
    DROP(a, b, result);
    uint32_t fresh = jit_array_create(CPU, VarTypeUInt32, 2, 4);
    uint32_t seven = u32_array(1, (uint32_t[]){ 7 });
    uint32_t array = jit_array_init(fresh, seven);
    DROP(fresh, seven);
    call = jit_var_call_start(CPU, "array", ALWAYS);
    uint32_t read = jit_array_read(array, one, ALWAYS);
    OK(jit_var_call_append(call, 1, &read));
    assert_false(jit_var_call(call, self, 1, NULL, NULL, &result));
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "jit_var_call()", "local array");
    call = jit_var_call_start(CPU, "array", ALWAYS);
    OK(jit_var_call_append(call, 1, &array));
    assert_false(jit_var_call(call, self, 1, NULL, NULL, &result));
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "jit_var_call()", "local array");

    /* Masks left behind; effects that belong to no callable; given up. */
    call = jit_var_call_start(CPU, "masks", ALWAYS);
    uint32_t mask = jit_var_call_mask(call);
    OK(jit_var_mask_push(CPU, mask));
    assert_false(jit_var_call_append(call, 1, &one));
    CHECK_ERROR(JIT_ERROR_STATE, "jit_var_call_append()", "mask stack");
    call = jit_var_call_start(CPU, "effect", ALWAYS);
    uint32_t target = fill_u32(4, 0);
    OK(jit_var_call_append(call, 1, &one));
    advance(&target, jit_var_scatter(target, self, self, ALWAYS, ReduceOpIdentity,
                                     ReduceModeAuto));
    assert_false(jit_var_call(call, self, 1, NULL, NULL, &result));
    CHECK_ERROR(JIT_ERROR_STATE, "jit_var_call()", "effect", "not completed");
    CHECK_U32(target, 0, 0, 0, 0);
    call = jit_var_call_start(CPU, "given up", ALWAYS);
    OK(jit_record_end(CPU, call, 1));
    assert_int_equal(jit_var_mask_peek(CPU), 0);
    DROP(self, real, outside, one, array, read, mask, target);
}

static void test_checks(void **unused)
{
    (void) unused;
    jit_set_log_level_callback(LogLevelWarn, log_keep);
    jit_set_flag(JitFlagDebug, 1);
    uint32_t self = u32_array(4, (uint32_t[]){ 1, 100, 0, 2 }), result;
    uint32_t call = jit_var_call_start(CPU, "checked", ALWAYS);
    uint32_t a = jit_var_call_input(call, self), b = with_number(jit_var_mul, a, 3);
    OK(jit_var_call_append(call, 1, &a));
    OK(jit_var_call_append(call, 1, &b));
    OK(jit_var_call(call, self, 2, NULL, NULL, &result));
    CHECK_U32(result, 1, 0, 0, 6);
    OK(jit_sync_thread());
    assert_int_equal(log_count("Attempted to invoke callable with index 99"), 1);
    assert_int_equal(log_count("smaller than 2"), 1);
    DROP(self, a, b, result);
}

/* --------------------------------------------------------------------- threads */

static void *call_alone(void *argument)
{
    uint32_t *result = argument;
    uint32_t self = jit_var_counter(CPU, 6), call = jit_var_call_start(CPU, "t", 0);
    uint32_t a = jit_var_call_input(call, self);
    for (uint32_t c = 0; c < 4; ++c) {
        uint32_t number = jit_var_u32(CPU, 10 * c), out = jit_var_add(a, number);
        if (!jit_var_call_append(call, 1, &out))
            return "append";
        DROP(number, out);
    }
    if (!jit_var_call(call, self, 4, NULL, NULL, result) || !jit_var_eval(*result))
        return "call";
    DROP(a, self);
    return NULL;
}

static void test_threads(void **unused)
{
    (void) unused;
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    uint32_t results[THREADS];
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, call_alone, &results[i]), 0);
    for (int i = 0; i < THREADS; ++i) {
        void *complaint;
        pthread_join(threads[i], &complaint);
        assert_null(complaint);
        CHECK_U32(results[i], 0, 1, 12, 23, 34, 0);
        jit_var_dec_ref(results[i]);
    }
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_two), TEST(test_outside), TEST(test_types_through_calls),
        TEST(test_sparse_ids), TEST(test_effects), TEST(test_print), TEST(test_reduce),
        TEST(test_misuse), TEST(test_checks), TEST(test_threads),
    };
    return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
