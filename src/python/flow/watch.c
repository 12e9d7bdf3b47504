/*
 * watch.c -- see watch.h
 */
#include "python/flow/watch.h"

#include "python/base/error.h"
#include "python/tree/compatible.h"
#include "python/type/lazy_function.h"

enum { WATCH_LIMIT = 64 };

/* An entry of a container, or (without a container) an object in the tree. Entries of
 * one that is watched are items 'first' to 'end'. */
struct Watched {
    PyObject *container; /* a dictionary, a list or a tuple; a reference, or NULL */
    PyObject *key;       /* of a dictionary; a reference, or NULL */
    bool attribute;      /* the dictionary is that of an object */
    Py_ssize_t index;    /* of the others */
    size_t parent;       /* the item that holds the container */
    size_t place;        /* without a container: the node */
    size_t first, end;
    PyObject *skipped;   /* names of attributes that are part of the tree; NULL: none */
    PyObject *object;    /* a reference */
    VarIndex *ids;           /* of an array: what it had, else NULL */
    bool *held;          /* these are references: those of bodies must not make an array
                            look shared that is scattered to */
    size_t count;
};

static bool is_array(const Watch *watch, PyObject *object)
{
    return array_check(watch->state, object) && ((Array *) object)->info->jit;
}

static bool is_in_memory(VarIndex id)
{
    const VarState state = var_peek_state(id);
    return state == VarStateEvaluated || state == VarStateDirty;
}

/* ---------------------------------------------------------------- what there is */

static bool note_array(Watched *item)
{
    const Array *array = (const Array *) item->object;
    item->count = array_count(array);
    item->ids = PyMem_Calloc(item->count + 1, sizeof(*item->ids));
    item->held = PyMem_Calloc(item->count + 1, sizeof(*item->held));
    if (!item->ids || !item->held)
        return PyErr_NoMemory();
    for (size_t i = 0; i < item->count; i++) {
        item->ids[i] = array_leaves(array)[i];
        item->held[i] =
            !var_is_empty(item->ids[i]) && !is_in_memory(item->ids[i]);
        if (item->held[i])
            var_ref(item->ids[i]);
    }
    return true;
}

/* Has it attributes of its own? What has many is left out. */
static bool has_attributes(PyObject *object)
{
    const PyTypeObject *cls = Py_TYPE(object);
    return (PyType_HasFeature((PyTypeObject *) cls, Py_TPFLAGS_HEAPTYPE) ||
            cls->tp_dictoffset) &&
           !PyType_Check(object) && !PyModule_Check(object) &&
           !PyFunction_Check(object) && !PyCFunction_Check(object) &&
           !lazy_function_check(object);
}

static bool is_container(PyObject *object)
{
    return PyDict_Check(object) || PyList_Check(object) || PyTuple_Check(object);
}

/* Can there be arrays after it? */
static bool is_of_interest(const Watch *watch, PyObject *object)
{
    return is_array(watch, object) || is_container(object) ||
           (has_attributes(object) && !array_check(watch->state, object) &&
            !tracker_unbound(object));
}

/* A module or a class, which only @dr.syntax makes part of a state: where a body
 * assigns to its attributes. */
static bool is_namespace(PyObject *object)
{
    return PyModule_Check(object) ||
           (PyType_Check(object) &&
            PyType_HasFeature((PyTypeObject *) object, Py_TPFLAGS_HEAPTYPE));
}

static bool is_known(const Watch *watch, const PyObject *object)
{
    for (size_t i = 0; i < watch->count; i++)
        if (watch->items[i].object == object)
            return true;
    return false;
}

static bool reserve(Watch *watch)
{
    if (watch->count < watch->capacity)
        return true;
    const size_t wanted = watch->capacity ? 2 * watch->capacity : WATCH_LIMIT;
    Watched *grown = PyMem_Realloc(watch->items, wanted * sizeof(*grown));
    if (!grown)
        return PyErr_NoMemory();
    watch->items = grown;
    watch->capacity = wanted;
    return true;
}

