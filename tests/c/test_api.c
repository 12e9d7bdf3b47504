/*
 * test_api.c -- the interface as a program sees it: the shared library and its header
 *
 * Linked against the shared library, so a function that is declared but not exported
 * fails here. Also the README's program with statements in LLVM IR, and the settings
 * that change how kernels run but never what they compute.
 */
#include "test_util.h"

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <unistd.h>

#include "other_cpu.h"

/* ----------------------------------------------------------------- symbols */

/* Every function that the header declares is exported, and internal names are not. */
static void test_symbols(void **unused)
{
    (void) unused;
    FILE *file = fopen("include/drjit-core/jit.h", "r");
    assert_non_null(file); /* tests run in the source folder */
    static char text[1 << 18];
    size_t size = fread(text, 1, sizeof(text) - 1, file), count = 0;
    fclose(file);
    text[size] = 0;
    const char *p = strstr(text, "\nJIT_EXPORT ");
    for (; p; p = strstr(p, "\nJIT_EXPORT ")) {
        const char *open = strchr(p, '('), *name = open;
        assert_non_null(open);
        while (isalnum((unsigned char) name[-1]) || name[-1] == '_')
            name--;
        char symbol[100];
        snprintf(symbol, sizeof(symbol), "%.*s", (int) (open - name), name);
        assert_int_equal(strncmp(symbol, "jit_", 4), 0);
        if (!dlsym(RTLD_DEFAULT, symbol))
            fail_msg("%s is declared but not exported", symbol);
        count++;
        p = open;
    }
    assert_true(count > 150);
    static const char *const internal[] = { "var_create",  "error_set",   "alloc_get",
                                            "stream_self", "state_lock",  "interp_fold",
                                            "var_table",   "op_info",     "buffer_get",
                                            "log_write",   "XXH3_128bits" };
    for (size_t i = 0; i < COUNT_OF(internal); ++i)
        if (dlsym(RTLD_DEFAULT, internal[i]))
            fail_msg("%s is exported", internal[i]);
}

/* -------------------------------------------------------------- statements */

#define STMT_HALF                                                             \
    "$r0 = shufflevector $T0 insertelement ($T0 undef, $t0 5.0e-01, i32 0), " \
    "$T0 undef, <$w x i32> zeroinitializer"

/* Engines without LLVM refuse to compute this; true if so. */
static bool lacks_llvm(uint32_t id)
{
    if (engine_is("llvm"))
        return false;
    assert_null(jit_var_str(id));
    CHECK_ERROR(JIT_ERROR_UNSUPPORTED, "jit_eval()", "statements", "engine \"llvm\"");
    return true;
}

static void test_readme(void **unused)
{
    (void) unused;
    uint32_t v0 = jit_var_new_stmt_0(JitBackendLLVM, VarTypeFloat32, STMT_HALF);
    uint32_t v1 = jit_var_new_counter(JitBackendLLVM, 10);
    uint32_t v2 = jit_var_new_cast(v1, VarTypeFloat32, 0);
    uint32_t v3 = jit_var_new_stmt_2(JitBackendLLVM, VarTypeFloat32,
                                     "$r0 = fadd <$w x $t0> $r1, $r2", v0, v2);
    OK(v0 && v1 && v2 && v3);
    jit_var_dec_ref_ext(v0);
    jit_var_dec_ref_ext(v1);
    jit_var_dec_ref_ext(v2);
    if (!lacks_llvm(v3))
        CHECK_STR(v3, "[0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]");
    jit_var_dec_ref_ext(v3);
}

/* What the same document calls jit_var_new_2(), and its kin. */
static void test_short_names(void **unused)
{
    (void) unused;
    uint32_t v0 = jit_var_new_0(CPU, VarTypeFloat32, STMT_HALF);
    uint32_t a = u32_array(3, (uint32_t[]){ 1, 2, 3 }), b = jit_var_u32(CPU, 10);
    uint32_t v1 = jit_var_new_1(CPU, VarTypeUInt32, "$r0 = mul $T0 $r1, $r1", a);
    uint32_t v2 = jit_var_new_2(CPU, VarTypeUInt32, "$r0 = add <$w x $t0> $r1, $r2", a,
                                b);
    uint32_t v3 = jit_var_new_3(CPU, VarTypeUInt32,
                                "$r0_0 = sub $T0 $r2, $r1$n$r0 = xor $T0 $r0_0, $r3", a,
                                b, v1);
    uint32_t v4 = jit_var_new_4(CPU, VarTypeUInt32,
                                "$r0_0 = sub $T0 $r1, $r2$n$r0_1 = sub $T0 $r3, $r4$n"
                                "$r0 = add $T0 $r0_0, $r0_1",
                                b, a, v2, v1);
    OK(v0 && v1 && v2 && v3 && v4);
    assert_int_equal(jit_var_new_2(CPU, VarTypeUInt32, "$r0 = $r1", a, 999), 0);
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "operand 2");
    if (!lacks_llvm(v4)) {
        CHECK_STR(v0, "[0.5]");
        CHECK_U32(v1, 1, 4, 9);
        CHECK_U32(v2, 11, 12, 13);
        CHECK_U32(v3, 9 ^ 1, 8 ^ 4, 7 ^ 9);
        CHECK_U32(v4, 9 + 10, 8 + 8, 7 + 4);
    }
    DROP(v0, a, b, v1, v2, v3, v4);
}

