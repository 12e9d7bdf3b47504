/*
 * test_interp_regions.c -- loops and conditionals of the block interpreter
 *
 * Programs are written by hand; what they should compute is plain C on one lane at a
 * time. Every test runs with each instruction set that the CPU has, in a child process,
 * and for numbers of lanes around the edges of groups and blocks. Arrays have their
 * exact size, so that the address sanitizer sees any access beyond the last lane.
 */
#include "device/cpu/launch/cpu_code.h"
#include "interp_regions.h"

/* ---- loops */

/* Per-lane trip counts, lanes that do not enter, and a sum that depends on a value from
 * outside, which nothing after the loop uses. */
static void test_counting_loop(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t limit = add_input(p, U32), step = add_input(p, U32);
    uint32_t mask = add_input(p, BOOL);
    uint32_t outside = op2(p, OP_MUL, step, u32(p, 3));
    uint32_t sum = counter(p), zero = u32(p, 0), one = u32(p, 1);
    uint32_t loop = region(p, REGION_LOOP, 3, mask, zero, sum);
    uint32_t i = add(p, OP_STATE, U32, 0, 0), x = add(p, OP_STATE, U32, 1, 0);
    uint32_t go = op2(p, OP_LT, i, limit);
    add(p, OP_TEST, VarTypeVoid, loop, 1, go);
    uint32_t next = op2(p, OP_ADD, op2(p, OP_MUL, x, u32(p, 5)), outside);
    uint32_t junk = op2(p, OP_XOR, next, u32(p, 99)); /* takes slots in the body */
    next = op2(p, OP_XOR, op2(p, OP_XOR, next, junk), next);
    next = op2(p, OP_XOR, next, u32(p, 99));
    i = op2(p, OP_ADD, i, one);
    add(p, OP_END, VarTypeVoid, loop, 2, i, next);
    uint32_t trips = add(p, OP_RESULT, U32, 0, 0), total = add(p, OP_RESULT, U32, 1, 0);
    add_output(p, U32, trips);
    add_output(p, U32, total);
    FOR_SIZES(a)
    {
        uint32_t *limits = input_u32(&a, 9), *steps = input_u32(&a, 1000);
        uint8_t *set = input_mask(&a);
        uint32_t *count = add_array(&a, U32, a.lanes),
                 *out = add_array(&a, U32, a.lanes);
        run(p, a.args, a.lanes);
        for (uint32_t k = 0; k < a.lanes; ++k) {
            uint32_t expected = k, n = set[k] ? limits[k] : 0;
            for (uint32_t j = 0; j < n; ++j) {
                uint32_t y = expected * 5 + steps[k] * 3;
                expected = y ^ 99 ^ 99;
                expected = (y ^ (y ^ 99) ^ y) ^ 99;
            }
            assert_int_equal(count[k], n);
            assert_int_equal(out[k], expected);
        }
    }
    program_free(p);
}

/* No lane enters, and lanes enter without an iteration; a loop without any result. */
static void test_no_iteration(void **state)
{
    (void) state;
    for (uint32_t enter = 0; enter < 2; ++enter) {
        Program *p = new_program();
        uint32_t to = add_pointer(p, U32), x = add_input(p, U32);
        uint32_t mask = literal(p, BOOL, enter);
        uint32_t loop = region(p, REGION_LOOP, 2, mask, x);
        uint32_t s = add(p, OP_STATE, U32, 0, 0);
        uint32_t before = add(p, OP_ACTIVE, BOOL, loop, 0);
        uint32_t no = op2(p, OP_LT, s, u32(p, 0));
        /* The condition part is executed by the lanes that begin an iteration. */
        add(p, OP_SCATTER, VarTypeVoid, ReduceOpAdd | ReduceModeLocal << 8, 4, to,
            u32(p, 1), u32(p, 0), before);
        add(p, OP_TEST, VarTypeVoid, loop, 1, no);
        uint32_t active = add(p, OP_ACTIVE, BOOL, loop, 0);
        add(p, OP_SCATTER, VarTypeVoid, ReduceOpAdd | ReduceModeLocal << 8, 4, to,
            u32(p, 1), u32(p, 1), active);
        add(p, OP_END, VarTypeVoid, loop, 1, op2(p, OP_ADD, s, u32(p, 1)));
        add_output(p, U32, add(p, OP_RESULT, U32, 0, 0));
        FOR_SIZES(a)
        {
            uint32_t *counts_out = zeros(&a, 2), *in = input_u32(&a, 1000);
            uint32_t *out = add_array(&a, U32, a.lanes);
            run(p, a.args, a.lanes);
            assert_memory_equal(in, out, a.lanes * sizeof *in);
            assert_int_equal(counts_out[0], enter ? a.lanes : 0);
            assert_int_equal(counts_out[1], 0);
        }
        program_free(p);
    }
}

