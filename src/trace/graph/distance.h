/*
 * distance.h -- arrays of indices whose entry i is i and a number
 *
 * Neighbours on a grid and parts of arrays are gathered with such indices. The trace
 * says so where they are computed; of those in memory it is noted when they are
 * evaluated, in Var.aux, and forgotten as soon as somebody may write to the array.
 *
 * Requires the graph lock.
 */
#ifndef TRACE_GRAPH_DISTANCE_H
#define TRACE_GRAPH_DISTANCE_H

#include "trace/graph/var.h"

/** Of a variable with more than one entry. */
typedef struct Distance {
    uint32_t number; /* entry i is i + number, modulo 2^32 */
    VarId array;     /* borrowed: an array in memory that this was noted of, or 0 */
} Distance;

/** Is there such a number for a variable? */
bool distance_find(VarId id, Distance *found);
/** The note for a variable that is about to be in memory; 0: nothing. */
uint32_t distance_note(VarId id);
/** The number of a note. */
static inline uint32_t distance_of(uint32_t note)
{
    return (uint32_t) ((int32_t) note >> 1);
}
/** The content of an array may change. */
static inline void distance_forget(Var *array)
{
    if (array->op == OP_EVALUATED)
        array->aux = 0;
}

#endif
