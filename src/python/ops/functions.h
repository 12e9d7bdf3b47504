/*
 * functions.h -- functions of apply.def that have a file of their own
 */
#ifndef PYTHON_FUNCTIONS_H
#define PYTHON_FUNCTIONS_H

#include "python/base/compat.h"

PyObject *functions_isnan(PyObject *module, PyObject *arg);
PyObject *functions_isinf(PyObject *module, PyObject *arg);
PyObject *functions_isfinite(PyObject *module, PyObject *arg);

#endif
