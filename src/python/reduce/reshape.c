/*
 * reshape.c -- ravel, unravel, and what drjit._shape makes reshape, tile, repeat of
 *
 * Two orders of a nested array with L leaves of width W (lanes) in a flat one:
 *
 *     'C'   leaf i (row-major), lane k  ->  i * W + k
 *     'F'   leaf i, lane k              ->  k * L + f(i), where f(i) counts leaves with
 * the first axis fastest: for Array3f the components of a vector follow each other
 *
 * In arrays that get another number of lanes, components of one entry stay so.
 */
#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/convert/convert.h"
#include "python/convert/promote.h"
#include "python/docstrings.h"
#include "python/memory/access.h"
#include "python/memory/gather.h"
#include "python/shape/shape.h"

/* 'A', 'C' or 'F' ('A' if object is NULL). False: exception. */
static bool read_order(const char *operation, PyObject *object, char *order)
{
    *order = 'A';
    if (!object)
        return true;
    if (PyUnicode_Check(object))
        for (const char *c = "ACF"; *c; c++)
            if (PyUnicode_GET_LENGTH(object) == 1 &&
                PyUnicode_READ_CHAR(object, 0) == (Py_UCS4) *c) {
                *order = *c;
                return true;
            }
    return error_raise(PyUnicode_Check(object) ? PyExc_RuntimeError : PyExc_TypeError,
                       operation, NULL, 0, "'order' is %R, expected 'A', 'C' or 'F'",
                       object);
}

/* f(i) of the header. */
static size_t fortran_place(const TypeInfo *info, size_t leaves, size_t i)
{
    size_t place = 0, stride = leaves;
    for (int d = info->ndim - 1; d >= 0; d--) {
        size_t extent = info->dims[d] == DYNAMIC ? leaves : (size_t) info->dims[d];
        stride /= extent;
        place += i % extent * stride;
        i /= extent;
    }
    return place;
}

static bool check_total(const char *operation, size_t leaves, size_t width)
{
    size_t total;
    if (__builtin_mul_overflow(leaves, width, &total) || total > UINT32_MAX)
        return error_raise(
            PyExc_RuntimeError, operation, NULL, 0,
            "the result has %zu times %zu entries, expected at most 2^32 - 1", leaves,
            width);
    return true;
}

/* ---------------------------------------------------------------- ravel */

/* n UInt32 numbers, the first of which is n * i. */
static VarIndex counter_from(JitBackend backend, Extent n, size_t i)
{
    VarIndex counter = var_counter(backend, extent_next(n));
    VarIndex start = extent_times(backend, n, i);
    VarIndex result = counter && start ? var_add(counter, start) : 0;
    var_unref(counter);
    var_unref(start);
    return result;
}

/* '*target' is replaced; its old reference released. */
static bool write_leaf(VarIndex *target, VarIndex value, VarIndex position)
{
    VarIndex written = position ? var_scatter_whole(*target, value, position,
                                                    ReduceOpIdentity, ReduceModeParts)
                                : 0;
    if (written) {
        var_unref(*target);
        *target = written;
    }
    return written;
}

static bool ravel_c(JitBackend backend, VarIndex *target, const VarIndex *leaves,
                    size_t n, Extent width)
{
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        VarIndex position = counter_from(backend, width, i);
        ok = write_leaf(target, leaves[i], position);
        var_unref(position);
    }
    return ok;
}

static bool ravel_f(JitBackend backend, VarIndex *target, const VarIndex *leaves,
                    size_t n, Extent width)
{
    size_t p = gather_packet_size(n, n);
    VarIndex lanes = var_counter(backend, extent_next(width));
    bool ok = lanes;
    for (size_t j = 0; j < n / p && ok; j++) {
        VarIndex position = gather_scaled_index(lanes, n / p, j), written = 0;
        if (position && p > 1)
            written = var_scatter_packet(p, *target, leaves + j * p, position, 0,
                                         ReduceOpIdentity, ReduceModeParts);
        if (written) {
            var_unref(*target);
            *target = written;
        }
        ok = p > 1 ? written != 0 : write_leaf(target, leaves[j], position);
        var_unref(position);
    }
    var_unref(lanes);
    return ok;
}

