/*
 * clock.c -- monotonic time from the operating system
 */
#include "os/clock.h"

#include <time.h>

uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

uint32_t clock_seconds(void)
{
    struct timespec now;
    return clock_gettime(CLOCK_MONOTONIC_COARSE, &now) ? 0 : (uint32_t) now.tv_sec + 1;
}
