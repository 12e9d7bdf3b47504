/*
 * matvec.c -- products with small matrices, for drjit._matvec
 */
#include "python/memory/access.h"
#include "python/object/arguments.h"
#include "python/object/error.h"
#include "python/object/evaluate.h"
#include "python/object/reads.h"
#include "python/object/tables.h"
#include "python/object/wait.h"

typedef struct Product {
    const State *state;
    Array *array;
    JitMatrix matrix;
    size_t n, m;       /* entries of the vector, of the result */
    Leaf *values;      /* vector, what is added, results */
    PyObject *objects; /* that have the values, a list */
    bool adds;
} Product;

static bool is_vector_of(const Product *p, PyObject *object)
{
    return array_check(p->state, object) && ((Array *) object)->info == p->array->info;
}

/* 'count' arrays of the matrix' type, into values[first ...]. */
static bool read_vector(Product *p, const char *what, PyObject *vector, size_t first,
                        size_t count)
{
    PyObject *list = PySequence_List(vector);
    if (!list)
        return false;
    const size_t found = (size_t) PyList_GET_SIZE(list);
    bool ok = found == count;
    if (!ok)
        error_raise(PyExc_ValueError, "matvec", NULL, 0,
                    "'%s' has %zu components, expected %zu", what, found, count);
    for (size_t k = 0; k < count && ok; k++) {
        PyObject *object = PyList_GET_ITEM(list, (Py_ssize_t) k);
        ok = is_vector_of(p, object);
        if (ok)
            p->values[first + k] = array_leaf((Array *) object);
        else
            error_raise(PyExc_TypeError, "matvec", NULL, 0,
                        "component %zu of '%s' is %s, expected %s as the matrix", k,
                        what, Py_TYPE(object)->tp_name, p->array->info->name);
    }
    ok = ok && PyList_Append(p->objects, list) == 0;
    Py_DECREF(list);
    return ok;
}

static bool multiply(Product *p)
{
    const Leaf source = array_leaf(p->array);
    const Leaf *add = p->adds ? p->values + p->n : NULL;
    Leaf *out = p->values + p->n + (p->adds ? p->m : 0);
    bool ok;
    if (!access_waits(source))
        return leaf_matvec(source, &p->matrix, p->values, add, out);
    leaf_ref(source);
    WAIT_BEGIN ok = leaf_matvec(source, &p->matrix, p->values, add, out);
    leaf_unref(source);
    WAIT_END return ok;
}

static PyObject *make_result(const Product *p)
{
    const Leaf *out = p->values + p->n + (p->adds ? p->m : 0);
    PyObject *list = PyList_New((Py_ssize_t) p->m);
    for (size_t i = 0; i < p->m; i++) {
        Array *array = list ? array_new_leaf(p->array->info, out[i]) : NULL;
        if (!list)
            leaf_unref(out[i]);
        else if (array)
            PyList_SET_ITEM(list, (Py_ssize_t) i, (PyObject *) array);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *run(Product *p, PyObject *const *v)
{
    p->values = PyMem_Calloc(p->n + 2 * p->m + 1, sizeof(Leaf));
    p->objects = PyList_New(0);
    PyObject *result = NULL;
    if (!p->values || !p->objects) {
        PyErr_NoMemory();
    } else if (read_vector(p, "x", v[5], 0, p->n) &&
               (!p->adds || read_vector(p, "add", v[6], p->n, p->m)) &&
               evaluate_writes("matvec", &v[0], 1)) {
        reads_note_gather(p->array);
        result = multiply(p) ? make_result(p) : error_from_core("matvec", NULL, 0);
    }
    PyMem_Free(p->values);
    Py_XDECREF(p->objects);
    return result;
}

static PyObject *matvec(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *names)
{
    static const char *const parameters[] = { "array",     "offset", "rows", "columns",
                                              "transpose", "x",      "add" };
    static const Signature signature = { "matvec", parameters, 7, 7, 7 };
    PyObject *v[7];
    bool transpose;
    Product p = { .state = state_of_module(module) };
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !arguments_count("matvec", "offset", v[1], &p.matrix.offset) ||
        !arguments_count("matvec", "rows", v[2], &p.matrix.rows) ||
        !arguments_count("matvec", "columns", v[3], &p.matrix.columns) ||
        !arguments_bool("matvec", "transpose", v[4], false, &transpose))
        return NULL;
    p.array = array_check(p.state, v[0]) ? (Array *) v[0] : NULL;
    if (!p.array || !access_is_flat(p.array->info) ||
        !p.array->info->jit)
        return error_raise(PyExc_TypeError, "matvec", NULL, 0,
                           "the matrix is %s, expected a flat array of a just-in-time "
                           "backend", Py_TYPE(v[0])->tp_name);
    p.matrix.transpose = transpose;
    p.n = transpose ? p.matrix.rows : p.matrix.columns;
    p.m = transpose ? p.matrix.columns : p.matrix.rows;
    p.adds = v[6] != Py_None;
    return run(&p, v);
}

PyMethodDef matvec_functions[] = {
    { "_matvec", METHOD(matvec), METH_FASTCALL | METH_KEYWORDS,
      "_matvec(array, offset, rows, columns, transpose, x, add)\n--\n\n"
      "The products of a matrix, rows * columns entries of an array of floats from\n"
      "'offset' on, with the vector x (a sequence of arrays of the same type), plus\n"
      "'add' if that is not None: in order, rounded once. A list\n"
      "of arrays." },
    { NULL, NULL, 0, NULL },
};
