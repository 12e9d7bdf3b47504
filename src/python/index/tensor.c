/*
 * tensor.c -- t[key], t[key] = value, t.mT and slice_index()
 *
 * Reading gathers the selected places (tensor_select.h) from the storage, or shares it
 * if all of it is selected in order; writing scatters to them. A value is broadcast to
 * the shape of the selection as NumPy does; a one-dimensional array with as many
 * entries as are selected is taken in C order.
 */
#include "python/array/reads.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/convert/convert.h"
#include "python/docstrings.h"
#include "python/index/index.h"
#include "python/index/key.h"
#include "python/index/tensor_rest.h"
#include "python/index/tensor_select.h"
#include "python/memory/access.h"
#include "python/memory/gather.h"
#include "python/ops/apply.h"
#include "python/ops/broadcast.h"
#include "python/shape/shape.h"

/* Entries of the storage of a tensor, or of a flat array, for comparisons with what
 * they were before. */
static size_t storage_size(const Array *a)
{
    return access_size(a);
}

/* ---------------------------------------------------------------- reading */

/* Does the selection consist of all entries in their order? */
static bool is_whole(const Selection *s, const Array *a)
{
    return tensor_select_is_prefix(s) && extent_equal(s->total, access_extent(a));
}

static bool gather_traced(const Selection *s, Array *from, Array *to)
{
    VarIndex result = 0;
    reads_note_gather(from);
    if (is_whole(s, from)) {
        result = var_ref(array_var(from));
    } else {
        const VarIndex places = tensor_select_trace(s);
        if (places && tensor_select_is_by_lanes(s))
            gather_variables(array_var(from), places, 0, 1, ReduceModeAuto, &result);
        else if (places)
            gather_whole(array_var(from), places, 1, ReduceModeAuto, &result);
        var_unref(places);
    }
    if (!result)
        return error_from_core(s->operation, NULL, 0);
    array_set_leaf(to, 0, result);
    return true;
}

static bool gather_entries(const Selection *s, const Array *from, Array *to)
{
    const size_t entry = from->info->entry_size;
    size_t *places = tensor_select_list(s);
    if (!places)
        return false;
    const char *source = array_data(from);
    char *target = array_data(to);
    for (size_t i = 0; i < s->total.n; i++)
        memcpy(target + i * entry, source + places[i] * entry, entry);
    PyMem_Free(places);
    return true;
}

/* The selected entries as a new tensor. */
static Array *gather(const Selection *s, Array *from)
{
    Array *to = extents_new_tensor(from->info, &s->shape);
    if (!to)
        return NULL;
    if (!s->total.n) {
        to = from->info->jit ? array_set_none(to, 1, array_leaves(from)) : to;
        return to ? to : (Array *) error_from_core(s->operation, NULL, 0);
    }
    if (!(from->info->jit ? gather_traced(s, from, to) : gather_entries(s, from, to)))
        Py_CLEAR(to);
    return to;
}

/* Parse a key. Python code that runs on the way (__index__) must not change the tensor:
 * what was parsed would not suit it. */
static bool parse(Selection *s, const KeyName *name, Array *a, PyObject *key)
{
    const size_t size = storage_size(a);
    Extents shape, now;
    extents_of(a, &shape);
    if (!tensor_select_parse(s, a->info, name->text, &shape, key))
        return false;
    extents_of(a, &now);
    if (storage_size(a) == size && extents_equal(&shape, &now))
        return true;
    return error_raise(PyExc_RuntimeError, name->text, NULL, 0,
                       "the tensor changed its shape while the key was read");
}

PyObject *tensor_get(Array *a, PyObject *key)
{
    const KeyName name = key_name(a, KEY_GET);
    Selection s;
    if (key_is_full_slice(key) && array_tensor(a)->ndim)
        return Py_NewRef((PyObject *) a);
    if (key_is_mask(a->info->state, key))
        return (PyObject *) array_copy(a);
    Array *result = parse(&s, &name, a, key) ? gather(&s, a) : NULL;
    tensor_select_clear(&s);
    return (PyObject *) result;
}

Array *tensor_transpose(Array *a)
{
    Selection s;
    Extents shape;
    extents_of(a, &shape);
    tensor_select_transpose(&s, a->info, &shape);
    return gather(&s, a);
}

