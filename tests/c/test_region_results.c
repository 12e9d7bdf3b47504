/*
 * test_region_results.c -- what comes out of regions that also write to arrays
 *
 * Results stored beside effects, local arrays that outlive the effects of their region,
 * results that another thread has queued, states that look like something else (like
 * another state, or like the array that is written to), and values around calls.
 */
#include <pthread.h>

#include "region_util.h"

enum { N = 40, LENGTH = 3 };

static uint32_t shared_array;

static uint32_t scatter_add(uint32_t target, uint32_t value, uint32_t index)
{
    return jit_var_scatter(target, value, index, ALWAYS, ReduceOpAdd, ReduceModeAuto);
}

static uint32_t above_zero(const uint32_t *state)
{
    uint32_t zero = u32(0), result = jit_var_gt(state[0], zero);
    jit_var_dec_ref(zero);
    return result;
}

static uint32_t below(uint32_t id, uint32_t limit)
{
    return with(jit_var_lt, id, u32(limit));
}

/* ------------------------------------------------------- states and variables */

/* n, a, b = n - 1, b, b */
static void copy_step(uint32_t *state)
{
    set(&state[0], with(jit_var_sub, state[0], u32(1)));
    set(&state[1], jit_var_inc_ref(state[2]));
}

static void test_copy_of_fixed_state(void **unused)
{
    (void) unused;
    uint32_t counts[] = { 0, 1, 2, 0 };
    for (int mode = 0; mode < 3; ++mode) {
        jit_set_flag(JitFlagOptimizeLoops, mode);
        jit_set_flag(JitFlagSymbolicLoops, mode < 2);
        uint32_t x = u32_array(4, (uint32_t[]){ 1, 2, 3, 4 });
        uint32_t y = u32_array(4, (uint32_t[]){ 10, 20, 30, 40 });
        uint32_t state[] = { u32_array(4, counts), x, y };
        run_loop("copy", 3, state, above_zero, copy_step);
        CHECK_U32(state[1], 1, 20, 30, 4);
        CHECK_U32(state[2], 10, 20, 30, 40);
        drop_all(state, 3);
    }
}

/* Equal literals are one variable, which does not make the state an array. */
static uint32_t below_limit(const uint32_t *state)
{
    return jit_var_lt(state[0], state[1]);
}

static void count_step(uint32_t *state)
{
    uint32_t zero = with(jit_var_and, state[0], u32(0)), one = u32(1);
    advance(&shared_array, scatter_add(shared_array, one, zero));
    DROP(zero, one);
    add_u32(&state[0], 1);
}

/* The state has a new value when the write is traced. */
static void late_count_step(uint32_t *state)
{
    add_u32(&state[0], 1);
    uint32_t zero = with(jit_var_and, state[0], u32(0)), one = u32(1);
    advance(&shared_array, scatter_add(shared_array, one, zero));
    DROP(zero, one);
}

static void test_state_like_target(void **unused)
{
    (void) unused;
    static const Step steps[] = { count_step, late_count_step };
    uint32_t limits[] = { 0, 1, 2, 3, 4 };
    for (int mode = 0; mode < 4; ++mode) {
        jit_set_flag(JitFlagSymbolicLoops, mode & 1);
        shared_array = u32(0);
        uint32_t state[] = { u32(0), u32_array(5, limits) };
        run_loop("literal", 2, state, below_limit, steps[mode / 2]);
        CHECK_U32(state[0], 0, 1, 2, 3, 4);
        CHECK_U32(shared_array, 10);
        DROP(state[0], state[1], shared_array);
    }
}

/* The same with an array in memory; the caller's other variable is left alone. */
static void test_state_shared_with_target(void **unused)
{
    (void) unused;
    for (int symbolic = 0; symbolic < 2; ++symbolic) {
        jit_set_flag(JitFlagSymbolicLoops, symbolic);
        uint32_t start = u32_array(5, (uint32_t[]){ 4, 0, 3, 1, 2 });
        shared_array = jit_var_inc_ref(start);
        uint32_t state[] = { start, u32_array(5, (uint32_t[]){ 5, 4, 3, 2, 1 }) };
        run_loop("shared", 2, state, below_limit, count_step);
        CHECK_U32(state[0], 5, 4, 3, 2, 2);
        CHECK_U32(shared_array, 4 + 1 + 4 + 1, 0, 3, 1, 2);
        DROP(state[0], state[1], shared_array);
    }
}

/* A state that is written to as an array and then replaced by other values is an error,
 * no matter who else holds the array. */
