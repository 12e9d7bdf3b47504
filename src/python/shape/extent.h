/*
 * extent.h -- extents of tensors, and which sizes they are while a frozen function is
 * being recorded
 *
 *     t.shape = (h, 3)    extents of a tensor that is an input: sizes of the recording
 *     t + u, sum(t, 1)    results have extents that are computed from these
 *
 * An extent is a number, and may be a size (size.h) whose value that number is. Who
 * makes a tensor of it passes the size on. Who uses the number in another way binds the
 * recording to it: extent_number(), extents_bind(). Comparisons become conditions of
 * it. Extents of 0 and 1 decide what broadcasts: they are always numbers, and those
 * that are sizes have to stay larger.
 */
#ifndef PYTHON_EXTENT_H
#define PYTHON_EXTENT_H

#include "python/shape/size.h"

typedef struct Extent {
    size_t n;
    JitSize size; /* 0: just a number */
} Extent;

typedef struct Extents {
    size_t ndim;
    bool sized; /* one of them is a size; otherwise 'sizes' is not filled in */
    size_t dims[TENSOR_MAX_DIMS];
    JitSize sizes[TENSOR_MAX_DIMS];
} Extents;

/* ---- one */

static inline Extent extent_of(size_t n)
{
    return (Extent) { n, 0 };
}

/** An integer of Python as an extent. False: exception of PyNumber_AsSsize_t(), or
 *  '*value' is negative. */
bool extent_read(PyObject *object, Py_ssize_t *value, Extent *extent);
/** An argument that is a number of entries, as arguments_count(). */
bool extent_argument(const char *function, const char *name,
                     PyObject *value, Extent *extent);
/** The size of a variable with n entries, as an extent. */
Extent extent_of_leaf(VarIndex var, size_t n);
/** The integer, or object that is one, of Python (new reference). */
PyObject *extent_object(State *state, Extent extent);

/** a * b, a / b (rounded down), a + b, a - b, which exist as numbers. */
Extent extent_mul(Extent a, Extent b);
Extent extent_div(Extent a, Extent b);
Extent extent_add(Extent a, Extent b);
Extent extent_sub(Extent a, Extent b);
/** Are they equal? From now on it is assumed that this stays so. */
bool extent_equal(Extent a, Extent b);
/** Is one a multiple of the other (not 0)? The same. */
bool extent_divides(Extent block, Extent a);
/** Is it larger than a number? The same. */
bool extent_exceeds(Extent a, size_t n);
/** The number, which the recording depends on from now on. */
size_t extent_number(Extent extent);
/** The next literal, counter or undefined variable has as many entries, or is the
 *  number that is given to the core next. Returns it. */
size_t extent_next(Extent extent);
/** The number times another one (modulo 2^32) as a UInt32 variable for kernels to
 *  compute with: a literal, or one in memory if that is a size and the recording is
 *  general (size_is_general()). 0: the core's error is set. */
VarIndex extent_times(JitBackend backend, Extent extent, size_t factor);

/* ---- all of a tensor, or of a shape */

/** The extents of a tensor. */
void extents_of(const Array *tensor, Extents *out);
/** The extents of a tensor as numbers, which the recording depends on from now on;
 *  valid as long as the tensor has this shape. */
const size_t *extents_bind(const Array *tensor);

static inline Extent extents_get(const Extents *e, size_t axis)
{
    return (Extent) { e->dims[axis], e->sized ? e->sizes[axis] : 0 };
}

void extents_set(Extents *e, size_t axis, Extent extent);
/** At the end: there is room. */
static inline void extents_append(Extents *e, Extent extent)
{
    extents_set(e, e->ndim++, extent);
}

/** Set all extents to plain numbers. */
void extents_set_numbers(Extents *e, size_t ndim, const size_t *dims);
/** Number of entries; false with an exception if it exceeds 64 bits. */
bool extents_total(const Extents *e, Extent *total);
/** Are they all equal? From now on it is assumed that this stays so. */
bool extents_equal(const Extents *a, const Extents *b);

/** A tensor of this shape, as array_new_tensor(). */
Array *extents_new_tensor(const TypeInfo *info, const Extents *e);
/** As a tuple (new reference). */
PyObject *extents_tuple(State *state, const Extents *e);

#endif