/* The leaves of the array in the order of the result, one reference each. */
static VarIndex *ordered_leaves(const Array *a, char order)
{
    size_t n = array_count(a);
    VarIndex *leaves = PyMem_New(VarIndex, n ? n : 1);
    if (!leaves) {
        PyErr_NoMemory();
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        VarIndex var = array_leaves(a)[i];
        if (var)
            var_ref(var);
        leaves[order == 'C' ? i : fortran_place(a->info, n, i)] = var;
    }
    return leaves;
}

static Array *ravel_jit(const TypeInfo *flat, Array *a, char order)
{
    size_t size, n = array_count(a);
    if (!shape_peek(a, &size, "ravel") || !check_total("ravel", n, size))
        return NULL;
    if (n * size == 0) {
        Array *none = array_set_none(array_new_leaf(flat, 0), (int) n, array_leaves(a));
        return none ? none : (Array *) error_from_core("ravel", (PyObject **) &a, 1);
    }
    const Extent width = extent_of_leaf(shape_widest(a, size), size);
    VarIndex *leaves = ordered_leaves(a, order);
    if (!leaves)
        return NULL;
    JitBackend backend = (JitBackend) flat->backend;
    VarIndex target =
        var_undefined(flat, extent_next(extent_mul(width, extent_of(n))));
    bool ok = target &&
              (order == 'C' ? ravel_c : ravel_f)(backend, &target, leaves, n, width);
    for (size_t i = 0; i < n; i++)
        var_unref(leaves[i]);
    PyMem_Free(leaves);
    if (ok)
        return array_new_leaf(flat, target);
    var_unref(target);
    error_from_core("ravel", (PyObject **) &a, 1);
    return NULL;
}

static Array *ravel_scalar(const TypeInfo *flat, Array *a, char order)
{
    size_t n = array_count(a), size = flat->entry_size;
    Array *result = array_new_dynamic(flat, n);
    for (size_t i = 0; result && i < n; i++)
        memcpy((char *) array_data(result) +
                   (order == 'C' ? i : fortran_place(a->info, n, i)) * size,
               (char *) array_data(a) + i * size, size);
    return result;
}

static Array *ravel_array(State *state, Array *a, char order)
{
    const TypeInfo *info = a->info;
    if (info->kind == KIND_TENSOR) {
        if (order != 'F')
            return array_view(a, &state->types[info->array], 0);
        error_raise(PyExc_RuntimeError, "ravel", (PyObject **) &a, 1,
                    "'order' is 'F', tensors have 'C' only");
        return NULL;
    }
    if (access_is_flat(info))
        return (Array *) Py_NewRef((PyObject *) a);
    reads_note_whole(a);
    if (!evaluate_writes("ravel", (PyObject **) &a, 1))
        return NULL;
    const TypeInfo *flat = access_flat(state, info, (VarType) info->entry);
    char resolved = order == 'A' ? 'F' : order;
    return info->jit ? ravel_jit(flat, a, resolved)
                     : ravel_scalar(flat, a, resolved);
}

static PyObject *ravel(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                       PyObject *names)
{
    static const char *const parameters[] = { "array", "order" };
    static const Signature signature = { "ravel", parameters, 2, 1, 0 };
    State *state = state_of_module(module);
    PyObject *v[2];
    char order;
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !read_order("ravel", v[1], &order))
        return NULL;
    if (array_check(state, v[0]))
        return (PyObject *) ravel_array(state, (Array *) v[0], order);
    if (promote_number(v[0]) >= 0)
        return Py_NewRef(v[0]);
    return error_raise(PyExc_TypeError, "ravel", &v[0], 1,
                       "expected an array or a tensor");
}

/* ---------------------------------------------------------------- unravel */

