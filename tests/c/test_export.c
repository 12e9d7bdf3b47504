/*
 * test_export.c -- a recording is exported, built, loaded and called
 *
 * The reference is the recording itself, repeated for the same inputs. What is exported
 * from Python, and what callers can do wrong, is in tests/python/test_export.py.
 */
#include "test_util.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/drjit-export-XXXXXX";

/* As in the header that is written. */
typedef struct Inputs {
    const float *x;
    size_t x_size;
    const float *scale;
} Inputs;
typedef struct Outputs {
    float *scaled;
    size_t scaled_size;
    float *sum;
    size_t sum_size;
} Outputs;

/* out[0] = x * scale, out[1] = its sum */
static void compute(const uint32_t *in, uint32_t *out)
{
    out[0] = jit_var_mul(in[0], in[1]);
    out[1] = jit_var_reduce(out[0], ReduceOpAdd);
    OK(out[1]);
}

static void make_inputs(uint32_t size, uint32_t *in)
{
    uint32_t i = jit_var_counter(CPU, size), third = jit_var_f32(CPU, 1.f / 3);
    uint32_t x = jit_var_cast(i, VarTypeFloat32, 0), scale = jit_var_f32(CPU, 0.7f);
    in[0] = jit_var_mul(x, third);
    in[1] = jit_var_schedule_force(scale, NULL);
    OK(in[1]);
    OK(jit_var_schedule(in[0]));
    OK(jit_eval());
    DROP(i, third, x, scale);
}

static JitRecording *record(uint32_t size)
{
    uint32_t in[2], out[2];
    make_inputs(size, in);
    OK(jit_freeze_start(CPU, 2, in));
    compute(in, out);
    JitRecording *recording = jit_freeze_stop(2, out);
    OK(recording);
    DROP(in[0], in[1], out[0], out[1]);
    return recording;
}

/* The other function of the library: x backwards, whose kernel reads the size, and a
 * number of rows, which is a size that no array has. */
typedef struct TurnedInputs {
    const float *x;
    size_t x_size, rows;
} TurnedInputs;
typedef struct TurnedOutputs {
    float *turned;
    size_t turned_size, more;
} TurnedOutputs;

static uint32_t entries(uint32_t count)
{
    const uint32_t zero = 0;
    uint32_t id = jit_var_literal(CPU, VarTypeUInt32, &zero, count, 0);
    OK(id);
    return id;
}

static JitRecording *record_turned(void)
{
    uint32_t in[2], out[2];
    make_inputs(100, in);
    uint32_t scale = in[1];
    in[1] = entries(7);
    OK(jit_freeze_start(CPU, 2, in));
    OK(jit_freeze_set_general(true));
    out[0] = jit_var_reverse(in[0]);
    JitSize rows = jit_freeze_size(in[1]), one = jit_freeze_size_constant(1);
    OK(jit_freeze_size_next(jit_freeze_size_op(JitSizeAdd, rows, one)));
    out[1] = entries(8);
    JitRecording *recording = jit_freeze_stop(2, out);
    OK(recording);
    DROP(in[0], in[1], scale, out[0], out[1]);
    return recording;
}

static const void *entries_of(uint32_t id)
{
    void *data = NULL;
    jit_var_dec_ref(data_of(id, &data));
    jit_sync_thread();
    return data;
}

typedef int (*Function)(const Inputs *in, Outputs *out);

static void check_scaled(JitRecording *recording, Function function, uint32_t size)
{
    uint32_t in[2], out[2];
    make_inputs(size, in);
    jit_sync_thread();
    assert_int_equal(jit_freeze_replay(recording, 2, in, out), 1);
    const Inputs given = { entries_of(in[0]), size, entries_of(in[1]) };
    Outputs made = { NULL, 0, NULL, 0 };
    assert_int_equal(function(&given, &made), 0);
    assert_int_equal(made.scaled_size, size);
    assert_int_equal(made.sum_size, 1);
    assert_memory_equal(made.scaled, entries_of(out[0]), size * sizeof(float));
    assert_memory_equal(made.sum, entries_of(out[1]), sizeof(float));
    free(made.scaled);
    free(made.sum);
    DROP(in[0], in[1], out[0], out[1]);
}

typedef int (*Turned)(const TurnedInputs *in, TurnedOutputs *out);

static void check_turned(JitRecording *recording, Turned function, uint32_t size)
{
    uint32_t in[2], out[2];
    make_inputs(size, in);
    uint32_t scale = in[1];
    in[1] = entries(size + 3);
    jit_sync_thread();
    assert_int_equal(jit_freeze_replay(recording, 2, in, out), 1);
    const TurnedInputs given = { entries_of(in[0]), size, size + 3 };
    TurnedOutputs made = { NULL, 0, 0 };
    assert_int_equal(function(&given, &made), 0);
    assert_int_equal(made.turned_size, size);
    assert_int_equal(made.more, size + 4);
    assert_memory_equal(made.turned, entries_of(out[0]), size * sizeof(float));
    free(made.turned);
    DROP(in[0], in[1], scale, out[0], out[1]);
}

/* Sanitizers of this build stay out of what is built. */
static void build(void)
{
    char command[300];
    snprintf(command, sizeof command,
             "make -s -C %s CFLAGS='-O1 -Wall -Wextra -Werror' LOOP_OPTIMIZATION=-O1 "
             "libscaled.so", folder);
    assert_int_equal(system(command), 0);
}

