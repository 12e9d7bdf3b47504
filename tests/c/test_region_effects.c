/*
 * test_region_effects.c -- loops and conditionals that read and write arrays
 *
 * Every region here stands beside the same code in C over one lane at a time.
 */
#include "device/device.h"
#include "region_util.h"

enum { N = 1003 };

/* Arrays that bodies name without being given them. */
static uint32_t shared_array, shared_other;

static uint32_t scatter_add(uint32_t target, uint32_t value, uint32_t index)
{
    return jit_var_scatter(target, value, index, ALWAYS, ReduceOpAdd, ReduceModeAuto);
}

static uint32_t scatter_set(uint32_t target, uint32_t value, uint32_t index)
{
    return jit_var_scatter(target, value, index, ALWAYS, ReduceOpIdentity,
                           ReduceModeAuto);
}

static uint32_t below_limit(const uint32_t *state)
{
    return jit_var_lt(state[0], state[1]);
}

static uint32_t *random_limits(uint32_t bound)
{
    uint32_t *limits = malloc(N * sizeof(uint32_t));
    for (size_t i = 0; i < N; ++i)
        limits[i] = (uint32_t) (random_bits() % bound);
    return limits;
}

/* ------------------------------------------------------------------ gathers */

/* state: index, limit, sum; the table is from outside */
static void table_step(uint32_t *state)
{
    uint32_t entry = jit_var_gather(shared_array, state[0], ALWAYS);
    set(&state[2], with(jit_var_add, state[2], entry));
    add_u32(&state[0], 1);
}

static void test_gather(void **unused)
{
    (void) unused;
    uint32_t table[20], *limits = random_limits(21), sums[N] = { 0 };
    for (uint32_t i = 0; i < 20; ++i)
        table[i] = (uint32_t) random_bits();
    for (size_t k = 0; k < N; ++k)
        for (uint32_t i = 0; i < limits[k]; ++i)
            sums[k] += table[i];
    shared_array = u32_array(20, table);
    uint32_t state[] = { u32(0), u32_array(N, limits), u32(0) };
    run_loop("gather", 3, state, below_limit, table_step);
    /* The mask is that of the active lanes. */
    assert_int_equal(program_count(state[2], "active #0"), 1);
    CHECK_BYTES(state[2], sums, N);
    DROP(state[0], state[1], state[2], shared_array);
    free(limits);
}

/* The same with the table among the states, though its size is another one. */
static void table_state_step(uint32_t *state)
{
    uint32_t entry = jit_var_gather(state[3], state[0], ALWAYS);
    set(&state[2], with(jit_var_add, state[2], entry));
    add_u32(&state[0], 1);
}

static void test_table_as_state(void **unused)
{
    (void) unused;
    uint32_t table[] = { 1, 10, 100, 1000 }, limits[] = { 0, 1, 2, 3, 4 };
    for (int mode = 0; mode < 3; ++mode) {
        jit_set_flag(JitFlagOptimizeLoops, mode);
        jit_set_flag(JitFlagSymbolicLoops, mode < 2);
        uint32_t whole = u32_array(4, table);
        uint32_t state[] = { u32(0), u32_array(5, limits), u32(0),
                             jit_var_inc_ref(whole) };
        run_loop("table", 4, state, below_limit, table_state_step);
        assert_int_equal(state[3], whole);
        CHECK_U32(state[2], 0, 1, 11, 111, 1111);
        drop_all(state, 4);
        jit_var_dec_ref(whole);
    }
}

/* Nested: the table is a state of the outer and of the inner loop. */
static void nested_table_step(uint32_t *state)
{
    uint32_t inner[] = { u32(0), jit_var_inc_ref(state[1]), jit_var_inc_ref(state[2]),
                         jit_var_inc_ref(state[3]) };
    run_loop("inner", 4, inner, below_limit, table_state_step);
    set(&state[2], inner[2]);
    set(&state[3], inner[3]);
    DROP(inner[0], inner[1]);
    add_u32(&state[0], 1);
}

