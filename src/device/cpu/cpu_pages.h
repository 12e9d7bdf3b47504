/*
 * cpu_pages.h -- the pages behind large arrays of the CPU
 *
 * A page that is touched for the first time costs up to 2 microseconds, whatever its
 * size below 2 MiB, and much less than its share in a huge page. So large arrays stand
 * in huge pages: from 2 MiB on in some of their own, smaller ones side by side in one
 * that they share (a slab). Where the system has no huge pages, all of this is ordinary
 * memory.
 *
 * Threads: any, at any time.
 */
#ifndef DEVICE_CPU_CPU_PAGES_H
#define DEVICE_CPU_CPU_PAGES_H

#include <stddef.h>

#include "base/alloc.h"

/** The least size that is worth it. The address sanitizer sees more of blocks of the C
 *  library. */
enum { CPU_PAGES_LEAST = ALLOC_WATCHED ? 1 << 21 : 1 << 18 };

/** Memory for at least that many bytes, 64 KiB aligned, followed by 64 readable bytes.
 *  NULL: error recorded. */
void *cpu_pages_get(size_t bytes);
/** Give it back, to the system if nothing else is in its pages. */
void cpu_pages_release(void *address, size_t bytes);
/** Touch the huge page that is needed next, if one is in use and none in reserve. For a
 *  thread that has nothing else to do. */
void cpu_pages_prepare(void);

/** Take and give back the lock around fork(). */
void cpu_pages_fork_lock(void);
void cpu_pages_fork_unlock(void);

#endif
