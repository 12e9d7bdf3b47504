/*
 * index.c -- reading and writing components and entries of arrays
 *
 * a[key] walks down from the outermost axis. A key is an integer, a slice, a mask, an
 * index array (leaves only), or a tuple of these. Components of nested arrays are
 * views, so writing to them changes the array. Entries of a leaf: see lanes.c. Tensors:
 * see tensor.c.
 *
 * v.xyw and v.xyw = ... are the same with the components named; the attribute slots
 * recognise such names by their letters, all others take the usual way.
 */
#include "python/index/index.h"

#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/convert/convert.h"
#include "python/convert/convert_array.h"
#include "python/convert/value.h"
#include "python/index/key.h"
#include "python/index/lanes.h"
#include "python/ops/apply.h"

static const TypeInfo *component_of(const Array *a)
{
    return &a->info->state->types[a->info->value];
}

static bool is_leaf(const Array *a)
{
    return a->info->kind == KIND_FLAT;
}

static bool has_components(const State *state, PyObject *object)
{
    return array_check(state, object) && ((Array *) object)->info->ndim > 0;
}

/* ---------------------------------------------------------------- extents */

/* Number of entries along the first axis. */
static Py_ssize_t extent(Array *a)
{
    if (a->info->kind == KIND_TENSOR)
        return array_tensor(a)->ndim ? (Py_ssize_t) extents_bind(a)[0] : 0;
    if (is_leaf(a))
        return (Py_ssize_t) lanes_count(a);
    return a->info->dynamic ? (Py_ssize_t) array_count(a) : a->info->dims[0];
}

/* ---------------------------------------------------------------- one component */

/* Make a negative index count from the end, and check it. */
static bool check_index(Array *a, Py_ssize_t *i, int set)
{
    const Py_ssize_t n = extent(a), found = *i;
    if (*i < 0)
        *i += n;
    if (*i >= 0 && *i < n)
        return true;
    return error_raise(PyExc_IndexError, key_name(a, set).text, NULL, 0,
                       "index %zd is out of bounds for axis 0 with size %zd", found, n);
}

/* One entry stands for any number of equal ones: every index reads it. */
static bool repeats(Array *a)
{
    return (is_leaf(a) || a->info->dynamic) && extent(a) == 1;
}

/* Which entry of traced lanes an index reads, if it is within them. What is recorded
 * depends on their number only as far as that the entry is there. */
static bool find_entry(const Array *a, Py_ssize_t *i)
{
    const VarIndex var = a->info->jit && is_leaf(a) ? array_var(a) : 0;
    const size_t size = var ? var_peek_size(var) : 0;
    if (size == 1)
        *i = 0;
    return *i >= 0 && (size_t) *i < size;
}

PyObject *index_get_item(Array *a, Py_ssize_t i)
{
    const TypeInfo *info = a->info;
    if (info->kind == KIND_TENSOR) {
        PyObject *key = PyLong_FromSsize_t(i);
        PyObject *result = key ? tensor_get(a, key) : NULL;
        Py_XDECREF(key);
        return result;
    }
    if (!find_entry(a, &i)) {
        if (repeats(a))
            i = 0;
        else if (!check_index(a, &i, KEY_GET))
            return NULL;
    }
    if (is_leaf(a)) {
        uint64_t bits = 0;
        reads_note_whole(a);
        if (!evaluate_read(array_var(a), (size_t) i, &bits))
            return error_from_core(key_name(a, KEY_GET).text, NULL, 0);
        return convert_entry((VarType) info->entry, &bits);
    }
    const TypeInfo *component = component_of(a);
    if (!info->jit && component->kind == KIND_FLAT)
        return convert_entry((VarType) info->entry,
                             (char *) array_data(a) + (size_t) i * info->var_size);
    return (PyObject *) array_view(a, component, (size_t) i * component->leaves);
}

int index_fail_value(const Array *a, PyObject *value)
{
    error_raise(PyExc_TypeError, key_name(a, KEY_SET).text, NULL, 0,
                "could not initialize an element with a value of type %s",
                Py_TYPE(value)->tp_name);
    return -1;
}

