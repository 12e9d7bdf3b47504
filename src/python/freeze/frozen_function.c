/*
 * frozen_function.c -- see frozen_function.h
 */
#include "python/freeze/frozen_function.h"

#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/freeze/frozen_match.h"

/* Members are set by the class in Python. */
typedef struct FrozenFunctionBase {
    PyObject_HEAD
    State *state;
    PyObject *enabled;    /* anything that is true or false */
    PyObject *function;
    PyObject *state_fn;   /* called with the same arguments; None */
    PyObject *recordings; /* a dictionary of lists, by key */
    PyObject *domains;    /* of instances that recordings depend on: a dictionary */
    PyObject *recent;     /* a list of recordings that fitted, the latest first */
    PyObject *tracks;     /* True: results have to do with derivatives */
} FrozenFunctionBase;

/* ---------------------------------------------------------------- recordings */

/* Add the recordings of a list which may fit. */
static bool add_known(const FrozenFunctionBase *c, PyObject *list, uint64_t quick,
                      bool direct, PyObject *found)
{
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(list); i++) {
        PyObject *frozen = PyList_GET_ITEM(list, i);
        const Frozen *f = (const Frozen *) frozen;
        if (Py_TYPE(frozen) == c->state->frozen && f->inputs &&
            (!f->inputs->quick || f->inputs->quick == quick) &&
            (!direct || (f->direct && PySequence_Contains(c->recent, frozen) == 0)))
            ok = PyList_Append(found, frozen) == 0;
    }
    return ok;
}

/* A list of the recordings that may fit, by input_spec_quick(). 'direct': only those
 * whose results may be handed out, and that were not tried as the latest ones. NULL:
 * exception. */
static PyObject *find_known(const FrozenFunctionBase *c, uint64_t quick, bool direct)
{
    PyObject *found = PyList_New(0), *list;
    Py_ssize_t position = 0;
    while (found && PyDict_Next(c->recordings, &position, NULL, &list))
        if (PyList_CheckExact(list) && !add_known(c, list, quick, direct, found))
            Py_CLEAR(found);
    return found;
}

/* (inputs, are sets equal in any order?): (result, recording); a Snapshot if no
 * recording fits. */
static PyObject *caller_find(PyObject *self, PyObject *args)
{
    FrozenFunctionBase *c = (FrozenFunctionBase *) self;
    PyObject *inputs;
    int unordered;
    if (!PyArg_ParseTuple(args, "O!p:_find", &PyTuple_Type, &inputs, &unordered))
        return NULL;
    if (!c->recordings || !PyDict_Check(c->recordings))
        return error_raise(PyExc_TypeError, "freeze", NULL, 0,
                           "expected a dictionary of recordings");
    Snapshot *s = snapshot_take(c->state, inputs, unordered);
    /* Where derivatives are, and gradients, is part of longer ones. */
    if (!s || (s->inputs.tracked && s->inputs.tree.nodes[0].count == 4))
        return (PyObject *) s;
    PyObject *known = find_known(c, s->spec->quick, false);
    PyObject *result = known ? Py_NewRef(Py_NotImplemented) : NULL;
    for (Py_ssize_t i = 0; result == Py_NotImplemented && i < PyList_GET_SIZE(known);
         i++) {
        PyObject *frozen = PyList_GET_ITEM(known, i);
        Py_SETREF(result, frozen_match_inputs((const Frozen *) frozen, inputs));
        if (result && result != Py_NotImplemented)
            Py_SETREF(result, PyTuple_Pack(2, result, frozen));
    }
    Py_XDECREF(known);
    if (result == Py_NotImplemented)
        Py_SETREF(result, Py_NewRef((PyObject *) s));
    Py_DECREF(s);
    return result;
}

/* The result by one of those that fitted lately. NotImplemented: none fits. */
static PyObject *repeat_recent(const FrozenFunctionBase *c, PyObject *const *parts)
{
    PyObject *result = Py_NewRef(Py_NotImplemented);
    PyObject *recent = c->recent && PyList_CheckExact(c->recent) ? Py_NewRef(c->recent)
                                                                 : NULL;
    for (Py_ssize_t i = 0;
         recent && result == Py_NotImplemented && i < PyList_GET_SIZE(recent); i++) {
        PyObject *frozen = Py_NewRef(PyList_GET_ITEM(recent, i));
        if (Py_TYPE(frozen) == c->state->frozen) {
            ((Frozen *) frozen)->direct = true;
            Py_SETREF(result, frozen_match_parts((const Frozen *) frozen, parts));
        }
        if (i && result && result != Py_NotImplemented &&
            (PyList_Insert(recent, 0, frozen) < 0 ||
             PySequence_DelItem(recent, i + 1) < 0))
            PyErr_Clear(); /* the order is of no consequence */
        Py_DECREF(frozen);
    }
    Py_XDECREF(recent);
    return result;
}

/* The same by another one that has fitted before, which is one of the latest then. */
static PyObject *repeat_known(FrozenFunctionBase *c, PyObject *const *parts)
{
    const bool any = c->tracks == Py_False && c->recent &&
                     PyList_CheckExact(c->recent) && c->recordings &&
                     PyDict_Check(c->recordings);
    if (!any)
        return Py_NewRef(Py_NotImplemented);
    const uint64_t quick = input_spec_quick(c->state, parts[0], parts[1], parts[2]);
    PyObject *known = find_known(c, quick, true);
    PyObject *result = known ? Py_NewRef(Py_NotImplemented) : NULL;
    for (Py_ssize_t i = 0; result == Py_NotImplemented && i < PyList_GET_SIZE(known);
         i++) {
        PyObject *frozen = PyList_GET_ITEM(known, i);
        Py_SETREF(result, frozen_match_parts((const Frozen *) frozen, parts));
        if (!result || result == Py_NotImplemented)
            continue;
        PyObject *done = PyObject_CallMethod((PyObject *) c, "_remember", "O", frozen);
        if (!done)
            Py_CLEAR(result);
        Py_XDECREF(done);
    }
    Py_XDECREF(known);
    return result;
}