static void test_nested_table(void **unused)
{
    (void) unused;
    uint32_t table[] = { 1, 10, 100, 1000 }, limits[] = { 0, 1, 2, 3, 4 };
    uint32_t state[] = { u32(0), u32_array(5, limits), u32(0), u32_array(4, table) };
    run_loop("outer", 4, state, below_limit, nested_table_step);
    CHECK_U32(state[2], 0, 1, 22, 333, 4444);
    drop_all(state, 4);
}

/* A state that is gathered from cannot be replaced. */
static void replacing_step(uint32_t *state)
{
    table_state_step(state);
    set(&state[3], with(jit_var_add, state[3], u32(1)));
}

static void test_replaced_table(void **unused)
{
    (void) unused;
    uint32_t state[] = { u32(0), u32(3), u32(0), counter(7) };
    assert_int_equal(
        run_loop_status("replaced", 4, state, below_limit, replacing_step), -1);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "state 3", "7 entries", "cannot be replaced");
    drop_all(state, 4);
}

/* ----------------------------------------------------------------- scatters */

/* state: index, limit, sum; adds to 'shared_array' */
static void histogram_step(uint32_t *state)
{
    uint32_t one = u32(1);
    advance(&shared_array, scatter_add(shared_array, one, state[0]));
    jit_var_dec_ref(one);
    set(&state[2], with(jit_var_add, state[2], jit_var_inc_ref(state[0])));
    add_u32(&state[0], 1);
}

static void test_scatter(void **unused)
{
    (void) unused;
    uint32_t *limits = random_limits(16), counts[16] = { 0 }, sums[N] = { 0 };
    for (size_t k = 0; k < N; ++k)
        for (uint32_t i = 0; i < limits[k]; ++i) {
            counts[i]++;
            sums[k] += i;
        }
    shared_array = fill_u32(16, 0);
    uint32_t before = shared_array;
    uint32_t state[] = { u32(0), u32_array(N, limits), u32(0) };
    run_loop("histogram", 3, state, below_limit, histogram_step);
    assert_int_equal(shared_array, before); /* in place */
    assert_int_equal(jit_var_is_dirty(shared_array), 1);
    /* The loop runs once, whatever is asked for and in which order: results that
     * somebody holds are stored along with it. */
    size_t launches[2];
    jit_launch_stats(&launches[0], NULL, NULL, NULL);
    CHECK_BYTES(state[2], sums, N);
    CHECK_BYTES(state[0], limits, N);
    CHECK_BYTES(shared_array, counts, 16);
    jit_launch_stats(&launches[1], NULL, NULL, NULL);
    assert_int_equal(launches[1] - launches[0], 1);
    DROP(state[0], state[1], state[2], shared_array);
    free(limits);
}

/* One iteration after the other: effects are those of the active lanes, and what was
 * written can be read at once. */
static void draw_evaluated_step(uint32_t *state)
{
    histogram_step(state);
    set(&state[2], jit_var_gather(shared_array, state[1], ALWAYS));
}

static void test_evaluated(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagSymbolicLoops, 0);
    uint32_t limits[] = { 0, 1, 2, 3, 2 };
    shared_array = fill_u32(4, 0);
    uint32_t state[] = { u32(0), u32_array(5, limits), u32(9) };
    run_loop("evaluated", 3, state, below_limit, draw_evaluated_step);
    CHECK_U32(shared_array, 4, 3, 1, 0);
    CHECK_U32(state[2], 9, 0, 0, 0, 0);
    drop_all(state, 3);
    jit_var_dec_ref(shared_array);
}

/* Writes of one array before, in and after a loop have the effect of their order. */
static void overwrite_step(uint32_t *state)
{
    uint32_t value = with(jit_var_add, state[0], u32(100));
    advance(&shared_array, scatter_set(shared_array, value, state[0]));
    jit_var_dec_ref(value);
    add_u32(&state[0], 1);
}

static void put(uint32_t *array, uint32_t value, uint32_t index)
{
    uint32_t v = u32(value), i = u32(index);
    advance(array, scatter_set(*array, v, i));
    DROP(v, i);
}

