/*
 * test_regions.c -- loops through the public interface
 *
 * Every loop here stands beside the same loop in C over one lane at a time.
 */
#include "region_util.h"

#include <pthread.h>

enum { N = 1003 };

/* --------------------------------------------------------------- plain loops */

/* state: value, steps */
static uint32_t not_one(const uint32_t *state)
{
    return with(jit_var_neq, state[0], u32(1));
}

static void collatz_step(uint32_t *state)
{
    uint32_t odd = with(jit_var_and, state[0], u32(1));
    uint32_t is_odd = with(jit_var_neq, odd, u32(0));
    uint32_t three = with(jit_var_mul, state[0], u32(3));
    uint32_t up = with(jit_var_add, three, u32(1));
    uint32_t down = with(jit_var_shr, state[0], u32(1));
    set(&state[0], jit_var_select(is_odd, up, down));
    DROP(odd, is_odd, three, up, down);
    add_u32(&state[1], 1);
}

static uint32_t collatz(uint32_t x)
{
    uint32_t steps = 0;
    for (; x != 1; ++steps)
        x = x & 1 ? 3 * x + 1 : x >> 1;
    return steps;
}

static void check_collatz(uint32_t first, size_t n)
{
    uint32_t *start = malloc(3 * n * sizeof(uint32_t)), *steps = start + n,
             *ones = steps + n;
    for (uint32_t i = 0; i < n; ++i) {
        start[i] = first + i;
        steps[i] = collatz(first + i);
        ones[i] = 1;
    }
    uint32_t state[] = { u32_array(n, start), u32(0) };
    run_loop("collatz", 2, state, not_one, collatz_step);
    if (jit_flag(JitFlagSymbolicLoops))
        assert_int_equal(tracings, 1);
    assert_int_equal(jit_var_size(state[1]), n);
    CHECK_BYTES(state[1], steps, n);
    CHECK_BYTES(state[0], ones, n);
    DROP(state[0], state[1]);
    free(start);
}

static void test_collatz(void **unused)
{
    (void) unused;
    static const size_t sizes[] = { 1, 2, 7, 16, 513, 100003 };
    for (size_t i = 0; i < COUNT_OF(sizes); ++i)
        check_collatz(1 + (uint32_t) i, sizes[i]);
}

/* state: index, limit, ... */
static uint32_t below_limit(const uint32_t *state)
{
    return jit_var_lt(state[0], state[1]);
}

/* Lanes that never enter keep what they had; here that is all, or some. */
static void double_step(uint32_t *state)
{
    add_u32(&state[0], 1);
    set(&state[2], jit_var_add(state[2], state[2]));
}

static void test_zero_iterations(void **unused)
{
    (void) unused;
    uint32_t limits[N], index[N], value[N];
    /* States that no lane changes keep their size where iterations are evaluated. */
    for (int all = 0; all < (jit_flag(JitFlagSymbolicLoops) ? 2 : 1); ++all) {
        for (uint32_t i = 0; i < N; ++i) {
            limits[i] = all ? 0 : i % 5;
            index[i] = limits[i];
            value[i] = 7u << limits[i];
        }
        uint32_t state[] = { u32(0), u32_array(N, limits), u32(7) };
        run_loop("some", 3, state, below_limit, double_step);
        CHECK_BYTES(state[0], index, N);
        CHECK_BYTES(state[2], value, N);
        DROP(state[0], state[1], state[2]);
    }
}

/* Without symbolic loops the same code runs one iteration after the other. */
static void test_evaluated(void **unused)
{
    jit_set_flag(JitFlagSymbolicLoops, 0);
    check_collatz(1, 1);
    check_collatz(1, 100);
    test_zero_iterations(unused);
    /* Not inside of what is recorded. */
    uint32_t record[] = { counter(3) };
    jit_set_flag(JitFlagSymbolicLoops, 1);
    uint32_t loop = jit_var_loop_start(CPU, "outer", 1, record);
    jit_set_flag(JitFlagSymbolicLoops, 0);
    uint32_t inner[] = { jit_var_inc_ref(record[0]), u32(0) };
    assert_int_equal(run_loop_status("inner", 2, inner, not_one, collatz_step), -1);
    CHECK_ERROR(JIT_ERROR_SYMBOLIC, "cannot evaluate");
    OK(jit_record_end(CPU, loop, 1));
    DROP(record[0], inner[0], inner[1]);
}

