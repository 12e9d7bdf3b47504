/*
 * convert.h -- from anything to an array of a given type
 */
#ifndef PYTHON_CONVERT_H
#define PYTHON_CONVERT_H

#include "python/array/array.h"

/** The constructor of an array class: Array3f(1, 2, 3), Float(ndarray),
 *  Matrix2f([..],[..]), TensorXf(data, shape), ... 'names' may be NULL (keyword names,
 *  as vectorcall has them). */
Array *convert_construct(const TypeInfo *info, PyObject *const *args, Py_ssize_t n,
                         PyObject *names);

/** An array of exactly this type (subclasses count) from any object, as the constructor
 *  with one argument would make it; a new reference to 'value' itself if it is one
 *  already. 'operation' is named in errors. */
Array *convert_to(const TypeInfo *info, PyObject *value, const char *operation);

/** Between array types: entry type, family (jit -> scalar evaluates), broadcasting into
 *  deeper shapes, matrix/complex/quaternion embedding. */
Array *convert_array(const TypeInfo *info, Array *from, const char *operation);

/** The array in its own shape with the entry type and family of 'info', or in the type
 *  'info' if no type is that. New reference; to itself if it has them. */
Array *convert_entries(const TypeInfo *info, Array *a, const char *operation);

/** The same array in the family of 'like', if both families have one backend; else the
 *  array itself (new reference). */
Array *convert_family(const TypeInfo *like, Array *a, const char *operation);

/** Is it one number (of Python, NumPy, ...), neither complex nor a sequence? */
bool convert_is_number(PyObject *object);

/** A Python number (bool, int, float; also NumPy scalars through __index__/__float__)
 *  as the bits of an entry, zero-extended. TypeError for another type, OverflowError if
 *  an integer does not fit. */
bool convert_number(VarType type, PyObject *number, uint64_t *bits);

/** An entry in memory as Python bool, int or float. */
PyObject *convert_entry(VarType type, const void *entry);

/** A flat array on the memory of an object, which is written to, and held until nothing
 *  needs it. NULL: exception, as where it has no entries, or others. */
Array *convert_map(const TypeInfo *info, PyObject *object);

/** NumPy arrays, DLPack and buffer exporters (foreign.c): true and *result set if
 *  'object' is one (result NULL: exception). 'share': the result may refer to its
 *  memory. */
bool convert_foreign(const TypeInfo *info, PyObject *object, bool share,
                     Array **result);

/* ---- slots of every array class */

PyObject *convert_tp_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs);
int convert_tp_init(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *convert_vectorcall(PyObject *cls, PyObject *const *args, size_t nargsf,
                             PyObject *names);

#endif
