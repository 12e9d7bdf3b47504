/*
 * throughput.c -- arithmetic, axpy, scatters and reductions (see throughput.h)
 *
 * What is timed is evaluation and synchronisation. Arithmetic is traced outside the
 * timed part; the other measures trace a handful of nodes, which does not show.
 */
#include "throughput.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drjit-core/jit.h"
#include "harness.h"
#include "programs.h"

#define WARM_SECONDS .5

static uint32_t copy_array(VarType type, const void *memory, size_t size)
{
    const uint32_t index = jit_var_mem_copy(JitBackendLLVM, type, memory, size);
    harness_require(index != 0, "jit_var_mem_copy");
    return index;
}

/* Evaluate, wait and release. */
static void finish(uint32_t index)
{
    jit_var_eval(index);
    harness_require(index && jit_error() == JIT_OK && jit_sync_thread(), "evaluation");
    jit_var_dec_ref(index);
}

/* -------------------------------------------------------------- arithmetic */

static void arithmetic_row(VarType type, size_t ops)
{
    enum { WARM = 3, FEWEST = 7, MOST = 512 };
    const size_t n = (size_t) 1 << 22;
    const uint64_t seed = 20;
    uint32_t leaves[PROGRAM_LEAVES];
    Statement *statements = programs_random(seed, ops);
    programs_leaves(type, n, seed, leaves);
    double times[MOST];
    size_t runs = 0;
    const double start = harness_clock();
    for (int i = 0; runs < MOST; ++i) {
        const double now = harness_clock() - start;
        if (runs >= FEWEST && now > 2 * WARM_SECONDS)
            break;
        const uint32_t x = programs_trace(statements, ops, type, leaves);
        const double before = harness_clock();
        const bool ok = jit_var_eval(x) && jit_sync_thread();
        const double end = harness_clock();
        harness_require(ok, "jit_var_eval");
        if (i == 0)
            programs_check(x, statements, ops, type, n, seed);
        if (i >= WARM && now > WARM_SECONDS)
            times[runs++] = end - before;
        jit_var_dec_ref(x);
    }
    char name[32];
    snprintf(name, sizeof(name), "%s %zu ops", type == VarTypeFloat32 ? "f32" : "f64",
             ops);
    harness_emit("arithmetic", name, harness_median(times, runs) / (double) n * 1e9,
                 "ns/lane");
    programs_release(leaves);
    free(statements);
}

void throughput_arithmetic(const char *unused)
{
    (void) unused;
    for (size_t ops = 10; ops <= 1000; ops *= 10) {
        arithmetic_row(VarTypeFloat32, ops);
        arithmetic_row(VarTypeFloat64, ops);
    }
}

/* -------------------------------------------------------------------- axpy */

typedef struct Axpy {
    uint32_t a, x, y; /* variables */
    size_t size;
    uint32_t threads;
    float factor;
    const float *host_x, *host_y;
    float *host_z;
} Axpy;

static void axpy_traced(void *payload)
{
    const Axpy *p = payload;
    finish(jit_var_fma(p->a, p->x, p->y));
}

static void axpy_part(void *payload, uint32_t t)
{
    const Axpy *p = payload;
    const size_t begin = p->size / p->threads * t,
                 end = t + 1 == p->threads ? p->size : p->size / p->threads * (t + 1);
    const float factor = p->factor;
    const float *restrict x = p->host_x, *restrict y = p->host_y;
    float *restrict z = p->host_z;
    for (size_t i = begin; i < end; ++i)
        z[i] = factor * x[i] + y[i];
}

static void axpy_plain(void *payload)
{
    harness_parallel(((Axpy *) payload)->threads, axpy_part, payload);
}

void throughput_axpy(const char *unused)
{
    (void) unused;
    const size_t n = (size_t) 1 << 25;
    float *x = harness_alloc(n * sizeof(float)), *y = harness_alloc(n * sizeof(float)),
          *z = harness_alloc(n * sizeof(float));
    for (size_t i = 0; i < n; ++i) {
        x[i] = (float) i * 1e-3f;
        y[i] = (float) i + 1.f;
    }
    Axpy p = { .size = n, .factor = 1.5f, .host_x = x, .host_y = y, .host_z = z };
    p.threads = jit_llvm_thread_count() ? jit_llvm_thread_count() : 1;
    p.a = jit_var_literal(JitBackendLLVM, VarTypeFloat32, &p.factor, 1, 1);
    p.x = copy_array(VarTypeFloat32, x, n);
    p.y = copy_array(VarTypeFloat32, y, n);

    const uint32_t r = jit_var_fma(p.a, p.x, p.y);
    for (size_t i = 0; i < n; i += 99991) {
        float value = 0;
        harness_require(jit_var_read(r, i, &value) && value == fmaf(1.5f, x[i], y[i]),
                        "axpy, entry %zu: found %g", i, (double) value);
    }
    jit_var_dec_ref(r);
    const double gigabytes = 12e-9 * (double) n;
    harness_emit("axpy", "f32", gigabytes / harness_time(axpy_traced, &p, WARM_SECONDS),
                 "GB/s");
    harness_emit("axpy", "plain C loop",
                 gigabytes / harness_time(axpy_plain, &p, WARM_SECONDS), "GB/s");
    jit_var_dec_ref(p.a);
    jit_var_dec_ref(p.x);
    jit_var_dec_ref(p.y);
    free(x);
    free(y);
    free(z);
}

