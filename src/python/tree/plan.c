/*
 * plan.c -- see plan.h
 */
#include "python/tree/plan.h"

#include "python/object/error.h"

/* ---------------------------------------------------------------- fields of a class */

/* [(name, type), ...] of a data class. */
static PyObject *fields_of_dataclass(PyTypeObject *cls)
{
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

static PyObject *fields_of_struct(const char *operation, PyTypeObject *cls,
                                  PyObject *fields)
{
    if (PyDict_Check(fields))
        return PyDict_Items(fields);
    return error_raise(PyExc_TypeError, operation, NULL, 0,
                       "%s.DRJIT_STRUCT is of another type, expected a dictionary "
                       "{name: type}",
                       cls->tp_name);
}

/* The attribute that makes a class what it is (borrowed). */
static PyObject *find_source(State *state, PyTypeObject *cls, NodeKind *kind)
{
    PyObject *found = class_attribute(cls, state->str_struct);
    *kind = found ? NODE_STRUCT : NODE_LEAF;
    if (!found && (found = class_attribute(cls, state->str_dataclass)))
        *kind = NODE_DATACLASS;
    if (!found && (cls->tp_flags & Py_TPFLAGS_TUPLE_SUBCLASS) &&
        (found = class_attribute(cls, state->str_fields)))
        *kind = NODE_NAMED_TUPLE;
    if (!found && (found = class_attribute(cls, state->str_traverse)))
        *kind = NODE_TRAVERSABLE;
    if (*kind == NODE_NAMED_TUPLE && !PyTuple_CheckExact(found))
        *kind = NODE_LEAF;
    return found;
}

/* ---------------------------------------------------------------- making a plan */

/* Entry k of each of the (name, type) pairs of a class, as a tuple. */
static PyObject *entries_of(const char *operation, PyTypeObject *cls, NodeKind kind,
                            PyObject *source, int k)
{
    PyObject *pairs = kind == NODE_STRUCT ? fields_of_struct(operation, cls, source)
                                          : fields_of_dataclass(cls);
    Py_ssize_t n = pairs ? PyList_GET_SIZE(pairs) : 0;
    PyObject *entries = pairs ? PyTuple_New(n) : NULL;
    for (Py_ssize_t i = 0; entries && i < n; i++)
        PyTuple_SET_ITEM(entries, i,
                         Py_NewRef(PyTuple_GET_ITEM(PyList_GET_ITEM(pairs, i), k)));
    Py_XDECREF(pairs);
    return entries;
}

static PyObject *names_of(const char *operation, PyTypeObject *cls, NodeKind kind,
                          PyObject *source)
{
    if (kind == NODE_NAMED_TUPLE)
        return Py_NewRef(source);
    PyObject *names = entries_of(operation, cls, kind, source, 0);
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++)
        if (!PyUnicode_Check(PyTuple_GET_ITEM(names, i))) {
            error_raise(PyExc_TypeError, operation, NULL, 0,
                        "the fields of %s are named by strings, got %R", cls->tp_name,
                        PyTuple_GET_ITEM(names, i));
            Py_CLEAR(names);
        }
    return names;
}

/* Which fields does the constructor of a data class take? */
static bool divide_fields(Plan *plan, PyObject *source)
{
    PyObject *sets[2] = { PyList_New(0), PyList_New(0) };
    bool ok = sets[0] && sets[1];
    for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(plan->names); i++) {
        PyObject *name = PyTuple_GET_ITEM(plan->names, i);
        PyObject *field = PyObject_GetItem(source, name);
        PyObject *init = field ? PyObject_GetAttrString(field, "init") : NULL;
        int accepted = init ? PyObject_IsTrue(init) : -1;
        ok = accepted >= 0 && PyList_Append(sets[!accepted], name) == 0;
        Py_XDECREF(field);
        Py_XDECREF(init);
    }
    plan->accepted = ok ? PyList_AsTuple(sets[0]) : NULL;
    plan->late = ok ? PyList_AsTuple(sets[1]) : NULL;
    Py_XDECREF(sets[0]);
    Py_XDECREF(sets[1]);
    return plan->accepted && plan->late;
}

static Plan *make_plan(const char *operation, PyTypeObject *cls, NodeKind kind,
                       PyObject *source)
{
    Plan *plan = PyMem_Calloc(1, sizeof(*plan));
    if (!plan) {
        PyErr_NoMemory();
        return NULL;
    }
    *plan = (Plan){ .references = 1, .kind = kind, .cls = cls, .source = source };
    Py_INCREF(source);
    plan->reference = PyWeakref_NewRef((PyObject *) cls, NULL);
    plan->names = plan->reference ? names_of(operation, cls, kind, source) : NULL;
    bool ok = plan->names && (kind != NODE_DATACLASS || divide_fields(plan, source));
    Py_DECREF(source);
    if (ok)
        return plan;
    plan_release(plan);
    return NULL;
}

