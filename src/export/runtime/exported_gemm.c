/*
 * exported_gemm.c -- the loops of matrix products for the instruction set that a
 * function was exported for; see exported_isa.c
 */
#include "device/cpu/loops/gemm_lanes.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

extern const GemmLanes JOIN(gemm_lanes_, EXPORTED_ISA);

const GemmLanes *gemm_lanes_get(void) { return &JOIN(gemm_lanes_, EXPORTED_ISA); }
