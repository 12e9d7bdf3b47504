/*
 * random_program.h -- seeded random Programs with the arrays they work on
 *
 * A seed gives the same Program everywhere. All operations and types that occur in
 * Programs are drawn, except statements: also loops (which end, as a counter of each
 * lane does), conditionals, calls, local arrays and prints. Results are determined by
 * the semantics in ops.def alone:
 *
 *   - Scatters whose outcome depends on the order of lanes have distinct targets.
 *   - Bits of floats reach integers only after NaNs have been replaced, as the payload
 *     and the sign of a NaN are up to the engine.
 *   - Indices are in bounds, or the lanes that have others are masked.
 *   - Effects inside regions are masked by the lanes that execute.
 *
 * The instructions that ensure the latter are marked 'fixed'. Everything else may be
 * replaced by a literal, which is how failing Programs are made smaller
 * (random_program_reduce).
 */
#ifndef FUZZ_RANDOM_PROGRAM_H
#define FUZZ_RANDOM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/program.h"

enum {
    ARRAY_GUARD = 64,  /* bytes before and after an array that nobody may change */
    ARRAY_FILL = 0xa5, /* what they hold */
    RANDOM_CHECKS = 8, /* at most, in one Program */
    RANDOM_PRINTS = 4,
    RANDOM_PRINTED = 3 /* values of a print */
};

/** What one parameter slot stands for. */
typedef struct RandomArray {
    uint8_t *data; /* initial entries; NULL for values and reports */
    uint32_t bytes;
    uint32_t shift; /* bytes by which it misses 64-byte alignment */
    uint64_t word;  /* PARAM_VALUE: the value */
} RandomArray;

typedef struct RandomProgram {
    Program *program;
    bool *fixed;         /* by instruction: not to be replaced */
    RandomArray *arrays; /* by slot */
    uint64_t bounds[RANDOM_CHECKS];
    uint8_t printed[RANDOM_PRINTS][RANDOM_PRINTED]; /* VarType, 0 after the last */
    uint32_t fixed_capacity, array_capacity;
    uint32_t lanes;
    uint32_t split; /* a launch of lanes 0 ... split-1 comes first */
} RandomProgram;

/** The Program of a seed with about 'ops' operations. NULL if out of memory. */
RandomProgram *random_program_new(uint64_t seed, uint32_t ops);
void random_program_free(RandomProgram *random);

/** What random_program_reduce() does with an instruction. */
typedef enum Reduction {
    REDUCE_KEEP,
    REDUCE_DROP,  /* without a result: leave out; else replace by a literal 0 */
    REDUCE_REGION /* part of a region whose REGION is dropped */
} Reduction;

/** A smaller Program: 'reductions' (one for each instruction) applied, dead code left
 * out, slots as before. Owned by the caller; NULL if out of memory. */
Program *random_program_reduce(const RandomProgram *random, const uint8_t *reductions);

#endif
