/*
 * stream.h -- ordered, asynchronous work
 *
 * A Stream is a queue of jobs that run one after the other; jobs of different streams
 * run side by side. A job is a function called for blocks 0 ... blocks-1 by any number
 * of threads at once. Each thread has one stream (stream_self); it lives until all its
 * work is done, even if the thread ends earlier.
 *
 *     stream_submit ──► queue of the stream ──► head job offered to the pool
 *                                              └─► last block done: finish(), next job
 *
 * A job names the buffers it reads and writes. It keeps them alive, and it does not
 * start before jobs of other streams that write (or, for its own writes, read) them
 * have finished. Jobs marked small run in the calling thread at once if nothing is
 * queued before them and no dependency is open. With no workers, everything runs in the
 * calling thread at once.
 *
 * fork(): before it, all streams are drained; the child starts with a fresh pool.
 */
#ifndef DEVICE_STREAM_H
#define DEVICE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "device/buffer.h"

typedef struct Stream Stream;

typedef struct JobSpec {
    /** Called for each block, concurrently, with distinct worker numbers (see pool.h).
     *  It must not wait for streams. What it submits to its own one runs after it.
     *  NULL: nothing. */
    void (*run)(void *payload, uint32_t block, uint32_t worker);
    /** Called once after the last block (or NULL); releases the payload. No lock is
     *  held. It must not call into the stream. */
    void (*finish)(void *payload);
    void *payload;
    uint32_t blocks;    /* 0: only finish() is called, in order */
    uint32_t workers;   /* worker numbers stay below this; 0: pool_worker_bound() */
    bool small;         /* too small to be worth sharing */
    Buffer *const *reads;  /* buffers read, borrowed for the call */
    Buffer *const *writes; /* buffers written (and possibly read) */
    uint32_t read_count, write_count;
} JobSpec;

/** The calling thread's stream; created on first use, NULL if memory is out. */
Stream *stream_self(void);
/** Append a job to the calling thread's own stream. Cannot fail: if memory for the
 *  queue is out, the stream is drained and the job run in the calling thread. */
void stream_submit(Stream *stream, const JobSpec *spec);
/** Wait (helping) until all jobs submitted so far have finished. */
void stream_sync(Stream *stream);
/** Wait for all streams of all threads. */
void stream_sync_all(void);
/** Wait until a buffer's last writer has finished, so that the host may read it. */
void stream_sync_buffer(const Buffer *buffer);
/** Wait until nothing reads or writes a buffer any more, so that the host may write it.
 */
void stream_sync_buffer_write(const Buffer *buffer);

/** Position in a stream: its number of submitted jobs. */
uint64_t stream_position(const Stream *stream);
/** Have all jobs up to a position finished? */
bool stream_passed(const Stream *stream, uint64_t position);
/** Wait until they have. */
void stream_wait(Stream *stream, uint64_t position);
/** Streams are counted: an event holds one while it refers to it. */
void stream_retain(Stream *stream);
void stream_release(Stream *stream);

/** Report an error from inside a job; the next sync of the stream's thread returns it.
 */
void stream_fail(Stream *stream, const ErrorRecord *error);
/** Take the stream's first error, if any, as the calling thread's error; true if there
 *  was none. */
bool stream_check(Stream *stream);

/** Drain everything, stop workers, free idle streams. No other call may run meanwhile.
 *  Later calls start anew; buffers that survive count as unused. */
void stream_shutdown(void);

/* For pool.c: */

/** Execute blocks of one offered job; false if nothing is offered. */
bool stream_work(void);
/** Is the calling thread executing a job? */
bool stream_in_job(void);
/** Execute all that is queued, unless there are workers, who will. */
void stream_run_queued(void);

#endif