static void test_order(void **unused)
{
    (void) unused;
    shared_array = fill_u32(6, 0);
    put(&shared_array, 1, 1);
    put(&shared_array, 4, 4);
    uint32_t state[] = { u32(0), fill_u32(1, 3) };
    run_loop("first", 2, state, below_limit, overwrite_step);
    put(&shared_array, 2, 2);
    put(&shared_array, 5, 5);
    uint32_t more[] = { u32(5), fill_u32(1, 6) };
    run_loop("second", 2, more, below_limit, overwrite_step);
    /* The second loop's condition depends on a result of the first. */
    uint32_t last[] = { jit_var_inc_ref(state[0]), fill_u32(1, 4) };
    run_loop("third", 2, last, below_limit, overwrite_step);
    CHECK_U32(shared_array, 100, 101, 2, 103, 4, 105);
    CHECK_U32(last[0], 4);
    DROP(state[0], state[1], more[0], more[1], last[0], last[1], shared_array);
}

/* Several arrays, one of them written in an inner loop only. */
static void two_arrays_inner(uint32_t *state)
{
    advance(&shared_other, scatter_add(shared_other, state[1], state[0]));
    add_u32(&state[0], 1);
}

static void two_arrays_step(uint32_t *state)
{
    uint32_t inner[] = { u32(0), jit_var_inc_ref(state[0]) };
    run_loop("inner", 2, inner, below_limit, two_arrays_inner);
    DROP(inner[0], inner[1]);
    histogram_step(state);
}

static void test_two_arrays(void **unused)
{
    (void) unused;
    uint32_t *limits = random_limits(9), counts[9] = { 0 }, others[9] = { 0 };
    for (size_t k = 0; k < N; ++k)
        for (uint32_t i = 0; i < limits[k]; ++i) {
            counts[i]++;
            for (uint32_t j = 0; j < i; ++j)
                others[j] += i;
        }
    shared_array = fill_u32(9, 0);
    shared_other = fill_u32(9, 0);
    uint32_t state[] = { u32(0), u32_array(N, limits), u32(0) };
    run_loop("two arrays", 3, state, below_limit, two_arrays_step);
    drop_all(state, 3); /* the effects stay */
    CHECK_BYTES(shared_other, others, 9);
    CHECK_BYTES(shared_array, counts, 9);
    DROP(shared_array, shared_other);
    free(limits);
}

/* An array that only the loop knows, and results that nobody has: nothing runs. */
static void test_unobserved(void **unused)
{
    (void) unused;
    size_t launches[2];
    shared_array = fill_u32(8, 0);
    uint32_t state[] = { u32(0), fill_u32(1, 3), u32(0) };
    run_loop("unobserved", 3, state, below_limit, histogram_step);
    jit_var_dec_ref(shared_array);
    drop_all(state, 3);
    jit_launch_stats(&launches[0], NULL, NULL, NULL);
    OK(jit_eval());
    jit_launch_stats(&launches[1], NULL, NULL, NULL);
    assert_int_equal(launches[0], launches[1]);
}

/* The target is a state; its size has nothing to do with the loop's. */
static void target_state_step(uint32_t *state)
{
    advance(&state[2], scatter_add(state[2], state[0], state[0]));
    advance(&state[2], scatter_add(state[2], state[1], state[0]));
    add_u32(&state[0], 1);
}

static void test_target_as_state(void **unused)
{
    (void) unused;
    uint32_t limits[] = { 0, 1, 2, 3, 4 };
    for (int mode = 0; mode < 3; ++mode) {
        jit_set_flag(JitFlagOptimizeLoops, mode);
        jit_set_flag(JitFlagSymbolicLoops, mode < 2);
        uint32_t target = fill_u32(6, 0);
        uint32_t state[] = { u32(0), u32_array(5, limits), target };
        run_loop("target", 3, state, below_limit, target_state_step);
        assert_int_equal(state[2], target); /* in place: nobody else had it */
        CHECK_U32(state[2], 1 + 2 + 3 + 4, 3 + 2 + 3 + 4, 4 + 3 + 4, 3 + 4, 0, 0);
        drop_all(state, 3);
    }
}

/* Packets are one access, or several to one array; both are in place. */
static void packet_step(uint32_t *state)
{
    uint32_t values[] = { u32(1), jit_var_inc_ref(state[0]) };
    advance(&shared_array, jit_var_scatter_packet(2, shared_array, values, state[0],
                                                  ALWAYS, ReduceOpAdd, ReduceModeAuto));
    DROP(values[0], values[1]);
    add_u32(&state[0], 1);
}

