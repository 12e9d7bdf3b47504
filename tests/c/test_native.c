/*
 * test_native.c -- the core of the native engine: registers, regions, calls, frame
 *
 * Programs written by hand whose results are computed here in plain C. Each runs with
 * lane counts around the size of a packet, from several first lanes, and must not write
 * outside of its outputs. main() runs everything for each target, with packets one by
 * one and side by side.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/engine.h"
#include "kernel/legalise.h"
#include "native_targets.h"

#define U32 VarTypeUInt32
#define U64 VarTypeUInt64
#define F32 VarTypeFloat32
#define F64 VarTypeFloat64
#define BOOL VarTypeBool

enum { LANES = 200, GUARD = 64, FILL = 0xa5 };

static const Engine *native;
static Program *p; /* the one being written: the root or a callable */

/* ---- writing Programs */

static void begin_program(void)
{
    p = alloc_zero(1, sizeof *p);
    assert_non_null(p);
}

static uint32_t op(Op o, VarType type, uint32_t aux, uint32_t count, ...)
{
    uint32_t args[8];
    va_list list;
    va_start(list, count);
    for (uint32_t i = 0; i < count; ++i)
        args[i] = va_arg(list, uint32_t);
    va_end(list);
    uint32_t at = program_add(p, o, type, aux, count, args);
    assert_int_not_equal(at, PROGRAM_NONE);
    return at;
}

static uint32_t number(VarType type, uint64_t value)
{
    return program_add_literal(p, type, value);
}

static uint32_t binary(Op o, VarType type, uint32_t a, uint32_t b)
{
    return op(o, type, 0, 2, a, b);
}

static uint32_t lane(void)
{
    return op(OP_COUNTER, U32, 0, 0);
}

static uint32_t region(RegionKind kind, uint32_t count, const uint32_t *args)
{
    uint32_t r = program_add_region(p, kind, count, args, 0, NULL);
    assert_int_not_equal(r, PROGRAM_NONE);
    return r;
}

static void end_region(Op o, uint32_t r, uint32_t count, const uint32_t *args)
{
    assert_int_not_equal(program_add(p, o, VarTypeVoid, r, count, args), PROGRAM_NONE);
}

/* ---- running them */

static EngineCode *compile(Program *program)
{
    assert_true(program_verify(program));
    const Program *legal = legalise(program, native);
    if (!legal)
        fail_msg("%s", error_message());
    EngineCode *code = native->compile(legal, (Hash128){ 1, 2 });
    if (!code)
        fail_msg("%s", error_message());
    if (legal != program)
        program_free((Program *) legal);
    return code;
}

/* Computes the entry of a lane of output 0. */
typedef uint64_t (*Expected)(uint32_t lane);

static void check_range(const EngineCode *code, void *scratch, uint32_t size,
                        uint32_t begin, uint32_t end, uint64_t *args, Expected expected)
{
    uint8_t *memory = alloc_aligned(2 * GUARD + LANES * 8);
    assert_non_null(memory);
    memset(memory, FILL, 2 * GUARD + LANES * 8);
    args[0] = (uint64_t) (uintptr_t) (memory + GUARD);
    native->launch(code, args, begin, end, 0, scratch);
    for (uint32_t i = 0; i < 2 * GUARD + LANES * 8; ++i)
        if (i < GUARD + begin * size || i >= GUARD + end * size)
            assert_int_equal(memory[i], FILL);
    for (uint32_t i = begin; i < end; ++i) {
        uint64_t found = 0;
        memcpy(&found, memory + GUARD + (size_t) i * size, size);
        if (found != expected(i))
            fail_msg("lane %u of [%u, %u): %llx, expected %llx", i, begin, end,
                     (unsigned long long) found, (unsigned long long) expected(i));
    }
    alloc_free(memory);
}

/* The Program's first parameter is its output, of this entry size. It is consumed. */
static void check_with(uint32_t size, uint64_t *args, Expected expected)
{
    static const uint32_t ends[] = { 1,  3,  4,  7,  8,  9,  15, 16, 17,
                                     31, 32, 33, 48, 63, 64, 65, 100 };
    EngineCode *code = compile(p);
    void *scratch = alloc_aligned(native->scratch(code));
    assert_non_null(scratch);
    for (uint32_t i = 0; i < sizeof ends / sizeof *ends; ++i)
        check_range(code, scratch, size, 0, ends[i], args, expected);
    check_range(code, scratch, size, 64, 67, args, expected);
    check_range(code, scratch, size, 128, LANES, args, expected);
    alloc_free(scratch);
    native->free(code);
    program_free(p);
}

static void check(uint32_t size, Expected expected)
{
    uint64_t args[8] = { 0 };
    check_with(size, args, expected);
}

/* ---- straight lines */

static uint32_t count_of(const char *text, const char *word)
{
    uint32_t count = 0;
    for (; (text = strstr(text, word)); ++text)
        ++count;
    return count;
}

static uint32_t count_in_code(const char *word)
{
    Text text = { 0 };
    assert_true(native->write_ir(p, (Hash128){ 1, 2 }, &text));
    uint32_t count = count_of(text_get(&text), word);
    text_free(&text);
    return count;
}

enum { CHAIN = 90 };

static uint64_t expect_chain(uint32_t i)
{
    uint32_t values[CHAIN], sum = 0;
    for (uint32_t k = 0; k < CHAIN; ++k)
        values[k] = i * (2 * k + 1) ^ k;
    for (uint32_t k = 0; k < CHAIN; ++k)
        sum = sum * 31 + values[k * 37 % CHAIN];
    return sum;
}

