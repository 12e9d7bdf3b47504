/*
 * test_llvm.c -- the llvm engine against the interpreter, bit for bit, and its object
 * loader against damaged files
 *
 * Every Program here is legal for the engine as it is; what the engine does not support
 * is skipped (the legaliser's test covers it). NaNs compare equal whatever their
 * payload.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/interp/interp.h"
#include "engine/llvm/llvm.h"
#include "engine/llvm/llvm_object.h"

enum { LANES = 1100, PADDING = 64, TABLE = 64 };

static const VarType types[] = { VarTypeBool,    VarTypeInt8,    VarTypeUInt8,
                                 VarTypeInt16,   VarTypeUInt16,  VarTypeInt32,
                                 VarTypeUInt32,  VarTypeInt64,   VarTypeUInt64,
                                 VarTypeFloat16, VarTypeFloat32, VarTypeFloat64 };
enum { TYPE_COUNT = sizeof types / sizeof types[0] };

static uint64_t random_state = 88172645463325252u;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* ---- data */

static uint64_t special_value(VarType type)
{
    static const uint64_t halves[] = { 0,      0x8000, 0x3c00, 0xbc00, 0x7c00,
                                       0xfc00, 0x7e00, 1,      0x03ff, 0x7bff };
    static const uint32_t singles[] = { 0,          0x80000000, 0x3f800000, 0xbf800000,
                                        0x7f800000, 0xff800000, 0x7fc00000, 1,
                                        0x807fffff, 0x7f7fffff, 0x3f000000, 0xbf000000,
                                        0x40200000, 0x4f000000, 0xcf000000, 0x4f800000,
                                        0x5f000000, 0x5f800000, 0x477fe000, 0x477ff000,
                                        0x33000000, 0x387fe000 };
    static const double doubles[] = { 0,
                                      -0.0,
                                      1,
                                      -1,
                                      0.5,
                                      -0.5,
                                      1.5,
                                      2.5,
                                      1e-310,
                                      5e-324,
                                      1.7e308,
                                      2147483647.0,
                                      2147483648.0,
                                      -2147483648.0,
                                      -2147483649.0,
                                      4294967295.0,
                                      4294967296.0,
                                      9223372036854775808.0,
                                      -9223372036854775808.0,
                                      18446744073709551616.0,
                                      127.9,
                                      128,
                                      -128.9,
                                      255.9,
                                      256,
                                      65504,
                                      65520,
                                      1e-8 };
    uint64_t pick = random_bits() >> 20, bits = 0;
    switch (type) {
    case VarTypeFloat16:
        return halves[pick % 10];
    case VarTypeFloat32:
        return singles[pick % 22];
    case VarTypeFloat64: {
        double value = doubles[pick % 28];
        memcpy(&bits, &value, sizeof bits);
        return pick % 29 == 0 ? UINT64_C(0x7ff8) << 48 : bits;
    }
    default: {
        unsigned width = type_info[type].size * 8u;
        uint64_t top = UINT64_C(1) << (width - 1);
        const uint64_t values[] = { 0,       1,       2,     UINT64_MAX, top,
                                    top - 1, top + 1, width, width - 1,  width + 1 };
        return values[pick % 10];
    }
    }
}

static uint64_t random_value(VarType type)
{
    if (type == VarTypeBool) {
        return random_bits() >> 33 & 1;
    }
    if (random_bits() % 3 == 0) {
        return special_value(type);
    }
    /* A small number now and then, so that conversions and divisions are not all
     * extreme. */
    if (random_bits() % 3 == 0) {
        int64_t small = (int64_t) (random_bits() >> 20) % 300 - 150;
        if (type == VarTypeFloat32) {
            float value = (float) small * 0.37f;
            uint32_t bits;
            memcpy(&bits, &value, sizeof bits);
            return bits;
        }
        if (type == VarTypeFloat64) {
            double value = (double) small * 0.37;
            uint64_t bits;
            memcpy(&bits, &value, sizeof bits);
            return bits;
        }
        return (uint64_t) small;
    }
    return random_bits();
}

