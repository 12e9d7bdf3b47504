/*
 * compat.h -- Python.h, and the differences between its versions (3.10 to 3.14)
 *
 * Every file includes this instead of Python.h. Free-threaded builds: the extension
 * does not declare Py_MOD_GIL_NOT_USED, on purpose (arrays are changed in place,
 * without locks of their own), so such an interpreter takes the GIL again when it
 * imports us; where the user has forbidden that, the import fails (module.c).
 */
#ifndef PYTHON_COMPAT_H
#define PYTHON_COMPAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if PY_VERSION_HEX < 0x030A0000
#  error "drjit needs Python 3.10 or newer"
#endif

/* For tables of members: an object, of which there has to be one; a size. */
#if PY_VERSION_HEX >= 0x030C0000
#  define MEMBER_OBJECT Py_T_OBJECT_EX
#  define MEMBER_SIZE Py_T_PYSSIZET
#  define MEMBER_READONLY Py_READONLY
#else
#  include <structmember.h>
#  define MEMBER_OBJECT T_OBJECT_EX
#  define MEMBER_SIZE T_PYSSIZET
#  define MEMBER_READONLY READONLY
#endif

/* For the tables of slots, which hold functions as 'void *'. */
#define SLOT(id, function) {id, (void *) (uintptr_t) (function)}

/* For tables of methods whose function takes more than two arguments. */
#define METHOD(function) ((PyCFunction) (void (*)(void)) (function))

/** Is the only argument of a function one that its caller has made for it? Not all such
 *  are known, and some others are taken for one: those of which a tuple of arguments
 *  has the only reference. */
static inline bool argument_is_temporary(PyObject *argument)
{
#if PY_VERSION_HEX >= 0x030E0000
    return PyUnstable_Object_IsUniqueReferencedTemporary(argument);
#else
    return Py_REFCNT(argument) == 1;
#endif
}

/** The attributes of a class itself (new reference), NULL: it has none. */
static inline PyObject *class_dictionary(PyTypeObject *cls)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyType_GetDict(cls);
#else
    return Py_XNewRef(cls->tp_dict);
#endif
}

/** What a class or one of its bases has under this name (borrowed), NULL: nothing. Asks
 *  no metaclass and no descriptor, makes no exception. */
static inline PyObject *class_attribute(PyTypeObject *cls, PyObject *name)
{
    for (Py_ssize_t i = 0; cls->tp_mro && i < PyTuple_GET_SIZE(cls->tp_mro); i++) {
        PyTypeObject *base = (PyTypeObject *) PyTuple_GET_ITEM(cls->tp_mro, i);
        PyObject *dictionary = class_dictionary(base);
        PyObject *found =
            dictionary ? PyDict_GetItemWithError(dictionary, name) : NULL;
        Py_XDECREF(dictionary);
        if (found)
            return found;
    }
    return NULL;
}

static inline bool class_defines(PyTypeObject *cls, PyObject *name)
{
    return class_attribute(cls, name);
}

/** Is this the object that the weak reference refers to? */
static inline bool weakref_is(PyObject *reference, PyObject *object)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *target = NULL;
    if (PyWeakref_GetRef(reference, &target) < 0)
        PyErr_Clear(); /* not a weak reference, which cannot be */
    Py_XDECREF(target);
    return target == object;
#else
    return PyWeakref_GET_OBJECT(reference) == object;
#endif
}

/** The object that a weak reference refers to (new reference), NULL: it is gone. */
static inline PyObject *weakref_get(PyObject *reference)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *target = NULL;
    if (PyWeakref_GetRef(reference, &target) < 0)
        PyErr_Clear(); /* not a weak reference, which cannot be */
    return target;
#else
    PyObject *target = PyWeakref_GET_OBJECT(reference);
    return target == Py_None ? NULL : Py_NewRef(target);
#endif
}

/** The exception being handled, taken out of the thread state (new reference, may be
 *  NULL); error_restore() puts it back. One object in all versions. */
static inline PyObject *error_fetch(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (!type)
        return NULL;
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback) {
        PyException_SetTraceback(value, traceback);
        Py_DECREF(traceback);
    }
    Py_DECREF(type);
    return value;
#endif
}

static inline void error_restore(PyObject *exception)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(exception);
#else
    if (exception) {
        PyObject *type = Py_NewRef((PyObject *) Py_TYPE(exception));
        PyErr_Restore(type, exception, PyException_GetTraceback(exception));
    }
#endif
}

/** Append an object, which is consumed. False: exception, also for NULL, which is
 *  one. */
static inline bool list_add(PyObject *list, PyObject *item)
{
    const bool ok = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return ok;
}

#endif
