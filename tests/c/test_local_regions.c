/*
 * test_local_regions.c -- local memory in loops and conditionals
 *
 * The reference is an ordinary C array for each lane. What can be changed in place is:
 * the Programs are searched for copies.
 */
#include "test_util.h"

enum { N = 70 }; /* lanes: more than a packet, not a multiple of one */

/* ----------------------------------------------------------------------- loops */

/* while (state[0] < bound) body(state), with state[0] counted up by this. */
static void run_loop(uint32_t bound, size_t n, uint32_t *state,
                     void (*body)(uint32_t *state))
{
    uint32_t one = jit_var_u32(CPU, 1);
    uint32_t loop = jit_var_loop_start(CPU, "loop", n, state);
    OK(loop);
    int again;
    do {
        uint32_t condition = jit_var_lt(state[0], bound);
        again = jit_var_loop_cond(loop, condition);
        jit_var_dec_ref(condition);
        if (again > 0) {
            body(state);
            advance(&state[0], jit_var_add(state[0], one));
        }
    } while (again >= 0 && (again = jit_var_loop_end(loop, state)) == 0);
    OK(again > 0);
    jit_var_dec_ref(one);
}

static uint32_t read_at(uint32_t array, uint32_t position)
{
    uint32_t at = jit_var_u32(CPU, position);
    uint32_t result = jit_array_read(array, at, ALWAYS);
    OK(result);
    jit_var_dec_ref(at);
    return result;
}

static void fill_body(uint32_t *state)
{
    uint32_t lane = jit_var_counter(CPU, N), value = jit_var_add(state[0], lane);
    advance(&state[1], jit_array_write(state[1], state[0], value, ALWAYS));
    DROP(lane, value);
}

/* Lanes that have left the loop write no more; changed in place. */
static void test_loop(void **unused)
{
    (void) unused;
    enum { LENGTH = 6 };
    uint32_t limits[N], got[LENGTH], expected[LENGTH][N];
    for (uint32_t i = 0; i < N; ++i)
        limits[i] = i % (LENGTH + 2); /* beyond the end, too */
    uint32_t bound = u32_array(N, limits), sum = jit_var_u32(CPU, 0);
    uint32_t state[] = { jit_var_u32(CPU, 0),
                         jit_array_create(CPU, VarTypeUInt32, LENGTH, 1) };
    run_loop(bound, 2, state, fill_body);
    assert_int_equal(jit_array_length(state[1]), LENGTH);
    for (uint32_t k = 0; k < LENGTH; ++k) {
        got[k] = read_at(state[1], k);
        advance(&sum, jit_var_add(sum, got[k]));
        for (uint32_t i = 0; i < N; ++i)
            expected[k][i] = k < limits[i] ? k + i : 0;
    }
    const char *text = jit_program_str(sum);
    OK(text);
    assert_int_equal(count_text(text, "= local."), 1);
    assert_int_equal(count_text(text, "local_move"), 0);
    assert_int_equal(count_text(text, "region loop"), 1);
    for (uint32_t k = 0; k < LENGTH; ++k) {
        CHECK_BYTES(got[k], expected[k], N);
        jit_var_dec_ref(got[k]);
    }
    DROP(bound, state[0], state[1], sum);
}

static void swap_body(uint32_t *state)
{
    uint32_t zero = jit_var_u32(CPU, 0), value = jit_array_read(state[1], zero, ALWAYS);
    uint32_t next = jit_var_add(value, state[0]);
    uint32_t written = jit_array_write(state[2], zero, next, ALWAYS);
    jit_var_dec_ref(state[2]);
    state[2] = state[1];
    state[1] = written;
    DROP(zero, value, next);
}

/* Arrays that change places in each iteration; lanes leave at different times. */
static void test_exchange(void **unused)
{
    (void) unused;
    uint32_t limits[N], expected[2][N];
    for (uint32_t i = 0; i < N; ++i) {
        limits[i] = i % 7;
        uint32_t a = 100, b = 200;
        for (uint32_t k = 0; k < limits[i]; ++k) {
            uint32_t written = a + k;
            b = a;
            a = written;
        }
        expected[0][i] = a;
        expected[1][i] = b;
    }
    uint32_t bound = u32_array(N, limits), a = jit_var_u32(CPU, 100);
    uint32_t b = jit_var_u32(CPU, 200);
    uint32_t fresh = jit_array_create(CPU, VarTypeUInt32, 3, N);
    uint32_t state[] = { jit_var_u32(CPU, 0), jit_array_init(fresh, a),
                         jit_array_init(fresh, b) };
    run_loop(bound, 3, state, swap_body);
    uint32_t x = read_at(state[1], 0), y = read_at(state[2], 0);
    uint32_t z = read_at(state[2], 2);
    OK(jit_var_schedule(x) && jit_var_schedule(y) && jit_var_schedule(z));
    OK(jit_eval());
    CHECK_BYTES(x, expected[0], N);
    CHECK_BYTES(y, expected[1], N);
    for (uint32_t i = 0; i < N; ++i)
        expected[0][i] = limits[i] % 2 ? 100 : 200;
    CHECK_BYTES(z, expected[0], N);
    DROP(bound, a, b, fresh, state[0], state[1], state[2], x, y, z);
}

