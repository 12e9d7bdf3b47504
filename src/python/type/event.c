/*
 * event.c -- marks in the stream of queued work, to wait for and to take times between
 */
#include "python/type/event.h"

#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/docstrings.h"

typedef struct Event {
    PyObject_HEAD
    JitEvent *event;
    bool timed, recorded;
} Event;

/* The backend is an attribute of the class, so that one set of functions serves all. */
static bool backend_of(PyTypeObject *cls, JitBackend *backend)
{
    PyObject *number = PyObject_GetAttrString((PyObject *) cls, "_backend");
    long value = number ? PyLong_AsLong(number) : -1;
    Py_XDECREF(number);
    *backend = (JitBackend) value;
    return !PyErr_Occurred();
}

static PyObject *event_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"enable_timing", NULL};
    int timed = 1;
    JitBackend backend;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:drjit.Event", keywords,
                                     &timed) ||
        !backend_of(cls, &backend))
        return NULL;
    Event *e = (Event *) cls->tp_alloc(cls, 0);
    if (!e)
        return NULL;
    e->timed = timed;
    e->event = jit_event_create(backend, timed);
    if (!e->event) {
        Py_DECREF(e);
        return error_from_core("Event", NULL, 0);
    }
    return (PyObject *) e;
}

static void event_dealloc(PyObject *self)
{
    PyTypeObject *cls = Py_TYPE(self);
    if (((Event *) self)->event)
        jit_event_destroy(((Event *) self)->event);
    cls->tp_free(self);
    Py_DECREF(cls);
}

static PyObject *record(PyObject *self, PyObject *unused)
{
    (void) unused;
    Event *e = (Event *) self;
    if (!jit_event_record(e->event))
        return error_from_core("Event.record", NULL, 0);
    e->recorded = true;
    Py_RETURN_NONE;
}

static bool check_recorded(const Event *e, const char *operation)
{
    return e->recorded || error_raise(PyExc_RuntimeError, operation, NULL, 0,
                                      "the event was not recorded yet; call record() "
                                      "first");
}

static PyObject *query(PyObject *self, PyObject *unused)
{
    (void) unused;
    Event *e = (Event *) self;
    return PyBool_FromLong(!e->recorded || jit_event_query(e->event));
}

static PyObject *wait(PyObject *self, PyObject *unused)
{
    (void) unused;
    Event *e = (Event *) self;
    bool ok;
    if (!e->recorded)
        Py_RETURN_NONE;
    GIL_RELEASE_BEGIN
    ok = jit_event_wait(e->event);
    GIL_RELEASE_END
    if (!ok)
        return error_from_core("Event.wait", NULL, 0);
    Py_RETURN_NONE;
}

static PyObject *elapsed_time(PyObject *self, PyObject *other)
{
    Event *start = (Event *) self, *end = (Event *) other;
    if (Py_TYPE(other) != Py_TYPE(self))
        return error_raise(PyExc_TypeError, "Event.elapsed_time", &other, 1,
                           "expected an event of the same backend");
    if (!start->timed || !end->timed)
        return error_raise(PyExc_RuntimeError, "Event.elapsed_time", NULL, 0,
                           "an event does not record times; make both with "
                           "enable_timing=True");
    if (!check_recorded(start, "Event.elapsed_time") ||
        !check_recorded(end, "Event.elapsed_time"))
        return NULL;
    double milliseconds;
    jit_error_clear();
    GIL_RELEASE_BEGIN
    milliseconds = jit_event_elapsed_time(start->event, end->event);
    GIL_RELEASE_END
    if (jit_error() != JIT_OK)
        return error_from_core("Event.elapsed_time", NULL, 0);
    return PyFloat_FromDouble(milliseconds);
}

static PyObject *handle(PyObject *self, void *unused)
{
    (void) unused;
    return PyLong_FromVoidPtr(((Event *) self)->event);
}

static PyMethodDef event_methods[] = {
    { "record", record, METH_NOARGS, DOC_Event_record },
    { "query", query, METH_NOARGS, DOC_Event_query },
    { "wait", wait, METH_NOARGS, DOC_Event_wait },
    { "elapsed_time", elapsed_time, METH_O, DOC_Event_elapsed_time },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef event_getset[] = {
    { "handle", handle, NULL, DOC_Event_handle, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyObject *event_make_class(State *state, const char *name, JitBackend backend)
{
    PyType_Slot slots[] = {
        { Py_tp_doc, (void *) DOC_Event },
        SLOT(Py_tp_new, event_new),
        SLOT(Py_tp_dealloc, event_dealloc),
        { Py_tp_methods, event_methods },
        { Py_tp_getset, event_getset },
        { 0, NULL },
    };
    PyType_Spec spec = {.name = name, .basicsize = sizeof(Event),
                        .flags = Py_TPFLAGS_DEFAULT, .slots = slots};
    PyObject *cls = PyType_FromModuleAndSpec(state->module, &spec, NULL);
    if (!cls && !PyErr_Occurred()) /* CPython 3.11 has no memory for the name */
        PyErr_NoMemory();
    PyObject *number = cls ? PyLong_FromLong(backend) : NULL;
    if (!number || PyObject_SetAttrString(cls, "_backend", number) < 0)
        Py_CLEAR(cls);
    Py_XDECREF(number);
    return cls;
}
