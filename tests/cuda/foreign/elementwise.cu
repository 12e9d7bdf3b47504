/*
 * elementwise.cu -- the functions of functions.inc as kernels
 *
 *     NAME(const uint64_t *a, const uint64_t *b, uint64_t *result, uint32_t n)
 */
#include <stdint.h>

#define DEVICE __device__
#define POPC(x) ((uint64_t) __popc(x))
#define CLZ(x) ((uint64_t) __clz((int) (x)))
#define MUL_HI(x, y) __umul64hi(x, y)

__device__ static uint32_t half_from(float x)
{
    uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}

__device__ static float half_to(uint16_t bits)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

#define HALF_FROM(x) half_from(x)
#define HALF_TO(x) half_to(x)

__constant__ uint64_t TABLE[16] = {
#include "table.inc"
};

#define FUNCTION(name)                                                    \
    __device__ static uint64_t name##_of(uint64_t a, uint64_t b);         \
    extern "C" __global__ void name(const uint64_t *a, const uint64_t *b, \
                                    uint64_t *result, uint32_t n)         \
    {                                                                     \
        const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;         \
        if (i < n)                                                        \
            result[i] = name##_of(a[i], b[i]);                            \
    }                                                                     \
    __device__ static uint64_t name##_of(uint64_t a, uint64_t b)

#include "functions.inc"