/* A literal that changes becomes a parameter of the kernel, unless a statement has its
 * value. */
static void test_literal_in_statement(void **unused)
{
    (void) unused;
    for (uint32_t i = 0; i < 6; ++i) {
        uint32_t a = jit_var_u32(CPU, 7 * i), b = jit_var_counter(CPU, 3);
        uint32_t ids[] = { a, b };
        uint32_t c = jit_var_stmt(CPU, VarTypeUInt32,
                                  "$r0_0 = insertelement $T1 undef, $t1 $o1, i32 0$n"
                                  "$r0_1 = shufflevector $T1 $r0_0, $T1 undef, "
                                  "<$w x i32> zeroinitializer$n"
                                  "$r0 = add $T1 $r0_1, $r2", 0, 2, ids);
        OK(c);
        if (!lacks_llvm(c))
            CHECK_U32(c, 7 * i, 7 * i + 1, 7 * i + 2);
        DROP(a, b, c);
    }
}

static void test_statements(void **unused)
{
    (void) unused;
    uint32_t a = u32_array(5, (uint32_t[]){ 1, 2, 3, 4, 5 }), b = jit_var_u32(CPU, 10);
    uint32_t three = jit_var_u32(CPU, 3), m = jit_var_gt(a, three);
    uint32_t square =
        jit_var_new_stmt_1(CPU, VarTypeUInt32, "$r0 = mul <$w x $t1> $r1, $r1", a);
    uint32_t choice = jit_var_new_stmt_3(
        CPU, VarTypeUInt32, "$r0 = select <$w x $t1> $r1, $T2 $r2, $T3 $r3", m, a, b);
    uint32_t sum = jit_var_new_stmt_4(CPU, VarTypeUInt32,
                                      "$r0_0 = add $T0 $r1, $r2$n$r0_1 = add $T0 $r3, "
                                      "$r4$n$r0 = add $T0 $r0_0, $r0_1",
                                      a, b, square, choice);
    char text[] = "$r0 = xor $T0 $r1, $r2";
    uint32_t operands[] = { a, square };
    uint32_t copied = jit_var_stmt(CPU, VarTypeUInt32, text, 1, 2, operands);
    memset(text, 'x', sizeof(text) - 1); /* it was copied */
    OK(square && choice && sum && copied);
    if (lacks_llvm(sum)) {
        DROP(a, b, three, m, square, choice, sum, copied);
        return;
    }
    CHECK_U32(square, 1, 4, 9, 16, 25);
    CHECK_U32(choice, 10, 10, 10, 4, 5);
    CHECK_U32(sum, 22, 26, 32, 34, 45);
    CHECK_U32(copied, 0, 6, 10, 20, 28);

    /* Broken statements poison what they compute and nothing else. */
    static const char *const broken[] = { "$r0 = nonsense $T0 $r1",
                                          "$r0 = add $T0 $r1, $r7",
                                          "$r0 = add $T0 $r1, $q1",
                                          "$r0 = add $T0 $r1, %undefined",
                                          "%x = add $T0 $r1, $r1",
                                          "",
                                          "}",
                                          "ret void" };
    for (size_t i = 0; i < COUNT_OF(broken); ++i) {
        uint32_t bad = jit_var_stmt(CPU, VarTypeUInt32, broken[i], 0, 1, &a);
        OK(bad);
        if (jit_var_eval(bad))
            fail_msg("accepted: %s", broken[i]);
        assert_int_equal(jit_error(), JIT_ERROR_COMPILE);
        jit_error_clear();
        uint32_t fine = jit_var_add(a, b);
        CHECK_U32(fine, 11, 12, 13, 14, 15);
        DROP(bad, fine);
    }
    DROP(a, b, three, m, square, choice, sum, copied);
}

