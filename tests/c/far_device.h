/*
 * far_device.h -- a second device, whose memory the host cannot touch
 *
 * It stands for what a GPU is: number 0 of JitBackendCUDA, with the CPU's functions
 * behind it. What runs on it proves that nothing above assumes host memory:
 *
 *     memory    every allocation ends at a page that is never accessible, and nobody
 *               may read or write it but a command that is being executed, and of that
 *               only what its slots list, as they say; so whoever dereferences an
 *               address, and whoever leaves a buffer out of a command, crashes
 *     commands  run in a thread of the device's own, one at a time: those of one stream
 *               in order, streams by lot, after a while
 *     errors    the n-th command fails on demand and leaves garbage where it was to
 *               write
 *     workers   blocks of a launch run under changing worker numbers
 */
#ifndef TESTS_FAR_DEVICE_H
#define TESTS_FAR_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/cpu_job.h"
#include "device/stream.h"

enum {
    FAR_PAGE = 4096,
    FAR_PADDING = 64,
    FAR_WORKERS = 3,
    FAR_MOST = 1 << 16 /* allocations, commands in the queue */
};

/* An allocation with its guard pages. */
typedef struct FarMemory {
    char *pages, *address;
    size_t size, bytes; /* of 'pages', and from 'address' on */
} FarMemory;

/* What the CPU's functions need for a job, and behind that: */
enum { FAR_CPU_JOB = sizeof(CpuJob) + CPU_JOB_ROOM };
typedef struct FarJob {
    void (*run)(CpuJob *job, uint32_t block, uint32_t worker);
} FarJob;

static struct {
    _Atomic bool copies_wait; /* whoever copies waits until this is false */
    pthread_mutex_t lock; /* held while memory is open; guards 'memory', 'used' */
    FarMemory memory[FAR_MOST];
    uint32_t count;
    size_t used, limit; /* bytes; 0: no limit */

    pthread_mutex_t queue_lock; /* guards what follows */
    pthread_cond_t changed;
    Command *queue[FAR_MOST];
    uint32_t queued;
    bool begun, held;  /* the thread was made; it is to wait */
    uint32_t delay_us; /* before each command, at most */
    uint64_t random;
    uint32_t fail_after; /* so many commands the next one fails; 0: none does */
    int fail_kind;       /* of those of this kind, -1: any */
    uint32_t ran[COMMAND_COUNT], failed;
} far_state = { .lock = PTHREAD_MUTEX_INITIALIZER,
                .queue_lock = PTHREAD_MUTEX_INITIALIZER,
                .changed = PTHREAD_COND_INITIALIZER,
                .delay_us = 100,
                .random = 1 };

static const ErrorRecord far_error = { JIT_ERROR_SYSTEM, "far device: told to fail" };

static inline void far_abort(const char *what)
{
    fprintf(stderr, "far device: %s\n", what);
    abort();
}

/* ------------------------------------------------------------------ memory */

static inline void far_protect(const FarMemory *m, int protection)
{
    if (mprotect(m->pages + FAR_PAGE, m->size - 2 * FAR_PAGE, protection))
        far_abort("mprotect() failed");
}

