/*
 * disk_folder.h -- the folder of the disk cache, and the user's key in it
 *
 * DRJIT_CACHE_DIR, else XDG_CACHE_HOME/drjit, else HOME/.cache/drjit. The first use
 * opens it, making what is missing. It is off (with one log line at Info that says why)
 * when the process is setuid, when no folder can be used safely, when DRJIT_CACHE_DIR
 * is empty, or without libsodium. All functions are thread-safe.
 */
#ifndef KERNEL_DISK_FOLDER_H
#define KERNEL_DISK_FOLDER_H

#include "kernel/seal.h"

/** What an operation works with: a snapshot of the settings. */
typedef struct DiskFolder {
    char *dir; /* owned */
    uint8_t key[SEAL_KEY_SIZE];
    uint64_t bound; /* of the entries, in bytes (DRJIT_CACHE_SIZE, MiB, default 512) */
} DiskFolder;

/** Prepare for fork(). To be called once. */
void disk_folder_prepare_fork(void);
/** Open it if need be. False: it is off, the error says why. Drop it in any case. */
bool disk_folder_take(DiskFolder *folder);
void disk_folder_drop(DiskFolder *folder);
/** See disk_dir(). */
const char *disk_folder_dir(void);
/** Forget folder and key (shutdown). */
void disk_folder_shutdown(void);

#endif
