/*
 * shortcut.h -- elementwise operations on plain leaves, without ceremony
 */
#ifndef PYTHON_SHORTCUT_H
#define PYTHON_SHORTCUT_H

#include "python/ops/apply.h"

/** The bits of exactly a Python int or float that keeps the entry type of 'info' (of
 *  its reciprocal if 'invert'). False without exception: it does not. */
bool shortcut_number(const TypeInfo *info, PyObject *number, bool invert,
                     uint64_t *bits);
/** A literal for it; 0 without exception: there is none. */
VarIndex shortcut_literal(const TypeInfo *info, PyObject *number);

/** apply() for arrays of exactly one class with plain leaves in a just-in-time family,
 *  none of them empty, single variables with the same entries, and numbers. NULL
 *  without exception: not of that form, or an error that apply() will explain. Not for
 *  selections. */
PyObject *shortcut_apply(Apply which, int arity, PyObject *const *args);

#endif
