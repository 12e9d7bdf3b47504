/*
 * test_interp_calls.c -- calls, local arrays and prints of the block interpreter
 *
 * As test_interp_regions.c: Programs by hand against plain C on one lane at a time,
 * with each instruction set.
 */
#include "device/cpu/launch/cpu_code.h"
#include "interp_regions.h"

/* ---- calls */

/* A callable with 'inputs' u32 inputs: x * factor + y, and x ^ y of the lane's inputs.
 * Counts its lanes at 'where' of the root's pointer in 'slot'. */
static Program *make_callable(uint32_t factor, uint32_t slot, uint32_t where)
{
    Program *c = new_program();
    uint32_t y = add(c, OP_ARG, U32, 2, 0), x = add(c, OP_ARG, U32, 1, 0);
    uint32_t mask = add(c, OP_ARG, BOOL, 0, 0);
    uint32_t pointer = add(c, OP_PARAM, VarTypePointer, slot, 0);
    add(c, OP_SCATTER, VarTypeVoid, ReduceOpAdd | ReduceModeLocal << 8, 4, pointer,
        u32(c, 1), u32(c, where), mask);
    uint32_t first = op2(c, OP_ADD, op2(c, OP_MUL, x, u32(c, factor)), y);
    add(c, OP_RETURN, VarTypeVoid, 0, 3, first, x, u32(c, factor + 1));
    return c;
}

static void test_calls(void **state)
{
    (void) state;
    static const uint32_t target_counts[] = { 1, 3, 8 };
    for (uint32_t t = 0; t < 3; ++t) {
        const uint32_t target_count = target_counts[t];
        Program *p = new_program();
        uint32_t targets[8], number = add_input(p, U32), x = add_input(p, U32);
        uint32_t mask = add_input(p, BOOL), lane = counter(p);
        uint32_t slot = program_add_param(p, PARAM_POINTER, U32);
        p->params[slot].written = 1;
        for (uint32_t k = 0; k < target_count; ++k)
            targets[k] = callable(p, make_callable(10 * k + 3, slot, k));
        if (target_count == 8) { /* a target may occur twice, in any order */
            targets[1] = targets[5];
            targets[0] = targets[7];
        }
        uint32_t later = op2(p, OP_MUL, x, u32(p, 3));
        const uint32_t args[] = { mask, number, x, lane };
        call(p, target_count, targets, 4, args);
        uint32_t r0 = add(p, OP_RESULT, U32, 0, 0), r1 = add(p, OP_RESULT, U32, 1, 0);
        uint32_t r2 = add(p, OP_RESULT, U32, 2, 0);
        add_output(p, U32, op2(p, OP_ADD, r0, later));
        add_output(p, U32, r1);
        add_output(p, U32, r2);
        FOR_SIZES(a)
        {
            uint32_t *numbers = input_u32(&a, target_count + 3),
                     *in = input_u32(&a, 99);
            uint8_t *set = input_mask(&a);
            for (uint32_t l = 0; l < a.lanes; l += 5)
                numbers[l] = UINT32_MAX - l;
            uint32_t *lanes_of = zeros(&a, 8), *out[3], expected[8] = { 0 };
            for (uint32_t k = 0; k < 3; ++k)
                out[k] = add_array(&a, U32, a.lanes);
            run(p, a.args, a.lanes);
            for (uint32_t l = 0; l < a.lanes; ++l) {
                bool calls = set[l] && numbers[l] >= 1 && numbers[l] <= target_count;
                uint32_t which = calls ? targets[numbers[l] - 1] : 0;
                uint32_t factor = 10 * which + 3;
                expected[which] += calls;
                assert_int_equal(out[0][l],
                                 in[l] * 3 + (calls ? in[l] * factor + l : 0));
                assert_int_equal(out[1][l], calls ? in[l] : 0);
                assert_int_equal(out[2][l], calls ? factor + 1 : 0);
            }
            assert_memory_equal(lanes_of, expected, sizeof expected);
        }
        program_free(p);
    }
}

/* Callables that call others, also one that their caller calls itself; one has a loop
 * whose body calls, and the call stands in a loop: x -> a chain of functions. */
