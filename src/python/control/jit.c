/*
 * jit.c -- control of the just-in-time compiler: flags, history, caches, log, profiling
 */
#include <stdio.h>

#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/base/tables.h"
#include "python/control/flag_scope.h"
#include "python/control/log.h"
#include "python/control/source.h"
#include "python/docstrings.h"
#include "python/type/enums.h"
#include "python/type/state.h"

enum { KERNEL_TYPES = KernelTypeHostFunc + 1 };

/* ---------------------------------------------------------------- backends, flags */

static PyObject *has_backend(PyObject *module, PyObject *arg)
{
    long backend;
    if (!enum_read(state_of_module(module), "has_backend", "JitBackend", arg,
                   BACKEND_LIMIT, &backend))
        return NULL;
    return PyLong_FromLong(jit_has_backend((JitBackend) backend));
}

static PyObject *set_flag(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    long flag;
    if (n != 2) {
        arguments_refuse("set_flag", args, n, "found %zd arguments, expected 2", n);
        return NULL;
    }
    if (!enum_read(state_of_module(module), "set_flag", "JitFlag", args[0], FLAG_LIMIT,
                   &flag))
        return NULL;
    if (!PyBool_Check(args[1]))
        return error_raise(PyExc_TypeError, "set_flag", args, n,
                           "expected a bool as the value");
    const uint32_t before = jit_flags();
    jit_set_flag((JitFlag) flag, args[1] == Py_True);
    if (!source_follow(before))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *flag(PyObject *module, PyObject *arg)
{
    long value;
    if (!enum_read(state_of_module(module), "flag", "JitFlag", arg, FLAG_LIMIT, &value))
        return NULL;
    return PyBool_FromLong(jit_flag((JitFlag) value));
}

/* ---------------------------------------------------------------- kernel history */

/* A text stream, as programs that print the IR expect. */
static PyObject *text_stream(const char *text)
{
    PyObject *io = PyImport_ImportModule("io");
    PyObject *stream =
        io ? PyObject_CallMethod(io, "StringIO", "s", text ? text : "") : NULL;
    Py_XDECREF(io);
    return stream;
}

/* What only kernels have. */
static PyObject *describe_kernel(const KernelHistoryEntry *e)
{
    char hash[33];
    snprintf(hash, sizeof(hash), "%016llx%016llx", (unsigned long long) e->hash[1],
             (unsigned long long) e->hash[0]);
    return Py_BuildValue(
        "{ss sN ss si si si sI sN sd sd}", "hash", hash, "ir", text_stream(e->ir),
        "engine", e->engine ? e->engine : "", "uses_optix", 0,
        "cache_hit", e->cache_hit, "cache_disk", e->cache_disk,
        "operation_count", e->operation_count,
        "has_loops", PyBool_FromLong(e->has_loops),
        "codegen_time", e->codegen_time, "backend_time", e->backend_time);
}

/* Where the program was when it enqueued the work, as "file:line", or None. */
static PyObject *source_text(const KernelHistoryEntry *e)
{
    if (!e->source_file)
        Py_RETURN_NONE;
    return PyUnicode_FromFormat("%s:%u", e->source_file, e->source_line);
}

static PyObject *describe(State *state, const KernelHistoryEntry *e)
{
    PyObject *d = Py_BuildValue(
        "{sN sN sn sI sI sK sK sK sd sd sN sN}",
        "backend", enum_make(state, "JitBackend", e->backend),
        "type", enum_make(state, "KernelType", e->type),
        "size", (Py_ssize_t) e->size,
        "input_count", e->input_count, "output_count", e->output_count,
        "bytes_read", (unsigned long long) e->bytes_read,
        "bytes_written", (unsigned long long) e->bytes_written,
        "flops", (unsigned long long) e->flops, "execution_time", e->execution_time,
        "end_time", e->end_time, "source", source_text(e),
        "recording_mode", enum_make(state, "KernelRecordingMode", e->recording_mode));
    PyObject *more = d && e->type == KernelTypeJIT ? describe_kernel(e) : NULL;
    if (d && e->type == KernelTypeJIT && (!more || PyDict_Update(d, more) < 0))
        Py_CLEAR(d);
    Py_XDECREF(more);
    return d;
}

/* The kinds of entries that the caller wants, as bits; all if it names none. */
static bool wanted_types(State *state, PyObject *types, unsigned *wanted)
{
    *wanted = 0;
    PyObject *items = types ? PySequence_List(types) : PyList_New(0);
    if (!items)
        return error_raise(PyExc_TypeError, "kernel_history", &types, 1,
                           "expected a sequence of drjit.KernelType");
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(items); i++) {
        /* A plain number would be a mistake that empties the record. */
        PyObject *item = PyList_GET_ITEM(items, i);
        long type;
        const int known = enum_has(state, "KernelType", item);
        if (known == 0)
            error_raise(PyExc_TypeError, "kernel_history", &types, 1,
                        "'types' has %R, expected a sequence of drjit.KernelType",
                        item);
        ok = known > 0 && enum_read(state, "kernel_history", "KernelType", item,
                                    KERNEL_TYPES, &type);
        *wanted |= ok ? 1u << type : 0;
    }
    if (PyList_GET_SIZE(items) == 0)
        *wanted = ~0u;
    Py_DECREF(items);
    return ok;
}

