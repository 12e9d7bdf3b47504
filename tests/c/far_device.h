/*
 * far_device.h -- two more devices, whose memory the host cannot touch
 *
 * They stand for what GPUs are: numbers 0 and 1 of JitBackendCUDA, with the CPU's
 * functions behind them. What runs on one proves that nothing above assumes host memory
 * (or, on number 1, that there is one device of a backend):
 *
 *     memory    every allocation ends at a page that is never accessible, and nobody
 *               may read or write it but a command that is being executed, and of that
 *               only what its slots list, as they say; so code that dereferences
 *               an address, or leaves a buffer out of a command, crashes
 *     commands  run in a thread of their device, one at a time: those of one stream in
 *               order, streams by lot, after a while
 *     order     is the device's: FAR_DEPTH commands of a stream are started ahead (4;
 *               0: the host orders them), which have to name points that it knows; what
 *               has ended is reported late, streams by lot
 *     errors    the n-th command fails on demand and leaves garbage where it was to
 *               write; what was started after it and reads that is performed in vain,
 *               and does not say so
 *     code      is of a kind of its own (far_code.h), but for FAR_CPU_CODE
 *     workers   blocks of a launch run under changing worker numbers
 *     answers   they differ from each other and from the CPU: a launch on number 0
 *               reduces one value, in blocks of consecutive lanes, and number 0 has no
 *               workers that could have copies; on number 1 it reduces none
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

#include "base/error.h"
#include "base/interrupt.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/cpu_job.h"
#include "device/cpu/launch/cpu_describe.h"
#include "device/stream.h"
#include "os/clock.h"

enum {
    FAR_PAGE = 4096,
    FAR_PADDING = 64,
    FAR_WORKERS = 3,
    FAR_DEVICES = 2,
    FAR_MOST = 1 << 16, /* allocations, commands in the queue */
    FAR_STREAMS = 256
};

/* An allocation with its guard pages. */
typedef struct FarMemory {
    char *pages, *address;
    size_t size, bytes; /* of 'pages', and from 'address' on */
    bool spoiled;       /* what was to be written here was not */
} FarMemory;

/* What the CPU's functions need for a job, and after that: */
enum { FAR_CPU_JOB = sizeof(CpuJob) + CPU_JOB_ROOM };
typedef struct FarJob {
    void (*run)(CpuJob *job, uint32_t block, uint32_t worker);
} FarJob;

typedef struct FarState {
    _Atomic bool copies_wait; /* copies wait until this is false */
    pthread_mutex_t lock; /* held while memory is open; guards 'memory', 'used' */
    FarMemory memory[FAR_MOST];
    uint32_t count;
    size_t used, limit; /* bytes; 0: no limit */
    uint32_t copies_until_failure; /* 0: none fails */

    pthread_mutex_t queue_lock; /* guards what follows */
    pthread_cond_t changed;
    Command *queue[FAR_MOST];
    uint32_t queued, most_queued; /* at once, so far */
    Ended ended[FAR_MOST]; /* and not reported */
    uint32_t ended_count;
    StreamPoint performed[FAR_STREAMS]; /* the last one of each stream */
    bool begun, held;  /* the thread was made; it is to wait */
    uint32_t delay_us; /* before each command, at most */
    uint64_t random;
    uint32_t fail_after; /* the n-th command from now fails; 0: none does */
    int fail_kind;       /* of those of this kind, -1: any */
    uint32_t ran[COMMAND_COUNT], failed;
} FarState;

#define FAR_STATE                                \
    {                                            \
        .lock = PTHREAD_MUTEX_INITIALIZER,       \
        .queue_lock = PTHREAD_MUTEX_INITIALIZER, \
        .changed = PTHREAD_COND_INITIALIZER,     \
        .delay_us = 100,                         \
        .random = 1                              \
    }

static FarState far_states[FAR_DEVICES] = { FAR_STATE, FAR_STATE }; /* by number */

