/*
 * tier.h -- which engine a kernel gets, and when it deserves a better one
 */
#ifndef KERNEL_TIER_H
#define KERNEL_TIER_H

#include "kernel/cache.h"

/** Values of Kernel.tier. */
enum {
    TIER_NONE, /* not due yet */
    TIER_BUSY, /* being compiled */
    TIER_DONE,
    TIER_FAILED /* not tried again */
};

/** Engine by DRJIT_CPU_ENGINE, '*engine' = NULL for the automatic choice. False: there
 *  is no engine of that name, error recorded. */
bool tier_forced_engine(const Engine **engine);
/** Engine for a Program's first code, of this kind, and the one for its upgrade (NULL:
 *  none). False: no engine can be used, error recorded. The first one is available. */
bool tier_engines(const Program *program, CodeKind code, const Engine **base,
                  const Engine **better);
/** From this many lanes on, code may take longer to make. */
enum { TIER_MANY_LANES = 1 << 14 };
/** What code for a launch of this many lanes is to be like; not made yet. */
KernelCode tier_plan(const Engine *engine, const Program *program, uint32_t lanes);
/** The system refuses what this engine needs (the calling thread's error says so): have
 *  others serve from now on, with a warning. False if nothing else can: it was chosen
 *  by DRJIT_CPU_ENGINE, is the interpreter, or is the only one for such code. */
bool tier_refuse(const Engine *engine);
/** A new kernel: it may be upgraded to this engine. NULL: it stays with its engine, and
 *  gets code for many lanes at most. */
void tier_begin(Kernel *kernel, const Engine *better);
/** A launch of 'base' code has taken so long. */
static inline void tier_account(Kernel *kernel, uint64_t ns)
{
    atomic_fetch_add_explicit(&kernel->base_ns, ns, memory_order_relaxed);
}
/** Is a kernel to be upgraded some time? Then its launches have to be accounted. */
static inline bool tier_is_open(const Kernel *kernel)
{
    return kernel->estimate_ns &&
           atomic_load_explicit(&kernel->tier, memory_order_relaxed) == TIER_NONE;
}
/** Should it be upgraded before a launch of this many lanes, expected to take this
 *  long? */
static inline bool tier_is_due(const Kernel *kernel, uint32_t lanes,
                               uint64_t expected_ns)
{
    if (!kernel->better.engine ||
        atomic_load_explicit(&kernel->tier, memory_order_relaxed) != TIER_NONE)
        return false;
    if (kernel->better.many_lanes)
        return lanes >= TIER_MANY_LANES;
    return atomic_load_explicit(&kernel->base_ns, memory_order_relaxed) + expected_ns >=
           kernel->estimate_ns;
}
/** Make the better code, in the calling thread, if nobody else is at it. No locks
 *  needed, none may be held; cache_upgrade() is for everybody else. */
void tier_upgrade(Kernel *kernel);
/** Code for the next launch. */
static inline const KernelCode *tier_code(const Kernel *kernel)
{
    return atomic_load_explicit(&kernel->upgraded, memory_order_acquire)
               ? &kernel->better
               : &kernel->base;
}
/** Forget choice and fate of engines, read the environment again (shutdown). */
void tier_reset(void);

/** Take and give back the lock around fork(), called by cache.c only. */
void tier_fork_lock(void);
void tier_fork_unlock(void);

#endif