static void test_nested_calls(void **state)
{
    (void) state;
    Program *p = new_program();
    Program *leaf = new_program(), *middle = new_program(), *top = new_program();
    uint32_t x = add(leaf, OP_ARG, U32, 1, 0);
    add(leaf, OP_RETURN, VarTypeVoid, 0, 1,
        op2(leaf, OP_ADD, op2(leaf, OP_MUL, x, u32(leaf, 3)), u32(leaf, 1)));
    const uint32_t first = callable(p, leaf);

    /* middle(x, n): n times x = leaf(x) for odd x, else x + n */
    uint32_t mask = add(middle, OP_ARG, BOOL, 0, 0);
    x = add(middle, OP_ARG, U32, 1, 0);
    uint32_t n = add(middle, OP_ARG, U32, 2, 0), one = u32(middle, 1);
    uint32_t loop = region(middle, REGION_LOOP, 3, mask, u32(middle, 0), x);
    uint32_t i = add(middle, OP_STATE, U32, 0, 0), v = add(middle, OP_STATE, U32, 1, 0);
    add(middle, OP_TEST, VarTypeVoid, loop, 1, op2(middle, OP_LT, i, n));
    uint32_t active = add(middle, OP_ACTIVE, BOOL, loop, 0);
    uint32_t odd = op2(middle, OP_AND, v, one);
    uint32_t sum = op2(middle, OP_ADD, v, n);
    const uint32_t leaf_args[] = { active, odd, v };
    call(middle, 1, &first, 3, leaf_args);
    uint32_t r = add(middle, OP_RESULT, U32, 0, 0);
    uint32_t is_odd = op2(middle, OP_EQ, odd, one);
    r = add(middle, OP_SELECT, U32, 0, 3, is_odd, r, sum);
    add(middle, OP_END, VarTypeVoid, loop, 2, op2(middle, OP_ADD, i, one), r);
    add(middle, OP_RETURN, VarTypeVoid, 0, 1, add(middle, OP_RESULT, U32, 1, 0));
    const uint32_t second = callable(p, middle);

    /* top(x, n) = middle(leaf(x) ^ n, x & 3) + leaf(n) */
    mask = add(top, OP_ARG, BOOL, 0, 0);
    x = add(top, OP_ARG, U32, 1, 0);
    n = add(top, OP_ARG, U32, 2, 0);
    one = u32(top, 1);
    const uint32_t args1[] = { mask, one, x };
    call(top, 1, &first, 3, args1);
    uint32_t r1 = add(top, OP_RESULT, U32, 0, 0);
    const uint32_t args2[] = { mask, one, op2(top, OP_XOR, r1, n),
                               op2(top, OP_AND, x, u32(top, 3)) };
    call(top, 1, &second, 4, args2);
    uint32_t r2 = add(top, OP_RESULT, U32, 0, 0);
    const uint32_t args3[] = { mask, one, n };
    call(top, 1, &first, 3, args3);
    uint32_t r3 = add(top, OP_RESULT, U32, 0, 0);
    add(top, OP_RETURN, VarTypeVoid, 0, 1, op2(top, OP_ADD, r2, r3));
    const uint32_t targets[] = { callable(p, top), second };

    uint32_t trips = add_input(p, U32), start = add_input(p, U32), lane = counter(p);
    one = u32(p, 1);
    loop = region(p, REGION_LOOP, 3, literal(p, BOOL, 1), u32(p, 0), start);
    i = add(p, OP_STATE, U32, 0, 0);
    v = add(p, OP_STATE, U32, 1, 0);
    add(p, OP_TEST, VarTypeVoid, loop, 1, op2(p, OP_LT, i, trips));
    active = add(p, OP_ACTIVE, BOOL, loop, 0);
    uint32_t number = op2(p, OP_MOD, op2(p, OP_ADD, lane, i), u32(p, 4));
    const uint32_t args[] = { active, number, v, i };
    call(p, 2, targets, 4, args);
    r = op2(p, OP_ADD, add(p, OP_RESULT, U32, 0, 0), one);
    add(p, OP_END, VarTypeVoid, loop, 2, op2(p, OP_ADD, i, one), r);
    add_output(p, U32, add(p, OP_RESULT, U32, 1, 0));
    FOR_SIZES(a)
    {
        uint32_t *limit = input_u32(&a, 6), *in = input_u32(&a, 1000);
        uint32_t *out = add_array(&a, U32, a.lanes);
        run(p, a.args, a.lanes);
        for (uint32_t l = 0; l < a.lanes; ++l) {
            uint32_t value = in[l];
            for (uint32_t k = 0; k < limit[l]; ++k) {
                uint32_t which = (l + k) % 4, result = 0;
                if (which == 1 || which == 2) {
                    uint32_t m = which == 1 ? (value * 3 + 1) ^ k : value;
                    uint32_t times = which == 1 ? value & 3 : k;
                    for (uint32_t j = 0; j < times; ++j)
                        m = m & 1 ? m * 3 + 1 : m + times;
                    result = which == 1 ? m + (k * 3 + 1) : m;
                }
                value = result + 1;
            }
            assert_int_equal(out[l], value);
        }
    }
    program_free(p);
}

