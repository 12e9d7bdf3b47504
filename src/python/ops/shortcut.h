/*
 * shortcut.h -- elementwise operations on plain leaves, without ceremony
 */
#ifndef PYTHON_SHORTCUT_H
#define PYTHON_SHORTCUT_H

#include "python/ops/apply.h"

/** apply() for arrays of exactly one class with plain leaves in a just-in-time family,
 *  none of them empty, single variables with the same entries, and numbers. NULL
 *  without exception: not of that form, or an error that apply() will explain. */
PyObject *shortcut_apply(Apply which, int arity, PyObject *const *args);

/** Two operands. */
typedef VarIndex ShortcutFunction(VarIndex a, VarIndex b);
typedef struct ShortcutPair {
    Apply which;
    ShortcutFunction *function; /* the core's own; NULL: there is none */
    /* Instead of NULL; may be. */
    PyObject *(*rest)(const struct ShortcutPair *pair, PyObject *a, PyObject *b);
} ShortcutPair;
PyObject *shortcut_pair(const ShortcutPair *pair, PyObject *a, PyObject *b);

#endif
