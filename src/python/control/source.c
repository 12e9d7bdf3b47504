/*
 * source.c -- debug mode: which line of Python made a variable
 *
 * While JitFlag.Debug is set, a trace function (sys.settrace) tells the core the file
 * and line that run. The core attaches them to variables, shows them in reports, and
 * array.label returns them. Frames of the package itself keep the line of their caller,
 * which is what a user can make sense of. A debugger or a coverage tool that traces
 * already is left in peace; variables then have no lines.
 *
 * Nothing here may disturb the program that is followed: where a name or a number
 * cannot be found out, the variable goes without.
 */
#include "python/control/source.h"

#include <frameobject.h> /* Python 3.10 has PyFrame_GetBack() here */

#include "drjit-core/jit.h"
#include "python/base/tables.h"

static const char tracer_name[] = "_trace_source";

/* Does this frame run a file of the package, which is where 'module' lies? */
static bool inside_package(PyObject *module, PyObject *file)
{
    PyObject *home = PyModule_GetFilenameObject(module);
    bool inside = false;
    if (home) {
        Py_ssize_t size = PyUnicode_GET_LENGTH(home);
        Py_ssize_t slash = PyUnicode_FindChar(home, '/', 0, size, -1);
        PyObject *folder = PyUnicode_Substring(home, 0, slash + 1);
        inside = slash >= 0 && folder &&
                 PyUnicode_Tailmatch(file, folder, 0, PY_SSIZE_T_MAX, -1) == 1;
        Py_XDECREF(folder);
        Py_DECREF(home);
    }
    PyErr_Clear();
    return inside;
}

/* Name of the file that a frame runs: new reference, NULL without an exception if it
   belongs to the package. */
static PyObject *file_of(PyObject *module, PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *file = Py_NewRef(code->co_filename);
    Py_DECREF(code);
    if (inside_package(module, file))
        Py_CLEAR(file);
    return file;
}

/* False: the frame belongs to the package. */
static bool tell_core(PyObject *module, PyFrameObject *frame)
{
    PyObject *file = file_of(module, frame);
    if (!file)
        return false;
    const char *path = PyUnicode_AsUTF8(file);
    if (path) {
        const char *slash = strrchr(path, '/');
        const int line = PyFrame_GetLineNumber(frame);
        jit_set_source_location(slash ? slash + 1 : path,
                                line > 0 ? (uint32_t) line : 0);
    }
    PyErr_Clear();
    Py_DECREF(file);
    return true;
}

/* A function returns. If the package has called it, as it does parts of Python's
   library, the program is where it has called the package. */
static void tell_core_of_caller(PyObject *module, PyFrameObject *frame)
{
    PyFrameObject *caller = PyFrame_GetBack(frame);
    while (caller && !tell_core(module, caller)) {
        PyFrameObject *next = PyFrame_GetBack(caller);
        Py_DECREF(caller);
        caller = next;
    }
    Py_XDECREF(caller);
}

/* The trace function: _trace_source(frame, event, arg). What it returns for a call is
   asked for the lines of the frame. */
static PyObject *trace(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 3 || !PyFrame_Check(args[0]) || !PyUnicode_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "drjit._core._trace_source(): expected "
                                         "(frame, event, arg)");
        return NULL;
    }
    PyFrameObject *frame = (PyFrameObject *) args[0];
    if (PyUnicode_CompareWithASCIIString(args[1], "call") == 0) {
        PyObject *file = file_of(module, frame);
        if (!file)
            Py_RETURN_NONE;
        Py_DECREF(file);
        return PyObject_GetAttrString(module, tracer_name);
    }
    if (PyUnicode_CompareWithASCIIString(args[1], "line") == 0) {
        (void) tell_core(module, frame);
    } else if (PyUnicode_CompareWithASCIIString(args[1], "return") == 0) {
        tell_core_of_caller(module, frame);
    }
    Py_RETURN_NONE;
}

/* Functions that run already are followed from their next line. */
static bool follow_callers(PyObject *module, PyObject *tracer)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    bool ok = true;
    while (frame && ok) {
        PyObject *file = file_of(module, frame);
        if (file)
            ok = PyObject_SetAttrString((PyObject *) frame, "f_trace", tracer) == 0;
        Py_XDECREF(file);
        PyFrameObject *caller = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = caller;
    }
    Py_XDECREF(frame);
    return ok;
}

static bool set_trace(PyObject *function)
{
    PyObject *set = PySys_GetObject("settrace"); /* borrowed, like 'get' below */
    PyObject *done = set ? PyObject_CallOneArg(set, function) : NULL;
    Py_XDECREF(done);
    if (!done && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "drjit.set_flag(): sys.settrace is "
                                            "missing");
    return done != NULL;
}

bool source_follow(uint32_t before)
{
    const uint32_t now = jit_flags();
    if (!((before ^ now) & JitFlagDebug))
        return true;
    PyObject *module = PyImport_ImportModule("drjit._core");
    PyObject *tracer = module ? PyObject_GetAttrString(module, tracer_name) : NULL;
    PyObject *get = tracer ? PySys_GetObject("gettrace") : NULL;
    PyObject *current = get ? PyObject_CallNoArgs(get) : NULL;
    bool ok = current != NULL;
    if (ok && (now & JitFlagDebug) && current == Py_None) {
        ok = set_trace(tracer) && follow_callers(module, tracer);
    } else if (ok && !(now & JitFlagDebug)) {
        /* Reading a module's function makes no new object, so that this finds ours. */
        if (current == tracer)
            ok = set_trace(Py_None);
        jit_set_source_location(NULL, 0);
    }
    if (!ok && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "drjit.set_flag(): sys.gettrace is "
                                            "missing");
    Py_XDECREF(current);
    Py_XDECREF(tracer);
    Py_XDECREF(module);
    return ok;
}

/* _set_source(file, line): where the program is, for a tracer in Python. A file that is
   None ends it. */
static PyObject *set_source(PyObject *module, PyObject *args)
{
    (void) module;
    const char *file;
    unsigned line;
    if (!PyArg_ParseTuple(args, "zI", &file, &line))
        return NULL;
    jit_set_source_location(file, line);
    Py_RETURN_NONE;
}

PyMethodDef source_functions[] = {
    { "_trace_source", METHOD(trace), METH_FASTCALL, NULL },
    { "_set_source", set_source, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};