static void replace_step(uint32_t *state)
{
    uint32_t one = u32(1), zero = with(jit_var_and, state[1], u32(0));
    advance(&state[0], scatter_add(state[0], one, zero));
    set(&state[0], jit_var_add(state[0], one));
    DROP(one, zero);
}

/* The same with values that have nothing to do with the array. */
static void forget_step(uint32_t *state)
{
    uint32_t one = u32(1), zero = with(jit_var_and, state[1], u32(0));
    advance(&state[0], scatter_add(state[0], one, zero));
    set(&state[0], jit_var_add(state[1], one));
    DROP(one, zero);
}

static void test_replaced_target(void **unused)
{
    (void) unused;
    static const Step steps[] = { replace_step, forget_step };
    for (int mode = 0; mode < 4; ++mode) {
        jit_set_flag(JitFlagSymbolicLoops, 0);
        uint32_t start = u32_array(3, (uint32_t[]){ 0, 1, 2 });
        uint32_t held = mode & 1 ? jit_var_inc_ref(start) : 0;
        uint32_t state[] = { start, u32_array(3, (uint32_t[]){ 4, 5, 6 }) };
        assert_int_equal(run_loop_status("replaced", 2, state, below_limit,
                                         steps[mode / 2]), -1);
        CHECK_ERROR(JIT_ERROR_ARGUMENT, "state 0", "cannot be replaced");
        DROP(state[0], state[1], held);
    }
}

/* --------------------------------------------------------------- conditionals */

typedef void (*Side)(uint32_t *values);

static void run_cond(uint32_t condition, uint32_t *values, uint32_t n, Side yes,
                     Side no)
{
    uint32_t cond = jit_var_cond_start("side", condition), side[4], results[4];
    OK(cond);
    for (int i = 0; i < 2; ++i) {
        for (uint32_t k = 0; k < n; ++k)
            side[k] = jit_var_inc_ref(values[k]);
        (i ? no : yes)(side);
        OK(jit_var_cond_append(cond, n, side));
        drop_all(side, n);
    }
    OK(jit_var_cond_end(cond, results));
    for (uint32_t k = 0; k < n; ++k)
        set(&values[k], results[k]);
}

static void nothing(uint32_t *values) { (void) values; }

static void write_value(uint32_t *v)
{
    uint32_t index = with(jit_var_and, v[0], u32(7));
    advance(&shared_array, scatter_add(shared_array, v[1], index));
    jit_var_dec_ref(index);
}

/* An input that only the effect of a conditional needs, and then the output. */
static void test_input_of_effect(void **unused)
{
    (void) unused;
    uint32_t ids[N], expected[8] = { 0 }, outputs[2][N], results[2];
    for (uint32_t i = 0; i < N; ++i) {
        ids[i] = i % 3;
        for (uint32_t k = 0; k < 2; ++k)
            outputs[k][i] = ids[i] ? (k ? 100 + i : i) : 0;
        if (ids[i] == 2 && i < 30)
            expected[i & 7] += 100 + i;
    }
    shared_array = fill_u32(8, 0);
    uint32_t lane = counter(N), value = with(jit_var_add, lane, u32(100));
    uint32_t self = u32_array(N, ids);
    uint32_t call = jit_var_call_start(CPU, "effect", ALWAYS);
    OK(call);
    uint32_t v[] = { jit_var_call_input(call, lane), jit_var_call_input(call, value) };
    OK(jit_var_call_append(call, 2, v));
    uint32_t condition = below(v[0], 30);
    run_cond(condition, v, 2, write_value, nothing);
    OK(jit_var_call_append(call, 2, v));
    OK(jit_var_call(call, self, 2, NULL, NULL, results));
    drop_all(v, 2);
    CHECK_BYTES(results[0], outputs[0], N);
    CHECK_BYTES(results[1], outputs[1], N);
    CHECK_BYTES(shared_array, expected, 8);
    DROP(lane, value, self, condition, results[0], results[1], shared_array);
}

static void write_sum(uint32_t *v)
{
    write_value(v);
    for (uint32_t k = 0; k < 2; ++k)
        set(&v[k], with(jit_var_add, v[k], u32(10)));
}

/* A result that only other variables need ends when these have their values, which is
 * while the results are stored, as soon as the kernel is a known one. */