/* A condition that is false whatever the state: the body is not even traced. */
static uint32_t never(const uint32_t *state)
{
    (void) state;
    return jit_var_bool(CPU, false);
}

static void test_literal_condition(void **unused)
{
    (void) unused;
    uint32_t x = u32_array(3, (uint32_t[]){ 1, 2, 3 });
    uint32_t state[] = { jit_var_inc_ref(x) };
    run_loop("never", 1, state, never, collatz_step);
    assert_int_equal(tracings, 0);
    assert_int_equal(state[0], x);
    uint32_t loop = jit_var_loop_start(CPU, "forever", 1, state);
    uint32_t yes = jit_var_bool(CPU, true);
    assert_int_equal(jit_var_loop_cond(loop, yes), -1);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_loop_cond()", "forever", "never end");
    DROP(state[0], x, yes);
}

/* A loop whose lanes all do the same, from a value of one entry. */
static void test_uniform(void **unused)
{
    (void) unused;
    uint32_t state[] = { u32(0), fill_u32(1, 10), u32(1) };
    run_loop("uniform", 3, state, below_limit, double_step);
    assert_int_equal(jit_var_size(state[2]), 1);
    uint32_t wide = counter(4), sum = jit_var_add(wide, state[2]);
    CHECK_U32(sum, 1024, 1025, 1026, 1027);
    CHECK_U32(state[2], 1024);
    DROP(state[0], state[1], state[2], wide, sum);
}

/* ------------------------------------------------------------- nested loops */

/* outer: i, limit, sum; inner: j, i, sum */
static void inner_step(uint32_t *state)
{
    uint32_t product = jit_var_mul(state[0], state[1]);
    set(&state[2], with(jit_var_add, state[2], product));
    add_u32(&state[0], 1);
}

static void outer_step(uint32_t *state)
{
    uint32_t inner[] = { u32(0), jit_var_inc_ref(state[0]), jit_var_inc_ref(state[2]) };
    run_loop("inner", 3, inner, below_limit, inner_step);
    set(&state[2], inner[2]);
    DROP(inner[0], inner[1]);
    add_u32(&state[0], 1);
}

static void check_nested(void)
{
    uint32_t limits[N], sums[N];
    for (uint32_t k = 0; k < N; ++k) {
        limits[k] = (uint32_t) (random_bits() % 12);
        sums[k] = k;
        for (uint32_t i = 0; i < limits[k]; ++i)
            for (uint32_t j = 0; j < i; ++j)
                sums[k] += i * j;
    }
    uint32_t state[] = { u32(0), u32_array(N, limits), counter(N) };
    run_loop("outer", 3, state, below_limit, outer_step);
    CHECK_BYTES(state[2], sums, N);
    DROP(state[0], state[1], state[2]);
}

static void test_nested(void **unused)
{
    (void) unused;
    check_nested();
    jit_set_flag(JitFlagSymbolicLoops, 0);
    check_nested();
}

/* Loops 64 deep, each of which runs once: depth is how many are inside. */
static unsigned deep;

static uint32_t below_one(const uint32_t *state)
{
    return with(jit_var_lt, state[0], u32(1));
}

static void deep_step(uint32_t *state)
{
    if (deep > 0) {
        deep--;
        uint32_t inner[] = { u32(0), jit_var_inc_ref(state[1]) };
        run_loop("deep", 2, inner, below_one, deep_step);
        set(&state[1], inner[1]);
        jit_var_dec_ref(inner[0]);
    }
    add_u32(&state[1], 1);
    add_u32(&state[0], 1);
}

static void test_deep_nesting(void **unused)
{
    (void) unused;
    deep = 63;
    uint32_t state[] = { u32(0), counter(3) };
    run_loop("deep", 2, state, below_one, deep_step);
    assert_int_equal(program_count(state[1], "region loop"), 64);
    CHECK_U32(state[1], 64, 65, 66);
    DROP(state[0], state[1]);
}