bool index_refuses(const TypeInfo *info, PyObject *value)
{
    uint64_t bits;
    return convert_is_number(value) &&
           !convert_number((VarType) info->entry, value, &bits);
}

int index_set_item(Array *a, Py_ssize_t i, PyObject *value)
{
    const TypeInfo *info = a->info;
    if (info->kind == KIND_TENSOR) {
        PyObject *key = PyLong_FromSsize_t(i);
        const int rv = key ? tensor_set(a, key, value) : -1;
        Py_XDECREF(key);
        return rv;
    }
    if (!check_index(a, &i, KEY_SET))
        return -1;
    if (is_leaf(a))
        return lanes_set_entry(a, (size_t) i, value);
    const TypeInfo *component = component_of(a);
    const size_t first = (size_t) i * component->leaves;
    if (info->jit && Py_TYPE(value) == component->py && !component->dynamic) {
        for (size_t k = 0; k < component->leaves; k++)
            value_store(a, first + k, value_of((const Array *) value, k));
        return 0;
    }
    if (index_refuses(component, value))
        return index_fail_value(a, value);
    if (!info->jit && component->kind == KIND_FLAT &&
        !array_check(info->state, value)) {
        uint64_t bits;
        if (!convert_number((VarType) info->entry, value, &bits))
            return index_fail_value(a, value);
        if (first < array_count(a)) /* __float__ may have done anything */
            value_store(a, first, bits);
        return 0;
    }
    if (!info->jit && component->kind == KIND_FLAT)
        component =
            &info->state
                 ->types[type_find((Family) info->family, KIND_ARRAY, 1,
                                   (const int8_t[]){ 1 }, (VarType) info->entry)];
    Array *made = convert_to(component, value, key_name(a, KEY_SET).text);
    if (!made)
        return index_fail_value(a, value);
    for (size_t k = 0; k < component->leaves && first + k < array_count(a); k++)
        value_store(a, first + k, value_of(made, k));
    Py_DECREF((PyObject *) made);
    return 0;
}

/* --------------------------------------------------------------- several components */

/* The plain array type of n components of 'component'; NULL with an exception. */
static const TypeInfo *type_of_components(const Array *a, size_t n)
{
    const TypeInfo *info = a->info, *component = component_of(a);
    int8_t dims[3] = { (int8_t) (n <= 4 ? (int) n : DYNAMIC) };
    memcpy(dims + 1, component->dims, 2);
    const uint16_t id = type_find((Family) info->family, KIND_ARRAY, info->ndim, dims,
                                  (VarType) info->entry);
    if (id != TYPE_NONE)
        return &info->state->types[id];
    error_raise(PyExc_TypeError, key_name(a, KEY_GET).text, NULL, 0,
                "there is no array type for %zu components of this kind", n);
    return NULL;
}

/* Components at the given indices as a new array. */
static PyObject *take(Array *a, const TypeInfo *result, const size_t *indices,
                      size_t n)
{
    const size_t step = component_of(a)->leaves;
    Array *taken = result->dynamic ? array_new_dynamic(result, n) : array_new(result);
    for (size_t i = 0; i < n && taken; i++)
        for (size_t k = 0; k < step; k++)
            value_store(taken, i * step + k, value_of(a, indices[i] * step + k));
    return (PyObject *) taken;
}

/* What n components are assigned that have 'ndim' axes together: one value for all
 * (*items is NULL), or the items of a sequence (a new tuple). */
static bool values_for(const Array *a, size_t n, int ndim, PyObject *value,
                       PyObject **items)
{
    *items = NULL;
    if (array_check(a->info->state, value) ? ((Array *) value)->info->ndim < ndim
                                           : !PySequence_Check(value))
        return true;
    *items = PySequence_Tuple(value);
    if (!*items)
        return index_fail_value(a, value) == 0;
    if ((size_t) PyTuple_GET_SIZE(*items) == n)
        return true;
    error_raise(PyExc_ValueError, key_name(a, KEY_SET).text, NULL, 0,
                "found %zd values, expected %zu: one for each component",
                PyTuple_GET_SIZE(*items), n);
    Py_CLEAR(*items);
    return false;
}

