/*
 * places.c -- names in dictionaries and cells, looked up all at once
 *
 * What functions read by name is looked at whenever they are called (Implicit in
 * drjit._freeze_implicit).
 */
#include "python/object/error.h"
#include "python/object/tables.h"

/* Is what stands in a dictionary under a key, or in a cell, the same object? `...`
 * stands for nothing. False: no, or an exception. */
static bool is_same(PyObject *place, PyObject *key, const PyObject *seen)
{
    const PyObject *now = PyCell_Check(place)   ? PyCell_GET(place)
                          : PyDict_Check(place) ? PyDict_GetItemWithError(place, key)
                                                : NULL;
    return seen == (now ? now : Py_Ellipsis) && !PyErr_Occurred();
}

/* A tuple of (dictionary or cell, key, what stood there): is it still so? */
static PyObject *places_same(PyObject *module, PyObject *seen)
{
    (void) module;
    if (!PyTuple_CheckExact(seen))
        return error_raise(PyExc_TypeError, "freeze", NULL, 0, "expected a tuple");
    bool same = true;
    for (Py_ssize_t i = 0; same && i < PyTuple_GET_SIZE(seen); i++) {
        PyObject *row = PyTuple_GET_ITEM(seen, i);
        same = PyTuple_CheckExact(row) && PyTuple_GET_SIZE(row) == 3 &&
               is_same(PyTuple_GET_ITEM(row, 0), PyTuple_GET_ITEM(row, 1),
                       PyTuple_GET_ITEM(row, 2));
    }
    return PyErr_Occurred() ? NULL : PyBool_FromLong(same);
}

PyMethodDef places_functions[] = {
    { "_freeze_same", places_same, METH_O,
      "_freeze_same(seen)\n\nsee drjit._freeze_implicit" },
    { NULL, NULL, 0, NULL },
};
