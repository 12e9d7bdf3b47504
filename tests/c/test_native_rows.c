/*
 * test_native_rows.c -- every operation of the native engine for every type, against
 * the interpreter, bit for bit
 *
 * A Program holds one operation on one type in many surroundings: operands that are
 * loaded, computed, literals, uniform, parameters, spilled, the same twice, in both
 * orders. Each runs with packets of full width and, because a 64-bit value is added, of
 * half the width, on all pairs of special values and on random ones, and with ends
 * inside of a packet. Everything runs for each table of rows.
 */
#include "native_rows.h"

#include <sys/mman.h>

enum { PRESSURE = 44 };

/* ---- operations in many surroundings */

typedef struct Case {
    Program *p;
    Op op;
    VarType type, result;
} Case;

static VarType operand_type(const Case *c, uint32_t k)
{
    return c->op == OP_SELECT && k == 0 ? VarTypeBool : c->type;
}

static void emit(const Case *c, const uint32_t *args)
{
    uint32_t arity = op_info[c->op].arity;
    uint32_t value = program_add(c->p, c->op, c->result, 0, arity, args);
    assert_int_not_equal(value, PROGRAM_NONE);
    add_output(c->p, c->result, value);
    add_widened(c->p, c->result, value);
}

/* Operand k in one of the forms that are not arrays. */
enum { LITERAL, UNIFORM, VALUE, CONSTANT_FORMS };

static uint32_t constant_operand(const Case *c, uint32_t k, uint32_t form)
{
    VarType type = operand_type(c, k);
    if (form == LITERAL)
        return program_add_literal(c->p, type, any_value(type));
    if (form == VALUE)
        return add(c->p, OP_PARAM, type, program_add_param(c->p, PARAM_VALUE, type), 0);
    uint32_t at = add_input(c->p, type);
    c->p->insts[at].flags |= INST_UNIFORM;
    return at;
}

/* A value that has to be computed, equal to one of two others. */
static uint32_t computed(const Case *c, VarType type, uint32_t mask, uint32_t a,
                         uint32_t b)
{
    return add(c->p, OP_SELECT, type, 0, 3, mask, a, b);
}

/* Operands that are arrays, computed values, the same value, constants. */
static void emit_all(const Case *c, uint32_t mask)
{
    uint32_t arity = op_info[c->op].arity;
    uint32_t in[3] = { 0 }, value[3], args[3];
    for (uint32_t k = 0; k < arity; ++k)
        in[k] = add_input(c->p, operand_type(c, k));
    emit(c, in);
    for (uint32_t k = 0; k < arity; ++k) {
        uint32_t other = c->op == OP_SELECT && k == 0 ? mask : in[arity - 1];
        value[k] = computed(c, operand_type(c, k), mask, in[k], other);
    }
    emit(c, value); /* none of them ends here */
    for (uint32_t k = 0; k < arity; ++k) {
        memcpy(args, value, sizeof args);
        args[k] = in[k];
        emit(c, args);
        args[k] = c->op == OP_SELECT && k == 0 ? mask : value[arity - 1];
        emit(c, args);
        for (uint32_t i = 0; i < LIST; ++i) {
            VarType type = operand_type(c, k);
            uint64_t bits = type == VarTypeBool ? i & 1 : special(type, i);
            args[k] = program_add_literal(c->p, type, bits);
            emit(c, args);
        }
        for (uint32_t i = 0; i < 2 * CONSTANT_FORMS; ++i) {
            args[k] = constant_operand(c, k, i % CONSTANT_FORMS);
            emit(c, args);
        }
    }
    for (uint32_t k = 0; k < arity; ++k)
        args[k] = constant_operand(c, k, LITERAL);
    emit(c, args);
    if (c->op != OP_SELECT) { /* swapped, the same */
        for (uint32_t k = 0; k < arity; ++k)
            args[k] = value[arity - 1 - k];
        emit(c, args);
        for (uint32_t k = 0; k < arity; ++k)
            args[k] = value[0];
        emit(c, args);
    }
    emit(c, value); /* all of them end here */
}