/* More values alive at once than there are registers. */
static void test_spills(void **state)
{
    (void) state;
    begin_program();
    uint32_t i = lane(), values[CHAIN], sum = number(U32, 0);
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U32);
    for (uint32_t k = 0; k < CHAIN; ++k)
        values[k] = binary(OP_XOR, U32, binary(OP_MUL, U32, i, number(U32, 2 * k + 1)),
                           number(U32, k));
    for (uint32_t k = 0; k < CHAIN; ++k)
        sum = binary(OP_ADD, U32, binary(OP_MUL, U32, sum, number(U32, 31)),
                     values[k * 37 % CHAIN]);
    op(OP_STORE, VarTypeVoid, output, 1, sum);
    check(4, expect_chain);
}

static uint64_t expect_masks(uint32_t i)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < 40; ++k)
        sum += (i ^ k) % 3 == k % 3 ? (uint64_t) k << 33 | i : 1;
    return sum;
}

/* More masks alive than mask registers, from lanes of 32 bits, used for 64. */
static void test_many_masks(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U64);
    uint32_t i = lane(), masks[40], sum = number(U64, 0);
    for (uint32_t k = 0; k < 40; ++k) {
        uint32_t rest =
            binary(OP_MOD, U32, binary(OP_XOR, U32, i, number(U32, k)), number(U32, 3));
        masks[k] = binary(OP_EQ, BOOL, rest, number(U32, k % 3));
    }
    uint32_t wide = op(OP_CAST, U64, 0, 1, i);
    for (uint32_t k = 0; k < 40; ++k) {
        uint32_t a = binary(OP_OR, U64, number(U64, (uint64_t) k << 33), wide);
        uint32_t chosen = op(OP_SELECT, U64, 0, 3, masks[k], a, number(U64, 1));
        sum = binary(OP_ADD, U64, sum, chosen);
    }
    op(OP_STORE, VarTypeVoid, output, 1, sum);
    check(8, expect_masks);
}

enum { HALVES = 8 };
static const uint64_t spread = 0x9e3779b97f4a7c15, factor = 0xd2511f53;

/* Products of what is less than 2^32, and of what is not, or not known to be. */
static uint64_t expect_halves(uint32_t i)
{
    uint64_t x = i * spread, low = x & UINT32_MAX, high = x >> 32;
    uint64_t filled = (uint64_t) ((int64_t) x >> 32);
    uint64_t product[HALVES] = { low * high,         high * factor,
                                 i * low,            factor * (factor & x),
                                 low * (factor << 1), (x & 0x1ffffffff) * high,
                                 (x >> 31) * low,    filled * low };
    uint64_t sum = 0;
    for (uint32_t k = 0; k < HALVES; ++k)
        sum = (sum << 1) + product[k];
    return sum;
}

static void test_half_products(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U64);
    uint32_t i = op(OP_CAST, U64, 0, 1, lane());
    uint32_t x = binary(OP_MUL, U64, i, number(U64, spread));
    uint32_t low = binary(OP_AND, U64, x, number(U64, UINT32_MAX));
    uint32_t high = binary(OP_SHR, U64, x, number(U64, 32));
    uint32_t by = number(U64, factor), twice = number(U64, factor << 1);
    uint32_t filled = op(OP_CAST, VarTypeInt64, 0, 1, x);
    filled = binary(OP_SHR, VarTypeInt64, filled, number(VarTypeInt64, 32));
    uint32_t low_33 = binary(OP_AND, U64, x, number(U64, 0x1ffffffff));
    uint32_t high_33 = binary(OP_SHR, U64, x, number(U64, 31));
    uint32_t pairs[HALVES][2] = {
        { low, high },  { high, by },     { i, low },
        { by, binary(OP_AND, U64, by, x) }, { low, twice }, { low_33, high },
        { high_33, low }, { op(OP_CAST, U64, 0, 1, filled), low },
    };
    uint32_t sum = number(U64, 0), one = number(U64, 1);
    for (uint32_t k = 0; k < HALVES; ++k)
        sum = binary(OP_ADD, U64, binary(OP_SHL, U64, sum, one),
                     binary(OP_MUL, U64, pairs[k][0], pairs[k][1]));
    op(OP_STORE, VarTypeVoid, output, 1, sum);
    uint32_t whole = count_in_code("vpmullq");
    if (whole) /* AVX2 makes them of halves */
        assert_int_equal(4 * whole, 5 * count_in_code("vpmuludq"));
    check(8, expect_halves);
}

static uint64_t expect_narrow(uint32_t i)
{
    return (uint8_t) ((uint8_t) (i * 3) + 200);
}

static void test_narrow_outputs(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, VarTypeUInt8);
    uint32_t a =
        op(OP_CAST, VarTypeUInt8, 0, 1, binary(OP_MUL, U32, lane(), number(U32, 3)));
    op(OP_STORE, VarTypeVoid, output, 1,
       binary(OP_ADD, VarTypeUInt8, a, number(VarTypeUInt8, 200)));
    check(1, expect_narrow);
}

static uint64_t expect_inputs(uint32_t i)
{
    return (uint64_t) (i * 7) + 5 + (i % 2 ? 1000 : 0);
}

