/*
 * frozen.c -- recordings, and how they are repeated
 *
 * A Frozen is a recording of the core, and what becomes of its outputs: the result's
 * tree, and arrays that the function has changed among its inputs. A call is one call
 * of frozen_call() if a recording fits the snapshot of its inputs. What to do otherwise
 * is decided in drjit._freeze.
 */
#include "python/freeze/frozen.h"

#include "python/freeze/snapshot.h"
#include "python/memory/access.h"
#include "python/object/error.h"
#include "python/object/tables.h"
#include "python/object/wait.h"

static const char name[] = "freeze";

/* What is left of an array: where its variables come from. */
typedef struct OutputLeaf {
    PyTypeObject *cls; /* of arrays, a reference; NULL: the tree's leaf is the result */
    Array *like;       /* without variables, for what has a shape; NULL */
    size_t first, count;
} OutputLeaf;

/* A leaf of the inputs that the function has changed. */
typedef struct Change {
    size_t leaf;
    bool replaced; /* there is another object in its place now */
} Change;

typedef struct Frozen {
    PyObject_HEAD
    State *state;
    JitRecording *recording;
    Tree tree;          /* (result, [what has changed]); arrays are None */
    OutputLeaf *leaves;
    uint32_t *numbers;  /* of outputs, from 1 on */
    size_t output_count;
    Change *changes;
    size_t change_count;
} Frozen;

/* ---------------------------------------------------------------- recordings */

