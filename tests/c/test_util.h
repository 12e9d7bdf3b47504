/*
 * test_util.h -- what the tests of the public interface share
 *
 * Each of them runs its cmocka groups once for every engine, in a child process with
 * DRJIT_CPU_ENGINE set, so that one engine's state cannot help another. Every test
 * begins with jit_init() and ends with jit_shutdown(), which must find no variable
 * left.
 */
#ifndef TEST_UTIL_H
#define TEST_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drjit-core/jit.h"

/* What the tests run on: the CPU, or a device whose memory is its own, TEST_FAR_DEVICE
 * of far_devices[]. */
#if defined(TEST_FAR_DEVICE)
#include "far_device.h"
#include "trace/graph/current.h"
#define CPU JitBackendCUDA
enum { MALLOC_DEVICE = TEST_FAR_DEVICE, IS_FAR = 1 };
#else
#define CPU JitBackendLLVM
enum { MALLOC_DEVICE = -1, IS_FAR = 0 };
#endif
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define UNUSED __attribute__((unused))

/* ------------------------------------------------------------------- types */

typedef struct TestType {
    VarType type;
    const char *name;
    uint32_t size;
    char kind; /* b, u, i, f, p */
} TestType;

static const TestType test_types[] UNUSED = {
    { VarTypeBool, "bool", 1, 'b' },       { VarTypeInt8, "int8", 1, 'i' },
    { VarTypeUInt8, "uint8", 1, 'u' },     { VarTypeInt16, "int16", 2, 'i' },
    { VarTypeUInt16, "uint16", 2, 'u' },   { VarTypeInt32, "int32", 4, 'i' },
    { VarTypeUInt32, "uint32", 4, 'u' },   { VarTypeInt64, "int64", 8, 'i' },
    { VarTypeUInt64, "uint64", 8, 'u' },   { VarTypePointer, "pointer", 8, 'p' },
    { VarTypeFloat16, "float16", 2, 'f' }, { VarTypeFloat32, "float32", 4, 'f' },
    { VarTypeFloat64, "float64", 8, 'f' },
};

static UNUSED const TestType *type_of(VarType type)
{
    for (size_t i = 0; i < COUNT_OF(test_types); ++i)
        if (test_types[i].type == type)
            return &test_types[i];
    fail_msg("no such type: %d", (int) type);
    return NULL;
}

/* By the comments of jit.h: Add, Mul, Min, Max: numbers; And, Or: integers and masks.
 */
static UNUSED bool reducible(const TestType *t, ReduceOp op)
{
    bool bitwise = op == ReduceOpAnd || op == ReduceOpOr;
    return t->kind != 'p' && (t->kind == 'f'   ? !bitwise
                              : t->kind == 'b' ? bitwise
                                               : true);
}

/* ----------------------------------------------------------------- numbers */

static uint64_t random_state UNUSED = 1;

static UNUSED uint64_t random_bits(void)
{ /* SplitMix64 */
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static UNUSED uint64_t ones_of(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static UNUSED uint64_t get_bits(const void *data, uint32_t entry, size_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *) data + i * entry, entry);
    return bits;
}

static UNUSED void put_bits(void *data, uint32_t entry, size_t i, uint64_t bits)
{
    memcpy((char *) data + i * entry, &bits, entry);
}

/* ---------------------------------------------------------------- requests */

