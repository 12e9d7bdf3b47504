/*
 * symsize.h -- sizes as expressions, and what was assumed of them
 *
 * A recording serves other sizes than those it was made with, so no size in it is a
 * number: it is a SymSize, which names a term,
 *
 *     input k    size class k of the recording's inputs
 *     read k     a number that a command of the recording writes
 *     constant   what does not depend on inputs
 *     a + b, a - b, a * b, a / b, a % b        (rounded down)
 *
 * and has the value that it had when it was recorded. Equal terms are one. Where the
 * program has looked at a size, or needs two to be equal that are not one term, a guard
 * says so: a recording is right for all sizes for which its guards hold.
 */
#ifndef RECORDING_SYMSIZE_H
#define RECORDING_SYMSIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"
#include "base/text.h"

typedef uint32_t SymSize; /* 0: none */

typedef enum SizeOp {
    SYMSIZE_CONSTANT, /* value */
    SYMSIZE_INPUT,    /* a: the class */
    SYMSIZE_READ,     /* a: which of the numbers that are read */
    SYMSIZE_ADD,
    SYMSIZE_SUB,
    SYMSIZE_MUL,
    SYMSIZE_DIV,
    SYMSIZE_MOD,
    SYMSIZE_OPS
} SizeOp;

typedef struct SizeTerm {
    SizeOp op;
    uint32_t a, b;
    uint32_t late; /* 1 + the last of the numbers that it depends on, 0: on none */
    int64_t value; /* when it was recorded */
} SizeTerm;

/** Each stands beside its contrary. */
typedef enum SizeRelation {
    SYMSIZE_EQUAL,
    SYMSIZE_NOT_EQUAL,
    SYMSIZE_LESS,
    SYMSIZE_NOT_LESS,
    SYMSIZE_RELATIONS
} SizeRelation;

typedef struct SizeGuard {
    SizeRelation relation;
    SymSize a, b;
} SizeGuard;

/** The terms and guards of a recording; zeroed: none. */
typedef struct SymSizes {
    SizeTerm *terms; /* terms[0] is none */
    uint32_t count, capacity;
    SizeGuard *guards;
    uint32_t guard_count, guard_capacity;
    Table known; /* terms and guards by what they say */
} SymSizes;

/** Terms, made if there is no such one. 0: out of memory, or the value does not exist
 *  (overflow, division by 0; error recorded). */
SymSize symsize_constant(SymSizes *w, int64_t value);
SymSize symsize_input(SymSizes *w, uint32_t number, int64_t value);
SymSize symsize_read(SymSizes *w, uint32_t number, int64_t value);
SymSize symsize_make(SymSizes *w, SizeOp op, SymSize a, SymSize b);

/** The value of a term when it was recorded. */
static inline int64_t symsize_value(const SymSizes *w, SymSize symsize)
{
    return w->terms[symsize].value;
}
/** Of terms that were read from a file: do they refer to those before them, and to
 *  'reads' numbers that are read? Sets 'late', which follows from the rest. */
bool symsize_check(SymSizes *w, uint32_t reads);
/** Is it a constant? */
static inline bool symsize_is_constant(const SymSizes *w, SymSize symsize)
{
    return w->terms[symsize].op == SYMSIZE_CONSTANT;
}

/** Assume that a relation holds, as it does now. False: out of memory. */
bool symsize_assume(SymSizes *w, SizeRelation relation, SymSize a, SymSize b);
/** Does a relation hold now? 1, 0, and from now on it is assumed that it stays so; -1:
 *  out of memory. */
int symsize_test(SymSizes *w, SizeRelation relation, SymSize a, SymSize b);
/** Assume that a size is what it is. */
bool symsize_pin(SymSizes *w, SymSize symsize);
/** Assume of the size of an array that it is 0, 1 or larger, as it is now, which
 *  decides what broadcasts; and that it fits 32 bits. */
bool symsize_pin_kind(SymSizes *w, SymSize symsize);

/** Compute the values of terms that depend on inputs (by class) and on no number that
 *  is read; or, once numbers 0 to k have been read and are in values[] in the place of
 *  their terms, of those that depend on k ('late' is k + 1). False: one does not
 *  exist. */
bool symsize_evaluate(const SymSizes *w, uint32_t late, const int64_t *inputs,
                      int64_t *values);
/** Do the guards between these hold? If not, '*broken' is one. */
bool symsize_hold(const SymSizes *w, uint32_t late, const int64_t *values,
                  uint32_t *broken);

/** The result of an operation; false: there is none. */
bool symsize_apply(SizeOp op, int64_t a, int64_t b, int64_t *result);
/** Does a relation hold between two values? */
bool symsize_holds(SizeRelation relation, int64_t a, int64_t b);
/** SizeTerm.late of what depends on two terms. */
uint32_t symsize_late(const SymSizes *w, SymSize a, SymSize b);

/** "w0 / 2", for people. */
void symsize_write(const SymSizes *w, SymSize symsize, Text *out);
/** "w0 % 4 == 0" */
void symsize_write_guard(const SymSizes *w, const SizeGuard *guard, Text *out);

void symsize_free(SymSizes *w);

#endif
