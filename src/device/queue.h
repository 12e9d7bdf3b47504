/*
 * queue.h -- the queue of a stream: when commands are begun, and how they end
 *
 * A part of stream.c: what stands in a Stream, and the two policies by which a device
 * gets its commands.
 *
 *   ordered by the host      (Device.depth 0) One command of a stream is under way. The
 *                            next one is started when that has ended and all that it
 *                            waits for in other streams, too. The device says so:
 *                            stream_complete().
 *   ordered by the device    Up to 'depth' commands of a stream are under way; the
 *                            device performs them one after the other, each after its
 *                            points. It is asked what has ended (collector.c).
 *
 * With the second policy a command may have been performed although one before it has
 * failed. The host finds that when it ends, since commands end in order: what it was to
 * write is marked then. Host functions, commands that are performed once more or whose
 * 'done' may find that they have written something wrong, and those that will not be
 * performed have the stream to themselves: nothing else of it is under way.
 */
#ifndef DEVICE_QUEUE_H
#define DEVICE_QUEUE_H

#include <pthread.h>

#include "device/stream.h"

struct Stream {
    /* 'submitted' and 'completed' are read by any thread. Completing has release order
     * for the command's results; see the head of stream.c for where sequential
     * consistency is needed. */
    _Atomic uint64_t submitted;
    _Atomic uint64_t completed;
    _Atomic uint64_t bytes;  /* that commands in the queue write */
    _Atomic bool waited;     /* somebody waits for progress; partner of 'completed' */
    _Atomic bool has_error;  /* 'error' is set */
    _Atomic uint32_t refs;
    Device *device;
    bool orphan;             /* its thread has ended; free for a new one when idle */
    bool deferred;           /* see stream_defer() */
    bool due;                /* its head would be under way, but for that */
    _Atomic bool gathers;    /* small ones are deferred, too; asked without the lock */
    uint64_t kept;           /* commands kept by the owning thread, its only reader */
    void (*tap)(void *payload, const Command *command); /* likewise; NULL: none */
    void *tap_payload;
    Command *head, *tail;
    Stream *next;            /* in queues.streams */
    ErrorRecord error;
    uint32_t told;           /* interrupt_requests() when its thread was told of one */

    /* ordered by the device */
    Command *ahead;          /* the first that is not under way, NULL: all are */
    uint32_t begun;          /* how many are under way */
    bool alone;              /* one is, which has the stream to itself */
    bool ending;             /* a thread sees to the end of its head */
};

/* What all streams share. The lock guards the list, all queues and the sharing of
 * buffers. */
typedef struct Queues {
    pthread_mutex_t lock;
    pthread_cond_t progress; /* see queue_tell() */
    Stream *streams;
    uint32_t sleeping;       /* threads in a wait for 'progress' */
} Queues;
extern Queues queues;

/** The lock has to be held for these, unless something else is said. */

/** The command's turn has come: have its device start it, or note what it waits for. */
void queue_start(Command *head);
/** stream_let_go(). */
void queue_let_go(Stream *stream);
/** stream_count_ready(). */
uint32_t queue_count_ready(const Command *head, uint32_t most);
/** Start what can be started of a stream whose device keeps order. */
void queue_run_ahead(Stream *stream);
/** Append a command. */
void queue_append(Stream *stream, Command *command);
/** The queue's first commands, up to 'last', have ended; they write 'bytes'. */
void queue_drop_head(Stream *stream, Command *last, uint64_t bytes);
/** A stream has moved on: those that wait for it go on. */
void queue_tell(Stream *stream);
/** A command has ended: what it was to write is marked if it has failed, those who
 *  asked are told, and its memory is given back. Without the lock. */
void queue_conclude(Command *command, const CommandResult *result, bool interrupted);
/** Has the stream's head ended, as far as its device is concerned, which keeps order,
 *  and has nobody seen to it yet? */
bool queue_may_end_head(Stream *stream);
/** See to it. The lock is released meanwhile. */
void queue_end_head(Stream *stream);
/** Note the first error that the thread of a stream is to be told of. Without the
 *  lock. */
void queue_note_error(const Command *command, const ErrorRecord *error);
/** stream_is_congested(), without the lock. */
bool queue_is_congested(const Stream *stream, uint64_t bytes);
/** After a fork, in the child: only the streams of this thread are left. */
void queue_recount(void);

#endif
