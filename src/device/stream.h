/*
 * stream.h -- ordered, asynchronous commands
 *
 * A Stream is a queue of commands of one device that run one after the other; commands
 * of different streams run side by side. Each thread has one stream for each device
 * (stream_self); it lives until all its work is done, even if the thread ends earlier.
 *
 *     stream_submit ─► small, stream idle: kept for the thread ─► stream_run()
 *                  └─► queue ─► its turn has come: Device.start() ─► stream_complete()
 *
 * Submitting runs nothing and waits for nothing, so it can be done with any lock held.
 * What was kept for the thread has to be run soon, without locks, since others may wait
 * for it: stream_run().
 *
 * The slots of a command say which buffers it reads and writes. It keeps them alive,
 * and it does not start before commands of other streams that write (or, for its own
 * writes, read) them have ended. A command that fails, or that reads what a failed one
 * was to write, marks the buffers that it was to write as failed. One that was
 * interrupted can be performed later (redo.h).
 *
 * A thread that waits helps with the work, so everything ends even if the device has no
 * threads of its own.
 *
 * fork(): before it, all streams are drained.
 */
#ifndef DEVICE_STREAM_H
#define DEVICE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "device/buffer.h"
#include "device/command.h"

typedef struct Device Device;
typedef struct Stream Stream;

/** The calling thread's stream for a device; created on first use, NULL if out of
 *  memory. */
Stream *stream_self(Device *device);
/** Append a command to the calling thread's own stream, which takes it over. False
 *  (error recorded): out of memory; the command is released and nobody is told. */
bool stream_submit(Stream *stream, Command *command);
/** Have a command's device get ready to run it, which stream_submit() does otherwise.
 *  False (error recorded): out of memory; it can be tried again. */
bool stream_prepare(Command *command);
/** What the calling thread submits from now on is begun when it is let go, or when
 *  somebody waits for it, be it a command: commands that its device can begin together
 *  are there then. It has to be let go soon; the end of the thread does so, too.
 *  'repeated': launches of one kernel follow, the first of 'lanes' lanes; if the device
 *  says that it pays, commands are deferred that the thread would run itself, too. Does
 *  nothing where commands are never begun together. */
void stream_defer(Stream *stream, bool repeated, uint64_t lanes);
void stream_let_go(Stream *stream);
/** Can that be of use for launches on this many lanes, one after the other? */
bool stream_go_together(const Device *device, uint64_t lanes, uint64_t next);
/** Run what was kept for the calling thread (thread_self.kept commands). Without
 *  locks. */
void stream_run(void);

/** Wait for all streams of all threads and devices. */
void stream_sync_all(void);
/** Have all commands of all streams ended? */
bool stream_all_idle(void);
/** Wait until a buffer's last writer has ended, so that it can be read. False: it
 *  failed, and the error is the calling thread's. */
bool stream_sync_buffer(const Buffer *buffer);
/** Wait until the commands that are on their way, those of all streams together, write
 *  so little that 'bytes' more are no burden, or none is left in this stream. */
void stream_relieve(Stream *stream, uint64_t bytes);
/** Would that wait? */
bool stream_is_congested(const Stream *stream, uint64_t bytes);

/** Position in a stream: its number of submitted commands. */
uint64_t stream_position(const Stream *stream);
/** Have all its commands ended? */
bool stream_is_idle(const Stream *stream);
/** Have all commands up to a position ended? */
bool stream_passed(const Stream *stream, uint64_t position);
/** Wait until they have. */
void stream_wait(Stream *stream, uint64_t position);
/** Wait (helping) until all commands submitted so far have ended. */
static inline void stream_sync(Stream *stream)
{
    stream_wait(stream, stream_position(stream));
}
/** Streams are counted: an event holds one while it refers to it. */
void stream_retain(Stream *stream);
void stream_release(Stream *stream);

/** Make this error the calling thread's, whose stream this is. It is not told of it
 *  again: neither by the command that has failed, nor, if it is an interruption, by
 *  others that were interrupted by the same request. */
void stream_tell(Stream *stream, const ErrorRecord *error);
/** Make the first error of a command of this stream that nobody was told of yet the
 *  calling thread's; true if there is none. */
bool stream_check(Stream *stream);
/** Have 'tap' see each command that the calling thread submits to a stream of its own
 *  from now on, before it runs (NULL: no more). */
void stream_set_tap(Stream *stream, void (*tap)(void *payload, const Command *command),
                    void *payload);
bool stream_is_tapped(const Stream *stream);

/** Drain everything and free the streams, with no other call under way. Later calls
 *  start anew; buffers that survive count as unused. */
void stream_shutdown(void);

/* For devices: */

/** Register the handlers of fork(); at a later time than locks inside of those of
 *  streams, before those outside. */
void stream_prepare_fork(void);

/** What a command has written is wrong: its 'done' says so, before others may know that
 *  it has ended. */
void stream_fail(const Command *command, const ErrorRecord *error);
/** How many of the commands behind this one, which is being started, could begin with
 *  it? 'most' at most. With the lock of the streams held. */
uint32_t stream_count_ready(const Command *command, uint32_t most);
/** A command that was started has ended, with those that have joined it: a result for
 *  each. Without locks, by any thread. Not for devices that are asked. */
void stream_complete(Command *command, const CommandResult *results);
/** The calling thread begins or ends to execute commands of this stream (NULL: of
 *  none); what it was inside of before. */
Stream *stream_execute(Stream *stream);
/** Is the calling thread executing a command? */
bool stream_in_command(void);
/** Run what is queued for devices that have no threads any more. */
void stream_run_queued(void);

#endif
