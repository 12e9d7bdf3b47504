/*
 * build.c -- see build.h
 */
#include "python/tree/build.h"

#include "python/base/compat.h"
#include "python/base/error.h"

enum { DEPTH_LIMIT = 200 };

/* ---------------------------------------------------------------- instances */

/* A call of the class has failed: was it for its arguments? Then the exception is
 * cleared. */
static bool takes_others(PyTypeObject *cls, PyObject *none, PyObject *arguments)
{
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        return false;
    PyObject *error = error_fetch();
    PyObject *module = PyImport_ImportModule("drjit._signature");
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

/* Put what an object has in its slots into another one, or a dictionary. */
static bool copy_slots(PyObject *made, PyObject *like, setattrofunc put)
{
    PyObject *order = Py_TYPE(like)->tp_mro;
    bool ok = true;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(order); i++) {
        PyTypeObject *cls = (PyTypeObject *) PyTuple_GET_ITEM(order, i);
        PyObject *slots = PyType_HasFeature(cls, Py_TPFLAGS_HEAPTYPE)
                              ? ((PyHeapTypeObject *) cls)->ht_slots
                              : NULL;
        for (Py_ssize_t k = 0; ok && slots && k < PyTuple_GET_SIZE(slots); k++) {
            PyObject *name = PyTuple_GET_ITEM(slots, k);
            PyObject *value = PyObject_GenericGetAttr(like, name);
            if (value)
                ok = put(made, name, value) == 0;
            else
                PyErr_Clear(); /* it is empty */
            Py_XDECREF(value);
        }
    }
    return ok;
}

/* Give 'made' the attributes of 'like'. */
static bool copy_attributes(PyObject *made, PyObject *like)
{
    PyObject *from = PyObject_GetAttrString(like, "__dict__");
    PyObject *to = from ? PyObject_GetAttrString(made, "__dict__") : NULL;
    bool ok = to && PyDict_Update(to, from) == 0;
    if (!to && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear(); /* of a class with __slots__ */
        ok = true;
    }
    Py_XDECREF(from);
    Py_XDECREF(to);
    return ok;
}

/* An instance that no constructor has seen, with the attributes of another one (or
 * NULL). */
static PyObject *make_bare(PyTypeObject *cls, PyObject *like)
{
    PyObject *made =
        PyObject_CallMethod((PyObject *) &PyBaseObject_Type, "__new__", "O", cls);
    if (made && like && !copy_attributes(made, like))
        Py_CLEAR(made);
    return made;
}

/* Set the fields that have a value and are among 'names' (NULL: all). */
static bool set_fields(PyObject *made, const Plan *plan, PyObject *names,
                       PyObject *const *values, setattrofunc set)
{
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(plan->names); i++) {
        PyObject *name = PyTuple_GET_ITEM(plan->names, i);
        int wanted = !values[i] ? 0 : names ? PySequence_Contains(names, name) : 1;
        ok = wanted >= 0 && (!wanted || set(made, name, values[i]) == 0);
    }
    return ok;
}

/* The arguments for the constructor, by name. */
static PyObject *arguments_of(const Plan *plan, PyObject *const *values)
{
    PyObject *arguments = PyDict_New();
    Py_ssize_t count = plan->accepted ? PyTuple_GET_SIZE(plan->names) : 0;
    for (Py_ssize_t i = 0; arguments && i < count; i++) {
        PyObject *name = PyTuple_GET_ITEM(plan->names, i);
        int accepted = values[i] ? PySequence_Contains(plan->accepted, name) : 0;
        if (accepted < 0 ||
            (accepted && PyDict_SetItem(arguments, name, values[i]) < 0))
            Py_CLEAR(arguments);
    }
    return arguments;
}

/* Make the instance without its constructor, if that wants other arguments. */
static PyObject *make_without_call(const Plan *plan, PyTypeObject *cls,
                                   PyObject *const *values, PyObject *like)
{
    PyObject *error = error_fetch();
    PyObject *none = PyTuple_New(0);
    PyObject *arguments = none ? arguments_of(plan, values) : NULL;
    if (!arguments) {
        Py_XDECREF(none);
        Py_XDECREF(error);
        return NULL;
    }
    error_restore(error);
    PyObject *made =
        takes_others(cls, none, arguments) ? make_bare(cls, like) : NULL;
    if (made && !set_fields(made, plan, NULL, values, PyObject_GenericSetAttr))
        Py_CLEAR(made);
    Py_DECREF(none);
    Py_DECREF(arguments);
    return made;
}

