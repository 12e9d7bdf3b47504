/*
 * test_engine_regions.c -- loops and conditionals on all engines, against C loops over
 * lanes
 */
#include "engine_regions.h"

/* ---- loops */

/* Sums of table[i] for i < n. With 'padding', bodies are of several blocks. */
static Program *counting_loop(bool enter_some, uint32_t padding)
{
    Program *p = new_program();
    uint32_t n = input(p, VarTypeUInt32), table = pointer(p, VarTypeFloat32, false);
    uint32_t zero = number(p, 0), one = number(p, 1);
    uint32_t start = program_add_literal(p, VarTypeFloat32, 0);
    uint32_t mask = enter_some ? BOOL(p, OP_NEQ, n, number(p, 3)) : yes(p);
    uint32_t loop = REGION(p, REGION_LOOP, mask, zero, start);
    uint32_t i = leaf(p, OP_STATE, VarTypeUInt32, 0);
    uint32_t sum = leaf(p, OP_STATE, VarTypeFloat32, 1);
    uint32_t limit = n;
    for (uint32_t k = 0; k < padding; k++) {
        limit = U32(p, OP_XOR, limit, number(p, k + 1));
        limit = U32(p, OP_XOR, limit, number(p, k + 1));
    }
    uint32_t more = BOOL(p, OP_LT, i, limit);
    ADD(p, OP_TEST, VarTypeVoid, loop, more);
    uint32_t active = leaf(p, OP_ACTIVE, VarTypeBool, loop);
    uint32_t value = ADD(p, OP_GATHER, VarTypeFloat32, 0, table, i, active);
    for (uint32_t k = 0; k < padding; k++) {
        value = ADD(p, OP_NEG, VarTypeFloat32, 0, value);
        value = ADD(p, OP_NEG, VarTypeFloat32, 0, value);
    }
    uint32_t next = ADD(p, OP_ADD, VarTypeFloat32, 0, sum, value);
    ADD(p, OP_END, VarTypeVoid, loop, U32(p, OP_ADD, i, one), next);
    uint32_t a = leaf(p, OP_RESULT, VarTypeUInt32, 0);
    uint32_t b = leaf(p, OP_RESULT, VarTypeFloat32, 1);
    output(p, a);
    output(p, b);
    return p;
}

static void sum_tables(void *const *arrays, uint32_t lanes, bool some)
{
    const uint32_t *n = arrays[0];
    const float *table = arrays[1];
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint32_t i = 0;
        float sum = 0;
        for (; i < n[lane] && (!some || n[lane] != 3); i++) {
            sum += table[i];
        }
        ((uint32_t *) arrays[2])[lane] = i;
        ((float *) arrays[3])[lane] = sum;
    }
}

static void counting_reference(void *const *arrays, uint32_t lanes)
{
    sum_tables(arrays, lanes, false);
}

static void entering_reference(void *const *arrays, uint32_t lanes)
{
    sum_tables(arrays, lanes, true);
}

static void test_counting(void **state)
{
    (void) state;
    check(counting_loop(false, 0), counting_reference, "counting loop");
    check(counting_loop(true, 0), entering_reference, "loop that some lanes enter");
    check(counting_loop(true, 150), entering_reference, "long loop");
}

static void never_reference(void *const *arrays, uint32_t lanes)
{
    memcpy(arrays[1], arrays[0], lanes * sizeof(uint32_t));
}

/* No lane enters, or none passes the test. The state has no STATE instruction. */
static void test_no_iterations(void **state)
{
    (void) state;
    for (int k = 0; k < 2; k++) {
        Program *p = new_program();
        uint32_t n = input(p, VarTypeUInt32);
        uint32_t no = program_add_literal(p, VarTypeBool, 0);
        uint32_t seven = number(p, 7);
        uint32_t loop = REGION(p, REGION_LOOP, k ? no : yes(p), n);
        ADD(p, OP_TEST, VarTypeVoid, loop, k ? yes(p) : no);
        ADD(p, OP_END, VarTypeVoid, loop, seven);
        output(p, leaf(p, OP_RESULT, VarTypeUInt32, 0));
        check(p, never_reference, "no iterations");
    }
}

static void nested_reference(void *const *arrays, uint32_t lanes)
{
    const uint32_t *n = arrays[0], *m = arrays[1];
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint32_t a = 0, b = 1;
        for (uint32_t i = 0; i < n[lane]; i++) {
            for (uint32_t j = i; j < m[lane]; j++) {
                uint32_t sum = a + b + lane;
                a = b;
                b = sum;
            }
        }
        ((uint32_t *) arrays[2])[lane] = a;
        ((uint32_t *) arrays[3])[lane] = b;
    }
}

