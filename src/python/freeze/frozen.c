/*
 * frozen.c -- snapshots of inputs, and recordings that are repeated with them
 *
 *     Snapshot   the inputs of one call, taken apart: variables in memory or literals,
 *                a key that says which recording fits
 *     Frozen     a recording of the core, and what becomes of its outputs: the result's
 *                tree, and arrays that the function has changed among its inputs
 *
 * A call is one call of frozen_call() if there is a recording. What to do otherwise is
 * decided in drjit._freeze.
 */
#include "python/freeze/frozen.h"

#include "python/freeze/collection.h"
#include "python/freeze/frozen_key.h"
#include "python/memory/access.h"
#include "python/object/arguments.h"
#include "python/object/error.h"
#include "python/object/evaluate.h"
#include "python/object/tables.h"
#include "python/object/wait.h"

static const char name[] = "freeze";

typedef struct Snapshot {
    PyObject_HEAD
    State *state;
    Collection inputs;
    JitFreezeInput *described; /* the variables */
    PyObject *key;
} Snapshot;

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

/* ---------------------------------------------------------------- snapshots */

static void snapshot_dealloc(PyObject *self)
{
    Snapshot *s = (Snapshot *) self;
    PyTypeObject *cls = Py_TYPE(self);
    State *state = s->state;
    PyObject_GC_UnTrack(self);
    collection_free(&s->inputs);
    PyMem_Free(s->described);
    Py_XDECREF(s->key);
    PyObject_GC_Del(self);
    state_unref(state);
    Py_DECREF(cls);
}

static int visit_tree(const Tree *tree, visitproc visit, void *arg)
{
    for (size_t i = 0; i < tree->leaf_count; i++)
        Py_VISIT(tree->leaves[i]);
    for (size_t i = 0; i < tree->node_count; i++) {
        Py_VISIT(tree->nodes[i].object);
        Py_VISIT(tree->nodes[i].keys);
    }
    return 0;
}

static int snapshot_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Snapshot *) self)->key);
    return visit_tree(&((Snapshot *) self)->inputs.tree, visit, arg);
}

static bool describe(Snapshot *s, bool *waiting)
{
    const Collection *c = &s->inputs;
    *waiting = false;
    if (!jit_freeze_describe(c->id_count, c->ids, s->described))
        return error_from_core(name, NULL, 0);
    for (size_t i = 0; i < c->id_count; i++)
        *waiting |= !s->described[i].literal && !s->described[i].stored;
    return true;
}

/* Equal literals are one variable: let each place that has one have its own number, so
 * that inputs are not told apart by which happen to be equal. */
static bool number_literals(Snapshot *s)
{
    Collection *c = &s->inputs;
    const size_t first = c->id_count;
    bool *met = PyMem_Calloc(first + 1, sizeof(*met));
    JitFreezeInput *all = PyMem_Malloc((first + c->number_count + 1) * sizeof(*all));
    bool ok = met && all;
    if (!ok)
        PyErr_NoMemory();
    else
        memcpy(all, s->described, first * sizeof(*all));
    for (size_t i = 0; ok && i < c->number_count; i++) {
        const uint32_t number = c->numbers[i];
        if (!number || !all[number - 1].literal)
            continue;
        if (met[number - 1]) {
            all[c->id_count] = all[number - 1];
            ok = collection_add(c, c->ids[number - 1], &c->numbers[i]);
        }
        met[number - 1] = true;
    }
    PyMem_Free(met);
    if (ok) {
        PyMem_Free(s->described);
        s->described = all;
    } else {
        PyMem_Free(all);
    }
    return ok;
}

static bool has_literals(const Snapshot *s)
{
    for (size_t i = 0; i < s->inputs.id_count; i++)
        if (s->described[i].literal)
            return true;
    return false;
}

/* Have all variables that are no literals in memory. */
static bool evaluate(Snapshot *s)
{
    const Collection *c = &s->inputs;
    bool waiting;
    if (!describe(s, &waiting))
        return false;
    if (!waiting)
        return true;
    jit_error_clear();
    for (size_t i = 0; i < c->id_count; i++)
        if (!s->described[i].literal && !s->described[i].stored &&
            !jit_var_schedule(c->ids[i]) && jit_error() != JIT_OK)
            return error_from_core(name, NULL, 0);
    if (!evaluate_scheduled())
        return error_from_core(name, NULL, 0);
    return describe(s, &waiting);
}

