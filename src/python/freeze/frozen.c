/*
 * frozen.c -- recordings, and how they are repeated
 *
 * A call is one call of frozen_call() if a recording fits the snapshot of its inputs.
 * What to do otherwise is decided in drjit._freeze.
 */
#include "python/freeze/frozen.h"

#include "python/freeze/frozen_export.h"
#include "python/freeze/frozen_key.h"
#include "python/freeze/rows.h"
#include "python/freeze/snapshot.h"
#include "python/memory/access.h"
#include "python/object/error.h"
#include "python/object/tables.h"
#include "python/object/wait.h"

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
    Py_XDECREF(f->rows);
    Py_XDECREF(f->paths);
    PyObject_GC_Del(self);
    state_unref(state);
    Py_DECREF(cls);
}

static int frozen_traverse(PyObject *self, visitproc visit, void *arg)
{
    const Frozen *f = (Frozen *) self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(f->rows);
    return tree_references(&f->tree, visit, arg);
}

static int frozen_clear(PyObject *self)
{
    Frozen *f = (Frozen *) self;
    release_leaves(f);
    tree_free(&f->tree);
    Py_CLEAR(f->rows);
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

/* ---------------------------------------------------------------- outputs */

/* The outputs of the core: variables, then a literal for each size that the result
 * has. */
typedef struct Outputs {
    const Collection *c;
    JitBackend backend;
    uint32_t *ids; /* references of the literals only */
    JitSize *sizes;
    size_t size_count, capacity;
} Outputs;

static void free_outputs(Outputs *o)
{
    for (size_t i = 0; i < o->size_count; i++)
        jit_var_dec_ref(o->ids[o->c->id_count + i]);
    PyMem_Free(o->ids);
    PyMem_Free(o->sizes);
}

static bool reserve_size(Outputs *o)
{
    if (o->size_count < o->capacity)
        return true;
    const size_t wanted = o->capacity ? 2 * o->capacity : 4;
    uint32_t *ids = PyMem_Realloc(o->ids, (o->c->id_count + wanted) * sizeof(*ids));
    if (!ids)
        return PyErr_NoMemory() != NULL;
    o->ids = ids;
    JitSize *sizes = PyMem_Realloc(o->sizes, wanted * sizeof(*sizes));
    if (!sizes)
        return PyErr_NoMemory() != NULL;
    o->sizes = sizes;
    o->capacity = wanted;
    return true;
}

/* The number of a size among the outputs, from 1 on; 0: it is just a number.
 * UINT32_MAX: exception. */
static uint32_t output_size(Outputs *o, Extent extent)
{
    if (!extent.size || extent.n > UINT32_MAX) {
        extent_number(extent);
        return 0;
    }
    for (size_t i = 0; i < o->size_count; i++)
        if (o->sizes[i] == extent.size)
            return (uint32_t) i + 1;
    if (!reserve_size(o))
        return UINT32_MAX;
    const uint32_t id = leaf_index(leaf_entries(o->backend, extent_next(extent)));
    if (!id) {
        error_from_core(name, NULL, 0);
        return UINT32_MAX;
    }
    o->ids[o->c->id_count + o->size_count] = id;
    o->sizes[o->size_count] = extent.size;
    return (uint32_t) ++o->size_count;
}

/* Extents and the entries of the storage have to agree when it is repeated. */
static void check_storage(const Array *tensor, const Extents *shape)
{
    const Leaf leaf = tensor->info->jit ? array_leaf(tensor) : 0;
    Extent total;
    if (!leaf || !extents_total(shape, &total))
        PyErr_Clear(); /* there are no such tensors */
    else if (!extent_equal(extent_of_leaf(leaf, leaf_peek_size(leaf)), total))
        extent_number(total); /* one entry for all */
}

static bool keep_sizes(OutputLeaf *out, Outputs *o, const Extents *shape)
{
    out->sizes = PyMem_Calloc(shape->ndim + 1, sizeof(*out->sizes));
    if (!out->sizes)
        return PyErr_NoMemory() != NULL;
    for (size_t i = 0; i < shape->ndim; i++) {
        out->sizes[i] = output_size(o, extents_get(shape, i));
        if (out->sizes[i] == UINT32_MAX)
            return false;
    }
    return true;
}

/* A number that is a size. */
static bool keep_number(Frozen *f, Outputs *o, size_t leaf)
{
    Py_ssize_t value;
    Extents one;
    extents_set_numbers(&one, 0, NULL);
    Extent extent = extent_of(0);
    if (!extent_read(f->state, o->c->tree.leaves[leaf], &value, &extent))
        return !PyErr_Occurred(); /* it is negative, and bound */
    extents_append(&one, extent);
    return !one.sized || keep_sizes(&f->leaves[leaf], o, &one);
}

/* An array of the result, without its variables. */
static bool keep_leaf(Frozen *f, Outputs *o, size_t leaf)
{
    const CollectedLeaf *place = &o->c->places[leaf];
    OutputLeaf *out = &f->leaves[leaf];
    PyObject *object = o->c->tree.leaves[leaf];
    if (!place->info)
        return !size_check(f->state, object) || keep_number(f, o, leaf);
    out->cls = (PyTypeObject *) Py_NewRef((PyObject *) Py_TYPE(object));
    out->first = place->first;
    out->count = place->count;
    const bool tensor = place->info->kind == KIND_TENSOR;
    if (place->info->dynamic || tensor)
        out->like = array_new_like(place->info, (Array *) object);
    if (!tensor || !out->like)
        return out->like || !(place->info->dynamic || tensor);
    Extents shape;
    extents_of((Array *) object, &shape);
    check_storage((Array *) object, &shape);
    return array_set_shape(out->like, shape.ndim, shape.dims) && /* without sizes */
           (!shape.sized || keep_sizes(out, o, &shape));
}

/* A leaf that is no array of the core. Those of drjit.scalar, and sets, belong to
 * whoever gets them. A new reference; NULL: exception. */
static PyObject *own_leaf(const State *state, PyObject *leaf)
{
    if (Py_IS_TYPE(leaf, &PySet_Type))
        return PySet_New(leaf);
    return array_check(state, leaf) ? (PyObject *) array_copy(array_of(leaf))
                                    : Py_NewRef(leaf);
}

/* A tree like that of the outputs, in which arrays are None, so that it keeps none of
 * them alive. */
static bool keep_tree(Frozen *f, const Collection *c)
{
    const size_t count = c->tree.leaf_count;
    PyObject **leaves = PyMem_New(PyObject *, count + 1), *skeleton = NULL;
    if (!leaves)
        return PyErr_NoMemory() != NULL;
    size_t made = 0;
    while (made < count &&
           (leaves[made] = c->places[made].info
                               ? Py_NewRef(Py_None)
                               : own_leaf(f->state, c->tree.leaves[made])) != NULL)
        made++;
    if (made == count)
        skeleton = tree_unflatten(name, &c->tree, leaves);
    while (made)
        Py_DECREF(leaves[--made]);
    PyMem_Free(leaves);
    const bool ok = skeleton && tree_flatten(f->state, name, skeleton, &f->tree);
    Py_XDECREF(skeleton);
    if (ok && f->tree.leaf_count != c->tree.leaf_count)
        error_raise(PyExc_TypeError, name, NULL, 0,
                    "the result has an object that cannot be made without its fields");
    return ok && f->tree.leaf_count == c->tree.leaf_count;
}

/* What is to be known of the arrays, whose tree is in 'f' already. */
static bool keep_leaves(Frozen *f, Outputs *o)
{
    const Collection *c = o->c;
    f->leaves = PyMem_Calloc(c->tree.leaf_count + 1, sizeof(*f->leaves));
    f->numbers = PyMem_New(uint32_t, c->number_count + 1);
    if (!f->leaves || !f->numbers)
        return PyErr_NoMemory() != NULL;
    if (c->number_count)
        memcpy(f->numbers, c->numbers, c->number_count * sizeof(*f->numbers));
    bool ok = reserve_size(o);
    for (size_t i = 0; ok && i < c->tree.leaf_count; i++)
        ok = keep_leaf(f, o, i);
    f->output_count = c->id_count;
    f->size_count = o->size_count;
    if (ok && c->id_count)
        memcpy(o->ids, c->ids, c->id_count * sizeof(*o->ids));
    return ok;
}

bool frozen_keep_leaves(Frozen *f, const Collection *outputs)
{
    Outputs o = { .c = outputs };
    const bool ok = keep_leaves(f, &o);
    free_outputs(&o);
    return ok;
}

static PyObject *list_repeated(const Collection *c)
{
    PyObject *list = PyList_New((Py_ssize_t) c->repeated_count);
    for (size_t i = 0; list && i < c->repeated_count; i++) {
        PyObject *pair = PyLong_FromUnsignedLongLong(c->repeated[i]);
        if (pair)
            PyList_SET_ITEM(list, (Py_ssize_t) i, pair);
        else
            Py_CLEAR(list);
    }
    return list;
}

/* (rows of the inputs, their variables, rows of the outputs, Collection.repeated of the
 * inputs): what can be saved. */
static bool keep_rows(Frozen *f, const Snapshot *s, const Collection *outputs)
{
    f->suspended = s->suspended;
    PyObject *parts[] = { rows_make(&s->inputs, false), snapshot_variables(s),
                          rows_make(outputs, true), list_repeated(&s->inputs) };
    if (parts[0] && parts[1] && parts[2] && parts[3])
        f->rows = PyTuple_Pack(4, parts[0], parts[1], parts[2], parts[3]);
    for (size_t i = 0; i < 4; i++)
        Py_XDECREF(parts[i]);
    return f->rows;
}

Frozen *frozen_new(State *state)
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
static PyObject *stop_core(Frozen *f, const Outputs *o)
{
    WAIT_BEGIN
    f->recording = jit_freeze_stop(o->c->id_count + o->size_count, o->ids);
    WAIT_END
    if (f->recording)
        return Py_NewRef((PyObject *) f);
    if (jit_error() != JIT_ERROR_UNSUPPORTED)
        return error_from_core(name, NULL, 0);
    const char *message = jit_error_message(), *reason = strstr(message, "repeated: ");
    return PyUnicode_FromString(reason ? reason + strlen("repeated: ") : message);
}

static bool is_input(const Snapshot *s, const PyObject *object)
{
    size_t i = 0;
    while (i < s->inputs.tree.leaf_count && s->inputs.tree.leaves[i] != object)
        i++;
    return i < s->inputs.tree.leaf_count;
}

static bool is_repeatable(const Snapshot *s, PyObject *object);

static bool are_repeatable(const Snapshot *s, PyObject *set)
{
    PyObject *list = PySequence_List(set);
    bool ok = list;
    for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(list); i++)
        ok = is_repeatable(s, PyList_GET_ITEM(list, i));
    Py_XDECREF(list);
    return ok;
}

