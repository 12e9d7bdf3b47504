/*
 * drjit-core/python.h -- what extension modules in C share with the Python package
 *
 * An extension module that traces with jit.h exchanges variables with Python programs
 * through this header, and gives them its own objects as instance arrays: arrays whose
 * entries are such objects, and whose methods call, in each lane, that of its object.
 *
 *     static const JitPython *drjit;
 *
 *     PyMODINIT_FUNC PyInit_shapes(void)
 *     {
 *         if (!(drjit = jit_python_import()))
 *             return NULL;
 *         ...
 *         const JitInstanceClass spec = { "ShapePtr", shape_class, "", "Shape",
 *                                         wrap, unwrap };
 *         PyObject *shape_ptr = drjit->instance_array(&spec);
 *
 * examples/extension/ has a complete one. Everything here has to be called with the GIL
 * held, and not before the module 'drjit' can be imported.
 */
#ifndef DRJIT_CORE_PYTHON_H
#define DRJIT_CORE_PYTHON_H

#include <Python.h>

#include "drjit-core/jit.h"

#if defined(__cplusplus)
extern "C" {
#endif

/** Objects of an extension that can be entries of arrays. They are in the registry
 *  (jit_registry_put()) of a variant and domain. */
typedef struct JitInstanceClass {
    const char *name;    /**< of the type of arrays: "ShapePtr" */
    PyTypeObject *type;  /**< the class of the objects in Python. Its methods become
                              methods of the arrays, called once for each registered
                              object; its attributes and properties ("getters") become
                              gathers from a table if they are numbers, else calls. */
    const char *variant; /**< of the registry */
    const char *domain;
    /** The Python object of a registered one: a new reference, NULL with an exception.
     */
    PyObject *(*wrap)(void *instance);
    /** What is registered of a Python object of class 'type'. NULL with an exception.
     */
    void *(*unwrap)(PyObject *object);
} JitInstanceClass;

/** Functions of the package. */
typedef struct JitPython {
    /** jit_init() of the library that the package uses. */
    bool (*init)(uint32_t backends);
    /** The variable of a one-dimensional traced array: no reference is taken. 0 with a
     *  TypeError for other objects, with a ValueError for an empty array. */
    uint32_t (*index)(PyObject *array);
    /** An array of a one-dimensional traced type with this variable, whose reference is
     *  taken, also on errors. 'index' 0 raises the error of the core function that has
     *  returned it. NULL with an exception. */
    PyObject *(*array)(PyTypeObject *type, uint32_t index);
    /** Make the type of arrays of these objects, a new reference. The strings and
     *  functions have to remain valid. NULL with an exception. */
    PyObject *(*instance_array)(const JitInstanceClass *spec);
} JitPython;

/** Import the package and find its functions. NULL with an exception: an ImportError
 *  if the caller is linked with another copy of the core library than the package. */
static inline const JitPython *jit_python_import(void)
{
    PyObject *package = PyImport_ImportModule("drjit._core");
    if (!package)
        return NULL;
    Py_DECREF(package);
    const JitPython *found =
        (const JitPython *) PyCapsule_Import("drjit._core.c_api", 0);
    bool (*const init)(uint32_t) = JIT_C(jit_init);
    if (found && found->init != init) {
        PyErr_SetString(PyExc_ImportError,
                        "jit_python_import(): this module and the package 'drjit' use "
                        "two copies of the library drjit-core, expected one");
        return NULL;
    }
    return found;
}

#if defined(__cplusplus)
}
#endif

#endif
