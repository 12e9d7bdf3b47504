/*
 * reshape.c -- ravel, unravel, tile, repeat
 *
 * Two orders of a nested array with L leaves of width W (lanes) in a flat one:
 *
 *     'C'   leaf i (row-major), lane k  ->  i * W + k
 *     'F'   leaf i, lane k              ->  k * L + f(i), where f(i) counts leaves with
 * the first axis fastest: for Array3f the components of a vector follow each other
 *
 * reshape_any.c does reshape(). Both are made of the functions declared in reshape.h.
 */
#include "python/object/shape.h"
#include "python/object/reads.h"
#include "python/reduce/reshape.h"

#include "python/convert/convert.h"
#include "python/convert/promote.h"
#include "python/memory/access.h"
#include "python/memory/gather.h"
#include "python/object/arguments.h"
#include "python/object/error.h"
#include "python/object/evaluate.h"
#include "python/object/tables.h"
#include "python/tree/tree.h"

bool reshape_order(const char *operation, PyObject *object, char *order)
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
    error_raise(PyUnicode_Check(object) ? PyExc_RuntimeError : PyExc_TypeError,
                operation, NULL, 0, "'order' is %R, expected 'A', 'C' or 'F'", object);
    return false;
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
    if (__builtin_mul_overflow(leaves, width, &total) || total > UINT32_MAX) {
        error_raise(PyExc_RuntimeError, operation, NULL, 0,
                    "the result has %zu times %zu entries, expected at most 2^32 - 1",
                    leaves, width);
        return false;
    }
    return true;
}

/* ---------------------------------------------------------------- ravel */

/* n UInt32 numbers, the first of which is n * i. */
static Leaf counter_from(JitBackend backend, Extent n, size_t i)
{
    Leaf counter = leaf_counter(backend, extent_next(n));
    Leaf start = extent_times(backend, n, i);
    Leaf result = counter && start ? leaf_add(counter, start) : 0;
    leaf_unref(counter);
    leaf_unref(start);
    return result;
}

/* '*target' is replaced; its old reference released. */
static bool write_leaf(Leaf *target, Leaf value, Leaf position)
{
    Leaf written = position
                       ? leaf_scatter_whole(*target, value, position, ReduceOpIdentity,
                                            ReduceModeParts)
                       : 0;
    if (written) {
        leaf_unref(*target);
        *target = written;
    }
    return written;
}

static bool ravel_c(JitBackend backend, Leaf *target, const Leaf *leaves, size_t n,
                    Extent width)
{
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        Leaf position = counter_from(backend, width, i);
        ok = write_leaf(target, leaves[i], position);
        leaf_unref(position);
    }
    return ok;
}

static bool ravel_f(JitBackend backend, Leaf *target, const Leaf *leaves, size_t n,
                    Extent width)
{
    size_t p = gather_packet_size(n, n);
    Leaf lanes = leaf_counter(backend, extent_next(width));
    bool ok = lanes;
    for (size_t j = 0; j < n / p && ok; j++) {
        Leaf position = gather_scaled_index(lanes, n / p, j), written = 0;
        if (position && p > 1)
            written = leaf_scatter_packet(p, *target, leaves + j * p, position, 0,
                                          ReduceOpIdentity, ReduceModeParts);
        if (written) {
            leaf_unref(*target);
            *target = written;
        }
        ok = p > 1 ? written != 0 : write_leaf(target, leaves[j], position);
        leaf_unref(position);
    }
    leaf_unref(lanes);
    return ok;
}

/* The leaves of the array in the order of the result, one reference each. */
static Leaf *ordered_leaves(const Array *a, char order)
{
    size_t n = array_count(a);
    Leaf *leaves = PyMem_New(Leaf, n ? n : 1);
    if (!leaves) {
        PyErr_NoMemory();
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        Leaf leaf = array_leaves(a)[i];
        if (leaf)
            leaf_ref(leaf);
        leaves[order == 'C' ? i : fortran_place(a->info, n, i)] = leaf;
    }
    return leaves;
}