/* Uniform entries, parameters, an array that is read at its end. */
static void test_inputs(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U64);
    uint32_t array = program_add_param(p, PARAM_INPUT, U32);
    uint32_t single = program_add_param(p, PARAM_INPUT, VarTypeUInt16);
    uint32_t flags = program_add_param(p, PARAM_INPUT, BOOL);
    uint32_t value = program_add_param(p, PARAM_VALUE, U64);
    uint32_t a = op(OP_CAST, U64, 0, 1, op(OP_LOAD, U32, array, 0));
    uint32_t u = op(OP_LOAD, VarTypeUInt16, single, 0);
    p->insts[u].flags |= INST_UNIFORM;
    uint32_t odd = op(OP_LOAD, BOOL, flags, 0);
    uint32_t more =
        op(OP_SELECT, U64, 0, 3, odd, op(OP_PARAM, U64, value, 0), number(U64, 0));
    uint32_t sum = binary(OP_ADD, U64, a, op(OP_CAST, U64, 0, 1, u));
    op(OP_STORE, VarTypeVoid, output, 1, binary(OP_ADD, U64, sum, more));
    uint32_t *data = alloc_aligned(LANES * 4 + 64);
    uint8_t *bytes = alloc_aligned(LANES + 64);
    uint16_t one = 5;
    for (uint32_t i = 0; i < LANES; ++i) {
        data[i] = i * 7;
        bytes[i] = i % 2;
    }
    uint64_t args[8] = { 0, (uintptr_t) data, (uintptr_t) &one, (uintptr_t) bytes,
                         1000 };
    check_with(8, args, expect_inputs);
    alloc_free(data);
    alloc_free(bytes);
}

/* ---- packets side by side */

enum { LINKS = 30 };

static uint64_t expect_types(uint32_t i)
{
    uint64_t x = i;
    for (uint32_t k = 0; k < LINKS; ++k) {
        uint64_t small = (uint8_t) (int8_t) (uint8_t) x, half = (uint16_t) x;
        x = x * 5 + (i * 7) + (x > k * 1000 ? small : half) + 9 + (i % 3 == 1);
    }
    return x;
}

/* One chain of all widths: inputs, a mask that is loaded, uniform values, a counter,
 * and values enough to be spilled. */
static void test_chain_of_types(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U64);
    uint32_t array = program_add_param(p, PARAM_INPUT, U32);
    uint32_t single = program_add_param(p, PARAM_INPUT, VarTypeUInt16);
    uint32_t flags = program_add_param(p, PARAM_INPUT, BOOL);
    uint32_t masks = program_add_param(p, PARAM_OUTPUT, BOOL);
    uint32_t in = op(OP_CAST, U64, 0, 1, op(OP_LOAD, U32, array, 0));
    uint32_t u = op(OP_LOAD, VarTypeUInt16, single, 0);
    p->insts[u].flags |= INST_UNIFORM;
    u = op(OP_CAST, U64, 0, 1, u);
    p->insts[u].flags |= INST_UNIFORM;
    uint32_t flag = op(OP_CAST, U64, 0, 1, op(OP_LOAD, BOOL, flags, 0));
    uint32_t x = op(OP_CAST, U64, 0, 1, lane()), above = 0;
    for (uint32_t k = 0; k < LINKS; ++k) {
        uint32_t small = op(OP_CAST, VarTypeUInt8, 0, 1, x);
        small = op(OP_CAST, VarTypeInt8, 0, 1, small);
        small = op(OP_CAST, U64, 0, 1, op(OP_CAST, VarTypeUInt8, 0, 1, small));
        uint32_t half = op(OP_CAST, U64, 0, 1, op(OP_CAST, VarTypeUInt16, 0, 1, x));
        above = binary(OP_GT, BOOL, x, number(U64, k * 1000));
        uint32_t chosen = op(OP_SELECT, U64, 0, 3, above, small, half);
        x = binary(OP_ADD, U64, binary(OP_MUL, U64, x, number(U64, 5)), in);
        x = binary(OP_ADD, U64, binary(OP_ADD, U64, x, chosen), u);
        x = binary(OP_ADD, U64, x, flag);
    }
    op(OP_STORE, VarTypeVoid, output, 1, x);
    op(OP_STORE, VarTypeVoid, masks, 1, above);
    uint32_t *data = alloc_aligned(LANES * 4);
    uint8_t *bytes = alloc_aligned(LANES + 64), *above_out = alloc_aligned(LANES + 64);
    uint16_t one = 9;
    for (uint32_t i = 0; i < LANES; ++i) {
        data[i] = i * 7;
        bytes[i] = i % 3 == 1;
    }
    uint64_t args[8] = { 0, (uintptr_t) data, (uintptr_t) &one, (uintptr_t) bytes,
                         (uintptr_t) above_out };
    check_with(8, args, expect_types);
    for (uint32_t i = 0; i < 100; ++i)
        assert_int_equal(above_out[i], 1);
    alloc_free(data);
    alloc_free(bytes);
    alloc_free(above_out);
}

/* A long chain gets several packets of its own accord, and a short one does not. */
static void test_chosen_packets(void **state)
{
    (void) state;
    const char *wanted = getenv("DRJIT_NATIVE_PACKETS");
    for (uint32_t links = 3; links < 100; links += 90) {
        begin_program();
        uint32_t input = program_add_param(p, PARAM_INPUT, F32);
        uint32_t output = program_add_param(p, PARAM_OUTPUT, F32);
        uint32_t a = op(OP_LOAD, F32, input, 0), x = a;
        for (uint32_t k = 0; k < links; ++k)
            x = binary(k % 2 ? OP_ADD : OP_MUL, F32, x, a);
        op(OP_STORE, VarTypeVoid, output, 1, x);
        uint32_t packets = wanted && *wanted ? (uint32_t) (*wanted - '0')
                           : links < 10      ? 1
                                             : 2;
        assert_int_equal(count_in_code("vmulps"), packets * ((links + 1) / 2));
        program_free(p);
    }
}

/* Ten times x = x * a * ... + a, so that no iteration can begin before the end of the
 * one before; or x = x + k * a * ..., where only the sum waits. */
