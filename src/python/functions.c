/*
 * functions.c -- the elementwise functions of the module
 *
 * Arrays go to apply(); plain Python numbers are answered with plain Python numbers, as
 * the overloads in the reference say: integers exactly, floats in double precision with
 * the operations that kernels use. Each function takes positional arguments only.
 */
#include <math.h>

#include "python/apply.h"
#include "python/convert.h"
#include "python/dot.h"
#include "python/error.h"
#include "python/evaluate.h"
#include "python/functions.h"
#include "python/module.h"
#include "python/operand.h"
#include "python/promote.h"
#include "python/tree/tree.h"
#include "python/shortcut.h"
#include "python/state.h"
#include "python/value.h"

/* ---------------------------------------------------------------- plumbing */

static bool count_is(const char *name, Py_ssize_t n, Py_ssize_t expected)
{
    if (n == expected)
        return true;
    PyErr_Format(PyExc_TypeError, "drjit.%s() takes %zd positional arguments, got %zd",
                 name, expected, n);
    return false;
}

static bool any_array(PyObject *const *args, int n)
{
    for (int i = 0; i < n; i++)
        if (promote_array(args[i]))
            return true;
    return false;
}

static PyObject *on_arrays(PyObject *module, Apply which, int arity,
                           PyObject *const *args)
{
    PyObject *result = shortcut_apply(which, arity, args);
    return result || PyErr_Occurred()
               ? result
               : apply(state_of_module(module), which, args, false);
}

static PyObject *refuse(const char *name, PyObject *const *args, Py_ssize_t n,
                        const char *expected)
{
    return error_raise(PyExc_TypeError, name, args, n,
                       "unsupported argument types. Expected a Dr.Jit array or %s",
                       expected);
}

/* Numbers of other libraries as Python's own: new references in 'plain'. False without
 * an exception if some argument is no number. */
static bool plain_numbers(State *state, PyObject *const *args, int n,
                          PyObject **plain, bool *floats)
{
    *floats = false;
    int done = 0;
    for (; done < n; done++) {
        PyObject *operand = operand_of(state, args[done]);
        int class = operand ? promote_number(operand) : -1;
        plain[done] = class == OPERAND_FLOAT ? PyNumber_Float(operand)
                      : class >= 0           ? PyNumber_Long(operand)
                                             : NULL;
        *floats |= class == OPERAND_FLOAT;
        Py_XDECREF(operand);
        if (!plain[done])
            break;
    }
    if (done == n)
        return true;
    while (done--)
        Py_DECREF(plain[done]);
    return false;
}

static void release_all(PyObject **objects, int n)
{
    for (int i = 0; i < n; i++)
        Py_DECREF(objects[i]);
}

/* A core operation in double precision. */
static PyObject *compute_double(Apply which, const double *in, int n)
{
    JitHostOperand operands[3];
    double result;
    for (int i = 0; i < n; i++)
        operands[i] = (JitHostOperand){ &in[i], 1 };
    if (!jit_host_op(apply_op(which), VarTypeFloat64, 1, operands, &result))
        return error_from_core(apply_name(which), NULL, 0);
    return PyFloat_FromDouble(result);
}

