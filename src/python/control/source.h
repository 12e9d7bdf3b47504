/*
 * source.h -- debug mode: which line of Python made a variable
 */
#ifndef PYTHON_SOURCE_H
#define PYTHON_SOURCE_H

#include "python/base/compat.h"

/** Call this after the flags of this thread changed from 'before': where that switched
 *  debug mode on, lines of Python are followed from now on, where off, no longer.
 *  False: exception. */
bool source_follow(uint32_t before);

#endif
