/*
 * gradient.h -- tracking and gradients of single arrays
 */
#ifndef PYTHON_GRADIENT_H
#define PYTHON_GRADIENT_H

#include "python/array/array.h"

/** Can the leaves of such arrays be tracked? */
static inline bool gradient_is_float(const TypeInfo *info)
{
    return info->diff && type_is_float(info);
}

/** The gradient as an array of the same type and shape, or without derivatives: zeros
 *  where there is none. NULL: exception. */
Array *gradient_get(Array *a, bool preserve_type);

/** Replace the gradient by 'value', which is converted to the array's type first.
 *  Without tracking nothing happens. False: exception. */
bool gradient_set(const char *operation, Array *a, PyObject *value);

#endif
