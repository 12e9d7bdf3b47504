/*
 * ptx_usage.c -- see ptx_usage.h
 *
 *     ptxas info    : Function properties for drjit_...
 *         48 bytes stack frame, 16 bytes spill stores, 16 bytes spill loads
 *     ptxas info    : Used 30 registers, used 0 barriers, 400 bytes cmem[0]
 */
#include "engine/ptx/ptx_usage.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* The number that stands before (after, if 'behind') some words; 0. */
static uint32_t number_at(const char *log, const char *words, bool behind)
{
    const char *at = strstr(log, words);
    if (!at)
        return 0;
    if (behind)
        return (uint32_t) strtoul(at + strlen(words), NULL, 10);
    while (at > log && at[-1] >= '0' && at[-1] <= '9')
        --at;
    return (uint32_t) strtoul(at, NULL, 10);
}

bool ptx_usage_read(const char *log, PtxUsage *usage)
{
    usage->registers = number_at(log, "Used ", true);
    usage->stack = number_at(log, " bytes stack frame", false);
    usage->spilled = number_at(log, " bytes spill stores", false);
    return usage->registers != 0;
}

void ptx_usage_log(const PtxUsage *usage, const char *kernel)
{
    log_write(LogLevelInfo,
              "     %s: %u registers, %u bytes of local memory (%u spilled) a thread",
              kernel, usage->registers, usage->stack, usage->spilled);
}
