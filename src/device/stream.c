/*
 * stream.c -- queues of commands, their dependencies, waiting
 *
 * Positions.  A stream numbers its commands 1, 2, ...; 'submitted' is the last number
 * given out (by the owning thread only), 'completed' the last one that has ended. It is
 * idle when they agree.
 *
 * The queue.  One mutex guards all queues and the sharing of buffers. When commands of
 * a queue are started and how they end is in queue.c.
 *
 * The fast path.  A small command of a stream that has nothing in its queue takes no
 * lock. It needs to know that no other stream touches its buffers (uses.c). The thread
 * announces the command (raises 'submitted'), asks for its buffers and keeps it;
 * stream_run() runs it and raises 'completed'. If it does not get the buffers, the
 * number that was announced stands for nothing, and the command goes the slow way under
 * a new one.
 *
 * Why nothing can wait in a circle: the slow way gives a command its number and enters
 * it in all its buffers in one critical section, so commands are ordered by it, and
 * each waits for earlier ones only. Submitting never waits, so a thread that holds a
 * lock can submit; it waits, and runs what it kept, without locks.
 *
 * Lock order: the device's own locks (pool.c, cpu_job.c) are taken inside of the
 * queues' lock, and the caches' lock (buffer.c) inside of those.
 */
#include "device/stream.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/thread.h"
#include "device/collector.h"
#include "device/device.h"
#include "device/outcome.h"
#include "device/queue.h"
#include "device/redo.h"
#include "device/uses.h"
#include "os/clock.h"

static pthread_cond_t resumed = PTHREAD_COND_INITIALIZER; /* 'halted' was cleared */
static uint64_t base_position; /* of new streams: beyond those of all freed ones;
                                  guarded by the lock */
static _Atomic uint32_t stream_count; /* written with the lock held */
/* Written with the lock held; on the fast path the partner of 'submitted'. */
static _Atomic bool halted;
/* Raised by stream_shutdown(): thread-local pointers of older epochs are void. */
static _Atomic uint32_t epoch = 1;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* its destructor notices the end of a thread */
static bool key_valid;

/* Of each thread. Initial-exec: each launch looks at it. */
static _Thread_local struct {
    Stream *own[DEVICE_MOST];
    uint32_t epoch;     /* that 'own' is of */
    Stream *executing;  /* whose command this thread executes */
    /* Commands that it is to run itself, in the order of submission: thread_self.kept
     * of them. */
    Command *kept_first, *kept_last;
} mine THREAD_QUICK;

/* ------------------------------------------------------------------ streams */

static void end_thread(void *unused)
{
    (void) unused;
    pthread_mutex_lock(&queues.lock);
    for (uint32_t i = 0; i < DEVICE_MOST; i++) {
        Stream *own = mine.own[i];
        if (own && mine.epoch == atomic_load(&epoch)) {
            queue_let_go(own);
            own->orphan = true;
        }
        mine.own[i] = NULL;
    }
    pthread_mutex_unlock(&queues.lock);
}

static void fork_prepare(void);
static void fork_parent(void);
static void fork_child(void);

static void initialise(void)
{
    key_valid = pthread_key_create(&key, end_thread) == 0;
    (void) pthread_atfork(fork_prepare, fork_parent, fork_child);
}

void stream_prepare_fork(void)
{
    pthread_once(&once, initialise);
}

bool stream_passed(const Stream *stream, uint64_t position)
{
    /* Sequentially consistent as a partner of 'waited', acquire for the results. */
    return atomic_load(&stream->completed) >= position;
}

uint64_t stream_position(const Stream *stream)
{
    return atomic_load(&stream->submitted);
}

bool stream_is_idle(const Stream *stream)
{
    return stream_passed(stream, stream_position(stream));
}

