/*
 * test_native_select.c -- selections that arithmetic does itself, against the
 * interpreter, bit for bit
 *
 * Every operation on every type is chosen by selects on either side, with masks that
 * comparisons make and others, next to what may be in its place: an operand, 0, other
 * literals, arrays, values that are computed before or after. Listings say where there
 * is no select left.
 */
#include "native_rows.h"

#define BOOL VarTypeBool
#define U32 VarTypeUInt32
#define F32 VarTypeFloat32
#define F64 VarTypeFloat64

/* ---- every operation */

enum { ARRAY, FIRST, LAST, ZERO, LITERAL, BEFORE, BEHIND, OTHERS };
enum { REAL, INTEGER, IS_ZERO, SIGN, LOADED, MASKS };

static uint32_t number(Program *p, VarType type, uint64_t bits)
{
    return program_add_literal(p, type, bits);
}

static uint32_t binary(Program *p, Op op, VarType type, uint32_t a, uint32_t b)
{
    return add(p, op, type, 0, 2, a, b);
}

static uint32_t choose(Program *p, VarType type, uint32_t mask, uint32_t a, uint32_t b)
{
    return add(p, OP_SELECT, type, 0, 3, mask, a, b);
}

typedef struct Inputs {
    uint32_t value[3], real[2], whole[2], mask;
} Inputs;

static uint32_t make_mask(Program *p, const Inputs *in, uint32_t kind)
{
    switch (kind) {
    case REAL:
        return binary(p, OP_LT, BOOL, in->real[0], in->real[1]);
    case INTEGER:
        return binary(p, OP_GE, BOOL, in->whole[0], in->whole[1]);
    case IS_ZERO:
        return binary(p, OP_EQ, BOOL, in->whole[0], number(p, VarTypeInt32, 0));
    case SIGN:
        return binary(p, OP_LT, BOOL, in->whole[1], number(p, VarTypeInt32, 0));
    default:
        return in->mask;
    }
}

static uint32_t make_other(Program *p, Op op, VarType type, const uint32_t *args,
                           uint32_t kind)
{
    switch (kind) {
    case ARRAY:
        return add_input(p, type);
    case FIRST:
        return args[0];
    case LAST:
        return args[op_info[op].arity - 1];
    case ZERO:
        return number(p, type, 0);
    case LITERAL:
        return number(p, type, any_value(type));
    default: /* computed */
        return choose(p, type, add_input(p, BOOL), args[0], number(p, type, 1));
    }
}

/* One select, as what else there is and on which side; the operation may be used a
 * second time. */
static void emit(Program *p, Op op, VarType type, const Inputs *in, uint32_t kind)
{
    uint32_t what = kind % OTHERS, side = kind / OTHERS % 2;
    uint32_t again = kind / OTHERS / 2 % 2, args[3], other = 0;
    uint32_t mask = make_mask(p, in, random_bits() % MASKS);
    for (uint32_t k = 0; k < op_info[op].arity; ++k)
        args[k] = random_bits() % 4 ? in->value[k] : number(p, type, any_value(type));
    if (what != BEHIND)
        other = make_other(p, op, type, args, what);
    uint32_t value = program_add(p, op, type, 0, op_info[op].arity, args);
    if (what == BEHIND)
        other = make_other(p, op, type, args, what);
    uint32_t result = choose(p, type, mask, side ? other : value, side ? value : other);
    add_output(p, type, result);
    add_widened(p, type, result);
    if (again)
        add_output(p, type, value);
}

static void check_operation(Op op, VarType type, uint32_t variant)
{
    Program *p = new_program();
    Inputs in = { .mask = add_input(p, BOOL) };
    add_wide(p, variant);
    for (uint32_t k = 0; k < 3; ++k)
        in.value[k] = add_input(p, type);
    for (uint32_t k = 0; k < 2; ++k) {
        in.real[k] = add_input(p, variant & 1 ? F64 : F32);
        in.whole[k] = add_input(p, VarTypeInt32);
    }
    for (uint32_t kind = 0; kind < 4 * OTHERS; ++kind)
        emit(p, op, type, &in, kind);
    char what[80];
    snprintf(what, sizeof what, "select of %s %s, variant %u", op_info[op].name,
             type_info[type].short_name, variant);
    check(p, what);
}

static void test_operations(void **state)
{
    (void) state;
    for (int op = OP_NEG; op <= OP_FMA; ++op)
        for (int t = 0; t < TYPES; ++t)
            if (op_info[op].result == RESULT_SAME && types[t] != BOOL &&
                native->supports((Op) op, types[t], types[t]))
                for (uint32_t variant = 0; variant < 2; ++variant)
                    check_operation((Op) op, types[t], variant);
}