/* Calls without targets, outputs or inputs; callables that return their arguments; a
 * deep chain of callables. */
static void test_call_edges(void **state)
{
    (void) state;
    enum { DEPTH = 300 };
    Program *p = new_program();
    uint32_t to = program_add_param(p, PARAM_POINTER, U32), last = 0;
    p->params[to].written = 1;
    uint32_t mask = add_input(p, BOOL), x = add_input(p, U32), one = u32(p, 1);
    Program *silent = new_program();
    uint32_t set = add(silent, OP_ARG, BOOL, 0, 0);
    uint32_t pointer = add(silent, OP_PARAM, VarTypePointer, to, 0);
    add(silent, OP_SCATTER_INC, U32, 0, 3, pointer, u32(silent, 0), set);
    add(silent, OP_RETURN, VarTypeVoid, 0, 0);
    const uint32_t none = callable(p, silent);
    for (uint32_t k = 0; k < DEPTH; ++k) {
        Program *c = new_program();
        uint32_t value = add(c, OP_ARG, U32, 1, 0), again = add(c, OP_ARG, U32, 1, 0);
        if (k) {
            uint32_t more = op2(c, OP_ADD, again, u32(c, k));
            const uint32_t args[] = { add(c, OP_ARG, BOOL, 0, 0), u32(c, 1), more };
            call(c, 1, &last, 3, args);
            value = add(c, OP_RESULT, U32, 1, 0);
            value = op2(c, OP_XOR, value, u32(c, k));
        }
        add(c, OP_RETURN, VarTypeVoid, 0, 2, again, value);
        last = callable(p, c);
    }
    const uint32_t args[] = { mask, one, x };
    call(p, 0, NULL, 3, args);
    call(p, 1, &none, 2, args);
    call(p, 1, &last, 3, args);
    uint32_t r0 = add(p, OP_RESULT, U32, 0, 0), r1 = add(p, OP_RESULT, U32, 1, 0);
    add_output(p, U32, r0);
    add_output(p, U32, r1);
    FOR_SIZES(a)
    {
        uint32_t *count = zeros(&a, 1), expected = 0;
        uint8_t *active = input_mask(&a);
        uint32_t *in = input_u32(&a, 1000);
        uint32_t *same_out = add_array(&a, U32, a.lanes);
        uint32_t *out = add_array(&a, U32, a.lanes);
        run(p, a.args, a.lanes);
        for (uint32_t l = 0; l < a.lanes; ++l) {
            uint32_t value = in[l];
            for (uint32_t k = DEPTH - 1; k > 0; --k)
                value += k;
            for (uint32_t k = 1; k < DEPTH; ++k)
                value ^= k;
            expected += active[l];
            assert_int_equal(same_out[l], active[l] ? in[l] : 0);
            assert_int_equal(out[l], active[l] ? value : 0);
        }
        assert_int_equal(*count, expected);
    }
    program_free(p);
}

/* ---- local arrays */

/* Arrays of each type: set, written at lane-dependent places within and beyond the
 * bounds, moved for some lanes, read. */
