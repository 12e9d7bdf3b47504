/*
 * test_legalise.c -- expanded operations give the bits of the operations they replace
 *
 * For each operation, operand type and result type there is a Program of one operation.
 * It is legalised for engines that lack more or less everything, then both forms run in
 * `interp` on special and random values and must agree bit for bit (any NaN equals any
 * other). Half precision is swept: all values of one operand, dense sets of pairs, and
 * for conversions to half precision the neighbourhood of every midpoint between two
 * halves.
 */
#include "legalise_engines.h"

#include <math.h>
#include <time.h>

enum { MAX_SLOTS = 8 };

static const Engine *const engines[] = { &poor, &avx2, &no_bytes };
enum { ENGINE_COUNT = sizeof engines / sizeof *engines };

/* One operation on up to three arrays. */
typedef struct Case {
    Op op;
    VarType type, operand; /* of the result, of value operands */
    uint32_t size;
    const void *in[3];
} Case;

static VarType input_type(const Case *c, uint32_t i)
{
    return c->op == OP_SELECT && i == 0 ? VarTypeBool : c->operand;
}

static Program *case_program(const Case *c)
{
    Program *program = new_program();
    uint32_t args[3], arity = op_info[c->op].arity;
    for (uint32_t i = 0; i < arity; ++i) {
        uint32_t slot = program_add_param(program, PARAM_INPUT, input_type(c, i));
        args[i] = program_add(program, OP_LOAD, input_type(c, i), slot, 0, NULL);
    }
    uint32_t out = program_add_param(program, PARAM_OUTPUT, c->type);
    uint32_t result = program_add(program, c->op, c->type, 0, arity, args);
    program_add(program, OP_STORE, VarTypeVoid, out, 1, &result);
    return program;
}

static bool is_nan_bits(VarType type, uint64_t bits)
{
    switch (type) {
    case VarTypeFloat16: return (bits & 0x7fff) > 0x7c00;
    case VarTypeFloat32: return (bits & 0x7fffffff) > 0x7f800000;
    case VarTypeFloat64: return (bits & INT64_MAX) > 0x7ff0000000000000;
    default: return false;
    }
}

static uint64_t entry(VarType type, const void *array, size_t i)
{
    uint64_t bits = 0;
    size_t size = type_info[type].size;
    memcpy(&bits, (const char *) array + i * size, size);
    return bits;
}

static void compare_results(const Case *c, const char *engine, const void *expected,
                            const void *found)
{
    size_t bytes = (size_t) c->size * type_info[c->type].size;
    if (memcmp(expected, found, bytes) == 0)
        return;
    for (size_t i = 0; i < c->size; ++i) {
        uint64_t e = entry(c->type, expected, i), f = entry(c->type, found, i);
        if (e == f || (is_nan_bits(c->type, e) && is_nan_bits(c->type, f)))
            continue;
        uint64_t in[3] = { 0 };
        for (uint32_t k = 0; k < op_info[c->op].arity; ++k)
            in[k] = entry(input_type(c, k), c->in[k], i);
        fail_msg("%s: %s %s of %s(%llx, %llx, %llx) is %llx, expected %llx", engine,
                 op_info[c->op].name, type_info[c->type].name,
                 type_info[c->operand].name, (unsigned long long) in[0],
                 (unsigned long long) in[1], (unsigned long long) in[2],
                 (unsigned long long) f, (unsigned long long) e);
    }
}

static void check(const Case *c)
{
    Program *program = case_program(c);
    uint64_t slots[MAX_SLOTS] = { 0 };
    uint32_t arity = op_info[c->op].arity;
    for (uint32_t i = 0; i < arity; ++i)
        slots[i] = (uint64_t) (uintptr_t) c->in[i];
    size_t bytes = (size_t) c->size * type_info[c->type].size;
    void *expected = alloc_aligned(bytes), *found = alloc_aligned(bytes);

    slots[arity] = (uint64_t) (uintptr_t) expected;
    run(program, slots, c->size);
    slots[arity] = (uint64_t) (uintptr_t) found;
    for (int e = 0; e < ENGINE_COUNT; ++e) {
        if (engines[e]->supports(c->op, c->type, c->operand))
            continue;
        const Program *legal = legalised(program, engines[e]);
        assert_ptr_not_equal(legal, program);
        memset(found, 0xcd, bytes);
        run(legal, slots, c->size);
        compare_results(c, engines[e]->name, expected, found);
        release(legal, program);
    }
    alloc_free(expected);
    alloc_free(found);
    program_free(program);
}