/* The operands are in memory because there are too many other values. */
static void emit_spilled(const Case *c, uint32_t mask)
{
    uint32_t arity = op_info[c->op].arity, value[3], other[PRESSURE];
    VarType type = type_info[c->type].size == 8 ? VarTypeFloat64 : VarTypeFloat32;
    for (uint32_t k = 0; k < arity; ++k) {
        uint32_t a = add_input(c->p, operand_type(c, k));
        value[k] = computed(c, operand_type(c, k), mask, a,
                            constant_operand(c, k, LITERAL));
    }
    uint32_t a = add_input(c->p, type), sum = a;
    for (uint32_t i = 0; i < PRESSURE; ++i)
        other[i] = add(c->p, OP_ADD, type, 0, 2, a, i ? other[i - 1] : a);
    emit(c, value);
    for (uint32_t i = 0; i < PRESSURE; ++i)
        sum = add(c->p, OP_ADD, type, 0, 2, other[i], sum);
    add_output(c->p, type, sum);
    emit(c, value);
}

static void check_case(Op op, VarType type, VarType result)
{
    for (uint32_t variant = 0; variant < 4; ++variant) {
        Case c = { new_program(), op, type, result };
        uint32_t mask = add_input(c.p, VarTypeBool);
        if (variant & 1) { /* packets of half the width */
            uint32_t wide = add_input(c.p, VarTypeUInt64);
            add_output(c.p, VarTypeUInt64, wide);
        }
        if (variant & 2)
            emit_spilled(&c, mask);
        else
            emit_all(&c, mask);
        char what[80];
        snprintf(what, sizeof what, "%s %s <- %s, variant %u", op_info[op].name,
                 type_info[result].short_name, type_info[type].short_name, variant);
        check(c.p, what);
    }
}

static VarType result_type(Op op, VarType operand)
{
    switch (op_info[op].result) {
    case RESULT_MASK:
        return VarTypeBool;
    case RESULT_WIDE:
        return type_wide(operand);
    default:
        return operand;
    }
}

static void test_arithmetic(void **state)
{
    (void) state;
    for (int op = OP_NEG; op <= OP_SELECT; ++op)
        for (int t = 0; t < TYPES; ++t) {
            VarType result = result_type((Op) op, types[t]);
            if (op_info[op].operands >> types[t] & 1 &&
                native->supports((Op) op, result, types[t]))
                check_case((Op) op, types[t], result);
        }
}

static void test_casts(void **state)
{
    (void) state;
    for (int from = 0; from < TYPES; ++from)
        for (int to = 0; to < TYPES; ++to)
            if (from != to && native->supports(OP_CAST, types[to], types[from]))
                check_case(OP_CAST, types[from], types[to]);
}

static void test_bitcasts(void **state)
{
    (void) state;
    for (int from = 1; from < TYPES; ++from)
        for (int to = 1; to < TYPES; ++to)
            if (from != to &&
                type_info[types[from]].size == type_info[types[to]].size &&
                native->supports(OP_BITCAST, types[to], types[from]))
                check_case(OP_BITCAST, types[from], types[to]);
}