/* Two states change places, a third goes along in a ring of three, one stays; states
 * pass through a reinterpretation, which has no step of its own. */
static void test_swapped_states(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t n = add_input(p, U32), a0 = add_input(p, U32), mask = add_input(p, BOOL);
    uint32_t b0 = counter(p), yes = literal(p, BOOL, 1);
    uint32_t loop = region(p, REGION_LOOP, 8, mask, n, a0, b0, a0, b0, n, yes);
    uint32_t s[7];
    for (uint32_t k = 0; k < 7; ++k)
        s[k] = add(p, OP_STATE, k == 6 ? BOOL : U32, k, 0);
    add(p, OP_TEST, VarTypeVoid, loop, 1, op2(p, OP_GT, s[0], u32(p, 0)));
    uint32_t flipped = add(p, OP_NOT, BOOL, 0, 1, s[6]);
    uint32_t as_int = add(p, OP_BITCAST, VarTypeInt32, 0, 1, s[3]);
    uint32_t back = add(p, OP_CAST, U32, 0, 1, as_int);
    uint32_t left = op2(p, OP_SUB, s[0], u32(p, 1));
    /* 1 <-> 2, 3 -> 4 -> 5 -> 3 */
    add(p, OP_END, VarTypeVoid, loop, 7, left, s[2], s[1], s[5], back, s[4], flipped);
    uint32_t r[7];
    for (uint32_t k = 0; k < 7; ++k)
        r[k] = add(p, OP_RESULT, k == 6 ? BOOL : U32, k, 0);
    for (uint32_t k = 1; k < 7; ++k)
        add_output(p, k == 6 ? BOOL : U32, r[k]);
    FOR_SIZES(a)
    {
        uint32_t *trips = input_u32(&a, 8), *in = input_u32(&a, 100000);
        uint8_t *set = input_mask(&a);
        uint32_t *out[6] = { NULL };
        for (uint32_t k = 1; k < 6; ++k)
            out[k] = add_array(&a, U32, a.lanes);
        uint8_t *flag = add_array(&a, BOOL, a.lanes);
        run(p, a.args, a.lanes);
        for (uint32_t i = 0; i < a.lanes; ++i) {
            uint32_t v[6] = { 0, in[i], i, in[i], i, trips[i] };
            uint8_t f = 1;
            for (uint32_t t = set[i] ? trips[i] : 0; t > 0; --t) {
                uint32_t w[6] = { 0, v[2], v[1], v[5], v[3], v[4] };
                memcpy(v, w, sizeof v);
                f = !f;
            }
            for (uint32_t k = 1; k < 6; ++k)
                assert_int_equal(out[k][i], v[k]);
            assert_int_equal(flag[i], f);
        }
    }
    program_free(p);
}