/* ------------------------------------------------------------------------- values */

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    uint64_t x = random_state += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static uint64_t f64_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t f32_bits(double value)
{
    float single = (float) value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return bits;
}

static const double special_reals[] = {
    0, 1, 1.5, 2, 3, 0.5, 0.49999999999999994, 2.5, 1e-3, 127, 127.9, 128, 255, 255.99,
    256, 32767, 32767.9, 32768, 65503, 65504, 65519.99, 65520, 65535, 65536, 16777215,
    16777216, 16777217, 2147483520, 2147483647, 2147483648.0, 2147483649.0,
    4294967040.0, 4294967295.0, 4294967295.9, 4294967296.0, 4294967297.0,
    9223372036854774784.0, 9223372036854775808.0, 18446744073709549568.0,
    18446744073709551616.0, 1e20, 1e-20, 1e-7, 5.9604644775390625e-8,
    2.98023223876953125e-8, 2.9802322387695318e-8, 6.103515625e-5,
    6.0975551605224609e-5, 3.4028234663852886e38, 1.1754943508222875e-38,
    1.401298464324817e-45, 1e-40, 1e300, 1e-300, 2.2250738585072014e-308,
    4.9406564584124654e-324, 1.7976931348623157e308, INFINITY, NAN,
};
enum { REAL_COUNT = sizeof special_reals / sizeof *special_reals };

static const uint64_t special_ints[] = {
    0, 1, 2, 3, 5, 7, 8, 10, 15, 16, 31, 32, 33, 63, 64, 65, 0x7f, 0x80, 0x81, 0xff,
    0x100, 0x7fff, 0x8000, 0x8001, 0xffff, 0x10000, 0xffffff, 0x1000000, 0x1000001,
    0x7fffff80, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0x100000000,
    0x100000001, 0x1fffffffff, 0x20000000000000, 0x20000000000001, 0x7ffffffffffffbff,
    0x7ffffffffffffc00, 0x7ffffffffffffe00, 0x7fffffffffffffff, 0x8000000000000000,
    0x8000000000000001, 0x8000000000000400, 0x8000000000000401, 0x8000008000000000,
    0x8000008000000001, 0x8000018000000000, 0x4000004000000001, 0xfffffffffffff800,
    0xfffffffffffffc00, 0xffffffff00000000, 0xfffffffffffffffe, 0xffffffffffffffff,
    0x5555555555555555, 0x0123456789abcdef, 0xfedcba9876543210,
};
enum { INT_COUNT = sizeof special_ints / sizeof *special_ints };

/* Half precision: bits of interest, as there is no portable type. */
static const uint16_t special_halves[] = {
    0x0000, 0x0001, 0x0002, 0x0200, 0x03ff, 0x0400, 0x0401, 0x07ff, 0x1400, 0x3555,
    0x37ff, 0x3800, 0x3801, 0x3bff, 0x3c00, 0x3c01, 0x3e00, 0x4000, 0x4100, 0x4200,
    0x4900, 0x57f0, 0x5bf8, 0x5c00, 0x63ff, 0x6400, 0x77ff, 0x7800, 0x7bff, 0x7c00,
    0x7e00, 0x7c01,
};
enum { HALF_COUNT = sizeof special_halves / sizeof *special_halves };

