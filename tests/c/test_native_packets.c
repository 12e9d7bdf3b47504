/*
 * test_native_packets.c -- packets of lanes side by side in the native engine
 *
 * Where there are any of its own accord, and that results are those of one packet after
 * the other (native_programs.h).
 */
#include "native_programs.h"

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

/* How many packets code computes at a time for x * a + a ..., of 'links' operations,
 * and perhaps the quotient by a. */
static uint32_t packets_of_chain(uint32_t links, bool many_lanes, bool divides)
{
    begin_program();
    uint32_t input = program_add_param(p, PARAM_INPUT, F32);
    uint32_t output = program_add_param(p, PARAM_OUTPUT, F32);
    uint32_t a = op(OP_LOAD, F32, input, 0), x = a;
    for (uint32_t k = 0; k < links; ++k)
        x = binary(k % 2 ? OP_ADD : OP_MUL, F32, x, a);
    if (divides)
        x = binary(OP_DIV, F32, x, a);
    op(OP_STORE, VarTypeVoid, output, 1, x);
    uint32_t products = count_in_code_for(many_lanes, "vmulps"), one = (links + 1) / 2;
    program_free(p);
    assert_int_equal(products % one, 0);
    return products / one;
}

/* A long chain gets several packets of its own accord, and more if they are worth the
 * time that code takes to make; a short one does not, nor one with a division that is
 * not much longer. */
static void test_chosen_packets(void **state)
{
    (void) state;
    const char *wanted = getenv("DRJIT_NATIVE_PACKETS");
    bool wide = strcmp(getenv("DRJIT_NATIVE_ISA"), "avx512") == 0;
    uint32_t forced = wanted && *wanted ? (uint32_t) (*wanted - '0') : 0;
    uint32_t one = forced ? forced : 1, two = forced ? forced : 2;
    uint32_t most = forced ? forced : wide ? 4 : 2;
    assert_int_equal(packets_of_chain(3, false, false), one);
    assert_int_equal(packets_of_chain(93, false, false), two);
    assert_int_equal(packets_of_chain(3, true, false), one);
    assert_int_equal(packets_of_chain(93, true, false), most);
    assert_int_equal(packets_of_chain(41, false, false), two);
    assert_int_equal(packets_of_chain(41, false, true), one);
    assert_int_equal(packets_of_chain(93, true, true), most);
}

/* Code for many lanes is that even where packets side by side turn out not to be
 * possible, as upper halves of products of 64 bits take too many registers of AVX2. */
static void test_refused_packets(void **state)
{
    (void) state;
    begin_program();
    uint32_t input = program_add_param(p, PARAM_INPUT, VarTypeInt64);
    uint32_t output = program_add_param(p, PARAM_OUTPUT, VarTypeInt64);
    uint32_t a = op(OP_LOAD, VarTypeInt64, input, 0), x = a;
    for (uint32_t k = 0; k < LINKS; ++k)
        x = binary(k % 2 ? OP_ADD : OP_MUL_HI, VarTypeInt64, x, a);
    op(OP_STORE, VarTypeVoid, output, 1, x);
    assert_true(count_in_code_for(true, "vmovntps") > 0);
    assert_int_equal(count_in_code_for(false, "vmovntps"), 0);
    program_free(p);
}

/* x = x * a * ... + a, so that no iteration can begin before the end of the one before;
 * or x = x + k * a * ..., where only the sum waits. Ten times, or in each lane another
 * number of times. */