static bool unravel_jit(const char *operation, Array *result, const Array *flat,
                        size_t n, Extent width, char order)
{
    JitBackend backend = (JitBackend) flat->info->backend;
    VarIndex source = access_variable(flat);
    VarIndex *out = PyMem_Calloc(n, sizeof(*out));
    bool ok = out;
    if (!out) {
        PyErr_NoMemory();
    } else if (order == 'F') {
        VarIndex lanes = var_counter(backend, extent_next(width));
        ok = lanes && gather_whole(source, lanes, n, ReduceModePermute, out);
        var_unref(lanes);
    } else {
        for (size_t i = 0; i < n && ok; i++) {
            VarIndex position = counter_from(backend, width, i);
            ok = position &&
                 gather_whole(source, position, 1, ReduceModePermute, out + i);
            var_unref(position);
        }
    }
    if (out && !ok)
        error_from_core(operation, NULL, 0);
    for (size_t i = 0; ok && i < n; i++) {
        size_t from = order == 'C' ? i : fortran_place(result->info, n, i);
        array_set_leaf(result, i, out[from]);
        out[from] = 0;
    }
    for (size_t i = 0; out && i < n && order == 'C'; i++) /* of a failure */
        var_unref(out[i]);
    PyMem_Free(out);
    var_unref(source);
    return ok;
}

static void unravel_scalar(Array *result, const Array *flat, char order)
{
    size_t n = array_count(result), size = flat->info->entry_size;
    for (size_t i = 0; i < n; i++)
        memcpy((char *) array_data(result) + i * size,
               (char *) array_data(flat) +
                   (order == 'C' ? i : fortran_place(result->info, n, i)) * size,
               size);
}

/* A nested array with that many leaves from a flat one with the same entries. */
static Array *unravel_array(const char *operation, PyTypeObject *cls,
                            const TypeInfo *info, size_t leaves, Array *flat,
                            char order)
{
    const Extent size = access_extent(flat), parts = extent_of(leaves);
    if (leaves ? !extent_divides(parts, size) || (!info->jit && size.n != leaves)
               : size.n != 0) {
        error_raise(PyExc_RuntimeError, operation, NULL, 0,
                    "%zu entries cannot be divided among the %zu components of %s",
                    size.n, leaves, info->name);
        return NULL;
    }
    Array *like = info->dynamic ? array_new_dynamic(info, leaves) : NULL;
    if (info->dynamic && !like)
        return NULL;
    Array *result = access_make(cls, info, like);
    Py_XDECREF(like);
    if (!result)
        return NULL;
    if (size.n == 0) {
        result = info->jit ? array_set_none(result, 1, array_leaves(flat)) : result;
        return result ? result : (Array *) error_from_core(operation, NULL, 0);
    }
    char resolved = order == 'A' ? 'F' : order;
    if (!info->jit)
        unravel_scalar(result, flat, resolved);
    else if (!unravel_jit(operation, result, flat, leaves, extent_div(size, parts),
                          resolved))
        Py_CLEAR(result);
    return result;
}

static PyObject *unravel(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *names)
{
    static const char *const parameters[] = { "dtype", "array", "order" };
    static const Signature signature = { "unravel", parameters, 3, 2, 0 };
    State *state = state_of_module(module);
    PyObject *v[3];
    char order;
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !read_order("unravel", v[2], &order))
        return NULL;
    const TypeInfo *info =
        PyType_Check(v[0]) ? type_of_class(state, (PyTypeObject *) v[0]) : NULL;
    if (!info || !array_check(state, v[1]))
        return error_raise(PyExc_TypeError, "unravel", &v[1], 1,
                           "expected an array type and a flat array");
    if (info->kind == KIND_TENSOR || (info->dynamic && !access_is_flat(info)))
        return error_raise(
            PyExc_TypeError, "unravel", &v[1], 1,
            "only the last dimension of 'dtype' may be dynamic, found %s", info->name);
    const TypeInfo *wanted = access_flat(state, info, (VarType) info->entry);
    if (!access_is_flat(((Array *) v[1])->info))
        return error_raise(PyExc_TypeError, "unravel", &v[1], 1,
                           "expected a flat array of type %s", wanted->name);
    Array *flat = convert_to(wanted, v[1], "unravel"), *result = NULL;
    if (flat && info == wanted)
        result = (Array *) Py_NewRef((PyObject *) flat);
    else if (flat)
        result = unravel_array("unravel", (PyTypeObject *) v[0], info, info->leaves,
                                 flat, order);
    Py_XDECREF(flat);
    return (PyObject *) result;
}

