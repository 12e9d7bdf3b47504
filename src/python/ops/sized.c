/*
 * sized.c -- see sized.h
 *
 * A size that fits 32 bits is read as such, which costs least. The recording is for
 * those then: there are conditions for all that is assumed here.
 */
#include "python/ops/sized.h"

#include "python/base/error.h"
#include "python/shape/extent.h"

/* The type of the arrays beside operand k, which have to be of one that has room for a
 * size; NULL: they are not. */
static const TypeInfo *type_beside(PyObject *const *args, int arity, int k)
{
    const uint32_t wide = 1u << VarTypeInt32 | 1u << VarTypeUInt32 |
                          1u << VarTypeInt64 | 1u << VarTypeUInt64 |
                          1u << VarTypeFloat32 | 1u << VarTypeFloat64;
    const TypeInfo *info = NULL;
    for (int i = 0; i < arity; i++) {
        const Array *a = array_of(args[i]);
        if (i == k || (a && type_is_mask(a->info)))
            continue;
        if (!a || !a->info->jit || (info && info->id != a->info->id))
            return NULL;
        info = a->info;
    }
    return info && wide >> info->entry & 1 && !type_is_special(info) ? info : NULL;
}

/* Is a size at least so large, at most so large, and assumed to stay so? */
static bool stays_from(JitSize size, int64_t least)
{
    return jit_freeze_size_value(size) >= least &&
           size_compare(JitSizeNotLess, size, size_constant(least));
}

static bool stays_below(JitSize size, int64_t most)
{
    return jit_freeze_size_value(size) <= most &&
           size_compare(JitSizeNotLess, size_constant(most), size);
}

/* A size of 32 bits as a variable. */
static VarIndex narrow_number(const TypeInfo *leaf, JitSize size)
{
    const Extent extent = { (size_t) jit_freeze_size_value(size), size };
    return leaf->entry != VarTypeInt32 || stays_below(size, INT32_MAX)
               ? extent_times((JitBackend) leaf->backend, extent, 1)
               : 0;
}

/* Another one. It is rounded as Python rounds: to double precision first. */
static VarIndex wide_number(const TypeInfo *leaf, JitSize size)
{
    const VarType entry = (VarType) leaf->entry;
    const bool negative = jit_freeze_size_value(size) < 0;
    const bool narrow = entry == VarTypeInt32 || entry == VarTypeUInt32;
    if (negative ? !type_is_signed(entry) || !stays_below(size, -1)
                 : narrow || !stays_from(size, 2))
        return 0;
    if (entry == VarTypeInt32 && !stays_from(size, INT32_MIN))
        return 0;
    const VarIndex number = size_leaf((JitBackend) leaf->backend, size);
    const VarIndex exact =
        number && type_is_float(leaf) ? var_cast(number, VarTypeFloat64)
                                      : var_ref(number);
    var_unref(number);
    return exact;
}

/* A size as a variable of this type. 0: it stays a number, if there is no error. */
static VarIndex size_variable(const TypeInfo *leaf, JitSize size)
{
    const int64_t value = jit_freeze_size_value(size);
    const bool narrow = value >= 2 && value <= UINT32_MAX && size_stays_many(size);
    jit_error_clear();
    const VarIndex number =
        narrow ? narrow_number(leaf, size) : wide_number(leaf, size);
    const VarIndex cast = number ? var_cast(number, (VarType) leaf->entry) : 0;
    var_unref(number);
    return cast;
}

/* False: it is a number, or there is an exception. */
static bool open_size(State *state, Apply *which, PyObject *const *args, int arity,
                      int k, PyObject **operand)
{
    const TypeInfo *info = type_beside(args, arity, k);
    const JitSize size = info ? size_handle(args[k]) : 0;
    const bool divisor = *which == APPLY_TRUEDIV && k == 1;
    if (!size || (*which == APPLY_TRUEDIV && (!divisor || !type_is_float(info))))
        return false;
    const TypeInfo *leaf = &state->types[info->leaf];
    VarIndex cast = size_variable(leaf, size);
    if (!cast && jit_error() == JIT_OK)
        return false;
    if (cast && divisor) { /* as numbers do */
        const VarIndex inverse = var_op(JitOpRcp, 1, &cast);
        var_unref(cast);
        cast = inverse;
        *which = APPLY_MUL;
    }
    *operand = cast ? (PyObject *) array_new_leaf(leaf, cast)
                    : error_from_core(apply_rows[*which].name, args, arity);
    return *operand;
}

bool sized_open(State *state, Apply *which, int arity, PyObject *const *args,
                PyObject **opened)
{
    for (int k = 0; k < arity; k++) {
        opened[k] = NULL;
        if ((!size_is(args[k]) ||
             !open_size(state, which, args, arity, k, &opened[k])) &&
            !PyErr_Occurred())
            opened[k] = Py_NewRef(args[k]);
        if (opened[k])
            continue;
        while (k--)
            Py_DECREF(opened[k]);
        return false;
    }
    return true;
}
