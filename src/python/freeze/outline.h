/*
 * outline.h -- a collection without its variables and objects: what is left of inputs
 * and outputs in a recording
 *
 * Where the tree has
 *
 *     an array           there is an empty one, of the same class and shape
 *     another leaf       its row, or the plain value that it is (rows_of_object())
 *     an object with     its class
 *     fields
 *
 * There are numbers of variables, whose count is 'id_count', but no 'ids'.
 */
#ifndef PYTHON_OUTLINE_H
#define PYTHON_OUTLINE_H

#include "python/freeze/collection.h"

/** The outline of a collection. Free it with collection_free(), after failure too.
 *  False: exception. */
bool outline_make(Collection *outline, const Collection *c);
/** Its nodes only, for a tree that has none. False: exception. */
bool outline_nodes(Tree *tree, const Tree *from);

#endif
