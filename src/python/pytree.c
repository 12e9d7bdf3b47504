/*
 * pytree.c -- walking tuples, lists, dictionaries, data classes, DRJIT_STRUCT classes
 *
 * Containers are described by a small Children record: how many, and how to get each.
 * Borrowed references are never kept across calls into Python: a hook may change the
 * container it was called for, so each child is owned while it is processed, and the
 * size of a list is looked at again in each step.
 */
#include "python/pytree.h"

#include "python/error.h"

enum { DEPTH_LIMIT = 1000 };

typedef enum Container {
    NOT_A_CONTAINER, TUPLE, LIST, DICTIONARY, STRUCT, DATACLASS
} Container;

/* Which container an object is. */
static Container container_of(State *state, PyObject *o)
{
    if (PyTuple_CheckExact(o))
        return TUPLE;
    if (PyList_CheckExact(o))
        return LIST;
    if (PyDict_CheckExact(o))
        return DICTIONARY;
    PyTypeObject *cls = Py_TYPE(o);
    if (!(cls->tp_flags & Py_TPFLAGS_HEAPTYPE) || array_check(state, o) ||
        PyType_Check(o))
        return NOT_A_CONTAINER; /* int, float, str, ...: no attributes to look up */
    if (class_defines(cls, state->str_struct))
        return STRUCT;
    if (class_defines(cls, state->str_dataclass))
        return DATACLASS;
    return NOT_A_CONTAINER;
}

bool pytree_is_container(State *state, PyObject *object)
{
    return container_of(state, object) != NOT_A_CONTAINER;
}

bool pytree_is_struct(State *state, PyObject *cls)
{
    return PyType_Check(cls) &&
           (class_defines((PyTypeObject *) cls, state->str_struct) ||
            class_defines((PyTypeObject *) cls, state->str_dataclass));
}

/* The fields of a struct class: a list of (name, type) pairs (new reference). */
static PyObject *fields_of(State *state, const char *operation, PyObject *cls)
{
    PyObject *fields = PyObject_GetAttr(cls, state->str_struct);
    if (fields) {
        PyObject *items = PyDict_Check(fields) ? PyDict_Items(fields) : NULL;
        if (!items && !PyErr_Occurred())
            error_raise(PyExc_TypeError, operation, NULL, 0,
                        "%s.DRJIT_STRUCT must be a dictionary {name: type}",
                        ((PyTypeObject *) cls)->tp_name);
        Py_DECREF(fields);
        return items;
    }
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return NULL;
    PyErr_Clear();
    PyObject *module = PyImport_ImportModule("dataclasses");
    PyObject *all = module ? PyObject_CallMethod(module, "fields", "O", cls) : NULL;
    Py_ssize_t n = all ? PyTuple_Size(all) : -1;
    PyObject *pairs = n >= 0 ? PyList_New(n) : NULL;
    for (Py_ssize_t i = 0; i < n && pairs; i++) {
        PyObject *field = PyTuple_GET_ITEM(all, i);
        PyObject *name = PyObject_GetAttrString(field, "name");
        PyObject *type = name ? PyObject_GetAttrString(field, "type") : NULL;
        PyObject *pair = type ? PyTuple_Pack(2, name, type) : NULL;
        Py_XDECREF(name);
        Py_XDECREF(type);
        if (pair)
            PyList_SET_ITEM(pairs, i, pair);
        else
            Py_CLEAR(pairs);
    }
    Py_XDECREF(all);
    Py_XDECREF(module);
    return pairs;
}

static bool descend(const char *operation, int depth)
{
    if (depth < DEPTH_LIMIT)
        return true;
    error_raise(PyExc_RecursionError, operation, NULL, 0,
                "the tree contains itself, or is nested more than %d levels deep",
                DEPTH_LIMIT);
    return false;
}

/* The keys that name the children: a list of dictionary keys or field names (new
 * reference), None for tuples and lists. */
