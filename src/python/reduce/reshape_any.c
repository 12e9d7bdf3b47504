/*
 * reshape_any.c -- reshape(): between arrays, tensors and PyTrees of them
 *
 *     same type, nested     nothing to rearrange: the shape must agree
 *     tensors               another shape over the same storage
 *     other types           ravel, convert the entries if they differ, unravel: a
 *                           nested array by default in Fortran order, a tensor in C
 *                           order, the only one it has
 *
 * With 'shrink', entries at the end of the trailing dynamic axis (of the storage of a
 * tensor) are dropped first.
 */
#include "python/convert/convert.h"
#include "python/memory/access.h"
#include "python/object/arguments.h"
#include "python/object/error.h"
#include "python/object/evaluate.h"
#include "python/object/reads.h"
#include "python/object/shape.h"
#include "python/reduce/reshape.h"
#include "python/tree/tree.h"

typedef struct Reshape {
    State *state;
    Extents shape; /* 1 in the place of -1 */
    int inferred;  /* axis given as -1, or -1: none */
    char order;
    bool shrink;
} Reshape;

static const char operation[] = "reshape";

static bool read_extent(Reshape *r, PyObject *item)
{
    Py_ssize_t value;
    Extent extent = extent_of(1);
    if (!extent_read(item, &value, &extent)) {
        if (PyErr_Occurred())
            return false;
        if (value < -1 || r->inferred >= 0) {
            error_raise(PyExc_RuntimeError, operation, NULL, 0,
                        value < -1
                            ? "'shape' has the extent %zd, expected 0 or more, or -1"
                            : "only one extent of 'shape' may be %zd",
                        value);
            return false;
        }
        r->inferred = (int) r->shape.ndim;
    }
    extents_append(&r->shape, extent);
    return true;
}

static bool read_shape(Reshape *r, PyObject *shape)
{
    bool one;
    PyObject *items = arguments_shape(operation, shape, &one);
    if (!items)
        return false;
    r->inferred = -1;
    extents_set_numbers(&r->shape, 0, NULL);
    const size_t ndim = (size_t) PyTuple_GET_SIZE(items);
    bool ok = ndim <= TENSOR_MAX_DIMS;
    if (!ok)
        error_raise(PyExc_ValueError, operation, NULL, 0,
                    "'shape' has %zu axes, expected at most %d", ndim,
                    TENSOR_MAX_DIMS);
    for (size_t i = 0; ok && i < ndim; i++)
        ok = read_extent(r, PyTuple_GET_ITEM(items, (Py_ssize_t) i));
    Py_DECREF(items);
    return ok;
}

/* The shape with its -1 replaced, for that many entries; false: exception. */
static bool resolve(const Reshape *r, PyObject *value, Extent size, Extents *shape)
{
    Extent given;
    *shape = r->shape;
    if (!extents_total(&r->shape, &given))
        return false;
    if (r->inferred >= 0) {
        if (given.n == 0 || !extent_divides(given, size)) {
            error_raise(PyExc_RuntimeError, operation, &value, 1,
                        "no extent in place of -1 makes a shape of %zu entries",
                        size.n);
            return false;
        }
        extents_set(shape, (size_t) r->inferred, extent_div(size, given));
    } else if (!extent_equal(given, size)) {
        error_raise(PyExc_RuntimeError, operation, &value, 1,
                    "the input has %zu entries, expected %zu as 'shape' says", size.n,
                    given.n);
        return false;
    }
    return true;
}

/* ---------------------------------------------------------------- shrink */

typedef struct Shrink {
    size_t size;
} Shrink;

static Leaf run_shrink(Leaf leaf, void *argument)
{
    return leaf_shrink(leaf, ((const Shrink *) argument)->size);
}

/* The first 'size' entries of a variable (a new reference, 0 for none). */
static bool shrink_variable(PyObject *value, const TypeInfo *info, Leaf leaf,
                            size_t size, Leaf *out)
{
    if (size == 0)
        return leaf_none(info, 1, &leaf, out) || error_from_core(operation, &value, 1);
    Shrink call = { size };
    *out = evaluate_call(run_shrink, leaf, &call);
    if (!*out)
        error_from_core(operation, &value, 1);
    return *out;
}

static bool check_shrink(PyObject *value, size_t size, size_t width)
{
    if (size > width)
        error_raise(PyExc_RuntimeError, operation, &value, 1,
                    "cannot shrink %zu entries to %zu", width, size);
    return size <= width;
}

