/*
 * test_call_nesting.c -- calls in loops and in calls, loops in callables
 */
#include "call_util.h"

static void test_loop_in_callable(void **unused)
{
    (void) unused;
    uint32_t ids[N], expected[N], result;
    uint32_t self = cyclic_ids(4, ids), x = jit_var_counter(CPU, N);
    uint32_t limit = with_number(jit_var_mod, x, 6);
    uint32_t call = jit_var_call_start(CPU, "loops", ALWAYS);
    uint32_t a = jit_var_call_input(call, x);
    for (uint32_t c = 0; c < 3; ++c) {
        uint32_t state[] = { jit_var_u32(CPU, 0), jit_var_inc_ref(a) };
        uint32_t array = jit_array_create(CPU, VarTypeUInt32, 4, 1);
        uint32_t loop = jit_var_loop_start(CPU, "inner", 2, state);
        OK(loop);
        int again;
        do { /* 'limit' is from outside of the call, 'a' from outside of the loop */
            uint32_t condition = jit_var_lt(state[0], limit);
            again = jit_var_loop_cond(loop, condition);
            jit_var_dec_ref(condition);
            if (again > 0) {
                uint32_t lane = jit_var_counter(CPU, N), sum = jit_var_add(lane, a);
                advance(&state[1], jit_var_add(state[1], sum));
                if (c)
                    advance(&state[1], with_number(jit_var_mul, state[1], c));
                advance(&state[0], with_number(jit_var_add, state[0], 1));
                DROP(lane, sum);
            }
        } while (again >= 0 && (again = jit_var_loop_end(loop, state)) == 0);
        OK(again > 0);
        uint32_t two = jit_var_u32(CPU, 2);
        advance(&array, jit_array_write(array, two, state[1], ALWAYS));
        uint32_t out = jit_array_read(array, two, ALWAYS);
        OK(jit_var_call_append(call, 1, &out));
        DROP(state[0], state[1], array, two, out);
    }
    OK(jit_var_call(call, self, 3, NULL, NULL, &result));
    for (uint32_t i = 0; i < N; ++i) {
        expected[i] = ids[i] ? i : 0;
        for (uint32_t k = 0; ids[i] && k < i % 6; ++k) {
            expected[i] += 2 * i;
            if (ids[i] > 1)
                expected[i] *= ids[i] - 1;
        }
    }
    CHECK_BYTES(result, expected, N);
    DROP(self, x, limit, a, result);
}

static void test_call_in_loop(void **unused)
{
    (void) unused;
    uint32_t ids[N], expected[N];
    uint32_t self = cyclic_ids(4, ids), base = jit_var_counter(CPU, N);
    uint32_t five = jit_var_u32(CPU, 5), outside = with_number(jit_var_add, base, 2);
    uint32_t state[] = { jit_var_u32(CPU, 0), jit_var_inc_ref(base) };
    uint32_t loop = jit_var_loop_start(CPU, "outer", 2, state);
    OK(loop);
    int again;
    do {
        uint32_t condition = jit_var_lt(state[0], five);
        again = jit_var_loop_cond(loop, condition);
        jit_var_dec_ref(condition);
        if (again > 0) {
            uint32_t call = jit_var_call_start(CPU, "in loop", ALWAYS), result;
            OK(call);
            uint32_t a = jit_var_call_input(call, state[1]);
            uint32_t b = jit_var_add(a, outside), d = jit_var_xor(a, state[0]);
            OK(jit_var_call_append(call, 1, &b));
            OK(jit_var_call_append(call, 1, &d));
            OK(jit_var_call(call, self, 2, NULL, NULL, &result));
            DROP(a, b, d);
            advance(&state[1], jit_var_add(state[1], result));
            advance(&state[0], with_number(jit_var_add, state[0], 1));
            jit_var_dec_ref(result);
        }
    } while (again >= 0 && (again = jit_var_loop_end(loop, state)) == 0);
    OK(again > 0);
    for (uint32_t i = 0; i < N; ++i) {
        expected[i] = i;
        for (uint32_t k = 0; k < 5; ++k)
            expected[i] += ids[i] == 1   ? expected[i] + i + 2
                           : ids[i] == 2 ? expected[i] ^ k
                                         : 0;
    }
    CHECK_BYTES(state[1], expected, N);
    DROP(self, base, five, outside, state[0], state[1]);
}