static void test_results_of_nobody(void **unused)
{
    (void) unused;
    for (uint32_t round = 0; round < 3; ++round) {
        shared_array = fill_u32(8, round);
        uint32_t lane = counter(5), condition = below(lane, 3);
        uint32_t v[] = { with(jit_var_add, lane, u32(1)),
                         with(jit_var_add, lane, u32(100)) };
        run_cond(condition, v, 2, write_sum, nothing);
        uint32_t sum = jit_var_add(v[0], v[1]);
        drop_all(v, 2);
        CHECK_U32(sum, 121, 123, 125, 107, 109);
        CHECK_U32(shared_array, round, round + 100, round + 101, round + 102, round,
                  round, round, round);
        DROP(lane, condition, sum, shared_array);
    }
}

/* ---------------------------------------------------------------- local arrays */

/* values: local array, lane */
static void write_both(uint32_t *v)
{
    uint32_t index = with(jit_var_mod, v[1], u32(LENGTH));
    set(&v[0], jit_array_write(v[0], index, v[1], ALWAYS));
    advance(&shared_array, scatter_add(shared_array, v[1], index));
    jit_var_dec_ref(index);
}

/* state: number of iterations, local array, lane */
static void write_both_step(uint32_t *state)
{
    write_both(&state[1]);
    set(&state[0], with(jit_var_sub, state[0], u32(1)));
}

static void write_in_loop(uint32_t *v)
{
    uint32_t state[] = { with(jit_var_mod, v[1], u32(3)), jit_var_inc_ref(v[0]),
                         jit_var_inc_ref(v[1]) };
    run_loop("local", 3, state, above_zero, write_both_step);
    set(&v[0], jit_var_inc_ref(state[1]));
    drop_all(state, 3);
}

static uint32_t local_array(uint32_t value)
{
    uint32_t array = jit_array_create(CPU, VarTypeUInt32, LENGTH, 1);
    OK(array);
    uint32_t v = u32(value), filled = jit_array_init(array, v);
    OK(filled);
    DROP(array, v);
    return filled;
}

/* The array is read again when the effects have run, which they do once: on one side,
 * and in a loop on the other. */
static void test_local_behind_effects(void **unused)
{
    (void) unused;
    uint32_t expected[N], sums[LENGTH] = { 0 }, others[N];
    for (uint32_t i = 0; i < N; ++i) {
        uint32_t times = i < 25 ? 1 : i % 3;
        sums[i % LENGTH] += times * i;
        expected[i] = times ? i : 7;
        others[i] = 1 + expected[i];
    }
    shared_array = fill_u32(LENGTH, 0);
    uint32_t lane = counter(N), condition = below(lane, 25);
    uint32_t v[] = { local_array(7), lane };
    run_cond(condition, v, 2, write_both, write_in_loop);
    uint32_t index = with(jit_var_mod, v[1], u32(LENGTH));
    uint32_t first = jit_array_read(v[0], index, ALWAYS), other = fill_u32(N, 1);
    OK(first);
    advance(&other, scatter_add(other, first, v[1]));
    CHECK_BYTES(first, expected, N);
    CHECK_BYTES(shared_array, sums, LENGTH);
    CHECK_BYTES(other, others, N);
    uint32_t second = jit_array_read(v[0], index, ALWAYS);
    CHECK_BYTES(second, expected, N);
    CHECK_BYTES(shared_array, sums, LENGTH);
    DROP(v[0], v[1], condition, index, first, second, other, shared_array);
}

/* What an atomic operation has drawn cannot be drawn again. */
static void draw(uint32_t *v)
{
    uint32_t zero = u32(0), drawn = jit_var_scatter_inc(&shared_array, zero, ALWAYS);
    OK(drawn);
    set(&v[0], jit_array_write(v[0], zero, drawn, ALWAYS));
    DROP(zero, drawn);
}

static void test_local_of_atomics(void **unused)
{
    (void) unused;
    shared_array = fill_u32(1, 0);
    uint32_t lane = counter(N), condition = below(lane, 5), zero = u32(0);
    uint32_t v[] = { local_array(9) };
    run_cond(condition, v, 1, draw, nothing);
    uint32_t read = jit_array_read(v[0], zero, ALWAYS), drawn[N], sum = 0;
    OK(read);
    CHECK_U32(shared_array, 5);
    uint32_t late = jit_array_read(v[0], zero, ALWAYS);
    assert_false(jit_var_read(read, 0, drawn));
    CHECK_ERROR(JIT_ERROR_STATE, "atomic operation");
    DROP(v[0], read, late);

    v[0] = local_array(9);
    run_cond(condition, v, 1, draw, nothing);
    read = jit_array_read(v[0], zero, ALWAYS);
    for (size_t i = 0; i < N; ++i) {
        OK(jit_var_read(read, i, &drawn[i]));
        sum += drawn[i];
    }
    assert_int_equal(sum, 5 + 6 + 7 + 8 + 9 + (N - 5) * 9);
    CHECK_U32(shared_array, 10);
    DROP(lane, condition, zero, v[0], read, shared_array);
}

