/*
 * size.c -- see size.h
 */
#include "python/shape/size.h"

#include "python/base/error.h"
#include "python/base/tables.h"

typedef struct Size {
    PyObject_HEAD
    JitSize handle;
    int64_t value;
    State *state;
    struct Size **place, *next; /* State.sizes: who points to it, who is next */
} Size;

static PyObject *size_index(PyObject *self);

bool size_is(PyObject *object)
{
    const PyNumberMethods *number = Py_TYPE(object)->tp_as_number;
    return number && number->nb_index == size_index;
}

/* 1, 0; -1: it is not a size of what is being recorded now. */
static int test(JitSizeRelation relation, JitSize a, JitSize b)
{
    const int result = a && b ? jit_freeze_size_test(relation, a, b) : -1;
    if (result < 0)
        jit_error_clear();
    return result;
}

/* ---------------------------------------------------------------- handles */

static JitSize without_error(JitSize handle)
{
    if (!handle)
        jit_error_clear();
    return handle;
}

bool size_is_recording(void)
{
    return jit_flag(JitFlagFreezingScope);
}

bool size_is_general(void)
{
    return size_is_recording() && jit_freeze_is_general();
}

bool size_is_known(JitSize handle)
{
    jit_error_clear();
    (void) jit_freeze_size_value(handle);
    const bool known = jit_error() == JIT_OK;
    jit_error_clear();
    return known;
}

JitSize size_of_variable(VarIndex var)
{
    const JitSize handle = size_is_recording() ? jit_freeze_size(var_jit(var)) : 0;
    if (!handle && size_is_recording())
        size_pin_all();
    return without_error(handle);
}

JitSize size_constant(int64_t value)
{
    return without_error(jit_freeze_size_constant(value));
}

JitSize size_number(size_t number)
{
    return number > INT64_MAX ? 0 : size_constant((int64_t) number);
}

VarIndex size_leaf(JitBackend backend, JitSize handle)
{
    return var_of(jit_freeze_size_var(backend, handle));
}

JitSize size_combine(JitSizeOp op, JitSize a, JitSize b)
{
    return a && b ? without_error(jit_freeze_size_op(op, a, b)) : 0;
}

bool size_compare(JitSizeRelation relation, JitSize a, JitSize b)
{
    return test(relation, a, b) >= 0;
}

bool size_stays_many(JitSize handle)
{
    return test(JitSizeNotLess, handle, size_number(2)) > 0;
}

void size_pin(JitSize handle)
{
    if (!handle)
        return;
    const JitSize number = jit_freeze_size_constant(jit_freeze_size_value(handle));
    if (test(JitSizeEqual, handle, number) < 0) /* out of memory, or it is another's */
        size_pin_all();
    jit_error_clear();
}

void size_pin_all(void)
{
    if (!jit_freeze_bind())
        jit_error_clear();
}

void size_next(JitSize handle)
{
    if (handle && !jit_freeze_size_next(handle))
        jit_error_clear();
}

/* ---------------------------------------------------------------- objects */

/* What a thread does with sizes while it records: an int in the dictionary of the
 * thread. */
enum { NONE_MADE, SOME_MADE, NUMBERS };

static long mode_of(const State *state)
{
    PyObject *own = PyThreadState_GetDict(); /* borrowed */
    PyObject *mode = own ? PyDict_GetItemWithError(own, state->str_sizes) : NULL;
    return mode ? PyLong_AsLong(mode) : NONE_MADE;
}

static bool set_mode(const State *state, long mode)
{
    PyObject *own = PyThreadState_GetDict(), *number = PyLong_FromLong(mode);
    const bool ok = own && number && PyDict_SetItem(own, state->str_sizes, number) == 0;
    Py_XDECREF(number);
    if (!ok && !PyErr_Occurred())
        PyErr_NoMemory();
    return ok;
}

bool size_begin(const State *state, bool numbers)
{
    return set_mode(state, numbers ? NUMBERS : NONE_MADE);
}

/* The class, which is written in Python; NULL: exception. */
static PyTypeObject *class_of_sizes(State *state)
{
    if (state->size_class)
        return state->size_class;
    PyObject *module = PyImport_ImportModule("drjit._freeze.size");
    PyObject *cls = module ? PyObject_GetAttrString(module, "Size") : NULL;
    Py_XDECREF(module);
    if (cls)
        Py_XSETREF(state->size_class, (PyTypeObject *) cls);
    return (PyTypeObject *) cls;
}

