/*
 * shortcut.c -- elementwise operations on plain leaves, without ceremony
 *
 * Most operations of a program combine arrays of one exact class, single variables with
 * the same entries, and numbers. They need no promotion and no conversion: one core
 * call for each leaf. Whatever is not of that form, or fails, is left to apply().
 */
#include "python/ops/shortcut.h"

#include "python/convert/convert.h"
#include "python/convert/promote.h"
#include "python/object/evaluate.h"
#include "python/object/reads.h"

bool shortcut_number(const TypeInfo *info, PyObject *number, bool invert,
                     uint64_t *out)
{
    uint64_t bits = 0;
    if (info->entry == VarTypeBool || info->entry == VarTypeFloat16)
        return false;
    const bool is_float = PyFloat_CheckExact(number);
    if (type_is_float(info) && (is_float || PyLong_CheckExact(number))) {
        const double value =
            is_float ? PyFloat_AS_DOUBLE(number) : PyLong_AsDouble(number);
        if (value == -1.0 && PyErr_Occurred()) { /* beyond all floats */
            PyErr_Clear();
            return false;
        }
        const float single = (float) value;
        if (info->entry == VarTypeFloat32)
            memcpy(&bits, &single, sizeof(single));
        else
            memcpy(&bits, &value, sizeof(value));
    } else if (!PyLong_CheckExact(number)) {
        return false;
    } else if (!convert_number((VarType) info->entry, number, &bits)) {
        PyErr_Clear();
        return false;
    }
    if (invert) {
        const JitHostOperand operand = { &bits, 1 };
        if (!jit_host_op(JitOpRcp, (VarType) info->entry, 1, &operand, &bits))
            return false;
    }
    *out = bits;
    return true;
}

VarIndex shortcut_literal(const TypeInfo *info, PyObject *number)
{
    uint64_t bits;
    return shortcut_number(info, number, false, &bits) ? var_literal(info, &bits, 1)
                                                       : 0;
}

/* An operand of the fast path. */
typedef struct Operand {
    const VarIndex *leaves;
    size_t step;
    VarIndex literal;
} Operand;

/* False: not for the fast path. */
static bool take(const TypeInfo *info, PyObject *arg, Operand *o)
{
    const Array *a = array_of_exact_class(arg);
    o->literal = 0;
    if (a) {
        o->leaves = array_leaves(a);
        o->step = a->info == info;
        return a->info == info || a->info->id == info->leaf;
    }
    o->literal = shortcut_literal(info, arg);
    o->leaves = &o->literal;
    o->step = 0;
    return o->literal;
}

/* The class in which to compute: that of the first nested array, or of any array. */
static const TypeInfo *find_type(int arity, PyObject *const *args)
{
    const TypeInfo *info = NULL;
    for (int k = 0; k < arity; k++) {
        const Array *a = array_of_exact_class(args[k]);
        if (a && (!info || info->kind == KIND_FLAT))
            info = a->info;
    }
    return info;
}

PyObject *shortcut_apply(Apply which, int arity, PyObject *const *args)
{
    if (jit_pending_writes() && !evaluate_writes_into(apply_name(which), args, arity))
        return NULL;
    if (reads_open)
        reads_note_operands(args, arity);
    const TypeInfo *info = find_type(arity, args);
    if (!info || !info->shortcut || !apply_keeps_type(which) ||
        !apply_accepts(which, (VarType) info->entry))
        return NULL;
    Operand operands[3];
    int taken = 0;
    while (taken < arity && take(info, args[taken], &operands[taken]))
        taken++;
    Array *out = taken == arity ? array_new(info) : NULL;
    for (size_t i = 0; out && i < info->leaves; i++) {
        VarIndex in[3], index = 1;
        for (int k = 0; k < arity; k++) {
            in[k] = operands[k].leaves[i * operands[k].step];
            index = in[k] ? index : 0;
        }
        index = index ? var_op(apply_op(which), arity, in) : 0;
        array_leaves(out)[i] = index;
        if (!index)
            Py_CLEAR(out);
    }
    while (taken--)
        var_unref(operands[taken].literal);
    return (PyObject *) out;
}
