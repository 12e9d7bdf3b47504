/*
 * test_freeze_hostile.c -- recordings, with the n-th allocation or file operation
 * failing, for every n
 *
 * Built with JIT_HOSTILE; see hostile_util.h. Functions are recorded and repeated, what
 * they have from elsewhere and what is kept of them is found, and recordings are saved,
 * loaded and exported.
 */
#include "hostile_util.h"

/* 3 * x, its sum, and the entries for which it is above 10. */
static bool tripled(uint32_t x, uint32_t *out)
{
    uint32_t product = own(jit_var_mul(x, number(3)));
    out[0] = own(jit_var_add(product, number(1)));
    out[1] = own(jit_var_reduce(product, ReduceOpAdd));
    uint32_t mask = own(jit_var_gt(product, number(10)));
    out[2] = own(jit_var_compress(mask));
    return out[0] && out[1] && out[2];
}

/* A function is recorded, and repeated for another size. */
static bool frozen(void)
{
    uint32_t x = counter(), out[3];
    if (!x || !jit_var_schedule(x) || !jit_eval() || !jit_freeze_start(CPU, 1, &x))
        return false;
    JitRecording *recording = tripled(x, out) ? jit_freeze_stop(3, out) : NULL;
    jit_freeze_abort();
    if (!recording)
        return false;
    uint32_t small = own(jit_var_counter(CPU, 10)), again[3];
    bool ok = small && jit_var_schedule(small) && jit_eval();
    int done = ok ? jit_freeze_replay(recording, 1, &small, again) : -1;
    ok = done > 0;
    for (int i = 0; i < 3 && ok; i++)
        own(again[i]);
    const char *text = ok ? jit_freeze_str(recording) : NULL;
    jit_freeze_destroy(recording);
    if (done == 0)
        fail_msg("a recording was refused");
    return text && entry_is(again[0], 9, 28) && entry_is(again[1], 0, 135) &&
           entry_is(again[2], 0, 4);
}

/* Sums of blocks, prefix sums, and a product of matrices, all of half the size of x. */
static bool halved(uint32_t x, uint32_t *out)
{
    JitSize all = jit_freeze_size(x), two = jit_freeze_size_constant(2);
    JitSize half = all && two ? jit_freeze_size_op(JitSizeDiv, all, two) : 0;
    const size_t n = jit_var_peek_size(x) / 2;
    uint32_t square = own(jit_var_mul(x, x));
    if (!half || !square || !jit_freeze_size_next(half))
        return false;
    out[0] = own(jit_var_block_reduce(ReduceOpAdd, square, n));
    if (!out[0] || !jit_freeze_size_next(half))
        return false;
    out[1] = own(jit_var_block_prefix_reduce(ReduceOpAdd, x, n, 0, 0));
    const uint64_t sizes[] = { 0, half, 0, 0, 0 };
    JitGemm shape = { .m = 2, .n = n, .k = 2, .transpose_b = true, .sizes = sizes };
    out[2] = out[1] ? own(jit_var_batched_gemm(x, x, &shape)) : 0;
    return out[2] != 0;
}

/* Blocks and matrices of a recording have other sizes when it is repeated. */
static bool frozen_blocks(void)
{
    uint32_t x = counter(), out[3], again[3];
    if (!x || !jit_var_schedule(x) || !jit_eval() || !jit_freeze_start(CPU, 1, &x))
        return false;
    JitRecording *recording = halved(x, out) ? jit_freeze_stop(3, out) : NULL;
    jit_freeze_abort();
    uint32_t small = recording ? own(jit_var_counter(CPU, 10)) : 0;
    bool ok = small && jit_var_schedule(small) && jit_eval();
    int done = ok ? jit_freeze_replay(recording, 1, &small, again) : -1;
    for (int i = 0; i < 3 && done > 0; i++)
        own(again[i]);
    jit_freeze_destroy(recording);
    if (done == 0)
        fail_msg("a recording was refused");
    return done > 0 && entry_is(again[0], 1, 255) && entry_is(again[1], 9, 35) &&
           entry_is(again[2], 9, 43);
}