/* An object with the value of a handle, or the number. NULL: exception. */
static PyObject *make(State *state, JitSize handle)
{
    const long mode = mode_of(state);
    if (mode == NUMBERS) {
        size_pin(handle);
        return PyLong_FromLongLong(jit_freeze_size_value(handle));
    }
    if (PyErr_Occurred() || (mode == NONE_MADE && !set_mode(state, SOME_MADE)))
        return NULL;
    PyTypeObject *cls = class_of_sizes(state);
    Size *size = cls ? (Size *) cls->tp_alloc(cls, 0) : NULL;
    if (!size)
        return NULL;
    size->handle = handle;
    size->value = jit_freeze_size_value(handle);
    size->state = state;
    size->place = &state->sizes;
    size->next = state->sizes;
    if (size->next)
        size->next->place = &size->next;
    state->sizes = size;
    state->references++;
    return (PyObject *) size;
}

static void size_dealloc(PyObject *self)
{
    Size *size = (Size *) self;
    PyTypeObject *cls = Py_TYPE(self);
    State *state = size->state;
    PyObject_GC_UnTrack(self);
    *size->place = size->next;
    if (size->next)
        size->next->place = size->place;
    cls->tp_free(self);
    state_unref(state);
    Py_DECREF(cls);
}

static int size_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

PyObject *size_object(State *state, JitSize handle, size_t number)
{
    return handle ? make(state, handle) : PyLong_FromSize_t(number);
}

PyObject *size_of_leaf(State *state, VarIndex var, size_t lanes)
{
    if (!var || var_peek_size(var) != lanes || !size_is_recording())
        return PyLong_FromSize_t(lanes);
    const JitSize handle = jit_freeze_size(var_jit(var));
    return handle ? make(state, handle) : error_from_core(NULL, NULL, 0);
}

PyObject *size_plain(PyObject *object)
{
    return size_is(object) ? PyLong_FromLongLong(((Size *) object)->value)
                           : Py_NewRef(object);
}

JitSize size_handle(PyObject *object)
{
    const JitSize handle = size_is(object) ? ((Size *) object)->handle : 0;
    return handle && size_is_known(handle) ? handle : 0;
}

/* Handles that another thread than the one that records has asked for their number: the
 * recording is bound to them before it ends. A set, in the module. */
static PyObject *asked_elsewhere(const State *state)
{
    return PyObject_GetAttrString(state->module, "_sizes_elsewhere");
}

static void note_elsewhere(const State *state, JitSize handle)
{
    PyObject *pending = error_fetch(), *set = asked_elsewhere(state);
    PyObject *number = set ? PyLong_FromUnsignedLongLong(handle) : NULL;
    if (!number || PySet_Add(set, number) < 0)
        PyErr_Clear();
    Py_XDECREF(number);
    Py_XDECREF(set);
    error_restore(pending);
}

static bool bind_elsewhere(const State *state)
{
    PyObject *set = asked_elsewhere(state);
    PyObject *list = set ? PySequence_List(set) : NULL;
    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++) {
        PyObject *number = PyList_GET_ITEM(list, i);
        const JitSize handle = PyLong_AsUnsignedLongLong(number);
        if (!size_is_known(handle))
            continue;
        size_pin(handle);
        if (PySet_Discard(set, number) < 0)
            PyErr_Clear();
    }
    Py_XDECREF(list);
    Py_XDECREF(set);
    return list;
}

/* Those of what the thread records that are alive. (They are objects of the collector,
 * which does not follow containers of others: so it finds who has them.) */
