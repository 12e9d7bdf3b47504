/*
 * frozen.c -- recordings, and how they are repeated
 */
#include "python/freeze/frozen.h"

#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/base/tables.h"
#include "python/freeze/frozen_export.h"
#include "python/freeze/snapshot.h"
#include "python/freeze/spec_codec.h"
#include "python/memory/access.h"

static const char name[] = "freeze";

/* ---------------------------------------------------------------- recordings */

static void release_leaves(Frozen *f)
{
    for (size_t i = 0; f->leaves && i < f->tree.leaf_count; i++) {
        Py_XDECREF(f->leaves[i].cls);
        Py_XDECREF(f->leaves[i].like);
        PyMem_Free(f->leaves[i].sizes);
    }
    PyMem_Free(f->leaves);
    f->leaves = NULL;
}

static void frozen_dealloc(PyObject *self)
{
    Frozen *f = (Frozen *) self;
    PyTypeObject *cls = Py_TYPE(self);
    State *state = f->state;
    PyObject_GC_UnTrack(self);
    jit_freeze_destroy(f->recording);
    release_leaves(f);
    tree_free(&f->tree);
    PyMem_Free(f->numbers);
    PyMem_Free(f->changes);
    PyMem_Free(f->places);
    PyMem_Free(f->same);
    PyMem_Free(f->given);
    PyMem_Free(f->returned);
    Py_XDECREF((PyObject *) f->inputs);
    Py_XDECREF(f->reads);
    PyObject_GC_Del(self);
    state_unref(state);
    Py_DECREF(cls);
}

static int frozen_traverse(PyObject *self, visitproc visit, void *arg)
{
    const Frozen *f = (Frozen *) self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(f->reads);
    Py_VISIT((PyObject *) f->inputs);
    return tree_references(&f->tree, visit, arg);
}

static int frozen_clear(PyObject *self)
{
    Frozen *f = (Frozen *) self;
    release_leaves(f);
    Py_CLEAR(f->reads);
    tree_free(&f->tree);
    Py_CLEAR(f->inputs);
    f->change_count = f->returned_count = 0;
    return 0;
}

Frozen *frozen_new(State *state)
{
    Frozen *f = PyObject_GC_New(Frozen, state->frozen);
    if (!f)
        return NULL;
    memset((char *) f + sizeof(PyObject), 0, sizeof(*f) - sizeof(PyObject));
    f->state = state;
    f->check = FROZEN_UNASKED;
    state->references++;
    PyObject_GC_Track(f);
    return f;
}

/* ---------------------------------------------------------------- recording */

/* That of the inputs; where there are none, a JitBackend, or (None) the best one. */
static bool find_backend(const Snapshot *s, PyObject *given, JitBackend *backend)
{
    *backend = flattened_backend(&s->inputs);
    if (*backend != JitBackendNone)
        return true;
    PyObject *module = PyImport_ImportModule("drjit._family");
    PyObject *number =
        module ? PyObject_CallMethod(module, "number_of", "O", given) : NULL;
    *backend = number ? (JitBackend) PyLong_AsLong(number) : JitBackendNone;
    Py_XDECREF(module);
    Py_XDECREF(number);
    return !PyErr_Occurred();
}

/* (snapshot, backend, general, may arrays be read?, numbers): begin to record.
 * 'general' may be a recording, which is checked. False: in the body of a loop or
 * conditional. */
static PyObject *frozen_start(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const Snapshot *s = snapshot_argument(module, args, n, 5);
    const bool general = s && args[2] == Py_True;
    const JitRecording *known = s && Py_TYPE(args[2]) == s->state->frozen
                                    ? ((Frozen *) args[2])->recording
                                    : NULL;
    const int reads = s ? PyObject_IsTrue(args[3]) : -1;
    JitBackend backend;
    if (reads < 0 || !find_backend(s, args[1], &backend) ||
        !snapshot_keep_contents((Snapshot *) args[0]) ||
        !snapshot_own_literals((Snapshot *) args[0]) ||
        !size_begin(s->state, args[4] == Py_True))
        return NULL;
    bool ok;
    size_t count;
    const uint32_t *ids = snapshot_ids(s, &count);
    GIL_RELEASE_BEGIN
    ok = jit_freeze_start(backend, count, ids) &&
         (!general || jit_freeze_set_general(true)) &&
         (!known || jit_freeze_check(known));
    GIL_RELEASE_END
    if (!ok && jit_error() == JIT_ERROR_STATE)
        Py_RETURN_FALSE;
    if (!ok)
        return error_from_core(name, NULL, 0);
    if (reads)
        jit_freeze_allow_reads(true);
    if (snapshot_set_extents(s))
        Py_RETURN_TRUE;
    jit_freeze_abort();
    return NULL;
}

