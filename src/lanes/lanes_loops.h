/*
 * lanes_loops.h -- how loops over lanes are written
 *
 * Part of lanes.c. A loop runs over groups of LANE_GROUP lanes; as that number
 * is a constant, vector code needs neither a remainder loop nor a test of the count.
 */
#ifndef LANES_LANES_LOOPS_H
#define LANES_LANES_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "lanes/lanes.h"

/* Results lie in other registers than operands, so lanes are independent. */
#if defined(__clang__)
/* Some loops call a function on some sets, and stay scalar there. */
#pragma clang diagnostic ignored "-Wpass-failed"
#define VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#define VECTOR_LOOP_WHOLE VECTOR_LOOP
#else
#define VECTOR_LOOP _Pragma("GCC ivdep")
/* Unrolled first, a short loop would become scalar code. */
#define VECTOR_LOOP_WHOLE _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#endif

/* A single group is common and gets code without any loop, with vectors of fitting
 * size. */
#define FOR_LANES(i, end, statement)            \
    if (end == LANE_GROUP) {                    \
        VECTOR_LOOP_WHOLE                       \
        for (size_t i = 0; i < LANE_GROUP; ++i) \
            statement                           \
    } else {                                    \
        VECTOR_LOOP                             \
        for (size_t i = 0; i < end; ++i)        \
            statement                           \
    }

/* That this is a multiple of LANE_GROUP tells the compiler that vectors need no
 * remainder. */
static inline size_t whole_groups(uint32_t count)
{
    return count & ~(uint32_t) (LANE_GROUP - 1);
}

#endif