/* ---------------------------------------------------------------- writing */

static bool fail_shape(const Selection *s, const Extents *shape)
{
    PyObject *found = broadcast_text(s->info->state, shape);
    PyObject *expected = broadcast_text(s->info->state, &s->shape);
    if (found && expected)
        error_raise(
            PyExc_ValueError, s->operation, NULL, 0,
            "the value has shape %U, expected one that broadcasts to the selection's "
            "shape %U",
            found, expected);
    Py_XDECREF(found);
    Py_XDECREF(expected);
    return false;
}

/* A one-dimensional array with an entry for every place, or just one? */
static bool is_flat(const Selection *s, PyObject *value)
{
    if (!array_check(s->info->state, value))
        return false;
    const Array *a = (Array *) value;
    const bool flat =
        a->info->kind == KIND_FLAT ||
        (!a->info->jit && a->info->kind == KIND_ARRAY && a->info->ndim == 1);
    return flat &&
           (storage_size(a) == 1 || extent_equal(access_extent(a), s->total));
}

/* The value as a tensor whose storage has an entry for every place, or just one. */
static Array *prepare(const Selection *s, PyObject *value)
{
    const TypeInfo *info = s->info;
    Array *made = convert_to(info, value, s->operation);
    if (!made || storage_size(made) == 1 || is_flat(s, value))
        return made;
    Extents shape;
    extents_of(made, &shape);
    if (extents_equal(&s->shape, &shape))
        return made;
    Selection spread;
    Array *wide = NULL;
    if (tensor_select_broadcast(&spread, info, &shape, &s->shape))
        wide = gather(&spread, made);
    else
        fail_shape(s, &shape);
    Py_DECREF((PyObject *) made);
    return wide;
}

/* A single entry must still have no more axes (of extent 1) than fit. */
static bool check_single(const Selection *s, Array *value, PyObject *original)
{
    Selection spread;
    Extents shape;
    extents_of(value, &shape);
    return is_flat(s, original) ||
           tensor_select_broadcast(&spread, s->info, &shape, &s->shape) ||
           fail_shape(s, &shape);
}

static bool scatter_traced(const Selection *s, Array *target, Array *value)
{
    VarIndex written;
    if (!is_whole(s, target) && !reads_check_write(s->operation, target))
        return false;
    if (is_whole(s, target)) {
        written = var_resize(array_var(value), extent_next(s->total));
    } else {
        const VarIndex places = tensor_select_trace(s);
        const VarIndex rest = tensor_rest_copy(s, target, array_var(value));
        written = places
                      ? var_scatter(rest ? rest : array_var(target), array_var(value),
                                    places, 0, ReduceOpIdentity, ReduceModeAuto)
                      : 0;
        var_unref(places);
        var_unref(rest);
    }
    if (!written)
        return error_from_core(s->operation, NULL, 0);
    array_set_leaf(target, 0, written);
    return true;
}

static bool scatter_entries(const Selection *s, Array *target, Array *value)
{
    const size_t entry = target->info->entry_size;
    const size_t step = array_count(value) == 1 ? 0 : entry;
    size_t *places = tensor_select_list(s);
    /* The value may be the target itself. */
    Array *copy = places ? array_copy(value) : NULL;
    for (size_t i = 0; i < s->total.n && copy; i++)
        memcpy((char *) array_data(target) + places[i] * entry,
               (char *) array_data(copy) + i * step, entry);
    PyMem_Free(places);
    Py_XDECREF((PyObject *) copy);
    return copy;
}

int tensor_set(Array *a, PyObject *key, PyObject *value)
{
    const KeyName name = key_name(a, KEY_SET);
    Selection s;
    if (key_is_mask(a->info->state, key))
        return index_set_masked(a, key, value);
    bool ok = parse(&s, &name, a, key);
    if (ok && index_refuses(a->info, value)) {
        index_fail_value(a, value);
        ok = false;
    }
    const size_t size = storage_size(a);
    Array *made = ok ? prepare(&s, value) : NULL;
    if (made && s.total.n && a->info->jit && !is_whole(&s, a))
        (void) gather_prepare_target(name.text, array_var(a));
    const size_t found = made ? storage_size(made) : 0;
    ok = made && !PyErr_Occurred() && (found != 1 || check_single(&s, made, value));
    if (ok && (storage_size(a) != size || (found != 1 && found != s.total.n))) {
        /* Python code that ran, or another thread, has changed it or the value */
        error_raise(PyExc_RuntimeError, name.text, NULL, 0,
                    "the tensor changed its size during the assignment");
        ok = false;
    }
    if (ok && s.total.n)
        ok = a->info->jit ? scatter_traced(&s, a, made) : scatter_entries(&s, a, made);
    if (!ok && !PyErr_Occurred())
        PyErr_NoMemory();
    Py_XDECREF((PyObject *) made);
    tensor_select_clear(&s);
    return ok ? 0 : -1;
}