static void test_local_types(void **state)
{
    (void) state;
    enum { ENTRIES = 5 };
    static const VarType types[] = { VarTypeBool,    VarTypeInt8,    VarTypeUInt16,
                                     VarTypeFloat32, VarTypePointer, VarTypeFloat64 };
    for (uint32_t t = 0; t < sizeof types / sizeof *types; ++t) {
        const VarType type = types[t], index_type = t % 2 ? VarTypeInt32 : U32;
        Program *p = new_program();
        uint32_t initial = add_input(p, type), value = add_input(p, type);
        uint32_t index = add_input(p, index_type), set = add_input(p, BOOL);
        uint32_t third = add_input(p, type);
        uint32_t first = add(p, OP_LOCAL, type, ENTRIES, 1, initial);
        uint32_t second = add(p, OP_LOCAL, type, ENTRIES, 1, third);
        add(p, OP_LOCAL_WRITE, VarTypeVoid, 0, 4, first, value, index, set);
        uint32_t yes = literal(p, BOOL, 1), out[ENTRIES + 3];
        out[ENTRIES + 2] = add(p, OP_LOCAL_READ, type, 0, 3, second, u32(p, 0), yes);
        for (uint32_t k = 0; k < ENTRIES; ++k)
            out[k] = add(p, OP_LOCAL_READ, type, 0, 3, first, u32(p, k), yes);
        add(p, OP_LOCAL_MOVE, VarTypeVoid, 0, 3, second, first, set);
        add(p, OP_LOCAL_MOVE, VarTypeVoid, 0, 3, second, second, yes);
        out[ENTRIES] = add(p, OP_LOCAL_READ, type, 0, 3, second, index, yes);
        out[ENTRIES + 1] = add(p, OP_LOCAL_READ, type, 0, 3, first, index, set);
        for (uint32_t k = 0; k < ENTRIES + 3; ++k)
            add_output(p, type, out[k]);
        FOR_SIZES(a)
        {
            void *before = add_array(&a, type, a.lanes);
            void *after = add_array(&a, type, a.lanes), *result[ENTRIES + 3];
            uint32_t *place = input_u32(&a, ENTRIES + 2);
            uint8_t *active = input_mask(&a);
            void *aside = add_array(&a, type, a.lanes);
            for (uint32_t l = 0; l < a.lanes; ++l) {
                put(before, type, l, cut(type, random_bits()));
                put(after, type, l, cut(type, random_bits()));
                put(aside, type, l, cut(type, random_bits()));
                if (l % 7 == 3)
                    place[l] = (uint32_t) -1 - l;
            }
            for (uint32_t k = 0; k < ENTRIES + 3; ++k)
                result[k] = add_array(&a, type, a.lanes);
            run(p, a.args, a.lanes);
            for (uint32_t l = 0; l < a.lanes; ++l) {
                uint64_t old = get(before, type, l), new = get(after, type, l);
                uint64_t other = get(aside, type, l);
                bool inside = place[l] < ENTRIES;
                for (uint32_t k = 0; k < ENTRIES; ++k)
                    assert_true(get(result[k], type, l) ==
                                (active[l] && place[l] == k ? new : old));
                /* Where the move happened the entry is what was written before. */
                uint64_t moved = active[l] ? new : other;
                assert_true(get(result[ENTRIES], type, l) == (inside ? moved : 0));
                assert_true(get(result[ENTRIES + 2], type, l) == other);
                assert_true(get(result[ENTRIES + 1], type, l) ==
                            (inside && active[l] ? new : 0));
            }
        }
        program_free(p);
    }
}

/* An array that a loop fills and another loop reads, one of its own in the body, and
 * arrays in a callable. 'entries' up to all bytes that a lane may have. */