static PyObject *sizes_alive(PyObject *module, PyObject *unused)
{
    State *state = state_of_module(module);
    PyObject *list = PyList_New(0);
    (void) unused;
    if (list && !bind_elsewhere(state))
        Py_CLEAR(list);
    if (mode_of(state) != SOME_MADE && list && !PyErr_Occurred()) {
        Py_DECREF(list);
        Py_RETURN_NONE;
    }
    for (Size *size = state->sizes; list && size; size = size->next) {
        if (!size_is_known(size->handle))
            continue;
        if (PyList_Append(list, (PyObject *) size) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* How many references there are to the entries of a list, beside its own. */
static PyObject *references(PyObject *module, PyObject *list)
{
    (void) module;
    if (!PyList_Check(list))
        return error_raise(PyExc_TypeError, "freeze", NULL, 0, "expected a list");
    PyObject *counts = PyList_New(PyList_GET_SIZE(list));
    for (Py_ssize_t i = 0; counts && i < PyList_GET_SIZE(list); i++) {
        PyObject *count = PyLong_FromSsize_t(Py_REFCNT(PyList_GET_ITEM(list, i)) - 1);
        if (count)
            PyList_SET_ITEM(counts, i, count);
        else
            Py_CLEAR(counts);
    }
    return counts;
}

static PyObject *plain_number(PyObject *module, PyObject *object)
{
    (void) module;
    return size_plain(object);
}

/* ---------------------------------------------------------------- the number */

/* It as an int, which the recording depends on from now on. */
static PyObject *bind(PyObject *self)
{
    const Size *size = (const Size *) self;
    if (!size_is_known(size->handle))
        note_elsewhere(size->state, size->handle);
    size_pin(size->handle);
    return PyLong_FromLongLong(size->value);
}

PyObject *size_number_of(PyObject *object)
{
    return size_is(object) ? bind(object) : Py_NewRef(object);
}

static PyObject *size_index(PyObject *self)
{
    return bind(self);
}

/* ---------------------------------------------------------------- operators */

/* The handle of an operand, also of an int; 0: it has none. Other classes that are ints
 * may have operators of their own. */
static JitSize handle_of(PyObject *object)
{
    if (size_is(object))
        return ((const Size *) object)->handle;
    int overflow = 1;
    const bool is_int = PyLong_CheckExact(object) || PyBool_Check(object);
    const long long value =
        is_int ? PyLong_AsLongLongAndOverflow(object, &overflow) : 0;
    return overflow ? 0 : size_constant(value);
}

/* Like jit_freeze_size_op(); None: there is no such size. */
static PyObject *size_operate(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const long op = n == 3 ? PyLong_AsLong(args[0]) : -1;
    if (PyErr_Occurred())
        return NULL;
    const JitSize result =
        op < 0 ? 0
               : size_combine((JitSizeOp) op, handle_of(args[1]), handle_of(args[2]));
    return result ? make(state_of_module(module), result) : Py_NewRef(Py_None);
}

/* Like jit_freeze_size_test(); None: it is not possible. */
static PyObject *size_relate(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    (void) module;
    const long relation = n == 3 ? PyLong_AsLong(args[0]) : -1;
    if (PyErr_Occurred())
        return NULL;
    const int result = relation < 0 ? -1
                                    : test((JitSizeRelation) relation,
                                           handle_of(args[1]), handle_of(args[2]));
    return result < 0 ? Py_NewRef(Py_None) : PyBool_FromLong(result);
}

/* ---------------------------------------------------------------- the class */

bool size_bind(State *state)
{
    PyType_Slot slots[] = {
        SLOT(Py_tp_dealloc, size_dealloc),
        SLOT(Py_tp_traverse, size_traverse),
        SLOT(Py_nb_index, size_index),
        SLOT(Py_nb_int, size_index),
        { 0, NULL },
    };
    state->size = type_add(state->module, "drjit._core._Size", sizeof(Size),
                           Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
                               Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           slots);
    PyObject *set = state->size ? PySet_New(NULL) : NULL;
    const bool ok =
        set && PyModule_AddObjectRef(state->module, "_sizes_elsewhere", set) == 0;
    Py_XDECREF(set);
    return ok;
}

PyMethodDef size_functions[] = {
    { "_sizes_alive", sizes_alive, METH_NOARGS,
      "_sizes_alive()\n\nThose of what the thread records; None: there was none" },
    { "_references", references, METH_O,
      "_references(list)\n\nReferences to its entries, beside its own" },
    { "_size_combine", METHOD(size_operate), METH_FASTCALL,
      "_size_combine(op, a, b)\n\nA size, or None: there is no such" },
    { "_size_relate", METHOD(size_relate), METH_FASTCALL,
      "_size_relate(relation, a, b)\n\nTrue, False, or None: it is not possible" },
    { "_size_plain", plain_number, METH_O,
      "_size_plain(object)\n\nA size as an int, without binding the recording; others "
      "as they are" },
    { NULL, NULL, 0, NULL },
};
