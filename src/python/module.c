/*
 * module.c -- drjit._core: puts together what the other files contribute
 *
 * Multi-phase initialisation, all state in the module object. Importing makes one class
 * (ArrayBase) and the functions; array classes follow when their module is touched.
 */
#include "python/base/tables.h"

#include "python/ad/custom.h"
#include "python/array/array.h"
#include "python/base/error.h"
#include "python/control/flag_scope.h"
#include "python/control/log.h"
#include "python/convert/operand.h"
#include "python/docstrings.h"
#include "python/flow/local.h"
#include "python/flow/registry.h"
#include "python/freeze/frozen.h"
#include "python/freeze/frozen_function.h"
#include "python/freeze/listener.h"
#include "python/freeze/reads.h"
#include "python/freeze/snapshot.h"
#include "python/index/index.h"
#include "python/shape/size.h"
#include "python/tree/plan.h"
#include "python/type/enums.h"
#include "python/type/lazy_function.h"
#include "python/type/state.h"

static PyMethodDef *const function_tables[] = {
    call_functions, cond_functions, create_functions, custom_functions, dot_functions,
    error_functions, exchange_functions, frozen_export_functions, frozen_file_functions,
    frozen_functions, functions_functions, gather_functions, gradient_functions,
    introspect_functions, jit_functions, lazy_function_functions, local_functions,
    loop_functions, mask_functions, matvec_functions, product_functions,
    propagate_functions, reads_functions, reduce_functions, report_functions,
    reshape_functions, size_functions, snapshot_functions, sort_functions,
    source_functions, tensor_functions, trait_functions, tree_functions, type_functions,
};

static PyMethodDef *const method_tables[] = {
    copy_methods, exchange_methods, index_methods,
};

static PyType_Slot *const slot_tables[] = {
    number_slots, index_slots, repr_slots, exchange_slots,
};

enum { SLOT_LIMIT = 96 };

static PyObject *abstract_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs)
{
    (void) args, (void) kwargs;
    return PyErr_Format(PyExc_TypeError,
                        "%s(): this class cannot be instantiated; use one of the array "
                        "types in drjit.scalar, drjit.llvm, ...",
                        cls->tp_name);
}

/* ArrayBase must not add to a dead object's list of an unknown type. */
static void abstract_dealloc(PyObject *self)
{
    PyTypeObject *cls = Py_TYPE(self);
    cls->tp_free(self);
    Py_DECREF(cls);
}

/* NumPy leaves operators to whichever operand has the higher number: n * x is ours. */
static bool set_priority(PyTypeObject *cls)
{
    PyObject *priority = PyLong_FromLong(1000);
    const bool ok =
        priority &&
        PyObject_SetAttrString((PyObject *) cls, "__array_priority__", priority) == 0;
    Py_XDECREF(priority);
    return ok;
}

static bool make_array_base(State *state)
{
    PyMethodDef *methods = state->methods;
    size_t n = 0;
    for (size_t i = 0; i < sizeof(method_tables) / sizeof(*method_tables); i++)
        for (PyMethodDef *m = method_tables[i]; m->ml_name && n + 1 < METHOD_LIMIT; m++)
            methods[n++] = *m;

    PyType_Slot slots[SLOT_LIMIT] = {
        {Py_tp_doc, (void *) DOC_ArrayBase},
        SLOT(Py_tp_new, abstract_new),
        SLOT(Py_tp_dealloc, abstract_dealloc),
        {Py_tp_methods, methods},
        {Py_tp_getset, index_getset},
    };
    size_t count = 5;
    for (size_t i = 0; i < sizeof(slot_tables) / sizeof(*slot_tables); i++)
        for (PyType_Slot *s = slot_tables[i]; s->slot && count + 1 < SLOT_LIMIT; s++)
            slots[count++] = *s;
    PyType_Spec spec = {
        .name = "drjit.ArrayBase",
        /* More than an object has, less than an array: so no class that is not derived
         * from one of ours can be a base beside it, or be exchanged with one through
         * __class__. */
        .basicsize = offsetof(Array, root),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
        .slots = slots,
    };
    state->array_base =
        (PyTypeObject *) PyType_FromModuleAndSpec(state->module, &spec, NULL);
    return state->array_base && set_priority(state->array_base) &&
           PyModule_AddObjectRef(state->module, "ArrayBase",
                                 (PyObject *) state->array_base) == 0;
}

