/*
 * test_log.c -- the log, and what the README promises of it: its lines in their order
 */
#include "eval_util.h"

static LogLevel last_level;
static void keep_level(LogLevel level, const char *message)
{
    last_level = level;
    log_keep(level, message);
}

static void test_log_levels(void **unused)
{
    (void) unused;
    LogLevel usual = jit_log_level_stderr();
    jit_set_log_level_stderr(LogLevelError);
    assert_int_equal(jit_log_level_stderr(), LogLevelError);
    for (int level = LogLevelError; level <= LogLevelTrace; ++level) {
        jit_set_log_level_callback((LogLevel) level, keep_level);
        assert_int_equal(jit_log_level_callback(), level);
        log_clear();
        for (int l = LogLevelWarn; l <= LogLevelTrace; ++l) {
            jit_log((LogLevel) l, "message %d of %s", l, "mine");
            assert_true(l > level || last_level == (LogLevel) l);
        }
        assert_int_equal(log_count("message"), level - 1);
        assert_int_equal(log_count("message 2 of mine\n"), level >= LogLevelWarn);
    }
    jit_set_log_level_callback(LogLevelTrace, NULL);
    log_clear();
    jit_log(LogLevelWarn, "nobody listens");
    assert_int_equal(log_length, 0);
    jit_set_log_level_stderr(usual);
}

/* The callback may use the library. */
static void trace_something(LogLevel level, const char *message)
{
    if (level == LogLevelInfo && strstr(message, "jit_eval(): done")) {
        jit_set_log_level_callback(LogLevelNone, NULL);
        uint32_t a = sample(4, 6);
        CHECK_U32(a, 1, 7, 13, 19);
        jit_var_dec_ref(a);
        log_keep(level, "called back");
    }
}

static void test_log_reentrant(void **unused)
{
    (void) unused;
    jit_set_log_level_callback(LogLevelInfo, trace_something);
    uint32_t a = sample(4, 5);
    OK(jit_var_eval(a));
    assert_int_equal(log_count("called back"), 1);
    jit_var_dec_ref(a);
}

static const char *find_after(const char *text, const char *part)
{
    const char *found = text ? strstr(text, part) : NULL;
    if (!found)
        fail_msg("the log lacks \"%s\" at its place:\n%s", part, log_text_seen);
    return found + strlen(part);
}

static uint32_t readme_program(void)
{
    uint32_t v0 = jit_var_f32(CPU, 0.5f), v1 = jit_var_new_counter(CPU, 10);
    uint32_t v2 = jit_var_new_cast(v1, VarTypeFloat32, 0);
    uint32_t v3 = jit_var_new_op_2(JitOpAdd, v0, v2);
    DROP(v0, v1, v2);
    CHECK_STR(v3, "[0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]");
    jit_var_dec_ref_ext(v3);
    return v3;
}

static void test_readme_log(void **unused)
{
    (void) unused;
    jit_shutdown(0);
    jit_set_log_level_callback(LogLevelInfo, log_keep);
    OK(jit_init(CPU));
    readme_program();
    assert_int_equal(jit_shutdown(0), 0);
    const char *p = find_after(log_text_seen, "jit_init(): detecting devices ..\n");
    p = find_after(p, "jit_eval(): launching 1 kernel.\n  -> launching ");
    assert_int_equal(strspn(p, "0123456789abcdef"), 16);
    p = find_after(p, " (n=10, in=0, out=1, ops=");
    p = find_after(p, ", jit=");
    p = find_after(p, " us):\n     cache ");
    p = find_after(p, "B (");
    p = find_after(p, "jit_eval(): done.\n");
    p = find_after(p, "jit_shutdown(): releasing 1 kernel ..\n"
                      "jit_shutdown(): releasing 1 thread state ..\n");
    find_after(p, "jit_shutdown(): done\n");
    assert_int_equal(log_count("jit_var_new("), 0);

    /* With LogLevelDebug each variable, with PrintIR the program. */
    log_clear();
    jit_set_log_level_callback(LogLevelDebug, log_keep);
    OK(jit_init(CPU));
    jit_set_flag(JitFlagPrintIR, 1);
    readme_program();
    assert_int_equal(jit_shutdown(0), 0);
    p = find_after(log_text_seen, "jit_var_new(float32 r1)");
    p = find_after(p, "jit_var_new(uint32 r2[10])");
    p = find_after(p, "jit_var_new(float32 r3[10] <- r2)");
    p = find_after(p, "jit_var_new(float32 r4[10] <- r");
    p = find_after(p, "jit_eval(): launching 1 kernel.\n");
    p = find_after(p, "counter");
    p = find_after(p, "jit_eval(): cleaning up..\njit_eval(): done.\n");
    OK(jit_init(CPU));
}

static void test_print_ir(void **unused)
{
    (void) unused;
    uint32_t a = sample(10, 1234567);
    char *text = strdup(jit_program_str(a));
    assert_non_null(strstr(text, "1234567"));
    jit_set_log_level_callback(LogLevelInfo, log_keep);
    OK(jit_var_eval(a));
    assert_null(strstr(log_text_seen, text));
    jit_set_flag(JitFlagPrintIR, 1);
    uint32_t b = sample(11, 1234567); /* known kernels are printed, too */
    OK(jit_var_eval(b));
    assert_non_null(strstr(log_text_seen, text));
    if (engine_is("llvm"))
        assert_non_null(strstr(log_text_seen, "define "));
    free(text);
    DROP(a, b);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_log_levels), TEST(test_log_reentrant), TEST(test_readme_log),
        TEST(test_print_ir),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}

int main(void)
{
    return run_engines_uncached(run);
}
