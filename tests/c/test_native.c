/*
 * test_native.c -- the core of the native engine: registers, masks, memory, frame
 *
 * Programs written by hand whose results are computed here in plain C
 * (native_programs.h).
 */
#include "device/cpu/launch/cpu_code.h"
#include "native_programs.h"

#include <math.h>

/* ---- straight lines */

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

/* Rotations by what is known to be less than 32, and by what is not; of which a shift
 * has another user; before and after logic. */
static uint64_t expect_turns(uint32_t i)
{
    uint32_t x = i * 0x9e3779b9u, t = x >> 27, u = i & 63, sum = 0;
    uint32_t left = x << (-t & 31), right = u < 32 ? x >> u : 0;
    sum = ((x >> t) | left) ^ i;
    sum = sum * 31 + ((right | x << (-u & 31)) ^ left);
    uint32_t y = sum ^ x, v = i & 31;
    return sum * 31 + (((y >> v) | (y << (-v & 31))) | i);
}

static uint32_t turn_left(uint32_t x, uint32_t t)
{
    uint32_t less = binary(OP_ADD, U32, op(OP_NOT, U32, 0, 1, t), number(U32, 1));
    return binary(OP_SHL, U32, x, binary(OP_AND, U32, less, number(U32, 31)));
}

static uint32_t turn(uint32_t x, uint32_t t, uint32_t left)
{
    return binary(OP_OR, U32, binary(OP_SHR, U32, x, t), left);
}

static void test_rotations(void **state)
{
    (void) state;
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U32), i = lane();
    uint32_t x = binary(OP_MUL, U32, i, number(U32, 0x9e3779b9u));
    uint32_t t = binary(OP_SHR, U32, x, number(U32, 27)), left = turn_left(x, t);
    uint32_t u = binary(OP_AND, U32, i, number(U32, 63));
    uint32_t v = binary(OP_AND, U32, i, number(U32, 31));
    uint32_t sum = binary(OP_XOR, U32, turn(x, t, left), i);
    uint32_t other = binary(OP_XOR, U32, turn(x, u, turn_left(x, u)), left);
    sum = binary(OP_ADD, U32, binary(OP_MUL, U32, sum, number(U32, 31)), other);
    uint32_t y = binary(OP_XOR, U32, sum, x);
    other = binary(OP_OR, U32, turn(y, v, turn_left(y, v)), i);
    sum = binary(OP_ADD, U32, binary(OP_MUL, U32, sum, number(U32, 31)), other);
    op(OP_STORE, VarTypeVoid, output, 1, sum);
    check(4, expect_turns);
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
    /* past the end: nothing happens */
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
    Code *code = compile(p);
    void *scratch = alloc_aligned(cpu_code_scratch(code));
    uint64_t args[1];
    check_range(code, scratch, 4, 0, 5, args, expect_long);
    alloc_free(scratch);
    code_release(code);
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
    assert_true(native->write_ir(p, &(CodeSpec){ .hash = { 1, 2 } }, &text));
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spills),
        cmocka_unit_test(test_many_masks),
        cmocka_unit_test(test_rotations),
        cmocka_unit_test(test_half_products),
        cmocka_unit_test(test_narrow_outputs),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_filtered_comparisons),
        cmocka_unit_test(test_negated_operands),
        cmocka_unit_test(test_gathers_that_agree),
        cmocka_unit_test(test_local_arrays),
        cmocka_unit_test(test_long_program),
        cmocka_unit_test(test_listing),
        cmocka_unit_test(test_supports),
    };
    if (!native_begin())
        return 0;
    return cmocka_run_group_tests_name(getenv("DRJIT_NATIVE_ISA"), tests, NULL, NULL);
}

int main(void)
{
    return native_targets_run(run_all);
}