static PyObject *keys_of(State *state, const char *operation, Container kind,
                         PyObject *o)
{
    if (kind == DICTIONARY)
        return PyDict_Keys(o);
    if (kind == TUPLE || kind == LIST)
        return Py_NewRef(Py_None);
    PyObject *pairs = fields_of(state, operation, (PyObject *) Py_TYPE(o));
    for (Py_ssize_t i = 0; pairs && i < PyList_GET_SIZE(pairs); i++) {
        PyObject *name = Py_NewRef(PyTuple_GET_ITEM(PyList_GET_ITEM(pairs, i), 0));
        if (PyList_SetItem(pairs, i, name) < 0)
            Py_CLEAR(pairs);
    }
    return pairs;
}

static Py_ssize_t child_count(Container kind, PyObject *o, PyObject *keys)
{
    if (kind == TUPLE)
        return PyTuple_GET_SIZE(o);
    return kind == LIST ? PyList_GET_SIZE(o) : PyList_GET_SIZE(keys);
}

/* Child i, a new reference; NULL: exception. */
static PyObject *child_of(Container kind, PyObject *o, PyObject *keys, Py_ssize_t i)
{
    if (kind == TUPLE)
        return Py_NewRef(PyTuple_GET_ITEM(o, i));
    if (kind == LIST) {
        PyObject *child = PyList_GetItem(o, i);
        return Py_XNewRef(child);
    }
    PyObject *key = PyList_GET_ITEM(keys, i);
    if (kind != DICTIONARY)
        return PyObject_GetAttr(o, key);
    PyObject *child = PyDict_GetItemWithError(o, key);
    if (!child && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, key);
    return Py_XNewRef(child);
}

/* ---------------------------------------------------------------- visit */

static bool visit_node(State *state, const char *operation, PyObject *o, int depth,
                       PyTreeVisit visit, void *context)
{
    Container kind = container_of(state, o);
    if (kind == NOT_A_CONTAINER)
        return visit(context, o);
    if (!descend(operation, depth))
        return false;
    PyObject *keys = keys_of(state, operation, kind, o);
    bool ok = keys;
    for (Py_ssize_t i = 0; ok && i < child_count(kind, o, keys); i++) {
        PyObject *child = child_of(kind, o, keys, i);
        ok = child && visit_node(state, operation, child, depth + 1, visit, context);
        Py_XDECREF(child);
    }
    Py_XDECREF(keys);
    return ok;
}

bool pytree_visit(State *state, const char *operation, PyObject *tree,
                  PyTreeVisit visit, void *context)
{
    return visit_node(state, operation, tree, 0, visit, context);
}

/* ---------------------------------------------------------------- map */

enum { TREES_MAX = 4 };

typedef struct Walk {
    State *state;
    const char *operation;
    int n;
    PyTreeMap map;
    void *context;
} Walk;

/* An empty result of that kind with room for 'count' children. */
static PyObject *start_result(const Walk *w, Container kind, PyObject *like,
                              Py_ssize_t count)
{
    if (kind == TUPLE)
        return PyTuple_New(count);
    if (kind == LIST)
        return PyList_New(count);
    if (kind == DICTIONARY || kind == DATACLASS)
        return PyDict_New(); /* of a data class: the arguments of its constructor */
    PyObject *made = PyObject_CallNoArgs((PyObject *) Py_TYPE(like));
    if (!made)
        return error_raise(PyExc_TypeError, w->operation, NULL, 0,
                           "%s must be constructible without arguments",
                           Py_TYPE(like)->tp_name);
    return made;
}

/* Store a child, whose reference is stolen. */
static bool store_child(Container kind, PyObject *result, PyObject *keys, Py_ssize_t i,
                        PyObject *child)
{
    if (kind == TUPLE) {
        PyTuple_SET_ITEM(result, i, child);
        return true;
    }
    if (kind == LIST) {
        PyList_SET_ITEM(result, i, child);
        return true;
    }
    PyObject *key = PyList_GET_ITEM(keys, i);
    int status = kind == STRUCT ? PyObject_SetAttr(result, key, child)
                                : PyDict_SetItem(result, key, child);
    Py_DECREF(child);
    return status == 0;
}

/* Take out of 'values' those that the constructor does not accept:
 * field(init=False). */