/* For a nested type of any number of components: drjit._shape.reshape knows it. */
static PyObject *unravel_parts(PyObject *module, PyObject *args)
{
    PyObject *cls, *flat, *text;
    Py_ssize_t parts;
    char order;
    if (!PyArg_ParseTuple(args, "O!OOn:_unravel", &PyType_Type, &cls, &flat, &text,
                          &parts) ||
        !read_order("reshape", text, &order))
        return NULL;
    const TypeInfo *info = type_of_class(state_of_module(module), (PyTypeObject *) cls);
    return (PyObject *) unravel_array("reshape", (PyTypeObject *) cls, info,
                                        parts < 0 ? info->leaves : (size_t) parts,
                                        (Array *) flat, order);
}

/* ---------------------------------------------------------------- other sizes */

/* How many entries the leaves of an array get. */
typedef struct Resize {
    const char *operation;
    VarIndex (*function)(VarIndex leaf, size_t count);
    Extent count;
} Resize;

/* For reshape(), which names itself. */
static PyObject *shape_of(PyObject *module, PyObject *array)
{
    (void) module;
    return shape_of_array((Array *) array, "reshape");
}

/* Some of these gather, so they may have to compute the input. */
static VarIndex run_resize(VarIndex var, void *argument)
{
    const Resize *r = argument;
    return r->function(var, extent_next(r->count));
}

static bool resize_leaf(const Resize *r, Array *a, size_t i, size_t width,
                        Array *result)
{
    VarIndex var = array_leaves(a)[i], out = 0;
    const size_t size = var ? var_peek_size(var) : 0;
    if (size == 0 || r->count.n == 0) {
        const bool ok = var_none(a->info, 1, &var, &out);
        array_set_leaf(result, i, out);
        return ok || error_from_core(r->operation, (PyObject **) &a, 1);
    }
    if (size == 1 && (width != 1 || r->function == var_shrink)) {
        array_set_leaf(result, i, var_ref(var)); /* equal entries, any number */
        return true;
    }
    if (r->function != var_shrink && !check_total(r->operation, r->count.n, size))
        return false;
    out = evaluate_call(run_resize, var, (void *) r);
    if (out)
        array_set_leaf(result, i, out);
    else
        error_from_core(r->operation, (PyObject **) &a, 1);
    return out;
}

/* (array, count) */
static PyObject *resize(PyObject *args, Resize *r)
{
    PyObject *array, *count;
    size_t width;
    if (!PyArg_ParseTuple(args, "OO", &array, &count) ||
        !extent_argument(r->operation, "count", count, &r->count))
        return NULL;
    Array *a = (Array *) array;
    reads_note_whole(a);
    if (!shape_peek(a, &width, r->operation))
        return NULL;
    const bool same = r->function == var_shrink;
    Array *result = access_make(same ? Py_TYPE(array) : a->info->py, a->info, a);
    /* While the GIL is released, another thread may give 'a' more leaves. */
    for (size_t i = 0; result && i < array_count(result); i++)
        if (!resize_leaf(r, a, i, width, result))
            Py_CLEAR(result);
    return (PyObject *) result;
}

static PyObject *tile(PyObject *module, PyObject *args)
{
    (void) module;
    return resize(args, &(Resize) { .operation = "tile", .function = var_tile });
}

static PyObject *repeat(PyObject *module, PyObject *args)
{
    (void) module;
    return resize(args, &(Resize) { .operation = "repeat", .function = var_repeat });
}

static PyObject *shrink(PyObject *module, PyObject *args)
{
    (void) module;
    return resize(args, &(Resize) { .operation = "reshape", .function = var_shrink });
}

#define FAST METH_FASTCALL | METH_KEYWORDS

PyMethodDef reshape_functions[] = {
    { "ravel", METHOD(ravel), FAST, DOC_ravel },
    { "unravel", METHOD(unravel), FAST, DOC_unravel },
    { "_unravel", unravel_parts, METH_VARARGS,
      "_unravel(dtype, array, order, parts)\n\nThe same; of a dynamic type with that "
      "many components." },
    { "_shape_of", shape_of, METH_O, "_shape_of(array)" },
    { "_shrink", shrink, METH_VARARGS,
      "_shrink(array, count)\n\nThe first entries of each component." },
    { "_tile", tile, METH_VARARGS,
      "_tile(array, count)\n\nEach component as a whole, several times." },
    { "_repeat", repeat, METH_VARARGS,
      "_repeat(array, count)\n\nEach entry several times." },
    { NULL, NULL, 0, NULL },
};