static uint32_t captured; /* an array from outside */
static uint32_t nothing;  /* 0, in memory */

static void capture_body(uint32_t *state)
{
    uint32_t one = jit_var_u32(CPU, 1), old = jit_array_read(captured, one, ALWAYS);
    uint32_t scratch = jit_array_write(captured, one, state[0], ALWAYS);
    uint32_t fresh = jit_array_read(scratch, one, ALWAYS);
    uint32_t both = jit_var_add(old, fresh);
    advance(&state[1], jit_var_add(state[1], both));
    /* An array that lives in one iteration only. */
    uint32_t local = jit_array_create(CPU, VarTypeUInt32, 2, 1);
    advance(&local, jit_array_init(local, nothing));
    uint32_t before = jit_array_read(local, one, ALWAYS);
    advance(&local, jit_array_write(local, one, state[1], ALWAYS));
    uint32_t after = jit_array_read(local, one, ALWAYS);
    advance(&state[2], jit_var_add(state[2], before));
    advance(&state[3], jit_var_add(state[3], after));
    DROP(one, old, scratch, fresh, both, local, before, after);
}

/* A body that reads an array from outside and writes to a version of its own. */
static void test_captured(void **unused)
{
    (void) unused;
    uint32_t limits[N], expected[3][N];
    for (uint32_t i = 0; i < N; ++i) {
        limits[i] = i % 5;
        expected[0][i] = expected[1][i] = expected[2][i] = 0;
        for (uint32_t k = 0; k < limits[i]; ++k) {
            expected[0][i] += 40 + k;
            expected[2][i] += expected[0][i];
        }
    }
    uint32_t bound = u32_array(N, limits), forty = u32_array(1, (uint32_t[]){ 40 });
    uint32_t fresh = jit_array_create(CPU, VarTypeUInt32, 2, N);
    captured = jit_array_init(fresh, forty);
    nothing = u32_array(1, (uint32_t[]){ 0 });
    uint32_t state[4];
    for (int k = 0; k < 4; ++k)
        state[k] = jit_var_u32(CPU, 0);
    run_loop(bound, 4, state, capture_body);
    uint32_t still = read_at(captured, 1);
    for (int k = 1; k < 4; ++k)
        OK(jit_var_schedule(state[k]));
    OK(jit_var_schedule(still));
    OK(jit_eval());
    CHECK_BYTES(state[1], expected[0], N);
    CHECK_BYTES(state[2], expected[1], N);
    CHECK_BYTES(state[3], expected[2], N);
    for (uint32_t i = 0; i < N; ++i)
        expected[0][i] = 40;
    CHECK_BYTES(still, expected[0], N);
    drop_all(state, 4);
    DROP(bound, forty, fresh, captured, nothing, still);
}

/* The initial version is needed after the loop. */
static void test_initial_version(void **unused)
{
    (void) unused;
    uint32_t three = jit_var_u32(CPU, 3), nine = u32_array(1, (uint32_t[]){ 9 });
    uint32_t fresh = jit_array_create(CPU, VarTypeUInt32, 4, N);
    uint32_t first = jit_array_init(fresh, nine);
    uint32_t state[] = { jit_var_u32(CPU, 0), first };
    jit_var_inc_ref(first);
    run_loop(three, 2, state, fill_body);
    uint32_t x = read_at(state[1], 2), y = read_at(first, 2), z = read_at(state[1], 3);
    uint32_t expected[3][N];
    for (uint32_t i = 0; i < N; ++i) {
        expected[0][i] = 2 + i;
        expected[1][i] = expected[2][i] = 9;
    }
    OK(jit_var_schedule(x) && jit_var_schedule(y) && jit_var_schedule(z));
    OK(jit_eval());
    CHECK_BYTES(x, expected[0], N);
    CHECK_BYTES(y, expected[1], N);
    CHECK_BYTES(z, expected[2], N);
    DROP(three, nine, fresh, first, state[0], state[1], x, y, z);
}

