/*
 * core_bench.c -- how fast the core is: tracing, launching, first launches, start-up
 *
 *     core_bench MEASURE [ARGUMENT]
 *
 * Each measure is meant to run in a process of its own with an empty DRJIT_CACHE_DIR
 * (see run.py), prints lines of JSON (see harness.h) and uses the public interface
 * only. The measures that move much data are in throughput.c. peer_bench.py does the
 * same work on the published package; measure and case names agree.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drjit-core/jit.h"
#include "functions.h"
#include "harness.h"
#include "programs.h"
#include "regions.h"
#include "streams.h"
#include "throughput.h"

#define CHAIN_STEPS 5000
#define COLLATZ_STEPS 1700
#define SMALL 16
#define MIDDLE 1024

static uint32_t opaque_f32(float value)
{
    return jit_var_literal(JitBackendLLVM, VarTypeFloat32, &value, 1, 1);
}

/* ------------------------------------------------------------------- trace */

typedef struct Traced {
    uint32_t a, b;
} Traced;

static void trace_chain(void *payload)
{
    const Traced *t = payload;
    jit_var_dec_ref(programs_chain(t->a, t->b, CHAIN_STEPS));
}

static void trace_collatz(void *payload)
{
    const Traced *t = payload;
    jit_var_dec_ref(programs_collatz(t->a, COLLATZ_STEPS));
}

/* Tracing and releasing again: ns an operation. */
static void measure_trace(const char *unused)
{
    (void) unused;
    Traced t = { opaque_f32(1.5f), opaque_f32(.75f) };
    const uint32_t x = programs_chain(t.a, t.b, CHAIN_STEPS);
    float value = 0;
    harness_require(jit_var_read(x, 0, &value) &&
                        value == programs_chain_value(1.5f, .75f, CHAIN_STEPS),
                    "mul/add chain: found %g", (double) value);
    jit_var_dec_ref(x);
    harness_emit("trace", "mul/add chain",
                 harness_time(trace_chain, &t, .2) / (2 * CHAIN_STEPS) * 1e9,
                 "ns/operation");
    jit_var_dec_ref(t.a);
    jit_var_dec_ref(t.b);

    const uint32_t start = 837799;
    t.a = jit_var_literal(JitBackendLLVM, VarTypeUInt32, &start, 1, 1);
    const uint32_t y = programs_collatz(t.a, COLLATZ_STEPS);
    uint32_t found = 0;
    harness_require(jit_var_read(y, 0, &found) &&
                        found == programs_collatz_value(start, COLLATZ_STEPS),
                    "Collatz chain: found %u", found);
    jit_var_dec_ref(y);
    harness_emit("trace", "Collatz chain",
                 harness_time(trace_collatz, &t, .2) / (6 * COLLATZ_STEPS) * 1e9,
                 "ns/operation");
    jit_var_dec_ref(t.a);
}

/* ------------------------------------------------------------------ launch */

static void check_chain(uint32_t x, const float *a, const float *b, size_t steps)
{
    for (size_t i = 0; i < SMALL; ++i) {
        float value = 0;
        harness_require(jit_var_read(x, i, &value) &&
                            value == programs_chain_value(a[i], b[i], steps),
                        "chain of %zu steps, entry %zu: found %g", steps, i,
                        (double) value);
    }
}

/* Evaluating a kernel that is already compiled, 16 lanes: us, without tracing. */
static void measure_launch(const char *unused)
{
    (void) unused;
    static const size_t steps[] = { 5, 50, 750, 5000 };
    float a[SMALL], b[SMALL];
    for (int i = 0; i < SMALL; ++i) {
        a[i] = (float) i + 1.f;
        b[i] = ((float) i + 1.f) * 1e-6f;
    }
    const uint32_t va = jit_var_mem_copy(JitBackendLLVM, VarTypeFloat32, a, SMALL),
                   vb = jit_var_mem_copy(JitBackendLLVM, VarTypeFloat32, b, SMALL);
    for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); ++k) {
        enum { WARM = 40, TIMED = 61 };
        double times[TIMED];
        for (int i = 0; i < WARM + TIMED; ++i) {
            const uint32_t x = programs_chain(va, vb, steps[k]);
            const double start = harness_clock();
            const bool ok = jit_var_eval(x) && jit_sync_thread();
            const double end = harness_clock();
            harness_require(ok, "jit_var_eval");
            if (i >= WARM)
                times[i - WARM] = end - start;
            else if (i % 20 == 0)
                check_chain(x, a, b, steps[k]);
            jit_var_dec_ref(x);
        }
        char name[32];
        snprintf(name, sizeof(name), "%zu ops", 2 * steps[k]);
        harness_emit("launch", name, harness_median(times, TIMED) * 1e6, "us");
    }
    jit_var_dec_ref(va);
    jit_var_dec_ref(vb);
}