static inline FarState *far_of(const Device *device)
{
    return &far_states[device->number];
}

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
    FarState *far = far_of(device);
    FarMemory m = { .bytes = bytes };
    size_t padded = far_round(bytes, FAR_PADDING) + FAR_PADDING;
    m.size = far_round(padded, FAR_PAGE) + 2 * FAR_PAGE;
    pthread_mutex_lock(&far->lock);
    bool fits = !far->limit || far->used + bytes <= far->limit;
    if (far->count == FAR_MOST)
        far_abort("too many allocations");
    m.pages = fits ? mmap(NULL, m.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                   : MAP_FAILED;
    if (m.pages != MAP_FAILED) {
        m.address = m.pages + m.size - FAR_PAGE - padded;
        far_protect(&m, PROT_READ | PROT_WRITE);
        memset(m.address, 0xcd, padded);
        far_protect(&m, PROT_NONE);
        far->memory[far->count++] = m;
        far->used += bytes;
    }
    pthread_mutex_unlock(&far->lock);
    if (m.pages == MAP_FAILED)
        error_set(JIT_ERROR_MEMORY, "out of memory: the far device has no %zu bytes",
                  bytes);
    return m.pages == MAP_FAILED ? NULL : m.address;
}

/* The allocation an address lies in; NULL if it is not the device's. */
static inline FarMemory *far_find(FarState *far, const void *address)
{
    const char *a = address;
    for (uint32_t i = 0; i < far->count; ++i)
        if (a >= far->memory[i].pages &&
            a < far->memory[i].pages + far->memory[i].size)
            return &far->memory[i];
    return NULL;
}

static inline void far_release(Device *device, void *address, size_t bytes)
{
    FarState *far = far_of(device);
    pthread_mutex_lock(&far->lock);
    FarMemory *m = far_find(far, address);
    if (!m || m->address != address || m->bytes != bytes)
        far_abort("what is released was not allocated");
    munmap(m->pages, m->size);
    far->used -= bytes;
    *m = far->memory[--far->count];
    pthread_mutex_unlock(&far->lock);
}

/* Copy with the memory open, which starts at 'address' for the device. */
static inline void far_copy(FarState *far, void *dst, const void *src,
                            const void *address, size_t bytes, int protection)
{
    if (!bytes)
        return;
    while (atomic_load(&far->copies_wait))
        nanosleep(&(struct timespec){ .tv_nsec = 1000000L }, NULL);
    pthread_mutex_lock(&far->lock);
    FarMemory *m = far_find(far, address);
    if (m)
        far_protect(m, protection);
    if (m && protection & PROT_WRITE)
        m->spoiled = false;
    memcpy(dst, src, bytes);
    if (m)
        far_protect(m, PROT_NONE);
    pthread_mutex_unlock(&far->lock);
}

/* Copies fail on demand, after they were made. */
static inline bool far_may_copy(FarState *far)
{
    pthread_mutex_lock(&far->lock);
    bool fails = far->copies_until_failure && --far->copies_until_failure == 0;
    pthread_mutex_unlock(&far->lock);
    return !fails || error_set(JIT_ERROR_SYSTEM, "far device: a copy was told to fail");
}

static inline bool far_read(Device *device, void *dst, const void *address,
                            size_t bytes)
{
    far_copy(far_of(device), dst, address, address, bytes, PROT_READ);
    return far_may_copy(far_of(device));
}

static inline bool far_write(Device *device, void *address, const void *src,
                             size_t bytes)
{
    far_copy(far_of(device), address, src, address, bytes, PROT_READ | PROT_WRITE);
    return far_may_copy(far_of(device));
}

static inline size_t far_memory_size(Device *device)
{
    (void) device;
    return (size_t) 1 << 30;
}

/* ---------------------------------------------------------------- commands */

static inline uint32_t far_random(FarState *far, uint32_t below)
{
    far->random = far->random * UINT64_C(6364136223846793005) +
                       UINT64_C(1442695040888963407);
    return (uint32_t) (far->random >> 33) % below;
}

