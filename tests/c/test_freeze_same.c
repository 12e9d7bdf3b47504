/*
 * test_freeze_same.c -- do two recordings do the same?
 *
 * A function that is recorded twice gives two recordings that do, whatever the sizes
 * are, if each serves those of the other. Functions that differ in anything that could
 * be seen give others.
 */
#include "freeze_util.h"

/* Recorded with fresh inputs; if 'known' is there, as a check of it. */
static JitRecording *record_sized(Function call, uint32_t size, JitRecording *known)
{
    uint32_t in[INPUTS], out[MOST];
    make_inputs(size, in);
    OK(jit_freeze_start(CPU, INPUTS, in));
    if (known)
        OK(jit_freeze_check(known));
    const size_t count = call(in, out);
    JitRecording *recording = jit_freeze_stop(count, out);
    OK(recording);
    drop_all(out, count);
    drop_all(in, INPUTS);
    return recording;
}

static int serves(JitRecording *recording, uint32_t size)
{
    uint32_t in[INPUTS];
    make_inputs(size, in);
    const int result = jit_freeze_dry_run(recording, INPUTS, in);
    drop_all(in, INPUTS);
    return result;
}

static void test_itself(void **unused)
{
    (void) unused;
    static const uint32_t sizes[] = { 64, 8, 2000, 200000, 16 };
    for (size_t f = 0; f < COUNT_OF(functions); ++f) {
        JitRecording *known = record_sized(functions[f].call, 64, NULL);
        for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
            JitRecording *again = record_sized(functions[f].call, sizes[s], known);
            const bool both =
                serves(known, sizes[s]) == 1 && serves(again, 64) == 1;
            const int same = jit_freeze_same(known, again);
            /* loops with a few iterations are recordings of their own, and scatters
             * choose by size */
            if (both ? same != 1 && same != 2 : same == 1)
                fail_msg("%s, %u entries: %d", functions[f].name, sizes[s], same);
            if (functions[f].call != loops_within && sizes[s] == 64)
                assert_int_equal(same, 1);
            assert_int_equal(jit_freeze_same(again, known), same);
            jit_freeze_destroy(again);
        }
        jit_freeze_destroy(known);
    }
}

static void test_others(void **unused)
{
    (void) unused;
    JitRecording *all[COUNT_OF(functions)];
    for (size_t f = 0; f < COUNT_OF(functions); ++f)
        all[f] = record_sized(functions[f].call, 64, NULL);
    for (size_t f = 0; f < COUNT_OF(functions); ++f)
        for (size_t g = 0; g < COUNT_OF(functions); ++g)
            if (functions[f].call != functions[g].call &&
                jit_freeze_same(all[f], all[g]) == 1)
                fail_msg("%s is %s", functions[f].name, functions[g].name);
    for (size_t f = 0; f < COUNT_OF(functions); ++f)
        jit_freeze_destroy(all[f]);
}

/* ------------------------------------------------------------------ literals */

static float factor = 2;

static size_t scales(const uint32_t *in, uint32_t *out)
{
    out[0] = take(jit_var_mul, same(in[0]), f32(factor));
    return 1;
}

static size_t gives(const uint32_t *in, uint32_t *out)
{
    (void) in;
    out[0] = f32(factor);
    return 1;
}

static size_t looks_up(const uint32_t *in, uint32_t *out)
{
    uint32_t table[] = { 1, 2, (uint32_t) factor }, two = jit_var_u32(CPU, 2);
    uint32_t stored = u32_array(3, table);
    out[0] = jit_var_gather(stored, two, ALWAYS);
    out[1] = stored;
    jit_var_dec_ref(two);
    (void) in;
    return 2;
}

/* The same again, also where the kernel has become one whose literals are
 * parameters. */
