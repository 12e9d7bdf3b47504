/*
 * harness.h -- what every benchmark of the core needs: clock, median, output, checks
 *
 * A measure warms its work up, checks the result against a reference, times it and
 * prints one line of JSON per case: {"measure", "case", "value", "unit"}. Lower is
 * better unless the unit ends in "/s". Failures end the process with a message: a
 * benchmark has nothing to recover to, and a wrong result must not be timed.
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Seconds on a clock that only runs forward. */
double harness_clock(void);

/* Median of 'count' values; sorts them. */
double harness_median(double *values, size_t count);

/* Print one result. */
void harness_emit(const char *measure, const char *name, double value,
                  const char *unit);

/* The same with the best of the repetitions, which noise touches least, beside their
 * median: sorts them. */
void harness_emit_times(const char *measure, const char *name, double *values,
                        size_t count, double scale, const char *unit);

/* End the process with the message, and the library's own if there is one, unless
 * 'condition' holds. */
void harness_require(bool condition, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Are the two equal within a relative error (or both NaN, or the same infinity)? */
bool harness_close(double value, double expected, double relative);

/* Median time in seconds of work(payload), after a warm-up that lasts until the engine
 * choice has settled (at least three runs and 'warm_seconds'). */
double harness_time(void (*work)(void *payload), void *payload, double warm_seconds);

/* Memory with 'size' bytes for host-side references; free() releases it. */
void *harness_alloc(size_t size);

/* Resident memory of this process in bytes: now, and at its peak. */
size_t harness_resident(void);
size_t harness_peak_resident(void);

/* How many times the work of one thread 'count' threads get done at once: 'count' on an
 * undisturbed machine. */
double harness_parallelism(uint32_t count);

/* Run body(payload, t) for t = 0 ... count - 1, each in a thread of its own. */
void harness_parallel(uint32_t count, void (*body)(void *payload, uint32_t t),
                      void *payload);

#endif