/* Open, as the slots say, what the command may touch; or close it again. */
static inline void far_open(FarState *far, const Command *c, bool open)
{
    for (uint32_t i = 0; i < c->slot_count; ++i) {
        FarMemory *m = far_find(far, c->slots[i].buffer->address);
        uint32_t access = 0;
        for (uint32_t k = 0; k < c->slot_count; ++k)
            if (m && far_find(far, c->slots[k].buffer->address) == m)
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
static inline bool far_is_to_fail(FarState *far, const Command *c)
{
    bool counts = c->kind != COMMAND_HOST && c->kind != COMMAND_EVENT &&
                  (far->fail_kind < 0 || far->fail_kind == (int) c->kind);
    return counts && far->fail_after && --far->fail_after == 0;
}

/* With 'lock' held, and the memory open. */
static inline void far_spoil(FarState *far, const Command *c)
{
    for (uint32_t i = 0; i < c->slot_count; ++i) {
        if (!(c->slots[i].access & SLOT_WRITE))
            continue;
        memset(command_address(c, i), 0xee, c->slots[i].bytes);
        FarMemory *m = far_find(far, c->slots[i].buffer->address);
        if (m)
            m->spoiled = true;
    }
}

/* Does it read what was not written? With 'lock' held. */
static inline bool far_is_vain(FarState *far, const Command *c)
{
    bool vain = false;
    for (uint32_t i = 0; i < c->slot_count; ++i) {
        FarMemory *m = far_find(far, c->slots[i].buffer->address);
        vain = vain || (m && m->spoiled && c->slots[i].access & SLOT_READ);
    }
    for (uint32_t i = 0; !vain && i < c->slot_count; ++i) {
        FarMemory *m = far_find(far, c->slots[i].buffer->address);
        if (m && c->slots[i].access & SLOT_WRITE)
            m->spoiled = false;
    }
    return vain;
}

/* Commands that will not be performed are started by a host that orders them only. */
static inline CommandResult far_execute(FarState *far, Command *c, bool fails)
{
    CommandResult result = { .error = fails && !c->cause ? &far_error : NULL };
    bool host = c->kind == COMMAND_HOST || c->kind == COMMAND_EVENT;
    Stream *outer = stream_execute(c->stream);
    if (c->device->depth && (c->cause || c->kind == COMMAND_HOST))
        far_abort("a command was started that is not for the device");
    far_check_slots(c);
    if (!host) {
        pthread_mutex_lock(&far->lock);
        far_open(far, c, true);
    }
    if (result.error || (!c->cause && far_is_vain(far, c)))
        far_spoil(far, c);
    else if (!c->cause && !cpu_job_run(c->device, c, &result))
        far_abort("a command was to be shared");
    else if (!c->cause && c->interrupts != interrupt_requests())
        far_spoil(far, c); /* it may have stopped half way */
    if (!host) {
        far_open(far, c, false);
        pthread_mutex_unlock(&far->lock);
    }
    stream_execute(outer);
    return result;
}

/* ------------------------------------------------------------------- order */

/* Have all commands of the device up to this one been performed? It is not asked about
 * others. With 'queue_lock' held. */
static inline bool far_has_passed(FarState *far, StreamPoint point)
{
    for (uint32_t i = 0; i < far->queued; ++i)
        if (far->queue[i]->stream == point.stream && far->queue[i]->seq <= point.seq)
            return false;
    for (uint32_t i = 0; i < FAR_STREAMS && far->performed[i].stream; ++i)
        if (far->performed[i].stream == point.stream &&
            far->performed[i].seq >= point.seq)
            return true;
    far_abort("a command is to wait for one that was not started");
    return true;
}

static inline void far_note_performed(FarState *far, const Command *c)
{
    uint32_t i = 0;
    while (i < FAR_STREAMS && far->performed[i].stream &&
           far->performed[i].stream != c->stream)
        ++i;
    if (i == FAR_STREAMS)
        far_abort("too many streams");
    far->performed[i] = (StreamPoint) { c->stream, c->seq };
}

/* May it be performed, and before all others of its stream? */
static inline bool far_has_turn(FarState *far, const Command *c)
{
    for (uint32_t i = 0; i < far->queued; ++i)
        if (far->queue[i]->stream == c->stream && far->queue[i]->seq < c->seq)
            return false;
    for (uint32_t i = 0; c->device->depth && i < c->point_count; ++i)
        if (!far_has_passed(far, c->points[i]))
            return false;
    return true;
}

/* One of those whose turn it is. */
static inline uint32_t far_choose(FarState *far)
{
    uint32_t chosen = FAR_MOST, count = 0;
    for (uint32_t i = 0; i < far->queued; ++i)
        if (far_has_turn(far, far->queue[i]) && !far_random(far, ++count))
            chosen = i;
    if (chosen == FAR_MOST)
        far_abort("all commands wait for others");
    return chosen;
}

static inline void far_sleep(uint32_t us)
{
    if (us)
        nanosleep(&(struct timespec){ .tv_nsec = us * 1000L }, NULL);
}

static inline void *far_work(void *state)
{
    FarState *far = state;
    for (;;) {
        pthread_mutex_lock(&far->queue_lock);
        while (!far->queued || far->held)
            pthread_cond_wait(&far->changed, &far->queue_lock);
        uint32_t delay = far->delay_us;
        /* Mostly for a moment, sometimes for long, so that other streams catch up. */
        uint32_t most = far_random(far, 16) ? delay / 4 + 1 : 4 * delay;
        uint32_t us = delay ? far_random(far, most) : 0;
        pthread_mutex_unlock(&far->queue_lock);
        far_sleep(us);
        pthread_mutex_lock(&far->queue_lock);
        Command *c = far->queue[far_choose(far)];
        const bool reported = c->device->depth != 0; /* it is gone once that is done */
        bool fails = far_is_to_fail(far, c);
        far->failed += fails;
        far->ran[c->kind]++;
        pthread_mutex_unlock(&far->queue_lock);
        Ended ended = { c, far_execute(far, c, fails) };
        pthread_mutex_lock(&far->queue_lock);
        uint32_t i = 0;
        while (far->queue[i] != c)
            ++i;
        far->queue[i] = far->queue[--far->queued];
        far_note_performed(far, c);
        if (reported)
            far->ended[far->ended_count++] = ended;
        pthread_mutex_unlock(&far->queue_lock);
        if (reported)
            pthread_cond_broadcast(&far->changed);
        else
            stream_complete(c, &ended.result);
    }
    return NULL;
}

/* Some of what has ended, not always all of it. */
static inline uint32_t far_collect(Device *device, Ended *ended, uint32_t most)
{
    FarState *far = far_of(device);
    uint32_t count = 0, kept = 0;
    pthread_mutex_lock(&far->queue_lock);
    if (!far->ended_count) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&far->changed, &far->queue_lock, &until);
    }
    const Stream *late = far->ended_count && !far_random(far, 4)
                             ? far->ended[0].command->stream : NULL;
    for (uint32_t i = 0; i < far->ended_count; ++i) {
        if (count < most && far->ended[i].command->stream != late)
            ended[count++] = far->ended[i];
        else
            far->ended[kept++] = far->ended[i];
    }
    far->ended_count = kept;
    pthread_mutex_unlock(&far->queue_lock);
    return count;
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

#if defined(FAR_CPU_CODE)
enum { FAR_CODE = CODE_CPU };
static inline void far_register_engine(void)
{
}
static inline Code *far_open_code(Code *code)
{
    return code;
}
#else
#include "far_code.h"
enum { FAR_CODE = CODE_FAR };
static inline void far_register_engine(void)
{
    if (!engine_register(&far_engine))
        far_abort(error_message());
}
static inline Code *far_open_code(Code *code)
{
    return far_code_inner(code);
}
#endif

static inline void far_describe(Device *device, const struct Program *program,
                                Code *code)
{
    cpu_describe(device, program, far_open_code(code));
}

/* The CPU's functions see the code that is in the box; the command keeps it. */
static inline bool far_prepare(Device *device, Command *c)
{
    Code *code = c->kind == COMMAND_LAUNCH ? c->launch.code : NULL;
    if (code)
        c->launch.code = far_open_code(code);
    bool ok = cpu_job_prepare(device, c);
    if (code)
        c->launch.code = code;
    if (!ok)
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
    FarState *far = far_of(device);
    pthread_mutex_lock(&far->queue_lock);
    if (!far->begun) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, far_work, far))
            far_abort("pthread_create() failed");
        pthread_detach(thread);
        far->begun = true;
    }
    if (far->queued == FAR_MOST)
        far_abort("too many commands");
    far->queue[far->queued++] = c;
    if (far->queued > far->most_queued)
        far->most_queued = far->queued;
    pthread_cond_broadcast(&far->changed);
    pthread_mutex_unlock(&far->queue_lock);
}

