/*
 * frozen_export.h -- recordings as C libraries; names are chosen in
 * drjit._freeze.export, by paths
 */
#ifndef PYTHON_FROZEN_EXPORT_H
#define PYTHON_FROZEN_EXPORT_H

#include "python/freeze/frozen.h"

/** The paths of inputs and outputs of the core, and of leaves that the function
 *  changes: ([inputs], [sizes that are inputs], [outputs], [sizes that are outputs],
 *  [changed leaves]). A method of recordings. */
PyObject *frozen_export_paths(PyObject *self, PyObject *unused);

#endif
