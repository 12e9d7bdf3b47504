/*
 * size.h -- sizes of arrays while a frozen function is being recorded: numbers that
 * know where they come from (drjit-core/freeze.h)
 *
 * Sums, differences, products, quotients and remainders of them are sizes again, and
 * comparisons become conditions of the recording. Whatever else needs the number
 * (__index__, __float__, a hash, ...) binds the recording to it.
 */
#ifndef PYTHON_SIZE_H
#define PYTHON_SIZE_H

#include "python/object/array.h"

/** Make the class. */
bool size_bind(State *state);
/** The size of a variable: one of these while a function is being recorded, else an
 *  int. NULL: exception. */
PyObject *size_of_leaf(State *state, Leaf leaf, size_t lanes);
/** The recording depends on the number. */
void size_pin(JitSize handle);
/** The handle of such an object, 0 if it is none (any more). */
JitSize size_handle(const State *state, PyObject *object);

#endif
