/*
 * listener.c -- see listener.h
 *
 * A code object and a function in C are of interest once, so each event is one look
 * into a table of addresses. What has an entry is kept alive by the lists.
 */
#include "python/freeze/listener.h"

#if PY_VERSION_HEX < 0x030B0000
#  include <frameobject.h>
#endif

#include "python/base/error.h"
#include "python/freeze/finder.h"
#include "python/type/type.h"

/* Code in a namespace, as one code object may run in several; or a function in C, and
 * what it belongs to. */
typedef struct Key {
    const void *code, *space;
} Key;

typedef struct Met {
    Key key;
    uint32_t next; /* the one before with the same code; FINDER_NONE */
    int quiet;
} Met;

typedef struct Listener {
    PyObject_HEAD
    PyObject *is_quiet; /* (globals): does the code of this module not count? None: not
                           this time */
    PyObject *codes;    /* a list of (code, globals) that ran, and counts */
    PyObject *quiet;    /* the same of what does not: its addresses are in 'met' */
    PyObject *calls;    /* a list of (class or None, name, module) of functions in C
                           that such code has called; not what they belong to, which
                           nobody is to keep alive. False instead of the class: of quiet
                           code that it has called */
    PyObject *formats;  /* texts whose method format() it has called: names in them */
    PyObject *error;    /* an exception that has no other place; NULL */
    Met *met;
    size_t count, room;
    Finder latest; /* of 'met', by code */
    bool listening;
    Py_tracefunc outer; /* the profile function that was there */
    PyObject *outer_object;
} Listener;

/* ---------------------------------------------------------------- addresses */

/* What is known of a key; NULL: nothing. */
static Met *find(const Listener *l, Key key)
{
    uint32_t i = finder_get(&l->latest, (uintptr_t) key.code);
    while (i != FINDER_NONE && l->met[i].key.space != key.space)
        i = l->met[i].next;
    return i == FINDER_NONE ? NULL : &l->met[i];
}

static bool add(Listener *l, Key key, int quiet)
{
    if (l->count == l->room) {
        const size_t room = l->room ? 2 * l->room : 64;
        Met *met = PyMem_Realloc(l->met, room * sizeof(*met));
        if (!met)
            return PyErr_NoMemory() != NULL;
        l->met = met;
        l->room = room;
    }
    const uint32_t before = finder_get(&l->latest, (uintptr_t) key.code);
    if (!finder_put(&l->latest, (uintptr_t) key.code, (uint32_t) l->count))
        return false;
    l->met[l->count++] = (Met){ key, before, quiet };
    return true;
}

/* ---------------------------------------------------------------- events */

static PyObject *globals_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030B0000
    return PyFrame_GetGlobals(frame);
#else
    return Py_NewRef(frame->f_globals);
#endif
}

/* The frame holds both. */
static Key key_of(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *globals = globals_of(frame);
    const Key key = { code, globals };
    Py_DECREF(code);
    Py_DECREF(globals);
    return key;
}

enum { QUIET = 1, QUIET_NOW = 2, QUIET_CALLED = 3 /* and noted among the calls */ };

/* Does a module print, or import others? What it calls says how, and does not change
 * what the function computes. -1: exception. */
static int is_service(PyObject *module)
{
    static const char *const names[] = { "drjit._text.", "drjit._lazy", "warnings",
                                         "logging", "importlib.", "_frozen_importlib" };
    const char *name = PyUnicode_AsUTF8(module);
    for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return 1;
    return name ? 0 : -1;
}

/* Is a frame, or one that called it, in such a module? It is looked for here,
 * as frame.f_back in Python is None, with an exception set, if memory runs out. -1:
 * exception. */
static int is_in_service(PyFrameObject *frame)
{
    PyObject *key = PyUnicode_FromString("__name__");
    PyFrameObject *at = (PyFrameObject *) Py_NewRef((PyObject *) frame);
    int found = key ? 0 : -1;
    while (at && found == 0) {
        PyObject *globals = globals_of(at);
        PyObject *module = PyDict_GetItemWithError(globals, key);
        if (module && PyUnicode_Check(module))
            found = is_service(module);
        Py_DECREF(globals);
        Py_SETREF(at, PyErr_Occurred() ? NULL : PyFrame_GetBack(at));
        if (PyErr_Occurred())
            found = -1;
    }
    Py_XDECREF(at);
    Py_XDECREF(key);
    return found;
}