/* A state of each type takes over another one of the type. */
static void test_state_types(void **state)
{
    (void) state;
    static const VarType types[] = { VarTypeBool,    VarTypeInt8,    VarTypeUInt8,
                                     VarTypeInt16,   VarTypeUInt16,  VarTypeInt32,
                                     VarTypeUInt32,  VarTypeInt64,   VarTypeUInt64,
                                     VarTypePointer, VarTypeFloat16, VarTypeFloat32,
                                     VarTypeFloat64 };
    for (uint32_t t = 0; t < sizeof types / sizeof *types; ++t) {
        const VarType type = types[t];
        Program *p = new_program();
        uint32_t n = add_input(p, U32), x = add_input(p, type), y = add_input(p, type);
        uint32_t loop = region(p, REGION_LOOP, 4, literal(p, BOOL, 1), n, x, y);
        uint32_t i = add(p, OP_STATE, U32, 0, 0), sx = add(p, OP_STATE, type, 1, 0);
        uint32_t sy = add(p, OP_STATE, type, 2, 0);
        add(p, OP_TEST, VarTypeVoid, loop, 1, op2(p, OP_NEQ, i, u32(p, 0)));
        add(p, OP_END, VarTypeVoid, loop, 3, op2(p, OP_SUB, i, u32(p, 1)), sy, sx);
        uint32_t rx = add(p, OP_RESULT, type, 1, 0), ry = add(p, OP_RESULT, type, 2, 0);
        add_output(p, type, rx);
        add_output(p, type, ry);
        FOR_SIZES(a)
        {
            uint32_t *trips = input_u32(&a, 5);
            void *in[2], *out[2];
            for (uint32_t k = 0; k < 2; ++k) {
                in[k] = add_array(&a, type, a.lanes);
                for (uint32_t j = 0; j < a.lanes; ++j)
                    put(in[k], type, j, cut(type, random_bits()));
            }
            for (uint32_t k = 0; k < 2; ++k)
                out[k] = add_array(&a, type, a.lanes);
            run(p, a.args, a.lanes);
            for (uint32_t j = 0; j < a.lanes; ++j)
                for (uint32_t k = 0; k < 2; ++k)
                    assert_true(get(out[k], type, j) ==
                                get(in[(k + trips[j]) % 2], type, j));
        }
        program_free(p);
    }
}

static uint32_t mix_up(uint32_t x)
{
    uint32_t result = x;
    for (uint32_t j = 0; j < 8; ++j)
        result ^= x * (j + 11);
    return result;
}

/* Three levels; the innermost body uses values from all of them, and each level goes on
 * with the result of the one inside. */
static void test_nested_loops(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t n = add_input(p, U32), x = add_input(p, U32);
    uint32_t zero = u32(p, 0), one = u32(p, 1), far = op2(p, OP_ADD, x, u32(p, 17));
    uint32_t loop[3], index[3], sum[3], active = literal(p, BOOL, 1), start = x;
    uint32_t level_value[3];
    for (uint32_t k = 0; k < 3; ++k) {
        loop[k] = region(p, REGION_LOOP, 3, active, zero, start);
        index[k] = add(p, OP_STATE, U32, 0, 0);
        sum[k] = add(p, OP_STATE, U32, 1, 0);
        uint32_t limit = k ? op2(p, OP_ADD, index[k - 1], one) : n;
        add(p, OP_TEST, VarTypeVoid, loop[k], 1, op2(p, OP_LT, index[k], limit));
        active = add(p, OP_ACTIVE, BOOL, loop[k], 0);
        level_value[k] = op2(p, OP_MUL, sum[k], u32(p, 3 + 2 * k));
        start = level_value[k];
    }
    uint32_t inner = op2(p, OP_XOR, level_value[2], far);
    inner = op2(p, OP_ADD, inner, level_value[0]);
    inner = op2(p, OP_SUB, inner, level_value[1]);
    for (uint32_t k = 3; k-- > 0;) {
        add(p, OP_END, VarTypeVoid, loop[k], 2, op2(p, OP_ADD, index[k], one), inner);
        inner = add(p, OP_RESULT, U32, 1, 0);
        if (!k)
            break;
        /* Many values at once take whatever slots look free after the inner loop. */
        uint32_t junk[8];
        for (uint32_t j = 0; j < 8; ++j)
            junk[j] = op2(p, OP_MUL, inner, u32(p, j + 11));
        for (uint32_t j = 0; j < 8; ++j)
            inner = op2(p, OP_XOR, inner, junk[j]);
        inner = op2(p, OP_ADD, inner, level_value[k - 1]);
    }
    add_output(p, U32, inner);
    FOR_SIZES(a)
    {
        uint32_t *limit = input_u32(&a, 5), *in = input_u32(&a, 1000);
        uint32_t *out = add_array(&a, U32, a.lanes);
        run(p, a.args, a.lanes);
        for (uint32_t l = 0; l < a.lanes; ++l) {
            uint32_t s0 = in[l], away = in[l] + 17;
            for (uint32_t i = 0; i < limit[l]; ++i) {
                uint32_t v0 = s0 * 3, s1 = v0;
                for (uint32_t j = 0; j < i + 1; ++j) {
                    uint32_t v1 = s1 * 5, s2 = v1;
                    for (uint32_t k = 0; k < j + 1; ++k)
                        s2 = ((s2 * 7) ^ away) + v0 - v1;
                    s1 = mix_up(s2) + v1;
                }
                s0 = mix_up(s1) + v0;
            }
            assert_int_equal(out[l], s0);
        }
    }
    program_free(p);
}