static Stream *find_or_create(Device *device)
{
    for (Stream *s = queues.streams; s; s = s->next) {
        if (s->orphan && s->device == device && stream_is_idle(s)) {
            queue_let_go(s);
            s->orphan = false;
            atomic_store(&s->has_error, false);
            return s;
        }
    }
    Stream *s = alloc_zero(1, sizeof *s);
    TRY(s, NULL);
    atomic_store(&s->submitted, base_position);
    atomic_store(&s->completed, base_position);
    atomic_store(&s->refs, 1);
    s->device = device;
    s->next = queues.streams;
    queues.streams = s;
    atomic_fetch_add(&stream_count, 1);
    return s;
}

/* The thread's stream if it has one that is still valid. */
static Stream *own_stream(const Device *device)
{
    uint32_t now = atomic_load_explicit(&epoch, memory_order_acquire);
    return mine.epoch == now ? mine.own[device->index] : NULL;
}

Stream *stream_self(Device *device)
{
    Stream *known = own_stream(device);
    if (known)
        return known;
    pthread_once(&once, initialise);
    pthread_mutex_lock(&queues.lock);
    if (mine.epoch != atomic_load(&epoch)) {
        for (uint32_t i = 0; i < DEVICE_MOST; i++)
            mine.own[i] = NULL;
        mine.epoch = atomic_load(&epoch);
    }
    Stream *stream = mine.own[device->index] = find_or_create(device);
    pthread_mutex_unlock(&queues.lock);
    if (stream && key_valid)
        (void) pthread_setspecific(key, stream);
    return stream;
}

void stream_retain(Stream *stream)
{
    atomic_fetch_add_explicit(&stream->refs, 1, memory_order_relaxed);
}

void stream_release(Stream *stream)
{
    if (stream &&
        atomic_fetch_sub_explicit(&stream->refs, 1, memory_order_acq_rel) == 1)
        alloc_free(stream);
}

void stream_set_tap(Stream *stream, void (*tap)(void *payload, const Command *command),
                    void *payload)
{
    stream->tap = tap;
    stream->tap_payload = payload;
}

bool stream_is_tapped(const Stream *stream)
{
    return stream->tap != NULL;
}

/* Give the command its number and enter it in its buffers, in one critical section. */
static void enter(Command *c)
{
    uses_find_points(c);
    c->seq = c->last = stream_position(c->stream) + 1;
    c->stale = c->again && !redo_is_fresh(c);
    uses_mark(c);
    atomic_store(&c->stream->submitted, c->seq);
}

/* ------------------------------------------------------------------- the end */

void stream_fail(const Command *command, const ErrorRecord *error)
{
    outcome_fail(command, error);
    queue_note_error(command, error);
}

void stream_complete(Command *c, const CommandResult *results)
{
    Stream *stream = c->stream, *outer = stream_execute(c->stream);
    uint64_t bytes = 0;
    uint32_t count = c->joined + 1;
    bool interrupted = outcome_is_interrupted(c); /* all of them, or none */
    Command *last = c;
    for (uint32_t i = 0; i < count; i++) {
        last = i ? last->next : c;
        bytes += outcome_bytes(last);
        queue_conclude(last, &results[i], interrupted);
    }
    stream_execute(outer);

    pthread_mutex_lock(&queues.lock);
    queue_drop_head(stream, last, bytes);
    if (stream->head)
        queue_start(stream->head);
    queue_tell(stream);
    pthread_mutex_unlock(&queues.lock);
    for (Command *next; count-- > 0; c = next) {
        next = c->next;
        command_free(c);
    }
}

Stream *stream_execute(Stream *stream)
{
    Stream *before = mine.executing;
    mine.executing = stream;
    return before;
}

bool stream_in_command(void)
{
    return mine.executing != NULL;
}

/* ----------------------------------------------- what the thread runs itself */

static void keep(Stream *stream, Command *c)
{
    c->next = NULL;
    if (mine.kept_last)
        mine.kept_last->next = c;
    else
        mine.kept_first = c;
    mine.kept_last = c;
    stream->kept++;
    thread_self.kept++;
}

