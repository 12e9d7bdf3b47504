/*
 * shortcut.c -- elementwise operations on plain leaves, without ceremony
 *
 * Most operations of a program combine arrays of one exact class, single variables with
 * the same entries, and numbers. They need no promotion and no conversion: one core
 * call for each leaf. Whatever is not of that form, or fails, is left to apply().
 */
#include "python/ops/shortcut.h"

#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/convert/convert.h"

/* The bits of exactly a Python int or float that keeps the entry type of 'info' (of its
 * reciprocal if 'invert'). False without exception: it does not. */
static bool take_number(const TypeInfo *info, PyObject *number, bool invert,
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

/* An operand: a leaf for each of the result's, or one for all. */
typedef struct OperandLeaves {
    const VarIndex *leaves;
    size_t step;
} OperandLeaves;

typedef struct Call {
    const ApplyRow *row;
    JitOp op;
    const TypeInfo *info; /* in which to compute */
    OperandLeaves operands[3];
    ShortcutFunction *function; /* of two operands */
    uint64_t bits;              /* of a number */
    bool number_first;
} Call;

/* False: exception. */
static inline bool open(const ApplyRow *row, int arity, PyObject *const *args)
{
    if (jit_pending_writes() && !evaluate_writes_into(row->name, args, arity))
        return false;
    if (reads_open)
        reads_note_operands(args, arity);
    return true;
}

/* Of the first nested array, or of any array. */
static inline const TypeInfo *nested_first(const TypeInfo *info, const Array *a)
{
    return a && (!info || info->kind == KIND_FLAT) ? a->info : info;
}

static inline bool accepts(const ApplyRow *row, const TypeInfo *info)
{
    return (info->shortcut | info->shortcut >> SHORT_ARRAY_SHIFT) & row->entries;
}

/* False: not for the fast path. Complex numbers have components, but a real number
 * stands for none of them. */
static inline bool take(const TypeInfo *info, const Array *a, OperandLeaves *o)
{
    o->leaves = array_leaves(a);
    o->step = a->info == info;
    return a->info == info || (info->shortcut && a->info->id == info->leaf);
}

static inline VarIndex leaf_at(const OperandLeaves *o, size_t i)
{
    return o->leaves[i * o->step];
}

/* The result, of which 'compute' gives the leaves; 0: one of an operand is empty, or
 * there is an error. */
static inline PyObject *collect(const Call *c,
                                VarIndex (*compute)(const Call *c, size_t i))
{
    const TypeInfo *info = c->info;
    if (c->row->result == RESULT_MASK)
        info = &info->state->types[info->mask];
    else if (c->row->result == RESULT_WIDE)
        return NULL;
    if (info->kind == KIND_FLAT) {
        const VarIndex var = compute(c, 0);
        return var ? (PyObject *) array_new_leaf(info, var) : NULL;
    }
    Array *out = array_new(info);
    if (!out)
        return NULL;
    VarIndex *const leaves = array_leaves(out);
    const size_t count = info->leaves;
    for (size_t i = 0; i < count; i++) {
        const VarIndex var = compute(c, i);
        if (!var) {
            Py_DECREF(out);
            return NULL;
        }
        leaves[i] = var;
    }
    return (PyObject *) out;
}

/* ---------------------------------------------------------------- two operands */

static inline VarIndex compute_number(const Call *c, size_t i)
{
    const VarIndex x = leaf_at(&c->operands[0], i);
    return var_is_empty(x)
               ? 0
               : var_op_number(c->op, c->info, x, c->bits, c->number_first);
}

static inline VarIndex compute_pair(const Call *c, size_t i)
{
    const VarIndex in[] = { leaf_at(&c->operands[0], i), leaf_at(&c->operands[1], i) };
    return var_is_empty(in[0]) || var_is_empty(in[1]) ? 0 : var_op(c->op, 2, in);
}

static inline VarIndex compute_function(const Call *c, size_t i)
{
    const VarIndex x = leaf_at(&c->operands[0], i), y = leaf_at(&c->operands[1], i);
    return var_is_empty(x) || var_is_empty(y) ? 0 : c->function(x, y);
}

/* The same where both have one class. */
static inline VarIndex compute_alike(const Call *c, size_t i)
{
    const VarIndex x = c->operands[0].leaves[i], y = c->operands[1].leaves[i];
    return var_is_empty(x) || var_is_empty(y) ? 0 : c->function(x, y);
}

static PyObject *with_number(const ApplyRow *row, const Array *a, PyObject *number,
                             bool first)
{
    const bool divides = row == &apply_rows[APPLY_TRUEDIV] && !first;
    uint64_t bits;
    if (!accepts(row, a->info) || !take_number(a->info, number, divides, &bits))
        return NULL;
    const Call c = { .row = row,
                     .op = divides ? JitOpMul : row->op,
                     .info = a->info,
                     .operands = { { array_leaves(a), 1 } },
                     .bits = bits,
                     .number_first = first };
    return collect(&c, compute_number);
}

PyObject *shortcut_pair(const ShortcutPair *p, PyObject *first, PyObject *second)
{
    const ApplyRow *row = &apply_rows[p->which];
    if (!open(row, 2, (PyObject *const[]){ first, second }))
        return NULL;
    const Array *a = array_of_exact_class(first), *b = array_of_exact_class(second);
    PyObject *result = NULL;
    if (a && b) {
        Call c = { .row = row, .op = row->op, .function = p->function };
        c.info = nested_first(a->info, b);
        /* Of a divisor that is repeated the reciprocal is taken once. */
        if (accepts(row, c.info) && take(c.info, a, &c.operands[0]) &&
            take(c.info, b, &c.operands[1]) &&
            (p->which != APPLY_TRUEDIV || c.operands[1].step))
            result = !c.function          ? collect(&c, compute_pair)
                     : a->info == b->info ? collect(&c, compute_alike)
                                          : collect(&c, compute_function);
    } else if (a || b) {
        result = with_number(row, a ? a : b, a ? second : first, !a);
    }
    return result || !p->rest ? result : p->rest(p, first, second);
}

/* ---------------------------------------------------------------- one, or three */

static inline VarIndex compute_one(const Call *c, size_t i)
{
    const VarIndex x = leaf_at(&c->operands[0], i);
    return var_is_empty(x) ? 0 : var_op(c->op, 1, &x);
}

static inline VarIndex compute_three(const Call *c, size_t i)
{
    const VarIndex in[] = { leaf_at(&c->operands[0], i), leaf_at(&c->operands[1], i),
                        leaf_at(&c->operands[2], i) };
    return var_is_empty(in[0]) || var_is_empty(in[1]) || var_is_empty(in[2])
               ? 0
               : var_op(c->op, 3, in);
}

static PyObject *one(const ApplyRow *row, PyObject *arg)
{
    const Array *a = array_of_exact_class(arg);
    if (!a || !accepts(row, a->info))
        return NULL;
    const Call c = { .row = row,
                     .op = row->op,
                     .info = a->info,
                     .operands = { { array_leaves(a), 1 } } };
    return collect(&c, compute_one);
}

/* What a selection asks: a mask of the family, for each leaf or for all. */
static inline bool accepts_mask(const TypeInfo *info, const Array *mask)
{
    const TypeInfo *m = mask->info;
    return m->entry == VarTypeBool && m->family == info->family &&
           (m->kind == KIND_FLAT || m->id == info->mask) && info->jit &&
           !info->dynamic && info->kind <= KIND_QUATERNION;
}

/* Of a number, 0: not for the fast path. */
static VarIndex new_literal(const TypeInfo *info, PyObject *number)
{
    uint64_t bits;
    return info->shortcut && take_number(info, number, false, &bits)
               ? var_literal(info, &bits, 1)
               : 0;
}

static inline bool take_any(const TypeInfo *info, const Array *a, PyObject *number,
                            VarIndex *literal, OperandLeaves *o)
{
    if (a)
        return take(info, a, o);
    *o = (OperandLeaves){ literal, 0 };
    *literal = new_literal(info, number);
    return *literal;
}

static PyObject *three(const ApplyRow *row, bool selects, PyObject *const *args)
{
    const Array *a = array_of_exact_class(args[0]), *b = array_of_exact_class(args[1]),
                *d = array_of_exact_class(args[2]);
    const TypeInfo *info = selects || !a ? NULL : a->info;
    info = nested_first(nested_first(info, b), d);
    if (!info || !(selects ? a && accepts_mask(info, a) : accepts(row, info)))
        return NULL;
    Call c = { .row = row, .op = row->op, .info = info };
    OperandLeaves *const o = c.operands;
    if (selects)
        o[0] = (OperandLeaves){ array_leaves(a), a->info->kind != KIND_FLAT };
    if (b && d && (a || selects)) /* nearly always */
        return (selects || take(info, a, &o[0])) && take(info, b, &o[1]) &&
                       take(info, d, &o[2])
                   ? collect(&c, compute_three)
                   : NULL;
    VarIndex literals[3] = { 0 };
    PyObject *out = (selects || take_any(info, a, args[0], &literals[0], &o[0])) &&
                            take_any(info, b, args[1], &literals[1], &o[1]) &&
                            take_any(info, d, args[2], &literals[2], &o[2])
                        ? collect(&c, compute_three)
                        : NULL;
    for (int k = 0; k < 3; k++)
        var_unref(literals[k]);
    return out;
}

PyObject *shortcut_apply(Apply which, int arity, PyObject *const *args)
{
    if (arity == 2)
        return shortcut_pair(&(ShortcutPair){ .which = which }, args[0], args[1]);
    const ApplyRow *row = &apply_rows[which];
    if (!open(row, arity, args))
        return NULL;
    return arity == 1 ? one(row, args[0]) : three(row, which == APPLY_SELECT, args);
}