/* Effects in the body of a loop without states of its own use: reductions, distinct
 * writes and counters, all masked by the active lanes. */
static void test_effects(void **state)
{
    (void) state;
    enum { CELLS = 7 };
    Program *p = new_program();
    uint32_t n = add_input(p, U32), mask = add_input(p, BOOL);
    uint32_t sums = add_pointer(p, U32), own = add_pointer(p, U32);
    uint32_t tickets = add_pointer(p, U32), seen = add_pointer(p, U32);
    uint32_t lane = counter(p), one = u32(p, 1), zero = u32(p, 0);
    uint32_t loop = region(p, REGION_LOOP, 2, mask, zero);
    uint32_t i = add(p, OP_STATE, U32, 0, 0);
    add(p, OP_TEST, VarTypeVoid, loop, 1, op2(p, OP_LT, i, n));
    uint32_t active = add(p, OP_ACTIVE, BOOL, loop, 0);
    uint32_t cell = op2(p, OP_MOD, op2(p, OP_ADD, lane, i), u32(p, CELLS));
    uint32_t add_to = ReduceOpAdd | ReduceModeDirect << 8;
    add(p, OP_SCATTER, VarTypeVoid, add_to, 4, sums, op2(p, OP_MUL, lane, i), cell,
        active);
    add(p, OP_SCATTER, VarTypeVoid, ReduceOpIdentity, 4, own, i, lane, active);
    uint32_t ticket = add(p, OP_SCATTER_INC, U32, 0, 3, tickets, zero, active);
    add(p, OP_SCATTER, VarTypeVoid, add_to, 4, seen, one, ticket, active);
    add(p, OP_END, VarTypeVoid, loop, 1, op2(p, OP_ADD, i, one));
    FOR_SIZES(a)
    {
        uint32_t *limit = input_u32(&a, 6);
        uint8_t *set = input_mask(&a);
        uint32_t *sum = zeros(&a, CELLS), *last = zeros(&a, a.lanes);
        uint32_t *ticket_count = zeros(&a, 1), *seen_count = zeros(&a, a.lanes * 6);
        run(p, a.args, a.lanes);
        uint32_t expected[CELLS] = { 0 }, total = 0;
        for (uint32_t l = 0; l < a.lanes; ++l) {
            uint32_t trips = set[l] ? limit[l] : 0;
            for (uint32_t k = 0; k < trips; ++k)
                expected[(l + k) % CELLS] += l * k;
            total += trips;
            assert_int_equal(last[l], trips ? trips - 1 : 0);
        }
        assert_memory_equal(sum, expected, sizeof expected);
        assert_int_equal(*ticket_count, total);
        for (uint32_t k = 0; k < a.lanes * 6; ++k) /* each ticket was given out once */
            assert_int_equal(seen_count[k], k < total);
    }
    program_free(p);
}

/* More literals than are kept for a launch, so that a body writes its own; and more
 * steps than a chain has. */
static void test_long_body(void **state)
{
    (void) state;
    enum { LENGTH = 1500 };
    Program *p = new_program();
    uint32_t n = add_input(p, U32), x = add_input(p, U32);
    uint32_t loop = region(p, REGION_LOOP, 3, literal(p, BOOL, 1), n, x);
    uint32_t i = add(p, OP_STATE, U32, 0, 0), y = add(p, OP_STATE, U32, 1, 0);
    add(p, OP_TEST, VarTypeVoid, loop, 1, op2(p, OP_NEQ, i, u32(p, 0)));
    for (uint32_t k = 0; k < LENGTH; ++k)
        y = op2(p, k % 2 ? OP_XOR : OP_MUL, y, u32(p, 2 * k + 1));
    add(p, OP_END, VarTypeVoid, loop, 2, op2(p, OP_SUB, i, u32(p, 1)), y);
    add_output(p, U32, add(p, OP_RESULT, U32, 1, 0));
    FOR_SIZES(a)
    {
        uint32_t *trips = input_u32(&a, 4), *in = input_u32(&a, 100000);
        uint32_t *out = add_array(&a, U32, a.lanes);
        run(p, a.args, a.lanes);
        for (uint32_t l = 0; l < a.lanes; ++l) {
            uint32_t v = in[l];
            for (uint32_t t = 0; t < trips[l]; ++t)
                for (uint32_t k = 0; k < LENGTH; ++k)
                    v = k % 2 ? v ^ (2 * k + 1) : v * (2 * k + 1);
            assert_int_equal(out[l], v);
        }
    }
    program_free(p);
}