static bool add(Watch *watch, Watched item)
{
    const bool root = !item.container && is_namespace(item.object);
    if ((!root && !is_of_interest(watch, item.object)) || watch->count == WATCH_LIMIT ||
        is_known(watch, item.object))
        return true;
    if (!reserve(watch))
        return false;
    Watched *own = &watch->items[watch->count++];
    *own = item;
    Py_INCREF(own->object);
    Py_XINCREF(own->container);
    Py_XINCREF(own->key);
    return !is_array(watch, own->object) || note_array(own);
}

static bool add_dictionary(Watch *watch, size_t parent, PyObject *dictionary,
                           bool attribute)
{
    PyObject *key, *value, *skipped = watch->items[parent].skipped;
    const bool arrays_only = is_namespace(watch->items[parent].object);
    Py_ssize_t position = 0;
    bool ok = true;
    while (ok && PyDict_Next(dictionary, &position, &key, &value)) {
        const int skip = skipped       ? PySequence_Contains(skipped, key)
                         : arrays_only ? !is_array(watch, value)
                                       : 0;
        ok = skip >= 0;
        if (ok && !skip)
            ok = add(watch, (Watched){ .container = dictionary,
                                       .key = key,
                                       .attribute = attribute,
                                       .parent = parent,
                                       .object = value });
    }
    return ok;
}

static bool add_sequence(Watch *watch, size_t parent, PyObject *sequence)
{
    bool ok = true;
    PyObject **entries = PySequence_Fast_ITEMS(sequence);
    for (Py_ssize_t i = 0; ok && i < PySequence_Fast_GET_SIZE(sequence); i++)
        ok = add(watch, (Watched){ .container = sequence,
                                   .index = i,
                                   .parent = parent,
                                   .object = entries[i] });
    return ok;
}

/* A container, or the dictionary of an object's attributes: a new reference. NULL: it
 * has slots. */
static PyObject *entries_of(PyObject *object)
{
    if (is_container(object))
        return Py_NewRef(object);
    if (PyType_Check(object))
        return Py_NewRef(((PyTypeObject *) object)->tp_dict);
    PyObject *attributes = PyObject_GenericGetDict(object, NULL);
    if (!attributes)
        PyErr_Clear();
    else if (!PyDict_Check(attributes))
        Py_CLEAR(attributes);
    return attributes;
}

/* The entries of an item, or its attributes. */
static bool add_entries(Watch *watch, size_t which)
{
    PyObject *object = watch->items[which].object;
    PyObject *entries = watch->items[which].ids ? NULL : entries_of(object);
    bool ok = true;
    watch->items[which].first = watch->count;
    if (entries && PyDict_Check(entries))
        ok = add_dictionary(watch, which, entries, entries != object);
    else if (entries)
        ok = add_sequence(watch, which, entries);
    watch->items[which].end = watch->count;
    Py_XDECREF(entries);
    return ok;
}

/* An object in the tree, with names of attributes that are part of that. */
static bool add_root(Watch *watch, size_t place, PyObject *object, PyObject *skipped)
{
    if ((!PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE) &&
         !is_namespace(object)) ||
        array_check(watch->state, object))
        return true;
    return add(watch,
               (Watched){ .place = place, .skipped = skipped, .object = object });
}

/* Objects in the tree with attributes that are not part of it; of the leaves, those
 * that are nothing to the tracker, if there is one. */
static bool add_roots(Watch *watch, const Tree *tree, const Tracker *t)
{
    size_t leaf = 0;
    bool ok = true;
    for (size_t place = 0; ok && place < tree->node_count; place++) {
        const TreeNode *node = &tree->nodes[place];
        if (node->kind == NODE_LEAF) {
            if (!node->above && (!t || !t->leaves[leaf].count))
                ok = add_root(watch, place, tree->leaves[leaf], NULL);
            ++leaf;
        } else if (node->kind == NODE_DATACLASS || node->kind == NODE_STRUCT) {
            ok = add_root(watch, place, node->object, node->plan->names);
        }
    }
    for (size_t i = 0; ok && i < watch->count; i++)
        ok = add_entries(watch, i);
    return ok;
}