/* Raise 'completed', wake who waits, and start what stands in the queue. */
static void pass(Stream *stream, uint64_t seq)
{
    atomic_store(&stream->completed, seq);
    if (!atomic_load(&stream->waited) &&
        atomic_load_explicit(&stream->submitted, memory_order_relaxed) ==
            seq + stream->kept)
        return;
    pthread_mutex_lock(&queues.lock);
    Command *head = stream->head;
    if (head && head->seq == seq + 1)
        queue_start(head);
    queue_tell(stream);
    pthread_mutex_unlock(&queues.lock);
}

/* A command takes too long: its device goes on with it, and what is kept behind it
 * waits in the queue. */
static void hand_over(Stream *stream, Command *c)
{
    Command *rest = mine.kept_first, *others = NULL, **end = &others, *queue;
    pthread_mutex_lock(&queues.lock);
    queue = stream->head;
    stream->head = stream->tail = NULL;
    queue_append(stream, c);
    mine.kept_last = NULL;
    while (rest) {
        Command *next = rest->next;
        if (rest->stream == stream) {
            queue_append(stream, rest);
            stream->kept--;
            thread_self.kept--;
        } else {
            rest->next = NULL;
            *end = mine.kept_last = rest;
            end = &rest->next;
        }
        rest = next;
    }
    mine.kept_first = others;
    if (queue) { /* their bytes are counted */
        stream->tail->next = queue;
        while (stream->tail->next)
            stream->tail = stream->tail->next;
    }
    c->device->start(c->device, c);
    if (queues.sleeping)
        pthread_cond_broadcast(&queues.progress);
    pthread_mutex_unlock(&queues.lock);
}

static void wait_points(const Command *c);

static void run_kept(Stream *stream, Command *c)
{
    CommandResult result = {0};
    if (c->point_count)
        wait_points(c);
    c->cause = outcome_cause(c);
    Stream *outer = stream_execute(stream);
    if (!c->cause && !c->device->run(c->device, c, &result)) {
        stream_execute(outer);
        hand_over(stream, c);
        return;
    }
    queue_conclude(c, &result, outcome_is_interrupted(c));
    stream_execute(outer);
    uint64_t last = c->last;
    command_free(c);
    pass(stream, last);
}

/* Inside of a command of the same stream, what it has submitted comes after it. */
void stream_run(void)
{
    while (mine.kept_first && mine.kept_first->stream != mine.executing) {
        Command *c = mine.kept_first;
        mine.kept_first = c->next;
        if (!mine.kept_first)
            mine.kept_last = NULL;
        c->stream->kept--;
        thread_self.kept--;
        run_kept(c->stream, c);
    }
}

/* ------------------------------------------------------------------ waiting */

static uint32_t device_threads(Device *device)
{
    return device->threads ? device->threads(device) : 1;
}

/* Do something that brings 'stream' forward; false if others are at it already. With
 * the lock held, which is released meanwhile. */
static bool help(Stream *stream)
{
    Device *device = stream->device;
    const Command *head = stream->head;
    if (device->depth)
        return collector_help(device);
    if (!head || !device->help)
        return false;
    const Stream *which = head->blocked ? NULL : stream;
    pthread_mutex_unlock(&queues.lock);
    bool helped = device->help(device, which);
    pthread_mutex_lock(&queues.lock);
    return helped;
}

/* What was executed on the way may have submitted commands of this thread. With the
 * lock held, which is released meanwhile. */
static void run_kept_meanwhile(void)
{
    if (!thread_self.kept || mine.executing)
        return;
    pthread_mutex_unlock(&queues.lock);
    stream_run();
    pthread_mutex_lock(&queues.lock);
}

bool stream_go_together(const Device *device, uint64_t lanes, uint64_t next)
{
    return device->chains && device->chains(lanes, next);
}

