/*
 * drjit-core/history.h -- what was launched, how long it took, and marks on a timeline
 * (C99, usable from C++)
 *
 * A part of drjit-core/jit.h, which includes it and whose conventions hold here.
 */
#ifndef DRJIT_CORE_HISTORY_H
#define DRJIT_CORE_HISTORY_H

#include <drjit-core/types.h>

/* ---------------------------------------------------------- kernel history */

/** What kind of work a history entry describes. */
#define JIT_KERNEL_TYPE_LIST(X, E)                                            \
    X(E, JIT, 0) X(E, BlockReduce, 1) X(E, BlockPrefixReduce, 2) X(E, Dot, 3) \
    X(E, BatchedGemm, 4) X(E, Compress, 5) X(E, MkPerm, 6) X(E, Memcpy, 7)    \
    X(E, Memset, 8) X(E, Poke, 9) X(E, Aggregate, 10) X(E, HostFunc, 11)
JIT_ENUM(KernelType, JIT_KERNEL_TYPE_LIST)

/** Whether work belongs to a function that is recorded, or repeated (freeze.h). */
#define JIT_KERNEL_RECORDING_MODE_LIST(X, E) \
    X(E, Inactive, 0) X(E, Recorded, 1) X(E, Replayed, 2)
JIT_ENUM(KernelRecordingMode, JIT_KERNEL_RECORDING_MODE_LIST)

typedef struct KernelHistoryEntry {
    JitBackend backend;
    KernelType type;
    uint64_t hash[2];         /**< low and high half of the kernel's key */
    /** Text of the Program, and under JitFlagPrintIR of the engine's own form; NULL for
     *  other work. */
    const char *ir;
    const char *engine;       /**< engine that ran it, NULL for other work */
    size_t size;              /**< entries processed (Memcpy, Poke: bytes) */
    uint32_t input_count, output_count;
    uint32_t operation_count; /**< instructions of the Program */
    bool cache_hit;           /**< the kernel was in memory */
    bool cache_disk;          /**< its machine code came from disk */
    double codegen_time;      /**< schedule, Program and key [ms] */
    double backend_time;      /**< compiling in the engine [ms] */
    double execution_time;    /**< running [ms] */
    double end_time;          /**< when it ended [ms], on the clock CLOCK_MONOTONIC */
    /** Where jit_set_source_location() was when it was enqueued; NULL: nowhere. The
     *  text stays valid. */
    const char *source_file;
    uint32_t source_line;
    /** What has to be moved and computed. Each byte of an array counts once at most as
     *  read, and once as written. Gathers and scatters count the entries of their
     *  lanes, at most the whole array; scatters that reduce, and atomics, read what
     *  they write. Values that are reduced in the kernel that computes them are not
     *  written. */
    uint64_t bytes_read, bytes_written;
    /** Operations on floats: + - * / sqrt rcp min max are one each, fma two, functions
     *  what they consist of without their rare paths. All lanes count as if they took
     *  all branches and callables, and loops once. */
    uint64_t flops;
    bool has_loops;           /**< so the three may be too small */
    KernelRecordingMode recording_mode;
} KernelHistoryEntry;
JIT_C_BEGIN

/** Take the launches recorded under JitFlagKernelHistory (waits for them). Writes an
 *  array to '*entries' to be released with jit_kernel_history_release(); returns its
 *  length. */
JIT_EXPORT size_t jit_kernel_history(KernelHistoryEntry **entries);
JIT_EXPORT void jit_kernel_history_release(KernelHistoryEntry *entries, size_t count);
JIT_EXPORT void jit_kernel_history_clear(void);
/** Kernels launched, found in memory (hits), found on disk (soft misses) and compiled
 *  (hard misses) since start. Pointers may be NULL. */
JIT_EXPORT void jit_launch_stats(size_t *launches, size_t *hits, size_t *soft_misses,
                                 size_t *hard_misses);

/* ---------------------------------------------------------------- profiles */

/** Mark a point, or begin and end a (nested) range, on the calling thread's line of a
 *  profile: a file in the JSON trace event format, if the environment variable
 *  DRJIT_PROFILE names one, and a collector of NVTX, if one is attached; otherwise they
 *  do nothing. Ending a range that was not begun is an error. */
JIT_EXPORT bool jit_profile_mark(const char *message);
JIT_EXPORT bool jit_profile_range_push(const char *message);
JIT_EXPORT bool jit_profile_range_pop(void);

JIT_C_END

#if defined(__cplusplus)
#  include <drjit-core/checked_history.inc>
#endif

#endif /* DRJIT_CORE_HISTORY_H */