/* What is done until _freeze_resume() is not part of the recording. */
static PyObject *pause_or_resume(bool (*call)(void))
{
    bool ok;
    GIL_RELEASE_BEGIN
    ok = call();
    GIL_RELEASE_END
    if (!ok)
        return error_from_core(name, NULL, 0);
    Py_RETURN_NONE;
}

static PyObject *frozen_pause(PyObject *module, PyObject *unused)
{
    (void) module;
    (void) unused;
    return pause_or_resume(jit_freeze_pause);
}

static PyObject *frozen_resume(PyObject *module, PyObject *unused)
{
    (void) module;
    (void) unused;
    return pause_or_resume(jit_freeze_resume);
}

/* (may arrays be read?): what was set before. */
static PyObject *frozen_reads(PyObject *module, PyObject *allow)
{
    (void) module;
    const int reads = PyObject_IsTrue(allow);
    return reads < 0 ? NULL : PyBool_FromLong(jit_freeze_allow_reads(reads));
}

/* ---------------------------------------------------------------- repeating */

/* What the core has given. */
typedef struct Given {
    uint32_t *ids; /* variables, then literals whose sizes matter */
    bool *taken;
} Given;

/* A variable of the outputs: its reference moves; the second time there is a new
 * one. */
static VarIndex take_output(const Given *g, uint32_t number)
{
    if (!number)
        return 0;
    const uint32_t id = g->ids[number - 1];
    if (g->taken[number - 1])
        jit_var_inc_ref(id);
    g->taken[number - 1] = true;
    return var_of(id);
}

static size_t given_size(const Frozen *f, const Given *g, uint32_t number)
{
    return jit_var_peek_size(g->ids[f->output_count + number - 1]);
}

static bool set_shape(const Frozen *f, const OutputLeaf *out, const Given *g,
                      Array *made)
{
    const Tensor *t = array_tensor(out->like);
    size_t shape[TENSOR_MAX_DIMS];
    for (size_t i = 0; i < t->ndim; i++)
        shape[i] = out->sizes[i] ? given_size(f, g, out->sizes[i]) : t->extents[i];
    return array_set_shape(made, t->ndim, shape);
}

static PyObject *make_array(const Frozen *f, size_t leaf, const Given *g)
{
    const OutputLeaf *out = &f->leaves[leaf];
    const TypeInfo *info = out->info;
    const uint32_t *numbers = f->numbers + out->first;
    if (out->cls == info->py && info->kind == KIND_FLAT)
        return (PyObject *) array_new_leaf(info, take_output(g, numbers[0]));
    Array *made = access_make(out->cls, info, out->like);
    if (made && out->sizes && !set_shape(f, out, g, made))
        Py_CLEAR(made);
    for (size_t i = 0; made && i < out->count; i++)
        array_set_leaf(made, i, take_output(g, numbers[i]));
    return (PyObject *) made;
}

static PyObject *make_leaf(const Frozen *f, size_t leaf, const Given *g)
{
    const OutputLeaf *out = &f->leaves[leaf];
    if (out->cls)
        return make_array(f, leaf, g);
    if (out->sizes)
        return PyLong_FromSize_t(given_size(f, g, out->sizes[0]));
    return frozen_own_leaf(f->state, f->tree.leaves[leaf]);
}