/* ------------------------------------------------------------ first launch */

/* A program never seen before, 1024 lanes: ms from the evaluation to the result. The
 * argument is the seed that makes it new. */
static void measure_first(const char *argument)
{
    static const size_t sizes[] = { 10, 100, 1000, 10000 };
    const uint64_t seed = argument ? strtoull(argument, NULL, 10) : 1;
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); ++k) {
        double times[5];
        const size_t runs = sizes[k] < 10000 ? 5 : 3;
        for (size_t r = 0; r < runs; ++r) {
            const uint64_t s = seed * 1000 + r;
            uint32_t leaves[PROGRAM_LEAVES];
            Statement *statements = programs_random(s, sizes[k]);
            programs_leaves(VarTypeFloat32, MIDDLE, s, leaves);
            harness_require(jit_sync_thread(), "jit_sync_thread");
            const uint32_t x =
                programs_trace(statements, sizes[k], VarTypeFloat32, leaves);
            const double start = harness_clock();
            const bool ok = jit_var_eval(x) && jit_sync_thread();
            times[r] = harness_clock() - start;
            harness_require(ok, "jit_var_eval");
            programs_check(x, statements, sizes[k], VarTypeFloat32, MIDDLE, s);
            jit_var_dec_ref(x);
            programs_release(leaves);
            free(statements);
        }
        char name[32];
        snprintf(name, sizeof(name), "%zu ops", sizes[k]);
        harness_emit("first", name, harness_median(times, runs) * 1e3, "ms");
    }
}

/* Trace and run one random program on 16 lanes. Returns the time of tracing. */
static double run_new_program(uint64_t seed, size_t ops)
{
    uint32_t leaves[PROGRAM_LEAVES];
    Statement *statements = programs_random(seed, ops);
    programs_leaves(VarTypeFloat32, SMALL, seed, leaves);
    const double start = harness_clock();
    const uint32_t x = programs_trace(statements, ops, VarTypeFloat32, leaves);
    const double traced = harness_clock() - start;
    harness_require(jit_var_eval(x) && jit_sync_thread(), "jit_var_eval");
    jit_var_dec_ref(x);
    programs_release(leaves);
    free(statements);
    return traced;
}

/* Making the code of many different programs in turn: ns for each instruction of the
 * Program, as the kernel history has it, and how many times as long as tracing the same
 * operations that is. */
static void measure_codegen(const char *argument)
{
    static const size_t sizes[] = { 10, 100, 1000, 10000, 100000, 1000000 };
    enum { MOST = 200 };
    const uint64_t seed = argument ? strtoull(argument, NULL, 10) : 1;
    jit_set_flag(JitFlagKernelHistory, 1);
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); ++k) {
        const size_t runs = sizes[k] <= 1000 ? MOST : MOST * 1000 / sizes[k] + 1;
        double times[MOST], ratios[MOST];
        size_t count = 0;
        for (size_t r = 0; r < runs; ++r) {
            jit_kernel_history_clear();
            const double traced = run_new_program(seed * 1000 + r, sizes[k]);
            KernelHistoryEntry *entries = NULL;
            const size_t n = jit_kernel_history(&entries);
            for (size_t i = 0; i < n; ++i)
                if (entries[i].type == KernelTypeJIT && !entries[i].cache_hit) {
                    times[count] = entries[i].backend_time /
                                   (double) entries[i].operation_count;
                    ratios[count++] = entries[i].backend_time * 1e-3 / traced;
                }
            jit_kernel_history_release(entries, n);
        }
        harness_require(count > runs / 2, "%zu kernels of %zu are new", count, runs);
        char name[32];
        snprintf(name, sizeof(name), "%zu ops", sizes[k]);
        harness_emit("codegen", name, harness_median(times, count) * 1e6,
                     "ns/operation");
        snprintf(name, sizeof(name), "%zu ops, of tracing", sizes[k]);
        harness_emit("codegen", name, harness_median(ratios, count), "times");
    }
    jit_set_flag(JitFlagKernelHistory, 0);
}

