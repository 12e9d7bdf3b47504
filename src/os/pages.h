/*
 * pages.h -- memory from the system by the page
 *
 * Unlike a block of the C library, what is released goes back to the system at once,
 * whatever lies beside it. Thread-safe.
 */
#ifndef OS_PAGES_H
#define OS_PAGES_H

#include <stddef.h>

/** Whole pages for 'size' bytes, all 0, at a multiple of 'alignment' (a power of two,
 *  at least 64 KiB). NULL (error recorded) on failure. */
void *pages_get(size_t size, size_t alignment);
/** Release what pages_get() gave for 'size' bytes. */
void pages_release(void *ptr, size_t size);
/** Have the system back these bytes, which begin and end with a page, by large pages.
 *  Advice only: where it is refused, small pages serve. */
void pages_prefer_large(void *ptr, size_t size);
/** All of this block, which may be one of the C library, will be written: have the
 *  system give its pages at once, which takes a third of the time of a fault for each.
 *  Nothing happens to small blocks. */
void pages_touch(void *ptr, size_t size);

#endif
