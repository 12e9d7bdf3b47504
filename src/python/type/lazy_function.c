/*
 * lazy_function.c -- see lazy_function.h
 */
#include "python/type/lazy_function.h"
#include "python/type/type.h"

typedef struct LazyFunction {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *names, *module, *name;
    PyObject *function; /* NULL: not imported yet */
} LazyFunction;

static void lazy_dealloc(PyObject *self);

bool lazy_function_check(PyObject *object)
{
    return Py_TYPE(object)->tp_dealloc == lazy_dealloc;
}

/* Users may have put something of their own under the name. */
static bool replace(LazyFunction *f)
{
    PyObject *here = PyDict_GetItemWithError(f->names, f->name);
    if (here == (PyObject *) f)
        return PyDict_SetItem(f->names, f->name, f->function) == 0;
    return !PyErr_Occurred();
}

/* The function itself (borrowed: it stays as long as 'self'), NULL: exception. */
static PyObject *function_of(PyObject *self)
{
    LazyFunction *f = (LazyFunction *) self;
    if (f->function)
        return f->function;
    PyObject *module = PyImport_Import(f->module);
    PyObject *function = module ? PyObject_GetAttr(module, f->name) : NULL;
    Py_XDECREF(module);
    if (!function)
        return NULL;
    Py_XSETREF(f->function, function); /* another thread may have been faster */
    return replace(f) ? f->function : NULL;
}

PyObject *lazy_function_target(PyObject *object)
{
    return lazy_function_check(object) ? function_of(object) : object;
}

static PyObject *lazy_call(PyObject *self, PyObject *const *args, size_t n,
                           PyObject *names)
{
    PyObject *function = function_of(self);
    return function ? PyObject_Vectorcall(function, args, n, names) : NULL;
}

static PyObject *lazy_getattro(PyObject *self, PyObject *name)
{
    if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0)
        return Py_NewRef((PyObject *) &PyFunction_Type);
    if (PyUnicode_CompareWithASCIIString(name, "__reduce_ex__") == 0)
        return PyObject_GenericGetAttr(self, name);
    PyObject *function = function_of(self);
    return function ? PyObject_GetAttr(function, name) : NULL;
}

static int lazy_setattro(PyObject *self, PyObject *name, PyObject *value)
{
    PyObject *function = function_of(self);
    return function ? PyObject_SetAttr(function, name, value) : -1;
}

static PyObject *lazy_richcompare(PyObject *self, PyObject *other, int op)
{
    PyObject *function = function_of(self);
    PyObject *with = function ? lazy_function_target(other) : NULL;
    if (!function || !with)
        return NULL;
    if (op != Py_EQ && op != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong((function == with) == (op == Py_EQ));
}

static Py_hash_t lazy_hash(PyObject *self)
{
    PyObject *function = function_of(self);
    return function ? PyObject_Hash(function) : -1;
}

static PyObject *lazy_repr(PyObject *self)
{
    PyObject *function = function_of(self);
    return function ? PyObject_Repr(function) : NULL;
}

/* As an attribute of a class it is a method. */
static PyObject *lazy_descr_get(PyObject *self, PyObject *instance, PyObject *owner)
{
    (void) owner;
    PyObject *function = function_of(self);
    if (!function)
        return NULL;
    return instance && instance != Py_None ? PyMethod_New(function, instance)
                                           : Py_NewRef(function);
}

/* Pickled and copied by where the function is found. */
static PyObject *lazy_reduce(PyObject *self, PyObject *protocol)
{
    (void) protocol;
    LazyFunction *f = (LazyFunction *) self;
    PyObject *pkgutil = function_of(self) ? PyImport_ImportModule("pkgutil") : NULL;
    PyObject *resolve =
        pkgutil ? PyObject_GetAttrString(pkgutil, "resolve_name") : NULL;
    PyObject *where =
        resolve ? PyUnicode_FromFormat("%U:%U", f->module, f->name) : NULL;
    PyObject *result = where ? Py_BuildValue("O(O)", resolve, where) : NULL;
    Py_XDECREF(where);
    Py_XDECREF(resolve);
    Py_XDECREF(pkgutil);
    return result;
}

/* ---------------------------------------------------------------- the class */

static int lazy_traverse(PyObject *self, visitproc visit, void *arg)
{
    LazyFunction *f = (LazyFunction *) self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(f->function); /* 'names' are those of a module, which stays */
    return 0;
}

static int lazy_clear(PyObject *self)
{
    LazyFunction *f = (LazyFunction *) self;
    Py_CLEAR(f->function); /* the dictionary stays, for code that still calls it */
    return 0;
}

static void lazy_dealloc(PyObject *self)
{
    LazyFunction *f = (LazyFunction *) self;
    PyTypeObject *cls = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(f->function);
    Py_CLEAR(f->names);
    Py_CLEAR(f->module);
    Py_CLEAR(f->name);
    cls->tp_free(self);
    Py_DECREF(cls);
}

static PyObject *lazy_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs)
{
    PyObject *names, *module, *name;
    if (kwargs && PyDict_GET_SIZE(kwargs))
        return PyErr_Format(PyExc_TypeError,
                            "_LazyFunction(): found keywords, expected none");
    if (!PyArg_ParseTuple(args, "O!UU:_LazyFunction", &PyDict_Type, &names, &module,
                          &name))
        return NULL;
    LazyFunction *f = (LazyFunction *) cls->tp_alloc(cls, 0);
    if (!f)
        return NULL;
    f->call = lazy_call;
    f->names = Py_NewRef(names);
    f->module = Py_NewRef(module);
    f->name = Py_NewRef(name);
    return (PyObject *) f;
}

static PyObject *target(PyObject *module, PyObject *object)
{
    (void) module;
    return Py_XNewRef(lazy_function_target(object));
}

PyMethodDef lazy_function_functions[] = {
    { "_lazy_target", target, METH_O,
      "_lazy_target(object)\n\nThe function itself, of a _LazyFunction" },
    { NULL, NULL, 0, NULL },
};

bool lazy_function_bind(PyObject *module)
{
    static PyMethodDef methods[] = {
        { "__reduce_ex__", lazy_reduce, METH_O, "__reduce_ex__(protocol)" },
        { NULL, NULL, 0, NULL },
    };
    static PyMemberDef members[] = {
        { "__vectorcalloffset__", MEMBER_SIZE, offsetof(LazyFunction, call),
          MEMBER_READONLY, NULL },
        { NULL, 0, 0, 0, NULL },
    };
    PyType_Slot slots[] = {
        SLOT(Py_tp_new, lazy_new),
        SLOT(Py_tp_dealloc, lazy_dealloc),
        SLOT(Py_tp_traverse, lazy_traverse),
        SLOT(Py_tp_clear, lazy_clear),
        SLOT(Py_tp_call, PyVectorcall_Call),
        SLOT(Py_tp_getattro, lazy_getattro),
        SLOT(Py_tp_setattro, lazy_setattro),
        SLOT(Py_tp_richcompare, lazy_richcompare),
        SLOT(Py_tp_hash, lazy_hash),
        SLOT(Py_tp_repr, lazy_repr),
        SLOT(Py_tp_descr_get, lazy_descr_get),
        { Py_tp_members, members },
        { Py_tp_methods, methods },
        { 0, NULL },
    };
    PyTypeObject *cls = type_add(
        module, "drjit._core._LazyFunction", sizeof(LazyFunction),
        Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
        slots);
    Py_XDECREF((PyObject *) cls);
    return cls;
}
