/*
 * key.h -- what stands in the brackets of a[...]: questions that arrays and tensors
 * share
 */
#ifndef PYTHON_KEY_H
#define PYTHON_KEY_H

#include "python/array/array.h"

enum { KEY_GET, KEY_SET };

/** Name of the operation for errors: "llvm.Array3f.__getitem__". */
typedef struct KeyName {
    char text[64];
} KeyName;

static inline KeyName key_name(const Array *a, int set)
{
    KeyName name;
    static const char suffixes[2][sizeof(".__getitem__")] = { ".__getitem__",
                                                              ".__setitem__" };
    const char *prefix = strchr(a->info->name, '.') + 1;
    const size_t length = strnlen(prefix, sizeof(name.text) - sizeof(suffixes[0]));
    memcpy(name.text, prefix, length);
    memcpy(name.text + length, suffixes[set], sizeof(suffixes[set]));
    return name;
}

static inline bool key_is_integer(PyObject *key)
{
    return PyIndex_Check(key) && !PyBool_Check(key) && !PySequence_Check(key);
}

static inline bool key_is_full_slice(PyObject *key)
{
    const PySliceObject *s = (PySliceObject *) key;
    return PySlice_Check(key) && s->start == Py_None && s->stop == Py_None &&
           s->step == Py_None;
}

static inline bool key_is_mask(const State *state, PyObject *key)
{
    return array_check(state, key) && type_is_mask(((Array *) key)->info);
}

/** A flat array of integers? (Tensors of integers are for the caller to decide.) */
static inline bool key_is_indices(const State *state, PyObject *key)
{
    if (!array_check(state, key))
        return false;
    const TypeInfo *info = ((Array *) key)->info;
    return !type_is_mask(info) && !type_is_float(info) &&
           (info->kind == KIND_FLAT ||
            (!info->jit && info->kind == KIND_ARRAY && info->ndim == 1));
}

#endif