/* ---------------------------------------------------------------- calls */

/* No: it is switched off, another frozen function records, or a loop does. */
static bool is_possible(void)
{
    const uint32_t flags = jit_flags();
    return (flags & JitFlagKernelFreezing) &&
           !(flags & (JitFlagFreezingScope | JitFlagSymbolicScope));
}

static bool check_domains(FrozenFunctionBase *c)
{
    if (!c->domains || !PyDict_Check(c->domains) || !PyDict_GET_SIZE(c->domains))
        return true;
    PyObject *done = PyObject_CallMethod((PyObject *) c, "_check_domains", NULL);
    Py_XDECREF(done);
    return done;
}

/* 'parts': arguments, keyword arguments, and the state. */
static PyObject *call_parts(FrozenFunctionBase *c, PyObject *const *parts)
{
    PyObject *result = repeat_recent(c, parts);
    if (result == Py_NotImplemented)
        Py_SETREF(result, repeat_known(c, parts));
    if (result != Py_NotImplemented)
        return result;
    Py_DECREF(result);
    return PyObject_CallMethod((PyObject *) c, "_call", "OOO", parts[0], parts[1],
                               parts[2]);
}

static PyObject *frozen_function_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    FrozenFunctionBase *c = (FrozenFunctionBase *) self;
    if (!c->enabled || !c->function || !c->state_fn)
        return error_raise(PyExc_TypeError, "freeze", NULL, 0,
                           "__init__() was not called");
    const int enabled = is_possible() ? PyObject_IsTrue(c->enabled) : 0;
    if (enabled <= 0)
        return enabled ? NULL : PyObject_Call(c->function, args, kwargs);
    if (!check_domains(c))
        return NULL;
    PyObject *parts[] = { args, kwargs ? Py_NewRef(kwargs) : PyDict_New(), NULL };
    if (parts[1])
        parts[2] = c->state_fn == Py_None ? Py_NewRef(Py_None)
                                          : PyObject_Call(c->state_fn, args, kwargs);
    PyObject *result = parts[2] ? call_parts(c, parts) : NULL;
    Py_XDECREF(parts[1]);
    Py_XDECREF(parts[2]);
    return result;
}

/* ---------------------------------------------------------------- the class */

#define FIELD(name, member) \
    { "_" name, MEMBER_OBJECT, offsetof(FrozenFunctionBase, member), 0, NULL }

static PyMemberDef members[] = {
    { "enabled", MEMBER_OBJECT, offsetof(FrozenFunctionBase, enabled), 0, NULL },
    FIELD("function", function),     FIELD("state_fn", state_fn),
    FIELD("recordings", recordings), FIELD("domains", domains),
    FIELD("recent", recent),         FIELD("tracks", tracks),
    { NULL, 0, 0, 0, NULL },
};

static PyObject **member_of(PyObject *self, const PyMemberDef *member)
{
    return (PyObject **) (void *) ((char *) self + member->offset);
}

static int caller_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    for (const PyMemberDef *m = members; m->name; m++)
        Py_VISIT(*member_of(self, m));
    return 0;
}

static int caller_clear(PyObject *self)
{
    for (const PyMemberDef *m = members; m->name; m++)
        Py_CLEAR(*member_of(self, m));
    return 0;
}

static void caller_dealloc(PyObject *self)
{
    State *state = ((FrozenFunctionBase *) self)->state;
    PyTypeObject *cls = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    caller_clear(self);
    cls->tp_free(self);
    if (state)
        state_unref(state);
    Py_DECREF(cls);
}

/* The module of the class itself, where 'cls' is derived from it. */
static State *state_of_class(PyTypeObject *cls)
{
    while (cls && cls->tp_dealloc != caller_dealloc)
        cls = cls->tp_base;
    PyObject *module = cls ? PyType_GetModule(cls) : NULL;
    return module ? state_of_module(module) : NULL;
}

static PyObject *caller_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs)
{
    (void) args;
    (void) kwargs;
    State *state = state_of_class(cls);
    FrozenFunctionBase *c = state ? (FrozenFunctionBase *) cls->tp_alloc(cls, 0) : NULL;
    if (!c)
        return NULL;
    c->state = state;
    state->references++;
    return (PyObject *) c;
}

bool frozen_function_bind(State *state)
{
    static PyMethodDef methods[] = {
        { "_find", caller_find, METH_VARARGS,
          "_find(inputs, unordered)\n\n"
          "(result, recording); a snapshot if no recording fits" },
        { NULL, NULL, 0, NULL },
    };
    PyType_Slot slots[] = {
        SLOT(Py_tp_new, caller_new),
        SLOT(Py_tp_dealloc, caller_dealloc),
        SLOT(Py_tp_traverse, caller_traverse),
        SLOT(Py_tp_clear, caller_clear),
        SLOT(Py_tp_call, frozen_function_call),
        { Py_tp_members, members },
        { Py_tp_methods, methods },
        { 0, NULL },
    };
    PyTypeObject *cls = type_add(state->module, "drjit._core._FrozenFunctionBase",
                                 sizeof(FrozenFunctionBase),
                                 Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots);
    Py_XDECREF((PyObject *) cls);
    return cls;
}
