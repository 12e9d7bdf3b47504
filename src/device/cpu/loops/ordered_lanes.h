/*
 * ordered_lanes.h -- the inner loops of ordered.c, compiled for each instruction set
 */
#ifndef DEVICE_CPU_LOOPS_ORDERED_LANES_H
#define DEVICE_CPU_LOOPS_ORDERED_LANES_H

#include <stddef.h>
#include <stdint.h>

#include "drjit-core/jit.h"

enum { ORDERED_CHUNK = 16 }; /* lanes that are looked at together */

/** Up to a chunk of lanes, of which those are wanted that have one of 'entries' entries
 *  from 'first' on, and whose mask is set (NULL: all are). */
typedef struct OrderedChunk {
    const uint32_t *index;
    const void *values;
    const uint8_t *mask;
    uint32_t count, first, entries;
} OrderedChunk;

/** Of one operation and type; NULL where there is no such reduction. */
typedef struct OrderedLoops {
    /** target[index[j]] op= values[j] for j = 0, 1, ... count - 1, as if one by one.
     *  f16 is rounded each time. */
    void (*add)(void *target, const uint32_t *index, const void *values, size_t count);
    /** Write the lanes that are wanted, one behind the other; their number. There is
     *  room for all of the chunk. */
    uint32_t (*select)(const OrderedChunk *chunk, uint32_t *index, void *values);
} OrderedLoops;

typedef struct OrderedLanes {
    OrderedLoops loops[ReduceOpCount][VarTypeCount];
} OrderedLanes;

/** The table in use. */
const OrderedLanes *ordered_lanes_get(void);

#endif
