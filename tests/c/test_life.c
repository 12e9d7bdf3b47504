/*
 * test_life.c -- leaks, shutdown and what is left at it, fork
 */
#include "eval_util.h"

static void test_leaks(void **unused)
{
    (void) unused;
    uint32_t a = sample(10, 3), l = jit_var_set_label(a, "forgotten");
    jit_var_dec_ref(a);
    OK(jit_prefix_push(CPU, "scene"));
    uint32_t c = jit_var_counter(CPU, 3), m = jit_var_set_label(c, "rays");
    OK(jit_prefix_pop(CPU));
    jit_var_dec_ref(c);
    jit_set_log_level_callback(LogLevelWarn, log_keep);
    assert_true(jit_shutdown(0) >= 2);
    assert_int_equal(log_count("leak"), 1);
    assert_non_null(strstr(log_text_seen, "label: forgotten"));
    assert_non_null(strstr(log_text_seen, "label: scene/rays"));
    OK(jit_init(CPU)); /* they are still there */
    CHECK_U32(l, 1, 4, 7, 10, 13, 16, 19, 22, 25, 28);
    DROP(l, m);
    log_clear();
    assert_int_equal(jit_shutdown(0), 0);
    assert_int_equal(log_length, 0);
    OK(jit_init(CPU));
}

static void test_light_shutdown(void **unused)
{
    (void) unused;
    uint32_t a = sample(10, 55);
    OK(jit_var_eval(a));
    jit_var_dec_ref(a);
    assert_int_equal(jit_shutdown(1), 0);
    assert_false(jit_has_backend(CPU));
    assert_int_equal(jit_var_counter(CPU, 3), 0);
    CHECK_ERROR(JIT_ERROR_STATE, "jit_init");
    OK(jit_init(CPU));
    Stats before = stats_now();
    uint32_t b = sample(10, 55);
    OK(jit_var_eval(b));
    CHECK_STATS(before, 1, 1, 0); /* kernels stayed */
    jit_var_dec_ref(b);
    OK(jit_init_async(CPU));
    OK(jit_init(CPU));
}

/* Writes and scheduled variables are dropped by a shutdown, not leaked. */
static void test_shutdown_with_work(void **unused)
{
    (void) unused;
    uint32_t x = u32_array(3, (uint32_t[]){ 1, 2, 3 }), i = jit_var_u32(CPU, 0);
    uint32_t y = jit_var_scatter(x, i, i, 0, ReduceOpAdd, ReduceModeAuto);
    OK(y);
    uint32_t a = sample(10, 3);
    jit_var_schedule(a);
    DROP(x, i, y, a);
    assert_int_equal(jit_shutdown(0), 0);
    OK(jit_init(CPU));
}

/* What a child makes of its copy of the process, with an array that its parent made. */
static void check_in_child(bool (*check)(uint32_t a))
{
#if defined(__SANITIZE_THREAD__)
    skip(); /* it lets no child of a process with threads start threads */
#endif
    uint32_t a = sample(1000, 3);
    OK(jit_var_eval(a));
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(check(a) ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    jit_var_dec_ref(a);
}

static bool evaluates(uint32_t a)
{
    uint32_t b = jit_var_add(a, a), value = 0;
    bool ok = b && jit_var_read(b, 999, &value) && value == 2 * (999 * 3 + 1);
    uint32_t c = sample(100000, 77);
    return ok && jit_var_read(c, 99999, &value) && value == 99999u * 77 + 1;
}

static void test_fork(void **unused)
{
    (void) unused;
    check_in_child(evaluates);
}

/* Kernels that there are serve as before. */
static bool makes_no_kernel(uint32_t a)
{
    jit_prepare_exit();
    uint32_t b = jit_var_mul(a, a), c = sample(1000, 3), value = 0;
    bool refused = b && !jit_var_eval(b) && jit_error() == JIT_ERROR_STATE &&
                   strstr(jit_error_message(), "the process is ending");
    return refused && jit_var_read(c, 999, &value) && value == 999 * 3 + 1;
}

static void test_prepare_exit(void **unused)
{
    (void) unused;
    check_in_child(makes_no_kernel);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_leaks), TEST(test_light_shutdown), TEST(test_shutdown_with_work),
        TEST(test_fork), TEST(test_prepare_exit),
    };
    return cmocka_run_group_tests_name("life", tests, NULL, NULL);
}

int main(void)
{
    return run_engines_uncached(run);
}