/* ----------------------------------------------------------- many operations */

static size_t state_count;

/* Rotate all states but the first, which counts. */
static void rotate_step(uint32_t *state)
{
    add_u32(&state[0], 1);
    uint32_t last = state[state_count - 1];
    memmove(state + 2, state + 1, (state_count - 2) * sizeof(uint32_t));
    if (state_count > 1)
        state[1] = last;
}

static uint32_t below_five(const uint32_t *state)
{
    return with(jit_var_lt, state[0], u32(5));
}

static void count_step(uint32_t *state) { add_u32(&state[0], 1); }

static void test_state_numbers(void **unused)
{
    (void) unused;
    enum { MANY = 300 };
    uint32_t state[MANY];
    state[0] = counter(9);
    state_count = 1;
    run_loop("one", 1, state, below_five, count_step);
    CHECK_U32(state[0], 5, 5, 5, 5, 5, 5, 6, 7, 8);
    jit_var_dec_ref(state[0]);
    for (state_count = 3; state_count <= MANY; state_count *= 100) {
        state[0] = counter(2);
        for (uint32_t i = 1; i < state_count; ++i)
            state[i] = u32(i);
        run_loop("many", state_count, state, below_five, rotate_step);
        uint32_t n = (uint32_t) state_count - 1;
        for (size_t i = 1; i < state_count; ++i) /* one kernel for all */
            OK(jit_var_schedule(state[i]));
        OK(jit_eval());
        for (uint32_t i = 0; i < n; ++i) /* 5 and 4 rotations */
            CHECK_U32(state[1 + i], 1 + (i + 5 * n - 5) % n, 1 + (i + 4 * n - 4) % n);
        drop_all(state, state_count);
    }
}

/* A body of a million operations: nothing here recurses. */
static void long_step(uint32_t *state)
{
    for (int i = 0; i < 1000000; ++i)
        set(&state[1], with(jit_var_add, state[1], jit_var_inc_ref(state[0])));
    add_u32(&state[0], 1);
}

static void test_long_body(void **unused)
{
    (void) unused;
    if (!engine_is("interp"))
        return; /* the walks are the same, compiling takes minutes */
    uint32_t state[] = { u32(0), counter(3) };
    run_loop("long", 2, state, below_one, long_step);
    CHECK_U32(state[1], 0, 1, 2);
    DROP(state[0], state[1]);
}

/* States of every type pass through a loop that swaps two of each. */
static size_t swap_count;

static void swap_step(uint32_t *state)
{
    add_u32(&state[0], 1);
    for (size_t i = 1; i < swap_count; i += 2) {
        uint32_t other = state[i];
        state[i] = state[i + 1];
        state[i + 1] = other;
    }
}

static void test_state_types(void **unused)
{
    (void) unused;
    uint32_t state[1 + 2 * COUNT_OF(test_types)];
    void *data[2 * COUNT_OF(test_types)];
    state[0] = counter(N); /* lane 0 swaps five times, lane 1 four times */
    swap_count = COUNT_OF(state);
    for (size_t i = 0; i < COUNT_OF(data); ++i) {
        data[i] = random_array(test_types[i / 2].type, N);
        state[1 + i] = array_of(test_types[i / 2].type, data[i], N);
    }
    run_loop("types", swap_count, state, below_five, swap_step);
    for (size_t i = 0; i < COUNT_OF(data); ++i) {
        uint32_t size = test_types[i / 2].size;
        char *expected = malloc((size_t) N * size);
        for (uint32_t k = 0; k < N; ++k) {
            size_t from = k < 5 && (5 - k) % 2 ? i ^ 1 : i;
            put_bits(expected, size, k, get_bits(data[from], size, k));
        }
        CHECK_BYTES(state[1 + i], expected, N);
        free(expected);
    }
    for (size_t i = 0; i < COUNT_OF(data); ++i)
        free(data[i]);
    drop_all(state, COUNT_OF(state));
}

/* ---------------------------------------------------------- simplification */