/* Two loops; the inner one's states change places in each iteration. */
static void test_nested(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t n = input(p, VarTypeUInt32), m = input(p, VarTypeUInt32);
    uint32_t zero = number(p, 0), one = number(p, 1);
    uint32_t lane = leaf(p, OP_COUNTER, VarTypeUInt32, 0);
    uint32_t outer = REGION(p, REGION_LOOP, yes(p), zero, zero, one);
    uint32_t i = leaf(p, OP_STATE, VarTypeUInt32, 0);
    uint32_t a = leaf(p, OP_STATE, VarTypeUInt32, 1);
    uint32_t b = leaf(p, OP_STATE, VarTypeUInt32, 2);
    ADD(p, OP_TEST, VarTypeVoid, outer, BOOL(p, OP_LT, i, n));
    uint32_t active = leaf(p, OP_ACTIVE, VarTypeBool, outer);
    uint32_t inner = REGION(p, REGION_LOOP, active, i, a, b);
    uint32_t j = leaf(p, OP_STATE, VarTypeUInt32, 0);
    uint32_t c = leaf(p, OP_STATE, VarTypeUInt32, 1);
    uint32_t d = leaf(p, OP_STATE, VarTypeUInt32, 2);
    ADD(p, OP_TEST, VarTypeVoid, inner, BOOL(p, OP_LT, j, m));
    uint32_t sum = U32(p, OP_ADD, U32(p, OP_ADD, c, d), lane);
    ADD(p, OP_END, VarTypeVoid, inner, U32(p, OP_ADD, j, one), d, sum);
    uint32_t e = leaf(p, OP_RESULT, VarTypeUInt32, 1);
    uint32_t f = leaf(p, OP_RESULT, VarTypeUInt32, 2);
    ADD(p, OP_END, VarTypeVoid, outer, U32(p, OP_ADD, i, one), e, f);
    uint32_t g = leaf(p, OP_RESULT, VarTypeUInt32, 1);
    uint32_t h = leaf(p, OP_RESULT, VarTypeUInt32, 2);
    output(p, g);
    output(p, h);
    check(p, nested_reference, "nested loops");
}

static unsigned rotated_size;

static void rotated_reference(void *const *arrays, uint32_t lanes)
{
    const uint32_t *n = arrays[0];
    for (uint32_t lane = 0; lane < lanes; lane++) {
        for (uint32_t k = 0; k < 3; k++) {
            memcpy((char *) arrays[4 + k] + lane * rotated_size,
                   (char *) arrays[1 + (k + n[lane]) % 3] + lane * rotated_size,
                   rotated_size);
        }
    }
}

/* Three states of each type that go round n times. */
static void test_state_types(void **state)
{
    (void) state;
    for (uint32_t t = 0; t < TYPE_COUNT; t++) {
        Program *p = new_program();
        uint32_t n = input(p, VarTypeUInt32), one = number(p, 1), first[3], inside[3];
        for (int k = 0; k < 3; k++) {
            first[k] = input(p, types[t]);
        }
        uint32_t loop =
            REGION(p, REGION_LOOP, yes(p), number(p, 0), first[0], first[1], first[2]);
        uint32_t i = leaf(p, OP_STATE, VarTypeUInt32, 0);
        for (uint32_t k = 0; k < 3; k++) {
            inside[k] = leaf(p, OP_STATE, types[t], k + 1);
        }
        ADD(p, OP_TEST, VarTypeVoid, loop, BOOL(p, OP_LT, i, n));
        ADD(p, OP_END, VarTypeVoid, loop, U32(p, OP_ADD, i, one), inside[1], inside[2],
            inside[0]);
        for (uint32_t k = 0; k < 3; k++) {
            first[k] = leaf(p, OP_RESULT, types[t], k + 1);
        }
        for (uint32_t k = 0; k < 3; k++) {
            output(p, first[k]);
        }
        rotated_size = type_info[types[t]].size;
        check(p, rotated_reference, type_info[types[t]].name);
    }
}

static void effects_reference(void *const *arrays, uint32_t lanes)
{
    const uint32_t *n = arrays[0];
    for (uint32_t lane = 0; lane < lanes; lane++) {
        for (uint32_t i = 0; i < n[lane]; i++) {
            ((uint32_t *) arrays[1])[i] += lane;
            ((uint8_t *) arrays[2])[lane * 1u] = (uint8_t) i;
            ((uint64_t *) arrays[3])[i + 5] += 1;
        }
    }
}

