/*
 * isa.h -- which instruction sets this CPU has
 *
 * There are three that loops are compiled for: baseline, avx2 and avx512.
 */
#ifndef BASE_ISA_H
#define BASE_ISA_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#define ISA_CPU_HAS(feature) (__builtin_cpu_supports(feature) != 0)
#else
#define ISA_CPU_HAS(feature) false
#endif

/** AVX2, FMA, F16C (every CPU with AVX2 has that), BMI2. */
static inline bool isa_avx2(void)
{
    return ISA_CPU_HAS("avx2") && ISA_CPU_HAS("fma") && ISA_CPU_HAS("bmi2");
}

/** All that, and AVX-512 F, VL, DQ and BW. */
static inline bool isa_avx512(void)
{
    return isa_avx2() && ISA_CPU_HAS("avx512f") && ISA_CPU_HAS("avx512vl") &&
           ISA_CPU_HAS("avx512dq") && ISA_CPU_HAS("avx512bw");
}

/** What code may use beyond these, as bits. */
enum { ISA_CD = 1, ISA_VPOPCNTDQ = 2, ISA_GFNI = 4 };

static inline uint32_t isa_extensions(void)
{
    return (ISA_CPU_HAS("avx512cd") ? ISA_CD : 0u) |
           (ISA_CPU_HAS("avx512vpopcntdq") ? ISA_VPOPCNTDQ : 0u) |
           (ISA_CPU_HAS("gfni") ? ISA_GFNI : 0u);
}

#endif