PyObject *plan_types(const char *operation, const Plan *plan)
{
    if (plan->kind == NODE_NAMED_TUPLE)
        return Py_NewRef(Py_None);
    PyObject *types = entries_of(operation, plan->cls, plan->kind, plan->source, 1);
    if (types && PyTuple_GET_SIZE(types) != PyTuple_GET_SIZE(plan->names)) {
        error_raise(PyExc_RuntimeError, operation, NULL, 0,
                    "the fields of %s have changed", plan->cls->tp_name);
        Py_CLEAR(types);
    }
    return types;
}

void plan_release(Plan *plan)
{
    if (!plan || --plan->references)
        return;
    Py_XDECREF(plan->reference);
    Py_XDECREF(plan->names);
    Py_XDECREF(plan->accepted);
    Py_XDECREF(plan->late);
    PyMem_Free(plan);
}

/* ---------------------------------------------------------------- looking up */

/* Are the keys of a dictionary still these? */
static bool has_keys(PyObject *source, PyObject *keys)
{
    Py_ssize_t position = 0, i = 0, n = PyTuple_GET_SIZE(keys);
    if (!PyDict_Check(source) || PyDict_GET_SIZE(source) != n)
        return false;
    for (PyObject *key, *value; PyDict_Next(source, &position, &key, &value); ++i)
        if (i == n || key != PyTuple_GET_ITEM(keys, i))
            return false;
    return true;
}

/* Is it still about this class, and as the class is today? Users may change the
 * dictionary of DRJIT_STRUCT; that of a data class is Python's own. */
static bool is_valid(State *state, const Plan *plan, PyTypeObject *cls)
{
    if (!plan_is_for(plan, cls))
        return false;
    PyObject *name = plan->kind == NODE_STRUCT      ? state->str_struct
                     : plan->kind == NODE_DATACLASS ? state->str_dataclass
                                                    : state->str_fields;
    return class_attribute(cls, name) == plan->source &&
           (plan->kind != NODE_STRUCT || has_keys(plan->source, plan->names));
}

static bool is_vacant(const Plan *plan)
{
    return !plan || !plan_is_for(plan, plan->cls);
}

/* The cache: sets of a few places, by address of the class. */
static Plan **set_of(State *state, PyTypeObject *cls)
{
    return state->plans[((uintptr_t) cls >> 6) % PLAN_SETS];
}

/* Keep a plan, as the first of its set: instead of the previous one for this class, one
 * that is of no use, or the last. */
static void store(Plan **set, Plan *plan)
{
    int place = 0;
    while (place < PLAN_WAYS && !is_vacant(set[place]) && set[place]->cls != plan->cls)
        ++place;
    if (place == PLAN_WAYS)
        --place;
    Plan *previous = set[place];
    memmove(set + 1, set, (size_t) place * sizeof(*set));
    set[0] = plan;
    ++plan->references;
    plan_release(previous);
}

bool plan_of_class(State *state, const char *operation, PyTypeObject *cls,
                   NodeKind *kind, Plan **plan)
{
    Plan **set = set_of(state, cls);
    for (int i = 0; i < PLAN_WAYS; i++)
        if (set[i] && is_valid(state, set[i], cls)) {
            *plan = set[i];
            ++(*plan)->references;
            *kind = (*plan)->kind;
            return true;
        }
    *plan = NULL;
    PyObject *source = find_source(state, cls, kind);
    if (*kind == NODE_LEAF || *kind == NODE_TRAVERSABLE)
        return true;
    *plan = make_plan(operation, cls, *kind, source);
    if (*plan)
        store(set, *plan);
    return *plan;
}

bool plan_of(State *state, const char *operation, PyObject *object, NodeKind *kind,
             Plan **plan)
{
    PyTypeObject *cls = Py_TYPE(object);
    *plan = NULL;
    *kind = cls == &PyTuple_Type  ? NODE_TUPLE
            : cls == &PyList_Type ? NODE_LIST
            : cls == &PyDict_Type ? NODE_DICTIONARY
                                  : NODE_LEAF;
    /* Builtin types have no attributes to look up: int, float, str, ... */
    if (*kind != NODE_LEAF || !(cls->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
        PyType_Check(object))
        return true;
    return plan_of_class(state, operation, cls, kind, plan);
}

bool plan_has_fields(State *state, PyObject *cls)
{
    NodeKind kind = NODE_LEAF;
    if (PyType_Check(cls))
        find_source(state, (PyTypeObject *) cls, &kind);
    return kind != NODE_LEAF && kind != NODE_TRAVERSABLE;
}

bool plan_is_container(State *state, PyObject *object)
{
    if (PyTuple_CheckExact(object) || PyList_CheckExact(object) ||
        PyDict_CheckExact(object))
        return true;
    NodeKind kind = NODE_LEAF;
    if ((Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
        !array_check(state, object) && !PyType_Check(object))
        find_source(state, Py_TYPE(object), &kind);
    return kind != NODE_LEAF && kind != NODE_TRAVERSABLE;
}

void plan_clear(State *state)
{
    for (int i = 0; i < PLAN_SETS * PLAN_WAYS; i++) {
        Plan **place = &state->plans[i / PLAN_WAYS][i % PLAN_WAYS], *plan = *place;
        *place = NULL;
        plan_release(plan);
    }
}