/* Insertion sort of each lane's array: two loops, one in the other. */
enum { SORTED = 12 };

static void sort_body(uint32_t *state)
{
    uint32_t one = jit_var_u32(CPU, 1), zero = jit_var_u32(CPU, 0);
    uint32_t key = jit_array_read(state[1], state[0], ALWAYS);
    uint32_t inner[] = { jit_var_inc_ref(state[0]), state[1] };
    uint32_t loop = jit_var_loop_start(CPU, "shift", 2, inner);
    OK(loop);
    int again;
    do {
        uint32_t some = jit_var_gt(inner[0], zero);
        uint32_t before = jit_var_sub(inner[0], one);
        uint32_t value = jit_array_read(inner[1], before, some);
        uint32_t larger = jit_var_gt(value, key), condition = jit_var_and(some, larger);
        again = jit_var_loop_cond(loop, condition);
        if (again > 0) {
            uint32_t moved = jit_array_read(inner[1], before, ALWAYS);
            advance(&inner[1], jit_array_write(inner[1], inner[0], moved, ALWAYS));
            advance(&inner[0], jit_var_sub(inner[0], one));
            jit_var_dec_ref(moved);
        }
        DROP(some, before, value, larger, condition);
    } while (again >= 0 && (again = jit_var_loop_end(loop, inner)) == 0);
    OK(again > 0);
    state[1] = jit_array_write(inner[1], inner[0], key, ALWAYS);
    OK(state[1]);
    DROP(one, zero, key, inner[0], inner[1]);
}