static bool has_all(const Plan *plan, PyObject *const *values)
{
    Py_ssize_t i = 0, count = PyTuple_GET_SIZE(plan->names);
    while (i < count && values[i])
        ++i;
    return i == count;
}

/* The constructor's instance. */
static PyObject *call_class(const Plan *plan, PyTypeObject *cls,
                            PyObject *const *values)
{
    if (plan->kind == NODE_STRUCT)
        return PyObject_CallNoArgs((PyObject *) cls);
    if (PyTuple_GET_SIZE(plan->late) == 0 && has_all(plan, values))
        return PyObject_Vectorcall((PyObject *) cls, values, 0, plan->names);
    PyObject *none = PyTuple_New(0);
    PyObject *arguments = none ? arguments_of(plan, values) : NULL;
    PyObject *made =
        arguments ? PyObject_Call((PyObject *) cls, none, arguments) : NULL;
    Py_XDECREF(none);
    Py_XDECREF(arguments);
    return made;
}

/* Its constructor may have another signature. */
static PyObject *make_named_tuple(const Plan *plan, PyTypeObject *cls,
                                  PyObject *const *values, PyObject *like)
{
    Py_ssize_t count = PyTuple_GET_SIZE(plan->names);
    PyObject *entries = PyTuple_New(count);
    for (Py_ssize_t i = 0; entries && i < count; i++)
        PyTuple_SET_ITEM(entries, i, Py_NewRef(values[i]));
    PyObject *arguments = entries ? PyTuple_Pack(1, entries) : NULL;
    PyObject *made = arguments ? PyTuple_Type.tp_new(cls, arguments, NULL) : NULL;
    Py_XDECREF(entries);
    Py_XDECREF(arguments);
    if (made && like && !copy_attributes(made, like))
        Py_CLEAR(made);
    return made;
}

PyObject *build_instance(const char *operation, const Plan *plan, PyTypeObject *cls,
                         PyObject *const *values, PyObject *like)
{
    if (plan->kind == NODE_NAMED_TUPLE)
        return make_named_tuple(plan, cls, values, like);
    PyObject *made = call_class(plan, cls, values);
    if (!made) {
        made = make_without_call(plan, cls, values, like);
    } else if (!(plan->kind == NODE_STRUCT
                     ? set_fields(made, plan, NULL, values, PyObject_SetAttr)
                     : PyTuple_GET_SIZE(plan->late) == 0 ||
                           set_fields(made, plan, plan->late, values,
                                      PyObject_GenericSetAttr))) {
        Py_CLEAR(made);
    }
    if (!made)
        error_raise(PyExc_TypeError, operation, NULL, 0, "%s could not be constructed",
                    cls->tp_name);
    return made;
}

/* Give 'made' what 'like' has in its __dict__ besides its fields. */
static bool copy_further(const Plan *plan, PyObject *made, PyObject *like)
{
    PyObject *from = PyObject_GenericGetDict(like, NULL), *to = NULL, *key, *value;
    Py_ssize_t position = 0;
    bool ok = from || PyErr_ExceptionMatches(PyExc_AttributeError);
    if (!from && ok)
        PyErr_Clear(); /* of a class with __slots__ */
    while (ok && from && PyDict_Next(from, &position, &key, &value)) {
        const int field = PySequence_Contains(plan->names, key);
        if (field == 0 && !to)
            to = PyObject_GenericGetDict(made, NULL);
        ok = field > 0 || (field == 0 && to && PyDict_SetItem(to, key, value) == 0);
    }
    Py_XDECREF(from);
    Py_XDECREF(to);
    return ok;
}

PyTypeObject *build_base(PyTypeObject *cls)
{
    while (PyType_HasFeature(cls, Py_TPFLAGS_HEAPTYPE))
        cls = cls->tp_base;
    return cls;
}