static void release_leaves(Frozen *f)
{
    for (size_t i = 0; f->leaves && i < f->tree.leaf_count; i++) {
        Py_XDECREF(f->leaves[i].cls);
        Py_XDECREF(f->leaves[i].like);
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
    PyObject_GC_Del(self);
    state_unref(state);
    Py_DECREF(cls);
}

static int frozen_traverse(PyObject *self, visitproc visit, void *arg)
{
    const Frozen *f = (Frozen *) self;
    Py_VISIT(Py_TYPE(self));
    return tree_references(&f->tree, visit, arg);
}

static int frozen_clear(PyObject *self)
{
    Frozen *f = (Frozen *) self;
    release_leaves(f);
    tree_free(&f->tree);
    f->change_count = 0;
    return 0;
}

/* What has become of a leaf of the inputs? */
static bool has_changed(const Snapshot *s, size_t leaf, PyObject *now, bool *replaced)
{
    const CollectedLeaf *place = &s->inputs.places[leaf];
    const PyObject *before = s->inputs.tree.leaves[leaf];
    *replaced = now != before;
    if (*replaced || !place->info)
        return *replaced;
    const Array *array = array_of(now);
    if (array_count(array) != place->count)
        return true;
    for (size_t i = 0; i < place->count; i++) {
        const uint32_t number = s->inputs.numbers[place->first + i];
        if (leaf_index(array_leaves(array)[i]) !=
            (number ? s->inputs.ids[number - 1] : 0))
            return true;
    }
    return false;
}

/* Has the function enabled derivatives of an input? */
static bool is_tracked(const Tree *now, const State *state)
{
    for (size_t leaf = 0; leaf < now->leaf_count; leaf++) {
        const Array *a = array_check(state, now->leaves[leaf])
                             ? array_of(now->leaves[leaf])
                             : NULL;
        for (size_t i = 0; a && a->info->jit && i < array_count(a); i++)
            if (leaf_node(array_leaves(a)[i]))
                return true;
    }
    return false;
}

/* Fill in the changes, and a list of what stands there now. */
static PyObject *find_changes(Frozen *f, const Snapshot *s, const Tree *now)
{
    PyObject *list = PyList_New(0);
    f->changes = PyMem_Calloc(now->leaf_count + 1, sizeof(*f->changes));
    if (list && !f->changes) {
        PyErr_NoMemory();
        Py_CLEAR(list);
    }
    for (size_t i = 0; list && i < now->leaf_count; i++) {
        bool replaced;
        if (!has_changed(s, i, now->leaves[i], &replaced))
            continue;
        f->changes[f->change_count++] = (Change){ i, replaced };
        if (PyList_Append(list, now->leaves[i]) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* An array of the result, without its variables. */
static bool keep_leaf(Frozen *f, const Collection *c, size_t leaf)
{
    const CollectedLeaf *place = &c->places[leaf];
    OutputLeaf *out = &f->leaves[leaf];
    PyObject *object = c->tree.leaves[leaf];
    if (!place->info)
        return true;
    out->cls = (PyTypeObject *) Py_NewRef((PyObject *) Py_TYPE(object));
    out->first = place->first;
    out->count = place->count;
    if (place->info->dynamic || place->info->kind == KIND_TENSOR)
        out->like = array_new_like(place->info, (Array *) object);
    return out->like || !(place->info->dynamic || place->info->kind == KIND_TENSOR);
}

/* A tree like that of the outputs, in which arrays are None, so that it keeps none of
 * them alive. */
static bool keep_tree(Frozen *f, const Collection *c)
{
    PyObject **leaves = PyMem_New(PyObject *, c->tree.leaf_count + 1);
    if (!leaves)
        return PyErr_NoMemory() != NULL;
    for (size_t i = 0; i < c->tree.leaf_count; i++)
        leaves[i] = c->places[i].info ? Py_None : c->tree.leaves[i];
    PyObject *skeleton = tree_unflatten(name, &c->tree, leaves);
    PyMem_Free(leaves);
    const bool ok = skeleton && tree_flatten(f->state, name, skeleton, &f->tree);
    Py_XDECREF(skeleton);
    if (ok && f->tree.leaf_count != c->tree.leaf_count)
        error_raise(PyExc_TypeError, name, NULL, 0,
                    "the result has an object that cannot be made without its fields");
    return ok && f->tree.leaf_count == c->tree.leaf_count;
}

static bool keep_outputs(Frozen *f, const Collection *c)
{
    if (!keep_tree(f, c))
        return false;
    f->leaves = PyMem_Calloc(c->tree.leaf_count + 1, sizeof(*f->leaves));
    f->numbers = PyMem_New(uint32_t, c->number_count + 1);
    if (!f->leaves || !f->numbers)
        return PyErr_NoMemory() != NULL;
    if (c->number_count)
        memcpy(f->numbers, c->numbers, c->number_count * sizeof(*f->numbers));
    f->output_count = c->id_count;
    bool ok = true;
    for (size_t i = 0; ok && i < c->tree.leaf_count; i++)
        ok = keep_leaf(f, c, i);
    return ok;
}

static Frozen *frozen_new(State *state)
{
    Frozen *f = PyObject_GC_New(Frozen, state->frozen);
    if (!f)
        return NULL;
    memset((char *) f + sizeof(PyObject), 0, sizeof(*f) - sizeof(PyObject));
    f->state = state;
    state->references++;
    PyObject_GC_Track(f);
    return f;
}

/* End the recording: the outputs of the core. A str says why it cannot be repeated. */
static PyObject *stop_core(Frozen *f, const Collection *c)
{
    WAIT_BEGIN
    f->recording = jit_freeze_stop(c->id_count, c->ids);
    WAIT_END
    if (f->recording)
        return Py_NewRef((PyObject *) f);
    if (jit_error() != JIT_ERROR_UNSUPPORTED)
        return error_from_core(name, NULL, 0);
    const char *message = jit_error_message(), *reason = strstr(message, "repeated: ");
    return PyUnicode_FromString(reason ? reason + strlen("repeated: ") : message);
}

static PyObject *stop(Frozen *f, const Snapshot *s, const Tree *now, PyObject *result)
{
    Collection outputs = { 0 };
    PyObject *changed = find_changes(f, s, now);
    PyObject *both = changed ? PyTuple_Pack(2, result, changed) : NULL;
    PyObject *ended = NULL;
    if (both && collection_take(&outputs, f->state, name, both) &&
        keep_outputs(f, &outputs))
        ended = outputs.tracked
                    ? PyUnicode_FromString("a result depends on a gradient")
                    : stop_core(f, &outputs);
    collection_free(&outputs);
    Py_XDECREF(both);
    Py_XDECREF(changed);
    return ended;
}

/* The first argument as a snapshot, of 'wanted' arguments; NULL: exception. */
static const Snapshot *snapshot_of(PyObject *module, PyObject *const *args,
                                   Py_ssize_t n, Py_ssize_t wanted)
{
    const State *state = state_of_module(module);
    if (n == wanted && Py_TYPE(args[0]) == state->snapshot)
        return (const Snapshot *) args[0];
    error_raise(PyExc_TypeError, name, NULL, 0,
                "expected a snapshot, and %zd arguments", wanted - 1);
    return NULL;
}

/* (snapshot, backend): begin to record. */
static PyObject *frozen_start(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const Snapshot *s = snapshot_of(module, args, n, 2);
    const long backend = s ? PyLong_AsLong(args[1]) : -1;
    if (backend == -1 && PyErr_Occurred())
        return NULL;
    bool ok;
    WAIT_BEGIN
    ok = jit_freeze_start((JitBackend) backend, s->inputs.id_count, s->inputs.ids);
    WAIT_END
    if (!ok)
        return error_from_core(name, NULL, 0);
    Py_RETURN_NONE;
}

/* (snapshot, inputs, result): a recording, or a str that says why there is none. */
static PyObject *frozen_stop(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const Snapshot *s = snapshot_of(module, args, n, 3);
    Tree now = { 0 };
    Frozen *f = s ? frozen_new(s->state) : NULL;
    PyObject *ended = NULL;
    if (f && tree_flatten_like(s->state, name, &s->inputs.tree, args[1], &now)) {
        ended = is_tracked(&now, s->state)
                    ? PyUnicode_FromString("an input has derivatives in the end")
                    : stop(f, s, &now, args[2]);
    } else if (f && PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyErr_Clear();
        ended = PyUnicode_FromString("the structure of the inputs has changed");
    }
    tree_free(&now);
    Py_XDECREF(f);
    jit_freeze_abort(); /* if it has not ended */
    return ended;
}

/* ---------------------------------------------------------------- repeating */

/* A variable of the outputs: its reference moves; the second time there is a new
 * one. */
static Leaf take_output(uint32_t *outputs, bool *taken, uint32_t number)
{
    if (!number)
        return 0;
    const uint32_t id = outputs[number - 1];
    if (taken[number - 1])
        jit_var_inc_ref(id);
    taken[number - 1] = true;
    return leaf_of(id);
}

static PyObject *make_array(const Frozen *f, size_t leaf, uint32_t *outputs,
                            bool *taken)
{
    const OutputLeaf *out = &f->leaves[leaf];
    const TypeInfo *info = out->like ? out->like->info
                                     : type_of_class(f->state, out->cls);
    const uint32_t *numbers = f->numbers + out->first;
    if (out->cls == info->py && info->kind == KIND_LEAF)
        return (PyObject *) array_new_leaf(info,
                                           take_output(outputs, taken, numbers[0]));
    Array *made = access_make(out->cls, info, out->like);
    for (size_t i = 0; made && i < out->count; i++)
        array_set_leaf(made, i, take_output(outputs, taken, numbers[i]));
    return (PyObject *) made;
}

static PyObject *make_result(const Frozen *f, uint32_t *outputs, bool *taken)
{
    const size_t count = f->tree.leaf_count;
    PyObject **leaves = PyMem_New(PyObject *, count + 1), *result = NULL;
    if (!leaves)
        return PyErr_NoMemory();
    size_t made = 0;
    for (; made < count; made++) {
        leaves[made] = f->leaves[made].cls ? make_array(f, made, outputs, taken)
                                           : Py_NewRef(f->tree.leaves[made]);
        if (!leaves[made])
            break;
    }
    if (made == count)
        result = tree_unflatten(name, &f->tree, leaves);
    while (made)
        Py_DECREF(leaves[--made]);
    PyMem_Free(leaves);
    return result;
}

/* Put objects in the place of those that the function has replaced. */
static bool place_objects(const Frozen *f, const Snapshot *s, PyObject *changed)
{
    const Tree *tree = &s->inputs.tree;
    PyObject **leaves = PyMem_New(PyObject *, tree->leaf_count + 1);
    if (!leaves)
        return PyErr_NoMemory() != NULL;
    if (tree->leaf_count)
        memcpy(leaves, tree->leaves, tree->leaf_count * sizeof(*leaves));
    bool any = false;
    for (size_t i = 0; i < f->change_count; i++)
        if (f->changes[i].replaced) {
            leaves[f->changes[i].leaf] = PyList_GET_ITEM(changed, (Py_ssize_t) i);
            any = true;
        }
    PyObject *root = any ? tree_place(name, tree, NULL, leaves) : Py_NewRef(Py_None);
    PyMem_Free(leaves);
    Py_XDECREF(root);
    return root;
}

/* Do to the inputs what the function has done to those of the recording. */
static bool apply_changes(const Frozen *f, const Snapshot *s, PyObject *changed)
{
    for (size_t i = 0; i < f->change_count; i++) {
        Array *array = f->changes[i].replaced
                           ? NULL
                           : array_of(s->inputs.tree.leaves[f->changes[i].leaf]);
        if (array && !array_replace(array, (Array *) PyList_GET_ITEM(changed,
                                                                     (Py_ssize_t) i)))
            return false;
    }
    return place_objects(f, s, changed);
}

/* The function's result; NotImplemented: the recording does not fit. NULL:
 * exception. */
static PyObject *repeat(const Frozen *f, const Snapshot *s)
{
    enum { FEW = 16 };
    uint32_t few[FEW], *outputs = few;
    bool few_taken[FEW] = { false }, *taken = few_taken;
    if (f->output_count > FEW) {
        outputs = PyMem_New(uint32_t, f->output_count);
        taken = PyMem_Calloc(f->output_count, sizeof(*taken));
    }
    if (!outputs || !taken) {
        PyMem_Free(outputs == few ? NULL : outputs);
        PyMem_Free(taken == few_taken ? NULL : taken);
        return PyErr_NoMemory();
    }
    int done;
    WAIT_BEGIN
    done = jit_freeze_replay(f->recording, s->inputs.id_count, s->inputs.ids, outputs);
    WAIT_END
    PyObject *result = NULL, *both;
    if (done > 0 && (both = make_result(f, outputs, taken)) != NULL) {
        if (!f->change_count || apply_changes(f, s, PyTuple_GET_ITEM(both, 1)))
            result = Py_NewRef(PyTuple_GET_ITEM(both, 0));
        Py_DECREF(both);
    }
    for (size_t i = 0; done > 0 && i < f->output_count; i++)
        if (!taken[i])
            jit_var_dec_ref(outputs[i]);
    if (outputs != few) {
        PyMem_Free(outputs);
        PyMem_Free(taken);
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

/* What the first of some recordings gives that fits; NotImplemented: none does. Other
 * threads may change the list. */
static PyObject *repeat_any(PyObject *recordings, const Snapshot *s)
{
    PyObject *result = Py_NewRef(Py_NotImplemented);
    for (Py_ssize_t i = 0;
         result == Py_NotImplemented && i < PyList_GET_SIZE(recordings); i++) {
        PyObject *frozen = Py_NewRef(PyList_GET_ITEM(recordings, i));
        if (Py_TYPE(frozen) == s->state->frozen)
            Py_SETREF(result, repeat((Frozen *) frozen, s));
        Py_DECREF(frozen);
    }
    return result;
}

/* (recordings by key, inputs): the result; a Snapshot if no recording fits. */
static PyObject *frozen_call(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    State *state = state_of_module(module);
    if (n != 2 || !PyDict_Check(args[0]))
        return error_raise(PyExc_TypeError, name, NULL, 0,
                           "expected a dictionary and inputs");
    Snapshot *s = snapshot_take(state, args[1]);
    if (!s || s->inputs.tracked)
        return (PyObject *) s;
    PyObject *found = Py_XNewRef(PyDict_GetItemWithError(args[0], s->key));
    if (!found || !PyList_CheckExact(found)) {
        Py_XDECREF(found);
        if (!PyErr_Occurred())
            return (PyObject *) s;
        Py_DECREF(s);
        return NULL;
    }
    PyObject *result = repeat_any(found, s);
    Py_DECREF(found);
    if (result == Py_NotImplemented) {
        Py_DECREF(result);
        return (PyObject *) s;
    }
    Py_DECREF(s);
    return result;
}

/* No: it is switched off, another frozen function records, or a loop does. */
static PyObject *frozen_possible(PyObject *module, PyObject *unused)
{
    (void) module;
    (void) unused;
    const uint32_t flags = jit_flags();
    return PyBool_FromLong((flags & JitFlagKernelFreezing) &&
                           !(flags & (JitFlagFreezingScope | JitFlagSymbolicScope)));
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
        { NULL, NULL, 0, NULL },
    };
    PyType_Slot slots[] = {
        SLOT(Py_tp_dealloc, frozen_dealloc),
        SLOT(Py_tp_traverse, frozen_traverse),
        SLOT(Py_tp_clear, frozen_clear),
        { Py_tp_methods, methods },
        { 0, NULL },
    };
    PyType_Spec spec = { .name = "drjit._core._Frozen",
                         .basicsize = sizeof(Frozen),
                         .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                  Py_TPFLAGS_DISALLOW_INSTANTIATION,
                         .slots = slots };
    state->frozen =
        (PyTypeObject *) PyType_FromModuleAndSpec(state->module, &spec, NULL);
    return state->frozen;
}

PyMethodDef frozen_functions[] = {
    { "_freeze_call", METHOD(frozen_call), METH_FASTCALL,
      "_freeze_call(recordings, inputs)\n\nsee drjit._freeze" },
    { "_freeze_possible", frozen_possible, METH_NOARGS,
      "_freeze_possible()\n\nsee drjit._freeze" },
    { "_freeze_start", METHOD(frozen_start), METH_FASTCALL,
      "_freeze_start(snapshot, backend)\n\nsee drjit._freeze" },
    { "_freeze_stop", METHOD(frozen_stop), METH_FASTCALL,
      "_freeze_stop(snapshot, inputs, result)\n\nsee drjit._freeze" },
    { "_freeze_abort", frozen_abort, METH_NOARGS,
      "_freeze_abort()\n\nsee drjit._freeze" },
    { NULL, NULL, 0, NULL },
};
