/*
 * fuzz_peer.h -- an engine in a process of its own, which runs jobs
 *
 * Engines choose their instruction set once per process, machine code may crash or
 * never end, and processes use several cores: so each engine that is compared lives in
 * one ("peer"), that makes the same Programs from the same seeds.
 *
 *     fuzz_programs ── jobs ──> supervisor ── fork ──> server: fuzz_run()
 *                  <─────────────── outcomes ───────────┘
 *
 * The supervisor never runs a Program. When the server dies, it answers in its place
 * and starts another one.
 */
#ifndef FUZZ_FUZZ_PEER_H
#define FUZZ_FUZZ_PEER_H

#include "fuzz_run.h"

/** An engine, with an instruction set if 'variable' of the environment chooses it. */
typedef struct FuzzVariant {
    const char *name;
    const Engine *engine;
    const char *variable, *value; /* NULL: none */
    void (*prepare)(uint64_t seed); /* before each job, of this seed; NULL: nothing */
} FuzzVariant;

typedef struct FuzzPeer {
    FuzzVariant variant;
    int to, from; /* pipes */
    int pid;
} FuzzPeer;

/** Start a process for a variant. To be called before this one ran anything. */
bool fuzz_peer_start(FuzzPeer *peer, const FuzzVariant *variant);
/** Hand it a job; fetch the outcome. */
void fuzz_peer_send(const FuzzPeer *peer, const FuzzJob *job);
void fuzz_peer_receive(const FuzzPeer *peer, FuzzOutcome *out);
/** End it. False if it had something to complain about, such as leaks. */
bool fuzz_peer_stop(const FuzzPeer *peer);

#endif
