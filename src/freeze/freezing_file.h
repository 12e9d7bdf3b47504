/*
 * freezing_file.h -- recorded functions as a block of bytes: their portable form
 *
 * A block has any number of recordings, and a note of the caller's. A checksum finds
 * damage; everything else is checked field by field as it is read, Programs by
 * program_verify(). Whether a block comes from somebody who is trusted is the caller's
 * matter. docs/dev/freezing.md has the layout.
 *
 * Requires the graph lock, but for freezing_open(). It is released on the way.
 */
#ifndef FREEZE_FREEZING_FILE_H
#define FREEZE_FREEZING_FILE_H

#include "base/bytes.h"
#include "freeze/freezing.h"

/** Write recordings, and a note. False: error recorded. */
bool freezing_save(ThreadState *ts, Frozen *const *frozen, uint32_t count,
                   const void *note, size_t note_size, const char *function, Text *out);

/** A block whose header and checksum are right; points into it. */
typedef struct FrozenBlock {
    ByteReader recordings;
    uint32_t count;
    const void *note;
    size_t note_size;
} FrozenBlock;

/** The names of as many operations, commands and types (bits 0, 16 and 32) as a file
 *  counts, as a hash; no more than there are. */
uint64_t freezing_fingerprint(uint64_t counts);
/** The checksum that the header of a block should have; 'size' is at least that of a
 *  header. */
uint64_t freezing_checksum(const void *block, size_t size);
/** False: error recorded. */
bool freezing_open(const void *data, size_t size, const char *function,
                   FrozenBlock *block);
/** One of its recordings, for a device. NULL: error recorded. */
Frozen *freezing_load(ThreadState *ts, Device *device, const FrozenBlock *block,
                      size_t number, const char *function);

#endif
