/*
 * export_access.h -- how the arrays of a recording are used
 *
 * Sizes are checked where a kernel has an entry for each lane, and where a command uses
 * an array as a whole. Where indices say which entries are used, sizes alone tell
 * nothing: who calls an exported function has to know which arrays these are.
 */
#ifndef EXPORT_EXPORT_ACCESS_H
#define EXPORT_EXPORT_ACCESS_H

#include "recording/recording.h"

/** Bits. */
enum {
    EXPORT_BY_LANE = 1,
    EXPORT_BY_INDEX = 2,
    EXPORT_AS_A_WHOLE = 4
};

/** Fill in zeroed tables: how each array is used, what is used of a copy counting for
 *  the original, too; and by size class, whether the size of an array that is accessed
 *  by index depends on it. False: out of memory. */
bool export_access_find(const Recording *r, uint8_t *arrays, bool *classes);

#endif
