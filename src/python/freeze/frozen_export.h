/*
 * frozen_export.h -- recordings as C libraries; names are chosen in
 * drjit._freeze_export, by paths
 */
#ifndef PYTHON_FROZEN_EXPORT_H
#define PYTHON_FROZEN_EXPORT_H

#include "python/freeze/frozen.h"
#include "python/freeze/snapshot.h"

/** Keep where variables and sizes are: the paths of inputs and outputs of the core, and
 *  of leaves that the function changes. False: exception. */
bool frozen_export_keep(Frozen *f, const Snapshot *s, const Collection *outputs);
/** These: ([inputs], [sizes that are inputs], [outputs], [sizes that are outputs],
 *  [changed leaves]). A method of recordings. */
PyObject *frozen_export_paths(PyObject *self, PyObject *unused);

#endif
