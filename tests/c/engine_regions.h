/*
 * engine_regions.h -- what tests of regions on compiling engines have in common
 *
 * A test builds a Program and says in C what it does to its arrays. Each Program runs
 * with several numbers of lanes, in one launch and in two, on the llvm engine, the
 * interpreter and both targets of the native engine, as far as they are there; arrays
 * are compared as a whole, so writes after the last lane are noticed. With
 * TEST_FEW_ROWS, it is the interpreter and targets of few_rows_target.h.
 */
#ifndef TESTS_ENGINE_REGIONS_H
#define TESTS_ENGINE_REGIONS_H

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
#include "device/cpu/cpu_device.h"
#include "device/cpu/launch/cpu_code.h"
#include "engine/interp/interp.h"
#include "engine/llvm/llvm_engine.h"
#include "engine/llvm/llvm_object.h"
#include "lower/legalise.h"
#include "other_cpu.h"
#if defined(TEST_FEW_ROWS)
#include "few_rows_target.h"
#endif

enum { COUNT = 5100, PADDING = 64, SLOTS = 20 };

static const uint32_t sizes[] = { 1, 15, 16, 17, 513, 5000 };
enum { SIZE_COUNT = sizeof sizes / sizeof sizes[0] };

static const VarType types[] = { VarTypeBool,    VarTypeInt8,    VarTypeUInt8,
                                 VarTypeInt16,   VarTypeUInt16,  VarTypeInt32,
                                 VarTypeUInt32,  VarTypeInt64,   VarTypeUInt64,
                                 VarTypeFloat16, VarTypeFloat32, VarTypeFloat64 };
enum { TYPE_COUNT = sizeof types / sizeof types[0] };

/* Is this process one that tests the llvm engine? */
static bool llvm_here;

static const Hash128 test_hash = { 0x0123456789abcdef, 0xfedcba9876543210 };

/* ---- building */

static inline Program *new_program(void)
{
    Program *program = alloc_zero(1, sizeof *program);
    assert_non_null(program);
    return program;
}

#define LIST(...) ((uint32_t[]){ __VA_ARGS__ })
#define LENGTH(...) (sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))
/* An instruction with operands. */
#define ADD(p, op, type, aux, ...) \
    program_add(p, op, type, aux, LENGTH(__VA_ARGS__), LIST(__VA_ARGS__))
#define U32(p, op, ...) ADD(p, op, VarTypeUInt32, 0, __VA_ARGS__)
#define BOOL(p, op, ...) ADD(p, op, VarTypeBool, 0, __VA_ARGS__)
#define REGION(p, kind, ...) \
    program_add_region(p, kind, LENGTH(__VA_ARGS__), LIST(__VA_ARGS__), 0, NULL)

static inline uint32_t leaf(Program *p, Op op, VarType type, uint32_t aux)
{
    return program_add(p, op, type, aux, 0, NULL);
}

static inline uint32_t number(Program *p, uint32_t value)
{
    return program_add_literal(p, VarTypeUInt32, value);
}

static inline uint32_t yes(Program *p)
{
    return program_add_literal(p, VarTypeBool, 1);
}

static inline uint32_t input(Program *p, VarType type)
{
    return leaf(p, OP_LOAD, type, program_add_param(p, PARAM_INPUT, type));
}

static inline void output(Program *p, uint32_t value)
{
    uint32_t slot = program_add_param(p, PARAM_OUTPUT, p->insts[value].type);
    ADD(p, OP_STORE, VarTypeVoid, slot, value);
}

static inline uint32_t pointer(Program *p, VarType type, bool written)
{
    uint32_t slot = program_add_param(p, PARAM_POINTER, type);
    p->params[slot].written = written;
    return leaf(p, OP_PARAM, VarTypePointer, slot);
}

/* ---- running */

/* Says what the Program does to its arrays, by slot. */
typedef void Reference(void *const *arrays, uint32_t lanes);

