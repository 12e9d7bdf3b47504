/*
 * product.c -- see product.h
 *
 * Above apply.c, which knows the products of matrices by matmul.h.
 */
#include "python/ops/product.h"

#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/convert/convert.h"
#include "python/convert/operand.h"
#include "python/convert/promote.h"
#include "python/docstrings.h"
#include "python/ops/apply.h"
#include "python/ops/matmul.h"

static bool is_tensor(PyObject *operand)
{
    const Array *array = array_of(operand);
    return array && array->info->kind == KIND_TENSOR;
}

/* 'At', 'Bt' are of tensors: elsewhere they would silently give another product. */
static bool may_transpose(PyObject *const *args, bool at, bool bt)
{
    if ((!at && !bt) || (is_tensor(args[0]) && is_tensor(args[1])))
        return true;
    error_raise(PyExc_TypeError, "matmul", args, 2,
                "'%s=True' is possible for two tensors; transpose matrices with "
                "drjit.transpose()",
                at ? "At" : "Bt");
    return false;
}

static PyObject *multiply(State *state, PyObject *const *args, bool at, bool bt)
{
    if (!may_transpose(args, at, bt))
        return NULL;
    if (!promote_is_single(args[0]) && !promote_is_single(args[1]))
        return matmul_apply(state, args, at, bt);
    const bool a = array_of(args[0]), b = array_of(args[1]);
    const bool tensor = is_tensor(args[0]) || is_tensor(args[1]);
    if ((tensor && a && b) || (!a && !b))
        Py_RETURN_NOTIMPLEMENTED;
    return apply(state, APPLY_MUL, args, true);
}

/* The type that an array of somebody else has beside one of ours. */
static uint16_t type_beside(const TypeInfo *info, const Memory *m)
{
    const Family family = (Family) info->family;
    if (info->kind == KIND_TENSOR || info->kind == KIND_FLAT)
        return type_find(family, (Kind) info->kind, 0, NULL, m->type);
    const VarType entry = m->type >= VarTypeFloat16 ? m->type : (VarType) info->entry;
    const int8_t n = info->dims[0], dims[] = { n, n };
    const bool square = m->ndim >= 2 && m->shape[0] == n && m->shape[1] == n;
    return square ? type_find(family, KIND_MATRIX, 2, dims, entry)
                  : type_find(family, KIND_ARRAY, 1, dims, entry);
}

/* Steals what stands for an operand; NULL: exception. */
static PyObject *as_array(PyObject *operand, PyObject *other)
{
    const Borrowed *source = operand_memory(operand);
    const Array *beside = array_of(other);
    const uint16_t id = source && beside && !source->memory.complex
                            ? type_beside(beside->info, &source->memory)
                            : TYPE_NONE;
    if (id == TYPE_NONE)
        return operand;
    PyObject *array =
        (PyObject *) convert_to(&beside->info->state->types[id], operand, "matmul");
    Py_DECREF(operand);
    return array;
}

PyObject *product_apply(State *state, PyObject *const *args, bool at, bool bt)
{
    PyObject *operands[2];
    if (!operand_open(state, args, 2, operands))
        return NULL;
    for (int k = 0; k < 2; k++)
        if (!(operands[k] = as_array(operands[k], operands[1 - k]))) {
            Py_DECREF(operands[1 - k]);
            return NULL;
        }
    if (reads_open)
        reads_note_operands(operands, 2);
    PyObject *result = evaluate_writes("matmul", operands, 2)
                           ? multiply(state, operands, at, bt)
                           : NULL;
    operand_close(operands, 2);
    return result;
}

static PyObject *matmul(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "A", "B", "At", "Bt", NULL };
    PyObject *operands[2];
    int at = 0, bt = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|pp:drjit.matmul", names,
                                     &operands[0], &operands[1], &at, &bt))
        return NULL;
    PyObject *result = product_apply(state_of_module(module), operands, at, bt);
    if (result != Py_NotImplemented)
        return result;
    Py_DECREF(result);
    return error_raise(
        PyExc_TypeError, "matmul", operands, 2,
        "unsupported argument types, expected matrices or vectors whose leading "
        "extents agree, two tensors, or a number beside an array");
}

PyMethodDef product_functions[] = {
    { "matmul", METHOD(matmul), METH_VARARGS | METH_KEYWORDS, DOC_matmul },
    { NULL, NULL, 0, NULL },
};
