/*
 * job_time.h -- how long a job ran, for the kernel history
 *
 * The time counts from the first block that starts to the end of finish(). A JobTime
 * without a callback measures nothing.
 */
#ifndef DEVICE_JOB_TIME_H
#define DEVICE_JOB_TIME_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"

/** Whom to tell the time of a job: 'call' (may be NULL) is called exactly once, with 0
 *  if there was nothing to do. */
typedef struct JobReport {
    void (*call)(void *payload, uint64_t ns);
    void *payload;
} JobReport;

typedef struct JobTime {
    void (*report)(void *payload, uint64_t ns); /* NULL: nobody wants to know */
    void *payload;
    _Atomic uint64_t begin; /* 0 = no block has started */
} JobTime;

/** To be called at the start of each block. */
static inline void job_time_begin(JobTime *time)
{
    if (time->report && atomic_load_explicit(&time->begin, memory_order_relaxed) == 0) {
        uint64_t none = 0;
        atomic_compare_exchange_strong_explicit(&time->begin, &none, clock_ns(),
                                                memory_order_relaxed,
                                                memory_order_relaxed);
    }
}

/** To be called in finish(). */
static inline void job_time_end(JobTime *time)
{
    if (time->report) {
        uint64_t begin = atomic_load_explicit(&time->begin, memory_order_relaxed);
        time->report(time->payload, begin ? clock_ns() - begin : 0);
    }
}

/** Report work that takes no time, or does not run. */
static inline void job_time_none(JobReport report)
{
    if (report.call)
        report.call(report.payload, 0);
}

#endif
