/*
 * drjit-core/cuda.h -- C++ arrays of the CUDA backend (NVIDIA GPUs): CUDAArray<T>
 *
 * Everything is declared in array.h; this name exists so that a program which uses one
 * backend can say so. Where the backend is not available, creating an array throws the
 * error that jit_init(JitBackendCUDA) reports.
 */
#ifndef DRJIT_CORE_CUDA_H
#define DRJIT_CORE_CUDA_H

#include <drjit-core/array.h>

#endif /* DRJIT_CORE_CUDA_H */
