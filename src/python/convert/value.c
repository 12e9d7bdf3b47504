/*
 * value.c -- arithmetic on single leaves, traced or at once
 *
 * In drjit.scalar a Value holds the bytes of an entry in its first bytes, which on the
 * little-endian machines that the library runs on are its low bits.
 */
#include "python/convert/value.h"

#include "python/convert/convert.h"

/* Number of operands; JitOp lists operations in this order, then later ones. */
static int arity(JitOp op)
{
    if (op >= JitOpSin)
        return op >= JitOpAtan2 && op <= JitOpHypot ? 2 : 1;
    return op >= JitOpFma ? 3 : op >= JitOpAdd ? 2 : 1;
}

/* What has one entry has none beside what is empty, as in apply.c. */
static bool trace(const TypeInfo *info, JitOp op, const Value *args, Value *result)
{
    int n = arity(op), empty = 0;
    for (int i = 0; i < n; i++)
        empty += var_is_empty(args[i]);
    if (empty) {
        int many = 0;
        for (int i = 0; i < n; i++)
            many += !var_is_empty(args[i]) && var_peek_size(args[i]) != 1;
        if (!many)
            return var_none(info, n, args, result);
    }
    *result = var_op(op, n, args);
    return *result;
}

bool value_op(const TypeInfo *info, JitOp op, const Value *args, Value *result)
{
    if (info->jit)
        return trace(info, op, args, result);
    JitHostOperand operands[3];
    int n = arity(op);
    for (int i = 0; i < n; i++)
        operands[i] = (JitHostOperand){ &args[i], 1 };
    uint64_t bits = 0;
    bool ok = jit_host_op(op, (VarType) info->entry, 1, operands, &bits);
    *result = ok ? bits : 0;
    return ok;
}

Value value_peek(const Array *a, size_t i)
{
    Value value = 0;
    if (a->info->jit)
        return array_leaves(a)[i];
    memcpy(&value, (const char *) array_data(a) + i * a->info->var_size,
           a->info->var_size);
    return value;
}

Value value_of(const Array *a, size_t i)
{
    const Value value = value_peek(a, i);
    return a->info->jit ? var_copied(value) : value;
}

void value_store(Array *a, size_t i, Value value)
{
    if (a->info->jit)
        array_set_leaf(a, i, value);
    else
        memcpy((char *) array_data(a) + i * a->info->var_size, &value,
               a->info->var_size);
}

void value_release(const TypeInfo *info, Value value)
{
    if (info->jit)
        var_unref(value);
}

PyObject *value_wrap(const TypeInfo *info, Value value)
{
    if (!info->jit)
        return convert_entry((VarType) info->entry, &value);
    return (PyObject *) array_new_leaf(&info->state->types[info->leaf], value);
}

bool value_constant(const TypeInfo *info, uint64_t bits, Value *result)
{
    *result = bits;
    if (info->jit)
        *result = var_literal(info, &bits, 1);
    return !info->jit || *result;
}

bool value_cast(const TypeInfo *from, const TypeInfo *to, Value value, Value *result)
{
    if (from->jit) {
        if (!to->diff)
            value = var_detached(value);
        if (var_is_empty(value))
            return var_none(to, 1, &value, result);
        *result = from->entry == to->entry ? var_copied(value)
                                           : var_cast(value, (VarType) to->entry);
        return *result;
    }
    uint64_t bits = 0;
    *result = 0;
    if (from->entry == to->entry)
        bits = value;
    else if (!jit_host_cast((VarType) from->entry, (VarType) to->entry, 0, 1, &value,
                            &bits))
        return false;
    return value_constant(to, bits, result);
}