/* The call must have worked. */
#define OK(expression)                                            \
    do {                                                          \
        if (!(expression))                                        \
            fail_msg("%s: %s", #expression, jit_error_message()); \
    } while (0)

static UNUSED uint32_t literal_of(VarType type, uint64_t bits, size_t size)
{
    uint32_t id = jit_var_literal(CPU, type, &bits, size, 0);
    OK(id);
    return id;
}

static UNUSED uint32_t array_of(VarType type, const void *data, size_t size)
{
    uint32_t id = jit_var_mem_copy(CPU, type, data, size);
    OK(id);
    return id;
}

static UNUSED uint32_t u32_array(size_t size, const uint32_t *data)
{
    return array_of(VarTypeUInt32, data, size);
}

/* Release several variables. */
#define DROP(...) \
    drop_all((uint32_t[]){ __VA_ARGS__ }, COUNT_OF(((uint32_t[]){ __VA_ARGS__ })))
static UNUSED void drop_all(const uint32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        jit_var_dec_ref(ids[i]);
}

/* The device's memory as it is now, at an address that the host can read: until the
 * test ends if it is a copy. */
#if defined(TEST_FAR_DEVICE)
static _Thread_local void **copies UNUSED;
static _Thread_local size_t copy_count UNUSED;

static UNUSED void *fetch(const void *data, size_t bytes)
{
    void *copy = malloc(bytes + 1);
    copies = realloc(copies, (copy_count + 1) * sizeof(void *));
    assert_true(copy && copies);
    copies[copy_count++] = copy;
    far_read(&far_devices[TEST_FAR_DEVICE], copy, data, bytes);
    return copy;
}

static UNUSED void drop_copies(size_t count)
{
    while (copy_count > count)
        free(copies[--copy_count]);
    if (!copy_count) {
        free(copies);
        copies = NULL;
    }
}
#else
static UNUSED void *fetch(const void *data, size_t bytes)
{
    (void) bytes;
    return (void *) (uintptr_t) data;
}

static const size_t copy_count UNUSED;

static UNUSED void drop_copies(size_t count)
{
    (void) count;
}
#endif

/* jit_var_data() and fetch() */
static UNUSED uint32_t data_of(uint32_t id, void **data)
{
    uint32_t stored = jit_var_data(id, data);
    if (stored)
        *data = fetch(*data, jit_var_size(stored) *
                                 type_of(jit_var_type(stored))->size);
    return stored;
}

/* The entries of a variable compared with expected ones, bit for bit. */
static UNUSED void check_bytes(uint32_t id, const void *expected, size_t size, int line)
{
    if (!id)
        fail_msg("line %d: no variable: %s", line, jit_error_message());
    if (jit_var_size(id) != size)
        fail_msg("line %d: r%u has %zu entries, expected %zu", line, id,
                 jit_var_size(id), size);
    const TestType *t = type_of(jit_var_type(id));
    void *data = NULL;
    size_t before = copy_count;
    uint32_t stored = data_of(id, &data);
    if (!stored)
        fail_msg("line %d: jit_var_data: %s", line, jit_error_message());
    for (size_t i = 0; i < size; ++i) {
        uint64_t a = get_bits(data, t->size, i), b = get_bits(expected, t->size, i);
        if (a != b)
            fail_msg("line %d: entry %zu of r%u is 0x%llx, expected 0x%llx (%s)", line,
                     i, id, (unsigned long long) a, (unsigned long long) b, t->name);
    }
    drop_copies(before);
    jit_var_dec_ref(stored);
}
#define CHECK_BYTES(id, expected, size) check_bytes(id, expected, size, __LINE__)
#define CHECK_U32(id, ...)                       \
    check_bytes(id, (uint32_t[]){ __VA_ARGS__ }, \
                COUNT_OF(((uint32_t[]){ __VA_ARGS__ })), __LINE__)
#define CHECK_STR(id, text)                   \
    do {                                      \
        const char *found_ = jit_var_str(id); \
        OK(found_);                           \
        assert_string_equal(found_, text);    \
    } while (0)

/* A call failed with this code, and its message has these parts. */
static UNUSED void check_error(JitError code, const char *const *parts, size_t count,
                               int line)
{
    if (jit_error() != (int) code)
        fail_msg("line %d: error %d (\"%s\"), expected %d", line, jit_error(),
                 jit_error_message(), (int) code);
    for (size_t i = 0; i < count; ++i)
        if (!strstr(jit_error_message(), parts[i]))
            fail_msg("line %d: \"%s\" lacks \"%s\"", line, jit_error_message(),
                     parts[i]);
    jit_error_clear();
}
#define CHECK_ERROR(code, ...)                         \
    check_error(code, (const char *[]){ __VA_ARGS__ }, \
                COUNT_OF(((const char *[]){ __VA_ARGS__ })), __LINE__)

/* ------------------------------------------------------------------ arrays */

#define ALWAYS 0u /* no mask */

static UNUSED void *random_array(VarType type, size_t size)
{
    const TestType *t = type_of(type);
    char *data = malloc(size * t->size);
    for (size_t i = 0; i < size; ++i)
        put_bits(data, t->size, i, t->kind == 'b' ? random_bits() & 1 : random_bits());
    return data;
}

static UNUSED uint32_t *random_indices(size_t size, uint32_t bound)
{
    uint32_t *data = malloc(size * sizeof(uint32_t));
    for (size_t i = 0; i < size; ++i)
        data[i] = (uint32_t) (random_bits() % bound);
    return data;
}

/* 0 ... size-1 in random order */
static UNUSED uint32_t *permutation(size_t size)
{
    uint32_t *data = malloc(size * sizeof(uint32_t));
    for (size_t i = 0; i < size; ++i) {
        size_t j = random_bits() % (i + 1);
        data[i] = data[j];
        data[j] = (uint32_t) i;
    }
    return data;
}

/* Replace '*target' by what a scatter returned. */
static UNUSED void advance(uint32_t *target, uint32_t written)
{
    OK(written);
    jit_var_dec_ref(*target);
    *target = written;
}

static UNUSED uint32_t fill_u32(size_t size, uint32_t value)
{
    uint32_t id = jit_var_literal(CPU, VarTypeUInt32, &value, size, 1);
    OK(id);
    return id;
}

/* -------------------------------------------------------------------- text */

/* How often 'part' occurs in 'text'. */
static UNUSED size_t count_text(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *p = text; (p = strstr(p, part)) != NULL; p += strlen(part))
        count++;
    return count;
}

