/*
 * dot.h -- inner products and norms
 *
 * Functions of the module, for the table in functions.c.
 */
#ifndef PYTHON_DOT_H
#define PYTHON_DOT_H

#include "python/compat.h"

PyObject *dot_dot(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *dot_abs_dot(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *dot_squared_norm(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *dot_norm(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
