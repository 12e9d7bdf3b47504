/*
 * freezing_file.h -- recorded functions as an authenticated block of bytes
 *
 * A block has any number of recordings, and a note of the caller's. What is repeated
 * runs machine code on addresses that it is told, so nothing in a block is believed
 * before the keyed BLAKE2b over all of it fits; the key is that of the disk cache
 * (kernel/disk_folder.h). docs/dev/freezing.md has the layout.
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

/** A block that was found to be authentic; points into it. */
typedef struct FrozenBlock {
    ByteReader recordings;
    uint32_t count;
    const void *note;
    size_t note_size;
} FrozenBlock;

/** False: error recorded. */
bool freezing_open(const void *data, size_t size, const char *function,
                   FrozenBlock *block);
/** One of its recordings, for a device. NULL: error recorded. */
Frozen *freezing_load(ThreadState *ts, Device *device, const FrozenBlock *block,
                      size_t number, const char *function);

#endif
