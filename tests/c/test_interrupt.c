/*
 * test_interrupt.c -- jit_interrupt() stops what runs, in time and without harm
 *
 * The loops would take seconds to minutes. Their result is an index that is far outside
 * of the array until the last iteration: code that went on after a loop it has left
 * would crash.
 */
#include "test_util.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { ITERATIONS = 0x7fffffff, OUTSIDE = 0x7ffffff0, VALUE = 77, TRIES = 5 };

/* To the end of a call, from the request to stop it: the goal, and what one that is not
 * stopped takes for sure. */
#define SOON 0.1
#define LATE 1.0

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void *stop_soon(void *when)
{
    nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    *(double *) when = now();
    jit_interrupt();
    return NULL;
}

/* Is i in the range of the loop? With an array, that is asked of what i has replaced
 * there: of the i of another iteration. */
static uint32_t trace_more(uint32_t i, uint32_t last, uint32_t zero, uint32_t *array)
{
    uint32_t more = jit_var_lt(i, last);
    if (array) {
        uint32_t old = jit_var_scatter_exch(array, i, zero, ALWAYS);
        uint32_t before = jit_var_lt(old, last);
        OK(before);
        advance(&more, jit_var_and(more, before));
        DROP(old, before);
    }
    return more;
}

/* i < ITERATIONS: i += 1, index = i < ITERATIONS ? index : 0; the last index. */
static uint32_t trace_long(uint32_t first, uint32_t index, uint32_t *array)
{
    uint32_t state[] = { first, index };
    uint32_t last = jit_var_u32(CPU, ITERATIONS), one = jit_var_u32(CPU, 1);
    uint32_t zero = jit_var_u32(CPU, 0);
    jit_var_inc_ref(first);
    jit_var_inc_ref(index);
    uint32_t loop = jit_var_loop_start(CPU, "long", 2, state);
    int again;
    OK(loop);
    do {
        uint32_t condition = jit_var_lt(state[0], last);
        again = jit_var_loop_cond(loop, condition);
        jit_var_dec_ref(condition);
        if (again > 0) {
            advance(&state[0], jit_var_add(state[0], one));
            uint32_t more = trace_more(state[0], last, zero, array);
            advance(&state[1], jit_var_select(more, state[1], zero));
            jit_var_dec_ref(more);
        }
    } while (again >= 0 && (again = jit_var_loop_end(loop, state)) == 0);
    assert_int_equal(again, 1);
    DROP(state[0], last, one, zero);
    return state[1];
}

static uint32_t trace_loop(uint32_t first, uint32_t index)
{
    return trace_long(first, index, NULL);
}

/* With an operation for which engines may call something. */
static uint32_t trace_exchange(uint32_t first, uint32_t index)
{
    uint32_t array = fill_u32(1, 0), last = trace_long(first, index, &array);
    jit_var_dec_ref(array);
    return last;
}

/* The same in one of several callables, for all lanes. */
static uint32_t trace_call(uint32_t first, uint32_t index)
{
    uint32_t self = jit_var_counter(CPU, jit_var_size(first)), one, result;
    one = jit_var_u32(CPU, 1);
    advance(&self, jit_var_and(self, one));
    advance(&self, jit_var_add(self, one));
    uint32_t call = jit_var_call_start(CPU, "calls", ALWAYS);
    OK(call);
    uint32_t a = jit_var_call_input(call, first), b = jit_var_call_input(call, index);
    for (uint32_t k = 0; k < 2; ++k) {
        uint32_t out = trace_loop(a, b), distance = jit_var_u32(CPU, k);
        advance(&out, jit_var_add(out, distance));
        OK(jit_var_call_append(call, 1, &out));
        DROP(out, distance);
    }
    OK(jit_var_call(call, self, 2, NULL, NULL, &result));
    DROP(self, one, a, b);
    return result;
}

typedef uint32_t (*Trace)(uint32_t first, uint32_t index);

/* table[index] after the loop, which begins with this number. */
static uint32_t trace_read(Trace trace, uint32_t table, uint32_t size, uint32_t number)
{
    uint32_t first = fill_u32(size, number), index = fill_u32(size, OUTSIDE);
    uint32_t where = trace(first, index), read = jit_var_gather(table, where, ALWAYS);
    OK(read);
    DROP(first, index, where);
    return read;
}

