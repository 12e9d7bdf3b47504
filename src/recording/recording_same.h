/*
 * recording_same.h -- do two recordings do the same?
 *
 * They are compared field by field (recording_fields.h), constants and contents by
 * their bytes, and kernels by the Programs that were traced, since a literal may be a
 * parameter in one of two kernels that compute the same. Left out are the numbers that
 * sizes were when the recordings were made.
 */
#ifndef RECORDING_RECORDING_SAME_H
#define RECORDING_RECORDING_SAME_H

#include "recording/recording.h"

typedef enum RecordingSame {
    RECORDING_FAILED = -1, /* out of memory, error recorded */
    RECORDING_DIFFERS,
    RECORDING_SAME,
    RECORDING_APART /* they differ, and may have reason to: see jit_freeze_same() */
} RecordingSame;

/** Compare two recordings for one device, whose constants have been written. */
RecordingSame recording_same(const Recording *a, const Recording *b);

#endif
