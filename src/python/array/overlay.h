/*
 * overlay.h -- arrays that one thread sees with other leaves, while a scope is open
 *
 *     thread A, in the scope      array ──> leaves of the overlay
 *     all other threads           array ──> its own leaves
 *
 * A function that is differentiated later on reads arrays through its closure and from
 * globals. It has to see them as they were, and with nodes of the derivative's own, and
 * what it writes to them must not stay. So the thread gets other leaves for them, which
 * nobody else notices: the objects are what they are.
 *
 * Shapes of tensors are the object's, for all threads. They are set to those of the
 * source, which has the same shape as a rule, and set back.
 */
#ifndef PYTHON_OVERLAY_H
#define PYTHON_OVERLAY_H

#include "python/array/array.h"

/** Begin a scope in which the calling thread sees each of n arrays with the leaves of
 *  the source beside it, a copy of the same type; parts of one array have parts of one
 *  source. Scopes are nested. False: exception, nothing has changed. */
bool overlay_begin(size_t n, Array *const *arrays, Array *const *sources);
/** End the innermost one: what was written to its arrays is gone. */
void overlay_end(void);

#endif
