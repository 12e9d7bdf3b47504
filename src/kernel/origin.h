/*
 * origin.h -- where a value that is not finite comes from
 *
 * A Program is computed once more, for one lane, one instruction at a time. Each value
 * that is infinite or NaN is marked with where that began: an operation that made it
 * from finite operands, an entry of an array, a literal. So a select() drops what it
 * does not choose, and states of loops, local arrays, arguments and results of calls
 * have the mark of what was put there. Used by debug mode after a launch has ended.
 *
 * It needs no locks. The arrays must stay as they were before the launch, the Program
 * as it was traced.
 */
#ifndef KERNEL_ORIGIN_H
#define KERNEL_ORIGIN_H

#include "ir/program.h"

typedef enum OriginKind {
    ORIGIN_MADE,   /* an operation on finite values; NaN: on values that are not NaN */
    ORIGIN_ARRAY,  /* an entry that was read */
    ORIGIN_LITERAL /* or bits of an integer */
} OriginKind;

enum { ORIGIN_OPERANDS = 3 };

typedef struct Origin {
    OriginKind kind;
    SourceLine source;  /* of the instruction; file NULL: not known */
    VarType type;       /* of the value */
    uint64_t bits;
    Op op;              /* MADE: the operation, the type of its operands, these, ... */
    VarType operand;
    uint32_t count;     /* ... as many as there are; 0: too many to name */
    uint64_t operands[ORIGIN_OPERANDS];
    uint32_t param;     /* ARRAY: of the Program; PROGRAM_NONE: not known */
    uint64_t entry;     /* likewise */
} Origin;

typedef struct OriginSpec {
    const Program *program;
    const uint64_t *args; /* a word for each parameter: addresses for the host */
    const uint64_t *check_bounds;
    uint64_t steps;       /* instructions to compute at most, in all lanes together */
} OriginSpec;

typedef struct OriginWalk OriginWalk;

/** A walk through lanes of one launch; the spec's pointers are borrowed. NULL: out of
 *  memory. */
OriginWalk *origin_begin(const OriginSpec *spec);
/** Compute a lane. False: it cannot be known what happens there (a statement, the
 *  result of an atomic operation), the steps are used up, or out of memory. */
bool origin_lane(OriginWalk *walk, uint32_t lane);
/** Have the steps been used up? */
bool origin_is_exhausted(const OriginWalk *walk);
/** What this lane stores to an output, and where that comes from: NULL if it is finite.
 *  Valid until the next lane. */
const Origin *origin_output(const OriginWalk *walk, uint32_t param, uint64_t *bits);
/** The first value that this lane scatters to the array of a parameter and that was
 *  made here; NULL: none. */
const Origin *origin_scattered(const OriginWalk *walk, uint32_t param, uint64_t *entry);
void origin_end(OriginWalk *walk);

/** Is a value infinite (1) or NaN (2)? 0: neither, or not of a floating-point type. */
uint32_t origin_badness(VarType type, uint64_t bits);

#endif
