/*
 * pool.h -- worker threads
 *
 * Workers take blocks of jobs that cpu_job.c offers them. A worker number is a place in
 * one job: the first thread that enters the job has number 0, the next one 1 and so on.
 * A thread leaves a job only when no block is left, so no number is handed out twice,
 * and no more threads enter than pool_worker_bound() said when the job was submitted.
 * This holds no matter who executes (workers, threads that help while they wait) and
 * how the pool's size changes in the meantime.
 */
#ifndef DEVICE_CPU_POOL_H
#define DEVICE_CPU_POOL_H

#include <stdbool.h>
#include <stdint.h>

/** Threads that share a launch, the calling one included (0 and 1: only that one).
 *  Starts as the number of CPUs the process may use. Waits for workers that are too
 *  many to finish the job they are in; other work goes on, and nobody is kept from
 *  submitting. With one thread, all that was queued is done on return. If threads
 *  cannot be created, fewer are used, with a warning. False (JIT_ERROR_STATE) only when
 *  called from inside a job. */
bool pool_set_size(uint32_t count);
uint32_t pool_size(void);
/** max(pool_size(), 1): worker numbers of jobs planned now are below it. Another thread
 *  may call pool_set_size() at any time: where memory was sized by the number, it has
 *  to be that of the job's workers, too. */
uint32_t pool_worker_bound(void);
/** Do all work and stop all threads (shutdown). The pool starts again on demand. */
void pool_stop(void);

/* For cpu_job.c and cpu_device.c: */

/** Start the workers if they do not run; how many there are. Call without locks. */
uint32_t pool_start(void);
/** Number of workers running, without starting any. */
uint32_t pool_workers(void);
/** Something was offered that 'count' threads can work on. */
void pool_notify(uint32_t count);
/** Does polling for a moment before going to sleep pay (a CPU for each thread)? */
bool pool_may_spin(void);
/** One step of polling; false when 'since' (clock_ns() at its start) is too long
 *  ago. */
bool pool_spin(uint64_t since);
/** Around fork(). In the child the threads, which are the parent's, are forgotten. */
void pool_fork_lock(void);
void pool_fork_unlock(void);
void pool_fork_child(void);

#endif
