/*
 * size.h -- sizes of arrays while a frozen function is being recorded: numbers that
 * know where they come from (drjit-core/freeze.h)
 *
 * The class of these is written in Python (drjit._freeze.size), on handles and what the
 * core does with them. It does not derive from int, since C code reads its objects
 * without a call. Whatever needs the number (__index__, ...) binds the recording to it.
 */
#ifndef PYTHON_SIZE_H
#define PYTHON_SIZE_H

#include "python/array/array.h"

/** Make the base of the class: a handle. */
bool size_bind(State *state);
/** The size of a variable: one of these while a function is being recorded, else an
 *  int. NULL: exception. */
PyObject *size_of_leaf(State *state, VarIndex var, size_t lanes);
/** The same of a handle, 0: an int. */
PyObject *size_object(State *state, JitSize handle, size_t number);
/** The thread begins to record: 'numbers' says that there are to be ints instead, which
 *  bind the recording. False: exception. */
bool size_begin(const State *state, bool numbers);
/** Is it such an object, perhaps one of a recording that has ended? */
bool size_is(PyObject *object);
/** An int of Python, or such an object. */
static inline bool size_is_int(PyObject *object)
{
    return PyLong_Check(object) || size_is(object);
}
/** The handle of such an object, 0 if it is not one (any more). */
JitSize size_handle(PyObject *object);
/** Such an object as an int, others as they are (new reference): the recording is bound
 *  to it; or is not. */
PyObject *size_number_of(PyObject *object);
PyObject *size_plain(PyObject *object);

/* ---- handles. 0: there is none, which is not an error of the core afterwards */

/** Does the thread record? Is it a handle of that recording? */
bool size_is_recording(void);
bool size_is_known(JitSize handle);
/** Do kernels read sizes that they compute with? If not, the recording is bound to
 *  these. */
bool size_is_general(void);
JitSize size_of_variable(VarIndex var);
JitSize size_number(size_t number);
JitSize size_constant(int64_t value);
/** It as an Int64 in memory. 0: the core's error is set. */
VarIndex size_leaf(JitBackend backend, JitSize handle);
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
