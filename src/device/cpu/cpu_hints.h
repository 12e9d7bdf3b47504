/*
 * cpu_hints.h -- what the sizes of arrays and caches suggest
 */
#ifndef DEVICE_CPU_CPU_HINTS_H
#define DEVICE_CPU_CPU_HINTS_H

#include <stdbool.h>
#include <stdint.h>

/** Are results of so many bytes better written past the caches? Then they would not be
 *  found there by who reads them next, and a line that is written as a whole need not
 *  be read from memory before. */
bool cpu_hints_bypass(uint64_t bytes);
/** Is memory of so many bytes mostly not found in a cache, when read here and there? */
bool cpu_hints_far(uint64_t bytes);

#endif
