/*
 * device.h -- what a device is
 *
 * A Device has memory and runs Commands. It is one filled-in struct; streams, buffers
 * and everything above see nothing else of it. A command takes this way:
 *
 *     stream_submit()   prepare()   may fail, nothing has happened
 *                       its turn has come:
 *                       run()       small ones, by the thread that submitted them; or
 *                       start()     ... stream_complete()   in the device's own time
 *
 * A device that keeps the order of commands itself ('depth') is given several of a
 * stream ahead of time, and is asked what has ended:
 *
 *                       start() start() start() ... collect()
 *
 * Addresses of a device's memory mean something to the device only, unless
 * 'shares_memory' says that the host may use them.
 *
 * Devices are registered once and never go away. 'backend' and 'number' name one: the
 * number counts the devices of a backend.
 */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/code.h"
#include "device/command.h"
#include "drjit-core/jit.h"

enum { DEVICE_MOST = 8 };

/** A command that has ended. */
typedef struct Ended {
    Command *command;
    CommandResult result;
} Ended;

typedef struct Device Device;
struct Device {
    JitBackend backend;
    uint32_t number;
    const char *name;    /* for logs */
    CodeKind code;       /* which engines make code for it */
    bool shares_memory;  /* the host may read and write its memory by address */
    bool folds;          /* it can reduce what a launch computes */
    size_t job_bytes;    /* memory behind each command, for the device */
    uint64_t most_bytes; /* that commands on their way write, all together, before those
                          * who submit more wait: enough to keep it busy, and no more
                          * than memory can bear */
    uint32_t depth;      /* how many commands of a stream are started ahead, at most; 0:
                          * one, when all that it waits for has ended */
    uint8_t index;       /* among all devices; given by device_register() */

    /* ---- memory; all are required, and called by any thread without locks */

    /** Memory of its own, aligned to 64 bytes; contents are arbitrary, and at least 64
     *  bytes behind them can be read by its kernels. NULL: error recorded. */
    void *(*allocate)(Device *device, size_t bytes);
    /** Give back what allocate() has given. No command uses it. */
    void (*release)(Device *device, void *address, size_t bytes);
    /** Copy between memory of the host and of the device. Nothing that was submitted
     *  uses it at the same time. False: error recorded, the target is undefined. */
    bool (*read)(Device *device, void *dst, const void *address, size_t bytes);
    bool (*write)(Device *device, void *address, const void *src, size_t bytes);
    /** Bytes of memory that there are. */
    size_t (*memory)(Device *device);

    /* ---- commands */

    /** Required. Get ready to run a command: memory, a plan. Sets 'small'. False: error
     *  recorded, nothing is held. May be called with the graph lock held. */
    bool (*prepare)(Device *device, Command *command);
    /** Required. Give back what prepare() took, of a command that has ended or will
     *  never run. */
    void (*discard)(Device *device, Command *command);
    /** Required if commands can be small or there can be no threads. Run a command to
     *  its end in the calling thread. False: it takes long, and others are to help: it
     *  has begun, and start() goes on with it. '*result' (all 0) is to be filled in. */
    bool (*run)(Device *device, Command *command, CommandResult *result);
    /** Required. The command's turn has come. Must not wait, nor call into streams but
     *  for stream_count_ready(). Called with the lock of the streams held.
     *  Without a depth: when the command has ended, stream_complete() has to be called,
     *  by any thread, later. If it has a 'cause', nothing is to be performed before.
     *  Commands behind it that the device performs together with it are 'joined', and
     *  end with it.
     *  With a depth: the command is to be performed when those of its stream that were
     *  started before have been, and all up to its 'points', which were started, too.
     */
    void (*start)(Device *device, Command *command);
    /** Required with a depth, and only then. Which of the commands that were started
     *  have ended since the last call? At most 'most'; those of one stream in their
     *  order. Called by one thread at a time, without locks, while there are any; waits
     *  for the first about a millisecond at most. A command that was performed in vain,
     *  as what it reads is unusable, need not say so. */
    uint32_t (*collect)(Device *device, Ended *ended, uint32_t most);
    /** Optional. Have the calling thread take part in the command of this stream (NULL:
     *  of any) that was started. False, at once, if there is nothing to do. */
    bool (*help)(Device *device, const struct Stream *stream);
    /** Optional (NULL: always some). How many threads of its own run what is started;
     *  if there are none, those who submit and wait do it. */
    uint32_t (*threads)(Device *device);
    /** Optional. End these threads. */
    void (*stop)(Device *device);
    /** Required. Worker numbers in its launches stay below this, which may change. */
    uint32_t (*workers)(Device *device);
    /** Optional. One step of polling by a thread that waits since 'since' (clock_ns());
     *  false: it should go to sleep. */
    bool (*poll)(Device *device, uint64_t since);
};

/** Stop all threads that serve devices; they start again on demand. All streams are
 *  idle. Without locks. */
void device_stop(void);
/** Make the devices of this build known. */
void device_init(void);
/** Make a device known. Once for each; a second time is fine. */
void device_register(Device *device);
/** The device of a backend with this number, NULL if there is none. */
Device *device_find(JitBackend backend, uint32_t number);
/** Device number 'index' of all, NULL behind the last one. */
Device *device_at(uint32_t index);

#endif