/* Assign to components. This happens in a copy first, so that a failure changes
 * nothing, and v[::-1] = v reads nothing that it has just written. */
static int put(Array *a, const size_t *indices, size_t n, PyObject *value)
{
    PyObject *items;
    if (!values_for(a, n, a->info->ndim, value, &items))
        return -1;
    Array *changed = array_copy(a);
    int rv = changed ? 0 : -1;
    for (size_t i = 0; i < n && rv == 0; i++)
        rv = index_set_item(
            changed, (Py_ssize_t) indices[i],
            items ? PyTuple_GET_ITEM(items, (Py_ssize_t) i) : value);
    if (rv == 0 && !array_replace(a, changed))
        rv = -1;
    Py_XDECREF((PyObject *) changed);
    Py_XDECREF(items);
    return rv;
}

/* ---------------------------------------------------------------- keys */

static PyObject *fail_key(Array *a, PyObject *key, int set)
{
    if (key == Py_None || key == Py_Ellipsis)
        return error_raise(PyExc_TypeError, key_name(a, set).text, NULL, 0,
                           "the key has None or ..., which are for tensors only");
    return error_raise(PyExc_TypeError, key_name(a, set).text, NULL, 0,
                       "the key is of type %s, expected an integer, slice, index "
                       "array, mask or tuple%s",
                       Py_TYPE(key)->tp_name,
                       PyList_Check(key) ? "; an index array is of a type such as UInt"
                                         : "");
}

/* Indices that a slice selects, as an array to be freed with PyMem_Free. */
static size_t *component_indices(PyObject *slice, Py_ssize_t length, size_t *n)
{
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0)
        return NULL;
    *n = (size_t) PySlice_AdjustIndices(length, &start, &stop, step);
    size_t *indices = PyMem_Malloc((*n + 1) * sizeof(size_t));
    if (!indices)
        return (size_t *) PyErr_NoMemory();
    for (size_t i = 0; i < *n; i++)
        indices[i] = (size_t) (start + (Py_ssize_t) i * step);
    return indices;
}

static PyObject *get_slice(Array *a, PyObject *slice)
{
    if (key_is_full_slice(slice))
        return Py_NewRef((PyObject *) a);
    if (is_leaf(a))
        return lanes_get_slice(a, slice);
    size_t n;
    size_t *indices = component_indices(slice, extent(a), &n);
    const TypeInfo *type = !indices ? NULL
                           : a->info->dynamic && !a->info->jit
                               ? a->info
                               : type_of_components(a, n);
    PyObject *result = type ? take(a, type, indices, n) : NULL;
    PyMem_Free(indices);
    return result;
}

static int set_slice(Array *a, PyObject *slice, PyObject *value)
{
    if (is_leaf(a))
        return lanes_set_slice(a, slice, value);
    size_t n;
    size_t *indices = component_indices(slice, extent(a), &n);
    const int rv = indices ? put(a, indices, n, value) : -1;
    PyMem_Free(indices);
    return rv;
}

/* Indices in a one-dimensional array of drjit.scalar, to be freed with PyMem_Free. */
static size_t *scalar_indices(Array *a, Array *key, size_t *n, int set)
{
    const TypeInfo *wide = &a->info->state->types[type_find(
        FAMILY_SCALAR, KIND_ARRAY, 1, (const int8_t[]){ DYNAMIC }, VarTypeInt64)];
    const bool repeated = set == KEY_GET && repeats(a);
    Array *whole = convert_array(wide, key, key_name(a, set).text);
    *n = whole ? array_count(whole) : 0;
    size_t *indices = whole ? PyMem_Malloc((*n + 1) * sizeof(size_t)) : NULL;
    if (whole && !indices)
        PyErr_NoMemory();
    for (size_t i = 0; i < *n && indices; i++) {
        Py_ssize_t index = (Py_ssize_t) ((int64_t *) array_data(whole))[i];
        if (repeated) {
            indices[i] = 0;
        } else if (check_index(a, &index, set)) {
            indices[i] = (size_t) index;
        } else {
            PyMem_Free(indices);
            indices = NULL;
        }
    }
    Py_XDECREF((PyObject *) whole);
    return indices;
}