static void test_packet(void **unused)
{
    (void) unused;
    uint32_t limits[] = { 0, 1, 2, 3, 4 };
    for (int packets = 0; packets < 2; ++packets) {
        jit_set_flag(JitFlagPacketOps, packets);
        uint32_t before = shared_array = fill_u32(8, 0);
        uint32_t state[] = { u32(0), u32_array(5, limits) };
        run_loop("packet", 2, state, below_limit, packet_step);
        assert_int_equal(shared_array, before);
        CHECK_U32(shared_array, 4, 0, 3, 3, 2, 4, 1, 3);
        DROP(state[0], state[1], shared_array);
    }
}

/* Other holders of the array keep it as it was. */
static void test_shared_target(void **unused)
{
    (void) unused;
    uint32_t limits[] = { 0, 1, 2, 3, 4 }, target = fill_u32(6, 0);
    uint32_t state[] = { u32(0), u32_array(5, limits), jit_var_inc_ref(target) };
    run_loop("shared", 3, state, below_limit, target_state_step);
    CHECK_U32(state[2], 10, 12, 11, 7, 0, 0);
    CHECK_U32(target, 0, 0, 0, 0, 0, 0);
    drop_all(state, 3);
    jit_var_dec_ref(target);
}

/* ------------------------------------------- reading and writing one array */

/* Read, then write: all reads see what was there before the loop. */
static void read_write_step(uint32_t *state)
{
    uint32_t entry = jit_var_gather(shared_array, state[0], ALWAYS);
    set(&state[2], with(jit_var_add, state[2], jit_var_inc_ref(entry)));
    set(&entry, with(jit_var_add, entry, u32(1)));
    uint32_t next = with(jit_var_add, state[0], u32(1));
    advance(&shared_array, scatter_set(shared_array, entry, next));
    DROP(entry);
    set(&state[0], next);
}

static void test_read_before_write(void **unused)
{
    (void) unused;
    shared_array = u32_array(5, (uint32_t[]){ 10, 20, 30, 40, 50 });
    uint32_t kept = jit_var_inc_ref(shared_array);
    uint32_t state[] = { u32(0), fill_u32(1, 4), u32(0) };
    run_loop("read, write", 3, state, below_limit, read_write_step);
    CHECK_U32(state[2], 100);
    CHECK_U32(shared_array, 10, 11, 21, 31, 41);
    CHECK_U32(kept, 10, 20, 30, 40, 50);
    drop_all(state, 3);
    DROP(shared_array, kept);
}

static void test_read_after_write(void **unused)
{
    (void) unused;
    shared_array = fill_u32(5, 3);
    uint32_t state[] = { u32(0), fill_u32(1, 4) };
    uint32_t loop = jit_var_loop_start(CPU, "write, read", 2, state);
    uint32_t mask = below_limit(state);
    assert_int_equal(jit_var_loop_cond(loop, mask), 1);
    advance(&shared_array, scatter_set(shared_array, state[0], state[0]));
    assert_int_equal(jit_var_gather(shared_array, state[0], ALWAYS), 0);
    CHECK_ERROR(JIT_ERROR_STATE, "cannot be read now", "loop 'write, read'",
                "being traced");
    assert_int_equal(jit_var_add(shared_array, state[0]), 0);
    CHECK_ERROR(JIT_ERROR_STATE, "cannot be read now");
    add_u32(&state[0], 1); /* the recording goes on */
    assert_int_equal(jit_var_loop_end(loop, state), 1);
    CHECK_U32(shared_array, 0, 1, 2, 3, 3);
    DROP(state[0], state[1], mask, shared_array);
}

/* The message names both places, here those of the sides of a conditional. */
static void write_here(uint32_t *values)
{
    jit_set_source_location("write.py", 12);
    advance(&shared_array, scatter_set(shared_array, values[0], values[0]));
    jit_set_source_location(NULL, 0);
}

