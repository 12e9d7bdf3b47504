/*
 * registry.h -- instances of extension modules
 */
#ifndef PYTHON_REGISTRY_H
#define PYTHON_REGISTRY_H

#include "python/base/compat.h"

/** Put into the module what drjit-core/python.h needs. False: exception. */
bool registry_bind(PyObject *module);

#endif