/* What an atomic operation has drawn does not matter if the body does not use it,
 * though the caller may have it still. */
static uint32_t kept_draw;

static void draw_beside(uint32_t *v)
{
    uint32_t zero = u32(0), five = u32(5);
    kept_draw = jit_var_scatter_inc(&shared_array, zero, ALWAYS);
    set(&v[0], jit_array_write(v[0], zero, five, ALWAYS));
    DROP(zero, five);
}

static void test_local_beside_atomics(void **unused)
{
    (void) unused;
    for (int held = 0; held < 2; ++held) {
        shared_array = fill_u32(1, 0);
        uint32_t lane = counter(3), condition = below(lane, 2), zero = u32(0);
        uint32_t v[] = { local_array(9) };
        run_cond(condition, v, 1, draw_beside, nothing);
        if (!held)
            jit_var_dec_ref(kept_draw);
        CHECK_U32(shared_array, 2); /* the region has run */
        uint32_t read = jit_array_read(v[0], zero, ALWAYS);
        CHECK_U32(read, 5, 5, 9);
        CHECK_U32(shared_array, 2);
        if (held)
            jit_var_dec_ref(kept_draw);
        DROP(v[0], lane, condition, zero, read, shared_array);
    }
}

/* ------------------------------------------------------------------------ masks */

/* A mask that a body pushes does not bring back lanes that have left. */
static void masked_step(uint32_t *state)
{
    static const uint8_t some[] = { 1, 1, 0, 1, 1 };
    uint32_t mask = array_of(VarTypeBool, some, 5);
    OK(jit_var_mask_push(CPU, mask));
    count_step(state);
    OK(jit_var_mask_pop(CPU));
    jit_var_dec_ref(mask);
}

static void test_mask_in_body(void **unused)
{
    (void) unused;
    uint32_t limits[] = { 0, 1, 2, 3, 4 };
    for (int symbolic = 0; symbolic < 2; ++symbolic) {
        jit_set_flag(JitFlagSymbolicLoops, symbolic);
        shared_array = fill_u32(2, 0);
        uint32_t state[] = { fill_u32(1, 0), u32_array(5, limits) };
        run_loop("masked", 2, state, below_limit, masked_step);
        CHECK_U32(state[0], 0, 1, 2, 3, 4);
        CHECK_U32(shared_array, 1 + 3 + 4, 0);
        DROP(state[0], state[1], shared_array);
    }
}

/* ------------------------------------------------------------------------ calls */

static uint32_t shared_self; /* lane % 3 */

static void make_self(void)
{
    uint32_t lane = counter(N);
    shared_self = with(jit_var_mod, lane, u32(3));
    jit_var_dec_ref(lane);
}

/* 0, five * x or x + five */
static uint32_t call_fives(uint32_t x, uint32_t five)
{
    uint32_t call = jit_var_call_start(CPU, "fives", ALWAYS), result;
    OK(call);
    uint32_t a = jit_var_call_input(call, x);
    OK(a);
    uint32_t product = jit_var_mul(a, five);
    OK(jit_var_call_append(call, 1, &product));
    uint32_t sum = jit_var_add(a, five);
    OK(jit_var_call_append(call, 1, &sum));
    OK(jit_var_call(call, shared_self, 2, NULL, NULL, &result));
    DROP(a, product, sum);
    return result;
}

static void fives_step(uint32_t *state)
{
    add_u32(&state[0], (uint32_t) -1);
    set(&state[1], u32(5));
    set(&state[2], call_fives(state[2], state[1]));
}