void stream_defer(Stream *stream, bool repeated, uint64_t lanes)
{
    const Device *device = stream->device;
    const bool small = repeated && device->batches && device->batches(lanes);
    if (!device->chains && !device->batches)
        return;
    pthread_mutex_lock(&queues.lock);
    stream->deferred = true;
    atomic_store_explicit(&stream->gathers, small, memory_order_relaxed);
    pthread_mutex_unlock(&queues.lock);
}

void stream_let_go(Stream *stream)
{
    pthread_mutex_lock(&queues.lock);
    queue_let_go(stream);
    pthread_mutex_unlock(&queues.lock);
}

/* Wait with the lock held. Inside of a command of the same stream the wait could not
 * end, so it does not begin. */
static void wait_locked(Stream *stream, uint64_t position)
{
    Device *device = stream->device;
    bool spin = device->poll != NULL;
    if (!stream_passed(stream, position))
        queue_let_go(stream);
    while (!stream_passed(stream, position) && mine.executing != stream) {
        if (help(stream)) {
            run_kept_meanwhile();
            continue;
        }
        if (spin) {
            pthread_mutex_unlock(&queues.lock);
            uint64_t since = clock_ns();
            while (!stream_passed(stream, position) && device->poll(device, since))
                ;
            pthread_mutex_lock(&queues.lock);
            spin = false;
            continue;
        }
        atomic_store(&stream->waited, true);
        queue_let_go(stream); /* its thread may have deferred it again */
        if (stream_passed(stream, position))
            break;
        queues.sleeping++;
        pthread_cond_wait(&queues.progress, &queues.lock);
        queues.sleeping--;
    }
}

static void wait_points(const Command *c)
{
    pthread_mutex_lock(&queues.lock);
    for (uint32_t i = 0; i < c->point_count; i++)
        wait_locked(c->points[i].stream, c->points[i].seq);
    pthread_mutex_unlock(&queues.lock);
}

void stream_wait(Stream *stream, uint64_t position)
{
    stream_run();
    if (stream_passed(stream, position))
        return;
    pthread_mutex_lock(&queues.lock);
    wait_locked(stream, position);
    pthread_mutex_unlock(&queues.lock);
}

void stream_sync_all(void)
{
    stream_run();
    pthread_mutex_lock(&queues.lock);
    for (Stream *s = queues.streams; s; s = s->next)
        wait_locked(s, stream_position(s));
    pthread_mutex_unlock(&queues.lock);
}

bool stream_all_idle(void)
{
    bool all = true;
    pthread_mutex_lock(&queues.lock);
    for (const Stream *s = queues.streams; s; s = s->next)
        all = all && (stream_is_idle(s) || s == mine.executing);
    pthread_mutex_unlock(&queues.lock);
    return all;
}

void stream_run_queued(void)
{
    pthread_mutex_lock(&queues.lock);
    for (Stream *s = queues.streams; s;) {
        if (s->head && device_threads(s->device) == 0 && s != mine.executing) {
            wait_locked(s, stream_position(s));
            s = queues.streams; /* commands may have submitted commands */
        } else {
            s = s->next;
        }
    }
    pthread_mutex_unlock(&queues.lock);
}

void stream_tell(Stream *stream, const ErrorRecord *error)
{
    error_restore(error);
    pthread_mutex_lock(&queues.lock);
    if (error->code == JIT_ERROR_INTERRUPTED)
        stream->told = interrupt_requests();
    if (atomic_load(&stream->has_error) && stream->error.code == error->code &&
        strcmp(stream->error.message, error->message) == 0)
        atomic_store(&stream->has_error, false);
    pthread_mutex_unlock(&queues.lock);
}

/* Is in the buffer what should be? */
static bool check_failure(Stream *own, const ErrorRecord *failure)
{
    if (!failure)
        return true;
    if (own)
        stream_tell(own, failure);
    else
        error_restore(failure);
    return false;
}