/* A value of any type: mostly special ones, or of moderate size, or random bits. */
static uint64_t pick(VarType type, uint64_t choice)
{
    uint64_t kind = choice % 8, r = choice >> 8, sign = choice >> 3 & 1;
    uint32_t width = 8u * type_info[type].size;
    if (type == VarTypeBool)
        return r & 1;
    if (type == VarTypeFloat16) {
        uint64_t bits = kind < 4 ? special_halves[r % HALF_COUNT] : r & 0x7fff;
        return bits | sign << 15;
    }
    if (type_info[type].is_float) {
        bool single = type == VarTypeFloat32;
        double value = special_reals[r % REAL_COUNT];
        if (kind >= 4)
            value = ldexp((double) (r >> 11 & 0xffffff) / 256, (int) (r % 60) - 30);
        if (kind == 7)
            return single ? r & 0xffffffff : next_random();
        value = sign ? -value : value;
        return single ? f32_bits(value) : f64_bits(value);
    }
    uint64_t bits = special_ints[r % INT_COUNT];
    if (kind >= 4)
        bits = next_random() >> r % 64;
    bits = sign ? 0 - bits : bits;
    return width == 64 ? bits : bits & ((1ull << width) - 1);
}

static void fill(void *array, VarType type, uint32_t size)
{
    size_t bytes = type_info[type].size;
    for (uint32_t i = 0; i < size; ++i) {
        uint64_t bits = pick(type, next_random());
        memcpy((char *) array + i * bytes, &bits, bytes);
    }
}

/* ------------------------------------------------------------------- all operations */

static const VarType types[] = {
    VarTypeBool, VarTypeInt8, VarTypeUInt8, VarTypeInt16, VarTypeUInt16, VarTypeInt32,
    VarTypeUInt32, VarTypeInt64, VarTypeUInt64, VarTypeFloat16, VarTypeFloat32,
    VarTypeFloat64,
};
enum { TYPE_COUNT = sizeof types / sizeof *types };

static VarType result_of(Op op, VarType operand)
{
    return op_info[op].result == RESULT_MASK ? VarTypeBool
         : op_info[op].result == RESULT_WIDE ? type_wide(operand) : operand;
}

static void check_random(Op op, VarType type, VarType operand)
{
    enum { SIZE = 20000 };
    Case c = { .op = op, .type = type, .operand = operand, .size = SIZE };
    void *in[3];
    for (uint32_t i = 0; i < 3; ++i) {
        in[i] = alloc_aligned(SIZE * 8);
        fill(in[i], input_type(&c, i), SIZE);
        c.in[i] = in[i];
    }
    check(&c);
    for (uint32_t i = 0; i < 3; ++i)
        alloc_free(in[i]);
}

static void test_operations(void **state)
{
    (void) state;
    for (int op = OP_NEG; op <= OP_SELECT; ++op) {
        for (int t = 0; t < TYPE_COUNT; ++t) {
            if (op_info[op].operands & 1u << types[t])
                check_random((Op) op, result_of((Op) op, types[t]), types[t]);
        }
    }
    check_random(OP_EQ, VarTypeBool, VarTypePointer);
    check_random(OP_NEQ, VarTypeBool, VarTypePointer);
    check_random(OP_SELECT, VarTypePointer, VarTypePointer);
}

/* All pairs of bytes. The third operand is each of a few for all pairs. */
static void test_bytes(void **state)
{
    (void) state;
    enum { SIZE = 65536, THIRDS = 8 };
    static const uint8_t thirds[THIRDS] = { 0, 1, 2, 0x55, 0x7f, 0x80, 0x81, 0xff };
    uint8_t *in[3], *on = alloc_aligned(SIZE);
    for (uint32_t i = 0; i < 3; ++i)
        in[i] = alloc_aligned(SIZE);
    for (uint32_t i = 0; i < SIZE; ++i) {
        in[0][i] = (uint8_t) i;
        in[1][i] = (uint8_t) (i >> 8);
        on[i] = next_random() & 1;
    }
    for (int op = OP_NEG; op <= OP_SELECT; ++op) {
        for (VarType type = VarTypeInt8; type <= VarTypeUInt8; ++type) {
            if (!(op_info[op].operands & 1u << type))
                continue;
            Case c = { .op = (Op) op, .type = result_of((Op) op, type),
                       .operand = type, .size = SIZE, .in = { in[0], in[1], in[2] } };
            if (op == OP_SELECT) {
                c.in[0] = on;
                c.in[2] = in[0];
            }
            for (uint32_t k = 0; k < (op == OP_FMA ? THIRDS : 1); ++k) {
                memset(in[2], thirds[k], SIZE);
                check(&c);
            }
        }
    }
    for (uint32_t i = 0; i < 3; ++i)
        alloc_free(in[i]);
    alloc_free(on);
}

