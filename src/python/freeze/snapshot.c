/*
 * snapshot.c -- see snapshot.h
 *
 * Here is also what is done to inputs before a snapshot of them is taken: literals that
 * become opaque; and what drjit._freeze.ad needs to know of derivatives.
 */
#include "python/freeze/snapshot.h"

#include "python/ad/gradient.h"
#include "python/array/evaluate.h"
#include "python/array/overlay.h"
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/base/tables.h"
#include "python/freeze/exact.h"
#include "python/freeze/spec_codec.h"

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
    Py_XDECREF(s->contents);
    flattened_free(&s->inputs);
    PyMem_Free(s->described);
    Py_XDECREF((PyObject *) s->spec);
    PyObject_GC_Del(self);
    state_unref(state);
    Py_DECREF(cls);
}

static int snapshot_traverse(PyObject *self, visitproc visit, void *arg)
{
    const Snapshot *s = (Snapshot *) self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *) s->spec);
    Py_VISIT(s->contents);
    return tree_references(&s->inputs.tree, visit, arg);
}

static bool describe(Snapshot *s, bool *waiting)
{
    const FlattenedInputs *c = &s->inputs;
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
    FlattenedInputs *c = &s->inputs;
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
            ok = flattened_add(c, c->ids[number - 1], &c->numbers[i]);
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

/* Have all variables that are not literals in memory. */
static bool evaluate(Snapshot *s)
{
    const FlattenedInputs *c = &s->inputs;
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
    const FlattenedInputs *c = &s->inputs;
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

/* Extents go in as literals with that many entries. */
static bool make_extents(Snapshot *s)
{
    const SizeClasses *sizes = &s->sizes;
    const size_t count = s->inputs.id_count;
    if (!sizes->extra)
        return true;
    const JitBackend backend = flattened_backend(&s->inputs);
    s->ids = PyMem_Calloc(count + sizes->extra, sizeof(*s->ids));
    if (!s->ids)
        return PyErr_NoMemory() != NULL;
    if (count)
        memcpy(s->ids, s->inputs.ids, count * sizeof(*s->ids));
    const SizeClass *extents = sizes->classes + (sizes->count - sizes->extra);
    for (size_t i = 0; i < sizes->extra; i++) {
        s->ids[count + i] = var_jit(var_of_size(backend, extents[i].size));
        if (!s->ids[count + i])
            return error_from_core(name, NULL, 0);
    }
    return true;
}

bool snapshot_set_extents(const Snapshot *s)
{
    const FlattenedInputs *c = &s->inputs;
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
    bool ok = flattened_take(&s->inputs, state, name, inputs);
    if (ok) {
        s->described = PyMem_Calloc(s->inputs.id_count + 1, sizeof(*s->described));
        ok = s->described ? evaluate(s) : (PyErr_NoMemory(), false);
        ok = ok && (!has_literals(s) || number_literals(s));
    }
    if (ok)
        s->spec = input_spec_new(&s->inputs, s->described, true,
                                    ad_scope_suspends_all(), unordered, &s->sizes);
    if (s->spec && PyTuple_CheckExact(inputs) && PyTuple_GET_SIZE(inputs) >= 4)
        s->spec->quick =
            input_spec_quick(state, PyTuple_GET_ITEM(inputs, 0),
                             PyTuple_GET_ITEM(inputs, 1), PyTuple_GET_ITEM(inputs, 3));
    ok = s->spec && make_extents(s);
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
    return Py_NewRef((PyObject *) ((Snapshot *) self)->spec);
}

static PyObject *snapshot_form(PyObject *self, void *unused)
{
    Snapshot *s = (Snapshot *) self;
    SizeClasses sizes = { 0 };
    (void) unused;
    InputSpec *form =
        input_spec_new(&s->inputs, s->described, false, s->spec->suspended,
                       s->spec->unordered, &sizes);
    size_classes_free(&sizes);
    return (PyObject *) form;
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
        if (in->literal && !list_add(list, Py_BuildValue("nKI", (Py_ssize_t) i + 1,
                                                         (unsigned long long) in->bits,
                                                         (unsigned) in->size)))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *snapshot_rows(PyObject *self, void *unused)
{
    const InputSpec *o = ((Snapshot *) self)->spec;
    (void) unused;
    return spec_rows_of_inputs(&o->c, o->described);
}

static PyObject *path_of_leaf(const Snapshot *s, size_t leaf)
{
    return leaf < s->inputs.tree.leaf_count ? tree_leaf_path(&s->inputs.tree, leaf)
                                            : PyUnicode_FromString("");
}

static PyObject *snapshot_path(PyObject *self, PyObject *number)
{
    const Snapshot *s = (const Snapshot *) self;
    const size_t wanted = PyLong_AsSize_t(number);
    size_t component;
    return PyErr_Occurred()
               ? NULL
               : path_of_leaf(
                     s, flattened_find(&s->inputs, (uint32_t) wanted, &component));
}

static PyObject *snapshot_leaf_path(PyObject *self, PyObject *number)
{
    const size_t leaf = PyLong_AsSize_t(number);
    return PyErr_Occurred() ? NULL : path_of_leaf((const Snapshot *) self, leaf);
}

/* Let the arrays with this variable have another one in its place. */
static void replace_variable(const Snapshot *s, uint32_t number, uint32_t id)
{
    for (size_t leaf = 0; leaf < s->inputs.tree.leaf_count; leaf++) {
        const FlattenedLeaf *place = &s->inputs.places[leaf];
        Array *array = place->info ? array_of(s->inputs.tree.leaves[leaf]) : NULL;
        for (size_t i = 0; i < place->count; i++)
            if (s->inputs.numbers[place->first + i] == number && i < array_count(array))
                array_set_leaf(
                    array, i,
                    var_with_node(jit_var_inc_ref(id), array_leaves(array)[i]));
    }
}

/* The variable that the arrays with this number have now; 0: there are none. */
static uint32_t variable_now(const Snapshot *s, uint32_t number)
{
    size_t component;
    const size_t leaf = flattened_find(&s->inputs, number, &component);
    return leaf == SIZE_MAX ? 0
                            : var_jit(array_leaves(
                                  array_of(s->inputs.tree.leaves[leaf]))[component]);
}

bool snapshot_own_literals(Snapshot *s)
{
    FlattenedInputs *c = &s->inputs;
    for (size_t i = 0; i < c->id_count; i++) {
        if (!s->described[i].literal)
            continue;
        /* An array in two places has two numbers, and one variable. */
        const uint32_t now = variable_now(s, (uint32_t) i + 1);
        const uint32_t own = now && now != c->ids[i] ? jit_var_inc_ref(now)
                                                     : jit_var_copy(c->ids[i]);
        if (!own)
            return error_from_core(name, NULL, 0) != NULL;
        replace_variable(s, (uint32_t) i + 1, own);
        if (s->ids)
            s->ids[i] = own;
        jit_var_dec_ref(c->ids[i]);
        c->ids[i] = own;
    }
    return true;
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
        GIL_RELEASE_BEGIN
        opaque = jit_var_schedule_force(s->inputs.ids[n - 1], NULL);
        GIL_RELEASE_END
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

/* ---------------------------------------------------------------- derivatives
 *
 * The parts of a tree are the components of its float arrays with derivatives, in
 * order. */

/* The object as an array that can have derivatives, else NULL. */
static Array *gradient_array(const State *state, PyObject *object)
{
    Array *a = array_check(state, object) ? array_of(object) : NULL;
    return a && gradient_is_float(a->info) ? a : NULL;
}

/* (tree): a list of its parts, as arrays with one leaf. */
static PyObject *snapshot_parts(PyObject *module, PyObject *tree)
{
    State *state = state_of_module(module);
    Tree flat = { 0 };
    PyObject *list = PyList_New(0);
    bool ok = list && tree_flatten(state, name, tree, &flat);
    for (size_t i = 0; ok && i < flat.leaf_count; i++) {
        const Array *a = gradient_array(state, flat.leaves[i]);
        for (size_t k = 0; ok && a && k < array_count(a); k++)
            ok = list_add(list,
                          (PyObject *) array_new_leaf(&state->types[a->info->leaf],
                                                      var_ref(array_leaves(a)[k])));
    }
    tree_free(&flat);
    if (!ok)
        Py_CLEAR(list);
    return list;
}

/* Let component k have the node of an array with one leaf; None: no node. */
static bool set_node(const State *state, Array *a, size_t k, PyObject *like)
{
    const uint32_t variable = var_jit(array_leaves(a)[k]);
    if (like != Py_None && !array_check(state, like))
        return error_raise(PyExc_TypeError, name, NULL, 0, "expected an array");
    const VarIndex node = like == Py_None ? 0 : array_var(array_of(like));
    if (variable)
        array_set_leaf(a, k, var_with_node(jit_var_inc_ref(variable), node));
    else
        array_set_leaf(a, k, var_is_empty(node) ? var_ref(node) : 0);
    return true;
}

/* (tree, {number of a part: an array with the node that it is to have, or None}) */
static PyObject *snapshot_set_nodes(PyObject *module, PyObject *const *args,
                                    Py_ssize_t n)
{
    State *state = state_of_module(module);
    Tree flat = { 0 };
    if (n != 2 || !PyDict_Check(args[1]))
        return error_raise(PyExc_TypeError, name, args, n, "expected a dictionary");
    bool ok = tree_flatten(state, name, args[0], &flat);
    size_t number = 0;
    for (size_t i = 0; ok && i < flat.leaf_count; i++) {
        Array *a = gradient_array(state, flat.leaves[i]);
        for (size_t k = 0; ok && a && k < array_count(a); k++) {
            PyObject *key = PyLong_FromSize_t(number++);
            PyObject *like = key ? PyDict_GetItemWithError(args[1], key) : NULL;
            Py_XDECREF(key);
            ok = like ? set_node(state, a, k, like) : !PyErr_Occurred();
        }
    }
    tree_free(&flat);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

/* What is an array's copy, or its root's, if that has none yet: made and noted by
 * address in 'made'. A new reference; NULL: exception. */
static Array *copy_once(PyObject *made, Array *array, bool detached)
{
    PyObject *key = PyLong_FromVoidPtr(array);
    PyObject *known = key ? PyDict_GetItemWithError(made, key) : NULL;
    Array *copy = known || PyErr_Occurred() ? NULL : array_copy(array);
    for (size_t i = 0; copy && detached && array->info->jit && i < array_count(copy);
         i++)
        array_set_leaf(copy, i, var_plain(var_ref(array_leaves(copy)[i])));
    PyObject *const like[] = { (PyObject *) array };
    if (copy)
        copy = (Array *) array_finish(copy, like, 1);
    if (copy && PyDict_SetItem(made, key, (PyObject *) copy) < 0)
        Py_CLEAR(copy);
    Py_XDECREF(key);
    return known ? (Array *) Py_NewRef(known) : copy;
}

/* An array that is the same part of another root. */
static Array *part_of(Array *root, const Array *like)
{
    return like->root ? array_view(root, like->info, like->offset)
                      : (Array *) Py_NewRef((PyObject *) root);
}

/* (arrays, without derivatives?): a list of copies. Those of parts of one array, and of
 * that itself, are parts of one copy. */
static PyObject *snapshot_copies(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const State *state = state_of_module(module);
    if (n != 2 || !PyList_CheckExact(args[0]))
        return error_raise(PyExc_TypeError, name, args, n, "expected a list");
    PyObject *made = PyDict_New(), *list = PyList_New(0);
    bool ok = made && list;
    for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(args[0]); i++) {
        PyObject *object = PyList_GET_ITEM(args[0], i);
        if (!array_check(state, object)) {
            error_raise(PyExc_TypeError, name, NULL, 0, "expected arrays");
            ok = false;
            break;
        }
        Array *array = array_of(object);
        Array *root = copy_once(made, array->root ? array->root : array,
                                args[1] == Py_True);
        ok = root && list_add(list, (PyObject *) part_of(root, array));
        Py_XDECREF((PyObject *) root);
    }
    Py_XDECREF(made);
    if (!ok)
        Py_CLEAR(list);
    return list;
}

/* (array): the one that it is a part of, or itself. */
static PyObject *snapshot_root(PyObject *module, PyObject *object)
{
    if (!array_check(state_of_module(module), object))
        return error_raise(PyExc_TypeError, name, &object, 1, "expected an array");
    const Array *array = array_of(object);
    return Py_NewRef(array->root ? (PyObject *) array->root : object);
}

/* (root, like): the same part of it that 'like' is of its own root. */
static PyObject *snapshot_part_of(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const State *state = state_of_module(module);
    if (n != 2 || !array_check(state, args[0]) || !array_check(state, args[1]))
        return error_raise(PyExc_TypeError, name, args, n, "expected arrays");
    return (PyObject *) part_of(array_of(args[0]), array_of(args[1]));
}

/* (tree without arrays): by which it is compared, whatever is suspended. */
static PyObject *snapshot_key_of(PyObject *module, PyObject *tree)
{
    State *state = state_of_module(module);
    FlattenedInputs c = { 0 };
    SizeClasses sizes = { 0 };
    PyObject *key = NULL;
    JitFreezeInput *described = NULL;
    bool ok = flattened_take(&c, state, name, tree);
    if (ok) /* properties may make arrays */
        described = PyMem_Calloc(c.id_count + 1, sizeof(*described));
    if (ok && !described)
        ok = PyErr_NoMemory() != NULL;
    if (ok && !jit_freeze_describe(c.id_count, c.ids, described))
        ok = error_from_core(name, NULL, 0) != NULL;
    if (ok)
        key = (PyObject *) input_spec_new(&c, described, true, false, false, &sizes);
    PyMem_Free(described);
    size_classes_free(&sizes);
    flattened_free(&c);
    return key;
}

/* (arrays, sources): see overlay.h. */
static PyObject *snapshot_overlay(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const State *state = state_of_module(module);
    if (n != 2 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1]) ||
        PyList_GET_SIZE(args[0]) != PyList_GET_SIZE(args[1]))
        return error_raise(PyExc_TypeError, name, args, n, "expected two lists");
    const size_t count = (size_t) PyList_GET_SIZE(args[0]);
    Array **arrays = PyMem_New(Array *, 2 * count + 1);
    bool ok = arrays || PyErr_NoMemory();
    for (size_t i = 0; ok && i < 2 * count; i++) {
        PyObject *object = PyList_GET_ITEM(args[i / count], (Py_ssize_t) (i % count));
        ok = array_check(state, object);
        arrays[i] = array_of(object);
        if (!ok)
            error_raise(PyExc_TypeError, name, args, n, "expected arrays");
    }
    ok = ok && overlay_begin(count, arrays, arrays + count);
    PyMem_Free(arrays);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *snapshot_overlay_end(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    overlay_end();
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
    state->input_spec = input_spec_class(state);
    state->snapshot =
        type_add(state->module, "drjit._core._Snapshot", sizeof(Snapshot),
                 Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots);
    return state->input_spec && state->snapshot;
}

PyMethodDef snapshot_functions[] = {
    { "_freeze_parts", snapshot_parts, METH_O,
      "_freeze_parts(tree)\n\nsee drjit._freeze.ad" },
    { "_freeze_set_nodes", METHOD(snapshot_set_nodes), METH_FASTCALL,
      "_freeze_set_nodes(tree, nodes)\n\nsee drjit._freeze.ad" },
    { "_freeze_copies", METHOD(snapshot_copies), METH_FASTCALL,
      "_freeze_copies(arrays, detached)\n\nsee drjit._freeze.ad" },
    { "_freeze_root", snapshot_root, METH_O,
      "_freeze_root(array)\n\nsee drjit._freeze.ad" },
    { "_freeze_part_of", METHOD(snapshot_part_of), METH_FASTCALL,
      "_freeze_part_of(root, like)\n\nsee drjit._freeze.ad" },
    { "_freeze_key_of", snapshot_key_of, METH_O,
      "_freeze_key_of(tree)\n\nsee drjit._freeze.ad" },
    { "_freeze_overlay", METHOD(snapshot_overlay), METH_FASTCALL,
      "_freeze_overlay(arrays, sources)\n\nsee drjit._freeze.ad" },
    { "_freeze_overlay_end", snapshot_overlay_end, METH_NOARGS,
      "_freeze_overlay_end()\n\nsee drjit._freeze.ad" },
    { NULL, NULL, 0, NULL },
};