/* state: index, invariant array, constant literal, sum, something nobody asks for */
static void simple_step(uint32_t *state)
{
    uint32_t scaled = jit_var_mul(state[1], state[2]);
    set(&state[3], with(jit_var_add, state[3], scaled));
    set(&state[2], u32(3));
    set(&state[4], jit_var_add(state[4], state[3]));
    add_u32(&state[0], 1);
}

static void make_simple(uint32_t *state, uint32_t x)
{
    uint32_t made[] = { u32(0), jit_var_inc_ref(x), u32(3), u32(0), counter(3) };
    memcpy(state, made, sizeof(made));
}

static void test_simplified_states(void **unused)
{
    (void) unused;
    uint32_t x = u32_array(3, (uint32_t[]){ 1, 10, 100 }), state[5];
    make_simple(state, x);
    run_loop("simple", 5, state, below_five, simple_step);
    assert_int_equal(tracings, 1);
    assert_int_equal(state[1], x); /* the same variable, not a result */
    assert_int_equal(jit_var_state(state[2]), VarStateLiteral);
    /* Only index and sum are states; the product stands before the loop. */
    const char *text = jit_program_str(state[3]);
    OK(text);
    assert_int_equal(program_count(state[3], "state."), 2);
    assert_int_equal(program_count(state[3], "result."), 1);
    assert_true(strstr(text, "mul") && strstr(text, "mul") < strstr(text, "region"));
    assert_int_equal(program_count(state[4], "state."), 3);
    CHECK_U32(state[3], 15, 150, 1500);
    CHECK_U32(state[4], 45, 451, 4502);
    drop_all(state, 5);

    jit_set_flag(JitFlagOptimizeLoops, 0);
    make_simple(state, x);
    run_loop("as it is", 5, state, below_five, simple_step);
    assert_int_equal(tracings, 1);
    assert_int_equal(program_count(state[3], "state."), 4);
    CHECK_U32(state[3], 15, 150, 1500);
    drop_all(state, 5);
    jit_var_dec_ref(x);
}

/* What is used is what is needed for results and effects, no matter who holds what. */
static uint32_t held[64], held_count;

static void held_step(uint32_t *state)
{
    for (uint32_t i = 0; i < 5; ++i)
        held[held_count++] = jit_var_inc_ref(state[i]);
    held[held_count++] = jit_var_add(state[4], state[4]);
    held[held_count++] = jit_var_mul(state[1], state[1]);
    simple_step(state);
}

static void test_held_variables(void **unused)
{
    (void) unused;
    for (int optimise = 0; optimise < 2; ++optimise) {
        jit_set_flag(JitFlagOptimizeLoops, optimise);
        uint32_t x = u32_array(3, (uint32_t[]){ 1, 10, 100 }), state[5], other[5];
        make_simple(state, x);
        make_simple(other, x);
        run_loop("held", 5, state, below_five, simple_step);
        run_loop("held", 5, other, below_five, held_step);
        for (uint32_t i = 3; i < 5; ++i) {
            char *text = strdup(jit_program_str(state[i]));
            assert_string_equal(text, jit_program_str(other[i]));
            free(text);
        }
        drop_all(held, held_count);
        held_count = 0;
        drop_all(state, 5);
        drop_all(other, 5);
        jit_var_dec_ref(x);
    }
}

/* An invariant state that the body does not use needs no alias there, and can have any
 * size. */
static void test_bystander(void **unused)
{
    (void) unused;
    for (int optimise = 0; optimise < 2; ++optimise) {
        jit_set_flag(JitFlagOptimizeLoops, optimise);
        uint32_t x = counter(7), state[] = { fill_u32(2, 3), jit_var_inc_ref(x) };
        run_loop("bystander", 2, state, below_five, count_step);
        assert_int_equal(tracings, 1);
        assert_int_equal(state[1], x);
        CHECK_U32(state[0], 5, 5);
        DROP(state[0], state[1], x);
    }
}

/* What does not depend on the body is computed before the loop, and is the same
 * variable as outside. */
static uint32_t outside_value;

