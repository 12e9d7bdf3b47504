/*
 * arguments.h -- which arguments a function is tried with
 *
 * Either all bit patterns of a format in order, or a sample: the neighbourhoods of
 * special points first (both signs of powers of two, multiples of pi / 2, ends of the
 * domains, thresholds of overflow and underflow, published hard cases, ...), then
 * arguments drawn evenly over the bit patterns, half of them over all and half over
 * those of moderate size, each followed by its successor. With two arguments: all pairs
 * of special values, then pairs of several kinds.
 *
 * Argument number i is always the same, so that a run can be resumed.
 */
#ifndef ACCURACY_ARGUMENTS_H
#define ACCURACY_ARGUMENTS_H

#include "reference.h"

typedef struct Arguments {
    const Function *function;
    const Format *format;
    bool all;           /* every bit pattern */
    bool magnitudes;    /* only those without a sign */
    double lower, upper; /* if different: spread evenly over this range instead */
    uint64_t count;
    double *points;      /* special ones */
    uint64_t point_count;
} Arguments;

/** At least 'count' arguments (0: all); false if out of memory. */
bool arguments_begin(Arguments *arguments, const Function *function,
                     const Format *format, uint64_t count);
void arguments_end(Arguments *arguments);
/** The bits of arguments first ... first + count - 1: 'bits[k]' gets operand k. */
void arguments_fill(const Arguments *arguments, uint64_t first, uint64_t count,
                    void *const *bits);
/** Entry i of such an array. */
uint64_t arguments_bits(const Format *format, const void *bits, uint64_t i);

#endif
