/*
 * frozen_file.c -- recordings as bytes, and from bytes; see drjit._freeze.file
 */
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/base/tables.h"
#include "python/freeze/frozen.h"
#include "python/freeze/frozen_match.h"
#include "python/freeze/reads.h"
#include "python/freeze/spec_codec.h"

static const char name[] = "freeze";

/* ---------------------------------------------------------------- saving */

static PyObject *frozen_rows(PyObject *self, void *unused)
{
    const Frozen *f = (Frozen *) self;
    (void) unused;
    return spec_rows_of_inputs(&f->inputs->c, f->inputs->described);
}

static PyObject *frozen_repeated(PyObject *self, void *unused)
{
    (void) unused;
    const FlattenedInputs *c = &((Frozen *) self)->inputs->c;
    return spec_rows_numbers(c->repeated, c->repeated_count, sizeof(*c->repeated));
}

static PyObject *frozen_output_rows(PyObject *self, void *unused)
{
    const Frozen *f = (Frozen *) self;
    FlattenedInputs outputs;
    (void) unused;
    PyObject *rows = frozen_outputs(f, &outputs) ? spec_rows_make(&outputs) : NULL;
    frozen_outputs_free(&outputs);
    return rows;
}

/* Which sizes the extents of a leaf of the outputs are, or the number that it is. */
static PyObject *sizes_of(const OutputLeaf *out)
{
    if (!out->sizes)
        return Py_NewRef(Py_None);
    const size_t count = out->like ? array_tensor(out->like)->ndim : 1;
    return spec_rows_numbers(out->sizes, count, sizeof(*out->sizes));
}

static PyObject *frozen_sizes(PyObject *self, void *unused)
{
    const Frozen *f = (Frozen *) self;
    PyObject *list = PyList_New(0);
    (void) unused;
    for (size_t i = 0; list && i < f->tree.leaf_count; i++)
        if (!list_add(list, sizes_of(&f->leaves[i])))
            Py_CLEAR(list);
    return list ? Py_BuildValue("nN", (Py_ssize_t) f->size_count, list) : NULL;
}

static PyObject *frozen_changes(PyObject *self, void *unused)
{
    const Frozen *f = (Frozen *) self;
    PyObject *list = PyList_New(0);
    (void) unused;
    for (size_t i = 0; list && i < f->change_count; i++)
        if (!list_add(list, Py_BuildValue("nO", (Py_ssize_t) f->changes[i].leaf,
                                          f->changes[i].replaced ? Py_True : Py_False)))
            Py_CLEAR(list);
    return list;
}

static PyObject *frozen_suspended(PyObject *self, void *unused)
{
    (void) unused;
    return PyBool_FromLong(((Frozen *) self)->inputs->suspended);
}

static PyObject *frozen_check(PyObject *self, void *unused)
{
    (void) unused;
    return PyLong_FromSsize_t(((Frozen *) self)->check);
}

static int frozen_set_check(PyObject *self, PyObject *count, void *unused)
{
    const Py_ssize_t check = count ? PyLong_AsSsize_t(count) : FROZEN_UNASKED;
    (void) unused;
    if (PyErr_Occurred())
        return -1;
    ((Frozen *) self)->check = check;
    return 0;
}

/* Of each node of the outputs, which one is the same object, + 1, and which node of the
 * inputs, + 1; 0: none. Of each leaf, whether it is a part of that. */
static PyObject *frozen_objects(PyObject *self, void *unused)
{
    const Frozen *f = (Frozen *) self;
    const size_t count = f->tree.node_count;
    const size_t leaves = f->tree.leaf_count;
    uint32_t *given = PyMem_Calloc(count + leaves + 1, sizeof(*given));
    (void) unused;
    if (!given)
        return PyErr_NoMemory();
    for (size_t i = 0; i < leaves; i++)
        given[count + i] = f->leaves[i].part;
    for (size_t i = 0; i < count; i++)
        if (f->given[i])
            given[i] = (uint32_t) f->returned[f->given[i] - 1] + 1;
    PyObject *all =
        Py_BuildValue("NNN", spec_rows_numbers(f->same, count, sizeof(*given)),
                      spec_rows_numbers(given, count, sizeof(*given)),
                      spec_rows_numbers(given + count, leaves, sizeof(*given)));
    PyMem_Free(given);
    return all;
}