static bool to_doubles(PyObject *const *numbers, int n, double *values)
{
    for (int i = 0; i < n; i++) {
        values[i] = PyFloat_AsDouble(numbers[i]);
        if (values[i] == -1 && PyErr_Occurred())
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- one operand */

/* Functions of floats: any number is taken as one. */
PyObject *functions_float(PyObject *module, Apply which, PyObject *arg)
{
    if (promote_array(arg))
        return on_arrays(module, which, 1, &arg);
    PyObject *number;
    double value;
    bool floats;
    if (PyFloat_CheckExact(arg)) {
        value = PyFloat_AS_DOUBLE(arg);
        return which == APPLY_SQRT ? PyFloat_FromDouble(sqrt(value))
                                   : compute_double(which, &value, 1);
    }
    if (!plain_numbers(state_of_module(module), &arg, 1, &number, &floats))
        return PyErr_Occurred() ? NULL : refuse(apply_name(which), &arg, 1, "a number");
    bool ok = to_doubles(&number, 1, &value);
    Py_DECREF(number);
    return ok ? compute_double(which, &value, 1) : NULL;
}

#define FLOAT_FUNCTION(name, which)                           \
    static PyObject *name##_(PyObject *module, PyObject *arg) \
    {                                                         \
        return functions_float(module, which, arg);            \
    }

FLOAT_FUNCTION(sqrt, APPLY_SQRT)
FLOAT_FUNCTION(rcp, APPLY_RCP)
FLOAT_FUNCTION(rsqrt, APPLY_RSQRT)
FLOAT_FUNCTION(ceil, APPLY_CEIL)
FLOAT_FUNCTION(floor, APPLY_FLOOR)
FLOAT_FUNCTION(round, APPLY_ROUND)
FLOAT_FUNCTION(trunc, APPLY_TRUNC)

static PyObject *abs_(PyObject *module, PyObject *arg)
{
    if (promote_array(arg))
        return on_arrays(module, APPLY_ABS, 1, &arg);
    PyObject *number;
    bool floats;
    if (!plain_numbers(state_of_module(module), &arg, 1, &number, &floats))
        return PyErr_Occurred() ? NULL : refuse("abs", &arg, 1, "a number");
    PyObject *result = PyNumber_Absolute(number);
    Py_DECREF(number);
    return result;
}

/* Python integers count as unsigned 32 bit numbers here. */
static bool to_u32(const char *name, PyObject *arg, uint32_t *value)
{
    if (PyFloat_Check(arg) || !PyIndex_Check(arg)) {
        refuse(name, &arg, 1, "an integer");
        return false;
    }
    PyObject *number = PyNumber_Index(arg);
    int overflow = 0;
    long long wide = number ? PyLong_AsLongLongAndOverflow(number, &overflow) : 0;
    bool ok = number && !overflow && wide >= 0 && wide <= UINT32_MAX;
    if (number && !ok)
        error_raise_both("OverflowError", name, &arg, 1,
                         "%R is out of range, expected an integer of 32 bits without "
                         "sign",
                         arg);
    Py_XDECREF(number);
    *value = (uint32_t) wide;
    return ok;
}

static bool count_bits(const char *name, Apply which, PyObject *arg, uint32_t *result)
{
    uint32_t value;
    if (!to_u32(name, arg, &value))
        return false;
    const JitHostOperand operand = { &value, 1 };
    if (jit_host_op(apply_op(which), VarTypeUInt32, 1, &operand, result))
        return true;
    error_from_core(name, &arg, 1);
    return false;
}

static PyObject *bit_function(PyObject *module, Apply which, PyObject *arg)
{
    if (promote_array(arg))
        return on_arrays(module, which, 1, &arg);
    uint32_t result;
    return count_bits(apply_name(which), which, arg, &result)
               ? PyLong_FromUnsignedLong(result)
               : NULL;
}

#define BIT_FUNCTION(name, which)                          \
    static PyObject *name(PyObject *module, PyObject *arg) \
    {                                                      \
        return bit_function(module, which, arg);           \
    }

BIT_FUNCTION(popcnt, APPLY_POPCNT)
BIT_FUNCTION(lzcnt, APPLY_LZCNT)
BIT_FUNCTION(tzcnt, APPLY_TZCNT)
BIT_FUNCTION(brev, APPLY_BREV)

/* width - 1 - lzcnt */
static PyObject *log2i(PyObject *module, PyObject *arg)
{
    const Array *a = promote_array(arg);
    if (!a) {
        uint32_t zeros;
        return count_bits("log2i", APPLY_LZCNT, arg, &zeros)
                   ? PyLong_FromLong(31 - (long) zeros)
                   : NULL;
    }
    if (!apply_accepts(APPLY_LZCNT, (VarType) a->info->entry))
        return error_raise(PyExc_RuntimeError, "log2i", &arg, 1,
                           "operation not supported for entries of this type");
    PyObject *zeros = on_arrays(module, APPLY_LZCNT, 1, &arg);
    PyObject *top = PyLong_FromLong(8 * a->info->entry_size - 1);
    PyObject *const args[] = { top, zeros };
    PyObject *result =
        zeros && top ? apply(state_of_module(module), APPLY_SUB, args, false) : NULL;
    Py_XDECREF(zeros);
    Py_XDECREF(top);
    return result;
}

/* ---------------------------------------------------------------- several operands */

static PyObject *fma_numbers(PyObject *const *plain, bool floats)
{
    double in[3];
    if (floats)
        return to_doubles(plain, 3, in) ? compute_double(APPLY_FMA, in, 3) : NULL;
    PyObject *product = PyNumber_Multiply(plain[0], plain[1]);
    PyObject *sum = product ? PyNumber_Add(product, plain[2]) : NULL;
    Py_XDECREF(product);
    return sum;
}

static PyObject *extreme_numbers(PyObject *const *plain, bool floats, Apply which)
{
    double in[2];
    if (floats)
        return to_doubles(plain, 2, in) ? compute_double(which, in, 2) : NULL;
    int second = PyObject_RichCompareBool(plain[1], plain[0],
                                          which == APPLY_MINIMUM ? Py_LT : Py_GE);
    return second < 0 ? NULL : Py_NewRef(plain[second]);
}

static PyObject *copysign_numbers(PyObject *const *plain, bool floats)
{
    double in[2];
    if (floats)
        return to_doubles(plain, 2, in) ? compute_double(APPLY_COPYSIGN, in, 2) : NULL;
    PyObject *zero = PyLong_FromLong(0);
    int negative = zero ? PyObject_RichCompareBool(plain[1], zero, Py_LT) : -1;
    Py_XDECREF(zero);
    PyObject *size = negative < 0 ? NULL : PyNumber_Absolute(plain[0]);
    if (!size || !negative)
        return size;
    PyObject *result = PyNumber_Negative(size);
    Py_DECREF(size);
    return result;
}

static PyObject *step_numbers(PyObject *const *plain)
{
    int less = PyObject_RichCompareBool(plain[0], plain[1], Py_LT);
    return less < 0 ? NULL : PyLong_FromLong(!less);
}

/* mul_hi and mul_wide: both fit Int32, or both fit UInt32. */
static PyObject *wide_numbers(const char *name, PyObject *const *plain, bool high)
{
    int64_t in[2];
    for (int i = 0; i < 2; i++) {
        int overflow;
        in[i] = PyLong_AsLongLongAndOverflow(plain[i], &overflow);
        if (overflow || in[i] < INT32_MIN || in[i] > UINT32_MAX)
            return error_raise_both(
                "OverflowError", name, plain, 2,
                "%R is out of range, expected an integer of 32 bits", plain[i]);
    }
    bool negative = in[0] < 0 || in[1] < 0;
    if (negative && (in[0] > INT32_MAX || in[1] > INT32_MAX))
        return error_raise_both(
            "OverflowError", name, plain, 2,
            "the operands are neither both signed nor both unsigned integers of 32 "
            "bits");
    if (negative) {
        int64_t product = in[0] * in[1];
        int64_t down = product < 0 && product % 4294967296 ? 1 : 0;
        return PyLong_FromLongLong(high ? product / 4294967296 - down : product);
    }
    uint64_t product = (uint64_t) in[0] * (uint64_t) in[1];
    return PyLong_FromUnsignedLongLong(high ? product >> 32 : product);
}

static PyObject *on_numbers(PyObject *module, Apply which, int n, PyObject *const *args)
{
    PyObject *plain[3], *result = NULL;
    bool floats;
    double in[2];
    if (!plain_numbers(state_of_module(module), args, n, plain, &floats))
        return PyErr_Occurred() ? NULL : refuse(apply_name(which), args, n, "numbers");
    if (which == APPLY_FMA)
        result = fma_numbers(plain, floats);
    else if (which == APPLY_MINIMUM || which == APPLY_MAXIMUM)
        result = extreme_numbers(plain, floats, which);
    else if (which == APPLY_COPYSIGN)
        result = copysign_numbers(plain, floats);
    else if (which == APPLY_ATAN2 || which == APPLY_POWER || which == APPLY_HYPOT)
        result = to_doubles(plain, 2, in) ? compute_double(which, in, 2) : NULL;
    else if (which == APPLY_LT)
        result = step_numbers(plain);
    else if (floats)
        refuse(apply_name(which), args, n, "integers");
    else
        result = wide_numbers(apply_name(which), plain, which == APPLY_MUL_HI);
    release_all(plain, n);
    return result;
}

static PyObject *function(PyObject *module, Apply which, int arity,
                          PyObject *const *args, Py_ssize_t n)
{
    if (!count_is(apply_name(which), n, arity))
        return NULL;
    return any_array(args, arity) ? on_arrays(module, which, arity, args)
                                  : on_numbers(module, which, arity, args);
}

#define FUNCTION(name, which, arity)                                             \
    static PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t n) \
    {                                                                            \
        return function(module, which, arity, args, n);                          \
    }

FUNCTION(fma_, APPLY_FMA, 3)
FUNCTION(minimum, APPLY_MINIMUM, 2)
FUNCTION(maximum, APPLY_MAXIMUM, 2)
FUNCTION(mul_hi, APPLY_MUL_HI, 2)
FUNCTION(mul_wide, APPLY_MUL_WIDE, 2)
FUNCTION(atan2_, APPLY_ATAN2, 2)
FUNCTION(hypot_, APPLY_HYPOT, 2)

/* Integers have no sign bit to copy: b < 0 ? -|a| : |a|. */
static PyObject *copysign_integers(State *state, PyObject *const *args)
{
    PyObject *zero = PyLong_FromLong(0), *result = NULL;
    PyObject *const comparison[] = { args[1], zero };
    PyObject *negative = NULL, *size = NULL, *opposite = NULL;
    if (zero && promote_array(args[1]))
        negative = apply(state, APPLY_LT, comparison, false);
    else if (zero)
        negative = PyObject_RichCompare(args[1], zero, Py_LT);
    if (negative)
        size = promote_array(args[0]) ? apply(state, APPLY_ABS, args, false)
                                      : PyNumber_Absolute(args[0]);
    if (size)
        opposite = PyNumber_Negative(size);
    if (opposite) {
        PyObject *const selection[] = { negative, opposite, size };
        result = apply(state, APPLY_SELECT, selection, false);
    }
    Py_XDECREF(zero);
    Py_XDECREF(negative);
    Py_XDECREF(size);
    Py_XDECREF(opposite);
    return result;
}

/* What is no array and no number as an array of the common type. */
static PyObject *array_or_number(const TypeInfo *info, PyObject *operand)
{
    return promote_array(operand) || promote_number(operand) >= 0
               ? Py_NewRef(operand)
               : (PyObject *) convert_to(info, operand, "copysign");
}

static PyObject *copysign_operands(PyObject *module, PyObject *const *args)
{
    State *state = state_of_module(module);
    const TypeInfo *info = promote(state, "copysign", args, 2);
    if (!info)
        return NULL;
    if (type_is_float(info) || type_is_mask(info))
        return function(module, APPLY_COPYSIGN, 2, args, 2);
    PyObject *const values[] = { array_or_number(info, args[0]),
                                 array_or_number(info, args[1]) };
    PyObject *result =
        values[0] && values[1] ? copysign_integers(state, values) : NULL;
    Py_XDECREF(values[0]);
    Py_XDECREF(values[1]);
    return result;
}

static PyObject *copysign_(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 2 || !any_array(args, 2))
        return function(module, APPLY_COPYSIGN, 2, args, n);
    PyObject *operands[2];
    if (!operand_open(state_of_module(module), args, 2, operands))
        return NULL;
    PyObject *result = copysign_operands(module, operands);
    operand_close(operands, 2);
    return result;
}