static void test_local_loops(void **state)
{
    (void) state;
    static const uint32_t entry_counts[] = { 1, 8, 100, 1000,
                                             LOCAL_MOST_BYTES / 4 - 8 };
    for (uint32_t e = 0; e < 5; ++e) {
        const uint32_t entries = entry_counts[e];
        Program *p = new_program(), *c = new_program();
        uint32_t mask = add(c, OP_ARG, BOOL, 0, 0), x = add(c, OP_ARG, U32, 1, 0);
        uint32_t array = add(c, OP_LOCAL, U32, 4, 1, x);
        uint32_t two = op2(c, OP_AND, x, u32(c, 3));
        add(c, OP_LOCAL_WRITE, VarTypeVoid, 0, 4, array, u32(c, 1000), two, mask);
        uint32_t sum = u32(c, 0);
        for (uint32_t k = 0; k < 4; ++k)
            sum = op2(c, OP_ADD, sum,
                      add(c, OP_LOCAL_READ, U32, 0, 3, array, u32(c, k), mask));
        add(c, OP_RETURN, VarTypeVoid, 0, 1, sum);
        const uint32_t target = callable(p, c);

        uint32_t trips = add_input(p, U32), zero = u32(p, 0), one = u32(p, 1);
        uint32_t yes = literal(p, BOOL, 1), lane = counter(p);
        array = add(p, OP_LOCAL, U32, entries, 1, lane);
        uint32_t loop = region(p, REGION_LOOP, 2, yes, zero);
        uint32_t i = add(p, OP_STATE, U32, 0, 0);
        add(p, OP_TEST, VarTypeVoid, loop, 1, op2(p, OP_LT, i, trips));
        uint32_t active = add(p, OP_ACTIVE, BOOL, loop, 0);
        uint32_t own = add(p, OP_LOCAL, U32, 2, 1, i);
        add(p, OP_LOCAL_WRITE, VarTypeVoid, 0, 4, own, lane, one, active);
        uint32_t own0 = add(p, OP_LOCAL_READ, U32, 0, 3, own, zero, active);
        uint32_t own1 = add(p, OP_LOCAL_READ, U32, 0, 3, own, one, active);
        const uint32_t args[] = { active, one, op2(p, OP_ADD, own0, own1) };
        call(p, 1, &target, 3, args);
        uint32_t r = add(p, OP_RESULT, U32, 0, 0);
        uint32_t place = op2(p, OP_MUL, i, u32(p, 7));
        uint32_t old = add(p, OP_LOCAL_READ, U32, 0, 3, array, place, active);
        add(p, OP_LOCAL_WRITE, VarTypeVoid, 0, 4, array, op2(p, OP_ADD, old, r), place,
            active);
        add(p, OP_END, VarTypeVoid, loop, 1, op2(p, OP_ADD, i, one));
        loop = region(p, REGION_LOOP, 3, yes, zero, zero);
        i = add(p, OP_STATE, U32, 0, 0);
        sum = add(p, OP_STATE, U32, 1, 0);
        add(p, OP_TEST, VarTypeVoid, loop, 1, op2(p, OP_LT, i, u32(p, 10)));
        active = add(p, OP_ACTIVE, BOOL, loop, 0);
        place = op2(p, OP_MUL, i, u32(p, 7));
        r = add(p, OP_LOCAL_READ, U32, 0, 3, array, place, active);
        sum = op2(p, OP_ADD, op2(p, OP_MUL, sum, u32(p, 3)), r);
        add(p, OP_END, VarTypeVoid, loop, 2, op2(p, OP_ADD, i, one), sum);
        add_output(p, U32, add(p, OP_RESULT, U32, 1, 0));
        FOR_SIZES(a)
        {
            uint32_t *limit = input_u32(&a, 9), *out = add_array(&a, U32, a.lanes);
            run(p, a.args, a.lanes);
            for (uint32_t l = 0; l < a.lanes; ++l) {
                uint32_t expected = 0;
                for (uint32_t k = 0; k < 10; ++k) {
                    uint32_t in = k + l, called = 3 * in + 1000;
                    uint32_t entry = l + (k < limit[l] ? called : 0);
                    expected = expected * 3 + (7 * k < entries ? entry : 0);
                }
                assert_int_equal(out[l], expected);
            }
        }
        Code *code = interp_engine.compile(p, &(CodeSpec){ .hash = { 0, 0 } });
        assert_non_null(code);
        assert_true(cpu_code_scratch(code) < 3u << 20);
        code_release(code);
        program_free(p);
    }
}

/* ---- prints */

typedef struct FakeLog {
    PrintLog base;
    uint32_t lanes;
    uint32_t *count[2]; /* records of each print and lane */
    uint64_t *sum[2];
} FakeLog;