static int compare_u32(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void test_nested_loops(void **unused)
{
    (void) unused;
    uint32_t model[N][SORTED], column[N], got[SORTED];
    uint32_t array = jit_array_create(CPU, VarTypeUInt32, SORTED, N);
    for (uint32_t k = 0; k < SORTED; ++k) {
        for (uint32_t i = 0; i < N; ++i)
            column[i] = model[i][k] = (uint32_t) random_bits() % 50;
        uint32_t value = u32_array(N, column), at = jit_var_u32(CPU, k);
        advance(&array, jit_array_write(array, at, value, ALWAYS));
        DROP(value, at);
    }
    uint32_t bound = jit_var_u32(CPU, SORTED);
    uint32_t state[] = { jit_var_u32(CPU, 1), array };
    run_loop(bound, 2, state, sort_body);
    uint32_t sum = jit_var_u32(CPU, 0);
    for (uint32_t k = 0; k < SORTED; ++k) {
        got[k] = read_at(state[1], k);
        advance(&sum, jit_var_add(sum, got[k]));
    }
    const char *text = jit_program_str(sum);
    OK(text);
    assert_int_equal(count_text(text, "= local."), 1);
    assert_int_equal(count_text(text, "local_move"), 0);
    for (uint32_t k = 0; k < SORTED; ++k)
        OK(jit_var_schedule(got[k]));
    OK(jit_eval());
    for (uint32_t i = 0; i < N; ++i)
        qsort(model[i], SORTED, sizeof(uint32_t), compare_u32);
    for (uint32_t k = 0; k < SORTED; ++k) {
        for (uint32_t i = 0; i < N; ++i)
            column[i] = model[i][k];
        CHECK_BYTES(got[k], column, N);
        jit_var_dec_ref(got[k]);
    }
    DROP(bound, sum, state[0], state[1]);
}

/* ----------------------------------------------------------------- conditionals */

/* What each side of a conditional makes of an array: the old one, the old one with an
 * entry written, another one from outside, one of its own. */
enum { KEEP, WRITE, OTHER, FRESH, WAYS };

static uint32_t make_side(int way, uint32_t array, uint32_t other, uint32_t value)
{
    uint32_t one = jit_var_u32(CPU, 1), result;
    if (way == KEEP || way == OTHER) {
        result = jit_var_inc_ref(way == KEEP ? array : other);
    } else if (way == WRITE) {
        result = jit_array_write(array, one, value, ALWAYS);
    } else {
        uint32_t fresh = jit_array_create(CPU, VarTypeUInt32, 2, 1);
        result = jit_array_write(fresh, one, value, ALWAYS);
        jit_var_dec_ref(fresh);
    }
    OK(result);
    jit_var_dec_ref(one);
    return result;
}

static uint32_t model_side(int way, uint32_t value, int position)
{
    switch (way) {
    case KEEP: return 50;
    case WRITE: return position ? value : 50;
    case OTHER: return 60;
    default: return position ? value : 0;
    }
}

static void test_conditionals(void **unused)
{
    (void) unused;
    uint8_t some[N];
    for (int i = 0; i < N; ++i)
        some[i] = random_bits() & 1;
    uint32_t mask = array_of(VarTypeBool, some, N);
    uint32_t fifty = u32_array(1, (uint32_t[]){ 50 });
    uint32_t sixty = u32_array(1, (uint32_t[]){ 60 }), lane = jit_var_counter(CPU, N);
    uint32_t seven = jit_var_u32(CPU, 7), more = jit_var_add(lane, seven);
    for (int way = 0; way < WAYS * WAYS * 2; ++way) {
        int first = way % WAYS, second = way / WAYS % WAYS;
        bool needed = way >= WAYS * WAYS; /* are the old versions read afterwards? */
        uint32_t fresh = jit_array_create(CPU, VarTypeUInt32, 2, N);
        uint32_t array = jit_array_init(fresh, fifty);
        uint32_t other = jit_array_init(fresh, sixty), result;
        uint32_t cond = jit_var_cond_start("cond", mask);
        OK(cond);
        uint32_t side = make_side(first, array, other, lane);
        OK(jit_var_cond_append(cond, 1, &side));
        jit_var_dec_ref(side);
        side = make_side(second, array, other, more);
        OK(jit_var_cond_append(cond, 1, &side));
        jit_var_dec_ref(side);
        OK(jit_var_cond_end(cond, &result));
        OK(result);
        uint32_t got[] = { read_at(result, 0), read_at(result, 1), read_at(array, 1),
                           read_at(other, 1) };
        for (int k = 0; k < (needed ? 4 : 2); ++k)
            OK(jit_var_schedule(got[k]));
        OK(jit_eval());
        for (int k = 0; k < (needed ? 4 : 2); ++k) {
            uint32_t expected[N];
            for (uint32_t i = 0; i < N; ++i)
                expected[i] = k == 2   ? 50
                              : k == 3 ? 60
                              : some[i] ? model_side(first, i, k)
                                        : model_side(second, i + 7, k);
            CHECK_BYTES(got[k], expected, N);
        }
        drop_all(got, 4);
        DROP(fresh, array, other, result);
    }
    DROP(mask, fifty, sixty, lane, seven, more);
}

/* Entries are selected one by one. Lengths have to agree. */
static void test_evaluated_conditional(void **unused)
{
    (void) unused;
    jit_set_flag(JitFlagSymbolicConditionals, 0);
    uint8_t some[] = { 0, 1, 1 };
    uint32_t mask = array_of(VarTypeBool, some, 3), one = jit_var_u32(CPU, 1);
    uint32_t array = jit_array_create(CPU, VarTypeUInt32, 2, 3), result = 0;
    uint32_t cond = jit_var_cond_start("cond", mask);
    uint32_t written = jit_array_write(array, one, one, ALWAYS);
    OK(jit_var_cond_append(cond, 1, &written));
    OK(jit_var_cond_append(cond, 1, &array));
    OK(jit_var_cond_end(cond, &result));
    uint32_t zero = jit_var_u32(CPU, 0);
    uint32_t first = jit_array_read(result, zero, ALWAYS);
    uint32_t second = jit_array_read(result, one, ALWAYS);
    CHECK_U32(first, 0, 0, 0);
    CHECK_U32(second, 0, 1, 1);
    DROP(zero, first, second, result);
    uint32_t longer = jit_array_create(CPU, VarTypeUInt32, 3, 3);
    cond = jit_var_cond_start("cond", mask);
    OK(jit_var_cond_append(cond, 1, &written));
    assert_false(jit_var_cond_append(cond, 1, &longer));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_var_cond_append()",
                "2 entries on the true side and of 3");
    DROP(mask, one, array, written, longer);
}

/* A conditional that gives an array without accessing one, and then a read of the old
 * version in a place that comes from the conditional: neither waits for the other. */
