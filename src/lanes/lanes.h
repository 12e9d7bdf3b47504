/*
 * lanes.h -- the loops over lanes, one table per instruction set
 *
 * A compiled Program is an array of LaneSteps. A step is a function that computes one
 * instruction for all lanes of a block; it finds its operands by number in the frame's
 * table of registers. Its last act is to call the next step, which the compiler turns
 * into a jump: the processor then predicts each jump by what precedes it, and a block
 * of 16 lanes takes half the time that a loop over the steps would. A step of control
 * flow that goes on elsewhere returns the step to go on with instead.
 *
 * lanes.c is compiled once for each instruction set (-DLANES_ISA=baseline,
 * avx2, avx512) and defines one LaneTable; all tables compute the same bits.
 *
 *     step:   fn | out | arg[0] | arg[1] | arg[2]
 *                   |      |        |        |
 *     frame:       regs[] ---> memory of 'lanes' entries each
 *
 * Pure steps compute 'lanes' entries, which is 'count' rounded up to a multiple of
 * LANE_GROUP: registers have room for that, whatever the lanes in excess hold is never
 * used. Steps that touch arrays stop at 'count' exactly.
 */
#ifndef LANES_LANES_H
#define LANES_LANES_H

#include <stdint.h>

#include "ir/op.h"
#include "ir/program.h"

enum {
    LANE_GROUP = 16, /* granularity of the loops */
    LANE_BLOCK = 512 /* most lanes in a frame */
};

typedef struct LaneStep LaneStep;

typedef struct LaneFrame {
    void **regs;           /* addresses of the registers; LOAD redirects its own */
    const uint64_t *args;  /* parameters of the launch */
    const uint32_t *extra; /* operands of steps that have more than three */
    CheckReport *reports;  /* NULL without checks */
    PrintLog *log;         /* NULL without prints */
    const void **values;   /* addresses of what is printed, or of vectors' entries */
    /** For each callable, the step to go on with after it. None calls itself, so each
     *  has one at most. */
    const LaneStep **back;
    uint32_t lanes; /* 'count' rounded up */
    uint32_t count;
    uint32_t begin; /* number of the first lane */
    uint32_t worker;
    uint32_t requests; /* to interrupt, when the launch was submitted */
} LaneFrame;

/** Compute this step and those after it, up to one that returns. The result is the step
 *  to go on with, NULL at the end. */
typedef const LaneStep *(*LaneFn)(const LaneStep *step, const LaneFrame *frame);

struct LaneStep {
    LaneFn fn;
    uint32_t out;
    uint32_t arg[3];
};

/** The end of each LaneFn. */
#define NEXT(s, f) return (s)[1].fn((s) + 1, f)

typedef enum LaneScatter {
    LANE_SCATTER_PLAIN,  /* targets are distinct: read, combine, write */
    LANE_SCATTER_ATOMIC, /* one atomic operation a lane */
    LANE_SCATTER_RUNS,   /* combine neighbours with the same target first */
    LANE_SCATTER_COUNT
} LaneScatter;

/** Operands are listed as out; arg[0], arg[1], arg[2]. Entries that are not defined are
 *  NULL. [4] is indexed by the binary logarithm of the entry size. */
typedef struct LaneTable {
    const char *isa;
    /** Arithmetic (NEG ... SELECT), by the type of the first operand that is not a
     *  mask; LOOKUP (value; index, place of the table in extra, n) by its own. */
    LaneFn op[OP_COUNT][VarTypeCount];
    /** Conversion, [to][from]. */
    LaneFn cast[VarTypeCount][VarTypeCount];
    LaneFn fill[4];       /* value; low half, high half */
    LaneFn param[4];      /* value; parameter */
    LaneFn pointer;       /* value in the first lane only; parameter */
    LaneFn load_first[4]; /* entry 0 in all lanes; parameter */
    LaneFn load[4];       /* redirected register; parameter, register for a copy */
    LaneFn store[4];      /* -; parameter, value */
    LaneFn move[4];       /* value; value */
    LaneFn counter;       /* value */
    LaneFn worker;        /* value */
    LaneFn packet_index;  /* i * n + k; i, n, k */
    LaneFn gather[4];     /* value; pointer, index, mask */
    LaneFn gather_all[4]; /* value; pointer, index: as if all lanes were set */
    LaneFn scatter[LANE_SCATTER_COUNT][ReduceOpCount][VarTypeCount];
    /* pointer; value, index, mask */
    /* previous; pointer, value, extra: index, mask */
    LaneFn fetch_add[VarTypeCount];
    LaneFn increment;   /* previous; pointer, index, mask */
    LaneFn exchange[4]; /* previous; pointer, value, extra: index, mask */
    LaneFn
        compare_exchange[4]; /* previous; pointer, value, extra: index, mask, compare */
    LaneFn check;            /* mask; mask, index, number of the check */
    /* Control flow. 'far' is the number of steps to jump ahead. */
    LaneFn blend[4]; /* value, changed; value, mask */
    LaneFn without;  /* mask; mask and not, mask */
    LaneFn match;    /* mask; mask and, value equal to, number */
    LaneFn narrow;   /* mask, changed; mask and, far if no lane is left */
    LaneFn skip;     /* -; mask, far if it has no lane */
    /* Local arrays: address of a row for each entry. */
    LaneFn local_fill[4];  /* array; value, entries */
    LaneFn local_read[4];  /* value; array, index, extra: mask, entries */
    LaneFn local_write[4]; /* array; value, index, extra: mask, entries */
    LaneFn local_move[4];  /* array; array, mask, entries */
    LaneFn print; /* number of the print; mask, extra: values, how many of them */
    LaneFn rows;  /* LaneFrame.values are these; extra: values, how many of them */
    /* Products with matrices; LaneFrame.values has the vectors (lanes_matrix.h). */
    LaneFn matvec[VarTypeCount]; /* aux; pointer, index, number of inputs */
    LaneFn outer[LANE_SCATTER_COUNT][VarTypeCount];
    /* number of rows; pointer, index, number of columns */
} LaneTable;

extern const LaneTable lanes_baseline;
#if defined(__x86_64__)
extern const LaneTable lanes_avx2;
extern const LaneTable lanes_avx512;
#endif

#endif