/* Quotients of 64 bits next to integers, where an estimate is wrong most easily. */
static void test_long_division(void **state)
{
    (void) state;
    for (uint32_t k = 0; k < 16; ++k) {
        VarType type = k & 1 ? VarTypeInt64 : VarTypeUInt64;
        Program *p = new_program();
        uint32_t a = add_input(p, type), b = add_input(p, type);
        add_output(p, type, add(p, OP_DIV, type, 0, 2, a, b));
        add_output(p, type, add(p, OP_MOD, type, 0, 2, a, b));
        uint64_t args[4];
        for (uint32_t i = 0; i < 4; ++i)
            args[i] = address(new_array(type, i));
        for (uint32_t i = 0; i < ENTRIES; ++i) {
            uint64_t divisor = random_bits() >> random_bits() % 64;
            uint64_t most = divisor ? UINT64_MAX / divisor : 0;
            uint64_t any = random_bits() >> random_bits() % 64;
            uint64_t quotient = i % 4 ? most - i % 4 : any;
            put((void *) (uintptr_t) args[1], type, i, divisor);
            put((void *) (uintptr_t) args[0], type, i,
                quotient * divisor + random_bits() % 3 - 1);
        }
        compare(p, args, 0, ENTRIES, "64-bit division");
        for (uint32_t i = 0; i < 4; ++i)
            free((void *) (uintptr_t) args[i]);
        program_free(p);
    }
}

/* Products with 2 and what is next to it, on either side, of values that are loaded and
 * computed. */
static void test_literal_two(void **state)
{
    static const double factors[] = { 2, -2, 1, 2.0000002384185791, 4 };
    (void) state;
    for (uint32_t k = 0; k < 20; ++k) {
        VarType type = k & 1 ? VarTypeFloat64 : VarTypeFloat32;
        double wide = factors[k / 4];
        float narrow = (float) wide;
        uint64_t bits = 0;
        memcpy(&bits, k & 1 ? (void *) &wide : (void *) &narrow, type_info[type].size);
        Program *p = new_program();
        uint32_t a = add_input(p, type), b = add(p, OP_ADD, type, 0, 2, a, a);
        for (uint32_t i = 0; i < 2; ++i) {
            uint32_t factor = program_add_literal(p, type, bits), value = i ? b : a;
            uint32_t first = k & 2 ? factor : value, second = k & 2 ? value : factor;
            add_output(p, type, add(p, OP_MUL, type, 0, 2, first, second));
        }
        uint64_t args[3];
        for (uint32_t i = 0; i < p->param_count; ++i)
            args[i] = address(new_array((VarType) p->params[i].type, i));
        compare(p, args, 0, ENTRIES, "product with a literal");
        for (uint32_t i = 0; i < p->param_count; ++i)
            free((void *) (uintptr_t) args[i]);
        program_free(p);
    }
}

/* Dividends next to multiples of the divisor, where an error would show. */
static void test_literal_divisor(void **state)
{
    (void) state;
    for (uint32_t k = 0; k < 400; ++k) {
        VarType type = k & 1 ? VarTypeInt32 : VarTypeUInt32;
        Program *p = new_program();
        if (k & 2)
            add_output(p, VarTypeUInt64, add_input(p, VarTypeUInt64));
        uint32_t divisor = (uint32_t) (random_bits() >> 32 >> random_bits() % 32);
        uint32_t literal = program_add_literal(p, type, divisor);
        uint32_t slot = p->param_count, a = add_input(p, type);
        add_output(p, type, add(p, OP_DIV, type, 0, 2, a, literal));
        add_output(p, type, add(p, OP_MOD, type, 0, 2, a, literal));
        uint64_t args[5];
        for (uint32_t i = 0; i < p->param_count; ++i)
            args[i] = address(new_array((VarType) p->params[i].type, i));
        for (uint32_t i = 0; i < ENTRIES; ++i) {
            uint32_t bits = (uint32_t) (random_bits() >> 20);
            put((void *) (uintptr_t) args[slot], type, i,
                cut(type, (i < 8 ? i - 4 : bits) * divisor + bits % 3 - 1));
        }
        compare(p, args, 0, ENTRIES, "division by a literal");
        for (uint32_t i = 0; i < p->param_count; ++i)
            free((void *) (uintptr_t) args[i]);
        program_free(p);
    }
}

/* Products of lower halves, alone and beside other users of a half; products with
 * factors of which one has an upper half. */
