/*
 * cache.h -- kernels in memory: find, compile once, bound, generalise
 *
 * The cache maps keys to Kernels. A hit compares the stored Program, so two different
 * programs never share a kernel. While a kernel is being compiled, other threads that
 * need it wait for it. The table is bounded (DRJIT_KERNEL_CACHE_SIZE
 * kernels, default 65536); the least recently used kernels leave first.
 *
 * Near misses: when a Program misses but a kernel with the same skeleton exists, the
 * literals that differ become PARAM_VALUEs of a generalised kernel (literals.c),
 * and the log says which. The next Program of that skeleton that differs in these
 * literals only is a hit.
 *
 * Tiers (tier.c): with DRJIT_CPU_ENGINE unset, a kernel runs on the first engine that
 * compiles in microseconds. Without one it starts in `interp`; when the time spent
 * interpreting it reaches the expected time of compiling it, it is compiled by the
 * thread that wants to launch it.
 *
 * Lock: cache lock, inside the graph lock, outside the runtime's. Engines are never
 * called with it held.
 */
#ifndef KERNEL_CACHE_H
#define KERNEL_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"
#include "engine/engine.h"
#include "engine/target.h"
#include "ir/program_identity.h"

/** The name of a kernel (cache_key). */
typedef struct ProgramKey {
    Hash128 skeleton; /* literal values left out */
    Hash128 full;
    Device *device;       /* that it runs on, */
    const Target *target; /* and what code is to be made for; parts of both */
} ProgramKey;

/** Code of one kernel by one engine. */
typedef struct KernelCode {
    const Engine *engine;
    bool many_lanes; /* made for long launches */
    Code *code;      /* a reference */
} KernelCode;

typedef struct Kernel {
    ProgramKey key;
    Program *program; /* as compiled, literals possibly generalised */

    /* Generalised kernels only, else NULL and 0: one of the Programs it was made from,
     * and for each PARAM_VALUE the position of its literal in that (ascending). */
    Program *traced;
    uint32_t *value_literals;
    uint32_t value_count;
    uint32_t first_value;    /* number of the first PARAM_VALUE */
    Hash128 traced_skeleton; /* skeleton of the traced Programs it serves */

    _Atomic uint32_t refs;   /* the table's one, and one for each launch and finder */
    KernelCode base;         /* made before the kernel is handed out */
    /* The engine is set from the start (NULL: no upgrade), the code is valid once
     * 'upgraded' is set (tier.h). */
    KernelCode better;
    _Atomic bool upgraded;
    _Atomic uint32_t tier;
    _Atomic uint64_t base_ns; /* that launches of 'base' took so far */
    uint64_t estimate_ns;    /* expected compile time of the better engine, 0: none */
    uint64_t build_ns;       /* time it took to make 'base' */
    bool from_disk;
    struct Kernel *newer, *older;    /* order of use, guarded by the cache lock */
} Kernel;

/** A variable's source location, for the log line of a generalisation (see eval). */
typedef const char *(*LiteralOrigin)(void *context, uint32_t literal);

/** Prepare for fork(). To be called before the owner of the graph lock registers its
 *  own pthread_atfork() handlers: these run in the opposite order, and so as locks
 *  nest. */
void cache_init(void);
/** Mixed into all keys: device, choice of engine and target. Cheap, loads no engine.
 *  (Within a process that is all the code depends on. Entries on disk name the engine's
 *  fingerprint instead.) */
uint64_t cache_environment(const Device *device, const Target *target);
/** Name of the kernel that computes a Program on a device with code for this target. */
ProgramKey cache_key(const Program *program, Device *device, const Target *target);
/** Kernel for this Program if it is ready now; retained, NULL on a miss. May be called
 *  with the graph lock held. Generalised kernels count as hits. */
Kernel *cache_find(const Program *program, const ProgramKey *key);
/** Find or make it, for a launch of this many lanes: waits for a running compile,
 *  generalises, reads the disk cache, compiles. Call without locks. 'program' is copied
 *  if kept, or shared (program_share). 'origin' (may be NULL) names literals in the
 *  log. Retained; NULL: error recorded, also in threads that waited for it. */
Kernel *cache_get(const Program *program, const ProgramKey *key, uint32_t lanes,
                  LiteralOrigin origin, void *context);
/** The same with the literals at these positions (ascending) as parameters, and no
 *  others, whatever the cache has: none, as at first, or those of a near miss. The
 *  generalised Program is verified. */
Kernel *cache_get_fixed(const Program *program, const ProgramKey *key,
                        const uint32_t *positions, uint32_t count, uint32_t lanes);
void cache_retain(Kernel *kernel);
void cache_release(Kernel *kernel);
/** Drop all kernels from the table (running ones are freed when they finish); the
 *  number. */
uint32_t cache_flush(void);
uint32_t cache_size(void);
/** Engine by DRJIT_CPU_ENGINE, or NULL for the automatic choice. An unknown or
 *  unavailable name is an error at the first compile. */
const Engine *cache_forced_engine(void);
/** Compile a kernel with the better engine (tier_is_due()). Call without locks. */
void cache_upgrade(Kernel *kernel);
/** No kernel is made from now on, and those under way are done. */
void cache_close(void);
/** Flush, forget everything (shutdown). */
void cache_shutdown(void);

typedef struct CacheStats {
    uint64_t hits, soft_misses, hard_misses;
} CacheStats;
CacheStats cache_stats(void);

#endif
