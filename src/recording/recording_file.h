/*
 * recording_file.h -- recordings as bytes
 *
 * What a recording consists of is written field by field (recording_fields.h), the
 * contents of constants as they are, and of each kernel the Program: machine code is
 * made from it, or found in the cache, where the recording is read.
 * docs/dev/freezing.md has the layout.
 *
 * What is read may be any bytes. Whether numbers and references exist is checked by the
 * tables, what a repetition relies on beside by recording_check(), and sizes when it is
 * repeated (recording_fill()). What Programs do with indices is not checked: whether
 * the bytes come from a source that is trusted is the caller's matter.
 */
#ifndef RECORDING_RECORDING_FILE_H
#define RECORDING_RECORDING_FILE_H

#include "recording/fields.h"
#include "recording/recording.h"

/** Append a recording, whose constants have been written. False: it cannot be saved,
 *  error recorded. */
bool recording_put(const Recording *r, const char *function, Text *out);
/** Read one into a zeroed Recording for a device; 'counts' has its inputs, and gets
 *  what else there is. Call without locks: kernels are compiled. False: error
 *  recorded; to be freed all the same. */
bool recording_take(Recording *r, Device *device, const char *function, ByteReader *in,
                    FieldCounts *counts);

/** May a recording that was read be repeated, if its sizes turn out right? */
bool recording_check(const Recording *r);

#endif