static void test_half_products(void **state)
{
    (void) state;
    static const uint64_t masks[] = { UINT32_MAX, UINT32_MAX - 1, UINT64_C(1) << 32,
                                      UINT32_MAX };
    for (uint32_t k = 0; k < 64; ++k) {
        VarType type = k & 1 ? VarTypeInt64 : VarTypeUInt64;
        Program *p = new_program();
        uint32_t mask = program_add_literal(p, type, masks[k >> 1 & 3]);
        uint32_t whole = add_input(p, type);
        uint32_t a = add(p, OP_AND, type, 0, 2, whole, mask);
        uint32_t b = add_input(p, type), narrow = add_input(p, VarTypeUInt32);
        if (k & 8)
            b = add(p, OP_AND, type, 0, 2, program_add_literal(p, type, UINT32_MAX), b);
        else if (k & 16)
            b = add(p, OP_CAST, type, 0, 1, narrow);
        add_output(p, type, add(p, OP_MUL, type, 0, 2, a, b));
        add_output(p, type, add(p, OP_MUL, type, 0, 2, b, a));
        add_output(p, type, add(p, OP_MUL, type, 0, 2, a, a));
        if (k & 32)
            add_output(p, type, add(p, OP_ADD, type, 0, 2, a, b));
        check(p, "product of halves");
    }
}

/* Fused operations of negated operands, and the same with other users of those. */
static void test_negated(void **state)
{
    (void) state;
    static const VarType floats[] = { VarTypeFloat16, VarTypeFloat32, VarTypeFloat64 };
    for (uint32_t k = 0; k < 3 * 8 * 4; ++k) {
        VarType type = floats[k % 3];
        Program *p = new_program();
        add_wide(p, k / 24);
        uint32_t args[3];
        for (uint32_t i = 0; i < 3; ++i) {
            args[i] = add_input(p, type);
            if (k / 3 >> i & 1)
                args[i] = add(p, OP_NEG, type, 0, 1, args[i]);
        }
        add_output(p, type, program_add(p, OP_FMA, type, 0, 3, args));
        if (k / 24 & 2)
            add_output(p, type, add(p, OP_ADD, type, 0, 2, args[0], args[2]));
        check(p, "fma of negated operands");
    }
}

/* Two logical operations one after the other, which AVX-512 does at once. */
static void test_logic_pairs(void **state)
{
    (void) state;
    static const Op ops[] = { OP_AND, OP_OR, OP_XOR };
    for (uint32_t k = 0; k < 9 * 8 * 4; ++k)
        for (int t = 1; t < TYPES && type_info[types[t]].is_integer; ++t) {
            VarType type = types[t];
            Op first = ops[k % 3], second = ops[k / 3 % 3];
            uint32_t form = k / 9 % 8;
            Program *p = new_program();
            add_wide(p, k / 72);
            uint32_t a = add_input(p, type), b = add_input(p, type);
            uint32_t c = add_input(p, type), sum = add(p, OP_ADD, type, 0, 2, a, c);
            uint32_t literal = program_add_literal(p, type, any_value(type));
            if (form & 1)
                b = program_add_literal(p, type, any_value(type));
            uint32_t third = form == 0 ? c : form == 2 ? a : form == 4 ? sum : literal;
            uint32_t inner = add(p, first, type, 0, 2, a, b);
            uint32_t outer = k / 72 & 1 ? add(p, second, type, 0, 2, third, inner)
                                        : add(p, second, type, 0, 2, inner, third);
            add_output(p, type, outer);
            add_widened(p, type, outer);
            if (form == 6) /* another user */
                add_output(p, type, add(p, OP_ADD, type, 0, 2, inner, b));
            if (form == 7)
                add_output(p, type, add(p, first, type, 0, 2, outer, sum));
            check(p, "logic");
        }
}

/* ---- arrays by index */

/* index = (3 * counter + 5) % ENTRIES: a permutation; or any entry. Lanes that are
 * masked off have any index at all. */