static void append_fake(PrintLog *base, uint32_t print, uint32_t begin, uint32_t lanes,
                        const uint8_t *mask, const void *const *values)
{
    FakeLog *log = (FakeLog *) base;
    assert_in_range(print, 0, 1);
    assert_true(begin + lanes <= log->lanes);
    for (uint32_t i = 0; i < lanes; ++i) {
        assert_in_range(mask[i], 0, 1);
        if (!mask[i])
            continue;
        uint32_t lane = begin + i, nth = ++log->count[print][lane];
        if (print == 1) {
            log->sum[1][lane] += get(values[0], U32, i);
            continue;
        }
        /* u32, f64, u8, literal, u32: order within a lane is that of execution. */
        assert_int_equal(get(values[0], U32, i), nth - 1);
        double real_value;
        uint64_t bits = get(values[1], VarTypeFloat64, i);
        memcpy(&real_value, &bits, sizeof bits);
        assert_true(real_value == lane);
        assert_int_equal(get(values[2], VarTypeUInt8, i), lane & 0xff);
        assert_int_equal(get(values[3], U32, i), 4711);
        log->sum[0][lane] += get(values[4], U32, i);
    }
}

static void test_print(void **state)
{
    (void) state;
    Program *p = new_program(), *c = new_program();
    uint32_t mask = add(c, OP_ARG, BOOL, 0, 0), x = add(c, OP_ARG, U32, 1, 0);
    add(c, OP_PRINT, VarTypeVoid, 1, 2, mask, x);
    add(c, OP_RETURN, VarTypeVoid, 0, 0);
    const uint32_t target = callable(p, c);
    uint32_t trips = add_input(p, U32), lane = counter(p);
    program_add_param(p, PARAM_PRINT, VarTypeVoid);
    p->print_count = 2;
    uint32_t f64 = add(p, OP_CAST, VarTypeFloat64, 0, 1, lane), one = u32(p, 1);
    uint32_t u8 = add(p, OP_CAST, VarTypeUInt8, 0, 1, lane);
    uint32_t loop = region(p, REGION_LOOP, 2, literal(p, BOOL, 1), u32(p, 0));
    uint32_t i = add(p, OP_STATE, U32, 0, 0);
    add(p, OP_TEST, VarTypeVoid, loop, 1, op2(p, OP_LT, i, trips));
    uint32_t active = add(p, OP_ACTIVE, BOOL, loop, 0);
    uint32_t twice = op2(p, OP_ADD, i, i);
    add(p, OP_PRINT, VarTypeVoid, 0, 6, active, i, f64, u8, u32(p, 4711), twice);
    uint32_t odd = op2(p, OP_AND, i, one);
    const uint32_t args[] = { active, odd, twice };
    call(p, 1, &target, 3, args);
    add(p, OP_END, VarTypeVoid, loop, 1, op2(p, OP_ADD, i, one));
    FOR_SIZES(a)
    {
        uint32_t *limit = input_u32(&a, 7);
        FakeLog log = { .base.append = append_fake, .lanes = a.lanes };
        for (uint32_t k = 0; k < 2; ++k) {
            log.count[k] = calloc(a.lanes, sizeof(uint32_t));
            log.sum[k] = calloc(a.lanes, sizeof(uint64_t));
            assert_true(log.count[k] && log.sum[k]);
        }
        a.args[1] = address(&log);
        run(p, a.args, a.lanes);
        for (uint32_t l = 0; l < a.lanes; ++l) {
            uint32_t count[2] = { 0 };
            uint64_t sum[2] = { 0 };
            for (uint32_t k = 0; k < limit[l]; ++k) {
                ++count[0];
                sum[0] += 2 * k;
                count[1] += k % 2;
                sum[1] += k % 2 ? 2 * k : 0;
            }
            for (uint32_t k = 0; k < 2; ++k) {
                assert_int_equal(log.count[k][l], count[k]);
                assert_true(log.sum[k][l] == sum[k]);
            }
        }
        for (uint32_t k = 0; k < 2; ++k) {
            free(log.count[k]);
            free(log.sum[k]);
        }
    }
    program_free(p);
}
static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_nested_calls),
        cmocka_unit_test(test_call_edges),
        cmocka_unit_test(test_local_types),
        cmocka_unit_test(test_local_loops),
        cmocka_unit_test(test_print)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_sets(run_all);
}
