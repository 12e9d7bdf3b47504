/*
 * native_rows.h -- what the tests of the native engine's rows share: values at which
 * something happens, running a Program on the native engine and on the interpreter and
 * comparing all that they wrote
 */
#ifndef TESTS_NATIVE_ROWS_H
#define TESTS_NATIVE_ROWS_H

#include "interp_reference.h"
#include "native_targets.h"

#include "device/cpu/launch/cpu_code.h"
#include "engine/engine.h"

enum { ARRAYS = 256, ENTRIES = 2048, PADDING = 64 };

static const VarType types[] = { VarTypeBool,    VarTypeInt8,    VarTypeUInt8,
                                 VarTypeInt16,   VarTypeUInt16,  VarTypeInt32,
                                 VarTypeUInt32,  VarTypeInt64,   VarTypeUInt64,
                                 VarTypeFloat16, VarTypeFloat32, VarTypeFloat64 };
enum { TYPES = sizeof types / sizeof *types };

static const Engine *native;

/* ---- data */

/* Bit patterns at which something happens, signalling NaNs among them. */
static inline uint64_t pattern(VarType type)
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

static inline uint64_t any_value(VarType type)
{
    uint64_t pick = random_bits() >> 40;
    return type == VarTypeBool ? pick & 1
         : pick % 3 == 0       ? pattern(type)
         : pick % 3 == 1       ? cut(type, random_bits() >> (pick % 5 * 11))
                               : random_value(type);
}

/* Readable for one vector past the end, as arrays of the library are. */
static inline void *new_array(VarType type, uint32_t which)
{
    size_t bytes = (size_t) ENTRIES * type_info[type].size;
    char *data = aligned_alloc(64, bytes + PADDING);
    assert_non_null(data);
    memset(data, 0x5a, bytes + PADDING);
    uint64_t specials[LIST] = { 0 };
    for (uint32_t i = 0; i < LIST && type != VarTypeBool; ++i)
        specials[i] = special(type, i);
    for (uint32_t i = 0; i < ENTRIES; ++i) {
        uint32_t place = which % 3 == 0 ? i % LIST : which % 3 == 1 ? i / LIST : i / 7;
        put(data, type, i,
            i < LIST * LIST && type != VarTypeBool ? specials[place % LIST]
                                                   : any_value(type));
    }
    return data;
}

/* ---- running */

static inline void run_engine(const Engine *engine, const Program *program,
                       const uint64_t *args, uint32_t begin, uint32_t end)
{
    Code *code = engine->compile(program, &(CodeSpec){ .hash = { 1, 2 } });
    if (!code)
        fail_msg("%s: %s", engine->name, error_message());
    size_t size = cpu_code_scratch(code);
    void *scratch = aligned_alloc(64, (size + 127) / 64 * 64);
    assert_non_null(scratch);
    cpu_code_run(code, args, begin, end, 3, scratch);
    free(scratch);
    code_release(code);
}

static inline void complain(const Program *program, const char *what, uint32_t slot,
                     uint32_t lane, uint64_t found, uint64_t expected)
{
    Text text = { 0 };
    program_write(program, &text);
    fail_msg("%s: parameter %u lane %u is %llx, interp has %llx\n%s", what, slot, lane,
             (unsigned long long) found, (unsigned long long) expected,
             text_get(&text));
}

static inline bool is_written(const Param *param)
{
    return param->kind == PARAM_OUTPUT || param->written;
}

/* Run both engines and compare what they wrote, guards behind the end included. */
static inline void compare(const Program *program, const uint64_t *args, uint32_t begin,
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
        bool equal = memcmp(a, b, (size_t) ENTRIES * type_info[type].size) == 0;
        for (uint32_t k = 0; k < ENTRIES && !equal; ++k)
            if (!same(type, get(a, type, k), get(b, type, k)))
                complain(program, what, i, k, get(a, type, k), get(b, type, k));
        free((void *) (uintptr_t) mine[i]);
        free((void *) (uintptr_t) theirs[i]);
    }
}

/* Compare on whole packets and with ends within one; the Program is released. */
static inline void check(Program *program, const char *what)
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

/* ---- Programs */

/* A narrow value in 32 bits too: shows what a store of 8 or 16 would cut off. */
static inline void add_widened(Program *p, VarType type, uint32_t value)
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

/* Packets of half the width, because of a 64-bit value, if bit 0 is set. */
static inline uint32_t add_wide(Program *p, uint32_t variant)
{
    if (!(variant & 1))
        return 0;
    uint32_t wide = add_input(p, VarTypeUInt64);
    add_output(p, VarTypeUInt64, wide);
    return wide;
}

/* Indices as they are in an array, those up to 'bound'; others are masked off. */
static inline uint32_t loaded_index(Program *p, uint32_t bound, uint32_t *mask)
{
    uint32_t index = add_input(p, VarTypeUInt32);
    uint32_t inside = add(p, OP_LT, VarTypeBool, 0, 2, index,
                          program_add_literal(p, VarTypeUInt32, bound));
    *mask = add(p, OP_AND, VarTypeBool, 0, 2, *mask, inside);
    return index;
}

#endif
