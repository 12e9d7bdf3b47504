/*
 * test_interp_memory.c -- lanes, blocks and memory operations of the block interpreter
 *
 * Arrays are allocated with their exact size, so that the address sanitizer sees any
 * access beyond the last lane. Lanes that are masked off point far outside.
 */
#include "device/cpu/launch/cpu_code.h"
#include "interp_reference.h"

/* ---- blocks and lanes */

static void test_lane_counts(void **state)
{
    (void) state;
    for (uint32_t c = 0; c < COUNTS; ++c) {
        uint32_t n = counts[c];
        Program *p = new_program();
        uint32_t a = add_input(p, VarTypeUInt8), b = add_input(p, VarTypeFloat64);
        uint32_t counter = add(p, OP_COUNTER, VarTypeUInt32, 0, 0);
        uint32_t wide = add(p, OP_CAST, VarTypeFloat64, 0, 1, a);
        uint32_t sum = add(p, OP_ADD, VarTypeFloat64, 0, 2, wide, b);
        uint32_t small = add(p, OP_CAST, VarTypeUInt8, 0, 1, counter);
        add_output(p, VarTypeFloat64, sum);
        add_output(p, VarTypeUInt8, add(p, OP_ADD, VarTypeUInt8, 0, 2, a, small));
        add_output(p, VarTypeUInt32, counter);
        uint8_t *u8 = array_of(VarTypeUInt8, n), *u8_out = array_of(VarTypeUInt8, n);
        double *f64 = array_of(VarTypeFloat64, n),
               *f64_out = array_of(VarTypeFloat64, n);
        uint32_t *number = array_of(VarTypeUInt32, n);
        for (uint32_t i = 0; i < n; ++i) {
            u8[i] = (uint8_t) (i * 7);
            f64[i] = i * 0.25;
        }
        const uint64_t args[] = { address(u8), address(f64), address(f64_out),
                                  address(u8_out), address(number) };
        run(p, args, n);
        for (uint32_t i = 0; i < n; ++i) {
            assert_true(f64_out[i] == u8[i] + i * 0.25);
            assert_int_equal(u8_out[i], (uint8_t) (i * 8));
            assert_int_equal(number[i], i);
        }
        if (n > 64) { /* a part of a launch touches its own lanes only */
            memset(number, 0xff, n * sizeof *number);
            run_range(p, args, 64, n - 1, 0);
            assert_int_equal(number[63], UINT32_MAX);
            assert_int_equal(number[64], 64);
            assert_int_equal(number[n - 2], n - 2);
            assert_int_equal(number[n - 1], UINT32_MAX);
        }
        free(u8);
        free(u8_out);
        free(f64);
        free(f64_out);
        free(number);
        program_free(p);
    }
}

static void test_uniform(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t slot = program_add_param(p, PARAM_INPUT, VarTypeInt64);
    uint32_t entry = add(p, OP_LOAD, VarTypeInt64, slot, 0);
    p->insts[entry].flags |= INST_UNIFORM;
    uint32_t param = add(p, OP_PARAM, VarTypeInt64,
                         program_add_param(p, PARAM_VALUE, VarTypeInt64), 0);
    uint32_t worker = add(p, OP_WORKER, VarTypeUInt32, 0, 0);
    uint32_t sum = add(p, OP_ADD, VarTypeInt64, 0, 2, entry, param);
    assert_true(p->insts[sum].flags & INST_UNIFORM);
    uint32_t literal = program_add_literal(p, VarTypeInt64, 1000);
    uint32_t index = add(p, OP_COUNTER, VarTypeUInt32, 0, 0);
    uint32_t lane = add(p, OP_CAST, VarTypeInt64, 0, 1, index);
    uint32_t number = add(p, OP_CAST, VarTypeInt64, 0, 1, worker);
    lane = add(p, OP_FMA, VarTypeInt64, 0, 3, lane, literal, sum);
    lane = add(p, OP_ADD, VarTypeInt64, 0, 2, lane, number);
    uint32_t nothing = add(p, OP_UNDEFINED, VarTypeInt64, 0, 0);
    add_output(p, VarTypeInt64, add(p, OP_OR, VarTypeInt64, 0, 2, lane, nothing));
    int64_t one = 5, *out = array_of(VarTypeInt64, LANES);
    const uint64_t args[] = { address(&one), (uint64_t) -7, address(out) };
    run_range(p, args, 0, LANES, 3);
    for (int64_t i = 0; i < LANES; ++i)
        assert_int_equal(out[i], i * 1000 + 5 - 7 + 3);
    free(out);
    program_free(p);
}