/* What to do with code that begins to run. -1: exception. */
static int is_quiet(const Listener *l, PyFrameObject *frame, PyObject *globals)
{
    PyObject *answer = PyObject_CallOneArg(l->is_quiet, globals);
    const int quiet = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    if (quiet)
        return quiet;
    const int printing = is_in_service(frame);
    return printing > 0 ? QUIET_NOW : printing;
}

/* Does the code of a frame not count? Notes it where it is met for the first time. -1:
 * exception. */
static int meet_code(Listener *l, PyFrameObject *frame)
{
    const Key key = key_of(frame);
    const Met *known = find(l, key);
    if (known)
        return known->quiet;
    PyObject *row = PyTuple_Pack(2, (PyObject *) key.code, (PyObject *) key.space);
    int quiet = row ? is_quiet(l, frame, (PyObject *) key.space) : -1;
    if ((quiet == 0 || quiet == QUIET) &&
        (PyList_Append(quiet ? l->quiet : l->codes, row) < 0 || !add(l, key, quiet)))
        quiet = -1;
    Py_XDECREF(row);
    return quiet;
}

static bool meet_call(Listener *l, PyFrameObject *frame, PyObject *function)
{
    if (!function || !PyCFunction_Check(function))
        return true;
    const int quiet = meet_code(l, frame);
    if (quiet)
        return quiet > 0;
    const PyCFunctionObject *called = (PyCFunctionObject *) function;
    PyObject *self = called->m_self, *owner = Py_None;
    if (self && PyUnicode_Check(self) &&
        strncmp(called->m_ml->ml_name, "format", strlen("format")) == 0 &&
        PyList_Append(l->formats, self) < 0)
        return false;
    if (self && !PyModule_Check(self))
        owner = PyType_Check(self) ? self : (PyObject *) Py_TYPE(self);
    const Key key = { called->m_ml, owner };
    if (find(l, key))
        return true;
    PyObject *row = Py_BuildValue("OsO", owner, called->m_ml->ml_name,
                                  called->m_module ? called->m_module : Py_None);
    return list_add(l->calls, row) && add(l, key, 0);
}

/* Does code that counts call a frame, whose own does not? */
static bool is_called_by_user(const Listener *l, PyFrameObject *frame)
{
    PyFrameObject *caller = PyFrame_GetBack(frame);
    const Met *known = caller ? find(l, key_of(caller)) : NULL;
    Py_XDECREF(caller);
    return known && !known->quiet;
}

/* Notes quiet code the first time that a user's calls it. */
static bool meet_quiet_call(Listener *l, PyFrameObject *frame)
{
    Met *known = find(l, key_of(frame));
    if (!known || known->quiet != QUIET || !is_called_by_user(l, frame))
        return !PyErr_Occurred();
    PyObject *module = PyDict_GetItemString((PyObject *) known->key.space, "__name__");
    PyObject *row = Py_BuildValue(
        "OOO", Py_False, ((const PyCodeObject *) known->key.code)->co_name,
        module ? module : Py_None);
    known->quiet = QUIET_CALLED;
    return list_add(l->calls, row) && !PyErr_Occurred();
}

static bool meet_frame(Listener *l, PyFrameObject *frame)
{
    const int quiet = meet_code(l, frame);
    return quiet >= 0 && (quiet != QUIET || meet_quiet_call(l, frame));
}

/* An exception here would be one of the user's code. */
static void keep_error(Listener *l)
{
    PyObject *error = error_fetch();
    if (l->error)
        Py_XDECREF(error);
    else
        l->error = error;
}

static int on_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    Listener *l = (Listener *) self;
    bool ok = true;
    if (what == PyTrace_CALL)
        ok = meet_frame(l, frame);
    else if (what == PyTrace_C_CALL)
        ok = meet_call(l, frame, arg);
    if (!ok)
        keep_error(l);
    return l->outer ? l->outer(l->outer_object, frame, what, arg) : 0;
}

/* ---------------------------------------------------------------- methods */

static void begin(Listener *l)
{
    const PyThreadState *thread = PyThreadState_Get();
    l->outer = thread->c_profilefunc;
    l->outer_object = Py_XNewRef(thread->c_profileobj);
    l->listening = true;
    PyEval_SetProfile(on_event, (PyObject *) l);
}