bool watch_begin(Watch *watch, const Tracker *t)
{
    watch->state = t->state;
    watch->inside = jit_flag(JitFlagSymbolicScope);
    return add_roots(watch, &t->tree, t);
}

void watch_end(Watch *watch)
{
    for (size_t i = 0; i < watch->count; i++) {
        Watched *item = &watch->items[i];
        for (size_t k = 0; item->ids && k < item->count; k++)
            if (item->held && item->held[k])
                var_unref(item->ids[k]);
        PyMem_Free(item->ids);
        PyMem_Free(item->held);
        Py_XDECREF(item->container);
        Py_XDECREF(item->key);
        Py_XDECREF(item->object);
    }
    PyMem_Free(watch->items);
    *watch = (Watch){ 0 };
}

/* ---------------------------------------------------------------- what has changed */

/* What stands in the item's place in a container (borrowed), NULL: nothing. */
static PyObject *current(const Watched *item, PyObject *container)
{
    if (PyDict_Check(container))
        return item->key ? PyDict_GetItemWithError(container, item->key) : NULL;
    return !item->key && item->index < PySequence_Fast_GET_SIZE(container)
               ? PySequence_Fast_GET_ITEM(container, item->index)
               : NULL;
}

/* A value that a body has left behind, which nobody can use outside, may go. */
static bool is_stale(const Watch *watch, VarIndex id)
{
    return !watch->inside && var_peek_state(id) == VarStateSymbolic;
}

static bool is_changed(const Watch *watch, const Watched *item)
{
    PyObject *now = current(item, item->container);
    if (!now || !is_array(watch, now))
        return now != NULL;
    const Array *array = (const Array *) now;
    if (array_count(array) != item->count)
        return true;
    for (size_t i = 0; i < item->count; i++) {
        const VarIndex before = item->ids[i], after = array_leaves(array)[i];
        const bool same = before == after && (item->held[i] || var_is_empty(before) ||
                                              is_in_memory(after));
        if (same || (after && var_peek_state(after) == VarStateDirty) ||
            (item->held[i] && is_stale(watch, before)))
            continue;
        return true;
    }
    return false;
}

/* Is it what a body has computed, or was given, and can it be used outside? */
static bool is_of_body(const Watch *watch, const Tracker *t, const Array *array)
{
    for (size_t i = 0; i < array_count(array); i++) {
        const VarIndex var = array_leaves(array)[i];
        const VarState state = var_peek_state(var);
        if (var && is_stale(watch, var))
            return false;
        if (var && (state == VarStateSymbolic || state == VarStateUnevaluated))
            return true;
        for (size_t k = 0; state != VarStateLiteral && k < t->variables.count; k++)
            if (var && var == t->variables.ids[k])
                return true;
    }
    return false;
}

/* Was it there before, under this name? */
static bool is_noted(const Watch *watch, const Watched *item, const PyObject *object,
                     PyObject *key)
{
    for (size_t i = item->first; i < item->end; i++) {
        const Watched *entry = &watch->items[i];
        if (entry->object == object ||
            (entry->key && PyObject_RichCompareBool(entry->key, key, Py_EQ) == 1))
            return true;
    }
    return PyErr_Occurred();
}

/* The name of an attribute that a body has added to an object, and in which it has left
 * what it has computed (borrowed); NULL: there is none. */