static void *new_array(VarType type, uint32_t count)
{
    unsigned size = type_info[type].size;
    char *data = aligned_alloc(64, (count * size + 63u + PADDING) / 64u * 64u);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value = random_value(type);
        memcpy(data + i * size, &value, size);
    }
    return data;
}

static bool is_nan(VarType type, const void *value)
{
    uint64_t bits = 0;
    memcpy(&bits, value, type_info[type].size);
    switch (type) {
    case VarTypeFloat16:
        return (bits & 0x7fff) > 0x7c00;
    case VarTypeFloat32:
        return (bits & 0x7fffffff) > 0x7f800000;
    case VarTypeFloat64:
        return (bits << 1) > UINT64_C(0xffe) << 52;
    default:
        return false;
    }
}

/* ---- running */

static const Hash128 test_hash = { 0x0123456789abcdef, 0xfedcba9876543210 };

static void run(const Engine *engine, const Program *program, const uint64_t *args,
                uint32_t begin, uint32_t end)
{
    EngineCode *code = engine->compile(program, test_hash);
    if (!code) {
        Text text = { 0 };
        program_write(program, &text);
        fail_msg("%s: %s\n%s", engine->name, error_message(), text_get(&text));
    }
    size_t size = engine->scratch ? engine->scratch(code) : 0;
    void *scratch = aligned_alloc(64, (size + 127) / 64 * 64);
    engine->launch(code, args, begin, end, 3, scratch);
    free(scratch);
    engine->free(code);
}

/* Run a Program with both engines on lanes [begin, end) and compare all of its outputs
 * and written arrays, which have 'count' entries. */
static void compare(const Program *program, const uint64_t *args, uint32_t count,
                    uint32_t begin, uint32_t end, const char *what)
{
    uint64_t mine[32], theirs[32];
    assert_true(program->param_count <= 32);
    assert_true(program_verify(program));
    for (uint32_t i = 0; i < program->param_count; i++) {
        const Param *param = &program->params[i];
        mine[i] = theirs[i] = args[i];
        if (param->kind == PARAM_OUTPUT || param->written) {
            size_t size = (size_t) count * type_info[param->type].size;
            void *a = malloc(size), *b = malloc(size);
            memcpy(a, (void *) (uintptr_t) args[i], size);
            memcpy(b, (void *) (uintptr_t) args[i], size);
            mine[i] = (uintptr_t) a;
            theirs[i] = (uintptr_t) b;
        }
    }
    run(&llvm_engine, program, mine, begin, end);
    run(&interp_engine, program, theirs, begin, end);
    for (uint32_t i = 0; i < program->param_count; i++) {
        const Param *param = &program->params[i];
        if (mine[i] == theirs[i]) {
            continue;
        }
        unsigned size = type_info[param->type].size;
        const char *a = (const char *) (uintptr_t) mine[i];
        const char *b = (const char *) (uintptr_t) theirs[i];
        for (uint32_t k = 0; k < count; k++) {
            if (memcmp(a + k * size, b + k * size, size) != 0 &&
                !(is_nan(param->type, a + k * size) &&
                  is_nan(param->type, b + k * size))) {
                uint64_t x = 0, y = 0;
                memcpy(&x, a + k * size, size);
                memcpy(&y, b + k * size, size);
                Text text = { 0 };
                program_write(program, &text);
                fail_msg("%s: lane %u is %llx, interp has %llx\n%s", what, k,
                         (unsigned long long) x, (unsigned long long) y,
                         text_get(&text));
            }
        }
        free((void *) (uintptr_t) mine[i]);
        free((void *) (uintptr_t) theirs[i]);
    }
}

static Program *new_program(void)
{
    Program *program = alloc_zero(1, sizeof *program);
    assert_non_null(program);
    return program;
}

static uint32_t add_input(Program *program, VarType type)
{
    uint32_t slot = program_add_param(program, PARAM_INPUT, type);
    return program_add(program, OP_LOAD, type, slot, 0, NULL);
}