/* The only result of a recording, which is consumed, for two inputs. 0: an error. */
static uint32_t repeat_for_two(JitRecording *recording, const uint32_t *inputs)
{
    uint32_t again = 0;
    int done = inputs[1] ? jit_freeze_replay(recording, 2, inputs, &again) : -1;
    jit_freeze_destroy(recording);
    if (done == 0)
        fail_msg("a recording was refused");
    return done > 0 ? own(again) : 0;
}

/* Two is added to entry x % 8 of a target for each x above 4. */
static uint32_t counted(uint32_t x, uint32_t target)
{
    uint32_t index = own(jit_var_and(x, number(7))), two = number(2);
    uint32_t many = own(jit_var_gt(x, number(4)));
    uint32_t cond = two ? jit_var_cond_start("hostile", many) : 0;
    if (!cond)
        return 0;
    uint32_t out = own(jit_var_scatter(target, two, index, 0, ReduceOpAdd,
                                       ReduceModeExpand));
    if (!out) {
        jit_record_end(CPU, cond, 1);
        return 0;
    }
    return jit_var_cond_append(cond, 0, NULL) && jit_var_cond_append(cond, 0, NULL) &&
                   jit_var_cond_end(cond, NULL)
               ? out
               : 0;
}

/* Private copies of a target in a conditional are larger when it is repeated. */
static bool frozen_copies(void)
{
    uint32_t inputs[] = { counter(), zeros(8) };
    bool ok = inputs[0] && inputs[1] && jit_var_schedule(inputs[0]) && jit_eval();
    if (!ok || !jit_freeze_start(CPU, 2, inputs))
        return false;
    uint32_t out = jit_freeze_set_general(true) ? counted(inputs[0], inputs[1]) : 0;
    JitRecording *recording = out ? jit_freeze_stop(1, &out) : NULL;
    jit_freeze_abort();
    inputs[1] = recording ? zeros(200) : 0;
    uint32_t again = repeat_for_two(recording, inputs);
    return again && entry_is(again, 3, 2 * (N / 8)) &&
           entry_is(again, 5, 2 * (N / 8)) && entry_is(again, 100, 0);
}

/* s[0] counts up to a limit, in a loop that is run at once, with a body for the rest of
 * the state. */
static bool count_up(uint32_t *s, size_t n, uint32_t limit, bool (*body)(uint32_t *s))
{
    uint32_t one = number(1);
    uint32_t loop = one ? jit_var_loop_start(CPU, "hostile", n, s) : 0;
    int again = loop ? 0 : -1;
    while (loop && again == 0) {
        uint32_t less = jit_var_lt(s[0], limit);
        again = jit_var_loop_cond(loop, less);
        jit_var_dec_ref(less);
        bool ok = again <= 0 || body(s);
        uint32_t next =
            again > 0 && ok ? jit_var_add(s[0], one) : jit_var_inc_ref(s[0]);
        jit_var_dec_ref(s[0]);
        s[0] = next;
        if (!ok)
            jit_record_end(CPU, loop, 1);
        again = again < 0 || !ok ? -1 : jit_var_loop_end(loop, s);
    }
    return again > 0;
}

/* s[1] += s[2] */
static bool add_once(uint32_t *s)
{
    uint32_t sum = jit_var_add(s[1], s[2]);
    jit_var_dec_ref(s[1]);
    s[1] = sum;
    return sum != 0;
}

/* s[1] += s[2], s[0] % 3 + 1 times. */
static bool add_often(uint32_t *s)
{
    uint32_t inner[] = { jit_var_inc_ref(number(0)), s[1], jit_var_inc_ref(s[2]) };
    uint32_t rest = own(jit_var_mod(s[0], number(3)));
    uint32_t limit = own(jit_var_add(rest, number(1)));
    bool ok = inner[0] && count_up(inner, 3, limit, add_once);
    s[1] = inner[1];
    jit_var_dec_ref(inner[0]);
    jit_var_dec_ref(inner[2]);
    return ok;
}

