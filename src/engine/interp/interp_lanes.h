/*
 * interp_lanes.h -- the loops of the interpreter, between interp.c and interp_lanes.c
 *
 * interp_lanes.c is compiled once for each instruction set; each object exports one table of
 * functions. A function executes one step for the lanes of a block. Values lie in a frame, a
 * slot of 'lanes' entries each; slots are padded, so arithmetic runs over 'rounded' lanes and
 * needs no tail, while whatever touches memory outside the frame stops at 'count'.
 */
#ifndef ENGINE_INTERP_LANES_H
#define ENGINE_INTERP_LANES_H

#include <stdint.h>

#include "ir/program.h"

/** Arithmetic runs over a multiple of this many lanes. */
#define INTERP_ROUND 16u

typedef struct Frame {
    char *base;           /* slots */
    const uint64_t *args; /* of the launch */
    const uint32_t *lists; /* operands of steps that have more than three */
    uint32_t begin;       /* first lane of the block */
    uint32_t count;       /* lanes of the block */
    uint32_t rounded;     /* the same, a multiple of INTERP_ROUND */
    uint32_t worker;
} Frame;

typedef struct Step Step;
typedef void (*LaneFn)(const Step *step, const Frame *frame);

/** One instruction, ready to run: 'dst', 'a', 'b', 'c' are offsets of slots in the frame. */
struct Step {
    LaneFn fn;
    uint32_t dst, a, b, c;
    uint32_t slot; /* of a parameter; packets: bytes from one entry's slot to the next;
                      steps with lists: first operand in 'lists' */
    uint32_t aux;  /* packets: entries */
};

#define INTERP_SIZES 4 /* entry sizes 1, 2, 4, 8, by logarithm */

typedef struct InterpLanes {
    LaneFn arith[OP_COUNT][VarTypeCount];          /* by type of the first value operand */
    LaneFn cast[VarTypeCount][VarTypeCount];       /* [from][to] */
    LaneFn copy[INTERP_SIZES], select[INTERP_SIZES];
    LaneFn fill[INTERP_SIZES];                     /* bits from slot | aux << 32 */
    LaneFn param[INTERP_SIZES];                    /* bits from args[slot] */
    LaneFn load[INTERP_SIZES], load_uniform[INTERP_SIZES], store[INTERP_SIZES];
    LaneFn counter, worker, check;
    LaneFn gather[INTERP_SIZES], gather_packet[INTERP_SIZES];
    LaneFn scatter[ReduceOpCount][VarTypeCount][2]; /* [1]: without atomics */
    LaneFn scatter_packet[ReduceOpCount][VarTypeCount][2];
    LaneFn scatter_inc, scatter_exch[INTERP_SIZES], scatter_cas[INTERP_SIZES];
} InterpLanes;

extern const InterpLanes interp_lanes_baseline;
#if defined(__x86_64__)
extern const InterpLanes interp_lanes_avx2;
extern const InterpLanes interp_lanes_avx512;
#endif

#endif
