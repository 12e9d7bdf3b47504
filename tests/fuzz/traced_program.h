/*
 * traced_program.h -- a random Program, traced through the public interface
 *
 * Instructions become calls of drjit-core/jit.h: loops, conditionals, calls, local
 * arrays, scatters and prints are recorded. What has no counterpart there is left out
 * in the same way each time: results of atomic operations and of tables of literals,
 * the worker, effects in the condition of a loop, moves of long local arrays. So two
 * traces of one Program can be compared with each other, but not with the Program.
 */
#ifndef FUZZ_TRACED_PROGRAM_H
#define FUZZ_TRACED_PROGRAM_H

#include <drjit-core/jit.h>

#include "random_program.h"

typedef struct TracedProgram TracedProgram;

/** Who gets the values of a print. */
typedef struct TracedPrint {
    TracedProgram *owner;
    uint32_t number;
} TracedPrint;

struct TracedProgram {
    const RandomProgram *random;
    uint32_t *slots;      /* the array of each slot, 0 = none; owned */
    uint32_t *outputs;    /* what is stored; owned */
    uint32_t output_count, output_capacity;
    uint64_t printed;     /* a number that depends on all values that were printed */
    bool lost;            /* not all values that were printed arrived */
    TracedPrint prints[RANDOM_PRINTS];
    bool failed;          /* an error was recorded */
};

/** Make the arrays: with the Program's data, or with other data if 'seed' is not 0. */
bool traced_program_begin(TracedProgram *t, const RandomProgram *random, uint64_t seed);
/** Trace it; arrays that are written to are replaced by what was written. */
bool traced_program_record(TracedProgram *t);
void traced_program_free(TracedProgram *t);

#endif