/* ---------------------------------------------------------------- slice_index */

/* The extents in a tuple of integers; false: exception. */
static bool read_shape(PyObject *tuple, Extents *shape)
{
    const size_t ndim = (size_t) PyTuple_GET_SIZE(tuple);
    extents_set_numbers(shape, 0, NULL);
    if (ndim > TENSOR_MAX_DIMS)
        return error_raise(PyExc_ValueError, "slice_index", NULL, 0,
                           "'shape' has %zu axes, expected at most %d", ndim,
                           TENSOR_MAX_DIMS);
    for (size_t i = 0; i < ndim; i++) {
        Py_ssize_t value;
        Extent extent;
        if (!extent_read(PyTuple_GET_ITEM(tuple, (Py_ssize_t) i), &value, &extent)) {
            if (!PyErr_Occurred())
                error_raise(PyExc_ValueError, "slice_index", NULL, 0,
                            "'shape' has the extent %zd on axis %zu, expected 0 or "
                            "more",
                            value, i);
            return false;
        }
        extents_append(shape, extent);
    }
    return true;
}

/* The places as an array of the given type. */
static Array *places_of(const Selection *s, const TypeInfo *info)
{
    if (info->jit) {
        const VarIndex places = s->total.n ? tensor_select_trace(s) : 0;
        if (s->total.n && !places)
            return (Array *) error_from_core(s->operation, NULL, 0);
        return array_new_leaf(info, places);
    }
    size_t *places = tensor_select_list(s);
    Array *result = places ? array_new_dynamic(info, s->total.n) : NULL;
    for (size_t i = 0; i < s->total.n && result; i++)
        ((uint32_t *) array_data(result))[i] = (uint32_t) places[i];
    for (size_t i = 0; i < s->total.n && result; i++)
        if (places[i] > UINT32_MAX) {
            error_raise(PyExc_OverflowError, s->operation, NULL, 0,
                        "index %zu does not fit into 32 bits", places[i]);
            Py_CLEAR(result);
        }
    PyMem_Free(places);
    return result;
}

static PyObject *slice_index(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "dtype", "shape", "indices", NULL };
    PyObject *cls, *shape_tuple, *indices;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!:drjit.slice_index", keywords,
                                     &PyType_Type, &cls, &PyTuple_Type, &shape_tuple,
                                     &PyTuple_Type, &indices))
        return NULL;
    const TypeInfo *info = type_of_class(state_of_module(module), (PyTypeObject *) cls);
    const bool flat = info && (info->kind == KIND_FLAT ||
                               (!info->jit && info->dynamic && info->ndim == 1));
    if (!flat || info->entry != VarTypeUInt32)
        return error_raise(PyExc_TypeError, "slice_index", NULL, 0,
                           "'dtype' is %s, expected a flat array type of unsigned "
                           "32-bit integers",
                           ((PyTypeObject *) cls)->tp_name);
    Extents shape;
    if (!read_shape(shape_tuple, &shape))
        return NULL;
    Selection s;
    const bool ok = tensor_select_parse(&s, info, "slice_index", &shape, indices);
    Array *places = ok ? places_of(&s, info) : NULL;
    PyObject *extents = places ? extents_tuple(info->state, &s.shape) : NULL;
    tensor_select_clear(&s);
    PyObject *result = extents ? PyTuple_Pack(2, extents, (PyObject *) places) : NULL;
    Py_XDECREF(extents);
    Py_XDECREF((PyObject *) places);
    return result;
}

PyMethodDef tensor_functions[] = {
    { "slice_index", METHOD(slice_index), METH_VARARGS | METH_KEYWORDS,
      DOC_slice_index },
    { NULL, NULL, 0, NULL },
};
