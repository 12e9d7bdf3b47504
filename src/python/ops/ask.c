/*
 * ask.c -- see ask.h
 *
 * Functions ask behind their fast paths and before they convert anything, so that what
 * is usual costs nothing, and an object that could be converted, too (a sequence, say),
 * has the last word.
 */
#include "python/ops/ask.h"

#include "python/array/array.h"

static bool is_ordinary(PyObject *arg)
{
    return array_of(arg) || PyFloat_CheckExact(arg) || PyLong_CheckExact(arg) ||
           PyBool_Check(arg) || PyList_CheckExact(arg) || PyTuple_CheckExact(arg);
}

static PyObject *answer_of(State *state, PyObject *arg, const char *name,
                           PyObject *const *args, Py_ssize_t n)
{
    PyObject *all = PyTuple_New(n);
    for (Py_ssize_t i = 0; all && i < n; i++)
        PyTuple_SET_ITEM(all, i, Py_NewRef(args[i]));
    PyObject *text = all ? PyUnicode_FromString(name) : NULL;
    PyObject *answer =
        text ? PyObject_CallMethodObjArgs(arg, state->str_function, text, all, NULL)
             : NULL;
    Py_XDECREF(text);
    Py_XDECREF(all);
    return answer;
}

bool ask_arguments(State *state, const char *name, PyObject *const *args, Py_ssize_t n,
                   PyObject **result)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        if (is_ordinary(args[i]) ||
            !class_defines(Py_TYPE(args[i]), state->str_function))
            continue;
        *result = answer_of(state, args[i], name, args, n);
        if (*result != Py_NotImplemented)
            return true;
        Py_DECREF(*result);
        *result = NULL;
    }
    return false;
}