static void hoisted_step(uint32_t *state)
{
    uint32_t root = jit_var_sqrt(outside_value);
    set(&state[1], with(jit_var_add, state[1], root));
    add_u32(&state[0], 1);
}

static void test_hoisting(void **unused)
{
    (void) unused;
    float squares[] = { 1, 4, 9 };
    outside_value = array_of(VarTypeFloat32, squares, 3);
    uint32_t root = jit_var_sqrt(outside_value);
    uint32_t state[] = { u32(0), jit_var_f32(CPU, 0) };
    run_loop("hoisted", 2, state, below_five, hoisted_step);
    const char *text = jit_program_str(state[1]);
    OK(text);
    assert_true(strstr(text, "sqrt") && strstr(text, "sqrt") < strstr(text, "region"));
    CHECK_BYTES(state[1], ((float[]){ 5, 10, 15 }), 3);
    uint32_t sum = jit_var_add(root, root);
    assert_int_equal(program_count(sum, "sqrt"), 1);
    DROP(state[0], state[1], root, sum, outside_value);
}

/* Two results of a loop without side effects, evaluated one after the other: each
 * kernel computes what it needs. */
static void test_separate_results(void **unused)
{
    (void) unused;
    uint32_t x = u32_array(3, (uint32_t[]){ 1, 10, 100 }), state[5];
    make_simple(state, x);
    run_loop("separate", 5, state, below_five, simple_step);
    CHECK_U32(state[0], 5, 5, 5);
    CHECK_U32(state[3], 15, 150, 1500);
    CHECK_U32(state[4], 45, 451, 4502);
    drop_all(state, 5);
    jit_var_dec_ref(x);
}

static void test_kernel_cache(void **unused)
{
    (void) unused;
    size_t launches[3], hits[3], misses[3];
    for (uint32_t round = 0; round < 3; ++round) {
        jit_launch_stats(&launches[round], &hits[round], NULL, &misses[round]);
        uint32_t limits[] = { round, 2, 5 * round, 17 };
        uint32_t state[] = { u32(0), u32_array(4, limits), counter(4) };
        run_loop("cached", 3, state, below_limit, outer_step);
        OK(jit_var_eval(state[2]));
        drop_all(state, 3);
    }
    assert_int_equal(launches[2] - launches[1], 1);
    assert_int_equal(hits[2] - hits[1], 1);
    assert_int_equal(misses[2], misses[1]);
}

/* ------------------------------------------------------------------ threads */

static void *trace_in_thread(void *argument)
{
    (void) argument;
    for (uint32_t i = 0; i < 20; ++i)
        check_collatz(3 + i, 50 + i);
    return NULL;
}

static void test_threads(void **unused)
{
    (void) unused;
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, trace_in_thread, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(threads); ++i)
        pthread_join(threads[i], NULL);
}

/* A thread ends in the middle of a recording: what it had is released. */
static void *leave_in_thread(void *argument)
{
    (void) argument;
    uint32_t state[] = { counter(3) };
    OK(jit_var_loop_start(CPU, "left", 1, state));
    OK(jit_record_begin(CPU, "left, too"));
    jit_var_dec_ref(state[0]);
    return NULL;
}

/* The same with the library going down. */
static void test_shutdown(void **unused)
{
    (void) unused;
    leave_in_thread(NULL);
    assert_int_equal(jit_shutdown(0), 0);
    OK(jit_init(CPU));
    check_collatz(1, 10);
}

static void test_thread_ends(void **unused)
{
    (void) unused;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, leave_in_thread, NULL), 0);
    pthread_join(thread, NULL);
}

/* ------------------------------------------------------------------- errors */

