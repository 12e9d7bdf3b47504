/*
 * exported_ordered.c -- the loops of scatter-reductions that have an order for the
 * instruction set that a function was exported for; see exported_isa.c
 */
#include "device/cpu/loops/ordered_lanes.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

extern const OrderedLanes JOIN(ordered_lanes_, EXPORTED_ISA);

const OrderedLanes *ordered_lanes_get(void)
{
    return &JOIN(ordered_lanes_, EXPORTED_ISA);
}