/* How often 'part' occurs in the Program of a variable. */
static UNUSED size_t program_count(uint32_t id, const char *part)
{
    const char *text = jit_program_str(id);
    OK(text);
    return count_text(text, part);
}

/* --------------------------------------------------------------------- log */

static char log_text_seen[1 << 20] UNUSED;
static size_t log_length UNUSED;

static UNUSED void log_keep(LogLevel level, const char *message)
{
    (void) level;
    size_t size = strlen(message);
    if (log_length + size + 2 > sizeof(log_text_seen))
        return;
    memcpy(log_text_seen + log_length, message, size);
    log_length += size;
    log_text_seen[log_length++] = '\n';
    log_text_seen[log_length] = 0;
}

static UNUSED void log_clear(void)
{
    log_length = 0;
    log_text_seen[0] = 0;
}

static UNUSED size_t log_count(const char *part)
{
    return count_text(log_text_seen, part);
}

/* ---------------------------------------------------------- running of tests */

/* Make what the tests run on known, if the library does not know it. */
static UNUSED void make_device(void)
{
#if defined(TEST_FAR_DEVICE)
    far_register();
#endif
}

static UNUSED bool start_library(void)
{
    make_device();
#if defined(TEST_FAR_DEVICE)
    return jit_init(CPU) && current_set(CPU, TEST_FAR_DEVICE);
#else
    return jit_init(CPU);
#endif
}

static UNUSED int test_begin(void **unused)
{
    (void) unused;
    jit_set_flags(JitFlagDefault);
    jit_error_clear();
    log_clear();
    jit_set_log_level_callback(LogLevelNone, NULL);
    return start_library() ? 0 : -1;
}

/* Was only that device used which the tests have chosen? Those of number 0 choose
 * themselves. */
static UNUSED bool others_are_idle(void)
{
#if defined(TEST_FAR_DEVICE)
    for (uint32_t k = 0; TEST_FAR_DEVICE && k < COMMAND_COUNT; ++k)
        if (far_states[0].count || far_count(&far_states[0], (CommandKind) k)) {
            fprintf(stderr, "the other device was used\n");
            return false;
        }
#endif
    return true;
}