static void test_literals(void **unused)
{
    (void) unused;
    static const Function calls[] = { scales, gives, looks_up };
    for (size_t f = 0; f < COUNT_OF(calls); ++f) {
        factor = 2;
        JitRecording *two = record_sized(calls[f], 64, NULL);
        for (int i = 0; i < 3; ++i) {
            factor = (float) (3 + i);
            JitRecording *other = record_sized(calls[f], 64, two);
            assert_int_equal(jit_freeze_same(two, other), 0);
            factor = 2;
            JitRecording *again = record_sized(calls[f], 64, two);
            assert_int_equal(jit_freeze_same(two, again), 1);
            assert_int_equal(jit_freeze_same(other, again), 0);
            jit_flush_kernel_cache();
            jit_freeze_destroy(again);
            again = record_sized(calls[f], 64, two);
            assert_int_equal(jit_freeze_same(two, again), 1);
            jit_freeze_destroy(again);
            jit_freeze_destroy(other);
        }
        jit_freeze_destroy(two);
    }
}

/* ------------------------------------------------------------------- reading */

static size_t reads_first(const uint32_t *in, uint32_t *out)
{
    float first;
    jit_freeze_allow_reads(1);
    OK(jit_var_read(in[0], 0, &first));
    out[0] = take(jit_var_add, same(in[0]), f32(factor));
    return 1;
}

/* Contents that differ make a difference of their own. */
static void test_contents(void **unused)
{
    (void) unused;
    factor = 1;
    JitRecording *one = record_sized(reads_first, 64, NULL);
    JitRecording *other = record_sized(reads_first, 64, one);
    assert_int_equal(jit_freeze_same(one, other), 2);
    assert_int_equal(jit_freeze_same(one, one), 1);
    jit_freeze_destroy(one);
    jit_freeze_destroy(other);
}

/* ------------------------------------------------------------------ the check */

/* It is as general as what it is compared with, and is called a repetition. */
static void test_check(void **unused)
{
    (void) unused;
    uint32_t in[INPUTS], out[MOST];
    make_inputs(64, in);
    OK(jit_freeze_start(CPU, INPUTS, in) && jit_freeze_set_general(true));
    size_t count = reverses(in, out);
    JitRecording *known = jit_freeze_stop(count, out);
    OK(known);
    drop_all(out, count);
    jit_kernel_history_clear();
    jit_set_flag(JitFlagKernelHistory, 1);
    OK(jit_freeze_start(CPU, INPUTS, in) && jit_freeze_check(known));
    assert_true(jit_freeze_is_general());
    count = reverses(in, out);
    JitRecording *again = jit_freeze_stop(count, out);
    OK(again);
    jit_set_flag(JitFlagKernelHistory, 0);
    KernelHistoryEntry *entries;
    const size_t launches = jit_kernel_history(&entries);
    assert_true(launches > 0);
    for (size_t i = 0; i < launches; ++i)
        assert_int_equal(entries[i].recording_mode, KernelRecordingModeReplayed);
    jit_kernel_history_release(entries, launches);
    assert_int_equal(jit_freeze_same(known, again), 1);
    JitRecording *special = record_sized(reverses, 64, NULL);
    assert_int_equal(jit_freeze_same(known, special), 0);
    jit_freeze_destroy(special);
    jit_freeze_destroy(again);
    jit_freeze_destroy(known);
    drop_all(out, count);
    drop_all(in, INPUTS);
}

static void test_errors(void **unused)
{
    (void) unused;
    JitRecording *known = record_sized(arithmetic, 8, NULL);
    assert_int_equal(jit_freeze_same(known, NULL), -1);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_same()", "b is NULL");
    assert_int_equal(jit_freeze_same(NULL, known), -1);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_same()", "a is NULL");
    assert_false(jit_freeze_check(NULL));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_freeze_check()", "known");
    assert_false(jit_freeze_check(known)); /* nothing is recorded */
    CHECK_ERROR(JIT_ERROR_STATE, "recording", "function");
    jit_freeze_destroy(known);
}

static int tests(void)
{
    const struct CMUnitTest list[] = { TEST(test_itself),   TEST(test_others),
                                       TEST(test_literals), TEST(test_contents),
                                       TEST(test_check),    TEST(test_errors) };
    return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void) { return run_engines(tests); }