static inline size_t far_round(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static inline void *far_allocate(Device *device, size_t bytes)
{
    (void) device;
    FarMemory m = { .bytes = bytes };
    size_t padded = far_round(bytes, FAR_PADDING) + FAR_PADDING;
    m.size = far_round(padded, FAR_PAGE) + 2 * FAR_PAGE;
    pthread_mutex_lock(&far_state.lock);
    bool fits = !far_state.limit || far_state.used + bytes <= far_state.limit;
    if (far_state.count == FAR_MOST)
        far_abort("too many allocations");
    m.pages = fits ? mmap(NULL, m.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                   : MAP_FAILED;
    if (m.pages != MAP_FAILED) {
        m.address = m.pages + m.size - FAR_PAGE - padded;
        far_protect(&m, PROT_READ | PROT_WRITE);
        memset(m.address, 0xcd, padded);
        far_protect(&m, PROT_NONE);
        far_state.memory[far_state.count++] = m;
        far_state.used += bytes;
    }
    pthread_mutex_unlock(&far_state.lock);
    if (m.pages == MAP_FAILED)
        error_set(JIT_ERROR_MEMORY, "out of memory: the far device has no %zu bytes",
                  bytes);
    return m.pages == MAP_FAILED ? NULL : m.address;
}

/* The allocation an address lies in; NULL if it is not the device's. */
static inline FarMemory *far_find(const void *address)
{
    const char *a = address;
    for (uint32_t i = 0; i < far_state.count; ++i)
        if (a >= far_state.memory[i].pages &&
            a < far_state.memory[i].pages + far_state.memory[i].size)
            return &far_state.memory[i];
    return NULL;
}

static inline void far_release(Device *device, void *address, size_t bytes)
{
    (void) device;
    pthread_mutex_lock(&far_state.lock);
    FarMemory *m = far_find(address);
    if (!m || m->address != address || m->bytes != bytes)
        far_abort("what is released was not allocated");
    munmap(m->pages, m->size);
    far_state.used -= bytes;
    *m = far_state.memory[--far_state.count];
    pthread_mutex_unlock(&far_state.lock);
}

/* Copy with the memory open, which starts at 'address' for the device. */
static inline void far_copy(void *dst, const void *src, const void *address,
                            size_t bytes, int protection)
{
    if (!bytes)
        return;
    while (atomic_load(&far_state.copies_wait))
        nanosleep(&(struct timespec){ .tv_nsec = 1000000L }, NULL);
    pthread_mutex_lock(&far_state.lock);
    const FarMemory *m = far_find(address);
    if (m)
        far_protect(m, protection);
    memcpy(dst, src, bytes);
    if (m)
        far_protect(m, PROT_NONE);
    pthread_mutex_unlock(&far_state.lock);
}

static inline void far_read(Device *device, void *dst, const void *address,
                            size_t bytes)
{
    (void) device;
    far_copy(dst, address, address, bytes, PROT_READ);
}

static inline void far_write(Device *device, void *address, const void *src,
                             size_t bytes)
{
    (void) device;
    far_copy(address, src, address, bytes, PROT_READ | PROT_WRITE);
}

static inline size_t far_memory_size(Device *device)
{
    (void) device;
    return (size_t) 1 << 30;
}

/* ---------------------------------------------------------------- commands */

static inline uint32_t far_random(uint32_t below)
{
    far_state.random = far_state.random * UINT64_C(6364136223846793005) +
                       UINT64_C(1442695040888963407);
    return (uint32_t) (far_state.random >> 33) % below;
}

/* Open, as the slots say, what the command may touch; or close it again. */
static inline void far_open(const Command *c, bool open)
{
    for (uint32_t i = 0; i < c->slot_count; ++i) {
        FarMemory *m = far_find(c->slots[i].buffer->address);
        uint32_t access = 0;
        for (uint32_t k = 0; k < c->slot_count; ++k)
            if (m && far_find(c->slots[k].buffer->address) == m)
                access |= c->slots[k].access;
        if (m)
            far_protect(m, !open                  ? PROT_NONE
                           : access & SLOT_WRITE ? PROT_READ | PROT_WRITE
                                                 : PROT_READ);
    }
}

static inline void far_check_slots(const Command *c)
{
    for (uint32_t i = 0; i < c->slot_count; ++i) {
        const Slot *s = &c->slots[i];
        if (s->buffer->device != c->device)
            far_abort("a slot has a buffer of another device");
        if (s->bytes > s->buffer->size || s->offset > s->buffer->size - s->bytes)
            far_abort("a slot goes beyond its buffer");
        if (!s->access || s->access > SLOT_READ_WRITE)
            far_abort("a slot is neither read nor written");
    }
}

/* With 'queue_lock' held. */
static inline bool far_is_to_fail(const Command *c)
{
    bool counts = c->kind != COMMAND_HOST && c->kind != COMMAND_EVENT &&
                  (far_state.fail_kind < 0 || far_state.fail_kind == (int) c->kind);
    return counts && far_state.fail_after && --far_state.fail_after == 0;
}

static inline void far_spoil(const Command *c)
{
    for (uint32_t i = 0; i < c->slot_count; ++i)
        if (c->slots[i].access & SLOT_WRITE)
            memset(command_address(c, i), 0xee, c->slots[i].bytes);
}

static inline void far_execute(Command *c, bool fails)
{
    CommandResult result = { .error = fails && !c->cause ? &far_error : NULL };
    bool host = c->kind == COMMAND_HOST || c->kind == COMMAND_EVENT;
    Stream *outer = stream_execute(c->stream);
    far_check_slots(c);
    if (!host) {
        pthread_mutex_lock(&far_state.lock);
        far_open(c, true);
    }
    if (result.error)
        far_spoil(c);
    else if (!c->cause && !cpu_job_run(c->device, c, &result))
        far_abort("a command was to be shared");
    if (!host) {
        far_open(c, false);
        pthread_mutex_unlock(&far_state.lock);
    }
    stream_complete(c, &result);
    stream_execute(outer);
}

static inline void *far_work(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&far_state.queue_lock);
        while (!far_state.queued || far_state.held)
            pthread_cond_wait(&far_state.changed, &far_state.queue_lock);
        uint32_t delay = far_state.delay_us;
        /* Mostly for a moment, sometimes for long, so that other streams catch up. */
        uint32_t most = far_random(16) ? delay / 4 + 1 : 4 * delay;
        uint32_t us = delay ? far_random(most) : 0;
        pthread_mutex_unlock(&far_state.queue_lock);
        if (us)
            nanosleep(&(struct timespec){ .tv_nsec = us * 1000L }, NULL);
        pthread_mutex_lock(&far_state.queue_lock);
        uint32_t i = far_random(far_state.queued);
        Command *c = far_state.queue[i];
        far_state.queue[i] = far_state.queue[--far_state.queued];
        bool fails = far_is_to_fail(c);
        far_state.failed += fails;
        far_state.ran[c->kind]++;
        pthread_mutex_unlock(&far_state.queue_lock);
        far_execute(c, fails);
    }
    return unused;
}

