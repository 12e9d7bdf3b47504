/*
 * arguments.h -- positional and keyword arguments of module functions, without tuples
 */
#ifndef PYTHON_ARGUMENTS_H
#define PYTHON_ARGUMENTS_H

#include "python/base/compat.h"

/** What a function takes: its name, and the names of its parameters in order. The first
 *  'required' have no default; the first 'positional_only' cannot be named. */
typedef struct Signature {
    const char *function;
    const char *const *names;
    int count, required, positional_only;
} Signature;

/** A METH_FASTCALL | METH_KEYWORDS function. */
typedef PyObject *KeywordFunction(PyObject *module, PyObject *const *args,
                                  Py_ssize_t nargs, PyObject *names);

/** Sort the arguments of such a function into values[count]
 *  (borrowed; NULL where none was given). False with a TypeError. */
bool arguments_parse(const Signature *signature, PyObject *const *args,
                     Py_ssize_t nargs, PyObject *names, PyObject **values);

/** Raise a TypeError: 'format' says what is wrong with the arguments (their types are
 *  those of args[nargs]), and the signature, as help() has it, ends the message.
 *  Returns false. */
bool arguments_refuse(const char *function, PyObject *const *args, Py_ssize_t nargs,
                      const char *format, ...);

/** A truth value that must be a bool. 'fallback' if value is NULL. */
bool arguments_bool(const char *function, const char *name, PyObject *value,
                    bool fallback, bool *result);

/** A number of entries: an int of at least 0. */
bool arguments_count(const char *function, const char *name, PyObject *value,
                     size_t *result);

/** The extents of a shape, as a tuple of one or more objects (not checked): of one
 *  integer ('one' is set) or of a sequence, such as an array of NumPy. NULL: exception,
 *  a TypeError if it is neither. */
PyObject *arguments_shape(const char *function, PyObject *value, bool *one);

#endif