static void add_output(Program *program, uint32_t value)
{
    uint32_t slot =
        program_add_param(program, PARAM_OUTPUT, program->insts[value].type);
    program_add(program, OP_STORE, VarTypeVoid, slot, 1, &value);
}

/* Arrays for all parameters. */
static void fill_args(const Program *program, uint64_t *args, uint32_t count)
{
    for (uint32_t i = 0; i < program->param_count; i++) {
        args[i] = program->params[i].kind == PARAM_VALUE
                      ? random_value(program->params[i].type)
                      : (uintptr_t) new_array(program->params[i].type, count);
    }
}

static void free_args(const Program *program, const uint64_t *args)
{
    for (uint32_t i = 0; i < program->param_count; i++) {
        if (program->params[i].kind != PARAM_VALUE) {
            free((void *) (uintptr_t) args[i]);
        }
    }
}

static void check(Program *program, const char *what)
{
    static const uint32_t ends[] = { LANES, 64 + 37, 1, 15, 16, 17, 70 };
    uint64_t args[32];
    fill_args(program, args, LANES);
    compare(program, args, LANES, 0, LANES, what);
    compare(program, args, LANES, 64, ends[random_bits() % 2], what);
    compare(program, args, LANES, 0, ends[random_bits() % 7], what);
    free_args(program, args);
    program_free(program);
}

/* ---- arithmetic */

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

/* Operands: arrays, or literals and uniform entries for some of them. */
static uint32_t add_operand(Program *program, VarType type, int form)
{
    uint32_t slot;
    switch (form) {
    case 1: {
        uint64_t bits = random_value(type);
        unsigned width = type_info[type].size * 8u;
        if (type == VarTypeBool) {
            bits &= 1;
        } else if (width < 64) {
            bits &= (UINT64_C(1) << width) - 1;
        }
        return program_add_literal(program, type, bits);
    }
    case 2:
        slot = program_add_param(program, PARAM_INPUT, type);
        slot = program_add(program, OP_LOAD, type, slot, 0, NULL);
        program->insts[slot].flags |= INST_UNIFORM;
        return slot;
    default:
        return add_input(program, type);
    }
}

static void test_op(Op op, VarType type)
{
    unsigned arity = op_info[op].arity;
    for (int variant = 0; variant < 6; variant++) {
        Program *program = new_program();
        uint32_t args[3];
        for (unsigned k = 0; k < arity; k++) {
            VarType operand = op == OP_SELECT && k == 0 ? VarTypeBool : type;
            int form = variant < 2    ? 0
                       : variant == 5 ? 2
                                      : (int) (random_bits() >> 9) % 3;
            args[k] = add_operand(program, operand, form);
        }
        uint32_t result =
            program_add(program, op, result_type(op, type), 0, arity, args);
        add_output(program, result);
        char what[80];
        snprintf(what, sizeof what, "%s.%s", op_info[op].name,
                 type_info[type].short_name);
        check(program, what);
    }
}

static void test_arithmetic(void **state)
{
    (void) state;
    for (int op = OP_NEG; op <= OP_SELECT; op++) {
        for (int t = 0; t < TYPE_COUNT; t++) {
            VarType type = types[t];
            if (op_info[op].operands >> type & 1 &&
                llvm_engine.supports(op, result_type(op, type), type)) {
                test_op(op, type);
            }
        }
    }
}