/* Can it be indexed with an array? */
static bool takes_indices(const Array *a)
{
    return is_leaf(a) || (!a->info->jit && a->info->dynamic);
}

static PyObject *get_array(Array *a, PyObject *key)
{
    if (is_leaf(a))
        return lanes_get(a, (Array *) key);
    size_t n;
    size_t *indices = scalar_indices(a, (Array *) key, &n, KEY_GET);
    PyObject *result = indices ? take(a, a->info, indices, n) : NULL;
    PyMem_Free(indices);
    return result;
}

static int set_array(Array *a, PyObject *key, PyObject *value)
{
    if (is_leaf(a))
        return lanes_set(a, (Array *) key, value);
    size_t n;
    size_t *indices = scalar_indices(a, (Array *) key, &n, KEY_SET);
    const int rv = indices ? put(a, indices, n, value) : -1;
    PyMem_Free(indices);
    return rv;
}

static bool has_shape_of(Array *made, Array *a)
{
    Extents shape, found;
    if (a->info->kind != KIND_TENSOR)
        return true;
    extents_of(a, &shape);
    extents_of(made, &found);
    return extents_equal(&shape, &found);
}

int index_set_masked(Array *a, PyObject *mask, PyObject *value)
{
    PyObject *operands[] = { mask, value, (PyObject *) a };
    if (index_refuses(a->info, value))
        return index_fail_value(a, value);
    PyObject *chosen = apply(a->info->state, APPLY_SELECT, operands, false);
    const KeyName name = key_name(a, KEY_SET);
    Array *made = chosen ? convert_to(a->info, chosen, name.text) : NULL;
    const bool fits = made && has_shape_of(made, a);
    if (made && !fits)
        error_raise(PyExc_ValueError, name.text, NULL, 0,
                    "the mask or the value has another shape, expected that of the "
                    "tensor");
    Array *own = fits ? array_copy(made) : NULL;
    const int rv = own && array_replace(a, own) ? 0 : -1;
    Py_XDECREF((PyObject *) own);
    Py_XDECREF((PyObject *) made);
    Py_XDECREF(chosen);
    return rv;
}

/* The integer of a key; false: exception. */
static bool integer_of(PyObject *key, Py_ssize_t *i)
{
    *i = PyNumber_AsSsize_t(key, PyExc_IndexError);
    return *i != -1 || !PyErr_Occurred();
}

/* ---------------------------------------------------------------- several keys */

/* Is there a key that selects several components, and others after it? */
static bool has_inner_slice(PyObject *keys)
{
    for (Py_ssize_t i = 0; i + 1 < PyTuple_GET_SIZE(keys); i++)
        if (PySlice_Check(PyTuple_GET_ITEM(keys, i)))
            return true;
    return false;
}

/* Components, of which 'first' is one, as an array. If nothing was left out of the
 * array that they come from, it has that type. */
static PyObject *stack_components(Array *from, PyObject *const *parts, size_t n)
{
    State *state = from->info->state;
    const TypeInfo *part =
        n && array_check(state, parts[0]) ? ((Array *) parts[0])->info : NULL;
    if (n == (size_t) extent(from) && part == component_of(from))
        return (PyObject *) convert_construct(from->info, parts, n, NULL);
    const int ndim = part ? part->ndim : 0;
    int8_t dims[3] = { (int8_t) (n <= 4 ? (int) n : DYNAMIC) };
    if (ndim)
        memcpy(dims + 1, part->dims, 2);
    const uint16_t id = type_find((Family) from->info->family, KIND_ARRAY, ndim + 1,
                                  dims, (VarType) from->info->entry);
    if (id != TYPE_NONE)
        return (PyObject *) convert_construct(&state->types[id], parts, n, NULL);
    return error_raise(PyExc_TypeError, key_name(from, KEY_GET).text, NULL, 0,
                       "there is no array type for %zu components of this kind", n);
}

