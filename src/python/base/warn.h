/*
 * warn.h -- warnings to the program
 */
#ifndef PYTHON_WARN_H
#define PYTHON_WARN_H

#include "python/base/compat.h"

/** Issue a RuntimeWarning, "drjit.<operation>(): <text>", at the line of the program
 *  that has called the package: it is shown once for each line, unless a filter of
 *  'warnings' says otherwise. False: an exception is set, which it may have become.
 *  Where a frozen function is called once more for its derivative nothing happens. */
bool warn_user(const char *operation, const char *text);
#endif
