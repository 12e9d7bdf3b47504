/*
 * exact.h -- when two values of Python are the same to a program
 *
 * `==` is not enough: 1, True and 1.0 are equal, as are 0.0 and -0.0, and sets that are
 * iterated in different orders.
 */
#ifndef PYTHON_EXACT_H
#define PYTHON_EXACT_H

#include "python/base/compat.h"

/** Of two equal values: is the other one an object of a class in Python, or does it
 *  have some? Its attributes may be others, if the class compares a part of them. */
bool exact_stands_in(PyObject *a, PyObject *b);

/** Are two values of the same type and bits, or equal where their class says what that
 *  is; tuples and lists entry by entry? 1, 0, -1: exception. */
int exact_equal(PyObject *a, PyObject *b);
/** Has the class nothing to say about equality, or about hashes? */
bool exact_is_identity(PyObject *object);
/** Is it compared by identity, since it has no hash? Exceptions other than TypeErrors
 *  of its hash stay set. */
bool exact_by_identity(PyObject *object);
/** What a mutable value contains now, as a value with a hash: of sets, in the order of
 *  iteration, and of buffers, with format and shape, or of large ones a digest. NULL:
 *  it is neither, or an exception. */
PyObject *exact_content(PyObject *object);

#endif
