/*
 * recording_walk.h -- the commands of a recording, done again one after the other
 *
 * Arrays that commands make are taken before the first command that uses them and given
 * up after the last one, so that as much memory is in use as there was at most when it
 * was recorded. In between the host reads what it has read then: numbers that are
 * sizes, contents that have to be the same, whether a loop goes on.
 *
 * Repetitions walk this way (freeze/freezing_replay.c), and exported functions
 * (export/runtime/exported.c), of which this is a part.
 */
#ifndef RECORDING_RECORDING_WALK_H
#define RECORDING_RECORDING_WALK_H

#include "device/stream.h"
#include "recording/recording.h"

/** REFUSED: the recording does not fit; FAILED: error recorded. */
typedef enum Replay { REPLAY_FAILED, REPLAY_REFUSED, REPLAY_DONE } Replay;

/** What is up to those who walk. 'who' is theirs. */
typedef struct WalkCalls {
    /** Memory for arrays that commands make, BUFFER_BATCH of them at most: a reference
     *  for each, or none. False: error recorded. */
    bool (*take)(void *who, uint32_t count, const uint32_t *arrays, const size_t *bytes,
                 Buffer **buffers);
    /** Make a command with the interrupts of the walk, and submit it. False: error
     *  recorded. */
    bool (*submit)(void *who, uint32_t command);
    /** Wait until nothing is on its way to a buffer. False: error recorded. */
    bool (*wait)(void *who, Buffer *buffer);
    /** This many numbers were read: compute the sizes that depend on them, and check
     *  guards. */
    Replay (*set_sizes)(void *who, uint32_t numbers);
    /** The host has read something else, which is why the recording does not fit: this
     *  content, or, after the contents, whether a loop goes on. */
    void (*differs)(void *who, uint32_t decision);
} WalkCalls;

typedef struct Walk {
    const Recording *recording;
    Buffer **buffers; /* of arrays: borrowed from inputs and constants, references of
                         those that are made; NULL: it has none yet */
    int64_t *values;  /* of terms */
    const WalkCalls *calls;
    void *who;
    uint32_t command, reads, contents, loop; /* where it is: what comes next */
    uint32_t inside; /* the innermost loop around that; RECORDER_UNKNOWN: none */
    uint32_t interrupts; /* interrupt_requests() when it began: its commands have it */
    Stream *deferred; /* until a command is submitted that its device may begin together
                         with those before (stream_defer()); NULL: none is */
} Walk;

/** All commands. Arrays that are results keep their buffers. */
Replay walk_run(Walk *w);
/** Have memory for an array that has none. */
Replay walk_make(const Walk *w, uint32_t array);
/** Have memory for an array, if it has none. */
static inline Replay walk_take(const Walk *w, uint32_t array)
{
    return w->buffers[array] ? REPLAY_DONE : walk_make(w, array);
}
/** Give up the references that are left. */
void walk_end(const Walk *w);
/** The next command will not come soon. */
void walk_let_go(Walk *w);

#endif