/* ---- where no select is left */

static uint32_t count_blends(const Program *p)
{
    Text text = { 0 };
    assert_true(native->write_ir(p, &(CodeSpec){ .hash = { 1, 2 } }, &text));
    uint32_t count = 0;
    for (const char *at = text_get(&text); (at = strstr(at, " vpblendm")); ++at)
        ++count;
    text_free(&text);
    return count;
}

/* An operation on x, y of this kind is chosen where x < y. */
enum {
    SUM, FUSED, FUSED_OTHER, FALSE_SIDE, TWO_MASKED, MIXED, TWICE, LATE, KINDS
};
static const bool has_blends[KINDS] = { [FUSED_OTHER] = true, [MIXED] = true,
                                        [TWICE] = true };

static uint32_t emit_kind(Program *p, uint32_t kind)
{
    uint32_t x = add_input(p, F32), y = add_input(p, F32), z = add_input(p, F32);
    uint32_t less = binary(p, OP_LT, BOOL, x, y), sum, other;
    uint32_t fused = add(p, OP_FMA, F32, 0, 3, x, y, z);
    switch (kind) {
    case SUM:
        return choose(p, F32, less, binary(p, OP_ADD, F32, x, y), z);
    case FUSED:
        return choose(p, F32, less, fused, z);
    case FUSED_OTHER:
        return choose(p, F32, less, fused, number(p, F32, 0x3f800000));
    case FALSE_SIDE:
        return choose(p, F32, less, z, binary(p, OP_MUL, F32, x, y));
    case TWO_MASKED: /* the same comparison for two selects */
        sum = choose(p, F32, less, z, binary(p, OP_SUB, F32, x, y));
        return binary(p, OP_MUL, F32, sum,
                      choose(p, F32, less, x, binary(p, OP_DIV, F32, x, y)));
    case MIXED: /* one on each side */
        sum = choose(p, F32, less, z, binary(p, OP_SUB, F32, x, y));
        return binary(p, OP_MUL, F32, sum,
                      choose(p, F32, less, binary(p, OP_DIV, F32, x, y), x));
    case TWICE:
        sum = binary(p, OP_ADD, F32, x, y);
        return binary(p, OP_MUL, F32, choose(p, F32, less, sum, z), sum);
    default: /* the second of two operations */
        sum = binary(p, OP_ADD, F32, x, y);
        other = binary(p, OP_DIV, F32, x, z);
        return choose(p, F32, less, sum, other);
    }
}

static void test_blends(void **state)
{
    (void) state;
    bool masks = strcmp(getenv("DRJIT_NATIVE_ISA"), "avx512") == 0;
    for (uint32_t kind = 0; kind < KINDS; ++kind) {
        Program *p = new_program();
        add_output(p, F32, emit_kind(p, kind));
        if (masks && (count_blends(p) != 0) != has_blends[kind])
            fail_msg("kind %u has %u blends", kind, count_blends(p));
        check(p, "blends");
    }
}

/* ---- control flow */

static uint32_t region(Program *p, RegionKind kind, uint32_t count,
                       const uint32_t *args)
{
    uint32_t r = program_add_region(p, kind, count, args, 0, NULL);
    assert_int_not_equal(r, PROGRAM_NONE);
    return r;
}

/* States that selects change, or leave as they are; what is outside is kept. */
static void test_loop(void **state)
{
    (void) state;
    for (uint32_t variant = 0; variant < 8; ++variant) {
        Program *p = new_program();
        add_wide(p, variant);
        uint32_t x = add_input(p, F32), y = add_input(p, F32), one = number(p, U32, 1);
        uint32_t most = binary(p, OP_AND, U32, add_input(p, U32), number(p, U32, 15));
        uint32_t outside = binary(p, OP_ADD, F32, x, y);
        uint32_t args[] = { number(p, BOOL, 1), x, y, number(p, U32, 0) };
        uint32_t r = region(p, REGION_LOOP, 4, args);
        uint32_t a = add(p, OP_STATE, F32, 0, 0), b = add(p, OP_STATE, F32, 1, 0);
        uint32_t k = add(p, OP_STATE, U32, 2, 0);
        add(p, OP_TEST, VarTypeVoid, r, 1, binary(p, OP_LT, BOOL, k, most));
        uint32_t odd = binary(p, OP_EQ, BOOL, binary(p, OP_AND, U32, k, one), one);
        uint32_t less = binary(p, OP_LT, BOOL, a, b);
        uint32_t sum = binary(p, OP_ADD, F32, a, outside);
        uint32_t next = variant & 2 ? choose(p, F32, odd, sum, a)
                                    : choose(p, F32, less, outside, sum);
        uint32_t product = binary(p, OP_MUL, F32, b, next);
        uint32_t end[] = { next, choose(p, F32, less, product, variant & 4 ? b : a),
                           binary(p, OP_ADD, U32, k, one) };
        assert_int_not_equal(program_add(p, OP_END, VarTypeVoid, r, 3, end),
                             PROGRAM_NONE);
        uint32_t result = add(p, OP_RESULT, F32, 0, 0);
        if (variant & 4)
            add_output(p, F32, add(p, OP_RESULT, F32, 1, 0));
        add_output(p, F32, result);
        add_output(p, F32, outside);
        check(p, "loop");
    }
}

