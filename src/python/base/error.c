/*
 * error.c -- composing the text of exceptions
 */
#include "python/base/error.h"

#include <stdarg.h>
#include <string.h>

#include "drjit-core/jit.h"
#include "python/base/recording.h"
#include "python/base/tables.h"
#include "python/convert/operand.h"

static const char *class_name(PyObject *object)
{
    return operand_class(object ? object : Py_None)->tp_name;
}

/* "<drjit.llvm.Float>, <int>"; NULL: exception. */
static PyObject *type_list(PyObject *const *args, Py_ssize_t n)
{
    PyObject *text = PyUnicode_FromString("");
    for (Py_ssize_t i = 0; i < n && text; i++) {
        PyObject *longer =
            PyUnicode_FromFormat("%U%s<%s>", text, i ? ", " : "", class_name(args[i]));
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
    const bool method = operation && operation[0] == '.';
    PyObject *types = operation ? type_list(args + method, n - method) : NULL;
    if (!operation)
        PyErr_SetObject(type, what);
    else if (types)
        PyErr_Format(type, "%s%s(%U): %U", method ? class_name(args[0]) : "drjit.",
                     operation, types, what);
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

/* Of class 'type', or of the one with that name in drjit._errors. */
static PyObject *raise_format(PyObject *type, const char *name, const char *operation,
                              PyObject *const *args, Py_ssize_t n, const char *format,
                              va_list ap)
{
    if (passes_through())
        return NULL;
    PyObject *cause = error_fetch(); /* formatting must not run with an exception set */
    PyObject *module = name ? PyImport_ImportModule("drjit._errors") : NULL;
    PyObject *class =
        module ? PyObject_GetAttrString(module, name) : Py_XNewRef(type);
    PyObject *what = class ? PyUnicode_FromFormatV(format, ap) : NULL;
    if (what)
        error_restore(cause);
    else
        Py_XDECREF(cause);
    raise_text(class, operation, args, n, what);
    Py_XDECREF(class);
    Py_XDECREF(module);
    return NULL;
}

PyObject *error_raise(PyObject *type, const char *operation, PyObject *const *args,
                      Py_ssize_t n, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    raise_format(type, NULL, operation, args, n, format, ap);
    va_end(ap);
    return NULL;
}

PyObject *error_raise_both(const char *name, const char *operation,
                           PyObject *const *args, Py_ssize_t n, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    raise_format(NULL, name, operation, args, n, format, ap);
    va_end(ap);
    return NULL;
}

/* The core's message without the function of the core: the user has called another. */
static const char *core_message(void)
{
    const char *text = jit_error_message(), *end = strstr(text, "(): ");
    bool ours = strncmp(text, "jit_", 4) == 0 || strncmp(text, "ad_", 3) == 0;
    return ours && end ? end + 4 : text;
}

/* Does a flag as C names it, JitFlagDebug or ADFlagCreateGraph, go on at 'at'? */
static bool names_flag(const char *text, const char *at)
{
    const size_t before = (size_t) (at - text);
    const bool owner = (before >= 7 && memcmp(at - 7, "JitFlag", 7) == 0) ||
                       (before >= 6 && memcmp(at - 6, "ADFlag", 6) == 0);
    return owner && *at >= 'A' && *at <= 'Z';
}

/* core_message() with flags as Python names them: JitFlag.Debug. NULL: exception. */
static PyObject *core_text(void)
{
    const char *begin = core_message(), *at = begin;
    PyObject *text = PyUnicode_FromString("");
    while (text && (at = strstr(at, "Flag")) != NULL) {
        at += strlen("Flag");
        if (!names_flag(begin, at))
            continue;
        PyObject *part = PyUnicode_DecodeUTF8(begin, at - begin, "replace");
        Py_SETREF(text, part ? PyUnicode_FromFormat("%U%U.", text, part) : NULL);
        Py_XDECREF(part);
        begin = at;
    }
    if (text)
        Py_SETREF(text, PyUnicode_FromFormat("%U%s", text, begin));
    return text;
}

static PyObject *raise_core(PyObject *type, const char *operation,
                            PyObject *const *args, Py_ssize_t n)
{
    if (passes_through())
        return NULL;
    PyObject *cause = error_fetch();
    PyObject *text = core_text();
    if (text) {
        error_restore(cause);
        error_raise(type, operation, args, n, "%U", text);
        Py_DECREF(text);
    } else {
        Py_XDECREF(cause);
    }
    return NULL;
}

/* With the place of what is being recorded, and what to do. */
static PyObject *raise_symbolic(const char *operation, PyObject *const *args,
                                Py_ssize_t n)
{
    if (passes_through())
        return NULL;
    PyObject *cause = error_fetch();
    PyObject *places = recording_places();
    if (!places) {
        Py_XDECREF(cause);
        return NULL;
    }
    error_restore(cause);
    error_raise(PyExc_RuntimeError, operation, args, n,
                "%s%s%U; drjit.print() prints such values when they exist, and the "
                "argument mode=\"evaluated\" makes a loop, conditional or call compute "
                "them at once",
                core_message(), PyUnicode_GET_LENGTH(places) ? ": " : "", places);
    Py_DECREF(places);
    return NULL;
}

PyObject *error_from_core(const char *operation, PyObject *const *args, Py_ssize_t n)
{
    if (jit_error() == JIT_ERROR_SYMBOLIC)
        return raise_symbolic(operation, args, n);
    if (jit_error() == JIT_ERROR_INTERRUPTED && PyErr_CheckSignals() < 0)
        return NULL;
    if (jit_error() == JIT_ERROR_MEMORY)
        return raise_core(PyExc_MemoryError, operation, args, n);
    return raise_core(PyExc_RuntimeError, operation, args, n);
}

/* The arguments of a call as errors name them, for functions written in Python. */
static PyObject *type_names(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    (void) module;
    return type_list(args, n);
}

PyMethodDef error_functions[] = {
    { "_type_names", METHOD(type_names), METH_FASTCALL, NULL },
    { NULL, NULL, 0, NULL },
};