PyObject *build_alike(const Plan *plan, PyObject *const *values, PyObject *like)
{
    PyTypeObject *cls = Py_TYPE(like), *base = build_base(cls);
    if (plan->kind == NODE_NAMED_TUPLE)
        return make_named_tuple(plan, cls, values, like);
    PyObject *none = PyTuple_New(0), *made = NULL;
    if (none && (base != &PyBaseObject_Type || cls->tp_base == base))
        made = base->tp_new(cls, none, NULL);
    else if (none)
        made = make_bare(cls, NULL);
    if (made && !(copy_further(plan, made, like) &&
                  copy_slots(made, like, PyObject_GenericSetAttr) &&
                  set_fields(made, plan, NULL, values, PyObject_GenericSetAttr)))
        Py_CLEAR(made);
    Py_XDECREF(none);
    return made;
}

PyObject *build_attributes(PyObject *object)
{
    PyObject *all = PyDict_New();
    PyObject *fields = all ? PyObject_GenericGetDict(object, NULL) : NULL;
    bool ok = fields && PyDict_Update(all, fields) == 0;
    if (!fields && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear(); /* of a class with __slots__ */
        ok = true;
    }
    if (!ok || !copy_slots(all, object, PyDict_SetItem))
        Py_CLEAR(all);
    Py_XDECREF(fields);
    return all;
}

bool build_has_code(const Plan *plan, PyTypeObject *cls)
{
    bool code = false;
    for (Py_ssize_t i = 0; !code && i < PyTuple_GET_SIZE(plan->names); i++) {
        PyObject *place = class_attribute(cls, PyTuple_GET_ITEM(plan->names, i));
        code = place && Py_TYPE(place)->tp_descr_set &&
               !Py_IS_TYPE(place, &PyMemberDescr_Type);
    }
    return code;
}

/* ---------------------------------------------------------------- from classes */

typedef struct Build {
    State *state;
    const char *operation;
    BuildMake make;
    void *context;
} Build;

static PyObject *build_node(const Build *b, PyObject *cls, int depth);

/* What each field is to be (drjit._fields.values()): a list. */
static PyObject *field_values(const Build *b, const Plan *plan)
{
    PyObject *module = PyImport_ImportModule("drjit._fields");
    PyObject *all = module ? PyObject_CallMethod(module, "values", "zOO", b->operation,
                                                 plan->cls, plan->names)
                           : NULL;
    Py_XDECREF(module);
    return all;
}

static PyObject *build_fields(const Build *b, const Plan *plan, int depth)
{
    Py_ssize_t count = PyTuple_GET_SIZE(plan->names);
    PyObject **values = PyMem_Calloc((size_t) count + 1, sizeof(*values));
    PyObject *all = values ? field_values(b, plan) : PyErr_NoMemory();
    bool ok = all;
    for (Py_ssize_t i = 0; ok && i < count; i++) {
        PyObject *pair = PyList_GET_ITEM(all, i);
        if (pair == Py_None)
            continue; /* what the constructor gives */
        PyObject *entry = PyTuple_GET_ITEM(pair, 1);
        values[i] = PyTuple_GET_ITEM(pair, 0) == Py_True
                        ? build_node(b, entry, depth + 1)
                        : Py_NewRef(entry);
        ok = values[i];
    }
    PyObject *made =
        ok ? build_instance(b->operation, plan, plan->cls, values, NULL) : NULL;
    for (Py_ssize_t i = 0; values && i < count; i++)
        Py_XDECREF(values[i]);
    PyMem_Free(values);
    Py_XDECREF(all);
    return made;
}

static PyObject *build_node(const Build *b, PyObject *cls, int depth)
{
    NodeKind kind;
    Plan *plan;
    if (!plan_has_fields(b->state, cls))
        return b->make(b->context, cls);
    if (depth == DEPTH_LIMIT)
        return error_raise(PyExc_RecursionError, b->operation, NULL, 0,
                           "the class %s contains itself",
                           ((PyTypeObject *) cls)->tp_name);
    if (!plan_of_class(b->state, b->operation, (PyTypeObject *) cls, &kind, &plan))
        return NULL;
    PyObject *made = build_fields(b, plan, depth);
    plan_release(plan);
    return made;
}

PyObject *build_from_class(State *state, const char *operation, PyObject *cls,
                           BuildMake make, void *context)
{
    const Build build = {state, operation, make, context};
    return build_node(&build, cls, 0);
}
