/*
 * functions.h -- what files of functions share
 */
#ifndef PYTHON_FUNCTIONS_H
#define PYTHON_FUNCTIONS_H

#include "python/apply.h"

/** A function of one float, of an array or of a Python number, which gives a float. New
 *  reference; NULL: exception. */
PyObject *functions_float(PyObject *module, Apply which, PyObject *arg);

#endif