/* A call of depth d calls two of depth d - 1, or returns its input + number. */
static uint32_t nested(uint32_t self, uint32_t x, uint32_t depth, uint32_t outside)
{
    uint32_t call = jit_var_call_start(CPU, "nested", ALWAYS), result;
    OK(call);
    uint32_t a = jit_var_call_input(call, x), id = jit_var_call_input(call, self);
    for (uint32_t c = 0; c < 2; ++c) {
        uint32_t b = with_number(jit_var_add, a, c + depth);
        uint32_t out = depth ? nested(id, b, depth - 1, outside)
                             : jit_var_mul(b, outside);
        advance(&out, with_number(jit_var_xor, out, 3 * c * depth));
        OK(jit_var_call_append(call, 1, &out));
        DROP(b, out);
    }
    OK(jit_var_call(call, self, 2, NULL, NULL, &result));
    DROP(a, id);
    return result;
}

static uint32_t nested_model(uint32_t id, uint32_t x, uint32_t depth, uint32_t outside)
{
    uint32_t c = id - 1;
    if (id != 1 && id != 2)
        return 0;
    uint32_t b = x + c + depth;
    return (depth ? nested_model(id, b, depth - 1, outside) : b * outside) ^
           (3 * c * depth);
}

static void test_nested_calls(void **unused)
{
    (void) unused;
    for (int merge = 1; merge >= 0; --merge) {
        jit_set_flag(JitFlagMergeFunctions, merge);
        uint32_t ids[N], expected[N];
        uint32_t self = cyclic_ids(4, ids), x = jit_var_counter(CPU, N);
        uint32_t outside = with_number(jit_var_add, x, 11);
        uint32_t result = nested(self, x, 4, outside);
        for (uint32_t i = 0; i < N; ++i)
            expected[i] = nested_model(ids[i], i, 4, i + 11);
        CHECK_BYTES(result, expected, N);
        DROP(self, x, outside, result);
    }
}

static void test_depth(void **unused)
{
    (void) unused;
    enum { DEPTH = 64 };
    uint32_t calls[DEPTH], self = jit_var_counter(CPU, 3), result;
    for (int d = 0; d < DEPTH; ++d) {
        calls[d] = jit_var_call_start(CPU, "deep", ALWAYS);
        OK(calls[d]);
    }
    assert_int_equal(jit_var_call_start(CPU, "too deep", ALWAYS), 0);
    CHECK_ERROR(JIT_ERROR_STATE, "jit_var_call_start()", "too deep", "64", "itself");
    result = jit_var_u32(CPU, 1);
    for (int d = DEPTH; d-- > 0;) {
        uint32_t two = with_number(jit_var_add, self, (uint32_t) d);
        uint32_t sum = jit_var_add(two, result);
        jit_var_dec_ref(result);
        OK(jit_var_call_append(calls[d], 1, &sum));
        OK(jit_var_call_append(calls[d], 1, &self));
        OK(jit_var_call(calls[d], self, 2, NULL, NULL, &result));
        DROP(two, sum);
    }
    /* Lane 1 goes all the way down, lane 2 returns at once. */
    CHECK_U32(result, 0, 64 + 63 * 64 / 2 + 1, 2);
    DROP(self, result);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_loop_in_callable), TEST(test_call_in_loop), TEST(test_nested_calls),
        TEST(test_depth),
    };
    return cmocka_run_group_tests_name("call_nesting", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
