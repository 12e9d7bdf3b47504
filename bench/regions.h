/*
 * regions.h -- measures of control flow: loops and dispatch
 *
 * The same programs as in peer_bench.py. Each prints its cases (see harness.h).
 */
#ifndef BENCH_REGIONS_H
#define BENCH_REGIONS_H

/* 1024 x 1024 points, at most 256 iterations: first picture, and steady. */
void regions_mandelbrot(const char *argument);
/* Sphere tracing with a nested loop, 512 x 512 rays: first picture, and steady. */
void regions_march(const char *argument);
/* Eight functions of 24 operations on 4M lanes; tracing a call over 1,000 objects. */
void regions_dispatch(const char *argument);

#endif
