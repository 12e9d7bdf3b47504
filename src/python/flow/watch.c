/*
 * watch.c -- see watch.h
 */
#include "python/flow/watch.h"

#include "python/object/error.h"
#include "python/tree/compatible.h"

enum { WATCH_LIMIT = 64 };

/* An entry of a container, or (without a container) an object in the tree. */
struct Watched {
    PyObject *container; /* a dictionary, a list or a tuple; a reference, or NULL */
    PyObject *key;       /* of a dictionary; a reference, or NULL */
    bool attribute;      /* the dictionary is that of an object */
    Py_ssize_t index;    /* of the others */
    size_t parent;       /* the item that holds the container */
    size_t place;        /* without a container: the node */
    PyObject *skipped;   /* names of attributes that are part of the tree; NULL: none */
    PyObject *object;    /* a reference */
    Leaf *ids;           /* of an array: what it had, else NULL */
    bool *held;          /* these are references: others must not make an array look
                            shared that is scattered to */
    size_t count;
};

static bool is_array(const Tracker *t, PyObject *object)
{
    return array_check(t->state, object) && ((Array *) object)->info->jit;
}

static bool is_in_memory(Leaf id)
{
    const VarState state = jit_var_state(leaf_index(id));
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
        item->held[i] = item->ids[i] && !is_in_memory(item->ids[i]);
        if (item->held[i])
            leaf_ref(item->ids[i]);
    }
    return true;
}

/* Can there be arrays behind it? */
static bool is_of_interest(const Tracker *t, PyObject *object)
{
    return is_array(t, object) || PyDict_CheckExact(object) ||
           PyList_CheckExact(object) || PyTuple_CheckExact(object) ||
           (PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE) &&
            !PyType_Check(object) && !array_check(t->state, object) &&
            !tracker_unbound(object));
}

static bool is_known(const Watch *watch, const PyObject *object)
{
    for (size_t i = 0; i < watch->count; i++)
        if (watch->items[i].object == object)
            return true;
    return false;
}

static bool add(Watch *watch, const Tracker *t, Watched item)
{
    if (watch->count == WATCH_LIMIT || !is_of_interest(t, item.object) ||
        is_known(watch, item.object))
        return true;
    if (!watch->items &&
        !(watch->items = PyMem_Calloc(WATCH_LIMIT, sizeof(*watch->items))))
        return PyErr_NoMemory();
    Watched *own = &watch->items[watch->count++];
    *own = item;
    Py_INCREF(own->object);
    Py_XINCREF(own->container);
    Py_XINCREF(own->key);
    return !is_array(t, own->object) || note_array(own);
}

static bool add_dictionary(Watch *watch, const Tracker *t, size_t parent,
                           PyObject *dictionary, bool attribute)
{
    PyObject *key, *value, *skipped = watch->items[parent].skipped;
    Py_ssize_t position = 0;
    bool ok = true;
    while (ok && PyDict_Next(dictionary, &position, &key, &value)) {
        const int skip = skipped ? PySequence_Contains(skipped, key) : 0;
        ok = skip >= 0;
        if (ok && !skip)
            ok = add(watch, t, (Watched){ .container = dictionary,
                                          .key = key,
                                          .attribute = attribute,
                                          .parent = parent,
                                          .object = value });
    }
    return ok;
}

static bool add_sequence(Watch *watch, const Tracker *t, size_t parent,
                         PyObject *sequence)
{
    bool ok = true;
    PyObject **entries = PySequence_Fast_ITEMS(sequence);
    for (Py_ssize_t i = 0; ok && i < PySequence_Fast_GET_SIZE(sequence); i++)
        ok = add(watch, t, (Watched){ .container = sequence,
                                      .index = i,
                                      .parent = parent,
                                      .object = entries[i] });
    return ok;
}