static void test_conversions(void **state)
{
    (void) state;
    for (int from = 0; from < TYPE_COUNT; from++) {
        for (int to = 0; to < TYPE_COUNT; to++) {
            for (int k = 0; k < 2; k++) {
                Op op = k ? OP_BITCAST : OP_CAST;
                bool fits = op == OP_CAST ||
                            (type_info[types[from]].size == type_info[types[to]].size &&
                             types[from] != VarTypeBool && types[to] != VarTypeBool);
                if (from == to || !fits ||
                    !llvm_engine.supports(op, types[to], types[from])) {
                    continue;
                }
                for (int form = 0; form < 3; form += 2) {
                    Program *program = new_program();
                    uint32_t arg = add_operand(program, types[from], form);
                    add_output(program,
                               program_add(program, op, types[to], 0, 1, &arg));
                    char what[80];
                    snprintf(what, sizeof what, "%s %s from %s", op_info[op].name,
                             type_info[types[to]].short_name,
                             type_info[types[from]].short_name);
                    check(program, what);
                }
            }
        }
    }
}

static void test_leaves(void **state)
{
    (void) state;
    Program *program = new_program();
    uint32_t slot = program_add_param(program, PARAM_VALUE, VarTypeUInt32);
    uint32_t param = program_add(program, OP_PARAM, VarTypeUInt32, slot, 0, NULL);
    uint32_t counter = program_add(program, OP_COUNTER, VarTypeUInt32, 0, 0, NULL);
    uint32_t worker = program_add(program, OP_WORKER, VarTypeUInt32, 0, 0, NULL);
    uint32_t sum = program_add(program, OP_ADD, VarTypeUInt32, 0, 2,
                               (uint32_t[]){ param, counter });
    add_output(program, program_add(program, OP_MUL, VarTypeUInt32, 0, 2,
                                    (uint32_t[]){ sum, worker }));
    add_output(program, param);
    for (int t = 0; t < TYPE_COUNT; t++) {
        add_output(program, add_operand(program, types[t], 1));
    }
    check(program, "leaves");
}

/* Long bodies cross basic blocks; many outputs share stack slots. */
static void test_long_bodies(void **state)
{
    (void) state;
    for (int round = 0; round < 6; round++) {
        Program *program = new_program();
        uint32_t pool[8];
        VarType type = round % 2 ? VarTypeFloat64 : VarTypeFloat32;
        for (int i = 0; i < 4; i++) {
            pool[i] = add_input(program, type);
            pool[i + 4] = add_operand(program, type, 2);
        }
        for (int i = 0; i < 700; i++) {
            uint32_t a = pool[random_bits() % 8], b = pool[random_bits() % 8], value;
            switch (random_bits() >> 20 & 3) {
            case 0:
                value = program_add(program, OP_ADD, type, 0, 2, (uint32_t[]){ a, b });
                break;
            case 1:
                value = program_add(program, OP_MUL, type, 0, 2, (uint32_t[]){ a, b });
                break;
            case 2: {
                uint32_t c = add_operand(program, type, 1);
                value =
                    program_add(program, OP_FMA, type, 0, 3, (uint32_t[]){ a, c, b });
                break;
            }
            default: {
                uint32_t m = program_add(program, OP_LT, VarTypeBool, 0, 2,
                                         (uint32_t[]){ a, b });
                value = program_add(program, OP_SELECT, type, 0, 3,
                                    (uint32_t[]){ m, b, a });
            }
            }
            pool[random_bits() % 8] = value;
        }
        for (int i = 0; i < 8; i++) {
            add_output(program, pool[i]);
        }
        check(program, "long body");
    }
}

/* ---- memory */

/* An index below TABLE: every lane another one if 'distinct' (for up to TABLE lanes).
 */
static uint32_t add_index(Program *program, bool distinct)
{
    uint32_t base = distinct
                        ? program_add(program, OP_COUNTER, VarTypeUInt32, 0, 0, NULL)
                        : add_input(program, VarTypeUInt32);
    uint32_t mask = program_add_literal(program, VarTypeUInt32, TABLE - 1);
    return program_add(program, OP_AND, VarTypeUInt32, 0, 2,
                       (uint32_t[]){ base, mask });
}

static uint32_t add_pointer(Program *program, VarType type, bool written)
{
    uint32_t slot = program_add_param(program, PARAM_POINTER, type);
    program->params[slot].written = written;
    return program_add(program, OP_PARAM, VarTypePointer, slot, 0, NULL);
}

