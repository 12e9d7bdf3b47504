/*
 * region_util.h -- what the tests of loops and conditionals share
 */
#ifndef REGION_UTIL_H
#define REGION_UTIL_H

#include "test_util.h"

/* A loop as the tests write it: condition and body work on the states in place. */
typedef uint32_t (*Condition)(const uint32_t *state);
typedef void (*Step)(uint32_t *state);

static _Thread_local unsigned tracings UNUSED; /* of the body by the last run_loop() */

static UNUSED int run_loop_status(const char *name, size_t n, uint32_t *state,
                                  Condition condition, Step step)
{
    tracings = 0;
    uint32_t loop = jit_var_loop_start(CPU, name, n, state);
    if (!loop)
        return -1;
    int again;
    do {
        uint32_t mask = condition(state);
        again = jit_var_loop_cond(loop, mask);
        jit_var_dec_ref(mask);
        if (again > 0 && n && !jit_var_loop_compress(loop, state))
            return -1;
        if (again > 0) {
            tracings++;
            step(state);
        }
        if (again >= 0)
            again = jit_var_loop_end(loop, state);
    } while (again == 0);
    return again;
}

static UNUSED void run_loop(const char *name, size_t n, uint32_t *state,
                            Condition condition, Step step)
{
    OK(run_loop_status(name, n, state, condition, step) == 1);
}

/* '*slot' becomes 'value', which is owned. */
static UNUSED void set(uint32_t *slot, uint32_t value)
{
    OK(value);
    jit_var_dec_ref(*slot);
    *slot = value;
}

/* op(a, b) where b is released. */
static UNUSED uint32_t with(uint32_t (*op)(uint32_t, uint32_t), uint32_t a, uint32_t b)
{
    uint32_t result = op(a, b);
    OK(result);
    jit_var_dec_ref(b);
    return result;
}

static UNUSED uint32_t u32(uint32_t value) { return jit_var_u32(CPU, value); }

static UNUSED void add_u32(uint32_t *slot, uint32_t value)
{
    set(slot, with(jit_var_add, *slot, u32(value)));
}

/* 0, 1, ... n - 1 */
static UNUSED uint32_t counter(size_t n)
{
    uint32_t id = jit_var_counter(CPU, n);
    OK(id);
    return id;
}

#endif