static void write_packets_loop(bool from_counter, bool together, uint32_t products)
{
    begin_program();
    uint32_t input = program_add_param(p, PARAM_INPUT, F32);
    uint32_t output = program_add_param(p, PARAM_OUTPUT, F32);
    uint32_t a = op(OP_LOAD, F32, input, 0);
    uint32_t most = together ? number(U32, 10)
                             : binary(OP_AND, U32, lane(), number(U32, 15));
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

/* Two packets go round together if an iteration waits for the one before, or none of
 * them has to wait for the other. */
static void test_chosen_packets_of_loops(void **state)
{
    (void) state;
    const char *wanted = getenv("DRJIT_NATIVE_PACKETS");
    enum { PRODUCTS = 3 };
    for (uint32_t variant = 0; variant < 4; ++variant) {
        bool from_counter = variant & 1, together = variant & 2;
        write_packets_loop(from_counter, together, PRODUCTS);
        uint32_t packets = (wanted && *wanted) || !from_counter || together ? 2 : 1;
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
 * Those after the last one would never leave. */
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

enum { ENTRIES = 12, PLACES = ENTRIES + 1 /* the last one is outside */ };

static bool spread; /* has each lane an index of its own? */

static uint64_t expect_local(uint32_t i)
{
    uint32_t array[PLACES], x = i;
    for (uint32_t k = 0; k < ENTRIES; ++k)
        array[k] = i;
    array[ENTRIES] = 0;
    for (uint32_t k = 0; k < 9 + i % 3; ++k) {
        uint32_t to = spread ? (k + i) % PLACES : k;
        uint32_t from = spread ? (k + i + ENTRIES) % PLACES : k - 1;
        if (to < ENTRIES)
            array[to] = x;
        x = (x * 5 + (from < ENTRIES ? array[from] : 0)) * 3 + k;
    }
    return x ^ array[i % ENTRIES];
}

/* Ten times or so x is written to a local array, and becomes something of itself and an
 * entry from before. */
static void write_local_loop(void)
{
    begin_program();
    uint32_t output = program_add_param(p, PARAM_OUTPUT, U32), i = lane();
    uint32_t one = number(U32, 1), places = number(U32, PLACES);
    uint32_t rest = binary(OP_MOD, U32, i, number(U32, 3));
    uint32_t most = binary(OP_ADD, U32, rest, number(U32, 9));
    uint32_t last = binary(OP_MOD, U32, i, number(U32, ENTRIES));
    uint32_t array = op(OP_LOCAL, U32, ENTRIES, 1, i);
    uint32_t args[] = { number(BOOL, 1), i, number(U32, 0) };
    uint32_t r = region(REGION_LOOP, 3, args);
    uint32_t x = op(OP_STATE, U32, 0, 0), k = op(OP_STATE, U32, 1, 0);
    end_region(OP_TEST, r, 1, (uint32_t[]){ binary(OP_LT, BOOL, k, most) });
    uint32_t active = op(OP_ACTIVE, BOOL, r, 0), to = k;
    uint32_t from = binary(OP_SUB, U32, k, one);
    if (spread) {
        to = binary(OP_ADD, U32, k, i);
        from = binary(OP_ADD, U32, to, number(U32, ENTRIES));
        from = binary(OP_MOD, U32, from, places);
        to = binary(OP_MOD, U32, to, places);
    }
    op(OP_LOCAL_WRITE, VarTypeVoid, 0, 4, array, x, to, active);
    uint32_t y = op(OP_LOCAL_READ, U32, 0, 3, array, from, active);
    uint32_t next = op(OP_FMA, U32, 0, 3, x, number(U32, 5), y);
    next = op(OP_FMA, U32, 0, 3, next, number(U32, 3), k);
    end_region(OP_END, r, 2, (uint32_t[]){ next, binary(OP_ADD, U32, k, one) });
    x = op(OP_RESULT, U32, 0, 0);
    y = op(OP_LOCAL_READ, U32, 0, 3, array, last, number(BOOL, 1));
    op(OP_STORE, VarTypeVoid, output, 1, binary(OP_XOR, U32, x, y));
}

/* Each of the packets side by side has an array of its own, whether the lanes of a
 * packet have one index or many. */
static void test_local_arrays(void **state)
{
    (void) state;
    for (int many = 0; many < 2; ++many) {
        spread = many;
        write_local_loop();
        check(4, expect_local);
    }
}

/* There are several of them where an iteration waits for the one before. */
static void test_chosen_packets_beside_local_arrays(void **state)
{
    (void) state;
    const char *wanted = getenv("DRJIT_NATIVE_PACKETS");
    if (strcmp(getenv("DRJIT_NATIVE_ISA"), "avx512") != 0)
        return;
    spread = false;
    write_local_loop();
    enum { PRODUCTS = 4 /* two are of the remainders */ };
    uint32_t packets = wanted && *wanted == '1' ? 1 : 2;
    assert_int_equal(count_in_code("vpmulld"), packets * PRODUCTS);
    program_free(p);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain_of_types),
        cmocka_unit_test(test_chosen_packets),
        cmocka_unit_test(test_refused_packets),
        cmocka_unit_test(test_chosen_packets_of_loops),
        cmocka_unit_test(test_uneven_loops),
        cmocka_unit_test(test_local_arrays),
        cmocka_unit_test(test_chosen_packets_beside_local_arrays),
    };
    if (!native_begin())
        return 0;
    return cmocka_run_group_tests_name(getenv("DRJIT_NATIVE_ISA"), tests, NULL, NULL);
}

int main(void)
{
    return native_targets_run(run_all);
}