/* The same places, found anew. */
static int frozen_set_reads(PyObject *self, PyObject *reads, void *unused)
{
    Frozen *f = (Frozen *) self;
    (void) unused;
    if (reads && reads_check(f->state, reads))
        Py_XSETREF(f->reads, Py_NewRef(reads));
    return 0;
}

PyGetSetDef frozen_file_members[] = {
    { "rows", frozen_rows, NULL, "of the inputs, and their variables", NULL },
    { "repeated", frozen_repeated, NULL, "FlattenedInputs.repeated of these", NULL },
    { "output_rows", frozen_output_rows, NULL, "of the outputs", NULL },
    { "changes", frozen_changes, NULL, "[(leaf of the inputs, replaced?)]", NULL },
    { "sizes", frozen_sizes, NULL, "(number, [which, of outputs' extents])", NULL },
    { "suspended", frozen_suspended, NULL, "were derivatives suspended?", NULL },
    { "objects", frozen_objects, NULL, "([the same], [of which input], [a part?])",
      NULL },
    { "reads", NULL, frozen_set_reads, "see reads.h", NULL },
    { "check", frozen_check, frozen_set_check, "see frozen.h", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

/* (recordings, note): bytes. */
static PyObject *frozen_save(PyObject *module, PyObject *args)
{
    const State *state = state_of_module(module);
    PyObject *list;
    Py_buffer note;
    if (!PyArg_ParseTuple(args, "O!y*:_freeze_save", &PyList_Type, &list, &note))
        return NULL;
    const Py_ssize_t count = PyList_GET_SIZE(list);
    JitRecording **recordings = PyMem_New(JitRecording *, count + 1);
    Py_ssize_t found = 0;
    while (recordings && found < count &&
           Py_TYPE(PyList_GET_ITEM(list, found)) == state->frozen) {
        recordings[found] = ((Frozen *) PyList_GET_ITEM(list, found))->recording;
        found++;
    }
    PyObject *held = PyList_GetSlice(list, 0, count), *result = NULL;
    if (!recordings || !held) {
        PyErr_NoMemory();
    } else if (found < count) {
        error_raise(PyExc_TypeError, name, NULL, 0, "expected recordings");
    } else {
        void *block;
        size_t size;
        GIL_RELEASE_BEGIN
        block = jit_freeze_save((size_t) count, recordings, note.buf, (size_t) note.len,
                                &size);
        GIL_RELEASE_END
        result = block ? PyBytes_FromStringAndSize(block, (Py_ssize_t) size)
                       : error_from_core(name, NULL, 0);
        jit_freeze_free(block);
    }
    Py_XDECREF(held);
    PyMem_Free(recordings);
    PyBuffer_Release(&note);
    return result;
}

/* ---------------------------------------------------------------- loading */

/* (bytes): (number of recordings, note). */
static PyObject *frozen_inspect(PyObject *module, PyObject *block)
{
    size_t count, size;
    const void *note;
    (void) module;
    if (!PyBytes_Check(block))
        return error_raise(PyExc_TypeError, name, NULL, 0, "expected bytes");
    if (!jit_freeze_inspect(PyBytes_AS_STRING(block), (size_t) PyBytes_GET_SIZE(block),
                            &count, &note, &size))
        return error_from_core(name, NULL, 0);
    return Py_BuildValue("ny#", (Py_ssize_t) count, note, (Py_ssize_t) size);
}

static bool fail(const char *what)
{
    return error_raise(PyExc_ValueError, name, NULL, 0, "a saved recording: %s", what);
}

/* The variables of the inputs, as spec_rows_of_inputs() gives them. NULL: exception. */
static JitFreezeInput *take_variables(PyObject *list)
{
    const Py_ssize_t count = PyList_GET_SIZE(list);
    JitFreezeInput *inputs = PyMem_Calloc((size_t) count + 1, sizeof(*inputs));
    if (!inputs)
        return (JitFreezeInput *) PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) {
        JitFreezeInput *in = &inputs[i];
        int literal, padded;
        unsigned long long bits;
        if (!PyTuple_Check(PyList_GET_ITEM(list, i)) ||
            !PyArg_ParseTuple(PyList_GET_ITEM(list, i), "IBppK:_freeze_load", &in->size,
                              &in->type, &literal, &padded, &bits)) {
            PyMem_Free(inputs);
            if (!PyErr_Occurred())
                fail("a variable is not a tuple");
            return NULL;
        }
        in->literal = literal != 0;
        in->padded = padded != 0;
        in->stored = !literal;
        in->bits = bits;
    }
    return inputs;
}

static bool check_numbers(const FlattenedInputs *c, size_t count)
{
    for (size_t i = 0; i < c->number_count; i++)
        if (c->numbers[i] > count)
            return fail("a variable does not exist");
    return true;
}

/* What has changed stands in a list, the second part of the outputs; arrays that are
 * not replaced are arrays in both. */
static bool check_changes(const Frozen *f, const FlattenedInputs *in,
                          const FlattenedInputs *out)
{
    const Tree *tree = &out->tree;
    if (tree->nodes[0].kind != NODE_TUPLE || tree->nodes[0].count != 2)
        return fail("the outputs are not a pair");
    TreePlace at = { 1, 0 };
    tree_skip(tree, &at);
    if (tree->nodes[at.node].kind != NODE_LIST ||
        (size_t) tree->nodes[at.node].count != f->change_count)
        return fail("the number of changes does not fit");
    at.node++;
    for (size_t i = 0; i < f->change_count; i++) {
        const Change *change = &f->changes[i];
        if (change->leaf >= in->tree.leaf_count)
            return fail("an input that has changed does not exist");
        const TypeInfo *info = in->places[change->leaf].info;
        if (!change->replaced && (tree->nodes[at.node].kind != NODE_LEAF || !info ||
                                  out->places[at.leaf].info != info))
            return fail("a change does not fit");
        tree_skip(tree, &at);
    }
    return true;
}

static bool take_changes(Frozen *f, PyObject *list)
{
    const Py_ssize_t count = PyList_GET_SIZE(list);
    f->changes = PyMem_Calloc((size_t) count + 1, sizeof(*f->changes));
    if (!f->changes)
        return PyErr_NoMemory() != NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t leaf;
        int replaced;
        PyObject *row = PyList_GET_ITEM(list, i);
        if (!PyTuple_Check(row) ||
            !PyArg_ParseTuple(row, "np:_freeze_load", &leaf, &replaced))
            return PyErr_Occurred() ? false : fail("a change is not a tuple");
        f->changes[f->change_count++] = (Change){ (size_t) leaf, replaced != 0 };
    }
    return true;
}

