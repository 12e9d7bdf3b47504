/*
 * plan.c -- see plan.h
 */
#include "python/tree/plan.h"

#include "python/base/error.h"

/* ---------------------------------------------------------------- fields of a class */

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

/* (names, accepted, late); see drjit._fields. */
static PyObject *analyse(const char *operation, PyTypeObject *cls, NodeKind kind,
                         PyObject *source)
{
    if (kind == NODE_NAMED_TUPLE)
        return Py_BuildValue("(OOO)", source, Py_None, Py_None);
    PyObject *module = PyImport_ImportModule("drjit._fields");
    PyObject *found =
        module ? PyObject_CallMethod(
                     module, kind == NODE_STRUCT ? "of_struct" : "of_dataclass", "zOO",
                     operation, cls, source)
               : NULL;
    Py_XDECREF(module);
    return found;
}

/* An entry of a tuple (new reference); NULL: None. */
static PyObject *entry_of(PyObject *tuple, Py_ssize_t i)
{
    PyObject *entry = PyTuple_GET_ITEM(tuple, i);
    return entry == Py_None ? NULL : Py_NewRef(entry);
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
    PyObject *found = plan->reference ? analyse(operation, cls, kind, source) : NULL;
    Py_DECREF(source);
    if (!found) {
        plan_release(plan);
        return NULL;
    }
    plan->names = entry_of(found, 0);
    plan->accepted = entry_of(found, 1);
    plan->late = entry_of(found, 2);
    Py_DECREF(found);
    return plan;
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