/* Another thread may have an interrupted command performed again, which first forgets
 * the failure: that counts if no such command has been entered in the buffer when it is
 * looked at. */
bool stream_sync_buffer(const Buffer *buffer)
{
    Stream *own = own_stream(buffer->device);
    stream_run();
    if (own && atomic_load(&buffer->owner) == own &&
        stream_passed(own, atomic_load(&buffer->own_write))) {
        const ErrorRecord *failure = buffer_failure(buffer);
        if (atomic_load(&buffer->owner) == own)
            return check_failure(own, failure);
    }
    pthread_mutex_lock(&queues.lock);
    StreamPoint write;
    bool passed = true;
    while (passed && (write = uses_last_write(buffer)).stream) {
        wait_locked(write.stream, write.seq);
        passed = stream_passed(write.stream, write.seq);
    }
    const ErrorRecord *failure = buffer_failure(buffer);
    pthread_mutex_unlock(&queues.lock);
    stream_run(); /* what was executed on the way may have submitted something */
    if (passed)
        return check_failure(own, failure);
    return error_set(JIT_ERROR_STATE, "a host function cannot wait for what comes "
                     "after it in its own stream");
}

uint32_t stream_count_ready(const Command *command, uint32_t most)
{
    return queue_count_ready(command, most);
}

bool stream_is_congested(const Stream *stream, uint64_t bytes)
{
    return queue_is_congested(stream, bytes);
}

void stream_relieve(Stream *stream, uint64_t bytes)
{
    stream_run();
    pthread_mutex_lock(&queues.lock);
    while (stream_is_congested(stream, bytes) && stream->head &&
           mine.executing != stream)
        wait_locked(stream, stream->head->seq);
    pthread_mutex_unlock(&queues.lock);
}

bool stream_check(Stream *stream)
{
    if (!atomic_load(&stream->has_error))
        return true;
    pthread_mutex_lock(&queues.lock);
    ErrorRecord error = stream->error;
    pthread_mutex_unlock(&queues.lock);
    stream_tell(stream, &error);
    return false;
}

/* -------------------------------------------------------------- submission */

/* With the lock held. What commands submit is part of what a halt waits for, so they go
 * on. */
static void wait_resumed(void)
{
    while (atomic_load(&halted) && !mine.executing)
        pthread_cond_wait(&resumed, &queues.lock);
}

/* Take the lock when there is room for a point in each stream. False: out of memory;
 * it is not taken. */
static bool lock_with_room(Command *c)
{
    uint32_t room = COMMAND_POINTS;
    pthread_mutex_lock(&queues.lock);
    wait_resumed();
    while (atomic_load(&stream_count) > room) {
        pthread_mutex_unlock(&queues.lock);
        room = atomic_load(&stream_count);
        TRY(command_reserve_points(c, room), false);
        pthread_mutex_lock(&queues.lock);
        wait_resumed();
    }
    return true;
}

/* Does its thread run it? If nobody else does, or if it is small and its turn has come.
 */
static bool is_own(const Stream *stream, const Command *c)
{
    if (stream->head)
        return false;
    return device_threads(c->device) == 0 ||
           (c->small && !c->gathered && !c->point_count &&
            stream_passed(stream, c->seq - 1 - stream->kept));
}

static bool submit_slow(Stream *stream, Command *c)
{
    if (!lock_with_room(c)) {
        command_free(c);
        return false;
    }
    enter(c);
    if (c->device->depth) {
        queue_append(stream, c);
        queue_run_ahead(stream);
    } else if (is_own(stream, c)) {
        keep(stream, c);
    } else {
        queue_append(stream, c);
        /* If the one before is run by this thread, its end starts this one. */
        if (stream->head == c && stream_passed(stream, c->seq - 1))
            queue_start(c);
    }
    pthread_mutex_unlock(&queues.lock);
    return true;
}