static void write_packets_loop(bool from_counter, uint32_t products)
{
    begin_program();
    uint32_t input = program_add_param(p, PARAM_INPUT, F32);
    uint32_t output = program_add_param(p, PARAM_OUTPUT, F32);
    uint32_t a = op(OP_LOAD, F32, input, 0), most = number(U32, 10);
    uint32_t args[] = { number(BOOL, 1), a, number(U32, 0) }, one = number(U32, 1);
    uint32_t r = region(REGION_LOOP, 3, args);
    uint32_t x = op(OP_STATE, F32, 0, 0), k = op(OP_STATE, U32, 1, 0);
    end_region(OP_TEST, r, 1, (uint32_t[]){ binary(OP_LT, BOOL, k, most) });
    uint32_t y = from_counter ? op(OP_CAST, F32, 0, 1, k) : x;
    for (uint32_t i = 0; i < products; ++i)
        y = binary(OP_MUL, F32, y, a);
    end_region(OP_END, r, 2,
               (uint32_t[]){ binary(OP_ADD, F32, y, from_counter ? x : a),
                             binary(OP_ADD, U32, k, one) });
    x = op(OP_RESULT, F32, 0, 0);
    op(OP_STORE, VarTypeVoid, output, 1, x);
}

/* Two packets go round together if an iteration waits for the one before. */
static void test_chosen_packets_of_loops(void **state)
{
    (void) state;
    const char *wanted = getenv("DRJIT_NATIVE_PACKETS");
    enum { PRODUCTS = 3 };
    for (uint32_t from_counter = 0; from_counter < 2; ++from_counter) {
        write_packets_loop(from_counter, PRODUCTS);
        uint32_t packets = (wanted && *wanted) || !from_counter ? 2 : 1;
        assert_int_equal(count_in_code("vmulps"), packets * PRODUCTS);
        program_free(p);
    }
}

/* Iterations until the product, modulo 64, is small: very different for neighbours. */
static uint32_t uneven_steps(uint32_t i, uint32_t *x)
{
    uint32_t steps = 0;
    for (*x = i; (*x & 63) > 5 && steps < 40; ++steps)
        *x = *x * 5 + 3;
    return steps;
}

static uint64_t expect_uneven(uint32_t i)
{
    uint32_t x, steps = uneven_steps(i, &x);
    return i % 7 == 3 ? i : (uint32_t) (x * 100 + steps);
}

/* Packets that go round together end with their own lanes; some lanes do not enter.
 * Those behind the last one would never leave. */
static void test_uneven_loops(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U32);
    uint32_t i = lane(), one = number(U32, 1), low = number(U32, 63);
    uint32_t rest = binary(OP_MOD, U32, i, number(U32, 7));
    uint32_t enters = binary(OP_NEQ, BOOL, rest, number(U32, 3));
    uint32_t r = region(REGION_LOOP, 3, (uint32_t[]){ enters, i, number(U32, 0) });
    uint32_t x = op(OP_STATE, U32, 0, 0), steps = op(OP_STATE, U32, 1, 0);
    uint32_t far = binary(OP_GT, BOOL, binary(OP_AND, U32, x, low), number(U32, 5));
    uint32_t few = binary(OP_LT, BOOL, steps, number(U32, 40));
    uint32_t behind = binary(OP_GE, BOOL, i, number(U32, LANES));
    uint32_t going = binary(OP_AND, BOOL, far, few);
    end_region(OP_TEST, r, 1, (uint32_t[]){ binary(OP_OR, BOOL, going, behind) });
    uint32_t next = op(OP_FMA, U32, 0, 3, x, number(U32, 5), number(U32, 3));
    end_region(OP_END, r, 2, (uint32_t[]){ next, binary(OP_ADD, U32, steps, one) });
    x = op(OP_RESULT, U32, 0, 0);
    steps = op(OP_RESULT, U32, 1, 0);
    uint32_t all = op(OP_FMA, U32, 0, 3, x, number(U32, 100), steps);
    op(OP_STORE, VarTypeVoid, output, 1, op(OP_SELECT, U32, 0, 3, enters, all, i));
    check(4, expect_uneven);
}

/* ---- masks */

static uint64_t expect_filtered(uint32_t i)
{
    uint32_t x = 0;
    for (; x * x < i && x < 12 && x != i % 16; ++x)
        ;
    bool low = x < 7, odd = i % 32 < 9;
    return (low && odd) * 100 + low * 1000 + x;
}

/* A comparison is made in the lanes that its user asks for, if there is only one. */
static void test_filtered_comparisons(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U32), i = lane();
    uint32_t args[] = { number(BOOL, 1), number(U32, 0) }, one = number(U32, 1);
    uint32_t most = number(U32, 12), seven = number(U32, 7);
    uint32_t bound = binary(OP_MOD, U32, i, number(U32, 16));
    uint32_t r = region(REGION_LOOP, 2, args), x = op(OP_STATE, U32, 0, 0);
    uint32_t near = binary(OP_LT, BOOL, binary(OP_MUL, U32, x, x), i);
    uint32_t few = binary(OP_LT, BOOL, x, most);
    uint32_t going = binary(OP_AND, BOOL, near, few);
    going = binary(OP_AND, BOOL, binary(OP_NEQ, BOOL, x, bound), going);
    end_region(OP_TEST, r, 1, &going);
    end_region(OP_END, r, 1, (uint32_t[]){ binary(OP_ADD, U32, x, one) });
    x = op(OP_RESULT, U32, 0, 0);
    uint32_t odd = binary(OP_LT, BOOL, binary(OP_MOD, U32, i, number(U32, 32)),
                          number(U32, 9));
    uint32_t low = binary(OP_LT, BOOL, x, seven), zero = number(U32, 0);
    uint32_t both = binary(OP_AND, BOOL, odd, low);
    uint32_t a = op(OP_SELECT, U32, 0, 3, both, number(U32, 100), zero);
    uint32_t b = op(OP_SELECT, U32, 0, 3, low, number(U32, 1000), zero);
    op(OP_STORE, VarTypeVoid, output, 1,
       binary(OP_ADD, U32, binary(OP_ADD, U32, a, b), x));
    /* One 'and' for the lanes that enter the loop, one for 'low', which is used twice;
     * each for one packet or two. AVX2 has none. */
    uint32_t ands = count_in_code("kandw");
    assert_true(ands == 0 || ands == 2 || ands == 4);
    check(4, expect_filtered);
}

