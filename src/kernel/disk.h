/*
 * disk.h -- the disk cache: authenticated files with the code of one kernel each
 *
 * Directory: DRJIT_CACHE_DIR, else XDG_CACHE_HOME/drjit, else HOME/.cache/drjit. The
 * first look-up or store opens it, making what is missing. It is off (with one log line
 * at Info that says why) when the process is setuid, when no directory can be used
 * safely, when DRJIT_CACHE_DIR is empty, or without libsodium. Format, key and LRU
 * bound: docs/dev/cache-format.md. A damaged, foreign or truncated entry is deleted and
 * counts as absent; it is never used. All functions are thread-safe.
 */
#ifndef KERNEL_DISK_H
#define KERNEL_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/** Prepare for fork(). To be called once, before cache_init(): a fork lets compiles end
 *  first, and these use the disk. */
void disk_prepare_fork(void);
/** Folder of the cache, "" if it is off. Touches no file; whether the folder can be
 *  used shows at the first look-up or store. Valid until disk_shutdown(). */
const char *disk_dir(void);
/** Code stored for (key, engine name, skeleton bytes): 'identity' is the serialised
 *  Program that must match byte for byte. False: absent (no error recorded). '*data' is
 *  the caller's (alloc_free). */
bool disk_load(Hash128 key, const char *engine, const void *identity,
               size_t identity_size, void **data, size_t *size);
/** Store code. Failures are logged (Info, once each kind) and ignored: the cache is an
 *  optimisation. Evicts least recently used entries beyond the bound (DRJIT_CACHE_SIZE,
 *  MiB, default 512). */
void disk_store(Hash128 key, const char *engine, const void *identity,
                size_t identity_size, const void *data, size_t size);
/** Forget directory and key (shutdown). */
void disk_shutdown(void);

#endif