static PyObject *take_late_fields(PyObject *cls, PyObject *values)
{
    PyObject *fields = PyObject_GetAttrString(cls, "__dataclass_fields__");
    PyObject *names = fields ? PyDict_Keys(values) : NULL;
    PyObject *late = names ? PyDict_New() : NULL;
    for (Py_ssize_t i = 0; late && i < PyList_GET_SIZE(names); i++) {
        PyObject *name = PyList_GET_ITEM(names, i);
        PyObject *field = PyObject_GetItem(fields, name);
        PyObject *init = field ? PyObject_GetAttrString(field, "init") : NULL;
        int accepted = init ? PyObject_IsTrue(init) : -1;
        if (accepted < 0 ||
            (!accepted &&
             (PyDict_SetItem(late, name, PyDict_GetItemWithError(values, name)) < 0 ||
              PyDict_DelItem(values, name) < 0)))
            Py_CLEAR(late);
        Py_XDECREF(field);
        Py_XDECREF(init);
    }
    Py_XDECREF(fields);
    Py_XDECREF(names);
    return late;
}

/* The data class instance with these field values; the reference to them is stolen. */
static PyObject *construct(const Walk *w, PyObject *cls, PyObject *values)
{
    PyObject *none = PyTuple_New(0);
    PyObject *late = none ? take_late_fields(cls, values) : NULL;
    PyObject *made = late ? PyObject_Call(cls, none, values) : NULL;
    if (late && !made)
        error_raise(PyExc_TypeError, w->operation, NULL, 0,
                    "%s must be constructible from its fields",
                    ((PyTypeObject *) cls)->tp_name);
    PyObject *name, *value;
    for (Py_ssize_t i = 0; made && PyDict_Next(late, &i, &name, &value);)
        if (PyObject_SetAttr(made, name, value) < 0)
            Py_CLEAR(made);
    Py_XDECREF(none);
    Py_XDECREF(late);
    Py_DECREF(values);
    return made;
}

/* Has a dictionary all of these keys? -1: exception. */
static int has_keys(PyObject *dictionary, PyObject *keys)
{
    int has = 1;
    for (Py_ssize_t i = 0; has == 1 && i < PyList_GET_SIZE(keys); i++)
        has = PyDict_Contains(dictionary, PyList_GET_ITEM(keys, i));
    return has;
}

static bool same_children(const Walk *w, Container kind, PyObject *first,
                          PyObject *other, PyObject *keys)
{
    Container other_kind = container_of(w->state, other);
    bool same = kind == other_kind &&
                (kind < STRUCT || Py_TYPE(first) == Py_TYPE(other)) &&
                (kind != DICTIONARY ||
                 PyDict_GET_SIZE(other) == PyList_GET_SIZE(keys)) &&
                (kind > LIST || child_count(kind, other, NULL) ==
                                    child_count(kind, first, NULL));
    int has = same && kind == DICTIONARY ? has_keys(other, keys) : 1;
    if (has < 0)
        return false;
    same = same && has;
    if (!same)
        error_raise(
            PyExc_ValueError, w->operation, NULL, 0,
            "the PyTrees differ in structure: found %s and %s with another number "
            "or kind of children",
            Py_TYPE(first)->tp_name, Py_TYPE(other)->tp_name);
    return same;
}

static PyObject *map_node(const Walk *w, PyObject *const *trees, int depth);

/* Map child i of all trees. */
static PyObject *map_child(const Walk *w, Container kind, PyObject *const *trees,
                           PyObject *keys, Py_ssize_t i, int depth)
{
    PyObject *children[TREES_MAX];
    int got = 0;
    for (; got < w->n; got++) {
        children[got] = child_of(kind, trees[got], keys, i);
        if (!children[got])
            break;
    }
    PyObject *mapped = got == w->n ? map_node(w, children, depth + 1) : NULL;
    while (got)
        Py_DECREF(children[--got]);
    return mapped;
}