static Snapshot *snapshot_take(State *state, PyObject *inputs)
{
    Snapshot *s = PyObject_GC_New(Snapshot, state->snapshot);
    if (!s)
        return NULL;
    memset((char *) s + sizeof(PyObject), 0, sizeof(*s) - sizeof(PyObject));
    s->state = state;
    state->references++;
    bool ok = collection_take(&s->inputs, state, name, inputs);
    if (ok) {
        s->described = PyMem_Calloc(s->inputs.id_count + 1, sizeof(*s->described));
        ok = s->described ? evaluate(s) : (PyErr_NoMemory(), false);
        ok = ok && (!has_literals(s) || number_literals(s));
    }
    if (ok)
        s->key = frozen_key_make(state->frozen_key, &s->inputs, s->described, true);
    PyObject_GC_Track(s);
    if (s->key)
        return s;
    Py_DECREF(s);
    return NULL;
}

static PyObject *snapshot_key(PyObject *self, void *unused)
{
    (void) unused;
    return Py_NewRef(((Snapshot *) self)->key);
}

static PyObject *snapshot_form(PyObject *self, void *unused)
{
    const Snapshot *s = (Snapshot *) self;
    (void) unused;
    return frozen_key_make(s->state->frozen_key, &s->inputs, s->described, false);
}

static PyObject *snapshot_tracked(PyObject *self, void *unused)
{
    (void) unused;
    return PyBool_FromLong(((Snapshot *) self)->inputs.tracked);
}