static void check_library(JitRecording *scaled, JitRecording *turned)
{
    static const uint32_t sizes[] = { 2, 15, 64, 1000, 65537, 300001 };
    char path[100];
    snprintf(path, sizeof path, "%s/libscaled.so", folder);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    Function function;
    Turned turn;
    int (*set_threads)(unsigned count);
    void (*shut_down)(void);
    *(void **) &function = dlsym(library, "scaled");
    *(void **) &turn = dlsym(library, "turned");
    *(void **) &set_threads = dlsym(library, "scaled_set_threads");
    *(void **) &shut_down = dlsym(library, "scaled_shutdown");
    for (unsigned threads = 1; threads <= 3; threads++) {
        assert_int_equal(set_threads(threads), 0);
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            check_scaled(scaled, function, sizes[i]);
            check_turned(turned, turn, sizes[i]);
        }
    }
    shut_down();
    check_scaled(scaled, function, 1000);
    shut_down();
    dlclose(library);
}

static void test_library(void **unused)
{
    (void) unused;
    static const char *const in[] = { "x", "scale" };
    static const char *const out[] = { "scaled", "sum" };
    static const char *const turned_in[] = { "x", "rows" };
    static const char *const turned_out[] = { "turned", "more" };
    const JitExport functions[] = {
        { .recording = record(100), .name = "scaled", .inputs = in, .outputs = out },
        { .recording = record_turned(), .name = "turned", .inputs = turned_in,
          .outputs = turned_out, .input_sizes = 1, .output_sizes = 1 }
    };
    if (jit_freeze_export(folder, 2, functions)) {
        build();
        check_library(functions[0].recording, functions[1].recording);
    } else {
        assert_int_equal(jit_error(), JIT_ERROR_UNSUPPORTED); /* another engine */
        assert_non_null(strstr(jit_error_message(), "'native'"));
    }
    jit_freeze_destroy(functions[0].recording);
    jit_freeze_destroy(functions[1].recording);
}

/* Functions of a library whose names do not go together. */
static void check_twice(JitRecording *recording)
{
    static const char *const rows[][3] = {
        { "f", "f", "f" },           { "f", "f_error", "f_error" },
        { "call_g", "g", "call_g" }, { "f", "f_kernel_12", "f_kernel_12" },
        { "f_pool_", "f", "f_pool_0" }, { "f_exported", "f", "f_exported" }
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const JitExport functions[] = { { .recording = recording, .name = rows[i][0] },
                                        { .recording = recording,
                                          .name = rows[i][1] } };
        char expected[100];
        snprintf(expected, sizeof expected, "jit_freeze_export(): 'name' is \"%s\", "
                 "with which '%s' would be declared twice", rows[i][1], rows[i][2]);
        assert_false(jit_freeze_export(folder, 2, functions));
        CHECK_ERROR(JIT_ERROR_ARGUMENT, expected);
    }
    const JitExport files[] = { { .recording = recording, .name = "f" },
                                { .recording = recording, .name = "f_library" } };
    if (!jit_freeze_export(folder, 2, files) && jit_error() == JIT_ERROR_ARGUMENT)
        CHECK_ERROR(JIT_ERROR_ARGUMENT, "two files would be called 'f_library.c'");
    else
        CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "'native'");
}

static void test_errors(void **unused)
{
    (void) unused;
    JitRecording *recording = record(10);
    const JitExport none = { .name = "f" }, nameless = { .recording = recording };
    const JitExport twice[] = { { .recording = recording, .name = "f" },
                                { .recording = recording, .name = "f" } };
    assert_false(jit_freeze_export(folder, 1, &none));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_export(): recording is NULL");
    assert_false(jit_freeze_export(folder, 1, &nameless));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_export(): name is NULL");
    assert_false(jit_freeze_export(NULL, 2, twice));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_export(): folder is NULL");
    assert_false(jit_freeze_export(folder, 1, NULL));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_export(): functions is NULL");
    assert_false(jit_freeze_export(folder, 0, twice));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_export(): there are 0 functions");
    check_twice(recording);
    static const char *const names[] = { "", "2d", "a b", "int", "main" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const JitExport function = { .recording = recording, .name = names[i] };
        char expected[100];
        snprintf(expected, sizeof expected, "jit_freeze_export(): 'name' is \"%s\", "
                 "expected an identifier of C", names[i]);
        assert_false(jit_freeze_export(folder, 1, &function));
        CHECK_ERROR(JIT_ERROR_ARGUMENT, expected);
    }
    const JitExport unbounded = { .recording = recording, .name = "f",
                                  .bounds = (JitExportBounds) 3 };
    assert_false(jit_freeze_export(folder, 1, &unbounded));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_export(): bounds is 3, expected one");
    jit_freeze_destroy(recording);
}

/* What there is no place for in a library. */
static void hear(const JitPrintRecords *records, void *unused)
{
    (void) records;
    (void) unused;
}

static void print(uint32_t x) { OK(jit_var_print(0, 1, &x, 1, hear, NULL)); }

static void look_up(uint32_t x)
{
    (void) x;
    (void) jit_registry_id_bound("llvm", "Shape");
}

static void test_refused(void **unused)
{
    (void) unused;
    static const struct {
        void (*call)(uint32_t x);
        const char *expected;
    } rows[] = { { print, "a kernel of it prints" },
                 { look_up, "it depends on objects that are registered" } };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint32_t in[2];
        make_inputs(10, in);
        OK(jit_freeze_start(CPU, 2, in));
        rows[i].call(in[0]);
        uint32_t out = jit_var_add(in[0], in[1]);
        JitExport function = { .recording = jit_freeze_stop(1, &out), .name = "f" };
        OK(function.recording);
        assert_false(jit_freeze_export(folder, 1, &function));
        CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "'f' cannot be exported", rows[i].expected);
        jit_freeze_destroy(function.recording);
        DROP(in[0], in[1], out);
    }
}

static int tests(void)
{
    const struct CMUnitTest list[] = { TEST(test_library), TEST(test_errors),
                                       TEST(test_refused) };
    return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    int failures = run_engines(tests);
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || failures;
}
