/*
 * slice.c -- entries along the trailing dynamic axis of the arrays of a PyTree
 *
 * A leaf of size 1 stands for any number of equal entries, so every position selects
 * its entry. Tensors and other objects stay as they are.
 */
#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/convert/convert.h"
#include "python/memory/gather.h"
#include "python/tree/tree.h"

typedef struct Slice {
    Access access;
    Py_ssize_t position; /* if 'single' */
    bool single;
    size_t widest; /* most entries of a leaf so far */
} Slice;

static bool out_of_bounds(const Slice *s, size_t size)
{
    return error_raise(PyExc_IndexError, s->access.operation, NULL, 0,
                       "index %zd is out of bounds for axis 0 with size %zu",
                       s->position, size);
}

/* Which entry of a leaf with that many; false with an IndexError. One entry stands for
 * all lanes, of which slice_value() checks that there are enough. */
static bool find_entry(Slice *s, size_t size, size_t *entry)
{
    Py_ssize_t i = s->position;
    if (size > s->widest)
        s->widest = size;
    if (size == 1) {
        *entry = 0;
        return true;
    }
    if (i < 0)
        i += (Py_ssize_t) size;
    if (i < 0 || (size_t) i >= size)
        return out_of_bounds(s, size);
    *entry = (size_t) i;
    return true;
}

static bool read_leaf(Slice *s, const Array *a, size_t i, void *entry)
{
    VarIndex index = array_leaves(a)[i];
    size_t offset;
    reads_note_whole(a);
    if (!find_entry(s, index ? var_size(index) : 0, &offset))
        return false;
    if (!evaluate_read(index, offset, entry))
        return error_from_core(s->access.operation, NULL, 0);
    return true;
}

static PyObject *slice_jit(Slice *s, Array *a)
{
    if (a->info->kind == KIND_FLAT) {
        uint64_t entry = 0;
        return read_leaf(s, a, 0, &entry)
                   ? convert_entry((VarType) a->info->entry, &entry)
                   : NULL;
    }
    const TypeInfo *info =
        &s->access.state->types[type_in_family(a->info, FAMILY_SCALAR)];
    Array *result = array_new_like(info, a);
    for (size_t i = 0; result && i < array_count(a); i++)
        if (!var_is_empty(array_leaves(a)[i]))
            var_schedule(array_leaves(a)[i]); /* one kernel for all */
    for (size_t i = 0; result && i < array_count(result); i++)
        if (!read_leaf(s, a, i, (char *) array_data(result) + i * info->entry_size))
            Py_CLEAR(result);
    return (PyObject *) result;
}

static PyObject *slice_leaf(void *context, PyObject *const *leaves)
{
    Slice *s = context;
    PyObject *value = leaves[0];
    if (!array_check(s->access.state, value))
        return Py_NewRef(value);
    Array *a = (Array *) value;
    if (a->info->kind == KIND_TENSOR || !(a->info->jit || access_is_flat(a->info)))
        return Py_NewRef(value);
    if (!s->single)
        return gather_same(&s->access, Py_TYPE(value), a);
    if (a->info->jit)
        return slice_jit(s, a);
    size_t entry;
    if (!find_entry(s, array_count(a), &entry))
        return NULL;
    return convert_entry((VarType) a->info->entry,
                         (char *) array_data(a) + entry * a->info->entry_size);
}

PyObject *slice_value(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *names)
{
    static const char *const parameters[] = { "value", "index" };
    static const Signature signature = { "slice", parameters, 2, 1, 0 };
    State *state = state_of_module(module);
    PyObject *v[2];
    if (!arguments_parse(&signature, args, nargs, names, v))
        return NULL;
    Slice slice = { .single =
                        !v[1] || (PyIndex_Check(v[1]) && !array_check(state, v[1])) };
    if (slice.single && v[1]) {
        slice.position = PyNumber_AsSsize_t(v[1], PyExc_IndexError);
        if (slice.position == -1 && PyErr_Occurred())
            return NULL;
    }
    access_start(&slice.access, state, "slice", v[1], NULL);
    PyObject *result = tree_map(state, "slice", &v[0], 1, slice_leaf, &slice);
    access_end(&slice.access);
    if (result && slice.widest == 1 && slice.position != 0 && slice.position != -1) {
        out_of_bounds(&slice, 1);
        Py_CLEAR(result);
    }
    return result;
}