/* Will each call have this leaf among its results? Values, what is an input, and
 * whatever has a name; not an object that the function makes. */
static bool is_repeatable(const Snapshot *s, PyObject *object)
{
    if (PyAnySet_CheckExact(object))
        return are_repeatable(s, object);
    if (PyLong_Check(object) || PyFloat_Check(object) || PyUnicode_Check(object) ||
        object == Py_None || object == Py_Ellipsis || PyType_Check(object) ||
        PyModule_Check(object) || PyCFunction_Check(object) ||
        size_check(s->state, object) || array_check(s->state, object) ||
        is_input(s, object))
        return true;
    if (PyFunction_Check(object))
        return !PyFunction_GetClosure(object);
    const bool value = !PyMethod_Check(object) && !frozen_key_by_identity(object);
    PyErr_Clear(); /* of a hash: it is none, as far as this is concerned */
    return value && !PyObject_HasAttrString((PyObject *) Py_TYPE(object), "__dlpack__");
}

/* Why the leaves of a tree make it impossible to repeat; NULL: they do not, or an
 * exception. */
static PyObject *find_made(const Snapshot *s, const Tree *results)
{
    for (size_t i = 0; i < results->leaf_count; i++)
        if (!is_repeatable(s, results->leaves[i]))
            return PyUnicode_FromFormat("a result is an object of type %s, and each "
                                        "call makes another one",
                                        Py_TYPE(results->leaves[i])->tp_name);
    return NULL;
}