/* ---- negations */

static float factor_of(uint32_t i)
{
    static const float special[] = { 0, 1.1f, -3.7f, 1e30f, -1e30f, 1e-40f, -0.f };
    return special[i % 7] * (i % 2 ? 1.0000001f : 3);
}

static uint32_t signs;          /* which operands of the fused operation are negated */
static bool negated_elsewhere; /* ... and the first one is used as well */

static double expect_fused_number(uint32_t i)
{
    double a = (double) factor_of(i), b = (double) factor_of(i / 7),
           c = (double) factor_of(i / 3);
    a = signs & 1 ? -a : a;
    b = signs & 2 ? -b : b;
    c = signs & 4 ? -c : c;
    return negated_elsewhere ? fma(a, b, c) * a : fma(a, b, c);
}

static uint64_t expect_fused(uint32_t i)
{
    double number = expect_fused_number(i);
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return number != number ? 0 : bits;
}

static uint32_t load_factor(uint32_t slot, bool negated)
{
    uint32_t value = op(OP_CAST, F64, 0, 1, op(OP_LOAD, F32, slot, 0));
    return negated ? op(OP_NEG, F64, 0, 1, value) : value;
}

/* Negations of what is multiplied and added are signs of the instruction. */
static void test_negated_operands(void **state)
{
    (void) state;
    float *data[3];
    for (uint32_t k = 0; k < 3; ++k) {
        data[k] = alloc_aligned(LANES * sizeof(float) + 64);
        for (uint32_t i = 0; i < LANES; ++i)
            data[k][i] = k == 0   ? factor_of(i)
                         : k == 1 ? factor_of(i / 7)
                                  : factor_of(i / 3);
    }
    uint64_t args[] = { 0, (uintptr_t) data[0], (uintptr_t) data[1],
                        (uintptr_t) data[2] };
    for (uint32_t which = 0; which < 16; ++which) {
        signs = which & 7;
        negated_elsewhere = which & 8;
        begin_program();
        uint32_t output = program_add_param(p, PARAM_OUTPUT, F64), value[3];
        for (uint32_t k = 0; k < 3; ++k)
            program_add_param(p, PARAM_INPUT, F32);
        for (uint32_t k = 0; k < 3; ++k)
            value[k] = load_factor(k + 1, signs >> k & 1);
        uint32_t x = op(OP_FMA, F64, 0, 3, value[0], value[1], value[2]);
        if (negated_elsewhere)
            x = binary(OP_MUL, F64, x, value[0]);
        uint32_t is_number = binary(OP_EQ, BOOL, x, x);
        op(OP_STORE, VarTypeVoid, output, 1,
           op(OP_SELECT, F64, 0, 3, is_number, x, number(F64, 0)));
        assert_int_equal(count_in_code("neg ") > 0, negated_elsewhere && signs & 1);
        check_with(8, args, expect_fused);
    }
    for (uint32_t k = 0; k < 3; ++k)
        alloc_free(data[k]);
}

/* ---- gathers */

/* Indices: of 32 lanes at a time all the same; the same in those that are active; none
 * active; all the same but one; different. Masked lanes have one that is outside. */
enum { TABLE = 64, OUTSIDE = 0xfffffff0 };

static bool is_active(uint32_t i)
{
    return i / 32 == 1 ? i % 2 == i / 16 % 2 : i / 32 != 2;
}

static uint32_t table_index(uint32_t i)
{
    if (!is_active(i))
        return OUTSIDE;
    if (i / 32 == 3)
        return i == 100 ? 9 : 7;
    return i < 64 ? 5 : i % TABLE;
}

static uint64_t expect_wide_entry(uint32_t i)
{
    return is_active(i) ? (table_index(i) + 1) * UINT64_C(0x300000007) : 0;
}

static uint64_t expect_entry(uint32_t i)
{
    return (uint32_t) expect_wide_entry(i);
}

static void check_gather(VarType type, Expected expected)
{
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, type);
    uint32_t indices = program_add_param(p, PARAM_INPUT, U32);
    uint32_t masks = program_add_param(p, PARAM_INPUT, BOOL);
    uint32_t table = program_add_param(p, PARAM_POINTER, type);
    uint32_t size = type_info[type].size;
    op(OP_STORE, VarTypeVoid, output, 1,
       op(OP_GATHER, type, 0, 3, op(OP_PARAM, VarTypePointer, table, 0),
          op(OP_LOAD, U32, indices, 0), op(OP_LOAD, BOOL, masks, 0)));
    uint32_t *index = alloc_aligned(LANES * 4 + 64);
    uint8_t *mask = alloc_aligned(LANES + 64), *entries = alloc_aligned(TABLE * 8);
    for (uint32_t i = 0; i < LANES; ++i) {
        index[i] = table_index(i);
        mask[i] = is_active(i);
    }
    for (uint32_t i = 0; i < TABLE; ++i) {
        uint64_t entry = (i + 1) * UINT64_C(0x300000007);
        memcpy(entries + (size_t) i * size, &entry, size);
    }
    uint64_t args[8] = { 0, (uintptr_t) index, (uintptr_t) mask, (uintptr_t) entries };
    check_with(size, args, expected);
    alloc_free(index);
    alloc_free(mask);
    alloc_free(entries);
}