/* ----------------------------------------------------------------- scatter */

typedef struct Scatter {
    uint32_t index, value; /* variables */
    size_t bins;
} Scatter;

static uint32_t scatter_add(const Scatter *p)
{
    const float zero = 0;
    const uint32_t target = jit_var_literal(JitBackendLLVM, VarTypeFloat32, &zero,
                                            p->bins, 0),
                   out = jit_var_scatter(target, p->value, p->index, 0, ReduceOpAdd,
                                         ReduceModeAuto);
    jit_var_dec_ref(target);
    harness_require(out != 0, "jit_var_scatter");
    return out;
}

static void scatter_work(void *payload)
{
    finish(scatter_add(payload));
}

static void gather_work(void *payload)
{
    const Scatter *p = payload;
    finish(jit_var_gather(p->value, p->index, 0));
}

static void check_scatter(const Scatter *p, const uint32_t *index, const float *value,
                          size_t n)
{
    double *expected = harness_alloc(p->bins * sizeof(double));
    memset(expected, 0, p->bins * sizeof(double));
    for (size_t i = 0; i < n; ++i)
        expected[index[i]] += (double) value[i];
    const uint32_t out = scatter_add(p);
    void *memory = NULL;
    const uint32_t data = jit_var_data(out, &memory);
    harness_require(data && memory, "jit_var_data");
    for (size_t i = 0; i < p->bins; ++i) {
        const double found = (double) ((const float *) memory)[i];
        harness_require(harness_close(found, expected[i], p->bins < 64 ? 2e-2 : 1e-3),
                        "scatter-add, bin %zu of %zu: found %g, expected %g", i,
                        p->bins, found, expected[i]);
    }
    jit_var_dec_ref(data);
    jit_var_dec_ref(out);
    free(expected);
}

/* Multiplicative hashing spreads the targets, the same way in peer_bench.py. */
static void fill_indices(uint32_t *index, size_t n, size_t bins)
{
    for (size_t i = 0; i < n; ++i) {
        const uint32_t h = (uint32_t) i * 2654435761u;
        index[i] = (uint32_t) ((h ^ (h >> 15)) % bins);
    }
}

void throughput_scatter(const char *unused)
{
    (void) unused;
    static const size_t bins[] = { 1, 64, 4096, 1 << 18, 1 << 23 };
    const size_t n = (size_t) 1 << 23;
    uint32_t *index = harness_alloc(n * sizeof(uint32_t));
    float *value = harness_alloc(n * sizeof(float));
    for (size_t i = 0; i < n; ++i)
        value[i] = (float) i * (1.f / (float) n) + .5f;
    Scatter p = { .value = copy_array(VarTypeFloat32, value, n) };
    for (size_t k = 0; k < sizeof(bins) / sizeof(bins[0]); ++k) {
        p.bins = bins[k];
        fill_indices(index, n, p.bins);
        p.index = copy_array(VarTypeUInt32, index, n);
        check_scatter(&p, index, value, n);
        char name[32];
        snprintf(name, sizeof(name), "%zu bins", p.bins);
        harness_emit("scatter", name,
                     harness_time(scatter_work, &p, WARM_SECONDS) / (double) n * 1e9,
                     "ns/value");
        if (k + 1 == sizeof(bins) / sizeof(bins[0])) {
            const uint32_t g = jit_var_gather(p.value, p.index, 0);
            float found = 0;
            harness_require(jit_var_read(g, 12345, &found) &&
                                found == value[index[12345]],
                            "gather: found %g", (double) found);
            jit_var_dec_ref(g);
            harness_emit("scatter", "random gather",
                         harness_time(gather_work, &p, WARM_SECONDS) / (double) n * 1e9,
                         "ns/value");
        }
        jit_var_dec_ref(p.index);
    }
    jit_var_dec_ref(p.value);
    free(index);
    free(value);
}

/* --------------------------------------------------------------- reduction */