/* States that have no STATE, or no RESULT: an initial value that only comes out, and
 * one that is replaced by what is not a state. */
static void test_partial_states(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t n = add_input(p, U32), x = add_input(p, U32);
    uint32_t loop = region(p, REGION_LOOP, 5, literal(p, BOOL, 1), n, x, x, u32(p, 5));
    uint32_t i = add(p, OP_STATE, U32, 0, 0);
    uint32_t double_i = op2(p, OP_ADD, i, i); /* stands where state 1 could */
    add(p, OP_TEST, VarTypeVoid, loop, 1, op2(p, OP_NEQ, i, u32(p, 0)));
    uint32_t left = op2(p, OP_SUB, i, u32(p, 1));
    add(p, OP_END, VarTypeVoid, loop, 4, left, double_i, i, u32(p, 9));
    uint32_t r1 = add(p, OP_RESULT, U32, 1, 0), r2 = add(p, OP_RESULT, U32, 2, 0);
    uint32_t r3 = add(p, OP_RESULT, U32, 3, 0);
    add_output(p, U32, r1);
    add_output(p, U32, r2);
    add_output(p, U32, r3);
    FOR_SIZES(a)
    {
        uint32_t *trips = input_u32(&a, 4), *in = input_u32(&a, 1000);
        uint32_t *out[3];
        for (uint32_t k = 0; k < 3; ++k)
            out[k] = add_array(&a, U32, a.lanes);
        run(p, a.args, a.lanes);
        for (uint32_t l = 0; l < a.lanes; ++l) {
            assert_int_equal(out[0][l], trips[l] ? 2 : in[l]);
            assert_int_equal(out[1][l], trips[l] ? 1 : in[l]);
            assert_int_equal(out[2][l], trips[l] ? 9 : 5);
        }
    }
    program_free(p);
}

/* ---- conditionals */

/* Which lanes enter and which take the true side: both, one and no side of a block. */
static void test_conditional(void **state)
{
    (void) state;
    for (uint32_t kind = 0; kind < 5; ++kind) {
        Program *p = new_program();
        uint32_t mask = add_input(p, BOOL), condition = add_input(p, BOOL);
        uint32_t x = add_input(p, U32), y = add_input(p, VarTypeFloat64);
        uint32_t taken = add_pointer(p, U32);
        uint32_t outside = op2(p, OP_MUL, x, u32(p, 7));
        uint32_t branch = region(p, REGION_IF, 2, mask, condition);
        uint32_t active = add(p, OP_ACTIVE, BOOL, branch, 0);
        add(p, OP_SCATTER, VarTypeVoid, ReduceOpAdd | ReduceModeLocal << 8, 4, taken,
            u32(p, 1), u32(p, 0), active);
        uint32_t a1 = op2(p, OP_ADD, outside, u32(p, 1));
        uint32_t a2 = add(p, OP_ADD, VarTypeFloat64, 0, 2, y, y);
        add(p, OP_ELSE, VarTypeVoid, branch, 4, a1, a2, x, active);
        active = add(p, OP_ACTIVE, BOOL, branch, 0);
        add(p, OP_SCATTER, VarTypeVoid, ReduceOpAdd | ReduceModeLocal << 8, 4, taken,
            u32(p, 1), u32(p, 1), active);
        uint32_t b1 = op2(p, OP_XOR, x, u32(p, 1234));
        uint32_t b2 = add(p, OP_NEG, VarTypeFloat64, 0, 1, y);
        add(p, OP_END, VarTypeVoid, branch, 4, b1, b2, u32(p, 77), active);
        uint32_t r0 = add(p, OP_RESULT, U32, 0, 0);
        uint32_t r1 = add(p, OP_RESULT, VarTypeFloat64, 1, 0);
        uint32_t r3 = add(p, OP_RESULT, BOOL, 3, 0);
        add_output(p, U32, r0);
        add_output(p, VarTypeFloat64, r1);
        add_output(p, BOOL, r3);
        FOR_SIZES(a)
        {
            uint8_t *set = input_mask(&a), *which = input_mask(&a);
            for (uint32_t l = 0; l < a.lanes && kind; ++l) {
                set[l] = kind == 4 ? 0 : kind == 3 ? set[l] : 1;
                which[l] = kind == 1 ? 1 : kind == 2 ? 0 : which[l];
            }
            uint32_t *in = input_u32(&a, 1000);
            double *real_in = add_array(&a, VarTypeFloat64, a.lanes);
            for (uint32_t l = 0; l < a.lanes; ++l)
                real_in[l] = l + 0.5;
            uint32_t *sides = zeros(&a, 2);
            uint32_t *out = add_array(&a, U32, a.lanes);
            double *real_out = add_array(&a, VarTypeFloat64, a.lanes);
            uint8_t *entered = add_array(&a, BOOL, a.lanes);
            run(p, a.args, a.lanes);
            uint32_t expected[2] = { 0, 0 };
            for (uint32_t l = 0; l < a.lanes; ++l) {
                double r = which[l] ? 2 * (l + 0.5) : -(l + 0.5);
                expected[!which[l]] += set[l];
                assert_int_equal(out[l], !set[l]    ? 0
                                         : which[l] ? in[l] * 7 + 1
                                                    : in[l] ^ 1234);
                assert_true(real_out[l] == (set[l] ? r : 0));
                assert_int_equal(entered[l], set[l]);
            }
            assert_int_equal(sides[0], expected[0]);
            assert_int_equal(sides[1], expected[1]);
        }
        program_free(p);
    }
}