static Array *ravel_jit(const char *operation, const TypeInfo *flat, Array *a,
                        char order)
{
    size_t size, n = array_count(a);
    if (!shape_peek(a, &size, operation) || !check_total(operation, n, size))
        return NULL;
    if (n * size == 0) {
        Array *none = array_set_none(array_new_leaf(flat, 0), (int) n, array_leaves(a));
        return none ? none : (Array *) error_from_core(operation, (PyObject **) &a, 1);
    }
    const Extent width = extent_of_leaf(shape_widest(a, size), size);
    Leaf *leaves = ordered_leaves(a, order);
    if (!leaves)
        return NULL;
    JitBackend backend = (JitBackend) flat->backend;
    Leaf target =
        leaf_undefined(flat, extent_next(extent_mul(width, extent_of(n))));
    bool ok = target &&
              (order == 'C' ? ravel_c : ravel_f)(backend, &target, leaves, n, width);
    for (size_t i = 0; i < n; i++)
        leaf_unref(leaves[i]);
    PyMem_Free(leaves);
    if (ok)
        return array_new_leaf(flat, target);
    leaf_unref(target);
    error_from_core(operation, (PyObject **) &a, 1);
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

Array *reshape_ravel(State *state, const char *operation, Array *a, char order)
{
    const TypeInfo *info = a->info;
    if (info->kind == KIND_TENSOR) {
        if (order != 'F')
            return array_view(a, &state->types[info->array], 0);
        error_raise(PyExc_RuntimeError, operation, (PyObject **) &a, 1,
                    "'order' is 'F', tensors have 'C' only");
        return NULL;
    }
    if (access_is_flat(info))
        return (Array *) Py_NewRef((PyObject *) a);
    reads_note_whole(a);
    if (!evaluate_writes(operation, (PyObject **) &a, 1))
        return NULL;
    const TypeInfo *flat = access_flat(state, info, (VarType) info->entry);
    char resolved = order == 'A' ? 'F' : order;
    return info->jit ? ravel_jit(operation, flat, a, resolved)
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
        !reshape_order("ravel", v[1], &order))
        return NULL;
    if (array_check(state, v[0]))
        return (PyObject *) reshape_ravel(state, "ravel", (Array *) v[0], order);
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
    Leaf source = access_variable(flat);
    Leaf *out = PyMem_Calloc(n, sizeof(*out));
    bool ok = out;
    if (!out) {
        PyErr_NoMemory();
    } else if (order == 'F') {
        Leaf lanes = leaf_counter(backend, extent_next(width));
        ok = lanes && gather_whole(source, lanes, n, ReduceModePermute, out);
        leaf_unref(lanes);
    } else {
        for (size_t i = 0; i < n && ok; i++) {
            Leaf position = counter_from(backend, width, i);
            ok = position &&
                 gather_whole(source, position, 1, ReduceModePermute, out + i);
            leaf_unref(position);
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
        leaf_unref(out[i]);
    PyMem_Free(out);
    leaf_unref(source);
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

Array *reshape_unravel(const char *operation, PyTypeObject *cls, const TypeInfo *info,
                       size_t leaves, Array *flat, char order)
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
        !reshape_order("unravel", v[2], &order))
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
        result = reshape_unravel("unravel", (PyTypeObject *) v[0], info, info->leaves,
                                 flat, order);
    Py_XDECREF(flat);
    return (PyObject *) result;
}

/* ---------------------------------------------------------------- tile, repeat */

typedef struct Replicate {
    State *state;
    const char *operation;
    PyObject *counts, *axis; /* borrowed; no axis: NULL */
    bool one;                /* 'counts' is one number: */
    Extent count;
    bool each; /* every entry, not the whole */
} Replicate;

/* leaf_tile() and leaf_repeat() gather, so they may have to compute the input. */
static Leaf run_replicate(Leaf leaf, void *argument)
{
    const Replicate *r = argument;
    const size_t count = extent_next(r->count);
    return r->each ? leaf_repeat(leaf, count) : leaf_tile(leaf, count);
}

static bool replicate_leaf(const Replicate *r, Array *a, size_t i, size_t width,
                           Array *result)
{
    Leaf leaf = array_leaves(a)[i], out = 0;
    if (leaf_is_empty(leaf) || r->count.n == 0) {
        const bool ok = leaf_none(a->info, 1, &leaf, &out);
        array_set_leaf(result, i, out);
        return ok || error_from_core(r->operation, (PyObject **) &a, 1);
    }
    if (leaf_peek_size(leaf) == 1 && width != 1) {
        array_set_leaf(result, i, leaf_ref(leaf)); /* equal entries, any number */
        return true;
    }
    if (!check_total(r->operation, r->count.n, leaf_peek_size(leaf)))
        return false;
    out = evaluate_call(run_replicate, leaf, (void *) r);
    if (out)
        array_set_leaf(result, i, out);
    else
        error_from_core(r->operation, (PyObject **) &a, 1);
    return out;
}

static PyObject *replicate_jit(const Replicate *r, Array *a)
{
    size_t width;
    reads_note_whole(a);
    if (!shape_peek(a, &width, r->operation))
        return NULL;
    Array *result = array_new_like(a->info, a);
    for (size_t i = 0; result && i < array_count(result); i++)
        if (!replicate_leaf(r, a, i, width, result))
            Py_CLEAR(result);
    return (PyObject *) result;
}

static PyObject *replicate_scalar(const Replicate *r, Array *a)
{
    size_t n = array_count(a), size = a->info->entry_size, count = r->count.n;
    size_t total = n * count;
    if (!check_total(r->operation, n, count))
        return NULL;
    Array *result = array_new_dynamic(a->info, total);
    for (size_t i = 0; result && i < total; i++)
        memcpy((char *) array_data(result) + i * size,
               (char *) array_data(a) + (r->each ? i / count : i % n) * size, size);
    return (PyObject *) result;
}

/* Tensors, sequences of numbers, and axes: see drjit._shape.replicate. */
static PyObject *replicate_axes(const Replicate *r, PyObject *leaf)
{
    PyObject *module = PyImport_ImportModule("drjit._shape.replicate");
    PyObject *result =
        !module   ? NULL
        : r->each ? PyObject_CallMethod(module, "repeat_leaf", "OOO", leaf, r->counts,
                                        r->axis ? r->axis : Py_None)
                  : PyObject_CallMethod(module, "tile_leaf", "OO", leaf, r->counts);
    Py_XDECREF(module);
    return result;
}

static PyObject *replicate(void *context, PyObject *const *leaves)
{
    const Replicate *r = context;
    Array *a = (Array *) leaves[0];
    if (!array_check(r->state, leaves[0]))
        return Py_NewRef(leaves[0]);
    if (a->info->kind == KIND_TENSOR || !r->one || r->axis)
        return replicate_axes(r, leaves[0]);
    if (r->count.n == 1)
        return Py_NewRef(leaves[0]);
    if (!a->info->jit && !access_is_flat(a->info))
        return Py_NewRef(leaves[0]);
    return a->info->jit ? replicate_jit(r, a) : replicate_scalar(r, a);
}

static bool has_name(PyObject *names, const char *name)
{
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name) == 0)
            return true;
    return false;
}