static void test_conditional_without_access(void **unused)
{
    (void) unused;
    uint32_t bits[N], expected[2][N];
    uint8_t some[N];
    for (uint32_t i = 0; i < N; ++i) {
        bits[i] = some[i] = i % 3 == 0;
        expected[0][i] = some[i] ? 10 : 0;
        expected[1][i] = some[i] ? i : 20;
    }
    uint32_t mask = array_of(VarTypeBool, some, N), places = u32_array(N, bits);
    uint32_t lane = jit_var_counter(CPU, N), zero = jit_var_u32(CPU, 0);
    uint32_t one = jit_var_u32(CPU, 1), three = jit_var_u32(CPU, 3);
    uint32_t ten = jit_var_u32(CPU, 10), twenty = jit_var_u32(CPU, 20);
    uint32_t fresh = jit_array_create(CPU, VarTypeUInt32, 2, N), result[2];
    uint32_t array = jit_array_write(fresh, one, ten, ALWAYS);
    uint32_t other = jit_array_write(fresh, zero, twenty, ALWAYS);
    uint32_t cond = jit_var_cond_start("cond", mask);
    OK(cond);
    uint32_t side[] = { array, jit_var_min(places, one) }; /* 1 */
    OK(jit_var_cond_append(cond, 2, side));
    jit_var_dec_ref(side[1]);
    side[0] = other;
    side[1] = jit_var_mul(places, three); /* 0 */
    OK(jit_var_cond_append(cond, 2, side));
    jit_var_dec_ref(side[1]);
    OK(jit_var_cond_end(cond, result));
    uint32_t before = jit_array_read(array, result[1], ALWAYS);
    advance(&result[0], jit_array_write(result[0], result[1], lane, mask));
    uint32_t after = jit_array_read(result[0], result[1], ALWAYS);
    OK(jit_var_schedule(after) && jit_var_schedule(before));
    OK(jit_eval());
    CHECK_BYTES(before, expected[0], N);
    CHECK_BYTES(after, expected[1], N);
    DROP(mask, places, lane, zero, one, three, ten, twenty, fresh, array, other,
         result[0], result[1], before, after);
}

static void branch_body(uint32_t *state)
{
    uint32_t two = jit_var_u32(CPU, 2), zero = jit_var_u32(CPU, 0);
    uint32_t rest = jit_var_mod(state[0], two), even = jit_var_eq(rest, zero);
    uint32_t cond = jit_var_cond_start("even", even);
    OK(cond);
    uint32_t side[] = { jit_array_write(state[1], state[0], state[0], ALWAYS),
                        jit_var_inc_ref(state[2]) };
    OK(jit_var_cond_append(cond, 2, side));
    drop_all(side, 2);
    side[0] = jit_var_inc_ref(state[1]);
    side[1] = jit_array_write(state[2], state[0], state[0], ALWAYS);
    OK(jit_var_cond_append(cond, 2, side));
    drop_all(side, 2);
    OK(jit_var_cond_end(cond, side));
    drop_all(state + 1, 2);
    state[1] = side[0];
    state[2] = side[1];
    DROP(two, zero, rest, even);
}

/* Conditionals in a loop, each side writing to another array; all in place. */
static void test_branch_in_loop(void **unused)
{
    (void) unused;
    enum { LENGTH = 8 };
    uint32_t limits[N], sum = jit_var_u32(CPU, 0), got[2][LENGTH];
    for (uint32_t i = 0; i < N; ++i)
        limits[i] = i % (LENGTH + 1);
    uint32_t bound = u32_array(N, limits), fresh, seven = jit_var_u32(CPU, 7);
    fresh = jit_array_create(CPU, VarTypeUInt32, LENGTH, N);
    uint32_t state[] = { jit_var_u32(CPU, 0), jit_array_init(fresh, seven),
                         jit_array_init(fresh, seven) };
    run_loop(bound, 3, state, branch_body);
    for (uint32_t k = 0; k < LENGTH; ++k)
        for (int a = 0; a < 2; ++a) {
            got[a][k] = read_at(state[a + 1], k);
            advance(&sum, jit_var_add(sum, got[a][k]));
            OK(jit_var_schedule(got[a][k]));
        }
    const char *text = jit_program_str(sum);
    OK(text);
    assert_int_equal(count_text(text, "= local."), 2);
    assert_int_equal(count_text(text, "local_move"), 0);
    OK(jit_eval());
    for (uint32_t k = 0; k < LENGTH; ++k)
        for (uint32_t a = 0; a < 2; ++a) {
            uint32_t expected[N];
            for (uint32_t i = 0; i < N; ++i)
                expected[i] = k % 2 == a && k < limits[i] ? k : 7;
            CHECK_BYTES(got[a][k], expected, N);
            jit_var_dec_ref(got[a][k]);
        }
    DROP(bound, fresh, seven, sum, state[0], state[1], state[2]);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_loop), TEST(test_exchange), TEST(test_captured),
        TEST(test_initial_version), TEST(test_nested_loops), TEST(test_conditionals),
        TEST(test_branch_in_loop), TEST(test_evaluated_conditional),
        TEST(test_conditional_without_access),
    };
    return cmocka_run_group_tests_name("local_regions", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