static void test_casts(void **state)
{
    (void) state;
    for (int from = 0; from < TYPE_COUNT; ++from)
        for (int to = 0; to < TYPE_COUNT; ++to)
            if (from != to)
                check_random(OP_CAST, types[to], types[from]);
}

/* ------------------------------------------------------------------- half precision */

static void test_half_unary(void **state)
{
    (void) state;
    uint16_t *all_halves = alloc_aligned(65536 * sizeof *all_halves);
    for (uint32_t i = 0; i < 65536; ++i)
        all_halves[i] = (uint16_t) i;
    static const Op ops[] = {
        OP_NEG, OP_SQRT, OP_RCP, OP_ABS, OP_CEIL, OP_FLOOR, OP_ROUND, OP_TRUNC,
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i)
        check(&(Case) { ops[i], VarTypeFloat16, VarTypeFloat16, 65536,
                        { all_halves } });
    for (int t = 0; t < TYPE_COUNT; ++t)
        if (types[t] != VarTypeFloat16)
            check(&(Case) { OP_CAST, types[t], VarTypeFloat16, 65536, { all_halves } });
    /* All 16-bit integers to half precision. */
    check(&(Case) { OP_CAST, VarTypeFloat16, VarTypeUInt16, 65536, { all_halves } });
    check(&(Case) { OP_CAST, VarTypeFloat16, VarTypeInt16, 65536, { all_halves } });
    alloc_free(all_halves);
}

/* Half precision values with few or nearly all bits set, of every exponent and sign. */
static uint32_t dense_halves(uint16_t *out)
{
    static const uint16_t mantissas[] = {
        0, 1, 2, 3, 0x155, 0x1ff, 0x200, 0x201, 0x2aa, 0x3fd, 0x3fe, 0x3ff,
    };
    uint32_t count = 0;
    for (uint32_t exponent = 0; exponent < 32; ++exponent)
        for (size_t m = 0; m < sizeof mantissas / sizeof *mantissas; ++m)
            for (uint32_t sign = 0; sign < 2; ++sign)
                out[count++] = (uint16_t) (sign << 15 | exponent << 10 | mantissas[m]);
    return count;
}

static void test_half_binary(void **state)
{
    (void) state;
    static uint16_t dense[1000];
    uint32_t n = dense_halves(dense), size = n * n;
    uint16_t *in[3];
    for (int i = 0; i < 3; ++i)
        in[i] = alloc_aligned(size * sizeof **in);
    for (uint32_t i = 0; i < size; ++i) {
        in[0][i] = dense[i / n];
        in[1][i] = dense[i % n];
    }
    for (int op = OP_ADD; op <= OP_GE; ++op) {
        bool mask = op_info[op].result == RESULT_MASK;
        if (op_info[op].operands & 1u << VarTypeFloat16)
            check(&(Case) { (Op) op, mask ? VarTypeBool : VarTypeFloat16,
                            VarTypeFloat16, size, { in[0], in[1] } });
    }
    for (int round = 0; round < 8; ++round) {
        for (uint32_t i = 0; i < size; ++i)
            in[2][i] = dense[next_random() % n];
        check(&(Case) { OP_FMA, VarTypeFloat16, VarTypeFloat16, size,
                        { in[0], in[1], in[2] } });
    }
    for (int i = 0; i < 3; ++i)
        alloc_free(in[i]);
}

/* Fused multiply-adds whose exact result is close to a midpoint between two halves: the
 * addend has the size that makes it so. */
