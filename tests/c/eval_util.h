/*
 * eval_util.h -- what the tests of evaluation share
 */
#ifndef EVAL_UTIL_H
#define EVAL_UTIL_H

#include "test_util.h"

typedef struct Stats {
    size_t launches, hits, soft, hard;
} Stats;

static UNUSED Stats stats_now(void)
{
    Stats s;
    jit_launch_stats(&s.launches, &s.hits, &s.soft, &s.hard);
    return s;
}

/* Launches, hits and kernels loaded or compiled since 'before'. */
static UNUSED void check_stats(const Stats *before, size_t launches, size_t hits,
                               size_t misses, int line)
{
    Stats s = stats_now();
    size_t found[] = { s.launches - before->launches, s.hits - before->hits,
                       s.soft + s.hard - before->soft - before->hard };
    if (found[0] != launches || found[1] != hits || found[2] != misses)
        fail_msg("line %d: %zu launches, %zu hits, %zu misses, expected %zu, %zu, %zu",
                 line, found[0], found[1], found[2], launches, hits, misses);
}
#define CHECK_STATS(before, launches, hits, misses) \
    check_stats(&before, launches, hits, misses, __LINE__)

/* counter(size) * factor + 1 */
static UNUSED uint32_t sample(uint32_t size, uint32_t factor)
{
    uint32_t c = jit_var_counter(CPU, size), f = jit_var_u32(CPU, factor);
    uint32_t one = jit_var_u32(CPU, 1), p = jit_var_mul(c, f), r = jit_var_add(p, one);
    OK(r);
    DROP(c, f, one, p);
    return r;
}

/* run_engines() with a disk cache of its own, empty at the beginning. */
static UNUSED int run_engines_uncached(int (*tests)(void))
{
    char folder[] = "/tmp/drjit-test-XXXXXX", command[100];
    if (!mkdtemp(folder))
        return 1;
    setenv("DRJIT_CACHE_DIR", folder, 1);
    int failures = run_engines(tests);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) != 0 || failures;
}

#endif
