/*
 * fuzz_run.h -- run a random Program on an engine
 *
 * A job names a Program by its seed, so that it is easily sent to another process
 * (fuzz_peer.h); what an engine made of it is bytes to be compared.
 */
#ifndef FUZZ_FUZZ_RUN_H
#define FUZZ_FUZZ_RUN_H

#include <stdio.h>

#include "engine/engine.h"
#include "random_program.h"

/** Where arrays lie: in one block between bytes that nobody may change, or each before
 *  (behind) a page that cannot be touched. */
typedef enum FuzzGuard { GUARD_BYTES, GUARD_BEHIND, GUARD_BEFORE } FuzzGuard;

/** What to run. */
typedef struct FuzzJob {
    uint64_t seed;
    uint32_t ops, lanes;      /* lanes: 0 = as many as the Program has */
    uint32_t reduction_count; /* 0 or the number of instructions */
    const uint8_t *reductions;
    FuzzGuard guard;
} FuzzJob;

/** All memory of a Program after it ran, guards included, NaNs made equal, then what
 *  was printed, in order. An empty one (data NULL) stands for a failure, described in
 *  'error'. */
typedef struct FuzzOutcome {
    uint8_t *data;
    size_t size;
    char error[400];
} FuzzOutcome;

/** Run on an engine of this process. */
void fuzz_run(const FuzzJob *job, const Engine *engine, FuzzOutcome *out);
/** The same for any Program with its arrays, whatever the job's seed is. */
void fuzz_run_program(const RandomProgram *random, const FuzzJob *job,
                      const Engine *engine, FuzzOutcome *out);
void fuzz_outcome_free(FuzzOutcome *outcome);
bool fuzz_outcome_same(const FuzzOutcome *a, const FuzzOutcome *b);
/** Print where two outcomes differ first. */
void fuzz_outcome_explain(const FuzzJob *job, const FuzzOutcome *expected,
                          const FuzzOutcome *found, FILE *file);
/** Program of a job (free with program_free), NULL if out of memory. */
Program *fuzz_program(const FuzzJob *job);

#endif
