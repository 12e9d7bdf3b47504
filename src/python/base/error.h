/*
 * error.h -- exceptions: their text, their cause, and errors of the core
 *
 * Text: "drjit.<operation>(<types of the arguments>): what was found and expected". An
 * exception that is already set becomes the cause of the new one; but errors of memory
 * and recursion and the user's interrupts stay as they are.
 */
#ifndef PYTHON_ERROR_H
#define PYTHON_ERROR_H

#include "python/base/compat.h"

/** Raise 'type' with that text. 'operation' is "add", "gather", "llvm.Float.__init__",
 *  ..., or the method ".item" of the first of 'args'; NULL: the text alone. 'args' (n
 *  of them, may be NULL if n is 0) are named by their types: numbers and None by their
 *  Python type, arrays by "<drjit.llvm.Float>". Returns NULL. */
PyObject *error_raise(PyObject *type, const char *operation, PyObject *const *args,
                      Py_ssize_t n, const char *format, ...);

/** The same with a class of drjit._errors, which is a built-in one and what programs
 *  for the published package catch as well. */
PyObject *error_raise_both(const char *name, const char *operation,
                           PyObject *const *args, Py_ssize_t n, const char *format,
                           ...);

/** Turn the core's last error of this thread into an exception: MemoryError for
 *  JIT_ERROR_MEMORY, else RuntimeError. The one place where that happens. Returns
 *  NULL. */
PyObject *error_from_core(const char *operation, PyObject *const *args, Py_ssize_t n);

#endif
