/*
 * test_conditionals.c -- if (condition) ... else ... through the public interface
 *
 * Every conditional here stands beside the same code in C over one lane at a time.
 */
#include "region_util.h"

enum { N = 1003 };

/* A side works on the variables in 'values' in place. */
typedef void (*Side)(uint32_t *values);

static void nothing(uint32_t *values) { (void) values; }

/* if (condition) yes(values) else no(values) */
static bool run_cond_status(uint32_t condition, size_t n, uint32_t *values, Side yes,
                            Side no)
{
    uint32_t cond = jit_var_cond_start("test", condition);
    if (!cond)
        return false;
    uint32_t sides[2][8], results[8];
    for (int i = 0; i < 2; ++i) {
        for (size_t k = 0; k < n; ++k)
            sides[i][k] = jit_var_inc_ref(values[k]);
        (i ? no : yes)(sides[i]);
        bool ok = jit_var_cond_append(cond, n, sides[i]);
        drop_all(sides[i], n);
        if (!ok)
            return false;
    }
    if (!jit_var_cond_end(cond, results))
        return false;
    for (size_t k = 0; k < n; ++k)
        set(&values[k], results[k]);
    return true;
}

static void run_cond(uint32_t condition, size_t n, uint32_t *values, Side yes, Side no)
{
    OK(run_cond_status(condition, n, values, yes, no));
}

static uint32_t below(uint32_t id, uint32_t limit)
{
    return with(jit_var_lt, id, u32(limit));
}

/* ------------------------------------------------------------------- values */

static void triple(uint32_t *v) { set(&v[0], with(jit_var_mul, v[0], u32(3))); }
static void add_seven(uint32_t *v) { add_u32(&v[0], 7); }

static void test_both_sides(void **unused)
{
    (void) unused;
    static const size_t sizes[] = { 1, 3, 16, 1003, 100003 };
    for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
        size_t n = sizes[s];
        uint32_t *data = random_indices(n, 100), *expected = malloc(n * 4);
        for (size_t i = 0; i < n; ++i)
            expected[i] = data[i] < 50 ? 3 * data[i] : data[i] + 7;
        uint32_t x = u32_array(n, data), condition = below(x, 50);
        uint32_t v[] = { jit_var_inc_ref(x) };
        run_cond(condition, 1, v, triple, add_seven);
        assert_int_equal(program_count(v[0], "region if"), 1);
        CHECK_BYTES(v[0], expected, n);
        DROP(x, condition, v[0]);
        free(data);
        free(expected);
    }
}

/* Only what changes on a side is a result; what nobody asks for is not computed. */
static void change_first(uint32_t *v)
{
    triple(v);
    set(&v[3], jit_var_sqrt(v[3]));
}

static void test_pass_through(void **unused)
{
    (void) unused;
    float roots[] = { 1, 4, 9, 16 };
    uint32_t x = counter(4), condition = below(x, 2);
    uint32_t v[] = { jit_var_inc_ref(x), counter(4), u32(5),
                     array_of(VarTypeFloat32, roots, 4) };
    uint32_t before = v[1];
    run_cond(condition, 4, v, change_first, nothing);
    assert_int_equal(v[1], before);
    assert_int_equal(jit_var_state(v[2]), VarStateLiteral);
    assert_int_equal(program_count(v[0], "result."), 1);
    assert_int_equal(program_count(v[0], "sqrt"), 0);
    assert_int_equal(program_count(v[3], "sqrt"), 1);
    CHECK_U32(v[0], 0, 3, 2, 3);
    CHECK_BYTES(v[3], ((float[]){ 1, 2, 9, 16 }), 4);
    drop_all(v, 4);
    DROP(x, condition);
}

/* Variables from outside on both sides: a choice, no control flow. */
static uint32_t first_value, second_value;
static void take_first(uint32_t *v) { set(&v[0], jit_var_inc_ref(first_value)); }
static void take_second(uint32_t *v) { set(&v[0], jit_var_inc_ref(second_value)); }