static PyObject *step(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (!count_is("step", n, 2))
        return NULL;
    if (!any_array(args, 2))
        return on_numbers(module, APPLY_LT, 2, args);
    State *state = state_of_module(module);
    PyObject *less = apply(state, APPLY_LT, args, false);
    PyObject *zero = PyLong_FromLong(0), *one = PyLong_FromLong(1), *result = NULL;
    if (less && zero && one) {
        PyObject *const selection[] = { less, zero, one };
        result = apply(state, APPLY_SELECT, selection, false);
    }
    Py_XDECREF(less);
    Py_XDECREF(zero);
    Py_XDECREF(one);
    return result;
}

static PyObject *power(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (!count_is("power", n, 2))
        return NULL;
    return any_array(args, 2) ? PyNumber_Power(args[0], args[1], Py_None)
                              : on_numbers(module, APPLY_POWER, 2, args);
}

/* ---------------------------------------------------------------- select */

typedef struct Selection {
    PyObject *module, *mask;
    PyObject *const *args; /* of the call */
} Selection;

static PyObject *select_pair(PyObject *module, PyObject *mask, PyObject *a,
                             PyObject *b);

/* What is no array and no number must be the same on both sides. */
static PyObject *select_object(PyObject *const *leaves)
{
    int same = leaves[0] == leaves[1]
                   ? 1
                   : PyObject_RichCompareBool(leaves[0], leaves[1], Py_EQ);
    if (same)
        return same < 0 ? NULL : Py_NewRef(leaves[0]);
    return error_raise(PyExc_RuntimeError, "select", leaves, 2,
                       "these are different objects, and no arrays");
}