static uint32_t make_index(Program *p, VarType type, uint32_t mask, bool distinct)
{
    VarType u32 = VarTypeUInt32;
    uint32_t value = distinct ? add(p, OP_COUNTER, u32, 0, 0) : add_input(p, u32);
    value = add(p, OP_FMA, u32, 0, 3, value, program_add_literal(p, u32, 3),
                program_add_literal(p, u32, 5));
    value = add(p, OP_AND, u32, 0, 2, value, program_add_literal(p, u32, ENTRIES - 1));
    value = add(p, OP_SELECT, u32, 0, 3, mask, value, add_input(p, u32));
    return type == u32 ? value : add(p, OP_BITCAST, type, 0, 1, value);
}

static void test_gather(void **state)
{
    (void) state;
    for (int t = 0; t < TYPES; ++t)
        for (uint32_t variant = 0; variant < 16; ++variant) {
            Program *p = new_program();
            VarType index_type = variant & 2 ? VarTypeInt32 : VarTypeUInt32;
            add_wide(p, variant);
            uint32_t pointer = add_pointer(p, types[t]);
            uint32_t mask = add_input(p, VarTypeBool), index;
            if (variant & 4)
                mask = program_add_literal(p, VarTypeBool, 1);
            if (variant & 8)
                index = loaded_index(p, ENTRIES, &mask);
            else
                index = make_index(p, index_type, mask, false);
            uint32_t value = add(p, OP_GATHER, types[t], 0, 3, pointer, index, mask);
            add_output(p, types[t], value);
            add_widened(p, types[t], value);
            uint32_t some = program_add_literal(p, index_type, 77);
            value = add(p, OP_GATHER, types[t], 0, 3, pointer, some, mask);
            add_output(p, types[t], value);
            check(p, "gather");
        }
}

static void check_scatter(VarType type, ReduceOp op, ReduceMode mode, uint32_t variant)
{
    Program *p = new_program();
    VarType index_type = variant & 2 ? VarTypeInt32 : VarTypeUInt32;
    bool sum = type_info[type].is_float && op != ReduceOpIdentity; /* order matters */
    bool distinct = mode == ReduceModeNoConflicts || mode == ReduceModePermute || sum;
    add_wide(p, variant);
    uint32_t pointer = add_pointer(p, type);
    p->params[p->insts[pointer].aux].written = 1;
    uint32_t mask = add_input(p, VarTypeBool);
    if (variant & 4)
        mask = program_add_literal(p, VarTypeBool, 1);
    uint32_t index = make_index(p, index_type, mask, distinct);
    uint32_t value = add_input(p, type);
    add(p, OP_SCATTER, VarTypeVoid, (uint32_t) op | (uint32_t) mode << 8, 4, pointer,
        value, index, mask);
    char what[80];
    snprintf(what, sizeof what, "scatter %s, op %u, mode %u, variant %u",
             type_info[type].short_name, op, mode, variant);
    check(p, what);
}

static void test_scatter(void **state)
{
    (void) state;
    for (int t = 0; t < TYPES; ++t)
        for (int op = 0; op < ReduceOpCount; ++op)
            for (int mode = 0; mode < ReduceModeCount; ++mode) {
                bool bits = op == ReduceOpAnd || op == ReduceOpOr;
                if ((types[t] == VarTypeBool && op != ReduceOpIdentity) ||
                    (type_info[types[t]].is_float && bits))
                    continue;
                for (uint32_t variant = 0; variant < 8; ++variant)
                    check_scatter(types[t], (ReduceOp) op, (ReduceMode) mode, variant);
            }
}

