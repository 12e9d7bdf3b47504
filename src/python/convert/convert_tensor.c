/*
 * convert_tensor.c -- constructors of tensors
 *
 * Nested sequences are walked once. Numbers go into a buffer; an array met on the way
 * is a part of its own, with axes that follow those of the sequences around it. All
 * parts together are the storage:
 *
 *     TensorXf([[1, 2], Float(3, 4)])    parts: buffer {1, 2}, variable   shape (2, 2)
 *
 * The first way down says how many axes there are and how long they are; every other
 * one must agree.
 */
#include "python/array/reads.h"
#include "python/convert/convert.h"
#include "python/convert/convert_array.h"
#include "python/shape/extent.h"

/* What has been found so far. */
typedef struct Collection {
    const Conversion *c;
    size_t shape[TENSOR_MAX_DIMS];
    size_t levels; /* axes whose extent is known */
    bool complete; /* an entry was reached: 'levels' is the number of axes */
    char *buffer;  /* numbers since the last part */
    size_t used, capacity;
    VarIndex *parts; /* owned variables (jit) */
    size_t *sizes;
    size_t part_count, part_capacity;
    VarIndex none; /* of a part without entries, the first one; owned */
} Collection;

/* ---------------------------------------------------------------- storage */

static bool reserve(Collection *all, size_t more)
{
    const size_t size = all->c->info->entry_size;
    if (all->capacity - all->used >= more)
        return true;
    size_t capacity = all->capacity ? 2 * all->capacity : 64;
    if (capacity < all->used + more)
        capacity = all->used + more;
    char *buffer = PyMem_Realloc(all->buffer, capacity * size);
    if (!buffer)
        return PyErr_NoMemory();
    all->buffer = buffer;
    all->capacity = capacity;
    return true;
}

/* Add a variable, whose reference is consumed. */
static bool add_part(Collection *all, VarIndex var, size_t size)
{
    if (all->part_count == all->part_capacity) {
        const size_t capacity = 2 * all->part_capacity + 4;
        VarIndex *parts = PyMem_Realloc(all->parts, capacity * sizeof(VarIndex));
        if (parts)
            all->parts = parts;
        size_t *sizes =
            parts ? PyMem_Realloc(all->sizes, capacity * sizeof(size_t)) : NULL;
        if (!sizes) {
            var_unref(var);
            return PyErr_NoMemory();
        }
        all->sizes = sizes;
        all->part_capacity = capacity;
    }
    all->parts[all->part_count] = var;
    all->sizes[all->part_count++] = size;
    return true;
}

/* The numbers in the buffer become a part. */
static bool flush(Collection *all)
{
    const TypeInfo *info = all->c->info;
    if (!all->used)
        return true;
    const VarIndex var = all->used == 1 ? var_literal(info, all->buffer, 1)
                                     : var_copy(info, all->buffer, all->used);
    if (!var)
        return convert_array_fail_core(all->c);
    const size_t size = all->used;
    all->used = 0;
    return add_part(all, var, size);
}

/* ---------------------------------------------------------------- walk */

static bool fail_ragged(const Collection *all)
{
    return convert_array_fail(all->c, PyExc_TypeError,
                              "the input is ragged: sequences along axis %zu have "
                              "different lengths or depths",
                              all->levels ? all->levels - 1 : 0);
}

/* An axis at this level has that extent. */
static bool set_extent(Collection *all, size_t level, size_t extent)
{
    if (level < all->levels)
        return all->shape[level] == extent || fail_ragged(all);
    if (all->complete)
        return fail_ragged(all);
    if (level == TENSOR_MAX_DIMS)
        return convert_array_fail(all->c, PyExc_RecursionError,
                                  "the input is nested more than %d levels deep",
                                  TENSOR_MAX_DIMS);
    all->shape[all->levels++] = extent;
    return true;
}

/* Entries start below this level. */
static bool set_complete(Collection *all, size_t level)
{
    all->complete = true;
    return level == all->levels || fail_ragged(all);
}

static bool add_numbers(Collection *all, PyObject *const *items, size_t n)
{
    const TypeInfo *info = all->c->info;
    if (!reserve(all, n) ||
        !convert_fill_buffer(all->c, (VarType) info->entry, items, n,
                             all->buffer + all->used * info->entry_size))
        return false;
    all->used += n;
    return true;
}

/* A tensor of the wanted type: its axes and entries. */
static bool add_tensor(Collection *all, size_t level, Array *tensor)
{
    const size_t ndim = array_tensor(tensor)->ndim, *shape = extents_bind(tensor);
    size_t size;
    for (size_t i = 0; i < ndim; i++)
        if (!set_extent(all, level + i, shape[i]))
            return false;
    if (!set_complete(all, level + ndim) || !array_shape_size(ndim, shape, &size))
        return false;
    if (!size && all->c->info->jit && !all->none)
        all->none = var_ref(array_var(tensor));
    if (!size)
        return true;
    if (all->c->info->jit) {
        reads_note_copy(tensor, 0, 1);
        return flush(all) && add_part(all, var_ref(array_var(tensor)), size);
    }
    if (!reserve(all, size))
        return false;
    const size_t entry = all->c->info->entry_size;
    memcpy(all->buffer + all->used * entry, array_data(tensor), size * entry);
    all->used += size;
    return true;
}

