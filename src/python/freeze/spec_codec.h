/*
 * spec_codec.h -- an input spec as a list of tuples, which can be shown, and saved
 *
 * One row for each node of the tree, parents first:
 *
 *     ("tuple" | "list" | "dict" | "fields", number of children, class, keys, object)
 *     ("array", numbers of its variables, class, shape of a tensor or None)
 *     ("entries", class, bytes)          an array of drjit.scalar
 *     ("content", class, value)          of a set, or a buffer: exact_content(), or a
                                        frozenset
 *     ("value", object)                  compared by ==, or without weak references
 *     ("object", weak reference)         compared by identity
 *     ("cycle", levels)                  the container this many levels above
 *
 * "fields" are data classes, classes with DRJIT_STRUCT and named tuples; their keys are
 * names. No row refers to a variable.
 */
#ifndef PYTHON_SPEC_CODEC_H
#define PYTHON_SPEC_CODEC_H

#include "python/freeze/flattened_inputs.h"

/** Is it a value of which nothing more has to be known: None, a number, a text? */
bool spec_rows_is_plain(PyObject *object);
/** The row of a leaf that is not an array of the core, or the leaf, if it is plain.
 *  What is compared by identity is not kept alive, if that is possible. 'unordered':
 *  sets are equal in any order. NULL: exception. */
PyObject *spec_rows_of_object(const State *state, PyObject *object, bool unordered);
/** Is such a row that of an object which is compared by identity? */
bool spec_rows_is_reference(PyObject *row);
PyObject *spec_rows_of_cycle(size_t levels);
/** Of a whole spec, or of outputs without their variables: there, containers with
 *  fields go into their rows. NULL: exception. */
PyObject *spec_rows_make(const FlattenedInputs *spec);
/** A list of 'count' unsigned integers of this size (4 or 8). NULL: exception. */
PyObject *spec_rows_numbers(const void *numbers, size_t count, size_t bytes);
/** The first ones of a list or tuple, of which each is at most a bound. False: one is
 *  not, or an exception. */
bool spec_rows_take_numbers(PyObject *list, uint32_t *numbers, size_t count,
                            size_t bound);
/** (rows, [(size, type, literal, padded, bits) of each variable]). NULL: exception. */
PyObject *spec_rows_of_inputs(const FlattenedInputs *spec,
                              const JitFreezeInput *variables);
/** The collection of such rows; arrays are empty, and objects with fields are too, but
 *  for the attributes of those that rows have. Free it with flattened_free(), after
 *  failure too. False: exception. */
bool spec_rows_take(State *state, PyObject *rows, FlattenedInputs *c);

#endif