static uint64_t random_state = 88172645463325252u;

static inline uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* UInt32 entries are small: they count iterations and select targets. */
static inline void fill(void *array, VarType type)
{
    for (uint32_t i = 0; i < COUNT + PADDING; i++) {
        uint64_t bits = random_bits() >> 11;
        float single = (float) (bits % 2000) / 250.0f - 4.0f;
        double wide = single;
        if (type == VarTypeFloat32) {
            memcpy(&bits, &single, sizeof single);
        } else if (type == VarTypeFloat64) {
            memcpy(&bits, &wide, sizeof wide);
        } else if (type == VarTypeFloat16) {
            bits = bits % 0x7c00;
        } else if (type == VarTypeUInt32) {
            bits = bits % 11;
        } else if (type == VarTypeBool) {
            bits &= 1;
        }
        memcpy((char *) array + (size_t) i * type_info[type].size, &bits,
               type_info[type].size);
    }
}

static inline size_t bytes_of(const Program *p, uint32_t slot)
{
    return (size_t) (COUNT + PADDING) * type_info[p->params[slot].type].size;
}

static inline void copy_arrays(const Program *p, void *const *from, void **to)
{
    for (uint32_t i = 0; i < p->param_count; i++) {
        to[i] = aligned_alloc(64, (bytes_of(p, i) + 63) / 64 * 64);
        memcpy(to[i], from[i], bytes_of(p, i));
    }
}

static inline void free_arrays(const Program *p, void *const *arrays)
{
    for (uint32_t i = 0; i < p->param_count; i++) {
        free(arrays[i]);
    }
}

static inline void show(const Program *p, const char *what, const char *engine)
{
    Text text = { 0 };
    program_write(p, &text);
    fprintf(stderr, "%s on %s: %s\n%s", what, engine, error_message(), text_get(&text));
    text_free(&text);
}

static inline Code *compile(const Engine *engine, const Program *p, const char *what)
{
    CodeSpec spec = { .hash = test_hash, .target = target_get(cpu_device()) };
    Code *code = engine->compile(p, &spec);
    if (!code) {
        show(p, what, engine->name);
        Text text = { 0 };
        if (engine->write_ir && engine->write_ir(p, &spec, &text)) {
            fprintf(stderr, "%s", text_get(&text));
        }
        fail();
    }
    return code;
}

static inline void launch(const Code *code, const uint64_t *args, uint32_t begin,
                          uint32_t end)
{
    enum { GUARD = 64 };
    size_t size = cpu_code_scratch(code);
    uint8_t *scratch = aligned_alloc(64, (size + 63) / 64 * 64 + GUARD);
    memset(scratch, 0xa5, size + GUARD);
    cpu_code_run(code, args, begin, end, 3, scratch);
    for (size_t i = size; i < size + GUARD; i++) {
        assert_int_equal(scratch[i], 0xa5);
    }
    free(scratch);
}

static inline void compare_arrays(const Program *p, void *const *expected,
                                  void *const *found, const char *what,
                                  const char *engine, uint32_t lanes)
{
    for (uint32_t i = 0; i < p->param_count; i++) {
        unsigned size = type_info[p->params[i].type].size;
        const char *a = expected[i], *b = found[i];
        for (uint32_t k = 0; k < COUNT + PADDING; k++) {
            if (memcmp(a + (size_t) k * size, b + (size_t) k * size, size) != 0) {
                uint64_t x = 0, y = 0;
                memcpy(&x, a + (size_t) k * size, size);
                memcpy(&y, b + (size_t) k * size, size);
                show(p, what, engine);
                fail_msg("%s, %u lanes: parameter %u, entry %u is %llx, expected %llx",
                         what, lanes, i, k, (unsigned long long) y,
                         (unsigned long long) x);
            }
        }
    }
}