static void test_symbolic(void **unused)
{
    (void) unused;
    uint32_t x = counter(4), state[] = { u32(0), jit_var_inc_ref(x) };
    uint32_t loop = jit_var_loop_start(CPU, "symbolic", 2, state);
    OK(loop);
    uint32_t sum = jit_var_add(state[1], x), out;
    assert_int_equal(jit_var_state(sum), VarStateSymbolic);
    VarInfo info;
    OK(jit_var_info(sum, &info));
    assert_int_equal(info.state, VarStateSymbolic);
    /* Nothing that needs a value works, and nothing is lost by trying. */
    assert_false(jit_var_eval(sum));
    CHECK_ERROR(JIT_ERROR_SYMBOLIC, "cannot evaluate", "symbolic");
    assert_false(jit_var_schedule(sum));
    CHECK_ERROR(JIT_ERROR_SYMBOLIC, "cannot evaluate", "symbolic");
    assert_null(jit_var_str(sum));
    CHECK_ERROR(JIT_ERROR_SYMBOLIC, "cannot evaluate", "symbolic");
    assert_false(jit_var_read(sum, 0, &out));
    CHECK_ERROR(JIT_ERROR_SYMBOLIC, "cannot evaluate", "symbolic");
    assert_int_equal(jit_var_reduce(sum, ReduceOpAdd), 0);
    CHECK_ERROR(JIT_ERROR_SYMBOLIC, "cannot evaluate", "symbolic");
    OK(strstr(jit_var_whos(), "symbolic"));
    OK(jit_var_graphviz());
    /* Variables from outside can be evaluated at any time. */
    uint32_t twice = jit_var_add(x, x);
    CHECK_U32(twice, 0, 2, 4, 6);
    uint32_t mask = below_five(state);
    assert_int_equal(jit_var_loop_cond(loop, mask), 1);
    set(&state[1], jit_var_inc_ref(sum));
    add_u32(&state[0], 1);
    assert_int_equal(jit_var_loop_end(loop, state), 1);
    OK(jit_var_graphviz());
    OK(jit_var_whos());
    CHECK_U32(state[1], 0, 6, 12, 18);
    /* A variable of the body that was kept has no value outside of it. */
    uint32_t late = jit_var_add(sum, x);
    assert_false(jit_var_eval(late));
    CHECK_ERROR(JIT_ERROR_SYMBOLIC, "symbolic");
    DROP(state[0], state[1], sum, twice, mask, late, x);
}

/* The thread records nothing and has no mask. */
static void check_idle(uint32_t scope)
{
    assert_int_equal(jit_scope(CPU), scope);
    assert_int_equal(jit_record_checkpoint(CPU), 0);
    assert_int_equal(jit_var_mask_peek(CPU), 0);
    assert_int_equal(jit_error(), JIT_OK);
}

static void test_sizes(void **unused)
{
    (void) unused;
    uint32_t scope = jit_scope(CPU), three = counter(3);
    uint32_t state[] = { u32(0), counter(4), counter(5) };
    uint32_t kept[] = { jit_var_inc_ref(state[1]), jit_var_inc_ref(state[2]) };
    uint32_t loop = jit_var_loop_start(CPU, "sizes", 3, state);
    OK(loop);
    uint32_t mask = below_five(state);
    assert_int_equal(jit_var_loop_cond(loop, mask), 1);
    add_u32(&state[0], 1);
    set(&state[1], with(jit_var_add, state[1], u32(1)));
    set(&state[2], with(jit_var_add, state[2], u32(1)));
    assert_int_equal(jit_var_loop_end(loop, state), -1);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_loop_end()", "'sizes'", "initial state 2",
                "5 entries", "initial state 1", "4");
    check_idle(scope);
    assert_int_equal(jit_var_loop_end(loop, state), -1);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_loop_end()", "not the recording");
    CHECK_U32(kept[0], 0, 1, 2, 3);
    /* A state grows to the size of the loop. */
    uint32_t grown[] = { u32(0), u32(1) };
    loop = jit_var_loop_start(CPU, "grow", 2, grown);
    uint32_t again = below_five(grown);
    assert_int_equal(jit_var_loop_cond(loop, again), 1);
    set(&grown[1], jit_var_add(grown[1], three));
    add_u32(&grown[0], 1);
    assert_int_equal(jit_var_loop_end(loop, grown), 1);
    CHECK_U32(grown[0], 5, 5, 5);
    CHECK_U32(grown[1], 1, 6, 11);
    DROP(state[0], state[1], state[2], kept[0], kept[1], mask, three, again);
    DROP(grown[0], grown[1]);
}

