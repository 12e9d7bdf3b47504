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
#include "interp_reference.h"
#include "native_targets.h"

#include <sys/mman.h>

#include "engine/engine.h"

enum { ARRAYS = 256, ENTRIES = 2048, PADDING = 64, PRESSURE = 44 };

static const VarType types[] = { VarTypeBool,    VarTypeInt8,    VarTypeUInt8,
                                 VarTypeInt16,   VarTypeUInt16,  VarTypeInt32,
                                 VarTypeUInt32,  VarTypeInt64,   VarTypeUInt64,
                                 VarTypeFloat16, VarTypeFloat32, VarTypeFloat64 };
enum { TYPES = sizeof types / sizeof *types };

static const Engine *native;

/* ---- data */

/* Bit patterns at which something happens, signalling NaNs among them. */
static uint64_t pattern(VarType type)
{
    static const uint32_t singles[] = {
        0x7f800001, 0xff800001, 0x7fc00000, 0x00000001, 0x807fffff, 0x7f7fffff,
        0x4effffff, 0x4f000000, 0x4f7fffff, 0x4f800000, 0xcf000000, 0xcf000001,
        0x5effffff, 0x5f000000, 0x5f7fffff, 0x5f800000, 0xdf000000, 0xdf000001,
        0x42fe0000, 0x42ffffff, 0x43000000, 0xc3000000, 0xc3010000, 0x437f8000,
        0x43800000, 0x477fe000, 0x477ff000, 0x477fefff, 0x33000000, 0x33000001,
        0x387fe000, 0x387fdfff, 0xbf7fffff, 0x3f7fffff, 0xbf000000, 0x4b000001
    };
    static const double doubles[] = {
        2147483647.0, 2147483647.5, 2147483648.0, -2147483648.0, -2147483648.5,
        -2147483649.0, 4294967295.0, 4294967295.9, 4294967296.0, 0x1p63,
        0x1p63 - 1024, -0x1p63, -0x1p63 - 2048, 0x1p64, 0x1p64 - 2048, 127.9, 128,
        -128.9, -129, 255.9, 256, 65504, 65520, 65519.999999999993, 0x1p-25,
        0x1.0000000000001p-25, 0x1.ffffffffffffp-15, 1.00048828125,
        0x1.0020000000001p0, 0x1.001ffffffffffp0, 5e-324, 1e-310, -1e-300, 3.4e38,
        3.5e38, -0.9999999, 0x1.fffffefffffffp127
    };
    uint64_t pick = random_bits() >> 20;
    double value = doubles[pick % (sizeof doubles / sizeof *doubles)];
    switch (type) {
    case VarTypeFloat16:
        return pick % 4 ? pick >> 8 & 0xffff : (pick >> 8 & 0x83ff) | 0x7c00;
    case VarTypeFloat32:
        return singles[pick % (sizeof singles / sizeof *singles)];
    case VarTypeFloat64:
        return pick % 41 == 0 ? UINT64_C(0x7ff0000000000001) : bits_of_double(value);
    default: {
        uint32_t width = width_of(type);
        uint64_t top = UINT64_C(1) << (width - 1);
        const uint64_t values[] = { 0,   1,       2,         3,     UINT64_MAX,
                                    top, top - 1, top + 1,   width, width - 1,
                                    31,  32,      width + 1, 7,     (uint64_t) -3 };
        return cut(type, values[pick % 15]);
    }
    }
}

static uint64_t any_value(VarType type)
{
    uint64_t pick = random_bits() >> 40;
    return type == VarTypeBool ? pick & 1
         : pick % 3 == 0       ? pattern(type)
         : pick % 3 == 1       ? cut(type, random_bits() >> (pick % 5 * 11))
                               : random_value(type);
}

/* Readable for one vector behind the end, as arrays of the library are. */
static void *new_array(VarType type, uint32_t which)
{
    size_t bytes = (size_t) ENTRIES * type_info[type].size;
    char *data = aligned_alloc(64, bytes + PADDING);
    assert_non_null(data);
    memset(data, 0x5a, bytes + PADDING);
    for (uint32_t i = 0; i < ENTRIES; ++i) {
        uint32_t place = which % 3 == 0 ? i % LIST : which % 3 == 1 ? i / LIST : i / 7;
        put(data, type, i,
            i < LIST * LIST && type != VarTypeBool ? special(type, place % LIST)
                                                   : any_value(type));
    }
    return data;
}

/* ---- running */

static void run_engine(const Engine *engine, const Program *program,
                       const uint64_t *args, uint32_t begin, uint32_t end)
{
    EngineCode *code = engine->compile(program, (Hash128){ 1, 2 });
    if (!code)
        fail_msg("%s: %s", engine->name, error_message());
    size_t size = engine->scratch ? engine->scratch(code) : 0;
    void *scratch = aligned_alloc(64, (size + 127) / 64 * 64);
    assert_non_null(scratch);
    engine->launch(code, args, begin, end, 3, scratch);
    free(scratch);
    engine->free(code);
}

static void complain(const Program *program, const char *what, uint32_t slot,
                     uint32_t lane, uint64_t found, uint64_t expected)
{
    Text text = { 0 };
    program_write(program, &text);
    fail_msg("%s: slot %u lane %u is %llx, interp has %llx\n%s", what, slot, lane,
             (unsigned long long) found, (unsigned long long) expected,
             text_get(&text));
}