/* How long after the request did it end? The kernel is compiled before. */
static double interrupt(Trace trace, uint32_t size)
{
    double when = 0, end;
    uint32_t table = fill_u32(2, VALUE), value = 0;
    uint32_t read = trace_read(trace, table, size, ITERATIONS - 2);
    OK(jit_var_read(read, size - 1, &value));
    assert_int_equal(value, VALUE);
    jit_var_dec_ref(read);
    read = trace_read(trace, table, size, 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, &when), 0);
    bool ok = jit_var_eval(read) && jit_sync_thread();
    end = now();
    pthread_join(thread, NULL);
    assert_false(ok);
    CHECK_ERROR(JIT_ERROR_INTERRUPTED, "interrupted");
    assert_false(jit_var_read(read, 0, &value));
    CHECK_ERROR(JIT_ERROR_INTERRUPTED, "interrupted");
    CHECK_U32(table, VALUE, VALUE);
    DROP(table, read);
    return end - when;
}

/* A busy machine may be late now and then, but not each time. */
static void check_time(Trace trace, uint32_t size)
{
    double best = LATE;
    for (uint32_t i = 0; i < TRIES && best > SOON; ++i) {
        double time = interrupt(trace, size);
        best = time < best ? time : best;
    }
    if (best > SOON)
        fail_msg("%u lanes: stopped after %.3f s", size, best);
}

static void test_one_lane(void **unused)
{
    (void) unused;
    check_time(trace_loop, 1);
}

/* Whole packets and a last one, in several threads. */
static void test_many_lanes(void **unused)
{
    (void) unused;
    check_time(trace_loop, 100);
    check_time(trace_loop, 100003);
}

static void test_calls_of_engines(void **unused)
{
    (void) unused;
    check_time(trace_exchange, 1);
    check_time(trace_exchange, 1003);
}

static void test_callables(void **unused)
{
    (void) unused;
    check_time(trace_call, 1);
    check_time(trace_call, 1003);
}

/* What is submitted after a request is computed, and what was computed before stays. */
static void test_later_work(void **unused)
{
    (void) unused;
    uint32_t a = jit_var_counter(CPU, 4), one = jit_var_u32(CPU, 1);
    uint32_t b = jit_var_add(a, one), c;
    OK(jit_var_eval(b));
    OK(jit_sync_thread());
    jit_interrupt();
    CHECK_U32(b, 1, 2, 3, 4);
    c = jit_var_add(b, b);
    CHECK_U32(c, 2, 4, 6, 8);
    DROP(a, b, c, one);

    uint32_t first = fill_u32(3, ITERATIONS - 5), index = fill_u32(3, OUTSIDE);
    jit_interrupt();
    uint32_t last = trace_loop(first, index);
    CHECK_U32(last, 0, 0, 0);
    DROP(first, index, last);
}

/* ----------------------------------------------------------- evaluating again */

static atomic_bool go_on;

static void wait_to_go_on(void *unused)
{
    (void) unused;
    while (!atomic_load(&go_on))
        nanosleep(&(struct timespec){ 0, 100000 }, NULL);
}

/* What is submitted from here to interrupt_held() is interrupted before it begins. */
static void hold(void)
{
    atomic_store(&go_on, false);
    OK(jit_enqueue_host_func(CPU, wait_to_go_on, NULL));
}

static void interrupt_held(void)
{
    jit_interrupt();
    atomic_store(&go_on, true);
    assert_false(jit_sync_thread());
    CHECK_ERROR(JIT_ERROR_INTERRUPTED, "interrupted");
}

/* Reading it is an error, as often as it is tried. */
static void check_interrupted(uint32_t id)
{
    uint64_t value = 0;
    for (int i = 0; i < 2; ++i) {
        assert_false(jit_var_read(id, 0, &value));
        CHECK_ERROR(JIT_ERROR_INTERRUPTED, "was interrupted");
    }
}