/* A literal that callables use, too, is still there where the call is. */
static void test_literal_around_call(void **unused)
{
    (void) unused;
    uint32_t fives[N], twice[N], differences[N];
    for (uint32_t i = 0; i < N; ++i) {
        fives[i] = 5;
        twice[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? 25 * i : i + 10;
        differences[i] = 5 - (i % 3 == 0 ? 0 : i % 3 == 1 ? 5 * i : i + 5);
    }
    make_self();
    uint32_t state[] = { fill_u32(N, 2), fill_u32(N, 0), counter(N) };
    run_loop("fives", 3, state, above_zero, fives_step);
    CHECK_BYTES(state[1], fives, N);
    CHECK_BYTES(state[2], twice, N);
    uint32_t lane = counter(N), five = u32(5), result = call_fives(lane, five);
    uint32_t difference = jit_var_sub(five, result);
    CHECK_BYTES(difference, differences, N);
    drop_all(state, 3);
    DROP(lane, five, result, difference, shared_self);
}

static void change_both(uint32_t *values)
{
    add_u32(&values[0], 1);
    add_u32(&values[1], 2);
}

/* An input that only an unused result needs, of a value that is computed later. */
static void test_unused_input(void **unused)
{
    (void) unused;
    uint32_t expected[N], result;
    for (uint32_t i = 0; i < N; ++i)
        expected[i] = (i % 3 == 0 ? 0 : i % 3 == 1 && i < 10 ? i + 1 : i) - 3 * i;
    make_self();
    uint32_t lane = counter(N), late = with(jit_var_mul, lane, u32(3));
    uint32_t call = jit_var_call_start(CPU, "unused", ALWAYS);
    OK(call);
    uint32_t a = jit_var_call_input(call, lane), b = jit_var_call_input(call, late);
    OK(a && b);
    uint32_t values[] = { jit_var_inc_ref(a), jit_var_inc_ref(b) };
    uint32_t condition = below(a, 10);
    run_cond(condition, values, 2, change_both, nothing);
    OK(jit_var_call_append(call, 1, &values[0]));
    OK(jit_var_call_append(call, 1, &a));
    OK(jit_var_call(call, shared_self, 2, NULL, NULL, &result));
    uint32_t difference = jit_var_sub(result, late);
    CHECK_BYTES(difference, expected, N);
    DROP(lane, late, a, b, values[0], values[1], condition, result, difference,
         shared_self);
}

/* ---------------------------------------------------------------------- threads */

/* A thread that records a loop with effects, waits until it may end, and ends. */
typedef struct Other {
    pthread_barrier_t recorded, used;
    uint32_t result;
} Other;

static void sum_step(uint32_t *state)
{
    set(&state[2], with(jit_var_add, state[2], jit_var_inc_ref(state[0])));
    count_step(state);
}

static void *record_in_thread(void *argument)
{
    Other *other = argument;
    uint32_t limits[] = { 0, 1, 2, 3, 4 };
    uint32_t state[] = { u32(0), u32_array(5, limits), u32(0) };
    run_loop("other", 3, state, below_limit, sum_step);
    other->result = state[2];
    DROP(state[0], state[1]);
    pthread_barrier_wait(&other->recorded);
    pthread_barrier_wait(&other->used);
    return NULL;
}

/* Results that another thread has queued are computed when they are needed, and its
 * effects take place once; also where they are only reached through effects. */
static void test_results_of_thread(void **unused)
{
    (void) unused;
    for (int through_effect = 0; through_effect < 2; ++through_effect) {
        Other other = { .result = 0 };
        pthread_t thread;
        shared_array = fill_u32(1, 0);
        pthread_barrier_init(&other.recorded, NULL, 2);
        pthread_barrier_init(&other.used, NULL, 2);
        assert_int_equal(pthread_create(&thread, NULL, record_in_thread, &other), 0);
        pthread_barrier_wait(&other.recorded);
        uint32_t more = with(jit_var_add, other.result, u32(1));
        if (through_effect) {
            uint32_t target = fill_u32(5, 0), lane = counter(5);
            advance(&target, scatter_add(target, more, lane));
            CHECK_U32(target, 1, 1, 2, 4, 7);
            DROP(target, lane);
        }
        CHECK_U32(more, 1, 1, 2, 4, 7);
        CHECK_U32(shared_array, 10);
        pthread_barrier_wait(&other.used);
        pthread_join(thread, NULL);
        CHECK_U32(shared_array, 10);
        pthread_barrier_destroy(&other.recorded);
        pthread_barrier_destroy(&other.used);
        DROP(more, other.result, shared_array);
    }
}

static int all(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_copy_of_fixed_state), TEST(test_state_like_target),
        TEST(test_state_shared_with_target), TEST(test_replaced_target),
        TEST(test_input_of_effect), TEST(test_results_of_nobody),
        TEST(test_local_behind_effects), TEST(test_local_of_atomics),
        TEST(test_local_beside_atomics),
        TEST(test_mask_in_body), TEST(test_literal_around_call),
        TEST(test_unused_input), TEST(test_results_of_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_engines(all); }