static bool intern_names(State *state)
{
    bool ok = true;
#define NAME(name, text) \
    ok = ok && (state->str_##name = PyUnicode_InternFromString(text));
    STATE_NAMES(NAME)
#undef NAME
    state->call_labels = Py_BuildValue("(ss)", "args", "kwargs");
    return ok && state->call_labels;
}

void state_unref(State *state)
{
    if (--state->references)
        return;
    PyMem_Free(state->promotion);
    PyMem_Free(state->classes);
    PyMem_Free(state->views);
    for (int i = 0; i < TYPE_COUNT; i++)
        PyMem_Free((void *) state->types[i].name);
    PyMem_Free(state);
}

/* Types, deferred callbacks and logs have one interpreter to call. */
static bool refuse_subinterpreter(void)
{
    if (PyInterpreterState_Get() == PyInterpreterState_Main())
        return true;
    PyErr_SetString(PyExc_ImportError, "drjit: found a sub-interpreter, expected the "
                                       "main interpreter");
    return false;
}

/* A free-threaded interpreter has taken its GIL back by now, since we do not declare
 * that we do without (see compat.h), unless the user has forbidden that. */
static bool refuse_without_gil(void)
{
    PyObject *ask = PySys_GetObject("_is_gil_enabled"); /* borrowed; from 3.13 */
    PyObject *enabled = ask ? PyObject_CallNoArgs(ask) : Py_NewRef(Py_True);
    const int ok = enabled ? PyObject_IsTrue(enabled) : -1;
    Py_XDECREF(enabled);
    if (ok == 0)
        PyErr_SetString(PyExc_ImportError,
                        "drjit: the interpreter runs without its global lock, expected "
                        "it to be enabled; start it without PYTHON_GIL=0 and -X gil=0");
    return ok > 0;
}

/* Threads of the program may be compiling when the interpreter ends. */
static bool prepare_exit(void)
{
    static bool done;
    if (!done && Py_AtExit(jit_prepare_exit) != 0) {
        PyErr_SetString(PyExc_ImportError, "drjit: there is no room for a function to "
                                           "be called at the end of the interpreter");
        return false;
    }
    return done = true;
}

#if defined(__clang__)
#define COMPILER "Clang " __clang_version__
#else
#define COMPILER "GNU " __VERSION__
#endif

/* The version, and what drjit.config shows. */
static int add_build(PyObject *module)
{
    PyObject *build =
        Py_BuildValue("{ssss}", "compiler", COMPILER, "python", PY_VERSION);
    int status = build ? PyModule_AddObjectRef(module, "_build", build) : -1;
    if (status == 0)
        status = PyModule_AddStringConstant(module, "_version", DRJIT_VERSION);
    Py_XDECREF(build);
    return status;
}

/* The interpreter's own messages about a function name its module: the one where users
 * find it. */
static bool add_functions(PyObject *module)
{
    PyObject *public = PyUnicode_InternFromString("drjit");
    PyObject *private = PyUnicode_InternFromString("drjit._core");
    bool ok = public && private;
    for (size_t i = 0; i < sizeof(function_tables) / sizeof(*function_tables); i++)
        for (PyMethodDef *f = function_tables[i]; ok && f->ml_name; f++) {
            PyObject *home = f->ml_name[0] == '_' ? private : public;
            PyObject *function = PyCFunction_NewEx(f, module, home);
            ok = function && PyModule_AddObjectRef(module, f->ml_name, function) == 0;
            Py_XDECREF(function);
        }
    Py_XDECREF(public);
    Py_XDECREF(private);
    return ok;
}

static int module_exec(PyObject *module)
{
    if (!refuse_subinterpreter() || !refuse_without_gil())
        return -1;
    State *state = PyMem_Calloc(1, sizeof(State));
    if (!state) {
        PyErr_NoMemory();
        return -1;
    }
    *(State **) PyModule_GetState(module) = state;
    state->references = 1;
    state->module = module;
    state->promotion = PyMem_Calloc(OPERAND_COUNT, sizeof(*state->promotion));
    if (!state->promotion) {
        PyErr_NoMemory();
        return -1;
    }
    log_begin();
    if (!intern_names(state) || !type_init(state) || !make_array_base(state) ||
        !flag_scope_bind(module) || !local_bind(state) || !custom_bind(state) ||
        !size_bind(state) || !snapshot_bind(state) || !frozen_bind(state) ||
        !frozen_function_bind(state) || !listener_bind(module) || !reads_bind(state) ||
        !registry_bind(module) || !operand_bind(state) || !copies_bind(state) ||
        !lazy_function_bind(module) || !prepare_exit() || add_build(module) < 0)
        return -1;
    return add_functions(module) ? 0 : -1;
}

/* In the order in which they are cleared. */
#define OBJECTS(OBJECT)                                                              \
    OBJECT(iterator) OBJECT(local) OBJECT(foreign_operand) OBJECT(operation)         \
    OBJECT(input_spec) OBJECT(snapshot) OBJECT(reads) OBJECT(frozen) OBJECT(entries) \
    OBJECT(size_class) OBJECT(size) OBJECT(array_base)

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    State *state = state_of_module(module);
    if (!state) /* module_exec() failed */
        return 0;
#define VISIT(name) Py_VISIT(state->name);
    OBJECTS(VISIT)
#undef VISIT
    Py_VISIT(state->log_callback);
    int stop = enum_traverse(state, visit, arg);
    return stop ? stop : type_traverse(state, visit, arg);
}

static int module_clear(PyObject *module)
{
    State *state = state_of_module(module);
    if (!state)
        return 0;
#define CLEAR(name) Py_CLEAR(state->name);
#define CLEAR_NAME(name, text) CLEAR(str_##name)
    STATE_NAMES(CLEAR_NAME)
#undef CLEAR_NAME
    Py_CLEAR(state->call_labels);
    plan_clear(state);
    enum_clear(state);
    log_end(state);
    OBJECTS(CLEAR)
#undef CLEAR
    type_clear(state);
    return 0;
}

static void module_free(void *module)
{
    State *state = state_of_module(module);
    module_clear(module);
    if (state)
        state_unref(state);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *) module_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_USED}, /* see compat.h */
#endif
    {0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "drjit._core",
    .m_doc = "The compiled part of drjit.",
    .m_size = sizeof(State *),
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&module_def);
}
