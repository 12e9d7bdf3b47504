/*
 * test_assembler.c -- what NVIDIA's assembler says reaches the user
 *
 * Needs a ptxas: DRJIT_PTXAS, one that was installed for the tests, or that of a
 * toolkit.
 */
#include "c/test_util.h"

#include <glob.h>

#include "cuda/engine/assembler.h"
#include "drjit-core/region.h"
#include "engine/ptx/ptx_usage.h"

static void test_usage(void **unused)
{
    (void) unused;
    PtxUsage usage;
    assert_true(ptx_usage_read(
        "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
        "ptxas info    : Function properties for k\n"
        "    48 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads\n"
        "ptxas info    : Used 30 registers, used 0 barriers, 400 bytes cmem[0]\n",
        &usage));
    assert_int_equal(usage.registers, 30);
    assert_int_equal(usage.stack, 48);
    assert_int_equal(usage.spilled, 16);
    assert_false(ptx_usage_read("", &usage));
}

/* A kernel is assembled, and the log has what it needs: a local array of floats. */
static void test_log(void **unused)
{
    (void) unused;
    uint32_t index = jit_var_new_counter(CPU, 40);
    uint32_t empty = jit_array_create(CPU, VarTypeFloat32, 1000, 40);
    uint32_t value = jit_var_new_cast(index, VarTypeFloat32, 0);
    uint32_t written = jit_array_write(empty, index, value, ALWAYS);
    uint32_t read = jit_array_read(written, index, ALWAYS);
    OK(read);
    jit_set_log_level_callback(LogLevelInfo, log_keep);
    OK(jit_var_eval(read));
    jit_set_log_level_callback(LogLevelNone, NULL);
    assert_int_equal(log_count("registers, 4000 bytes of local memory (0 spilled)"), 1);
    DROP(index, empty, value, written, read);
}

/* What the assembler says, and the line of the text that it means. */
static void test_refused(void **unused)
{
    (void) unused;
    assert_false(assembler_check(".version 8.2\n.target sm_80\n.address_size 64\n"
                                 ".visible .entry k()\n{\n\tfrobnicate.u32 %r1;\n}\n",
                                 80, "k"));
    CHECK_ERROR(JIT_ERROR_COMPILE, "ptxas", "line 6", "\"frobnicate.u32 %r1;\"");
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = { TEST(test_usage), TEST(test_log),
                                        TEST(test_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Where it is, in a variable; false: nowhere. */
static bool find_assembler(void)
{
    static const char *const patterns[] = {
        ".venv/lib/python*/site-packages/nvidia/cuda_nvcc/bin/ptxas",
        "/usr/local/cuda/bin/ptxas"
    };
    glob_t found = { 0 };
    for (size_t i = 0; !getenv("DRJIT_PTXAS") && i < COUNT_OF(patterns); ++i) {
        if (glob(patterns[i], 0, NULL, &found) == 0)
            setenv("DRJIT_PTXAS", found.gl_pathv[0], 1);
        globfree(&found);
    }
    return getenv("DRJIT_PTXAS") != NULL;
}

int main(void)
{
    enum { SKIPPED = 77 };
    const char *ci = getenv("CI");
    if (!find_assembler()) {
        printf("skipped: there is no ptxas (package nvidia-cuda-nvcc-cu12)\n");
        return ci && *ci ? 1 : SKIPPED;
    }
    setenv("DRJIT_TEST_ENGINE", "ptx-sim", 1);
    return run_engines(run_all);
}