static void read_there(uint32_t *values)
{
    jit_set_source_location("read.py", 34);
    assert_int_equal(jit_var_gather(shared_array, values[0], ALWAYS), 0);
    CHECK_ERROR(JIT_ERROR_STATE, "cannot be read now", "read.py:34",
                "conditional 'places'", "write.py:12");
    jit_set_source_location(NULL, 0);
}

static void test_places(void **unused)
{
    (void) unused;
    shared_array = fill_u32(5, 3);
    uint32_t x = counter(4), two = u32(2), condition = jit_var_lt(x, two);
    uint32_t cond = jit_var_cond_start("places", condition);
    write_here(&x);
    OK(jit_var_cond_append(cond, 0, NULL));
    read_there(&x);
    OK(jit_var_cond_append(cond, 0, NULL));
    OK(jit_var_cond_end(cond, NULL));
    CHECK_U32(shared_array, 0, 1, 3, 3, 3);
    DROP(x, two, condition, shared_array);
}

/* ------------------------------------------------------------- private copies */

static uint32_t scatter_max(uint32_t target, uint32_t value, uint32_t index)
{
    return jit_var_scatter(target, value, index, ALWAYS, ReduceOpMax, ReduceModeAuto);
}

/* Reductions of one kind go to private copies where these pay, as outside. */
static void test_private_copies(void **unused)
{
    (void) unused;
    uint32_t *limits = random_limits(16), counts[16] = { 0 };
    for (size_t k = 0; k < N; ++k)
        for (uint32_t i = 0; i < limits[k]; ++i)
            counts[i]++;
    for (int few = 0; few < 2; ++few) {
        shared_array = fill_u32(16, 0);
        uint32_t state[] = { u32(0), few ? u32_array(1, limits) : u32_array(N, limits),
                             u32(0) };
        run_loop("histogram", 3, state, below_limit, histogram_step);
        assert_int_equal(program_count(state[2], "worker"), !few);
        if (few)
            memset(counts, 0, sizeof(counts));
        for (uint32_t i = 0; few && i < limits[0]; ++i)
            counts[i]++;
        CHECK_BYTES(shared_array, counts, 16);
        DROP(state[0], state[1], state[2], shared_array);
    }
    free(limits);
}

/* How often a loop goes round is known if it counts with literals. */
typedef struct Turns {
    uint32_t (*goes_on)(uint32_t, uint32_t);
    uint32_t first, step, limit;
    bool swapped;  /* limit op state */
    uint32_t turns;
} Turns;

static const Turns *turns;

static uint32_t turns_left(const uint32_t *state)
{
    uint32_t limit = u32(turns->limit), condition;
    condition = turns->swapped ? turns->goes_on(limit, state[0])
                               : turns->goes_on(state[0], limit);
    jit_var_dec_ref(limit);
    return condition;
}

static void turns_step(uint32_t *state)
{
    uint32_t one = u32(1);
    advance(&shared_array, scatter_add(shared_array, one, state[1]));
    jit_var_dec_ref(one);
    add_u32(&state[0], turns->step);
}

static void test_counted_turns(void **unused)
{
    (void) unused;
    enum { LANES = 1024, ENTRIES = 60000, COPY = 60096, WORTH = 6 };
    Device *device = device_find(CPU, IS_FAR ? (uint32_t) MALLOC_DEVICE : 0);
    const uint32_t each = WORTH * LANES; /* entries that a turn is worth */
    const uint32_t enough = (device->workers(device) * COPY + each - 1) / each;
    const Turns all[] = {
        { jit_var_lt, 0, 1, enough, false, enough },
        { jit_var_lt, 0, 1, enough - 1, false, enough - 1 },
        { jit_var_lt, 5, 3, 5 + 3 * enough - 2, false, enough },
        { jit_var_gt, 5, 3, 5 + 3 * (enough - 1), true, enough - 1 },
        { jit_var_le, 1, 1, enough, false, enough },
        { jit_var_ge, 1, 1, enough - 1, true, enough - 1 },
        { jit_var_gt, enough, UINT32_MAX, 0, false, enough },
        { jit_var_ge, enough - 1, UINT32_MAX, 1, false, enough - 1 },
        { jit_var_neq, enough, UINT32_MAX, 0, false, enough },
        { jit_var_neq, 2, 4, 2 + 4 * (enough - 1), true, enough - 1 },
        { jit_var_lt, 7, 1, 7, false, 0 },
    };
    for (size_t i = 0; i < COUNT_OF(all); ++i) {
        turns = &all[i];
        shared_array = fill_u32(ENTRIES, 0);
        uint32_t state[] = { u32(turns->first), counter(LANES) };
        run_loop("counted", 2, state, turns_left, turns_step);
        assert_int_equal(program_count(state[0], "worker") != 0,
                         turns->turns >= enough);
        for (uint32_t k = 0, found; k < ENTRIES; ++k) {
            OK(jit_var_read(shared_array, k, &found));
            assert_int_equal(found, k < LANES ? turns->turns : 0);
        }
        DROP(state[0], state[1], shared_array);
    }
}