/* The number that was announced last is nobody's: it has passed when those before it
 * have. */
static void void_announced(Stream *stream, uint64_t seq)
{
    Command *last = NULL;
    for (Command *c = stream->kept ? mine.kept_first : NULL; c; c = c->next) {
        if (c->stream == stream)
            last = c;
    }
    if (last)
        last->last = seq;
    else
        pass(stream, seq);
}

bool stream_prepare(Command *c)
{
    Device *device = c->device;
    c->prepared = c->prepared || ((!device->depth || collector_start(device)) &&
                                  device->prepare(device, c));
    return c->prepared;
}

bool stream_submit(Stream *stream, Command *c)
{
    c->stream = stream;
    c->gathered = atomic_load_explicit(&stream->gathers, memory_order_relaxed);
    if (!stream_prepare(c)) {
        command_free(c);
        return false;
    }
    if (stream->tap && !c->again)
        stream->tap(stream->tap_payload, c);
    uint64_t last = atomic_load_explicit(&stream->submitted, memory_order_relaxed);
    if (!c->small || c->again || !stream_passed(stream, last - stream->kept) ||
        c->gathered || atomic_load_explicit(&halted, memory_order_relaxed))
        return submit_slow(stream, c);

    c->seq = c->last = last + 1;
    atomic_store(&stream->submitted, c->seq); /* announced */
    if (atomic_load(&halted) || !uses_own(c)) {
        void_announced(stream, c->seq);
        return submit_slow(stream, c);
    }
    keep(stream, c);
    return true;
}

/* ------------------------------------------------- halt, shutdown and fork */

/* On return the lock is held and no stream has work, nor gets any until 'halted' is
 * cleared. */
static void halt_locked(void)
{
    stream_run();
    pthread_mutex_lock(&queues.lock);
    while (atomic_load(&halted))
        pthread_cond_wait(&resumed, &queues.lock);
    atomic_store(&halted, true);
    /* Commands may submit commands, so go round until all are idle at once. */
    for (Stream *s = queues.streams; s;) {
        if (stream_is_idle(s)) {
            s = s->next;
        } else {
            wait_locked(s, stream_position(s));
            s = queues.streams;
        }
    }
}

static void resume_locked(void)
{
    atomic_store(&halted, false);
    pthread_cond_broadcast(&resumed);
    pthread_mutex_unlock(&queues.lock);
}

void stream_shutdown(void)
{
    if (mine.executing)
        return;
    halt_locked();
    Stream *s = queues.streams;
    queues.streams = NULL;
    atomic_store(&stream_count, 0);
    while (s) {
        Stream *next = s->next;
        if (stream_position(s) > base_position)
            base_position = stream_position(s);
        stream_release(s);
        s = next;
    }
    atomic_fetch_add(&epoch, 1);
    resume_locked();
}

/* A fork from inside of a command cannot wait for that: it takes the locks only, and in
 * the child no other command goes on. */
static void fork_prepare(void)
{
    if (mine.executing)
        pthread_mutex_lock(&queues.lock);
    else
        halt_locked();
    redo_fork_lock();
    buffer_fork_lock();
}

static void fork_parent(void)
{
    buffer_fork_unlock();
    redo_fork_unlock();
    if (mine.executing)
        pthread_mutex_unlock(&queues.lock);
    else
        resume_locked();
}

static void fork_child(void)
{
    /* The other threads, those asleep here among them, are in the parent only. */
    pthread_cond_init(&queues.progress, NULL);
    pthread_cond_init(&resumed, NULL);
    queues.sleeping = 0;
    for (Stream *s = queues.streams; s; s = s->next) {
        s->orphan = true;
        for (uint32_t i = 0; i < DEVICE_MOST; i++)
            s->orphan = s->orphan && s != mine.own[i];
    }
    queue_recount(); /* of other threads, nothing goes on */
    collector_fork_child();
    fork_parent();
}
