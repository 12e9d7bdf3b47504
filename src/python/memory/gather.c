/*
 * gather.c -- gather, and the table of the memory operations
 *
 *     source flat,   dtype the same class         one gather
 *     source nested, dtype the same class         one gather for each leaf
 *     source flat,   dtype nested, n components   packets from index * n + k
 *     source a PyTree, dtype its class            the same for each of its leaves
 *
 * n components are read in packets of p entries, a power of two or three times one that
 * divides n and the size of the source: packet j of a lane starts at
 * (index * (n / p) + j) * p.
 */
#include "python/memory/gather.h"

#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/base/tables.h"
#include "python/convert/convert.h"
#include "python/docstrings.h"
#include "python/tree/tree.h"
#include "python/type/enums.h"

enum { PACKET_MAX = 64 };

/* ---------------------------------------------------------------- variables */

size_t gather_packet_size(size_t n, size_t size)
{
    size_t p = 1;
    while (2 * p <= PACKET_MAX && n % (2 * p) == 0 && size % (2 * p) == 0)
        p *= 2;
    return 3 * p <= PACKET_MAX && n % (3 * p) == 0 && size % (3 * p) == 0 ? 3 * p : p;
}

size_t gather_packet_of(size_t n, VarIndex array)
{
    const Extent size = extent_of_leaf(array, var_peek_size(array));
    const size_t p = gather_packet_size(n, size.n);
    extent_divides(extent_of(p), size); /* as long as it can be divided by that */
    return p;
}

VarIndex gather_scaled_index(VarIndex index, size_t scale, size_t shift)
{
    if (scale == 1)
        return var_ref(index);
    VarInfo info;
    if (!var_info(index, &info))
        return 0;
    VarIndex a = var_u32(info.backend, (uint32_t) scale);
    VarIndex b = var_u32(info.backend, (uint32_t) shift);
    VarIndex result = a && b ? var_fma(index, a, b) : 0;
    var_unref(a);
    var_unref(b);
    return result;
}

static bool gather_packets(VarIndex source, VarIndex index, VarIndex mask, size_t n,
                           ReduceMode mode, VarIndex *out)
{
    size_t p = n == 1 ? 1 : gather_packet_of(n, source), done = 0;
    bool ok = true;
    for (size_t j = 0; j < n / p && ok; j++) {
        VarIndex position = gather_scaled_index(index, n / p, j);
        if (p == 1)
            ok = position &&
                 (out[done] = var_gather(source, position, mask, mode)) != 0;
        else
            ok = position &&
                 var_gather_packet(p, source, position, mask, mode, out + done);
        var_unref(position);
        done += ok ? p : 0;
    }
    while (!ok && done)
        var_unref(out[--done]);
    return ok;
}

bool gather_variables(VarIndex source, VarIndex index, VarIndex mask, size_t n,
                      ReduceMode mode, VarIndex *out)
{
    if (!access_waits(source))
        return gather_packets(source, index, mask, n, mode, out);
    bool ok; /* the caller owns references to all three */
    var_ref(source);
    GIL_RELEASE_BEGIN ok = gather_packets(source, index, mask, n, mode, out);
    var_unref(source);
    GIL_RELEASE_END return ok;
}

bool gather_whole(VarIndex source, VarIndex index, size_t n, ReduceMode mode,
                  VarIndex *out)
{
    const Whole whole = var_whole_begin(source);
    const bool ok = whole.ok && gather_variables(source, index, 0, n, mode, out);
    var_whole_end(whole);
    return ok;
}

static VarIndex start_evaluation(VarIndex index, void *ok)
{
    jit_error_clear();
    *(bool *) ok = var_eval(index) || jit_error() == JIT_OK;
    return 0;
}

bool gather_prepare_target(const char *operation, VarIndex index)
{
    bool ok = true;
    if (var_state(index) == VarStateUnevaluated)
        evaluate_call(start_evaluation, index, &ok);
    if (!ok)
        error_from_core(operation, NULL, 0);
    return ok;
}

/* ---------------------------------------------------------------- arrays */

static size_t masked_lanes(const Access *a, const Array *index, const Array *mask,
                           bool *ok)
{
    const size_t sizes[] = { access_size(index), mask ? access_size(mask) : 1 };
    const VarIndex vars[] = { access_peek(index), access_peek(mask) };
    size_t lanes = 0;
    *ok = access_lanes(a->operation, sizes, vars, 2, &lanes);
    return lanes;
}

