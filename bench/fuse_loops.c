/*
 * fuse_loops.c -- the measures of fuse_bench.py as plain loops in C, with OpenMP
 *
 *     cc -O3 -march=native -ffast-math -fopenmp bench/fuse_loops.c -o fuse_loops -lm
 *     OMP_NUM_THREADS=2 ./fuse_loops
 *
 * What the compiler makes of the loops that one would write, in as few passes over
 * memory as there can be: the limit that reductions are compared with. Each is run
 * ROUNDS times; prints lines of JSON as the other measures do.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <omp.h>

enum { LANES = 1 << 24, ROWS = 1 << 14, COLUMNS = 1000, BINS = 256, ROUNDS = 40 };

static float *x, *y, *table, *out;
static uint32_t *places;
static volatile float sink; /* somebody needs the results */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void square_sum(void)
{
    float sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < LANES; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    sink = sum;
}

static void moments(void)
{
    float sum = 0, squares = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < LANES; i++)
        sum += x[i];
    const float mean = sum / LANES;
#pragma omp parallel for reduction(+ : squares)
    for (int i = 0; i < LANES; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    sink = mean + squares / LANES;
}

static void sums(void)
{
    float sum = 0, squares = 0;
#pragma omp parallel for reduction(+ : sum, squares)
    for (int i = 0; i < LANES; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    sink = sum + squares;
}

static void dot(void)
{
    float sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < LANES; i++)
        sum += x[i] * y[i];
    sink = sum;
}

static void most(void)
{
    float largest = 0;
#pragma omp parallel for reduction(max : largest)
    for (int i = 0; i < LANES; i++)
        largest = fmaxf(largest, fabsf(x[i] - y[i]));
    sink = largest;
}

static void any(void)
{
    int found = 0;
#pragma omp parallel for reduction(| : found)
    for (int i = 0; i < LANES; i++)
        found |= x[i] > y[i] + 100;
    sink = (float) found;
}

/* Each thread counts its share first, so that it knows where to write. */
static void compress(void)
{
    static uint32_t counts[257];
#pragma omp parallel
    {
        const int t = omp_get_thread_num(), n = omp_get_num_threads();
        const int begin = (int) ((int64_t) LANES * t / n);
        const int end = (int) ((int64_t) LANES * (t + 1) / n);
        uint32_t count = 0;
        for (int i = begin; i < end; i++)
            count += x[i] > 0;
        counts[t + 1] = count;
#pragma omp barrier
        uint32_t at = 0;
        for (int k = 1; k <= t; k++)
            at += counts[k];
        for (int i = begin; i < end; i++) {
            places[at] = (uint32_t) i;
            at += x[i] > 0;
        }
    }
}

static void histogram(void)
{
    static uint32_t bins[BINS];
    memset(bins, 0, sizeof bins);
#pragma omp parallel
    {
        uint32_t own[4][BINS] = { { 0 } }; /* neighbours do not wait for each other */
#pragma omp for
        for (int i = 0; i < LANES; i++) {
            float place = fminf(fmaxf(x[i] * 40 + 128, 0), BINS - 1);
            own[i % 4][(uint32_t) place]++;
        }
#pragma omp critical
        for (int b = 0; b < BINS; b++)
            bins[b] += own[0][b] + own[1][b] + own[2][b] + own[3][b];
    }
    sink = (float) bins[BINS / 2];
}

static void softmax(void)
{
#pragma omp parallel for
    for (int r = 0; r < ROWS; r++) {
        const float *row = table + (size_t) r * COLUMNS;
        float *to = out + (size_t) r * COLUMNS, largest = row[0], sum = 0;
        for (int i = 0; i < COLUMNS; i++)
            largest = fmaxf(largest, row[i]);
        for (int i = 0; i < COLUMNS; i++)
            sum += to[i] = expf(row[i] - largest);
        for (int i = 0; i < COLUMNS; i++)
            to[i] /= sum;
    }
}

static void line(void)
{
    const float slope = 0.5f, offset = 0.25f;
    float loss = 0, by_slope = 0, by_offset = 0;
#pragma omp parallel for reduction(+ : loss, by_slope, by_offset)
    for (int i = 0; i < LANES; i++) {
        const float apart = slope * x[i] + offset - y[i];
        loss += apart * apart;
        by_slope += 2 * apart * x[i];
        by_offset += 2 * apart;
    }
    sink = loss + by_slope + by_offset;
}

static int compare(const void *a, const void *b)
{
    const double x0 = *(const double *) a, y0 = *(const double *) b;
    return (x0 > y0) - (x0 < y0);
}

static void measure(const char *name, void (*work)(void))
{
    double times[ROUNDS];
    work();
    for (int i = 0; i < ROUNDS; i++) {
        const double start = now();
        work();
        times[i] = 1e3 * (now() - start);
    }
    qsort(times, ROUNDS, sizeof(double), compare);
    printf("{\"measure\": \"fuse loops\", \"case\": \"%s\", \"value\": %.3f, "
           "\"best\": %.3f, \"unit\": \"ms\"}\n", name, times[ROUNDS / 2], times[0]);
}

/* Like a normal distribution: the sum of four uniform numbers. */
static void fill(float *to, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        for (int k = 0; k < 4; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            sum += (float) (seed >> 40) / (1 << 24) - 0.5f;
        }
        to[i] = 1.7f * sum;
    }
}

static void *memory(size_t bytes)
{
    void *made = aligned_alloc(1 << 21, (bytes + (1 << 21) - 1) >> 21 << 21);
    if (!made) {
        fputs("fuse_loops: out of memory\n", stderr);
        exit(1);
    }
    return made;
}

int main(void)
{
    static const struct {
        const char *name;
        void (*work)(void);
    } rows[] = {
        { "sum((x - y)^2)", square_sum },  { "mean and variance", moments },
        { "sums of x and x^2", sums },     { "dot", dot },
        { "max(abs(x - y))", most },       { "any(x > y + 100)", any },
        { "compress(x > 0)", compress },   { "histogram", histogram },
        { "softmax of rows", softmax },    { "loss and gradient", line },
    };
    const size_t entries = (size_t) ROWS * COLUMNS;
    x = memory(LANES * sizeof(float));
    y = memory(LANES * sizeof(float));
    places = memory((LANES + 1) * sizeof(uint32_t));
    table = memory(entries * sizeof(float));
    out = memory(entries * sizeof(float));
    fill(x, LANES, 1);
    fill(y, LANES, 2);
    fill(table, entries, 3);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        measure(rows[i].name, rows[i].work);
    return 0;
}
