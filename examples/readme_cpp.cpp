/*
 * readme_cpp.cpp -- the C++ example of the README
 *
 * Two kernels run: one computes x when gather() needs it in memory, the other computes
 * z when it is printed.
 */
#include <drjit-core/llvm.h>

#include <cstdio>

using Bool   = LLVMArray<bool>;
using Float  = LLVMArray<float>;
using UInt32 = LLVMArray<uint32_t>;

static void run() {
    // Create a floating point array with 101 linearly spaced entries
    // [0, 0.01, 0.02, ..., 1]
    Float x = linspace<Float>(0, 1, 101);

    // [0, 2, 4, 8, .., 98]
    UInt32 index = arange<UInt32>(50) * 2;

    // Equivalent to "y = x[index]"
    Float y = gather(x, index);

    /// Comparisons produce mask arrays
    Bool mask = x < .5f;

    // Ternary operator
    Float z = select(mask, sqrt(x), 1.f / x);

    printf("Value is = %s\n", z.str().c_str());
}

int main() {
    int status = 0;
    try {
        run();
    } catch (const drjit::Error &error) {
        fprintf(stderr, "readme_cpp: %s\n", error.what());
        status = 1;
    }
    return jit_shutdown(0) == 0 ? status : 1;
}