/* No lanes give leaves without entries, of the type of the source. */
static bool gather_nothing(const Access *a, const TypeInfo *info, VarIndex source,
                           size_t n, VarIndex *out)
{
    bool ok = true;
    for (size_t k = 0; ok && k < n; k++)
        ok = var_none(info, 1, &source, &out[k]);
    if (!ok)
        error_from_core(a->operation, NULL, 0);
    return ok;
}

/* No lane is active: zeros, from a source that has no entry. */
static bool gather_zeros(const Access *a, const TypeInfo *info, VarIndex source,
                         size_t lanes, size_t n, VarIndex *out)
{
    const uint64_t zero = 0;
    bool ok = true;
    for (size_t k = 0; ok && k < n; k++) {
        out[k] = var_of_none(var_literal(info, &zero, lanes), 1, &source);
        ok = out[k] != 0;
    }
    if (!ok)
        error_from_core(a->operation, NULL, 0);
    return ok;
}

/* Gather n variables from a leaf of an array of type 'info' into out[n]. */
static bool gather_leaf(const Access *a, const TypeInfo *info, VarIndex source,
                        const Array *index, const Array *mask, size_t n, VarIndex *out)
{
    bool ok;
    memset(out, 0, n * sizeof(*out));
    size_t lanes = masked_lanes(a, index, mask, &ok);
    if (!ok || lanes == 0)
        return ok && gather_nothing(a, info, source, n, out);
    if (var_is_empty(source) && access_is_inactive(mask))
        return gather_zeros(a, info, source, lanes, n, out);
    if (var_is_empty(source))
        return error_raise(PyExc_RuntimeError, a->operation, NULL, 0,
                           "'source' is empty, expected at least one entry");
    VarIndex position = access_variable(index), active = access_variable(mask);
    ok = gather_variables(source, position, active, n, a->mode, out);
    var_unref(position);
    var_unref(active);
    if (!ok)
        error_from_core(a->operation, NULL, 0);
    return ok;
}

/* Every variable of a jit array into the same place of the result. */
static Array *gather_leaves(Access *a, PyTypeObject *cls, Array *source, Array *index,
                            Array *mask)
{
    Array *result = access_make(cls, source->info, source);
    for (size_t i = 0; result && i < array_count(result); i++) {
        VarIndex var = i < array_count(source) ? array_leaves(source)[i] : 0;
        VarIndex out;
        var_ref(var);
        bool ok = gather_leaf(a, source->info, var, index, mask, 1, &out);
        var_unref(var);
        if (ok)
            array_set_leaf(result, i, out);
        else
            Py_CLEAR(result);
    }
    return result;
}

static Array *gather_scalar(Access *a, PyTypeObject *cls, Array *source, Array *index,
                            Array *mask)
{
    bool ok;
    size_t lanes = masked_lanes(a, index, mask, &ok);
    Array *flat = ok ? array_new_dynamic(source->info, lanes) : NULL;
    if (flat &&
        !access_load(a->operation, source, index, mask, lanes, 1, array_data(flat)))
        Py_CLEAR(flat);
    if (!flat || cls == source->info->py)
        return flat;
    Array *result = access_make(cls, source->info, flat);
    if (result)
        memcpy(array_data(result), array_data(flat), lanes * source->info->entry_size);
    Py_DECREF(flat);
    return result;
}

static PyObject *unsupported(const Access *a, PyObject *dtype, PyObject *source)
{
    return error_raise(PyExc_TypeError, a->operation, NULL, 0,
                       "a result of type %s cannot be read from a source of type %s",
                       PyType_Check(dtype) ? ((PyTypeObject *) dtype)->tp_name
                                           : Py_TYPE(dtype)->tp_name,
                       Py_TYPE(source)->tp_name);
}

PyObject *gather_same(Access *a, PyTypeObject *cls, Array *source)
{
    Array *index, *mask;
    reads_note_gather(source);
    if (source->info->kind == KIND_TENSOR)
        return access_no_tensors(a->operation,
                                 "slice expressions for gathers from them");
    if (!source->info->jit && !access_is_flat(source->info))
        return unsupported(a, (PyObject *) cls, (PyObject *) source);
    if (!access_use(a, source->info, &index, &mask))
        return NULL;
    return (PyObject *) (source->info->jit
                             ? gather_leaves(a, cls, source, index, mask)
                             : gather_scalar(a, cls, source, index, mask));
}

/* ---------------------------------------------------------------- components */

