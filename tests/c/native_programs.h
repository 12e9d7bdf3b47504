/*
 * native_programs.h -- write Programs by hand, run them on the native engine and
 * compare with what C computes
 *
 * Each runs with lane counts around the size of a packet, from several first lanes, and
 * must not write outside of its outputs. The groups begin with native_begin() and run
 * for each target, with packets one by one and side by side (native_targets.h).
 */
#ifndef TESTS_NATIVE_PROGRAMS_H
#define TESTS_NATIVE_PROGRAMS_H

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
#include "device/cpu/launch/cpu_code.h"
#include "engine/engine.h"
#include "lower/legalise.h"
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

static inline void begin_program(void)
{
    p = alloc_zero(1, sizeof *p);
    assert_non_null(p);
}

static inline uint32_t op(Op o, VarType type, uint32_t aux, uint32_t count, ...)
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

static inline uint32_t number(VarType type, uint64_t value)
{
    return program_add_literal(p, type, value);
}

static inline uint32_t binary(Op o, VarType type, uint32_t a, uint32_t b)
{
    return op(o, type, 0, 2, a, b);
}

static inline uint32_t lane(void)
{
    return op(OP_COUNTER, U32, 0, 0);
}

static inline uint32_t region(RegionKind kind, uint32_t count, const uint32_t *args)
{
    uint32_t r = program_add_region(p, kind, count, args, 0, NULL);
    assert_int_not_equal(r, PROGRAM_NONE);
    return r;
}

static inline void end_region(Op o, uint32_t r, uint32_t count, const uint32_t *args)
{
    assert_int_not_equal(program_add(p, o, VarTypeVoid, r, count, args), PROGRAM_NONE);
}

/* ---- running them */

static inline Code *compile(Program *program)
{
    assert_true(program_verify(program));
    const Program *legal = legalise(program, native);
    if (!legal)
        fail_msg("%s", error_message());
    Code *code = native->compile(legal, &(CodeSpec){ .hash = { 1, 2 } });
    if (!code)
        fail_msg("%s", error_message());
    if (legal != program)
        program_free((Program *) legal);
    return code;
}

/* Computes the entry of a lane of output 0. */
typedef uint64_t (*Expected)(uint32_t lane);

static inline void check_range(const Code *code, void *scratch, uint32_t size,
                        uint32_t begin, uint32_t end, uint64_t *args, Expected expected)
{
    uint8_t *memory = alloc_aligned(2 * GUARD + LANES * 8);
    assert_non_null(memory);
    memset(memory, FILL, 2 * GUARD + LANES * 8);
    args[0] = (uint64_t) (uintptr_t) (memory + GUARD);
    cpu_code_run(code, args, begin, end, 0, scratch);
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
static inline void check_with(uint32_t size, uint64_t *args, Expected expected)
{
    static const uint32_t ends[] = { 1,  3,  4,  7,  8,  9,  15, 16, 17,
                                     31, 32, 33, 48, 63, 64, 65, 100 };
    Code *code = compile(p);
    void *scratch = alloc_aligned(cpu_code_scratch(code));
    assert_non_null(scratch);
    for (uint32_t i = 0; i < sizeof ends / sizeof *ends; ++i)
        check_range(code, scratch, size, 0, ends[i], args, expected);
    check_range(code, scratch, size, 64, 67, args, expected);
    check_range(code, scratch, size, 128, LANES, args, expected);
    alloc_free(scratch);
    code_release(code);
    program_free(p);
}

static inline void check(uint32_t size, Expected expected)
{
    uint64_t args[8] = { 0 };
    check_with(size, args, expected);
}

static inline uint32_t count_of(const char *text, const char *word)
{
    uint32_t count = 0;
    for (; (text = strstr(text, word)); ++text)
        ++count;
    return count;
}

static inline uint32_t count_in_code_for(bool many_lanes, const char *word)
{
    Text text = { 0 };
    CodeSpec spec = { .hash = { 1, 2 }, .many_lanes = many_lanes };
    assert_true(native->write_ir(p, &spec, &text));
    uint32_t count = count_of(text_get(&text), word);
    text_free(&text);
    return count;
}

static inline uint32_t count_in_code(const char *word)
{
    return count_in_code_for(false, word);
}

/* Whether there is anything to test; says so if not. */
static inline bool native_begin(void)
{
    native = engine_find("native");
    if (native->available())
        return true;
    printf("native is not tested: %s\n", error_message());
    return false;
}

#endif
