/*
 * convert_array.h -- what the files of conversion share: filling parts of an array
 *
 * A part is a type of lower rank (row of a matrix, component of a vector, ...) and the
 * number of its first leaf. Targets are new arrays that nobody else has seen.
 */
#ifndef PYTHON_CONVERT_ARRAY_H
#define PYTHON_CONVERT_ARRAY_H

#include "python/array/array.h"

/** A conversion under way: the wanted type, and who asked (NULL: its constructor). */
typedef struct Conversion {
    const TypeInfo *info;
    const char *operation;
    bool share; /* a constructor: the result may refer to memory of others */
} Conversion;

/** Raise, chaining an ordinary exception that is set; errors of memory, recursion and
 *  the user's interrupts pass through. Always false. */
bool convert_array_fail(const Conversion *c, PyObject *type, const char *format, ...);

/** Raise the core's last error. Always false. */
bool convert_array_fail_core(const Conversion *c);
bool convert_array_fail_size(const Conversion *c, size_t expected, size_t got);

/** Fill the part 'to' of 'target' at leaf 'first' from an array of any type. */
bool convert_array_fill(const Conversion *c, Array *target, const TypeInfo *to,
                        size_t first, Array *from);

/** Give the leaves [first, first + count) the value of leaf 'first'. */
bool convert_array_repeat(Array *target, size_t first, size_t count);

/** Set leaves of a new matrix, whose other leaves are empty, to 0. */
bool convert_array_zero(const Conversion *c, Array *target, size_t first, size_t count);

/** One variable with the entries of several after each other. Part i has sizes[i]
 *  entries (a variable of size 1 is repeated). 0: the core's error is set. */
VarIndex convert_array_concat(const TypeInfo *leaf, const VarIndex *parts,
                              const size_t *sizes, size_t n);

/** A tensor of the entries of a plain or special array; with 'flip', its axes in
 *  opposite order. */
Array *convert_array_tensor(const Conversion *c, Array *from, bool flip);

/** The items of an iterable, no text, as a new tuple. NULL: exception. */
PyObject *convert_items(const Conversion *c, PyObject *value);

/** Entries from items that are all numbers. */
bool convert_fill_buffer(const Conversion *c, VarType type, PyObject *const *items,
                         size_t n, char *buffer);

/** convert_foreign() for what is not a list, a tuple or text. */
bool convert_is_foreign(const TypeInfo *info, PyObject *value, bool share,
                        Array **result);

/** A tensor from a number, nested sequences, or a foreign array. */
Array *convert_tensor_value(const Conversion *c, PyObject *value);

/** The constructor of tensors: (array, shape, flip_axes). */
Array *convert_tensor_construct(const Conversion *c, PyObject *const *args,
                                Py_ssize_t n, PyObject *names);

/** A new array for this conversion: dynamic types get 'count' leaves. */
Array *convert_array_start(const Conversion *c, size_t count);

#endif
