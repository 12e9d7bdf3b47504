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

#endif