static PyObject *select_any(const Selection *s, PyObject *const *leaves)
{
    if (s->mask == Py_True || s->mask == Py_False || any_array(leaves, 2))
        return select_pair(s->module, s->mask, leaves[0], leaves[1]);
    PyObject *operands[2];
    if (!operand_open(state_of_module(s->module), leaves, 2, operands))
        return NULL;
    bool numbers = promote_number(operands[0]) >= 0 && promote_number(operands[1]) >= 0;
    PyObject *result =
        numbers ? select_pair(s->module, s->mask, operands[0], operands[1])
                : select_object(leaves);
    operand_close(operands, 2);
    return result;
}

/* A leaf of two trees. */
static PyObject *select_leaf(void *context, PyObject *const *leaves)
{
    const Selection *s = context;
    PyObject *result = select_any(s, leaves);
    if (result)
        return result;
    PyObject *cause = error_fetch();
    error_restore(Py_NewRef(cause));
    error_raise(PyExc_RuntimeError, "select", s->args, 3, "a leaf failed: %S", cause);
    Py_DECREF(cause);
    return NULL;
}

/* Between an array and a number, which is the value where the mask is set if 'first'.
 * NULL without exception: not for the short way. */
static PyObject *select_number(const Array *mask, const Array *a, PyObject *number,
                               bool first)
{
    const TypeInfo *info = a->info;
    uint32_t literal = shortcut_literal(info, number, false);
    Array *out = literal ? array_new(info) : NULL;
    size_t stride = mask->info->kind != KIND_LEAF;
    for (size_t i = 0; out && i < info->leaves; i++) {
        uint32_t bit = leaf_index(array_leaves(mask)[i * stride]);
        uint32_t leaf = leaf_index(array_leaves(a)[i]);
        uint32_t index = bit && leaf ? jit_var_select(bit, first ? literal : leaf,
                                                      first ? leaf : literal)
                                     : 0;
        array_leaves(out)[i] = index;
        if (!index)
            Py_CLEAR(out);
    }
    jit_var_dec_ref(literal);
    return (PyObject *) out;
}