static void test_gather(void **state)
{
    (void) state;
    for (int t = 0; t < TYPE_COUNT; t++) {
        for (int form = 0; form < 3; form++) {
            Program *program = new_program();
            uint32_t pointer = add_pointer(program, types[t], false);
            uint32_t index = form == 2 ? program_add_literal(program, VarTypeUInt32, 7)
                                       : add_index(program, false);
            uint32_t mask = form == 0
                                ? program_add_literal(program, VarTypeBool, 1)
                                : add_operand(program, VarTypeBool, form == 2 ? 2 : 0);
            add_output(program, program_add(program, OP_GATHER, types[t], 0, 3,
                                            (uint32_t[]){ pointer, index, mask }));
            check(program, type_info[types[t]].name);
        }
    }
}

/* Small integers as values make floating-point sums independent of their order. */
static void exact_values(VarType type, void *data, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        int value = (int) (random_bits() % 3) - 1;
        switch (type) {
        case VarTypeFloat16: {
            static const uint16_t halves[] = { 0xbc00, 0, 0x3c00 };
            ((uint16_t *) data)[i] = halves[value + 1];
            break;
        }
        case VarTypeFloat32:
            ((float *) data)[i] = (float) value;
            break;
        case VarTypeFloat64:
            ((double *) data)[i] = value;
            break;
        default:
            break;
        }
    }
}

static void test_scatter_of(VarType type, ReduceOp op, ReduceMode mode)
{
    bool distinct = op == ReduceOpIdentity || mode == ReduceModeNoConflicts ||
                    mode == ReduceModePermute;
    for (int form = 0; form < 2; form++) {
        Program *program = new_program();
        uint32_t pointer = add_pointer(program, type, true);
        uint32_t value = add_input(program, type);
        uint32_t index = form == 1 && !distinct
                             ? program_add_literal(program, VarTypeUInt32, 5)
                             : add_index(program, distinct);
        uint32_t mask = form ? add_input(program, VarTypeBool)
                             : program_add_literal(program, VarTypeBool, 1);
        program_add(program, OP_SCATTER, VarTypeVoid, op | mode << 8, 4,
                    (uint32_t[]){ pointer, value, index, mask });
        uint64_t args[32];
        fill_args(program, args, LANES);
        if (type_info[type].is_float && op <= ReduceOpMul) {
            exact_values(type, (void *) (uintptr_t) args[0], LANES);
            exact_values(type, (void *) (uintptr_t) args[1], LANES);
        }
        char what[80];
        snprintf(what, sizeof what, "scatter %d mode %d %s", op, mode,
                 type_info[type].name);
        compare(program, args, LANES, 0, distinct ? 50 : LANES, what);
        compare(program, args, LANES, 0, 3, what);
        free_args(program, args);
        program_free(program);
    }
}

static void test_scatter(void **state)
{
    (void) state;
    for (int t = 0; t < TYPE_COUNT; t++) {
        VarType type = types[t];
        for (int mode = ReduceModeDirect; mode < ReduceModeCount; mode++) {
            test_scatter_of(type, ReduceOpIdentity, mode);
            for (int op = ReduceOpAdd; op < ReduceOpCount; op++) {
                bool bits = op == ReduceOpAnd || op == ReduceOpOr;
                if (bits ? !type_info[type].is_float : type != VarTypeBool) {
                    test_scatter_of(type, op, mode);
                }
            }
        }
    }
}

