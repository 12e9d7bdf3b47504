/*
 * frozen_export.c -- see frozen_export.h
 */
#include "python/freeze/frozen_export.h"

#include "python/object/error.h"
#include "python/object/tables.h"
#include "python/object/wait.h"

/* -------------------------------------------------------------------- paths */

/* Put "PATH.shape[axis]" to a place of a list, unless there is something already. */
static bool put_extent(PyObject *list, size_t place, const Tree *tree, size_t leaf,
                       size_t axis)
{
    if (PyList_GET_ITEM(list, (Py_ssize_t) place))
        return true;
    PyObject *path = tree_leaf_path(tree, leaf);
    PyObject *own = path ? PyUnicode_FromFormat("%U.shape[%zu]", path, axis) : NULL;
    Py_XDECREF(path);
    if (own)
        PyList_SET_ITEM(list, (Py_ssize_t) place, own);
    return own;
}

/* Extents of tensors that are inputs of the core. */
static PyObject *input_extents(const Snapshot *s)
{
    const Collection *c = &s->inputs;
    PyObject *list = PyList_New((Py_ssize_t) s->sizes.extra);
    for (size_t leaf = 0; list && leaf < c->tree.leaf_count; leaf++) {
        if (!c->places[leaf].info || c->places[leaf].info->kind != KIND_TENSOR)
            continue;
        const Tensor *t = array_tensor(array_of(c->tree.leaves[leaf]));
        for (size_t i = 0; list && i < t->ndim; i++) {
            const SizeClass *known =
                t->extents[i] > UINT32_MAX
                    ? NULL
                    : size_classes_find(&s->sizes, (uint32_t) t->extents[i]);
            if (known && known->input >= c->id_count &&
                !put_extent(list, known->input - c->id_count, &c->tree, leaf, i))
                Py_CLEAR(list);
        }
    }
    return list;
}

/* Sizes of the result: extents of tensors, and numbers. */
static PyObject *output_sizes(const Frozen *f, const Collection *c)
{
    PyObject *list = PyList_New((Py_ssize_t) f->size_count);
    for (size_t leaf = 0; list && leaf < c->tree.leaf_count; leaf++) {
        const OutputLeaf *out = &f->leaves[leaf];
        const size_t count = !out->sizes ? 0 : out->cls ? array_tensor(out->like)->ndim
                                                        : 1;
        for (size_t i = 0; list && i < count; i++) {
            const size_t place = out->sizes[i] - (size_t) 1;
            if (!out->sizes[i])
                continue;
            if (out->cls && !put_extent(list, place, &c->tree, leaf, i))
                Py_CLEAR(list);
            else if (!out->cls && !PyList_GET_ITEM(list, (Py_ssize_t) place))
                PyList_SET_ITEM(list, (Py_ssize_t) place,
                                tree_leaf_path(&c->tree, leaf));
        }
    }
    return list;
}

static PyObject *changed_paths(const Frozen *f, const Snapshot *s)
{
    PyObject *list = PyList_New((Py_ssize_t) f->change_count);
    for (size_t i = 0; list && i < f->change_count; i++) {
        PyObject *path = tree_leaf_path(&s->inputs.tree, f->changes[i].leaf);
        if (path)
            PyList_SET_ITEM(list, (Py_ssize_t) i, path);
        else
            Py_CLEAR(list);
    }
    return list;
}

bool frozen_export_keep(Frozen *f, const Snapshot *s, const Collection *outputs)
{
    PyObject *lists[] = { collection_paths(&s->inputs), input_extents(s),
                          collection_paths(outputs), output_sizes(f, outputs),
                          changed_paths(f, s) };
    enum { COUNT = sizeof(lists) / sizeof(*lists) };
    f->paths = PyTuple_New(COUNT);
    for (Py_ssize_t i = 0; i < COUNT; i++) {
        if (!lists[i])
            Py_CLEAR(f->paths);
        if (f->paths)
            PyTuple_SET_ITEM(f->paths, i, lists[i]);
        else
            Py_XDECREF(lists[i]);
    }
    return f->paths;
}

PyObject *frozen_export_paths(PyObject *self, PyObject *unused)
{
    (void) unused;
    PyObject *paths = ((Frozen *) self)->paths; /* NULL: it was loaded */
    return Py_NewRef(paths ? paths : Py_None);
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

static size_t paths_in(const Frozen *f, Py_ssize_t list)
{
    return (size_t) PyList_GET_SIZE(PyTuple_GET_ITEM(f->paths, list));
}

/* (recording, name, names of inputs, of outputs) */
static bool read_function(const State *state, PyObject *row, JitExport *out)
{
    PyObject *frozen, *in, *made;
    if (!PyArg_ParseTuple(row, "OsOO", &frozen, &out->name, &in, &made))
        return false;
    if (Py_TYPE(frozen) != state->frozen)
        return error_raise(PyExc_TypeError, "freeze", NULL, 0, "expected a recording");
    const Frozen *f = (const Frozen *) frozen;
    if (!f->paths)
        return error_raise(PyExc_RuntimeError, "freeze", NULL, 0,
                           "a recording that was loaded cannot be exported");
    out->recording = f->recording;
    out->input_sizes = paths_in(f, 1);
    out->output_sizes = f->size_count;
    out->inputs = texts_of(in, paths_in(f, 0) + out->input_sizes);
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
        WAIT_BEGIN
        ok = jit_freeze_export(folder, count, functions);
        WAIT_END
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
      "_freeze_export(folder, functions)\n\nsee drjit._freeze_export" },
    { NULL, NULL, 0, NULL },
};