/* Bool mask of the family; values of one exact class with plain leaves, or one of them
 * a number. */
static PyObject *select_short(PyObject *mask, PyObject *a, PyObject *b)
{
    const Array *x = promote_exact_array(a), *m = promote_exact_array(mask);
    bool first = x;
    if (!first)
        x = promote_exact_array(b);
    if (!x || !m)
        return NULL;
    const TypeInfo *info = x->info, *masks = m->info;
    if (!info->jit || info->dynamic || info->kind > KIND_QUATERNION ||
        masks->entry != VarTypeBool || masks->family != info->family ||
        (masks->kind != KIND_LEAF && masks->id != info->mask))
        return NULL;
    if (Py_TYPE(a) != Py_TYPE(b))
        return info->kind <= KIND_ARRAY ? select_number(m, x, first ? b : a, !first)
                                        : NULL;
    const Leaf *values[] = { array_leaves(x), array_leaves((const Array *) b) },
               *bits = array_leaves(m);
    size_t stride = masks->kind != KIND_LEAF;
    Array *out = array_new(info);
    for (size_t i = 0; out && i < info->leaves; i++) {
        uint32_t in[] = { leaf_index(bits[i * stride]), leaf_index(values[0][i]),
                          leaf_index(values[1][i]) };
        uint32_t index =
            in[0] && in[1] && in[2] ? jit_var_select(in[0], in[1], in[2]) : 0;
        array_leaves(out)[i] = index;
        if (!index)
            Py_CLEAR(out);
    }
    return (PyObject *) out;
}