static PyObject *replicate_tree(PyObject *module, PyObject *const *args,
                                Py_ssize_t nargs, PyObject *names,
                                const char *operation, bool each)
{
    const char *const other = each ? "repeats" : "reps"; /* as NumPy has it */
    const char *const parameters[] = { "value",
                                       has_name(names, other) ? other : "count",
                                       "axis" };
    const Signature signature = { operation, parameters, each ? 3 : 2, 2, 0 };
    PyObject *v[3] = { NULL };
    Replicate r = { .state = state_of_module(module),
                    .operation = operation,
                    .each = each };
    if (!arguments_parse(&signature, args, nargs, names, v))
        return NULL;
    r.counts = v[1];
    r.axis = v[2] == Py_None ? NULL : v[2];
    r.one = PyUnicode_Check(v[1]) || !PySequence_Check(v[1]);
    if (r.one && !extent_argument(operation, "count", v[1], &r.count))
        return NULL;
    if (r.one && r.count.n == 1 && !each)
        return Py_NewRef(v[0]);
    return tree_map(r.state, operation, &v[0], 1, replicate, &r);
}

static PyObject *tile(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *names)
{
    return replicate_tree(module, args, nargs, names, "tile", false);
}

static PyObject *repeat(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *names)
{
    return replicate_tree(module, args, nargs, names, "repeat", true);
}

#define FAST METH_FASTCALL | METH_KEYWORDS

PyMethodDef reshape_functions[] = {
    { "ravel", METHOD(ravel), FAST,
      "ravel(array, order='A')\n--\n\n"
      "The entries of an array or tensor as a flat array. 'F' (the default for "
      "arrays):\n"
      "components of an element follow each other; 'C' (the default for tensors): all\n"
      "first components, then all second ones. A flat array is returned itself, a "
      "tensor's\n"
      "storage as a view." },
    { "unravel", METHOD(unravel), FAST,
      "unravel(dtype, array, order='A')\n--\n\n"
      "The inverse of ravel(): an instance of 'dtype' from a flat array." },
    { "reshape", METHOD(reshape_function), FAST,
      "reshape(dtype, value, shape, order='A', shrink=False)\n--\n\n"
      "Rearrange the entries of arrays, tensors and PyTrees into another shape, one "
      "extent\n"
      "of which may be -1, and type. With shrink=True, only the first entries are "
      "kept." },
    { "tile", METHOD(tile), FAST,
      "tile(value, count)\n--\n\n"
      "The whole 'count' times along the trailing dynamic axis: a b a b a b. Goes "
      "through\n"
      "PyTrees. A sequence has a count for each of the last axes, of tensors and of "
      "flat\n"
      "arrays, which become tensors; there may be more counts than axes." },
    { "repeat", METHOD(repeat), FAST,
      "repeat(value, count, axis=None)\n--\n\n"
      "Each entry 'count' times along the trailing dynamic axis: a a a b b b. Goes "
      "through\n"
      "PyTrees. Tensors: along an axis, or flattened. A sequence or array of integers "
      "has a\n"
      "count for each entry along the axis; it is evaluated." },
    { NULL, NULL, 0, NULL },
};
