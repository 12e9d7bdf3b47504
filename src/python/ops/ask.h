/*
 * ask.h -- elementwise functions of objects of users' classes
 *
 * A class may say what functions of its objects are, by a method
 *
 *     __drjit_function__(self, name: str, args: tuple) -> object
 *
 * that is called with the name of the function and all of its arguments.
 */
#ifndef PYTHON_ASK_H
#define PYTHON_ASK_H

#include "python/type/state.h"

/** Ask the arguments of the function 'name' in their order, for a result other than
 *  NotImplemented. Arrays, and what is a number, list or tuple of Python itself, are
 *  not asked. False: none has answered. Else 'result' is a new reference, or NULL with
 *  an exception. */
bool ask_arguments(State *state, const char *name, PyObject *const *args, Py_ssize_t n,
                   PyObject **result);

#endif
