/*
 * broadcast.h -- NumPy's rules for tensors of different shapes
 *
 * Shapes are aligned at the end; an axis of extent 1 is repeated as often as needed.
 */
#ifndef PYTHON_BROADCAST_H
#define PYTHON_BROADCAST_H

#include "python/object/array.h"

typedef struct Extents {
    size_t ndim;
    size_t dims[TENSOR_MAX_DIMS];
} Extents;

/** The shape that 'all' and 'other' broadcast to, in 'all'. False (no exception) if
 *  they do not fit. */
bool broadcast_merge(Extents *all, const Extents *other);

/** Number of entries; false with an exception if it exceeds 64 bits. */
bool broadcast_size(const Extents *shape, size_t *size);

/** A variable of shape 'from' repeated to shape 'to' (a gather, which evaluates it
 *  without the GIL); 0: the core's error is set. */
Leaf broadcast_variable(Leaf index, const Extents *from, const Extents *to);

/** The same with entries in memory. */
void broadcast_entries(size_t entry_size, const void *source, const Extents *from,
                       void *target, const Extents *to);

/** "(2, 3)"; new reference. */
PyObject *broadcast_text(const Extents *shape);

#endif