static inline void run_engine(const Engine *engine, const Program *p,
                              Reference *reference, const char *what)
{
    Code *code = compile(engine, p, what);
    void *arrays[SLOTS] = { 0 }, *expected[SLOTS] = { 0 }, *found[SLOTS] = { 0 };
    uint64_t args[SLOTS] = { 0 };
    for (uint32_t i = 0; i < p->param_count; i++) {
        arrays[i] = aligned_alloc(64, (bytes_of(p, i) + 63) / 64 * 64);
        fill(arrays[i], p->params[i].type);
    }
    for (uint32_t s = 0; s < 2 * SIZE_COUNT; s++) {
        uint32_t lanes = sizes[s / 2];
        uint32_t cut = s % 2 && lanes > 64 ? 64 * (1 + s % 5) : 0;
        copy_arrays(p, arrays, expected);
        copy_arrays(p, arrays, found);
        reference(expected, lanes);
        for (uint32_t i = 0; i < p->param_count; i++) {
            args[i] = (uintptr_t) found[i];
        }
        if (cut) {
            launch(code, args, 0, cut);
        }
        launch(code, args, cut, lanes);
        compare_arrays(p, expected, found, what, engine->name, lanes);
        free_arrays(p, expected);
        free_arrays(p, found);
    }
    free_arrays(p, arrays);
    code_release(code);
}

static inline void run_legal(const Engine *engine, const Program *p,
                             Reference *reference, const char *what)
{
    const Program *legal = legalise(p, engine);
    assert_non_null(legal);
    run_engine(engine, legal, reference, what);
    if (legal != p)
        program_free((Program *) legal);
}

/* Takes the Program over. */
static inline void check(Program *p, Reference *reference, const char *what)
{
    assert_true(p->param_count <= SLOTS);
    if (!program_verify(p)) {
        show(p, what, "verifier");
        fail();
    }
    if (llvm_here)
        run_legal(&llvm_engine, p, reference, what);
    run_engine(&interp_engine, p, reference, what);
    const Engine *native = engine_find("native"); /* x86-64 has it */
    if (native && native->available())
        run_legal(native, p, reference, what);
    program_free(p);
}

/* ---- all together */

/* For tests of that engine only: there may be no libLLVM here. */
#define NEEDS_LLVM() \
    if (!llvm_here)  \
    skip()

/* Vectors of every width, and another CPU. */
static inline void check_targets(void (*all)(void))
{
    NEEDS_LLVM();
    for (uint32_t width = 1; width <= 64; width *= 2) {
        assert_true(target_set(cpu_device(), NULL, NULL, width));
        all();
    }
    assert_true(target_set(cpu_device(), OTHER_CPU, NULL, 8));
    all();
    assert_true(target_set(cpu_device(), NULL, NULL, 0));
}

/* In a process of its own, with a target of the native engine and without LLVM. */
static inline pid_t start_group(const char *name, const struct CMUnitTest *tests,
                                size_t count, const char *isa)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        exit(setenv("DRJIT_NATIVE_ISA", isa, 1) != 0 ||
             _cmocka_run_group_tests(name, tests, count, NULL, NULL) != 0);
    return child;
}

static inline bool has_passed(pid_t child)
{
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* The main() of these tests: in this process, and in one with the other target of the
 * native engine. */
#if defined(TEST_FEW_ROWS)
static inline int run_group(const char *name, const struct CMUnitTest *tests,
                            size_t count)
{
    bool passed = true;
    few_rows_offer();
    for (uint32_t i = 0; i < FEW_ROWS_TARGETS; ++i) {
        const NativeTarget *target = few_rows_targets[i];
        if (target->available())
            passed &= has_passed(start_group(name, tests, count, target->name));
    }
    return !passed;
}
#else
static inline int run_group(const char *name, const struct CMUnitTest *tests,
                            size_t count)
{
    pid_t child = start_group(name, tests, count, "avx2");
    llvm_here = llvm_engine.available();
    if (!llvm_here)
        printf("%s: %s\n", name, error_message());
    int failed = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
    return !has_passed(child) || failed;
}
#endif

#endif