/* Sizes that an output has, as frozen_sizes() gives them. */
static bool take_leaf_sizes(const Frozen *f, OutputLeaf *out, PyObject *leaf,
                            PyObject *list)
{
    if (list == Py_None)
        return true;
    const bool number = !out->cls && PyLong_CheckExact(leaf);
    if (!PyList_CheckExact(list) || (!out->like && !number) ||
        (out->like && out->like->info->kind != KIND_TENSOR))
        return fail("something has sizes that cannot have any");
    const size_t count = out->like ? array_tensor(out->like)->ndim : 1;
    if ((size_t) PyList_GET_SIZE(list) != count)
        return fail("the number of extents does not fit");
    out->sizes = PyMem_Calloc(count + 1, sizeof(*out->sizes));
    if (!out->sizes)
        return PyErr_NoMemory() != NULL;
    if (spec_rows_take_numbers(list, out->sizes, count, f->size_count) &&
        !(number && !out->sizes[0]))
        return true;
    return PyErr_Occurred() ? false : fail("a size does not exist");
}

static bool take_sizes(const Frozen *f, PyObject *list)
{
    if ((size_t) PyList_GET_SIZE(list) != f->tree.leaf_count)
        return fail("the number of outputs does not fit");
    for (size_t i = 0; i < f->tree.leaf_count; i++)
        if (!take_leaf_sizes(f, &f->leaves[i], f->tree.leaves[i],
                             PyList_GET_ITEM(list, (Py_ssize_t) i)))
            return false;
    return true;
}

/* The outputs' tree moves into 'f', arrays are None there. */
static bool take_outputs(Frozen *f, FlattenedInputs *out, size_t size_count,
                         PyObject *sizes)
{
    const size_t count = jit_freeze_output_count(f->recording);
    if (size_count > count)
        return fail("the number of sizes does not fit");
    const bool kept =
        check_numbers(out, count - size_count) && frozen_keep_leaves(f, out);
    for (size_t i = 0; i < out->tree.leaf_count; i++)
        if (out->places[i].info)
            Py_SETREF(out->tree.leaves[i], Py_NewRef(Py_None));
    f->tree = out->tree;
    out->tree = (Tree){ 0 };
    f->output_count = count - size_count;
    f->size_count = size_count;
    return kept && take_sizes(f, sizes);
}

