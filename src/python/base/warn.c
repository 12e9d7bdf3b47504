/*
 * warn.c -- see warn.h
 */
#include "python/base/warn.h"

#include <frameobject.h> /* Python 3.10 has PyFrame_GetBack() here */
#include <string.h>

#include "drjit-core/ad.h"

/* The path of the folder that has the package's files, with the slash: a new reference.
 * NULL: not known. */
static PyObject *home_of_package(void)
{
    PyObject *module = PyImport_ImportModule("drjit._core");
    PyObject *file = module ? PyModule_GetFilenameObject(module) : NULL, *home = NULL;
    if (file) {
        const Py_ssize_t size = PyUnicode_GET_LENGTH(file),
                         slash = PyUnicode_FindChar(file, '/', 0, size, -1);
        home = slash >= 0 ? PyUnicode_Substring(file, 0, slash + 1) : NULL;
    }
    Py_XDECREF(file);
    Py_XDECREF(module);
    PyErr_Clear();
    return home;
}

/* How many of the innermost frames are the package's own. */
static int own_frames(void)
{
    PyObject *home = home_of_package();
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    int count = 0;
    for (bool inside = home != NULL; frame && inside; count += inside) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        inside =
            PyUnicode_Tailmatch(code->co_filename, home, 0, PY_SSIZE_T_MAX, -1) == 1;
        Py_DECREF(code);
        if (inside)
            Py_SETREF(frame, PyFrame_GetBack(frame));
    }
    Py_XDECREF(frame);
    Py_XDECREF(home);
    PyErr_Clear();
    return count;
}

bool warn_user(const char *operation, const char *text)
{
    if (ad_scope_is_closed()) /* it is called once more, for its derivative */
        return true;
    PyObject *message = PyUnicode_FromFormat("drjit.%s(): %s", operation, text);
    PyObject *bytes = message ? PyUnicode_AsUTF8String(message) : NULL;
    Py_XDECREF(message);
    const bool ok =
        bytes && PyErr_WarnEx(PyExc_RuntimeWarning, PyBytes_AS_STRING(bytes),
                              own_frames() + 1) == 0;
    Py_XDECREF(bytes);
    return ok;
}