static void test_gathers_that_agree(void **state)
{
    (void) state;
    check_gather(U32, expect_entry);
    check_gather(U64, expect_wide_entry);
}

/* ---- regions */

static uint32_t collatz(uint32_t n)
{
    uint32_t steps = 0;
    for (; n > 1; ++steps)
        n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
}

static uint64_t expect_collatz(uint32_t i)
{
    return collatz(i + 1);
}

static void test_loop(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U32);
    uint32_t one = number(U32, 1), first = binary(OP_ADD, U32, lane(), one);
    uint32_t begin[] = { number(BOOL, 1), first, number(U32, 0) };
    uint32_t r = region(REGION_LOOP, 3, begin);
    uint32_t n = op(OP_STATE, U32, 0, 0), steps = op(OP_STATE, U32, 1, 0);
    op(OP_TEST, VarTypeVoid, r, 1, binary(OP_GT, BOOL, n, one));
    uint32_t odd = binary(OP_EQ, BOOL, binary(OP_AND, U32, n, one), one);
    uint32_t up = binary(OP_ADD, U32, binary(OP_MUL, U32, n, number(U32, 3)), one);
    uint32_t next = op(OP_SELECT, U32, 0, 3, odd, up, binary(OP_SHR, U32, n, one));
    end_region(OP_END, r, 2, (uint32_t[]){ next, binary(OP_ADD, U32, steps, one) });
    op(OP_STORE, VarTypeVoid, output, 1, op(OP_RESULT, U32, 1, 0));
    check(4, expect_collatz);
}

enum { STATES = 45 };

static uint64_t expect_rotation(uint32_t i)
{
    uint64_t values[STATES], sum = 0;
    for (uint32_t k = 0; k < STATES; ++k)
        values[k] = (uint64_t) k * k << 30 | i;
    for (uint32_t round = 0; round < i % 11; ++round) {
        uint64_t last = values[STATES - 1];
        memmove(values + 1, values, (STATES - 1) * sizeof *values);
        values[0] = last + 1;
    }
    for (uint32_t k = 0; k < STATES; ++k)
        sum = sum * 3 + values[k];
    return sum;
}

/* More states than registers, each of which is the next value of another one. */
static void test_loop_rotates_states(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U64);
    uint32_t i = lane(), wide = op(OP_CAST, U64, 0, 1, i), zero = number(U32, 0);
    uint32_t rounds = binary(OP_MOD, U32, i, number(U32, 11));
    uint32_t args[STATES + 2] = { number(BOOL, 1) }, now[STATES], next[STATES + 1];
    for (uint32_t k = 0; k < STATES; ++k)
        args[k + 1] = binary(OP_OR, U64, number(U64, (uint64_t) k * k << 30), wide);
    args[STATES + 1] = zero;
    uint32_t r = region(REGION_LOOP, STATES + 2, args);
    for (uint32_t k = 0; k < STATES; ++k)
        now[k] = op(OP_STATE, U64, k, 0);
    uint32_t round = op(OP_STATE, U32, STATES, 0);
    op(OP_TEST, VarTypeVoid, r, 1, binary(OP_LT, BOOL, round, rounds));
    next[0] = binary(OP_ADD, U64, now[STATES - 1], number(U64, 1));
    memcpy(next + 1, now, (STATES - 1) * sizeof *now);
    next[STATES] = binary(OP_ADD, U32, round, number(U32, 1));
    end_region(OP_END, r, STATES + 1, next);
    for (uint32_t k = 0; k < STATES; ++k)
        now[k] = op(OP_RESULT, U64, k, 0);
    uint32_t sum = number(U64, 0);
    for (uint32_t k = 0; k < STATES; ++k)
        sum = binary(OP_ADD, U64, binary(OP_MUL, U64, sum, number(U64, 3)), now[k]);
    op(OP_STORE, VarTypeVoid, output, 1, sum);
    check(8, expect_rotation);
}

static uint64_t expect_nested(uint32_t i)
{
    uint32_t sum = 0;
    for (uint32_t a = 0; a < i % 5; ++a)
        for (uint32_t b = 0; b < a + i % 3; ++b)
            sum += (a ^ b) % 2 ? 7 * a + i : b;
    return sum;
}

