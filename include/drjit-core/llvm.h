/*
 * drjit-core/llvm.h -- C++ arrays of the LLVM backend (the CPU): LLVMArray<T>
 *
 * Everything is declared in array.h; this name exists so that a program which uses one
 * backend can say so.
 */
#ifndef DRJIT_CORE_LLVM_H
#define DRJIT_CORE_LLVM_H

#include <drjit-core/array.h>

#endif /* DRJIT_CORE_LLVM_H */