static PyObject *map_node(const Walk *w, PyObject *const *trees, int depth)
{
    Container kind = container_of(w->state, trees[0]);
    if (kind == NOT_A_CONTAINER)
        return w->map(w->context, trees);
    if (!descend(w->operation, depth))
        return NULL;
    PyObject *keys = keys_of(w->state, w->operation, kind, trees[0]);
    if (!keys)
        return NULL;
    PyObject *result = NULL;
    Py_ssize_t count = child_count(kind, trees[0], keys);
    for (int i = 1; i < w->n; i++)
        if (!same_children(w, kind, trees[0], trees[i], keys))
            goto done;
    result = start_result(w, kind, trees[0], count);
    for (Py_ssize_t i = 0; i < count && result; i++) {
        PyObject *child = map_child(w, kind, trees, keys, i, depth);
        if (!child || !store_child(kind, result, keys, i, child))
            Py_CLEAR(result);
    }
    if (result && kind == DATACLASS)
        result = construct(w, (PyObject *) Py_TYPE(trees[0]), result);
done:
    Py_DECREF(keys);
    return result;
}

PyObject *pytree_map(State *state, const char *operation, PyObject *const *trees, int n,
                     PyTreeMap map, void *context)
{
    const Walk walk = {state, operation, n, map, context};
    if (n > TREES_MAX)
        return PyErr_Format(PyExc_SystemError, "pytree_map: at most %d trees",
                            TREES_MAX);
    return map_node(&walk, trees, 0);
}

/* ---------------------------------------------------------------- build */

typedef struct Build {
    State *state;
    const char *operation;
    PyTreeMake make;
    void *context;
} Build;

/* The class that a field's annotation names: "from __future__ import annotations" makes
 * strings of them, which typing resolves. Returns a dictionary {name: class} or
 * NULL. */
static PyObject *resolved_hints(PyObject *cls)
{
    PyObject *typing = PyImport_ImportModule("typing");
    PyObject *hints =
        typing ? PyObject_CallMethod(typing, "get_type_hints", "O", cls) : NULL;
    Py_XDECREF(typing);
    return hints;
}

static PyObject *build_node(const Build *b, PyObject *cls, int depth);

static bool build_field(const Build *b, PyObject *cls, PyObject *made, PyObject *pair,
                        int depth)
{
    PyObject *name = PyTuple_GET_ITEM(pair, 0), *type = PyTuple_GET_ITEM(pair, 1);
    PyObject *hints = NULL;
    if (PyUnicode_Check(type)) {
        hints = resolved_hints(cls);
        type = hints ? PyDict_GetItemWithError(hints, name) : NULL;
        if (!type) {
            if (!PyErr_Occurred())
                error_raise(PyExc_TypeError, b->operation, NULL, 0,
                            "%s.%S has a type that is given by name, and no annotation",
                            ((PyTypeObject *) cls)->tp_name, name);
            Py_XDECREF(hints);
            return false;
        }
    }
    bool ok = true;
    if (PyType_Check(type) && (type_of_class(b->state, (PyTypeObject *) type) ||
                               pytree_is_struct(b->state, type) ||
                               type == (PyObject *) &PyFloat_Type ||
                               type == (PyObject *) &PyLong_Type ||
                               type == (PyObject *) &PyBool_Type)) {
        PyObject *value = build_node(b, type, depth + 1);
        ok = value && PyObject_SetAttr(made, name, value) == 0;
        Py_XDECREF(value);
    } /* other fields keep what the default constructor gave them */
    Py_XDECREF(hints);
    return ok;
}

static PyObject *build_node(const Build *b, PyObject *cls, int depth)
{
    if (!pytree_is_struct(b->state, cls))
        return b->make(b->context, cls);
    if (!descend(b->operation, depth))
        return NULL;
    PyObject *pairs = fields_of(b->state, b->operation, cls);
    PyObject *made = pairs ? PyObject_CallNoArgs(cls) : NULL;
    if (pairs && !made)
        error_raise(PyExc_TypeError, b->operation, NULL, 0,
                    "%s must be constructible without arguments",
                    ((PyTypeObject *) cls)->tp_name);
    for (Py_ssize_t i = 0; made && i < PyList_GET_SIZE(pairs); i++)
        if (!build_field(b, cls, made, PyList_GET_ITEM(pairs, i), depth))
            Py_CLEAR(made);
    Py_XDECREF(pairs);
    return made;
}

PyObject *pytree_build(State *state, const char *operation, PyObject *cls,
                       PyTreeMake make, void *context)
{
    const Build build = {state, operation, make, context};
    return build_node(&build, cls, 0);
}