/* A loop in a loop, with a conditional inside and many values around. */
static void test_nested(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U32);
    uint32_t i = lane(), one = number(U32, 1), zero = number(U32, 0), keep[40];
    for (uint32_t k = 0; k < 40; ++k) /* they add up to 0 */
        keep[k] = binary(OP_MUL, U32, i, number(U32, k % 2 ? k : 0 - (k + 1)));
    uint32_t most = binary(OP_MOD, U32, i, number(U32, 5));
    uint32_t more = binary(OP_MOD, U32, i, number(U32, 3));
    uint32_t outer_args[] = { number(BOOL, 1), zero, zero };
    uint32_t outer = region(REGION_LOOP, 3, outer_args);
    uint32_t a = op(OP_STATE, U32, 0, 0), sum = op(OP_STATE, U32, 1, 0);
    op(OP_TEST, VarTypeVoid, outer, 1, binary(OP_LT, BOOL, a, most));
    uint32_t active = op(OP_ACTIVE, BOOL, outer, 0);
    uint32_t end = binary(OP_ADD, U32, a, more);
    uint32_t inner_args[] = { active, zero, sum };
    uint32_t inner = region(REGION_LOOP, 3, inner_args);
    uint32_t b = op(OP_STATE, U32, 0, 0), part = op(OP_STATE, U32, 1, 0);
    op(OP_TEST, VarTypeVoid, inner, 1, binary(OP_LT, BOOL, b, end));
    uint32_t here = op(OP_ACTIVE, BOOL, inner, 0);
    uint32_t low = binary(OP_AND, U32, binary(OP_XOR, U32, a, b), one);
    uint32_t odd = binary(OP_EQ, BOOL, low, one);
    uint32_t choice = region(REGION_IF, 2, (uint32_t[]){ here, odd });
    uint32_t yes = binary(OP_ADD, U32, binary(OP_MUL, U32, a, number(U32, 7)), i);
    end_region(OP_ELSE, choice, 1, &yes);
    end_region(OP_END, choice, 1, &b);
    uint32_t added = binary(OP_ADD, U32, part, op(OP_RESULT, U32, 0, 0));
    end_region(OP_END, inner, 2, (uint32_t[]){ binary(OP_ADD, U32, b, one), added });
    uint32_t inner_sum = op(OP_RESULT, U32, 1, 0);
    end_region(OP_END, outer, 2,
               (uint32_t[]){ binary(OP_ADD, U32, a, one), inner_sum });
    uint32_t result = op(OP_RESULT, U32, 1, 0);
    for (uint32_t k = 0; k < 40; ++k)
        result = binary(OP_ADD, U32, result, keep[k]);
    op(OP_STORE, VarTypeVoid, output, 1, result);
    check(4, expect_nested);
}

static uint64_t expect_conditional(uint32_t i)
{
    float value = (float) i, result = 0;
    uint64_t bits = 0;
    if (i % 3 != 0)
        result = i % 2 ? value * 2 : value + 0.5f;
    memcpy(&bits, &result, 4);
    return bits;
}

static void test_conditional(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, F32);
    uint32_t i = lane(), value = op(OP_CAST, F32, 0, 1, i), zero = number(U32, 0);
    uint32_t enters =
        binary(OP_NEQ, BOOL, binary(OP_MOD, U32, i, number(U32, 3)), zero);
    uint32_t odd = binary(OP_NEQ, BOOL, binary(OP_AND, U32, i, number(U32, 1)), zero);
    uint32_t r = region(REGION_IF, 2, (uint32_t[]){ enters, odd });
    uint32_t doubled = binary(OP_ADD, F32, value, value);
    end_region(OP_ELSE, r, 1, &doubled);
    uint32_t moved = binary(OP_ADD, F32, value, number(F32, 0x3f000000));
    end_region(OP_END, r, 1, &moved);
    op(OP_STORE, VarTypeVoid, output, 1, op(OP_RESULT, F32, 0, 0));
    check(4, expect_conditional);
}

static uint64_t expect_call(uint32_t i)
{
    switch (i % 5) {
    case 1:
        return (uint64_t) i * i;
    case 2:
        return collatz(i + 1) + 1000u;
    default:
        return 0;
    }
}

/* Numbers 0 and beyond the list give 0; a callable calls another one from a loop. */
static void test_calls(void **state)
{
    (void) state;
    begin_program();
    Program *root = p;
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U64);

    begin_program(); /* callable 0: one step of the sequence */
    uint32_t n = op(OP_ARG, U32, 1, 0), one = number(U32, 1);
    uint32_t odd = binary(OP_EQ, BOOL, binary(OP_AND, U32, n, one), one);
    uint32_t up = binary(OP_ADD, U32, binary(OP_MUL, U32, n, number(U32, 3)), one);
    op(OP_RETURN, VarTypeVoid, 0, 1,
       op(OP_SELECT, U32, 0, 3, odd, up, binary(OP_SHR, U32, n, one)));
    assert_int_equal(program_add_callable(root, p), 0);

    begin_program(); /* callable 1: the square */
    uint32_t wide = op(OP_CAST, U64, 0, 1, op(OP_ARG, U32, 1, 0));
    op(OP_RETURN, VarTypeVoid, 0, 1, binary(OP_MUL, U64, wide, wide));
    assert_int_equal(program_add_callable(root, p), 1);

    begin_program(); /* callable 2: the number of steps + 1000 */
    one = number(U32, 1);
    uint32_t first = binary(OP_ADD, U32, op(OP_ARG, U32, 1, 0), one);
    uint32_t args[] = { op(OP_ARG, BOOL, 0, 0), first, number(U32, 1000) };
    uint32_t r = region(REGION_LOOP, 3, args), target = 0;
    n = op(OP_STATE, U32, 0, 0);
    uint32_t steps = op(OP_STATE, U32, 1, 0);
    op(OP_TEST, VarTypeVoid, r, 1, binary(OP_GT, BOOL, n, one));
    uint32_t inputs[] = { op(OP_ACTIVE, BOOL, r, 0), one, n };
    assert_int_not_equal(program_add_region(p, REGION_CALL, 3, inputs, 1, &target),
                         PROGRAM_NONE);
    uint32_t next = op(OP_RESULT, U32, 0, 0);
    end_region(OP_END, r, 2, (uint32_t[]){ next, binary(OP_ADD, U32, steps, one) });
    op(OP_RETURN, VarTypeVoid, 0, 1, op(OP_CAST, U64, 0, 1, op(OP_RESULT, U32, 1, 0)));
    assert_int_equal(program_add_callable(root, p), 2);

    p = root;
    uint32_t i = lane(), which = binary(OP_MOD, U32, i, number(U32, 5));
    uint32_t call[] = { number(BOOL, 1), which, i }, targets[] = { 1, 2 };
    assert_int_not_equal(program_add_region(p, REGION_CALL, 3, call, 2, targets),
                         PROGRAM_NONE);
    op(OP_STORE, VarTypeVoid, output, 1, op(OP_RESULT, U64, 0, 0));
    check(8, expect_call);
}

