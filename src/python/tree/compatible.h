/*
 * compatible.h -- have two PyTrees the same structure, types and sizes?
 */
#ifndef PYTHON_TREE_COMPATIBLE_H
#define PYTHON_TREE_COMPATIBLE_H

#include "python/tree/tree.h"

/** 'int', 'drjit.llvm.Float', 'module.Class': the class of an object in quotes, with
 *  its module unless that is Python's own. A str; NULL: exception. */
PyObject *tree_class_name(PyObject *object);

/** Containers have to be of one class, with equal numbers of entries or equal keys;
 *  arrays of one class, dynamic ones with the same number of components; other leaves
 *  have to be equal. With 'widths', arrays need the same number of lanes, or one of
 *  them 1. False: a RuntimeError, which names the first place that differs: 'name' and
 *  its path. */
bool tree_check_compatible(State *state, const char *operation, const char *name,
                           PyObject *first, PyObject *second, bool widths);

#endif
