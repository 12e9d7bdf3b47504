/*
 * apply.h -- elementwise operations on arrays of any type
 *
 * promote -> convert what is not of the promoted type -> one loop over leaves.
 */
#ifndef PYTHON_APPLY_H
#define PYTHON_APPLY_H

#include "python/array.h"

/** The elementwise operations, one row each in apply.c: name, JitOp, entry types
 *  accepted, rule for the result type, what special types (matrix, complex, quaternion)
 *  do. */
typedef enum Apply {
    APPLY_ADD, APPLY_SUB, APPLY_MUL, APPLY_TRUEDIV, APPLY_FLOORDIV, APPLY_MOD,
    APPLY_AND, APPLY_OR, APPLY_XOR, APPLY_SHL, APPLY_SHR,
    APPLY_LT, APPLY_LE, APPLY_GT, APPLY_GE, APPLY_EQ, APPLY_NE,
    APPLY_NEG, APPLY_INVERT, APPLY_ABS, APPLY_SQRT, APPLY_RCP, APPLY_RSQRT,
    APPLY_CEIL, APPLY_FLOOR, APPLY_ROUND, APPLY_TRUNC,
    APPLY_SIN, APPLY_COS, APPLY_TAN, APPLY_ASIN, APPLY_ACOS, APPLY_ATAN,
    APPLY_SINH, APPLY_COSH, APPLY_TANH, APPLY_ASINH, APPLY_ACOSH, APPLY_ATANH,
    APPLY_EXP, APPLY_EXP2, APPLY_LOG, APPLY_LOG2, APPLY_CBRT,
    APPLY_ERF, APPLY_ERFINV, APPLY_LGAMMA, APPLY_DIGAMMA,
    APPLY_POPCNT, APPLY_LZCNT, APPLY_TZCNT, APPLY_BREV,
    APPLY_MINIMUM, APPLY_MAXIMUM, APPLY_MUL_HI, APPLY_MUL_WIDE, APPLY_COPYSIGN,
    APPLY_ATAN2, APPLY_POWER, APPLY_HYPOT,
    APPLY_FMA, APPLY_SELECT,
    APPLY_COUNT
} Apply;

/** Compute it on 1 to 3 operands (as many as the row says); at least one is an array.
 *  New reference; NULL: exception; Py_NotImplemented (new reference) when the entry
 *  type does not have the operation and the caller is a number slot ('slot'). */
PyObject *apply(State *state, Apply which, PyObject *const *args, bool slot);

/** The core operation behind it, and whether entries of this type have it. */
JitOp apply_op(Apply which);
bool apply_accepts(Apply which, VarType entry);

/** Does the result have the type of the operands? (Comparisons give masks.) */
bool apply_keeps_type(Apply which);

/** "add", "mul_hi", ...: as errors name it. */
const char *apply_name(Apply which);

/** The bits of a Python number as an entry of 'info'. False: exception. */
bool apply_number(const TypeInfo *info, PyObject *number, uint64_t *bits);

/** 'result' in the class of the first of args that a user derived from its class, or as
 *  it is. Consumes it; NULL is passed on. */
PyObject *apply_finish(Array *result, PyObject *const *args, Py_ssize_t n);

/** Set the exception for a failed core operation on leaves with these sizes. */
void apply_error(const char *operation, PyObject *const *args, Py_ssize_t n,
                 const uint32_t *indices, int count);

#endif
