/*
 * cpu_hints.c -- see cpu_hints.h
 */
#include "device/cpu/cpu_hints.h"

#include "device/cpu/pool.h"
#include "os/machine.h"

size_t cpu_hints_cache(void)
{
    enum { SHARE = 16 };
    size_t all = machine_cache_3(), ours = SHARE * machine_cache_2() * pool_size();
    return all < ours ? all : ours;
}

/* Measured on Sapphire Rapids: chains of kernels that read what the one before has
 * written are at a draw where results are twice the second-level cache of each thread,
 * and win a third from four times on. On Zen 4 they lose a third as long as results are
 * a quarter of the third-level one. */
bool cpu_hints_bypass(uint64_t bytes)
{
    enum { TIMES = 3, PARTS = 4 };
    const uint64_t second = TIMES * (uint64_t) machine_cache_2() * pool_size();
    return bytes > second && bytes > cpu_hints_cache() / PARTS;
}
