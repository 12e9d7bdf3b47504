/*
 * interp_regions.h -- what test_interp_regions.c and test_interp_calls.c share:
 * Programs with regions, arrays of a launch, a process for each instruction set
 */
#ifndef TESTS_INTERP_REGIONS_H
#define TESTS_INTERP_REGIONS_H

#include <sys/wait.h>
#include <unistd.h>

#include "interp_reference.h"

static const uint32_t sizes[] = { 1, 15, 16, 17, 511, 512, 513, 5000 };
enum { SIZES = sizeof sizes / sizeof *sizes, MOST_ARRAYS = 13 };

#define U32 VarTypeUInt32
#define F32 VarTypeFloat32
#define BOOL VarTypeBool

/* ---- building */

static inline uint32_t literal(Program *p, VarType type, uint64_t bits)
{
    return program_add_literal(p, type, bits);
}

static inline uint32_t region(Program *p, RegionKind kind, uint32_t count, ...)
{
    uint32_t args[16];
    va_list list;
    va_start(list, count);
    for (uint32_t i = 0; i < count; ++i)
        args[i] = va_arg(list, uint32_t);
    va_end(list);
    uint32_t number = program_add_region(p, kind, count, args, 0, NULL);
    assert_int_not_equal(number, PROGRAM_NONE);
    return number;
}

static inline uint32_t call(Program *p, uint32_t target_count, const uint32_t *targets,
                            uint32_t count, const uint32_t *args)
{
    uint32_t number =
        program_add_region(p, REGION_CALL, count, args, target_count, targets);
    assert_int_not_equal(number, PROGRAM_NONE);
    return number;
}

static inline uint32_t callable(Program *p, Program *c)
{
    uint32_t number = program_add_callable(p, c);
    assert_int_not_equal(number, PROGRAM_NONE);
    return number;
}

static inline uint32_t counter(Program *p)
{
    return add(p, OP_COUNTER, U32, 0, 0);
}

/* An operation on two u32. */
static inline uint32_t op2(Program *p, Op op, uint32_t a, uint32_t b)
{
    return add(p, op, op_info[op].result == RESULT_MASK ? BOOL : U32, 0, 2, a, b);
}

static inline uint32_t u32(Program *p, uint32_t value)
{
    return literal(p, U32, value);
}

/* ---- arrays of a launch */

typedef struct Arrays {
    uint32_t count, lanes;
    void *data[MOST_ARRAYS];
    VarType type[MOST_ARRAYS];
    uint64_t args[MOST_ARRAYS];
} Arrays;

static inline void *add_array(Arrays *a, VarType type, uint32_t entries)
{
    assert_true(a->count < MOST_ARRAYS);
    a->data[a->count] = array_of(type, entries);
    a->type[a->count] = type;
    a->args[a->count] = address(a->data[a->count]);
    return a->data[a->count++];
}

static inline uint32_t *input_u32(Arrays *a, uint32_t below)
{
    uint32_t *data = add_array(a, U32, a->lanes);
    for (uint32_t i = 0; i < a->lanes; ++i)
        data[i] = (uint32_t) (random_bits() >> 20) % below;
    return data;
}

static inline uint32_t *zeros(Arrays *a, uint32_t entries)
{
    uint32_t *data = add_array(a, U32, entries);
    memset(data, 0, entries * sizeof *data);
    return data;
}

static inline uint8_t *input_mask(Arrays *a)
{
    uint8_t *data = add_array(a, BOOL, a->lanes);
    for (uint32_t i = 0; i < a->lanes; ++i)
        data[i] = random_bits() % 3 != 0;
    return data;
}

static inline void finish(Arrays *a)
{
    for (uint32_t i = 0; i < a->count; ++i)
        free(a->data[i]);
}

#define FOR_SIZES(a)                                 \
    for (uint32_t size_ = 0; size_ < SIZES; ++size_) \
        for (Arrays a = { .lanes = sizes[size_] }; a.lanes; finish(&a), a.lanes = 0)

/* ---- running */

/* The instruction set is chosen once in a process. */
static inline int run_sets(int (*run_all)(void))
{
    static const char *const sets[] = { "baseline", "avx2", "avx512" };
    int failed = 0;
    for (uint32_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
        printf("DRJIT_INTERP_ISA=%s\n", sets[i]);
        fflush(stdout);
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0)
            return setenv("DRJIT_INTERP_ISA", sets[i], 1) != 0 || run_all() != 0;
        int status = 1;
        if (waitpid(child, &status, 0) != child || status != 0)
            failed = 1;
    }
    return failed;
}

#endif