static PyObject *select_pair(PyObject *module, PyObject *mask, PyObject *a, PyObject *b)
{
    PyObject *const args[] = { mask, a, b };
    if ((mask == Py_True || mask == Py_False) && !any_array(args + 1, 2))
        return Py_NewRef(mask == Py_True ? a : b);
    PyObject *result = evaluate_writes("select", args, 3)
                           ? select_short(mask, a, b)
                           : NULL;
    return result || PyErr_Occurred()
               ? result
               : apply(state_of_module(module), APPLY_SELECT, args, false);
}

static PyObject *select_(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (!count_is("select", n, 3))
        return NULL;
    State *state = state_of_module(module);
    Selection selection = { module, args[0], args };
    if (any_array(args + 1, 2))
        return select_pair(module, args[0], args[1], args[2]);
    if (plan_is_container(state, args[1]) && plan_is_container(state, args[2]))
        return tree_map(state, "select", args + 1, 2, select_leaf, &selection);
    if (args[0] == Py_True || args[0] == Py_False)
        return Py_NewRef(args[args[0] == Py_True ? 1 : 2]);
    PyObject *operands[2];
    if (!operand_open(state, args + 1, 2, operands))
        return NULL;
    bool objects = promote_class(operands[0]) == -1 && promote_class(operands[1]) == -1;
    PyObject *result = objects ? select_object(args + 1)
                               : select_pair(module, args[0], operands[0], operands[1]);
    operand_close(operands, 2);
    return result;
}

/* ---------------------------------------------------------------- reinterpret_array */

static bool same_layout(const TypeInfo *a, const TypeInfo *b)
{
    return a->kind == b->kind && a->family == b->family && a->ndim == b->ndim &&
           memcmp(a->dims, b->dims, sizeof(a->dims)) == 0;
}

static bool reinterpret_leaves(const Array *from, Array *to)
{
    VarType source = (VarType) from->info->entry, target = (VarType) to->info->entry;
    size_t count = array_count(from);
    if (!from->info->jit)
        return jit_host_cast(source, target, 1, count, array_data(from),
                             array_data(to));
    for (size_t i = 0; i < count; i++) {
        uint32_t index = leaf_index(array_leaves(from)[i]);
        uint32_t cast = index ? jit_var_cast(index, target, 1) : 0;
        if (index && !cast)
            return false;
        array_leaves(to)[i] = cast;
    }
    return true;
}

static PyObject *reinterpret_array(PyObject *module, PyObject *const *args,
                                   Py_ssize_t n)
{
    static const char name[] = "reinterpret_array";
    if (!count_is(name, n, 2))
        return NULL;
    State *state = state_of_module(module);
    const TypeInfo *info =
        PyType_Check(args[0]) ? type_of_class(state, (PyTypeObject *) args[0]) : NULL;
    const Array *from = promote_array(args[1]);
    if (!info || !from)
        return error_raise(PyExc_TypeError, name, args, 2,
                           "expected an array type and an array");
    if (!same_layout(info, from->info) || info->entry_size != from->info->entry_size ||
        (type_is_mask(info) != type_is_mask(from->info)))
        return error_raise(
            PyExc_RuntimeError, name, args, 2,
            "'%s' and '%s' are incompatible: expected the same shape and "
            "entries of the same size",
            info->name, from->info->name);
    if (!evaluate_writes(name, &args[1], 1))
        return NULL;
    Array *to = array_new_like(info, from);
    if (to && !reinterpret_leaves(from, to)) {
        Py_DECREF(to);
        return error_from_core(name, args, 2);
    }
    return (PyObject *) to;
}