static void test_scatter_fetch(void **state)
{
    (void) state;
    for (int form = 0; form < 2; form++) {
        Program *program = new_program();
        uint32_t pointer = add_pointer(program, VarTypeUInt32, true);
        uint32_t index = add_index(program, false);
        uint32_t mask = form ? add_input(program, VarTypeBool)
                             : program_add_literal(program, VarTypeBool, 1);
        uint32_t old = program_add(program, OP_SCATTER_INC, VarTypeUInt32, 0, 3,
                                   (uint32_t[]){ pointer, index, mask });
        if (form) { /* the value of a masked lane is not defined */
            uint32_t zero = program_add_literal(program, VarTypeUInt32, 0);
            old = program_add(program, OP_SELECT, VarTypeUInt32, 0, 3,
                              (uint32_t[]){ mask, old, zero });
        }
        add_output(program, old);
        check(program, "scatter_inc");
    }
    for (int t = 0; t < TYPE_COUNT; t++) {
        Program *program = new_program();
        uint32_t pointer = add_pointer(program, types[t], true);
        uint32_t value = add_input(program, types[t]),
                 index = add_index(program, false);
        uint32_t mask = add_input(program, VarTypeBool);
        add_output(program, program_add(program, OP_SCATTER_EXCH, types[t], 0, 4,
                                        (uint32_t[]){ pointer, value, index, mask }));
        check(program, "scatter_exch");
        if (type_info[types[t]].is_float) {
            program = new_program();
            pointer = add_pointer(program, types[t], true);
            value = add_input(program, types[t]);
            index = add_index(program, false);
            mask = add_input(program, VarTypeBool);
            add_output(program,
                       program_add(program, OP_SCATTER_ADD, types[t], 0, 4,
                                   (uint32_t[]){ pointer, value, index, mask }));
            check(program, "scatter_add");
        }
        program = new_program();
        pointer = add_pointer(program, types[t], true);
        uint32_t expected = add_input(program, types[t]);
        value = add_input(program, types[t]);
        index = add_index(program, false);
        mask = add_input(program, VarTypeBool);
        add_output(program,
                   program_add(program, OP_SCATTER_CAS, types[t], 0, 5,
                               (uint32_t[]){ pointer, expected, value, index, mask }));
        check(program, "scatter_cas");
    }
}

static void test_check(void **state)
{
    (void) state;
    static const uint64_t bounds[] = {
        0, 1, 1000, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 40
    };
    for (int i = 0; i < 6; i++) {
        Program *program = new_program();
        uint32_t mask = add_input(program, VarTypeBool);
        uint32_t index = add_input(program, VarTypeUInt32);
        uint32_t ok = program_add(program, OP_CHECK, VarTypeBool, 0, 2,
                                  (uint32_t[]){ mask, index });
        add_output(program, ok);
        program->check_count = 1;
        program_add_param(program, PARAM_REPORT, VarTypeUInt64);
        uint8_t *masks = new_array(VarTypeBool, LANES), out[LANES];
        uint32_t *indices = new_array(VarTypeUInt32, LANES);
        CheckReport report = { 0, 0, bounds[i] };
        uint64_t args[4] = { (uintptr_t) masks, (uintptr_t) indices, (uintptr_t) out,
                             (uintptr_t) &report };
        run(&llvm_engine, program, args, 0, LANES - 3);
        uint32_t failed = 0;
        for (uint32_t k = 0; k < LANES - 3; k++) {
            bool fits = indices[k] < bounds[i];
            assert_int_equal(out[k], masks[k] && fits);
            failed += masks[k] && !fits;
        }
        assert_int_equal(report.count, failed);
        if (failed) {
            assert_true(report.index >= bounds[i]);
        }
        free(masks);
        free(indices);
        program_free(program);
    }
}

/* ---- statements */

static Program *statement(const char *text, VarType type)
{
    Program *program = new_program();
    uint32_t a = add_input(program, type);
    uint32_t b = program_add_literal(program, type, 0x3f800000);
    uint32_t stmt = program_add_stmt(program, text);
    add_output(program,
               program_add(program, OP_STMT, type, stmt, 2, (uint32_t[]){ a, b }));
    return program;
}

