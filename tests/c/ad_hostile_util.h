/*
 * ad_hostile_util.h -- what scenarios with derivatives share
 */
#ifndef AD_HOSTILE_UTIL_H
#define AD_HOSTILE_UTIL_H

#include "hostile_util.h"

/* 0, 1/8, ..., as a tracked array. */
static UNUSED uint64_t input(void)
{
    uint32_t eighth = own(jit_var_f32(CPU, 0.125f));
    uint32_t x =
        own(jit_var_mul(own(jit_var_cast(counter(), VarTypeFloat32, 0)), eighth));
    if (!x || !jit_var_schedule(x) || !jit_eval())
        return 0;
    return track(ad_var_track(x));
}

static UNUSED bool gradient_is(uint64_t x, size_t offset, float expected)
{
    uint32_t gradient = own((uint32_t) ad_grad(x));
    float found;
    if (!jit_var_read(gradient, offset, &found))
        return false;
    if (!(found >= expected - 1e-5f && found <= expected + 1e-5f))
        fail_msg("gradient %zu is %g, expected %g", offset, (double) found,
                 (double) expected);
    return true;
}

/* From y, where the gradient is 1, to x. */
static UNUSED bool go_back(uint64_t y, uint32_t flags)
{
    uint32_t one = own(jit_var_f32(CPU, 1));
    return y && one && ad_set_grad(y, one) && ad_enqueue(ADModeBackward, y) &&
           ad_traverse(ADModeBackward, flags);
}

/* From y to x, and from the gradient to x again, whose gradient is the second one. */
static UNUSED bool go_back_twice(uint64_t y, uint64_t x)
{
    if (!go_back(y, ADFlagCreateGraph | ADFlagClearVertices))
        return false;
    uint64_t first = track(ad_grad(x));
    ad_clear_grad(x);
    return go_back(first, ADFlagDefault);
}

static UNUSED uint32_t single(float value)
{
    return own(jit_var_f32(CPU, value));
}

/* An iteration: what becomes of y, a new reference, or 0. */
typedef uint64_t (*Step)(uint64_t y, uint64_t x);

/* Three times y = step(y, x), from 'start' on, whose reference moves. */
static UNUSED uint64_t three_times(int64_t most, Step step, uint64_t start, uint64_t x)
{
    uint32_t three = number(3), one = number(1);
    uint64_t state[] = { start, jit_var_u32(CPU, 0) };
    uint32_t loop = start && state[1] && three && one
                        ? ad_var_loop_start(CPU, "hostile", most, 2, state, NULL)
                        : 0;
    int again = loop ? 0 : -1;
    while (again == 0) {
        uint32_t more = jit_var_lt((uint32_t) state[1], three);
        again = ad_var_loop_cond(loop, more);
        jit_var_dec_ref(more);
        if (again > 0) {
            uint64_t next[] = { step(state[0], x),
                                jit_var_add((uint32_t) state[1], one) };
            for (int k = 0; k < 2; ++k) {
                ad_var_dec_ref(state[k]);
                state[k] = next[k];
            }
        }
        if (again >= 0)
            again = ad_var_loop_end(loop, state);
    }
    track(state[0]);
    track(state[1]);
    return again > 0 ? state[0] : 0;
}

#endif