/* Resident memory that a thousand different kernels of 100 operations add: bytes. */
static void measure_kernels(const char *argument)
{
    const uint64_t seed = argument ? strtoull(argument, NULL, 10) : 1;
    for (uint64_t i = 0; i < 10; ++i)
        run_new_program(seed * 10000 + i, 100);
    const size_t before = harness_resident();
    for (uint64_t i = 10; i < 1010; ++i)
        run_new_program(seed * 10000 + i, 100);
    harness_emit("kernels", "1000 of 100 ops",
                 (double) harness_resident() - (double) before, "B");
}

/* A dummy kernel, so that an engine that is loaded on demand is there. */
static void load_engine(void)
{
    const uint32_t a = opaque_f32(2.f), x = jit_var_mul(a, a);
    float value = 0;
    harness_require(jit_var_read(x, 0, &value) && value == 4.f, "2 * 2 is %g",
                    (double) value);
    jit_var_dec_ref(a);
    jit_var_dec_ref(x);
}

/* One chain of as many operations as the argument says, traced and launched once: time
 * and memory of each phase. A process for each size, so that peaks are its own. */
static void measure_growth(const char *argument)
{
    const size_t ops = argument ? strtoull(argument, NULL, 10) / 2 * 2 : 1000;
    float a[SMALL], b[SMALL];
    for (int i = 0; i < SMALL; ++i) {
        a[i] = (float) i + 1.f;
        b[i] = ((float) i + 1.f) * .03f;
    }
    const uint32_t va = jit_var_mem_copy(JitBackendLLVM, VarTypeFloat32, a, SMALL),
                   vb = jit_var_mem_copy(JitBackendLLVM, VarTypeFloat32, b, SMALL);
    load_engine();
    const size_t before = harness_resident();
    double start = harness_clock();
    const uint32_t x = programs_chain(va, vb, ops / 2);
    const double traced = harness_clock() - start;
    const size_t nodes = harness_resident();
    start = harness_clock();
    const bool ok = jit_var_eval(x) && jit_sync_thread();
    const double evaluated = harness_clock() - start;
    const size_t peak = harness_peak_resident();
    harness_require(ok, "jit_var_eval");
    check_chain(x, a, b, ops / 2);
    jit_var_dec_ref(x);
    jit_var_dec_ref(va);
    jit_var_dec_ref(vb);

    char name[64];
    const double n = (double) ops;
    snprintf(name, sizeof(name), "%zu ops, trace", ops);
    harness_emit("growth", name, traced / n * 1e9, "ns/operation");
    snprintf(name, sizeof(name), "%zu ops, first launch", ops);
    harness_emit("growth", name, evaluated / n * 1e9, "ns/operation");
    if (ops < 100000) /* pages hide the memory of small programs */
        return;
    snprintf(name, sizeof(name), "%zu ops, memory traced", ops);
    harness_emit("growth", name, (double) (nodes - before) / n, "B/operation");
    snprintf(name, sizeof(name), "%zu ops, peak memory", ops);
    harness_emit("growth", name, (double) (peak - before) / n, "B/operation");
}

/* Resident memory of a million traced operations: bytes each. */
static void measure_footprint(const char *unused)
{
    (void) unused;
    const uint32_t a = opaque_f32(1.5f), b = opaque_f32(.75f);
    jit_var_dec_ref(programs_chain(a, b, 10));
    const size_t before = harness_resident();
    const uint32_t x = programs_chain(a, b, 500000);
    harness_require(x != 0, "tracing");
    harness_emit("footprint", "mul/add chain",
                 (double) (harness_resident() - before) / 1e6, "B/operation");
    jit_var_dec_ref(x);
    jit_var_dec_ref(a);
    jit_var_dec_ref(b);
}