/* A loop of effects: its one state counts. */
static void test_effects(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t n = input(p, VarTypeUInt32), sums = pointer(p, VarTypeUInt32, true);
    uint32_t bytes = pointer(p, VarTypeUInt8, true);
    uint32_t wide = pointer(p, VarTypeUInt64, true);
    uint32_t lane = leaf(p, OP_COUNTER, VarTypeUInt32, 0), one = number(p, 1);
    uint32_t loop = REGION(p, REGION_LOOP, yes(p), number(p, 0));
    uint32_t i = leaf(p, OP_STATE, VarTypeUInt32, 0);
    ADD(p, OP_TEST, VarTypeVoid, loop, BOOL(p, OP_LT, i, n));
    uint32_t active = leaf(p, OP_ACTIVE, VarTypeBool, loop);
    ADD(p, OP_SCATTER, VarTypeVoid, ReduceOpAdd | ReduceModeLocal << 8, sums, lane, i,
        active);
    uint32_t byte = ADD(p, OP_CAST, VarTypeUInt8, 0, i);
    ADD(p, OP_SCATTER, VarTypeVoid, ReduceOpIdentity, bytes, byte, lane, active);
    uint32_t place = U32(p, OP_ADD, i, number(p, 5));
    uint32_t unit = program_add_literal(p, VarTypeUInt64, 1);
    ADD(p, OP_SCATTER, VarTypeVoid, ReduceOpAdd | ReduceModeDirect << 8, wide, unit,
        place, active);
    ADD(p, OP_END, VarTypeVoid, loop, U32(p, OP_ADD, i, one));
    check(p, effects_reference, "effects in a loop");
}

static void stateless_reference(void *const *arrays, uint32_t lanes)
{
    const uint32_t *n = arrays[0];
    for (uint32_t lane = 0; lane < lanes; lane++) {
        ((uint32_t *) arrays[1])[lane] = n[lane];
    }
}

/* No state at all: memory counts. */
static void test_stateless(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t n = input(p, VarTypeUInt32), memory = pointer(p, VarTypeUInt32, true);
    uint32_t lane = leaf(p, OP_COUNTER, VarTypeUInt32, 0), zero = number(p, 0);
    ADD(p, OP_SCATTER, VarTypeVoid, ReduceOpIdentity, memory, zero, lane, yes(p));
    uint32_t one = number(p, 1), mask = BOOL(p, OP_GT, n, zero);
    uint32_t loop = REGION(p, REGION_LOOP, mask);
    uint32_t before = leaf(p, OP_ACTIVE, VarTypeBool, loop);
    uint32_t value = ADD(p, OP_GATHER, VarTypeUInt32, 0, memory, lane, before);
    ADD(p, OP_TEST, VarTypeVoid, loop, BOOL(p, OP_LT, value, n));
    uint32_t active = leaf(p, OP_ACTIVE, VarTypeBool, loop);
    ADD(p, OP_SCATTER, VarTypeVoid, ReduceOpIdentity, memory,
        U32(p, OP_ADD, value, one), lane, active);
    program_add(p, OP_END, VarTypeVoid, loop, 0, NULL);
    check(p, stateless_reference, "loop without states");
}

static void statement_reference(void *const *arrays, uint32_t lanes)
{
    const uint32_t *n = arrays[0];
    for (uint32_t lane = 0; lane < lanes; lane++) {
        ((uint32_t *) arrays[1])[lane] = n[lane] * n[lane] * 2;
    }
}

/* Statements know no regions; the interpreter does not know statements. */
static void test_statement(void **state)
{
    (void) state;
    NEEDS_LLVM();
    Program *p = new_program();
    uint32_t n = input(p, VarTypeUInt32), zero = number(p, 0), one = number(p, 1);
    uint32_t text = program_add_stmt(p, "$r0.twice = add $T1 $r1, $r1$n"
                                        "$r0 = add $T0 $r0.twice, $r2");
    uint32_t loop = REGION(p, REGION_LOOP, yes(p), zero, zero);
    uint32_t i = leaf(p, OP_STATE, VarTypeUInt32, 0);
    uint32_t sum = leaf(p, OP_STATE, VarTypeUInt32, 1);
    ADD(p, OP_TEST, VarTypeVoid, loop, BOOL(p, OP_LT, i, n));
    uint32_t next = ADD(p, OP_STMT, VarTypeUInt32, text, n, sum);
    ADD(p, OP_END, VarTypeVoid, loop, U32(p, OP_ADD, i, one), next);
    output(p, leaf(p, OP_RESULT, VarTypeUInt32, 1));
    assert_true(program_verify(p));
    run_engine(&llvm_engine, p, statement_reference, "statement in a loop");
    program_free(p);
}

/* ---- conditionals */