/* ---------------------------------------------------------------- settings */

/* A bit of everything, as bits: floats, masks, a gather, a scatter-reduction, a sum. */
static void compute(uint32_t size, uint64_t out[4])
{
    uint32_t c = jit_var_counter(CPU, size), f = jit_var_cast(c, VarTypeFloat32, 0);
    uint32_t third = jit_var_f32(CPU, 0.333f), p = jit_var_mul(f, third),
             r = jit_var_sqrt(p);
    uint32_t ten = jit_var_u32(CPU, 10), bin = jit_var_mod(c, ten);
    uint32_t zero = jit_var_u32(CPU, 0),
             bins = jit_var_literal(CPU, VarTypeUInt32, &(uint32_t){ 0 }, 10, 1);
    uint32_t counts = jit_var_scatter(bins, c, bin, 0, ReduceOpAdd, ReduceModeAuto);
    uint32_t mine = jit_var_gather(counts, bin, 0),
             sum = jit_var_reduce(r, ReduceOpAdd);
    uint32_t total = jit_var_reduce(mine, ReduceOpAdd), dot = jit_var_reduce_dot(p, r);
    memset(out, 0, 4 * sizeof(*out));
    OK(jit_var_read(sum, 0, &out[0]));
    OK(jit_var_read(total, 0, &out[1]));
    OK(jit_var_read(dot, 0, &out[2]));
    OK(jit_var_read(r, size - 1, &out[3]));
    DROP(c, f, third, p, r, ten, bin, zero, bins, counts, mine, sum, total, dot);
}

static void test_settings(void **unused)
{
    (void) unused;
    enum { SIZE = 123457 };
    uint64_t expected[4], found[4];
    uint32_t threads = jit_llvm_thread_count(), block = jit_llvm_block_size();
    assert_true(threads >= 1);
    assert_int_equal(block, 16384);
    compute(SIZE, expected);
    const uint32_t counts[] = { 0, 1, 2, 3, 8 };
    for (size_t i = 0; i < COUNT_OF(counts); ++i) {
        OK(jit_llvm_set_thread_count(counts[i]));
        assert_int_equal(jit_llvm_thread_count(), counts[i] ? counts[i] : 1);
        compute(SIZE, found);
        assert_memory_equal(found, expected, sizeof(found));
    }
    OK(jit_llvm_set_thread_count(threads));
    const uint32_t blocks[] = { 64, 1024, 1 << 20 };
    for (size_t i = 0; i < COUNT_OF(blocks); ++i) {
        OK(jit_llvm_set_block_size(blocks[i]));
        assert_int_equal(jit_llvm_block_size(), blocks[i]);
        compute(SIZE, found);
        assert_memory_equal(found, expected, sizeof(found));
    }
    OK(jit_llvm_set_block_size(block));
    size_t threshold = jit_expand_threshold();
    const size_t thresholds[] = { 0, 1, 10, SIZE_MAX };
    for (size_t i = 0; i < COUNT_OF(thresholds); ++i) {
        jit_set_expand_threshold(thresholds[i]);
        assert_int_equal(jit_expand_threshold(), thresholds[i]);
        compute(SIZE, found);
        assert_memory_equal(found, expected, sizeof(found));
    }
    jit_set_expand_threshold(threshold);
}

static void test_target(void **unused)
{
    (void) unused;
    int major = 0, minor = -1, patch = -1;
    if (!jit_llvm_version(&major, &minor, &patch)) {
        assert_true(strlen(jit_error_message()) > 0);
        jit_error_clear();
        skip(); /* no libLLVM here: there is no version to look at */
    }
    assert_true(major >= 15 && minor >= 0 && patch >= 0);
    assert_true(strlen(jit_llvm_target_cpu()) > 0);
    assert_non_null(jit_llvm_target_features());
    uint32_t usual = jit_llvm_vector_width();
    assert_true(usual >= 1 && (usual & (usual - 1)) == 0);
    uint64_t expected[4], found[4];
    compute(5000, expected);
    for (uint32_t width = 1; width <= 64; width *= 2) {
        OK(jit_llvm_set_target(NULL, NULL, width));
        assert_int_equal(jit_llvm_vector_width(), width);
        compute(5000, found);
        assert_memory_equal(found, expected, sizeof(found));
    }
    OK(jit_llvm_set_target(LEAST_CPU, "", 4));
    assert_string_equal(jit_llvm_target_cpu(), LEAST_CPU);
    compute(5000, found);
    assert_memory_equal(found, expected, sizeof(found));
    OK(jit_llvm_set_target(NULL, NULL, 0));
    assert_int_equal(jit_llvm_vector_width(), usual);
}

