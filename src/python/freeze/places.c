/*
 * places.c -- names in dictionaries and cells, looked up all at once: the base class of
 * Implicit in drjit._freeze_implicit
 *
 * What a function reads by name is looked at whenever it is called. As long as the same
 * objects stand there, this is what was found the last time.
 */
#include "python/freeze/places.h"

#include "python/object/error.h"

typedef struct Places {
    PyObject_HEAD
    PyObject *seen; /* (rows, what was found), each row being (dictionary or cell, key,
                       what stood there); None: look again */
} Places;

/* Is what stands in a dictionary under a key, or in a cell, the same object? `...`
 * stands for nothing. False: no, or an exception. */
static bool is_same(PyObject *row)
{
    if (!PyTuple_CheckExact(row) || PyTuple_GET_SIZE(row) != 3)
        return false;
    PyObject *place = PyTuple_GET_ITEM(row, 0);
    const PyObject *now =
        PyCell_Check(place)   ? PyCell_GET(place)
        : PyDict_Check(place) ? PyDict_GetItemWithError(place, PyTuple_GET_ITEM(row, 1))
                              : NULL;
    return PyTuple_GET_ITEM(row, 2) == (now ? now : Py_Ellipsis) && !PyErr_Occurred();
}

static PyObject *places_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *seen = ((Places *) self)->seen;
    (void) args;
    (void) kwargs;
    bool same = seen && PyTuple_CheckExact(seen) && PyTuple_GET_SIZE(seen) == 2 &&
                PyTuple_CheckExact(PyTuple_GET_ITEM(seen, 0));
    if (!same)
        return PyObject_CallMethod(self, "_read", NULL);
    Py_INCREF(seen); /* keys may have code of their own to be compared */
    PyObject *rows = PyTuple_GET_ITEM(seen, 0);
    for (Py_ssize_t i = 0; same && i < PyTuple_GET_SIZE(rows); i++)
        same = is_same(PyTuple_GET_ITEM(rows, i));
    PyObject *found = same               ? Py_NewRef(PyTuple_GET_ITEM(seen, 1))
                      : PyErr_Occurred() ? NULL
                                         : PyObject_CallMethod(self, "_read", NULL);
    Py_DECREF(seen);
    return found;
}

/* ---------------------------------------------------------------- the class */

static int places_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Places *) self)->seen);
    return 0;
}

static int places_clear(PyObject *self)
{
    Py_CLEAR(((Places *) self)->seen);
    return 0;
}

static void places_dealloc(PyObject *self)
{
    PyTypeObject *cls = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    places_clear(self);
    cls->tp_free(self);
    Py_DECREF(cls);
}

bool places_bind(PyObject *module)
{
    static PyMemberDef members[] = {
        { "_seen", MEMBER_OBJECT, offsetof(Places, seen), 0, NULL },
        { NULL, 0, 0, 0, NULL },
    };
    PyType_Slot slots[] = {
        SLOT(Py_tp_dealloc, places_dealloc),
        SLOT(Py_tp_traverse, places_traverse),
        SLOT(Py_tp_clear, places_clear),
        SLOT(Py_tp_call, places_call),
        { Py_tp_members, members },
        { 0, NULL },
    };
    PyType_Spec spec = { .name = "drjit._core._Places",
                         .basicsize = sizeof(Places),
                         .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                  Py_TPFLAGS_HAVE_GC,
                         .slots = slots };
    PyObject *cls = PyType_FromModuleAndSpec(module, &spec, NULL);
    const bool ok = cls && PyModule_AddObjectRef(module, "_Places", cls) == 0;
    Py_XDECREF(cls);
    return ok;
}
