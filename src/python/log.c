/*
 * log.c -- log messages for a Python function, given to it when that is safe
 *
 * See deferred.h. The function is found at delivery: an attribute of drjit._core, for
 * the core's callback does not say whose message it is.
 */
#include "python/log.h"

#include <stdlib.h>

#include "python/deferred.h"

typedef struct Message {
    Deferred deferred; /* first */
    LogLevel level;
    char text[];
} Message;

/* The state behind what is imported as drjit._core; NULL if a program has put something
 * else in its place. */
static const State *state_of_import(PyObject *module)
{
    const PyModuleDef *def =
        module && PyModule_Check(module) ? PyModule_GetDef(module) : NULL;
    return def && strcmp(def->m_name, "drjit._core") == 0 ? state_of_module(module)
                                                          : NULL;
}

static void deliver(Deferred *work)
{
    Message *m = (Message *) work;
    PyObject *name = PyUnicode_FromString("drjit._core");
    PyObject *module = name ? PyImport_GetModule(name) : NULL;
    Py_XDECREF(name);
    PyErr_Clear(); /* no modules any more: the interpreter ends */
    const State *state = state_of_import(module);
    PyObject *callback = state ? Py_XNewRef(state->log_callback) : NULL;
    PyObject *result =
        callback ? PyObject_CallFunction(callback, "is", (int) m->level, m->text)
                 : NULL;
    if (PyErr_Occurred())
        PyErr_WriteUnraisable(callback);
    Py_XDECREF(result);
    Py_XDECREF(callback);
    Py_XDECREF(module);
    free(m);
}

static void enqueue(LogLevel level, const char *text)
{
    size_t size = strlen(text) + 1;
    Message *m = malloc(sizeof(Message) + size);
    if (!m)
        return;
    m->deferred.run = deliver;
    m->level = level;
    memcpy(m->text, text, size);
    deferred_add(&m->deferred);
}

/* From here on in the queue, messages are for another function. */
typedef struct Change {
    Deferred deferred; /* first */
    State *state;
    PyObject *callback; /* NULL: none */
} Change;

static void change(Deferred *work)
{
    Change *c = (Change *) work;
    Py_XSETREF(c->state->log_callback, c->callback);
    state_unref(c->state);
    free(c);
}

bool log_set_callback(State *state, PyObject *callback, LogLevel level)
{
    Change *c = malloc(sizeof(Change));
    if (!c) {
        PyErr_NoMemory();
        return false;
    }
    *c = (Change){ { .run = change }, state, Py_XNewRef(callback) };
    state->references++;
    jit_set_log_level_callback(LogLevelDisable, NULL);
    deferred_add(&c->deferred);
    if (callback)
        jit_set_log_level_callback(level, enqueue);
    deferred_run();
    return true;
}
