/*
 * functions.h -- measures of the math functions
 *
 * Each prints its cases (see harness.h).
 */
#ifndef BENCH_FUNCTIONS_H
#define BENCH_FUNCTIONS_H

/* Every function on 4M lanes, f32 and f64: ns a lane, with a load and a store. The
 * argument names one function; without it, all are measured; with "core", all in one
 * thread on 256K lanes, which stay in its caches, so that other work on the machine
 * shows least. */
void functions_each(const char *argument);
/* A kernel never seen before with 100 calls of functions, 1024 lanes: ms from the
 * evaluation to the result. The argument is a seed. */
void functions_first(const char *argument);
/* As functions_each(), with the vector functions of glibc where it has them. */
void functions_libmvec(const char *argument);

#endif
