/*
 * matvec.c -- products with small matrices, for drjit._matvec
 */
#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/base/tables.h"
#include "python/memory/access.h"

typedef struct Product {
    const State *state;
    Array *array, *bias; /* bias: NULL, nothing is added */
    Array *gradient;     /* what derivatives go to; NULL: the array */
    size_t first;        /* entry of the bias */
    JitMatrix matrix;
    size_t n, m;         /* entries of the vector, of the result */
    VarIndex *x, *out;
} Product;

/* Is it an array of the matrix' type? */
static Array *read_array(const Product *p, const char *what, PyObject *object)
{
    Array *array = array_check(p->state, object) ? (Array *) object : NULL;
    if (array && array->info == p->array->info)
        return array;
    error_raise(PyExc_TypeError, "matvec", NULL, 0,
                "%s is %s, expected %s as the matrix", what, Py_TYPE(object)->tp_name,
                p->array->info->name);
    return NULL;
}

/* The components, which the list keeps. */
static bool read_vector(const Product *p, PyObject *list)
{
    const size_t found = (size_t) PyList_GET_SIZE(list);
    if (found != p->n)
        return error_raise(PyExc_ValueError, "matvec", NULL, 0,
                           "'x' has %zu components, expected %zu", found, p->n);
    for (size_t k = 0; k < found; k++) {
        const Array *array =
            read_array(p, "a component of 'x'", PyList_GET_ITEM(list, (Py_ssize_t) k));
        if (!array)
            return false;
        p->x[k] = array_var(array);
    }
    return true;
}

static bool multiply(const Product *p)
{
    const VarIndex source = array_var(p->array);
    const VarIndex bias = p->bias ? array_var(p->bias) : 0;
    bool ok;
    const VarIndex gradient = p->gradient ? array_var(p->gradient) : 0;
    if (!access_waits(source) && !(bias && access_waits(bias)))
        return var_matvec(source, &p->matrix, p->x, bias, p->first, gradient, p->out);
    var_ref(source);
    var_ref(bias);
    GIL_RELEASE_BEGIN ok =
        var_matvec(source, &p->matrix, p->x, bias, p->first, gradient, p->out);
    var_unref(source);
    var_unref(bias);
    GIL_RELEASE_END return ok;
}

static PyObject *make_result(const Product *p)
{
    PyObject *list = PyList_New((Py_ssize_t) p->m);
    for (size_t i = 0; i < p->m; i++) {
        Array *array = list ? array_new_leaf(p->array->info, p->out[i]) : NULL;
        if (!list)
            var_unref(p->out[i]);
        else if (array)
            PyList_SET_ITEM(list, (Py_ssize_t) i, (PyObject *) array);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *run(Product *p, PyObject *const *v)
{
    PyObject *list = PySequence_List(v[5]), *result = NULL;
    PyObject *arrays[] = { v[0], v[6] };
    p->x = PyMem_Calloc(p->n + p->m + 1, sizeof(VarIndex));
    p->out = p->x + p->n;
    if (list && !p->x) {
        PyErr_NoMemory();
    } else if (list && read_vector(p, list) && evaluate_writes("matvec", arrays, 2)) {
        reads_note_gather(p->array);
        if (p->bias)
            reads_note_gather(p->bias);
        result = multiply(p) ? make_result(p) : error_from_core("matvec", NULL, 0);
    }
    PyMem_Free(p->x);
    Py_XDECREF(list);
    return result;
}

static PyObject *matvec(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *names)
{
    static const char *const parameters[] = { "array",     "offset", "rows",
                                              "columns",   "transpose", "x",
                                              "bias",      "first",
                                              "gradient" };
    static const Signature signature = { "matvec", parameters, 9, 9, 9 };
    PyObject *v[9];
    bool transpose;
    Product p = { .state = state_of_module(module) };
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !arguments_count("matvec", "offset", v[1], &p.matrix.offset) ||
        !arguments_count("matvec", "rows", v[2], &p.matrix.rows) ||
        !arguments_count("matvec", "columns", v[3], &p.matrix.columns) ||
        !arguments_bool("matvec", "transpose", v[4], false, &transpose) ||
        !arguments_count("matvec", "first", v[7], &p.first))
        return NULL;
    Array *array = array_check(p.state, v[0]) ? (Array *) v[0] : NULL;
    if (!array || !access_is_flat(array->info) || !array->info->jit)
        return error_raise(PyExc_TypeError, "matvec", NULL, 0,
                           "the matrix is %s, expected a flat array of a just-in-time "
                           "backend", Py_TYPE(v[0])->tp_name);
    p.array = array;
    if (v[6] != Py_None && !(p.bias = read_array(&p, "the bias", v[6])))
        return NULL;
    p.gradient =
        v[8] != Py_None && array_check(p.state, v[8]) ? (Array *) v[8] : NULL;
    p.matrix.transpose = transpose;
    p.n = transpose ? p.matrix.rows : p.matrix.columns;
    p.m = transpose ? p.matrix.columns : p.matrix.rows;
    return run(&p, v);
}

PyMethodDef matvec_functions[] = {
    { "_matvec", METHOD(matvec), METH_FASTCALL | METH_KEYWORDS,
      "_matvec(array, offset, rows, columns, transpose, x, bias, first, gradient)\n"
      "--\n\n"
      "The product of a matrix, rows * columns entries of an array of floats from\n"
      "'offset' on, with the vector x (a sequence of arrays of the same type), plus\n"
      "the entries of 'bias' from 'first' on if that is not None. A list of arrays.\n"
      "Derivatives by the array go to 'gradient' instead, if that is not None." },
    { NULL, NULL, 0, NULL },
};
