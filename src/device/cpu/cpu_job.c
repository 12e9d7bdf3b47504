/*
 * cpu_job.c -- commands on the CPU's threads
 *
 * The list of offered jobs is what the pool's threads, and those that wait for streams,
 * take work from: they enter a job (worker number = order of entry), take blocks by an
 * atomic counter, and leave when there is none left. No number is handed out twice, and
 * no more threads enter than the job has places for, since memory may have been sized
 * by that. The last thread to leave ends the phase.
 *
 * A patient job is begun by the thread that submitted it, as worker 0. If blocks are
 * left after SHARE_NS, which is about what waking a thread costs, the job is offered as
 * if nobody had entered yet: this thread has left, and nobody else was there.
 *
 * Lock order: the lock of stream.c → 'lock' → the locks of pool.c.
 */
#include "device/cpu/cpu_job.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "watch/profile.h"
#include "device/cpu/pool.h"
#include "device/device.h"
#include "device/stream.h"
#include "os/clock.h"

enum { SHARE_NS = 20000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CpuJob *offered_first, *offered_last; /* guarded by 'lock' */

static CpuJob *job_of(const Command *command)
{
    return command->job;
}

/* ------------------------------------------------------------------ planning */

void *cpu_job_state(CpuJob *job, size_t size)
{
    job->state = size <= CPU_JOB_ROOM ? cpu_job_room(job) : alloc_get(size);
    if (job->state)
        memset(job->state, 0, size);
    return job->state;
}

/* Serves where there is no memory for another record. */
static ErrorRecord no_memory = {
    JIT_ERROR_MEMORY, "out of memory: what went wrong could not be noted"
};

void cpu_job_fail(CpuJob *job)
{
    ErrorRecord found, *none = NULL;
    error_save(&found);
    ErrorRecord *record = alloc_get(sizeof *record);
    if (record)
        *record = found;
    else
        record = &no_memory;
    if (!atomic_compare_exchange_strong(&job->error, &none, record) &&
        record != &no_memory)
        alloc_free(record);
}

bool cpu_job_prepare(Device *device, Command *command)
{
    (void) device;
    CpuJob *job = job_of(command);
    *job = (CpuJob) { .command = command, .state = cpu_job_room(job) };
    if (!cpu_kinds[command->kind](job)) {
        cpu_job_discard(device, command);
        return false;
    }
    if (!job->workers)
        job->workers = pool_worker_bound();
    command->small = job->small || job->patient;
    if (!command->small || command->gathered)
        pool_start();
    return true;
}

void cpu_job_discard(Device *device, Command *command)
{
    (void) device;
    CpuJob *job = job_of(command);
    if (job->release && job->state)
        job->release(job);
    if (job->state != cpu_job_room(job))
        alloc_free(job->state);
    ErrorRecord *error = atomic_load(&job->error);
    if (error != &no_memory)
        alloc_free(error);
}

/* ----------------------------------------------------------------- execution */

/* Has somebody asked for this job to stop? */
static bool is_interrupted(const CpuJob *job)
{
    return job->command->interrupts != interrupt_requests() &&
           job->command->kind != COMMAND_HOST;
}

static void note_begin(CpuJob *job)
{
    uint64_t none = 0;
    if (job->command->timed &&
        atomic_load_explicit(&job->begin, memory_order_relaxed) == 0)
        atomic_compare_exchange_strong_explicit(&job->begin, &none, clock_ns(),
                                                memory_order_relaxed,
                                                memory_order_relaxed);
}

/* What a thread does for a job is a range on its line of a profile. */
static bool begin_range(const CpuJob *job)
{
    if (!profile_enabled())
        return false;
    const Command *c = job->command;
    uint64_t name = c->kind == COMMAND_LAUNCH ? c->launch.code->name : 0;
    return name ? profile_begin_if("kernel %016llx", (unsigned long long) name)
                : profile_begin_if("%s", command_info[c->kind].name);
}

static void end_range(bool begun)
{
    if (begun)
        profile_end();
}

static CommandResult find_result(CpuJob *job)
{
    CommandResult result = { .error = atomic_load(&job->error) };
    if (job->command->timed) {
        uint64_t begin = atomic_load_explicit(&job->begin, memory_order_relaxed);
        result.end = clock_ns();
        result.ns = begin ? result.end - begin : 0;
    }
    return result;
}

/* The phase is over; is there another one? Not after an error. */
static bool next_phase(CpuJob *job)
{
    if (!job->finish || job->command->cause || atomic_load(&job->error) ||
        is_interrupted(job) || job->finish(job))
        return false;
    atomic_store_explicit(&job->next_block, 0, memory_order_relaxed);
    job->entered = 0;
    return true;
}

bool cpu_job_run(Device *device, Command *command, CommandResult *result)
{
    (void) device;
    CpuJob *job = job_of(command);
    bool shared = job->patient && job->blocks > 1 && job->workers > 1;
    uint64_t since = shared ? clock_ns() : 0;
    bool range = begin_range(job);
    do {
        note_begin(job);
        for (uint32_t block = 0; block < job->blocks; ++block) {
            if (is_interrupted(job))
                break;
            if (shared && block && clock_ns() - since > SHARE_NS && pool_start()) {
                atomic_store_explicit(&job->next_block, block, memory_order_relaxed);
                end_range(range);
                return false; /* number 0 is free again */
            }
            job->run(job, block, 0);
        }
    } while (next_phase(job));
    end_range(range);
    *result = find_result(job);
    return true;
}

/* --------------------------------------------------------------------- offers */

/* With the lock held. */
static void offer(CpuJob *job)
{
    job->offered = true;
    job->offered_next = NULL;
    if (offered_last)
        offered_last->offered_next = job;
    else
        offered_first = job;
    offered_last = job;
    uint32_t useful = job->blocks < job->workers ? job->blocks : job->workers;
    pool_notify(useful ? useful : 1);
}

static void unlist(CpuJob *job)
{
    if (!job->offered)
        return;
    job->offered = false;
    CpuJob *before = NULL;
    for (CpuJob *j = offered_first; j != job; j = j->offered_next)
        before = j;
    if (before)
        before->offered_next = job->offered_next;
    else
        offered_first = job->offered_next;
    if (offered_last == job)
        offered_last = before;
}

/* Take blocks until there is none left. */
static void take_blocks(CpuJob *job, uint32_t worker)
{
    uint32_t blocks = job->command->cause ? 0 : job->blocks;
    bool range = begin_range(job);
    for (;;) {
        uint64_t block = atomic_fetch_add_explicit(&job->next_block, 1,
                                                   memory_order_relaxed);
        if (block >= blocks || is_interrupted(job))
            break;
        note_begin(job);
        job->run(job, (uint32_t) block, worker);
    }
    end_range(range);
}

static void complete(CpuJob *job)
{
    CpuGroup *group = job->group; /* the job goes with its command */
    if (group) {
        stream_complete(job->command, group->results(group));
        group->release(group);
    } else {
        CommandResult result = find_result(job);
        stream_complete(job->command, &result);
    }
}

/* Take part in an offered job. Called and left with the lock held. */
static void enter(CpuJob *job)
{
    uint32_t worker = job->entered++;
    job->executing++;
    if (job->entered == job->workers)
        unlist(job);
    pthread_mutex_unlock(&lock);
    struct Stream *outer = stream_execute(job->command->stream);
    take_blocks(job, worker);
    pthread_mutex_lock(&lock);
    unlist(job);
    bool last = --job->executing == 0;
    pthread_mutex_unlock(&lock);
    bool again = last && next_phase(job);
    if (last && !again)
        complete(job);
    stream_execute(outer);
    pthread_mutex_lock(&lock);
    if (again)
        offer(job);
}

bool cpu_job_has_begun(const CpuJob *job)
{
    return atomic_load_explicit(&job->next_block, memory_order_relaxed) != 0;
}

void cpu_job_start(Device *device, Command *command)
{
    (void) device;
    pthread_mutex_lock(&lock);
    offer(job_of(command));
    pthread_mutex_unlock(&lock);
}

bool cpu_job_help(Device *device, const struct Stream *stream)
{
    (void) device;
    pthread_mutex_lock(&lock);
    CpuJob *job = offered_first;
    while (job && stream && job->command->stream != stream)
        job = job->offered_next;
    if (job)
        enter(job);
    pthread_mutex_unlock(&lock);
    return job != NULL;
}

bool cpu_job_work(void)
{
    return cpu_job_help(NULL, NULL);
}

void cpu_job_fork_lock(void)
{
    pthread_mutex_lock(&lock);
}

void cpu_job_fork_unlock(bool child)
{
    if (child) /* after a fork from inside of a command, others go on in the parent */
        offered_first = offered_last = NULL;
    pthread_mutex_unlock(&lock);
}