static void test_choice(void **unused)
{
    (void) unused;
    uint32_t x = counter(4), condition = below(x, 2), v[] = { jit_var_inc_ref(x) };
    first_value = u32_array(4, (uint32_t[]){ 10, 11, 12, 13 });
    second_value = u32(77);
    run_cond(condition, 1, v, take_first, take_second);
    assert_int_equal(program_count(v[0], "region"), 0);
    CHECK_U32(v[0], 10, 11, 77, 77);
    DROP(x, condition, v[0], first_value, second_value);
}

/* A side computes what it needs: not in front of the conditional, where everybody
 * would. */
static void root_side(uint32_t *v) { set(&v[0], jit_var_sqrt(v[0])); }

static void test_work_stays_inside(void **unused)
{
    (void) unused;
    float data[] = { 1, 4, 9, 16 };
    uint32_t x = counter(4), condition = below(x, 2);
    uint32_t v[] = { array_of(VarTypeFloat32, data, 4) };
    run_cond(condition, 1, v, root_side, nothing);
    const char *text = jit_program_str(v[0]);
    OK(text);
    assert_true(strstr(text, "sqrt") && strstr(text, "sqrt") > strstr(text, "region"));
    assert_true(strstr(text, "load") > strstr(text, "region"));
    CHECK_BYTES(v[0], ((float[]){ 1, 2, 9, 16 }), 4);
    DROP(x, condition, v[0]);
}

static void test_literal_condition(void **unused)
{
    (void) unused;
    for (int yes = 0; yes < 2; ++yes) {
        uint32_t condition = jit_var_bool(CPU, yes), v[] = { counter(3) };
        run_cond(condition, 1, v, triple, add_seven);
        assert_int_equal(program_count(v[0], "region"), 0);
        assert_int_equal(program_count(v[0], "active"), 0);
        if (yes)
            CHECK_U32(v[0], 0, 3, 6);
        else
            CHECK_U32(v[0], 7, 8, 9);
        DROP(condition, v[0]);
    }
}

/* ------------------------------------------------------------------ nesting */

static void inner_cond(uint32_t *v)
{
    uint32_t condition = below(v[0], 10);
    run_cond(condition, 1, v, triple, add_seven);
    jit_var_dec_ref(condition);
    add_u32(&v[0], 1);
}

static void test_nested(void **unused)
{
    (void) unused;
    uint32_t expected[N];
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = i >= 500 ? i + 7 : i < 10 ? 3 * i + 1 : i + 8;
    uint32_t x = counter(N), condition = below(x, 500), v[] = { jit_var_inc_ref(x) };
    run_cond(condition, 1, v, inner_cond, add_seven);
    assert_int_equal(program_count(v[0], "region if"), 2);
    CHECK_BYTES(v[0], expected, N);
    DROP(x, condition, v[0]);
}

/* A loop on one side, ... */
static uint32_t small(const uint32_t *state) { return below(state[0], 100); }
static void double_step(uint32_t *state)
{
    set(&state[0], jit_var_add(state[0], state[0]));
}
static void loop_side(uint32_t *v) { run_loop("inside", 1, v, small, double_step); }

static void test_loop_inside(void **unused)
{
    (void) unused;
    uint32_t expected[N];
    for (uint32_t i = 0; i < N; ++i) {
        expected[i] = i + 1;
        while (i % 2 == 0 && expected[i] < 100)
            expected[i] *= 2;
    }
    uint32_t x = counter(N), bit = with(jit_var_and, x, u32(1));
    uint32_t condition = below(bit, 1), v[] = { with(jit_var_add, x, u32(1)) };
    run_cond(condition, 1, v, loop_side, nothing);
    CHECK_BYTES(v[0], expected, N);
    DROP(x, bit, condition, v[0]);
}

/* ... and a conditional in a loop. */
static uint32_t not_one(const uint32_t *state)
{
    return with(jit_var_neq, state[0], u32(1));
}
static void up(uint32_t *v)
{
    triple(v);
    add_u32(&v[0], 1);
}
static void down(uint32_t *v) { set(&v[0], with(jit_var_shr, v[0], u32(1))); }
static void collatz_step(uint32_t *state)
{
    uint32_t bit = with(jit_var_and, state[0], u32(1));
    uint32_t odd = with(jit_var_eq, bit, u32(1));
    run_cond(odd, 1, state, up, down);
    DROP(bit, odd);
    add_u32(&state[1], 1);
}