/* It was interrupted in its loop, which needs a second or so. */
static void test_loop_again(void **unused)
{
    (void) unused;
    uint32_t table = fill_u32(2, VALUE), value = 0, iterations = 1000;
    double took = 0;
    while (took < 0.4 && iterations < ITERATIONS / 2) {
        iterations *= 2;
        uint32_t read = trace_read(trace_loop, table, 3, ITERATIONS - iterations);
        double since = now();
        OK(jit_var_read(read, 2, &value));
        took = now() - since;
        assert_int_equal(value, VALUE);
        jit_var_dec_ref(read);
    }
    uint32_t read = trace_read(trace_loop, table, 3, ITERATIONS - iterations), after;
    double when;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, &when), 0);
    bool ok = jit_var_eval(read) && jit_sync_thread();
    pthread_join(thread, NULL);
    assert_false(ok);
    CHECK_ERROR(JIT_ERROR_INTERRUPTED, "interrupted");
    check_interrupted(read);
    after = jit_var_add(read, read);
    check_interrupted(after);
    OK(jit_var_eval(after)); /* and what it depends on */
    CHECK_U32(after, 2 * VALUE, 2 * VALUE, 2 * VALUE);
    CHECK_U32(read, VALUE, VALUE, VALUE);
    assert_false(jit_var_eval(read) || jit_error());
    DROP(table, read, after);
}

enum { SIZE = 1000 };

/* Commands of many kinds, each of which reads what the one before has written. */
static void make_results(uint32_t *out)
{
    uint32_t number = 3, lanes = jit_var_counter(CPU, SIZE);
    out[0] = jit_var_literal(CPU, VarTypeUInt32, &number, SIZE, 1);
    out[1] = jit_var_mul(lanes, out[0]);
    OK(jit_var_eval(out[1]));
    out[2] = jit_var_block_reduce(ReduceOpAdd, out[1], 4);
    out[3] = jit_var_sort(out[2], SIZE / 4, 1);
    out[4] = jit_var_block_prefix_reduce(ReduceOpAdd, out[3], SIZE / 4, 0, 0);
    out[5] = jit_var_add(out[4], out[2]);
    OK(jit_var_eval(out[5]));
    out[6] = jit_var_reduce(out[5], ReduceOpMax);
    OK(jit_var_eval(out[6]) || jit_error() == JIT_OK);
    jit_var_dec_ref(lanes);
}

enum { RESULTS = 7 };

static uint32_t entry(uint32_t id, uint32_t offset)
{
    uint32_t value = 0;
    OK(jit_var_read(id, offset, &value));
    return value;
}

/* Any of the results can be had later, in any order, whether or not others are held;
 * also when that is interrupted, too. */
static void test_results_again(void **unused)
{
    (void) unused;
    uint32_t expected[RESULTS], out[RESULTS];
    make_results(out);
    for (uint32_t i = 0; i < RESULTS; ++i) {
        expected[i] = entry(out[i], i == 6 ? 0 : 7);
        jit_var_dec_ref(out[i]);
    }
    for (uint32_t way = 0; way < 1 << RESULTS; ++way) {
        hold();
        make_results(out);
        for (uint32_t i = 0; i < RESULTS; ++i) /* drop some now, some later */
            if (way >> i & 1 && i % 2)
                jit_var_dec_ref(out[i]);
        interrupt_held();
        for (uint32_t i = 0; i < RESULTS; ++i)
            if (way >> i & 1 && i % 2 == 0)
                jit_var_dec_ref(out[i]);
        for (uint32_t k = 0; k < RESULTS; ++k) {
            uint32_t i = (k * 3 + way) % RESULTS;
            if (way >> i & 1)
                continue;
            hold();
            if (jit_var_schedule(out[i]) && way % 3 == 0) {
                interrupt_held();
                check_interrupted(out[i]);
                assert_true(jit_var_schedule(out[i]));
            }
            atomic_store(&go_on, true);
            assert_int_equal(entry(out[i], i == 6 ? 0 : 7), expected[i]);
        }
        OK(jit_sync_thread());
        for (uint32_t i = 0; i < RESULTS; ++i)
            if (!(way >> i & 1))
                jit_var_dec_ref(out[i]);
    }
}

/* What was overwritten meanwhile cannot be read again, and what writes into arrays
 * cannot be performed twice: that is said, and nothing is wrong. */
