/*
 * apply.h -- elementwise operations on arrays of any type
 *
 * promote -> convert what is not of the promoted type -> one loop over leaves.
 */
#ifndef PYTHON_APPLY_H
#define PYTHON_APPLY_H

#include "python/array/array.h"

/** The elementwise operations: apply.def. */
typedef enum Apply {
#define ROW(id, ...) APPLY_##id,
#include "python/ops/apply.def"
    APPLY_COUNT
} Apply;

/** Types of entries, as bits 1 << VarType. */
enum {
    ENTRIES_WORDS = 1 << VarTypeInt32 | 1 << VarTypeUInt32,
    ENTRIES_INTS = ENTRIES_WORDS | 1 << VarTypeInt8 | 1 << VarTypeUInt8 |
                   1 << VarTypeInt16 | 1 << VarTypeUInt16 | 1 << VarTypeInt64 |
                   1 << VarTypeUInt64,
    ENTRIES_BITWISE = ENTRIES_INTS | 1 << VarTypeBool,
    ENTRIES_FLOATS = 1 << VarTypeFloat16 | 1 << VarTypeFloat32 | 1 << VarTypeFloat64,
    ENTRIES_NUMBERS = ENTRIES_INTS | ENTRIES_FLOATS,
    ENTRIES_ALL = ENTRIES_BITWISE | ENTRIES_FLOATS
};

typedef enum ApplyResult { RESULT_SAME, RESULT_MASK, RESULT_WIDE } ApplyResult;

/** What matrices, complex numbers and quaternions do. */
typedef enum ApplySpecial {
    SPECIAL_EACH,      /* as arrays: each component by itself */
    SPECIAL_COMPLEX,   /* complex numbers and quaternions have their own formula */
    SPECIAL_ALGEBRA,   /* all of them have */
    SPECIAL_FIELD,     /* complex numbers and quaternions have; no matrices */
    SPECIAL_REAL,      /* no complex numbers, no quaternions */
    SPECIAL_UNORDERED, /* none of them */
} ApplySpecial;

/** Has the result a derivative with respect to the operands that are floats? If not, it
 *  is a constant to differentiation, for the reason given. */
typedef enum ApplyDerivative {
    DERIVATIVE_SMOOTH,   /* almost everywhere */
    DERIVATIVE_STEPS,    /* it is 0 almost everywhere */
    DERIVATIVE_COMPARES, /* the result is a mask */
    DERIVATIVE_INTEGER,  /* there are no floats among the operands */
    DERIVATIVE_BITS,     /* the same: they are bit patterns */
} ApplyDerivative;

/** A row of apply.def. */
typedef struct ApplyRow {
    const char *name;     /* "add", "mul_hi", ...: as errors name it */
    uint32_t entries;     /* that have it, as bits */
    JitOp op;             /* of the core */
    int arity;            /* number of operands */
    ApplyResult result;   /* has it the type of the operands? */
    ApplySpecial special; /* what special types do */
} ApplyRow;

extern const ApplyRow apply_rows[APPLY_COUNT];

/** Do entries of this type have the operation? */
static inline bool apply_accepts(Apply which, VarType entry)
{
    return apply_rows[which].entries >> entry & 1;
}

/** Compute it on as many operands as the row says; at least one is an array. New
 *  reference; NULL: exception; Py_NotImplemented (new reference) when the entry type
 *  does not have the operation and the caller is a number slot ('slot'). */
PyObject *apply(State *state, Apply which, PyObject *const *args, bool slot);

/** The bits of a Python number as an entry of 'info'. False: exception. */
bool apply_number(const TypeInfo *info, PyObject *number, uint64_t *bits);

/** Set the exception for a failed core operation on leaves with these sizes. */
void apply_error(const char *operation, PyObject *const *args, Py_ssize_t n,
                 const VarIndex *indices, int count);

#endif
