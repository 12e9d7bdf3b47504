/*
 * enums.c -- enumerations live in Python, where they are classes like any other
 */
#include "python/enums.h"

#include "python/error.h"

static PyObject *enum_class(State *state, const char *name)
{
    if (!state->enums) {
        state->enums = PyImport_ImportModule("drjit._enums");
        if (!state->enums)
            return NULL;
    }
    return PyObject_GetAttrString(state->enums, name);
}

PyObject *enum_make(State *state, const char *name, long value)
{
    PyObject *cls = enum_class(state, name);
    PyObject *made = cls ? PyObject_CallFunction(cls, "l", value) : NULL;
    Py_XDECREF(cls);
    return made;
}

bool enum_read(State *state, const char *operation, const char *name, PyObject *member,
               long limit, long *value)
{
    if (PyLong_Check(member) && !PyBool_Check(member)) {
        *value = PyLong_AsLong(member);
    } else {
        PyObject *cls = enum_class(state, name);
        int is_member = cls ? PyObject_IsInstance(member, cls) : -1;
        Py_XDECREF(cls);
        if (is_member < 0)
            return false;
        if (!is_member) {
            error_raise(PyExc_TypeError, operation, &member, 1, "expected a drjit.%s", name);
            return false;
        }
        PyObject *number = PyObject_GetAttrString(member, "value");
        *value = number ? PyLong_AsLong(number) : -1;
        Py_XDECREF(number);
    }
    if (*value == -1 && PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_OverflowError))
        return false;
    if (PyErr_Occurred() || *value < 0 || *value >= limit) {
        error_raise(PyExc_ValueError, operation, NULL, 0, "%R is not a drjit.%s", member,
                    name);
        return false;
    }
    return true;
}
