/*
 * shape.h -- lanes and extents of arrays
 */
#ifndef PYTHON_SHAPE_H
#define PYTHON_SHAPE_H

#include "python/shape/extent.h"

/** Lanes of a jit array: the largest size of its leaves (1 for drjit.scalar types that
 *  are not dynamic). False with a RuntimeError of the
 *  operation (see error_raise()) if the leaves' sizes do not fit. */
bool shape_width(Array *a, size_t *width, const char *operation);

/** The same, and a frozen function that is being recorded does not depend on it. */
bool shape_peek(Array *a, size_t *width, const char *operation);

/** A leaf with 'width' entries, 0: there is none. */
VarIndex shape_widest(const Array *a, size_t width);

/** The extents, lanes included. False: RuntimeError if ragged. */
bool shape_get(Array *a, Extents *shape, const char *operation);

/** The shape tuple (new reference); RuntimeError if ragged. */
PyObject *shape_of_array(Array *a, const char *operation);

/** Lanes of an array; of one without lanes, its last extent. False: exception. */
bool shape_lanes(Array *a, size_t *lanes, const char *operation);

#endif
