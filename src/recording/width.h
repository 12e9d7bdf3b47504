/*
 * width.h -- sizes as expressions, and what was assumed of them
 *
 * A recording serves other sizes than those it was made with, so no size in it is a
 * number: it is a Width, which names a term,
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
#ifndef RECORDING_WIDTH_H
#define RECORDING_WIDTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"
#include "base/text.h"

typedef uint32_t Width; /* 0: none */

typedef enum WidthOp {
    WIDTH_CONSTANT, /* value */
    WIDTH_INPUT,    /* a: the class */
    WIDTH_READ,     /* a: which of the numbers that are read */
    WIDTH_ADD,
    WIDTH_SUB,
    WIDTH_MUL,
    WIDTH_DIV,
    WIDTH_MOD,
    WIDTH_OPS
} WidthOp;

typedef struct WidthTerm {
    WidthOp op;
    uint32_t a, b;
    uint32_t late; /* 1 + the last of the numbers that it depends on, 0: on none */
    int64_t value; /* when it was recorded */
} WidthTerm;

/** Each stands beside its contrary. */
typedef enum WidthRelation {
    WIDTH_EQUAL,
    WIDTH_NOT_EQUAL,
    WIDTH_LESS,
    WIDTH_NOT_LESS,
    WIDTH_RELATIONS
} WidthRelation;

typedef struct WidthGuard {
    WidthRelation relation;
    Width a, b;
} WidthGuard;

/** The terms and guards of a recording; zeroed: none. */
typedef struct Widths {
    WidthTerm *terms; /* terms[0] is none */
    uint32_t count, capacity;
    WidthGuard *guards;
    uint32_t guard_count, guard_capacity;
    Table known; /* terms and guards by what they say */
} Widths;

/** Terms, made if there is no such one. 0: out of memory, or the value does not exist
 *  (overflow, division by 0; error recorded). */
Width width_constant(Widths *w, int64_t value);
Width width_input(Widths *w, uint32_t number, int64_t value);
Width width_read(Widths *w, uint32_t number, int64_t value);
Width width_make(Widths *w, WidthOp op, Width a, Width b);

/** The value of a term when it was recorded. */
static inline int64_t width_value(const Widths *w, Width width)
{
    return w->terms[width].value;
}
/** Of terms that were read from a file: do they refer to those before them, and to
 *  'reads' numbers that are read? Sets 'late', which follows from the rest. */
bool width_check(Widths *w, uint32_t reads);
/** Is it a constant? */
static inline bool width_is_constant(const Widths *w, Width width)
{
    return w->terms[width].op == WIDTH_CONSTANT;
}

/** Assume that a relation holds, as it does now. False: out of memory. */
bool width_assume(Widths *w, WidthRelation relation, Width a, Width b);
/** Does a relation hold now? 1, 0, and from now on it is assumed that it stays so; -1:
 *  out of memory. */
int width_test(Widths *w, WidthRelation relation, Width a, Width b);
/** Assume that a size is what it is. */
bool width_pin(Widths *w, Width width);
/** Assume of the size of an array that it is 0, 1 or larger, as it is now, which
 *  decides what broadcasts; and that it fits 32 bits. */
bool width_pin_kind(Widths *w, Width width);

/** Compute the values of terms that depend on inputs (by class) and on no number that
 *  is read; or, once numbers 0 to k have been read and are in values[] in the place of
 *  their terms, of those that depend on k ('late' is k + 1). False: one does not
 *  exist. */
bool width_evaluate(const Widths *w, uint32_t late, const int64_t *inputs,
                    int64_t *values);
/** Do the guards between these hold? If not, '*broken' is one. */
bool width_hold(const Widths *w, uint32_t late, const int64_t *values,
                uint32_t *broken);

/** The result of an operation; false: there is none. */
bool width_apply(WidthOp op, int64_t a, int64_t b, int64_t *result);
/** Does a relation hold between two values? */
bool width_holds(WidthRelation relation, int64_t a, int64_t b);
/** WidthTerm.late of what depends on two terms. */
uint32_t width_late(const Widths *w, Width a, Width b);

/** "w0 / 2", for people. */
void width_write(const Widths *w, Width width, Text *out);
/** "w0 % 4 == 0" */
void width_write_guard(const Widths *w, const WidthGuard *guard, Text *out);

void width_free(Widths *w);

#endif