/* What is written in two ways cannot have any. */
static void add_and_max_step(uint32_t *state)
{
    uint32_t hundred = u32(100);
    histogram_step(state);
    advance(&shared_array, scatter_max(shared_array, hundred, state[2]));
    jit_var_dec_ref(hundred);
}

static void test_two_reductions(void **unused)
{
    (void) unused;
    shared_array = fill_u32(4, 0);
    uint32_t state[] = { u32(0), fill_u32(N, 1), u32(2) };
    run_loop("two", 3, state, below_limit, add_and_max_step);
    assert_int_equal(program_count(state[2], "worker"), 0);
    CHECK_U32(shared_array, N, 0, 100, 0);
    DROP(state[0], state[1], state[2], shared_array);
}

/* Two arrays, in an inner conditional and by packets; writes that are queued before and
 * after the loop, to one of them in another way, keep their order. */
static void inner_add(uint32_t *v)
{
    uint32_t one = u32(1), zero = u32(0);
    advance(&shared_other, jit_var_scatter_packet(2, shared_other,
                                                  (uint32_t[]){ one, v[0] }, zero,
                                                  ALWAYS, ReduceOpAdd, ReduceModeAuto));
    DROP(one, zero);
}

static void nested_step(uint32_t *state)
{
    uint32_t two = u32(2), condition = jit_var_lt(state[0], two);
    uint32_t v[] = { jit_var_inc_ref(state[0]) };
    uint32_t cond = jit_var_cond_start("inner", condition);
    inner_add(v);
    OK(jit_var_cond_append(cond, 0, NULL) && jit_var_cond_append(cond, 0, NULL) &&
       jit_var_cond_end(cond, NULL));
    DROP(v[0], two, condition);
    histogram_step(state);
}

static void test_nested_copies(void **unused)
{
    (void) unused;
    for (int rounds = 1; rounds < 3; ++rounds) {
        shared_array = fill_u32(8, 5);
        shared_other = fill_u32(2, 7);
        put(&shared_array, 1000, 0);
        for (int i = 0; i < rounds; ++i) {
            uint32_t state[] = { u32(0), fill_u32(N, 3), u32(0) };
            run_loop("nested", 3, state, below_limit, nested_step);
            assert_int_not_equal(program_count(state[2], "worker"), 0);
            DROP(state[0], state[1], state[2]);
        }
        put(&shared_array, 9, 2);
        uint32_t n = (uint32_t) rounds * N;
        CHECK_U32(shared_array, 1000 + n, 5 + n, 9, 5, 5, 5, 5, 5);
        CHECK_U32(shared_other, 7 + 2 * n, 7 + n);
        DROP(shared_array, shared_other);
    }
}

/* Values of a state and writes to it as an array. */
static void mixed_step(uint32_t *state)
{
    uint32_t sum = jit_var_add(state[2], state[0]);
    advance(&state[2], scatter_set(state[2], sum, state[0]));
    jit_var_dec_ref(sum);
    add_u32(&state[0], 1);
}