static void test_inside_loop(void **unused)
{
    (void) unused;
    uint32_t start[N], steps[N] = { 0 };
    for (uint32_t i = 0; i < N; ++i) {
        start[i] = i + 1;
        for (uint32_t x = i + 1; x != 1; ++steps[i])
            x = x & 1 ? 3 * x + 1 : x >> 1;
    }
    uint32_t state[] = { u32_array(N, start), u32(0) };
    run_loop("collatz", 2, state, not_one, collatz_step);
    CHECK_BYTES(state[1], steps, N);
    DROP(state[0], state[1]);
}

/* ------------------------------------------------------------------ effects */

static uint32_t counts;

static void count_zero(uint32_t *v)
{
    uint32_t one = u32(1), zero = u32(0);
    advance(&counts, jit_var_scatter(counts, one, zero, ALWAYS, ReduceOpAdd,
                                     ReduceModeAuto));
    DROP(one, zero);
    if (v)
        add_u32(&v[0], 1);
}

static void count_one(uint32_t *v)
{
    uint32_t one = u32(1);
    advance(&counts, jit_var_scatter(counts, one, one, ALWAYS, ReduceOpAdd,
                                     ReduceModeAuto));
    jit_var_dec_ref(one);
    if (v)
        add_u32(&v[0], 2);
}

static void test_effects(void **unused)
{
    (void) unused;
    for (int symbolic = 0; symbolic < 2; ++symbolic) {
        jit_set_flag(JitFlagSymbolicConditionals, symbolic);
        size_t launches[2];
        uint32_t x = counter(N), condition = below(x, 400);
        uint32_t v[] = { jit_var_inc_ref(x) };
        uint32_t expected[N];
        for (uint32_t i = 0; i < N; ++i)
            expected[i] = i < 400 ? i + 1 : i + 2;
        counts = fill_u32(2, 0);
        jit_launch_stats(&launches[0], NULL, NULL, NULL);
        run_cond(condition, 1, v, count_zero, count_one);
        if (symbolic)
            CHECK_BYTES(v[0], expected, N);
        CHECK_U32(counts, 400, N - 400);
        jit_launch_stats(&launches[1], NULL, NULL, NULL);
        if (symbolic)
            assert_int_equal(launches[1] - launches[0], 1);
        CHECK_BYTES(v[0], expected, N);
        DROP(x, condition, v[0], counts);
    }
}

/* Effects of nested conditionals count only lanes that take both. */
static void count_nested(uint32_t *v)
{
    uint32_t condition = below(v[0], 30);
    run_cond(condition, 1, v, count_zero, count_one);
    jit_var_dec_ref(condition);
}

static void test_nested_effects(void **unused)
{
    (void) unused;
    for (int symbolic = 0; symbolic < 2; ++symbolic) {
        jit_set_flag(JitFlagSymbolicConditionals, symbolic);
        uint32_t x = counter(N), condition = below(x, 100);
        uint32_t v[] = { jit_var_inc_ref(x) };
        counts = fill_u32(2, 0);
        run_cond(condition, 1, v, count_nested, nothing);
        drop_all(v, 1);
        CHECK_U32(counts, 30, 70);
        DROP(x, condition, counts);
    }
}

/* Literal conditions: the effects of one side, and only these. */
static void test_literal_effects(void **unused)
{
    (void) unused;
    for (int yes = 0; yes < 2; ++yes) {
        uint32_t condition = jit_var_bool(CPU, yes), x = counter(5);
        uint32_t v[] = { jit_var_inc_ref(x) };
        counts = fill_u32(2, 0);
        run_cond(condition, 1, v, count_zero, count_one);
        if (yes)
            CHECK_U32(counts, 1, 0); /* not a lane of 'x': nothing there has its size */
        else
            CHECK_U32(counts, 0, 1);
        DROP(condition, x, v[0], counts);
    }
}

/* --------------------------------------------------------------- without if */

