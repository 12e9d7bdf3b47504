/*
 * harness.c -- clock, medians, JSON lines, checks and plain threads for the benchmarks
 */
#include "harness.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "drjit-core/jit.h"

#define MAX_RUNS 512
#define MAX_THREADS 256
#define MIN_RUNS 7
#define TIMED_SECONDS 0.4

double harness_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

double harness_median(double *values, size_t count)
{
    qsort(values, count, sizeof(double), compare_doubles);
    const double upper = values[count / 2];
    return count % 2 ? upper : .5 * (values[count / 2 - 1] + upper);
}

void harness_emit(const char *measure, const char *name, double value, const char *unit)
{
    printf(
        "{\"measure\": \"%s\", \"case\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n",
        measure, name, value, unit);
    fflush(stdout);
}

void harness_emit_times(const char *measure, const char *name, double *values,
                        size_t count, double scale, const char *unit)
{
    const double median = harness_median(values, count);
    printf("{\"measure\": \"%s\", \"case\": \"%s\", \"value\": %.6g, \"best\": %.6g, "
           "\"unit\": \"%s\"}\n",
           measure, name, median * scale, values[0] * scale, unit);
    fflush(stdout);
}

void harness_require(bool condition, const char *format, ...)
{
    if (condition)
        return;
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, jit_error() != JIT_OK ? ": %s\n" : "%s\n", jit_error_message());
    fflush(stdout);
    _exit(EXIT_FAILURE); /* no destructors: threads of the library may be running */
}

bool harness_close(double value, double expected, double relative)
{
    if (isnan(expected) || isinf(expected))
        return isnan(expected) ? isnan(value) != 0 : value == expected;
    return fabs(value - expected) <= relative * fabs(expected);
}

double harness_time(void (*work)(void *payload), void *payload, double warm_seconds)
{
    double times[MAX_RUNS];
    double start = harness_clock();
    for (int i = 0; i < 3 || harness_clock() - start < warm_seconds; ++i)
        work(payload);
    start = harness_clock();
    size_t runs = 0;
    while (runs < MAX_RUNS &&
           (runs < MIN_RUNS || harness_clock() - start < TIMED_SECONDS)) {
        const double before = harness_clock();
        work(payload);
        times[runs++] = harness_clock() - before;
    }
    return harness_median(times, runs);
}

void *harness_alloc(size_t size)
{
    void *ptr = aligned_alloc(64, (size + 63) / 64 * 64);
    harness_require(ptr != NULL, "out of memory");
    return ptr;
}

size_t harness_resident(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    size_t total = 0, resident = 0;
    harness_require(f && fscanf(f, "%zu %zu", &total, &resident) == 2,
                    "cannot read /proc/self/statm");
    fclose(f);
    return resident * (size_t) sysconf(_SC_PAGESIZE);
}

size_t harness_peak_resident(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    harness_require(f != NULL, "cannot read /proc/self/status");
    char line[256];
    size_t kib = 0;
    while (fgets(line, sizeof(line), f))
        if (!strncmp(line, "VmHWM:", 6))
            kib = strtoul(line + 6, NULL, 10);
    fclose(f);
    return kib * 1024;
}

typedef struct {
    void (*body)(void *payload, uint32_t t);
    void *payload;
    uint32_t t;
} Part;

static void *run_part(void *arg)
{
    const Part *part = arg;
    part->body(part->payload, part->t);
    return NULL;
}

void harness_parallel(uint32_t count, void (*body)(void *payload, uint32_t t),
                      void *payload)
{
    pthread_t threads[MAX_THREADS];
    Part parts[MAX_THREADS];
    harness_require(count > 0 && count <= MAX_THREADS, "%u threads are too many",
                    count);
    for (uint32_t t = 0; t < count; ++t) {
        parts[t] = (Part){ body, payload, t };
        if (t)
            harness_require(!pthread_create(&threads[t], NULL, run_part, &parts[t]),
                            "cannot start a thread");
    }
    run_part(&parts[0]);
    for (uint32_t t = 1; t < count; ++t)
        pthread_join(threads[t], NULL);
}

/* Arithmetic that no compiler removes and no memory slows down. */
static void spin(void *payload, uint32_t t)
{
    (void) payload;
    uint64_t x = t + 1;
    for (uint32_t i = 0; i < 40u * 1000 * 1000; ++i)
        x = x * 6364136223846793005u + 1442695040888963407u;
    volatile uint64_t sink = x;
    (void) sink;
}

double harness_parallelism(uint32_t count)
{
    double start = harness_clock();
    spin(NULL, 0);
    const double alone = harness_clock() - start;
    start = harness_clock();
    harness_parallel(count, spin, NULL);
    return count * alone / (harness_clock() - start);
}
