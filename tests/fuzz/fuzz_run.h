/*
 * fuzz_run.h -- run a random Program on an engine, here or in another process
 *
 * The interpreter chooses its instruction set once per process, so its variants live in
 * child processes ("peers") that make the same Program from the same seed.
 */
#ifndef FUZZ_FUZZ_RUN_H
#define FUZZ_FUZZ_RUN_H

#include <stdio.h>

#include "engine/engine.h"
#include "random_program.h"

/** What to run. */
typedef struct FuzzJob {
    uint64_t seed;
    uint32_t ops, lanes;      /* lanes: 0 = as many as the Program has */
    uint32_t reduction_count; /* 0 or the number of instructions */
    const uint8_t *reductions;
} FuzzJob;

/** All memory of a Program after it ran, guards included, NaNs made equal. An empty one
 *  (data NULL) stands for a failure, described in 'error'. */
typedef struct FuzzOutcome {
    uint8_t *data;
    size_t size;
    char error[400];
} FuzzOutcome;

/** Run on an engine of this process. */
void fuzz_run(const FuzzJob *job, const Engine *engine, FuzzOutcome *out);
void fuzz_outcome_free(FuzzOutcome *outcome);
bool fuzz_outcome_same(const FuzzOutcome *a, const FuzzOutcome *b);
/** Print where two outcomes differ first. */
void fuzz_outcome_explain(const FuzzJob *job, const FuzzOutcome *expected,
                          const FuzzOutcome *found, FILE *file);
/** Program of a job (free with program_free), NULL if memory is out. */
Program *fuzz_program(const FuzzJob *job);

/** A process with a variant of the interpreter. */
typedef struct FuzzPeer {
    char name[24];
    int to, from; /* pipes */
    int pid;
} FuzzPeer;

/** Start a process with DRJIT_INTERP_ISA=isa. To be called before anything was run. */
bool fuzz_peer_start(FuzzPeer *peer, const char *isa);
/** Hand it a job; fetch the outcome. */
void fuzz_peer_send(const FuzzPeer *peer, const FuzzJob *job);
void fuzz_peer_receive(const FuzzPeer *peer, FuzzOutcome *out);
/** Let it end by itself once all peers are stopped. */
void fuzz_peer_stop(const FuzzPeer *peer);

#endif