static void test_half_fma(void **state)
{
    (void) state;
    enum { SIZE = 1 << 20 };
    uint16_t *in[3];
    for (int i = 0; i < 3; ++i)
        in[i] = alloc_aligned(SIZE * sizeof **in);
    for (uint32_t i = 0; i < SIZE; ++i) {
        uint64_t r = next_random();
        int ea = (int) (r % 24) + 1, eb = (int) (r / 24 % 24) + 1;
        int ec = ea + eb - 15 + (int) (r / 576 % 28) - 14;
        ec = ec < 0 ? 0 : ec > 30 ? 30 : ec;
        in[0][i] = (uint16_t) (ea << 10 | (int) (r >> 20 & 0x3ff));
        in[1][i] = (uint16_t) (eb << 10 | (int) (r >> 30 & 0x3ff));
        in[2][i] = (uint16_t) ((int) (r >> 40 & 1) << 15 | ec << 10 |
                               (int) (r >> 41 & (i % 2 ? 0x3ff : 1)));
    }
    check(&(Case) { OP_FMA, VarTypeFloat16, VarTypeFloat16, SIZE,
                    { in[0], in[1], in[2] } });
    for (int i = 0; i < 3; ++i)
        alloc_free(in[i]);
}

/* Value of a positive finite half; 0x7c00 continues as 65536. */
static double half_value(uint32_t bits)
{
    uint32_t exponent = bits >> 10, mantissa = bits & 0x3ff;
    return exponent ? ldexp(1024 + mantissa, (int) exponent - 25)
        : ldexp(mantissa, -24);
}

static void test_to_half(void **state)
{
    (void) state;
    enum { NEAR = 14, SIZE = 0x7c00 * NEAR };
    double *f64 = alloc_aligned(SIZE * sizeof *f64);
    float *f32 = alloc_aligned(SIZE * sizeof *f32);
    for (uint32_t i = 0; i < SIZE; ++i) {
        uint32_t bits = i / NEAR;
        double low = half_value(bits), high = half_value(bits + 1);
        double mid = (low + high) / 2;
        double nearby[NEAR] = {
            low, high, mid, nextafter(mid, 0), nextafter(mid, INFINITY),
            nextafter(low, 0), nextafter(low, INFINITY), nextafterf((float) mid, 0),
            nextafterf((float) mid, INFINITY),
            nextafter(nextafterf((float) mid, 0), mid),
            nextafter(nextafterf((float) mid, INFINITY), mid),
            mid * (1 - 0x1p-30), mid * (1 + 0x1p-30), mid * (1 + 0x1p-25),
        };
        f64[i] = nearby[i % NEAR] * (bits % 2 ? -1 : 1);
        f32[i] = (float) f64[i];
    }
    check(&(Case) { OP_CAST, VarTypeFloat16, VarTypeFloat64, SIZE, { f64 } });
    check(&(Case) { OP_CAST, VarTypeFloat16, VarTypeFloat32, SIZE, { f32 } });
    alloc_free(f64);
    alloc_free(f32);
}

/* --------------------------------------------------------------- 64-bit division */

/* Divisors and quotients of every size, remainders at both ends. */
static void test_long_division(void **state)
{
    (void) state;
    enum { SIZE = 200000 };
    uint64_t *a = alloc_aligned(SIZE * 8), *b = alloc_aligned(SIZE * 8);
    for (uint32_t i = 0; i < SIZE; ++i) {
        b[i] = next_random() >> next_random() % 64;
        if (i % 7 == 0)
            b[i] = 1ull << i % 64;
        if (i % 11 == 0)
            b[i] = UINT64_MAX - i;
        uint64_t most = b[i] ? UINT64_MAX / b[i] : 0;
        uint64_t quotient = next_random() >> next_random() % 64;
        if (most && quotient > most)
            quotient = most - quotient % 2;
        a[i] = quotient * b[i] - (i % 3 == 0) + (i % 3 == 1 ? b[i] - 1 : 0);
    }
    for (int op = OP_DIV; op <= OP_MUL_HI; ++op) {
        check(&(Case) { (Op) op, VarTypeUInt64, VarTypeUInt64, SIZE, { a, b } });
        check(&(Case) { (Op) op, VarTypeInt64, VarTypeInt64, SIZE, { a, b } });
        check(&(Case) { (Op) op, VarTypeUInt32, VarTypeUInt32, SIZE, { a, b } });
        check(&(Case) { (Op) op, VarTypeInt32, VarTypeInt32, SIZE, { a, b } });
    }
    alloc_free(a);
    alloc_free(b);
}

