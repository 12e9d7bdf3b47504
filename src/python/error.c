/*
 * error.c -- composing the text of exceptions
 */
#include "python/error.h"

#include <stdarg.h>

#include "drjit-core/jit.h"
#include "python/operand.h"

/* "<drjit.llvm.Float>, <int>"; NULL: exception. */
static PyObject *type_list(PyObject *const *args, Py_ssize_t n)
{
    PyObject *text = PyUnicode_FromString("");
    for (Py_ssize_t i = 0; i < n && text; i++) {
        PyTypeObject *cls = operand_class(args[i] ? args[i] : Py_None);
        PyObject *longer =
            PyUnicode_FromFormat("%U%s<%s>", text, i ? ", " : "", cls->tp_name);
        Py_DECREF(text);
        text = longer;
    }
    return text;
}

static PyObject *raise_text(PyObject *type, const char *operation,
                            PyObject *const *args, Py_ssize_t n, PyObject *what)
{
    if (!what)
        return NULL; /* composing the text failed: for example, somebody's __repr__ */
    PyObject *cause = error_fetch();
    PyObject *types = type_list(args, n);
    if (types)
        PyErr_Format(type, "drjit.%s(%U): %U", operation, types, what);
    Py_XDECREF(types);
    Py_DECREF(what);
    if (cause) {
        PyObject *error = error_fetch();
        PyException_SetContext(error, Py_NewRef(cause));
        PyException_SetCause(error, cause);
        error_restore(error);
    }
    return NULL;
}

/* The user's interrupts, and that memory or stack is out, are no faults of an
 * argument. */
static bool passes_through(void)
{
    return PyErr_Occurred() && (!PyErr_ExceptionMatches(PyExc_Exception) ||
                                PyErr_ExceptionMatches(PyExc_MemoryError) ||
                                PyErr_ExceptionMatches(PyExc_RecursionError));
}

PyObject *error_raise(PyObject *type, const char *operation, PyObject *const *args,
                      Py_ssize_t n, const char *format, ...)
{
    va_list ap;
    if (passes_through())
        return NULL;
    va_start(ap, format);
    PyObject *cause = error_fetch(); /* formatting must not run with an exception set */
    PyObject *what = PyUnicode_FromFormatV(format, ap);
    va_end(ap);
    if (what)
        error_restore(cause);
    else
        Py_XDECREF(cause);
    return raise_text(type, operation, args, n, what);
}

PyObject *error_from_core(const char *operation, PyObject *const *args, Py_ssize_t n)
{
    if (jit_error() == JIT_ERROR_INTERRUPTED && PyErr_CheckSignals() < 0)
        return NULL;
    if (jit_error() == JIT_ERROR_MEMORY)
        return error_raise(PyExc_MemoryError, operation, args, n, "%s",
                           jit_error_message());
    return error_raise(PyExc_RuntimeError, operation, args, n, "%s",
                       jit_error_message());
}
