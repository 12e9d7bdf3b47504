/*
 * reads.h -- what a frozen function reads besides its arguments: names in dictionaries
 * and cells, attributes, entries of containers
 *
 * A row is a place and what stands there: (kind, input, space, key, value).
 *
 *     kind          space                  key            value
 *     ENTRY         a dictionary           its key        what is there
 *     CELL          a cell                 -              what is there
 *     CLASS         a class                a name         what it or a base has
 *     FIELD         an object              a name         in its __dict__
 *     MEMBER        an object              a name         of a descriptor in C: a slot
 *     ITEM          a sequence             an index       what is there
 *     CODE, DEFAULTS, KEYWORDS
 *                   a function             -              its parts
 *     FIELDS        an object              -              the keys of its __dict__
 *     KEYS          a dictionary           -              its keys
 *     LENGTH        a sequence             -              its length
 *     ABSENT        a dictionary, a class  names, a set   its keys: it has no other
 *                                                         one of these
 *     REFERENT      a weak reference       -              what it refers to
 *     STATE         a function             -              what it gives; a pair: of
 *                                                         functools.lru_cache()
 *
 * An input is a PyTree: a recording compares what is there now with what was there, and
 * uses its arrays. Elsewhere the same object has to be there again, or a value of the
 * same type and bits. `...` stands for nothing. Objects that can be referred to weakly
 * are weak references, in 'space' and in 'value'. Those of users are of the very class,
 * these of one that is derived from it (_Weak).
 */
#ifndef PYTHON_READS_H
#define PYTHON_READS_H

#include "python/type/state.h"

/** Make the class and put it into the module. */
bool reads_bind(State *state);
bool reads_check(const State *state, PyObject *object);
/** The inputs as they are now, a new list. NotImplemented: something else stands where
 *  there is no input. NULL: exception. */
PyObject *reads_inputs(PyObject *reads);
/** Inputs may have objects with attributes that are not part of them, and rows about
 *  these. Is this, number 'number' of the objects with fields that a walk through the
 *  inputs meets, the one that they are about? Any is, if there are no such rows. */
bool reads_is_about(const PyObject *reads, Py_ssize_t number, PyObject *object);
/** Put the entries of a list into the places of the inputs, where they are not those of
 *  the list 'before'. False: exception. */
bool reads_store(PyObject *reads, PyObject *list, PyObject *before);

#endif