PyMethodDef function_functions[] = {
    { "sqrt", sqrt_, METH_O, "sqrt(arg, /)\n--\n\nSquare root." },
    { "rcp", rcp_, METH_O, "rcp(arg, /)\n--\n\nReciprocal." },
    { "rsqrt", rsqrt_, METH_O, "rsqrt(arg, /)\n--\n\nReciprocal square root." },
    { "ceil", ceil_, METH_O,
      "ceil(arg, /)\n--\n\nSmallest integer not below the argument." },
    { "floor", floor_, METH_O,
      "floor(arg, /)\n--\n\nLargest integer not above the argument." },
    { "round", round_, METH_O, "round(arg, /)\n--\n\nNearest integer, ties to even." },
    { "trunc", trunc_, METH_O, "trunc(arg, /)\n--\n\nInteger part." },
    { "abs", abs_, METH_O, "abs(arg, /)\n--\n\nAbsolute value." },
    { "popcnt", popcnt, METH_O, "popcnt(arg, /)\n--\n\nNumber of one bits." },
    { "lzcnt", lzcnt, METH_O, "lzcnt(arg, /)\n--\n\nNumber of leading zero bits." },
    { "tzcnt", tzcnt, METH_O, "tzcnt(arg, /)\n--\n\nNumber of trailing zero bits." },
    { "brev", brev, METH_O, "brev(arg, /)\n--\n\nBits in opposite order." },
    { "log2i", log2i, METH_O, "log2i(arg, /)\n--\n\nFloor of the base-2 logarithm." },
    { "fma", METHOD(fma_), METH_FASTCALL,
      "fma(a, b, c, /)\n--\n\na * b + c, rounded once." },
    { "minimum", METHOD(minimum), METH_FASTCALL,
      "minimum(a, b, /)\n--\n\nSmaller operand." },
    { "maximum", METHOD(maximum), METH_FASTCALL,
      "maximum(a, b, /)\n--\n\nLarger operand." },
    { "mul_hi", METHOD(mul_hi), METH_FASTCALL,
      "mul_hi(a, b, /)\n--\n\nUpper half of the product of two integers." },
    { "mul_wide", METHOD(mul_wide), METH_FASTCALL,
      "mul_wide(a, b, /)\n--\n\nAll bits of the product of two integers." },
    { "copysign", METHOD(copysign_), METH_FASTCALL,
      "copysign(a, b, /)\n--\n\nMagnitude of a, sign of b." },
    { "step", METHOD(step), METH_FASTCALL,
      "step(a, b, /)\n--\n\n0 where a < b, else 1." },
    { "atan2", METHOD(atan2_), METH_FASTCALL,
      "atan2(y, x, /)\n--\n\nAngle of the point (x, y) with the x axis, -pi to pi." },
    { "_hypot", METHOD(hypot_), METH_FASTCALL, NULL },
    { "power", METHOD(power), METH_FASTCALL,
      "power(a, b, /)\n--\n\na to the power of b." },
    { "select", METHOD(select_), METH_FASTCALL,
      "select(mask, a, b, /)\n--\n\na where the mask is set, else b." },
    { "reinterpret_array", METHOD(reinterpret_array), METH_FASTCALL,
      "reinterpret_array(dtype, value, /)\n--\n\nThe same bits with another entry "
      "type." },
    { "dot", METHOD(dot_dot), METH_FASTCALL, "dot(a, b, /)\n--\n\nInner product." },
    { "abs_dot", METHOD(dot_abs_dot), METH_FASTCALL,
      "abs_dot(a, b, /)\n--\n\nAbsolute value of the inner product." },
    { "squared_norm", METHOD(dot_squared_norm), METH_VARARGS | METH_KEYWORDS,
      "squared_norm(value, axis=..., mode=None, keepdims=False)\n--\n\n"
      "Sum of the squares along the given axes." },
    { "norm", METHOD(dot_norm), METH_VARARGS | METH_KEYWORDS,
      "norm(value, axis=..., mode=None, keepdims=False)\n--\n\n"
      "Square root of the sum of the squares along the given axes." },
    { NULL, NULL, 0, NULL },
};
