/*
 * launch.h -- run a kernel as stream work
 *
 * Splits the lanes into blocks, takes scratch memory, keeps kernel and buffers alive,
 * reports failed checks, printed values and times to whoever asked.
 */
#ifndef KERNEL_LAUNCH_H
#define KERNEL_LAUNCH_H

#include "device/stream.h"
#include "kernel/cache.h"
#include "kernel/print_log.h"

typedef struct LaunchSpec {
    Kernel *kernel;         /* borrowed; the launch takes a reference of its own */
    const Program *program; /* as traced: its literals fill PARAM_VALUE slots */
    uint32_t size;          /* lanes */
    uint32_t workers;       /* worker numbers stay below this; 0: any */
    const uint64_t *args;   /* a word for each slot of 'program', the report excluded;
                             * that of the print log's slot, if any, does not matter */
    Buffer *const *reads, *const *writes;
    uint32_t read_count, write_count;
    const uint64_t *check_bounds; /* 'program->check_count' of them */
    /** Called once after the run, without locks (or NULL): run time, check results,
     *  and what was printed (NULL if the Program prints nothing). */
    void (*done)(void *payload, uint64_t ns, const CheckReport *reports,
                 uint32_t count, const PrintRecords *prints);
    void *payload;
} LaunchSpec;

/** Queue a launch. False: out of memory, nothing was queued and 'done' will not be
 *  called. */
bool launch_submit(Stream *stream, const LaunchSpec *spec);
/** Expected costs of a Program. Bodies of loops count several times, as nobody knows
 *  how often they run, and callables once for each call that can reach them. False:
 *  memory is out. */
bool launch_costs(const Program *program, KernelCosts *out);
/** Lanes of a block at most, rounded up to a multiple of 64
 *  (jit_llvm_set_block_size). */
void launch_set_block_size(uint32_t lanes);
uint32_t launch_block_size(void);

#endif
