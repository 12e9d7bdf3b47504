/*
 * dot.c -- inner products, of which drjit._math.norms makes norms
 *
 * A nested array contracts its first axis (matmul.c). A flat just-in-time array is
 * reduced over its lanes, by the core. Tensors contract their first axis; sequences of
 * numbers are summed up in Python's arithmetic. Complex numbers, quaternions and
 * matrices count as plain arrays here.
 */
#include "python/base/tables.h"

#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/convert/convert.h"
#include "python/convert/operand.h"
#include "python/convert/promote.h"
#include "python/docstrings.h"
#include "python/ops/apply.h"
#include "python/ops/matmul.h"
#include "python/shape/extent.h"

static PyObject *fail(PyObject *const *args)
{
    return error_from_core("dot", args, 2);
}

/* ---------------------------------------------------------------- nested arrays */

/* One operand: n elements of 'inner' leaves each. A single variable or an array of one
 * element is repeated. */
typedef struct Side {
    size_t n, inner;
} Side;

static Side describe(const Array *a)
{
    const TypeInfo *info = a->info;
    size_t count = array_count(a);
    size_t n = info->ndim == 0 ? 1 : info->dynamic ? count : (size_t) info->dims[0];
    return (Side){ n, n ? count / n : 1 };
}

static PyObject *contract(const Array *x, const Array *y, PyObject *const *args)
{
    const Side a = describe(x), b = describe(y);
    const TypeInfo *info = (a.inner >= b.inner && x->info->ndim ? x : y)->info;
    const TypeInfo *value_info = &info->state->types[info->value];
    if (a.n != b.n && a.n != 1 && b.n != 1)
        return error_raise(PyExc_RuntimeError, "dot", args, 2,
                           "operands have incompatible sizes %zu and %zu, expected "
                           "equal sizes",
                           a.n, b.n);
    if (a.inner != b.inner && a.inner != 1 && b.inner != 1)
        return error_raise(PyExc_RuntimeError, "dot", args, 2,
                           "the elements of the operands have different shapes");
    const Terms p = { x, 0, 0, a.n == 1 ? 0 : a.inner, a.inner > 1 };
    const Terms q = { y, 0, 0, b.n == 1 ? 0 : b.inner, b.inner > 1 };
    return matmul_sums(value_info, &p, &q, a.n == 1 ? b.n : a.n, 1, 1, "dot", args);
}

/* ---------------------------------------------------------------- sequences */

/* Sum of a[i] * b[i] in the arithmetic of the elements. */
static PyObject *dot_sequences(PyObject *a, PyObject *b, PyObject *const *args)
{
    Py_ssize_t n = PySequence_Size(a), m = n < 0 ? -1 : PySequence_Size(b);
    if (n < 0 || m < 0)
        return error_raise(PyExc_TypeError, "dot", args, 2,
                           "expected arrays or sequences");
    if ((n != m && n != 1 && m != 1) || n == 0 || m == 0)
        return error_raise(PyExc_RuntimeError, "dot", args, 2,
                           "operands have incompatible sizes %zd and %zd, expected "
                           "equal sizes",
                           n, m);
    PyObject *sum = NULL;
    for (Py_ssize_t i = 0; i < n || i < m; i++) {
        PyObject *x = PySequence_GetItem(a, n == 1 ? 0 : i);
        PyObject *y = x ? PySequence_GetItem(b, m == 1 ? 0 : i) : NULL;
        PyObject *product = y ? PyNumber_Multiply(x, y) : NULL;
        Py_XDECREF(x);
        Py_XDECREF(y);
        PyObject *next = product && sum ? PyNumber_Add(sum, product) : NULL;
        if (sum) {
            Py_XDECREF(product);
            Py_DECREF(sum);
            sum = next;
        } else {
            sum = product;
        }
        if (!sum)
            return error_raise(PyExc_RuntimeError, "dot", args, 2,
                               "the elements could not be combined");
    }
    return sum;
}

/* ---------------------------------------------------------------- flat arrays */

static VarIndex reduce_dot(VarIndex a, void *b)
{
    return var_reduce_dot(a, *(VarIndex *) b);
}

static VarIndex reduce_add(VarIndex a, void *unused)
{
    (void) unused;
    return var_reduce(a, ReduceOpAdd);
}

