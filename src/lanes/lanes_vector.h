/*
 * lanes_vector.h -- vectors of an instruction set, in files compiled once for each
 *
 * Types of GCC and Clang, as wide as the registers; fused multiply-add, which they
 * lack, and a number in all entries. Without a fused instruction the C library
 * computes it.
 */
#ifndef LANES_LANES_VECTOR_H
#define LANES_LANES_VECTOR_H

#include <math.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { VECTOR_BYTES = 64 };
#elif defined(__AVX2__)
enum { VECTOR_BYTES = 32 };
#else
enum { VECTOR_BYTES = 16 };
#endif

#define VECTOR_TYPES(T, name)                                       \
    typedef T name __attribute__((vector_size(VECTOR_BYTES)));      \
    typedef T name##Unaligned __attribute__((                       \
        vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));
VECTOR_TYPES(float, VecF32)
VECTOR_TYPES(double, VecF64)

#if defined(__AVX512F__)
#define FMA_F32(a, b, c) \
    ((VecF32) _mm512_fmadd_ps((__m512) (a), (__m512) (b), (__m512) (c)))
#define FMA_F64(a, b, c) \
    ((VecF64) _mm512_fmadd_pd((__m512d) (a), (__m512d) (b), (__m512d) (c)))
#define SPLAT_F32(x) ((VecF32) _mm512_set1_ps(x))
#define SPLAT_F64(x) ((VecF64) _mm512_set1_pd(x))
#elif defined(__AVX2__)
#define FMA_F32(a, b, c) \
    ((VecF32) _mm256_fmadd_ps((__m256) (a), (__m256) (b), (__m256) (c)))
#define FMA_F64(a, b, c) \
    ((VecF64) _mm256_fmadd_pd((__m256d) (a), (__m256d) (b), (__m256d) (c)))
#define SPLAT_F32(x) ((VecF32) _mm256_set1_ps(x))
#define SPLAT_F64(x) ((VecF64) _mm256_set1_pd(x))
#else
/* A function of the C library, unless the instruction set has one. */
static inline VecF32 fma_vec_f32(VecF32 a, VecF32 b, VecF32 c)
{
    return (VecF32){ fmaf(a[0], b[0], c[0]), fmaf(a[1], b[1], c[1]),
                     fmaf(a[2], b[2], c[2]), fmaf(a[3], b[3], c[3]) };
}

static inline VecF64 fma_vec_f64(VecF64 a, VecF64 b, VecF64 c)
{
    return (VecF64){ fma(a[0], b[0], c[0]), fma(a[1], b[1], c[1]) };
}

#define FMA_F32 fma_vec_f32
#define FMA_F64 fma_vec_f64
#define SPLAT_F32(x) ((VecF32){ x, x, x, x })
#define SPLAT_F64(x) ((VecF64){ x, x })
#endif

#endif