/* Those that are parts of others, or of inputs, which stand in their places so far. */
static bool make_parts(const Frozen *f, PyObject **leaves, PyObject **nodes)
{
    bool ok = true;
    for (size_t i = 0, leaf = 0; ok && i < f->tree.node_count; i++) {
        if (f->tree.nodes[i].kind != NODE_LEAF)
            continue;
        const OutputLeaf *out = &f->leaves[leaf];
        if (out->part) {
            PyObject *whole = f->same[i] ? nodes[f->same[i] - 1] : nodes[i];
            Array *part = array_view(array_of(whole), out->info, out->part - 1);
            Py_XSETREF(nodes[i], (PyObject *) part);
            ok = part;
        }
        leaves[leaf++] = nodes[i];
    }
    return ok;
}

/* The leaves of a result that has the same object in several places, or inputs; 'nodes'
 * are those that are known by then. References are the caller's. */
static bool make_objects(const Frozen *f, const Given *g, PyObject *const *inputs,
                         PyObject **leaves, PyObject **nodes)
{
    for (size_t i = 0; i < f->tree.node_count; i++)
        nodes[i] = f->given[i] ? Py_NewRef(inputs[f->given[i] - 1]) : NULL;
    for (size_t i = 0, leaf = 0; i < f->tree.node_count; i++) {
        if (f->tree.nodes[i].kind != NODE_LEAF)
            continue;
        if (f->same[i] && !f->leaves[leaf].part)
            nodes[i] = Py_NewRef(nodes[f->same[i] - 1]);
        else if (!nodes[i] && !f->same[i])
            nodes[i] = make_leaf(f, leaf, g);
        if (!nodes[i] && !f->same[i])
            return false;
        leaves[leaf++] = nodes[i];
    }
    return make_parts(f, leaves, nodes);
}

/* A result in which each object is one of its own. */
static PyObject *make_fresh(const Frozen *f, const Given *g)
{
    const size_t count = f->tree.leaf_count;
    PyObject **leaves = PyMem_New(PyObject *, count + 1), *result = NULL;
    if (!leaves)
        return PyErr_NoMemory();
    size_t made = 0;
    while (made < count && (leaves[made] = make_leaf(f, made, g)) != NULL)
        made++;
    if (made == count)
        result = tree_unflatten_as(name, &f->tree, leaves, NULL, NULL);
    while (made)
        Py_DECREF(leaves[--made]);
    PyMem_Free(leaves);
    return result;
}

/* 'inputs': the objects of Frozen.returned. */
static PyObject *make_result(const Frozen *f, const Given *g, PyObject *const *inputs)
{
    const size_t count = f->tree.node_count;
    if (!f->linked)
        return make_fresh(f, g);
    PyObject **leaves = PyMem_New(PyObject *, f->tree.leaf_count + 1);
    PyObject **nodes = PyMem_Calloc(count + 1, sizeof(*nodes)), *result = NULL;
    if (!leaves || !nodes)
        PyErr_NoMemory();
    else if (make_objects(f, g, inputs, leaves, nodes))
        result = tree_unflatten_as(name, &f->tree, leaves, nodes, f->same);
    for (size_t i = 0; nodes && i < count; i++)
        Py_XDECREF(nodes[i]);
    PyMem_Free(leaves);
    PyMem_Free(nodes);
    return result;
}

PyObject *frozen_repeat(const Frozen *f, const uint32_t *inputs, size_t input_count,
                        PyObject *const *objects)
{
    enum { FEW = 16 };
    uint32_t few[FEW];
    if (frozen_is_due(f))
        return Py_NewRef(Py_NotImplemented);
    bool few_taken[FEW] = { false };
    Given g = { few, few_taken };
    const size_t count = f->output_count + f->size_count;
    if (count > FEW) {
        g.ids = PyMem_New(uint32_t, count);
        g.taken = PyMem_Calloc(count, sizeof(*g.taken));
    }
    if (!g.ids || !g.taken) {
        PyMem_Free(g.ids);
        PyMem_Free(g.taken);
        return PyErr_NoMemory();
    }
    int done;
    GIL_RELEASE_BEGIN
    done = jit_freeze_replay(f->recording, input_count, inputs, g.ids);
    GIL_RELEASE_END
    PyObject *result = done > 0 ? make_result(f, &g, objects) : NULL;
    ((Frozen *) f)->repeated += done > 0;
    for (size_t i = 0; done > 0 && i < count; i++)
        if (!g.taken[i])
            jit_var_dec_ref(g.ids[i]);
    if (g.ids != few) {
        PyMem_Free(g.ids);
        PyMem_Free(g.taken);
    }
    if (done < 0)
        return error_from_core(name, NULL, 0);
    return done ? result : Py_NewRef(Py_NotImplemented);
}

