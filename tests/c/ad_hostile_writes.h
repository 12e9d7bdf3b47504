/*
 * ad_hostile_writes.h -- scenarios in which loops write to arrays
 */
#ifndef AD_HOSTILE_WRITES_H
#define AD_HOSTILE_WRITES_H

#include "ad_hostile_util.h"

/* x^2 goes to each lane of an array. */
static uint64_t write_square(uint64_t array, uint64_t x, ReduceOp op)
{
    uint64_t square = ad_var_mul(x, x);
    uint32_t lane = jit_var_counter(CPU, N);
    uint64_t next = ad_var_scatter(array, square, lane, 0, op, ReduceModeAuto);
    ad_var_dec_ref(square);
    jit_var_dec_ref(lane);
    return next;
}

static uint64_t add_to_array(uint64_t array, uint64_t x)
{
    return write_square(array, x, ReduceOpAdd);
}

static uint64_t replace_in_array(uint64_t array, uint64_t x)
{
    return write_square(array, x, ReduceOpIdentity);
}

static bool gradient_of_scatter_in_loop(void)
{
    uint64_t x = input(), array = ad_var_mul(x, single(1));
    uint64_t y = three_times(ADLoopUnbounded, add_to_array, array, x);
    return go_back(y, ADFlagDefault) && gradient_is(x, 8, 1 + 6);
}

static bool gradient_of_overwriting_loop(void)
{
    uint64_t x = input(), array = ad_var_mul(x, single(1));
    uint64_t y = three_times(ADLoopUnbounded, replace_in_array, array, x);
    return go_back(y, ADFlagDefault) && gradient_is(x, 8, 2);
}

static uint64_t overwrite_within(uint64_t array, uint64_t x)
{
    return ad_var_inc_ref(
        three_times(ADLoopUnbounded, replace_in_array, ad_var_inc_ref(array), x));
}

static bool tangent_is_two(Step step)
{
    uint64_t x = input();
    uint64_t array = jit_var_mul((uint32_t) x, (uint32_t) single(1));
    uint64_t y = three_times(ADLoopUnbounded, step, array, x);
    uint32_t one = (uint32_t) single(1);
    return y && one && ad_set_grad(x, one) && ad_enqueue(ADModeForward, x) &&
           ad_traverse(ADModeForward, ADFlagDefault) && gradient_is(y, 8, 2);
}

static bool tangent_of_overwritten(void)
{
    return tangent_is_two(replace_in_array);
}

static bool tangent_of_overwritten_within(void)
{
    return tangent_is_two(overwrite_within);
}

static bool gradient_of_overwritten_within(void)
{
    uint64_t x = input(), array = ad_var_mul(x, single(1));
    uint64_t y = three_times(ADLoopUnbounded, overwrite_within, array, x);
    return go_back(y, ADFlagDefault) && gradient_is(x, 8, 2);
}

/* Both sides of a conditional overwrite a state of the loop, the second one with what
 * is not tracked. */
static uint64_t overwrite_in_sides(uint64_t array, uint64_t x)
{
    uint32_t less = own(jit_var_lt((uint32_t) x, single(1)));
    uint32_t cond = less ? ad_var_cond_start("hostile", less) : 0;
    if (!cond)
        return 0;
    uint64_t sides[2] = { 0 }, result = 0;
    bool ok = true;
    for (int k = 0; k < 2 && ok; k++) {
        uint64_t value = k ? ad_var_inc_ref(single(3)) : ad_var_mul(x, x);
        sides[k] = ad_var_scatter(array, value, counter(), 0, ReduceOpIdentity,
                                  ReduceModeAuto);
        ad_var_dec_ref(value);
        ok = sides[k] != 0;
        if (!ok)
            ad_record_end(CPU, cond, 1);
        ok = ok && ad_var_cond_append(cond, 1, &sides[k]);
    }
    ok = ok && ad_var_cond_end(cond, &result);
    ad_var_dec_ref(sides[0]);
    ad_var_dec_ref(sides[1]);
    return ok ? result : 0;
}

static bool gradient_of_sides_within(void)
{
    uint64_t x = input();
    uint64_t array = jit_var_mul((uint32_t) x, (uint32_t) single(1));
    uint64_t y = three_times(ADLoopUnbounded, overwrite_in_sides, array, x);
    return go_back(y, ADFlagDefault) && gradient_is(x, 4, 1) && gradient_is(x, 8, 0);
}

/* An array that is neither tracked nor a state is cleared, and added to. */
static uint64_t beside;

static uint64_t clear_and_add(uint64_t y, uint64_t x)
{
    uint64_t cleared = ad_var_scatter(beside, single(0), counter(), 0, ReduceOpIdentity,
                                      ReduceModeAuto);
    ad_var_dec_ref(beside);
    beside = add_to_array(cleared, x);
    ad_var_dec_ref(cleared);
    return beside ? ad_var_inc_ref(y) : 0;
}

static bool gradient_of_cleared(void)
{
    uint64_t x = input();
    beside = jit_var_mul((uint32_t) x, (uint32_t) single(1));
    uint64_t y = three_times(ADLoopUnbounded, clear_and_add, ad_var_inc_ref(x), x);
    track(beside);
    return y && beside && go_back(beside, ADFlagDefault) && gradient_is(x, 8, 2);
}

#endif
