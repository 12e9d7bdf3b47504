/*
 * log.c -- the core's log in sys.stdout, sys.stderr and a function, when that is safe
 *
 * See deferred.h. The module's state is found at delivery: an attribute of drjit._core,
 * for the core's callback does not say whose message it is.
 */
#include "python/control/log.h"

#include <stdlib.h>

#include "python/base/deferred.h"

typedef struct Message {
    Deferred deferred; /* first */
    LogLevel level;
    bool for_callback; /* or for sys.stdout and sys.stderr */
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

/* Functions of the core under the names that they have here. */
static const struct {
    const char *core, *here;
} prefixes[] = { { "jit_var_", "drjit." }, { "jit_array_", "drjit.Local." },
                 { "ad_", "drjit." } };

static void print(LogLevel level, const char *text)
{
    const char *prefix = "";
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
        if (strncmp(text, prefixes[i].core, strlen(prefixes[i].core)) == 0) {
            prefix = prefixes[i].here;
            text += strlen(prefixes[i].core);
            break;
        }
    if (level <= LogLevelWarn)
        PySys_FormatStderr("%s%s\n", prefix, text);
    else
        PySys_FormatStdout("%s%s\n", prefix, text);
}

static void deliver(Deferred *work)
{
    Message *m = (Message *) work;
    PyObject *name = PyUnicode_FromString("drjit._core");
    PyObject *module = name ? PyImport_GetModule(name) : NULL;
    Py_XDECREF(name);
    PyErr_Clear(); /* no modules any more: the interpreter ends */
    const State *state = state_of_import(module);
    PyObject *callback =
        state && m->for_callback ? Py_XNewRef(state->log_callback) : NULL;
    if (!m->for_callback)
        print(m->level, m->text);
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

static void enqueue(LogLevel level, const char *text, bool for_callback)
{
    size_t size = strlen(text) + 1;
    Message *m = malloc(sizeof(Message) + size);
    if (!m)
        return;
    m->deferred.run = deliver;
    m->level = level;
    m->for_callback = for_callback;
    memcpy(m->text, text, size);
    deferred_add(&m->deferred);
}

static void enqueue_output(LogLevel level, const char *text)
{
    enqueue(level, text, false);
}

static void enqueue_callback(LogLevel level, const char *text)
{
    enqueue(level, text, true);
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
    if (!c)
        return PyErr_NoMemory();
    *c = (Change){ { .run = change }, state, Py_XNewRef(callback) };
    state->references++;
    jit_set_log_level_callback(LogLevelDisable, NULL);
    deferred_add(&c->deferred);
    if (callback)
        jit_set_log_level_callback(level, enqueue_callback);
    deferred_run();
    return true;
}

/* Is what Python calls sys.stderr still the process's own? A notebook and a test runner
 * put something else there, and lines on the terminal behind it would help nobody. */
static bool writes_to_stderr(void)
{
    PyObject *file = PySys_GetObject("stderr"); /* borrowed */
    int number = file && file != Py_None ? PyObject_AsFileDescriptor(file) : -1;
    PyErr_Clear(); /* it is no file */
    return number == 2; /* of stderr */
}

void log_begin(void)
{
    /* The library logs what it compiles unless told otherwise; a Python user asks for
     * it. */
    if (!getenv("DRJIT_LOG_LEVEL"))
        jit_set_log_level_stderr(LogLevelWarn);
    jit_set_log_output(enqueue_output);
    jit_set_progress(writes_to_stderr());
}

void log_end(State *state)
{
    jit_set_log_output(NULL);
    if (!log_set_callback(state, NULL, LogLevelDisable))
        PyErr_Clear();
    Py_CLEAR(state->log_callback);
}