/* The same of a result without what was printed, which may show such objects. */
static PyObject *find_made_within(const Snapshot *s, PyObject *plain, PyObject *changed)
{
    Tree tree = { 0 };
    PyObject *both = PyTuple_Pack(2, plain, changed), *reason = NULL;
    if (both && tree_flatten(s->state, name, both, &tree))
        reason = find_made(s, &tree);
    tree_free(&tree);
    Py_XDECREF(both);
    return reason;
}

static bool keep_outputs(Frozen *f, const Snapshot *s, Outputs *o)
{
    return keep_tree(f, o->c) && keep_leaves(f, o) && keep_rows(f, s, o->c) &&
           frozen_export_keep(f, s, o->c);
}

/* 'plain' is the result without what the function has printed. */
static PyObject *stop(Frozen *f, const Snapshot *s, const Tree *now, PyObject *result,
                      PyObject *plain)
{
    Collection outputs = { 0 };
    PyObject *changed = find_changes(f, s, now);
    PyObject *both = changed ? PyTuple_Pack(2, result, changed) : NULL;
    PyObject *ended = NULL;
    Outputs core = { .c = &outputs, .backend = collection_backend(&s->inputs) };
    if (both && collection_take(&outputs, f->state, name, both)) {
        ended = result == plain ? find_made(s, &outputs.tree)
                                : find_made_within(s, plain, changed);
        if (!ended && outputs.tracked)
            ended = PyUnicode_FromString("a result depends on a gradient");
        if (!ended && !PyErr_Occurred() && keep_outputs(f, s, &core))
            ended = stop_core(f, &core);
    }
    free_outputs(&core);
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

/* (snapshot, backend, general, may arrays be read?): begin to record. */
static PyObject *frozen_start(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const Snapshot *s = snapshot_of(module, args, n, 4);
    const long backend = s ? PyLong_AsLong(args[1]) : -1;
    const bool general = s && args[2] == Py_True;
    const int reads = s ? PyObject_IsTrue(args[3]) : -1;
    if (reads < 0 || (backend == -1 && PyErr_Occurred()))
        return NULL;
    bool ok;
    size_t count;
    const uint32_t *ids = snapshot_ids(s, &count);
    WAIT_BEGIN
    ok = jit_freeze_start((JitBackend) backend, count, ids) &&
         jit_freeze_set_general(general);
    WAIT_END
    if (!ok)
        return error_from_core(name, NULL, 0);
    jit_freeze_allow_reads(reads);
    if (snapshot_set_extents(s))
        Py_RETURN_NONE;
    jit_freeze_abort();
    return NULL;
}

/* What is done until _freeze_resume() is no part of the recording. */
static PyObject *pause_or_resume(bool (*call)(void))
{
    bool ok;
    WAIT_BEGIN
    ok = call();
    WAIT_END
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

/* (snapshot, inputs, result with prints, result): a recording, or a str that says why
 * there is none. */
static PyObject *frozen_stop(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const Snapshot *s = snapshot_of(module, args, n, 4);
    Tree now = { 0 };
    Frozen *f = s ? frozen_new(s->state) : NULL;
    PyObject *ended = NULL;
    if (f && tree_flatten_like(s->state, name, &s->inputs.tree, args[1], &now)) {
        ended = is_tracked(&now, s->state)
                    ? PyUnicode_FromString("an input has derivatives in the end")
                    : stop(f, s, &now, args[2], args[3]);
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

/* What the core has given. */
typedef struct Given {
    uint32_t *ids; /* variables, then literals whose sizes matter */
    bool *taken;
} Given;

/* A variable of the outputs: its reference moves; the second time there is a new
 * one. */
static Leaf take_output(const Given *g, uint32_t number)
{
    if (!number)
        return 0;
    const uint32_t id = g->ids[number - 1];
    if (g->taken[number - 1])
        jit_var_inc_ref(id);
    g->taken[number - 1] = true;
    return leaf_of(id);
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
    const TypeInfo *info = out->like ? out->like->info
                                     : type_of_class(f->state, out->cls);
    const uint32_t *numbers = f->numbers + out->first;
    if (out->cls == info->py && info->kind == KIND_LEAF)
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
    PyObject *own = f->tree.leaves[leaf];
    if (out->sizes)
        return PyLong_FromSize_t(given_size(f, g, out->sizes[0]));
    return size_check(f->state, own) ? size_plain(f->state, own)
                                     : own_leaf(f->state, own);
}

static PyObject *make_result(const Frozen *f, const Given *g)
{
    const size_t count = f->tree.leaf_count;
    PyObject **leaves = PyMem_New(PyObject *, count + 1), *result = NULL;
    if (!leaves)
        return PyErr_NoMemory();
    size_t made = 0;
    while (made < count && (leaves[made] = make_leaf(f, made, g)) != NULL)
        made++;
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
    uint32_t few[FEW];
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
    size_t input_count;
    const uint32_t *inputs = snapshot_ids(s, &input_count);
    WAIT_BEGIN
    done = jit_freeze_replay(f->recording, input_count, inputs, g.ids);
    WAIT_END
    PyObject *result = NULL, *both;
    if (done > 0 && (both = make_result(f, &g)) != NULL) {
        if (!f->change_count || apply_changes(f, s, PyTuple_GET_ITEM(both, 1)))
            result = Py_NewRef(PyTuple_GET_ITEM(both, 0));
        Py_DECREF(both);
    }
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
      "_freeze_start(snapshot, backend, general, allow_reads)\n\nsee drjit._freeze" },
    { "_freeze_pause", frozen_pause, METH_NOARGS,
      "_freeze_pause()\n\nsee drjit._freeze" },
    { "_freeze_resume", frozen_resume, METH_NOARGS,
      "_freeze_resume()\n\nsee drjit._freeze" },
    { "_freeze_reads", frozen_reads, METH_O,
      "_freeze_reads(allow)\n\nsee drjit._freeze" },
    { "_freeze_stop", METHOD(frozen_stop), METH_FASTCALL,
      "_freeze_stop(snapshot, inputs, printing result, result)\n\nsee drjit._freeze" },
    { "_freeze_abort", frozen_abort, METH_NOARGS,
      "_freeze_abort()\n\nsee drjit._freeze" },
    { NULL, NULL, 0, NULL },
};
