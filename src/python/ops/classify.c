/*
 * classify.c -- isnan, isinf, isfinite
 *
 * They compare the bits of the magnitude with those of infinity, and so also work while
 * the flag FastMath lets the compiler assume that there is neither infinity nor NaN.
 * Integers and masks are finite. Python's numbers, sequences of them, and arrays of
 * other libraries are answered in their own terms.
 */
#include <math.h>

#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/error.h"
#include "python/convert/promote.h"
#include "python/convert/value.h"
#include "python/ops/ask.h"
#include "python/ops/functions.h"
#include "python/type/state.h"

typedef struct Test {
    State *state;
    const char *name;
    JitOp op;   /* of the magnitude's bits with those of infinity */
    int python; /* the same, for objects of Python */
} Test;

/* ---------------------------------------------------------------- arrays */

/* What the leaves of an array are compared as. */
typedef struct Bits {
    const TypeInfo *source, *floats, *words; /* descriptors of leaves */
    Value infinity; /* as a magnitude: without sign, one bit up */
} Bits;

static const TypeInfo *leaf_type(const Test *t, const TypeInfo *info, VarType entry)
{
    return &t->state
                ->types[type_find((Family) info->family, KIND_FLAT, 0, NULL, entry)];
}

static bool start(const Test *t, const TypeInfo *info, Bits *b)
{
    /* Half precision numbers become single ones, exactly. */
    bool wide = info->entry == VarTypeFloat64;
    b->source = leaf_type(t, info, (VarType) info->entry);
    b->floats = wide ? b->source : leaf_type(t, info, VarTypeFloat32);
    b->words = leaf_type(t, info, wide ? VarTypeUInt64 : VarTypeUInt32);
    return value_constant(b->words, wide ? 0xffe0000000000000u : 0xff000000u,
                          &b->infinity);
}

/* The bits of a float: traced as a conversion; in drjit.scalar a Value has them. */
static bool take_bits(const Bits *b, Value number, Value *bits)
{
    if (!b->words->jit) {
        *bits = number;
        return true;
    }
    *bits = var_reinterpret(number, (VarType) b->words->entry);
    return *bits;
}

static bool test_leaf(const Test *t, const Bits *b, Value leaf, Value *result)
{
    Value number = 0, bits = 0, size = 0;
    bool ok = value_cast(b->source, b->floats, leaf, &number) &&
              take_bits(b, number, &bits) &&
              value_op2(b->words, JitOpAdd, bits, bits, &size) && /* no sign */
              value_op2(b->words, t->op, size, b->infinity, result);
    value_release(b->words, number);
    value_release(b->words, bits);
    value_release(b->words, size);
    return ok;
}

static bool test_floats(const Test *t, const Array *a, Array *out)
{
    Bits b;
    if (!start(t, a->info, &b))
        return false;
    bool ok = true;
    for (size_t i = 0; i < array_count(a) && ok; i++) {
        Value leaf = value_of(a, i), result = 0;
        bool empty = a->info->jit && var_is_empty(leaf);
        ok = empty || test_leaf(t, &b, leaf, &result);
        value_release(a->info, leaf);
        if (ok)
            value_store(out, i, result);
    }
    value_release(b.words, b.infinity);
    return ok;
}

/* Entries that are all finite: one answer for each, as wide as the leaves. */
static bool answer_all(const Test *t, const Array *a, Array *out)
{
    const uint64_t truth = t->op == JitOpLt;
    for (size_t i = 0; i < array_count(a); i++) {
        VarIndex var = a->info->jit ? array_leaves(a)[i] : 0;
        Value result = a->info->jit ? 0 : truth;
        if (var)
            result = var_literal_like(out->info, &truth, var);
        if (var && !result)
            return false;
        value_store(out, i, result);
    }
    return true;
}

static PyObject *test_array(const Test *t, const Array *a)
{
    Array *out = array_new_like(&t->state->types[a->info->mask], a);
    bool ok = out && (type_is_float(a->info) ? test_floats(t, a, out)
                                             : answer_all(t, a, out));
    if (out && !ok) {
        Py_CLEAR(out);
        error_from_core(t->name, (PyObject **) &a, 1);
    }
    return (PyObject *) out;
}

/* ---------------------------------------------------------------- other objects */

static PyObject *test_number(const Test *t, double value)
{
    return PyBool_FromLong(t->op == JitOpGt   ? isnan(value)
                           : t->op == JitOpEq ? isinf(value)
                                              : isfinite(value));
}

/* An array of another library (such as NumPy) computes abs() and comparisons. */
static PyObject *test_foreign(const Test *t, PyObject *arg)
{
    PyObject *size = PyNumber_Absolute(arg);
    PyObject *infinity = PyFloat_FromDouble(INFINITY), *result = NULL;
    if (size && infinity)
        result = PyObject_RichCompare(size, t->op == JitOpGt ? size : infinity,
                                      t->python);
    Py_XDECREF(size);
    Py_XDECREF(infinity);
    return result;
}

static PyObject *test_any(const Test *t, PyObject *arg);

static PyObject *test_sequence(const Test *t, PyObject *arg)
{
    PyObject *items = PySequence_Tuple(arg);
    Py_ssize_t n = items ? PyTuple_GET_SIZE(items) : 0;
    PyObject *result = items ? PyList_New(n) : NULL;
    if (result && Py_EnterRecursiveCall(" in a classification"))
        Py_CLEAR(result);
    else if (result) {
        for (Py_ssize_t i = 0; i < n && result; i++) {
            PyObject *entry = test_any(t, PyTuple_GET_ITEM(items, i));
            if (entry)
                PyList_SET_ITEM(result, i, entry);
            else
                Py_CLEAR(result);
        }
        Py_LeaveRecursiveCall();
    }
    Py_XDECREF(items);
    return result;
}

static PyObject *test_any(const Test *t, PyObject *arg)
{
    const Array *a = array_of(arg);
    if (a) {
        reads_note_whole(a);
        return evaluate_writes(t->name, &arg, 1) ? test_array(t, a) : NULL;
    }
    if (promote_number(arg) >= 0) {
        double value = PyFloat_AsDouble(arg);
        return value == -1 && PyErr_Occurred() ? NULL : test_number(t, value);
    }
    if (PyList_Check(arg) || PyTuple_Check(arg))
        return test_sequence(t, arg);
    PyObject *answer = NULL;
    if (ask_arguments(t->state, t->name, &arg, 1, &answer))
        return answer;
    PyObject *convert = PyObject_GetAttrString(arg, "__array__");
    if (convert) {
        Py_DECREF(convert);
        return test_foreign(t, arg);
    }
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return NULL;
    PyErr_Clear();
    return error_raise(PyExc_TypeError, t->name, &arg, 1,
                       "expected a number, an array or a sequence");
}

PyObject *functions_isnan(PyObject *module, PyObject *arg)
{
    const Test test = { state_of_module(module), "isnan", JitOpGt, Py_NE };
    return test_any(&test, arg);
}

PyObject *functions_isinf(PyObject *module, PyObject *arg)
{
    const Test test = { state_of_module(module), "isinf", JitOpEq, Py_EQ };
    return test_any(&test, arg);
}

PyObject *functions_isfinite(PyObject *module, PyObject *arg)
{
    const Test test = { state_of_module(module), "isfinite", JitOpLt, Py_LT };
    return test_any(&test, arg);
}
