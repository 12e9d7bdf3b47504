/*
 * ordered_lanes.c -- see ordered_lanes.h
 *
 * Compiled once for each instruction set with -DORDERED_ISA=<name>; gives one table,
 * ordered_lanes_<name>. What is added, and in which order, is the same in all of them.
 */
#include "device/cpu/loops/ordered_lanes.h"

#include <stdbool.h>
#include <string.h>

#include "lanes/lanes_half.h"

enum { CHUNK = ORDERED_CHUNK };

/* Are the entries of a chunk index[0], index[0] + stride, ...? */
static inline bool is_straight(const uint32_t *index, uint32_t stride)
{
    uint32_t differ = index[1] ^ (index[0] + stride);
    if (differ) /* often known at once */
        return false;
    for (uint32_t j = 2; j < CHUNK; ++j)
        differ |= index[j] ^ (index[0] + j * stride);
    return !differ;
}

#define SUM(a, b) ((a) + (b))
#define PRODUCT(a, b) ((a) * (b))
#define HALF_SUM(a, b) half_store(half_load(a) + half_load(b))
#define HALF_PRODUCT(a, b) half_store(half_load(a) * half_load(b))

#define ENTRY uint16_t
#define NAME(x) x##_sum_f16
#define COMBINE HALF_SUM
#include "device/cpu/loops/ordered_lanes_loop.inc"
#define NAME(x) x##_product_f16
#define COMBINE HALF_PRODUCT
#include "device/cpu/loops/ordered_lanes_loop.inc"
#undef ENTRY
#define ENTRY float
#define NAME(x) x##_sum_f32
#define COMBINE SUM
#include "device/cpu/loops/ordered_lanes_loop.inc"
#define NAME(x) x##_product_f32
#define COMBINE PRODUCT
#include "device/cpu/loops/ordered_lanes_loop.inc"
#undef ENTRY
#define ENTRY double
#define NAME(x) x##_sum_f64
#define COMBINE SUM
#include "device/cpu/loops/ordered_lanes_loop.inc"
#define NAME(x) x##_product_f64
#define COMBINE PRODUCT
#include "device/cpu/loops/ordered_lanes_loop.inc"
#undef ENTRY

#ifndef ORDERED_ISA
#error "ORDERED_ISA must be baseline, avx2 or avx512"
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define ROW(name) { add_##name, select_##name }
extern const OrderedLanes JOIN(ordered_lanes_, ORDERED_ISA);
const OrderedLanes JOIN(ordered_lanes_, ORDERED_ISA) = { .loops = {
    [ReduceOpAdd] = { [VarTypeFloat16] = ROW(sum_f16), [VarTypeFloat32] = ROW(sum_f32),
                      [VarTypeFloat64] = ROW(sum_f64) },
    [ReduceOpMul] = { [VarTypeFloat16] = ROW(product_f16),
                      [VarTypeFloat32] = ROW(product_f32),
                      [VarTypeFloat64] = ROW(product_f64) },
} };