/* Entries beyond 2^31 of an array that is mostly not there. */
static void test_far(void **state)
{
    (void) state;
    const uint32_t far = 0x80000000, count = 64;
    for (int t = 0; t < TYPES; ++t)
        for (uint32_t variant = 0; variant < 2; ++variant) {
            VarType type = types[t], u32 = VarTypeUInt32;
            size_t size = type_info[type].size, bytes = ((size_t) far + 4096) * size;
            char *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (data == MAP_FAILED) {
                print_message("the system has no address space for indices this far\n");
                skip();
            }
            Program *p = new_program();
            add_wide(p, variant);
            uint32_t pointer = add_pointer(p, type);
            uint32_t slot = p->insts[pointer].aux;
            p->params[slot].written = 1;
            uint32_t counter = add(p, OP_COUNTER, u32, 0, 0);
            uint32_t index = add(p, OP_ADD, u32, 0, 2, counter,
                                 program_add_literal(p, u32, far));
            uint32_t mask = program_add_literal(p, VarTypeBool, 1);
            add_output(p, type, add(p, OP_GATHER, type, 0, 3, pointer, index, mask));
            uint32_t value = add_input(p, type);
            index = add(p, OP_ADD, u32, 0, 2, index, program_add_literal(p, u32, 100));
            add(p, OP_SCATTER, VarTypeVoid, 0, 4, pointer, value, index, mask);

            uint64_t args[8];
            for (uint32_t i = 0; i < p->param_count; ++i)
                args[i] = i == slot
                              ? address(data)
                              : address(new_array((VarType) p->params[i].type, i));
            for (uint32_t i = 0; i < count; ++i)
                put(data + far * size, type, i, any_value(type));
            run_engine(native, p, args, 0, count);
            const void *out = (void *) (uintptr_t) args[slot + 1];
            const void *in = (void *) (uintptr_t) args[slot + 2];
            for (uint32_t i = 0; i < count; ++i) {
                assert_true(same(type, get(out, type, i),
                                 get(data + far * size, type, i)));
                assert_true(same(type, get(in, type, i),
                                 get(data + far * size, type, i + 100)));
            }
            for (uint32_t i = 0; i < p->param_count; ++i)
                if (i != slot)
                    free((void *) (uintptr_t) args[i]);
            munmap(data, bytes);
            program_free(p);
        }
}

/* Narrow entries that begin and end at any byte of a page with nothing after it. */
static void test_edges(void **state)
{
    (void) state;
    static const VarType narrow[] = { VarTypeBool, VarTypeInt8, VarTypeUInt16,
                                      VarTypeFloat16 };
    const uint32_t page = 4096, count = 37;
    char *map = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map + page, page, PROT_READ | PROT_WRITE), 0);
    for (uint32_t t = 0; t < 4; ++t)
        for (uint32_t offset = 0; offset < 8; ++offset) {
            VarType type = narrow[t];
            uint32_t size = type_info[type].size;
            char *data = offset < 4 ? map + page + offset * size
                                    : map + 2 * page - (count + offset - 4) * size;
            Program *p = new_program();
            uint32_t pointer = add_pointer(p, type);
            uint32_t counter = add(p, OP_COUNTER, VarTypeUInt32, 0, 0);
            uint32_t mask = program_add_literal(p, VarTypeBool, 1);
            add_output(p, type, add(p, OP_GATHER, type, 0, 3, pointer, counter, mask));
            for (uint32_t i = 0; i < count; ++i)
                put(data, type, i, any_value(type));
            void *out = new_array(type, 0);
            run_engine(native, p, (uint64_t[]){ address(data), address(out) }, 0,
                       count);
            for (uint32_t i = 0; i < count; ++i)
                assert_int_equal(get(out, type, i), get(data, type, i));
            free(out);
            program_free(p);
        }
    munmap(map, 3 * page);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),      cmocka_unit_test(test_casts),
        cmocka_unit_test(test_bitcasts),        cmocka_unit_test(test_long_division),
        cmocka_unit_test(test_literal_two),
        cmocka_unit_test(test_literal_divisor), cmocka_unit_test(test_gather),
        cmocka_unit_test(test_scatter),         cmocka_unit_test(test_far),
        cmocka_unit_test(test_edges),           cmocka_unit_test(test_half_products),
        cmocka_unit_test(test_logic_pairs),     cmocka_unit_test(test_negated),
    };
    native = engine_find("native");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return native_targets_run(run_all);
}
