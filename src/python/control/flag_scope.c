/*
 * flag_scope.c -- setting flags for a while: what scoped_set_flag does
 *
 * The class in Python adds what makes a decorator of a context manager.
 */
#include "python/control/flag_scope.h"

#include "drjit-core/jit.h"
#include "python/base/error.h"
#include "python/control/source.h"
#include "python/type/type.h"

static const char name[] = "scoped_set_flag";

typedef struct FlagScope {
    PyObject_HEAD
    uint32_t flags;
    bool value;
    /* What these flags were before each of the blocks that are open. */
    uint32_t *saved;
    size_t depth, capacity;
} FlagScope;

static int scope_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "flag", "value", NULL };
    FlagScope *s = (FlagScope *) self;
    PyObject *flag = NULL, *value = Py_True;
    if (!kwargs && PyTuple_GET_SIZE(args) == 1) {
        flag = PyTuple_GET_ITEM(args, 0);
    } else if (!kwargs && PyTuple_GET_SIZE(args) == 2) {
        flag = PyTuple_GET_ITEM(args, 0);
        value = PyTuple_GET_ITEM(args, 1);
    } else if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:drjit.scoped_set_flag",
                                            keywords, &flag, &value)) {
        return -1;
    }
    if (!PyLong_Check(flag) || PyBool_Check(flag)) {
        error_raise(PyExc_TypeError, name, &flag, 1, "expected a JitFlag");
        return -1;
    }
    if (!PyBool_Check(value)) {
        error_raise(PyExc_TypeError, name, &value, 1, "expected a bool as the value");
        return -1;
    }
    int overflow;
    long long bits = PyLong_AsLongLongAndOverflow(flag, &overflow);
    if (overflow || bits <= 0 || bits >= FLAG_LIMIT) {
        error_raise(PyExc_ValueError, name, NULL, 0,
                    "'flag' is %R, expected a JitFlag",
                    flag);
        return -1;
    }
    s->flags = (uint32_t) bits;
    s->value = value == Py_True;
    return 0;
}

static PyObject *enter(PyObject *self, PyObject *unused)
{
    (void) unused;
    FlagScope *s = (FlagScope *) self;
    if (s->depth == s->capacity) {
        size_t capacity = 2 * s->capacity + 1;
        uint32_t *saved = PyMem_Realloc(s->saved, capacity * sizeof(*saved));
        if (!saved)
            return PyErr_NoMemory();
        s->saved = saved;
        s->capacity = capacity;
    }
    uint32_t before = jit_flags();
    s->saved[s->depth++] = before & s->flags;
    jit_set_flags(s->value ? before | s->flags : before & ~s->flags);
    if (!source_follow(before)) {
        jit_set_flags((jit_flags() & ~s->flags) | s->saved[--s->depth]);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *leave(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void) args;
    (void) n;
    FlagScope *s = (FlagScope *) self;
    if (s->depth == 0)
        return error_raise(PyExc_RuntimeError, name, NULL, 0,
                           "left without having been entered");
    const uint32_t before = jit_flags();
    jit_set_flags((before & ~s->flags) | s->saved[--s->depth]);
    if (!source_follow(before))
        return NULL;
    Py_RETURN_NONE;
}

static void scope_dealloc(PyObject *self)
{
    PyTypeObject *cls = Py_TYPE(self);
    PyMem_Free(((FlagScope *) self)->saved);
    cls->tp_free(self);
    Py_DECREF(cls);
}

static PyMethodDef scope_methods[] = {
    { "__enter__", enter, METH_NOARGS, NULL },
    { "__exit__", METHOD(leave), METH_FASTCALL, NULL },
    { NULL, NULL, 0, NULL },
};

bool flag_scope_bind(PyObject *module)
{
    PyType_Slot slots[] = {
        SLOT(Py_tp_init, scope_init),
        SLOT(Py_tp_dealloc, scope_dealloc),
        { Py_tp_methods, scope_methods },
        { Py_tp_doc, (void *) "_FlagScope(flag, value=True)\n--\n\n" },
        { 0, NULL },
    };
    PyTypeObject *cls = type_add(module, "drjit._core._FlagScope", sizeof(FlagScope),
                                 Py_TPFLAGS_BASETYPE, slots);
    Py_XDECREF((PyObject *) cls);
    return cls;
}
