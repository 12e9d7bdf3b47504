/*
 * broadcast.h -- NumPy's rules for tensors of different shapes
 *
 * Shapes are aligned at the end; an axis of extent 1 is repeated as often as needed.
 */
#ifndef PYTHON_BROADCAST_H
#define PYTHON_BROADCAST_H

#include "python/shape/extent.h"

/** The shape that 'all' and 'other' broadcast to, in 'all'. False (no exception) if
 *  they do not fit. */
bool broadcast_merge(Extents *all, const Extents *other);

/** A variable of shape 'from' repeated to shape 'to' (a gather, which evaluates it
 *  without the GIL); 0: the core's error is set. */
VarIndex broadcast_variable(VarIndex index, const Extents *from, const Extents *to);

/** The same with entries in memory. */
void broadcast_entries(size_t entry_size, const void *source, const Extents *from,
                       void *target, const Extents *to);

/** "(2, 3)"; new reference. */
PyObject *broadcast_text(State *state, const Extents *shape);

#endif