/* Number of leaves of the requested type, given the 'shape' argument (may be NULL). */
static bool component_count(const Access *a, const TypeInfo *info, PyObject *shape,
                            size_t *count)
{
    *count = info->leaves;
    int ndim = info->ndim + info->jit;
    if (!shape) {
        if (info->dynamic)
            error_raise(PyExc_RuntimeError, a->operation, NULL, 0,
                        "%s has a dynamic number of components, expected it as 'shape'",
                        info->name);
        return !info->dynamic;
    }
    PyObject *items = PySequence_Tuple(shape); /* __index__ may change a list */
    if (!items)
        return error_raise(PyExc_TypeError, a->operation, NULL, 0,
                           "'shape' is of type %s, expected a sequence of integers",
                           Py_TYPE(shape)->tp_name);
    bool ok = PyTuple_GET_SIZE(items) == ndim;
    if (!ok)
        error_raise(PyExc_RuntimeError, a->operation, NULL, 0,
                    "'shape' has %zd extents, expected %d for %s",
                    PyTuple_GET_SIZE(items), ndim, info->name);
    for (int i = 0; i < ndim && ok; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        Py_ssize_t extent = PyNumber_AsSsize_t(item, PyExc_OverflowError);
        bool lanes = i == info->ndim; /* these follow from the indices */
        ok = !(extent == -1 && PyErr_Occurred());
        if (ok && (lanes ? extent < -1
                         : extent < 0 ||
                               (info->dims[i] != DYNAMIC && extent != info->dims[i]))) {
            error_raise(PyExc_RuntimeError, a->operation, NULL, 0,
                        "'shape' has the extent %zd on axis %d, which %s cannot have",
                        extent, i, info->name);
            ok = false;
        }
        if (ok && !lanes && info->dims[i] == DYNAMIC)
            *count = (size_t) extent;
    }
    Py_DECREF(items);
    return ok;
}

static Array *new_components(PyTypeObject *cls, const TypeInfo *info, size_t count)
{
    if (!info->dynamic)
        return access_make(cls, info, NULL);
    Array *like = array_new_dynamic(info, count);
    if (!like || cls == info->py)
        return like;
    Array *result = access_make(cls, info, like);
    Py_DECREF(like);
    return result;
}

/* A nested type from a flat source with the same entries. */
static PyObject *gather_components(Access *a, PyTypeObject *cls, const TypeInfo *info,
                                   Array *source, PyObject *shape)
{
    Array *index, *mask;
    size_t n;
    reads_note_gather(source);
    if (!component_count(a, info, shape, &n) ||
        !access_use(a, source->info, &index, &mask))
        return NULL;
    Array *result = new_components(cls, info, n);
    bool ok = result;
    if (ok && n && info->jit) {
        VarIndex *out = PyMem_New(VarIndex, n), leaf = access_variable(source);
        if (!out)
            PyErr_NoMemory();
        ok = out && gather_leaf(a, source->info, leaf, index, mask, n, out);
        for (size_t k = 0; k < n && ok; k++)
            array_set_leaf(result, k, out[k]);
        PyMem_Free(out);
        var_unref(leaf);
    } else if (ok && n) {
        size_t lanes = masked_lanes(a, index, mask, &ok);
        if (ok && lanes != 1) {
            error_raise(PyExc_RuntimeError, a->operation, NULL, 0,
                        "%s holds a single value, but %zu indices were given",
                        info->name, lanes);
            ok = false;
        }
        ok = ok &&
             access_load(a->operation, source, index, mask, 1, n, array_data(result));
    }
    if (!ok)
        Py_CLEAR(result);
    return (PyObject *) result;
}

/* float, int and bool name the entries of drjit.scalar arrays. */
static bool is_number_type(PyObject *dtype, const TypeInfo *source)
{
    PyTypeObject *number = type_is_mask(source)    ? &PyBool_Type
                           : type_is_float(source) ? &PyFloat_Type
                                                   : &PyLong_Type;
    return !source->jit && access_is_flat(source) && dtype == (PyObject *) number;
}

static PyObject *gather_number(Access *a, Array *source)
{
    Array *index, *mask;
    bool ok;
    uint64_t entry;
    if (!access_use(a, source->info, &index, &mask))
        return NULL;
    size_t lanes = masked_lanes(a, index, mask, &ok);
    if (ok && lanes != 1)
        return error_raise(PyExc_RuntimeError, a->operation, NULL, 0,
                           "a number was asked for, but %zu indices were given",
                           lanes);
    if (!ok || !access_load(a->operation, source, index, mask, 1, 1, &entry))
        return NULL;
    return convert_entry((VarType) source->info->entry, &entry);
}