static PyObject *frozen_text(PyObject *self, PyObject *unused)
{
    (void) unused;
    const char *text = jit_freeze_str(((Frozen *) self)->recording);
    return text ? PyUnicode_FromString(text) : error_from_core(name, NULL, 0);
}

/* The variables that the function has read so far without having made them, inputs
 * apart: they live until it is no longer recorded. */
static PyObject *frozen_foreign(PyObject *module, PyObject *unused)
{
    (void) module;
    (void) unused;
    const size_t count = jit_freeze_foreign(0, NULL);
    uint32_t *ids = PyMem_Calloc(count + 1, sizeof(*ids));
    if (!ids)
        return PyErr_NoMemory();
    const size_t found = jit_freeze_foreign(count, ids); /* of this thread: the same */
    PyObject *list =
        spec_rows_numbers(ids, found < count ? found : count, sizeof(*ids));
    PyMem_Free(ids);
    return list;
}

static PyObject *frozen_abort(PyObject *module, PyObject *unused)
{
    (void) module;
    (void) unused;
    jit_freeze_abort();
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- the class */

bool frozen_bind(State *state)
{
    static PyMethodDef methods[] = {
        { "text", frozen_text, METH_NOARGS, "what it consists of" },
        { "due", frozen_due, METH_O, "due(snapshot)\n\nsee frozen.h" },
        { "same", frozen_same, METH_O, "same(recording)\n\nsee frozen.h" },
        { "paths", frozen_export_paths, METH_NOARGS, "see frozen_export.h" },
        { NULL, NULL, 0, NULL },
    };
    PyType_Slot slots[] = {
        SLOT(Py_tp_dealloc, frozen_dealloc),
        SLOT(Py_tp_traverse, frozen_traverse),
        SLOT(Py_tp_clear, frozen_clear),
        { Py_tp_getset, frozen_file_members },
        { Py_tp_methods, methods },
        { 0, NULL },
    };
    state->frozen =
        type_make(state->module, "drjit._core._Frozen", sizeof(Frozen),
                  Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots);
    return state->frozen;
}

PyMethodDef frozen_functions[] = {
    { "_freeze_start", METHOD(frozen_start), METH_FASTCALL,
      "_freeze_start(snapshot, backend, general, allow_reads, numbers)\n\n"
      "see drjit._freeze" },
    { "_freeze_pause", frozen_pause, METH_NOARGS,
      "_freeze_pause()\n\nsee drjit._freeze" },
    { "_freeze_resume", frozen_resume, METH_NOARGS,
      "_freeze_resume()\n\nsee drjit._freeze" },
    { "_freeze_reads", frozen_reads, METH_O,
      "_freeze_reads(allow)\n\nsee drjit._freeze" },
    { "_freeze_foreign", frozen_foreign, METH_NOARGS,
      "_freeze_foreign()\n\nindices of what was read and is not an input" },
    { "_freeze_stop", METHOD(frozen_stop), METH_FASTCALL,
      "_freeze_stop(snapshot, inputs, reads, printing result, result)\n\nsee "
      "drjit._freeze" },
    { "_freeze_untouched", METHOD(frozen_untouched), METH_FASTCALL,
      "_freeze_untouched(snapshot, inputs)\n\nsee drjit._freeze.sizes" },
    { "_freeze_abort", frozen_abort, METH_NOARGS,
      "_freeze_abort()\n\nsee drjit._freeze" },
    { NULL, NULL, 0, NULL },
};