/* Loops in a loop are recorded, and go round more often when that is repeated. */
static bool frozen_loops(void)
{
    jit_set_flag(JitFlagSymbolicLoops, 0);
    const uint32_t seven = 7, nine = 9;
    uint32_t inputs[] = { counter(),
                          own(jit_var_mem_copy(CPU, VarTypeUInt32, &seven, 1)) };
    bool ok = inputs[0] && inputs[1] && jit_var_schedule(inputs[0]) && jit_eval();
    if (!ok || !jit_freeze_start(CPU, 2, inputs))
        return false;
    uint32_t s[] = { jit_var_inc_ref(number(0)), jit_var_inc_ref(inputs[0]),
                     jit_var_inc_ref(inputs[0]) };
    ok = s[0] && count_up(s, 3, inputs[1], add_often);
    for (int i = 0; i < 3; i++)
        own(s[i]);
    JitRecording *recording = ok ? jit_freeze_stop(1, &s[1]) : NULL;
    jit_freeze_abort();
    inputs[1] = recording ? own(jit_var_mem_copy(CPU, VarTypeUInt32, &nine, 1)) : 0;
    uint32_t again = repeat_for_two(recording, inputs);
    return again && entry_is(again, 2, 2 * (1 + 18));
}

/* A recording is saved, loaded, and repeated. */
static bool saved(void)
{
    uint32_t x = counter(), out[3], again[3];
    if (!x || !jit_var_schedule(x) || !jit_eval() || !jit_freeze_start(CPU, 1, &x))
        return false;
    JitRecording *recording = tripled(x, out) ? jit_freeze_stop(3, out) : NULL;
    jit_freeze_abort();
    size_t size;
    void *block = recording ? jit_freeze_save(1, &recording, "note", 4, &size) : NULL;
    jit_freeze_destroy(recording);
    jit_flush_kernel_cache();
    JitRecording *loaded = block ? jit_freeze_load(CPU, block, size, 0) : NULL;
    jit_freeze_free(block);
    int done = loaded ? jit_freeze_replay(loaded, 1, &x, again) : -1;
    for (int i = 0; i < 3 && done > 0; i++)
        own(again[i]);
    jit_freeze_destroy(loaded);
    if (done == 0)
        fail_msg("a recording was refused");
    return done > 0 && entry_is(again[0], 9, 28) && entry_is(again[2], 0, 4);
}

/* A recording, with a constant, is written to a C library twice; other engines than
 * native cannot do so. */
static bool exported(void)
{
    uint32_t x = counter(), out[3];
    if (!x || !jit_var_schedule(x) || !jit_eval() || !jit_freeze_start(CPU, 1, &x))
        return false;
    const char *names[] = { "x.first", "x.second", "x.second" };
    uint32_t two[] = { 1, 2 };
    uint32_t held = own(jit_var_mem_copy(CPU, VarTypeUInt32, two, 2));
    out[0] = held ? own(jit_var_add(held, number(1))) : 0;
    out[1] = held;
    out[2] = out[0] ? own(jit_var_reduce(x, ReduceOpAdd)) : 0;
    JitRecording *recording = out[2] ? jit_freeze_stop(3, out) : NULL;
    jit_freeze_abort();
    char path[100];
    snprintf(path, sizeof path, "%s/export/library", folder);
    const JitExport functions[] = {
        { .recording = recording, .name = "tripled", .inputs = names,
          .outputs = names },
        { .recording = recording, .name = "others" }
    };
    bool ok = recording && jit_freeze_export(path, 2, functions);
    jit_freeze_destroy(recording);
    return ok || (recording && jit_error() == JIT_ERROR_UNSUPPORTED);
}

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

/* ----------------------------------------------------------------------- tests */

static const Scenario scenarios[] = {
    { "frozen", frozen, false, false },
    { "frozen_blocks", frozen_blocks, false, false },
    { "frozen_copies", frozen_copies, false, false },
    { "frozen_loops", frozen_loops, false, false },
    { "frozen_foreign", frozen_foreign, false, false },
    { "frozen_kept", frozen_kept, false, false },
    { "saved", saved, true, false },
    { "exported", exported, false, false }
};

static int tests(void)
{
    return run_scenarios("freeze_hostile", scenarios, COUNT_OF(scenarios));
}

int main(void)
{
    if (!begin_hostile())
        return 1;
    int failures = run_engines(tests);
    return !end_hostile() || failures;
}
