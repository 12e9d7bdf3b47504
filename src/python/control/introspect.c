/*
 * introspect.c -- what drjit.detail says of variables, memory, launches and scopes
 */
#include "drjit-core/region.h"
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/base/tables.h"
#include "python/docstrings.h"
#include "python/memory/access.h"
#include "python/tree/tree.h"
#include "python/type/enums.h"

/* ---------------------------------------------------------------- variables */

typedef struct Collect {
    State *state;
    PyObject *list;
} Collect;

static bool collect_leaf(void *context, PyObject *leaf)
{
    const Collect *c = context;
    Array *a = array_traced(c->state, leaf);
    for (size_t i = 0; a && i < array_count(a); i++) {
        if (!list_add(c->list, PyLong_FromUnsignedLongLong(array_leaves(a)[i])))
            return false;
    }
    return true;
}

static PyObject *collect_indices(PyObject *module, PyObject *tree)
{
    Collect c = { state_of_module(module), PyList_New(0) };
    if (c.list &&
        !tree_visit(c.state, "detail.collect_indices", tree, collect_leaf, &c))
        Py_CLEAR(c.list);
    return c.list;
}

/* ---------------------------------------------------------------- callbacks */

typedef struct Callback {
    State *state;
    PyObject *function;
    bool replaces; /* with what the function returns */
} Callback;

static const char *name_of(const Callback *c)
{
    return c->replaces ? "detail.traverse_py_cb_rw" : "detail.traverse_py_cb_ro";
}

/* A variable of the leaf's type, with its node or none. 0: exception. */
static VarIndex given_leaf(const Callback *c, const Array *a, VarIndex old,
                           PyObject *number)
{
    if (!PyLong_Check(number)) {
        error_raise(PyExc_TypeError, name_of(c), NULL, 0,
                    "the callback returned an object of type %s, expected the index of "
                    "a variable",
                    Py_TYPE(number)->tp_name);
        return 0;
    }
    const VarIndex given = PyLong_AsUnsignedLongLongMask(number);
    VarInfo info;
    const bool fits = (!var_node(given) || var_node(given) == var_node(old)) &&
                      var_number(given) && var_info(given, &info) &&
                      info.type == (VarType) a->info->entry &&
                      info.backend == (JitBackend) a->info->backend;
    if (!fits)
        error_raise(PyExc_ValueError, name_of(c), NULL, 0,
                    "the callback returned %R, expected the index of a variable of a "
                    "%s, which is not tracked or is as it was",
                    number, a->info->name);
    return fits ? given : 0;
}

static bool call_back(void *context, PyObject *leaf)
{
    const Callback *c = context;
    Array *a = array_traced(c->state, leaf);
    for (size_t i = 0; a && i < array_count(a); i++) {
        const VarIndex old = array_leaves(a)[i];
        if (var_is_empty(old))
            continue;
        PyObject *result = PyObject_CallFunction(c->function, "Kss", old, "", "");
        const VarIndex given =
            result && c->replaces ? given_leaf(c, a, old, result) : 0;
        if (given && i < array_count(a))
            array_set_leaf(a, i, var_ref(given));
        Py_XDECREF(result);
        if (PyErr_Occurred())
            return false;
    }
    return true;
}