static PyObject *kernel_history(PyObject *module, PyObject *const *args, Py_ssize_t n,
                                PyObject *names)
{
    static const char *const parameters[] = {"types"};
    static const Signature signature = {"kernel_history", parameters, 1, 0, 0};
    State *state = state_of_module(module);
    PyObject *types;
    unsigned wanted;
    if (!arguments_parse(&signature, args, n, names, &types) ||
        !wanted_types(state, types, &wanted))
        return NULL;
    KernelHistoryEntry *entries;
    size_t count;
    GIL_RELEASE_BEGIN
    count = jit_kernel_history(&entries);
    GIL_RELEASE_END
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        if (wanted >> entries[i].type & 1 &&
            !list_add(list, describe(state, &entries[i])))
            Py_CLEAR(list);
    }
    jit_kernel_history_release(entries, count);
    /* A list that notebooks show as a table. */
    PyObject *home = list ? PyImport_ImportModule("drjit._text.notebook") : NULL;
    PyObject *result = home ? PyObject_CallMethod(home, "History", "O", list) : NULL;
    Py_XDECREF(home);
    Py_XDECREF(list);
    return result;
}

static PyObject *kernel_history_clear(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    GIL_RELEASE_BEGIN
    jit_kernel_history_clear();
    GIL_RELEASE_END
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- waiting, caches,
 * threads */

static PyObject *sync_thread(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    bool ok;
    GIL_RELEASE_BEGIN_IF(jit_sync_pending())
    ok = jit_sync_thread(); /* in any case: it says what has failed */
    GIL_RELEASE_END
    if (!ok)
        return error_from_core("sync_thread", NULL, 0);
    Py_RETURN_NONE;
}

static PyObject *launch_hold(PyObject *module, PyObject *arg)
{
    (void) module;
    int hold = PyObject_IsTrue(arg);
    if (hold < 0)
        return NULL;
    jit_launch_hold(hold);
    Py_RETURN_NONE;
}

static PyObject *flush_kernel_cache(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    GIL_RELEASE_BEGIN
    jit_flush_kernel_cache();
    GIL_RELEASE_END
    Py_RETURN_NONE;
}

static PyObject *flush_malloc_cache(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    GIL_RELEASE_BEGIN
    jit_flush_malloc_cache();
    GIL_RELEASE_END
    Py_RETURN_NONE;
}

static PyObject *thread_count(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    return PyLong_FromUnsignedLong(jit_llvm_thread_count());
}

static PyObject *set_thread_count(PyObject *module, PyObject *arg)
{
    (void) module;
    size_t count;
    if (!arguments_count("set_thread_count", "count", arg, &count))
        return NULL;
    if (count > UINT32_MAX)
        return error_raise(PyExc_ValueError, "set_thread_count", NULL, 0,
                           "'count' is %zu, expected at most 2^32 - 1", count);
    bool ok;
    GIL_RELEASE_BEGIN
    ok = jit_llvm_set_thread_count(count ? (uint32_t) count : 1);
    GIL_RELEASE_END
    if (!ok)
        return error_from_core("set_thread_count", NULL, 0);
    Py_RETURN_NONE;
}

static PyObject *expand_threshold(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    return PyLong_FromSize_t(jit_expand_threshold());
}

static PyObject *set_expand_threshold(PyObject *module, PyObject *arg)
{
    (void) module;
    size_t entries;
    if (!arguments_count("set_expand_threshold", "threshold", arg, &entries))
        return NULL;
    jit_set_expand_threshold(entries);
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- log */

static PyObject *log_level(PyObject *module, PyObject *unused)
{
    (void) unused;
    return enum_make(state_of_module(module), "LogLevel", jit_log_level_stderr());
}

/* Are messages of a level printed? Enumerators are slow to make and look at. */
static PyObject *logs(PyObject *module, PyObject *arg)
{
    (void) module;
    const long level = PyLong_AsLong(arg);
    if (level == -1 && PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(level <= (long) jit_log_level_stderr());
}

static PyObject *flags(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    return PyLong_FromUnsignedLong(jit_flags());
}

static PyObject *set_log_level(PyObject *module, PyObject *arg)
{
    long level;
    if (!enum_read(state_of_module(module), "set_log_level", "LogLevel", arg,
                   LogLevelTrace + 1, &level))
        return NULL;
    jit_set_log_level_stderr((LogLevel) level);
    Py_RETURN_NONE;
}

static PyObject *set_log_callback(PyObject *module, PyObject *const *args, Py_ssize_t n,
                                  PyObject *names)
{
    static const char *const parameters[] = {"callback", "level"};
    static const Signature signature = {"set_log_callback", parameters, 2, 1, 0};
    PyObject *values[2];
    long level = LogLevelInfo;
    if (!arguments_parse(&signature, args, n, names, values) ||
        (values[1] && !enum_read(state_of_module(module), "set_log_callback",
                                 "LogLevel", values[1], LogLevelTrace + 1, &level)))
        return NULL;
    if (values[0] != Py_None && !PyCallable_Check(values[0]))
        return error_raise(PyExc_TypeError, "set_log_callback", values, 1,
                           "expected a function or None");
    PyObject *callback = values[0] == Py_None ? NULL : values[0];
    if (!log_set_callback(state_of_module(module), callback, (LogLevel) level))
        return NULL;
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- introspection */

/* The arguments (as_string=False). */
static bool wants_string(const char *function, PyObject *const *args, Py_ssize_t n,
                         PyObject *names, bool *as_string)
{
    static const char *const parameters[] = { "as_string" };
    const Signature signature = { function, parameters, 1, 0, 0 };
    PyObject *value;
    return arguments_parse(&signature, args, n, names, &value) &&
           arguments_bool(function, parameters[0], value, false, as_string);
}

static PyObject *whos(PyObject *module, PyObject *const *args, Py_ssize_t n,
                      PyObject *names)
{
    (void) module;
    bool as_string;
    if (!wants_string("whos", args, n, names, &as_string))
        return NULL;
    const char *text = jit_var_whos();
    if (!text)
        return error_from_core("whos", NULL, 0);
    if (as_string)
        return PyUnicode_FromString(text);
    PyObject *string = PyUnicode_FromString(text);
    PyObject *out = string ? PySys_GetObject("stdout") : NULL; /* borrowed */
    Py_XINCREF(out);
    int status = !string ? -1
                 : !out || out == Py_None
                     ? 0
                     : PyFile_WriteObject(string, out, Py_PRINT_RAW);
    if (status == 0 && out && out != Py_None)
        status = PyFile_WriteString("\n", out);
    Py_XDECREF(out);
    Py_XDECREF(string);
    if (status < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *graphviz(PyObject *module, PyObject *const *args, Py_ssize_t n,
                          PyObject *names)
{
    (void) module;
    bool as_string;
    if (!wants_string("graphviz", args, n, names, &as_string))
        return NULL;
    const char *text = jit_var_graphviz();
    if (!text)
        return error_from_core("graphviz", NULL, 0);
    if (as_string)
        return PyUnicode_FromString(text);
    PyObject *source = PyUnicode_FromString(text); /* importing may call us again */
    PyObject *package = source ? PyImport_ImportModule("graphviz") : NULL;
    if (source && !package)
        error_raise(PyExc_ImportError, "graphviz", NULL, 0,
                    "the Python package 'graphviz' is not installed; as_string=True "
                    "does not need it");
    PyObject *graph =
        package ? PyObject_CallMethod(package, "Source", "O", source) : NULL;
    Py_XDECREF(package);
    Py_XDECREF(source);
    return graph;
}

static PyObject *profile(PyObject *arg, const char *operation,
                         bool (*call)(const char *))
{
    const char *label = PyUnicode_Check(arg) ? PyUnicode_AsUTF8(arg) : NULL;
    if (!label)
        return PyErr_Occurred() ? NULL
                                : error_raise(PyExc_TypeError, operation, &arg, 1,
                                              "expected a str as the label");
    if (!call(label))
        return error_from_core(operation, &arg, 1);
    Py_RETURN_NONE;
}

static PyObject *profile_mark(PyObject *module, PyObject *arg)
{
    (void) module;
    return profile(arg, "profile_mark", jit_profile_mark);
}

static PyObject *profile_push(PyObject *module, PyObject *arg)
{
    (void) module;
    return profile(arg, "profile_range", jit_profile_range_push);
}

static PyObject *profile_pop(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    if (!jit_profile_range_pop())
        return error_from_core("profile_range", NULL, 0);
    Py_RETURN_NONE;
}

#define KEYWORDS METH_FASTCALL | METH_KEYWORDS

PyMethodDef jit_functions[] = {
    { "has_backend", has_backend, METH_O, DOC_has_backend },
    { "set_flag", METHOD(set_flag), METH_FASTCALL, DOC_set_flag },
    { "flag", flag, METH_O, DOC_flag },
    { "kernel_history", METHOD(kernel_history), KEYWORDS, DOC_kernel_history },
    { "kernel_history_clear", kernel_history_clear, METH_NOARGS,
      DOC_kernel_history_clear },
    { "sync_thread", sync_thread, METH_NOARGS, DOC_sync_thread },
    { "_launch_hold", launch_hold, METH_O,
      "_launch_hold(hold)\n\nsee jit_launch_hold() of drjit-core/jit.h" },
    { "flush_kernel_cache", flush_kernel_cache, METH_NOARGS, DOC_flush_kernel_cache },
    { "flush_malloc_cache", flush_malloc_cache, METH_NOARGS, DOC_flush_malloc_cache },
    { "thread_count", thread_count, METH_NOARGS, DOC_thread_count },
    { "set_thread_count", set_thread_count, METH_O, DOC_set_thread_count },
    { "expand_threshold", expand_threshold, METH_NOARGS, DOC_expand_threshold },
    { "set_expand_threshold", set_expand_threshold, METH_O, DOC_set_expand_threshold },
    { "log_level", log_level, METH_NOARGS, DOC_log_level },
    { "_logs", logs, METH_O, "_logs(level)\n\nsee drjit._freeze" },
    { "_flags", flags, METH_NOARGS, "_flags()\n\nall flags of the calling thread" },
    { "set_log_level", set_log_level, METH_O, DOC_set_log_level },
    { "set_log_callback", METHOD(set_log_callback), KEYWORDS, DOC_set_log_callback },
    { "whos", METHOD(whos), KEYWORDS, DOC_whos },
    { "graphviz", METHOD(graphviz), KEYWORDS, DOC_graphviz },
    { "profile_mark", profile_mark, METH_O, DOC_profile_mark },
    { "_profile_push", profile_push, METH_O, NULL },
    { "_profile_pop", profile_pop, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};
