/*
 * cpu_batch.h -- launches of one kernel on different arrays, as one job
 *
 *     one by one       A A A A | B B | C C C      the threads meet three times
 *     a batch          A A A A B B C C C          once
 *
 * An optimiser's step is one kernel for many parameters of any sizes. The blocks of all
 * these launches are those of one job, which is offered once; and since it is known
 * then how much they move together, what exceeds the caches is written past them
 * (cpu_launch.h), which no launch could know by itself.
 */
#ifndef DEVICE_CPU_LAUNCH_CPU_BATCH_H
#define DEVICE_CPU_LAUNCH_CPU_BATCH_H

#include "device/cpu/cpu_job.h"

enum { CPU_BATCH = 1024 /* launches behind the first, at most */ };

/** Is a launch of this many lanes worth sharing, if others of its kernel follow? */
bool cpu_batch_pays(uint64_t lanes);
/** A command's turn has come. Of the 'ready' commands that could begin with it, have
 *  its job run those that are launches of its kernel and have nothing to do with
 *  each other: Command.joined. False: there are none, or there is no memory. With the
 *  lock of the streams held. */
bool cpu_batch_begin(CpuJob *job, uint32_t ready);

#endif