typedef struct Reduction {
    uint32_t value, factors, mask; /* variables */
    size_t size;
    int kind;
} Reduction;

enum { SUM, MAX, PROD, DOT, PREFIX_SUM, BLOCK_SUM, COMPRESS, REDUCTION_COUNT };
enum { BLOCK = 64 };

static const char *const reduction_names[REDUCTION_COUNT] = {
    "sum", "max", "prod", "dot", "prefix sum", "block sum", "compress",
};

static uint32_t reduce(const Reduction *p)
{
    switch (p->kind) {
    case SUM:
        return jit_var_reduce(p->value, ReduceOpAdd);
    case MAX:
        return jit_var_reduce(p->value, ReduceOpMax);
    case PROD:
        return jit_var_reduce(p->factors, ReduceOpMul);
    case DOT:
        return jit_var_reduce_dot(p->value, p->value);
    case PREFIX_SUM:
        return jit_var_block_prefix_reduce(ReduceOpAdd, p->value, p->size, 1, 0);
    case BLOCK_SUM:
        return jit_var_block_reduce(ReduceOpAdd, p->value, BLOCK);
    default:
        return jit_var_compress(p->mask);
    }
}

static void reduce_work(void *payload)
{
    finish(reduce(payload));
}

static void expect(int kind, size_t position, double found, double expected)
{
    const char *name = reduction_names[kind];
    harness_require(harness_close(found, expected, kind == PROD ? 1e-2 : 1e-4),
                    "%s, entry %zu: found %.9g, expected %.9g", name, position, found,
                    expected);
}

/* Compare the reduction 'p->kind' with running totals in double precision. */
static void check_reduction(const Reduction *p, const float *value,
                            const float *factors, const uint8_t *mask)
{
    const uint32_t out = reduce(p);
    void *memory = NULL;
    const uint32_t data = jit_var_data(out, &memory);
    harness_require(data && memory, "jit_var_data");
    const float *found = memory;
    double sum = 0, largest = -INFINITY, product = 1, dot = 0, block = 0;
    size_t set = 0;
    for (size_t i = 0; i < p->size; ++i) {
        const double v = (double) value[i];
        if (p->kind == PREFIX_SUM && i % 4097 == 1)
            expect(p->kind, i, (double) found[i], sum);
        if (p->kind == COMPRESS && mask[i]) {
            harness_require(((const uint32_t *) memory)[set] == i,
                            "compress, entry %zu", set);
            ++set;
        }
        sum += v;
        largest = fmax(largest, v);
        product *= (double) factors[i];
        dot += v * v;
        block = i % BLOCK ? block + v : v;
        if (p->kind == BLOCK_SUM && i % BLOCK == BLOCK - 1)
            expect(p->kind, i / BLOCK, (double) found[i / BLOCK], block);
    }
    const double totals[] = { sum, largest, product, dot };
    if (p->kind <= DOT)
        expect(p->kind, 0, (double) found[0], totals[p->kind]);
    if (p->kind == COMPRESS)
        harness_require(jit_var_size(out) == set, "compress: %zu entries, expected %zu",
                        jit_var_size(out), set);
    jit_var_dec_ref(data);
    jit_var_dec_ref(out);
}

void throughput_reduce(const char *unused)
{
    (void) unused;
    const size_t n = (size_t) 1 << 24;
    float *value = harness_alloc(n * sizeof(float)),
          *factors = harness_alloc(n * sizeof(float));
    uint8_t *mask = harness_alloc(n);
    for (size_t i = 0; i < n; ++i) {
        value[i] = (float) i * (1.f / (float) n) + .5f;
        /* A factor and its inverse, spread so that all products stay near 1. */
        factors[i] = (uint32_t) i * 2654435761u >> 31 ? 1.f + 0x1p-10f
                                                      : (float) (1. / (1. + 0x1p-10));
        mask[i] = ((uint32_t) i * 2654435761u >> 13) % 3 == 0;
    }
    Reduction p = { .size = n };
    p.value = copy_array(VarTypeFloat32, value, n);
    p.factors = copy_array(VarTypeFloat32, factors, n);
    p.mask = copy_array(VarTypeBool, mask, n);
    for (p.kind = 0; p.kind < REDUCTION_COUNT; ++p.kind) {
        check_reduction(&p, value, factors, mask);
        harness_emit("reduce", reduction_names[p.kind],
                     4e-9 * (double) n / harness_time(reduce_work, &p, WARM_SECONDS),
                     "GB/s");
    }
    jit_var_dec_ref(p.value);
    jit_var_dec_ref(p.factors);
    jit_var_dec_ref(p.mask);
    free(value);
    free(factors);
    free(mask);
}