static bool add_array(Collection *all, size_t level, Array *array)
{
    Array *tensor = array->info == all->c->info
                        ? (Array *) Py_NewRef((PyObject *) array)
                        : convert_array(all->c->info, array, all->c->operation);
    const bool ok = tensor && add_tensor(all, level, tensor);
    Py_XDECREF((PyObject *) tensor);
    return ok;
}

static bool all_numbers(PyObject *const *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!convert_is_number(items[i]))
            return false;
    return true;
}

static bool add_value(Collection *all, size_t level, PyObject *value)
{
    if (convert_is_number(value))
        return set_complete(all, level) && add_numbers(all, &value, 1);
    if (array_check(all->c->info->state, value))
        return add_array(all, level, (Array *) value);
    Array *made;
    if (convert_is_foreign(all->c->info, value, false, &made)) {
        const bool ok = made && add_tensor(all, level, made);
        Py_XDECREF((PyObject *) made);
        return ok;
    }
    PyObject *tuple = convert_items(all->c, value);
    if (!tuple)
        return false;
    PyObject *const *items = PySequence_Fast_ITEMS(tuple);
    const size_t n = (size_t) PyTuple_GET_SIZE(tuple);
    bool ok = set_extent(all, level, n);
    if (ok && all_numbers(items, n))
        ok = set_complete(all, level + 1) && add_numbers(all, items, n);
    else
        for (size_t i = 0; i < n && ok; i++)
            ok = add_value(all, level + 1, items[i]);
    Py_DECREF(tuple);
    return ok;
}

/* ---------------------------------------------------------------- result */

static Array *finish(Collection *all)
{
    const TypeInfo *info = all->c->info;
    if (info->jit && !flush(all))
        return NULL;
    Array *tensor = array_new_tensor(info, all->levels, all->shape);
    if (!tensor)
        return NULL;
    if (!info->jit) {
        if (all->used)
            memcpy(array_data(tensor), all->buffer, all->used * info->entry_size);
        return tensor;
    }
    VarIndex storage = 0;
    bool ok = true;
    if (!all->part_count)
        ok = var_none(info, 1, &all->none, &storage);
    else if (all->part_count == 1)
        storage = var_copied(all->parts[0]);
    else
        storage =
            convert_array_concat(info, all->parts, all->sizes, all->part_count);
    if (all->part_count)
        ok = (storage = var_of_none(storage, 1, &all->none)) != 0;
    if (!ok) {
        convert_array_fail_core(all->c);
        Py_DECREF((PyObject *) tensor);
        return NULL;
    }
    array_set_leaf(tensor, 0, storage);
    return tensor;
}

Array *convert_tensor_value(const Conversion *c, PyObject *value)
{
    Array *made;
    if (convert_is_foreign(c->info, value, c->share, &made))
        return made;
    if (convert_is_number(value)) { /* alone: converted as int(x), ... do */
        made = array_new_tensor(c->info, 0, NULL);
        const Conversion one = { &c->info->state->types[c->info->array], c->operation,
                                 false };
        Array *entry = made ? convert_to(one.info, value, c->operation) : NULL;
        if (!entry) {
            Py_XDECREF((PyObject *) made);
            return NULL;
        }
        if (c->info->jit)
            array_set_leaf(made, 0, var_copied(array_var(entry)));
        else
            memcpy(array_data(made), array_data(entry), c->info->entry_size);
        Py_DECREF((PyObject *) entry);
        return made;
    }
    Collection all = { .c = c };
    Array *tensor = add_value(&all, 0, value) ? finish(&all) : NULL;
    for (size_t i = 0; i < all.part_count; i++)
        var_unref(all.parts[i]);
    var_unref(all.none);
    PyMem_Free(all.parts);
    PyMem_Free(all.sizes);
    PyMem_Free(all.buffer);
    return tensor;
}

/* ---------------------------------------------------------------- constructor */

