/*
 * cpu_hints.h -- what the sizes of arrays and caches suggest
 */
#ifndef DEVICE_CPU_CPU_HINTS_H
#define DEVICE_CPU_CPU_HINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of the last cache that our threads can expect to have. A virtual machine with
 *  few cores says how large that of the whole processor is, which it shares with
 *  others: a core has rarely more of it than 16 times its second-level cache. */
size_t cpu_hints_cache(void);
/** Are results of this many bytes better written past the caches? Then they would not
 *  be found there by who reads them next, and a line that is written as a whole need
 *  not be read from memory before. */
bool cpu_hints_bypass(uint64_t bytes);

#endif