static void test_statements(void **state)
{
    (void) state;
    Program *program = statement("$r0.x = fmul <$w x $t1> $r1, $r1$n"
                                 "$r0 = fadd $T0 $r0.x, $r2",
                                 VarTypeFloat32);
    float in[40], out[40];
    for (int i = 0; i < 40; i++) {
        in[i] = (float) i;
    }
    float *input = aligned_alloc(64, 256);
    memcpy(input, in, sizeof in);
    uint64_t args[2] = { (uintptr_t) input, (uintptr_t) out };
    run(&llvm_engine, program, args, 0, 37);
    for (int i = 0; i < 37; i++) {
        assert_true(out[i] == (float) (i * i + 1));
    }
    free(input);
    program_free(program);

    static const char *const wrong[] = { "$r0 = nonsense", "$r0 = fadd $T0 $r7, $r1",
                                         "$r0 = fadd $T0 %unknown, $r1", "$" };
    for (int i = 0; i < 4; i++) {
        program = statement(wrong[i], VarTypeFloat32);
        assert_null(llvm_engine.compile(program, test_hash));
        assert_int_equal(error_code(), JIT_ERROR_COMPILE);
        program_free(program);
    }
}

/* ---- target, saved code, loader */

static void test_targets(void **state)
{
    (void) state;
    assert_false(llvm_set_target("bad name", NULL, 0));
    assert_false(llvm_set_target(NULL, "avx2", 0));
    assert_false(llvm_set_target(NULL, NULL, 12));
    assert_false(llvm_set_target(NULL, NULL, 128));
    uint64_t before = llvm_engine.fingerprint();
    for (uint32_t width = 1; width <= 64; width *= 2) {
        assert_true(llvm_set_target(NULL, NULL, width));
        assert_int_equal(llvm_vector_width(), width);
        test_op(OP_MIN, VarTypeFloat64);
        test_op(OP_SHR, VarTypeInt8);
        test_op(OP_DIV, VarTypeInt32);
        test_scatter_of(VarTypeFloat32, ReduceOpAdd, ReduceModeLocal);
        test_scatter_of(VarTypeUInt32, ReduceOpIdentity, ReduceModePermute);
        test_gather(NULL);
    }
#if defined(__x86_64__)
    assert_true(llvm_set_target("haswell", NULL, 8));
    assert_string_equal(llvm_target_cpu(), "haswell");
    assert_true(llvm_engine.fingerprint() != before);
    test_arithmetic(NULL);
    test_conversions(NULL);
    test_gather(NULL);
    test_scatter(NULL);
#endif
    assert_true(llvm_set_target(NULL, NULL, 0));
    assert_true(llvm_engine.fingerprint() == before);
}

static Program *object_program(void)
{
    Program *program = new_program();
    uint32_t pointer = add_pointer(program, VarTypeFloat32, true);
    uint32_t value = add_input(program, VarTypeFloat32);
    uint32_t c = program_add_literal(program, VarTypeFloat32, 0x40490fdb);
    value =
        program_add(program, OP_MUL, VarTypeFloat32, 0, 2, (uint32_t[]){ value, c });
    uint32_t mask = program_add_literal(program, VarTypeBool, 1);
    program_add(program, OP_SCATTER, VarTypeVoid, ReduceOpMax | ReduceModeLocal << 8, 4,
                (uint32_t[]){ pointer, value, add_index(program, false), mask });
    add_output(program, value);
    return program;
}

static void test_save_and_load(void **state)
{
    (void) state;
    Program *program = object_program();
    EngineCode *code = llvm_engine.compile(program, test_hash);
    assert_non_null(code);
    const void *data;
    size_t size;
    assert_true(llvm_engine.save(code, &data, &size));
    EngineCode *again = llvm_engine.load(data, size);
    assert_non_null(again);
    uint64_t args[32];
    fill_args(program, args, LANES);
    float *out = (float *) (uintptr_t) args[3], *in = (float *) (uintptr_t) args[1];
    llvm_engine.free(code);
    llvm_engine.launch(again, args, 0, LANES, 0, NULL);
    for (int i = 0; i < LANES; i++) {
        float expected = in[i] * 3.14159274f;
        assert_true(memcmp(&out[i], &expected, 4) == 0 ||
                    is_nan(VarTypeFloat32, &expected));
    }
    assert_true(llvm_engine.code_size(again) > 0);
    llvm_engine.free(again);
    free_args(program, args);
    program_free(program);
}

