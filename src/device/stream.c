/*
 * stream.c -- queues of jobs, their dependencies and their execution
 *
 * Positions.  A stream numbers its jobs 1, 2, ...; 'submitted' is the last number given
 * out (by the owning thread only), 'completed' the last one finished. It is idle when
 * they agree.
 *
 * The queue.  One mutex, 'lock', guards all queues, the list of offered jobs and the
 * sharing of buffers. The head job of each queue waits for its dependencies, is then
 * offered, and threads enter it (worker number = order of entry) and take blocks by an
 * atomic counter. The last thread to leave calls finish(), drops the references and
 * starts the next job.
 *
 * The fast path.  A small job on an idle stream takes no lock and no memory. It needs
 * to know that no other stream touches its buffers, so each buffer has an owner: the
 * one stream that uses it, as long as that is so. The thread announces a job (raises
 * 'submitted'), checks the owners, runs the job and raises 'completed'. A second stream
 * that comes along takes 'lock', removes the owner and then reads the owner's
 * 'submitted'. By the order of these steps it either finds the announced job, and waits
 * for it, or its removal is seen by the owner's check. In the latter case the owner
 * completes the announced number as an empty job (so that nobody waits for it in vain)
 * and goes the slow way under a new number.
 *
 * Buffers without an owner ("shared") name their last writer and reader; they get an
 * owner again when all other streams' uses are over.
 *
 * Why nothing can wait in a circle: the slow way gives a job its number and enters it
 * in all its buffers in one critical section, so jobs are ordered by it, and each waits
 * for earlier ones only. A job on the fast path waits for nothing.
 *
 * The thread that submits, helps in waiting: it enters the job it waits for. So
 * everything ends even with no worker at all.
 *
 * Lock order: config (pool.c) → lock → sleep_lock (pool.c) → cache lock (buffer.c).
 */
#include "device/stream.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "device/cpu/pool.h"

typedef struct Dependency {
    Stream *stream;
    uint64_t seq;
} Dependency;

typedef struct Job {
    struct Job *next;          /* in its stream's queue */
    struct Job *offered_next;  /* in the list of offered jobs */
    Stream *stream;
    uint64_t seq;
    void (*run)(void *payload, uint32_t block, uint32_t worker);
    void (*finish)(void *payload);
    void *payload;
    _Atomic uint64_t next_block; /* counts only: relaxed, 'lock' orders the contents */
    uint32_t blocks;
    uint32_t places;             /* number of threads that may enter */
    uint32_t entered, executing; /* threads that entered; those of them still inside */
    bool offered, blocked;       /* in the list; waits for a dependency */
    uint32_t dependency_count, buffer_count;
    Dependency *dependencies;    /* behind the job in memory, as are the buffers */
    Buffer **buffers;            /* references held */
} Job;