/* What a test that stopped half way left behind is not held against the ones after it.
 */
static uint32_t leaked_before UNUSED;

static UNUSED int test_end(void **unused)
{
    (void) unused;
    jit_set_log_level_callback(LogLevelNone, NULL);
    jit_set_flags(JitFlagDefault);
    drop_copies(0);
    uint32_t leaks = jit_shutdown(0), fresh = leaks - leaked_before;
    leaked_before = leaks;
    if (fresh)
        fprintf(stderr, "%u variables leaked\n", fresh);
    return fresh || !others_are_idle() ? -1 : 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, test_begin, test_end)

static UNUSED bool engine_is(const char *name)
{
    const char *engine = getenv("DRJIT_CPU_ENGINE");
    return engine && strcmp(engine, name) == 0;
}

/* An engine with an instruction set. */
typedef struct EngineCase {
    const char *engine, *isa; /* isa: DRJIT_NATIVE_ISA, or NULL */
} EngineCase;

/* Why this case cannot run here; NULL if it can. */
static UNUSED const char *engine_missing(const EngineCase *c)
{
    if (strcmp(c->engine, "llvm") == 0 && !jit_llvm_version(NULL, NULL, NULL))
        return jit_error_message();
#if defined(__x86_64__)
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (c->isa && !__builtin_cpu_supports("avx512bw"))
        return "it is what native uses here anyway";
#else
    bool avx2 = false;
#endif
    return strcmp(c->engine, "native") == 0 && !avx2 ? "the CPU lacks AVX2" : NULL;
}

/* LeakSanitizer's tracer crashes on threads that were joined but that the system still
 * lists. Wait until they are gone; devices may keep one. */
static UNUSED void settle_threads(void)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; ++i) {
        size_t count = 0;
        DIR *tasks = opendir("/proc/self/task");
        while (tasks && readdir(tasks))
            ++count;
        if (tasks)
            closedir(tasks);
        if (count <= 3) /* this thread, '.' and '..' */
            return;
        usleep(1000);
    }
}

/* Run 'tests' in a child process for each engine; the number of engines that failed.
 * DRJIT_TEST_ENGINE restricts the choice, and is the only way to 'ptx-sim', which few
 * programs have. What a device does is the same for all instruction sets. */
static UNUSED int run_engines(int (*tests)(void))
{
    static const EngineCase cases[] = { { "interp", NULL },
                                        { "native", NULL },
                                        { "native", "avx2" },
                                        { "llvm", NULL },
                                        { "ptx-sim", NULL } };
    const char *only = getenv("DRJIT_TEST_ENGINE");
    int failures = 0;
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        const char *isa = cases[i].isa ? cases[i].isa : "";
        if (strcmp(only ? only : cases[i].engine, cases[i].engine) != 0 ||
            (!only && strcmp(cases[i].engine, "ptx-sim") == 0) ||
            (IS_FAR && cases[i].isa))
            continue;
        fflush(NULL);
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0) {
            setenv("DRJIT_CPU_ENGINE", cases[i].engine, 1);
            if (cases[i].isa)
                setenv("DRJIT_NATIVE_ISA", cases[i].isa, 1);
            const char *missing = engine_missing(&cases[i]);
            if (missing) {
                printf("engine %s %s skipped: %s\n", cases[i].engine, isa, missing);
                exit(0);
            }
            jit_error_clear();
            jit_set_log_level_stderr(LogLevelWarn);
            fprintf(stderr, "---- engine %s %s\n", cases[i].engine, isa);
            int failed = tests();
            settle_threads();
            exit(failed ? 1 : 0);
        }
        int status = 0;
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
            WEXITSTATUS(status) != 0) {
            fprintf(stderr, "engine %s %s: failed (status 0x%x)\n", cases[i].engine,
                    isa, (unsigned) status);
            failures++;
        }
    }
    return failures;
}

#endif