static PyObject *get_keys(Array *a, PyObject *from, PyObject *keys, Py_ssize_t first);

/* from[slice, rest...]: the rest of each component that the slice selects. */
static PyObject *get_slice_of_parts(Array *a, PyObject *keys, Py_ssize_t first)
{
    size_t n, done = 0;
    size_t *indices = component_indices(PyTuple_GET_ITEM(keys, first), extent(a), &n);
    PyObject **parts = indices ? PyMem_Calloc(n + 1, sizeof(*parts)) : NULL;
    if (indices && !parts)
        PyErr_NoMemory();
    for (; parts && done < n; done++) {
        PyObject *component = index_get_item(a, (Py_ssize_t) indices[done]);
        parts[done] = component ? get_keys(a, component, keys, first + 1) : NULL;
        Py_XDECREF(component);
        if (!parts[done])
            break;
    }
    PyObject *result = parts && done == n ? stack_components(a, parts, n) : NULL;
    while (done)
        Py_DECREF(parts[--done]);
    PyMem_Free(parts);
    PyMem_Free(indices);
    return result;
}

/* from[first, rest...]: the first key, then the others in what it gives; 'a' is what
 * the user has asked. There are at most as many levels as an array has axes. */
static PyObject *get_keys(Array *a, PyObject *from, PyObject *keys, Py_ssize_t first)
{
    PyObject *result = Py_NewRef(from);
    for (Py_ssize_t i = first; i < PyTuple_GET_SIZE(keys) && result; i++) {
        PyObject *key = PyTuple_GET_ITEM(keys, i);
        if (i + 1 == PyTuple_GET_SIZE(keys) || key_is_integer(key)) {
            Py_SETREF(result, PyObject_GetItem(result, key));
        } else if (PySlice_Check(key) && has_components(a->info->state, result)) {
            Py_SETREF(result, get_slice_of_parts((Array *) result, keys, i));
            break;
        } else {
            Py_SETREF(result, fail_key(a, key, KEY_GET));
        }
    }
    return result;
}

/* Axes that the keys from 'first' on leave of the components. */
static int axes_left(const Array *a, PyObject *keys, Py_ssize_t first)
{
    int ndim = a->info->ndim;
    for (int i = 0; i < a->info->ndim && first + i < PyTuple_GET_SIZE(keys); i++)
        ndim -= key_is_integer(PyTuple_GET_ITEM(keys, first + i));
    return ndim;
}

/* target[first, rest...] = value: to be undone by the caller if it fails. */
static int set_keys(Array *a, PyObject *target, PyObject *keys, Py_ssize_t first,
                    PyObject *value)
{
    PyObject *key = PyTuple_GET_ITEM(keys, first), *items;
    if (first + 1 == PyTuple_GET_SIZE(keys))
        return PyObject_SetItem(target, key, value);
    if (key_is_integer(key)) {
        PyObject *component = PyObject_GetItem(target, key);
        const int rv = component ? set_keys(a, component, keys, first + 1, value) : -1;
        Py_XDECREF(component);
        return rv;
    }
    if (!PySlice_Check(key) || !has_components(a->info->state, target)) {
        fail_key(a, key, KEY_SET);
        return -1;
    }
    size_t n;
    a = (Array *) target;
    size_t *indices = component_indices(key, extent(a), &n);
    if (!indices || !values_for(a, n, axes_left(a, keys, first), value, &items)) {
        PyMem_Free(indices);
        return -1;
    }
    int rv = 0;
    for (size_t i = 0; i < n && rv == 0; i++) {
        PyObject *component = index_get_item(a, (Py_ssize_t) indices[i]);
        rv = component ? set_keys(a, component, keys, first + 1,
                                  items ? PyTuple_GET_ITEM(items, (Py_ssize_t) i)
                                        : value)
                       : -1;
        Py_XDECREF(component);
    }
    Py_XDECREF(items);
    PyMem_Free(indices);
    return rv;
}

