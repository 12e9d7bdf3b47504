/*
 * machine.c -- see machine.h
 */
#include "os/machine.h"

#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

uint32_t machine_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (uint32_t) CPU_COUNT(&set);
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : (uint32_t) count;
}

/* Remember what 'find' finds, or else what is usual. */
static size_t remember(_Atomic size_t *place, size_t (*find)(void), size_t usual)
{
    size_t size = atomic_load_explicit(place, memory_order_relaxed);
    if (!size) {
        size = find();
        if (!size)
            size = usual;
        atomic_store_explicit(place, size, memory_order_relaxed);
    }
    return size;
}

static size_t find_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? (size_t) pages * (size_t) bytes : 0;
}

size_t machine_memory(void)
{
    static _Atomic size_t memory;
    return remember(&memory, find_memory, (size_t) 4 << 30);
}

static size_t find_cache_2(void)
{
    long found = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return found > 0 ? (size_t) found : 0;
}

size_t machine_cache_2(void)
{
    static _Atomic size_t cache;
    return remember(&cache, find_cache_2, (size_t) 1 << 20);
}

/* What the CPU says of its third-level cache. (sysconf() gives the sum over all cores
 * of some CPUs.) Leaf 4 is Intel's, the other one AMD's, in the same form. Asking a
 * virtual machine takes microseconds. */
static size_t find_cache_3(void)
{
#if defined(__x86_64__)
    static const uint32_t leaves[] = { 0x8000001d, 4 };
    enum { MOST_CACHES = 16, TYPE = 31, LEVEL = 7 };
    uint32_t a, b, c, d;
    for (uint32_t leaf = 0; leaf < 2; ++leaf)
        for (uint32_t i = 0; i < MOST_CACHES; ++i) {
            if (!__get_cpuid_count(leaves[leaf], i, &a, &b, &c, &d) || !(a & TYPE))
                break;
            if ((a >> 5 & LEVEL) == 3)
                return ((b >> 22) + (size_t) 1) * ((b >> 12 & 1023) + 1) *
                       ((b & 4095) + 1) * (c + (size_t) 1);
        }
#endif
    return 0;
}

size_t machine_cache_3(void)
{
    static _Atomic size_t cache;
    return remember(&cache, find_cache_3, (size_t) 32 << 20);
}