static void test_wrong_use(void **unused)
{
    (void) unused;
    uint32_t scope = jit_scope(CPU), x = counter(4), gone = 12345;
    assert_int_equal(jit_var_loop_start(CPU, "gone", 1, &gone), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_loop_start()", "state 0", "r12345");
    /* Without a condition; with a condition that is not a mask; twice. */
    uint32_t state[] = { jit_var_inc_ref(x) };
    uint32_t loop = jit_var_loop_start(CPU, "wrong", 1, state);
    assert_int_equal(jit_var_loop_end(loop, state), -1);
    CHECK_ERROR(JIT_ERROR_STATE, "no condition");
    check_idle(scope);
    loop = jit_var_loop_start(CPU, "wrong", 1, state);
    assert_int_equal(jit_var_loop_cond(loop, x), -1);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "uint32", "expected bool");
    check_idle(scope);
    set(&state[0], jit_var_inc_ref(x));
    loop = jit_var_loop_start(CPU, "wrong", 1, state);
    uint32_t mask = below_one(state);
    assert_int_equal(jit_var_loop_cond(loop, mask), 1);
    assert_int_equal(jit_var_loop_cond(loop, mask), -1);
    CHECK_ERROR(JIT_ERROR_STATE, "has a condition already");
    /* Another type. */
    jit_var_dec_ref(mask);
    set(&state[0], jit_var_inc_ref(x));
    loop = jit_var_loop_start(CPU, "wrong", 1, state);
    mask = below_one(state);
    assert_int_equal(jit_var_loop_cond(loop, mask), 1);
    set(&state[0], jit_var_cast(state[0], VarTypeFloat32, 0));
    assert_int_equal(jit_var_loop_end(loop, state), -1);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "state 0 is float32", "uint32 before");
    /* Side effects in the condition. */
    set(&state[0], jit_var_inc_ref(x));
    uint32_t target = fill_u32(4, 0);
    loop = jit_var_loop_start(CPU, "wrong", 1, state);
    advance(&target, jit_var_scatter(target, x, x, ALWAYS, ReduceOpIdentity,
                                     ReduceModeAuto));
    jit_var_dec_ref(mask);
    mask = below_one(state);
    assert_int_equal(jit_var_loop_cond(loop, mask), -1);
    CHECK_ERROR(JIT_ERROR_STATE, "side effects");
    check_idle(scope);
    CHECK_U32(target, 0, 0, 0, 0);
    /* A body that leaves its mask behind. */
    set(&state[0], jit_var_inc_ref(x));
    loop = jit_var_loop_start(CPU, "wrong", 1, state);
    jit_var_dec_ref(mask);
    mask = below_one(state);
    assert_int_equal(jit_var_loop_cond(loop, mask), 1);
    OK(jit_var_mask_push(CPU, mask));
    add_u32(&state[0], 1);
    assert_int_equal(jit_var_loop_end(loop, state), -1);
    CHECK_ERROR(JIT_ERROR_STATE, "mask");
    check_idle(scope);
    DROP(state[0], mask, target, x);
}

/* Giving up: loops and what is inside of them. */
static void test_abort(void **unused)
{
    (void) unused;
    uint32_t scope = jit_scope(CPU), x = counter(4), target = fill_u32(4, 1);
    uint32_t outer[] = { jit_var_inc_ref(x) }, inner[] = { u32(0) };
    uint32_t loop = jit_var_loop_start(CPU, "outer", 1, outer);
    uint32_t mask = below_five(outer);
    assert_int_equal(jit_var_loop_cond(loop, mask), 1);
    OK(jit_var_loop_start(CPU, "inner", 1, inner));
    advance(&target, jit_var_scatter(target, inner[0], x, ALWAYS, ReduceOpIdentity,
                                     ReduceModeAuto));
    OK(jit_var_is_dirty(target));
    assert_false(jit_record_end(CPU, loop, 0));
    CHECK_ERROR(JIT_ERROR_STATE, "jit_record_end()");
    OK(jit_record_end(CPU, loop, 1));
    check_idle(scope);
    assert_false(jit_var_is_dirty(target));
    CHECK_U32(target, 1, 1, 1, 1);
    assert_false(jit_record_end(CPU, loop, 1));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "not an open recording");
    DROP(outer[0], inner[0], mask, x, target);
}