/* The extents in a tuple or list; false: exception. */
static bool parse_shape(const Conversion *c, PyObject *object, Extents *shape)
{
    if (!PyTuple_Check(object) && !PyList_Check(object))
        return convert_array_fail(c, PyExc_TypeError,
                                  "expected a tuple as 'shape' and a bool as "
                                  "'flip_axes'");
    PyObject *tuple = PySequence_Tuple(object);
    bool ok = tuple;
    const size_t ndim = tuple ? (size_t) PyTuple_GET_SIZE(tuple) : 0;
    if (ndim > TENSOR_MAX_DIMS)
        ok = convert_array_fail(c, PyExc_TypeError,
                                "'shape' has %zu axes, expected at most %d", ndim,
                                TENSOR_MAX_DIMS);
    extents_set_numbers(shape, 0, NULL);
    for (size_t i = 0; i < ndim && ok; i++) {
        Py_ssize_t value;
        Extent extent;
        ok = extent_read(PyTuple_GET_ITEM(tuple, i), &value, &extent);
        if (ok)
            extents_append(shape, extent);
        else
            convert_array_fail(c, PyExc_TypeError,
                               "'shape' is not a tuple of integers that are 0 or more");
    }
    Py_XDECREF(tuple);
    return ok;
}

/* TensorXf(storage, shape) */
static Array *with_shape(const Conversion *c, PyObject *array, PyObject *shape_object)
{
    Extents shape;
    Extent expected;
    if (!parse_shape(c, shape_object, &shape) || !extents_total(&shape, &expected))
        return NULL;
    const TypeInfo *info = c->info;
    if (array_check(info->state, array) &&
        ((Array *) array)->info->kind == KIND_TENSOR) {
        convert_array_fail(c, PyExc_TypeError,
                           "the input is a tensor, expected a flat array as storage; "
                           "to reshape use Tensor(x.array, shape) or "
                           "drjit.reshape(Tensor, x, shape)");
        return NULL;
    }
    Array *storage = convert_to(&info->state->types[info->array], array, c->operation);
    if (!storage) {
        convert_array_fail(c, PyExc_TypeError,
                           "could not make the storage of the tensor from the input");
        return NULL;
    }
    const VarIndex var = info->jit ? array_var(storage) : 0;
    const size_t size = var ? var_peek_size(var) : 0;
    const Extent got = !info->jit ? extent_of(array_count(storage))
                                  : extent_of_leaf(var, size);
    Array *tensor = NULL;
    if (!extent_equal(got, expected))
        convert_array_fail(c, PyExc_TypeError,
                           "the input has %zu entries, expected %zu", got.n,
                           expected.n);
    else
        tensor = extents_new_tensor(info, &shape);
    reads_note_copy(storage, 0, var != 0);
    if (tensor && var)
        array_set_leaf(tensor, 0, var_copied(var));
    else if (tensor && !info->jit && got.n)
        memcpy(array_data(tensor), array_data(storage), got.n * info->entry_size);
    Py_DECREF((PyObject *) storage);
    return tensor;
}

/* Find array, shape and flip_axes among positional and keyword arguments. */
static bool parse_arguments(const Conversion *c, PyObject *const *args, Py_ssize_t n,
                            PyObject *names, PyObject **out)
{
    static const char *const keywords[] = { "array", "shape", "flip_axes" };
    if (n > 3)
        return convert_array_fail(c, PyExc_TypeError,
                                  "found %zd arguments, expected at most 3: (array, "
                                  "shape, flip_axes)",
                                  n);
    for (Py_ssize_t i = 0; i < n; i++)
        out[i] = args[i];
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        int k = 0;
        while (k < 3 && PyUnicode_CompareWithASCIIString(name, keywords[k]) != 0)
            k++;
        if (k == 3)
            return convert_array_fail(c, PyExc_TypeError,
                                      "there is no argument named '%U'", name);
        if (out[k])
            return convert_array_fail(c, PyExc_TypeError,
                                      "got several values for the argument '%U'", name);
        out[k] = args[n + i];
    }
    return true;
}

Array *convert_tensor_construct(const Conversion *c, PyObject *const *args,
                                Py_ssize_t n, PyObject *names)
{
    PyObject *found[] = { NULL, NULL, NULL };
    if (!parse_arguments(c, args, n, names, found))
        return NULL;
    PyObject *array = found[0], *shape = found[1] == Py_None ? NULL : found[1];
    if (!array) {
        const size_t none = 0;
        if (!shape && !found[2])
            return array_new_tensor(c->info, 1, &none);
        convert_array_fail(c, PyExc_TypeError, "the argument 'array' is missing");
        return NULL;
    }
    if (found[2] && !PyBool_Check(found[2])) {
        convert_array_fail(c, PyExc_TypeError,
                           "expected a tuple as 'shape' and a bool as 'flip_axes'");
        return NULL;
    }
    const bool flip = found[2] == Py_True, ours = array_check(c->info->state, array);
    if (flip && (shape || !ours || ((Array *) array)->info->kind == KIND_TENSOR)) {
        convert_array_fail(
            c, PyExc_TypeError,
            "'flip_axes=True' is possible for nested Dr.Jit arrays and without 'shape' "
            "only");
        return NULL;
    }
    if (shape)
        return with_shape(c, array, shape);
    if (flip)
        return convert_array_tensor(c, (Array *) array, true);
    return ours ? convert_array(c->info, (Array *) array, c->operation)
                : convert_tensor_value(c, array);
}