static void test_mixed_use(void **unused)
{
    (void) unused;
    /* The state does not change, so its values are those of the array from before the
     * loop. */
    uint32_t state[] = { counter(4), u32(4), fill_u32(4, 7) };
    run_loop("mixed", 3, state, below_limit, mixed_step);
    assert_int_equal(tracings, 1);
    CHECK_U32(state[2], 7, 8, 9, 10);
    drop_all(state, 3);
    jit_set_flag(JitFlagOptimizeLoops, 0);
    uint32_t again[] = { counter(4), u32(4), fill_u32(4, 7) };
    assert_int_equal(run_loop_status("mixed", 3, again, below_limit, mixed_step), -1);
    CHECK_ERROR(JIT_ERROR_STATE, "also scatters to");
    assert_int_equal(jit_record_checkpoint(CPU), 0);
    drop_all(again, 3);
}

/* ------------------------------------------------------------------ atomics */

/* Each active lane draws numbers; a lane's last one is its result. */
static void draw_step(uint32_t *state)
{
    uint32_t zero = u32(0);
    set(&state[2], jit_var_scatter_inc(&shared_array, zero, ALWAYS));
    uint32_t one = u32(1);
    advance(&shared_other, scatter_add(shared_other, one, state[2]));
    DROP(zero, one);
    add_u32(&state[0], 1);
}

static void test_atomic(void **unused)
{
    (void) unused;
    uint32_t *limits = random_limits(5), total = 0;
    for (size_t k = 0; k < N; ++k)
        total += limits[k];
    shared_array = fill_u32(1, 0);
    shared_other = fill_u32(5 * N, 0);
    uint32_t state[] = { u32(0), u32_array(N, limits), u32(0) };
    run_loop("draw", 3, state, below_limit, draw_step);
    uint32_t *drawn = calloc(5 * N, sizeof(uint32_t));
    for (uint32_t i = 0; i < total; ++i)
        drawn[i] = 1;
    CHECK_BYTES(shared_other, drawn, 5 * N); /* each number once */
    CHECK_BYTES(shared_array, &total, 1);
    drop_all(state, 3);
    DROP(shared_array, shared_other);
    free(drawn);
    free(limits);
}

/* ------------------------------------------------------------------ results */

/* A loop of one lane with effects, whose result a larger computation uses. */
static void test_sizes_of_groups(void **unused)
{
    (void) unused;
    shared_array = fill_u32(4, 0);
    uint32_t state[] = { u32(0), fill_u32(1, 3), u32(0) };
    run_loop("small", 3, state, below_limit, histogram_step);
    uint32_t wide = counter(3), sum = jit_var_add(wide, state[2]);
    uint32_t target = fill_u32(3, 0);
    advance(&target, scatter_add(target, sum, wide));
    CHECK_U32(sum, 3, 4, 5);
    CHECK_U32(target, 3, 4, 5);
    CHECK_U32(shared_array, 1, 1, 1, 0);
    drop_all(state, 3);
    DROP(wide, sum, target, shared_array);
}

/* In debug mode an index out of bounds in a body is reported, not followed. */
static void test_debug(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagDebug, 1);
    jit_set_log_level_callback(LogLevelWarn, log_keep);
    jit_set_log_level_stderr(LogLevelNone);
    shared_array = u32_array(2, (uint32_t[]){ 5, 6 });
    uint32_t state[] = { u32(0), fill_u32(1, 4), u32(0) };
    run_loop("debug", 3, state, below_limit, table_step);
    CHECK_U32(state[2], 11);
    OK(jit_sync_thread());
    assert_int_equal(log_count("out-of-bounds"), 1);
    jit_set_log_level_stderr(LogLevelWarn);
    drop_all(state, 3);
    jit_var_dec_ref(shared_array);
}

static int all(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_gather), TEST(test_table_as_state), TEST(test_nested_table),
        TEST(test_replaced_table), TEST(test_scatter), TEST(test_evaluated),
        TEST(test_order),
        TEST(test_two_arrays), TEST(test_unobserved), TEST(test_target_as_state),
        TEST(test_packet),
        TEST(test_shared_target), TEST(test_read_before_write),
        TEST(test_read_after_write), TEST(test_places), TEST(test_private_copies),
        TEST(test_counted_turns),
        TEST(test_two_reductions), TEST(test_nested_copies), TEST(test_mixed_use),
        TEST(test_atomic),
        TEST(test_sizes_of_groups), TEST(test_debug),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_engines(all); }
