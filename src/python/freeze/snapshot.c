/*
 * snapshot.c -- see snapshot.h
 *
 * Here is also what is done to inputs before a snapshot of them is taken: literals that
 * become opaque, derivatives that stay outside.
 */
#include "python/freeze/snapshot.h"

#include "python/freeze/exact.h"
#include "python/freeze/frozen_key.h"
#include "python/freeze/outline.h"
#include "python/freeze/rows.h"
#include "python/object/error.h"
#include "python/object/evaluate.h"
#include "python/object/tables.h"
#include "python/object/wait.h"

static const char name[] = "freeze";

/* ---------------------------------------------------------------- snapshots */

static void snapshot_dealloc(PyObject *self)
{
    Snapshot *s = (Snapshot *) self;
    PyTypeObject *cls = Py_TYPE(self);
    State *state = s->state;
    PyObject_GC_UnTrack(self);
    for (size_t i = 0; s->ids && i < s->sizes.extra; i++)
        jit_var_dec_ref(s->ids[s->inputs.id_count + i]);
    PyMem_Free(s->ids);
    size_classes_free(&s->sizes);
    watch_end(&s->watch);
    Py_XDECREF(s->contents);
    collection_free(&s->inputs);
    PyMem_Free(s->described);
    Py_XDECREF(s->key);
    PyObject_GC_Del(self);
    state_unref(state);
    Py_DECREF(cls);
}

static int snapshot_traverse(PyObject *self, visitproc visit, void *arg)
{
    const Snapshot *s = (Snapshot *) self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(s->key);
    Py_VISIT(s->contents);
    const int stopped = watch_references(&s->watch, visit, arg);
    return stopped ? stopped : tree_references(&s->inputs.tree, visit, arg);
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

bool snapshot_keep_contents(Snapshot *s)
{
    const Collection *c = &s->inputs;
    Py_XSETREF(s->contents, PyList_New(0));
    for (size_t i = 0; s->contents && i < c->tree.leaf_count; i++) {
        PyObject *leaf = c->tree.leaves[i];
        if (c->places[i].info || array_check(s->state, leaf))
            continue;
        PyObject *content = exact_content(leaf);
        PyObject *row = content ? Py_BuildValue("nN", (Py_ssize_t) i, content) : NULL;
        if (PyErr_Occurred() || (row && PyList_Append(s->contents, row) < 0))
            Py_CLEAR(s->contents);
        Py_XDECREF(row);
    }
    return s->contents;
}

size_t snapshot_changed_content(const Snapshot *s)
{
    const Py_ssize_t count = s->contents ? PyList_GET_SIZE(s->contents) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *row = PyList_GET_ITEM(s->contents, i);
        const size_t leaf = PyLong_AsSize_t(PyTuple_GET_ITEM(row, 0));
        PyObject *now = exact_content(s->inputs.tree.leaves[leaf]);
        const int same = now ? exact_equal(PyTuple_GET_ITEM(row, 1), now) : -1;
        Py_XDECREF(now);
        if (same <= 0)
            return PyErr_Occurred() ? SIZE_MAX : leaf;
    }
    return SIZE_MAX;
}

/* Extents go in as literals of so many entries. */
static bool make_extents(Snapshot *s)
{
    const SizeClasses *sizes = &s->sizes;
    const size_t count = s->inputs.id_count;
    if (!sizes->extra)
        return true;
    const JitBackend backend = collection_backend(&s->inputs);
    s->ids = PyMem_Calloc(count + sizes->extra, sizeof(*s->ids));
    if (!s->ids)
        return PyErr_NoMemory() != NULL;
    if (count)
        memcpy(s->ids, s->inputs.ids, count * sizeof(*s->ids));
    const SizeClass *extents = sizes->classes + (sizes->count - sizes->extra);
    for (size_t i = 0; i < sizes->extra; i++) {
        s->ids[count + i] = leaf_index(leaf_entries(backend, extents[i].size));
        if (!s->ids[count + i])
            return error_from_core(name, NULL, 0);
    }
    return true;
}

bool snapshot_set_extents(const Snapshot *s)
{
    const Collection *c = &s->inputs;
    size_t count;
    const uint32_t *ids = snapshot_ids(s, &count);
    for (size_t leaf = 0; leaf < c->tree.leaf_count; leaf++) {
        if (!c->places[leaf].info || c->places[leaf].info->kind != KIND_TENSOR)
            continue;
        Array *array = array_of(c->tree.leaves[leaf]);
        const Tensor *t = array_tensor(array);
        JitSize sizes[TENSOR_MAX_DIMS] = { 0 };
        for (size_t i = 0; i < t->ndim; i++) {
            const SizeClass *known =
                t->extents[i] > UINT32_MAX
                    ? NULL
                    : size_classes_find(&s->sizes, (uint32_t) t->extents[i]);
            sizes[i] = known ? jit_freeze_size(ids[known->input]) : 0;
            if (known && !sizes[i])
                return error_from_core(name, NULL, 0);
        }
        if (!array_set_sizes(array, sizes))
            return false;
    }
    return true;
}

Snapshot *snapshot_take(State *state, PyObject *inputs, bool unordered)
{
    Snapshot *s = PyObject_GC_New(Snapshot, state->snapshot);
    if (!s)
        return NULL;
    memset((char *) s + sizeof(PyObject), 0, sizeof(*s) - sizeof(PyObject));
    s->state = state;
    state->references++;
    s->suspended = ad_scope_suspends_all();
    s->unordered = unordered;
    bool ok = collection_take(&s->inputs, state, name, inputs);
    if (ok) {
        s->described = PyMem_Calloc(s->inputs.id_count + 1, sizeof(*s->described));
        ok = s->described ? evaluate(s) : (PyErr_NoMemory(), false);
        ok = ok && (!has_literals(s) || number_literals(s));
    }
    if (ok)
        s->key = frozen_key_make(state->frozen_key, &s->inputs, s->described, true,
                                 s->suspended, unordered, &s->sizes);
    ok = s->key && make_extents(s);
    PyObject_GC_Track(s);
    if (ok)
        return s;
    Py_DECREF(s);
    return NULL;
}