/* ---------------------------------------------------------------- start-up */

static double process_start;

/* From the first line of the program to the sum of a thousand square roots: ms. The
 * argument names the state of the disk cache. */
static void measure_startup(const char *argument)
{
    const uint32_t i = jit_var_counter(JitBackendLLVM, 1000),
                   f = jit_var_cast(i, VarTypeFloat32, 0),
                   c = jit_var_f32(JitBackendLLVM, 1.25f), s = jit_var_add(f, c),
                   r = jit_var_sqrt(s), sum = jit_var_reduce(r, ReduceOpAdd);
    float value = 0;
    const bool ok = jit_var_read(sum, 0, &value);
    const double end = harness_clock();
    double expected = 0;
    for (int k = 0; k < 1000; ++k)
        expected += sqrt(k + 1.25);
    harness_require(ok && harness_close((double) value, expected, 1e-5),
                    "sum of square roots: found %g, expected %g", (double) value,
                    expected);
    const uint32_t all[] = { i, f, c, s, r, sum };
    for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); ++k)
        jit_var_dec_ref(all[k]);
    char name[64];
    snprintf(name, sizeof(name), "first result, %s", argument ? argument : "cold");
    harness_emit("startup", name, (end - process_start) * 1e3, "ms");
}

/* -------------------------------------------------------------------- main */

/* How parallel this machine is at the moment. */
static void measure_calibrate(const char *unused)
{
    (void) unused;
    const uint32_t count = jit_llvm_thread_count();
    harness_emit("calibrate", "threads", (double) count, "threads");
    harness_emit("calibrate", "parallelism", harness_parallelism(count ? count : 1),
                 "threads");
}

/* Version of the compiler that a compiling engine would use. */
static void measure_version(const char *unused)
{
    (void) unused;
    int major = 0, minor = 0, patch = 0;
    jit_llvm_version(&major, &minor, &patch);
    printf("{\"measure\": \"version\", \"llvm\": \"%d.%d.%d\", \"cpu\": \"%s\", "
           "\"width\": %u, \"threads\": %u}\n",
           major, minor, patch, jit_llvm_target_cpu(), jit_llvm_vector_width(),
           jit_llvm_thread_count());
}

static const struct {
    const char *name;
    void (*measure)(const char *argument);
} measures[] = {
    { "trace", measure_trace },
    { "launch", measure_launch },
    { "first", measure_first },
    { "codegen", measure_codegen },
    { "kernels", measure_kernels },
    { "growth", measure_growth },
    { "footprint", measure_footprint },
    { "startup", measure_startup },
    { "arithmetic", throughput_arithmetic },
    { "axpy", throughput_axpy },
    { "streams", streams_run },
    { "scatter", throughput_scatter },
    { "reduce", throughput_reduce },
    { "mandelbrot", regions_mandelbrot },
    { "march", regions_march },
    { "dispatch", regions_dispatch },
    { "math", functions_each },
    { "math first", functions_first },
    { "libmvec", functions_libmvec },
    { "calibrate", measure_calibrate },
    { "version", measure_version },
};

int main(int argc, char **argv)
{
    process_start = harness_clock();
    for (size_t k = 0; argc > 1 && k < sizeof(measures) / sizeof(measures[0]); ++k) {
        if (strcmp(argv[1], measures[k].name))
            continue;
        jit_set_log_level_stderr(LogLevelWarn); /* as the peer's default */
        harness_require(jit_init(JitBackendLLVM), "jit_init");
        measures[k].measure(argc > 2 ? argv[2] : NULL);
        harness_require(jit_shutdown(0) == 0, "variables leaked");
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "usage: core_bench MEASURE [ARGUMENT]\nmeasures:");
    for (size_t k = 0; k < sizeof(measures) / sizeof(measures[0]); ++k)
        fprintf(stderr, " %s", measures[k].name);
    fprintf(stderr, "\n");
    return EXIT_FAILURE;
}