/* (tree, function, replaces) */
static PyObject *traverse(PyObject *module, PyObject *args)
{
    PyObject *tree;
    int replaces;
    Callback c = { .state = state_of_module(module) };
    if (!PyArg_ParseTuple(args, "OOp:_traverse_indices", &tree, &c.function, &replaces))
        return NULL;
    c.replaces = replaces;
    if (!tree_visit(c.state, name_of(&c), tree, call_back, &c))
        return NULL;
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- symbolic */

typedef struct Search {
    State *state;
    bool found;
} Search;

static bool find_symbolic(void *context, PyObject *leaf)
{
    Search *s = context;
    const Array *a = array_traced(s->state, leaf);
    for (size_t i = 0; a && i < array_count(a); i++) {
        VarIndex index = array_leaves(a)[i];
        s->found |= !var_is_empty(index) && var_state(index) == VarStateSymbolic;
    }
    return true;
}

static PyObject *any_symbolic(PyObject *module, PyObject *tree)
{
    Search s = { state_of_module(module), false };
    return tree_visit(s.state, "detail.any_symbolic", tree, find_symbolic, &s)
               ? PyBool_FromLong(s.found)
               : NULL;
}

/* An empty (jit) or zero (scalar) array of the same class. */
static PyObject *reset_leaf(void *context, PyObject *const *leaves)
{
    State *state = context;
    if (!array_check(state, leaves[0]))
        return Py_NewRef(leaves[0]);
    Array *a = (Array *) leaves[0];
    if (a->info->kind == KIND_TENSOR) {
        const size_t none = 0;
        return (PyObject *) array_new_tensor(a->info, 1, &none);
    }
    return (PyObject *) access_make(Py_TYPE(a), a->info, a);
}

static PyObject *reset(PyObject *module, PyObject *tree)
{
    return tree_map(state_of_module(module), "detail.reset", &tree, 1,
                    reset_leaf, state_of_module(module));
}

/* ---------------------------------------------------------------- statistics */

static bool read_backend(PyObject *module, const char *operation, PyObject *object,
                         JitBackend *backend)
{
    long number;
    bool ok = enum_read(state_of_module(module), operation, "JitBackend", object,
                        BACKEND_LIMIT, &number);
    *backend = ok ? (JitBackend) number : JitBackendNone;
    return ok;
}

static PyObject *malloc_watermark(PyObject *module, PyObject *backend)
{
    JitBackend which;
    return read_backend(module, "detail.malloc_watermark", backend, &which)
               ? PyLong_FromSize_t(jit_malloc_watermark(which))
               : NULL;
}

static PyObject *malloc_clear_statistics(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    jit_malloc_clear_statistics();
    Py_RETURN_NONE;
}

static PyObject *launch_stats(PyObject *module, PyObject *unused)
{
    size_t launches, soft, hard;
    (void) module, (void) unused;
    jit_launch_stats(&launches, NULL, &soft, &hard);
    return Py_BuildValue("(nnn)", (Py_ssize_t) launches, (Py_ssize_t) soft,
                         (Py_ssize_t) hard);
}

static PyObject *slow_paths(PyObject *module, PyObject *unused)
{
    (void) unused;
    return PyLong_FromSize_t(state_of_module(module)->slow_paths);
}

static PyObject *llvm_version(PyObject *module, PyObject *unused)
{
    int major, minor, patch;
    bool ok;
    (void) module, (void) unused;
    GIL_RELEASE_BEGIN /* may load the library */
        ok = jit_llvm_version(&major, &minor, &patch);
    GIL_RELEASE_END return ok ? Py_BuildValue("(iii)", major, minor, patch)
                                   : error_from_core("detail.llvm_version", NULL, 0);
}

static PyObject *clear_registry(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    jit_registry_clear();
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- leak warnings */

/* The switch is a capsule in the interpreter's dictionary, which is cleared after all
 * modules: what still has references then is leaked. */
static const char leak_key[] = "drjit.leak_warnings";

static void report_leaks(PyObject *capsule)
{
    (void) capsule;
    jit_set_log_output(NULL); /* no Python code any more */
    jit_set_log_level_callback(LogLevelDisable, NULL);
    jit_shutdown(1);
}

/* The dictionary (borrowed) and what it holds for us (borrowed, NULL: off). */
static PyObject *leak_switch(PyObject **dictionary)
{
    *dictionary = PyInterpreterState_GetDict(PyInterpreterState_Get());
    if (!*dictionary) {
        PyErr_SetString(PyExc_RuntimeError,
                        "drjit.detail.set_leak_warnings(): the interpreter has no "
                        "dictionary");
        return NULL;
    }
    PyObject *key = PyUnicode_FromString(leak_key);
    PyObject *found = key ? PyDict_GetItemWithError(*dictionary, key) : NULL;
    Py_XDECREF(key);
    return found;
}

static PyObject *cache_dir(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    return PyUnicode_DecodeFSDefault(jit_cache_dir());
}

static PyObject *leak_warnings(PyObject *module, PyObject *unused)
{
    (void) module, (void) unused;
    PyObject *dictionary, *found = leak_switch(&dictionary);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(found != NULL);
}

static PyObject *set_leak_warnings(PyObject *module, PyObject *argument)
{
    (void) module;
    bool enable;
    PyObject *dictionary, *found = leak_switch(&dictionary);
    if (PyErr_Occurred() || !arguments_bool("detail.set_leak_warnings", "arg", argument,
                                            false, &enable))
        return NULL;
    int status = 0;
    if (enable && !found) {
        PyObject *capsule = PyCapsule_New((void *) leak_key, leak_key, report_leaks);
        status = capsule ? PyDict_SetItemString(dictionary, leak_key, capsule) : -1;
        if (capsule && status < 0)
            PyCapsule_SetDestructor(capsule, NULL);
        Py_XDECREF(capsule);
    } else if (!enable && found) {
        status = PyCapsule_SetDestructor(found, NULL);
        if (status == 0)
            status = PyDict_DelItemString(dictionary, leak_key);
    }
    if (status < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- scopes */

static PyObject *scope(PyObject *module, PyObject *object)
{
    JitBackend backend;
    if (!read_backend(module, "detail.scope", object, &backend))
        return NULL;
    jit_error_clear();
    uint32_t number = jit_scope(backend);
    return jit_error() == JIT_OK ? PyLong_FromUnsignedLong(number)
                                 : error_from_core("detail.scope", &object, 1);
}

static PyObject *new_scope(PyObject *module, PyObject *object)
{
    JitBackend backend;
    if (!read_backend(module, "detail.new_scope", object, &backend))
        return NULL;
    uint32_t number = jit_new_scope(backend);
    return number ? PyLong_FromUnsignedLong(number)
                  : error_from_core("detail.new_scope", &object, 1);
}

static PyObject *set_scope(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *names)
{
    static const char *const parameters[] = { "backend", "scope" };
    static const Signature signature = { "detail.set_scope", parameters, 2, 2, 0 };
    PyObject *v[2];
    JitBackend backend;
    size_t number;
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !read_backend(module, signature.function, v[0], &backend) ||
        !arguments_count(signature.function, "scope", v[1], &number))
        return NULL;
    if (!jit_set_scope(backend, number > UINT32_MAX ? UINT32_MAX : (uint32_t) number))
        return error_from_core(signature.function, v, 2);
    Py_RETURN_NONE;
}

#define FAST METH_FASTCALL | METH_KEYWORDS

PyMethodDef introspect_functions[] = {
    { "_traverse_indices", traverse, METH_VARARGS,
      "_traverse_indices(tree, function, replaces)\n\nsee drjit.detail" },
    { "_collect_indices", collect_indices, METH_O, DOC__collect_indices },
    { "_any_symbolic", any_symbolic, METH_O, DOC__any_symbolic },
    { "_reset", reset, METH_O, DOC__reset },
    { "_malloc_watermark", malloc_watermark, METH_O, DOC__malloc_watermark },
    { "_malloc_clear_statistics", malloc_clear_statistics, METH_NOARGS,
      DOC__malloc_clear_statistics },
    { "_launch_stats", launch_stats, METH_NOARGS, DOC__launch_stats },
    { "_cache_dir", cache_dir, METH_NOARGS,
      "_cache_dir()\n--\n\nFolder of compiled kernels, \"\" if there is none." },
    { "_slow_paths", slow_paths, METH_NOARGS,
      "_slow_paths()\n--\n\nElementwise operations so far that took no fast path." },
    { "_llvm_version", llvm_version, METH_NOARGS, DOC__llvm_version },
    { "_set_leak_warnings", set_leak_warnings, METH_O,
      "_set_leak_warnings(arg)\n\nReport leaked variables when Python ends?" },
    { "_leak_warnings", leak_warnings, METH_NOARGS,
      "_leak_warnings()\n\nIs that so?" },
    { "_scope", scope, METH_O, "_scope(backend)\n\nThe scope of this thread." },
    { "_new_scope", new_scope, METH_O,
      "_new_scope(backend)\n\nBegin a new scope, and return it." },
    { "_set_scope", METHOD(set_scope), FAST,
      "_set_scope(backend, scope)\n\nGo back to a scope." },
    { "_clear_registry", clear_registry, METH_NOARGS,
      "_clear_registry()\n--\n\nForget all registered objects." },
    { NULL, NULL, 0, NULL },
};