static inline uint32_t far_workers(Device *device)
{
    (void) device;
    return FAR_WORKERS;
}

static inline bool far_fuses(Device *device, uint64_t lanes, const FusedReduction *fold,
                             const FusedReduction *first, uint32_t count)
{
    (void) device;
    (void) lanes;
    (void) first;
    return !count && fold->op < ReduceOpCount && fold->stride == 1;
}

#define FAR_DEVICE(count, text, ...)                 \
    {                                                \
        .backend = JitBackendCUDA,                   \
        .number = count,                             \
        .name = text,                                \
        .code = (CodeKind) FAR_CODE,                            \
        .job_bytes = FAR_CPU_JOB + sizeof(FarJob),   \
        .allocate = far_allocate,                    \
        .release = far_release,                      \
        .read = far_read,                            \
        .write = far_write,                          \
        .memory = far_memory_size,                   \
        .prepare = far_prepare,                      \
        .discard = cpu_job_discard,                  \
        .start = far_start,                          \
        .collect = far_collect,                      \
        .most_bytes = (uint64_t) 256 << 20,          \
        .describe = far_describe,                    \
        __VA_ARGS__                                  \
    }

static Device far_devices[FAR_DEVICES] = {
    FAR_DEVICE(0, "far device", .fuses = far_fuses),
    FAR_DEVICE(1, "second far device", .workers = far_workers)
};

