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

#endif