/* Called between the key of a kernel and its code. */
static uint32_t width_in_between;

static void change_target(LogLevel level, const char *message)
{
    (void) level;
    if (width_in_between && strstr(message, "launching"))
        OK(jit_llvm_set_target(NULL, NULL, width_in_between));
}

/* Lanes of a packet in the kernel that computes this: 'salt' makes it another one. */
static uint32_t packet_width(uint32_t salt)
{
    char text[300];
    snprintf(text, sizeof(text),
             "$r0_0 = insertelement $T1 undef, $t1 $w, i32 0$n"
             "$r0_1 = shufflevector $T1 $r0_0, $T1 undef, <$w x i32> zeroinitializer$n"
             "$r0_%u = add $T1 $r0_1, $r1$n$r0 = sub $T1 $r0_%u, $r1", salt, salt);
    uint32_t counter = jit_var_counter(CPU, 20), value = 0;
    uint32_t width = jit_var_new_stmt_1(CPU, VarTypeUInt32, text, counter);
    OK(jit_var_read(width, 19, &value));
    DROP(counter, width);
    return value;
}

/* The target changes in the midst of an evaluation: code, in memory or on disk, is
 * never found under the name of another target. */
static void test_target_in_between(void **unused)
{
    (void) unused;
    if (!engine_is("llvm"))
        return;
    LogLevel level = jit_log_level_callback();
    uint32_t salt = 10 + (uint32_t) getpid() % 10000000;
    for (uint32_t round = 0; round < 2; ++round, ++salt) {
        jit_set_log_level_callback(LogLevelInfo, change_target);
        width_in_between = round ? 4 : 16;
        OK(jit_llvm_set_target(NULL, NULL, 8));
        assert_int_equal(packet_width(salt), 8);
        assert_int_equal(jit_llvm_vector_width(), width_in_between);
        jit_set_log_level_callback(LogLevelDisable, NULL);
        for (uint32_t disk = 0; disk < 2; ++disk) {
            OK(jit_llvm_set_target(NULL, NULL, width_in_between));
            assert_int_equal(packet_width(salt), width_in_between);
            OK(jit_llvm_set_target(NULL, NULL, 8));
            assert_int_equal(packet_width(salt), 8);
            jit_flush_kernel_cache();
        }
    }
    jit_set_log_level_callback(level, NULL);
    OK(jit_llvm_set_target(NULL, NULL, 0));
}

/* ------------------------------------------------------------------ errors */

static void test_error_record(void **unused)
{
    (void) unused;
    assert_int_equal(jit_error(), JIT_OK);
    assert_string_equal(jit_error_message(), "");
    assert_int_equal(jit_var_add(0, 0), 0);
    assert_int_equal(jit_error(), JIT_ERROR_ARGUMENT);
    uint32_t a = jit_var_u32(CPU, 1), b = jit_var_add(a, a);
    OK(b);
    assert_int_equal(jit_error(), JIT_ERROR_ARGUMENT); /* a success resets nothing */
    assert_int_equal(jit_var_gather(a, 0, 0), 0);
    assert_non_null(strstr(jit_error_message(), "jit_var_gather()"));
    jit_error_clear();
    assert_int_equal(jit_error(), JIT_OK);
    assert_string_equal(jit_error_message(), "");
    DROP(a, b);
}

static void test_profile(void **unused)
{
    (void) unused;
    OK(jit_profile_range_push("outer") && jit_profile_mark("here"));
    OK(jit_profile_range_pop());
    assert_false(jit_profile_range_pop());
    CHECK_ERROR(JIT_ERROR_STATE, "jit_profile_range_pop()");
    assert_false(jit_profile_mark(NULL));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_profile_mark()", "NULL");
    assert_false(jit_profile_range_push(NULL));
    CHECK_ERROR(JIT_ERROR_ARGUMENT, "jit_profile_range_push()", "NULL");
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_symbols),    TEST(test_readme),   TEST(test_short_names),
        TEST(test_literal_in_statement),
        TEST(test_statements), TEST(test_settings), TEST(test_target),
        TEST(test_target_in_between), TEST(test_error_record), TEST(test_profile),
    };
    return cmocka_run_group_tests_name("api", tests, NULL, NULL);
}

int main(void)
{
    return run_engines(run);
}