static PyObject *find_added(const Watch *watch, const Tracker *t, const Watched *item)
{
    PyObject *entries = item->ids ? NULL : entries_of(item->object);
    PyObject *key, *value, *found = NULL;
    Py_ssize_t position = 0;
    while (!found && entries && PyDict_Check(entries) &&
           PyDict_Next(entries, &position, &key, &value)) {
        if (!is_array(watch, value) || !is_of_body(watch, t, (Array *) value))
            continue;
        const int skip = item->skipped ? PySequence_Contains(item->skipped, key) : 0;
        if (skip == 0 && !is_noted(watch, item, value, key))
            found = key;
    }
    Py_XDECREF(entries);
    return PyErr_Occurred() ? NULL : found;
}

/* "'self.colors[2]'", or with the name of an attribute "'self.colors'": NULL with an
 * exception. */
static PyObject *path_of(const Watch *watch, const Tracker *t, size_t which,
                         PyObject *added)
{
    PyObject *path = added ? PyUnicode_FromFormat(".%S'", added)
                           : PyUnicode_FromString("'");
    while (path && watch->items[which].container) {
        const Watched *item = &watch->items[which];
        PyObject *longer =
            item->attribute ? PyUnicode_FromFormat(".%S%U", item->key, path)
            : item->key     ? PyUnicode_FromFormat("[%R]%U", item->key, path)
                            : PyUnicode_FromFormat("[%zd]%U", item->index, path);
        Py_SETREF(path, longer);
        which = item->parent;
    }
    PyObject *name = path ? tracker_name(t, watch->items[which].place) : NULL;
    PyObject *begin =
        name ? PyUnicode_Substring(name, 0, PyUnicode_GET_LENGTH(name) - 1) : NULL;
    PyObject *whole = begin ? PyUnicode_Concat(begin, path) : NULL;
    Py_XDECREF(path);
    Py_XDECREF(name);
    Py_XDECREF(begin);
    return whole;
}

/* The object with the attribute through which the array is reached. */
static PyObject *owner_of(const Watch *watch, size_t which)
{
    while (watch->items[which].container && !watch->items[which].attribute)
        which = watch->items[which].parent;
    return watch->items[which].container
               ? watch->items[watch->items[which].parent].object
               : watch->items[which].object;
}

static bool fail(const Watch *watch, const Tracker *t, size_t which, PyObject *added)
{
    PyObject *path = path_of(watch, t, which, added);
    PyObject *cls = path ? tree_class_name(added ? watch->items[which].object
                                                 : owner_of(watch, which))
                         : NULL;
    if (cls)
        error_raise(PyExc_RuntimeError, t->operation, NULL, 0,
                    "%U was changed, which is not part of the state: of an object of "
                    "type %U only attributes are that a DRJIT_STRUCT or the fields of "
                    "a data class name",
                    path, cls);
    Py_XDECREF(path);
    Py_XDECREF(cls);
    return false;
}

bool watch_check(const Watch *watch, const Tracker *t)
{
    for (size_t i = 0; i < watch->count; i++) {
        const Watched *item = &watch->items[i];
        if (item->ids && is_changed(watch, item))
            return !PyErr_Occurred() && fail(watch, t, i, NULL);
        PyObject *added = find_added(watch, t, item);
        if (added || PyErr_Occurred())
            return added && fail(watch, t, i, added);
    }
    return true;
}

/* The name of the attribute through which it is reached, NULL: none. */
static PyObject *attribute_of(const Watch *watch, size_t which)
{
    while (watch->items[which].container && !watch->items[which].attribute)
        which = watch->items[which].parent;
    return watch->items[which].key;
}

PyObject *watch_find(const Watch *watch, const Tracker *t, PyObject *array,
                     PyObject *names)
{
    for (size_t i = 0; i < watch->count; i++) {
        PyObject *name = watch->items[i].ids ? attribute_of(watch, i) : NULL;
        if (name && array_overlap(watch->items[i].object, array) &&
            PySequence_Contains(names, name) == 1)
            return path_of(watch, t, i, NULL);
    }
    return NULL;
}