static PyObject *snapshot_literals(PyObject *self, void *unused)
{
    const Snapshot *s = (Snapshot *) self;
    PyObject *list = PyList_New(0);
    (void) unused;
    for (size_t i = 0; list && i < s->inputs.id_count; i++) {
        const JitFreezeInput *in = &s->described[i];
        PyObject *row = in->literal ? Py_BuildValue("nKI", (Py_ssize_t) i + 1,
                                                    (unsigned long long) in->bits,
                                                    (unsigned) in->size)
                                    : NULL;
        if (in->literal && (!row || PyList_Append(list, row) < 0))
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *snapshot_path(PyObject *self, PyObject *number)
{
    const size_t wanted = PyLong_AsSize_t(number);
    if (PyErr_Occurred())
        return NULL;
    return collection_path(&((Snapshot *) self)->inputs, (uint32_t) wanted);
}

/* Let the arrays with this variable have another one in its place. */
static void replace_variable(const Snapshot *s, uint32_t number, uint32_t id)
{
    for (size_t leaf = 0; leaf < s->inputs.tree.leaf_count; leaf++) {
        const CollectedLeaf *place = &s->inputs.places[leaf];
        Array *array = place->info ? array_of(s->inputs.tree.leaves[leaf]) : NULL;
        for (size_t i = 0; i < place->count; i++)
            if (s->inputs.numbers[place->first + i] == number && i < array_count(array))
                array_set_leaf(array, i,
                               leaf_with_node(jit_var_inc_ref(id),
                                              array_leaves(array)[i]));
    }
}

static PyObject *snapshot_make_opaque(PyObject *self, PyObject *numbers)
{
    const Snapshot *s = (Snapshot *) self;
    PyObject *list = PySequence_Fast(numbers, "drjit.freeze(): expected a sequence");
    for (Py_ssize_t i = 0; list && i < PySequence_Fast_GET_SIZE(list); i++) {
        const size_t n = PyLong_AsSize_t(PySequence_Fast_GET_ITEM(list, i));
        if (PyErr_Occurred() || n == 0 || n > s->inputs.id_count) {
            Py_CLEAR(list);
            break;
        }
        uint32_t opaque;
        WAIT_BEGIN
        opaque = jit_var_schedule_force(s->inputs.ids[n - 1], NULL);
        WAIT_END
        if (!opaque) {
            Py_DECREF(list);
            return error_from_core(name, NULL, 0);
        }
        replace_variable(s, (uint32_t) n, opaque);
        jit_var_dec_ref(opaque);
    }
    if (!list)
        return NULL;
    Py_DECREF(list);
    Py_RETURN_NONE;
}

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
    return visit_tree(&f->tree, visit, arg);
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

static PyObject *snapshot_start(PyObject *self, PyObject *backend)
{
    const Snapshot *s = (Snapshot *) self;
    const long wanted = PyLong_AsLong(backend);
    if (wanted == -1 && PyErr_Occurred())
        return NULL;
    bool ok;
    WAIT_BEGIN
    ok = jit_freeze_start((JitBackend) wanted, s->inputs.id_count, s->inputs.ids);
    WAIT_END
    if (!ok)
        return error_from_core(name, NULL, 0);
    Py_RETURN_NONE;
}

static PyObject *snapshot_stop(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    const Snapshot *s = (Snapshot *) self;
    if (n != 2)
        return error_raise(PyExc_TypeError, name, NULL, 0, "expected two arguments");
    Tree now = { 0 };
    Frozen *f = frozen_new(s->state);
    PyObject *ended = NULL;
    if (f && tree_flatten_like(s->state, name, &s->inputs.tree, args[0], &now))
        ended = is_tracked(&now, s->state)
                    ? PyUnicode_FromString("an input has derivatives in the end")
                    : stop(f, s, &now, args[1]);
    else if (f && PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyErr_Clear();
        ended = PyUnicode_FromString("the structure of the inputs has changed");
    }
    tree_free(&now);
    Py_XDECREF(f);
    jit_freeze_abort(); /* if it has not ended */
    return ended;
}

/* ---------------------------------------------------------------- repeating */

static PyObject *make_array(const Frozen *f, size_t leaf, const uint32_t *outputs)
{
    const OutputLeaf *out = &f->leaves[leaf];
    const TypeInfo *info = out->like ? out->like->info
                                     : type_of_class(f->state, out->cls);
    const uint32_t *numbers = f->numbers + out->first;
    if (out->cls == info->py && info->kind == KIND_LEAF)
        return (PyObject *) array_new_leaf(
            info, numbers[0] ? leaf_of(jit_var_inc_ref(outputs[numbers[0] - 1])) : 0);
    Array *made = access_make(out->cls, info, out->like);
    for (size_t i = 0; made && i < out->count; i++)
        if (numbers[i])
            array_set_leaf(made, i, leaf_of(jit_var_inc_ref(outputs[numbers[i] - 1])));
    return (PyObject *) made;
}

static PyObject *make_result(const Frozen *f, const uint32_t *outputs)
{
    const size_t count = f->tree.leaf_count;
    PyObject **leaves = PyMem_New(PyObject *, count + 1), *result = NULL;
    if (!leaves)
        return PyErr_NoMemory();
    size_t made = 0;
    for (; made < count; made++) {
        leaves[made] = f->leaves[made].cls ? make_array(f, made, outputs)
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

/* The function's result; NotImplemented: the recording does not fit. NULL: exception. */
static PyObject *repeat(const Frozen *f, const Snapshot *s)
{
    uint32_t few[16], *outputs = few;
    if (f->output_count > sizeof(few) / sizeof(*few))
        outputs = PyMem_New(uint32_t, f->output_count);
    if (!outputs)
        return PyErr_NoMemory();
    int done;
    WAIT_BEGIN
    done = jit_freeze_replay(f->recording, s->inputs.id_count, s->inputs.ids, outputs);
    WAIT_END
    PyObject *result = NULL, *both;
    if (done > 0 && (both = make_result(f, outputs)) != NULL) {
        if (!f->change_count || apply_changes(f, s, PyTuple_GET_ITEM(both, 1)))
            result = Py_NewRef(PyTuple_GET_ITEM(both, 0));
        Py_DECREF(both);
    }
    for (size_t i = 0; done > 0 && i < f->output_count; i++)
        jit_var_dec_ref(outputs[i]);
    if (outputs != few)
        PyMem_Free(outputs);
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
    for (Py_ssize_t i = 0; result == Py_NotImplemented &&
                           i < PyList_GET_SIZE(recordings); i++) {
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

/* ---------------------------------------------------------------- derivatives */

/* A walk that takes the derivatives off arrays. */
typedef struct Detaching {
    State *state;
    PyObject *list;
    Py_ssize_t position;
} Detaching;

static bool detach_leaf(void *context, PyObject *leaf)
{
    Detaching *d = context;
    const Py_ssize_t position = d->position++;
    Array *array = array_check(d->state, leaf) ? array_of(leaf) : NULL;
    bool any = false;
    for (size_t i = 0; array && array->info->jit && i < array_count(array); i++)
        any |= leaf_node(array_leaves(array)[i]) != 0;
    if (!any)
        return true;
    Array *copy = array_copy(array);
    PyObject *row = copy ? Py_BuildValue("OOn", leaf, (PyObject *) copy, position) : NULL;
    const bool ok = row && PyList_Append(d->list, row) == 0;
    for (size_t i = 0; ok && i < array_count(array); i++) {
        const Leaf tracked = array_leaves(array)[i];
        array_set_leaf(array, i, leaf_ref(leaf_detached(tracked)));
    }
    Py_XDECREF(copy);
    Py_XDECREF(row);
    return ok;
}

/* A list of (array, copy, number of the leaf) for the arrays that have derivatives,
 * which only the copies have from then on. */
static PyObject *frozen_detach(PyObject *module, PyObject *tree)
{
    Detaching d = { state_of_module(module), PyList_New(0), 0 };
    if (d.list && !tree_visit(d.state, name, tree, detach_leaf, &d))
        Py_CLEAR(d.list);
    return d.list;
}

/* Give the arrays of such a list their derivatives back, where their variables have not
 * changed. */
static PyObject *frozen_attach(PyObject *module, PyObject *list)
{
    State *state = state_of_module(module);
    for (Py_ssize_t i = 0; PyList_Check(list) && i < PyList_GET_SIZE(list); i++) {
        PyObject *row = PyList_GET_ITEM(list, i);
        Array *array = PyTuple_Check(row) && PyTuple_GET_SIZE(row) == 3 &&
                               array_check(state, PyTuple_GET_ITEM(row, 0)) &&
                               array_check(state, PyTuple_GET_ITEM(row, 1))
                           ? array_of(PyTuple_GET_ITEM(row, 0))
                           : NULL;
        if (!array)
            return error_raise(PyExc_TypeError, name, NULL, 0, "expected a list");
        const Array *copy = array_of(PyTuple_GET_ITEM(row, 1));
        for (size_t k = 0; k < array_count(array) && k < array_count(copy); k++)
            if (leaf_index(array_leaves(array)[k]) == leaf_index(array_leaves(copy)[k]))
                array_set_leaf(array, k, leaf_ref(array_leaves(copy)[k]));
    }
    Py_RETURN_NONE;
}

static PyObject *frozen_abort(PyObject *module, PyObject *unused)
{
    (void) module;
    (void) unused;
    jit_freeze_abort();
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- the classes */

static PyTypeObject *make_class(const State *state, const char *full, size_t size,
                                PyType_Slot *slots)
{
    PyType_Spec spec = { .name = full,
                         .basicsize = (int) size,
                         .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                  Py_TPFLAGS_DISALLOW_INSTANTIATION,
                         .slots = slots };
    return (PyTypeObject *) PyType_FromModuleAndSpec(state->module, &spec, NULL);
}

bool frozen_bind(State *state)
{
    static PyGetSetDef members[] = {
        { "key", snapshot_key, NULL, "which recording fits", NULL },
        { "form", snapshot_form, NULL, "the same without values of literals", NULL },
        { "tracked", snapshot_tracked, NULL, "has an input a derivative?", NULL },
        { "literals", snapshot_literals, NULL, "[(number, bits, size)]", NULL },
        { NULL, NULL, NULL, NULL, NULL },
    };
    static PyMethodDef methods[] = {
        { "path", snapshot_path, METH_O, "where a variable is" },
        { "make_opaque", snapshot_make_opaque, METH_O, "put literals into memory" },
        { "start", snapshot_start, METH_O, "begin to record" },
        { "stop", METHOD(snapshot_stop), METH_FASTCALL,
          "stop(inputs, result): a recording, or a str that says why there is none" },
        { NULL, NULL, 0, NULL },
    };
    static PyMethodDef texts[] = {
        { "text", frozen_text, METH_NOARGS, "what it consists of" },
        { NULL, NULL, 0, NULL },
    };
    PyType_Slot snapshot_slots[] = {
        SLOT(Py_tp_dealloc, snapshot_dealloc),
        SLOT(Py_tp_traverse, snapshot_traverse),
        { Py_tp_getset, members },
        { Py_tp_methods, methods },
        { 0, NULL },
    };
    PyType_Slot frozen_class_slots[] = {
        SLOT(Py_tp_dealloc, frozen_dealloc),
        SLOT(Py_tp_traverse, frozen_traverse),
        SLOT(Py_tp_clear, frozen_clear),
        { Py_tp_methods, texts },
        { 0, NULL },
    };
    state->frozen_key = frozen_key_class(state);
    state->snapshot = make_class(state, "drjit._core._Snapshot", sizeof(Snapshot),
                                 snapshot_slots);
    state->frozen = make_class(state, "drjit._core._Frozen", sizeof(Frozen),
                               frozen_class_slots);
    return state->frozen_key && state->snapshot && state->frozen &&
           PyModule_AddObjectRef(state->module, "_Snapshot",
                                 (PyObject *) state->snapshot) == 0;
}

PyMethodDef frozen_functions[] = {
    { "_freeze_call", METHOD(frozen_call), METH_FASTCALL,
      "_freeze_call(recordings, inputs)\n\nsee drjit._freeze" },
    { "_freeze_detach", frozen_detach, METH_O,
      "_freeze_detach(tree)\n\nsee drjit._freeze" },
    { "_freeze_attach", frozen_attach, METH_O,
      "_freeze_attach(list)\n\nsee drjit._freeze" },
    { "_freeze_abort", frozen_abort, METH_NOARGS, "_freeze_abort()\n\nsee drjit._freeze" },
    { NULL, NULL, 0, NULL },
};
