/*
 * throughput.h -- measures that move much data: arithmetic, axpy, scatters, reductions
 *
 * Each prints its cases (see harness.h). The arguments are unused.
 */
#ifndef BENCH_THROUGHPUT_H
#define BENCH_THROUGHPUT_H

/* Fused bodies of 10, 100 and 1,000 random operations on 4M lanes, f32 and f64. */
void throughput_arithmetic(const char *argument);
/* a x + y on 32M lanes, and a plain C loop with as many threads. */
void throughput_axpy(const char *argument);
/* 8M values added into 1 ... 8M bins, and a random gather. */
void throughput_scatter(const char *argument);
/* Reductions, scans and compaction of 16M entries. */
void throughput_reduce(const char *argument);

#endif