/* ------------------------------------------------------------------------ packets */

static uint32_t add_pointer(Program *program, VarType type, bool written)
{
    uint32_t slot = program_add_param(program, PARAM_POINTER, type);
    program->params[slot].written = written;
    return program_add(program, OP_PARAM, VarTypePointer, slot, 0, NULL);
}

/* Reads packets, writes items to another array in reverse order, computes with others.
 * */
static Program *packet_program(VarType type, VarType index_type)
{
    Program *p = new_program();
    uint32_t source = add_pointer(p, type, false), target = add_pointer(p, type, true);
    uint32_t index_slot = program_add_param(p, PARAM_INPUT, index_type);
    uint32_t mask_slot = program_add_param(p, PARAM_INPUT, VarTypeBool);
    uint32_t out_slot = program_add_param(p, PARAM_OUTPUT, type);
    uint32_t index = program_add(p, OP_LOAD, index_type, index_slot, 0, NULL);
    uint32_t mask = program_add(p, OP_LOAD, VarTypeBool, mask_slot, 0, NULL);
    uint32_t items[7] = { source, index, mask };
    uint32_t packet = program_add(p, OP_GATHER_PACKET, type, 4, 3, items);
    uint32_t pair = program_add(p, OP_GATHER_PACKET, type, 2, 3, items);
    items[0] = target;
    for (uint32_t k = 0; k < 4; ++k)
        items[3 + k] = program_add(p, OP_PACKET_ITEM, type, 3 - k, 1, &packet);
    program_add(p, OP_SCATTER_PACKET, VarTypeVoid, 0, 7, items);
    uint32_t one = program_add(p, OP_PACKET_ITEM, type, 1, 1, &packet);
    uint32_t other = program_add(p, OP_PACKET_ITEM, type, 1, 1, &pair);
    uint32_t sum = program_add(p, OP_SUB, type, 0, 2, (uint32_t[]) { one, other });
    program_add(p, OP_STORE, VarTypeVoid, out_slot, 1, &sum);
    return p;
}

static void check_packets(VarType type, VarType index_type, const Engine *engine)
{
    enum { SIZE = 300 };
    size_t bytes = (size_t) SIZE * 4 * type_info[type].size;
    void *source = alloc_aligned(bytes), *target[2], *out[2];
    uint32_t *index = alloc_aligned(SIZE * 4);
    bool *mask = alloc_aligned(SIZE);
    fill(source, type, SIZE * 4);
    for (uint32_t i = 0; i < SIZE; ++i) {
        index[i] = (i * 7) % SIZE; /* a permutation */
        mask[i] = i % 5 != 0;
    }
    Program *program = packet_program(type, index_type);
    const Program *legal = legalised(program, engine);
    assert_ptr_not_equal(legal, program);
    for (int i = 0; i < 2; ++i) {
        target[i] = alloc_aligned(bytes);
        out[i] = alloc_aligned(bytes);
        memset(target[i], 0, bytes);
        uint64_t slots[] =
            { (uintptr_t) source, (uintptr_t) target[i], (uintptr_t) index,
              (uintptr_t) mask, (uintptr_t) out[i] };
        run(i ? legal : program, slots, SIZE);
    }
    Case c = { OP_LITERAL, type, type, SIZE * 4, { NULL } };
    compare_results(&c, engine->name, target[0], target[1]);
    c.size = SIZE;
    compare_results(&c, engine->name, out[0], out[1]);
    /* Independently: lanes that are on have reversed their four entries. */
    for (uint32_t i = 0; i < SIZE; ++i)
        for (uint32_t k = 0; k < 4; ++k)
            assert_true(entry(type, target[1], index[i] * 4 + k) ==
                        (mask[i] ? entry(type, source, index[i] * 4 + 3 - k) : 0));
    for (int i = 0; i < 2; ++i) {
        alloc_free(target[i]);
        alloc_free(out[i]);
    }
    alloc_free(source);
    alloc_free(index);
    alloc_free(mask);
    release(legal, program);
    program_free(program);
}

