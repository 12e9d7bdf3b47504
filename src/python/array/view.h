/*
 * view.h -- the views that are alive, so that v.x is v.x
 *
 * A table of the state, by root and place. It has no references: a view keeps its root
 * alive, and leaves the table when it dies; arrays know nothing of their views.
 */
#ifndef PYTHON_VIEW_H
#define PYTHON_VIEW_H

#include "python/array/array.h"

/** The view of 'root' from leaf 'offset' on with that type; borrowed, NULL: none. */
Array *view_find(const Array *root, const TypeInfo *info, size_t offset);

/** Enter a view that is not there. False: exception. */
bool view_add(Array *view);

/** Strike a view out, if it is there. */
void view_remove(const Array *view);

#endif
