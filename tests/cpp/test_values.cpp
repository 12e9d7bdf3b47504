/*
 * test_values.cpp -- a C++ program that wants errors as values, as in C
 */
#define JIT_ERRORS_AS_VALUES
#include <drjit-core/ad.h>
#include <drjit-core/jit.h>
#include <drjit-core/array.h>

#include "check.h"

static void test_all() {
    current = "errors as values";
    CHECK(jit_init(JitBackendLLVM));
    const uint32_t a = jit_var_f32(JitBackend::LLVM, 1.f);
    const uint32_t b = jit_var_counter(JitBackend::LLVM, 3);
    CHECK(jit_var_add(a, b) == 0);
    CHECK(jit_error() == JIT_ERROR_ARGUMENT);
    CHECK(std::string(jit_error_message()).find("jit_var_add") != std::string::npos);
    CHECK(ad_var_add(a, b) == 0);
    float value = 0;
    CHECK(!jit_var_read(b, 3, &value) && jit_var_read(a, 0, &value) && value == 1.f);
    CHECK(throws("jit_var_add", [&] { drjit::checked::jit_var_add(a, b); }));
    /* A function of C, for what takes a pointer to it. */
    uint32_t (*const add)(uint32_t, uint32_t) = JIT_C(jit_var_add);
    CHECK(add == jit_var_add);
    jit_var_dec_ref(a);
    jit_var_dec_ref(b);

    /* Arrays throw nevertheless. */
    CHECK(throws("", [] { LLVMArray<float>(1, 2) + LLVMArray<float>(1, 2, 3); }));
}

int main() { return run_tests("test_values", test_all); }