static void test_packets(void **state)
{
    (void) state;
    for (int t = 1; t < TYPE_COUNT; ++t) {
        check_packets(types[t], VarTypeUInt32, &no_packets);
        check_packets(types[t], VarTypeInt32, &poor);
    }
}

static uint32_t count_op(const Program *program, Op op)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < program->inst_count; ++i)
        count += program->insts[i].op == op;
    return count;
}

/* Items that nobody uses are not gathered. */
static void test_unused_items(void **state)
{
    (void) state;
    Program *program = packet_program(VarTypeUInt32, VarTypeUInt32);
    const Program *legal = legalised(program, &no_packets);
    assert_int_equal(count_op(legal, OP_GATHER), 4 + 1);
    assert_int_equal(count_op(legal, OP_SCATTER), 4);
    release(legal, program);
    program_free(program);
}

/* ------------------------------------------------------------------------ structure */

static void test_unchanged(void **state)
{
    (void) state;
    Program *program = packet_program(VarTypeFloat16, VarTypeUInt32);
    assert_ptr_equal(legalise(program, &all), program);
    program_clear(program);
    assert_ptr_equal(legalise(program, &poor), program);
    program_free(program);
}

/* Slots, statements, checks, uniform loads and the order of side effects stay. */
static void test_frame(void **state)
{
    (void) state;
    VarType f16 = VarTypeFloat16, u32 = VarTypeUInt32;
    Program *p = new_program();
    uint32_t array = add_pointer(p, f16, true);
    uint32_t in = program_add_param(p, PARAM_INPUT, f16);
    uint32_t value_slot = program_add_param(p, PARAM_VALUE, f16);
    uint32_t out = program_add_param(p, PARAM_OUTPUT, f16);
    program_add_param(p, PARAM_REPORT, VarTypeVoid);
    p->check_count = 1;
    program_add_stmt(p, "$r0 = fadd <$w x $t1> $r1, $r2");
    uint32_t x = program_add(p, OP_LOAD, f16, in, 0, NULL);
    p->insts[x].flags |= INST_UNIFORM;
    uint32_t value = program_add(p, OP_PARAM, f16, value_slot, 0, NULL);
    uint32_t sum = program_add(p, OP_ADD, f16, 0, 2, (uint32_t[]) { x, value });
    uint32_t lane = program_add(p, OP_COUNTER, u32, 0, 0, NULL);
    uint32_t mask = program_add_literal(p, VarTypeBool, 1);
    mask = program_add(p, OP_CHECK, VarTypeBool, 0, 2, (uint32_t[]) { mask, lane });
    uint32_t effect[4] = { array, sum, lane, mask };
    program_add(p, OP_SCATTER, VarTypeVoid, 0, 4, effect);
    effect[1] = program_add(p, OP_MUL, f16, 0, 2, (uint32_t[]) { sum, sum });
    program_add(p, OP_SCATTER, VarTypeVoid, ReduceOpAdd, 4, effect);
    program_add(p, OP_STORE, VarTypeVoid, out, 1, &sum);
    assert_true(program_verify(p));

    const Program *legal = legalised(p, &avx2);
    assert_true(program_verify(legal));
    assert_int_equal(legal->param_count, p->param_count);
    assert_memory_equal(legal->params, p->params, p->param_count * sizeof *p->params);
    assert_int_equal(legal->stmt_count, 1);
    assert_string_equal(legal->stmts[0], p->stmts[0]);
    assert_int_equal(legal->check_count, 1);
    Op order[5];
    uint32_t count = 0, modes[5];
    for (uint32_t i = 0; i < legal->inst_count; ++i) {
        const Inst *inst = &legal->insts[i];
        if (inst->op == OP_LOAD)
            assert_true(inst->flags & INST_UNIFORM);
        if (!op_may_drop((Op) inst->op)) {
            assert_true(count < 5);
            modes[count] = inst->aux;
            order[count++] = (Op) inst->op;
        }
    }
    assert_int_equal(count, 4);
    assert_int_equal(order[0], OP_CHECK);
    assert_int_equal(order[1], OP_SCATTER);
    assert_int_equal(modes[1], 0);
    assert_int_equal(order[2], OP_SCATTER);
    assert_int_equal(modes[2], ReduceOpAdd);
    assert_int_equal(order[3], OP_STORE);
    release(legal, p);
    program_free(p);
}