static bool is_written(const Param *param)
{
    return param->kind == PARAM_OUTPUT || param->written;
}

/* Run both engines and compare what they wrote, guards behind the end included. */
static void compare(const Program *program, const uint64_t *args, uint32_t begin,
                    uint32_t end, const char *what)
{
    uint64_t mine[ARRAYS], theirs[ARRAYS];
    for (uint32_t i = 0; i < program->param_count; ++i) {
        const Param *param = &program->params[i];
        mine[i] = theirs[i] = args[i];
        if (!is_written(param))
            continue;
        size_t size = (size_t) ENTRIES * type_info[param->type].size + PADDING;
        for (uint32_t k = 0; k < 2; ++k) {
            void *copy = aligned_alloc(64, size);
            assert_non_null(copy);
            memcpy(copy, (void *) (uintptr_t) args[i], size);
            *(k ? &mine[i] : &theirs[i]) = address(copy);
        }
    }
    run_engine(native, program, mine, begin, end);
    run_engine(&interp_engine, program, theirs, begin, end);
    for (uint32_t i = 0; i < program->param_count; ++i) {
        const Param *param = &program->params[i];
        VarType type = (VarType) param->type;
        if (!is_written(param))
            continue;
        const void *a = (void *) (uintptr_t) mine[i];
        const void *b = (void *) (uintptr_t) theirs[i];
        for (uint32_t k = 0; k < ENTRIES; ++k)
            if (!same(type, get(a, type, k), get(b, type, k)))
                complain(program, what, i, k, get(a, type, k), get(b, type, k));
        free((void *) (uintptr_t) mine[i]);
        free((void *) (uintptr_t) theirs[i]);
    }
}

/* Compare on whole packets and with ends within one; the Program is released. */
static void check(Program *program, const char *what)
{
    uint64_t args[ARRAYS];
    assert_true(program->param_count <= ARRAYS);
    if (!program_verify(program))
        fail_msg("%s: %s", what, error_message());
    for (uint32_t i = 0; i < program->param_count; ++i) {
        const Param *param = &program->params[i];
        args[i] = param->kind == PARAM_VALUE
            ? any_value((VarType) param->type)
            : address(new_array((VarType) param->type, i));
    }
    compare(program, args, 0, ENTRIES, what);
    compare(program, args, 64, 64 + 1 + (uint32_t) (random_bits() % 40), what);
    for (uint32_t i = 0; i < program->param_count; ++i)
        if (program->params[i].kind != PARAM_VALUE)
            free((void *) (uintptr_t) args[i]);
    program_free(program);
}

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

/* A narrow value in 32 bits too: shows what a store of 8 or 16 would cut off. */
static void add_widened(Program *p, VarType type, uint32_t value)
{
    if (type == VarTypeFloat16) {
        /* The bits, of numbers only: those of NaN are free. */
        type = VarTypeUInt16;
        value = add(p, OP_BITCAST, type, 0, 1, value);
        uint32_t size = add(p, OP_AND, type, 0, 2, value,
                            program_add_literal(p, type, 0x7fff));
        uint32_t number = add(p, OP_LE, VarTypeBool, 0, 2, size,
                              program_add_literal(p, type, 0x7c00));
        value = add(p, OP_SELECT, type, 0, 3, number, value,
                    program_add_literal(p, type, 0));
    }
    if (type_info[type].is_integer && type_info[type].size < 4) {
        VarType wide = type_info[type].is_signed ? VarTypeInt32 : VarTypeUInt32;
        add_output(p, wide, add(p, OP_CAST, wide, 0, 1, value));
    }
}

static void emit(const Case *c, const uint32_t *args)
{
    uint32_t arity = op_info[c->op].arity;
    uint32_t value = program_add(c->p, c->op, c->result, 0, arity, args);
    assert_int_not_equal(value, PROGRAM_NONE);
    add_output(c->p, c->result, value);
    add_widened(c->p, c->result, value);
}

/* Operand k in one of the forms that is no array. */
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
    uint32_t in[3], value[3], args[3];
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

static uint32_t add_wide(Program *p, uint32_t variant)
{
    if (!(variant & 1))
        return 0;
    uint32_t wide = add_input(p, VarTypeUInt64);
    add_output(p, VarTypeUInt64, wide);
    return wide;
}

static void test_gather(void **state)
{
    (void) state;
    for (int t = 0; t < TYPES; ++t)
        for (uint32_t variant = 0; variant < 8; ++variant) {
            Program *p = new_program();
            VarType index_type = variant & 2 ? VarTypeInt32 : VarTypeUInt32;
            add_wide(p, variant);
            uint32_t pointer = add_pointer(p, types[t]);
            uint32_t mask = add_input(p, VarTypeBool);
            if (variant & 4)
                mask = program_add_literal(p, VarTypeBool, 1);
            uint32_t index = make_index(p, index_type, mask, false);
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

/* Narrow entries that begin and end at any byte of a page with nothing behind it. */
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
        cmocka_unit_test(test_literal_divisor), cmocka_unit_test(test_gather),
        cmocka_unit_test(test_scatter),         cmocka_unit_test(test_far),
        cmocka_unit_test(test_edges),
    };
    native = engine_find("native");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return native_targets_run(run_all);
}