static void test_not_symbolic(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagSymbolicConditionals, 0);
    uint32_t x = counter(4), condition = below(x, 2), v[] = { jit_var_inc_ref(x) };
    run_cond(condition, 1, v, triple, add_seven);
    assert_int_equal(program_count(v[0], "region"), 0);
    CHECK_U32(v[0], 0, 3, 9, 10);
    DROP(x, condition, v[0]);
}

/* ------------------------------------------------------------------- errors */

static void to_float(uint32_t *v) { set(&v[0], jit_var_cast(v[0], VarTypeFloat32, 0)); }
static void other_size(uint32_t *v) { set(&v[0], counter(9)); }
static void evaluate_it(uint32_t *v)
{
    uint32_t active = jit_var_mask_peek(CPU);
    OK(active);
    assert_false(jit_var_eval(active));
    CHECK_ERROR(JIT_ERROR_SYMBOLIC, "symbolic");
    /* What does not depend on the side's mask can be evaluated there. */
    uint32_t sum = jit_var_add(v[0], v[0]);
    CHECK_U32(sum, 0, 2, 4, 6);
    set(&v[0], sum);
    jit_var_dec_ref(active);
}

static void test_errors(void **unused)
{
    (void) unused;
    uint32_t x = counter(4), condition = below(x, 2), scope = jit_scope(CPU);
    uint32_t v[] = { jit_var_inc_ref(x) };
    assert_int_equal(jit_var_cond_start("wrong", x), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_cond_start()", "uint32", "expected bool");
    assert_false(run_cond_status(condition, 1, v, triple, to_float));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_cond_append()", "output 0", "uint32",
                "float32");
    assert_false(run_cond_status(condition, 1, v, triple, other_size));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_cond_end()", "has 4 entries", "has 9");
    uint32_t cond = jit_var_cond_start("numbers", condition);
    OK(jit_var_cond_append(cond, 1, v));
    assert_false(jit_var_cond_append(cond, 0, NULL));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "1 and 0 outputs");
    cond = jit_var_cond_start("one side", condition);
    OK(jit_var_cond_append(cond, 1, v));
    assert_false(jit_var_cond_end(cond, v));
    CHECK_ERROR(JIT_ERROR_STATE, "1 of 2 sides");
    cond = jit_var_cond_start("given up", condition);
    counts = fill_u32(2, 0);
    count_zero(NULL);
    OK(jit_record_end(CPU, cond, 1));
    CHECK_U32(counts, 0, 0);
    assert_int_equal(jit_scope(CPU), scope);
    assert_int_equal(jit_var_mask_peek(CPU), 0);
    assert_int_equal(v[0], x);
    run_cond(condition, 1, v, evaluate_it, nothing);
    CHECK_U32(v[0], 0, 2, 2, 3);
    DROP(x, condition, v[0], counts);
}

/* A variable of one side used on the other one has no value there. */
static uint32_t stolen;
static void lend(uint32_t *v)
{
    set(&v[0], jit_var_gather(first_value, v[0], ALWAYS));
    stolen = jit_var_inc_ref(v[0]);
}
static void steal(uint32_t *v) { set(&v[0], with(jit_var_add, stolen, u32(1))); }

static void test_foreign_variable(void **unused)
{
    (void) unused;
    first_value = u32_array(4, (uint32_t[]){ 10, 11, 12, 13 });
    uint32_t x = counter(4), condition = below(x, 2), v[] = { jit_var_inc_ref(x) };
    if (run_cond_status(condition, 1, v, lend, steal))
        assert_false(jit_var_eval(v[0]));
    CHECK_ERROR(JIT_ERROR_STATE, "body");
    DROP(x, condition, v[0], stolen, first_value);
}

static int all(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_both_sides), TEST(test_pass_through), TEST(test_choice),
        TEST(test_work_stays_inside), TEST(test_literal_condition), TEST(test_nested),
        TEST(test_loop_inside), TEST(test_inside_loop), TEST(test_effects),
        TEST(test_nested_effects), TEST(test_literal_effects), TEST(test_not_symbolic),
        TEST(test_errors), TEST(test_foreign_variable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_engines(all); }
