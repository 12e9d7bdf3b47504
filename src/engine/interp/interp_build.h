/*
 * interp_build.h -- from a Program to steps and registers
 */
#ifndef ENGINE_INTERP_INTERP_BUILD_H
#define ENGINE_INTERP_INTERP_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanes/lanes.h"

/** What a launch executes. The first steps run once per launch() and compute values
 *  that are the same in all lanes; those from 'block' on run for each block. Both parts
 *  end with a step that stops; what stands between are the callables. The frame's table
 *  of registers has the addresses of
 *
 *      'locals'  local arrays
 *      'views'   what stands elsewhere: inputs and arguments of calls. Steps set them.
 *      'regs'    pieces of memory
 */
typedef struct InterpCode {
    LaneStep *steps;
    uint32_t *extra;
    size_t *local_offsets; /* where each local array begins, in bytes of one lane */
    uint32_t step_count, step_capacity;
    uint32_t extra_count, extra_capacity;
    uint32_t locals, local_capacity;
    uint32_t block;
    uint32_t views, regs;
    uint32_t callables;
    uint32_t rows;      /* most that a step finds by LaneFrame.values */
    size_t local_bytes; /* of all local arrays, for one lane */
    uint32_t entry;     /* bytes of the largest entry in a register */
    uint32_t report;    /* parameter of the reports, PROGRAM_NONE if there is none */
    uint32_t log;       /* the same for the PrintLog */
} InterpCode;

/** Fill a zeroed InterpCode with steps from a table. False (error recorded): out of
 *  memory, or the Program has an operation that does not exist here. Release it in any
 *  case. */
bool interp_build(InterpCode *code, const Program *program, const LaneTable *lanes);
/** Release the arrays. */
void interp_build_free(InterpCode *code);

/** Function of a step at the end. */
const LaneStep *interp_build_stop(const LaneStep *step, const LaneFrame *frame);

/** Function of an arithmetic operation or conversion, NULL if it is not defined. 'type'
 *  is the result's, 'operand' the one of the first operand that is not a mask. */
LaneFn interp_build_find(const LaneTable *lanes, Op op, VarType type, VarType operand);

/** Which loops a scatter with this Inst.aux uses. */
LaneScatter interp_build_scatter(uint32_t aux);

#endif