/* The sum over lanes; *result is a new reference. */
static bool reduce_lanes(const TypeInfo *info, VarIndex a, VarIndex b, VarIndex *result)
{
    const uint64_t zero = 0;
    if (var_is_empty(a) && var_is_empty(b)) {
        *result = var_of_none(var_literal(info, &zero, 1), 2, (VarIndex[]) { a, b });
    } else if (!var_is_empty(a) && !var_is_empty(b) && type_is_float(info) &&
               var_peek_size(a) == var_peek_size(b)) {
        *result = evaluate_command(reduce_dot, a, b, &b);
    } else {
        VarIndex product = var_mul(a, b);
        *result = product ? evaluate_call(reduce_add, product, NULL) : 0;
        var_unref(product);
    }
    return *result;
}

static PyObject *reduce_flat(const Array *a, const Array *b, PyObject *const *args)
{
    VarIndex in[] = { array_var(a), array_var(b) }, index;
    if (reduce_lanes(a->info, in[0], in[1], &index))
        return (PyObject *) array_new_leaf(a->info, index);
    apply_error("dot", args, 2, in, 2);
    return NULL;
}

/* module.sum(a * b, 0) */
static PyObject *sum_of_products(PyObject *module, PyObject *const *args)
{
    PyObject *product = PyNumber_Multiply(args[0], args[1]);
    PyObject *sum =
        product ? PyObject_CallMethod(module, "sum", "Oi", product, 0) : NULL;
    Py_XDECREF(product);
    return sum;
}

static PyObject *dot_tensors(PyObject *module, PyObject *const *args)
{
    const Array *a = array_of(args[0]), *b = array_of(args[1]);
    bool tensors =
        a && b && a->info->kind == KIND_TENSOR && b->info->kind == KIND_TENSOR;
    if (tensors && a->info == b->info && a->info->jit) {
        Extents x, y;
        extents_of(a, &x);
        extents_of(b, &y);
        if (x.ndim == 1 && extents_equal(&x, &y)) {
            VarIndex index;
            Array *out = array_new_tensor(a->info, 0, NULL);
            if (out && reduce_lanes(a->info, array_var(a), array_var(b), &index))
                array_set_leaf(out, 0, index);
            else if (out) {
                Py_CLEAR(out);
                fail(args);
            }
            return (PyObject *) out;
        }
    }
    if (tensors && ((const Tensor *) a)->ndim != ((const Tensor *) b)->ndim)
        return dot_sequences(args[0], args[1], args);
    return sum_of_products(module, args);
}

/* ---------------------------------------------------------------- entry */

static PyObject *dot_arrays(PyObject *module, const Array *a, const Array *b,
                            PyObject *const *args)
{
    const TypeInfo *info = a->info;
    if (type_is_mask(info))
        return error_raise(PyExc_RuntimeError, "dot", args, 2,
                           "operation not supported for masks");
    if (info->kind == KIND_TENSOR)
        return dot_tensors(module, args);
    return info->kind == KIND_FLAT && b->info->kind == KIND_FLAT
               ? reduce_flat(a, b, args)
               : contract(a, b, args);
}

static Array *operand(const TypeInfo *info, PyObject *arg)
{
    Array *a = array_of(arg);
    return a ? convert_entries(info, a, "dot") : convert_to(info, arg, "dot");
}

static PyObject *dot_operands(PyObject *module, PyObject *const *args)
{
    State *state = state_of_module(module);
    if (promote_number(args[0]) >= 0 || promote_number(args[1]) >= 0)
        return error_raise(PyExc_TypeError, "dot", args, 2,
                           "expected arrays or sequences");
    const TypeInfo *info = promote(state, "dot", args, 2);
    if (!info)
        return NULL;
    if (info->kind == KIND_TENSOR)
        return dot_tensors(module, args);
    Array *x = operand(info, args[0]), *y = x ? operand(info, args[1]) : NULL;
    PyObject *result = y ? dot_arrays(module, x, y, args) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(y);
    return result;
}

static PyObject *dot_pair(PyObject *module, PyObject *const *args)
{
    const Array *a = array_of(args[0]), *b = array_of(args[1]);
    if (!evaluate_writes("dot", args, 2))
        return NULL;
    if (reads_open)
        reads_note_operands(args, 2);
    if (a && b && a->info == b->info)
        return dot_arrays(module, a, b, args);
    if (!a && !b)
        return dot_sequences(args[0], args[1], args);
    PyObject *operands[2];
    if (!operand_open(state_of_module(module), args, 2, operands))
        return NULL;
    PyObject *result = dot_operands(module, operands);
    operand_close(operands, 2);
    return result;
}

static PyObject *dot_dot(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n == 2)
        return dot_pair(module, args);
    arguments_refuse("dot", NULL, 0, "found %zd arguments, expected 2", n);
    return NULL;
}

PyMethodDef dot_functions[] = {
    { "dot", METHOD(dot_dot), METH_FASTCALL, DOC_dot },
    { NULL, NULL, 0, NULL },
};