static bool nothing_supports(Op op, VarType type, VarType operand)
{
    (void) type, (void) operand;
    return is_basic(op);
}

/* What no rule covers is an error that names it, also where rules lead in a circle. */
static void test_unsupported(void **state)
{
    (void) state;
    static const Engine nothing = { .name = "nothing", .supports = nothing_supports };
    static const VarType operands[] = { VarTypeFloat64, VarTypeInt64, VarTypeUInt32 };
    for (int op = OP_NEG; op <= OP_SELECT; ++op) {
        for (size_t t = 0; t < sizeof operands / sizeof *operands; ++t) {
            if (!(op_info[op].operands & 1u << operands[t]))
                continue;
            VarType type = result_of((Op) op, operands[t]);
            Program *program = case_program(&(Case) { (Op) op, type, operands[t], 0,
                                                      { NULL } });
            error_clear();
            const Program *legal = legalise(program, &nothing);
            /* |a| of an unsigned number needs nothing at all. */
            if (!(op == OP_ABS && operands[t] == VarTypeUInt32)) {
                assert_null(legal);
                assert_int_equal(error_code(), JIT_ERROR_UNSUPPORTED);
                assert_non_null(strstr(error_message(), "nothing engine"));
            }
            if (legal)
                release(legal, program);
            program_free(program);
        }
    }
}

/* A million operations in a few seconds, without recursion, and with one widening for
 * each value however often it is used. */
static void test_long_chain(void **state)
{
    (void) state;
    enum { LENGTH = 1000000 };
#if defined(__SANITIZE_THREAD__)
    const double most_seconds = 100; /* it takes ten times as long there */
#else
    const double most_seconds = 10;
#endif
    Program *p = new_program();
    uint32_t in = program_add_param(p, PARAM_INPUT, VarTypeFloat16);
    uint32_t out = program_add_param(p, PARAM_OUTPUT, VarTypeFloat16);
    uint32_t x = program_add(p, OP_LOAD, VarTypeFloat16, in, 0, NULL), y = x;
    for (uint32_t i = 0; i < LENGTH; ++i)
        y = program_add(p, OP_ADD, VarTypeFloat16, 0, 2, (uint32_t[]) { y, y });
    program_add(p, OP_STORE, VarTypeVoid, out, 1, &y);
    clock_t begin = clock();
    const Program *legal = legalised(p, &avx2);
    assert_true((double) (clock() - begin) / CLOCKS_PER_SEC < most_seconds);
    assert_int_equal(legal->inst_count, 2 + 3 * LENGTH);
    release(legal, p);
    program_free(p);
}

#if defined(JIT_HOSTILE)
/* Every allocation fails once: an error and no leak. */
static void test_hostile(void **state)
{
    (void) state;
    Program *program = packet_program(VarTypeFloat16, VarTypeInt32);
    program_add_stmt(program, "text");
    for (uint64_t n = 1;; ++n) {
        assert_true(n < 10000);
        alloc_fail_at(n);
        const Program *legal = legalise(program, &poor);
        bool failed = alloc_steps() >= n;
        alloc_fail_at(0);
        assert_int_equal(legal == NULL, failed);
        if (legal) {
            release(legal, program);
            break;
        }
        assert_int_equal(error_code(), JIT_ERROR_MEMORY);
    }
    program_free(program);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unchanged),
        cmocka_unit_test(test_frame),
        cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_half_unary),
        cmocka_unit_test(test_half_binary),
        cmocka_unit_test(test_half_fma),
        cmocka_unit_test(test_to_half),
        cmocka_unit_test(test_long_division),
        cmocka_unit_test(test_packets),
        cmocka_unit_test(test_unused_items),
        cmocka_unit_test(test_long_chain),
#if defined(JIT_HOSTILE)
        cmocka_unit_test(test_hostile),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