static uint64_t expect_local(uint32_t i)
{
    uint64_t values[10] = { 0 }, sum = 0;
    for (uint32_t k = 0; k < 10; ++k)
        values[(k + i) % 10] = (uint64_t) k << 40 | i;
    for (uint32_t k = 0; k < 10; ++k)
        sum = sum * 5 + values[k];
    return sum;
}

static void test_local_arrays(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U64);
    uint32_t i = lane(), wide = op(OP_CAST, U64, 0, 1, i), all = number(BOOL, 1);
    uint32_t array = op(OP_LOCAL, U64, 10, 1, number(U64, 0)), sum = number(U64, 0);
    for (uint32_t k = 0; k < 10; ++k) {
        uint32_t index = binary(OP_MOD, U32, binary(OP_ADD, U32, i, number(U32, k)),
                                number(U32, 10));
        uint32_t value = binary(OP_OR, U64, number(U64, (uint64_t) k << 40), wide);
        op(OP_LOCAL_WRITE, VarTypeVoid, 0, 4, array, value, index, all);
    }
    /* behind the end: nothing happens */
    op(OP_LOCAL_WRITE, VarTypeVoid, 0, 4, array, wide, number(U32, 10), all);
    for (uint32_t k = 0; k < 10; ++k) {
        uint32_t value = op(OP_LOCAL_READ, U64, 0, 3, array, number(U32, k), all);
        sum = binary(OP_ADD, U64, binary(OP_MUL, U64, sum, number(U64, 5)), value);
    }
    uint32_t none = op(OP_LOCAL_READ, U64, 0, 3, array, number(U32, 77), all);
    op(OP_STORE, VarTypeVoid, output, 1, binary(OP_ADD, U64, sum, none));
    check(8, expect_local);
}

/* ---- the engine */

enum { LONG = 300000 };

static uint64_t expect_long(uint32_t i)
{
    uint32_t a = i, b = 1;
    for (uint32_t k = 0; k < LONG; ++k) {
        uint32_t next = a * 5 + b;
        b = a;
        a = next;
    }
    return a;
}

/* Neither stack nor time grows faster than the Program. */
static void test_long_program(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U32);
    uint32_t a = lane(), b = number(U32, 1), five = number(U32, 5);
    for (uint32_t k = 0; k < LONG; ++k) {
        uint32_t next = op(OP_FMA, U32, 0, 3, a, five, b);
        b = a;
        a = next;
    }
    op(OP_STORE, VarTypeVoid, output, 1, a);
    EngineCode *code = compile(p);
    void *scratch = alloc_aligned(native->scratch(code));
    uint64_t args[1];
    check_range(code, scratch, 4, 0, 5, args, expect_long);
    alloc_free(scratch);
    native->free(code);
    program_free(p);
}

static void test_listing(void **state)
{
    (void) state;
    begin_program();
    Text text = { 0 };
    uint32_t value = op(OP_CAST, F32, 0, 1, lane()), one = number(F32, 0x3f800000);
    uint32_t output = program_add_param(p, PARAM_OUTPUT, F32);
    op(OP_STORE, VarTypeVoid, output, 1, binary(OP_ADD, F32, value, one));
    assert_true(native->write_ir(p, (Hash128){ 1, 2 }, &text));
    const char *listing = text_get(&text);
    assert_non_null(strstr(listing, "%3:f32 = add %1, %2"));
    const char *instruction = strstr(strstr(listing, "= add"), "vaddps");
    assert_non_null(instruction);
    assert_true(instruction < strstr(listing, "store @0"));
    assert_non_null(strstr(listing, "ret"));
    text_free(&text);
    program_free(p);
}

static void test_supports(void **state)
{
    (void) state;
    assert_true(native->supports(OP_ADD, F32, F32));
    assert_true(native->supports(OP_REGION, VarTypeVoid, BOOL));
    assert_true(native->supports(OP_SCATTER_CAS, VarTypeUInt8, VarTypeUInt8));
    assert_false(native->supports(OP_STMT, F32, F32));
    assert_false(native->supports(OP_ADD, BOOL, BOOL));
    assert_false(native->supports(OP_SQRT, U32, U32));
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_spills),
                                        cmocka_unit_test(test_many_masks),
                                        cmocka_unit_test(test_half_products),
        cmocka_unit_test(test_narrow_outputs),
                                        cmocka_unit_test(test_inputs),
                                        cmocka_unit_test(test_chain_of_types),
                                        cmocka_unit_test(test_chosen_packets),
                                        cmocka_unit_test(test_chosen_packets_of_loops),
                                        cmocka_unit_test(test_uneven_loops),
                                        cmocka_unit_test(test_filtered_comparisons),
                                        cmocka_unit_test(test_negated_operands),
                                        cmocka_unit_test(test_gathers_that_agree),
                                        cmocka_unit_test(test_loop),
                                        cmocka_unit_test(test_loop_rotates_states),
                                        cmocka_unit_test(test_nested),
                                        cmocka_unit_test(test_conditional),
                                        cmocka_unit_test(test_calls),
                                        cmocka_unit_test(test_local_arrays),
                                        cmocka_unit_test(test_long_program),
                                        cmocka_unit_test(test_listing),
                                        cmocka_unit_test(test_supports) };
    native = engine_find("native");
    if (!native->available()) {
        printf("native is not tested: %s\n", error_message());
        return 0;
    }
    return cmocka_run_group_tests_name(getenv("DRJIT_NATIVE_ISA"), tests, NULL, NULL);
}

int main(void)
{
    return native_targets_run(run_all);
}
