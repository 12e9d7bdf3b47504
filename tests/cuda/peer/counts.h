/*
 * counts.h -- what a program has asked of the driver
 *
 * Written as JSON to the file that CUDA_SIM_COUNTS names when the process ends, and to
 * a buffer by cudaSimCounts(), a function that no driver has.
 */
#ifndef CUDA_PEER_COUNTS_H
#define CUDA_PEER_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Everything that is counted. Directions: h is the host, d the device. */
#define COUNTS(X) \
    X(launches) \
    X(host_functions) \
    X(modules) \
    X(ptx_bytes) \
    X(parse_us) \
    X(run_us) \
    X(lane_steps) \
    X(copies_h2h) \
    X(copies_h2d) \
    X(copies_d2h) \
    X(copies_d2d) \
    X(bytes_h2h) \
    X(bytes_h2d) \
    X(bytes_d2h) \
    X(bytes_d2d) \
    X(memsets) \
    X(bytes_set) \
    X(allocations) \
    X(bytes_allocated) \
    X(releases) \
    X(stream_syncs) \
    X(event_syncs) \
    X(context_syncs) \
    X(blocking_copies) \
    X(events) \
    X(waits)

typedef struct Counts {
#define COUNTS_FIELD(name) uint64_t name;
    COUNTS(COUNTS_FIELD)
#undef COUNTS_FIELD
} Counts;

/** The counts as one JSON object. The length it has, as snprintf(). */
size_t counts_text(const Counts *counts, char *out, size_t size);
/** Write them to a file; false: that was not possible, errno says why. */
bool counts_write(const Counts *counts, const char *path);
/** Microseconds of a clock that never goes back. */
uint64_t counts_clock(void);

#endif
