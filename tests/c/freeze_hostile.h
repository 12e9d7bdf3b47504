/*
 * freeze_hostile.h -- scenarios of test_hostile.c: what recordings have from elsewhere,
 * and what is kept of them
 */
#ifndef TESTS_FREEZE_HOSTILE_H
#define TESTS_FREEZE_HOSTILE_H

#include "hostile_util.h"

/* Enough of them for lists and tables to grow. */
enum { OTHERS = 40 };

/* A recording uses many literals that are not its own: values are right, all of
 * them are found unless memory had run out, which is an error in the end, and it is
 * refused. */
static bool frozen_foreign(void)
{
    uint32_t x = counter(), others[OTHERS], found[OTHERS] = { 0 };
    for (uint32_t i = 0; i < OTHERS; ++i)
        others[i] = number(1000 + i);
    if (!x || !others[OTHERS - 1] || !jit_var_schedule(x) || !jit_eval() ||
        !jit_freeze_start(CPU, 1, &x))
        return false;
    uint32_t sum = x;
    for (uint32_t i = 0; sum && i < OTHERS; ++i)
        sum = own(jit_var_add(sum, others[i]));
    jit_error_clear();
    const size_t count = jit_freeze_foreign(OTHERS, found);
    for (size_t i = 0; i < count; ++i)
        assert_true(jit_var_ref(found[i]) >= 2);
    JitRecording *recording = jit_freeze_stop(sum != 0, &sum);
    assert_null(recording);
    assert_true(jit_error() != JIT_OK);
    bool ok = sum && jit_error() == JIT_ERROR_UNSUPPORTED;
    if (ok) {
        assert_int_equal(count, OTHERS);
        assert_non_null(strstr(jit_error_message(), "and 39 others"));
    }
    return ok && entry_is(sum, 7, 7 + OTHERS * 1000 + OTHERS * (OTHERS - 1) / 2);
}

/* What a recording leaves behind is found, or memory had run out; and then it is as
 * good as before. */
static bool frozen_kept(void)
{
    uint32_t x = counter(), kept[OTHERS], found[OTHERS];
    if (!x || !jit_var_schedule(x) || !jit_eval() || !jit_freeze_start(CPU, 1, &x))
        return false;
    for (uint32_t i = 0; i < OTHERS; ++i)
        kept[i] = own(jit_var_mul(x, number(1000 + i)));
    uint64_t y = track(ad_var_track(own(jit_var_cast(x, VarTypeFloat32, 0))));
    uint64_t z = y ? track(ad_var_mul(y, y)) : 0;
    size_t count = SIZE_MAX;
    if (z && kept[OTHERS - 1])
        count = jit_freeze_escaped(0, NULL, OTHERS, found);
    if (count == SIZE_MAX) {
        jit_freeze_abort();
        return false;
    }
    /* Each of them, its factor, y and z. */
    assert_int_equal(count, 2 * OTHERS + 2);
    JitRecording *recording = jit_freeze_stop(1, kept);
    jit_freeze_destroy(recording);
    return recording && entry_is(kept[0], 7, 7000);
}

#endif
