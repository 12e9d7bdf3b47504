/*
 * assemble.h -- one group of scheduled variables -> Program and launch arguments
 */
#ifndef TRACE_ASSEMBLE_H
#define TRACE_ASSEMBLE_H

#include "trace/schedule.h"
#include "trace/state.h"

/** A variable whose operands are being visited. */
typedef struct Visit {
    VarId id;
    uint32_t next; /* operands before this one have been emitted */
} Visit;

/** What a launch of the built Program needs. All arrays are owned and reused;
 *  zero-initialise once, assemble_free() at the end. */
typedef struct Assembly {
    Program *program;
    uint32_t size;
    uint32_t workers;         /* that may take part, 0: all (see expand.h) */
    uint64_t *args;           /* one word a slot; outputs are filled in by evaluate.c */
    Buffer **reads, **writes; /* borrowed from variables, see assemble_hold() */
    VarId *arrays;            /* arrays that are read, and those behind pointers */
    VarId *outputs;           /* variable of each output slot, in slot order */
    uint32_t *output_slots;
    VarId *literal_vars;      /* variable behind each literal, for messages */
    uint64_t *check_bounds;
    VarId *check_vars;
    VarId *consumed;          /* atomics whose result is not stored */
    uint32_t arg_capacity, read_count, read_capacity, write_count, write_capacity;
    uint32_t output_count, output_capacity, output_slot_capacity;
    uint32_t array_count, array_capacity;
    uint32_t literal_capacity, bound_capacity, check_capacity;
    uint32_t consumed_count, consumed_capacity;
    uint32_t input_count;
    Visit *stack;             /* of the depth-first walk */
    uint32_t stack_capacity;
} Assembly;

/** Fill the assembly from a group. False: error recorded, nothing was changed in the
 *  graph. */
bool assemble_group(Assembly *assembly, Program *program, const Group *group);
/** Hold all that the assembly names, so that the lock can be released: others may
 *  evaluate variables of the group, which then drop their operands. Then let go. */
void assemble_hold(const Assembly *assembly);
void assemble_drop(const Assembly *assembly);
void assemble_free(Assembly *assembly);

#endif