/* --------------------------------------------------------------- recordings */

static uint32_t put(uint32_t target, uint32_t value, uint32_t index)
{
    uint32_t v = u32(value), i = u32(index);
    uint32_t result = jit_var_scatter(target, v, i, ALWAYS, ReduceOpIdentity,
                                      ReduceModeAuto);
    DROP(v, i);
    return result;
}

static void test_recordings(void **unused)
{
    (void) unused;
    uint32_t a = fill_u32(3, 0), outside = jit_scope(CPU);
    uint32_t record = jit_record_begin(CPU, "kept");
    OK(record);
    assert_int_not_equal(jit_scope(CPU), outside);
    advance(&a, put(a, 5, 0));
    assert_int_equal(jit_record_checkpoint(CPU), 1);
    uint32_t point = jit_record_checkpoint(CPU);
    advance(&a, put(a, 6, 1));
    assert_int_equal(jit_record_checkpoint(CPU), 2);
    OK(jit_record_rollback(CPU, point));
    assert_false(jit_record_rollback(CPU, 2));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "checkpoint is 2", "at most 1");
    OK(jit_record_end(CPU, record, 0));
    assert_int_equal(jit_scope(CPU), outside);
    assert_int_equal(jit_record_checkpoint(CPU), 1);
    record = jit_record_begin(CPU, "dropped");
    advance(&a, put(a, 7, 2));
    OK(jit_record_end(CPU, record, 1));
    CHECK_U32(a, 5, 0, 0);
    assert_false(jit_record_rollback(CPU, 0));
    CHECK_ERROR(JIT_ERROR_STATE, "nothing is being recorded");
    jit_var_dec_ref(a);
}

/* Literals are the same in all bodies: a region deep inside would else be one more read
 * of all around it for each. */
static void test_literals_are_shared(void **unused)
{
    (void) unused;
    uint32_t outside = jit_var_f32(CPU, 1.25f);
    uint32_t record = jit_record_begin(CPU, NULL), scope = jit_new_scope(CPU);
    uint32_t inside = jit_var_f32(CPU, 1.25f);
    OK(scope);
    assert_int_equal(inside, outside);
    OK(jit_record_end(CPU, record, 1));
    DROP(outside, inside);
}

static void test_scopes(void **unused)
{
    (void) unused;
    uint32_t x = counter(3), outside = jit_scope(CPU);
    uint32_t a = jit_var_add(x, x), scope = jit_new_scope(CPU);
    OK(scope);
    uint32_t b = jit_var_add(x, x), c = jit_var_add(x, x);
    assert_int_not_equal(a, b);
    assert_int_equal(b, c);
    OK(jit_set_scope(CPU, outside));
    uint32_t d = jit_var_add(x, x);
    assert_int_equal(a, d);
    assert_false(jit_set_scope(CPU, UINT32_MAX));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_set_scope()");
    uint32_t record = jit_record_begin(CPU, NULL);
    assert_false(jit_set_scope(CPU, outside));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_set_scope()");
    OK(jit_record_end(CPU, record, 1));
    DROP(x, a, b, c, d);
}

static int all(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_collatz), TEST(test_zero_iterations), TEST(test_evaluated),
        TEST(test_literal_condition), TEST(test_uniform), TEST(test_nested),
        TEST(test_deep_nesting),
        TEST(test_state_numbers), TEST(test_long_body), TEST(test_state_types),
        TEST(test_simplified_states), TEST(test_held_variables), TEST(test_bystander),
        TEST(test_hoisting), TEST(test_separate_results), TEST(test_kernel_cache),
        TEST(test_threads), TEST(test_thread_ends), TEST(test_shutdown),
        TEST(test_symbolic),
        TEST(test_sizes), TEST(test_wrong_use), TEST(test_abort), TEST(test_recordings),
        TEST(test_scopes), TEST(test_literals_are_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_engines(all); }