static void nested_if_reference(void *const *arrays, uint32_t lanes)
{
    const uint32_t *x = arrays[0];
    const float *f = arrays[1];
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint32_t r = 0;
        float g = 0;
        if (x[lane] != 9) { /* the mask */
            if (x[lane] < 5) {
                if (f[lane] > 0) {
                    r = x[lane] + 100;
                    g = f[lane];
                } else {
                    r = x[lane] * 3;
                    ((uint32_t *) arrays[2])[x[lane]]++;
                }
                g = g + 1;
            } else {
                r = 77;
                g = f[lane] * f[lane];
            }
        }
        ((uint32_t *) arrays[3])[lane] = r;
        ((float *) arrays[4])[lane] = g;
    }
}

static void test_conditionals(void **state)
{
    (void) state;
    Program *p = new_program();
    uint32_t x = input(p, VarTypeUInt32), f = input(p, VarTypeFloat32);
    uint32_t counts = pointer(p, VarTypeUInt32, true), one = number(p, 1);
    uint32_t mask = BOOL(p, OP_NEQ, x, number(p, 9));
    uint32_t zero = program_add_literal(p, VarTypeFloat32, 0);
    uint32_t unit = program_add_literal(p, VarTypeFloat32, 0x3f800000);
    uint32_t few = BOOL(p, OP_LT, x, number(p, 5));
    uint32_t outer = REGION(p, REGION_IF, mask, few);
    uint32_t active = leaf(p, OP_ACTIVE, VarTypeBool, outer);
    uint32_t inner = REGION(p, REGION_IF, active, BOOL(p, OP_GT, f, zero));
    uint32_t more = U32(p, OP_ADD, x, number(p, 100));
    ADD(p, OP_ELSE, VarTypeVoid, inner, more, f);
    uint32_t other = leaf(p, OP_ACTIVE, VarTypeBool, inner);
    ADD(p, OP_SCATTER, VarTypeVoid, ReduceOpAdd | ReduceModeDirect << 8, counts, one, x,
        other);
    ADD(p, OP_END, VarTypeVoid, inner, U32(p, OP_MUL, x, number(p, 3)), zero);
    uint32_t r = leaf(p, OP_RESULT, VarTypeUInt32, 0);
    uint32_t g = leaf(p, OP_RESULT, VarTypeFloat32, 1);
    g = ADD(p, OP_ADD, VarTypeFloat32, 0, g, unit);
    ADD(p, OP_ELSE, VarTypeVoid, outer, r, g);
    uint32_t square = ADD(p, OP_MUL, VarTypeFloat32, 0, f, f);
    ADD(p, OP_END, VarTypeVoid, outer, number(p, 77), square);
    r = leaf(p, OP_RESULT, VarTypeUInt32, 0);
    g = leaf(p, OP_RESULT, VarTypeFloat32, 1);
    output(p, r);
    output(p, g);
    check(p, nested_if_reference, "nested conditionals");
}

static unsigned chosen_size;

static void chosen_reference(void *const *arrays, uint32_t lanes)
{
    const uint32_t *x = arrays[0];
    for (uint32_t lane = 0; lane < lanes; lane++) {
        char *to = (char *) arrays[3] + lane * chosen_size;
        char *from = (char *) arrays[x[lane] % 2 ? 1 : 2] + lane * chosen_size;
        if (x[lane] > 2) {
            memmove(to, from, chosen_size);
        } else {
            memset(to, 0, chosen_size);
        }
    }
}

static void test_output_types(void **state)
{
    (void) state;
    for (uint32_t t = 0; t < TYPE_COUNT; t++) {
        Program *p = new_program();
        uint32_t x = input(p, VarTypeUInt32);
        uint32_t a = input(p, types[t]), b = input(p, types[t]);
        uint32_t odd = ADD(p, OP_CAST, VarTypeBool, 0, U32(p, OP_AND, x, number(p, 1)));
        uint32_t mask = BOOL(p, OP_GT, x, number(p, 2));
        uint32_t region = REGION(p, REGION_IF, mask, odd);
        ADD(p, OP_ELSE, VarTypeVoid, region, a);
        ADD(p, OP_END, VarTypeVoid, region, b);
        output(p, leaf(p, OP_RESULT, types[t], 0));
        chosen_size = type_info[types[t]].size;
        check(p, chosen_reference, type_info[types[t]].name);
    }
}
static void all_regions(void)
{
    check(counting_loop(true, 0), entering_reference, "loop that some lanes enter");
    test_nested(NULL);
    test_state_types(NULL);
    test_conditionals(NULL);
    test_output_types(NULL);
}

static void test_targets(void **state)
{
    (void) state;
    check_targets(all_regions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counting),
        cmocka_unit_test(test_no_iterations),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_state_types),
        cmocka_unit_test(test_effects),
        cmocka_unit_test(test_stateless),
        cmocka_unit_test(test_statement),
        cmocka_unit_test(test_conditionals),
        cmocka_unit_test(test_output_types),
        cmocka_unit_test(test_targets)
    };
    return run_group("regions", tests, sizeof tests / sizeof *tests);
}
