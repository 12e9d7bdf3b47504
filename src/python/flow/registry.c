/*
 * registry.c -- instances of extension modules: what drjit-core/python.h gives them
 *
 * To drjit._flow.instances a JitInstanceClass is a domain like those of Python classes:
 * an object with the class, the objects by number, and the number of each.
 */
#include "python/flow/registry.h"

#include "drjit-core/python.h"
#include "python/array/array.h"
#include "python/base/error.h"
#include "python/base/tables.h"

typedef struct Registry {
    PyObject_HEAD
    JitInstanceClass spec; /* a reference to its type */
    uint32_t bound;        /* the largest number that has been in an array */
} Registry;

static void registry_dealloc(PyObject *self)
{
    PyTypeObject *cls = Py_TYPE(self);
    Py_XDECREF(((Registry *) self)->spec.type);
    cls->tp_free(self);
    Py_DECREF(cls);
}

static PyObject *get_cls(PyObject *self, void *unused)
{
    (void) unused;
    return Py_NewRef((PyObject *) ((Registry *) self)->spec.type);
}

/* 0, and the registered objects by number, None where there is none. One after the
 * other: what is made here may have others collected, which are no longer registered
 * then. */
static PyObject *objects(PyObject *self, PyObject *unused)
{
    (void) unused;
    const Registry *registry = (const Registry *) self;
    const JitInstanceClass *spec = &registry->spec;
    const uint32_t now = jit_registry_id_bound(spec->variant, spec->domain);
    const uint32_t bound = now > registry->bound ? now : registry->bound;
    PyObject *result = PyTuple_New(bound);
    for (uint32_t i = 0; result && i < bound; i++) {
        void *instance = jit_registry_ptr(spec->variant, spec->domain, i + 1);
        PyObject *object = instance ? spec->wrap(instance) : Py_NewRef(Py_None);
        if (object)
            PyTuple_SET_ITEM(result, i, object);
        else
            Py_CLEAR(result);
    }
    return result ? Py_BuildValue("iN", 0, result) : NULL;
}

/* The id of an object of the class; 0 if it is not registered. False: exception. */
static bool find_id(const JitInstanceClass *spec, PyObject *object, uint32_t *id)
{
    const void *instance = spec->unwrap(object);
    *id = instance ? jit_registry_id(instance) : 0;
    if (*id && jit_registry_ptr(spec->variant, spec->domain, *id) != instance)
        *id = 0;
    return instance;
}

/* The number of an object; 0 if it has none. */
static PyObject *find(PyObject *self, PyObject *object)
{
    uint32_t id;
    return find_id(&((Registry *) self)->spec, object, &id)
               ? PyLong_FromUnsignedLong(id)
               : NULL;
}

/* The number of an object that becomes an entry of an array. */
static PyObject *number(PyObject *self, PyObject *object)
{
    Registry *registry = (Registry *) self;
    const JitInstanceClass *spec = &registry->spec;
    uint32_t id;
    if (!find_id(spec, object, &id))
        return NULL;
    if (!id)
        return PyErr_Format(PyExc_ValueError,
                            "%s: the object of type %s is not registered as '%s'",
                            spec->name, Py_TYPE(object)->tp_name, spec->domain);
    if (id > registry->bound)
        registry->bound = id;
    return PyLong_FromUnsignedLong(id);
}

static PyMethodDef registry_methods[] = {
    { "objects", objects, METH_NOARGS, NULL },
    { "number", number, METH_O, NULL },
    { "find", find, METH_O, NULL },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef registry_getset[] = {
    { "cls", get_cls, NULL, NULL, NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

/* ---------------------------------------------------------------- functions */

/* An array with one variable, of its own or of another's. NULL: TypeError. */
static const TypeInfo *leaf_type(PyTypeObject *cls)
{
    State *state = type_state(cls);
    const TypeInfo *info = state ? type_of_class(state, cls) : NULL;
    if (info && info->jit && info->kind == KIND_FLAT)
        return info;
    PyErr_Format(PyExc_TypeError,
                 "drjit: found the type %s, expected that of a one-dimensional traced "
                 "array",
                 cls->tp_name);
    return NULL;
}

static uint32_t get_index(PyObject *array)
{
    if (!leaf_type(Py_TYPE(array)))
        return 0;
    const uint32_t index = array_index((Array *) array);
    if (!index)
        PyErr_SetString(PyExc_ValueError,
                        "drjit: the array is empty, expected at least one entry");
    return index;
}

static PyObject *make_array(PyTypeObject *type, uint32_t index)
{
    const TypeInfo *info = index ? leaf_type(type) : NULL;
    if (!index)
        error_from_core(type->tp_name, NULL, 0);
    if (info && (jit_var_type(index) != (VarType) info->entry ||
                 var_backend(var_of(index)) != (JitBackend) info->backend)) {
        PyErr_Format(PyExc_TypeError, "%s: found a variable of %s entries, expected %s",
                     info->name, type_entry_name(jit_var_type(index)),
                     type_entry_name((VarType) info->entry));
        info = NULL;
    }
    if (info)
        return (PyObject *) array_new_leaf(info, var_of(index));
    jit_var_dec_ref(index);
    return NULL;
}

static PyObject *instance_array(const JitInstanceClass *spec)
{
    PyObject *core = PyImport_ImportModule("drjit._core");
    PyObject *cls = core ? PyObject_GetAttrString(core, "_Registry") : NULL;
    PyObject *python = cls ? PyImport_ImportModule("drjit._flow.instances") : NULL;
    Registry *domain = NULL;
    if (python)
        domain = (Registry *) ((PyTypeObject *) cls)->tp_alloc((PyTypeObject *) cls, 0);
    PyObject *result = NULL;
    if (domain) {
        domain->spec = *spec;
        Py_INCREF(spec->type);
        result = PyObject_CallMethod(python, "make_array_type", "sOO", spec->name,
                                     spec->type, domain);
    }
    Py_XDECREF(domain);
    Py_XDECREF(python);
    Py_XDECREF(cls);
    Py_XDECREF(core);
    return result;
}

bool registry_bind(PyObject *module)
{
    static const JitPython functions = { .init = jit_init,
                                         .index = get_index,
                                         .array = make_array,
                                         .instance_array = instance_array };
    PyType_Slot slots[] = {
        { Py_tp_doc, (void *) "Instances of an extension module: see "
                              "drjit._flow.instances." },
        SLOT(Py_tp_dealloc, registry_dealloc),
        { Py_tp_methods, registry_methods },
        { Py_tp_getset, registry_getset },
        { 0, NULL },
    };
    PyTypeObject *cls = type_add(module, "drjit._core._Registry", sizeof(Registry),
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION, slots);
    PyObject *capsule =
        PyCapsule_New((void *) &functions, "drjit._core.c_api", NULL);
    const bool ok =
        cls && capsule && PyModule_AddObjectRef(module, "c_api", capsule) == 0;
    Py_XDECREF((PyObject *) cls);
    Py_XDECREF(capsule);
    return ok;
}
