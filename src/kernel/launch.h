/*
 * launch.h -- a kernel with its arguments, as a command
 */
#ifndef KERNEL_LAUNCH_H
#define KERNEL_LAUNCH_H

#include "device/device.h"
#include "kernel/cache.h"
#include "kernel/print_log.h"

/** An array that a launch uses. */
typedef struct LaunchArray {
    Buffer *buffer;  /* borrowed */
    uint32_t word;   /* the argument that is its address, SLOT_NO_WORD: none */
    uint32_t access; /* SlotAccess */
} LaunchArray;

/** What became of a launch. */
typedef struct LaunchResult {
    const ErrorRecord *error; /* NULL: it was performed */
    uint64_t ns;  /* as in CommandResult */
    uint64_t end; /* likewise */
    const CheckReport *reports;
    uint32_t report_count;
    const PrintRecords *prints; /* NULL if the Program prints nothing */
    ErrorRecord *wrong;         /* for 'done' to fill in, where what the launch has
                                   written is wrong all the same */
} LaunchResult;

typedef struct LaunchSpec {
    Device *device;
    Kernel *kernel;         /* borrowed */
    const Program *program; /* as traced: its literals fill PARAM_VALUEs */
    uint32_t size;          /* lanes */
    uint32_t workers;       /* worker numbers stay below this; 0: any */
    const uint64_t *args;   /* a word for each parameter of 'program' but the report;
                             * those of arrays and of the print log do not matter */
    const LaunchArray *arrays;
    uint32_t array_count;
    const FusedReduction
        *fused; /* slots are places in 'arrays', words those of 'args' */
    uint32_t fused_count;
    const uint64_t *check_bounds; /* 'program->check_count' of them */
    /** Called once after the run, without locks (or NULL). */
    void (*done)(void *payload, const LaunchResult *result);
    void *payload;
} LaunchSpec;

/** A command that launches a kernel. NULL: out of memory, and 'done' will not be
 *  called. */
Command *launch_create(const LaunchSpec *spec);
/** A command like one that has launched a kernel, for 'size' lanes, with the kernel's
 *  present code. It has slots for arrays as that one had, yet to be set. 'launch' names
 *  the kernel, bounds of its checks and whom to tell; the rest does not matter. NULL:
 *  out of memory, and 'done' will not be called. */
Command *launch_again(const Command *pattern, uint64_t size, const LaunchSpec *launch);
/** Nanoseconds that a launch of the kernel's present code is expected to take in one
 *  thread. */
uint64_t launch_predict(const Kernel *kernel, uint32_t size);

#endif