static int set_tuple(Array *a, PyObject *keys, PyObject *value)
{
    if (PyTuple_GET_SIZE(keys) == 0) {
        PyObject *all = PySlice_New(NULL, NULL, NULL);
        const int rv = all ? set_slice(a, all, value) : -1;
        Py_XDECREF(all);
        return rv;
    }
    if (!has_inner_slice(keys))
        return set_keys(a, (PyObject *) a, keys, 0, value);
    Array *changed = array_copy(a); /* see put() */
    int rv = changed ? set_keys(changed, (PyObject *) changed, keys, 0, value) : -1;
    if (rv == 0 && !array_replace(a, changed))
        rv = -1;
    Py_XDECREF((PyObject *) changed);
    return rv;
}

/* The error of one of several keys becomes the cause; not what users' code raises. */
static PyObject *fail_keys(const Array *a)
{
    static const char text[] = "the key does not fit, see the error before";
    const KeyName name = key_name(a, KEY_GET);
    if (PyErr_ExceptionMatches(PyExc_IndexError))
        error_raise_both("IndexError", name.text, NULL, 0, text);
    else if (PyErr_ExceptionMatches(PyExc_TypeError))
        error_raise(PyExc_TypeError, name.text, NULL, 0, text);
    return NULL;
}

static PyObject *subscript(PyObject *self, PyObject *key)
{
    Array *a = (Array *) self;
    Py_ssize_t i;
    if (a->info->kind == KIND_TENSOR)
        return tensor_get(a, key);
    if (key_is_integer(key))
        return integer_of(key, &i) ? index_get_item(a, i) : NULL;
    if (PySlice_Check(key))
        return get_slice(a, key);
    if (PyTuple_Check(key)) {
        PyObject *result = get_keys(a, self, key, 0);
        return result || PyTuple_GET_SIZE(key) < 2 ? result : fail_keys(a);
    }
    if (key_is_mask(a->info->state, key))
        return (PyObject *) array_copy(a);
    if (takes_indices(a) && key_is_indices(a->info->state, key))
        return get_array(a, key);
    return fail_key(a, key, KEY_GET);
}

static int assign_subscript(PyObject *self, PyObject *key, PyObject *value)
{
    Array *a = (Array *) self;
    Py_ssize_t i;
    if (!value) {
        PyErr_Format(PyExc_TypeError, "'%s' object doesn't support item deletion",
                     a->info->name);
        return -1;
    }
    if (a->info->kind == KIND_TENSOR)
        return tensor_set(a, key, value);
    if (key_is_integer(key))
        return integer_of(key, &i) ? index_set_item(a, i, value) : -1;
    if (PySlice_Check(key))
        return set_slice(a, key, value);
    if (PyTuple_Check(key))
        return set_tuple(a, key, value);
    if (key_is_mask(a->info->state, key))
        return index_set_masked(a, key, value);
    if (takes_indices(a) && key_is_indices(a->info->state, key))
        return set_array(a, key, value);
    fail_key(a, key, KEY_SET);
    return -1;
}

static Py_ssize_t length(PyObject *self)
{
    return extent((Array *) self);
}

static PyObject *item(PyObject *self, Py_ssize_t i)
{
    return index_get_item((Array *) self, i);
}

/* ---------------------------------------------------------------- swizzles */

enum { SWIZZLE_LIMIT = 16 };

/* Components named by a text such as "xyw"; 0 if it does not name any of this array. */
static size_t swizzle_of(const Array *a, PyObject *name, size_t *indices)
{
    const TypeInfo *info = a->info;
    const Py_ssize_t n = PyUnicode_GET_LENGTH(name);
    if (n < 2 || n > SWIZZLE_LIMIT || info->ndim != 1 || info->dynamic ||
        (info->kind != KIND_ARRAY && info->kind != KIND_QUATERNION) ||
        PyUnicode_KIND(name) != PyUnicode_1BYTE_KIND)
        return 0;
    const Py_UCS1 *text = PyUnicode_1BYTE_DATA(name);
    for (Py_ssize_t i = 0; i < n; i++) {
        const int index = text[i] == 'w' ? 3 : text[i] - 'x';
        if (index < 0 || index > 3 || index >= info->dims[0])
            return 0;
        indices[i] = (size_t) index;
    }
    return (size_t) n;
}

