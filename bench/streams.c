/*
 * streams.c -- arrays that are read and written once (see streams.h)
 *
 * z = x1 + ... + xk, traced, and as loops of plain C by as many threads: with stores
 * that go through the caches, and with stores past them. The loops run round after
 * round in threads that never wait for each other, which is more than a launch can do.
 */
#include "streams.h"

#include <stdio.h>
#include <stdlib.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "drjit-core/jit.h"
#include "harness.h"

enum { MOST_ARRAYS = 6 };

typedef struct Streams {
    uint32_t count; /* of arrays that are read */
    size_t size;    /* entries of each */
    uint32_t threads, rounds;
    bool past; /* the caches */
    uint32_t variables[MOST_ARRAYS];
    float *x[MOST_ARRAYS], *z;
} Streams;

/* ---- traced */

static uint32_t sum_of(const Streams *s)
{
    uint32_t sum = s->variables[0];
    jit_var_inc_ref(sum);
    for (uint32_t k = 1; k < s->count || (k == 1 && s->count == 1); ++k) {
        uint32_t next = jit_var_add(sum, s->variables[k < s->count ? k : 0]);
        jit_var_dec_ref(sum);
        sum = next;
    }
    return sum;
}

static void traced(void *payload)
{
    const Streams *s = payload;
    uint32_t sum = sum_of(s);
    jit_var_eval(sum);
    harness_require(sum && jit_error() == JIT_OK && jit_sync_thread(), "evaluation");
    jit_var_dec_ref(sum);
}

/* ---- in C */

/* x1 of one array is added to itself. */
static float sum_at(const Streams *s, size_t i)
{
    float sum = s->x[0][i] + s->x[s->count > 1][i];
    for (uint32_t k = 2; k < s->count; ++k)
        sum += s->x[k][i];
    return sum;
}

static void loop_plain(const Streams *s, size_t begin, size_t end)
{
    const float *restrict a = s->x[0], *restrict b = s->x[s->count > 1];
    const float *restrict c = s->x[2], *restrict d = s->x[3], *restrict e = s->x[4];
    const float *restrict f = s->x[5];
    float *restrict z = s->z;
    if (s->count <= 2)
        for (size_t i = begin; i < end; ++i)
            z[i] = a[i] + b[i];
    else if (s->count == 3)
        for (size_t i = begin; i < end; ++i)
            z[i] = a[i] + b[i] + c[i];
    else
        for (size_t i = begin; i < end; ++i)
            z[i] = a[i] + b[i] + c[i] + d[i] + e[i] + f[i];
}

#if defined(__SSE__)
static void loop_past(const Streams *s, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i += 4) {
        __m128 sum = _mm_add_ps(_mm_load_ps(s->x[0] + i),
                                _mm_load_ps(s->x[s->count > 1] + i));
        for (uint32_t k = 2; k < s->count; ++k)
            sum = _mm_add_ps(sum, _mm_load_ps(s->x[k] + i));
        _mm_stream_ps(s->z + i, sum);
    }
    _mm_sfence();
}
#else
static void loop_past(const Streams *s, size_t begin, size_t end)
{
    loop_plain(s, begin, end);
}
#endif

static void part(void *payload, uint32_t t)
{
    const Streams *s = payload;
    size_t share = s->size / s->threads, begin = share * t;
    for (uint32_t r = 0; r < s->rounds; ++r)
        (s->past ? loop_past : loop_plain)(s, begin, begin + share);
}

static void in_c(void *payload)
{
    harness_parallel(((Streams *) payload)->threads, part, payload);
}

/* ---- */

static double best(void (*work)(void *payload), Streams *s, uint32_t rounds)
{
    enum { TIMES = 9 };
    double least = 1e9;
    s->rounds = rounds;
    for (uint32_t i = 0; i < TIMES; ++i) {
        double start = harness_clock();
        for (uint32_t r = 0; r < (work == traced ? rounds : 1); ++r)
            work(s);
        double now = (harness_clock() - start) / rounds;
        least = now < least ? now : least;
    }
    return least;
}

static void check(const Streams *s)
{
    uint32_t sum = sum_of(s);
    for (size_t i = 0; i < s->size; i += s->size / 7 + 1) {
        float value = 0;
        harness_require(jit_var_read(sum, i, &value) && value == sum_at(s, i),
                        "streams: entry %zu is %g", i, (double) value);
    }
    jit_var_dec_ref(sum);
}

static void row(Streams *s)
{
    enum { MOVED = 64 << 20 /* bytes in the rounds of a time */ };
    size_t bytes = (s->count + 1) * s->size * sizeof(float);
    uint32_t rounds = bytes < MOVED ? (uint32_t) (MOVED / bytes) : 1;
    char name[64];
    check(s);
    double ours = best(traced, s, rounds);
    s->past = false;
    double plain = best(in_c, s, rounds);
    s->past = true;
    double past = best(in_c, s, rounds);
    snprintf(name, sizeof name, "%u read, %zu kB", s->count, s->size / 256);
    harness_emit("streams", name, 1e-9 * (double) bytes / ours, "GB/s");
    snprintf(name, sizeof name, "%u read, %zu kB, plain C", s->count, s->size / 256);
    harness_emit("streams", name, 1e-9 * (double) bytes / plain, "GB/s");
    snprintf(name, sizeof name, "%u read, %zu kB, C past the caches", s->count,
             s->size / 256);
    harness_emit("streams", name, 1e-9 * (double) bytes / past, "GB/s");
}

void streams_run(const char *unused)
{
    static const size_t sizes[] = { 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10,
                                    256 << 10 }; /* kB */
    static const uint32_t counts[] = { 1, 2, 3, MOST_ARRAYS };
    (void) unused;
    Streams s = { .threads = jit_llvm_thread_count() ? jit_llvm_thread_count() : 1 };
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        s.size = sizes[i] * 256;
        s.z = harness_alloc(s.size * sizeof(float));
        for (uint32_t k = 0; k < MOST_ARRAYS; ++k) {
            s.x[k] = harness_alloc(s.size * sizeof(float));
            for (size_t j = 0; j < s.size; ++j)
                s.x[k][j] = (float) (j % 1000 + k);
            s.variables[k] = jit_var_mem_copy(JitBackendLLVM, VarTypeFloat32, s.x[k],
                                              s.size);
            harness_require(s.variables[k] != 0, "jit_var_mem_copy");
        }
        for (uint32_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
            s.count = counts[c];
            row(&s);
        }
        for (uint32_t k = 0; k < MOST_ARRAYS; ++k) {
            jit_var_dec_ref(s.variables[k]);
            free(s.x[k]);
        }
        free(s.z);
    }
}
