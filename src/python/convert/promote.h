/*
 * promote.h -- which type an operation on several operands computes in
 *
 * Rules: docs/dev/python.md. The table in State remembers every pair ever asked. All
 * functions take what operand_of() gives, and run no code of others.
 */
#ifndef PYTHON_PROMOTE_H
#define PYTHON_PROMOTE_H

#include "python/array/array.h"

/** The operand class of what operand_of() gives: id of an array type,
 *  OPERAND_BOOL/INT/FLOAT for Python's numbers. Sequences and foreign arrays give the
 *  class that their contents imply. -1: not an operand. */
int promote_class(PyObject *operand);

/** OPERAND_BOOL/INT/FLOAT for a Python number, else -1. See also convert_is_number().
 */
int promote_number(PyObject *operand);

/** A number or a single variable: it scales what it is multiplied with. */
bool promote_is_single(PyObject *operand);

/** The common type of all operands. NULL with an exception naming 'operation' if they
 *  do not combine. If no operand is an array, NULL without exception. */
const TypeInfo *promote(State *state, const char *operation, PyObject *const *args,
                        Py_ssize_t n);

typedef enum Promotion {
    PROMOTION_ERROR = -1, /* exception */
    PROMOTION_NONE = 0,   /* not operands, or none is an array; no exception */
    PROMOTION_FOUND = 1
} Promotion;

/** The same for callers that can do something else with foreign objects. */
Promotion promote_operands(State *state, const char *operation, PyObject *const *args,
                           Py_ssize_t n, const TypeInfo **info);

/** The type of select(args[0], args[1], args[2]): the two values decide the entries,
 *  all three the shape. */
Promotion promote_select(State *state, const char *operation, PyObject *const *args,
                         const TypeInfo **info);

/** Is this family of operands (family_merge()) one? False: a TypeError that names
 *  them. */
bool promote_fits(const char *operation, PyObject *const *args, Py_ssize_t n,
                  int family);

/** Common type of two array types or operand classes; NULL without exception. */
const TypeInfo *promote_pair(State *state, int a, int b);

#endif
