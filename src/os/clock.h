/*
 * clock.h -- monotonic time
 */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

#include <stdint.h>

/** Nanoseconds since an arbitrary point. */
uint64_t clock_ns(void);
/** Seconds since an arbitrary point, at least 1: cheaper, and some milliseconds late. 0
 *  if it cannot be found out. */
uint32_t clock_seconds(void);

#endif