/* What states become is chosen by what computes it: sums, also fused ones, a counter; a
 * state that is needed afterwards (variant 1), or that becomes another one (2). */
static void test_states(void **state)
{
    (void) state;
    bool masks = strcmp(getenv("DRJIT_NATIVE_ISA"), "avx512") == 0;
    for (uint32_t variant = 0; variant < 3; ++variant) {
        Program *p = new_program();
        uint32_t x = add_input(p, F32), y = add_input(p, F32), one = number(p, U32, 1);
        uint32_t most = binary(p, OP_AND, U32, add_input(p, U32), number(p, U32, 15));
        uint32_t args[] = { number(p, BOOL, 1), x, y, number(p, U32, 0) };
        uint32_t r = region(p, REGION_LOOP, 4, args);
        uint32_t a = add(p, OP_STATE, F32, 0, 0), b = add(p, OP_STATE, F32, 1, 0);
        uint32_t k = add(p, OP_STATE, U32, 2, 0);
        add(p, OP_TEST, VarTypeVoid, r, 1, binary(p, OP_LT, BOOL, k, most));
        uint32_t sum = binary(p, OP_ADD, F32, a, y);
        uint32_t fused = add(p, OP_FMA, F32, 0, 3, x, variant == 1 ? a : y, b);
        uint32_t end[] = { sum, variant == 2 ? a : fused,
                           binary(p, OP_ADD, U32, k, one) };
        assert_int_not_equal(program_add(p, OP_END, VarTypeVoid, r, 3, end),
                             PROGRAM_NONE);
        uint32_t first = add(p, OP_RESULT, F32, 0, 0);
        uint32_t second = add(p, OP_RESULT, F32, 1, 0);
        uint32_t third = add(p, OP_RESULT, U32, 2, 0);
        add_output(p, F32, first);
        add_output(p, F32, second);
        add_output(p, U32, third);
        if (masks && (count_blends(p) != 0) != (variant == 2))
            fail_msg("variant %u has %u blends", variant, count_blends(p));
        check(p, "states");
    }
}

/* Operations before, inside of and after a conditional. */
static void test_conditional(void **state)
{
    (void) state;
    for (uint32_t variant = 0; variant < 8; ++variant) {
        Program *p = new_program();
        add_wide(p, variant);
        uint32_t x = add_input(p, F32), y = add_input(p, F32);
        uint32_t less = binary(p, OP_LT, BOOL, x, y);
        uint32_t enters = add_input(p, BOOL);
        uint32_t other = binary(p, OP_SUB, F32, x, y);
        uint32_t sum = binary(p, OP_ADD, F32, x, y);
        uint32_t args[] = { number(p, BOOL, 1), enters };
        uint32_t r = region(p, REGION_IF, 2, args), yes, no, k;
        k = variant & 4 ? sum : binary(p, OP_MUL, F32, x, x);
        yes = choose(p, F32, less, k, other);
        assert_int_not_equal(program_add(p, OP_ELSE, VarTypeVoid, r, 1, &yes),
                             PROGRAM_NONE);
        no = variant & 2 ? binary(p, OP_MUL, F32, other, y) : x;
        assert_int_not_equal(program_add(p, OP_END, VarTypeVoid, r, 1, &no),
                             PROGRAM_NONE);
        uint32_t result = add(p, OP_RESULT, F32, 0, 0);
        uint32_t last = variant & 4 ? binary(p, OP_DIV, F32, result, y) : sum;
        add_output(p, F32, choose(p, F32, less, last, result));
        if (variant & 2)
            add_output(p, F32, result);
        check(p, "conditional");
    }
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_blends),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_conditional),
    };
    native = engine_find("native");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return native_targets_run(run_all);
}
