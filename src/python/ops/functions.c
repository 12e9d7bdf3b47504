/*
 * functions.c -- the elementwise functions of the module
 *
 * The functions in apply.def. Arrays go to apply(); plain Python numbers are answered
 * with plain Python numbers, as the overloads in the reference say: integers exactly,
 * floats in double precision with the operations that kernels use. Each function takes
 * positional arguments only.
 */
#include <math.h>

#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/convert/convert.h"
#include "python/convert/operand.h"
#include "python/convert/promote.h"
#include "python/convert/value.h"
#include "python/docstrings.h"
#include "python/ops/apply.h"
#include "python/ops/ask.h"
#include "python/ops/functions.h"
#include "python/ops/shortcut.h"
#include "python/tree/tree.h"
#include "python/type/state.h"

/* ---------------------------------------------------------------- plumbing */

static bool count_is(const char *name, Py_ssize_t n, Py_ssize_t expected)
{
    return n == expected ||
           arguments_refuse(name, NULL, 0, "found %zd arguments, expected %zd", n,
                            expected);
}

static bool any_array(PyObject *const *args, int n)
{
    for (int i = 0; i < n; i++)
        if (array_of(args[i]))
            return true;
    return false;
}

static PyObject *slow_path(PyObject *module, Apply which, int arity,
                          PyObject *const *args)
{
    State *state = state_of_module(module);
    PyObject *result = NULL;
    return PyErr_Occurred() ||
                   ask_arguments(state, apply_rows[which].name, args, arity, &result)
               ? result
               : apply(state, which, args, false);
}

static PyObject *on_arrays(PyObject *module, Apply which, int arity,
                           PyObject *const *args)
{
    PyObject *result = shortcut_apply(which, arity, args);
    return result ? result : slow_path(module, which, arity, args);
}

static PyObject *refuse(const char *name, Apply which, PyObject *const *args, int n)
{
    bool floats = apply_accepts(which, VarTypeFloat64);
    const char *one = floats ? "a number" : "an integer";
    return error_raise(PyExc_TypeError, name, args, n,
                       "unsupported argument types, expected a Dr.Jit array or %s",
                       n == 1   ? one
                       : floats ? "numbers"
                                : "integers");
}

/* Numbers of other libraries as Python's own: new references in 'plain'. False without
 * an exception if some argument is not a number. */