const Snapshot *snapshot_argument(PyObject *module, PyObject *const *args,
                                  Py_ssize_t n, Py_ssize_t wanted)
{
    const State *state = state_of_module(module);
    if (n == wanted && Py_TYPE(args[0]) == state->snapshot)
        return (const Snapshot *) args[0];
    error_raise(PyExc_TypeError, name, NULL, 0,
                "expected a snapshot, and %zd arguments", wanted - 1);
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
    SizeClasses sizes = { 0 };
    (void) unused;
    PyObject *form = frozen_key_make(s->state->frozen_key, &s->inputs, s->described,
                                     false, s->suspended, s->unordered, &sizes);
    size_classes_free(&sizes);
    return form;
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

static PyObject *snapshot_rows(PyObject *self, void *unused)
{
    const Snapshot *s = (Snapshot *) self;
    Collection outline;
    PyObject *both = NULL;
    (void) unused;
    if (outline_make(&outline, &s->inputs))
        both = rows_of_inputs(&outline, s->described);
    collection_free(&outline);
    return both;
}

static PyObject *snapshot_path(PyObject *self, PyObject *number)
{
    const size_t wanted = PyLong_AsSize_t(number);
    if (PyErr_Occurred())
        return NULL;
    return collection_path(&((Snapshot *) self)->inputs, (uint32_t) wanted);
}

static PyObject *snapshot_leaf_path(PyObject *self, PyObject *number)
{
    const Snapshot *s = (Snapshot *) self;
    const size_t leaf = PyLong_AsSize_t(number);
    if (PyErr_Occurred())
        return NULL;
    return leaf < s->inputs.tree.leaf_count ? tree_leaf_path(&s->inputs.tree, leaf)
                                            : PyUnicode_FromString("");
}

/* Let the arrays with this variable have another one in its place. */
static void replace_variable(const Snapshot *s, uint32_t number, uint32_t id)
{
    for (size_t leaf = 0; leaf < s->inputs.tree.leaf_count; leaf++) {
        const CollectedLeaf *place = &s->inputs.places[leaf];
        Array *array = place->info ? array_of(s->inputs.tree.leaves[leaf]) : NULL;
        for (size_t i = 0; i < place->count; i++)
            if (s->inputs.numbers[place->first + i] == number && i < array_count(array))
                array_set_leaf(
                    array, i,
                    leaf_with_node(jit_var_inc_ref(id), array_leaves(array)[i]));
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
    PyObject *row =
        copy ? Py_BuildValue("OOn", leaf, (PyObject *) copy, position) : NULL;
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
static PyObject *snapshot_detach(PyObject *module, PyObject *tree)
{
    Detaching d = { state_of_module(module), PyList_New(0), 0 };
    if (d.list && !tree_visit(d.state, name, tree, detach_leaf, &d))
        Py_CLEAR(d.list);
    return d.list;
}

/* Give the arrays of such a list their derivatives back, where their variables have not
 * changed. */
static PyObject *snapshot_attach(PyObject *module, PyObject *list)
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

/* ---------------------------------------------------------------- the class */

bool snapshot_bind(State *state)
{
    static PyGetSetDef members[] = {
        { "key", snapshot_key, NULL, "which recording fits", NULL },
        { "form", snapshot_form, NULL, "the same without values of literals", NULL },
        { "tracked", snapshot_tracked, NULL, "has an input a derivative?", NULL },
        { "rows", snapshot_rows, NULL, "of the inputs, and their variables", NULL },
        { "literals", snapshot_literals, NULL, "[(number, bits, size)]", NULL },
        { NULL, NULL, NULL, NULL, NULL },
    };
    static PyMethodDef methods[] = {
        { "path", snapshot_path, METH_O, "where a variable is" },
        { "leaf_path", snapshot_leaf_path, METH_O, "where a leaf is, by its number" },
        { "make_opaque", snapshot_make_opaque, METH_O, "put literals into memory" },
        { NULL, NULL, 0, NULL },
    };
    PyType_Slot slots[] = {
        SLOT(Py_tp_dealloc, snapshot_dealloc),
        SLOT(Py_tp_traverse, snapshot_traverse),
        { Py_tp_getset, members },
        { Py_tp_methods, methods },
        { 0, NULL },
    };
    PyType_Spec spec = { .name = "drjit._core._Snapshot",
                         .basicsize = sizeof(Snapshot),
                         .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                  Py_TPFLAGS_DISALLOW_INSTANTIATION,
                         .slots = slots };
    state->frozen_key = frozen_key_class(state);
    state->snapshot =
        (PyTypeObject *) PyType_FromModuleAndSpec(state->module, &spec, NULL);
    return state->frozen_key && state->snapshot &&
           PyModule_AddObjectRef(state->module, "_Snapshot",
                                 (PyObject *) state->snapshot) == 0;
}

PyMethodDef snapshot_functions[] = {
    { "_freeze_detach", snapshot_detach, METH_O,
      "_freeze_detach(tree)\n\nsee drjit._freeze" },
    { "_freeze_attach", snapshot_attach, METH_O,
      "_freeze_attach(list)\n\nsee drjit._freeze" },
    { NULL, NULL, 0, NULL },
};
