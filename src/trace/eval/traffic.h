/*
 * traffic.h -- the bytes and the arithmetic of a command, for the kernel history
 *
 * What is counted is what has to be moved and computed, known before the command runs:
 *
 *   - Each byte of an array counts once at most, however often it is used, as read and
 *     as written. Values that are reduced where they are computed are in no array.
 *   - Gathers and scatters count the entries of their lanes, and no more than the array
 *     has. Scatters that reduce, and atomics, read what they write.
 *   - A sum, difference, product, quotient, root, minimum or maximum of floats is one
 *     operation, a fused multiply-add two. Functions are what the legaliser makes of
 *     them, rare paths left out. Values that are the same in all lanes cost nothing.
 *   - All lanes count as if they took all branches and callables, and loops as if they
 *     ran once.
 */
#ifndef TRACE_EVAL_TRAFFIC_H
#define TRACE_EVAL_TRAFFIC_H

#include "device/command.h"
#include "ir/program.h"

typedef struct Traffic {
    uint64_t read, written; /* bytes */
    uint64_t flops;
    bool loops;             /* of which one iteration counts */
} Traffic;

/** Of a command that has its slots. LAUNCH: of this Program, as it was traced. NULL: of
 *  other commands. False: out of memory. */
bool traffic_find(const Command *command, const Program *program, Traffic *out);

#endif