static bool plain_numbers(State *state, PyObject *const *args, int n,
                          PyObject **plain, bool *floats)
{
    *floats = false;
    int done = 0;
    for (; done < n; done++) {
        if (PyLong_CheckExact(args[done]) || PyFloat_CheckExact(args[done])) {
            *floats |= PyFloat_CheckExact(args[done]);
            plain[done] = Py_NewRef(args[done]);
            continue;
        }
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

/* ---------------------------------------------------------------- Python's numbers */

/* What an operation gives for numbers of Python, all of them integers unless 'floats'.
 * Errors call it 'name'. */
typedef PyObject *OnNumbers(const char *name, Apply which, PyObject *const *numbers,
                            bool floats);

/* The core's operation, in double precision. */
static PyObject *float_numbers(const char *name, Apply which, PyObject *const *numbers,
                               bool floats)
{
    (void) floats;
    JitHostOperand operands[3];
    double in[3], result;
    for (int i = 0; i < apply_rows[which].arity; i++) {
        in[i] = PyFloat_AsDouble(numbers[i]);
        if (in[i] == -1 && PyErr_Occurred())
            return NULL;
        operands[i] = (JitHostOperand){ &in[i], 1 };
    }
    if (!jit_host_op(apply_rows[which].op, VarTypeFloat64, 1, operands, &result))
        return error_from_core(name, NULL, 0);
    return PyFloat_FromDouble(result);
}

static PyObject *absolute_numbers(const char *name, Apply which,
                                  PyObject *const *numbers, bool floats)
{
    (void) name, (void) which, (void) floats;
    return PyNumber_Absolute(numbers[0]);
}

/* Python integers count as unsigned 32 bit numbers here. */
static PyObject *bits_numbers(const char *name, Apply which, PyObject *const *numbers,
                              bool floats)
{
    (void) floats;
    int overflow = 0;
    long long wide = PyLong_AsLongLongAndOverflow(numbers[0], &overflow);
    if (overflow || wide < 0 || wide > UINT32_MAX)
        return error_raise_both("OverflowError", name, numbers, 1,
                                "%R is out of range, expected an integer of 32 bits "
                                "without sign",
                                numbers[0]);
    uint32_t value = (uint32_t) wide, result;
    const JitHostOperand operand = { &value, 1 };
    if (!jit_host_op(apply_rows[which].op, VarTypeUInt32, 1, &operand, &result))
        return error_from_core(name, numbers, 1);
    return PyLong_FromUnsignedLong(result);
}

static PyObject *fma_numbers(const char *name, Apply which, PyObject *const *numbers,
                             bool floats)
{
    if (floats)
        return float_numbers(name, which, numbers, floats);
    PyObject *product = PyNumber_Multiply(numbers[0], numbers[1]);
    PyObject *sum = product ? PyNumber_Add(product, numbers[2]) : NULL;
    Py_XDECREF(product);
    return sum;
}

static PyObject *extremum_numbers(const char *name, Apply which,
                                  PyObject *const *numbers, bool floats)
{
    if (floats)
        return float_numbers(name, which, numbers, floats);
    const int op = which == APPLY_MINIMUM ? Py_LT : Py_GE;
    int second = PyObject_RichCompareBool(numbers[1], numbers[0], op);
    return second < 0 ? NULL : Py_NewRef(numbers[second]);
}

static PyObject *copysign_numbers(const char *name, Apply which,
                                  PyObject *const *numbers, bool floats)
{
    if (floats)
        return float_numbers(name, which, numbers, floats);
    PyObject *zero = PyLong_FromLong(0);
    int negative = zero ? PyObject_RichCompareBool(numbers[1], zero, Py_LT) : -1;
    Py_XDECREF(zero);
    PyObject *size = negative < 0 ? NULL : PyNumber_Absolute(numbers[0]);
    if (!size || !negative)
        return size;
    PyObject *result = PyNumber_Negative(size);
    Py_DECREF(size);
    return result;
}

static PyObject *step_numbers(const char *name, Apply which, PyObject *const *numbers,
                              bool floats)
{
    (void) name, (void) which, (void) floats;
    int less = PyObject_RichCompareBool(numbers[0], numbers[1], Py_LT);
    return less < 0 ? NULL : PyLong_FromLong(!less);
}

/* mul_hi and mul_wide: both fit Int32, or both fit UInt32. */
static PyObject *wide_numbers(const char *name, Apply which, PyObject *const *numbers,
                              bool floats)
{
    (void) floats;
    bool high = which == APPLY_MUL_HI;
    int64_t in[2];
    for (int i = 0; i < 2; i++) {
        int overflow;
        in[i] = PyLong_AsLongLongAndOverflow(numbers[i], &overflow);
        if (overflow || in[i] < INT32_MIN || in[i] > UINT32_MAX)
            return error_raise_both(
                "OverflowError", name, numbers, 2,
                "%R is out of range, expected an integer of 32 bits", numbers[i]);
    }
    bool negative = in[0] < 0 || in[1] < 0;
    if (negative && (in[0] > INT32_MAX || in[1] > INT32_MAX))
        return error_raise_both(
            "OverflowError", name, numbers, 2,
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

static PyObject *on_numbers(PyObject *module, const char *name, Apply which, int n,
                            PyObject *const *args, OnNumbers *function)
{
    bool accepted = apply_accepts(which, VarTypeFloat64), floats = accepted;
    for (int i = 0; i < n; i++)
        floats = floats && PyFloat_CheckExact(args[i]);
    if (floats)
        return function(name, which, args, true);
    State *state = state_of_module(module);
    PyObject *plain[3], *result = NULL;
    if (ask_arguments(state, name, args, n, &result))
        return result;
    if (!plain_numbers(state, args, n, plain, &floats))
        return PyErr_Occurred() ? NULL : refuse(name, which, args, n);
    result = floats && !accepted ? refuse(name, which, args, n)
                                 : function(name, which, plain, floats);
    release_all(plain, n);
    return result;
}

/* ---------------------------------------------------------------- of the table */

/* One operand. */
static PyObject *call1(PyObject *module, Apply which, OnNumbers *function,
                       PyObject *arg)
{
    return array_of(arg)
               ? on_arrays(module, which, 1, &arg)
               : on_numbers(module, apply_rows[which].name, which, 1, &arg, function);
}

/* Several of them. */
static PyObject *call(PyObject *module, Apply which, OnNumbers *function,
                      PyObject *const *args, Py_ssize_t n)
{
    int arity = apply_rows[which].arity;
    if (!count_is(apply_rows[which].name, n, arity))
        return NULL;
    return any_array(args, arity) ? on_arrays(module, which, arity, args)
                                  : on_numbers(module, apply_rows[which].name, which,
                                               arity, args, function);
}

#define FUNCTION_1(id, name, numbers)                                  \
    static PyObject *functions_##name(PyObject *module, PyObject *arg) \
    {                                                                  \
        return call1(module, APPLY_##id, numbers##_numbers, arg);      \
    }
#define FUNCTION_N(id, name, numbers)                                          \
    static PyObject *functions_##name(PyObject *module, PyObject *const *args, \
                                      Py_ssize_t n)                            \
    {                                                                          \
        return call(module, APPLY_##id, numbers##_numbers, args, n);           \
    }
#define FUNCTION_2(id, name, numbers) FUNCTION_N(id, name, numbers)
#define FUNCTION_3(id, name, numbers) FUNCTION_N(id, name, numbers)
#define FUNCTION(id, name, op, arity, entries, result, special, derivative, numbers, \
                 stub)                                                              \
    FUNCTION_##arity(id, name, numbers)
#include "python/ops/apply.def"

FUNCTION_N(HYPOT, hypot, float)

/* ---------------------------------------------------------------- several of them */

static PyObject *pair(PyObject *a, PyObject *b)
{
    PyObject *result = a && b ? PyTuple_Pack(2, a, b) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
    return result;
}

static PyObject *functions_sincos(PyObject *module, PyObject *arg)
{
    PyObject *sine = functions_sin(module, arg);
    return pair(sine, sine ? functions_cos(module, arg) : NULL);
}

static PyObject *functions_sincosh(PyObject *module, PyObject *arg)
{
    PyObject *sine = functions_sinh(module, arg);
    return pair(sine, sine ? functions_cosh(module, arg) : NULL);
}

/* Of a number: the position of its highest bit. */
static PyObject *log2i_numbers(const char *name, Apply which, PyObject *const *numbers,
                               bool floats)
{
    PyObject *zeros = bits_numbers(name, which, numbers, floats);
    long count = zeros ? PyLong_AsLong(zeros) : 0;
    Py_XDECREF(zeros);
    return zeros ? PyLong_FromLong(31 - count) : NULL;
}

/* width - 1 - lzcnt */
static PyObject *functions_log2i(PyObject *module, PyObject *arg)
{
    const Array *a = array_of(arg);
    if (!a)
        return on_numbers(module, "log2i", APPLY_LZCNT, 1, &arg, log2i_numbers);
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

/* Integers have no sign bit to copy: b < 0 ? -|a| : |a|. */
static PyObject *copysign_integers(State *state, PyObject *const *args)
{
    PyObject *zero = PyLong_FromLong(0), *result = NULL;
    PyObject *const comparison[] = { args[1], zero };
    PyObject *negative = NULL, *size = NULL, *opposite = NULL;
    if (zero && array_of(args[1]))
        negative = apply(state, APPLY_LT, comparison, false);
    else if (zero)
        negative = PyObject_RichCompare(args[1], zero, Py_LT);
    if (negative)
        size = array_of(args[0]) ? apply(state, APPLY_ABS, args, false)
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

/* What is neither an array nor a number, as an array of the common type. */
static PyObject *array_or_number(const TypeInfo *info, PyObject *operand)
{
    return array_of(operand) || promote_number(operand) >= 0
               ? Py_NewRef(operand)
               : (PyObject *) convert_to(info, operand, "copysign");
}

/* A sign that is negative is refused where entries have none, as an operand of '+'. */
static bool sign_fits(const TypeInfo *info, PyObject *const *args)
{
    uint64_t bits;
    if (type_is_float(info) || type_is_mask(info) ||
        type_is_signed((VarType) info->entry))
        return true;
    if (promote_number(args[1]) < 0 || apply_number(info, args[1], &bits))
        return true;
    if (PyErr_ExceptionMatches(PyExc_OverflowError))
        error_raise_both("OverflowError", "copysign", args, 2,
                         "%R is out of range for the entries of %s", args[1],
                         info->name);
    return false;
}

static PyObject *copysign_operands(PyObject *module, PyObject *const *args)
{
    State *state = state_of_module(module);
    const TypeInfo *info = promote(state, "copysign", args, 2);
    if (!info || !sign_fits(info, args))
        return NULL;
    if (type_is_float(info) || type_is_mask(info))
        return on_arrays(module, APPLY_COPYSIGN, 2, args);
    PyObject *const values[] = { array_or_number(info, args[0]),
                                 array_or_number(info, args[1]) };
    PyObject *result =
        values[0] && values[1] ? copysign_integers(state, values) : NULL;
    Py_XDECREF(values[0]);
    Py_XDECREF(values[1]);
    return result;
}

static PyObject *functions_copysign(PyObject *module, PyObject *const *args,
                                    Py_ssize_t n)
{
    if (n != 2 || !any_array(args, 2))
        return call(module, APPLY_COPYSIGN, copysign_numbers, args, n);
    State *state = state_of_module(module);
    PyObject *operands[2], *result = NULL;
    if (ask_arguments(state, "copysign", args, 2, &result))
        return result;
    if (!operand_open(state, args, 2, operands))
        return NULL;
    result = copysign_operands(module, operands);
    operand_close(operands, 2);
    return result;
}

static PyObject *functions_step(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (!count_is("step", n, 2))
        return NULL;
    if (!any_array(args, 2))
        return on_numbers(module, "step", APPLY_LT, 2, args, step_numbers);
    State *state = state_of_module(module);
    PyObject *result = NULL;
    if (ask_arguments(state, "step", args, 2, &result))
        return result;
    PyObject *less = apply(state, APPLY_LT, args, false);
    PyObject *zero = PyLong_FromLong(0), *one = PyLong_FromLong(1);
    if (less && zero && one) {
        PyObject *const selection[] = { less, zero, one };
        result = apply(state, APPLY_SELECT, selection, false);
    }
    Py_XDECREF(less);
    Py_XDECREF(zero);
    Py_XDECREF(one);
    return result;
}

static PyObject *functions_power(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 2 || !any_array(args, 2))
        return call(module, APPLY_POWER, float_numbers, args, n);
    PyObject *result = NULL;
    return ask_arguments(state_of_module(module), "power", args, 2, &result)
               ? result
               : PyNumber_Power(args[0], args[1], Py_None);
}

/* ---------------------------------------------------------------- select */

typedef struct Selection {
    PyObject *module, *mask;
    PyObject *const *args; /* of the call */
} Selection;

static PyObject *select_pair(PyObject *module, PyObject *mask, PyObject *a,
                             PyObject *b);

/* What is neither an array nor a number must be the same on both sides. */
static PyObject *select_object(PyObject *const *leaves)
{
    int same = leaves[0] == leaves[1]
                   ? 1
                   : PyObject_RichCompareBool(leaves[0], leaves[1], Py_EQ);
    if (same)
        return same < 0 ? NULL : Py_NewRef(leaves[0]);
    return error_raise(PyExc_RuntimeError, "select", leaves, 2,
                       "found two different objects that are not arrays, expected "
                       "arrays");
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

/* Two equal numbers, or texts, are the same for all lanes. 0: they are not, or there is
 * an array; -1: exception. */
static int is_plain(PyObject *const *leaves)
{
    if (any_array(leaves, 2) || Py_TYPE(leaves[0]) != Py_TYPE(leaves[1]))
        return 0;
    return PyObject_RichCompareBool(leaves[0], leaves[1], Py_EQ);
}

/* A leaf of two trees. */
static PyObject *select_leaf(void *context, PyObject *const *leaves)
{
    const Selection *s = context;
    const int plain = is_plain(leaves);
    if (plain)
        return plain < 0 ? NULL : Py_NewRef(leaves[0]);
    PyObject *result = select_any(s, leaves);
    if (result)
        return result;
    PyObject *cause = error_fetch();
    error_restore(Py_NewRef(cause));
    error_raise(PyExc_RuntimeError, "select", s->args, 3, "a leaf failed: %S", cause);
    Py_DECREF(cause);
    return NULL;
}

static PyObject *select_pair(PyObject *module, PyObject *mask, PyObject *a, PyObject *b)
{
    PyObject *const args[] = { mask, a, b };
    if ((mask == Py_True || mask == Py_False) && !any_array(args + 1, 2))
        return Py_NewRef(mask == Py_True ? a : b);
    PyObject *result = shortcut_apply(APPLY_SELECT, 3, args);
    return result ? result : slow_path(module, APPLY_SELECT, 3, args);
}

static PyObject *functions_select(PyObject *module, PyObject *const *args, Py_ssize_t n)
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
    PyObject *operands[2], *result = NULL;
    if (ask_arguments(state, "select", args, 3, &result))
        return result;
    if (!operand_open(state, args + 1, 2, operands))
        return NULL;
    bool objects = promote_class(operands[0]) == -1 && promote_class(operands[1]) == -1;
    result = objects ? select_object(args + 1)
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
        VarIndex index = array_leaves(from)[i];
        VarIndex cast = !var_is_empty(index) ? var_reinterpret(index, target) : 0;
        if (!var_is_empty(index) && !cast)
            return false;
        array_leaves(to)[i] = cast;
    }
    return true;
}

static PyObject *functions_reinterpret_array(PyObject *module, PyObject *const *args,
                                             Py_ssize_t n)
{
    static const char name[] = "reinterpret_array";
    if (!count_is(name, n, 2))
        return NULL;
    State *state = state_of_module(module);
    const TypeInfo *info =
        PyType_Check(args[0]) ? type_of_class(state, (PyTypeObject *) args[0]) : NULL;
    const Array *from = array_of(args[1]);
    if (!info || !from)
        return error_raise(PyExc_TypeError, name, args, 2,
                           "expected an array type and an array");
    if (!same_layout(info, from->info) || info->entry_size != from->info->entry_size ||
        (type_is_mask(info) != type_is_mask(from->info)))
        return error_raise(
            PyExc_RuntimeError, name, args, 2,
            "%s and %s are incompatible, expected the same shape and entries of the "
            "same size",
            info->name, from->info->name);
    reads_note_whole(from);
    if (!evaluate_writes(name, &args[1], 1))
        return NULL;
    Array *to = array_new_like(info, from);
    if (to && !reinterpret_leaves(from, to)) {
        Py_DECREF(to);
        return error_from_core(name, args, 2);
    }
    return (PyObject *) to;
}

/* ---------------------------------------------------------------- methods */

#define METHOD_1(function) function, METH_O
#define METHOD_2(function) METHOD(function), METH_FASTCALL
#define METHOD_3(function) METHOD_2(function)
#define ENTRY(name, arity) \
    { #name, METHOD_##arity(functions_##name), DOC_##name },

PyMethodDef functions_functions[] = {
#define FUNCTION(id, name, op, arity, entries, result, special, derivative, numbers, \
                 stub)                                                              \
    ENTRY(name, arity)
#define NAMED(id, name, op, arity, entries, special, derivative, stub) \
    ENTRY(name, arity)
#define COMPOSED(name, arity, stub) ENTRY(name, arity)
#include "python/ops/apply.def"
    /* drjit.hypot() also takes its operands by name. */
    { "_hypot", METHOD(functions_hypot), METH_FASTCALL, NULL },
    { NULL, NULL, 0, NULL },
};
