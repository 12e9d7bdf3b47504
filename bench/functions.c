/*
 * functions.c -- the math functions, and those of glibc's libmvec beside them
 *
 * The intervals are where the functions are used most. Those with two arguments get the
 * same array from both ends. Results are compared with the C library's at a few lanes
 * before anything is timed.
 */
#include "functions.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drjit-core/jit.h"
#include "harness.h"
#include "programs.h"

enum { FEWEST = 7, MOST = 4096, CALLS = 100, CALLS_LANES = 1024 };
#define WARM_SECONDS .1
#define TIMED_SECONDS .2

static double lgamma_1(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

static double rcp_1(double x)
{
    return 1 / x;
}

static double rsqrt_1(double x)
{
    return 1 / sqrt(x);
}

/* A function and where it is called. */
typedef struct FunctionCase {
    const char *name, *c_name; /* NULL: the C library has none */
    JitOp op;
    double lower, upper;
    double (*one)(double);
    double (*two)(double, double);
} FunctionCase;

static const FunctionCase cases[] = {
    { "sin", "sin", JitOpSin, -10, 10, sin, NULL },
    { "cos", "cos", JitOpCos, -10, 10, cos, NULL },
    { "tan", "tan", JitOpTan, -1.5, 1.5, tan, NULL },
    { "asin", "asin", JitOpAsin, -1, 1, asin, NULL },
    { "acos", "acos", JitOpAcos, -1, 1, acos, NULL },
    { "atan", "atan", JitOpAtan, -9, 9, atan, NULL },
    { "exp", "exp", JitOpExp, -20, 20, exp, NULL },
    { "exp2", "exp2", JitOpExp2, -20, 20, exp2, NULL },
    { "log", "log", JitOpLog, 1e-6, 99, log, NULL },
    { "log2", "log2", JitOpLog2, 1e-6, 99, log2, NULL },
    { "sinh", "sinh", JitOpSinh, -9, 9, sinh, NULL },
    { "cosh", "cosh", JitOpCosh, -9, 9, cosh, NULL },
    { "tanh", "tanh", JitOpTanh, -9, 9, tanh, NULL },
    { "asinh", "asinh", JitOpAsinh, -9, 9, asinh, NULL },
    { "acosh", "acosh", JitOpAcosh, 1.01, 99, acosh, NULL },
    { "atanh", "atanh", JitOpAtanh, -.99, .99, atanh, NULL },
    { "rcp", NULL, JitOpRcp, 1e-3, 99, rcp_1, NULL },
    { "rsqrt", NULL, JitOpRsqrt, 1e-3, 99, rsqrt_1, NULL },
    { "cbrt", "cbrt", JitOpCbrt, -9, 9, cbrt, NULL },
    { "erf", "erf", JitOpErf, -3, 3, erf, NULL },
    { "erfinv", NULL, JitOpErfinv, -.99, .99, NULL, NULL },
    { "lgamma", "lgamma", JitOpLgamma, .1, 99, lgamma_1, NULL },
    { "digamma", NULL, JitOpDigamma, .1, 99, NULL, NULL },
    { "atan2", "atan2", JitOpAtan2, -9, 9, NULL, atan2 },
    { "power", "pow", JitOpPower, 1e-3, 9, NULL, pow },
    { "hypot", "hypot", JitOpHypot, -9, 9, NULL, hypot },
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

/* Entries of the arrays, and threads that share the work; set before measuring. */
static size_t lanes = 1 << 22;
static uint32_t threads;

/* Entry i of the operands. */
static double entry(const FunctionCase *c, VarType type, size_t i)
{
    double x = c->lower + (double) i * ((c->upper - c->lower) / (double) lanes);
    return type == VarTypeFloat32 ? (double) (float) x : x;
}

static void *operand(const FunctionCase *c, VarType type, bool reversed)
{
    const bool single = type == VarTypeFloat32;
    void *data = harness_alloc(lanes * (single ? sizeof(float) : sizeof(double)));
    for (size_t i = 0; i < lanes; ++i) {
        const double x = entry(c, type, reversed ? lanes - 1 - i : i);
        if (single)
            ((float *) data)[i] = (float) x;
        else
            ((double *) data)[i] = x;
    }
    return data;
}

static void check(const FunctionCase *c, VarType type, const void *result)
{
    if (!c->one && !c->two)
        return;
    for (size_t i = 1; i < lanes; i += 99991) {
        const double x = entry(c, type, i), y = entry(c, type, lanes - 1 - i);
        const double expected = c->one ? c->one(x) : c->two(x, y);
        const double found = type == VarTypeFloat32
                                 ? (double) ((const float *) result)[i]
                                 : ((const double *) result)[i];
        const double bound = type == VarTypeFloat32 ? 1e-6 : 1e-14;
        harness_require(harness_close(found, expected, bound) ||
                            fabs(found - expected) < bound,
                        "%s of %.17g: found %.17g, expected %.17g", c->name, x, found,
                        expected);
    }
}

static const char *type_name(VarType type)
{
    return type == VarTypeFloat32 ? "f32" : "f64";
}

/* Time repetitions of work(), which gives seconds or, if it cannot be done, a negative
 * number, and print them. */
static bool repeat(const char *measure, const FunctionCase *c, VarType type,
                   double (*work)(void *payload), void *payload)
{
    double times[MOST];
    size_t runs = 0;
    const double start = harness_clock();
    while (runs < MOST) {
        const double now = harness_clock() - start;
        if (runs >= FEWEST && now > WARM_SECONDS + TIMED_SECONDS)
            break;
        const double seconds = work(payload);
        if (seconds < 0)
            return false;
        if (now > WARM_SECONDS)
            times[runs++] = seconds;
    }
    char name[32];
    snprintf(name, sizeof(name), "%s %s", c->name, type_name(type));
    harness_emit_times(measure, name, times, runs, 1e9 / (double) lanes, "ns/lane");
    return true;
}

/* ------------------------------------------------------------------------ ours */

typedef struct Ours {
    const FunctionCase *c;
    VarType type;
    uint32_t x[2];
    bool is_checked;
} Ours;

/* Time to evaluate a fresh node; negative if the library lacks the function. */
static double evaluate(void *payload)
{
    Ours *o = payload;
    const uint32_t y = jit_var_op(o->c->op, o->x);
    const double before = harness_clock();
    const bool ok = y && jit_var_eval(y) && jit_sync_thread();
    const double end = harness_clock();
    if (!ok && jit_error() == JIT_ERROR_UNSUPPORTED) {
        jit_error_clear();
        jit_var_dec_ref(y);
        return -1;
    }
    harness_require(ok, "%s", o->c->name);
    if (!o->is_checked) {
        void *data;
        const uint32_t stored = jit_var_data(y, &data);
        harness_require(stored != 0, "jit_var_data");
        check(o->c, o->type, data);
        jit_var_dec_ref(stored);
        o->is_checked = true;
    }
    jit_var_dec_ref(y);
    return end - before;
}

static void measure_case(const FunctionCase *c, VarType type)
{
    Ours o = { .c = c, .type = type };
    for (int k = 0; k < 2; ++k) {
        void *data = operand(c, type, k);
        o.x[k] = jit_var_mem_copy(JitBackendLLVM, type, data, lanes);
        harness_require(o.x[k] != 0, "jit_var_mem_copy");
        free(data);
    }
    if (!repeat("math", c, type, evaluate, &o))
        fprintf(stderr, "%s %s is not there\n", c->name, type_name(type));
    jit_var_dec_ref(o.x[0]);
    jit_var_dec_ref(o.x[1]);
}

/* Small arrays and one thread, if the argument is "core"; what else it names. */
static const char *choose_size(const char *argument)
{
    const bool core = argument && strcmp(argument, "core") == 0;
    if (core) {
        lanes = 1 << 18;
        harness_require(jit_llvm_set_thread_count(1), "jit_llvm_set_thread_count");
    }
    threads = jit_llvm_thread_count() ? jit_llvm_thread_count() : 1;
    return core ? NULL : argument;
}

void functions_each(const char *argument)
{
    const char *only = choose_size(argument);
    for (size_t k = 0; k < CASES; ++k)
        if (!only || !*only || strcmp(only, cases[k].name) == 0) {
            measure_case(&cases[k], VarTypeFloat32);
            measure_case(&cases[k], VarTypeFloat64);
        }
}

/* --------------------------------------------------------------- first launches */

/* x = f(x * constant + leaf), brought back to -1 ... 1 by x / (1 + |x|). */
static const JitOp called[] = { JitOpSin,   JitOpCos,  JitOpSinh, JitOpCosh,
                                JitOpTanh,  JitOpAsinh, JitOpAtan, JitOpExp,
                                JitOpExp2,  JitOpCbrt, JitOpErf,  JitOpTan };
enum { CALLED = sizeof(called) / sizeof(called[0]) };

/* The value of 'owned', which is released, in an operation of two operands. */
static uint32_t advance(JitOp op, uint32_t owned, uint32_t other)
{
    const uint32_t y = jit_var_new_op_2(op, owned, other);
    jit_var_dec_ref(owned);
    return y;
}

static uint32_t trace_calls(const Statement *s, VarType type,
                            const uint32_t leaves[PROGRAM_LEAVES])
{
    uint32_t x = leaves[0];
    jit_var_inc_ref(x);
    for (size_t i = 0; i < CALLS; ++i) {
        const JitOp op = called[(s[i].kind * PROGRAM_LEAVES + s[i].other) % CALLED];
        const uint32_t factor = type == VarTypeFloat32
                                    ? jit_var_f32(JitBackendLLVM, s[i].constant)
                                    : jit_var_f64(JitBackendLLVM,
                                                  (double) s[i].constant);
        const uint32_t u = jit_var_fma(x, factor, leaves[s[i].other]);
        const uint32_t y = jit_var_new_op_1(op, u), size = jit_var_abs(y);
        const uint32_t one = type == VarTypeFloat32 ? jit_var_f32(JitBackendLLVM, 1)
                                                    : jit_var_f64(JitBackendLLVM, 1);
        const uint32_t divisor = advance(JitOpAdd, size, one);
        jit_var_dec_ref(x);
        jit_var_dec_ref(factor);
        jit_var_dec_ref(u);
        jit_var_dec_ref(one);
        x = advance(JitOpDiv, y, divisor);
        jit_var_dec_ref(divisor);
    }
    return x;
}

static double calls_value(const Statement *s, uint64_t seed, double i)
{
    static double (*const functions[CALLED])(double) = {
        sin, cos, sinh, cosh, tanh, asinh, atan, exp, exp2, cbrt, erf, tan
    };
    double x = i / CALLS_LANES + programs_leaf_offset(seed, 0);
    for (size_t k = 0; k < CALLS; ++k) {
        const double leaf = i / CALLS_LANES + programs_leaf_offset(seed, s[k].other);
        const double u = fma(x, (double) s[k].constant, leaf);
        const uint32_t which = (s[k].kind * PROGRAM_LEAVES + s[k].other) % CALLED;
        const double y = functions[which](u);
        x = y / (1 + fabs(y));
    }
    return x;
}

void functions_first(const char *argument)
{
    enum { REPETITIONS = 5 };
    const uint64_t base = argument ? strtoull(argument, NULL, 10) : 1;
    for (VarType type = VarTypeFloat32; type <= VarTypeFloat64; ++type) {
        double times[REPETITIONS];
        char name[32];
        for (uint64_t r = 0; r < REPETITIONS; ++r) {
            const uint64_t seed = base * 1000 + r;
            uint32_t leaves[PROGRAM_LEAVES];
            double found = 0;
            float single = 0;
            Statement *s = programs_random(seed, CALLS);
            programs_leaves(type, CALLS_LANES, seed, leaves);
            const uint32_t x = trace_calls(s, type, leaves);
            const double before = harness_clock();
            harness_require(jit_var_eval(x) && jit_sync_thread(), "jit_var_eval");
            times[r] = harness_clock() - before;
            const bool is_single = type == VarTypeFloat32;
            harness_require(jit_var_read(x, 77, is_single ? (void *) &single
                                                          : (void *) &found),
                            "jit_var_read");
            found = is_single ? (double) single : found;
            harness_require(fabs(found - calls_value(s, seed, 77)) <
                                (is_single ? 1e-2 : 1e-9),
                            "100 calls: found %g, expected %g", found,
                            calls_value(s, seed, 77));
            jit_var_dec_ref(x);
            programs_release(leaves);
            free(s);
        }
        snprintf(name, sizeof(name), "%d calls %s", CALLS, type_name(type));
        harness_emit_times("math first", name, times, REPETITIONS, 1e3, "ms");
    }
}

/* --------------------------------------------------------------------- libmvec */

#if defined(__x86_64__)
#include <immintrin.h>

/* A vector function of one or two operands, and the lanes it takes at once. */
typedef struct VectorCall {
    void *function;
    int arity;
    VarType type;
    const void *x, *y;
    void *out;
} VectorCall;

#define LOOPS(name, isa, vector, scalar, width, load, store)                        \
    __attribute__((target(isa))) static void name(const VectorCall *c, size_t first, \
                                                  size_t end)                       \
    {                                                                               \
        const scalar *x = c->x, *y = c->y;                                          \
        scalar *out = c->out;                                                       \
        vector (*one)(vector);                                                      \
        vector (*two)(vector, vector);                                              \
        memcpy(&one, &c->function, sizeof(one));                                    \
        memcpy(&two, &c->function, sizeof(two));                                    \
        for (size_t i = first; i < end; i += width)                                 \
            store(out + i, c->arity == 1 ? one(load(x + i))                         \
                                         : two(load(x + i), load(y + i)));          \
    }
LOOPS(loop_16, "avx512f", __m512, float, 16, _mm512_loadu_ps, _mm512_storeu_ps)
LOOPS(loop_8, "avx512f", __m512d, double, 8, _mm512_loadu_pd, _mm512_storeu_pd)
LOOPS(narrow_8, "avx2", __m256, float, 8, _mm256_loadu_ps, _mm256_storeu_ps)
LOOPS(narrow_4, "avx2", __m256d, double, 4, _mm256_loadu_pd, _mm256_storeu_pd)
#undef LOOPS

static bool is_wide(void)
{
    return __builtin_cpu_supports("avx512f");
}

static void run_part(void *payload, uint32_t t)
{
    const VectorCall *c = payload;
    const size_t part = lanes / threads / 64 * 64;
    const size_t first = part * t, end = t + 1 == threads ? lanes : first + part;
    if (c->type == VarTypeFloat32)
        (is_wide() ? loop_16 : narrow_8)(c, first, end);
    else
        (is_wide() ? loop_8 : narrow_4)(c, first, end);
}

static double run_vector(void *payload)
{
    const double before = harness_clock();
    harness_parallel(threads, run_part, payload);
    return harness_clock() - before;
}

static void measure_vector(void *library, const FunctionCase *c, VarType type)
{
    char symbol[64];
    const bool single = type == VarTypeFloat32;
    const int arity = c->two ? 2 : 1;
    snprintf(symbol, sizeof(symbol), "_ZGV%cN%d%s_%s%s", is_wide() ? 'e' : 'd',
             (is_wide() ? 8 : 4) * (single ? 2 : 1), arity == 2 ? "vv" : "v", c->c_name,
             single ? "f" : "");
    VectorCall call = { .function = dlsym(library, symbol), .arity = arity,
                        .type = type };
    if (!call.function)
        return;
    void *x = operand(c, type, false), *y = operand(c, type, true);
    call.x = x;
    call.y = y;
    call.out = harness_alloc(lanes * sizeof(double));
    repeat("libmvec", c, type, run_vector, &call);
    free(x);
    free(y);
    free(call.out);
}

void functions_libmvec(const char *argument)
{
    const char *only = choose_size(argument);
    void *library = dlopen("libmvec.so.1", RTLD_NOW);
    if (!library || !__builtin_cpu_supports("avx2")) {
        fprintf(stderr, "there is no libmvec for this CPU\n");
        return;
    }
    for (size_t k = 0; k < CASES; ++k)
        if (cases[k].c_name && (!only || !*only || strcmp(only, cases[k].name) == 0)) {
            measure_vector(library, &cases[k], VarTypeFloat32);
            measure_vector(library, &cases[k], VarTypeFloat64);
        }
    dlclose(library);
}
#else
void functions_libmvec(const char *unused)
{
    (void) unused;
    fprintf(stderr, "libmvec is measured on x86-64 only\n");
}
#endif
