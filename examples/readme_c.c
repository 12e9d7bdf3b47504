/*
 * readme_c.c -- the C example of the README: 0.5 + [0, 1, ..., 9]
 *
 * Two variables come from statements in LLVM IR, the lowest-level interface there is.
 * Only the 'llvm' engine runs those; without a libLLVM this program says why, and
 * computes the same with ordinary operations, which every engine runs.
 *
 *     readme_c [--debug]      --debug logs each step and prints the code of the kernel
 */
#include <drjit-core/jit.h>

#include <stdio.h>
#include <string.h>

/* One half in all lanes: a constant put into lane 0 and copied to all others. */
#define STMT_HALF                                                                   \
    "$r0 = shufflevector $T0 insertelement ($T0 undef, $t0 5.0e-01, i32 0), "       \
    "$T0 undef, <$w x i32> zeroinitializer"

static int fail(const char *what) {
    fprintf(stderr, "readme_c: %s: %s\n", what, jit_error_message());
    return 1;
}

/* The example as the README has it. Returns false when the kernel cannot be
 * compiled. */
static bool run_statements(void) {
    uint32_t v0 = jit_var_new_stmt_0(/* backend = */ JitBackendLLVM,
                                     /* type    = */ VarTypeFloat32,
                                     /* stmt    = */ STMT_HALF);

    uint32_t v1 = jit_var_new_counter(/* backend = */ JitBackendLLVM,
                                      /* size    = */ 10);

    uint32_t v2 = jit_var_new_cast(/* index       = */ v1,
                                   /* target_type = */ VarTypeFloat32,
                                   /* reinterpret = */ 0);

    uint32_t v3 = jit_var_new_stmt_2(/* backend = */ JitBackendLLVM,
                                     /* type    = */ VarTypeFloat32,
                                     /* stmt    = */ "$r0 = fadd <$w x $t0> $r1, $r2",
                                     /* op0     = */ v0,
                                     /* op1     = */ v2);

    jit_var_dec_ref_ext(v0);
    jit_var_dec_ref_ext(v1);
    jit_var_dec_ref_ext(v2);

    const char *text = jit_var_str(v3);
    if (text)
        printf("Result: %s\n", text);
    jit_var_dec_ref_ext(v3);
    return text != NULL;
}

/* The same sum with the operations of jit.h. */
static bool run_operations(void) {
    uint32_t v0 = jit_var_f32(JitBackendLLVM, 0.5f);
    uint32_t v1 = jit_var_new_counter(JitBackendLLVM, 10);
    uint32_t v2 = jit_var_new_cast(v1, VarTypeFloat32, 0);
    uint32_t v3 = jit_var_new_op_2(JitOpAdd, v0, v2);

    jit_var_dec_ref_ext(v0);
    jit_var_dec_ref_ext(v1);
    jit_var_dec_ref_ext(v2);

    const char *text = jit_var_str(v3);
    if (text)
        printf("Result: %s\n", text);
    jit_var_dec_ref_ext(v3);
    return text != NULL;
}

int main(int argc, char **argv) {
    if (argc > 2 || (argc == 2 && strcmp(argv[1], "--debug") != 0)) {
        fprintf(stderr, "usage: readme_c [--debug]\n");
        return 2;
    }

    if (argc == 2) {
        jit_set_log_level_stderr(LogLevelDebug);
        jit_set_flag(JitFlagPrintIR, 1);
    }

    if (!jit_init(JitBackendLLVM))
        return fail("jit_init");

    int status = 0;
    if (!run_statements()) {
        printf("Statements in LLVM IR do not run here (%s).\n"
               "The same sum with the library's own operations:\n",
               jit_error_message());
        if (!run_operations())
            status = fail("operations");
    }

    return jit_shutdown(0) == 0 ? status : 1;
}
