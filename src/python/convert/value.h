/*
 * value.h -- arithmetic on single leaves, traced or at once
 *
 * Formulas over components (complex products, matrix products, determinants, ...) are
 * written once with these and serve all families: in a just-in-time family a Value is a
 * leaf and an operation records a node; in drjit.scalar it holds the bits of an entry
 * (zero-extended) and the operation is computed by jit_host_op with the same bits.
 */
#ifndef PYTHON_VALUE_H
#define PYTHON_VALUE_H

#include "python/array/array.h"

/** A jit family: a leaf (owned by the holder of the Value). drjit.scalar: bits. */
typedef VarIndex Value;

/** result = op(args...). 'info' is any type with these leaves (its family and entry
 *  type count; for SELECT those of the value operands). The arguments are borrowed.
 *  False: the core's error is set (see error_from_core), *result is 0. */
bool value_op(const TypeInfo *info, JitOp op, const Value *args, Value *result);

/** The same with two (three) operands, consuming none. */
static inline bool value_op2(const TypeInfo *info, JitOp op, Value a, Value b,
                             Value *result)
{
    const Value args[] = {a, b};
    return value_op(info, op, args, result);
}

static inline bool value_op3(const TypeInfo *info, JitOp op, Value a, Value b, Value c,
                             Value *result)
{
    const Value args[] = {a, b, c};
    return value_op(info, op, args, result);
}

/** VarIndex i of an array (a new reference in jit families; borrowed). Never fails. */
Value value_of(const Array *a, size_t i);
Value value_peek(const Array *a, size_t i);

/** Store into leaf i; the value is consumed. */
void value_store(Array *a, size_t i, Value value);

void value_release(const TypeInfo *info, Value value);

/** A leaf as an object: a FLAT array, or a Python number. The value is consumed. */
PyObject *value_wrap(const TypeInfo *info, Value value);

/** A constant of the entry type of 'info' from its bits (zero-extended). */
bool value_constant(const TypeInfo *info, uint64_t bits, Value *result);

/** Convert a leaf of type 'from' into one of type 'to' (entry type; scalar -> jit gives
 *  a literal; jit -> scalar is not possible here). */
bool value_cast(const TypeInfo *from, const TypeInfo *to, Value value, Value *result);

#endif