/* Where the function has set another profile function, that one stays. */
static void end(Listener *l)
{
    const PyThreadState *thread = PyThreadState_Get();
    if (thread->c_profilefunc == on_event && thread->c_profileobj == (PyObject *) l)
        PyEval_SetProfile(l->outer, l->outer_object);
    l->listening = false;
    l->outer = NULL;
    Py_CLEAR(l->outer_object);
}

/* Both ends are here: in Python, a profile function is called before each call, so that
 * one that ends it may fail to begin if memory runs out. */
static PyObject *listen(PyObject *self, PyObject *args)
{
    Listener *l = (Listener *) self;
    PyObject *function, *given, *keywords;
    if (!PyArg_ParseTuple(args, "OO!O!:listen", &function, &PyTuple_Type, &given,
                          &PyDict_Type, &keywords))
        return NULL;
    if (l->listening)
        return error_raise(PyExc_RuntimeError, "freeze", NULL, 0, "it listens already");
    begin(l);
    PyObject *result = PyObject_Call(function, given, keywords);
    PyObject *error = result ? NULL : error_fetch();
    end(l);
    if (error)
        error_restore(error);
    return result;
}

static PyObject *heard(PyObject *self, PyObject *unused)
{
    Listener *l = (Listener *) self;
    (void) unused;
    if (!l->error)
        return PyTuple_Pack(3, l->codes, l->calls, l->formats);
    PyObject *error = l->error;
    l->error = NULL;
    error_restore(error);
    return NULL;
}

/* ---------------------------------------------------------------- the class */

static int listener_traverse(PyObject *self, visitproc visit, void *arg)
{
    const Listener *l = (Listener *) self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(l->is_quiet);
    Py_VISIT(l->codes);
    Py_VISIT(l->quiet);
    Py_VISIT(l->calls);
    Py_VISIT(l->formats);
    Py_VISIT(l->error);
    Py_VISIT(l->outer_object);
    return 0;
}

static int listener_clear(PyObject *self)
{
    Listener *l = (Listener *) self;
    Py_CLEAR(l->is_quiet);
    Py_CLEAR(l->codes);
    Py_CLEAR(l->quiet);
    Py_CLEAR(l->calls);
    Py_CLEAR(l->formats);
    Py_CLEAR(l->error);
    Py_CLEAR(l->outer_object);
    return 0;
}

static void listener_dealloc(PyObject *self)
{
    Listener *l = (Listener *) self;
    PyTypeObject *cls = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    listener_clear(self);
    PyMem_Free(l->met);
    finder_free(&l->latest);
    cls->tp_free(self);
    Py_DECREF(cls);
}

static PyObject *listener_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs)
{
    PyObject *is_quiet;
    static char *names[] = { "is_quiet", NULL };
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:_Listener", names, &is_quiet))
        return NULL;
    Listener *l = (Listener *) cls->tp_alloc(cls, 0);
    if (!l)
        return NULL;
    l->is_quiet = Py_NewRef(is_quiet);
    l->codes = PyList_New(0);
    l->quiet = PyList_New(0);
    l->calls = PyList_New(0);
    l->formats = PyList_New(0);
    if (l->codes && l->quiet && l->calls && l->formats)
        return (PyObject *) l;
    Py_DECREF(l);
    return NULL;
}

bool listener_bind(PyObject *module)
{
    static PyMethodDef methods[] = {
        { "listen", listen, METH_VARARGS,
          "listen(function, args, kwargs)\n\nits result; listens to this thread" },
        { "heard", heard, METH_NOARGS,
          "heard()\n\n"
          "([(code, globals) that ran], [(class, name, module) of functions in C], "
          "[texts whose format() was called])" },
        { NULL, NULL, 0, NULL },
    };
    PyType_Slot slots[] = {
        SLOT(Py_tp_new, listener_new),
        SLOT(Py_tp_dealloc, listener_dealloc),
        SLOT(Py_tp_traverse, listener_traverse),
        SLOT(Py_tp_clear, listener_clear),
        { Py_tp_methods, methods },
        { 0, NULL },
    };
    PyTypeObject *cls = type_add(module, "drjit._core._Listener", sizeof(Listener),
                                 Py_TPFLAGS_HAVE_GC, slots);
    Py_XDECREF((PyObject *) cls);
    return cls;
}