static void test_changed_arrays(void **unused)
{
    (void) unused;
    uint32_t a = fill_u32(SIZE, 5), where = jit_var_u32(CPU, 7), value = 0, sum;
    uint32_t nine = jit_var_u32(CPU, 9), zero = jit_var_u32(CPU, 0);
    uint32_t b = jit_var_add(a, nine);
    OK(jit_var_eval(a) || jit_error() == JIT_OK);
    hold();
    OK(jit_var_eval(b));
    sum = jit_var_block_reduce(ReduceOpAdd, b, SIZE);
    OK(jit_var_eval(sum));
    interrupt_held();
    uint32_t c = jit_var_scatter(a, nine, where, ALWAYS, ReduceOpIdentity, 0);
    jit_var_dec_ref(a); /* in place */
    OK(jit_var_eval(c));
    assert_int_equal(entry(c, 7), 9);
    check_interrupted(sum);
    for (int i = 0; i < 3; ++i) {
        (void) jit_var_eval(sum);
        assert_false(jit_var_read(sum, 0, &value));
        CHECK_ERROR(JIT_ERROR_INTERRUPTED, "changed");
        assert_false(jit_var_read(b, 0, &value));
        CHECK_ERROR(JIT_ERROR_INTERRUPTED, "changed");
    }
    DROP(b, sum);

    hold();
    uint32_t d = jit_var_scatter(c, zero, where, ALWAYS, ReduceOpIdentity, 0);
    jit_var_dec_ref(c);
    OK(jit_var_eval(d));
    interrupt_held();
    for (int i = 0; i < 3; ++i) {
        (void) jit_var_eval(d);
        assert_false(jit_var_read(d, 7, &value));
        CHECK_ERROR(JIT_ERROR_INTERRUPTED, "cannot be repeated");
    }
    jit_error_clear();
    DROP(d, where, nine, zero);
}

/* One request is reported once, whatever it has interrupted. */
static void test_told_once(void **unused)
{
    (void) unused;
    uint32_t one = jit_var_u32(CPU, 1), a = fill_u32(3, 1), b = fill_u32(5, 2);
    uint32_t value = 0;
    hold();
    advance(&a, jit_var_add(a, one));
    OK(jit_var_eval(a));
    advance(&b, jit_var_add(b, one));
    OK(jit_var_eval(b));
    jit_interrupt();
    atomic_store(&go_on, true);
    assert_false(jit_var_read(a, 0, &value));
    CHECK_ERROR(JIT_ERROR_INTERRUPTED, "was interrupted");
    assert_true(jit_sync_thread());
    check_interrupted(b);
    jit_error_clear();

    uint32_t c = fill_u32(3, 1); /* another request, another report */
    hold();
    advance(&c, jit_var_add(c, one));
    OK(jit_var_eval(c));
    interrupt_held();
    DROP(a, b, c, one);
}

/* A chain of many: what it takes grows with its length only, and no walk is deep. */
static void test_long_chain(void **unused)
{
    (void) unused;
    enum { LENGTH = 20000 };
    uint32_t one = jit_var_u32(CPU, 1), last[2];
    for (int k = 0; k < 2; ++k) {
        last[k] = fill_u32(4, 0);
        hold();
        for (uint32_t i = 0; i < LENGTH; ++i) {
            advance(&last[k], jit_var_add(last[k], one));
            OK(jit_var_eval(last[k]));
        }
        interrupt_held();
        if (k == 0)
            jit_var_dec_ref(last[0]); /* all of it is dropped */
    }
    check_interrupted(last[1]);
    OK(jit_var_eval(last[1]));
    CHECK_U32(last[1], LENGTH, LENGTH, LENGTH, LENGTH);
    DROP(last[1], one);
}

static int tests(void)
{
    const struct CMUnitTest list[] = {
        TEST(test_one_lane), TEST(test_many_lanes), TEST(test_calls_of_engines),
        TEST(test_callables), TEST(test_later_work), TEST(test_loop_again),
        TEST(test_results_again), TEST(test_changed_arrays), TEST(test_told_once),
        TEST(test_long_chain)
    };
    return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void)
{
    return run_engines(tests) ? 1 : 0;
}