struct Stream {
    /* 'submitted' and 'completed' are read by any thread. Completing has release order
     * for the job's results; see the file's head for where sequential consistency is
     * needed. */
    _Atomic uint64_t submitted;
    _Atomic uint64_t completed;
    _Atomic bool waited;     /* somebody waits for progress; partner of 'completed' */
    _Atomic bool has_error;  /* 'error' is set */
    _Atomic uint32_t refs;
    bool orphan;             /* its thread has ended; free for a new one when idle */
    Job *head, *tail;
    Stream *next;            /* in 'streams' */
    ErrorRecord error;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER; /* see tell_waiters() */
static pthread_cond_t resumed = PTHREAD_COND_INITIALIZER;  /* 'halted' was cleared */
/* All guarded by 'lock'. */
static Stream *streams;
static uint32_t stream_count;
static Job *offered_first, *offered_last;
static uint32_t sleeping;      /* threads in a wait for 'progress' */
static uint64_t base_position; /* of new streams: beyond those of all freed ones */

/* Written under 'lock'; on the fast path the partner of 'submitted'. */
static _Atomic bool halted;
/* Raised by stream_shutdown(): thread-local pointers of older epochs are void. */
static _Atomic uint32_t epoch = 1;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* its destructor notices the end of a thread */
static bool key_valid;
static _Thread_local Stream *own;
static _Thread_local uint32_t own_epoch;
static _Thread_local Stream *executing; /* stream whose job this thread is inside of */

/* ------------------------------------------------------------------ streams */

static void end_thread(void *pointer)
{
    pthread_mutex_lock(&lock);
    if (own == pointer && own_epoch == atomic_load(&epoch))
        own->orphan = true;
    own = NULL;
    pthread_mutex_unlock(&lock);
}

static void fork_prepare(void);
static void fork_parent(void);
static void fork_child(void);

static void initialise(void)
{
    key_valid = pthread_key_create(&key, end_thread) == 0;
    (void) pthread_atfork(fork_prepare, fork_parent, fork_child);
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

static bool idle(const Stream *stream)
{
    return stream_passed(stream, stream_position(stream));
}

static Stream *find_or_create(void)
{
    for (Stream *s = streams; s; s = s->next) {
        if (s->orphan && idle(s)) {
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
    s->next = streams;
    streams = s;
    stream_count++;
    return s;
}

/* The thread's stream if it has one that is still valid. */
static Stream *own_stream(void)
{
    uint32_t now = atomic_load_explicit(&epoch, memory_order_acquire);
    return own_epoch == now ? own : NULL;
}

Stream *stream_self(void)
{
    if (own_stream())
        return own;
    pthread_once(&once, initialise);
    pthread_mutex_lock(&lock);
    own = find_or_create();
    own_epoch = atomic_load(&epoch);
    pthread_mutex_unlock(&lock);
    if (own && key_valid)
        (void) pthread_setspecific(key, own);
    return own;
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

/* Streams freed by a shutdown were idle: whatever names them is over. */
static bool registered(const Stream *stream)
{
    for (const Stream *s = streams; s; s = s->next) {
        if (s == stream)
            return true;
    }
    return false;
}

/* --------------------------------------------------------- uses of buffers */

/* Who uses a buffer, whether it is owned or shared. Only open uses are listed. */
typedef struct Uses {
    Dependency write, read; /* stream NULL: none */
    bool many;              /* more readers than can be named */
} Uses;

static Dependency open_use(Stream *stream, uint64_t seq)
{
    if (!stream || !registered(stream) || stream_passed(stream, seq))
        return (Dependency) {NULL, 0};
    return (Dependency) {stream, seq};
}

/* The uses by an owner that has just been taken away, or is looked at from outside.
 * With an empty queue, an open number is a job announced on the fast path, which may or
 * may not use this buffer; with a queue, every job has entered its number in the
 * buffer. */
static Uses owner_uses(const Buffer *buffer, Stream *owner)
{
    if (!owner || !registered(owner))
        return (Uses) {0};
    uint64_t announced = stream_position(owner);
    uint64_t write = atomic_load(&buffer->own_write);
    uint64_t read = atomic_load(&buffer->own_read);
    if (!owner->head && !stream_passed(owner, announced))
        write = read = announced;
    return (Uses) {.write = open_use(owner, write), .read = open_use(owner, read)};
}

static Uses shared_uses(const Buffer *buffer)
{
    return (Uses) {.write = open_use(buffer->writer, buffer->writer_seq),
                   .read = open_use(buffer->reader, buffer->reader_seq),
                   .many = buffer->readers_many};
}

/* The mark of a shared buffer in place of an owner: an address that no stream has. */
static Stream shared_mark;

/* Make 'stream' the owner if no other one uses the buffer, else make the buffer shared.
 */
static void settle(Buffer *buffer, Stream *stream)
{
    if (atomic_load(&buffer->owner) == stream)
        return;
    /* From here on, a former owner's fast path does not take the buffer any more. */
    Stream *former = atomic_exchange(&buffer->owner, &shared_mark);
    Uses uses = former == &shared_mark ? shared_uses(buffer)
                                       : owner_uses(buffer, former);

    if (!uses.many && (!uses.write.stream || uses.write.stream == stream) &&
        (!uses.read.stream || uses.read.stream == stream)) {
        atomic_store_explicit(&buffer->own_write, uses.write.seq, memory_order_relaxed);
        atomic_store_explicit(&buffer->own_read, uses.read.seq, memory_order_relaxed);
        atomic_store(&buffer->owner, stream);
        return;
    }
    buffer->writer = uses.write.stream;
    buffer->writer_seq = uses.write.seq;
    buffer->reader = uses.read.stream;
    buffer->reader_seq = uses.read.seq;
    buffer->readers_many = uses.many;
}

/* Receives dependencies. With no room it only keeps the last one. */
typedef struct Collector {
    const Stream *stream;  /* the one that will wait */
    Dependency *entries;   /* one for each stream at most */
    uint32_t count;
    Dependency any;        /* one of them; stream NULL: none */
} Collector;

static void collect(Collector *to, Dependency use)
{
    if (!use.stream || use.stream == to->stream)
        return;
    to->any = use;
    if (!to->entries)
        return;
    for (uint32_t i = 0; i < to->count; i++) {
        if (to->entries[i].stream == use.stream) {
            if (to->entries[i].seq < use.seq)
                to->entries[i].seq = use.seq;
            return;
        }
    }
    to->entries[to->count++] = use;
}

static void collect_uses(Collector *to, const Buffer *buffer, bool for_write)
{
    if (atomic_load(&buffer->owner) != &shared_mark)
        return;
    Uses uses = shared_uses(buffer);
    collect(to, uses.write);
    if (!for_write)
        return;
    collect(to, uses.read);
    if (uses.many) {
        for (Stream *s = streams; s; s = s->next)
            collect(to, open_use(s, stream_position(s)));
    }
}

static void collect_all(Collector *to, const JobSpec *spec)
{
    for (uint32_t i = 0; i < spec->read_count; i++)
        collect_uses(to, spec->reads[i], false);
    for (uint32_t i = 0; i < spec->write_count; i++)
        collect_uses(to, spec->writes[i], true);
}

static void settle_all(const JobSpec *spec, Stream *stream)
{
    for (uint32_t i = 0; i < spec->read_count; i++)
        settle(spec->reads[i], stream);
    for (uint32_t i = 0; i < spec->write_count; i++)
        settle(spec->writes[i], stream);
}

/* Enter job 'seq' of 'stream' in its (settled) buffers. */
static void mark_all(const JobSpec *spec, Stream *stream, uint64_t seq)
{
    for (uint32_t i = 0; i < spec->read_count; i++) {
        Buffer *b = spec->reads[i];
        if (atomic_load(&b->owner) == stream) {
            atomic_store_explicit(&b->own_read, seq, memory_order_relaxed);
        } else if (!b->reader || b->reader == stream) {
            b->reader = stream;
            b->reader_seq = seq;
        } else {
            b->readers_many = true;
        }
    }
    for (uint32_t i = 0; i < spec->write_count; i++) {
        Buffer *b = spec->writes[i];
        if (atomic_load(&b->owner) == stream) {
            atomic_store_explicit(&b->own_write, seq, memory_order_relaxed);
        } else {
            b->writer = stream;
            b->writer_seq = seq;
            b->reader = NULL;
            b->readers_many = false;
        }
    }
}

/* --------------------------------------------------------------- execution */

static void unlist(Job *job)
{
    if (!job->offered)
        return;
    job->offered = false;
    Job *before = NULL;
    for (Job *j = offered_first; j != job; j = j->offered_next)
        before = j;
    if (before)
        before->offered_next = job->offered_next;
    else
        offered_first = job->offered_next;
    if (offered_last == job)
        offered_last = before;
}

/* Offer the head job of a queue, or note what it waits for. */
static void start(Job *job)
{
    while (job->dependency_count) {
        Dependency d = job->dependencies[job->dependency_count - 1];
        if (!stream_passed(d.stream, d.seq)) {
            /* Either we see its completion now, or it sees 'waited' then. */
            atomic_store(&d.stream->waited, true);
            if (!stream_passed(d.stream, d.seq)) {
                job->blocked = true;
                return;
            }
        }
        job->dependency_count--;
    }
    job->blocked = false;
    job->offered = true;
    job->offered_next = NULL;
    if (offered_last)
        offered_last->offered_next = job;
    else
        offered_first = job;
    offered_last = job;

    uint32_t useful = job->blocks < job->places ? job->blocks : job->places;
    pool_notify(useful ? useful : 1);
    if (sleeping)
        pthread_cond_broadcast(&progress);
}

/* A stream somebody waits for has moved on. */
static void tell_waiters(Stream *stream)
{
    if (!atomic_load(&stream->waited))
        return;
    atomic_store(&stream->waited, false);
    for (Stream *s = streams; s; s = s->next) {
        if (s->head && s->head->blocked)
            start(s->head);
    }
    pthread_cond_broadcast(&progress);
}

/* All blocks are done. Called and left with the lock held, which is dropped meanwhile.
 */
static void complete(Job *job)
{
    Stream *stream = job->stream;
    pthread_mutex_unlock(&lock);
    if (job->finish) {
        Stream *outer = executing;
        executing = stream;
        job->finish(job->payload);
        executing = outer;
    }
    for (uint32_t i = 0; i < job->buffer_count; i++)
        buffer_release(job->buffers[i]);
    pthread_mutex_lock(&lock);

    stream->head = job->next;
    if (!stream->head)
        stream->tail = NULL;
    atomic_store(&stream->completed, job->seq);
    if (stream->head)
        start(stream->head);
    tell_waiters(stream);
    alloc_free(job);
}

/* Take part in an offered job. Called and left with the lock held. */
static void enter(Job *job)
{
    uint32_t worker = job->entered++;
    job->executing++;
    if (job->entered == job->places)
        unlist(job);
    pthread_mutex_unlock(&lock);

    Stream *outer = executing;
    executing = job->stream;
    for (;;) {
        uint64_t block = atomic_fetch_add_explicit(&job->next_block, 1,
                                                   memory_order_relaxed);
        if (block >= job->blocks)
            break;
        if (job->run)
            job->run(job->payload, (uint32_t) block, worker);
    }
    executing = outer;

    pthread_mutex_lock(&lock);
    unlist(job);
    if (--job->executing == 0)
        complete(job);
}

bool stream_work(void)
{
    pthread_mutex_lock(&lock);
    Job *job = offered_first;
    if (job)
        enter(job);
    pthread_mutex_unlock(&lock);
    return job != NULL;
}

bool stream_in_job(void)
{
    return executing != NULL;
}

/* Do something that brings 'stream' forward; false if others are at it already. */
static bool help(const Stream *stream)
{
    Job *job = stream->head;
    if (job && job->blocked)
        job = offered_first;
    if (!job || !job->offered)
        return false;
    enter(job);
    return true;
}

/* Wait with the lock held. Inside of a job of the same stream the wait could not end,
 * so it does not begin. */
static void wait_locked(Stream *stream, uint64_t position)
{
    bool spin = pool_may_spin();
    while (!stream_passed(stream, position) && executing != stream) {
        if (help(stream))
            continue;
        if (spin) {
            pthread_mutex_unlock(&lock);
            uint64_t since = clock_ns();
            while (!stream_passed(stream, position) && pool_spin(since))
                ;
            pthread_mutex_lock(&lock);
            spin = false;
            continue;
        }
        atomic_store(&stream->waited, true);
        if (stream_passed(stream, position))
            break;
        sleeping++;
        pthread_cond_wait(&progress, &lock);
        sleeping--;
    }
}

/* -------------------------------------------------------------- submission */

/* What the completion of a job run in the calling thread has to do for others: wake
 * them, and start what the job itself has submitted. */
static void follow_up(Stream *stream)
{
    pthread_mutex_lock(&lock);
    if (stream->head && !stream->head->offered && !stream->head->blocked &&
        !stream->head->entered)
        start(stream->head);
    tell_waiters(stream);
    if (pool_workers() == 0)
        wait_locked(stream, stream_position(stream));
    pthread_mutex_unlock(&lock);
}

static void pass(Stream *stream, uint64_t seq)
{
    atomic_store(&stream->completed, seq);
    if (atomic_load(&stream->waited) ||
        atomic_load_explicit(&stream->submitted, memory_order_relaxed) != seq)
        follow_up(stream);
}

static void run_blocks(Stream *stream, const JobSpec *spec)
{
    Stream *outer = executing;
    executing = stream;
    if (spec->run) {
        for (uint32_t block = 0; block < spec->blocks; block++)
            spec->run(spec->payload, block, 0);
    }
    if (spec->finish)
        spec->finish(spec->payload);
    executing = outer;
}

static Job *create_job(Stream *stream, const JobSpec *spec)
{
    uint32_t buffer_count = spec->read_count + spec->write_count;
    Job *job = alloc_get(sizeof(Job) + stream_count * sizeof(Dependency) +
                         buffer_count * sizeof(Buffer *));
    TRY(job, NULL);
    *job = (Job) {.stream = stream, .run = spec->run, .finish = spec->finish,
                  .payload = spec->payload, .blocks = spec->blocks,
                  .places = spec->workers ? spec->workers : pool_worker_bound(),
                  .dependencies = (Dependency *) (job + 1)};
    job->buffers = (Buffer **) (job->dependencies + stream_count);
    for (uint32_t i = 0; i < spec->read_count; i++)
        job->buffers[job->buffer_count++] = spec->reads[i];
    for (uint32_t i = 0; i < spec->write_count; i++)
        job->buffers[job->buffer_count++] = spec->writes[i];
    for (uint32_t i = 0; i < buffer_count; i++)
        buffer_retain(job->buffers[i]);
    return job;
}

/* The error of a queue entry that could not be had is nobody's business. */
static Job *create_job_quietly(Stream *stream, const JobSpec *spec)
{
    ErrorRecord before;
    error_save(&before);
    Job *job = create_job(stream, spec);
    if (!job)
        error_restore(&before);
    return job;
}

/* With the lock held. What jobs submit is part of what a halt waits for, so they go on.
 */
static void wait_resumed(void)
{
    while (atomic_load(&halted) && !executing)
        pthread_cond_wait(&resumed, &lock);
}

/* An open dependency of a job that is not submitted yet; also settles its buffers. */
static Dependency open_dependency(Stream *stream, const JobSpec *spec)
{
    settle_all(spec, stream);
    Collector collector = {.stream = stream};
    collect_all(&collector, spec);
    return collector.any;
}

/* Wait until nothing is before the job, then run it here. With the lock held, and
 * released on return. A job submitted from inside of another one of its stream has no
 * turn of its own and becomes a part of that. */
static void run_here(Stream *stream, const JobSpec *spec)
{
    bool inside = executing == stream;
    for (;;) {
        wait_resumed();
        Dependency d = open_dependency(stream, spec);
        if (!inside && !idle(stream))
            wait_locked(stream, stream_position(stream));
        else if (d.stream)
            wait_locked(d.stream, d.seq);
        else
            break;
    }
    uint64_t seq = stream_position(stream) + (inside ? 0 : 1);
    mark_all(spec, stream, seq);
    atomic_store(&stream->submitted, seq);
    pthread_mutex_unlock(&lock);
    run_blocks(stream, spec);
    if (!inside)
        pass(stream, seq);
}

static void enqueue(Stream *stream, const JobSpec *spec, Job *job)
{
    Collector collector = {.stream = stream, .entries = job->dependencies};
    settle_all(spec, stream);
    collect_all(&collector, spec);
    job->dependency_count = collector.count;
    job->seq = stream_position(stream) + 1;
    mark_all(spec, stream, job->seq);
    if (stream->tail)
        stream->tail->next = job;
    else
        stream->head = job;
    stream->tail = job;
    atomic_store(&stream->submitted, job->seq);
    /* If the job before is run by its submitter (who is us), that starts this one. */
    if (stream->head == job && stream_passed(stream, job->seq - 1))
        start(job);
}

/* Can the job run in the calling thread now, or must it, for lack of workers? */
static bool belongs_here(Stream *stream, const JobSpec *spec)
{
    if (pool_size() == 1)
        return executing != stream;
    return spec->small && idle(stream) && !open_dependency(stream, spec).stream;
}

static void submit_slow(Stream *stream, const JobSpec *spec)
{
    pthread_mutex_lock(&lock);
    wait_resumed();
    bool here;
    while (!(here = belongs_here(stream, spec)) && pool_size() > 1 &&
           pool_workers() == 0) {
        /* The lock of pool_start() precedes ours. */
        pthread_mutex_unlock(&lock);
        pool_start();
        pthread_mutex_lock(&lock);
        wait_resumed();
    }
    Job *job = here ? NULL : create_job_quietly(stream, spec);
    if (!job) {
        run_here(stream, spec);
        return;
    }
    enqueue(stream, spec, job);
    pthread_mutex_unlock(&lock);
}

/* Does the stream own the buffer? It takes those that nobody ever used. */
static bool owns(Stream *stream, Buffer *buffer)
{
    Stream *owner = atomic_load(&buffer->owner);
    return owner == stream ||
           (!owner && atomic_compare_exchange_strong(&buffer->owner, &owner, stream));
}

static bool owns_all(Stream *stream, const JobSpec *spec)
{
    for (uint32_t i = 0; i < spec->read_count; i++)
        TRY(owns(stream, spec->reads[i]), false);
    for (uint32_t i = 0; i < spec->write_count; i++)
        TRY(owns(stream, spec->writes[i]), false);
    return true;
}

void stream_submit(Stream *stream, const JobSpec *spec)
{
    uint64_t last = atomic_load_explicit(&stream->submitted, memory_order_relaxed);
    if (!spec->small || !stream_passed(stream, last) ||
        atomic_load_explicit(&halted, memory_order_relaxed)) {
        submit_slow(stream, spec);
        return;
    }

    uint64_t seq = last + 1;
    atomic_store(&stream->submitted, seq); /* announced */
    if (atomic_load(&halted) || !owns_all(stream, spec)) {
        pass(stream, seq);
        submit_slow(stream, spec);
        return;
    }
    for (uint32_t i = 0; i < spec->read_count; i++)
        atomic_store_explicit(&spec->reads[i]->own_read, seq, memory_order_relaxed);
    for (uint32_t i = 0; i < spec->write_count; i++)
        atomic_store_explicit(&spec->writes[i]->own_write, seq, memory_order_relaxed);
    run_blocks(stream, spec);
    pass(stream, seq);
}

/* ----------------------------------------------------------------- waiting */

void stream_wait(Stream *stream, uint64_t position)
{
    if (stream_passed(stream, position))
        return;
    pthread_mutex_lock(&lock);
    wait_locked(stream, position);
    pthread_mutex_unlock(&lock);
}

void stream_sync(Stream *stream)
{
    stream_wait(stream, stream_position(stream));
}

void stream_sync_all(void)
{
    pthread_mutex_lock(&lock);
    for (Stream *s = streams; s; s = s->next)
        wait_locked(s, stream_position(s));
    pthread_mutex_unlock(&lock);
}

void stream_run_queued(void)
{
    pthread_once(&once, initialise); /* whoever forks has to know of workers */
    pthread_mutex_lock(&lock);
    for (Stream *s = streams; s && pool_workers() == 0;) {
        if (s->head) {
            wait_locked(s, stream_position(s));
            s = streams; /* jobs may have submitted jobs */
        } else {
            s = s->next;
        }
    }
    pthread_mutex_unlock(&lock);
}

static Uses current_uses(const Buffer *buffer)
{
    Stream *owner = atomic_load(&buffer->owner);
    return owner == &shared_mark ? shared_uses(buffer) : owner_uses(buffer, owner);
}

void stream_sync_buffer(const Buffer *buffer)
{
    if (own_stream() && atomic_load(&buffer->owner) == own) {
        stream_wait(own, atomic_load(&buffer->own_write));
        return;
    }
    pthread_mutex_lock(&lock);
    Dependency write = current_uses(buffer).write;
    if (write.stream)
        wait_locked(write.stream, write.seq);
    pthread_mutex_unlock(&lock);
}

void stream_sync_buffer_write(const Buffer *buffer)
{
    pthread_mutex_lock(&lock);
    Uses uses = current_uses(buffer);
    if (uses.write.stream)
        wait_locked(uses.write.stream, uses.write.seq);
    if (uses.read.stream)
        wait_locked(uses.read.stream, uses.read.seq);
    if (uses.many) {
        for (Stream *s = streams; s; s = s->next)
            wait_locked(s, stream_position(s));
    }
    pthread_mutex_unlock(&lock);
}

/* ------------------------------------------------------------------ errors */

void stream_fail(Stream *stream, const ErrorRecord *error)
{
    pthread_mutex_lock(&lock);
    if (!atomic_load(&stream->has_error)) {
        stream->error = *error;
        atomic_store(&stream->has_error, true);
    }
    pthread_mutex_unlock(&lock);
}

bool stream_check(Stream *stream)
{
    if (!atomic_load(&stream->has_error))
        return true;
    pthread_mutex_lock(&lock);
    error_restore(&stream->error);
    atomic_store(&stream->has_error, false);
    pthread_mutex_unlock(&lock);
    return false;
}

/* ------------------------------------------------- halt, shutdown and fork */

/* On return the lock is held and no stream has work, nor gets any until 'halted' is
 * cleared. */
static void halt_locked(void)
{
    pthread_mutex_lock(&lock);
    while (atomic_load(&halted))
        pthread_cond_wait(&resumed, &lock);
    atomic_store(&halted, true);
    /* Jobs may submit jobs, so go round until all are idle at once. */
    for (Stream *s = streams; s;) {
        if (idle(s)) {
            s = s->next;
        } else {
            wait_locked(s, stream_position(s));
            s = streams;
        }
    }
}

static void resume_locked(void)
{
    atomic_store(&halted, false);
    pthread_cond_broadcast(&resumed);
    pthread_mutex_unlock(&lock);
}

void stream_shutdown(void)
{
    if (executing)
        return;
    pool_stop();
    halt_locked();
    Stream *s = streams;
    streams = NULL;
    stream_count = 0;
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

/* A fork from inside of a job cannot wait for that job: it takes the locks only, and in
 * the child no other job goes on. */
static void fork_prepare(void)
{
    if (executing) {
        pthread_mutex_lock(&lock);
    } else {
        pool_fork_lock();
        halt_locked();
    }
    buffer_fork_lock();
}

static void fork_parent(void)
{
    buffer_fork_unlock();
    if (executing) {
        pthread_mutex_unlock(&lock);
    } else {
        resume_locked();
        pool_fork_unlock();
    }
}

static void fork_child(void)
{
    /* The other threads, those asleep here among them, are in the parent only. */
    pthread_cond_init(&progress, NULL);
    pthread_cond_init(&resumed, NULL);
    sleeping = 0;
    for (Stream *s = streams; s; s = s->next)
        s->orphan = s != own;
    pool_fork_child(!executing);
    fork_parent();
}
