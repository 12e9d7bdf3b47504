/*
 * machine.h -- what the library knows of the machine it runs on
 *
 * Found out once, at the first question; may be asked by any thread.
 */
#ifndef OS_MACHINE_H
#define OS_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/** CPUs that the process may use, at least 1. */
uint32_t machine_cpus(void);
/** Bytes of memory of the machine. */
size_t machine_memory(void);
/** Bytes of the second-level cache of a core. */
size_t machine_cache_2(void);
/** Bytes of the third-level cache, as far as one core can use it. */
size_t machine_cache_3(void);

#endif