/* ------------------------------------------------------------ for the tests */

/* In the child of a fork, before which all streams were drained: the device's thread is
 * in the parent only. */
static inline void far_fork_child(void)
{
    for (FarState *far = far_states; far < far_states + FAR_DEVICES; ++far) {
        pthread_mutex_init(&far->lock, NULL);
        pthread_mutex_init(&far->queue_lock, NULL);
        pthread_cond_init(&far->changed, NULL);
        far->begun = false;
    }
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
    far_register_engine();
    (void) cpu_device();
    const char *depth = getenv("FAR_DEPTH");
    for (uint32_t i = 0; i < FAR_DEVICES; ++i)
        far_devices[i].depth = depth ? (uint32_t) atoi(depth) : 4;
    for (uint32_t i = 0; i < FAR_DEVICES; ++i)
        device_register(&far_devices[i]);
}

/* The n-th command of this kind (-1: any that can) from now on fails; 0: none does. */
static inline void far_fail(FarState *far, int kind, uint32_t n)
{
    pthread_mutex_lock(&far->queue_lock);
    far->fail_kind = kind;
    far->fail_after = n;
    far->failed = 0;
    pthread_mutex_unlock(&far->queue_lock);
}

/* The n-th copy between host and device from now on fails; 0: none does. */
static inline void far_fail_copy(FarState *far, uint32_t n)
{
    pthread_mutex_lock(&far->lock);
    far->copies_until_failure = n;
    pthread_mutex_unlock(&far->lock);
}

/* Commands are not begun, or are again. */
static inline void far_hold(FarState *far, bool held)
{
    pthread_mutex_lock(&far->queue_lock);
    far->held = held;
    pthread_cond_broadcast(&far->changed);
    pthread_mutex_unlock(&far->queue_lock);
}

static inline void far_set_delay(FarState *far, uint32_t us)
{
    pthread_mutex_lock(&far->queue_lock);
    far->delay_us = us;
    pthread_mutex_unlock(&far->queue_lock);
}

static inline void far_set_limit(FarState *far, size_t bytes)
{
    pthread_mutex_lock(&far->lock);
    far->limit = bytes;
    pthread_mutex_unlock(&far->lock);
}

/* How many commands the device has. */
static inline uint32_t far_queued(FarState *far)
{
    pthread_mutex_lock(&far->queue_lock);
    uint32_t count = far->queued;
    pthread_mutex_unlock(&far->queue_lock);
    return count;
}

/* How many it had at once since the last call, at most. */
static inline uint32_t far_most_queued(FarState *far)
{
    pthread_mutex_lock(&far->queue_lock);
    uint32_t count = far->most_queued;
    far->most_queued = far->queued;
    pthread_mutex_unlock(&far->queue_lock);
    return count;
}

/* How many commands of a kind have been begun so far. */
static inline uint32_t far_count(FarState *far, CommandKind kind)
{
    pthread_mutex_lock(&far->queue_lock);
    uint32_t count = far->ran[kind];
    pthread_mutex_unlock(&far->queue_lock);
    return count;
}

#endif
