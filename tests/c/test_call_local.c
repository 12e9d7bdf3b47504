/*
 * test_call_local.c -- local arrays as inputs and outputs of calls
 *
 * Each lane has an array of three entries; what callables do to it is computed in C.
 */
#include "region_util.h"

enum { N = 37, LENGTH = 3 };

static uint32_t read_entry(uint32_t array, uint32_t k)
{
    uint32_t index = u32(k), entry = jit_array_read(array, index, ALWAYS);
    OK(entry);
    jit_var_dec_ref(index);
    return entry;
}

/* 'value' is given away. */
static void write_entry(uint32_t *array, uint32_t k, uint32_t value)
{
    uint32_t index = u32(k);
    set(array, jit_array_write(*array, index, value, ALWAYS));
    DROP(index, value);
}

static void check_entry(uint32_t array, uint32_t k, const uint32_t *expected)
{
    uint32_t entry = read_entry(array, k);
    CHECK_BYTES(entry, expected, N);
    jit_var_dec_ref(entry);
}

/* The number of the callable: lane % 3, 0 for none. */
static uint32_t make_self(void)
{
    uint32_t lane = counter(N), self = with(jit_var_mod, lane, u32(3));
    jit_var_dec_ref(lane);
    return self;
}

/* Entries 7, lane, 7 */
static uint32_t make_array(void)
{
    uint32_t empty = jit_array_create(CPU, VarTypeUInt32, LENGTH, N), seven = u32(7);
    uint32_t array = jit_array_init(empty, seven);
    OK(array);
    DROP(empty, seven);
    write_entry(&array, 1, counter(N));
    return array;
}

/* The first callable puts the sum of all entries into the last one, the second one has
 * the array as it is; the other output is entry 1. */
static void call_sum(uint32_t array, uint32_t self, uint32_t callables,
                     uint32_t *results)
{
    uint32_t call = jit_var_call_start(CPU, "sum", ALWAYS);
    OK(call);
    uint32_t a = jit_var_call_input(call, array);
    OK(a);
    assert_int_equal(jit_array_length(a), LENGTH);
    for (uint32_t c = 0; c < callables; ++c) {
        uint32_t outputs[] = { jit_var_inc_ref(a), read_entry(a, 1) };
        if (c == 0) {
            uint32_t sum = with(jit_var_add, outputs[1], read_entry(a, 0));
            set(&sum, with(jit_var_add, sum, read_entry(a, 2)));
            write_entry(&outputs[0], 2, sum);
        }
        OK(jit_var_call_append(call, 2, outputs));
        drop_all(outputs, 2);
    }
    jit_var_dec_ref(a);
    OK(jit_var_call(call, self, callables, NULL, NULL, results));
}

static void test_in_and_out(void **unused)
{
    (void) unused;
    uint32_t self = make_self(), array = make_array();
    for (uint32_t callables = 1; callables < 3; ++callables) {
        uint32_t results[2], entries[LENGTH][N];
        for (uint32_t i = 0; i < N; ++i) {
            uint32_t number = i % 3 <= callables ? i % 3 : 0;
            entries[0][i] = number ? 7 : 0;
            entries[1][i] = number ? i : 0;
            entries[2][i] = number == 1 ? i + 14 : entries[0][i];
        }
        call_sum(array, self, callables, results);
        assert_int_equal(jit_array_length(results[0]), LENGTH);
        for (uint32_t k = 0; k < LENGTH; ++k)
            check_entry(results[0], k, entries[k]);
        CHECK_BYTES(results[1], entries[1], N);
        drop_all(results, 2);
    }
    uint32_t seven[N];
    for (uint32_t i = 0; i < N; ++i)
        seven[i] = 7;
    check_entry(array, 2, seven); /* the caller's is what it was */
    DROP(self, array);
}

/* state: how often, array; each iteration calls */
static void call_step(uint32_t *state)
{
    uint32_t self = make_self(), results[2];
    call_sum(state[1], self, 2, results);
    set(&state[1], results[0]);
    DROP(self, results[1]);
    add_u32(&state[0], (uint32_t) -1);
}

static uint32_t above_zero(const uint32_t *state)
{
    return with(jit_var_gt, state[0], u32(0));
}

static void test_in_loop(void **unused)
{
    (void) unused;
    uint32_t state[] = { u32(2), make_array() }, last[N];
    for (uint32_t i = 0; i < N; ++i)
        last[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? 7 + i + (7 + i + 7) : 7;
    run_loop("calls", 2, state, above_zero, call_step);
    check_entry(state[1], 2, last);
    drop_all(state, 2);
}

/* An array that is made in a callable, and one that a call in a call is given. */
static void test_nested(void **unused)
{
    (void) unused;
    uint32_t self = make_self(), expected[N], result;
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = i % 3 == 1 ? 7 + i + 7 : i % 3 == 2 ? 5 : 0;
    uint32_t call = jit_var_call_start(CPU, "outer", ALWAYS);
    uint32_t number = jit_var_call_input(call, self);
    uint32_t array = make_array(), results[2];
    call_sum(array, number, 2, results);
    OK(jit_var_call_append(call, 1, &results[0]));
    DROP(array, results[0], results[1]);
    uint32_t empty = jit_array_create(CPU, VarTypeUInt32, LENGTH, N), five = u32(5);
    uint32_t other = jit_array_init(empty, five);
    OK(jit_var_call_append(call, 1, &other));
    DROP(empty, five, other, number);
    OK(jit_var_call(call, self, 2, NULL, NULL, &result));
    check_entry(result, 2, expected);
    DROP(result, self);
}

/* Nobody can be called: the results are zeros. */
static void test_no_instance(void **unused)
{
    (void) unused;
    uint32_t self = make_self(), array = make_array(), result, zeros[N] = { 0 };
    uint32_t call = jit_var_call_start(CPU, "none", ALWAYS);
    uint32_t a = jit_var_call_input(call, array);
    OK(jit_var_call_append(call, 1, &a));
    OK(jit_var_call(call, self, 0, NULL, NULL, &result));
    check_entry(result, 1, zeros);
    DROP(self, array, a, result);
}

static void test_errors(void **unused)
{
    (void) unused;
    uint32_t self = make_self(), array = make_array(), one = u32(1);
    uint32_t other = jit_array_create(CPU, VarTypeUInt32, LENGTH + 1, N);
    uint32_t call = jit_var_call_start(CPU, "lengths", ALWAYS);
    OK(jit_var_call_append(call, 1, &array));
    assert_false(jit_var_call_append(call, 1, &other));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_call_append()", "output 0",
                "4 entries", "expected 3");
    call = jit_var_call_start(CPU, "kinds", ALWAYS);
    OK(jit_var_call_append(call, 1, &one));
    assert_false(jit_var_call_append(call, 1, &array));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_call_append()", "local array",
                "expected 0");
    uint32_t many = jit_array_create(CPU, VarTypeUInt8, 1025, N);
    OK(many);
    call = jit_var_call_start(CPU, "many", ALWAYS);
    assert_int_equal(jit_var_call_input(call, many), 0); /* goes on */
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "jit_var_call_input()", "1025", "1024");
    uint32_t inside = jit_array_create(CPU, VarTypeUInt32, LENGTH, N);
    assert_int_equal(jit_var_call_input(call, inside), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_call_input()", "from outside");
    assert_false(jit_var_call_append(call, 1, &many));
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "jit_var_call_append()", "1025", "1024");
    DROP(self, array, one, other, many, inside);
}

static int all(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_in_and_out), TEST(test_in_loop), TEST(test_nested),
        TEST(test_no_instance), TEST(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_engines(all); }
