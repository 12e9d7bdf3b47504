/*
 * bytes_target.h -- what the targets in bytes_*.c have in common
 *
 * Each is a program of its own, with libFuzzer's main() where the build has libFuzzer,
 * and that of bytes_replay.c elsewhere.
 */
#ifndef FUZZ_BYTES_TARGET_H
#define FUZZ_BYTES_TARGET_H

#include <stddef.h>
#include <stdint.h>

/** What became of an input. */
typedef enum BytesOutcome {
    BYTES_REFUSED,
    BYTES_ACCEPTED, /* but it was not run */
    BYTES_RUN,
    BYTES_OUTCOMES
} BytesOutcome;

/** Of the last one. */
extern BytesOutcome bytes_outcome;

/** What libFuzzer calls; 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