static inline FarJob *far_job(CpuJob *job)
{
    return (FarJob *) (void *) ((char *) job + FAR_CPU_JOB);
}

/* Blocks one after the other, under changing worker numbers. */
static inline void far_run_block(CpuJob *job, uint32_t block, uint32_t worker)
{
    (void) worker;
    far_job(job)->run(job, block, block % job->workers);
}

static inline bool far_prepare(Device *device, Command *c)
{
    if (!cpu_job_prepare(device, c))
        return false;
    CpuJob *job = c->job;
    far_job(job)->run = job->run;
    if (c->kind == COMMAND_LAUNCH)
        job->run = far_run_block;
    job->patient = false;
    c->small = false;
    return true;
}

static inline void far_start(Device *device, Command *c)
{
    (void) device;
    pthread_mutex_lock(&far_state.queue_lock);
    if (!far_state.begun) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, far_work, NULL))
            far_abort("pthread_create() failed");
        pthread_detach(thread);
        far_state.begun = true;
    }
    if (far_state.queued == FAR_MOST)
        far_abort("too many commands");
    far_state.queue[far_state.queued++] = c;
    pthread_cond_broadcast(&far_state.changed);
    pthread_mutex_unlock(&far_state.queue_lock);
}

static inline uint32_t far_workers(Device *device)
{
    (void) device;
    return FAR_WORKERS;
}

static Device far_device = { .backend = JitBackendCUDA,
                             .name = "far device",
                             .code = CODE_CPU,
                             .job_bytes = FAR_CPU_JOB + sizeof(FarJob),
                             .allocate = far_allocate,
                             .release = far_release,
                             .read = far_read,
                             .write = far_write,
                             .memory = far_memory_size,
                             .prepare = far_prepare,
                             .discard = cpu_job_discard,
                             .start = far_start,
                             .workers = far_workers };

/* ------------------------------------------------------------ for the tests */

/* In the child of a fork, before which all streams were drained: the device's thread is
 * in the parent only. */
static inline void far_fork_child(void)
{
    pthread_mutex_init(&far_state.lock, NULL);
    pthread_mutex_init(&far_state.queue_lock, NULL);
    pthread_cond_init(&far_state.changed, NULL);
    far_state.begun = false;
}

static inline void far_watch_fork(void)
{
    (void) pthread_atfork(NULL, NULL, far_fork_child);
}

/* Make it known; again and again is fine. */
static inline void far_register(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, far_watch_fork);
    (void) cpu_device();
    device_register(&far_device);
}

/* The n-th command of this kind (-1: any that can) from now on fails; 0: none does. */
static inline void far_fail(int kind, uint32_t n)
{
    pthread_mutex_lock(&far_state.queue_lock);
    far_state.fail_kind = kind;
    far_state.fail_after = n;
    far_state.failed = 0;
    pthread_mutex_unlock(&far_state.queue_lock);
}

/* Commands are not begun, or are again. */
static inline void far_hold(bool held)
{
    pthread_mutex_lock(&far_state.queue_lock);
    far_state.held = held;
    pthread_cond_broadcast(&far_state.changed);
    pthread_mutex_unlock(&far_state.queue_lock);
}

static inline void far_set_delay(uint32_t us)
{
    pthread_mutex_lock(&far_state.queue_lock);
    far_state.delay_us = us;
    pthread_mutex_unlock(&far_state.queue_lock);
}

static inline void far_set_limit(size_t bytes)
{
    pthread_mutex_lock(&far_state.lock);
    far_state.limit = bytes;
    pthread_mutex_unlock(&far_state.lock);
}

/* How many commands of a kind have been begun so far. */
static inline uint32_t far_count(CommandKind kind)
{
    pthread_mutex_lock(&far_state.queue_lock);
    uint32_t count = far_state.ran[kind];
    pthread_mutex_unlock(&far_state.queue_lock);
    return count;
}

#endif
