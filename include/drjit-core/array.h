/*
 * drjit-core/array.h -- C++17 arrays over the C interface (header only)
 *
 * JitArray<Backend, T> is a handle of one variable of jit.h: four bytes, one reference.
 * Copying adds a reference and never copies entries. Operators and functions *trace*:
 * they record an operation and return at once; the recorded operations run, fused into
 * kernels, when a value is needed (str, data, entry, all, any, a gather from an array
 * that is not in memory yet, eval).
 *
 *     using Float = LLVMArray<float>;
 *     Float x = linspace<Float>(0, 1, 101);
 *     std::cout << sqrt(x) + 1.f << std::endl;
 *
 * Types     bool, integers of 8 to 64 bits, float, double and drjit::half.
 * Mixing    Scalars mix freely with arrays and take the array's element type, except
 *           that integers and a float make floats. Arrays of different element types do
 *           not mix: convert with Float(index).
 * Sizes     Operands of one operation have equal sizes or size 1, which broadcasts. A
 *           default-constructed array holds no variable: its size is 0 and no operation
 *           takes it.
 * Errors    are exceptions of class drjit::Error with the code and message of jit.h.
 * Start     The first array of a backend initialises it, unless jit_init() did.
 * Threads   As in jit.h; two threads must not change one array at the same time.
 *
 * Everything is in namespace drjit. What is called as linspace<Float>(...) is also
 * visible in the global namespace, and so are the names of the arrays. Operators and
 * functions are in ops.h, the class in basic_array.h, and what creates arrays, gathers
 * and scatters in memory.h; drjit/autodiff.h has arrays with derivatives, drjit/array.h
 * nested ones.
 */
#ifndef DRJIT_CORE_ARRAY_H
#define DRJIT_CORE_ARRAY_H

#include <drjit-core/memory.h>

using drjit::JitArray;
using drjit::LLVMArray;
using drjit::CUDAArray;
using drjit::arange;
using drjit::empty;
using drjit::full;
using drjit::gather;
using drjit::linspace;
using drjit::load;
using drjit::map;
using drjit::ones;
using drjit::opaque;
using drjit::reinterpret;
using drjit::zeros;

#endif /* DRJIT_CORE_ARRAY_H */
