/*
 * operand.h -- what an operation sees of the objects that it is given
 *
 * Numbers, arrays and sequences of other libraries answer questions with code of their
 * own. An operation that looks at its operands several times (which type do they have
 * in common, what is in them) asks first, once, and works with the answers.
 */
#ifndef PYTHON_OPERAND_H
#define PYTHON_OPERAND_H

#include "python/convert/borrow.h"

/** What stands for an object (new reference):
 *
 *      arrays, Python numbers        themselves
 *      other numbers, and foreign    Python's bool, int or float
 *      arrays without axes
 *      foreign arrays                a ForeignOperand: their memory, opened
 *      sequences                     a list or tuple of such
 *      what is not an operand        itself
 *
 *  NULL: exception. AttributeError says that an object is not an array; every other
 *  exception that looking at it raises is passed on. */
PyObject *operand_of(State *state, PyObject *object);

/** The same for several. False: exception, 'operands' has nothing to release. */
bool operand_open(State *state, PyObject *const *args, Py_ssize_t n,
                  PyObject **operands);
void operand_close(PyObject **operands, Py_ssize_t n);

/** The memory of a ForeignOperand; NULL for other objects. */
Borrowed *operand_memory(PyObject *object);

/** The class of the object, or of the one that a ForeignOperand stands for. */
PyTypeObject *operand_class(PyObject *object);

bool operand_bind(State *state);

#endif