/* More literals than are kept, and a Program whose memory must not grow with its
 * length. */
static void test_long_program(void **state)
{
    (void) state;
    enum { LENGTH = 300000, SHORT = 600 };
    size_t scratch[2];
    for (uint32_t round = 0; round < 2; ++round) {
        uint32_t length = round ? LENGTH : SHORT;
        Program *p = new_program();
        uint32_t x = add_input(p, VarTypeUInt32), expected = 9;
        for (uint32_t i = 0; i < length; ++i) {
            uint32_t literal = program_add_literal(p, VarTypeUInt32, i * 77 + 1);
            uint32_t twice = add(p, OP_BITCAST, VarTypeInt32, 0, 1, x);
            twice = add(p, OP_MUL, VarTypeInt32, 0, 2, twice, twice);
            x = add(p, OP_XOR, VarTypeUInt32, 0, 2,
                    add(p, OP_CAST, VarTypeUInt32, 0, 1, twice), literal);
            expected = (expected * expected) ^ (i * 77 + 1);
        }
        add_output(p, VarTypeUInt32, x);
        Code *code = interp_engine.compile(p, &(CodeSpec){ .hash = { 0, 0 } });
        assert_non_null(code);
        scratch[round] = cpu_code_scratch(code);
        assert_true(interp_engine.code_size(code) <= 48u * p->inst_count);
        code_release(code);
        uint32_t in[600], out[600];
        for (uint32_t i = 0; i < 600; ++i)
            in[i] = 9;
        const uint64_t args[] = { address(in), address(out) };
        run(p, args, 600);
        assert_int_equal(out[0], expected);
        assert_int_equal(out[599], expected);
        program_free(p);
    }
    assert_int_equal(scratch[0], scratch[1]);
}

