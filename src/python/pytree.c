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

/* ---------------------------------------------------------------- structures */

/* Take out of 'values' those that the constructor of a data class does not accept:
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

/* A call of the class has failed: was it for its arguments? Then the exception is
 * cleared. */
static bool takes_others(PyObject *cls, PyObject *none, PyObject *arguments)
{
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        return false;
    PyObject *error = error_fetch();
    PyObject *module = PyImport_ImportModule("inspect");
    PyObject *signature =
        module ? PyObject_CallMethod(module, "signature", "O", cls) : NULL;
    PyObject *bind = signature ? PyObject_GetAttrString(signature, "bind") : NULL;
    PyObject *bound = bind ? PyObject_Call(bind, none, arguments) : NULL;
    bool others = bind && !bound && PyErr_ExceptionMatches(PyExc_TypeError);
    if (others || !PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
        if (!others)
            error_restore(Py_NewRef(error));
    }
    Py_DECREF(error);
    Py_XDECREF(module);
    Py_XDECREF(signature);
    Py_XDECREF(bind);
    Py_XDECREF(bound);
    return others;
}

/* An instance that no constructor has seen, as pickle makes them, with the attributes
 * of another one (or NULL). */
static PyObject *make_bare(PyObject *cls, PyObject *like)
{
    PyObject *made =
        PyObject_CallMethod((PyObject *) &PyBaseObject_Type, "__new__", "O", cls);
    PyObject *from = made && like ? PyObject_GetAttrString(like, "__dict__") : NULL;
    PyObject *to = from ? PyObject_GetAttrString(made, "__dict__") : NULL;
    bool ok = !to || PyDict_Update(to, from) == 0;
    if (made && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear(); /* of a class with __slots__ */
    else if (!ok || PyErr_Occurred())
        Py_CLEAR(made);
    Py_XDECREF(from);
    Py_XDECREF(to);
    return made;
}

static bool set_fields(PyObject *made, PyObject *values, setattrofunc set)
{
    PyObject *name, *value;
    bool ok = true;
    for (Py_ssize_t i = 0; ok && PyDict_Next(values, &i, &name, &value);)
        ok = set(made, name, value) == 0;
    return ok;
}

/* The instance with these fields, whose reference is stolen. The constructor of a data
 * class is given them, that of a DRJIT_STRUCT class nothing; if it wants something
 * else, there is no constructor call, and further attributes are those of 'like' (or
 * NULL). */
static PyObject *construct(const char *operation, Container kind, PyObject *cls,
                           PyObject *values, PyObject *like)
{
    PyObject *none = PyTuple_New(0), *made = NULL;
    PyObject *late = kind == DATACLASS ? take_late_fields(cls, values) : values;
    PyObject *arguments = kind == DATACLASS ? values : PyDict_New();
    if (none && late && arguments)
        made = PyObject_Call(cls, none, arguments);
    if (made) {
        if (!set_fields(made, late,
                        kind == DATACLASS ? PyObject_GenericSetAttr : PyObject_SetAttr))
            Py_CLEAR(made);
    } else if (none && late && arguments && takes_others(cls, none, arguments)) {
        made = make_bare(cls, like);
        if (made && !(set_fields(made, arguments, PyObject_GenericSetAttr) &&
                      set_fields(made, late, PyObject_GenericSetAttr)))
            Py_CLEAR(made);
    }
    if (!made)
        error_raise(PyExc_TypeError, operation, NULL, 0, "%s could not be constructed",
                    ((PyTypeObject *) cls)->tp_name);
    Py_XDECREF(none);
    if (kind == DATACLASS)
        Py_XDECREF(late);
    else
        Py_XDECREF(arguments);
    Py_DECREF(values);
    return made;
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

/* An empty result of that kind with room for 'count' children; of a structure, its
 * fields. */
static PyObject *start_result(Container kind, Py_ssize_t count)
{
    return kind == TUPLE  ? PyTuple_New(count)
           : kind == LIST ? PyList_New(count)
                          : PyDict_New();
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
    int status = PyDict_SetItem(result, PyList_GET_ITEM(keys, i), child);
    Py_DECREF(child);
    return status == 0;
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
    result = start_result(kind, count);
    for (Py_ssize_t i = 0; i < count && result; i++) {
        PyObject *child = map_child(w, kind, trees, keys, i, depth);
        if (!child || !store_child(kind, result, keys, i, child))
            Py_CLEAR(result);
    }
    if (result && (kind == DATACLASS || kind == STRUCT))
        result = construct(w->operation, kind, (PyObject *) Py_TYPE(trees[0]), result,
                           trees[0]);
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

/* Is it a type that build_node() makes an instance of? */
static bool is_made(const Build *b, PyObject *type)
{
    return PyType_Check(type) && (type_of_class(b->state, (PyTypeObject *) type) ||
                                  pytree_is_struct(b->state, type) ||
                                  type == (PyObject *) &PyFloat_Type ||
                                  type == (PyObject *) &PyLong_Type ||
                                  type == (PyObject *) &PyBool_Type);
}

/* The type of a field; NULL: exception. */
static PyObject *field_type(const Build *b, PyObject *cls, PyObject *pair)
{
    PyObject *name = PyTuple_GET_ITEM(pair, 0), *type = PyTuple_GET_ITEM(pair, 1);
    if (!PyUnicode_Check(type))
        return Py_NewRef(type);
    PyObject *hints = resolved_hints(cls);
    type = hints ? Py_XNewRef(PyDict_GetItemWithError(hints, name)) : NULL;
    if (!type && !PyErr_Occurred())
        error_raise(PyExc_TypeError, b->operation, NULL, 0,
                    "%s.%S has a type that is given by name, and no annotation",
                    ((PyTypeObject *) cls)->tp_name, name);
    Py_XDECREF(hints);
    return type;
}

/* Must the constructor of a data class be given this field? -1: exception. */
static int is_required(PyObject *cls, PyObject *name)
{
    PyObject *fields = PyObject_GetAttrString(cls, "__dataclass_fields__");
    PyObject *field = fields ? PyObject_GetItem(fields, name) : NULL;
    PyObject *module = field ? PyImport_ImportModule("dataclasses") : NULL;
    PyObject *missing = module ? PyObject_GetAttrString(module, "MISSING") : NULL;
    PyObject *value = missing ? PyObject_GetAttrString(field, "default") : NULL;
    PyObject *factory = value ? PyObject_GetAttrString(field, "default_factory") : NULL;
    PyObject *init = factory ? PyObject_GetAttrString(field, "init") : NULL;
    int required = init ? PyObject_IsTrue(init) : -1;
    if (required > 0)
        required = value == missing && factory == missing;
    Py_XDECREF(fields);
    Py_XDECREF(field);
    Py_XDECREF(module);
    Py_XDECREF(missing);
    Py_XDECREF(value);
    Py_XDECREF(factory);
    Py_XDECREF(init);
    return required;
}

static PyObject *build_node(const Build *b, PyObject *cls, int depth);

/* What 'name' is to be, from its type. Fields of other types keep what the constructor
 * gives them; a data class without a default gets what its type makes of nothing. */
static bool build_field(const Build *b, Container kind, PyObject *cls, PyObject *values,
                        PyObject *pair, int depth)
{
    PyObject *name = PyTuple_GET_ITEM(pair, 0), *value = NULL;
    PyObject *type = field_type(b, cls, pair);
    bool ok = type;
    if (type && is_made(b, type)) {
        value = build_node(b, type, depth + 1);
        ok = value;
    } else if (type && kind == DATACLASS) {
        int required = is_required(cls, name);
        value = required > 0 ? PyObject_CallNoArgs(type) : NULL;
        ok = value || required == 0;
        if (required > 0 && !value)
            error_raise(PyExc_TypeError, b->operation, NULL, 0,
                        "%s.%S has no default, and %R makes none",
                        ((PyTypeObject *) cls)->tp_name, name, type);
    }
    ok = ok && (!value || PyDict_SetItem(values, name, value) == 0);
    Py_XDECREF(value);
    Py_XDECREF(type);
    return ok;
}

static PyObject *build_node(const Build *b, PyObject *cls, int depth)
{
    if (!pytree_is_struct(b->state, cls))
        return b->make(b->context, cls);
    if (!descend(b->operation, depth))
        return NULL;
    Container kind =
        class_defines((PyTypeObject *) cls, b->state->str_struct) ? STRUCT : DATACLASS;
    PyObject *pairs = fields_of(b->state, b->operation, cls);
    PyObject *values = pairs ? PyDict_New() : NULL;
    for (Py_ssize_t i = 0; values && i < PyList_GET_SIZE(pairs); i++)
        if (!build_field(b, kind, cls, values, PyList_GET_ITEM(pairs, i), depth))
            Py_CLEAR(values);
    Py_XDECREF(pairs);
    return values ? construct(b->operation, kind, cls, values, NULL) : NULL;
}

PyObject *pytree_build(State *state, const char *operation, PyObject *cls,
                       PyTreeMake make, void *context)
{
    const Build build = {state, operation, make, context};
    return build_node(&build, cls, 0);
}
