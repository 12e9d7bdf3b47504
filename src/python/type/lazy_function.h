/*
 * lazy_function.h -- a function written in Python whose module is not imported yet
 *
 * drjit._core._LazyFunction(names, module, name) stands in the dictionary 'names' under
 * 'name' until it is first called or looked at. Then it imports the module, puts the
 * function of that name in its own place, and does with it what was asked. So the
 * dictionary has each name from the start. A __getattr__() of the module would do, too,
 * but with one, Python does not remember where names are, and finds each more slowly.
 *
 * A program that has kept it ('from drjit import sort') may use it as the function: it
 * has its attributes, equals it, and binds to instances as it does. Its
 * __class__ is known without an import. If the module cannot be imported, each use
 * raises that error.
 */
#ifndef PYTHON_LAZY_FUNCTION_H
#define PYTHON_LAZY_FUNCTION_H

#include "python/base/compat.h"

/** Is it one that may still have to be imported? */
bool lazy_function_check(PyObject *object);
/** The function itself, of a lazy one; any other object as it is. Borrowed. NULL: an
 *  exception of the import. */
PyObject *lazy_function_target(PyObject *object);

/** Make the class, and add it to the module. */
bool lazy_function_bind(PyObject *module);

#endif