static bool take_repeated(FlattenedInputs *c, PyObject *list)
{
    const Py_ssize_t count = PyList_GET_SIZE(list);
    c->repeated = PyMem_New(uint64_t, (size_t) count + 1);
    if (!c->repeated)
        return PyErr_NoMemory() != NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *pair = PyList_GET_ITEM(list, i);
        if (!PyLong_Check(pair))
            return fail("a repeated object is not a pair of numbers");
        c->repeated[i] = PyLong_AsUnsignedLongLongMask(pair);
        c->repeated_count++;
    }
    return !PyErr_Occurred();
}

/* The input spec of the inputs. False: exception. */
static bool take_inputs(Frozen *f, FlattenedInputs *in, PyObject *variables,
                        bool suspended, bool unordered)
{
    const size_t count = (size_t) PyList_GET_SIZE(variables);
    JitFreezeInput *described = check_numbers(in, count) ? take_variables(variables)
                                                         : NULL;
    SizeClasses sizes = { 0 };
    in->id_count = count;
    if (described)
        f->inputs = input_spec_new(in, described, true, suspended, unordered, &sizes);
    size_classes_free(&sizes);
    PyMem_Free(described);
    if (!f->inputs)
        return false;
    if (count + f->inputs->extra != jit_freeze_input_count(f->recording))
        return fail("the number of inputs does not fit");
    return frozen_match_keep(f);
}

/* (bytes, number, backend, rows, changes, objects, sizes, were derivatives suspended?,
 * are sets equal in any order?): (key, recording). */
static PyObject *frozen_load(PyObject *module, PyObject *args)
{
    State *state = state_of_module(module);
    PyObject *block, *inputs, *variables, *outputs, *repeated, *rows, *changes, *sizes;
    PyObject *same, *given, *parts;
    Py_ssize_t number, size_count;
    int backend, suspended, unordered;
    if (!PyArg_ParseTuple(args, "O!niO!O!(O!O!O!)(nO!)pp:_freeze_load", &PyBytes_Type,
                          &block, &number, &backend, &PyTuple_Type, &rows, &PyList_Type,
                          &changes, &PyList_Type, &same, &PyList_Type, &given,
                          &PyList_Type, &parts, &size_count, &PyList_Type, &sizes,
                          &suspended, &unordered) ||
        !PyArg_ParseTuple(rows, "O!O!O!O!:_freeze_load", &PyList_Type, &inputs,
                          &PyList_Type, &variables, &PyList_Type, &outputs,
                          &PyList_Type, &repeated))
        return NULL;
    Frozen *f = frozen_new(state);
    if (!f)
        return NULL;
    GIL_RELEASE_BEGIN
    f->recording = jit_freeze_load((JitBackend) backend, PyBytes_AS_STRING(block),
                                   (size_t) PyBytes_GET_SIZE(block), (size_t) number);
    GIL_RELEASE_END
    FlattenedInputs in = { 0 }, out = { 0 };
    PyObject *result = NULL;
    if (!f->recording)
        error_from_core(name, NULL, 0);
    else if (spec_rows_take(state, inputs, &in) && take_repeated(&in, repeated) &&
             spec_rows_take(state, outputs, &out) &&
             take_changes(f, changes) && check_changes(f, &in, &out) &&
             take_outputs(f, &out, (size_t) size_count, sizes) &&
             frozen_take_objects(f, &in, same, given, parts) &&
             take_inputs(f, &in, variables, suspended, unordered))
        result = PyTuple_Pack(2, (PyObject *) f->inputs, (PyObject *) f);
    flattened_free(&in);
    flattened_free(&out);
    Py_DECREF(f);
    return result;
}

PyMethodDef frozen_file_functions[] = {
    { "_freeze_save", frozen_save, METH_VARARGS,
      "_freeze_save(recordings, note)\n\nsee drjit._freeze.file" },
    { "_freeze_inspect", frozen_inspect, METH_O,
      "_freeze_inspect(block)\n\nsee drjit._freeze.file" },
    { "_freeze_load", frozen_load, METH_VARARGS,
      "_freeze_load(block, number, backend, rows, changes, objects, sizes, suspended, "
      "unordered)\n\n"
      "see drjit._freeze.file" },
    { NULL, NULL, 0, NULL },
};
