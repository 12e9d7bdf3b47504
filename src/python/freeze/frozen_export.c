/*
 * frozen_export.c -- see frozen_export.h
 */
#include "python/freeze/frozen_export.h"

#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/base/tables.h"

/* -------------------------------------------------------------------- paths */

/* "PATH.shape[axis]" */
static PyObject *extent_path(const Tree *tree, size_t leaf, size_t axis)
{
    PyObject *path = tree_leaf_path(tree, leaf);
    PyObject *own = path ? PyUnicode_FromFormat("%U.shape[%zu]", path, axis) : NULL;
    Py_XDECREF(path);
    return own;
}

/* Put a path (stolen) to a place of a list. False: it is NULL. */
static bool put(PyObject **list, size_t place, PyObject *path)
{
    if (path)
        PyList_SetItem(*list, (Py_ssize_t) place, path);
    else
        Py_CLEAR(*list);
    return path;
}

static PyObject *input_extents(const Frozen *f)
{
    const InputSpec *o = f->inputs;
    PyObject *list = PyList_New((Py_ssize_t) o->extra);
    size_t extent = 0, next = o->c.id_count; /* they come in order */
    for (size_t leaf = 0; list && extent < o->extent_count; leaf++) {
        const TypeInfo *info = o->c.places[leaf].info;
        const size_t count = info && info->kind == KIND_TENSOR
                                 ? array_tensor(array_of(o->c.tree.leaves[leaf]))->ndim
                                 : 0;
        for (size_t i = 0; list && i < count; i++)
            if (o->extents[extent++] == next)
                put(&list, next++ - o->c.id_count, extent_path(&o->c.tree, leaf, i));
    }
    return list;
}

/* Sizes of the result: extents of tensors, and numbers; the first ones count. */
static PyObject *output_sizes(const Frozen *f)
{
    PyObject *list = PyList_New((Py_ssize_t) f->size_count);
    for (size_t leaf = f->tree.leaf_count; list && leaf-- > 0;) {
        const OutputLeaf *out = &f->leaves[leaf];
        const size_t count = !out->sizes ? 0 : out->cls ? array_tensor(out->like)->ndim
                                                        : 1;
        for (size_t i = count; list && i-- > 0;)
            if (out->sizes[i])
                put(&list, out->sizes[i] - (size_t) 1,
                    out->cls ? extent_path(&f->tree, leaf, i)
                             : tree_leaf_path(&f->tree, leaf));
    }
    return list;
}

static PyObject *changed_paths(const Frozen *f)
{
    PyObject *list = PyList_New((Py_ssize_t) f->change_count);
    for (size_t i = 0; list && i < f->change_count; i++)
        put(&list, i, tree_leaf_path(&f->inputs->c.tree, f->changes[i].leaf));
    return list;
}

PyObject *frozen_export_paths(PyObject *self, PyObject *unused)
{
    const Frozen *f = (Frozen *) self;
    FlattenedInputs outputs;
    PyObject *made = frozen_outputs(f, &outputs) ? flattened_paths(&outputs) : NULL;
    (void) unused;
    frozen_outputs_free(&outputs);
    PyObject *lists[] = { flattened_paths(&f->inputs->c), input_extents(f), made,
                          output_sizes(f), changed_paths(f) };
    enum { COUNT = sizeof(lists) / sizeof(*lists) };
    PyObject *paths = PyTuple_New(COUNT);
    for (Py_ssize_t i = 0; i < COUNT; i++) {
        if (!lists[i])
            Py_CLEAR(paths);
        if (paths)
            PyTuple_SET_ITEM(paths, i, lists[i]);
        else
            Py_XDECREF(lists[i]);
    }
    return paths;
}

/* ------------------------------------------------------------------- export */

/* The texts of a list, which keeps them. NULL: exception. */
static const char **texts_of(PyObject *list, size_t count)
{
    const char **texts =
        PyList_Check(list) && PyList_GET_SIZE(list) == (Py_ssize_t) count
            ? PyMem_Calloc(count + 1, sizeof(*texts))
            : NULL;
    if (!texts && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "drjit.freeze(): expected a name for each");
    for (size_t i = 0; texts && i < count; i++)
        if (!(texts[i] = PyUnicode_AsUTF8(PyList_GET_ITEM(list, (Py_ssize_t) i)))) {
            PyMem_Free(texts);
            texts = NULL;
        }
    return texts;
}

/* (recording, name, names of inputs, of outputs, JitExportBounds) */
static bool read_function(const State *state, PyObject *row, JitExport *out)
{
    PyObject *frozen, *in, *made;
    int bounds;
    if (!PyArg_ParseTuple(row, "OsOOi", &frozen, &out->name, &in, &made, &bounds))
        return false;
    if (Py_TYPE(frozen) != state->frozen)
        return error_raise(PyExc_TypeError, "freeze", NULL, 0, "expected a recording");
    const Frozen *f = (const Frozen *) frozen;
    out->recording = f->recording;
    out->bounds = (JitExportBounds) bounds;
    out->input_sizes = f->inputs->extra;
    out->output_sizes = f->size_count;
    out->inputs = texts_of(in, f->inputs->c.id_count + out->input_sizes);
    out->outputs =
        out->inputs ? texts_of(made, f->output_count + f->size_count) : NULL;
    return out->outputs;
}

/* (folder as bytes, list of functions): write a library. */
static PyObject *export_library(PyObject *module, PyObject *args)
{
    const char *folder;
    PyObject *list;
    if (!PyArg_ParseTuple(args, "yO!", &folder, &PyList_Type, &list))
        return NULL;
    const size_t count = (size_t) PyList_GET_SIZE(list);
    JitExport *functions = PyMem_Calloc(count + 1, sizeof(*functions));
    bool ok = functions;
    if (!ok)
        PyErr_NoMemory();
    for (size_t i = 0; ok && i < count; i++)
        ok = read_function(state_of_module(module),
                           PyList_GET_ITEM(list, (Py_ssize_t) i), &functions[i]);
    if (ok) {
        GIL_RELEASE_BEGIN
        ok = jit_freeze_export(folder, count, functions);
        GIL_RELEASE_END
        if (!ok)
            error_from_core("FrozenFunction.export", NULL, 0);
    }
    for (size_t i = 0; functions && i < count; i++) {
        PyMem_Free((void *) functions[i].inputs);
        PyMem_Free((void *) functions[i].outputs);
    }
    PyMem_Free(functions);
    return ok ? Py_NewRef(Py_None) : NULL;
}

PyMethodDef frozen_export_functions[] = {
    { "_freeze_export", export_library, METH_VARARGS,
      "_freeze_export(folder, functions)\n\nsee drjit._freeze.export" },
    { NULL, NULL, 0, NULL },
};
