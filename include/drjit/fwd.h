/*
 * drjit/fwd.h -- all array types, for headers that only name them
 *
 * Templates of classes are declared here; the aliases (LLVMArray, DiffArray, ...) come
 * with drjit-core/array.h and drjit/autodiff.h, which this includes.
 */
#ifndef DRJIT_FWD_H
#define DRJIT_FWD_H

#include <drjit/array.h>
#include <drjit/autodiff.h>

namespace drjit {

template <typename T, size_t N> struct Matrix;
template <typename T> struct Complex;
template <typename T> struct Quaternion;
template <typename A> struct Tensor;
template <typename T> struct PCG32;
template <typename Value, size_t N> struct Texture;

} /* namespace drjit */

#endif /* DRJIT_FWD_H */