/* In the hostile build each allocation of a compilation fails once. */
static void test_out_of_memory(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t to = add_pointer(p, VarTypeFloat32), value = add_input(p, VarTypeFloat32);
    uint32_t index = add_input(p, VarTypeUInt32), mask = add_input(p, VarTypeBool);
    for (uint32_t i = 0; i < 600; ++i) {
        uint32_t literal = program_add_literal(p, VarTypeFloat32, i);
        value = add(p, OP_FMA, VarTypeFloat32, 0, 3, value, literal, literal);
    }
    value = add(p, OP_SCATTER_EXCH, VarTypeFloat32, 0, 4, to, value, index, mask);
    add_output(p, VarTypeFloat32, value);
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

/* ---- memory */

/* Index and mask of test lane i: masked lanes point far outside. */
static bool lane_active(uint32_t i)
{
    return i % 5 != 2;
}

static void fill_indices(uint32_t *index, uint8_t *mask, uint32_t n, uint32_t size)
{
    for (uint32_t i = 0; i < n; ++i) {
        mask[i] = lane_active(i);
        index[i] = lane_active(i) ? i * 7919u % size : 0xfffffff0u - i;
    }
}

static void check_gather(VarType type, uint32_t n)
{
    enum { SIZE = 1009 };
    static const uint32_t packet = 4;
    Program *p = new_program();
    uint32_t from = add_pointer(p, type), index = add_input(p, VarTypeInt32);
    uint32_t mask = add_input(p, VarTypeBool);
    add_output(p, type, add(p, OP_GATHER, type, 0, 3, from, index, mask));
    uint32_t all = program_add_literal(p, VarTypeBool, 1);
    uint32_t zero = program_add_literal(p, VarTypeInt32, 0);
    uint32_t inside = add(p, OP_SELECT, VarTypeInt32, 0, 3, mask, index, zero);
    add_output(p, type, add(p, OP_GATHER, type, 0, 3, from, inside, all));
    uint32_t many = add(p, OP_GATHER_PACKET, type, packet, 3, from, index, mask);
    add_output(p, type, add(p, OP_PACKET_ITEM, type, 3, 1, many));
    add_output(p, type, add(p, OP_PACKET_ITEM, type, 0, 1, many));
    void *source = array_of(type, SIZE * packet), *out[4];
    for (uint32_t i = 0; i < SIZE * packet; ++i)
        put(source, type, i, random_value(type));
    uint32_t *where = array_of(VarTypeUInt32, n);
    uint8_t *set = array_of(VarTypeBool, n);
    fill_indices(where, set, n, SIZE);
    uint64_t args[7] = { address(source), address(where), address(set) };
    for (uint32_t k = 0; k < 4; ++k)
        args[3 + k] = address(out[k] = array_of(type, n));
    run(p, args, n);
    for (uint32_t i = 0; i < n; ++i) {
        uint32_t at = set[i] ? where[i] : 0;
        assert_int_equal(get(out[0], type, i), set[i] ? get(source, type, at) : 0);
        assert_int_equal(get(out[1], type, i), get(source, type, at));
        assert_int_equal(get(out[2], type, i),
                         set[i] ? get(source, type, at * 4 + 3) : 0);
        assert_int_equal(get(out[3], type, i), set[i] ? get(source, type, at * 4) : 0);
    }
    for (uint32_t k = 0; k < 4; ++k)
        free(out[k]);
    free(source);
    free(where);
    free(set);
    program_free(p);
}

static void test_gather(void **state)
{
    (void) state;
    for (uint32_t type = 0; type < VarTypeCount; ++type)
        for (uint32_t c = 0; c < COUNTS && type_valid((VarType) type); ++c)
            check_gather((VarType) type, counts[c]);
}

static uint64_t combine(ReduceOp op, VarType type, uint64_t old, uint64_t value)
{
    static const Op ops[] = { OP_NONE, OP_ADD, OP_MUL, OP_MIN, OP_MAX, OP_AND, OP_OR };
    Op which = ops[op];
    if (op == ReduceOpIdentity)
        return value;
    if (type_info[type].is_float && (op == ReduceOpMin || op == ReduceOpMax))
        which = op == ReduceOpMin ? OP_FMIN : OP_FMAX;
    return reference(which, type, 0, old, value, 0);
}

static bool reduces(ReduceOp op, VarType type)
{
    bool bits = op == ReduceOpAnd || op == ReduceOpOr;
    return op == ReduceOpIdentity || (CLASS_INTEGER >> type & 1) ||
           (bits ? type == VarTypeBool : CLASS_FLOAT >> type & 1);
}

/* Small whole numbers make every order of float additions give the same sum; products
 * stay small because the factors are 1 and 2. Modes without conflicts get distinct
 * targets. */
static void check_scatter(ReduceOp op, ReduceMode mode, VarType type, uint32_t n,
                          bool packet)
{
    const bool conflicts =
        mode == ReduceModeAuto || mode == ReduceModeDirect || mode == ReduceModeLocal;
    const uint32_t size = conflicts && op != ReduceOpIdentity ? 37 : 2003;
    const uint32_t items = packet ? 2 : 1;
    Program *p = new_program();
    uint32_t to = add_pointer(p, type), index = add_input(p, VarTypeUInt32);
    uint32_t mask = add_input(p, VarTypeBool), value = add_input(p, type);
    uint32_t aux = (uint32_t) op | (uint32_t) mode << 8;
    if (packet)
        add(p, OP_SCATTER_PACKET, VarTypeVoid, aux, 5, to, index, mask, value, value);
    else
        add(p, OP_SCATTER, VarTypeVoid, aux, 4, to, value, index, mask);
    void *target = array_of(type, size * items), *values = array_of(type, n);
    uint64_t *expected = calloc(size * items, sizeof *expected);
    uint32_t *where = array_of(VarTypeUInt32, n);
    uint8_t *set = array_of(VarTypeBool, n);
    assert_non_null(expected);
    fill_indices(where, set, n, size);
    for (uint32_t i = 0; i < size * items; ++i) {
        Real start = op == ReduceOpMul ? 1 : i % 3;
        expected[i] = type_info[type].is_float ? rounded(type, start)
                                               : cut(type, (uint64_t) start);
        put(target, type, i, expected[i]);
    }
    for (uint32_t i = 0; i < n; ++i) {
        int64_t v = op == ReduceOpMul ? 1 + (i % 19 == 0) : (int64_t) (i % 5);
        put(values, type, i,
            type_info[type].is_float ? rounded(type, v) : cut(type, (uint64_t) v));
        if (conflicts && set[i] && i % 3 && set[i - 1] && op != ReduceOpIdentity)
            where[i] = where[i - 1]; /* runs of one target */
        for (uint32_t k = 0; k < items && set[i]; ++k)
            expected[where[i] * items + k] =
                combine(op, type, expected[where[i] * items + k], get(values, type, i));
    }
    const uint64_t args[] = { address(target), address(where), address(set),
                              address(values) };
    run(p, args, n);
    for (uint32_t i = 0; i < size * items; ++i)
        if (!same(type, get(target, type, i), expected[i]))
            fail_msg("scatter op %d mode %d type %s: entry %u", (int) op, (int) mode,
                     type_info[type].name, i);
    free(target);
    free(values);
    free(expected);
    free(where);
    free(set);
    program_free(p);
}

static void test_scatter(void **state)
{
    (void) state;
    for (uint32_t op = 0; op < ReduceOpCount; ++op)
        for (uint32_t type = 0; type < VarTypeCount; ++type)
            for (uint32_t mode = 0; mode < ReduceModeCount; ++mode) {
                if (!type_valid((VarType) type) ||
                    !reduces((ReduceOp) op, (VarType) type))
                    continue;
                for (uint32_t c = 0; c < COUNTS; ++c)
                    check_scatter((ReduceOp) op, (ReduceMode) mode, (VarType) type,
                                  counts[c], c % 2);
            }
}

static void test_undefined_reduction(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t to = add_pointer(p, VarTypeFloat32), value = add_input(p, VarTypeFloat32);
    uint32_t index = add_input(p, VarTypeUInt32), mask = add_input(p, VarTypeBool);
    add(p, OP_SCATTER, VarTypeVoid, ReduceOpAnd, 4, to, value, index, mask);
    assert_null(interp_engine.compile(p, &(CodeSpec){ .hash = { 0, 0 } }));
    assert_int_equal(error_code(), JIT_ERROR_UNSUPPORTED);
    program_free(p);
}

static void check_exchange(VarType type)
{
    enum { N = 529, SIZE = 2003 };
    Program *p = new_program();
    uint32_t to = add_pointer(p, type), other = add_pointer(p, type);
    uint32_t index = add_input(p, VarTypeUInt32), mask = add_input(p, VarTypeBool);
    uint32_t value = add_input(p, type), compare = add_input(p, type);
    add_output(p, type, add(p, OP_SCATTER_EXCH, type, 0, 4, to, value, index, mask));
    add_output(p, type,
               add(p, OP_SCATTER_CAS, type, 0, 5, other, compare, value, index, mask));
    void *exchanged = array_of(type, SIZE), *swapped = array_of(type, SIZE);
    void *values = array_of(type, N), *compares = array_of(type, N);
    void *out_a = array_of(type, N), *out_b = array_of(type, N);
    uint32_t where[N];
    uint8_t set[N];
    fill_indices(where, set, N, SIZE);
    for (uint32_t i = 0; i < SIZE; ++i) {
        put(exchanged, type, i, cut(type, i));
        put(swapped, type, i, cut(type, i));
    }
    for (uint32_t i = 0; i < N; ++i) {
        put(values, type, i, cut(type, i + 100));
        put(compares, type, i, cut(type, where[i] + i % 2));
    }
    const uint64_t args[] = { address(exchanged), address(swapped), address(where),
                              address(set),       address(values),  address(compares),
                              address(out_a),     address(out_b) };
    run(p, args, N);
    for (uint32_t i = 0; i < N; ++i) {
        uint64_t before = set[i] ? cut(type, where[i]) : 0;
        assert_int_equal(get(out_a, type, i), before);
        assert_int_equal(get(out_b, type, i), before);
        if (!set[i])
            continue;
        assert_int_equal(get(exchanged, type, where[i]), cut(type, i + 100));
        assert_int_equal(get(swapped, type, where[i]),
                         i % 2 ? before : cut(type, i + 100));
    }
    free(exchanged);
    free(swapped);
    free(values);
    free(compares);
    free(out_a);
    free(out_b);
    program_free(p);
}

static void test_exchange(void **state)
{
    (void) state;
    for (uint32_t type = 0; type < VarTypeCount; ++type)
        if (type_valid((VarType) type))
            check_exchange((VarType) type);
}

/* Lanes that meet add up in their order; small integers are exact in every type. */
static void check_fetch_add(VarType type, const uint64_t *numbers, uint32_t count)
{
    enum { N = 100, SIZE = 3 };
    Program *p = new_program();
    uint32_t to = add_pointer(p, type), index = add_input(p, VarTypeUInt32);
    uint32_t mask = add_input(p, VarTypeBool), value = add_input(p, type);
    add_output(p, type, add(p, OP_SCATTER_ADD, type, 0, 4, to, value, index, mask));
    void *sums = array_of(type, SIZE), *values = array_of(type, N);
    void *out = array_of(type, N);
    uint32_t where[N], total[SIZE] = { 0 };
    uint8_t set[N];
    for (uint32_t i = 0; i < SIZE; ++i)
        put(sums, type, i, numbers[0]);
    for (uint32_t i = 0; i < N; ++i) {
        set[i] = lane_active(i);
        where[i] = set[i] ? i / 5 % SIZE : 999999;
        put(values, type, i, numbers[i % 2]); /* 0, 1, 0, 1, ... */
    }
    const uint64_t args[] = { address(sums), address(where), address(set),
                              address(values), address(out) };
    run(p, args, N);
    for (uint32_t i = 0; i < N; ++i) {
        assert_int_equal(get(out, type, i), numbers[set[i] ? total[where[i]] : 0]);
        if (set[i])
            total[where[i]] += i % 2;
        assert_true(!set[i] || total[where[i]] < count);
    }
    for (uint32_t i = 0; i < SIZE; ++i)
        assert_int_equal(get(sums, type, i), numbers[total[i]]);
    free(sums);
    free(values);
    free(out);
    program_free(p);
}

static void test_fetch_add(void **state)
{
    (void) state;
    uint64_t half[40], single[40] = { 0 }, full[40];
    for (uint32_t i = 0; i < 40; ++i) {
        uint32_t top = i ? 31 - (uint32_t) __builtin_clz(i) : 0;
        half[i] = i ? (15 + top) << 10 | (((i << (10 - top)) & 1023)) : 0;
        float f = (float) i;
        double d = i;
        memcpy(&single[i], &f, 4);
        memcpy(&full[i], &d, 8);
    }
    check_fetch_add(VarTypeFloat16, half, 40);
    check_fetch_add(VarTypeFloat32, single, 40);
    check_fetch_add(VarTypeFloat64, full, 40);
}

static void test_increment(void **state)
{
    (void) state;
    for (uint32_t c = 0; c < COUNTS; ++c) {
        uint32_t n = counts[c], total[3] = { 10, 20, 30 }, next[3] = { 10, 20, 30 };
        Program *p = new_program();
        uint32_t to = add_pointer(p, VarTypeUInt32),
                 index = add_input(p, VarTypeUInt32);
        uint32_t mask = add_input(p, VarTypeBool);
        add_output(p, VarTypeUInt32,
                   add(p, OP_SCATTER_INC, VarTypeUInt32, 0, 3, to, index, mask));
        uint32_t *where = array_of(VarTypeUInt32, n), *out = array_of(VarTypeUInt32, n);
        uint8_t *set = array_of(VarTypeBool, n);
        for (uint32_t i = 0; i < n; ++i) {
            set[i] = lane_active(i);
            where[i] = set[i] ? i / 7 % 3 : 999999;
        }
        const uint64_t args[] = { address(total), address(where), address(set),
                                  address(out) };
        run(p, args, n);
        for (uint32_t i = 0; i < n; ++i)
            assert_int_equal(out[i], set[i] ? next[where[i]]++ : 0);
        assert_memory_equal(total, next, sizeof total);
        free(where);
        free(out);
        free(set);
        program_free(p);
    }
}

static void test_check(void **state)
{
    (void) state;
    enum { N = 1000 };
    Program *p = new_program();
    uint32_t index = add_input(p, VarTypeUInt32), mask = add_input(p, VarTypeBool);
    p->check_count = 2;
    uint32_t slots[2];
    slots[0] = program_add_param(p, PARAM_OUTPUT, VarTypeBool);
    slots[1] = program_add_param(p, PARAM_OUTPUT, VarTypeBool);
    program_add_param(p, PARAM_REPORT, VarTypeVoid);
    for (uint32_t k = 0; k < 2; ++k) {
        uint32_t inside = add(p, OP_CHECK, VarTypeBool, k, 2, mask, index);
        add(p, OP_STORE, VarTypeVoid, slots[k], 1, inside);
    }
    uint32_t where[N], failed = 0;
    uint8_t set[N], out[2][N];
    for (uint32_t i = 0; i < N; ++i) {
        where[i] = i * 3;
        set[i] = lane_active(i);
        failed += set[i] && where[i] >= 600;
    }
    where[N - 2] = UINT32_MAX;
    CheckReport reports[2] = { { 0, 0, 600 }, { 0, 0, UINT64_C(1) << 32 } };
    const uint64_t args[] = { address(where), address(set), address(out[0]),
                              address(out[1]), address(reports) };
    run(p, args, N);
    for (uint32_t i = 0; i < N; ++i) {
        assert_int_equal(out[0][i], set[i] && where[i] < 600);
        assert_int_equal(out[1][i], set[i]);
    }
    assert_int_equal(reports[0].count, failed);
    assert_true(reports[0].index >= 600);
    assert_int_equal(reports[1].count, 0);
    program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lane_counts),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_long_program),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_undefined_reduction),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_fetch_add),
        cmocka_unit_test(test_increment),
        cmocka_unit_test(test_check)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