static PyObject *get_attribute(PyObject *self, PyObject *name)
{
    Array *a = (Array *) self;
    size_t indices[SWIZZLE_LIMIT];
    const size_t n = PyUnicode_Check(name) ? swizzle_of(a, name, indices) : 0;
    if (!n)
        return PyObject_GenericGetAttr(self, name);
    const TypeInfo *type = a->info;
    if (type->kind != KIND_QUATERNION || n != 4)
        type = type_of_components(a, n);
    return type ? take(a, type, indices, n) : NULL;
}

static int set_attribute(PyObject *self, PyObject *name, PyObject *value)
{
    size_t indices[SWIZZLE_LIMIT];
    const size_t n = value && PyUnicode_Check(name)
                         ? swizzle_of((Array *) self, name, indices)
                         : 0;
    return n ? put((Array *) self, indices, n, value)
             : PyObject_GenericSetAttr(self, name, value);
}

/* ---------------------------------------------------------------- iteration */

/* Entries of a leaf are read from memory at once: 'variable' holds them. */
typedef struct Iterator {
    PyObject_HEAD Array *array;
    size_t position;
    VarIndex variable;
    size_t size; /* entries at 'data' */
    const char *data;
} Iterator;

static void iterator_dealloc(PyObject *self)
{
    Iterator *it = (Iterator *) self;
    PyTypeObject *cls = Py_TYPE(self);
    var_unref(it->variable);
    Py_XDECREF((PyObject *) it->array);
    cls->tp_free(self);
    Py_DECREF(cls);
}

static PyObject *iterator_next(PyObject *self)
{
    Iterator *it = (Iterator *) self;
    if (is_leaf(it->array)) {
        if (it->position >= it->size)
            return NULL;
        const VarType type = (VarType) it->array->info->entry;
        return convert_entry(type, it->data + it->position++ * type_entry_size(type));
    }
    const Py_ssize_t i = (Py_ssize_t) it->position;
    if (i >= extent(it->array))
        return NULL;
    it->position++;
    return index_get_item(it->array, i);
}

static bool make_iterator_class(State *state)
{
    PyType_Slot slots[] = {
        SLOT(Py_tp_dealloc, iterator_dealloc),
        SLOT(Py_tp_iter, PyObject_SelfIter),
        SLOT(Py_tp_iternext, iterator_next),
        { 0, NULL },
    };
    state->iterator =
        type_make(state->module, "drjit._core.ArrayIterator", sizeof(Iterator),
                  Py_TPFLAGS_DISALLOW_INSTANTIATION, slots);
    return state->iterator;
}

static PyObject *iterate(PyObject *self)
{
    Array *a = (Array *) self;
    State *state = a->info->state;
    if (!state->iterator && !make_iterator_class(state))
        return NULL;
    Iterator *it = PyObject_New(Iterator, state->iterator);
    if (!it)
        return NULL;
    it->array = (Array *) Py_NewRef(self);
    it->position = 0;
    it->variable = 0;
    it->size = 0;
    it->data = NULL;
    if (is_leaf(a)) {
        void *data;
        reads_note_whole(a);
        if (!evaluate_data(a->info, array_var(a), &it->variable, &data)) {
            Py_DECREF((PyObject *) it);
            return error_from_core(".__iter__", &self, 1);
        }
        it->data = data;
        it->size = it->variable ? var_size(it->variable) : 0;
    }
    return (PyObject *) it;
}

PyType_Slot index_slots[] = {
    SLOT(Py_mp_length, length),
    SLOT(Py_mp_subscript, subscript),
    SLOT(Py_mp_ass_subscript, assign_subscript),
    SLOT(Py_sq_length, length),
    SLOT(Py_sq_item, item),
    SLOT(Py_tp_iter, iterate),
    SLOT(Py_tp_getattro, get_attribute),
    SLOT(Py_tp_setattro, set_attribute),
    { 0, NULL },
};
