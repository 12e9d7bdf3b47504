/*
 * driver.h -- what the files of the look-alike share
 *
 * There is one device with one context, the primary one, and one Driver object, whose
 * lock every function of the interface holds from driver_enter() to driver_leave(). All
 * work is done in the calling thread, at once, so a stream is always at its end.
 *
 * A fault of a kernel breaks the context for good, as on a GPU: from then on every
 * function that uses it returns that error.
 */
#ifndef CUDA_PEER_DRIVER_H
#define CUDA_PEER_DRIVER_H

#include <pthread.h>
#include <stdbool.h>

#include "counts.h"
#include "cu.h"
#include "sim.h"

typedef enum HandleKind {
    HANDLE_CONTEXT,
    HANDLE_STREAM,
    HANDLE_EVENT,
    HANDLE_MODULE,
    HANDLE_FUNCTION,
    HANDLE_PINNED, /* memory of the host: the handle is ours */
    HANDLE_KINDS
} HandleKind;

/** What every object begins with. Live ones are in a list for their kind. */
struct Handle {
    HandleKind kind;
    Handle *next;
};

typedef struct Driver {
    pthread_mutex_t lock;
    /* All below is guarded by it. */
    bool initialised;
    CUresult broken; /* the fault after which nothing works; CUDA_SUCCESS */
    Handle context;
    uint32_t retained; /* how often, since it was last released */
    SimMemory *memory;
    size_t memory_used, memory_size;
    uint32_t capability; /* 80: 8.0 */
    Handle *live[HANDLE_KINDS];
    Counts counts;
    bool log; /* print a line for each module */
} Driver;

extern Driver driver;

/** Take the lock for a function that needs a context. Not CUDA_SUCCESS: return that;
 *  the lock is not held. */
CUresult driver_enter(void);
/** The same for functions that need no context. */
CUresult driver_enter_bare(void);
/** Release the lock; 'result'. */
CUresult driver_leave(CUresult result);
/** Print a line to stderr: "cuda-sim: ...". */
void driver_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Say what has happened, and break the context. */
CUresult driver_break(const char *message);
/** Call a function of the host, during which the thread may not use the driver. With no
 *  lock. */
void driver_call_host(void (*function)(void *), void *data);

/** A zeroed object of 'size' bytes, entered in its list; NULL: out of memory. */
void *handle_new(HandleKind kind, size_t size);
/** Is it a live one? */
bool handle_is(HandleKind kind, const Handle *handle);
/** Take it out of its list and release it. False: it is not a live one. */
bool handle_delete(HandleKind kind, Handle *handle);
/** Is it a stream that work may be given to? */
bool stream_is(CUstream stream);

#endif
