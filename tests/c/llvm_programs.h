/*
 * llvm_programs.h -- Programs for the llvm engine, compared with the interpreter
 *
 * Every Program is legal for the engine as it is. NaNs compare equal whatever their
 * payload.
 */
#ifndef TESTS_LLVM_PROGRAMS_H
#define TESTS_LLVM_PROGRAMS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/launch/cpu_code.h"
#include "engine/interp/interp.h"
#include "engine/llvm/llvm_engine.h"

enum { LANES = 1100, PADDING = 64, TABLE = 64 };

static const VarType types[] = { VarTypeBool,    VarTypeInt8,    VarTypeUInt8,
                                 VarTypeInt16,   VarTypeUInt16,  VarTypeInt32,
                                 VarTypeUInt32,  VarTypeInt64,   VarTypeUInt64,
                                 VarTypeFloat16, VarTypeFloat32, VarTypeFloat64 };
enum { TYPE_COUNT = sizeof types / sizeof types[0] };

static uint64_t random_state = 88172645463325252u;

static inline uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* ---- data */

static inline uint64_t special_value(VarType type)
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

static inline uint64_t random_value(VarType type)
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

static inline void *new_array(VarType type, uint32_t count)
{
    unsigned size = type_info[type].size;
    char *data = aligned_alloc(64, (count * size + 63u + PADDING) / 64u * 64u);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value = random_value(type);
        memcpy(data + i * size, &value, size);
    }
    return data;
}

static inline bool is_nan(VarType type, const void *value)
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

static inline void run(const Engine *engine, const Program *program,
                       const uint64_t *args, uint32_t begin, uint32_t end)
{
    Code *code = engine->compile(
        program, &(CodeSpec){ .hash = test_hash, .target = target_get(cpu_device()) });
    if (!code) {
        Text text = { 0 };
        program_write(program, &text);
        fail_msg("%s: %s\n%s", engine->name, error_message(), text_get(&text));
    }
    size_t size = cpu_code_scratch(code);
    void *scratch = aligned_alloc(64, (size + 127) / 64 * 64);
    cpu_code_run(code, args, begin, end, 3, scratch);
    free(scratch);
    code_release(code);
}

/* Run a Program with both engines on lanes [begin, end) and compare all of its outputs
 * and written arrays, which have 'count' entries. */
static inline void compare(const Program *program, const uint64_t *args,
                           uint32_t count, uint32_t begin, uint32_t end,
                           const char *what)
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

static inline Program *new_program(void)
{
    Program *program = alloc_zero(1, sizeof *program);
    assert_non_null(program);
    return program;
}

static inline uint32_t add_input(Program *program, VarType type)
{
    uint32_t slot = program_add_param(program, PARAM_INPUT, type);
    return program_add(program, OP_LOAD, type, slot, 0, NULL);
}

static inline void add_output(Program *program, uint32_t value)
{
    uint32_t slot =
        program_add_param(program, PARAM_OUTPUT, program->insts[value].type);
    program_add(program, OP_STORE, VarTypeVoid, slot, 1, &value);
}

/* Arrays for all parameters. */
static inline void fill_args(const Program *program, uint64_t *args, uint32_t count)
{
    for (uint32_t i = 0; i < program->param_count; i++) {
        args[i] = program->params[i].kind == PARAM_VALUE
                      ? random_value(program->params[i].type)
                      : (uintptr_t) new_array(program->params[i].type, count);
    }
}

static inline void free_args(const Program *program, const uint64_t *args)
{
    for (uint32_t i = 0; i < program->param_count; i++) {
        if (program->params[i].kind != PARAM_VALUE) {
            free((void *) (uintptr_t) args[i]);
        }
    }
}

static inline void check(Program *program, const char *what)
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

/* An index below TABLE: every lane another one if 'distinct' (for up to TABLE lanes).
 */
static inline uint32_t add_index(Program *program, bool distinct)
{
    uint32_t base = distinct
                        ? program_add(program, OP_COUNTER, VarTypeUInt32, 0, 0, NULL)
                        : add_input(program, VarTypeUInt32);
    uint32_t mask = program_add_literal(program, VarTypeUInt32, TABLE - 1);
    return program_add(program, OP_AND, VarTypeUInt32, 0, 2,
                       (uint32_t[]){ base, mask });
}

static inline uint32_t add_pointer(Program *program, VarType type, bool written)
{
    uint32_t slot = program_add_param(program, PARAM_POINTER, type);
    program->params[slot].written = written;
    return program_add(program, OP_PARAM, VarTypePointer, slot, 0, NULL);
}

#endif
