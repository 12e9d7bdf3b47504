/*
 * schedule.h -- which variables are computed by one evaluation, and in what groups
 *
 * A group is what one kernel computes: variables to store, reductions (pending.h) of
 * its lanes, and writes to perform, all of one size and on one device. What needs the
 * result of a reduction comes in a later group, and so does what reads an array by
 * index that is yet to be computed. Writes into one array have the effect of their
 * order of creation: a write joins a group only if no later group writes the same
 * array, and if it commutes with the writes to that array that are in it already.
 */
#ifndef TRACE_EVAL_SCHEDULE_H
#define TRACE_EVAL_SCHEDULE_H

#include "device/command.h"
#include "trace/graph/state.h"

typedef struct Group {
    uint32_t size;
    uint8_t device; /* Device.index */
    VarId *roots; /* values to store and reductions in any order, then effects in
                     theirs; one reference each */
    uint32_t root_count, root_capacity;
    uint32_t effect_count; /* how many of them are effects */
    uint32_t fused_count;   /* how many are reductions, */
    FusedReduction first;   /* and one of them, beside which the device takes the others
                              (Device.fuses) */
} Group;

typedef struct Schedule {
    Group *groups;
    uint32_t group_count, group_capacity;
} Schedule;

/** Group variables (unevaluated ones) and effects, and the reductions that they need;
 *  references are taken over.
 *  False: out of memory, references unchanged, the schedule is empty. */
bool schedule_make(const ThreadState *ts, Schedule *schedule, const VarId *vars,
                   uint32_t var_count, const VarId *effects, uint32_t effect_count);
/** Drop references and memory. */
void schedule_free(Schedule *schedule);

#endif