/* ---------------------------------------------------------------- PyTrees */

typedef struct Gather {
    Access access;
    PyObject *shape; /* NULL: not given */
    bool any;        /* has the tree had an array? */
} Gather;

static PyObject *gather_leaf_object(void *context, PyObject *const *leaves)
{
    Gather *g = context;
    if (!array_check(g->access.state, leaves[0])) /* the same for all lanes */
        return Py_NewRef(leaves[0]);
    g->any = true;
    return gather_same(&g->access, Py_TYPE(leaves[0]), (Array *) leaves[0]);
}

static PyObject *gather_any(Gather *g, PyObject *dtype, PyObject *source)
{
    Access *a = &g->access;
    if (!PyType_Check(dtype))
        return error_raise(PyExc_TypeError, a->operation, NULL, 0,
                           "'dtype' is of type %s, expected a type",
                           Py_TYPE(dtype)->tp_name);
    if (!array_check(a->state, source)) {
        if (dtype == (PyObject *) Py_TYPE(source) &&
            plan_is_container(a->state, source)) {
            PyObject *made = tree_map(a->state, a->operation, &source, 1,
                                      gather_leaf_object, g);
            if (!made || g->any || !PyObject_Size(source))
                return made;
            PyErr_Clear(); /* a class may have no size */
            Py_DECREF(made);
        }
        return error_raise(PyExc_TypeError, a->operation, NULL, 0,
                           "'source' is of type %s, expected a dynamic 1D array, or an "
                           "instance of 'dtype'",
                           Py_TYPE(source)->tp_name);
    }
    Array *array = (Array *) source;
    const TypeInfo *info = type_of_class(a->state, (PyTypeObject *) dtype);
    if (array->info->kind == KIND_TENSOR || (info && info->kind == KIND_TENSOR))
        return access_no_tensors(a->operation,
                                 "slice expressions for gathers from them");
    if (info == array->info)
        return gather_same(a, (PyTypeObject *) dtype, array);
    if (is_number_type(dtype, array->info))
        return gather_number(a, array);
    if (!info || !access_is_flat(array->info) || info->family != array->info->family ||
        info->entry != array->info->entry)
        return unsupported(a, dtype, source);
    return gather_components(a, (PyTypeObject *) dtype, info, array, g->shape);
}

static PyObject *memory_gather(PyObject *module, PyObject *const *args,
                               Py_ssize_t nargs, PyObject *names)
{
    static const char *const parameters[] = { "dtype",  "source", "index",
                                              "active", "mode",   "shape" };
    static const Signature signature = { "gather", parameters, 6, 3, 0 };
    PyObject *v[6];
    State *state = state_of_module(module);
    long mode = ReduceModeAuto;
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !access_sort_mode(state, &v[3], &v[4]) ||
        (v[4] &&
         !enum_read(state, "gather", "ReduceMode", v[4], ReduceModeCount, &mode)))
        return NULL;
    Gather gather = { .shape = v[5] == Py_None ? NULL : v[5] };
    if (!evaluate_writes("gather", &v[1], 3))
        return NULL;
    access_start(&gather.access, state, "gather", v[2], v[3]);
    gather.access.mode = (ReduceMode) mode;
    PyObject *result = gather_any(&gather, v[0], v[1]);
    access_end(&gather.access);
    return result;
}

#define FAST METH_FASTCALL | METH_KEYWORDS

PyMethodDef gather_functions[] = {
    { "gather", METHOD(memory_gather), FAST, DOC_gather },
    { "scatter", METHOD(scatter_plain), FAST, DOC_scatter },
    { "_scatter_part", METHOD(scatter_part), FAST,
      "_scatter_part(target, value, index, active=True)\n--\n\n"
      "A scatter to a new, undefined array, whose entries are written once by such "
      "calls,\nwhich one kernel may do together." },
    { "scatter_reduce", METHOD(scatter_reduce), FAST, DOC_scatter_reduce },
    { "scatter_add", METHOD(scatter_add), FAST, DOC_scatter_add },
    { "scatter_add_kahan", METHOD(atomic_add_kahan), FAST, DOC_scatter_add_kahan },
    { "scatter_inc", METHOD(atomic_inc), FAST, DOC_scatter_inc },
    { "scatter_exch", METHOD(atomic_exch), FAST, DOC_scatter_exch },
    { "scatter_cas", METHOD(atomic_cas), FAST, DOC_scatter_cas },
    { "slice", METHOD(slice_value), FAST, DOC_slice },
    { NULL, NULL, 0, NULL },
};
