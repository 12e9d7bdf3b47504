/*
 * ad_tape.h -- the states with which iterations of a loop begin, for the way back
 *
 * An array for each state that the body's derivative needs, with an entry for each
 * iteration and lane: number of the iteration * lanes + lane. Lanes that are done write
 * nothing. A tape that can be differentiated begins with negative zeros and is added
 * to: the sum is what was added, and the adjoint of such an array is not changed by
 * what is written to it.
 *
 * A tape of few iterations, which need not be differentiated, is a local array for each
 * state instead, which lanes have in the caches of a kernel.
 *
 * A tape may be of a part of the iterations only. It is filled anew for each, from a
 * *checkpoint*, the states with which the part begins.
 *
 * Functions take the lock themselves.
 */
#ifndef AD_DERIVE_AD_TAPE_H
#define AD_DERIVE_AD_TAPE_H

#include "ad/derive/ad_run.h"

typedef struct AdTape {
    LoopDerivative *d;
    bool *needed;      /* by state; owned */
    uint64_t *arrays;  /* by state, 0: none; owned */
    uint32_t lanes;    /* 0, 1, ..., for arrays in memory; owned */
    bool local;        /* a state that is needed is a local array, */
    bool local_states; /* ... or one that changes */
    size_t length;     /* iterations that it has room for; 0: it has no arrays */
    bool in_lanes;     /* the arrays are local ones */
} AdTape;

/** Where a loop is: the states that change, and the number of iterations that each lane
 *  has made. */
typedef struct AdCheckpoint {
    uint64_t *states; /* by state, 0: it does not change; NULL: as the loop begins;
                         references, owned */
    uint32_t number;  /* a reference */
} AdCheckpoint;

/** Which states are needed? False: error recorded. ad_tape_free() is due all the
 *  same. */
bool ad_tape_begin(AdTape *tape, LoopDerivative *d);
void ad_tape_free(AdTape *tape);
/** Bytes for each iteration: on the tape; in a checkpoint. */
size_t ad_tape_bytes(const AdTape *tape);
size_t ad_tape_checkpoint_bytes(const AdTape *tape);
/** Have arrays for that many iterations. */
bool ad_tape_allocate(AdTape *tape, size_t length);
/** Have local arrays, if there is room for them (ad_room.h): '*fits' says whether it is
 *  so. Then nothing is written to memory, and the loops that write and read them are
 *  parts of one kernel. False: error recorded. */
bool ad_tape_allocate_in_lanes(AdTape *tape, size_t length, bool *fits);
/** Positions on it have 32 bits. */
bool ad_tape_can_have(const AdTape *tape, size_t length);
/** Run the loop from a checkpoint on: as far as iteration number 'end' (0: to its end),
 *  and write the tape, if it has arrays, whose first entries are those of iteration
 *  number 'begin' (0: of the first one). 'to' (NULL: not wanted) receives where it is
 *  then; 'number' (NULL: not wanted) how many iterations each lane has made, a new
 *  reference. */
bool ad_tape_run(AdTape *tape, const AdCheckpoint *from, uint32_t begin, uint32_t end,
                 AdCheckpoint *to, uint32_t *number);
/** The states with which iteration 'number' begins, by state; new references. */
bool ad_tape_read(const AdTape *tape, uint32_t number, uint32_t begin,
                  uint64_t *states);

/** Where the loop begins, in memory. */
bool ad_tape_origin(const AdTape *tape, AdCheckpoint *c);
/** Have a checkpoint in memory. */
bool ad_tape_store(const AdTape *tape, AdCheckpoint *c);
void ad_tape_drop(const AdTape *tape, AdCheckpoint *c);

/** Have this in memory after the next evaluation, be it a literal; the reference moves,
 *  and what is there instead is plain. */
bool ad_tape_force(uint64_t *leaf);

#endif
