/*
 * arguments.c -- sorting arguments into the places of a signature
 */
#include "python/base/arguments.h"

#include <stdarg.h>

#include "python/base/error.h"

/* "; the signature is ...", as help() has it; NULL: exception. */
static PyObject *signature_text(const char *function)
{
    PyObject *module = PyImport_ImportModule("drjit._signature");
    PyObject *text =
        module ? PyObject_CallMethod(module, "shown", "s", function) : NULL;
    Py_XDECREF(module);
    return text;
}

bool arguments_refuse(const char *function, PyObject *const *args, Py_ssize_t nargs,
                      const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    PyObject *what = PyUnicode_FromFormatV(format, ap);
    va_end(ap);
    PyObject *end = what ? signature_text(function) : NULL;
    if (end)
        error_raise(PyExc_TypeError, function, args, nargs, "%U%U", what, end);
    Py_XDECREF(end);
    Py_XDECREF(what);
    return false;
}

static bool store_named(const Signature *s, PyObject *name, PyObject *value,
                        PyObject **values)
{
    for (int i = s->positional_only; i < s->count; i++)
        if (PyUnicode_CompareWithASCIIString(name, s->names[i]) == 0) {
            if (values[i])
                return arguments_refuse(s->function, NULL, 0,
                                        "got several values for the argument '%s'",
                                        s->names[i]);
            values[i] = value;
            return true;
        }
    return arguments_refuse(s->function, NULL, 0, "there is no argument named '%U'",
                            name);
}

bool arguments_parse(const Signature *s, PyObject *const *args, Py_ssize_t nargs,
                     PyObject *names, PyObject **values)
{
    for (int i = 0; i < s->count; i++)
        values[i] = NULL;
    if (nargs > s->count)
        return arguments_refuse(s->function, args, nargs,
                                "found %zd arguments, expected at most %d", nargs,
                                s->count);
    for (Py_ssize_t i = 0; i < nargs; i++)
        values[i] = args[i];
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++)
        if (!store_named(s, PyTuple_GET_ITEM(names, i), args[nargs + i], values))
            return false;
    for (int i = 0; i < s->required; i++)
        if (!values[i])
            return arguments_refuse(s->function, args, nargs,
                                    "the argument '%s' is missing", s->names[i]);
    return true;
}

bool arguments_bool(const char *function, const char *name, PyObject *value,
                    bool fallback, bool *result)
{
    *result = fallback;
    if (!value)
        return true;
    if (!PyBool_Check(value))
        return error_raise(PyExc_TypeError, function, NULL, 0,
                           "'%s' is of type %s, expected a bool", name,
                           Py_TYPE(value)->tp_name);
    *result = value == Py_True;
    return true;
}

bool arguments_count(const char *function, const char *name, PyObject *value,
                     size_t *result)
{
    if (!PyIndex_Check(value))
        return error_raise(PyExc_TypeError, function, NULL, 0,
                           "'%s' is of type %s, expected an integer", name,
                           Py_TYPE(value)->tp_name);
    Py_ssize_t number = PyNumber_AsSsize_t(value, PyExc_OverflowError);
    if (number == -1 && PyErr_Occurred())
        return false;
    if (number < 0)
        return error_raise(PyExc_ValueError, function, NULL, 0,
                           "'%s' is %zd, expected 0 or more", name, number);
    *result = (size_t) number;
    return true;
}

PyObject *arguments_shape(const char *function, PyObject *value, bool *one)
{
    *one = PyLong_Check(value);
    PyObject *tuple =
        *one || PyUnicode_Check(value) ? NULL : PySequence_Tuple(value);
    if (tuple || (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)))
        return tuple;
    /* An integer of NumPy, or an array that has no axis, is one integer. */
    *one = PyIndex_Check(value);
    if (*one) {
        PyErr_Clear();
        return PyTuple_Pack(1, value);
    }
    return error_raise(PyExc_TypeError, function, NULL, 0,
                       "'shape' is of type %s, expected an integer or a sequence of "
                       "integers",
                       Py_TYPE(value)->tp_name);
}
