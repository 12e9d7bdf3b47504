/*
 * disk_evict.h -- the bound on the size of the disk cache
 */
#ifndef KERNEL_DISK_EVICT_H
#define KERNEL_DISK_EVICT_H

#include <stdbool.h>
#include <stdint.h>

/** Is this the name of an entry: 32 hexadecimal digits, '.', engine, ".bin"? Nothing
 *  else in the directory is ever touched, except temporaries of entries and of the key.
 *  */
bool disk_evict_is_entry(const char *name);
/** Delete the least recently used entries until 'bound' holds, with a reserve of an
 *  eighth, and temporaries that a crash left behind. '*left' is the size of what
 *  remains. False: error recorded, '*left' is what was seen. */
bool disk_evict(const char *dir, uint64_t bound, uint64_t *left);

#endif