/* The entries of an item, or its attributes. */
static bool add_entries(Watch *watch, const Tracker *t, size_t which)
{
    PyObject *object = watch->items[which].object;
    if (watch->items[which].ids)
        return true;
    if (PyDict_CheckExact(object))
        return add_dictionary(watch, t, which, object, false);
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object))
        return add_sequence(watch, t, which, object);
    PyObject *attributes = PyObject_GenericGetDict(object, NULL);
    if (!attributes) {
        PyErr_Clear(); /* it has slots */
        return true;
    }
    const bool ok = !PyDict_CheckExact(attributes) ||
                    add_dictionary(watch, t, which, attributes, true);
    Py_DECREF(attributes);
    return ok;
}

/* Objects in the tree with attributes that are not part of it. */
static bool add_roots(Watch *watch, const Tracker *t)
{
    size_t leaf = 0;
    bool ok = true;
    for (size_t place = 0; ok && place < t->tree.node_count; place++) {
        const TreeNode *node = &t->tree.nodes[place];
        PyObject *object = node->object, *skipped = NULL;
        if (node->kind == NODE_LEAF) {
            object = t->leaves[leaf].count ? NULL : t->tree.leaves[leaf];
            ++leaf;
        } else if (node->kind == NODE_DATACLASS || node->kind == NODE_STRUCT) {
            skipped = node->plan->names;
        } else {
            object = NULL;
        }
        if (object && PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE))
            ok = add(watch, t, (Watched){ .place = place,
                                          .skipped = skipped,
                                          .object = object });
    }
    return ok;
}

bool watch_begin(Watch *watch, const Tracker *t)
{
    bool ok = add_roots(watch, t);
    watch->inside = jit_flag(JitFlagSymbolicScope);
    for (size_t i = 0; ok && i < watch->count; i++)
        ok = add_entries(watch, t, i);
    return ok;
}

void watch_end(Watch *watch)
{
    for (size_t i = 0; i < watch->count; i++) {
        Watched *item = &watch->items[i];
        for (size_t k = 0; item->ids && k < item->count; k++)
            if (item->held && item->held[k])
                leaf_unref(item->ids[k]);
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

/* What stands in the item's place (borrowed), NULL: nothing. */
static PyObject *current(const Watched *item)
{
    if (item->key)
        return PyDict_GetItemWithError(item->container, item->key);
    return item->index < PySequence_Fast_GET_SIZE(item->container)
               ? PySequence_Fast_GET_ITEM(item->container, item->index)
               : NULL;
}

/* A value that a body has left behind, which nobody can use outside, may go. */
static bool is_stale(const Watch *watch, Leaf id)
{
    return !watch->inside && jit_var_state(leaf_index(id)) == VarStateSymbolic;
}

static bool is_changed(const Watch *watch, const Tracker *t, const Watched *item)
{
    PyObject *now = current(item);
    if (!now || !is_array(t, now))
        return now != NULL;
    const Array *array = (const Array *) now;
    if (array_count(array) != item->count)
        return true;
    for (size_t i = 0; i < item->count; i++) {
        const Leaf before = item->ids[i], after = array_leaves(array)[i];
        const bool same = before == after && (item->held[i] || !before ||
                                              is_in_memory(after));
        if (same || (after && jit_var_state(leaf_index(after)) == VarStateDirty) ||
            (item->held[i] && is_stale(watch, before)))
            continue;
        return true;
    }
    return false;
}

/* "'self.colors[2]'": NULL with an exception. */
static PyObject *path_of(const Watch *watch, const Tracker *t, size_t which)
{
    PyObject *path = PyUnicode_FromString("'");
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
    while (!watch->items[which].attribute)
        which = watch->items[which].parent;
    return watch->items[watch->items[which].parent].object;
}

static bool fail(const Watch *watch, const Tracker *t, size_t which)
{
    PyObject *path = path_of(watch, t, which);
    PyObject *cls = path ? tree_class_name(owner_of(watch, which)) : NULL;
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
    for (size_t i = 0; i < watch->count; i++)
        if (watch->items[i].ids && is_changed(watch, t, &watch->items[i]))
            return !PyErr_Occurred() && fail(watch, t, i);
    return true;
}