/* Collatz: a conditional in a loop, whose sides have conditionals and a loop. */
static void test_conditional_in_loop(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t x = add_input(p, U32), one = u32(p, 1), zero = u32(p, 0);
    uint32_t loop = region(p, REGION_LOOP, 4, literal(p, BOOL, 1), x, zero, zero);
    uint32_t v = add(p, OP_STATE, U32, 0, 0), steps = add(p, OP_STATE, U32, 1, 0);
    uint32_t mixed = add(p, OP_STATE, U32, 2, 0);
    add(p, OP_TEST, VarTypeVoid, loop, 1, op2(p, OP_GT, v, one));
    uint32_t active = add(p, OP_ACTIVE, BOOL, loop, 0);
    uint32_t odd = op2(p, OP_EQ, op2(p, OP_AND, v, one), one);
    uint32_t branch = region(p, REGION_IF, 2, active, odd);
    uint32_t in_true = add(p, OP_ACTIVE, BOOL, branch, 0);
    uint32_t up = op2(p, OP_ADD, op2(p, OP_MUL, v, u32(p, 3)), one);
    uint32_t large = op2(p, OP_GT, v, u32(p, 50));
    uint32_t inner = region(p, REGION_IF, 2, in_true, large);
    add(p, OP_ELSE, VarTypeVoid, inner, 1, op2(p, OP_ADD, up, u32(p, 100)));
    add(p, OP_END, VarTypeVoid, inner, 1, zero);
    uint32_t extra = add(p, OP_RESULT, U32, 0, 0);
    add(p, OP_ELSE, VarTypeVoid, branch, 2, up, extra);
    uint32_t in_false = add(p, OP_ACTIVE, BOOL, branch, 0);
    /* v >>= number of trailing zeros, one at a time */
    uint32_t shift = region(p, REGION_LOOP, 3, in_false, v, zero);
    uint32_t w = add(p, OP_STATE, U32, 0, 0), k = add(p, OP_STATE, U32, 1, 0);
    add(p, OP_TEST, VarTypeVoid, shift, 1, op2(p, OP_EQ, op2(p, OP_AND, w, one), zero));
    add(p, OP_END, VarTypeVoid, shift, 2, op2(p, OP_SHR, w, one),
        op2(p, OP_ADD, k, one));
    uint32_t down = add(p, OP_RESULT, U32, 0, 0), zeros_ = add(p, OP_RESULT, U32, 1, 0);
    add(p, OP_END, VarTypeVoid, branch, 2, down, zeros_);
    uint32_t next = add(p, OP_RESULT, U32, 0, 0), more = add(p, OP_RESULT, U32, 1, 0);
    mixed = op2(p, OP_ADD, op2(p, OP_MUL, mixed, u32(p, 31)), more);
    add(p, OP_END, VarTypeVoid, loop, 3, next, op2(p, OP_ADD, steps, one), mixed);
    uint32_t r1 = add(p, OP_RESULT, U32, 1, 0), r2 = add(p, OP_RESULT, U32, 2, 0);
    add_output(p, U32, r1);
    add_output(p, U32, r2);
    FOR_SIZES(a)
    {
        uint32_t *in = input_u32(&a, 300);
        uint32_t *out = add_array(&a, U32, a.lanes), *mix = add_array(&a, U32, a.lanes);
        run(p, a.args, a.lanes);
        for (uint32_t l = 0; l < a.lanes; ++l) {
            uint32_t value = in[l], count = 0, mix_of = 0, add_of;
            for (; value > 1; ++count) {
                if (value & 1) {
                    add_of = value > 50 ? value * 3 + 101 : 0;
                    value = value * 3 + 1;
                } else {
                    for (add_of = 0; !(value & 1); ++add_of)
                        value >>= 1;
                }
                mix_of = mix_of * 31 + add_of;
            }
            assert_int_equal(out[l], count);
            assert_int_equal(mix[l], mix_of);
        }
    }
    program_free(p);
}
/* ---- memory */

