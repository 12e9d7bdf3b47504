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
/** The same of a handle, 0: an int. */
PyObject *size_object(State *state, JitSize handle, size_t number);
/** The handle of such an object, 0 if it is none (any more). */
JitSize size_handle(const State *state, PyObject *object);
/** Is it such an object, perhaps one of a recording that has ended? */
bool size_check(const State *state, PyObject *object);
/** Such an object as an int, others as they are; nothing is bound (new reference). */
PyObject *size_plain(const State *state, PyObject *object);

/* ---- handles. 0: there is none, which is not an error of the core afterwards */

/** Does the thread record? Is it a handle of that recording? */
bool size_is_recording(void);
bool size_is_known(JitSize handle);
/** Do kernels read sizes that they compute with? If not, the recording is bound to
 *  these. */
bool size_is_general(void);
JitSize size_of_variable(Leaf leaf);
JitSize size_number(size_t number);
JitSize size_combine(JitSizeOp op, JitSize a, JitSize b);
/** It is assumed that a relation stays as it is. False: that is not possible. */
bool size_compare(JitSizeRelation relation, JitSize a, JitSize b);
/** The same of a size being more than 1. */
bool size_stays_many(JitSize handle);
/** The recording depends on the number; on the sizes of all inputs. */
void size_pin(JitSize handle);
void size_pin_all(void);
/** The next literal, counter or undefined variable has this size, or the next number
 *  that is given to the core is this. */
void size_next(JitSize handle);

#endif