/* The first entries of each leaf; leaves of size 1 stand for any number. */
static PyObject *shrink_jit(Array *a, size_t size)
{
    size_t width; /* to which the result is bound */
    reads_note_whole(a);
    if (!shape_width(a, &width, operation) ||
        !check_shrink((PyObject *) a, size, width))
        return NULL;
    Array *result = access_make(Py_TYPE(a), a->info, a);
    /* While the GIL is released, another thread may give 'a' more leaves. */
    for (size_t i = 0; result && i < array_count(result); i++) {
        Leaf leaf = array_leaves(a)[i], out = 0;
        bool single = leaf_size(leaf) == 1 && size;
        if (single)
            out = leaf_ref(leaf);
        else if (leaf && !shrink_variable((PyObject *) a, a->info, leaf, size, &out))
            Py_CLEAR(result);
        if (result)
            array_set_leaf(result, i, out);
    }
    return (PyObject *) result;
}

static PyObject *shrink_scalar(Array *a, size_t size)
{
    if (!check_shrink((PyObject *) a, size, array_count(a)))
        return NULL;
    Array *result = array_new_dynamic(a->info, size);
    if (result && size)
        memcpy(array_data(result), array_data(a), size * a->info->entry_size);
    return (PyObject *) result;
}

/* ---------------------------------------------------------------- same type */

static PyObject *reshape_tensor(const Reshape *r, Array *t)
{
    Extents shape;
    Extent size, wanted;
    PyObject *value = (PyObject *) t;
    if (r->order == 'F')
        return error_raise(PyExc_RuntimeError, operation, &value, 1,
                           "'order' is 'F', tensors have 'C' only");
    extents_of(t, &shape);
    if (!extents_total(&shape, &size) || !extents_total(&r->shape, &wanted))
        return NULL;
    bool shrink = r->shrink && r->inferred < 0;
    if (shrink ? !check_shrink(value, extent_number(wanted), extent_number(size))
               : !resolve(r, value, size, &shape))
        return NULL;
    Array *result = extents_new_tensor(t->info, shrink ? &r->shape : &shape);
    Leaf leaf = t->info->jit ? array_leaf(t) : 0, out = 0;
    if (!result)
        return NULL;
    if (!t->info->jit) {
        memcpy(array_data(result), array_data(t),
               array_count(result) * t->info->entry_size);
    } else if (leaf) {
        if (!shrink || leaf_size(leaf) == wanted.n ||
            (leaf_size(leaf) == 1 && wanted.n))
            out = leaf_ref(leaf);
        else if (!shrink_variable(value, t->info, leaf, wanted.n, &out))
            Py_CLEAR(result);
        if (result)
            array_set_leaf(result, 0, out);
    }
    return (PyObject *) result;
}

static bool wrong_layout(PyObject *value, const TypeInfo *info)
{
    error_raise(PyExc_RuntimeError, operation, &value, 1, "%s cannot have this shape",
                info->name);
    return false;
}

/* Does the shape fit the static extents, the last given extent being that of the lanes?
 */
static bool fits_static(const TypeInfo *info, const Extents *shape)
{
    if (shape->ndim != (size_t) (info->ndim + info->jit))
        return false;
    for (size_t i = 0; i < (size_t) info->ndim; i++)
        if (info->dims[i] != DYNAMIC &&
            (size_t) info->dims[i] != extent_number(extents_get(shape, i)))
            return false;
    return true;
}

static bool total_size(Array *a, Extent *size)
{
    Extents shape;
    return shape_get(a, &shape, operation) && extents_total(&shape, size);
}

/* A nested or flat array of the same type: the shape it has, or a smaller width. */
static PyObject *reshape_same(const Reshape *r, Array *a)
{
    const TypeInfo *info = a->info;
    PyObject *value = (PyObject *) a;
    bool trailing = info->jit || access_is_flat(info);
    if (r->shrink && trailing && r->inferred < 0 &&
        (r->shape.ndim == 1 || fits_static(info, &r->shape))) {
        size_t size = extent_number(extents_get(&r->shape, r->shape.ndim - 1));
        return info->jit ? shrink_jit(a, size) : shrink_scalar(a, size);
    }
    Extent size;
    Extents shape;
    if (r->shape.ndim != (size_t) (info->ndim + info->jit)) {
        wrong_layout(value, info);
        return NULL;
    }
    if (!total_size(a, &size) || !resolve(r, value, size, &shape))
        return NULL;
    if (!fits_static(info, &shape) ||
        (info->dynamic &&
         !extent_equal(extents_get(&shape, 0), extent_of(array_count(a))))) {
        wrong_layout(value, info);
        return NULL;
    }
    return Py_NewRef(value);
}

/* ---------------------------------------------------------------- other types */

