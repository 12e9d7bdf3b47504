/*
 * tier.h -- when a kernel deserves a better engine (ski rental), and the thread that
 * makes it
 */
#ifndef KERNEL_TIER_H
#define KERNEL_TIER_H

#include "kernel/cache.h"

/** Values of Kernel.upgrade_state. */
enum {
    TIER_NONE,   /* not due yet */
    TIER_QUEUED, /* due: waits for the thread, or is being compiled */
    TIER_DONE,
    TIER_FAILED /* not tried again */
};

/** Engine by DRJIT_CPU_ENGINE, '*engine' = NULL for the automatic choice. False: there
 *  is no engine of that name, error recorded. */
bool tier_forced_engine(const Engine **engine);
/** Engine for a Program's first code and the one for its upgrade (NULL: none). False:
 *  no engine can be used, error recorded. The first one is available. */
bool tier_engines(const Program *program, const Engine **base, const Engine **better);
/** Does it cost nothing to speak of to compile a Program once more? */
bool tier_is_instant(const Program *program);
/** The system refuses what this engine needs (the calling thread's error says so): have
 *  others serve from now on, with a warning. False if nothing else can: it was chosen
 *  by DRJIT_CPU_ENGINE, or is the interpreter. */
bool tier_refuse(const Engine *engine);
/** Is it the interpreter, the last one of the list? */
bool tier_is_interpreter(const Engine *engine);
/** Has this engine been loaded by the thread, so that asking for its code on disk is
 *  cheap? */
bool tier_ready(const Engine *better);
/** Account 'ns' of interpretation, or announce a launch predicted to take that long;
 *  starts a background compile when it is due. Never blocks, neither on a compile nor
 *  on a lock. */
void tier_account(Kernel *kernel, uint64_t ns);
/** Is there anything to account for? */
static inline bool tier_wants_account(const Kernel *kernel)
{
    return kernel->estimate_ns &&
           atomic_load_explicit(&kernel->upgrade_state, memory_order_relaxed) ==
               TIER_NONE;
}
/** Code to use for the next block. */
static inline const KernelCode *tier_code(const Kernel *kernel)
{
    return atomic_load_explicit(&kernel->upgraded, memory_order_acquire)
               ? &kernel->better
               : &kernel->base;
}
/** Wait until nothing is queued or being compiled (tests, benchmarks). */
void tier_wait(void);
/** Drop queued compiles, wait for the running one and end the thread. */
void tier_stop(void);
/** Have exit() of the main thread wait for a compile. Called by every thread that uses
 *  the library. */
void tier_guard_exit(void);
/** Another thread is about to load a compiling engine's library, or is done with it:
 *  exit() and fork() wait meanwhile. */
void tier_loading(bool begins);
/** Forget choice and fate of engines, read the environment again (shutdown). */
void tier_reset(void);

/** Take and give back the lock around fork(), called by cache.c only; the thread is
 *  idle in between. In the child there is no thread, and nothing is queued. */
void tier_fork_lock(void);
void tier_fork_unlock(void);
void tier_fork_child(void);

#endif