/* In the hostile build each allocation of a compilation fails once. */
static void test_out_of_memory(void **state)
{
    (void) state;
    Program *p = new_program(), *c = new_program();
    uint32_t x = add(c, OP_ARG, U32, 1, 0);
    add(c, OP_RETURN, VarTypeVoid, 0, 1, op2(c, OP_ADD, x, u32(c, 1)));
    const uint32_t target = callable(p, c);
    uint32_t in = add_input(p, U32), yes = literal(p, BOOL, 1);
    uint32_t array = add(p, OP_LOCAL, U32, 3, 1, in);
    uint32_t loop = region(p, REGION_LOOP, 3, yes, in, in);
    uint32_t s = add(p, OP_STATE, U32, 0, 0), t = add(p, OP_STATE, U32, 1, 0);
    add(p, OP_TEST, VarTypeVoid, loop, 1, op2(p, OP_LT, s, u32(p, 100)));
    uint32_t active = add(p, OP_ACTIVE, BOOL, loop, 0);
    const uint32_t args[] = { active, u32(p, 1), s };
    call(p, 1, &target, 3, args);
    uint32_t r = add(p, OP_RESULT, U32, 0, 0);
    uint32_t branch = region(p, REGION_IF, 2, active, op2(p, OP_LT, r, t));
    add(p, OP_LOCAL_WRITE, VarTypeVoid, 0, 4, array, r, t, active);
    add(p, OP_ELSE, VarTypeVoid, branch, 1, r);
    add(p, OP_END, VarTypeVoid, branch, 1, t);
    t = add(p, OP_RESULT, U32, 0, 0);
    for (uint32_t k = 0; k < 600; ++k)
        t = op2(p, OP_XOR, t, u32(p, k));
    add(p, OP_END, VarTypeVoid, loop, 2, r, t);
    add_output(p, U32, add(p, OP_RESULT, U32, 1, 0));
    if (!program_verify(p))
        fail_msg("%s", error_message());
    Code *code = NULL;
    for (uint64_t n = 1; !code; ++n) {
        error_clear();
        alloc_fail_at(n);
        code = interp_engine.compile(p, &(CodeSpec){ .hash = { 0, 0 } });
        alloc_fail_at(0);
        assert_int_equal(error_code(), code ? JIT_OK : JIT_ERROR_MEMORY);
        assert_true(n < 1000);
    }
    code_release(code);
    program_free(p);
}
static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counting_loop),
        cmocka_unit_test(test_no_iteration),
        cmocka_unit_test(test_swapped_states),
        cmocka_unit_test(test_state_types),
        cmocka_unit_test(test_nested_loops),
        cmocka_unit_test(test_effects),
        cmocka_unit_test(test_long_body),
        cmocka_unit_test(test_partial_states),
        cmocka_unit_test(test_conditional),
        cmocka_unit_test(test_conditional_in_loop),
        cmocka_unit_test(test_out_of_memory)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_sets(run_all);
}