/* Damaged objects are refused or load; they never bring the loader down. */
static void test_hostile_objects(void **state)
{
    (void) state;
    Program *program = object_program();
    EngineCode *code = llvm_engine.compile(program, test_hash);
    assert_non_null(code);
    const void *data;
    size_t size;
    LlvmObject object;
    assert_true(llvm_engine.save(code, &data, &size));
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *copy = malloc(cut ? cut : 1); /* exact size: reading on is noticed */
        memcpy(copy, data, cut);
        assert_false(llvm_object_map(copy, cut, "drjit_", &object));
        assert_null(object.memory);
        free(copy);
    }
    uint8_t *copy = malloc(size);
    for (int round = 0; round < 200000; round++) {
        memcpy(copy, data, size);
        int flips = 1 + (int) (random_bits() % 4);
        for (int i = 0; i < flips; i++) {
            /* Mostly in the header and the section table at the end. */
            size_t at = random_bits() >> 10;
            size_t span = 1200 < size ? 1200 : size;
            at = round % 3 == 0   ? at % size
                 : round % 3 == 1 ? at % 64
                                  : size - 1 - at % span;
            copy[at] ^= (uint8_t) (1 << (random_bits() >> 13 & 7));
        }
        if (llvm_object_map(copy, size, "drjit_", &object)) {
            llvm_object_unmap(&object);
        }
    }
    assert_false(llvm_object_map(data, size, "other_", &object));
    free(copy);
    llvm_engine.free(code);
    program_free(program);
}

static void test_memory_failures(void **state)
{
    (void) state;
    Program *program = object_program();
    for (uint64_t n = 1;; n++) {
        alloc_fail_at(n);
        EngineCode *code = llvm_engine.compile(program, test_hash);
        bool reached = alloc_steps() >= n;
        alloc_fail_at(0);
        if (code) {
            llvm_engine.free(code);
        }
        assert_true(code || reached);
        if (!reached) {
            break;
        }
    }
    program_free(program);
}

/* What a process without a usable library says. */
static void without_library(const char *path, const char *expected)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("DRJIT_LIBLLVM_PATH", path, 1);
        int major, minor, patch;
        bool good = !llvm_engine.available() && error_code() == JIT_ERROR_UNSUPPORTED &&
                    strstr(error_message(), expected) &&
                    strstr(error_message(), path) &&
                    !llvm_version(&major, &minor, &patch) && llvm_vector_width() > 0;
        if (!good) {
            fprintf(stderr, "message: %s\n", error_message());
        }
        _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void test_missing_library(void **state)
{
    (void) state;
    without_library("/nonexistent/libLLVM.so", "no such file");
    without_library("/etc/hostname", "/etc/hostname");
    without_library("libm.so.6", "LLVM");
}

int main(void)
{
    const struct CMUnitTest before[] = { cmocka_unit_test(test_missing_library) };
    /* In children, before this process has a library of its own. */
    int failed = cmocka_run_group_tests_name("llvm: no library", before, NULL, NULL);
    if (!llvm_engine.available()) {
        printf("test_llvm skipped: %s\n", error_message());
        return failed;
    }
    int major, minor, patch;
    llvm_version(&major, &minor, &patch);
    printf("LLVM %d.%d.%d, %s, %u lanes\n", major, minor, patch, llvm_target_cpu(),
           llvm_vector_width());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),      cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_leaves),          cmocka_unit_test(test_long_bodies),
        cmocka_unit_test(test_gather),          cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_scatter_fetch),   cmocka_unit_test(test_check),
        cmocka_unit_test(test_statements),      cmocka_unit_test(test_save_and_load),
        cmocka_unit_test(test_hostile_objects), cmocka_unit_test(test_memory_failures),
        cmocka_unit_test(test_targets)
    };
    return failed + cmocka_run_group_tests_name("llvm", tests, NULL, NULL);
}