/* A tensor of a given class over a flat array. */
static PyObject *make_tensor(const Reshape *r, const TypeInfo *info, Array *flat)
{
    Extents shape;
    if (!resolve(r, (PyObject *) flat, access_extent(flat), &shape))
        return NULL;
    Array *result = extents_new_tensor(info, &shape);
    if (result && info->jit)
        array_set_leaf(result, 0, access_variable(flat));
    else if (result)
        memcpy(array_data(result), array_data(flat),
               array_count(result) * info->entry_size);
    return (PyObject *) result;
}

static PyObject *make_nested(const Reshape *r, PyTypeObject *cls, const TypeInfo *info,
                             Array *flat)
{
    Extents shape;
    size_t leaves = info->leaves;
    bool whole = r->shape.ndim == 1 && !info->dynamic; /* the number of all entries */
    if (!whole && r->shape.ndim != (size_t) (info->ndim + info->jit)) {
        wrong_layout((PyObject *) flat, info);
        return NULL;
    }
    if (!resolve(r, (PyObject *) flat, access_extent(flat), &shape))
        return NULL;
    if (!whole && !fits_static(info, &shape)) {
        wrong_layout((PyObject *) flat, info);
        return NULL;
    }
    if (info->dynamic)
        leaves = extent_number(extents_get(&shape, 0));
    return access_is_flat(info)
               ? Py_NewRef((PyObject *) flat)
               : (PyObject *) reshape_unravel(operation, cls, info, leaves, flat,
                                              r->order);
}

static PyObject *reshape_other(const Reshape *r, PyTypeObject *cls,
                               const TypeInfo *info, Array *a)
{
    Array *flat = reshape_ravel(r->state, operation, a, r->order);
    const TypeInfo *wanted = access_flat(r->state, info, (VarType) info->entry);
    if (flat && flat->info != wanted)
        Py_SETREF(flat, convert_array(wanted, flat, operation));
    if (!flat)
        return NULL;
    PyObject *result = info->kind == KIND_TENSOR ? make_tensor(r, info, flat)
                                                 : make_nested(r, cls, info, flat);
    Py_DECREF(flat);
    return result;
}

/* ---------------------------------------------------------------- PyTrees */

static PyObject *reshape_leaf(void *context, PyObject *const *leaves)
{
    const Reshape *r = context;
    if (!array_check(r->state, leaves[0]))
        return Py_NewRef(leaves[0]);
    Array *a = (Array *) leaves[0];
    return a->info->kind == KIND_TENSOR ? reshape_tensor(r, a) : reshape_same(r, a);
}

static PyObject *reshape_to(Reshape *r, PyObject *dtype, PyObject *value)
{
    if (!PyType_Check(dtype))
        return error_raise(PyExc_TypeError, operation, NULL, 0,
                           "'dtype' is of type %s, expected a type",
                           Py_TYPE(dtype)->tp_name);
    const TypeInfo *info = type_of_class(r->state, (PyTypeObject *) dtype);
    if (!info && dtype == (PyObject *) Py_TYPE(value))
        return tree_map(r->state, operation, &value, 1, reshape_leaf, r);
    if (!info)
        return error_raise(PyExc_TypeError, operation, &value, 1,
                           "the value cannot become a %s",
                           ((PyTypeObject *) dtype)->tp_name);
    Array *a = array_check(r->state, value)
                   ? (Array *) Py_NewRef(value)
                   : convert_to(access_flat(r->state, info, (VarType) info->entry),
                                value, operation);
    if (!a)
        return NULL;
    PyObject *leaf = (PyObject *) a;
    PyObject *result = a->info == info
                           ? reshape_leaf(r, &leaf)
                           : reshape_other(r, (PyTypeObject *) dtype, info, a);
    Py_DECREF(a);
    return result;
}

PyObject *reshape_function(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *names)
{
    static const char *const parameters[] = { "dtype", "value", "shape", "order",
                                              "shrink" };
    static const Signature with_type = { operation, parameters, 5, 3, 0 };
    static const Signature without_type = { operation, parameters + 1, 4, 2, 0 };
    bool typed = nargs > 0 && PyType_Check(args[0]);
    for (Py_ssize_t i = 0; names && nargs == 0 && i < PyTuple_GET_SIZE(names); i++)
        typed |=
            PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "dtype") == 0;
    PyObject *v[5] = { NULL };
    Reshape r = { .state = state_of_module(module) };
    if (!arguments_parse(typed ? &with_type : &without_type, args, nargs, names,
                         typed ? v : v + 1) ||
        !read_shape(&r, v[2]) || !reshape_order(operation, v[3], &r.order) ||
        !arguments_bool(operation, "shrink", v[4], false, &r.shrink))
        return NULL;
    if (v[0])
        return reshape_to(&r, v[0], v[1]);
    return tree_map(r.state, operation, &v[1], 1, reshape_leaf, &r);
}
