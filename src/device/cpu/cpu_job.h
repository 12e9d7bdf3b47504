/*
 * cpu_job.h -- how the CPU runs a command: blocks, taken by any number of threads
 *
 * The function of a command's kind (cpu_kinds[]) turns it into a job: a function that
 * is called for blocks 0 ... blocks-1. The thread that leaves last calls 'finish',
 * which ends the command or begins another phase of it, with blocks of its own.
 *
 *     prepare ──► run(0) run(1) ... ──► finish ──► end
 *                      ▲                  └─► another phase
 *                      └──────────────────────┘
 */
#ifndef DEVICE_CPU_CPU_JOB_H
#define DEVICE_CPU_CPU_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"

/** What else a job runs than its own command: those that have joined it (cpu_group.h).
 *  A part of something larger. */
typedef struct CpuGroup CpuGroup;
struct CpuGroup {
    /** All have ended: what became of them, in memory of the group. An error is that of
     *  all. */
    const CommandResult *(*results)(CpuGroup *group);
    /** Nobody needs these any more. */
    void (*release)(CpuGroup *group);
};

typedef struct CpuJob CpuJob;
struct CpuJob {
    Command *command;
    /** Called for each block, concurrently, with distinct worker numbers, below
     *  'workers'. Must not wait for streams. */
    void (*run)(CpuJob *job, uint32_t block, uint32_t worker);
    /** Called after the last block of a phase (NULL: that was all). False: 'run' and
     *  'blocks' are those of the next phase now. */
    bool (*finish)(CpuJob *job);
    /** Give back what the state holds beside its memory (NULL: nothing). */
    void (*release)(CpuJob *job);
    /** Do all that the command has to do for lanes begin ... end-1, as a worker; there
     *  is nothing left for 'finish' then. NULL: it is not made of lanes. 'begin' is a
     *  multiple of 'granule', and there are 'most' lanes at most (cpu_chain.h). 'args'
     *  are those of a launch. */
    void (*range)(CpuJob *job, const uint64_t *args, uint32_t begin, uint32_t end,
                  uint32_t worker);
    uint32_t granule, most;
    void *state;      /* of the kind's, see cpu_job_state() */
    uint32_t blocks;
    uint32_t workers; /* 0: all there are */
    bool small;       /* too small to be worth sharing */
    bool patient;     /* nobody knows how long it takes: begun by who submits it,
                         and shared when that proves to be worth while */
    _Atomic(ErrorRecord *) error; /* NULL: nothing went wrong */

    CpuGroup *group; /* NULL: it runs its own command only */

    /* use of cpu_job.c */
    struct CpuJob *offered_next;
    _Atomic uint64_t next_block; /* only counts: relaxed, the lock orders contents */
    _Atomic uint64_t begin;      /* time of the first block, if timed; 0: none yet */
    uint32_t entered, executing; /* threads that entered; those of them still inside */
    bool offered;
};

/** Behind the job in memory: room for a small state. */
enum { CPU_JOB_ROOM = 128 };
static inline void *cpu_job_room(CpuJob *job) { return job + 1; }

/** Memory for the state of a job, zeroed; it goes with the job. NULL: out of memory. */
void *cpu_job_state(CpuJob *job, size_t size);
/** The calling thread's error is that of the job, unless it has one. */
void cpu_job_fail(CpuJob *job);

/** The functions of Device for the CPU's own threads. */
bool cpu_job_prepare(Device *device, Command *command);
void cpu_job_discard(Device *device, Command *command);
bool cpu_job_run(Device *device, Command *command, CommandResult *result);
void cpu_job_start(Device *device, Command *command);
bool cpu_job_help(Device *device, const struct Stream *stream);

/** Have some of its blocks been computed? */
bool cpu_job_has_begun(const CpuJob *job);

/** For pool.c: execute blocks of one offered job; false if nothing is offered. */
bool cpu_job_work(void);
/** Around fork(); in the child nothing is offered any more. */
void cpu_job_fork_lock(void);
void cpu_job_fork_unlock(bool child);

/* The kinds of commands, each in its own file: plan the job. */
extern bool (*const cpu_kinds[COMMAND_COUNT])(CpuJob *job);
#define CPU_KIND(name, function) bool function(CpuJob *job);
#include "device/cpu/cpu_kinds.def"
#undef CPU_KIND

#endif
