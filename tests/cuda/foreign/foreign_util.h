/*
 * foreign_util.h -- PTX of others on the simulator, under both orders of lanes
 */
#ifndef CUDA_FOREIGN_FOREIGN_UTIL_H
#define CUDA_FOREIGN_FOREIGN_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sim/sim.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/** The module in a file; fails the test with the simulator's words. */
static inline SimModule *foreign_module(const char *path)
{
    char error[SIM_MESSAGE];
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t) ftell(file);
    char *text = calloc(size + 1, 1);
    rewind(file);
    assert_true(text && fread(text, 1, size, file) == size);
    fclose(file);
    SimModule *module = sim_parse(text, SIM_FOREIGN, error);
    free(text);
    if (!module)
        fail_msg("%s: %s", path, error);
    return module;
}

/** Memory of the simulator with these bytes; NULL: zeros. */
static inline void *foreign_array(SimMemory *memory, const void *data, size_t bytes)
{
    void *array = sim_memory_get(memory, bytes);
    assert_non_null(array);
    if (data)
        memcpy(array, data, bytes);
    else
        memset(array, 0, bytes);
    sim_memory_written(memory, array, bytes);
    return array;
}

/** Run to the end; fails the test with the fault. 'words' are the parameters, each of 8
 *  bytes but the last, which has 4. */
static inline void foreign_run(SimLaunch launch, const SimModule *module,
                               const char *name, const uint64_t *words, size_t count)
{
    SimResult result;
    launch.kernel = sim_find(module, name);
    if (!launch.kernel)
        fail_msg("there is no kernel %s", name);
    launch.params = words;
    launch.param_bytes = 8 * count - 4;
    if (!sim_run(&launch, &result))
        fail_msg("%s", result.message);
}

/** An address as a parameter. */
static inline uint64_t foreign_word(const void *address)
{
    return (uint64_t) (uintptr_t) address;
}

/** Splitmix. */
static inline uint64_t foreign_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

#endif
